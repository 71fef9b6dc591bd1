package tensor_test

import (
	"sync"
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// lab computes graphs on one device.
type lab struct {
	t *testing.T
	g *uop.Graph
	e *exec.Executor
	b []exec.Binding
}

var executors struct {
	sync.Mutex
	byName map[string]*exec.Executor
}

// newLab makes a lab on the interpreter, or on another device.
func newLab(t *testing.T, device string) *lab {
	t.Helper()
	executors.Lock()
	defer executors.Unlock()
	e := executors.byName[device]
	if e == nil {
		var err error
		if e, err = exec.Open(device); err != nil {
			t.Fatal(err)
		}
		if executors.byName == nil {
			executors.byName = map[string]*exec.Executor{}
		}
		executors.byName[device] = e
	}
	return &lab{t: t, g: symbolic.NewGraph(), e: e}
}

func bind[V any](l *lab, dt *uop.DType, vals []V) *uop.UOp {
	u := l.g.NewBuffer("CPU", int64(len(vals)), dt)
	var v V
	l.b = append(l.b, exec.Binding{Buffer: u, Ptr: unsafe.Pointer(unsafe.SliceData(vals)), Bytes: int64(len(vals)) * int64(unsafe.Sizeof(v))})
	return u
}

// tensor makes an input of a type from numbers, which are rounded to it.
func (l *lab) tensor(dt *uop.DType, vals []float64, shape ...int64) T {
	u := bind(l, uop.Float64, vals)
	if dt != uop.Float64 {
		dst := l.g.NewBuffer("CPU", int64(len(vals)), dt)
		raw := make([]uint64, (int64(len(vals))*int64(dt.Itemsize())+7)/8)
		l.b = append(l.b, exec.Binding{Buffer: dst, Ptr: unsafe.Pointer(unsafe.SliceData(raw)), Bytes: int64(len(raw)) * 8})
		l.realize(dst.Store(must(tensor.Cast(u, dt)).UOp))
		u = dst
	}
	return T{u}.reshape(shape...)
}

func (l *lab) realize(src ...*uop.UOp) {
	l.t.Helper()
	if err := l.e.Realize(l.g.Sink(nil, src...), l.b, nil); err != nil {
		l.t.Fatal(err)
	}
}

// values computes a tensor.
func (l *lab) values(x T) []float64 {
	l.t.Helper()
	n := x.Size()
	out := make([]float64, n)
	if n == 0 {
		return out
	}
	dst := bind(l, uop.Float64, out)
	l.realize(dst.Store(x.cast(uop.Float64).UOp))
	l.b = l.b[:len(l.b)-1]
	return out
}
