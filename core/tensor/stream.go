package tensor

import (
	"math"
	"math/rand/v2"
	"sync"

	"polygrad/core/uop"
)

// A Stream allocates the words of a counter-based generator: the numbers of a random tensor are THREEFRY2x32 (Salmon et al.,
// Parallel random numbers: as easy as 1, 2, 3) of their positions. Keys, positions and the mapping from words to numbers are
// tinygrad's: equal seeds give equal numbers.
type Stream struct {
	sync.Mutex
	seed  uint64
	taken uint64
	begun bool
}

// streamKey is the end of SHA-256 of four zero bytes, tinygrad's key of its first device.
const streamKey = 0x14b81119

// wordsOfKey is the number of words of one key: positions have 32 bits.
const wordsOfKey = 1 << 32

// Seed restarts the stream.
func (s *Stream) Seed(seed uint64) {
	s.Lock()
	defer s.Unlock()
	s.seed, s.taken, s.begun = seed, 0, true
}

// Take is a seed, three uint32, for a tensor of up to 2^32 words; no other tensor gets these words. A stream without a seed
// starts at a random position.
func (s *Stream) Take(words uint64) [3]uint32 {
	s.Lock()
	defer s.Unlock()
	if !s.begun {
		s.seed, s.begun = rand.Uint64(), true
	}
	if s.taken%wordsOfKey+words > wordsOfKey {
		s.taken += wordsOfKey - s.taken%wordsOfKey
	}
	key := streamKey ^ uint32(s.seed>>32) ^ uint32(s.taken/wordsOfKey)*0x9E3779B9
	r := [3]uint32{key, uint32(s.seed), uint32(s.taken)}
	s.taken += words
	return r
}

// place is the position of a tensor's first word in a stream.
type place struct {
	key, first *uop.UOp
	// stored: the words are stored by a kernel of their own, which computes both words of a position at once. A kernel that shares loops with other
	// computations would lose these loops by that.
	stored bool
}

// drawnInPairs is drawn by a kernel that computes both words of a position at once. Its elements are a vector, whose halves are of the low and of the
// high words; where they are not, the words are stored first.
func drawnInPairs(s seed, shape uop.Shape, draw func(s seed, shape uop.Shape) *uop.UOp) *uop.UOp {
	return ofMost(shape, func(shape uop.Shape) *uop.UOp {
		p, ok := s.(place)
		n := randomCount(shape)
		if !ok || n == 0 {
			return draw(s, shape).ContiguousOp()
		}
		p.stored = true
		return reshape(draw(p, uop.ShapeOf(n)).ContiguousOp(), shape)
	})
}

func (p place) graph() *uop.Graph { return p.key.Graph() }

// words are n random uint32: the low words of the first half of the positions, then the high words of the same.
func (p place) words(n int64) *uop.UOp {
	needWords(n)
	if p.stored && n%2 != 0 {
		return p.storedWords(n)
	}
	half := (n + 1) / 2
	dt := uop.Uint32
	if p.stored && n <= math.MaxInt32 { // loops are cut where a comparison of such numbers changes
		dt = uop.Int32
	}
	i := arange(p.graph(), uop.Int(0), uop.Int(n), uop.Int(1), dt)
	high := ge(i, int(half))
	r := p.pairs(cast(where(high, sub(i, int(half)), i), uop.Uint32), half)
	return cast(where(high, shiftRight(r, 32), r), uop.Uint32)
}

// storedWords are words that a kernel of their own stores if p.stored. Those of an odd number begin the words of one more.
func (p place) storedWords(n int64) *uop.UOp {
	if !p.stored {
		return p.words(n)
	}
	return shrinkAxis(p.words(n+n%2).ContiguousOp(), 0, uop.N(0), uop.N(n))
}

// needWords is an error if a tensor takes more words than a key has.
func needWords(n int64) {
	if n > wordsOfKey {
		fail("shape", "needs %d random words, expected at most 2^32", n)
	}
}

// pairs are uint64 of both words of positions at, out of 2 half words: word at in the low half, word at + half in the high half.
func (p place) pairs(at *uop.UOp, half int64) *uop.UOp {
	at = add(at, p.first)
	word := func(u *uop.UOp) *uop.UOp { return cast(u, uop.Uint64) }
	return threefry(bitOr(shiftLeft(word(add(at, int(half))), 32), word(at)), p.key)
}

// fractions are n numbers in [0, 1).
func (p place) fractions(n int64, dt *uop.DType) *uop.UOp {
	size := int64(dt.Itemsize())
	words := p.storedWords
	if size == 4 {
		words = p.words
	}
	bits := bitcast(words(ceil64(n*size, 4)), UintOfSize[int(size)])
	return fraction(shrinkAxis(bits, 0, uop.N(0), uop.N(n)), dt)
}

// fraction is a number in [0, 1): random bits as the mantissa of a number in [1, 2), minus 1.
func fraction(bits *uop.UOp, dt *uop.DType) *uop.UOp {
	_, mantissa := dt.FloatInfo()
	one := bitcast(full(bits.Graph(), uop.ShapeOf(1), uop.Float(1), dt), bits.DType)
	return sub(bitcast(bitOr(shiftRight(bits, 8*dt.Itemsize()-mantissa), one), dt), 1)
}

func (p place) uniform(shape uop.Shape, dt *uop.DType) *uop.UOp {
	needFloatType(dt)
	n := randomCount(shape)
	if n == 0 {
		return full(p.graph(), shape, uop.Float(0), dt)
	}
	return reshape(p.fractions(n, dt), shape)
}

func (p place) polar(shape uop.Shape) (radius, angle *uop.UOp) {
	n := randomCount(shape)
	if n == 0 {
		none := full(p.graph(), shape, uop.Float(0), uop.Float32)
		return none, none
	}
	// The fractions of 2n words; both words of a position are computed at once.
	needWords(2 * n)
	r := p.pairs(arange(p.graph(), uop.Int(0), uop.Int(n), uop.Int(1), uop.Uint32), n)
	of := func(word *uop.UOp) *uop.UOp { return reshape(fraction(cast(word, uop.Uint32), uop.Float32), shape) }
	return sub(f32(1), of(shiftRight(r, 32))), of(r)
}

func (p place) long(n int64) *uop.UOp { return bitcast(p.storedWords(2*n), uop.Uint64) }
