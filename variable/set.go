package variable

import (
	"errors"
	"fmt"
	"math"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

// Detach is the variable without its history, as a view: no gradient flows through it.
func (v *Variable) Detach() (*Variable, error) {
	return v.detachedView(v.Node())
}

func (v *Variable) detachedView(node *uop.UOp) (*Variable, error) {
	node, err := tensor.Detach(node)
	if err != nil {
		return nil, err
	}
	shown := v.newView(node)
	shown.detached = true
	return shown, nil
}

// viewNow is a view, through which no gradient flows where NoGrad is set.
func (v *Variable) viewNow(node *uop.UOp) (*Variable, error) {
	if v.ctx.Quiet() && v.differentiable() {
		return v.detachedView(node)
	}
	return v.newView(node), nil
}

// Clone is a variable with the same elements. Writes to one of the two do not change the other; the memory is shared until then.
func (v *Variable) Clone() (*Variable, error) {
	x := v.source()
	if v.IsView() {
		x = v.ctx.newValue(v.Node(), x)
	}
	if v.ctx.Quiet() {
		x = v.ctx.detach(x)
	}
	if x.mem == nil || !x.mem.shared() {
		return v.ctx.variable(x), nil
	}
	// That memory belongs to v: the clone is computed from it.
	node, err := tensor.Contiguous(x.node)
	if err != nil {
		return nil, err
	}
	w := v.ctx.variable(v.ctx.newValue(node, x))
	if v.ctx.trace == nil {
		if err := v.ctx.Realize(w); err != nil {
			w.Drop()
			return nil, err
		}
	}
	return w, nil
}

// Replace lets a variable stand for what another one stands for: writes to either are seen in both. Whether it wants a gradient stays.
func (v *Variable) Replace(by *Variable) error {
	if by.ctx != v.ctx {
		return fmt.Errorf("by: %w", ErrForeign)
	}
	if by == v {
		return nil
	}
	if v.ctx.trace != nil {
		return fmt.Errorf("a variable is replaced inside of %s: assign to it", v.ctx.trace.who)
	}
	w := *by
	w.refs, w.wants, w.grad, w.shown = v.refs, v.wants, v.grad, nil
	v.grad = nil
	v.leave()
	*v = w
	v.cell.variables = append(v.cell.variables, v)
	if v.wants && !v.differentiable() {
		return v.Require(true)
	}
	return nil
}

// Number is a number as a variable of the type of v, without axes. An integer type has no fractions.
func (v *Variable) Number(x uop.Const) (*Variable, error) {
	dt := v.Node().DType
	if x.IsFloat() && !dt.IsFloat() && (math.IsInf(x.F(), 0) || x.F() != math.Trunc(x.F())) {
		return nil, fmt.Errorf("x: is %s, expected a number of the tensor's %s", x, dt.NumpyName())
	}
	u, err := tensor.Full(v.ctx.Graph, uop.Shape{}, x, dt)
	if err != nil {
		return nil, err
	}
	return v.ctx.Make(u), nil
}

// Assign gives a variable the elements of x, which is of its type and broadcasts to its shape.
func (v *Variable) Assign(x *Variable) error { return v.ctx.AssignAll([]*Variable{v}, []*Variable{x}) }

// AssignAll assigns to several variables. All elements are computed from those of before, in one program.
func (c *Context) AssignAll(targets, news []*Variable) error {
	values := make([]*value, len(news))
	defer func() {
		for _, x := range values {
			if x != nil {
				x.release()
			}
		}
	}()
	for i, x := range news {
		if x.ctx != c || targets[i].ctx != c {
			return fmt.Errorf("x: %w", ErrForeign)
		}
		from := x.source()
		to := x.cell.value // the value itself: where it is the only reader, the write is in place
		if x.IsView() {
			to = c.newValue(x.Node(), from)
		}
		to.retain()
		values[i] = to
		fitted, err := targets[i].fit(to)
		if err != nil {
			return err
		}
		fitted.retain()
		values[i] = fitted
		to.release()
	}
	return c.assign(targets, values)
}

// Update is an operation in place: the variable, and what it shares elements with, become x, of its type and shape. Where a gradient
// flows through either, it goes on through x; a variable that backward gives a gradient stays a leaf, and only takes the elements.
func (v *Variable) Update(x *Variable) error {
	if x.ctx != v.ctx {
		return fmt.Errorf("x: %w", ErrForeign)
	}
	if !v.flowsOn(x.cell.value) || x.detached && !v.differentiable() {
		return v.Assign(x)
	}
	from := x.source()
	to := x.cell.value
	if x.IsView() {
		to = v.ctx.newValue(x.Node(), from)
	}
	to.retain()
	defer to.release()
	fitted, err := v.fit(to)
	if err != nil {
		return err
	}
	fitted.retain()
	defer fitted.release()
	return v.put(fitted)
}

// flowsOn reports whether a gradient flows through a variable that becomes a value.
func (v *Variable) flowsOn(to *value) bool {
	return v.ctx.quiet == 0 && !v.cell.wants() && (v.differentiable() || to.flow == flowAlways)
}

// wants reports whether backward gives a variable of a cell a gradient.
func (x *cell) wants() bool {
	for _, v := range x.variables {
		if v.wants {
			return true
		}
	}
	return false
}

// Set gives the elements that an index expression selects those of x, which broadcasts to them. An expression with tensors takes
// from, the variables of those. Gradients flow to x, and through the other elements to what v was computed from.
func (v *Variable) Set(x *Variable, items []tensor.Index, from ...*Variable) error {
	c, old := v.ctx, v.cell.value
	// A mask of the shape of v, and one element: where it holds need not be known.
	mask := tensor.WholeMask(v.Node(), items)
	var part *uop.UOp
	if n, err := tensor.MostElements(x.Node().Shape()); err != nil || n != 1 || mask == nil {
		mask = nil
		if items, err = tensor.WithoutMasks(v.Node(), items, func(m *uop.UOp) (int64, error) { return ops.Count(m, c.valueOf) }); err != nil {
			return err
		}
		if err := c.elementsOf.Items(v.Node(), items); err != nil {
			return err
		}
		if part, err = tensor.GetItem(v.Node(), items...); err != nil {
			return err
		}
	}
	if x.ctx != c {
		return fmt.Errorf("x: %w", ErrForeign)
	}
	if err := v.sameType(x.Node()); err != nil {
		return err
	}
	parameter := v.cell.wants()
	follows := x.differentiable() && !c.Quiet()
	if parameter && follows {
		return errors.New("x: a gradient flows through it, and the tensor requires one of its own: see Detach")
	}
	follows = follows || old.flow == flowAlways && !parameter
	if part != nil && !follows {
		if is, err := tensor.IsView(part, old.node); err == nil && is {
			shown := v.newView(part)
			defer shown.Drop()
			return shown.Assign(x)
		}
	}
	var err error
	if c.Quiet() {
		if x, err = x.Detach(); err != nil {
			return err
		}
		defer x.Drop()
	}
	var whole *uop.UOp
	if mask == nil {
		whole, err = tensor.SetItem(v.Node(), x.Node(), items...)
	} else {
		whole, err = tensor.Reshape(x.Node(), uop.Shape{})
		if err == nil {
			whole, err = tensor.Where(mask, whole, v.Node())
		}
	}
	if err != nil {
		return err
	}
	values := []*value{v.source(), x.source()}
	for _, w := range from {
		values = append(values, w.source())
	}
	made := c.newValue(whole, values...)
	made.retain()
	defer made.release()
	if follows {
		return v.put(made)
	}
	return c.assign([]*Variable{v}, []*value{made})
}
