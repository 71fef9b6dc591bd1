package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// sinkTurns computes functions and reductions of a view whose axes are in another order on what it is a view of, and makes the view of
// the result: what is stored in between lies like what it is computed of, so that neither loads nor stores jump through memory, and
// views that undo one another vanish.
func sinkTurns(root *uop.UOp) *uop.UOp {
	order := root.Toposort()
	if !slices.ContainsFunc(order, func(u *uop.UOp) bool { return turnOf(u) != nil }) {
		return root
	}
	t := newImages()
	for _, u := range order {
		t.set(u, sunk(rebuilt(u, t)))
	}
	out := t.get(root)
	freeImages.Put(t)
	return out
}

// turnOf is the order of the axes of a view if its last axis is another one of what it is a view of, and else nil.
func turnOf(u *uop.UOp) []int {
	if u.Op != uop.Permute {
		return nil
	}
	if order := u.Arg.(uop.Nums); len(order) > 0 && order[len(order)-1] != len(order)-1 {
		return order
	}
	return nil
}

// sunk is a view of what u is computed of, u itself if it is of none.
func sunk(u *uop.UOp) *uop.UOp {
	switch {
	case uop.GroupElementwise.Has(u.Op):
		return sunkElementwise(u)
	case u.Op == uop.ReduceAxis || u.Op == uop.Permute || u.Op == uop.Pad || u.Op == uop.Shrink || u.Op == uop.Flip || u.Op == uop.Expand:
	default:
		return u
	}
	turn := turnOf(u.Src[0])
	if turn == nil {
		return u
	}
	back, x := inverse(turn), u.Src[0].Src[0]
	switch u.Op {
	case uop.Permute:
		return inOrder(u.Src[0], u.Arg.(uop.Nums))
	case uop.ReduceAxis:
		a := u.Arg.(uop.AxisReduce)
		axes := make([]int, len(a.Axes))
		for i, axis := range a.Axes {
			axes[i] = turn[axis]
		}
		slices.Sort(axes)
		x = x.ReduceAxes(a.Op, axes...)
	case uop.Pad:
		x = x.Pad(reordered(u.MovementPairs(), back))
	case uop.Shrink:
		x = x.Shrink(reordered(u.MovementPairs(), back))
	case uop.Flip:
		x = x.Flip(reordered(u.Arg.(uop.Flags), back))
	case uop.Expand:
		x = x.Expand(reordered(u.Shape(), back))
	}
	return inOrder(x, turn)
}

// sunkElementwise is a view of a function of what its arguments are all views of, in one order. Vectors and constants have any order.
func sunkElementwise(u *uop.UOp) *uop.UOp {
	var turn []int
	for _, s := range u.Src {
		switch order := turnOf(s); {
		case order != nil && (turn == nil || slices.Equal(order, turn)):
			turn = order
		case !repeated(s):
			return u
		}
	}
	if turn == nil || len(u.Src[0].Shape()) != len(turn) {
		return u
	}
	back := inverse(turn)
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = inOrder(s, back)
	}
	return inOrder(u.With(src...), turn)
}

// repeated reports whether a value is a constant or a vector that is repeated along all other axes.
func repeated(u *uop.UOp) bool {
	if u.Op == uop.Expand {
		u = u.Src[0]
	}
	long := 0
	for _, s := range u.Shape() {
		if !s.IsNum(1) {
			long++
		}
	}
	return long <= 1
}

// inOrder is a value with its axes in another order, without a view of a view.
func inOrder(u *uop.UOp, order []int) *uop.UOp {
	switch u.Op {
	case uop.Permute:
		return inOrder(u.Src[0], reordered(u.Arg.(uop.Nums), order))
	case uop.Expand:
		return inOrder(u.Src[0], order).Expand(reordered(u.Shape(), order))
	}
	last := -1
	for _, axis := range order {
		if u.Shape()[axis].IsNum(1) {
			continue
		}
		if axis < last {
			return u.Permute(order)
		}
		last = axis
	}
	return u.Reshape(reordered(u.Shape(), order))
}

// reordered takes from a list the elements at the given places.
func reordered[S ~[]E, E any](list S, order []int) S {
	out := make(S, len(order))
	for i, axis := range order {
		out[i] = list[axis]
	}
	return out
}

// inverse is the order that undoes another one.
func inverse(order []int) []int {
	out := make([]int, len(order))
	for i, axis := range order {
		out[axis] = i
	}
	return out
}
