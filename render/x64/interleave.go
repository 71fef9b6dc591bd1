package x64

import "polygrad/core/nest/ir"

const (
	// lockstepWidth is how many independent values are computed in lockstep.
	lockstepWidth = 4
	// minLockstep is the number of operations from which on a value is computed in lockstep with others: a dependency chain of so many instructions
	// fills the schedulers of a processor before it reaches the next value.
	minLockstep = 16
)

// needAll computes values of the current block.
func (g *gen) needAll(vs []*ir.Value) {
	g.interleave(vs)
	for _, v := range vs {
		g.need(v)
	}
}

// interleave computes vectors of one block in lockstep: the first operation of each, then the second of each. The values of unrolled copies are long
// dependency chains; a processor overlaps short chains by itself, and long ones only if their instructions are near each other.
func (g *gen) interleave(vs []*ir.Value) {
	for len(vs) > 1 {
		n := min(len(vs), lockstepWidth)
		g.lockstep(vs[:n])
		vs = vs[n:]
	}
}

func (g *gen) lockstep(vs []*ir.Value) {
	var steps [lockstepWidth][]*ir.Value
	g.stamp++
	for i, v := range vs {
		steps[i] = g.pending(v, g.room.steps[i][:0])
		g.room.steps[i] = steps[i]
		if len(steps[i]) < minLockstep {
			return
		}
	}
	g.interleaved = true
	for t := 0; ; t++ {
		more := false
		for i := range vs {
			if t < len(steps[i]) {
				g.need(steps[i][t])
				more = true
			}
		}
		if !more {
			return
		}
	}
}

// pending appends the vectors of the current block that remain to be computed into registers for v, operands before their uses, v last.
func (g *gen) pending(v *ir.Value, steps []*ir.Value) []*ir.Value {
	s := &g.vals[v.ID]
	if s.reg != 0 || s.mark == g.stamp || v.Lanes == 1 || v.Block != g.cur.block {
		return steps
	}
	switch v.Op {
	case ir.Const, ir.Load, ir.Phi, ir.Final, ir.Transpose, ir.Splat:
		return steps
	}
	s.mark = g.stamp
	for i, a := range v.Args {
		if v.Op == ir.Where && i == 1 && g.maskable(a) {
			for _, b := range a.Args {
				steps = g.pending(b, steps)
			}
			continue
		}
		steps = g.pending(a, steps)
	}
	if v.Kind == ir.Bool {
		return steps // made where it is used: there are few mask registers
	}
	return append(steps, v)
}

// interleaveStores computes what the stores at the beginning of items store.
func (g *gen) interleaveStores(items []ir.Item) {
	var vs []*ir.Value
	for _, it := range items {
		if it.Store == nil {
			break
		}
		vs = append(vs, stored(it.Store))
	}
	g.interleave(vs)
}
