package nest

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// Where the lanes of a vector lie far apart in memory, but the same lane of neighbouring copies side by side, a square
// of elements is loaded along the other way and turned in registers.

// cross is the loop whose neighbouring iterations are copies that stand side by side, as many as a vector has lanes.
type cross struct {
	rng *uop.UOp
	at  int64 // the number of the copy
}

// turned is the vector of a load from a place, as a lane of vectors that are loaded along the cross loop; nil if that
// cannot be.
func (im *importer) turned(t target, k ir.Kind, at *ir.Place) *ir.Value {
	x := im.env.cross
	if x == nil || at.Index != nil || at.Gate != nil || at.Stride == 0 || at.Stride == 1 || at.Stride == -1 || im.Changes(at.Buf) || k == ir.Bool {
		return nil
	}
	if s := im.slopes(x.rng).of(t.index); s.step != 1 || s.odd {
		return nil
	}
	rows := make([]*ir.Value, im.Lanes)
	for i := range rows {
		rows[i] = im.LoadAs(k, &ir.Place{Buf: at.Buf, Terms: at.Terms, Off: at.Off - x.at + int64(i)*at.Stride, Stride: 1}, im.Lanes, nil)
	}
	return im.Transposed(rows, x.at)
}

// costTurn is what a vector costs that is turned with its neighbours.
const costTurn = 5

// turnWide is how many bytes of a row are stored at a time: a pair of lines.
const turnWide = 2 * line

// turnWeight is how many operations a tile of squares has at most.
const turnWeight = 1 << 10

// planTurn lays out a band without reductions whose loads and stores run along different axes: squares of lanes by
// lanes. A block has as many rows of what is stored as there are pages whose addresses the processor keeps at hand:
// while it is gone through along what is loaded, which is a few long runs, each row of it goes on where it was left. It
// reports whether that pays.
func (im *importer) planTurn(p *plan, acc []access, best float64) bool {
	lanes := int64(im.Lanes)
	switch {
	case p.want[knobTurn] == on:
		best = math.Inf(1)
	case p.want[knobTurn] == off || p.want[knobVector] != open:
		return false
	}
	for _, y := range p.axes {
		for _, x := range p.axes {
			if x == y || x.n < lanes || y.n < lanes {
				continue
			}
			byLane, byCopy := im.slopes(y.r.rng), im.slopes(x.r.rng)
			sum := 0.0
			turns := false
			element := int64(8)
			for _, a := range acc {
				if a.u.Op == uop.Store {
					element = min(element, im.bufs[definition(a.u.Src[0])].Kind.Size())
				}
				s, c := byLane.of(a.u.Src[0]), byCopy.of(a.u.Src[0])
				if cost := costOf(s, a.u.Op); cost != costApart || c.step != 1 || c.odd || s.odd || len(a.u.Src) > 1 {
					sum += cost
				} else {
					sum += costTurn
					turns = true
				}
			}
			if !turns || sum >= best {
				continue
			}
			y.vec, y.unit = true, lanes
			wide := turnWide / (lanes * element)
			for wide > 1 && wide*lanes*im.weight(p.leaf) > turnWeight {
				wide /= 2
			}
			y.jam = p.want.or(knobWide, wide, y.n/lanes)
			x.jam, x.group = lanes, p.want.or(knobAcross, share(x.n/lanes, im.m.Pages/lanes, int64(im.m.Threads)), x.n/lanes)
			p.turn = x
			for _, a := range p.axes {
				if a.plain() {
					p.levels = append(p.levels, level{a, walk})
				}
			}
			x.win, y.win = x.whole(im), y.whole(im)
			p.levels = append(p.levels, level{x, block}, level{y, tiles}, level{x, tiles})
			return true
		}
	}
	return false
}

// turnedStores stores what copies have computed, if the rows of a tile stand side by side in memory and the lanes of
// its vectors do not: the tile is turned in registers. It reports whether that is so.
func (im *importer) turnedStores(u *uop.UOp, copies []*env) bool {
	p := im.at
	if p == nil || p.rows == nil || u.Src[0].DType.Space == uop.Reg || !copies[0].vector || p.rows.live < 2 || p.rows.live > int64(im.Lanes) {
		return false
	}
	rows, units := p.rows.live, int64(len(copies))/p.rows.live
	im.env = copies[0]
	t := im.target(u.Src[0])
	across, down := im.slopes(p.vec.r.rng).of(t.index), im.slopes(p.rows.r.rng).of(t.index)
	if rows*units != int64(len(copies)) || t.gate != nil || t.buf.Kind.Size() < 4 || across.odd || down.odd || down.step != 1 || across.step == 1 || t.buf.Read {
		return false
	}
	var gate *ir.Value
	if rows < int64(im.Lanes) {
		if !p.masks {
			return false
		}
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
			lanes = p.vec.rest() % p.vec.unit
		}
		for i := range lanes {
			at := &ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off + i*l.lane, Stride: 1, Gate: gate}
			im.StoreAs(at, im.Transposed(vals, i))
		}
	}
	return true
}
