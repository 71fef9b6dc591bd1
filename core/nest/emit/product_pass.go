package emit

import (
	"polygrad/core/nest/ir"
)

// productPass is the current pass: its first step, their number, and whether it is the first and the last one.
type productPass struct {
	from        linear
	steps       int64
	first, last bool
}

// inProductPasses emits work once for each pass.
func (im *emitter) inProductPasses(p *openBand, work func()) {
	q := p.Product
	n := q.Passes()
	p.pass = &productPass{steps: q.PassSteps, first: true, last: n == 1}
	work()
	p.pass.first = false
	if n > 2 {
		im.Builder.Loop(q.Inner.Label()+" passes", im.Int(ir.I64, n-2), func(l *ir.Loop) {
			p.pass.from = linear{terms: []ir.Term{{V: l.Iter, Coef: q.PassSteps}}, off: q.PassSteps}
			work()
		})
	}
	if n > 1 {
		at := (n - 1) * q.PassSteps
		p.pass.from, p.pass.steps, p.pass.last = linear{off: at}, q.Steps-at, true
		work()
	}
	p.pass = nil
}

// productSums is the place of the accumulators of the current tile.
func (im *emitter) productSums(p *openBand) linear {
	q := p.Product
	if q.Passes() == 1 {
		return linear{}
	}
	rows, cols := q.Rows.Axis, q.Columns.Axis
	return im.timesLinear(p.at(q.Streams.Axis).number, rows.Units*cols.Units*ir.DotBlock)
}
