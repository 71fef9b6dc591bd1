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
	// over is the excess of the sums of each vector of columns that is due to the bias.
	over [2]asm.Reg
}

// dotVectors multiplies with vectors.
func (g *gen) dotVectors(d *ir.Dot) {
	w := &dotVector{gen: g, Dot: d}
	a, b, c := g.pointer(d.A), g.pointer(d.B), g.pointer(d.C)
	if d.Bias != 0 {
		w.sumBias(b)
	}
	g.repeat(int64(d.Rows*tileRows/dotRows), func() {
		ra, rb := g.gp(), g.gp()
		g.move(ra, a)
		g.move(rb, b)
		w.begin(c)
		w.steps(func(word int) { w.word(ra, rb, word) }, pointerMove{rb, tileRow}, pointerMove{ra, wordBytes})
		w.write(c)
	}, pointerMove{a, dotRows * tileRow}, pointerMove{c, dotRows * d.CRow * wordBytes})
}

// steps emits f for dotUnroll words in a loop over all words of all steps of the sum. The pointer to words of B, and that
// to words of A if there is one, move by as much as is given for a word.
func (w *dotVector) steps(f func(word int), b pointerMove, a ...pointerMove) {
	words, steps := []pointerMove{{b.reg, b.by * dotUnroll}}, []pointerMove{{b.reg, w.BStep*wordBytes - b.by*tileRows}}
	for _, m := range a {
		words, steps = append(words, pointerMove{m.reg, m.by * dotUnroll}), append(steps, pointerMove{m.reg, w.AStep*wordBytes - m.by*tileRows})
	}
	w.repeat(w.Steps, func() {
		w.repeat(tileRows/dotUnroll, func() {
			for word := range dotUnroll {
				f(word)
			}
		}, words...)
	}, steps...)
}

// sumBias sums the products of the bias, which is the byte 0x80 for either signedness.
func (w *dotVector) sumBias(b asm.Reg) {
	bias := w.splat(4, 16, 0x80808080)
	// Each word has its own sums: a single chain of additions would be bound by their latency.
	var sums [dotUnroll][2]asm.Reg
	for n := range sums {
		for j := range w.Cols {
			sums[n][j] = w.vec()
			w.zero(sums[n][j], 64)
		}
	}
	rb := w.gp()
	w.move(rb, b)
	w.steps(func(word int) {
		for j := range w.Cols {
			w.multiply(sums[word][j], bias, w.column(rb, j, word))
		}
	}, pointerMove{rb, tileRow})
	for j := range w.Cols {
		w.over[j] = sums[0][j]
		for n := range dotUnroll - 1 {
			w.ins(asm.VPADDD, 64, w.over[j], w.over[j], sums[n+1][j])
		}
	}
}

// column loads a word of a vector of columns.
func (w *dotVector) column(b asm.Reg, col, word int) asm.Reg {
	r := w.vec()
	w.from(asm.VMOVUPS, 64, r, asm.Mem{Base: b, Disp: int32(col*tileBytes + word*tileRow)})
	return r
}

// multiply adds products of words of A and B to sums. The instruction for bytes takes unsigned ones first.
func (w *dotVector) multiply(sum, a, b asm.Reg) {
	switch {
	case w.Kind == ir.BF16:
		w.ins(asm.VDPBF16PS, 64, sum, a, b)
	case w.Kind == ir.U8 && w.BKind == ir.I8:
		w.ins(asm.VPDPBUSD, 64, sum, a, b)
	case w.Kind == ir.I8 && w.BKind == ir.U8:
		w.ins(asm.VPDPBUSD, 64, sum, b, a)
	default:
		fail("a sum of products of %v and %v without a bias", w.Kind, w.BKind)
	}
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
	}
}

// at is the place of a sum in C.
func (w *dotVector) at(c asm.Reg, row, col int) asm.Mem {
	return asm.Mem{Base: c, Disp: int32(int64(row)*w.CRow*wordBytes) + int32(col*tileRow)}
}

// word multiplies one word of each row.
func (w *dotVector) word(a, b asm.Reg, n int) {
	var cols [2]asm.Reg
	for j := range w.Cols {
		cols[j] = w.column(b, j, n)
	}
	for i := range w.sums {
		r := w.vec()
		w.from(asm.VBROADCASTSS, 64, r, asm.Mem{Base: a, Disp: int32(i*tileRow + n*wordBytes)})
		for j := range w.Cols {
			w.multiply(w.sums[i][j], r, cols[j])
		}
	}
}

// write stores the sums.
func (w *dotVector) write(c asm.Reg) {
	for i := range w.sums {
		for j := range w.Cols {
			if w.Bias != 0 {
				w.ins(asm.VPSUBD, 64, w.sums[i][j], w.sums[i][j], w.over[j])
			}
			w.to(asm.VMOVUPS, 64, w.at(c, i, j), w.sums[i][j])
		}
	}
}
