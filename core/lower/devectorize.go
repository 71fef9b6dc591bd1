package lower

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// scalarize makes one operation for each element of a vector.
func scalarize(_ any, alu *uop.UOp) *uop.UOp {
	n := alu.DType.VCount()
	if n == 1 {
		return nil
	}
	if alu.Op == uop.Where && alu.Src[2].IsInvalid() {
		return nil // a gated index is scalarized together with its INDEX
	}
	g, dt := alu.Graph(), alu.DType.Scalar()
	parts := make([]*uop.UOp, n)
	for i := range parts {
		src := make([]*uop.UOp, len(alu.Src))
		for j, s := range alu.Src {
			src[j] = s.GepN(i)
		}
		parts[i] = g.New(alu.Op, dt, src, alu.Arg, nil)
	}
	return g.New(uop.Vectorize, alu.DType, parts, nil, nil)
}

func isOwnMemory(u *uop.UOp) bool { return u.Op == uop.DefineLocal || u.Op == uop.DefineReg }

// scalarBuffer replaces a buffer of vectors by a buffer of scalars, cast to a pointer to vectors.
func scalarBuffer(_ any, buf *uop.UOp) *uop.UOp {
	p := buf.DType
	return buf.WithDType(p.Base().Scalar().Ptr(p.Size*int64(p.Count), p.Space)).Cast(p)
}

// vectorMemory is the scalar buffer below a CAST to vectors, or nil.
func vectorMemory(c *uop.UOp) *uop.UOp {
	if c.Op == uop.Cast && isOwnMemory(unafter(c.Src[0])) {
		return c.Src[0]
	}
	return nil
}

// scalarIndex turns the index into a buffer of vectors into a vector of indices into the scalar buffer.
func scalarIndex(_ any, u *uop.UOp) *uop.UOp {
	if len(u.Src) != 2 {
		return nil
	}
	c, idx := u.Src[0], u.Src[1]
	buf := vectorMemory(c)
	if buf == nil {
		return nil
	}
	if idx.DType.Count != 1 {
		fail("the index into memory of vectors is %s, expected a scalar", idx.DType)
	}
	n := c.DType.Count
	at := idx.Broadcast(n)
	at = at.Mul(at.IntLike(int64(n))).Add(u.Graph().ConstVec(uop.IndexT.Vec(n), constants(seq(0, n))))
	return pointerTo(buf.Broadcast(n), at)
}

// scalarIndexes is scalarIndex for a vector of pointers: a pointer that is broadcast (VECTORIZE), or one from which elements are selected (GEP).
func scalarIndexes(_ any, u *uop.UOp) *uop.UOp {
	if len(u.Src) != 2 {
		return nil
	}
	b, idx := u.Src[0], u.Src[1]
	c := b.Src[0]
	if b.Op == uop.Vectorize {
		c = sameSources(b)
	}
	if c == nil || vectorMemory(c) == nil {
		return nil
	}
	n, pre := c.DType.Count, b.DType.VCount()
	var gep, add []int
	if b.Op == uop.Gep {
		for i := range c.DType.VCount() {
			gep = append(gep, seq(0, pre)...)
			for _, y := range b.Arg.(uop.Nums) {
				add = append(add, i+y)
			}
		}
	} else {
		for i := range n {
			gep = append(gep, seq(0, pre)...)
			for range pre {
				add = append(add, i)
			}
		}
	}
	at := idx.GepList(gep)
	at = at.Mul(at.IntLike(int64(n))).Add(u.Graph().ConstVec(uop.IndexT.Vec(len(add)), constants(add)))
	return pointerTo(vectorMemory(c).Broadcast(n*pre), at)
}

func constants(is []int) []uop.Const {
	out := make([]uop.Const, len(is))
	for i, v := range is {
		out[i] = uop.Int(int64(v))
	}
	return out
}

// scalarALU leaves only scalar arithmetic; loads and stores stay vectors.
var scalarALU = &rewrite.Table{Name: "scalar ALU", Rules: []*rewrite.Rule{
	{Name: "no arithmetic on vectors", Ops: uop.GroupElementwise, Fn: scalarize},
}}

// scalarMemory makes a kernel's private buffers of vectors scalar.
var scalarMemory = &rewrite.Table{Name: "scalar memory", Rules: []*rewrite.Rule{
	{Name: "CAST after AFTER", Ops: uop.Ops(uop.After), Need: uop.Ops(uop.Cast), Fn: func(_ any, a *uop.UOp) *uop.UOp {
		c := a.Src[0]
		if c.Op != uop.Cast {
			return nil
		}
		return c.Src[0].AfterOps(a.Src[1:]...).Cast(c.DType)
	}},
	{Name: "no memory of vectors", Ops: uop.Ops(uop.DefineLocal, uop.DefineReg), Fn: scalarBuffer},
	{Name: "index of memory of vectors", Ops: uop.Ops(uop.Index), Need: uop.Ops(uop.Cast), Fn: scalarIndex},
	{Name: "index of broadcast memory of vectors", Ops: uop.Ops(uop.Index), Need: uop.Ops(uop.Vectorize), Fn: scalarIndexes},
	{Name: "index of selected memory of vectors", Ops: uop.Ops(uop.Index), Need: uop.Ops(uop.Gep), Fn: scalarIndexes},
}}
