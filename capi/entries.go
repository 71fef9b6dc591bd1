package main

import "polygrad/capi/handle"

// entries finds the handles of the nodes of a graph: by the number of the node, which is dense between two sweeps, or,
// for the few values with two readings, by both.
type entries struct {
	single []*handle.Entry // by ID
	double map[readings]*handle.Entry
	count  int
}

func (s *entries) get(r readings) *handle.Entry {
	if r.drop != nil {
		return s.double[r]
	}
	if id := r.u.ID(); id < len(s.single) {
		return s.single[id]
	}
	return nil
}

func (s *entries) put(r readings, e *handle.Entry) {
	s.count++
	if r.drop != nil {
		if s.double == nil {
			s.double = map[readings]*handle.Entry{}
		}
		s.double[r] = e
		return
	}
	id := r.u.ID()
	if id >= len(s.single) {
		s.single = append(s.single, make([]*handle.Entry, id+1+id/2-len(s.single))...)
	}
	s.single[id] = e
}

func (s *entries) remove(r readings) {
	if s.get(r) == nil {
		return
	}
	s.count--
	if r.drop != nil {
		delete(s.double, r)
	} else {
		s.single[r.u.ID()] = nil
	}
}

// all calls f for every handle.
func (s *entries) all(f func(r readings, e *handle.Entry)) {
	for _, e := range s.single {
		if e != nil {
			f(e.Value.(*value).readings, e)
		}
	}
	for r, e := range s.double {
		f(r, e)
	}
}

// sweep drops the nodes that nobody will use again, and finds the handles by the new numbers of their nodes.
func (c *context) sweep() {
	c.g.Sweep(c.roots)
	single := make([]*handle.Entry, 2*c.g.Len()) // not as many as there once were: a peak would cost at every sweep
	for _, e := range c.nodes.single {
		if e != nil {
			single[e.Value.(*value).u.ID()] = e
		}
	}
	c.nodes.single = single
}
