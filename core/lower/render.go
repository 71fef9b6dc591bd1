package lower

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// The last rules bring the graph into the form for renderers: constants are scalars, vectors are built by VECTORIZE, GEP takes one
// element, a gated load has an alternative value for a closed gate.

// gatedLoad is the gate of a LOAD through a gated index, else nil.
func gatedLoad(u *uop.UOp) (gate *uop.UOp) {
	if u.Op != uop.Load {
		return nil
	}
	if idx := uncast(u.Src[0]); idx.Op == uop.Index && len(idx.Src) == 3 {
		return idx.Src[2]
	}
	return nil
}

// foldAlternative moves the other branch of a WHERE into the gated load of one branch, as its alternative value a; a cast that only
// undoes the load's own is dropped. A load of another type than the WHERE must be able to hold a: tinygrad would take 1.5 for
// 1 where integers are loaded.
func foldAlternative(load, a *uop.UOp) *uop.UOp {
	alt := a
	switch {
	case a.Op == uop.Cast && a.Src[0].DType == load.DType:
		alt = a.Src[0]
	case holds(load.DType, a):
		alt = a.Cast(load.DType)
	default:
		return nil
	}
	var rest []*uop.UOp
	if len(load.Src) > 2 {
		rest = load.Src[2:]
	}
	return load.With(append([]*uop.UOp{load.Src[0], alt}, rest...)...).Cast(a.DType)
}

// holds reports whether a cast to a type and back certainly preserves every element of u.
func holds(dt *uop.DType, u *uop.UOp) bool {
	if u.Op == uop.Vectorize {
		return !slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return !holds(dt, s) })
	}
	if u.Op == uop.ConstOp {
		c := u.ConstVal().Truncate(u.DType)
		return c.Truncate(dt).Truncate(u.DType).Same(c)
	}
	return uop.CanLosslessCast(u.DType.Scalar(), dt.Scalar())
}

var renderRules = &rewrite.Table{Name: "render", Rules: []*rewrite.Rule{
	{Name: "vector of one constant", Ops: uop.Ops(uop.ConstOp), Fn: func(_ any, c *uop.UOp) *uop.UOp {
		n := c.DType.VCount()
		if n == 1 {
			return nil
		}
		e := c.Graph().Const(c.DType.Scalar(), c.ConstVal())
		src := make([]*uop.UOp, n)
		for i := range src {
			src[i] = e
		}
		return c.Graph().New(uop.Vectorize, c.DType, src, nil, nil)
	}},
	{Name: "vector of constants", Ops: uop.Ops(uop.VConstOp), Fn: func(_ any, c *uop.UOp) *uop.UOp {
		cs := c.Arg.(uop.Consts)
		src := make([]*uop.UOp, len(cs))
		for i, v := range cs {
			src[i] = c.Graph().Const(c.DType.Scalar(), v)
		}
		return c.Graph().New(uop.Vectorize, c.DType, src, nil, nil)
	}},
	{Name: "GEP of one element", Ops: uop.Ops(uop.Gep), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		is := u.Arg.(uop.Nums)
		if len(is) > 1 {
			src := make([]*uop.UOp, len(is))
			for i, x := range is {
				src[i] = u.Src[0].GepN(x)
			}
			return u.Graph().New(uop.Vectorize, u.DType, src, nil, nil)
		}
		if len(is) == 1 && is[0] == 0 && u.Src[0].DType.VCount() == 1 {
			return u.Src[0]
		}
		return nil
	}},
	{Name: "VECTORIZE of one", Ops: uop.Ops(uop.Vectorize), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if len(u.Src) == 1 {
			return u.Src[0]
		}
		return nil
	}},
	{Name: "alternative of a gated load", Ops: uop.Ops(uop.Load), Fn: func(_ any, x *uop.UOp) *uop.UOp {
		if gatedLoad(x) == nil {
			return nil
		}
		if len(x.Src) > 1 && x.Src[1].Op != uop.Custom && x.Src[1].Op != uop.Store && x.Src[1].Op != uop.Barrier {
			return nil
		}
		alt := x.Graph().Const(x.DType, uop.Int(0))
		return x.With(append([]*uop.UOp{x.Src[0], alt}, x.Src[1:]...)...)
	}},
	{Name: "WHERE of a gated load", Ops: uop.Ops(uop.Where), Fn: func(_ any, w *uop.UOp) *uop.UOp {
		load := w.Src[1]
		if gatedLoad(load) == nil {
			load = uncast(load)
		}
		if gate := gatedLoad(load); gate != nil && gate == w.Src[0] {
			return foldAlternative(load, w.Src[2])
		}
		return nil
	}},
	{Name: "WHERE of a load gated by the contrary", Ops: uop.Ops(uop.Where), Fn: func(_ any, w *uop.UOp) *uop.UOp {
		load := uncast(w.Src[2])
		if gate := gatedLoad(load); gate != nil && negated(gate) == w.Src[0] {
			return foldAlternative(load, w.Src[1])
		}
		return nil
	}},
}}
