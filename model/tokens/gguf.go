package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"polygrad/model/files"
)

// fromGGUF reads the tokenizer in the metadata of a GGUF file.
func fromGGUF(data []byte) (*Tokenizer, error) {
	f, err := files.Read(data, files.GGUF, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := f.ValueJSON()
	if err != nil {
		return nil, err
	}
	return fromMetadata(text)
}

// metadata is the part of a GGUF file's metadata that describes its tokenizer.
type metadata struct {
	Model     string    `json:"tokenizer.ggml.model"`
	Pre       string    `json:"tokenizer.ggml.pre"`
	Tokens    []string  `json:"tokenizer.ggml.tokens"`
	Scores    []float64 `json:"tokenizer.ggml.scores"`
	Kinds     []int     `json:"tokenizer.ggml.token_type"`
	Merges    []string  `json:"tokenizer.ggml.merges"`
	Begin     *int32    `json:"tokenizer.ggml.bos_token_id"`
	End       *int32    `json:"tokenizer.ggml.eos_token_id"`
	Unknown   *int32    `json:"tokenizer.ggml.unknown_token_id"`
	AddBegin  *bool     `json:"tokenizer.ggml.add_bos_token"`
	AddEnd    *bool     `json:"tokenizer.ggml.add_eos_token"`
	AddPrefix *bool     `json:"tokenizer.ggml.add_space_prefix"`
}

const (
	llama3Words = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Words  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// ggufWords are the regular expressions that split texts, one after another, by the value of tokenizer.ggml.pre.
func ggufWords() map[string][]string {
	return map[string][]string{
		"": {gpt2Words}, "default": {gpt2Words}, "gpt-2": {gpt2Words}, "mpt": {gpt2Words}, "olmo": {gpt2Words}, "phi-2": {gpt2Words},
		"llama-bpe": {llama3Words}, "llama3": {llama3Words}, "dbrx": {llama3Words}, "smaug-bpe": {llama3Words},
		"qwen2": {qwen2Words}, "stablelm2": {qwen2Words}, "deepseek-r1-qwen": {qwen2Words}, "gpt-4o": {o200kWords},
		"smollm": {`\p{N}`, gpt2Words}, "starcoder": {`\p{N}`, gpt2Words}, "refact": {`\p{N}`, gpt2Words}, "command-r": {`\p{N}`, gpt2Words},
		"codeshell": {`\p{N}`, gpt2Words}, "exaone": {`\p{N}`, gpt2Words},
	}
}

// fromMetadata reads the metadata of a GGUF file as JSON.
func fromMetadata(text []byte) (*Tokenizer, error) {
	t, err := readMetadata(text)
	if err != nil {
		return nil, fmt.Errorf("the tokenizer of the GGUF file: %w", err)
	}
	return t, nil
}

func readMetadata(text []byte) (*Tokenizer, error) {
	var m metadata
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	n := len(m.Tokens)
	switch {
	case n == 0:
		return nil, errors.New("there are no tokens")
	case m.Kinds != nil && len(m.Kinds) != n:
		return nil, fmt.Errorf("%d tokens have %d types", n, len(m.Kinds))
	case n > mostTokens:
		return nil, fmt.Errorf("%d tokens, expected at most %d", n, mostTokens)
	}
	if m.Kinds == nil {
		m.Kinds = slices.Repeat([]int{pieceNormal}, n)
	}
	for _, id := range []*int32{m.Begin, m.End, m.Unknown} {
		if id != nil && (*id < 0 || int(*id) >= n) {
			return nil, fmt.Errorf("the token %d, expected 0 to %d", *id, n-1)
		}
	}
	var t *Tokenizer
	var err error
	byBytes := false
	switch m.Model {
	case "gpt2":
		byBytes = true
		t, err = m.ofBytes()
	case "llama":
		t, err = m.ofPieces()
	default:
		return nil, fmt.Errorf("the model %q is not known, expected one of gpt2, llama", short(m.Model))
	}
	if err != nil {
		return nil, err
	}
	for i, kind := range m.Kinds {
		if kind == pieceControl || kind == pieceUser {
			a := addedToken{ID: int32(i), Content: m.Tokens[i], Special: kind == pieceControl}
			if err := t.add(a, a.Content, &t.raw); err != nil {
				return nil, err
			}
		}
	}
	var before, behind []int32
	if m.Begin != nil && or(m.AddBegin, !byBytes) {
		before = []int32{*m.Begin}
	}
	if m.End != nil && or(m.AddEnd, false) {
		behind = []int32{*m.End}
	}
	t.wraps = []template{around(before, behind)}
	return t, nil
}

// ofBytes is a byte-level BPE tokenizer.
func (m *metadata) ofBytes() (*Tokenizer, error) {
	exprs, ok := ggufWords()[m.Pre]
	if !ok {
		return nil, fmt.Errorf("the pre-tokenizer %q is not known, expected one of %s", short(m.Pre), strings.Join(slices.Sorted(maps.Keys(ggufWords())), ", "))
	}
	vocab := make(map[string]int32, len(m.Tokens))
	for id, text := range m.Tokens {
		vocab[text] = int32(id)
	}
	tokens, err := json.Marshal(vocab)
	if err != nil {
		return nil, err
	}
	merges, err := json.Marshal(m.Merges)
	if err != nil {
		return nil, err
	}
	t := begun(0)
	if err := bpeModel(t, &part{Vocab: tokens, Merges: merges, IgnoreMerges: m.Pre == "llama-bpe" || m.Pre == "llama3"}, true); err != nil {
		return nil, err
	}
	var all []stage
	for _, expr := range exprs {
		s, err := bySource(expr, "Isolated", false)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	t.split = then(all)
	t.decode, err = decoders()["ByteLevel"](&part{})
	return t, err
}

// ofPieces is a tokenizer of SentencePiece's pieces, which merges them by score.
func (m *metadata) ofPieces() (*Tokenizer, error) {
	if len(m.Scores) != len(m.Tokens) {
		return nil, fmt.Errorf("%d tokens have %d scores", len(m.Tokens), len(m.Scores))
	}
	p := &pieces{
		text: m.Tokens, score: m.Scores, kind: m.Kinds, model: modelBPE, charsmap: &charsmap{}, dummyPrefix: or(m.AddPrefix, true), escapes: true,
		unknownText: " \u2047 ",
	}
	for i, kind := range p.kind {
		if kind < pieceNormal || kind > pieceByte {
			return nil, fmt.Errorf("token %d has the type %d", i, kind)
		}
	}
	return p.tokenizer()
}
