package tensor

import (
	"polygrad/core/uop"
)

// UniqueWithin is Unique with a given number of different elements: further ones are left out; if there are fewer, the last values are fill (nil: the
// least element) and their counts 0. firsts is the position of the first occurrence of each value in the flattened x.
func UniqueWithin(x, order, first *uop.UOp, count int64, fill operand) (values, firsts, inverse, counts *uop.UOp, err error) {
	defer guard("UniqueWithin", &err)
	values, inverse, counts, err = Unique(x, order, first, count)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	g := x.Graph()
	if x.Shape().MaxNumel() == 0 {
		return values, full(g, uop.ShapeOf(count), uop.Int(0), uop.Int32), inverse, counts, nil
	}
	number := sub(scan(cast(first, uop.Int32), 0, uop.Add), 1)
	least := index(order, At(0))
	firsts = scatterSet(expand(reshape(least, uop.ShapeOf(1)), uop.ShapeOf(count)), 0, where(first, number, -1), order)
	inside := lt(count0(g, count), add(index(number, At(-1)), 1))
	if fill == nil {
		fill = index(flatten(x, 0, -1), Take(least))
	}
	return where(inside, values, fill), firsts, inverse, counts, nil
}

// DistinctNaN is Distinct where NaN is equal to none.
func DistinctNaN(x, order *uop.UOp) (r *uop.UOp, err error) {
	defer guard("DistinctNaN", &err)
	if r, err = Distinct(x, order); err != nil || !(x.DType.IsFloat() || x.DType.IsComplex()) || x.Shape().MaxNumel() == 0 {
		return r, err
	}
	elements := detach(flatten(x, 0, -1))
	if order != nil {
		elements = index(elements, Take(order))
	}
	return bitOr(r, isNaN(elements)), nil
}

// DistinctValues are the count elements that first marks in the vector of the sorted elements of x. The gradient of each goes to its first occurrence
// in x; the order of x is only computed for gradients. mark is Distinct or DistinctNaN.
func DistinctValues(x, sorted, first *uop.UOp, count int64, mark func(x, order *uop.UOp) (*uop.UOp, error)) (r *uop.UOp, err error) {
	defer guard("DistinctValues", &err)
	needSame("operands", x, sorted, first)
	needCount(count)
	r = index(sorted, Take(truePositions(first, count)))
	order := orderOf(flatten(x, 0, -1))
	marks, err := mark(x, order)
	if err != nil {
		return nil, err
	}
	values, _, _, err := Unique(x, order, marks, count)
	if err != nil || values.Op != uop.CustomGradient {
		return r, err
	}
	return r.Graph().New(uop.CustomGradient, r.DType, append([]*uop.UOp{r}, values.Src[1:]...), values.Arg, nil), nil
}

// SliceRanks are numbers, one for each slice of x along an axis, in the lexicographic order of the slices; equal slices have equal numbers. NaN
// equals NaN. Each element of a slice is replaced by its rank among the elements of all slices at that place; then pairs of neighbours become one
// number and are ranked again, until one number of each slice is left.
func SliceRanks(x *uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("SliceRanks", &err)
	need("x", x)
	axis = oneAxis(x, axis)
	n := intSize("axis", x.Shape(), axis)
	if x.DType.IsComplex() {
		z := complexOf(x)
		x = stack([]*uop.UOp{z.re, z.imag()}, -1)
	}
	x = flatten(unsqueeze(moveAxes(x, []int{axis}, []int{0}), -1), 1, -1)
	if x.Shape().MaxNumel() == 0 {
		return full(x.Graph(), uop.ShapeOf(n), uop.Int(0), uop.Int32), nil
	}
	ranks := func(x *uop.UOp) *uop.UOp { // along each column
		sorted := ordered(x, 0, false)
		before, after := shrinkAxis(sorted.value, 0, uop.N(0), uop.N(n-1)), shrinkAxis(sorted.value, 0, uop.N(1), uop.N(n))
		steps := ne(before, after)
		if x.DType.IsFloat() {
			steps = bitAnd(steps, logicalNot(bitAnd(isNaN(before), isNaN(after))))
		}
		number := scan(padAxis(cast(steps, uop.Int32), 0, 1, 0, 0), 0, uop.Add)
		return scatterSet(number, 0, cast(sorted.at, uop.Int32), number)
	}
	for r = ranks(detach(x)); ; r = ranks(r) {
		width := intSize("x", r.Shape(), 1)
		if width == 1 {
			return reshape(r, uop.ShapeOf(n)), nil
		}
		if width%2 != 0 {
			r = padAxis(r, 1, 0, 1, 0)
		}
		pairs := reshape(cast(r, uop.Int64), uop.ShapeOf(n, (width+1)/2, 2))
		r = add(mul(index(pairs, Ellipsis(), At(0)), int(n)), index(pairs, Ellipsis(), At(1)))
	}
}

// Chosen are the first count elements of the flattened x where mask is true, then fill.
func Chosen(x, mask *uop.UOp, count int64, fill operand) (r *uop.UOp, err error) {
	defer guard("Chosen", &err)
	needSame("operands", x, mask)
	needCount(count)
	n := x.Shape().MaxNumel()
	if n == 0 || count == 0 {
		v := likeConst(x, 0)
		if fill != nil {
			v = cast(asTensor(fill, x), x.DType)
		}
		return expand(reshape(v, uop.ShapeOf(1)), uop.ShapeOf(count)), nil
	}
	if fill == nil {
		fill = likeConst(x, 0)
	}
	at := truePositions(flatten(broadcastTo(mask, x.Shape()), 0, -1), count)
	there := lt(at, int(n))
	return where(there, index(flatten(x, 0, -1), Take(where(there, at, 0))), fill), nil
}

// TruePositions are, for each axis of x, the positions of the first count elements that are not 0, int32, then fill.
func TruePositions(x *uop.UOp, count, fill int64) (r []*uop.UOp, err error) {
	defer guard("TruePositions", &err)
	need("x", x)
	needCount(count)
	s := intShape("x", x.Shape())
	if len(s) == 0 {
		fail("x", "is a scalar, expected at least 1 dimension")
	}
	at := truePositions(ne(flatten(x, 0, -1), 0), count)
	total := x.Shape().MaxNumel()
	there := lt(at, int(total))
	at = where(there, at, 0)
	r = make([]*uop.UOp, len(s))
	below := int64(1)
	for i := len(s) - 1; i >= 0; i-- {
		size := max(s[i], 1)
		r[i] = where(there, cast(mod(floorDiv(at, int(below)), int(size)), uop.Int32), int(fill))
		below *= size
	}
	return r, nil
}

// LexOrder are the positions that sort vectors by the last of them, then by the one before where it is equal, and so on.
func LexOrder(keys []*uop.UOp, axis int) (r *uop.UOp, err error) {
	defer guard("LexOrder", &err)
	if len(keys) == 0 {
		fail("keys", "is empty, expected a tensor or more")
	}
	needSame("keys", keys...)
	var parts []*uop.UOp // complex numbers are compared by their real, then by their imaginary parts
	for _, k := range keys {
		if !k.Shape().Equal(keys[0].Shape()) {
			fail("keys", "have shapes %s and %s, expected one shape", keys[0].Shape(), k.Shape())
		}
		if k.DType.IsComplex() {
			z := complexOf(k)
			parts = append(parts, z.imag(), z.re)
		} else {
			parts = append(parts, k)
		}
	}
	var order *uop.UOp
	for _, k := range parts {
		at := axisOf("axis", axis, len(k.Shape()))
		if len(k.Shape()) == 0 {
			return full(k.Graph(), nil, uop.Int(0), uop.Int32), nil
		}
		p := ordered(sortable(k, order, at), at, false)
		if order == nil {
			order = cast(p.at, uop.Int32)
		} else {
			order = gather(order, at, p.at)
		}
	}
	return order, nil
}
