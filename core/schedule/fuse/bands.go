package fuse

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// In causal attention the mask sets the scores outside of a band to minus infinity, so their exponentials are 0. In training both are
// stored, because the gradients use them in several products. The elements outside of the band are then neither computed nor stored:
//
//	for block of rows    { scores, softmax, products with values and keys: for columns of the band }
//	for block of columns { products of the transposed matrices:            for rows of the band }

// band describes which blocks of a matrix (blocks of rows by blocks of columns) a mask leaves.
type band struct {
	mask        *uop.UOp // the condition, of position[0] and position[1]
	finite      bool     // the masked scores are very negative, but finite
	position    [2]*uop.UOp
	spans       [2]spans // [0]: the columns left for each block of rows; [1]: the rows left for each block of columns
	matrices    map[int]*bandMatrix
	views       []*bandView // by group
	columnsOnly bool        // blocks of columns would read what blocks of rows do not write
}

// spans are the interval of one axis that the mask leaves for each block of the other axis.
type spans struct {
	block *uop.UOp // the range over blocks
	span           // from the first block to before the end
	at    [][2]int64
}

// bandMatrix is a stored matrix of the size of the band.
type bandMatrix struct {
	loops   []term // of its store; the last two are the positions
	kind    maskedKind
	skipped bool // nothing outside of the band is needed
}

// bandView is the iteration of a group's loops over the matrices of a band.
type bandView struct {
	body *body
	// axes maps the ranges that are positions in the matrices to their axis: 0 for rows, 1 for columns.
	axes  map[*uop.UOp]int
	kinds map[*uop.UOp]maskedKind
	// The loop over the range blocked, a position of axis, iterates over blocks; the loops over inner iterate over spans.
	blocked *uop.UOp
	axis    int
	inner   []*uop.UOp
	ok      bool
	// If a reader computes the whole blocks of rows of a product: product is set in the reader's view, reader in the product's.
	product, reader *bandView
}

// bandBlock is the number of rows and of columns of a block. leastBlocks is the number of blocks from which on skipping pays.
const bandBlock, leastBlocks = 64, 4

// skipMaskedBlocks restricts stored matrices to the blocks that their masks leave.
func (f *fuser) skipMaskedBlocks() (changed bool) {
	var masks []*uop.UOp
	for _, g := range slices.Clone(f.groups) {
		if g.body == nil {
			continue
		}
		for i := range g.body.stores {
			if d := f.bandOf(&g.body.stores[i]); d != nil && !slices.Contains(masks, d.mask) {
				masks = append(masks, d.mask)
				changed = f.inBand(d) || changed
			}
		}
	}
	return changed
}

// bandOf is the band of a matrix of scores, nil if the store is not of such a matrix.
func (f *fuser) bandOf(s *store) *band {
	mask, low := maskOf(s.value)
	if mask == nil {
		return nil
	}
	loops := positionsOf(s)
	if loops == nil {
		return nil
	}
	d := &band{finite: !math.IsInf(low, -1), matrices: map[int]*bandMatrix{}}
	to := map[*uop.UOp]*uop.UOp{}
	for axis, t := range loops[len(loops)-2:] {
		// All matrices of a size have the same ranges as positions, so that equal masks are the same.
		d.position[axis] = t.r.WithArg(uop.RangeArg{ID: []int{-1 - axis}, Type: uop.AxisLoop})
		to[t.r] = d.position[axis]
		if sizeOf(t.r) < leastBlocks*bandBlock {
			return nil
		}
	}
	d.mask = replace(mask, to)
	left, all := int64(0), int64(0)
	for axis := range d.spans {
		if d.spans[axis] = f.spansOf(d, axis); d.spans[axis].at == nil {
			return nil
		}
	}
	for _, at := range d.spans[0].at {
		left += at[1] - at[0]
		all += int64(len(d.spans[1].at))
	}
	if left*5 > all*4 || d.emptyRow() || d.finite && !keepsColumnPerRow(d.mask, d.position[1]) {
		return nil
	}
	for column, at := range d.spans[1].at {
		for row := at[0]; row < at[1]; row++ {
			of := d.spans[0].at[row]
			d.columnsOnly = d.columnsOnly || int64(column) < of[0] || int64(column) >= of[1]
		}
	}
	return d
}

// positionsOf are the loops of a store to a matrix, nil if it is none.
func positionsOf(s *store) []term {
	own, ok := rowMajor(s.index())
	if !ok || len(own) < 2 || len(own) != len(s.loops) {
		return nil
	}
	return own
}

// spansOf finds the interval of the other axis that the band leaves for each block of an axis; at is nil if that is not known.
func (f *fuser) spansOf(d *band, axis int) (out spans) {
	own, other := d.position[axis], d.position[1-axis]
	blocks := (sizeOf(own) + bandBlock - 1) / bandBlock
	out.block = f.newRange(own.With(own.Src[0].IntLike(blocks)))
	inside, across := f.newRange(own.With(own.Src[0].IntLike(bandBlock))), f.newRange(other)
	mask := replace(d.mask, map[*uop.UOp]*uop.UOp{own: out.block.MulInt(bandBlock).Add(inside), other: across})
	out.span = blockMask{[]*uop.UOp{out.block}, inside, across, false}.span(mask, false)
	out.toBlocks(across, bandBlock)
	for i := range blocks {
		first, end := out.limit(out.first, i), out.limit(out.end, i)
		if first.Op != uop.ConstOp || end.Op != uop.ConstOp || first.ConstVal().I() >= end.ConstVal().I() {
			return spans{}
		}
		out.at = append(out.at, [2]int64{first.ConstVal().I(), end.ConstVal().I()})
	}
	return out
}

// emptyRow reports whether some row is fully masked: its softmax is NaN in all columns. The span is shortest at the first or the last
// row, since its limits are minima and maxima of linear functions.
func (d *band) emptyRow() bool {
	row, column := d.position[0], d.position[1]
	for _, at := range []int64{0, sizeOf(row) - 1} {
		s := blockMask{nil, row, column, false}.span(replace(d.mask, map[*uop.UOp]*uop.UOp{row: row.IntLike(at)}), false)
		first, end := int64(0), sizeOf(column)
		if s.first != nil {
			first = max(first, simplify(s.first).Vmax().I())
		}
		if s.end != nil {
			end = min(end, simplify(s.end).Vmin().I())
		}
		if first >= end {
			return true
		}
	}
	return false
}

// limit is a limit of the span of block i.
func (s *spans) limit(u *uop.UOp, i int64) *uop.UOp {
	return simplify(replace(u, map[*uop.UOp]*uop.UOp{s.block: s.block.IntLike(i)}))
}

// inBand restricts all kernels that can be restricted to the band.
func (f *fuser) inBand(d *band) (changed bool) {
	d.views = make([]*bandView, len(f.groups))
	for i := range d.views {
		d.views[i] = &bandView{}
	}
	for known := -1; known < len(d.matrices); {
		known = len(d.matrices)
		for i := range f.groups {
			f.view(d, i)
		}
	}
	for again := true; again; {
		again = false
		for i := range d.views {
			v := d.views[i]
			v.ok = v.ok && d.allows(v)
		}
		for slot, m := range d.matrices {
			if m.skipped && !f.skippable(d, slot) {
				m.skipped, again = false, true
			}
		}
	}
	f.blocksInCache(d)
	var groups []*group
	for i, g := range f.groups {
		v := d.views[i]
		if !v.ok || g.body.iterations() <= f.o.SmallWork {
			groups = append(groups, g)
			continue
		}
		n, high := sizeOf(v.blocked), int64(bandBlock)
		f.observe(g, nil, Pays, Costs{Rows: n, RowBytes: 4 * sizeOf(d.position[1-v.axis]), BlockRows: high})
		for _, b := range f.bandBodies(d, v) {
			k := f.kernelOf(f.wordsPaired(b))
			part := groupOf(b, g.kernels)
			part.kernel, part.body = &k, nil
			groups = append(groups, part)
		}
		changed = true
	}
	if changed {
		f.replace(0, len(f.groups), groups)
	}
	return changed
}

// view finds the ranges of a group's body that are positions of the band, and the matrices that the body stores or reads.
func (f *fuser) view(d *band, i int) {
	g, v := f.groups[i], d.views[i]
	if g.body == nil || g.body.pieces || v.body == nil && slices.ContainsFunc(g.body.values(), func(u *uop.UOp) bool { return u.Op == uop.Bufferize }) {
		return
	}
	if v.body == nil {
		v.body = f.cacheFunctionRows(g.body, f.o.MinScratch)
	}
	b := v.body
	v.axes, v.kinds, v.blocked, v.inner, v.ok = map[*uop.UOp]int{}, map[*uop.UOp]maskedKind{}, nil, nil, true
	set := func(r *uop.UOp, axis int) {
		if old, known := v.axes[r]; r.Op != uop.Range || r.Src[0].Op != uop.ConstOp || known && old != axis || sizeOf(r) != sizeOf(d.position[axis]) {
			v.ok = false
			return
		}
		v.axes[r] = axis
	}
	for j := range b.stores {
		s := &b.stores[j]
		if own := positionsOf(s); own != nil && d.matrices[s.slot] == nil {
			mask, _ := maskOf(s.value)
			if at := own[len(own)-2:]; mask != nil && sizeOf(at[0].r) == sizeOf(d.position[0]) && sizeOf(at[1].r) == sizeOf(d.position[1]) &&
				replace(mask, map[*uop.UOp]*uop.UOp{at[0].r: d.position[0], at[1].r: d.position[1]}) == d.mask {
				d.matrices[s.slot] = &bandMatrix{loops: own, kind: lowest, skipped: true}
			}
		}
		if m := d.matrices[s.slot]; m != nil {
			set(m.loops[len(m.loops)-2].r, 0)
			set(m.loops[len(m.loops)-1].r, 1)
		}
	}
	for _, l := range b.loads() {
		if m := d.matrices[slotOf(l)]; m != nil {
			at := positionsIn(m.loops, l.Src[1])
			set(at[len(at)-2], 0)
			set(at[len(at)-1], 1)
			v.kinds[l] = m.kind
		}
	}
	for _, u := range b.values() {
		if u.Op != uop.Index || u.Src[0].Op != uop.Bufferize {
			continue
		}
		for j, r := range u.Src[0].Src[1:] {
			if axis, known := v.axes[r]; known {
				set(u.Src[j+1], axis)
			}
		}
	}
	if len(v.axes) == 0 {
		v.ok = false
	}
	if v.ok {
		f.addMatrices(d, v)
	}
}

// addMatrices finds which value each node of a body has outside of the band (kinds), and records further matrices with the same positions.
func (f *fuser) addMatrices(d *band, v *bandView) {
	b := v.body
	var columns []*uop.UOp
	for r, axis := range v.axes {
		if axis == 1 {
			columns = append(columns, r)
		}
	}
	for _, u := range b.values() {
		var mask *uop.UOp
		if u.Op == uop.Add || u.Op == uop.Where {
			mask, _ = maskOf(u)
		}
		switch {
		case u.Op == uop.Bufferize:
			v.kinds[u] = v.kinds[u.Src[0]]
		case u.Op == uop.Index && u.Src[0].Op == uop.Bufferize:
			v.kinds[u] = v.kinds[u.Src[0]]
		case u.Op == uop.Index || u.Op == uop.Reduce:
		case mask != nil && replace(mask, v.positions(d)) == d.mask:
			v.kinds[u] = lowest
		default:
			v.kinds[u] = maskedTo(u, v.kinds, d.finite, columns)
		}
	}
	axisOf := func(r *uop.UOp) int {
		if axis, known := v.axes[r]; known {
			return axis
		}
		return -1
	}
	for j := range b.stores {
		s := &b.stores[j]
		if own := positionsOf(s); own != nil && axisOf(own[len(own)-2].r) == 0 && axisOf(own[len(own)-1].r) == 1 {
			if m := d.matrices[s.slot]; m == nil {
				d.matrices[s.slot] = &bandMatrix{loops: own, kind: v.kinds[s.value], skipped: true}
			}
		}
	}
	for _, l := range b.loads() {
		if d.matrices[slotOf(l)] != nil {
			continue
		}
		if own := f.writer(slotOf(l)); own != nil {
			if at := positionsIn(own, l.Src[1]); axisOf(at[len(at)-2]) == 0 && axisOf(at[len(at)-1]) == 1 {
				d.matrices[slotOf(l)] = &bandMatrix{loops: own, skipped: true}
			}
		}
	}
}

// positions are the positions of the band for the ranges of a body.
func (v *bandView) positions(d *band) map[*uop.UOp]*uop.UOp {
	to := map[*uop.UOp]*uop.UOp{}
	for r, axis := range v.axes {
		to[r] = d.position[axis]
	}
	return to
}

// writer returns the loops of the only store to a matrix, nil if there is not exactly one.
func (f *fuser) writer(slot int) (own []term) {
	n := 0
	for _, g := range f.groups {
		if !g.writes.has(slot) {
			continue
		}
		if n++; n > 1 || g.body == nil {
			return nil
		}
		own = positionsOf(g.body.storeTo(slot))
	}
	return own
}

// skippable reports whether the elements outside of the band of a matrix are dead: every reader stays inside of the band.
func (f *fuser) skippable(d *band, slot int) bool {
	if s := f.slots[slot]; s.Input >= 0 || s.Output >= 0 || f.writer(slot) == nil {
		return false
	}
	for i, g := range f.groups {
		if g.reads.has(slot) && !(d.views[i].ok && g.body.iterations() > f.o.SmallWork) {
			return false
		}
	}
	return true
}

// allows reports whether a body can be restricted to the band: it iterates over the blocks of one axis and over the spans of the other one.
// Outside of the spans the terms of sums must be zero, those of maxima the lowest value, and nothing may need the stored elements.
func (d *band) allows(v *bandView) bool {
	v.blocked, v.inner = nil, nil
	var of [2][]*uop.UOp
	for r, axis := range v.axes {
		of[axis] = append(of[axis], r)
	}
	for axis := range of {
		if rs := of[axis]; v.blocked == nil && len(rs) == 1 && slices.Contains(v.body.loops, rs[0]) && !(axis == 1 && d.columnsOnly) {
			v.blocked, v.axis, v.inner = rs[0], axis, of[1-axis]
		}
	}
	if v.blocked == nil || len(v.inner) == 0 {
		return false
	}
	slices.SortFunc(v.inner, byID)
	for _, u := range v.body.values() {
		if u.Op != uop.Reduce || len(within(u.Src[1:], v.inner)) == 0 {
			continue
		}
		op, kind := uop.Op(u.Arg.(uop.OpArg)), v.kinds[u.Src[0]]
		if !(op == uop.Max && kind == lowest || op == uop.Add && kind == zero) || len(within(u.Src[0].Ranges(), v.inner)) > 1 {
			return false
		}
	}
	for i := range v.body.stores {
		s := &v.body.stores[i]
		inside := within(s.loops, v.inner)
		if len(inside) == 0 {
			continue
		}
		if m := d.matrices[s.slot]; len(inside) > 1 || m == nil || !m.skipped || !slices.Contains(s.loops, v.blocked) {
			return false
		}
	}
	return true
}

// bandBodies returns the loops over the band: over whole blocks, and over the remaining rows (or columns).
func (f *fuser) bandBodies(d *band, v *bandView) []*body {
	s := &d.spans[v.axis]
	n := sizeOf(v.blocked)
	whole := n / bandBlock
	block := f.newRange(v.blocked.With(v.blocked.Src[0].IntLike(whole)))
	inside := f.newRange(v.blocked.With(v.blocked.Src[0].IntLike(bandBlock)))
	limit := func(u *uop.UOp) *uop.UOp { return simplify(replace(u, map[*uop.UOp]*uop.UOp{s.block: block})) }
	var out []*body
	if v.reader == nil {
		out = append(out, f.bandBody(d, v, []*uop.UOp{block, inside}, block.MulInt(bandBlock).Add(inside), span{limit(s.first), limit(s.end)}))
	}
	if n%bandBlock == 0 {
		return out
	}
	last, loops := v.blocked.IntLike(whole*bandBlock), []*uop.UOp(nil)
	if n%bandBlock > 1 {
		r := f.newRange(v.blocked.With(v.blocked.Src[0].IntLike(n % bandBlock)))
		last, loops = last.Add(r), []*uop.UOp{r}
	}
	return append(out, f.bandBody(d, v, loops, last, span{s.limit(s.first, whole), s.limit(s.end, whole)}))
}

// bandBody is the body of a view at a block of rows or columns (loops, position); its inner loops run over a span of blocks.
func (f *fuser) bandBody(d *band, v *bandView, loops []*uop.UOp, position *uop.UOp, s span) *body {
	n := sizeOf(d.position[1-v.axis])
	from, end := simplify(s.first.MulInt(bandBlock)), simplify(s.end.MulInt(bandBlock))
	past := end.Vmax().Cmp(uop.Int(n)) > 0
	if past {
		end = simplify(end.Minimum(end.IntLike(n)))
	}
	size := simplify(end.Sub(from))
	tiled := v.body.contraction() && size.Op != uop.ConstOp
	of, ranges := newImages(), map[*uop.UOp][]*uop.UOp{v.blocked: loops}
	of.set(v.blocked, position)
	for _, r := range v.inner {
		if size.IsConst(uop.Int(1)) { // no loop
			ranges[r] = nil
			of.set(r, from)
			continue
		}
		if !tiled || !slices.Contains(v.body.loops, r) {
			inner := f.newRange(r.With(size))
			ranges[r] = []*uop.UOp{inner}
			of.set(r, simplify(from.Add(inner)))
			continue
		}
		// The tiles of a product need constant sizes: blocks of bandBlock, the last of which overlaps the one before it if it would be smaller.
		block, inner := f.newRange(r.With(simplify(s.end.Sub(s.first)))), f.newRange(r.With(r.Src[0].IntLike(bandBlock)))
		at := simplify(from.Add(block.MulInt(bandBlock)))
		if past {
			at = at.Minimum(at.IntLike(n - bandBlock))
		}
		last := len(loops) - 1
		ranges[v.blocked] = slices.Insert(slices.Clone(loops), last, block)
		ranges[r] = []*uop.UOp{inner}
		of.set(r, at.Add(inner))
	}
	if v.axis == 1 && v.body.contraction() && len(loops) == 2 {
		f.copyColumns(d, v, loops, ranges, of)
	}
	if v.product != nil && len(loops) == 2 {
		f.computeBlock(d, v, s, loops, ranges, of)
	}
	image := func(u *uop.UOp) *uop.UOp {
		for _, u := range u.ToposortGated(func(u *uop.UOp) bool { return of.get(u) == nil }) {
			x := rebuilt(u, of)
			if u.Op == uop.Reduce || u.Op == uop.Bufferize || u.Op == uop.Index && u.Src[0].Op == uop.Bufferize {
				src := []*uop.UOp{x.Src[0]}
				for i, r := range u.Src[1:] {
					if rs, known := ranges[r]; known && r != v.blocked {
						src = append(src, rs...)
					} else {
						src = append(src, x.Src[i+1])
					}
				}
				if len(src) > 1 {
					x = x.With(src...)
				} else {
					x = src[0]
				}
			}
			of.set(u, x)
		}
		return of.get(u)
	}
	replaced := func(list []*uop.UOp) (out []*uop.UOp) {
		for _, r := range list {
			if rs, known := ranges[r]; known {
				out = append(out, rs...)
			} else {
				out = append(out, r)
			}
		}
		return out
	}
	out := &body{loops: replaced(v.body.loops), pieces: true}
	for _, s := range v.body.stores {
		out.stores = append(out.stores, store{s.slot, simplify(image(s.at)), simplify(image(s.value)), replaced(s.loops)})
	}
	of.reset()
	return out
}

// copyColumns packs a block of columns of matrices into scratch memory, if it fits the cache: a product reads it once for each of its
// tiles, and in place only few adjacent elements of a row are used.
func (f *fuser) copyColumns(d *band, v *bandView, loops []*uop.UOp, ranges map[*uop.UOp][]*uop.UOp, of *substitution) {
	for _, l := range v.body.loads() {
		m := d.matrices[slotOf(l)]
		if m == nil || sizeOf(d.position[0])*bandBlock*int64(l.DType.Itemsize()) > f.o.BlockBytes {
			continue
		}
		at := positionsIn(m.loops, l.Src[1])
		row := at[len(at)-2]
		r, column := f.newRange(ranges[row][0]), f.newRange(loops[1])
		r, column = r.WithArg(uop.RangeArg{ID: r.RangeID().ID, Type: uop.AxisLoop}), column.WithArg(uop.RangeArg{ID: column.RangeID().ID, Type: uop.AxisLoop})
		from := map[*uop.UOp]*uop.UOp{row: replace(of.get(row), map[*uop.UOp]*uop.UOp{ranges[row][0]: r}), v.blocked: replace(of.get(v.blocked), map[*uop.UOp]*uop.UOp{loops[1]: column})}
		block := l.Graph().New(uop.Bufferize, l.DType, []*uop.UOp{simplify(replace(l, from)), r, column}, uop.BufferizeOpts{Space: uop.Local}, nil)
		of.set(l, block.IndexBy(ranges[row][0], loops[1]))
	}
}
