package polygrad

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
	"polygrad/variable"
)

// An Option is an optional argument of an operation, by name. See the With functions.
type Option struct {
	name  string
	value any
}

// An Index selects along an axis: see At, Slice, All, NewAxis, Ellipsis and Take.
type Index struct {
	item  tensor.Index
	take  *Tensor
	sizes *[2]any
	step  int64
}

// At selects element i and removes the axis; a negative i counts from the end.
func At(i int) Index { return Index{item: tensor.At(int64(i))} }

// Slice selects the elements from start (included) to stop (excluded); negative numbers count from the end. Bounds are clipped to the axis.
func Slice(start, stop int) Index { return SliceBy(start, stop, 1) }

// SliceBy is Slice with a step, which may be negative.
func SliceBy(start, stop, step int) Index {
	lo, hi := int64(start), int64(stop)
	return Index{item: tensor.Slice(&lo, &hi, int64(step))}
}

// SliceFrom selects the elements from start to the end.
func SliceFrom(start int) Index {
	lo := int64(start)
	return Index{item: tensor.Slice(&lo, nil, 1)}
}

// SliceSizes is Slice with bounds that may be symbolic: each is an int, a *Size, or nil for the end of the axis.
func SliceSizes(start, stop any) Index { return SliceSteps(start, stop, 1) }

// SliceSteps is SliceSizes with a step, which may be negative.
func SliceSteps(start, stop any, step int) Index {
	return Index{sizes: &[2]any{start, stop}, step: int64(step)}
}

// All selects all elements of an axis.
func All() Index { return Index{item: tensor.Whole()} }

// NewAxis inserts an axis of size 1.
func NewAxis() Index { return Index{item: tensor.NewAxis()} }

// Ellipsis selects all elements of the axes that the other items do not select from.
func Ellipsis() Index { return Index{item: tensor.Ellipsis()} }

// Take selects elements by a tensor. An integer tensor holds positions: its shape replaces the axis, and negative positions count from the end. A
// position out of range is an error if t is realized; otherwise it selects 0. A bool tensor is a mask over one or more axes; they become one axis
// with the elements where the mask is true.
func Take(t *Tensor) Index {
	if t == nil {
		t = failedTensor("Take", errors.New("the tensor is nil"))
	}
	return Index{take: t}
}

func mustFind(name string) *ops.Op {
	op, ok := ops.Find(name)
	if !ok {
		panic("polygrad: no operation " + name)
	}
	return op
}

// call1 calls a method with one result.
func (t *Tensor) call1(op *ops.Op, opts []Option, args ...any) *Tensor {
	if err := t.Err(); err != nil {
		return &Tensor{err: err}
	}
	defer runtime.KeepAlive(t) // t must not be collected before the call has begun
	return t.c.one(op, t, nil, opts, args)
}

// call calls a method with several results.
func (t *Tensor) call(op *ops.Op, opts []Option, args ...any) []*Tensor {
	if err := t.Err(); err != nil {
		return repeatResult(op, &Tensor{err: err})
	}
	defer runtime.KeepAlive(t)
	return t.c.several(op, t, nil, opts, args)
}

// make1 calls a maker.
func (c *Context) make1(op *ops.Op, opts []Option, args ...any) *Tensor {
	return c.one(op, nil, nil, opts, args)
}

// join calls a joiner.
func join(op *ops.Op, xs []*Tensor, opts []Option, args ...any) []*Tensor {
	if len(xs) == 0 {
		return repeatResult(op, failedTensor(ops.GoName(op.Name), errors.New("xs: no tensors, expected one or more")))
	}
	for _, x := range xs {
		if err := x.Err(); err != nil {
			return repeatResult(op, &Tensor{err: err})
		}
	}
	return xs[0].c.several(op, nil, xs, opts, args)
}

// repeatResult returns a failed tensor as every result of an operation.
func repeatResult(op *ops.Op, t *Tensor) []*Tensor {
	return slices.Repeat([]*Tensor{t}, max(op.Results, 1))
}

// one calls an operation with one result.
func (c *Context) one(op *ops.Op, x *Tensor, xs []*Tensor, opts []Option, args []any) *Tensor {
	c.lock()
	defer c.unlock()
	outs, err := c.run(op, x, xs, opts, args)
	if err != nil {
		return failedTensor(ops.GoName(op.Name), err)
	}
	return c.tensor(outs[0])
}

// several calls an operation. If it fails, every result has the error.
func (c *Context) several(op *ops.Op, x *Tensor, xs []*Tensor, opts []Option, args []any) []*Tensor {
	c.lock()
	defer c.unlock()
	outs, err := c.run(op, x, xs, opts, args)
	if err != nil {
		return repeatResult(op, failedTensor(ops.GoName(op.Name), err))
	}
	results := make([]*Tensor, len(outs))
	for i, v := range outs {
		results[i] = c.tensor(v)
	}
	return results
}

// run calls an operation with a tensor, or tensors, in front of its arguments.
func (c *Context) run(op *ops.Op, x *Tensor, xs []*Tensor, opts []Option, args []any) ([]*variable.Variable, error) {
	k := c.vars.Call(op)
	defer k.End()
	r := arguments{c, k}
	a := &k.Args
	if x != nil {
		u, err := k.Operand(x.v)
		if err != nil {
			return nil, err
		}
		a.X = u
	}
	for i, t := range xs {
		u, err := r.tensor(t)
		if err != nil {
			return nil, fmt.Errorf("xs[%d]: %w", i, err)
		}
		a.Xs = append(a.Xs, u)
	}
	for i, arg := range args {
		v, err := r.argument(arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op.Params[i].Name, err)
		}
		if err := a.SetAt(i, v); err != nil {
			return nil, err
		}
	}
	for _, o := range opts {
		v, err := r.argument(o.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
		if err := a.Set(o.name, v); err != nil {
			return nil, err
		}
	}
	return k.Results()
}

// arguments converts Go values to the values that operations take.
type arguments struct {
	c *Context
	k interface {
		Operand(v *variable.Variable) (*uop.UOp, error)
	}
}

// tensor is a tensor as an operand.
func (r arguments) tensor(t *Tensor) (*uop.UOp, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	return r.k.Operand(t.v)
}

func (r arguments) argument(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int64, float64, complex128:
		return v, nil
	case complex64:
		return complex128(v), nil
	case *Tensor:
		if v == nil {
			return nil, nil
		}
		return r.tensor(v)
	case int:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case []int:
		out := make([]int64, len(v))
		for i, n := range v {
			out[i] = int64(n)
		}
		return out, nil
	case []float64:
		return v, nil
	case DType:
		return v.uop()
	case [][2]int:
		out := make([][]uop.Sint, len(v))
		for i, p := range v {
			out[i] = []uop.Sint{uop.N(int64(p[0])), uop.N(int64(p[1]))}
		}
		return out, nil
	case []Index:
		return r.items(v)
	case *Size:
		s, err := r.c.sint(v)
		if err != nil {
			return nil, err
		}
		return tensor.FromSize(r.c.vars.Graph, s)
	case map[string]int:
		out := map[string]int64{}
		for name, n := range maps.All(v) {
			out[name] = int64(n)
		}
		return out, nil
	}
	value := reflect.ValueOf(v)
	switch {
	case value.CanInt():
		return value.Int(), nil
	case value.CanUint():
		return uop.Uint(value.Uint()), nil
	}
	return nil, fmt.Errorf("is %T, expected a tensor or a number", v)
}

// items converts an index expression.
func (r arguments) items(list []Index) ([]tensor.Index, error) {
	out := make([]tensor.Index, len(list))
	for i, x := range list {
		out[i] = x.item
		if x.sizes != nil {
			var bounds [2]*uop.Sint
			for n, given := range x.sizes {
				if given == nil {
					continue
				}
				s, err := r.c.sint(given)
				if err != nil {
					return nil, fmt.Errorf("items[%d]: %w", i, err)
				}
				bounds[n] = &s
			}
			out[i] = tensor.SliceSizes(bounds[0], bounds[1], x.step)
		}
		if x.take != nil {
			u, err := r.tensor(x.take)
			if err != nil {
				return nil, fmt.Errorf("items[%d]: %w", i, err)
			}
			out[i] = tensor.Take(u)
		}
	}
	return out, nil
}
