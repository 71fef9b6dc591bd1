package uop

import "math"

// Functions are functions of one number with an error of a few units of the last place of a float64, where Go's have a
// greater one: what kernels of fewer digits are compared with.
var Functions = map[Op]func(float64) float64{
	Exp: exp, Log2: log2, Sin: reduced(Sin, math.Sin), Cos: reduced(Cos, math.Cos),
}

// Rounding are the functions from a number to a whole one.
var Rounding = map[Op]func(float64) float64{Trunc: math.Trunc, Floor: math.Floor, Ceil: math.Ceil, Round: math.RoundToEven}

// exp is e**x. Go's, in assembly, overflows too early.
func exp(x float64) float64 {
	if x > 700 {
		return math.Expm1(x)
	}
	return math.Exp(x)
}

// reduced is a function of Go, or exact arithmetic for great arguments and near zeros, where Go's reduction loses digits.
func reduced(op Op, f func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		if y := f(x); math.Abs(x) < 1 || math.Abs(x) < 1<<20 && math.Abs(y) > 1e-6 {
			return y
		}
		r, _ := ExecALU(op, Float(x))
		return r.F()
	}
}

// log2 is exact for powers of two, as Go's, and near 1, where Go's loses digits.
func log2(x float64) float64 {
	m, e := math.Frexp(x)
	if !(m > 0) || math.IsInf(m, 0) {
		return math.Log2(x)
	}
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	return float64(e) + math.Log(m)/math.Ln2
}
