package wasm

import (
	"testing"
	"unsafe"

	"polygrad/core/nest"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	render "polygrad/render/wasm"
)

// maker builds linear lists by hand: every node is appended as it is made.
type maker struct {
	g    *uop.Graph
	list []*uop.UOp
}

func newMaker() *maker { return &maker{g: symbolic.NewGraph()} }

func (m *maker) add(op uop.Op, dt *uop.DType, arg uop.Arg, src ...*uop.UOp) *uop.UOp {
	u := m.g.New(op, dt, src, arg, nil)
	m.list = append(m.list, u)
	return u
}

func (m *maker) param(slot int, dt *uop.DType, n int64) *uop.UOp {
	return m.add(uop.Param, dt.Ptr(n, uop.Global), uop.Num(slot))
}

func (m *maker) int(v int64) *uop.UOp { return m.add(uop.ConstOp, uop.Int32, uop.Int(v)) }

func (m *maker) float(dt *uop.DType, v float64) *uop.UOp {
	return m.add(uop.ConstOp, dt, uop.Float(v))
}

func (m *maker) loop(id int, n int64, t uop.AxisType) *uop.UOp {
	return m.add(uop.Range, uop.Int32, uop.RangeArg{ID: []int{id}, Type: t}, m.int(n))
}

func (m *maker) end(last, rng *uop.UOp) *uop.UOp { return m.add(uop.End, uop.Void, nil, last, rng) }

func (m *maker) alu(op uop.Op, src ...*uop.UOp) *uop.UOp {
	dt := src[len(src)-1].DType
	if uop.GroupComparison.Has(op) {
		dt = uop.Bool.Vec(dt.Count)
	}
	return m.add(op, dt, nil, src...)
}

func (m *maker) index(buf *uop.UOp, idx ...*uop.UOp) *uop.UOp {
	return m.add(uop.Index, buf.DType, nil, append([]*uop.UOp{buf}, idx...)...)
}

func (m *maker) load(ptr *uop.UOp, alt ...*uop.UOp) *uop.UOp {
	return m.add(uop.Load, ptr.DType.Base(), nil, append([]*uop.UOp{ptr}, alt...)...)
}

func (m *maker) store(ptr, v *uop.UOp) *uop.UOp { return m.add(uop.Store, uop.Void, nil, ptr, v) }

// compile renders and compiles the list.
func (m *maker) compile(t testing.TB, name string) *Kernel {
	t.Helper()
	return compileList(t, name, m.list, render.Options{})
}

func compileList(t testing.TB, name string, list []*uop.UOp, opt render.Options) *Kernel {
	t.Helper()
	ks, err := Compile(1, renderList(t, name, list, opt))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ks[0].Close)
	return ks[0]
}

func renderList(t testing.TB, name string, list []*uop.UOp, opt render.Options) *render.Kernel {
	t.Helper()
	m, options := compiler()
	options.Check = opt.Check
	k, err := nest.Compile(name, list, m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := render.Render(k, options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mapKernel is out[i] = f(in[i]) for n elements.
func mapKernel(t testing.TB, name string, n int64, in, out *uop.DType, f func(m *maker, x *uop.UOp) *uop.UOp) *Kernel {
	m := newMaker()
	o, a := m.param(0, out, n), m.param(1, in, n)
	i := m.loop(0, n, uop.AxisLoop)
	v := f(m, m.load(m.index(a, i)))
	m.end(m.store(m.index(o, i), v), i)
	return m.compile(t, name)
}

func ptr[T any](s []T) unsafe.Pointer { return unsafe.Pointer(&s[0]) }

func mustRun(t testing.TB, k *Kernel, bufs ...unsafe.Pointer) {
	t.Helper()
	if err := k.Run(bufs, nil); err != nil {
		t.Fatal(err)
	}
}
