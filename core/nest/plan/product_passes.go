package plan

import "polygrad/core/nest/ir"

// The panel of an operand, for all steps of a long sum, is more than the first cache holds. Such a sum is made in passes:
// each goes through the tiles of one operand with as many steps of the other one's panel as stay there, and goes on with
// sums that are in the second cache meanwhile.

// passTiles is how many tiles a pass must go through at least: below, moving the sums takes longer than it saves.
const passTiles = 4

// planPasses chooses how many steps a pass has.
func (q *Product) planPasses(stays, streams *DotOperand, l1 int64) {
	q.PassSteps = q.Steps
	if streams.Axis.Group < passTiles {
		return
	}
	most := max(l1*2/3/(stays.Step(q)*ir.WordSize), 1)
	n := (q.Steps + most - 1) / most
	q.PassSteps = (q.Steps + n - 1) / n
}

// Passes is how many passes there are.
func (q *Product) Passes() int64 { return (q.Steps + q.PassSteps - 1) / q.PassSteps }
