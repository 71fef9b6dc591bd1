package emit

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// emitter evaluates the operations of a list on demand, with ranges bound by the enclosing loops. Operations become vectors where a range
// is bound to lanes.
type emitter struct {
	*ir.Builder
	*analysis.Facts
	planned *plan.Kernel
	env     *env
	// at is the current band.
	at *openBand
}

// env binds ranges and registers to values for one iteration of the enclosing loops; each unrolled copy has its own.
type env struct {
	outer   *env
	vals    assoc[*uop.UOp, *ir.Value]
	linears assoc[*uop.UOp, linear] // bindings of ranges, and cached indices
	regs    assoc[analysis.Slot, *ir.Value]
	scope
}

// scope is the part of an environment that inner ones inherit.
type scope struct {
	// vector: a range is bound to lanes.
	vector bool
	// tail masks off the lanes beyond the end of a vectorized range: a Bool vector, nil for full vectors.
	tail *ir.Value
	// prefix are the running reductions whose steps are the lanes of vectors, nil for none.
	prefix *prefix
	// rows is a band with interleaved rows, nil for none; row is the index of this row among them.
	rows *plan.Band
	row  int64
	// transpose is the loop along which vectors may be loaded to be transposed in registers, nil for none.
	transpose *transposeLoop
}

func newEnv(outer *env) *env {
	e := &env{outer: outer}
	if outer != nil {
		e.scope = outer.scope
	}
	return e
}

// inside makes an inner environment for each one.
func inside(outer []*env) []*env {
	out := make([]*env, len(outer))
	for i, e := range outer {
		out[i] = newEnv(e)
	}
	return out
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

func (e *env) reg(s analysis.Slot) *ir.Value {
	for ; e != nil; e = e.outer {
		if v, ok := e.regs.get(s); ok {
			return v
		}
	}
	return nil
}

// own is the value of a register in this environment, not in outer ones.
func (e *env) own(s analysis.Slot) *ir.Value {
	v, _ := e.regs.get(s)
	return v
}
