package nest

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// A leaf that collects is laid out in one of two ways. Either the lanes of vectors are iterations of the loop that
// collects (a dot product of two rows, the sum of a row), or they are results that stand side by side: then a tile of
// rows by vectors of results fills the registers, and what a row or a column needs is loaded once for all of the tile.

// innermost is the deepest loop of a chain of loops that collect.
func (r *region) innermost() *region {
	for {
		in := r.loops()
		if len(in) == 0 {
			return r
		}
		r = in[0]
	}
}

// series is a nest of loops that collect, each the only one in the one around it, with constant counts.
type series struct {
	loops []*region
	steps int64
	// from and count are the iterations of the outermost loop at work, if the sum is made in parts of which each has
	// so many steps; count is 0 if it is not.
	from  linear
	count int64
}

// trip is the number of iterations of the loop number i: of the outermost one those at work.
func (s *series) trip(i int) int64 {
	if i == 0 && s.count > 0 {
		return s.count
	}
	return s.loops[i].trip()
}

func (s *series) innermost() *region { return s.loops[len(s.loops)-1] }

// seriesOf is the series that a loop begins, nil if it is none or does more than add up.
func seriesOf(r *region) *series {
	s := &series{steps: 1}
	for {
		in := r.loops()
		if r.trip() < 1 || len(in) > 1 {
			return nil
		}
		s.loops = append(s.loops, r)
		s.steps *= r.trip()
		if len(in) == 0 {
			break
		}
		r = in[0]
	}
	if !r.simple() {
		return nil
	}
	return s
}

// planReduction lays out a band whose leaf collects.
func (im *importer) planReduction(p *plan) {
	if im.planProduct(p) {
		return
	}
	acc := p.leaf.accesses(1, nil)
	var k *region
	simple, results := true, 1
	for _, r := range p.leaf.loops() {
		in := r.innermost()
		if k == nil || in.trip() > k.trip() {
			k = in
		}
		results = max(results, len(in.updates))
		for _, u := range in.updates {
			simple = simple && u.op != 0
		}
	}
	best := math.Inf(1)
	var vec, rows *axis
	if simple && (p.want[knobVector] == open || p.want[knobVector] == none) {
		rows = im.sharing(p, acc, nil)
		best = im.alongCost(k, rows, acc)
	}
	for _, a := range p.axes {
		if a.n < 2 || !p.want.allows(knobVector, a) {
			continue
		}
		shared := im.sharing(p, acc, a)
		if cost := im.tileCost(p, k, a, shared, acc); cost <= best {
			best, vec, rows = cost, a, shared
		}
	}
	if vec == nil {
		p.along = simple
		if rows != nil && simple {
			rows.jam = p.want.or(knobTall, alongTall(rows.n), rows.n)
		}
		return
	}
	vec.vec, vec.unit = true, int64(im.Lanes)
	if rows == nil && im.planPasses(p, vec, acc) {
		return
	}
	apart := rows != nil && im.inPartsIfLong(p, vec, rows, acc)
	im.registerTile(p, vec, rows, int64(results), acc, apart)
	if rows == nil {
		return
	}
	// Rows come first in the order of copies, so that an element of a row is used by all its vectors at once.
	p.rows, p.vec, rows.rows = rows, vec, true
	// Vectors come last, so that the number of a copy tells that of its vector.
	p.axes = slices.DeleteFunc(p.axes, func(a *axis) bool { return a == rows || a == vec })
	p.axes = append(append([]*axis{rows}, p.axes...), vec)
	im.blocks(p, vec, rows, acc)
}

// element is how many bytes an element of a pack is taken to have.
const element = 4

// aliasing is the distance in bytes at which rows compete for the same places in the nearest cache.
const aliasing = 4096

// tileWide is how many vectors of columns a tile has mostly.
const tileWide = 2

// tall is how many rows a tile has then.
func (im *importer) tall() int64 { return int64(im.m.Vectors-4) / tileWide }

// registerTile fills the vector registers with results: rows by columns of vectors. Sums in parts stay so near that it
// does not matter how far apart their rows lie.
func (im *importer) registerTile(p *plan, vec, rows *axis, results int64, acc []access, parts bool) {
	vectors := (vec.n + vec.unit - 1) / vec.unit
	if rows == nil {
		vec.jam = p.want.or(knobWide, max(8/results, 1), vectors)
		return
	}
	room := int64(im.m.Vectors-4) / results
	wide, tall := int64(tileWide), im.tall()
	beside := int64(1)
	byRow := im.slopes(rows.r.rng)
	for _, a := range acc {
		if s := byRow.of(a.u.Src[0]); !parts && a.u.Op == uop.Load && s.matters && s.step*int64(a.u.DType.Itemsize())%aliasing == 0 {
			wide, tall = 3, 8
			if vectors == 4 || im.m.Vectors > 16 && (vectors%4 == 0 || vectors%4 > 1 && vectors%3 > 0) {
				wide, tall = 4, 6 // fewer loads, and no rest of one
			}
		}
	}
	if !parts {
		p.beside, beside = im.besideFor(p, vec, rows, room/wide, acc)
	}
	if rows.n <= room/4 && p.beside == nil {
		wide = 4
	}
	vec.jam = p.want.or(knobWide, min(wide, room), vectors)
	rows.jam = p.want.or(knobTall, even(rows.n, max(min(tall, room/vec.jam), 1)), rows.n)
	if p.beside != nil && rows.jam == rows.n && vec.jam*rows.jam*beside <= room {
		p.beside.jam = beside
	} else {
		p.beside = nil
	}
}

// even is a height of tiles, up to a limit, that leaves no small rest.
func even(n, most int64) int64 {
	if n <= most {
		return n
	}
	const least = 5 // a lower tile takes as long: sums wait for each other
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

// blocks divides a product of matrices so that what is used again lies in the nearest caches: columns into blocks
// that are packed, rows into blocks of half of the second cache.
func (im *importer) blocks(p *plan, vec, rows *axis, acc []access) {
	k := int64(0) // of all sums together
	for _, r := range p.leaf.loops() {
		if p.passes != nil {
			break
		}
		sum := seriesOf(r)
		if sum == nil {
			p.sums = nil
			return
		}
		p.sums = append(p.sums, sum)
	}
	for _, sum := range p.sums {
		k += sum.steps
	}
	var walks []level
	for _, a := range p.axes {
		switch {
		case a.plain():
			walks = append(walks, level{a, walk})
		case a == p.beside:
			a.win = a.whole(im)
			walks = append(walks, level{a, tiles})
		}
	}
	vec.win, rows.win = vec.whole(im), rows.whole(im)
	near := k*vec.tile()*element <= im.m.L1
	if p.passes == nil && near && p.want[knobPacks] != on && im.interleaved(vec, walks, acc) {
		// Each walked loop would go through all of the result. What a tile needs stays in the nearest cache instead.
		p.levels = append(append(p.levels, level{vec, tiles}, level{rows, tiles}), walks...)
		return
	}
	for _, sum := range p.sums {
		p.rowPacks = append(p.rowPacks, im.findRowPacks(p, sum, vec, rows)...)
		p.packs = append(p.packs, im.findPacks(p, sum, vec, rows, walks)...)
	}
	if len(p.rowPacks) > 0 && p.beside != nil {
		// What is packed belongs to one axis of rows.
		i := slices.IndexFunc(walks, func(l level) bool { return l.a == p.beside })
		walks[i].kind, p.beside.jam, p.beside = walk, 1, nil
	}
	tilesAcross := vec.full() + min(vec.rest(), 1)
	tilesDown := rows.full() + min(rows.rest(), 1)
	if len(p.packs) > 0 || p.passes != nil {
		// With each block the rows are packed again.
		room := im.m.L2 * 3 / 8
		if len(p.rowPacks) > 0 {
			room = im.m.L3
		}
		most := max(room/(k*vec.tile()*element), 1)
		if p.passes != nil {
			most = max(min(most, im.m.L2/2/(rows.n*vec.tile()*element)), 1)
		}
		inside := p.passes != nil || slices.ContainsFunc(p.packs, func(q *pack) bool { return im.movesWith(q.u, walks) })
		group := share(tilesAcross, most, int64(im.m.Threads))
		if p.passes == nil && (inside || len(walks) == 0) && near && len(p.rowPacks) == 0 && tilesDown*k*rows.tile()*element <= im.m.L2/2 {
			group = 1 // all rows go by while the columns of a tile lie in the nearest cache
		}
		vec.group = p.want.or(knobAcross, group, tilesAcross)
		if inside {
			p.levels = append(walks, level{vec, block})
			walks = nil
		} else {
			p.levels = append(p.levels, level{vec, block})
		}
		p.packAt = len(p.levels)
		for _, q := range p.packs {
			q.make(im, vec)
		}
	}
	p.levels = append(p.levels, walks...)
	im.reserveParts(p)
	// Columns go by while a tile of rows stays. They stay while rows go by that are packed, or if either come from far.
	columnsInner := p.want[knobInner] == off || p.want[knobInner] == open && len(p.rowPacks) == 0 && !p.far
	tall := rows.tile()
	if len(p.rowPacks) > 0 {
		tall = rows.width(im.Lanes)
	}
	most := max(im.m.L2/2/(k*tall*element), 1)
	if len(p.rowPacks) > 0 || p.want[knobDown] > 0 || p.want[knobDown] == open && !columnsInner && tilesDown > most {
		threads := int64(1)
		if len(p.levels) == 0 {
			threads = int64(im.m.Threads)
		}
		rows.group = p.want.or(knobDown, share(tilesDown, most, threads), tilesDown)
		p.levels = append(p.levels, level{rows, block})
		p.rowPackAt = len(p.levels)
		for _, q := range p.rowPacks {
			q.buf = im.scratch(kindFor(q.u.DType).Register(), rows.group*q.series.steps*rows.width(im.Lanes))
		}
	}
	if columnsInner {
		p.levels = append(p.levels, level{rows, tiles}, level{vec, tiles})
	} else {
		p.levels = append(p.levels, level{vec, tiles}, level{rows, tiles})
	}
}

// interleaved reports whether what the walked loops store lies between the lanes of vectors, and columns are loaded as
// neighbours.
func (im *importer) interleaved(vec *axis, walks []level, acc []access) bool {
	byLane := im.slopes(vec.r.rng)
	for _, a := range acc {
		s := byLane.of(a.u.Src[0])
		if a.u.Op != uop.Store {
			if c := costOf(s, a.u.Op); a.times > 1 && c > costNext {
				return false
			}
			continue
		}
		for _, w := range walks {
			if t := im.slopes(w.a.r.rng).of(a.u.Src[0]); s.odd || t.odd || !t.matters || t.step >= s.step {
				return false
			}
		}
	}
	return len(walks) > 0
}

// movesWith reports whether a value depends on any of the loops that are walked.
func (im *importer) movesWith(u *uop.UOp, walks []level) bool {
	return slices.ContainsFunc(walks, func(l level) bool { return im.slopes(l.a.r.rng).of(u).matters })
}

// share is the size of equal blocks of at most so many tiles, that give all threads as much to do, or nearly.
func share(tiles, most, threads int64) int64 {
	const nearly = 32 // parts of which one more does not matter
	fair := (tiles + threads - 1) / threads
	for n := (tiles + most - 1) / most; ; n++ {
		size := max((tiles+n-1)/n, 1)
		blocks := (tiles + size - 1) / size
		if busiest := min((blocks+threads-1)/threads*size, tiles); busiest <= fair+fair/nearly {
			return size
		}
	}
}
