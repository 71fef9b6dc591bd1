package main

import (
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/model"
)

// handles holds the tokens of everything C can point to.
var handles handle.Table

// A context is what a PolyCtx stands for: a graph, the handles of its nodes and
// the programs made from it. Its lock is held during every call on it.
type context struct {
	mu    contextLock
	entry *handle.Entry
	dead  bool
	g     *uop.Graph
	nodes entries
	host  map[*uop.UOp]hostMemory
	begun begun
	// given and bound are used again from run to run.
	given, bound []exec.Binding
	steps        map[*step]struct{}
	plans        map[*wasmPlan]struct{}
	jobs         map[*job]struct{}
	// pending is closed when the last job that was started has ended; nil if there was none.
	pending chan struct{}

	attachments map[model.Readings]*attached
	schedules   map[*scheduled]struct{}
	models      map[*zooModel]struct{}
	// farewell are the models that ended with the context, for their callers to hear of it.
	farewell []*zooModel
	// rendered are the buffers of the kernel that poly_render_kernel_wasm rendered last, nil for scratch memory.
	rendered []*uop.UOp
	// wrapped are the persistent tensors that the context uses.
	wrapped map[*memTensor]leaf
}

// hostMemory is the memory behind a BUFFER: the caller's, or the library's own.
type hostMemory struct {
	data   unsafe.Pointer
	nbytes uintptr
	own    bool
}

// free gives the library's own memory back.
func (h hostMemory) free() {
	if h.own && h.nbytes > 0 {
		free(h.data, h.nbytes)
	}
}

func newContext() (*context, error) {
	c := &context{
		g:     symbolic.NewGraph(),
		host:  map[*uop.UOp]hostMemory{},
		steps: map[*step]struct{}{},
		plans: map[*wasmPlan]struct{}{},
		jobs:  map[*job]struct{}{},
	}
	if err := c.newQuick(); err != nil {
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

// destroy ends all handles of the context.
func (c *context) destroy() {
	c.idle()
	c.dead = true
	handles.Drop(c.entry)
	c.nodes.all(func(_ model.Readings, e *handle.Entry) { handles.Drop(e) })
	for s := range c.steps {
		s.slow()
		handles.Drop(s.entry)
	}
	for j := range c.jobs {
		handles.Drop(j.entry)
	}
	for m := range c.models {
		if handles.Drop(m.entry) {
			m.end()
			c.farewell = append(c.farewell, m)
		}
	}
	for s := range c.schedules {
		handles.Drop(s.entry)
	}
	for _, a := range c.attachments {
		a.free()
	}
	for _, h := range c.host {
		h.free()
	}
	c.attachments, c.schedules, c.models, c.rendered = nil, nil, nil, nil
	c.unwrap()
	c.g, c.nodes, c.host, c.steps, c.plans, c.jobs, c.begun = nil, entries{}, nil, nil, nil, nil, begun{}
}

// lookup finds the node of a handle of this context.
func (c *context) lookup(arg string, h uintptr) (*value, *handle.Entry, error) {
	e, err := handles.Get(handle.Token(h), handle.Node)
	if err != nil {
		return nil, nil, &argError{arg, err}
	}
	if e.Owner != any(c) {
		return nil, nil, wrong(arg, "belongs to another context")
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

// optional is arg for a handle that may be NULL, which gives no node.
func (c *context) optional(name string, h uintptr) (value, error) {
	if h == 0 {
		return value{}, nil
	}
	return c.arg(name, h)
}

// out hands a value to C: a new handle, or one more reference to the one it has.
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

// release gives references to a node back.
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
	c.detach(v.Readings)
}
