//go:build !wasip1

package wasm

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"polygrad/core/nest/ir"
	"polygrad/core/settings"
	"polygrad/exec/device"
	render "polygrad/render/wasm"
)

// Here kernels are compiled by wazero and run on windows of the address space.

// engine is made when the first kernel is compiled. On processors that wazero
// has no compiler for, its interpreter takes over.
var engine = sync.OnceValue(func() wazero.Runtime {
	return wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfig().WithDebugInfoEnabled(false))
})

// code is the compiled code of a module and its instances, by the bases of their windows.
type code struct {
	compiled wazero.CompiledModule
	at       map[uintptr]*instance
}

// instance is a module over one window. It is shared by all bindings there: the
// functions keep no state in it.
type instance struct {
	of   *module
	base uintptr
	mod  api.Module
	refs int
}

// compile compiles kernels as one module.
func compile(kernels []*render.Kernel) (code, error) {
	workers := min(runtime.GOMAXPROCS(0), len(kernels))
	compiled, err := engine().CompileModule(experimental.WithCompilationWorkers(context.Background(), workers), encode(kernels...))
	return code{compiled: compiled, at: map[uintptr]*instance{}}, err
}

func (c *code) free() { _ = c.compiled.Close(context.Background()) }

// encode makes a module of kernels.
func encode(kernels ...*render.Kernel) []byte { return render.Module(windowPages, kernels...) }

// function is a kernel's function, and how its work is shared.
type function struct {
	export string
	// Threads is how many threads share the work items.
	Threads int
	pieces  int // of the work of each thread
}

func (m *module) function(number int, k *render.Kernel, threads int) function {
	f := function{export: "k" + strconv.Itoa(number)}
	f.Threads, f.pieces = share(k.Items, min(threads, runtime.GOMAXPROCS(0), maxThreads), k.Flops, k.Bytes, k.Setup)
	return f
}

// acquire returns the instance at base, making it if there is none.
func (m *module) acquire(base uintptr) (*instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in := m.at[base]; in != nil {
		in.refs++
		return in, nil
	}
	var memory experimental.MemoryAllocatorFunc = window{base}.Allocate
	ctx := experimental.WithMemoryAllocator(context.Background(), memory)
	mod, err := engine().InstantiateModule(ctx, m.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	in := &instance{of: m, base: base, mod: mod, refs: 1}
	m.at[base] = in
	return in, nil
}

// release closes the instance with its last binding.
func (in *instance) release() {
	m := in.of
	m.mu.Lock()
	defer m.mu.Unlock()
	if in.refs--; in.refs == 0 {
		delete(m.at, in.base)
		// Closing an instance only forgets it; its window is not ours to free.
		_ = in.mod.Close(context.Background())
	}
}

// bindings are the bindings of a kernel that no call uses at the moment.
type bindings struct {
	ready [8]atomic.Pointer[binding]
}

func (s *bindings) close() {
	for i := range s.ready {
		if b := s.ready[i].Swap(nil); b != nil {
			b.close()
		}
	}
}

// binding is a kernel's function over one window, used by one call at a time.
type binding struct {
	in      *instance
	fn      api.Function
	stack   []uint64
	heap    *Heap // for scratch memory, nil if the kernel needs none
	scratch unsafe.Pointer
}

func (b *binding) close() {
	b.freeScratch()
	b.in.release()
}

// keptScratch is the size of the scratch memory that a binding keeps between calls. Kernels that need more share it: they
// take it from the window's heap for each call, so that many of them do not need more than the few that run.
const keptScratch = 64 << 10

func (b *binding) freeScratch() {
	if b.scratch != nil {
		_ = b.heap.Free(b.scratch)
		b.scratch = nil
	}
}

// compiler is the machine for which kernels are planned, and their renderer.
func compiler() (ir.Machine, render.Options) { return ir.Wasm, render.Options{} }

// threads is the number of threads that share kernels.
func threads() int {
	if n := settings.Threads.Number(); n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// Limits tells that buffers lie in half of a window, so that windows may begin at round addresses.
func (d *Device) Limits() device.Limits {
	return device.Limits{HostMemory: true, Reach: windowSize / 2}
}

// run runs the kernel where its buffers are; where one window cannot cover them, they are copied.
func (k *Kernel) run(ptrs []unsafe.Pointer, vars []int64) error {
	ok, err := k.runInPlace(ptrs, vars)
	if !ok && err == nil {
		err = k.runCopied(ptrs, vars)
	}
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
