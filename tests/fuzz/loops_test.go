package fuzz

import (
	"math/rand/v2"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	run "polygrad/exec"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
	"polygrad/tests/levels"
)

// Loops of a program (REPEAT) become kernels whose statements read what others of the same kernel write.

// TestLoopsAgree compares loops with random statements, and functions that are made of loops.
func TestLoopsAgree(t *testing.T) {
	devs := []*run.Executor{run.New(interp.New()), run.New(wasm.New())}
	for _, d := range levels.Native(t) {
		devs = append(devs, run.New(d))
	}
	checkAll(t, devs, loopPrograms, *seeds)
}

// loopPrograms makes the program of a seed.
func loopPrograms(g *uop.Graph, seed uint64) (*Program, error) {
	p := &Program{Seed: seed}
	gen := &generator{r: rand.New(rand.NewPCG(seed, 0x6c6f6f70)), g: g, p: p}
	kinds := []func() error{gen.loop, gen.loop, gen.loop, gen.sideBySide, gen.sideBySide, gen.decomposition, gen.recurrence}
	if err := kinds[gen.r.IntN(len(kinds))](); err != nil {
		return nil, err
	}
	return p, gen.outputs(p)
}

// statements are the body of a loop: states of n x m, 1 x m and n x 1, and a matrix that is only read.
type statements struct {
	gen          *generator
	i            uop.Sint
	n            int64
	states, read []*uop.UOp
	apart        bool // each row is a loop of its own
}

// loop adds the results of a loop over the rows of matrices.
func (gen *generator) loop() error {
	dt := []*uop.DType{uop.Float32, uop.Float64, uop.Int32}[gen.r.IntN(3)]
	n, m := gen.size(), gen.size()
	dims := [][]int64{{n, m}, {1, m}, {n, 1}, {n, m}}
	count := 1 + gen.r.IntN(3)
	var sources, inside []*uop.UOp
	for k := range count + 1 {
		d := dims[min(k, len(dims)-1)]
		if k == count {
			d = dims[0]
		}
		source, param, err := gen.argument(dt, k, d)
		if err != nil {
			return err
		}
		sources, inside = append(sources, source), append(inside, param)
	}
	b := statements{gen: gen, i: uop.N(0), n: n, states: inside[:count], read: inside}
	if n > 1 {
		b.i = uop.S(gen.g.Variable("row", uop.Int(0), uop.Int(n-1), uop.IndexT))
	}
	var body []*uop.UOp
	for range 1 + gen.r.IntN(4) {
		body = append(body, b.statement())
	}
	arg := uop.RepeatArg{Variable: "row", Count: n, States: count}
	for _, r := range gen.g.RepeatOn(arg, body, sources[:count], sources[count:]) {
		gen.items = append(gen.items, item{r, dt == uop.Int32, 0})
	}
	return nil
}

// argument is a tensor that a loop is called with as argument number k, and what stands for it in the loop.
func (gen *generator) argument(dt *uop.DType, k int, d []int64) (source, param *uop.UOp, err error) {
	it, err := gen.fresh(dt, d...)
	if err != nil {
		return nil, nil, err
	}
	s := uop.ShapeOf(d...)
	param = gen.g.New(uop.Param, dt, []*uop.UOp{gen.g.ShapeArg(uop.ShapeOf(s.Numel().N)), gen.g.DeviceOp("CPU")}, uop.Num(k), nil)
	return it.u, param.Reshape(s), nil
}

// sideBySide adds the results of as many loops as matrices have rows: each reads and writes its row, so that it may be kept in registers. It
// stores a row of each iteration.
func (gen *generator) sideBySide() error {
	dt := []*uop.DType{uop.Float32, uop.Float64, uop.Int32}[gen.r.IntN(3)]
	n, m, steps := gen.size(), 1+gen.r.Int64N(4), 1+gen.r.Int64N(6)
	dims := [][]int64{{n, m}, {n, 1}, {n, m}, {n, m}}
	count := 1 + gen.r.IntN(3)
	var sources, inside []*uop.UOp
	for k := range count + 3 {
		d := []int64{n, m}
		switch {
		case k < count:
			d = dims[k]
		case k == count:
			d = []int64{n, steps, m} // what is kept
		case k == count+1:
			d = []int64{steps, n, m} // a sequence
		}
		source, param, err := gen.argument(dt, k, d)
		if err != nil {
			return err
		}
		sources, inside = append(sources, source), append(inside, param)
	}
	i := uop.N(0)
	if steps > 1 {
		i = uop.S(gen.g.Variable("row", uop.Int(0), uop.Int(steps-1), uop.IndexT))
	}
	element := func(x *uop.UOp, axis int) *uop.UOp {
		ps := make([]uop.Pair, len(x.Shape()))
		for k, size := range x.Shape() {
			ps[k] = uop.Pair{Lo: uop.N(0), Hi: size}
		}
		ps[axis] = uop.Pair{Lo: i, Hi: i.Add(uop.N(1))}
		return x.Shrink(ps)
	}
	kept, sequence := inside[count], inside[count+1]
	read := append(inside[:count:count], element(sequence, 0).Reshape(uop.ShapeOf(n, m)), inside[count+2])
	b := statements{gen: gen, n: n, states: inside[:count], read: read, apart: true}
	var body []*uop.UOp
	for range 1 + gen.r.IntN(4) {
		body = append(body, b.statement())
	}
	if gen.chance(2) {
		body = append(body, gen.g.Sink(nil, element(kept, 1).AssignTo(b.value(uop.ShapeOf(n, m)).Reshape(uop.ShapeOf(n, 1, m)))))
	}
	arg := uop.RepeatArg{Variable: "row", Count: steps, States: count + 1}
	for _, r := range gen.g.RepeatOn(arg, body, sources[:count+1], sources[count+1:]) {
		gen.items = append(gen.items, item{r, dt == uop.Int32, 0})
	}
	return nil
}

// statement writes to one or two states, or to a row of them. If two read each other, it has the first alone: the second would see new
// elements, but old sums.
func (b *statements) statement() *uop.UOp {
	var writes []*uop.UOp
	for _, k := range b.gen.r.Perm(len(b.states))[:1+b.gen.r.IntN(min(2, len(b.states)))] {
		at := b.states[k]
		if at.Shape()[0].IsNum(b.n) && !b.apart && b.gen.chance(2) {
			at = b.row(at)
		}
		writes = append(writes, at.AssignTo(b.value(at.Shape())))
	}
	writes = uop.ReadersFirst(writes)
	if target := writes[0].Src[0].Base(); len(writes) > 1 && writes[1].Src[1].Find(func(u *uop.UOp) bool { return u == target }) != nil {
		writes = writes[:1]
	}
	return b.gen.g.Sink(nil, writes...)
}

// row is the row of this iteration, or that as far from the end.
func (b *statements) row(x *uop.UOp) *uop.UOp {
	i := b.i
	if b.gen.chance(3) {
		i = uop.N(b.n - 1).Sub(i)
	}
	return x.Shrink([]uop.Pair{{Lo: i, Hi: i.Add(uop.N(1))}, {Lo: uop.N(0), Hi: x.Shape()[1]}})
}

// value combines two terms, and keeps floats small.
func (b *statements) value(s uop.Shape) *uop.UOp {
	x, y := b.term(s), b.term(s)
	switch b.gen.r.IntN(5) {
	case 0:
		x = x.Sub(y)
	case 1:
		x = x.Alu(uop.Max, y)
	case 2:
		x = x.Alu(uop.CmpLt, y).Where(y, b.term(s))
	default:
		x = x.Add(y)
	}
	if x.DType.IsFloat() {
		x = x.Mul(x.ConstLike(uop.Float(0.5)))
	}
	return x
}

// term is some of the values in a shape: rows, sums and maxima are seen in all rows or columns.
func (b *statements) term(s uop.Shape) *uop.UOp {
	x := b.read[b.gen.r.IntN(len(b.read))]
	for axis := range s {
		if d := x.Shape()[axis]; d == s[axis] || d.IsNum(1) {
			if axis > 0 || b.apart || !b.gen.chance(4) {
				continue
			}
		}
		if axis == 0 && b.gen.chance(2) && x.Shape()[0].IsNum(b.n) {
			x = b.row(x)
			continue
		}
		x = x.ReduceAxes([]uop.Op{uop.Add, uop.Max}[b.gen.r.IntN(2)], axis)
		if x.DType.IsFloat() {
			x = x.Mul(x.ConstLike(uop.Float(1.0 / 16)))
		}
	}
	return x.Expand(s)
}

// decomposition adds what functions of matrices give, where that is unique and near for near matrices.
func (gen *generator) decomposition() error {
	dt := []*uop.DType{uop.Float32, uop.Float64}[gen.r.IntN(2)]
	n, m := 1+gen.r.Int64N(16), 1+gen.r.Int64N(16)
	if gen.chance(2) {
		m = n
	}
	var stack []int64
	if gen.chance(3) {
		stack = []int64{1 + gen.r.Int64N(20)}
	}
	matrix := func(n, m int64) (*uop.UOp, error) {
		it, err := gen.fresh(dt, append(stack[:len(stack):len(stack)], n, m)...)
		return it.u, err
	}
	a, err := matrix(n, m)
	if err != nil {
		return err
	}
	square, err := matrix(n, n)
	if err != nil {
		return err
	}
	eye, err := tensor.Eye(gen.g, n, n, dt)
	if err != nil {
		return err
	}
	// With 40 on the diagonal of elements up to 4, few in a row are large: solutions are near for near matrices.
	regular := square.Add(eye.Mul(eye.ConstLike(uop.Float(40))).Reshape(ones(len(stack), eye.Shape())).Expand(square.Shape()))
	var out *uop.UOp
	switch gen.r.IntN(5) {
	case 0:
		_, out, _, err = tensor.SVD(a, false)
	case 1:
		out, err = tensor.Solve(regular, a)
	case 2:
		_, out, err = tensor.QR(regular)
	case 3:
		out, _, err = tensor.Eigh(square, gen.chance(2))
	case 4:
		out, err = tensor.TriangularSolve(regular, a, gen.chance(2), gen.chance(2), gen.chance(2))
	}
	gen.items = append(gen.items, item{out, false, 0})
	return err
}

// ones is a shape with additional axes of one element.
func ones(n int, s uop.Shape) uop.Shape {
	var out uop.Shape
	for range n {
		out = append(out, uop.N(1))
	}
	return append(out, s...)
}

// recurrence adds the states of a recurrent layer.
func (gen *generator) recurrence() error {
	length, stack, n := 1+gen.r.Int64N(6), 1+gen.r.Int64N(4), gen.size()
	var w [6]*uop.UOp
	for i, dims := range [][]int64{{length, stack, 3}, {stack, n}, {3 * n, 3}, {3 * n, n}, {3 * n}, {3 * n}} {
		it, err := gen.fresh(uop.Float32, dims...)
		if err != nil {
			return err
		}
		w[i] = it.u.Mul(it.u.ConstLike(uop.Float(1.0 / 32)))
	}
	out, h, err := tensor.GRU(w[0], w[1], tensor.RecurrentWeights{Input: w[2], Hidden: w[3], InputBias: w[4], HiddenBias: w[5]}, false, gen.chance(2))
	gen.items = append(gen.items, item{out, false, 0}, item{h, false, 0})
	return err
}
