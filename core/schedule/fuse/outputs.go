package fuse

import "polygrad/core/uop"

// shareOutputs lets whoever needs the value of an output read it there, in a normalised graph before it is scheduled: it
// would be computed once for the output and once more for them.
func shareOutputs(root *uop.UOp) *uop.UOp {
	outputs := map[*uop.UOp]*uop.UOp{} // the CONTIGUOUS of a value
	for _, s := range root.Src {
		if s.Op != uop.Contiguous {
			continue
		}
		v := s.Src[0]
		for v.Op == uop.Reshape {
			v = v.Src[0]
		}
		if (uop.GroupElementwise.Has(v.Op) || v.Op == uop.ReduceAxis || v.Op == uop.Pad) && outputs[v] == nil {
			outputs[v] = s
		}
	}
	if len(outputs) == 0 {
		return root
	}
	t, shared := newImages(), map[*uop.UOp]*uop.UOp{}
	for _, u := range root.Toposort() {
		to := rebuilt(u, t)
		if s := outputs[u]; s != nil {
			stored := to.Reshape(s.Shape()).F(uop.Contiguous, nil, nil)
			shared[s] = stored
			to = stored.Reshape(u.Shape())
		}
		if s := shared[u]; s != nil {
			to = s
		}
		t.set(u, to)
	}
	out := t.get(root)
	t.free()
	return out
}
