package x64

import (
	"slices"

	"polygrad/core/lower/nest"
	"polygrad/render/x64/asm"
)

// turned is a square of vectors that was transposed.
type turned struct {
	rows    []*nest.Value
	columns []asm.Reg
}

// makeTranspose is one column of as many vectors as there are lanes. All columns are computed when the first is needed.
func makeTranspose(g *gen, v *nest.Value) asm.Reg {
	for _, a := range v.Args {
		g.vals[a.ID].left--
	}
	for _, t := range g.turned[v.Args[0]] {
		if slices.Equal(t.rows, v.Args) {
			return t.columns[v.Bits]
		}
	}
	rows := make([]asm.Reg, len(v.Args))
	for i, a := range v.Args {
		g.need(a)
		rows[i] = g.vals[a.ID].reg
	}
	t := turned{v.Args, g.transpose(rows, int(v.Kind.Width()))}
	g.turned[v.Args[0]] = append(g.turned[v.Args[0]], t)
	return t.columns[v.Bits]
}

// transpose turns a square of elements: first the elements of 16 bytes and as many rows, then pieces of 16 bytes.
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
	if width == 4 {
		rows = g.unpack(rows, 1, size, asm.VUNPCKLPS, asm.VUNPCKHPS)
		// Of each four, the two low halves and the two high halves belong together.
		for i := 0; i < n; i += 4 {
			rows[i+1], rows[i+2] = rows[i+2], rows[i+1]
		}
	}
	rows = g.unpack(rows, 1, size, asm.VUNPCKLPD, asm.VUNPCKHPD)
	// rows[per*p+j] has in piece L the column per*L+j of the p-th group of rows.
	out := make([]asm.Reg, n)
	for j := range per {
		switch n / per {
		case 1:
			out[j] = rows[j]
		case 2:
			out[j], out[per+j] = g.crossTwo(rows[j], rows[per+j])
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
func (g *gen) unpack(rows []asm.Reg, step, size int, low, high asm.Op) []asm.Reg {
	out := make([]asm.Reg, len(rows))
	for i := 0; i < len(rows); i += 2 * step {
		a, b := rows[i], rows[i+step]
		out[i], out[i+step] = g.vec(), g.vec()
		g.ins(low, size, out[i], a, b)
		g.ins(high, size, out[i+step], a, b)
	}
	return out
}

// crossTwo exchanges the upper half of a with the lower of b.
func (g *gen) crossTwo(a, b asm.Reg) (lo, hi asm.Reg) {
	lo, hi = g.vec(), g.vec()
	if g.f.AVX512 {
		g.imm(asm.VSHUFF32X4, 32, lo, 0, a, b)
		g.imm(asm.VSHUFF32X4, 32, hi, 3, a, b)
		return lo, hi
	}
	g.imm(asm.VPERM2F128, 32, lo, 0x20, a, b)
	g.imm(asm.VPERM2F128, 32, hi, 0x31, a, b)
	return lo, hi
}

// pieces are the even and the odd pieces of two registers of 64 bytes.
func (g *gen) pieces(a, b asm.Reg) (even, odd asm.Reg) {
	even, odd = g.vec(), g.vec()
	g.imm(asm.VSHUFF32X4, 64, even, 0x88, a, b)
	g.imm(asm.VSHUFF32X4, 64, odd, 0xDD, a, b)
	return even, odd
}
