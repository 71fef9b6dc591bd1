package fuse

import (
	"slices"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// edge is a load of a consumer that reads a store of its producer.
type edge struct {
	load *uop.UOp // the INDEX
	from *store
	// at maps each loop of the store to the range of the reader that replaces it.
	at map[*uop.UOp]*uop.UOp
}

// fuseProducers merges producers other than contractions with their consumers.
func (f *fuser) fuseProducers() bool { return f.fuseConsumers(false) }

// fuseEpilogues merges contractions with their epilogues: elementwise operations on the result.
func (f *fuser) fuseEpilogues() bool { return f.fuseConsumers(true) }

// fuseConsumers merges producers, contractions or all others, with their consumers.
func (f *fuser) fuseConsumers(contractions bool) (changed bool) {
	for j := 0; j < len(f.groups); j++ {
		for i := j - 1; i >= 0; i-- {
			p, k := f.groups[i], f.groups[j]
			if !overlap(p.writes, k.reads) || p.body != nil && p.body.contraction() != contractions {
				continue
			}
			before, after, ok := f.between(i, j)
			c := candidate{reason: OrderBetween}
			switch {
			case p.body == nil || k.body == nil:
				c.reason = Opaque
			case k.body.contraction() && !p.body.scatters():
				c.reason = ConsumerContracts
			case p.body.reduces() && k.body.scatters():
				c.reason = ConsumerScatters
			case ok:
				c = f.intoConsumer(p.body, k.body, func(slot int) bool { return f.needed(slot, i, j) })
			}
			f.observe(p, k, c.reason, c.costs)
			if c.reason == Pays {
				j = f.merge(i, j, before, after, c.body)
				i, changed = j, true
			}
		}
	}
	return changed
}

// candidate is the merged body of two bodies and the decision; body is nil if they cannot be merged.
type candidate struct {
	body   *body
	reason Reason
	costs  Costs
}

// intoConsumer inlines the values of body p at their loads in body k. Stores of p are kept if keep says so.
func (f *fuser) intoConsumer(p, k *body, keep func(slot int) bool) candidate {
	if p.contraction() && k.reduces() && !p.scatters() {
		return candidate{reason: ContractionReduced}
	}
	if len(p.values())+len(k.values()) > maxValues {
		return candidate{reason: TooLarge}
	}
	before := []*body{p, k}
	p, k, edges := f.align(p, k)
	switch {
	case edges == nil:
		return candidate{reason: ReadsOtherOrder}
	case p.contraction() && k.pieces: // its stores are side by side along the lanes of other tiles
		return candidate{reason: EpilogueLoops}
	}
	rows := commonLoops(p, k, edges)
	if rows == nil {
		return candidate{reason: ReductionRepeated}
	}
	out := f.inline(p, k, edges, rows, keep)
	if out == nil {
		return candidate{reason: StoresTwice}
	}
	// Only an elementwise epilogue may join a contraction.
	if p.contraction() && !sameSet(out.loops, within(out.loops, valuesOf(rows))) {
		return candidate{reason: EpilogueLoops}
	}
	out = f.shareReductionLoops(out)
	if p.scatters() && !out.scatters() {
		return candidate{reason: ProducerScatters}
	}
	return f.evaluate(out, valuesOf(rows), before, p.contraction())
}

// maxValues limits the operations of a merged body: each merge visits all of them several times, so compile time would be superlinear in the
// length of chains of kernels.
const maxValues = 800

// maxEpilogueStores limits the outputs of a kernel with a contraction: a whole optimizer in its epilogue compiles longer and is not faster.
const maxEpilogueStores = 2

func valuesOf(m map[*uop.UOp]*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, 0, len(m))
	for _, r := range m {
		out = append(out, r)
	}
	return out
}

// align splits loops of both bodies until each loop of a store of p that k reads is one range of k.
func (f *fuser) align(p, k *body) (*body, *body, []edge) {
	const rounds = 4
	for range rounds {
		edges, inP, inK := findEdges(p, k)
		if len(inP) == 0 && len(inK) == 0 {
			return p, k, edges
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

// findEdges lists the edges from p to k. It is nil if there is none, or if a load does not map each loop of the store to one range;
// splitting loops may change that.
func findEdges(p, k *body) (edges []edge, inP, inK loopSplits) {
	inP, inK = loopSplits{}, loopSplits{}
	plain := true
	for _, load := range k.loads() {
		from := p.storeTo(slotOf(load))
		if from == nil {
			continue
		}
		if load.DType != from.value.DType || load.Src[1].Find((*uop.UOp).IsInvalid) != nil {
			return nil, nil, nil
		}
		if slices.ContainsFunc(from.loops, variable) {
			at := sameUpToRanges(from.index(), load.Src[1])
			if p.pieces || p.scatters() || len(at) != len(from.loops) || volume(from.loops) != sizeOfBuffer(load) {
				return nil, nil, nil
			}
			edges = append(edges, edge{load: load, from: from, at: at})
			continue
		}
		own, ok := rowMajor(from.index())
		if !ok || len(own) != len(from.loops) || extentOf(own) != sizeOfBuffer(load) {
			return nil, nil, nil
		}
		s := edge{load: load, from: from, at: map[*uop.UOp]*uop.UOp{}}
		positions := positionsIn(own, load.Src[1])
		for i, t := range own {
			at := positions[i]
			s.at[t.r] = at
			if at.Op == uop.Range {
				if variable(at) || sizeOf(at) != sizeOf(t.r) {
					return nil, nil, nil
				}
				continue
			}
			plain = false
			if parts, ok := rowMajor(at); ok && extentOf(parts) == sizeOf(t.r) {
				for _, part := range parts {
					inP.add(t.r, part.stride)
				}
			}
			inK.ofDivisions(at, k.loops)
		}
		edges = append(edges, s)
	}
	if !plain {
		edges = nil
	}
	return edges, inP, inK
}

// sameUpToRanges maps the ranges of an expression to those of another one that is the same expression of them, sizes that are variables included;
// nil if it is not.
func sameUpToRanges(a, b *uop.UOp) map[*uop.UOp]*uop.UOp {
	at, taken := map[*uop.UOp]*uop.UOp{}, map[*uop.UOp]bool{}
	visited := map[*uop.UOp]*uop.UOp{} // functions share operands: without it the walk is exponential in their depth
	var same func(a, b *uop.UOp) bool
	same = func(a, b *uop.UOp) bool {
		switch {
		case visited[a] == b:
			return true
		case a.Op == uop.Range && b.Op == uop.Range:
			if old := at[a]; old != nil || taken[b] {
				return old == b
			}
			at[a], taken[b] = b, true
			return a.Src[0] == b.Src[0]
		case a == b && len(a.Src) == 0:
			return true
		case a.Op != b.Op || a.DType != b.DType || !uop.ArgEqual(a.Arg, b.Arg) || len(a.Src) != len(b.Src):
			return false
		}
		for i, s := range a.Src {
			if !same(s, b.Src[i]) {
				return false
			}
		}
		visited[a] = b
		return true
	}
	if !same(a, b) {
		return nil
	}
	return at
}

func extentOf(ts []term) int64 {
	n := int64(1)
	for _, t := range ts {
		n *= sizeOf(t.r)
	}
	return n
}

func sizeOfBuffer(load *uop.UOp) int64 { return load.Src[0].DType.Size }

// commonLoops maps loops of producer p to those of consumer k that run in their place at every edge. A reduction of p may
// depend on such loops only, else it would be recomputed: then the result is nil.
func commonLoops(p, k *body, edges []edge) map[*uop.UOp]*uop.UOp {
	rows := map[*uop.UOp]*uop.UOp{}
	mixed := map[*uop.UOp]bool{}
	for _, s := range edges {
		taken := map[*uop.UOp]bool{}
		for r, at := range s.at {
			if taken[at] {
				return nil // two loops map to one range (a diagonal)
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
	for _, at := range rows {
		if used[at] {
			return nil
		}
		used[at] = true
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

// inline substitutes the values of p for the loads of k, and puts the remaining stores of p before those of k.
func (f *fuser) inline(p, k *body, edges []edge, rows map[*uop.UOp]*uop.UOp, keep func(slot int) bool) *body {
	out := &body{loops: slices.Clone(k.loops), pieces: p.pieces || k.pieces}
	loads := map[*uop.UOp]*uop.UOp{}
	for _, s := range edges {
		loads[s.load] = replace(s.from.value, s.at)
	}
	for _, s := range p.stores {
		if !keep(s.slot) {
			continue
		}
		if k.storeTo(s.slot) != nil {
			return nil
		}
		m := f.loopsOfStore(&s, edges, rows, k)
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

// loopsOfStore maps the loops of a store of p that is kept to loops of the merged body: those in which k reads the value, if all of them are
// loops of k; else the common rows and, inside of them, other loops of k with the same trip counts, or new loops if k has none.
func (f *fuser) loopsOfStore(s *store, edges []edge, rows map[*uop.UOp]*uop.UOp, k *body) map[*uop.UOp]*uop.UOp {
	for _, x := range edges {
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
