package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// weight is the cost of an operation relative to an addition, measured with vectors in L1.
func weight(u *uop.UOp) float64 {
	if roundsResult(u) {
		return functionWeight(u.Op) + roundWork
	}
	return functionWeight(u.Op)
}

// roundWork is the cost of rounding a result to less than 32 bits.
const roundWork = 7

// roundsResult reports whether a value is a small float that is computed in 32 bits.
func roundsResult(u *uop.UOp) bool {
	if !u.DType.IsFloat() || u.DType.Itemsize() >= 4 {
		return false
	}
	switch u.Op {
	case uop.Add, uop.Sub, uop.Mul, uop.Fdiv, uop.Reciprocal, uop.Exp2, uop.Exp, uop.Log2, uop.Sqrt, uop.Sin, uop.Cos, uop.Tanh, uop.Pow:
		return true
	case uop.Cast:
		return u.Src[0].DType.Itemsize() > u.DType.Itemsize()
	}
	return false
}

// functionWeight is weight of an operation whose result needs no rounding.
func functionWeight(op uop.Op) float64 {
	switch op {
	case uop.ConstOp, uop.Param, uop.Range, uop.DefineVar:
		return 0
	case uop.Reciprocal, uop.Fdiv:
		return 10
	case uop.Exp2, uop.Sqrt:
		return 12
	case uop.Exp, uop.Log2:
		return 18
	case uop.Idiv, uop.Mod:
		return 20
	case uop.Sin, uop.Cos:
		return 24
	case uop.Tanh:
		return 36
	case uop.Pow, uop.Threefry:
		return 100
	}
	return 1
}

// work is the cost of a value without its operands. Gathered elements are loaded one by one.
func (m *Machine) work(u *uop.UOp) float64 {
	if isGather(u) {
		return float64(issued * m.Lanes)
	}
	return weight(u)
}

// isGather reports whether a load has a loaded index and is contiguous along none of its loops.
func isGather(u *uop.UOp) bool {
	return u.Op == uop.Index && u.Src[1].Find(func(v *uop.UOp) bool { return v.Op == uop.Index }) != nil &&
		!slices.ContainsFunc(u.Ranges(), func(r *uop.UOp) bool { return strideIn(u.Src[1].GetIdx(), r) == 1 })
}

// countWork estimates the arithmetic of a run: the work of each value times the number of evaluations.
func (b *body) countWork(m *Machine) float64 {
	order, ok := loopOrder(b)
	if !ok {
		order = b.loops
	}
	total, wide := 0.0, false
	values := b.values()
	around := outerLoops(values)
	rows := b.rowLoops(order)
	var halves map[*uop.UOp]bool
	if !b.reduces() { // rows have too few vectors for the latency of THREEFRY
		halves = inHalves(values)
	}
	for _, u := range values {
		if u.DType.IsIndex() {
			continue
		}
		rs := slices.Concat(u.Ranges(), around[u])
		if u.Op == uop.Reduce {
			rs = slices.Concat(rs, u.Src[1:])
		}
		// A value that depends on a loop is also inside of the loop's outer loops.
		last := -1
		for i, r := range order {
			if slices.Contains(rs, r) {
				last = i
			}
		}
		times := volume(order[:last+1])
		for i, r := range rs {
			if !slices.Contains(order, r) && !slices.Contains(rs[:i], r) {
				times *= sizeOf(r)
			}
		}
		work := m.work(u) * float64(times)
		if i := slices.IndexFunc(rows, u.InRange); i >= 0 {
			work *= m.lanesPerElement(sizeOf(rows[i]))
		}
		total += work
		wide = wide || times > 1 && isWide(u) && !halves[u]
	}
	if wide {
		total *= wideWork
	}
	return total
}

// lanesPerElement is the number of lanes that vectors compute for each element of a row, which may end in the middle of a vector.
func (m *Machine) lanesPerElement(row int64) float64 {
	if row < minContiguousRun {
		return 1 // vectors have elements of several rows
	}
	lanes := int64(m.Lanes)
	return float64((row+lanes-1)/lanes*lanes) / float64(row)
}

// rowLoops are the innermost loops that start again in each row, so that their last vector may be partly filled: those of reductions
// along vectors, of rows in scratch memory, and of stores whose rows do not form one contiguous loop.
func (b *body) rowLoops(order []*uop.UOp) (loops []*uop.UOp) {
	var rows [][]*uop.UOp
	for _, u := range b.values() {
		if u.Op == uop.Reduce && b.alongVectors(u) || u.Op == uop.Bufferize {
			loops = append(loops, u.Src[len(u.Src)-1])
			rows = append(rows, b.loopsOf(u))
		}
	}
	for _, s := range b.stores {
		path := within(order, s.loops)
		if len(path) < 2 || slices.ContainsFunc(rows, func(outer []*uop.UOp) bool { return sameSet(outer, path) }) {
			continue // it stores one element of each row
		}
		if r, outer := path[len(path)-1], path[len(path)-2]; strideIn(s.index(), r) == 1 && !s.contiguousRows(r, outer) {
			loops = append(loops, r)
		}
	}
	return loops
}

// contiguousRows reports whether loop r and the loop outer around it can run as one loop: the rows of the store and of all its operands are
// contiguous.
func (s *store) contiguousRows(r, outer *uop.UOp) bool {
	ofRow := func(u *uop.UOp) bool { // it is one value for a whole row, or its rows are not contiguous
		if u.Op == uop.Index {
			at := u.Src[1].GetIdx()
			return strideIn(at, outer) != sizeOf(r)*strideIn(at, r)
		}
		return u.Op == uop.Reduce && u.InRange(outer)
	}
	operands := s.value.ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce })
	return strideIn(s.index(), outer) == sizeOf(r) && !slices.ContainsFunc(operands, func(u *uop.UOp) bool {
		return ofRow(u) || slices.ContainsFunc(u.Src, ofRow)
	})
}

// wideWork is the slowdown of a kernel with 64-bit elements, whose vectors have half as many lanes. Values that are computed once before
// the loops do not count.
const wideWork = 2

// inHalves are the 64-bit values that are computed as two halves of 32 bits: THREEFRY, its operands, and the operations on its result up to the
// cast that takes a half of it.
func inHalves(values []*uop.UOp) map[*uop.UOp]bool {
	if !slices.ContainsFunc(values, isThreefry) {
		return nil
	}
	before, after := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}
	for _, u := range slices.Backward(values) {
		for _, s := range u.Src {
			before[s] = before[s] || before[u] || isThreefry(u)
		}
	}
	for _, u := range values {
		after[u] = isThreefry(u) || u.Op != uop.Cast && isWide(u) && slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return after[s] })
	}
	for _, u := range values {
		after[u] = after[u] || before[u]
	}
	return after
}

func isThreefry(u *uop.UOp) bool { return u.Op == uop.Threefry }

func isWide(u *uop.UOp) bool {
	return u.Op != uop.ConstOp && u.Op != uop.Range && u.Op != uop.DefineVar && u.DType.Itemsize() == 8
}

// outerLoops maps each value that is computed inside the loop of a reduction to the ranges around this loop.
func outerLoops(values []*uop.UOp) map[*uop.UOp][]*uop.UOp {
	out := map[*uop.UOp][]*uop.UOp{}
	for _, red := range values {
		if red.Op != uop.Reduce {
			continue
		}
		for _, u := range red.Src[0].Toposort() {
			if len(within(u.Ranges(), red.Src[1:])) > 0 {
				out[u] = append(out[u], red.Ranges()...)
			}
		}
	}
	return out
}

// contraction reports whether the body has a reduction that uses every value it loads several times: a matrix product
// or a convolution. Such loops are tiled and must stay as they are.
func (b *body) contraction() bool {
	if !b.known {
		b.product = slices.ContainsFunc(b.values(), func(u *uop.UOp) bool { return u.Op == uop.Reduce && contracts(u) })
		b.known = true
	}
	return b.product
}

// reduces reports whether the body has a reduction.
func (b *body) reduces() bool {
	return slices.ContainsFunc(b.values(), func(u *uop.UOp) bool { return u.Op == uop.Reduce })
}

func contracts(red *uop.UOp) bool {
	loads, all := 0, slices.Concat(red.Ranges(), red.Src[1:])
	inside := red.Src[0].ToposortGated(func(u *uop.UOp) bool { return u.Op != uop.Reduce })
	for _, u := range inside {
		if u.Op != uop.Index || len(within(u.Ranges(), red.Src[1:])) == 0 {
			continue
		}
		loads++
		if len(within(all, u.Ranges())) == len(all) {
			return false
		}
	}
	return loads > 1
}
