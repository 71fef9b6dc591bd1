package ranges

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// SyntacticSugar joins an INDEX of a pointer INDEX into one.
var SyntacticSugar = &rewrite.Table{Name: "syntactic sugar", Rules: []*rewrite.Rule{
	{Name: "index of index", Ops: uop.Ops(uop.Index), Need: uop.Ops(uop.Index), Fn: joinIndex}}}

func joinIndex(_ any, u *uop.UOp) *uop.UOp {
	inner := u.Src[0]
	if inner.Op != uop.Index || !inner.DType.IsPtr() || u.DType.IsPtr() {
		return nil
	}
	return u.With(join(inner.Src, u.Src[1:])...)
}

// MovementOps moves movement operations out of the way: into the indices of INDEX, and past AFTER and END.
var MovementOps = &rewrite.Table{Name: "movement ops", Rules: []*rewrite.Rule{
	{Name: "index of movement", Ops: uop.Ops(uop.Index), Fn: indexThroughMovement},
	{Name: "after of movement", Ops: uop.Ops(uop.After), Fn: afterThroughMovement},
	{Name: "end of movement", Ops: uop.Ops(uop.End), Fn: endThroughMovement},
}}

func indexThroughMovement(_ any, u *uop.UOp) *uop.UOp {
	m := u.Src[0]
	if !uop.GroupMovement.Has(m.Op) {
		return nil
	}
	return u.Graph().New(uop.Index, u.DType, join(m.Src[:1], ApplyMovement(m, u.Src[1:])), u.Arg, nil)
}

func afterThroughMovement(_ any, u *uop.UOp) *uop.UOp {
	m := u.Src[0]
	if !uop.GroupMovement.Has(m.Op) {
		return nil
	}
	g := u.Graph()
	after := g.New(uop.After, u.DType, join(m.Src[:1], u.Src[1:]), u.Arg, nil)
	return g.New(m.Op, m.DType, join([]*uop.UOp{after}, m.Src[1:]), m.Arg, u.Tag)
}

func endThroughMovement(_ any, u *uop.UOp) *uop.UOp {
	m := u.Src[0]
	if !uop.GroupMovement.Has(m.Op) {
		return nil
	}
	return u.With(join(m.Src[:1], u.Src[1:])...)
}

// FlattenRange lists the ranges that REDUCE, STORE and END close as plain RANGEs, in order of first appearance.
var FlattenRange = &rewrite.Table{Name: "flatten range", Rules: []*rewrite.Rule{
	{Name: "flatten range", Ops: uop.Ops(uop.Reduce, uop.Store, uop.End), Fn: flattenRange}}}

func flattenRange(_ any, u *uop.UOp) *uop.UOp {
	k := uop.RangeStart(u.Op)
	if len(u.Src) <= k || plainRanges(u.Src[k:]) {
		return nil
	}
	src := append([]*uop.UOp(nil), u.Src[:k]...)
	over := u.Graph().Sink(nil, u.Src[k:]...)
	own := over.OwnRanges()
	for _, x := range over.Toposort() {
		if x.Op == uop.Range && slices.Contains(own, x) {
			src = append(src, x)
		}
	}
	return u.With(src...)
}

// plainRanges reports whether the nodes are different RANGEs of constant size, so that nothing is left to flatten.
func plainRanges(rs []*uop.UOp) bool {
	for i, r := range rs {
		if r.Op != uop.Range || len(r.Src) != 1 || r.Src[0].Op != uop.ConstOp {
			return false
		}
		for _, o := range rs[:i] {
			if o == r {
				return false
			}
		}
	}
	return true
}

// join is a new slice with the nodes of a and b.
func join(a, b []*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, 0, len(a)+len(b))
	return append(append(out, a...), b...)
}
