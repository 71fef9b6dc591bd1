package schedule

import (
	"polygrad/core/uop"
)

// Simultaneous orders ASSIGNs so that each value is computed from the contents before any of them. An ASSIGN that reads the target
// of another one element by element comes before it (see Realize); where two read each other, the value of one is made
// contiguous, which breaks the cycle.
func Simultaneous(assigns []*uop.UOp) []*uop.UOp {
	if len(assigns) < 2 {
		return assigns
	}
	at := make(map[*uop.UOp]int, len(assigns))
	for i, a := range assigns {
		at[a.Src[0].Base()] = i
	}
	// waits[i] counts the readers of target i that have not been placed.
	waits := make([]int, len(assigns))
	reads := make([][]int, len(assigns))
	for i, a := range assigns {
		reads[i] = elementwiseTargets(a.Src[1], at, i)
		for _, t := range reads[i] {
			waits[t]++
		}
	}
	out := make([]*uop.UOp, 0, len(assigns))
	placed := make([]bool, len(assigns))
	for len(out) < len(assigns) {
		next := -1
		for i := range assigns {
			if !placed[i] && waits[i] == 0 {
				next = i
				break
			}
		}
		if next < 0 {
			breakCycle(assigns, placed, reads, waits)
			continue
		}
		placed[next] = true
		out = append(out, assigns[next])
		for _, t := range reads[next] {
			waits[t]--
		}
	}
	return out
}

// breakCycle materialises the value of the first ASSIGN in a cycle.
func breakCycle(assigns []*uop.UOp, placed []bool, reads [][]int, waits []int) {
	for i, a := range assigns {
		if placed[i] || len(reads[i]) == 0 {
			continue
		}
		assigns[i] = a.With(a.Src[0], a.Src[1].F(uop.Contiguous, nil, nil))
		for _, t := range reads[i] {
			waits[t]--
		}
		reads[i] = nil
		return
	}
	panic("schedule.Simultaneous: a circle without readers")
}

// elementwiseTargets lists the targets of other ASSIGNs that a value reads element by element.
func elementwiseTargets(v *uop.UOp, at map[*uop.UOp]int, own int) []int {
	var out []int
	seen := map[*uop.UOp]bool{}
	stack := []*uop.UOp{v}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[u] || u.Op == uop.ReduceAxis || inOrder.Has(u.Op) || u.Op == uop.Assign || u.Op == uop.Contiguous {
			continue
		}
		seen[u] = true
		if i, ok := at[u]; ok && i != own {
			out = append(out, i)
		}
		stack = append(stack, u.Src...)
	}
	return out
}
