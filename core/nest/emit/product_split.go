package emit

import (
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// split returns the encodings of the three BF16 parts of an F32, each rounded to nearest, so that the remainder is exact.
func (w *packer) split(v *ir.Value) []*ir.Value {
	v = w.Splat(v)
	w.checkRange(v)
	out := make([]*ir.Value, plan.SplitTerms)
	for i := range out {
		bits := w.Legal(ir.Add, ir.U32, w.Bitcast(ir.F32, ir.U32, v), w.Int(ir.U32, 0x8000))
		bits = w.Legal(ir.And, ir.U32, bits, w.Int(ir.U32, 0xFFFF0000))
		out[i] = w.Bitcast(ir.U32, ir.I32, w.Legal(ir.Shr, ir.U32, bits, w.Int(ir.U32, 16)))
		v = w.Legal(ir.Sub, ir.F32, v, w.Bitcast(ir.U32, ir.F32, bits))
	}
	return out
}

// checkRange accumulates the distance of a magnitude above the least that can be split; it is huge for smaller ones, and 0 counts as in
// range.
func (w *packer) checkRange(v *ir.Value) {
	mag := w.Legal(ir.And, ir.U32, w.Bitcast(ir.F32, ir.U32, v), w.Int(ir.U32, 0x7FFFFFFF))
	above := w.Legal(ir.Sub, ir.U32, mag, w.Int(ir.U32, plan.LeastNormal))
	above = w.Where(ir.U32, w.Compare(ir.Equal, mag, w.Int(ir.U32, 0)), mag, above)
	if w.rangeFlag == nil {
		w.rangeFlag = above
	} else {
		w.rangeFlag = w.Legal(ir.Max, ir.U32, w.rangeFlag, above)
	}
}

// saveRangeFlag accumulates the range flag of a block into the operand's flag in memory.
func (w *packer) saveRangeFlag() {
	if w.rangeFlag == nil {
		return
	}
	at := &ir.Place{Buf: w.o.Range, Stride: 1}
	w.Store(at, w.Legal(ir.Max, ir.U32, w.rangeFlag, w.Load(at, w.Lanes, nil)))
	w.rangeFlag = nil
}

// beginRange and endRange enclose the packing of an operand: they set its entry in openBand.bad to 1 if a number is out of range, else 0.
func (w *packer) beginRange() {
	if w.q.Splits > 1 {
		w.Store(&ir.Place{Buf: w.o.Range, Stride: 1}, w.Splat(w.Int(ir.U32, 0)))
	}
}

func (w *packer) endRange() {
	if w.q.Splits == 1 {
		return
	}
	most := w.Load(&ir.Place{Buf: w.o.Range, Stride: 1}, w.Lanes, nil)
	out := w.New(ir.AnyLane, ir.Bool, 1, 0, w.Compare(ir.LessEqual, w.Splat(w.Int(ir.U32, plan.Greatest-plan.LeastNormal)), most))
	w.p.bad[w.o] = w.Cast(ir.I64, out)
}

// guarded emits a tile of a product, with a fallback without splitting where an operand is out of range.
func (im *emitter) guarded(p *openBand, e *env) {
	q := p.Product
	if q.Splits == 1 {
		im.productTile(p, e)
		return
	}
	bad := im.Legal(ir.Or, ir.I64, p.bad[q.Rows], p.bad[q.Columns])
	good := im.Legal(ir.Sub, ir.I64, im.Int(ir.I64, 1), bad)
	im.emitIf("split", good, func() { im.productTile(p, e) })
	if !p.pass.last {
		return
	}
	im.emitIf("not split", bad, func() {
		outer := im.at
		im.at = p
		im.rowsOfTile(p, e, func(copies []*env, _ func(int) *ir.Place) { im.body(p.Leaf, copies) })
		im.at = outer
	})
}
