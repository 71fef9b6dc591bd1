package schedule

import (
	"slices"

	"polygrad/core/ranges"
	"polygrad/core/uop"
)

// A reduction to few values of at least splitRatio inputs each is done in two kernels, for parallelism. The first one makes at most
// splitOutputs values. On a device that n rows keep busy (WithRows) each value has at most splitParts * n parts.
const (
	splitRatio   = 32768
	splitOutputs = 1 << 22
	splitMax     = 256
	splitMin     = 8
	splitParts   = 4
	// splitRun is the least number of contiguous elements of a part, if some divisor allows it.
	splitRun = 64
)

// splitReduce splits the first reduced axis that allows it in two, moves one of them to the end for locality in the second kernel,
// and reduces first without and then over it.
func splitReduce(ctx any, u *uop.UOp) *uop.UOp {
	x := u.Src[0]
	in, ok := x.Shape().Ints()
	out := u.Shape().MaxNumel()
	if !ok || out == 0 || x.Shape().MaxNumel()/out < splitRatio {
		return nil
	}
	rows, most := ctx.(*earlyContext).rows, min(splitMax, splitOutputs/out)
	if rows > 0 && out >= rows {
		return nil
	}
	arg := u.Arg.(uop.AxisReduce)
	axis, d := -1, int64(0)
	if rows > 0 { // parts are contiguous
		most = min(most, splitParts*rows)
		x, arg.Axes = splitMergedAxes(x, arg.Axes)
		in, _ = x.Shape().Ints()
		axis, d = splitCandidate(x, in, arg.Axes, most, splitRun)
		if d < splitRun { // as for 50257 rows of 768: 29 parts of the rows, 12 of each row
			if flat, over := flattened(x, arg.Axes); flat != nil {
				n, _ := flat.Shape().Ints()
				if a, parts := splitCandidate(flat, n, over, most, splitRun); parts > d {
					x, in, arg.Axes, axis, d = flat, n, over, a, parts
				}
			}
		}
	}
	if axis < 0 {
		axis, d = splitCandidate(x, in, arg.Axes, most, 1)
	}
	if axis < 0 {
		return nil
	}
	shape := append(uop.Shape(nil), x.Shape()[:axis]...)
	shape = append(append(shape, uop.N(d), uop.N(in[axis]/d)), x.Shape()[axis+1:]...)
	order := make([]int, 0, len(shape))
	for i := range shape {
		if i != axis {
			order = append(order, i)
		}
	}
	split := x.Reshape(shape).Permute(append(order, axis))
	first := split.ReduceAxes(arg.Op, arg.Axes...).ContiguousOp()
	return first.ReduceAxes(arg.Op, len(in)).Reshape(u.Shape()).WithTag(u.Tag)
}

// splitMergedAxes undoes a reshape that merged axes before a reduction, so that splitting them needs no division of indices.
func splitMergedAxes(x *uop.UOp, axes []int) (*uop.UOp, []int) {
	var shape uop.Shape
	var over []int
	for i, n := range x.Shape() {
		parts := uop.Shape{n}
		if slices.Contains(axes, i) {
			if p := axesOf(x, i); p != nil {
				parts = p
			}
			for k := range parts {
				over = append(over, len(shape)+k)
			}
		}
		shape = append(shape, parts...)
	}
	if len(shape) == len(x.Shape()) {
		return x, axes
	}
	return x.Reshape(shape), over
}

// flattened merges the last axes of a value, those that are reduced, into one, if the value is read in the order of memory; else nil.
func flattened(x *uop.UOp, axes []int) (*uop.UOp, []int) {
	first := len(x.Shape()) - len(axes)
	if len(axes) < 2 || slices.Min(axes) != first || !readInOrder(x) {
		return nil, nil
	}
	shape := slices.Clone(x.Shape()[:first])
	return x.Reshape(append(shape, uop.N(x.Shape()[first:].MaxNumel()))), []int{first}
}

// readInOrder reports whether a value is an elementwise function of operands that are contiguous in memory, and of constants.
func readInOrder(x *uop.UOp) bool {
	seen := map[*uop.UOp]bool{}
	var visit func(u *uop.UOp) bool
	visit = func(u *uop.UOp) bool {
		if !uop.GroupElementwise.Has(u.Op) {
			return isNumber(u) || inMemoryOrder(u)
		}
		if seen[u] {
			return true
		}
		seen[u] = true
		return !slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return !visit(s) })
	}
	return visit(x)
}

// isNumber reports whether all elements of a value are one number.
func isNumber(u *uop.UOp) bool {
	for u.Op == uop.Reshape || u.Op == uop.Expand {
		u = u.Src[0]
	}
	return u.Op == uop.ConstOp
}

// axesOf are the sizes of the axes of a computed value that a reshape merged into one axis of x, nil if there are none.
func axesOf(x *uop.UOp, axis int) uop.Shape {
	switch {
	case x.Op == uop.Reshape:
		from, to := x.Src[0].Shape(), x.Shape()
		if inMemoryOrder(x) {
			return nil
		}
		before, after := to[:axis].MaxNumel(), to[axis+1:].MaxNumel()
		first, last := 0, len(from)
		for first < last && from[:first].MaxNumel() < before {
			first++
		}
		for first < last && from[last:].MaxNumel() < after {
			last--
		}
		if last-first < 2 || from[:first].MaxNumel() != before || from[last:].MaxNumel() != after {
			return nil
		}
		return from[first:last]
	case uop.GroupElementwise.Has(x.Op):
		for _, s := range x.Src {
			if len(s.Shape()) != len(x.Shape()) {
				continue
			}
			if parts := axesOf(s, axis); parts != nil {
				return parts
			}
		}
	}
	return nil
}

// inMemoryOrder reports whether a value is contiguous in memory in row-major order.
func inMemoryOrder(u *uop.UOp) bool {
	for u.Op == uop.Reshape {
		u = u.Src[0]
	}
	return alwaysContiguous.Has(u.Op)
}

// splitCandidate is the first axis that is not expanded, with its greatest divisor d from splitMin to most; parts of the last axis have at least
// run elements. axis is -1 if there is none.
func splitCandidate(x *uop.UOp, in []int64, axes []int, most, run int64) (axis int, d int64) {
	var expanded []bool
	for _, a := range axes {
		for d := most; d >= splitMin; d-- {
			if in[a]%d != 0 || a == len(in)-1 && in[a]/d < run {
				continue
			}
			if expanded == nil {
				expanded = expandedAxes(x, in)
			}
			if expanded[a] {
				break
			}
			return a, d
		}
	}
	return -1, 0
}

// expandedAxes reports for each axis of x whether its index is dropped on the way to the base of x.
func expandedAxes(x *uop.UOp, in []int64) []bool {
	g := x.Graph()
	rngs := make([]*uop.UOp, len(in))
	for i, s := range in {
		rngs[i] = g.ConstInt(0)
		if s > 1 {
			rngs[i] = g.Range(uop.N(s), uop.AxisLoop, i)
		}
	}
	for u := x; uop.GroupMovement.Has(u.Op); u = u.Src[0] {
		rngs = ranges.ApplyMovement(u, rngs)
	}
	out := make([]bool, len(in))
	for i := range out {
		out[i] = true
	}
	for _, r := range g.Sink(nil, rngs...).Ranges() {
		out[r.RangeID().ID[0]] = false
	}
	return out
}
