package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// cutRowFunctions moves functions of a scalar of each row, such as its sum, to a kernel of their own that computes them in full vectors: before
// or after the loop over the row, a single lane would compute them. Stores that need the functions in another loop over the row get a kernel of
// their own, too.
func (f *fuser) cutRowFunctions() (changed bool) {
	for i := 0; i < len(f.groups); i++ {
		g := f.groups[i]
		if g.body == nil || g.body.pieces {
			continue
		}
		finds := []func(*body) *rowFunctions{f.functionsOfLoads}
		if g.body.reduces() {
			finds = []func(*body) *rowFunctions{
				func(b *body) *rowFunctions { return f.rowFunctionsOf(b, true) },
				func(b *body) *rowFunctions { return f.rowFunctionsOf(b, false) },
			}
		}
		for _, find := range finds {
			cut := find(g.body)
			if cut == nil {
				continue
			}
			costs, reason := f.costsOfCut(cut), Recompute
			var bodies []*body
			if costs.SavedCycles > costs.StoreCycles {
				bodies = f.cut(g.body, cut)
				costs.StoreCycles += f.rereadCycles(g.body, bodies)
			}
			if costs.SavedCycles > costs.StoreCycles {
				reason = Pays
			}
			f.observe(g, nil, reason, costs)
			if reason != Pays {
				continue
			}
			f.replaceBody(i, bodies...)
			i += len(bodies) - 1
			changed = true
			break
		}
	}
	return changed
}

// rowFunctions are stores of functions of the sums of a row, and functions that other stores need.
type rowFunctions struct {
	stores, others []store
	// wide are stores of more than one element of a row, used the functions of sums that they need.
	wide []store
	used []*uop.UOp
	// rows are the outer loops, sums the reductions that the functions depend on.
	rows, sums []*uop.UOp
	// work is the arithmetic of a row that only these stores need.
	work float64
}

// rowFunctionsOf finds the functions of sums that run along vectors, nil if there are none; with again, it includes the functions needed by stores
// that loop over the row again.
func (f *fuser) rowFunctionsOf(b *body, again bool) *rowFunctions {
	values := b.values()
	ofRow := map[*uop.UOp]bool{} // reductions of a row, and functions of them
	for _, u := range values {
		switch {
		case u.Op == uop.Reduce:
			ofRow[u] = b.alongVectors(u)
		case !u.DType.IsIndex():
			ofRow[u] = slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return ofRow[s] && len(s.Ranges()) == len(u.Ranges()) })
		}
	}
	c := &rowFunctions{}
	sameRows := func(loops []*uop.UOp) bool { return c.rows == nil || sameSet(c.rows, loops) }
	shared := map[*uop.UOp]bool{}
	var reads, writes slotSet
	for _, s := range b.stores {
		if s.keepsElements() {
			return nil // the loop may skip the elements that keep their value, and their sums
		}
		if ofRow[s.value] && s.value.Op != uop.Reduce && sameSet(s.loops, b.loopsOf(s.value)) && sameRows(s.loops) {
			c.stores, c.rows = append(c.stores, s), s.loops
			continue
		}
		writes.add(s.slot)
		if used := usedFunctions(s.value, ofRow); again && len(used) > 0 && sameRows(b.loopsOf(used[0])) {
			c.wide, c.rows = append(c.wide, s), b.loopsOf(used[0])
			c.used = appendNew(c.used, used)
			continue
		}
		c.others = append(c.others, s)
		for _, u := range s.value.Toposort() {
			shared[u] = true
		}
	}
	if again != (len(c.wide) > 0) || len(c.stores)+len(c.wide) == 0 || len(c.rows) == 0 {
		return nil
	}
	if again && slices.ContainsFunc(b.loads(), func(l *uop.UOp) bool { return b.storeTo(slotOf(l)) != nil }) {
		return nil
	}
	if !c.findSums(b, ofRow) {
		return nil
	}
	for _, u := range c.sums {
		for _, v := range u.Toposort() {
			shared[v] = true
		}
	}
	for _, u := range c.functions() {
		if !u.DType.IsIndex() && !shared[u] && len(u.Ranges()) > 0 {
			if again {
				c.work += f.rowWork(u)
			} else {
				c.work += f.o.Machine.work(u)
			}
		}
		if u.Op == uop.Index && u.Src[0].Op == uop.Param {
			if reads.add(slotOf(u)); !c.inOrder(u.Src[1].GetIdx()) {
				return nil // vectors would gather it
			}
		}
	}
	if overlap(reads, writes) || slices.ContainsFunc(c.stores, func(s store) bool { return !c.inOrder(s.index()) }) {
		return nil
	}
	return c
}

// functionsOfLoads finds the functions of values that are loaded once for each row, in a kernel without reductions whose vectors run along rows.
func (f *fuser) functionsOfLoads(b *body) *rowFunctions {
	order, ok := loopOrder(b)
	if !ok || len(order) < 2 || sizeOf(order[len(order)-1]) < minContiguousRun || b.scatters() {
		return nil
	}
	c := &rowFunctions{rows: order[:len(order)-1], wide: b.stores}
	inner, ofRow := order[len(order)-1], map[*uop.UOp]bool{}
	for _, s := range b.stores {
		if len(s.loops) != len(order) || strideIn(s.index(), inner) != 1 {
			return nil
		}
	}
	values := b.values()
	divisions := divisionsOf(values)
	for _, u := range values {
		ofRow[u] = u.DType.IsFloat() && u.Op != uop.Index && !divisions[u] && len(u.Ranges()) > 0 && sameSet(u.Ranges(), c.rows)
	}
	for _, s := range b.stores {
		if ofRow[s.value] {
			c.used = appendNew(c.used, []*uop.UOp{s.value})
		} else {
			c.used = appendNew(c.used, usedFunctions(s.value, ofRow))
		}
	}
	if len(c.used) == 0 {
		return nil
	}
	for _, u := range c.functions() {
		switch {
		case isGather(u) || u.Op == uop.Index && b.storeTo(slotOf(u)) != nil:
			return nil
		case !u.DType.IsIndex() && u.Op != uop.Index && len(u.Ranges()) > 0:
			c.work += f.rowWork(u)
		}
	}
	return c
}

// rowWork is the work of a function of which one lane computes an element in each row. Divisions overlap with the next row.
func (f *fuser) rowWork(u *uop.UOp) float64 {
	if u.Op == uop.Reciprocal || u.Op == uop.Fdiv || u.Op == uop.Sqrt {
		return 1
	}
	return f.o.Machine.work(u)
}

// findSums lists the reductions that the functions and the wide stores need. It reports whether all of them are reductions of the same rows.
func (c *rowFunctions) findSums(b *body, ofRow map[*uop.UOp]bool) bool {
	all := c.functions()
	for _, s := range c.wide {
		if !sameSet(within(s.loops, c.rows), c.rows) {
			return false
		}
		all = append(all, s.value.ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce && !slices.Contains(c.used, u) })...)
	}
	if slices.ContainsFunc(c.used, func(u *uop.UOp) bool { return !sameSet(b.loopsOf(u), c.rows) }) {
		return false
	}
	for _, u := range all {
		for _, s := range u.Src {
			if s.Op == uop.Reduce && (!ofRow[s] || !sameSet(b.loopsOf(s), c.rows)) {
				return false
			}
			if s.Op == uop.Reduce && !slices.Contains(c.sums, s) {
				c.sums = append(c.sums, s)
			}
		}
	}
	return true
}

// appendNew appends the nodes that are not in a list yet.
func appendNew(list, more []*uop.UOp) []*uop.UOp {
	for _, u := range more {
		if !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	return list
}

// usedFunctions are the functions of sums of a row that a value depends on.
func usedFunctions(value *uop.UOp, ofRow map[*uop.UOp]bool) []*uop.UOp {
	var out []*uop.UOp
	for _, u := range value.ToposortGated(func(u *uop.UOp) bool { return !ofRow[u] }) {
		out = appendNew(out, slices.DeleteFunc(slices.Clone(u.Src), func(s *uop.UOp) bool { return !ofRow[s] || s.Op == uop.Reduce }))
	}
	return out
}

// inOrder reports whether consecutive rows access consecutive elements, or the same one.
func (c *rowFunctions) inOrder(index *uop.UOp) bool {
	n := strideIn(index, c.rows[len(c.rows)-1])
	return n == 0 || n == 1
}

// functions are the nodes of the stored values above the sums.
func (c *rowFunctions) functions() []*uop.UOp {
	values := slices.Clone(c.used)
	for _, s := range c.stores {
		values = append(values, s.value)
	}
	all := values[0].Graph().Sink(nil, values...).ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce })
	return all[:len(all)-1]
}

// alongVectors reports whether a reduction is vectorized along its own loop: it reads memory contiguously there, and not along its outer
// loops.
func (b *body) alongVectors(red *uop.UOp) bool {
	rows := b.loopsOf(red)
	if len(rows) == 0 || volume(red.Src[1:]) < minContiguousRun || !contiguous(red) || contracts(red) {
		return false
	}
	for _, u := range red.Src[0].ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce }) {
		if u.Op == uop.Index && slices.ContainsFunc(rows, func(r *uop.UOp) bool { return strideIn(u.Src[1].GetIdx(), r) == 1 }) {
			return false
		}
	}
	return true
}

// costsOfCut are the costs of functions of rows in one lane, and of kernels of their own.
func (f *fuser) costsOfCut(c *rowFunctions) Costs {
	m := &f.o.Machine
	rows := volume(c.rows)
	costs := Costs{Rows: rows, Work: c.work}
	// Twice as many scalar as vector operations are issued in a cycle, if nothing in the row depends on them.
	begin := 2.0 * issued
	if len(c.wide) > 0 {
		begin = issued
	}
	costs.SavedCycles = float64(rows)*c.work/begin - m.vectorCycles(float64(rows)*c.work)
	for _, u := range slices.Concat(c.sums, c.used) {
		costs.StoreCycles += 2 * m.transferCycles(rows*int64(u.DType.Itemsize()))
	}
	costs.StoreCycles += f.o.Machine.launchCycles()
	if len(c.wide) > 0 && len(c.sums) > 0 {
		costs.StoreCycles += f.o.Machine.launchCycles()
	}
	return costs
}

// rereadCycles are the cycles that a third kernel takes because it reads and computes values of the rows that the first one reads, too.
func (f *fuser) rereadCycles(b *body, bodies []*body) float64 {
	if len(bodies) < 3 {
		return 0
	}
	m := &f.o.Machine
	sums, wide := groupOf(bodies[0], nil), bodies[2]
	cycles := m.vectorCycles(max(f.workOf(bodies[0])+f.workOf(wide)-f.workOf(b), 0))
	var read slotSet
	for _, l := range wide.loads() {
		if slot := slotOf(l); sums.reads.has(slot) && !read.has(slot) {
			read.add(slot)
			cycles += m.transferCycles(f.slots[slot].Size * int64(f.slots[slot].DType.Itemsize()))
		}
	}
	return cycles
}

// cut splits a kernel: the sums of rows are stored, their functions computed from them, and then the stores that go through the rows again.
func (f *fuser) cut(b *body, c *rowFunctions) []*body {
	sums, functions := &body{loops: b.loops, stores: c.others}, &body{}
	to, toWide := map[*uop.UOp]*uop.UOp{}, map[*uop.UOp]*uop.UOp{}
	for _, r := range c.rows {
		to[r] = f.newRange(r)
		functions.loops = append(functions.loops, to[r])
	}
	kept := func(u *uop.UOp) (slot int, memory *uop.UOp) {
		slot, size := len(f.slots), volume(c.rows)
		f.slots = append(slices.Clip(f.slots), schedule.Slot{DType: u.DType, Size: size, Input: -1, Output: -1})
		memory = u.Graph().New(uop.Param, u.DType.Ptr(size, uop.Global), nil, uop.Num(slot), nil)
		toWide[u] = memory.IndexBy(rowMajorIndex(c.rows))
		return slot, memory
	}
	for _, u := range c.sums {
		slot, memory := kept(u)
		sums.stores = append(sums.stores, store{slot, memory.IndexPtr(rowMajorIndex(c.rows)), u, c.rows})
		to[u] = memory.IndexBy(rowMajorIndex(functions.loops))
	}
	for _, s := range c.stores {
		functions.stores = append(functions.stores, store{s.slot, replace(s.at, to), replace(s.value, to), functions.loops})
	}
	for _, u := range c.used {
		slot, memory := kept(u)
		at := memory.IndexPtr(rowMajorIndex(functions.loops))
		functions.stores = append(functions.stores, store{slot, at, replace(u, to), functions.loops})
	}
	if len(c.wide) == 0 {
		return []*body{sums, functions}
	}
	if len(c.others) == 0 {
		sums.loops = c.rows
	}
	wide, loops := &body{}, map[*uop.UOp]*uop.UOp{}
	for _, s := range c.wide {
		s.value = replace(s.value, toWide)
		for _, r := range s.loops {
			if loops[r] == nil {
				loops[r] = f.newRange(r)
				wide.loops = append(wide.loops, loops[r])
			}
		}
		wide.stores = append(wide.stores, s.with(loops))
	}
	if len(sums.stores) == 0 {
		return []*body{functions, wide}
	}
	return []*body{sums, functions, wide}
}
