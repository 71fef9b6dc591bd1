package plan

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// RowPack is an operand that belongs to the rows of a product: kept for a block of rows, for each tile and each step
// of the sum its rows side by side, each to be spread over a vector. Rows need that if they lie far apart along the
// sum, or if more than a load makes them.
type RowPack struct {
	U   *uop.UOp
	Sum *SumLoops
	Buf *ir.Buffer
	Way rowWay
	// Vectors: several steps are computed at once before each is brought into all lanes.
	Vectors bool
}

// rowWay is how a pack of rows is filled: one by one, by vectors of rows, by vectors of steps, which are turned, or with
// each element in all lanes of a vector.
type rowWay uint8

const (
	oneByOne rowWay = iota
	ByRows
	BySteps
	Broadcast
)

// rowPackReuse is how many tiles of columns must use a packed row that needs no more than a load.
const rowPackReuse = 4

// findRowPacks lists the operands of the rows of a sum that are worth packing.
func (pl *planner) findRowPacks(p *Band, sum *SumLoops, vec, rows *Axis) []*RowPack {
	in, k, always := sum.Innermost(), sum.Steps, p.want[knobPackRows] == on
	byLane, byRow, byStep := pl.Slopes(vec.Region.Rng), pl.Slopes(rows.Region.Rng), pl.Slopes(in.Rng)
	reuse := (vec.Count + vec.Tile() - 1) / vec.Tile()
	if k < int64(pl.Lanes) || p.want[knobPackRows] == off {
		return nil
	}
	var out []*RowPack
	written, known := p.Leaf.Written(nil), map[*uop.UOp]bool{}
	seen := map[*uop.UOp]bool{}
	var find func(u *uop.UOp)
	find = func(u *uop.UOp) {
		if seen[u] || pl.Affine(u) || !byRow.Of(u).Depends {
			return
		}
		seen[u] = true
		if byLane.Of(u).Depends || readsLeaf(written, u, known) {
			for _, s := range u.Src {
				find(s)
			}
			return
		}
		if k := ir.KindOf[u.DType.Scalar()]; u.DType.IsPtr() || k.Width() == 0 || u.Op == uop.Load && u.Src[0].DType.Space == uop.Reg || !pl.collected(sum, u) {
			return
		}
		q := &RowPack{U: u, Sum: sum}
		switch {
		case pl.m.SlowBroadcast:
			q.Way, q.Vectors = Broadcast, u.Op != uop.Load && pl.neighbours(u, byStep, map[*uop.UOp]bool{})
		case pl.neighbours(u, byRow, map[*uop.UOp]bool{}):
			q.Way = ByRows
		case pl.neighbours(u, byStep, map[*uop.UOp]bool{}):
			q.Way = BySteps
		}
		plain := u.Op == uop.Load && u.DType.Itemsize() >= 4
		how, need, competes := reachIrregular, int64(0), false
		if plain && len(u.Src) == 1 {
			how, need = pl.reach(u, byStep, k, rows)
			competes = pl.compete(p, rows, byRow.Of(u.Src[0]), u)
		}
		if q.Way == Broadcast && reuse >= rowPackReuse {
			rows.Broadcast = true
			out = append(out, q)
			return
		}
		if q.Way == Broadcast || (plain || q.Way == oneByOne) && !always && (!competes && p.loadable(pl, how, need) || reuse < rowPackReuse) {
			return
		}
		out = append(out, q)
	}
	for _, up := range in.Updates {
		for _, t := range up.Terms {
			find(t)
		}
	}
	return out
}

// rowReach is how rows lie in memory along the loop that collects.
type rowReach uint8

const (
	reachIrregular rowReach = iota // at distances that vary
	reachNear                      // not far from each other
	reachStrided                   // far from each other, but in the second cache, and a tile has most of a line
	reachMiss                      // farther
)

// reach tells how what a load brings for k steps and all rows lies, and how much of a cache it needs.
func (pl *planner) reach(u *uop.UOp, byStep *analysis.Slopes, k int64, rows *Axis) (how rowReach, need int64) {
	step, ok := pl.distance(u, byStep)
	size := int64(u.DType.Itemsize())
	need = spread(step, k, rows.Count*size)
	switch {
	case !ok:
		return reachIrregular, 0
	case step < farStep:
		return reachNear, need
	case need <= pl.m.L2/8 && pl.tileRows()*size >= Line/2:
		return reachStrided, need
	}
	return reachMiss, need
}

// loadable reports whether rows need not be packed. It notes what they ask of the order of loops and of the caches.
func (p *Band) loadable(pl *planner, how rowReach, need int64) bool {
	switch how {
	case reachNear:
		p.l2Miss = p.l2Miss || need > pl.m.L3
	case reachStrided:
		p.stridedL2 += need
	case reachMiss:
		p.l2Miss = true
	}
	return how == reachNear || how == reachStrided
}

// neighbours reports whether all that a value loads lies side by side along a range, or does not move with it.
func (pl *planner) neighbours(u *uop.UOp, s *analysis.Slopes, seen map[*uop.UOp]bool) bool {
	if seen[u] || !s.Of(u).Depends {
		return true
	}
	seen[u] = true
	if u.Op == uop.Load {
		if at := s.Of(u.Src[0]); at.Irregular || at.Step != 1 || pl.Buffers[analysis.Definition(u.Src[0])].Kind.Size() < pl.m.MaskedSize {
			return false
		}
	}
	for _, src := range u.Src {
		if src.Op != uop.Index && !pl.neighbours(src, s, seen) {
			return false
		}
	}
	return true
}

// Single is the pack, filled row by row.
func (q *RowPack) Single() *RowPack {
	if q.Way == Broadcast {
		return q
	}
	single := *q
	single.Way = oneByOne
	return &single
}

// Width is the room of a tile's rows in a step.
func (a *Axis) Width(lanes int) int64 {
	if a.Broadcast {
		return a.Tile() * int64(lanes)
	}
	return (a.Tile() + int64(lanes) - 1) / int64(lanes) * int64(lanes)
}
