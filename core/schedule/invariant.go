package schedule

import (
	"slices"

	"polygrad/core/uop"
)

// hoistInvariants moves kernels in front of a loop that would compute the same temporaries in each iteration: they read neither its variable nor
// what its other kernels write.
func (s *Schedule) hoistInvariants(l *Loop, isTemporary func(slot int) bool) {
	if l.While >= 0 { // it may run no iteration
		return
	}
	kernels := s.Kernels[l.First:l.Last]
	writers := map[int]int{} // number of kernels that write a slot
	writes, changes := make([][]int, len(kernels)), make([]bool, len(kernels))
	for i, k := range kernels {
		if k.AST.Op != uop.Sink { // a copy between devices
			return
		}
		writes[i], changes[i] = k.written()
		for _, slot := range writes[i] {
			writers[slot]++
		}
	}
	var before, inside []Kernel
	for i, k := range kernels {
		varies := changes[i] ||
			slices.ContainsFunc(k.Vars, func(v *uop.UOp) bool { return v.Arg.(uop.VarArg).Name == l.Variable.Name }) ||
			slices.ContainsFunc(writes[i], func(slot int) bool { return writers[slot] > 1 || !isTemporary(slot) }) ||
			slices.ContainsFunc(k.Bufs, func(slot int) bool { return writers[slot] > 0 && !slices.Contains(writes[i], slot) })
		if varies {
			inside = append(inside, k)
			continue
		}
		before = append(before, k)
		for _, slot := range writes[i] {
			delete(writers, slot)
		}
	}
	copy(kernels, append(before, inside...))
	l.First += len(before)
}

// written are the slots that a kernel stores to, and whether it loads from any of them.
func (k Kernel) written() (slots []int, changes bool) {
	slotOf := func(u *uop.UOp) int {
		for u.Op != uop.Param && len(u.Src) > 0 {
			u = u.Src[0]
		}
		if u.Op != uop.Param {
			return -1
		}
		return k.Bufs[int(u.Arg.(uop.Num))]
	}
	list := k.AST.Toposort()
	for _, u := range list {
		if u.Op != uop.Store {
			continue
		}
		if slot := slotOf(u.Src[0]); slot >= 0 && !slices.Contains(slots, slot) {
			slots = append(slots, slot)
		}
	}
	return slots, slices.ContainsFunc(list, func(u *uop.UOp) bool {
		return u.Op == uop.Index && !u.DType.IsPtr() && slices.Contains(slots, slotOf(u.Src[0]))
	})
}
