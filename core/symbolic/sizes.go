package symbolic

import "polygrad/core/uop"

// Smax is the greatest of some sizes, simplified if one of them is symbolic.
func Smax(sizes ...uop.Sint) uop.Sint {
	return extreme(sizes, func(a, b int64) int64 { return max(a, b) }, (*uop.UOp).Maximum)
}

// Smin is the least of some sizes, simplified if one of them is symbolic.
func Smin(sizes ...uop.Sint) uop.Sint {
	return extreme(sizes, func(a, b int64) int64 { return min(a, b) }, (*uop.UOp).Minimum)
}

func extreme(sizes []uop.Sint, num func(a, b int64) int64, node func(a, b *uop.UOp) *uop.UOp) uop.Sint {
	var n *int64
	var u *uop.UOp
	for _, s := range sizes {
		switch {
		case !s.Symbolic() && n == nil:
			n = &s.N
		case !s.Symbolic():
			m := num(*n, s.N)
			n = &m
		case u == nil:
			u = s.U
		default:
			u = node(u, s.U)
		}
	}
	if u == nil {
		return uop.N(*n)
	}
	if n != nil {
		u = node(u, u.IntLike(*n))
	}
	return uop.S(Simplify(u))
}
