package uop

import "math"

// FloatToHalf rounds to IEEE half precision, ties to even; too large gives infinity. A NaN keeps the upper bits of its
// payload, as in the processor's instructions.
func FloatToHalf(f float64) uint16 {
	bits := math.Float64bits(f)
	s := uint16(bits >> 48 & 0x8000)
	if f != f {
		return s | 0x7e00 | uint16(bits>>42&0x3ff)
	}
	return s | uint16(min(roundSmall(math.Abs(f), 5, 10), 0x7c00))
}

// HalfToFloat widens a half.
func HalfToFloat(h uint16) float32 { return float32(widenSmall(uint32(h), 5, 10)) }

// FloatToBF16 rounds to bfloat16 by way of float32, ties to even.
func FloatToBF16(f float64) uint16 {
	b := math.Float32bits(float32(f))
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// BF16ToFloat widens a bfloat16.
func BF16ToFloat(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// FloatToFP8 rounds to an 8-bit float. E4M3 has no infinity: what is not finite becomes NaN, what is too
// large the greatest value. E5M2 keeps infinity and saturates finite values. See
// https://arxiv.org/abs/2209.05433.
func FloatToFP8(d *DType, f float64) uint8 {
	s := uint8(math.Float64bits(f) >> 56 & 0x80)
	a := math.Abs(f)
	if d == FP8E4M3 {
		if f != f || math.IsInf(f, 0) {
			return s | 0x7f
		}
		if a > 448 {
			return s | 0x7e
		}
		return s | uint8(min(roundSmall(a, 4, 3), 0x7e))
	}
	switch {
	case f != f:
		return s | 0x7e | uint8(math.Float64bits(f)>>50&3)
	case math.IsInf(f, 0):
		return s | 0x7c
	case a > 57344:
		return s | 0x7b
	}
	return s | uint8(min(roundSmall(a, 5, 2), 0x7b))
}

// FP8ToFloat widens an 8-bit float.
func FP8ToFloat(d *DType, b uint8) float64 {
	if d == FP8E5M2 {
		return widenSmall(uint32(b), 5, 2)
	}
	if b&0x7f == 0x7f {
		return math.NaN()
	}
	e, m := int(b>>3&0xf), float64(b&7)
	v := m / 8 * math.Ldexp(1, -6)
	if e > 0 {
		v = math.Ldexp(1+m/8, e-7)
	}
	if b&0x80 != 0 {
		v = -v
	}
	return v
}

// roundSmall encodes a non-negative number with the given exponent and mantissa bits, ties to even. A number that
// is too large gets a code past the type's last one.
func roundSmall(a float64, ebits, mbits int) uint32 {
	bias := 1<<(ebits-1) - 1
	if math.IsInf(a, 1) {
		return uint32(1<<ebits-1) << mbits
	}
	if a == 0 {
		return 0
	}
	_, e := math.Frexp(a) // a = m * 2^e, m in [0.5, 1)
	e = max(e-1, 1-bias)
	q := math.RoundToEven(math.Ldexp(a, mbits-e))
	// A carry out of the mantissa moves into the exponent by itself.
	return uint32(q) + uint32(e+bias-1)<<mbits
}

// widenSmall widens a float with the given exponent and mantissa bits. A NaN keeps its payload.
func widenSmall(h uint32, ebits, mbits int) float64 {
	bias := 1<<(ebits-1) - 1
	e, m := int(h>>mbits&(1<<ebits-1)), float64(h&(1<<mbits-1))/float64(uint32(1)<<mbits)
	v := math.Ldexp(m, 1-bias)
	switch {
	case e == 1<<ebits-1 && m != 0:
		payload := uint64(h) << (52 - mbits) & (1<<52 - 1)
		return math.Float64frombits(uint64(h>>(ebits+mbits))<<63 | 0x7ff8<<48 | payload)
	case e == 1<<ebits-1:
		v = math.Inf(1)
	case e > 0:
		v = math.Ldexp(1+m, e-bias)
	}
	if h>>(ebits+mbits)&1 != 0 {
		v = -v
	}
	return v
}
