package main

import (
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/exec"
)

// A wasmPlan is the object of a PolyWasmStepPlan. C holds its bytes and its order.
type wasmPlan struct {
	*exec.WasmPlan
	ctx    uintptr
	module unsafe.Pointer
	order  *int32
}

func poly_render_step_wasm_plan(ctx, sink uintptr) (h uintptr) {
	withContext("poly_render_step_wasm_plan", ctx, func(c *context) error {
		u := must(c.sinkArg(sink))
		p := must(exec.NewWasmPlan(u))
		w := &wasmPlan{WasmPlan: p, ctx: ctx, module: cBytes(p.Module)}
		w.order = (*int32)(cMalloc(uintptr(len(p.Kernels)+1) * 4))
		for i := range p.Kernels {
			unsafe.Slice(w.order, len(p.Kernels))[i] = int32(i)
		}
		e := must(handles.New(handle.WasmPlan, nil, w))
		c.plans[w] = struct{}{}
		h = uintptr(e.Token())
		return nil
	}, func() { h = 0 })
	return h
}

func poly_wasm_stepplan_destroy(h uintptr) {
	e, err := handles.Get(handle.Token(h), handle.WasmPlan)
	if err != nil {
		return
	}
	if !handles.Drop(e) {
		return // another thread was first
	}
	w := e.Value.(*wasmPlan)
	cFree(w.module)
	cFree(unsafe.Pointer(w.order))
	if c, err := enter(w.ctx); err == nil {
		delete(c.plans, w)
		c.mu.Unlock()
	}
}

// withWasmPlan reads a property of a plan; missing where there is no such plan, kernel or buffer.
func withWasmPlan[T any](fn string, h uintptr, missing T, f func(w *wasmPlan) (T, error)) T {
	return withoutContext(fn, missing, func() (T, error) { return f(must(objectOf[*wasmPlan]("plan", h, handle.WasmPlan))) })
}

func poly_wasm_stepplan_n_kernels(h uintptr) int32 {
	return withWasmPlan("poly_wasm_stepplan_n_kernels", h, 0, func(w *wasmPlan) (int32, error) { return int32(len(w.Kernels)), nil })
}

func poly_wasm_stepplan_n_buffers(h uintptr) int32 {
	return withWasmPlan("poly_wasm_stepplan_n_buffers", h, 0, func(w *wasmPlan) (int32, error) { return int32(len(w.Buffers)), nil })
}

func poly_wasm_stepplan_n_bindable_buffers(h uintptr) int32 {
	return withWasmPlan("poly_wasm_stepplan_n_bindable_buffers", h, 0, func(w *wasmPlan) (int32, error) { return int32(len(w.Inputs)), nil })
}

func (w *wasmPlan) kernel(k int32) ([]int, error) {
	if k < 0 || int(k) >= len(w.Kernels) {
		return nil, badArg("k", "%d is out of range, the plan has %d kernels", k, len(w.Kernels))
	}
	return w.Kernels[k], nil
}

func poly_wasm_stepplan_kernel_bytes(h uintptr, k int32, n *int32) *byte {
	return withWasmPlan("poly_wasm_stepplan_kernel_bytes", h, nil, func(w *wasmPlan) (*byte, error) {
		if _, err := w.kernel(k); err != nil {
			return nil, err
		}
		if n != nil {
			*n = int32(len(w.Module))
		}
		return (*byte)(w.module), nil
	})
}

func poly_wasm_stepplan_kernel_n_params(h uintptr, k int32) int32 {
	return withWasmPlan("poly_wasm_stepplan_kernel_n_params", h, 0, func(w *wasmPlan) (int32, error) {
		args, err := w.kernel(k)
		return int32(len(args)), err
	})
}

func poly_wasm_stepplan_kernel_param_buf_index(h uintptr, k, i int32) int32 {
	return withWasmPlan("poly_wasm_stepplan_kernel_param_buf_index", h, -1, func(w *wasmPlan) (int32, error) {
		args, err := w.kernel(k)
		if err == nil && (i < 0 || int(i) >= len(args)) {
			err = badArg("i", "%d is out of range, the kernel has %d parameters", i, len(args))
		}
		if err != nil {
			return -1, err
		}
		return int32(args[i]), nil
	})
}

func poly_wasm_stepplan_exec_order(h uintptr, n *int32) *int32 {
	return withWasmPlan("poly_wasm_stepplan_exec_order", h, nil, func(w *wasmPlan) (*int32, error) {
		if n != nil {
			*n = int32(len(w.Kernels))
		}
		return w.order, nil
	})
}

func (w *wasmPlan) buffer(i int32) (exec.WasmBuffer, error) {
	if i < 0 || int(i) >= len(w.Buffers) {
		return exec.WasmBuffer{}, badArg("i", "%d is out of range, the plan has %d buffers", i, len(w.Buffers))
	}
	return w.Buffers[i], nil
}

func poly_wasm_stepplan_buf_size(h uintptr, i int32) int64 {
	return withWasmPlan("poly_wasm_stepplan_buf_size", h, -1, func(w *wasmPlan) (int64, error) {
		b, err := w.buffer(i)
		return b.Elements, err
	})
}

func poly_wasm_stepplan_buf_nbytes(h uintptr, i int32) int64 {
	return withWasmPlan("poly_wasm_stepplan_buf_nbytes", h, -1, func(w *wasmPlan) (int64, error) {
		b, err := w.buffer(i)
		return b.Bytes, err
	})
}

func poly_wasm_stepplan_buf_uop(h uintptr, i int32) uintptr {
	const fn = "poly_wasm_stepplan_buf_uop"
	w := withWasmPlan(fn, h, nil, func(w *wasmPlan) (*wasmPlan, error) {
		if i < 0 || int(i) >= len(w.Inputs) {
			return nil, badArg("i", "%d is out of range, the plan has %d bindable buffers", i, len(w.Inputs))
		}
		return w, nil
	})
	if w == nil {
		return 0
	}
	return buildNode(fn, w.ctx, func(c *context) (value, error) { return single(w.Inputs[i]), nil })
}
