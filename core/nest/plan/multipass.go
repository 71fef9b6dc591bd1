package plan

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
)

// A sum over the rows of a matrix would go down one strip of columns after the other and touch a new page in each step. A multi-pass
// sum adds a few rows at a time to a block of columns whose partial sums stay in cache: the first pass initialises the sums, one pass
// for every few rows accumulates, and the last one runs the epilogue. A wide block reads long pieces of each row, which the hardware
// prefetches: 64 KiB of sums in L2 are 20 % faster than 8 KiB in L1.

const (
	// PassRows is how many rows are added in one pass.
	PassRows = 8
	// passStep is the distance of rows in bytes from which on passes pay, and passMin the least number of rows.
	passStep = 2 << 10
	passMin  = 32
)

// MultiPass is the plan of a multi-pass reduction.
type MultiPass struct {
	Loop *analysis.Region
	Sums []*ir.Buffer // partial sums, one buffer for each register
	At   int          // the level that each pass iterates over
	// SplitK is the split-K sum of a product, nil for others.
	SplitK *SumLoops
	Width  int64 // length of a row of the partial sums, for split-K
}

// planPasses plans a multi-pass reduction if that pays.
func (pl *planner) planPasses(p *Band, vec *Axis, acc []analysis.Access) bool {
	in := p.Leaf.Loops()
	least, farthest := int64(passMin), int64(passStep)
	switch p.want[knobMultiPass] {
	case off:
		return false
	case on:
		least, farthest = 2*PassRows, 0
	}
	if len(in) != 1 || len(in[0].Loops()) > 0 || !in[0].Simple() || max(in[0].Trip(), in[0].Bound()) < least {
		return false
	}
	r := in[0]
	along, across := pl.Slopes(r.Rng), pl.Slopes(vec.Region.Rng)
	far := 0
	for _, a := range acc {
		if a.Times < 2 {
			continue
		}
		s, c := along.Of(a.U.Src[0]), across.Of(a.U.Src[0])
		if !c.Depends {
			continue
		}
		if !c.Contiguous() || s.Irregular || max(s.Step, -s.Step)*int64(a.U.DType.Itemsize()) < farthest {
			return false
		}
		far++
	}
	for _, u := range r.Updates {
		if analysis.KindFor(u.Slot.Reg.DType.Base()).Size() < 4 {
			return false // the register is wider than what it holds
		}
	}
	lanes := int64(pl.Lanes)
	if far == 0 || vec.Count < 8*lanes || !p.Masks && vec.Count%(2*lanes) != 0 {
		return false
	}
	vec.Units = p.want.or(knobTileVectors, 2, vec.Count/lanes)
	if !p.Masks && vec.Count%vec.Tile() != 0 {
		vec.Units = 2
	}
	element := int64(4)
	if lanes == int64(pl.m.WideLanes) {
		element = 8
	}
	tilesAcross := vec.Full() + min(vec.Rest(), 1)
	vec.Group = p.want.or(knobColumnBlock, balancedBlock(tilesAcross, max(pl.m.L2/8/(vec.Tile()*element), 1), int64(pl.m.Threads)), tilesAcross)
	for _, a := range p.Axes {
		if a.Plain() {
			p.Levels = append(p.Levels, level{a, Walk})
		}
	}
	p.Levels = append(p.Levels, level{vec, Blocks}, level{vec, Tiles})
	q := &MultiPass{Loop: r, At: len(p.Levels) - 1}
	for _, u := range r.Updates {
		q.Sums = append(q.Sums, pl.Memory.NewUpdated(analysis.KindFor(u.Slot.Reg.DType.Base()).Register(), vec.Group*vec.Tile()))
	}
	p.MultiPass, p.Vec = q, vec
	return true
}
