// Package skeleton is the least that a device is, to begin a new one with: memory of its own, a queue, kernels. It runs a
// vector add. What is marked with (1) to (4) is what differs from device to device; everything above exec/device stays.
package skeleton

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/device"
)

// skeleton is the device. A new one stands in a folder of exec, and in the tables of exec/devices.go and core/settings.
type skeleton struct{}

func (skeleton) Name() string { return "skeleton" }

// (1) Target: the operations, types and widths of the code generator. What it lacks core/lower expresses by what it has.
func (skeleton) Target() *lower.Target {
	return &lower.Target{Name: "skeleton", Ops: uop.Ops(uop.Add), Missing: []*uop.DType{uop.Float64}}
}

// Limits: no HostMemory, so buffers are what Allocate made, and what users have is copied in and out.
func (skeleton) Limits() device.Limits { return device.Limits{Buffers: 3} }

// (2) Memory: a Buffer points to whatever the device needs to find its memory again, here to a record.
type block struct {
	data []float32
}

func (skeleton) Allocate(bytes int64) (device.Buffer, error) {
	return device.At(unsafe.Pointer(&block{make([]float32, bytes/4)})), nil
}

func (skeleton) Free(b device.Buffer, _ int64) error {
	of(b).data = nil
	return nil
}

func (skeleton) Part(b device.Buffer, offset int64) device.Buffer {
	return device.At(unsafe.Pointer(&block{of(b).data[offset/4:]}))
}

func of(b device.Buffer) *block { return (*block)(b.Pointer()) }

// (3) Compile: a linear list becomes code, which a package of render writes. This one knows lists that add two vectors.
func (skeleton) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	out := make([]device.Kernel, len(progs))
	for i, p := range progs {
		k := &add{name: p.Name}
		for _, u := range p.Linear {
			switch u.Op {
			case uop.Range:
				k.n = u.Src[0].ConstVal().I()
			case uop.Store:
				k.target = slot(u.Src[0])
				sum := u.Src[1]
				if sum.Op != uop.Add || sum.Src[0].Op != uop.Load || sum.Src[1].Op != uop.Load {
					return nil, fmt.Errorf("skeleton: kernel %s: got %s, expected an ADD of two LOADs", p.Name, sum.Op)
				}
				k.x, k.y = slot(sum.Src[0].Src[0]), slot(sum.Src[1].Src[0])
			}
		}
		out[i] = k
	}
	return out, nil
}

// slot is the PARAM behind an INDEX.
func slot(index *uop.UOp) int { return int(index.Src[0].Arg.(uop.Num)) }

// add is a kernel: target = x + y, of n elements. The numbers are places in the list of buffers.
type add struct {
	name         string
	target, x, y int
	n            int64
}

// (4) Queue: work in order. This one does it in Wait; a real one hands it to the device at once.
func (skeleton) NewQueue() device.Queue { return &queue{} }

type queue struct{ work []func() error }

func (q *queue) add(f func()) error {
	q.work = append(q.work, func() error { f(); return nil })
	return nil
}

// Launch copies the list of buffers: it is the caller's again when Launch returns.
func (q *queue) Launch(k device.Kernel, bufs []device.Buffer, _ []int64) error {
	a, b := k.(*add), slices.Clone(bufs)
	return q.add(func() {
		to, x, y := of(b[a.target]).data, of(b[a.x]).data, of(b[a.y]).data
		for i := range a.n {
			to[i] = x[i] + y[i]
		}
	})
}

func (q *queue) Copy(to, from device.Buffer, bytes int64) error {
	return q.add(func() { copy(of(to).data, of(from).data[:bytes/4]) })
}

func (q *queue) CopyIn(to device.Buffer, from []byte) error {
	return q.add(func() { copy(of(to).data, floats(from)) })
}

func (q *queue) CopyOut(to []byte, from device.Buffer) error {
	return q.add(func() { copy(floats(to), of(from).data) })
}

// Wait also returns the errors of launches, each with the name of its kernel.
func (q *queue) Wait() error {
	defer func() { q.work = nil }()
	for _, f := range q.work {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

func TestVectorAdd(t *testing.T) {
	g := symbolic.NewGraph()
	x, y, sum := []float32{1, 2, 3, 4}, []float32{10, 20, 30, 40}, make([]float32, 4)
	var nodes []*uop.UOp
	var binds []exec.Binding
	for _, v := range [][]float32{x, y, sum} {
		b := g.NewBuffer("CPU", 4, uop.Float32)
		nodes, binds = append(nodes, b), append(binds, exec.Binding{Buffer: b, Ptr: unsafe.Pointer(&v[0]), Bytes: 16})
	}
	sink := g.Sink(nil, nodes[2].Store(nodes[0].Add(nodes[1])))
	if err := exec.New(skeleton{}).Realize(sink, binds, nil); err != nil {
		t.Fatal(err)
	}
	if want := []float32{11, 22, 33, 44}; !slices.Equal(sum, want) {
		t.Errorf("got %v, expected %v", sum, want)
	}
}
