package lower

import (
	"cmp"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// A vector of indices becomes scalar pointers, adjacent pointers become one pointer to a vector, and such vectors are split to the
// widths that the target can load and store.

// pointerTo is the pointer to element idx of buf.
func pointerTo(buf *uop.UOp, idx ...*uop.UOp) *uop.UOp { return buf.IndexPtr(idx...) }

// simplifyGated simplifies an index under its gate.
func simplifyGated(buf, idx, gate *uop.UOp) *uop.UOp {
	v := symbolic.GivenValid(gate, idx, true)
	if v == idx {
		return nil
	}
	return pointerTo(buf, v.Valid(gate))
}

// boolAsIndex casts bools in indices to numbers. A cast from bool to integer to index was merged into one, but an address cannot
// be computed from bools.
var boolAsIndex = &rewrite.Table{Name: "bool as index", Rules: []*rewrite.Rule{{Name: "a bool as an index", Ops: uop.Ops(uop.Cast),
	Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if !u.DType.IsIndex() || !u.Src[0].DType.IsBool() {
			return nil
		}
		return u.With(u.Src[0].Cast(uop.Int32.Vec(u.DType.Count)))
	}}}}

var loadStoreIndexing = &rewrite.Table{Name: "load/store indexing", Rules: []*rewrite.Rule{
	{Name: "simplify a gated index", Ops: uop.Ops(uop.Index), Need: uop.Ops(uop.Where),
		Fn: func(_ any, u *uop.UOp) *uop.UOp {
			if len(u.Src) != 2 {
				return nil
			}
			if w := u.Src[1]; w.Op == uop.Where && w.Src[2].IsInvalid() {
				return simplifyGated(u.Src[0], w.Src[1], w.Src[0])
			}
			return nil
		}},
	{Name: "simplify a wide index after lowering", Ops: uop.Ops(uop.Index),
		Fn: func(_ any, u *uop.UOp) *uop.UOp {
			if len(u.Src) == 3 && u.Src[1].DType.Scalar() == uop.Int64 && u.Src[2].DType.Scalar() == uop.Bool {
				return simplifyGated(u.Src[0], u.Src[1], u.Src[2])
			}
			return nil
		}},
	{Name: "drop a gate that is open", Ops: uop.Ops(uop.Index), Need: uop.Ops(uop.ConstOp),
		Fn: func(_ any, u *uop.UOp) *uop.UOp {
			if len(u.Src) == 3 && u.Src[2].DType.Scalar() == uop.Bool && u.Src[2].IsConst(uop.BoolConst(true)) {
				return pointerTo(u.Src[0], u.Src[1])
			}
			return nil
		}},
}}

// expandIndex makes one pointer for each element of a vector index.
func expandIndex(_ any, u *uop.UOp) *uop.UOp {
	if len(u.Src) != 2 || u.Src[0].Op != uop.Vectorize {
		return nil
	}
	buf, vec := sameSources(u.Src[0]), u.Src[1]
	if buf == nil || !uop.GroupDefines.Has(unafter(buf).Op) {
		return nil
	}
	src := make([]*uop.UOp, vec.DType.Count)
	for i := range src {
		src[i] = pointerTo(buf, vec.GepN(i))
	}
	return u.Graph().New(uop.Vectorize, buf.DType, src, nil, nil)
}

// offsets are the pointers of a vector whose indices are a common root plus a constant, with the lane of each.
type offsets struct {
	valid, root *uop.UOp
	invalid     bool
	at          []offset
}

type offset struct {
	off   int64
	place int
}

// splitOffset splits an index into a root and a constant offset; the root of a constant is nil.
func splitOffset(idx *uop.UOp) (root *uop.UOp, off int64, invalid bool) {
	switch {
	case idx.Op == uop.Add && idx.Src[1].Op == uop.ConstOp:
		return idx.Src[0], idx.Src[1].ConstVal().I(), false
	case idx.Op == uop.Add && idx.Src[0].Op == uop.ConstOp:
		return idx.Src[1], idx.Src[0].ConstVal().I(), false
	case idx.IsInvalid():
		return nil, 0, true
	case idx.Op == uop.ConstOp:
		return nil, idx.ConstVal().I(), false
	}
	return idx, 0, false
}

func groupOffsets(ptrs []*uop.UOp) []*offsets {
	var groups []*offsets
	for i, p := range ptrs {
		idx := p.Src[1]
		root, off, invalid := splitOffset(idx.GetIdx())
		valid := idx.GetValid()
		at := slices.IndexFunc(groups, func(x *offsets) bool { return x.valid == valid && x.root == root && x.invalid == invalid })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &offsets{valid, root, invalid, make([]offset, 0, len(ptrs)-i)})
		}
		groups[at].at = append(groups[at].at, offset{off, i})
	}
	return groups
}

// runs are the offsets in ascending order, cut where they are not consecutive.
func (g *offsets) runs() [][]offset {
	slices.SortStableFunc(g.at, func(a, b offset) int { return cmp.Compare(a.off, b.off) })
	var out [][]offset
	start := 0
	for i := 1; i <= len(g.at); i++ {
		if i == len(g.at) || g.at[i].off > g.at[i-1].off+1 {
			out = append(out, g.at[start:i])
			start = i
		}
	}
	return out
}

// vectorPointer casts a pointer into buf to a pointer to a vector of n elements.
func vectorPointer(p, buf *uop.UOp, n int) *uop.UOp {
	return p.Cast(buf.DType.Base().Vec(n).Ptr(buf.DType.Size, buf.DType.Space))
}

// foldPointers joins adjacent pointers into pointers to vectors.
func foldPointers(_ any, u *uop.UOp) *uop.UOp {
	if len(u.Src) == 0 || u.Src[0].Op != uop.Index {
		return nil
	}
	buf := u.Src[0].Src[0]
	for _, s := range u.Src {
		if s.Op != uop.Index || s.Src[0] != buf || !s.DType.IsPtr() {
			return nil
		}
	}
	var ptrs []*uop.UOp
	place := make([]int, len(u.Src))
	n := 0
	for _, g := range groupOffsets(u.Src) {
		for _, run := range g.runs() {
			first, last := run[0], run[len(run)-1]
			p, width := u.Src[first.place], int(last.off-first.off)+1
			if width > 1 {
				p = vectorPointer(p, buf, width)
			}
			for _, o := range run {
				place[o.place] = n + int(o.off-first.off)
			}
			ptrs = append(ptrs, p)
			n += width
		}
	}
	dt := buf.DType.Base().Ptr(buf.DType.Size, buf.DType.Space).Vec(n)
	return u.Graph().New(uop.PtrCat, dt, ptrs, nil, nil).GepList(place)
}

// loadBeforeGep loads the whole vector and then selects the elements.
func loadBeforeGep(_ any, ld *uop.UOp) *uop.UOp {
	gep := ld.Src[0]
	if gep.Op != uop.Gep {
		return nil
	}
	dt := ld.DType.Scalar().Vec(gep.DType.Count)
	return ld.Graph().New(uop.Load, dt, prepend(gep.Src[0], ld.Src[1:]...), ld.Arg, ld.Tag).GepList(gep.Arg.(uop.Nums))
}

// storeBeforeGep stores through the vector and reorders the data. Of several values for one element the last one counts.
func storeBeforeGep(_ any, st *uop.UOp) *uop.UOp {
	gep := st.Src[0]
	if len(st.Src) != 2 || gep.Op != uop.Gep {
		return nil
	}
	last := map[int]int{}
	var to []int
	for i, x := range gep.Arg.(uop.Nums) {
		if _, ok := last[x]; !ok {
			to = append(to, x)
		}
		last[x] = i
	}
	slices.Sort(to)
	is := make([]int, len(to))
	for i, x := range to {
		is[i] = last[x]
	}
	return gep.Src[0].Store(st.Src[1].GepList(is))
}

func loadCat(_ any, ld *uop.UOp) *uop.UOp {
	cat := ld.Src[0]
	if cat.Op != uop.PtrCat {
		return nil
	}
	parts := make([]*uop.UOp, len(cat.Src))
	for i, p := range cat.Src {
		parts[i] = ld.Graph().New(uop.Load, p.DType.Base(), prepend(p, ld.Src[1:]...), ld.Arg, ld.Tag)
	}
	return ld.Graph().New(uop.Cat, cat.DType.Base().Vec(cat.DType.VCount()), parts, nil, nil)
}

func storeCat(_ any, st *uop.UOp) *uop.UOp {
	cat := st.Src[0]
	if len(st.Src) != 2 || cat.Op != uop.PtrCat {
		return nil
	}
	parts := make([]*uop.UOp, len(cat.Src))
	off := 0
	for i, p := range cat.Src {
		n := p.DType.Count
		parts[i] = p.Store(st.Src[1].GepList(seq(off, off+n)))
		off += n
	}
	return st.Graph().Group(parts...)
}

var loadStoreFolding = &rewrite.Table{Name: "load/store folding", Rules: []*rewrite.Rule{
	{Name: "vector index to pointers", Ops: uop.Ops(uop.Index), Need: uop.Ops(uop.Vectorize), Fn: expandIndex},
	{Name: "pointers to vector pointers", Ops: uop.Ops(uop.Vectorize), Need: uop.Ops(uop.Index), Fn: foldPointers},
	{Name: "GEP after LOAD", Ops: uop.Ops(uop.Load), Need: uop.Ops(uop.Gep), Fn: loadBeforeGep},
	{Name: "GEP on the data of STORE", Ops: uop.Ops(uop.Store), Need: uop.Ops(uop.Gep), Fn: storeBeforeGep},
	{Name: "PTRCAT after LOAD", Ops: uop.Ops(uop.Load), Need: uop.Ops(uop.PtrCat), Fn: loadCat},
	{Name: "PTRCAT after STORE", Ops: uop.Ops(uop.Store), Need: uop.Ops(uop.PtrCat), Fn: storeCat},
}}

// splitAccess cuts a vector LOAD or STORE into widths of the target.
func splitAccess(ctx any, ls *uop.UOp) *uop.UOp {
	if ls.Src[0].Op != uop.Cast || ls.Src[0].Src[0].Op != uop.Index {
		return nil
	}
	size := ls.Src[0].DType.Count
	if size == 1 {
		return nil
	}
	g, idx := ls.Graph(), ls.Src[0].Src[0]
	buf := idx.Src[0]
	off, valid := idx.Src[1].GetIdx(), idx.Src[1].GetValid()
	var widths []int
	for _, w := range append(ctx.(*Target).accessWidths(buf.DType), 1) {
		if w > size || !symbolic.IsMultiple(off, uop.Int(int64(w))) {
			continue
		}
		if w == size {
			return nil
		}
		widths = append(widths, w)
	}
	var parts []*uop.UOp
	for at := 0; at < size; {
		for _, w := range widths {
			if at+w > size {
				continue
			}
			p := pointerTo(buf, off.AddInt(int64(at)).Valid(valid))
			if w > 1 {
				p = vectorPointer(p, buf, w)
			}
			if ls.Op == uop.Store {
				parts = append(parts, ls.With(appendTo([]*uop.UOp{p, ls.Src[1].GepList(seq(at, at+w))}, ls.Src[2:]...)...))
			} else {
				parts = append(parts, g.New(uop.Load, ls.DType.Scalar().Vec(w), prepend(p, ls.Src[1:]...), ls.Arg, ls.Tag))
			}
			at += w
			break
		}
	}
	switch {
	case len(parts) <= 1:
		return nil
	case ls.Op == uop.Store:
		return g.Group(parts...)
	}
	return g.New(uop.Cat, ls.DType, parts, nil, nil)
}

var correctLoadStore = &rewrite.Table{Name: "correct load/store", Rules: []*rewrite.Rule{{
	Name: "split to the target's widths", Ops: uop.Ops(uop.Load, uop.Store), Need: uop.Ops(uop.Cast), Fn: splitAccess,
}}}
