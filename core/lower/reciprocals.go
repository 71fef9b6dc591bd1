package lower

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// shareReciprocals multiplies reciprocals that a kernel has. The algebra makes 1/(x*y) of their products, which is a division more
// where 1/x and 1/y are needed besides, as for the derivatives of a sigmoid.
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
