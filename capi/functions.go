package main

/*
#include <stdint.h>
*/
import "C"

import (
	"errors"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/variable"
)

//export go_poly_array_require_grad
func go_poly_array_require_grad(x C.uintptr_t, on C.int) C.int {
	return arrayStatus("poly_array_require_grad", x, func(_ *context, v *variable.Variable) error { return v.SetRequiresGrad(on != 0) })
}

//export go_poly_array_requires_grad
func go_poly_array_requires_grad(x C.uintptr_t) C.int {
	return arrayPredicate("poly_array_requires_grad", x, (*variable.Variable).RequiresGrad)
}

// optionalArray is array for a handle that may be NULL.
func (c *context) optionalArray(arg string, h C.uintptr_t) (*variable.Variable, error) {
	if h == 0 {
		return nil, nil
	}
	return c.array(arg, uintptr(h))
}

//export go_poly_array_grad
func go_poly_array_grad(x C.uintptr_t, grad *C.uintptr_t) (has C.int) {
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

//export go_poly_array_set_grad
func go_poly_array_set_grad(x, grad C.uintptr_t) C.int {
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

//export go_poly_array_backward
func go_poly_array_backward(x, gradient C.uintptr_t) C.int {
	return arrayStatus("poly_array_backward", x, func(c *context, v *variable.Variable) error {
		g, err := c.optionalArray("gradient", gradient)
		if err != nil {
			return err
		}
		return v.Backward(g)
	})
}

//export go_poly_array_backward_async
func go_poly_array_backward_async(x, gradient C.uintptr_t) (h C.uintptr_t) {
	withArray("poly_array_backward_async", x, func(c *context, v *variable.Variable) error {
		g, err := c.optionalArray("gradient", gradient)
		if err == nil {
			h, err = c.startJob(func(done func(*variable.Job)) error { return v.StartBackward(g, done) })
		}
		return err
	}, func() { h = 0 })
	return h
}

//export go_poly_array_gradient
func go_poly_array_gradient(x C.uintptr_t, targets *C.uintptr_t, n C.int, gradient C.uintptr_t, zeros C.int, out *C.uintptr_t) C.int {
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

//export go_poly_training
func go_poly_training(ctx C.uintptr_t, on C.int) C.int {
	before := C.int(0)
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

//export go_poly_no_grad
func go_poly_no_grad(ctx C.uintptr_t, on C.int) C.int {
	return status("poly_no_grad", ctx, func(c *context) error {
		if on == 0 && !c.vars.GradDisabled() {
			return badArg("on", "0, but gradients are on")
		}
		c.vars.NoGrad(on != 0)
		return nil
	})
}

//export go_poly_seed
func go_poly_seed(ctx C.uintptr_t, seed C.uint64_t) C.int {
	return status("poly_seed", ctx, func(c *context) error {
		c.vars.Stream.Seed(uint64(seed))
		return nil
	})
}

//export go_poly_trace_begin
func go_poly_trace_begin(ctx C.uintptr_t, name *C.char, args *C.uintptr_t, n C.int, given *C.uintptr_t) C.int {
	return status("poly_trace_begin", ctx, func(c *context) error {
		who := "poly_trace_begin"
		if name != nil {
			who = C.GoString(name)
		}
		vs, err := c.arrays("args", args, n)
		if err != nil {
			return err
		}
		if given == nil && n > 0 {
			return badArg("given", "is NULL, expected room for %d handles", n)
		}
		t, stand, err := c.vars.Trace(who, vs)
		if err != nil {
			return &argError{"args", err}
		}
		c.tracing = t
		return c.outArrays(stand, given)
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

//export go_poly_trace_end
func go_poly_trace_end(ctx C.uintptr_t, results *C.uintptr_t, n, flags C.int) (h C.uintptr_t) {
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
		h = C.uintptr_t(f.entry.Token())
		return nil
	}, func() { h = 0 })
	return h
}

//export go_poly_trace_abandon
func go_poly_trace_abandon(ctx C.uintptr_t) C.int {
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
	at    uint64 // the context's unbound when it ran last
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

//export go_function_rerun
func go_function_rerun(f C.uintptr_t) (rc C.int) {
	withContextOf("poly_function_rerun", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", uintptr(f), handle.Function)
		if err == nil {
			err = s.rerun()
		}
		return err
	}, func() { rc = -1 })
	return rc
}

//export go_poly_function_run
func go_poly_function_run(f C.uintptr_t, args *C.uintptr_t, n C.int, vars unsafe.Pointer, nVars C.int, out *C.uintptr_t, room C.int) (count C.int) {
	withContextOf("poly_function_run", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", uintptr(f), handle.Function)
		if err != nil {
			return err
		}
		vs, err := c.arrays("args", args, n)
		if err != nil {
			return err
		}
		if results := s.Results(); room < C.int(results) || results > 0 && out == nil {
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
		count = C.int(len(results))
		return c.outArrays(results, out)
	}, func() { count = -1 })
	return count
}

//export go_poly_function_result
func go_poly_function_result(f C.uintptr_t, i C.int) (h C.uintptr_t) {
	withContextOf("poly_function_result", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", uintptr(f), handle.Function)
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

//export go_poly_function_info
func go_poly_function_info(f C.uintptr_t, results, kernels, temporaries *C.int) (rc C.int) {
	withContextOf("poly_function_info", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", uintptr(f), handle.Function)
		if err != nil {
			return err
		}
		if results != nil {
			*results = C.int(s.Results())
		}
		if kernels != nil {
			*kernels = C.int(s.Kernels())
		}
		if temporaries != nil {
			*temporaries = C.int(s.Temporaries())
		}
		return nil
	}, func() { rc = -1 })
	return rc
}

//export go_poly_view_function
func go_poly_view_function(f C.uintptr_t, runs, view C.int) (text *C.char) {
	withContextOf("poly_view_function", "f", f, handle.Function, func(c *context) error {
		s, err := owned[*function](c, "f", uintptr(f), handle.Function)
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

//export go_poly_function_release
func go_poly_function_release(f C.uintptr_t) { release[*function](f, handle.Function) }
