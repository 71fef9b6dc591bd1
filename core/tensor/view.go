package tensor

import (
	"slices"

	"polygrad/core/uop"
)

// viewChain lists the nodes from x down to, but not including, base if x is a view of it: a rearrangement of elements of base,
// each at most once. ok is false otherwise.
func viewChain(x, base *uop.UOp) (chain []*uop.UOp, ok bool) { return viewChainIn(nil, x, base) }

// viewChainIn is viewChain that appends to chain.
func viewChainIn(chain []*uop.UOp, x, base *uop.UOp) ([]*uop.UOp, bool) {
	for ; x != base; x = x.Src[0] {
		switch {
		case x.Op == uop.Pad:
			n := len(chain)
			if !(n >= 1 && isRoom(x, chain[n-1])) && (n < 2 || !cutAgain(x, chain[n-1], chain[n-2])) {
				return nil, false
			}
		case !showsOnce(x):
			return nil, false
		}
		chain = append(chain, x)
	}
	return chain, true
}

// showsOnce reports whether a node shows elements of its source, each at most once.
func showsOnce(x *uop.UOp) bool {
	switch x.Op {
	case uop.Reshape, uop.Permute, uop.Shrink, uop.Flip, uop.Detach:
		return true
	case uop.Expand:
		return x.Shape().Equal(x.Src[0].Shape())
	case uop.Bitcast:
		return x.DType.Itemsize() == x.Src[0].DType.Itemsize()
	}
	return false
}

// isRoom reports whether a PAD comes from roomFor, for the symbolic bounds of a SHRINK: writes to the padding are lost.
func isRoom(pad, cut *uop.UOp) bool {
	if cut.Op != uop.Shrink {
		return false
	}
	have, wide := pad.Src[0].Shape(), pad.Shape()
	bounds := cut.MovementPairs()
	for i, p := range pad.MovementPairs() {
		lo, _ := sizeBounds(bounds[i].Lo)
		_, hi := sizeBounds(bounds[i].Hi)
		switch {
		case p.Lo.IsNum(0) && p.Hi.IsNum(0):
		case have[i].Symbolic() || p.Lo.Symbolic() || p.Hi.Symbolic():
			return false
		case lo != 0 || hi != wide[i].N || !bounds[i].Lo.Symbolic() && !bounds[i].Hi.Symbolic():
			return false
		}
	}
	return true
}

// cutAgain reports whether a RESHAPE that splits axes and a SHRINK remove all that a PAD has appended to the axes, as in slices
// with a step or a diagonal.
func cutAgain(pad, split, cut *uop.UOp) bool {
	if split.Op != uop.Reshape || cut.Op != uop.Shrink {
		return false
	}
	have, wide := pad.Src[0].Shape(), pad.Shape()
	parts, bounds := split.Shape(), cut.MovementPairs()
	k := 0
	for i, p := range pad.MovementPairs() {
		if !p.Lo.IsNum(0) || have[i].Symbolic() || wide[i].Symbolic() {
			return false
		}
		// The last index kept of the axis; parts k… make up the axis.
		last, stride := int64(0), wide[i].N
		for stride > 1 {
			if k == len(parts) || parts[k].Symbolic() || bounds[k].Hi.Symbolic() || parts[k].N == 0 || stride%parts[k].N != 0 {
				return false
			}
			stride /= parts[k].N
			last += (bounds[k].Hi.N - 1) * stride
			k++
		}
		if last >= have[i].N {
			return false
		}
	}
	return true
}

// setView is base with the elements under a view, given by its chain, replaced by v of the view's shape.
func setView(chain []*uop.UOp, base, v *uop.UOp) *uop.UOp {
	// The inverse of the view pads the other elements with 0: the mask is false there.
	mask := full(v.Graph(), v.Shape(), uop.BoolConst(true), uop.Bool)
	whole := true
	for _, u := range chain {
		if u.Op == uop.Bitcast {
			v = bitcast(v, u.Src[0].DType)
			continue
		}
		v, mask = back(u, v), back(u, mask)
		whole = whole && u.Op != uop.Shrink
	}
	if whole {
		return v
	}
	return where(mask, v, base)
}

// back inverts a movement operation on x.
func back(u, x *uop.UOp) *uop.UOp {
	s := u.Src[0].Shape()
	switch u.Op {
	case uop.Reshape:
		return reshape(x, s)
	case uop.Permute:
		order := countTo(len(s))
		for i, p := range u.Arg.(uop.Nums) {
			order[p] = i
		}
		return permute(x, order)
	case uop.Flip:
		return x.Flip(u.Arg.(uop.Flags))
	case uop.Shrink:
		ps := slices.Clone(u.MovementPairs())
		for i, p := range ps {
			ps[i].Hi = s[i].Sub(p.Hi)
		}
		return pad(x, ps, 0)
	case uop.Pad:
		ps := wholes(s)
		for i, p := range u.MovementPairs() {
			ps[i] = uop.Pair{Lo: p.Lo, Hi: p.Lo.Add(s[i])}
		}
		return shrink(x, ps)
	}
	return x
}

// assignView writes v, of the view's shape, through a view of a buffer.
func assignView(chain []*uop.UOp, base, v *uop.UOp) *uop.UOp {
	if reads(v, base) {
		// The value is stored before the buffer is written, as it reads the old contents.
		v = v.F(uop.Contiguous, nil, nil)
	}
	target := base
	for _, u := range slices.Backward(chain) {
		switch u.Op {
		case uop.Pad:
			// A store does not go through padding.
			return base.AssignTo(setView(chain, base, v))
		case uop.Detach, uop.Expand, uop.Bitcast:
		default:
			target = base.Graph().New(u.Op, base.DType, append([]*uop.UOp{target}, u.Src[1:]...), u.Arg, nil)
		}
	}
	return target.AssignTo(bitcast(v, base.DType))
}

// reads reports whether v reads base directly, with no CONTIGUOUS value in between.
func reads(v, base *uop.UOp) bool {
	found := false
	v.ToposortGated(func(u *uop.UOp) bool {
		found = found || u == base
		return !found && u.Op != uop.Contiguous
	})
	return found
}

// IsView reports whether x is a rearrangement of elements of base, each at most once, in any shape or type of the same size: a
// chain of Reshape, Permute, Shrink, Flip, Detach and slices.
func IsView(x, base *uop.UOp) (is bool, err error) {
	defer guard("IsView", &err)
	need("x", x)
	need("base", base)
	_, is = viewChainIn(make([]*uop.UOp, 0, 8), x, base)
	return is, nil
}

// needView is the chain of views from base to x.
func needView(x, base *uop.UOp) []*uop.UOp {
	chain, ok := viewChain(x, base)
	if !ok {
		fail("x", "is another tensor, expected a view of base")
	}
	return chain
}

// SetView is base with the elements under its view x replaced by value, broadcast to the shape of x and converted to its type.
// base itself does not change.
func SetView(x, base, value *uop.UOp) (r *uop.UOp, err error) {
	defer guard("SetView", &err)
	need("x", x)
	need("base", base)
	need("value", value)
	needSame("operands", x, base, value)
	chain := needView(x, base)
	return setView(chain, base, broadcastTo(cast(value, x.DType), x.Shape())), nil
}

// MoveView applies the view x of base to other, a tensor of base's shape and type.
func MoveView(x, base, other *uop.UOp) (r *uop.UOp, err error) {
	defer guard("MoveView", &err)
	need("x", x)
	need("base", base)
	need("other", other)
	needSame("operands", x, base, other)
	chain := needView(x, base)
	if other.DType != base.DType || !other.Shape().Equal(base.Shape()) {
		fail("other", "is %s of shape %s, expected %s of shape %s as base", other.DType, other.Shape(), base.DType, base.Shape())
	}
	for _, u := range slices.Backward(chain) {
		other = u.With(append([]*uop.UOp{other}, u.Src[1:]...)...)
	}
	return other, nil
}

// AssignView is the ASSIGN of a value to a buffer through a view of it. The value is broadcast to the shape of the view and
// converted to its type; it is computed from the old contents of the buffer.
func AssignView(x, value *uop.UOp) (r *uop.UOp, err error) {
	defer guard("AssignView", &err)
	need("target", x)
	need("value", value)
	needSame("operands", x, value)
	if x.DType.IsComplex() {
		return AssignView(x.Packed(), broadcastTo(cast(value, x.DType), x.Shape()).Packed())
	}
	base := x
	for uop.GroupMovement.Has(base.Op) || base.Op == uop.Detach || base.Op == uop.Bitcast {
		base = base.Src[0]
	}
	chain, ok := viewChain(x, base)
	if !ok || base.Op != uop.Buffer {
		fail("target", "is a %s, expected a buffer or a view that shows no element of one twice", x.Op)
	}
	return assignView(chain, base, broadcastTo(cast(value, x.DType), x.Shape())), nil
}
