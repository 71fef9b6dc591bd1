package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"polygrad/model/files"
	"polygrad/model/tokens/pattern"
	"polygrad/model/tokens/ucd"
)

// The regular expressions that split texts into words before bytes are merged.
const (
	gpt2Words   = `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	cl100kWords = `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s*[\r\n]+|\s+(?!\S)|\s+`
	upper       = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	lowerCase   = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	endings     = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
	o200kWords  = `[^\r\n\p{L}\p{N}]?` + upper + `*` + lowerCase + `+` + endings + `|[^\r\n\p{L}\p{N}]?` + upper + `+` + lowerCase + `*` + endings +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	clipWords = `'(?:[sdmt]|re|ve|ll)|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+`
)

const (
	endOfText   = "<|endoftext|>"
	endOfPrompt = "<|endofprompt|>"
)

// ranks is the part of a tiktoken vocabulary that is not in its file of ranks.
type ranks struct {
	Words   string           `json:"pattern"`
	Special map[string]int32 `json:"special"`
}

func fills(first int32, more map[string]int32) map[string]int32 {
	m := map[string]int32{"<|fim_prefix|>": first, "<|fim_middle|>": first + 1, "<|fim_suffix|>": first + 2}
	maps.Copy(m, more)
	return m
}

func harmony() map[string]int32 {
	named := map[string]int32{
		"<|startoftext|>": 199998, endOfText: 199999, "<|return|>": 200002, "<|constrain|>": 200003, "<|channel|>": 200005, "<|start|>": 200006,
		"<|end|>": 200007, "<|message|>": 200008, "<|call|>": 200012, endOfPrompt: 200018,
	}
	taken := slices.Collect(maps.Values(named))
	for id := int32(200000); id < 201088; id++ {
		if !slices.Contains(taken, id) || id == 200018 {
			named[fmt.Sprintf("<|reserved_%d|>", id)] = id
		}
	}
	return named
}

// named is a vocabulary of tiktoken: its file of ranks, which other vocabularies may share, and the rest.
type named struct {
	file string
	read func() ranks
}

func vocabularies() map[string]named {
	end := map[string]int32{endOfText: 50256}
	gpt2 := named{"r50k_base", func() ranks { return ranks{gpt2Words, end} }}
	return map[string]named{
		"gpt2":      gpt2,
		"r50k_base": gpt2,
		"p50k_base": {"p50k_base", gpt2.read},
		"p50k_edit": {"p50k_base", func() ranks { return ranks{gpt2Words, fills(50281, end)} }},
		"cl100k_base": {"cl100k_base", func() ranks {
			return ranks{cl100kWords, fills(100258, map[string]int32{endOfText: 100257, endOfPrompt: 100276})}
		}},
		"o200k_base":    {"o200k_base", func() ranks { return ranks{o200kWords, map[string]int32{endOfText: 199999, endOfPrompt: 200018}} }},
		"o200k_harmony": {"o200k_base", func() ranks { return ranks{o200kWords, harmony()} }},
	}
}

// ArgError is an error in an argument: in the name that New takes, or in one of the Options.
type ArgError struct {
	Arg string
	Err error
}

func (e *ArgError) Error() string { return e.Arg + ": " + e.Err.Error() }

// New reads a tokenizer. Without a name, data is a tokenizer.json of Hugging Face, a SentencePiece model, a GGUF file or the metadata of one as JSON,
// recognized by its contents. With the name of a tiktoken vocabulary (gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base, o200k_harmony)
// it is the file of ranks, with "clip" the merges of CLIP. A name that is a JSON object, {"pattern": expression, "special": {text: number}},
// describes a vocabulary of ranks of the caller's own. Data packed by gzip is unpacked.
func New(data []byte, name string) (*Tokenizer, error) {
	data, err := unpacked(data)
	if err != nil {
		return nil, err
	}
	switch {
	case name == "clip":
		return fromMerges(data)
	case strings.HasPrefix(name, "{"):
		var r ranks
		if err := json.Unmarshal([]byte(name), &r); err != nil {
			return nil, &ArgError{"name", err}
		}
		return r.read(data)
	case name != "":
		v := vocabularies()[name]
		if v.read == nil {
			return nil, &ArgError{"name", fmt.Errorf("%q, expected one of %s", short(name), known())}
		}
		t, err := v.read().read(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return t, nil
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(data, []byte("GGUF")):
		return fromGGUF(data)
	case bytes.HasPrefix(text, []byte("{")):
		if bytes.Contains(text, []byte(`"tokenizer.ggml.tokens"`)) {
			return fromMetadata(text)
		}
		return fromJSON(text)
	case len(data) == 0:
		return nil, errors.New("the file is empty, expected a tokenizer.json, a model of SentencePiece or a GGUF file")
	}
	return fromSentencePiece(data)
}

// Open is New of a file, or of a folder with tokenizer.json or tokenizer.model.
func Open(path, name string) (*Tokenizer, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		folder := path
		path = filepath.Join(folder, "tokenizer.json")
		if !exists(path) {
			if path = filepath.Join(folder, "tokenizer.model"); !exists(path) {
				return nil, fmt.Errorf("the folder %s has no tokenizer.json and no tokenizer.model", folder)
			}
		}
	}
	// A GGUF file is mapped; only its metadata is read.
	f, err := files.Open(path, files.Raw)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := New(f.Tensors[0].Data, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// read makes the tokenizer from lines of a token's bytes in base 64 and its rank.
func (r ranks) read(data []byte) (*Tokenizer, error) {
	p, err := pattern.Compile(r.Words)
	if err != nil {
		return nil, &ArgError{"name", err}
	}
	split, err := splitting(p, "Removed", true)
	if err != nil {
		return nil, err
	}
	t := begun(bytes.Count(data, []byte("\n")) + 1)
	t.split, t.isBytes = split, true
	vocab := make(map[string]int32, cap(t.texts))
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		digits, number, _ := strings.Cut(line, " ")
		token, err := base64.StdEncoding.DecodeString(digits)
		rank, notNumber := strconv.ParseUint(number, 10, 31)
		if err != nil || notNumber != nil || len(token) == 0 {
			return nil, fmt.Errorf("line %d: %q, expected bytes in base 64 and a rank", i+1, short(line))
		}
		if t.Has(int32(rank)) {
			return nil, fmt.Errorf("line %d: the rank %d is that of another token", i+1, rank)
		}
		if err := t.name(string(token), int32(rank)); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		vocab[string(token)] = int32(rank)
	}
	if len(vocab) == 0 {
		return nil, errors.New("the file has no tokens")
	}
	t.words = &bpe{vocab: vocab, ofBytes: true, wholeWord: true, unknown: none, strict: true}
	names := slices.Sorted(maps.Keys(r.Special))
	slices.Reverse(names) // a token with two texts is decoded to the first of them
	for _, text := range names {
		id := r.Special[text]
		if of, ok := t.Text(id); ok && !t.special[id] {
			return nil, &ArgError{"name", fmt.Errorf("special: %q has the number %d, the rank of the token %q", short(text), id, short(of))}
		}
		if err := t.add(addedToken{ID: id, Content: text, Special: true}, text, &t.raw); err != nil {
			return nil, err
		}
	}
	return t, nil
}

const (
	clipContext = 77
	clipMerges  = 49152 - 256 - 2
	wordEnd     = "</w>"
	clipBegin   = "<|startoftext|>"
)

// fromMerges reads CLIP's file: a version line, then pairs. A text becomes a row of 77 tokens: a begin token, its tokens, an end token, zeros.
func fromMerges(data []byte) (*Tokenizer, error) {
	lines := strings.Split(string(data), "\n")
	lines = lines[min(1, len(lines)):]
	lines = slices.DeleteFunc(lines[:min(clipMerges, len(lines))], func(line string) bool { return strings.TrimSpace(line) == "" })
	t := begun(512 + len(lines))
	t.isBytes = true
	b := &bpe{vocab: t.ids, pairs: make(map[uint64]merge, len(lines)), ofBytes: true, suffix: wordEnd, unknown: none, strict: true}
	chars := byteCharacters()
	// Bytes are numbered in the order of their byte characters: those that stand for themselves come first.
	order := make([]int, 256)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int([]rune(chars[a])[0] - []rune(chars[b])[0]) })
	for i, c := range order {
		for k, end := range []string{"", wordEnd} {
			if err := t.name(string([]byte{byte(c)})+end, int32(256*k+i)); err != nil {
				return nil, err
			}
		}
	}
	for i, line := range lines {
		pair := strings.Fields(line)
		if len(pair) != 2 {
			return nil, fmt.Errorf("clip: line %d: %q, expected two tokens", i+2, short(line))
		}
		var ids [2]int32
		joined := ""
		for k, text := range pair {
			plain, ends := strings.CutSuffix(text, wordEnd)
			raw, ok := fromByteCharacters(plain)
			if ends {
				raw += wordEnd
			}
			id, known := t.ids[raw]
			if !ok || !known || ends && k == 0 {
				return nil, fmt.Errorf("clip: line %d: %q, expected two tokens that make one", i+2, short(line))
			}
			ids[k], joined = id, joined+raw
		}
		id := int32(512 + i)
		if err := t.name(joined, id); err != nil {
			return nil, fmt.Errorf("clip: line %d: %w", i+2, err)
		}
		b.pairs[pairOf(ids[0], ids[1])] = merge{int32(i), id}
	}
	split, err := bySource(clipWords, "Removed", true)
	if err != nil {
		return nil, err
	}
	first := int32(512 + len(lines))
	for i, text := range []string{clipBegin, endOfText} {
		if err := t.add(addedToken{ID: first + int32(i), Content: text, Special: true}, text, &t.normalized); err != nil {
			return nil, err
		}
	}
	t.words, t.split, t.normalize = b, split, clipText
	t.wraps = []template{around([]int32{first}, []int32{first + 1})}
	t.finish = func(ids []int32) []int32 {
		if len(ids) > clipContext {
			ids = append(ids[:clipContext-1], first+1)
		}
		return append(ids, make([]int32, clipContext-len(ids))...)
	}
	t.begin = func(ids []int32) []int32 {
		for len(ids) > 0 && ids[len(ids)-1] == 0 {
			ids = ids[:len(ids)-1]
		}
		return ids
	}
	t.decode = each(func(token string, _ int) string {
		if text, ok := strings.CutSuffix(token, wordEnd); ok {
			return text + " "
		}
		return token
	})
	return t, nil
}

// clipText is a text in lower case with single spaces. A sigma at the end of a word has a lower case of its own.
func clipText(text string) string {
	text = strings.Join(strings.FieldsFunc(text, ucd.Space().Has), " ")
	runes := []rune(text)
	letters := ucd.Named("L")
	for i, c := range runes {
		if c == 'Σ' && i > 0 && letters.Has(runes[i-1]) && (i+1 == len(runes) || !letters.Has(runes[i+1])) {
			runes[i] = 'ς'
		} else if c != 'İ' {
			runes[i] = unicode.ToLower(c)
		}
	}
	return lower(string(runes))
}
