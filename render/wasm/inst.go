package wasm

import (
	"math"

	"polygrad/core/nest/ir"
	"polygrad/render/wasm/binary"
)

// inst is an instruction of the function, with its arguments: values are turned
// into insts, one to some, before they are put in order. Pure insts are interned.
type inst struct {
	what instKind
	op   binary.Op
	typ  binary.ValType
	imm  [2]uint64 // constant, lane, memory offset, or number of a parameter
	args []*inst
	id   int32
	home *ir.Block

	mem *access // of loads
	// through are the accesses that are sure to be made through this pointer.
	through []*access

	uses  int
	state int8 // of the scheduler
}

type instKind uint8

const (
	isOp     instKind = iota // op applied to args
	isConst                  // a constant of typ
	isParam                  // parameter imm[0] of the function
	isPhi                    // a variable of a loop
	isFinal                  // the value of a variable after its loop
	isLoad                   // op at args[0] + imm[0], into lane imm[1] of args[1] if there is one
	isLane                   // op with lane imm[0]
	isShuffl                 // i8x16.shuffle with the lanes imm
)

type instKey struct {
	what instKind
	op   binary.Op
	typ  binary.ValType
	imm  [2]uint64
	args [3]int32
}

// Hash is the key as a number.
func (k instKey) Hash() uint64 {
	h := ir.MixHash(uint64(k.what)<<32|uint64(k.typ)<<16^uint64(k.op), uint64(k.args[0])<<32|uint64(k.args[1]))
	return ir.MixHash(ir.MixHash(ir.MixHash(h, uint64(k.args[2])), k.imm[0]), k.imm[1])
}

// variable is a local that a loop updates: a phi, an iterator or a pointer.
type variable struct {
	v          *inst
	init, next *inst
	// chain are the steps that lead to next, one for each term; see scheduler.chains.
	chain []*inst
}

// selector makes insts.
type selector struct {
	k     *Kernel
	root  *ir.Block
	items int64
	check bool
	// splatLoads: see Options.
	splatLoads bool
	table      ir.InternTable[instKey, inst]
	// vals are the states of values, by their IDs.
	vals []state
	vars map[*ir.Block][]*variable
	// counters count the iterations of loops.
	counters map[*ir.Loop]*inst
	groups   map[string]*group
	key      []byte
	ptrs     map[ptrKey]*inst
	// spareAt is where in scratch memory the spare area lies, -1 if there is none yet.
	spareAt int64
	nextID  int32
}

// state is the lowering of a value.
type state struct {
	inst *inst
	// other is a vector of bools with lanes of the other width.
	other *inst
	// width is that of the lanes of a vector of bools, once it is known.
	width int8
	// seen: groupsIn has visited the value.
	seen bool
}

// of is the state of a value.
func (s *selector) of(v *ir.Value) *state {
	for int(v.ID) >= len(s.vals) {
		s.vals = append(s.vals, make([]state, max(512, len(s.vals)))...)
	}
	return &s.vals[v.ID]
}

func (s *selector) add(n *inst) *inst {
	s.nextID++
	n.id = s.nextID
	if n.home == nil {
		n.home = s.root
	}
	for _, a := range n.args {
		if a.home.Depth > n.home.Depth {
			n.home = a.home
		}
	}
	return n
}

// intern is the pure inst that is equal to n.
func (s *selector) intern(n inst) *inst {
	k := instKey{what: n.what, op: n.op, typ: n.typ, imm: n.imm}
	for i, a := range n.args {
		k.args[i] = a.id
	}
	o, found := s.table.Find(k, n)
	if found {
		return o
	}
	return s.add(o)
}

func (s *selector) op(op binary.Op, t binary.ValType, args ...*inst) *inst {
	return s.intern(inst{op: op, typ: t, args: args})
}

func (s *selector) lane(op binary.Op, t binary.ValType, lane int, args ...*inst) *inst {
	return s.intern(inst{what: isLane, op: op, typ: t, imm: [2]uint64{uint64(lane)}, args: args})
}

func (s *selector) param(n int, t binary.ValType) *inst {
	return s.intern(inst{what: isParam, typ: t, imm: [2]uint64{uint64(n)}})
}

func (s *selector) i32(v int64) *inst {
	return s.intern(inst{what: isConst, typ: binary.I32, imm: [2]uint64{uint64(uint32(v))}})
}

// shape is an element type with a number of lanes: what a machine operation works on.
type shape struct {
	elem  elem
	lanes uint8
}

type elem uint8

const (
	e32 elem = iota
	e64
	f32
	f64
)

// shapeOf is the shape of values of a kind, except for vectors of bools, whose lanes are as wide as those of the operands that they come from.
func shapeOf(k ir.Kind, lanes int) shape {
	switch {
	case k == ir.F64:
		return shape{f64, uint8(lanes)}
	case k.Float():
		return shape{f32, uint8(lanes)}
	case k.Wide():
		return shape{e64, uint8(lanes)}
	}
	return shape{e32, uint8(lanes)}
}

// boolShape is that of a vector of bools with lanes of a width.
func boolShape(lanes, width int) shape {
	if width == 8 {
		return shape{e64, uint8(lanes)}
	}
	return shape{e32, uint8(lanes)}
}

// width is how many bytes a lane has.
func (h shape) width() int { return 4 + 4*int(h.elem&1) }

// one is the shape of a lane.
func (h shape) one() shape { return shape{h.elem, 1} }

func (h shape) typ() binary.ValType {
	if h.lanes > 1 {
		return binary.V128
	}
	return [...]binary.ValType{binary.I32, binary.I64, binary.F32, binary.F64}[h.elem]
}

func (h shape) index() int {
	if h.lanes > 1 {
		return int(h.elem) + 4
	}
	return int(h.elem)
}

// ints is the shape of the same width with integer elements, floats that with floats.
func (h shape) ints() shape   { return shape{h.elem & 1, h.lanes} }
func (h shape) floats() shape { return shape{h.elem | 2, h.lanes} }

// prim is an operation for each shape: i32, i64, f32, f64, i32x4, i64x2, f32x4, f64x2.
type prim [8]binary.Op

var (
	pAdd = prim{binary.I32Add, binary.I64Add, binary.F32Add, binary.F64Add, binary.I32x4Add, binary.I64x2Add, binary.F32x4Add, binary.F64x2Add}
	pSub = prim{binary.I32Sub, binary.I64Sub, binary.F32Sub, binary.F64Sub, binary.I32x4Sub, binary.I64x2Sub, binary.F32x4Sub, binary.F64x2Sub}
	pMul = prim{binary.I32Mul, binary.I64Mul, binary.F32Mul, binary.F64Mul, binary.I32x4Mul, binary.I64x2Mul, binary.F32x4Mul, binary.F64x2Mul}
	pDiv = prim{2: binary.F32Div, 3: binary.F64Div, 6: binary.F32x4Div, 7: binary.F64x2Div}
	pAnd = prim{0: binary.I32And, 1: binary.I64And, 4: binary.V128And, 5: binary.V128And}
	pOr  = prim{0: binary.I32Or, 1: binary.I64Or, 4: binary.V128Or, 5: binary.V128Or}
	pXor = prim{0: binary.I32Xor, 1: binary.I64Xor, 4: binary.V128Xor, 5: binary.V128Xor}

	pShl  = prim{0: binary.I32Shl, 1: binary.I64Shl, 4: binary.I32x4Shl, 5: binary.I64x2Shl}
	pShrS = prim{0: binary.I32ShrS, 1: binary.I64ShrS, 4: binary.I32x4ShrS, 5: binary.I64x2ShrS}
	pShrU = prim{0: binary.I32ShrU, 1: binary.I64ShrU, 4: binary.I32x4ShrU, 5: binary.I64x2ShrU}

	pSqrt  = prim{2: binary.F32Sqrt, 3: binary.F64Sqrt, 6: binary.F32x4Sqrt, 7: binary.F64x2Sqrt}
	pTrunc = prim{2: binary.F32Trunc, 3: binary.F64Trunc, 6: binary.F32x4Trunc, 7: binary.F64x2Trunc}
	pRound = prim{2: binary.F32Nearest, 3: binary.F64Nearest, 6: binary.F32x4Nearest, 7: binary.F64x2Nearest}
	pFloor = prim{2: binary.F32Floor, 3: binary.F64Floor, 6: binary.F32x4Floor, 7: binary.F64x2Floor}
	pAbs   = prim{2: binary.F32Abs, 3: binary.F64Abs, 4: binary.I32x4Abs, 5: binary.I64x2Abs, 6: binary.F32x4Abs, 7: binary.F64x2Abs}
	pNeg   = prim{2: binary.F32Neg, 3: binary.F64Neg, 4: binary.I32x4Neg, 5: binary.I64x2Neg, 6: binary.F32x4Neg, 7: binary.F64x2Neg}
	pMaxS  = prim{4: binary.I32x4MaxS}
	pMaxU  = prim{4: binary.I32x4MaxU}
	pMinS  = prim{4: binary.I32x4MinS}
	pMinU  = prim{4: binary.I32x4MinU}
	pFMA   = prim{6: binary.F32x4RelaxedMadd, 7: binary.F64x2RelaxedMadd}
	pNFMA  = prim{6: binary.F32x4RelaxedNmadd, 7: binary.F64x2RelaxedNmadd}
	pPMax  = prim{6: binary.F32x4PMax, 7: binary.F64x2PMax}
	pPMin  = prim{6: binary.F32x4PMin, 7: binary.F64x2PMin}

	pEq  = prim{binary.I32Eq, binary.I64Eq, binary.F32Eq, binary.F64Eq, binary.I32x4Eq, binary.I64x2Eq, binary.F32x4Eq, binary.F64x2Eq}
	pNe  = prim{binary.I32Ne, binary.I64Ne, binary.F32Ne, binary.F64Ne, binary.I32x4Ne, binary.I64x2Ne, binary.F32x4Ne, binary.F64x2Ne}
	pLt  = prim{binary.I32LtS, binary.I64LtS, binary.F32Lt, binary.F64Lt, binary.I32x4LtS, binary.I64x2LtS, binary.F32x4Lt, binary.F64x2Lt}
	pLe  = prim{binary.I32LeS, binary.I64LeS, binary.F32Le, binary.F64Le, binary.I32x4LeS, binary.I64x2LeS, binary.F32x4Le, binary.F64x2Le}
	pLtU = prim{binary.I32LtU, binary.I64LtU, 4: binary.I32x4LtU}
	pLeU = prim{binary.I32LeU, binary.I64LeU, 4: binary.I32x4LeU}

	pSplat   = prim{4: binary.I32x4Splat, 5: binary.I64x2Splat, 6: binary.F32x4Splat, 7: binary.F64x2Splat}
	pExtract = prim{4: binary.I32x4ExtractLane, 5: binary.I64x2ExtractLane, 6: binary.F32x4ExtractLane, 7: binary.F64x2ExtractLane}
	pReplace = prim{4: binary.I32x4ReplaceLane, 5: binary.I64x2ReplaceLane, 6: binary.F32x4ReplaceLane, 7: binary.F64x2ReplaceLane}
)

var comparisons = map[binary.Op]bool{}

// commutes are the operations on vectors whose arguments may change places.
var commutes = map[binary.Op]bool{}

func init() {
	for _, p := range []prim{pAdd, pMul, pAnd, pOr, pXor, pMaxS, pMaxU, pMinS, pMinU} {
		for _, o := range p[4:] {
			commutes[o] = o != 0
		}
	}
	for _, p := range []prim{pEq, pNe, pLt, pLe, pLtU, pLeU} {
		for _, o := range p[:4] {
			comparisons[o] = true
		}
	}
}

// do applies a primitive. Comparisons give i32 for scalars, masks for vectors.
func (s *selector) do(p prim, h shape, args ...*inst) *inst {
	op := p[h.index()]
	if op == 0 {
		fail("no instruction for %d lanes of type %d", h.lanes, h.elem)
	}
	if comparisons[op] {
		return s.op(op, binary.I32, args...)
	}
	return s.op(op, h.typ(), args...)
}

// constant is a constant in every lane, given as the bits of one.
func (s *selector) constant(h shape, bits uint64) *inst {
	n := inst{what: isConst, typ: h.typ()}
	switch {
	case h.lanes == 1:
		n.imm[0] = bits
	case h.elem&1 == 1:
		n.imm = [2]uint64{bits, bits}
	default:
		w := uint64(uint32(bits))<<32 | uint64(uint32(bits))
		n.imm = [2]uint64{w, w}
	}
	return s.intern(n)
}

// int is an integer constant in the integer shape of h's width.
func (s *selector) int(h shape, v int64) *inst {
	if h.elem&1 == 0 {
		v = int64(uint32(v))
	}
	return s.constant(h.ints(), uint64(v))
}

// float is a float constant in the float shape of h's width.
func (s *selector) float(h shape, v float64) *inst {
	if h.elem&1 == 1 {
		return s.constant(h.floats(), math.Float64bits(v))
	}
	return s.constant(h.floats(), uint64(math.Float32bits(float32(v))))
}

// toInts reinterprets floats as integers, toFloats integers as floats.
func (s *selector) toInts(h shape, v *inst) *inst {
	switch {
	case h.lanes > 1:
		return v
	case h.elem&1 == 1:
		return s.op(binary.I64ReinterpretF64, binary.I64, v)
	}
	return s.op(binary.I32ReinterpretF32, binary.I32, v)
}

func (s *selector) toFloats(h shape, v *inst) *inst {
	switch {
	case h.lanes > 1:
		return v
	case h.elem&1 == 1:
		return s.op(binary.F64ReinterpretI64, binary.F64, v)
	}
	return s.op(binary.F32ReinterpretI32, binary.F32, v)
}

// choose is a where cond, else b.
func (s *selector) choose(h shape, cond, a, b *inst) *inst {
	if h.lanes > 1 {
		return s.op(binary.V128Bitselect, binary.V128, a, b, cond)
	}
	return s.op(binary.Select, h.typ(), a, b, cond)
}

// extract is a lane of a vector.
func (s *selector) extract(h shape, v *inst, lane int) *inst {
	return s.lane(pExtract[h.index()], h.one().typ(), lane, v)
}

// replace is a vector with another lane.
func (s *selector) replace(h shape, v *inst, lane int, x *inst) *inst {
	return s.lane(pReplace[h.index()], binary.V128, lane, v, x)
}

// shift shifts every lane of an integer shape by a constant.
func (s *selector) shift(p prim, h shape, v *inst, by int64) *inst {
	if h.lanes == 1 && h.elem&1 == 1 {
		return s.do(p, h.ints(), v, s.int(shape{e64, 1}, by))
	}
	if p == pShl && h.lanes > 1 && h.elem&1 == 0 {
		return s.do(pMul, h.ints(), v, s.int(h.ints(), 1<<by)) // wazero moves the shift count into a vector each time
	}
	return s.do(p, h.ints(), v, s.i32(by))
}

// addLoopVar makes a local that a loop updates.
func (s *selector) addLoopVar(b *ir.Block, init *inst) *variable {
	v := &variable{init: init}
	v.v = s.add(&inst{what: isPhi, typ: init.typ, home: b})
	s.vars[b] = append(s.vars[b], v)
	return v
}
