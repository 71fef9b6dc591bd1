package plan

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// RowPack is a packed operand of the rows of a product: for each tile of a block and each step of the sum, the elements of its rows are adjacent,
// each to be broadcast. Rows are packed if they have a long stride along the sum, or if computing them takes more than a load.
type RowPack struct {
	U      *uop.UOp
	Sum    *SumLoops
	Buf    *ir.Buffer
	Method rowPackMethod
	// Vectors: several steps are computed as a vector, then each is broadcast.
	Vectors bool
}

// rowPackMethod is the storage order of packed rows: element by element, as vectors of rows, as vectors of steps that are transposed, or with
// each element broadcast to a vector.
type rowPackMethod uint8

const (
	oneByOne rowPackMethod = iota
	ByRows
	BySteps
	Broadcast
)

// rowPackReuse is the least number of tiles of columns that use a packed row, if the row is only a load.
const rowPackReuse = 4

// findRowPacks lists the operands of the rows of a sum that are worth packing.
func (pl *planner) findRowPacks(p *Band, sum *SumLoops, vec, rows *Axis) []*RowPack {
	in, k, always := sum.Innermost(), sum.Steps, p.want[knobPackRows] == on
	byRow, byStep := pl.Slopes(rows.Region.Rng), pl.Slopes(in.Rng)
	reuse := (vec.Count + vec.Tile() - 1) / vec.Tile()
	if k < int64(pl.Lanes) || p.want[knobPackRows] == off {
		return nil
	}
	var out []*RowPack
	pl.eachOperand(p, sum, rows, vec, func(u *uop.UOp) {
		q := &RowPack{U: u, Sum: sum}
		switch {
		case pl.m.SlowBroadcast:
			q.Method, q.Vectors = Broadcast, u.Op != uop.Load && pl.contiguousLoads(u, byStep, map[*uop.UOp]bool{})
		case pl.contiguousLoads(u, byRow, map[*uop.UOp]bool{}):
			q.Method = ByRows
		case pl.contiguousLoads(u, byStep, map[*uop.UOp]bool{}):
			q.Method = BySteps
		}
		plain := u.Op == uop.Load && u.DType.Itemsize() >= 4 && len(u.Src) == 1 // without a condition
		how, need, competes := accessIrregular, int64(0), false
		if plain {
			how, need = pl.rowAccess(u, byStep, k, rows)
			competes = pl.partConflicts(p, rows, byRow.Of(u.Src[0]), u)
		}
		if q.Method == Broadcast && reuse >= rowPackReuse {
			rows.Broadcast = true
			out = append(out, q)
			return
		}
		if q.Method == Broadcast || (plain || q.Method == oneByOne) && !always && (!competes && p.loadable(pl, how, need) || reuse < rowPackReuse) {
			return
		}
		out = append(out, q)
	})
	return out
}

// rowAccess classifies the accesses of rows along the reduction loop.
type rowAccess uint8

const (
	accessIrregular rowAccess = iota // no constant stride
	accessNear                       // a short stride
	accessStrided                    // a long stride, but in L2, and a tile uses most of a cache line
	accessMiss                       // a long stride, beyond L2
)

// rowAccess classifies a load of all rows over k steps, and estimates the bytes of cache that it occupies.
func (pl *planner) rowAccess(u *uop.UOp, byStep *analysis.Slopes, k int64, rows *Axis) (how rowAccess, need int64) {
	step, ok := pl.strideOf(u, byStep)
	size := int64(u.DType.Itemsize())
	need = cacheFootprint(step, k, rows.Count*size)
	switch {
	case !ok:
		return accessIrregular, 0
	case step < longStride:
		return accessNear, need
	case need <= pl.m.L2/8 && pl.tileRows()*size >= Line/2:
		return accessStrided, need
	}
	return accessMiss, need
}

// loadable reports whether rows can be loaded unpacked, and records the demand on the caches for the choice of loop order.
func (p *Band) loadable(pl *planner, how rowAccess, need int64) bool {
	switch how {
	case accessNear:
		p.l2Miss = p.l2Miss || need > pl.m.L3
	case accessStrided:
		p.stridedL2 += need
	case accessMiss:
		p.l2Miss = true
	}
	return how == accessNear || how == accessStrided
}

// contiguousLoads reports whether all loads of a value are contiguous along a range or invariant.
func (pl *planner) contiguousLoads(u *uop.UOp, s *analysis.Slopes, seen map[*uop.UOp]bool) bool {
	if seen[u] || !s.Of(u).Depends {
		return true
	}
	seen[u] = true
	if u.Op == uop.Load {
		if at := s.Of(u.Src[0]); !at.Contiguous() || pl.Buffers[analysis.Definition(u.Src[0])].Kind.Size() < pl.m.MaskedSize {
			return false
		}
	}
	for _, src := range u.Src {
		if src.Op != uop.Index && !pl.contiguousLoads(src, s, seen) {
			return false
		}
	}
	return true
}

// Single is the pack with elements stored one by one.
func (q *RowPack) Single() *RowPack {
	if q.Method == Broadcast {
		return q
	}
	single := *q
	single.Method = oneByOne
	return &single
}

// Width is the number of elements of a tile's rows in a step.
func (a *Axis) Width(lanes int) int64 {
	if a.Broadcast {
		return a.Tile() * int64(lanes)
	}
	return (a.Tile() + int64(lanes) - 1) / int64(lanes) * int64(lanes)
}
