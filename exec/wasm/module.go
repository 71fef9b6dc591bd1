// Package wasm runs kernels that were rendered to WebAssembly, with wazero's
// compiler, on the caller's memory.
package wasm

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	render "polygrad/render/wasm"
)

// engine is made when the first kernel is compiled. On processors that wazero
// has no compiler for, its interpreter takes over.
var engine = sync.OnceValue(func() wazero.Runtime {
	return wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfig().WithDebugInfoEnabled(false))
})

// module is the compiled code of a batch of kernels and its instances.
type module struct {
	compiled wazero.CompiledModule
	mu       sync.Mutex
	kernels  int // not yet closed
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

// Compile compiles kernels, which so many threads may share, as one module. That
// costs less than one by one, so the kernels of a schedule should come together.
func Compile(threads int, kernels ...*render.Kernel) ([]*Kernel, error) {
	if len(kernels) == 0 {
		return nil, nil
	}
	code := render.Module(windowPages, kernels...)
	workers := min(runtime.GOMAXPROCS(0), len(kernels))
	compiled, err := engine().CompileModule(experimental.WithCompilationWorkers(context.Background(), workers), code)
	if err != nil {
		return nil, fmt.Errorf("wasm.Compile: kernel %s and %d more: %w", kernels[0].Name, len(kernels)-1, err)
	}
	m := &module{compiled: compiled, kernels: len(kernels), at: map[uintptr]*instance{}}
	out := make([]*Kernel, len(kernels))
	for i, k := range kernels {
		out[i] = newKernel(k, threads, m, "k"+strconv.Itoa(i))
	}
	return out, nil
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

// drop closes the module with its last kernel.
func (m *module) drop() {
	m.mu.Lock()
	m.kernels--
	last := m.kernels == 0
	m.mu.Unlock()
	if last {
		_ = m.compiled.Close(context.Background())
	}
}
