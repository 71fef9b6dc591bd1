package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// dropCasts removes casts to a larger type and back around views: narrow types are repeated in the type in which their gradients are added
// up, and a cast below a repetition would be stored for all that repeat it, as the table that a look-up takes a few rows of.
func dropCasts(root *uop.UOp) *uop.UOp {
	list := root.Toposort()
	if !slices.ContainsFunc(list, func(u *uop.UOp) bool { return uncast(u) != u }) {
		return root
	}
	t := newImages()
	for _, u := range list {
		t.set(u, uncast(rebuilt(u, t)))
	}
	out := t.get(root)
	t.free()
	return out
}

// uncast is the view of what a CAST gives back its type, or the node itself.
func uncast(u *uop.UOp) *uop.UOp {
	if u.Op != uop.Cast {
		return u
	}
	var views []*uop.UOp
	x := u.Src[0]
	for ; uop.GroupMovement.Has(x.Op); x = x.Src[0] {
		views = append(views, x)
	}
	if x.Op != uop.Cast || x.Src[0].DType != u.DType || !uop.CanLosslessCast(u.DType, x.DType) {
		return u
	}
	x = x.Src[0]
	for _, v := range slices.Backward(views) {
		src := slices.Clone(v.Src)
		src[0] = x
		x = u.Graph().New(v.Op, u.DType, src, v.Arg, v.Tag)
	}
	return x
}
