package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// A stack of expressions is one store whose value is selected by the position in the stack:
//
//	for k < 3 { store(k < 1 ? x+y : k < 2 ? x-y : x*y) }
//
// If the expressions share operands, the loop over the stack is unrolled, and one iteration of the outer loops computes all of them:
//
//	store(x+y); store(x-y); store(x*y)
//
// A short innermost loop is unrolled, too, if its loads repeat the elements of the loop around it or take neighbours of them (shortInnermost).

// sharedWords: a loop over random words is unrolled if at most this share of the work is left, even if few loads are shared.
const sharedWords = 0.75

// mostOfChoices is the limit of operations of an unrolled loop.
const mostOfChoices = 4096

// unrollChoices unrolls short loops whose iterations choose among expressions that share operands.
func (f *fuser) unrollChoices() bool { return f.unroll(false) }

// pairWords unrolls the loops that choose between the two words of a random position: one computation gives both.
func (f *fuser) pairWords() bool { return f.unroll(true) }

func (f *fuser) unroll(words bool) (changed bool) {
	for i, g := range f.groups {
		if g.body == nil || words != g.body.random() || !g.body.selects() && f.shortInnermost(g.body) == nil || g.body.reduces() || g.body.scatters() || overlap(g.reads, g.writes) {
			continue
		}
		for b := f.choicesUnrolled(g.body); b != nil; b = f.choicesUnrolled(b) {
			f.groups[i], f.changed, changed = groupOf(b, g.kernels), true, true
		}
	}
	return changed
}

// random reports whether a body computes random words.
func (b *body) random() bool { return slices.ContainsFunc(b.values(), isThreefry) }

// wordsPaired is a body, with the loops that choose between random words unrolled.
func (f *fuser) wordsPaired(b *body) *body {
	for n := b; n != nil && b.random() && !b.reduces() && b.selects(); n = f.choicesUnrolled(b) {
		b = n
	}
	return b
}

// choicesUnrolled is the body with one loop that selects among expressions unrolled, nil if there is none or it does not pay. The loop is cut
// where the selection changes, into pieces of equal length; a loop over one piece remains if that is longer than one iteration.
func (f *fuser) choicesUnrolled(b *body) *body {
	cuts, repeated := f.splitsOf(b), f.shortInnermost(b)
	for _, r := range b.loops {
		at := cuts[r]
		if r == repeated {
			at = nil
			for k := int64(1); k < sizeOf(r); k++ {
				at = append(at, k)
			}
		}
		pieces := int64(len(at)) + 1
		if variable(r) || pieces < 2 || pieces > schedule.MostChoices || sizeOf(r)%pieces != 0 || slices.ContainsFunc(b.stores, func(s store) bool { return !slices.Contains(s.loops, r) }) {
			continue
		}
		size := sizeOf(r) / pieces
		if at[0] != size || at[pieces-2] != size*(pieces-1) || size == 1 && len(b.loops) < 2 {
			continue
		}
		var inner *uop.UOp
		if size > 1 {
			inner = f.newRange(r.With(r.Src[0].IntLike(size)))
		}
		loops := func(of []*uop.UOp) []*uop.UOp {
			of = slices.Clone(of)
			if i := slices.Index(of, r); inner != nil {
				of[i] = inner
			} else {
				of = slices.Delete(of, i, i+1)
			}
			return of
		}
		out := &body{pieces: true, loops: loops(b.loops)}
		for k := range pieces {
			position := r.IntLike(k * size)
			if inner != nil {
				position = inner.Add(position)
			}
			m := map[*uop.UOp]*uop.UOp{r: position}
			for _, s := range b.stores {
				out.stores = append(out.stores, store{s.slot, simplify(replace(s.at, m)), f.chosen(s.value, r, m), loops(s.loops)})
			}
		}
		beside := size == 1 && strideIn(b.stores[0].index(), r) <= schedule.MostChoices
		if len(out.values()) <= mostOfChoices && (beside || 2*len(out.loads()) <= f.loadsOf(out) || b.random() && f.workOf(out) <= sharedWords*f.workOf(b)) && (r == repeated || f.unrollingPays(b, out, cuts)) && !noLoopOrder(out) {
			return out
		}
	}
	return nil
}

// shortInnermost is the innermost loop if it is short and all loads have stride 0 or 1 in it and in the loop around, which can be vectorized
// instead; else nil.
func (f *fuser) shortInnermost(b *body) *uop.UOp {
	if f.o.Invocations || len(b.stores) == 0 {
		return nil
	}
	var along, inner *uop.UOp
	at := b.stores[0].index()
	for _, r := range b.loops {
		if strideIn(at, r) == 1 {
			inner = r
		}
	}
	if inner == nil || variable(inner) {
		return nil
	}
	n := sizeOf(inner)
	if n > mostRepeated {
		return nil
	}
	for _, r := range b.loops {
		if strideIn(at, r) == n {
			along = r
		}
	}
	if along == nil || sizeOf(along) < minContiguousRun {
		return nil
	}
	for _, s := range b.stores {
		if strideIn(s.index(), inner) != 1 || strideIn(s.index(), along) != n {
			return nil
		}
	}
	contiguousOrSame := func(index, r *uop.UOp) bool {
		stride := strideIn(index, r)
		return stride == 0 || stride == 1
	}
	for _, u := range b.values() {
		if u.Op == uop.Index && !(contiguousOrSame(u.Src[1].GetIdx(), along) && contiguousOrSame(u.Src[1].GetIdx(), inner)) {
			return nil
		}
	}
	return inner
}

// mostRepeated is the greatest trip count of a loop that shortInnermost returns.
const mostRepeated = 7

// laneCycles is the cost of an element that is loaded one by one.
const laneCycles = 1.5

// unrollingPays compares the work that unrolling saves (expressions that are computed but not selected) with the cost of strided loads: once
// the loop is unrolled, vectors run along another loop, in which loads may be strided.
func (f *fuser) unrollingPays(b, out *body, cuts map[*uop.UOp][]int64) bool {
	pieces := 1
	var along *uop.UOp
	at := out.stores[0].index()
	for _, r := range b.loops {
		pieces *= len(cuts[r]) + 1
	}
	for _, r := range out.loops {
		if 2*longestPiece(r, cuts[r]) > sizeOf(r) && (along == nil || strideIn(at, r) < strideIn(at, along)) {
			along = r
		}
	}
	if along == nil || strideIn(at, along) == 1 {
		return true
	}
	gathers, work := 0.0, 0.0
	for _, u := range out.values() {
		switch {
		case u.Op == uop.Index && strideIn(u.Src[1].GetIdx(), along) > 2:
			gathers += laneCycles
		case !u.DType.IsIndex() && uop.GroupElementwise.Has(u.Op):
			work += weight(u)
		}
	}
	return gathers < f.o.Machine.vectorCycles(float64(pieces-1)*work)
}

// longestPiece is the length of the longest piece of a loop that is cut.
func longestPiece(r *uop.UOp, cuts []int64) (longest int64) {
	start := int64(0)
	for _, end := range append(slices.Clone(cuts), sizeOf(r)) {
		longest, start = max(longest, end-start), end
	}
	return longest
}

// chosen is the value of u at a position of loop r: a WHERE whose condition is known there becomes one of its values.
func (f *fuser) chosen(u, r *uop.UOp, at map[*uop.UOp]*uop.UOp) *uop.UOp {
	if !u.InRange(r) {
		return u
	}
	if u.Op == uop.Where && u.Src[0].InRange(r) {
		c := replace(u.Src[0], at)
		switch lo, hi := c.Bounds(); {
		case !lo.Eq(hi):
			return simplify(c).Where(f.chosen(u.Src[1], r, at), f.chosen(u.Src[2], r, at))
		case lo.Truth():
			return f.chosen(u.Src[1], r, at)
		default:
			return f.chosen(u.Src[2], r, at)
		}
	}
	return f.folded(replace(u, at))
}

// loadsOf is the number of loads of the stores, counted for each store alone.
func (f *fuser) loadsOf(b *body) (n int) {
	for _, s := range b.stores {
		n += len((&body{stores: []store{s}, loops: b.loops}).loads())
	}
	return n
}
