package main

import (
	"sync"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/uop"
	"polygrad/exec"
)

// A scheduled is the object of a PolySchedule: a program cut into kernels.
type scheduled struct {
	entry   *handle.Entry
	ctx     *context
	sink    *uop.UOp
	kernels []*uop.UOp
}

// schedule cuts a program into kernels, whose nodes are copied to the context.
func (c *context) schedule(h uintptr) (sink *uop.UOp, kernels []*uop.UOp, err error) {
	sink, err = c.sinkArg(h)
	if err != nil {
		return nil, nil, err
	}
	asts, err := exec.Schedule(sink)
	if err != nil {
		return nil, nil, err
	}
	seen := map[*uop.UOp]*uop.UOp{}
	for _, a := range asts {
		kernels = append(kernels, c.g.ImportMap(a, seen))
	}
	return sink, kernels, nil
}

func poly_schedule(ctx, sink uintptr) uintptr {
	return buildNode("poly_schedule", ctx, func(c *context) (value, error) {
		_, kernels, err := c.schedule(sink)
		if err == nil && len(kernels) == 0 {
			err = badArg("sink", "needs no kernel: it only copies buffers")
		}
		if err != nil {
			return value{}, err
		}
		return single(kernels[len(kernels)-1]), nil
	})
}

func poly_schedule_for(ctx, sink uintptr, mode int32) (h uintptr) {
	withContext("poly_schedule_for", ctx, func(c *context) error {
		if mode != 0 {
			return badArg("mode", "%d, expected 0 (POLY_COMPILE_CALL)", mode)
		}
		s := &scheduled{ctx: c}
		var err error
		if s.sink, s.kernels, err = c.schedule(sink); err != nil {
			return err
		}
		s.entry = must(handles.New(handle.Schedule, c, s))
		if c.schedules == nil {
			c.schedules = map[*scheduled]struct{}{}
		}
		c.schedules[s] = struct{}{}
		h = uintptr(s.entry.Token())
		return nil
	}, func() { h = 0 })
	return h
}

func poly_schedule_free(h uintptr) {
	e, err := handles.Get(handle.Token(h), handle.Schedule)
	if err != nil {
		return
	}
	s := e.Value.(*scheduled)
	s.ctx.mu.Lock()
	defer s.ctx.mu.Unlock()
	handles.Drop(e)
	delete(s.ctx.schedules, s)
}

// withSchedule runs a request on a schedule, in its context.
func withSchedule(fn, arg string, h uintptr, f func(s *scheduled) error, failed func()) {
	s, err := objectOf[*scheduled](arg, h, handle.Schedule)
	if err != nil {
		fail(fn, err)
		failed()
		return
	}
	withContext(fn, uintptr(s.ctx.entry.Token()), func(*context) error {
		return f(must(objectOf[*scheduled](arg, h, handle.Schedule)))
	}, failed)
}

func poly_schedule_n_kernels(h uintptr) (n int32) {
	withSchedule("poly_schedule_n_kernels", "schedule", h, func(s *scheduled) error {
		n = int32(len(s.kernels))
		return nil
	}, func() { n = -1 })
	return n
}

func poly_schedule_kernel(h uintptr, i int32) (u uintptr) {
	withSchedule("poly_schedule_kernel", "schedule", h, func(s *scheduled) error {
		if i < 0 || int(i) >= len(s.kernels) {
			return badArg("i", "%d is out of range, the schedule has %d kernels", i, len(s.kernels))
		}
		t, err := s.ctx.out(single(s.kernels[i]))
		u = t
		return err
	}, func() { u = 0 })
	return u
}

// backend is the device of exec for a PolyDeviceId; its absence is an error.
func backend(device int32) (string, error) {
	if _, err := deviceExecutor(device); err != nil {
		return "", err
	}
	return devices[device].backend, nil
}

func poly_compile_schedule(ctx, prepared uintptr, device int32) uintptr {
	const fn = "poly_compile_schedule"
	var sink *uop.UOp
	var of *context
	withSchedule(fn, "prepared", prepared, func(s *scheduled) error {
		sink, of = s.sink, s.ctx
		return nil
	}, func() {})
	if sink == nil {
		return 0
	}
	return buildStep(fn, ctx, func(c *context) (*step, error) {
		if c != of {
			return nil, badArg("prepared", "belongs to another context")
		}
		name := must(backend(device))
		return c.compileOn(name, handle.Plan, sink, nil)
	})
}

func poly_get_plan(ctx, sink uintptr, device int32) uintptr {
	return buildStep("poly_get_plan", ctx, func(c *context) (*step, error) {
		u := must(c.sinkArg(sink))
		name := must(backend(device))
		v := must(c.arg("sink", sink))
		a := c.dataOf(v)
		if s := a.plans[name]; s != nil {
			return s, nil
		}
		s := must(c.compileOn(name, handle.Plan, u, nil))
		if a.plans == nil {
			a.plans = map[string]*step{}
		}
		s.cached = true
		a.plans[name] = s
		return s, nil
	})
}

func withPlan(fn string, h uintptr, f func(s *step) error, failed func()) {
	withProgram(fn, "plan", handle.Plan, h, f, failed)
}

func poly_compiled_plan_free(h uintptr) {
	e, err := handles.Get(handle.Token(h), handle.Plan)
	if err != nil {
		return
	}
	s := e.Value.(*step)
	s.ctx.mu.Lock()
	defer s.ctx.mu.Unlock()
	if !s.cached {
		s.ctx.drop(s)
	}
}

func poly_compiled_plan_run(h uintptr, data *unsafe.Pointer, n int32, vars unsafe.Pointer, nVars int32) (rc int32) {
	withPlan("poly_compiled_plan_run", h, func(s *step) error {
		switch {
		case n < 0:
			return badArg("n_slots", "%d, expected 0 or more", n)
		case n > 0 && data == nil:
			return badArg("slot_data", "is NULL, expected %d pointers", n)
		case n == 0:
			return s.run(func(*step) ([]exec.Binding, error) { return nil, nil }, vars, nVars)
		}
		return s.run(byIndex(data, n), vars, nVars)
	}, func() { rc = -1 })
	return rc
}

func poly_compiled_plan_n_slots(h uintptr) (n int32) {
	withPlan("poly_compiled_plan_n_slots", h, func(s *step) error {
		n = int32(len(s.buffers))
		return nil
	}, func() { n = -1 })
	return n
}

func poly_compiled_plan_slot_buf(h uintptr, i int32) (u uintptr) {
	withPlan("poly_compiled_plan_slot_buf", h, func(s *step) error {
		if i < 0 || int(i) >= len(s.buffers) {
			return badArg("i", "%d is out of range, the plan has %d slots", i, len(s.buffers))
		}
		t, err := s.ctx.out(single(s.buffers[i]))
		u = t
		return err
	}, func() { u = 0 })
	return u
}

// backendDescs caches the PolyBackendDescs permanently.
var backendDescs struct {
	sync.Mutex
	byDevice map[int32]*backendDesc
}

func poly_backend_get(device int32) unsafe.Pointer {
	const fn = "poly_backend_get"
	e, err := deviceExecutor(device)
	if err != nil {
		fail(fn, err)
		return nil
	}
	backendDescs.Lock()
	defer backendDescs.Unlock()
	d := backendDescs.byDevice[device]
	if d == nil {
		d = (*backendDesc)(permanent(unsafe.Sizeof(backendDesc{})))
		*d = backendDesc{device: device, name: static(devices[device].name), runs_on: static(e.Device().Name())}
		if backendDescs.byDevice == nil {
			backendDescs.byDevice = map[int32]*backendDesc{}
		}
		backendDescs.byDevice[device] = d
	}
	return unsafe.Pointer(d)
}

func poly_render_kernel_wasm(ctx, sink uintptr, length, buffers *int32) (module *byte) {
	if length != nil {
		*length = 0
	}
	if buffers != nil {
		*buffers = 0
	}
	withContext("poly_render_kernel_wasm", ctx, func(c *context) error {
		u := must(c.sinkArg(sink))
		p := must(exec.NewWasmPlan(u))
		if len(p.Kernels) != 1 {
			return badArg("sink", "needs %d kernels, expected one; poly_render_step_wasm_plan renders them all", len(p.Kernels))
		}
		module = must(copyToC(p.Module, length))
		c.rendered = nil
		for _, b := range p.Kernels[0] {
			var node *uop.UOp
			if b < len(p.Inputs) {
				node = p.Inputs[b]
			}
			c.rendered = append(c.rendered, node)
		}
		if buffers != nil {
			*buffers = int32(len(c.rendered))
		}
		return nil
	}, func() {})
	return module
}

func poly_kernel_buf(ctx uintptr, i int32) uintptr {
	return buildNode("poly_kernel_buf", ctx, func(c *context) (value, error) {
		if i < 0 || int(i) >= len(c.rendered) {
			return value{}, badArg("index", "%d is out of range, the last kernel that was rendered has %d buffers", i, len(c.rendered))
		}
		if c.rendered[i] == nil {
			return value{}, badArg("index", "%d is scratch memory of the kernel, not a buffer", i)
		}
		return single(c.rendered[i]), nil
	})
}

func poly_const_buffer_data(ctx, buf uintptr) (p unsafe.Pointer) {
	withContext("poly_const_buffer_data", ctx, func(c *context) error {
		v := must(c.arg("buf", buf))
		b, err := baseBuffer("buf", v.Keep)
		if err == nil {
			p = c.host[b].data
		}
		return err
	}, func() {})
	return p
}

func poly_wasm_stepplan_bindable_buf_index(h uintptr, i int32) int32 {
	return withWasmPlan("poly_wasm_stepplan_bindable_buf_index", h, -1, func(w *wasmPlan) (int32, error) {
		if i < 0 || int(i) >= len(w.Inputs) {
			return -1, badArg("i", "%d is out of range, the plan has %d bindable buffers", i, len(w.Inputs))
		}
		return i, nil
	})
}
