package ops

import (
	"sync"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

const specialDoc = `Special functions, as scipy.special has them.

The result has the floating type of the operands, which broadcast; integers give float32. Functions are computed in float64 where their formulas
would lose digits otherwise. Outside of its domain a function is NaN. All have derivatives with respect to every operand.`

// inSpecial is a function of special, whose first operand is called first.
func inSpecial(name, first, params, doc string, build func(a *Args) (*uop.UOp, error)) Op {
	op := method("special."+name, params, doc, build)
	op.First = first
	return op
}

func special1(name, doc string, f func(x *uop.UOp) (*uop.UOp, error)) Op {
	return inSpecial(name, "x", "", doc, func(a *Args) (*uop.UOp, error) { return f(a.X) })
}

// special2 is a function of two operands, of which the second is called second.
func special2(name, first, second, doc string, f two) Op {
	return inSpecial(name, first, second+" operand", doc, func(a *Args) (*uop.UOp, error) {
		x, y, err := a.met(tensor.BeyondFloats)
		if err != nil {
			return nil, err
		}
		return f(x, y)
	})
}

var specialOps = sync.OnceValue(func() []Op {
	return []Op{
		special1("gamma", "The gamma function.", tensor.Gamma),
		special1("gammaln", "log|Gamma(x)|.", tensor.Lgamma),
		special1("gammasgn", "The sign of the gamma function.\nIt is NaN at the poles below 0.", tensor.GammaSgn),
		special1("loggamma", "log|Gamma(x)|.", tensor.Lgamma),
		special1("digamma", "The derivative of gammaln.", tensor.Digamma),
		special1("psi", "The derivative of gammaln.", tensor.Digamma),
		special2("polygamma", "n", "x", `The derivative of order n of digamma, for whole n.
x must be positive unless n is 0.`, tensor.Polygamma),
		inSpecial("multigammaln", "a", "d int [1,1000]", "The logarithm of the multivariate gamma function of dimension d, for a > (d-1)/2.", func(a *Args) (*uop.UOp, error) {
			return tensor.MultiGammaLn(a.X, a.int("d"))
		}),
		special1("factorial", "Gamma(x+1).\nIt is 0 for negative x.", tensor.Factorial),
		special2("gammainc", "a", "x", `The regularised lower incomplete gamma function P(a, x), for a, x >= 0.
The relative error in float64 is below 1e-12 for a up to 1e6; a small P is as accurate.`, tensor.GammaInc),
		special2("gammaincc", "a", "x", `The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x).
It is computed directly where x > a + 1, so a small Q is accurate there.`, tensor.GammaIncC),
		special2("beta", "a", "b", "The beta function B(a, b) for positive a and b.", tensor.Beta),
		special2("betaln", "a", "b", "log|B(a, b)|, the logarithm of the beta function.\nIt is accurate also for large arguments.", tensor.BetaLn),
		inSpecial("betainc", "a", "b operand, x operand", `The regularised incomplete beta function I_x(a, b), for a, b > 0 and x in 0 to 1.
The relative error in float64 is below 1e-11 for a, b up to 1e3.`, func(a *Args) (*uop.UOp, error) {
			b, err := a.operand("b", a.X)
			if err != nil {
				return nil, err
			}
			x, err := a.operand("x", a.X)
			if err != nil {
				return nil, err
			}
			return tensor.BetaInc(a.X, b, x)
		}),
		special2("zeta", "x", "q", "The Hurwitz zeta function: the sum of (q+k)^-x over all k >= 0.\nFor q = 1 it is the Riemann zeta function. q must be positive.", tensor.Zeta),
		special1("erf", "The error function.", tensor.Erf),
		special1("erfc", "1 - erf(x), accurate also where it is small.", tensor.Erfc),
		special1("erfinv", "The inverse of erf.", tensor.Erfinv),
		special1("ndtr", "The cumulative distribution function of the standard normal distribution.", tensor.Ndtr),
		special1("log_ndtr", "The logarithm of ndtr, accurate also where ndtr underflows to 0.", tensor.LogNdtr),
		special1("ndtri", "The inverse of ndtr.", tensor.Ndtri),
		special1("expit", "1 / (1 + e^-x).", tensor.Sigmoid),
		special1("logit", "log(x / (1-x)), the inverse of expit.", tensor.Logit),
		special1("i0", "The modified Bessel function of the first kind and order 0.", tensor.I0),
		special1("i0e", "e^-|x| i0(x).", tensor.I0e),
		special1("i1", "The modified Bessel function of the first kind and order 1.", tensor.I1),
		special1("i1e", "e^-|x| i1(x).", tensor.I1e),
		special1("expi", "The exponential integral Ei(x).", tensor.Expi),
		special1("exp1", "The exponential integral E1(x), for x >= 0.", tensor.Exp1),
		special2("xlogy", "x", "y", "x log(y).\nIt is 0 for x = 0.", tensor.XLogY),
		special2("xlog1py", "x", "y", "x log(1+y).\nIt is 0 for x = 0.", tensor.XLog1PY),
		special1("entr", "-x log(x).\nIt is 0 at 0 and -infinity below.", tensor.Entr),
		special2("rel_entr", "x", "y", "x log(x/y).\nIt is 0 for x = 0 and infinite for negative numbers.", tensor.RelEntr),
		special2("kl_div", "x", "y", "x log(x/y) - x + y.\nIt is infinite for negative numbers.", tensor.KLDiv),
		special1("sinc", "sin(pi x) / (pi x).", tensor.Sinc),
		inSpecial("logsumexp", "x", "axis axes?, keepdims bool = false", "log(sum(e^x)) along axes, without overflow.", func(a *Args) (*uop.UOp, error) {
			return tensor.LogSumExp(a.X, a.axes("axis"), a.bool("keepdims"))
		}),
		inSpecial("softmax", "x", "axis axes?", "e^x / sum(e^x) along axes, all unless given.", func(a *Args) (*uop.UOp, error) { return a.overAxes(tensor.Softmax) }),
		inSpecial("log_softmax", "x", "axis axes?", "log(softmax(x)) along axes, all unless given.", func(a *Args) (*uop.UOp, error) { return a.overAxes(tensor.LogSoftmax) }),
	}
})

// overAxes applies a function along the axes that are given, or along all.
func (a *Args) overAxes(f func(x *uop.UOp, axes ...int) (*uop.UOp, error)) (*uop.UOp, error) {
	axes := a.axes("axis")
	if axes == nil {
		for i := range a.X.Shape() {
			axes = append(axes, i)
		}
	}
	return f(a.X, axes...)
}
