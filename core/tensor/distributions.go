package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Samplers of distributions by key. Shapes are those of the samples: parameters, numbers or tensors, must broadcast to them. The methods are
// those of jax.random, so that samples of one key are equal to rounding. Devroye, Non-Uniform Random Variate Generation, 1986, derives them.

// A Sampler draws samples of a shape and a floating type. params are the parameters of its distribution in the order in which the table
// Samplers names them.
type Sampler struct {
	Params []string
	draw   func(key *uop.UOp, shape uop.Shape, dt *uop.DType, params []*uop.UOp) *uop.UOp
}

// Samplers are the distributions of real numbers.
var Samplers = map[string]Sampler{
	"exponential": {nil, func(key *uop.UOp, s uop.Shape, dt *uop.DType, _ []*uop.UOp) *uop.UOp {
		return exponential(key, s, dt)
	}},
	"gumbel": {nil, func(key *uop.UOp, s uop.Shape, dt *uop.DType, _ []*uop.UOp) *uop.UOp { return gumbel(key, s, dt) }},
	"laplace": {nil, func(key *uop.UOp, s uop.Shape, dt *uop.DType, _ []*uop.UOp) *uop.UOp {
		u := keyUniform(key, s, dt, aboveMinusOne(dt), 1.0)
		return mul(sign(u), log1pIn(neg(abs(u))))
	}},
	"logistic": {nil, func(key *uop.UOp, s uop.Shape, dt *uop.DType, _ []*uop.UOp) *uop.UOp {
		u := keyUniform(key, s, dt, tiniest(dt), 1.0)
		return sub(log(u), log1pIn(neg(u)))
	}},
	"cauchy": {nil, func(key *uop.UOp, s uop.Shape, dt *uop.DType, _ []*uop.UOp) *uop.UOp {
		return tan(mul(sub(keyUniform(key, s, dt, step(dt), 1.0), 0.5), math.Pi))
	}},
	"lognormal": {[]string{"sigma"}, func(key *uop.UOp, s uop.Shape, dt *uop.DType, p []*uop.UOp) *uop.UOp {
		return exp(mul(keyNormal(key, s, dt), p[0]))
	}},
	"pareto": {[]string{"b"}, func(key *uop.UOp, s uop.Shape, dt *uop.DType, p []*uop.UOp) *uop.UOp {
		return exp(div(exponential(key, s, dt), p[0]))
	}},
	"rayleigh": {[]string{"scale"}, func(key *uop.UOp, s uop.Shape, dt *uop.DType, p []*uop.UOp) *uop.UOp {
		return mul(sqrt(mul(log(unitOf(key, s, dt)), -2.0)), p[0])
	}},
	"maxwell": {nil, func(key *uop.UOp, s uop.Shape, dt *uop.DType, _ []*uop.UOp) *uop.UOp { return maxwell(key, s, dt) }},
	"double_sided_maxwell": {[]string{"loc", "scale"}, func(key *uop.UOp, s uop.Shape, dt *uop.DType, p []*uop.UOp) *uop.UOp {
		k1, k2 := splitPair(key)
		return add(mul(mul(signs(k2, s, dt), maxwell(k1, s, dt)), p[1]), p[0])
	}},
	"weibull_min": {[]string{"scale", "concentration"}, func(key *uop.UOp, s uop.Shape, dt *uop.DType, p []*uop.UOp) *uop.UOp {
		return mul(pow(exponential(key, s, dt), div(1.0, p[1])), p[0])
	}},
	"triangular": {[]string{"left", "mode", "right"}, func(key *uop.UOp, s uop.Shape, dt *uop.DType, p []*uop.UOp) *uop.UOp {
		u, left, mode, right := unitOf(key, s, dt), p[0], p[1], p[2]
		whole, below, above := sub(right, left), sub(mode, left), sub(right, mode)
		up := add(left, sqrt(mul(mul(u, whole), below)))
		down := sub(right, sqrt(mul(mul(sub(1.0, u), whole), above)))
		return where(lt(u, div(below, whole)), up, down)
	}},
	"truncated_normal": {[]string{"lower", "upper"}, func(key *uop.UOp, s uop.Shape, dt *uop.DType, p []*uop.UOp) *uop.UOp {
		// The inverse of the distribution function at a uniform number between its values at the bounds; the bounds themselves are excluded.
		at := func(x *uop.UOp) *uop.UOp { return inFloat(erf)(div(x, math.Sqrt2)) }
		z := mul(erfinvIn(keyUniform(key, s, dt, at(p[0]), at(p[1]))), math.Sqrt2)
		return minimum(maximum(z, nextUp(p[0])), neg(nextUp(neg(p[1]))))
	}},
	"gamma": {[]string{"a"}, func(key *uop.UOp, s uop.Shape, _ *uop.DType, p []*uop.UOp) *uop.UOp {
		return gammaOf(key, broadcastTo(p[0], s), false)
	}},
	"loggamma": {[]string{"a"}, func(key *uop.UOp, s uop.Shape, _ *uop.DType, p []*uop.UOp) *uop.UOp {
		return gammaOf(key, broadcastTo(p[0], s), true)
	}},
	"beta": {[]string{"a", "b"}, func(key *uop.UOp, s uop.Shape, _ *uop.DType, p []*uop.UOp) *uop.UOp {
		return beta(key, broadcastTo(p[0], s), broadcastTo(p[1], s))
	}},
	"chisquare": {[]string{"df"}, func(key *uop.UOp, s uop.Shape, _ *uop.DType, p []*uop.UOp) *uop.UOp {
		return chiSquare(key, broadcastTo(p[0], s))
	}},
	"f": {[]string{"dfnum", "dfden"}, func(key *uop.UOp, s uop.Shape, _ *uop.DType, p []*uop.UOp) *uop.UOp {
		k1, k2 := splitPair(key)
		over, under := chiSquare(k2, broadcastTo(p[0], s)), chiSquare(k1, broadcastTo(p[1], s))
		return div(div(over, p[0]), div(under, p[1]))
	}},
	"t": {[]string{"df"}, func(key *uop.UOp, s uop.Shape, dt *uop.DType, p []*uop.UOp) *uop.UOp {
		k1, k2 := splitPair(key)
		half := broadcastTo(div(p[0], 2.0), s)
		return mul(keyNormal(k1, s, dt), sqrt(div(half, gammaOf(k2, half, false))))
	}},
	"generalized_normal": {[]string{"p"}, func(key *uop.UOp, s uop.Shape, _ *uop.DType, p []*uop.UOp) *uop.UOp {
		return generalizedNormal(key, broadcastTo(p[0], s))
	}},
	// Michael, Schucany, Haas, Generating Random Variates Using Transformations with Multiple Roots, 1976.
	"wald": {[]string{"mean"}, func(key *uop.UOp, s uop.Shape, dt *uop.DType, p []*uop.UOp) *uop.UOp {
		k1, k2 := splitPair(key)
		m, y := p[0], square(keyNormal(k1, s, dt))
		root := sqrt(add(mul(mul(m, 4.0), y), mul(square(m), square(y))))
		x := sub(add(m, div(mul(square(m), y), 2.0)), mul(div(m, 2.0), root))
		return where(le(unitOf(k2, s, dt), div(m, add(m, x))), x, div(square(m), x))
	}},
}

// sampleShape is the given shape, or if it is nil the one that the parameters broadcast to.
func sampleShape(shape uop.Shape, params ...operand) uop.Shape {
	if shape != nil {
		return shape
	}
	shapes := []uop.Shape{{}}
	for _, p := range params {
		if u, is := p.(*uop.UOp); is {
			shapes = append(shapes, u.Shape())
		}
	}
	s, ok := broadcastShape(shapes...)
	if !ok {
		fail("shape", "is not given, and the parameters have shapes %v, which do not broadcast", shapes[1:])
	}
	return s
}

// Sample draws from the distribution of Samplers with this name. params are numbers or tensors; a nil shape means the one that they broadcast to.
func Sample(name string, key *uop.UOp, shape uop.Shape, dt *uop.DType, params ...any) (r *uop.UOp, err error) {
	defer guard("Sample", &err)
	s := Samplers[name]
	needKey(key)
	needSampleType(dt)
	shape = sampleShape(shape, params...)
	like := fullShape(key, shape, dt)
	given := make([]*uop.UOp, len(params))
	for i, p := range params {
		given[i] = besideShape(s.Params[i], p, like)
	}
	return s.draw(key, shape, dt, given), nil
}

func unitOf(key *uop.UOp, s uop.Shape, dt *uop.DType) *uop.UOp {
	return keyUniform(key, s, dt, 0.0, 1.0)
}

func exponential(key *uop.UOp, s uop.Shape, dt *uop.DType) *uop.UOp {
	return neg(log1pIn(neg(unitOf(key, s, dt))))
}

func gumbel(key *uop.UOp, s uop.Shape, dt *uop.DType) *uop.UOp {
	return neg(log(neg(log(keyUniform(key, s, dt, tiniest(dt), 1.0)))))
}

func maxwell(key *uop.UOp, s uop.Shape, dt *uop.DType) *uop.UOp {
	return sqrt(sum(square(keyNormal(key, joinShapes(s, uop.ShapeOf(3)), dt)), []int{len(s)}, false))
}

// signs are 1 and -1, equally likely.
func signs(key *uop.UOp, s uop.Shape, dt *uop.DType) *uop.UOp {
	positive := lt(unitOf(key, s, uop.Float32), 0.5)
	return sub(mul(cast(positive, dt), 2), 1)
}

func log1pIn(x *uop.UOp) *uop.UOp { return inFloat(log1p)(x) }

// nextUp is the next greater number of the type; infinity and NaN stay.
func nextUp(x *uop.UOp) *uop.UOp {
	words := map[int]*uop.DType{2: uop.Int16, 4: uop.Int32, 8: uop.Int64}[x.DType.Itemsize()]
	bits := bitcast(add(x, 0.0), words) // -0 becomes 0
	next := bitcast(where(lt(bits, 0), sub(bits, 1), add(bits, 1)), x.DType)
	return where(bitOr(isNaN(x), eq(x, math.Inf(1))), x, next)
}

// KeySigns are 1 and -1, equally likely, of any type that has them.
func KeySigns(key *uop.UOp, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeySigns", &err)
	needType("dtype", dt)
	if dt.IsBool() || dt.IsUnsigned() {
		fail("dtype", "is %s, expected a signed type", dt)
	}
	return signs(key, shape, dt), nil
}

// KeyBernoulli is true with probability p, a number or a tensor.
func KeyBernoulli(key *uop.UOp, shape uop.Shape, p any) (r *uop.UOp, err error) {
	defer guard("KeyBernoulli", &err)
	u := unitOf(key, sampleShape(shape, p), floatOf(p))
	return lt(u, besideShape("p", p, u)), nil
}

// floatOf is the floating type of a parameter, float32 of a number.
func floatOf(v operand) *uop.DType {
	if u, is := v.(*uop.UOp); is && u.DType.IsFloat() {
		return u.DType
	}
	return uop.DefaultFloat
}

// KeyGeometric is the number of trials up to the first success, of probability p, in an integer or floating type.
func KeyGeometric(key *uop.UOp, shape uop.Shape, p any, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyGeometric", &err)
	needType("dtype", dt)
	u := unitOf(key, sampleShape(shape, p), floatOf(p))
	misses := log1pIn(neg(besideShape("p", p, u)))
	trials := add(floor(div(log(where(eq(u, 0.0), 1.0, u)), misses)), 1.0)
	return cast(trials, dt), nil
}

// KeyCategorical draws positions along an axis of logits with the probabilities softmax(logits). shape ends with the shape of logits without that
// axis; its leading axes are several samples of each vector of logits, which differ without replacement.
func KeyCategorical(key, logits *uop.UOp, axis int, shape uop.Shape, replace bool) (r *uop.UOp, err error) {
	defer guard("KeyCategorical", &err)
	needKey(key)
	need("logits", logits)
	logits = asFloat(logits)
	s := logits.Shape()
	axis = axisOf("axis", axis, len(s))
	batch := joinShapes(s[:axis], s[axis+1:])
	if shape == nil {
		shape = batch
	}
	lead := len(shape) - len(batch)
	if lead < 0 || !shape[lead:].Equal(batch) {
		fail("shape", "%s, expected one that ends with %s, the shape of logits without axis %d", shape, batch, axis)
	}
	if replace {
		noise := gumbel(key, joinShapes(shape[:lead], s), logits.DType)
		return argMax(add(noise, logits), lead+axis, false), nil
	}
	k, n := numel("shape", shape[:lead]).N, intSize("axis", s, axis)
	if k > n {
		fail("shape", "%d samples without replacement, expected at most the %d of axis %d", k, n, axis)
	}
	noisy := moveAxis(add(logits, gumbel(key, s, logits.DType)), axis, len(s)-1)
	at := shrinkTo(ordered(noisy, len(s)-1, true).at, joinShapes(batch, uop.ShapeOf(k)))
	return reshape(moveAxis(at, len(batch), 0), shape), nil
}

// KeyChoice are elements of x along an axis, or of 0 to n-1 if x is a number n, all equally likely or with the probabilities p (nil: equal),
// with or without replacement.
func KeyChoice(key *uop.UOp, x any, shape uop.Shape, replace bool, p *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("KeyChoice", &err)
	needKey(key)
	from, is := x.(*uop.UOp)
	if !is {
		n, whole := integerOf("a", constOf(x)).Int64()
		if !whole || n < 0 {
			fail("a", "%s, expected a tensor or a number of choices", constOf(x))
		}
		from, axis = arange(key.Graph(), uop.Int(0), uop.Int(n), uop.Int(1), uop.Int32), 0
	}
	s := from.Shape()
	axis = axisOf("axis", axis, len(s))
	n, draws := intSize("axis", s, axis), numel("shape", shape).N
	if draws > 0 && n == 0 {
		fail("a", "has nothing to choose from")
	}
	if !replace && draws > n {
		fail("shape", "%d samples without replacement, expected at most the %d of a", draws, n)
	}
	if p != nil {
		need("p", p)
		if p = asFloat(p); !p.Shape().Equal(uop.ShapeOf(n)) {
			fail("p", "has shape %s, expected (%d,)", p.Shape(), n)
		}
	}
	front := joinShapes(s)
	front[axis] = uop.N(draws)
	var at *uop.UOp
	switch {
	case draws == 0:
		at = fullShape(key, shape, uop.Int32)
	case p == nil && replace:
		at = keyIntegers(key, shape, 0, int(n), uop.Int32)
	case p == nil:
		if len(s) == 1 {
			return reshape(shrinkTo(shuffled(key, from, 0), front), shape), nil
		}
		order := shuffled(key, arange(key.Graph(), uop.Int(0), uop.Int(n), uop.Int(1), uop.Int32), 0)
		at = reshape(shrinkTo(order, uop.ShapeOf(draws)), shape)
	case replace:
		upTo := scan(p, 0, uop.Add)
		total := index(upTo, At(-1))
		at = searchSorted(upTo, mul(sub(1.0, unitOf(key, shape, p.DType)), total), false)
	default: // the positions of the greatest sums of log probability and Gumbel noise
		noisy := add(gumbel(key, uop.ShapeOf(n), p.DType), log(p))
		at = reshape(shrinkTo(ordered(noisy, 0, true).at, uop.ShapeOf(draws)), shape)
	}
	return taken(from, axis, at), nil
}

// KeyMultivariateNormal is normal with a mean (…, n) and a covariance (…, n, n), of shape (…, n): shape is that of the samples without the
// last axis, nil for what mean and covariance broadcast to.
func KeyMultivariateNormal(key, mean, cov *uop.UOp, shape uop.Shape) (r *uop.UOp, err error) {
	defer guard("KeyMultivariateNormal", &err)
	needSame("operands", mean, cov)
	mean, cov = asFloat(mean), asFloat(cov)
	ms, cs := mean.Shape(), cov.Shape()
	if len(ms) == 0 {
		fail("mean", "is a scalar, expected at least 1 dimension")
	}
	n := ms[len(ms)-1]
	if len(cs) < 2 || !cs[len(cs)-2:].Equal(uop.Shape{n, n}) {
		fail("cov", "has shape %s, expected (…, %s, %s)", cs, SizeString(n), SizeString(n))
	}
	batch, ok := broadcastShape(ms[:len(ms)-1], cs[:len(cs)-2])
	if !ok {
		fail("cov", "has shape %s, which does not broadcast with the shape %s of mean", cs, ms)
	}
	if shape == nil {
		shape = batch
	}
	if both, ok := broadcastShape(shape, batch); !ok || !both.Equal(shape) {
		fail("shape", "%s, expected one that %s broadcasts to", shape, batch)
	}
	dt := uop.LeastUpper(mean.DType, cov.DType)
	z := keyNormal(key, joinShapes(shape, uop.Shape{n}), dt)
	l := cholesky(cast(cov, dt), false)
	return add(sum(mul(l, unsqueeze(z, len(shape))), []int{-1}, false), cast(mean, dt)), nil
}

// KeyOrthogonal are random orthogonal matrices, (…, n, m), uniform by Haar's measure: Q of normal numbers, with the signs of the diagonal of
// R (Mezzadri, How to Generate Random Matrices from the Classical Compact Groups, 2007). The columns are
// orthonormal if n >= m, else the rows.
func KeyOrthogonal(key *uop.UOp, n, m int64, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyOrthogonal", &err)
	z := keyNormal(key, joinShapes(shape, uop.ShapeOf(max(n, m), min(n, m))), dt)
	q, rr, err := QR(z)
	if err != nil {
		return nil, err
	}
	last := len(shape) + 1
	q = shrinkTo(q, joinShapes(z.Shape()))
	q = mul(q, unsqueeze(sign(diagonalOf(rr)), last-1))
	if n < m {
		q = transpose(q, last-1, last)
	}
	return q, nil
}
