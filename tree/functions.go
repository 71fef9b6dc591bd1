package tree

import (
	"errors"
	"reflect"
	"strings"

	"polygrad"
)

// Tensor is polygrad.Tensor.
type Tensor = polygrad.Tensor

var errNil = errors.New("f: is nil, expected a function")

// Leaves returns the tensors of a tree, in the order of fields and elements; keys of maps are sorted.
func Leaves[T any](tree T) ([]*Tensor, error) {
	t, err := flatten(of("tree", &tree))
	if err != nil {
		return nil, fail("Leaves", err, nil, nil)
	}
	return t.tensors, nil
}

// Map applies f to the tensors at the same place of trees that have the same structure, and returns the tree of the results.
func Map[T any](f func(xs ...*Tensor) *Tensor, first T, more ...T) (out T, err error) {
	if f == nil {
		return out, fail("Map", errNil, nil, nil)
	}
	all := make([]*trees, 1+len(more))
	for i, tree := range append([]T{first}, more...) {
		if all[i], err = flatten(of("tree", &tree)); err == nil {
			err = all[i].sameAs(all[0], "a tree", "the first one")
		}
		if err != nil {
			return out, fail("Map", err, nil, nil)
		}
	}
	made := make([]*Tensor, len(all[0].tensors))
	for k := range made {
		at := make([]*Tensor, len(all))
		for i, t := range all {
			at[i] = t.tensors[k]
		}
		made[k] = f(at...)
	}
	return as[T](all[0].build(made)[0]), nil
}

// Grad returns a function that computes the gradients of f, a loss, with respect to params, as a tree like params. The loss must be a scalar of a
// floating type, and all tensors of params must be of floating types. A tensor that is in two places has a gradient for each.
func Grad[P, D any](f func(params P, data D) (*Tensor, error)) func(params P, data D) (P, error) {
	both := valueAndGrad("Grad", withoutAux(f))
	return func(params P, data D) (P, error) {
		_, _, grads, err := both(params, data)
		return grads, err
	}
}

// ValueAndGrad is Grad, but its function also returns the loss.
func ValueAndGrad[P, D any](f func(params P, data D) (*Tensor, error)) func(params P, data D) (*Tensor, P, error) {
	both := valueAndGrad("ValueAndGrad", withoutAux(f))
	return func(params P, data D) (*Tensor, P, error) {
		value, _, grads, err := both(params, data)
		return value, grads, err
	}
}

// ValueAndGradAux is ValueAndGrad for a function that returns another value beside the loss, which the result returns, too.
func ValueAndGradAux[P, D, A any](f func(params P, data D) (*Tensor, A, error)) func(params P, data D) (*Tensor, A, P, error) {
	return valueAndGrad("ValueAndGradAux", f)
}

func withoutAux[P, D any](f func(P, D) (*Tensor, error)) func(P, D) (*Tensor, None, error) {
	if f == nil {
		return nil
	}
	return func(params P, data D) (*Tensor, None, error) {
		loss, err := f(params, data)
		return loss, None{}, err
	}
}

func valueAndGrad[P, D, A any](who string, f func(P, D) (*Tensor, A, error)) func(P, D) (*Tensor, A, P, error) {
	return func(params P, data D) (value *Tensor, aux A, grads P, err error) {
		var in, out *trees
		defer func() { err = fail(who, err, in, out) }()
		if f == nil {
			return nil, aux, grads, errNil
		}
		if in, err = flatten(of("params", &params), of("data", &data)); err != nil {
			return nil, aux, grads, err
		}
		numbers, err := in.numbers()
		if err != nil {
			return nil, aux, grads, err
		}
		values, found, err := polygrad.ValueAndGrad(in.function(func(v []reflect.Value) ([]named, error) {
			loss, more, err := f(as[P](v[0]), as[D](v[1]))
			if err == nil && loss == nil {
				err = errors.New("the function returns no loss, expected a scalar of a floating type")
			}
			return []named{of("loss", &loss), of("aux", &more)}, err
		}, &out), numbers...)(in.tensors...)
		if err != nil {
			return nil, aux, grads, err
		}
		made := out.build(values)
		return as[*Tensor](made[0]), as[A](made[1]), as[P](in.like(0, found)), nil
	}
}

// call1 makes a function of reflected trees, with named results, of a function of one tree.
func call1[P, R any](f func(P) (R, error)) func(v []reflect.Value) ([]named, error) {
	return func(v []reflect.Value) ([]named, error) {
		result, err := f(as[P](v[0]))
		return []named{of("result", &result)}, err
	}
}

func call2[P, D, R any](f func(P, D) (R, error)) func(v []reflect.Value) ([]named, error) {
	return func(v []reflect.Value) ([]named, error) {
		result, err := f(as[P](v[0]), as[D](v[1]))
		return []named{of("result", &result)}, err
	}
}

// call is a function of trees as a function of tensors, with its arguments and, once it has been called, its results.
type call struct {
	f       polygrad.Function
	in, out *trees
}

// ofTensors applies a transformation of functions of tensors to a function of trees. Errors are those of who.
func ofTensors[P, D, R, T any](who string, f func(P, D) (R, error), transform func(c *call) (T, error)) func(P, D) (T, error) {
	return func(params P, data D) (made T, err error) {
		c := &call{}
		defer func() { err = fail(who, err, c.in, c.out) }()
		if f == nil {
			return made, errNil
		}
		if c.in, err = flatten(of("params", &params), of("data", &data)); err != nil {
			return made, err
		}
		c.f = c.in.function(call2(f), &c.out)
		return transform(c)
	}
}

// JVP returns f(primals), and how it changes to first order if the primals change by tangents, a tree like primals (forward mode). Tangents of
// tensors that are not of floating types may be nil.
func JVP[P, R any](f func(P) (R, error), primals, tangents P) (value, change R, err error) {
	return linearizeAt("JVP", f, primals, tangents)
}

// Linearize returns f(primals), and a linear function from tangents of primals to tangents of the result, which does not call f again.
func Linearize[P, R any](f func(P) (R, error), primals P) (value R, linear func(tangents P) (R, error), err error) {
	return linearize("Linearize", f, primals)
}

func linearize[P, R any](who string, f func(P) (R, error), primals P) (value R, linear func(tangents P) (R, error), err error) {
	var in, out *trees
	defer func() { err = fail(who, err, in, out) }()
	if f == nil {
		return value, nil, errNil
	}
	if in, err = flatten(of("primals", &primals)); err != nil {
		return value, nil, err
	}
	values, tangent, err := polygrad.Linearize(in.function(call1(f), &out), in.tensors...)
	if err != nil {
		return value, nil, err
	}
	linear = func(tangents P) (change R, err error) {
		list, err := paired("tangents", &tangents, in)
		if err != nil {
			return change, fail(who, err, nil, nil)
		}
		found, err := tangent(list...)
		if err != nil {
			return change, fail(who, err, in, out)
		}
		return as[R](out.build(found)[0]), nil
	}
	return as[R](out.build(values)[0]), linear, nil
}

// VJP returns f(primals), and a function from a cotangent, a tree like the result, to the gradients with respect to primals, which does not call f
// again (reverse mode). Gradients of tensors that are not of floating types are nil; their cotangents may be nil.
func VJP[P, R any](f func(P) (R, error), primals P) (value R, pullback func(cotangent R) (P, error), err error) {
	const who = "VJP"
	var in, out *trees
	defer func() { err = fail(who, err, in, out) }()
	if f == nil {
		return value, nil, errNil
	}
	if in, err = flatten(of("primals", &primals)); err != nil {
		return value, nil, err
	}
	values, back, err := polygrad.VJP(in.function(call1(f), &out), in.tensors...)
	if err != nil {
		return value, nil, err
	}
	out.tensors = values
	pullback = func(cotangent R) (grads P, err error) {
		list, err := paired("cotangent", &cotangent, out)
		if err != nil {
			return grads, fail(who, err, nil, nil)
		}
		found, err := back(list...)
		if err != nil {
			return grads, fail(who, err, in, out)
		}
		return as[P](in.like(0, found)), nil
	}
	return as[R](out.build(values)[0]), pullback, nil
}

// paired are the tangents or cotangents of the tensors of with, which must have their shapes and types. For tensors that are not of floating types
// they are zeros, whatever the tree has.
func paired[T any](what string, tree *T, with *trees) ([]*Tensor, error) {
	t, err := flatten(of(what, tree))
	if err != nil {
		return nil, err
	}
	list, rest := make([]*Tensor, len(with.tensors)), 0
	path := func(name string) string { // without the name of the argument
		for i, r := range name {
			if r == '.' || r == '[' {
				return name[i:]
			}
		}
		return ""
	}
	for i, x := range with.tensors {
		here := rest < len(t.names) && path(t.names[rest]) == path(with.names[i])
		switch {
		case !here && isFloat(x):
			return nil, errors.New(what + path(with.names[i]) + ": is nil, expected a tensor like " + with.names[i])
		case !here:
			list[i] = x.ZerosLike()
			continue
		case !isFloat(x):
			list[i] = x.ZerosLike()
		default:
			list[i] = t.tensors[rest]
			if err := sameKind(list[i], x, t.names[rest], with.names[i]); err != nil {
				return nil, err
			}
		}
		rest++
	}
	if rest < len(t.names) {
		return nil, errors.New(t.names[rest] + ": is a tensor, and there is none in that place")
	}
	return list, nil
}

// Axes are the batch axes of the arguments and of the result of a function: an int for all tensors of a tree, polygrad.Unmapped for what is the same
// for all elements, nil for 0, or a struct, map or slice of these like the tree. Name is the name of the batch axis, for polygrad.Along.
type Axes struct {
	Params, Data, Result any
	Name                 string
}

// VMap returns a function that computes f for all elements of a batch at once.
func VMap[P, D, R any](f func(params P, data D) (R, error), axes Axes) func(params P, data D) (R, error) {
	return ofTensors("VMap", f, func(c *call) (result R, err error) {
		var starts []int
		for i, prefix := range []any{axes.Params, axes.Data} {
			if starts, err = c.in.structures[i].spread(prefix, []string{"params", "data"}[i], starts); err != nil {
				return result, err
			}
		}
		found, err := polygrad.VMapWith(axes.Name, func(args ...*Tensor) (results []*Tensor, ends []int, err error) {
			if results, err = c.f(args...); err == nil {
				ends, err = c.out.structures[0].spread(axes.Result, "result", nil)
			}
			return results, ends, err
		}, starts)(c.in.tensors...)
		if err != nil {
			return result, err
		}
		return as[R](c.out.build(found)[0]), nil
	})
}

// JacFwd returns a function that computes the Jacobian of f with respect to params in forward mode: a tree like params, whose tensors have the shape
// of the result of f followed by that of the tensor of params. It suits functions with fewer elements in params than in the result.
func JacFwd[P, D any](f func(params P, data D) (*Tensor, error)) func(params P, data D) (P, error) {
	return jacobian("JacFwd", polygrad.JacFwd, f)
}

// JacRev is JacFwd in reverse mode. It suits functions with fewer elements in the result than in params.
func JacRev[P, D any](f func(params P, data D) (*Tensor, error)) func(params P, data D) (P, error) {
	return jacobian("JacRev", polygrad.JacRev, f)
}

func jacobian[P, D any](who string, transform func(f polygrad.Function, argnums ...int) polygrad.Function, f func(P, D) (*Tensor, error)) func(P, D) (P, error) {
	return ofTensors(who, f, func(c *call) (made P, err error) {
		numbers, err := c.in.numbers()
		if err != nil {
			return made, err
		}
		found, err := transform(c.f, numbers...)(c.in.tensors...)
		if err != nil {
			return made, err
		}
		return as[P](c.in.like(0, found)), nil
	})
}

// Hessian returns a function that computes the second derivatives of f, a loss, with respect to params. For each tensor of params, by its name such
// as ".Layers[0].W", there is a tree like params, whose tensors have the shape of the named tensor followed by their own.
func Hessian[P, D any](f func(params P, data D) (*Tensor, error)) func(params P, data D) (map[string]P, error) {
	return ofTensors("Hessian", f, func(c *call) (map[string]P, error) {
		numbers, err := c.in.numbers()
		if err != nil {
			return nil, err
		}
		found, err := polygrad.Hessian(c.f, numbers...)(c.in.tensors...)
		if err != nil {
			return nil, err
		}
		n := len(numbers)
		if len(found) != n*n {
			return nil, errors.New("the function returns no loss, expected a scalar of a floating type")
		}
		made := map[string]P{}
		for i, name := range c.in.names[:n] {
			made[name[len("params"):]] = as[P](c.in.like(0, found[i*n:(i+1)*n]))
		}
		return made, nil
	})
}

// EvalShape returns the shapes and types of the tensors that f returns, by their names such as ".Layers[0].W"; if the result is a tensor, its name is
// "". It calls f once and computes nothing.
func EvalShape[P, D, R any](f func(params P, data D) (R, error), params P, data D) (map[string]polygrad.Spec, error) {
	return ofTensors("EvalShape", f, func(c *call) (map[string]polygrad.Spec, error) {
		found, err := polygrad.EvalShape(c.f, c.in.tensors...)
		if err != nil {
			return nil, err
		}
		specs := map[string]polygrad.Spec{}
		for i, name := range c.out.names {
			specs[strings.TrimPrefix(name, "result")] = found[i]
		}
		return specs, nil
	})(params, data)
}

// HVP returns the product of the Hessian of f, a loss, with respect to params and vectors, a tree like params. It does not compute the Hessian.
func HVP[P, D any](f func(params P, data D) (*Tensor, error), params P, data D, vectors P) (product P, err error) {
	grad := Grad(f)
	_, product, err = linearizeAt("HVP", func(params P) (P, error) { return grad(params, data) }, params, vectors)
	return product, err
}

func linearizeAt[P, R any](who string, f func(P) (R, error), primals, tangents P) (value, change R, err error) {
	value, linear, err := linearize(who, f, primals)
	if err == nil {
		change, err = linear(tangents)
	}
	return value, change, err
}

// Checkpoint returns f with derivatives that recompute intermediate values instead of storing them: see polygrad.Checkpoint.
func Checkpoint[P, D, R any](f func(params P, data D) (R, error), policy string) func(params P, data D) (R, error) {
	return ofTensors("Checkpoint", f, func(c *call) (result R, err error) {
		found, err := polygrad.Checkpoint(c.f, policy)(c.in.tensors...)
		if err != nil {
			return result, err
		}
		return as[R](c.out.build(found)[0]), nil
	})
}
