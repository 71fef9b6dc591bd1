package wasm

import "polygrad/core/uop"

// A loop around reductions can do several of its iterations side by side: the
// inner loops then share what does not depend on the outer one. In a product of
// matrices, several columns share the elements of the first matrix. This turns
// the tile that lowering chose into one that fills the registers.

const (
	// jamScalars is how many results one pass of the inner loops may collect,
	// if they lie side by side: 8 registers of 32-bit values.
	jamScalars = 32
	// jamApart is the same for results that each need registers of their own.
	jamApart = 8
	// jamWeight limits the operations in one pass.
	jamWeight = 512
)

// jam is how many iterations of a loop to do side by side.
func (im *importer) jam(r *region) int64 {
	n := r.trip()
	if t := r.rng.RangeID().Type; t == uop.AxisReduceT || t == uop.AxisGroupReduce || len(im.copies) > 1 || n < 2 {
		return 1
	}
	results, weight := 0, r.weight
	shared, own, beside := false, false, false
	grows := growth{rng: r.rng, known: map[*uop.UOp]slope{}}
	for _, p := range r.parts {
		if p.sub == nil || p.sub.whole() {
			continue
		}
		if !p.sub.inner {
			return 1
		}
		seen := map[regSlot]bool{}
		im.storedRegs(p.sub, func(s regSlot, _ kind) { seen[s] = true })
		results = max(results, len(seen))
		weight = max(weight, p.sub.weight)
		p.sub.loads(func(u *uop.UOp) {
			s := grows.of(u.Src[0])
			shared = shared || !s.depends
			own = own || s.depends
			beside = beside || s.step == int64(u.DType.Count)
		})
	}
	if results == 0 || !shared || !own || im.updatesInPlace() {
		return 1
	}
	limit := jamApart
	if beside {
		limit = jamScalars
	}
	u := int64(1)
	for n%(2*u) == 0 && int(2*u)*results <= limit && int(2*u)*weight <= jamWeight && u < unrollLanes/2 {
		u *= 2
	}
	return u
}

// updatesInPlace reports whether the kernel reads memory that it writes.
func (im *importer) updatesInPlace() bool {
	for _, b := range im.bufs {
		if b.read && b.written {
			return true
		}
	}
	return false
}

// loads calls f for every load from memory in a region.
func (r *region) loads(f func(*uop.UOp)) {
	for _, p := range r.parts {
		switch {
		case p.sub != nil:
			p.sub.loads(f)
		case p.u.Op == uop.Load && p.u.Src[0].DType.Space != uop.Reg:
			f(p.u)
		}
	}
}

// growth tells how indices depend on a range.
type growth struct {
	rng   *uop.UOp
	known map[*uop.UOp]slope
}

// slope is by how much a value grows with the range, and whether it depends on it at all.
type slope struct {
	step    int64
	depends bool
}

func (g *growth) of(u *uop.UOp) slope {
	if u == g.rng {
		return slope{1, true}
	}
	if len(u.Src) == 0 || u.Op == uop.Range {
		return slope{}
	}
	s, ok := g.known[u]
	if !ok {
		s = g.find(u)
		g.known[u] = s
	}
	return s
}

func (g *growth) find(u *uop.UOp) slope {
	switch u.Op {
	case uop.Load:
		return slope{0, g.of(u.Src[0]).depends}
	case uop.Index:
		return g.of(u.Src[1])
	case uop.Cast, uop.After:
		return g.of(u.Src[0])
	case uop.Add:
		a, b := g.of(u.Src[0]), g.of(u.Src[1])
		return slope{a.step + b.step, a.depends || b.depends}
	case uop.Mul, uop.Shl:
		if k := u.Src[1]; k.Op == uop.ConstOp {
			s := g.of(u.Src[0])
			c, ok := k.ConstVal().Int64()
			switch {
			case !ok:
				return slope{0, s.depends}
			case u.Op == uop.Shl:
				c = 1 << (c & 63)
			}
			return slope{s.step * c, s.depends}
		}
	}
	for _, s := range u.Src {
		if g.of(s).depends {
			return slope{0, true}
		}
	}
	return slope{}
}
