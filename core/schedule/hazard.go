package schedule

import (
	"slices"

	"polygrad/core/uop"
)

// splitHazard cuts a kernel in two if it reads elements of its target buffer that other iterations write (a write-after-read
// hazard): the first kernel stores to a temporary, the second copies it, so all iterations read the old contents. A kernel
// without the hazard is the result alone.
func (b *builder) splitHazard(k Kernel) []Kernel {
	store := k.AST
	for store.Op == uop.Sink || store.Op == uop.End {
		store = store.Src[0]
	}
	if store.Op != uop.Store || store.Src[0].Op != uop.Index {
		return []Kernel{k}
	}
	at, value := store.Src[0], store.Src[1]
	param := at.Src[0]
	target := k.Bufs[int(param.Arg.(uop.Num))]
	if !slices.ContainsFunc(value.Toposort(), func(u *uop.UOp) bool {
		return u.Op == uop.Index && u.Src[0].Op == uop.Param && k.Bufs[int(u.Src[0].Arg.(uop.Num))] == target && !sameElement(u, at)
	}) {
		return []Kernel{k}
	}
	slot := b.s.Slots[target]
	b.s.Slots = append(b.s.Slots, Slot{DType: slot.DType, Size: slot.Size, Input: -1, Output: -1})
	temporary := len(b.s.Slots) - 1

	first, second := k, Kernel{Bufs: []int{target, temporary}}
	first.Bufs = append(slices.Clone(k.Bufs), temporary)
	first.AST = storeTo(k.AST, param.WithArg(uop.Num(len(k.Bufs))), value)
	from, to := param.WithArg(uop.Num(1)), param.WithArg(uop.Num(0))
	second.AST = storeTo(k.AST, to, from.IndexBy(at.Src[1:]...))
	for _, v := range k.Vars {
		if second.AST.DependsOn(v) {
			second.Vars = append(second.Vars, v)
		}
	}
	return []Kernel{first, second}
}

// sameElement reports whether a load, where it loads anything, loads the element of the store.
func sameElement(load, at *uop.UOp) bool {
	return slices.EqualFunc(load.Src[1:], at.Src[1:], func(x, y *uop.UOp) bool { return x == y || x.GetIdx() == y.GetIdx() })
}

// storeTo is a kernel of one STORE with another buffer and value.
func storeTo(u, param, value *uop.UOp) *uop.UOp {
	if u.Op == uop.Store {
		at := u.Src[0]
		return u.With(append([]*uop.UOp{at.With(append([]*uop.UOp{param}, at.Src[1:]...)...), value}, u.Src[2:]...)...)
	}
	return u.With(append([]*uop.UOp{storeTo(u.Src[0], param, value)}, u.Src[1:]...)...)
}
