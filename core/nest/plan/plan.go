// Package plan decides how the loops of a kernel are laid out on a machine, from the results of analysis, the description of the machine
// and the knobs of a Choice. A plan is complete before anything is emitted and does not change afterwards.
//
// Terms: a band is a nest of parallel loops (its axes) with one body (its leaf). An axis is walked, iteration by iteration, or
// tiled: a tile has several units, each an iteration or a vector of iterations; tiles may be grouped into blocks that fit a
// cache. A register tile is rows by vectors of columns, with a second tile axis if there are few rows. An operand that many
// tiles use is packed: computed into scratch memory in the order of use. A sum is multi-pass if its partial results are kept
// in scratch memory while a few rows at a time are added, and split-K if the reduction loop of a product is cut into parts that
// are added one after the other. Two short axes may share vectors as a pair.
package plan

import (
	"math"
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Band is the layout of a band of loops.
type Band struct {
	Axes   []*Axis // in the order of the copies in a tile: rows before columns
	Levels []level
	Leaf   *analysis.Region
	Masks  bool
	// Items is the level whose iterations are the work items, -1 for none. Joined are the axes whose loops are collapsed with it, from the outermost
	// on: a work item is then one iteration of the collapsed loop.
	Items  int
	Joined []*Axis
	// Grid: the work items are the iterations of all levels together.
	Grid bool
	// Held: a row stays in registers. The loops of the leaf are fully unrolled, and each lane has the same elements of the row in all of them.
	Held bool
	// Along: the innermost reduction loops of the leaf are vectorized.
	Along bool
	// inVectors: an axis of a band around is vectorized.
	inVectors bool
	// Rows and Vec are the axes of a register tile, nil if there is none.
	Rows, Vec *Axis
	// secondRows is the second tile axis: more rows of the tile, where there are few along the first. Nil for none.
	secondRows *Axis
	// batchLanes: the lanes are batches of a product, so no operand is a broadcast scalar.
	batchLanes bool
	// MultiPass is the layout of a multi-pass sum of the leaf, nil for none.
	MultiPass *MultiPass
	// Product is the layout of a product of packed operands, nil for none.
	Product *Product
	// Split distributes the steps of the sums over lanes, in addition to the vectorized axis. Nil if it does not.
	Split *Spread
	// Workgroup is the layout of a leaf with operands in the memory of a workgroup, nil for none.
	Workgroup *Workgroup
	// Transpose is the axis along which vectors are loaded if they are then transposed in registers, nil for none.
	Transpose *Axis
	// LanesAreRows: the lanes of vectors are rows with sequential steps. Loads and stores are along the rows, as squares of lanes by steps
	// that are transposed in registers.
	LanesAreRows bool
	// Sums are the sums of products of the leaf, if its loops may be blocked for the caches.
	Sums []*SumLoops
	// Packs are operands that are computed into scratch memory.
	Packs []*Pack
	// l2Miss: unpacked operands are read from beyond L2. stridedL2 is the number of bytes of L2 that strided operands of the
	// rows occupy.
	l2Miss    bool
	stridedL2 int64
	// RowPacks are operands of the rows that are computed before the level RowPackAt.
	RowPacks  []*RowPack
	RowPackAt int
	// transposed are the stores whose tiles are transposed in registers, Streams maps the non-temporal stores to the number of adjacent elements that
	// are written together.
	transposed []*uop.UOp
	// Interleaved maps a store to the group of stores whose vectors are interleaved in registers (it is one of them); interleavedAlong is their
	// vectorized axis.
	Interleaved      map[*uop.UOp][]*uop.UOp
	interleavedAlong *Axis
	Streams          map[*uop.UOp]int64
	// rowStreams: each row of a tile is a stream of loads from memory, which needs no prefetch.
	rowStreams bool
	// perRow is the number of scratch elements of each row, if several rows are interleaved.
	perRow map[*ir.Buffer]int64
	// want are the requested knobs of the band, used is the resulting layout.
	want Knobs
	used *Laid
}

// Costs of vector accesses: contiguous, broadcast, reversed or strided, and lane by lane.
const (
	costNext   = 1
	costSplat  = 0.25
	costSpread = 2
	costApart  = 20
	costAcross = 30   // of a store, lane by lane
	costPack   = 10   // of packing a vector, contiguous or transposed
	costL2     = 0.75 // added for a vector from L2
	costFar    = 4    // added for a vector from beyond L2

	costOperation = 0.5 // of an operation on vectors
	scalarsAtOnce = 4   // scalar operations in the time of a vector operation
)

// vectorCost is the cost of the accesses of a leaf if a range is vectorized.
func (pl *planner) vectorCost(acc []analysis.Access, rng *uop.UOp) float64 {
	s := pl.Slopes(rng)
	sum := 0.0
	for _, a := range acc {
		c := costOf(s.Of(a.U.Src[0]), a.U)
		if c > costSpread && a.U.Op == uop.Load && a.U.DType.Itemsize() >= 4 && pl.spreadsAlong(a.U, s) {
			c = costSpread
		}
		sum += a.Times * c
	}
	return sum
}

// spreadsAlong reports whether groups of two or four consecutive iterations load the same element, as where every other element is padding.
func (pl *planner) spreadsAlong(load *uop.UOp, s *analysis.Slopes) bool {
	_, index, _, ok := pl.AddressOf(load.Src[0])
	if !ok {
		return false
	}
	var depends []*uop.UOp
	var add func(u *uop.UOp)
	add = func(u *uop.UOp) {
		switch {
		case !s.Of(u).Depends:
		case u.Op == uop.Add, u.Op == uop.Cast && u.DType.IsInt():
			for _, t := range u.Src {
				add(t)
			}
		default:
			depends = append(depends, u)
		}
	}
	if add(index); len(depends) != 1 || pl.m.Invocations {
		return false
	}
	q := depends[0]
	if q.Op != uop.Shr && q.Op != uop.Idiv || q.Src[1].Op != uop.ConstOp {
		return false
	}
	d, known := q.Src[1].ConstVal().Int64()
	if q.Op == uop.Shr {
		d = 1 << (d & 63)
	}
	of := s.Of(q.Src[0])
	return known && (d == 2 || d == 4) && of.Contiguous()
}

// plan makes the layout of a band; around is the enclosing band, nil for none.
func (pl *planner) plan(c []*analysis.Region, around *Band) *Band {
	p := &Band{Leaf: c[len(c)-1], Items: -1, Masks: pl.Masks, inVectors: around.vectors()}
	for i, r := range c {
		a := &Axis{Region: r, Count: r.Trip(), Number: int64(i + 1), Units: 1, Unit: 1}
		if a.Dynamic = a.Count < 0; a.Dynamic {
			a.Count = r.Bound()
		}
		p.Axes = append(p.Axes, a)
	}
	pl.number(p)
	pl.findOrdered(p)
	inner := p.Leaf.Loops()
	collects := slices.ContainsFunc(inner, func(r *analysis.Region) bool { return !r.Writes })
	nested := slices.ContainsFunc(inner, func(r *analysis.Region) bool { return r.Writes })
	switch {
	case len(c) == 1 && p.Leaf.InOrder():
		a := p.Axes[0]
		p.Along = !pl.plain && !p.inVectors
		if step := pl.prefixStep(p.Leaf); step != 0 && !p.inVectors && p.want.allows(knobVectorAxis, a) {
			a.Vector, a.Unit, a.Descending = true, int64(pl.Lanes), step < 0
		} else if p.Along && !around.tiled() && pl.scattersAlone(p.Leaf) {
			a.Unroll = scatterUnroll
		}
	case (nested || slices.ContainsFunc(inner, (*analysis.Region).InOrder)) && !pl.plain && !p.inVectors && !p.ordered() &&
		!slices.ContainsFunc(inner, func(r *analysis.Region) bool { return r.Writes && (!r.InOrder() || severalStatements(r)) }):
		pl.planPrefix(p)
	case p.inVectors: // the lanes are iterations of a band around
	case pl.plain && around == nil && len(inner) == 0 && pl.planInvocations(p):
	case pl.m.Invocations && !pl.collects && pl.planTransposedWorkgroup(p):
	case nested && around == nil && pl.planOnline():
	case pl.plain || !nested && !pl.Independent(p.Leaf) || collects && p.ordered():
	case nested:
		p.Along = true
		pl.planShortRows(p)
		pl.moreLanes(p, around)
	case !collects:
		pl.planElements(p, around)
	case around == nil && pl.planWorkgroup(p):
	default:
		pl.planReduction(p)
		pl.moreLanes(p, around)
	}
	for _, a := range p.Axes { // a remainder of one iteration runs scalar in the same time
		a.Overlaps = a.Vector && !p.Masks && !a.Dynamic && !a.ordered && a.Unit > 1 && a.Count > a.Unit && a.Count%a.Unit > 1 && p.Leaf.Repeatable()
	}
	pl.levelsOf(p)
	if around == nil {
		pl.chooseItems(p)
		pl.chooseGroup(p)
	}
	p.record(collects && !nested)
	if around == nil {
		pl.recordLanes(p)
	}
	return p
}

// severalStatements reports whether each iteration of a loop has several loops that write.
func severalStatements(r *analysis.Region) bool {
	loops := 0
	for _, inner := range r.Loops() {
		if inner.Writes {
			loops++
		}
	}
	return loops > 1
}

// findOrdered finds the axes whose iterations run in order: those of indirect stores, whose addresses depend on values loaded from
// memory, unless the loops of the kernel say it.
func (pl *planner) findOrdered(p *Band) {
	if pl.Tree.AnyInOrder() { // sequential loops are marked
		for _, a := range p.Axes {
			a.ordered = a.Region.InOrder()
		}
		return
	}
	for _, x := range p.Leaf.Accesses(1, nil) {
		if x.U.Op != uop.Store {
			continue
		}
		loads := analysis.LoadsIn(x.U.Src[0])
		for _, a := range p.Axes {
			s := pl.Slopes(a.Region.Rng)
			a.ordered = a.ordered || slices.ContainsFunc(loads, func(l *uop.UOp) bool { return s.Of(l).Depends })
		}
	}
}

// levelsOf makes the levels: walked axes, then tiles.
func (pl *planner) levelsOf(p *Band) {
	if len(p.Levels) > 0 {
		return
	}
	for _, a := range p.Axes {
		if a.Plain() {
			p.Levels = append(p.Levels, level{a, Walk})
		}
	}
	for _, vec := range []bool{true, false} {
		for _, a := range p.Axes {
			if !a.Plain() && a.Vector == vec {
				p.Levels = append(p.Levels, level{a, Tiles})
			}
		}
	}
}

// lightBody is the greatest weight of a loop body that takes no longer than the loop overhead of an iteration (Machine.SlowLoops).
const lightBody = 8

// manyIterations is the number of iterations from which on long expressions, such as random numbers, are unrolled more: the dependency chains of
// several vectors overlap.
const manyIterations = 1 << 19

// iterations is the product of the upper bounds of a band's trip counts; axes without a known bound count as 1.
func (p *Band) iterations() int64 {
	n := int64(1)
	for _, a := range p.Axes {
		if most, ok := a.Region.Rng.Src[0].Vmax().Int64(); ok && most < math.MaxInt32 {
			n *= max(most, 1)
		}
	}
	return n
}

// planElements lays out a band without reductions; around is the enclosing band, nil for none.
func (pl *planner) planElements(p, around *Band) {
	copies := around.copies()
	acc, arithmetic := p.Leaf.Accesses(1, nil), costOperation*float64(pl.Weight(p.Leaf))
	var vec *Axis
	best := 0.0
	for _, a := range p.Axes {
		if !a.Dynamic && a.Count < 2 || a.ordered || !p.want.allows(knobVectorAxis, a) {
			continue
		}
		// A partly filled vector costs as much as a full one.
		cost := (pl.vectorCost(acc, a.Region.Rng) - pl.interleavingSaves(p.Leaf, a) + arithmetic) * pl.fill(a.Count)
		if vec == nil || cost <= best {
			vec, best = a, cost
		}
	}
	if vec == nil {
		return
	}
	ordered := p.ordered()
	// Scalar accesses cost as much as gathered lanes, and a processor does several scalar operations at a time.
	scalar := float64(len(acc))*costApart + arithmetic*float64(pl.Lanes)/scalarsAtOnce
	if a := pl.bestPair(p, acc, arithmetic, best); a != nil && !ordered && !pl.m.Invocations {
		vec = a
		p.Axes = append(slices.DeleteFunc(p.Axes, func(b *Axis) bool { return b.Region == a.Region || b.Region == a.Inner }), a)
	} else if !ordered && pl.planTranspose(p, acc, arithmetic, best) || p.want[knobVectorAxis] == auto && best > scalar {
		return
	}
	vec.Vector = true
	if vec.Inner == nil {
		vec.Unit = int64(pl.Lanes)
	}
	weight, most, units := pl.Weight(p.Leaf), int64(256), int64(4)
	switch {
	case pl.m.SlowLoops:
		most = 1024 // interleaved rows are in one iteration
		if weight <= lightBody {
			units = 16
		}
	case around == nil && !pl.m.Invocations && p.iterations() >= manyIterations:
		most = 1024 // one or two runs save the time that longer code takes to compile
	}
	for vec.Units = max(units/copies, 1); vec.Units > 1 && (vec.Units*weight > most || vec.Count > 0 && vec.Tile() > vec.Count || vec.Dynamic && !p.Masks && vec.Region.TripMultiple()%vec.Tile() != 0); vec.Units /= 2 {
	}
	if vec.Dynamic {
		return
	}
	if around != nil && around.Held {
		vec.Units = (vec.Count + vec.Unit - 1) / vec.Unit
	}
	vec.Units = p.want.or(knobTileVectors, vec.Units, max(vec.Count/vec.Unit, 1))
}

// scatterUnroll is the unroll factor of loops that scatter one element after the other. A processor predicts for each load instruction whether an earlier
// store writes what it reads. With one load for all iterations, counts of random numbers take twice as long at some addresses.
const scatterUnroll = 4

// scattersAlone reports whether a loop of enough iterations does nothing but read, modify and write elements at data-dependent places.
func (pl *planner) scattersAlone(r *analysis.Region) bool {
	if pl.m.Invocations || r.Trip() < 4*scatterUnroll || len(r.Loops()) > 0 || len(r.Written(nil)) > 0 {
		return false
	}
	s := pl.Slopes(r.Rng)
	return slices.ContainsFunc(r.Accesses(1, nil), func(a analysis.Access) bool { return a.U.Op == uop.Store && s.Of(a.U.Src[0]).Irregular })
}

// planPrefix lays out a band around the loop of a prefix: the lanes of vectors are iterations of an axis along which memory is
// contiguous, else several rows are interleaved, so that their dependency chains overlap.
func (pl *planner) planPrefix(p *Band) {
	acc := p.Leaf.Accesses(1, nil)
	all, best := 0.0, 0.0
	for _, a := range acc {
		all += a.Times
	}
	weight, arithmetic, steps := int64(0), 0.0, false // steps: the lanes may be steps of a row
	for _, r := range p.Leaf.Loops() {
		weight += pl.Weight(r)
		arithmetic += costOperation * float64(pl.Weight(r)*max(r.Trip(), 1))
		steps = steps || r.InOrder() && pl.prefixStep(r) != 0
	}
	// With data-dependent addresses, interleaved rows touch many cache lines.
	found := 0.0
	for _, r := range p.Leaf.Loops() {
		for _, a := range acc {
			if s := pl.Slopes(r.Rng).Of(a.U.Src[0]); a.U.Op == uop.Store && s.Irregular {
				found += a.Times * costAcross
			}
		}
	}
	var vec, rows *Axis
	for _, a := range p.Axes {
		if a.Dynamic || a.Count < 2 {
			continue
		}
		if rows == nil || a.Count > rows.Count {
			rows = a
		}
		cost := pl.vectorCost(acc, a.Region.Rng)
		if cost > 2*costSpread*all && !pl.scattersAlias(a, acc) {
			cost += found
		}
		if cost = (cost + arithmetic) * pl.fill(a.Count); p.want.allows(knobVectorAxis, a) && (vec == nil || cost < best) {
			vec, best = a, cost
		}
	}
	most := int64(256)
	if pl.m.SlowLoops {
		most = 1024
	}
	vectors := false
	if vec != nil {
		inOrder := best-arithmetic*pl.fill(vec.Count) <= 2*costSpread*all
		p.LanesAreRows = !inOrder && !steps && pl.canTransposeSteps(p, vec, acc)
		vectors = inOrder || !steps && best < all*costApart+arithmetic*float64(pl.Lanes)/scalarsAtOnce
	}
	switch {
	case p.LanesAreRows:
		vec.Vector, vec.Unit = true, int64(pl.Lanes)
	case vectors:
		vec.Vector, vec.Unit = true, int64(pl.Lanes)
		vec.Units = max(4, 32/int64(pl.Lanes))
		// A tile runs through the whole sequential loop before the next tile reads more of the same rows, so tiles are wide, as long as enough of
		// them remain for the threads.
		long := int64(longRow)
		if pl.scattersRows(p.Leaf, acc) {
			long, most = 2*longRow, 8*most
		}
		for vec.Units < long && vec.Count >= 8*vec.Tile() && !pl.scattersCached(vec, acc) {
			vec.Units *= 2
		}
		if !slices.ContainsFunc(p.Leaf.Loops(), func(r *analysis.Region) bool { return r.Writes }) {
			// Loop-carried values are in registers, and the dependency chains of interleaved vectors overlap.
			for vec.Units *= 2; vec.Units > 1 && vec.Units*int64(len(p.Leaf.Written(nil))) > vectorsCarried; vec.Units /= 2 {
			}
		}
		for ; vec.Units > 1 && (vec.Units*weight > most || vec.Tile() > vec.Count); vec.Units /= 2 {
		}
		if long > longRow && vec.Count > vec.Tile() {
			pl.walkScatteredRows(p, vec, acc)
		}
	case rows != nil:
		rows.Units = chains
		if !slices.ContainsFunc(p.Leaf.Loops(), func(r *analysis.Region) bool { return r.InOrder() && pl.prefixStep(r) == 0 }) {
			rows.Units = vectorChains
			if slices.ContainsFunc(acc, func(a analysis.Access) bool {
				b := pl.Buffers[analysis.Definition(a.U.Src[0])]
				return b != nil && b.Size*b.Kind.Size() > pl.m.L2
			}) {
				rows.Units = vectorStreams
			}
		}
		held := int64(0) // general registers of counters and addresses
		for _, a := range acc {
			if a.U.Op == uop.Load && a.U.DType.IsInt() {
				held++
			}
		}
		for ; rows.Units > 1 && (rows.Units*weight > most || rows.Units*held > int64(pl.m.Pointers) || rows.Units > rows.Count); rows.Units /= 2 {
		}
	}
}

// scattersRows reports whether sequential loops store to data-dependent rows: the hardware prefetches only within the part of a row that an
// iteration computes.
func (pl *planner) scattersRows(leaf *analysis.Region, acc []analysis.Access) bool {
	return slices.ContainsFunc(leaf.Loops(), func(r *analysis.Region) bool {
		s := pl.Slopes(r.Rng)
		return r.InOrder() && slices.ContainsFunc(acc, func(a analysis.Access) bool { return a.U.Op == uop.Store && s.Of(a.U.Src[0]).Irregular })
	})
}

// walkScatteredRows makes the loop over data-dependent rows the outer one, around the tiles of a row, if no register is carried from row to row: a
// row is then read and written as a whole, in the order of memory. Several threads share the columns instead: the few columns of a thread stay in its
// cache.
func (pl *planner) walkScatteredRows(p *Band, vec *Axis, acc []analysis.Access) {
	loops := p.Leaf.Loops()
	if pl.m.Threads > 1 || pl.m.SlowLoops || len(loops) != 1 || p.Leaf.HasStores() || len(loops[0].Loops()) > 0 || len(loops[0].Written(nil)) > 0 {
		return
	}
	along := pl.Slopes(vec.Region.Rng)
	if slices.ContainsFunc(acc, func(a analysis.Access) bool { return along.Of(a.U.Src[0]).Irregular }) {
		return // the address of each element is data-dependent
	}
	rows := &Axis{Region: loops[0], Count: loops[0].Trip(), Number: int64(len(p.Axes) + 1), Units: 1, Unit: 1, ordered: true}
	if rows.Dynamic = rows.Count < 0; rows.Dynamic {
		rows.Count = loops[0].Bound()
	}
	p.Axes, p.Leaf = append(p.Axes, rows), loops[0]
	vec.Units = max(4, 32/int64(pl.Lanes))
}

// longRow is the number of vectors of a long row that an iteration of a sequential loop computes.
const longRow = 16

// scattersCached reports whether each lane stores to a data-dependent row of its column, and the columns do not alias in the cache, so that the
// columns of a narrow tile stay in it.
func (pl *planner) scattersCached(vec *Axis, acc []analysis.Access) bool {
	return slices.ContainsFunc(acc, func(a analysis.Access) bool {
		s := pl.Slopes(vec.Region.Rng).Of(a.U.Src[0])
		return a.U.Op == uop.Store && s.Irregular && vec.Count*int64(a.U.Src[1].DType.Itemsize())%(aliasing/2) != 0
	})
}

// scattersAlias reports whether each lane stores to a data-dependent row of its column, all other accesses are contiguous, and columns alias in
// the cache: then a narrow tile is no better than a wide one.
func (pl *planner) scattersAlias(vec *Axis, acc []analysis.Access) bool {
	along, scatters := pl.Slopes(vec.Region.Rng), false
	for _, a := range acc {
		s := along.Of(a.U.Src[0])
		if !s.Irregular && s.Step != 0 && s.Step != 1 {
			return false
		}
		scatters = scatters || s.Irregular && a.U.Op == uop.Store
	}
	return scatters && !pl.scattersCached(vec, acc)
}

// vectorsCarried is the number of loop-carried vectors of a sequential loop that stay in registers.
const vectorsCarried = 16

// canTransposeSteps reports whether the loops of a leaf access rows contiguously and unconditionally, so that squares of rows by steps can
// be transposed in registers.
func (pl *planner) canTransposeSteps(p *Band, rows *Axis, acc []analysis.Access) bool {
	lanes := int64(pl.Lanes)
	loops := p.Leaf.Loops()
	if lanes < 4 || rows.Count < lanes || p.want[knobTranspose] == off || len(loops) == 0 {
		return false
	}
	for _, r := range loops {
		if !r.InOrder() || r.Trip() < 2*lanes || len(r.Loops()) > 0 {
			return false
		}
	}
	byRow := pl.Slopes(rows.Region.Rng)
	for _, a := range acc {
		ix := a.U.Src[0]
		b := pl.Buffers[analysis.Definition(ix)]
		row := byRow.Of(ix)
		if b == nil || a.U.Op == uop.Load && (len(a.U.Src) > 1 || slices.ContainsFunc(loops, func(r *analysis.Region) bool { return pl.WritesTo(r, b) })) {
			return false
		}
		if a.U.Op == uop.Load && !row.Depends {
			continue
		}
		step := analysis.Slope{}
		for _, r := range loops {
			if s := pl.Slopes(r.Rng).Of(ix); s.Depends {
				step = s
			}
		}
		if row.Irregular || row.Step <= 1 || step.Irregular || step.Step != 1 && step.Step != -1 || len(ix.Src) > 2 {
			return false
		}
	}
	return true
}

// vectorChains is the number of interleaved rows of running reductions whose steps are the lanes of vectors, vectorStreams the number if they
// come from memory: processors then load ahead in each of them.
const vectorChains, vectorStreams = 2, 8

// prefixStep is 1 or -1 if the steps of the running reductions of a loop can be vectorized, by the direction in which memory is written,
// and 0 if they cannot.
func (pl *planner) prefixStep(r *analysis.Region) int64 {
	ups, ok := r.Prefixes()
	ofBools := slices.ContainsFunc(ups, func(u *analysis.Update) bool { return u.Slot.Reg.DType.Base().IsBool() }) // their vectors are masks
	if !ok || ofBools || pl.plain || pl.Lanes < 4 || r.Trip() < 2*int64(pl.Lanes) {
		return 0
	}
	s, step := pl.Slopes(r.Rng), int64(0)
	acc := r.Accesses(1, nil)
	for _, a := range acc {
		d := s.Of(a.U.Src[0])
		if a.U.Op == uop.Store {
			if d.Irregular || d.Step != 1 && d.Step != -1 || step != 0 && d.Step != step {
				return 0
			}
			step = d.Step
		}
	}
	for _, a := range acc {
		d := s.Of(a.U.Src[0])
		d.Step *= step
		if b := pl.Buffers[analysis.Definition(a.U.Src[0])]; a.U.Op == uop.Load && (costOf(d, a.U) > costSpread || pl.WritesTo(r, b)) {
			return 0
		}
	}
	return step
}

// chooseItems chooses the loop that the threads share: the outermost with an iteration for each thread, else the outermost.
func (pl *planner) chooseItems(p *Band) {
	if p.Grid || pl.m.Invocations && !pl.plain {
		p.Grid, p.Items = true, 0
		for _, l := range p.Levels {
			pl.Items *= l.Iterations()
		}
		return
	}
	shareable := p.shareable()
	at := slices.IndexFunc(p.Levels, func(l level) bool { return !l.Axis.ordered && !l.Axis.Dynamic })
	if at < 0 {
		at = slices.IndexFunc(p.Levels, level.shareable)
	}
	if at < 0 || at > 0 && !slices.Contains(shareable, int64(at)) || pl.serial {
		return
	}
	enough := func(i int64) bool { return p.Levels[i].Iterations() >= int64(pl.m.Threads) }
	if i := int(p.want[knobWorkItems]) - 1; slices.Contains(shareable, int64(i)) {
		at = i
	} else if (len(p.RowPacks) > 0 || p.batchLanes && len(p.Packs) > 0) && at == 0 {
		at = pl.fastestShared(p, shareable)
	} else if i := slices.IndexFunc(shareable, func(i int64) bool { return p.manyRows(at, int(i)) && enough(i) }); i >= 0 {
		at = int(shareable[i])
	} else if i := slices.IndexFunc(shareable, enough); i >= 0 && !enough(int64(at)) {
		at = int(shareable[i])
	}
	p.used.items = shareable
	n := p.Levels[at].Iterations()
	pl.Setup = pl.setupShare(p, at)
	for next := pl.joinable(p, at, n); next != nil; next = pl.joinable(p, at, n) {
		p.Joined = append(p.Joined, next)
		n *= next.Count
		p.Levels = slices.Delete(p.Levels, at+1, at+2)
		p.joined(at)
	}
	p.Items = at
	pl.Items = n
}

// joinable returns the axis that can be collapsed with a level of n work items, nil for none or if those are enough.
func (pl *planner) joinable(p *Band, at int, n int64) *Axis {
	if len(p.Levels) == at+1 || p.Levels[at].Kind != Walk || p.Levels[at+1].Kind != Walk {
		return nil
	}
	a, next, enough := p.Levels[at].Axis, p.Levels[at+1].Axis, pl.mostItems()
	if a.Dynamic || next.Dynamic || slices.ContainsFunc(p.Joined, func(a *Axis) bool { return a.Dynamic }) {
		// There are work items for the upper bound of a dynamic axis, most of which may not exist at run time: no more than fill the GPU.
		if enough = usualLanes * pl.m.Workgroups; !pl.m.Invocations {
			return nil
		}
	}
	if n >= enough || next.Count <= 0 || next.ordered || len(p.Joined) > 0 && !pl.m.Invocations {
		return nil
	}
	return next
}

// manyRows reports whether threads should share the rows of level i rather than the columns of level at. With shared columns each thread
// reads all rows, which may be in caches of other threads; with shared rows each thread packs all columns, which costs about the same.
func (p *Band) manyRows(at, i int) bool {
	return p.Rows != nil && len(p.Packs) > 0 && p.Levels[at].Axis == p.Vec && p.Levels[i].Axis == p.Rows && p.Rows.Count > 2*p.Vec.Count
}

// Iterations is the trip count of a level other than the tiles of a block.
func (l level) Iterations() int64 {
	all := l.Axis.Full() + min(l.Axis.Rest(), 1)
	switch l.Kind {
	case Tiles:
		return all
	case Blocks:
		return (all + l.Axis.Group - 1) / l.Axis.Group
	}
	return l.Axis.Count
}

// manyItems is a number of work items that suffices for any number of threads.
const manyItems = 64

// mostItems is the number of work items from which no more loops are collapsed.
func (pl *planner) mostItems() int64 {
	if pl.m.Invocations {
		return math.MaxInt32
	}
	return manyItems
}

// vectors reports whether the band is not nil, and it or a band around it has a vectorized axis.
func (p *Band) vectors() bool {
	return p != nil && (p.inVectors || slices.ContainsFunc(p.Axes, func(a *Axis) bool { return a.Vector }))
}

// tiled reports whether several iterations are emitted together, as interleaved rows are.
func (p *Band) tiled() bool {
	return p != nil && slices.ContainsFunc(p.Axes, func(a *Axis) bool { return a.Tile() > 1 })
}

// ordered reports whether an axis has to run sequentially.
func (p *Band) ordered() bool {
	return slices.ContainsFunc(p.Axes, func(a *Axis) bool { return a.ordered })
}
