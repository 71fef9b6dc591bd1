package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// The gradient of a gather of rows of a table is, for each row, a sum over all gathered positions t, with a term of zero where
// another row was gathered:
//
//	for row { for t { sum += number[t] == row ? x[t] : 0 }; y[row] = base + sum }
//
// If there are many rows nearly all terms are zero. Then the base is stored first, and the terms are scattered:
//
//	for row { y[row] = base }; for t { y[number[t]] += x[t] }

// minScatterRows is the number of rows from which on sums are scattered.
const minScatterRows = schedule.MinScatterRows

// scatter is a sum that can be scattered.
type scatter struct {
	sum *uop.UOp
	// row is the loop over the rows, number the index of the row of a term, x the term.
	row, number, x *uop.UOp
}

// scatterSums splits kernels with a sum that can be scattered.
func (f *fuser) scatterSums() (changed bool) {
	for i := 0; i < len(f.groups); i++ {
		g := f.groups[i]
		if g.body == nil {
			continue
		}
		n, s, base, factor := g.body.findScatter()
		if s == nil {
			continue
		}
		c := Costs{Rows: sizeOf(s.row), Stores: len(g.body.stores)}
		reason := Pays
		if c.Rows < minScatterRows {
			reason = FewTableRows
		}
		f.observe(g, nil, reason, c)
		if reason == Pays {
			f.replace(i, i+1, f.scattered(g, n, s, base, factor))
			changed = true
		}
	}
	return changed
}

// scatters reports whether a sum of the body is going to be scattered: its terms must not have loops.
func (b *body) scatters() bool {
	_, s, _, _ := b.findScatter()
	return s != nil && sizeOf(s.row) >= minScatterRows
}

// findScatter finds a sum that can be scattered, of a large table if there is one: store n is of base + factor * sum.
func (b *body) findScatter() (n int, found *scatter, base, factor *uop.UOp) {
	if !b.reduces() {
		return 0, nil, nil, nil
	}
	for i, st := range b.stores {
		for _, u := range st.value.Toposort() {
			s := b.scatterOf(u, st.loops)
			if s == nil || found != nil && sizeOf(s.row) < minScatterRows {
				continue
			}
			rest, times := linearIn(st.value, s.sum)
			if times == nil || times.DependsOn(s.row) || b.readsOwn(times) || b.readsOwn(s.x) || b.readsOwn(s.number) || b.neededByOthers(s.sum, i) {
				continue
			}
			if n, found, base, factor = i, s, rest, times; sizeOf(s.row) >= minScatterRows {
				return n, found, base, factor
			}
		}
	}
	return n, found, base, factor
}

// scattered splits a group: a kernel that stores the base, if it is not in memory already, and a kernel that adds the terms.
func (f *fuser) scattered(g *group, n int, s *scatter, base, factor *uop.UOp) []*group {
	b := g.body
	st := b.stores[n]
	terms := opaque(f.scatterAdd(&st, s, factor), g.kernels)
	if base == nil {
		base = st.value.ConstLike(uop.Int(0))
	}
	first := &body{stores: slices.Clone(b.stores), loops: b.loops}
	first.stores[n].value = symbolic.Simplify(base)
	if base.Op == uop.Index && slotOf(base) == st.slot && base.Src[1] == st.index() {
		first.stores = slices.Delete(first.stores, n, n+1) // the base is in memory already
	}
	if len(first.stores) == 0 {
		return []*group{terms}
	}
	return []*group{groupOf(first, g.kernels), terms}
}

// readsOwn reports whether a value depends on a load of a buffer that the body writes.
func (b *body) readsOwn(u *uop.UOp) bool {
	return slices.ContainsFunc(b.loads(), func(l *uop.UOp) bool { return b.storeTo(slotOf(l)) != nil && u.DependsOn(l) })
}

// neededByOthers reports whether a store other than number but needs a value.
func (b *body) neededByOthers(u *uop.UOp, but int) bool {
	for i, s := range b.stores {
		if i != but && s.value.DependsOn(u) {
			return true
		}
	}
	return false
}

// scatterOf matches a sum that can be scattered over some of the loops, nil for other values.
func (b *body) scatterOf(u *uop.UOp, loops []*uop.UOp) *scatter {
	if u.Op != uop.Reduce || !uop.ArgEqual(u.Arg, uop.OpArg(uop.Add)) || u.Src[0].Op != uop.Where || slices.ContainsFunc(u.Src[1:], variable) {
		return nil
	}
	x, zero := u.Src[0].Src[1], u.Src[0].Src[2]
	conditions := u.Src[0].Src[0].SplitUOp(uop.And)
	for i, test := range conditions {
		value := x
		for j, c := range conditions {
			if j != i {
				value = c.Where(value, value.ConstLike(uop.Int(0)))
			}
		}
		if row, number, added := chosenRow(test, value, zero, loops); row != nil {
			return &scatter{u, row, number, added}
		}
	}
	return nil
}

// chosenRow matches a choice that adds a value to the row of a number, and zero to all others.
func chosenRow(test, x, zero *uop.UOp, loops []*uop.UOp) (row, number, added *uop.UOp) {
	for test.Op == uop.CmpNe {
		if !test.Src[1].IsConst(uop.BoolConst(true)) {
			break
		}
		test, x, zero = test.Src[0], zero, x // a negated condition
	}
	if test.Op == uop.CmpNe {
		x, zero = zero, x
	} else if test.Op != uop.CmpEq {
		return nil, nil, nil
	}
	if zero.Op != uop.ConstOp || !zero.IsConst(uop.Int(0)) {
		return nil, nil, nil
	}
	for i := range 2 {
		row, number := test.Src[i], test.Src[1-i]
		if row.Op == uop.Cast && row.DType.IsInt() {
			row = row.Src[0]
		}
		if row.Op == uop.Range && slices.Contains(loops, row) && number.DType.IsInt() &&
			!number.InRange(row) && !x.InRange(row) && x.Find(func(v *uop.UOp) bool { return v.Op == uop.Reduce }) == nil {
			return row, number, x
		}
	}
	return nil, nil, nil
}

// linearIn matches base + factor * x. The base is nil if it is zero; the factor is nil if the value has another form.
func linearIn(u, x *uop.UOp) (base, factor *uop.UOp) {
	switch {
	case u == x:
		return nil, u.ConstLike(uop.Int(1))
	case u.Op == uop.Add:
		for i := range 2 {
			if rest := u.Src[1-i]; !rest.DependsOn(x) {
				if base, factor = linearIn(u.Src[i], x); base != nil {
					rest = rest.Add(base)
				}
				return rest, factor
			}
		}
	case u.Op == uop.Mul:
		for i := range 2 {
			if c := u.Src[1-i]; !c.DependsOn(x) {
				if base, factor = linearIn(u.Src[i], x); factor == nil {
					return nil, nil
				}
				if base != nil {
					base = base.Mul(c)
				}
				return base, factor.Mul(c)
			}
		}
	}
	return nil, nil
}

// scatterAdd is the kernel that adds the terms of a scattered sum to their rows, sequentially.
func (f *fuser) scatterAdd(st *store, s *scatter, factor *uop.UOp) schedule.Kernel {
	number := s.number.Cast(s.row.DType)
	index := replace(st.index(), map[*uop.UOp]*uop.UOp{s.row: number})
	index = index.Valid(number.GeInt(0).And(number.LtInt(sizeOf(s.row))))
	m := map[*uop.UOp]*uop.UOp{}
	var loops []*uop.UOp
	for _, r := range slices.Concat(s.sum.Src[1:], st.loops) {
		if r != s.row {
			loop := f.newRange(r)
			m[r] = loop.WithArg(uop.RangeArg{ID: loop.RangeID().ID, Type: uop.AxisLoop})
			loops = append(loops, m[r])
		}
	}
	to, from := st.at.Src[0].IndexPtr(index), st.at.Src[0].IndexBy(index)
	out := &body{loops: loops}
	out.stores = []store{{st.slot, replace(to, m), symbolic.Simplify(replace(from.Add(s.x.Mul(factor)), m)), loops}}
	return f.kernelOf(f.cacheFunctionRows(out, f.o.MinScratch))
}
