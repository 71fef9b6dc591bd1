package main

import (
	"errors"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/variable"
)

// numbersAt are n numbers of C, at most as many as stated.
func numbersAt(arg string, at *int32, n int32, most int) ([]int, error) {
	if n < 0 || int(n) > most || n > 0 && at == nil {
		return nil, badArg(arg, "%d numbers at %p, expected up to %d and their address", n, unsafe.Pointer(at), most)
	}
	out := make([]int, n)
	for i, a := range unsafe.Slice(at, n) {
		out[i] = int(a)
	}
	return out, nil
}

// begun starts a trace of a function of n arrays, and writes their placeholders to given.
func (c *context) begun(fn string, name *byte, args *uintptr, n int32, given *uintptr,
	begin func(who string, vs []*variable.Variable) (placeholders []*variable.Variable, abandon func(), err error)) error {
	if name != nil {
		fn = goString(name)
	}
	vs, err := c.arrays("args", args, n)
	if err != nil {
		return err
	}
	if given == nil && n > 0 {
		return badArg("given", "is NULL, expected room for %d handles", n)
	}
	placeholders, abandon, err := begin(fn, vs)
	if err != nil {
		return err
	}
	if err := c.outArrays(placeholders, given); err != nil {
		abandon()
		return err
	}
	return nil
}

func poly_expr_begin(ctx uintptr, name *byte, args *uintptr, n int32, axes *int32, given *uintptr) int32 {
	return status("poly_expr_begin", ctx, func(c *context) error {
		return c.begun("poly_expr_begin", name, args, n, given, func(who string, vs []*variable.Variable) ([]*variable.Variable, func(), error) {
			var at []int
			if axes != nil {
				var err error
				if at, err = numbersAt("axes", axes, n, len(vs)); err != nil {
					return nil, nil, err
				}
			}
			t, stand, err := c.vars.Express(who, vs, at)
			if err != nil {
				return nil, nil, &argError{"args", err}
			}
			return stand, t.Abandon, nil
		})
	})
}

var errNoExpr = errors.New("ctx: no function is traced: see poly_expr_begin")

// exprHandle gives an expression to C.
func (c *context) exprHandle(e *variable.Expr) (uintptr, error) {
	entry, err := handles.New(handle.Expr, c, e)
	if err != nil {
		e.Drop()
		return 0, err
	}
	return uintptr(entry.Token()), nil
}

func poly_expr_axis(ctx uintptr, name *byte, size int64) int32 {
	return status("poly_expr_axis", ctx, func(c *context) error {
		if name == nil {
			return badArg("name", "is NULL, expected the name of an axis")
		}
		t := c.vars.Tracing()
		if t == nil {
			return errNoExpr
		}
		if err := t.SetAxis(goString(name), size); err != nil {
			return &argError{"size", err}
		}
		return nil
	})
}

func poly_expr_along(x uintptr, operation, axis *byte) uintptr {
	return deriveArray("poly_expr_along", x, func(c *context, v *variable.Variable) (*variable.Variable, error) {
		if operation == nil {
			return nil, badArg("operation", "is NULL, expected a name")
		}
		if axis == nil {
			return nil, badArg("axis", "is NULL, expected the name of an axis")
		}
		return c.vars.Along(goString(operation), goString(axis), v)
	})
}

func poly_expr_end(ctx uintptr, results *uintptr, n int32) (h uintptr) {
	withContext("poly_expr_end", ctx, func(c *context) error {
		t := c.vars.Tracing()
		if t == nil {
			return errNoExpr
		}
		vs, err := c.arrays("results", results, n)
		if err != nil {
			t.Abandon()
			return err
		}
		e, err := t.End(vs)
		if err == nil {
			h, err = c.exprHandle(e)
		}
		return err
	}, func() { h = 0 })
	return h
}

func poly_expr_abandon(ctx uintptr) int32 {
	return status("poly_expr_abandon", ctx, func(c *context) error {
		t := c.vars.Tracing()
		if t == nil {
			return errNoExpr
		}
		t.Abandon()
		return nil
	})
}

// derivatives are the values of PolyDerivative.
var derivatives = []func(e *variable.Expr, of []int) (*variable.Expr, error){
	(*variable.Expr).JVP, (*variable.Expr).VJP, (*variable.Expr).Grad, (*variable.Expr).JacFwd, (*variable.Expr).JacRev,
	(*variable.Expr).HolomorphicGrad, (*variable.Expr).HolomorphicJacFwd, (*variable.Expr).HolomorphicJacRev, (*variable.Expr).Transpose,
}

// transformExpr makes an expression of another one.
func transformExpr(fn string, f uintptr, transform func(e *variable.Expr) (*variable.Expr, error)) (h uintptr) {
	withContextOf(fn, "f", f, handle.Expr, func(c *context) error {
		e, err := owned[*variable.Expr](c, "f", f, handle.Expr)
		if err != nil {
			return err
		}
		if e, err = e.Transform(transform); err != nil {
			return err
		}
		h, err = c.exprHandle(e)
		return err
	}, func() { h = 0 })
	return h
}

func poly_expr_derive(f uintptr, derivative int32, of *int32, n int32) uintptr {
	return transformExpr("poly_expr_derive", f, func(e *variable.Expr) (*variable.Expr, error) {
		if derivative < 0 || int(derivative) >= len(derivatives) {
			return nil, badArg("derivative", "%d, expected a PolyDerivative", derivative)
		}
		by, err := numbersAt("of", of, n, len(e.Inputs()))
		if err != nil {
			return nil, err
		}
		made, err := derivatives[derivative](e, by)
		if err != nil {
			return nil, &argError{"f", err}
		}
		return made, nil
	})
}

func poly_expr_batch(f uintptr, size int64, inAxes *int32, nIn int32, outAxes *int32, nOut int32) uintptr {
	return transformExpr("poly_expr_batch", f, func(e *variable.Expr) (*variable.Expr, error) {
		in, err := numbersAt("in_axes", inAxes, nIn, len(e.Inputs()))
		if err != nil {
			return nil, err
		}
		out, err := numbersAt("out_axes", outAxes, nOut, len(e.Outputs()))
		if err != nil {
			return nil, err
		}
		made, err := e.Batch(size, in, out)
		if err != nil {
			return nil, &argError{"f", err}
		}
		return made, nil
	})
}

func poly_expr_select(f uintptr, outputs *int32, n int32) uintptr {
	return transformExpr("poly_expr_select", f, func(e *variable.Expr) (*variable.Expr, error) {
		at, err := numbersAt("outputs", outputs, n, len(e.Outputs()))
		if err != nil {
			return nil, err
		}
		made, err := e.Select(at)
		if err != nil {
			return nil, &argError{"outputs", err}
		}
		return made, nil
	})
}

func poly_expr_info(f uintptr, inputs, outputs *int32) (rc int32) {
	withContextOf("poly_expr_info", "f", f, handle.Expr, func(c *context) error {
		e, err := owned[*variable.Expr](c, "f", f, handle.Expr)
		if err != nil {
			return err
		}
		if inputs != nil {
			*inputs = int32(len(e.Inputs()))
		}
		if outputs != nil {
			*outputs = int32(len(e.Outputs()))
		}
		return nil
	}, func() { rc = -1 })
	return rc
}

// runExpr runs an expression on arguments and writes the arrays that it makes to out. results is their number.
func runExpr(fn string, f uintptr, args *uintptr, n int32, out *uintptr, room int32, results func(e *variable.Expr) (int, error), run func(c *context, e *variable.Expr, args []*variable.Variable) ([]*variable.Variable, error)) (count int32) {
	withContextOf(fn, "f", f, handle.Expr, func(c *context) error {
		e, err := owned[*variable.Expr](c, "f", f, handle.Expr)
		if err != nil {
			return err
		}
		vs, err := c.arrays("args", args, n)
		if err != nil {
			return err
		}
		want, err := results(e)
		if err != nil {
			return err
		}
		if room < int32(want) || want > 0 && out == nil {
			return badArg("out", "room for %d results at %p, expected %d", room, unsafe.Pointer(out), want)
		}
		made, err := run(c, e, vs)
		if _, named := errors.AsType[*argError](err); err != nil && !named {
			err = &argError{"args", err}
		}
		if err != nil {
			return err
		}
		count = int32(len(made))
		return c.outArrays(made, out)
	}, func() { count = -1 })
	return count
}

func outputsOf(e *variable.Expr) (int, error) { return len(e.Outputs()), nil }

func poly_expr_apply(f uintptr, args *uintptr, n int32, out *uintptr, room int32) int32 {
	return runExpr("poly_expr_apply", f, args, n, out, room, outputsOf, func(_ *context, e *variable.Expr, vs []*variable.Variable) ([]*variable.Variable, error) {
		return e.Apply(vs)
	})
}

func poly_expr_scan(f uintptr, carried int32, length int64, reverse int32, args *uintptr, n int32, out *uintptr, room int32) int32 {
	return runExpr("poly_expr_scan", f, args, n, out, room, outputsOf, func(_ *context, e *variable.Expr, vs []*variable.Variable) ([]*variable.Variable, error) {
		return e.Scan(int(carried), length, reverse != 0, vs)
	})
}

func poly_expr_associative_scan(f uintptr, reverse int32, args *uintptr, n int32, out *uintptr, room int32) int32 {
	return runExpr("poly_expr_associative_scan", f, args, n, out, room, outputsOf, func(_ *context, e *variable.Expr, vs []*variable.Variable) ([]*variable.Variable, error) {
		return e.AssociativeScan(reverse != 0, vs)
	})
}

func poly_expr_while(f uintptr, args *uintptr, n int32, out *uintptr, room int32) int32 {
	inputs := func(e *variable.Expr) (int, error) { return len(e.Inputs()), nil }
	return runExpr("poly_expr_while", f, args, n, out, room, inputs, func(_ *context, e *variable.Expr, vs []*variable.Variable) ([]*variable.Variable, error) {
		return e.While(vs)
	})
}

func poly_expr_switch(f uintptr, branches int32, args *uintptr, n int32, out *uintptr, room int32) int32 {
	results := func(e *variable.Expr) (int, error) {
		if outputs := len(e.Outputs()); branches < 1 || outputs%int(branches) != 0 {
			return 0, badArg("branches", "%d, expected a number that divides the %d outputs", branches, outputs)
		}
		return len(e.Outputs()) / int(branches), nil
	}
	return runExpr("poly_expr_switch", f, args, n, out, room, results, func(_ *context, e *variable.Expr, vs []*variable.Variable) ([]*variable.Variable, error) {
		return e.Switch(int(branches), vs)
	})
}

// exprAt is the expression of an argument.
func exprAt(c *context, arg string, f uintptr) (*variable.Expr, error) {
	return owned[*variable.Expr](c, arg, f, handle.Expr)
}

func poly_expr_checkpoint(f uintptr, policy *byte, args *uintptr, n int32, out *uintptr, room int32) int32 {
	name := ""
	if policy != nil {
		name = goString(policy)
	}
	return runExpr("poly_expr_checkpoint", f, args, n, out, room, outputsOf, func(_ *context, e *variable.Expr, vs []*variable.Variable) ([]*variable.Variable, error) {
		return e.Checkpoint(name, vs)
	})
}

func poly_expr_custom_jvp(f, tangent uintptr, args *uintptr, n int32, out *uintptr, room int32) int32 {
	return runExpr("poly_expr_custom_jvp", f, args, n, out, room, outputsOf, func(c *context, e *variable.Expr, vs []*variable.Variable) ([]*variable.Variable, error) {
		rule, err := exprAt(c, "tangent", tangent)
		if err != nil {
			return nil, err
		}
		return e.CustomJVP(rule, vs)
	})
}

func poly_expr_custom_vjp(f, forward, backward uintptr, args *uintptr, n int32, out *uintptr, room int32) int32 {
	return runExpr("poly_expr_custom_vjp", f, args, n, out, room, outputsOf, func(c *context, e *variable.Expr, vs []*variable.Variable) ([]*variable.Variable, error) {
		first, err := exprAt(c, "forward", forward)
		if err != nil {
			return nil, err
		}
		second, err := exprAt(c, "backward", backward)
		if err != nil {
			return nil, err
		}
		return e.CustomVJP(first, second, vs)
	})
}

func poly_expr_custom_vmap(f uintptr, rule int64, args *uintptr, n int32, out *uintptr, room int32) int32 {
	return runExpr("poly_expr_custom_vmap", f, args, n, out, room, outputsOf, func(_ *context, e *variable.Expr, vs []*variable.Variable) ([]*variable.Variable, error) {
		if rule < 0 {
			return nil, badArg("rule", "%d, expected 0 or more", rule)
		}
		return e.CustomVMap(rule, vs)
	})
}

func poly_expr_begin_rule(f uintptr, name *byte, rule, size *int64, batched *int32, given *uintptr, room int32) (n int32) {
	withContextOf("poly_expr_begin_rule", "f", f, handle.Expr, func(c *context) error {
		e, err := exprAt(c, "f", f)
		if err != nil {
			return err
		}
		m := e.Missing()
		if m == nil {
			return nil
		}
		for _, out := range []struct {
			name string
			at   unsafe.Pointer
		}{{"rule", unsafe.Pointer(rule)}, {"size", unsafe.Pointer(size)}, {"batched", unsafe.Pointer(batched)}, {"given", unsafe.Pointer(given)}} {
			if out.at == nil {
				return badArg(out.name, "is NULL, expected memory of what is written")
			}
		}
		if int(room) < len(m.In) {
			return badArg("room", "%d, expected %d for the inputs of the function", room, len(m.In))
		}
		*rule, *size = m.Rules.Host.(int64), m.Size
		for i, in := range m.In {
			flag := int32(0)
			if in {
				flag = 1
			}
			unsafe.Slice(batched, room)[i] = flag
		}
		err = c.begun("poly_expr_begin_rule", name, nil, 0, given, func(who string, _ []*variable.Variable) ([]*variable.Variable, func(), error) {
			t, stand, err := c.vars.ExpressRule(who, m)
			if err != nil {
				return nil, nil, err
			}
			return stand, t.Abandon, nil
		})
		if err == nil {
			n = int32(len(m.In))
		}
		return err
	}, func() { n = -1 })
	return n
}

func poly_expr_add_rule(f, rule uintptr, batched *int32, n int32) (rc int32) {
	withContextOf("poly_expr_add_rule", "f", f, handle.Expr, func(c *context) error {
		e, err := exprAt(c, "f", f)
		if err != nil {
			return err
		}
		r, err := exprAt(c, "rule", rule)
		if err != nil {
			return err
		}
		flags, err := numbersAt("batched", batched, n, len(r.Outputs()))
		if err != nil {
			return err
		}
		out := make([]bool, len(flags))
		for i, v := range flags {
			out[i] = v != 0
		}
		return e.AddRule(r, out)
	}, func() { rc = -1 })
	return rc
}

func poly_expr_text(f uintptr) (text *byte) {
	withContextOf("poly_expr_text", "f", f, handle.Expr, func(c *context) error {
		e, err := exprAt(c, "f", f)
		if err == nil {
			text = cString(e.String())
		}
		return err
	}, func() { text = nil })
	return text
}

func poly_expr_release(f uintptr) { release[*variable.Expr](f, handle.Expr) }
