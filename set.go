package polygrad

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
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
func (t *Tensor) Index(items ...Index) *Tensor {
	r := t.call1(opIndex, nil, items)
	return r
}

// Detach returns the tensor without its history, as a view: no gradient flows through it.
func (t *Tensor) Detach() *Tensor {
	var r *Tensor
	t.ask(func() {
		node, err := tensor.Detach(t.v.node())
		if err != nil {
			r = failed("Detach", err)
			return
		}
		shown := t.v.newView(node)
		shown.detached = true
		r = t.v.ctx.hand(shown)
	})
	if r == nil {
		return t
	}
	return r
}

// Clone returns a tensor with the same values. Writes to one of the two do not change the other; the memory is shared until then.
func (t *Tensor) Clone() *Tensor {
	var r *Tensor
	t.ask(func() {
		v := t.v.source()
		if t.v.isView() {
			v = t.v.ctx.newValue(t.v.node(), v)
		}
		w := t.v.ctx.newVariable(v)
		if v.mem != nil && v.mem.shared { // that memory belongs to t
			if err := w.cell.part(t.v.ctx); err != nil {
				r = failed("Clone", err)
				return
			}
		}
		r = t.v.ctx.hand(w)
	})
	if r == nil {
		return t
	}
	return r
}

// Assign gives the tensor the values of x, a tensor or a number of its type, and broadcasts them to its shape. It returns the tensor, or
// one with the error of a write that failed; the tensor keeps its values then.
func (t *Tensor) Assign(x any) *Tensor {
	var err error
	t.ask(func() { err = t.v.assign(x) })
	if err != nil {
		return failed("Assign", err)
	}
	return t
}

// Set gives the elements that an index expression selects the values of x: see Assign.
func (t *Tensor) Set(x any, items ...Index) *Tensor {
	var err error
	t.ask(func() { err = t.v.set(x, items) })
	if err != nil {
		return failed("Set", err)
	}
	return t
}

// operand is a tensor, or a number as one of the type of a variable.
func (v *variable) operand(x any) (*value, error) {
	k := call{ctx: v.ctx}
	arg, err := k.argument(x)
	if err != nil {
		return nil, err
	}
	if u, ok := arg.(*uop.UOp); ok {
		return v.ctx.newValue(u, k.from...), nil
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
	default:
		return nil, fmt.Errorf("x: is %T, expected a tensor or a number", x)
	}
	u, err := tensor.Full(v.ctx.graph, uop.Shape{}, number, v.node().DType)
	if err != nil {
		return nil, err
	}
	return v.ctx.newValue(u), nil
}

// assign writes x to a variable.
func (v *variable) assign(x any) error {
	var to *value
	if t, ok := x.(*Tensor); ok && t.Err() == nil && !t.v.isView() {
		if t.v.ctx != v.ctx {
			_, err := v.operand(x)
			return err
		}
		to = t.v.cell.value // the value itself: where it is the only reader, the write is in place
	} else {
		var err error
		if to, err = v.operand(x); err != nil {
			return err
		}
	}
	to.retain()
	defer to.release()
	fitted, err := v.fit(to)
	if err != nil {
		return err
	}
	fitted.retain()
	if fitted == to {
		fitted.release()
	} else {
		defer fitted.release()
	}
	return v.ctx.assign([]*variable{v}, []*value{fitted})
}

// set writes x to the elements of an index expression.
func (v *variable) set(x any, items []Index) error {
	k := call{ctx: v.ctx}
	list, err := k.items(items)
	if err != nil {
		return err
	}
	part, err := tensor.GetItem(v.node(), list...)
	if err != nil {
		return err
	}
	if is, err := tensor.IsView(part, v.cell.value.node); err == nil && is {
		shown := v.newView(part)
		defer shown.drop()
		return shown.assign(x)
	}
	to, err := v.operand(x)
	if err != nil {
		return err
	}
	to.retain()
	defer to.release()
	cast, err := tensor.Cast(to.node, v.node().DType)
	if err != nil {
		return err
	}
	whole, err := tensor.SetItem(v.node(), cast, list...)
	if err != nil {
		return err
	}
	made := v.ctx.newValue(whole, append(k.from, to, v.cell.value)...)
	made.retain()
	defer made.release()
	return v.ctx.assign([]*variable{v}, []*value{made})
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
