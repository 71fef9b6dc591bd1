package tokens

import (
	"errors"
	"math"
	"unicode/utf8"
)

// unigram finds the most likely segmentation of a word into pieces (Kudo, Subword Regularization).
type unigram struct {
	vocab   map[string]int32
	trie    trie
	score   []float64
	unknown int32   // the token of characters that are no piece
	bytes   []int32 // the tokens of bytes for such characters, or nil
	penalty float64 // the score of such a character
}

const unknownPenalty = 10 // below the lowest score

// step is the best segmentation of a word up to a position: its score, and where its last piece begins.
type step struct {
	score float64
	from  int32
	id    int32
}

func newUnigram(scores []float64) (*unigram, error) {
	u := &unigram{vocab: map[string]int32{}, score: scores, unknown: -1}
	for _, s := range scores {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return nil, errors.New("a score is not finite")
		}
	}
	return u, nil
}

// piece adds a piece.
func (u *unigram) piece(text string, id int32) {
	u.vocab[text] = id
	u.trie.add(text, id)
}

func (u *unigram) tokenize(word string, w *worker) {
	n := len(word)
	best := append(w.best[:0], make([]step, n+1)...)
	w.best = best
	for i := range best[1:] {
		best[i+1].score = math.Inf(-1)
	}
	reach := func(from, to int, id int32, score float64) {
		score += best[from].score
		if score > best[to].score {
			best[to] = step{score, int32(from), id}
		}
	}
	for at := 0; at < n; {
		_, size := utf8.DecodeRuneInString(word[at:])
		hasOne := false
		node := int32(0)
		for end := at; end < n; {
			next, ok := u.trie.child(node, word[end])
			if !ok {
				break
			}
			node = next
			end++
			if id := u.trie.ids[node]; id >= 0 {
				reach(at, end, id, u.score[id])
				hasOne = hasOne || end == at+size
			}
		}
		if !hasOne {
			reach(at, at+size, -1, u.penalty)
		}
		at += size
	}
	// Follow the steps back from the end: the tokens come in reverse order.
	begun := len(w.out)
	fused := false
	for at := int32(n); at > 0; at = best[at].from {
		id, from := best[at].id, best[at].from
		switch {
		case id >= 0:
			w.out = append(w.out, id)
			fused = id == u.unknown
		case u.bytes != nil:
			for i := at - 1; i >= from; i-- {
				w.out = append(w.out, u.bytes[word[i]])
			}
			fused = false
		case u.unknown < 0:
			fail("%q has no token, and the vocabulary none for unknown characters", word[from:at])
		case !fused:
			w.out = append(w.out, u.unknown)
			fused = true
		}
	}
	for i, j := begun, len(w.out)-1; i < j; i, j = i+1, j-1 {
		w.out[i], w.out[j] = w.out[j], w.out[i]
	}
}

// trie finds the pieces that are prefixes of a text. The edges of all nodes are in one hash table.
type trie struct {
	ids   []int32 // the piece that ends at each node, -1 if there is none
	table []edge  // open addressing, a power of two
	edges int
}

type edge struct {
	key  uint64 // the node and the byte, plus 1
	node int32
}

func edgeKey(node int32, b byte) uint64 { return (uint64(node)<<8 | uint64(b)) + 1 }

func (t *trie) slot(key uint64) *edge {
	mask := uint64(len(t.table) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 20 & mask; ; i = (i + 1) & mask {
		if e := &t.table[i]; e.key == key || e.key == 0 {
			return e
		}
	}
}

func (t *trie) child(node int32, b byte) (int32, bool) {
	if len(t.table) == 0 {
		return 0, false
	}
	e := t.slot(edgeKey(node, b))
	return e.node, e.key != 0
}

func (t *trie) add(text string, id int32) {
	if len(t.ids) == 0 {
		t.ids = append(t.ids, -1)
	}
	node := int32(0)
	for i := range len(text) {
		if 2*t.edges >= len(t.table) {
			old := t.table
			t.table = make([]edge, max(1024, 4*len(old)))
			for _, e := range old {
				if e.key != 0 {
					*t.slot(e.key) = e
				}
			}
		}
		e := t.slot(edgeKey(node, text[i]))
		if e.key == 0 {
			*e = edge{edgeKey(node, text[i]), int32(len(t.ids))}
			t.ids = append(t.ids, -1)
			t.edges++
		}
		node = e.node
	}
	if node != 0 {
		t.ids[node] = id
	}
}

// wordPiece takes the longest piece that is a prefix of the word, then the longest one that continues it, and so on.
type wordPiece struct {
	vocab   map[string]int32
	unknown int32
	prefix  string
	most    int // the longest word in characters; a longer one is unknown
	longest int // the longest piece in bytes
}

func (p *wordPiece) tokenize(word string, w *worker) {
	if utf8.RuneCountInString(word) > p.most {
		w.out = append(w.out, p.unknown)
		return
	}
	begun := len(w.out)
	for at := 0; at < len(word); {
		end, found := min(len(word), at+p.longest), int32(-1)
		for ; end > at; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			text := word[at:end]
			if at > 0 {
				text = p.prefix + text
			}
			if id, ok := p.vocab[text]; ok {
				found = id
				break
			}
		}
		if found < 0 {
			w.out = append(w.out[:begun], p.unknown)
			return
		}
		w.out = append(w.out, found)
		at = end
	}
}

// wordLevel has a token for each word.
type wordLevel struct {
	vocab   map[string]int32
	unknown int32 // -1: others are an error
}

func (l *wordLevel) tokenize(word string, w *worker) {
	id, ok := l.vocab[word]
	if !ok {
		if id = l.unknown; id < 0 {
			fail("%q is not in the vocabulary, which has no token of unknown words", short(word))
		}
	}
	w.out = append(w.out, id)
}
