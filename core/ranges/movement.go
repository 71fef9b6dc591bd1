// Package ranges holds what the scheduler and the lowering of kernels both do with
// ranges and indices: reading through movement operations, flattening, merging and
// splitting ranges, folding reductions over ranges, and turning BUFFERIZE into stores.
package ranges

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

var (
	reshapeTable = &rewrite.Table{Name: "reshape", Parts: []*rewrite.Table{symbolic.Symbolic, symbolic.SimplifyValid, symbolic.DropAndClauses}}
	padTable     = &rewrite.Table{Name: "pad", Parts: []*rewrite.Table{symbolic.Symbolic, symbolic.SimplifyValid}}
)

// ApplyMovement gives the indices at which the source of movement operation u is read
// where u itself is read at rngs.
func ApplyMovement(u *uop.UOp, rngs []*uop.UOp) []*uop.UOp {
	g := u.Graph()
	switch u.Op {
	case uop.Reshape:
		return ReshapeRanges(g, u.Src[0].Shape(), u.MovementShape(), rngs)
	case uop.Permute:
		out := make([]*uop.UOp, len(rngs))
		for i, p := range u.Arg.(uop.Nums) {
			out[p] = rngs[i]
		}
		return out
	}
	out := slices.Clone(rngs)
	in := u.Src[0].Shape()
	switch u.Op {
	case uop.Expand:
		for i, s := range u.MovementShape() {
			if in[i] != s {
				out[i] = g.ConstInt(0)
			}
		}
	case uop.Shrink:
		for i, p := range u.MovementPairs() {
			if !p.Lo.IsNum(0) {
				out[i] = out[i].Add(p.Lo.UOp(g))
			}
		}
	case uop.Flip:
		for i, f := range u.Arg.(uop.Flags) {
			if f {
				out[i] = minusOne(g, in[i]).Sub(out[i])
			}
		}
	case uop.Pad:
		for i, p := range u.MovementPairs() {
			if !p.Lo.IsNum(0) || !p.Hi.IsNum(0) {
				out[i] = padRange(out[i], in[i], p.Lo)
			}
		}
	default:
		panic("ranges.ApplyMovement: " + u.Op.String() + " is not a movement operation")
	}
	return out
}

func minusOne(g *uop.Graph, s uop.Sint) *uop.UOp {
	if s.Symbolic() {
		return s.U.SubInt(1)
	}
	return g.ConstInt(s.N - 1)
}

// padRange is r-lo where lo <= r < size+lo, else Invalid. The WHERE stays out of the
// simplification, so that PAD itself can be replaced by a WHERE on just this condition.
func padRange(r *uop.UOp, size, lo uop.Sint) *uop.UOp {
	g := r.Graph()
	begin := lo.UOp(g)
	end := g.ConstInt(size.N + lo.N)
	if size.Symbolic() || lo.Symbolic() {
		end = size.UOp(g).Add(begin)
	}
	inside := r.Ge(begin).And(r.Lt(end))
	valid, ok := inside.Memo(uop.MemoPad)
	if !ok {
		valid = rewrite.Graph(inside, padTable, nil)
		inside.SetMemo(uop.MemoPad, valid)
	}
	return valid.Where(r.Sub(begin), g.InvalidIndex(1))
}

// ReshapeRanges gives the indices into shape in that correspond to the indices rngs into shape out.
func ReshapeRanges(g *uop.Graph, in, out uop.Shape, rngs []*uop.UOp) []*uop.UOp {
	if r := renamedAxes(g, in, out, rngs); r != nil {
		return r
	}
	if r := flatIndex(in, out, rngs); r != nil {
		return []*uop.UOp{r}
	}
	if r := movedIndex(g, in, out, rngs); r != nil {
		return []*uop.UOp{r}
	}
	return reshapeByPlaceholders(g, in, out, rngs).Src
}

// renamedAxes is ReshapeRanges where a reshape of constant sizes only adds or drops axes of size 1
// and the indices are plain: each axis keeps its index. Nil for other cases. The index of a padded axis of size 1 says only
// where the value is used; if its condition is on a range of its own (padsAlone), it is dropped with the axis.
func renamedAxes(g *uop.Graph, in, out uop.Shape, rngs []*uop.UOp) []*uop.UOp {
	res := make([]*uop.UOp, len(in))
	j := 0
	skipOnes := func() bool {
		for j < len(out) && out[j].IsNum(1) {
			if !rngs[j].IsConst(uop.Int(0)) && !padsAlone(rngs, j) {
				return false
			}
			j++
		}
		return true
	}
	for i, s := range in {
		if s.IsNum(1) {
			res[i] = g.ConstInt(0)
			continue
		}
		if !skipOnes() || j == len(out) || s.Symbolic() || out[j] != s {
			return nil
		}
		if !within(rngs[j], s.N) {
			return nil
		}
		res[i] = rngs[j]
		j++
	}
	if !skipOnes() || j != len(out) {
		return nil
	}
	return res
}

// within reports whether an index is a constant below n, or a range, perhaps plus a constant, that stays below n.
func within(r *uop.UOp, n int64) bool {
	r, at := withoutNumber(r)
	if r.Op == uop.Range && r.Src[0].Op == uop.ConstOp {
		return at+r.Src[0].ConstVal().I() <= n
	}
	return r.IsConst(uop.Int(0)) && at < n
}

// padsAlone reports whether the index of a padded axis is a range, perhaps plus a constant, under a condition on this range only (else Invalid),
// and no other index depends on the range.
func padsAlone(rngs []*uop.UOp, axis int) bool {
	r := rngs[axis]
	if r.Op != uop.Where || !r.Src[2].IsInvalid() {
		return false
	}
	of := r.Src[1]
	if of.Op == uop.Add && len(of.Src[1].Ranges()) == 0 {
		of = of.Src[0]
	}
	if of.Op != uop.Range || !slices.Equal(r.Src[0].Ranges(), []*uop.UOp{of}) {
		return false
	}
	for i, o := range rngs {
		if i != axis && o.InRange(of) {
			return false
		}
	}
	return true
}

// flatIndex is the fast path of ReshapeRanges for merging constant axes that are indexed by distinct ranges, or at 0: the sum in the form that
// symbolic simplification would give it. Nil for other cases.
func flatIndex(in, out uop.Shape, rngs []*uop.UOp) *uop.UOp {
	if len(in) != 1 || in[0].Symbolic() {
		return nil
	}
	var flat *uop.UOp
	terms, stride := 0, int64(1)
	for i := len(out) - 1; i >= 0; i-- {
		s, r := out[i], rngs[i]
		switch {
		case s.Symbolic() || slices.Contains(rngs[:i], r) && r.Op == uop.Range:
			return nil
		case r.IsConst(uop.Int(0)):
			stride *= s.N
			continue
		case r.Op != uop.Range || r.Src[0].Op != uop.ConstOp || r.Src[0].ConstVal().I() > s.N:
			return nil
		}
		if stride > 1 {
			r = r.MulInt(stride)
		}
		switch terms++; terms {
		case 1:
			flat = r
		case 2:
			flat = r.Add(flat)
		default:
			flat = flat.Add(r)
		}
		stride *= s.N
	}
	switch {
	case stride != in[0].N:
		return nil
	case flat == nil:
		return rngs[0]
	}
	return flat
}

// movedIndex is ReshapeRanges for merging constant axes if some indices are constants or have one added: the constants are added to the flat
// index of the rest, which views at other offsets share. Nil for other cases.
func movedIndex(g *uop.Graph, in, out uop.Shape, rngs []*uop.UOp) *uop.UOp {
	if len(in) != 1 || in[0].Symbolic() {
		return nil
	}
	var rest []*uop.UOp
	by, stride := int64(0), int64(1)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i].Symbolic() {
			return nil
		}
		if r, at := withoutNumber(rngs[i]); at > 0 {
			if rest == nil {
				rest = slices.Clone(rngs)
			}
			rest[i], by = r, by+at*stride
		}
		stride *= out[i].N
	}
	if rest == nil {
		return nil
	}
	flat := ReshapeRanges(g, in, out, rest)[0]
	switch {
	case flat.Op == uop.Where || flat.IsInvalid():
		return nil
	case flat.Op == uop.ConstOp:
		return g.ConstInt(flat.ConstVal().I() + by)
	case flat.Op == uop.Add && flat.Src[1].Op == uop.ConstOp:
		if by += flat.Src[1].ConstVal().I(); by == 0 {
			return flat.Src[0]
		}
		flat = flat.Src[0]
	}
	return flat.Add(g.ConstInt(by))
}

// withoutNumber splits an index into a rest that is not negative and a positive constant at, 0 if there is none.
func withoutNumber(r *uop.UOp) (rest *uop.UOp, at int64) {
	switch {
	case r.IsInvalid():
	case r.Op == uop.ConstOp && r.ConstVal().I() > 0:
		return r.IntLike(0), r.ConstVal().I()
	case r.Op == uop.Add && r.Src[1].Op == uop.ConstOp && !r.Src[1].IsInvalid() && r.Src[1].ConstVal().I() > 0:
		if low, _ := r.Src[0].Bounds(); low.Sign() >= 0 {
			return r.Src[0], r.Src[1].ConstVal().I()
		}
	}
	return r, 0
}

// reshapeByPlaceholders names the ranges by their position before it simplifies, so that
// the cached result serves the same reshape under other ranges.
func reshapeByPlaceholders(g *uop.Graph, in, out uop.Shape, rngs []*uop.UOp) *uop.UOp {
	sink := g.Sink(nil, rngs...)
	there, back := rewrite.Map{}, rewrite.Map{}
	for i, r := range sink.Ranges() {
		p := g.New(uop.Range, uop.IndexT, []*uop.UOp{r.Src[0].Cast(uop.IndexT)}, uop.RangeArg{ID: []int{i}, Type: uop.AxisPlaceholder}, nil)
		there[r], back[p] = p, r
	}
	named := rewrite.Substitute(sink, there)
	key := g.New(uop.Group, uop.Void, []*uop.UOp{g.ShapeArg(in), g.ShapeArg(out), named}, nil, nil)
	res, ok := key.Memo(uop.MemoReshape)
	if !ok {
		res = rewrite.Graph(reshapeIndex(g, in, out, named.Src), reshapeTable, nil)
		key.SetMemo(uop.MemoReshape, res)
	}
	return rewrite.Substitute(res, back)
}

// reshapeIndex flattens an index by the strides of out and splits it by the sizes of in.
func reshapeIndex(g *uop.Graph, in, out uop.Shape, rngs []*uop.UOp) *uop.UOp {
	flat := g.ConstInt(0)
	stride := uop.N(1)
	for i := len(out) - 1; i >= 0; i-- {
		flat = flat.Add(stride.UOp(g).Mul(rngs[i]))
		stride = product(stride, out[i])
	}
	axes := make([]*uop.UOp, len(in))
	for i := len(in) - 1; i >= 0; i-- {
		size := in[i].UOp(g)
		axes[i] = flat.Mod(size)
		flat = flat.Idiv(size)
	}
	return g.Sink(nil, axes...)
}

// product multiplies two sizes without simplifying the result.
func product(a, b uop.Sint) uop.Sint {
	switch {
	case !a.Symbolic() && !b.Symbolic():
		return uop.N(a.N * b.N)
	case a.Symbolic():
		return uop.Sint{U: a.U.Mul(b.UOp(a.U.Graph()))}
	}
	return uop.Sint{U: a.UOp(b.U.Graph()).Mul(b.U)}
}
