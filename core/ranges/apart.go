package ranges

import (
	"fmt"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Several reductions may share their ranges, and are one loop then. If the ranges of only one of them were merged, split
// or left out, the loops that they still have in common would have to be in two places: they get loops of their own.

// apart says which ranges replace those of a reduction, by what reductions end.
type apart map[string]rewrite.Map

// Unordered says that rules only read it.
func (apart) Unordered() {}

var separate = rewrite.New("separate reductions", &rewrite.Rule{Name: "loops of its own", Ops: uop.Ops(uop.Reduce),
	Fn: func(ctx any, u *uop.UOp) *uop.UOp {
		if m := ctx.(apart)[endedKey(u)]; m != nil {
			return rewrite.Substitute(u, m)
		}
		return nil
	}})

// SeparateReduces gives reductions that share some of their ranges, but not all, ranges of their own.
func SeparateReduces(sink *uop.UOp) *uop.UOp {
	owner := map[*uop.UOp]string{} // of a range: what the first reduction ends that ends it
	m := apart{}
	fresh := -1
	list := sink.Toposort()
	for _, u := range list {
		if u.Op != uop.Reduce {
			continue
		}
		key := endedKey(u)
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

// endedKey stands for the ranges that a reduction ends, in any order.
func endedKey(u *uop.UOp) string {
	ids := make([]int, 0, len(u.Src))
	for _, r := range u.EndedRanges() {
		ids = append(ids, r.ID())
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
