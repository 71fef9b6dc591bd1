// Package emit builds the loop nest of a kernel by its plan. It evaluates the linear list on demand and makes no decisions about the
// layout.
package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// Kernel emits a planned kernel.
func Kernel(name string, p *plan.Kernel) (k *ir.Kernel, err error) {
	defer ir.Recover(&err)
	im := &emitter{Builder: ir.NewBuilder(name, p.Lanes), Facts: p.Facts, planned: p, env: newEnv(nil)}
	im.Builder.Machine = p.Machine
	im.Shared, im.Group, im.Subgroups = p.Memory.Shared, p.Group, p.Subgroups
	im.Params, im.Vars = slices.Clone(p.Arguments), p.Variables
	im.Scratch, im.Items, im.Setup = p.Memory.Bytes, p.Items, p.Setup
	im.Flops, im.Bytes = p.Work()
	im.Choice = string(p.Layout.Chosen())
	im.body(p.Tree, []*env{im.env})
	return im.Kernel, nil
}

// body emits the parts of a region in order, for unrolled copies of one iteration.
func (im *emitter) body(r *analysis.Region, copies []*env) {
	im.prefetchNextTile(r, copies[0])
	for _, p := range r.Parts {
		if p.Sub != nil {
			if !im.planned.Online.Skips(p.Sub) {
				im.loops(p.Sub, copies)
			}
			continue
		}
		if p.U.Op == uop.Store && (im.transposedStores(p.U, copies) || im.interleavedStores(p.U, copies)) {
			continue
		}
		for _, e := range copies {
			im.env = e
			im.effect(p.U)
		}
	}
	im.prefetchBuckets(r, copies)
}

// effect emits ordered operations: stores, and loads of memory that the kernel writes.
func (im *emitter) effect(u *uop.UOp) {
	switch u.Op {
	case uop.Store:
		im.store(u)
	case uop.Load:
		if reg := u.Src[0].DType.Space == uop.Reg && analysis.ConstIndex(u.Src[0]); reg || im.MayChange(im.Buffers[analysis.Definition(u.Src[0])]) {
			im.env.vals.set(u, im.compute(u))
		}
	}
}

// loops emits the loop of a region with its inner loops.
func (im *emitter) loops(r *analysis.Region, copies []*env) {
	for _, b := range im.beginReadOnly(r) {
		defer im.EndReadOnly(b)
	}
	p := im.planned.BandOf[r]
	switch {
	case !r.Writes:
		im.reduce(r, copies)
	case p != nil && r.InOrder() && p.Axes[0].Vector:
		im.prefixes(p.Axes[0], copies)
	case r.InOrder() && im.at != nil && im.at.LanesAreRows && copies[0].vector && copies[0].tail == nil:
		im.transposedRows(r, copies)
	case p == nil || r.InOrder():
		im.sequential(r, copies)
	default:
		im.band(p, copies)
	}
}

// beginReadOnly begins read-only intervals for the buffers that the loop does not write, and returns those that had none yet.
func (im *emitter) beginReadOnly(r *analysis.Region) []*ir.Buffer {
	var out []*ir.Buffer
	for _, b := range im.Changing {
		if im.MayChange(b) && !im.WritesTo(r, b) {
			im.BeginReadOnly(b)
			out = append(out, b)
		}
	}
	return out
}

// sequential emits a loop unchanged, one iteration at a time.
func (im *emitter) sequential(r *analysis.Region, copies []*env) {
	im.env = copies[0]
	if c := r.Condition(); c != nil {
		im.sequentialIterations(r, copies, linear{}, im.intCast(ir.I64, im.anyLane(c, copies)))
		return
	}
	from, count := linear{}, im.count(r)
	if s := im.span(r); s.n >= 0 {
		from, count = s.from, im.Int(ir.I64, s.n)
	}
	if p := im.planned.BandOf[r]; p != nil && p.Axes[0].Unroll > 0 {
		im.unrolledInOrder(r, copies, p.Axes[0].Unroll)
		return
	}
	im.sequentialIterations(r, copies, from, count)
}

// unrolledInOrder emits a loop that carries no values, factor iterations at a time, then the rest one by one.
func (im *emitter) unrolledInOrder(r *analysis.Region, copies []*env, factor int64) {
	rest := r.Trip() % factor
	im.Builder.Loop(r.Label()+" unrolled", im.Int(ir.I64, r.Trip()/factor), func(l *ir.Loop) {
		for i := range factor {
			im.body(r, iteration(r, copies, linear{terms: []ir.Term{{V: l.Iter, Coef: factor}}, off: i}))
		}
	})
	if rest > 0 {
		im.sequentialIterations(r, copies, linear{off: r.Trip() - rest}, im.Int(ir.I64, rest))
	}
}

// iteration is the environment of each copy in an iteration of a loop.
func iteration(r *analysis.Region, copies []*env, at linear) []*env {
	inner := make([]*env, len(copies))
	for j, e := range copies {
		inner[j] = newEnv(e)
		inner[j].linears.set(r.Rng, at)
	}
	return inner
}

// anyLane reports whether a condition holds in any lane.
func (im *emitter) anyLane(c *uop.UOp, copies []*env) (any *ir.Value) {
	outer := im.env
	for _, e := range copies {
		im.env = e
		v := im.eval(c)
		if v.Lanes > 1 {
			v = im.New(ir.AnyLane, ir.Bool, 1, 0, v)
		}
		if any == nil {
			any = v
		} else {
			any = im.ALU(ir.Or, ir.Bool, any, v)
		}
	}
	im.env = outer
	return any
}

// sequentialIterations emits count iterations of a loop, from a given one on, one at a time.
func (im *emitter) sequentialIterations(r *analysis.Region, copies []*env, from linear, count *ir.Value) {
	im.Builder.Loop(r.Label(), count, func(l *ir.Loop) {
		im.carried(l, r, copies, func(inner []*env) {
			for _, e := range inner {
				e.linears.set(r.Rng, im.addLinear(from, linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, 1))
			}
			im.body(r, inner)
		})
	})
}

// unrollFully emits all iterations of a loop without a loop.
func (im *emitter) unrollFully(r *analysis.Region, copies []*env) {
	all := im.span(r)
	for i := range all.n {
		inner := iteration(r, copies, im.addLinear(all.from, linear{off: i}, 1))
		im.body(r, inner)
		for j, e := range copies {
			for _, s := range r.Written(nil) {
				e.regs.set(s, inner[j].own(s))
			}
		}
	}
}

// count is the trip count of a loop, as a value.
func (im *emitter) count(r *analysis.Region) *ir.Value {
	if n := r.Trip(); n >= 0 {
		return im.Int(ir.I64, n)
	}
	return im.intCast(ir.I64, im.eval(r.Rng.Src[0]))
}

// carried makes phis of the registers that a loop writes, and binds the registers to their final values after it.
func (im *emitter) carried(l *ir.Loop, r *analysis.Region, copies []*env, body func(inner []*env)) {
	slots := r.Written(nil)
	inner := make([]*env, len(copies))
	phis := make([]*ir.PhiVar, 0, len(copies)*len(slots))
	for i, e := range copies {
		inner[i] = newEnv(e)
		for _, s := range slots {
			init := im.register(e, s)
			if e.vector {
				init = im.Splat(init)
			}
			p := im.Phi(l, init)
			inner[i].regs.set(s, p.V)
			phis = append(phis, p)
		}
	}
	body(inner)
	for i, e := range copies {
		for j, s := range slots {
			p := phis[i*len(slots)+j]
			p.Next = im.sameLanes(p, inner[i].own(s))
			e.regs.set(s, im.Final(p))
		}
	}
}

// sameLanes broadcasts the next value of a phi if the phi is a vector.
func (im *emitter) sameLanes(p *ir.PhiVar, v *ir.Value) *ir.Value {
	if v.Lanes < p.V.Lanes {
		return im.Splat(v)
	}
	if v.Lanes > p.V.Lanes {
		ir.Fail("a variable of a loop becomes a vector in it")
	}
	return v
}

// register is the initial value of a register: 0 if nothing was stored to it.
func (im *emitter) register(e *env, s analysis.Slot) *ir.Value {
	if v := e.reg(s); v != nil {
		return v
	}
	return im.Constant(analysis.KindFor(s.Reg.DType.Base()), 0)
}
