package nest

import (
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// importer evaluates the operations of a list on demand, for the ranges as the loops around bind them: a scalar
// list becomes vectors where a range stands for the lanes of one.
type importer struct {
	*ir.Builder
	m    ir.Machine
	bufs map[*uop.UOp]*ir.Buffer
	vars map[string]int
	// changing are the buffers that are both read and written.
	changing []*ir.Buffer
	pure     map[*uop.UOp]bool
	// grows tells how values depend on ranges.
	grows map[*uop.UOp]*slopes
	env   *env
	// exact are products of narrow floats that are added as they are, without the rounding of their own kind.
	exact map[*uop.UOp]bool
	// linked are the sums that begin where others have ended.
	linked linked
	// at is the plan of the band at work.
	at *plan
	// plain kernels keep their loops as they are; serial ones have no work items.
	plain, serial bool
	// collects says that there are sums.
	collects bool
	buffers  int32
	// wanted are the knobs of the bands, numbered is how they are counted.
	wanted   []band
	numbered map[*region]int
	// layout is how the bands were laid out.
	layout Layout
}

// env is what the list means for one iteration of the loops around, or, of copies that are made side by side, for one.
type env struct {
	outer   *env
	vals    assoc[*uop.UOp, *ir.Value]
	linears assoc[*uop.UOp, linear] // of ranges what they are bound to
	regs    assoc[slot, *ir.Value]
	// vector says that a range stands for the lanes of vectors.
	vector bool
	// tail shuts the lanes behind the end of a vector range: a Bool vector, nil if there are none.
	tail *ir.Value
	// cross is the loop along which vectors may be loaded that are turned, nil for none.
	cross *cross
}

func newEnv(outer *env) *env {
	e := &env{outer: outer}
	if outer != nil {
		e.tail, e.vector, e.cross = outer.tail, outer.vector, outer.cross
	}
	return e
}

func (e *env) val(u *uop.UOp) *ir.Value {
	for ; e != nil; e = e.outer {
		if v, ok := e.vals.get(u); ok {
			return v
		}
	}
	return nil
}

func (e *env) linear(u *uop.UOp) (linear, bool) {
	for ; e != nil; e = e.outer {
		if l, ok := e.linears.get(u); ok {
			return l, true
		}
	}
	return linear{}, false
}

func (e *env) reg(s slot) *ir.Value {
	for ; e != nil; e = e.outer {
		if v, ok := e.regs.get(s); ok {
			return v
		}
	}
	return nil
}

// own is what the environment itself holds in a register.
func (e *env) own(s slot) *ir.Value {
	v, _ := e.regs.get(s)
	return v
}
