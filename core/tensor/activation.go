package tensor

import (
	"math"

	"polygrad/core/uop"
)

// relu is where(0 < x, x, 0): its gradient at 0 is 0.
func relu(x *uop.UOp) *uop.UOp { return where(gt(x, 0), x, 0) }

// relu6 is relu(x) - relu(x-6); of integers min(relu(x), 6), since x-6 may wrap around.
func relu6(x *uop.UOp) *uop.UOp {
	if !x.DType.IsFloat() {
		return minimum(relu(x), 6)
	}
	return sub(relu(x), relu(sub(x, 6)))
}

func leakyRelu(x *uop.UOp, slope float64) *uop.UOp { return where(lt(x, 0), mul(slope, x), x) }

func quickGelu(x *uop.UOp) *uop.UOp { return mul(x, sigmoid(mul(x, 1.702))) }

// gelu is 0.5*x*(1+tanh(u)) for u = sqrt(2/pi)*(x+0.044715*x^3), which is x*sigmoid(2u), without the loss of the sum below 0.
func gelu(x *uop.UOp) *uop.UOp {
	const slope, cube = 0.7978845608028654, 0.044715
	if asTinygrad(x) {
		inner := mul(math.Sqrt(2/math.Pi), add(x, mul(cube, pow(x, 3))))
		return mul(mul(0.5, x), add(1, tanh(inner)))
	}
	return mul(x, sigmoid(mul(x, mulAdd(square(x), 2*slope*cube, 2*slope))))
}

func silu(x *uop.UOp) *uop.UOp { return mul(x, sigmoid(x)) }

// softplus is log(1+e^(beta*x))/beta.
func softplus(x *uop.UOp, beta float64) *uop.UOp {
	return mul(1/beta, logAddExp(mul(x, beta), 0.0))
}

func softsign(x *uop.UOp) *uop.UOp { return div(x, add(1, abs(x))) }

func logSigmoid(x *uop.UOp) *uop.UOp { return neg(softplus(neg(x), 1.0)) }

func detach(x *uop.UOp) *uop.UOp { return x.DetachOp() }

func runFloat(fn string, f func(*uop.UOp) *uop.UOp, x *uop.UOp) (*uop.UOp, error) {
	return run1(fn, func(x *uop.UOp) *uop.UOp { return f(asFloat(x)) }, x)
}

// LeakyRelu is x, times slope below 0.
func LeakyRelu(x *uop.UOp, slope float64) (*uop.UOp, error) {
	return run1("LeakyRelu", func(x *uop.UOp) *uop.UOp { return leakyRelu(x, slope) }, x)
}

// Sigmoid is 1/(1+e^-x).
func Sigmoid(x *uop.UOp) (*uop.UOp, error) { return runFloat("Sigmoid", sigmoid, x) }

// Tanh is the hyperbolic tangent, written 2*sigmoid(2x)-1.
func Tanh(x *uop.UOp) (*uop.UOp, error) { return runFloat("Tanh", tanh, x) }

// Gelu is the Gaussian error linear unit in its tanh form.
func Gelu(x *uop.UOp) (*uop.UOp, error) { return run1("Gelu", inFloat(gelu), x) }

// QuickGelu is x*sigmoid(1.702x).
func QuickGelu(x *uop.UOp) (*uop.UOp, error) { return runFloat("QuickGelu", quickGelu, x) }

// Silu is x*sigmoid(x), also called swish.
func Silu(x *uop.UOp) (*uop.UOp, error) { return runFloat("Silu", silu, x) }

// Softsign is x/(1+|x|).
func Softsign(x *uop.UOp) (*uop.UOp, error) { return runFloat("Softsign", softsign, x) }
