package plan

import (
	"math"

	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// Where the lanes of a vector are strided in memory, but the same lane of neighbouring copies is contiguous, a square of elements is loaded
// along the contiguous direction and transposed in registers.

// costTranspose is the cost of a vector that is transposed with its neighbours.
const costTranspose = 5

// transposeBytes is the number of bytes of a row that are stored together: two cache lines.
const transposeBytes = 2 * Line

// transposeWeight is the largest number of operations of a tile of squares.
const transposeWeight = 1 << 10

// planTranspose lays out a band without reductions whose loads and stores run along different axes: squares of lanes by
// lanes. A block has as many rows of the destination as the TLB has entries: the loop runs along the contiguous axis of the source,
// a few long streams, and each row of the destination goes on where it was left. It reports whether that pays.
func (pl *planner) planTranspose(p *Band, acc []analysis.Access, arithmetic, best float64) bool {
	lanes := int64(pl.Lanes)
	switch {
	case p.want[knobTranspose] == on:
		best = math.Inf(1)
	case p.want[knobTranspose] == off || p.want[knobVectorAxis] != auto:
		return false
	}
	for _, y := range p.Axes {
		for _, x := range p.Axes {
			if x == y || x.Count < lanes || y.Count < lanes {
				continue
			}
			byLane, byCopy := pl.Slopes(y.Region.Rng), pl.Slopes(x.Region.Rng)
			sum := arithmetic
			turns := false
			element := int64(8)
			for _, a := range acc {
				if a.U.Op == uop.Store {
					element = min(element, pl.Buffers[analysis.Definition(a.U.Src[0])].Kind.Size())
				}
				s, c := byLane.Of(a.U.Src[0]), byCopy.Of(a.U.Src[0])
				if cost := costOf(s, a.U); cost != costApart || !c.Contiguous() || s.Irregular || len(a.U.Src) > 1 {
					sum += cost
				} else {
					sum += costTranspose
					turns = true
				}
			}
			if !turns || sum >= best {
				continue
			}
			y.Vector, y.Unit = true, lanes
			wide := transposeBytes / (lanes * element)
			for wide > 1 && wide*lanes*pl.Weight(p.Leaf) > transposeWeight {
				wide /= 2
			}
			y.Units = p.want.or(knobTileVectors, wide, y.Count/lanes)
			x.Units, x.Group = lanes, p.want.or(knobColumnBlock, balancedBlock(x.Count/lanes, pl.m.Pages/lanes, int64(pl.m.Threads)), x.Count/lanes)
			p.Transpose = x
			for _, a := range p.Axes {
				if a.Plain() {
					p.Levels = append(p.Levels, level{a, Walk})
				}
			}
			p.Levels = append(p.Levels, level{x, Blocks}, level{y, Tiles}, level{x, Tiles})
			return true
		}
	}
	return false
}
