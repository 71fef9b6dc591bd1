//go:build linux && amd64 && cgo

package code

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -Wno-unused-parameter -fvisibility=hidden
#include "pool.h"
#cgo noescape poly_native_run
#cgo nocallback poly_native_run
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"polygrad/exec/native/call"
)

// Spec describes the code of a kernel.
type Spec struct {
	// Name is the name of the kernel, for messages and profilers.
	Name string
	// Text is the code and its constants. Any multiple of 64 is a valid address; the entry is its first byte.
	Text []byte
	// Buffers and Vars are the numbers of addresses and values among its arguments.
	Buffers, Vars int
	// Items is the number of work items of a run.
	Items int64
	// Frame and Scratch are the bytes of private memory, of each thread.
	Frame, Scratch int64
	// Setup is the share of the work that each call repeats, for however many items.
	Setup float64
	// Calls says that the code calls C, which needs a stack: a goroutine's is too small.
	Calls bool
	// Flops and Bytes estimate the work of a run: arithmetic operations, and bytes moved.
	Flops, Bytes float64
}

// Kernel is loaded code. It can run in several goroutines at once.
type Kernel struct {
	// Name is the name of the kernel.
	Name string

	c       C.poly_native_kernel_t
	buffers int
	vars    int
	memory  uintptr // bytes of frame and scratch memory
	calls   bool
	// whole: a thread does its items in one call, as each call would repeat the setup or fill scratch memory again.
	whole  bool
	cost   cost
	loaded *loaded
}

// loaded is the memory of a kernel.
type loaded struct {
	of   *memory
	at   block
	once sync.Once
}

func (l *loaded) free() { l.once.Do(func() { l.of.free(l.at) }) }

// Load makes kernels runnable, all or none. A kernel's memory is freed when it is closed or garbage.
func Load(specs []Spec) ([]*Kernel, error) { return loadInto(&state.memory, specs) }

func loadInto(m *memory, specs []Spec) ([]*Kernel, error) {
	texts := make([]text, len(specs))
	for i := range specs {
		s := &specs[i]
		if s.Buffers < 0 || s.Vars < 0 || s.Items < 0 || s.Frame < 0 || s.Scratch < 0 {
			return nil, fmt.Errorf("code.Load: %s: got %d buffers, %d variables, %d items, %d bytes of frame, %d of scratch memory, expected none below 0",
				s.Name, s.Buffers, s.Vars, s.Items, s.Frame, s.Scratch)
		}
		texts[i] = text{s.Name, s.Text}
	}
	blocks, err := m.load(texts)
	if err != nil {
		return nil, err
	}
	out := make([]*Kernel, len(specs))
	for i := range specs {
		s := &specs[i]
		k := &Kernel{
			Name: s.Name, buffers: s.Buffers, vars: s.Vars, memory: aligned(s.Frame) + aligned(s.Scratch), calls: s.Calls, whole: s.Scratch > 0 || s.Setup > 0,
			c: C.poly_native_kernel_t{
				entry: C.uintptr_t(blocks[i].entry()), args: C.int64_t(s.Buffers + s.Vars), items: C.int64_t(s.Items),
				frame: C.uint64_t(aligned(s.Frame)), scratch: C.uint64_t(aligned(s.Scratch)),
			},
			loaded: &loaded{of: m, at: blocks[i]},
		}
		k.cost.estimate(s.Flops, s.Bytes)
		runtime.AddCleanup(k, (*loaded).free, k.loaded)
		out[i] = k
	}
	return out, writePerfMap(texts, blocks)
}

func aligned(n int64) uintptr { return (uintptr(n) + 63) &^ 63 }

// CodeBytes is the size of the code. Pages of code are mapped twice, and resident twice.
func (k *Kernel) CodeBytes() int64 { return 2 * int64(k.loaded.at.size) }

// Close frees the memory of the kernel. No run of it may be in progress.
func (k *Kernel) Close() { k.loaded.free() }

// ownWords are the arguments behind buffers and variables: first item, number of items, scratch memory.
const ownWords = C.POLY_OWN_WORDS

// smallArgs is the number of arguments up to which they lie on the stack.
const smallArgs = 16

// Run runs the kernel, all its items, on the addresses of its buffers and the values of its variables, and waits.
//
// A short run happens on the goroutine, which costs 15 ns (30 with a frame) but cannot be preempted: Go's collector waits for it.
// A longer one goes to C, which costs 50 ns; the collector does not wait for it, and other threads share the items. So no work
// has to be cut for the collector's sake: while kernels of 20 ms run one after the other runtime.GC() takes 3 ms; on the
// goroutine it would take 96.
func (k *Kernel) Run(bufs []unsafe.Pointer, vars []int64) error {
	if len(bufs) != k.buffers || len(vars) != k.vars {
		return fmt.Errorf("code.Kernel.Run: %s: got %d buffers and %d variables, expected %d and %d", k.Name, len(bufs), len(vars), k.buffers, k.vars)
	}
	n := len(bufs) + len(vars)
	if n+ownWords <= smallArgs && k.memory == 0 {
		var args [smallArgs]uint64
		if err := k.fill(args[:], bufs, vars); err != nil {
			return err
		}
		k.launch(&args[0], n, 0)
	} else {
		w, err := takeWorkspace(n+ownWords, k.memory)
		if err != nil {
			return fmt.Errorf("code.Kernel.Run: %s: %w", k.Name, err)
		}
		if err := k.fill(w.args, bufs, vars); err != nil {
			return err
		}
		k.launch(&w.args[0], n, w.memory)
		w.give()
	}
	runtime.KeepAlive(k)
	return nil
}

// fill sets the arguments given by the caller.
func (k *Kernel) fill(args []uint64, bufs []unsafe.Pointer, vars []int64) error {
	for i, p := range bufs {
		if p == nil {
			return fmt.Errorf("code.Kernel.Run: %s: buffer %d is NULL", k.Name, i)
		}
		args[i] = uint64(uintptr(p))
	}
	args = args[len(bufs):]
	for i, v := range vars {
		args[i] = uint64(v)
	}
	return nil
}

// launch runs the kernel on n arguments, here or on the pool.
func (k *Kernel) launch(args *uint64, n int, memory uintptr) {
	how := k.cost.how()
	if how == pooled || k.calls {
		threads, pieces := threads, k.cost.pieces()
		if k.whole {
			pieces = 1 // each would repeat the setup, and fill its scratch memory
		}
		if how == here { // calls are not timed
			threads = 1
		}
		C.poly_native_run(&k.c, (*C.uint64_t)(args), C.uintptr_t(memory), C.int(threads), C.int(pieces))
		return
	}
	own := (*[ownWords]uint64)(unsafe.Add(unsafe.Pointer(args), 8*n))
	own[0], own[1], own[2] = 0, uint64(k.c.items), uint64(memory)+uint64(k.c.frame)
	entry := uintptr(k.c.entry)
	if how == measured {
		start := time.Now()
		call.Call(entry, uintptr(unsafe.Pointer(args)), memory)
		k.cost.took(time.Since(start))
	} else {
		call.Call(entry, uintptr(unsafe.Pointer(args)), memory)
	}
	runtime.KeepAlive(args)
}
