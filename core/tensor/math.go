package tensor

import (
	"math"

	"polygrad/core/uop"
)

func unary(op uop.Op, x *uop.UOp) *uop.UOp {
	if x.DType.IsComplex() {
		return complexUnary(op, x)
	}
	return asFloat(x).Alu(op)
}

func reciprocal(x *uop.UOp) *uop.UOp { return unary(uop.Reciprocal, x) }
func sqrt(x *uop.UOp) *uop.UOp       { return unary(uop.Sqrt, x) }
func exp2(x *uop.UOp) *uop.UOp       { return unary(uop.Exp2, x) }
func log2(x *uop.UOp) *uop.UOp       { return unary(uop.Log2, x) }
func sin(x *uop.UOp) *uop.UOp        { return unary(uop.Sin, x) }

// rsqrt is 1/sqrt(x).
func rsqrt(x *uop.UOp) *uop.UOp { return reciprocal(sqrt(x)) }

// atLeastF32 is the type for functions that call a primitive with large arguments.
func atLeastF32(x *uop.UOp) *uop.UOp { return cast(x, uop.LeastUpper(x.DType, uop.Float32)) }

// exp is 2^(x/ln 2), computed in float32 at least.
func exp(x *uop.UOp) *uop.UOp {
	if x.DType.IsFloat() {
		return cast(exp2(mul(atLeastF32(x), log2e)), x.DType)
	}
	return exp2(mul(x, log2e))
}

// log is log2(x) * ln 2.
func log(x *uop.UOp) *uop.UOp { return mul(log2(x), ln2) }

// log10 is log2(x) * log10(2).
func log10(x *uop.UOp) *uop.UOp { return mul(log2(x), log10of2) }

// cos is sin(pi/2 - x), computed in float32 at least. In float64 that is one unit in the last place below 1 at 0.
func cos(x *uop.UOp) *uop.UOp {
	if x.DType == uop.Float64 && !asTinygrad(x) {
		y := sin(sub(math.Pi/2, x))
		return differentiatedAs(where(eq(x, 0), 1, y), y)
	}
	if x.DType.IsFloat() {
		return cast(sin(sub(math.Pi/2, atLeastF32(x))), x.DType)
	}
	return sin(sub(math.Pi/2, x))
}

func tan(x *uop.UOp) *uop.UOp { return div(sin(x), cos(x)) }

// isWhole reports whether a tensor has no fractions: it is of integers or bools. Complex numbers have no parts to round.
func isWhole(x *uop.UOp) bool {
	if x.DType.IsComplex() {
		fail("x", "is %s, expected a real type", x.DType)
	}
	return !x.DType.IsFloat()
}

// trunc rounds towards zero. Integers are whole already.
func trunc(x *uop.UOp) *uop.UOp {
	if isWhole(x) {
		return x
	}
	return x.Alu(uop.Trunc)
}

func ceil(x *uop.UOp) *uop.UOp {
	switch {
	case isWhole(x):
		return x
	case !asTinygrad(x):
		return x.Alu(uop.Ceil)
	}
	b := trunc(x)
	return where(gt(x, b), add(b, 1), b)
}

func floor(x *uop.UOp) *uop.UOp {
	switch {
	case isWhole(x):
		return x
	case !asTinygrad(x):
		return x.Alu(uop.Floor)
	}
	b := trunc(x)
	return where(lt(x, b), sub(b, 1), b)
}

// round rounds to the nearest integer, halves to the even one.
func round(x *uop.UOp) *uop.UOp {
	switch {
	case isWhole(x):
		return x
	case !asTinygrad(x):
		return x.Alu(uop.Round)
	}
	half := div(trunc(x), 2.0)
	even := eq(trunc(half), half)
	return where(eq(gt(x, 0), even), ceil(sub(x, 0.5)), floor(add(x, 0.5)))
}

// sigmoid is 1/(1+e^-x).
func sigmoid(x *uop.UOp) *uop.UOp { return inFloat(logistic)(x) }

func logistic(x *uop.UOp) *uop.UOp { return reciprocal(add(1, exp2(mul(x, -log2e)))) }

// tanh is 2*sigmoid(2x) - 1.
func tanh(x *uop.UOp) *uop.UOp {
	return inFloat(func(x *uop.UOp) *uop.UOp { return sub(mul(2.0, logistic(mul(2.0, x))), 1.0) })(x)
}

// Reciprocal is 1/x.
func Reciprocal(x *uop.UOp) (*uop.UOp, error) { return run1("Reciprocal", reciprocal, x) }

// Sqrt is the square root.
func Sqrt(x *uop.UOp) (*uop.UOp, error) { return run1("Sqrt", sqrt, x) }

// Rsqrt is 1/sqrt(x).
func Rsqrt(x *uop.UOp) (*uop.UOp, error) { return run1("Rsqrt", rsqrt, x) }

// Exp is e^x.
func Exp(x *uop.UOp) (*uop.UOp, error) { return run1("Exp", exp, x) }

// Exp2 is 2^x.
func Exp2(x *uop.UOp) (*uop.UOp, error) { return run1("Exp2", exp2, x) }

// Log is the natural logarithm.
func Log(x *uop.UOp) (*uop.UOp, error) { return run1("Log", log, x) }

// Log2 is the logarithm to base 2.
func Log2(x *uop.UOp) (*uop.UOp, error) { return run1("Log2", log2, x) }

// Log10 is the logarithm to base 10.
func Log10(x *uop.UOp) (*uop.UOp, error) { return run1("Log10", log10, x) }

// Sin is the sine.
func Sin(x *uop.UOp) (*uop.UOp, error) { return run1("Sin", sin, x) }

// Cos is the cosine.
func Cos(x *uop.UOp) (*uop.UOp, error) { return run1("Cos", cos, x) }

// Tan is the tangent.
func Tan(x *uop.UOp) (*uop.UOp, error) { return run1("Tan", tan, x) }

// Trunc rounds towards zero.
func Trunc(x *uop.UOp) (*uop.UOp, error) { return run1("Trunc", trunc, x) }

// Ceil rounds up.
func Ceil(x *uop.UOp) (*uop.UOp, error) { return run1("Ceil", ceil, x) }

// Floor rounds down.
func Floor(x *uop.UOp) (*uop.UOp, error) { return run1("Floor", floor, x) }

// Round rounds to the nearest integer, halves to the even one.
func Round(x *uop.UOp) (*uop.UOp, error) { return run1("Round", round, x) }

// RoundTo rounds to a number of decimals, halves to the even number; integers with a negative one only.
func RoundTo(x *uop.UOp, decimals int64) (r *uop.UOp, err error) {
	defer guard("RoundTo", &err)
	need("x", x)
	return onPlanes(x, func(u *uop.UOp) *uop.UOp { return roundTo(u, decimals) }), nil
}

func roundTo(x *uop.UOp, decimals int64) *uop.UOp {
	if !x.DType.IsFloat() {
		if decimals >= 0 {
			return x
		}
		tens := math.Pow10(int(-decimals))
		return cast(mul(round(div(cast(x, uop.Float64), tens)), tens), x.DType)
	}
	switch tens := math.Pow10(int(max(decimals, -decimals))); {
	case decimals > 0:
		return div(round(mul(x, tens)), tens)
	case decimals < 0:
		return mul(round(div(x, tens)), tens)
	}
	return round(x)
}
