package wasm

import (
	"math"

	"polygrad/core/uop"
	"polygrad/render/wasm/binary"
)

// value is the inst that computes a value.
func (s *selector) value(v *value) *inst {
	if v.inst == nil {
		v.inst = s.make(v)
	}
	return v.inst
}

func (s *selector) make(v *value) *inst {
	h := shapeFor(v.kind, v.lanes)
	switch v.op {
	case uop.ConstOp:
		return s.intern(inst{what: isConst, typ: h.typ(), imm: v.bits})
	case uop.DefineVar:
		return s.intern(inst{what: isParam, typ: typeOf(v.kind), imm: [2]uint64{uint64(len(s.k.Params)) + v.bits[0]}})
	case uop.Range:
		return s.iter(v.loop)
	case opPhi:
		return s.phi(v)
	case opFinal:
		p := s.value(v.args[0])
		return s.intern(inst{what: isFinal, typ: p.typ, args: []*inst{p}, home: v.home})
	case uop.Load:
		return s.load(v)
	case opSplat:
		return s.splat(h, v.kind, s.value(v.args[0]))
	case opGather:
		return s.gather(h, v)
	case opExtract:
		return s.extract(v)
	case opShuffle:
		return s.shuffle(v)
	case uop.Cast:
		return s.cast(s.value(v.args[0]), v.args[0].kind, v.kind, v.lanes)
	case uop.Bitcast:
		return s.bitcast(s.value(v.args[0]), v.args[0].kind, v.kind, v.lanes)
	}
	args := make([]*inst, len(v.args))
	for i, a := range v.args {
		args[i] = s.value(a)
	}
	ak := v.args[0].kind
	if v.op == uop.Where {
		return s.choose(h, args[0], args[1], args[2])
	}
	if uop.GroupComparison.Has(v.op) {
		return s.compare(v.op, ak, v.lanes, args[0], args[1])
	}
	if v.kind == kBool {
		return s.boolOp(v.op, v.lanes, args)
	}
	if v.kind.Float() {
		return s.round(v.kind, v.lanes, s.floatOp(v.op, h, args))
	}
	return s.wrap(v.kind, v.lanes, s.intOp(v.op, v.kind, h, args, v.args))
}

func (s *selector) iter(l *loop) *inst {
	if n := s.iters[l]; n != nil {
		return n
	}
	h := shapeFor(l.iter.kind, 1)
	v := s.addLoopVar(l.body, s.int(h, 0))
	v.next = s.do(pAdd, h, v.v, s.int(h, 1))
	s.iters[l] = v.v
	return v.v
}

func (s *selector) phi(v *value) *inst {
	for _, p := range v.loop.phis {
		if p.v == v {
			lv := s.addLoopVar(v.home, s.value(p.init))
			v.inst = lv.v
			lv.next = s.value(p.next)
			lv.chain = s.chainOf(p)
			return lv.v
		}
	}
	panic("wasm: a phi without a loop")
}

// chainOf lists the steps from a vector variable of a loop to its next value.
func (s *selector) chainOf(p *phi) []*inst {
	var out []*inst
	for v := p.next; v != p.v; {
		out = append(out, s.value(v))
		switch {
		case v.op != p.next.op || len(v.args) != 2:
			return nil
		case v.args[0] == p.v || v.args[0].op == v.op:
			v = v.args[0]
		default:
			v = v.args[1]
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

var splats = [4]binary.Op{binary.I32x4Splat, binary.I64x2Splat, binary.F32x4Splat, binary.F64x2Splat}
var extracts = [4]binary.Op{binary.I32x4ExtractLane, binary.I64x2ExtractLane, binary.F32x4ExtractLane, binary.F64x2ExtractLane}
var replaces = [4]binary.Op{binary.I32x4ReplaceLane, binary.I64x2ReplaceLane, binary.F32x4ReplaceLane, binary.F64x2ReplaceLane}

// splat puts a scalar into every lane. A float from memory is loaded into a
// cleared register and its bytes are spread: wazero's own splat waits for what
// the register held before.
func (s *selector) splat(h shape, k kind, v *inst) *inst {
	if k == kBool {
		if h.lanes == 2 {
			v = s.op(binary.I64ExtendI32U, binary.I64, v)
		}
		return s.do(pNeg, h, s.op(splats[h.elem], binary.V128, v))
	}
	if v.what == isLoad && v.op == binary.F32Load && v.mem.pos == 0 {
		zero := inst{what: isLoad, op: binary.V128Load32Zero, typ: binary.V128, imm: v.imm, args: v.args, home: v.home, mem: v.mem}
		spread := s.intern(inst{what: isConst, typ: binary.V128, imm: [2]uint64{0x0302010003020100, 0x0302010003020100}})
		return s.op(binary.I8x16Swizzle, binary.V128, s.intern(zero), spread)
	}
	return s.op(splats[h.elem], binary.V128, v)
}

func (s *selector) gather(h shape, v *value) *inst {
	if v.kind == kBool {
		h = h.ints()
	}
	lane := func(i int) *inst {
		n := s.value(v.args[i])
		if v.kind != kBool {
			return n
		}
		if h.lanes == 2 {
			n = s.op(binary.I64ExtendI32U, binary.I64, n)
		}
		return s.do(pSub, shape{h.elem, 1}, s.int(shape{h.elem, 1}, 0), n)
	}
	out := s.op(splats[h.elem], binary.V128, lane(0))
	cleared := false
	if n := lane(0); n.what == isLoad && n.op == binary.F32Load && n.mem.pos == 0 {
		cleared = true
		out = s.intern(inst{what: isLoad, op: binary.V128Load32Zero, typ: binary.V128, imm: n.imm, args: n.args, home: n.home, mem: n.mem})
	}
	for i := 1; i < len(v.args); i++ {
		if v.args[i] == v.args[0] && !cleared {
			continue
		}
		out = s.lane(replaces[h.elem], binary.V128, i, out, lane(i))
	}
	return out
}

func (s *selector) extract(v *value) *inst {
	h := shapeFor(v.kind, v.args[0].lanes)
	vec := s.value(v.args[0])
	n := s.lane(extracts[h.elem], shape{h.elem, 1}.typ(), int(v.bits[0]), vec)
	if v.kind == kBool {
		if h.elem == e64 {
			n = s.op(binary.I32WrapI64, binary.I32, n)
		}
		n = s.do(pAnd, shape{e32, 1}, n, s.i32(1))
	}
	return n
}

func (s *selector) shuffle(v *value) *inst {
	size := 16 / int(v.lanes)
	n := inst{what: isShuffl, typ: binary.V128, args: []*inst{s.value(v.args[0]), s.value(v.args[1])}}
	for i := range 16 {
		lane := int(v.bits[0]>>(8*(i/size))) & 0xFF
		n.imm[i/8] |= uint64(lane*size+i%size) << (8 * (i % 8))
	}
	return s.intern(n)
}

func (s *selector) compare(op uop.Op, k kind, lanes uint8, a, b *inst) *inst {
	h := shapeFor(k, lanes)
	if k == kBool {
		return s.compareBools(op, lanes, a, b)
	}
	switch op {
	case uop.CmpNe:
		return s.do(pNe, h, a, b)
	case uop.CmpEq:
		return s.do(pEq, h, a, b)
	}
	if k == kU32 || k == kU64 {
		if h == (shape{e64, 2}) {
			top := s.int(h, -1<<63)
			return s.do(pLt, h, s.do(pXor, h, a, top), s.do(pXor, h, b, top))
		}
		return s.do(pLtU, h, a, b)
	}
	return s.do(pLt, h, a, b)
}

func (s *selector) compareBools(op uop.Op, lanes uint8, a, b *inst) *inst {
	h := shapeFor(kBool, lanes)
	switch op {
	case uop.CmpNe:
		return s.do(pXor, h, a, b)
	case uop.CmpEq:
		return s.not(h, s.do(pXor, h, a, b))
	}
	return s.do(pAnd, h, s.not(h, a), b)
}

func (s *selector) not(h shape, v *inst) *inst {
	if h.lanes > 1 {
		return s.op(binary.V128Not, binary.V128, v)
	}
	return s.op(binary.I32Eqz, binary.I32, v)
}

func (s *selector) boolOp(op uop.Op, lanes uint8, args []*inst) *inst {
	h := shapeFor(kBool, lanes)
	switch op {
	case uop.And, uop.Mul:
		return s.do(pAnd, h, args...)
	case uop.Or, uop.Add, uop.Max:
		return s.do(pOr, h, args...)
	case uop.Xor, uop.Sub:
		return s.do(pXor, h, args...)
	case uop.Neg:
		return args[0]
	}
	fail("operation %s on bool", op)
	return nil
}

func (s *selector) floatOp(op uop.Op, h shape, a []*inst) *inst {
	switch op {
	case uop.Add:
		return s.do(pAdd, h, a...)
	case uop.Sub:
		return s.do(pSub, h, a...)
	case uop.Mul:
		return s.do(pMul, h, a...)
	case uop.Fdiv:
		return s.do(pDiv, h, a...)
	case uop.Neg:
		return s.do(pNeg, h, a...)
	case uop.Sqrt:
		return s.do(pSqrt, h, a...)
	case uop.Trunc:
		return s.do(pTrunc, h, a...)
	case uop.Max:
		return s.maximumNaN(h, a[0], a[1])
	case opPick:
		return s.maximum(h, a[0], a[1])
	case uop.Exp:
		return s.exp(h, a[0])
	case uop.Tanh:
		return s.tanh(h, a[0])
	case uop.Cos:
		return s.cos(h, a[0])
	case uop.Exp2:
		return s.exp2(h, a[0])
	case uop.Log2:
		return s.log2(h, a[0])
	case uop.Sin:
		return s.sin(h, a[0])
	}
	fail("operation %s on floats", op)
	return nil
}

// maximum is a < b ? b : a.
func (s *selector) maximum(h shape, a, b *inst) *inst {
	switch h {
	case shape{f32, 4}:
		return s.op(binary.F32x4PMax, binary.V128, a, b)
	case shape{f64, 2}:
		return s.op(binary.F64x2PMax, binary.V128, a, b)
	}
	return s.choose(h, s.do(pLt, h, a, b), b, a)
}

// maximumNaN is the greater of two numbers, NaN if either is. The choice a < b ? b : a keeps a NaN in a only.
func (s *selector) maximumNaN(h shape, a, b *inst) *inst {
	if a.what == isConst {
		a, b = b, a
	}
	if b.what == isConst && b.number(h) {
		return s.maximum(h, a, b)
	}
	isNaN := s.do(pNe, h, b, b)
	if h.lanes > 1 {
		return s.toFloats(h, s.do(pOr, h.ints(), s.toInts(h, s.maximum(h, a, b)), isNaN))
	}
	return s.choose(h, s.do(pOr, shape{e32, 1}, s.do(pLt, h, a, b), isNaN), b, a)
}

// number reports whether no lane of a constant is NaN.
func (n *inst) number(h shape) bool {
	for i := range int(h.lanes) {
		var f float64
		if h.elem == f64 {
			f = math.Float64frombits(n.imm[i])
		} else {
			f = float64(math.Float32frombits(uint32(n.imm[i/2] >> (32 * (i & 1)))))
		}
		if f != f {
			return false
		}
	}
	return true
}

// minimum is b < a ? b : a.
func (s *selector) minimum(h shape, a, b *inst) *inst {
	switch h {
	case shape{f32, 4}:
		return s.op(binary.F32x4PMin, binary.V128, a, b)
	case shape{f64, 2}:
		return s.op(binary.F64x2PMin, binary.V128, a, b)
	}
	return s.choose(h, s.do(pLt, h, b, a), b, a)
}

func (s *selector) intOp(op uop.Op, k kind, h shape, a []*inst, vals []*value) *inst {
	switch op {
	case uop.Add:
		return s.do(pAdd, h, a...)
	case uop.Sub:
		return s.do(pSub, h, a...)
	case uop.Mul:
		return s.do(pMul, h, a...)
	case uop.And:
		return s.do(pAnd, h, a...)
	case uop.Or:
		return s.do(pOr, h, a...)
	case uop.Xor:
		return s.do(pXor, h, a...)
	case uop.Neg:
		return s.do(pSub, h, s.int(h, 0), a[0])
	case uop.Trunc:
		return a[0]
	case uop.Max:
		return s.choose(h, s.compare(uop.CmpLt, k, h.lanes, a[0], a[1]), a[1], a[0])
	case uop.Shl, uop.Shr:
		return s.shifted(op, k, h, a[0], a[1], vals[1].kind)
	case uop.Idiv, uop.Mod:
		return s.divide(op, k, h, a[0], a[1])
	}
	fail("operation %s on integers", op)
	return nil
}

// shifted shifts by a number of bits that WebAssembly takes modulo the width.
func (s *selector) shifted(op uop.Op, k kind, h shape, a, by *inst, byKind kind) *inst {
	p := pShl
	if op == uop.Shr {
		p = pShrU
		if k.Signed() {
			p = pShrS
		}
	}
	switch wide := h.elem == e64 && h.lanes == 1; {
	case wide && !byKind.Wide():
		by = s.op(binary.I64ExtendI32U, binary.I64, by)
	case !wide && byKind.Wide():
		by = s.op(binary.I32WrapI64, binary.I32, by)
	}
	return s.do(p, h, a, by)
}

// divide truncates. Where C leaves the result open it is 0 (division by zero)
// or wraps (the least integer by -1); it never traps.
func (s *selector) divide(op uop.Op, k kind, h shape, a, b *inst) *inst {
	ops := [2][2][2]binary.Op{
		{{binary.I32DivU, binary.I32DivS}, {binary.I32RemU, binary.I32RemS}},
		{{binary.I64DivU, binary.I64DivS}, {binary.I64RemU, binary.I64RemS}},
	}
	wide, rem, signed := int(h.elem), 0, 0
	if op == uop.Mod {
		rem = 1
	}
	if k.Signed() {
		signed = 1
	}
	div := ops[wide][rem][signed]
	zero, one := s.int(h, 0), s.int(h, 1)
	minus := b.what == isConst && b.imm == s.int(h, -1).imm && k.Signed()
	if b.what == isConst && b.imm[0] != 0 && !minus {
		return s.op(div, h.typ(), a, b)
	}
	if rem == 1 {
		isZero := s.do(pEq, h, b, zero)
		return s.op(div, h.typ(), a, s.choose(h, isZero, one, b))
	}
	if signed == 0 {
		isZero := s.do(pEq, h, b, zero)
		return s.choose(h, isZero, zero, s.op(div, h.typ(), a, s.choose(h, isZero, one, b)))
	}
	// 0 and -1 are handled apart: both give 0 or 1 when 1 is added.
	odd := s.do(pLtU, h, s.do(pAdd, h, b, one), s.int(h, 2))
	q := s.op(div, h.typ(), a, s.choose(h, odd, one, b))
	// b is 0 or -1 here, so a * b is what either asks for.
	return s.choose(h, odd, s.do(pMul, h, a, b), q)
}

// wrap brings an integer of a narrow kind back into its range.
func (s *selector) wrap(k kind, lanes uint8, v *inst) *inst {
	h := shapeFor(k, lanes)
	switch k {
	case kI8, kI16:
		bits := int64(24)
		if k == kI16 {
			bits = 16
		}
		if lanes == 1 {
			return s.op([...]binary.Op{binary.I32Extend8S, binary.I32Extend16S}[(24-bits)/8], binary.I32, v)
		}
		return s.shift(pShrS, h, s.shift(pShl, h, v, bits), bits)
	case kU8:
		return s.do(pAnd, h, v, s.int(h, 0xFF))
	case kU16:
		return s.do(pAnd, h, v, s.int(h, 0xFFFF))
	}
	return v
}
