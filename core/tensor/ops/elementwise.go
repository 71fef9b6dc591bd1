package ops

import (
	"math"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

type two = func(a, b *uop.UOp) (*uop.UOp, error)

// binary is an operation of a tensor and an operand; with reverse, of the operand and the tensor.
func binary(name, doc string, f two, beyond tensor.Beyond) Op {
	return method(name, "x operand, reverse bool = false", doc, func(a *Args) (*uop.UOp, error) { return a.binary(f, beyond) })
}

// comparison is a binary operation that has no reverse.
func comparison(name, doc string, f two, beyond tensor.Beyond) Op {
	return method(name, "x operand", doc, func(a *Args) (*uop.UOp, error) {
		x, y, err := a.met(beyond)
		if err != nil {
			return nil, err
		}
		return f(x, y)
	})
}

// met is x beside the first argument, as two tensors.
func (a *Args) met(beyond tensor.Beyond) (x, y *uop.UOp, err error) {
	operand := a.op.Params[0].Name
	if y = a.tensor(operand); y != nil {
		return a.X, y, nil
	}
	return tensor.Meet(a.X, a.number(operand), beyond)
}

// withOther is an operation whose operand is called other.
func withOther(op Op) Op {
	op.Params[0].Name = "other"
	return op
}

func (a *Args) binary(f two, beyond tensor.Beyond) (*uop.UOp, error) {
	x, y, err := a.met(beyond)
	if err != nil {
		return nil, err
	}
	if a.bool("reverse") {
		x, y = y, x
	}
	return f(x, y)
}

// withConst is a binary operation that has a form of its own for a number.
func withConst(name, doc string, f two, byConst func(x *uop.UOp, c uop.Const) (*uop.UOp, error)) Op {
	return method(name, "x operand, reverse bool = false", doc, func(a *Args) (*uop.UOp, error) {
		if a.tensor("x") == nil && !a.bool("reverse") {
			return byConst(a.X, a.number("x"))
		}
		return a.binary(f, tensor.BeyondFails)
	})
}

func shiftBy(f func(x *uop.UOp, n int) (*uop.UOp, error), general two) func(x *uop.UOp, c uop.Const) (*uop.UOp, error) {
	return func(x *uop.UOp, c uop.Const) (*uop.UOp, error) {
		if n, whole := c.Int64(); whole && !c.IsFloat() {
			return f(x, int(n))
		}
		x, y, err := tensor.Meet(x, c, tensor.BeyondFails)
		if err != nil {
			return nil, err
		}
		return general(x, y)
	}
}

var arithmetic = []Op{
	binary("add", "The sum x + y.", tensor.Add, tensor.BeyondWraps),
	binary("sub", "The difference x - y.", tensor.Sub, tensor.BeyondWraps),
	binary("mul", "The product x * y.", tensor.Mul, tensor.BeyondWraps),
	method("div", "x operand, reverse bool = false, rounding_mode text? {trunc floor}", `The quotient x / y; integers give float32.
With rounding_mode "trunc" (towards zero) or "floor" (down) the result keeps the type of the operands.`, func(a *Args) (*uop.UOp, error) {
		if !a.given("rounding_mode") {
			return a.binary(tensor.Div, tensor.BeyondFloats)
		}
		if a.text("rounding_mode") == "trunc" {
			return a.binary(tensor.TruncDiv, tensor.BeyondFails)
		}
		return a.binary(tensor.FloorDiv, tensor.BeyondFails)
	}),
	binary("floordiv", "The quotient x / y, rounded down.", tensor.FloorDiv, tensor.BeyondFails),
	binary("idiv", "The quotient of integers x / y, rounded towards zero.", tensor.TruncDiv, tensor.BeyondFails),
	binary("mod", "The remainder of x / y with the sign of y.", tensor.Mod, tensor.BeyondFails),
	binary("fmod", "The remainder of x / y with the sign of x.", tensor.TruncMod, tensor.BeyondFails),
	withConst("pow", "The power x^y.", tensor.Pow, tensor.PowConst),
	comparison("maximum", "The greater of x and y; NaN if one is NaN.", tensor.Maximum, tensor.BeyondBelow),
	comparison("minimum", "The lesser of x and y; NaN if one is NaN.", tensor.Minimum, tensor.BeyondAbove),
	binary("bitwise_and", "Bitwise x and y, for integers and bools.", tensor.BitAnd, tensor.BeyondWraps),
	binary("bitwise_or", "Bitwise x or y, for integers and bools.", tensor.BitOr, tensor.BeyondWraps),
	binary("bitwise_xor", "Bitwise exclusive or of x and y, for integers and bools.", tensor.BitXor, tensor.BeyondWraps),
	withConst("lshift", "x shifted left by y bits, for integers; 0 where y is the width of the type or more.", tensor.ShiftLeft, shiftBy(tensor.ShiftLeftConst, tensor.ShiftLeft)),
	withConst("rshift", "x shifted right by y bits, for integers: x / 2^y rounded down, for y >= 0.", tensor.ShiftRight, shiftBy(tensor.ShiftRightConst, tensor.ShiftRight)),
	comparison("lt", "Whether x < y, elementwise: bool.", tensor.Lt, tensor.BeyondCompares),
	comparison("le", "Whether x <= y, elementwise: bool.", tensor.Le, tensor.BeyondCompares),
	comparison("gt", "Whether x > y, elementwise: bool.", tensor.Gt, tensor.BeyondCompares),
	comparison("ge", "Whether x >= y, elementwise: bool.", tensor.Ge, tensor.BeyondCompares),
	comparison("eq", "Whether x = y, elementwise: bool. NaN is equal to nothing.", tensor.Eq, tensor.BeyondCompares),
	comparison("ne", "Whether x and y differ, elementwise: bool.", tensor.Ne, tensor.BeyondCompares),
	withOther(comparison("logaddexp", "log(e^x + e^y), without overflow.", tensor.LogAddExp, tensor.BeyondFloats)),
	withOther(comparison("copysign", "|x| with the sign of y.", tensor.CopySign, tensor.BeyondFloats)),
	binary("atan2", "The angle of the point (y, x), in [-pi, pi].", tensor.Atan2, tensor.BeyondFloats),
	withOther(binary("hypot", "sqrt(x^2 + y^2).", tensor.Hypot, tensor.BeyondFloats)),
	method("where", "x operand, y operand", "x where this tensor is not 0, y elsewhere.", func(a *Args) (*uop.UOp, error) {
		near := a.tensor("x")
		if near == nil {
			near = a.tensor("y")
		}
		if near == nil { // two numbers: each has its own type
			near = a.X
			dt := uop.DefaultInt
			if a.number("x").IsFloat() || a.number("y").IsFloat() {
				dt = uop.DefaultFloat
			}
			var err error
			if near, err = tensor.Cast(near, dt); err != nil {
				return nil, err
			}
		}
		x, err := a.operand("x", near)
		if err != nil {
			return nil, err
		}
		y, err := a.operand("y", near)
		if err != nil {
			return nil, err
		}
		return tensor.Where(a.X, x, y)
	}),
	method("masked_fill", "mask tensor, value operand", "The tensor with the elements where mask is true replaced by value.", func(a *Args) (*uop.UOp, error) {
		v, err := a.operand("value", a.X)
		if err != nil {
			return nil, err
		}
		return tensor.Where(a.tensor("mask"), v, a.X)
	}),
	method("lerp", "end tensor, weight operand", "x + (end - x) * weight.", func(a *Args) (*uop.UOp, error) {
		w, err := a.operand("weight", a.X)
		if err != nil {
			return nil, err
		}
		return tensor.Lerp(a.X, a.tensor("end"), w)
	}),
	clamp("clamp", "min_", "max_", "The tensor limited to [min_, max_]: min_ for smaller elements, max_ for greater ones."),
	clamp("clip", "min_", "max_", "The same as clamp(min_, max_)."),
	closeness("isclose", "Whether |x - other| <= atol + rtol * |other|; with equal_nan NaN is close to NaN.", tensor.IsClose),
	closeness("allclose", "Whether isclose is true for all elements.", tensor.AllClose),
}

func clamp(name, low, high, doc string) Op {
	return method(name, low+" operand?, "+high+" operand?", doc, func(a *Args) (*uop.UOp, error) {
		if !a.given(low) && !a.given(high) {
			return nil, bad(low, "and %s are both missing, expected one of them", high)
		}
		bounds := [2]*uop.UOp{}
		x := a.X
		for i, name := range []string{low, high} {
			if !a.given(name) {
				continue
			}
			if bounds[i] = a.tensor(name); bounds[i] == nil {
				beyond := tensor.BeyondBelow
				if i == 1 {
					beyond = tensor.BeyondAbove
				}
				var err error
				if x, bounds[i], err = tensor.Meet(x, a.number(name), beyond); err != nil {
					return nil, err
				}
			}
		}
		return tensor.Clamp(x, bounds[0], bounds[1])
	})
}

func closeness(name, doc string, f func(a, b *uop.UOp, rtol, atol float64, equalNaN bool) (*uop.UOp, error)) Op {
	return method(name, "other operand, rtol float = 1e-05, atol float = 1e-08, equal_nan bool = false", doc, func(a *Args) (*uop.UOp, error) {
		other, err := a.operand("other", a.X)
		if err != nil {
			return nil, err
		}
		return f(a.X, other, a.float("rtol"), a.float("atol"), a.bool("equal_nan"))
	})
}

var functions = []Op{
	unary("exp", "e^x.", tensor.Exp),
	unary("exp2", "2^x.", tensor.Exp2),
	unary("expm1", "e^x - 1, accurate near 0.", tensor.Expm1),
	unary("log", "The natural logarithm; NaN for negative real numbers.", tensor.Log),
	unary("log2", "The logarithm of base 2.", tensor.Log2),
	unary("log10", "The logarithm of base 10.", tensor.Log10),
	unary("log1p", "log(1 + x), accurate near 0.", tensor.Log1p),
	unary("sqrt", "The square root; NaN for negative real numbers.", tensor.Sqrt),
	unary("rsqrt", "1 / sqrt(x).", tensor.Rsqrt),
	unary("reciprocal", "1 / x.", tensor.Reciprocal),
	unary("square", "x * x.", tensor.Square),
	unary("neg", "-x.", tensor.Neg),
	unary("abs", "|x|.", tensor.Abs),
	unary("sign", "The sign: -1, 0 or +1, NaN for NaN; x / |x| for complex numbers.", tensor.Sign),
	method("complex", "imag tensor", "The complex tensor of the real parts x and the imaginary parts imag: complex128 if one is float64, else complex64.", func(a *Args) (*uop.UOp, error) {
		return tensor.Complex(a.X, a.tensor("imag"))
	}),
	unary("real", "The real part; x itself if it is real.", tensor.Real),
	unary("imag", "The imaginary part: zeros for real numbers.", tensor.Imag),
	unary("conj", "The complex conjugate; x itself if it is real.", tensor.Conj),
	unary("angle", "The phase angle of complex numbers, in [-pi, pi].\nFor real numbers it is 0, or pi if they are negative.", tensor.Angle),
	unary("sin", "The sine.", tensor.Sin),
	unary("cos", "The cosine.", tensor.Cos),
	unary("tan", "The tangent.", tensor.Tan),
	unary("asin", "The arc sine, in [-pi/2, pi/2].", tensor.Asin),
	unary("acos", "The arc cosine, in [0, pi].", tensor.Acos),
	unary("atan", "The arc tangent, in [-pi/2, pi/2].", tensor.Atan),
	unary("sinh", "The hyperbolic sine.", tensor.Sinh),
	unary("cosh", "The hyperbolic cosine.", tensor.Cosh),
	unary("tanh", "The hyperbolic tangent.", tensor.Tanh),
	unary("asinh", "The inverse hyperbolic sine.", tensor.Asinh),
	unary("acosh", "The inverse hyperbolic cosine.", tensor.Acosh),
	unary("atanh", "The inverse hyperbolic tangent.", tensor.Atanh),
	unary("ceil", "x rounded up.", tensor.Ceil),
	unary("floor", "x rounded down.", tensor.Floor),
	unary("trunc", "x rounded towards zero.", tensor.Trunc),
	unary("round", "x rounded to the nearest integer, ties to even.", tensor.Round),
	unary("erf", "The error function 2/sqrt(pi) * integral of e^(-t^2) from 0 to x.", tensor.Erf),
	unary("erfc", "1 - erf(x), accurate for large x.", tensor.Erfc),
	unary("erfinv", "The inverse of erf, for -1 < x < 1.", tensor.Erfinv),
	unary("ndtri", "The quantile function of the standard normal distribution, for 0 < x < 1.", tensor.Ndtri),
	unary("logit", "log(x / (1 - x)), the inverse of sigmoid, for 0 < x < 1.", tensor.Logit),
	unary("lgamma", "The logarithm of |gamma(x)|.", tensor.Lgamma),
	unary("digamma", "The derivative of the logarithm of gamma(x).", tensor.Digamma),
	unary("isnan", "Whether x is NaN, elementwise: bool.", tensor.IsNaN),
	method("isinf", "detect_positive bool = true, detect_negative bool = true", "Whether x is infinite: bool. detect_positive and detect_negative select the signs.", func(a *Args) (*uop.UOp, error) {
		plus, minus := a.bool("detect_positive"), a.bool("detect_negative")
		if plus && minus {
			return tensor.IsInf(a.X)
		}
		end := math.NaN() // equals nothing
		if plus || minus {
			end = math.Inf(map[bool]int{true: 1, false: -1}[plus])
		}
		x, y, err := tensor.Meet(a.X, uop.Float(end), tensor.BeyondCompares)
		if err != nil {
			return nil, err
		}
		return tensor.Eq(x, y)
	}),
	unary("isfinite", "Whether x is neither infinite nor NaN, elementwise: bool.", tensor.IsFinite),
	unary("logical_not", "Whether x is 0, elementwise: bool.", tensor.LogicalNot),
	unary("bitwise_not", "Bitwise not x, for integers and bools.", tensor.BitNot),
}

// by is an operation of a tensor and a number.
func by(name, param, missing, doc string, f func(x *uop.UOp, v float64) (*uop.UOp, error)) Op {
	return method(name, param+" float = "+missing, doc, func(a *Args) (*uop.UOp, error) { return f(a.X, a.float(param)) })
}

var activations = []Op{
	unary("relu", "max(0, x).", tensor.Relu),
	unary("relu6", "min(max(0, x), 6).", tensor.Relu6),
	unary("sigmoid", "1 / (1 + e^-x).", tensor.Sigmoid),
	unary("logsigmoid", "log(sigmoid(x)), without overflow.", tensor.LogSigmoid),
	unary("gelu", "x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2 (Hendrycks and Gimpel, arXiv:1606.08415).", tensor.Gelu),
	unary("quick_gelu", "x * sigmoid(1.702 x).", tensor.QuickGelu),
	unary("silu", "x * sigmoid(x).", tensor.Silu),
	unary("swish", "x * sigmoid(x).", tensor.Silu),
	unary("mish", "x * tanh(softplus(x)) (Misra, arXiv:1908.08681).", tensor.Mish),
	unary("softsign", "x / (1 + |x|).", tensor.Softsign),
	unary("hardswish", "x * relu6(x + 3) / 6 (Howard et al., arXiv:1905.02244).", tensor.HardSwish),
	method("hardsigmoid", "alpha float = 0.16666666666666666, beta float = 0.5", "min(max(0, alpha x + beta), 1).", func(a *Args) (*uop.UOp, error) {
		return tensor.HardSigmoidBy(a.X, a.float("alpha"), a.float("beta"))
	}),
	by("leaky_relu", "neg_slope", "0.01", "x where x > 0, neg_slope * x elsewhere.", tensor.LeakyRelu),
	by("elu", "alpha", "1", "x where x > 0, alpha * (e^x - 1) elsewhere (Clevert et al., arXiv:1511.07289).", tensor.Elu),
	by("celu", "alpha", "1", "max(0, x) + min(0, alpha * (e^(x/alpha) - 1)) (Barron, arXiv:1704.07483).", tensor.Celu),
	method("selu", "alpha float = 1.67326, gamma float = 1.0507", "gamma * elu(x, alpha) (Klambauer et al., arXiv:1706.02515).",
		func(a *Args) (*uop.UOp, error) { return tensor.Selu(a.X, a.float("alpha"), a.float("gamma")) }),
	by("softplus", "beta", "1", "log(1 + e^(beta x)) / beta, without overflow.", tensor.Softplus),
	method("hardtanh", "min_val float = -1, max_val float = 1", "min(max(min_val, x), max_val).", func(a *Args) (*uop.UOp, error) {
		return tensor.ClampTo(a.X, a.float("min_val"), a.float("max_val"))
	}),
	method("dropout", "p float = 0.5 [0,1]", "x with elements zeroed with probability p, others times 1/(1-p), in training.", func(a *Args) (*uop.UOp, error) {
		return a.dropout(a.X, a.float("p"))
	}),
}

// dropout drops elements of x in training mode.
func (a *Args) dropout(x *uop.UOp, p float64) (*uop.UOp, error) {
	if !a.Training || p == 0 {
		return x, nil
	}
	seed, err := a.seed(x.Shape(), 4)
	if err != nil {
		return nil, err
	}
	return tensor.DropoutSeeded(x, p, seed)
}

// to is a cast to a type.
func to(name string, dt *uop.DType) Op {
	return method(name, "", "cast(\""+dt.Name+"\").", func(a *Args) (*uop.UOp, error) { return tensor.Cast(a.X, dt) })
}

var types = []Op{
	method("cast", "dtype dtype", "The tensor in another data type.", func(a *Args) (*uop.UOp, error) { return tensor.Cast(a.X, a.dtype("dtype")) }),
	view("bitcast", "dtype dtype", "The same bits, read as another data type. No gradient flows through it.", func(a *Args) (*uop.UOp, error) {
		return tensor.Bitcast(a.X, a.dtype("dtype"))
	}),
	to("float", uop.Float32), to("double", uop.Float64), to("half", uop.Float16), to("bfloat16", uop.BFloat16),
	to("short", uop.Int16), to("int", uop.Int32), to("long", uop.Int64), to("bool", uop.Bool),
	unary("contiguous", "The tensor, stored in a buffer of its own instead of being fused into its consumers.", tensor.Contiguous),
	unary("contiguous_backward", "The tensor unchanged; its gradient is stored in a buffer of its own.", tensor.ContiguousBackward),
}
