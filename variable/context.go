// Package variable implements the tensors of all languages: variables whose values are nodes of the graph, with views, writes,
// gradients, the random stream, and functions that are traced and compiled.
//
// A context and its objects are used by one goroutine at a time: the callers, Go's Tensor and the handles of C, hold the lock.
package variable

import (
	"errors"

	"polygrad/core/schedule"
	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
	"polygrad/exec"
)

// A Context holds variables, the random stream and the modes of a program.
type Context struct {
	Graph *uop.Graph
	// Stream is the random stream.
	Stream tensor.Stream
	// Training: dropout is active and batch normalisation updates its statistics.
	Training bool
	// ExternalMemory finds the memory of buffers that are not the context's; nil if there are none.
	ExternalMemory func(buffer *uop.UOp) (exec.Binding, bool)

	// OnInvalidate, if not nil, is called when a result of Step.Rerunnable may no longer hold.
	OnInvalidate func()

	executor    Executors
	opened      bool // the executor, whose device has memory of its own if remote is set
	remote      bool
	limited     bool  // its kernels reach a part of the addresses
	values      value // the head of the list of all values
	memory      map[*uop.UOp]*memory
	computed    map[*uop.UOp]*value // the leaves with the elements of lazy nodes
	planes      map[*uop.UOp]*value // those of complex ones, by their planes
	clock       int64               // counts computed leaves
	noGradDepth int                 // NoGrad calls that run
	trace       *Trace
	tracings    []*Tracing          // that have begun, in their order
	arguments   map[*uop.UOp]tracer // by the buffer of a placeholder
	exprs       map[*Expr]struct{}
	missing     []*MissingRule // of the transformation that runs
	binds       []exec.Binding
	call        Call
	seed        func(words uint64) (*uop.UOp, error)
	valueOf     func(node *uop.UOp) (uop.Const, error)
	computedOf  func(node *uop.UOp) (*uop.UOp, error)
	elementsOf  ops.Elements
	jobs        []*Job          // that run, in their order
	fetches     map[int32]fetch // that are on their way, by number
	released    []uint64        // tokens of shared memory that is no longer used
}

// NewContext makes a context on a graph, whose programs the executors run.
func NewContext(g *uop.Graph, executor Executors) *Context {
	c := &Context{
		Graph: g, executor: executor, memory: map[*uop.UOp]*memory{}, computed: map[*uop.UOp]*value{}, planes: map[*uop.UOp]*value{},
		arguments: map[*uop.UOp]tracer{}, exprs: map[*Expr]struct{}{},
	}
	c.call.ctx, c.seed, c.valueOf, c.computedOf, c.elementsOf = c, c.takeSeed, c.value, c.computedLeaf, c.elements
	c.values.prev, c.values.next = &c.values, &c.values
	return c
}

// Roots calls mark for the nodes that are still in use, as roots of a sweep.
func (c *Context) Roots(mark func(*uop.UOp)) {
	for v := c.values.next; v != &c.values; v = v.next {
		mark(v.node)
		mark(v.lazyNode)
		for _, x := range v.cells {
			for _, w := range x.variables {
				mark(w.base)
				mark(w.view)
			}
		}
	}
	if c.trace != nil {
		c.trace.roots(mark)
	}
	for e := range c.exprs {
		e.roots(mark)
	}
}

// Counts returns the numbers of values, buffers and computed nodes, for tests of memory.
func (c *Context) Counts() (values, buffers, computed int) {
	for v := c.values.next; v != &c.values; v = v.next {
		values++
	}
	return values, len(c.memory), len(c.computed)
}

// Free frees all memory of the context, whose variables are not used any more.
func (c *Context) Free() {
	c.waitJobs()
	for v := c.values.next; v != &c.values; v = v.next {
		if v.mem != nil {
			v.mem.free()
			v.mem = nil
		}
	}
}

// NoGrad disables gradients of results, or enables them again. Calls nest.
func (c *Context) NoGrad(on bool) {
	if on {
		c.noGradDepth++
	} else {
		c.noGradDepth--
	}
}

// GradDisabled reports whether NoGrad is set.
func (c *Context) GradDisabled() bool { return c.noGradDepth > 0 }

// variable makes a variable on a value.
func (c *Context) variable(v *value) *Variable {
	x := &cell{tracing: c.innermost()}
	if c.trace != nil {
		c.trace.created[x] = true
	}
	w := &Variable{ctx: c, cell: x, refs: 1}
	x.variables = []*Variable{w}
	x.set(v)
	return w
}

// FromNode makes a variable of a node that is computed from others.
func (c *Context) FromNode(node *uop.UOp, from ...*Variable) *Variable {
	values := make([]*value, len(from))
	for i, w := range from {
		values[i] = w.source()
	}
	return c.variable(c.newValue(node, values...))
}

// Fill makes a variable with memory of its own, which write fills.
func (c *Context) Fill(dt *uop.DType, s uop.Shape, write func(b []byte) error) (*Variable, error) {
	return c.fill(dt, s, "", write)
}

// fill makes a variable for a device.
func (c *Context) fill(dt *uop.DType, s uop.Shape, device string, write func(b []byte) error) (*Variable, error) {
	n, err := tensor.MostElements(s)
	if err != nil {
		return nil, err
	}
	m, err := c.hostMemory(sizeOf(n, dt), device)
	if err != nil {
		return nil, err
	}
	b, err := m.change()
	if err == nil {
		err = write(b)
	}
	if err != nil {
		m.free()
		return nil, err
	}
	return c.fromMemory(dt, s, m)
}

// fromMemory makes a variable on memory, which it owns.
func (c *Context) fromMemory(dt *uop.DType, s uop.Shape, m *memory) (*Variable, error) {
	v, err := c.newLeaf(dt, s, m)
	if err != nil {
		m.free()
		return nil, err
	}
	return c.variable(v), nil
}

// newView makes a view: a variable on the cell of another one.
func (w *Variable) newView(node *uop.UOp) *Variable {
	shown := &Variable{ctx: w.ctx, cell: w.cell, view: node, base: w.cell.value.node, detached: w.detached, refs: 1}
	w.cell.variables = append(w.cell.variables, shown)
	return shown
}

// Retain adds a reference to a variable, and returns it.
func (w *Variable) Retain() *Variable {
	w.refs++
	return w
}

// Drop releases a reference to a variable.
func (w *Variable) Drop() {
	if w.refs--; w.refs > 0 {
		return
	}
	w.leaveCell()
	if w.grad != nil {
		w.grad.Drop()
		w.grad = nil
	}
}

// leaveCell removes a variable from its cell, which is freed with the last one.
func (w *Variable) leaveCell() {
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
	w.setComputedView(nil)
	if len(x.variables) == 0 {
		old := x.value
		x.value = nil
		x.removeFrom(old)
	}
}

// newBuffer makes the node of a leaf: a buffer of the maximum size of a shape, viewed in that shape.
func (c *Context) newBuffer(dt *uop.DType, s uop.Shape) (*uop.UOp, error) {
	n, err := tensor.MostElements(s)
	if err != nil {
		return nil, err
	}
	if dt.IsComplex() {
		return tensor.Beginning(c.Graph.NewComplexBuffer(tensor.DeviceName, n, dt), s)
	}
	return tensor.Beginning(c.Graph.NewBuffer(tensor.DeviceName, n, dt), s)
}

// run computes stores and assignments on the memory of the context, in one program for each device.
func (c *Context) run(works []work) error {
	if len(works) == 0 {
		return nil
	}
	c.waitJobs()
	for _, device := range c.devicesOf(works) {
		step, binds, err := c.program(works, device)
		if err == nil {
			err = step.Run(binds, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// program compiles the stores and assignments of a device and finds their memory.
func (c *Context) program(works []work, device string) (*exec.Step, []exec.Binding, error) {
	e, err := c.executor(device)
	if err != nil {
		return nil, nil, err
	}
	var stores, assigns []*uop.UOp
	for _, w := range works {
		switch {
		case !c.sameDevice(w.device, device):
		case w.node.Op == uop.Store:
			stores = append(stores, w.node)
		default:
			assigns = append(assigns, w.node)
		}
	}
	stores = append(stores, schedule.Simultaneous(assigns)...)
	step, err := e.Prepare(c.Graph.Sink(nil, stores...))
	if err != nil {
		return nil, nil, err
	}
	binds, err := c.bindings(step)
	return step, binds, err
}

var errOverwritten = errors.New("a tensor that it is computed from was overwritten since")

// bindings are the memory of the buffers of a step.
func (c *Context) bindings(step *exec.Step) ([]exec.Binding, error) {
	c.binds = c.binds[:0]
	for _, b := range step.Buffers() {
		bound, ok, err := c.Memory(b, step.OwnMemory())
		if err != nil {
			return nil, err
		}
		if !ok && c.ExternalMemory != nil {
			bound, ok = c.ExternalMemory(b)
		}
		if t := c.arguments[b]; !ok && t != nil {
			return nil, t.valueNeeded()
		}
		if !ok {
			return nil, errOverwritten
		}
		c.binds = append(c.binds, bound)
	}
	return c.binds, nil
}

// Memory is the memory of a buffer of the context, for a device that has memory of its own if own is set.
func (c *Context) Memory(b *uop.UOp, own bool) (bound exec.Binding, ok bool, err error) {
	m := c.memory[b]
	if m == nil {
		return bound, false, nil
	}
	bound, err = m.binding(b, own)
	return bound, err == nil, err
}

// ExecutorChanged makes later programs be compiled by another executor. Those that were compiled before stay as they are; tensors
// move to the device that uses them.
func (c *Context) ExecutorChanged() {
	c.waitJobs()
	c.opened = false
}

// ownMemory reports whether a device, or that of the context, has memory of its own.
func (c *Context) ownMemory(device string) bool {
	own, _ := c.memoryOf(device)
	return own
}

// memoryOf is ownMemory, and reports whether kernels reach a part of the host's addresses only.
func (c *Context) memoryOf(device string) (own, limited bool) {
	if device == "" && c.opened {
		return c.remote, c.limited
	}
	e, err := c.executor(device)
	if err != nil { // it is that of the program
		return false, false
	}
	own, limited = e.OwnMemory(), e.LimitedReach()
	if device == "" {
		c.opened, c.remote, c.limited = true, own, limited
	}
	return own, limited
}

// Released returns the tokens of shared memory that is no longer in use, each once.
func (c *Context) Released() []uint64 {
	hostMu.Lock()
	defer hostMu.Unlock()
	tokens := c.released
	c.released = nil
	return tokens
}
