package tensor

import (
	"math"

	"polygrad/core/uop"
)

// A number takes the type of the integer tensor in the same operation. What happens to a number out of the range of that type depends on
// the operation. It must not wrap around: 300 would become 44 for uint8, and 50 would not be less than it.

// Beyond is the treatment of a whole number outside of the range of the integer operand.
type Beyond uint8

// The treatments. The zero value is an error.
const (
	// BeyondFails is an error.
	BeyondFails Beyond = iota
	// BeyondWraps is for arithmetic modulo 2^bits (sums, products, bit operations): any number of as many bits, signed or
	// unsigned.
	BeyondWraps
	// BeyondFloats is for floating point results: the number becomes a float.
	BeyondFloats
	// BeyondCompares is for comparisons: the number is above or below all integers of the type.
	BeyondCompares
	// BeyondAbove and BeyondBelow are for bounds: one above (below) all integers of the type has no effect.
	BeyondAbove
	BeyondBelow
)

// Meet converts a number to a constant for an operation with x, as Scalar does. If the integer type of x does not hold the number, both
// may get another type.
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
	case b == BeyondCompares && above: // as any integer compares with a greater one
		return fullLike(x, 0), likeConst(x, 1), nil
	case b == BeyondCompares:
		return fullLike(x, 1), likeConst(x, 0), nil
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
	fail("value", "%s, expected one of the integers %s to %s that the tensor holds: convert it to a wider type first",
		v, dt.Min(), dt.Max())
	return nil, nil, nil
}

// needHeld fails for a number that an integer tensor of a type cannot be filled with. As in C and PyTorch, a negative number wraps around
// in unsigned types: -1 is their greatest value.
func needHeld(name string, dt *uop.DType, v uop.Const) {
	if !dt.IsInt() || v.IsFloat() && (math.IsInf(v.F(), 0) || math.IsNaN(v.F())) {
		return
	}
	lowest := dt.Min()
	if dt.IsUnsigned() {
		lowest = dt.Max().Neg()
	}
	if whole := v.As(uop.IndexT); whole.Cmp(lowest) < 0 || whole.Cmp(dt.Max()) > 0 {
		fail(name, "is %s, expected integers from %s to %s for %s", v, dt.Min(), dt.Max(), dt.NumpyName())
	}
}
