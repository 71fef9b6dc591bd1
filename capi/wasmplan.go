package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/exec"
)

// A wasmPlan is the object of a PolyWasmStepPlan. C holds its bytes and its order.
type wasmPlan struct {
	*exec.WasmPlan
	ctx    C.uintptr_t
	module unsafe.Pointer
	order  *C.int
}

//export go_poly_render_step_wasm_plan
func go_poly_render_step_wasm_plan(ctx, sink C.uintptr_t) (h C.uintptr_t) {
	withContext("poly_render_step_wasm_plan", ctx, func(c *context) error {
		u := must(c.sinkArg(sink))
		p := must(exec.NewWasmPlan(u))
		w := &wasmPlan{WasmPlan: p, ctx: ctx, module: C.CBytes(p.Module)}
		w.order = (*C.int)(C.malloc(C.size_t(len(p.Kernels)+1) * C.sizeof_int))
		for i := range p.Kernels {
			unsafe.Slice(w.order, len(p.Kernels))[i] = C.int(i)
		}
		e := must(handles.New(handle.WasmPlan, nil, w))
		c.plans[w] = struct{}{}
		h = C.uintptr_t(e.Token())
		return nil
	}, func() { h = 0 })
	return h
}

//export go_poly_wasm_stepplan_destroy
func go_poly_wasm_stepplan_destroy(h C.uintptr_t) {
	e, err := handles.Get(handle.Token(h), handle.WasmPlan)
	if err != nil {
		return
	}
	if !handles.Drop(e) {
		return // another thread was first
	}
	w := e.Value.(*wasmPlan)
	C.free(w.module)
	C.free(unsafe.Pointer(w.order))
	if c, err := enter(uintptr(w.ctx)); err == nil {
		delete(c.plans, w)
		c.mu.Unlock()
	}
}

// withWasmPlan reads a property of a plan; missing where there is no such plan, kernel or buffer.
func withWasmPlan[T any](fn string, h C.uintptr_t, missing T, f func(w *wasmPlan) (T, error)) T {
	return withoutContext(fn, missing, func() (T, error) { return f(must(objectOf[*wasmPlan]("plan", h, handle.WasmPlan))) })
}

//export go_poly_wasm_stepplan_n_kernels
func go_poly_wasm_stepplan_n_kernels(h C.uintptr_t) C.int {
	return withWasmPlan("poly_wasm_stepplan_n_kernels", h, 0, func(w *wasmPlan) (C.int, error) { return C.int(len(w.Kernels)), nil })
}

//export go_poly_wasm_stepplan_n_buffers
func go_poly_wasm_stepplan_n_buffers(h C.uintptr_t) C.int {
	return withWasmPlan("poly_wasm_stepplan_n_buffers", h, 0, func(w *wasmPlan) (C.int, error) { return C.int(len(w.Buffers)), nil })
}

//export go_poly_wasm_stepplan_n_bindable_buffers
func go_poly_wasm_stepplan_n_bindable_buffers(h C.uintptr_t) C.int {
	return withWasmPlan("poly_wasm_stepplan_n_bindable_buffers", h, 0, func(w *wasmPlan) (C.int, error) { return C.int(len(w.Inputs)), nil })
}

func (w *wasmPlan) kernel(k C.int) ([]int, error) {
	if k < 0 || int(k) >= len(w.Kernels) {
		return nil, badArg("k", "%d is out of range, the plan has %d kernels", k, len(w.Kernels))
	}
	return w.Kernels[k], nil
}

//export go_poly_wasm_stepplan_kernel_bytes
func go_poly_wasm_stepplan_kernel_bytes(h C.uintptr_t, k C.int, n *C.int) *C.uint8_t {
	return withWasmPlan("poly_wasm_stepplan_kernel_bytes", h, nil, func(w *wasmPlan) (*C.uint8_t, error) {
		if _, err := w.kernel(k); err != nil {
			return nil, err
		}
		if n != nil {
			*n = C.int(len(w.Module))
		}
		return (*C.uint8_t)(w.module), nil
	})
}

//export go_poly_wasm_stepplan_kernel_n_params
func go_poly_wasm_stepplan_kernel_n_params(h C.uintptr_t, k C.int) C.int {
	return withWasmPlan("poly_wasm_stepplan_kernel_n_params", h, 0, func(w *wasmPlan) (C.int, error) {
		args, err := w.kernel(k)
		return C.int(len(args)), err
	})
}

//export go_poly_wasm_stepplan_kernel_param_buf_index
func go_poly_wasm_stepplan_kernel_param_buf_index(h C.uintptr_t, k, i C.int) C.int {
	return withWasmPlan("poly_wasm_stepplan_kernel_param_buf_index", h, -1, func(w *wasmPlan) (C.int, error) {
		args, err := w.kernel(k)
		if err == nil && (i < 0 || int(i) >= len(args)) {
			err = badArg("i", "%d is out of range, the kernel has %d parameters", i, len(args))
		}
		if err != nil {
			return -1, err
		}
		return C.int(args[i]), nil
	})
}

//export go_poly_wasm_stepplan_exec_order
func go_poly_wasm_stepplan_exec_order(h C.uintptr_t, n *C.int) *C.int {
	return withWasmPlan("poly_wasm_stepplan_exec_order", h, nil, func(w *wasmPlan) (*C.int, error) {
		if n != nil {
			*n = C.int(len(w.Kernels))
		}
		return w.order, nil
	})
}

func (w *wasmPlan) buffer(i C.int) (exec.WasmBuffer, error) {
	if i < 0 || int(i) >= len(w.Buffers) {
		return exec.WasmBuffer{}, badArg("i", "%d is out of range, the plan has %d buffers", i, len(w.Buffers))
	}
	return w.Buffers[i], nil
}

//export go_poly_wasm_stepplan_buf_size
func go_poly_wasm_stepplan_buf_size(h C.uintptr_t, i C.int) C.int64_t {
	return withWasmPlan("poly_wasm_stepplan_buf_size", h, -1, func(w *wasmPlan) (C.int64_t, error) {
		b, err := w.buffer(i)
		return C.int64_t(b.Elements), err
	})
}

//export go_poly_wasm_stepplan_buf_nbytes
func go_poly_wasm_stepplan_buf_nbytes(h C.uintptr_t, i C.int) C.int64_t {
	return withWasmPlan("poly_wasm_stepplan_buf_nbytes", h, -1, func(w *wasmPlan) (C.int64_t, error) {
		b, err := w.buffer(i)
		return C.int64_t(b.Bytes), err
	})
}

//export go_poly_wasm_stepplan_buf_uop
func go_poly_wasm_stepplan_buf_uop(h C.uintptr_t, i C.int) C.uintptr_t {
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
