package tensor

import (
	"math"

	"polygrad/core/uop"
)

// Random numbers by key. A key is a tensor of two uint32; a function of a key gives the same numbers whenever it is called. The numbers
// are Threefry-2x32 with 20 rounds of counters (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011). Keys and bits, and what
// is computed from them exactly, are those of jax.random with its partitionable Threefry.

// needKey checks a key and gives it as THREEFRY takes it, the first word in the low half.
func needKey(key *uop.UOp) *uop.UOp {
	need("key", key)
	if key.DType != uop.Uint32 || !key.Shape().Equal(uop.ShapeOf(2)) {
		fail("key", "is %s of shape %s, expected a key: uint32 of shape (2,)", key.DType, key.Shape())
	}
	return joinWords(index(key, At(0)), index(key, At(1)))
}

// joinWords are uint64 of uint32 in the low and the high half.
func joinWords(low, high *uop.UOp) *uop.UOp {
	return bitOr(shiftLeft(cast(high, uop.Uint64), 32), cast(low, uop.Uint64))
}

// hashed is THREEFRY of counters, uint32: two words for each. THREEFRY takes 64-bit counters, whose high word, 0 here, comes first.
func hashed(key, counters *uop.UOp) (first, second *uop.UOp) {
	return halves(threefry(shiftLeft(cast(counters, uop.Uint64), 32), needKey(key)))
}

func halves(words *uop.UOp) (low, high *uop.UOp) {
	return cast(bitAnd(words, uop.Uint(math.MaxUint32)), uop.Uint32), cast(shiftRight(words, 32), uop.Uint32)
}

// counted are the words of the counters 0, 1, …: one counter for each element of a shape.
func counted(key *uop.UOp, shape uop.Shape) (first, second *uop.UOp) {
	n := randomCount(shape)
	first, second = hashed(key, arange(key.Graph(), uop.Int(0), uop.Int(n), uop.Int(1), uop.Uint32))
	return reshape(first, shape), reshape(second, shape)
}

// keysOf are keys of words: the last axis has both.
func keysOf(first, second *uop.UOp) *uop.UOp {
	return stack([]*uop.UOp{first, second}, len(first.Shape()))
}

// Key is the key of a seed: its upper and its lower 32 bits. The upper bits of a seed of int32 are 0.
func Key(g *uop.Graph, seed int64) (r *uop.UOp, err error) {
	defer guard("Key", &err)
	upper := seed >> 32
	if seed >= math.MinInt32 && seed <= math.MaxUint32 {
		upper = 0
	}
	word := func(v int64) *uop.UOp { return full(g, uop.ShapeOf(1), uop.Uint(uint64(uint32(v))), uop.Uint32) }
	return cat([]*uop.UOp{word(upper), word(seed)}, 0), nil
}

// SplitKey are new keys, of shape (…, 2) for a shape (…).
func SplitKey(key *uop.UOp, shape uop.Shape) (r *uop.UOp, err error) {
	defer guard("SplitKey", &err)
	return splitKey(key, shape), nil
}

func splitKey(key *uop.UOp, shape uop.Shape) *uop.UOp { return keysOf(counted(key, shape)) }

// splitPair are two new keys.
func splitPair(key *uop.UOp) (a, b *uop.UOp) {
	both := splitKey(key, uop.ShapeOf(2))
	return index(both, At(0)), index(both, At(1))
}

// FoldIn is the key of a key and an integer, of which the lower 32 bits count; keys, of shape (…, 2), for a tensor of shape (…).
func FoldIn(key *uop.UOp, data any) (r *uop.UOp, err error) {
	defer guard("FoldIn", &err)
	u, is := data.(*uop.UOp)
	if !is {
		u = constant(key, uop.Int64, integerOf("data", constOf(data)))
	}
	needInt("data", u)
	return keysOf(hashed(key, cast(u, uop.Uint32))), nil
}

// integerOf is an integer; some languages write it as a float.
func integerOf(arg string, c uop.Const) uop.Const {
	if !c.IsFloat() {
		return c
	}
	if c.F() != math.Trunc(c.F()) || math.Abs(c.F()) > 1<<62 {
		fail(arg, "is %s, expected an integer", c)
	}
	return uop.Int(int64(c.F()))
}

// KeyBits are uniform random bits, of an unsigned type.
func KeyBits(key *uop.UOp, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyBits", &err)
	needType("dtype", dt)
	if !dt.IsUnsigned() {
		fail("dtype", "is %s, expected an unsigned integer type", dt)
	}
	return drawn(shape, func(s uop.Shape) *uop.UOp { return keyBits(key, s, dt) }), nil
}

func keyBits(key *uop.UOp, shape uop.Shape, dt *uop.DType) *uop.UOp {
	return bitsOf(dt)(counted(key, shape))
}

// bitsOf makes bits of a type from the two words of counters.
func bitsOf(dt *uop.DType) func(first, second *uop.UOp) *uop.UOp {
	return func(first, second *uop.UOp) *uop.UOp {
		if dt == uop.Uint64 {
			return joinWords(second, first)
		}
		return cast(bitXor(first, second), dt)
	}
}

// KeyUniform is uniform in [low, high), which are numbers or tensors that broadcast to the shape.
func KeyUniform(key *uop.UOp, shape uop.Shape, dt *uop.DType, low, high any) (r *uop.UOp, err error) {
	defer guard("KeyUniform", &err)
	return keyUniform(key, shape, dt, low, high), nil
}

// keyUniform is low + u (high - low) for numbers u of as many random bits as the mantissa has.
func keyUniform(key *uop.UOp, shape uop.Shape, dt *uop.DType, low, high operand) *uop.UOp {
	u := drawn(shape, func(s uop.Shape) *uop.UOp { return unit(key, s, dt) })
	return inInterval(besideShape("minval", low, u), besideShape("maxval", high, u), u)
}

// inInterval is low + u (high - low), not below low.
func inInterval(low, high operand, u *uop.UOp) *uop.UOp {
	low, high = asTensor(low, u), asTensor(high, u)
	return maximum(add(mul(u, sub(high, low)), low), low)
}

// needSampleType checks the type of random real numbers.
func needSampleType(dt *uop.DType) {
	needType("dtype", dt)
	if !dt.IsFloat() || dt.Itemsize() < 2 {
		fail("dtype", "is %s, expected a floating type of 16 bits or more", dt)
	}
}

// unit is uniform in [0, 1).
func unit(key *uop.UOp, shape uop.Shape, dt *uop.DType) *uop.UOp {
	needSampleType(dt)
	return unitOfWords(dt)(counted(key, shape))
}

// unitOfWords makes uniform numbers from the two words of counters.
func unitOfWords(dt *uop.DType) func(first, second *uop.UOp) *uop.UOp {
	return func(first, second *uop.UOp) *uop.UOp { return unitOfBits(dt, first, second) }
}

func unitOfBits(dt *uop.DType, first, second *uop.UOp) *uop.UOp {
	words := map[int]*uop.DType{2: uop.Uint16, 4: uop.Uint32, 8: uop.Uint64}[dt.Itemsize()]
	_, mantissa := dt.FloatInfo()
	bits, have := bitsOf(words)(first, second), 8*dt.Itemsize()
	if mantissa < 8 { // as JAX draws them
		bits, have = cast(bitsOf(uop.Uint8)(first, second), words), 8
	}
	one := uop.Uint(uop.Float(1).Bits(dt))
	return sub(bitcast(bitOr(shiftRight(bits, have-mantissa), one), dt), 1.0)
}

// besideShape is a parameter of a distribution in the type of x; it must broadcast to the shape of x.
func besideShape(arg string, v operand, x *uop.UOp) *uop.UOp {
	u, is := v.(*uop.UOp)
	if !is {
		return likeConst(x, v)
	}
	need(arg, u)
	if s, ok := broadcastShape(u.Shape(), x.Shape()); !ok || !s.Equal(x.Shape()) {
		fail(arg, "has shape %s, which does not broadcast to %s", u.Shape(), x.Shape())
	}
	return cast(u, x.DType)
}

// KeyNormal is standard normal: the inverse of its distribution function at uniform numbers.
func KeyNormal(key *uop.UOp, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyNormal", &err)
	return keyNormal(key, shape, dt), nil
}

func keyNormal(key *uop.UOp, shape uop.Shape, dt *uop.DType) *uop.UOp {
	needSampleType(dt)
	return normalOf(keyUniform(key, shape, dt, aboveMinusOne(dt), 1.0))
}

// normalOf is standard normal, of a number that is uniform in (-1, 1).
func normalOf(u *uop.UOp) *uop.UOp { return mul(erfinvIn(u), math.Sqrt2) }

func erfinvIn(x *uop.UOp) *uop.UOp { return inFloat(erfinv)(x) }

// aboveMinusOne is the least number above -1 in a type.
func aboveMinusOne(dt *uop.DType) float64 {
	_, mantissa := dt.FloatInfo()
	return -1 + math.Ldexp(1, -mantissa-1)
}

// tiniest is the least normal number of a type, and step the distance from 1 to the next number.
func tiniest(dt *uop.DType) float64 {
	exponent, _ := dt.FloatInfo()
	return math.Ldexp(1, 2-1<<(exponent-1))
}

func step(dt *uop.DType) float64 {
	_, mantissa := dt.FloatInfo()
	return math.Ldexp(1, -mantissa)
}

// KeyIntegers is uniform in low..high-1, numbers or integer tensors; where high <= low it is low. It is a random number modulo the span, of twice the
// bits of the type (of 32 at least) for a span of up to half of the bits, else of as many bits as the type has: some numbers of a span near the limit
// of the type are drawn more often.
func KeyIntegers(key *uop.UOp, shape uop.Shape, low, high any, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("KeyIntegers", &err)
	needType("dtype", dt)
	if !dt.IsInt() {
		fail("dtype", "is %s, expected an integer type", dt)
	}
	return keyIntegers(key, shape, low, high, dt), nil
}

func keyIntegers(key *uop.UOp, shape uop.Shape, low, high operand, dt *uop.DType) *uop.UOp {
	drawn, words := dt, uop.Uint32 // narrow types are drawn as int32
	switch {
	case dt.Itemsize() < 4:
		drawn = uop.Int32
	case dt.Itemsize() == 8:
		words = uop.Uint64
	}
	k1, k2 := splitPair(key)
	upper, lower := keyBits(k1, shape, words), keyBits(k2, shape, words)
	like := fullShape(upper, shape, drawn)
	lo, _ := clipped("minval", low, like, dt.Min(), dt.Max())
	most := dt.Max()
	if drawn != dt {
		most = most.Add(uop.Int(1))
	}
	hi, beyond := clipped("maxval", high, like, dt.Min(), most)
	none := le(hi, lo)
	span := where(none, uop.Uint(1), cast(sub(hi, lo), words))
	if beyond != nil { // the type does not hold high: its greatest number is drawn, too
		span = where(bitAnd(beyond, logicalNot(none)), add(span, uop.Uint(1)), span)
	}
	rest := func(x *uop.UOp) *uop.UOp { // a span of 0 is all numbers
		return where(eq(span, 0), x, binary(uop.Mod, x, maximum(span, uop.Uint(1))))
	}
	m := rest(likeConst(upper, uop.Uint(1<<(4*words.Itemsize()))))
	m = rest(mul(m, m))
	offset := rest(add(mul(rest(upper), m), rest(lower)))
	return cast(add(lo, cast(offset, drawn)), dt).ContiguousOp()
}

// fullShape is a tensor of zeros in the graph of x.
func fullShape(x *uop.UOp, shape uop.Shape, dt *uop.DType) *uop.UOp {
	return full(x.Graph(), shape, uop.Int(0), dt)
}

// clipped clamps an integer to least..most, in the type of x; beyond is true where it was greater (nil: nowhere).
func clipped(arg string, v operand, x *uop.UOp, least, most uop.Const) (u, beyond *uop.UOp) {
	t, is := v.(*uop.UOp)
	if !is {
		c := integerOf(arg, constOf(v))
		if most.Less(c) {
			c, beyond = most, broadcastTo(constant(x, uop.Bool, uop.BoolConst(true)), x.Shape())
		}
		if c.Less(least) {
			c = least
		}
		return likeConst(x, c), beyond
	}
	needInt(arg, t)
	if s, ok := broadcastShape(t.Shape(), x.Shape()); !ok || !s.Equal(x.Shape()) {
		fail(arg, "has shape %s, which does not broadcast to %s", t.Shape(), x.Shape())
	}
	if most.Less(t.DType.Max()) {
		beyond = gt(t, most)
		t = minimum(t, most)
	}
	if t.DType.Min().Less(least) {
		t = maximum(t, least)
	}
	return cast(t, x.DType), beyond
}

// KeyPermutation shuffles x along an axis; with independent each vector along the axis has an order of its own.
func KeyPermutation(key, x *uop.UOp, axis int, independent bool) (r *uop.UOp, err error) {
	defer guard("KeyPermutation", &err)
	needKey(key)
	need("x", x)
	s := x.Shape()
	axis = axisOf("axis", axis, len(s))
	if len(s) == 0 {
		fail("x", "is a scalar, expected at least 1 dimension")
	}
	if independent || len(s) == 1 {
		return shuffled(key, x, axis), nil
	}
	order := shuffled(key, arange(x.Graph(), uop.Int(0), uop.Int(intSize("axis", s, axis)), uop.Int(1), uop.Int32), 0)
	return taken(x, axis, order), nil
}

// taken are the elements of x at positions along an axis.
func taken(x *uop.UOp, axis int, at *uop.UOp) *uop.UOp {
	entries := make([]Index, axis+1)
	for i := range axis {
		entries[i] = Whole()
	}
	entries[axis] = Take(at)
	return index(x, entries...)
}

// shuffled sorts x along an axis by random bits, so many times that all elements have different sequences of bits.
func shuffled(key, x *uop.UOp, axis int) *uop.UOp {
	const certainty = 3
	n := numel("x", x.Shape()).N
	rounds := int(math.Ceil(certainty * math.Log(math.Max(1, float64(n))) / math.Log(math.MaxUint32)))
	for range rounds {
		var bits *uop.UOp
		key, bits = splitPair(key)
		order := ordered(keyBits(bits, x.Shape(), uop.Uint32), axis, false).at
		x = gather(x, axis, order)
	}
	return x
}
