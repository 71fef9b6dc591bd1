// Package interp interprets linear lists. It is the reference for testing code generators, so it is written plainly: every value
// is computed in Go and every memory access is checked.
package interp

import (
	"fmt"
	"slices"
	"unsafe"

	"polygrad/core/lower"
	"polygrad/core/uop"
	"polygrad/exec/device"
)

// Device is the interpreter as a device.
type Device struct {
	device.Host
	name   string
	target *lower.Target
	shapes bool
}

// New makes an interpreter. Its kernels are not optimised and keep every operation of Go's math package, so they have little in
// common with those of other devices.
func New() *Device {
	ops := uop.GroupALU.Minus(uop.Threefry, uop.Pow, uop.MulAcc)
	return &Device{name: "interp", target: &lower.Target{Name: "interp", Ops: ops, Threads: 1, Extra: lower.Powers}}
}

// Reference is the name of the device that NewReference makes.
const Reference = "reference"

// NewReference makes an interpreter of tinygrad's kernels: they are cut and lowered as tinygrad does it for its ClangRenderer with
// DEVECTORIZE=0 and optimisation off. Graphs that are built for it are AsTinygrad (core/uop).
func NewReference() *Device {
	t := lower.Clang()
	t.Optimize, t.Devectorize = false, 0
	return &Device{name: Reference, target: t, shapes: true}
}

// Name is "interp" or "reference".
func (d *Device) Name() string { return d.name }

// KeepsShapes reports whether kernels store values in the shapes that they have: others store them as one axis.
func (d *Device) KeepsShapes() bool { return d.shapes }

// Target is the target of its lists.
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

// pointer is a position in memory: an element of an array, or nothing where the index is invalid.
type pointer struct {
	base unsafe.Pointer
	size int64 // elements of the array
	off  int64 // element pointed to
	elem *uop.DType
	live bool // false if the gate is closed
}

// frame is the state of one work item.
type frame struct {
	vals  [][]value
	ptrs  []pointer
	bufs  []unsafe.Pointer
	vars  []int64
	at    [6]int64 // launch indices: three of the item in its workgroup, three of the workgroup
	pc    int
	waits bool // at a barrier
	err   error
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
	launch          []launchDim
	sizes           []int // steps that compute the sizes of launch
}

type array struct {
	slot   int
	elem   *uop.DType
	size   int64
	shared bool // by the items of a workgroup
}

// launchDim is a dimension of the launch, numbered as in frame.at, and the slot of its size.
type launchDim struct{ n, size int }

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

// Run runs the kernel, for all thread numbers and workgroups one after the other. Variables take their values in list order.
func (k *Kernel) Run(bufs []unsafe.Pointer, vars []int64) error {
	if len(bufs) < k.nbufs || len(vars) < k.nvars {
		return fmt.Errorf("interp.Kernel.Run: kernel %s: got %d buffers and %d variables, expected %d and %d", k.name, len(bufs), len(vars), k.nbufs, k.nvars)
	}
	items := []*frame{k.newFrame(bufs, vars)}
	size := [6]int64{1, 1, 1, 1, 1, 1}
	for _, s := range k.sizes {
		k.steps[s](items[0], s)
	}
	for _, d := range k.launch {
		size[d.n] = items[0].vals[d.size][0].i
	}
	for range size[0]*size[1]*size[2] - 1 {
		items = append(items, k.newFrame(bufs, vars))
	}
	for n, f := range items {
		f.at = [6]int64{int64(n) % size[0], int64(n) / size[0] % size[1], int64(n) / (size[0] * size[1])}
	}
	for t := range k.threads {
		for n := range size[3] * size[4] * size[5] {
			for _, f := range items {
				f.at[3], f.at[4], f.at[5] = n%size[3], n/size[3]%size[4], n/(size[3]*size[4])
				if f.pc = 0; k.thread >= 0 {
					f.vals[k.thread][0].i = int64(t)
				}
			}
			if err := k.runGroup(items); err != nil {
				return fmt.Errorf("interp.Kernel.Run: kernel %s: %w", k.name, err)
			}
		}
	}
	return nil
}

// newFrame makes the state of a work item, with its own memory.
func (k *Kernel) newFrame(bufs []unsafe.Pointer, vars []int64) *frame {
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
		if !a.shared {
			f.ptrs[a.slot] = a.alloc()
		}
	}
	return f
}

// alloc is memory for an array, filled with an improbable value: all bits are 1.
func (a *array) alloc() pointer {
	mem := slices.Repeat([]uint64{^uint64(0)}, int((a.size*int64(a.elem.Itemsize())+7)/8+1))
	return pointer{base: unsafe.Pointer(&mem[0]), size: a.size, elem: a.elem, live: true}
}

// runGroup runs the work items of a workgroup: each up to its next barrier before any continues.
func (k *Kernel) runGroup(items []*frame) error {
	for _, a := range k.arrays {
		if !a.shared {
			continue
		}
		memory := a.alloc()
		for _, f := range items {
			f.ptrs[a.slot] = memory
		}
	}
	for items[0].pc < len(k.steps) {
		for _, f := range items {
			for f.waits = false; f.pc < len(k.steps) && !f.waits && f.err == nil; {
				f.pc = k.steps[f.pc](f, f.pc)
			}
			if f.err != nil {
				return f.err
			}
			if f.pc != items[0].pc {
				return fmt.Errorf("work items of a group wait at different barriers, %d and %d", items[0].pc, f.pc)
			}
		}
	}
	return nil
}
