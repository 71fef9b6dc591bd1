package ranges

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// SimplifyRanges merges two ranges into one where this needs no more divisions than before:
// neighbours at an END, any pair of a REDUCE.
var SimplifyRanges = &rewrite.Table{Name: "simplify ranges", Rules: []*rewrite.Rule{
	{Name: "merge ranges", Ops: uop.Ops(uop.End, uop.Reduce), Fn: mergeRanges}}}

var mergeTable = &rewrite.Table{Name: "check_merge", Parts: []*rewrite.Table{{Rules: []*rewrite.Rule{{Name: "substitute", Ops: uop.GroupAll, Below: rangeOp,
	Fn: func(ctx any, u *uop.UOp) *uop.UOp { return ctx.(rewrite.Map)[u] }}}}, symbolic.Symbolic, FlattenRange}}

func mergeRanges(_ any, u *uop.UOp) *uop.UOp {
	ended := u.EndedRanges()
	if len(ended) < 2 {
		return nil
	}
	reduces := rangesOfReduces(u)
	divmods, sums := countDivmod(u), indexSums(u)
	for _, pair := range pairs(ended, u.Op == uop.End) {
		r0, r1 := pair[0], pair[1]
		// A merge removes both ranges; tinygrad goes on with pairs that have one of them, and may count iterations twice.
		if now := u.EndedRanges(); !has(now, r0) || !has(now, r1) || r0.RangeID().Type != r1.RangeID().Type || !inSameReduces(reduces, r0, r1) {
			continue
		}
		if r1.Src[0].InRange(r0) { // the trip count of r1 depends on the iteration of r0
			continue
		}
		if divmods == 0 && slices.ContainsFunc(sums, func(s *uop.UOp) bool { return hasAlone(s, r0, r1) || hasAlone(s, r1, r0) }) {
			continue
		}
		merged := r0.With(r0.Src[0].Mul(r1.Src[0]))
		next := rewrite.Graph(u, mergeTable, rewrite.Map{r0: merged.Idiv(r1.Src[0]), r1: merged.Mod(r1.Src[0])})
		if n := countDivmod(next); n <= divmods {
			u, divmods, sums = next, n, indexSums(next)
		}
	}
	return u
}

// indexSums lists the indices of a kernel that are sums.
func indexSums(u *uop.UOp) []*uop.UOp {
	var out []*uop.UOp
	for _, x := range u.Toposort() {
		if x.Op == uop.Index && len(x.Src) > 1 {
			out = append(out, x.Src[1])
		}
	}
	return out
}

// hasAlone reports whether a sum has a multiple of range r among its terms and does not depend on range with: if the two
// were merged, the term would have a division that nothing in the sum takes away again.
func hasAlone(sum, r, with *uop.UOp) bool {
	if sum.InRange(with) {
		return false
	}
	for sum.Op == uop.Add {
		if isMultipleOf(sum.Src[1], r) {
			return true
		}
		sum = sum.Src[0]
	}
	return isMultipleOf(sum, r)
}

func isMultipleOf(u, r *uop.UOp) bool {
	return u == r || u.Op == uop.Mul && u.Src[0] == r && u.Src[1].Op == uop.ConstOp
}

func rangesOfReduces(u *uop.UOp) [][]*uop.UOp {
	if !u.HasOp(reduceOps) {
		return nil
	}
	var out [][]*uop.UOp
	for _, x := range u.Toposort() {
		if x.Op == uop.Reduce {
			out = append(out, x.Ranges())
		}
	}
	return out
}

func inSameReduces(reduces [][]*uop.UOp, r0, r1 *uop.UOp) bool {
	for _, rs := range reduces {
		if has(rs, r0) != has(rs, r1) {
			return false
		}
	}
	return true
}

// pairs lists neighbours, or else all ordered pairs of different positions.
func pairs(rs []*uop.UOp, neighbours bool) [][2]*uop.UOp {
	var out [][2]*uop.UOp
	for i, a := range rs {
		for j, b := range rs {
			if neighbours && j == i+1 || !neighbours && i != j {
				out = append(out, [2]*uop.UOp{a, b})
			}
		}
	}
	return out
}

func countDivmod(u *uop.UOp) int {
	if !u.HasOp(divmodOps) {
		return 0
	}
	n := 0
	for _, x := range u.Toposort() {
		if x.Op == uop.Idiv || x.Op == uop.Mod {
			n++
		}
	}
	return n
}

var divmodOps = uop.Ops(uop.Idiv, uop.Mod)

// Splits collects the ranges that SplitRanges will split, with the size of their inner part.
type Splits map[*uop.UOp]*uop.UOp

// Unordered marks that the set of ranges does not depend on the order of visits.
func (Splits) Unordered() {}

// SplitRanges splits a range r that occurs as r % c, with c dividing its size, into an outer and an inner
// range. Its context is a Splits.
var SplitRanges = &rewrite.Table{Name: "split ranges", Rules: []*rewrite.Rule{
	{Name: "mark r % c", Ops: uop.Ops(uop.Mod), Need: uop.Ops(uop.Range), Fn: markRangeMod},
	{Name: "split marked ranges", Ops: uop.Ops(uop.Sink), Fn: splitMarked},
}}

// SplitQuotients does the same for r / c: where only the quotient occurs, loops over both parts have plain indices.
var SplitQuotients = &rewrite.Table{Name: "split quotients", Rules: []*rewrite.Rule{
	{Name: "mark r / c", Ops: uop.Ops(uop.Idiv), Need: uop.Ops(uop.Range), Fn: markRangeMod},
	{Name: "split marked ranges", Ops: uop.Ops(uop.Sink), Fn: splitMarked},
}}

func markRangeMod(ctx any, u *uop.UOp) *uop.UOp {
	r, c := u.Src[0], u.Src[1]
	if r.Op != uop.Range || c.Op != uop.ConstOp || r.Src[0].Op != uop.ConstOp {
		return nil
	}
	marked := ctx.(Splits)
	if _, ok := marked[r]; !ok && symbolic.IsMultiple(r.Src[0], c.ConstVal()) {
		marked[r] = c
	}
	return nil
}

func splitMarked(ctx any, u *uop.UOp) *uop.UOp {
	marked := ctx.(Splits)
	if len(marked) == 0 {
		return nil
	}
	m := rewrite.Map{}
	for r, c := range marked {
		outer := r.With(r.Src[0].Idiv(c)).WithArg(subRange(r, 0))
		inner := r.With(c).WithArg(subRange(r, 1))
		m[r] = outer.Mul(c).Add(inner)
	}
	clear(marked)
	return symbolic.Simplify(rewrite.Substitute(u, m))
}

func subRange(r *uop.UOp, i int) uop.RangeArg {
	a := r.RangeID()
	return uop.RangeArg{ID: append(append([]int(nil), a.ID...), i), Type: a.Type}
}
