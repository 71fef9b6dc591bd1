package tokens

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// fields calls f with the fields of a message of Protocol Buffers: numbers, or bytes of texts and messages.
func fields(data []byte, f func(number int, value uint64, bytes []byte) error) error {
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 {
			return errors.New("a field's number is wrong")
		}
		data = data[n:]
		var value uint64
		var bytes []byte
		switch key & 7 {
		case 0:
			if value, n = binary.Uvarint(data); n <= 0 {
				return errors.New("a number is wrong")
			}
		case 1, 5:
			n = 8
			if key&7 == 5 {
				n = 4
			}
			if len(data) < n {
				return errors.New("it ends within a field")
			}
			if n == 4 {
				value = uint64(binary.LittleEndian.Uint32(data))
			}
		case 2:
			size, m := binary.Uvarint(data)
			if m <= 0 || size > uint64(len(data)-m) {
				return errors.New("it ends within a field")
			}
			bytes, n = data[m:m+int(size)], m+int(size)
		default:
			return fmt.Errorf("a field has the kind %d", key&7)
		}
		data = data[n:]
		if key>>3 > math.MaxInt32 {
			return errors.New("a field's number is wrong")
		}
		if err := f(int(key>>3), value, bytes); err != nil {
			return err
		}
	}
	return nil
}

// Types of pieces and of models.
const (
	pieceNormal, pieceUnknown, pieceControl, pieceUser, pieceUnused, pieceByte = 1, 2, 3, 4, 5, 6
	modelUnigram, modelBPE                                                     = 1, 2
)

// pieces is a model of SentencePiece, from its own file or another one.
type pieces struct {
	text  []string
	score []float64
	kind  []int

	model                     int
	unknown                   int32
	charsmap                  *charsmap
	dummyPrefix, singleSpaces bool
	escapes, suffix           bool
	unknownText               string
}

func (p *pieces) add(data []byte) error {
	text, score, kind := "", 0.0, pieceNormal
	err := fields(data, func(number int, value uint64, bytes []byte) error {
		switch number {
		case 1:
			text = string(bytes)
		case 2:
			score = float64(math.Float32frombits(uint32(value)))
		case 3:
			kind = int(value)
		}
		return nil
	})
	switch {
	case err != nil:
	case !utf8.ValidString(text):
		err = errors.New("its text is not UTF-8")
	case kind < pieceNormal || kind > pieceByte:
		err = fmt.Errorf("its type is %d", kind)
	case len(p.text) >= mostTokens:
		err = errors.New("there are too many")
	}
	if err != nil {
		return fmt.Errorf("piece %d: %w", len(p.text), err)
	}
	p.text, p.score, p.kind = append(p.text, text), append(p.score, score), append(p.kind, kind)
	return nil
}

// fromSentencePiece reads a .model file.
func fromSentencePiece(data []byte) (*Tokenizer, error) {
	p := &pieces{
		model: modelUnigram, charsmap: &charsmap{}, dummyPrefix: true, singleSpaces: true, escapes: true, unknownText: " \u2047 ",
	}
	err := fields(data, func(number int, _ uint64, bytes []byte) error {
		switch number {
		case 1:
			return p.add(bytes)
		case 2:
			return fields(bytes, func(number int, value uint64, bytes []byte) error {
				switch number {
				case 3:
					p.model = int(value)
				case 24:
					p.suffix = value != 0
				case 44:
					p.unknownText = string(bytes)
				}
				return nil
			})
		case 3:
			return fields(bytes, func(number int, value uint64, bytes []byte) (err error) {
				switch number {
				case 2:
					p.charsmap, err = newCharsmap(bytes)
				case 3:
					p.dummyPrefix = value != 0
				case 4:
					p.singleSpaces = value != 0
				case 5:
					p.escapes = value != 0
				}
				return err
			})
		}
		return nil
	})
	if err == nil && len(p.text) == 0 {
		err = errors.New("there are no pieces")
	}
	if err == nil && p.model != modelUnigram && p.model != modelBPE {
		err = fmt.Errorf("its type is %d, expected %d (unigram) or %d (BPE)", p.model, modelUnigram, modelBPE)
	}
	var t *Tokenizer
	if err == nil {
		t, err = p.tokenizer()
	}
	if err != nil {
		return nil, fmt.Errorf("the model of SentencePiece: %w", err)
	}
	return t, nil
}

// tokenizer is the tokenizer of a model's pieces.
func (p *pieces) tokenizer() (*Tokenizer, error) {
	t := begun(len(p.text))
	vocab := map[string]int32{} // the pieces that words may be made of
	var users []string
	lowest, highest := math.Inf(1), math.Inf(-1)
	p.unknown = none
	for i, text := range p.text {
		id := int32(i)
		if other, ok := t.ids[text]; ok {
			return nil, fmt.Errorf("the pieces %d and %d are both %q", other, id, short(text))
		}
		if err := t.name(text, id); err != nil {
			return nil, err
		}
		switch p.kind[i] {
		case pieceNormal:
			lowest, highest = min(lowest, p.score[i]), max(highest, p.score[i])
			vocab[text] = id
		case pieceUser:
			vocab[text] = id
			users = append(users, text)
		case pieceUnknown:
			p.unknown = id
		case pieceControl:
			t.special[id], t.named[text] = true, id
		case pieceByte:
			if _, ok := byteOf(text); !ok {
				return nil, fmt.Errorf("piece %d: %q, expected the name of a byte, such as <0x0A>", id, short(text))
			}
		}
	}
	if math.IsInf(lowest, 0) {
		lowest, highest = 0, 0
	}
	fallback := bytesIn(t.ids)
	if fallback == nil && slices.Contains(p.kind, pieceByte) {
		return nil, errors.New("the pieces of bytes are not complete")
	}
	if fallback == nil && p.unknown < 0 {
		return nil, errors.New("there is no piece for unknown characters")
	}
	userTrie := &trie{}
	for i, text := range users {
		userTrie.add(text, int32(i))
	}
	if p.model == modelBPE {
		t.words = &bpe{vocab: vocab, rank: p.order(), fallback: fallback, unknown: p.unknown, fuse: true}
		if len(users) > 0 {
			t.words = &withUsers{t.words, vocab, p.kind}
		}
	} else {
		u, err := newUnigram(p.score)
		if err != nil {
			return nil, err
		}
		for text, id := range vocab {
			u.piece(text, id)
			if p.kind[id] == pieceUser {
				u.score[id] = float64(len(text))*highest - 0.1
			}
		}
		u.unknown, u.penalty, u.bytes = p.unknown, lowest-unknownPenalty, fallback
		t.words = u
	}
	var stages []stage
	if p.model == modelBPE && len(users) > 0 {
		stages = append(stages, userTrie.apart)
	}
	if wordwise(vocab) && p.escapes {
		stages = append(stages, atMarks)
	}
	if len(stages) > 0 {
		t.split = then(stages)
	}
	t.normalize = func(text string) string { return p.normalize(text, userTrie) }
	t.decode = func(tokens []string) []string { return p.decode(tokens, t) }
	return t, nil
}

// order is the rank of each piece: the one with the highest score is merged first.
func (p *pieces) order() []int32 {
	byScore := make([]int, len(p.text))
	for i := range byScore {
		byScore[i] = i
	}
	slices.SortStableFunc(byScore, func(a, b int) int {
		switch x, y := p.score[a], p.score[b]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	rank := make([]int32, len(p.text))
	for i, id := range byScore {
		rank[id] = int32(i)
		if i > 0 && p.score[id] == p.score[byScore[i-1]] {
			rank[id] = rank[byScore[i-1]]
		}
	}
	for id, kind := range p.kind {
		if kind != pieceNormal && kind != pieceUser {
			rank[id] = math.MaxInt32
		}
	}
	return rank
}

// withUsers gives a word that is a user-defined piece the token of that piece, undivided.
type withUsers struct {
	model
	vocab map[string]int32
	kind  []int
}

func (u *withUsers) tokenize(word string, w *worker) {
	if id, ok := u.vocab[word]; ok && u.kind[id] == pieceUser {
		w.out = append(w.out, id)
		return
	}
	u.model.tokenize(word, w)
}

// longest is the length of the longest text in a trie that is a prefix of a text.
func (t *trie) longest(text string) int {
	node, length := int32(0), 0
	for i := range len(text) {
		next, ok := t.child(node, text[i])
		if !ok {
			break
		}
		node = next
		if t.ids[node] >= 0 {
			length = i + 1
		}
	}
	return length
}

// apart splits a text at the texts of a trie, which become parts of their own.
func (t *trie) apart(text string, first bool, emit func(string, bool)) {
	done := 0
	for at := 0; at < len(text); {
		n := t.longest(text[at:])
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text[at:])
			at += n
			continue
		}
		if at > done {
			emit(text[done:at], first)
			first = false
		}
		emit(text[at:at+n], first)
		first = false
		at += n
		done = at
	}
	if done < len(text) {
		emit(text[done:], first)
	}
}

// normalize is a text after the character map, with spaces written as in pieces.
func (p *pieces) normalize(text string, users *trie) string {
	next := func(text string) (string, int) {
		if n := users.longest(text); n > 0 {
			return text[:n], n
		}
		found, n := p.charsmap.prefix(text)
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text)
			found = text[:n]
		}
		return found, n
	}
	if p.singleSpaces {
		for text != "" {
			found, n := next(text)
			if found != " " {
				break
			}
			text = text[n:]
		}
	}
	if text == "" {
		return ""
	}
	space := " "
	if p.escapes {
		space = mark
	}
	var out strings.Builder
	out.Grow(len(text) + len(text)/4)
	if p.dummyPrefix && !p.suffix {
		out.WriteString(space)
	}
	spaceBefore := p.singleSpaces
	for text != "" {
		found, n := next(text)
		text = text[n:]
		if spaceBefore {
			found = strings.TrimLeft(found, " ")
		}
		if found == "" {
			continue
		}
		spaceBefore = p.singleSpaces && strings.HasSuffix(found, " ")
		for {
			plain, rest, ok := strings.Cut(found, " ")
			out.WriteString(plain)
			if !ok {
				break
			}
			out.WriteString(space)
			found = rest
		}
	}
	s := out.String()
	if p.singleSpaces {
		for strings.HasSuffix(s, space) {
			s = strings.TrimSuffix(s, space)
		}
	}
	if p.dummyPrefix && p.suffix {
		s += space
	}
	return s
}

// decode is the text of pieces. If a space was put before the text, it is removed.
func (p *pieces) decode(tokens []string, t *Tokenizer) []string {
	begins := true
	var run []byte
	var out []string
	flush := func() {
		for len(run) > 0 {
			_, n := utf8.DecodeRune(run)
			text := "\ufffd"
			if n > 1 || run[0] < utf8.RuneSelf {
				text = string(run[:n])
			}
			out, run = append(out, text), run[n:]
		}
	}
	for _, token := range tokens {
		id := t.ids[token]
		if b, ok := byteOf(token); ok && p.kind[id] == pieceByte {
			run = append(run, b)
			begins = false
			continue
		}
		flush()
		switch {
		case id == p.unknown:
			token = p.unknownText
		case p.kind[id] == pieceControl:
			out = append(out, token) // a control token is only here if the caller keeps special tokens
			continue
		default:
			if begins && (p.dummyPrefix || p.singleSpaces) {
				rest, had := strings.CutPrefix(token, mark)
				token = rest
				begins = had && p.singleSpaces && token == ""
			} else {
				begins = false
			}
			token = strings.ReplaceAll(token, mark, " ")
		}
		if token != "" {
			begins = false
			out = append(out, token)
		}
	}
	flush()
	return out
}
