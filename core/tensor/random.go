package tensor

import (
	"math"

	"polygrad/core/uop"
)

// maxRandom is the number of values of one seed: their counter has 32 bits.
const maxRandom = 1 << 32

// narrowRange is the largest range of integers that one uniform float32 covers.
const narrowRange = 1 << 23

// secondStream separates the seeds of the two uniform numbers behind a normal one.
const secondStream = 0x9E3779B97F4A7C15

// seed is the source of random numbers.
type seed interface {
	graph() *uop.Graph
	// uniform is in [0, 1), in a floating type.
	uniform(shape uop.Shape, dt *uop.DType) *uop.UOp
	// polar are two independent float32: in (0, 1] and in [0, 1).
	polar(shape uop.Shape) (radius, angle *uop.UOp)
	// long are n uint64, each with 64 random bits.
	long(n int64) *uop.UOp
}

// keys are a seed of 64 bits: the keys of two independent streams, numbers or uint64 tensors.
type keys struct {
	g             *uop.Graph
	first, second operand
}

// numberSeed is a seed that is part of the graph.
func numberSeed(g *uop.Graph, s uint64) seed {
	key := func(s uint64) operand {
		lo, hi := uint32(s), uint32(s>>32)
		return uop.Uint(uint64(lo ^ (hi<<16 | hi>>16)))
	}
	return keys{g, key(s), key(s ^ secondStream)}
}

// tensorSeed is a seed in a tensor of uint32, so the kernels are the same for every seed, and a training loop compiles once: two
// words are a seed of 64 bits, the low half first, and three a position in a stream.
func tensorSeed(u *uop.UOp) seed {
	need("seed", u)
	stream := u.Shape().Equal(uop.ShapeOf(3))
	if u.DType != uop.Uint32 || !stream && !u.Shape().Equal(uop.ShapeOf(2)) {
		fail("seed", "is %s of shape %s, expected uint32 of shape (2,) or (3,)", u.DType, u.Shape())
	}
	lo, hi := index(u, At(0)), index(u, At(1))
	if stream {
		return place{key: bitOr(shiftLeft(cast(hi, uop.Uint64), 32), cast(lo, uop.Uint64)), first: index(u, At(2))}
	}
	key := func(lo, hi *uop.UOp) operand {
		rotated := bitOr(shiftLeft(hi, 16), shiftRight(hi, 16))
		return cast(bitXor(lo, rotated), uop.Uint64)
	}
	const second = uint64(secondStream)
	return keys{u.Graph(), key(lo, hi), key(bitXor(lo, uop.Uint(second&math.MaxUint32)), bitXor(hi, uop.Uint(second>>32)))}
}

// randomCount is the number of elements of a shape of random numbers.
func randomCount(s uop.Shape) int64 {
	needShape("shape", s)
	intShape("shape", s)
	n := numel("shape", s).N
	if n > maxRandom {
		fail("shape", "%s, expected at most 2^32 elements", s)
	}
	return n
}

// bits are 32 random bits for each of n numbers: THREEFRY2x32 with 20 rounds of the counter (i, 0)
// under the key (lo ^ rotl16(hi), 0) of the seed's halves.
func (s keys) bits(key operand, n int64) *uop.UOp {
	i := arange(s.g, uop.Int(0), uop.Int(n), uop.Int(1), uop.Uint32)
	return cast(bitAnd(threefry(cast(i, uop.Uint64), key), uop.Uint(math.MaxUint32)), uop.Uint32)
}

// ofMost draws for the greatest values of symbolic sizes and takes the front.
func ofMost(shape uop.Shape, draw func(uop.Shape) *uop.UOp) *uop.UOp {
	most, symbolic := joinShapes(shape), false
	for i, d := range most {
		most[i], symbolic = uop.N(d.Max()), symbolic || d.Symbolic()
	}
	if !symbolic {
		return draw(shape)
	}
	return shrinkTo(draw(most), shape)
}

// drawn is a realized random tensor: a consumer that reads each element several times, like matmul, would otherwise compute each
// random number several times.
func drawn(shape uop.Shape, draw func(uop.Shape) *uop.UOp) *uop.UOp {
	return ofMost(shape, func(s uop.Shape) *uop.UOp { return draw(s).ContiguousOp() })
}

func (s keys) graph() *uop.Graph { return s.g }

func (s keys) uniform(shape uop.Shape, dt *uop.DType) *uop.UOp {
	return s.uniformOf(s.first, shape, dt)
}

// uniformOf is the upper n bits times 2^-n, with the n bits that the type holds exactly: rounding would turn numbers close to 1
// into 1. No type gets more than float32.
func (s keys) uniformOf(key operand, shape uop.Shape, dt *uop.DType) *uop.UOp {
	needFloatType(dt)
	n := randomCount(shape)
	if n == 0 {
		return full(s.g, shape, uop.Float(0), dt)
	}
	_, mantissa := dt.FloatInfo()
	held := min(mantissa+1, 24)
	upper := cast(shiftRight(s.bits(key, n), 32-held), uop.Float32)
	return cast(reshape(mul(upper, math.Ldexp(1, -held)), shape), dt)
}

func (s keys) polar(shape uop.Shape) (radius, angle *uop.UOp) {
	return maximum(s.uniformOf(s.first, shape, uop.Float32), f32(1e-7)), s.uniformOf(s.second, shape, uop.Float32)
}

func (s keys) long(n int64) *uop.UOp {
	word := func(key operand) *uop.UOp { return cast(s.bits(key, n), uop.Uint64) }
	return bitOr(shiftLeft(word(s.first), 32), word(s.second))
}

// normal is normally distributed by the Box-Muller transform. Logarithm and sine are spelled out (exactLog), so the bits do not
// depend on a kernel's approximation.
func normal(s seed, shape uop.Shape) *uop.UOp {
	radius, angle := s.polar(shape)
	return mul(sqrt(mul(exactLog(radius), -2.0)), exactSin(sub(f32(math.Pi/2), mul(angle, f32(2*math.Pi)))))
}

// integers are uniform in lo..hi-1. One uniform float has 24 bits: larger ranges take 64 random bits.
func integers(s seed, shape uop.Shape, lo, hi int64, dt *uop.DType) *uop.UOp {
	needType("dtype", dt)
	if !dt.IsInt() {
		fail("dtype", "is %s, expected an integer type", dt)
	}
	if lo >= hi || hi-lo < 0 {
		fail("low", "%d is no range to high, expected less than %d", lo, hi)
	}
	if uop.Int(lo).Less(dt.Min()) || dt.Max().Less(uop.Int(hi-1)) {
		fail("dtype", "%s does not hold %d..%d, expected a wider type", dt, lo, hi-1)
	}
	if hi-lo <= narrowRange {
		return add(cast(mul(int(hi-lo), s.uniform(shape, uop.Float32)), dt), int(lo))
	}
	n := randomCount(shape)
	if n == 0 {
		return full(s.graph(), shape, uop.Int(0), dt)
	}
	r := binary(uop.Mod, s.long(n), uop.Uint(uint64(hi-lo)))
	return reshape(cast(add(cast(r, uop.Int64), int(lo)), dt), shape)
}

// fractionsOf draws numbers in [0, 1).
func fractionsOf(dt *uop.DType) func(s seed, shape uop.Shape) *uop.UOp {
	return func(s seed, shape uop.Shape) *uop.UOp { return s.uniform(shape, dt) }
}

// drawnIntegers is integers, drawn in pairs of words.
func drawnIntegers(s seed, shape uop.Shape, lo, hi int64, dt *uop.DType) *uop.UOp {
	return drawnInPairs(s, shape, func(s seed, shape uop.Shape) *uop.UOp { return integers(s, shape, lo, hi, dt) })
}

// dropout zeroes elements with probability p and scales the others by 1/(1-p).
func dropout(s seed, x *uop.UOp, p float64) *uop.UOp {
	needProbability("p", p)
	switch p {
	case 0:
		return x
	case 1:
		return fullLike(x, 0)
	}
	keep := drawnInPairs(s, x.Shape(), func(s seed, shape uop.Shape) *uop.UOp { return ge(s.uniform(shape, uop.Float32), p) })
	return div(where(keep, x, 0), 1-p)
}

func needProbability(arg string, p float64) {
	if !(p >= 0 && p <= 1) {
		fail(arg, "%v, expected 0 to 1", p)
	}
}

// Rand is uniform in [0, 1), float32. Equal seeds give equal values, on every device.
func Rand(g *uop.Graph, shape uop.Shape, seed uint64) (r *uop.UOp, err error) {
	defer guard("Rand", &err)
	return drawn(shape, func(s uop.Shape) *uop.UOp { return numberSeed(g, seed).uniform(s, uop.Float32) }), nil
}

// Randn is standard normal, float32. Equal seeds give equal values, on every device.
func Randn(g *uop.Graph, shape uop.Shape, seed uint64) (r *uop.UOp, err error) {
	defer guard("Randn", &err)
	return drawn(shape, func(s uop.Shape) *uop.UOp { return normal(numberSeed(g, seed), s) }), nil
}

// RandInt is uniform in lo..hi-1, in an integer type.
func RandInt(g *uop.Graph, shape uop.Shape, lo, hi int64, dt *uop.DType, seed uint64) (r *uop.UOp, err error) {
	defer guard("RandInt", &err)
	return drawn(shape, func(s uop.Shape) *uop.UOp { return integers(numberSeed(g, seed), s, lo, hi, dt) }), nil
}

// Dropout zeroes elements with probability p, chosen by seed, and scales the others by 1/(1-p).
func Dropout(x *uop.UOp, p float64, seed uint64) (r *uop.UOp, err error) {
	defer guard("Dropout", &err)
	need("x", x)
	return dropout(numberSeed(x.Graph(), seed), x, p), nil
}

// RandSeeded is Rand in a floating type, with the seed as a tensor. Two uint32 are a seed of 64 bits, the low half first, with
// the values of Rand except in types of fewer bits, where they are multiples of a larger step; three are a position in a
// stream, as handed out by Stream.
func RandSeeded(shape uop.Shape, dt *uop.DType, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandSeeded", &err)
	return drawnInPairs(tensorSeed(seed), shape, fractionsOf(dt)), nil
}

// RandnSeeded is Randn with a seed as in RandSeeded.
func RandnSeeded(shape uop.Shape, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandnSeeded", &err)
	return drawn(shape, func(s uop.Shape) *uop.UOp { return normal(tensorSeed(seed), s) }), nil
}

// RandIntSeeded is RandInt with a seed as in RandSeeded.
func RandIntSeeded(shape uop.Shape, lo, hi int64, dt *uop.DType, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandIntSeeded", &err)
	return drawnIntegers(tensorSeed(seed), shape, lo, hi, dt), nil
}

// DropoutSeeded is Dropout with a seed as in RandSeeded.
func DropoutSeeded(x *uop.UOp, p float64, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("DropoutSeeded", &err)
	needSame("operands", x, seed)
	return dropout(tensorSeed(seed), x, p), nil
}
