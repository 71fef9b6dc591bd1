package lower

import (
	"math/bits"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// lateRules express operations in those of the target: missing ones by others, multiplication and division by powers of two as
// shifts, comparisons in their shortest form. Order matters.
func lateRules(t *Target) *rewrite.Table {
	var rules []*rewrite.Rule
	has := t.Ops.Has
	add := func(when bool, rs ...*rewrite.Rule) {
		if when {
			rules = append(rules, rs...)
		}
	}
	add(has(uop.Exp), &rewrite.Rule{Name: "1/(1 + e^x)", Ops: uop.Ops(uop.Reciprocal), Need: uop.Ops(uop.Add), Fn: sigmoid})
	add(!has(uop.Threefry), &rewrite.Rule{Name: "THREEFRY in 32 bits", Ops: uop.Ops(uop.Threefry), Fn: threefry})
	add(!has(uop.Max) && has(uop.CmpLt), &rewrite.Rule{Name: "MAX by comparison", Ops: uop.Ops(uop.Max),
		Fn: func(_ any, m *uop.UOp) *uop.UOp { return m.Src[0].Lt(m.Src[1]).Where(m.Src[1], m.Src[0]) }})
	add(!has(uop.Ceil), &rewrite.Rule{Name: "CEIL by FLOOR", Ops: uop.Ops(uop.Ceil), Fn: ceilByFloor})
	add(has(uop.And), &rewrite.Rule{Name: "MOD by a power of two", Ops: uop.Ops(uop.Mod), Fn: modPowerOfTwo})
	add(has(uop.Or), &rewrite.Rule{Name: "!a & !b", Ops: uop.Ops(uop.And), Need: uop.Ops(uop.CmpNe), Fn: deMorgan})
	add(has(uop.Shl), &rewrite.Rule{Name: "MUL by a power of two", Ops: uop.Ops(uop.Mul), Fn: mulPowerOfTwo})
	add(has(uop.Shr),
		&rewrite.Rule{Name: "unsigned IDIV by a power of two", Ops: uop.Ops(uop.Idiv), Fn: udivPowerOfTwo},
		&rewrite.Rule{Name: "IDIV by a power of two", Ops: uop.Ops(uop.Idiv), Fn: divPowerOfTwo},
		&rewrite.Rule{Name: "IDIV by a constant", Ops: uop.Ops(uop.Idiv), Need: uop.Ops(uop.ConstOp), Fn: divByConstant},
		&rewrite.Rule{Name: "MOD by IDIV", Ops: uop.Ops(uop.Mod), Fn: modByDiv})
	add(has(uop.Neg), &rewrite.Rule{Name: "x * -1", Ops: uop.Ops(uop.Mul), Need: uop.Ops(uop.ConstOp), Fn: mulMinusOne})
	add(has(uop.Neg) && has(uop.Sub), &rewrite.Rule{Name: "x + -y", Ops: uop.Ops(uop.Add), Need: uop.Ops(uop.Neg), Fn: addNeg})
	add(has(uop.CmpLt),
		&rewrite.Rule{Name: "!(x < c)", Ops: uop.Ops(uop.CmpNe), Need: uop.Ops(uop.CmpLt, uop.ConstOp), Fn: notLessConst},
		&rewrite.Rule{Name: "!(c < x)", Ops: uop.Ops(uop.CmpNe), Need: uop.Ops(uop.CmpLt, uop.ConstOp), Fn: notConstLess},
		&rewrite.Rule{Name: "-x < y*c", Ops: uop.Ops(uop.CmpLt), Need: uop.Ops(uop.Mul), Fn: negLessMul},
		&rewrite.Rule{Name: "-x < c", Ops: uop.Ops(uop.CmpLt), Need: uop.Ops(uop.Mul), Fn: negLessConst},
		&rewrite.Rule{Name: "c-1 < x < c+1", Ops: uop.Ops(uop.And), Need: uop.Ops(uop.CmpLt), Fn: betweenNeighbours})
	add(has(uop.CmpEq), &rewrite.Rule{Name: "!(x != y)", Ops: uop.Ops(uop.CmpNe), Need: uop.Ops(uop.CmpNe, uop.ConstOp), Fn: notNotEqual})
	add(has(uop.MulAcc), &rewrite.Rule{Name: "a*b + c", Ops: uop.Ops(uop.Add), Need: uop.Ops(uop.Mul), Fn: mulAcc})
	add(!t.computes(uop.MulAcc), &rewrite.Rule{Name: "MULACC by MUL and ADD", Ops: uop.Ops(uop.MulAcc),
		Fn: func(_ any, u *uop.UOp) *uop.UOp { return u.Src[0].Mul(u.Src[1]).Add(u.Src[2]) }})
	add(has(uop.Fdiv),
		&rewrite.Rule{Name: "1/x", Ops: uop.Ops(uop.Reciprocal), Fn: func(_ any, r *uop.UOp) *uop.UOp {
			return r.Src[0].IntLike(1).Alu(uop.Fdiv, r.Src[0])
		}},
		&rewrite.Rule{Name: "a * (1/b)", Ops: uop.Ops(uop.Mul), Need: uop.Ops(uop.Fdiv), Fn: mulReciprocal})
	return rewrite.New("late", rules...)
}

// sigmoid computes 1/(1 + e^x), or with 2^x, without overflow of the power: with that it would become 0 too early.
func sigmoid(_ any, r *uop.UOp) *uop.UOp {
	if r.Src[0].Op != uop.Add {
		return nil
	}
	return eitherOrder(r.Src[0], func(e, one *uop.UOp) *uop.UOp {
		if e.Op != uop.Exp && e.Op != uop.Exp2 || !one.IsConst(uop.Int(1)) {
			return nil
		}
		x := e.Src[0]
		above := x.IntLike(0).Lt(x)
		small := above.Where(x.Mul(x.IntLike(-1)), x).Alu(e.Op)
		return above.Where(small, small.IntLike(1)).Alu(uop.Fdiv, small.AddInt(1))
	})
}

func ceilByFloor(_ any, u *uop.UOp) *uop.UOp {
	x := u.Src[0]
	return x.Mul(x.IntLike(-1)).Alu(uop.Floor).Mul(x.IntLike(-1))
}

// log2Exact is the exponent of a CONST that is a power of two up to 2**63.
func log2Exact(c *uop.UOp) (int64, bool) {
	if c.Op != uop.ConstOp {
		return 0, false
	}
	v := c.ConstVal()
	if !v.IsInt() || v.Sign() <= 0 || v.Big().BitLen() > 64 {
		return 0, false
	}
	u := v.Big().Uint64()
	return int64(bits.TrailingZeros64(u)), u&(u-1) == 0
}

// minusOne is the constant c - 1, written as a node.
func minusOne(c *uop.UOp) *uop.UOp { return c.SubInt(1) }

func modPowerOfTwo(_ any, m *uop.UOp) *uop.UOp {
	x, c := m.Src[0], m.Src[1]
	if _, ok := log2Exact(c); !ok || !isInt(x) {
		return nil
	}
	return x.And(x.ConstLike(c.ConstVal().Sub(uop.Int(1))))
}

func deMorgan(_ any, u *uop.UOp) *uop.UOp {
	x, y := negated(u.Src[0]), negated(u.Src[1])
	if x == nil || y == nil || !x.DType.IsBool() || !y.DType.IsBool() {
		return nil
	}
	return x.Or(y).Not()
}

func mulPowerOfTwo(_ any, m *uop.UOp) *uop.UOp {
	return eitherOrder(m, func(x, c *uop.UOp) *uop.UOp {
		n, ok := log2Exact(c)
		if !ok || n == 0 || !isInt(x) {
			return nil
		}
		if bits := x.DType.Scalar().Bits; n >= int64(bits) && !x.DType.IsIndex() {
			return m.IntLike(0) // nothing is left of x; processors mask a shift count of the full width
		}
		return x.Shl(x.IntLike(n))
	})
}

func udivPowerOfTwo(_ any, d *uop.UOp) *uop.UOp {
	x := d.Src[0]
	n, ok := log2Exact(d.Src[1])
	if !ok || n == 0 || !isInt(x) || !x.DType.IsUnsigned() {
		return nil
	}
	return x.Shr(x.IntLike(n))
}

// divPowerOfTwo rounds towards zero: the divisor minus one is added to a negative dividend first.
func divPowerOfTwo(_ any, d *uop.UOp) *uop.UOp {
	x, c := d.Src[0], d.Src[1]
	n, ok := log2Exact(c)
	if !ok || n == 0 || !isInt(x) {
		return nil
	}
	negative := x.LtInt(0)
	if lo, hi := negative.Bounds(); lo.Eq(hi) {
		negative = negative.ConstLike(lo)
	}
	c1 := minusOne(c)
	return x.Add(negative.Where(c1, c1.IntLike(0))).Shr(x.IntLike(n))
}

func modByDiv(_ any, m *uop.UOp) *uop.UOp {
	x, d := m.Src[0], m.Src[1]
	if !isInt(x) {
		return nil
	}
	return x.Sub(d.Mul(x.Idiv(d)))
}

func mulMinusOne(_ any, m *uop.UOp) *uop.UOp {
	return eitherOrder(m, func(x, c *uop.UOp) *uop.UOp {
		if !c.IsConst(uop.Int(-1)) {
			return nil
		}
		return x.Alu(uop.Neg)
	})
}

func addNeg(_ any, a *uop.UOp) *uop.UOp {
	return eitherOrder(a, func(x, n *uop.UOp) *uop.UOp {
		if n.Op != uop.Neg || accumulates(x) && !a.Graph().IsAsTinygrad() {
			return nil
		}
		return x.Alu(uop.Sub, n.Src[0])
	})
}

// accumulates reports whether a value is an accumulator, perhaps with terms added to it: a sum has terms, a difference would have to go in
// order.
func accumulates(u *uop.UOp) bool {
	if u.Op == uop.Load {
		return u.Src[0].DType.Space == uop.Reg
	}
	return u.Op == uop.Add && (accumulates(u.Src[0]) || accumulates(u.Src[1]))
}

func isConstLike(u *uop.UOp) bool { return u.Op == uop.ConstOp || u.Op == uop.VConstOp }

// within reports whether each value of a constant is of its type after a change.
func within(c *uop.UOp, change func(uop.Const) uop.Const) bool {
	vs, ok := c.Arg.(uop.Consts)
	if !ok {
		vs = uop.Consts{c.ConstVal()}
	}
	d := c.DType.Scalar()
	return !slices.ContainsFunc(vs, func(v uop.Const) bool {
		v = change(v)
		return v.Less(d.Min()) || d.Max().Less(v)
	})
}

func notLessConst(_ any, u *uop.UOp) *uop.UOp {
	lt := negated(u)
	if lt == nil || lt.Op != uop.CmpLt || !isSigned(lt.Src[0]) || !isConstLike(lt.Src[1]) {
		return nil
	}
	c := lt.Src[1]
	if !within(c, func(v uop.Const) uop.Const { return v.Sub(uop.Int(1)) }) {
		return nil
	}
	return minusOne(c).Lt(lt.Src[0])
}

func notConstLess(_ any, u *uop.UOp) *uop.UOp {
	lt := negated(u)
	if lt == nil || lt.Op != uop.CmpLt || !isConstLike(lt.Src[0]) || !isSigned(lt.Src[0]) {
		return nil
	}
	c := lt.Src[0]
	if !within(c, func(v uop.Const) uop.Const { return v.Add(uop.Int(1)) }) {
		return nil
	}
	return lt.Src[1].Lt(c.AddInt(1))
}

// minus is x if u is x * -1 on signed integers.
func minus(u *uop.UOp) *uop.UOp {
	if u.Op != uop.Mul {
		return nil
	}
	return eitherOrder(u, func(x, c *uop.UOp) *uop.UOp {
		if c.IsConst(uop.Int(-1)) && isSigned(x) {
			return x
		}
		return nil
	})
}

func negLessMul(_ any, lt *uop.UOp) *uop.UOp {
	x, m := minus(lt.Src[0]), lt.Src[1]
	if x == nil || m.Op != uop.Mul || !lt.Src[0].Exact() || !m.Exact() {
		return nil
	}
	return eitherOrder(m, func(y, c *uop.UOp) *uop.UOp {
		if !isConstLike(c) || !isSigned(y) || !within(c, uop.Const.Neg) {
			return nil
		}
		if r := y.Mul(c.Neg()); r.Exact() {
			return r.Lt(x)
		}
		return nil
	})
}

func negLessConst(_ any, lt *uop.UOp) *uop.UOp {
	x, c := minus(lt.Src[0]), lt.Src[1]
	if x == nil || !isConstLike(c) || !lt.Src[0].Exact() || !within(c, uop.Const.Neg) {
		return nil
	}
	return c.Neg().Lt(x)
}

// betweenNeighbours turns c1 < x & x < c1+2 into x = c1+1.
func betweenNeighbours(_ any, u *uop.UOp) *uop.UOp {
	return eitherOrder(u, func(a, b *uop.UOp) *uop.UOp {
		if a.Op != uop.CmpLt || b.Op != uop.CmpLt || a.Src[0].Op != uop.ConstOp || b.Src[1].Op != uop.ConstOp {
			return nil
		}
		x, c1, c2 := a.Src[1], a.Src[0], b.Src[1]
		if x != b.Src[0] || !isSigned(x) || !c1.ConstVal().Add(uop.Int(2)).Eq(c2.ConstVal()) {
			return nil
		}
		return x.Eq(c1.AddInt(1))
	})
}

func notNotEqual(_ any, u *uop.UOp) *uop.UOp {
	ne := negated(u)
	if ne == nil || ne.Op != uop.CmpNe {
		return nil
	}
	return ne.Src[0].Alu(uop.CmpEq, ne.Src[1])
}

func mulAcc(_ any, a *uop.UOp) *uop.UOp {
	return eitherOrder(a, func(m, c *uop.UOp) *uop.UOp {
		if m.Op != uop.Mul {
			return nil
		}
		return m.Src[0].Alu(uop.MulAcc, m.Src[1], c)
	})
}

func mulReciprocal(_ any, m *uop.UOp) *uop.UOp {
	return eitherOrder(m, func(a, d *uop.UOp) *uop.UOp {
		if d.Op != uop.Fdiv || !isFloat(a) || !d.Src[0].IsConst(uop.Int(1)) {
			return nil
		}
		return a.Alu(uop.Fdiv, d.Src[1])
	})
}

// highWord is y if v is y * 2^32 for a uint32 y, else nil: then nothing is computed in 64 bits, and vectors have twice the lanes.
func highWord(v *uop.UOp) *uop.UOp {
	shifted := v.Op == uop.Shl && v.Src[1].IsConst(uop.Int(32)) || v.Op == uop.Mul && v.Src[1].IsConst(uop.Int(1<<32))
	if !shifted || v.Src[0].Op != uop.Cast || v.Src[0].Src[0].DType != uop.Uint32 {
		return nil
	}
	return v.Src[0].Src[0]
}

// threefry is the random function Threefry-2x32: 20 rounds on two 32-bit halves. See
// https://www.thesalmons.org/john/random123/papers/random123sc11.pdf
func threefry(_ any, u *uop.UOp) *uop.UOp {
	if u.DType.Scalar() != uop.Uint64 {
		return nil
	}
	const mask, half = 0xffffffff, 1 << 32
	words := func(v *uop.UOp) (low, high *uop.UOp) {
		if y := highWord(v); y != nil {
			return y.IntLike(0), y
		}
		return v.And(v.IntLike(mask)).Cast(uop.Uint32), v.IdivInt(half).And(v.IntLike(mask)).Cast(uop.Uint32)
	}
	x0, x1 := words(u.Src[0])
	k0, k1 := words(u.Src[1])
	rotations := [2][4]int64{{13, 15, 26, 6}, {17, 29, 16, 24}}
	ks := [3]*uop.UOp{k1, k0.Xor(k1).Xor(k0.IntLike(0x1BD11BDA)), k0}
	x0, x1 = x0.Add(ks[2]), x1.Add(ks[0])
	for i := range 5 {
		for _, r := range rotations[i%2] {
			x0, x1 = x0.Add(x1), x0.Add(x1).Xor(x1.MulInt(1<<r).Add(x1.IdivInt(1<<(32-r))))
		}
		x0 = x0.Add(ks[i%3])
		x1 = x1.Add(ks[(i+1)%3]).AddInt(int64(i)).AddInt(1)
	}
	hi := x1.Cast(uop.Uint64)
	return hi.Mul(hi.IntLike(half)).Or(x0.Cast(uop.Uint64))
}
