package ranges

import (
	"fmt"
	"maps"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Reductions that share their ranges are one loop. If the ranges of only one of them are merged, split or removed, or if they are inside
// of different loops, the loops that they still share would have to be in two places: such reductions get ranges of their own.

// freshRanges maps the ranges of reductions to those that replace them, by loopsKey.
type freshRanges map[string]rewrite.Map

// Unordered says that rules only read it.
func (freshRanges) Unordered() {}

var separate = &rewrite.Table{Name: "separate reductions", Rules: []*rewrite.Rule{{Name: "loops of its own", Ops: uop.Ops(uop.Reduce),
	Fn: func(ctx any, u *uop.UOp) *uop.UOp {
		m := ctx.(freshRanges)[loopsKey(u)]
		if m == nil {
			return nil
		}
		m = maps.Clone(m)
		for _, x := range u.BackwardSlice() {
			if x.Op == uop.Reduce && slices.ContainsFunc(x.EndedRanges(), func(r *uop.UOp) bool { return m[r] != nil }) {
				m[x] = rewrite.Gate // it has loops of its own
			}
		}
		return rewrite.Substitute(u, m)
	}}}}

// SeparateReduces gives reductions that share some of their loops, but not all, ranges of their own.
func SeparateReduces(sink *uop.UOp) *uop.UOp {
	for {
		next := separateOnce(sink)
		if next == sink {
			return sink
		}
		sink = next // the copy of a reduction may share other ranges
	}
}

func separateOnce(sink *uop.UOp) *uop.UOp {
	owner := map[*uop.UOp]string{} // of a range: the loops of the first reduction that ends it
	m := freshRanges{}
	fresh := -1
	list := sink.Toposort()
	for _, u := range list {
		if u.Op != uop.Reduce {
			continue
		}
		key := loopsKey(u)
		shared := slices.ContainsFunc(u.EndedRanges(), func(r *uop.UOp) bool { return owner[r] != "" && owner[r] != key })
		if !shared {
			for _, r := range u.EndedRanges() {
				owner[r] = key
			}
			continue
		}
		if m[key] != nil {
			continue
		}
		if fresh < 0 {
			fresh = nextRange(list)
		}
		m[key] = rewrite.Map{}
		for _, r := range u.EndedRanges() {
			if r.Op == uop.Range {
				m[key][r] = r.WithArg(uop.RangeArg{ID: []int{fresh}, Type: r.RangeID().Type})
				fresh++
			}
		}
	}
	if len(m) == 0 {
		return sink
	}
	return rewrite.Graph(sink, separate, m)
}

// loopsKey identifies the ranges that a reduction ends and the ranges around it, in any order.
func loopsKey(u *uop.UOp) string { return numbersOf(u.EndedRanges()) + numbersOf(u.Ranges()) }

func numbersOf(us []*uop.UOp) string {
	ids := make([]int, len(us))
	for i, u := range us {
		ids[i] = u.ID()
	}
	slices.Sort(ids)
	return fmt.Sprint(ids)
}

// nextRange is a number above those of all ranges.
func nextRange(list []*uop.UOp) int {
	n := 0
	for _, u := range list {
		if u.Op == uop.Range {
			n = max(n, u.RangeID().ID[0]+1)
		}
	}
	return n
}
