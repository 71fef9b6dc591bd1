package fuse

import (
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// storeReread decides whether a value is stored that would be computed where it is read: in the loops of a reduction, or
// several times. What is not sure to gain by that is left to the passes that merge kernels.
func (f *fuser) storeReread(r schedule.Reread) bool {
	m := &f.o.Machine
	c := Costs{Elements: r.Elements, Evaluations: r.Evaluations, Work: f.workBelow(r.Value, r.Users)}
	if r.Selects {
		c.Work = float64(issued * m.Lanes) // elements are looked up one by one
	}
	again := float64(c.Evaluations - c.Elements)
	if r.OneByOne {
		again = float64(c.Evaluations*int64(m.Lanes) - c.Elements)
	}
	c.AgainCycles = m.computing(again * c.Work)
	if r.Reduced && f.gathers(r.Value) {
		c.GatherCycles = float64(c.Evaluations) - m.computing(float64(c.Elements)*transposeWork)
		c.AgainCycles += c.GatherCycles
	}
	if more := m.lookups(r.Lookups) - m.lookup(r.Value.DType); len(r.Lookups) > 0 && more > 0 {
		c.GatherCycles = float64(c.Evaluations) * more
		c.AgainCycles += c.GatherCycles
	}
	c.StoreCycles = m.storing(c.Elements, r.Value.DType)
	reason := f.o.judgeReread(&r, &c)
	f.observeValue(r.Value, reason, c)
	return reason.stores()
}

func (o *Options) judgeReread(r *schedule.Reread, c *Costs) Reason {
	switch {
	case r.Copies > schedule.MaxCopies:
		return CodeRepeated
	case r.Scatters:
		return TermsScattered
	case r.Value.Op == uop.ReduceAxis && r.Reduced && !r.Selects:
		return NestedReduction
	case r.Value.Op == uop.ReduceAxis && c.Elements == 1 && r.Iterations > max(o.SmallWork, 1):
		return RowsShared
	case c.Evaluations <= c.Elements && !r.OneByOne && c.GatherCycles <= 0:
		return ComputedOnce
	case isMask(r.Value):
		return CheapMask
	case widens(r.Value):
		return NarrowStored
	case r.Factor && c.Work < factorWork:
		return CheapFactor
	case c.AgainCycles < c.StoreCycles:
		return CheapAgain
	}
	return RereadPays
}

// storing is how many cycles it takes to store elements and to load them again.
func (m *Machine) storing(elements int64, dt *uop.DType) float64 {
	return m.launch() + 2*m.passing(elements*int64(dt.Itemsize()))
}

// lookup is how many cycles it takes to load an element whose place is looked up, as measured: longer without instructions for it, which
// there are for elements of 4 and 8 bytes.
func (m *Machine) lookup(dt *uop.DType) float64 {
	cycles := 1 + 12/float64(m.Lanes)
	if dt.Itemsize() < 4 {
		return max(cycles, 3)
	}
	return cycles
}

// lookups is how many cycles it takes to look up an element in each of some values.
func (m *Machine) lookups(of []*uop.UOp) (cycles float64) {
	for _, u := range of {
		cycles += m.lookup(u.DType)
	}
	return cycles
}

const (
	// factorWork is from where on a factor of the terms of a sum is stored: the tiles of a product compute it once for many terms.
	factorWork = 8
	// padWork is the cost of the condition of a padded value.
	padWork = 4
	// transposeWork is the cost of transposing an element in registers, with its neighbours.
	transposeWork = 5
)

// isMask reports whether a value is a bool, or one of two constants: masks are compared anew, or vanish with the sum over
// them.
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

// workBelow estimates the operations that it takes to compute an element of a value from buffers. What is the same along the last axis is
// computed once for its elements. What a reduction reads, too, will be stored if that pays.
func (f *fuser) workBelow(u *uop.UOp, users func(*uop.UOp) []*uop.UOp) float64 {
	const most = 32
	total, terms := weight(u), 1.0
	if u.Op == uop.ReduceAxis {
		terms = float64(u.Src[0].Shape().MaxNumel()) / float64(max(u.Shape().MaxNumel(), 1))
		total = terms
	}
	seen := []*uop.UOp{u}
	shares := map[*uop.UOp]float64{u: terms}
	for i := 0; i < len(seen) && i < most; i++ {
		share := shares[seen[i]] / repeatsAlongLast(seen[i])
		for _, s := range seen[i].Src {
			if !computedWithUser(s) || shares[s] >= share || f.storedForReduction(s, users) {
				continue
			}
			more := share - shares[s]
			shares[s] = share
			seen = append(seen, s)
			switch {
			case s.Op == uop.Pad:
				total += padWork * more
			case uop.GroupElementwise.Has(s.Op):
				total += weight(s) * more
			}
		}
	}
	return total
}

// storedForReduction reports whether a value is read by a reduction and by others, and takes longer to compute than to store.
func (f *fuser) storedForReduction(u *uop.UOp, users func(*uop.UOp) []*uop.UOp) bool {
	stored, known := f.stored[u]
	if !known {
		of, m := users(u), &f.o.Machine
		stored = len(of) > 1 && slices.ContainsFunc(of, func(c *uop.UOp) bool { return c.Op == uop.ReduceAxis }) &&
			m.computing(float64(u.Shape().MaxNumel())*f.workBelow(u, users)) > m.storing(u.Shape().MaxNumel(), u.DType)
		if f.stored == nil {
			f.stored = map[*uop.UOp]bool{}
		}
		f.stored[u] = stored
	}
	return stored
}

// repeatsAlongLast is how often an EXPAND repeats its source along the last axis, 1 for other operations.
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

// gathers reports whether a value is computed of elements whose neighbours lie along different axes, each of which is used about once.
// Where nothing is reduced such elements are turned in registers; the loops of a reduction load some of them one by one.
func (f *fuser) gathers(u *uop.UOp) bool {
	if f.next == nil {
		f.next = neighbours{}
	}
	for _, s := range below(u) {
		// What is repeated is stored by itself.
		if uop.GroupElementwise.Has(s.Op) && 2*s.Shape().MaxNumel() > u.Shape().MaxNumel() && f.turnsAgainst(s) {
			return true
		}
	}
	return false
}

// turnsAgainst reports whether two sources of a function lie in different orders, and neither is repeated.
func (f *fuser) turnsAgainst(u *uop.UOp) bool {
	n, found := u.Shape().MaxNumel(), anywhere
	for _, s := range u.Src {
		axis := f.next.next(s)
		once := func(leaf *uop.UOp) bool { return !computedWithUser(leaf) && 2*leaf.Shape().MaxNumel() > n }
		if axis == anywhere || len(s.Shape()) != len(u.Shape()) || !slices.ContainsFunc(below(s), once) {
			continue
		}
		if found != anywhere && axis != found {
			return true
		}
		found = axis
	}
	return false
}

// below are a value, its operands in the same loops, transitively, and the leaves; the list is cut off at a limit.
func below(u *uop.UOp) []*uop.UOp {
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
