package schedule

import (
	"slices"

	"polygrad/core/ranges"
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// earlyContext is the context of the earliest rewrites.
type earlyContext struct {
	// views maps a node to an equal view of a CONTIGUOUS: the copy of a view of the node, viewed back.
	views map[*uop.UOp]*uop.UOp
	// folded are constants that replaced numbered nodes without passing their number on.
	folded map[int]*uop.UOp
	// rows is the largest number of results of a reduction that is split, 0 for no limit.
	rows int64
}

func (e *earlyContext) fold(u, c *uop.UOp) *uop.UOp {
	if tag, ok := u.Tag.(uop.Nums); ok {
		for _, i := range tag {
			e.folded[i] = c
		}
	}
	return c
}

func ops(o ...uop.Op) uop.OpSet { return uop.Ops(o...) }

var earliestTable = &rewrite.Table{Name: "earliest rewrites", Parts: []*rewrite.Table{ranges.SyntacticSugar, ranges.MovementOps, {Rules: []*rewrite.Rule{
	{Name: "reshape of reshape", Ops: ops(uop.Reshape), Need: ops(uop.Reshape), Fn: joinReshape},
	{Name: "drop detach", Ops: sameValue, Fn: func(_ any, u *uop.UOp) *uop.UOp { return u.Src[0] }},
	{Name: "contiguous of buffer", Ops: ops(uop.Contiguous), Fn: dropContiguous},
	{Name: "split reduce", Ops: ops(uop.ReduceAxis), Fn: splitReduce},
	{Name: "reduce of nothing", Ops: ops(uop.ReduceAxis), Fn: reduceNothing},
	{Name: "size 0", Ops: func() uop.OpSet { return uop.GroupAll.Minus(uop.Sink) }(), Fn: sizeZero},
	{Name: "copy of const", Ops: ops(uop.Copy), Fn: copyConst},
	{Name: "copy of part", Ops: ops(uop.Copy), Fn: copyPart},
	{Name: "copy to same device", Ops: ops(uop.Copy), Fn: copyNothing},
	{Name: "assign of assign", Ops: ops(uop.Assign), Need: ops(uop.Assign), Fn: joinAssign},
	{Name: "assign to bitcast", Ops: ops(uop.Assign), Need: ops(uop.Bitcast), Fn: assignBitcast},
	{Name: "assign to no buffer", Ops: ops(uop.Assign), Fn: assignToContiguous},
	{Name: "assign hazard", Ops: ops(uop.Assign), Fn: fixHazard},
	{Name: "note contiguous view", Ops: ops(uop.Contiguous), Fn: noteContiguous},
	{Name: "use contiguous view", Ops: uop.GroupALU, Fn: useContiguous},
}}}}

func (r *run) earliest() bool {
	e := &earlyContext{views: map[*uop.UOp]*uop.UOp{}, folded: map[int]*uop.UOp{}, rows: r.rows}
	r.root = rewrite.GraphTopDown(r.root, earliestTable, e)
	r.folded = e.folded
	return true
}

func joinReshape(_ any, u *uop.UOp) *uop.UOp {
	in := u.Src[0]
	if in.Op != uop.Reshape || u.Tag != nil || in.Tag != nil {
		return nil
	}
	return u.With(in.Src[0], u.Src[1])
}

func dropContiguous(_ any, u *uop.UOp) *uop.UOp {
	r := u.Src[0]
	if base := r.Base(); len(u.Src) == 1 && inOrder.Has(base.Op) && reshaped(r) {
		return r.WithTag(joinTags(r.Tag, u.Tag)) // it has a buffer anyway
	}
	if len(u.Src) != 1 || r.Op != uop.Reshape || r.Src[0].Op != uop.Param && r.Src[0].Op != uop.Contiguous {
		return nil
	}
	return r.WithTag(u.Tag)
}

// reshaped reports whether a view only has another shape than its base.
func reshaped(u *uop.UOp) bool {
	for u.Op == uop.Reshape {
		u = u.Src[0]
	}
	return u == u.Base()
}

func reduceNothing(ctx any, u *uop.UOp) *uop.UOp {
	if u.Src[0].Size() != 0 || u.Size() == 0 {
		return nil
	}
	return ctx.(*earlyContext).fold(u, u.ConstLike(uop.IdentityElement(u.Arg.(uop.AxisReduce).Op, u.DType)))
}

func sizeZero(_ any, u *uop.UOp) *uop.UOp {
	shape := u.Shape()
	if shape == nil || shape.MaxNumel() != 0 {
		return nil
	}
	return u.IntLike(0).WithTag(u.Tag)
}

func copyConst(ctx any, u *uop.UOp) *uop.UOp {
	c := u.Src[0].Base()
	if c.Op != uop.ConstOp {
		return nil
	}
	return ctx.(*earlyContext).fold(u, u.ConstLike(c.ConstVal()))
}

func copyPart(_ any, u *uop.UOp) *uop.UOp {
	v := u.Src[0]
	if !uop.GroupMovement.Has(v.Op) || v.Size() == v.Base().Size() {
		return nil
	}
	return u.With(v.ContiguousOp(), u.Src[1])
}

func copyNothing(_ any, u *uop.UOp) *uop.UOp {
	if u.Src[0].Device() != u.Device() {
		return nil
	}
	return u.Graph().New(uop.Noop, u.DType, u.Src[:1:1], nil, u.Tag)
}

// noteContiguous records that a permuted or reshaped view of a node exists as a contiguous copy.
func noteContiguous(ctx any, u *uop.UOp) *uop.UOp {
	src := u.Src[0]
	if len(u.Src) != 1 || !uop.GroupMovement.Has(src.Op) {
		return nil
	}
	base, view := src.Base(), u
	for x := src; x != base; x = x.Src[0] {
		switch x.Op {
		case uop.Permute:
			view = view.Permute(inverse(x.Arg.(uop.Nums)))
		case uop.Reshape:
			view = view.Reshape(x.Src[0].Shape())
		default:
			return nil
		}
	}
	ctx.(*earlyContext).views[base] = view
	return nil
}

func useContiguous(ctx any, u *uop.UOp) *uop.UOp {
	views := ctx.(*earlyContext).views
	if len(views) == 0 {
		return nil
	}
	src := slices.Clone(u.Src)
	for i, s := range src {
		if v, ok := views[s]; ok {
			src[i] = v
		}
	}
	return u.With(src...)
}

func inverse(order []int) []int {
	out := make([]int, len(order))
	for i, p := range order {
		out[p] = i
	}
	return out
}
