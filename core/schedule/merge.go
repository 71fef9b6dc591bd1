package schedule

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// A loop over few elements takes less time than the launches of its kernels, so it becomes one kernel: a sequential loop over iterations that
// contains the loops of the kernels one after the other. A batch of such loops, whose elements lie one after the other in memory, is an outer
// parallel loop: the elements of each stay in the cache.

// Limits of such a kernel: the elements that an iteration computes (with a batch: an iteration of one loop), all in one thread, and the buffers.
const (
	maxMerged        = 1 << 14
	maxMergedBuffers = 16
)

// fuseLoopKernels fuses a loop of kernels into one kernel, nil with the reason if that is impossible or does not pay. The loop becomes one over
// launches of the kernel.
func (s *Schedule) fuseLoopKernels(l *Loop) (merged *Kernel, reason string) {
	kernels := s.Kernels[l.First:l.Last]
	written := map[int]bool{}
	var while *uop.UOp // the PARAM of the condition
	work, loops := int64(0), len(kernels)
	for _, k := range kernels {
		if k.AST.Op != uop.Sink {
			return nil, "it copies between devices"
		}
		for _, u := range k.AST.Toposort() {
			switch u.Op {
			case uop.Range:
				if !isPlainLoop(u) {
					return nil, "a loop of a kernel has no fixed length, or an order"
				}
			case uop.Store:
				param := u.Src[0].Src[0]
				slot := k.Bufs[int(param.Arg.(uop.Num))]
				if written[slot] = true; slot == l.While {
					while = param
				}
				work += volume(u)
			case uop.Reduce:
				work += volume(u.Src[0])
				loops++
			case uop.Bufferize:
				work += volume(u.Src[0])
			case uop.Index:
				if u.Src[0].Op != uop.Param && u.Src[0].Op != uop.Bufferize {
					return nil, "a kernel has memory of its own"
				}
			case uop.After, uop.DefineLocal, uop.DefineReg, uop.Prefix, uop.Sort:
				return nil, fmt.Sprintf("a kernel has a %s", u.Op)
			}
		}
	}
	batch, across := int64(1), make([]loopsAcross, len(kernels))
	if l.While < 0 {
		batch, across = s.batchOf(kernels, written)
	}
	if work/batch > maxMerged {
		return nil, fmt.Sprintf("%d elements in an iteration, limit %d", work/batch, maxMerged)
	}
	merged = &Kernel{}
	g := kernels[0].AST.Graph().Scratch()
	i, count, launches := l.pieces(g, loopCycles(work, loops*int(batch)))
	inside := []*uop.UOp{i}
	var of *uop.UOp
	if batch > 1 {
		of = g.Range(uop.N(batch), uop.AxisLoop, 1)
		inside = []*uop.UOp{of, i}
	}
	if l.While >= 0 {
		if while == nil {
			return nil, "the condition of the loop does not change"
		}
		merged.Bufs = append(merged.Bufs, l.While)
		goesOn := g.Import(while).WithArg(uop.Num(0)).AfterOps(i).IndexBy(g.Const(uop.IndexT, uop.Int(0)))
		inside = append(inside, guardedIteration(goesOn, 1))
	}
	ranges := len(inside)
	var ends []*uop.UOp
	for n, k := range kernels {
		k.AST = withoutUnchanged(k.AST, l.Variable.Name, across[n])
		m, here := map[*uop.UOp]*uop.UOp{}, map[*uop.UOp]*uop.UOp{} // here: loopsAcross in graph g
		for r, inner := range across[n] {
			here[g.Import(r)] = nil
			if inner != nil {
				here[g.Import(r)] = g.Import(inner).WithArg(uop.RangeArg{ID: []int{ranges}, Type: uop.AxisLoop})
				ranges++
			}
		}
		for _, u := range g.Import(k.AST).Toposort() {
			inner, isAcross := here[u]
			switch {
			case isAcross && inner == nil:
				m[u] = of
			case isAcross:
				m[u] = of.Mul(inner.Src[0]).Add(inner)
			case u.Op == uop.Range:
				m[u] = u.With(m[u.Src[0]]).WithArg(uop.RangeArg{ID: []int{ranges}, Type: u.RangeID().Type})
				ranges++
			case u.Op == uop.DefineVar && u.Arg.(uop.VarArg).Name == l.Variable.Name:
				m[u] = count.Cast(u.DType)
			case u.Op == uop.Param:
				slot := k.Bufs[int(u.Arg.(uop.Num))]
				n := slices.Index(merged.Bufs, slot)
				if n < 0 {
					n = len(merged.Bufs)
					merged.Bufs = append(merged.Bufs, slot)
				}
				m[u] = u.WithArg(uop.Num(n))
				if written[slot] {
					m[u] = m[u].AfterOps(slices.Concat(inside, ends)...)
				}
			default:
				var src []*uop.UOp
				for _, s := range u.Src {
					if inner, isAcross := here[s]; u.Op != uop.End || !isAcross {
						src = append(src, m[s])
					} else if inner != nil {
						src = append(src, inner)
					}
				}
				if m[u] = u.With(src...); u.Op == uop.End && len(src) == 1 {
					m[u] = src[0]
				}
				if u.Op == uop.Sink {
					ends = m[u].Src
					merged.AST = m[u]
				}
			}
		}
	}
	merged.AST = merged.AST.With(closeLoops(g.Group(ends...), inside))
	for _, u := range merged.AST.Toposort() {
		if u.Op == uop.DefineVar {
			merged.Vars = append(merged.Vars, u)
		}
	}
	SortVars(merged.Vars)
	if n := len(merged.Bufs); n > maxMergedBuffers {
		return nil, fmt.Sprintf("%d buffers, limit %d", n, maxMergedBuffers)
	}
	*l = launches
	return merged, ""
}

// withoutUnchanged shortens loops of a kernel over elements that keep their values, and over terms of a sum that are 0: with
// x[i] = where(j < i, y, x[i]) in iteration j, those from j + 1 on are computed, with where(i < j, y, x[i]) those below j. Each comparison of
// a conjunction may shorten a loop around a store, and one of them a loop of a sum. Loops over a batch stay.
func withoutUnchanged(kernel *uop.UOp, variable string, across loopsAcross) *uop.UOp {
	ends := slices.Clone(kernel.Src)
	for k, end := range ends {
		for end.Op == uop.End && end.Src[0].Op == uop.Store {
			store := end.Src[0]
			old := func(u *uop.UOp) bool { return u.Op == uop.Index && slices.Equal(u.Src, store.Src[0].Src) }
			s := shortened(store.Src[1], old, end.Src[1:], variable, across)
			if s == nil {
				break
			}
			end = s.of(end, store.With(store.Src[0], s.value))
		}
		ends[k] = end
	}
	kernel = kernel.With(ends...)
	uses, sums := map[*uop.UOp]int{}, []*uop.UOp(nil)
	for _, u := range kernel.Toposort() {
		if u.Op != uop.Reduce {
			continue
		}
		for _, r := range u.Src[1:] {
			uses[r]++
		}
		if u.Arg == uop.OpArg(uop.Add) {
			sums = append(sums, u)
		}
	}
	m := rewrite.Map{}
	none := func(u *uop.UOp) bool { return u.IsConst(uop.Int(0)) }
	for _, sum := range sums {
		own := slices.DeleteFunc(slices.Clone(sum.Src[1:]), func(r *uop.UOp) bool { return uses[r] > 1 })
		if s := shortened(sum.Src[0], none, own, variable, across); s != nil {
			m[sum] = s.of(sum, s.value)
		}
	}
	return rewrite.Substitute(kernel, m)
}

// shorterLoop replaces the loop r by the loop rest; position is the iteration of r that an iteration of rest does, value is computed in it.
type shorterLoop struct{ r, rest, position, value *uop.UOp }

// of is a statement around part with the shorter loop in place of r.
func (s *shorterLoop) of(statement, part *uop.UOp) *uop.UOp {
	src := slices.Clone(statement.Src)
	src[0] = rewrite.Substitute(part, rewrite.Map{s.r: s.position})
	src[slices.Index(src, s.r)] = s.rest
	return statement.With(src...)
}

// shortened is one of the loops without iterations in which v has no effect (isNone): v must be a WHERE whose condition compares the loop with
// a function of the variable. It is nil if there is no such loop. The other clauses of the condition stay in the value.
func shortened(v *uop.UOp, isNone func(*uop.UOp) bool, loops []*uop.UOp, variable string, across loopsAcross) *shorterLoop {
	if v.Op != uop.Where {
		return nil
	}
	value, none, otherwise := v.Src[1], v.Src[2], false
	clauses := v.Src[0].SplitUOp(uop.And)
	if isNone(value) && len(clauses) == 1 {
		value, none, otherwise = none, value, true
	}
	if !isNone(none) {
		return nil
	}
	for k, c := range clauses {
		negated := otherwise
		if c.Op == uop.CmpNe && c.Src[1].IsConst(uop.BoolConst(true)) {
			c, negated = c.Src[0], !negated
		}
		if c.Op != uop.CmpLt {
			continue
		}
		from := int64(1)
		if negated {
			from = 0
		}
		left, right := withoutCasts(c.Src[0]), withoutCasts(c.Src[1])
		r, limit, above := right, left, !negated
		if left.Op == uop.Range {
			r, limit, above = left, right, negated
		}
		if _, isAcross := across[r]; !slices.Contains(loops, r) || isAcross || r.Src[0].Op != uop.ConstOp || !countsBy(limit, variable) {
			continue
		}
		n := r.Src[0].ConstVal().I()
		limit = limit.Cast(uop.IndexT)
		first, length := limit.Graph().Const(uop.IndexT, uop.Int(0)), limit.AddInt(1-from)
		if above {
			first = limit.AddInt(from)
			length = first.Neg().AddInt(n)
		}
		if lo, hi := length.Bounds(); lo.I() < 0 || hi.I() > n || hi.I() < 2 { // a loop of zero or one iterations would count as one iteration
			continue
		}
		s := &shorterLoop{r: r, rest: r.With(length), value: value}
		s.position = first.Add(s.rest)
		if others := slices.Delete(clauses, k, k+1); len(others) > 0 {
			all := others[0]
			for _, c := range others[1:] {
				all = all.And(c)
			}
			s.value = all.Where(value, none)
		}
		return s
	}
	return nil
}

// countsBy reports whether an integer is a function of a variable alone.
func countsBy(u *uop.UOp, variable string) bool {
	found := false
	for _, v := range u.Toposort() {
		switch {
		case v.Op == uop.DefineVar && v.Arg.(uop.VarArg).Name == variable:
			found = true
		case v.Op != uop.ConstOp && v.Op != uop.Add && v.Op != uop.Mul && v.Op != uop.Idiv && v.Op != uop.Cast:
			return false
		}
	}
	return found
}

// withoutCasts is an integer without the casts that keep its value.
func withoutCasts(u *uop.UOp) *uop.UOp {
	for u.Op == uop.Cast && u.DType.IsInt() && u.Src[0].DType.IsInt() && !u.Src[0].Overflows(u.DType) {
		u = u.Src[0]
	}
	return u
}

// loopsAcross maps the loops of a kernel over a batch to loops over the elements of one member of the batch, nil for a single element.
type loopsAcross map[*uop.UOp]*uop.UOp

// at is an index for the given member of the batch.
func (l loopsAcross) at(index, number *uop.UOp) *uop.UOp {
	m := rewrite.Map{}
	for r, inner := range l {
		m[r] = number
		if inner != nil {
			m[r] = number.Mul(inner.Src[0]).Add(inner)
		}
	}
	return symbolic.Simplify(rewrite.Substitute(index, m))
}

// ownElements is the stride of an index from one member of a batch to the next, 0 if the elements of two members are not disjoint.
func (l loopsAcross) ownElements(index *uop.UOp, batch int64) int64 {
	g, loaded := index.Graph(), rewrite.Map{}
	for _, u := range index.Toposort() {
		if u.Op == uop.Index {
			loaded[u] = g.Variable(fmt.Sprint("loaded", len(loaded)), u.DType.Min(), u.DType.Max(), u.DType)
		}
	}
	index = rewrite.Substitute(index, loaded)
	number := func(n int64) *uop.UOp { return g.Const(uop.IndexT, uop.Int(n)) }
	each := g.Variable("number", uop.Int(0), uop.Int(batch-1), uop.IndexT)
	first, valid := l.at(index.GetIdx(), number(0)), l.at(index.GetValid(), number(0))
	step, linear := factorOf(each, l.at(index.GetIdx(), each))
	if !linear || step < 1 || valid != l.at(index.GetValid(), each) {
		return 0
	}
	within := rewrite.Map{}
	for i, b := range symbolic.Intervals(valid) {
		within[b.X] = g.Variable(fmt.Sprint("valid", i), b.Lo, b.Hi, b.X.DType)
	}
	first = rewrite.Substitute(first, within)
	if lo, _ := first.Bounds(); lo.I() < 0 || !symbolic.Simplify(first.Idiv(number(step)).Mod(number(batch))).IsConst(uop.Int(0)) {
		return 0
	}
	return step
}

// factorOf is the factor of x in a sum, not linear if terms depend on x otherwise.
func factorOf(x, u *uop.UOp) (factor int64, linear bool) {
	linear = true
	symbolic.EachTerm(u, 1, func(t *uop.UOp, n int64) {
		if t == x {
			factor += n
		} else {
			linear = linear && !t.DependsOn(x)
		}
	})
	return factor, linear
}

// batchOf finds a batch whose members the kernels compute independently, and the loops over it in each kernel: of the written slots, a member
// reads and writes only its own elements. Of several batches it is the one along the outermost axes; 1 if there is none.
func (s *Schedule) batchOf(kernels []Kernel, written map[int]bool) (batch int64, across []loopsAcross) {
	var trips []int64
	for _, k := range kernels {
		for _, end := range k.AST.Src {
			for _, r := range end.EndedRanges() {
				trips = append(trips, r.Src[0].ConstVal().I())
			}
		}
	}
	slices.Sort(trips)
	batch, across = 1, make([]loopsAcross, len(kernels))
	greatest := int64(0) // number of elements that the loops over the batch span in all written slots
	for _, n := range slices.Compact(trips) {
		if n == 1 {
			continue
		}
		var found []loopsAcross
		steps, all := map[int]int64{}, int64(0)
		for slot := range written {
			steps[slot] = 0
		}
		for _, k := range kernels {
			loops := acrossKernel(k, n, steps)
			if loops == nil {
				break
			}
			found = append(found, loops)
		}
		for _, step := range steps {
			all += step * n
		}
		if len(found) == len(kernels) && slices.Max(slices.Collect(maps.Values(steps))) >= 2*lanesOfVectors && all >= greatest {
			batch, across, greatest = n, found, all
		}
	}
	return batch, across
}

// acrossKernel are the loops of a kernel over a batch, nil if a member reads or writes elements of others. steps has, for each written slot,
// the stride from one member to the next, 0 before it is found.
func acrossKernel(k Kernel, batch int64, steps map[int]int64) loopsAcross {
	found := loopsAcross{}
	isFound := func(r *uop.UOp) bool { _, is := found[r]; return is }
	for _, end := range k.AST.Src {
		foreign := func(u *uop.UOp) bool {
			if u.Op != uop.Index || u.Src[0].Op != uop.Param {
				return u.Op != uop.End && slices.ContainsFunc(u.EndedRanges(), isFound)
			}
			slot := k.Bufs[int(u.Src[0].Arg.(uop.Num))]
			step, isWritten := steps[slot]
			if !isWritten {
				return false
			}
			own := found.ownElements(u.Src[1], batch)
			if step == 0 {
				steps[slot] = own
			}
			return own == 0 || own != steps[slot]
		}
		i := slices.IndexFunc(end.EndedRanges(), func(r *uop.UOp) bool {
			n, before, isNew := r.Src[0].ConstVal().I(), maps.Clone(steps), !isFound(r)
			if n%batch != 0 {
				return false
			}
			if isNew {
				if found[r] = nil; n > batch {
					found[r] = r.With(r.Graph().Const(uop.IndexT, uop.Int(n/batch)))
				}
			}
			if !slices.ContainsFunc(end.Toposort(), foreign) {
				return true
			}
			if maps.Copy(steps, before); isNew {
				delete(found, r)
			}
			return false
		})
		if i < 0 {
			return nil
		}
	}
	return found
}

// guardedIteration is a loop around an iteration of a while loop that runs once, or zero times after its end.
func guardedIteration(condition *uop.UOp, id int) *uop.UOp {
	return condition.Graph().New(uop.Range, uop.IndexT, []*uop.UOp{condition.Cast(uop.IndexT)}, uop.RangeArg{ID: []int{id}, Type: uop.AxisPrefix}, nil)
}

// closeLoops ends nested loops, outermost first in the list.
func closeLoops(u *uop.UOp, loops []*uop.UOp) *uop.UOp {
	for _, r := range slices.Backward(loops) {
		u = u.EndRanges(r)
	}
	return u
}

// pieces splits a loop in a kernel into launches, between which the host may interrupt it: those of a while loop amortise the launch, those of
// other loops are much longer. cycles is the cost of an iteration. i is the loop over the iterations of a launch, count the number of the
// current iteration, and launches the loop over the launches.
func (l Loop) pieces(g *uop.Graph, cycles float64) (i, count *uop.UOp, launches Loop) {
	steps := l.Count
	if l.While >= 0 {
		steps = min(max(int64(cyclesPerLaunch/(cycles+1)), 2), maxStepsPerLaunch)
	} else if cycles*float64(l.Count) > mostCycles {
		steps = max(int64(mostCycles/cycles), 1)
	}
	launches = l
	length := g.Const(uop.IndexT, uop.Int(steps))
	if launches.Count = (l.Count + steps - 1) / steps; launches.Count == 1 && l.While < 0 {
		i = g.Range(uop.N(steps), uop.AxisPrefix, 0)
		return i, i, launches
	}
	endless := l.While >= 0 && l.Count == math.MaxInt32
	if endless {
		launches.Count = l.Count
	}
	launches.Variable.Max = uop.Int(launches.Count - 1)
	first := g.New(uop.DefineVar, uop.IndexT, nil, launches.Variable, nil).MulInt(steps)
	if !endless && l.Count%steps > 0 {
		length = first.Neg().AddInt(l.Count).Minimum(length)
	}
	i = g.New(uop.Range, uop.IndexT, []*uop.UOp{length}, uop.RangeArg{ID: []int{0}, Type: uop.AxisPrefix}, nil)
	return i, first.Add(i), launches
}

// loopCycles is the cost of the loops over elements in an iteration.
func loopCycles(work int64, loops int) float64 {
	return float64(work)/lanesOfVectors*cyclesPerOperation + float64(cyclesPerLoop*loops)
}

// volume is the number of evaluations of a value.
func volume(u *uop.UOp) int64 {
	n := int64(1)
	for _, r := range u.Ranges() {
		n *= r.Src[0].ConstVal().I()
	}
	return n
}

// isPlainLoop reports whether a RANGE has a constant trip count and is not sequential.
func isPlainLoop(u *uop.UOp) bool {
	id := u.RangeID()
	return u.Src[0].Op == uop.ConstOp && len(id.ID) == 1 && (id.Type == uop.AxisLoop || id.Type == uop.AxisReduceT)
}
