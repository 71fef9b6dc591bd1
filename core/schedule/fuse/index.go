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

// terms takes an index apart that is a sum of ranges with constant factors; ok is false if it is something else.
// They come with the greatest stride first.
func terms(index *uop.UOp) (out []term, ok bool) {
	ok = true
	eachTerm(index, 1, func(t *uop.UOp, stride int64) {
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

// eachTerm calls f for the terms of a sum, multiplied out, with their constant factors.
func eachTerm(u *uop.UOp, factor int64, f func(t *uop.UOp, factor int64)) {
	switch {
	case u.Op == uop.Add:
		eachTerm(u.Src[0], factor, f)
		eachTerm(u.Src[1], factor, f)
	case u.Op == uop.Mul && u.DType.IsInt() && u.Src[1].Op == uop.ConstOp:
		if k, small := u.Src[1].ConstVal().Int64(); small {
			eachTerm(u.Src[0], factor*k, f)
			return
		}
		fallthrough
	default:
		f(u, factor)
	}
}

// rowMajor takes an index apart that goes through 0, 1, 2, … when its ranges run, the last of them fastest.
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

// strideIn is by how much an index grows with a range: 0 if it does not depend on it, -1 if that is not known.
func strideIn(index, r *uop.UOp) int64 {
	if !index.InRange(r) {
		return 0
	}
	stride, known := int64(0), true
	eachTerm(index, 1, func(t *uop.UOp, factor int64) {
		switch {
		case t == r:
			stride += factor
		case t.InRange(r):
			known = false
		}
	})
	if !known {
		return -1
	}
	return stride
}

// distinct reports whether an index has another value in each iteration of loops.
func distinct(index *uop.UOp, loops []*uop.UOp) bool {
	var out []term
	ok := true
	eachTerm(index, 1, func(t *uop.UOp, stride int64) {
		switch {
		case slices.Contains(loops, t):
			out = append(out, term{t, stride})
		case slices.ContainsFunc(loops, t.InRange):
			ok = false
		}
	})
	slices.SortFunc(out, func(a, b term) int { return cmp.Compare(a.stride, b.stride) })
	reach := int64(0) // the greatest difference between the sums of the terms with smaller strides
	for _, t := range out {
		ok = ok && t.stride > reach
		reach += t.stride * (sizeOf(t.r) - 1)
	}
	return ok && len(out) == len(loops)
}

// positionsIn are the indices of the ranges of a row-major store, for an access to one element of its buffer.
func positionsIn(own []term, at *uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(own))
	ts, ok := terms(at)
	for i, t := range own {
		if !ok {
			out[i] = symbolic.Simplify(at.IdivInt(t.stride).ModInt(sizeOf(t.r)))
			continue
		}
		n := 0
		if out[i], n = digit(t, ts, at); n < 0 {
			ok = false
			out[i] = symbolic.Simplify(at.IdivInt(t.stride).ModInt(sizeOf(t.r)))
			continue
		}
		ts = ts[n:]
	}
	return out
}

// digit is the index of range t.r, if it is the sum of the first n of the terms; n is -1 if it is not. The terms are those
// that the ranges with greater strides left.
func digit(t term, ts []term, at *uop.UOp) (sum *uop.UOp, n int) {
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

// simplify also multiplies out products of sums in indices, so that common factors show.
func simplify(u *uop.UOp) *uop.UOp { return rewrite.Graph(u, multipliedOut, nil) }

var multipliedOut = &rewrite.Table{Name: "fuse", Parts: []*rewrite.Table{symbolic.Symbolic, symbolic.RejoinQuotients, {Rules: []*rewrite.Rule{{
	Name: "(x+y)*c", Ops: uop.Ops(uop.Mul), Need: uop.Ops(uop.Add), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if !u.DType.IsIndex() || u.Src[0].Op != uop.Add || u.Src[1].Op != uop.ConstOp {
			return nil
		}
		return u.Src[0].Src[0].Mul(u.Src[1]).Add(u.Src[0].Src[1].Mul(u.Src[1]))
	}}}}}}

// loopSplits are sizes into which ranges are to be split: the inner parts, each a divisor of the next greater one.
type loopSplits map[*uop.UOp][]int64

// add notes a cut of r into size/inner times inner. It reports whether there is one.
func (c loopSplits) add(r *uop.UOp, inner int64) bool {
	if inner <= 1 || inner >= sizeOf(r) || sizeOf(r)%inner != 0 {
		return false
	}
	if at, found := slices.BinarySearch(c[r], inner); !found {
		c[r] = slices.Insert(c[r], at, inner)
	}
	return true
}

// ofDivisions adds the splits of loops that appear divided by constants below u.
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
		// Values may be divided by more than an index ever is.
		if inner, ok := by.Int64(); ok && slices.Contains(loops, r) {
			c.add(r, inner)
		}
	}
}

// split splits loops of a body. It is nil if the splits of a range do not divide each other.
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
