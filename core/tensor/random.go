package tensor

import (
	"math"

	"polygrad/core/uop"
)

// maxRandom is the number of values one seed can give: they are numbered with 32 bits.
const maxRandom = 1 << 32

// randomBits are 32 random bits for each of n numbers: THREEFRY2x32 with 20 rounds of the
// counter (i, 0) under the key (lo ^ rotl16(hi), 0) of the seed's halves.
func randomBits(g *uop.Graph, n int64, seed uint64) *uop.UOp {
	lo, hi := uint32(seed), uint32(seed>>32)
	key := lo ^ (hi<<16 | hi>>16)
	i := arange(g, uop.Int(0), uop.Int(n), uop.Int(1), uop.Uint32)
	r := threefry(cast(i, uop.Uint64), uop.Uint(uint64(key)))
	return cast(bitAnd(r, uop.Uint(math.MaxUint32)), uop.Uint32)
}

// random is uniform in [0, 1): the upper 24 bits times 2^-24.
func random(g *uop.Graph, s uop.Shape, seed uint64) *uop.UOp {
	needShape("shape", s)
	intShape("shape", s)
	n := numel("shape", s).N
	if n > maxRandom {
		fail("shape", "%s has more than 2^32 elements", s)
	}
	if n == 0 {
		return full(g, s, uop.Float(0), uop.Float32)
	}
	u := mul(cast(shiftRight(randomBits(g, n, seed), 8), uop.Float32), math.Ldexp(1, -24))
	return reshape(u, s)
}

// secondStream separates the seeds of the two uniform numbers of a normal one.
const secondStream = 0x9E3779B97F4A7C15

// randomNormal is normally distributed by the Box-Muller transform. Logarithm and sine are spelled
// out (exactMath), so that the bits depend on no kernel's choice of approximation.
func randomNormal(g *uop.Graph, s uop.Shape, seed uint64) *uop.UOp {
	u1, u2 := random(g, s, seed), random(g, s, seed^secondStream)
	radius := sqrt(mul(exactLog(maximum(u1, f32(1e-7))), -2.0))
	return mul(radius, exactSin(sub(f32(math.Pi/2), mul(u2, f32(2*math.Pi)))))
}

// f32 is a constant rounded to float32.
func f32(v float64) float64 { return float64(float32(v)) }

// exactLog is the natural logarithm of a normal float32 below infinity, by the polynomial of log2 in
// (m-1)/(m+1) (https://arxiv.org/pdf/2001.09258), every step rounded to float32.
func exactLog(d *uop.UOp) *uop.UOp {
	tiny := lt(d, f32(1e-4))
	a := where(tiny, mul(d, math.Ldexp(1, 64)), d)
	scaled := bitcast(mul(a, f32(1/0.75)), uop.Int32)
	e := sub(bitAnd(binary(uop.Idiv, scaled, 1<<23), 0xFF), 127)
	m := mul(a, exactPow2(neg(e)))
	ef := cast(e, uop.Float32)
	ef = where(tiny, sub(ef, 64.0), ef)
	x := div(sub(m, 1.0), add(m, 1.0))
	x2 := mul(x, x)
	t := horner(x2, 0.4374550283, 0.5764790177, 0.9618012905120)
	r := add(mul(t, mul(x, x2)), ef)
	r = add(r, mul(x, f32(2.8853900432586669922)))
	r = add(r, mul(same(x, -2), f32(3.2734474483568488616e-08)))
	return mul(r, f32(math.Ln2))
}

// exactPow2 is 2^e for an integer e in the range of normal numbers.
func exactPow2(e *uop.UOp) *uop.UOp {
	return bitcast(mul(add(e, 127), 1<<23), uop.Float32)
}

// exactSin is the sine for |v| < 30: Cody-Waite reduction by pi in four steps, then a polynomial, every step rounded to float32.
func exactSin(v *uop.UOp) *uop.UOp {
	sgn := sign32(v)
	a := mul(v, sgn)
	n := cast(add(mul(a, f32(1/math.Pi)), 0.5), uop.Int32)
	q := cast(n, uop.Float32)
	d := add(mul(q, -3.1414794921875), a)
	d = add(mul(same(q, -1), f32(-0.00011315941810607910156)), d)
	d = add(mul(same(q, -2), f32(-1.9841872589410058936e-09)), d)
	d = add(mul(same(q, -3), f32(-1.2154201256553420762e-10)), d)
	p := mul(d, horner(mul(d, d), 2.6083159809786593541503e-06, -0.0001981069071916863322258, 0.00833307858556509017944336,
		-0.166666597127914428710938, 1))
	odd := ne(bitAnd(n, 1), 0)
	return mul(mul(p, where(odd, likeConst(p, -1), likeConst(p, 1))), sgn)
}

func sign32(v *uop.UOp) *uop.UOp {
	return where(ne(v, 0), where(lt(v, 0), likeConst(v, -1), likeConst(v, 1)), likeConst(v, 0))
}

// dropout zeroes elements with probability p and scales the others by 1/(1-p).
func dropout(x *uop.UOp, p float64, seed uint64) *uop.UOp {
	switch p {
	case 0:
		return x
	case 1:
		return fullLike(x, 0)
	}
	keep := ge(random(x.Graph(), x.Shape(), seed), p).ContiguousOp()
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
	return random(g, shape, seed), nil
}

// Randn is standard normal, float32. Equal seeds give equal values, on every device.
func Randn(g *uop.Graph, shape uop.Shape, seed uint64) (r *uop.UOp, err error) {
	defer guard("Randn", &err)
	return randomNormal(g, shape, seed), nil
}

// RandInt is uniform in lo..hi-1, in an integer type.
func RandInt(g *uop.Graph, shape uop.Shape, lo, hi int64, dt *uop.DType, seed uint64) (r *uop.UOp, err error) {
	defer guard("RandInt", &err)
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
	u := random(g, shape, seed)
	if hi-lo > 1<<24 {
		// one uniform float has 24 bits: take the whole range from 64 random bits instead
		return wideInt(g, shape, lo, hi, dt, seed), nil
	}
	return add(cast(mul(int(hi-lo), u), dt), int(lo)), nil
}

// wideInt is a random number below 2^63 modulo the size of the range.
func wideInt(g *uop.Graph, s uop.Shape, lo, hi int64, dt *uop.DType, seed uint64) *uop.UOp {
	n := numel("shape", s).N
	if n == 0 {
		return full(g, s, uop.Int(0), dt)
	}
	word := func(seed uint64) *uop.UOp { return cast(randomBits(g, n, seed), uop.Uint64) }
	all := bitOr(shiftLeft(word(seed), 32), word(seed^secondStream))
	r := binary(uop.Mod, all, uop.Uint(uint64(hi-lo)))
	return reshape(cast(add(cast(r, uop.Int64), int(lo)), dt), s)
}

// Dropout zeroes elements with probability p, chosen by seed, and scales the others by 1/(1-p).
func Dropout(x *uop.UOp, p float64, seed uint64) (r *uop.UOp, err error) {
	defer guard("Dropout", &err)
	need("x", x)
	needProbability("p", p)
	return dropout(x, p, seed), nil
}
