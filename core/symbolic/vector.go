package symbolic

import "polygrad/core/uop"

// gepOfGep selects once what g and then u select.
func gepOfGep(u, g *uop.UOp) *uop.UOp {
	outer, inner := u.Arg.(uop.Nums), g.Arg.(uop.Nums)
	is := make([]int, len(outer))
	for i, o := range outer {
		is[i] = inner[o]
	}
	return g.Src[0].GepList(is)
}

// gepOfVectorize is the selected sources of a VECTORIZE.
func gepOfVectorize(u, v *uop.UOp) *uop.UOp {
	is := u.Arg.(uop.Nums)
	if len(is) == 1 {
		return v.Src[is[0]]
	}
	src := make([]*uop.UOp, len(is))
	for i, j := range is {
		src[i] = v.Src[j]
	}
	return u.Graph().New(uop.Vectorize, u.DType, src, nil, nil)
}

// gepOfConsts is the selected elements of a VCONST.
func gepOfConsts(u, v *uop.UOp) *uop.UOp {
	is, vs := u.Arg.(uop.Nums), v.Arg.(uop.Consts)
	out := make([]uop.Const, len(is))
	for i, j := range is {
		out[i] = vs[j]
	}
	return u.ConstVecLike(out)
}

// inOrder reports whether a GEP selects every element in order. Pointers keep their GEP.
func inOrder(u *uop.UOp) bool {
	is := u.Arg.(uop.Nums)
	if u.DType.IsPtr() || len(is) != u.Src[0].DType.Count {
		return false
	}
	for i, j := range is {
		if i != j {
			return false
		}
	}
	return true
}

// gepOfALU selects from the operands of an operation instead of its result.
func gepOfALU(u, a *uop.UOp) *uop.UOp {
	if u.DType.IsPtr() || a.DType.IsPtr() {
		return nil
	}
	is := u.Arg.(uop.Nums)
	src := make([]*uop.UOp, len(a.Src))
	for i, s := range a.Src {
		src[i] = s.GepList(is)
	}
	return u.Graph().New(a.Op, a.DType.Scalar().Vec(u.DType.Count), src, a.Arg, nil)
}

// catToVectorize writes a CAT of values as a VECTORIZE of all their elements.
func catToVectorize(u *uop.UOp) *uop.UOp {
	if u.DType.IsPtr() {
		return nil
	}
	var src []*uop.UOp
	for _, s := range u.Src {
		for i := range s.DType.Count {
			src = append(src, s.GepN(i))
		}
	}
	return u.Graph().New(uop.Vectorize, u.DType, src, nil, nil)
}

// gepsOfOne is one GEP of x in place of the sources of u, each of which selects one element of x.
func gepsOfOne(u, x *uop.UOp) *uop.UOp {
	is := make([]int, len(u.Src))
	for i, s := range u.Src {
		n := s.Arg.(uop.Nums)
		if len(n) != 1 {
			return nil
		}
		is[i] = n[0]
	}
	return x.GepList(is)
}

// broadcastALU computes an operation on two vectors of equal elements once.
func broadcastALU(u, x, y *uop.UOp) *uop.UOp {
	one := u.Graph().New(u.Op, u.DType.Scalar(), []*uop.UOp{x, y}, nil, nil)
	src := make([]*uop.UOp, u.DType.Count)
	for i := range src {
		src[i] = one
	}
	return u.Graph().New(uop.Vectorize, u.DType, src, nil, nil)
}
