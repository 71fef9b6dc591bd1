package variable

import (
	"errors"
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

// A Call is a call of an operation: its arguments, and the values of their variables. A context has one at a time.
type Call struct {
	Args ops.Args
	ctx  *Context
	op   *ops.Op
	// device is that which operands were put on, "" for none.
	device string
	// receiver is the first operand, the base if the result is a view.
	receiver *Variable
	from     []*value
	// operands are those of an operation that updates some of them.
	operands []*Variable
	results  []*Variable
}

// ErrOtherContext is the error of an operand of another context.
var ErrOtherContext = errors.New("belongs to another context")

// Operand is the node of a variable that the call computes from.
func (k *Call) Operand(v *Variable) (*uop.UOp, error) {
	if v.ctx != k.ctx {
		return nil, ErrOtherContext
	}
	if k.receiver == nil {
		k.receiver = v
	}
	if k.op != nil && k.op.Moves > 0 {
		k.operands = append(k.operands, v)
	}
	x := v.source()
	k.from = append(k.from, x)
	switch {
	case x.device == "":
	case k.device == "":
		k.device = x.device
	case !k.ctx.sameDevice(k.device, x.device):
		return nil, fmt.Errorf("operands are on the devices %s and %s, expected one: move one of them, see to()", k.device, x.device)
	}
	return v.Node(), nil
}

// Call begins a call of an operation: the caller sets its arguments, asks for its results, and ends it.
func (c *Context) Call(op *ops.Op) *Call {
	k := &c.call
	op.Begin(&k.Args, c.Graph)
	k.Args.Training, k.Args.Seed, k.Args.Value, k.Args.Computed, k.Args.Elements = c.Training, c.seed, c.valueOf, c.computedOf, c.elementsOf
	k.op, k.results = op, k.results[:0]
	return k
}

// Results calls the operation. The results are valid until the next call.
func (k *Call) Results() ([]*Variable, error) {
	c := k.ctx
	moves := k.Args.Moves()
	if moves && c.trace == nil {
		// The statistics are computed at once, and so is what they are computed from: gradients come to it from all of them.
		if err := c.Realize(k.receiver); err != nil {
			return nil, err
		}
		k.Args.X, k.from[0] = k.receiver.Node(), k.receiver.source()
	}
	nodes, err := k.Args.Results()
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if node == nil { // a weight that a layer does not have
			k.results = append(k.results, nil)
			continue
		}
		if k.op.View && len(k.from) == 1 {
			if is, err := tensor.IsView(node, k.receiver.cell.value.node); err == nil && is {
				shown, err := k.receiver.resultView(node)
				if err != nil {
					return nil, err
				}
				k.results = append(k.results, shown)
				continue
			}
		}
		k.results = append(k.results, c.result(node, k.from))
	}
	if moves {
		return k.move()
	}
	return k.results, nil
}

// move updates the buffers of a layer by its last results, and returns the first.
func (k *Call) move() ([]*Variable, error) {
	c, first := k.ctx, len(k.results)-k.op.Moves
	var err error
	if c.trace == nil {
		err = c.Realize(k.results[1:first]...)
	}
	if err == nil {
		err = c.AssignAll(k.operands[len(k.operands)-k.op.Moves:], k.results[first:])
	}
	for i, v := range k.results {
		if i > 0 || err != nil {
			v.Drop()
		}
	}
	return k.results[:1], err
}

// Apply makes a variable of the node that f composes of the nodes of others.
func (c *Context) Apply(f func(us []*uop.UOp) (*uop.UOp, error), xs ...*Variable) (*Variable, error) {
	k := &c.call
	defer k.End()
	us := k.Args.Xs[:0]
	for _, x := range xs {
		u, err := k.Operand(x)
		if err != nil {
			return nil, err
		}
		us = append(us, u)
	}
	k.Args.Xs = us
	node, err := f(us)
	if err != nil {
		return nil, err
	}
	return c.result(node, k.from), nil
}

// End lets go of the values of a call.
func (k *Call) End() {
	for _, v := range k.from {
		if v.refs == 0 && v.histories == 0 && !v.leaf { // nothing was computed from it
			v.free()
		}
	}
	clear(k.from)
	clear(k.operands)
	k.receiver, k.device, k.from, k.operands = nil, "", k.from[:0], k.operands[:0]
}

// result is a variable of its own for a new node.
func (c *Context) result(node *uop.UOp, from []*value) *Variable {
	made := &struct { // one allocation for all
		w         Variable
		x         cell
		v         value
		variables [1]*Variable
		holders   [1]*cell
		from      [2]*value
	}{}
	v, x, w := &made.v, &made.x, &made.w
	v.from, v.cells, x.variables = append(made.from[:0], from...), made.holders[:0], append(made.variables[:0], w)
	c.addValue(v, node)
	if c.noGradDepth > 0 && v.flow == flowAlways {
		v.node, _ = tensor.Detach(node) // any tensor can be detached
		v.flow = flowNever
	}
	w.ctx, w.cell, w.refs = c, x, 1
	if c.trace != nil {
		c.trace.created[x] = true
	}
	x.tracing = c.innermost()
	x.set(v)
	return w
}

// takeSeed takes words of the random stream for the call that runs: a leaf of three numbers.
func (c *Context) takeSeed(words uint64) (*uop.UOp, error) {
	v, err := c.newSeed(words)
	if err != nil {
		return nil, err
	}
	c.call.from = append(c.call.from, v)
	return v.node, nil
}

// elements are those of a buffer of the context, unless a job may be writing it, or they are on a device: nobody waits for it here.
func (c *Context) elements(buffer *uop.UOp) ([]byte, bool) {
	m := c.memory[buffer]
	if m == nil || m.data == nil || len(c.jobs) > 0 || m.onDevice() {
		return nil, false
	}
	b, err := m.bytes()
	return b, err == nil
}

// value computes a node of one element, on which the size of a result depends.
func (c *Context) value(node *uop.UOp) (uop.Const, error) {
	if c.trace != nil {
		return uop.Const{}, asSize(c.trace.valueNeeded())
	}
	m, err := c.compute(node, c.call.device)
	if err != nil {
		return uop.Const{}, asSize(err)
	}
	defer m.free()
	b, err := m.bytes()
	if err != nil {
		return uop.Const{}, err
	}
	return firstOf(b, node.DType), nil
}

// computedLeaf computes a node for the call that runs: a leaf with its elements.
func (c *Context) computedLeaf(node *uop.UOp) (*uop.UOp, error) {
	if c.trace != nil {
		return nil, c.trace.valueNeeded()
	}
	m, err := c.compute(node, c.call.device)
	if err != nil {
		return nil, err
	}
	v, err := c.newLeaf(node.DType, node.Shape(), m)
	if err != nil {
		m.free()
		return nil, err
	}
	c.call.from = append(c.call.from, v)
	return v.node, nil
}

// firstOf is the first element of memory.
func firstOf(b []byte, dt *uop.DType) uop.Const {
	bits := uint64(0)
	for i, x := range b[:dt.Itemsize()] {
		bits |= uint64(x) << (8 * i)
	}
	return uop.FromBits(dt, bits)
}
