package random_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"polygrad"
	"polygrad/core/tensor/ops"
	"polygrad/random"
)

func values[T polygrad.Element](t *testing.T, x *polygrad.Tensor) []T {
	t.Helper()
	v, err := polygrad.Values[T](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func equal[T polygrad.Element](t *testing.T, what string, x *polygrad.Tensor, want ...T) {
	t.Helper()
	if got := values[T](t, x); !slices.Equal(got, want) {
		t.Errorf("%s: %v, expected %v", what, got, want)
	}
}

// What jax.random 0.10 gives of the key 42.
func TestEqualToJAX(t *testing.T) {
	key := random.Key(42)
	shape := random.WithShape
	equal[uint32](t, "key", key, 0, 42)
	equal[uint32](t, "key of -1", random.Key(-1), 0, math.MaxUint32)
	equal[uint32](t, "key of 2^40 + 3", random.Key(1<<40+3), 256, 3)
	equal[uint32](t, "split", random.Split(key), 1832780943, 270669613, 64467757, 2916123636)
	equal[uint32](t, "fold_in", random.FoldIn(key, 7), 2547012911, 1371500959)
	equal[uint32](t, "bits", random.Bits(key, shape(4)), 2098992034, 2919706841, 2646866425, 2409546199)
	equal[uint8](t, "bits of 8", random.Bits(key, shape(4), random.WithDType(polygrad.Uint8)), 162, 217, 249, 215)
	equal[uint64](t, "bits of 64", random.Bits(key, shape(2), random.WithDType(polygrad.Uint64)), 7871734211187709741, 276886910877598708)
	equal[float32](t, "uniform", random.Uniform(key, shape(3)), 0.48870957, 0.6797972, 0.6162715)
	equal[int32](t, "randint", random.RandInt(key, []int{5}, 3, 100), 38, 79, 89, 54, 28)
	equal[int32](t, "randint of all", random.RandInt(key, []int{3}, math.MinInt32, math.MaxInt32), 977810628, 1236381714, -1367112521)
	equal[uint8](t, "randint of uint8", random.RandInt(key, []int{5}, 0, 256, random.WithDType(polygrad.Uint8)), 196, 18, 183, 193, 141)
	equal[int32](t, "permutation", random.Permutation(key, 8), 7, 4, 2, 5, 3, 6, 0, 1)
	equal[int32](t, "choice", random.Choice(key, 10, shape(5), random.WithReplace(false)), 7, 4, 2, 5, 3)
	logits := polygrad.From([]float32{0, 1, 2, 3, 2, 1}, 2, 3)
	equal[int32](t, "categorical", random.Categorical(key, logits, shape(4, 2)), 2, 0, 2, 0, 1, 0, 1, 0)
	equal[int32](t, "rademacher", random.Rademacher(key, shape(6)), 1, -1, -1, -1, 1, -1)
	equal[int32](t, "geometric", random.Geometric(key, 0.25, shape(6)), 3, 2, 2, 3, 3, 2)
}

func TestPermutationsAreWhole(t *testing.T) {
	x := polygrad.From([]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 3, 4)
	key := random.Key(3)
	rows := values[int32](t, random.Permutation(key, x))
	for i := 0; i < 12; i += 4 {
		if rows[i]%4 != 0 || rows[i+3] != rows[i]+3 {
			t.Errorf("a row is torn: %v", rows)
		}
	}
	for _, y := range []*polygrad.Tensor{random.Permutation(key, x), random.Permutation(key, x, random.WithAxis(1), random.WithIndependent(true))} {
		v := values[int32](t, y)
		slices.Sort(v)
		if !slices.Equal(v, values[int32](t, x)) {
			t.Errorf("%v is no permutation", v)
		}
	}
}

// normal is the distribution function of the standard normal distribution.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// The distribution functions, of the parameters in the test below.
var distributions = map[string]struct {
	params []any
	cdf    func(x float64) float64
}{
	"uniform":     {nil, func(x float64) float64 { return x }},
	"normal":      {nil, normal},
	"exponential": {nil, func(x float64) float64 { return -math.Expm1(-x) }},
	"logistic":    {nil, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	"gumbel":      {nil, func(x float64) float64 { return math.Exp(-math.Exp(-x)) }},
	"cauchy":      {nil, func(x float64) float64 { return math.Atan(x)/math.Pi + 0.5 }},
	"laplace":     {nil, laplace},
	"lognormal":   {[]any{0.5}, func(x float64) float64 { return normal(math.Log(x) / 0.5) }},
	"pareto":      {[]any{2.5}, func(x float64) float64 { return 1 - math.Pow(x, -2.5) }},
	"rayleigh":    {[]any{2.0}, func(x float64) float64 { return -math.Expm1(-x * x / 8) }},
	"maxwell":     {nil, maxwell},
	"weibull_min": {[]any{2.0, 1.5}, func(x float64) float64 { return -math.Expm1(-math.Pow(x/2, 1.5)) }},
	"triangular":  {[]any{-1.0, 0.0, 3.0}, triangular},
	"wald":        {[]any{1.5}, wald},
	"truncated_normal": {[]any{-1.0, 0.5}, func(x float64) float64 {
		return (normal(x) - normal(-1)) / (normal(0.5) - normal(-1))
	}},
	"gamma":              {[]any{0.5}, func(x float64) float64 { return math.Erf(math.Sqrt(x)) }},
	"loggamma":           {[]any{2.0}, func(x float64) float64 { return 1 - (1+math.Exp(x))*math.Exp(-math.Exp(x)) }},
	"beta":               {[]any{0.5, 0.5}, func(x float64) float64 { return 2 / math.Pi * math.Asin(math.Sqrt(x)) }},
	"chisquare":          {[]any{4.0}, func(x float64) float64 { return 1 - (1+x/2)*math.Exp(-x/2) }},
	"f":                  {[]any{2.0, 4.0}, func(x float64) float64 { return 1 - math.Pow(1+x/2, -2) }},
	"t":                  {[]any{2.0}, func(x float64) float64 { return 0.5 + x/(2*math.Sqrt(2+x*x)) }},
	"generalized_normal": {[]any{2.0}, func(x float64) float64 { return normal(x * math.Sqrt2) }},
	"double_sided_maxwell": {[]any{1.0, 2.0}, func(x float64) float64 {
		return (1 + math.Copysign(maxwell(math.Abs(x-1)/2), x-1)) / 2
	}},
}

func laplace(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}

func maxwell(x float64) float64 {
	return math.Erf(x/math.Sqrt2) - math.Sqrt(2/math.Pi)*x*math.Exp(-x*x/2)
}

func triangular(x float64) float64 {
	if x < 0 {
		return (x + 1) * (x + 1) / 4
	}
	return 1 - (3-x)*(3-x)/12
}

func wald(x float64) float64 {
	const mean = 1.5
	root := math.Sqrt(1 / x)
	return normal(root*(x/mean-1)) + math.Exp(2/mean)*normal(-root*(x/mean+1))
}

// Kolmogorov and Smirnov's test: the greatest distance of the distribution functions of the samples and of the distribution.
func TestDistributions(t *testing.T) {
	const n = 20000
	for name, d := range distributions {
		for _, dtype := range []polygrad.DType{polygrad.Float32, polygrad.Float64} {
			r, err := polygrad.Call("random."+name, append([]any{random.Key(7)}, d.params...), random.WithShape(n), random.WithDType(dtype))
			if err != nil {
				t.Fatal(err)
			}
			x := values[float64](t, r[0].Cast(polygrad.Float64))
			slices.Sort(x)
			distance := 0.0
			for i, v := range x {
				p := d.cdf(v)
				distance = max(distance, p-float64(i)/n, float64(i+1)/n-p)
			}
			if limit := 1.95 / math.Sqrt(n); !(distance < limit) { // one in a thousand
				t.Errorf("%s, %s: distance %.4f, expected less than %.4f", name, dtype, distance, limit)
			}
		}
	}
}

// share is how often a truth value is true.
func share(t *testing.T, x *polygrad.Tensor) float64 {
	t.Helper()
	v, err := x.Cast(polygrad.Float64).Mean().Item()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %v, expected %v within %v", what, got, want, tolerance)
	}
}

func TestDiscreteDistributions(t *testing.T) {
	const n = 40000
	shape, key := random.WithShape(n), random.Key(11)
	near(t, "bernoulli", share(t, random.Bernoulli(key, shape, random.WithP(0.3))), 0.3, 0.01)
	near(t, "rademacher", share(t, random.Rademacher(key, shape)), 0, 0.02)
	near(t, "geometric", share(t, random.Geometric(key, 0.25, shape)), 4, 0.1)
	three := random.Choice(key, 4, shape, random.WithP(polygrad.From([]float32{0.1, 0.2, 0.3, 0.4})))
	logits := polygrad.From([]float32{1, 2, 3, 4}).Log()
	other := random.Categorical(key, logits, shape)
	for k, p := range []float64{0.1, 0.2, 0.3, 0.4} {
		near(t, "choice", share(t, three.Eq(k)), p, 0.01)
		near(t, "categorical", share(t, other.Eq(k)), p, 0.01)
	}
	near(t, "randint", share(t, random.RandInt(key, []int{n}, -3, 8)), 2, 0.1)
	wide := random.RandInt(key, []int{n}, 0, int64(3)<<55, random.WithDType(polygrad.Int64))
	near(t, "randint of 64 bits", share(t, wide.Cast(polygrad.Float64).Div(float64(int64(3)<<55))), 0.5, 0.01)
}

// moments are the mean and the variance of a tensor.
func moments(t *testing.T, x *polygrad.Tensor) (mean, variance float64) {
	t.Helper()
	x = x.Cast(polygrad.Float64)
	mean = share(t, x)
	return mean, share(t, x.Sub(mean).Square())
}

func TestCounts(t *testing.T) {
	const n = 40000
	shape, key := random.WithShape(n), random.Key(13)
	check := func(what string, x *polygrad.Tensor, mean, variance float64) {
		t.Helper()
		m, v := moments(t, x)
		near(t, "mean of "+what, m, mean, 4*math.Sqrt(variance/n))
		near(t, "variance of "+what, v, variance, 0.03*variance)
	}
	for _, lam := range []float64{0.3, 3, 9.9, 10, 50, 1000} {
		check("poisson", random.Poisson(key, lam, shape), lam, lam)
	}
	three := random.Poisson(key, 3, shape)
	for k, p := 0, math.Exp(-3); k < 8; k, p = k+1, p*3/float64(k+1) {
		near(t, "poisson", share(t, three.Eq(k)), p, 0.01)
	}
	for _, c := range [][2]float64{{1, 0.3}, {10, 0.5}, {20, 0.9}, {40, 0.4}, {1000, 0.03}, {1e5, 0.7}} {
		check("binomial", random.Binomial(key, c[0], c[1], shape), c[0]*c[1], c[0]*c[1]*(1-c[1]))
	}
	p := []float64{0.1, 0, 0.6, 0.3}
	counts := random.Multinomial(key, 50, polygrad.From([]float32{0.1, 0, 0.6, 0.3}), random.WithShape(n, 4))
	for k := range p {
		of := counts.Index(polygrad.All(), polygrad.At(k))
		m, v := moments(t, of)
		near(t, "mean of multinomial", m, 50*p[k], 0.1)
		near(t, "variance of multinomial", v, 50*p[k]*(1-p[k]), 0.5)
	}
	equal(t, "sums of multinomial", counts.Sum(polygrad.WithAxis(1)).Ne(50).Any(), false)
	bad := polygrad.From([]float64{math.NaN(), -1, math.Inf(1), 0})
	equal[int32](t, "poisson of bad rates", random.Poisson(key, bad), -1, -1, -1, 0)
	for what, x := range map[string]*polygrad.Tensor{
		"binomial of bad numbers": random.Binomial(key, bad, 0.5), "gamma of bad numbers": random.Gamma(key, bad),
	} {
		v := values[float32](t, x)
		if !(v[0] != v[0] && v[1] != v[1] && math.IsInf(float64(v[2]), 1) && v[3] == 0) {
			t.Errorf("%s: %v, expected NaN NaN +Inf 0", what, v)
		}
	}
}

func TestDirichletAndBall(t *testing.T) {
	key := random.Key(17)
	x := random.Dirichlet(key, polygrad.From([]float32{0.5, 1, 2.5}), random.WithShape(40000))
	for i, want := range []float64{0.125, 0.25, 0.625} {
		m, v := moments(t, x.Index(polygrad.All(), polygrad.At(i)))
		near(t, "mean of dirichlet", m, want, 0.01)
		near(t, "variance of dirichlet", v, want*(1-want)/5, 0.003)
	}
	for _, p := range []float64{1, 2, 5} { // the share in the ball of half the radius is 2^-d
		points := random.Ball(key, 3, random.WithP(p), random.WithShape(40000))
		norm := points.Abs().Pow(p).Sum(polygrad.WithAxis(1))
		near(t, "ball", share(t, norm.Le(1)), 1, 0)
		near(t, "half of the ball", share(t, norm.Lt(math.Pow(0.5, p))), 0.125, 0.01)
	}
}

// Gradients along quantiles: a sample x(a) keeps the value P(a, x) of the distribution function.
func TestGradientsOfGamma(t *testing.T) {
	a := polygrad.From([]float64{0.5, 0.5, 0.5, 0.5, 0.5})
	slopes, err := polygrad.Grad(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return []*polygrad.Tensor{random.Gamma(random.Key(3), args[0], random.WithDType(polygrad.Float64)).Sum()}, nil
	})(a)
	if err != nil {
		t.Fatal(err)
	}
	x := values[float64](t, random.Gamma(random.Key(3), a, random.WithDType(polygrad.Float64)))
	for i, slope := range values[float64](t, slopes[0]) {
		// dP/da by differences of the power series of P(a, x)
		p := func(a float64) float64 {
			sum, term := 0.0, math.Exp(a*math.Log(x[i])-x[i])/math.Gamma(a+1)
			for k := 1; term > 1e-18; k++ {
				sum, term = sum+term, term*x[i]/(a+float64(k))
			}
			return sum
		}
		const h = 1e-5
		density := math.Exp(-x[i]) / math.Sqrt(math.Pi*x[i])
		near(t, "slope of gamma", slope, -(p(0.5+h)-p(0.5-h))/(2*h)/density, 1e-8)
	}
}

func TestVectorsAndMatrices(t *testing.T) {
	key := random.Key(5)
	cov := polygrad.From([]float32{2, 0.5, 0.5, 1}, 2, 2)
	x := random.MultivariateNormal(key, polygrad.From([]float32{1, -2}), cov, random.WithShape(40000))
	centred := x.Sub(x.Mean(polygrad.WithAxis(0)))
	got := values[float32](t, centred.T().MatMul(centred).Div(40000))
	for i, want := range []float64{2, 0.5, 0.5, 1} {
		near(t, "covariance", float64(got[i]), want, 0.05)
	}
	for _, sizes := range [][2]int{{4, 4}, {3, 5}, {5, 3}} {
		n, m := sizes[0], sizes[1]
		q := random.Orthogonal(key, n, random.WithM(m), random.WithShape(2))
		product := q.Transpose(polygrad.WithDim0(-1), polygrad.WithDim1(-2)).MatMul(q)
		if n < m {
			product = q.MatMul(q.Transpose(polygrad.WithDim0(-1), polygrad.WithDim1(-2)))
		}
		off := values[float32](t, product.Sub(polygrad.Eye(min(n, m))).Abs().Max())
		near(t, "orthogonal", float64(off[0]), 0, 1e-5)
	}
}

func TestEveryFunctionIsTested(t *testing.T) {
	elsewhere := strings.Fields("key split fold_in bits randint permutation choice bernoulli categorical rademacher geometric multivariate_normal orthogonal dirichlet ball poisson binomial multinomial")
	for i := range ops.Modules()[0].Ops {
		name := ops.Modules()[0].Ops[i].FunctionName()
		if _, there := distributions[name]; there == slices.Contains(elsewhere, name) {
			t.Errorf("%s has no test", name)
		}
	}
}

func TestErrors(t *testing.T) {
	key := random.Key(1)
	x := polygrad.From([]float32{1, 2, 3})
	for text, y := range map[string]*polygrad.Tensor{
		"random.Uniform: key: is float32 of shape (3), expected a key: uint32 of shape (2,)": random.Uniform(x),
		"random.Uniform: minval: has shape (3), which does not broadcast to (2)":             random.Uniform(key, random.WithShape(2), random.WithMinval(x)),
		"random.Normal: dtype: is int32, expected a floating type":                           random.Normal(key, random.WithDType(polygrad.Int32)),
		"random.Bits: dtype: is int32, expected an unsigned integer type":                    random.Bits(key, random.WithDType(polygrad.Int32)),
		"random.RandInt: minval: is 1.5, expected an integer":                                random.RandInt(key, []int{2}, 1.5, 3),
		"random.RandInt: dtype: is float32, expected an integer type":                        random.RandInt(key, []int{2}, 1, 3, random.WithDType(polygrad.Float32)),
		"random.FoldIn: data: ": random.FoldIn(key, x),
		"random.Dirichlet: alpha: is a scalar, expected at least 1 dimension":                                      random.Dirichlet(key, polygrad.Ones([]int{})),
		"random.Multinomial: shape: (2), expected one that (3), the shape of p, broad":                             random.Multinomial(key, 5, x, random.WithShape(2)),
		"random.Gamma: a: has shape (3), which does not broadcast to (2)":                                          random.Gamma(key, x, random.WithShape(2)),
		"random.Binomial: dtype: is int32, expected a floating type":                                               random.Binomial(key, 3, 0.5, random.WithDType(polygrad.Int32)),
		"random.Split: num: -1, expected 0 or more":                                                                random.Split(key, random.WithNum(-1)),
		"random.Choice: shape: 4 samples without replacement, expected at most the 3 of a":                         random.Choice(key, x, random.WithShape(4), random.WithReplace(false)),
		"random.Choice: a: has nothing to choose from":                                                             random.Choice(key, 0, random.WithShape(4)),
		"random.Choice: p: has shape (3), expected (4,)":                                                           random.Choice(key, 4, random.WithP(x)),
		"random.Categorical: shape: (2), expected one that ends with (3), the shape of logits without axis 1":      random.Categorical(key, polygrad.Zeros([]int{3, 4}), random.WithShape(2)),
		"random.Permutation: x: 1.5, expected a tensor or a number of choices":                                     random.Permutation(key, 1.5),
		"random.Rademacher: dtype: is uint32, expected a signed type":                                              random.Rademacher(key, random.WithDType(polygrad.Uint32)),
		"random.MultivariateNormal: cov: has shape (3), expected (…, 3, 3)":                                        random.MultivariateNormal(key, x, x),
		"random.Wald: mean: has shape (3), which does not broadcast to (2)":                                        random.Wald(key, x, random.WithShape(2)),
		"random.Triangular: shape: is not given, and the parameters have shapes [(3) (2)], which do not broadcast": random.Triangular(key, x, polygrad.Zeros([]int{2}), 1),
	} {
		if err := y.Err(); err == nil || !strings.HasPrefix(err.Error(), "polygrad: "+text) {
			t.Errorf("%v, expected %s", err, text)
		}
	}
}
