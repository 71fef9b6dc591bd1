package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// openBand is a band while its loops are emitted.
type openBand struct {
	*plan.Band
	tilings map[*plan.Axis]*tiling
	// work emits a tile of the current pass of a multi-pass sum, part is the part that it adds.
	work func(copies []*env)
	part span
	// pass is the current pass of a product of packed operands; bad is 1 for operands that cannot be split (bf16x3).
	pass *productPass
	bad  map[*plan.DotOperand]*ir.Value
	// around is the environment of the current tile, stage the position of the current stage of a sum.
	around *env
	stage  map[*analysis.Region]linear
}

// tiling is the current tile of an axis.
type tiling struct {
	*plan.Axis
	base, number linear    // its first iteration, and its number in the block
	live         int64     // the number of its units
	last         *ir.Value // the mask of its last unit, nil for none
	back         int64     // iterations by which its last unit overlaps the unit before
	vec          bool      // its units are vectors; false for a remainder that runs scalar
	win          window
	// For a dynamic axis: whole is the number of whole tiles, left the number of remaining iterations, which run scalar; inTile is
	// the current one of these, as a position in a tile.
	whole, left *ir.Value
	inTile      linear
}

// window is a run of tiles of an axis: count whole tiles from lo on, then the remainder of the axis if tail is 1 (for a dynamic axis
// tail is its number of iterations).
type window struct{ lo, count, tail *ir.Value }

// at is the current tile of an axis.
func (p *openBand) at(a *plan.Axis) *tiling { return p.tilings[a] }

// trip is the trip count of loop i of a reduction; with split-K that of the outermost one is the length of the current part.
func (p *openBand) trip(s *plan.SumLoops, i int) int64 {
	if i == 0 && p.part.n > 0 {
		return p.part.n
	}
	return s.Loops[i].Trip()
}

// band emits a band of parallel loops as planned, for copies of the enclosing iteration.
func (im *emitter) band(b *plan.Band, copies []*env) {
	p := &openBand{Band: b, tilings: map[*plan.Axis]*tiling{}, bad: map[*plan.DotOperand]*ir.Value{}}
	im.env = copies[0]
	for _, a := range p.Axes {
		t := &tiling{Axis: a, vec: a.Vector}
		switch {
		case !a.Dynamic:
			t.win = window{im.Int(ir.I64, 0), im.Int(ir.I64, a.Full()), im.Int(ir.I64, min(a.Rest(), 1))}
		case !a.Vector && !a.Plain():
			t.whole, t.left = im.divided(im.count(a.Region), a.Tile())
			t.win = window{im.Int(ir.I64, 0), t.whole, t.left}
		}
		p.tilings[a] = t
	}
	im.levels(p, 0, copies)
}

// levels emits the loops from level i on, for copies of the enclosing iteration.
func (im *emitter) levels(p *openBand, i int, es []*env) {
	if p.Product != nil {
		im.packProducts(p, i, es[0])
	}
	if p.Grid && i == 0 && p.work == nil {
		inner := im.grid(p, es)
		if im.Launch == nil {
			im.levelsFrom(p, 0, inner)
			return
		}
		// A launch that is folded into two dimensions may have more work items than there are.
		exists := im.Do(ir.Less, ir.Bool, im.New(ir.First, ir.I64, 1, 0), im.Launch)
		im.emitIf("item exists", im.Do(ir.Cast, ir.I64, exists), func() { im.levelsFrom(p, 0, inner) })
		return
	}
	im.levelsFrom(p, i, es)
}

// levelsFrom is levels, inside of the grid.
func (im *emitter) levelsFrom(p *openBand, i int, es []*env) {
	if i == len(p.Levels) {
		if p.Product != nil {
			im.guarded(p, es[0])
		} else {
			im.tile(p, es)
		}
		return
	}
	if q := p.MultiPass; q != nil && i == q.At && p.work == nil {
		im.multiPass(p, es[0])
		return
	}
	if p.packs() {
		im.fillPacks(p, i, es[0])
	}
	if len(p.RowPacks) > 0 && i == p.RowPackAt && p.packs() {
		im.fillRowPacks(p, es[0])
	}
	if q := p.Product; q != nil && i == len(p.Levels)-1 && p.pass == nil {
		im.inProductPasses(p, func() { im.levels(p, i, es) })
		return
	}
	lv := p.Levels[i]
	a := p.at(lv.Axis)
	if i == len(p.Levels)-1 {
		im.prefetchWindows(p, es[0])
	}
	switch lv.Kind {
	case plan.Walk:
		im.env = es[0]
		if p.Grid {
			im.levels(p, i+1, es)
			return
		}
		im.walkLoop(p, i, es)
	case plan.Blocks:
		if a.Dynamic {
			im.dynamicBlocks(p, i, es)
			return
		}
		blocks := (a.Full() + min(a.Rest(), 1) + a.Group - 1) / a.Group
		im.Builder.Loop(a.Region.Label()+" blocks", im.itemCount(p, i, blocks), func(l *ir.Loop) {
			im.setBlock(a, im.itemIter(p, i, l), blocks)
			im.levels(p, i+1, es)
		})
	case plan.Tiles:
		if a.Spread != nil { // one tile of the grid
			a.base, a.live = im.scaled(a.win.lo, a.Tile()), a.Units
			im.levels(p, i+1, es)
			return
		}
		if a.Dynamic && a.Vector {
			im.dynamicVectors(p, i, es)
			return
		}
		w := a.win
		if p.Items == i && !p.Grid {
			w = im.itemWindow(a)
		}
		if a.Dynamic || a.Full() > 0 {
			im.loopOrBody(a.Region.Label()+" tiles", w.count, func(iter linear) {
				a.base = im.addLinear(im.scaled(w.lo, a.Tile()), im.timesLinear(iter, a.Tile()), 1)
				a.number = iter
				a.live, a.last = a.Units, nil
				im.levels(p, i+1, es)
			})
		}
		if a.Dynamic {
			im.eachRemaining(a, a.Region.Label()+" rest", func(base linear) {
				a.base, a.number, a.live, a.last = base, im.scaled(w.count, 1), 1, nil
				im.levels(p, i+1, es)
			})
		} else if a.Rest() > 0 {
			im.emitIf(a.Region.Label()+" rest", w.tail, func() {
				a.number = im.scaled(w.count, 1)
				im.remainder(p, i, es)
			})
		}
	}
}

// grid binds the levels of a band to the coordinates of the work item, and returns the environments inside of them. If there are dynamic axes,
// there are as many work items as these have iterations.
func (im *emitter) grid(p *openBand, es []*env) []*env {
	inner := inside(es)
	item := im.New(ir.First, ir.I64, 1, 0)
	for i, lv := range slices.Backward(p.Levels) {
		at := item
		if i > 0 {
			n := im.iterations(lv.Axis, lv.Iterations())
			at, item = im.Do(ir.Mod, ir.I64, item, n), im.Do(ir.Div, ir.I64, item, n)
		}
		if lv.Kind == plan.Walk {
			for _, e := range inner {
				e.linears.set(lv.Axis.Region.Rng, linear{terms: []ir.Term{{V: at, Coef: 1}}})
			}
			continue
		}
		a := p.at(lv.Axis)
		a.win = window{at, im.Int(ir.I64, 1), im.Int(ir.I64, 0)}
		if a.Dynamic {
			a.whole, a.left = im.divided(im.count(a.Region), a.Tile())
			isLast := im.Do(ir.Equal, ir.Bool, at, a.whole)
			a.win.count, a.win.tail = im.Do(ir.Cast, ir.I64, im.Do(ir.Less, ir.Bool, at, a.whole)), im.Do(ir.Where, ir.I64, isLast, a.left, im.Int(ir.I64, 0))
		} else if full := im.Int(ir.I64, a.Full()); a.Rest() > 0 {
			whole := im.Do(ir.Less, ir.Bool, at, full)
			a.win.count, a.win.tail = im.Do(ir.Cast, ir.I64, whole), im.Do(ir.Cast, ir.I64, im.Do(ir.Equal, ir.Bool, at, full))
		}
	}
	if slices.ContainsFunc(p.Axes, func(a *plan.Axis) bool { return a.Dynamic }) {
		im.Launch = im.Int(ir.I64, 1)
		for _, lv := range p.Levels {
			im.Launch = im.Do(ir.Mul, ir.I64, im.Launch, im.iterations(lv.Axis, lv.Iterations()))
		}
	}
	return inner
}

// iterations is the number of iterations, or of tiles, of a level; most is its upper bound.
func (im *emitter) iterations(a *plan.Axis, most int64) *ir.Value {
	if !a.Dynamic {
		return im.Int(ir.I64, most)
	}
	n, tile := im.count(a.Region), a.Tile()
	return im.Do(ir.Div, ir.I64, im.Do(ir.Add, ir.I64, n, im.Int(ir.I64, tile-1)), im.Int(ir.I64, tile))
}

// divided returns the number of whole tiles of a number of iterations, and the remainder.
func (im *emitter) divided(n *ir.Value, tile int64) (whole, left *ir.Value) {
	whole = im.Do(ir.Div, ir.I64, n, im.Int(ir.I64, tile))
	return whole, im.Do(ir.Sub, ir.I64, n, im.Do(ir.Mul, ir.I64, whole, im.Int(ir.I64, tile)))
}

// eachRemaining emits the loop over the remaining iterations of a dynamic axis in the window.
func (im *emitter) eachRemaining(a *tiling, label string, body func(base linear)) {
	if a.Tile() == 1 {
		return
	}
	im.Builder.Loop(label, a.win.tail, func(l *ir.Loop) {
		a.inTile = linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}
		body(im.addLinear(im.scaled(a.whole, a.Tile()), a.inTile, 1))
		a.inTile = linear{}
	})
}

// dynamicBlocks emits the blocks of a dynamic axis.
func (im *emitter) dynamicBlocks(p *openBand, i int, es []*env) {
	a := p.at(p.Levels[i].Axis)
	group := im.Int(ir.I64, a.Group)
	tiles := im.Do(ir.Add, ir.I64, a.whole, im.Do(ir.Cast, ir.I64, im.Do(ir.Less, ir.Bool, im.Int(ir.I64, 0), a.left)))
	blocks := im.Do(ir.Div, ir.I64, im.Do(ir.Add, ir.I64, tiles, im.Int(ir.I64, a.Group-1)), group)
	last := im.Do(ir.Sub, ir.I64, blocks, im.Int(ir.I64, 1))
	im.Builder.Loop(a.Region.Label()+" blocks", blocks, func(l *ir.Loop) {
		lo := im.Do(ir.Mul, ir.I64, l.Iter, group)
		isLast := im.Do(ir.Equal, ir.Bool, l.Iter, last)
		count := im.Do(ir.Where, ir.I64, isLast, im.Do(ir.Sub, ir.I64, a.whole, lo), group)
		a.win = window{lo, count, im.Do(ir.Where, ir.I64, isLast, a.left, im.Int(ir.I64, 0))}
		im.levels(p, i+1, es)
	})
}

// dynamicVectors emits the vectors of an axis whose trip count is known only at run time: whole tiles, and for the remainder masked
// vectors, or scalar code on machines without masks.
func (im *emitter) dynamicVectors(p *openBand, i int, es []*env) {
	a := p.at(p.Levels[i].Axis)
	im.env = es[0]
	n, lanes := im.count(a.Region), int64(im.Lanes)
	whole, left := im.divided(n, a.Tile())
	w := window{im.Int(ir.I64, 0), whole, left}
	switch {
	case p.Grid:
		w = a.win
	case p.Items == i:
		w = im.dynamicItems(whole, left)
	}
	im.Builder.Loop(a.Region.Label()+" tiles", w.count, func(l *ir.Loop) {
		a.base = im.addLinear(im.scaled(w.lo, a.Tile()), linear{terms: []ir.Term{{V: l.Iter, Coef: a.Tile()}}}, 1)
		a.live, a.last = a.Units, nil
		im.levels(p, i+1, es)
	})
	if a.Region.TripMultiple()%a.Tile() == 0 {
		return
	}
	done := im.scaled(whole, a.Tile())
	if !p.Masks {
		apart := w.tail
		if a.Units > 1 {
			vectors, rest := im.divided(w.tail, lanes)
			from := done
			im.Builder.Loop(a.Region.Label()+" vectors", vectors, func(l *ir.Loop) {
				a.base = im.addLinear(from, linear{terms: []ir.Term{{V: l.Iter, Coef: lanes}}}, 1)
				a.live, a.last = 1, nil
				im.levels(p, i+1, es)
			})
			apart, done = rest, im.addLinear(done, im.scaled(vectors, lanes), 1)
		}
		im.Builder.Loop(a.Region.Label()+" lanes", apart, func(l *ir.Loop) {
			a.base = im.addLinear(done, linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, 1)
			a.live, a.last, a.vec = 1, nil, false
			im.levels(p, i+1, es)
			a.vec = true
		})
		return
	}
	vectors := im.Do(ir.Div, ir.I64, im.Do(ir.Add, ir.I64, w.tail, im.Int(ir.I64, lanes-1)), im.Int(ir.I64, lanes))
	im.Builder.Loop(a.Region.Label()+" rest", vectors, func(l *ir.Loop) {
		at := linear{terms: []ir.Term{{V: l.Iter, Coef: lanes}}}
		a.base, a.live, a.last = im.addLinear(done, at, 1), 1, im.lanesBelow(left, at)
		im.levels(p, i+1, es)
		a.last = nil
	})
}

// dynamicItems is the window of tiles of the work items of the call, for an axis of whole tiles and left remaining iterations. There are work items
// up to the upper bound of the trip count, so some of them may have no tile.
func (im *emitter) dynamicItems(whole, left *ir.Value) window {
	first, n := im.New(ir.First, ir.I64, 1, 0), im.New(ir.Items, ir.I64, 1, 0)
	before := im.Do(ir.Max, ir.I64, im.Do(ir.Sub, ir.I64, whole, first), im.Int(ir.I64, 0))
	count := im.Do(ir.Where, ir.I64, im.Do(ir.Less, ir.Bool, n, before), n, before)
	// The remainder is an item, too.
	here := im.Do(ir.And, ir.Bool, im.Do(ir.LessEqual, ir.Bool, first, whole), im.Do(ir.Less, ir.Bool, whole, im.Do(ir.Add, ir.I64, first, n)))
	return window{first, count, im.Do(ir.Where, ir.I64, here, left, im.Int(ir.I64, 0))}
}

// scaled is a value times a constant in linear form.
func (im *emitter) scaled(v *ir.Value, c int64) linear {
	if v.Op == ir.Const {
		return linear{off: ir.ConstInt(v) * c}
	}
	return linear{terms: []ir.Term{{V: v, Coef: c}}}
}

// loopOrBody emits a loop, or only its body if that runs once, so that values which depend on the iteration, such as masks, are constant.
// A kernel that reads memory which it writes keeps its loops: read-only intervals belong to loops (see beginReadOnly).
func (im *emitter) loopOrBody(label string, count *ir.Value, body func(iter linear)) {
	if count.Op == ir.Const && ir.ConstInt(count) == 1 && len(im.Changing) == 0 {
		body(linear{})
		return
	}
	im.Builder.Loop(label, count, func(l *ir.Loop) { body(linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}) })
}

// emitIf emits the body under the condition that a count is 1; unconditionally if that is known.
func (im *emitter) emitIf(label string, count *ir.Value, body func()) {
	if count.Op == ir.Const {
		if ir.ConstInt(count) > 0 {
			body()
		}
		return
	}
	im.Builder.Loop(label, count, func(*ir.Loop) { body() })
}

// walkLoop emits a loop over all iterations of an axis, or over the work items of the call.
func (im *emitter) walkLoop(p *openBand, i int, es []*env) {
	a := p.at(p.Levels[i].Axis)
	count := im.count(a.Region)
	switch {
	case p.Items == i && a.Dynamic && p.Joined == nil:
		count = im.dynamicItems(count, im.Int(ir.I64, 0)).count
	case p.Items == i:
		count = im.New(ir.Items, ir.I64, 1, 0)
	}
	im.Builder.Loop(a.Region.Label(), count, func(l *ir.Loop) {
		inner := inside(es)
		bind := func(rng *uop.UOp, at linear) {
			for _, e := range inner {
				e.linears.set(rng, at)
			}
		}
		iter := im.itemIter(p, i, l)
		switch {
		case p.Items == i && p.Joined != nil:
			// A work item is one iteration of each axis; that of a dynamic axis may not exist.
			live := im.Int(ir.I64, 1)
			take := func(q *plan.Axis, at *ir.Value) {
				bind(q.Region.Rng, linear{terms: []ir.Term{{V: at, Coef: 1}}})
				if q.Dynamic {
					live = im.Do(ir.Where, ir.I64, im.Do(ir.Less, ir.Bool, at, im.count(q.Region)), live, im.Int(ir.I64, 0))
				}
			}
			for _, q := range slices.Backward(p.Joined) {
				n := im.Int(ir.I64, q.Count)
				take(q, im.Do(ir.Mod, ir.I64, iter, n))
				iter = im.Do(ir.Div, ir.I64, iter, n)
			}
			take(a.Axis, iter)
			im.emitIf(a.Region.Label()+" exists", live, func() { im.levels(p, i+1, inner) })
			return
		case iter != l.Iter:
			bind(a.Region.Rng, im.addLinear(linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, linear{terms: []ir.Term{{V: im.New(ir.First, ir.I64, 1, 0), Coef: 1}}}, 1))
		default:
			bind(a.Region.Rng, linear{terms: []ir.Term{{V: iter, Coef: 1}}})
		}
		im.levels(p, i+1, inner)
	})
}

// itemCount is the trip count of a level: the number of work items of the call for the level of work items.
func (im *emitter) itemCount(p *openBand, i int, n int64) *ir.Value {
	if p.Items == i {
		return im.New(ir.Items, ir.I64, 1, 0)
	}
	return im.Int(ir.I64, n)
}

// itemIter is the iteration number of a level, counted over all work items.
func (im *emitter) itemIter(p *openBand, i int, l *ir.Loop) *ir.Value {
	if p.Items == i {
		return im.Do(ir.Add, ir.I64, im.New(ir.First, ir.I64, 1, 0), l.Iter)
	}
	return l.Iter
}

// itemWindow is the window of tiles of the work items of the call; the remainder is the last item.
func (im *emitter) itemWindow(a *tiling) window {
	first, n := im.New(ir.First, ir.I64, 1, 0), im.New(ir.Items, ir.I64, 1, 0)
	if a.Rest() == 0 {
		return window{first, n, im.Int(ir.I64, 0)}
	}
	full := im.Int(ir.I64, a.Full())
	end := im.Do(ir.Add, ir.I64, first, n)
	tail := im.Do(ir.Less, ir.Bool, full, end)
	count := im.Do(ir.Sub, ir.I64, n, im.Do(ir.Cast, ir.I64, tail))
	return window{first, count, im.Do(ir.Cast, ir.I64, tail)}
}

// setBlock makes the tiles of a block the window of its axis.
func (im *emitter) setBlock(a *tiling, number *ir.Value, blocks int64) {
	lo := im.Do(ir.Mul, ir.I64, number, im.Int(ir.I64, a.Group))
	w := window{lo, im.Int(ir.I64, a.Group), im.Int(ir.I64, 0)}
	isLast := im.Do(ir.Equal, ir.Bool, number, im.Int(ir.I64, blocks-1))
	if n := a.Full() - (blocks-1)*a.Group; n < a.Group {
		w.count = im.Do(ir.Where, ir.I64, isLast, im.Int(ir.I64, n), w.count)
	}
	if a.Rest() > 0 {
		w.tail = im.Do(ir.Cast, ir.I64, isLast)
	}
	a.win = w
}

// remainder emits the remainder after the last whole tile of an axis.
func (im *emitter) remainder(p *openBand, i int, es []*env) {
	a := p.at(p.Levels[i].Axis)
	n := a.Rest()
	start := a.Full() * a.Tile()
	a.base = linear{off: start}
	if !a.vec {
		a.live, a.last = n, nil
		im.levels(p, i+1, es)
		return
	}
	whole := n / a.Unit
	if lanes := n % a.Unit; lanes > 0 && (p.Masks || a.Overlaps) {
		a.live = whole + 1
		if p.Masks {
			a.last = im.lanesUpTo(lanes)
		} else {
			a.back = a.Unit - lanes
		}
		im.levels(p, i+1, es)
		a.last, a.back = nil, 0
		return
	}
	if whole > 0 {
		a.live, a.last = whole, nil
		im.levels(p, i+1, es)
	}
	if lanes := n % a.Unit; lanes > 0 {
		// Without masks they run scalar.
		im.Builder.Loop(a.Region.Label()+" lanes", im.Int(ir.I64, lanes), func(l *ir.Loop) {
			a.base = linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}, off: start + whole*a.Unit}
			a.live, a.last, a.vec = 1, nil, false
			im.levels(p, i+1, es)
			a.vec = true
		})
	}
}

// tile emits the unrolled copies of the innermost iteration: the units of all tiled axes.
func (im *emitter) tile(p *openBand, es []*env) {
	copies := im.copies(p, es)
	if p.RowsInterleaved() {
		for i, c := range copies {
			c.rows, c.row = p.Band, int64(i)
		}
	}
	outer := im.at
	im.at = p
	if p.work != nil {
		p.work(copies)
	} else {
		im.prefetch(p.Leaf, plan.Epilogue, copies)
		im.prefetch(p.Leaf, plan.Squares, copies)
		im.prefetchNextRow(p, copies)
		im.body(p.Leaf, copies)
	}
	im.at = outer
}

// copies are the environments of the units of all tiled axes.
func (im *emitter) copies(p *openBand, es []*env) []*env {
	p.around = es[0]
	copies := inside(es)
	for _, ax := range p.Axes {
		a := p.at(ax)
		if a.Plain() {
			continue
		}
		var next []*env
		for _, c := range copies {
			for j := range a.live {
				d := newEnv(c)
				if a.Spread != nil {
					im.bindSpread(d, a, j)
					next = append(next, d)
					continue
				}
				at := a.base
				at.off += j * a.step()
				if j == a.live-1 {
					at.off -= a.back
				}
				if a.vec {
					at.lane = 1
					d.vector = true
					switch {
					case j == a.live-1 && a.last != nil:
						d.tail = a.last
					case a.Unit < int64(im.Lanes):
						d.tail = im.lanesUpTo(a.Unit)
					}
				}
				if ax == p.Transpose && a.live == int64(im.Lanes) {
					d.transpose = &transposeLoop{a.Region.Rng, j}
				}
				a.bind(d, at)
				next = append(next, d)
			}
		}
		copies = next
	}
	return copies
}

// step is the stride between the units of a tile.
func (a *tiling) step() int64 {
	if a.vec {
		return a.Unit
	}
	return 1
}
