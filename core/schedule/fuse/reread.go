package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// storeReread decides whether to store a value that would be recomputed at each read, several times or in the loops of a reduction. Doubtful
// cases are left to the passes that merge kernels.
func (f *fuser) storeReread(r schedule.Reread) bool {
	m := &f.o.Machine
	c := Costs{Elements: r.Elements, Evaluations: r.Evaluations}
	if f.o.Invocations || r.Reduces { // a loop that selects among this value and others is not unrolled
		c.Evaluations *= r.Choices
	}
	again := float64(c.Evaluations - c.Elements)
	// Scalar code takes an operation for each element. A running reduction with its steps in lanes takes longer with this computation in it, but
	// not as long as memory beyond L2 would.
	if r.OneByOne && !(r.Steps && r.Elements*int64(r.Value.DType.Itemsize()) > m.L2) {
		again = float64(c.Evaluations*int64(m.Lanes) - c.Elements)
	}
	switch {
	case r.Selects:
		c.Work = float64(issued * m.Lanes) // a gather
	case again > 0 || r.Reduced || r.Row > 0 || len(r.Lookups) > 0 || f.observed():
		c.Work = f.workBelow(r.Value, r.Users)
	}
	c.RecomputeCycles = m.vectorCycles(again * c.Work)
	if r.Reduced && f.gathersNeighbours(r.Value) {
		c.GatherCycles = float64(c.Evaluations) - m.vectorCycles(float64(c.Elements)*transposeWork)
		c.RecomputeCycles += c.GatherCycles
	}
	if r.Factor && c.Work < factorWork && slices.ContainsFunc(boundedSubgraph(r.Value), f.joinsOrders) {
		c.ChosenCycles = float64(c.Elements)*choiceCycles - m.vectorCycles(float64(c.Elements)*transposeWork)
	}
	if more := m.gathersCycles(r.Lookups) - m.gatherCycles(r.Elements, r.Value.DType); len(r.Lookups) > 0 && more > 0 {
		c.GatherCycles = float64(c.Evaluations) * more
		c.RecomputeCycles += c.GatherCycles
	}
	// Vectors are partly filled at the ends of rows. The terms of a product (no operand has about as many elements) are computed in its tiles.
	once := func(leaf *uop.UOp) bool { return !computedWithUser(leaf) && 2*leaf.Shape().MaxNumel() > c.Elements }
	if r.Row > 0 && slices.ContainsFunc(boundedSubgraph(r.Value), once) {
		c.RecomputeCycles += m.vectorCycles(float64(c.Evaluations) * c.Work * (m.lanesPerElement(r.Row) - 1))
	}
	c.StoreCycles = m.storeCycles(c.Elements, r.Value.DType)
	if again > 0 && !f.o.Invocations && f.columnMajor(r.Value) {
		s := r.Value.Shape()
		c.StoreCycles += m.vectorCycles(float64(c.Elements)*transposeWork) + float64(c.Elements/max(s[lastLong(s)].Max(), 1))*rowWork
	}
	reason := f.o.judgeReread(&r, &c)
	f.observeValue(r.Value, reason, c)
	return reason.stores()
}

func (o *Options) judgeReread(r *schedule.Reread, c *Costs) Reason {
	switch {
	case r.Copies > schedule.MaxCopies && widens(r.Value): // its source is stored instead
		return NarrowStored
	case r.Copies > schedule.MaxCopies:
		return CodeRepeated
	case r.Scatters:
		return TermsScattered
	case r.Value.Op == uop.ReduceAxis && r.Reduced && !r.Selects:
		return NestedReduction
	case r.Value.Op == uop.ReduceAxis && c.Elements == 1 && r.Iterations > max(o.SmallWork, 1):
		return RowsShared
	case c.RecomputeCycles <= 0:
		return ComputedOnce
	case isMask(r.Value):
		return CheapMask
	case widens(r.Value):
		return NarrowStored
	case r.Factor && c.Work < factorWork && (o.Invocations || c.ChosenCycles <= c.StoreCycles):
		return CheapFactor
	case c.RecomputeCycles < c.StoreCycles:
		return CheapRecompute
	}
	return RereadPays
}

// storeCycles is the number of cycles to store elements and to load them again.
func (m *Machine) storeCycles(elements int64, dt *uop.DType) float64 {
	return m.launchCycles() + 2*m.transferCycles(elements*int64(dt.Itemsize()))
}

// gatherCycles is the measured cost of gathering one of `of` elements: higher without gather instructions, which exist for elements of 4 and
// 8 bytes, and if each element is a cache line from beyond L2.
func (m *Machine) gatherCycles(of int64, dt *uop.DType) float64 {
	cycles := 1 + 12/float64(m.Lanes)
	if dt.Itemsize() < 4 {
		cycles = max(cycles, 3)
	}
	if of*int64(dt.Itemsize()) > m.L2 {
		cycles = max(cycles, 4)
	}
	return cycles
}

// gathersCycles is the cost of gathering an element of each of some values.
func (m *Machine) gathersCycles(of []*uop.UOp) (cycles float64) {
	for _, u := range of {
		cycles += m.gatherCycles(u.Shape().MaxNumel(), u.DType)
	}
	return cycles
}

const (
	// factorWork is the least work for which a factor of a sum is stored: the tiles of a product compute it once for many terms.
	factorWork = 8
	// padWork is the cost of the condition of a padded value.
	padWork = 4
	// transposeWork is the cost of transposing an element in registers, with its neighbours.
	transposeWork = 5
	// choiceCycles is the cost of choosing one element among two that are loaded one by one.
	choiceCycles = 2
	// rowWork is the cost of the horizontal reduction of a vector to an element, in cycles.
	rowWork = 8
)

// isMask reports whether a value is a bool, or one of two constants: masks are recomputed, or vanish with the sum over them.
func isMask(u *uop.UOp) bool {
	for u.Op == uop.Cast && !u.DType.IsBool() {
		u = u.Src[0]
	}
	return u.DType.IsBool() || u.Op == uop.Where && isConstant(u.Src[1]) && isConstant(u.Src[2])
}

// isConstant reports whether all elements of a value are one constant.
func isConstant(u *uop.UOp) bool {
	for u.Op == uop.Cast || u.Op == uop.Reshape || u.Op == uop.Expand {
		u = u.Src[0]
	}
	return u.Op == uop.ConstOp
}

// widens reports whether a value is a cast to a larger type, so that its source takes less memory.
func widens(u *uop.UOp) bool {
	return u.Op == uop.Cast && u.Src[0].DType.Itemsize() < u.DType.Itemsize()
}

// workBelow estimates the operations that compute an element of a value from buffers. Values that are uniform along the last axis are
// computed once for its elements. Values that a reduction reads, too, do not count if storing them pays.
func (f *fuser) workBelow(u *uop.UOp, users func(*uop.UOp) []*uop.UOp) float64 {
	const most = 32
	total, terms := inlineWeight(u), 1.0
	if u.Op == uop.ReduceAxis {
		terms = float64(u.Src[0].Shape().MaxNumel()) / float64(max(u.Shape().MaxNumel(), 1))
		total = terms
	}
	type part struct {
		of    *uop.UOp
		share float64
	}
	var few [2 * most]part
	seen := append(few[:0], part{u, terms})
	shareOf := func(u *uop.UOp) float64 { // in the last entry of the node
		for i := len(seen) - 1; i >= 0; i-- {
			if seen[i].of == u {
				return seen[i].share
			}
		}
		return 0
	}
	for i := 0; i < len(seen) && i < most; i++ {
		u := seen[i].of
		share := shareOf(u) / repeatsAlongLast(u)
		for _, s := range u.Src {
			if !computedWithUser(s) {
				continue
			}
			before := shareOf(s)
			if before >= share || f.storedForReduction(s, users) {
				continue
			}
			more := share - before
			seen = append(seen, part{s, share})
			total += inlineWeight(s) * more
		}
	}
	return total
}

// inlineWeight is the cost of an operation that is computed in the loops of its users. Each PAD counts as a condition; a disjoint sum of two,
// such as a concatenation, chooses between them with one condition and does not add, so it takes one back.
func inlineWeight(u *uop.UOp) float64 {
	switch {
	case u.Op == uop.Pad:
		return padWork
	case u.Op == uop.Add && u.Arg == uop.Disjoint:
		return -padWork
	case uop.GroupElementwise.Has(u.Op):
		return weight(u)
	}
	return 0
}

// storedForReduction reports whether a value is read by a reduction and by others, and takes longer to compute than to store.
func (f *fuser) storedForReduction(u *uop.UOp, users func(*uop.UOp) []*uop.UOp) bool {
	stored, known := f.stored[u]
	if !known {
		of, m := users(u), &f.o.Machine
		stored = len(of) > 1 && slices.ContainsFunc(of, func(c *uop.UOp) bool { return c.Op == uop.ReduceAxis }) &&
			m.vectorCycles(float64(u.Shape().MaxNumel())*f.workBelow(u, users)) > m.storeCycles(u.Shape().MaxNumel(), u.DType)
		if f.stored == nil {
			f.stored = map[*uop.UOp]bool{}
		}
		f.stored[u] = stored
	}
	return stored
}

// repeatsAlongLast is the number of times that an EXPAND repeats its source along the last axis, 1 for other operations.
func repeatsAlongLast(u *uop.UOp) float64 {
	if u.Op != uop.Expand {
		return 1
	}
	from, to := u.Src[0].Shape(), u.Shape()
	last := len(to) - 1
	if last < 0 || !from[last].IsNum(1) {
		return 1
	}
	return float64(max(uop.Shape{to[last]}.MaxNumel(), 1))
}

// columnMajor reports whether operands are contiguous along another axis than the last, so that a reduction has its results in lanes unless
// the value is stored, transposed, and read along rows.
func (f *fuser) columnMajor(u *uop.UOp) bool {
	if f.next == nil {
		f.next = contiguousAxes{}
	}
	axis := f.next.next(u)
	return axis >= 0 && axis != lastLong(u.Shape())
}

// gathersNeighbours reports whether a value is computed from operands that are contiguous along different axes, each used about once. Without
// a reduction such operands are transposed in registers; the loops of a reduction load some of them one by one.
func (f *fuser) gathersNeighbours(u *uop.UOp) bool {
	if f.next == nil {
		f.next = contiguousAxes{}
	}
	for _, s := range boundedSubgraph(u) {
		// A broadcast value is stored by itself.
		if uop.GroupElementwise.Has(s.Op) && 2*s.Shape().MaxNumel() > u.Shape().MaxNumel() && f.ordersDiffer(s) {
			return true
		}
	}
	return false
}

// joinsOrders reports whether a value joins two operands that are contiguous along different axes: then neither vectors along rows nor vectors
// along columns can select among them.
func (f *fuser) joinsOrders(u *uop.UOp) bool {
	if f.next == nil {
		f.next = contiguousAxes{}
	}
	if u.Op != uop.Add || u.Arg != uop.Disjoint {
		return false
	}
	a, b := f.next.next(u.Src[0]), f.next.next(u.Src[1])
	return a >= 0 && b >= 0 && a != b
}

// ordersDiffer reports whether two sources of a function are contiguous along different axes, and neither is broadcast.
func (f *fuser) ordersDiffer(u *uop.UOp) bool {
	n, found := u.Shape().MaxNumel(), anyAxis
	for _, s := range u.Src {
		axis := f.next.next(s)
		once := func(leaf *uop.UOp) bool { return !computedWithUser(leaf) && 2*leaf.Shape().MaxNumel() > n }
		if axis == anyAxis || len(s.Shape()) != len(u.Shape()) || !slices.ContainsFunc(boundedSubgraph(s), once) {
			continue
		}
		if found != anyAxis && axis != found {
			return true
		}
		found = axis
	}
	return false
}

// boundedSubgraph lists a value and, transitively, its operands in the same loops and the leaves, up to a limit.
func boundedSubgraph(u *uop.UOp) []*uop.UOp {
	const most = 32
	seen := []*uop.UOp{u}
	for i := 0; i < len(seen) && i < most; i++ {
		if i > 0 && !computedWithUser(seen[i]) {
			continue
		}
		for _, s := range seen[i].Src {
			if !s.DType.IsIndex() && !slices.Contains(seen, s) {
				seen = append(seen, s)
			}
		}
	}
	return seen
}

// computedWithUser reports whether a value is computed in the loops of its consumer.
func computedWithUser(u *uop.UOp) bool {
	return uop.GroupElementwise.Has(u.Op) || uop.GroupMovement.Has(u.Op)
}
