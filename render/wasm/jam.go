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
			c, depends := coefficient(u.Src[0], r.rng)
			shared = shared || !depends
			own = own || depends
			beside = beside || c == int64(u.DType.Count)
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

// coefficient is by how much an index grows with a range, and whether it
// depends on the range at all.
func coefficient(u, rng *uop.UOp) (c int64, depends bool) {
	switch {
	case u == rng:
		return 1, true
	case len(u.Src) == 0 || u.Op == uop.Range:
		return 0, false
	case u.Op == uop.Load:
		_, depends = coefficient(u.Src[0], rng)
		return 0, depends
	}
	switch u.Op {
	case uop.Index:
		return coefficient(u.Src[1], rng)
	case uop.Cast, uop.After:
		return coefficient(u.Src[0], rng)
	case uop.Add:
		a, da := coefficient(u.Src[0], rng)
		b, db := coefficient(u.Src[1], rng)
		return a + b, da || db
	case uop.Mul, uop.Shl:
		if k := u.Src[1]; k.Op == uop.ConstOp {
			a, da := coefficient(u.Src[0], rng)
			if u.Op == uop.Shl {
				return a << k.ConstVal().I(), da
			}
			return a * k.ConstVal().I(), da
		}
	}
	for _, s := range u.Src {
		if _, d := coefficient(s, rng); d {
			return 0, true
		}
	}
	return 0, false
}
