package symbolic

import (
	"math"

	"polygrad/core/uop"
)

// wrapLate are the operations that may be computed before their operands wrap around: the low bits of their results
// depend only on the low bits of the operands. Floats are rounded before each operation, except in tinygrad's graphs.
var wrapLate = uop.Ops(uop.Add, uop.Sub, uop.Mul, uop.Neg, uop.And, uop.Or, uop.Xor, uop.Shl, uop.MulAcc, uop.Where)

// foldConsts computes an operation on constants. Vectors are rounded to their type, scalars are not: integers stay as they are until an
// operation needs their value, or they are beyond 64 bits, since repeated squares double their size. x/c stays a division, so that it is
// rounded once, unless the product with 1/c is exact.
func foldConsts(u *uop.UOp) *uop.UOp {
	n := u.DType.Count
	if n == 1 {
		if v, ok := foldAt(u, 0); ok && (u.Op != uop.Reciprocal && u.Op != uop.Fdiv || whole(u) || isPowerOf2(u.DType, v)) {
			return u.ConstLike(v)
		}
		return nil
	}
	vs := make([]uop.Const, n)
	for i := range vs {
		v, ok := foldAt(u, i)
		if !ok {
			return nil
		}
		vs[i] = v.Truncate(u.DType)
	}
	return u.ConstVecLike(vs)
}

// isPowerOf2 reports whether a number is a power of two in a floating type, or one negated.
func isPowerOf2(dt *uop.DType, v uop.Const) bool {
	fraction, _ := math.Frexp(v.Truncate(dt).F())
	return math.Abs(fraction) == 0.5
}

// quotient is c0/c1 for floats, rounded once.
func quotient(u, c0, c1 *uop.UOp) *uop.UOp {
	if whole(u) || u.DType.Count != 1 {
		return nil
	}
	return u.ConstLike(uop.Float(wrapped(c0, c0.ConstVal()).F() / wrapped(c1, c1.ConstVal()).F()))
}

// foldAt is the value of element i.
func foldAt(u *uop.UOp, i int) (uop.Const, bool) {
	var buf [3]uop.Const
	args := buf[:len(u.Src)]
	for j, s := range u.Src {
		args[j] = element(s, i)
		if args[j].IsInvalid() && u.DType.IsIndex() && uop.GroupBinary.Has(u.Op) {
			return uop.Invalid, true
		}
		if _, fits := args[j].Int64(); !wrapLate.Has(u.Op) || s.DType.IsFloat() || args[j].IsInt() && !fits {
			args[j] = wrapped(s, args[j])
		}
	}
	if u.Op == uop.Max && !whole(u) {
		for _, v := range args {
			if f := v.F(); f != f {
				return v, true // which Python's max may drop
			}
		}
	}
	return uop.ExecALU(u.Op, args...)
}

// element is value i of a constant.
func element(u *uop.UOp, i int) uop.Const {
	if vs, ok := u.Arg.(uop.Consts); ok {
		return vs[i]
	}
	return u.ConstVal()
}

// wrapped is the value that a constant of the type of u has in that type.
func wrapped(u *uop.UOp, v uop.Const) uop.Const {
	d := u.DType.Scalar()
	if d.IsInt() && d != uop.IndexT && (v.Cmp(d.Min()) < 0 || d.Max().Cmp(v) < 0) || !whole(u) {
		return v.Truncate(d)
	}
	return v
}

// castConst is the constant c in the type of u.
func castConst(u, c *uop.UOp) *uop.UOp {
	if vs, ok := c.Arg.(uop.Consts); ok {
		ws := make([]uop.Const, len(vs))
		for i, v := range vs {
			ws[i] = wrapped(c, v)
		}
		return u.ConstVecLike(ws)
	}
	return u.ConstLike(wrapped(c, c.ConstVal()))
}

// constLike is the constant c with the type of u, and its device and shape.
func constLike(u, c *uop.UOp) *uop.UOp {
	if vs, ok := c.Arg.(uop.Consts); ok {
		return u.ConstVecLike(vs)
	}
	return u.ConstLike(c.ConstVal())
}

// addsNothing reports whether the sum u with the zero c equals its other operand. A float zero must be -0.0, since -0.0 + 0.0 is 0.0,
// but 0.0 in a disjoint sum, which is padded with 0.0.
func addsNothing(u, c *uop.UOp) bool { return whole(c) || isNegativeZero(c) != isDisjoint(u) }

// isNegativeZero reports whether the zero c is -0.0.
func isNegativeZero(c *uop.UOp) bool { return !whole(c) && math.Signbit(c.ConstVal().F()) }

// timesZero is x*0: zero, but NaN for a constant NaN or infinity, and as it is for numbers that may be one.
func timesZero(x *uop.UOp) *uop.UOp {
	if x.Op == uop.ConstOp && x.ConstVal().IsFloat() {
		if f := x.ConstVal().F(); f != f || math.IsInf(f, 0) {
			return constant(x, uop.Float(math.NaN()))
		}
		return constant(x, zero)
	}
	if !whole(x) {
		return nil
	}
	return constant(x, zero)
}

// whole reports whether numbers are added and multiplied as integers are: without NaN, infinities and rounding.
func whole(x *uop.UOp) bool { return !x.DType.IsFloat() || x.Graph().IsAsTinygrad() }

// regroups reports whether the operands of an associative operation may be grouped in another way.
func regroups(u *uop.UOp) bool { return u.Op == uop.Max || whole(u) }

// isNumber reports whether x is known not to be NaN: the bounds of what may be NaN are those of its type.
func isNumber(x *uop.UOp) bool { return whole(x) || x.Vmax().Less(uop.Float(math.Inf(1))) }

// foldBitcast reinterprets a constant of a type that has a bit pattern of the same size; except in tinygrad's graphs not if it
// becomes a NaN whose bits a constant does not keep.
func foldBitcast(u, c *uop.UOp) *uop.UOp {
	from, to := c.DType.Scalar(), u.DType.Scalar()
	if from.Fmt == 0 || to.Fmt == 0 || c.DType.Itemsize() != u.DType.Itemsize() {
		return nil
	}
	vs := make([]uop.Const, u.DType.Count)
	for i := range vs {
		bits := element(c, i).Bits(from)
		vs[i] = uop.FromBits(to, bits)
		if !u.Graph().IsAsTinygrad() && vs[i].Bits(to) != bits {
			return nil
		}
	}
	if len(vs) == 1 {
		return u.ConstLike(vs[0])
	}
	return u.ConstVecLike(vs)
}

// constVector is the constant that a VECTORIZE of constants makes.
func constVector(u *uop.UOp) *uop.UOp {
	if len(u.Src) == 0 {
		return nil
	}
	vs := make([]uop.Const, len(u.Src))
	for i, s := range u.Src {
		vs[i] = s.ConstVal()
	}
	return u.Graph().ConstVec(u.DType, vs)
}

func sameType(a, b *uop.UOp) bool { return a.DType == b.DType }

// lossless reports whether every value of the type of from has the same value in the type of to.
func lossless(from, to *uop.UOp) bool { return uop.CanLosslessCast(from.DType, to.DType) }

// fits reports whether every value of x is in the range of the type of t.
func fits(x, t *uop.UOp) bool { return !x.Overflows(t.DType) }

// holds reports whether an integer is a value of the type of u.
func holds(u *uop.UOp, v uop.Const) bool {
	d := u.DType.Scalar()
	return d == uop.IndexT || d.Min().Cmp(v) <= 0 && v.Cmp(d.Max()) <= 0
}

// productFits reports whether the product of two constants is of their type.
func productFits(a, b *uop.UOp) bool {
	for i := range a.DType.Count {
		if !holds(a, element(a, i).Mul(element(b, i))) {
			return false
		}
	}
	return true
}

func wraps(u *uop.UOp) bool { return u.DType.Wraps() }

func unsigned(u *uop.UOp) bool { return u.DType.IsUnsigned() }

func isInvalid(u *uop.UOp) bool { return u.IsInvalid() }

// isSeldom reports whether a WHERE is marked Unlikely and must stay a WHERE: its first value is computed only where it is needed.
func isSeldom(u *uop.UOp) bool { return u.Arg == uop.Unlikely }

func isDisjoint(u *uop.UOp) bool { return u.Arg == uop.Disjoint }

// laidOver is a disjoint sum as a choice: where y, a WHERE, is not the 0.0 of padding, it is y, elsewhere x.
func laidOver(x, y *uop.UOp) *uop.UOp {
	padding := func(u *uop.UOp) bool { return u.IsConst(uop.Int(0)) && !isNegativeZero(u) }
	switch cond, t, f := y.Src[0], y.Src[1], y.Src[2]; {
	case padding(t) && padding(f):
		return x
	case padding(f):
		return cond.Where(t, x)
	case padding(t):
		return cond.Where(x, f)
	}
	return nil
}

func areConst(a, b *uop.UOp) bool { return a.Op == uop.ConstOp && b.Op == uop.ConstOp }

// orderOperands swaps the operands of a commutative operation if they are out of order.
func orderOperands(u *uop.UOp) *uop.UOp {
	if len(u.Src) == 2 && uop.TupleLess(u.Src[1], u.Src[0]) {
		return u.With(u.Src[1], u.Src[0])
	}
	return nil
}

// in32Bits computes a 64 bit operation in 32 bits if neither operands nor result overflow them.
func in32Bits(u, x, y *uop.UOp) *uop.UOp {
	for _, v := range []*uop.UOp{u, x, y} {
		if v.Overflows(uop.Int32) {
			return nil
		}
	}
	return x.Cast(uop.Int32).Alu(u.Op, y.Cast(uop.Int32)).Cast(u.DType)
}
