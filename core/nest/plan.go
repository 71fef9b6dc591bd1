package nest

import (
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// plan says how a band of loops is laid out.
type plan struct {
	axes   []*axis // in the order of the copies in a tile: rows before columns
	levels []level
	leaf   *region
	masks  bool
	// items is the level whose iterations are the work items, -1 for none; with is the axis that is walked along with
	// it, one pair of iterations an item.
	items int
	with  *axis
	// along says that the innermost loops of the leaf's reductions are spread over the lanes of vectors.
	along bool
	// rows and vec are the axes of a register tile, nil if there is none.
	rows, vec *axis
	// beside is an axis of more rows in the tile, nil for none.
	beside *axis
	// passes says how the leaf's sum is made in passes, nil if it is not.
	passes *passes
	// product says how the leaf is a product of packed operands, nil if it is not.
	product *product
	// turn is the axis whose iterations are the lanes of what is loaded, if vectors are turned in registers.
	turn *axis
	// sums are the sums of products of the leaf, if it may be divided into blocks.
	sums []*series
	// packs are operands that are computed before the level packAt.
	packs  []*pack
	packAt int
	// far says that operands that are not packed come from far, strided is how much of the second cache those of the
	// rows need that lie apart.
	far     bool
	strided int64
	// rowPacks are operands of the rows that are computed before the level rowPackAt.
	rowPacks  []*rowPack
	rowPackAt int
	// want is what was chosen for the band, used what it has come to.
	want band
	used *Laid
}

// access is a load or store of memory in the leaf of a band.
type access struct {
	u     *uop.UOp
	times float64 // how often in one iteration of the leaf
}

// accesses are those in a region and the loops inside; reduced tells those in loops that collect.
func (r *region) accesses(times float64, out []access) []access {
	for _, p := range r.parts {
		switch {
		case p.sub != nil:
			n := p.sub.trip()
			if n < 0 {
				n = unknownTrip
			}
			out = p.sub.accesses(times*float64(n), out)
		case (p.u.Op == uop.Load || p.u.Op == uop.Store) && !(p.u.Src[0].DType.Space == uop.Reg && constIndex(p.u.Src[0])):
			out = append(out, access{p.u, times})
		}
	}
	return out
}

// unknownTrip stands for the number of iterations of a loop whose count is a variable.
const unknownTrip = 64

// What accesses cost in vectors: one of neighbours, one element for all lanes, one whose lanes are spread, and one by one.
const (
	costNext   = 1
	costSplat  = 0.25
	costSpread = 2
	costApart  = 20
	costAcross = 30 // of a store, one by one
	costPack   = 10 // of a vector that is packed, of neighbours or turned
	costFar    = 4  // of one that comes from beyond the nearest caches, beside what it costs anyway
)

// vectorCost is what the accesses of a leaf cost if the lanes of vectors are iterations of a range.
func (im *importer) vectorCost(acc []access, rng *uop.UOp) float64 {
	s := im.slopes(rng)
	sum := 0.0
	for _, a := range acc {
		d := s.of(a.u.Src[0])
		sum += a.times * costOf(d, a.u.Op)
	}
	return sum
}

// plan chooses how a band is laid out.
func (im *importer) plan(c []*region, e *env) *plan {
	p := &plan{leaf: c[len(c)-1], items: -1, masks: im.m.Masks && im.maskable()}
	for i, r := range c {
		p.axes = append(p.axes, &axis{r: r, n: r.trip(), place: int64(i + 1), jam: 1, unit: 1})
	}
	im.number(p, c)
	im.findOrdered(p)
	inner := p.leaf.loops()
	collects := slices.ContainsFunc(inner, func(r *region) bool { return !r.writes })
	nested := slices.ContainsFunc(inner, func(r *region) bool { return r.writes })
	switch {
	case im.plain || !nested && !im.independent(p.leaf) || collects && p.ordered():
	case nested:
		p.along = true
	case !collects:
		im.planElements(p)
	default:
		im.planReduction(p)
	}
	im.order(p)
	if e.outer == nil {
		im.chooseItems(p)
	}
	p.record(collects && !nested)
	return p
}

// findOrdered finds the axes that addresses of stores depend on by way of what is read from memory.
func (im *importer) findOrdered(p *plan) {
	for _, x := range p.leaf.accesses(1, nil) {
		if x.u.Op != uop.Store {
			continue
		}
		loads := loadsIn(x.u.Src[0], map[*uop.UOp]bool{})
		for _, a := range p.axes {
			s := im.slopes(a.r.rng)
			a.ordered = a.ordered || slices.ContainsFunc(loads, func(l *uop.UOp) bool { return s.of(l).matters })
		}
	}
}

// loadsIn are the loads that a value is computed from.
func loadsIn(u *uop.UOp, seen map[*uop.UOp]bool) []*uop.UOp {
	if seen[u] || u.Op == uop.Range {
		return nil
	}
	seen[u] = true
	if u.Op == uop.Load {
		return []*uop.UOp{u}
	}
	var out []*uop.UOp
	for _, s := range u.Src {
		out = append(out, loadsIn(s, seen)...)
	}
	return out
}

// order makes the levels: walked axes, then tiles.
func (im *importer) order(p *plan) {
	if len(p.levels) > 0 {
		return
	}
	for _, a := range p.axes {
		if a.plain() {
			p.levels = append(p.levels, level{a, walk})
		}
	}
	for _, vec := range []bool{true, false} {
		for _, a := range p.axes {
			if !a.plain() && a.vec == vec {
				a.win = a.whole(im)
				p.levels = append(p.levels, level{a, tiles})
			}
		}
	}
}

// whole is the window of all tiles.
func (a *axis) whole(im *importer) window {
	if a.n < 0 {
		return window{}
	}
	return window{im.Int(ir.I64, 0), im.Int(ir.I64, a.full()), im.Int(ir.I64, min(a.rest(), 1))}
}

// planElements lays out a band without reductions.
func (im *importer) planElements(p *plan) {
	acc := p.leaf.accesses(1, nil)
	var vec *axis
	best := 0.0
	for _, a := range p.axes {
		if a.n >= 0 && a.n < 2 || a.n < 0 && !p.masks && a.r.multiple()%int64(im.Lanes) != 0 || a.ordered || !p.want.allows(knobVector, a) {
			continue
		}
		// A vector that is not full costs as much as one that is.
		cost := im.vectorCost(acc, a.r.rng) * im.fill(a.n)
		if vec == nil || cost <= best {
			vec, best = a, cost
		}
	}
	if vec == nil {
		return
	}
	ordered := p.ordered()
	if a := im.bestPair(p, acc, best); a != nil && !ordered {
		vec = a
		p.axes = append(slices.DeleteFunc(p.axes, func(b *axis) bool { return b.r == a.r || b.r == a.inner }), a)
	} else if !ordered && im.planTurn(p, acc, best) || p.want[knobVector] == open && best > float64(len(acc))*costApart {
		return
	}
	vec.vec = true
	if vec.inner == nil {
		vec.unit = int64(im.Lanes)
	}
	weight := im.weight(p.leaf)
	for vec.jam = 4; vec.jam > 1 && (vec.jam*weight > 256 || vec.n >= 0 && vec.tile() > vec.n || vec.n < 0 && vec.r.multiple()%vec.tile() != 0); vec.jam /= 2 {
	}
	if vec.n < 0 {
		return
	}
	vec.jam = p.want.or(knobWide, vec.jam, max(vec.n/vec.unit, 1))
}

// weight is the number of operations in a region without the loops inside and what only computes indices.
func (im *importer) weight(r *region) int64 {
	n := int64(0)
	for _, p := range r.parts {
		switch {
		case p.u == nil || im.indexOnly(p.u):
		case uop.GroupComparison.Has(p.u.Op) && im.indexOnly(p.u.Src[0]) && im.indexOnly(p.u.Src[1]):
		case uop.GroupElementwise.Has(p.u.Op) && !p.u.DType.IsPtr():
			n += operations(p.u.Op)
		case p.u.Op == uop.Load, p.u.Op == uop.Store:
			n++
		}
	}
	return n
}

// chooseItems says which loop the threads share: the first one with an iteration for each, or else the outermost.
func (im *importer) chooseItems(p *plan) {
	shareable := p.shareable()
	at := slices.IndexFunc(p.levels, func(l level) bool { return !l.a.ordered })
	if at < 0 || at > 0 && !slices.Contains(shareable, int64(at)) || p.levels[at].a.n < 0 || im.serial {
		return
	}
	enough := func(i int64) bool { return p.levels[i].iterations() >= int64(im.m.Threads) }
	if i := int(p.want[knobItems]) - 1; slices.Contains(shareable, int64(i)) {
		at = i
	} else if i := slices.IndexFunc(shareable, func(i int64) bool { return p.manyRows(at, int(i)) && enough(i) }); i >= 0 {
		at = int(shareable[i])
	} else if i := slices.IndexFunc(shareable, enough); i >= 0 && !enough(int64(at)) {
		at = int(shareable[i])
	}
	p.used.items = shareable
	n := p.levels[at].iterations()
	if len(p.levels) > at+1 && p.levels[at].kind == walk && n < manyItems {
		if next := p.levels[at+1]; next.kind == walk && next.a.n > 0 && !next.a.ordered {
			p.with = next.a
			n *= next.a.n
			p.levels = slices.Delete(p.levels, at+1, at+2)
			p.joined(at)
		}
	}
	p.items = at
	im.Items = n
}

// manyRows reports whether threads had better share the rows of level i than the columns of level at. Who shares columns
// goes through all rows, which other threads may have written last; who shares rows packs all columns, which costs about
// as much again.
func (p *plan) manyRows(at, i int) bool {
	return p.rows != nil && len(p.packs) > 0 && p.levels[at].a == p.vec && p.levels[i].a == p.rows && p.rows.n > 2*p.vec.n
}

// iterations is how many iterations the loop of a level has, if the level is none of the tiles of a block.
func (l level) iterations() int64 {
	all := l.a.full() + min(l.a.rest(), 1)
	switch l.kind {
	case tiles:
		return all
	case block:
		return (all + l.a.group - 1) / l.a.group
	}
	return l.a.n
}

// manyItems are enough for any number of threads.
const manyItems = 64

// ordered reports whether there are axes whose iterations have to be done one after the other.
func (p *plan) ordered() bool {
	return slices.ContainsFunc(p.axes, func(a *axis) bool { return a.ordered })
}
