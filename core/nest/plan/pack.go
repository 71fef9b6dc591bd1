package plan

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Pack is an operand of a matrix product that is computed once and stored in scratch memory in the order of use, before the level At: any
// expression that does not depend on the rows, for the tiles of a block of columns. In a product whose lanes are batches it has the rows, or
// the iterations of the second axis, for the current tile of batches.
type Pack struct {
	U   *uop.UOp
	Sum *SumLoops
	// Axis is the axis whose tiles it has: Tiles of them, with Width elements in each step. OneTile: it has the current tile.
	Axis         *Axis
	Tiles, Width int64
	OneTile      bool
	Buf          *ir.Buffer
	At           int
}

const (
	// Line is the size in bytes of a cache line.
	Line = 64
	// leastWays and mostWays bound the usual associativity of L2: whether rows stay in L2 is estimated with the least, whether they conflict with the
	// most.
	leastWays, mostWays = 8, 16
	// longStride is the stride in bytes from which on the steps of a sum touch too many pages.
	longStride = 1 << 10
)

// packReuse is the least number of tiles of rows that use a packed column, if its vectors are contiguous in memory anyway; half of that
// if the packed operand stays in L1 until it is used.
const packReuse = 6

// findPacks lists the operands of a reduction that are worth packing.
func (pl *planner) findPacks(p *Band, sum *SumLoops, vec, rows *Axis, walks []level) []*Pack {
	in, k, always := sum.Innermost(), sum.Steps, p.want[knobPackColumns] == on
	byLane, byStep := pl.Slopes(vec.Region.Rng), pl.Slopes(in.Rng)
	reuse := rows.estimatedTrip() / rows.Tile()
	least := int64(packReuse)
	if k*vec.Tile()*4 <= pl.m.L1 {
		least /= 2
	}
	if k*vec.Tile()*4 > pl.m.L3 || p.want[knobPackColumns] == off {
		return nil
	}
	often := reuse
	for _, w := range walks {
		often *= max(w.Axis.Count, 1)
	}
	// Packs are interleaved in scratch memory, so that loops over many operands need fewer addresses.
	crowded := pl.operands(in, byLane) > pl.m.Pointers
	var out []*Pack
	pl.eachOperand(p, sum, vec, rows, func(u *uop.UOp) {
		reuse := reuse
		if !pl.variesWith(u, walks) {
			reuse = often
		}
		if u.Op == uop.Load && len(u.Src) == 1 && u.DType.Itemsize() >= 4 && !always && !(crowded && reuse >= least) {
			if s := byLane.Of(u.Src[0]); s.Contiguous() {
				detour := pl.unpackedCost(u, byStep, k, vec.Count, vec.Tile(), p.stridedL2)
				if detour == 0 || reuse < least && (reuse < 2 || !pl.conflictMisses(u, byStep, k, vec.Tile())) {
					p.l2Miss = p.l2Miss || detour > 0
					return
				}
			}
		}
		if reuse < 2 && !always && !pl.transposes(u, byStep) {
			return
		}
		out = append(out, &Pack{U: u, Sum: sum, Axis: vec})
	})
	return out
}

// eachOperand visits the operands of a reduction that could be packed: the largest values that vary along an axis, but not along another.
func (pl *planner) eachOperand(p *Band, sum *SumLoops, along, without *Axis, visit func(u *uop.UOp)) {
	varies, excluded := pl.Slopes(along.Region.Rng), pl.Slopes(without.Region.Rng)
	written, known, seen := p.Leaf.Written(nil), map[*uop.UOp]bool{}, map[*uop.UOp]bool{}
	var find func(u *uop.UOp)
	find = func(u *uop.UOp) {
		if seen[u] || pl.Affine(u) || !varies.Of(u).Depends {
			return
		}
		seen[u] = true
		if excluded.Of(u).Depends || readsLeaf(written, u, known) {
			for _, s := range u.Src {
				find(s)
			}
			return
		}
		k := ir.KindOf[u.DType.Scalar()]
		if u.DType.IsPtr() || k.Width() == 0 || u.Op == uop.Load && u.Src[0].DType.Space == uop.Reg || !pl.variesInReduction(sum, u) {
			return
		}
		visit(u)
	}
	for _, up := range sum.Innermost().Updates {
		for _, t := range up.Terms {
			find(t)
		}
	}
}

// operands is the number of loads of a loop that depend on the columns.
func (pl *planner) operands(loop *analysis.Region, byLane *analysis.Slopes) int {
	loads := map[*uop.UOp]bool{}
	seen := map[*uop.UOp]bool{}
	var find func(u *uop.UOp)
	find = func(u *uop.UOp) {
		switch {
		case seen[u] || pl.Affine(u) || !byLane.Of(u).Depends:
			return
		case u.Op == uop.Load:
			loads[u] = true
		}
		seen[u] = true
		for _, s := range u.Src {
			find(s)
		}
	}
	for _, up := range loop.Updates {
		for _, t := range up.Terms {
			find(t)
		}
	}
	return len(loads)
}

// unpackedCost is the extra cost of loading a contiguous vector in place instead of from a pack, for a load in k steps of a number of columns: 0 if
// all columns fit L2 together with the rows, and no vector crosses a cache line.
func (pl *planner) unpackedCost(u *uop.UOp, byStep *analysis.Slopes, k, columns, tile, strided int64) float64 {
	step, ok := pl.strideOf(u, byStep)
	size, lanes := int64(u.DType.Itemsize()), int64(pl.Lanes)
	room := pl.m.L2 / 2
	if strided > 0 {
		room = room/2 - strided
	}
	switch {
	case ok && step < lanes*size:
		return 0 // neighbouring vectors overlap
	case !ok || cacheFootprint(step, k, columns*size) > room || step >= longStride && tile*size < 2*Line:
		return costFar
	case step%(lanes*size) != 0 && k*tile*size > pl.m.L1/2:
		return costNext
	}
	return 0
}

// conflictMisses reports whether the columns of a tile evict each other from L2 (conflict misses), so that each tile of rows reads
// them from beyond it.
func (pl *planner) conflictMisses(u *uop.UOp, byStep *analysis.Slopes, k, tile int64) bool {
	step, ok := pl.strideOf(u, byStep)
	return ok && cacheFootprint(step, k, tile*int64(u.DType.Itemsize())) > pl.m.L2
}

// transposes reports whether vectors of a load can be transposed in registers.
func (pl *planner) transposes(u *uop.UOp, byStep *analysis.Slopes) bool {
	s := byStep.Of(u.Src[0])
	return u.Op == uop.Load && len(u.Src) == 1 && s.Contiguous() && u.DType.Itemsize() >= 4
}

// strideOf is the stride in bytes of a load between two steps of a reduction; ok is false if it varies.
func (pl *planner) strideOf(u *uop.UOp, byStep *analysis.Slopes) (bytes int64, ok bool) {
	t := byStep.Of(u.Src[0])
	return max(t.Step, -t.Step) * int64(u.DType.Itemsize()), !t.Irregular
}

// cacheFootprint is the number of bytes of a cache that k pieces of memory occupy at a stride: strides that are multiples of a large power of
// two map to few sets.
func cacheFootprint(distance, k, bytes int64) int64 { return k * max(bytes, distance&-distance) }

// readsLeaf reports whether a value depends on a register that the leaf writes, such as the result of an earlier sum: it cannot be packed, because
// packs are computed before the leaf. seen holds values that do not depend on one.
func readsLeaf(written []analysis.Slot, u *uop.UOp, seen map[*uop.UOp]bool) bool {
	if seen[u] || u.Op == uop.Range {
		return false
	}
	if u.Op == uop.Load && u.Src[0].DType.Space == uop.Reg {
		return !analysis.ConstIndex(u.Src[0]) || slices.Contains(written, analysis.SlotOf(u.Src[0]))
	}
	src := u.Src
	if u.Op == uop.Load {
		at := u.Src[0]
		for at.Op == uop.Cast {
			at = at.Src[0]
		}
		src = append([]*uop.UOp{at.Src[1]}, u.Src[1:]...) // without ordering dependences
	}
	for _, s := range src {
		if readsLeaf(written, s, seen) {
			return true
		}
	}
	seen[u] = true
	return false
}

// variesInReduction reports whether a value depends on a reduction loop.
func (pl *planner) variesInReduction(sum *SumLoops, u *uop.UOp) bool {
	return slices.ContainsFunc(sum.Loops, func(r *analysis.Region) bool { return pl.Slopes(r.Rng).Of(u).Depends })
}

// make allocates the scratch memory before a level: the vectors of each step of the sum for each tile.
func (q *Pack) make(pl *planner, at int, tiles, width int64) {
	q.At, q.Tiles, q.Width = at, tiles, width
	q.Buf = pl.Memory.New(analysis.KindFor(q.U.DType).Register(), q.Elements())
}

// Elements is the number of elements of a pack.
func (q *Pack) Elements() int64 { return q.Tiles * q.Sum.Steps * q.Width }

// oneLoop reports whether the packs are loads whose indices have one stride over all reduction loops, so that they can be
// flattened into one.
func (pl *planner) oneLoop(packs []*Pack, sum *SumLoops) bool {
	last := len(sum.Loops) - 1
	for _, q := range packs {
		if q.U.Op != uop.Load || len(q.U.Src[0].Src) != 2 {
			return false
		}
		r := sum.Loops[last]
		s := pl.Slopes(r.Rng).Of(q.U.Src[0])
		step := s.Step * r.Trip()
		for i := last - 1; i >= 0; i-- {
			o := pl.Slopes(sum.Loops[i].Rng).Of(q.U.Src[0])
			if s.Irregular || o.Irregular || o.Step != step {
				return false
			}
			step *= sum.Loops[i].Trip()
		}
	}
	return true
}

// PacksOf are the packs of a sum.
func (p *Band) PacksOf(sum *SumLoops) []*Pack {
	return slices.DeleteFunc(slices.Clone(p.Packs), func(q *Pack) bool { return q.Sum != sum })
}
