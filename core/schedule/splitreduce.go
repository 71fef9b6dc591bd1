package schedule

import (
	"polygrad/core/ranges"
	"polygrad/core/uop"
)

// A reduction to few values of at least splitRatio inputs each is done in two kernels, for parallelism. The first one makes at most
// splitOutputs values.
const (
	splitRatio   = 32768
	splitOutputs = 1 << 22
	splitMax     = 256
	splitMin     = 8
	// splitRun is how many neighbours each part has at least, if some divisor leaves that.
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
	if rows := ctx.(*early).rows; rows > 0 && out >= rows {
		return nil
	}
	arg := u.Arg.(uop.AxisReduce)
	axis, d := -1, int64(0)
	if ctx.(*early).rows > 0 { // neighbours in memory stay together
		axis, d = splitCandidate(x, in, arg.Axes, min(splitMax, splitOutputs/out), splitRun)
	}
	if axis < 0 {
		axis, d = splitCandidate(x, in, arg.Axes, min(splitMax, splitOutputs/out), 1)
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

// splitCandidate is the first axis that is not expanded, with its greatest divisor within limits that leaves so many elements of the last
// axis; axis is -1 if there is none.
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
