package x64

import (
	"math"
	"math/big"
	"math/bits"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// magic is a division by a constant as a multiplication: the quotient is the high half of the product with a number of one bit more
// than fits, shifted right. By is that number without its top bit; instead the dividend is added to the high half (Granlund
// and Montgomery 1994).
type magic struct {
	by    uint64
	shift uint
}

// unsignedMagic is for divisors other than powers of two.
func unsignedMagic(d uint64, width uint) magic {
	l := uint(bits.Len64(d - 1))
	// by = floor(2**width * (2**l - d) / d) + 1
	n := new(big.Int).Lsh(big.NewInt(1), l)
	n.Sub(n, new(big.Int).SetUint64(d))
	n.Lsh(n, width)
	n.Quo(n, new(big.Int).SetUint64(d))
	return magic{by: n.Uint64() + 1, shift: l - 1}
}

// signedMagic is for divisors from 3 on other than powers of two. Negative numbers get 1 more after the shift.
func signedMagic(d uint64, width uint) magic {
	l := uint(bits.Len64(d - 1))
	// by = floor(2**(width+l-1) / d) + 1, at least 2**(width-1): as a signed number it is that minus 2**width.
	n := new(big.Int).Lsh(big.NewInt(1), width+l-1)
	n.Quo(n, new(big.Int).SetUint64(d))
	return magic{by: n.Uint64() + 1, shift: l - 1}
}

// quotient emits the quotient of a general register by a constant other than 0, 1 and -1.
func (g *gen) quotient(k ir.Kind, size int, a asm.Reg, c int64) asm.Reg {
	width := uint(8 * size)
	if !k.Signed() {
		d := uint64(c)
		if size == 4 {
			d = uint64(uint32(c))
		}
		return g.unsignedQuotient(size, a, d)
	}
	d := uint64(c)
	if c < 0 {
		d = -d
	}
	q := g.gp()
	if d&(d-1) == 0 {
		// Negative numbers get d-1 more, so the shift rounds towards zero.
		n := log2(int64(d))
		g.move(q, a)
		if n > 1 {
			g.imm(asm.SAR, size, q, int64(width)-1)
		}
		g.imm(asm.SHR, size, q, int64(width)-n)
		g.ins(asm.ADD, size, q, a)
		g.imm(asm.SAR, size, q, n)
	} else {
		m := signedMagic(d, width)
		by := g.gp()
		g.number(by, m.by)
		g.ins(asm.MOV, size, asm.RAX, by)
		g.ins(asm.IMUL1, size, 0, a)
		g.ins(asm.ADD, size, asm.RDX, a)
		if m.shift > 0 {
			g.imm(asm.SAR, size, asm.RDX, int64(m.shift))
		}
		g.ins(asm.MOV, size, q, a)
		g.imm(asm.SHR, size, q, int64(width)-1)
		g.ins(asm.ADD, size, q, asm.RDX)
	}
	if c < 0 {
		g.ins(asm.NEG, size, q)
	}
	return q
}

func (g *gen) unsignedQuotient(size int, a asm.Reg, d uint64) asm.Reg {
	q := g.gp()
	if d&(d-1) == 0 {
		g.move(q, a)
		g.imm(asm.SHR, size, q, int64(bits.TrailingZeros64(d)))
		return q
	}
	m := unsignedMagic(d, uint(8*size))
	by := g.gp()
	g.number(by, m.by)
	g.ins(asm.MOV, size, asm.RAX, by)
	g.ins(asm.MUL, size, 0, a)
	// (high + (a - high)/2) >> shift is (a + high) >> (shift+1) without the carry.
	g.ins(asm.MOV, size, q, a)
	g.ins(asm.SUB, size, q, asm.RDX)
	g.imm(asm.SHR, size, q, 1)
	g.ins(asm.ADD, size, q, asm.RDX)
	if m.shift > 0 {
		g.imm(asm.SHR, size, q, int64(m.shift))
	}
	return q
}

// divideConst divides by a constant.
func (g *gen) divideConst(v, a, b *ir.Value) asm.Reg {
	g.vals[b.ID].left--
	c := signed(b)
	size := g.size(v)
	ra := g.use(a)
	d := g.gp()
	minus := c == -1 && v.Kind.Signed()
	switch {
	case c == 0 || v.Op == ir.Mod && (minus || c == 1):
		g.number(d, 0)
	case minus:
		g.move(d, ra)
		g.ins(asm.NEG, size, d)
	case c == 1:
		g.move(d, ra)
	case v.Op == ir.Div:
		return g.quotient(v.Kind, size, ra, c)
	case !v.Kind.Signed() && c > 0 && c&(c-1) == 0 && c <= math.MaxInt32:
		g.move(d, ra)
		g.imm(asm.AND, size, d, c-1)
	default:
		q := g.quotient(v.Kind, size, ra, c)
		p := g.gp()
		g.multiply(size, p, q, c)
		g.move(d, ra)
		g.ins(asm.SUB, size, d, p)
	}
	return d
}
