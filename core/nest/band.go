package nest

import (
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// axis is a loop whose iterations are parallel, with how it is tiled: an inner tile of so many units side by side,
// each one iteration or one vector of them.
type axis struct {
	r *region
	n int64 // iterations, -1 if not constant
	// inner is the inner loop of a pair, nil for others, and split its iterations; then n counts those of both.
	inner *region
	split int64
	// place is its number among the axes of the band, from 1 on.
	place int64
	vec   bool // the lanes of vectors are iterations of it
	rows  bool // it has tiles, if only of one iteration each
	// ordered axes are those whose iterations may store to the same place, and have to be done one after the other.
	ordered bool
	jam     int64 // units in a tile
	unit    int64 // iterations in a unit
	// group is the number of tiles in a block of the cache, 0 for no blocks.
	group int64

	base, number linear    // of the tile at work: its first iteration, and which it is of its block
	live         int64     // its units
	last         *ir.Value // shuts lanes of its last unit, nil for none
	win          window
}

// window is a piece of the tiles of an axis: from lo on so many, and then the rest behind the last whole tile, if tail is 1.
type window struct{ lo, count, tail *ir.Value }

func (a *axis) tile() int64 { return a.jam * a.unit }
func (a *axis) full() int64 { return a.n / a.tile() }
func (a *axis) rest() int64 { return a.n % a.tile() }

// plain reports whether the axis is walked one by one.
func (a *axis) plain() bool { return a.tile() == 1 && !a.vec && !a.rows }

// level is one loop of the nest that a band becomes.
type level struct {
	a    *axis
	kind levelKind
}

type levelKind uint8

const (
	walk  levelKind = iota // all iterations, one by one
	block                  // blocks of tiles
	tiles                  // the tiles of the window
)

// chain are the loops of a band: each contains nothing but the next, what is pure, and the last one the work.
func chain(r *region) []*region {
	out := []*region{r}
	for {
		var next *region
		for _, p := range r.parts {
			switch {
			case p.sub != nil && next == nil && p.sub.writes:
				next = p.sub
			case p.sub != nil || p.u.Op == uop.Store:
				return out
			case p.u.Op == uop.Load && p.u.Src[0].DType.Space == uop.Reg:
				return out
			}
		}
		if next == nil {
			return out
		}
		out = append(out, next)
		r = next
	}
}

// band makes a band of parallel loops as the plan says.
func (im *importer) band(r *region, e *env) {
	c := chain(r)
	p := im.plan(c, e)
	im.env = e
	im.levels(p, 0, e)
}

// levels makes the loops from level i on.
func (im *importer) levels(p *plan, i int, e *env) {
	if p.product != nil {
		im.packProducts(p, i, e)
	}
	if i == len(p.levels) {
		if p.product != nil {
			im.guarded(p, e)
		} else {
			im.tile(p, e)
		}
		return
	}
	if q := p.passes; q != nil && i == q.at && q.work == nil {
		if q.parts != nil {
			im.inParts(p, e)
		} else {
			im.inPasses(p, e)
		}
		return
	}
	if len(p.packs) > 0 && i == p.packAt && p.adds() {
		im.fillPacks(p, e)
	}
	if len(p.rowPacks) > 0 && i == p.rowPackAt && p.adds() {
		im.fillRowPacks(p, e)
	}
	if q := p.product; q != nil && i == len(p.levels)-1 && q.pass == nil {
		im.inProductPasses(q, func() { im.levels(p, i, e) })
		return
	}
	lv := p.levels[i]
	a := lv.a
	switch lv.kind {
	case walk:
		im.env = e
		im.walkLoop(p, i, e)
	case block:
		blocks := (a.full() + min(a.rest(), 1) + a.group - 1) / a.group
		im.Builder.Loop(a.r.label()+" blocks", im.itemCount(p, i, blocks), func(l *ir.Loop) {
			im.setBlock(a, im.itemIter(p, i, l), blocks)
			im.levels(p, i+1, e)
		})
	case tiles:
		if a.n < 0 {
			im.unknownTiles(p, i, e)
			return
		}
		w := a.win
		if p.items == i {
			w = im.itemWindow(a)
		}
		if a.full() > 0 {
			im.Builder.Loop(a.r.label()+" tiles", w.count, func(l *ir.Loop) {
				a.base = im.addLinear(im.scaled(w.lo, a.tile()), linear{terms: []ir.Term{{V: l.Iter, Coef: a.tile()}}}, 1)
				a.number = linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}
				a.live, a.last = a.jam, nil
				im.levels(p, i+1, e)
			})
		}
		if a.rest() > 0 {
			im.onceIf(a.r.label()+" rest", w.tail, func() {
				a.number = im.scaled(w.count, 1)
				im.rest(p, i, e)
			})
		}
	}
}

// unknownTiles makes the vectors of an axis whose count is known when the kernel runs: as many as there are, or with only
// the lanes that there are.
func (im *importer) unknownTiles(p *plan, i int, e *env) {
	a := p.levels[i].a
	im.env = e
	n, lanes := im.count(a.r), int64(im.Lanes)
	if a.r.multiple()%a.tile() == 0 {
		im.Builder.Loop(a.r.label()+" tiles", im.Do(ir.Div, ir.I64, n, im.Int(ir.I64, a.tile())), func(l *ir.Loop) {
			a.base = linear{terms: []ir.Term{{V: l.Iter, Coef: a.tile()}}}
			a.live, a.last = a.jam, nil
			im.levels(p, i+1, e)
		})
		return
	}
	count := im.Do(ir.Div, ir.I64, im.Do(ir.Add, ir.I64, n, im.Int(ir.I64, lanes-1)), im.Int(ir.I64, lanes))
	im.Builder.Loop(a.r.label()+" vectors", count, func(l *ir.Loop) {
		a.base = linear{terms: []ir.Term{{V: l.Iter, Coef: lanes}}}
		a.live, a.last = 1, im.lanesBelow(n, a.base)
		im.levels(p, i+1, e)
		a.last = nil
	})
}

// scaled is a value times a constant in linear form.
func (im *importer) scaled(v *ir.Value, c int64) linear {
	if v.Op == ir.Const {
		return linear{off: ir.ConstInt(v) * c}
	}
	return linear{terms: []ir.Term{{V: v, Coef: c}}}
}

// onceIf makes what body makes if a count is 1: unconditionally if that is known.
func (im *importer) onceIf(label string, count *ir.Value, body func()) {
	if count.Op == ir.Const {
		if ir.ConstInt(count) > 0 {
			body()
		}
		return
	}
	im.Builder.Loop(label, count, func(*ir.Loop) { body() })
}

// walkLoop makes a loop over all iterations of an axis, or those of the work items of the call.
func (im *importer) walkLoop(p *plan, i int, e *env) {
	a := p.levels[i].a
	count := im.count(a.r)
	if p.items == i {
		count = im.New(ir.Items, ir.I64, 1, 0)
	}
	im.Builder.Loop(a.r.label(), count, func(l *ir.Loop) {
		inner := newEnv(e)
		iter := im.itemIter(p, i, l)
		if p.items == i && p.with != nil {
			// One item is a pair of iterations of two axes.
			n := im.Int(ir.I64, p.with.n)
			inner.linears.set(p.with.r.rng, linear{terms: []ir.Term{{V: im.Do(ir.Mod, ir.I64, iter, n), Coef: 1}}})
			iter = im.Do(ir.Div, ir.I64, iter, n)
		}
		inner.linears.set(a.r.rng, linear{terms: []ir.Term{{V: iter, Coef: 1}}})
		if iter != l.Iter && p.with == nil {
			inner.linears.set(a.r.rng, im.addLinear(linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, linear{terms: []ir.Term{{V: im.New(ir.First, ir.I64, 1, 0), Coef: 1}}}, 1))
		}
		im.levels(p, i+1, inner)
	})
}

// itemCount is the number of iterations of a level: those of the call if the level is that of the work items.
func (im *importer) itemCount(p *plan, i int, n int64) *ir.Value {
	if p.items == i {
		return im.New(ir.Items, ir.I64, 1, 0)
	}
	return im.Int(ir.I64, n)
}

// itemIter is the number of the iteration of a level among all.
func (im *importer) itemIter(p *plan, i int, l *ir.Loop) *ir.Value {
	if p.items == i {
		return im.Do(ir.Add, ir.I64, im.New(ir.First, ir.I64, 1, 0), l.Iter)
	}
	return l.Iter
}

// itemWindow are the tiles of the work items of the call; the rest is the last item.
func (im *importer) itemWindow(a *axis) window {
	first, n := im.New(ir.First, ir.I64, 1, 0), im.New(ir.Items, ir.I64, 1, 0)
	if a.rest() == 0 {
		return window{first, n, im.Int(ir.I64, 0)}
	}
	full := im.Int(ir.I64, a.full())
	end := im.Do(ir.Add, ir.I64, first, n)
	tail := im.Do(ir.Less, ir.Bool, full, end)
	count := im.Do(ir.Sub, ir.I64, n, im.Do(ir.Cast, ir.I64, tail))
	return window{first, count, im.Do(ir.Cast, ir.I64, tail)}
}

// setBlock makes the tiles of a block the window of its axis.
func (im *importer) setBlock(a *axis, number *ir.Value, blocks int64) {
	lo := im.Do(ir.Mul, ir.I64, number, im.Int(ir.I64, a.group))
	w := window{lo, im.Int(ir.I64, a.group), im.Int(ir.I64, 0)}
	isLast := im.Do(ir.Equal, ir.Bool, number, im.Int(ir.I64, blocks-1))
	if n := a.full() - (blocks-1)*a.group; n < a.group {
		w.count = im.Do(ir.Where, ir.I64, isLast, im.Int(ir.I64, n), w.count)
	}
	if a.rest() > 0 {
		w.tail = im.Do(ir.Cast, ir.I64, isLast)
	}
	a.win = w
}

// rest makes what is left behind the last whole tile of an axis.
func (im *importer) rest(p *plan, i int, e *env) {
	a := p.levels[i].a
	n := a.rest()
	start := a.full() * a.tile()
	a.base = linear{off: start}
	if !a.vec {
		a.live, a.last = n, nil
		im.levels(p, i+1, e)
		return
	}
	whole := n / a.unit
	if lanes := n % a.unit; lanes > 0 && p.masks {
		a.live, a.last = whole+1, im.Do(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, lanes))
		im.levels(p, i+1, e)
		a.last = nil
		return
	}
	if whole > 0 {
		a.live, a.last = whole, nil
		im.levels(p, i+1, e)
	}
	if lanes := n % a.unit; lanes > 0 {
		// Without masks they are done one by one.
		im.Builder.Loop(a.r.label()+" lanes", im.Int(ir.I64, lanes), func(l *ir.Loop) {
			a.base = linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}, off: start + whole*a.unit}
			a.live, a.last, a.vec = 1, nil, false
			im.levels(p, i+1, e)
			a.vec = true
		})
	}
}

// tile makes the copies of the innermost iteration: the units of all tiled axes.
func (im *importer) tile(p *plan, e *env) {
	copies := []*env{newEnv(e)}
	for _, a := range p.axes {
		if a.plain() {
			continue
		}
		var next []*env
		for _, c := range copies {
			for j := range a.live {
				d := newEnv(c)
				at := a.base
				at.off += j * a.step()
				if a.vec {
					at.lane = 1
					d.vector = true
					switch {
					case j == a.live-1 && a.last != nil:
						d.tail = a.last
					case a.unit < int64(im.Lanes):
						d.tail = im.lanesUpTo(a.unit)
					}
				}
				if a == p.turn && a.live == int64(im.Lanes) {
					d.cross = &cross{a.r.rng, j}
				}
				a.bind(d, at)
				next = append(next, d)
			}
		}
		copies = next
	}
	outer := im.at
	im.at = p
	if p.passes != nil {
		p.passes.work(copies)
	} else {
		im.fetchAhead(p, copies)
		im.body(p.leaf, copies)
	}
	im.at = outer
}

// step is the distance between the units of a tile.
func (a *axis) step() int64 {
	if a.vec {
		return a.unit
	}
	return 1
}
