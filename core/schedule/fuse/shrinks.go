package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// shrinkReductions moves a shrink of a reduction's result to its operand: the gradient of a running sum is a slice of a sum over windows,
// most of which would be stored and never read.
func shrinkReductions(root *uop.UOp) *uop.UOp {
	order := root.Toposort()
	if !root.HasOp(uop.Ops(uop.ReduceAxis)) || !slices.ContainsFunc(order, func(u *uop.UOp) bool { return u.Op == uop.Shrink }) {
		return root
	}
	users := make(map[*uop.UOp]int, len(order))
	for _, u := range order {
		for _, s := range u.Src {
			users[s]++
		}
	}
	t := newImages()
	for _, u := range order {
		to := rebuilt(u, t)
		if u.Op == uop.Shrink && users[u.Src[0]] == 1 {
			if v := shrinkOf(u.Src[0], to.Src[0], u.MovementPairs(), users); v != nil {
				to = v.Reshape(u.Shape())
			}
		}
		t.set(u, to)
	}
	out := t.get(root)
	t.reset()
	return out
}

// shrinkOf matches a shrink, perhaps reshaped by axes of size 1, that is the only use of a reduction; nil for other values. u is the value
// with its old operands, v with its new ones.
func shrinkOf(u, v *uop.UOp, bounds []uop.Pair, users map[*uop.UOp]int) *uop.UOp {
	switch {
	case users[u] != 1 || u.Op != v.Op:
		return nil
	case u.Op == uop.Reshape:
		shape, inner := u.Shape(), u.Src[0].Shape()
		var kept []uop.Pair
		var sizes uop.Shape
		for i, s := range shape {
			if s.IsNum(1) {
				if bounds[i] != (uop.Pair{Lo: uop.N(0), Hi: s}) {
					return nil // no element of it is used
				}
			} else {
				kept = append(kept, bounds[i])
				sizes = append(sizes, s)
			}
		}
		var all []uop.Pair
		for _, s := range inner {
			switch {
			case s.IsNum(1):
				all = append(all, uop.Pair{Lo: uop.N(0), Hi: s})
			case len(sizes) == 0 || s != sizes[0]:
				return nil
			default:
				all = append(all, kept[0])
				kept, sizes = kept[1:], sizes[1:]
			}
		}
		if len(kept) > 0 {
			return nil
		}
		return shrinkOf(u.Src[0], v.Src[0], all, users)
	case u.Op == uop.ReduceAxis:
		a := u.Arg.(uop.AxisReduce)
		in := slices.Clone(bounds)
		for _, axis := range a.Axes {
			if bounds[axis] != (uop.Pair{Lo: uop.N(0), Hi: uop.N(1)}) {
				return nil // no element of it is used
			}
			in[axis] = uop.Pair{Lo: uop.N(0), Hi: u.Src[0].Shape()[axis]}
		}
		return v.Src[0].Shrink(in).ReduceAxes(a.Op, a.Axes...)
	}
	return nil
}
