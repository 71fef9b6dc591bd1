package fuse

import "polygrad/core/uop"

// padReuse is how often each element of a padded tensor must be read for the padding to be stored: a convolution
// without conditions saves more than the copy costs.
const padReuse = 4

// StorePads gives the padded tensors that products read several times memory of their own, in a normalised graph
// before it is scheduled. The reductions over them then need no conditions.
func StorePads(root *uop.UOp) *uop.UOp {
	stored := map[*uop.UOp]*uop.UOp{}
	for _, u := range root.Toposort() {
		if u.Op != uop.ReduceAxis || !u.DType.IsFloat() {
			continue
		}
		product := u.Src[0]
		for product.Op == uop.Cast || product.Op == uop.Reshape || product.Op == uop.Permute {
			product = product.Src[0]
		}
		if product.Op != uop.Mul {
			continue
		}
		n := product.Shape().Numel()
		if n.Symbolic() {
			continue
		}
		for _, factor := range product.Src {
			if pad := paddedBelow(factor); pad != nil {
				if m := pad.Shape().Numel(); !m.Symbolic() && n.N/max(m.N, 1) >= padReuse {
					stored[pad] = pad.F(uop.Contiguous, nil, nil)
				}
			}
		}
	}
	if len(stored) == 0 {
		return root
	}
	return replace(root, stored)
}

// paddedBelow is the PAD that a tensor is a view of, nil if it is none of one.
func paddedBelow(u *uop.UOp) *uop.UOp {
	for {
		switch {
		case u.Op == uop.Pad:
			return u
		case u.Op == uop.Cast || uop.GroupMovement.Has(u.Op):
			u = u.Src[0]
		default:
			return nil
		}
	}
}
