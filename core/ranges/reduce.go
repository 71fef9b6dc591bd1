package ranges

import (
	"strconv"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// ReduceUnparented takes ranges out of a REDUCE whose value does not depend on them.
var ReduceUnparented = &rewrite.Table{Name: "reduce unparented", Rules: []*rewrite.Rule{
	{Name: "reduce unparented", Ops: uop.Ops(uop.Reduce), Fn: reduceUnparented}}}

// ReduceSimplify also replaces a sum over ranges, where nothing is loaded, by a closed form (a range that
// is only compared with, as in arange).
var ReduceSimplify = &rewrite.Table{Name: "reduce simplify", Parts: []*rewrite.Table{ReduceUnparented, {Rules: []*rewrite.Rule{
	{Name: "reduce collapse", Ops: uop.Ops(uop.Reduce), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		return collapse(u, collapseTable, foldable)
	}}}}}}

// LoadCollapse turns a sum of loads that are selected by comparing an index with the range into one gated load.
var LoadCollapse = &rewrite.Table{Name: "load collapse", Rules: []*rewrite.Rule{
	{Name: "reduce load collapse", Ops: uop.Ops(uop.Reduce), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if len(u.Src) != 2 {
			return nil
		}
		return collapse(u, loadCollapseTable, loadFoldable)
	}},
	// The rules above move terms to the other side of a comparison; on a loaded index that could overflow, so it is undone.
	{Name: "no math on loaded index", Ops: uop.Ops(uop.CmpLt), Need: uop.Ops(uop.Add), Fn: compareLoadedIndex}}}

// Selections also does so where the sum has further conditions, and drops remainders that conditions make needless.
var Selections = &rewrite.Table{Name: "selections", Rules: []*rewrite.Rule{
	{Name: "reduce selection", Ops: uop.Ops(uop.Reduce), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if len(u.Src) != 2 {
			return nil
		}
		return collapse(u, selectionTable, loadFoldable)
	}},
	{Name: "remainder under a condition", Ops: uop.Ops(uop.Where), Fn: withinBounds},
	{Name: "no math on loaded index", Ops: uop.Ops(uop.CmpLt), Need: uop.Ops(uop.Add), Fn: compareLoadedIndex}}}

// Comparisons without which no rule of the tables below can make a range disappear.
var (
	foldable     = uop.Ops(uop.CmpLt)
	loadFoldable = uop.Ops(uop.CmpLt, uop.CmpNe)
)

func reduceUnparented(_ any, u *uop.UOp) *uop.UOp {
	op := uop.Op(u.Arg.(uop.OpArg))
	if op != uop.Add && op != uop.Max && op != uop.Mul {
		return nil
	}
	inside := u.Src[0].Ranges()
	var kept, loose []*uop.UOp
	for _, r := range u.Src[1:] {
		switch {
		case r.Op == uop.ConstOp: // of a size that can only be 1
		case r.Op != uop.Range:
			panic("ranges: REDUCE over " + r.String() + ", which is no RANGE")
		case has(inside, r):
			kept = append(kept, r)
		default:
			loose = append(loose, r)
		}
	}
	if len(kept) == len(u.Src)-1 {
		return nil
	}
	v := u.Src[0]
	if len(kept) > 0 || u.DType != v.DType {
		v = u.With(join(u.Src[:1], kept)...)
	}
	for _, r := range loose {
		size := r.Src[0].Cast(v.DType.Scalar()).Broadcast(v.DType.Count)
		switch op {
		case uop.Add:
			v = v.Mul(size)
		case uop.Mul:
			v = v.Alu(uop.Pow, size)
		}
	}
	return v
}

// collapse cuts the part of the sum u that depends on a range out of the graph, with variables for its
// inputs, rewrites it with the table, and puts it back if the range is gone.
func collapse(u *uop.UOp, table *rewrite.Table, need uop.OpSet) *uop.UOp {
	if u.Arg.(uop.OpArg) != uop.OpArg(uop.Add) {
		return nil
	}
	g := u.Graph()
	body := u.Src[0]
	for _, r := range u.Src[1:] {
		included := body.ToposortGated(func(x *uop.UOp) bool { return x.InRange(r) })
		inside := make(map[*uop.UOp]struct{}, len(included))
		var seen uop.OpSet
		for _, x := range included {
			if x.Op == uop.Store || x.Op == uop.Reduce {
				return nil
			}
			inside[x] = struct{}{}
			seen = seen.Union(uop.Ops(x.Op))
		}
		if len(included) > 0 && !seen.Intersects(need) {
			return nil
		}
		inputs, outputs := rewrite.Map{}, rewrite.Map{}
		for _, x := range included {
			for _, s := range x.Src {
				if _, ok := inside[s]; ok || inputs[s] != nil || freeInput.Has(s.Op) {
					continue
				}
				lo, hi := s.Bounds()
				v := g.Variable("in"+strconv.Itoa(len(inputs)), lo, hi, s.DType)
				inputs[s], outputs[v] = v, s
			}
		}
		res := rewrite.Graph(rewrite.Substitute(body, inputs).ReduceOver(uop.Add, r), table, nil)
		if !noRange(res) {
			return nil
		}
		body = rewrite.Substitute(res, outputs)
	}
	return body
}

var freeInput = uop.Ops(uop.ConstOp, uop.VConstOp, uop.Param, uop.DefineLocal, uop.DefineVar)

// noRange reports whether no RANGE is below u, closed ones included.
func noRange(u *uop.UOp) bool { return !u.HasOp(rangeOp) }

var (
	rangeOp = uop.Ops(uop.Range)
	indexOp = uop.Ops(uop.Index)
)

func has(us []*uop.UOp, u *uop.UOp) bool {
	for _, x := range us {
		if x == u {
			return true
		}
	}
	return false
}

func compareLoadedIndex(_ any, u *uop.UOp) *uop.UOp {
	c := u.Src[1]
	return eachOrder(u.Src[0], uop.Add, func(x, y *uop.UOp) *uop.UOp {
		if !x.DType.IsIndex() || y.HasOp(indexOp) || c.HasOp(indexOp) || !x.HasOp(indexOp) {
			return nil
		}
		return x.Lt(c.Sub(y))
	})
}

// eachOrder calls f with the two operands of u, if it is an op, in both orders until it answers.
func eachOrder(u *uop.UOp, op uop.Op, f func(x, y *uop.UOp) *uop.UOp) *uop.UOp {
	if u.Op != op || len(u.Src) != 2 {
		return nil
	}
	if v := f(u.Src[0], u.Src[1]); v != nil {
		return v
	}
	return f(u.Src[1], u.Src[0])
}

var (
	collapseTable     = &rewrite.Table{Name: "reduce_collapse", Parts: []*rewrite.Table{ReduceUnparented, collapseRules, symbolic.Symbolic}}
	loadCollapseTable = &rewrite.Table{Name: "reduce_load_collapse", Parts: []*rewrite.Table{collapseTable, loadCollapseRules}}
	selectionTable    = &rewrite.Table{Name: "reduce_selection", Parts: []*rewrite.Table{loadCollapseTable, selectionRules}}
)
