package tensor

import (
	"math"

	"polygrad/core/uop"
)

// NextAfter is the next number of the type of x towards y.
func NextAfter(x, y *uop.UOp) (*uop.UOp, error) {
	return run2("NextAfter", func(a, b operand) *uop.UOp {
		x, y := matched(a, b)
		needFloat("operands", x)
		if x.DType.Itemsize() == 1 {
			fail("operands", "are %s, expected a floating type of 2 bytes or more", x.DType)
		}
		up := nextUp(x)
		down := neg(nextUp(neg(x)))
		r := where(gt(y, x), up, where(lt(y, x), down, y))
		return where(isNaN(x), x, where(isNaN(y), y, r))
	}, x, y)
}

// GCD is the greatest common divisor of integers, by Euclid's algorithm with as many steps as the type may need.
func GCD(x, y *uop.UOp) (*uop.UOp, error) { return run2("GCD", divisor, x, y) }

func divisor(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	needInt("operands", x)
	u := UintOfSize[x.DType.Itemsize()]
	p, q := bitcast(where(lt(x, 0), neg(x), x), u), bitcast(where(lt(y, 0), neg(y), y), u)
	// Consecutive Fibonacci numbers need the most steps: 1.44 for each bit.
	for range 8*x.DType.Itemsize()*36/25 + 2 {
		zero := eq(q, 0)
		p, q = where(zero, p, q), where(zero, 0, mod(p, where(zero, 1, q)))
	}
	return bitcast(p, x.DType)
}

// LCM is the least common multiple of integers.
func LCM(x, y *uop.UOp) (*uop.UOp, error) {
	return run2("LCM", func(a, b operand) *uop.UOp {
		x, y := matched(a, b)
		d := divisor(x, y)
		r := mul(floorDiv(where(lt(x, 0), neg(x), x), where(eq(d, 0), 1, d)), where(lt(y, 0), neg(y), y))
		return where(eq(d, 0), 0, r)
	}, x, y)
}

// SignBit is whether numbers are negative, -0 too.
func SignBit(x *uop.UOp) (*uop.UOp, error) {
	return run1("SignBit", func(x *uop.UOp) *uop.UOp {
		switch {
		case x.DType.IsFloat():
			return negative(x)
		case x.DType.IsUnsigned() || x.DType.IsBool():
			return fullLike(ne(x, x), false)
		}
		return lt(x, 0)
	}, x)
}

// CubeRoot is the real cube root: a power, and a step of Newton's method.
func CubeRoot(x *uop.UOp) (*uop.UOp, error) {
	value := func(x *uop.UOp) *uop.UOp {
		a := mul(x, signOf(x))
		plain := bitAnd(gt(a, 0), isFinite(a))
		b := where(plain, a, 1)
		r := exp2(mul(log2(b), 1.0/3))
		r = sub(r, mul(sub(r, div(b, square(r))), 1.0/3))
		return where(plain, mul(signOf(x), r), x)
	}
	return run1("CubeRoot", inFloat(func(x *uop.UOp) *uop.UOp {
		return smooth("cbrt", nil, value, func(_, y *uop.UOp) *uop.UOp { return reciprocal(mul(square(y), 3)) }, x)
	}), x)
}

// LogAddExp2 is log2(2^a + 2^b), without overflow.
func LogAddExp2(a, b *uop.UOp) (*uop.UOp, error) {
	return run2("LogAddExp2", func(a, b operand) *uop.UOp {
		x, y := matched(a, b)
		return mul(accurateLogAddExp(mul(asFloat(x), math.Ln2), mul(asFloat(y), math.Ln2)), 1/math.Ln2)
	}, a, b)
}

// Heaviside is 0 below 0, 1 above, and y at 0.
func Heaviside(x, y *uop.UOp) (*uop.UOp, error) {
	return run2("Heaviside", func(a, b operand) *uop.UOp {
		x, y := matched(a, b)
		x, y = asFloat(x), asFloat(y)
		r := where(eq(x, 0), y, where(lt(x, 0), likeConst(x, 0), likeConst(x, 1)))
		return where(isNaN(x), x, r)
	}, x, y)
}

// FMax is the greater number; where one is NaN, the other.
func FMax(a, b *uop.UOp) (*uop.UOp, error) { return run2("FMax", ignoringNaN(maximum), a, b) }

// FMin is the lesser number; where one is NaN, the other.
func FMin(a, b *uop.UOp) (*uop.UOp, error) { return run2("FMin", ignoringNaN(minimum), a, b) }

func ignoringNaN(f func(a, b operand) *uop.UOp) func(a, b operand) *uop.UOp {
	return func(a, b operand) *uop.UOp {
		x, y := matched(a, b)
		if !x.DType.IsFloat() {
			return f(x, y)
		}
		return where(isNaN(x), y, where(isNaN(y), x, f(x, y)))
	}
}

// FRexp are m and e with x = m 2^e and |m| in [1/2, 1).
func FRexp(x *uop.UOp) (m, e *uop.UOp, err error) {
	defer guard("FRexp", &err)
	need("x", x)
	x = asFloat(x)
	dt := x.DType
	wide := cast(x, uop.Float64)
	small := bitAnd(lt(abs(wide), 0x1p-1000), ne(wide, 0))
	scaled := where(small, mul(wide, 0x1p100), wide)
	bits := bitcast(scaled, uop.Int64)
	plain := bitAnd(ne(wide, 0), isFinite(wide))
	exponent := sub(bitAnd(shiftRight(bits, 52), 0x7ff), 1022)
	e = where(plain, cast(sub(exponent, where(small, 100, likeConst(exponent, 0))), uop.Int32), 0)
	fraction := bitcast(bitOr(bitAnd(bits, uop.Int(math.MinInt64|(1<<52-1))), uop.Int(1022<<52)), uop.Float64)
	value := where(plain, fraction, wide)
	return cast(value, dt), e, nil
}

// LdExp is x 2^e.
func LdExp(x, e *uop.UOp) (r *uop.UOp, err error) {
	defer guard("LdExp", &err)
	needSame("operands", x, e)
	needInt("y", e)
	x = asFloat(x)
	dt := x.DType
	n := clamp(cast(e, uop.Int32), -4000, 4000)
	r = cast(x, uop.Float64)
	// In steps whose powers of two are normal numbers.
	for range 4 {
		step := clamp(n, -1000, 1000)
		r = mul(r, bitcast(shiftLeft(add(cast(step, uop.Int64), 1023), 52), uop.Float64))
		n = sub(n, step)
	}
	return cast(r, dt), nil
}

// BitCount is the number of ones in the bits of |x|, uint8.
func BitCount(x *uop.UOp) (*uop.UOp, error) {
	return run1("BitCount", func(x *uop.UOp) *uop.UOp {
		needBits("x", x)
		if x.DType.IsBool() {
			return cast(x, uop.Uint8)
		}
		u := bitcast(where(lt(x, 0), neg(x), x), UintOfSize[x.DType.Itemsize()])
		total := bitAnd(u, 1)
		for i := 1; i < 8*x.DType.Itemsize(); i++ {
			total = add(total, bitAnd(shiftRight(u, i), 1))
		}
		return cast(total, uop.Uint8)
	}, x)
}

// PackBits are the bits of elements that are not 0, eight to a byte along an axis; the first bit is the highest unless little.
func PackBits(x *uop.UOp, axis int, little bool) (r *uop.UOp, err error) {
	defer guard("PackBits", &err)
	need("x", x)
	needAxes("x", x)
	needBits("x", x)
	axis = axisOf("axis", axis, len(x.Shape()))
	n := intSize("axis", x.Shape(), axis)
	bytes := (n + 7) / 8
	x = padAxis(cast(ne(x, 0), uop.Uint8), axis, 0, bytes*8-n, 0)
	x = unflatten(x, axis, uop.ShapeOf(bytes, 8))
	weights := onesShape(len(x.Shape()))
	weights[axis+1] = uop.N(8)
	place := reshape(count0(x.Graph(), 8), weights)
	if !little {
		place = sub(7, place)
	}
	bits := shiftLeft(full(x.Graph(), weights, uop.Int(1), uop.Int32), cast(place, uop.Int32))
	return cast(sum(mul(cast(x, uop.Int32), bits), []int{axis + 1}, false), uop.Uint8), nil
}

// UnpackBits are the bits of bytes along an axis, uint8; of them the first count, all if it is negative.
func UnpackBits(x *uop.UOp, axis int, count int64, little bool) (r *uop.UOp, err error) {
	defer guard("UnpackBits", &err)
	need("x", x)
	needAxes("x", x)
	if x.DType != uop.Uint8 {
		fail("x", "is %s, expected the type uint8", x.DType)
	}
	axis = axisOf("axis", axis, len(x.Shape()))
	n := intSize("axis", x.Shape(), axis) * 8
	place := count0(x.Graph(), 8)
	if !little {
		place = sub(7, place)
	}
	at := onesShape(len(x.Shape()) + 1)
	at[axis+1] = uop.N(8)
	wide := unsqueeze(cast(x, uop.Int32), axis+1)
	bits := bitAnd(shift(uop.Shr, broadcastTo(wide, withSize(wide.Shape(), axis+1, 8)), broadcastTo(cast(reshape(place, at), uop.Int32), withSize(wide.Shape(), axis+1, 8))), 1)
	r = cast(flatten(bits, axis, axis+1), uop.Uint8)
	if count != n {
		if count < n {
			r = shrinkAxis(r, axis, uop.N(0), uop.N(count))
		} else {
			r = padAxis(r, axis, 0, count-n, 0)
		}
	}
	return r, nil
}

// withSize is a shape with another size of an axis.
func withSize(s uop.Shape, axis int, n int64) uop.Shape {
	s = joinShapes(s)
	s[axis] = uop.N(n)
	return s
}

// WindowFunction is a window of n points: bartlett, blackman, hamming, hanning, or kaiser with the parameter beta.
func WindowFunction(g *uop.Graph, kind string, n int64, beta float64, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard(kind, &err)
	needType("dtype", dt)
	if n < 1 {
		return full(g, uop.ShapeOf(0), uop.Int(0), dt), nil
	}
	if n == 1 {
		return full(g, uop.ShapeOf(1), uop.Int(1), dt), nil
	}
	t := div(cast(count0(g, n), uop.Float64), float64(n-1)) // 0 to 1
	wave := func(k float64) *uop.UOp { return cos(mul(t, 2*math.Pi*k)) }
	switch kind {
	case "bartlett":
		r = sub(1, abs(sub(mul(t, 2), 1)))
	case "blackman":
		r = add(sub(0.42, mul(wave(1), 0.5)), mul(wave(2), 0.08))
	case "hamming":
		r = sub(0.54, mul(wave(1), 0.46))
	case "hanning":
		r = sub(0.5, mul(wave(1), 0.5))
	case "kaiser":
		at := sub(mul(t, 2), 1)
		inside := mul(sqrt(maximum(mul(sub(1, at), add(1, at)), 0)), beta)
		r = div(bessel0(inside), bessel0(likeConst(inside, beta)))
	default:
		fail("kind", "is %q", kind)
	}
	return cast(r, dt), nil
}

// ConvolveVectors is the convolution of vectors: all of it (full), as much as the longer vector (same), or without edges (valid).
func ConvolveVectors(x, y *uop.UOp, mode string) (r *uop.UOp, err error) {
	defer guard("ConvolveVectors", &err)
	needSame("operands", x, y)
	if len(x.Shape()) != 1 || len(y.Shape()) != 1 {
		fail("operands", "have shapes %s and %s, expected vectors", x.Shape(), y.Shape())
	}
	x, y = matchTypes(x, y)
	n, m := intSize("x", x.Shape(), 0), intSize("y", y.Shape(), 0)
	if n == 0 || m == 0 {
		fail("operands", "have shapes %s and %s, expected at least one element", x.Shape(), y.Shape())
	}
	if m > n {
		x, y, n, m = y, x, m, n
	}
	var lo, hi int64
	switch mode {
	case "full":
		lo, hi = m-1, m-1
	case "same":
		lo, hi = m-1-(m-1)/2, (m-1)/2
	case "valid":
	default:
		fail("mode", "is %q, expected full, same or valid", mode)
	}
	dt := x.DType
	if dt.IsFloat() {
		wide := padAxis(x, 0, lo, hi, 0)
		in, w := reshape(wide, uop.ShapeOf(1, 1, n+lo+hi)), reshape(flip(y, 0), uop.ShapeOf(1, 1, m))
		c, err := Conv(in, w, nil, 1, Window{})
		if err != nil {
			return nil, err
		}
		return cast(reshape(c, uop.ShapeOf(n+lo+hi-m+1)), dt), nil
	}
	wide := padAxis(x, 0, lo, hi, 0)
	count := n + lo + hi - m + 1
	windows, err := Unfold(wide, 0, m, 1)
	if err != nil {
		return nil, err
	}
	return cast(reshape(sum(mul(windows, flip(y, 0)), []int{-1}, false), uop.ShapeOf(count)), dt), nil
}

// PolyVal is the value of a polynomial with coefficients along the first axis, the highest first.
func PolyVal(p, x *uop.UOp) (r *uop.UOp, err error) {
	defer guard("PolyVal", &err)
	needSame("operands", p, x)
	if len(p.Shape()) == 0 {
		fail("p", "is a scalar, expected coefficients along an axis")
	}
	n := intSize("p", p.Shape(), 0)
	p, x = matchTypes(p, x)
	r = mul(x, 0)
	if n > 0 {
		r = add(r, index(p, At(0)))
	}
	for i := int64(1); i < n; i++ {
		r = add(mul(r, x), index(p, At(i)))
	}
	return r, nil
}

// PolyRoots are the complex roots of a polynomial, the eigenvalues of its companion matrix. The first coefficient must not be 0.
func PolyRoots(p *uop.UOp) (r *uop.UOp, err error) {
	defer guard("PolyRoots", &err)
	need("p", p)
	p = asFloat(coefficients("p", p))
	n := intSize("p", p.Shape(), 0) - 1
	if n < 1 {
		return full(p.Graph(), uop.ShapeOf(0), uop.Int(0), uop.ComplexOf(p.DType)), nil
	}
	first := neg(div(shrinkAxis(p, 0, uop.N(1), uop.N(n+1)), shrinkAxis(p, 0, uop.N(0), uop.N(1))))
	below := cast(eye(p.Graph(), n-1, n, uop.Int32), first.DType)
	return EigVals(cat([]*uop.UOp{reshape(first, uop.ShapeOf(1, n)), below}, 0))
}

// PolyFromRoots are the coefficients of the polynomial with some roots and 1 as the first coefficient, or of the characteristic polynomial of
// a matrix.
func PolyFromRoots(x *uop.UOp) (r *uop.UOp, err error) {
	defer guard("PolyFromRoots", &err)
	need("x", x)
	roots, real := x, false
	if len(x.Shape()) == 2 {
		roots, err = EigVals(x)
		must(err)
		real = !x.DType.IsComplex()
	}
	if roots = coefficients("x", roots); !roots.DType.IsComplex() {
		roots = asFloat(roots)
	}
	r = full(x.Graph(), uop.ShapeOf(1), uop.Int(1), roots.DType)
	for i := range intSize("x", roots.Shape(), 0) {
		r = sub(padAxis(r, 0, 0, 1, 0), mul(padAxis(r, 0, 1, 0, 0), index(roots, At(i))))
	}
	if real {
		r, _ = r.Planes()
	}
	return r, nil
}

// PolyDiv are the quotient and the remainder of polynomials; the remainder has as many coefficients as p. The first coefficient of q must
// not be 0.
func PolyDiv(p, q *uop.UOp) (quotient, remainder *uop.UOp, err error) {
	defer guard("PolyDiv", &err)
	needSame("operands", p, q)
	p, q = matchTypes(asFloat(coefficients("p", p)), asFloat(coefficients("q", q)))
	n, m := intSize("p", p.Shape(), 0), intSize("q", q.Shape(), 0)
	if m == 0 {
		fail("q", "is empty, expected one coefficient or more")
	}
	if n < m {
		return full(p.Graph(), uop.ShapeOf(1), uop.Int(0), p.DType), p, nil
	}
	parts := make([]*uop.UOp, n-m+1)
	for i := range parts {
		at := int64(i)
		c := div(shrinkAxis(p, 0, uop.N(at), uop.N(at+1)), shrinkAxis(q, 0, uop.N(0), uop.N(1)))
		parts[i] = c
		p = sub(p, padAxis(mul(c, q), 0, at, n-m-at, 0))
	}
	return cat(parts, 0), p, nil
}

// PolyAdd is the sum of polynomials, or with minus the difference.
func PolyAdd(p, q *uop.UOp, minus bool) (r *uop.UOp, err error) {
	defer guard("PolyAdd", &err)
	needSame("operands", p, q)
	p, q = coefficients("p", p), coefficients("q", q)
	p, q = matchTypes(p, q)
	n, m := intSize("p", p.Shape(), 0), intSize("q", q.Shape(), 0)
	p, q = padAxis(p, 0, max(m-n, 0), 0, 0), padAxis(q, 0, max(n-m, 0), 0, 0)
	if minus {
		return sub(p, q), nil
	}
	return add(p, q), nil
}

// coefficients are the coefficients of a polynomial as a vector.
func coefficients(arg string, p *uop.UOp) *uop.UOp {
	switch len(p.Shape()) {
	case 0:
		return dims(p, 1)
	case 1:
		return p
	}
	fail(arg, "has %d dimensions, expected coefficients along one", len(p.Shape()))
	return nil
}

// PolyDer is the derivative of order m of a polynomial.
func PolyDer(p *uop.UOp, m int64) (r *uop.UOp, err error) {
	defer guard("PolyDer", &err)
	need("p", p)
	if m < 0 {
		fail("m", "is %d, expected 0 or more", m)
	}
	p = coefficients("p", p)
	for range m {
		n := intSize("p", p.Shape(), 0)
		if n <= 1 {
			return full(p.Graph(), uop.ShapeOf(0), uop.Int(0), p.DType), nil
		}
		p = mul(shrinkAxis(p, 0, uop.N(0), uop.N(n-1)), cast(sub(int(n-1), count0(p.Graph(), n-1)), p.DType))
	}
	return p, nil
}

// PolyInt is the integral of order m of a polynomial, with k as the constants of integration.
func PolyInt(p *uop.UOp, m int64, k []float64) (r *uop.UOp, err error) {
	defer guard("PolyInt", &err)
	need("p", p)
	if m < 0 || len(k) > 1 && int64(len(k)) != m {
		fail("m", "is %d with %d constants, expected 0 or more, and one constant or one for each", m, len(k))
	}
	p = asFloat(coefficients("p", p))
	for i := range int(m) {
		n := intSize("p", p.Shape(), 0)
		constant := 0.0
		if len(k) > 0 {
			constant = k[min(i, len(k)-1)]
		}
		p = padAxis(div(p, cast(sub(int(n), count0(p.Graph(), n)), p.DType)), 0, 0, 1, constant)
	}
	return p, nil
}

// CorrelateVectors is the correlation of vectors: the convolution with y reversed and conjugate. As in NumPy, a longer y is correlated with x instead
// and the result reversed, which decides what the mode "same" keeps.
func CorrelateVectors(x, y *uop.UOp, mode string) (r *uop.UOp, err error) {
	defer guard("CorrelateVectors", &err)
	needSame("operands", x, y)
	if len(x.Shape()) != 1 || len(y.Shape()) != 1 {
		fail("operands", "have shapes %s and %s, expected vectors", x.Shape(), y.Shape())
	}
	if intSize("y", y.Shape(), 0) <= intSize("x", x.Shape(), 0) {
		return ConvolveVectors(x, Conjugated(flip(y, 0)), mode)
	}
	r, err = ConvolveVectors(Conjugated(y), flip(x, 0), mode)
	if err != nil {
		return nil, err
	}
	return flip(r, 0), nil
}

// Vander is the matrix of powers of a vector, with n columns; the highest power first unless increasing.
func Vander(x *uop.UOp, n int64, increasing bool) (r *uop.UOp, err error) {
	defer guard("Vander", &err)
	need("x", x)
	if len(x.Shape()) != 1 || n < 0 {
		fail("x", "has shape %s, expected a vector, and %d columns, expected 0 or more", x.Shape(), n)
	}
	if x.DType.IsBool() {
		x = cast(x, uop.Int32)
	}
	if n == 0 {
		return full(x.Graph(), uop.Shape{x.Shape()[0], uop.N(0)}, uop.Int(0), x.DType), nil
	}
	column := unsqueeze(x, 1)
	parts := []*uop.UOp{fullLike(column, 1)}
	for i := int64(1); i < n; i++ {
		parts = append(parts, mul(parts[i-1], column))
	}
	r = sideBySide(parts, 1)
	if !increasing {
		r = flip(r, 1)
	}
	return r, nil
}

// PolyFit are the coefficients of the polynomial of a degree that is nearest to y (n) or (n, k) at x, by least squares with weights.
func PolyFit(x, y, w *uop.UOp, degree int64) (r *uop.UOp, err error) {
	defer guard("PolyFit", &err)
	needSame("operands", x, y)
	if degree < 0 {
		fail("deg", "is %d, expected 0 or more", degree)
	}
	if len(x.Shape()) != 1 || len(y.Shape()) < 1 || len(y.Shape()) > 2 || y.Shape()[0] != x.Shape()[0] {
		fail("y", "has shape %s, expected (%s) or (%s, k) for x of shape %s", y.Shape(), x.Shape().Numel(), x.Shape().Numel(), x.Shape())
	}
	x, y = matchTypes(asFloat(x), asFloat(y))
	v, err := Vander(x, degree+1, false)
	if err != nil {
		return nil, err
	}
	if w != nil {
		needSame("operands", x, w)
		if !w.Shape().Equal(x.Shape()) {
			fail("w", "has shape %s, expected %s", w.Shape(), x.Shape())
		}
		w = cast(w, x.DType)
		v = mul(v, unsqueeze(w, 1))
		if len(y.Shape()) == 2 {
			y = mul(y, unsqueeze(w, 1))
		} else {
			y = mul(y, w)
		}
	}
	scale := sqrt(sum(square(v), []int{0}, true))
	scale = where(eq(scale, 0), 1, scale)
	c, _, _, _, err := LeastSquares(div(v, scale), y, -1)
	if err != nil {
		return nil, err
	}
	if len(y.Shape()) == 2 {
		return div(c, transpose(scale, 0, 1)), nil
	}
	return div(c, reshape(scale, uop.ShapeOf(degree+1))), nil
}
