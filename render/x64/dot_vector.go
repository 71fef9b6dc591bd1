package x64

import (
	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

const (
	// dotRows is the number of rows multiplied together with two vectors of columns, dotUnroll the unroll factor over their words.
	dotRows   = 8
	dotUnroll = 4
)

// dotVector is a dot product by vectors: each word of a row of A times a word of every column.
type dotVector struct {
	*gen
	*ir.Dot
	sums [dotRows][2]asm.Reg
	// The byte instruction multiplies unsigned by signed bytes. If both operands are of one kind the highest bit of B is flipped (flip),
	// which adds or subtracts 128 times the sum of a row of A (over).
	flip asm.Reg
	over [dotRows]asm.Reg
}

// dotVectors multiplies with vectors.
func (g *gen) dotVectors(d *ir.Dot) {
	w := &dotVector{gen: g, Dot: d}
	a, b, c := g.pointer(d.A), g.pointer(d.B), g.pointer(d.C)
	if d.Kind == d.BKind && d.Kind != ir.BF16 {
		w.flip = g.splat(4, 16, 0x80808080)
	}
	g.repeat(int64(d.Rows*tileRows/dotRows), func() {
		ra, rb := g.gp(), g.gp()
		g.move(ra, a)
		g.move(rb, b)
		w.begin(c)
		g.repeat(d.Steps, func() {
			g.repeat(tileRows/dotUnroll, func() {
				for word := range dotUnroll {
					w.word(ra, rb, word)
				}
			}, pointerMove{ra, dotUnroll * wordBytes}, pointerMove{rb, dotUnroll * tileRow})
		}, pointerMove{ra, d.AStep*wordBytes - tileRow}, pointerMove{rb, d.BStep*wordBytes - tileBytes})
		w.write(c)
	}, pointerMove{a, dotRows * tileRow}, pointerMove{c, dotRows * d.CRow * wordBytes})
}

// begin initializes the sums with 0, or with their current values.
func (w *dotVector) begin(c asm.Reg) {
	for i := range w.sums {
		for j := range w.Cols {
			w.sums[i][j] = w.vec()
			if w.More {
				w.from(asm.VMOVUPS, 64, w.sums[i][j], w.at(c, i, j))
			} else {
				w.zero(w.sums[i][j], 64)
			}
		}
		if w.flip != 0 {
			w.over[i] = w.vec()
			w.zero(w.over[i], 64)
		}
	}
}

// at is the register of a sum.
func (w *dotVector) at(c asm.Reg, row, col int) asm.Mem {
	return asm.Mem{Base: c, Disp: int32(int64(row)*w.CRow*wordBytes) + int32(col*tileRow)}
}

// word multiplies one word of each row.
func (w *dotVector) word(a, b asm.Reg, n int) {
	var cols [2]asm.Reg
	for j := range w.Cols {
		cols[j] = w.vec()
		m := asm.Mem{Base: b, Disp: int32(j*tileBytes + n*tileRow)}
		if w.flip != 0 {
			w.from(asm.VPXORD, 64, cols[j], m, w.flip)
		} else {
			w.from(asm.VMOVUPS, 64, cols[j], m)
		}
	}
	for i := range w.sums {
		row := asm.Mem{Base: a, Disp: int32(i*tileRow + n*wordBytes)}
		switch w.Kind {
		case ir.BF16:
			for j := range w.Cols {
				w.from(asm.VDPBF16PS, 64, w.sums[i][j], row, cols[j]).Bcast = true
			}
		case ir.I8:
			for j := range w.Cols {
				w.from(asm.VPDPBUSD, 64, w.sums[i][j], row, cols[j]).Bcast = true
			}
			if w.flip != 0 {
				w.from(asm.VPDPBUSD, 64, w.over[i], row, w.flip).Bcast = true
			}
		default:
			r := w.vec()
			w.from(asm.VBROADCASTSS, 64, r, row)
			for j := range w.Cols {
				w.ins(asm.VPDPBUSD, 64, w.sums[i][j], r, cols[j])
			}
			if w.flip != 0 {
				w.ins(asm.VPDPBUSD, 64, w.over[i], r, w.flip)
			}
		}
	}
}

// write stores the sums.
func (w *dotVector) write(c asm.Reg) {
	for i := range w.sums {
		for j := range w.Cols {
			if w.flip != 0 {
				w.ins(asm.VPSUBD, 64, w.sums[i][j], w.sums[i][j], w.over[i])
			}
			w.to(asm.VMOVUPS, 64, w.at(c, i, j), w.sums[i][j])
		}
	}
}
