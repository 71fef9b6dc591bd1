package fuse

import (
	"slices"

	"polygrad/core/uop"
)

// A matrix that only an operation on its rows reads, such as the scores that only a softmax reads, is computed in the kernel of that operation,
// one block of rows at a time, and stays in the cache:
//
//	for block of rows { scores; softmax of each row, stored }
//
// A partial block goes through memory: it would need masks.

// blocksInCache finds the products of a band whose readers compute them, and runs each reader just after its product.
func (f *fuser) blocksInCache(d *band) {
	for j := range d.views {
		v := d.views[j]
		if !v.ok || v.axis != 0 || v.body.contraction() || f.groups[j].body.iterations() <= f.o.SmallWork {
			continue
		}
		for _, l := range v.body.loads() {
			if d.matrices[slotOf(l)] == nil {
				continue
			}
			if i := f.producerInBand(d, slotOf(l), j); i >= 0 {
				if before, after, ok := f.between(i, j); ok {
					v.product, d.views[i].reader = d.views[i], v
					f.runJustAfter(d, i, j, before, after)
				}
				break
			}
		}
	}
}

// runJustAfter schedules group j just after group i.
func (f *fuser) runJustAfter(d *band, i, j int, before, after []*group) {
	views := map[*group]*bandView{}
	for n, g := range f.groups {
		views[g] = d.views[n]
	}
	f.replace(i, j+1, slices.Concat(before, []*group{f.groups[i], f.groups[j]}, after))
	for n, g := range f.groups {
		d.views[n] = views[g]
	}
}

// producerInBand returns the group whose product j reads a block of rows at a time, -1 if there is none, it has other readers, or
// the block does not fit the cache.
func (f *fuser) producerInBand(d *band, slot, j int) int {
	m, v := d.matrices[slot], d.views[j]
	if !m.skipped || bandBlock*sizeOf(d.position[1])*int64(f.slots[slot].DType.Itemsize()) > f.o.BlockBytes {
		return -1
	}
	i := slices.IndexFunc(f.groups, func(g *group) bool { return g.writes.has(slot) })
	if i < 0 || i >= j || f.needed(slot, i, j) {
		return -1
	}
	p := d.views[i]
	if !p.ok || p.axis != 0 || !p.body.contraction() || len(p.body.stores) != 1 || f.groups[i].body.iterations() <= f.o.SmallWork {
		return -1
	}
	rows, outer := len(m.loops)-2, []*uop.UOp(nil)
	for _, l := range v.body.loads() {
		if slotOf(l) != slot {
			continue
		}
		at := positionsIn(m.loops, l.Src[1])
		if at[rows] != v.blocked || !slices.Contains(v.inner, at[rows+1]) || outer != nil && !slices.Equal(outer, at[:rows]) {
			return -1
		}
		outer = at[:rows]
	}
	if len(within(v.body.loops, outer)) != rows {
		return -1
	}
	return i
}

// computeBlock makes a body compute a block of rows of the product that it reads, in scratch memory, and records in of the loads from there.
// The columns are those of the span, in blocks, so that the sizes of the tiles are constants.
func (f *fuser) computeBlock(d *band, v *bandView, s span, loops []*uop.UOp, ranges map[*uop.UOp][]*uop.UOp, of *substitution) {
	p := v.product
	made := &p.body.stores[0]
	m := d.matrices[made.slot]
	n := len(m.loops)
	loop := func(like, size *uop.UOp) *uop.UOp {
		r := f.newRange(like.With(size))
		return r.WithArg(uop.RangeArg{ID: r.RangeID().ID, Type: uop.AxisLoop})
	}
	row, columns := loops[1], m.loops[n-1].r
	r, block := loop(row, row.Src[0]), loop(columns, simplify(s.end.Sub(s.first)))
	inner := loop(columns, columns.Src[0].IntLike(bandBlock))
	to := map[*uop.UOp]*uop.UOp{
		m.loops[n-2].r: replace(of.get(v.blocked), map[*uop.UOp]*uop.UOp{row: r}),
		columns:        simplify(s.first.Add(block).MulInt(bandBlock).Add(inner)),
	}
	var memory *uop.UOp
	for _, l := range v.body.loads() {
		if slotOf(l) != made.slot {
			continue
		}
		at := positionsIn(m.loops, l.Src[1])
		if memory == nil {
			for i, t := range m.loops[:n-2] {
				to[t.r] = at[i]
			}
			for _, u := range made.value.Toposort() {
				if u.Op == uop.Range && to[u] == nil {
					to[u] = f.newRange(u)
				}
			}
			memory = l.Graph().New(uop.Bufferize, l.DType, []*uop.UOp{simplify(replace(made.value, to)), r, block, inner}, uop.BufferizeOpts{Space: uop.Local}, nil)
		}
		x := ranges[at[n-1]][0]
		of.set(l, memory.IndexBy(row, x.IdivInt(bandBlock), x.ModInt(bandBlock)))
	}
}
