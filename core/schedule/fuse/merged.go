package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// sinkMerges moves reshapes that merge the first two axes behind functions and reductions: the first axis counts blocks, the second one is
// contiguous in memory within a block (matrices of a batch, in loops). Functions and reductions are then computed with two axes, in the order
// of memory, and indices have no quotients.
func sinkMerges(root *uop.UOp) *uop.UOp {
	order := root.Toposort()
	if !slices.ContainsFunc(order, func(u *uop.UOp) bool { return u.Op == uop.Reshape && mergesLanes(u.Src[0], u.Shape()) }) {
		return root
	}
	m := merges{to: newImages(), split: map[*uop.UOp]*uop.UOp{}}
	for _, u := range order {
		v := rebuilt(u, m.to)
		if s := m.splitOf(u, v); s != nil {
			m.split[u] = s
			v = s.Reshape(u.Shape())
		} else if u.Op == uop.Reshape && m.split[u.Src[0]] != nil {
			v = m.split[u.Src[0]].Reshape(u.Shape())
		}
		m.to.set(u, v)
	}
	out := m.to.get(root)
	m.to.reset()
	return out
}

// mergesLanes reports whether a reshape merges the first two axes of a permuted view, the second of which is the last axis of its base.
func mergesLanes(x *uop.UOp, to uop.Shape) bool {
	if x.Op != uop.Permute || len(to) == 0 || len(x.Shape()) < 3 {
		return false
	}
	s, order := x.Shape(), x.Arg.(uop.Nums)
	return order[1] == len(order)-1 && order[0] != len(order)-2 && s[0].U == nil && s[1].U == nil && s[0].N > 1 && s[1].N > 1 && to[0].IsNum(s[0].N*s[1].N)
}

// merges is the state of sinkMerges: to has the rewritten values, split those with two axes in place of a merged first axis.
type merges struct {
	to    *substitution
	split map[*uop.UOp]*uop.UOp
}

// splitOf is u with two axes in place of its first one, nil if its sources have no such form. v is u with its sources rewritten.
func (m merges) splitOf(u, v *uop.UOp) *uop.UOp {
	if len(u.Src) == 0 || len(u.Src[0].Shape()) == 0 {
		return nil
	}
	if uop.GroupElementwise.Has(u.Op) {
		return m.splitFunction(u)
	}
	x := m.split[u.Src[0]]
	if x == nil {
		if u.Op == uop.Reshape && mergesLanes(v.Src[0], u.Shape()) {
			x = v.Src[0]
			return x.Reshape(slices.Concat(x.Shape()[:2], u.Shape()[1:]))
		}
		return nil
	}
	whole, first := u.Shape(), x.Shape()[:2]
	switch u.Op {
	case uop.Reshape:
		if len(whole) > 0 && whole[0] == u.Src[0].Shape()[0] {
			return x.Reshape(slices.Concat(first, whole[1:]))
		}
	case uop.ReduceAxis:
		a := u.Arg.(uop.AxisReduce)
		if axes := slices.Clone(a.Axes); !slices.Contains(axes, 0) {
			for i := range axes {
				axes[i]++
			}
			return x.ReduceAxes(a.Op, axes...)
		}
	case uop.Permute:
		if order := u.Arg.(uop.Nums); order[0] == 0 {
			to := []int{0}
			for _, axis := range order {
				to = append(to, axis+1)
			}
			return x.Permute(to)
		}
	case uop.Expand:
		return x.Expand(slices.Concat(first, whole[1:]))
	case uop.Flip:
		if flags := u.Arg.(uop.Flags); !flags[0] {
			return x.Flip(append([]bool{false}, flags...))
		}
	case uop.Pad:
		if p := u.MovementPairs(); p[0].Lo.IsNum(0) && p[0].Hi.IsNum(0) {
			return x.Pad(append([]uop.Pair{p[0]}, p...))
		}
	case uop.Shrink:
		if p := u.MovementPairs(); p[0].Lo.IsNum(0) && p[0].Hi == u.Src[0].Shape()[0] {
			return x.Shrink(append([]uop.Pair{{Lo: uop.N(0), Hi: first[0]}, {Lo: uop.N(0), Hi: first[1]}}, p[1:]...))
		}
	}
	return nil
}

// splitFunction is an elementwise function with two axes in place of its first one, nil if no operand has them.
func (m merges) splitFunction(u *uop.UOp) *uop.UOp {
	var first uop.Shape
	for _, s := range u.Src {
		if x := m.split[s]; x != nil {
			first = x.Shape()[:2]
			break
		}
	}
	if first == nil {
		return nil
	}
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		if x := m.split[s]; x != nil && x.Shape()[:2].Equal(first) {
			src[i] = x
			continue
		}
		if len(s.Shape()) != len(u.Shape()) {
			return nil
		}
		src[i] = splitFirst(m.to.get(s), first)
	}
	return u.With(src...)
}

// splitFirst is a value with two axes in place of the first one.
func splitFirst(u *uop.UOp, first uop.Shape) *uop.UOp {
	if u.Op == uop.Expand && u.Src[0].Shape()[0].IsNum(1) {
		rest := u.Src[0].Shape()[1:]
		x := u.Src[0].Reshape(slices.Concat(uop.ShapeOf(1, 1), rest))
		return x.Expand(slices.Concat(first, u.Shape()[1:]))
	}
	return u.Reshape(slices.Concat(first, u.Shape()[1:]))
}
