package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// fromJSON reads a tokenizer.json. Its truncation and padding are applied if Options ask for them.
func fromJSON(data []byte) (*Tokenizer, error) {
	t, err := readJSON(data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

func readJSON(data []byte) (*Tokenizer, error) {
	var file struct {
		Added         []addedToken    `json:"added_tokens"`
		Normalizer    json.RawMessage `json:"normalizer"`
		PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
		Model         json.RawMessage `json:"model"`
		PostProcessor json.RawMessage `json:"post_processor"`
		Decoder       json.RawMessage `json:"decoder"`
		Truncation    json.RawMessage `json:"truncation"`
		Padding       json.RawMessage `json:"padding"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var m part
	if len(file.Model) == 0 || string(file.Model) == "null" {
		return nil, errors.New("there is no model")
	}
	if err := json.Unmarshal(file.Model, &m); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if m.Type == "" && len(m.Merges) > 0 {
		m.Type = "BPE"
	} else if m.Type == "" && m.UnknownID != nil {
		m.Type = "Unigram"
	}
	make := models()[m.Type]
	if make == nil {
		return nil, fmt.Errorf("model: the type %q is not known, expected one of BPE, Unigram, WordLevel, WordPiece", short(m.Type))
	}
	normalize, err := partOf(normalizers(), file.Normalizer, "normalizer")
	if err != nil {
		return nil, err
	}
	split, ofBytes, err := words(file.PreTokenizer, &m)
	if err != nil {
		return nil, err
	}
	t := begun(0)
	if err := make(t, &m, ofBytes); err != nil {
		return nil, fmt.Errorf("model: %s: %w", m.Type, err)
	}
	t.normalize, t.split = normalize, split
	if b, ok := t.words.(*bpe); ok && split == nil && !b.wholeWord && wordwise(t.ids) {
		t.split = atMarks
	}
	if t.wraps, err = partOf(postProcessors(), file.PostProcessor, "post_processor"); err != nil {
		return nil, err
	}
	if t.decode, err = partOf(decoders(), file.Decoder, "decoder"); err != nil {
		return nil, err
	}
	if t.truncation, err = setting[Truncation]("truncation", file.Truncation, nil, json.Unmarshal); err != nil {
		return nil, err
	}
	if t.padding, err = setting[Padding]("padding", file.Padding, nil, json.Unmarshal); err != nil {
		return nil, err
	}
	for _, tmpl := range t.wraps {
		for _, s := range slices.Concat(tmpl.single, tmpl.pair) {
			for _, id := range s.ids {
				if id < 0 || id >= mostTokens {
					return nil, fmt.Errorf("post_processor: the token %d, expected 0 to %d", id, mostTokens-1)
				}
			}
		}
	}
	for _, a := range file.Added {
		find, in := a.Content, &t.raw
		if a.Normalized && normalize != nil {
			if find, err = normalized(normalize, a.Content); err != nil {
				return nil, err
			}
		}
		if a.Normalized {
			in = &t.normalized
		}
		if err := t.add(a, find, in); err != nil {
			return nil, fmt.Errorf("added_tokens: %w", err)
		}
	}
	return t, nil
}

func normalized(f func(string) string, text string) (out string, err error) {
	defer caught(&err)
	return f(text), nil
}

// words is the stage of a pre-tokenizer. If that ends in ByteLevel and the model allows it, words are texts, not strings of byte characters: ofBytes.
func words(raw json.RawMessage, m *part) (split stage, ofBytes bool, err error) {
	var p part
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, false, fmt.Errorf("pre_tokenizer: %w", err)
		}
	}
	takes := m.Type == "BPE" && or(m.SubwordPrefix, "") == "" && or(m.EndOfWordSuffix, "") == "" && !m.ByteFallback
	last := p
	if n := len(p.PreTokenizers); p.Type == "Sequence" && n > 0 {
		last = part{}
		if err := json.Unmarshal(p.PreTokenizers[n-1], &last); err != nil {
			return nil, false, fmt.Errorf("pre_tokenizer: %w", err)
		}
	}
	if !takes || last.Type != "ByteLevel" {
		split, err = partOf(preTokenizers(), raw, "pre_tokenizer")
		return split, false, err
	}
	var all []stage
	if p.Type == "Sequence" {
		if all, err = partsOf(preTokenizers(), p.PreTokenizers[:len(p.PreTokenizers)-1], "pre_tokenizer"); err != nil {
			return nil, false, err
		}
	}
	bytes, err := byteLevel(&last)
	return then(append(slices.DeleteFunc(all, func(s stage) bool { return s == nil }), bytes)), true, err
}

// wordwise reports whether no token contains the beginning of a word, a ▁ behind another character. Then a text can be cut there.
func wordwise(vocab map[string]int32) bool {
	if _, ok := vocab[mark]; !ok {
		return false
	}
	for text := range vocab {
		if markAt(text) >= 0 {
			return false
		}
	}
	return true
}

// markAt is where the first ▁ behind another character is, -1 if there is none.
func markAt(text string) int {
	begun := len(text) - len(strings.TrimLeft(text, mark))
	at := strings.Index(text[begun:], mark)
	if at < 0 {
		return -1
	}
	return begun + at
}

// atMarks cuts a text before each ▁ behind another character.
func atMarks(text string, first bool, emit func(string, bool)) {
	for {
		at := markAt(text)
		if at < 0 {
			break
		}
		emit(text[:at], first)
		text, first = text[at:], false
	}
	emit(text, first)
}

// models build the model of a tokenizer, by its type. ofBytes says that words are texts although the vocabulary is in byte characters.
func models() map[string]func(t *Tokenizer, p *part, ofBytes bool) error {
	return map[string]func(t *Tokenizer, p *part, ofBytes bool) error{
		"BPE": bpeModel, "Unigram": unigramModel,
		"WordPiece": func(t *Tokenizer, p *part, _ bool) error {
			unknown, err := vocabulary(t, p, or(p.Unknown, "[UNK]"))
			if err == nil && unknown < 0 {
				err = fmt.Errorf("unk_token: %q is not in the vocabulary", or(p.Unknown, "[UNK]"))
			}
			w := &wordPiece{maps.Clone(t.ids), unknown, or(p.SubwordPrefix, "##"), or(p.MaxChars, 100), 0} // a copy, since added tokens are no pieces
			for text := range w.vocab {
				w.longest = max(w.longest, len(text))
			}
			t.words = w
			return err
		},
		"WordLevel": func(t *Tokenizer, p *part, _ bool) error {
			unknown, err := vocabulary(t, p, or(p.Unknown, ""))
			t.words = &wordLevel{maps.Clone(t.ids), unknown}
			return err
		},
	}
}

// vocabulary names the tokens of a model. It returns the token of unknown words, -1 if there is none.
func vocabulary(t *Tokenizer, p *part, unknown string) (int32, error) {
	var vocab map[string]int32
	if err := json.Unmarshal(p.Vocab, &vocab); err != nil {
		return 0, fmt.Errorf("vocab: %w", err)
	}
	if vocab == nil {
		return 0, errors.New("vocab: expected tokens and their numbers")
	}
	t.ids = make(map[string]int32, len(vocab))
	for text, id := range vocab {
		if err := t.name(text, id); err != nil {
			return 0, fmt.Errorf("vocab: %w", err)
		}
	}
	if id, ok := vocab[unknown]; ok {
		return id, nil
	}
	return none, nil
}

func bpeModel(t *Tokenizer, p *part, ofBytes bool) error {
	b := &bpe{
		prefix: or(p.SubwordPrefix, ""), suffix: or(p.EndOfWordSuffix, ""), fuse: p.FuseUnknown, wholeWord: p.IgnoreMerges, ofBytes: ofBytes,
	}
	unknown, err := vocabulary(t, p, or(p.Unknown, ""))
	if err != nil {
		return err
	}
	// A copy, since added tokens take no part in merging.
	b.unknown, b.strict = unknown, p.Unknown != nil && *p.Unknown != "" && unknown < 0
	b.vocab = make(map[string]int32, len(t.ids))
	for text, id := range t.ids {
		ok := true
		if ofBytes {
			text, ok = fromByteCharacters(text)
		}
		if ok {
			b.vocab[text] = id
		}
	}
	if p.ByteFallback {
		b.fallback = bytesIn(t.ids)
	}
	merges, err := mergesOf(p.Merges)
	if err != nil {
		return err
	}
	b.pairs = make(map[uint64]merge, len(merges))
	for i, m := range merges {
		x, okX := t.ids[m[0]]
		y, okY := t.ids[m[1]]
		joined, ok := t.ids[m[0]+strings.TrimPrefix(m[1], b.prefix)]
		if !okX || !okY || !ok {
			return fmt.Errorf("merges[%d]: %q and %q, expected two tokens that make one", i, short(m[0]), short(m[1]))
		}
		b.pairs[pairOf(x, y)] = merge{int32(i), joined}
	}
	t.words = b
	return nil
}

// mergesOf reads pairs of texts, each a list or a text with a space.
func mergesOf(raw json.RawMessage) ([][2]string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var lines []string
	if json.Unmarshal(raw, &lines) == nil {
		out := make([][2]string, len(lines))
		for i, line := range lines {
			a, b, ok := strings.Cut(line, " ")
			if !ok || strings.Contains(b, " ") {
				return nil, fmt.Errorf("merges[%d]: %q, expected two texts apart by a space", i, short(line))
			}
			out[i] = [2]string{a, b}
		}
		return out, nil
	}
	var lists [][]string
	if err := json.Unmarshal(raw, &lists); err != nil {
		return nil, fmt.Errorf("merges: %w", err)
	}
	out := make([][2]string, len(lists))
	for i, pair := range lists {
		if len(pair) != 2 {
			return nil, fmt.Errorf("merges[%d]: %d texts, expected 2", i, len(pair))
		}
		out[i] = [2]string(pair)
	}
	return out, nil
}

// bytesIn are the tokens of bytes, nil if one of them is missing.
func bytesIn(vocab map[string]int32) []int32 {
	out := make([]int32, 256)
	for b, name := range byteNames() {
		id, ok := vocab[name]
		if !ok {
			return nil
		}
		out[b] = id
	}
	return out
}

func unigramModel(t *Tokenizer, p *part, _ bool) error {
	var vocab [][2]any
	if err := json.Unmarshal(p.Vocab, &vocab); err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	if len(vocab) == 0 {
		return errors.New("vocab: expected a list of pieces and scores")
	}
	scores, lowest := make([]float64, len(vocab)), 0.0
	for id, entry := range vocab {
		text, ok := entry[0].(string)
		score, isNumber := entry[1].(float64)
		if !ok || !isNumber || !utf8.ValidString(text) {
			return fmt.Errorf("vocab[%d]: expected a piece and its score", id)
		}
		scores[id] = score
		lowest = min(lowest, score)
		if err := t.name(text, int32(id)); err != nil {
			return fmt.Errorf("vocab: %w", err)
		}
	}
	u, err := newUnigram(scores)
	if err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	u.penalty = lowest - unknownPenalty
	if p.UnknownID != nil {
		if u.unknown = *p.UnknownID; u.unknown < 0 || int(u.unknown) >= len(vocab) {
			return fmt.Errorf("unk_id: %d, expected 0 to %d", u.unknown, len(vocab)-1)
		}
	}
	for text, id := range t.ids {
		if id != u.unknown {
			u.piece(text, id)
		}
	}
	if p.ByteFallback {
		u.bytes = bytesIn(t.ids)
	}
	t.words = u
	return nil
}
