package plan

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// Costs of the layouts of a leaf with a reduction, per vector of products, in units of one such vector.

// fill is the factor by which partly filled vectors raise the cost. Without masks the last vector overlaps the one before, and an axis shorter than a
// vector runs scalar.
func (pl *planner) fill(n int64) float64 {
	lanes := int64(pl.Lanes)
	switch {
	case n < 1:
		return 1
	case !pl.Masks && n < lanes:
		return float64(lanes)
	}
	return float64((n+lanes-1)/lanes*lanes) / float64(n)
}

// alongRows is the number of rows, of n, that are unrolled together to share loads, if the reduction is vectorized.
func alongRows(n int64) int64 {
	const few = 4
	if n <= few*few {
		return balancedHeight(n, 2*few)
	}
	return few
}

// streamedRows is alongRows for rows that may come from memory. There the shared operand costs nothing, but each row is a stream, and the hardware
// prefetches none that is read for less than some pages: a matrix of 50257x768 floats is read at 28 GB/s row by row, at 15 GB/s four rows at a time.
// Several very short rows are one stream, and with long rows the shared operand does not stay in L1.
func (pl *planner) streamedRows(k *analysis.Region, rows *Axis, acc []analysis.Access) int64 {
	along, byRow := pl.Slopes(k.Rng), pl.Slopes(rows.Region.Rng)
	var streamed, row, shared int64 // bytes
	for _, a := range acc {
		b, index, _, ok := pl.AddressOf(a.U.Src[0])
		if !ok || b == nil || a.U.Op != uop.Load || !along.Of(index).Depends {
			continue
		}
		size := b.Kind.Size()
		if read := k.Trip() * size; byRow.Of(index).Depends {
			streamed, row = streamed+b.Size*size, row+read
		} else {
			shared += read
		}
	}
	n := alongRows(rows.Count)
	switch {
	case k.Trip() < 0 || streamed <= pl.m.L2 || n*row <= oneStream:
		return n
	case shared <= pl.m.L1/4:
		return 1
	}
	return balancedHeight(rows.Count, 2*n)
}

// alongCost is the cost of the accesses of a vector of products if the reduction loop k is vectorized.
func (pl *planner) alongCost(p *Band, k *analysis.Region, rows *Axis, acc []analysis.Access) float64 {
	sum, times := 0.0, 1.0
	for _, a := range acc {
		times = max(times, a.Times)
	}
	along := pl.Slopes(k.Rng)
	var byRow *analysis.Slopes
	if rows != nil {
		byRow = pl.Slopes(rows.Region.Rng)
	}
	for _, a := range acc {
		c := costOf(along.Of(a.U.Src[0]), a.U)
		switch {
		case byRow == nil:
		case !byRow.Of(a.U.Src[0]).Depends:
			c /= float64(alongRows(rows.Count))
		case a.U.Op == uop.Load && len(p.Axes) > 1 && int64(a.Times)*rows.Count*int64(a.U.DType.Itemsize()) > pl.m.L1/2:
			c += costL2 // each iteration of the other axes reads all rows again
		}
		sum += c * a.Times / times
	}
	const horizontal = 8 // horizontal sum of each result
	if n := k.Trip(); n > 0 {
		times = min(times, float64(n))
	}
	return max(1, sum)*pl.fill(k.Trip()) + horizontal*float64(pl.Lanes)/times
}

// tileCost is the cost of the accesses of a vector of products in a register tile with a vectorized axis. Loads in the loop k cost only what does not
// overlap with products.
func (pl *planner) tileCost(p *Band, k *analysis.Region, vec, rows *Axis, acc []analysis.Access) float64 {
	times := 1.0
	for _, a := range acc {
		times = max(times, a.Times)
	}
	byLane := pl.Slopes(vec.Region.Rng)
	if rows == nil {
		loads := 0.0
		for _, a := range acc {
			loads += costOf(byLane.Of(a.U.Src[0]), a.U) * a.Times / times
			loads += pl.lookupMisses(k, vec, a) * a.Times / times
		}
		return max(1, loads) * pl.fill(vec.Count)
	}
	byRow := pl.Slopes(rows.Region.Rng)
	loads, once, strided := pl.rowsCost(k, vec, rows, acc, times)
	for _, a := range acc {
		lane, row := byLane.Of(a.U.Src[0]), byRow.Of(a.U.Src[0])
		c := costOf(lane, a.U)
		switch {
		case a.Times < 2 && c == costAcross && row.Contiguous():
			once += costTranspose / times
		case a.Times < 2:
			once += c / times
		case !row.Depends:
			load, pack := pl.columnCost(p, k, a, c, vec, rows, strided)
			loads += load * a.Times / times
			once += pack * a.Times / times
		case lane.Depends:
			loads += c * a.Times / times
		}
	}
	return (max(1, loads) + once) * pl.fill(vec.Count)
}

// costMiss is the cost of an element that is looked up in L2, not in L1.
const costMiss = 3

// lookupMisses is the cost of the L1 misses of a vector of lookups, which read one data-dependent index in the row of each lane: the more rows a tile
// has, the fewer of their cache lines stay in L1 until the next step. The first miss of each line is not counted.
func (pl *planner) lookupMisses(k *analysis.Region, vec *Axis, a analysis.Access) float64 {
	b, index, _, ok := pl.AddressOf(a.U.Src[0])
	lane := pl.Slopes(vec.Region.Rng).Of(a.U.Src[0])
	if !ok || b == nil || a.U.Op != uop.Load || lane.Irregular || lane.Step < 2 || !pl.Slopes(k.Rng).Of(index).Irregular {
		return 0
	}
	size := b.Kind.Size()
	row := min(lane.Step, b.Size) * size
	lines, read := float64((row+Line-1)/Line), float64(k.Trip())
	tile := float64(min(vec.Count, tileVectors*int64(pl.Lanes))) * min(lines, read) * Line
	return costMiss * float64(pl.Lanes) * max(1-float64(pl.m.L1)/tile, 0) * max(1-lines/read, 0)
}

// rowsCost is the cost of the operands of rows: loads that of broadcasting them, once that of packing them, or of reading them from beyond L2;
// strided is the number of bytes of L2 that unpacked operands with a long stride occupy.
func (pl *planner) rowsCost(k *analysis.Region, vec, rows *Axis, acc []analysis.Access, times float64) (loads, once float64, strided int64) {
	byLane, byRow, byStep := pl.Slopes(vec.Region.Rng), pl.Slopes(rows.Region.Rng), pl.Slopes(k.Rng)
	for _, a := range acc {
		if at := a.U.Src[0]; a.Times < 2 || byLane.Of(at).Depends || !byRow.Of(at).Depends {
			continue
		}
		share := a.Times / times
		loads = max(loads, costSplat/2*share)
		switch how, need := pl.rowAccess(a.U, byStep, int64(a.Times), rows); {
		case how == accessMiss:
			once += costPack / float64(vec.Count) * share
		case how == accessStrided:
			strided += need
		case need > pl.m.L2:
			// Each block of columns reads a cache line of it from beyond L2.
			vectors := (vec.Count + int64(pl.Lanes) - 1) / int64(pl.Lanes)
			once += costFar * float64(a.U.DType.Itemsize()) / Line / float64(vectors) * share
		}
	}
	return loads, once, strided
}

// columnCost is the cost of a load of columns, which costs c for a vector: load is that of the load itself, shared by the rows of a tile, pack that
// of packing it or of bringing it into L1, shared by all rows that use it.
func (pl *planner) columnCost(p *Band, k *analysis.Region, a analysis.Access, c float64, vec, rows *Axis, strided int64) (load, pack float64) {
	uses, tall, byStep := float64(rows.Count), float64(min(rows.Count, pl.tileRows())), pl.Slopes(k.Rng)
	for _, w := range p.Axes {
		if w != vec && w != rows && w.Count > 1 && !pl.Slopes(w.Region.Rng).Of(a.U.Src[0]).Depends {
			uses *= float64(w.Count)
		}
	}
	switch {
	case vec.Dynamic: // not packed
		return c / tall, 0
	case c == costNext:
		detour := pl.unpackedCost(a.U, byStep, int64(a.Times), vec.Count, tileWide*int64(pl.Lanes), strided)
		return costNext / tall, min(detour/tall, costPack/uses)
	case pl.transposes(a.U, byStep):
		return costNext / tall, costPack / uses
	case c > costNext+c*tall/uses:
		return costNext / tall, c / uses
	}
	return c / tall, 0
}

// costOf is the cost of an access by its slope along the lanes.
func costOf(s analysis.Slope, u *uop.UOp) float64 {
	switch {
	case !s.Depends:
		return costSplat
	case s.Contiguous():
		return costNext
	case u.Op == uop.Store:
		return costAcross
	case (s.Step == -1 || s.Step == 2 || s.Step == -2) && !s.Irregular && !u.DType.IsBool():
		return costSpread
	}
	return costApart
}

// loadCost is the cost of the loads of a value if neighbouring lanes are iterations of a loop.
func (pl *planner) loadCost(u *uop.UOp, loop *analysis.Region) float64 {
	slopes, sum := pl.Slopes(loop.Rng), 0.0
	for _, l := range analysis.LoadsIn(u) {
		sum += costOf(slopes.Of(l.Src[0]), l)
	}
	return sum
}

// sharing returns the axis whose iterations share the most loads and have some loads of their own. A broadcast element has a small
// weight.
func (pl *planner) sharing(p *Band, acc []analysis.Access, except *Axis) *Axis {
	var found *Axis
	var byLane *analysis.Slopes
	if except != nil {
		byLane = pl.Slopes(except.Region.Rng)
	}
	best := 0.0
	for _, a := range p.Axes {
		if a == except || a.Count < 2 || p.want[knobRowAxis] == none {
			continue
		}
		if a.Number == p.want[knobRowAxis] {
			return a
		}
		s := pl.Slopes(a.Region.Rng)
		n := min(a.Count, pl.tileRows())
		if except != nil {
			if _, beside := pl.secondTileAxis(p, except, a, pl.tileRows(), acc); beside > 0 {
				n = a.Count * beside
			}
		}
		common, own := 0.0, false
		for _, x := range acc {
			switch {
			case x.U.Op != uop.Load || x.Times < 2:
			case s.Of(x.U).Depends:
				own = true
			case byLane != nil && !byLane.Of(x.U).Depends:
				common += x.Times * float64(n) * costSplat
			default:
				common += x.Times * float64(n)
			}
		}
		if except == nil {
			// All rows that share a load are equally good; with few of them the next ones load less again.
			common = min(common, 1/float64(a.Count))
		}
		if own && common > 0 && common >= best {
			found, best = a, common
		}
	}
	return found
}
