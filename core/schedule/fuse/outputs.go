package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// shareOutputs replaces further uses of the value of an output by reads of the output, in a normalised graph before scheduling: the value
// would be computed once for the output and again for them.
func shareOutputs(root *uop.UOp) *uop.UOp {
	outputs := map[*uop.UOp]*uop.UOp{} // the CONTIGUOUS of a value, or the ASSIGN
	var users map[*uop.UOp]int
	if slices.ContainsFunc(root.Src, func(s *uop.UOp) bool { return s.Op == uop.Assign }) {
		users = usersOf(root)
	}
	for _, s := range root.Src {
		if s.Op != uop.Contiguous && !onlyWritten(s, users) {
			continue
		}
		v := s.Src[len(s.Src)-1]
		for v.Op == uop.Reshape {
			v = v.Src[0]
		}
		if (uop.GroupElementwise.Has(v.Op) || v.Op == uop.ReduceAxis || v.Op == uop.Pad || isRolled(v)) && outputs[v] == nil {
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
			stored := to.Reshape(s.Shape())
			if s.Op == uop.Assign {
				stored = s.Src[0].AssignTo(stored)
			} else {
				stored = stored.F(uop.Contiguous, nil, nil)
			}
			shared[s] = stored
			to = stored.Reshape(u.Shape())
		}
		if s := shared[u]; s != nil {
			to = s
		}
		t.set(u, to)
	}
	out := t.get(root)
	t.reset()
	return out
}

// usersOf counts the users of the values in a graph.
func usersOf(root *uop.UOp) map[*uop.UOp]int {
	users := map[*uop.UOp]int{}
	for _, u := range root.Toposort() {
		for _, s := range u.Src {
			users[s]++
		}
	}
	return users
}

// onlyWritten reports whether an ASSIGN writes to a whole buffer that nothing else uses.
func onlyWritten(s *uop.UOp, users map[*uop.UOp]int) bool {
	if s.Op != uop.Assign || s.Src[0].DType != s.Src[1].DType {
		return false
	}
	target := s.Src[0]
	for ; target.Op == uop.Reshape && users[target] == 1; target = target.Src[0] {
	}
	return target.Op == uop.Param && users[target] == 1
}
