package tensor

import "polygrad/core/uop"

// Elementwise functions have derivatives with formulas of their own. They take a fraction of the time of differentiating the polynomials
// and branches of the function, and are as accurate.

// elementwise is the arg of a CUSTOM_GRADIENT (gradient.Stated) whose value is a function of the other sources.
type elementwise struct {
	name string
	// slopes are the derivatives with respect to each x at the value y.
	slopes func(y *uop.UOp, x ...*uop.UOp) []*uop.UOp
	// long is a formula for the value whose own derivative is right; nil if the value has it.
	long func(x ...*uop.UOp) *uop.UOp
}

func (f elementwise) Equal(b uop.Arg) bool {
	o, ok := b.(elementwise)
	return ok && f.name == o.name
}

func (f elementwise) Hash() uint64 { return uop.Str(f.name).Hash() }

func (f elementwise) String() string { return f.name }

// Name is the name of the function (gradient.Named).
func (f elementwise) Name() string { return f.name }

// TwoExpressions is false (gradient.Named).
func (f elementwise) TwoExpressions() bool { return false }

// Pointwise is true (gradient.Pointwise).
func (f elementwise) Pointwise() bool { return true }

// Gradient is the product with each slope.
func (f elementwise) Gradient(g, u *uop.UOp) []*uop.UOp {
	out := []*uop.UOp{nil}
	for _, s := range f.slopes(u, u.Src[1:]...) {
		out = append(out, mul(g, s))
	}
	return out
}

// Composed rewrites a CUSTOM_GRADIENT as other operations with the same value and derivative. The transform of a Fourier pass, the positions
// of the greatest elements, and the keys of ranks, are written out. A function whose derivative is that of a longer formula is detach(value) + formula -
// detach(formula): the compiler folds the difference to 0. Others are their values.
func Composed(u *uop.UOp) *uop.UOp {
	v := u.Src[0]
	if s, ok := u.Arg.(stated); ok && (s.rule == passesOfTransform || s.rule == positionsOfMost || s.rule == keysOfRanks) {
		return s.Late(u, uop.Target{Sorts: uop.SortsUnfused}, nil)
	}
	if f, ok := u.Arg.(elementwise); ok && f.long != nil {
		long := f.long(u.Src[1:]...)
		return add(detach(v), sub(long, detach(long)))
	}
	return v
}

// withSlopes is a function of some operands with the given derivatives. Its value is computed by the formula for float32 or
// float64, or by the long one.
func withSlopes(name string, shortForm, long func(x ...*uop.UOp) *uop.UOp, slopes func(y *uop.UOp, x ...*uop.UOp) []*uop.UOp, x ...*uop.UOp) *uop.UOp {
	if asTinygrad(x[0]) {
		return long(x...)
	}
	f, value := elementwise{name, slopes, nil}, long
	if short(x[0]) && shortForm != nil {
		f.long, value = long, shortForm
	} else if wide := wideForm(name); wide != nil && x[0].DType == uop.Float64 {
		f.long, value = long, wide
	}
	v := value(x...)
	return v.Graph().New(uop.CustomGradient, v.DType, append([]*uop.UOp{v}, x...), f, nil)
}

// smooth is withSlopes of one operand x; the derivative is a function of x and of the value y.
func smooth(name string, shortForm, long func(x *uop.UOp) *uop.UOp, slope func(x, y *uop.UOp) *uop.UOp, x *uop.UOp) *uop.UOp {
	return withSlopes(name, of1(shortForm), of1(long), func(y *uop.UOp, x ...*uop.UOp) []*uop.UOp { return []*uop.UOp{slope(x[0], y)} }, x)
}

// of1 is a function of one number as one of several.
func of1(f func(x *uop.UOp) *uop.UOp) func(x ...*uop.UOp) *uop.UOp {
	if f == nil {
		return nil
	}
	return func(x ...*uop.UOp) *uop.UOp { return f(x[0]) }
}

// rootOfSquare is sqrt(x^2 + c), |x| where that is no different and the square may be infinite.
func rootOfSquare(x *uop.UOp, c float64) *uop.UOp {
	a := mul(x, signOf(x))
	far := gt(a, huge)
	near := where(far, 1, a)
	if c < 0 {
		return where(far, a, sqrt(mul(sub(near, 1), add(near, 1))))
	}
	return where(far, a, sqrt(add(square(near), c)))
}

// cosineOf is sqrt(1-x^2).
func cosineOf(x *uop.UOp) *uop.UOp { return sqrt(mul(sub(1, x), add(1, x))) }

// bell is e^(-x^2).
func bell(x *uop.UOp) *uop.UOp { return bellOf("bell", x) }

// tailBell is bell, for float64 as erfc computes it, so that it is computed once for the value and its derivative.
func tailBell(x *uop.UOp) *uop.UOp { return bellOf("tail_bell", x) }

func bellOf(name string, x *uop.UOp) *uop.UOp {
	shortForm := func(x *uop.UOp) *uop.UOp { return bellShort(clamp(magnitude32(x), nil, 10.3), likeConst(x, 1)) }
	long := func(x *uop.UOp) *uop.UOp { return exp(neg(square(x))) }
	return smooth(name, shortForm, long, func(x, y *uop.UOp) *uop.UOp { return mul(mul(x, -2), y) }, x)
}

func asin(x *uop.UOp) *uop.UOp {
	return smooth("asin", asinShort, asinLong, func(x, _ *uop.UOp) *uop.UOp { return reciprocal(cosineOf(x)) }, x)
}

func acos(x *uop.UOp) *uop.UOp {
	return smooth("acos", acosShort, acosLong, func(x, _ *uop.UOp) *uop.UOp { return neg(reciprocal(cosineOf(x))) }, x)
}

func atan(x *uop.UOp) *uop.UOp {
	return smooth("atan", atanShort, atanLong, func(x, _ *uop.UOp) *uop.UOp { return reciprocal(add(1, square(x))) }, x)
}

func sinh(x *uop.UOp) *uop.UOp {
	return smooth("sinh", sinhShort, sinhLong, func(x, _ *uop.UOp) *uop.UOp { return cosh(x) }, x)
}

func cosh(x *uop.UOp) *uop.UOp {
	return smooth("cosh", coshShort, coshLong, func(x, _ *uop.UOp) *uop.UOp { return sinh(x) }, x)
}

func asinh(x *uop.UOp) *uop.UOp {
	return smooth("asinh", asinhShort, asinhLong, func(x, _ *uop.UOp) *uop.UOp { return reciprocal(rootOfSquare(x, 1)) }, x)
}

func acosh(x *uop.UOp) *uop.UOp {
	return smooth("acosh", acoshShort, acoshLong, func(x, _ *uop.UOp) *uop.UOp { return reciprocal(rootOfSquare(x, -1)) }, x)
}

func atanh(x *uop.UOp) *uop.UOp {
	return smooth("atanh", atanhShort, atanhLong, func(x, _ *uop.UOp) *uop.UOp { return reciprocal(mul(sub(1, x), add(1, x))) }, x)
}

func logit(x *uop.UOp) *uop.UOp {
	return smooth("logit", logitOf, logitLong, func(x, _ *uop.UOp) *uop.UOp { return reciprocal(mul(x, sub(1, x))) }, x)
}

func log1p(x *uop.UOp) *uop.UOp {
	return smooth("log1p", log1pShort, log1pLong, func(x, _ *uop.UOp) *uop.UOp { return reciprocal(add(1, x)) }, x)
}

func expm1(x *uop.UOp) *uop.UOp {
	return smooth("expm1", expm1Short, expm1Long, func(x, _ *uop.UOp) *uop.UOp { return exp(x) }, x)
}
