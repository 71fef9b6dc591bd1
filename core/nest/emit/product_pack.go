package emit

import (
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/uop"
)

// packProducts packs the operands of a product whose pack level is i.
func (im *emitter) packProducts(p *openBand, i int, e *env) {
	q := p.Product
	for _, o := range []*plan.DotOperand{q.Rows, q.Columns} {
		if o.PackAt == i {
			im.packOperand(p, o, e)
		}
	}
}

// packOperand packs the tiles in the window of an operand. An operand that is loaded across its rows is packed step by step
// for all tiles, in the order of memory.
func (im *emitter) packOperand(p *openBand, o *plan.DotOperand, e *env) {
	q := p.Product
	w := &packer{emitter: im, p: p, q: q, o: o, per: ir.PerWord(o.Kind)}
	w.beginRange()
	defer w.endRange()
	if w.o.Along {
		w.panels(func(panel linear) {
			w.loops(q.Outer, e, linear{}, func(d *env, step, k linear, live int64) { w.step(d, panel, step, k, live) })
		})
		return
	}
	w.loops(q.Outer, e, linear{}, func(d *env, step, k linear, live int64) {
		w.panels(func(panel linear) { w.step(d, panel, step, k, live) })
	})
}

// panels makes the loops over the tiles of the window and calls f with the number of each.
func (w *packer) panels(f func(number linear)) {
	a := w.p.at(w.o.Axis)
	if a.Full() > 0 {
		w.Builder.Loop(a.Region.Label()+" pack", a.win.count, func(l *ir.Loop) {
			at := linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}
			w.base, w.n = w.addLinear(w.scaled(a.win.lo, a.Tile()), w.timesLinear(at, a.Tile()), 1), a.Tile()
			f(at)
		})
	}
	if a.Rest() > 0 {
		w.emitIf(a.Region.Label()+" pack rest", a.win.tail, func() {
			w.base, w.n = linear{off: a.Full() * a.Tile()}, a.Rest()
			f(w.scaled(a.win.count, 1))
		})
	}
}

// packer packs one operand.
type packer struct {
	*emitter
	p *openBand
	q *plan.Product
	o *plan.DotOperand
	// base is the first row of the current tile, n the number of its rows.
	base linear
	n    int64
	per  int64 // numbers in a word
	// rangeFlag is large if numbers of the current block are out of the range that can be split; nil if none were checked.
	rangeFlag *ir.Value
}

// stepMaker packs a step: live numbers from k on.
type stepMaker func(e *env, step, k linear, live int64)

// loops emits the reduction loops; step counts the steps.
func (w *packer) loops(outer []*analysis.Region, e *env, step linear, f stepMaker) {
	n := ir.DotBlock * w.per
	full, rest := w.q.Inner.Trip()/n, w.q.Inner.Trip()%n
	if len(outer) > 0 {
		r := outer[0]
		w.Builder.Loop(r.Label()+" pack", w.Int(ir.I64, r.Trip()), func(l *ir.Loop) {
			d := newEnv(e)
			at := linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}
			d.linears.set(r.Rng, at)
			inside := full + min(rest, 1)
			for _, o := range outer[1:] {
				inside *= o.Trip()
			}
			w.loops(outer[1:], d, w.addLinear(step, w.timesLinear(at, inside), 1), f)
		})
		return
	}
	if full > 0 {
		w.Builder.Loop(w.q.Inner.Label()+" pack", w.Int(ir.I64, full), func(l *ir.Loop) {
			at := linear{terms: []ir.Term{{V: l.Iter, Coef: 1}}}
			f(e, w.addLinear(step, at, 1), w.timesLinear(at, n), n)
		})
	}
	if rest > 0 {
		at := linear{off: full}
		f(e, w.addLinear(step, at, 1), w.timesLinear(at, n), rest)
	}
}

// step packs one step of the current tile.
func (w *packer) step(e *env, panel, number, k linear, live int64) {
	to := w.addLinear(w.timesLinear(panel, w.o.Panel(w.q)), w.timesLinear(number, w.o.Step(w.q)), 1)
	for j := int64(0); j*ir.DotBlock < w.n; j++ {
		rows := min(w.n-j*ir.DotBlock, ir.DotBlock)
		base, at := w.base, to
		base.off += j * ir.DotBlock
		at.off += j * ir.DotWords
		if w.o.Along {
			w.blockAlong(e, at, base, rows, k, live)
		} else {
			w.blockAcross(e, at, base, rows, k, live)
		}
		w.saveRangeFlag()
	}
}

// blockAcross packs a block from vectors whose lanes are its rows.
func (w *packer) blockAcross(e *env, to, base linear, rows int64, k linear, live int64) {
	base.lane = 1
	var tail *ir.Value
	if rows < ir.DotBlock {
		tail = w.firstLanes(rows)
	}
	words := make([][]*ir.Value, w.q.Splits)
	for i := range int64(ir.DotBlock) {
		parts := make([][]*ir.Value, w.q.Splits)
		for x := range w.per {
			if i*w.per+x >= live {
				break
			}
			d := newEnv(e)
			d.linears.set(w.o.Axis.Region.Rng, base)
			at := k
			at.off += i*w.per + x
			d.linears.set(w.q.Inner.Rng, at)
			d.vector, d.tail = true, tail
			for t, c := range w.codes(d) {
				parts[t] = append(parts[t], c)
			}
		}
		for t := range words {
			words[t] = append(words[t], w.word(parts[t]))
		}
	}
	for t := range words {
		if w.o.Columns {
			w.storeBlock(to, t, words[t])
		} else {
			w.storeBlock(to, t, w.transposeWords(words[t], rows))
		}
	}
}

// blockAlong packs a block from vectors along the reduction.
func (w *packer) blockAlong(e *env, to, base linear, rows int64, k linear, live int64) {
	words := make([][]*ir.Value, w.q.Splits)
	for i := range rows {
		at := base
		at.off += i
		for t, v := range w.row(e, to, at, i, k, live) {
			words[t] = append(words[t], v)
		}
	}
	for t := range words {
		if w.o.Columns {
			w.storeBlock(to, t, w.transposeWords(words[t], ir.DotBlock))
		} else {
			w.storeBlock(to, t, words[t])
		}
	}
}

// row returns the words of one row: loaded as words if memory has that layout, else assembled from elements.
func (w *packer) row(e *env, to, base linear, i int64, k linear, live int64) []*ir.Value {
	bind := func(x int64) *env {
		d := newEnv(e)
		d.linears.set(w.o.Axis.Region.Rng, base)
		at := k
		at.off += x * ir.DotBlock
		at.lane = 1
		d.linears.set(w.q.Inner.Rng, at)
		d.vector = true
		if left := live - x*ir.DotBlock; left < ir.DotBlock {
			d.tail = w.firstLanes(left)
		}
		return d
	}
	if v := w.packedInMemory(bind(0), live); v != nil {
		return []*ir.Value{v}
	}
	// Narrow elements are stored contiguously and read as words.
	narrow := w.asNumbers(w.o.Buf)
	out := make([]*ir.Value, w.q.Splits)
	stores := make([][]*ir.Value, w.q.Splits)
	for x := range w.per {
		if x*ir.DotBlock >= live {
			for t := range stores {
				stores[t] = append(stores[t], w.Splat(w.Int(ir.I32, 0)))
			}
			continue
		}
		d := bind(x)
		for t, c := range w.codes(d) {
			if d.tail != nil {
				c = w.ALU(ir.Where, ir.I32, d.tail, w.Splat(c), w.Int(ir.I32, 0))
			}
			stores[t] = append(stores[t], w.Splat(c))
		}
	}
	for t := range out {
		at := to
		at.off += int64(t)*w.o.Blocks*ir.DotWords + i*ir.DotBlock
		for x, c := range stores[t] {
			w.Store(&ir.Place{Buf: narrow, Terms: w.timesLinear(at, w.per).terms, Off: at.off*w.per + int64(x)*ir.DotBlock, Stride: 1}, c)
		}
		if w.o.Columns {
			out[t] = w.Load(&ir.Place{Buf: w.o.Buf, Terms: at.terms, Off: at.off, Stride: 1}, ir.DotBlock, nil)
		}
	}
	return out
}

// packedInMemory loads a row of words if memory has the packed layout, else it returns nil.
func (w *packer) packedInMemory(d *env, live int64) *ir.Value {
	u := w.o.U
	for u.Op == uop.Cast {
		u = u.Src[0]
	}
	if u.Op != uop.Load || len(u.Src) > 1 || ir.KindOf[u.DType.Scalar()] != w.o.Kind || live%w.per != 0 || w.q.Splits > 1 {
		return nil
	}
	outer := w.env
	w.env = d
	defer func() { w.env = outer }()
	d.tail = nil
	at, _, ok := w.place(w.target(u.Src[0]))
	if !ok || at.Gate != nil || at.Index != nil || at.Stride != 1 || at.Off%w.per != 0 {
		return nil
	}
	words := &ir.Place{Buf: w.asWords(at.Buf), Off: at.Off / w.per, Stride: 1}
	for _, t := range at.Terms {
		if t.Coef%w.per != 0 {
			return nil
		}
		words.Terms = append(words.Terms, ir.Term{V: t.V, Coef: t.Coef / w.per})
	}
	var alt *ir.Value
	if n := live / w.per; n < ir.DotBlock {
		words.Gate, alt = w.firstLanes(n), w.Splat(w.Int(ir.U32, 0))
	}
	return w.flipped(w.Load(words, ir.DotBlock, alt))
}

// firstLanes is true in the first n lanes.
func (w *packer) firstLanes(n int64) *ir.Value {
	return w.Do(ir.Less, ir.Bool, w.New(ir.Lane, ir.I32, w.Lanes, 0), w.Int(ir.I32, n))
}

// codes returns the bits of the numbers of the operand for each term, zero-extended.
func (w *packer) codes(d *env) []*ir.Value {
	outer := w.env
	w.env = d
	v := w.eval(w.o.U)
	w.env = outer
	if w.q.Splits > 1 {
		return w.split(v)
	}
	if w.o.Kind == ir.BF16 {
		return []*ir.Value{w.Splat(w.CodeOf(v))}
	}
	return []*ir.Value{w.Splat(w.ALU(ir.And, ir.I32, w.flipped(v), w.Int(ir.I32, 0xFF)))}
}

// flipped flips the top bits of a vector of bytes, or of words of bytes, if the operand is packed so.
func (w *packer) flipped(v *ir.Value) *ir.Value {
	if !w.o.Flipped {
		return v
	}
	return w.ALU(ir.Xor, v.Kind, v, w.Int(v.Kind, 0x80808080))
}

// word joins several codes into one word.
func (w *packer) word(codes []*ir.Value) *ir.Value {
	v := w.Splat(w.Int(ir.I32, 0))
	for i, c := range codes {
		v = w.ALU(ir.Or, ir.I32, v, w.ALU(ir.Shl, ir.I32, c, w.Int(ir.I32, int64(i)*32/w.per)))
	}
	return v
}

// transposeWords transposes rows of words in registers; n of the results are used.
func (w *packer) transposeWords(rows []*ir.Value, n int64) []*ir.Value {
	for len(rows) < ir.DotBlock {
		rows = append(rows, rows[0])
	}
	out := make([]*ir.Value, n)
	for i := range out {
		out[i] = w.Transposed(rows, int64(i))
	}
	return out
}

// storeBlock stores the rows of a block; nil rows are stored already.
func (w *packer) storeBlock(to linear, term int, rows []*ir.Value) {
	for i, v := range rows {
		if v != nil {
			w.Store(&ir.Place{Buf: w.o.Buf, Terms: to.terms, Off: to.off + int64(term)*w.o.Blocks*ir.DotWords + int64(i)*ir.DotBlock, Stride: 1}, v)
		}
	}
}

// asNumbers is a buffer of words viewed as a buffer of narrow numbers.
func (w *packer) asNumbers(b *ir.Buffer) *ir.Buffer {
	n := *b
	n.Kind, n.Size = ir.U16, b.Size*w.per
	if w.per == 4 {
		n.Kind = ir.U8
	}
	n.Written = true
	return &n
}

// asWords is a buffer of narrow numbers viewed as a buffer of words.
func (w *packer) asWords(b *ir.Buffer) *ir.Buffer {
	n := *b
	n.Kind, n.Size = ir.U32, b.Size/w.per
	if b.Size < 0 {
		n.Size = -1
	}
	return &n
}
