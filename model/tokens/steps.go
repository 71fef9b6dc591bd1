package tokens

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"polygrad/model/tokens/pattern"
	"polygrad/model/tokens/ucd"
)

// part is a normalizer, pre-tokenizer, model, post-processor or decoder of a tokenizer.json, with the settings of all of them.
type part struct {
	Type string `json:"type"`

	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Processors    []json.RawMessage `json:"processors"`
	Decoders      []json.RawMessage `json:"decoders"`

	StripLeft    bool            `json:"strip_left"`
	StripRight   bool            `json:"strip_right"`
	Pattern      json.RawMessage `json:"pattern"`
	Content      string          `json:"content"`
	Prepend      string          `json:"prepend"`
	CleanText    bool            `json:"clean_text"`
	Chinese      bool            `json:"handle_chinese_chars"`
	Accents      *bool           `json:"strip_accents"`
	Lowercase    bool            `json:"lowercase"`
	Charsmap     string          `json:"precompiled_charsmap"`
	AddPrefix    *bool           `json:"add_prefix_space"`
	UseRegex     *bool           `json:"use_regex"`
	Replacement  *string         `json:"replacement"`
	Scheme       *string         `json:"prepend_scheme"`
	Split        *bool           `json:"split"`
	Behavior     *string         `json:"behavior"`
	Invert       bool            `json:"invert"`
	Delimiter    string          `json:"delimiter"`
	Individual   bool            `json:"individual_digits"`
	Prefix       *string         `json:"prefix"`
	Suffix       *string         `json:"suffix"`
	Cleanup      *bool           `json:"cleanup"`
	Length       *int            `json:"length"`
	Start        int             `json:"start"`
	Stop         int             `json:"stop"`
	PadToken     *string         `json:"pad_token"`
	WordEnd      *string         `json:"word_delimiter_token"`
	Cls          json.RawMessage `json:"cls"`
	Sep          json.RawMessage `json:"sep"`
	Single       []templateItem  `json:"single"`
	Pair         []templateItem  `json:"pair"`
	SpecialItems map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`

	Vocab           json.RawMessage `json:"vocab"`
	Merges          json.RawMessage `json:"merges"`
	Unknown         *string         `json:"unk_token"`
	UnknownID       *int32          `json:"unk_id"`
	ByteFallback    bool            `json:"byte_fallback"`
	FuseUnknown     bool            `json:"fuse_unk"`
	IgnoreMerges    bool            `json:"ignore_merges"`
	SubwordPrefix   *string         `json:"continuing_subword_prefix"`
	EndOfWordSuffix *string         `json:"end_of_word_suffix"`
	MaxChars        *int            `json:"max_input_chars_per_word"`
}

type templateItem struct {
	Sequence *struct {
		ID string `json:"id"`
	}
	SpecialToken *struct {
		ID string `json:"id"`
	}
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// partOf makes a part of a file by its type; none is nil.
func partOf[T any](table map[string]func(*part) (T, error), raw json.RawMessage, what string) (made T, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return made, nil
	}
	var p part
	if err := json.Unmarshal(raw, &p); err != nil {
		return made, fmt.Errorf("%s: %w", what, err)
	}
	f := table[p.Type]
	if f == nil {
		names := make([]string, 0, len(table))
		for name := range table {
			names = append(names, name)
		}
		slices.Sort(names)
		return made, fmt.Errorf("%s: the type %q is not known, expected one of %s", what, short(p.Type), strings.Join(names, ", "))
	}
	if made, err = f(&p); err != nil {
		return made, fmt.Errorf("%s: %s: %w", what, p.Type, err)
	}
	return made, nil
}

func partsOf[T any](table map[string]func(*part) (T, error), raw []json.RawMessage, what string) ([]T, error) {
	var all []T
	for _, r := range raw {
		made, err := partOf(table, r, what)
		if err != nil {
			return nil, err
		}
		all = append(all, made)
	}
	return all, nil
}

// patternOf reads the pattern of a part: {"String": text} or {"Regex": expression}.
func patternOf(raw json.RawMessage) (*pattern.Pattern, error) {
	var p struct{ String, Regex *string }
	if err := json.Unmarshal(raw, &p); err != nil || p.String == nil && p.Regex == nil {
		return nil, fmt.Errorf("pattern: %s, expected a text or an expression", short(string(raw)))
	}
	if p.String != nil {
		return pattern.Literal(*p.String), nil
	}
	return pattern.CompileOniguruma(*p.Regex)
}

func replacer(p *pattern.Pattern, by string) func(string) string {
	return func(text string) string {
		out, err := p.Replace(text, by)
		if err != nil {
			panic(failure{err})
		}
		return out
	}
}

// Normalizers map texts to texts.

type normalizer = func(string) string

func form(name string) func(*part) (normalizer, error) {
	return func(*part) (normalizer, error) {
		return func(text string) string { return ucd.Normalize(name, text) }, nil
	}
}

// normalizers build a normalizer, by its type.
func normalizers() map[string]func(*part) (normalizer, error) {
	return map[string]func(*part) (normalizer, error){
		"NFC": form("NFC"), "NFD": form("NFD"), "NFKC": form("NFKC"), "NFKD": form("NFKD"),
		"Lowercase":    func(*part) (normalizer, error) { return lower, nil },
		"StripAccents": func(*part) (normalizer, error) { return without(ucd.Named("M")), nil },
		"Strip": func(p *part) (normalizer, error) {
			return func(text string) string {
				if p.StripLeft {
					text = strings.TrimLeftFunc(text, ucd.Space().Has)
				}
				if p.StripRight {
					text = strings.TrimRightFunc(text, ucd.Space().Has)
				}
				return text
			}, nil
		},
		"Replace": func(p *part) (normalizer, error) {
			found, err := patternOf(p.Pattern)
			if err != nil {
				return nil, err
			}
			return replacer(found, p.Content), nil
		},
		"Prepend": func(p *part) (normalizer, error) {
			return func(text string) string {
				if text == "" {
					return text
				}
				return p.Prepend + text
			}, nil
		},
		"Nmt": func(*part) (normalizer, error) {
			drop := without(ucd.Of(1, 8, 0xb, 0xb, 0xe, 0x1f, 0x7f, 0x7f, 0x8f, 0x8f, 0x9f, 0x9f))
			space := ucd.Of(9, 10, 12, 13, 0x1680, 0x1680, 0x200b, 0x200f, 0x2028, 0x2029, 0x2581, 0x2581, 0xfeff, 0xfeff, 0xfffd, 0xfffd)
			return func(text string) string { return mapped(drop(text), space, ' ') }, nil
		},
		"Precompiled": func(p *part) (normalizer, error) {
			raw, err := base64.StdEncoding.DecodeString(p.Charsmap)
			if err != nil {
				return nil, errors.New("precompiled_charsmap is not base 64")
			}
			m, err := newCharsmap(raw)
			if err != nil {
				return nil, err
			}
			return m.normalize, nil
		},
		"ByteLevel": func(*part) (normalizer, error) { return toByteCharacters, nil },
		"BertNormalizer": func(p *part) (normalizer, error) {
			chinese := ucd.Of(0x4e00, 0x9fff, 0x3400, 0x4dbf, 0x20000, 0x2a6df, 0x2a700, 0x2ceaf, 0xf900, 0xfaff, 0x2f800, 0x2fa1f)
			drop := without(ucd.Of(0, 0, 0xfffd, 0xfffd).Or(ucd.Named("C")).And(ucd.Of('\t', '\n', '\r', '\r').Not()))
			marks := without(ucd.Named("Mn"))
			return func(text string) string {
				if p.CleanText {
					text = mapped(drop(text), ucd.Space(), ' ')
				}
				if p.Chinese {
					text = spaced(text, chinese)
				}
				if or(p.Accents, p.Lowercase) {
					text = marks(ucd.Normalize("NFD", text))
				}
				if p.Lowercase {
					text = lower(text)
				}
				return text
			}, nil
		},
		"Sequence": func(p *part) (normalizer, error) {
			all, err := partsOf(normalizers(), p.Normalizers, "normalizer")
			return func(text string) string {
				for _, f := range all {
					if f != nil {
						text = f(text)
					}
				}
				return text
			}, err
		},
	}
}

// lower is a text in lower case, character by character.
func lower(text string) string {
	return strings.ReplaceAll(strings.Map(func(c rune) rune {
		if c == 'İ' {
			return c
		}
		return unicode.ToLower(c)
	}, text), "İ", "i\u0307")
}

func without(s *ucd.Set) normalizer {
	return func(text string) string {
		return strings.Map(func(c rune) rune {
			if s.Has(c) {
				return -1
			}
			return c
		}, text)
	}
}

func mapped(text string, s *ucd.Set, by rune) string {
	return strings.Map(func(c rune) rune {
		if s.Has(c) {
			return by
		}
		return c
	}, text)
}

// spaced puts spaces around the characters of a set.
func spaced(text string, s *ucd.Set) string {
	var out strings.Builder
	for _, c := range text {
		if s.Has(c) {
			out.WriteByte(' ')
			out.WriteRune(c)
			out.WriteByte(' ')
		} else {
			out.WriteRune(c)
		}
	}
	return out.String()
}

// byteCharacters are the characters that stand for bytes: a printable character stands for its own byte, those from 256 on for the others.
var byteCharacters = sync.OnceValue(func() *[256]string {
	var chars [256]string
	next := rune(256)
	for b := range 256 {
		c := rune(b)
		if !(b > 32 && b < 127 || b > 160 && b != 173) {
			c, next = next, next+1
		}
		chars[b] = string(c)
	}
	return &chars
})

var bytesOfCharacters = sync.OnceValue(func() map[rune]byte {
	m := map[rune]byte{}
	for b, c := range byteCharacters() {
		r, _ := utf8.DecodeRuneInString(c)
		m[r] = byte(b)
	}
	return m
})

func toByteCharacters(text string) string {
	chars := byteCharacters()
	var out strings.Builder
	out.Grow(len(text) + len(text)/2)
	for i := range len(text) {
		out.WriteString(chars[text[i]])
	}
	return out.String()
}

// fromByteCharacters is the inverse of toByteCharacters; ok is false if a character stands for no byte.
func fromByteCharacters(text string) (string, bool) {
	bytes := bytesOfCharacters()
	out := make([]byte, 0, len(text))
	for _, c := range text {
		b, ok := bytes[c]
		if !ok {
			return text, false
		}
		out = append(out, b)
	}
	return string(out), true
}

// charsmap is a compiled character map of SentencePiece: a double-array trie (Darts) of keys, and replacements that end in 0.
type charsmap struct {
	units []uint32
	texts string
}

func newCharsmap(raw []byte) (*charsmap, error) {
	if len(raw) == 0 {
		return &charsmap{}, nil
	}
	if len(raw) < 4 {
		return nil, errors.New("the map of characters is cut off")
	}
	size := binary.LittleEndian.Uint32(raw)
	if size%4 != 0 || uint64(size) > uint64(len(raw)-4) {
		return nil, fmt.Errorf("the map of characters has %d bytes, its array %d", len(raw), size)
	}
	m := &charsmap{units: make([]uint32, size/4), texts: string(raw[4+size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(raw[4+4*i:])
	}
	return m, nil
}

// prefix is the replacement of the longest key that a text begins with, and the key's length, 0 if there is none.
func (m *charsmap) prefix(text string) (string, int) {
	offset := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	if len(m.units) == 0 {
		return "", 0
	}
	found, length := "", 0
	at := offset(m.units[0])
	for i := range len(text) {
		if at ^= uint32(text[i]); int(at) >= len(m.units) {
			break
		}
		unit := m.units[at]
		if unit&(1<<31|0xff) != uint32(text[i]) {
			break
		}
		at ^= offset(unit)
		if unit>>8&1 == 1 && int(at) < len(m.units) {
			if start := int(m.units[at] & (1<<31 - 1)); start <= len(m.texts) {
				found, _, _ = strings.Cut(m.texts[start:], "\x00")
				length = i + 1
			}
		}
	}
	return found, length
}

func (m *charsmap) normalize(text string) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		found, n := m.prefix(text[at:])
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text[at:])
			found = text[at : at+n]
		}
		out.WriteString(found)
		at += n
	}
	return out.String()
}

// Pre-tokenizers.

// piece is a separator, or a part between separators.
type piece struct {
	text      string
	separates bool
}

// behaviors say what happens to separators.
var behaviors = sync.OnceValue(func() map[string]func([]piece) []string {
	return map[string]func([]piece) []string{
		"Removed": func(all []piece) (out []string) {
			for _, p := range all {
				if !p.separates {
					out = append(out, p.text)
				}
			}
			return out
		},
		"Isolated": func(all []piece) (out []string) {
			for _, p := range all {
				out = append(out, p.text)
			}
			return out
		},
		"MergedWithPrevious": func(all []piece) (out []string) {
			for i, p := range all {
				if p.separates && i > 0 && !all[i-1].separates {
					out[len(out)-1] += p.text
				} else {
					out = append(out, p.text)
				}
			}
			return out
		},
		"MergedWithNext": func(all []piece) (out []string) {
			for i, p := range all {
				if i > 0 && all[i-1].separates && !p.separates {
					out[len(out)-1] += p.text
				} else {
					out = append(out, p.text)
				}
			}
			return out
		},
		"Contiguous": func(all []piece) (out []string) {
			for i, p := range all {
				if i > 0 && all[i-1].separates == p.separates {
					out[len(out)-1] += p.text
				} else {
					out = append(out, p.text)
				}
			}
			return out
		},
	}
})

// splitting cuts a part at the matches of an expression, also at empty ones. The matches are the separators; with inverted, the parts between them.
func splitting(p *pattern.Pattern, behavior string, inverted bool) (stage, error) {
	join := behaviors()[behavior]
	if join == nil {
		return nil, fmt.Errorf("the behavior %q is not known", short(behavior))
	}
	simple := behavior == "Isolated" || behavior == "Removed"
	return func(text string, first bool, emit func(string, bool)) {
		var all []piece
		out := func(p piece) {
			switch {
			case !simple:
				all = append(all, p)
			case p.text == "":
			case behavior == "Isolated" || !p.separates:
				emit(p.text, first)
				first = false
			default:
				first = false
			}
		}
		done, before := 0, -1 // the ends of the last piece and of the last match
		steps := pattern.Steps(text)
		for at := 0; at <= len(text); {
			start, stop, err := p.Next(text, at, &steps)
			if err != nil {
				panic(failure{err})
			}
			if start < 0 {
				break
			}
			if start == stop {
				_, size := utf8.DecodeRuneInString(text[start:])
				if at = start + max(size, 1); start == before {
					continue
				}
			} else {
				at = stop
			}
			if start > done {
				out(piece{text[done:start], inverted})
			}
			out(piece{text[start:stop], !inverted})
			done, before = stop, stop
		}
		if done < len(text) {
			out(piece{text[done:], inverted})
		}
		if !simple {
			for _, word := range join(all) {
				if word != "" {
					emit(word, first)
					first = false
				}
			}
		}
	}, nil
}

// byExpression splits at the matches of an expression that this package has.
func byExpression(expr, behavior string, inverted bool) func(*part) (stage, error) {
	return func(*part) (stage, error) { return bySource(expr, behavior, inverted) }
}

func bySource(expr, behavior string, inverted bool) (stage, error) {
	p, err := pattern.Compile(expr)
	if err != nil {
		return nil, err
	}
	return splitting(p, behavior, inverted)
}

const (
	mark        = "\u2581" // stands for a space
	punctuation = `[!-/:-@\[-` + "`" + `{-~\p{P}]`
)

// byteLevel is the splitting of a byte-level pre-tokenizer. Its words are texts, not yet byte characters.
func byteLevel(p *part) (stage, error) {
	words := stage(func(text string, first bool, emit func(string, bool)) { emit(text, first) })
	if or(p.UseRegex, true) {
		var err error
		if words, err = bySource(gpt2Words, "Isolated", false); err != nil {
			return nil, err
		}
	}
	if !or(p.AddPrefix, true) {
		return words, nil
	}
	return func(text string, first bool, emit func(string, bool)) {
		if !strings.HasPrefix(text, " ") {
			text = " " + text
		}
		words(text, first, emit)
	}, nil
}

// then runs stages one after another.
func then(all []stage) stage {
	if len(all) == 1 {
		return all[0]
	}
	return func(text string, first bool, emit func(string, bool)) {
		var run func(i int) func(string, bool)
		run = func(i int) func(string, bool) {
			if i == len(all) {
				return emit
			}
			next := run(i + 1)
			return func(text string, first bool) {
				if text != "" {
					all[i](text, first, next)
				}
			}
		}
		run(0)(text, first)
	}
}

// scheme says when a mark is put before a text: always, never or first.
func (p *part) scheme() string {
	if p.Scheme != nil {
		return *p.Scheme
	}
	if or(p.AddPrefix, true) {
		return "always"
	}
	return "never"
}

// preTokenizers build a pre-tokenizer, by its type.
func preTokenizers() map[string]func(*part) (stage, error) {
	return map[string]func(*part) (stage, error){
		"ByteLevel": func(p *part) (stage, error) {
			words, err := byteLevel(p)
			return func(text string, first bool, emit func(string, bool)) {
				words(text, first, func(word string, first bool) { emit(toByteCharacters(word), first) })
			}, err
		},
		"Metaspace": func(p *part) (stage, error) {
			by, when := or(p.Replacement, mark), p.scheme()
			if utf8.RuneCountInString(by) != 1 {
				return nil, fmt.Errorf("replacement: %q, expected one character", short(by))
			}
			divide, err := splitting(pattern.Literal(by), "MergedWithNext", false)
			split := or(p.Split, true)
			return func(text string, first bool, emit func(string, bool)) {
				text = strings.ReplaceAll(text, " ", by)
				if (when == "always" || when == "first" && first) && !strings.HasPrefix(text, by) {
					text = by + text
				}
				if split {
					divide(text, first, emit)
				} else {
					emit(text, first)
				}
			}, err
		},
		"Whitespace":      byExpression(`\w+|[^\w\s]+`, "Removed", true),
		"WhitespaceSplit": byExpression(`\S+`, "Removed", true),
		"BertPreTokenizer": func(*part) (stage, error) {
			spaces, err := bySource(`\s`, "Removed", false)
			if err != nil {
				return nil, err
			}
			marks, err := bySource(punctuation, "Isolated", false)
			return then([]stage{spaces, marks}), err
		},
		"Punctuation": func(p *part) (stage, error) {
			return bySource(punctuation, or(p.Behavior, "Isolated"), false)
		},
		"Split": func(p *part) (stage, error) {
			found, err := patternOf(p.Pattern)
			if err != nil {
				return nil, err
			}
			return splitting(found, or(p.Behavior, ""), p.Invert)
		},
		"CharDelimiterSplit": func(p *part) (stage, error) {
			if p.Delimiter == "" {
				return nil, errors.New("there is no delimiter")
			}
			return splitting(pattern.Literal(p.Delimiter), "Removed", false)
		},
		"Digits": func(p *part) (stage, error) {
			if p.Individual {
				return bySource(`\p{N}`, "Isolated", false)
			}
			return bySource(`\p{N}+`, "Isolated", false)
		},
		"FixedLength": func(p *part) (stage, error) {
			most := or(p.Length, 5)
			if most < 1 {
				return nil, fmt.Errorf("length: %d, expected 1 or more", most)
			}
			return func(text string, first bool, emit func(string, bool)) {
				start, count := 0, 0
				for at := range text {
					if count == most {
						emit(text[start:at], first)
						start, count, first = at, 0, false
					}
					count++
				}
				emit(text[start:], first)
			}, nil
		},
		"UnicodeScripts": func(*part) (stage, error) { return byScripts, nil },
		"Sequence": func(p *part) (stage, error) {
			all, err := partsOf(preTokenizers(), p.PreTokenizers, "pre_tokenizer")
			return then(slices.DeleteFunc(all, func(s stage) bool { return s == nil })), err
		},
	}
}

// byScripts splits where the script of characters changes; Japanese counts as one script. Spaces and characters without a script belong to the word
// before them, and are dropped at the beginning of a text, as in Hugging Face's tokenizers.
func byScripts(text string, first bool, emit func(string, bool)) {
	scriptOf := func(c rune) int {
		switch s := ucd.Script(c); {
		case c == ' ':
			return 0
		case c == 'ー' || s == ucd.Script('あ') || s == ucd.Script('ア'):
			return ucd.Script('漢')
		default:
			return s
		}
	}
	start, before := -1, 0
	for at, c := range text {
		s := scriptOf(c)
		if s == 0 {
			continue
		}
		if s != before {
			if start >= 0 {
				emit(text[start:at], first)
				first = false
			}
			start = at
		}
		before = s
	}
	if start >= 0 {
		emit(text[start:], first)
	}
}

// Post-processors.

// clsAndSep puts the token cls before a text and sep behind it, and between two texts as many sep as given. Each is a list of a text and a number.
func clsAndSep(between int) func(p *part) ([]template, error) {
	return func(p *part) ([]template, error) {
		var ids [2][]int32
		for i, raw := range []json.RawMessage{p.Cls, p.Sep} {
			var pair []any
			if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 {
				return nil, fmt.Errorf("%s, expected a token and its number", short(string(raw)))
			}
			n, ok := pair[1].(float64)
			if !ok || n < 0 || n >= mostTokens {
				return nil, fmt.Errorf("%s, expected a token and its number", short(string(raw)))
			}
			ids[i] = []int32{int32(n)}
		}
		t := around(ids[0], ids[1])
		t.pair = []slot{{ids: ids[0]}, {text: 1}, {ids: slices.Repeat(ids[1], between)}, {text: 2}, {ids: ids[1]}}
		return []template{t}, nil
	}
}

// slots reads a template of texts and special tokens for the given number of texts.
func (p *part) slots(name string, items []templateItem, texts int) (out []slot, err error) {
	for i, item := range items {
		switch {
		case item.Sequence != nil && (item.Sequence.ID == "A" || item.Sequence.ID == "B" && texts == 2):
			out = append(out, slot{text: int(item.Sequence.ID[0]-'A') + 1})
		case item.SpecialToken != nil && len(p.SpecialItems[item.SpecialToken.ID].IDs) > 0:
			out = append(out, slot{ids: p.SpecialItems[item.SpecialToken.ID].IDs})
		default:
			return nil, fmt.Errorf("%s[%d]: expected a sequence or a special token", name, i)
		}
	}
	return out, nil
}

// postProcessors build the templates of a post-processor, by its type.
func postProcessors() map[string]func(*part) ([]template, error) {
	return map[string]func(*part) ([]template, error){
		"BertProcessing": clsAndSep(1), "RobertaProcessing": clsAndSep(2),
		"ByteLevel": func(*part) ([]template, error) { return nil, nil },
		"TemplateProcessing": func(p *part) ([]template, error) {
			t := around(nil, nil)
			var err error
			if t.single, err = p.slots("single", p.Single, 1); err == nil && p.Pair != nil {
				t.pair, err = p.slots("pair", p.Pair, 2)
			}
			return []template{t}, err
		},
		"Sequence": func(p *part) ([]template, error) {
			all, err := partsOf(postProcessors(), p.Processors, "post_processor")
			return slices.Concat(all...), err
		},
	}
}

// Decoders map the texts of tokens to texts whose concatenation is the result.

type decoder = func([]string) []string

func each(f func(token string, i int) string) decoder {
	return func(tokens []string) []string {
		out := make([]string, len(tokens))
		for i, t := range tokens {
			out[i] = f(t, i)
		}
		return out
	}
}

// clean removes the spaces that splitting English text puts between tokens.
func clean(text string) string {
	for _, pair := range [][2]string{
		{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" do not", " don't"},
		{" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	} {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

// decoders build a decoder, by its type.
func decoders() map[string]func(*part) (decoder, error) {
	return map[string]func(*part) (decoder, error){
		"ByteLevel": func(*part) (decoder, error) {
			return func(tokens []string) []string {
				var all []byte
				for _, t := range tokens {
					b, _ := fromByteCharacters(t)
					all = append(all, b...)
				}
				return []string{lossy(all)}
			}, nil
		},
		"WordPiece": func(p *part) (decoder, error) {
			prefix, cleanup := or(p.Prefix, "##"), or(p.Cleanup, true)
			return each(func(token string, i int) string {
				if i > 0 {
					if rest, ok := strings.CutPrefix(token, prefix); ok {
						token = rest
					} else {
						token = " " + token
					}
				}
				if cleanup {
					token = clean(token)
				}
				return token
			}), nil
		},
		"Metaspace": func(p *part) (decoder, error) {
			by, strips := or(p.Replacement, mark), p.scheme() != "never"
			return each(func(token string, i int) string {
				if i == 0 && strips {
					token = strings.TrimPrefix(token, by)
				}
				return strings.ReplaceAll(token, by, " ")
			}), nil
		},
		"BPEDecoder": func(p *part) (decoder, error) {
			suffix := or(p.Suffix, "</w>")
			return func(tokens []string) []string {
				return each(func(token string, i int) string {
					by := " "
					if i == len(tokens)-1 {
						by = ""
					}
					return strings.ReplaceAll(token, suffix, by)
				})(tokens)
			}, nil
		},
		"Replace": func(p *part) (decoder, error) {
			found, err := patternOf(p.Pattern)
			if err != nil {
				return nil, err
			}
			replace := replacer(found, p.Content)
			return each(func(token string, _ int) string { return replace(token) }), nil
		},
		"ByteFallback": func(*part) (decoder, error) { return joinBytes, nil },
		"Fuse": func(*part) (decoder, error) {
			return func(t []string) []string { return []string{strings.Join(t, "")} }, nil
		},
		"Strip": func(p *part) (decoder, error) {
			return each(func(token string, _ int) string {
				for i := 0; i < p.Start && p.Content != "" && strings.HasPrefix(token, p.Content); i++ {
					token = token[len(p.Content):]
				}
				for i := 0; i < p.Stop && p.Content != "" && strings.HasSuffix(token, p.Content); i++ {
					token = token[:len(token)-len(p.Content)]
				}
				return token
			}), nil
		},
		"CTC": func(p *part) (decoder, error) {
			pad, end, cleanup := or(p.PadToken, "<pad>"), or(p.WordEnd, "|"), or(p.Cleanup, true)
			return func(tokens []string) (out []string) {
				for _, t := range slices.Compact(slices.Clone(tokens)) {
					t = strings.ReplaceAll(t, pad, "")
					if cleanup {
						t = strings.ReplaceAll(clean(t), end, " ")
					}
					if t != "" {
						out = append(out, t)
					}
				}
				return out
			}, nil
		},
		"Sequence": func(p *part) (decoder, error) {
			all, err := partsOf(decoders(), p.Decoders, "decoder")
			return func(tokens []string) []string {
				for _, f := range all {
					if f != nil {
						tokens = f(tokens)
					}
				}
				return tokens
			}, err
		},
	}
}

// byteNames are the names of byte tokens, such as <0x0A>.
func byteNames() (names [256]string) {
	for b := range names {
		names[b] = fmt.Sprintf("<0x%02X>", b)
	}
	return names
}

// byteOf is the byte that a token stands for by its name.
func byteOf(name string) (byte, bool) {
	if len(name) != 6 || name[:3] != "<0x" || name[5] != '>' {
		return 0, false
	}
	b := 0
	for _, c := range []byte(name[3:5]) {
		switch {
		case c >= '0' && c <= '9':
			b = b<<4 | int(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			b = b<<4 | int(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return byte(b), true
}

// joinBytes joins adjacent byte tokens to a text; if their bytes are not UTF-8, each of them becomes U+FFFD.
func joinBytes(tokens []string) (out []string) {
	var run []byte
	flush := func() {
		if utf8.Valid(run) && len(run) > 0 {
			out = append(out, string(run))
		} else {
			for range run {
				out = append(out, "\ufffd")
			}
		}
		run = run[:0]
	}
	for _, t := range tokens {
		if b, ok := byteOf(t); ok {
			run = append(run, b)
			continue
		}
		flush()
		out = append(out, t)
	}
	flush()
	return out
}
