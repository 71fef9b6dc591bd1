package symbolic

import (
	"math"

	"polygrad/core/uop"
)

// ceilDiv is a/b rounded up. It divides floats, as tinygrad does.
func ceilDiv(a, b uop.Const) uop.Const { return roundQuotient(a, b, math.Ceil) }

// floorDiv is a/b rounded down, divided as floats.
func floorDiv(a, b uop.Const) uop.Const { return roundQuotient(a, b, math.Floor) }

func roundQuotient(a, b uop.Const, round func(float64) float64) uop.Const {
	return uop.Float(round(a.F() / b.F())).As(uop.IndexT)
}

// lessMoved is x < c1 - c0 for sum < c1, where sum is c0 + x: not if the sum may wrap, or the type does not hold the difference.
func lessMoved(sum, x, c0, c1 *uop.UOp) *uop.UOp {
	constants := c0.Op == uop.ConstOp && c1.Op == uop.ConstOp
	var d uop.Const
	if constants {
		if d = c1.Vmin().Sub(c0.ConstVal()); x.DType.IsInt() && holds(x, c1.Vmin()) && !holds(x, d) {
			return nil
		}
	}
	switch {
	case !wraps(sum):
		return x.Lt(c1.Sub(c0))
	case constants && sum.Exact():
		return x.Lt(constant(x, d))
	}
	return nil
}

// ltFolding divides x < c, where x is a sum, by the common divisor of c and of those terms whose
// factor is not 1, if the other terms are too small to matter.
func ltFolding(x *uop.UOp, c uop.Const) *uop.UOp {
	var many []*uop.UOp
	d, lo, hi := c, zero, zero
	for _, u := range x.SplitUOp(uop.Add) {
		f := ConstFactor(u)
		if f.EqInt(1) {
			lo, hi = lo.Add(u.Vmin()), hi.Add(u.Vmax())
			continue
		}
		many = append(many, u)
		d = d.GCD(f)
	}
	if many == nil || d.Cmp(one) <= 0 || lo.Sign() < 0 || hi.Cmp(d) >= 0 {
		return nil
	}
	q := Divides(uop.SumOf(many...), d)
	if q == nil {
		return nil
	}
	return q.Lt(constant(q, c.FloorDiv(d)))
}

// positiveSimplex drops the positive factors in x > 0, written not (x < 1), if that is possible.
func positiveSimplex(x *uop.UOp) *uop.UOp {
	if s := canonicalizeSimplex(x); s != nil {
		return s.LtInt(1).Not()
	}
	return nil
}

// canonicalizeSimplex is x0 + x1 + … for x = x0*a0 + x1*a1 + … with positive factors, where every
// xi is a variable that is never negative: one is positive if and only if the other is.
func canonicalizeSimplex(x *uop.UOp) *uop.UOp {
	changed := false
	terms := x.SplitUOp(uop.Add)
	for i, u := range terms {
		if u.Op == uop.Mul && u.Src[1].Op == uop.ConstOp && u.Src[1].ConstVal().Sign() > 0 {
			changed = true
			u = u.Src[0]
		}
		if !uop.GroupIrreducible.Has(u.Op) || u.Vmin().Sign() < 0 {
			return nil
		}
		terms[i] = u
	}
	if !changed {
		return nil
	}
	return uop.SumOf(terms...)
}
