package tensor

import (
	"math"

	"polygrad/core/uop"
)

// maxRandom is the number of values one seed can give: they are numbered with 32 bits.
const maxRandom = 1 << 32

// secondStream separates the seeds of the two uniform numbers of a normal one.
const secondStream = 0x9E3779B97F4A7C15

// seed is what random numbers are made from: the keys of two independent streams, numbers or uint64 tensors.
type seed struct {
	g             *uop.Graph
	first, second operand
}

// numberSeed is a seed that is part of the graph.
func numberSeed(g *uop.Graph, s uint64) seed {
	key := func(s uint64) operand {
		lo, hi := uint32(s), uint32(s>>32)
		return uop.Uint(uint64(lo ^ (hi<<16 | hi>>16)))
	}
	return seed{g, key(s), key(s ^ secondStream)}
}

// tensorSeed is a seed in a tensor of two uint32, the low half first: the kernels are the same for
// every seed, so a loop that draws new numbers compiles once.
func tensorSeed(u *uop.UOp) seed {
	need("seed", u)
	if u.DType != uop.Uint32 || !u.Shape().Equal(uop.ShapeOf(2)) {
		fail("seed", "is %s of shape %s, need uint32 of shape (2,)", u.DType, u.Shape())
	}
	key := func(lo, hi *uop.UOp) operand {
		rotated := bitOr(shiftLeft(hi, 16), shiftRight(hi, 16))
		return cast(bitXor(lo, rotated), uop.Uint64)
	}
	const stream = uint64(secondStream)
	lo, hi := index(u, At(0)), index(u, At(1))
	return seed{u.Graph(), key(lo, hi), key(bitXor(lo, uop.Uint(stream&math.MaxUint32)), bitXor(hi, uop.Uint(stream>>32)))}
}

// randomCount is the number of elements of a shape that is to be filled with random numbers.
func randomCount(s uop.Shape) int64 {
	needShape("shape", s)
	intShape("shape", s)
	n := numel("shape", s).N
	if n > maxRandom {
		fail("shape", "%s has more than 2^32 elements", s)
	}
	return n
}

// bits are 32 random bits for each of n numbers: THREEFRY2x32 with 20 rounds of the counter (i, 0)
// under the key (lo ^ rotl16(hi), 0) of the seed's halves.
func (s seed) bits(key operand, n int64) *uop.UOp {
	i := arange(s.g, uop.Int(0), uop.Int(n), uop.Int(1), uop.Uint32)
	return cast(bitAnd(threefry(cast(i, uop.Uint64), key), uop.Uint(math.MaxUint32)), uop.Uint32)
}

// drawn is a random tensor to be computed once: what uses each of its elements several times, like
// matmul, would otherwise make the same random number each time.
func drawn(u *uop.UOp) *uop.UOp { return u.ContiguousOp() }

// uniform is in [0, 1), float32.
func (s seed) uniform(key operand, shape uop.Shape) *uop.UOp {
	return s.uniformOf(key, shape, uop.Float32)
}

// uniformOf is in [0, 1), in a floating type: the upper n bits times 2^-n, where n is what the type
// holds without rounding, since rounding makes 1 of numbers close to it. No type gets more than float32.
func (s seed) uniformOf(key operand, shape uop.Shape, dt *uop.DType) *uop.UOp {
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

// normal is normally distributed by the Box-Muller transform. Logarithm and sine are spelled out
// (exactLog), so that the bits depend on no kernel's choice of approximation.
func (s seed) normal(shape uop.Shape) *uop.UOp {
	u1, u2 := s.uniform(s.first, shape), s.uniform(s.second, shape)
	radius := sqrt(mul(exactLog(maximum(u1, f32(1e-7))), -2.0))
	return mul(radius, exactSin(sub(f32(math.Pi/2), mul(u2, f32(2*math.Pi)))))
}

// integers are uniform in lo..hi-1. One uniform float has 24 bits: a larger range is taken from 64 random bits.
func (s seed) integers(shape uop.Shape, lo, hi int64, dt *uop.DType) *uop.UOp {
	needType("dtype", dt)
	if !dt.IsInt() {
		fail("dtype", "is %s, need an integer type", dt)
	}
	if lo >= hi || hi-lo < 0 {
		fail("low", "%d..%d is no range", lo, hi)
	}
	if uop.Int(lo).Less(dt.Min()) || dt.Max().Less(uop.Int(hi-1)) {
		fail("dtype", "%s does not hold %d..%d", dt, lo, hi-1)
	}
	if hi-lo <= 1<<24 {
		return add(cast(mul(int(hi-lo), s.uniform(s.first, shape)), dt), int(lo))
	}
	n := randomCount(shape)
	if n == 0 {
		return full(s.g, shape, uop.Int(0), dt)
	}
	word := func(key operand) *uop.UOp { return cast(s.bits(key, n), uop.Uint64) }
	r := binary(uop.Mod, bitOr(shiftLeft(word(s.first), 32), word(s.second)), uop.Uint(uint64(hi-lo)))
	return reshape(cast(add(cast(r, uop.Int64), int(lo)), dt), shape)
}

// dropout zeroes elements with probability p and scales the others by 1/(1-p).
func (s seed) dropout(x *uop.UOp, p float64) *uop.UOp {
	needProbability("p", p)
	switch p {
	case 0:
		return x
	case 1:
		return fullLike(x, 0)
	}
	keep := ge(s.uniform(s.first, x.Shape()), p).ContiguousOp()
	return div(where(keep, x, 0), 1-p)
}

func needProbability(arg string, p float64) {
	if !(p >= 0 && p <= 1) {
		fail(arg, "is %v, need 0..1", p)
	}
}

// Rand is uniform in [0, 1), float32. Equal seeds give equal values, on every device.
func Rand(g *uop.Graph, shape uop.Shape, seed uint64) (r *uop.UOp, err error) {
	defer guard("Rand", &err)
	s := numberSeed(g, seed)
	return drawn(s.uniform(s.first, shape)), nil
}

// Randn is standard normal, float32. Equal seeds give equal values, on every device.
func Randn(g *uop.Graph, shape uop.Shape, seed uint64) (r *uop.UOp, err error) {
	defer guard("Randn", &err)
	return drawn(numberSeed(g, seed).normal(shape)), nil
}

// RandInt is uniform in lo..hi-1, in an integer type.
func RandInt(g *uop.Graph, shape uop.Shape, lo, hi int64, dt *uop.DType, seed uint64) (r *uop.UOp, err error) {
	defer guard("RandInt", &err)
	return drawn(numberSeed(g, seed).integers(shape, lo, hi, dt)), nil
}

// Dropout zeroes elements with probability p, chosen by seed, and scales the others by 1/(1-p).
func Dropout(x *uop.UOp, p float64, seed uint64) (r *uop.UOp, err error) {
	defer guard("Dropout", &err)
	need("x", x)
	return numberSeed(x.Graph(), seed).dropout(x, p), nil
}

// RandSeeded is Rand in a floating type, with the seed as a tensor of two uint32, the low half first. The values are
// the same but for types of fewer bits, whose values are multiples of a larger step.
func RandSeeded(shape uop.Shape, dt *uop.DType, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandSeeded", &err)
	s := tensorSeed(seed)
	return drawn(s.uniformOf(s.first, shape, dt)), nil
}

// RandnSeeded is Randn with the seed as a tensor of two uint32, the low half first. The values are the same.
func RandnSeeded(shape uop.Shape, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandnSeeded", &err)
	return drawn(tensorSeed(seed).normal(shape)), nil
}

// RandIntSeeded is RandInt with the seed as a tensor of two uint32, the low half first. The values are the same.
func RandIntSeeded(shape uop.Shape, lo, hi int64, dt *uop.DType, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandIntSeeded", &err)
	return drawn(tensorSeed(seed).integers(shape, lo, hi, dt)), nil
}

// DropoutSeeded is Dropout with the seed as a tensor of two uint32, the low half first. The values are the same.
func DropoutSeeded(x *uop.UOp, p float64, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("DropoutSeeded", &err)
	needSame("operands", x, seed)
	return tensorSeed(seed).dropout(x, p), nil
}
