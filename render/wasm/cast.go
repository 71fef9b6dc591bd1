package wasm

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/render/wasm/binary"
)

var nan = math.NaN()

// makeCast converts by value, as C does where C defines it. Floats are truncated; those out of range give any value. Nothing traps.
func (s *selector) makeCast(v *ir.Value) *inst {
	a := v.Args[0]
	from, to := a.Kind.Register(), v.Kind.Register()
	hf, ht := s.shape(a), s.shape(v)
	switch {
	case from == to:
		return s.value(a)
	case to == ir.Bool && from.Float():
		return s.do(pNe, hf, s.value(a), s.float(hf, 0))
	case to == ir.Bool:
		return s.do(pNe, hf, s.value(a), s.int(hf, 0))
	case from == ir.Bool:
		return s.fromBool(a, ht, to)
	case v.Lanes == 1:
		return s.castScalar(s.value(a), from, to)
	case from.Float() != to.Float() && (from.Wide() && !from.Float() || to.Wide() && !to.Float()), from == ir.F64 && to == ir.U32:
		// There are no instructions for vectors of 64-bit integers, and none that wraps.
		return s.lanewise(v, func(args []*inst) *inst { return s.castScalar(args[0], from, to) })
	}
	x := s.value(a)
	op := func(op binary.Op) *inst { return s.op(op, binary.V128, x) }
	switch {
	case from == ir.F64 && to == ir.F32:
		return op(binary.F32x4DemoteF64x2Zero)
	case from == ir.F32 && to == ir.F64:
		return op(binary.F64x2PromoteLowF32x4)
	case from == ir.F32:
		return s.floatToInt(x, binary.I32x4TruncSatF32x4S, hf, to)
	case from == ir.F64:
		return op(binary.I32x4TruncSatF64x2SZ)
	case from == ir.I32 && to == ir.F32:
		return op(binary.F32x4ConvertI32x4S)
	case from == ir.U32 && to == ir.F32:
		return op(binary.F32x4ConvertI32x4U)
	case from == ir.I32 && to == ir.F64:
		return op(binary.F64x2ConvertLowI32S)
	case from == ir.U32 && to == ir.F64:
		return op(binary.F64x2ConvertLowI32U)
	case hf.elem == ht.elem:
		return x
	case ht.elem == e32:
		return s.evenLanes(x)
	case from.Signed():
		return op(binary.I64x2ExtendLowS)
	}
	return op(binary.I64x2ExtendLowU)
}

// fromBool is 1 where a bool is true, else 0.
func (s *selector) fromBool(a *ir.Value, h shape, to ir.Kind) *inst {
	if h.lanes > 1 {
		one := s.int(h, 1)
		if to.Float() {
			one = s.float(h, 1)
		}
		return s.op(binary.V128And, binary.V128, s.mask(a, int(h.lanes), h.width()), one)
	}
	v := s.value(a)
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

// castScalar converts a scalar between numbers.
func (s *selector) castScalar(v *inst, from, to ir.Kind) *inst {
	hf, ht := shapeOf(from, 1), shapeOf(to, 1)
	switch {
	case from == ir.F64 && to == ir.F32:
		return s.op(binary.F32DemoteF64, binary.F32, v)
	case from == ir.F32 && to == ir.F64:
		return s.op(binary.F64PromoteF32, binary.F64, v)
	case from.Float():
		ops := [2][2]binary.Op{{binary.I32TruncSatF32S, binary.I32TruncSatF64S}, {binary.I64TruncSatF32S, binary.I64TruncSatF64S}}
		return s.floatToInt(v, ops[ht.elem][hf.elem&1], hf, to)
	case to.Float():
		return s.intToFloat(v, from, ht)
	case hf.elem == ht.elem:
		return v
	case ht.elem == e32:
		return s.op(binary.I32WrapI64, binary.I32, v)
	case from.Signed():
		return s.op(binary.I64ExtendI32S, binary.I64, v)
	}
	return s.op(binary.I64ExtendI32U, binary.I64, v)
}

// floatToInt truncates with an instruction for signed integers.
func (s *selector) floatToInt(v *inst, op binary.Op, h shape, to ir.Kind) *inst {
	ih := shapeOf(to, int(h.lanes))
	small := s.op(op, ih.typ(), v)
	if to != ir.U32 && to != ir.U64 {
		return small
	}
	// Numbers in the upper half of the unsigned range are converted minus that half, and their top bit is restored.
	half, top := float64(1<<31), int64(math.MinInt32)
	if to == ir.U64 {
		half, top = 1<<63, math.MinInt64
	}
	limit := s.float(h, half)
	large := s.do(pXor, ih, s.op(op, ih.typ(), s.do(pSub, h, v, limit)), s.int(ih, top))
	return s.choose(ih, s.do(pLe, h, limit, v), large, small)
}

func (s *selector) intToFloat(v *inst, from ir.Kind, h shape) *inst {
	ops := [2][2][2]binary.Op{
		{{binary.F32ConvertI32S, binary.F32ConvertI32U}, {binary.F32ConvertI64S, binary.F32ConvertI64U}},
		{{binary.F64ConvertI32S, binary.F64ConvertI32U}, {binary.F64ConvertI64S, binary.F64ConvertI64U}},
	}
	wide, unsigned := 0, 0
	if from.Wide() {
		wide = 1
	}
	if !from.Signed() {
		unsigned = 1
	}
	return s.op(ops[h.elem&1][wide][unsigned], h.typ(), v)
}

// makeBitcast is the same bits as another kind.
func (s *selector) makeBitcast(v *ir.Value) *inst {
	a := v.Args[0]
	x := s.value(a)
	switch {
	case v.Lanes > 1 || a.Kind.Float() == v.Kind.Float():
		return x
	case v.Kind.Float():
		return s.toFloats(s.shape(v), x)
	}
	return s.toInts(s.shape(v), x)
}
