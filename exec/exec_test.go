package exec

import (
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec/interp"
	"polygrad/tests/devices/remote"
)

// bench is a graph with named float buffers on one executor, and another one on a device with memory of its own.
type bench struct {
	t      *testing.T
	g      *uop.Graph
	e      *Executor
	remote *Executor
	b      []Binding
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, g: symbolic.NewGraph(), e: New(interp.New()), remote: New(remote.New())}
}

// floats makes a buffer bound to vals.
func (b *bench) floats(vals ...float32) *uop.UOp {
	u := b.g.NewBuffer("CPU", int64(len(vals)), uop.Float32)
	b.b = append(b.b, Binding{u, unsafe.Pointer(unsafe.SliceData(vals)), int64(len(vals) * 4), nil})
	return u
}

func (b *bench) must(u *uop.UOp, err error) *uop.UOp {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// run runs a request on both executors, which must agree.
func (b *bench) run(src ...*uop.UOp) {
	b.t.Helper()
	b.realize(b.g.Sink(nil, src...), nil)
}

func (b *bench) realize(sink *uop.UOp, vars map[string]int64) {
	b.t.Helper()
	before := b.contents()
	if err := b.remote.Realize(sink, b.b, vars); err != nil {
		b.t.Fatal(err)
	}
	got := b.contents()
	for i, m := range b.memory() {
		copy(m, before[i])
	}
	if err := b.e.Realize(sink, b.b, vars); err != nil {
		b.t.Fatal(err)
	}
	if want := b.contents(); !reflect.DeepEqual(got, want) {
		b.t.Fatalf("memory of its own gives %v, expected %v", got, want)
	}
}

// memory is that of all buffers.
func (b *bench) memory() (all [][]byte) {
	for _, x := range b.b {
		all = append(all, unsafe.Slice((*byte)(x.Ptr), x.Bytes))
	}
	return all
}

// contents are copies of the memory.
func (b *bench) contents() (all [][]byte) {
	for _, m := range b.memory() {
		all = append(all, slices.Clone(m))
	}
	return all
}

func (b *bench) expect(got []float32, want ...float32) {
	b.t.Helper()
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-6 {
			b.t.Fatalf("got %v, expected %v", got, want)
		}
	}
}

func TestStore(t *testing.T) {
	b := newBench(t)
	x, out := []float32{1, 2, 3}, make([]float32, 3)
	b.run(b.floats(out...).Store(b.g.Const(uop.Float32, uop.Float(2))))
	buf := b.floats(x...)
	dst := b.g.NewBuffer("CPU", 3, uop.Float32)
	b.b = append(b.b, Binding{dst, unsafe.Pointer(&out[0]), 12, nil})
	b.run(dst.Store(b.must(tensor.Mul(buf, buf))))
	b.expect(out, 1, 4, 9)
	// The same request with other buffers uses the plan that exists.
	plans, _ := b.e.CacheSize()
	x[0] = 5
	b.run(dst.Store(b.must(tensor.Mul(buf, buf))))
	b.expect(out, 25, 4, 9)
	if again, _ := b.e.CacheSize(); again != plans {
		t.Errorf("the plan was made again: %d plans, before %d", again, plans)
	}
}

func TestStoreConvertsAndCopies(t *testing.T) {
	b := newBench(t)
	x, same, flags := []float32{-1, 0, 2}, make([]float32, 3), make([]float32, 3)
	bx, bs, bf := b.floats(x...), b.floats(same...), b.floats(flags...)
	b.run(bs.Store(bx), bf.Store(b.must(tensor.Gt(bx, b.must(tensor.Scalar(bx, uop.Int(0)))))))
	b.expect(same, -1, 0, 2)
	b.expect(flags, 0, 0, 1)
}

func TestStoreOverAnInput(t *testing.T) {
	b := newBench(t)
	x, y := []float32{1, 2, 3, 4}, []float32{10, 20, 30, 40}
	bx, by := b.floats(x...), b.floats(y...)
	// Both see the values from before: x gets y reversed, y gets x reversed.
	b.run(bx.Store(b.must(tensor.Flip(by, 0))), by.Store(b.must(tensor.Flip(bx, 0))))
	b.expect(x, 40, 30, 20, 10)
	b.expect(y, 4, 3, 2, 1)
}

func TestStoresOfWholeBuffersHappenAtOnce(t *testing.T) {
	b := newBench(t)
	x, y, z, sum := []float32{1, 2}, []float32{3, 4}, []float32{0, 0}, []float32{0, 0}
	bx, by, bz, bs := b.floats(x...), b.floats(y...), b.floats(z...), b.floats(sum...)
	// x and y change places, z gets x through views, and the sum sees what was there before.
	view := b.must(tensor.Reshape(bx, uop.ShapeOf(1, 2)))
	b.run(bx.Store(by), by.Store(bx), bz.Store(view), bs.Store(b.must(tensor.Add(bx, by))))
	b.expect(x, 3, 4)
	b.expect(y, 1, 2)
	b.expect(z, 1, 2)
	b.expect(sum, 4, 6)
	b.run(bx.Store(bz))
	b.expect(x, 1, 2)
}

func TestAssignOrder(t *testing.T) {
	b := newBench(t)
	m, p, sum, before := []float32{1, 2}, []float32{10, 20}, []float32{0}, []float32{0, 0}
	bm, bp, bs, bb := b.floats(m...), b.floats(p...), b.floats(sum...), b.floats(before...)
	two := b.must(tensor.Scalar(bm, uop.Float(2)))
	b.run(
		bm.AssignTo(b.must(tensor.Mul(bm, two))),                                                // m = 2 4
		bp.AssignTo(b.must(tensor.Sub(bp, bm))),                                                 // element-wise: sees the new m
		bs.AssignTo(b.must(tensor.Reshape(b.must(tensor.Sum(bm, nil, false)), uop.ShapeOf(1)))), // through a reduction: the old m
		bb.Store(bm), // STOREs see what was there before
	)
	b.expect(m, 2, 4)
	b.expect(p, 8, 16)
	b.expect(sum, 3)
	b.expect(before, 1, 2)
}

// ASSIGNs of one buffer take effect one after the other; what reads it in between sees what is there then.
func TestAssignTwice(t *testing.T) {
	b := newBench(t)
	m, p, before := []float32{1, 2}, []float32{0, 0}, []float32{0, 0}
	bm, bp, bb := b.floats(m...), b.floats(p...), b.floats(before...)
	number := func(v float64) *uop.UOp { return b.must(tensor.Scalar(bm, uop.Float(v))) }
	twice := bm.AssignTo(b.must(tensor.Mul(bm, number(2))))
	b.run(
		twice, // m = 2 4
		bp.AssignTo(b.must(tensor.Add(bm, number(1)))), // p = 3 5
		twice, // the same node
		bm.AssignTo(b.must(tensor.Add(bm, number(10)))), // m = 12 14
		bb.Store(b.must(tensor.Add(twice, number(100)))),
	)
	b.expect(m, 12, 14)
	b.expect(p, 3, 5)
	b.expect(before, 102, 104)

	both := bm.Reshape(uop.ShapeOf(2, 1))
	half := func(i int64) *uop.UOp {
		return both.Shrink([]uop.Pair{{Lo: uop.N(i), Hi: uop.N(i + 1)}, {Lo: uop.N(0), Hi: uop.N(1)}})
	}
	b.run(half(0).AssignTo(b.must(tensor.Mul(half(0), number(2)))), half(1).AssignTo(b.must(tensor.Mul(half(1), number(3)))))
	b.expect(m, 24, 42)
}

func TestErrorsChangeNothing(t *testing.T) {
	b := newBench(t)
	out := []float32{7, 7}
	bo := b.floats(out...)
	free := b.g.NewBuffer("CPU", 2, uop.Float32)
	for _, c := range []struct {
		sink *uop.UOp
		want string
	}{
		{b.g.Sink(nil, bo.Store(free)), "not bound"},
		{b.g.Sink(nil, bo.Store(b.must(tensor.Full(b.g, uop.ShapeOf(3), uop.Float(0), uop.Float32)))), "does not fit"},
		{bo, "expected a SINK"},
		{nil, "expected a SINK"},
		{b.g.Sink(nil, bo), "expected STORE or ASSIGN"},
	} {
		err := b.e.Realize(c.sink, b.b, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, expected one with %q", err, c.want)
		}
	}
	short := []Binding{{bo, unsafe.Pointer(&out[0]), 4, nil}}
	if err := b.e.Realize(b.g.Sink(nil, bo.Store(b.g.Const(uop.Float32, uop.Int(1)))), short, nil); err == nil || !strings.Contains(err.Error(), "needs 8 bytes") {
		t.Errorf("a short buffer gives %v", err)
	}
	b.expect(out, 7, 7)
}

func TestVariables(t *testing.T) {
	b := newBench(t)
	x, out := []float32{1, 2, 3, 4}, []float32{0, 0}
	bx, bo := b.floats(x...), b.floats(out...)
	v := b.g.Variable("start", uop.Int(0), uop.Int(2), uop.IndexT)
	bound := v.BindTo(1)
	part := b.must(tensor.Shrink(bx, []uop.Pair{{Lo: uop.S(bound), Hi: uop.S(bound).Add(uop.N(2))}}))
	sink := b.g.Sink(nil, bo.Store(part))
	for _, c := range []struct {
		vars map[string]int64
		want []float32
	}{{nil, []float32{2, 3}}, {map[string]int64{"start": 2}, []float32{3, 4}}} {
		b.realize(sink, c.vars)
		b.expect(out, c.want...)
	}
	if err := b.e.Realize(sink, b.b, map[string]int64{"start": 3}); err == nil {
		t.Error("a value outside the bounds of its variable is taken")
	}
}

// What reads a buffer AFTER an ASSIGN to a part of it, at a place that a variable names, sees the new elements, through
// a reduction too.
func TestAfterAssign(t *testing.T) {
	b := newBench(t)
	cache, x, sum, squares := []float32{1, 2, 3, 4}, []float32{10, 20}, []float32{0}, []float32{0, 0, 0, 0}
	bc, bx, bs, bo := b.floats(cache...), b.floats(x...), b.floats(sum...), b.floats(squares...)
	at := uop.S(b.g.Variable("at", uop.Int(0), uop.Int(2), uop.Int32))
	part := b.must(tensor.Shrink(bc, []uop.Pair{{Lo: at, Hi: at.Add(uop.N(2))}}))
	after := bc.AfterOps(part.AssignTo(b.must(tensor.Neg(bx))))
	total := b.must(tensor.Reshape(b.must(tensor.Sum(after, nil, false)), uop.ShapeOf(1)))
	sink := b.g.Sink(nil, bs.Store(total), bo.Store(b.must(tensor.Mul(after, after))))
	for _, c := range []struct {
		at   int64
		sum  float32
		want []float32
	}{{1, -25, []float32{1, 100, 400, 16}}, {2, -39, []float32{1, 100, 100, 400}}, {0, -60, []float32{100, 400, 100, 400}}} {
		b.realize(sink, map[string]int64{"at": c.at})
		b.expect(sum, c.sum)
		b.expect(squares, c.want...)
	}
	other := b.floats(0, 0)
	for _, wrong := range []*uop.UOp{bc.AfterOps(bx), bc.AfterOps(other.AssignTo(bx)), bc.AfterOps(bc.AssignTo(bo), bc.AssignTo(bo.Alu(uop.Mul, bo)))} {
		if err := b.e.Realize(b.g.Sink(nil, bo.Store(wrong)), b.b, nil); err == nil || !strings.Contains(err.Error(), "AFTER") {
			t.Errorf("%s: error %v", wrong, err)
		}
	}
}

// A sum over as many elements as a variable says, which can say only one number.
func TestSumOfVariableSize(t *testing.T) {
	for _, most := range []int64{1, 3} {
		b := newBench(t)
		out := []float32{0}
		bx, bo := b.floats(1, 2, 3), b.floats(out...)
		n := b.g.Variable("n", uop.Int(1), uop.Int(most), uop.IndexT).BindTo(most)
		part := b.must(tensor.Shrink(bx, []uop.Pair{{Lo: uop.N(0), Hi: uop.S(n)}}))
		sum := b.must(tensor.Sum(part, nil, true))
		if err := b.e.Realize(b.g.Sink(nil, bo.Store(sum)), b.b, nil); err != nil {
			t.Fatal(err)
		}
		b.expect(out, float32(most*(most+1)/2))
	}
}

// Two outputs are one value, padded differently, without what was added.
func TestPadsThatAreCutOff(t *testing.T) {
	b := newBench(t)
	x, outs := []float32{1, 2, 3, 4}, [][]float32{make([]float32, 4), make([]float32, 4)}
	v := b.floats(x...).Reshape(uop.ShapeOf(1, 4))
	v = b.must(tensor.Add(v, b.must(tensor.Expand(b.floats(5).Reshape(uop.ShapeOf(1, 1)), v.Shape()))))
	var stores []*uop.UOp
	for i, out := range outs {
		none := uop.Pair{Lo: uop.N(0), Hi: uop.N(0)}
		padded := b.must(tensor.Pad(v, []uop.Pair{{Lo: uop.N(0), Hi: uop.N(int64(i + 1))}, none}, uop.Int(0)))
		cut := b.must(tensor.Shrink(padded, []uop.Pair{{Lo: uop.N(0), Hi: uop.N(1)}, {Lo: uop.N(0), Hi: uop.N(4)}}))
		stores = append(stores, b.floats(out...).Store(cut.Reshape(uop.ShapeOf(4))))
	}
	b.run(stores...)
	for _, out := range outs {
		b.expect(out, 6, 7, 8, 9)
	}
}

func TestManyThreads(t *testing.T) {
	e := New(interp.New())
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			g := symbolic.NewGraph()
			x, out := make([]float32, 16), make([]float32, 16)
			for i := range x {
				x[i] = float32(n*100 + i)
			}
			bx, bo := g.NewBuffer("CPU", 16, uop.Float32), g.NewBuffer("CPU", 16, uop.Float32)
			y, err := tensor.Add(bx, bx)
			for range 50 {
				if err == nil {
					err = e.Realize(g.Sink(nil, bo.Store(y)), []Binding{{bx, unsafe.Pointer(&x[0]), 64, nil}, {bo, unsafe.Pointer(&out[0]), 64, nil}}, nil)
				}
			}
			if err != nil || out[15] != 2*x[15] {
				t.Errorf("thread %d: %v %v", n, out, err)
			}
		}()
	}
	wg.Wait()
}

// TestFlatMemory builds the graph of a step anew each time, as a frontend does, and looks at the heap.
func TestFlatMemory(t *testing.T) {
	b := newBench(t)
	w, x := make([]float32, 8), make([]float32, 8)
	bw := b.floats(w...)
	b.floats(x...)
	heap := func() uint64 {
		b.g.Sweep(func(mark func(*uop.UOp)) {
			for _, x := range b.b {
				mark(x.Buffer)
			}
		})
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var start uint64
	for i := range 5000 {
		if i == 500 {
			start = heap()
		}
		fresh := b.g.NewBuffer("CPU", 8, uop.Float32)
		grad := b.must(tensor.Mul(b.must(tensor.Sub(bw, fresh)), b.must(tensor.Scalar(bw, uop.Float(0.5)))))
		sink := b.g.Sink(nil, bw.AssignTo(b.must(tensor.Sub(bw, grad))))
		if err := b.e.Realize(sink, []Binding{b.b[0], {fresh, unsafe.Pointer(&x[0]), 32, nil}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if end := heap(); end > start+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes in 4500 steps", start, end)
	}
}

func TestWasmPlanRefusesWhatDoesNotFitItsMemory(t *testing.T) {
	g := symbolic.NewGraph()
	x, out := g.NewBuffer("CPU", 3<<29, uop.Float32), g.NewBuffer("CPU", 3<<29, uop.Float32)
	if _, err := NewWasmPlan(g.Sink(nil, out.Store(x.Add(x)))); err == nil || !strings.Contains(err.Error(), "holds 4294967296") {
		t.Errorf("12 GiB of buffers: error is %v, expected one that says what fits", err)
	}
}

// TestKnownRequestsLeaveNothing runs one request over and over, each time with new buffers.
func TestKnownRequestsLeaveNothing(t *testing.T) {
	b := newBench(t)
	bx := b.floats(1, 2, 3, 4)
	out := make([]float32, 4)
	nodes := 0
	for i := range 100 {
		fresh := b.g.NewBuffer("CPU", 4, uop.Float32)
		sink := b.g.Sink(nil, fresh.Store(b.must(tensor.Add(bx, bx))))
		if err := b.e.Realize(sink, []Binding{b.b[0], {fresh, unsafe.Pointer(&out[0]), 16, nil}}, nil); err != nil {
			t.Fatal(err)
		}
		if n := b.e.requests.Len(); i == 0 {
			nodes = n
		} else if n != nodes {
			t.Fatalf("%d nodes of requests after %d runs, %d after the first", n, i+1, nodes)
		}
	}
}

// TestBound binds a step once and runs it on what the memory holds then.
func TestBound(t *testing.T) {
	b := newBench(t)
	x, out := []float32{1, 2, 3}, make([]float32, 3)
	in, dst := b.floats(x...), b.floats(out...)
	s, err := b.e.Compile(b.g.Sink(nil, dst.Store(b.must(tensor.Mul(in, in)))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bind(b.b[:1]); err == nil || !strings.Contains(err.Error(), "not bound") {
		t.Errorf("without memory for the result: error %v, expected one that says so", err)
	}
	bound, err := s.Bind(b.b)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float32{2, 3} {
		x[0] = v
		if err := bound.Run(nil); err != nil {
			t.Fatal(err)
		}
		b.expect(out, v*v, 4, 9)
	}
}

// As trees, these expressions have 2^60 factors, and the bounds of the integers as many digits.
func TestSquaresOfSquares(t *testing.T) {
	b := newBench(t)
	x, sum, least := []float32{1, -1, 0.5}, make([]float32, 1), make([]float32, 3)
	bx, bs, bl := b.floats(x...), b.floats(sum...), b.floats(least...)
	y, n := bx, b.must(tensor.Cast(bx, uop.Int32))
	for range 60 {
		y, n = b.must(tensor.Mul(y, y)), b.must(tensor.Mul(n, n))
	}
	two := b.must(tensor.Scalar(n, uop.Int(2)))
	b.run(bs.Store(b.must(tensor.Sum(y, []int{0}, true))), bl.Store(b.must(tensor.Lt(n, two))))
	b.expect(sum, 2)
	b.expect(least, 1, 1, 1)
}

// A constant matrix is read by rows and by columns in each product: if the kernels repeated it, they would have 3^10 reductions.
func TestPowersOfAConstantMatrix(t *testing.T) {
	b := newBench(t)
	out := make([]float32, 9)
	to := b.floats(out...)
	eye := b.must(tensor.Eye(b.g, 3, 3, uop.Float32))
	x := b.must(tensor.Sub(eye, b.must(tensor.Scalar(eye, uop.Float(1./3))))) // the square of a projection is the projection
	for range 10 {
		x = b.must(tensor.MatMul(x, b.must(tensor.Permute(x, 1, 0))))
	}
	b.run(to.Store(b.must(tensor.Reshape(x, uop.ShapeOf(9)))))
	for i, v := range out {
		want := -1. / 3
		if i%4 == 0 {
			want = 2. / 3
		}
		if math.Abs(float64(v)-want) > 1e-4 {
			t.Errorf("element %d is %g, expected %g", i, v, want)
		}
	}
}
