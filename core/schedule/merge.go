package schedule

import (
	"fmt"
	"math"
	"slices"

	"polygrad/core/uop"
)

// A loop over few elements takes less time than the launches of its kernels, so it becomes one kernel: a sequential loop over iterations that
// contains the loops of the kernels one after the other.

// Limits of the elements per iteration of such a kernel, which runs on one thread, and of its buffers.
const (
	maxMerged        = 1 << 14
	maxMergedBuffers = 8
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
	if work > maxMerged {
		return nil, fmt.Sprintf("%d elements in an iteration, limit %d", work, maxMerged)
	}
	merged = &Kernel{}
	g := kernels[0].AST.Graph().Scratch()
	i, count, launches := l.pieces(g, loopCycles(work, loops))
	inside := []*uop.UOp{i}
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
	for _, k := range kernels {
		m := map[*uop.UOp]*uop.UOp{}
		for _, u := range g.Import(k.AST).Toposort() {
			switch {
			case u.Op == uop.Range:
				m[u] = u.WithArg(uop.RangeArg{ID: []int{ranges}, Type: u.RangeID().Type})
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
				src := make([]*uop.UOp, len(u.Src))
				for j, s := range u.Src {
					src[j] = m[s]
				}
				m[u] = u.With(src...)
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
