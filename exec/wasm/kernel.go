package wasm

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tetratelabs/wazero/api"

	"polygrad/core/nest/ir"
	render "polygrad/render/wasm"
)

// Kernel is a compiled kernel. It may be run from several goroutines at once.
type Kernel struct {
	// Name is the kernel's name, for messages.
	Name string
	// Params are its buffers, in the order of the pointers that Run takes.
	Params []ir.Param
	// Vars are its variables, in the order of the values that Run takes.
	Vars []ir.VarParam
	// Items is how many work items a run has, and Threads how many threads share them.
	Items   int64
	Threads int

	pieces  int // of the work of each thread
	export  string
	scratch uintptr
	state   *state
}

// state is the part of a kernel that outlives it until the cleanup has run.
type state struct {
	of *module
	// ready holds bindings that no call uses at the moment.
	ready [8]atomic.Pointer[binding]
	once  sync.Once
}

// binding is a kernel's function over one window, used by one call at a time.
type binding struct {
	in      *instance
	fn      api.Function
	stack   []uint64
	heap    *Heap // for scratch memory, nil if the kernel needs none
	scratch unsafe.Pointer
}

func newKernel(k *render.Kernel, threads int, m *module, export string) *Kernel {
	out := &Kernel{
		Name: k.Name, Params: k.Params, Vars: k.Vars, Items: k.Items,
		export: export, scratch: uintptr(k.Scratch), state: &state{of: m},
	}
	out.Threads, out.pieces = share(k.Items, threads, k.Flops, k.Bytes, k.Setup)
	runtime.AddCleanup(out, (*state).close, out.state)
	return out
}

// Close frees the kernel's code. No call of it may be running. A kernel that is
// not closed is freed when it is garbage.
func (k *Kernel) Close() { k.state.close() }

func (s *state) close() {
	s.once.Do(func() {
		for i := range s.ready {
			if b := s.ready[i].Swap(nil); b != nil {
				b.close()
			}
		}
		s.of.drop()
	})
}

func (b *binding) close() {
	b.freeScratch()
	b.in.release()
}

// keptScratch is how much scratch memory a binding keeps between calls. Kernels that need more share it: they
// take it from the window's heap for each call, so that many of them do not need more than the few that run.
const keptScratch = 64 << 10

func (b *binding) freeScratch() {
	if b.scratch != nil {
		_ = b.heap.Free(b.scratch)
		b.scratch = nil
	}
}

// Run runs the kernel on buffers and values of its variables, all work items
// of it, and waits for them. The buffers may lie anywhere; where one window cannot
// cover them, they are copied. A trap is an error that names the kernel.
func (k *Kernel) Run(ptrs []unsafe.Pointer, vars []int64) error {
	if len(ptrs) != len(k.Params) || len(vars) != len(k.Vars) {
		return fmt.Errorf("wasm.Kernel.Run: %s: got %d buffers and %d variables, expected %d and %d",
			k.Name, len(ptrs), len(vars), len(k.Params), len(k.Vars))
	}
	for i, p := range ptrs {
		if p == nil {
			return fmt.Errorf("wasm.Kernel.Run: %s: buffer %d is NULL", k.Name, i)
		}
	}
	ok, err := k.runInPlace(ptrs, vars)
	if !ok && err == nil {
		err = k.runCopied(ptrs, vars)
	}
	runtime.KeepAlive(ptrs)
	return err
}

// runInPlace runs the kernel on the buffers where they are; ok is false if no
// window covers them and nothing was done.
func (k *Kernel) runInPlace(ptrs []unsafe.Pointer, vars []int64) (ok bool, err error) {
	lo, hi := k.extent(ptrs)
	b, err := k.bind(lo, hi)
	switch {
	case err != nil:
		return false, fmt.Errorf("wasm kernel %s: %w", k.Name, err)
	case b == nil:
		return false, nil
	case k.Threads > 1:
		k.put(b)
		err = runShared(k, ptrs, vars)
	default:
		err = k.call(b, 0, k.Items, ptrs, vars)
		k.put(b)
	}
	return true, err
}

// runItems runs some of the kernel's work items in the calling goroutine.
func (k *Kernel) runItems(first, n int64, ptrs []unsafe.Pointer, vars []int64) error {
	b, err := k.bind(k.extent(ptrs))
	if err != nil {
		return fmt.Errorf("wasm kernel %s: %w", k.Name, err)
	}
	if b == nil {
		return fmt.Errorf("wasm kernel %s: no room for scratch memory of work item %d", k.Name, first)
	}
	err = k.call(b, first, n, ptrs, vars)
	k.put(b)
	return err
}

// extent is the range of addresses that the buffers span.
func (k *Kernel) extent(ptrs []unsafe.Pointer) (lo, hi uintptr) {
	if len(ptrs) == 0 {
		return windowSize, windowSize + 1
	}
	lo = ^uintptr(0)
	for i, p := range ptrs {
		a := uintptr(p)
		lo, hi = min(lo, a), max(hi, a+uintptr(max(k.Params[i].Bytes(), 1)))
	}
	return lo, hi
}

// call runs the function with the addresses that the buffers have in the window.
func (k *Kernel) call(b *binding, first, items int64, ptrs []unsafe.Pointer, vars []int64) error {
	for i, p := range ptrs {
		b.stack[i] = uint64(uintptr(p) - b.in.base)
	}
	n := len(ptrs)
	for _, v := range vars {
		b.stack[n] = uint64(v)
		n++
	}
	b.stack[n], b.stack[n+1] = uint64(first), uint64(items)
	if k.scratch > 0 {
		b.stack[n+2] = uint64(uintptr(b.scratch) - b.in.base)
	}
	if err := b.fn.CallWithStack(context.Background(), b.stack); err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("wasm kernel %s: %s", k.Name, reason)
	}
	return nil
}

// bind takes a binding whose window covers [lo, hi), or makes one. It returns
// nil if no window covers all of that (and the scratch memory).
func (k *Kernel) bind(lo, hi uintptr) (*binding, error) {
	for i := range k.state.ready {
		slot := &k.state.ready[i]
		if slot.Load() == nil {
			continue
		}
		b := slot.Swap(nil)
		if b == nil {
			continue
		}
		if covers(b.in.base, lo, hi) {
			return k.withScratch(b), nil
		}
		if !slot.CompareAndSwap(nil, b) {
			b.close()
		}
	}
	base, ok := windowFor(lo, hi)
	if !ok {
		return nil, nil
	}
	in, err := k.state.of.acquire(base)
	if err != nil {
		return nil, err
	}
	b := &binding{in: in, fn: in.mod.ExportedFunction(k.export), stack: make([]uint64, len(k.Params)+len(k.Vars)+3)}
	if k.scratch > 0 {
		b.heap = scratchIn(base)
	}
	return k.withScratch(b), nil
}

// withScratch is the binding with its scratch memory, nil if there is no room for that in the window.
func (k *Kernel) withScratch(b *binding) *binding {
	if k.scratch == 0 || b.scratch != nil {
		return b
	}
	var err error
	if b.scratch, err = b.heap.Alloc(int(k.scratch)); err != nil {
		b.close()
		return nil
	}
	return b
}

// put gives a binding back. If all places are taken, the newest stays.
func (k *Kernel) put(b *binding) {
	if k.scratch > keptScratch {
		b.freeScratch()
	}
	for i := range k.state.ready {
		if k.state.ready[i].CompareAndSwap(nil, b) {
			return
		}
	}
	if old := k.state.ready[0].Swap(b); old != nil {
		old.close()
	}
}
