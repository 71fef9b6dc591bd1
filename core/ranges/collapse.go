package ranges

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

var reduceOps = uop.Ops(uop.Reduce)

// collapseRules solve a sum over a range r for the values of r that a comparison lets through.
var collapseRules = &rewrite.Table{Name: "collapse", Rules: []*rewrite.Rule{
	{Name: "x+y < c", Ops: uop.Ops(uop.CmpLt), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		return liftTerm(u.Src[0], u.Src[1], (*uop.UOp).Lt)
	}},
	{Name: "x*y < c", Ops: uop.Ops(uop.CmpLt), Need: uop.Ops(uop.Mul), Fn: liftFactor},
	{Name: "sum where r < cut: 0, val", Ops: reduceOps, Need: uop.Ops(uop.Where), Fn: foldBelow},
	{Name: "sum where lower <= r < upper: val", Ops: reduceOps, Need: uop.Ops(uop.Where), Fn: foldBetween},
	{Name: "sum where r < cut: val", Ops: reduceOps, Need: uop.Ops(uop.Where), Fn: foldAbove},
	{Name: "sum of x+y", Ops: reduceOps, Need: uop.Ops(uop.Add), Fn: splitSum},
	{Name: "sum where var & y", Ops: reduceOps, Need: uop.Ops(uop.Where), Fn: liftGate},
	{Name: "x * bool", Ops: uop.Ops(uop.Mul), Need: uop.Ops(uop.Cast), Fn: mulToWhere},
}}

// loadCollapseRules solve a sum over r of a load that is selected by idx != r.
var loadCollapseRules = &rewrite.Table{Name: "load collapse", Rules: []*rewrite.Rule{
	{Name: "x+y != c", Ops: uop.Ops(uop.CmpNe), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if v := liftTerm(u.Src[0], u.Src[1], (*uop.UOp).Ne); v != nil {
			return v
		}
		return liftTerm(u.Src[1], u.Src[0], (*uop.UOp).Ne)
	}},
	{Name: "sum where idx != r: 0, load", Ops: reduceOps, Need: uop.Ops(uop.Where), Fn: foldSelect},
}}

// selectionRules also solve such sums under further conditions, and with a cast around the WHERE.
var selectionRules = &rewrite.Table{Name: "selection", Rules: []*rewrite.Rule{
	{Name: "sum of a cast choice", Ops: reduceOps, Need: uop.Ops(uop.Cast), Fn: castChoice},
	{Name: "sum where idx != r: 0, load", Ops: reduceOps, Need: uop.Ops(uop.Where), Fn: foldSelect},
	{Name: "sum where idx == r & cond: load, 0", Ops: reduceOps, Need: uop.Ops(uop.Where), Fn: foldSelectAnd}}}

// liftTerm turns x+y cmp c, where only x has ranges, into x cmp c-y. The sum may be cast from one integer type to another, but
// not from a floating type, which rounds: (x+0.5 as an integer) cmp c is not equivalent to x cmp c-0.5. Small and unsigned
// integers must not wrap around: (x+255 as uint8) < 4 is not equivalent to x < 4-255.
func liftTerm(sum, c *uop.UOp, cmp func(a, b *uop.UOp) *uop.UOp) *uop.UOp {
	if sum.Op == uop.Cast {
		cast := sum
		if sum = sum.Src[0]; !sum.DType.IsInt() || !c.DType.IsInt() || sum.Overflows(cast.DType) {
			return nil
		}
	}
	return eachOrder(sum, uop.Add, func(x, y *uop.UOp) *uop.UOp {
		if noRange(x) || !noRange(y) || !noRange(c) || !inRange(c, sum.DType) || sum.DType.Wraps() && !sumsFit(x, y, c) {
			return nil
		}
		return cmp(x, c.Cast(y.DType).Sub(y))
	})
}

// inRange reports whether c is a value of an integer type.
func inRange(c *uop.UOp, dt *uop.DType) bool {
	return !dt.IsInt() || !c.DType.IsInt() || c.DType == dt || fits(c.Vmin(), c.Vmax(), dt)
}

// sumsFit reports whether neither x+y nor c-y leaves the type of x.
func sumsFit(x, y, c *uop.UOp) bool {
	return fits(x.Vmin().Add(y.Vmin()), x.Vmax().Add(y.Vmax()), x.DType) && fits(c.Vmin().Sub(y.Vmax()), c.Vmax().Sub(y.Vmin()), x.DType)
}

func fits(lo, hi uop.Const, dt *uop.DType) bool { return !lo.Less(dt.Min()) && !dt.Max().Less(hi) }

// liftFactor turns x*y < c, where only x has ranges, into x < c/y, rounded up. Division rounds towards zero, so that the
// quotient of a negative c is greater, which matters for negative x.
func liftFactor(_ any, u *uop.UOp) *uop.UOp {
	product, c := u.Src[0], u.Src[1]
	return eachOrder(product, uop.Mul, func(x, y *uop.UOp) *uop.UOp {
		if noRange(x) || !noRange(y) || !noRange(c) || !y.DType.IsInt() || y.Vmin().Sign() <= 0 || !product.Exact() {
			return nil
		}
		if x.Vmin().Sign() < 0 && c.Vmin().Sign() < 0 || c.DType.Wraps() && !fits(c.Vmin(), c.Vmax().Add(y.Vmax()), c.DType) {
			return nil
		}
		return x.Lt(c.Add(y).SubInt(1).Idiv(y))
	})
}

// sumOfWhere splits a sum over one range of a WHERE with a zero at source zero (1 or 2).
func sumOfWhere(u *uop.UOp, zero int) (cond, val, r *uop.UOp) {
	if u.Arg.(uop.OpArg) != uop.OpArg(uop.Add) || len(u.Src) != 2 {
		return nil, nil, nil
	}
	w := u.Src[0]
	if w.Op != uop.Where || !w.Src[zero].IsConst(uop.Int(0)) {
		return nil, nil, nil
	}
	return w.Src[0], w.Src[3-zero], u.Src[1]
}

// below is the bound of a comparison r < bound, nil for anything else.
func below(cond, r *uop.UOp) *uop.UOp {
	if cond.Op != uop.CmpLt || cond.Src[0] != r {
		return nil
	}
	return cond.Src[1]
}

// times is the sum of val over n values of r, where n is clipped to what r can be.
func times(n, r, val *uop.UOp) *uop.UOp { return n.Minimum(r.Src[0]).Cast(val.DType).Mul(val) }

func clip(u *uop.UOp) *uop.UOp { return u.Maximum(u.IntLike(0)) }

func foldBelow(_ any, u *uop.UOp) *uop.UOp {
	cond, val, r := sumOfWhere(u, 1)
	if cond == nil || r.Op != uop.Range {
		return nil
	}
	cut := below(cond, r)
	if cut == nil || !noRange(val) {
		return nil
	}
	return times(clip(r.Src[0].Sub(cut)), r, val)
}

func foldAbove(_ any, u *uop.UOp) *uop.UOp {
	cond, val, r := sumOfWhere(u, 2)
	if cond == nil || r.Op != uop.Range {
		return nil
	}
	cut := below(cond, r)
	if cut == nil || !noRange(val) {
		return nil
	}
	return times(clip(cut), r, val)
}

func foldBetween(_ any, u *uop.UOp) *uop.UOp {
	cond, val, r := sumOfWhere(u, 2)
	if cond == nil || r.Op != uop.Range {
		return nil
	}
	return eachOrder(cond, uop.And, func(notBelow, above *uop.UOp) *uop.UOp {
		lower, upper := negatedBelow(notBelow, r), below(above, r)
		if lower == nil || upper == nil || !noRange(val) {
			return nil
		}
		return times(clip(upper.Minimum(r.Src[0]).Sub(clip(lower))), r, val)
	})
}

// negatedBelow is the bound of not(r < bound), nil for anything else.
func negatedBelow(cond, r *uop.UOp) *uop.UOp {
	return eachOrder(cond, uop.CmpNe, func(lt, t *uop.UOp) *uop.UOp {
		if !t.IsConst(uop.BoolConst(true)) || !t.DType.IsBool() {
			return nil
		}
		return below(lt, r)
	})
}

func splitSum(_ any, u *uop.UOp) *uop.UOp {
	if u.Arg.(uop.OpArg) != uop.OpArg(uop.Add) || u.Src[0].Op != uop.Add {
		return nil
	}
	x, y := u.Src[0].Src[0], u.Src[0].Src[1]
	return x.ReduceOver(uop.Add, u.Src[1:]...).Add(y.ReduceOver(uop.Add, u.Src[1:]...))
}

func liftGate(_ any, u *uop.UOp) *uop.UOp {
	if u.Arg.(uop.OpArg) != uop.OpArg(uop.Add) {
		return nil
	}
	w := u.Src[0]
	if w.Op != uop.Where || !w.Src[2].IsConst(uop.Int(0)) {
		return nil
	}
	c := w.Src[1]
	return eachOrder(w.Src[0], uop.And, func(x, y *uop.UOp) *uop.UOp {
		if x.Op != uop.DefineVar {
			return nil
		}
		return y.Where(c, c.IntLike(0)).ReduceOver(uop.Add, u.Src[1:]...).Mul(x.Cast(c.DType))
	})
}

func mulToWhere(_ any, u *uop.UOp) *uop.UOp {
	return eachOrder(u, uop.Mul, func(x, y *uop.UOp) *uop.UOp {
		if y.Op != uop.Cast || !y.Src[0].DType.IsBool() {
			return nil
		}
		return y.Src[0].Where(x, x.IntLike(0))
	})
}

func foldSelect(_ any, u *uop.UOp) *uop.UOp {
	cond, expr, r := sumOfWhere(u, 1)
	if cond == nil || r.Op != uop.Range {
		return nil
	}
	return selected(cond, expr, r)
}

func foldSelectAnd(_ any, u *uop.UOp) *uop.UOp {
	cond, expr, r := sumOfWhere(u, 2)
	if cond == nil || r.Op != uop.Range {
		return nil
	}
	conditions := cond.SplitUOp(uop.And)
	for i, c := range conditions {
		v := eachOrder(c, uop.CmpNe, func(differs, t *uop.UOp) *uop.UOp {
			if !t.DType.IsBool() || !t.IsConst(uop.BoolConst(true)) {
				return nil
			}
			value := expr
			for j, other := range conditions {
				if j != i {
					value = other.Where(value, value.IntLike(0))
				}
			}
			return selected(differs, value, r)
		})
		if v != nil {
			return v
		}
	}
	return nil
}

// castChoice moves a cast of a WHERE to its two values, if one of them is 0.
func castChoice(_ any, u *uop.UOp) *uop.UOp {
	cast := u.Src[0]
	if cast.Op != uop.Cast || cast.Src[0].Op != uop.Where {
		return nil
	}
	w := cast.Src[0]
	if !w.Src[1].IsConst(uop.Int(0)) && !w.Src[2].IsConst(uop.Int(0)) {
		return nil
	}
	return u.With(join([]*uop.UOp{w.Src[0].Where(w.Src[1].Cast(cast.DType), w.Src[2].Cast(cast.DType))}, u.Src[1:])...)
}

// selected is the value of expr at r = idx, for a condition idx != r; 0 if idx is outside of the range.
func selected(cond, expr, r *uop.UOp) *uop.UOp {
	return eachOrder(cond, uop.CmpNe, func(idx, x *uop.UOp) *uop.UOp {
		if x.Op == uop.Cast && !x.Src[0].Overflows(x.DType) { // else several values of r may be equal to idx
			x = x.Src[0]
		}
		if x != r || !idx.DType.IsInt() || idx.DependsOn(r) {
			return nil
		}
		i := idx.Cast(r.DType)
		valid := i.GeInt(0).And(i.Lt(r.Src[0]))
		load := rewrite.Substitute(expr, rewrite.Map{r: i.Valid(valid)})
		return valid.Where(load, load.IntLike(0))
	})
}
