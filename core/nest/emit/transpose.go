package emit

import (
	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// cross is the loop whose neighbouring iterations are unrolled copies, as many as a vector has lanes.
type cross struct {
	rng *uop.UOp
	at  int64 // the number of the copy
}

// transposedLoad is the vector of a load from a place, as a lane of vectors that are loaded along the cross loop; nil if that
// cannot be.
func (im *emitter) transposedLoad(t target, k ir.Kind, at *ir.Place) *ir.Value {
	x := im.env.cross
	if x == nil || at.Index != nil || at.Gate != nil || at.Stride == 0 || at.Stride == 1 || at.Stride == -1 || im.Changes(at.Buf) || k == ir.Bool {
		return nil
	}
	if s := im.Slopes(x.rng).Of(t.index); s.Step != 1 || s.Irregular {
		return nil
	}
	rows := make([]*ir.Value, im.Lanes)
	for i := range rows {
		rows[i] = im.LoadAs(k, &ir.Place{Buf: at.Buf, Terms: at.Terms, Off: at.Off - x.at + int64(i)*at.Stride, Stride: 1}, im.Lanes, nil)
	}
	return im.Transposed(rows, x.at)
}

// transposedStores stores what copies have computed, if the rows of a tile stand side by side in memory and the lanes of
// its vectors do not: the tile is transposed in registers. It reports whether it has stored them.
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
			// Rows that are not there stand for themselves as the first one; nothing stores them.
			im.env = copies[0]
			if int64(i) < rows {
				im.env = copies[int64(i)*units+j]
			}
			vals[i] = im.Splat(im.eval(u.Src[1]))
		}
		im.env = copies[j]
		l := im.linearOf(t.index)
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
