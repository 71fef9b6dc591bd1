package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// sinkPermutes moves permutes below functions and reductions: these are computed on the base of the permuted view, and the result is
// permuted. Intermediates then have the memory layout of their operands, so that neither loads nor stores are strided, and
// inverse permutes cancel.
func sinkPermutes(root *uop.UOp) *uop.UOp {
	root = sinkMerges(root)
	order := root.Toposort()
	if !slices.ContainsFunc(order, func(u *uop.UOp) bool { return permutationOf(u) != nil }) {
		return root
	}
	t, k, users := newImages(), contiguousAxes{}, map[*uop.UOp]int{}
	for _, u := range order {
		for _, s := range u.Src {
			users[s]++
		}
	}
	for _, u := range order {
		v := rebuilt(u, t)
		if p := permutationOf(v); p != nil && users[u.Src[0]] == 1 && uop.GroupElementwise.Has(v.Src[0].Op) && k.next(v.Src[0]) == anyAxis {
			v = k.inOrderAll(v.Src[0], p) // an outer product has no order
		}
		t.set(u, k.sinkPermute(v))
	}
	out := t.get(root)
	t.reset()
	return out
}

// contiguousAxes has for values the axis along which they are contiguous in memory.
type contiguousAxes map[*uop.UOp]int

const (
	unknown = -1
	anyAxis = -2 // constants, broadcast vectors, and functions of them, such as masks
)

// permutationOf returns the permutation of a view whose last axis is not that of its base, nil for other views.
func permutationOf(u *uop.UOp) []int {
	if u.Op != uop.Permute {
		return nil
	}
	if order := u.Arg.(uop.Nums); len(order) > 0 && order[len(order)-1] != len(order)-1 {
		return order
	}
	return nil
}

// permutationOf returns the permutation of a view that should move to the result: one that moves the last axis of its base, if this axis has
// stride 1 in memory, or any whose base is closer to the order of memory: fewer elements lie behind the axis of stride 1. The view may be
// broadcast, as a mean of rows is.
func (k contiguousAxes) permutationOf(u *uop.UOp) []int {
	view := u
	if u.Op == uop.Expand {
		view = u.Src[0]
	}
	if view.Op != uop.Permute {
		return nil
	}
	order, next := []int(view.Arg.(uop.Nums)), k.next(view.Src[0])
	base := reordered(u.Shape(), inverse(order))
	if next >= 0 && (next == lastLong(base) && permutationOf(view) != nil || behind(base, next) < behind(u.Shape(), k.next(view))) {
		return order
	}
	return nil
}

// behind is the product of the sizes of the axes behind one.
func behind(shape uop.Shape, axis int) int64 { return uop.Shape(shape[axis+1:]).MaxNumel() }

// next returns the axis of a value along which memory is contiguous: the last axis of a value that may be stored.
func (k contiguousAxes) next(u *uop.UOp) int {
	axis, ok := k[u]
	if !ok {
		axis = k.findNext(u)
		k[u] = axis
	}
	return axis
}

func (k contiguousAxes) findNext(u *uop.UOp) int {
	switch {
	case repeated(u):
		return anyAxis
	case u.Op == uop.Permute:
		if axis := k.next(u.Src[0]); axis >= 0 {
			return slices.Index(u.Arg.(uop.Nums), axis)
		}
		return k.next(u.Src[0])
	case u.Op == uop.Reshape && longAxes(u.Src[0].Shape()) < 2: // a buffer
	case u.Op == uop.Reshape:
		return reshapedAxis(u.Src[0].Shape(), u.Shape(), k.next(u.Src[0]))
	case uop.GroupMovement.Has(u.Op):
		return k.next(u.Src[0])
	case u.Op == uop.ReduceAxis:
		if axis := k.next(u.Src[0]); axis >= 0 && !u.Shape()[axis].IsNum(1) {
			return axis
		}
	case uop.GroupElementwise.Has(u.Op):
		switch axes := k.sourceAxes(u); len(axes) {
		case 0:
			return anyAxis
		case 1:
			return axes[0]
		}
	}
	return lastLong(u.Shape())
}

// sourceAxes returns the distinct contiguous axes of the sources of a function.
func (k contiguousAxes) sourceAxes(u *uop.UOp) []int {
	var axes []int
	for _, s := range u.Src {
		if axis := k.next(s); len(s.Shape()) == len(u.Shape()) && axis != anyAxis && !slices.Contains(axes, axis) {
			axes = append(axes, axis)
		}
	}
	return axes
}

// lastLong is the last axis of more than one element, 0 if there is none.
func lastLong(shape uop.Shape) int {
	for i, s := range slices.Backward(shape) {
		if !s.IsNum(1) {
			return i
		}
	}
	return 0
}

// reshapedAxis returns the axis of the result that an axis of a reshape becomes: the last one, if it is split or merged.
func reshapedAxis(from, to uop.Shape, axis int) int {
	if axis < 0 {
		return axis
	}
	after := uop.N(1)
	for _, s := range from[axis+1:] {
		after = after.Mul(s)
	}
	n := uop.N(1)
	for i, s := range slices.Backward(to) {
		if n == after && !s.IsNum(1) {
			return i
		}
		n = n.Mul(s)
	}
	return unknown
}

// sinkPermute moves the permutation of the operand of u to its result; it returns u if the operand is not a permuted view.
func (k contiguousAxes) sinkPermute(u *uop.UOp) *uop.UOp {
	switch {
	case uop.GroupElementwise.Has(u.Op):
		return k.sunkElementwise(u)
	case u.Op == uop.ReduceAxis || u.Op == uop.Permute || u.Op == uop.Reshape || u.Op == uop.Pad || u.Op == uop.Shrink || u.Op == uop.Flip || u.Op == uop.Expand:
	default:
		return u
	}
	if u.Op == uop.ReduceAxis {
		if moved := k.reducedInMemoryOrder(u); moved != u {
			return moved
		}
	}
	order := k.permutationOf(u.Src[0])
	if order == nil {
		return u
	}
	back := inverse(order)
	x := k.inOrder(u.Src[0], back)
	switch u.Op {
	case uop.Permute:
		return k.inOrder(u.Src[0], u.Arg.(uop.Nums))
	case uop.Reshape:
		if order[len(order)-1] != len(order)-1 {
			x, order = regrouped(x, order, u.Shape())
		} else {
			x, order = withoutOnes(x, order, u.Shape())
		}
		if x == nil {
			return u
		}
	case uop.ReduceAxis:
		a := u.Arg.(uop.AxisReduce)
		axes := make([]int, len(a.Axes))
		for i, axis := range a.Axes {
			axes[i] = order[axis]
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
	return k.inOrder(x, order)
}

// withoutOnes applies a reshape that drops the axes of one element of a permuted value to the value itself, and returns the result and the
// permutation of the other axes; nil for other reshapes.
func withoutOnes(x *uop.UOp, order []int, to uop.Shape) (*uop.UOp, []int) {
	var from, left []int
	var shape uop.Shape
	for axis, n := range x.Shape() {
		if !n.IsNum(1) {
			from, shape = append(from, axis), append(shape, n)
		}
	}
	for _, axis := range order {
		if i := slices.Index(from, axis); i >= 0 {
			left = append(left, i)
		}
	}
	if !to.Equal(reordered(shape, left)) {
		return nil, nil
	}
	return x.Reshape(shape), left
}

// regrouped applies a reshape of a permuted value, which splits axes or merges axes that follow each other in memory, to the value itself, and
// returns the result and its permutation; nil for other reshapes, and for those that only add or drop axes of one element.
func regrouped(x *uop.UOp, order []int, shape uop.Shape) (*uop.UOp, []int) {
	memory, known := x.Shape().Ints()
	to, alike := shape.Ints()
	if !known || !alike || slices.Contains(memory, 0) {
		return nil, nil
	}
	isOne := func(axis int) bool { return memory[axis] == 1 }
	from := slices.DeleteFunc(slices.Clone(order), isOne)
	becomes, changed := make([][]int, len(memory)), false // of each axis of x: axes of the result
	for i, j := 0, 0; i < len(from); {
		first, last, begin := from[i], from[i], j
		n, m := memory[first], int64(1)
		for i++; m < n || i == len(from) && j < len(to); j++ {
			if m *= to[j]; m <= n {
				continue
			}
			if m != to[j] { // several axes become several
				return nil, nil
			}
			for ; n < m && i < len(from); i++ {
				for last++; last < len(memory) && isOne(last); last++ {
				}
				if from[i] != last {
					return nil, nil
				}
				n *= memory[last]
			}
			if n != m {
				return nil, nil
			}
		}
		for axis := begin; axis < j; axis++ {
			becomes[first] = append(becomes[first], axis)
			changed = changed || to[axis] > 1 && to[axis] != memory[first]
		}
	}
	if !changed {
		return nil, nil
	}
	axes := slices.Concat(becomes...)
	return x.Reshape(reordered(shape, axes)), inverse(axes)
}

// reducedInMemoryOrder returns u as a permute of a reduction whose last axis is the contiguous axis of its source, as for windows of a
// permuted view; u itself if there is no such form.
func (k contiguousAxes) reducedInMemoryOrder(u *uop.UOp) *uop.UOp {
	x, next := u.Src[0], k.next(u.Src[0])
	if permutationOf(x) != nil || next < 0 || next >= lastLong(u.Shape()) || u.Shape()[next].IsNum(1) {
		return u
	}
	var order []int
	for i := range x.Shape() {
		if i != next {
			order = append(order, i)
		}
	}
	order = append(order, next)
	a, back := u.Arg.(uop.AxisReduce), inverse(order)
	axes := make([]int, len(a.Axes))
	for i, axis := range a.Axes {
		axes[i] = back[axis]
	}
	slices.Sort(axes)
	return k.inOrder(k.inOrder(x, order).ReduceAxes(a.Op, axes...), back)
}

// sunkElementwise moves the common permutation of the operands of a function to its result. Vectors and constants fit any permutation.
func (k contiguousAxes) sunkElementwise(u *uop.UOp) *uop.UOp {
	var order []int
	for _, s := range u.Src {
		switch p := k.permutationOf(s); {
		case p != nil && (order == nil || slices.Equal(p, order)):
			order = p
		case k.next(s) != anyAxis:
			return u
		}
	}
	if order == nil || len(u.Src[0].Shape()) != len(order) {
		return u
	}
	return k.inOrderAll(u, inverse(order)).Permute(order)
}

// inOrderAll returns a function with the axes of its operands permuted.
func (k contiguousAxes) inOrderAll(u *uop.UOp, order []int) *uop.UOp {
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = k.inOrder(s, order)
	}
	return u.With(src...)
}

// repeated reports whether a value is a constant or a vector that is repeated along all other axes, perhaps cast.
func repeated(u *uop.UOp) bool {
	for len(u.Src) == 1 && uop.GroupElementwise.Has(u.Op) {
		u = u.Src[0]
	}
	if u.Op == uop.Expand {
		u = u.Src[0]
	}
	return longAxes(u.Shape()) < 2
}

// longAxes is the number of axes of more than one element.
func longAxes(shape uop.Shape) int {
	n := 0
	for _, s := range shape {
		if !s.IsNum(1) {
			n++
		}
	}
	return n
}

// inOrder returns a value with its axes permuted, without stacking views.
func (k contiguousAxes) inOrder(u *uop.UOp, order []int) *uop.UOp {
	switch u.Op {
	case uop.Permute:
		return k.inOrder(u.Src[0], reordered(u.Arg.(uop.Nums), order))
	case uop.Expand:
		return k.inOrder(u.Src[0], order).Expand(reordered(u.Shape(), order))
	}
	if uop.GroupElementwise.Has(u.Op) && k.next(u) == anyAxis {
		return k.inOrderAll(u, order)
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

// reordered returns the elements of a list at the given indices.
func reordered[S ~[]E, E any](list S, order []int) S {
	out := make(S, len(order))
	for i, axis := range order {
		out[i] = list[axis]
	}
	return out
}

// storeScattered materialises the source of a scatter of rows if it is contiguous along another axis than the target, and rows that are read
// from an offset: contiguous rows are scattered in vectors, others element by element.
func storeScattered(root *uop.UOp) *uop.UOp {
	k, stored := contiguousAxes{}, map[*uop.UOp]bool{}
	for _, u := range root.Toposort() {
		if u.Op != uop.Scatter {
			continue
		}
		x, axis := u.Src[1].Src[1], lastLong(u.Shape())
		if next := k.next(x); next >= 0 && next != axis && axis != u.Arg.(uop.ScatterArg).Axis && x.Shape()[axis] == u.Shape()[axis] && x.Op != uop.Contiguous {
			stored[x] = true
			continue
		}
		for _, s := range boundedSubgraph(x) {
			if isRolled(s) && axis != u.Arg.(uop.ScatterArg).Axis && len(s.Shape()) == len(u.Shape()) && !s.MovementPairs()[axis].Lo.IsNum(0) {
				stored[s] = true
			}
		}
	}
	return Stored(root, stored)
}

// inverse returns the inverse permutation.
func inverse(order []int) []int {
	out := make([]int, len(order))
	for i, axis := range order {
		out[axis] = i
	}
	return out
}
