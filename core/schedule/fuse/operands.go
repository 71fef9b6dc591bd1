package fuse

import (
	"cmp"
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// A kernel whose loads are strided, or differ in their conditions from element to element, loads elements one by one:
//
//	for i { for j { for k < 3 { sum += x[i, (j+k+380) % 383] }}}
//
// If that takes longer, by an estimate of the kernels' layouts, the operand is first stored in the order in which it is read:
//
//	for i { for p < 383 { t[i, p] = x[i, (p+380) % 383] }}; for i { for j { for k < 3 { sum += t[i, j+k] }}}

// leastGathered is the least number of elements of an operand that is stored first.
const leastGathered = 1024

// storeOperands cuts kernels before operands that they would load element by element.
func (f *fuser) storeOperands() (changed bool) {
	if f.o.Cycles == nil {
		return false
	}
	for i := 0; i < len(f.groups); i++ {
		groups := f.operandsFirst(f.groups[i])
		if groups == nil {
			continue
		}
		f.replace(i, i+1, groups)
		i += len(groups) - 1
		changed = true
	}
	return changed
}

// operandsFirst returns the groups that store an operand of a group first and then do the rest, nil if that does not take fewer cycles.
func (f *fuser) operandsFirst(g *group) (best []*group) {
	stores := f.storesOf(g)
	if stores == nil || g.body != nil && (g.body.contraction() || g.body.pieces && len(stores) > maxPieces) {
		return nil
	}
	next := nextElement(stores)
	functions := lookedUpFunctions(stores, next)
	operands := append(functions, gathered(stores, next)...)
	if len(operands) == 0 {
		return nil
	}
	whole, oneByOne, ok := f.cycles([]*group{g})
	lane := 0.0
	for _, u := range functions {
		lane += oneLane(u)
	}
	if whole += lane; !ok || oneByOne+lane < whole*(1-sureGain) {
		return nil
	}
	iterations := iterationsOf(stores)
	costs, reason, gain := Costs{SavedCycles: whole}, Recompute, sureGain
	before, after := f.slots, f.slots
	for i, u := range operands {
		for _, lookups := range []bool{true, false} { // true: stored for each value of a loaded index; false: for each look-up
			f.slots = before
			first, read, elements := f.storedFirst(u, next, lookups)
			if first == nil || isIndirect(u) && float64(elements) >= iterations {
				continue
			}
			groups := append(groupsOf(first, g.kernels), f.reading(g, u, read))
			cycles, _, known := f.cycles(groups)
			if cycles += lane; i < len(functions) {
				cycles -= oneLane(u)
			}
			cycles += f.o.Machine.storeCycles(elements, u.DType) + float64(len(first)-1)*f.o.Machine.launchCycles()
			if known && (costs.StoreCycles == 0 || cycles < costs.StoreCycles) {
				costs.StoreCycles, costs.Elements = cycles, elements
				best, after = groups, f.slots
				if gain = sureGain; elements > largestBuffer(u) {
					gain = gainOfMore
				}
			}
		}
	}
	if best != nil && costs.StoreCycles < costs.SavedCycles*gain {
		reason = Pays
	}
	f.slots = before
	f.observe(g, nil, reason, costs)
	if reason != Pays {
		return nil
	}
	f.slots = after
	return best
}

// isIndirect reports whether an operand is an indirect load, conditional or not: its index is loaded. The kernel that stores it gathers, too.
func isIndirect(u *uop.UOp) bool {
	if u.Op == uop.Where {
		return isIndirect(u.Src[1]) || isIndirect(u.Src[2])
	}
	return u.Op == uop.Index && u.Src[1].HasOp(uop.Ops(uop.Param))
}

// iterationsOf is the most iterations of the loops of a store and of the reductions in it.
func iterationsOf(stores []store) (most float64) {
	for _, s := range stores {
		n := 1.0 // several reductions may exceed the integers
		for _, u := range s.value.Toposort() {
			if u.Op == uop.Range {
				n *= float64(sizeOf(u))
			}
		}
		most = max(most, n)
	}
	return most
}

// sureGain is the largest share of the cycles that may be left, with a margin as they are estimates; gainOfMore is the share if more elements
// are stored than the largest buffer has, as of windows that do not overlap.
const sureGain, gainOfMore = 0.9, 0.5

// largestBuffer is the number of elements of the largest buffer that a value is computed from.
func largestBuffer(u *uop.UOp) (n int64) {
	for _, x := range u.Toposort() {
		if x.Op == uop.Param {
			n = max(n, x.DType.Size)
		}
	}
	return n
}

// storesOf are the stores of a group, with slots as PARAMs; nil for an opaque kernel that is not a single plain store.
func (f *fuser) storesOf(g *group) []store {
	if g.body != nil {
		return g.body.stores
	}
	params := map[*uop.UOp]*uop.UOp{}
	var stores []store
	for _, u := range g.kernel.AST.Toposort() {
		switch {
		case u.Op == uop.Param:
			params[u] = u.WithArg(uop.Num(g.kernel.Bufs[int(u.Arg.(uop.Num))]))
		case u.Op == uop.Store && len(u.Src) == 2 && u.Src[0].Op == uop.Index && len(stores) == 0:
			stores = []store{{at: u.Src[0], value: u.Src[1], loops: u.Ranges()}}
		case u.Op == uop.Store || u.Op == uop.After || u.Op == uop.Bufferize:
			return nil
		}
	}
	for i := range stores {
		s := &stores[i]
		s.at, s.value = replace(s.at, params), replace(s.value, params)
	}
	return stores
}

// reading is a group that reads an operand instead of computing it.
func (f *fuser) reading(g *group, u, read *uop.UOp) *group {
	if b := g.body; b != nil {
		return groupOf(b.withValues(map[*uop.UOp]*uop.UOp{u: read}), g.kernels)
	}
	k := *g.kernel
	bufs := append(slices.Clip(k.Bufs), slotOf(read))
	local := map[*uop.UOp]*uop.UOp{}
	for _, x := range []*uop.UOp{u, read} {
		for _, p := range x.Toposort() {
			if p.Op == uop.Param {
				local[p] = p.WithArg(uop.Num(slices.Index(bufs, int(p.Arg.(uop.Num)))))
			}
		}
	}
	k.AST, k.Bufs = replace(k.AST, map[*uop.UOp]*uop.UOp{replace(u, local): replace(read, local)}), nil
	local = map[*uop.UOp]*uop.UOp{} // drops the buffers that only the operand read
	for i, slot := range bufs {
		p := k.AST.Find(func(p *uop.UOp) bool { return p.Op == uop.Param && p.Arg == uop.Num(i) })
		if p != nil {
			local[p] = p.WithArg(uop.Num(len(k.Bufs)))
			k.Bufs = append(k.Bufs, slot)
		}
	}
	k.AST = replace(k.AST, local)
	return opaque(k, g.kernels)
}

// cycles estimates a run of groups from the layouts of their kernels, without launches; oneByOne is the part for elements that are loaded,
// stored or moved one by one.
func (f *fuser) cycles(groups []*group) (all, oneByOne float64, ok bool) {
	for _, g := range groups {
		ast := (*uop.UOp)(nil)
		if g.body == nil {
			ast = g.kernel.AST
		} else if _, ordered := loopOrder(g.body); ordered {
			ast = f.kernelOf(f.cacheFunctionRows(g.body, f.o.MinScratch)).AST
		} else {
			return 0, 0, false
		}
		n, lanes, known := f.o.Cycles(ast)
		if !known {
			return 0, 0, false
		}
		all, oneByOne = all+n, oneByOne+lanes
	}
	return all, oneByOne, true
}

// gathered are operands that may be loaded one by one: loads, choices between loads, and the terms of reductions that depend on such loads.
func gathered(stores []store, next *uop.UOp) (operands []*uop.UOp) {
	if next == nil {
		return nil
	}
	var loads, reduced []*uop.UOp
	for _, u := range (&body{stores: stores}).values() {
		isLoad := u.Op == uop.Index && u.Src[0].Op == uop.Param && volume(u.Ranges()) >= leastGathered && irregular(u, next)
		if isLoad {
			loads = append(loads, u)
		}
		if isLoad || u.Op == uop.Where && (slices.Contains(loads, u.Src[1]) || slices.Contains(loads, u.Src[2])) {
			operands = append(operands, u)
		}
		if u.Op == uop.Reduce && slices.ContainsFunc(loads, u.Src[0].DependsOn) {
			reduced = appendNew(reduced, u.Src[:1])
		}
	}
	operands = appendNew(operands, reduced)
	return slices.DeleteFunc(operands, func(u *uop.UOp) bool {
		return u.HasOp(uop.Ops(uop.Reduce, uop.Bufferize)) || u.DType.IsBool()
	})
}

// lookedUpFunctions are costly functions of looked-up values that are invariant in loop next, so that one lane would compute them: as the
// logarithms of the sums of rows.
func lookedUpFunctions(stores []store, next *uop.UOp) (functions []*uop.UOp) {
	if next == nil {
		return nil
	}
	heavy := map[*uop.UOp]bool{}
	for _, u := range (&body{stores: stores}).values() {
		if !u.DType.IsFloat() || u.Op == uop.Index || len(u.Ranges()) == 0 {
			continue
		}
		inner := func(s *uop.UOp) bool { return heavy[s] && s.Op != uop.Reduce }
		if u.InRange(next) {
			functions = appendNew(functions, slices.DeleteFunc(slices.Clone(u.Src), func(s *uop.UOp) bool { return !inner(s) }))
		} else {
			heavy[u] = functionWeight(u.Op) >= leastFunction && isLookedUp(u) || slices.ContainsFunc(u.Src, inner)
		}
	}
	return slices.DeleteFunc(functions, func(u *uop.UOp) bool { return u.HasOp(uop.Ops(uop.Reduce, uop.Bufferize)) })
}

// oneLane is the cycles that a function takes in one lane, where each operation waits for the previous one.
func oneLane(u *uop.UOp) (cycles float64) {
	for _, x := range u.Toposort() {
		if !x.DType.IsIndex() && len(x.Ranges()) > 0 {
			cycles += weight(x) * latencyFactor
		}
	}
	return cycles * float64(volume(u.Ranges()))
}

// latencyFactor is the latency of an operation relative to its cost in a series of independent vectors (weight).
const latencyFactor = 3

// leastFunction is the least weight of a function that is costly in one lane.
const leastFunction = 12

// isLookedUp reports whether a value is computed from a load whose index is loaded.
func isLookedUp(u *uop.UOp) bool {
	return u.Find(func(x *uop.UOp) bool { return x.Op == uop.Index && x.Src[1].HasOp(uop.Ops(uop.Param)) }) != nil
}

// nextElement is a loop in which a store has stride 1, else the last loop of a reduction; nil if there is neither.
func nextElement(stores []store) *uop.UOp {
	for _, s := range stores {
		for _, r := range s.loops {
			if sizeOf(r) > 1 && strideIn(s.index().GetIdx(), r) == 1 {
				return r
			}
		}
	}
	for _, u := range (&body{stores: stores}).values() {
		if u.Op == uop.Reduce {
			return u.Src[len(u.Src)-1]
		}
	}
	return nil
}

// irregular reports whether the iterations of a loop load elements that are not consecutive, or under different conditions.
func irregular(l, next *uop.UOp) bool {
	at := l.Src[1]
	if n := strideIn(at.GetIdx(), next); n != 0 && n != 1 {
		return true
	}
	return at.GetValid().InRange(next)
}

// positions are the indices through which a value depends on loops.
type positions struct {
	at    []*uop.UOp // each from 0 to its size
	sizes []int64
	// loops are new loops over the positions; to maps the indices, and single loops, to expressions of them.
	loops []*uop.UOp
	to    map[*uop.UOp]*uop.UOp
	// lookups: some of the indices are loaded.
	lookups bool
}

// add adds a position with size values from 0 on and returns its new loop.
func (p *positions) add(f *fuser, at, like *uop.UOp, size int64) (r *uop.UOp) {
	f.ranges++
	r = like.With(like.Src[0].IntLike(size)).WithArg(uop.RangeArg{ID: []int{f.ranges}, Type: uop.AxisLoop})
	p.at, p.sizes, p.loops = append(p.at, at), append(p.sizes, size), append(p.loops, r)
	return r
}

// elements is the number of combinations of positions.
func (p *positions) elements() int64 { return volume(p.loops) }

// storedFirst returns bodies that store a value for each of its positions, and the load that replaces it; nil if that is not possible.
func (f *fuser) storedFirst(u, next *uop.UOp, lookups bool) (bodies []*body, read *uop.UOp, elements int64) {
	p := f.positionsOf(u, next, lookups)
	if p == nil || !lookups && !isLookedUp(u) || p.elements() > 2*volume(u.Ranges()) {
		return nil, nil, 0
	}
	elements = p.elements()
	first := &body{loops: p.loops}
	value := simplify(replace(u, p.to))
	if len(within(p.loops, value.Ranges())) < len(value.Ranges()) {
		return nil, nil, 0
	}
	slot := len(f.slots)
	f.slots = append(slices.Clip(f.slots), schedule.Slot{DType: u.DType, Size: elements, Input: -1, Output: -1})
	memory := u.Graph().New(uop.Param, u.DType.Ptr(elements, uop.Global), nil, uop.Num(slot), nil)
	first.stores = []store{{slot, memory.IndexPtr(rowMajorIndex(first.loops)), value, first.loops}}
	row := p.at[0]
	for i, at := range p.at[1:] {
		row = row.MulInt(p.sizes[i+1]).Add(at)
	}
	row = simplify(row)
	if p.lookups && u.Src[1].Op == uop.Where { // a loaded index may be out of bounds; without lookups, 0 is stored for it
		row = u.Src[1].With(u.Src[1].Src[0], row, u.Src[1].Src[2])
	}
	bodies = []*body{first}
	if first.selects() {
		bodies = f.pieces(first)
	}
	return bodies, memory.IndexBy(row), elements
}

// positionsOf are the positions of a value, that of loop next last: sums of loops on which the value depends in no other way, with lookups also
// loaded indices, and single loops. nil if a single loop has a variable trip count.
func (f *fuser) positionsOf(u, next *uop.UOp, lookups bool) *positions {
	p, covered := &positions{to: map[*uop.UOp]*uop.UOp{}}, map[*uop.UOp]bool{}
	for _, n := range slices.Backward(u.Toposort()) {
		of := n.Ranges()
		if n == u || n.Op == uop.Range || !n.DType.IsIndex() || len(of) == 0 || slices.ContainsFunc(of, func(r *uop.UOp) bool { return covered[r] }) {
			continue
		}
		if !onlyThrough(u, n) || !f.addDigits(p, n, next) && !(lookups && f.addLookup(p, n, u)) {
			continue
		}
		for _, r := range of {
			covered[r] = true
		}
	}
	alone := slices.Clone(u.Ranges())
	slices.SortStableFunc(alone, byID) // as they are nested
	for _, r := range alone {
		if variable(r) {
			return nil
		}
		if !covered[r] {
			p.to[r] = p.add(f, r, r, sizeOf(r))
		}
	}
	for i, at := range p.at {
		if at.InRange(next) { // last
			r, size := p.loops[i], p.sizes[i]
			p.at = append(slices.Delete(p.at, i, i+1), at)
			p.loops = append(slices.Delete(p.loops, i, i+1), r)
			p.sizes = append(slices.Delete(p.sizes, i, i+1), size)
			break
		}
	}
	return p
}

// addLookup adds the values of the loaded index n as a position, if the conditions of the load u bound them.
func (f *fuser) addLookup(p *positions, n, u *uop.UOp) bool {
	if !n.HasOp(uop.Ops(uop.Index)) || u.Op != uop.Index {
		return false
	}
	lo, hi := int64(-1), int64(-1)
	for _, c := range u.Src[1].GetValid().SplitUOp(uop.And) {
		if b, known := symbolic.ParseValid(c); known && b.X == n {
			if b.Upper {
				hi, _ = b.C.Int64()
			} else {
				lo, _ = b.C.Int64()
			}
		}
	}
	if lo != 0 || hi < 0 {
		return false
	}
	p.to[n], p.lookups = p.add(f, n, n.Ranges()[0], hi+1), true
	return true
}

// addDigits splits a sum of loops into digits that do not overlap, and adds each as a position: x*1535 + (y+z)*2 + w has three. At least one
// must be a sum of several loops: it has fewer values than its loops have iterations.
func (f *fuser) addDigits(p *positions, n, next *uop.UOp) bool {
	var ts []term
	constant, ok := int64(0), true
	symbolic.EachTerm(n, 1, func(t *uop.UOp, stride int64) {
		switch {
		case t.Op == uop.Range && !variable(t):
			ts = append(ts, term{t, stride})
		case t.Op == uop.ConstOp:
			c, known := t.ConstVal().Int64()
			constant, ok = constant+c*stride, ok && known
		default:
			ok = false
		}
	})
	if !ok || len(ts) < 2 {
		return false
	}
	slices.SortStableFunc(ts, func(a, b term) int { return cmp.Compare(max(a.stride, -a.stride), max(b.stride, -b.stride)) })
	var digits [][]term
	reach, shared := int64(0), false // the greatest value of the digits so far, from the least
	for _, t := range ts {
		s := max(t.stride, -t.stride)
		if len(digits) > 0 && s <= reach {
			last := &digits[len(digits)-1]
			*last = append(*last, t)
			shared = true
		} else {
			digits = append(digits, []term{t})
		}
		reach += s * (sizeOf(t.r) - 1)
	}
	if !shared {
		return false
	}
	value := n.IntLike(constant)
	for _, d := range slices.Backward(digits) {
		unit, most := int64(0), int64(0)
		for _, t := range d {
			unit = gcd(unit, max(t.stride, -t.stride))
		}
		at := n.IntLike(0)
		for _, t := range d {
			k, last := t.stride/unit, sizeOf(t.r)-1
			most += max(k, -k) * last
			if k < 0 {
				at = at.Add(at.IntLike(-k * last))
			}
			at = at.Add(t.r.MulInt(k))
		}
		at = symbolic.Simplify(at)
		// at has the values from 0 to most; the digit is unit * at + lo, where lo is the least value of its negative terms.
		lo := int64(0)
		for _, t := range d {
			if t.stride < 0 {
				lo += t.stride * (sizeOf(t.r) - 1)
			}
		}
		var r *uop.UOp
		if strideIn(at, next) == -1 && at.InRange(next) && backwards(d, next) {
			r = p.add(f, symbolic.Simplify(at.IntLike(most).Sub(at)), d[0].r, most+1)
			r = r.IntLike(most).Sub(r)
		} else {
			r = p.add(f, at, d[0].r, most+1)
		}
		value = value.Add(r.MulInt(unit)).Add(value.IntLike(lo))
	}
	p.to[n] = symbolic.Simplify(value)
	return true
}

// backwards reports whether a sum has a negative stride in a loop.
func backwards(ts []term, r *uop.UOp) bool {
	return slices.ContainsFunc(ts, func(t term) bool { return t.r == r && t.stride < 0 })
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// onlyThrough reports whether a value depends on the loops of an index through this index only.
func onlyThrough(u, n *uop.UOp) bool {
	of := n.Ranges()
	return !slices.ContainsFunc(u.ToposortGated(func(x *uop.UOp) bool { return x != n }), func(x *uop.UOp) bool { return slices.Contains(of, x) })
}
