package symbolic

import (
	"polygrad/core/uop"
)

func emptyNode(u *uop.UOp) *uop.UOp { return u.Graph().New(uop.Noop, uop.Void, nil, nil, nil) }

// gatedStore stores alt where gate holds, and leaves the memory unchanged elsewhere, instead of storing alt or the old value.
func gatedStore(store, index, gate, alt *uop.UOp) *uop.UOp {
	at := gate.Where(index.Src[1], index.Graph().InvalidIndex(1))
	return index.Src[0].IndexBy(at).Store(alt, store.Src[2:]...)
}

// invalidAccess is a load or store that is never done: 0, or nothing.
func invalidAccess(u *uop.UOp) *uop.UOp {
	if u.Op == uop.Store {
		return emptyNode(u)
	}
	return constant(u, zero)
}

var sideEffects = uop.Ops(uop.Range, uop.Store, uop.Bufferize, uop.Call, uop.Barrier, uop.End, uop.Unroll)

// flattenAfter replaces each dependence of an AFTER by the sources of this dependence, unless it has a side effect.
func flattenAfter(u *uop.UOp) *uop.UOp {
	src := []*uop.UOp{u.Src[0]}
	for _, s := range u.Src[1:] {
		if sideEffects.Has(s.Op) {
			src = append(src, s)
		} else {
			src = append(src, s.Src...)
		}
	}
	return u.With(src...)
}

var transparent = uop.Ops(uop.Unroll, uop.Noop, uop.Vectorize, uop.Sink)

// flattenSink replaces sources that only group nodes by these nodes.
func flattenSink(u *uop.UOp) *uop.UOp {
	var src []*uop.UOp
	changed := false
	for _, s := range u.Src {
		if transparent.Has(s.Op) {
			src = append(src, s.Src...)
			changed = true
		} else {
			src = append(src, s)
		}
	}
	if !changed {
		return nil
	}
	return u.Graph().New(u.Op, u.DType, src, u.Arg, nil)
}

// factorOut moves a constant factor of the summands behind the sum.
func factorOut(u, x *uop.UOp, c uop.Const) *uop.UOp {
	r := u.With(append([]*uop.UOp{x}, u.Src[1:]...)...)
	return r.Mul(constant(r, c))
}

// factorsOut moves the factors that do not depend on the ranges of a reduction behind it.
// A maximum keeps factors that may be negative, and all where a product may wrap.
func factorsOut(u *uop.UOp) *uop.UOp {
	op := uop.Op(u.Arg.(uop.OpArg))
	if op != uop.Add && op != uop.Max || u.DType != u.Src[0].DType || op == uop.Max && !exactProduct(u.Src[0]) {
		return nil
	}
	inside, outside := constant(u.Src[0], one), constant(u, one)
	moved := false
	factors := u.Src[0].SplitUOp(uop.Mul)
	for _, f := range factors {
		if dependsOnAny(f, u.Src[1:]) || op == uop.Max && !f.Vmin().Ge(zero) {
			inside = inside.Mul(f)
		} else {
			outside, moved = outside.Mul(f), true
		}
	}
	if !moved {
		return nil
	}
	return u.With(append([]*uop.UOp{inside}, u.Src[1:]...)...).Mul(outside)
}

// exactProduct reports whether no product wraps that u is made of.
func exactProduct(u *uop.UOp) bool {
	return u.Op != uop.Mul || u.Exact() && exactProduct(u.Src[0]) && exactProduct(u.Src[1])
}

func dependsOnAny(u *uop.UOp, rs []*uop.UOp) bool {
	for _, r := range rs {
		if u.DependsOn(r) {
			return true
		}
	}
	return false
}
