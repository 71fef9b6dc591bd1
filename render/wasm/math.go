package wasm

import "polygrad/render/wasm/binary"

// exp, exp2, log2, sin, cos and tanh are written once for scalars and vectors of float32 and
// float64. The polynomials are minimax approximations of the relative error;
// without fused multiply-add the results are within 3 units in the last place
// (float32) and about 3e-16 (float64) of the true ones. Special values are as
// in IEEE 754, subnormals included.

// poly evaluates a polynomial given from the constant term upwards.
func (s *selector) poly(h shape, x *inst, cs []float64) *inst {
	out := s.float(h, cs[len(cs)-1])
	for i := len(cs) - 2; i >= 0; i-- {
		out = s.do(pAdd, h, s.do(pMul, h, out, x), s.float(h, cs[i]))
	}
	return out
}

// magic is the number that makes a float's fraction hold the nearest integer of
// what is added to it.
func (h shape) magic() float64 {
	if h.elem&1 == 1 {
		return 3 << 51
	}
	return 3 << 22
}

// fraction is the number of fraction bits, bias the exponent of 1.
func (h shape) fraction() int64 {
	if h.elem&1 == 1 {
		return 52
	}
	return 23
}

func (h shape) bias() int64 {
	if h.elem&1 == 1 {
		return 1023
	}
	return 127
}

// roundToInt is the nearest integer of a small number, as a float, and in the
// low bits of an integer, to which add is added. What that integer has above
// them is lost when it is shifted to the exponent or to the sign.
func (s *selector) roundToInt(h shape, x *inst, add int64) (f, i *inst) {
	m := s.float(h, h.magic()+float64(add))
	sum := s.do(pAdd, h, x, m)
	return s.do(pSub, h, sum, m), s.toInts(h, sum)
}

// reducedExp splits x into n ln 2 and a rest r of at most (ln 2)/2; it returns n, with the bias of exponents so many
// times added, and e**r - 1. Multiples of the first part of ln 2 are exact.
func (s *selector) reducedExp(h shape, x *inst, biases int64) (n, em1 *inst) {
	cs, ln2 := expPoly32, [2]float64{0.693359375, -0.00021219444005469057}
	if h.elem == f64 {
		cs, ln2 = expPoly64, [2]float64{0.6931471803691238, 1.9082149292705877e-10}
	}
	f, n := s.roundToInt(h, s.do(pMul, h, x, s.float(h, log2e)), biases*h.bias())
	r := s.do(pSub, h, x, s.do(pMul, h, f, s.float(h, ln2[0])))
	r = s.do(pSub, h, r, s.do(pMul, h, f, s.float(h, ln2[1])))
	return n, s.do(pAdd, h, r, s.do(pMul, h, s.do(pMul, h, r, r), s.poly(h, r, cs)))
}

const log2e = 1.4426950408889634

// expPoly32 and expPoly64 are (e**r - 1 - r)/r**2.
var expPoly32 = []float64{0.5, 0.16666576845993977, 0.04166655443768594, 0.008363202971575855, 0.0013926213466332444}

var expPoly64 = []float64{0.5, 0.1666666666666667, 0.04166666666662399, 0.008333333333330051, 0.0013888888917281794,
	0.00019841269863105968, 2.480152119021773e-05, 2.7557268378684192e-06, 2.7620138719733994e-07, 2.5100424157005067e-08}

// exp is exp2 with another reduction.
func (s *selector) exp(h shape, x *inst) *inst {
	lo, hi := -104.0, 89.0
	if h.elem == f64 {
		lo, hi = -746, 710
	}
	x = s.maximum(h, s.minimum(h, x, s.float(h, hi)), s.float(h, lo))
	n, em1 := s.reducedExp(h, x, 2)
	return s.scale(h, s.do(pAdd, h, em1, s.float(h, 1)), n)
}

// tanh is e/(e+2) for e = exp(2|x|) - 1, with the sign of x. Beyond the limit it is 1.
func (s *selector) tanh(h shape, x *inst) *inst {
	limit, top := 10.0, int64(1)<<31
	if h.elem == f64 {
		limit, top = 20, -1<<63
	}
	i := h.ints()
	sign := s.do(pAnd, i, s.toInts(h, x), s.int(h, top))
	a := s.minimum(h, s.do(pAbs, h, x), s.float(h, limit))
	n, em1 := s.reducedExp(h, s.do(pAdd, h, a, a), 1)
	power := s.power(h, n)
	e := s.do(pAdd, h, s.do(pMul, h, em1, power), s.do(pSub, h, power, s.float(h, 1)))
	t := s.do(pDiv, h, e, s.do(pAdd, h, e, s.float(h, 2)))
	return s.toFloats(h, s.do(pOr, i, s.toInts(h, t), sign))
}

// scale is p * 2**n, where i is n and twice the bias of exponents. It goes in two halves with a bias each, so that
// results near both ends of the range are right.
func (s *selector) scale(h shape, p, i *inst) *inst {
	half := s.shift(pShrS, h.ints(), i, 1)
	p = s.do(pMul, h, p, s.power(h, half))
	return s.do(pMul, h, p, s.power(h, s.do(pSub, h.ints(), i, half)))
}

// power is 2**n, where i is n and the bias of exponents.
func (s *selector) power(h shape, i *inst) *inst {
	return s.toFloats(h, s.shift(pShl, h.ints(), i, h.fraction()))
}

var exp2Poly32 = []float64{1, 0.6931472057402119, 0.24022646889073312, 0.055503287737718426, 0.009618489068543325, 0.001339993210146075, 0.00015345788418019075}

var exp2Poly64 = []float64{1, 0.6931471805599453, 0.24022650695910155, 0.055504108664819925, 0.009618129107588334, 0.0013333558146789801,
	0.0001540353046251626, 1.52527334900691e-05, 1.3215433088993677e-06, 1.0178197998487429e-07, 7.0741057060664e-09, 4.4352850172076517e-10}

// exp2 splits x into an integer and a rest of at most 1/2.
func (s *selector) exp2(h shape, x *inst) *inst {
	cs, lo, hi := exp2Poly32, -152.0, 129.0
	if h.elem == f64 {
		cs, lo, hi = exp2Poly64, -1078, 1025
	}
	x = s.maximum(h, s.minimum(h, x, s.float(h, hi)), s.float(h, lo))
	f, i := s.roundToInt(h, x, 2*h.bias())
	return s.scale(h, s.poly(h, s.do(pSub, h, x, f), cs), i)
}

var log2Poly32 = []float64{1.4426950408331798, -0.7213473510676804, 0.4808982394015819, -0.36069669494480777, 0.28856754777447324,
	-0.23961629134123338, 0.2045970249169654, -0.1910690987198145, 0.18620237261387135, -0.10996774554294626}

// log2Poly64 is log2((1+r)/(1-r))/r in r*r.
var log2Poly64 = []float64{2.8853900817779268, 0.9617966939259754, 0.5770780163556949, 0.4121985830730946, 0.32059890459040585,
	0.2623075438727008, 0.22198998400071462, 0.19113539119017484, 0.1913659037054785}

// log2 takes the exponent off, so that a factor between about 0.7 and 1.4 is left.
func (s *selector) log2(h shape, x *inst) *inst {
	n := h.ints()
	tiny, up, sqrtHalf := pow2(-126), 23.0, int64(0x3F3504F3)
	if h.elem == f64 {
		tiny, up, sqrtHalf = pow2(-1022), 52, 0x3FE6A09E667F3BCD
	}
	zero := s.float(h, 0)
	small := s.do(pLt, h, x, s.float(h, tiny))
	y := s.choose(h, small, s.do(pMul, h, x, s.float(h, pow2(int(up)))), x)
	bits := s.toInts(h, y)
	above := s.do(pSub, n, bits, s.int(h, sqrtHalf))
	// The bits of a positive number less those of sqrt(1/2), exponents only.
	exponent := s.do(pAnd, n, above, s.int(h, -1<<h.fraction()))
	m := s.toFloats(h, s.do(pSub, n, bits, exponent))
	e := s.exponentToFloat(h, exponent)
	e = s.do(pSub, h, e, s.choose(h, small, s.float(h, up), zero))
	f := s.do(pSub, h, m, s.float(h, 1))
	var l *inst
	if h.elem == f64 {
		r := s.do(pDiv, h, f, s.do(pAdd, h, f, s.float(h, 2)))
		l = s.do(pMul, h, r, s.poly(h, s.do(pMul, h, r, r), log2Poly64))
	} else {
		l = s.do(pMul, h, f, s.poly(h, f, log2Poly32))
	}
	out := s.do(pAdd, h, e, l)
	inf := s.toFloats(h, s.int(h, (2*h.bias()+1)<<h.fraction()))
	out = s.choose(h, s.do(pEq, h, x, zero), s.do(pNeg, h, inf), out)
	// Infinity is its own logarithm; what is not above or at zero has none.
	out = s.choose(h, s.do(pLt, h, x, inf), out, inf)
	return s.choose(h, s.do(pLe, h, zero, x), out, s.float(h, nan))
}

var nan = func() float64 { var z float64; return z / z }()

// exponentToFloat turns a multiple of 2**fraction into the factor as a float.
func (s *selector) exponentToFloat(h shape, v *inst) *inst {
	n := h.ints()
	switch h {
	case shape{f32, 4}:
		return s.op(binary.F32x4ConvertI32x4S, binary.V128, s.shift(pShrS, n, v, 23))
	case shape{f32, 1}:
		return s.op(binary.F32ConvertI32S, binary.F32, s.shift(pShrS, n, v, 23))
	case shape{f64, 1}:
		return s.op(binary.F64ConvertI64S, binary.F64, s.shift(pShrS, n, v, 52))
	}
	// Made positive, the exponent is added to the fraction of the magic number.
	up := s.shift(pShrU, n, s.do(pAdd, n, v, s.int(h, -1<<63)), 52)
	sum := s.toFloats(h, s.do(pAdd, n, up, s.toInts(h, s.float(h, h.magic()))))
	return s.do(pSub, h, sum, s.float(h, h.magic()+2048))
}

var sinPoly32 = []float64{-0.16666659521938196, 0.008333065440782196, -0.00019809539318783477, 2.605631242558465e-06}

var sinPoly64 = []float64{-0.16666666666666666, 0.008333333333333333, -0.0001984126984126967, 2.7557319223939933e-06, -2.5052108378454724e-08,
	1.605904319347562e-10, -7.647127146310543e-13, 2.8102003725430636e-15, -7.981147494573665e-18}

// Parts of pi with so few bits that their products with the multiples that
// occur below the limits are exact.
var (
	pi32 = []float64{3.140625, 0.0009675025939941406, 1.5099067240953445e-07, 5.126688136514179e-12}
	pi64 = []float64{3.1415926534682512, 1.2154201012607932e-10, 4.044532497591901e-21}
)

// From these numbers on sin reduces its argument with many bits of 1/pi.
const (
	sinLimit32 = 8192
	sinLimit64 = 1 << 17
	invPi      = 0.3183098861837907
)

// sin takes multiples of pi off, each of which turns the sign.
func (s *selector) sin(h shape, x *inst) *inst {
	n, i := s.roundToInt(h, s.do(pMul, h, x, s.float(h, invPi)), 0)
	return s.sinOf(h, x, n, i, false)
}

// cos is sin(x + pi/2): off come multiples of pi and one half of it. The half goes to the multiple, which stays exact.
func (s *selector) cos(h shape, x *inst) *inst {
	half := s.float(h, 0.5)
	n, i := s.roundToInt(h, s.do(pAdd, h, s.do(pMul, h, s.do(pAbs, h, x), s.float(h, invPi)), half), 0)
	return s.sinOf(h, s.do(pAbs, h, x), s.do(pSub, h, n, half), i, true)
}

// sinOf is the sine of x - n pi, with the other sign if i is odd. Large numbers are reduced by a helper instead.
func (s *selector) sinOf(h shape, x, n, i *inst, cos bool) *inst {
	cs, parts, limit, top := sinPoly32, pi32, float64(sinLimit32), int64(31)
	if h.elem == f64 {
		cs, parts, limit, top = sinPoly64, pi64, sinLimit64, 63
	}
	r := x
	for _, p := range parts {
		r = s.do(pSub, h, r, s.do(pMul, h, n, s.float(h, p)))
	}
	sign := s.shift(pShl, h.ints(), i, top)
	r = s.toFloats(h, s.do(pXor, h.ints(), s.toInts(h, r), sign))
	large := s.do(pLe, h, s.float(h, limit), s.do(pAbs, h, x))
	r = s.intern(inst{what: isGuard, typ: h.typ(), args: []*inst{large, r, x}, fn: reduceFor(h, cos)})
	z := s.do(pMul, h, r, r)
	// r is added last: near pi/2 the product would be rounded to more than 1.
	out := s.do(pAdd, h, r, s.do(pMul, h, s.do(pMul, h, r, z), s.poly(h, z, cs)))
	if cos {
		return out
	}
	// The sum made 0 of -0; otherwise the sine has the sign of r.
	k := h.ints()
	return s.toFloats(h, s.do(pOr, k, s.toInts(h, out), s.do(pAnd, k, s.toInts(h, r), s.int(h, -1<<top))))
}
