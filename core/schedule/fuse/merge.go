package fuse

import (
	"slices"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// site is a place where one body reads what another one stores.
type site struct {
	load *uop.UOp // the INDEX
	from *store
	// at says for each loop of the store which range of the reader runs in its place.
	at map[*uop.UOp]*uop.UOp
}

// absorb computes what body p stores where body k, which is no product of matrices, reads it. The stores of p for which keep is true stay. It is nil if
// that cannot be done, or does not pay.
func (f *fuser) absorb(p, k *body, keep func(slot int) bool) *body {
	if p.contraction() && k.reduces() {
		return nil
	}
	p0, k0 := p, k
	p, k, sites := f.align(p, k)
	if sites == nil {
		return nil
	}
	m := rowsOf(p, k, sites)
	if m == nil {
		return nil
	}
	out := f.inline(p, k, sites, m, keep)
	if out == nil {
		return nil
	}
	// Only what is done to each element of a product may join it, and little of that: a whole optimizer in the tiles of
	// the product takes longer to compile and is no faster.
	if p.contraction() && (!sameSet(out.loops, within(out.loops, valuesOf(m))) || len(out.stores) > maxProductStores) {
		return nil
	}
	if out = f.share(out); !f.pays(out, valuesOf(m), p0.work()+k0.work()) {
		return nil
	}
	return out
}

// maxProductStores is the most outputs of a kernel with a product of matrices.
const maxProductStores = 2

func valuesOf(m map[*uop.UOp]*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, 0, len(m))
	for _, r := range m {
		out = append(out, r)
	}
	return out
}

// align splits loops of both bodies until every loop of p that is read through runs as one range of k.
func (f *fuser) align(p, k *body) (*body, *body, []site) {
	const rounds = 4
	for range rounds {
		sites, inP, inK := findSites(p, k)
		if len(inP) == 0 && len(inK) == 0 {
			return p, k, sites
		}
		if len(inP) > 0 {
			p = f.split(p, inP)
		}
		if len(inK) > 0 {
			k = f.split(k, inK)
		}
		if p == nil || k == nil {
			return nil, nil, nil
		}
	}
	return nil, nil, nil
}

// findSites lists the places where k reads what p stores. If there is no such place, or one that reads it otherwise than
// loop by loop, it is nil; cuts of loops may change that.
func findSites(p, k *body) (sites []site, inP, inK cuts) {
	inP, inK = cuts{}, cuts{}
	plain := true
	for _, load := range k.loads() {
		from := p.storeTo(slotOf(load))
		if from == nil {
			continue
		}
		if load.DType != from.value.DType || load.Src[1].Find((*uop.UOp).IsInvalid) != nil {
			return nil, nil, nil
		}
		own, ok := rowMajor(from.index())
		if !ok || len(own) != len(from.loops) || covers(own) != sizeOfBuffer(load) {
			return nil, nil, nil
		}
		s := site{load: load, from: from, at: map[*uop.UOp]*uop.UOp{}}
		positions := positionsIn(own, load.Src[1])
		for i, t := range own {
			at := positions[i]
			s.at[t.r] = at
			if at.Op == uop.Range {
				if sizeOf(at) != sizeOf(t.r) {
					return nil, nil, nil
				}
				continue
			}
			plain = false
			if parts, ok := rowMajor(at); ok && covers(parts) == sizeOf(t.r) {
				for _, part := range parts {
					inP.add(t.r, part.stride)
				}
			}
			inK.ofDivisions(at, k.loops)
		}
		sites = append(sites, s)
	}
	if !plain {
		sites = nil
	}
	return sites, inP, inK
}

func covers(ts []term) int64 {
	n := int64(1)
	for _, t := range ts {
		n *= sizeOf(t.r)
	}
	return n
}

func sizeOfBuffer(load *uop.UOp) int64 { return load.Src[0].DType.Size }

// rowsOf are the loops of p that can be loops of k: those in whose place one and the same loop of k runs wherever k
// reads from p. Every reduction of p must be inside such loops only, and there must be no other way to compute it less
// often. Nil if that is not so.
func rowsOf(p, k *body, sites []site) map[*uop.UOp]*uop.UOp {
	rows := map[*uop.UOp]*uop.UOp{}
	mixed := map[*uop.UOp]bool{}
	for _, s := range sites {
		taken := map[*uop.UOp]bool{}
		for r, at := range s.at {
			if taken[at] {
				return nil // a diagonal
			}
			taken[at] = true
			if old, ok := rows[r]; ok && old != at || !slices.Contains(k.loops, at) {
				mixed[r] = true
			}
			rows[r] = at
		}
	}
	for r := range mixed {
		delete(rows, r)
	}
	used := map[*uop.UOp]bool{}
	for r, at := range rows {
		if used[at] {
			return nil
		}
		used[at] = true
		_ = r
	}
	for _, u := range p.values() {
		if u.Op != uop.Reduce {
			continue
		}
		for _, r := range p.loopsOf(u) {
			if rows[r] == nil {
				return nil
			}
		}
	}
	return rows
}

// inline puts the values of p where k reads them, and the stores of p that stay before those of k.
func (f *fuser) inline(p, k *body, sites []site, rows map[*uop.UOp]*uop.UOp, keep func(slot int) bool) *body {
	out := &body{loops: slices.Clone(k.loops), merged: true}
	loads := map[*uop.UOp]*uop.UOp{}
	for _, s := range sites {
		loads[s.load] = replace(s.from.value, s.at)
	}
	for _, s := range p.stores {
		if !keep(s.slot) {
			continue
		}
		if k.storeTo(s.slot) != nil {
			return nil
		}
		m := f.loopsOfKept(&s, sites, rows, k)
		for _, r := range s.loops {
			if !slices.Contains(out.loops, m[r]) {
				out.loops = append(out.loops, m[r])
			}
		}
		out.stores = append(out.stores, s.with(m))
	}
	for _, s := range k.stores {
		out.stores = append(out.stores, store{s.slot, s.at, symbolic.Simplify(replace(s.value, loads)), s.loops})
	}
	return out
}

// loopsOfKept are the loops in which a store of p stays: those of k where it reads the value, if it does so in loops
// only, else any loops of k that run like them inside the rows, else loops of their own.
func (f *fuser) loopsOfKept(s *store, sites []site, rows map[*uop.UOp]*uop.UOp, k *body) map[*uop.UOp]*uop.UOp {
	for _, x := range sites {
		if x.from.slot == s.slot && !slices.ContainsFunc(s.loops, func(r *uop.UOp) bool { return !slices.Contains(k.loops, x.at[r]) }) {
			return x.at
		}
	}
	m := map[*uop.UOp]*uop.UOp{}
	taken := valuesOf(rows)
	for _, r := range s.loops {
		if m[r] = rows[r]; m[r] != nil {
			continue
		}
		i := slices.IndexFunc(k.loops, func(x *uop.UOp) bool { return sizeOf(x) == sizeOf(r) && !slices.Contains(taken, x) })
		if i >= 0 {
			m[r] = k.loops[i]
		} else {
			m[r] = f.newRange(r)
		}
		taken = append(taken, m[r])
	}
	return m
}
