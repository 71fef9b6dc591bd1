package wasm

import (
	"bytes"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"polygrad/core/uop"
	render "polygrad/render/wasm"
	"polygrad/tests/guard"
)

func addOne(t testing.TB, n int64) *Kernel {
	return mapKernel(t, "add_one", n, uop.Float32, uop.Float32, func(m *maker, x *uop.UOp) *uop.UOp {
		return m.alu(uop.Add, x, m.float(uop.Float32, 1))
	})
}

// TestEveryLength runs loops of all lengths around the size of a register and of an unrolled body.
func TestEveryLength(t *testing.T) {
	for n := 1; n <= 140; n++ {
		in, out := make([]float32, n), make([]float32, n+1)
		for i := range in {
			in[i] = float32(i)
		}
		out[n] = -7
		mustRun(t, addOne(t, int64(n)), ptr(out), ptr(in))
		for i := range in {
			if out[i] != float32(i)+1 {
				t.Fatalf("length %d: element %d is %g", n, i, out[i])
			}
		}
		if out[n] != -7 {
			t.Fatalf("length %d: wrote behind the end", n)
		}
	}
}

// reduceKernel is out[r] = the elements of row r combined with op.
func reduceKernel(t testing.TB, dt *uop.DType, op uop.Op, rows, cols int64) *Kernel {
	m := newMaker()
	o, a := m.param(0, dt, rows), m.param(1, dt, rows*cols)
	acc := m.add(uop.DefineReg, dt.Ptr(1, uop.Reg), uop.Num(0))
	zero := m.int(0)
	width := m.int(cols)
	i := m.loop(0, rows, uop.AxisLoop)
	row := m.alu(uop.Mul, i, width)
	first := m.add(uop.After, acc.DType, nil, acc, i)
	init := m.store(m.index(first, zero), m.add(uop.ConstOp, dt, uop.IdentityElement(op, dt)))
	j := m.loop(1, cols, uop.AxisReduceT)
	in := m.add(uop.After, acc.DType, nil, acc, init, j)
	next := m.alu(op, m.load(m.index(in, zero)), m.load(m.index(a, m.alu(uop.Add, row, j))))
	end := m.end(m.store(m.index(acc, zero), next), j)
	done := m.add(uop.After, acc.DType, nil, acc, end)
	m.end(m.store(m.index(o, i), m.load(m.index(done, zero))), i)
	return m.compile(t, "reduce")
}

func TestReductions(t *testing.T) {
	for _, cols := range []int64{1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 64, 100, 129, 1000} {
		const rows = 5
		in, sum, most := make([]float32, rows*cols), make([]float32, rows), make([]float32, rows)
		for i := range in {
			in[i] = float32((i*37)%101 - 50)
		}
		mustRun(t, reduceKernel(t, uop.Float32, uop.Add, rows, cols), ptr(sum), ptr(in))
		mustRun(t, reduceKernel(t, uop.Float32, uop.Max, rows, cols), ptr(most), ptr(in))
		for r := range int64(rows) {
			s, x := float32(0), float32(math.Inf(-1))
			for _, v := range in[r*cols : (r+1)*cols] {
				s, x = s+v, max(x, v)
			}
			if sum[r] != s || most[r] != x {
				t.Errorf("row %d of %d: sum %g, max %g, expected %g, %g", r, cols, sum[r], most[r], s, x)
			}
		}
	}
	// Integers and doubles take other shapes of vectors.
	longs, outL := []int64{5, -3, 1 << 40, 7, 9, 11, -13, 15, 1, 2}, make([]int64, 2)
	mustRun(t, reduceKernel(t, uop.Int64, uop.Add, 2, 5), ptr(outL), ptr(longs))
	if outL[0] != 5-3+1<<40+7+9 || outL[1] != 11-13+15+1+2 {
		t.Errorf("sums of longs: %d", outL)
	}
	bytes, outB := []int8{100, 100, 100, 1, 2, 3, 4, 5}, make([]int8, 1)
	mustRun(t, reduceKernel(t, uop.Int8, uop.Add, 1, 8), ptr(outB), ptr(bytes))
	if outB[0] != 59 {
		t.Errorf("a sum of bytes wraps to %d, expected 59", outB[0])
	}
}

// TestSumAccuracy adds ten million numbers.
func TestSumAccuracy(t *testing.T) {
	const n = 10_000_000
	in, out := make([]float32, n), make([]float32, 1)
	want := 0.0
	for i := range in {
		in[i] = float32(i%1000) / 1000
		want += float64(in[i])
	}
	// Two kernels as the scheduler makes them: 250 sums, then their sum.
	part := make([]float32, 250)
	mustRun(t, reduceKernel(t, uop.Float32, uop.Add, 250, n/250), ptr(part), ptr(in))
	mustRun(t, reduceKernel(t, uop.Float32, uop.Add, 1, 250), ptr(out), ptr(part))
	if e := math.Abs(float64(out[0])-want) / want; e > 1e-6 {
		t.Errorf("the sum is %g, expected %g: relative error %.2g", out[0], want, e)
	}
}

// TestUpdateInPlace reads and writes one buffer, shifted too: a store must not
// overtake loads of what it overwrites.
func TestUpdateInPlace(t *testing.T) {
	const n = 50
	m := newMaker()
	a := m.param(0, uop.Float32, n)
	two := m.float(uop.Float32, 2)
	i := m.loop(0, n, uop.AxisLoop)
	m.end(m.store(m.index(a, i), m.alu(uop.Mul, m.load(m.index(a, i)), two)), i)
	k := m.compile(t, "double")
	buf := make([]float32, n)
	for i := range buf {
		buf[i] = float32(i)
	}
	mustRun(t, k, ptr(buf))
	for i, v := range buf {
		if v != float32(2*i) {
			t.Errorf("element %d is %g", i, v)
			return
		}
	}
	if !k.Params[0].Read || !k.Params[0].Written {
		t.Error("the buffer is read and written, its Param does not say so")
	}

	m = newMaker()
	a = m.param(0, uop.Float32, n)
	one := m.int(1)
	i = m.loop(0, n-1, uop.AxisLoop)
	next := m.alu(uop.Add, i, one)
	// a[i+1] = a[i]: every element becomes the first.
	m.end(m.store(m.index(a, next), m.load(m.index(a, i))), i)
	buf[0] = 5
	mustRun(t, m.compile(t, "smear"), ptr(buf))
	for i, v := range buf {
		if v != 5 {
			t.Fatalf("element %d is %g, expected 5 from the element before", i, v)
		}
	}
}

// TestReversedAndStrided loads neighbours in other orders.
func TestReversedAndStrided(t *testing.T) {
	const n = 32
	for name, f := range map[string]func(i int64) int64{
		"reversed": func(i int64) int64 { return n - 1 - i }, "doubled": func(i int64) int64 { return 2 * i }, "same": func(int64) int64 { return 3 },
	} {
		for _, dt := range []*uop.DType{uop.Float32, uop.Int8, uop.Uint16} {
			m := newMaker()
			o, a := m.param(0, dt, n), m.param(1, dt, 2*n)
			c := m.int(f(0))
			step := m.int(f(1) - f(0))
			i := m.loop(0, n, uop.AxisLoop)
			idx := m.alu(uop.Add, m.alu(uop.Mul, i, step), c)
			m.end(m.store(m.index(o, i), m.load(m.index(a, idx))), i)
			size := int64(dt.Itemsize())
			in, out := make([]byte, 2*n*size), make([]byte, n*size)
			for i := range in {
				in[i] = byte(i)
			}
			mustRun(t, m.compile(t, name), ptr(out), ptr(in))
			for i := range int64(n) {
				if got, expected := out[i*size:][:size], in[f(i)*size:][:size]; !bytes.Equal(got, expected) {
					t.Errorf("%s %s: element %d is %v, expected %v", name, dt, i, got, expected)
				}
			}
		}
	}
}

// TestGates guards loads and stores at the edge of a page that must not be touched.
func TestGates(t *testing.T) {
	const n = 16
	// The kernel reads as many elements before and behind the buffer behind a gate.
	in := guard.Slice[float32](t, 1024, 0)
	for i := range in {
		in[i] = float32(i)
	}
	m := newMaker()
	o, a := m.param(0, uop.Float32, 3*1024), m.param(1, uop.Float32, 1024)
	shift, size := m.int(-1024), m.int(1024)
	minus := m.int(-1)
	alt := m.float(uop.Float32, -9)
	i := m.loop(0, 3*1024, uop.AxisLoop)
	idx := m.alu(uop.Add, i, shift)
	gate := m.alu(uop.And, m.alu(uop.CmpLt, minus, idx), m.alu(uop.CmpLt, idx, size))
	v := m.load(m.index(a, idx, gate), alt)
	m.end(m.store(m.index(o, i), v), i)
	out := make([]float32, 3*1024)
	mustRun(t, m.compile(t, "pad"), ptr(out), unsafe.Pointer(&in[0]))
	for i, v := range out {
		want := float32(-9)
		if i >= 1024 && i < 2048 {
			want = float32(i - 1024)
		}
		if v != want {
			t.Fatalf("element %d is %g, expected %g", i, v, want)
		}
	}

	// Stores behind a gate, as lowering makes them: IF, STORE, ENDIF.
	m = newMaker()
	o = m.param(0, uop.Float32, n)
	limit := m.int(5)
	one := m.float(uop.Float32, 1)
	i = m.loop(0, n, uop.AxisLoop)
	g := m.alu(uop.CmpLt, i, limit)
	at := m.index(o, i, g)
	mif := m.add(uop.If, uop.Void, nil, g, at)
	st := m.store(at, one)
	m.add(uop.EndIf, uop.Void, nil, mif)
	m.end(st, i)
	few := make([]float32, n)
	mustRun(t, m.compile(t, "some"), ptr(few))
	for i, v := range few {
		if (v == 1) != (i < 5) {
			t.Errorf("element %d is %g", i, v)
		}
	}
}

// reverser makes a kernel that turns n elements around by way of its own memory.
func reverser(t *testing.T, space uop.AddrSpace, n int64) *Kernel {
	m := newMaker()
	o, a := m.param(0, uop.Float32, n), m.param(1, uop.Float32, n)
	op := uop.DefineLocal
	if space == uop.Reg {
		op = uop.DefineReg
	}
	tmp := m.add(op, uop.Float32.Ptr(n, space), uop.Num(0))
	last := m.int(n - 1)
	i := m.loop(0, n, uop.AxisLoop)
	end := m.end(m.store(m.index(tmp, i), m.load(m.index(a, i))), i)
	after := m.add(uop.After, tmp.DType, nil, tmp, m.add(uop.Barrier, uop.Void, nil, end))
	j := m.loop(1, n, uop.AxisLoop)
	m.end(m.store(m.index(o, j), m.load(m.index(after, m.alu(uop.Sub, last, j)))), j)
	return m.compile(t, "reverse")
}

// runReverser runs such a kernel and looks at the result.
func runReverser(t *testing.T, k *Kernel, n int) {
	t.Helper()
	in, out := make([]float32, n), make([]float32, n)
	for i := range in {
		in[i] = float32(i)
	}
	mustRun(t, k, ptr(out), ptr(in))
	for i, v := range out {
		if v != float32(n-1-i) {
			t.Errorf("element %d is %g", i, v)
			return
		}
	}
}

// TestScratchMemory uses a LOCAL buffer and a register indexed by a loop.
func TestScratchMemory(t *testing.T) {
	runReverser(t, reverser(t, uop.Local, 24), 24)
	runReverser(t, reverser(t, uop.Reg, 24), 24)
}

// TestVariables takes the length of a loop from an argument, 0 included.
func TestVariables(t *testing.T) {
	m := newMaker()
	o := m.param(0, uop.Float32, 100)
	n := m.add(uop.DefineVar, uop.Int32, uop.VarArg{Name: "n", Min: uop.Int(0), Max: uop.Int(100)})
	one := m.float(uop.Float32, 1)
	i := m.add(uop.Range, uop.Int32, uop.RangeArg{ID: []int{0}, Type: uop.AxisLoop}, n)
	m.end(m.store(m.index(o, i), one), i)
	k := m.compile(t, "fill")
	if len(k.Vars) != 1 || k.Vars[0].Name != "n" || k.Vars[0].Max != 100 {
		t.Fatalf("variables: %v", k.Vars)
	}
	for _, n := range []int64{0, 1, 7, 100} {
		out := make([]float32, 100)
		if err := k.Run([]unsafe.Pointer{ptr(out)}, []int64{n}); err != nil {
			t.Fatal(err)
		}
		for i, v := range out {
			if (v == 1) != (int64(i) < n) {
				t.Errorf("n = %d: element %d is %g", n, i, v)
			}
		}
	}
}

// TestErrors: what is wrong with a call is an error that names the kernel, and
// the kernel can be used afterwards.
func TestErrors(t *testing.T) {
	k := addOne(t, 8)
	in, out := make([]float32, 8), make([]float32, 8)
	for _, c := range []struct {
		bufs []unsafe.Pointer
		vars []int64
		want string
	}{
		{[]unsafe.Pointer{ptr(out)}, nil, "got 1 buffers and 0 variables, expected 2 and 0"},
		{[]unsafe.Pointer{ptr(out), ptr(in)}, []int64{1}, "got 2 buffers and 1 variables"},
		{[]unsafe.Pointer{ptr(out), nil}, nil, "buffer 1 is NULL"},
	} {
		if err := k.Run(c.bufs, c.vars); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "add_one") {
			t.Errorf("error %v, expected one with %q", err, c.want)
		}
	}
	mustRun(t, k, ptr(out), ptr(in))
	if out[7] != 1 {
		t.Errorf("after errors the kernel gives %g", out[7])
	}
}

// TestCheckTraps leaves a buffer on purpose in a kernel with bounds checks.
func TestCheckTraps(t *testing.T) {
	m := newMaker()
	o, a, idx := m.param(0, uop.Float32, 4), m.param(1, uop.Float32, 4), m.param(2, uop.Int32, 1)
	zero := m.int(0)
	at := m.load(m.index(idx, zero))
	m.store(m.index(o, zero), m.load(m.index(a, at)))
	k := compileList(t, "astray", m.list, render.Options{Check: true})
	in, out, where := make([]float32, 1024), make([]float32, 4), []int32{3}
	in[3] = 7
	mustRun(t, k, ptr(out), ptr(in), ptr(where))
	if out[0] != 7 {
		t.Errorf("inside the bounds the element is %g", out[0])
	}
	for _, i := range []int32{4, -1, 500, -1000, 1 << 29} {
		where[0] = i
		if err := k.Run([]unsafe.Pointer{ptr(out), ptr(in), ptr(where)}, nil); err == nil || !strings.Contains(err.Error(), "astray") {
			t.Errorf("index %d of 4: error %v", i, err)
		}
	}
	where[0] = 2
	mustRun(t, k, ptr(out), ptr(in), ptr(where))
}

// TestCloseAndCollect closes kernels of a batch one by one, and lets others be collected.
func TestCloseAndCollect(t *testing.T) {
	var rs []*render.Kernel
	for range 3 {
		m := newMaker()
		o := m.param(0, uop.Float32, 4)
		m.store(m.index(o, m.int(0)), m.float(uop.Float32, 3))
		rs = append(rs, renderList(t, "three", m.list, render.Options{}))
	}
	ks, err := Compile(1, rs...)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, 4)
	mustRun(t, ks[2], ptr(out))
	ks[0].Close()
	ks[0].Close()
	out[0] = 0
	mustRun(t, ks[1], ptr(out))
	if out[0] != 3 {
		t.Errorf("a kernel of the same module gives %g", out[0])
	}
	of := ks[1].state.of
	ks[1].Close()
	if of.kernels != 1 {
		t.Errorf("%d kernels are left, expected 1", of.kernels)
	}
	ks = nil
	for range 100 {
		runtime.GC()
		of.mu.Lock()
		left := of.kernels
		of.mu.Unlock()
		if left == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("a kernel that nobody refers to was not freed")
}

// TestRunDoesNotAllocate: a kernel in a plan runs without touching Go's heap.
func TestRunDoesNotAllocate(t *testing.T) {
	k := addOne(t, 16)
	bufs := []unsafe.Pointer{ptr(make([]float32, 16)), ptr(make([]float32, 16))}
	if n := testing.AllocsPerRun(100, func() {
		if err := k.Run(bufs, nil); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a run allocates %g times", n)
	}
}
