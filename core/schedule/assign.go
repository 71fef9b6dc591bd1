package schedule

import (
	"slices"

	"polygrad/core/uop"
)

func joinAssign(_ any, u *uop.UOp) *uop.UOp {
	if in := u.Src[1]; in.Op == uop.Assign && in.Src[0] == u.Src[0] {
		return in
	}
	return nil
}

// assignBitcast moves a bitcast from the target of an ASSIGN to its value.
func assignBitcast(_ any, u *uop.UOp) *uop.UOp {
	if u.Src[0].Op != uop.Bitcast {
		return nil
	}
	target := u.Src[0].Src[0]
	return target.AssignTo(u.Src[1].BitcastTo(target.DType)).WithTag(u.Tag)
}

// assignToContiguous: the target of an ASSIGN must be a buffer. An ASSIGN to a computed value becomes that value made contiguous;
// one to a part of it first gives the whole value a buffer.
func assignToContiguous(_ any, u *uop.UOp) *uop.UOp {
	target, v := u.Src[0], u.Src[1]
	base := target.Base()
	if base.Op == uop.Param {
		return nil
	}
	g := u.Graph()
	if target == base || !target.HasOp(ops(uop.Shrink)) {
		return g.New(uop.Contiguous, v.DType, []*uop.UOp{v}, nil, u.Tag)
	}
	if base.Op == uop.Contiguous {
		return nil
	}
	var moves []*uop.UOp
	for ; uop.GroupMovement.Has(target.Op); target = target.Src[0] {
		moves = append(moves, target)
	}
	whole := g.New(uop.Contiguous, base.DType, []*uop.UOp{base}, nil, base.Tag)
	for _, m := range slices.Backward(moves) {
		whole = m.With(append([]*uop.UOp{whole}, m.Src[1:]...)...)
	}
	return u.With(whole, v)
}

var (
	reorders = ops(uop.Permute, uop.Flip)
	// A part of the target may overlap the part that is read.
	reordersPart = ops(uop.Permute, uop.Flip, uop.Shrink)
)

// fixHazard materialises the value of an ASSIGN that reads the target in another order than it writes it.
func fixHazard(_ any, u *uop.UOp) *uop.UOp {
	target, v := u.Src[0], u.Src[1]
	unsafe := reorders
	if target.HasOp(ops(uop.Shrink)) {
		unsafe = reordersPart
	}
	inKernel := v.ToposortGated(func(x *uop.UOp) bool { return !alwaysContiguous.Has(x.Op) })
	if !slices.ContainsFunc(inKernel, func(x *uop.UOp) bool { return unsafe.Has(x.Op) }) {
		return nil
	}
	reads := readersOf(target.Base(), v)
	for _, x := range inKernel {
		if unsafe.Has(x.Op) && reads[x] {
			return u.With(target, v.ContiguousOp())
		}
	}
	return nil
}

// readersOf is the set of nodes below v that reach base without another buffer in between.
func readersOf(base, v *uop.UOp) map[*uop.UOp]bool {
	buffers := alwaysContiguous.Minus(uop.Param)
	reads := map[*uop.UOp]bool{}
	for _, x := range v.ToposortGated(func(x *uop.UOp) bool { return !buffers.Has(x.Op) }) {
		if x == base || slices.ContainsFunc(x.Src, func(s *uop.UOp) bool { return reads[s] }) {
			reads[x] = true
		}
	}
	return reads
}
