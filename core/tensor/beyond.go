package tensor

import (
	"math"

	"polygrad/core/uop"
)

// A number takes its type from the integers it meets. What becomes of one that this type does not hold depends on the
// operation: wrapped around, 300 would be 44 beside uint8, and 50 not less than it.

// Beyond says what an operation does with a whole number outside of the type of the integers that it meets.
type Beyond uint8

// What operations do with such a number. The zero value refuses it.
const (
	// BeyondFails is an error.
	BeyondFails Beyond = iota
	// BeyondWraps is for what counts modulo 2^bits, as sums, products and bits do: the number may be one of as many bits,
	// with a sign or without.
	BeyondWraps
	// BeyondFloats is for results that are floating point numbers, as the number then is.
	BeyondFloats
	// BeyondCompares is for comparisons, which are done in int64.
	BeyondCompares
	// BeyondAbove and BeyondBelow are for bounds: one above all integers of the type, or below them, bounds none.
	BeyondAbove
	BeyondBelow
)

// Meet is a tensor and the constant that a number becomes in an operation with it, as of Scalar. Where x is of integers
// whose type does not hold the number, both may change.
func Meet(x *uop.UOp, v uop.Const, b Beyond) (y, s *uop.UOp, err error) {
	defer guard("Meet", &err)
	need("x", x)
	dt := x.DType
	if !dt.IsInt() || v.IsFloat() || v.Cmp(dt.Min()) >= 0 && v.Cmp(dt.Max()) <= 0 {
		return x, scalarFor(x, v), nil
	}
	above := v.Cmp(dt.Max()) > 0
	switch {
	case b == BeyondFloats:
		return x, scalarFor(x, uop.Float(v.F())), nil
	case b == BeyondCompares && dt == uop.Uint64:
		// half of it is as far from a number below 0
		x = cast(shiftRight(x, 1), uop.Int64)
		return x, scalarFor(x, v), nil
	case b == BeyondCompares:
		x = cast(x, uop.Int64)
		return x, scalarFor(x, v), nil
	case b == BeyondAbove && above:
		return x, likeConst(x, dt.Max()), nil
	case b == BeyondBelow && !above:
		return x, likeConst(x, dt.Min()), nil
	case b == BeyondWraps:
		bits := uop.Int(1).Shl(uop.Int(int64(dt.Bits)))
		if v.Cmp(bits) < 0 && v.Add(bits).Cmp(bits.CDiv(uop.Int(2))) >= 0 {
			return x, likeConst(x, v.Truncate(dt)), nil
		}
	}
	fail("value", "%s is none of the integers %s to %s that the tensor holds: convert it to a wider type first",
		v, dt.Min(), dt.Max())
	return nil, nil, nil
}

// needHeld fails for a number that integers of a type cannot be filled with. As in C and PyTorch, -1 fills unsigned ones
// with their greatest value, and so on down to the negative of that.
func needHeld(name string, dt *uop.DType, v uop.Const) {
	if !dt.IsInt() || v.IsFloat() && (math.IsInf(v.F(), 0) || math.IsNaN(v.F())) {
		return
	}
	lowest := dt.Min()
	if dt.IsUnsigned() {
		lowest = dt.Max().Neg()
	}
	if whole := v.As(uop.IndexT); whole.Cmp(lowest) < 0 || whole.Cmp(dt.Max()) > 0 {
		fail(name, "is %s, expected integers from %s to %s for %s", v, dt.Min(), dt.Max(), dt)
	}
}
