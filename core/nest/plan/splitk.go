package plan

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// A product whose sums are long is made in parts of the sums. What is packed for one part lies in the near caches while
// all tiles use it; the sums under way lie in memory meanwhile.

const (
	// splitKFrom is the share of the second cache that two vectors of columns take from which on sums are made in parts,
	// partsRoom the share that sums under way may take.
	splitKFrom, splitKRoom = 8, 4
)

// splitKIfLong says that the only sum of a product is made in parts, if it is long, and reports whether it is.
func (pl *planner) splitKIfLong(p *Band, vec, rows *Axis, acc []analysis.Access) bool {
	in := p.Leaf.Loops()
	if len(in) != 1 || p.want[knobSplitK] == off || !p.Masks && vec.Count%int64(pl.Lanes) != 0 {
		return false
	}
	sum := seriesOf(in[0])
	if sum == nil {
		return false
	}
	for _, u := range sum.Innermost().Updates {
		if analysis.KindFor(u.Slot.Reg.DType.Base()).Size() < 4 {
			return false // the register is wider than what it holds
		}
	}
	column := max(2*int64(pl.Lanes)*element, Line) // whole lines are read
	if p.want[knobSplitK] == open && (sum.Steps*column < pl.m.L2/splitKFrom || rows.Count*vec.Count*element > pl.m.L2/splitKRoom || !pl.allMove(p, vec, rows, acc)) {
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

// allMove reports whether all operands of a sum depend on every other axis: nothing that is packed for one iteration
// of it would do for the next.
func (pl *planner) allMove(p *Band, vec, rows *Axis, acc []analysis.Access) bool {
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

// cacheWays is about how many lines of the same place of the second cache it can hold.
const cacheWays = 16

// compete reports whether the rows of a part lie at such a distance that the second cache cannot hold all of them.
func (pl *planner) compete(p *Band, rows *Axis, at analysis.Slope, load *uop.UOp) bool {
	if p.MultiPass == nil || at.Irregular {
		return false
	}
	step, way := at.Step*int64(load.DType.Itemsize()), pl.m.L2/cacheWays
	for way > 0 && step%way != 0 {
		way /= 2
	}
	return rows.Count*way > pl.m.L2
}

// reserveSplitK makes the passes over the levels that follow, with memory for the sums under way.
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
