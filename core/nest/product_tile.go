package nest

import (
	"polygrad/core/nest/ir"
	"slices"
)

// productTile makes a tile of a product, and what follows the sum.
func (im *importer) productTile(p *plan, e *env) {
	q := p.product
	rows, cols := q.a.ax, q.b.ax
	sums := q.sums(im)
	panel := func(o *dotOperand) *ir.Place {
		at := im.addLinear(im.timesLinear(o.ax.number, o.panel(q)), im.timesLinear(q.pass.from, o.step(q)), 1)
		return &ir.Place{Buf: o.buf, Terms: at.terms, Off: at.off}
	}
	width := cols.jam * ir.DotBlock
	im.Dot(&ir.Dot{
		Kind: q.a.kind, BKind: q.b.kind, C: &ir.Place{Buf: q.c, Terms: sums.terms, Off: sums.off}, A: panel(q.a), B: panel(q.b), Terms: q.terms,
		Rows: int((rows.live + ir.DotBlock - 1) / ir.DotBlock), Cols: int(cols.live), ABlocks: int(q.a.blocks), BBlocks: int(q.b.blocks),
		Steps: q.pass.steps, CRow: width, AStep: q.a.step(q), BStep: q.b.step(q),
		AStreams: q.streams == q.a, BStreams: q.streams == q.b, More: !q.pass.first,
	})
	if q.pass.last {
		im.rowsOfTile(p, e, func(copies []*env, place func(int) *ir.Place) { im.results(p, copies, place) })
	}
}

// rowsOfTile makes loops over the rows of the tile at work, and calls f with copies for a few rows and where the sums of
// each are.
func (im *importer) rowsOfTile(p *plan, e *env, f func(copies []*env, place func(copy int) *ir.Place)) {
	const together = 4 // rows
	q := p.product
	rows, cols := q.a.ax, q.b.ax
	width := cols.jam * ir.DotBlock
	base := rows.base
	part := func(from, count, n int64) {
		if count == 0 {
			return
		}
		im.Builder.Loop(rows.r.label()+" results", im.Int(ir.I64, count), func(l *ir.Loop) {
			var copies []*env
			for i := range n {
				at := linear{terms: []ir.Term{{V: l.Iter, Coef: n}}, off: from + i}
				for j := range cols.live {
					d := im.unit(newEnv(e), cols, cols.base, j)
					d.linears.set(rows.r.rng, im.addLinear(base, at, 1))
					copies = append(copies, d)
				}
			}
			f(copies, func(i int) *ir.Place {
				row, unit := int64(i)/cols.live, int64(i)%cols.live
				at := im.addLinear(q.sums(im), linear{terms: []ir.Term{{V: l.Iter, Coef: n * width}}, off: (from+row)*width + unit*ir.DotBlock}, 1)
				return &ir.Place{Buf: q.c, Terms: at.terms, Off: at.off, Stride: 1}
			})
		})
	}
	n := rows.live
	part(0, n/together, together)
	part(n/together*together, n%together, 1)
}

// unit binds an axis of vectors to unit j of the tile at work.
func (im *importer) unit(d *env, a *axis, base linear, j int64) *env {
	base.off += j * a.unit
	base.lane = 1
	d.vector = true
	if j == a.live-1 && a.last != nil {
		d.tail = a.last
	}
	d.linears.set(a.r.rng, base)
	return d
}

// results makes what a leaf contains around its sum, whose values are in memory.
func (im *importer) results(p *plan, copies []*env, place func(copy int) *ir.Place) {
	q := p.product
	outer := im.at
	im.at = p
	im.until(p.leaf, q.sum, copies)
	for i, c := range copies {
		v := im.Load(place(i), im.Lanes, nil)
		if init := im.register(c, q.up.slot); init.Op != ir.Const || init.Bits != 0 {
			v = im.ALU(ir.Add, v.Kind, im.Splat(init), v)
		}
		c.regs.set(q.up.slot, v)
	}
	at := slices.IndexFunc(p.leaf.parts, func(x part) bool { return x.sub == q.sum })
	im.body(&region{parts: p.leaf.parts[at+1:]}, copies)
	im.at = outer
}
