package emit

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"slices"
)

// productTile emits a tile of a product with its epilogue.
func (im *emitter) productTile(p *openBand, e *env) {
	q := p.Product
	rows, cols := p.at(q.Rows.Axis), p.at(q.Columns.Axis)
	sums := im.productSums(p)
	panel := func(o *plan.DotOperand) *ir.Place {
		at := im.addLinear(im.timesLinear(p.at(o.Axis).number, o.Panel(q)), im.timesLinear(p.pass.from, o.Step(q)), 1)
		return &ir.Place{Buf: o.Buf, Terms: at.terms, Off: at.off}
	}
	width := cols.Units * ir.DotBlock
	kind, bias := q.Rows.Packed()
	im.Dot(&ir.Dot{
		Kind: kind, BKind: q.Columns.Kind, Bias: bias, C: &ir.Place{Buf: q.Sums, Terms: sums.terms, Off: sums.off}, A: panel(q.Rows), B: panel(q.Columns), Terms: q.Splits,
		Rows: int((rows.live + ir.DotBlock - 1) / ir.DotBlock), Cols: int(cols.live), ABlocks: int(q.Rows.Blocks), BBlocks: int(q.Columns.Blocks),
		Steps: p.pass.steps, CRow: width, AStep: q.Rows.Step(q), BStep: q.Columns.Step(q),
		AStreams: q.Streams == q.Rows, BStreams: q.Streams == q.Columns, More: !p.pass.first,
	})
	if p.pass.last {
		im.rowsOfTile(p, e, func(copies []*env, place func(int) *ir.Place) { im.results(p, copies, place) })
	}
}

// rowsOfTile loops over the rows of the current tile, a few at a time, and calls f with their copies and the places of their sums.
func (im *emitter) rowsOfTile(p *openBand, e *env, f func(copies []*env, place func(copy int) *ir.Place)) {
	const together = 4 // rows
	q := p.Product
	rows, cols := p.at(q.Rows.Axis), p.at(q.Columns.Axis)
	width := cols.Units * ir.DotBlock
	base := rows.base
	part := func(from, count, n int64) {
		if count == 0 {
			return
		}
		im.Builder.Loop(rows.Region.Label()+" results", im.Int(ir.I64, count), func(l *ir.Loop) {
			var copies []*env
			for i := range n {
				at := linear{terms: []ir.Term{{V: l.Iter, Coef: n}}, off: from + i}
				for j := range cols.live {
					d := im.unit(newEnv(e), cols, cols.base, j)
					d.linears.set(rows.Region.Rng, im.addLinear(base, at, 1))
					copies = append(copies, d)
				}
			}
			f(copies, func(i int) *ir.Place {
				row, unit := int64(i)/cols.live, int64(i)%cols.live
				at := im.addLinear(im.productSums(p), linear{terms: []ir.Term{{V: l.Iter, Coef: n * width}}, off: (from+row)*width + unit*ir.DotBlock}, 1)
				return &ir.Place{Buf: q.Sums, Terms: at.terms, Off: at.off, Stride: 1}
			})
		})
	}
	n := rows.live
	part(0, n/together, together)
	part(n/together*together, n%together, 1)
}

// unit binds the vector axis to unit j of the current tile.
func (im *emitter) unit(d *env, a *tiling, base linear, j int64) *env {
	base.off += j * a.Unit
	base.lane = 1
	d.vector = true
	if j == a.live-1 && a.last != nil {
		d.tail = a.last
	}
	d.linears.set(a.Region.Rng, base)
	return d
}

// results emits the epilogue of a leaf whose accumulators are in memory.
func (im *emitter) results(p *openBand, copies []*env, place func(copy int) *ir.Place) {
	q := p.Product
	outer := im.at
	im.at = p
	im.bodyBefore(p.Leaf, q.Loop, copies)
	for i, c := range copies {
		v := im.Load(place(i), im.Lanes, nil)
		if init := im.register(c, q.Update.Slot); init.Op != ir.Const || init.Bits != 0 {
			v = im.ALU(ir.Add, v.Kind, im.Splat(init), v)
		}
		c.regs.set(q.Update.Slot, v)
	}
	at := slices.IndexFunc(p.Leaf.Parts, func(x analysis.Part) bool { return x.Sub == q.Loop })
	im.body(&analysis.Region{Parts: p.Leaf.Parts[at+1:]}, copies)
	im.at = outer
}
