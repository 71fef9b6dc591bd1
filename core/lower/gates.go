package lower

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// An index may itself be loaded from memory, as in a padded lookup. If the gate of the outer access is closed, the loads in its address
// must not be executed either. Simplification removes their own gates, because it may assume that the outer gate is open; the pass
// adds them again.

var gateAddresses = &rewrite.Table{Name: "gates of loads in indices", Rules: []*rewrite.Rule{
	{Name: "gate loads in a gated index", Ops: uop.Ops(uop.Index), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if len(u.Src) != 3 || !u.Src[1].HasOp(loadOp) {
			return nil
		}
		gates := u.Src[2].SplitUOp(uop.And)
		m, found := rewrite.Map{}, false
		outside := func(x *uop.UOp) bool {
			if x.Op == uop.End { // of a reduction: a copy of its loop would write to the same accumulator
				m[x] = rewrite.Gate
			}
			return x.Op != uop.End
		}
		for _, x := range u.Src[1].ToposortGated(outside) {
			if v := gatedElement(x, gates); v != nil {
				m[x], found = v, true
			}
		}
		if !found {
			return nil
		}
		return u.With(u.Src[0], rewrite.Substitute(u.Src[1], m), u.Src[2])
	}}}}

var loadOp = uop.Ops(uop.Load)

// gatedElement adds the gates to a load of one element, or to an element of a vector. It is nil if nothing has to be added. A gate that
// contains loads is added only if the address contains the same loads: otherwise two elements whose gates load each other would wait
// for each other.
func gatedElement(x *uop.UOp, gates []*uop.UOp) *uop.UOp {
	load, place := x, 0
	if x.Op == uop.Gep && len(x.Arg.(uop.Nums)) == 1 {
		load, place = x.Src[0], int(x.Arg.(uop.Nums)[0])
	}
	if load.Op != uop.Load || len(load.Src) != 1 || x.DType.VCount() != 1 {
		return nil
	}
	p := uncast(load.Src[0])
	if p.Op != uop.Index || p.Src[0].Op != uop.Param {
		return nil
	}
	buf, at := p.Src[0], p.Src[1]
	var gate *uop.UOp
	if len(p.Src) == 3 {
		gate = p.Src[2] // what simplification left of the gate
	}
	if lo, hi := at.Bounds(); gate == nil && lo.Sign() >= 0 && hi.Add(uop.Int(int64(load.DType.VCount()))).Cmp(uop.Int(buf.DType.Size)) <= 0 {
		return nil
	}
	old := gate
	for _, g := range gates {
		switch {
		case !madeOf(g, at):
		case gate == nil:
			gate = g
		case !slices.Contains(gate.SplitUOp(uop.And), g):
			gate = gate.And(g)
		}
	}
	if gate == old {
		return nil
	}
	if place > 0 {
		at = at.AddInt(int64(place))
	}
	return load.Graph().New(uop.Load, x.DType, []*uop.UOp{buf.IndexPtr(at, gate)}, nil, nil)
}

// madeOf reports whether all loads in a gate are also in an address.
func madeOf(gate, address *uop.UOp) bool {
	if !gate.HasOp(loadOp) {
		return true
	}
	if !address.HasOp(loadOp) {
		return false
	}
	asked := map[*uop.UOp]bool{}
	for _, x := range address.Toposort() {
		asked[x] = x.Op == uop.Load
	}
	return gate.Find(func(x *uop.UOp) bool { return x.Op == uop.Load && !asked[x] }) == nil
}
