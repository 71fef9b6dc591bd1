package uop

import "math"

// Bits is how a constant is stored as an element of type d: the lowest bits of the result, as many as d has. Integers wrap.
func (c Const) Bits(d *DType) uint64 {
	d = d.Scalar()
	c = c.As(d)
	switch {
	case d == Float64:
		return math.Float64bits(c.F())
	case d == Float32:
		return uint64(math.Float32bits(float32(c.F())))
	case d == Float16:
		return uint64(FloatToHalf(c.F()))
	case d == BFloat16:
		return uint64(FloatToBF16(c.F()))
	case d.IsFloat():
		return uint64(FloatToFP8(d, c.F()))
	case d.IsBool():
		if c.Truth() {
			return 1
		}
		return 0
	}
	v, ok := c.Int64()
	if !ok {
		v = c.Truncate(Int64).I()
	}
	return uint64(v) << d.unused() >> d.unused()
}

// FromBits is the constant that an element of type d with these bits holds.
func FromBits(d *DType, bits uint64) Const {
	d = d.Scalar()
	switch {
	case d == Float64:
		return Float(math.Float64frombits(bits))
	case d == Float32:
		return Float(float64(math.Float32frombits(uint32(bits))))
	case d == Float16:
		return Float(float64(HalfToFloat(uint16(bits))))
	case d == BFloat16:
		return Float(float64(BF16ToFloat(uint16(bits))))
	case d.IsFloat():
		return Float(FP8ToFloat(d, uint8(bits)))
	case d.IsBool():
		return BoolConst(bits != 0)
	case d.IsUnsigned():
		return Uint(bits << d.unused() >> d.unused())
	}
	return Int(int64(bits<<d.unused()) >> d.unused())
}

// unused is the number of bits of a uint64 that an element of type d does not use.
func (d *DType) unused() int { return 64 - 8*d.Itemsize() }
