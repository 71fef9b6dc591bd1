package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// mostFactors is how many factors of a product are looked at.
const mostFactors = 16

// stableQuotients computes the quotients x/(1+x) in products as 1 - 1/(1+x), as the algebra of kernels does (core/symbolic): for an
// infinite x, as in the derivative of a sigmoid, infinity times 0 would be NaN. It is done before values are stored: in a kernel
// that loads x and 1/(1+x) the quotient cannot be recognised.
func stableQuotients(root *uop.UOp) *uop.UOp {
	order := root.Toposort()
	if !slices.ContainsFunc(order, func(u *uop.UOp) bool { return shiftedReciprocal(u) != nil }) {
		return root
	}
	t := newImages()
	for _, u := range order {
		t.set(u, stableProduct(rebuilt(u, t)))
	}
	out := t.get(root)
	t.free()
	return out
}

// shiftedReciprocal is the x of a value 1/(1+x), nil for other values.
func shiftedReciprocal(u *uop.UOp) *uop.UOp {
	if u.Op != uop.Reciprocal || u.Src[0].Op != uop.Add {
		return nil
	}
	x, y := u.Src[0].Src[0], u.Src[0].Src[1]
	switch {
	case isOne(x):
		return y
	case isOne(y):
		return x
	}
	return nil
}

// isOne reports whether all elements of a tensor are the constant 1.
func isOne(u *uop.UOp) bool {
	for u.Op == uop.Reshape || u.Op == uop.Expand {
		u = u.Src[0]
	}
	return u.Op == uop.ConstOp && u.DType.IsFloat() && u.ConstVal().F() == 1
}

// stableProduct replaces the factors x and 1/(1+x) of a product by 1 - 1/(1+x).
func stableProduct(u *uop.UOp) *uop.UOp {
	if u.Op != uop.Mul {
		return u
	}
	factors := appendFactors(nil, u)
	for i, d := range factors {
		x := shiftedReciprocal(d)
		if x == nil {
			continue
		}
		if j := slices.Index(factors, x); j >= 0 {
			factors[j] = d.ConstLike(uop.Float(1)).Sub(d)
			factors = slices.Delete(factors, i, i+1)
			out := factors[0]
			for _, f := range factors[1:] {
				out = out.Mul(f)
			}
			return out
		}
	}
	return u
}

func appendFactors(list []*uop.UOp, u *uop.UOp) []*uop.UOp {
	if u.Op != uop.Mul || len(list) >= mostFactors {
		return append(list, u)
	}
	return appendFactors(appendFactors(list, u.Src[0]), u.Src[1])
}
