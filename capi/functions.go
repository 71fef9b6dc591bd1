package main

import (
	"errors"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/variable"
)

func poly_array_require_grad(x uintptr, on int32) int32 {
	return arrayStatus("poly_array_require_grad", x, func(_ *context, v *variable.Variable) error { return v.SetRequiresGrad(on != 0) })
}

func poly_array_requires_grad(x uintptr) int32 {
	return arrayPredicate("poly_array_requires_grad", x, (*variable.Variable).RequiresGrad)
}

// optionalArray is array for a handle that may be NULL.
func (c *context) optionalArray(arg string, h uintptr) (*variable.Variable, error) {
	if h == 0 {
		return nil, nil
	}
	return c.array(arg, h)
}

func poly_array_grad(x uintptr, grad *uintptr) (has int32) {
	withArray("poly_array_grad", x, func(c *context, v *variable.Variable) (err error) {
		if grad == nil {
			return badArg("grad", "is NULL, expected memory of a handle")
		}
		*grad = 0
		if g := v.Grad(); g != nil {
			has = 1
			*grad, err = c.outArray(g.Retain())
		}
		return err
	}, func() { has = -1 })
	return has
}

func poly_array_set_grad(x, grad uintptr) int32 {
	return arrayStatus("poly_array_set_grad", x, func(c *context, v *variable.Variable) error {
		g, err := c.optionalArray("grad", grad)
		if err != nil {
			return err
		}
		if g != nil {
			if have, want := g.Node().Shape(), v.Node().Shape(); !have.Equal(want) {
				return badArg("grad", "has shape %s, expected %s", have, want)
			}
			g.Retain()
		}
		v.SetGrad(g)
		return nil
	})
}

func poly_array_backward(x, gradient uintptr) int32 {
	return arrayStatus("poly_array_backward", x, func(c *context, v *variable.Variable) error {
		g, err := c.optionalArray("gradient", gradient)
		if err != nil {
			return err
		}
		return v.Backward(g)
	})
}

func poly_array_backward_async(x, gradient uintptr) (h uintptr) {
	withArray("poly_array_backward_async", x, func(c *context, v *variable.Variable) error {
		g, err := c.optionalArray("gradient", gradient)
		if err == nil {
			h, err = c.startJob(func(done func(*variable.Job)) error { return v.StartBackward(g, done) })
		}
		return err
	}, func() { h = 0 })
	return h
}

func poly_array_gradient(x uintptr, targets *uintptr, n int32, gradient uintptr, zeros int32, out *uintptr) int32 {
	return arrayStatus("poly_array_gradient", x, func(c *context, v *variable.Variable) error {
		if out == nil {
			return badArg("out", "is NULL, expected room for %d handles", n)
		}
		ts, err := c.arrays("targets", targets, n)
		if err != nil {
			return err
		}
		g, err := c.optionalArray("gradient", gradient)
		if err != nil {
			return err
		}
		grads, err := v.Gradients(ts, g, zeros != 0)
		if err != nil {
			return err
		}
		return c.outArrays(grads, out)
	})
}

func poly_training(ctx uintptr, on int32) int32 {
	before := int32(0)
	withContext("poly_training", ctx, func(c *context) error {
		if c.vars.Training {
			before = 1
		}
		if on >= 0 {
			c.vars.Training = on != 0
		}
		return nil
	}, func() { before = -1 })
	return before
}

func poly_no_grad(ctx uintptr, on int32) int32 {
	return status("poly_no_grad", ctx, func(c *context) error {
		if on == 0 && !c.vars.GradDisabled() {
			return badArg("on", "0, but gradients are on")
		}
		c.vars.NoGrad(on != 0)
		return nil
	})
}

func poly_seed(ctx uintptr, seed uint64) int32 {
	return status("poly_seed", ctx, func(c *context) error {
		c.vars.Stream.Seed(seed)
		return nil
	})
}

func poly_trace_begin(ctx uintptr, name *byte, args *uintptr, n int32, given *uintptr) int32 {
	return status("poly_trace_begin", ctx, func(c *context) error {
		return c.begun("poly_trace_begin", name, args, n, given, func(who string, vs []*variable.Variable) ([]*variable.Variable, func(), error) {
			t, stand, err := c.vars.Trace(who, vs)
			if err != nil {
				return nil, nil, &argError{"args", err}
			}
			c.tracing = t
			return stand, func() { c.tracing = nil; t.Abandon() }, nil
		})
	})
}

var errNoTrace = errors.New("ctx: no function is traced: see poly_trace_begin")

// traced ends the trace of a context.
func (c *context) traced() (*variable.Trace, error) {
	t := c.tracing
	c.tracing = nil
	if t == nil {
		return nil, errNoTrace
	}
	return t, nil
}

// PolyTraceFlags.
const (
	tracePrune = 1
	traceFixed = 2
)

func poly_trace_end(ctx uintptr, results *uintptr, n, flags int32) (h uintptr) {
	withContext("poly_trace_end", ctx, func(c *context) error {
		if flags&^(tracePrune|traceFixed) != 0 {
			return badArg("flags", "%#x, expected POLY_TRACE_PRUNE and POLY_TRACE_FIXED", flags)
		}
		vs, err := c.arrays("results", results, n)
		if err != nil {
			return err
		}
		t, err := c.traced()
		if err != nil {
			return err
		}
		t.Prune, t.Fixed = flags&tracePrune != 0, flags&traceFixed != 0
		s, err := t.Compile(vs)
		if err != nil {
			return &argError{"results", err}
		}
		f := &function{Step: s, ctx: c}
		if f.entry, err = handles.New(handle.Function, c, f); err != nil {
			s.Drop()
			return err
		}
		c.functions[f] = struct{}{}
		h = uintptr(f.entry.Token())
		return nil
	}, func() { h = 0 })
	return h
}

func poly_trace_abandon(ctx uintptr) int32 {
	return status("poly_trace_abandon", ctx, func(c *context) error {
		t, err := c.traced()
		if err == nil {
			t.Abandon()
		}
		return err
	})
}

// A function is what a PolyFunction stands for.
type function struct {
	*variable.Step
	directRun
	ctx   *context
	entry *handle.Entry
	at    uint64 // the context's count of unbound buffers at the last run
}

// Drop ends a function.
func (f *function) Drop() {
	f.disableDirect()
	delete(f.ctx.functions, f)
	f.Step.Drop()
}

// rerun runs a function of no arguments, whose results are not asked for.
func (f *function) rerun() error {
	c := f.ctx
	results, err := f.Run(nil, nil)
	for _, v := range results {
		v.Drop()
	}
	if now := uint64(c.mu.c.unbound); f.at != now {
		f.disableDirect()
		f.at, f.tries = now, 0
	}
	if err == nil && f.quick == nil {
		if b := f.Rerunnable(); b != nil {
			f.enableDirect(c, f.entry, b)
		}
	}
	return err
}

func poly_function_rerun(f uintptr) (rc int32) {
	withContextOf("poly_function_rerun", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", f, handle.Function)
		if err == nil {
			err = s.rerun()
		}
		return err
	}, func() { rc = -1 })
	return rc
}

func poly_function_run(f uintptr, args *uintptr, n int32, vars unsafe.Pointer, nVars int32, out *uintptr, room int32) (count int32) {
	withContextOf("poly_function_run", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", f, handle.Function)
		if err != nil {
			return err
		}
		vs, err := c.arrays("args", args, n)
		if err != nil {
			return err
		}
		if results := s.Results(); room < int32(results) || results > 0 && out == nil {
			return badArg("out", "room for %d results at %p, expected %d", room, unsafe.Pointer(out), results)
		}
		values, err := c.variables(vars, nVars)
		if err != nil {
			return err
		}
		results, err := s.Run(vs, values)
		if err != nil {
			return &argError{"args", err}
		}
		count = int32(len(results))
		return c.outArrays(results, out)
	}, func() { count = -1 })
	return count
}

func poly_function_result(f uintptr, i int32) (h uintptr) {
	withContextOf("poly_function_result", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", f, handle.Function)
		if err != nil {
			return err
		}
		if i < 0 || int(i) >= s.Results() {
			return badArg("i", "%d, expected 0 to %d", i, s.Results()-1)
		}
		v := s.Result(int(i))
		if v == nil {
			return badArg("f", "makes another array at each run, expected a function compiled with POLY_TRACE_FIXED")
		}
		h, err = c.outArray(v.Retain())
		return err
	}, func() { h = 0 })
	return h
}

func poly_function_info(f uintptr, results, kernels, temporaries *int32) (rc int32) {
	withContextOf("poly_function_info", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", f, handle.Function)
		if err != nil {
			return err
		}
		if results != nil {
			*results = int32(s.Results())
		}
		if kernels != nil {
			*kernels = int32(s.Kernels())
		}
		if temporaries != nil {
			*temporaries = int32(s.Temporaries())
		}
		return nil
	}, func() { rc = -1 })
	return rc
}

func poly_view_function(f uintptr, runs, view int32) (text *byte) {
	withContextOf("poly_view_function", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", f, handle.Function)
		if err != nil {
			return err
		}
		if text, err = c.viewSink(s.Sink(), runs, view); err != nil {
			return err
		}
		return nil
	}, func() { text = nil })
	return text
}

func poly_function_release(f uintptr) { release[*function](f, handle.Function) }
