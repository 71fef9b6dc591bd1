package fuse

import (
	"cmp"
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// blocks makes one kernel of three that work on the rows of a matrix that does not fit into the cache: a product that
// makes it, what is done to its rows, and a product that uses it up. That is attention, whose scores then stay in the
// cache:
//
//	for block of rows { scores; softmax of each row; its product with the values }
func (f *fuser) blocks() {
	for j := 0; j < len(f.items); j++ {
		items, slots := f.items, f.s.Slots
		if at := f.takeRows(j); at >= 0 {
			j = at
		} else {
			f.items, f.s.Slots = items, slots
		}
	}
}

// takeRows makes the rows that kernel j uses, and what they are made of, part of it. It returns its new place, -1 if that
// cannot be or is not worth it.
func (f *fuser) takeRows(j int) int {
	if k := f.items[j].body; k == nil || !k.contraction() {
		return -1
	}
	i := f.onlyProducer(j, false)
	if i < 0 {
		if i = f.separateRows(j); i < 0 {
			return -1
		}
		j = i + 1
	}
	if f.onlyProducer(i, true) < 0 {
		return -1
	}
	var outer []*uop.UOp
	j = f.takeIn(i, j, func(p, k *body) *body {
		p, k, outer = f.blocksOfRows(p, k)
		return f.inBlocks(p, k, outer)
	})
	if j < 0 {
		return -1
	}
	h := f.onlyProducer(j, true)
	if h < 0 {
		return -1
	}
	return f.takeIn(h, j, func(p, k *body) *body {
		if k = f.inBlocks(p, k, outer); k == nil {
			return nil
		}
		return f.withoutMasked(k, outer[len(outer)-1])
	})
}

// separateRows makes a kernel of what kernel j does to the rows of a product before it multiplies them, together with the
// kernels that this needs. It returns its place, just before kernel j, or -1.
func (f *fuser) separateRows(j int) int {
	p, k := f.rowFactor(f.items[j].body, func(slot int) bool {
		return slices.ContainsFunc(f.items[:j], func(it *item) bool { return it.body != nil && it.body.contraction() && it.writes.has(slot) })
	})
	if p == nil {
		return -1
	}
	rows, rest := &item{body: p}, &item{body: k}
	rows.note()
	rest.note()
	f.items = slices.Concat(f.items[:j], []*item{rows, rest}, f.items[j+1:])
	for i := j - 1; i >= 0; i-- {
		p, k := f.items[i], f.items[j]
		if p.body == nil || p.body.contraction() || !overlap(p.writes, k.reads) {
			continue
		}
		at := f.takeIn(i, j, func(p, k *body) *body {
			return f.absorb(p, k, func(slot int) bool { return f.needed(slot, i, j) })
		})
		if at < 0 {
			return -1
		}
		i, j = at, at
	}
	return j
}

// rowFactor divides a product of matrices in which one factor of what is added up is computed from the result of another
// product: p stores that factor to memory of its own, from where k takes it. They are nil if there is no such factor.
func (f *fuser) rowFactor(b *body, made func(slot int) bool) (p, k *body) {
	for _, red := range b.values() {
		if red.Op != uop.Reduce {
			continue
		}
		factors := flattened(red.Src[0], uop.Mul, nil)
		for _, u := range factors {
			for _, load := range loadsIn(u) {
				if u != load && made(slotOf(load)) {
					return f.cutOff(b, red, factors, u, load)
				}
			}
		}
	}
	return nil, nil
}

// cutOff makes a store of the factors of a sum that depend on no other ranges than one of them does, which go through
// memory like a load.
func (f *fuser) cutOff(b *body, red *uop.UOp, factors []*uop.UOp, like, load *uop.UOp) (p, k *body) {
	ranges := slices.Clone(like.Ranges())
	var own, others []*uop.UOp
	for _, u := range factors {
		if len(within(u.Ranges(), ranges)) == len(u.Ranges()) {
			own = append(own, u)
		} else {
			others = append(others, u)
		}
	}
	index := load.Src[1]
	if len(others) == 0 || slices.ContainsFunc(ranges, func(r *uop.UOp) bool { return strideIn(index, r) <= 0 }) {
		return nil, nil
	}
	slices.SortFunc(ranges, func(x, y *uop.UOp) int { return cmp.Compare(strideIn(index, y), strideIn(index, x)) })
	value := product(own)
	g := value.Graph()
	slot, size := len(f.s.Slots), volume(ranges)
	f.s.Slots = append(slices.Clip(f.s.Slots), schedule.Slot{DType: value.DType, Size: size, Input: -1, Output: -1})
	memory := g.New(uop.Param, value.DType.Ptr(size, uop.Global), nil, uop.Num(slot), nil)
	to := map[*uop.UOp]*uop.UOp{}
	p = &body{merged: true}
	for _, r := range ranges {
		n := f.newRange(r)
		to[r] = n.WithArg(uop.RangeArg{ID: n.RangeID().ID, Type: uop.AxisLoop})
		p.loops = append(p.loops, to[r])
	}
	p.stores = []store{{slot, memory.IndexPtr(rowMajorIndex(p.loops)), replace(value, to), p.loops}}
	terms := replace(red, map[*uop.UOp]*uop.UOp{red.Src[0]: product(append([]*uop.UOp{memory.IndexBy(rowMajorIndex(ranges))}, others...))})
	k = &body{loops: b.loops, merged: true}
	for _, s := range b.stores {
		k.stores = append(k.stores, store{s.slot, s.at, replace(s.value, map[*uop.UOp]*uop.UOp{red: terms}), s.loops})
	}
	return p, k
}

// flattened are the operands of nested applications of an operation.
func flattened(u *uop.UOp, op uop.Op, out []*uop.UOp) []*uop.UOp {
	if u.Op != op {
		return append(out, u)
	}
	return flattened(u.Src[1], op, flattened(u.Src[0], op, out))
}

// loadsIn are the loads that a value depends on.
func loadsIn(u *uop.UOp) []*uop.UOp {
	return slices.DeleteFunc(u.Toposort(), func(x *uop.UOp) bool { return x.Op != uop.Index })
}

func product(us []*uop.UOp) *uop.UOp {
	out := us[0]
	for _, u := range us[1:] {
		out = out.Mul(u)
	}
	return out
}

// rowMajorIndex is the index that goes through 0, 1, 2, … when ranges run, the last of them fastest.
func rowMajorIndex(rs []*uop.UOp) *uop.UOp {
	out := rs[0]
	for _, r := range rs[1:] {
		out = out.MulInt(sizeOf(r)).Add(r)
	}
	return simplify(out)
}

// onlyProducer is the kernel, a product or other reductions, whose one output is for kernel j alone; -1 if there is none.
func (f *fuser) onlyProducer(j int, product bool) int {
	if f.items[j].body == nil {
		return -1
	}
	for i := j - 1; i >= 0; i-- {
		p := f.items[i].body
		if p == nil || len(p.stores) != 1 || !p.reduces() || p.contraction() != product {
			continue
		}
		if slot := p.stores[0].slot; f.items[j].reads.has(slot) && !f.needed(slot, i, j) {
			return i
		}
	}
	return -1
}

// takeIn puts what merge makes of the kernels i and j in their place, which it returns, -1 if they stay.
func (f *fuser) takeIn(i, j int, merge func(p, k *body) *body) int {
	before, after, ok := f.between(i, j)
	if !ok {
		return -1
	}
	b := merge(f.items[i].body, f.items[j].body)
	if b == nil || !harmless(b) {
		return -1
	}
	return f.put(i, j, before, after, b)
}

// blocksOfRows splits the rows that p makes and k uses into blocks. outer are the loops of k over the blocks, nil if
// there is no way or no need.
func (f *fuser) blocksOfRows(p, k *body) (_, _ *body, outer []*uop.UOp) {
	p, k, sites := f.align(p, k)
	if sites == nil {
		return nil, nil, nil
	}
	rows := rowsOf(p, k, sites)
	own, _ := rowMajor(p.stores[0].index())
	n := 0
	for n < len(own) && rows[own[n].r] != nil {
		outer = append(outer, rows[own[n].r])
		n++
	}
	// All that is not a row must be gone through in each of them.
	if n == 0 || n == len(own) || n != len(rows) {
		return nil, nil, nil
	}
	last := outer[n-1]
	high := f.blockHeight(covers(own[:n]), covers(own[n:])*int64(p.stores[0].value.DType.Itemsize()), sizeOf(last))
	if high == 0 {
		return nil, nil, nil
	}
	outer = outer[:n-1]
	if c := (cuts{}); c.add(last, high) {
		i := slices.Index(k.loops, last)
		k = f.split(k, c)
		outer = append(outer, k.loops[i])
	}
	inner := slices.DeleteFunc(slices.Clone(k.loops), func(r *uop.UOp) bool { return slices.Contains(outer, r) })
	k = &body{stores: k.stores, loops: slices.Concat(outer, inner)}
	return f.keepFunctions(p), k, outer
}

// blockHeight is how many of the innermost rows make a block, 0 if all rows fit into the cache or none of the numbers that
// divide them will do. Two matrices are kept for a block: what the first product makes, and what becomes of it.
func (f *fuser) blockHeight(rows, rowBytes, innermost int64) int64 {
	if rows*rowBytes <= f.o.BlockBytes {
		return 0
	}
	for high := min(innermost, f.o.BlockBytes/(2*rowBytes), rows/f.o.MinRows); high >= f.o.MinBlock; high-- {
		if innermost%high == 0 {
			return high
		}
	}
	return 0
}

// inBlocks computes what p stores in memory of the kernel, for one iteration of the outer loops of k at a time.
func (f *fuser) inBlocks(p, k *body, outer []*uop.UOp) *body {
	if len(outer) == 0 {
		return nil
	}
	p, k, sites := f.align(p, k)
	if sites == nil || len(within(k.loops, outer)) < len(outer) {
		return nil
	}
	own, _ := rowMajor(p.stores[0].index())
	to := map[*uop.UOp]*uop.UOp{}
	var inner []*uop.UOp
	for _, t := range own {
		at := sites[0].at[t.r]
		if slices.Contains(outer, at) && !slices.ContainsFunc(sites, func(s site) bool { return s.at[t.r] != at }) {
			to[t.r] = at
			continue
		}
		r := f.newRange(t.r)
		to[t.r] = r.WithArg(uop.RangeArg{ID: r.RangeID().ID, Type: uop.AxisLoop})
		inner = append(inner, t.r)
	}
	if len(inner) == 0 || len(own)-len(inner) != len(outer) {
		return nil
	}
	value := simplify(replace(p.stores[0].value, to))
	src := []*uop.UOp{value}
	for _, r := range inner {
		src = append(src, to[r])
	}
	block := value.Graph().New(uop.Bufferize, value.DType, src, uop.BufferizeOpts{Space: uop.Local}, nil)
	m := map[*uop.UOp]*uop.UOp{}
	for _, s := range sites {
		var at []*uop.UOp
		for _, r := range inner {
			at = append(at, s.at[r])
		}
		m[s.load] = block.IndexBy(at...)
	}
	out := &body{loops: k.loops, merged: true}
	for _, s := range k.stores {
		out.stores = append(out.stores, store{s.slot, s.at, replace(s.value, m), s.loops})
	}
	return out
}
