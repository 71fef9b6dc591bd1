package wasm

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/render/wasm/binary"
	"polygrad/tests/parity/dump"
)

// lists builds linear lists by hand.
type lists struct {
	g    *uop.Graph
	list []*uop.UOp
}

func newList() *lists { return &lists{g: symbolic.NewGraph()} }

func (m *lists) add(op uop.Op, dt *uop.DType, arg uop.Arg, src ...*uop.UOp) *uop.UOp {
	u := m.g.New(op, dt, src, arg, nil)
	m.list = append(m.list, u)
	return u
}

func (m *lists) param(slot int, dt *uop.DType, n int64) *uop.UOp {
	return m.add(uop.Param, dt.Ptr(n, uop.Global), uop.Num(slot))
}

func (m *lists) int(v int64) *uop.UOp { return m.add(uop.ConstOp, uop.Int32, uop.Int(v)) }

func (m *lists) loop(id int, n int64, t uop.AxisType) *uop.UOp {
	return m.add(uop.Range, uop.Int32, uop.RangeArg{ID: []int{id}, Type: t}, m.int(n))
}

func (m *lists) end(last, rng *uop.UOp) { m.add(uop.End, uop.Void, nil, last, rng) }

func (m *lists) load(buf, idx *uop.UOp) *uop.UOp {
	return m.add(uop.Load, buf.DType.Base(), nil, m.add(uop.Index, buf.DType, nil, buf, idx))
}

func (m *lists) store(buf, idx, v *uop.UOp) *uop.UOp {
	return m.add(uop.Store, uop.Void, nil, m.add(uop.Index, buf.DType, nil, buf, idx), v)
}

func (m *lists) alu(op uop.Op, a, b *uop.UOp) *uop.UOp { return m.add(op, b.DType, nil, a, b) }

// tally counts the instructions of a kernel.
type tally map[binary.Op]int

func count(t *testing.T, list []*uop.UOp) (tally, *Kernel) {
	t.Helper()
	return countFor(t, list, ir.Wasm, Options{})
}

// countFor does the same for a machine.
func countFor(t *testing.T, list []*uop.UOp, m ir.Machine, opt Options) (tally, *Kernel) {
	t.Helper()
	nk, err := nest.Compile("test", list, m)
	if err != nil {
		t.Fatal(err)
	}
	k := newKernel(nk, opt)
	_, c := k.schedule(nk, opt)
	out := tally{}
	seen := map[*inst]bool{}
	var visit func(n *inst)
	visit = func(n *inst) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		if n.what != isConst && n.what != isParam && n.what != isPhi && n.what != isFinal {
			out[n.op]++
		}
		for _, a := range n.args {
			visit(a)
		}
	}
	var walk func(c *code)
	walk = func(c *code) {
		for _, st := range c.steps {
			visit(st.inst)
			if st.write != nil {
				out[st.write.op]++
				visit(st.write.ptr)
				visit(st.write.val)
				visit(st.write.gate)
			}
			if st.loop != nil {
				for _, v := range st.loop.vars {
					visit(v.init)
					visit(v.next)
				}
				walk(st.loop.body)
			}
		}
	}
	walk(c)
	return out, k
}

func TestElementwiseLoopBecomesVectors(t *testing.T) {
	m := newList()
	o, a, b := m.param(0, uop.Float32, 1024), m.param(1, uop.Float32, 1024), m.param(2, uop.Float32, 1024)
	i := m.loop(0, 1024, uop.AxisLoop)
	m.end(m.store(o, i, m.alu(uop.Add, m.load(a, i), m.load(b, i))), i)
	n, _ := count(t, m.list)
	stores := n[binary.V128Store]
	if n[binary.F32Load] != 0 || n[binary.F32Store] != 0 || stores < 4 || n[binary.V128Load] != 2*stores || n[binary.F32x4Add] != stores {
		t.Errorf("instructions: %v", n)
	}
	// One pointer for each buffer and the counter move in a loop, nothing else is computed there.
	if n[binary.I32Mul] != 0 || n[binary.I64Mul] != 0 {
		t.Errorf("%d and %d multiplications of integers, expected none", n[binary.I32Mul], n[binary.I64Mul])
	}
}

func TestStridedLoadsGoLaneByLane(t *testing.T) {
	m := newList()
	o, a := m.param(0, uop.Float32, 64), m.param(1, uop.Float32, 6400)
	step := m.int(100)
	i := m.loop(0, 64, uop.AxisLoop)
	m.end(m.store(o, i, m.load(a, m.alu(uop.Mul, i, step))), i)
	n, _ := count(t, m.list)
	if n[binary.V128Load] != 0 || n[binary.V128Load32Lane] != 3*n[binary.V128Load32Zero] || n[binary.V128Load32Zero] != n[binary.V128Store] {
		t.Errorf("instructions: %v", n)
	}
}

// TestGatesOfWholeVectors: a join whose parts begin at multiples of the lanes is loaded by vectors, as is one that reads no element behind the memory;
// any other one is loaded lane by lane.
func TestGatesOfWholeVectors(t *testing.T) {
	for _, c := range []struct {
		edge, size int64
		vectors    bool
	}{{32, 40, true}, {33, 40, false}, {4, 40, true}, {-1, 40, false}, {33, 64, true}, {-1, 64, true}} {
		m := newList()
		o, a := m.param(0, uop.Float32, 64), m.param(1, uop.Float32, c.size)
		i := m.loop(0, 64, uop.AxisLoop)
		gate := m.add(uop.CmpLt, uop.Bool, nil, i, m.int(c.edge))
		if c.edge < 0 { // 31 < i is the other side of i < 32, 32 < i is not
			gate = m.add(uop.CmpLt, uop.Bool, nil, m.int(32), i)
		}
		at := m.add(uop.Index, a.DType, nil, a, i, gate)
		v := m.add(uop.Load, uop.Float32, nil, at, m.add(uop.ConstOp, uop.Float32, uop.Float(0)))
		m.end(m.store(o, i, v), i)
		n, _ := count(t, m.list)
		if lanes := n[binary.V128Load32Lane] + n[binary.F32Load]; (lanes == 0) != c.vectors || (n[binary.V128Load] > 0) != c.vectors {
			t.Errorf("edge %d: instructions %v", c.edge, n)
		}
	}
}

// TestLongComputationsTakeTurns: the vectors of a tile of exp are computed side by side, with each constant in a local that all
// of them use; those of a sum of two vectors, which is short, one after the other.
func TestLongComputationsTakeTurns(t *testing.T) {
	text := func(f func(m *lists, x *uop.UOp) *uop.UOp) string {
		m := newList()
		o, a := m.param(0, uop.Float32, 1024), m.param(1, uop.Float32, 1024)
		i := m.loop(0, 1024, uop.AxisLoop)
		m.end(m.store(o, i, f(m, m.load(a, i))), i)
		nk, err := nest.Compile("test", m.list, ir.Wasm)
		if err != nil {
			t.Fatal(err)
		}
		k, err := Render(nk, Options{})
		if err != nil {
			t.Fatal(err)
		}
		code, err := binary.Text(Module(1, k))
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	vectors := regexp.MustCompile(`v128\.(load|store|const)|f32x4\.mul|f32x4\.add`)
	exp := strings.Join(vectors.FindAllString(text(func(m *lists, x *uop.UOp) *uop.UOp { return m.add(uop.Exp, x.DType, nil, x) }), -1), " ")
	for _, abreast := range []string{
		strings.Repeat("v128.load ", 4), "v128.const " + strings.Repeat("f32x4.mul ", 4), "v128.const " + strings.Repeat("f32x4.add ", 4),
	} {
		if !strings.Contains(exp, strings.TrimSpace(abreast)) {
			t.Errorf("exp has no %q: %s", abreast, exp)
		}
	}
	if n := strings.Count(exp, "const"); n > 20 {
		t.Errorf("exp of four vectors sets %d constants, expected up to 20: %s", n, exp)
	}
	add := strings.Join(vectors.FindAllString(text(func(m *lists, x *uop.UOp) *uop.UOp { return m.alu(uop.Add, x, x) }), -1), " ")
	if want := strings.TrimSpace(strings.Repeat("v128.load f32x4.add v128.store ", 4)); !strings.Contains(add, want) {
		t.Errorf("a sum has %s, expected %s", add, want)
	}
}

// sumRows is out[r] = the sum of row r.
func sumRows(rows, cols int64) []*uop.UOp {
	m := newList()
	o, a := m.param(0, uop.Float32, rows), m.param(1, uop.Float32, rows*cols)
	acc := m.add(uop.DefineReg, uop.Float32.Ptr(1, uop.Reg), uop.Num(0))
	zero, width := m.int(0), m.int(cols)
	none := m.add(uop.ConstOp, uop.Float32, uop.Float(0))
	i := m.loop(0, rows, uop.AxisLoop)
	row := m.alu(uop.Mul, i, width)
	init := m.store(m.add(uop.After, acc.DType, nil, acc, i), zero, none)
	j := m.loop(1, cols, uop.AxisReduceT)
	in := m.add(uop.After, acc.DType, nil, acc, init, j)
	m.end(m.store(acc, zero, m.alu(uop.Add, m.load(in, zero), m.load(a, m.alu(uop.Add, row, j)))), j)
	m.end(m.store(o, i, m.load(m.add(uop.After, acc.DType, nil, acc, m.list[len(m.list)-1]), zero)), i)
	return m.list
}

func TestSumHasVectorsOfPartialSums(t *testing.T) {
	n, _ := count(t, sumRows(8, 1024))
	if n[binary.V128Load] < 4 || n[binary.F32Load] != 0 || n[binary.F32x4Add] < n[binary.V128Load] {
		t.Errorf("instructions: %v", n)
	}
}

// product is the sum of so many products of two n x n matrices, one result at a time.
func product(n int64, terms int) []*uop.UOp {
	m := newList()
	o := m.param(0, uop.Float32, n*n)
	var as, bs []*uop.UOp
	for i := range terms {
		as, bs = append(as, m.param(1+2*i, uop.Float32, n*n)), append(bs, m.param(2+2*i, uop.Float32, n*n))
	}
	acc := m.add(uop.DefineReg, uop.Float32.Ptr(1, uop.Reg), uop.Num(0))
	zero, width := m.int(0), m.int(n)
	none := m.add(uop.ConstOp, uop.Float32, uop.Float(0))
	i := m.loop(0, n, uop.AxisLoop)
	row := m.alu(uop.Mul, i, width)
	j := m.loop(1, n, uop.AxisLoop)
	init := m.store(m.add(uop.After, acc.DType, nil, acc, i, j), zero, none)
	k := m.loop(2, n, uop.AxisReduceT)
	in := m.add(uop.After, acc.DType, nil, acc, init, k)
	rowAt, columnAt := m.alu(uop.Add, row, k), m.alu(uop.Add, m.alu(uop.Mul, k, width), j)
	var all *uop.UOp
	for i := range terms {
		term := m.alu(uop.Mul, m.load(as[i], rowAt), m.load(bs[i], columnAt))
		if all != nil {
			term = m.alu(uop.Add, all, term)
		}
		all = term
	}
	m.end(m.store(acc, zero, m.alu(uop.Add, m.load(in, zero), all)), k)
	sum := m.load(m.add(uop.After, acc.DType, nil, acc, m.list[len(m.list)-1]), zero)
	m.end(m.store(o, m.alu(uop.Add, row, j), sum), j)
	m.end(m.list[len(m.list)-1], i)
	return m.list
}

func TestProductIsTiled(t *testing.T) {
	n, _ := count(t, product(64, 1))
	// Rows are packed in all lanes; a vector that is loaded of them, and one of columns, is used several times.
	if n[binary.F32Mul] != 0 || n[binary.F32x4Mul] < 8 || n[binary.F32x4Mul] < n[binary.V128Load] {
		t.Errorf("instructions: %v", n)
	}
	// Columns that are left are computed in a vector that overlaps the one before.
	n, _ = count(t, product(67, 1))
	if n[binary.F32Mul] != 0 || n[binary.F32x4Mul] < 8 {
		t.Errorf("instructions with columns left: %v", n)
	}
	// A single one uses the same rows, one by one.
	n, _ = count(t, product(65, 1))
	if n[binary.F32Mul] == 0 || n[binary.F32x4Mul] < 8 || n[binary.F32x4Mul] < n[binary.V128Load] {
		t.Errorf("instructions with a column left: %v", n)
	}
}

// TestFusedProducts: products are added by fused multiply-adds, scalars as the first lane of vectors, and an element of a row is loaded
// into all lanes.
func TestFusedProducts(t *testing.T) {
	n, _ := countFor(t, product(65, 1), ir.WasmFused, Options{SplatLoads: true})
	if n[binary.F32x4RelaxedMadd] < 8 || n[binary.V128Load32Splat] == 0 || n[binary.F32x4ExtractLane] == 0 || n[binary.F32x4Mul]+n[binary.F32Mul] != 0 {
		t.Errorf("instructions: %v", n)
	}
	n, _ = countFor(t, product(64, 1), ir.WasmJS, Options{SplatLoads: true})
	if n[binary.F32x4RelaxedMadd] != 0 || n[binary.V128Load32Splat] == 0 || n[binary.F32x4Mul] < 8 {
		t.Errorf("instructions without fused ones: %v", n)
	}
}

// TestManyProducts: the terms of a sum of several products are added for all results in turn, so that what is loaded is
// used soon, and the packs of all of them have two pointers.
func TestManyProducts(t *testing.T) {
	nk, err := nest.Compile("test", product(64, 9), ir.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	_, c := newKernel(nk, Options{}).schedule(nk, Options{})
	products := 0
	var walk func(c *code)
	walk = func(c *code) {
		for _, st := range c.steps {
			if st.loop == nil {
				continue
			}
			walk(st.loop.body)
			sums, pointers := 0, 0
			for _, v := range st.loop.vars {
				if isFloat(v.v) {
					sums++
				} else {
					pointers++
				}
			}
			if sums < 8 { // not that of full tiles
				continue
			}
			products++
			if pointers > 3 {
				t.Errorf("%d pointers and counters, expected at most 3", pointers)
			}
			most, at := 0, map[*inst]int{}
			var used func(n *inst, i int)
			used = func(n *inst, i int) {
				if from, ok := at[n]; ok {
					most = max(most, i-from)
				} else if n.state == inlined {
					for _, a := range n.args {
						used(a, i)
					}
				}
			}
			for i, st := range st.loop.body.steps {
				if st.inst == nil {
					continue
				}
				for _, a := range st.inst.args {
					used(a, i)
				}
				if st.inst.what == isLoad {
					at[st.inst] = i
				}
			}
			if limit := 5 * sums; most == 0 || most > limit {
				t.Errorf("a load is used %d steps later, expected at most %d", most, limit)
			}
		}
	}
	walk(c)
	if products == 0 {
		t.Error("no loop has the accumulators of a tile")
	}
}

// TestErrors renders what the machine that nest knows as wasm does not have.
func TestErrors(t *testing.T) {
	for want, build := range map[string]func(b *ir.Builder, at *ir.Place){
		"scale": func(b *ir.Builder, at *ir.Place) {
			x := b.Load(at, 4, nil)
			b.Store(at, b.Do(ir.Scale, ir.F32, x, x))
		},
		"packed operands": func(b *ir.Builder, at *ir.Place) { b.Cur.Items = append(b.Cur.Items, ir.Item{Dot: &ir.Dot{}}) },
		"f16": func(b *ir.Builder, at *ir.Place) {
			b.Store(&ir.Place{Buf: &ir.Buffer{ID: 2, Kind: ir.F16, Size: 4}, Stride: 1}, b.Load(at, 4, nil))
		},
	} {
		b := ir.NewBuilder("broken", 4)
		b.Params = append(b.Params, ir.Param{DType: uop.Float32, Size: 4})
		build(b, &ir.Place{Buf: &ir.Buffer{ID: 1, Kind: ir.F32, Size: 4}, Stride: 1})
		k, err := Render(b.Kernel, Options{})
		if err == nil || k != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "broken") {
			t.Errorf("error %v, expected one with %q", err, want)
		}
	}
}

// TestWholeTakesAddresses: a function for hosts that know nothing of work items takes 32-bit addresses only.
func TestWholeTakesAddresses(t *testing.T) {
	nk, err := nest.Compile("test", product(64, 1), ir.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{false, true} {
		k, err := Render(nk, Options{Whole: whole})
		if err != nil {
			t.Fatal(err)
		}
		if wide := slices.Contains(k.paramTypes(), binary.I64); wide == whole {
			t.Errorf("whole %v: parameters %v", whole, k.paramTypes())
		}
	}
}

// TestSameBytes renders reference kernels twice: equal lists give equal code.
func TestSameBytes(t *testing.T) {
	for _, name := range []string{"vecadd", "o_mm_256", "o_layernorm_32x128", "o_conv_16x16", "un_sin"} {
		c, err := dump.ReadCase(filepath.Join("../../tests/parity/testdata/opt", name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		for _, dk := range c.Kernels {
			ast, err := dump.Root(symbolic.NewGraph(), dk.AST)
			if err != nil {
				t.Fatal(err)
			}
			p, err := lower.Lower(ast, lower.Native())
			if err != nil {
				t.Fatal(err)
			}
			var first []byte
			for range 4 {
				nk, err := nest.Compile(p.Name, p.Linear, ir.Wasm)
				if err != nil {
					t.Fatal(err)
				}
				k, err := Render(nk, Options{})
				if err != nil {
					t.Fatal(err)
				}
				code := Module(16, k)
				if first == nil {
					first = code
				}
				if !bytes.Equal(code, first) || !bytes.Equal(Module(16, k), first) {
					t.Fatalf("%s: kernel %s renders to different code", name, p.Name)
				}
			}
		}
	}
}

// TestHostModule runs a kernel on the memory of another module, with its arguments as words in that memory.
func TestHostModule(t *testing.T) {
	l := newList()
	o, a := l.param(0, uop.Int32, 8), l.param(1, uop.Int32, 8)
	n := l.add(uop.DefineVar, uop.Int32, uop.VarArg{Name: "n", Min: uop.Int(0), Max: uop.Int(9)})
	i := l.loop(0, 8, uop.AxisLoop)
	l.end(l.store(o, i, l.alu(uop.Add, l.load(a, i), n)), i)
	nk, err := nest.Compile("add", l.list, ir.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	k, err := Render(nk, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer func() { _ = rt.Close(ctx) }()
	host := &binary.Module{}
	host.Memory("memory", 1, 1)
	env, err := rt.InstantiateWithConfig(ctx, host.Bytes(), wazero.NewModuleConfig().WithName("env"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := rt.Instantiate(ctx, HostModule(false, k, k))
	if err != nil {
		t.Fatal(err)
	}
	const out, in, args = 256, 512, 1024
	for i := range uint32(8) {
		env.Memory().WriteUint32Le(in+4*i, 10*i)
	}
	for i, word := range []uint64{out, in, 5, 0, uint64(k.Items), 2048} {
		env.Memory().WriteUint64Le(args+8*uint32(i), word)
	}
	if _, err := m.ExportedFunction("k1").Call(ctx, args); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(8) {
		if got, _ := env.Memory().ReadUint32Le(out + 4*i); got != 10*i+5 {
			t.Errorf("element %d is %d, expected %d", i, got, 10*i+5)
		}
	}
	for _, shared := range []bool{false, true} {
		text, err := binary.Text(HostModule(shared, k))
		want := `(memory (import "env" "memory") 0` + map[bool]string{true: " 65536 shared"}[shared] + ")\n"
		if err != nil || !strings.Contains(text, want) || !strings.Contains(text, `(export "k0") (param i32)`) {
			t.Errorf("%v; expected %q and k0 of an i32 in\n%s", err, want, text)
		}
	}
}
