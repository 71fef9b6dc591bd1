package wasm

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"polygrad/core/lower"
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

func newList() *lists { return &lists{g: symbolic.NewScratch()} }

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
	k := &Kernel{Name: "test", Threads: 1}
	_, c, err := k.plan(list, Options{})
	if err != nil {
		t.Fatal(err)
	}
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
	if n[binary.F32Load] != 0 || n[binary.F32Store] != 0 || n[binary.V128Load] != 32 || n[binary.V128Store] != 16 || n[binary.F32x4Add] != 16 {
		t.Errorf("instructions: %v", n)
	}
	// One pointer for each buffer and the counter move, nothing else is computed.
	if n[binary.I32Add] != 4 || n[binary.I32Mul] != 0 {
		t.Errorf("%d additions and %d multiplications of integers, expected 4 and 0", n[binary.I32Add], n[binary.I32Mul])
	}
}

func TestScatteredLoadsStayScalar(t *testing.T) {
	m := newList()
	o, a := m.param(0, uop.Float32, 64), m.param(1, uop.Float32, 6400)
	step := m.int(100)
	i := m.loop(0, 64, uop.AxisLoop)
	m.end(m.store(o, i, m.load(a, m.alu(uop.Mul, i, step))), i)
	if n, _ := count(t, m.list); n[binary.V128Load] != 0 || n[binary.F32Load] == 0 || n[binary.V128Store] != 0 {
		t.Errorf("instructions: %v", n)
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
	if n[binary.V128Load] != 8 || n[binary.F32Load] != 0 || n[binary.F32x4Add] != 8 {
		t.Errorf("instructions: %v", n)
	}
}

// product is the product of two n x n matrices, one result at a time.
func product(n int64) []*uop.UOp {
	m := newList()
	o, a, b := m.param(0, uop.Float32, n*n), m.param(1, uop.Float32, n*n), m.param(2, uop.Float32, n*n)
	acc := m.add(uop.DefineReg, uop.Float32.Ptr(1, uop.Reg), uop.Num(0))
	zero, width := m.int(0), m.int(n)
	none := m.add(uop.ConstOp, uop.Float32, uop.Float(0))
	i := m.loop(0, n, uop.AxisLoop)
	row := m.alu(uop.Mul, i, width)
	j := m.loop(1, n, uop.AxisLoop)
	init := m.store(m.add(uop.After, acc.DType, nil, acc, i, j), zero, none)
	k := m.loop(2, n, uop.AxisReduceT)
	in := m.add(uop.After, acc.DType, nil, acc, init, k)
	term := m.alu(uop.Mul, m.load(a, m.alu(uop.Add, row, k)), m.load(b, m.alu(uop.Add, m.alu(uop.Mul, k, width), j)))
	m.end(m.store(acc, zero, m.alu(uop.Add, m.load(in, zero), term)), k)
	sum := m.load(m.add(uop.After, acc.DType, nil, acc, m.list[len(m.list)-1]), zero)
	m.end(m.store(o, m.alu(uop.Add, row, j), sum), j)
	m.end(m.list[len(m.list)-1], i)
	return m.list
}

func TestPlainProductIsTiled(t *testing.T) {
	n, k := count(t, product(64))
	if n[binary.F32Load] != 0 || n[binary.F32Mul] != 0 || n[binary.F32x4Mul] == 0 {
		t.Errorf("instructions: %v", n)
	}
	if k.Scratch != 64*16 {
		t.Errorf("%d bytes of scratch memory, expected %d for the spread elements of a row", k.Scratch, 64*16)
	}
}

func TestRenderErrors(t *testing.T) {
	for want, build := range map[string]func(m *lists){
		"POW":                       func(m *lists) { f := m.add(uop.ConstOp, uop.Float32, uop.Float(2)); m.alu(uop.Pow, f, f) },
		"has no END":                func(m *lists) { m.loop(0, 4, uop.AxisLoop) },
		"innermost":                 func(m *lists) { i := m.loop(0, 4, uop.AxisLoop); m.loop(1, 4, uop.AxisLoop); m.end(i, i) },
		"used before it is defined": func(m *lists) { c := m.int(3); m.list = m.list[:0]; m.alu(uop.Add, c, c) },
		"index cannot be rendered":  func(m *lists) { m.add(uop.ConstOp, uop.IndexT, uop.Int(1)) },
		"LOAD of int from a buffer of": func(m *lists) {
			p := m.param(0, uop.Float32, 4)
			m.add(uop.Load, uop.Int32, nil, m.add(uop.Index, p.DType, nil, p, m.int(0)))
		},
		"STORE of float to a buffer": func(m *lists) {
			m.store(m.param(0, uop.Int32, 4), m.int(0), m.add(uop.ConstOp, uop.Float32, uop.Float(2)))
		},
		"BITCAST between types of": func(m *lists) {
			m.store(m.param(0, uop.Int64, 4), m.int(0), m.add(uop.Bitcast, uop.Int64, nil, m.int(1)))
		},
	} {
		m := newList()
		build(m)
		k, err := Render("broken", m.list, Options{})
		if err == nil || k != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "kernel broken") {
			t.Errorf("error %v, expected one with %q", err, want)
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
			ast, err := dump.Root(symbolic.NewScratch(), dk.AST)
			if err != nil {
				t.Fatal(err)
			}
			p, err := lower.Lower(ast, lower.Wasm())
			if err != nil {
				t.Fatal(err)
			}
			var first []byte
			for range 4 {
				k, err := Render(p.Name, p.Linear, Options{})
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

func TestAffineForms(t *testing.T) {
	g := newGraph(8)
	l := &loop{body: &block{parent: g.root, depth: 1}}
	i := g.add(&value{op: uop.Range, kind: kI32, lanes: 1, loop: l, home: l.body})
	j := g.intern(value{op: uop.DefineVar, kind: kI32, lanes: 1})
	op := func(o uop.Op, a, b *value) *value { return g.op(o, kI32, 1, a, b) }
	// ((i + 3) << 2) - i * 4 + j * (-2) is 12 - 2j.
	v := op(uop.Add, op(uop.Sub, op(uop.Shl, op(uop.Add, i, g.int32(3)), g.int32(2)), op(uop.Mul, i, g.int32(4))), op(uop.Mul, j, g.int32(-2)))
	a := g.affineOf(v)
	if a.off != 12 || len(a.terms) != 1 || a.terms[0] != (term{j, -2}) {
		t.Errorf("form %+v", a)
	}
	// What is not a sum of multiples stays whole.
	m := op(uop.Mod, i, g.int32(5))
	if a := g.affineOf(m); len(a.terms) != 1 || a.terms[0].v != m {
		t.Errorf("form of a remainder %+v", a)
	}
}

func TestSupported(t *testing.T) {
	for _, op := range lower.Wasm().Ops.List() {
		if !Supported(op) {
			t.Errorf("lowering leaves %s, the renderer does not take it", op)
		}
	}
	if Supported(uop.Pow) || Supported(uop.Threefry) || Supported(uop.MulAcc) {
		t.Error("POW, THREEFRY and MULACC are said to be supported")
	}
}
