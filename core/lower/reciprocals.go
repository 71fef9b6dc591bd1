package lower

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// shareReciprocals replaces 1/(x*y) by 1/x * 1/y if the kernel computes 1/x and 1/y anyway, as in derivatives of a sigmoid: that saves
// a division. The algebra had combined the two. It does so too if the kernel computes 1/x = 1/(1 + e^z) alone: that has a form of its
// own (see sigmoid), and the power would be computed again for x.
func shareReciprocals(sink *uop.UOp) *uop.UOp {
	of := map[*uop.UOp]*uop.UOp{}
	var reciprocals []*uop.UOp
	for _, u := range sink.Toposort() {
		if u.Op == uop.Reciprocal {
			of[u.Src[0]] = u
			reciprocals = append(reciprocals, u)
		}
	}
	products := rewrite.Map{}
	for _, u := range reciprocals {
		if x := u.Src[0]; x.Op == uop.Mul && of[x.Src[0]] != nil && of[x.Src[1]] != nil {
			products[u] = of[x.Src[0]].Mul(of[x.Src[1]])
		} else if r, rest := splitLogistic(x, of); r != nil {
			products[u] = r.Mul(rest.Alu(uop.Reciprocal))
		}
	}
	if len(products) == 0 {
		return sink
	}
	return rewrite.Substitute(sink, products)
}

// splitLogistic splits a product into a factor 1 + e^z, of which it returns the reciprocal if the kernel has it, and the rest.
func splitLogistic(x *uop.UOp, of map[*uop.UOp]*uop.UOp) (r, rest *uop.UOp) {
	if x.Op != uop.Mul {
		return nil, nil
	}
	for i, s := range x.Src {
		other := x.Src[1-i]
		if e, one, ok := constTerm(s); ok && one == 1 && (e.Op == uop.Exp || e.Op == uop.Exp2) && of[s] != nil {
			return of[s], other
		}
		if r, rest := splitLogistic(s, of); r != nil {
			return r, rest.Mul(other)
		}
	}
	return nil, nil
}
