// Package tokens converts texts to the tokens of language models and back: byte pair encoding by ranks (tiktoken, CLIP), SentencePiece models,
// tokenizer.json of Hugging Face, and the tokenizers in GGUF files. All are one pipeline: added tokens are found in the text; the rest is normalized
// and split into words, which a model tokenizes; a post-processor puts tokens around the result.
package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"polygrad/model/tokens/ucd"
)

// Tokenizer converts texts to tokens and back. It may be used by several goroutines.
type Tokenizer struct {
	normalize func(string) string // nil: no change
	split     stage               // nil: a text is one word
	words     model
	wraps     []template // what post-processors put around the tokens, one after another
	decode    func([]string) []string
	finish    func(ids []int32) []int32 // the last step of encoding, after wraps

	truncation *Truncation // the settings of the file
	padding    *Padding

	begin   func(ids []int32) []int32 // the first step of decoding
	isBytes bool                      // the texts of tokens are bytes, which are concatenated

	texts   []string // by token number
	known   []bool
	ids     map[string]int32
	special map[int32]bool
	named   map[string]int32 // special tokens by their texts
	count   int

	raw, normalized matcher

	free sync.Pool // of *worker
}

// stage splits a part of a text; first says that the text begins with this part.
type stage func(part string, first bool, emit func(part string, first bool))

// model tokenizes a word and appends its tokens to the worker's.
type model interface {
	tokenize(word string, w *worker)
}

// template is what a post-processor makes of one text and of a pair of texts.
type template struct{ single, pair []slot }

// slot is fixed tokens, or the place of the tokens of a text.
type slot struct {
	ids  []int32
	text int // 1 or 2: the first or second text; 0: ids
}

// around is the template with tokens before and behind a text, or a pair.
func around(before, behind []int32) template {
	return template{[]slot{{ids: before}, {text: 1}, {ids: behind}}, []slot{{ids: before}, {text: 1}, {text: 2}, {ids: behind}}}
}

// fill applies a template to the tokens of texts.
func (tmpl template) fill(texts [][]int32) (out []int32) {
	slots := tmpl.single
	if len(texts) == 2 {
		slots = tmpl.pair
	}
	for _, s := range slots {
		if s.text > 0 {
			out = append(out, texts[s.text-1]...)
		} else {
			out = append(out, s.ids...)
		}
	}
	return out
}

// failure is the panic value of an error during encoding.
type failure struct{ error }

func fail(format string, a ...any) { panic(failure{fmt.Errorf(format, a...)}) }

// caught recovers from a failure and returns its error.
func caught(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		panic(r)
	}
}

// Special says how the texts of special tokens in an encoded text are treated.
type Special struct {
	// Refuse makes the text of a special token that is not allowed an error; otherwise it is ordinary text.
	Refuse bool
	// All allows all special tokens; otherwise only those of Allowed become tokens.
	All     bool
	Allowed []string
}

// parseSpecial reads "all", "none", "refuse" or a JSON list of allowed texts; other special tokens are ordinary text.
func parseSpecial(s string) (Special, error) {
	switch s {
	case "", "all":
		return Special{All: true}, nil
	case "none":
		return Special{}, nil
	case "refuse":
		return Special{Refuse: true}, nil
	}
	var sp Special
	if err := json.Unmarshal([]byte(s), &sp.Allowed); err != nil {
		return sp, fmt.Errorf(`%q, expected "all", "none", "refuse" or a JSON list of texts`, short(s))
	}
	return sp, nil
}

const (
	mostTokens = 1 << 21 // token numbers are below this
	mostKnown  = 1 << 16 // words whose tokens a worker caches
	longWord   = 64      // the bytes of the longest word that is cached
)

// worker is the state of an encoding: the tokens so far, and a cache of the tokens of words.
type worker struct {
	out    []int32
	known  map[string][2]uint32 // the positions of a word's tokens in arena
	arena  []int32
	merges merges
	best   []step
}

func (t *Tokenizer) worker() *worker {
	if w, ok := t.free.Get().(*worker); ok {
		w.out = w.out[:0]
		return w
	}
	return &worker{out: []int32{}, known: map[string][2]uint32{}}
}

// word appends the tokens of a word, from the cache if possible.
func (t *Tokenizer) word(word string, w *worker) {
	if word == "" {
		return
	}
	if len(word) > longWord {
		t.words.tokenize(word, w)
		return
	}
	if at, ok := w.known[word]; ok {
		w.out = append(w.out, w.arena[at[0]:at[1]]...)
		return
	}
	before := len(w.out)
	t.words.tokenize(word, w)
	if len(w.known) >= mostKnown {
		clear(w.known)
		w.arena = w.arena[:0]
	}
	start := len(w.arena)
	w.arena = append(w.arena, w.out[before:]...)
	w.known[strings.Clone(word)] = [2]uint32{uint32(start), uint32(len(w.arena))}
}

// tokens appends the tokens of a text to those of a worker.
func (t *Tokenizer) tokens(text string, special Special, w *worker) (err error) {
	defer caught(&err)
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	first := true
	emit := func(part string, _ bool) { t.word(part, w) }
	plain := func(part string) {
		if t.split == nil {
			t.word(part, w)
		} else if part != "" {
			t.split(part, first, emit)
		}
		first = false
	}
	token := func(id int32) {
		w.out = append(w.out, id)
		first = false
	}
	t.raw.scan(text, special, func(part string) {
		if t.normalize != nil {
			part = t.normalize(part)
		}
		t.normalized.scan(part, special, plain, token)
	}, token)
	return nil
}

// Encode returns the tokens of a text, or of a pair of texts, without padding.
func (t *Tokenizer) Encode(o Options, texts ...string) ([]int32, error) {
	w := t.worker()
	defer t.free.Put(w)
	parts := make([][]int32, len(texts))
	for i, text := range texts {
		w.out = w.out[:0]
		if err := t.tokens(text, o.Special, w); err != nil {
			return nil, err
		}
		parts[i] = slices.Clone(w.out)
	}
	var wraps []template
	if o.Wrap {
		wraps = t.wraps
	}
	if o.Truncation != nil {
		empty, more := make([][]int32, len(parts)), 0
		for i, tmpl := range wraps {
			if i > 0 {
				empty = empty[:1]
			}
			more += len(tmpl.fill(empty))
		}
		if err := o.Truncation.cut(parts, more); err != nil {
			return nil, err
		}
	}
	for _, tmpl := range wraps {
		parts = [][]int32{tmpl.fill(parts)}
	}
	ids := parts[0]
	if len(parts) > 1 {
		ids = slices.Concat(parts...)
	}
	if o.Wrap && t.finish != nil {
		ids = t.finish(ids)
	}
	return ids, nil
}

// EncodeBatch returns the tokens of several texts, or pairs of texts. Threads share the texts.
func (t *Tokenizer) EncodeBatch(o Options, texts [][]string) ([][]int32, error) {
	out, errs := make([][]int32, len(texts)), make([]error, len(texts))
	threads := min(runtime.GOMAXPROCS(0), len(texts))
	var wait sync.WaitGroup
	next := make(chan int, len(texts))
	for i := range texts {
		next <- i
	}
	close(next)
	for range threads {
		wait.Go(func() {
			for i := range next {
				if out[i], errs[i] = t.Encode(o, texts[i]...); errs[i] != nil {
					errs[i] = fmt.Errorf("text %d: %w", i, errs[i])
				}
			}
		})
	}
	wait.Wait()
	if o.Padding != nil {
		o.Padding.fill(out)
	}
	return out, errors.Join(errs...)
}

// Decode returns the text of tokens; special tokens are left out unless keep is set. Bytes that are not UTF-8 are replaced by U+FFFD.
func (t *Tokenizer) Decode(ids []int32, keep bool) (string, error) {
	b, err := t.DecodeBytes(ids, keep)
	return lossy(b), err
}

// DecodeBytes is Decode, but keeps bytes of byte tokens that are not UTF-8.
func (t *Tokenizer) DecodeBytes(ids []int32, keep bool) (b []byte, err error) {
	if t.begin != nil {
		ids = t.begin(ids)
	}
	texts := make([]string, 0, len(ids))
	for _, id := range ids {
		if !t.Has(id) {
			return nil, fmt.Errorf("%d is no token of the tokenizer", id)
		}
		if keep || !t.special[id] {
			texts = append(texts, t.texts[id])
		}
	}
	switch {
	case t.decode != nil:
		texts = t.decode(texts)
	case !t.isBytes:
		return []byte(strings.Join(texts, " ")), nil
	}
	return []byte(strings.Join(texts, "")), nil
}

// Has reports whether there is a token with this number.
func (t *Tokenizer) Has(id int32) bool { return id >= 0 && int(id) < len(t.known) && t.known[id] }

// ID is the number of a token, -1 if there is none.
func (t *Tokenizer) ID(text string) int32 {
	if id, ok := t.ids[text]; ok {
		return id
	}
	return -1
}

// Text returns the vocabulary entry of a token; for byte tokens, the bytes.
func (t *Tokenizer) Text(id int32) (string, bool) {
	if !t.Has(id) {
		return "", false
	}
	return t.texts[id], true
}

// Special returns the special tokens by text.
func (t *Tokenizer) Special() map[string]int32 { return t.named }

// Size is the number of tokens.
func (t *Tokenizer) Size() int { return t.count }

// name gives a token its text.
func (t *Tokenizer) name(text string, id int32) error {
	if id < 0 || id >= mostTokens {
		return fmt.Errorf("the token %q has the number %d, expected 0 to %d", short(text), id, mostTokens-1)
	}
	if n := int(id) + 1; n > len(t.texts) {
		t.texts = append(t.texts, make([]string, n-len(t.texts))...)
		t.known = append(t.known, make([]bool, n-len(t.known))...)
	}
	if !t.known[id] {
		t.count++
	}
	t.texts[id], t.known[id], t.ids[text] = text, true, id
	return nil
}

// begun is a tokenizer without tokens, with room for n.
func begun(n int) *Tokenizer {
	return &Tokenizer{ids: make(map[string]int32, n), special: map[int32]bool{}, named: map[string]int32{}}
}

// addedToken is a text that is one token wherever it occurs.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LeftStrip  bool   `json:"lstrip"`
	RightStrip bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// add names an added token. find is the text that stands for it in texts, if it is not "".
func (t *Tokenizer) add(a addedToken, find string, in *matcher) error {
	if err := t.name(a.Content, a.ID); err != nil {
		return err
	}
	if a.Special {
		t.special[a.ID], t.named[a.Content] = true, a.ID
	}
	if find != "" {
		in.add(find, a)
	}
	return nil
}

// matcher finds added tokens in a text: the leftmost one, and of those that begin there the longest.
type matcher struct {
	tokens  map[string]addedToken
	lengths []int // the lengths of their texts, in descending order
	firsts  string
}

func (m *matcher) add(text string, a addedToken) {
	if m.tokens == nil {
		m.tokens = map[string]addedToken{}
	}
	m.tokens[text] = a
	if !slices.Contains(m.lengths, len(text)) {
		m.lengths = append(m.lengths, len(text))
		slices.SortFunc(m.lengths, func(a, b int) int { return b - a })
	}
	if c, _ := utf8.DecodeRuneInString(text); !strings.ContainsRune(m.firsts, c) {
		m.firsts += string(c)
	}
}

// at is the token with whose text a text begins.
func (m *matcher) at(text string) (string, addedToken, bool) {
	for _, n := range m.lengths {
		if n <= len(text) {
			if a, ok := m.tokens[text[:n]]; ok {
				return text[:n], a, true
			}
		}
	}
	return "", addedToken{}, false
}

// scan calls token for each token in a text, and plain for the text between tokens.
func (m *matcher) scan(text string, special Special, plain func(string), token func(int32)) {
	if len(m.tokens) == 0 || !special.All && !special.Refuse && len(special.Allowed) == 0 && !m.hasPlain() {
		if text != "" {
			plain(text)
		}
		return
	}
	done := 0
	for at := 0; at < len(text); {
		next := strings.IndexAny(text[at:], m.firsts)
		if next < 0 {
			break
		}
		at += next
		found, a, ok := m.at(text[at:])
		if ok && a.Special && !special.All && !slices.Contains(special.Allowed, a.Content) {
			if special.Refuse {
				fail("the text has the special token %q, which is not allowed", a.Content)
			}
			ok = false
		}
		start, stop := at, at+len(found)
		if ok && a.SingleWord {
			before, _ := utf8.DecodeLastRuneInString(text[:start])
			after, _ := utf8.DecodeRuneInString(text[stop:])
			ok = (start == 0 || !ucd.Word().Has(before)) && (stop == len(text) || !ucd.Word().Has(after))
		}
		if !ok {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			continue
		}
		if a.LeftStrip {
			start = done + len(strings.TrimRightFunc(text[done:start], ucd.Space().Has))
		}
		if a.RightStrip {
			stop = len(text) - len(strings.TrimLeftFunc(text[stop:], ucd.Space().Has))
		}
		if start > done {
			plain(text[done:start])
		}
		token(a.ID)
		done, at = stop, stop
	}
	if done < len(text) {
		plain(text[done:])
	}
}

// hasPlain reports whether there are tokens that are not special.
func (m *matcher) hasPlain() bool {
	for _, a := range m.tokens {
		if !a.Special {
			return true
		}
	}
	return false
}

// lossy is the text of bytes, with one U+FFFD for each maximal part that is not UTF-8 but may begin a character.
func lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			n = wrongPart(b)
		}
		out.WriteRune(c)
		b = b[n:]
	}
	return out.String()
}

// wrongPart is the number of bytes of an incomplete character.
func wrongPart(b []byte) int {
	low, high, more := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		more = 1
	case c >= 0xe0 && c <= 0xef:
		more = 2
		if c == 0xe0 {
			low = 0xa0
		} else if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		more = 3
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for n <= more && n < len(b) && b[n] >= low && b[n] <= high {
		n, low, high = n+1, 0x80, 0xbf
	}
	return n
}

// short is a text, shortened for an error message.
func short(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Stream decodes tokens as they come: a token may be a part of a character, and its text may depend on the tokens before it.
type Stream struct {
	t       *Tokenizer
	keep    bool
	ids     []int32 // the last tokens
	written int     // the number of ids whose text has been returned
}

const streamContext = 8 // earlier tokens that may affect the text of new ones

// NewStream begins a text behind tokens whose text is already known.
func (t *Tokenizer) NewStream(before []int32, keep bool) (*Stream, error) {
	s := &Stream{t: t, keep: keep}
	if err := s.add(before); err != nil {
		return nil, err
	}
	s.ids = slices.Clone(s.ids[max(0, len(s.ids)-streamContext):])
	s.written = len(s.ids)
	return s, nil
}

// Push adds tokens and returns the new text; an incomplete character is held back. Without tokens, Push returns what was held back.
func (s *Stream) Push(ids ...int32) (string, error) {
	if err := s.add(ids); err != nil {
		return "", err
	}
	return s.piece(len(ids) == 0)
}

// add appends tokens, except those that are left out of the text.
func (s *Stream) add(ids []int32) error {
	for _, id := range ids {
		if !s.t.Has(id) {
			return fmt.Errorf("%d is no token of the tokenizer", id)
		}
	}
	for _, id := range ids {
		if s.keep || !s.t.special[id] {
			s.ids = append(s.ids, id)
		}
	}
	return nil
}

func (s *Stream) piece(final bool) (string, error) {
	before, err := s.t.Decode(s.ids[:s.written], s.keep)
	if err != nil {
		return "", err
	}
	text, err := s.t.Decode(s.ids, s.keep)
	if err != nil {
		return "", err
	}
	piece, ok := strings.CutPrefix(text, before)
	if !ok { // invalid bytes changed the text before them
		if piece, err = s.t.Decode(s.ids[s.written:], s.keep); err != nil {
			return "", err
		}
	}
	if piece == "" || strings.HasSuffix(piece, "\ufffd") && !final {
		return "", nil
	}
	s.ids = s.ids[s.written:]
	s.written = len(s.ids)
	return piece, nil
}
