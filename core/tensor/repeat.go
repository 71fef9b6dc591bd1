package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// loopBody is the body of a loop in the making: statements on buffers.
type loopBody struct {
	of         loop
	statements []*uop.UOp
}

// do adds a statement: writes in order. A write sees the new elements of the writes before it, but sums are those of the old elements.
func (b *loopBody) do(writes ...*uop.UOp) {
	for i, w := range writes {
		writes[i] = b.of.stored(w.Src[0]).AssignTo(b.of.stored(w.Src[1]))
	}
	b.statements = append(b.statements, writes[0].Graph().Sink(nil, writes...))
}

// loop says how statements are repeated: how often, with which variable, and whether matrices of a batch, the first axis of all states, are
// interleaved in memory, so that they are the lanes of vectors. Nested loops have different variables.
type loop struct {
	variable string
	count    int64
	lanes    bool
	halved   bool // a block has half as many matrices
}

// inLanes reports whether loops over matrices x (s, m, n) compute one matrix in each lane of vectors.
func inLanes(x *uop.UOp) bool {
	stack, m, n := sizes(x)
	return stack >= manyLanes && max(m, n) <= maxLanes
}

// run runs the statements of a body on states, and on tensors that it only reads. The body gets the variable that counts, the states
// and the tensors; it writes to views of states by AssignTo. The results are the states after that.
func (l loop) run(states, read []*uop.UOp, body func(b *loopBody, i uop.Sint, states, read []*uop.UOp)) []*uop.UOp {
	return l.runWhile(0, states, read, body)
}

// runWhile is run as long as the bool state number while, counted from 1, is true; 0 is no condition.
func (l loop) runWhile(while int, states, read []*uop.UOp, body func(b *loopBody, i uop.Sint, states, read []*uop.UOp)) []*uop.UOp {
	if l.count == 0 {
		return states
	}
	g := states[0].Graph()
	inside := make([]*uop.UOp, 0, len(states)+len(read))
	outside := make([]*uop.UOp, 0, len(states)+len(read))
	for k, s := range slices.Concat(states, read) {
		stored := l.stored(s)
		outside = append(outside, stored)
		inside = append(inside, l.seen(paramLike(stored, k), s.Shape()))
	}
	i := uop.N(0)
	if l.count > 1 {
		i = uop.S(g.Variable(l.variable, uop.Int(0), uop.Int(l.count-1), uop.IndexT))
	}
	b := loopBody{of: l}
	n := len(states)
	body(&b, i, inside[:n], inside[n:])
	a := uop.RepeatArg{Variable: l.variable, Count: l.count, States: n, While: while}
	results := g.RepeatOn(a, b.statements, outside[:n], outside[n:])
	for k, r := range results {
		results[k] = l.seen(r, states[k].Shape())
	}
	return results
}

// paramLike is the PARAM that stands for a tensor inside the body of a REPEAT.
func paramLike(s *uop.UOp, number int) *uop.UOp {
	g := s.Graph()
	size := g.ShapeArg(uop.ShapeOf(s.Size()))
	return g.New(uop.Param, s.DType, []*uop.UOp{size, g.DeviceOp(s.Device())}, uop.Num(number), nil).Reshape(s.Shape())
}

// repeatWhile runs a step on states as long as any element of the first one, a bool, is true. The step gets the states and tensors that it only
// reads, and returns the new states. Loops in one another have different variables.
func repeatWhile(variable string, states, read []*uop.UOp, step func(states, read []*uop.UOp) []*uop.UOp) []*uop.UOp {
	n, shape := len(states), states[0].Shape()
	if slices.ContainsFunc(shape, func(d uop.Sint) bool { return d.IsNum(0) }) {
		return states
	}
	anywhere := func(flags *uop.UOp) *uop.UOp {
		flat := reshape(flags, uop.ShapeOf(flags.Size()))
		return ne(cast(flat, uop.Int32).ReduceAxes(uop.Max, 0), 0)
	}
	states = append(states[:n:n], anywhere(states[0]))
	inside := make([]*uop.UOp, n+1+len(read))
	for k, s := range slices.Concat(states, read) {
		inside[k] = paramLike(s, k)
	}
	var writes []*uop.UOp
	for i, v := range step(inside[:n], inside[n+1:]) {
		if v != inside[i] {
			writes = append(writes, inside[i].AssignTo(v))
		}
	}
	g := states[0].Graph()
	statements := []*uop.UOp{g.Sink(nil, uop.ReadersFirst(writes)...), g.Sink(nil, inside[n].AssignTo(anywhere(inside[0])))}
	a := uop.RepeatArg{Variable: variable, Count: math.MaxInt32, States: n + 1, While: n + 1}
	return g.RepeatOn(a, statements, states, read)[:n]
}

// lanesOfBlock is the number of matrices of a batch that are interleaved element by element if it divides the size of the batch; else half of it, if
// that does.
const lanesOfBlock = 16

// blockBytes is how many bytes the states of a block may have, so that the kernels of a loop become one: the first cache holds them.
const blockBytes = 32 << 10

// blocks is the number of blocks of interleaved matrices in a state of a shape: 1 interleaves the whole batch.
func (l loop) blocks(s uop.Shape) int64 {
	for _, lanes := range []int64{lanesOfBlock, lanesOfBlock / 2} {
		if n := s[0].N; (lanes < lanesOfBlock || !l.halved) && n >= lanes && n%lanes == 0 {
			return n / lanes
		}
	}
	return 1
}

// stored is a state in the layout of memory: (batch/16, …, 16), (batch/8, …, 8) or (…, batch).
func (l loop) stored(x *uop.UOp) *uop.UOp {
	if !l.lanes {
		return x
	}
	s := x.Shape()
	n, blocks := len(s), l.blocks(s)
	if blocks == 1 {
		return permute(x, append(countTo(n)[1:], 0))
	}
	x = reshape(x, joinShapes(uop.ShapeOf(blocks, s[0].N/blocks), s[1:]))
	return permute(x, append(append([]int{0}, countTo(n + 1)[2:]...), 1))
}

// seen is the inverse of stored: the state of a shape.
func (l loop) seen(x *uop.UOp, s uop.Shape) *uop.UOp {
	if !l.lanes {
		return x
	}
	n := len(s)
	if l.blocks(s) == 1 {
		return permute(x, append([]int{n - 1}, countTo(n-1)...))
	}
	return reshape(permute(x, append([]int{0, n}, countTo(n)[1:]...)), s)
}

// sizeLike is a size as a tensor of integers.
func sizeLike(x *uop.UOp, s uop.Sint) operand {
	if s.Symbolic() {
		return sizeTensor(x, s.U)
	}
	return int(s.N)
}

// block is the part of an axis from start on.
func block(x *uop.UOp, axis int, start uop.Sint, size int64) *uop.UOp {
	return shrinkAxis(x, axis, start, start.Add(uop.N(size)))
}

// zeros is full for initial states: equal ones are one node.
func zeros(x *uop.UOp, dt *uop.DType, sizes ...int64) *uop.UOp {
	s := uop.ShapeOf(sizes...)
	return constant(x, dt, uop.Int(0)).Reshape(onesShape(len(s))).Expand(s)
}

// sizeModulo is s modulo n for s >= 0.
func sizeModulo(s uop.Sint, n int64) uop.Sint { return s.Sub(s.Div(uop.N(n)).Mul(uop.N(n))) }
