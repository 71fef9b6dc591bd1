package tokens

import (
	"math"
	"unicode/utf8"
)

// bpe is byte pair encoding: of all pairs of neighbouring symbols in a word, the pair of the lowest rank is merged first.
type bpe struct {
	vocab map[string]int32
	// pairs has the merge of two tokens. If it is nil, two symbols are merged if their joint text is in the vocabulary, with that token's rank.
	pairs     map[uint64]merge
	rank      []int32 // of each token; nil: the token's number is its rank
	ofBytes   bool    // a word is divided into bytes, otherwise into characters
	wholeWord bool    // a word that is in the vocabulary is not divided
	prefix    string  // of symbols that do not begin a word
	suffix    string  // of the symbol that ends a word
	fallback  []int32 // the tokens of bytes, for characters that are not in the vocabulary, or nil
	unknown   int32   // the token of unknown characters; -1: they are left out
	fuse      bool    // adjacent unknown characters are one token
	strict    bool    // unknown characters are an error
}

type merge struct{ rank, id int32 }

const none = -1

func pairOf(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

// symbol is a part of a word: a token and its neighbours.
type symbol struct {
	id         int32
	start, end int32
	prev, next int32
}

// candidate is a pair of neighbours that may be merged.
type candidate struct {
	rank, at int32 // at is the first symbol of the pair
	id       int32
	end      int32 // the end of the second symbol; if it has changed, the candidate is out of date
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// merges are the symbols of a word and a heap of candidates.
type merges struct {
	symbols []symbol
	heap    []candidate
}

func (m *merges) push(c candidate) {
	h := append(m.heap, c)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	m.heap = h
}

func (m *merges) pop() candidate {
	h := m.heap
	top := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < last && h[down].before(h[least]) {
				least = down
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	m.heap = h
	return top
}

func (b *bpe) tokenize(word string, w *worker) {
	if b.wholeWord {
		if id, ok := b.vocab[word]; ok {
			w.out = append(w.out, id)
			return
		}
	}
	m := &w.merges
	m.symbols = m.symbols[:0]
	for at := 0; at < len(word); {
		size := 1
		if !b.ofBytes {
			_, size = utf8.DecodeRuneInString(word[at:])
		}
		id, ok := b.first(word, at, size)
		switch {
		case ok:
			m.add(id, at, size)
		case b.pairs != nil && b.fallback != nil:
			for i := range size {
				m.add(b.fallback[word[at+i]], at+i, 1)
			}
		case b.pairs == nil || b.unknown >= 0 || b.strict:
			m.add(none, at, size)
		}
		at += size
	}
	m.merge(b, word)
	before := false // whether the previous symbol is unknown
	for i := int32(0); i < int32(len(m.symbols)); i = m.symbols[i].next {
		s := m.symbols[i]
		switch {
		case s.id != none:
			w.out = append(w.out, s.id)
		case b.fallback != nil:
			for _, c := range []byte(word[s.start:s.end]) {
				w.out = append(w.out, b.fallback[c])
			}
		case b.strict:
			fail("%q has no token, and the vocabulary none for unknown characters", word[s.start:s.end])
		case !(b.fuse && before):
			w.out = append(w.out, b.unknown)
		}
		before = s.id == none
	}
}

// first is the token of a character or a byte.
func (b *bpe) first(word string, at, size int) (int32, bool) {
	text := word[at : at+size]
	if b.prefix != "" && at > 0 {
		text = b.prefix + text
	}
	if b.suffix != "" && at+size == len(word) {
		text += b.suffix
	}
	id, ok := b.vocab[text]
	return id, ok
}

func (m *merges) add(id int32, at, size int) {
	n := int32(len(m.symbols))
	m.symbols = append(m.symbols, symbol{id, int32(at), int32(at + size), n - 1, n + 1})
}

// pair is the merge of two neighbours.
func (b *bpe) pair(word string, x, y *symbol) (merge, bool) {
	if b.pairs != nil {
		found, ok := b.pairs[pairOf(x.id, y.id)]
		return found, ok
	}
	id, ok := b.vocab[word[x.start:y.end]]
	if !ok {
		return merge{}, false
	}
	if b.rank != nil {
		return merge{b.rank[id], id}, b.rank[id] != math.MaxInt32
	}
	return merge{id, id}, true
}

// merge merges candidates until there are none.
func (m *merges) merge(b *bpe, word string) {
	s, n := m.symbols, int32(len(m.symbols))
	m.heap = m.heap[:0]
	look := func(at int32) {
		if at < 0 || s[at].next >= n {
			return
		}
		y := &s[s[at].next]
		if found, ok := b.pair(word, &s[at], y); ok {
			m.push(candidate{found.rank, at, found.id, y.end})
		}
	}
	for i := range n {
		look(i)
	}
	for len(m.heap) > 0 {
		c := m.pop()
		x := &s[c.at]
		if x.next <= 0 || x.next >= n || s[x.next].end != c.end {
			continue // out of date: one of the symbols has been merged since
		}
		y := &s[x.next]
		x.id, x.end, x.next, y.next = c.id, y.end, y.next, none
		if x.next < n {
			s[x.next].prev = c.at
		}
		look(x.prev)
		look(c.at)
	}
}
