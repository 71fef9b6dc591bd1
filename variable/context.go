// Package variable is what a tensor of a program stands for, in all languages: a variable whose value is a node of the graph. It has
// views, writes, gradients, the random stream, and functions that are traced and compiled.
//
// A context and what belongs to it are used by one goroutine at a time: the callers, Go's Tensor and the handles of C, have the lock.
package variable

import (
	"errors"

	"polygrad/core/rewrite"
	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
	"polygrad/exec"
)

// A Context holds variables, the random stream that they are drawn from and the modes of a program.
type Context struct {
	Graph *uop.Graph
	// Stream is where random tensors come from.
	Stream tensor.Stream
	// Training: dropout drops and batch normalisation learns.
	Training bool
	// Elsewhere finds the memory of buffers that are not the context's; nil if there are none.
	Elsewhere func(buffer *uop.UOp) (exec.Binding, bool)

	// Changed is called when what Step.Steady has told may hold no longer; nil if nobody asks.
	Changed func()

	executor   func() (*exec.Executor, error)
	values     value // the head of the list of all values
	memory     map[*uop.UOp]*memory
	computed   map[*uop.UOp]*value // the leaves with the elements of lazy nodes
	known      rewrite.Map         // their nodes
	quiet      int                 // NoGrad calls that run
	trace      *Trace
	binds      []exec.Binding
	now        Call
	seed       func(words uint64) (*uop.UOp, error)
	valueOf    func(node *uop.UOp) (uop.Const, error)
	elementsOf ops.Elements
	jobs       []*Job   // that run, in their order
	released   []uint64 // tokens of shared memory that is no longer used
}

// NewContext makes a context on a graph, whose programs the executor runs.
func NewContext(g *uop.Graph, executor func() (*exec.Executor, error)) *Context {
	c := &Context{Graph: g, executor: executor, memory: map[*uop.UOp]*memory{}, computed: map[*uop.UOp]*value{}, known: rewrite.Map{}}
	c.now.ctx, c.seed, c.valueOf, c.elementsOf = c, c.takeSeed, c.value, c.elements
	c.values.prev, c.values.next = &c.values, &c.values
	return c
}

// Roots calls mark for the nodes that somebody may use again.
func (c *Context) Roots(mark func(*uop.UOp)) {
	for v := c.values.next; v != &c.values; v = v.next {
		mark(v.node)
		mark(v.was)
		for _, x := range v.holders {
			for _, w := range x.variables {
				mark(w.base)
				mark(w.view)
			}
		}
	}
	if c.trace != nil {
		c.trace.roots(mark)
	}
}

// Counts are how many values, buffers and computed nodes there are.
func (c *Context) Counts() (values, buffers, computed int) {
	for v := c.values.next; v != &c.values; v = v.next {
		values++
	}
	return values, len(c.memory), len(c.computed)
}

// Free frees all memory of the context, whose variables are not used any more.
func (c *Context) Free() {
	c.settle()
	for v := c.values.next; v != &c.values; v = v.next {
		if v.mem != nil {
			v.mem.free()
			v.mem = nil
		}
	}
}

// NoGrad sets, or ends, that what is computed from variables has no gradients. Calls nest.
func (c *Context) NoGrad(on bool) {
	if on {
		c.quiet++
	} else {
		c.quiet--
	}
}

// Quiet reports whether NoGrad is set.
func (c *Context) Quiet() bool { return c.quiet > 0 }

// variable makes a variable on a value.
func (c *Context) variable(v *value) *Variable {
	x := &cell{}
	if c.trace != nil {
		c.trace.young[x] = true
	}
	w := &Variable{ctx: c, cell: x, refs: 1}
	x.variables = []*Variable{w}
	x.set(v)
	return w
}

// Make makes a variable of a node that is computed from others.
func (c *Context) Make(node *uop.UOp, from ...*Variable) *Variable {
	values := make([]*value, len(from))
	for i, w := range from {
		values[i] = w.source()
	}
	return c.variable(c.newValue(node, values...))
}

// Fill makes a variable with memory of its own, which write fills.
func (c *Context) Fill(dt *uop.DType, s uop.Shape, write func(b []byte) error) (*Variable, error) {
	n, err := tensor.MostElements(s)
	if err != nil {
		return nil, err
	}
	m, err := allocate(sizeOf(n, dt))
	if err != nil {
		return nil, err
	}
	if err := write(m.bytes()); err != nil {
		m.free()
		return nil, err
	}
	return c.onMemory(dt, s, m)
}

// onMemory makes a variable on memory, which it owns.
func (c *Context) onMemory(dt *uop.DType, s uop.Shape, m *memory) (*Variable, error) {
	v, err := c.newLeaf(dt, s, m)
	if err != nil {
		m.free()
		return nil, err
	}
	return c.variable(v), nil
}

// newView makes a variable that shows the cell of another one.
func (w *Variable) newView(node *uop.UOp) *Variable {
	shown := &Variable{ctx: w.ctx, cell: w.cell, view: node, base: w.cell.value.node, detached: w.detached, refs: 1}
	w.cell.variables = append(w.cell.variables, shown)
	return shown
}

// Retain makes one more reference to a variable, and returns it.
func (w *Variable) Retain() *Variable {
	w.refs++
	return w
}

// Drop ends a reference to a variable.
func (w *Variable) Drop() {
	if w.refs--; w.refs > 0 {
		return
	}
	w.leave()
	if w.grad != nil {
		w.grad.Drop()
		w.grad = nil
	}
}

// leave takes a variable from its cell, which ends with the last one.
func (w *Variable) leave() {
	x := w.cell
	for i, other := range x.variables {
		if other == w {
			last := len(x.variables) - 1
			x.variables[i] = x.variables[last]
			x.variables[last] = nil
			x.variables = x.variables[:last]
			break
		}
	}
	w.show(nil)
	if len(x.variables) == 0 {
		old := x.value
		x.value = nil
		x.leave(old)
	}
}

// newBuffer makes the node of a leaf: a buffer of the greatest size of a shape, seen in that shape.
func (c *Context) newBuffer(dt *uop.DType, s uop.Shape) (*uop.UOp, error) {
	n, err := tensor.MostElements(s)
	if err != nil {
		return nil, err
	}
	return tensor.Beginning(c.Graph.NewBuffer(tensor.DeviceName, n, dt), s)
}

// run computes a program of stores and assignments on the memory of the context.
func (c *Context) run(stores []*uop.UOp) error {
	if len(stores) == 0 {
		return nil
	}
	c.settle()
	step, binds, err := c.program(stores)
	if err != nil {
		return err
	}
	return step.Run(binds, nil)
}

// program compiles stores and assignments and finds their memory.
func (c *Context) program(stores []*uop.UOp) (*exec.Step, []exec.Binding, error) {
	e, err := c.executor()
	if err != nil {
		return nil, nil, err
	}
	step, err := e.Prepare(c.Graph.Sink(nil, stores...))
	if err != nil {
		return nil, nil, err
	}
	binds, err := c.bindings(step.Buffers())
	return step, binds, err
}

var errOverwritten = errors.New("a tensor that it is computed from was overwritten since")

// bindings are the memory of buffers.
func (c *Context) bindings(buffers []*uop.UOp) ([]exec.Binding, error) {
	c.binds = c.binds[:0]
	for _, b := range buffers {
		bound, ok := c.Memory(b)
		if !ok && c.Elsewhere != nil {
			bound, ok = c.Elsewhere(b)
		}
		if !ok {
			return nil, errOverwritten
		}
		c.binds = append(c.binds, bound)
	}
	return c.binds, nil
}

// Memory is the memory of a buffer of the context.
func (c *Context) Memory(b *uop.UOp) (exec.Binding, bool) {
	m := c.memory[b]
	if m == nil {
		return exec.Binding{}, false
	}
	return exec.Binding{Buffer: b, Ptr: m.data, Bytes: int64(m.size)}, true
}

// Released returns the tokens of memory that was shared and is no longer used, each once.
func (c *Context) Released() []uint64 {
	hosts.Lock()
	defer hosts.Unlock()
	tokens := c.released
	c.released = nil
	return tokens
}
