package tensor

import (
	"math"

	"polygrad/core/uop"
)

// relu is where(0 < x, x, 0): its gradient at 0 is 0.
func relu(x *uop.UOp) *uop.UOp { return where(gt(x, 0), x, 0) }

// relu6 is relu(x) - relu(x-6); of integers, where x-6 may wrap around, the lesser of relu(x) and 6.
func relu6(x *uop.UOp) *uop.UOp {
	if !x.DType.IsFloat() {
		return minimum(relu(x), 6)
	}
	return sub(relu(x), relu(sub(x, 6)))
}

// hardswish is x * relu6(x+3) / 6.
func hardswish(x *uop.UOp) *uop.UOp { return mul(mul(x, relu6(add(x, 3))), 1.0/6) }

// hardsigmoid is relu(alpha*x+beta) - relu(alpha*x+beta-1), the line cut at 0 and 1.
func hardsigmoid(x *uop.UOp, alpha, beta float64) *uop.UOp {
	line := add(mul(alpha, x), beta)
	return sub(relu(line), relu(sub(line, 1)))
}

func leakyRelu(x *uop.UOp, slope float64) *uop.UOp { return where(lt(x, 0), mul(slope, x), x) }

func quickGelu(x *uop.UOp) *uop.UOp { return mul(x, sigmoid(mul(x, 1.702))) }

// gelu is 0.5*x*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3))).
func gelu(x *uop.UOp) *uop.UOp {
	inner := mul(math.Sqrt(2/math.Pi), add(x, mul(0.044715, pow(x, 3))))
	return mul(mul(0.5, x), add(1, tanh(inner)))
}

func silu(x *uop.UOp) *uop.UOp { return mul(x, sigmoid(x)) }

// elu is relu(x) - alpha*relu(1-e^x).
func elu(x *uop.UOp, alpha float64) *uop.UOp {
	return sub(relu(x), mul(alpha, relu(sub(1, exp(x)))))
}

// celu is max(x,0) + min(alpha*(e^(x/alpha)-1), 0).
func celu(x *uop.UOp, alpha float64) *uop.UOp {
	return add(maximum(x, 0), minimum(mul(alpha, sub(exp(div(x, alpha)), 1)), 0))
}

// selu is gamma*x for x >= 0, else gamma*alpha*(e^x-1).
func selu(x *uop.UOp, alpha, gamma float64) *uop.UOp {
	return mul(gamma, where(detach(ge(x, 0)), x, mul(alpha, sub(exp(x), 1))))
}

// softplus is log(1+e^(beta*x))/beta.
func softplus(x *uop.UOp, beta float64) *uop.UOp {
	return mul(1/beta, logAddExp(mul(x, beta), 0.0))
}

func mish(x *uop.UOp) *uop.UOp { return mul(x, tanh(softplus(x, 1.0))) }

func softsign(x *uop.UOp) *uop.UOp { return div(x, add(1, abs(x))) }

func logSigmoid(x *uop.UOp) *uop.UOp { return neg(softplus(neg(x), 1.0)) }

func detach(x *uop.UOp) *uop.UOp { return x.DetachOp() }

func runFloat(fn string, f func(*uop.UOp) *uop.UOp, x *uop.UOp) (*uop.UOp, error) {
	return run1(fn, func(x *uop.UOp) *uop.UOp { return f(asFloat(x)) }, x)
}

// Relu is max(0, x); its gradient at 0 is 0.
func Relu(x *uop.UOp) (*uop.UOp, error) { return run1("Relu", relu, x) }

// Relu6 is x limited to 0..6.
func Relu6(x *uop.UOp) (*uop.UOp, error) { return run1("Relu6", relu6, x) }

// LeakyRelu is x, times slope below 0.
func LeakyRelu(x *uop.UOp, slope float64) (*uop.UOp, error) {
	return run1("LeakyRelu", func(x *uop.UOp) *uop.UOp { return leakyRelu(x, slope) }, x)
}

// Sigmoid is 1/(1+e^-x).
func Sigmoid(x *uop.UOp) (*uop.UOp, error) { return runFloat("Sigmoid", sigmoid, x) }

// LogSigmoid is log(sigmoid(x)), without underflow.
func LogSigmoid(x *uop.UOp) (*uop.UOp, error) { return runFloat("LogSigmoid", logSigmoid, x) }

// Tanh is the hyperbolic tangent, written 2*sigmoid(2x)-1.
func Tanh(x *uop.UOp) (*uop.UOp, error) { return runFloat("Tanh", tanh, x) }

// Gelu is the Gaussian error linear unit in its tanh form.
func Gelu(x *uop.UOp) (*uop.UOp, error) { return runFloat("Gelu", gelu, x) }

// QuickGelu is x*sigmoid(1.702x).
func QuickGelu(x *uop.UOp) (*uop.UOp, error) { return runFloat("QuickGelu", quickGelu, x) }

// Silu is x*sigmoid(x), also called swish.
func Silu(x *uop.UOp) (*uop.UOp, error) { return runFloat("Silu", silu, x) }

// Elu is x for x > 0, else alpha*(e^x-1).
func Elu(x *uop.UOp, alpha float64) (*uop.UOp, error) {
	return runFloat("Elu", func(x *uop.UOp) *uop.UOp { return elu(x, alpha) }, x)
}

// Celu is x for x > 0, else alpha*(e^(x/alpha)-1); alpha must not be 0.
func Celu(x *uop.UOp, alpha float64) (r *uop.UOp, err error) {
	defer guard("Celu", &err)
	need("x", x)
	if alpha == 0 {
		fail("alpha", "is 0")
	}
	return celu(asFloat(x), alpha), nil
}

// Selu is gamma*Elu(x, alpha).
func Selu(x *uop.UOp, alpha, gamma float64) (*uop.UOp, error) {
	return runFloat("Selu", func(x *uop.UOp) *uop.UOp { return selu(x, alpha, gamma) }, x)
}

// Softplus is log(1+e^(beta*x))/beta, without overflow; beta must not be 0.
func Softplus(x *uop.UOp, beta float64) (r *uop.UOp, err error) {
	defer guard("Softplus", &err)
	need("x", x)
	if beta == 0 {
		fail("beta", "is 0")
	}
	return softplus(asFloat(x), beta), nil
}

// Mish is x*tanh(softplus(x)).
func Mish(x *uop.UOp) (*uop.UOp, error) { return runFloat("Mish", mish, x) }

// HardTanh limits x to lo..hi.
func HardTanh(x *uop.UOp, lo, hi float64) (*uop.UOp, error) {
	return run1("HardTanh", func(x *uop.UOp) *uop.UOp { return clamp(x, lo, hi) }, x)
}

// HardSwish is x*relu6(x+3)/6.
func HardSwish(x *uop.UOp) (*uop.UOp, error) { return runFloat("HardSwish", hardswish, x) }

// HardSigmoid is the line x/6 + 1/2 cut at 0 and 1.
func HardSigmoid(x *uop.UOp) (*uop.UOp, error) {
	return runFloat("HardSigmoid", func(x *uop.UOp) *uop.UOp { return hardsigmoid(x, 1.0/6, 0.5) }, x)
}

// Softsign is x/(1+|x|).
func Softsign(x *uop.UOp) (*uop.UOp, error) { return runFloat("Softsign", softsign, x) }
