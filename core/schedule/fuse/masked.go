package fuse

import (
	"math"
	"slices"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// skipMaskedColumns skips masked columns in kernels that work on blocks of rows: if a mask makes the scores of all rows of a block minus
// infinity before a column, or from a column on, their exponentials are 0 and add nothing to sums, so the loops over columns are
// restricted to the other columns. Very negative finite scores count as minus infinity in rows that have other scores.
func (f *fuser) skipMaskedColumns() (changed bool) {
	for i, g := range f.groups {
		if g.kernel != nil {
			continue
		}
		if b := f.withoutMaskedColumns(g.body); b != nil && f.online(b) {
			f.replaceBody(i, b)
			changed = true
		}
	}
	return changed
}

// withoutMaskedColumns returns the restricted body, nil if no masked columns can be skipped.
func (f *fuser) withoutMaskedColumns(b *body) *body {
	for _, scores := range b.values() {
		if scores.Op != uop.Bufferize || len(scores.Src) != 3 {
			continue
		}
		mask, low := maskOf(scores.Src[0])
		rows, columns := scores.Src[1], scores.Src[2]
		finite := !math.IsInf(low, -1)
		if mask == nil || sizeOf(columns) < sizeOf(rows) || finite && !keepsColumnPerRow(mask, columns) {
			continue
		}
		s := blockMask{b.loops, rows, columns, !f.o.Invocations}.span(mask, false)
		s.toBlocks(columns, sizeOf(rows))
		if s.end.Op == uop.ConstOp && s.first.Op == uop.ConstOp {
			continue
		}
		if all, places, ok := columnsOf(b, scores, finite); ok {
			return f.shortenColumns(b, scores, all, places, s, sizeOf(rows))
		}
	}
	return nil
}

// span is an interval of columns, [first, end), in terms of the loops outside of a block of rows; nil is no limit.
type span struct{ first, end *uop.UOp }

// blockMask is a mask over blocks of rows.
type blockMask struct {
	loops         []*uop.UOp // outside of a block
	rows, columns *uop.UOp
	lengths       bool // limits may be lengths that are loaded
}

// span returns the columns outside of which a condition, or its negation, is false for all rows of a block.
func (m blockMask) span(cond *uop.UOp, negated bool) (s span) {
	outside := func(t *uop.UOp) bool { return len(within(m.loops, t.Ranges())) == len(t.Ranges()) }
	switch {
	case cond.Op == uop.And && !negated, cond.Op == uop.Or && negated:
		s = m.span(cond.Src[0], negated)
		o := m.span(cond.Src[1], negated)
		s.first, s.end = combineLimits(s.first, o.first, (*uop.UOp).Maximum), combineLimits(s.end, o.end, (*uop.UOp).Minimum)
	case cond.Op == uop.CmpNe && cond.Src[1].IsConst(uop.BoolConst(true)):
		s = m.span(cond.Src[0], !negated)
	case cond.Op == uop.CmpLt && cond.Src[0].DType.IsInt():
		// The condition as a positive sum of terms: right - left, or the negation.
		sign, sum := int64(1), m.columns.IntLike(0)
		if negated {
			sign, sum = -1, m.columns.IntLike(1)
		}
		strides, ok := map[*uop.UOp]int64{}, true
		var length *uop.UOp // in memory
		var times int64
		var add func(t *uop.UOp, factor int64)
		add = func(t *uop.UOp, factor int64) {
			switch {
			case t.Op == uop.Cast && t.Src[0].DType.IsInt() && !t.Src[0].Overflows(t.DType):
				symbolic.EachTerm(t.Src[0], factor, add)
			case t == m.rows || t == m.columns:
				strides[t] += factor
			case m.lengths && t.Op == uop.Index && length == nil && outside(t):
				length, times = t.Cast(m.columns.DType), factor
			case t.Op == uop.ConstOp || t.DType.IsIndex() && outside(t) && t.Find(func(u *uop.UOp) bool { return u.Op == uop.Index }) == nil:
				sum = sum.Add(t.Cast(m.columns.DType).MulInt(factor))
			default:
				ok = false
			}
		}
		symbolic.EachTerm(cond.Src[1], sign, add)
		symbolic.EachTerm(cond.Src[0], -sign, add)
		sum = simplify(sum.AddInt(max(0, strides[m.rows]) * (sizeOf(m.rows) - 1)))
		if length != nil { // clamped to the values that matter, so that the number of columns has a bound
			far := sizeOf(m.columns) + max(-sum.Vmin().I(), sum.Vmax().I(), 0)
			sum = sum.Add(clamp(length, -far, far).MulInt(times))
		}
		switch {
		case ok && strides[m.columns] == -1:
			s.end = sum
		case ok && strides[m.columns] == 1:
			s.first = sum.MulInt(-1).AddInt(1)
		}
	}
	return s
}

// combineLimits combines two values, each of which may be nil.
func combineLimits(a, b *uop.UOp, combine func(a, b *uop.UOp) *uop.UOp) *uop.UOp {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return combine(a, b)
}

// toBlocks rounds a span to blocks of columns, at least one.
func (s *span) toBlocks(columns *uop.UOp, wide int64) {
	n := (sizeOf(columns) + wide - 1) / wide
	block := func(column *uop.UOp, more, least, most int64) *uop.UOp {
		column = simplify(column)
		if lo := column.Vmin(); lo.Cmp(uop.Int(0)) < 0 {
			column = column.Maximum(column.IntLike(0))
		}
		return clamp(column.AddInt(more).IdivInt(wide), least, most)
	}
	if s.end == nil {
		s.end = columns.IntLike(sizeOf(columns))
	}
	s.end = block(s.end, wide-1, 1, n)
	if s.first == nil {
		s.first = columns.IntLike(0)
	} else {
		s.first = block(s.first, 0, 0, n-1)
	}
}

// keepsColumnPerRow reports whether a condition on columns is known to hold for at least one column of every row.
func keepsColumnPerRow(cond, columns *uop.UOp) bool {
	last := sizeOf(columns) - 1
	candidates := []*uop.UOp{columns.IntLike(0), columns.IntLike(last)}
	for _, c := range cond.Toposort() { // and the columns at which the condition changes, or in the middle of a band
		if c.Op != uop.CmpLt || !c.Src[0].DType.IsInt() {
			continue
		}
		at, stride, offset := columns.IntLike(0), int64(0), int64(0)
		var add func(t *uop.UOp, factor int64)
		add = func(t *uop.UOp, factor int64) {
			switch {
			case t.Op == uop.Cast && t.Src[0].DType.IsInt() && !t.Src[0].Overflows(t.DType):
				symbolic.EachTerm(t.Src[0], factor, add)
			case t == columns:
				stride += factor
			case t.Op == uop.ConstOp:
				offset += factor * t.ConstVal().I()
			default:
				at = at.Add(t.Cast(columns.DType).MulInt(factor))
			}
		}
		symbolic.EachTerm(c.Src[1], 1, add)
		symbolic.EachTerm(c.Src[0], -1, add)
		if stride == 1 || stride == -1 {
			at, offset = at.MulInt(-stride), -stride*offset
			candidates = append(candidates, at, at.AddInt(offset), at.AddInt(offset-1))
		}
	}
	return slices.ContainsFunc(candidates, func(at *uop.UOp) bool {
		return simplify(replace(cond, map[*uop.UOp]*uop.UOp{columns: clamp(at, 0, last)})).IsConst(uop.BoolConst(true))
	})
}

// clamp clamps a value.
func clamp(u *uop.UOp, least, most int64) *uop.UOp {
	if u = simplify(u); u.Vmin().Cmp(uop.Int(least)) < 0 {
		u = u.Maximum(u.IntLike(least))
	}
	if u.Vmax().Cmp(uop.Int(most)) > 0 {
		u = u.Minimum(u.IntLike(most))
	}
	return simplify(u)
}

// lowScore is the limit below which a finite score counts as minus infinity if its row has other scores: they are assumed to be so much
// greater that its exponential is 0. A factor of at least leastFactor keeps it low.
const lowScore, leastFactor = -1e8, 1e-3

// maskOf returns the condition whose negation makes a score low, and the low value; nil if there is none. (If all other scores of a row
// could be as low, by data or by another mask, a finite low score must not be skipped.)
func maskOf(u *uop.UOp) (cond *uop.UOp, low float64) {
	if cond, low = lowBy(u, map[*uop.UOp]lowMask{}); cond == nil || math.IsInf(low, -1) {
		return cond, low
	}
	times := 0
	for _, x := range u.ToposortGated(func(x *uop.UOp) bool { return x.Op != uop.Reduce }) {
		if x.Op == uop.Index && x.Src[0].Op != uop.Bufferize || x.Op == uop.Log2 {
			return nil, 0
		}
		for _, s := range x.Src {
			if lowConst(s) {
				times++
			}
		}
	}
	if times > 1 {
		return nil, 0
	}
	return cond, low
}

// lowMask is a result of lowBy: the condition, nil if there is none, and the low value.
type lowMask struct {
	cond *uop.UOp
	low  float64
}

// lowBy is maskOf for a subexpression; seen caches its results.
func lowBy(u *uop.UOp, seen map[*uop.UOp]lowMask) (cond *uop.UOp, low float64) {
	if m, known := seen[u]; known {
		return m.cond, m.low
	}
	defer func() { seen[u] = lowMask{cond, low} }()
	switch c, yes, no := twoValues(u); {
	case c != nil && no <= lowScore && yes > lowScore:
		return c, no
	case c != nil && yes <= lowScore && no > lowScore:
		return c.Not(), yes
	}
	switch {
	case u.Op == uop.Where && lowConst(u.Src[2]):
		return u.Src[0], u.Src[2].ConstVal().F()
	case u.Op == uop.Where && lowConst(u.Src[1]):
		return u.Src[0].Not(), u.Src[1].ConstVal().F()
	case u.Op == uop.Add:
		if cond, low = lowBy(u.Src[0], seen); cond == nil {
			cond, low = lowBy(u.Src[1], seen)
		}
		if u.Src[1].Op == uop.ConstOp {
			low += u.Src[1].ConstVal().F()
		}
	case u.Op == uop.Mul && u.Src[1].Op == uop.ConstOp:
		cond, low = lowBy(u.Src[0], seen)
		low *= u.Src[1].ConstVal().F()
	case u.Op == uop.Cast && u.Src[0].DType.IsFloat():
		return lowBy(u.Src[0], seen)
	}
	if cond != nil && low <= lowScore {
		return cond, low
	}
	return nil, 0
}

// twoValues returns the constants that a value has if a condition is true and if it is false; cond is nil for other values.
func twoValues(u *uop.UOp) (cond *uop.UOp, yes, no float64) {
	switch {
	case u.Op == uop.Cast && u.Src[0].DType.IsBool():
		return u.Src[0], 1, 0
	case u.Op == uop.Where && u.Src[1].Op == uop.ConstOp && u.Src[2].Op == uop.ConstOp && u.DType.IsFloat():
		return u.Src[0], u.Src[1].ConstVal().F(), u.Src[2].ConstVal().F()
	case (u.Op == uop.Mul || u.Op == uop.Add) && u.DType.IsFloat():
		x, c := u.Src[0], u.Src[1]
		if x.Op == uop.ConstOp {
			x, c = c, x
		}
		if c.Op != uop.ConstOp {
			break
		}
		if cond, yes, no = twoValues(x); u.Op == uop.Mul {
			return cond, yes * c.ConstVal().F(), no * c.ConstVal().F()
		}
		return cond, yes + c.ConstVal().F(), no + c.ConstVal().F()
	}
	return nil, 0, 0
}

// keepsLow reports whether low scores times a value are low.
func keepsLow(u *uop.UOp) bool {
	return u.Op == uop.ConstOp && u.DType.IsFloat() && u.ConstVal().F() >= leastFactor
}

func lowConst(u *uop.UOp) bool {
	return u.Op == uop.ConstOp && u.DType.IsFloat() && u.ConstVal().F() <= lowScore
}

func isZero(u *uop.UOp) bool {
	return u.Op == uop.ConstOp && u.DType.IsFloat() && u.ConstVal().F() == 0
}

// maskedKind is the value that a node has where the score is low.
type maskedKind uint8

const (
	someValue maskedKind = iota
	lowest               // minus infinity, or as good as that
	zero
)

// columnsOf finds the ranges over the columns of scores and of values that are bufferized for each column; places has the source of each
// BUFFERIZE that is such a range. ok is false if a stored value depends on columns whose scores are low, all other values being finite.
func columnsOf(b *body, scores *uop.UOp, finite bool) (columns []*uop.UOp, places map[*uop.UOp]int, ok bool) {
	kinds := map[*uop.UOp]maskedKind{scores: lowest}
	places = map[*uop.UOp]int{scores: 2}
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
				return nil, nil, false
			}
			if !slices.Contains(columns, r) {
				columns = append(columns, r)
			}
			kinds[u] = kinds[u.Src[0]]
		case u.Op == uop.Reduce && len(within(u.Src[1:], columns)) > 0:
			op := uop.Op(u.Arg.(uop.OpArg))
			if kind := kinds[u.Src[0]]; len(u.Src) != 2 || !(op == uop.Max && kind == lowest || op == uop.Add && kind == zero) {
				return nil, nil, false
			}
		default:
			kinds[u] = maskedTo(u, kinds, finite, columns)
		}
	}
	return columns, places, true
}

// maskedTo is the masked kind of the result of an operation. If low scores are finite, no operation may make other scores as low.
func maskedTo(u *uop.UOp, kinds map[*uop.UOp]maskedKind, finite bool, columns []*uop.UOp) maskedKind {
	has := func(k maskedKind) bool {
		return slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return kinds[s] == k })
	}
	all := func(k maskedKind, is func(*uop.UOp) bool) bool {
		return !slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return kinds[s] != k && !s.DType.IsBool() && !is(s) })
	}
	same := func(s *uop.UOp) bool { return len(within(s.Ranges(), columns)) == 0 }
	switch {
	case !u.DType.IsFloat():
		return someValue
	case u.Op == uop.Where && all(lowest, lowConst) && !finite:
		return lowest
	case u.Op == uop.Where && all(zero, isZero), u.Op == uop.Add && all(zero, isZero):
		return zero
	case u.Op == uop.Add && has(lowest) && (!finite || all(lowest, same)), u.Op == uop.Mul && kinds[u.Src[0]] == lowest && keepsLow(u.Src[1]), u.Op == uop.Cast && has(lowest) && u.DType.IsFloat():
		return lowest
	case (u.Op == uop.Exp || u.Op == uop.Exp2) && has(lowest), u.Op == uop.Mul && has(zero), u.Op == uop.Cast && has(zero):
		return zero
	}
	return someValue
}

// shortenColumns restricts the loops over columns to a span of blocks. places are the axes of bufferized values that are ranges over
// columns.
func (f *fuser) shortenColumns(b *body, scores *uop.UOp, columns []*uop.UOp, places map[*uop.UOp]int, s span, wide int64) *body {
	rangeOf := func(like, size *uop.UOp) *uop.UOp { return f.newRange(like.With(size)) }
	own := scores.Src[2]
	n := sizeOf(own)
	count := s.end
	if !s.first.IsConst(uop.Int(0)) {
		count = simplify(count.Sub(s.first))
		if count.Vmin().Cmp(uop.Int(1)) < 0 {
			count = count.Maximum(count.IntLike(1))
		}
	}
	size, from := simplify(count.MulInt(wide)), simplify(s.first.MulInt(wide))
	// If blocks do not divide the columns, the last block overlaps the one before it.
	columnOf := func(block, inner *uop.UOp) *uop.UOp {
		at := simplify(from.Add(block.MulInt(wide)))
		if n%wide != 0 {
			at = at.Minimum(at.IntLike(n - wide))
		}
		return at.Add(inner)
	}
	// The product that computes the scores gets blocks of columns, so that the size of its tiles is a constant.
	block, inner := rangeOf(own, count), rangeOf(own, own.Src[0].IntLike(wide))
	value := simplify(replace(scores.Src[0], map[*uop.UOp]*uop.UOp{own: columnOf(block, inner)}))
	if n%wide != 0 { // columns in two overlapping blocks count once
		twice := columnOf(block, inner).Lt(from.Add(block.MulInt(wide)))
		value = twice.Where(value.ConstLike(uop.Float(math.Inf(-1))), value)
	}
	memory := value.Graph().New(uop.Bufferize, value.DType, []*uop.UOp{value, scores.Src[1], block, inner}, scores.Arg, nil)

	of, ranges := newImages(), map[*uop.UOp]*uop.UOp{}
	for _, r := range columns {
		ranges[r] = rangeOf(r, size)
		if of.set(r, simplify(from.Add(ranges[r]))); n%wide != 0 {
			of.set(r, columnOf(ranges[r].IdivInt(wide), ranges[r].ModInt(wide)))
		}
	}
	of.set(scores, memory)
	for _, u := range b.values() {
		if of.get(u) != nil {
			continue
		}
		v := rebuilt(u, of)
		if u.Op == uop.Reduce || u.Op == uop.Bufferize || u.Op == uop.Index && places[u.Src[0]] > 0 {
			src := slices.Clone(v.Src)
			for i, x := range u.Src {
				if r := ranges[x]; r != nil {
					src[i] = r
				}
			}
			if u.Src[0] == scores {
				src = append(src[:2], src[2].IdivInt(wide), src[2].ModInt(wide))
			}
			if v = v.With(src...); u.Op == uop.Reduce && n%wide != 0 && len(src) == 2 && ranges[u.Src[1]] != nil {
				// Memory is read block by block.
				block, inner := rangeOf(src[1], count), rangeOf(src[1], own.Src[0].IntLike(wide))
				terms := simplify(replace(src[0], map[*uop.UOp]*uop.UOp{src[1]: block.MulInt(wide).Add(inner)}))
				v = v.With(terms, block, inner)
			}
		}
		of.set(u, v)
	}
	out := &body{loops: b.loops}
	for _, s := range b.stores {
		out.stores = append(out.stores, store{s.slot, s.at, simplify(of.get(s.value)), s.loops})
	}
	of.reset()
	return out
}
