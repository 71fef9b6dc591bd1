package nest

import (
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// body makes what a region contains, in its order, for copies of an iteration that stand side by side.
func (im *importer) body(r *region, copies []*env) {
	for _, p := range r.parts {
		if p.sub != nil {
			im.loops(p.sub, copies)
			continue
		}
		if p.u.Op == uop.Store && im.turnedStores(p.u, copies) {
			continue
		}
		for _, e := range copies {
			im.env = e
			im.effect(p.u)
		}
	}
}

// effect does what must happen where it stands: stores, and loads of what may change.
func (im *importer) effect(u *uop.UOp) {
	switch u.Op {
	case uop.Store:
		im.store(u)
	case uop.Load:
		if reg := u.Src[0].DType.Space == uop.Reg && constIndex(u.Src[0]); reg || im.Changes(im.bufs[definition(u.Src[0])]) {
			im.env.vals.set(u, im.compute(u))
		}
	}
}

// loops makes a loop of a region and those inside.
func (im *importer) loops(r *region, copies []*env) {
	for _, b := range im.keepStill(r) {
		defer im.EndReadOnly(b)
	}
	switch {
	case !r.writes:
		im.reduce(r, copies)
	case len(copies) > 1:
		im.sequential(r, copies)
	default:
		im.band(r, copies[0])
	}
}

// keepStill notes that a loop does not write to buffers of which that is not known yet, and returns them.
func (im *importer) keepStill(r *region) []*ir.Buffer {
	var out []*ir.Buffer
	for _, b := range im.changing {
		if im.Changes(b) && !im.writesTo(r, b) {
			im.BeginReadOnly(b)
			out = append(out, b)
		}
	}
	return out
}

// writesTo reports whether a loop writes to a buffer.
func (im *importer) writesTo(r *region, b *ir.Buffer) bool {
	return slices.ContainsFunc(r.parts, func(p part) bool {
		if p.sub != nil {
			return im.writesTo(p.sub, b)
		}
		return p.u.Op == uop.Store && im.bufs[definition(p.u.Src[0])] == b
	})
}

// sequential makes a loop as it stands.
func (im *importer) sequential(r *region, copies []*env) {
	im.env = copies[0]
	from, count := linear{}, im.count(r)
	if s := im.span(r); s.n >= 0 {
		from, count = s.from, im.Int(ir.I64, s.n)
	}
	im.Builder.Loop(r.label(), count, func(l *ir.Loop) {
		im.carried(l, r, copies, func(inner []*env) {
			for _, e := range inner {
				e.linears.set(r.rng, im.addLinear(from, linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}, 1))
			}
			im.body(r, inner)
		})
	})
}

func (r *region) label() string { return r.rng.Arg.String() }

// count is the number of iterations of a loop, as a value.
func (im *importer) count(r *region) *ir.Value {
	if n := r.trip(); n >= 0 {
		return im.Int(ir.I64, n)
	}
	return im.intCast(ir.I64, im.eval(r.rng.Src[0]))
}

// carried makes the registers that a loop writes variables of it, and afterwards their values after the loop.
func (im *importer) carried(l *ir.Loop, r *region, copies []*env, body func(inner []*env)) {
	slots := r.written(nil)
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

// sameLanes is the next value of a variable with as many lanes as it has.
func (im *importer) sameLanes(p *ir.PhiVar, v *ir.Value) *ir.Value {
	if v.Lanes < p.V.Lanes {
		return im.Splat(v)
	}
	if v.Lanes > p.V.Lanes {
		ir.Fail("a variable of a loop becomes a vector in it")
	}
	return v
}

// register is what a register holds at first: 0 if nothing was stored to it.
func (im *importer) register(e *env, s slot) *ir.Value {
	if v := e.reg(s); v != nil {
		return v
	}
	return im.Constant(kindFor(s.reg.DType.Base()), 0)
}

// written are the registers that a region stores to.
func (r *region) written(out []slot) []slot {
	for _, p := range r.parts {
		switch {
		case p.sub != nil:
			out = p.sub.written(out)
		case p.u.Op == uop.Store && p.u.Src[0].DType.Space == uop.Reg && constIndex(p.u.Src[0]):
			if s := slotOf(p.u.Src[0]); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}
