package polygrad

import (
	"errors"
	"fmt"
	"runtime"

	"polygrad/variable"
)

// A Function computes tensors from tensors. Functions of functions, like Grad and VMap, make one of another and nest in any order.
//
// They call the function once for each call of the result, on placeholders that have the shapes and types of its arguments, and no
// elements. Therefore it must be pure: it must not read elements (Values, Item), call Backward, or write tensors that it has not made
// itself. Tensors from outside are constants. No other goroutine may use the context meanwhile.
type Function = func(args ...*Tensor) ([]*Tensor, error)

// Traced reports whether a function is traced in the context of a tensor, by a function of functions or by Compile.
func Traced(x *Tensor) bool {
	if x.Err() != nil {
		return false
	}
	x.c.lock()
	defer x.c.unlock()
	return x.c.vars.Tracing() != nil || x.c.vars.Compiling()
}

// Unmapped is the axis of an argument of VMap that is the same for all elements of the batch, or of such a result.
const Unmapped = variable.Unmapped

// expr is a function as an expression. It is dropped when the collector finds it.
type expr struct {
	c *Context
	e *variable.Expr
}

// express calls f on placeholders for args.
func express(who string, f Function, args []*Tensor, axes []int) (*expr, error) {
	return expressAlong("", who, f, args, axes)
}

// expressAlong is express with a name for the axis of the batch, "" for none.
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

// expressed calls f on the placeholders of a tracing that has begun.
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

// call calls a function on placeholders, without the lock of the context. keep must be alive as long as the results are used.
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

// with is a transformed expression.
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

// addRule states the rule for a batch that a transformation has missed.
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

// apply computes the outputs from arguments.
func (x *expr) apply(args ...*Tensor) ([]*Tensor, error) { return x.results(args, x.e.Apply) }

// results are the tensors that f makes of arguments.
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

// orFirst are argument numbers, the first one if there are none.
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

// Grad returns the function that computes the gradients of f, a loss, by the arguments with the given numbers; without numbers by the
// first one. The first result of f must be a scalar of a floating type.
func Grad(f Function, argnums ...int) Function {
	value := ValueAndGrad(f, argnums...)
	return func(args ...*Tensor) ([]*Tensor, error) {
		_, grads, err := value(args...)
		return grads, err
	}
}

// ValueAndGrad is Grad for a function that also returns the results of f.
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

// JVP returns the results of f for primals, and how they change to first order if each primal changes by its tangent (forward mode). The
// tangents have the shapes and types of the primals; those of arguments that are not of a floating type are nil.
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

// Linearize returns the results of f for args, and the linear function that computes the tangents of the results from those of args. The
// latter does not call f. Tangents of arguments that are not of a floating type are nil.
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

// VJP returns the results of f for args, and the function that computes the gradients by args from one cotangent for each result, of its
// shape and type (reverse mode). The latter does not call f; an argument that is not of a floating type has the gradient nil.
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

// LinearTranspose returns the transpose of a linear function whose arguments are like args: from one cotangent for each result it computes one
// for each argument, nil for those that are not of a floating type. A function that is not linear is an error.
func LinearTranspose(f Function, args ...*Tensor) (Function, error) {
	_, transpose, err := vjp("LinearTranspose", (*variable.Expr).Transpose, f, args)
	return transpose, err
}

// VMap returns the function that computes f for all elements of a batch at once. in are the axes of the arguments along which the elements
// lie, out those of the results; nil is axis 0 for each, Unmapped none. Random functions give all elements the same numbers.
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

// JacFwd returns the function that computes the Jacobians of f by the arguments with the given numbers, the first one without numbers, in
// forward mode: for each result one for each number, of the shape of the result followed by that of the argument. It suits functions
// with fewer arguments than results.
func JacFwd(f Function, argnums ...int) Function {
	return jacobian("JacFwd", f, argnums, (*variable.Expr).JacFwd)
}

// JacRev is JacFwd in reverse mode, for functions with fewer results than arguments.
func JacRev(f Function, argnums ...int) Function {
	return jacobian("JacRev", f, argnums, (*variable.Expr).JacRev)
}

// Hessian returns the function that computes the second derivatives of f by the arguments with the given numbers, the first one without
// numbers: for each result, each number and each number once more, of the shape of the result followed by those of both arguments.
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

// HVP returns the products of the second derivatives of f, a loss, with vectors, one for each argument, without computing the Hessian:
// the change of the gradients along the vectors. All arguments are of floating types.
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

// Checkpoint returns f, whose derivatives compute it again instead of storing what its results are computed from, to save memory. They store the
// arguments and what the policy says: "nothing_saveable" (or "") nothing else, "dots_saveable" matrix products and convolutions,
// "everything_saveable" all, as if f was not checkpointed. The computation begins when the gradients of the results are known.
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

// CustomJVP returns f with derivatives by a rule: rule computes, from the arguments of f and then a tangent for each argument of a floating type, a
// tangent for each result of a floating type. It must be linear in the tangents; reverse mode is its transpose.
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

// CustomVJP returns f with gradients by a rule. forward computes the results of f again, and then residuals, which are stored; backward computes,
// from the residuals and a cotangent for each result, a gradient for each argument of a floating type.
// Forward mode takes the transpose of backward, at cotangents of 0.
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

// A BatchRule computes the results of a function for all elements of a batch of a size at once. The arguments i with in[i] have the elements along
// a first axis, the others are the same for all of them; so the results i with out[i] must have it, and the others must not.
type BatchRule = func(size int, in []bool, args []*Tensor) (results []*Tensor, out []bool, err error)

// CustomVMap returns f, which VMap computes by a rule in place of one element after the other. The rule is called once for each size and choice of
// arguments that are batched, in what is left of the functions around: in VMap of VMap it may call VMap, or f. In a batch, tangents are
// those of the rule; gradients are those of f, and outside of the batch those of what the rule has computed.
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

// StopGradient is a constant for derivatives: x.Detach().
func StopGradient(x *Tensor) *Tensor { return x.Detach() }

// A Spec is what is known of a tensor that is not computed.
type Spec struct {
	Shape []int
	DType DType
}

// EvalShape returns the shapes and types of the results of f for arguments of the shapes and types of args. f is called once and nothing is computed.
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

// Describe returns f as text for arguments of the shapes and types of args: its inputs, one equation a line with names and types, its outputs.
// Loops have their statements indented. f is called once and nothing is computed.
func Describe(f Function, args ...*Tensor) (string, error) {
	x, err := express("Describe", f, args, nil)
	if err != nil {
		return "", wrapError("Describe", err)
	}
	defer runtime.KeepAlive(x)
	return x.e.String(), nil
}

// VMapAlong is VMap along an axis with a name, by which Along computes with all elements of the batch.
func VMapAlong(axis string, f Function, in, out []int) Function {
	return func(args ...*Tensor) ([]*Tensor, error) {
		made, err := vmap(axis, f, in, out, args)
		return made, wrapError("VMapAlong", err)
	}
}

// VMapWith is VMapAlong of a function that says of each result along which axis the elements lie. The axis has no name if it is "".
func VMapWith(axis string, f func(args ...*Tensor) (results []*Tensor, out []int, err error), in []int) Function {
	return func(args ...*Tensor) ([]*Tensor, error) {
		if f == nil {
			return nil, wrapError("VMapWith", errors.New("f: is nil, expected a function"))
		}
		made, err := vmapWith(axis, f, in, args)
		return made, wrapError("VMapWith", err)
	}
}

// Along is an operation on x along an axis with a name, in a function that VMapAlong batches: "psum" is the sum of x over all elements of the batch,
// "all_gather" all x, along a new first axis, "own" what belongs to an element of what all_gather gives, and "axis_index" the number of the element,
// where x is any tensor.
func Along(operation, axis string, x *Tensor) *Tensor {
	return x.derive("Along", func(v *variable.Variable) (*variable.Variable, error) { return x.c.vars.Along(operation, axis, v) })
}
