package polygrad

import (
	"errors"
	"fmt"
	"runtime"

	"polygrad/variable"
)

// A Function computes tensors from tensors. Transformations such as Grad and VMap make one Function of another, and nest in any order.
//
// Each call of a transformed function calls the original function once, on placeholders that have the shapes and types of the arguments but no
// elements. Therefore the function must be pure: it must not read elements (Values, Item), call Backward, or write tensors that it has not made
// itself. Tensors from outside are constants. No other goroutine may use the context meanwhile.
type Function = func(args ...*Tensor) ([]*Tensor, error)

// Traced reports whether a function is being traced in the context of x, by a transformation or by Compile.
func Traced(x *Tensor) bool {
	if x.Err() != nil {
		return false
	}
	x.c.lock()
	defer x.c.unlock()
	return x.c.vars.Tracing() != nil || x.c.vars.Compiling()
}

// Unmapped is the axis, for VMap, of an argument or a result that is the same for all elements of the batch.
const Unmapped = variable.Unmapped

// expr is a function as an expression. The expression is dropped when the expr has been garbage collected.
type expr struct {
	c *Context
	e *variable.Expr
}

// express traces f on placeholders for args.
func express(who string, f Function, args []*Tensor, axes []int) (*expr, error) {
	return expressAlong("", who, f, args, axes)
}

// expressAlong is express with a name for the batch axis, "" for none.
func expressAlong(axis, who string, f Function, args []*Tensor, axes []int) (*expr, error) {
	if f == nil {
		return nil, errors.New("f: is nil, expected a function")
	}
	vs, err := variables(args)
	if err != nil {
		return nil, err
	}
	c := Default()
	if len(args) > 0 {
		c = args[0].c
	}
	c.lock()
	defer func() { c.unlock() }()
	e, err := c.expressed(f, func() (*variable.Tracing, []*variable.Variable, error) {
		t, placeholders, err := c.vars.Express(who, vs, axes)
		if err == nil && axis != "" {
			if err = t.SetAxis(axis, -1); err != nil {
				t.Abandon()
			}
		}
		return t, placeholders, err
	})
	runtime.KeepAlive(args)
	if err != nil {
		return nil, err
	}
	return c.newExpr(e), nil
}

// expressed traces f on the placeholders that begin makes.
func (c *Context) expressed(f Function, begin func() (*variable.Tracing, []*variable.Variable, error)) (*variable.Expr, error) {
	t, placeholders, err := begin()
	if err != nil {
		return nil, err
	}
	ended := false
	defer func() {
		if !ended { // f has failed, or panicked
			t.Abandon()
		}
	}()
	vs, keep, err := c.call(f, placeholders)
	if err != nil {
		return nil, err
	}
	ended = true
	e, err := t.End(vs)
	runtime.KeepAlive(keep)
	return e, err
}

// call calls f on placeholders with the context unlocked. keep must stay reachable as long as the results are used.
func (c *Context) call(f Function, placeholders []*variable.Variable) (results []*variable.Variable, keep any, err error) {
	given := make([]*Tensor, len(placeholders))
	for i, v := range placeholders {
		given[i] = c.tensor(v)
	}
	var made []*Tensor
	func() {
		c.unlock()
		defer c.lock()
		made, err = f(given...)
	}()
	if err != nil {
		return nil, nil, err
	}
	for i, r := range made {
		switch {
		case r == nil:
			return nil, nil, fmt.Errorf("result %d: is nil, expected a tensor", i)
		case r.Err() != nil:
			return nil, nil, r.Err()
		case r.c != c:
			return nil, nil, fmt.Errorf("result %d: %w", i, variable.ErrOtherContext)
		}
	}
	results, err = variables(made)
	return results, [2][]*Tensor{given, made}, err
}

func (c *Context) newExpr(e *variable.Expr) *expr {
	made := &expr{c, e}
	runtime.AddCleanup(made, c.dropLater, dropper(e))
	return made
}

// with is a transformed expression. It traces the rules of CustomVMap that the transformation misses.
func (x *expr) with(transform func(e *variable.Expr) (*variable.Expr, error)) (*expr, error) {
	x.c.lock()
	defer func() { x.c.unlock() }()
	defer runtime.KeepAlive(x)
	for {
		e, err := x.e.Transform(transform)
		if err != nil {
			return nil, err
		}
		if x.e.Missing() == nil {
			return x.c.newExpr(e), nil
		}
		e.Drop()
		for m := x.e.Missing(); m != nil; m = x.e.Missing() {
			if err := x.addRule(m); err != nil {
				return nil, fmt.Errorf("CustomVMap: %w", err)
			}
		}
	}
}

// addRule traces a batching rule that a transformation has missed, and adds it.
func (x *expr) addRule(m *variable.MissingRule) error {
	var batched []bool
	rule, err := x.c.expressed(func(args ...*Tensor) (results []*Tensor, err error) {
		results, batched, err = m.Rules.Host.(BatchRule)(int(m.Size), m.In, args)
		return results, err
	}, func() (*variable.Tracing, []*variable.Variable, error) { return x.c.vars.ExpressRule("CustomVMap", m) })
	if err != nil {
		return fmt.Errorf("rule: %w", err)
	}
	defer rule.Drop()
	return x.e.AddRule(rule, batched)
}

// apply computes the outputs for arguments.
func (x *expr) apply(args ...*Tensor) ([]*Tensor, error) { return x.results(args, x.e.Apply) }

// results are the tensors that f makes of the variables of arguments.
func (x *expr) results(args []*Tensor, f func(vs []*variable.Variable) ([]*variable.Variable, error)) ([]*Tensor, error) {
	vs, err := variables(args)
	if err != nil {
		return nil, err
	}
	x.c.lock()
	defer x.c.unlock()
	made, err := f(vs)
	runtime.KeepAlive(args)
	runtime.KeepAlive(x)
	if err != nil {
		return nil, err
	}
	out := make([]*Tensor, len(made))
	for i, v := range made {
		out[i] = x.c.tensor(v)
	}
	return out, nil
}

// scan runs a step over sequences: see variable.Expr.Scan.
func (x *expr) scan(carried, length int, reverse bool, args []*Tensor) ([]*Tensor, error) {
	return x.results(args, func(vs []*variable.Variable) ([]*variable.Variable, error) {
		return x.e.Scan(carried, int64(length), reverse, vs)
	})
}

// transformed applies a transformation of f to args.
func transformed(who string, f Function, args []*Tensor, transform func(e *variable.Expr) (*variable.Expr, error), more ...*Tensor) ([]*Tensor, error) {
	x, err := express(who, f, args, nil)
	if err != nil {
		return nil, err
	}
	if x, err = x.with(transform); err != nil {
		return nil, err
	}
	return x.apply(append(args[:len(args):len(args)], more...)...)
}

// orFirst is argnums, or the first argument if there are none.
func orFirst(argnums []int) []int {
	if len(argnums) == 0 {
		return []int{0}
	}
	return argnums
}

// floats are the numbers of the arguments of floating types.
func floats(args []*Tensor) (of []int) {
	for i, t := range args {
		if dt, err := t.DType().uop(); err == nil && dt.IsFloat() {
			of = append(of, i)
		}
	}
	return of
}

// Grad returns a function that computes the gradients of f, a loss, with respect to the arguments with the given numbers, by default the first one.
// The first result of f must be a scalar of a floating type.
func Grad(f Function, argnums ...int) Function {
	value := ValueAndGrad(f, argnums...)
	return func(args ...*Tensor) ([]*Tensor, error) {
		_, grads, err := value(args...)
		return grads, err
	}
}

// ValueAndGrad is Grad, but its function also returns the results of f.
func ValueAndGrad(f Function, argnums ...int) func(args ...*Tensor) (values, grads []*Tensor, err error) {
	of := orFirst(argnums)
	return func(args ...*Tensor) (values, grads []*Tensor, err error) {
		out, err := transformed("Grad", f, args, func(e *variable.Expr) (*variable.Expr, error) { return e.Grad(of) })
		if err != nil {
			return nil, nil, wrapError("Grad", err)
		}
		return out[len(of):], out[:len(of)], nil
	}
}

// JVP returns the results of f for primals, and how they change to first order if each primal changes by its tangent (forward mode). The tangents
// must have the shapes and types of the primals; those of arguments that are not of a floating type are nil.
func JVP(f Function, primals, tangents []*Tensor) (values, changes []*Tensor, err error) {
	values, linear, err := Linearize(f, primals...)
	if err != nil {
		return nil, nil, err
	}
	if len(tangents) != len(primals) {
		return nil, nil, fmt.Errorf("polygrad: JVP: tangents: %d, expected %d as primals", len(tangents), len(primals))
	}
	changes, err = linear(tangents...)
	return values, changes, err
}

// Linearize returns the results of f for args, and a linear function that computes tangents of the results from tangents of args without calling f
// again. Tangents of arguments that are not of a floating type are nil.
func Linearize(f Function, args ...*Tensor) (values []*Tensor, linear Function, err error) {
	of := floats(args)
	x, err := express("JVP", f, args, nil)
	if err == nil {
		values, err = x.apply(args...)
	}
	if err == nil {
		x, err = x.with(func(e *variable.Expr) (*variable.Expr, error) { return e.JVP(of) })
	}
	if err != nil {
		return nil, nil, wrapError("JVP", err)
	}
	linear = func(tangents ...*Tensor) ([]*Tensor, error) {
		all := append([]*Tensor{}, args...)
		for _, i := range of {
			if i >= len(tangents) || tangents[i] == nil {
				return nil, fmt.Errorf("polygrad: JVP: tangents: none for argument %d, which is %s", i, args[i].DType())
			}
			all = append(all, tangents[i])
		}
		out, err := x.apply(all...)
		if err != nil {
			return nil, wrapError("JVP", err)
		}
		return out[len(values):], nil
	}
	return values, linear, nil
}

// VJP returns the results of f for args, and a function that computes the gradients with respect to args (reverse mode) without calling f again. It
// takes one cotangent for each result, of its shape and type. The gradient of an argument that is not of a floating type is nil.
func VJP(f Function, args ...*Tensor) (values []*Tensor, pullback Function, err error) {
	return vjp("VJP", (*variable.Expr).VJP, f, args)
}

func vjp(who string, derive func(e *variable.Expr, of []int) (*variable.Expr, error), f Function, args []*Tensor) (
	values []*Tensor, pullback Function, err error,
) {
	of := floats(args)
	x, err := express(who, f, args, nil)
	if err == nil {
		values, err = x.apply(args...)
	}
	if err == nil {
		x, err = x.with(func(e *variable.Expr) (*variable.Expr, error) { return derive(e, of) })
	}
	if err != nil {
		return nil, nil, wrapError(who, err)
	}
	pullback = func(cotangents ...*Tensor) ([]*Tensor, error) {
		found, err := x.apply(append(args[:len(args):len(args)], cotangents...)...)
		if err != nil {
			return nil, wrapError(who, err)
		}
		grads := make([]*Tensor, len(args))
		for k, i := range of {
			grads[i] = found[k]
		}
		return grads, nil
	}
	return values, pullback, nil
}

// LinearTranspose returns the transpose of f, a linear function of arguments like args. The transpose computes, from one cotangent for each result,
// one for each argument, nil for an argument that is not of a floating type. A function that is not linear is an error.
func LinearTranspose(f Function, args ...*Tensor) (Function, error) {
	_, transpose, err := vjp("LinearTranspose", (*variable.Expr).Transpose, f, args)
	return transpose, err
}

// VMap returns a function that computes f for all elements of a batch at once. in are the batch axes of the arguments, out those of the results. A
// nil list means axis 0 for each; Unmapped means that there is no batch axis. Random functions give all elements the same numbers.
func VMap(f Function, in, out []int) Function {
	return func(args ...*Tensor) ([]*Tensor, error) {
		made, err := vmap("", f, in, out, args)
		return made, wrapError("VMap", err)
	}
}

func vmap(axis string, f Function, in, out []int, args []*Tensor) ([]*Tensor, error) {
	if f == nil {
		return nil, errors.New("f: is nil, expected a function")
	}
	return vmapWith(axis, func(args ...*Tensor) ([]*Tensor, []int, error) {
		results, err := f(args...)
		if out == nil {
			return results, make([]int, len(results)), err
		}
		return results, out, err
	}, in, args)
}

func vmapWith(axis string, f func(args ...*Tensor) ([]*Tensor, []int, error), in []int, args []*Tensor) ([]*Tensor, error) {
	if _, err := variables(args); err != nil {
		return nil, err
	}
	if in == nil {
		in = make([]int, len(args))
	}
	if len(in) != len(args) {
		return nil, fmt.Errorf("in: %d axes, expected one for each of %d arguments", len(in), len(args))
	}
	var out []int
	x, err := expressAlong(axis, "VMap", func(args ...*Tensor) (results []*Tensor, err error) {
		results, out, err = f(args...)
		return results, err
	}, args, in)
	if err != nil {
		return nil, err
	}
	x, err = x.with(func(e *variable.Expr) (*variable.Expr, error) { return e.Batch(-1, in, out) })
	if err != nil {
		return nil, err
	}
	return x.apply(args...)
}

// jacobian is a transformation that gives derivatives of each output by each of some arguments.
func jacobian(who string, f Function, argnums []int, transform func(e *variable.Expr, of []int) (*variable.Expr, error)) Function {
	of := orFirst(argnums)
	return func(args ...*Tensor) ([]*Tensor, error) {
		out, err := transformed(who, f, args, func(e *variable.Expr) (*variable.Expr, error) { return transform(e, of) })
		return out, wrapError(who, err)
	}
}

// JacFwd returns a function that computes the Jacobians of f in forward mode with respect to the arguments with the given numbers, by default the
// first one. For each result there is one Jacobian for each number, of the shape of the result followed by that of the argument. JacFwd suits
// functions with fewer elements in the arguments than in the results.
func JacFwd(f Function, argnums ...int) Function {
	return jacobian("JacFwd", f, argnums, (*variable.Expr).JacFwd)
}

// JacRev is JacFwd in reverse mode. It suits functions with fewer elements in the results than in the arguments.
func JacRev(f Function, argnums ...int) Function {
	return jacobian("JacRev", f, argnums, (*variable.Expr).JacRev)
}

// Hessian returns a function that computes the second derivatives of f with respect to the arguments with the given numbers, by default the first
// one. For each result there is one tensor for each pair of numbers, of the shape of the result followed by those of both arguments.
func Hessian(f Function, argnums ...int) Function {
	return jacobian("Hessian", f, argnums, func(e *variable.Expr, of []int) (*variable.Expr, error) {
		first, err := e.JacRev(of)
		if err != nil {
			return nil, err
		}
		defer first.Drop()
		return first.JacFwd(of)
	})
}

// HVP returns the products of the Hessian of f, a loss, with vectors, one for each argument. It does not compute the Hessian, but the change of the
// gradients along the vectors. All arguments must be of floating types.
func HVP(f Function, args, vectors []*Tensor) ([]*Tensor, error) {
	of := floats(args)
	out, err := transformed("HVP", f, args, func(e *variable.Expr) (*variable.Expr, error) {
		first, err := e.Grad(of)
		if err != nil {
			return nil, err
		}
		defer first.Drop()
		return first.JVP(of)
	}, vectors...)
	if err != nil {
		return nil, wrapError("HVP", err)
	}
	half := len(out) / 2
	return out[half : half+len(of)], nil
}

// Checkpoint returns f with derivatives that recompute intermediate values instead of storing them, to save memory. They store the arguments and the
// values that the policy selects: "nothing_saveable" (or "") no others, "dots_saveable" matrix products and convolutions, "everything_saveable" all
// values, as without Checkpoint. The values are recomputed when the gradients of the results are known.
func Checkpoint(f Function, policy string) Function {
	return func(args ...*Tensor) ([]*Tensor, error) {
		x, err := express("Checkpoint", f, args, nil)
		if err != nil {
			return nil, wrapError("Checkpoint", err)
		}
		out, err := x.results(args, func(vs []*variable.Variable) ([]*variable.Variable, error) { return x.e.Checkpoint(policy, vs) })
		return out, wrapError("Checkpoint", err)
	}
}

// CustomJVP returns f with a custom rule for derivatives: rule takes the arguments of f, then a tangent for each argument of a floating type, and
// computes a tangent for each result of a floating type. It must be linear in the tangents. Reverse mode uses the transpose of the rule.
func CustomJVP(f, rule Function) Function {
	return func(args ...*Tensor) ([]*Tensor, error) {
		out, err := customJVP(f, rule, args)
		return out, wrapError("CustomJVP", err)
	}
}

func customJVP(f, rule Function, args []*Tensor) ([]*Tensor, error) {
	x, err := express("CustomJVP", f, args, nil)
	if err != nil {
		return nil, err
	}
	given := append([]*Tensor{}, args...)
	for _, i := range floats(args) {
		given = append(given, args[i])
	}
	tangent, err := express("CustomJVP", rule, given, nil)
	if err != nil {
		return nil, fmt.Errorf("rule: %w", err)
	}
	defer runtime.KeepAlive(tangent)
	return x.results(args, func(vs []*variable.Variable) ([]*variable.Variable, error) { return x.e.CustomJVP(tangent.e, vs) })
}

// CustomVJP returns f with a custom rule for gradients: forward computes the results of f, then residuals, which are stored; backward computes, from
// the residuals and a cotangent for each result, a gradient for each argument of a floating type. Forward mode uses the transpose of backward, at
// cotangents of 0.
func CustomVJP(f, forward, backward Function) Function {
	return func(args ...*Tensor) ([]*Tensor, error) {
		out, err := customVJP(f, forward, backward, args)
		return out, wrapError("CustomVJP", err)
	}
}

func customVJP(f, forward, backward Function, args []*Tensor) ([]*Tensor, error) {
	x, err := express("CustomVJP", f, args, nil)
	if err != nil {
		return nil, err
	}
	first, err := express("CustomVJP", forward, args, nil)
	if err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	given, err := first.apply(args...)
	if err != nil {
		return nil, err
	}
	n := len(x.e.Outputs())
	if len(given) < n {
		return nil, fmt.Errorf("forward: returns %d tensors, expected the %d results, and residuals", len(given), n)
	}
	back, err := express("CustomVJP", backward, append(given[n:len(given):len(given)], given[:n]...), nil)
	if err != nil {
		return nil, fmt.Errorf("backward: %w", err)
	}
	defer runtime.KeepAlive(back)
	defer runtime.KeepAlive(first)
	return x.results(args, func(vs []*variable.Variable) ([]*variable.Variable, error) { return x.e.CustomVJP(first.e, back.e, vs) })
}

// A BatchRule computes the results of a function for all elements of a batch of a size at once. If in[i] is set, argument i has the batch as its
// first axis; otherwise all elements share the argument. The same holds for out[i] and result i.
type BatchRule = func(size int, in []bool, args []*Tensor) (results []*Tensor, out []bool, err error)

// CustomVMap returns f with a custom rule for VMap. The rule is called once for each batch size and choice of batched arguments, within the remaining
// transformations: in VMap of VMap it may call VMap, or f. Tangents in a batch are those of the rule. Gradients in a batch are those of f, and
// outside of the batch those of what the rule has computed.
func CustomVMap(f Function, rule BatchRule) Function {
	return func(args ...*Tensor) ([]*Tensor, error) {
		if rule == nil {
			return nil, wrapError("CustomVMap", errors.New("rule: is nil, expected a function"))
		}
		x, err := express("CustomVMap", f, args, nil)
		if err != nil {
			return nil, wrapError("CustomVMap", err)
		}
		out, err := x.results(args, func(vs []*variable.Variable) ([]*variable.Variable, error) { return x.e.CustomVMap(rule, vs) })
		return out, wrapError("CustomVMap", err)
	}
}

// StopGradient returns x.Detach(), which is a constant for derivatives.
func StopGradient(x *Tensor) *Tensor { return x.Detach() }

// A Spec is the shape and type of a tensor that is not computed.
type Spec struct {
	Shape []int
	DType DType
}

// EvalShape returns the shapes and types of the results of f for arguments of the shapes and types of args. It calls f once and computes nothing.
func EvalShape(f Function, args ...*Tensor) ([]Spec, error) {
	if f == nil {
		return nil, wrapError("EvalShape", errors.New("f: is nil, expected a function"))
	}
	var specs []Spec
	x, err := express("EvalShape", func(args ...*Tensor) ([]*Tensor, error) {
		results, err := f(args...)
		if err == nil {
			_, err = variables(results)
		}
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			specs = append(specs, Spec{r.Shape(), r.DType()})
		}
		return results, nil
	}, args, nil)
	runtime.KeepAlive(x)
	return specs, wrapError("EvalShape", err)
}

// Describe returns f as text for arguments of the shapes and types of args: its inputs, one equation per line with names and types, and its outputs.
// The statements of loops are indented. It calls f once and computes nothing.
func Describe(f Function, args ...*Tensor) (string, error) {
	x, err := express("Describe", f, args, nil)
	if err != nil {
		return "", wrapError("Describe", err)
	}
	defer runtime.KeepAlive(x)
	return x.e.String(), nil
}

// VMapAlong is VMap with a name for the batch axis, which Along refers to.
func VMapAlong(axis string, f Function, in, out []int) Function {
	return func(args ...*Tensor) ([]*Tensor, error) {
		made, err := vmap(axis, f, in, out, args)
		return made, wrapError("VMapAlong", err)
	}
}

// VMapWith is VMapAlong for a function that also returns the batch axes of its results. The axis has no name if axis is "".
func VMapWith(axis string, f func(args ...*Tensor) (results []*Tensor, out []int, err error), in []int) Function {
	return func(args ...*Tensor) ([]*Tensor, error) {
		if f == nil {
			return nil, wrapError("VMapWith", errors.New("f: is nil, expected a function"))
		}
		made, err := vmapWith(axis, f, in, args)
		return made, wrapError("VMapWith", err)
	}
}

// Along computes an operation on x along the named batch axis of VMapAlong: "psum" is the sum of x over all elements of the batch, "all_gather"
// stacks x of all elements along a new first axis, "own" is the part x[i] of element i, where x is a tensor like those of all_gather, and
// "axis_index" is the number of the element, where x is any tensor.
func Along(operation, axis string, x *Tensor) *Tensor {
	return x.derive("Along", func(v *variable.Variable) (*variable.Variable, error) { return x.c.vars.Along(operation, axis, v) })
}
