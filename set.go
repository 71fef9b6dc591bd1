package polygrad

import (
	"fmt"
	"runtime"

	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
	"polygrad/variable"
)

// Arange returns the vector start, start + step, … before stop: Int32 if all three are integers, else Float32. A step of 0 is an error.
// Options: WithDType.
func Arange(start, stop, step any, opts ...Option) *Tensor {
	return Default().Arange(start, stop, step, opts...)
}

// Arange is the function Arange in the context.
func (c *Context) Arange(start, stop, step any, opts ...Option) *Tensor {
	return c.make1(opArange, opts, start, stop, step)
}

// Index selects elements by one Index per axis; missing ones are All. Without Take the result is a view: a write to it changes the
// tensor. An At out of range is an error, Slice bounds are clipped.
func (t *Tensor) Index(items ...Index) *Tensor { return t.call1(opIndex, nil, items) }

// Detach returns a view through which no gradient flows.
func (t *Tensor) Detach() *Tensor { return t.derive("Detach", (*variable.Variable).Detach) }

// Clone returns a copy: a write to the tensor or to the copy is not visible in the other one. Memory is shared until the first such
// write. Gradients flow through it.
func (t *Tensor) Clone() *Tensor { return t.derive("Clone", (*variable.Variable).Clone) }

// To returns the tensor on a device: "cpu", "webgpu", or another one of NewContext. Operations on the result run on that device; their operands that
// were put on no device are used there, too, and operands on two devices are an error. The elements are copied, and gradients flow back to the
// tensor, on its own device. A tensor that is on the device already is returned as it is. A device that is not available is an error.
func (t *Tensor) To(device string) *Tensor {
	return t.derive("To", func(v *variable.Variable) (*variable.Variable, error) {
		w, err := v.To(device)
		if err != nil {
			err = fmt.Errorf("device: %w", err)
		}
		return w, err
	})
}

// Move puts the tensor itself on a device (see To), without a copy: its memory moves when it is used there. It returns the tensor.
func (t *Tensor) Move(device string) *Tensor {
	return t.mutate("Move", func() error {
		if err := t.v.Move(device); err != nil {
			return fmt.Errorf("device: %w", err)
		}
		return nil
	})
}

// Device returns the name of the device that the tensor was put on, or else that of its context.
func (t *Tensor) Device() string {
	device := ""
	t.withLock(func() { device = t.v.Device() })
	if device == "" {
		device = t.c.device
	}
	return device
}

// derive makes a tensor of the variable that f derives from t's.
func (t *Tensor) derive(fn string, f func(v *variable.Variable) (*variable.Variable, error)) *Tensor {
	r := t
	t.withLock(func() {
		v, err := f(t.v)
		if err != nil {
			r = failedTensor(fn, err)
			return
		}
		r = t.c.tensor(v)
	})
	return r
}

// Assign replaces the elements of the tensor by those of x, a tensor of the same type that broadcasts to its shape, or a number. It
// returns the tensor, or, if the write fails, a tensor with the error; the elements are not changed then.
func (t *Tensor) Assign(x any) *Tensor {
	return t.mutate("Assign", func() error { return t.writeFrom(x, t.v.Assign) })
}

// Set replaces the elements that an index expression selects (see Index) by x, a tensor of the same type that broadcasts to their shape,
// or a number. Gradients flow to x. It returns the tensor, or, if the write fails, a tensor with the error.
func (t *Tensor) Set(x any, items ...Index) *Tensor {
	return t.mutate("Set", func() error {
		return t.writeFrom(x, func(v *variable.Variable) error {
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

// nodes resolves operands to their nodes, outside of a call.
type nodes struct{ c *Context }

func (n nodes) Operand(v *variable.Variable) (*uop.UOp, error) {
	if v.Context() != n.c.vars {
		return nil, variable.ErrOtherContext
	}
	return v.Node(), nil
}

// writeFrom calls write on x, a tensor or a number of the tensor's type.
func (t *Tensor) writeFrom(x any, write func(v *variable.Variable) error) error {
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
		v := t.c.vars.FromNode(x)
		defer v.Drop()
		return write(v)
	case complex128:
		v, err := t.v.ComplexLike(x)
		if err != nil {
			return err
		}
		defer v.Drop()
		return write(v)
	default:
		return fmt.Errorf("x: is %s, expected a tensor or a number", ops.Describe(x))
	}
	v, err := t.v.ScalarLike(number)
	if err != nil {
		return err
	}
	defer v.Drop()
	return write(v)
}

// Arg passes an optional argument of an operation to Call, by the name of its parameter.
func Arg(name string, value any) Option { return Option{name, value} }

// Call calls an operation by its name in docs/api.md, such as "log_softmax", and returns its results. operands are the arguments of the
// operation in order, the tensor of a method first; Arg passes further ones by name.
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
