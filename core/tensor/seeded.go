package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Random tensors whose seed is a tensor: the kernels are the same for every seed, so a loop that draws
// new numbers compiles once. The numbers equal those of the functions that take the seed as a number.

// seedTensor is a seed as a tensor of two uint32, the low half first.
type seedTensor struct{ lo, hi *uop.UOp }

func seedOf(seed *uop.UOp) seedTensor {
	need("seed", seed)
	if seed.DType != uop.Uint32 || !seed.Shape().Equal(uop.ShapeOf(2)) {
		fail("seed", "is %s of shape %s, need uint32 of shape (2,)", seed.DType, seed.Shape())
	}
	return seedTensor{index(seed, At(0)), index(seed, At(1))}
}

// second is the seed of the second stream.
func (s seedTensor) second() seedTensor {
	const stream = uint64(secondStream)
	return seedTensor{bitXor(s.lo, uop.Uint(stream&math.MaxUint32)), bitXor(s.hi, uop.Uint(stream>>32))}
}

// bits are the random bits of n numbers; see randomBits.
func (s seedTensor) bits(n int64) *uop.UOp {
	g := s.lo.Graph()
	rotated := bitOr(shiftLeft(s.hi, 16), shiftRight(s.hi, 16))
	key := cast(bitXor(s.lo, rotated), uop.Uint64)
	i := cast(arange(g, uop.Int(0), uop.Int(n), uop.Int(1), uop.Uint32), uop.Uint64)
	return cast(bitAnd(threefry(i, key), uop.Uint(math.MaxUint32)), uop.Uint32)
}

// uniform is in [0, 1); see random.
func (s seedTensor) uniform(shape uop.Shape) *uop.UOp {
	n := seededCount(shape)
	if n == 0 {
		return full(s.lo.Graph(), shape, uop.Float(0), uop.Float32)
	}
	return reshape(mul(cast(shiftRight(s.bits(n), 8), uop.Float32), math.Ldexp(1, -24)), shape)
}

func seededCount(shape uop.Shape) int64 {
	needShape("shape", shape)
	intShape("shape", shape)
	n := numel("shape", shape).N
	if n > maxRandom {
		fail("shape", "%s has more than 2^32 elements", shape)
	}
	return n
}

// normal is normally distributed; see randomNormal.
func (s seedTensor) normal(shape uop.Shape) *uop.UOp {
	u1, u2 := s.uniform(shape), s.second().uniform(shape)
	radius := sqrt(mul(exactLog(maximum(u1, f32(1e-7))), -2.0))
	return mul(radius, exactSin(sub(f32(math.Pi/2), mul(u2, f32(2*math.Pi)))))
}

// RandSeeded is Rand with the seed as a tensor of two uint32, the low half first.
func RandSeeded(shape uop.Shape, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandSeeded", &err)
	return seedOf(seed).uniform(shape), nil
}

// RandnSeeded is Randn with the seed as a tensor of two uint32, the low half first.
func RandnSeeded(shape uop.Shape, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandnSeeded", &err)
	return seedOf(seed).normal(shape), nil
}

// RandIntSeeded is RandInt with the seed as a tensor of two uint32, the low half first.
func RandIntSeeded(shape uop.Shape, lo, hi int64, dt *uop.DType, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandIntSeeded", &err)
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
	s := seedOf(seed)
	if hi-lo <= 1<<24 {
		return add(cast(mul(int(hi-lo), s.uniform(shape)), dt), int(lo)), nil
	}
	n := seededCount(shape)
	if n == 0 {
		return full(seed.Graph(), shape, uop.Int(0), dt), nil
	}
	all := bitOr(shiftLeft(cast(s.bits(n), uop.Uint64), 32), cast(s.second().bits(n), uop.Uint64))
	m := binary(uop.Mod, all, uop.Uint(uint64(hi-lo)))
	return reshape(cast(add(cast(m, uop.Int64), int(lo)), dt), shape), nil
}

// DropoutSeeded is Dropout with the seed as a tensor of two uint32, the low half first.
func DropoutSeeded(x *uop.UOp, p float64, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("DropoutSeeded", &err)
	needSame("operands", x, seed)
	needProbability("p", p)
	switch p {
	case 0:
		return x, nil
	case 1:
		return fullLike(x, 0), nil
	}
	keep := ge(seedOf(seed).uniform(x.Shape()), p).ContiguousOp()
	return div(where(keep, x, 0), 1-p), nil
}
