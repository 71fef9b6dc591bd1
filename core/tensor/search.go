package tensor

import (
	"math"
	"math/bits"

	"polygrad/core/uop"
)

// searchSorted is, for each value, how many elements of the sorted last axis of x are less, or not greater, by bisection of all values at
// once.
func searchSorted(x, values *uop.UOp, right bool) *uop.UOp {
	s, last := x.Shape(), len(x.Shape())-1
	n := intSize("x", s, last)
	at := full(x.Graph(), values.Shape(), uop.Int(0), uop.Int32)
	if n == 0 || values.Shape().MaxNumel() == 0 {
		return at
	}
	wanted := searchKeys(detach(values))
	element := func(x, at *uop.UOp) *uop.UOp {
		if last == 0 {
			return index(x, Take(at))
		}
		return gather(x, last, at)
	}
	x = detach(x)
	keysAt := func(at *uop.UOp) []*uop.UOp { return searchKeys(element(x, at)) }
	if isNumbers(s) && isNumbers(values.Shape()) && s.Numel().N <= values.Shape().Numel().N { // keys are made once, not at each step
		keys := searchKeys(x)
		for i, key := range keys {
			keys[i] = key.ContiguousOp()
		}
		keysAt = func(at *uop.UOp) (found []*uop.UOp) {
			for _, key := range keys {
				found = append(found, element(key, at))
			}
			return found
		}
	}
	for step := int64(1) << (bits.Len64(uint64(n)) - 1); step > 0; step >>= 1 {
		next := add(at, int(step))
		at = where(bitAnd(le(next, int(n)), precedes(keysAt(sub(next, 1)), wanted, right)), next, at)
	}
	return at
}

// searchKeys are integers that order the elements of x, the first that differs: of complex numbers as orderOfComplex does.
func searchKeys(x *uop.UOp) []*uop.UOp {
	if !x.DType.IsComplex() {
		return []*uop.UOp{sortKey(x, false)}
	}
	z := complexOf(x)
	nan := add(mul(cast(isNaN(z.re), uop.Int32), 2), cast(isNaN(z.imag()), uop.Int32))
	return []*uop.UOp{nan, sortKey(z.re, false), sortKey(z.imag(), false)}
}

// precedes is whether keys are less than others, or not greater.
func precedes(keys, others []*uop.UOp, orEqual bool) *uop.UOp {
	last := len(keys) - 1
	before := lt(keys[last], others[last])
	if orEqual {
		before = le(keys[last], others[last])
	}
	for i := last - 1; i >= 0; i-- {
		before = bitOr(lt(keys[i], others[i]), bitAnd(eq(keys[i], others[i]), before))
	}
	return before
}

// sameType are tensors in the least type that holds the values of both, float64 for numbers below 0 beside uint64, as in NumPy.
func sameType(x, y *uop.UOp) (*uop.UOp, *uop.UOp) {
	dt := uop.LeastUpper(x.DType, y.DType)
	switch {
	case dt.IsBool():
		dt = uop.Uint8
	case dt == uop.Uint64 && (isSigned(x) || isSigned(y)):
		dt = uop.Float64
	}
	return cast(x, dt), cast(y, dt)
}

// SearchSorted is where values would have to be inserted into the sorted last axis of x, int32: in front of equal elements, or with
// right behind them. x is a vector, or has the shape of values but for the last axis. NaN is the greatest number.
func SearchSorted(x, values *uop.UOp, right bool) (r *uop.UOp, err error) {
	defer guard("SearchSorted", &err)
	needSame("operands", x, values)
	s, vs := x.Shape(), values.Shape()
	if len(s) == 0 {
		fail("x", "is a scalar, expected at least 1 dimension")
	}
	if leading := s[:len(s)-1]; len(leading) > 0 && (len(vs) != len(s) || !leading.Equal(vs[:len(vs)-1])) {
		fail("values", "has shape %s, expected the shape %s of x but for the last axis", vs, s)
	}
	x, values = sameType(x, values)
	return searchSorted(x, values, right), nil
}

// IsIn is whether each element of x is one of values: bool, of the shape of x. NaN is not. Integers compare exactly.
func IsIn(x, values *uop.UOp) (r *uop.UOp, err error) {
	defer guard("IsIn", &err)
	needSame("operands", x, values)
	var inRange *uop.UOp // elements that the type of values holds
	switch {
	case isSigned(x) && values.DType == uop.Uint64:
		inRange = ge(x, 0)
		x = cast(x, uop.Uint64)
	case x.DType == uop.Uint64 && isSigned(values):
		inRange = le(x, uop.Int64.Max())
		x, values = cast(x, uop.Int64), cast(values, uop.Int64)
	}
	x, values = sameType(x, values)
	values = flatten(values, 0, -1)
	if values.Shape().MaxNumel() == 0 || x.Shape().MaxNumel() == 0 {
		return full(x.Graph(), x.Shape(), uop.BoolConst(false), uop.Bool), nil
	}
	var sorted *uop.UOp
	if values.DType.IsComplex() {
		sorted = index(values, Take(orderOf(values))).ContiguousOp()
	} else {
		sorted = ordered(values, 0, false).value.ContiguousOp()
	}
	at := searchSorted(sorted, x, false)
	found := bitAnd(lt(at, int(intSize("values", values.Shape(), 0))), eq(index(sorted, Take(at)), x))
	if inRange != nil {
		found = bitAnd(found, inRange)
	}
	return found, nil
}

// BinCount counts how often each number from 0 to n-1 is an element of x, int32, or sums the weights of these elements.
func BinCount(x, weights *uop.UOp, n int64) (r *uop.UOp, err error) {
	defer guard("BinCount", &err)
	need("x", x)
	needInt("x", x)
	needCount(n)
	if weights == nil {
		return occurrences(flatten(x, 0, -1), n), nil
	}
	needSame("operands", x, weights)
	if !weights.Shape().Equal(x.Shape()) {
		fail("weights", "has shape %s, expected %s as x", weights.Shape(), x.Shape())
	}
	zeros := full(x.Graph(), uop.ShapeOf(n), uop.Int(0), weights.DType)
	if n == 0 || x.Shape().MaxNumel() == 0 {
		return zeros, nil
	}
	return scatterReduce(zeros, 0, flatten(x, 0, -1), flatten(weights, 0, -1), ScatterSum, true), nil
}

// countedParts are parts of a tensor of leastCountedApart elements that are counted apart, so that an element seldom waits for the count of the one
// before it, or another thread; each has leastOfCount elements for a count or more.
const countedParts, leastOfCount, leastCountedApart = 4, 16, 1 << 17

// occurrences is how often each number from 0 to n-1 is an element of a vector.
func occurrences(x *uop.UOp, n int64) *uop.UOp {
	of := func(counts, x *uop.UOp) *uop.UOp {
		last := len(x.Shape()) - 1
		return scatterReduce(counts, last, x, full(x.Graph(), x.Shape(), uop.Int(1), uop.Int32), ScatterSum, true)
	}
	zeros := func(s uop.Shape) *uop.UOp { return full(x.Graph(), s, uop.Int(0), uop.Int32) }
	counts := zeros(uop.ShapeOf(n))
	if n == 0 || x.Shape().MaxNumel() == 0 {
		return counts
	}
	if all := x.Shape()[0].N; isNumbers(x.Shape()) && all >= max(leastCountedApart, countedParts*leastOfCount*n) {
		length := all / countedParts
		parts := reshape(shrinkAxis(x, 0, uop.N(0), uop.N(countedParts*length)), uop.ShapeOf(countedParts, length))
		counts = sum(of(zeros(uop.ShapeOf(countedParts, n)), parts), []int{0}, false)
		if x = shrinkAxis(x, 0, uop.N(countedParts*length), uop.N(all)); all == countedParts*length {
			return counts
		}
	}
	return of(counts, x)
}

// Histogram counts the elements of x in each of bins intervals of the same width, int32, and returns their edges, too. The intervals go from low
// to high, from the least to the greatest element where these are nil; the last one includes its upper edge.
func Histogram(x *uop.UOp, bins int64, low, high *float64) (counts, edges *uop.UOp, err error) {
	defer guard("Histogram", &err)
	need("x", x)
	if bins < 1 || bins > maxElements {
		fail("bins", "is %d, expected 1 or more", bins)
	}
	x = flatten(asFloat(detach(x)), 0, -1)
	empty := x.Shape().MaxNumel() == 0
	bound := func(given *float64, of func(*uop.UOp, []int, bool) *uop.UOp, otherwise float64) *uop.UOp {
		if given != nil {
			return full(x.Graph(), nil, uop.Float(*given), x.DType)
		}
		if empty {
			return full(x.Graph(), nil, uop.Float(otherwise), x.DType)
		}
		return of(x, []int{0}, false)
	}
	if low != nil && high != nil && !(*low <= *high) {
		fail("high", "is %v, expected %v or more, as low", *high, *low)
	}
	lo, hi := bound(low, minOf, 0), bound(high, maxOf, 1)
	point := eq(lo, hi)
	lo, hi = where(point, sub(lo, 0.5), lo), where(point, add(hi, 0.5), hi)
	// A division by a number would multiply by its reciprocal, which is rounded: this one is exact where the edges are.
	number := where(gt(hi, lo), float64(bins), 1)
	step := div(sub(hi, lo), number)
	edge := func(i *uop.UOp) *uop.UOp {
		i = cast(i, x.DType)
		return where(eq(i, float64(bins)), hi, add(lo, mul(i, step)))
	}
	edges = edge(count0(x.Graph(), bins+1))
	if empty {
		return full(x.Graph(), uop.ShapeOf(bins), uop.Int(0), uop.Int32), edges, nil
	}
	share := div(sub(x, lo), step)
	at := cast(minimum(maximum(floor(where(isNaN(share), 0, share)), 0), float64(bins-1)), uop.Int32)
	// The quotient may be rounded across an edge.
	at = sub(at, cast(lt(x, edge(at)), uop.Int32))
	at = add(at, cast(bitAnd(ge(x, edge(add(at, 1))), lt(at, int(bins-1))), uop.Int32))
	at = where(bitAnd(accurateLe(lo, x), accurateLe(x, hi)), at, -1)
	return occurrences(at, bins), edges, nil
}

// Order are the positions, int32, that sort the elements of the flattened x.
func Order(x *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Order", &err)
	need("x", x)
	return orderOf(flatten(x, 0, -1)), nil
}

func orderOf(x *uop.UOp) *uop.UOp {
	if x.DType.IsComplex() {
		return cast(orderOfComplex(x, 0, false), uop.Int32)
	}
	return cast(ordered(x, 0, false).at, uop.Int32)
}

// OrderWithin is Order for integers that are not below least, a scalar, and differ from it by numbers of so many bits.
func OrderWithin(x, least *uop.UOp, bits int64) (r *uop.UOp, err error) {
	defer guard("OrderWithin", &err)
	needSame("operands", x, least)
	needInt("x", x)
	size := x.DType.Itemsize()
	if size < 4 || bits < 1 || bits > int64(8*size) {
		fail("bits", "is %d for %s, expected 1 to %d of a type of 4 bytes or more", bits, x.DType, 8*size)
	}
	n := intSize("x", uop.Shape{x.Shape().Numel()}, 0)
	if n <= 1 {
		return Order(x)
	}
	key := bitcast(sub(flatten(detach(x), 0, -1), detach(least)), UintOfSize[size])
	if bits <= 32 {
		key = cast(key, uop.Uint32)
	}
	return flatten(radixOrder(reshape(key, uop.ShapeOf(1, int64(n))), bits), 0, -1), nil
}

// Distinct marks one of each of the different elements of x, in their order, nil for one that is sorted: the number of marks is the count of
// Unique.
func Distinct(x, order *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Distinct", &err)
	need("x", x)
	n := intSize("x", uop.Shape{x.Shape().Numel()}, 0)
	first := full(x.Graph(), uop.ShapeOf(min(n, 1)), uop.BoolConst(true), uop.Bool)
	if n < 2 {
		return first, nil
	}
	elements := detach(flatten(x, 0, -1))
	if order != nil {
		elements = index(elements, Take(order))
	}
	if x.DType.IsComplex() { // numbers with NaN in any part are equal, as in NumPy
		elements = where(isNaN(elements), math.NaN(), elements)
	}
	var differs *uop.UOp
	for _, key := range searchKeys(elements) {
		other := ne(shrinkAxis(key, 0, uop.N(1), uop.N(n)), shrinkAxis(key, 0, uop.N(0), uop.N(n-1)))
		if differs == nil {
			differs = other
		} else {
			differs = bitOr(differs, other)
		}
	}
	return cat([]*uop.UOp{first, differs}, 0), nil
}

// Unique are the count different elements of x, ascending, the place of each element of x among them, of the shape of x, and how often
// each of them is in x; int32. NaN are equal to each other. order is that of Order, first the marks of Distinct.
func Unique(x, order, first *uop.UOp, count int64) (values, inverse, counts *uop.UOp, err error) {
	defer guard("Unique", &err)
	needSame("operands", x, order, first)
	needCount(count)
	g, s := x.Graph(), x.Shape()
	counts = full(g, uop.ShapeOf(count), uop.Int(0), uop.Int32)
	if s.MaxNumel() == 0 {
		return full(g, uop.ShapeOf(count), uop.Int(0), x.DType), full(g, s, uop.Int(0), uop.Int32), counts, nil
	}
	number := sub(scan(cast(first, uop.Int32), 0, uop.Add), 1).ContiguousOp()
	none := full(g, order.Shape(), uop.Int(0), uop.Int32)
	inverse = reshape(scatterSet(none, 0, order, number), s)
	counts = scatterReduce(counts, 0, number, add(none, 1), ScatterSum, true)
	firsts := scatterSet(full(g, uop.ShapeOf(count), uop.Int(0), uop.Int32), 0, where(first, number, -1), order)
	return index(flatten(x, 0, -1), Take(firsts)), inverse, counts, nil
}
