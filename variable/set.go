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

// resultView is a view as the result of an operation, detached under NoGrad.
func (v *Variable) resultView(node *uop.UOp) (*Variable, error) {
	if v.ctx.GradDisabled() && v.differentiable() {
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
	if v.ctx.GradDisabled() {
		x = v.ctx.detach(x)
	}
	if x.mem == nil || !x.mem.stays() {
		return v.ctx.variable(x), nil
	}
	// What a host or a program uses, too, stays with v: the clone is computed from it.
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

// Replace makes a variable share the cell of another one: writes to either are seen in both. Its requires_grad does not change.
func (v *Variable) Replace(by *Variable) error {
	if by.ctx != v.ctx {
		return fmt.Errorf("by: %w", ErrOtherContext)
	}
	if by == v {
		return nil
	}
	if v.ctx.trace != nil {
		return fmt.Errorf("a variable is replaced inside of %s: assign to it", v.ctx.trace.caller)
	}
	w := *by
	w.refs, w.requiresGrad, w.grad, w.computedView = v.refs, v.requiresGrad, v.grad, nil
	v.grad = nil
	v.leaveCell()
	*v = w
	v.cell.variables = append(v.cell.variables, v)
	if v.requiresGrad && !v.differentiable() {
		return v.SetRequiresGrad(true)
	}
	return nil
}

// ScalarLike is a variable of shape () and the type of v. A fraction for an integer type is an error.
func (v *Variable) ScalarLike(x uop.Const) (*Variable, error) {
	dt := v.Node().DType
	if x.IsFloat() && !dt.IsDifferentiable() && (math.IsInf(x.F(), 0) || x.F() != math.Trunc(x.F())) {
		return nil, fmt.Errorf("x: is %s, expected a number of the tensor's %s", x, dt.NumpyName())
	}
	u, err := tensor.Full(v.ctx.Graph, uop.Shape{}, x, dt)
	if err != nil {
		return nil, err
	}
	return v.ctx.FromNode(u), nil
}

// ComplexLike is ScalarLike for a complex number.
func (v *Variable) ComplexLike(z complex128) (*Variable, error) {
	node := v.Node()
	if !node.DType.IsComplex() {
		return nil, fmt.Errorf("x: is %v, expected a number of the tensor's %s", z, node.DType.NumpyName())
	}
	u, err := tensor.ComplexNumber(v.ctx.Graph, z, node)
	if err != nil {
		return nil, err
	}
	return v.ctx.FromNode(u), nil
}

// Assign gives a variable the elements of x, which is of its type and broadcasts to its shape.
func (v *Variable) Assign(x *Variable) error { return v.ctx.AssignAll([]*Variable{v}, []*Variable{x}) }

// AssignAll assigns to several variables in one program. All new elements are computed from the old ones.
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
			return fmt.Errorf("x: %w", ErrOtherContext)
		}
		from := x.source()
		to := x.cell.value // not its source: the write is in place if this value is the only reader
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

// Update is an in-place operation: the variable and those that share its elements become x, of the same type and shape. If a gradient
// flows through either, it flows through x from then on; a variable that requires a gradient stays a leaf and only takes the elements.
func (v *Variable) Update(x *Variable) error {
	if x.ctx != v.ctx {
		return fmt.Errorf("x: %w", ErrOtherContext)
	}
	if !v.gradContinues(x.cell.value) || x.detached && !v.differentiable() {
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
	return v.setValue(fitted)
}

// gradContinues reports whether a gradient flows through a variable after an in-place operation makes it a value.
func (v *Variable) gradContinues(to *value) bool {
	return v.ctx.noGradDepth == 0 && !v.cell.requiresGrad() && (v.differentiable() || to.flow == flowAlways)
}

// requiresGrad reports whether a variable of the cell requires a gradient.
func (x *cell) requiresGrad() bool {
	for _, v := range x.variables {
		if v.requiresGrad {
			return true
		}
	}
	return false
}

// Set assigns x to the elements that an index expression selects; x broadcasts to their shape. from are the variables of tensors in
// the expression. Gradients flow to x, and through the other elements to the history of v.
func (v *Variable) Set(x *Variable, items []tensor.Index, from ...*Variable) error {
	c, old := v.ctx, v.cell.value
	// One element at a mask of v's shape is a WHERE: the mask need not be computed.
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
		return fmt.Errorf("x: %w", ErrOtherContext)
	}
	if err := v.sameType(x.Node()); err != nil {
		return err
	}
	parameter := v.cell.requiresGrad()
	follows := x.differentiable() && !c.GradDisabled()
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
	if c.GradDisabled() {
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
		return v.setValue(made)
	}
	return c.assign([]*Variable{v}, []*value{made})
}
