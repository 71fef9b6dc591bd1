package tensor

import (
	"math/bits"

	"polygrad/core/uop"
)

// truePositions are the indices of the first count true elements of a vector, then its length. As tinygrad's graph they are
// found by one bisection in parallel: the running count of true elements is monotonic.
func truePositions(mask *uop.UOp, count int64) *uop.UOp {
	n := intSize("mask", mask.Shape(), 0)
	if count == 0 || n == 0 {
		return full(mask.Graph(), uop.ShapeOf(count), uop.Int(n), uop.DefaultInt)
	}
	number := scan(cast(mask, uop.Int32), 0, uop.Add)
	missing := full(mask.Graph(), uop.ShapeOf(count), uop.Int(n), uop.DefaultInt)
	// Each true element writes its position to the place of its number.
	positions := cast(count0(mask.Graph(), n), missing.DType)
	if at, ok := placesOf(missing, 0, uop.Store, where(mask, sub(number, 1), -1), positions); ok {
		return at
	}
	number = number.ContiguousOp()
	wanted := count0(mask.Graph(), count)
	at := full(mask.Graph(), uop.ShapeOf(count), uop.Int(0), wanted.DType)
	for step := int64(1) << (bits.Len64(uint64(n)) - 1); step > 0; step >>= 1 {
		next := add(at, int(step))
		before := index(number, Take(sub(next, 1))) // true elements in front of next
		at = where(bitAnd(le(next, int(n)), le(before, wanted)), next, at).ContiguousOp()
	}
	return at
}

// maskedSelect takes the first count elements of the flattened x where mask is true, then 0.
func maskedSelect(x, mask *uop.UOp, count int64) *uop.UOp {
	at := truePositions(flatten(broadcastTo(mask, x.Shape()), 0, -1), count)
	flat := flatten(x, 0, -1)
	if flat.Shape()[0].IsNum(0) {
		return full(x.Graph(), uop.ShapeOf(count), uop.Int(0), x.DType)
	}
	return index(flat, Take(at))
}

// nonzero are the indices, one row each, of the first count nonzero elements; then 0.
func nonzero(x *uop.UOp, count int64) *uop.UOp {
	s := intShape("x", x.Shape())
	if len(s) == 0 {
		return full(x.Graph(), uop.ShapeOf(count, 0), uop.Int(0), uop.Int32)
	}
	at := truePositions(ne(flatten(x, 0, -1), 0), count)
	at = where(lt(at, int(numel("x", x.Shape()).N)), at, 0)
	columns, below := make([]*uop.UOp, len(s)), int64(1)
	for i := len(s) - 1; i >= 0; i-- {
		size := max(s[i], 1)
		columns[i] = cast(mod(floorDiv(at, int(below)), int(size)), uop.Int32)
		below *= size
	}
	return stack(columns, -1)
}

func needCount(count int64) {
	if count < 0 || count > maxElements {
		fail("count", "is %d, expected 0 or more", count)
	}
}

// IndexSelect selects along an axis by a vector of integers; negative ones count from the end, those out of range give 0.
func IndexSelect(x *uop.UOp, dim int, idx *uop.UOp) (r *uop.UOp, err error) {
	defer guard("IndexSelect", &err)
	needSame("operands", x, idx)
	needInt("index", idx)
	s := x.Shape()
	dim = axisOf("dim", dim, len(s))
	if len(s) == 0 || len(idx.Shape()) != 1 {
		fail("index", "has shape %s, expected a vector for x %s of at least 1 dimension", idx.Shape(), s)
	}
	entries := make([]Index, dim+1)
	for i := range entries {
		entries[i] = Whole()
	}
	entries[dim] = Take(idx)
	return index(x, entries...), nil
}

// MaskedSelect is the first count elements of x, in order, where the bool mask (which broadcasts) is true, padded with 0. The
// size of the result is part of the graph: count is usually the sum of the mask.
func MaskedSelect(x, mask *uop.UOp, count int64) (r *uop.UOp, err error) {
	defer guard("MaskedSelect", &err)
	needSame("operands", x, mask)
	needCount(count)
	if !mask.DType.IsBool() {
		fail("mask", "is %s, expected %s", mask.DType, uop.Bool)
	}
	if s, ok := broadcastShape(x.Shape(), mask.Shape()); !ok || !s.Equal(x.Shape()) {
		fail("mask", "of shape %s, expected one that broadcasts to the shape %s of x", mask.Shape(), x.Shape())
	}
	return maskedSelect(x, mask, count), nil
}

// NonZero are the indices of the first count nonzero elements of x, one row of int32 each, a column for each axis of x.
func NonZero(x *uop.UOp, count int64) (r *uop.UOp, err error) {
	defer guard("NonZero", &err)
	need("x", x)
	needCount(count)
	return nonzero(x, count), nil
}
