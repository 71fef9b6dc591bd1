package nest

import "polygrad/core/nest/ir"

// The panel of an operand, for all steps of a long sum, is more than the first cache holds. Such a sum is made in passes:
// each goes through the tiles of one operand with as many steps of the other one's panel as stay there, and goes on with
// sums that are in the second cache meanwhile.

// productPass is the pass at work: its first step, how many it has, and whether it begins and ends the sums.
type productPass struct {
	from        linear
	steps       int64
	first, last bool
}

// passTiles is how many tiles a pass must go through at least: below, moving the sums takes longer than it saves.
const passTiles = 4

// planPasses chooses how many steps a pass has.
func (q *product) planPasses(stays, streams *dotOperand, l1 int64) {
	q.passSteps = q.steps
	if streams.ax.group < passTiles {
		return
	}
	most := max(l1*2/3/(stays.step(q)*ir.WordSize), 1)
	n := (q.steps + most - 1) / most
	q.passSteps = (q.steps + n - 1) / n
}

// passes is how many passes there are.
func (q *product) passes() int64 { return (q.steps + q.passSteps - 1) / q.passSteps }

// inProductPasses makes what work makes in passes.
func (im *importer) inProductPasses(q *product, work func()) {
	n := q.passes()
	q.pass = &productPass{steps: q.passSteps, first: true, last: n == 1}
	work()
	q.pass.first = false
	if n > 2 {
		im.Builder.Loop(q.inner.label()+" passes", im.Int(ir.I64, n-2), func(l *ir.Loop) {
			q.pass.from = linear{terms: []ir.Term{{V: l.Iter, Coef: q.passSteps}}, off: q.passSteps}
			work()
		})
	}
	if n > 1 {
		at := (n - 1) * q.passSteps
		q.pass.from, q.pass.steps, q.pass.last = linear{off: at}, q.steps-at, true
		work()
	}
	q.pass = nil
}

// sums is where the sums of the tile at work are.
func (q *product) sums(im *importer) linear {
	if q.passes() == 1 {
		return linear{}
	}
	rows, cols := q.a.ax, q.b.ax
	return im.timesLinear(q.streams.ax.number, rows.jam*cols.jam*ir.DotBlock)
}
