package fuse

import (
	"cmp"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// term is a range in an index, times a constant.
type term struct {
	r      *uop.UOp
	stride int64
}

// terms returns the terms of an index that is a sum of ranges with constant factors, the greatest stride first; ok is false for other
// indices.
func terms(index *uop.UOp) (out []term, ok bool) {
	ok = true
	symbolic.EachTerm(index, 1, func(t *uop.UOp, stride int64) {
		switch {
		case t.Op == uop.Range && t.Src[0].Op == uop.ConstOp:
			out = append(out, term{t, stride})
		case !t.IsConst(uop.Int(0)):
			ok = false
		}
	})
	if !ok {
		return nil, false
	}
	slices.SortStableFunc(out, func(a, b term) int { return cmp.Compare(b.stride, a.stride) })
	return out, true
}

// rowMajor returns the terms of an index that is contiguous from 0 on in its ranges, the last of them fastest.
func rowMajor(index *uop.UOp) (out []term, ok bool) {
	out, ok = terms(index)
	if !ok {
		return nil, false
	}
	next := int64(1)
	for _, t := range slices.Backward(out) {
		if t.stride != next {
			return nil, false
		}
		next *= sizeOf(t.r)
	}
	return out, true
}

// strideIn is the stride of an index along a range: 0 if invariant, -1 if unknown.
func strideIn(index, r *uop.UOp) int64 {
	if !index.InRange(r) {
		return 0
	}
	stride, known := int64(0), true
	symbolic.EachTerm(index, 1, func(t *uop.UOp, factor int64) {
		switch {
		case t == r:
			stride += factor
		case t.Op != uop.Range && t.InRange(r): // the length of another loop may depend on it
			known = false
		}
	})
	if !known {
		return -1
	}
	return stride
}

// difference is a - b if it is a number.
func difference(a, b *uop.UOp) (n int64, known bool) {
	factors := map[*uop.UOp]int64{}
	add := func(t *uop.UOp, factor int64) {
		if t.Op == uop.ConstOp {
			n += factor * t.ConstVal().I()
		} else {
			factors[t] += factor
		}
	}
	symbolic.EachTerm(a, 1, add)
	symbolic.EachTerm(b, -1, add)
	for _, f := range factors {
		if f != 0 {
			return 0, false
		}
	}
	return n, true
}

// distinct reports whether an index has a different value in each iteration of loops.
func distinct(index *uop.UOp, loops []*uop.UOp) bool {
	var out []term
	ok := true
	symbolic.EachTerm(index, 1, func(t *uop.UOp, stride int64) {
		switch {
		case slices.Contains(loops, t):
			out = append(out, term{t, stride})
		case slices.ContainsFunc(loops, t.InRange):
			ok = false
		}
	})
	slices.SortFunc(out, func(a, b term) int { return cmp.Compare(a.stride, b.stride) })
	reach := int64(0) // the largest sum of the terms with smaller strides
	for _, t := range out {
		ok = ok && t.stride > reach
		reach += t.stride * (sizeOf(t.r) - 1)
	}
	return ok && len(out) == len(loops)
}

// positionsIn are the values that the ranges of a row-major store (own) have when it writes the element that at accesses.
func positionsIn(own []term, at *uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(own))
	ts, ok := terms(at)
	for i, t := range own {
		if !ok {
			out[i] = symbolic.Simplify(at.IdivInt(t.stride).ModInt(sizeOf(t.r)))
			continue
		}
		n := 0
		if out[i], n = mixedRadixDigit(t, ts); n < 0 {
			ok = false
			out[i] = symbolic.Simplify(at.IdivInt(t.stride).ModInt(sizeOf(t.r)))
			continue
		}
		ts = ts[n:]
	}
	return out
}

// mixedRadixDigit returns the index that replaces range t.r: the sum of the first n of the terms that ranges with greater strides have not
// consumed; n is -1 if there is none.
func mixedRadixDigit(t term, ts []term) (sum *uop.UOp, n int) {
	most := int64(0)
	for ; n < len(ts) && ts[n].stride >= t.stride; n++ {
		if ts[n].stride%t.stride != 0 {
			return nil, -1
		}
		factor := ts[n].stride / t.stride
		most += factor * (sizeOf(ts[n].r) - 1)
		part := ts[n].r
		if factor > 1 {
			part = part.MulInt(factor)
		}
		if sum == nil {
			sum = part
		} else {
			sum = sum.Add(part)
		}
	}
	rest := int64(0)
	for _, x := range ts[n:] {
		rest += x.stride * (sizeOf(x.r) - 1)
	}
	if most >= sizeOf(t.r) || rest >= t.stride || sum == nil {
		return nil, -1
	}
	return sum, n
}

// simplify also expands products of sums in indices, to expose common factors.
func simplify(u *uop.UOp) *uop.UOp { return rewrite.Graph(u, expandIndices, nil) }

var expandIndices = &rewrite.Table{Name: "fuse", Parts: []*rewrite.Table{symbolic.Symbolic, symbolic.RejoinQuotients, {Rules: []*rewrite.Rule{{
	Name: "(x+y)*c", Ops: uop.Ops(uop.Mul), Need: uop.Ops(uop.Add), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if !u.DType.IsIndex() || u.Src[0].Op != uop.Add || u.Src[1].Op != uop.ConstOp {
			return nil
		}
		return u.Src[0].Src[0].Mul(u.Src[1]).Add(u.Src[0].Src[1].Mul(u.Src[1]))
	}}}}}}

// loopSplits are the sizes of the inner loops that ranges are to be split into, each a divisor of the next greater one.
type loopSplits map[*uop.UOp][]int64

// add records a split of r into size/inner by inner.
func (c loopSplits) add(r *uop.UOp, inner int64) {
	if inner <= 1 || inner >= sizeOf(r) || sizeOf(r)%inner != 0 {
		return
	}
	if at, found := slices.BinarySearch(c[r], inner); !found {
		c[r] = slices.Insert(c[r], at, inner)
	}
}

// ofDivisions adds splits for loops that are divided by constants below u.
func (c loopSplits) ofDivisions(u *uop.UOp, loops []*uop.UOp) {
	for _, x := range u.Toposort() {
		if x.Op != uop.Idiv && x.Op != uop.Mod || x.Src[1].Op != uop.ConstOp {
			continue
		}
		r, by := x.Src[0], x.Src[1].ConstVal()
		if r.Op == uop.Idiv && x.Op == uop.Mod && r.Src[1].Op == uop.ConstOp {
			by = by.Mul(r.Src[1].ConstVal())
			r = r.Src[0]
		}
		// Divisors of data may be larger than any index.
		if inner, ok := by.Int64(); ok && slices.Contains(loops, r) {
			c.add(r, inner)
		}
	}
}

// split splits loops of a body; nil if the splits of a range do not divide each other.
func (f *fuser) split(b *body, c loopSplits) *body {
	m := map[*uop.UOp]*uop.UOp{}
	var loops []*uop.UOp
	for _, r := range b.loops {
		inner, ok := c[r]
		if !ok {
			loops = append(loops, r)
			continue
		}
		var sum *uop.UOp
		whole := sizeOf(r)
		for _, n := range innerSizes(inner) {
			if whole%n != 0 {
				return nil
			}
			part := f.newRange(r.With(r.Src[0].IntLike(whole / n)))
			loops = append(loops, part)
			if whole = n; n > 1 {
				part = part.MulInt(n)
			}
			if sum == nil {
				sum = part
			} else {
				sum = sum.Add(part)
			}
		}
		m[r] = sum
	}
	return b.with(m, loops)
}

// innerSizes are the splits of a range from the greatest to 1.
func innerSizes(inner []int64) []int64 {
	out := slices.Clone(inner)
	slices.Reverse(out)
	return append(out, 1)
}
