package nest

import (
	"slices"

	"polygrad/core/kinds"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// A product of matrices of narrow numbers is computed by Dot. Both operands are packed, whatever they are computed from
// and however it is loaded, and the sums of a tile lie in scratch memory, from where what follows the sum goes on with
// them as if it had collected them itself.

// product says how a leaf with such a sum is laid out.
type product struct {
	sum *region
	up  *update
	// inner is the loop that is divided into steps, outer are the others that collect.
	inner *region
	outer []*region
	steps int64
	terms int
	a, b  *dotOperand
	c     *ir.Buffer
	// streams is the operand whose tiles all go by while one of the other operand is at work.
	streams *dotOperand
	// passSteps is how many steps are done before the next tile is turned to, pass the pass at work.
	passSteps int64
	pass      *productPass
}

// dotOperand is one of the two factors.
type dotOperand struct {
	u    *uop.UOp
	kind ir.Kind
	ax   *axis
	// columns says that words of different columns stand side by side.
	columns bool
	buf     *ir.Buffer
	// reach keeps how far numbers are out of range if they are split, bad is 1 if they are too far.
	reach  *ir.Buffer
	bad    *ir.Value
	at     int // the level before which it is packed
	blocks int64
}

const (
	// dotLeast is how many rows and columns a product must have at least.
	dotLeast = 8
	// dotTile is how many blocks a tile has in each direction.
	dotTile = 2
)

// planProduct lays a leaf out as a product of packed operands, if it is one.
func (im *importer) planProduct(p *plan) bool {
	q := im.findProduct(p.leaf)
	if q == nil || !p.masks || im.Lanes != ir.DotBlock || im.m.MaskedSize != 1 || !im.dotAxes(p, q) || !q.findSteps() {
		return false
	}
	if q.terms > 1 && q.a.ax.n*q.b.ax.n*q.steps*ir.DotBlock*ir.PerWord(ir.BF16) < splitLeast {
		return false
	}
	im.dotLevels(p, q)
	p.product = q
	return true
}

// findProduct finds the sum of products of a leaf, nil if it has none that there are instructions for.
func (im *importer) findProduct(leaf *region) *product {
	in := leaf.loops()
	if len(in) != 1 {
		return nil
	}
	q := &product{sum: in[0], terms: 1}
	for r := in[0]; ; r = r.loops()[0] {
		if r.trip() < 1 || len(r.updates) != 1 || len(r.loops()) > 1 {
			return nil
		}
		q.outer = append(q.outer, r)
		if len(r.loops()) == 0 {
			break
		}
	}
	q.up = in[0].innermost().updates[0]
	if q.up.op != ir.Add || len(q.up.terms) != 1 {
		return nil
	}
	a, b, ok := im.factors(q.up.terms[0])
	if !ok && q.up.terms[0].Op == uop.Mul && im.canSplit(q.up.terms[0]) {
		t := q.up.terms[0]
		a, b, ok = &dotOperand{u: t.Src[0], kind: ir.BF16}, &dotOperand{u: t.Src[1], kind: ir.BF16}, true
		q.terms = splitTerms
	}
	if !ok || im.readsWritten(a.u) || im.readsWritten(b.u) {
		return nil
	}
	q.a, q.b = a, b
	return q
}

// exactProducts finds the terms of sums in F32 that are products of F16 or BF16, rounded only to be made F32 again. To
// round them is no part of what is asked for: matrix units do not do it either.
func (r *region) exactProducts(found map[*uop.UOp]bool) map[*uop.UOp]bool {
	for _, p := range r.parts {
		if p.sub != nil {
			p.sub.exactProducts(found)
		}
	}
	for _, up := range r.updates {
		for _, t := range up.terms {
			if up.op != ir.Add || t.Op != uop.Cast || kinds.Of[t.DType.Scalar()] != ir.F32 || t.Src[0].Op != uop.Mul {
				continue
			}
			if k := kinds.Of[t.Src[0].DType.Scalar()]; k == ir.F16 || k == ir.BF16 {
				found[t] = true
			}
		}
	}
	return found
}

// factors takes a term apart.
func (im *importer) factors(t *uop.UOp) (a, b *dotOperand, ok bool) {
	k, known := kinds.Of[t.DType.Scalar()]
	if !known {
		return nil, nil, false
	}
	if im.exact[t] {
		t = t.Src[0]
	}
	if t.Op != uop.Mul {
		return nil, nil, false
	}
	x, y := dotKind(t.Src[0]), dotKind(t.Src[1])
	switch {
	case k == ir.F32 && x == ir.BF16 && y == ir.BF16 && im.m.DotBF16:
	case k == ir.I32 && x.Size() == 1 && y.Size() == 1 && im.m.DotI8:
	default:
		return nil, nil, false
	}
	return &dotOperand{u: t.Src[0], kind: x}, &dotOperand{u: t.Src[1], kind: y}, true
}

// dotKind is the narrowest kind that has all values of a factor; F64 if Dot knows none.
func dotKind(u *uop.UOp) ir.Kind {
	switch k := kinds.Of[u.DType.Scalar()]; {
	case k == ir.BF16 || k == ir.I8 || k == ir.U8:
		return k
	case u.Op == uop.Cast:
		switch from := kinds.Of[u.Src[0].DType.Scalar()]; {
		case k == ir.F32 && from == ir.BF16, k == ir.I32 && (from == ir.I8 || from == ir.U8):
			return from
		}
	case u.Op == uop.Where:
		x, y := dotKind(u.Src[1]), dotKind(u.Src[2])
		switch {
		case x == y, isZero(u.Src[2]):
			return x
		case isZero(u.Src[1]):
			return y
		}
	}
	return ir.F64
}

func isZero(u *uop.UOp) bool { return u.Op == uop.ConstOp && u.ConstVal().F() == 0 }

// readsWritten reports whether a value depends on memory that the kernel writes.
func (im *importer) readsWritten(u *uop.UOp) bool {
	if u.Op == uop.Load {
		b := im.bufs[definition(u.Src[0])]
		return b == nil || b.Written || im.readsWritten(u.Src[0].Src[1])
	}
	if u.Op == uop.Range {
		return false
	}
	return slices.ContainsFunc(u.Src, im.readsWritten)
}

// dotAxes chooses the axes of rows and columns.
func (im *importer) dotAxes(p *plan, q *product) bool {
	var st *uop.UOp
	for _, x := range p.leaf.parts {
		if x.u != nil && x.u.Op == uop.Store && x.u.Src[0].DType.Space != uop.Reg {
			st = x.u
		}
	}
	if st == nil {
		return false
	}
	var rows, cols *axis
	for _, a := range p.axes {
		s := im.slopes(a.r.rng)
		inA, inB := s.of(q.a.u).matters, s.of(q.b.u).matters
		switch {
		case a.n < dotLeast || inA == inB:
		case inA:
			rows = im.betterAxis(rows, a, st)
		default:
			cols = im.betterAxis(cols, a, st)
		}
	}
	if rows == nil || cols == nil {
		return false
	}
	if s := im.slopes(rows.r.rng).of(st.Src[0]); s.step == 1 && !s.odd {
		rows, cols = cols, rows
		q.a, q.b = q.b, q.a
	}
	q.a.ax, q.b.ax = rows, cols
	q.b.columns = true
	return true
}

// betterAxis is the one of two axes that fills blocks better, then the one along which results stand side by side.
func (im *importer) betterAxis(x, y *axis, st *uop.UOp) *axis {
	if x == nil {
		return y
	}
	score := func(a *axis) float64 {
		full := (a.n + ir.DotBlock - 1) / ir.DotBlock * ir.DotBlock
		s := float64(a.n) / float64(full) * float64(min(full, dotTile*ir.DotBlock))
		if o := im.slopes(a.r.rng).of(st.Src[0]); o.step == 1 && !o.odd {
			s *= 1.5
		}
		return s
	}
	if score(y) > score(x) {
		return y
	}
	return x
}

// findSteps chooses the loop that is divided into steps: the one that leaves the fewest empty places. It reports whether
// not too many are.
func (q *product) findSteps() bool {
	n := ir.DotBlock * ir.PerWord(q.a.kind)
	total := int64(1)
	for _, r := range q.outer {
		total *= r.trip()
	}
	best := -1
	for i, r := range q.outer {
		if steps := total / r.trip() * ((r.trip() + n - 1) / n); best < 0 || steps <= q.steps {
			best, q.steps = i, steps
		}
	}
	q.inner = q.outer[best]
	q.outer = slices.Delete(q.outer, best, best+1)
	return q.steps*n <= 2*total
}

// step is how many words a step of the operand has.
func (o *dotOperand) step(q *product) int64 { return int64(q.terms) * o.blocks * ir.DotWords }

// panel is how many words the operand has for one tile.
func (o *dotOperand) panel(q *product) int64 { return q.steps * o.step(q) }

// fits is how many of the operand's tiles a cache holds, one at least.
func (o *dotOperand) fits(q *product, cache int64) int64 {
	return min(max(cache/(o.panel(q)*ir.WordSize), 1), o.ax.tiles())
}

// dotLevels orders the loops: the operand that is packed first lies in the third cache, the other one in the second. An
// operand that the loops which are walked do not change is packed first, before them. If all of the second operand fits
// into its cache it is packed before the first one, of which one tile after the other is packed then: unless that would
// go through far memory with long strides, once for each tile.
func (im *importer) dotLevels(p *plan, q *product) {
	rows, cols := q.a.ax, q.b.ax
	cols.vec, cols.unit = true, ir.DotBlock
	cols.jam = min(dotTile, (cols.n+ir.DotBlock-1)/ir.DotBlock)
	rows.jam = min(dotTile*ir.DotBlock, (rows.n+ir.DotBlock-1)/ir.DotBlock*ir.DotBlock)
	q.a.blocks, q.b.blocks = rows.jam/ir.DotBlock, cols.jam
	rows.win, cols.win = rows.whole(im), cols.whole(im)
	var walks []level
	for _, a := range p.axes {
		if a != rows && a != cols {
			walks = append(walks, level{a, walk})
		}
	}
	first, second := q.b, q.a
	moves := func(o *dotOperand) bool { return im.movesWith(o.u, walks) }
	threads := int64(im.m.Threads)
	switch a, b := moves(q.a), moves(q.b); {
	case a == b && q.a.ax.tiles() > q.b.ax.tiles() || !a && b:
		first, second = second, first
	}
	before := len(walks) > 0 && (moves(first) || first.ax.tiles() < threads)
	if before {
		p.levels, walks = append(p.levels, walks...), nil
		threads = 1
	}
	reserve := func(o *dotOperand, cache, threads int64) {
		o.ax.group = share(o.ax.tiles(), o.fits(q, cache), threads)
		o.buf = im.scratch(ir.U32, o.ax.group*o.panel(q))
		if q.terms > 1 {
			o.reach = im.scratch(ir.U32, ir.DotBlock)
			o.reach.Read, o.reach.Written = true, true
		}
		if o.ax.group < o.ax.tiles() || len(p.levels) == 0 && o == first {
			p.levels = append(p.levels, level{o.ax, block})
		}
		o.at = len(p.levels)
	}
	near, far := im.m.L2/2, im.m.L3
	whole := func(o *dotOperand) bool { return o.fits(q, near) == o.ax.tiles() }
	if len(walks) == 0 && whole(second) && (whole(first) || im.runsAlong(q, first)) {
		reserve(second, near, 1)
		reserve(first, 0, threads)
	} else {
		reserve(first, far, threads)
		p.levels = append(p.levels, walks...)
		reserve(second, near, 1)
	}
	p.levels = append(p.levels, level{first.ax, tiles}, level{second.ax, tiles})
	q.streams = second
	if second.ax.tiles() == 1 {
		q.streams = first
	}
	q.planPasses(first, second, im.m.L1)
	sums := rows.jam * cols.jam * ir.DotBlock
	if q.passes() > 1 {
		sums *= second.ax.group
	}
	q.c = im.scratch(kindFor(q.up.slot.reg.DType.Base()), sums)
	q.c.Read, q.c.Written = true, true
}

// tiles is the number of tiles, with the rest.
func (a *axis) tiles() int64 { return a.full() + min(a.rest(), 1) }
