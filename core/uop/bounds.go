package uop

// Bounds are the least and greatest value that an element of u can have (tinygrad's vmin, vmax).
// Arithmetic that wraps (see DType.Wraps) and may leave the range of its type can have any value of the type; its bounds also include the value
// without wrapping, so that no more is decided than in tinygrad. Other arithmetic is assumed not to overflow; casts wrap. A constant is first
// converted to its type. NaN has no order, so a constant that is or contains NaN has the bounds of its type. Integer bounds of more than 1024 bits,
// as those of repeated squares, whose length doubles from node to node, are replaced by bounds just outside of the type.
func (u *UOp) Bounds() (lo, hi Const) {
	if u.Op == ConstOp {
		if c := u.ConstVal(); c.kind != KindInvalid && !c.isNaN() {
			c = u.DType.wrapped(c)
			return c, c
		}
	}
	p := u.props()
	if !p.hasBounds {
		p.min, p.max = u.computeBounds()
		p.hasBounds = true
	}
	return p.min, p.max
}

// Vmin is the least value of u.
func (u *UOp) Vmin() Const { lo, _ := u.Bounds(); return lo }

// Vmax is the greatest value of u.
func (u *UOp) Vmax() Const { _, hi := u.Bounds(); return hi }

// Exact reports whether the value of u is known to be what the same arithmetic gives in unbounded integers.
func (u *UOp) Exact() bool { return !u.DType.Wraps() || !u.Overflows(u.DType) }

// wrapped is the value of a constant of the type: if the type wraps, an integer out of range is truncated to its bits.
func (d *DType) wrapped(c Const) Const {
	if c.kind == KindInt && d.Wraps() && (c.Cmp(d.Min()) < 0 || d.Max().Cmp(c) < 0) {
		return c.Truncate(d)
	}
	return c
}

// Overflows reports whether a value of u can be outside dt.
func (u *UOp) Overflows(dt *DType) bool {
	lo, hi := u.Bounds()
	return lo.Cmp(dt.Min()) < 0 || dt.Max().Cmp(hi) < 0
}

func minMaxOf(vs ...Const) (lo, hi Const) {
	lo, hi = vs[0], vs[0]
	for _, v := range vs[1:] {
		lo, hi = MinConst(lo, v), MaxConst(hi, v)
	}
	return lo, hi
}

func (u *UOp) computeBounds() (Const, Const) {
	if GroupBinary.Has(u.Op) && !u.DType.IsFloat() {
		if lo, hi, ok := u.binaryBounds(); ok {
			if u.DType.Wraps() && (lo.Cmp(u.DType.Min()) < 0 || u.DType.Max().Cmp(hi) < 0) {
				lo, hi = MinConst(lo, u.DType.Min()), MaxConst(hi, u.DType.Max())
			}
			if u.DType.IsInt() && (lo.long() || hi.long()) {
				return u.DType.Min().Sub(Int(1)), u.DType.Max().Add(Int(1)) // outside of the type, since it may overflow
			}
			return lo, hi
		}
	}
	switch u.Op {
	case Where:
		if u.DType.IsInt() {
			a, b := u.Src[1], u.Src[2]
			return MinConst(a.Vmin(), b.Vmin()), MaxConst(a.Vmax(), b.Vmax())
		}
	case DefineVar:
		v := u.Arg.(VarArg)
		return v.Min, v.Max
	case Range, Special:
		return Int(0), u.Src[0].Vmax().Sub(Int(1))
	case Bind:
		return u.Src[0].Bounds()
	case Unroll, Vectorize:
		if len(u.Src) > 0 {
			lo, hi := u.Src[0].Bounds()
			for _, s := range u.Src[1:] {
				lo, hi = MinConst(lo, s.Vmin()), MaxConst(hi, s.Vmax())
			}
			return lo, hi
		}
	case ConstOp:
		if c := u.ConstVal(); !c.IsInvalid() && !c.isNaN() {
			return c, c
		}
	case VConstOp:
		cs := u.Arg.(Consts)
		for _, c := range cs {
			if c.IsInvalid() || c.isNaN() {
				return u.DType.Min(), u.DType.Max()
			}
		}
		return minMaxOf(cs...)
	case Gep:
		return u.Src[0].Bounds()
	case Neg:
		if lo, hi := u.Src[0].Bounds(); u.DType.IsInt() && !u.DType.IsUnsigned() && lo.Cmp(u.DType.Min()) > 0 {
			return hi.Neg(), lo.Neg()
		}
	case Cast:
		if u.DType.Count == 1 && !u.DType.IsPtr() && !u.DType.IsBool() && !u.DType.IsUnsigned() && u.DType != Void {
			lo, hi := u.Src[0].Bounds()
			least, most := u.DType.Min(), u.DType.Max()
			if u.DType.IsInt() && u.Src[0].DType.IsInt() && (lo.Cmp(least) < 0 || hi.Cmp(most) > 0) {
				return least, most // a value that does not fit wraps
			}
			return MaxConst(least, lo), MinConst(hi, most)
		}
	}
	return u.DType.Min(), u.DType.Max()
}

// modular are the operations whose integer constants may be outside of their type: x + -1 is x - 1 for unsigned x, too.
var modular = Ops(Add, Sub, Mul)

// unwrapped are the bounds of an operand of a modular operation: a constant keeps its value even if that is outside of the type.
func (u *UOp) unwrapped() (lo, hi Const) {
	if u.Op == ConstOp {
		if c := u.ConstVal(); c.kind == KindInt {
			return c, c
		}
	}
	return u.Bounds()
}

func (u *UOp) binaryBounds() (lo, hi Const, ok bool) {
	bounds := (*UOp).Bounds
	if modular.Has(u.Op) {
		bounds = (*UOp).unwrapped
	}
	alo, ahi := bounds(u.Src[0])
	blo, bhi := bounds(u.Src[1])
	zero := Int(0)
	bconst := blo.Cmp(bhi) == 0
	switch u.Op {
	case Add:
		return alo.Add(blo), ahi.Add(bhi), true
	case Sub:
		return alo.Sub(bhi), ahi.Sub(blo), true
	case And:
		if u.DType.IsInt() && bconst && bhi.Sign() >= 0 {
			if alo.Sign() < 0 {
				return zero, bhi, true
			}
			return zero, MinConst(ahi, bhi), true
		}
		if u.DType == Bool {
			return BoolConst(alo.Truth() && blo.Truth()), BoolConst(ahi.Truth() && bhi.Truth()), true
		}
	case Mul:
		lo, hi = minMaxOf(alo.Mul(blo), alo.Mul(bhi), ahi.Mul(blo), ahi.Mul(bhi))
		return lo, hi, true
	case Shl:
		if bconst {
			return alo.Shl(blo), ahi.Shl(blo), true
		}
	case Shr:
		if bconst {
			return alo.Shr(blo), ahi.Shr(blo), true
		}
	case Mod:
		return modBounds(alo, ahi, blo, bhi)
	case Idiv:
		if blo.Mul(bhi).Sign() > 0 {
			lo, hi = minMaxOf(alo.CDiv(blo), alo.CDiv(bhi), ahi.CDiv(blo), ahi.CDiv(bhi))
			return lo, hi, true
		}
	case Max:
		return MaxConst(alo, blo), MaxConst(ahi, bhi), true
	case CmpLt:
		return BoolConst(ahi.Cmp(blo) < 0), BoolConst(alo.Cmp(bhi) < 0), true
	case CmpNe:
		same := alo.Eq(ahi) && ahi.Eq(blo) && blo.Eq(bhi)
		return BoolConst(ahi.Cmp(blo) < 0 || bhi.Cmp(alo) < 0), BoolConst(!same), true
	case Or:
		if u.DType == Bool {
			return BoolConst(alo.Truth() || blo.Truth()), BoolConst(ahi.Truth() || bhi.Truth()), true
		}
	}
	return lo, hi, false
}

// modBounds bounds a C remainder.
func modBounds(alo, ahi, blo, bhi Const) (lo, hi Const, ok bool) {
	zero, one := Int(0), Int(1)
	if blo.Cmp(bhi) == 0 && bhi.Sign() > 0 {
		c := blo
		switch {
		case alo.Sign() > 0:
			lo = zero
		case alo.Cmp(c.Neg()) > 0:
			lo = alo
		default:
			lo = one.Sub(c)
		}
		switch {
		case ahi.Sign() < 0:
			hi = zero
		case ahi.Cmp(c) < 0:
			hi = ahi
		default:
			hi = c.Sub(one)
		}
		return lo, hi, true
	}
	var m Const
	switch {
	case blo.Sign() > 0:
		m = bhi.Sub(one)
	case bhi.Sign() < 0:
		m = blo.Neg().Sub(one)
	default:
		return lo, hi, false
	}
	lo, hi = m.Neg(), m
	if alo.Sign() >= 0 {
		lo = zero
	} else if ahi.Sign() <= 0 {
		hi = zero
	}
	return lo, hi, true
}
