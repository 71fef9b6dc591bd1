package x64

import (
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// transposed is a square of vectors and its transpose.
type transposed struct {
	rows    []*ir.Value
	columns []asm.Reg
}

// makeTranspose is one column of a square of vectors. All columns are computed when the first is needed.
func makeTranspose(g *gen, v *ir.Value) asm.Reg {
	t := g.transposition(v)
	for _, a := range v.Args { // only now, since a row may be computed from another one
		g.vals[a.ID].left--
	}
	return t.columns[v.Bits]
}

// transposition computes all columns of the square that v is a column of, unless that is done.
func (g *gen) transposition(v *ir.Value) transposed {
	done := g.transposed[v.Args[0]]
	if i := slices.IndexFunc(done, func(t transposed) bool { return slices.Equal(t.rows, v.Args) }); i >= 0 {
		return done[i]
	}
	t := transposed{rows: v.Args}
	if g.inMemoryOnly(v.Args) {
		t.columns = g.transposeMemory(v.Args)
	} else {
		rows := make([]asm.Reg, len(v.Args))
		for i, a := range v.Args {
			g.need(a)
			rows[i] = g.vals[a.ID].reg
		}
		t.columns = g.transpose(rows, int(v.Kind.Width()))
	}
	g.transposed[v.Args[0]] = append(g.transposed[v.Args[0]], t)
	return t
}

// inMemoryOnly reports whether all rows are pending loads that can be done in pieces of 16 bytes.
func (g *gen) inMemoryOnly(rows []*ir.Value) bool {
	for _, r := range rows {
		if r.Op != ir.Load || g.vals[r.ID].reg != 0 || r.Pos != 0 || r.At.Gate != nil || r.At.Index != nil || r.At.Stride != 1 ||
			r.Block != g.cur.block || r.At.Buf.Kind.Size() < 4 || !g.f.AVX2 || r.Lanes*int(r.Kind.Width()) <= 16 {
			return false
		}
	}
	return true
}

// transposeMemory transposes a square of elements in memory. Vectors are loaded in pieces of 16 bytes, so that only the small squares
// in each piece are left to transpose: loads and insertions from memory cost less than shuffles.
func (g *gen) transposeMemory(rows []*ir.Value) []asm.Reg {
	n, width := len(rows), int(rows[0].Kind.Width())
	size, per := vectorSize(n, width), 16/width
	at := make([]asm.Mem, n)
	for i, r := range rows {
		at[i] = g.address(r.At, 0)
	}
	insert := asm.VINSERTF128
	if g.f.AVX512 {
		insert = asm.VINSERTF32X4
	}
	var out []asm.Reg
	for c := range n / per {
		square := make([]asm.Reg, per)
		for i := range square {
			square[i] = g.vec()
			g.from(asm.VMOVUPS, 16, square[i], g.plus(at[i], int64(16*c)))
			for p := 1; p < n/per; p++ {
				d := g.vec()
				g.from(insert, size, d, g.plus(at[per*p+i], int64(16*c)), square[i]).Imm = int64(p)
				square[i] = d
			}
		}
		out = append(out, g.transposePieces(square, width, size)...)
	}
	return out
}

// transposePieces transposes the squares within pieces of 16 bytes, over as many vectors as a piece has elements.
func (g *gen) transposePieces(rows []asm.Reg, width, size int) []asm.Reg {
	if width == 4 {
		rows = g.unpack(rows, size, asm.VUNPCKLPS, asm.VUNPCKHPS)
		// Of each four, the two low halves and the two high halves are paired.
		for i := 0; i < len(rows); i += 4 {
			rows[i+1], rows[i+2] = rows[i+2], rows[i+1]
		}
	}
	return g.unpack(rows, size, asm.VUNPCKLPD, asm.VUNPCKHPD)
}

// transpose transposes a square of elements: first the elements of 16 bytes and as many rows, then pieces of 16 bytes.
func (g *gen) transpose(rows []asm.Reg, width int) []asm.Reg {
	n := len(rows)
	size := vectorSize(n, width)
	if n*width < 16 {
		lo, hi := g.vec(), g.vec()
		g.ins(asm.VUNPCKLPS, 16, lo, rows[0], rows[1])
		g.imm(asm.VPSHUFD, 16, hi, 0x0E, lo)
		return []asm.Reg{lo, hi}
	}
	per := 16 / width
	rows = g.transposePieces(rows, width, size)
	// Piece L of rows[per*p+j] is column per*L+j of the p-th group of rows.
	out := make([]asm.Reg, n)
	for j := range per {
		switch n / per {
		case 1:
			out[j] = rows[j]
		case 2:
			out[j], out[per+j] = g.swapHalves(rows[j], rows[per+j])
		case 4:
			a0, a1 := g.pieces(rows[j], rows[per+j])
			b0, b1 := g.pieces(rows[2*per+j], rows[3*per+j])
			out[j], out[2*per+j] = g.pieces(a0, b0)
			out[per+j], out[3*per+j] = g.pieces(a1, b1)
		}
	}
	return out
}

// unpack interleaves pairs of rows.
func (g *gen) unpack(rows []asm.Reg, size int, low, high asm.Op) []asm.Reg {
	out := make([]asm.Reg, len(rows))
	for i := 0; i < len(rows); i += 2 {
		out[i], out[i+1] = g.vec(), g.vec()
		g.ins(low, size, out[i], rows[i], rows[i+1])
		g.ins(high, size, out[i+1], rows[i], rows[i+1])
	}
	return out
}

// swapHalves swaps the upper half of a with the lower half of b.
func (g *gen) swapHalves(a, b asm.Reg) (lo, hi asm.Reg) {
	return g.halvesOf(0, a, b), g.halvesOf(1, a, b)
}

// halvesOf is half i of a and half i of b.
func (g *gen) halvesOf(i int64, a, b asm.Reg) asm.Reg {
	d := g.vec()
	if g.f.AVX512 {
		g.imm(asm.VSHUFF32X4, 32, d, 3*i, a, b)
	} else {
		g.imm(asm.VPERM2F128, 32, d, 0x20+0x11*i, a, b)
	}
	return d
}

// pieces are the even and the odd pieces of two registers of 64 bytes.
func (g *gen) pieces(a, b asm.Reg) (even, odd asm.Reg) {
	even, odd = g.vec(), g.vec()
	g.imm(asm.VSHUFF32X4, 64, even, 0x88, a, b)
	g.imm(asm.VSHUFF32X4, 64, odd, 0xDD, a, b)
	return even, odd
}
