package tensor

import (
	"math"
	"math/bits"
	"slices"

	"polygrad/core/uop"
)

// tinygrad's Sort, TopK, CumMax and CumMin give wrong results with NaN. Here NaN is greater than every number.

// placed are elements with their original positions.
type placed struct{ value, at *uop.UOp }

// greater is true where a is greater than b, NaN being the greatest.
func greater(a, b *uop.UOp) *uop.UOp {
	if !a.DType.IsFloat() {
		return gt(a, b)
	}
	return bitOr(gt(a, b), bitAnd(isNaN(a), logicalNot(isNaN(b))))
}

// lesser is true where a is less than b, NaN being the least.
func lesser(a, b *uop.UOp) *uop.UOp {
	if !a.DType.IsFloat() {
		return lt(a, b)
	}
	return bitOr(lt(a, b), bitAnd(isNaN(a), logicalNot(isNaN(b))))
}

// later is true where a belongs behind b; equal elements keep their order.
func (a placed) later(b placed, descending bool) *uop.UOp {
	behind, before := greater(a.value, b.value), greater(b.value, a.value)
	if descending {
		behind, before = before, behind
	}
	return bitOr(behind, bitAnd(logicalNot(before), gt(a.at, b.at)))
}

// both applies a movement to elements and positions.
func (a placed) both(f func(*uop.UOp) *uop.UOp) placed { return placed{f(a.value), f(a.at)} }

// halves splits an axis of size 2.
func (a placed) halves(axis int) (first, second placed) {
	v, at := splitEvery(a.value, 1, axis), splitEvery(a.at, 1, axis)
	return placed{v[0], at[0]}, placed{v[1], at[1]}
}

func joined(axis int, a, b placed) placed {
	return placed{cat([]*uop.UOp{a.value, b.value}, axis), cat([]*uop.UOp{a.at, b.at}, axis)}
}

// exchange orders two elements.
func exchange(a, b placed, descending bool) (first, second placed) {
	swap := a.later(b, descending)
	return placed{where(swap, b.value, a.value), where(swap, b.at, a.at)}, placed{where(swap, a.value, b.value), where(swap, a.at, b.at)}
}

// longAxis is the size from which positions are sorted along with the elements. Below it, searching for the elements afterwards,
// all against all, takes less time than compiling the many kernels of two tensors.
const longAxis = 16384

// sortedLast is a value of a type that no other is sorted behind.
func sortedLast(dt *uop.DType, descending bool) operand {
	switch {
	case descending:
		return dt.Min()
	case dt.IsFloat():
		return math.NaN()
	}
	return dt.Max()
}

// ordered sorts along an axis. Equal elements have gradients of their own.
func ordered(x *uop.UOp, axis int, descending bool) placed {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	if len(s) == 0 || s[axis].Max() <= 1 {
		return placed{x, full(x.Graph(), s, uop.Int(0), uop.DefaultInt)}
	}
	if s[axis].Symbolic() { // all that the variables allow, padded by what is sorted last
		wide := make([]uop.Pair, len(s))
		for i := range wide {
			wide[i] = pairOf(0, 0)
		}
		wide[axis].Hi = uop.N(s[axis].Max()).Sub(s[axis])
		p := ordered(pad(x, wide, sortedLast(x.DType, descending)), axis, descending)
		return p.both(func(u *uop.UOp) *uop.UOp { return shrinkAxis(u, axis, uop.N(0), s[axis]) })
	}
	p := sorted(x, axis, descending)
	numbers := []int64{int64(axis), 0}
	if descending {
		numbers[1] = 1
	}
	at := known(sortedPositions, p.at, []*uop.UOp{x}, numbers)
	if !x.DType.IsFloat() {
		return placed{known(sortedValues, p.value, []*uop.UOp{x}, numbers), at}
	}
	return placed{differentiatedAs(p.value, gather(x, axis, at)), at}
}

// sorted is ordered without gradients, along an axis of two elements or more.
func sorted(x *uop.UOp, axis int, descending bool) placed {
	s := x.Shape()
	size := s[axis].N
	switch {
	case x.DType.IsBool():
		p := sorted(cast(x, uop.Uint8), axis, descending)
		return placed{cast(p.value, uop.Bool), p.at}
	case size > shortRow && isNumbers(s) && x.DType.Itemsize() <= 8:
		return orderedByKeys(x, axis, descending)
	case size >= longAxis:
		return orderedPairs(x, axis, descending)
	}
	// Positions are found by comparing elements with sorted ones: kernels that compute both may round differently.
	x = x.ContiguousOp()
	if !x.DType.IsFloat() {
		values, at := sortAxis(x, axis, descending)
		return placed{values, at}
	}
	// NaN counts as infinity; then as many of the greatest become NaN as there were.
	nan := isNaN(x)
	values := bitonicSort(where(nan, math.Inf(1), x), axis, descending)
	numbers := onesShape(len(s))
	numbers[axis] = uop.N(size)
	number := reshape(count0(x.Graph(), size), numbers)
	if !descending {
		number = sub(int(size-1), number)
	}
	values = where(lt(number, sum(nan, []int{axis}, true)), math.NaN(), values)
	at := positionsOf(x, values, axis, equalOrNaN)
	return placed{values, at}
}

// orderedPairs is bitonicSort for elements and positions. The padding to a power of two sorts last.
func orderedPairs(x *uop.UOp, axis int, descending bool) placed {
	s := x.Shape()
	n, size := len(s), intSize("dim", s, axis)
	stages := bits.Len64(uint64(size - 1))
	last := sortedLast(x.DType, descending)
	wide := joinShapes(s)
	wide[axis] = uop.N(1 << stages)
	column := onesShape(n)
	column[axis] = wide[axis]
	p := placed{padAxis(x, axis, 0, 1<<stages-size, last), expand(reshape(count0(x.Graph(), 1<<stages), column), wide)}
	twos := make(uop.Shape, stages)
	for i := range twos {
		twos[i] = uop.N(2)
	}
	p = p.both(func(u *uop.UOp) *uop.UOp { return unflatten(u, axis, twos) })
	for stage := 1; stage <= stages; stage++ {
		// Every second block is sorted in descending order: it is flipped before and after.
		turn := func() {
			if stage == stages {
				return
			}
			crossover := axis + stages - stage - 1
			var back []int
			for i := 1; i < stage+1+(n-axis); i++ {
				back = append(back, -i)
			}
			first, second := p.halves(crossover)
			p = joined(crossover, first, second.both(func(u *uop.UOp) *uop.UOp { return flip(u, back...) })).both((*uop.UOp).ContiguousOp)
		}
		turn()
		for sub := stage - 1; sub >= 0; sub-- {
			partner := axis + stages - sub - 1
			first, second := p.halves(partner)
			first, second = exchange(first, second, descending)
			p = joined(partner, first, second).both((*uop.UOp).ContiguousOp)
		}
		turn()
	}
	return p.both(func(u *uop.UOp) *uop.UOp { return shrinkTo(flatten(u, axis, axis+stages-1), s) })
}

// orderOfComplex is the order of complex numbers along an axis, as in NumPy: by the real parts, then by the imaginary ones; behind those without
// NaN stand R + NaN i, NaN + R i and NaN + NaN i.
func orderOfComplex(x *uop.UOp, axis int, descending bool) *uop.UOp {
	z := complexOf(x)
	re, im := z.re, z.imag()
	kind := add(mul(cast(isNaN(re), uop.Int32), 2), cast(isNaN(im), uop.Int32))
	number := func(u *uop.UOp) *uop.UOp { return where(bitOr(isNaN(u), eq(u, 0)), 0, u) } // zeros are equal
	var order *uop.UOp
	for _, key := range []*uop.UOp{number(im), number(re), kind} {
		p := ordered(sortable(detach(key), order, axis), axis, descending)
		if order == nil {
			order = p.at
		} else {
			order = gather(order, axis, p.at)
		}
	}
	return order
}

// Sort sorts along an axis and gives the original positions of the elements. NaN is greater than every number. Complex numbers have NumPy's order.
func Sort(x *uop.UOp, dim int, descending bool) (values, indices *uop.UOp, err error) {
	defer guard("Sort", &err)
	need("x", x)
	if x.DType.IsComplex() {
		if len(x.Shape()) == 0 {
			return x, full(x.Graph(), x.Shape(), uop.Int(0), uop.Int32), nil
		}
		dim = axisOf("dim", dim, len(x.Shape()))
		order := orderOfComplex(x, dim, descending)
		return gather(x, dim, order), order, nil
	}
	if asTinygrad(x) {
		values, indices = sortAxis(x, dim, descending)
		return values, indices, nil
	}
	p := ordered(x, dim, descending)
	return p.value, p.at, nil
}

// TopK gives the k greatest elements (or least ones) along an axis and their positions; NaN is the greatest.
func TopK(x *uop.UOp, k int64, dim int, largest bool) (values, indices *uop.UOp, err error) {
	defer guard("TopK", &err)
	need("x", x)
	s := joinShapes(x.Shape())
	dim = needTopK(x, k, dim)
	if s[dim] = uop.N(k); asTinygrad(x) {
		values, indices = sortAxis(x, dim, largest)
		return shrinkTo(values, s), shrinkTo(indices, s), nil
	}
	if worthSelectingFirst(x, dim, k) {
		p := selected(x, k, dim, largest)
		return p.value, p.at, nil
	}
	p := ordered(x, dim, largest).between(x, dim, 0, k)
	return p.value, p.at, nil
}

// between are the sorted elements of x from position from to position to-1; their gradient is added to these elements of x alone.
func (a placed) between(x *uop.UOp, axis int, from, to int64) placed {
	part := a.both(func(u *uop.UOp) *uop.UOp { return shrinkAxis(u, axis, uop.N(from), uop.N(to)) })
	if s := a.value.Shape()[axis]; from == to || s.Symbolic() || from == 0 && uop.N(to) == s {
		return part
	}
	return placed{differentiatedAs(detach(part.value), gather(x, axis, part.at)), part.at}
}

// equal is a == b.
func equal(a, b *uop.UOp) *uop.UOp { return eq(a, b) }

// equalOrNaN is a == b where NaN equals NaN.
func equalOrNaN(a, b *uop.UOp) *uop.UOp {
	if !a.DType.IsFloat() || asTinygrad(a) {
		return eq(a, b)
	}
	return bitOr(eq(a, b), bitAnd(isNaN(a), isNaN(b)))
}

// CumMax is the greatest element so far along an axis and its position; NaN is the greatest.
func CumMax(x *uop.UOp, axis int) (values, indices *uop.UOp, err error) {
	defer guard("CumMax", &err)
	need("x", x)
	values, indices = cumMax(x, axis, equalOrNaN)
	return values, indices, nil
}

// CumMin is the least element so far along an axis and its position; NaN is the least.
func CumMin(x *uop.UOp, axis int) (values, indices *uop.UOp, err error) {
	defer guard("CumMin", &err)
	need("x", x)
	s := x.Shape()
	if axis = axisOf("axis", axis, len(s)); asTinygrad(x) || len(s) == 0 || s[axis].IsNum(0) {
		values, indices = cumMax(inverse(x), axis, equalOrNaN)
		return inverse(values), indices, nil
	}
	values = inverse(scan(inverse(x), axis, uop.Max))
	return values, newestExtreme(x, values, axis, lesser), nil
}

// MaxPoolIndices is MaxPool and the positions of the greatest elements in the flattened axes; NaN is the greatest.
func MaxPoolIndices(x *uop.UOp, kernel []int64, w Window) (values, indices *uop.UOp, err error) {
	defer guard("MaxPoolIndices", &err)
	need("x", x)
	needKernel(x, kernel)
	values, indices = maxPool(x, kernel, w, equalOrNaN)
	return values, indices, nil
}

// LogCumSumExp is log(cumsum(e^x)), without overflow. An infinite running maximum is the result; it is not subtracted.
func LogCumSumExp(x *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("LogCumSumExp", &err)
	need("x", x)
	x = asFloat(x)
	if asTinygrad(x) {
		return logCumSumExp(x, axis), nil
	}
	s := x.Shape()
	axis = axisOf("axis", axis, len(s))
	if len(s) == 0 {
		return x, nil
	}
	if slices.ContainsFunc(s, func(d uop.Sint) bool { return d.IsNum(0) }) {
		return x, nil
	}
	if smallFloats[x.DType] {
		return cast(logPrefix(cast(x, uop.Float32), axis), x.DType), nil
	}
	return logPrefix(x, axis), nil
}

// logPrefix is m[t] + log(s[t]) with the running maximum m and
//
//	s[t] = s[t-1] * e^(m[t-1] - m[t]) + e^(x[t] - m[t])
//
// An infinite maximum is not subtracted.
func logPrefix(x *uop.UOp, axis int) *uop.UOp {
	finite := func(m *uop.UOp) *uop.UOp { return where(isFinite(m), m, 0) }
	most := detach(scan(x, axis, uop.Max))
	before := most.NeighbourAlong(uop.PrefixArg{Axis: axis}, -1, uop.Float(math.Inf(-1)))
	m := finite(most)
	kept := where(eq(before, math.Inf(-1)), 0, exp(sub(finite(before), m)))
	return add(logOfSum(prefix(kept, axis, uop.MulAcc, exp(sub(x, m)))), m)
}

// Quantile is the value below which the share q of the elements along an axis lies: elements are sorted, and between two of them it is
// interpolated linearly (definition 7 of Hyndman and Fan, Sample quantiles in statistical packages, 1996). It is NaN if an element is.
func Quantile(x *uop.UOp, q float64, axis int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("Quantile", &err)
	need("x", x)
	if !(q >= 0 && q <= 1) {
		fail("q", "is %v, expected 0 to 1", q)
	}
	x = asFloat(x)
	s := x.Shape()
	axis = axisOf("axis", axis, len(s))
	if len(s) == 0 {
		return x, nil
	}
	n := intSize("axis", s, axis)
	if n == 0 {
		fail("x", "has no elements along axis %d of shape %s, expected one or more", axis, s)
	}
	place := q * float64(n-1)
	below := int64(place)
	var above, nan *uop.UOp
	if worthSelecting(x, axis, 2) {
		one := transpose(shrinkAxis(x, axis, uop.N(0), uop.N(1)), axis, -1).Shape()
		r, above = ranked(transpose(x, axis, -1), full(x.Graph(), one, uop.Int(below), counts(n)))
		r, above = transpose(r, axis, -1), transpose(above, axis, -1)
		nan = anyOf(isNaN(x), []int{axis}, true)
	} else {
		sorted := ordered(x, axis, false)
		element := func(i int64) *uop.UOp { return sorted.between(x, axis, i, i+1).value }
		r, above, nan = element(below), element(min(below+1, n-1)), isNaN(element(n-1))
	}
	if float64(below) < place {
		// Infinity less infinity is NaN. Of equal numbers each has its share of the gradient.
		r = where(remainsInfinite(r, above), r, add(r, mul(sub(above, r), place-float64(below))))
	}
	r = where(nan, math.NaN(), r)
	if !keepdim {
		r = squeeze(r, axis)
	}
	return r, nil
}
