package plan

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// Split-K: the sums of a product are cut into parts, so that the packed operands of a part stay in the caches while all tiles use them.
// Partial sums are kept in scratch memory.

const (
	// Sums are split if two vectors of columns occupy at least 1/splitKFrom of L2, and the partial sums at most 1/splitKSumsShare.
	splitKFrom, splitKSumsShare = 8, 4
)

// splitKIfLong plans split-K for the only sum of a product if it is long, and reports whether it has.
func (pl *planner) splitKIfLong(p *Band, vec, rows *Axis, acc []analysis.Access) bool {
	in := p.Leaf.Loops()
	if len(in) != 1 || p.want[knobSplitK] == off || !p.Masks && vec.Count%int64(pl.Lanes) != 0 {
		return false
	}
	sum := sumLoopsOf(in[0])
	if sum == nil {
		return false
	}
	for _, u := range sum.Innermost().Updates {
		if analysis.KindFor(u.Slot.Reg.DType.Base()).Size() < 4 {
			return false // partial sums would lose the range of the wider register
		}
	}
	column := max(2*int64(pl.Lanes)*element, Line) // whole lines are read
	if p.want[knobSplitK] == auto && (sum.Steps*column < pl.m.L2/splitKFrom || rows.Count*vec.Count*element > pl.m.L2/splitKSumsShare || !pl.noneInvariant(p, vec, rows, acc)) {
		return false
	}
	each := sum.Steps / in[0].Trip()
	steps := p.want.or(knobSplitK, pl.m.L1/2/column, sum.Steps)
	parts := (sum.Steps + steps - 1) / steps
	n := (in[0].Trip() + parts - 1) / parts
	if lanes := int64(pl.Lanes); each == 1 {
		n = (n + lanes - 1) / lanes * lanes
	}
	if n >= in[0].Trip() {
		return false
	}
	sum.Count, sum.Steps = n, n*each
	p.MultiPass, p.Sums = &MultiPass{Loop: in[0], SplitK: sum}, []*SumLoops{sum}
	return true
}

// noneInvariant reports whether all operands of a sum depend on every other axis, so that no pack can be reused in its next iteration.
func (pl *planner) noneInvariant(p *Band, vec, rows *Axis, acc []analysis.Access) bool {
	for _, a := range p.Axes {
		if a == vec || a == rows || a.Count == 1 {
			continue
		}
		for _, x := range acc {
			if x.Times > 1 && !pl.Slopes(a.Region.Rng).Of(x.U).Depends {
				return false
			}
		}
	}
	return true
}

// partConflicts reports whether the stride of the rows maps the elements of one part to too few sets of L2 (conflict misses).
func (pl *planner) partConflicts(p *Band, rows *Axis, at analysis.Slope, load *uop.UOp) bool {
	if p.MultiPass == nil || at.Irregular {
		return false
	}
	step, way := at.Step*int64(load.DType.Itemsize()), pl.m.L2/mostWays
	for way > 0 && step%way != 0 {
		way /= 2
	}
	return rows.Count*way > pl.m.L2
}

// reserveSplitK places the passes before the remaining levels and allocates the partial sums.
func (pl *planner) reserveSplitK(p *Band) {
	q := p.MultiPass
	if q == nil {
		return
	}
	a := p.Vec
	tiles := a.Group
	if tiles == 0 {
		tiles = a.Full() + min(a.Rest(), 1)
	}
	q.At, q.Width = len(p.Levels), tiles*a.Tile()
	for _, u := range q.Loop.Updates {
		q.Sums = append(q.Sums, pl.Memory.NewUpdated(analysis.KindFor(u.Slot.Reg.DType.Base()).Register(), p.Rows.Count*q.Width))
	}
}
