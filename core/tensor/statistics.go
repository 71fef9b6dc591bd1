package tensor

import (
	"maps"
	"math"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// rowsOfAxes moves axes, all if nil, to the end and joins them; back puts axes of size 1 to where they were.
func rowsOfAxes(x *uop.UOp, axes []int) (rows *uop.UOp, back func(r *uop.UOp, keep bool) *uop.UOp) {
	s := x.Shape()
	n := len(s)
	if axes == nil {
		axes = countTo(n)
	}
	axes = axesOf("axis", axes, n)
	var order []int
	for i := range n {
		if !slices.Contains(axes, i) {
			order = append(order, i)
		}
	}
	kept := len(order)
	x = permute(x, append(order, axes...))
	lead := joinShapes(x.Shape()[:kept])
	rows = reshape(x, append(joinShapes(lead), numel("x", x.Shape()[kept:])))
	return rows, func(r *uop.UOp, keep bool) *uop.UOp {
		if !keep {
			return r
		}
		more := len(r.Shape()) - kept // axes of quantiles in front
		to := joinShapes(r.Shape()[:more])
		for i, d := range s {
			if slices.Contains(axes, i) {
				d = uop.N(1)
			}
			to = append(to, d)
		}
		return reshape(r, to)
	}
}

// quantileMethod is a definition of quantiles: q is at the position (n + 1 - alpha - beta) q + alpha - 1 of n ordered elements; of two
// elements share says from the share of the way to the upper one, and the position of the lower one, what is taken of the upper one: in
// proportion if nil.
type quantileMethod struct {
	alpha, beta float64
	share       func(share, below *uop.UOp) *uop.UOp
}

func upperIf(is *uop.UOp, share *uop.UOp) *uop.UOp { return cast(is, share.DType) }

func isOdd(x *uop.UOp) *uop.UOp { return ne(floor(mul(x, 0.5)), mul(x, 0.5)) }

// quantileMethods are NumPy's: nine definitions of Hyndman and Fan (Sample quantiles in statistical packages, 1996) and four variants.
var quantileMethods = func() map[string]quantileMethod {
	higher := func(share, _ *uop.UOp) *uop.UOp { return upperIf(gt(share, 0), share) }
	return map[string]quantileMethod{
		"linear": {1, 1, nil},
		"lower":  {1, 1, func(share, _ *uop.UOp) *uop.UOp { return mul(detach(share), 0) }},
		"higher": {1, 1, higher},
		"midpoint": {1, 1, func(share, _ *uop.UOp) *uop.UOp {
			return mul(upperIf(gt(share, 0), share), 0.5)
		}},
		"nearest": {1, 1, func(share, below *uop.UOp) *uop.UOp {
			return upperIf(bitOr(gt(share, 0.5), bitAnd(eq(share, 0.5), isOdd(below))), share)
		}},
		"inverted_cdf": {0, 1, higher},
		"averaged_inverted_cdf": {0, 1, func(share, _ *uop.UOp) *uop.UOp {
			return mul(add(upperIf(gt(share, 0), share), 1), 0.5)
		}},
		"closest_observation": {-0.5, 1.5, func(share, below *uop.UOp) *uop.UOp {
			return upperIf(logicalNot(bitAnd(eq(share, 0), isOdd(below))), share)
		}},
		"interpolated_inverted_cdf": {0, 1, nil},
		"hazen":                     {0.5, 0.5, nil},
		"weibull":                   {0, 0, nil},
		"median_unbiased":           {1. / 3, 1. / 3, nil},
		"normal_unbiased":           {3. / 8, 3. / 8, nil},
	}
}()

// Quantiles are the quantiles q, a tensor of numbers from 0 to 1, over axes. The axes of q come first. With skipNaN elements that are NaN
// do not count; otherwise the result is NaN if one is.
func Quantiles(x, q *uop.UOp, axes []int, keepdims bool, method string, skipNaN bool) (r *uop.UOp, err error) {
	defer guard("Quantiles", &err)
	needSame("operands", x, q)
	of, known := quantileMethods[method]
	if !known {
		fail("method", "is %q, expected one of %s", method, strings.Join(slices.Sorted(maps.Keys(quantileMethods)), ", "))
	}
	x = asFloat(x)
	rows, back := rowsOfAxes(x, axes)
	s := rows.Shape()
	n := intSize("axis", s, len(s)-1)
	if n == 0 {
		fail("x", "has no elements along the axes of shape %s, expected one or more", x.Shape())
	}
	last := len(s) - 1
	top := likeConst(cast(q, uop.Float64), float64(n-1))
	qs := q.Shape()
	flat := reshape(cast(q, uop.Float64), append(onesShape(last), numel("q", qs)))
	if skipNaN {
		top = sub(sum(cast(logicalNot(isNaN(rows)), uop.Float64), []int{last}, true), 1)
	}
	top = maximum(top, 0)
	place := mul(flat, top)
	if method := 2 - of.alpha - of.beta; method != 0 {
		place = mul(flat, add(top, method))
	}
	if of.alpha != 1 {
		place = add(place, of.alpha-1)
	}
	wide := append(joinShapes(s[:last]), numel("q", qs))
	place = expand(broadcastTo(place, wide), wide)
	if of.share != nil && q.DType == uop.Float32 { // its rounding does not move a position beyond an element, or half
		near := mul(round(mul(place, 2)), 0.5)
		place = where(le(abs(sub(place, near)), mul(add(abs(near), 2), 0x1p-24)), near, place)
	}
	below := detach(floor(place))
	share := sub(place, below)
	if of.share != nil {
		share = of.share(share, below)
	}
	share = cast(share, x.DType)
	if of.alpha != 1 { // the position may lie before the first element, or behind the last one
		share = where(bitAnd(ge(place, 0), lt(place, top)), share, 0)
		below = minimum(maximum(below, 0), top)
	}
	at := cast(below, uop.Int32)
	var lo, hi, nan *uop.UOp
	if isNumbers(wide) && worthSelecting(rows, last, 2*wide[last].N) {
		lo, hi = ranked(rows, at)
		nan = anyOf(isNaN(rows), []int{last}, true)
	} else {
		sorted := ordered(rows, last, false).value
		lo, hi = gather(sorted, last, at), gather(sorted, last, cast(minimum(add(at, 1), int(n-1)), uop.Int32))
		nan = isNaN(shrinkAxis(sorted, last, uop.N(n-1), uop.N(n)))
	}
	// Of equal numbers each has its share of the gradient.
	r = where(bitOr(remainsInfinite(lo, hi), eq(share, 0)), lo, where(eq(share, 1), hi, add(lo, mul(sub(hi, lo), share))))
	if !skipNaN {
		r = where(nan, math.NaN(), r)
	}
	inside := bitAnd(ge(flat, 0), le(flat, 1))
	r = where(inside, r, math.NaN())
	order := append([]int{last}, countTo(last)...)
	r = permute(r, order)
	r = reshape(r, append(joinShapes(qs), s[:last]...))
	return back(r, keepdims), nil
}

// WeightedQuantiles are the least elements over axes up to which weights add up to the shares q of their sum. The weights have the shape of x,
// or are a vector along its only axis. The axes of q come first; with skipNaN elements that are NaN have no weight.
func WeightedQuantiles(x, q, weights *uop.UOp, axes []int, keepdims, skipNaN bool) (r *uop.UOp, err error) {
	defer guard("WeightedQuantiles", &err)
	needSame("operands", x, q, weights)
	x = asFloat(x)
	s := x.Shape()
	if w := weights.Shape(); !w.Equal(s) {
		if axes = axesOf("axis", axes, len(s)); len(axes) != 1 || len(w) != 1 || w[0] != s[axes[0]] {
			fail("weights", "has shape %s, expected %s or a vector along one axis of it", w, s)
		}
		along := onesShape(len(s))
		along[axes[0]] = w[0]
		weights = reshape(weights, along)
	}
	rows, back := rowsOfAxes(x, axes)
	w, _ := rowsOfAxes(expand(cast(weights, uop.Float64), s), axes)
	last := len(rows.Shape()) - 1
	n := intSize("axis", rows.Shape(), last)
	if n == 0 {
		fail("x", "has no elements along the axes of shape %s, expected one or more", s)
	}
	nan := isNaN(rows)
	if skipNaN {
		w = where(nan, 0, w)
	}
	sorted := ordered(rows, last, false)
	upTo := detach(scan(gather(w, last, cast(sorted.at, uop.Int32)), last, uop.Add))
	total := shrinkAxis(upTo, last, uop.N(n-1), uop.N(n))
	share := where(eq(upTo, 0), -1, div(upTo, total)) // an element without weight is no least one
	qs := q.Shape()
	shares := reshape(cast(q, uop.Float64), append(joinShapes(uop.Shape{numel("q", qs)}), onesShape(last+1)...))
	at := minimum(sum(cast(lt(unsqueeze(share, 0), shares), uop.Int32), []int{-1}, false), int(n-1))
	r = gather(sorted.value, last, permute(at, append(countTo(last + 1)[1:], 0)))
	none := eq(total, 0)
	if !skipNaN {
		none = bitOr(none, anyOf(nan, []int{last}, true))
	}
	r = where(none, math.NaN(), r)
	r = permute(r, append([]int{last}, countTo(last)...))
	r = reshape(r, append(joinShapes(qs), rows.Shape()[:last]...))
	return back(r, keepdims), nil
}

// remainsInfinite reports where x is infinite and all between it and y is x, too: where y is not the other infinity. A sum is NaN there.
func remainsInfinite(x, y *uop.UOp) *uop.UOp { return bitAnd(logicalNot(isFinite(x)), ne(y, neg(x))) }

// withoutNaN is x with a number for NaN.
func withoutNaN(x *uop.UOp, v operand) *uop.UOp {
	if !x.DType.IsDifferentiable() {
		return x
	}
	return where(isNaN(x), v, x)
}

// NaNAs is x with a number in place of NaN.
func NaNAs(x *uop.UOp, v uop.Const) *uop.UOp { return withoutNaN(x, v) }

// NaNReduce is a reduction of the elements that are not NaN: sum, prod, max or min.
func NaNReduce(kind string, x *uop.UOp, axes []int, keepdims bool) (r *uop.UOp, err error) {
	defer guard("nan"+kind, &err)
	need("x", x)
	if axes != nil {
		axes = axesOf("axis", axes, len(x.Shape()))
	}
	if !x.DType.IsFloat() && (kind == "max" || kind == "min") {
		return map[string]reduction{"max": maxOf, "min": minOf}[kind](x, axes, keepdims), nil
	}
	switch kind {
	case "sum":
		return sum(withoutNaN(x, 0), axes, keepdims), nil
	case "prod":
		if !x.DType.IsFloat() {
			x = cast(x, uop.SumAcc(x.DType))
		}
		return accurateProd(withoutNaN(x, 1), axes, keepdims), nil
	}
	x = asFloat(x)
	none := allOf(isNaN(x), axes, keepdims)
	if kind == "max" {
		return where(none, math.NaN(), maxOf(withoutNaN(x, math.Inf(-1)), axes, keepdims)), nil
	}
	return where(none, math.NaN(), minOf(withoutNaN(x, math.Inf(1)), axes, keepdims)), nil
}

// Moments is the mean, or the var or std with a correction, of the elements of x that kept marks, all unless given, and that are not NaN
// with skipNaN. A mean that is given has the reduced axes with size 1. Where no element counts the result is NaN.
func Moments(kind string, x, kept, mean *uop.UOp, axes []int, keepdims bool, correction float64, skipNaN bool) (r *uop.UOp, err error) {
	defer guard(kind, &err)
	needSame("operands", slices.DeleteFunc([]*uop.UOp{x, kept, mean}, func(u *uop.UOp) bool { return u == nil })...)
	if axes != nil {
		axes = axesOf("axis", axes, len(x.Shape()))
	}
	x = asFloat(x)
	dt := x.DType
	x = atLeastF32(x)
	counts := full(x.Graph(), x.Shape(), uop.BoolConst(true), uop.Bool)
	if skipNaN {
		counts = logicalNot(isNaN(x))
	}
	if kept != nil {
		counts = bitAnd(counts, ne(kept, 0))
	}
	total := func(v *uop.UOp, keep bool) *uop.UOp { return sum(where(counts, v, 0), axes, keep) }
	number := func(keep bool) *uop.UOp { return sum(cast(counts, x.DType.Plane()), axes, keep) }
	count := number(keepdims)
	if kind == "mean" {
		return cast(div(total(x, keepdims), count), dt), nil
	}
	if mean == nil {
		mean = div(total(x, true), number(true))
	}
	r = div(total(absSquare(sub(x, mean)), keepdims), maximum(sub(count, correction), 0))
	r = where(le(count, correction), math.NaN(), r)
	if kind == "std" {
		r = rootOrZero(r)
	}
	return cast(r, dt.Plane()), nil
}

// NaNArg is the position of the greatest, or least, element that is not NaN.
func NaNArg(x *uop.UOp, least bool, axis int, keepdims bool) (r *uop.UOp, err error) {
	defer guard("NaNArg", &err)
	need("x", x)
	if least {
		return argMaxNaN(inverse(withoutNaN(x, math.Inf(1))), axis, keepdims), nil
	}
	return argMaxNaN(withoutNaN(x, math.Inf(-1)), axis, keepdims), nil
}

// WithoutNaN is x with a number for NaN.
func WithoutNaN(x *uop.UOp, v float64) (*uop.UOp, error) {
	return run1("WithoutNaN", func(x *uop.UOp) *uop.UOp { return withoutNaN(x, v) }, x)
}

// NaNToNum is x with numbers for NaN and infinities; nil stands for the greatest numbers of the type.
func NaNToNum(x *uop.UOp, nan float64, posinf, neginf *float64) (r *uop.UOp, err error) {
	defer guard("NaNToNum", &err)
	need("x", x)
	if x.DType.IsComplex() {
		z := complexOf(x)
		re, err := NaNToNum(z.re, nan, posinf, neginf)
		if err != nil {
			return nil, err
		}
		im, err := NaNToNum(z.imag(), nan, posinf, neginf)
		return complexPlanes{re, im}.joined(), err
	}
	if !x.DType.IsFloat() {
		return x, nil
	}
	most := map[*uop.DType]float64{uop.Float16: 65504, uop.BFloat16: 0x1.fep127, uop.Float32: math.MaxFloat32, uop.Float64: math.MaxFloat64}[x.DType]
	if most == 0 {
		fail("x", "is %s, expected float16, bfloat16, float32 or float64", x.DType)
	}
	high, low := most, -most
	if posinf != nil {
		high = *posinf
	}
	if neginf != nil {
		low = *neginf
	}
	return where(isNaN(x), nan, where(eq(x, math.Inf(1)), high, where(eq(x, math.Inf(-1)), low, x))), nil
}

// Average is the mean over axes with weights, of the shape of x or, for one axis, of that axis; and the sum of the weights.
func Average(x, weights *uop.UOp, axes []int, keepdims bool) (r, total *uop.UOp, err error) {
	defer guard("Average", &err)
	needSame("operands", x, weights)
	x, weights = asFloat(x), asFloat(weights)
	s := x.Shape()
	if axes != nil {
		axes = axesOf("axis", axes, len(s))
	}
	if !weights.Shape().Equal(s) {
		if len(axes) != 1 || len(weights.Shape()) != 1 || weights.Shape()[0] != s[axes[0]] {
			fail("weights", "have shape %s, expected %s, or the size of one axis", weights.Shape(), s)
		}
		to := onesShape(len(s))
		to[axes[0]] = s[axes[0]]
		weights = reshape(weights, to)
	}
	x, weights = matched(x, weights)
	total = sum(weights, axes, keepdims)
	return div(sum(mul(x, weights), axes, keepdims), total), total, nil
}

// Covariance is the covariance matrix of variables, the rows of x (and of y): with weights of the observations by count and by importance.
// Divided by the sum of weights less ddof.
func Covariance(x, y *uop.UOp, rowvar bool, ddof float64, counts, importance *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Covariance", &err)
	need("x", x)
	asRows := func(arg string, m *uop.UOp) *uop.UOp {
		m = asFloat(m)
		switch len(m.Shape()) {
		case 0:
			return dims(m, 1, 1)
		case 1:
			return unsqueeze(m, 0)
		case 2:
			if !rowvar {
				return transpose(m, 0, 1)
			}
			return m
		}
		fail(arg, "has %d dimensions, expected at most 2", len(m.Shape()))
		return nil
	}
	x = asRows("x", x)
	if y != nil {
		needSame("operands", x, y)
		y = asRows("y", y)
		x, y = matchTypes(x, y)
		if x.Shape()[1] != y.Shape()[1] {
			fail("y", "has %s observations, expected %s as x", y.Shape()[1], x.Shape()[1])
		}
		x = cat([]*uop.UOp{x, y}, 0)
	}
	n := x.Shape()[1]
	var w *uop.UOp
	for _, v := range []*uop.UOp{counts, importance} {
		if v == nil {
			continue
		}
		needSame("operands", x, v)
		if len(v.Shape()) != 1 || v.Shape()[0] != n {
			fail("weights", "have shape %s, expected (%s)", v.Shape(), n)
		}
		v = cast(v, x.DType)
		if w == nil {
			w = v
		} else {
			w = mul(w, v)
		}
	}
	if w == nil {
		observations := float64(intSize("x", x.Shape(), 1))
		d := sub(x, div(sum(x, []int{1}, true), observations))
		r = div(dot(d, transpose(conj(d), 0, 1), nil), max(observations-ddof, 0))
	} else {
		count := sum(w, nil, false)
		m := div(sum(mul(x, w), []int{1}, true), count)
		by := likeConst(x, ddof)
		if importance != nil && ddof != 0 {
			by = div(mul(sum(mul(w, cast(importance, x.DType)), nil, false), ddof), count)
		}
		d := sub(x, m)
		r = div(dot(mul(d, w), transpose(conj(d), 0, 1), nil), sub(count, by))
	}
	if x.Shape()[0].IsNum(1) {
		r = reshape(r, nil)
	}
	return r, nil
}

// Correlations are the coefficients of a covariance matrix, from -1 to 1.
func Correlations(c *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Correlations", &err)
	need("c", c)
	if len(c.Shape()) == 0 {
		return div(c, c), nil
	}
	d := sqrt(complexOf(diagonalOf(c)).re)
	r = div(div(c, unsqueeze(d, -1)), unsqueeze(d, -2))
	return onPlanes(r, func(u *uop.UOp) *uop.UOp { return clamp(u, -1.0, 1.0) }), nil
}

// Differences are the n-th differences along an axis.
func Differences(x *uop.UOp, n int64, axis int) (r *uop.UOp, err error) {
	defer guard("Differences", &err)
	need("x", x)
	if n < 0 {
		fail("n", "is %d, expected 0 or more", n)
	}
	if len(x.Shape()) == 0 {
		fail("x", "is a scalar, expected at least 1 dimension")
	}
	axis = axisOf("axis", axis, len(x.Shape()))
	for range n {
		size := intSize("axis", x.Shape(), axis)
		if size == 0 {
			break
		}
		later, before := shrinkAxis(x, axis, uop.N(1), uop.N(size)), shrinkAxis(x, axis, uop.N(0), uop.N(size-1))
		if x.DType.IsBool() {
			x = ne(later, before)
		} else {
			x = sub(later, before)
		}
	}
	return x, nil
}

// FiniteGradient is the derivative along an axis by differences of second order inside, of first or second order at the edges. at is a
// distance, a scalar, or the coordinates, a vector.
func FiniteGradient(x, at *uop.UOp, axis int, edgeOrder int64) (r *uop.UOp, err error) {
	defer guard("FiniteGradient", &err)
	needSame("operands", x, at)
	x = asFloat(x)
	at = cast(at, x.DType)
	axis = axisOf("axis", axis, len(x.Shape()))
	n := int64(0)
	if len(x.Shape()) > 0 {
		n = intSize("axis", x.Shape(), axis)
	}
	if edgeOrder != 1 && edgeOrder != 2 {
		fail("edge_order", "is %d, expected 1 or 2", edgeOrder)
	}
	if n < edgeOrder+1 {
		fail("x", "has %d elements along axis %d, expected %d or more", n, axis, edgeOrder+1)
	}
	column := onesShape(len(x.Shape()))
	even := len(at.Shape()) == 0
	step := at
	if even {
		at = mul(cast(count0(x.Graph(), n), x.DType), at)
	} else if len(at.Shape()) != 1 || !at.Shape()[0].IsNum(n) {
		fail("spacing", "has shape %s, expected a number or %d coordinates", at.Shape(), n)
	}
	column[axis] = uop.N(n)
	at = reshape(at, column)
	part := func(u *uop.UOp, lo, hi int64) *uop.UOp { return shrinkAxis(u, axis, uop.N(lo), uop.N(hi)) }
	h := sub(part(at, 1, n), part(at, 0, n-1))
	slope := div(sub(part(x, 1, n), part(x, 0, n-1)), h)
	first, last := part(slope, 0, 1), part(slope, n-2, n-1)
	var parts []*uop.UOp
	if n > 2 {
		a, b := part(h, 0, n-2), part(h, 1, n-1)
		var middle *uop.UOp
		if even { // without the element between the two, which may be infinite
			middle = div(sub(part(x, 2, n), part(x, 0, n-2)), mul(step, 2))
		} else {
			middle = div(add(mul(part(slope, 0, n-2), b), mul(part(slope, 1, n-1), a)), add(a, b))
		}
		if edgeOrder == 2 {
			second := div(sub(part(slope, 1, n-1), part(slope, 0, n-2)), add(a, b))
			first = sub(first, mul(part(second, 0, 1), part(h, 0, 1)))
			last = add(last, mul(part(second, n-3, n-2), part(h, n-2, n-1)))
		}
		parts = []*uop.UOp{middle}
	}
	parts = append(append([]*uop.UOp{first}, parts...), last)
	return cat(parts, axis), nil
}

// Trapezoid is the integral along an axis by the trapezoidal rule; at is as in FiniteGradient, or has the shape of x.
func Trapezoid(x, at *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("Trapezoid", &err)
	needSame("operands", x, at)
	x = asFloat(x)
	at = cast(at, x.DType)
	s := x.Shape()
	if len(s) == 0 {
		fail("y", "is a scalar, expected at least 1 dimension")
	}
	axis = axisOf("axis", axis, len(s))
	n := intSize("axis", s, axis)
	if n == 0 {
		return sum(x, []int{axis}, false), nil
	}
	part := func(u *uop.UOp, lo, hi int64) *uop.UOp { return shrinkAxis(u, axis, uop.N(lo), uop.N(hi)) }
	mean := mul(add(part(x, 1, n), part(x, 0, n-1)), 0.5)
	if len(at.Shape()) == 0 {
		return mul(sum(mean, []int{axis}, false), at), nil
	}
	if len(at.Shape()) == 1 && at.Shape()[0].IsNum(n) {
		column := onesShape(len(s))
		column[axis] = uop.N(n)
		at = reshape(at, column)
	} else if !at.Shape().Equal(s) {
		fail("x", "has shape %s, expected (%d) or %s", at.Shape(), n, s)
	}
	return sum(mul(mean, sub(part(at, 1, n), part(at, 0, n-1))), []int{axis}, false), nil
}

// Unwrap adds multiples of a period to elements along an axis, so that neighbours differ by at most discont, or half the period.
func Unwrap(x *uop.UOp, discont *float64, axis int, period float64) (r *uop.UOp, err error) {
	defer guard("Unwrap", &err)
	need("x", x)
	if !(period > 0) {
		fail("period", "is %v, expected a number above 0", period)
	}
	x = asFloat(x)
	d, err := Differences(x, 1, axis)
	if err != nil {
		return nil, err
	}
	axis = axisOf("axis", axis, len(x.Shape()))
	half := period / 2
	shifted := add(d, half)
	m := sub(sub(shifted, mul(floor(mul(shifted, 1/period)), period)), half)
	m = where(bitAnd(eq(m, -half), gt(d, 0)), half, m)
	correction := sub(m, d)
	limit := half
	if discont != nil {
		limit = max(half, *discont)
	}
	correction = where(lt(abs(d), limit), 0, correction)
	total := scan(correction, axis, uop.Add)
	return add(x, padAxis(total, axis, 1, 0, 0)), nil
}

// Interp is the piecewise linear function through the points (xp, fp), with xp ascending: left and right are its values outside, nil the
// first and the last of fp.
func Interp(x, xp, fp *uop.UOp, left, right *float64) (r *uop.UOp, err error) {
	defer guard("Interp", &err)
	needSame("operands", x, xp, fp)
	if len(xp.Shape()) != 1 || len(fp.Shape()) != 1 || xp.Shape()[0] != fp.Shape()[0] || xp.Shape()[0].IsNum(0) {
		fail("fp", "has shape %s beside xp of shape %s, expected two vectors of one size above 0", fp.Shape(), xp.Shape())
	}
	if fp.DType.IsComplex() {
		z := complexOf(fp)
		re, err := Interp(x, xp, z.re, left, right)
		if err != nil {
			return nil, err
		}
		outside := func(v *float64) *float64 { // a real number
			if v == nil {
				return nil
			}
			return new(float64)
		}
		im, err := Interp(x, xp, z.imag(), outside(left), outside(right))
		if err != nil {
			return nil, err
		}
		return Complex(re, im)
	}
	dt := uop.LeastUpperFloat(uop.LeastUpper(uop.LeastUpper(x.DType, xp.DType), fp.DType))
	x, xp, fp = cast(x, dt), cast(xp, dt), cast(fp, dt)
	n := intSize("xp", xp.Shape(), 0)
	first, last := index(fp, At(0)), index(fp, At(-1))
	if n == 1 {
		r = add(mul(x, 0), first)
	} else {
		at := clamp(searchSorted(xp, x, true), 1, int(n-1))
		lo, hi := index(xp, Take(sub(at, 1))), index(xp, Take(at))
		flo, fhi := index(fp, Take(sub(at, 1))), index(fp, Take(at))
		width := sub(hi, lo)
		slope := where(eq(width, 0), 0, div(sub(fhi, flo), where(eq(width, 0), 1, width)))
		r = add(flo, mul(sub(x, lo), slope))
		// Infinities, as in NumPy: from the other point, or the value of both.
		other := add(fhi, mul(sub(x, hi), slope))
		r = where(isNaN(r), where(bitAnd(isNaN(other), eq(flo, fhi)), flo, other), r)
		r = where(eq(x, hi), fhi, where(eq(x, lo), flo, r))
	}
	ends := func(v *float64, edge *uop.UOp) operand {
		if v != nil {
			return *v
		}
		return edge
	}
	r = where(lt(x, index(xp, At(0))), ends(left, first), r)
	r = where(gt(x, index(xp, At(-1))), ends(right, last), r)
	return where(isNaN(x), x, r), nil
}

// Digitize is the number of the bin of each element: bins are ascending or descending edges.
func Digitize(x, bins *uop.UOp, right bool) (r *uop.UOp, err error) {
	defer guard("Digitize", &err)
	needSame("operands", x, bins)
	if len(bins.Shape()) != 1 {
		fail("bins", "has shape %s, expected a vector", bins.Shape())
	}
	x, bins = sameType(x, bins)
	n := intSize("bins", bins.Shape(), 0)
	if n == 0 {
		return full(x.Graph(), x.Shape(), uop.Int(0), uop.Int32), nil
	}
	up := searchSorted(bins, x, !right)
	down := sub(int(n), searchSorted(flip(bins, 0), x, !right))
	return where(le(index(bins, At(0)), index(bins, At(-1))), up, down), nil
}

// HistogramWithin counts the elements between edges, ascending, with weights: counts as int32, sums of weights in their type. The last bin
// includes its upper edge.
func HistogramWithin(x, edges, weights *uop.UOp) (r *uop.UOp, err error) {
	defer guard("HistogramWithin", &err)
	needSame("operands", x, edges)
	if len(edges.Shape()) != 1 || intSize("bins", edges.Shape(), 0) < 2 {
		fail("bins", "has shape %s, expected a vector of 2 edges or more", edges.Shape())
	}
	x, e := sameType(flatten(detach(x), 0, -1), edges)
	bins := intSize("bins", e.Shape(), 0) - 1
	at := sub(searchSorted(e, x, true), 1)
	at = where(eq(x, index(e, At(-1))), int(bins-1), at)
	inside := bitAnd(bitAnd(ge(at, 0), lt(at, int(bins))), eq(x, x))
	if weights == nil {
		weights = full(x.Graph(), x.Shape(), uop.Int(1), uop.Int32)
	} else {
		needSame("operands", x, weights)
		if weights.Shape().Numel() != x.Shape()[0] {
			fail("weights", "have shape %s, expected that of x", weights.Shape())
		}
		weights = flatten(weights, 0, -1)
	}
	zeros := full(x.Graph(), uop.ShapeOf(bins), uop.Int(0), weights.DType)
	if x.Shape().MaxNumel() == 0 {
		return zeros, nil
	}
	return scatterReduce(zeros, 0, where(inside, at, -1), weights, ScatterSum, true), nil
}

// InterpPeriodic is Interp of a function with a period, through points in any order.
func InterpPeriodic(x, xp, fp *uop.UOp, period float64) (r *uop.UOp, err error) {
	defer guard("InterpPeriodic", &err)
	needSame("operands", x, xp, fp)
	if period = math.Abs(period); period == 0 || math.IsNaN(period) || math.IsInf(period, 0) {
		fail("period", "%v, expected a number other than 0", period)
	}
	if len(xp.Shape()) != 1 || len(fp.Shape()) != 1 || xp.Shape()[0] != fp.Shape()[0] || xp.Shape()[0].IsNum(0) {
		fail("fp", "has shape %s beside xp of shape %s, expected two vectors of one size above 0", fp.Shape(), xp.Shape())
	}
	dt := uop.LeastUpperFloat(uop.LeastUpper(x.DType, xp.DType))
	x, xp = mod(cast(x, dt), period), mod(cast(xp, dt), period)
	sorted := ordered(xp, 0, false)
	xp, fp = sorted.value, index(fp, Take(sorted.at))
	end := func(v *uop.UOp, at int64) *uop.UOp { return index(v, Range(uop.N(at), uop.N(at+1))) }
	n := intSize("xp", xp.Shape(), 0)
	xp = cat([]*uop.UOp{sub(end(xp, n-1), period), xp, add(end(xp, 0), period)}, 0)
	fp = cat([]*uop.UOp{end(fp, n-1), fp, end(fp, 0)}, 0)
	return Interp(x, xp, fp, nil, nil)
}
