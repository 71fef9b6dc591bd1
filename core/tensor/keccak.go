package tensor

import (
	"polygrad/core/uop"
)

// Keccak-f[1600] as FIPS 202 defines it: a permutation in 24 rounds of a state of 5 x 5 lanes of 64 bits, and the sponge, which reads rate bytes of
// the message before each permutation.

const (
	keccakBytes  = 200 // of state
	keccakLanes  = 25
	keccakRounds = 24
	hashBlock    = 4096    // bytes of a leaf of Hash
	hashChunk    = 1 << 20 // bytes of a node of Hash
	hashRate     = 168     // SHAKE128
	hashSuffix   = 0x1f
)

// keccakTurns are the rotations in bits of the lanes (x, y), at index x + 5y; keccakOnes are the constants of the rounds.
var (
	keccakTurns = [keccakLanes]uint64{
		0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14,
	}
	keccakOnes = [keccakRounds]uint64{
		0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
		0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
		0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
		0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
	}
)

// wordsOf are constants as a tensor of shape (1, n, 1), computed once.
func wordsOf(g *uop.Graph, words []uint64) *uop.UOp {
	parts := make([]*uop.UOp, len(words))
	for i, w := range words {
		parts[i] = full(g, uop.ShapeOf(), uop.Uint(w), uop.Uint64)
	}
	return reshape(stack(parts, 0), uop.ShapeOf(1, int64(len(words)), 1)).ContiguousOp()
}

// keccakOf hashes n messages of size bytes, a tensor of shape (n, size), to (200-rate)/2 bytes each.
func keccakOf(x *uop.UOp, rate int64, suffix byte) *uop.UOp {
	n, size := x.Shape()[0], intSize("x", x.Shape(), 1)
	g, blocks := x.Graph(), size/rate+1
	total := blocks * rate
	// The suffix follows the message, and the last bit of the last block is set.
	at := count0(g, total)
	mark := bitXor(where(eq(at, int(size)), int(suffix), 0), where(eq(at, int(total-1)), 0x80, 0))
	x = bitXor(padAxis(x, 1, 0, total-size, 0), cast(mark, uop.Uint8))
	x = padAxis(reshape(x, uop.Shape{n, uop.N(blocks), uop.N(rate)}), 2, 0, keccakBytes-rate, 0)
	message := reshape(bitcast(x, uop.Uint64), uop.Shape{n, uop.N(blocks * keccakLanes), uop.N(1)})
	turns := make([]uint64, keccakLanes)
	for i := range turns {
		turns[i] = keccakTurns[(i%5+3*(i/5))%5+5*(i%5)]
	}
	read := []*uop.UOp{message, wordsOf(g, turns), wordsOf(g, keccakOnes[:])}
	states := []*uop.UOp{zeros(x, uop.Uint64, n.N, keccakLanes, 1), zeros(x, uop.Uint64, n.N, 5, 1), zeros(x, uop.Uint64, n.N, keccakLanes, 1)}
	state := loop{variable: "block", count: blocks, lanes: true}.run(states, read, func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
		b.do(s[0].AssignTo(bitXor(s[0], block(read[0], 1, i.Mul(uop.N(keccakLanes)), keccakLanes))))
		rounds := loop{variable: "round", count: keccakRounds, lanes: true}.run(s, read[1:], func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
			keccakRound(b, s, read[0], block(read[1], 1, i, 1))
		})
		b.do(s[0].AssignTo(rounds[0]))
	})[0]
	bytes := bitcast(reshape(state, uop.Shape{n, uop.N(keccakLanes)}), uop.Uint8)
	return shrinkAxis(bytes, 1, uop.N(0), uop.N((keccakBytes-rate)/2))
}

// keccakRound is a round on states (n, 25, 1); the parities of the columns and the rotated lanes are states, too. turns are the rotations in the
// order of the lanes after pi.
func keccakRound(b *loopBody, s []*uop.UOp, turns, one *uop.UOp) {
	lanes, parities, mixed := s[0], s[1], s[2]
	n := lanes.Shape()[0]
	square5 := func(x *uop.UOp) *uop.UOp { return reshape(x, uop.Shape{n, uop.N(5), uop.N(5), uop.N(1)}) }
	flat := func(x *uop.UOp) *uop.UOp { return reshape(x, uop.Shape{n, uop.N(keccakLanes), uop.N(1)}) }
	row := func(y int64) *uop.UOp { return block(lanes, 1, uop.N(5*y), 5) }
	turned := func(x *uop.UOp, by int64) *uop.UOp { return roll(x, []int64{by}, []int{-2}) }
	// theta: every lane is xored with the parities of two columns.
	b.do(parities.AssignTo(bitXor(bitXor(bitXor(row(0), row(1)), bitXor(row(2), row(3))), row(4))))
	a := square5(lanes)
	next := turned(parities, -1)
	d := bitXor(turned(parities, 1), bitOr(shiftLeft(next, 1), shiftRight(next, 63)))
	a = flat(bitXor(a, unsqueeze(d, 1)))
	// pi: lane (X, Y) comes from (X+3Y, X): with rows that repeat, element 21X + 3Y of rows of 20.
	wide := reshape(repeat(square5(a), uop.ShapeOf(1, 1, 4, 1)), uop.Shape{n, uop.N(100), uop.N(1)})
	skew := reshape(padAxis(wide, 1, 0, 5, 0), uop.Shape{n, uop.N(5), uop.N(21), uop.N(1)})
	a = permute(index(skew, Whole(), Whole(), Slice(ptr(0), ptr(15), 3)), []int{0, 2, 1, 3})
	a = flat(a) // two shifts to the right, since a shift by 64 is not defined
	b.do(mixed.AssignTo(bitOr(shiftLeft(a, turns), shiftRight(shiftRight(a, 1), sub(uop.Uint(63), turns)))))
	// chi and iota
	m := square5(mixed)
	m = flat(bitXor(m, bitAnd(bitNot(turned(m, -1)), turned(m, -2))))
	b.do(lanes.AssignTo(bitXor(m, padAxis(one, 1, 0, keccakLanes-1, 0))))
}

// bytesOf is x as bytes; the last axis grows by the element size.
func bytesOf(x *uop.UOp) *uop.UOp {
	if len(x.Shape()) == 0 {
		x = reshape(x, uop.ShapeOf(1))
	}
	if x.DType.IsBool() {
		return cast(x, uop.Uint8)
	}
	return bitcast(x, uop.Uint8)
}

// Keccak hashes the bytes of the last axis by the sponge of FIPS 202 with rate bytes a block and a suffix of the message:
// SHA3-256 has rate 136 and suffix 6, SHAKE128 168 and 0x1f. The last axis of the result holds (200-rate)/2 bytes.
func Keccak(x *uop.UOp, rate int64, suffix byte) (r *uop.UOp, err error) {
	defer guard("Keccak", &err)
	need("x", x)
	if rate < 8 || rate >= keccakBytes || rate%8 != 0 {
		fail("rate", "is %d, expected a multiple of 8 in 8..192", rate)
	}
	if suffix == 0 || suffix >= 0x80 {
		fail("suffix", "is %d, expected 1..127", suffix)
	}
	x = bytesOf(x)
	s := x.Shape()
	lead, size := s[:len(s)-1], intSize("x", s, len(s)-1)
	n := int64(1)
	for _, d := range intShape("x", lead) {
		n *= d
	}
	out := keccakOf(reshape(x, uop.ShapeOf(n, size)), rate, suffix)
	return reshape(out, joinShapes(lead, uop.ShapeOf((keccakBytes-rate)/2))), nil
}

// Hash is a hash of 16 bytes of all elements: a tree of SHAKE128 over blocks of 4096 bytes, padded with zeros to whole MB.
func Hash(x *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Hash", &err)
	need("x", x)
	data := flatten(bytesOf(x), 0, -1)
	for {
		size := intSize("x", data.Shape(), 0)
		chunks := max(ceil64(size, hashChunk), 1)
		data = padAxis(data, 0, 0, chunks*hashChunk-size, 0)
		leaves := keccakOf(reshape(data, uop.ShapeOf(chunks*hashChunk/hashBlock, hashBlock)), hashRate, hashSuffix)
		data = flatten(keccakOf(reshape(leaves, uop.ShapeOf(chunks, hashBlock)), hashRate, hashSuffix), 0, -1)
		if chunks == 1 {
			return data, nil
		}
	}
}
