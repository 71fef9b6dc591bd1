// Package interp runs linear lists without generating code. It is the reference
// against which code generators are tested, so it is written for plainness: every
// value is computed in Go and every access to memory is checked.
package interp

import (
	"fmt"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// Device is the interpreter as a device.
type Device struct {
	device.Host
	target *lower.Target
}

// New makes an interpreter. Its kernels are not optimised and keep every operation that
// Go's math package computes, so that they have little in common with those of other devices.
func New() *Device {
	return &Device{target: &lower.Target{Name: "interp", Ops: uop.GroupALU.Minus(uop.Threefry, uop.Pow, uop.MulAcc), Threads: 1}}
}

// Name is "interp".
func (d *Device) Name() string { return "interp" }

// Target is the target that lists are lowered for.
func (d *Device) Target() *lower.Target { return d.target }

// Compile prepares the lists for running.
func (d *Device) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	ks := make([]device.Kernel, len(progs))
	for i, p := range progs {
		k, err := Compile(p.Name, p.Linear)
		if err != nil {
			return nil, err
		}
		ks[i] = k
	}
	return ks, nil
}

// value is one element: an integer (bools and bit patterns of unsigned types included) or a float.
type value struct {
	i int64
	f float64
}

// pointer is a place in memory: an element of an array, or nothing where the index is invalid.
type pointer struct {
	base unsafe.Pointer
	size int64 // elements of the array
	off  int64 // element pointed to
	elem *uop.DType
	live bool // false behind a gate that is closed
}

// frame is the state of one run.
type frame struct {
	vals [][]value
	ptrs []pointer
	bufs []unsafe.Pointer
	vars []int64
	err  error
}

// step is one instruction; it returns the index of the next one.
type step func(f *frame, pc int) int

// Kernel is a prepared list.
type Kernel struct {
	name  string
	steps []step
	width []int // elements of each value
	// arrays are the DEFINE_REG and DEFINE_LOCAL nodes: slot and element type.
	arrays []array
	nbufs  int
	nvars  int
	// thread is the slot of the thread number, -1 if the kernel is not spread over threads.
	thread, threads int
}

type array struct {
	slot int
	elem *uop.DType
	size int64
}

// Compile prepares a linear list.
func Compile(name string, list []*uop.UOp) (*Kernel, error) {
	c := &compiler{k: &Kernel{name: name, thread: -1, threads: 1}, slot: make(map[*uop.UOp]int, len(list)), start: map[*uop.UOp]int{}}
	for _, u := range list {
		c.slot[u] = len(c.k.width)
		c.k.width = append(c.k.width, max(1, u.DType.VCount()))
	}
	c.match(list)
	for i, u := range list {
		s, err := c.compile(i, u)
		if err != nil {
			return nil, fmt.Errorf("interp.Compile: kernel %s: %w", name, err)
		}
		c.k.steps = append(c.k.steps, s)
	}
	return c.k, nil
}

// Run runs the kernel, for all thread numbers one after the other. Variables take their values in list order.
func (k *Kernel) Run(bufs []unsafe.Pointer, vars []int64) error {
	if len(bufs) < k.nbufs || len(vars) < k.nvars {
		return fmt.Errorf("interp.Kernel.Run: kernel %s: got %d buffers and %d variables, expected %d and %d", k.name, len(bufs), len(vars), k.nbufs, k.nvars)
	}
	f := &frame{vals: make([][]value, len(k.width)), ptrs: make([]pointer, len(k.width)), bufs: bufs, vars: vars}
	n := 0
	for _, w := range k.width {
		n += w
	}
	all := make([]value, n)
	for i, w := range k.width {
		f.vals[i], all = all[:w:w], all[w:]
	}
	for _, a := range k.arrays {
		mem := make([]uint64, (a.size*int64(a.elem.Itemsize())+7)/8+1)
		f.ptrs[a.slot] = pointer{base: unsafe.Pointer(&mem[0]), size: a.size, elem: a.elem, live: true}
	}
	for t := range k.threads {
		if k.thread >= 0 {
			f.vals[k.thread][0].i = int64(t)
		}
		for pc := 0; pc < len(k.steps) && f.err == nil; {
			pc = k.steps[pc](f, pc)
		}
	}
	if f.err != nil {
		return fmt.Errorf("interp.Kernel.Run: kernel %s: %w", k.name, f.err)
	}
	return nil
}
