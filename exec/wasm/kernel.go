package wasm

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

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
	// Items is how many work items a run has.
	Items int64

	scratch uintptr
	state   *state
	// function is what the engine runs.
	function
}

// module is the compiled code of a batch of kernels.
type module struct {
	mu      sync.Mutex
	kernels int // not yet closed
	code
}

// state is the part of a kernel that outlives it until the cleanup has run.
type state struct {
	of   *module
	once sync.Once
	bindings
}

// Compile compiles kernels, which so many threads may share, as one module. That costs less than one by one, so the kernels of a schedule
// should come together.
func Compile(threads int, kernels ...*render.Kernel) ([]*Kernel, error) {
	if len(kernels) == 0 {
		return nil, nil
	}
	c, err := compile(kernels)
	if err != nil {
		return nil, fmt.Errorf("wasm.Compile: kernel %s and %d more: %w", kernels[0].Name, len(kernels)-1, err)
	}
	m := &module{kernels: len(kernels), code: c}
	out := make([]*Kernel, len(kernels))
	for i, k := range kernels {
		out[i] = &Kernel{
			Name: k.Name, Params: k.Params, Vars: k.Vars, Items: k.Items, scratch: uintptr(k.Scratch),
			state: &state{of: m}, function: m.function(i, k, threads),
		}
		runtime.AddCleanup(out[i], (*state).close, out[i].state)
	}
	return out, nil
}

// Close frees the kernel's code. No call of it may be running. A kernel that is
// not closed is freed when it is garbage.
func (k *Kernel) Close() { k.state.close() }

// close frees the module with its last kernel.
func (s *state) close() {
	s.once.Do(func() {
		s.bindings.close()
		m := s.of
		m.mu.Lock()
		m.kernels--
		last := m.kernels == 0
		m.mu.Unlock()
		if last {
			m.code.free()
		}
	})
}

// Run runs the kernel on buffers and values of its variables, all work items of it, and waits for them. The buffers may lie
// anywhere. A trap is an error that names the kernel.
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
	err := k.run(ptrs, vars)
	runtime.KeepAlive(ptrs)
	return err
}
