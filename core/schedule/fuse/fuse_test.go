package fuse_test

import (
	"math"
	"os"
	"slices"
	"testing"

	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

var options = fuse.For(fuse.Machine{Lanes: 16, Threads: 2, L1: 32 << 10, L2: 1 << 20, L3: 4 << 20})

// All tests check the invariants between passes.
func TestMain(m *testing.M) {
	os.Setenv("POLY_CHECK", "1")
	os.Exit(m.Run())
}

// graph builds small requests.
type graph struct {
	*testing.T
	*uop.Graph
}

func newGraph(t *testing.T) graph { return graph{t, symbolic.NewGraph()} }

func (g graph) in(dims ...int64) *uop.UOp {
	s := uop.ShapeOf(dims...)
	return g.NewBuffer("CPU", s.MaxNumel(), uop.Float32).Reshape(s)
}

func (g graph) bools(dims ...int64) *uop.UOp {
	s := uop.ShapeOf(dims...)
	return g.NewBuffer("CPU", s.MaxNumel(), uop.Bool).Reshape(s)
}

// fused is the schedule of some outputs after kernels were merged.
func (g graph) fused(o fuse.Options, outs ...*uop.UOp) *schedule.Schedule {
	g.Helper()
	s, _ := g.decided(o, outs...)
	return s
}

// stored are STOREs of values to buffers of their own, and ASSIGNs as they are.
func (g graph) stored(outs []*uop.UOp) []*uop.UOp {
	src := slices.Clone(outs)
	for i, u := range src {
		if u.Op != uop.Assign {
			src[i] = g.NewBuffer("CPU", u.Shape().MaxNumel(), u.DType).Store(u)
		}
	}
	return src
}

// decided is that schedule with all that was decided.
func (g graph) decided(o fuse.Options, outs ...*uop.UOp) (*schedule.Schedule, []fuse.Decision) {
	g.Helper()
	root, _, _, err := schedule.Normalize(symbolic.NewGraph(), g.Sink(nil, g.stored(outs)...))
	if err != nil {
		g.Fatal(err)
	}
	var decisions []fuse.Decision
	s, err := fuse.New(root, o, func(d fuse.Decision) { decisions = append(decisions, d) })
	if err != nil {
		g.Fatal(err)
	}
	return s, decisions
}

func (g graph) expect(s *schedule.Schedule, kernels int) {
	g.Helper()
	if len(s.Kernels) != kernels {
		g.Errorf("%d kernels, expected %d", len(s.Kernels), kernels)
		for _, k := range s.Kernels {
			g.Log(k.AST.Dump())
		}
	}
}

func reduced(x *uop.UOp, op uop.Op, axis int) *uop.UOp {
	return x.ReduceAxes(op, axis).Expand(x.Shape())
}

func softmax(x *uop.UOp, axis int) *uop.UOp {
	e := x.Sub(reduced(x, uop.Max, axis)).Exp2()
	return e.Mul(reduced(e, uop.Add, axis).Recip())
}

func count(s *schedule.Schedule, op uop.Op) int {
	n := 0
	for _, k := range s.Kernels {
		for _, u := range k.AST.Toposort() {
			if u.Op == op {
				n++
			}
		}
	}
	return n
}

// The exponentials of a row are computed once, into memory of the kernel; a short row is not worth that memory.
func TestSoftmaxIsOneKernel(t *testing.T) {
	g := newGraph(t)
	s := g.fused(options, softmax(g.in(64, 128), 1))
	g.expect(s, 1)
	if n := count(s, uop.Exp2); n != 1 || count(s, uop.Bufferize) != 1 {
		t.Errorf("%d places with exponentials and %d rows of scratch memory, expected 1 and 1", n, count(s, uop.Bufferize))
	}
	if len(s.Slots) != 2 || s.ArenaBytes != 0 {
		t.Errorf("%d slots and %d bytes of temporaries, expected input and output only", len(s.Slots), s.ArenaBytes)
	}
	g.expect(g.fused(options, softmax(g.in(64, 128).Exp2().Flip([]bool{false, true}), 1)), 1)
	s = g.fused(options, softmax(g.in(64, 8), 1))
	g.expect(s, 1)
	if n := count(s, uop.Exp2); n != 2 || count(s, uop.Bufferize) != 0 {
		t.Errorf("%d places with exponentials and %d rows of scratch memory, expected 2 and 0", n, count(s, uop.Bufferize))
	}
}

// Functions of a row are computed once, though rows of the result are counted in another way.
func TestExponentialsOfAViewAreComputedOnce(t *testing.T) {
	g := newGraph(t)
	view := softmax(g.in(96, 128), 1).Reshape(uop.Shape{uop.N(3), uop.N(32), uop.N(128)})
	s := g.fused(options, view.ContiguousOp())
	g.expect(s, 1)
	if n := count(s, uop.Exp2); n != 1 || count(s, uop.Bufferize) != 1 {
		t.Errorf("%d places with exponentials and %d rows of scratch memory, expected 1 and 1", n, count(s, uop.Bufferize))
	}
}

// Limits of the size of rows, their number or the number of buffers keep kernels from being merged.
func TestLimits(t *testing.T) {
	for name, change := range map[string]func(o *fuse.Options){
		"row":     func(o *fuse.Options) { o.RowBytes = 128*4 - 1 },
		"rows":    func(o *fuse.Options) { o.MinRows, o.SmallWork = 65, 1<<13-1 },
		"buffers": func(o *fuse.Options) { o.MaxBuffers = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGraph(t)
			o := options
			change(&o)
			g.expect(g.fused(o, softmax(g.in(64, 128), 1)), 3)
		})
	}
}

// Rows that do not lie in order in memory stay as they are (their exponentials are stored for both uses); so do the values that
// one long row leads to.
func TestRowsMustLieInOrder(t *testing.T) {
	g := newGraph(t)
	g.expect(g.fused(options, softmax(g.in(64, 128), 0)), 4)
	x := g.in(1 << 16)
	g.expect(g.fused(options, x.Mul(reduced(x, uop.Max, 0))), 3)
}

// The producer's rows are (b, h, t), the consumer's one axis of b*h*t, and the other way round.
func TestRowsOfOtherShapes(t *testing.T) {
	g := newGraph(t)
	x := g.in(4, 3, 16, 32)
	flat := x.Reshape(uop.ShapeOf(4*3*16, 32))
	sums := x.ReduceAxes(uop.Add, 3).Reshape(uop.ShapeOf(4*3*16, 1)).Expand(flat.Shape())
	g.expect(g.fused(options, flat.Mul(sums)), 1)
	sums = flat.ReduceAxes(uop.Add, 1).Reshape(uop.ShapeOf(4, 3, 16, 1)).Expand(x.Shape())
	g.expect(g.fused(options, x.Mul(sums)), 1)
}

// A matrix product is merged with an elementwise epilogue, and with nothing else.
func TestProducts(t *testing.T) {
	g := newGraph(t)
	product := func() *uop.UOp {
		shape := uop.ShapeOf(64, 48, 32)
		a := g.in(64, 32).Reshape(uop.ShapeOf(64, 1, 32)).Expand(shape)
		b := g.in(48, 32).Reshape(uop.ShapeOf(1, 48, 32)).Expand(shape)
		return a.Mul(b).ReduceAxes(uop.Add, 2).Reshape(uop.ShapeOf(64, 48))
	}
	h := product()
	s := g.fused(options, h, h.Exp2())
	g.expect(s, 1)
	if stores := count(s, uop.Store); stores != 2 || count(s, uop.Reduce) != 1 {
		t.Errorf("%d stores of %d reductions, expected 2 of 1", stores, count(s, uop.Reduce))
	}
	// The rows of a product are another kernel.
	g.expect(g.fused(options, softmax(product(), 1)), 2)
	// Sums of rows do not go into a product that reads them.
	x := g.in(64, 32)
	rows := x.Mul(reduced(x, uop.Max, 1)).ContiguousOp()
	shape := uop.ShapeOf(64, 48, 32)
	y := rows.Reshape(uop.ShapeOf(64, 1, 32)).Expand(shape).Mul(g.in(48, 32).Reshape(uop.ShapeOf(1, 48, 32)).Expand(shape))
	g.expect(g.fused(options, y.ReduceAxes(uop.Add, 2)), 2)
}

// times is a product of matrices, a·bᵀ.
func times(a, b *uop.UOp) *uop.UOp {
	n, m, k := a.Shape()[0], b.Shape()[0], a.Shape()[1]
	one := uop.N(1)
	shape := uop.Shape{n, m, k}
	p := a.Reshape(uop.Shape{n, one, k}).Expand(shape).Mul(b.Reshape(uop.Shape{one, m, k}).Expand(shape))
	return p.ReduceAxes(uop.Add, 2).Reshape(uop.Shape{n, m})
}

// Scores that do not fit into the cache are made in blocks, in the kernel that uses them.
func TestAttentionIsOneKernel(t *testing.T) {
	g := newGraph(t)
	attention := func() *uop.UOp {
		return times(softmax(times(g.in(256, 32), g.in(200, 32)), 1), g.in(200, 32).Permute([]int{1, 0}))
	}
	o := options
	o.BlockBytes = 256 * 200 * 4
	g.expect(g.fused(o, attention()), 3) // they fit
	o.BlockBytes--
	s := g.fused(o, attention())
	g.expect(s, 1)
	if s.ArenaBytes != 0 {
		t.Errorf("%d bytes of temporaries, expected none", s.ArenaBytes)
	}
	// There are to be MinRows blocks, so that they have 256/8 rows.
	heights := map[int64]bool{}
	for _, u := range s.Kernels[0].AST.Toposort() {
		if u.Op == uop.Bufferize && len(u.Src) == 3 {
			heights[u.Src[1].Src[0].ConstVal().I()] = true
		}
	}
	if len(heights) != 1 || !heights[32] {
		t.Errorf("blocks of %v rows, expected 32", heights)
	}
	o.MinBlock = 33
	g.expect(g.fused(o, attention()), 3)
	// Whoever else wants the scores gets them.
	scores := times(g.in(256, 32), g.in(200, 32))
	o.MinBlock = 16
	g.expect(g.fused(o, scores, times(softmax(scores, 1), g.in(200, 32).Permute([]int{1, 0}))), 3)
}

// Blocks of rows end where a causal mask makes all their scores minus infinity or, in rows that have others, as good as that.
func TestMaskedColumns(t *testing.T) {
	const n = 256
	o := options
	o.BlockBytes = n*n*4 - 1
	masked := func(o tensor.AttentionOptions, more func(g graph) *uop.UOp) func(g graph) *uop.UOp {
		return func(g graph) *uop.UOp {
			out, err := tensor.ScaledDotProductAttention(g.in(n, 32), g.in(n, 32), g.in(n, 32), o)
			if err != nil {
				t.Fatal(err)
			}
			if more != nil {
				out = out.Add(more(g))
			}
			return out
		}
	}
	low := func(first int64, twice bool) func(g graph) *uop.UOp {
		return func(g graph) *uop.UOp {
			scores := times(g.in(n, 32), g.in(n, 32))
			at := g.ok(tensor.Arange(scores.Graph(), uop.Int(0), uop.Int(n), uop.Int(1), nil))
			row, column := at.Reshape(uop.ShapeOf(n, 1)).Expand(uop.ShapeOf(n, n)), at.Reshape(uop.ShapeOf(1, n)).Expand(uop.ShapeOf(n, n))
			least := scores.ConstLike(uop.Float(-1e9))
			if twice {
				scores = column.Alu(uop.CmpLt, row.ConstLike(uop.Int(9))).Alu(uop.Where, least, scores)
			}
			return times(softmax(row.Alu(uop.CmpLt, column.Add(column.ConstLike(uop.Int(first)))).Alu(uop.Where, least, scores), 1), g.in(32, n))
		}
	}
	for name, c := range map[string]struct {
		out     func(g graph) *uop.UOp
		shorter bool
	}{
		"low scores":           {low(0, false), true},
		"of whole rows":        {low(1, false), false},
		"of rows by two masks": {low(0, true), false},
		"causal":               {masked(tensor.AttentionOptions{Causal: true}, nil), true},
		"no mask":              {masked(tensor.AttentionOptions{}, nil), false},
		"epilogue":             {masked(tensor.AttentionOptions{Causal: true}, func(g graph) *uop.UOp { return g.in(n, 32) }), true},
		"length in memory": {func(g graph) *uop.UOp {
			at := g.ok(tensor.Arange(g.Graph, uop.Int(0), uop.Int(n), uop.Int(1), nil)).Reshape(uop.ShapeOf(1, n)).Expand(uop.ShapeOf(n, n))
			length := g.NewBuffer("CPU", 1, uop.Int32).Reshape(uop.ShapeOf(1, 1)).Expand(uop.ShapeOf(n, n))
			scores := times(g.in(n, 32), g.in(n, 32))
			return times(softmax(at.Alu(uop.CmpLt, length).Alu(uop.Where, scores, scores.ConstLike(uop.Float(math.Inf(-1)))), 1), g.in(32, n))
		}, true},
		"mask of data": {func(g graph) *uop.UOp {
			// A mask that is computed from other data says nothing of whole columns.
			q, k := g.in(n, 32), g.in(n, 32)
			row, column := g.in(n, 1).Expand(uop.ShapeOf(n, n)), g.in(1, n).Expand(uop.ShapeOf(n, n))
			scores := times(q, k)
			low := scores.ConstLike(uop.Float(math.Inf(-1)))
			scores = column.Alu(uop.CmpLt, row).Alu(uop.Where, scores, low)
			return times(softmax(scores, 1), g.in(32, n))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGraph(t)
			s := g.fused(o, c.out(g))
			g.expect(s, 1)
			symbolic := 0
			for _, u := range s.Kernels[0].AST.Toposort() {
				if u.Op == uop.Range && u.Src[0].Op != uop.ConstOp {
					symbolic++
				}
			}
			if (symbolic > 0) != c.shorter {
				t.Errorf("%d loops whose length depends on the block, expected some: %v", symbolic, c.shorter)
			}
		})
	}
}

// Rows of variable length are gone through in one kernel, as others are.
func TestRowsOfVariableLength(t *testing.T) {
	g := newGraph(t)
	x := g.in(64, 1024)
	n := x.Graph().Variable("n", uop.Int(1), uop.Int(1024), uop.IndexT).BindTo(1000)
	x = x.Shrink([]uop.Pair{{Hi: uop.N(64)}, {Hi: uop.S(n)}})
	g.expect(g.fused(options, g.ok(tensor.Sum(g.ok(tensor.Softmax(x, 1)).Mul(x), []int{1}, false))), 1)
}

// The updates of a parameter and its moments are one kernel that changes three buffers.
func TestUpdatesOfOneParameter(t *testing.T) {
	g := newGraph(t)
	p, m, v, d := g.in(1000), g.in(1000), g.in(1000), g.in(1000)
	half := p.ConstLike(uop.Float(.5))
	m1 := m.AssignTo(m.Mul(half).Add(d))
	v1 := v.AssignTo(v.Mul(half).Add(d.Mul(d)))
	s := g.fused(options, m1, v1, p.AssignTo(p.Add(m1.Mul(v1.Sqrt().Recip()))))
	g.expect(s, 1)
	if n := len(s.Kernels[0].Bufs); n != 4 {
		t.Errorf("%d buffers, expected 4", n)
	}
	if slices.ContainsFunc(s.Slots, func(s schedule.Slot) bool { return s.Input < 0 }) {
		t.Errorf("%+v, expected no temporary", s.Slots)
	}
}

// A kernel that changes what another one reads elsewhere stays apart from it.
func TestHazards(t *testing.T) {
	g := newGraph(t)
	x := g.in(64, 64)
	one := x.ConstLike(uop.Float(1))
	turned := x.Permute([]int{1, 0}).Add(one)
	g.expect(g.fused(options, turned, x.AssignTo(x.Add(one))), 2)
	// Sums of the old rows are needed before the rows change.
	sums := x.ReduceAxes(uop.Add, 1)
	g.expect(g.fused(options, sums, x.AssignTo(x.Add(one))), 2)
}

// A value on the way from one kernel to another keeps both apart if a third kernel must run between them.
func TestMergesMakeNoCycles(t *testing.T) {
	g := newGraph(t)
	x := g.in(64, 128)
	sums := x.ReduceAxes(uop.Add, 1)                                // rows
	whole := sums.ReduceAxes(uop.Max, 0).ContiguousOp()             // needs all rows
	y := x.Mul(sums.Expand(x.Shape())).Mul(whole.Expand(x.Shape())) // needs the rows and the whole
	s := g.fused(fuse.Options{RowBytes: 1 << 20, MinRows: 4, Machine: fuse.Machine{Lanes: 64}, MaxBuffers: 9}, y)
	g.expect(s, 3)
}

// What is computed of all rows stays out of a kernel whose rows threads share.
func TestValuesOfAllRowsStayOutOfRowLoops(t *testing.T) {
	g := newGraph(t)
	x := g.in(768, 768)
	whole := softmax(x.ReduceAxes(uop.Add, 1), 0)
	o := options
	o.Machine.Lanes = 64
	s := g.fused(o, x.Mul(whole.Expand(x.Shape())).ReduceAxes(uop.Add, 1).Mul(whole))
	for _, k := range s.Kernels {
		if rows := k.AST.Find(func(u *uop.UOp) bool { return u.Op == uop.Index && u.Src[0].DType.Size == 768*768 }); rows == nil {
			continue
		}
		if k.AST.Find(func(u *uop.UOp) bool { return u.Op == uop.Reduce && len(u.Ranges()) == 0 }) != nil {
			t.Errorf("a sum of all rows in\n%s", k.AST.Dump())
		}
	}
}

// Reductions that need each other stay in one kernel where their rows are long: memory takes longer than they wait.
func TestLongRowsHideReductionLatency(t *testing.T) {
	for columns, kernels := range map[int64]int{8: 2, 2048: 1} {
		g := newGraph(t)
		g.expect(g.fused(options, softmax(softmax(g.in(256, columns), 1), 1)), kernels)
	}
}
