package emit

import (
	"slices"

	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// transposeLoop is the loop whose neighbouring iterations are unrolled copies, as many as a vector has lanes.
type transposeLoop struct {
	rng *uop.UOp
	at  int64 // the number of the copy
}

// transposedLoad emits a load as a row of a transposed square of vectors loaded along the transpose loop; nil if it cannot.
func (im *emitter) transposedLoad(t target, k ir.Kind, at *ir.Place) *ir.Value {
	x := im.env.transpose
	if x == nil || at.Index != nil || at.Gate != nil || at.Stride == 0 || at.Stride == 1 || at.Stride == -1 || im.MayChange(at.Buf) {
		return nil
	}
	s := im.Slopes(x.rng).Of(t.index)
	if s.Step != 1 && s.Step != -1 || s.Irregular {
		return nil
	}
	first, lane := at.Off-x.at, x.at
	if s.Step < 0 {
		lane = int64(im.Lanes) - 1 - x.at
		first = at.Off - lane
	}
	rows, from := make([]*ir.Value, im.Lanes), k
	if k == ir.Bool {
		from = ir.U8 // vectors of Bools are masks
	}
	for i := range rows {
		rows[i] = im.LoadAs(from, &ir.Place{Buf: at.Buf, Terms: at.Terms, Off: first + int64(i)*at.Stride, Stride: 1}, im.Lanes, nil)
	}
	v := im.Transposed(rows, lane)
	if k == ir.Bool {
		v = im.Cast(k, v)
	}
	return v
}

// transposedRows emits a sequential loop over rows that are the lanes of vectors: as many iterations as lanes at a time, whose loads and
// stores are squares transposed in registers.
func (im *emitter) transposedRows(r *analysis.Region, copies []*env) {
	lanes, all := int64(im.Lanes), im.span(r)
	squares := all.n / lanes
	im.Builder.Loop(r.Label()+" squares", im.Int(ir.I64, squares), func(l *ir.Loop) {
		im.carried(l, r, copies, func(inner []*env) {
			from := im.addLinear(all.from, linear{terms: []ir.Term{{V: l.Iter, Coef: lanes}}}, 1)
			for _, e := range inner {
				im.transposeSquare(r, e, from)
			}
		})
	})
	if rest := all.n % lanes; rest > 0 {
		im.env = copies[0]
		im.sequentialIterations(r, copies, im.addLinear(all.from, linear{off: squares * lanes}, 1), im.Int(ir.I64, rest))
	}
}

// transposeSquare emits as many iterations as lanes, then their stores.
func (im *emitter) transposeSquare(r *analysis.Region, e *env, from linear) {
	lanes := int64(im.Lanes)
	stored := map[*uop.UOp][]*ir.Value{}
	var first *env
	for i := range lanes {
		step := newEnv(e)
		step.transpose = &transposeLoop{r.Rng, i}
		step.linears.set(r.Rng, im.addLinear(from, linear{off: i}, 1))
		im.env = step
		for _, p := range r.Parts {
			if toMemory(p.U) {
				stored[p.U] = append(stored[p.U], im.Splat(im.eval(p.U.Src[1])))
			} else {
				im.effect(p.U)
			}
		}
		for _, s := range r.Written(nil) {
			if v := step.own(s); v != nil {
				e.regs.set(s, v)
			}
		}
		if i == 0 {
			first = step
		}
	}
	im.env = first
	for _, p := range r.Parts {
		if !toMemory(p.U) {
			continue
		}
		t, vals := im.target(p.U.Src[0]), stored[p.U]
		l := im.addressOf(t.index)
		if im.Slopes(r.Rng).Of(t.index).Step < 0 {
			slices.Reverse(vals)
			l.off -= lanes - 1
		}
		for row := range lanes {
			im.StoreAs(&ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + row*l.lane, Stride: 1}, im.Transposed(vals, row))
		}
	}
}

// toMemory reports whether an operation is a store to memory.
func toMemory(u *uop.UOp) bool { return u.Op == uop.Store && u.Src[0].DType.Space != uop.Reg }

// transposedStores stores what copies have computed, if the rows of a tile are adjacent in memory and the lanes of its vectors are not: the tile is
// transposed in registers. It reports whether it has stored them.
func (im *emitter) transposedStores(u *uop.UOp, copies []*env) bool {
	p := im.at
	if p == nil || p.Rows == nil || !copies[0].vector {
		return false
	}
	rows := p.at(p.Rows).live
	units := int64(len(copies)) / rows
	if !p.Transposes(u, rows, int64(im.Lanes)) || rows*units != int64(len(copies)) {
		return false
	}
	im.env = copies[0]
	t := im.target(u.Src[0])
	var gate *ir.Value
	if rows < int64(im.Lanes) {
		gate = im.ALU(ir.Less, ir.Bool, im.New(ir.Lane, ir.I32, im.Lanes, 0), im.Int(ir.I32, rows))
	}
	for j := range units {
		vals := make([]*ir.Value, im.Lanes)
		for i := range vals {
			// Missing rows are copies of the first one; they are not stored.
			im.env = copies[0]
			if int64(i) < rows {
				im.env = copies[int64(i)*units+j]
			}
			vals[i] = im.Splat(im.eval(u.Src[1]))
		}
		im.env = copies[j]
		l := im.addressOf(t.index)
		lanes := int64(im.Lanes)
		if im.env.tail != nil {
			lanes = p.Vec.Rest() % p.Vec.Unit
		}
		for i := range lanes {
			at := &ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + i*l.lane, Stride: 1, Gate: gate}
			im.StoreAs(at, im.Transposed(vals, i))
		}
	}
	return true
}
