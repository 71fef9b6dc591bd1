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

// batchPackReuse is the least number of tiles that use a packed operand of a product whose lanes are batches.
const batchPackReuse = 6

// batchLevels makes the levels of a product whose lanes are batches. Its vectors are strided in memory and, depending on where the operands begin,
// may cross cache lines. Packed, the vectors of a tile of the second axis are adjacent and stay in L1, while those of the rows are read from L2 in
// order.
func (pl *planner) batchLevels(p *Band, vec, rows *Axis, walks []level) {
	const ofL2 = 2
	second, k := p.secondRows, int64(0)
	var down, across []*Pack
	for _, sum := range p.Sums {
		pl.eachOperand(p, sum, rows, second, func(u *uop.UOp) { down = append(down, &Pack{U: u, Sum: sum, Axis: rows}) })
		pl.eachOperand(p, sum, second, rows, func(u *uop.UOp) { across = append(across, &Pack{U: u, Sum: sum, Axis: second, OneTile: true}) })
		k += sum.Steps
	}
	tiles := func(a *Axis) int64 { return a.Full() + min(a.Rest(), 1) }
	if p.want[knobPackColumns] == off || min(tiles(rows), tiles(second)) < batchPackReuse && p.want[knobPackColumns] != on {
		// The vectors of a tile of the second axis stay in L1 for all rows.
		p.Levels = append(append(p.Levels, walks...), level{vec, Tiles}, level{rows, Tiles})
		return
	}
	walks = slices.DeleteFunc(walks, func(l level) bool { return l.Axis == second })
	p.Levels = append(append(p.Levels, walks...), level{vec, Tiles})
	held := tiles(rows)
	if most := max(pl.m.L2/ofL2/(k*vec.Tile()*rows.Tile()*element), batchPackReuse); held > most {
		rows.Group = p.want.or(knobRowBlock, balancedBlock(held, most, 1), held)
		p.Levels, held = append(p.Levels, level{rows, Blocks}), rows.Group
	}
	for _, q := range down {
		q.make(pl, len(p.Levels), held, rows.Tile()*vec.Tile())
	}
	p.Levels = append(p.Levels, level{second, Tiles})
	for _, q := range across {
		q.make(pl, len(p.Levels), 1, second.Tile()*vec.Tile())
	}
	p.Packs = append(down, across...)
	p.Levels = append(p.Levels, level{rows, Tiles})
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
