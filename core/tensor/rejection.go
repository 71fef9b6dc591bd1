package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// Samplers by rejection: loops that go on until every element has accepted a sample. The methods and the order in which they draw are those of
// jax.random, so that samples of one key are equal to rounding. The exception is attempts: it keeps the first sample that an element accepts, where
// JAX keeps the last one that is accepted before all elements have one. Keys inside the loops are uint64 with the first word in the low half: one
// THREEFRY of a key and a place is the key that a split gives at that place.

// child is the key at a place among those that a key is split into.
func child(key *uop.UOp, place uint64) *uop.UOp {
	return threefry(likeConst(key, uop.Uint(place<<32)), key)
}

// uniformOfEach is uniform in [0, 1): a number for each of many keys.
func uniformOfEach(keys *uop.UOp, dt *uop.DType) *uop.UOp {
	return unitOfWords(dt)(halves(child(keys, 0)))
}

// uniformsOf are uniform in [0, 1): numbers of one key of shape ().
func uniformsOf(key *uop.UOp, shape uop.Shape, dt *uop.DType) *uop.UOp {
	n := randomCount(shape)
	counters := shiftLeft(cast(arange(key.Graph(), uop.Int(0), uop.Int(n), uop.Int(1), uop.Uint32), uop.Uint64), 32)
	return reshape(unitOfWords(dt)(halves(threefry(counters, key.Reshape(uop.ShapeOf(1)).Expand(uop.ShapeOf(n))))), shape)
}

// inFloat32 draws floats shorter than float32 as float32.
func inFloat32(dt *uop.DType) *uop.DType {
	if dt.Itemsize() < 4 {
		return uop.Float32
	}
	return dt
}

// gammaOf draws from the gamma distribution with a shape parameter a for each element, or draws the logarithm of such a number. Each element has a
// key of its own (Marsaglia, Tsang, A Simple Method for Generating Gamma Variables, 2000); for a < 1 it is a sample for a + 1 times u^(1/a). The
// derivative by a is the implicit one (Figurnov, Mohamed, Mnih, Implicit Reparameterization Gradients, 2018).
func gammaOf(key, a *uop.UOp, logarithm bool) *uop.UOp {
	dt, s := a.DType, a.Shape()
	name, slope := "random gamma", func(y *uop.UOp, x ...*uop.UOp) []*uop.UOp {
		return []*uop.UOp{where(eq(y, 0.0), 0.0, mul(y, gammaSlope(x[0], log(y))))}
	}
	if logarithm {
		name, slope = "logarithm of random gamma", func(y *uop.UOp, x ...*uop.UOp) []*uop.UOp { return []*uop.UOp{gammaSlope(x[0], y)} }
	}
	keys := splitWords(key, s)
	return withSlopes(name, nil, func(x ...*uop.UOp) *uop.UOp {
		a := x[0]
		in := cast(a, inFloat32(dt))
		ok := bitAnd(bitOr(gt(in, 0.0), eq(in, 0.0)), lt(in, math.Inf(1))) // other numbers would never be accepted
		in = where(ok, in, 1.0)
		boosted := lt(in, 1.0)
		d := sub(where(boosted, add(in, 1.0), in), 1.0/3)
		v := gammaLoop(child(keys, 0), d)
		u := sub(1.0, uniformOfEach(child(keys, 1), in.DType))
		var r *uop.UOp
		if logarithm {
			lu := log(u)
			boost := where(bitAnd(boosted, ne(lu, 0.0)), mul(lu, div(1.0, in)), 0.0)
			r = add(add(log(d), log(v)), boost)
		} else {
			r = mul(mul(d, v), where(boosted, pow(u, div(1.0, in)), 1.0))
		}
		return where(ok, cast(r, dt), where(eq(a, math.Inf(1)), a, math.NaN()))
	}, slope, a)
}

// splitWords are keys as uint64, one for each element of a shape.
func splitWords(key *uop.UOp, s uop.Shape) *uop.UOp { return joinWords(counted(key, s)) }

// gammaLoop is the accepted v = (1 + c x)^3 of each element, x normal: d v has the gamma distribution of d + 1/3.
func gammaLoop(keys, d *uop.UOp) *uop.UOp {
	dt, s := d.DType, d.Shape()
	ints, _ := s.Ints()
	states := []*uop.UOp{
		logicalNot(zeros(d, uop.Bool, ints...)), // elements that have accepted no sample
		keys,
		zeros(d, uop.Uint64, ints...), // the key of the next normal number where the last one was too small
		zeros(d, uop.Bool, ints...),   // whether the last normal number was too small
		zeros(d, dt, ints...),
	}
	return repeatWhile("draw", states, []*uop.UOp{d}, func(states, read []*uop.UOp) []*uop.UOp {
		left, key, xKey, again, v, d := states[0], states[1], states[2], states[3], states[4], read[0]
		// Elements that have a sample compute nothing, and few have none after the first step.
		c := div(1.0/3, sqrt(d))
		drawn := where(again, xKey, child(key, 1))
		x := normalOf(inInterval(aboveMinusOne(dt), 1.0, uniformOfEach(child(drawn, 1), dt)))
		root := add(1.0, mul(x, c))
		cube, xx := mul(square(root), root), square(x)
		u := uniformOfEach(child(key, 2), dt)
		rejected := bitAnd(ge(u, sub(1.0, mul(square(xx), 0.0331))), ge(log(u), add(mul(xx, 0.5), mul(d, add(sub(1.0, cube), log(cube))))))
		found := seldom(left, where(le(root, 0.0), -1.0, where(rejected, 0.0, cube)), likeConst(v, 1.0)) // -1: too small, 0: rejected
		left = bitAnd(left, le(found, 0.0))
		again = lt(found, 0.0)
		return []*uop.UOp{
			left, seldom(bitAnd(left, logicalNot(again)), child(key, 0), key), seldom(again, child(drawn, 0), xKey), again,
			where(bitAnd(states[0], logicalNot(left)), found, v),
		}
	})[4]
}

// gammaSlope is the derivative of log x by a along a quantile, for x of the gamma distribution of a:
//
//	d log x / da = (-dP(a, x)/da) / (x p(x))
//
// with P the distribution function and p the density. As an integral over t = x e^s, below x or, if x is greater than a and 1, above it,
//
//	∫ |log x - psi(a) + s| e^(a s - x (e^s - 1)) ds
//
// For a < 1, the part of the integral that grows as 1/a is split off and computed in closed form. The trapezoidal rule after the substitution
// |s| = w exp(t - exp(-t)) has an error below 3e-8, in float64 below 1e-11.
func gammaSlope(a, logX *uop.UOp) *uop.UOp {
	dt := a.DType
	from, distance, n := -3.2, 0.15, int64(51)
	if dt == uop.Float64 {
		from, distance, n = -3.4, 0.1, 78
	}
	a, logX = cast(a, uop.Float64), cast(logX, uop.Float64)
	x, last := exp(logX), len(a.Shape())
	upper := bitAnd(gt(x, 1.0), gt(x, a))
	small := bitAnd(logicalNot(upper), lt(a, 1.0))
	psiAbove := digamma(where(small, add(a, 1.0), a)) // of a + 1 for a < 1
	psi := sub(psiAbove, where(small, div(1.0, a), 0.0))
	width := reciprocal(where(small, add(a, 1.0), add(abs(sub(a, x)), sqrt(x))))

	t := add(mul(cast(arange(a.Graph(), uop.Int(0), uop.Int(n), uop.Int(1), uop.Int32), uop.Float64), distance), from)
	decay := exp(neg(t))
	place := exp(sub(t, decay)).ContiguousOp()
	weight := mul(mul(place, distance), add(decay, 1.0)).ContiguousOp()

	each := func(v *uop.UOp) *uop.UOp { return unsqueeze(v, last) }
	s := mul(each(where(upper, width, neg(width))), place)
	grown := expm1(s)
	density := exp(sub(mul(each(a), s), where(each(small), 0.0, mul(each(x), grown))))
	density = mul(density, where(each(small), neg(expm1(neg(mul(each(x), add(grown, 1.0))))), each(where(upper, likeConst(a, 1), likeConst(a, -1)))))
	terms := mul(mul(density, add(each(sub(logX, psi)), s)), weight)
	r := mul(width, sum(terms, []int{last}, false))
	outside := div(sub(psiAbove, logX), a)
	return cast(where(small, mul(exp(where(small, x, 0.0)), add(outside, r)), r), dt)
}

func beta(key, a, b *uop.UOp) *uop.UOp {
	k1, k2 := splitPair(key)
	x, y := gammaOf(k1, a, true), gammaOf(k2, b, true)
	return sigmoid(sub(x, y))
}

func chiSquare(key, df *uop.UOp) *uop.UOp { return mul(exp(gammaOf(key, div(df, 2.0), true)), 2.0) }

// generalizedNormal has a density in proportion to e^(-|x|^p): for p = ∞ it is uniform between -1 and 1.
func generalizedNormal(key, p *uop.UOp) *uop.UOp {
	k1, k2 := splitPair(key)
	g := gammaOf(k1, div(1.0, p), false)
	x := mul(signs(k2, g.Shape(), g.DType), pow(g, div(1.0, p)))
	return where(eq(p, math.Inf(1)), keyUniform(k1, x.Shape(), x.DType, -1.0, 1.0), x)
}

// KeyDirichlet has the Dirichlet distribution of alpha (…, n), of shape (…, n): shape is the shape of the samples without the last axis; nil takes it
// from alpha.
func KeyDirichlet(key, alpha *uop.UOp, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyDirichlet", &err)
	needKey(key)
	needSampleType(dt)
	need("alpha", alpha)
	s := alpha.Shape()
	if len(s) == 0 {
		fail("alpha", "is a scalar, expected at least 1 dimension")
	}
	n := len(s) - 1
	shape = withBatch("alpha", shape, s[:n])
	a := broadcastTo(cast(alpha, dt), joinShapes(shape, s[n:]))
	return softmax(gammaOf(key, a, true), []int{len(shape)}), nil
}

// withBatch is a shape that the batch of a parameter must broadcast to; nil is that batch.
func withBatch(arg string, shape, batch uop.Shape) uop.Shape {
	if shape == nil {
		return joinShapes(batch)
	}
	if both, ok := broadcastShape(shape, batch); !ok || !both.Equal(shape) {
		fail("shape", "%s, expected one that %s, the shape of %s without its last axis, broadcasts to", shape, batch, arg)
	}
	return shape
}

// KeyBall is uniform in the ball of the p-norm in d dimensions, of shape (…, d): the first coordinates of a vector on a sphere with more of them
// (Barthe, Guédon, Mendelson, Naor, A Probabilistic Approach to the Geometry of the l_p^n-Ball, 2005).
func KeyBall(key *uop.UOp, d int64, p any, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyBall", &err)
	needKey(key)
	needSampleType(dt)
	k1, k2 := splitPair(key)
	power := broadcastTo(besideShape("p", p, fullShape(key, shape, dt)), shape)
	s := joinShapes(shape, uop.ShapeOf(d))
	each := broadcastTo(unsqueeze(power, len(shape)), s)
	g := generalizedNormal(k1, each)
	norm := add(sum(pow(abs(g), each), []int{len(shape)}, false), exponential(k2, shape, dt))
	return div(g, unsqueeze(pow(norm, div(1.0, power)), len(shape))), nil
}

// attempts is a loop of one key that goes on until every element that waits for a whole number has accepted one; the others are 0. try draws one for
// each element, of two tensors of uniform numbers.
func attempts(key *uop.UOp, dt *uop.DType, waits *uop.UOp, read []*uop.UOp, try func(u, v *uop.UOp, read []*uop.UOp) (k, accepted *uop.UOp)) *uop.UOp {
	s := waits.Shape()
	ints, _ := s.Ints()
	states := []*uop.UOp{waits, needKey(key), zeros(key, dt, ints...)}
	return repeatWhile("draw", states, read, func(states, read []*uop.UOp) []*uop.UOp {
		left, key, found := states[0], states[1], states[2]
		k, accepted := try(uniformsOf(child(key, 1), s, dt), uniformsOf(child(key, 2), s, dt), read)
		k = seldom(left, where(accepted, k, -1.0), likeConst(found, -1.0))
		taken := ge(k, 0.0)
		return []*uop.UOp{bitAnd(left, logicalNot(taken)), child(key, 0), where(taken, k, found)}
	})[2]
}

// exceeded is the number of steps after which the sum of random steps exceeds a limit for the first time.
func exceeded(key *uop.UOp, dt *uop.DType, limit *uop.UOp, place uint64, read []*uop.UOp, draw func(u *uop.UOp, read []*uop.UOp) *uop.UOp) *uop.UOp {
	s := limit.Shape()
	ints, _ := s.Ints()
	begin := zeros(key, dt, ints...)
	states := []*uop.UOp{le(begin, limit), needKey(key), begin, begin}
	return repeatWhile("draw", states, append(read, limit), func(states, read []*uop.UOp) []*uop.UOp {
		left, key, count, total := states[0], states[1], states[2], states[3]
		total = add(total, draw(uniformsOf(child(key, place), s, dt), read))
		return []*uop.UOp{le(total, read[len(read)-1]), child(key, 1-place), where(left, add(count, 1.0), count), total}
	})[2]
}

// KeyPoisson has the Poisson distribution with rate lam, in an integer or floating type: below 10 the number of exponential times that lam exceeds
// (Knuth), else by transformed rejection (Hörmann, The Transformed Rejection Method for Generating Poisson Random Variables, 1993). Where lam is
// negative, infinite or NaN the result is -1, or NaN in a floating type.
func KeyPoisson(key *uop.UOp, lam any, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyPoisson", &err)
	needKey(key)
	needType("dtype", dt)
	shape = sampleShape(shape, lam)
	rate := broadcastTo(besideShape("lam", lam, fullShape(key, shape, uop.Float32)), shape)
	ok := bitAnd(bitOr(gt(rate, 0.0), eq(rate, 0.0)), lt(rate, math.Inf(1))) // other numbers would never be accepted
	few := lt(rate, 10.0)
	small := exceeded(key, uop.Float32, where(bitAnd(ok, few), rate, -1.0), 1, nil, func(u *uop.UOp, _ []*uop.UOp) *uop.UOp { return neg(log(u)) })
	many := bitAnd(ok, logicalNot(few))
	large := attempts(key, uop.Float32, many, []*uop.UOp{where(many, rate, 1e5)}, func(u, v *uop.UOp, read []*uop.UOp) (k, accepted *uop.UOp) {
		lam := read[0]
		b := add(mul(sqrt(lam), 2.53), 0.931)
		a := add(mul(b, 0.02483), -0.059)
		inverse := add(div(1.1328, sub(b, 3.4)), 1.1239)
		most := sub(0.9277, div(3.6224, sub(b, 2.0)))
		u = sub(u, 0.5)
		edge := sub(0.5, abs(u))
		k = floor(add(add(mul(add(div(mul(a, 2.0), edge), b), u), lam), 0.43))
		s := log(div(mul(v, inverse), add(div(a, square(edge)), b)))
		t := sub(add(neg(lam), mul(k, log(lam))), lgammaIn(add(k, 1.0)))
		inside := bitAnd(ge(edge, 0.07), le(v, most))
		outside := bitOr(lt(k, 0.0), bitAnd(lt(edge, 0.013), gt(v, edge)))
		return k, bitOr(inside, bitAnd(logicalNot(outside), le(s, t)))
	})
	r = where(few, sub(small, 1.0), large)
	r = cast(where(eq(rate, 0.0), 0.0, r), dt)
	if dt.IsFloat() {
		return where(ok, r, math.NaN()), nil
	}
	return where(ok, r, -1), nil
}

// KeyBinomial is the number of successes of n trials with probability p, in a floating type: where n p <= 10 by geometric numbers of trials, one for
// each success, else by transformed rejection (Hörmann, The Generation of Binomial Random Variates, 1993). NaN where n or p is negative or NaN.
func KeyBinomial(key *uop.UOp, n, p any, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyBinomial", &err)
	needKey(key)
	needSampleType(dt)
	shape = sampleShape(shape, n, p)
	like := fullShape(key, shape, inFloat32(floatOf(p)))
	return cast(binomial(key, broadcastTo(besideShape("n", n, like), shape), broadcastTo(besideShape("p", p, like), shape)), dt), nil
}

func binomial(key, n, p *uop.UOp) *uop.UOp {
	dt := p.DType
	below := lt(p, 0.5)
	q := where(below, p, sub(1.0, p))
	badQ := bitOr(isNaN(q), lt(q, 0.0)) // numbers that would never be accepted
	badN := bitOr(isNaN(n), lt(n, 0.0))
	infinite := eq(n, math.Inf(1))
	q = where(badQ, 0.01, q)
	few := bitOr(badN, bitAnd(logicalNot(infinite), le(mul(n, q), 10.0)))
	n = floor(n)

	small := exceeded(key, dt, where(bitAnd(few, logicalNot(badN)), n, -1.0), 0, []*uop.UOp{q}, func(u *uop.UOp, read []*uop.UOp) *uop.UOp {
		return ceil(div(neg(log(u)), abs(log1pIn(neg(read[0])))))
	})
	many := logicalNot(bitOr(few, infinite))
	large := attempts(key, dt, many, []*uop.UOp{where(many, n, 1e4), where(many, q, 0.5)}, func(u, v *uop.UOp, read []*uop.UOp) (k, accepted *uop.UOp) {
		n, p := read[0], read[1]
		deviation := sqrt(mul(mul(n, p), sub(1.0, p)))
		b := add(mul(deviation, 2.53), 1.15)
		a := add(add(mul(b, 0.0248), -0.0873), mul(p, 0.01))
		most := sub(0.92, div(4.2, b))
		r := div(p, sub(1.0, p))
		alpha := mul(add(div(5.1, b), 2.83), deviation)
		m := floor(mul(add(n, 1.0), p))
		u = sub(u, 0.5)
		edge := sub(0.5, abs(u))
		inside := bitAnd(ge(edge, 0.07), le(v, most))
		k = floor(add(mul(add(div(mul(a, 2.0), edge), b), u), add(mul(n, p), 0.5)))
		outside := bitOr(lt(k, 0.0), gt(k, n))
		v = log(div(mul(v, alpha), add(div(a, square(edge)), b)))
		rest := func(k *uop.UOp) *uop.UOp { return add(sub(n, k), 1.0) }
		bound := mul(add(m, 0.5), log(div(add(m, 1.0), mul(r, rest(m)))))
		bound = add(bound, mul(add(n, 1.0), log(div(rest(m), rest(k)))))
		bound = add(bound, mul(add(k, 0.5), log(div(mul(r, rest(k)), add(k, 1.0)))))
		bound = add(add(bound, stirlingRest(m)), stirlingRest(sub(n, m)))
		bound = sub(sub(bound, stirlingRest(k)), stirlingRest(sub(n, k)))
		return k, bitOr(inside, bitAnd(logicalNot(outside), le(v, bound)))
	})
	r := where(few, sub(small, 1.0), large)
	r = where(bitOr(below, infinite), r, sub(n, r))
	r = where(infinite, math.Inf(1), r)
	return where(bitOr(badQ, badN), math.NaN(), r)
}

// stirlingRest is what Stirling's formula lacks: log k! - (log sqrt(2 pi) + (k + 1/2) log(k + 1) - (k + 1)), by a polynomial in 1/(k + 1) with an
// error of 8e-11 for whole numbers.
func stirlingRest(k *uop.UOp) *uop.UOp {
	z := reciprocal(add(k, 1.0))
	return mul(z, horner(z, 7.424847863206798e-05, -0.0003967248649330736, 0.000863197269370728, -0.0008541048721204017,
		1.799586494975537e-05, 0.0008039753321501756, -2.958742011706789e-06, -0.00277748517696848, -9.800824726362089e-09, 0.08333333338325287))
}

// KeyMultinomial are counts of n trials with the probabilities p (…, k), of shape (…, k), in a floating type: each category in turn gets a binomial
// number of the trials that are left. shape is that of the counts, nil for what n and p broadcast to; p need not add up to 1.
func KeyMultinomial(key *uop.UOp, n any, p *uop.UOp, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyMultinomial", &err)
	needKey(key)
	needSampleType(dt)
	need("p", p)
	p = asFloat(p)
	p = cast(p, inFloat32(p.DType))
	if len(p.Shape()) == 0 {
		fail("p", "is a scalar, expected at least 1 dimension")
	}
	if shape == nil {
		shape = p.Shape()
	}
	if both, ok := broadcastShape(shape, p.Shape()); !ok || !both.Equal(shape) {
		fail("shape", "%s, expected one that %s, the shape of p, broadcasts to", shape, p.Shape())
	}
	last := len(shape) - 1
	batch := shape[:last]
	count := intSize("p", shape, last)
	left := broadcastTo(besideShape("n", n, fullShape(key, batch, p.DType)), batch)
	if count == 0 || slices.ContainsFunc(batch, func(d uop.Sint) bool { return d.IsNum(0) }) {
		return fullShape(key, shape, dt), nil
	}
	p = moveAxis(broadcastTo(p, shape), last, 0)
	total := flip(scan(flip(p, 0), 0, uop.Add), 0)
	ratio := clamp(div(p, where(eq(total, 0.0), 1.0, total)), 0.0, 1.0)
	ints, _ := batch.Ints()
	counts := zeros(p, p.DType, append([]int64{count}, ints...)...)
	at := func(x *uop.UOp, i uop.Sint) *uop.UOp { return reshape(block(x, 0, i, 1), x.Shape()[1:]) }
	l := loop{variable: "category", count: count}
	results := l.run([]*uop.UOp{left, counts}, []*uop.UOp{ratio, splitKey(key, uop.ShapeOf(count))},
		func(b *loopBody, i uop.Sint, states, read []*uop.UOp) {
			left, slot := states[0], block(states[1], 0, i, 1)
			b.do(slot.AssignTo(reshape(binomial(at(read[1], i), left, at(read[0], i)), slot.Shape())))
			b.do(left.AssignTo(sub(left, at(states[1], i))))
		})
	return cast(moveAxis(results[1], 0, last), dt), nil
}
