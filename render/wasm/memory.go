package wasm

import (
	"cmp"
	"math/bits"
	"slices"

	"polygrad/core/uop"
	"polygrad/render/wasm/binary"
)

// access is what is known about a load or store: where it is made and which
// bytes behind its pointer it needs.
type access struct {
	home    *block
	place   *place
	lanes   int64
	end     int64 // offset of the first byte behind it
	pos     int   // not 0: keeps its place among the stores of its block
	guarded bool  // may not happen
	buf     *buffer
}

type ptrKey struct {
	g    *group
	base int64
}

// chunk is the span of bytes that one pointer serves by constant offsets. It
// must not exceed the slack that the runtime leaves below buffers.
const chunk = 1 << 15

// findLowest notes the lowest offset of each group, where its first pointer points.
func (s *selector) findLowest(places []*place) {
	for _, p := range places {
		if lo, ok := s.lowest[p.group]; !ok || p.off < lo {
			s.lowest[p.group] = p.off
		}
	}
}

// locate is the pointer for a place and the offset from it in bytes.
func (s *selector) locate(p *place, guarded bool) (*inst, int64) {
	size := p.buf.kind.Size()
	if guarded {
		return s.pointer(ptrKey{p.group, p.off}), 0
	}
	lo := s.lowest[p.group]
	base := lo + (p.off-lo)*size/chunk*chunk/size
	return s.pointer(ptrKey{p.group, base}), (p.off - base) * size
}

func (s *selector) bufferBase(b *buffer) *inst {
	if b.param >= 0 {
		return s.intern(inst{what: isParam, typ: binary.I32, imm: [2]uint64{uint64(b.param)}})
	}
	n := s.intern(inst{what: isParam, typ: binary.I32, imm: [2]uint64{uint64(s.k.scratchParam())}})
	return s.plus(n, b.offset)
}

// plus adds a constant to an address.
func (s *selector) plus(a *inst, c int64) *inst {
	if uint32(c) == 0 {
		return a
	}
	return s.op(binary.I32Add, binary.I32, a, s.i32(c))
}

// pointer computes an address from the outermost terms inwards, so that each
// part is computed in the outermost loop that it can be. A term that is the
// iterator of a loop becomes a pointer that moves with the loop.
func (s *selector) pointer(k ptrKey) *inst {
	if p := s.ptrs[k]; p != nil {
		return p
	}
	size := k.g.buf.kind.Size()
	addr := s.plus(s.bufferBase(k.g.buf), k.base*size)
	terms := slices.Clone(k.g.terms)
	slices.SortStableFunc(terms, func(a, b term) int { return cmp.Compare(a.v.home.depth, b.v.home.depth) })
	for i, t := range terms {
		step := t.coef * size
		alone := i+1 == len(terms) || terms[i+1].v.home.depth > t.v.home.depth
		if t.v.op == uop.Range && alone {
			v := s.addLoopVar(t.v.home, addr)
			v.next = s.plus(v.v, step)
			addr = v.v
			continue
		}
		n := s.value(t.v)
		if t.v.kind.Wide() {
			n = s.op(binary.I32WrapI64, binary.I32, n)
		}
		addr = s.op(binary.I32Add, binary.I32, addr, s.scaled(n, step))
	}
	s.ptrs[k] = addr
	return addr
}

func (s *selector) scaled(n *inst, by int64) *inst {
	switch u := uint64(by); {
	case by == 1:
		return n
	case by > 0 && u&(u-1) == 0:
		return s.op(binary.I32Shl, binary.I32, n, s.i32(int64(bits.TrailingZeros64(u))))
	}
	return s.op(binary.I32Mul, binary.I32, n, s.i32(by))
}

// load makes the insts of a LOAD. A gated load reads the start of its buffer,
// which is always there, where the gate is shut, and gives the alternative.
func (s *selector) load(v *value) *inst {
	guarded := v.at.gate != nil
	ptr, off := s.locate(v.at, guarded)
	n := &inst{what: isLoad, args: []*inst{ptr}, imm: [2]uint64{uint64(off)}}
	n.mem = &access{home: v.home, place: v.at, lanes: int64(v.lanes), end: off + v.kind.Size()*int64(v.lanes), pos: v.at.pos, buf: v.at.buf}
	var gate *inst
	if guarded {
		gate = s.value(v.args[0])
		n.args[0] = s.op(binary.Select, binary.I32, ptr, s.bufferBase(v.at.buf), gate)
	} else {
		ptr.through = append(ptr.through, n.mem)
	}
	n.home = v.home
	out := s.widen(n, v.kind, v.lanes)
	if guarded {
		return s.op(binary.Select, out.typ, out, s.value(v.args[1]), gate)
	}
	return out
}

var loadOps = [...]binary.Op{
	kBool: binary.I32Load8U, kI8: binary.I32Load8S, kU8: binary.I32Load8U, kI16: binary.I32Load16S, kU16: binary.I32Load16U,
	kI32: binary.I32Load, kU32: binary.I32Load, kI64: binary.I64Load, kU64: binary.I64Load, kE4M3: binary.I32Load8U,
	kE5M2: binary.I32Load8U, kF16: binary.I32Load16U, kBF16: binary.I32Load16U, kF32: binary.F32Load, kF64: binary.F64Load,
}

var storeOps = [...]binary.Op{
	kBool: binary.I32Store8, kI8: binary.I32Store8, kU8: binary.I32Store8, kI16: binary.I32Store16, kU16: binary.I32Store16,
	kI32: binary.I32Store, kU32: binary.I32Store, kI64: binary.I64Store, kU64: binary.I64Store, kE4M3: binary.I32Store8,
	kE5M2: binary.I32Store8, kF16: binary.I32Store16, kBF16: binary.I32Store16, kF32: binary.F32Store, kF64: binary.F64Store,
}

// widen completes a load with its instruction and brings the bits into the
// form that a register of the kind has.
func (s *selector) widen(n *inst, k kind, lanes uint8) *inst {
	fix := func(op binary.Op, t binary.ValType) *inst {
		n.op, n.typ = op, t
		if n.mem.pos > 0 {
			return s.add(n)
		}
		return s.intern(*n)
	}
	if lanes == 1 {
		t := typeOf(k)
		if k.Float() && k.Size() < 4 {
			return s.decode(k, 1, fix(loadOps[k], binary.I32))
		}
		return fix(loadOps[k], t)
	}
	switch k.Size() {
	case 1:
		v := fix(binary.V128Load32Zero, binary.V128)
		h := shapeFor(k, lanes)
		if k == kI8 {
			v = s.op(binary.I16x8ExtendLowS, binary.V128, v)
			return s.op(binary.I32x4ExtendLowS, binary.V128, v)
		}
		v = s.op(binary.I16x8ExtendLowU, binary.V128, v)
		v = s.op(binary.I32x4ExtendLowU, binary.V128, v)
		if k == kBool {
			return s.do(pNeg, h, v)
		}
		if k.Float() {
			return s.decode(k, lanes, v)
		}
		return v
	case 2:
		if k == kI16 {
			return fix(binary.V128Load16x4S, binary.V128)
		}
		v := fix(binary.V128Load16x4U, binary.V128)
		if k.Float() {
			return s.decode(k, lanes, v)
		}
		return v
	}
	return fix(binary.V128Load, binary.V128)
}

// write is a store ready to be emitted.
type write struct {
	ptr, val, gate *inst
	op             binary.Op
	lane           bool // op stores lane 0
	off            int64
	mem            *access
}

func (s *selector) store(st *store, b *block) *write {
	v := st.val
	ptr, off := s.locate(st.at, st.gate != nil)
	w := &write{ptr: ptr, off: off}
	w.mem = &access{home: b, place: st.at, lanes: int64(v.lanes), end: off + v.kind.Size()*int64(v.lanes), pos: st.pos, guarded: st.gate != nil, buf: st.at.buf}
	if st.gate != nil {
		w.gate = s.value(st.gate)
	} else {
		ptr.through = append(ptr.through, w.mem)
	}
	w.val = s.value(v)
	if v.kind.Float() && v.kind.Size() < 4 {
		w.val = s.encode(v.kind, v.lanes, w.val)
	}
	if v.lanes == 1 {
		w.op = storeOps[v.kind]
		return w
	}
	w.op = binary.V128Store
	if v.kind == kBool {
		w.val = s.do(pAnd, shapeFor(kBool, v.lanes), w.val, s.int(shapeFor(kBool, v.lanes), 1))
	}
	if v.kind.Size() <= 2 {
		op := binary.I16x8NarrowI32x4U
		if v.kind.Signed() {
			op = binary.I16x8NarrowI32x4S
		}
		w.val = s.op(op, binary.V128, w.val, w.val)
		w.op, w.lane = binary.V128Store64Lane, true
	}
	if v.kind.Size() == 1 {
		op := binary.I8x16NarrowI16x8U
		if v.kind.Signed() {
			op = binary.I8x16NarrowI16x8S
		}
		w.val = s.op(op, binary.V128, w.val, w.val)
		w.op = binary.V128Store32Lane
	}
	return w
}
