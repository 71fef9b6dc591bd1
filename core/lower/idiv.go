package lower

import (
	"math/big"

	"polygrad/core/uop"
)

// Division by a constant becomes a multiplication and a shift. See Hacker's Delight, chapter 10.

// magic finds m and s with x/d == x*m >> s for all 0 <= x <= top, where d <= top.
func magic(top *big.Int, d *big.Int) (m *big.Int, s uint) {
	if top.IsUint64() && top.Uint64() < 1<<31 && d.IsUint64() && d.Uint64() < 1<<31 {
		m, s := magicSmall(top.Uint64(), d.Uint64())
		return new(big.Int).SetUint64(m), s
	}
	one := big.NewInt(1)
	nc := new(big.Int).Add(top, one)
	nc.Div(nc, d).Mul(nc, d).Sub(nc, one)
	d1 := new(big.Int).Sub(d, one)
	pow, t, u := new(big.Int), new(big.Int), new(big.Int)
	for s = 0; ; s++ {
		pow.Lsh(one, s)
		t.Mod(t.Sub(pow, one), d) // (2^s - 1) mod d
		t.Sub(d1, t)
		if pow.Cmp(u.Mul(nc, t)) > 0 {
			m = new(big.Int).Add(pow, t)
			return m.Div(m, d), s
		}
	}
}

func magicSmall(top, d uint64) (m uint64, s uint) {
	nc := (top+1)/d*d - 1
	for s = 0; ; s++ {
		t := d - 1 - (1<<s-1)%d
		if 1<<s > nc*t {
			return (1<<s + t) / d, s
		}
	}
}

func divByConstant(ctx any, u *uop.UOp) *uop.UOp {
	x, c := u.Src[0], u.Src[1]
	if c.Op != uop.ConstOp || !isInt(x) || c.ConstVal().Sign() == 0 {
		return nil
	}
	d := c.ConstVal()
	if d.Sign() < 0 {
		if d.Cmp(x.DType.Min()) <= 0 {
			return nil
		}
		return x.Idiv(x.ConstLike(d.Neg())).Neg()
	}
	return fastIdiv(ctx.(*Target), x, d, true)
}

// fastIdiv computes x / d for a positive d by a multiplication. The product must fit into the type of x or, with widen, into the next
// wider type.
func fastIdiv(t *Target, x *uop.UOp, d uop.Const, widen bool) *uop.UOp {
	dt := x.DType
	vmin, vmax := x.Bounds()
	natural := vmin.Sign() >= 0 || dt.Count == 1 && dt.IsUnsigned()
	vmin, vmax = uop.MaxConst(vmin, dt.Min()), uop.MinConst(vmax, dt.Max())
	top := uop.MaxConst(vmax, uop.MaxConst(vmin, vmin.Neg()))
	if top.Cmp(d) < 0 {
		return x.IntLike(0)
	}
	mb, s := magic(top.Big(), d.Big())
	m := uop.BigInt(mb)
	fits := func(dt *uop.DType) bool {
		return m.Mul(vmin).Cmp(dt.Min()) >= 0 && m.Mul(vmax).Cmp(dt.Max()) <= 0
	}
	shifted := func(v *uop.UOp) *uop.UOp { return v.Mul(v.ConstLike(m)).Shr(v.IntLike(int64(s))) }
	roundUp := func(q *uop.UOp) *uop.UOp {
		if natural {
			return q
		}
		return q.Add(x.LtInt(0).Where(x.IntLike(1), x.IntLike(0)))
	}
	if fits(dt) {
		return roundUp(shifted(x))
	}
	// A factor of two in d can be shifted out, which makes x smaller.
	if two := d.And(d.Neg()); two.Cmp(uop.Int(1)) > 0 {
		if q := fastIdiv(t, x.Idiv(x.ConstLike(two)), d.FloorDiv(two), false); q != nil {
			return q
		}
	}
	next := widerInt(dt.Scalar())
	if !widen || next == nil || !t.Supports(next) || !fits(next) {
		return nil
	}
	return roundUp(shifted(x.Cast(next)).Cast(dt))
}

// widerInt is the integer type that holds more than dt, of the same sign where dt is unsigned.
func widerInt(dt *uop.DType) *uop.DType {
	switch dt {
	case uop.Int8:
		return uop.Int16
	case uop.Int16:
		return uop.Int32
	case uop.Int32:
		return uop.Int64
	case uop.Int64:
		return uop.Uint64
	case uop.Uint8:
		return uop.Uint16
	case uop.Uint16:
		return uop.Uint32
	case uop.Uint32:
		return uop.Uint64
	}
	return nil
}
