package fuse

import (
	"cmp"
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// fuseRowBlocks merges three kernels that work on the rows of a matrix larger than the cache: the contraction that computes it, an
// operation along its rows, and the only contraction that reads it. This is attention; its scores then stay in the cache:
//
//	for block of rows { scores; softmax of each row; its product with the values }
func (f *fuser) fuseRowBlocks() (changed bool) {
	for j := 0; j < len(f.groups); j++ {
		trial := *f
		i, at, c := trial.rowBlocks(j)
		if i != nil {
			f.observe(i, f.groups[j], c.reason, c.costs)
		}
		if c.reason == Pays && i != nil {
			*f, j, changed = trial, at, true
		}
	}
	return changed
}

// rowBlocks tentatively merges the rows that the contraction j reads, and their producers, into j. It returns the contraction that computes
// the rows, nil if there is none, and the new index of j.
func (f *fuser) rowBlocks(j int) (producer *group, at int, c candidate) {
	if k := f.groups[j].body; k == nil || !k.contraction() {
		return nil, 0, c
	}
	i := f.onlyProducer(j, false)
	if i < 0 {
		if i = f.separateRows(j); i < 0 {
			return nil, 0, c
		}
		j = i + 1
	}
	h := f.onlyProducer(i, true)
	if h < 0 {
		return nil, 0, c
	}
	producer = f.groups[h]
	var outer []*uop.UOp
	var costs Costs
	j, c = f.mergeInto(i, j, func(p, k *body) candidate {
		var c candidate
		p, k, outer, c = f.blocksOfRows(p, k)
		costs = c.costs
		if c.reason != Pays {
			return c
		}
		return f.intoScratch(p, k, outer)
	})
	if c.reason == Pays {
		if h = f.onlyProducer(j, true); h < 0 {
			c.reason = RowsNeedAll
		} else {
			j, c = f.mergeInto(h, j, func(p, k *body) candidate {
				c := f.intoScratch(p, k, outer)
				if c.reason != Pays {
					return c
				}
				if c.body = f.inBlocks(c.body, outer[len(outer)-1], costs.BlockRows); !f.online(c.body) {
					c.reason = RowsStored
				}
				return c
			})
		}
	}
	c.costs = costs
	return producer, j, c
}

// online reports whether a kernel is compiled as online softmax, if the device has no memory for blocks of rows.
func (f *fuser) online(b *body) bool { return f.o.Online == nil || f.o.Online(f.kernelOf(b).AST) }

// separateRows makes a kernel of the operations that contraction j applies to the rows of another contraction before it multiplies them,
// and of their producers. It returns the index of the kernel, just before contraction j, or -1.
func (f *fuser) separateRows(j int) int {
	g := f.groups[j]
	p, k := f.factorOfRows(g.body, func(slot int) bool {
		return slices.ContainsFunc(f.groups[:j], func(g *group) bool { return g.body != nil && g.body.contraction() && g.writes.has(slot) })
	})
	if p == nil {
		return -1
	}
	f.replaceBody(j, p, k)
	for i := j - 1; i >= 0; i-- {
		p, k := f.groups[i], f.groups[j]
		if p.body == nil || p.body.contraction() || !overlap(p.writes, k.reads) {
			continue
		}
		at, c := f.mergeInto(i, j, func(p, k *body) candidate {
			return f.intoConsumer(p, k, func(slot int) bool { return f.needed(slot, i, j) })
		})
		if c.reason != Pays {
			return -1
		}
		i, j = at, at
	}
	return j
}

// factorOfRows splits a product of matrices one factor of which is computed from the result of another product: p stores that factor
// to its own memory, and k reads it. They are nil if there is no such factor.
func (f *fuser) factorOfRows(b *body, made func(slot int) bool) (p, k *body) {
	for _, red := range b.values() {
		if red.Op != uop.Reduce {
			continue
		}
		factors := flattened(red.Src[0], uop.Mul, nil)
		for _, u := range factors {
			for _, load := range loadsIn(u) {
				if u != load && made(slotOf(load)) {
					return f.storeFactor(b, red, factors, u, load)
				}
			}
		}
	}
	return nil, nil
}

// storeFactor materialises the factors of a sum that depend only on the ranges of one of them.
func (f *fuser) storeFactor(b *body, red *uop.UOp, factors []*uop.UOp, like, load *uop.UOp) (p, k *body) {
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
	// A uniform factor has no rows.
	if len(ranges) == 0 || len(others) == 0 || slices.ContainsFunc(ranges, func(r *uop.UOp) bool { return strideIn(index, r) <= 0 }) {
		return nil, nil
	}
	slices.SortFunc(ranges, func(x, y *uop.UOp) int { return cmp.Compare(strideIn(index, y), strideIn(index, x)) })
	value := product(own)
	g := value.Graph()
	slot, size := len(f.slots), volume(ranges)
	f.slots = append(slices.Clip(f.slots), schedule.Slot{DType: value.DType, Size: size, Input: -1, Output: -1})
	memory := g.New(uop.Param, value.DType.Ptr(size, uop.Global), nil, uop.Num(slot), nil)
	to := map[*uop.UOp]*uop.UOp{}
	p = &body{}
	for _, r := range ranges {
		n := f.newRange(r)
		to[r] = n.WithArg(uop.RangeArg{ID: n.RangeID().ID, Type: uop.AxisLoop})
		p.loops = append(p.loops, to[r])
	}
	p.stores = []store{{slot, memory.IndexPtr(rowMajorIndex(p.loops)), replace(value, to), p.loops}}
	terms := replace(red, map[*uop.UOp]*uop.UOp{red.Src[0]: product(append([]*uop.UOp{memory.IndexBy(rowMajorIndex(ranges))}, others...))})
	k = &body{loops: b.loops}
	for _, s := range b.stores {
		k.stores = append(k.stores, store{s.slot, s.at, replace(s.value, map[*uop.UOp]*uop.UOp{red: terms}), s.loops})
	}
	return p, k
}

// flattened returns the operands of nested applications of an operation.
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

// rowMajorIndex is the row-major index of ranges: the last one runs fastest.
func rowMajorIndex(rs []*uop.UOp) *uop.UOp {
	out := rs[0]
	for _, r := range rs[1:] {
		out = out.MulInt(sizeOf(r)).Add(r)
	}
	return simplify(out)
}

// onlyProducer returns the group (a contraction or other reductions) whose single output only group j reads; -1 if there is none.
func (f *fuser) onlyProducer(j int, contraction bool) int {
	if f.groups[j].body == nil {
		return -1
	}
	for i := j - 1; i >= 0; i-- {
		p := f.groups[i].body
		if p == nil || len(p.stores) != 1 || !p.reduces() || p.contraction() != contraction {
			continue
		}
		if slot := p.stores[0].slot; f.groups[j].reads.has(slot) && !f.needed(slot, i, j) {
			return i
		}
	}
	return -1
}

// mergeInto replaces the groups i and j by the result of make and returns its index, unless the decision is to keep them.
func (f *fuser) mergeInto(i, j int, make func(p, k *body) candidate) (int, candidate) {
	before, after, ok := f.between(i, j)
	if !ok {
		return j, candidate{reason: OrderBetween}
	}
	c := make(f.groups[i].body, f.groups[j].body)
	if c.reason == Pays && !hazardFree(c.body) {
		c.reason = Hazard
	}
	if c.reason != Pays {
		return j, c
	}
	return f.merge(i, j, before, after, c.body), c
}

// blocksOfRows returns the height of the blocks of rows that p computes and k reads. outer are the loops of k over the rows.
func (f *fuser) blocksOfRows(p, k *body) (_, _ *body, outer []*uop.UOp, c candidate) {
	p, k, edges := f.align(p, k)
	if edges == nil {
		c.reason = ReadsOtherOrder
		return nil, nil, nil, c
	}
	rows := commonLoops(p, k, edges)
	own, _ := rowMajor(p.stores[0].index())
	n := 0
	for n < len(own) && rows[own[n].r] != nil {
		outer = append(outer, rows[own[n].r])
		n++
	}
	// Loops that are not over rows must run inside of each row.
	if n == 0 || n == len(own) || n != len(rows) {
		c.reason = RowsNeedAll
		return nil, nil, nil, c
	}
	last := outer[n-1]
	c.costs = Costs{Rows: extentOf(own[:n]), RowBytes: extentOf(own[n:]) * int64(p.stores[0].value.DType.Itemsize())}
	if c.costs.BlockRows, c.reason = f.o.blockRows(c.costs.Rows, c.costs.RowBytes, sizeOf(last)); c.reason != Pays {
		return nil, nil, nil, c
	}
	inner := slices.DeleteFunc(slices.Clone(k.loops), func(r *uop.UOp) bool { return slices.Contains(outer, r) })
	k = &body{stores: k.stores, loops: slices.Concat(outer, inner)}
	return f.cacheFunctionRows(p, f.o.MinScratch), k, outer, c
}

// blockRows is the number of rows of a block: the greatest that fits the cache and leaves a block for each thread. A divisor of the number
// of rows is preferred if it is at least half of that, since otherwise the last block overlaps the one before it. A block holds two
// matrices: the result of the first contraction, and the result of the operation on it.
func (o *Options) blockRows(rows, rowBytes, innermost int64) (int64, Reason) {
	if o.Online != nil {
		if innermost < o.MinBlock {
			return 0, NoBlock
		}
		return min(innermost, o.OnlineRows), Pays
	}
	if rows*rowBytes <= o.BlockBytes {
		return 0, FitsCache
	}
	most, least := min(innermost, o.BlockBytes/(2*rowBytes), rows/o.MinRows), max(o.MinBlock, 2)
	if most < least {
		return 0, NoBlock
	}
	for n := most; n >= max(least, most/2); n-- {
		if innermost%n == 0 {
			return n, Pays
		}
	}
	return most, Pays
}

// inBlocks splits a loop over rows into blocks and keeps only one block of the matrices in scratch memory. If blocks do not divide the
// rows, the last block overlaps the one before it: these rows are computed twice, so that all blocks have the same height and need no
// masks.
func (f *fuser) inBlocks(b *body, rows *uop.UOp, high int64) *body {
	n := sizeOf(rows)
	inBlock := func(r *uop.UOp) *uop.UOp { return r.With(r.Src[0].IntLike(high)) }
	block := f.newRange(rows.With(rows.Src[0].IntLike((n + high - 1) / high)))
	start := block.MulInt(high)
	if n%high != 0 {
		start = start.Minimum(start.IntLike(n - high))
	}
	all, matrices := []*uop.UOp{rows}, []*uop.UOp{}
	for _, u := range slices.Backward(b.values()) {
		if m := u.Src; u.Op == uop.Index && m[0].Op == uop.Bufferize && slices.Contains(all, m[1]) && !slices.Contains(matrices, m[0]) {
			matrices, all = append(matrices, m[0]), append(all, m[0].Src[1])
		}
	}
	to := newImages()
	for _, r := range all {
		to.set(r, start.Add(inBlock(r)))
	}
	for _, u := range b.values() {
		if to.get(u) != nil {
			continue
		}
		v := rebuilt(u, to)
		switch {
		case u.Op == uop.Index && slices.Contains(matrices, u.Src[0]):
			v = to.get(u.Src[0]).IndexBy(slices.Concat([]*uop.UOp{inBlock(u.Src[1])}, v.Src[2:])...)
		case slices.Contains(matrices, u):
			v = v.With(slices.Concat([]*uop.UOp{simplify(v.Src[0]), inBlock(u.Src[1])}, v.Src[2:])...)
		}
		to.set(u, v)
	}
	blocked := func(loops []*uop.UOp) []*uop.UOp {
		i := slices.Index(loops, rows)
		return slices.Concat(loops[:i], []*uop.UOp{block, inBlock(rows)}, loops[i+1:])
	}
	out := &body{loops: blocked(b.loops)}
	for _, s := range b.stores {
		at := simplify(replace(s.at, map[*uop.UOp]*uop.UOp{rows: start.Add(inBlock(rows))}))
		out.stores = append(out.stores, store{s.slot, at, simplify(to.get(s.value)), blocked(s.loops)})
	}
	to.reset()
	return out
}

// intoScratch stores the result of p in scratch memory of k: a matrix for each iteration of its outer loops except the last one, which
// runs over the rows of the matrix.
func (f *fuser) intoScratch(p, k *body, outer []*uop.UOp) candidate {
	if len(outer) == 0 {
		return candidate{reason: RowsNeedAll}
	}
	p, k, edges := f.align(p, k)
	if edges == nil || len(within(k.loops, outer)) < len(outer) {
		return candidate{reason: ReadsOtherOrder}
	}
	outer = outer[:len(outer)-1]
	own, _ := rowMajor(p.stores[0].index())
	to := map[*uop.UOp]*uop.UOp{}
	var inner []*uop.UOp
	for _, t := range own {
		at := edges[0].at[t.r]
		if slices.Contains(outer, at) && !slices.ContainsFunc(edges, func(s edge) bool { return s.at[t.r] != at }) {
			to[t.r] = at
			continue
		}
		r := f.newRange(t.r)
		to[t.r] = r.WithArg(uop.RangeArg{ID: r.RangeID().ID, Type: uop.AxisLoop})
		inner = append(inner, t.r)
	}
	if len(inner) < 2 || len(own)-len(inner) != len(outer) {
		return candidate{reason: RowsNeedAll}
	}
	value := simplify(replace(p.stores[0].value, to))
	src := []*uop.UOp{value}
	for _, r := range inner {
		src = append(src, to[r])
	}
	block := value.Graph().New(uop.Bufferize, value.DType, src, uop.BufferizeOpts{Space: uop.Local}, nil)
	m := map[*uop.UOp]*uop.UOp{}
	for _, s := range edges {
		var at []*uop.UOp
		for _, r := range inner {
			at = append(at, s.at[r])
		}
		m[s.load] = block.IndexBy(at...)
	}
	out := &body{loops: k.loops}
	for _, s := range k.stores {
		out.stores = append(out.stores, store{s.slot, s.at, replace(s.value, m), s.loops})
	}
	return candidate{body: out}
}
