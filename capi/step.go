package main

import (
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// A step is the object of a PolyStep: a compiled program of a context.
type step struct {
	entry   *handle.Entry
	ctx     *context
	exec    *exec.Step
	buffers []*uop.UOp
	// outputs are the buffers that the program writes.
	outputs map[*uop.UOp]bool
	// leaves are the host buffers that the step allocated for its results.
	leaves []value
	// kept are the host buffers of values computed once, when the step was made.
	kept []value
	// cached: the step belongs to the handle of its sink (poly_get_plan).
	cached bool
	// bound is the program on the memory of host buffers; it is valid as long as none of them has been freed since.
	bound   *exec.Bound
	boundAt uint64
	directRun
}

// compile makes a step of a sink and its handle.
func (c *context) compile(sink *uop.UOp, leaves []value) (*step, error) {
	return c.compileOn("", handle.Step, sink, leaves)
}

// compileOn compiles a sink for a device, with a handle of a kind.
func (c *context) compileOn(device string, kind handle.Kind, sink *uop.UOp, leaves []value) (*step, error) {
	e, err := c.executorOf(device)
	if err != nil {
		return nil, err
	}
	x, err := e.Compile(sink)
	if err != nil {
		return nil, err
	}
	s := &step{ctx: c, exec: x, buffers: x.Buffers(), outputs: map[*uop.UOp]bool{}, leaves: leaves}
	for _, w := range sink.Src {
		s.outputs[w.Src[0].Base()] = true
	}
	if s.entry, err = handles.New(kind, c, s); err != nil {
		return nil, err
	}
	c.steps[s] = struct{}{}
	return s, nil
}

// buildStep runs a request that makes a step.
func buildStep(fn string, ctx uintptr, f func(c *context) (*step, error)) (h uintptr) {
	withContext(fn, ctx, func(c *context) error {
		s, err := f(c)
		if err == nil {
			h = uintptr(s.entry.Token())
		}
		return err
	}, func() { h = 0 })
	return h
}

// withStep runs a request on a step, in its context.
func withStep(fn string, h uintptr, f func(s *step) error, failed func()) {
	withProgram(fn, "step", handle.Step, h, f, failed)
}

// withProgram is withStep for a handle of any kind of step.
func withProgram(fn, arg string, kind handle.Kind, h uintptr, f func(s *step) error, failed func()) {
	if err := withProgramErr(arg, kind, h, f); err != nil {
		fail(fn, err)
		failed()
	}
}

func withProgramErr(arg string, kind handle.Kind, h uintptr, f func(s *step) error) (err error) {
	e, err := handles.Get(handle.Token(h), kind)
	if err != nil {
		return &argError{arg, err}
	}
	s := e.Value.(*step)
	s.ctx.mu.Lock()
	defer s.ctx.mu.Unlock()
	defer rescue(&err)
	if _, err := handles.Get(handle.Token(h), kind); err != nil {
		return &argError{arg, err}
	}
	return f(s)
}

func poly_compile_step(ctx, sink uintptr) uintptr {
	return buildStep("poly_compile_step", ctx, func(c *context) (*step, error) {
		u := must(c.sinkArg(sink))
		return c.compile(u, nil)
	})
}

func poly_compile_update(ctx uintptr, values *uintptr, data *unsafe.Pointer, n int32, targets, updates *uintptr, nUpdates int32) uintptr {
	return compileUpdate("poly_compile_update", ctx, nil, values, data, n, targets, updates, nUpdates)
}

func poly_compile_update_sized(ctx uintptr, values *uintptr, data *unsafe.Pointer, nbytes *uintptr, n int32, targets, updates *uintptr, nUpdates int32) uintptr {
	room := func(c *context) error { return c.hasRoom(values, nbytes, n) }
	return compileUpdate("poly_compile_update_sized", ctx, room, values, data, n, targets, updates, nUpdates)
}

// compileUpdate compiles the program of poly_update; room, if not nil, checks its memory.
func compileUpdate(fn string, ctx uintptr, room func(c *context) error, values *uintptr, data *unsafe.Pointer, n int32, targets, updates *uintptr, nUpdates int32) uintptr {
	return buildStep(fn, ctx, func(c *context) (*step, error) {
		if room != nil {
			if err := room(c); err != nil {
				return nil, err
			}
		}
		up := must(c.update(values, data, n, targets, updates, nUpdates))
		s, err := c.compile(up.sink, up.leaves)
		if err != nil {
			c.forget(up.leaves)
		}
		return s, err
	})
}

func poly_compile_update_pruned(ctx uintptr, values *uintptr, data *unsafe.Pointer, n int32, targets, updates *uintptr, nUpdates int32, inputs *uintptr, nInputs int32) uintptr {
	return buildStep("poly_compile_update_pruned", ctx, func(c *context) (*step, error) {
		changing := must(c.buffersOf("inputs", inputs, nInputs))
		up := must(c.update(values, data, n, targets, updates, nUpdates))
		pruned, err := c.prune(up.sink, changing)
		if err != nil {
			c.forget(up.leaves)
			return nil, err
		}
		s, err := c.compile(pruned.sink, up.leaves)
		if err != nil {
			c.forget(up.leaves)
			c.forget(pruned.leaves)
			return nil, err
		}
		s.kept = pruned.leaves
		return s, nil
	})
}

func poly_compile_value_and_grad(ctx, loss uintptr, params *uintptr, n int32, lossIndex, gradIndexes *int32) uintptr {
	return buildStep("poly_compile_value_and_grad", ctx, func(c *context) (*step, error) {
		v := must(c.arg("loss", loss))
		if n <= 0 {
			return nil, badArg("n_params", "%d, expected 1 or more", n)
		}
		ps := must(c.args("params", params, n))
		y := v.WithElements(1)
		if tensor.Elements(y) != 1 {
			return nil, badArg("loss", "has shape %s, expected one element", y.Shape())
		}
		wrts := make([]*uop.UOp, len(ps))
		for i, p := range ps {
			wrts[i] = p.Keep
		}
		grads := must(gradient.Of(y, wrts, nil))
		src := make([]*uop.UOp, 0, len(grads)+1)
		for _, u := range append([]*uop.UOp{y}, grads...) {
			b := c.g.NewBuffer(tensor.DeviceName, tensor.Elements(u), u.DType)
			src = append(src, b.Store(u))
		}
		s := must(c.compile(c.g.Sink(nil, src...), nil))
		if lossIndex != nil {
			*lossIndex = s.index(src[0].Src[0])
		}
		if gradIndexes != nil {
			for i := range grads {
				unsafe.Slice(gradIndexes, n)[i] = s.index(src[i+1].Src[0])
			}
		}
		return s, nil
	})
}

// index is the index of a buffer in the step, -1 if it is not there.
func (s *step) index(b *uop.UOp) int32 {
	for i, x := range s.buffers {
		if x == b {
			return int32(i)
		}
	}
	return -1
}

func poly_step_destroy(h uintptr) {
	e, err := handles.Get(handle.Token(h), handle.Step)
	if err != nil {
		return
	}
	s := e.Value.(*step)
	s.ctx.mu.Lock()
	defer s.ctx.mu.Unlock()
	s.ctx.drop(s)
}

// drop frees a step.
func (c *context) drop(s *step) {
	s.disableDirect()
	handles.Drop(s.entry)
	if !c.dead {
		delete(c.steps, s)
		c.forget(s.leaves)
		c.forget(s.kept)
	}
}

func runStep(fn string, h uintptr, f func(s *step) ([]exec.Binding, error), vars unsafe.Pointer, nVars int32) (rc int32) {
	withStep(fn, h, func(s *step) error { return s.run(f, vars, nVars) }, func() { rc = -1 })
	return rc
}

// run runs a step on what f binds.
func (s *step) run(f func(s *step) ([]exec.Binding, error), vars unsafe.Pointer, nVars int32) error {
	binds, err := f(s)
	if err != nil {
		return err
	}
	v, err := s.ctx.variables(vars, nVars)
	if err != nil {
		return err
	}
	if len(binds) == 0 {
		return s.ctx.executeBound(s, v)
	}
	return s.ctx.execute(s.exec, binds, v)
}

func poly_step_run(h uintptr, binds unsafe.Pointer, n int32) int32 {
	return runStep("poly_step_run", h, func(s *step) ([]exec.Binding, error) { return s.ctx.bindings(binds, n) }, nil, 0)
}

func poly_step_run_ex(h uintptr, binds unsafe.Pointer, n int32, vars unsafe.Pointer, nVars int32) int32 {
	return runStep("poly_step_run_ex", h, func(s *step) ([]exec.Binding, error) { return s.ctx.bindings(binds, n) }, vars, nVars)
}

func poly_step_run_indexed(h uintptr, ptrs *unsafe.Pointer, n int32) int32 {
	return runStep("poly_step_run_indexed", h, byIndex(ptrs, n), nil, 0)
}

func poly_step_run_indexed_ex(h uintptr, ptrs *unsafe.Pointer, n int32, vars unsafe.Pointer, nVars int32) int32 {
	return runStep("poly_step_run_indexed_ex", h, byIndex(ptrs, n), vars, nVars)
}

// byIndex binds pointers by the index of the buffer; temporaries need none.
func byIndex(ptrs *unsafe.Pointer, n int32) func(s *step) ([]exec.Binding, error) {
	return func(s *step) ([]exec.Binding, error) {
		switch {
		case n <= 0:
			return nil, badArg("n", "%d pointers, expected 1 or more", n)
		case ptrs == nil:
			return nil, badArg("ptrs", "is NULL, expected %d pointers", n)
		}
		binds := s.ctx.bindsBuf[:0]
		for i, p := range unsafe.Slice(ptrs, min(int(n), len(s.buffers))) {
			if p != nil {
				binds = append(binds, exec.Binding{Buffer: s.buffers[i], Ptr: p})
			}
		}
		s.ctx.bindsBuf = binds
		return binds, nil
	}
}

// countOf is a number of a step; 0 for NULL and stale steps.
func countOf(fn string, h uintptr, f func(s *step) int) (n int32) {
	withStep(fn, h, func(s *step) error { n = int32(f(s)); return nil }, func() { n = 0 })
	return n
}

func poly_step_n_kernels(h uintptr) int32 {
	return countOf("poly_step_n_kernels", h, func(s *step) int { return s.exec.Kernels() })
}

func poly_step_n_intermediates(h uintptr) int32 {
	return countOf("poly_step_n_intermediates", h, func(s *step) int { return s.exec.Temporaries() })
}

func poly_step_n_bindable_buffers(h uintptr) int32 {
	return countOf("poly_step_n_bindable_buffers", h, func(s *step) int { return len(s.buffers) })
}

func poly_step_n_buffers(h uintptr) int32 {
	return countOf("poly_step_n_buffers", h, func(s *step) int { return len(s.buffers) + s.exec.Temporaries() })
}

// PolyStepBufferRole.
const (
	roleInput = iota
	roleOutput
	roleTemporary
)

func poly_step_buffer_info(h uintptr, idx int32, hasOut int32, role, dtype *int32, count, nbytes *int64) (rc int32) {
	withStep("poly_step_buffer_info", h, func(s *step) error {
		all := len(s.buffers) + s.exec.Temporaries()
		switch {
		case idx < 0 || int(idx) >= all:
			return badArg("idx", "%d is out of range, the step has %d buffers", idx, all)
		case hasOut == 0:
			return badArg("out", "is NULL")
		case int(idx) >= len(s.buffers):
			*role, *dtype, *count, *nbytes = roleTemporary, dtypeID(uop.Void), 0, 0
			return nil
		}
		b := s.buffers[idx]
		*role = roleInput
		if s.outputs[b] {
			*role = roleOutput
		}
		*dtype = dtypeID(b.DType)
		*count = tensor.Elements(b)
		*nbytes = *count * int64(b.DType.Itemsize())
		return nil
	}, func() { rc = -1 })
	return rc
}

func poly_step_buf_index(h, x uintptr) (i int32) {
	withStep("poly_step_buf_index", h, func(s *step) error {
		v := must(s.ctx.arg("x", x))
		b := must(baseBuffer("x", v.Keep))
		if i = s.index(b); i < 0 {
			return badArg("x", "is no buffer of the step")
		}
		return nil
	}, func() { i = -1 })
	return i
}

func poly_step_value_index(h uintptr, n int32) (i int32) {
	withStep("poly_step_value_index", h, func(s *step) error {
		if n < 0 || int(n) >= len(s.leaves) {
			return badArg("i", "%d is out of range, the step has %d values", n, len(s.leaves))
		}
		if i = s.index(s.leaves[n].host); i < 0 {
			return badArg("i", "value %d has no elements", n)
		}
		return nil
	}, func() { i = -1 })
	return i
}

func poly_step_buf_uop(h uintptr, idx int32) (u uintptr) {
	withStep("poly_step_buf_uop", h, func(s *step) error {
		if idx < 0 || int(idx) >= len(s.buffers) {
			return badArg("idx", "%d is out of range, the step has %d bindable buffers", idx, len(s.buffers))
		}
		t, err := s.ctx.out(single(s.buffers[idx]))
		u = t
		return err
	}, func() { u = 0 })
	return u
}
