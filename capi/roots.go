package main

import (
	"polygrad/capi/handle"
	"polygrad/core/uop"
	"polygrad/model"
)

// roots marks the nodes that later calls may use: those with handles, and those known to any other object that outlives a call.
// Every owner of nodes without handles must be here.
func (c *context) roots(mark func(*uop.UOp)) {
	values := func(vs ...value) {
		for _, v := range vs {
			mark(v.Keep)
			mark(v.Drop)
		}
	}
	nodes := func(us []*uop.UOp) {
		for _, u := range us {
			mark(u)
		}
	}
	c.nodes.all(func(r model.Readings, _ *handle.Entry) {
		mark(r.Keep)
		mark(r.Drop)
	})
	for b := range c.host {
		mark(b)
	}
	for _, b := range c.beginBinds.binds {
		mark(b.Buffer)
	}
	for s := range c.steps {
		nodes(s.buffers)
		for b := range s.outputs {
			mark(b)
		}
		values(s.leaves...)
		values(s.kept...)
	}
	for p := range c.plans {
		nodes(p.Inputs)
	}
	for s := range c.schedules {
		mark(s.sink)
		nodes(s.kernels)
	}
	for f := range c.functions {
		mark(f.Sink()) // its kernels can be viewed
	}
	nodes(c.rendered)
	c.vars.Roots(mark)
	for _, w := range c.wrapped {
		values(w.v)
	}
}
