package tensor

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"polygrad/core/uop"
)

// Complex tensors are pairs of planes (uop.ComplexPair). What is composed of sums, products, selections and movements works on them as it
// stands: add, mul, div, where, cast, pad, sum and the movement operations know planes. Functions with formulas of their own are in the
// table complexFunctions, by the names of the exported functions. Everything else is an error.

// complexOf is a tensor as planes; im is nil where it is 0.
func complexOf(x *uop.UOp) complexPlanes {
	if !x.DType.IsComplex() {
		return complexPlanes{x, nil}
	}
	re, im := x.Planes()
	if c := im.Base(); c.Op == uop.ConstOp && c.ConstVal().EqInt(0) && !math.Signbit(c.ConstVal().F()) {
		return complexPlanes{re, nil}
	}
	return complexPlanes{re, im}
}

// joined is the complex tensor of planes.
func (z complexPlanes) joined() *uop.UOp {
	if z.im == nil {
		return uop.ComplexPair(z.re, z.re.ConstLike(uop.Int(0)))
	}
	return uop.ComplexPair(z.re, z.im)
}

// onPlanes applies a linear function to the planes of a complex tensor, or to a real tensor.
func onPlanes(x *uop.UOp, f func(plane *uop.UOp) *uop.UOp) *uop.UOp {
	if !x.DType.IsComplex() {
		return f(x)
	}
	return complexOf(x).both(f).joined()
}

// castComplex converts to a complex type, or from one to another or to bool. A real type would lose the imaginary part.
func castComplex(x *uop.UOp, dt *uop.DType) *uop.UOp {
	switch {
	case x.DType == dt:
		return x
	case dt == uop.Bool:
		return ne(x, 0)
	case !dt.IsComplex():
		fail("dtype", "%s has no imaginary part, which the %s tensor has: take real, imag or abs", dt, x.DType)
	}
	return complexOf(x).both(func(u *uop.UOp) *uop.UOp { return u.Cast(dt.Plane()) }).joined()
}

// complexBinary is a primitive on two complex tensors of one shape and type.
func complexBinary(op uop.Op, x, y *uop.UOp) *uop.UOp {
	a, b := complexOf(x), complexOf(y)
	switch op {
	case uop.Add:
		return a.plus(b).joined()
	case uop.Mul:
		if b.im == nil {
			a, b = b, a
		}
		if b.im == nil {
			return complexPlanes{mul(a.re, b.re), nil}.joined()
		}
		return a.times(b).joined()
	case uop.CmpNe:
		return bitOr(ne(a.re, b.re), ne(a.imag(), b.imag()))
	case uop.CmpLt, uop.Max:
		fail("operands", "are %s: complex numbers have no order, compare real, imag or abs", x.DType)
	}
	panic(&uop.ComplexError{Op: op, DType: x.DType})
}

func (z complexPlanes) plus(w complexPlanes) complexPlanes {
	switch {
	case z.im == nil:
		return complexPlanes{add(z.re, w.re), w.im}
	case w.im == nil:
		return complexPlanes{add(z.re, w.re), z.im}
	}
	return complexPlanes{add(z.re, w.re), add(z.im, w.im)}
}

// over is the quotient by R. L. Smith's method (1962), which does not overflow where the result does not.
func (z complexPlanes) over(w complexPlanes) complexPlanes {
	if w.im == nil {
		return z.both(func(u *uop.UOp) *uop.UOp { return div(u, w.re) })
	}
	flat := ge(abs(w.re), abs(w.im))
	large, small := where(flat, w.re, w.im), where(flat, w.im, w.re)
	zero := eq(large, 0)
	ratio := div(small, where(zero, 1, large))
	// A divisor of 0 gives infinities with the signs of the parts, as in NumPy.
	scale := reciprocal(where(zero, 0, add(large, mul(small, ratio))))
	im := z.imag()
	first, second := where(flat, z.re, im), where(flat, im, z.re)
	re := mul(add(first, mul(second, ratio)), scale)
	other := mul(sub(second, mul(first, ratio)), scale)
	return complexPlanes{where(zero, mul(z.re, scale), re), where(zero, mul(im, scale), where(flat, other, neg(other)))}
}

// timesI is i z.
func (z complexPlanes) timesI() complexPlanes { return complexPlanes{neg(z.imag()), z.re} }

// overI is -i z.
func (z complexPlanes) overI() complexPlanes { return complexPlanes{z.imag(), neg(z.re)} }

func (z complexPlanes) abs() *uop.UOp { return hypot(z.re, z.imag()) }

func (z complexPlanes) angle() *uop.UOp { return atan2(z.imag(), z.re) }

// absSquare is |z|^2 as the sum of two squares.
func (z complexPlanes) absSquare() *uop.UOp {
	if z.im == nil {
		return square(z.re)
	}
	return add(square(z.re), square(z.im))
}

// withZeros is a product that is 0 where a factor is 0, though the other is infinite or NaN.
func withZeros(a, b *uop.UOp) *uop.UOp {
	p := mul(a, b)
	return where(isFinite(p), p, where(eq(a, 0), a, where(eq(b, 0), b, p)))
}

func (z complexPlanes) exp() complexPlanes {
	e := exp(z.re)
	y := z.angleAtEnd()
	s := sin(y)
	return complexPlanes{z.endless(e, mul(e, cosOf(y))), where(eq(s, 0), s, mul(e, s))}
}

// angleAtEnd is the imaginary part; 0 at a real part of -infinity where it is infinite or NaN: e^z is 0 at any angle.
func (z complexPlanes) angleAtEnd() *uop.UOp {
	y := z.imag()
	return where(bitAnd(eq(z.re, math.Inf(-1)), logicalNot(isFinite(y))), 0, y)
}

// endless is a part that is infinite at any angle where it grows with the real part; at others it is another one.
func (z complexPlanes) endless(size, part *uop.UOp) *uop.UOp {
	return where(bitAnd(isInf(z.re), bitAnd(isInf(size), logicalNot(isFinite(z.imag())))), size, part)
}

// cosOf is the cosine, exactly 1 at 0.
func cosOf(x *uop.UOp) *uop.UOp { return where(eq(x, 0), 1, cos(x)) }

// logAbs is log|z|, accurate near |z| = 1.
func (z complexPlanes) logAbs() *uop.UOp {
	x, y := abs(z.re), abs(z.imag())
	large, small := where(lt(x, y), y, x), where(lt(x, y), x, y)
	near := bitAnd(gt(large, 0.5), lt(large, 2.0))
	m := where(near, large, 1)
	n := where(near, small, 0)
	close := mul(log1p(add(mul(sub(m, 1), add(m, 1)), square(n))), 0.5)
	return where(near, close, log(hypot(x, y)))
}

func (z complexPlanes) log() complexPlanes { return complexPlanes{z.logAbs(), z.angle()} }

func (z complexPlanes) log1p() complexPlanes {
	x, y := z.re, z.imag()
	near := lt(hypot(x, y), 0.5)
	small := cast(where(near, x, 0), uop.Float64) // the two terms may cancel
	close := cast(mul(log1p(add(mul(small, add(small, 2)), square(cast(where(near, y, 0), uop.Float64)))), 0.5), x.DType)
	w := complexPlanes{add(x, 1), y}
	return complexPlanes{where(near, close, w.logAbs()), w.angle()}
}

// sqrt is the root with a real part of 0 or more; the branch cut is the negative real axis, continuous with its side.
func (z complexPlanes) sqrt() complexPlanes {
	x, y := z.re, z.imag()
	ax := abs(x)
	t := sqrt(add(mul(hypot(x, y), 0.5), mul(ax, 0.5)))
	zero := eq(t, 0)
	other := div(mul(y, 0.5), where(zero, 1, t))
	left := lt(x, 0)
	re, im := where(left, abs(other), t), where(left, copysign(t, y), other)
	endless := isInf(y)
	re = where(endless, math.Inf(1), re)
	flat := bitAnd(isInf(x), logicalNot(bitOr(endless, isNaN(y))))
	// At an infinite real part the quotient is 0, with its sign.
	im = where(bitAnd(flat, logicalNot(left)), copysign(mul(ax, 0), y), im)
	im = where(flat, where(left, copysign(ax, y), copysign(0.0, y)), im)
	re = where(bitAnd(flat, left), 0, re)
	return complexPlanes{where(zero, 0, re), where(bitOr(zero, endless), y, im)}
}

func (z complexPlanes) sinh() complexPlanes {
	x, y := z.re, z.imag()
	size := sinh(x)
	return complexPlanes{z.endless(size, withZeros(size, cosOf(y))), withZeros(sin(y), cosh(x))}
}

func (z complexPlanes) cosh() complexPlanes {
	x, y := z.re, z.imag()
	size := cosh(x)
	return complexPlanes{z.endless(size, mul(size, cosOf(y))), withZeros(sinh(x), sin(y))}
}

// tanh is W. Kahan's formula (Branch Cuts for Complex Elementary Functions, 1987).
func (z complexPlanes) tanh() complexPlanes {
	x, y := z.re, z.imag()
	ax := abs(x)
	far := gt(ax, 20.0)
	near := where(far, 0, x)
	t := tanOf(y)
	beta := add(1, square(t))
	s := sinh(near)
	rho := sqrt(add(1, square(s)))
	scale := reciprocal(add(1, mul(beta, square(s))))
	re, im := mul(mul(mul(beta, rho), s), scale), mul(t, scale)
	tail := mul(mul(mul(sin(y), cos(y)), 4), exp(mul(ax, -2)))
	tail = where(isInf(ax), copysign(0.0, mul(sin(y), cos(y))), tail)
	end, finite := isInf(ax), isFinite(y)
	one := where(bitOr(end, finite), copysign(1.0, x), mul(y, 0))
	im = where(far, where(bitAnd(end, logicalNot(finite)), 0, tail), im)
	return complexPlanes{where(far, one, where(eq(x, 0), x, re)), where(eq(y, 0), y, im)}
}

func tanOf(y *uop.UOp) *uop.UOp { return div(sin(y), cos(y)) }

// roots are sqrt(1-z) and sqrt(1+z), with the signs of zeros that their cuts need.
func (z complexPlanes) roots() (less, more complexPlanes) {
	y := z.imag()
	return complexPlanes{sub(1, z.re), neg(y)}.sqrt(), complexPlanes{add(1, z.re), y}.sqrt()
}

// asin, acos and acosh are Kahan's formulas.
func (z complexPlanes) asin() complexPlanes {
	a, b := z.roots()
	y := z.imag()
	re, im := atan2(z.re, sub(mul(a.re, b.re), mul(a.im, b.im))), asinh(sub(mul(a.re, b.im), mul(a.im, b.re)))
	re = where(bitAnd(eq(z.re, 0), isNaN(y)), z.re, re)
	return z.atInfinity(re, im, atan2(z.re, abs(y)), copysign(math.Inf(1), y))
}

func (z complexPlanes) acos() complexPlanes {
	a, b := z.roots()
	y := z.imag()
	re, im := mul(atan2(a.re, b.re), 2), asinh(sub(mul(b.re, a.im), mul(b.im, a.re)))
	re = where(bitAnd(eq(z.re, 0), isNaN(y)), math.Pi/2, re)
	return z.atInfinity(re, im, atan2(abs(y), z.re), neg(copysign(math.Inf(1), y)))
}

func (z complexPlanes) acosh() complexPlanes {
	y := z.imag()
	a, b := complexPlanes{sub(z.re, 1), y}.sqrt(), complexPlanes{add(z.re, 1), y}.sqrt()
	re, im := asinh(add(mul(a.re, b.re), mul(a.im, b.im))), mul(atan2(a.im, b.re), 2)
	im = where(bitAnd(eq(z.re, 0), isNaN(y)), math.Pi/2, im)
	return z.atInfinity(re, im, likeConst(y, math.Inf(1)), z.angle())
}

// atInfinity are planes with others where a part of z is infinite.
func (z complexPlanes) atInfinity(re, im, endRe, endIm *uop.UOp) complexPlanes {
	end := bitOr(isInf(z.re), isInf(z.imag()))
	return complexPlanes{where(end, endRe, re), where(end, endIm, im)}
}

func (z complexPlanes) atanh() complexPlanes {
	x, y := z.re, z.imag()
	ax := abs(x)
	den := add(square(sub(1, ax)), square(y))
	re := mul(log1p(div(mul(ax, 4), den)), 0.25)
	endless := bitOr(isInf(x), isInf(y))
	re = where(bitOr(endless, eq(x, 0)), 0, re)
	im := mul(atan2(mul(y, 2), sub(mul(sub(1, ax), add(1, ax)), square(y))), 0.5)
	im = where(endless, where(isNaN(y), y, copysign(math.Pi/2, y)), im)
	return complexPlanes{copysign(re, x), im}
}

// wide are planes in float64, for functions whose errors grow with their results.
func (z complexPlanes) wide() complexPlanes {
	return z.both(func(u *uop.UOp) *uop.UOp { return cast(u, uop.Float64) })
}

// pow is e^(w log z); 0 to a power is 0, or 1 for the power 0.
func (z complexPlanes) pow(w complexPlanes) complexPlanes {
	dt := z.re.DType
	a, b := z.wide(), w.wide()
	zero := eq(a.absSquare(), 0)
	safe := complexPlanes{where(zero, 1, a.re), where(zero, 0, a.imag())}
	r := complexOf(applied("Exp", mul(applied("Log", safe.joined()), complexPlanes{b.re, b.imag()}.joined())))
	r.im = r.imag()
	one := bitAnd(eq(b.re, 0), eq(b.imag(), 0))
	limit := where(one, 1.0, where(gt(b.re, 0), 0.0, where(isNaN(b.re), b.re, likeConst(b.re, math.NaN()))))
	r.re = where(one, 1, where(zero, limit, r.re))
	r.im = where(one, 0, where(zero, where(gt(b.re, 0), likeConst(b.re, 0), likeConst(b.re, math.NaN())), r.im))
	return r.both(func(u *uop.UOp) *uop.UOp { return cast(u, dt) })
}

// power is z to a whole power, by squaring.
func (z complexPlanes) power(n int64) complexPlanes {
	if n < 0 {
		one := complexPlanes{z.re.ConstLike(uop.Int(1)), nil}
		return one.over(z.power(-n))
	}
	r := complexPlanes{z.re.ConstLike(uop.Int(1)), nil}
	for first := true; n > 0; n >>= 1 {
		if n&1 == 1 {
			if first {
				r, first = z, false
			} else {
				r = r.product(z)
			}
		}
		if n > 1 {
			z = z.product(z)
		}
	}
	return r
}

// mostMultiplied is the greatest whole power that is computed by squaring, as in NumPy.
const mostMultiplied = 100

// powerOfComplex is x to the power of a number.
func powerOfComplex(x *uop.UOp, e uop.Const) *uop.UOp {
	z, v := complexOf(x), e.F()
	switch {
	case v == 0.5:
		return applied("Sqrt", x)
	case v == math.Trunc(v) && math.Abs(v) <= mostMultiplied:
		return z.power(int64(v)).joined()
	}
	return z.pow(complexPlanes{constant(x, z.re.DType, e), nil}).joined()
}

// product is times for factors of which either may be real.
func (z complexPlanes) product(w complexPlanes) complexPlanes {
	if w.im == nil {
		z, w = w, z
	}
	if w.im == nil {
		return complexPlanes{mul(z.re, w.re), nil}
	}
	return z.times(w)
}

// complexFunctions are the functions of complex tensors with formulas of their own, by the exported functions. Results without an
// imaginary part are real.
var complexFunctions = map[string]func(z complexPlanes) *uop.UOp{}

func init() {
	complexes := map[string]func(z complexPlanes) complexPlanes{
		"Exp": complexPlanes.exp, "Log": complexPlanes.log, "Log1p": complexPlanes.log1p, "Sqrt": complexPlanes.sqrt,
		"Sinh": complexPlanes.sinh, "Cosh": complexPlanes.cosh, "Tanh": complexPlanes.tanh,
		"Asin": complexPlanes.asin, "Acos": complexPlanes.acos, "Acosh": complexPlanes.acosh, "Atanh": complexPlanes.atanh,
		"Exp2":  func(z complexPlanes) complexPlanes { return z.scaled(ln2).exp() },
		"Log2":  func(z complexPlanes) complexPlanes { return z.log().scaled(1 / ln2) },
		"Log10": func(z complexPlanes) complexPlanes { return z.log().scaled(1 / math.Ln10) },
		"Sin":   func(z complexPlanes) complexPlanes { return z.timesI().sinh().overI() },
		"Cos":   func(z complexPlanes) complexPlanes { return z.timesI().cosh() },
		"Tan":   func(z complexPlanes) complexPlanes { return z.timesI().tanh().overI() },
		"Asinh": func(z complexPlanes) complexPlanes { return z.timesI().asin().overI() },
		"Atan":  func(z complexPlanes) complexPlanes { return z.timesI().atanh().overI() },
		"Rsqrt": func(z complexPlanes) complexPlanes {
			return complexPlanes{z.re.ConstLike(uop.Int(1)), nil}.over(z.sqrt())
		},
		"Expm1": func(z complexPlanes) complexPlanes {
			x, y := z.re, z.angleAtEnd()
			size, s, half := expm1(x), sin(y), square(sin(mul(y, 0.5)))
			re := where(bitAnd(eq(x, 0), eq(y, 0)), 0, sub(mul(size, cosOf(y)), mul(half, 2))) // without the sign of -0
			return complexPlanes{z.endless(size, re), where(eq(s, 0), s, mul(exp(x), s))}
		},
		"Sign": func(z complexPlanes) complexPlanes {
			size := z.abs()
			zero := eq(size, 0)
			return z.both(func(u *uop.UOp) *uop.UOp { return where(zero, 0, div(u, where(zero, 1, size))) })
		},
		"Round": func(z complexPlanes) complexPlanes { return z.both(round) },
	}
	for name, f := range complexes {
		complexFunctions[name] = func(z complexPlanes) *uop.UOp { return holomorphic(name, z, f(z)) }
	}
}

// applied is a function of the table.
func applied(name string, z *uop.UOp) *uop.UOp { return complexFunctions[name](complexOf(z)) }

// slopes are the derivatives of holomorphic functions. Formulas of their values are of parts, with cases for zeros and infinities that have
// no derivatives, or others.
var slopes = map[string]func(z *uop.UOp) *uop.UOp{}

// slopeNames are the names in slopes in alphabetical order; rules have numbers.
var slopeNames = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(slopes)) })

func init() {
	inverseOf := func(factors ...*uop.UOp) *uop.UOp {
		product := factors[0]
		for _, f := range factors[1:] {
			product = mul(product, f)
		}
		return reciprocal(product)
	}
	timesI := func(z *uop.UOp) *uop.UOp { return complexOf(z).timesI().joined() }
	root := func(z *uop.UOp) *uop.UOp { return applied("Sqrt", z) }
	slopes = map[string]func(z *uop.UOp) *uop.UOp{
		"Exp":   func(z *uop.UOp) *uop.UOp { return applied("Exp", z) },
		"Expm1": func(z *uop.UOp) *uop.UOp { return applied("Exp", z) },
		"Exp2":  func(z *uop.UOp) *uop.UOp { return mul(applied("Exp2", z), ln2) },
		"Log":   func(z *uop.UOp) *uop.UOp { return reciprocal(z) },
		"Log1p": func(z *uop.UOp) *uop.UOp { return reciprocal(add(z, 1)) },
		"Log2":  func(z *uop.UOp) *uop.UOp { return div(1/ln2, z) },
		"Log10": func(z *uop.UOp) *uop.UOp { return div(1/math.Ln10, z) },
		"Sqrt":  func(z *uop.UOp) *uop.UOp { return div(0.5, root(z)) },
		"Rsqrt": func(z *uop.UOp) *uop.UOp { return mul(div(applied("Rsqrt", z), z), -0.5) },
		"Sinh":  func(z *uop.UOp) *uop.UOp { return applied("Cosh", z) },
		"Cosh":  func(z *uop.UOp) *uop.UOp { return applied("Sinh", z) },
		"Tanh":  func(z *uop.UOp) *uop.UOp { return sub(1, square(applied("Tanh", z))) },
		"Sin":   func(z *uop.UOp) *uop.UOp { return applied("Cos", z) },
		"Cos":   func(z *uop.UOp) *uop.UOp { return neg(applied("Sin", z)) },
		"Tan":   func(z *uop.UOp) *uop.UOp { return add(1, square(applied("Tan", z))) },
		"Asin":  func(z *uop.UOp) *uop.UOp { return inverseOf(root(sub(1, z)), root(add(1, z))) },
		"Acos":  func(z *uop.UOp) *uop.UOp { return neg(inverseOf(root(sub(1, z)), root(add(1, z)))) },
		"Asinh": func(z *uop.UOp) *uop.UOp { return inverseOf(root(sub(1, timesI(z))), root(add(1, timesI(z)))) },
		"Acosh": func(z *uop.UOp) *uop.UOp { return inverseOf(root(sub(z, 1)), root(add(z, 1))) },
		"Atan":  func(z *uop.UOp) *uop.UOp { return inverseOf(sub(1, timesI(z)), add(1, timesI(z))) },
		"Atanh": func(z *uop.UOp) *uop.UOp { return inverseOf(sub(1, z), add(1, z)) },
	}
}

// holomorphic is the value of a function with its derivative.
func holomorphic(name string, z, value complexPlanes) *uop.UOp {
	k, has := slices.BinarySearch(slopeNames(), name)
	if !has {
		return value.joined()
	}
	of := []*uop.UOp{z.re, z.imag()}
	part := func(x *uop.UOp, plane int64) *uop.UOp {
		return customGradient(gradientOfHolomorphic, x, of, []int64{int64(k), plane})
	}
	return uop.ComplexPair(part(value.re, 0), part(value.imag(), 1))
}

// scaled is a real multiple.
func (z complexPlanes) scaled(by float64) complexPlanes {
	if by == 1 {
		return z
	}
	return z.both(func(u *uop.UOp) *uop.UOp { return mul(u, by) })
}

// refused is the error of a panic by an operation that is not defined for complex tensors.
func refused(e *uop.ComplexError) *Error {
	return &Error{Arg: "x", Text: "is " + e.DType.NumpyName() + ", which the operation is not defined for: see real, imag and abs"}
}

// needComplexParts checks the planes of a complex tensor that is to be made.
func needPlane(arg string, u *uop.UOp) {
	if u.DType.IsComplex() {
		fail(arg, "is %s, expected a real type", u.DType)
	}
}

// Complex is the complex tensor of a real and an imaginary part: complex128 if one is float64, else complex64.
func Complex(re, im *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Complex", &err)
	needSame("operands", re, im)
	needPlane("real", re)
	needPlane("imag", im)
	re, im = matched(re, im)
	dt := uop.ComplexOf(re.DType).Plane()
	return uop.ComplexPair(cast(re, dt), cast(im, dt)), nil
}

// ComplexNumber is a complex number beside tensors: complex128 where one of them has 64 bits a part or there are none, else complex64.
func ComplexNumber(g *uop.Graph, z complex128, beside ...*uop.UOp) (r *uop.UOp, err error) {
	defer guard("ComplexNumber", &err)
	dt := uop.Float32
	if len(beside) == 0 {
		dt = uop.Float64
	}
	for _, x := range beside {
		if x != nil && (x.DType == uop.Float64 || x.DType == uop.Complex128) {
			dt = uop.Float64
		}
	}
	part := func(v float64) *uop.UOp { return g.DeviceConst(dt, uop.Float(v), DeviceName, uop.Shape{}) }
	return uop.ComplexPair(part(real(z)), part(imag(z))), nil
}

// Real is the real part; a real tensor is its own.
func Real(x *uop.UOp) (*uop.UOp, error) {
	return run1("Real", func(x *uop.UOp) *uop.UOp { return complexOf(x).re }, x)
}

// Imag is the imaginary part: zeros for a real tensor.
func Imag(x *uop.UOp) (*uop.UOp, error) {
	return run1("Imag", func(x *uop.UOp) *uop.UOp {
		if !x.DType.IsComplex() {
			return x.ConstLike(uop.Int(0))
		}
		return complexOf(x).imag()
	}, x)
}

// Conj is the complex conjugate; a real tensor is its own.
func Conj(x *uop.UOp) (*uop.UOp, error) { return run1("Conj", conj, x) }

func conj(x *uop.UOp) *uop.UOp {
	if !x.DType.IsComplex() {
		return x
	}
	return complexOf(x).conjugate().joined()
}

// Conjugated is conj for nodes that are known to be tensors.
func Conjugated(x *uop.UOp) *uop.UOp { return conj(x) }

// Angle is the angle of a complex number with the positive real axis, in -pi..pi; 0 or pi for real numbers, whose gradient is 0.
func Angle(x *uop.UOp) (*uop.UOp, error) {
	return run1("Angle", func(x *uop.UOp) *uop.UOp {
		if x.DType.IsComplex() {
			return complexOf(x).angle()
		}
		x = asFloat(x)
		return where(isNaN(x), detach(x), where(negative(x), likeConst(x, math.Pi), likeConst(x, 0)))
	}, x)
}

// complexAsReal are the exported functions of one tensor that compute what they say for complex tensors by their compositions.
var complexAsReal = setOf("Abs Neg Square IsNaN IsInf IsFinite LogicalNot Reciprocal Contiguous ContiguousBackward Detach SqueezeAll Real Imag Conj Angle")

// complexOperators are the operators of two operands.
var complexOperators = setOf("Add Sub Mul Div Pow Eq Ne")

func setOf(names string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		m[name] = true
	}
	return m
}

// onComplex is an exported function of one complex tensor.
func onComplex(fn string, f func(*uop.UOp) *uop.UOp, x *uop.UOp) *uop.UOp {
	if g := complexFunctions[fn]; g != nil {
		return g(complexOf(x))
	}
	if !complexAsReal[fn] {
		fail("x", "is %s, expected a real type", x.DType)
	}
	return f(x)
}

// complexUnary is a primitive of one complex tensor, where a composition uses it.
func complexUnary(op uop.Op, x *uop.UOp) *uop.UOp {
	z := complexOf(x)
	switch op {
	case uop.Reciprocal:
		return complexPlanes{z.re.ConstLike(uop.Int(1)), nil}.over(z).joined()
	case uop.Sqrt:
		return complexFunctions["Sqrt"](z)
	case uop.Exp2:
		return complexFunctions["Exp2"](z)
	case uop.Log2:
		return complexFunctions["Log2"](z)
	case uop.Sin:
		return complexFunctions["Sin"](z)
	}
	panic(&uop.ComplexError{Op: op, DType: x.DType})
}

func absSquare(x *uop.UOp) *uop.UOp { return complexOf(x).absSquare() }

// reduceComplex is a sum, plane by plane, or a product: of the two halves of the axes, again and again.
func reduceComplex(op uop.Op, x *uop.UOp, axes []int, keep bool) *uop.UOp {
	switch op {
	case uop.Add:
		return onPlanes(x, func(u *uop.UOp) *uop.UOp { return reduce(op, u, axes, keep) })
	case uop.Mul:
	default:
		fail("x", "is %s: complex numbers have no order, compare real, imag or abs", x.DType)
	}
	s := x.Shape()
	var order []int
	kept, out := joinShapes(s), uop.Shape{}
	for i, d := range s {
		if slices.Contains(axes, i) {
			kept[i] = uop.N(1)
		} else {
			order, out = append(order, i), append(out, d)
		}
	}
	last := len(order)
	if keep {
		out = kept
	}
	rows := joinShapes(uop.Shape{}, s)
	rows = rows[:0]
	for _, i := range order {
		rows = append(rows, s[i])
	}
	n := int64(1)
	for _, a := range axes {
		n *= intSize("x", s, a)
	}
	x = reshape(permute(x, append(order, axes...)), joinShapes(rows, uop.ShapeOf(n)))
	if n == 0 {
		return reshape(fullLike(padAxis(x, last, 0, 1, 0), 1), out)
	}
	for ; n > 1; n = (n + 1) / 2 {
		half := (n + 1) / 2
		front := shrinkAxis(x, last, uop.N(0), uop.N(half))
		back := shrinkAxis(x, last, uop.N(half), uop.N(n))
		if n%2 == 1 {
			back = onesBehind(back, last, 0, 1)
		}
		x = mul(front, back).ContiguousOp()
	}
	return reshape(x, out)
}

// onesBehind pads an axis of a complex tensor with ones.
func onesBehind(x *uop.UOp, axis int, before, after int64) *uop.UOp {
	z := complexOf(x)
	return complexPlanes{padAxis(z.re, axis, before, after, 1), padAxis(z.imag(), axis, before, after, 0)}.joined()
}

// scanComplex is a running sum, plane by plane, or a running product: of twice as many elements in each step.
func scanComplex(x *uop.UOp, axis int, op uop.Op) *uop.UOp {
	if op == uop.Add {
		return onPlanes(x, func(u *uop.UOp) *uop.UOp { return scan(u, axis, op) })
	}
	if op != uop.Mul {
		fail("x", "is %s: complex numbers have no order, compare real, imag or abs", x.DType)
	}
	n := intSize("x", x.Shape(), axis)
	for step := int64(1); step < n; step *= 2 {
		before := onesBehind(shrinkAxis(x, axis, uop.N(0), uop.N(n-step)), axis, step, 0)
		x = mul(before, x).ContiguousOp()
	}
	return x
}

// dotComplex is the matrix product as real ones of planes.
func dotComplex(x, w *uop.UOp) *uop.UOp {
	return productOfPlanes([]*uop.UOp{x, w}, func(p []*uop.UOp) *uop.UOp { return dot(p[0], p[1], nil) })
}

// productOfPlanes is a bilinear function of one or two tensors, of which one is complex at least, made of the same function of planes.
func productOfPlanes(xs []*uop.UOp, f func(planes []*uop.UOp) *uop.UOp) *uop.UOp {
	var dts []*uop.DType
	for _, x := range xs {
		dts = append(dts, x.DType)
	}
	dt := uop.LeastUpper(dts...).Plane()
	z := complexOf(xs[0]).both(func(u *uop.UOp) *uop.UOp { return cast(u, dt) })
	if len(xs) == 1 {
		return z.both(func(u *uop.UOp) *uop.UOp { return f([]*uop.UOp{u}) }).joined()
	}
	w := complexOf(xs[1]).both(func(u *uop.UOp) *uop.UOp { return cast(u, dt) })
	of := func(a, b *uop.UOp) *uop.UOp { return f([]*uop.UOp{a, b}) }
	switch {
	case z.im == nil && w.im == nil:
		return complexPlanes{of(z.re, w.re), nil}.joined()
	case z.im == nil:
		return complexPlanes{of(z.re, w.re), of(z.re, w.im)}.joined()
	case w.im == nil:
		return complexPlanes{of(z.re, w.re), of(z.im, w.re)}.joined()
	}
	return complexPlanes{sub(of(z.re, w.re), of(z.im, w.im)), add(of(z.re, w.im), of(z.im, w.re))}.joined()
}

// scatterPlanes scatters the planes of src, of the type of x, into those of x.
func scatterPlanes(x, src *uop.UOp, f func(x, src *uop.UOp) *uop.UOp) *uop.UOp {
	if src.DType != x.DType {
		fail("src", "is %s, expected %s as x", src.DType, x.DType)
	}
	z, w := complexOf(x), complexOf(src)
	return complexPlanes{f(z.re, w.re), f(z.imag(), w.imag())}.joined()
}

// onTaken is takeAxes, plane by plane where index tensors select elements of a complex tensor.
func onTaken(x *uop.UOp, axes []parsedIndex) *uop.UOp {
	if x.DType.IsComplex() && slices.ContainsFunc(axes, func(p parsedIndex) bool { return p.kind == indexTake }) {
		return onPlanes(x, func(u *uop.UOp) *uop.UOp { return takeAxes(u, axes) })
	}
	return takeAxes(x, axes)
}

// ordering are the exported functions of two tensors that compare numbers.
var ordering = setOf("Lt Le Gt Ge Maximum Minimum")

// failComplex refuses operands of a complex type.
func failComplex(fn string, dt *uop.DType) {
	if ordering[fn] {
		fail("operands", "are %s: complex numbers have no order, compare real, imag or abs", dt)
	}
	fail("operands", "are %s, expected operands of a real type", dt)
}
