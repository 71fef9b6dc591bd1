package plan

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// Where all rows of a product are fewer than fill the registers, rows of another axis that shares the columns stand
// beside them in the tile: lines of small images, or several images.

// secondRowsFor is an axis whose iterations may stand beside the rows of a tile, as many as there is room for; nil if there
// is none. If it can it takes one that they divide.
func (pl *planner) secondRowsFor(p *Band, vec, rows *Axis, room int64, acc []analysis.Access) (found *Axis, count int64) {
	byLane := pl.Slopes(vec.Region.Rng)
	shared := func(a *Axis) bool {
		s := pl.Slopes(a.Region.Rng)
		return !slices.ContainsFunc(acc, func(x analysis.Access) bool {
			return x.Times > 1 && byLane.Of(x.U.Src[0]).Depends && s.Of(x.U.Src[0]).Depends
		})
	}
	for _, a := range p.Axes {
		if a == vec || a == rows || a.Dynamic || rows.Dynamic || a.Count < 2 || !shared(a) {
			continue
		}
		n := min(room/rows.Count, a.Count)
		for d := n; d > 1 && d > n/2; d-- {
			if a.Count%d == 0 {
				n = d
				break
			}
		}
		if n > 1 && (found == nil || found.Count%count != 0 && a.Count%n == 0) {
			found, count = a, n
		}
	}
	return found, count
}

// crossed is an axis for a tile of a product whose batches are the lanes: each operand is loaded in vectors, of rows or of this axis, and
// a tile as high as wide needs the fewest loads. Nil if there is none.
func (pl *planner) crossed(p *Band, vec, rows *Axis, acc []analysis.Access) *Axis {
	byLane, byRow := pl.Slopes(vec.Region.Rng), pl.Slopes(rows.Region.Rng)
	for _, a := range p.Axes {
		if a == vec || a == rows || a.Dynamic || rows.Dynamic || a.Count < 2 || rows.Count < 2 {
			continue
		}
		byAxis := pl.Slopes(a.Region.Rng)
		ofRows, ofAxis, other := 0, 0, 0
		for _, x := range acc {
			if x.U.Op != uop.Load || x.Times < 2 {
				continue
			}
			lane, row, own := byLane.Of(x.U.Src[0]), byRow.Of(x.U.Src[0]).Depends, byAxis.Of(x.U.Src[0]).Depends
			switch {
			case costOf(lane, x.U) != costNext || row == own:
				other++
			case row:
				ofRows++
			default:
				ofAxis++
			}
		}
		if ofRows > 0 && ofAxis > 0 && other == 0 {
			return a
		}
	}
	return nil
}
