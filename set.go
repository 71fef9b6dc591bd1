package polygrad

import (
	"fmt"
	"runtime"

	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
	"polygrad/variable"
)

// Arange returns start, start + step, … before stop, in int32 if all are integers, else in float32 or the type of WithDType.
func Arange(start, stop, step any, opts ...Option) *Tensor {
	return Default().Arange(start, stop, step, opts...)
}

// Arange is Arange in a context.
func (c *Context) Arange(start, stop, step any, opts ...Option) *Tensor {
	return c.make1(opArange, opts, start, stop, step)
}

// Index selects elements by an index expression. Without Take the result is a view: writes to it arrive in the tensor.
func (t *Tensor) Index(items ...Index) *Tensor { return t.call1(opIndex, nil, items) }

// Detach returns the tensor without its history, as a view: no gradient flows through it.
func (t *Tensor) Detach() *Tensor { return t.other("Detach", (*variable.Variable).Detach) }

// Clone returns a tensor with the same values. Writes to one of the two do not change the other; the memory is shared until then.
func (t *Tensor) Clone() *Tensor { return t.other("Clone", (*variable.Variable).Clone) }

// other is a tensor of what f makes of the variable.
func (t *Tensor) other(fn string, f func(v *variable.Variable) (*variable.Variable, error)) *Tensor {
	r := t
	t.ask(func() {
		v, err := f(t.v)
		if err != nil {
			r = failed(fn, err)
			return
		}
		r = t.c.tensor(v)
	})
	return r
}

// Assign gives the tensor the values of x, a tensor or a number of its type, and broadcasts them to its shape. It returns the tensor, or
// one with the error of a write that failed; the tensor keeps its values then.
func (t *Tensor) Assign(x any) *Tensor {
	return t.change("Assign", func() error { return t.written(x, t.v.Assign) })
}

// Set gives the elements that an index expression selects the values of x: see Assign.
func (t *Tensor) Set(x any, items ...Index) *Tensor {
	return t.change("Set", func() error {
		return t.written(x, func(v *variable.Variable) error {
			var from []*variable.Variable
			for _, i := range items {
				if i.take != nil && i.take.Err() == nil {
					from = append(from, i.take.v)
				}
			}
			list, err := arguments{t.c, nodes{t.c}}.items(items)
			if err != nil {
				return err
			}
			return t.v.Set(v, list, from...)
		})
	})
}

// nodes are operands that no call computes from.
type nodes struct{ c *Context }

func (n nodes) Operand(v *variable.Variable) (*uop.UOp, error) {
	if v.Context() != n.c.vars {
		return nil, variable.ErrForeign
	}
	return v.Node(), nil
}

// written calls write on x, a tensor or a number of the tensor's type.
func (t *Tensor) written(x any, write func(v *variable.Variable) error) error {
	if from, is := x.(*Tensor); is {
		if err := from.Err(); err != nil {
			return err
		}
		defer runtime.KeepAlive(from)
		return write(from.v)
	}
	arg, err := arguments{t.c, nodes{t.c}}.argument(x)
	if err != nil {
		return err
	}
	var number uop.Const
	switch x := arg.(type) {
	case uop.Const:
		number = x
	case int64:
		number = uop.Int(x)
	case float64:
		number = uop.Float(x)
	case bool:
		number = uop.BoolConst(x)
	case *uop.UOp: // a size
		v := t.c.vars.Make(x)
		defer v.Drop()
		return write(v)
	default:
		return fmt.Errorf("x: is %s, expected a tensor or a number", ops.Describe(x))
	}
	v, err := t.v.Number(number)
	if err != nil {
		return err
	}
	defer v.Drop()
	return write(v)
}

// Arg is an argument of an operation by its name: see Call.
func Arg(name string, value any) Option { return Option{name, value} }

// Call calls an operation by its name in the table of operations, such as "log_softmax", on the operands that come first in its method,
// tensors or numbers.
func Call(name string, operands []any, opts ...Option) ([]*Tensor, error) {
	op, ok := ops.Find(name)
	if !ok {
		return nil, fmt.Errorf("polygrad: Call: name: no operation %q", name)
	}
	var out []*Tensor
	switch first, isTensor := firstOf(operands).(*Tensor); {
	case op.Form == ops.Maker:
		out = Default().several(op, nil, nil, opts, operands)
	case op.Form == ops.Joiner:
		xs := make([]*Tensor, len(operands))
		for i, x := range operands {
			xs[i], _ = x.(*Tensor)
		}
		out = join(op, xs, opts)
	case !isTensor:
		return nil, fmt.Errorf("polygrad: Call: operands: %s needs a tensor first", name)
	default:
		out = first.call(op, opts, operands[1:]...)
	}
	return out, out[0].Err()
}

func firstOf(operands []any) any {
	if len(operands) == 0 {
		return nil
	}
	return operands[0]
}
