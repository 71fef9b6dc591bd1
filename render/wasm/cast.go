package wasm

import (
	"polygrad/render/wasm/binary"
)

// cast converts between kinds as C does where C defines it. Floats that no
// integer equals are truncated; those out of range saturate at 32 (64) bits and
// then wrap to the kind; NaN becomes 0. Nothing traps.
func (s *selector) cast(v *inst, from, to kind, lanes uint8) *inst {
	hf, ht := shapeFor(from, lanes), shapeFor(to, lanes)
	switch {
	case from == to:
		return v
	case to == kBool && from.Float():
		return s.do(pNe, hf, v, s.float(hf, 0))
	case to == kBool:
		return s.do(pNe, hf, v, s.int(hf, 0))
	case from == kBool:
		return s.fromBool(v, ht, to)
	case from.Float() && to.Float():
		return s.floatToFloat(v, from, to, lanes)
	case from.Float():
		return s.wrap(to, lanes, s.floatToInt(v, hf, to))
	case to.Float():
		return s.round(to, lanes, s.intToFloat(v, from, ht))
	}
	return s.wrap(to, lanes, s.intToInt(v, from, hf, ht))
}

func (s *selector) fromBool(v *inst, h shape, to kind) *inst {
	if h.lanes > 1 {
		if to.Float() {
			return s.do(pAnd, h.ints(), v, s.toInts(h, s.float(h, 1)))
		}
		return s.do(pAnd, h, v, s.int(h, 1))
	}
	switch h.elem {
	case e64:
		return s.op(binary.I64ExtendI32U, binary.I64, v)
	case f32:
		return s.op(binary.F32ConvertI32S, binary.F32, v)
	case f64:
		return s.op(binary.F64ConvertI32S, binary.F64, v)
	}
	return v
}

func (s *selector) floatToFloat(v *inst, from, to kind, lanes uint8) *inst {
	if from == kF64 {
		v = s.op(binary.F32DemoteF64, binary.F32, v)
	}
	if to == kF64 {
		return s.op(binary.F64PromoteF32, binary.F64, v)
	}
	return s.round(to, lanes, v)
}

// floatToInt truncates to the register of an integer kind.
func (s *selector) floatToInt(v *inst, h shape, to kind) *inst {
	var op binary.Op
	switch wide := to.Wide(); {
	case h.lanes > 1:
		op = binary.I32x4TruncSatF32x4S
	case wide && h.elem == f32:
		op = binary.I64TruncSatF32S
	case wide:
		op = binary.I64TruncSatF64S
	case h.elem == f32:
		op = binary.I32TruncSatF32S
	default:
		op = binary.I32TruncSatF64S
	}
	ih := shapeFor(to, h.lanes)
	small := s.op(op, ih.typ(), v)
	if to != kU32 && to != kU64 {
		return small
	}
	// The upper half of the unsigned range is reached by way of the lower.
	half, top := float64(1<<31), int64(-1)<<31
	if to == kU64 {
		half, top = 1<<63, -1<<63
	}
	limit := s.float(h, half)
	large := s.do(pXor, ih, s.op(op, ih.typ(), s.do(pSub, h, v, limit)), s.int(ih, top))
	return s.choose(ih, s.do(pLe, h, limit, v), large, small)
}

func (s *selector) intToFloat(v *inst, from kind, h shape) *inst {
	ops := map[shape][2]binary.Op{
		{f32, 1}: {binary.F32ConvertI32S, binary.F32ConvertI32U},
		{f64, 1}: {binary.F64ConvertI32S, binary.F64ConvertI32U},
		{f32, 4}: {binary.F32x4ConvertI32x4S, binary.F32x4ConvertI32x4U},
	}[h]
	if from.Wide() {
		ops = [2]binary.Op{binary.F32ConvertI64S, binary.F32ConvertI64U}
		if h.elem == f64 {
			ops = [2]binary.Op{binary.F64ConvertI64S, binary.F64ConvertI64U}
		}
	}
	if from == kU32 || from == kU64 {
		return s.op(ops[1], h.typ(), v)
	}
	return s.op(ops[0], h.typ(), v)
}

func (s *selector) intToInt(v *inst, from kind, hf, ht shape) *inst {
	switch {
	case hf.elem == ht.elem:
		return v
	case ht.elem == e32:
		return s.op(binary.I32WrapI64, binary.I32, v)
	case from.Signed():
		return s.op(binary.I64ExtendI32S, binary.I64, v)
	}
	return s.op(binary.I64ExtendI32U, binary.I64, v)
}

// bitcast keeps the bits that a value has in memory.
func (s *selector) bitcast(v *inst, from, to kind, lanes uint8) *inst {
	if from.Size() != to.Size() {
		fail("BITCAST between types of different size")
	}
	switch {
	case from.Float() == to.Float() && from.Size() >= 4:
		return v
	case from.Float() == to.Float() && !from.Float():
		return s.wrap(to, lanes, v)
	case from.Float() && to.Float():
		return s.decode(to, lanes, s.encode(from, lanes, v))
	case from.Float():
		return s.wrap(to, lanes, s.encode(from, lanes, v))
	}
	if to.Size() < 4 {
		mask := int64(1)<<(8*to.Size()) - 1
		v = s.do(pAnd, shapeFor(from, lanes), v, s.int(shapeFor(from, lanes), mask))
	}
	return s.decode(to, lanes, v)
}
