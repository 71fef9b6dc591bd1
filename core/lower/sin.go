package lower

import (
	"math"

	"polygrad/core/uop"
)

// The sine: the argument is reduced, modulo pi by Cody and Waite's method if it is small and modulo pi/2 by Payne and Hanek's if it is large; then a
// polynomial. The steps are SLEEF's.

// payneHanekFrom is the threshold of the large reduction.
const payneHanekFrom = 30.0

// twoOverPi holds 190 bits of 2/pi.
var twoOverPi = [...]int64{0x00000000, 0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410}

// frexp splits v, which is not zero, into a mantissa in [0.5, 1) and an exponent.
func frexp(v *uop.UOp) (mantissa, exponent *uop.UOp) {
	masks := map[*uop.DType][2]int64{
		uop.Float64: {0x000FFFFFFFFFFFFF, 0x3FE0000000000000},
		uop.Float32: {0x807FFFFF, 0x3F000000},
		uop.Float16: {0x83FF, 0x3800},
	}[v.DType.Scalar()]
	bits := v.BitcastTo(uintOf(v.DType))
	exponent = shiftRight(bits, mantissaBits(v.DType))
	exponent = exponent.And(exponent.IntLike(exponentMask(v.DType)))
	mantissa = bits.And(bits.IntLike(masks[0])).Or(bits.IntLike(masks[1])).BitcastTo(v.DType)
	return mantissa, exponent.SubInt(exponentBias(v.DType)).AddInt(1)
}

// selectWord is twoOverPi[i+offset], zero if i is beyond the table.
func selectWord(i, zero *uop.UOp, offset int) *uop.UOp {
	w := zero
	for k := len(twoOverPi) - 2 - offset; k >= 0; k-- {
		w = i.Ne(i.IntLike(int64(k))).Where(w, zero.IntLike(twoOverPi[k+offset]))
	}
	return w
}

// reduceLarge gives the remainder of d modulo pi/2, for d of at least payneHanekFrom, and the quotient.
func reduceLarge(d *uop.UOp) (r, q *uop.UOp) {
	wide := d.DType
	if d.DType.Scalar() == uop.Float16 {
		wide = uop.Float32.Vec(d.DType.Count)
	}
	f, e := frexp(d)
	ia := f.Cast(wide)
	ia = ia.Mul(num(ia, 4.294967296e9)).Cast(uop.Uint64)
	i := shiftRight(e.Cast(uop.Uint64), 5)
	e = e.Cast(uop.Int32)
	e = e.And(e.IntLike(31))
	rest := e.IntLike(32).Sub(e)

	zero := d.Graph().Const(uop.Uint32.Vec(d.DType.Count), uop.Int(0))
	var a [4]*uop.UOp
	for k := range a {
		a[k] = selectWord(i, zero, k)
	}
	left := func(x *uop.UOp) *uop.UOp {
		return x.Cast(uop.Uint64).Mul(pow2(e, d.DType).Cast(uop.Uint64)).Cast(uop.Uint32)
	}
	right := func(x *uop.UOp) *uop.UOp {
		return x.Cast(uop.Uint64).Idiv(pow2(rest, d.DType).Cast(uop.Uint64)).Cast(uop.Uint32)
	}
	times := func(x, y *uop.UOp) *uop.UOp { return x.Cast(uop.Uint64).Mul(y.Cast(uop.Uint64)) }
	hi := left(a[0]).Or(right(a[1]))
	mi := left(a[1]).Or(right(a[2]))
	lo := left(a[2]).Or(right(a[3]))
	p := shiftLeft(times(ia, hi), 32).Add(times(ia, mi)).Add(shiftRight(times(ia, lo), 32))

	q = shiftRight(p, 62).Cast(uop.Int32)
	p = p.And(p.IntLike(0x3fffffffffffffff))
	r = p.Cast(wide)
	r = r.Mul(num(r, 3.4061215800865545e-19)).Cast(d.DType)
	below := f.Lt(num(f, 0.5))
	return below.Where(r, r.Sub(num(r, math.Pi/2))), below.Where(q, q.AddInt(1))
}

// reduceSmall gives the remainder of d modulo pi, in [-pi/2, pi/2], and the quotient, for d below payneHanekFrom.
func reduceSmall(d *uop.UOp) (r, q *uop.UOp) {
	const inversePi = 0.318309886183790671537767526745028724
	dt := d.DType.Scalar()
	high := d.Mul(num(d, inversePi/(1<<24))).Cast(uop.Int64).Cast(d.DType)
	high = high.Mul(num(high, 1<<24))
	x := d.Mul(num(d, inversePi))
	if dt == uop.Float64 {
		x = x.Sub(high)
	}
	q = round(x)
	return subtractPi(d, q.Cast(d.DType), high), q.Cast(uop.Int32)
}

// subtractPi is x - q*pi, with pi in parts of few bits so that the products are exact; high is the upper part of q.
func subtractPi(x, q, high *uop.UOp) *uop.UOp {
	switch x.DType.Scalar() {
	case uop.Float16:
		return subtractPi(x.Cast(uop.Float32), q.Cast(uop.Float32), nil).Cast(uop.Float16)
	case uop.Float64:
		d := x
		for _, part := range []float64{3.1415926218032836914, 3.1786509424591713469e-08, 1.2246467864107188502e-16} {
			d = high.Mul(num(high, -part)).Add(d)
			d = q.Mul(num(q, -part)).Add(d)
		}
		all := high.Add(q)
		return all.Mul(num(all, -1.2736634327021899816e-24)).Add(d)
	}
	d := x
	for _, part := range []float64{3.1414794921875, 0.00011315941810607910156, 1.9841872589410058936e-09, 1.2154201256553420762e-10} {
		d = q.Mul(num(q, -part)).Add(d)
	}
	return d
}

// sinPoly is the sine on [-pi/2, pi/2].
func sinPoly(d *uop.UOp) *uop.UOp {
	d2 := d.Mul(d)
	if d.DType.Scalar() == uop.Float64 {
		return d.Mul(poly(d2, -7.97255955009037868891952e-18, 2.81009972710863200091251e-15, -7.64712219118158833288484e-13,
			1.60590430605664501629054e-10, -2.50521083763502045810755e-08, 2.75573192239198747630416e-06,
			-0.000198412698412696162806809, 0.00833333333333332974823815, -0.166666666666666657414808, 1))
	}
	return d.Mul(poly(d2, 2.6083159809786593541503e-06, -0.0001981069071916863322258, 0.00833307858556509017944336,
		-0.166666597127914428710938, 1))
}

func hasBit(q *uop.UOp, n int64) *uop.UOp { return q.And(q.IntLike(n)).Ne(q.IntLike(0)) }

// sign is -1 where a bit of q is set, else 1.
func sign(r, q *uop.UOp, bit int64) *uop.UOp { return hasBit(q, bit).Where(num(r, -1), num(r, 1)) }

func sin(d *uop.UOp) *uop.UOp {
	zero, nan := num(d, 0), num(d, math.NaN())
	x := special(d, zero, zero, zero, d)
	negative := x.Lt(num(x, 0)).Where(num(x, -1), num(x, 1))
	xSign := x.Ne(num(x, 0)).Where(negative, num(x, 0))
	abs := x.Mul(xSign)

	rLarge, qLarge := reduceLarge(abs)
	rSmall, qSmall := reduceSmall(abs)
	small := sinPoly(rSmall)
	small = small.Mul(sign(small, qSmall, 1))
	large := sinPoly(rLarge.Add(hasBit(qLarge, 1).Where(num(rLarge, math.Pi/2), num(rLarge, 0))))
	large = large.Mul(sign(large, qLarge, 2))

	result := abs.Lt(num(abs, payneHanekFrom)).Where(small, large).Mul(xSign)
	return special(d, nan, nan, nan, result)
}
