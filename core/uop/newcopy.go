package uop

// NewCopy is New for sources in a slice that the caller goes on using.
func (g *Graph) NewCopy(op Op, dt *DType, src []*UOp, arg Arg, tag Arg) *UOp {
	h := nodeHash(op, dt, src, arg, tag)
	if u := g.find(h, op, dt, src, arg, tag); u != nil {
		return u
	}
	return g.New(op, dt, g.copySrc(src), arg, tag)
}

func (g *Graph) find(h uint64, op Op, dt *DType, src []*UOp, arg Arg, tag Arg) *UOp {
	mask := uint64(len(g.table) - 1)
	for i := h & mask; g.table[i] != nil; i = (i + 1) & mask {
		u := g.table[i]
		if u.hash == h && u.Op == op && u.DType == dt && equalSlices(u.Src, src) && ArgEqual(u.Arg, arg) && ArgEqual(u.Tag, tag) {
			return u
		}
	}
	return nil
}
