package lower

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// shareReciprocals replaces 1/(x*y) by 1/x * 1/y if the kernel computes 1/x and 1/y anyway, as in derivatives of a sigmoid: that saves
// a division. The algebra had combined the two.
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
		}
	}
	if len(products) == 0 {
		return sink
	}
	return rewrite.Substitute(sink, products)
}
