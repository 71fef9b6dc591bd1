package tensor

import "polygrad/core/uop"

// What tinygrad composes otherwise than we do, kept as it is there: in a graph that is AsTinygrad these forms count, so that its
// kernels can be compared with tinygrad's. docs/decisions.md lists the differences and why they are.

// asTinygrad reports whether what is made of u is composed as tinygrad composes it.
func asTinygrad(u *uop.UOp) bool { return u.Graph().IsAsTinygrad() }

// hardswish is x * relu6(x+3) / 6.
func hardswish(x *uop.UOp) *uop.UOp { return mul(mul(x, relu6(add(x, 3))), 1.0/6) }

// hardsigmoid is relu(alpha*x+beta) - relu(alpha*x+beta-1), the line cut at 0 and 1.
func hardsigmoid(x *uop.UOp, alpha, beta float64) *uop.UOp {
	line := add(mul(alpha, x), beta)
	return sub(relu(line), relu(sub(line, 1)))
}

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

// logCumSumExp is the running log(sum(e^x)) without overflow.
func logCumSumExp(x *uop.UOp, axis int) *uop.UOp {
	s := x.Shape()
	if len(s) == 0 {
		return x
	}
	axis = axisOf("axis", axis, len(s))
	t := transpose(x, axis, -1)
	n := intSize("axis", t.Shape(), len(s)-1)
	wide := expand(unsqueeze(t, -2), joinShapes(t.Shape()[:len(s)-1], uop.ShapeOf(n, n)))
	most, _ := cumMax(t, -1, equal)
	mask := tril(full(x.Graph(), uop.ShapeOf(n, n), uop.Float(1), uop.DefaultFloat), 0)
	e := exp(where(mask, sub(wide, unsqueeze(most, -1)), x.DType.Min()))
	return transpose(add(log(sum(e, []int{-1}, false)), most), -1, axis)
}

func logSumExp(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	m := maxOf(x, axes, true)
	r := log(sum(exp(sub(x, m)), axes, keep))
	return add(r, reshape(m, r.Shape()))
}

// erf is formula 7.1.26 of Abramowitz and Stegun, with an absolute error below 1.5e-7.
func erf(x *uop.UOp) *uop.UOp {
	t := div(1.0, add(1.0, mul(0.3275911, abs(x))))
	p := polynomial(t, 1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
	return mul(sign(x), sub(1.0, mul(mul(t, p), exp(neg(square(x))))))
}

func std(x *uop.UOp, axes []int, keep bool, correction float64) *uop.UOp {
	return sqrt(variance(x, axes, keep, correction))
}

// polynomial is horner that begins with 0*x, as tinygrad's polynomials do.
func polynomial(x *uop.UOp, c ...float64) *uop.UOp {
	r := mul(0.0, x)
	for i, v := range c {
		if i > 0 {
			r = mul(r, x)
		}
		r = add(r, v)
	}
	return r
}
