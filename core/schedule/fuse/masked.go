package fuse

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// skipMaskedColumns leaves out what a causal mask takes away, in kernels that go through blocks of rows: where it makes the
// scores of all rows of a block minus infinity from some column on, their exponentials are 0 and add nothing to sums, so
// that the loops over columns end there.
func (f *fuser) skipMaskedColumns() (changed bool) {
	for i, g := range f.groups {
		if g.kernel != nil {
			continue
		}
		if b := f.withoutMaskedColumns(g.body); b != nil {
			f.replace(i, i+1, []*group{groupOf(b, g.kernels)})
			changed = true
		}
	}
	return changed
}

// withoutMaskedColumns is nil if a body has no masked columns that can be left out.
func (f *fuser) withoutMaskedColumns(b *body) *body {
	for _, scores := range b.values() {
		if scores.Op != uop.Bufferize || len(scores.Src) != 3 {
			continue
		}
		mask, rows, columns := maskOf(scores.Src[0]), scores.Src[1], scores.Src[2]
		for _, block := range b.loops {
			extra, ok := causalOffset(mask, block, rows, columns)
			high, n := sizeOf(rows), sizeOf(columns)
			// The blocks of columns that count are those before and beside that of the rows, and so many more.
			more := (high - 1 + extra + high - 1) / high
			if !ok || n%high != 0 || more < 1 || (sizeOf(block)-1+more)*high > n {
				continue
			}
			if all, ok := columnsOf(b, scores); ok {
				return f.shortenColumns(b, scores, all, block.AddInt(more), high)
			}
		}
	}
	return nil
}

// maskOf is the condition without which a score is minus infinity, nil if there is none.
func maskOf(u *uop.UOp) *uop.UOp {
	switch {
	case u.Op == uop.Add:
		if c := maskOf(u.Src[0]); c != nil {
			return c
		}
		return maskOf(u.Src[1])
	case u.Op == uop.Mul && positive(u.Src[1]), u.Op == uop.Cast && u.Src[0].DType.IsFloat():
		return maskOf(u.Src[0])
	case u.Op == uop.Where && minusInfinity(u.Src[2]):
		return u.Src[0]
	}
	return nil
}

func positive(u *uop.UOp) bool {
	return u.Op == uop.ConstOp && u.DType.IsFloat() && u.ConstVal().F() > 0
}

func minusInfinity(u *uop.UOp) bool {
	return u.Op == uop.ConstOp && u.DType.IsFloat() && math.IsInf(u.ConstVal().F(), -1)
}

// causalOffset reports whether a condition is column < row + extra, for a row that is counted by blocks and in its block.
func causalOffset(cond, block, rows, columns *uop.UOp) (extra int64, ok bool) {
	if cond == nil || cond.Op != uop.CmpLt || cond.Src[0].DType.IsFloat() {
		return 0, false
	}
	strides := map[*uop.UOp]int64{}
	ok = true
	var count func(t *uop.UOp, factor int64)
	count = func(t *uop.UOp, factor int64) {
		switch {
		case t.Op == uop.Cast:
			eachTerm(t.Src[0], factor, count)
		case t.Op == uop.ConstOp:
			extra += factor * t.ConstVal().I()
		case t == block || t == rows || t == columns:
			strides[t] += factor
		default:
			ok = false
		}
	}
	eachTerm(cond.Src[0], -1, count)
	eachTerm(cond.Src[1], 1, count)
	return extra, ok && strides[columns] == -1 && strides[rows] == 1 && strides[block] == sizeOf(rows)
}

// maskedKind is what a value is where the score is minus infinity.
type maskedKind uint8

const (
	someValue maskedKind = iota
	lowest               // minus infinity
	zero
)

// columnsOf finds the ranges that go through the columns of scores, and of what is kept of them. ok is false if what a body
// stores depends on columns whose scores are minus infinity, all other values being finite.
func columnsOf(b *body, scores *uop.UOp) (columns []*uop.UOp, ok bool) {
	kinds, places := map[*uop.UOp]maskedKind{scores: lowest}, map[*uop.UOp]int{scores: 2}
	for _, u := range b.values() {
		switch {
		case u == scores:
		case u.Op == uop.Bufferize:
			for i, r := range u.Src[1:] {
				if slices.Contains(columns, r) {
					places[u], kinds[u] = i+1, kinds[u.Src[0]]
				}
			}
		case u.Op == uop.Index && places[u.Src[0]] > 0:
			r := u.Src[places[u.Src[0]]]
			if r.Op != uop.Range || slices.Contains(b.loops, r) || sizeOf(r) != sizeOf(scores.Src[2]) {
				return nil, false
			}
			if !slices.Contains(columns, r) {
				columns = append(columns, r)
			}
			kinds[u] = kinds[u.Src[0]]
		case u.Op == uop.Reduce && len(within(u.Src[1:], columns)) > 0:
			op := uop.Op(u.Arg.(uop.OpArg))
			if kind := kinds[u.Src[0]]; len(u.Src) != 2 || !(op == uop.Max && kind == lowest || op == uop.Add && kind == zero) {
				return nil, false
			}
		default:
			kinds[u] = maskedTo(u, kinds)
		}
	}
	return columns, true
}

// maskedTo is what an operation makes of such values.
func maskedTo(u *uop.UOp, kinds map[*uop.UOp]maskedKind) maskedKind {
	has := func(k maskedKind) bool {
		return slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return kinds[s] == k })
	}
	switch {
	case u.Op == uop.Add && has(lowest), u.Op == uop.Mul && kinds[u.Src[0]] == lowest && positive(u.Src[1]), u.Op == uop.Cast && has(lowest) && u.DType.IsFloat():
		return lowest
	case (u.Op == uop.Exp || u.Op == uop.Exp2) && has(lowest), u.Op == uop.Mul && has(zero), u.Op == uop.Cast && has(zero):
		return zero
	}
	return someValue
}

// shortenColumns ends the loops over columns behind so many blocks of high columns.
func (f *fuser) shortenColumns(b *body, scores *uop.UOp, columns []*uop.UOp, blocks *uop.UOp, high int64) *body {
	rangeOf := func(like, size *uop.UOp) *uop.UOp { return f.newRange(like.With(size)) }
	to := map[*uop.UOp]*uop.UOp{}
	for _, r := range columns {
		to[r] = rangeOf(r, blocks.MulInt(high))
	}
	// The product that makes the scores has blocks of columns too, so that the size of its tiles is known.
	own := scores.Src[2]
	block, inner := rangeOf(own, blocks), rangeOf(own, own.Src[0].IntLike(high))
	value := simplify(replace(scores.Src[0], map[*uop.UOp]*uop.UOp{own: block.MulInt(high).Add(inner)}))
	memory := value.Graph().New(uop.Bufferize, value.DType, []*uop.UOp{value, scores.Src[1], block, inner}, scores.Arg, nil)
	for _, u := range b.values() {
		if u.Op == uop.Index && u.Src[0] == scores {
			at := to[u.Src[2]]
			to[u] = memory.IndexBy(u.Src[1], at.IdivInt(high), at.ModInt(high))
		}
	}
	out := &body{loops: b.loops}
	for _, s := range b.stores {
		out.stores = append(out.stores, store{s.slot, s.at, replace(s.value, to), s.loops})
	}
	return out
}
