package tensor

import (
	"math"

	"polygrad/core/uop"
)

// f32 is a constant rounded to float32.
func f32(v float64) float64 { return float64(float32(v)) }

// exactLog is the natural logarithm of a normal finite float32, by the polynomial of log2 in (m-1)/(m+1)
// (https://arxiv.org/pdf/2001.09258), every step rounded to float32.
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
	t := stepwise(x2, 0.4374550283, 0.5764790177, 0.9618012905120)
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
	p := mul(d, stepwise(mul(d, d), 2.6083159809786593541503e-06, -0.0001981069071916863322258, 0.00833307858556509017944336,
		-0.166666597127914428710938, 1))
	odd := ne(bitAnd(n, 1), 0)
	return mul(mul(p, where(odd, likeConst(p, -1), likeConst(p, 1))), sgn)
}

// stepwise is horner with every step rounded: random numbers are the same on all processors.
func stepwise(x *uop.UOp, c ...float64) *uop.UOp {
	r := add(mul(x, c[0]), c[1])
	for _, v := range c[2:] {
		r = add(mul(r, x), v)
	}
	return r
}

func sign32(v *uop.UOp) *uop.UOp {
	return where(ne(v, 0), where(lt(v, 0), likeConst(v, -1), likeConst(v, 1)), likeConst(v, 0))
}
