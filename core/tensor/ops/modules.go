package ops

import (
	"cmp"
	"math"
	"strings"
	"sync"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A Module is a group of functions that are no methods of tensors. The name of an operation is the module's, a point, and the function's.
type Module struct {
	Name, Doc string
	// Operand is the name of the first operand.
	Operand string
	Ops     []Op
	// Part: the module has other functions, too, which call functions that are given (in Python, Ops are its file _operations).
	Part bool
	// Arrays: the operands may be anything that a tensor is made of, in languages that know such things.
	Arrays bool
	// Aliases are other names of functions, each with its function.
	Aliases [][2]string
}

// Modules are the modules of functions. Most programs call none: their tables are made when something asks for them.
var Modules = sync.OnceValue(func() []Module {
	return []Module{
		{"random", `Random numbers by key.

A key is a tensor of two uint32, made from a seed. A function called with the same key returns the same numbers: split makes new keys from one,
fold_in makes a key from a key and an integer. Keys, bits and integers are those of jax.random (Threefry-2x32, partitionable; Salmon et al., 2011);
other samples agree with it up to rounding, except those of poisson with lam >= 10 and binomial with n p > 10.`, "key", keyed(), false, false, [][2]string{{"PRNGKey", "key"}}},
		{"lax", laxDoc, "x", laxOps(), true, false, nil},
		{"special", specialDoc, "x", specialOps(), false, true, nil},
		{"linalg", linalgDoc, "x", linalgOps(), false, true, nil},
		{"fft", fftDoc, "x", fftOps(), false, true, nil},
		{"numpy", numpyDoc, "x", numpyOps(), true, true, aliases(`absolute=abs arccos=acos arccosh=acosh arcsin=asin arcsinh=asinh arctan=atan arctanh=atanh
		arctan2=atan2 power=pow true_divide=divide mod=remainder invert=bitwise_invert bitwise_not=bitwise_invert left_shift=bitwise_left_shift
		right_shift=bitwise_right_shift amax=max amin=min around=round fix=trunc radians=deg2rad degrees=rad2deg concatenate=concat hann=hanning
		conjugate=conj cumsum=cumulative_sum cumprod=cumulative_prod`)},
	}
})

// functionsOf gives the functions of each module by their names, and the rules of optim.
var functionsOf = map[string]func() map[string]*Op{
	"random": named(keyed), "lax": named(laxOps), "special": named(specialOps), "linalg": named(linalgOps), "fft": named(fftOps),
	"numpy": named(numpyOps), "optim": named(rules),
}

func named(table func() []Op) func() map[string]*Op {
	return sync.OnceValue(func() map[string]*Op {
		list := table()
		m := make(map[string]*Op, len(list))
		for i := range list {
			m[list[i].Name] = &list[i]
		}
		return m
	})
}

// aliases are pairs of an alias and a function.
func aliases(text string) [][2]string {
	var all [][2]string
	for p := range strings.FieldsSeq(text) {
		alias, function, _ := strings.Cut(p, "=")
		all = append(all, [2]string{alias, function})
	}
	return all
}

// OperandOf is the name of the first operand of a function; "" if it has none.
func (m *Module) OperandOf(op *Op) string {
	name := op.First
	if name == "" {
		name = m.Operand
	}
	switch op.Form {
	case Maker:
		return ""
	case Joiner:
		return cmp.Or(op.First, m.Operand+"s")
	}
	return name
}

// FunctionName is the name of an operation of a module in it.
func (op *Op) FunctionName() string {
	_, name, _ := strings.Cut(op.Name, ".")
	return name
}

const shaped = "shape shape?, "

// sampler is a function of random.
func sampler(name, params, doc string, draw func(a *Args) (*uop.UOp, error)) Op {
	return method("random."+name, params, doc, draw)
}

// distribution is a function of random that draws from a distribution of tensor.Samplers. The parameters of the distribution, tensors or numbers,
// come before the shape, which by default is the one that they broadcast to.
func distribution(name, params, doc string) Op {
	takes := shaped + ofType
	if params != "" {
		takes = params + ", " + takes
	}
	names := tensor.Samplers[name].Params
	return sampler(name, takes, doc, func(a *Args) (*uop.UOp, error) {
		given := make([]any, len(names))
		for i, p := range names {
			given[i] = a.at(p)
		}
		return tensor.Sample(name, a.X, a.shape("shape"), a.dtype("dtype"), given...)
	})
}

var keyed = sync.OnceValue(func() []Op {
	return []Op{
		single(Maker, "random.key", "seed int", "The key made from a seed.", func(a *Args) (*uop.UOp, error) {
			return tensor.Key(a.Graph, a.int("seed"))
		}),
		sampler("split", "num ints = 2 [0,]", "num new keys, as a tensor of shape (num, 2); of shape (…, 2) for several sizes.", func(a *Args) (*uop.UOp, error) {
			return tensor.SplitKey(a.X, uop.ShapeOf(a.ints("num")...))
		}),
		sampler("fold_in", "data operand", "A new key derived from a key and an integer; for a tensor of integers, one key for each.", func(a *Args) (*uop.UOp, error) {
			return tensor.FoldIn(a.X, a.at("data"))
		}),
		sampler("bits", shaped+"dtype dtype = uint32", "Random bits, of an unsigned type.", func(a *Args) (*uop.UOp, error) {
			return tensor.KeyBits(a.X, a.shape("shape"), a.dtype("dtype"))
		}),
		sampler("uniform", shaped+ofType+", minval operand?, maxval operand?", "Random numbers, uniform in [minval, maxval), by default in [0, 1).", func(a *Args) (*uop.UOp, error) {
			low, high := a.or("minval", uop.Int(0)), a.or("maxval", uop.Int(1))
			return tensor.KeyUniform(a.X, a.shape("shape"), a.dtype("dtype"), low, high)
		}),
		sampler("normal", shaped+ofType, "Random numbers of the standard normal distribution.", func(a *Args) (*uop.UOp, error) {
			return tensor.KeyNormal(a.X, a.shape("shape"), a.dtype("dtype"))
		}),
		sampler("randint", "shape shape, minval operand, maxval operand, dtype dtype = int32", `Random integers, uniform in [minval, maxval); minval where maxval is not greater.
If maxval - minval is close to the range of the type, some integers are drawn more often: the result is a remainder of random bits, as in JAX.`, func(a *Args) (*uop.UOp, error) {
			return tensor.KeyIntegers(a.X, a.shape("shape"), a.at("minval"), a.at("maxval"), a.dtype("dtype"))
		}),
		sampler("permutation", "x operand, axis int = 0, independent bool = false", `The slices of x along an axis in random order; for a number n, arange(n) in random order.
With independent the elements of each vector along the axis are permuted independently.`, func(a *Args) (*uop.UOp, error) {
			x, err := a.choices("x")
			if err != nil {
				return nil, err
			}
			return tensor.KeyPermutation(a.X, x, a.axis("axis"), a.bool("independent"))
		}),
		sampler("choice", "a operand, shape shape?, replace bool = true, p tensor?, axis int = 0", `Random elements of a along an axis, or of arange(a) for a number.
The axis becomes the axes of shape. p are the probabilities of the elements, by default equal. Without replace no element is drawn twice.`, func(a *Args) (*uop.UOp, error) {
			return tensor.KeyChoice(a.X, a.at("a"), a.shape("shape"), a.bool("replace"), a.tensor("p"), a.axis("axis"))
		}),
		sampler("bernoulli", "p operand?, shape shape?", "Random truth values, true with probability p, by default 0.5.", func(a *Args) (*uop.UOp, error) {
			return tensor.KeyBernoulli(a.X, a.shape("shape"), a.or("p", uop.Float(0.5)))
		}),
		sampler("categorical", "logits tensor, axis int = -1, shape shape?, replace bool = true", `Random indices along an axis, with the probabilities softmax(logits), int32.
shape ends with the shape of logits without the axis, its default. Without replace the samples of one vector differ.`, func(a *Args) (*uop.UOp, error) {
			return tensor.KeyCategorical(a.X, a.tensor("logits"), a.axis("axis"), a.shape("shape"), a.bool("replace"))
		}),
		sampler("rademacher", shaped+"dtype dtype = int32", "Random signs: 1 or -1, equally likely.", func(a *Args) (*uop.UOp, error) {
			return tensor.KeySigns(a.X, a.shape("shape"), a.dtype("dtype"))
		}),
		sampler("geometric", "p operand, "+shaped+"dtype dtype = int32", "Random numbers of trials up to the first success, of probability p.", func(a *Args) (*uop.UOp, error) {
			return tensor.KeyGeometric(a.X, a.shape("shape"), a.at("p"), a.dtype("dtype"))
		}),
		sampler("multivariate_normal", "mean tensor, cov tensor, shape shape?", `Random vectors of the normal distribution with a mean (…, n) and a covariance (…, n, n).
shape is that of the samples without the last axis.`, func(a *Args) (*uop.UOp, error) {
			return tensor.KeyMultivariateNormal(a.X, a.tensor("mean"), a.tensor("cov"), a.shape("shape"))
		}),
		sampler("orthogonal", "n int [0,], shape shape?, "+ofType+", m int? [0,]", `Random orthogonal matrices (…, n, m), uniform in the Haar measure; m is n unless given.
Of a matrix that is not square, the rows or the columns, whichever are fewer, are orthonormal.`, func(a *Args) (*uop.UOp, error) {
			m := a.int("n")
			if a.given("m") {
				m = a.int("m")
			}
			return tensor.KeyOrthogonal(a.X, a.int("n"), m, a.shape("shape"), a.dtype("dtype"))
		}),
		distribution("truncated_normal", "lower operand, upper operand", "Random numbers of the standard normal distribution between lower and upper."),
		distribution("lognormal", "sigma operand = 1", "Random numbers whose logarithm is normal with mean 0 and standard deviation sigma."),
		distribution("exponential", "", "Random numbers of the exponential distribution with mean 1."),
		distribution("laplace", "", "Random numbers of the Laplace distribution with density exp(-|x|) / 2."),
		distribution("logistic", "", "Random numbers of the logistic distribution."),
		distribution("gumbel", "", "Random numbers of the Gumbel distribution with density exp(-x - exp(-x))."),
		distribution("cauchy", "", "Random numbers of the Cauchy distribution with density 1 / (pi (1 + x^2))."),
		distribution("pareto", "b operand", "Random numbers of the Pareto distribution with density b / x^(b+1) for x >= 1."),
		distribution("rayleigh", "scale operand = 1", "Random numbers of the Rayleigh distribution."),
		distribution("maxwell", "", "Random numbers of the Maxwell distribution: the norm of three standard normal numbers."),
		distribution("double_sided_maxwell", "loc operand, scale operand", "Random numbers of the Maxwell distribution with random signs, times scale, plus loc."),
		distribution("weibull_min", "scale operand, concentration operand", "Random numbers of the Weibull distribution of minima."),
		distribution("triangular", "left operand, mode operand, right operand", "Random numbers of the triangular distribution from left to right,\nwith the greatest density at mode."),
		distribution("gamma", "a operand", "Random numbers of the gamma distribution of shape a.\nIts density is proportional to x^(a-1) exp(-x). The derivative with respect to a keeps the quantile fixed (implicit reparameterisation), also in functions of the samples."),
		distribution("loggamma", "a operand", "Logarithms of random numbers of the gamma distribution.\nThey are accurate even where the numbers themselves would underflow."),
		distribution("beta", "a operand, b operand", "Random numbers of the beta distribution.\nIts density is proportional to x^(a-1) (1-x)^(b-1) for x from 0 to 1."),
		distribution("chisquare", "df operand", "Random numbers of the chi-squared distribution with df degrees of freedom."),
		distribution("f", "dfnum operand, dfden operand", "Random numbers of the F distribution with dfnum and dfden degrees of freedom."),
		distribution("t", "df operand", "Random numbers of Student's t distribution with df degrees of freedom."),
		distribution("generalized_normal", "p operand", "Random numbers of the generalised normal distribution.\nIts density is proportional to exp(-|x|^p)."),
		sampler("dirichlet", "alpha tensor, "+shaped+ofType, `Random vectors of the Dirichlet distribution, which add up to 1.
shape is that of the samples without the last axis, that of alpha.`, func(a *Args) (*uop.UOp, error) {
			return tensor.KeyDirichlet(a.X, a.tensor("alpha"), a.shape("shape"), a.dtype("dtype"))
		}),
		sampler("ball", "d int [0,], p operand = 2, "+shaped+ofType, "Random points (…, d), uniform in the unit ball of the p-norm.", func(a *Args) (*uop.UOp, error) {
			return tensor.KeyBall(a.X, a.int("d"), a.at("p"), a.shape("shape"), a.dtype("dtype"))
		}),
		sampler("poisson", "lam operand, "+shaped+"dtype dtype = int32", "Random numbers of the Poisson distribution with mean lam.", func(a *Args) (*uop.UOp, error) {
			return tensor.KeyPoisson(a.X, a.at("lam"), a.shape("shape"), a.dtype("dtype"))
		}),
		sampler("binomial", "n operand, p operand, "+shaped+ofType, "Random numbers of successes in n trials of probability p.", func(a *Args) (*uop.UOp, error) {
			return tensor.KeyBinomial(a.X, a.at("n"), a.at("p"), a.shape("shape"), a.dtype("dtype"))
		}),
		sampler("multinomial", "n operand, p tensor, "+shaped+ofType, `Random counts of k outcomes, of probabilities p (…, k), in n trials.
shape is that of the counts, (…, k).`, func(a *Args) (*uop.UOp, error) {
			return tensor.KeyMultinomial(a.X, a.at("n"), a.tensor("p"), a.shape("shape"), a.dtype("dtype"))
		}),
		distribution("wald", "mean operand", "Random numbers of the inverse Gaussian distribution with a mean and the shape parameter 1."),
	}
})

// or is an argument, or a number if it is not given.
func (a *Args) or(name string, otherwise uop.Const) any {
	if a.given(name) {
		return a.at(name)
	}
	return otherwise
}

// choices is a tensor, or arange(n) for a number n.
func (a *Args) choices(name string) (*uop.UOp, error) {
	u, is := a.at(name).(*uop.UOp)
	if is {
		return u, nil
	}
	c := a.number(name)
	n, whole := c.Int64()
	if c.IsFloat() {
		n, whole = int64(c.F()), c.F() == math.Trunc(c.F())
	}
	if !whole || n < 0 {
		return nil, bad(name, "%s, expected a tensor or a number of choices", c)
	}
	return tensor.Arange(a.Graph, uop.Int(0), uop.Int(n), uop.Int(1), uop.Int32)
}
