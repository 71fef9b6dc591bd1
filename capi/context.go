package main

import (
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/model"
	"polygrad/variable"
)

// handles holds the tokens of all objects that C can refer to.
var handles handle.Table

// A context is the object of a PolyCtx: a graph, the handles of its nodes and its compiled programs. Its lock is held during every
// call on it.
type context struct {
	mu         contextLock
	entry      *handle.Entry
	dead       bool
	g          *uop.Graph
	device     string // of exec, "" for that of the environment
	nodes      entries
	host       map[*uop.UOp]hostMemory
	beginBinds beginBinds
	// bindsBuf and bound are reused from run to run.
	bindsBuf, allBinds []exec.Binding
	steps              map[*step]struct{}
	plans              map[*wasmPlan]struct{}
	jobs               map[*job]struct{}
	// pending is closed when the last started job has ended; nil if there was none.
	pending chan struct{}

	nodeData  map[model.Readings]*nodeData
	schedules map[*scheduled]struct{}
	models    map[*zooModel]struct{}
	// freedModels are models freed with the context, whose release callbacks have to be called.
	freedModels []*zooModel
	// rendered are the buffers of the last kernel of poly_render_kernel_wasm, nil for scratch memory.
	rendered []*uop.UOp
	// wrapped are the persistent tensors in use by the context.
	wrapped map[*memTensor]leaf

	// vars are the variables of arrays, tracing the current trace, released the tokens of shared memory that is no longer in use.
	vars     *variable.Context
	tracing  *variable.Trace
	nodeArgs nodeCall
	// operand adds an array to the current call of an operation, arrayCall, and returns its node.
	operand   func(arg string, h uintptr) (*uop.UOp, error)
	arrayCall *variable.Call
	// functions are those that C may run directly.
	functions map[*function]struct{}
	released  []uint64
}

// hostMemory is the memory of a BUFFER: the caller's, or the library's own.
type hostMemory struct {
	data   unsafe.Pointer
	nbytes uintptr
	own    bool
}

// free frees the library's own memory.
func (h hostMemory) free() {
	if h.own && h.nbytes > 0 {
		free(h.data, h.nbytes)
	}
}

func newContext() (*context, error) {
	c := &context{
		g:     exec.NewGraph(),
		host:  map[*uop.UOp]hostMemory{},
		steps: map[*step]struct{}{},
		plans: map[*wasmPlan]struct{}{},
		jobs:  map[*job]struct{}{},
	}
	c.newVariables()
	if err := c.newLock(); err != nil {
		return nil, err
	}
	var err error
	c.entry, err = handles.New(handle.Context, nil, c)
	return c, err
}

// enter finds and locks a context; the caller unlocks it.
func enter(ctx uintptr) (*context, error) {
	e, err := handles.Get(handle.Token(ctx), handle.Context)
	if err != nil {
		return nil, &argError{"ctx", err}
	}
	c := e.Value.(*context)
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return nil, &argError{"ctx", handle.ErrStale}
	}
	if c.g.Crowded() {
		c.sweep()
	}
	return c, nil
}

// destroy invalidates all handles of the context.
func (c *context) destroy() {
	c.waitJobs()
	c.dead = true
	handles.Drop(c.entry)
	for s := range c.steps {
		s.disableDirect()
	}
	for f := range c.functions {
		f.disableDirect()
	}
	for m := range c.models {
		if handles.Drop(m.entry) {
			m.end()
			c.freedModels = append(c.freedModels, m)
		}
	}
	for _, a := range c.nodeData {
		a.free()
	}
	handles.DropAll(c)
	c.vars.Free()
	for _, h := range c.host {
		h.free()
	}
	c.nodeData, c.schedules, c.models, c.rendered = nil, nil, nil, nil
	c.releaseWrapped()
	c.vars, c.tracing, c.functions = nil, nil, nil
	c.g, c.nodes, c.host, c.steps, c.plans, c.jobs, c.beginBinds = nil, entries{}, nil, nil, nil, nil, beginBinds{}
}

// lookup finds the node of a handle of this context.
func (c *context) lookup(arg string, h uintptr) (*value, *handle.Entry, error) {
	e, err := handles.Get(handle.Token(h), handle.Node)
	if err != nil {
		return nil, nil, &argError{arg, err}
	}
	if e.Owner != any(c) {
		return nil, nil, badArg(arg, "belongs to another context")
	}
	return e.Value.(*value), e, nil
}

// arg is the value of a handle of this context.
func (c *context) arg(name string, h uintptr) (value, error) {
	v, _, err := c.lookup(name, h)
	if err != nil {
		return value{}, err
	}
	return *v, nil
}

// optional is arg for a handle that may be NULL.
func (c *context) optional(name string, h uintptr) (value, error) {
	if h == 0 {
		return value{}, nil
	}
	return c.arg(name, h)
}

// out returns a value to C: a new handle, or one more reference to its existing one.
func (c *context) out(v value) (uintptr, error) {
	if e := c.nodes.get(v.Readings); e != nil {
		e.Refs++
		return uintptr(e.Token()), nil
	}
	n := &struct { // one allocation for both
		handle.Entry
		value
	}{handle.Entry{Kind: handle.Node, Owner: c, Refs: 1}, v}
	n.Value = &n.value
	if err := handles.Issue(&n.Entry); err != nil {
		return 0, err
	}
	c.nodes.put(v.Readings, &n.Entry)
	return uintptr(n.Token()), nil
}

// release drops references to a node.
func (c *context) release(h uintptr) {
	v, e, err := c.lookup("x", h)
	if err != nil {
		return
	}
	if e.Refs--; e.Refs > 0 {
		return
	}
	if v.host != nil {
		c.unbind(v.host)
	}
	c.nodes.remove(v.Readings)
	handles.Drop(e)
	c.freeData(v.Readings)
}
