package plan

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// If a product has too few rows to fill the registers, the register tile has a second axis that shares the columns: lines of small images,
// or several images.

// secondTileAxis chooses a second axis of a register tile with a limit of iterations, preferably one whose trip count they divide; nil if
// there is none.
func (pl *planner) secondTileAxis(p *Band, vec, rows *Axis, room int64, acc []analysis.Access) (found *Axis, count int64) {
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

// batchTileAxis chooses the second axis of a register tile if the lanes are batches of a product: every operand is then a vector load, and
// square tiles need the fewest loads. Nil if there is none.
func (pl *planner) batchTileAxis(p *Band, vec, rows *Axis, acc []analysis.Access) *Axis {
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
