package main

import (
	"polygrad/capi/handle"
	"polygrad/model"
)

// entries finds the handles of the nodes of a graph: by the node's number, which is dense between two sweeps, or, for the few values
// with two readings, by both nodes.
type entries struct {
	single []*handle.Entry // by ID
	double map[model.Readings]*handle.Entry
	count  int
}

func (s *entries) get(r model.Readings) *handle.Entry {
	if r.Drop != nil {
		return s.double[r]
	}
	if id := r.Keep.ID(); id < len(s.single) {
		return s.single[id]
	}
	return nil
}

func (s *entries) put(r model.Readings, e *handle.Entry) {
	s.count++
	if r.Drop != nil {
		if s.double == nil {
			s.double = map[model.Readings]*handle.Entry{}
		}
		s.double[r] = e
		return
	}
	id := r.Keep.ID()
	if id >= len(s.single) {
		s.single = append(s.single, make([]*handle.Entry, id+1+id/2-len(s.single))...)
	}
	s.single[id] = e
}

func (s *entries) remove(r model.Readings) {
	if s.get(r) == nil {
		return
	}
	s.count--
	if r.Drop != nil {
		delete(s.double, r)
	} else {
		s.single[r.Keep.ID()] = nil
	}
}

// all calls f for every handle.
func (s *entries) all(f func(r model.Readings, e *handle.Entry)) {
	for _, e := range s.single {
		if e != nil {
			f(e.Value.(*value).Readings, e)
		}
	}
	for r, e := range s.double {
		f(r, e)
	}
}

// sweep drops unreachable nodes, and re-indexes the handles by the new numbers of their nodes.
func (c *context) sweep() {
	c.g.Sweep(c.roots)
	single := make([]*handle.Entry, 2*c.g.Len()) // sized by what is left: a peak would cost at every sweep
	for _, e := range c.nodes.single {
		if e != nil {
			single[e.Value.(*value).Keep.ID()] = e
		}
	}
	c.nodes.single = single
}
