package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Random tensors of floating types, composed of Rand and Randn.

func needFloatType(dt *uop.DType) {
	needType("dtype", dt)
	if !dt.IsFloat() {
		fail("dtype", "is %s, expected a floating point type", dt)
	}
}

// wideFloat is the type for drawing numbers of type dt.
func wideFloat(dt *uop.DType) *uop.DType {
	if dt == uop.Float64 {
		return dt
	}
	return uop.Float32
}

// uniformIn is stored: a kernel of its own computes both words of a position at once, and computing words takes longer than storing and loading the
// numbers.
func uniformIn(s seed, shape uop.Shape, low, high float64, dt *uop.DType) *uop.UOp {
	return drawnInPairs(s, shape, func(s seed, shape uop.Shape) *uop.UOp {
		return add(cast(mul(s.uniform(shape, wideFloat(dt)), high-low), dt), low)
	})
}

func normalAround(s seed, shape uop.Shape, mean, std float64, dt *uop.DType) *uop.UOp {
	return add(mul(cast(normal(s, shape), dt), std), mean)
}

// wholeNumber is a number without a fraction, as bounds of integer types must be.
func wholeNumber(arg string, v float64, dt *uop.DType) int64 {
	if v != math.Trunc(v) || math.Abs(v) >= 1<<63 {
		fail(arg, "is %v, expected a whole number for %s", v, dt)
	}
	return int64(v)
}

// UniformSeeded is uniform in low..high, with a seed as in RandSeeded. Integer types hold low..high-1.
func UniformSeeded(shape uop.Shape, low, high float64, dt *uop.DType, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("UniformSeeded", &err)
	needType("dtype", dt)
	if dt.IsInt() {
		from, to := wholeNumber("low", low, dt), wholeNumber("high", high, dt)
		return drawnIntegers(tensorSeed(seed), shape, from, to, dt), nil
	}
	needFloatType(dt)
	return uniformIn(tensorSeed(seed), shape, low, high, dt), nil
}

// NormalSeeded is normal with a mean and a standard deviation, with a seed as in RandSeeded; integer types round to 0.
func NormalSeeded(shape uop.Shape, mean, std float64, dt *uop.DType, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("NormalSeeded", &err)
	needType("dtype", dt)
	in := dt
	if !dt.IsFloat() {
		in = uop.Float32
	}
	r = ofMost(shape, func(s uop.Shape) *uop.UOp { return normalAround(tensorSeed(seed), s, mean, std, in) })
	return cast(r, dt), nil
}

// InitScheme is an initialization of weights.
type InitScheme uint8

// Schemes of InitSeeded for weights of shape (out, in, …).
const (
	// InitScaledUniform is uniform in ±1/sqrt(number of weights).
	InitScaledUniform InitScheme = iota
	// InitGlorotUniform is uniform in ±sqrt(6/(out + in…)): Glorot and Bengio, Understanding the difficulty of training deep
	// feedforward neural networks.
	InitGlorotUniform
	// InitKaimingUniform is uniform in ±sqrt(6/((1+a²) in…)): He et al., Delving deep into rectifiers.
	InitKaimingUniform
	// InitKaimingNormal is normal with the deviation sqrt(2/((1+a²) in…)).
	InitKaimingNormal
)

// InitSeeded initializes weights of shape (out, in, …) by a scheme; a is the negative slope of the following rectifier.
func InitSeeded(scheme InitScheme, shape uop.Shape, a float64, dt *uop.DType, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("InitSeeded", &err)
	needFloatType(dt)
	needShape("shape", shape)
	sizes := intShape("shape", shape)
	if len(sizes) == 0 && scheme != InitScaledUniform {
		fail("shape", "has no dimension, expected (out, in, …)")
	}
	all, inputs := 1.0, 1.0
	for i, n := range sizes {
		all *= float64(n)
		if i > 0 {
			inputs *= float64(n)
		}
	}
	var bound float64
	switch scheme {
	case InitScaledUniform:
		bound = 1 / math.Sqrt(max(all, 1))
	case InitGlorotUniform:
		bound = math.Sqrt(6 / max(float64(sizes[0])+inputs, 1))
	case InitKaimingUniform:
		bound = math.Sqrt(6 / ((1 + a*a) * max(inputs, 1)))
	case InitKaimingNormal:
		return normalAround(tensorSeed(seed), shape, 0, math.Sqrt(2/((1+a*a)*max(inputs, 1))), dt), nil
	default:
		fail("scheme", "is %d, expected 0..%d", scheme, InitKaimingNormal)
	}
	return uniformIn(tensorSeed(seed), shape, -bound, bound, dt), nil
}

// fractionBits is the number of bits of uniform random numbers in float32, which are multiples of 2^-fractionBits.
const fractionBits = 24

// wholeFractions draws integers of fractionBits bits, uint32.
func wholeFractions(s seed, shape uop.Shape) *uop.UOp {
	return cast(mul(s.uniform(shape, uop.Float32), 1<<fractionBits), uop.Uint32)
}

// RandPermSeeded is a random permutation of 0..n-1, in an integer type, with a seed as in RandSeeded.
func RandPermSeeded(n int64, dt *uop.DType, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("RandPermSeeded", &err)
	needType("dtype", dt)
	if n < 0 {
		fail("n", "%d, expected 0 or more", n)
	}
	s := tensorSeed(seed)
	if n <= shortRow {
		return cast(ordered(s.uniform(uop.ShapeOf(n), uop.Float32), 0, false).at, dt), nil
	}
	key := drawnInPairs(s, uop.ShapeOf(n), wholeFractions)
	return cast(reshape(radixOrder(reshape(key, uop.ShapeOf(1, n)), fractionBits), uop.ShapeOf(n)), dt), nil
}

// multinomial with replacement finds the class of a uniform number in the cumulative sum of the weights. Without, each class gets
// an exponential waiting time with its weight as the rate, and the first n are taken (Efraimidis and Spirakis, Weighted
// random sampling with a reservoir).
func multinomial(s seed, w *uop.UOp, n int64, replacement bool) *uop.UOp {
	shape := w.Shape()
	lead := shape[:len(shape)-1]
	if replacement || n == 1 {
		total := scan(w, -1, uop.Add)
		share := div(total, index(total, Ellipsis(), Slice(ptr(-1), nil, 1)))
		u := s.uniform(joinShapes(uop.ShapeOf(n), lead, uop.ShapeOf(1)), uop.Float32)
		// The last class ends at 1 despite rounding.
		inner := shrinkAxis(share, len(shape)-1, uop.N(0), shape[len(shape)-1].Sub(uop.N(1)))
		drawn := sum(cast(ge(u, unsqueeze(inner, 0)), uop.Int32), []int{-1}, false)
		return permute(drawn, append(countTo(len(lead) + 1)[1:], 0))
	}
	u := s.uniform(shape, uop.Float32)
	wait := div(neg(log(maximum(u, math.Ldexp(1, -25)))), w)
	return cast(shrinkAxis(ordered(wait, -1, false).at, len(shape)-1, uop.N(0), uop.N(n)), uop.Int32)
}

// MultinomialSeeded draws n classes, int32, for every row of weights in the last axis of x; weights are nonnegative, not all 0.
// Without replacement no class is drawn twice.
func MultinomialSeeded(x *uop.UOp, n int64, replacement bool, seed *uop.UOp) (r *uop.UOp, err error) {
	defer guard("MultinomialSeeded", &err)
	needSame("operands", x, seed)
	s := x.Shape()
	if len(s) == 0 || numel("x", s).IsNum(0) {
		fail("x", "has shape %s, expected weights in the last axis", s)
	}
	if classes := intSize("x", s, len(s)-1); n < 1 || !replacement && n > classes {
		fail("n", "is %d, expected 1 or more, and at most %d without replacement", n, classes)
	}
	return multinomial(tensorSeed(seed), asFloat(x), n, replacement), nil
}
