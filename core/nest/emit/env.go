package emit

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// emitter evaluates the operations of a list on demand, for the ranges as the loops around bind them: a scalar
// list becomes vectors where a range stands for the lanes of one.
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
	linears assoc[*uop.UOp, linear] // of ranges what they are bound to
	regs    assoc[analysis.Slot, *ir.Value]
	scope
}

// scope is the part of an environment that those inside of it inherit.
type scope struct {
	// vector: a range is bound to the lanes of vectors.
	vector bool
	// tail shuts the lanes behind the end of a vector range: a Bool vector, nil if there are none.
	tail *ir.Value
	// prefix are the running reductions whose steps are the lanes of vectors, nil for none.
	prefix *prefix
	// rows is a band of which several rows run side by side, nil for none; row is the number of this one among them.
	rows *plan.Band
	row  int64
	// cross is the loop along which vectors may be loaded to be transposed in registers, nil for none.
	cross *cross
}

func newEnv(outer *env) *env {
	e := &env{outer: outer}
	if outer != nil {
		e.scope = outer.scope
	}
	return e
}

// inside are environments inside of others.
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

// own is the value of a register in this environment, without those around it.
func (e *env) own(s analysis.Slot) *ir.Value {
	v, _ := e.regs.get(s)
	return v
}
