package plan

import (
	"math"
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/uop"
)

// A leaf with a reduction is laid out in one of two ways. Either the lanes of vectors are iterations of the reduction loop
// (a dot product of two rows, the sum of a row), or they are neighbouring results: then a register tile holds the
// accumulators of rows by vectors of columns, and an operand of a row or column is loaded once for the whole tile.

// SumLoops is a perfect nest of reduction loops with constant trip counts.
type SumLoops struct {
	Loops []*analysis.Region
	Steps int64
	// Count is the number of iterations of the outermost loop in one part of a split-K sum, 0 without split-K.
	Count int64
	// OneLoop: the loops that pack operands are collapsed into one.
	OneLoop bool
}

func (s *SumLoops) Innermost() *analysis.Region { return s.Loops[len(s.Loops)-1] }

// sumLoopsOf returns the perfect nest of reduction loops that starts with a loop, nil if there is none.
func sumLoopsOf(r *analysis.Region) *SumLoops {
	s := &SumLoops{Steps: 1}
	for {
		in := r.Loops()
		if r.Trip() < 1 || len(in) > 1 {
			return nil
		}
		s.Loops = append(s.Loops, r)
		s.Steps *= r.Trip()
		if len(in) == 0 {
			break
		}
		r = in[0]
	}
	if !r.Simple() {
		return nil
	}
	return s
}

// planReduction lays out a band whose leaf has a reduction.
func (pl *planner) planReduction(p *Band) {
	if pl.planProduct(p) {
		return
	}
	acc := p.Leaf.Accesses(1, nil)
	var k *analysis.Region
	simple, results := true, 1
	for _, r := range p.Leaf.Loops() {
		in := r.Innermost()
		if k == nil || in.Trip() > k.Trip() {
			k = in
		}
		results = max(results, len(in.Updates))
		for _, u := range in.Updates {
			simple = simple && u.Op != 0
		}
	}
	best := math.Inf(1)
	var vec, rows *Axis
	if simple && (p.want[knobVectorAxis] == auto || p.want[knobVectorAxis] == none) {
		rows = pl.sharing(p, acc, nil)
		best = pl.alongCost(p, k, rows, acc)
	}
	// An axis of variable length is packed tile by tile only, so others come first.
	for _, dynamic := range []bool{false, true} {
		for _, a := range p.Axes {
			if a.Dynamic != dynamic || vec != nil && dynamic && !vec.Dynamic || a.Count < 2 || !p.want.allows(knobVectorAxis, a) {
				continue
			}
			shared := pl.sharing(p, acc, a)
			if cost := pl.tileCost(p, k, a, shared, acc); cost <= best {
				best, vec, rows = cost, a, shared
			}
		}
	}
	if vec == nil {
		p.Along = simple
		if rows == nil && simple && p.want[knobRowAxis] != none {
			pl.rowsAtOnce(p, k, acc)
		}
		if rows != nil && simple {
			rows.Units = p.want.or(knobTileRows, pl.streamedRows(k, rows, acc), rows.mostUnits())
		}
		return
	}
	vec.Vector, vec.Unit = true, int64(pl.Lanes)
	if rows == nil && !vec.Dynamic && pl.planPasses(p, vec, acc) {
		return
	}
	apart := rows != nil && !vec.Dynamic && pl.splitKIfLong(p, vec, rows, acc)
	pl.registerTile(p, vec, rows, int64(results), acc, apart)
	if pl.m.Invocations {
		pl.moreTiles(p, vec, rows)
		pl.splitSteps(p, vec)
	}
	if rows == nil {
		return
	}
	// Rows come first in the order of copies, so that an element of a row is used by all its vectors at once. Vectors come last, so
	// that the index of a copy determines that of its vector.
	p.Axes = slices.DeleteFunc(p.Axes, func(a *Axis) bool { return a == rows || a == vec })
	p.Axes = append(append([]*Axis{rows}, p.Axes...), vec)
	if vec.Dynamic {
		pl.packTiles(p, vec, rows)
		return
	}
	p.Rows, p.Vec, rows.Rows = rows, vec, true
	pl.blocks(p, vec, rows, acc)
}

// rowsAtOnce is the number of independent rows that are reduced together to overlap the latency of additions.
const rowsAtOnce = 4

// shortRow is the length of a row in bytes below which starting and ending its sum dominates the time.
const shortRow = 1 << 10

// oneStream is the length in bytes up to which the hardware takes rows that follow each other, read together, for one stream.
const oneStream = 1 << 10

// streamedRow is the length of a row in bytes from which on the hardware prefetches several rows well that are read together.
const streamedRow = 8 << 10

// longChain is the number of steps from which on a sum has two accumulators in each lane, since the rounding error grows with the number of steps of
// an accumulator.
const longChain = 1 << 10

// rowsAtOnce unrolls rows with vectorized sums if they are short, if several dependent sums of a row are computed while the
// rows fit L2, or if long rows come from memory, which answers several streams of loads faster than one: 32 MiB are read at 16 GB/s in
// one stream on Zen 3, at 27 in eight.
func (pl *planner) rowsAtOnce(p *Band, k *analysis.Region, acc []analysis.Access) {
	rows, units := p.Axes[len(p.Axes)-1], int64(rowsAtOnce)
	size := int64(4)
	if pl.Lanes == pl.m.WideLanes {
		size = 8
	}
	row, single := k.Trip()*size, len(p.Leaf.Loops()) == 1
	memory := single && len(k.Updates) > 0 && slices.ContainsFunc(acc, func(a analysis.Access) bool { return pl.streams(k, a.U) })
	switch {
	case row < 0:
		return
	case memory && row >= streamedRow:
		units = pl.m.RowStreams / int64(len(k.Updates))
		if k.Trip() > longChain*int64(pl.Lanes) {
			units /= 2
		}
	case memory && units*row >= oneStream || row > shortRow && (single || row*rows.Count > pl.m.L2):
		return
	}
	if !rows.Dynamic && rows.Count >= 2*units {
		rows.Units = p.want.or(knobTileRows, max(units, 1), rows.Count)
		p.rowStreams = memory && row >= streamedRow && rows.Units > 1
	}
}

// element is the assumed size in bytes of an element of a pack.
const element = 4

// aliasing is the stride in bytes at which rows map to the same sets of the L1 cache.
const aliasing = 4096

// tileWide is the usual width of a register tile, in vectors of columns.
const tileWide = 2

// tileVectors is the width of a tile of one row.
const tileVectors = 8

// tileRows is the height of a register tile of that width.
func (pl *planner) tileRows() int64 { return int64(pl.m.Vectors-4) / tileWide }

// collectsBools reports whether a reduction loop reduces Bools.
func collectsBools(r *analysis.Region) bool {
	return slices.ContainsFunc(r.Innermost().Updates, func(u *analysis.Update) bool { return u.Slot.Reg.DType.Base().IsBool() })
}

// registerTile fills the vector registers with accumulators: rows by vectors of columns. With split-K the rows of a part
// stay in cache, so their stride does not matter.
func (pl *planner) registerTile(p *Band, vec, rows *Axis, results int64, acc []analysis.Access, parts bool) {
	vectors := (vec.Count + vec.Unit - 1) / vec.Unit
	if rows == nil {
		most := int64(tileVectors)
		if pl.m.Masks && slices.ContainsFunc(p.Leaf.Loops(), collectsBools) {
			most = 6 // there are 7 mask registers
		}
		vec.Units = p.want.or(knobTileVectors, max(most/results, 1), vectors)
		return
	}
	room := int64(pl.m.Vectors-4) / results
	wide, tall := int64(tileWide), pl.tileRows()
	if vec.Dynamic {
		vec.Units = p.want.or(knobTileVectors, min(wide, room, vectors), vectors)
		rows.Units = p.want.or(knobTileRows, balancedHeight(rows.Count, max(min(tall, room/vec.Units, rows.mostUnits()), 1)), rows.mostUnits())
		return
	}
	beside := int64(1)
	spread := pl.broadcasts(p, vectors)
	byRow := pl.Slopes(rows.Region.Rng)
	for _, a := range acc {
		if s := byRow.Of(a.U.Src[0]); !pl.m.LoadStore && !parts && !spread && a.U.Op == uop.Load && s.Depends && s.Step*int64(a.U.DType.Itemsize())%aliasing == 0 {
			wide, tall = 3, 8
			if vectors == 4 || pl.m.Vectors > 16 && (vectors%4 == 0 || vectors%4 > 1 && vectors%3 > 0) {
				wide, tall = 4, 6 // fewer loads, and no remainder of one row
			}
		}
	}
	if pl.m.SlowBroadcast && !spread {
		wide, tall = 4, 2 // few broadcasts, and registers for their intermediate values
	}
	if a := pl.batchTileAxis(p, vec, rows, acc); a != nil && results == 1 {
		vec.Units = p.want.or(knobTileVectors, 1, min(room, vectors))
		side := int64(math.Sqrt(float64(room / vec.Units)))
		rows.Units = p.want.or(knobTileRows, balancedHeight(rows.Count, side), min(room/vec.Units, rows.Count))
		p.secondRows, p.batchLanes, a.Units = a, true, balancedHeight(a.Count, max(room/vec.Units/rows.Units, 1))
		return
	}
	if !parts {
		p.secondRows, beside = pl.secondTileAxis(p, vec, rows, room/wide, acc)
	}
	if rows.Count <= room/4 && p.secondRows == nil {
		wide = 4
	}
	vec.Units = p.want.or(knobTileVectors, min(wide, room), vectors)
	rows.Units = p.want.or(knobTileRows, balancedHeight(rows.Count, max(min(tall, room/vec.Units, rows.mostUnits()), 1)), rows.mostUnits())
	if p.secondRows != nil && rows.Units == rows.Count && vec.Units*rows.Units*beside <= room {
		p.secondRows.Units = beside
	} else {
		p.secondRows = nil
	}
}

// moreTiles shrinks tiles until there are enough workgroups for a GPU: first in width, since the invocations load an element of a row
// together.
func (pl *planner) moreTiles(p *Band, vec, rows *Axis) {
	const lowest = 4
	enough := pl.m.Workgroups
	if rows == nil && pl.m.Shared > 0 {
		enough *= manyGroups // each element is loaded once: the number of loads in flight counts
	}
	tiles := func() int64 {
		n := int64(1)
		for _, a := range p.Axes {
			switch tile := a.Tile(); {
			case a.Dynamic: // at least one
			case a.Plain():
				n *= a.Count
			default:
				n *= (a.Count + tile - 1) / tile
			}
		}
		return n
	}
	for p.want[knobTileVectors] == auto && vec.Units > 1 && tiles() < enough {
		vec.Units = (vec.Units + 1) / 2
	}
	for p.want[knobTileRows] == auto && rows != nil && rows.Units >= 2*lowest && tiles() < enough {
		rows.Units /= 2
	}
}

// broadcasts reports whether rows are packed as broadcast vectors, for a number of vectors of columns.
func (pl *planner) broadcasts(p *Band, vectors int64) bool {
	for _, r := range p.Leaf.Loops() {
		if s := sumLoopsOf(r); s == nil || s.Steps < int64(pl.Lanes) {
			return false
		}
	}
	return pl.m.SlowBroadcast && p.want[knobPackRows] != off && (vectors+tileWide-1)/tileWide >= rowPackReuse
}

// mostUnits is the limit of iterations of a tile. The remainder of a dynamic axis runs iteration by iteration, so tiles of short
// axes are lower.
func (a *Axis) mostUnits() int64 {
	if a.Dynamic {
		return max(a.Count/8, min(a.Count, 4))
	}
	return a.Count
}

// estimatedTrip is the trip count that costs are estimated with: half of the upper bound for a dynamic axis.
func (a *Axis) estimatedTrip() int64 {
	if a.Dynamic {
		return (a.Count + 1) / 2
	}
	return a.Count
}

// balancedHeight returns a tile height, up to a limit, that leaves no small remainder.
func balancedHeight(n, most int64) int64 {
	if n <= most {
		return n
	}
	const least = 5 // lower tiles are bound by the latency of additions
	best, found := int64(math.MaxInt64), most
	for h := most; h > most/2; h-- {
		cost := n / h * max(h, least)
		if r := n % h; r > 0 {
			cost += max(r, least)
		}
		if cost < best {
			best, found = cost, h
		}
	}
	return found
}

// blocks tiles a matrix product for the caches: columns into blocks that are packed, rows into blocks of half of L2.
func (pl *planner) blocks(p *Band, vec, rows *Axis, acc []analysis.Access) {
	k := int64(0) // steps of all sums
	for _, r := range p.Leaf.Loops() {
		if p.MultiPass != nil {
			break
		}
		sum := sumLoopsOf(r)
		if sum == nil {
			p.Sums = nil
			return
		}
		p.Sums = append(p.Sums, sum)
	}
	for _, sum := range p.Sums {
		k += sum.Steps
	}
	var walks []level
	for _, a := range p.Axes {
		switch {
		case a.Plain():
			walks = append(walks, level{a, Walk})
		case a == p.secondRows:
			walks = append(walks, level{a, Tiles})
		}
	}
	if p.batchLanes {
		pl.batchLevels(p, vec, rows, walks)
		return
	}
	near := k*vec.Tile()*element <= pl.m.L1
	if p.MultiPass == nil && near && p.want[knobPackColumns] != on && pl.interleaved(vec, walks, acc) {
		// Outside of the tiles, each iteration of the walked loops would go through the whole result; inside, the operands of a tile stay in L1.
		p.Levels = append(append(p.Levels, level{vec, Tiles}, level{rows, Tiles}), walks...)
		return
	}
	for _, sum := range p.Sums {
		p.RowPacks = append(p.RowPacks, pl.findRowPacks(p, sum, vec, rows)...)
		p.Packs = append(p.Packs, pl.findPacks(p, sum, vec, rows, walks)...)
	}
	if len(p.RowPacks) > 0 && p.secondRows != nil {
		// Packed rows belong to one axis.
		i := slices.IndexFunc(walks, func(l level) bool { return l.Axis == p.secondRows })
		walks[i].Kind, p.secondRows.Units, p.secondRows = Walk, 1, nil
	}
	tilesAcross := vec.Full() + min(vec.Rest(), 1)
	tilesDown := rows.Full() + min(rows.Rest(), 1)
	tall := rows.Tile()
	if len(p.RowPacks) > 0 {
		tall = rows.Width(pl.Lanes)
	}
	rowSteps, columnSteps := k, k
	if len(p.RowPacks) > 0 {
		rowSteps = 0
	}
	for _, q := range p.RowPacks {
		rowSteps += q.Sum.Steps
	}
	if len(p.Packs) > 0 {
		columnSteps = 0
	}
	for _, q := range p.Packs {
		columnSteps += q.Sum.Steps
	}
	mostRows := max(pl.m.L2/2/(rowSteps*tall*element), 1)
	rowThreads := int64(1)
	// Rows that are invariant in the walked loops are packed before them.
	early := p.MultiPass == nil && len(p.RowPacks) > 0 && !slices.ContainsFunc(p.RowPacks, func(q *RowPack) bool { return pl.variesWith(q.U, walks) })
	if len(p.Packs) > 0 || p.MultiPass != nil {
		// Each block of columns packs the rows again.
		room := pl.m.L2 * 3 / 8
		if len(p.RowPacks) > 0 {
			room = pl.m.L3
		}
		most := max(room/(columnSteps*vec.Tile()*element), 1)
		if p.MultiPass != nil {
			most = max(min(most, pl.m.L2/2/(rows.Count*vec.Tile()*element)), 1)
		}
		inside := p.MultiPass != nil || slices.ContainsFunc(p.Packs, func(q *Pack) bool { return pl.variesWith(q.U, walks) })
		threads := int64(pl.m.Threads)
		if tilesAcross <= most && len(walks) == 0 && pl.rowsCostMore(p) {
			threads, rowThreads = 1, threads
		}
		vec.Group = p.want.or(knobColumnBlock, balancedBlock(tilesAcross, most, threads), tilesAcross)
		if inside && early && tilesDown <= mostRows {
			pl.blockRows(p, tilesDown, mostRows, rowThreads)
		}
		if inside {
			p.Levels = append(append(p.Levels, walks...), level{vec, Blocks})
			walks = nil
		} else {
			p.Levels = append(p.Levels, level{vec, Blocks})
		}
		for _, q := range p.Packs {
			q.make(pl, len(p.Levels), vec.Group, vec.Tile())
		}
		for _, sum := range p.Sums {
			sum.OneLoop = pl.oneLoop(p.PacksOf(sum), sum)
		}
	}
	if !early {
		p.Levels = append(p.Levels, walks...)
	}
	pl.reserveSplitK(p)
	// A tile of rows is reused for all columns. Columns are reused for all rows instead if the rows are packed or an operand misses L2.
	columnsInner := p.want[knobRowsInnermost] == off || p.want[knobRowsInnermost] == auto && len(p.RowPacks) == 0 && !p.l2Miss
	if rows.Group == 0 && (len(p.RowPacks) > 0 || p.want[knobRowBlock] > 0 || p.want[knobRowBlock] == auto && !columnsInner && tilesDown > mostRows) {
		pl.blockRows(p, tilesDown, mostRows, rowThreads)
	}
	if early {
		p.Levels = append(p.Levels, walks...)
	}
	if columnsInner {
		p.Levels = append(p.Levels, level{rows, Tiles}, level{vec, Tiles})
	} else {
		p.Levels = append(p.Levels, level{vec, Tiles}, level{rows, Tiles})
	}
}

// packTiles packs the columns of each tile of an axis of variable length, if its rows use them often enough.
func (pl *planner) packTiles(p *Band, vec, rows *Axis) {
	if vec.Count < 0 {
		return
	}
	var walks []level
	for _, a := range p.Axes {
		if a.Plain() && a != rows {
			walks = append(walks, level{a, Walk})
		}
	}
	var sums []*SumLoops
	var packs []*Pack
	for _, r := range p.Leaf.Loops() {
		sum := sumLoopsOf(r)
		if sum == nil {
			return
		}
		sums, packs = append(sums, sum), append(packs, pl.findPacks(p, sum, vec, rows, walks)...)
	}
	if len(packs) == 0 {
		return
	}
	p.Rows, p.Vec, rows.Rows = rows, vec, true
	p.Sums, p.Packs = sums, packs
	p.Levels = append(walks, level{vec, Tiles})
	for _, q := range packs {
		q.OneTile = true
		q.make(pl, len(p.Levels), 1, vec.Tile())
	}
	p.Levels = append(p.Levels, level{rows, Tiles})
	for _, sum := range sums {
		sum.OneLoop = pl.oneLoop(p.PacksOf(sum), sum)
	}
}

// blockRows adds a level of blocks of at most the given number of row tiles, balanced for the threads; the rows of a block are packed
// before its tiles.
func (pl *planner) blockRows(p *Band, tiles, most, threads int64) {
	rows := p.Rows
	if len(p.Levels) == 0 {
		threads = int64(pl.m.Threads)
	}
	rows.Group = p.want.or(knobRowBlock, balancedBlock(tiles, most, threads), tiles)
	p.Levels = append(p.Levels, level{rows, Blocks})
	p.RowPackAt = len(p.Levels)
	for _, q := range p.RowPacks {
		q.Buf = pl.Memory.New(analysis.KindFor(q.U.DType).Register(), rows.Group*q.Sum.Steps*rows.Width(pl.Lanes))
	}
}

// interleaved reports whether the walked loops store to the elements between the lanes of vectors, while columns are loaded
// contiguously.
func (pl *planner) interleaved(vec *Axis, walks []level, acc []analysis.Access) bool {
	byLane := pl.Slopes(vec.Region.Rng)
	for _, a := range acc {
		s := byLane.Of(a.U.Src[0])
		if a.U.Op != uop.Store {
			if c := costOf(s, a.U); a.Times > 1 && c > costNext {
				return false
			}
			continue
		}
		for _, w := range walks {
			if t := pl.Slopes(w.Axis.Region.Rng).Of(a.U.Src[0]); s.Irregular || t.Irregular || !t.Depends || t.Step >= s.Step {
				return false
			}
		}
	}
	return len(walks) > 0
}

// variesWith reports whether a value depends on a walked loop.
func (pl *planner) variesWith(u *uop.UOp, walks []level) bool {
	return slices.ContainsFunc(walks, func(l level) bool { return pl.Slopes(l.Axis.Region.Rng).Of(u).Depends })
}

// balancedBlock is the size of equal blocks, up to a limit of tiles, that balances the threads.
func balancedBlock(tiles, most, threads int64) int64 {
	const nearly = 32 // blocks per thread from which on one more does not matter
	fair := (tiles + threads - 1) / threads
	for n := (tiles + most - 1) / most; ; n++ {
		size := max((tiles+n-1)/n, 1)
		blocks := (tiles + size - 1) / size
		if busiest := min((blocks+threads-1)/threads*size, tiles); busiest <= fair+fair/nearly {
			return size
		}
	}
}
