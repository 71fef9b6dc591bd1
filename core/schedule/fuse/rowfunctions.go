package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// cutRowFunctions computes functions of the sums of rows in kernels of their own, in full vectors: behind the loop over a row, one lane
// computes them.
func (f *fuser) cutRowFunctions() (changed bool) {
	for i := 0; i < len(f.groups); i++ {
		g := f.groups[i]
		if g.body == nil || g.body.pieces || !g.body.reduces() {
			continue
		}
		cut := f.rowFunctionsOf(g.body)
		if cut == nil {
			continue
		}
		costs, reason := f.costsOfCut(cut), Recompute
		if costs.SavedCycles > costs.StoreCycles {
			reason = Pays
		}
		f.observe(g, nil, reason, costs)
		if reason == Pays {
			sums, functions := f.cut(g.body, cut)
			f.replace(i, i+1, []*group{groupOf(sums, g.kernels), groupOf(functions, g.kernels)})
			i++
			changed = true
		}
	}
	return changed
}

// rowFunctions are stores whose values are functions of the sums of a row.
type rowFunctions struct {
	stores, others []store
	// rows are the loops around, sums the reductions that the values are functions of.
	rows, sums []*uop.UOp
	// work is the arithmetic of a row that only these stores need.
	work float64
}

// rowFunctionsOf finds the functions of sums that run along vectors, nil if there are none.
func (f *fuser) rowFunctionsOf(b *body) *rowFunctions {
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
	shared := map[*uop.UOp]bool{}
	var reads, writes slotSet
	for _, s := range b.stores {
		if ofRow[s.value] && s.value.Op != uop.Reduce && sameSet(s.loops, b.loopsOf(s.value)) && (c.rows == nil || sameSet(c.rows, s.loops)) {
			c.stores, c.rows = append(c.stores, s), s.loops
			continue
		}
		c.others = append(c.others, s)
		writes.add(s.slot)
		for _, u := range s.value.Toposort() {
			shared[u] = true
		}
	}
	if len(c.stores) == 0 {
		return nil
	}
	for _, u := range c.functions() {
		if !u.DType.IsIndex() && !shared[u] && len(u.Ranges()) > 0 {
			c.work += f.o.Machine.work(u)
		}
		if u.Op == uop.Index && u.Src[0].Op == uop.Param {
			if reads.add(slotOf(u)); !c.inOrder(u.Src[1].GetIdx()) {
				return nil // vectors would load it one by one
			}
		}
		for _, s := range u.Src {
			if s.Op == uop.Reduce && (!ofRow[s] || !sameSet(b.loopsOf(s), c.rows)) {
				return nil
			}
			if s.Op == uop.Reduce && !slices.Contains(c.sums, s) {
				c.sums = append(c.sums, s)
			}
		}
	}
	if overlap(reads, writes) || slices.ContainsFunc(c.stores, func(s store) bool { return !c.inOrder(s.index()) }) {
		return nil
	}
	return c
}

// inOrder reports whether neighbouring rows have neighbouring elements, or the same one.
func (c *rowFunctions) inOrder(index *uop.UOp) bool {
	n := strideIn(index, c.rows[len(c.rows)-1])
	return n == 0 || n == 1
}

// functions are the nodes of the stored values above the sums.
func (c *rowFunctions) functions() []*uop.UOp {
	values := make([]*uop.UOp, len(c.stores))
	for i, s := range c.stores {
		values[i] = s.value
	}
	all := values[0].Graph().Sink(nil, values...).ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce })
	return all[:len(all)-1]
}

// alongVectors reports whether the lanes of vectors are terms of one reduction: it reads memory in order, and no neighbours for the
// loops around it.
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

// costsOfCut are the costs of functions of rows in one lane, and of a kernel of their own.
func (f *fuser) costsOfCut(c *rowFunctions) Costs {
	m := &f.o.Machine
	rows := volume(c.rows)
	costs := Costs{Rows: rows, Work: c.work, StoreCycles: launchCycles}
	// Twice as many operations on numbers begin in a cycle as on vectors.
	costs.SavedCycles = float64(rows)*c.work/(2*issued) - m.computing(float64(rows)*c.work)
	for _, u := range c.sums {
		costs.StoreCycles += 2 * m.passing(rows*int64(u.DType.Itemsize()))
	}
	return costs
}

// cut stores the sums of rows, and computes their functions from what is stored.
func (f *fuser) cut(b *body, c *rowFunctions) (sums, functions *body) {
	sums, functions = &body{loops: b.loops, stores: c.others}, &body{}
	to := map[*uop.UOp]*uop.UOp{}
	for _, r := range c.rows {
		to[r] = f.newRange(r)
		functions.loops = append(functions.loops, to[r])
	}
	for _, u := range c.sums {
		slot, size := len(f.slots), volume(c.rows)
		f.slots = append(slices.Clip(f.slots), schedule.Slot{DType: u.DType, Size: size, Input: -1, Output: -1})
		memory := u.Graph().New(uop.Param, u.DType.Ptr(size, uop.Global), nil, uop.Num(slot), nil)
		sums.stores = append(sums.stores, store{slot, memory.IndexPtr(rowMajorIndex(c.rows)), u, c.rows})
		to[u] = memory.IndexBy(rowMajorIndex(functions.loops))
	}
	for _, s := range c.stores {
		functions.stores = append(functions.stores, store{s.slot, replace(s.at, to), replace(s.value, to), functions.loops})
	}
	return sums, functions
}
