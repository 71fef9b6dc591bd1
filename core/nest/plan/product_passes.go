package plan

import "polygrad/core/nest/ir"

// The panel of an operand for all steps of a long sum exceeds L1. Such a sum is multi-pass: each pass goes through the tiles of one operand
// with the steps of the other's panel that fit L1, and accumulates into partial sums in L2.

// passTiles is the least number of tiles of a pass: for fewer, moving the partial sums costs more than it saves.
const passTiles = 4

// planPasses chooses the number of steps of a pass.
func (q *Product) planPasses(stays, streams *DotOperand, l1 int64) {
	q.PassSteps = q.Steps
	if streams.Axis.Group < passTiles {
		return
	}
	most := max(l1*2/3/(stays.Step(q)*ir.WordSize), 1)
	n := (q.Steps + most - 1) / most
	q.PassSteps = (q.Steps + n - 1) / n
}

// Passes is the number of passes.
func (q *Product) Passes() int64 { return (q.Steps + q.PassSteps - 1) / q.PassSteps }
