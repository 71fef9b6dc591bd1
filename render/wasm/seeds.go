package wasm

import (
	"cmp"
	"slices"
)

// seed is a run of stores to neighbouring elements, one vector long.
type seed []*store

// seedsOf finds the stores of a block that can become vector stores.
func (p *packer) seedsOf(b *block) []seed {
	var out []seed
	start := 0
	for i := 0; i <= len(b.items); i++ {
		if i == len(b.items) || b.items[i].loop != nil {
			out = append(out, p.seedsIn(b.items[start:i])...)
			start = i + 1
		}
	}
	return out
}

// seedsIn finds seeds in a straight piece of a block.
func (p *packer) seedsIn(items []item) []seed {
	type runKey struct {
		g    *group
		gate *value
	}
	runs := map[runKey][]*store{}
	var order []runKey
	for _, it := range items {
		if it.store == nil {
			continue
		}
		k := runKey{it.store.at.group, it.store.gate}
		if runs[k] == nil {
			order = append(order, k)
		}
		runs[k] = append(runs[k], it.store)
	}
	var out []seed
	for _, k := range order {
		stores := runs[k]
		slices.SortStableFunc(stores, func(a, b *store) int { return cmp.Compare(a.at.off, b.at.off) })
		n := lanesOf(k.g.buf.kind)
		for i := 0; i+n <= len(stores); {
			s := seed(stores[i : i+n])
			if s.consecutive() && s.free(items) {
				out = append(out, s)
				i += n
			} else {
				i++
			}
		}
	}
	return out
}

func (s seed) consecutive() bool {
	for i, st := range s {
		if st.at.off != s[0].at.off+int64(i) {
			return false
		}
	}
	return true
}

// last is the position that the vector store takes.
func (s seed) last() int {
	pos := 0
	for _, st := range s {
		pos = max(pos, st.pos)
	}
	return pos
}

// free reports whether all stores can move to the place of the last: nothing in
// between reads or writes what they write.
func (s seed) free(items []item) bool {
	last := s.last()
	for _, st := range s {
		for _, it := range items {
			switch {
			case it.store != nil && it.store != st && it.store.pos > st.pos && it.store.pos <= last && it.store.at.meets(1, st.at, 1),
				it.load != nil && it.load.at.pos > st.pos && it.load.at.pos <= last && it.load.at.meets(1, st.at, 1):
				return false
			}
		}
	}
	return true
}

func (s seed) values() []*value {
	out := make([]*value, len(s))
	for i, st := range s {
		out[i] = st.val
	}
	return out
}

// packStores replaces seeds by vector stores where that costs less.
func (p *packer) packStores() {
	for _, b := range p.blocks() {
		for _, s := range p.seedsOf(b) {
			v := p.pack(s.values())
			if v.op == opGather || p.costOf(b.depth, v)+1 >= p.costOf(b.depth, s.values()...)+len(s) {
				continue
			}
			vec := &store{at: s[0].at, val: v, gate: s[0].gate, pos: s.last()}
			b.items = slices.DeleteFunc(b.items, func(it item) bool {
				return it.store != nil && it.store.pos != vec.pos && slices.Contains(s, it.store)
			})
			for i, it := range b.items {
				if it.store != nil && slices.Contains(s, it.store) {
					b.items[i].store = vec
				}
			}
		}
	}
}
