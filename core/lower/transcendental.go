package lower

import (
	"math"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Exponential and logarithm as arithmetic on numbers and their bits, after SLEEF (https://arxiv.org/abs/2001.09258).
// sin.go holds the sine.

// expandable reports whether the functions below exist for a type; other floats go through float32.
func expandable(dt *uop.DType) bool {
	dt = dt.Scalar()
	return dt == uop.Float16 || dt == uop.Float32 || dt == uop.Float64
}

// lacksFunctions reports whether earlier passes may have left functions for this pass.
func (t *Target) lacksFunctions() bool {
	return !uop.Ops(uop.Exp2, uop.Log2, uop.Sin).SubsetOf(t.Ops) || t.lacksFloats()
}

// transcendentalRules expand the functions that the target lacks.
func transcendentalRules(t *Target) *rewrite.Table {
	var rules []*rewrite.Rule
	for _, f := range []struct {
		op uop.Op
		fn func(*uop.UOp) *uop.UOp
	}{{uop.Exp2, exp2}, {uop.Log2, log2}, {uop.Sin, sin}} {
		if t.Ops.Has(f.op) {
			continue
		}
		rules = append(rules, &rewrite.Rule{Name: f.op.String(), Ops: uop.Ops(f.op), Fn: func(_ any, u *uop.UOp) *uop.UOp {
			if expandable(u.DType) {
				return f.fn(u.Src[0])
			}
			return u.Src[0].Cast(uop.Float32).Alu(u.Op).Cast(u.DType)
		}})
	}
	return rewrite.New("transcendental", rules...)
}

// intOf is the signed integer type of the size of a float, with as many elements.
func intOf(dt *uop.DType) *uop.DType {
	return map[*uop.DType]*uop.DType{uop.Float16: uop.Int16, uop.Float32: uop.Int32, uop.Float64: uop.Int64}[dt.Scalar()].Vec(dt.Count)
}

func uintOf(dt *uop.DType) *uop.DType {
	return map[*uop.DType]*uop.DType{uop.Float16: uop.Uint16, uop.Float32: uop.Uint32, uop.Float64: uop.Uint64}[dt.Scalar()].Vec(dt.Count)
}

func mantissaBits(dt *uop.DType) int64 { _, m := dt.FloatInfo(); return int64(m) }

func exponentMask(dt *uop.DType) int64 { e, _ := dt.FloatInfo(); return 1<<e - 1 }

func exponentBias(dt *uop.DType) int64 { e, _ := dt.FloatInfo(); return 1<<(e-1) - 1 }

// num is the constant f of the type of u.
func num(u *uop.UOp, f float64) *uop.UOp { return u.ConstLike(uop.Float(f)) }

// shiftRight and shiftLeft are expressed as division and multiplication; a later pass makes shifts of them if the target has shifts.
func shiftRight(u *uop.UOp, n int64) *uop.UOp { return u.Idiv(u.ConstLike(uop.Int(1).Shl(uop.Int(n)))) }

func shiftLeft(u *uop.UOp, n int64) *uop.UOp { return u.Mul(u.ConstLike(uop.Int(1).Shl(uop.Int(n)))) }

// poly evaluates a polynomial by Horner's rule, highest coefficient first.
func poly(x *uop.UOp, cs ...float64) *uop.UOp {
	acc := num(x, cs[0])
	for _, c := range cs[1:] {
		acc = acc.Mul(x).Add(num(x, c))
	}
	return acc
}

// special is nan, inf or negInf where x is NaN, infinity or minus infinity, and ratio elsewhere.
func special(x, inf, negInf, nan, ratio *uop.UOp) *uop.UOp {
	finite := x.Ne(num(x, math.Inf(-1))).Where(ratio, negInf)
	return x.Ne(num(x, math.Inf(1))).Where(x.Ne(x).Where(nan, finite), inf)
}

// round is the nearest integer, halves away from zero.
func round(d *uop.UOp) *uop.UOp {
	half := d.Lt(num(d, 0)).Where(num(d, -0.5), num(d, 0.5))
	return d.Add(half).Cast(intOf(d.DType))
}

// pow2 is 2**q, for exponents of normal numbers, as a float of the size of q; for an int16 q its type is that of dt.
func pow2(q *uop.UOp, dt *uop.DType) *uop.UOp {
	out := map[*uop.DType]*uop.DType{uop.Int64: uop.Float64, uop.Int32: uop.Float32, uop.Int16: dt.Scalar()}[q.DType.Scalar()].Vec(q.DType.Count)
	return shiftLeft(q.AddInt(exponentBias(out)), mantissaBits(out)).BitcastTo(out)
}

// scale2 is d * 2**e for positive normal d, in two steps so that neither factor overflows.
func scale2(d, e *uop.UOp) *uop.UOp {
	h := shiftRight(e, 1)
	return d.Mul(pow2(h, d.DType)).Mul(pow2(e.Sub(h), d.DType))
}

func exp2(d *uop.UOp) *uop.UOp {
	zero := num(d, 0)
	x := special(d, zero, zero, zero, d)
	q := round(x)
	s := x.Sub(q.Cast(x.DType))
	var u *uop.UOp
	if d.DType.Scalar() == uop.Float64 {
		u = poly(s, 0.4434359082926529454e-9, 0.7073164598085707425e-8, 0.1017819260921760451e-6, 0.1321543872511327615e-5,
			0.1525273353517584730e-4, 0.1540353045101147808e-3, 0.1333355814670499073e-2, 0.9618129107597600536e-2,
			0.5550410866482046596e-1, 0.2402265069591012214e+0, 0.6931471805599452862e+0, 1)
	} else {
		u = poly(s, 0.1535920892e-3, 0.1339262701e-2, 0.9618384764e-2, 0.5550347269e-1, 0.2402264476e+0, 0.6931471825e+0, 1)
	}
	u = scale2(u, q)
	limits := map[*uop.DType][2]int64{uop.Float64: {1024, -2000}, uop.Float32: {128, -150}, uop.Float16: {23, -22}}[d.DType.Scalar()]
	u = d.GeInt(limits[0]).Where(num(d, math.Inf(1)), u)
	u = d.LtInt(limits[1]).Where(zero, u)
	return d.Ne(d).Where(num(d, math.NaN()), u)
}

// exponentOf is the integer part of log2(d) for d > 0.
func exponentOf(d *uop.UOp) *uop.UOp {
	bits := shiftRight(d.BitcastTo(intOf(d.DType)), mantissaBits(d.DType))
	return bits.And(bits.IntLike(exponentMask(d.DType))).SubInt(exponentBias(d.DType))
}

// addExponent is d * 2**e, for a float e with an integer value, by adding e to the exponent bits of d.
func addExponent(d, e *uop.UOp) *uop.UOp {
	dt := intOf(d.DType)
	return d.BitcastTo(dt).Add(shiftLeft(e.Cast(dt), mantissaBits(d.DType))).BitcastTo(d.DType)
}

func log2(d *uop.UOp) *uop.UOp {
	dt := d.DType.Scalar()
	// Small numbers are scaled up out of the denormal range; 2**64 would overflow a half.
	up, least := int64(64), 1e-4
	if dt == uop.Float16 {
		up, least = 10, 6.1e-5
	}
	small := d.Lt(num(d, least))
	a := small.Where(d.Mul(num(d, math.Ldexp(1, int(up)))), d)
	e := exponentOf(a.Mul(num(a, 1.0/0.75))).Cast(a.DType)
	m := addExponent(a, e.Neg())
	e = small.Where(e.SubInt(up), e)
	x := m.Sub(num(m, 1)).Mul(m.Add(num(m, 1)).Recip())
	x2 := x.Mul(x)
	var r *uop.UOp
	if dt == uop.Float64 {
		t := poly(x2, 0.2211941750456081490e+0, 0.2200768693152277689e+0, 0.2623708057488514656e+0, 0.3205977477944495502e+0,
			0.4121985945485324709e+0, 0.5770780162997058982e+0, 0.96179669392608091449)
		r = t.Mul(x.Mul(x2)).Add(e).Add(x.Mul(num(x, 2.885390081777926774)))
	} else {
		t := poly(x2, 0.4374550283e+0, 0.5764790177e+0, 0.9618012905120)
		r = t.Mul(x.Mul(x2)).Add(e).Add(x.Mul(num(x, 2.8853900432586669922)))
		if dt == uop.Float32 {
			r = r.Add(x.Mul(num(x, 3.2734474483568488616e-08)))
		}
	}
	negInf, nan := num(r, math.Inf(-1)), num(r, math.NaN())
	r = d.Ne(num(d, math.Inf(1))).Where(r, num(r, math.Inf(1)))
	r = d.Ne(num(d, 0)).Where(r, negInf)
	r = d.Lt(num(d, math.Copysign(0, -1))).Where(nan, r)
	r = d.Ne(d).Where(nan, r)
	// A comparison does not distinguish -0.0 from 0.0 everywhere, the reciprocal does.
	return d.Recip().Ne(num(d, math.Inf(-1))).Where(r, negInf)
}
