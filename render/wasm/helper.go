package wasm

import "polygrad/render/wasm/binary"

// helper is a function inside the module that kernels call for rare cases.
type helper uint8

const (
	_ helper = iota
	// invPiWord is a word of 1/pi by its number.
	invPiWord
	// reduceOne takes an argument of sin of any size to within pi/2, in float64.
	reduceOne
	// The others take the fast reduction and the argument, and replace the
	// lanes for which the fast one does not hold.
	reduce32
	reduce64
	reduce32x4
	reduce64x2
	// The same for cos: the sine of what they give is the cosine of their argument.
	reduceOneCos
	reduce32Cos
	reduce64Cos
	reduce32x4Cos
	reduce64x2Cos
	numHelpers
)

// toCos is from a helper of sin to that of cos.
const toCos = reduceOneCos - reduceOne

func reduceFor(h shape, cos bool) helper {
	f := map[shape]helper{{f32, 1}: reduce32, {f64, 1}: reduce64, {f32, 4}: reduce32x4, {f64, 2}: reduce64x2}[h]
	if cos {
		f += toCos
	}
	return f
}

// helpers are the functions that a module has so far.
type helpers struct {
	at      [numHelpers]uint32 // function number plus 1
	kernels int
}

// index is the number of a helper in the module, which gets it if it has none.
func (h *helpers) index(m *binary.Module, f helper) uint32 {
	if h.at[f] > 0 {
		return h.at[f] - 1
	}
	var n uint32
	one, sin, cos := reduceOne, f, f >= reduceOneCos
	if cos {
		one, sin = reduceOneCos, f-toCos
	}
	switch sin {
	case invPiWord:
		n = m.Func("", wordCode(), binary.I64)
	case reduceOne:
		n = m.Func("", reduceCode(h.index(m, invPiWord), cos), binary.F64)
	case reduce32, reduce64:
		n = m.Func("", scalarReduce(h.index(m, one), sin), [...]binary.ValType{binary.F32, binary.F64}[sin-reduce32])
	default:
		n = m.Func("", vectorReduce(h.index(m, one), sin), binary.V128)
	}
	h.at[f] = n + 1
	return n
}

func scalarReduce(one uint32, f helper) *binary.Code {
	if f == reduce64 {
		c := binary.NewCode(binary.F64, binary.F64)
		c.Get(1)
		c.Call(one)
		return c
	}
	c := binary.NewCode(binary.F32, binary.F32)
	c.Get(1)
	c.Op(binary.F64PromoteF32)
	c.Call(one)
	c.Op(binary.F32DemoteF64)
	return c
}

func vectorReduce(one uint32, f helper) *binary.Code {
	c := binary.NewCode(binary.V128, binary.V128)
	for lane := byte(0); lane < 4; lane++ {
		if f == reduce64x2 && lane == 2 {
			break
		}
		c.Get(1)
		if f == reduce32x4 {
			c.Lane(binary.F32x4ExtractLane, lane)
			c.Op(binary.F32Abs)
			c.F32(sinLimit32)
			c.Op(binary.F32Ge)
		} else {
			c.Lane(binary.F64x2ExtractLane, lane)
			c.Op(binary.F64Abs)
			c.F64(sinLimit64)
			c.Op(binary.F64Ge)
		}
		c.If(binary.Empty)
		c.Get(0)
		c.Get(1)
		if f == reduce32x4 {
			c.Lane(binary.F32x4ExtractLane, lane)
			c.Op(binary.F64PromoteF32)
			c.Call(one)
			c.Op(binary.F32DemoteF64)
			c.Lane(binary.F32x4ReplaceLane, lane)
		} else {
			c.Lane(binary.F64x2ExtractLane, lane)
			c.Call(one)
			c.Lane(binary.F64x2ReplaceLane, lane)
		}
		c.Set(0)
		c.End()
	}
	c.Get(0)
	return c
}

// invPiWords are the bits of 1/pi behind the binary point, 32 at a time.
var invPiWords = []uint32{
	0x517CC1B7, 0x27220A94, 0xFE13ABE8, 0xFA9A6EE0, 0x6DB14ACC, 0x9E21C820, 0xFF28B1D5, 0xEF5DE2B0, 0xDB92371D, 0x2126E970,
	0x03249775, 0x04E8C90E, 0x7F0EF58E, 0x5894D39F, 0x74411AFA, 0x975DA242, 0x74CE3813, 0x5A2FBF20, 0x9CC8EB1C, 0xC1A99CFA,
	0x4E422FC5, 0xDEFC941D, 0x8FFC4BFF, 0xEF02CC07, 0xF79788C5, 0xAD05368F, 0xB69B3F67, 0x93E584DB, 0xA7A31FB3, 0x4F2FF516,
	0xBA93DD63, 0xF5F2F8BD, 0x9E839CFB, 0xC5294975, 0x35FDAFD8, 0x8FC6AE84, 0x2B019823,
}

// reduceCode is Payne and Hanek's reduction: |x| = m * 2**e with an integer m of
// 53 bits. Bits of 1/pi worth 2 or more after multiplication by 2**e only add
// whole turns, so the 192 bits from there on, times m, give |x|/pi modulo 2 with
// more than 128 bits behind the point. The linear memory is the host's, so the
// words of 1/pi are constants in code, not data. For cos, |x| + pi/2 is reduced.
func reduceCode(word uint32, cos bool) *binary.Code {
	c := binary.NewCode(binary.F64)
	bits, e, m := c.Local(binary.I64), c.Local(binary.I32), c.Local(binary.I64)
	first, shift := c.Local(binary.I32), c.Local(binary.I64)
	op := c.Op
	c.Get(0)
	op(binary.I64ReinterpretF64)
	c.I64(1<<63 - 1)
	op(binary.I64And)
	c.Set(bits)
	// Infinity and NaN have no sine.
	c.Get(bits)
	c.I64(0x7FF << 52)
	op(binary.I64GeU)
	c.If(binary.Empty)
	c.F64(nan)
	op(binary.Return)
	c.End()
	c.Get(bits)
	c.I64(52)
	op(binary.I64ShrU)
	op(binary.I32WrapI64)
	c.I32(1075)
	op(binary.I32Sub)
	c.Set(e)
	c.Get(bits)
	c.I64(1<<52 - 1)
	op(binary.I64And)
	c.I64(1 << 52)
	op(binary.I64Or)
	c.Set(m)
	// Bit 1 of 1/pi is the first behind the point. Bit e comes to be worth 1;
	// with two words of zeros in front it is bit e + 63 from the start, of word (e + 63) / 32.
	c.Get(e)
	c.I32(63)
	op(binary.I32Add)
	c.I32(5)
	op(binary.I32ShrU)
	c.Set(first)
	c.Get(e)
	c.I32(63)
	op(binary.I32Add)
	c.I32(31)
	op(binary.I32And)
	op(binary.I64ExtendI32U)
	c.Set(shift)
	// Seven words of 1/pi, then six that start at the right bit.
	raw := make([]uint32, 7)
	for i := range raw {
		raw[i] = c.Local(binary.I64)
		c.Get(first)
		c.I32(int32(i))
		op(binary.I32Add)
		c.Call(word)
		c.Set(raw[i])
	}
	limbs := make([]uint32, 6)
	for i := range limbs {
		limbs[i] = c.Local(binary.I64)
		c.Get(raw[i])
		c.I64(32)
		op(binary.I64Shl)
		c.Get(raw[i+1])
		op(binary.I64Or)
		c.Get(shift)
		op(binary.I64Shl)
		c.I64(32)
		op(binary.I64ShrU)
		c.Set(limbs[i])
	}
	// The product modulo 2**192, from the lowest limb: column k is limb k times
	// the low half of m plus limb k+1 times the high half.
	carry := c.Local(binary.I64)
	low := func(v uint32) {
		c.Get(v)
		c.I64(0xFFFFFFFF)
		op(binary.I64And)
	}
	high := func(v uint32) {
		c.Get(v)
		c.I64(32)
		op(binary.I64ShrU)
	}
	t, u := c.Local(binary.I64), c.Local(binary.I64)
	out := make([]uint32, 6)
	for k := 5; k >= 0; k-- {
		out[k] = c.Local(binary.I64)
		c.Get(limbs[k])
		low(m)
		op(binary.I64Mul)
		c.Set(t)
		c.I64(0)
		c.Set(u)
		if k < 5 {
			c.Get(limbs[k+1])
			high(m)
			op(binary.I64Mul)
			c.Set(u)
		}
		// out[k] = low(t) + low(u) + low(carry), carry = the rest.
		low(t)
		low(u)
		op(binary.I64Add)
		low(carry)
		op(binary.I64Add)
		c.Set(out[k])
		high(t)
		high(u)
		op(binary.I64Add)
		high(carry)
		op(binary.I64Add)
		high(out[k])
		op(binary.I64Add)
		c.Set(carry)
		low(out[k])
		c.Set(out[k])
	}
	// The top bit is the parity of the whole turns; what follows is the fraction.
	// Taken as a signed number it is the distance to the nearest integer, and
	// then the parity of that integer is the top bit plus the fraction's.
	hi, lo := c.Local(binary.I64), c.Local(binary.I64)
	pair := func(a, b uint32) {
		c.Get(a)
		c.I64(32)
		op(binary.I64Shl)
		c.Get(b)
		op(binary.I64Or)
	}
	pair(out[0], out[1])
	if cos {
		c.I64(1 << 62)
		op(binary.I64Add)
	}
	c.Set(t)
	pair(out[2], out[3])
	c.Set(u)
	c.Get(t)
	c.I64(1)
	op(binary.I64Shl)
	c.Get(u)
	c.I64(63)
	op(binary.I64ShrU)
	op(binary.I64Or)
	c.Set(hi)
	c.Get(u)
	c.I64(1)
	op(binary.I64Shl)
	c.Get(out[4])
	c.I64(31)
	op(binary.I64ShrU)
	op(binary.I64Or)
	c.Set(lo)
	r := c.Local(binary.F64)
	c.Get(hi)
	op(binary.F64ConvertI64S)
	c.F64(pow2(-64))
	op(binary.F64Mul)
	c.Get(lo)
	op(binary.F64ConvertI64U)
	c.F64(pow2(-128))
	op(binary.F64Mul)
	op(binary.F64Add)
	c.F64(3.141592653589793)
	op(binary.F64Mul)
	c.Set(r)
	// An odd number of half turns changes the sign, and for sin so does a negative x.
	c.Get(r)
	op(binary.I64ReinterpretF64)
	c.Get(t)
	c.Get(hi)
	op(binary.I64Xor)
	if !cos {
		c.Get(0)
		op(binary.I64ReinterpretF64)
		op(binary.I64Xor)
	}
	c.I64(-1 << 63)
	op(binary.I64And)
	op(binary.I64Xor)
	op(binary.F64ReinterpretI64)
	return c
}

// wordCode finds a word by its number, halving the list at each step. Two words
// of zeros come before the first.
func wordCode() *binary.Code {
	c := binary.NewCode(binary.I32)
	var find func(lo, hi int)
	find = func(lo, hi int) {
		if hi-lo == 1 {
			c.I64(int64(invPiWords[lo]))
			return
		}
		mid := (lo + hi) / 2
		c.Get(0)
		c.I32(int32(mid + 2))
		c.Op(binary.I32LtU)
		c.If(binary.I64)
		find(lo, mid)
		c.Else()
		find(mid, hi)
		c.End()
	}
	c.Get(0)
	c.I32(2)
	c.Op(binary.I32LtU)
	c.If(binary.I64)
	c.I64(0)
	c.Else()
	find(0, len(invPiWords))
	c.End()
	return c
}
