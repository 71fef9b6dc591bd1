package wasm

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"polygrad/core/nest/ir"
	wb "polygrad/render/wasm/binary"
)

// group is the variable part of an address: a parameter or the scratch memory, plus terms. Places of a group differ by constants
// only.
type group struct {
	id    int32
	buf   *ir.Buffer // of scratch memory the first one: elements count from its start
	terms []ir.Term
	// lowest is the lowest element that is certainly accessed; without one, the lowest element.
	lowest int64
	begun  bool
	sure   bool
}

// access describes a load or store: the block that it is in, and the bytes behind its pointer that it needs.
type access struct {
	home    *ir.Block
	buf     *ir.Buffer
	bytes   int64
	end     int64 // offset of the first byte behind it
	guarded bool  // conditional, or its pointer is not shared
	spare   *inst // what it reads where its gate is closed, nil for the beginning of its buffer
}

type ptrKey struct {
	g    *group
	base int64
}

// chunk is the span of bytes that one pointer serves by constant offsets. It must not exceed the slack that the
// runtime leaves below buffers: the first access of a pointer may be in a loop that runs zero times.
const chunk = 1 << 15

// scratchChunk is the span of a pointer into scratch memory, all of which belongs to the kernel: buffers that are read in step, such as
// the packs of the products of one sum, share one pointer.
const scratchChunk = 1 << 20

// trip is the number of iterations of a loop, -1 if it is not known.
func trip(l *ir.Loop) int64 {
	if l.Count.Op == ir.Const && int64(l.Count.Bits) > 0 {
		return int64(l.Count.Bits)
	}
	return -1
}

// home is the block that the code of a block is placed in: the enclosing block if it is the body of a loop that runs once.
func (s *selector) home(b *ir.Block) *ir.Block {
	for b.Loop != nil && trip(b.Loop) == 1 {
		b = b.Parent
	}
	return b
}

// once reports whether a term is the iterator of a loop that runs once: it is 0.
func once(t ir.Term) bool { return t.V.Op == ir.Iter && trip(t.V.Loop) == 1 }

// group is the group of a place.
func (s *selector) group(at *ir.Place) *group {
	id := int64(at.Buf.ID)
	if at.Buf.Param < 0 {
		id = -at.Buf.Kind.Size()
	}
	key := binary.AppendVarint(s.key[:0], id)
	for _, t := range at.Terms {
		if !once(t) {
			key = binary.AppendVarint(key, int64(t.V.ID))
			key = binary.AppendVarint(key, t.Coef)
		}
	}
	s.key = key
	g := s.groups[string(key)]
	if g == nil {
		g = &group{id: int32(len(s.groups) + 1), buf: at.Buf, terms: slices.DeleteFunc(slices.Clone(at.Terms), once)}
		slices.SortStableFunc(g.terms, func(a, b ir.Term) int { return cmp.Compare(a.V.Block.Depth, b.V.Block.Depth) })
		s.groups[string(key)] = g
	}
	return g
}

// element is the number of the first element of a place in its group.
func (g *group) element(at *ir.Place) int64 {
	if g.buf == at.Buf {
		return at.Off
	}
	return at.Off + (at.Buf.Offset-g.buf.Offset)/g.buf.Kind.Size()
}

// findGroups notes the lowest offset of each group, where its first pointer points.
func (s *selector) findGroups(k *ir.Kernel) {
	s.groupsOf(k.Root)
}

func (s *selector) groupsOf(b *ir.Block) {
	for _, it := range b.Items {
		switch {
		case it.Store != nil:
			s.groupOf(it.Store.At, it.Store.Val.Lanes)
			s.groupsIn(it.Store.Val)
		case it.Load != nil:
			s.groupsIn(it.Load)
		case it.Loop != nil:
			s.groupsIn(it.Loop.Count)
			for _, p := range it.Loop.Phis {
				s.groupsIn(p.Init)
				s.groupsIn(p.Next)
			}
			s.groupsOf(it.Loop.Body)
		}
	}
}

func (s *selector) groupsIn(v *ir.Value) {
	st := s.of(v)
	if st.seen {
		return
	}
	st.seen = true
	for _, a := range v.Args {
		s.groupsIn(a)
	}
	if v.At != nil {
		s.groupOf(v.At, v.Lanes)
	}
}

func (s *selector) groupOf(at *ir.Place, lanes int) {
	for _, t := range at.Terms {
		s.groupsIn(t.V)
	}
	if at.Index != nil {
		s.groupsIn(at.Index)
	}
	if at.Gate != nil {
		s.groupsIn(at.Gate)
	}
	g := s.group(at)
	lowest := g.element(at) + min(0, at.Stride*int64(lanes-1))
	sure := at.Gate == nil && at.Index == nil
	if !g.begun || sure && !g.sure || sure == g.sure && lowest < g.lowest {
		g.begun, g.sure, g.lowest = true, sure, lowest
	}
}

// locate is the pointer for an element of a group and the offset from it in bytes.
func (s *selector) locate(g *group, element int64) (*inst, int64) {
	size := g.buf.Kind.Size()
	base, span := g.lowest, int64(chunk)
	if g.buf.Param < 0 {
		span = scratchChunk
	}
	if element >= base {
		base += (element - base) * size / span * span / size
	}
	return s.pointer(ptrKey{g, base}), (element - base) * size
}

func (s *selector) bufferBase(b *ir.Buffer) *inst {
	if b.Param >= 0 {
		return s.param(b.Param, wb.I32)
	}
	return s.plus(s.param(s.k.scratchParam(), wb.I32), b.Offset)
}

// spare is the address that masked-out loads read.
func (s *selector) spare() *inst {
	if s.spareAt < 0 {
		s.spareAt = s.k.Scratch
		s.k.Scratch += spareSize
	}
	return s.plus(s.param(s.k.scratchParam(), wb.I32), s.spareAt)
}

// plus adds a constant to an address.
func (s *selector) plus(a *inst, c int64) *inst {
	if uint32(c) == 0 {
		return a
	}
	return s.op(wb.I32Add, wb.I32, a, s.i32(c))
}

// pointer computes an address from the outermost terms inwards, so that each part is computed in the outermost possible loop. A term in
// the iterator of a loop becomes a pointer that advances with the loop.
func (s *selector) pointer(k ptrKey) *inst {
	if p := s.ptrs[k]; p != nil {
		return p
	}
	size := k.g.buf.Kind.Size()
	addr := s.plus(s.bufferBase(k.g.buf), k.base*size)
	for i, t := range k.g.terms {
		step := t.Coef * size
		alone := i+1 == len(k.g.terms) || k.g.terms[i+1].V.Block.Depth > t.V.Block.Depth
		if t.V.Op == ir.Iter && alone {
			v := s.addLoopVar(t.V.Block, addr)
			v.next = s.plus(v.v, step)
			addr = v.v
			continue
		}
		addr = s.op(wb.I32Add, wb.I32, addr, s.scaled(s.low(s.value(t.V), lowDepth), step))
	}
	s.ptrs[k] = addr
	return addr
}

// lowDepth is the limit of operations that low recomputes.
const lowDepth = 6

// lowOps are the 64-bit operations whose low 32 bits depend on the low 32 bits of their arguments only.
var lowOps = map[wb.Op]wb.Op{wb.I64Add: wb.I32Add, wb.I64Sub: wb.I32Sub, wb.I64Mul: wb.I32Mul, wb.I64And: wb.I32And, wb.I64Or: wb.I32Or, wb.I64Xor: wb.I32Xor}

// low is the low 32 bits of an integer.
func (s *selector) low(n *inst, depth int) *inst {
	if n.typ == wb.I32 {
		return n
	}
	switch op := lowOps[n.op]; {
	case n.what == isConst:
		return s.i32(int64(n.imm[0]))
	case n.what != isOp || depth == 0:
	case n.op == wb.I64ExtendI32S || n.op == wb.I64ExtendI32U:
		return n.args[0]
	case op != 0:
		return s.op(op, wb.I32, s.low(n.args[0], depth-1), s.low(n.args[1], depth-1))
	case n.op == wb.I64Shl && n.args[1].what == isConst && n.args[1].imm[0] < 32:
		return s.op(wb.I32Shl, wb.I32, s.low(n.args[0], depth-1), s.i32(int64(n.args[1].imm[0])))
	}
	return s.op(wb.I32WrapI64, wb.I32, n)
}

func (s *selector) scaled(n *inst, by int64) *inst {
	switch u := uint64(by); {
	case by == 1:
		return n
	case by > 0 && u&(u-1) == 0:
		return s.op(wb.I32Shl, wb.I32, n, s.i32(int64(bits.TrailingZeros64(u))))
	}
	return s.op(wb.I32Mul, wb.I32, n, s.i32(by))
}

// elements returns an access to contiguous elements of a place, at an offset in elements, with a gate or none. A load whose gate is
// closed reads the start of its buffer, or the spare area.
func (s *selector) elements(at *ir.Place, from, n int64, home *ir.Block, gate *inst, load bool) (ptr *inst, off int64, m *access) {
	k := at.Buf.Kind
	g := s.group(at)
	ptr, off = s.locate(g, g.element(at)+from)
	m = &access{home: home, buf: at.Buf, bytes: n * k.Size()}
	if gate == nil {
		m.end = off + m.bytes
		ptr.through = append(ptr.through, m)
		return ptr, off, m
	}
	m.guarded = true
	ptr = s.plus(ptr, off)
	if load {
		ptr = s.guarded(ptr, gate, m)
	}
	return ptr, 0, m
}

// guarded is an address if a gate is open, else a readable address.
func (s *selector) guarded(ptr, gate *inst, m *access) *inst {
	safe := s.bufferBase(m.buf)
	if size := m.buf.Kind.Size(); m.bytes > size && m.buf.Size*size < m.bytes {
		m.spare = s.spare()
		safe = m.spare
	}
	return s.op(wb.Select, wb.I32, ptr, safe, gate)
}

// laneOf is the access to one lane of a place.
func (s *selector) laneOf(at *ir.Place, i int, home *ir.Block, gate *inst, load bool) (ptr *inst, off int64, m *access) {
	if at.Index == nil {
		return s.elements(at, int64(i)*at.Stride, 1, home, gate, load)
	}
	size := at.Buf.Kind.Size()
	g := s.group(at)
	ptr, off = s.locate(g, g.element(at))
	h := shapeOf(at.Index.Kind, at.Index.Lanes)
	index := s.low(s.extract(h, s.value(at.Index), i), lowDepth)
	ptr = s.op(wb.I32Add, wb.I32, s.plus(ptr, off), s.scaled(index, size))
	m = &access{home: home, buf: at.Buf, bytes: size, guarded: true}
	if gate != nil && load {
		ptr = s.guarded(ptr, gate, m)
	}
	return ptr, 0, m
}

// laneGate is the gate of a lane, nil if there is none.
func (s *selector) laneGate(at *ir.Place, lanes, i int) *inst {
	switch {
	case at.Gate == nil:
		return nil
	case at.Gate.Lanes == 1:
		return s.value(at.Gate)
	}
	w := s.width(at.Gate)
	return s.low(s.extract(boolShape(lanes, w), s.form(at.Gate, w), i), lowDepth)
}

// load makes the insts of a load. Equal loads are one value unless memory changes between them.
func (s *selector) load(v *ir.Value) *inst {
	at := v.At
	k := at.Buf.Kind
	if k.Float() && k.Size() < 4 {
		fail("a load of %v", k)
	}
	switch {
	case v.Lanes == 1, at.Index == nil && at.Stride == 1 && (at.Gate == nil || at.Gate.Lanes == 1):
		var gate *inst
		if at.Gate != nil {
			gate = s.value(at.Gate)
		}
		ptr, off, m := s.elements(at, 0, int64(v.Lanes), s.home(v.Block), gate, true)
		out := s.neighbours(k, v.Lanes, &inst{what: isLoad, args: []*inst{ptr}, imm: [2]uint64{uint64(off)}, home: m.home, mem: m})
		if gate == nil {
			return out
		}
		return s.op(wb.Select, out.typ, out, s.form(v.Args[0], s.formOf(v)), gate)
	case at.Index == nil && at.Stride == 0 && at.Gate == nil:
		ptr, off, m := s.elements(at, 0, 1, s.home(v.Block), nil, true)
		x := s.neighbours(k, 1, &inst{what: isLoad, args: []*inst{ptr}, imm: [2]uint64{uint64(off)}, home: m.home, mem: m})
		return s.splat(v, x, true)
	case at.Index == nil && at.Gate == nil && k != ir.Bool && k.Width()*int64(v.Lanes) == 16:
		switch at.Stride {
		case -1:
			return s.loadReversed(v)
		case 2, -2:
			return s.loadPairs(v)
		}
	}
	return s.loadLanes(v)
}

// part loads a vector of contiguous elements, from an offset on.
func (s *selector) part(v *ir.Value, from int64) *inst {
	ptr, off, m := s.elements(v.At, from, int64(v.Lanes), s.home(v.Block), nil, true)
	return s.neighbours(v.At.Buf.Kind, v.Lanes, &inst{what: isLoad, args: []*inst{ptr}, imm: [2]uint64{uint64(off)}, home: m.home, mem: m})
}

// loadReversed loads contiguous elements in reverse order of lanes.
func (s *selector) loadReversed(v *ir.Value) *inst {
	x := s.part(v, int64(1-v.Lanes))
	return s.shuffle(x, x, v.Lanes, map[int][]int{2: {1, 0}, 4: {3, 2, 1, 0}}[v.Lanes]...)
}

// loadPairs loads every second element, in reverse order if the stride is negative: two vectors, the second of which ends at the last element needed.
func (s *selector) loadPairs(v *ir.Value) *inst {
	n := v.Lanes
	lanes := map[int][]int{2: {0, 3}, 4: {0, 2, 5, 7}}[n]
	first := int64(0)
	if v.At.Stride < 0 {
		first = v.At.Stride * int64(n-1)
		slices.Reverse(lanes)
	}
	return s.shuffle(s.part(v, first), s.part(v, first+int64(n-1)), n, lanes...)
}

// loadLanes loads a vector lane by lane.
func (s *selector) loadLanes(v *ir.Value) *inst {
	at := v.At
	k := at.Buf.Kind
	h := shapeOf(k, v.Lanes)
	var out *inst
	for i := range v.Lanes {
		ptr, off, m := s.laneOf(at, i, s.home(v.Block), s.laneGate(at, v.Lanes, i), true)
		n := &inst{what: isLoad, args: []*inst{ptr}, imm: [2]uint64{uint64(off), uint64(i)}, home: m.home, mem: m}
		switch {
		case k.Size() < 4 || k == ir.Bool:
			x := s.neighbours(k, 1, n)
			if out == nil {
				out = s.op(pSplat[h.index()], wb.V128, x)
			} else {
				out = s.replace(h, out, i, x)
			}
		case out == nil:
			n.op, n.typ = sized(h, wb.V128Load32Zero, wb.V128Load64Zero), wb.V128
			out = s.add(n)
		default:
			n.op, n.typ = sized(h, wb.V128Load32Lane, wb.V128Load64Lane), wb.V128
			n.args = append(n.args, out)
			out = s.add(n)
		}
	}
	if k == ir.Bool {
		out = s.do(pNeg, h, out)
	}
	if at.Gate == nil {
		return out
	}
	return s.choose(h, s.mask(at.Gate, v.Lanes, h.width()), out, s.form(v.Args[0], s.formOf(v)))
}

// sized is an operation for lanes of 4 bytes, or of 8.
func sized(h shape, narrow, wide wb.Op) wb.Op {
	if h.width() == 8 {
		return wide
	}
	return narrow
}

var loadOps = [...]wb.Op{
	ir.Bool: wb.I32Load8U, ir.I8: wb.I32Load8S, ir.U8: wb.I32Load8U, ir.I16: wb.I32Load16S, ir.U16: wb.I32Load16U,
	ir.I32: wb.I32Load, ir.U32: wb.I32Load, ir.I64: wb.I64Load, ir.U64: wb.I64Load, ir.F32: wb.F32Load, ir.F64: wb.F64Load,
}

var storeOps = [...]wb.Op{
	ir.Bool: wb.I32Store8, ir.I8: wb.I32Store8, ir.U8: wb.I32Store8, ir.I16: wb.I32Store16, ir.U16: wb.I32Store16,
	ir.I32: wb.I32Store, ir.U32: wb.I32Store, ir.I64: wb.I64Store, ir.U64: wb.I64Store, ir.F32: wb.F32Store, ir.F64: wb.F64Store,
}

// neighbours completes a contiguous load with its instruction and converts the elements to the register format of the kind.
func (s *selector) neighbours(k ir.Kind, lanes int, n *inst) *inst {
	with := func(op wb.Op, t wb.ValType) *inst {
		n.op, n.typ = op, t
		return s.add(n)
	}
	if lanes == 1 {
		return with(loadOps[k], shapeOf(k, 1).typ())
	}
	halves := [2]wb.Op{wb.I16x8ExtendLowU, wb.I32x4ExtendLowU}
	if k.Signed() {
		halves = [2]wb.Op{wb.I16x8ExtendLowS, wb.I32x4ExtendLowS}
	}
	switch bytes := int64(lanes) * k.Size(); {
	case bytes == 16:
		return with(wb.V128Load, wb.V128)
	case k.Size() >= 4:
		return with(wb.V128Load64Zero, wb.V128)
	case k == ir.I16 && lanes == 4:
		return with(wb.V128Load16x4S, wb.V128)
	case k == ir.U16 && lanes == 4:
		return with(wb.V128Load16x4U, wb.V128)
	case k.Size() == 2:
		return s.op(halves[1], wb.V128, with(wb.V128Load32Zero, wb.V128))
	}
	op := wb.V128Load32Zero
	if lanes == 2 {
		op = wb.V128Load16Splat
	}
	v := s.op(halves[1], wb.V128, s.op(halves[0], wb.V128, with(op, wb.V128)))
	if k == ir.Bool {
		return s.do(pNeg, shapeOf(k, lanes), v)
	}
	return v
}

// write is a store ready to be emitted.
type write struct {
	ptr, val, gate *inst
	op             wb.Op
	lane           int // that op stores, -1 if it does not store a lane
	off            int64
	mem            *access
}

// store is the writes of a store.
func (s *selector) store(st *ir.Store, b *ir.Block) []*write {
	at, v := st.At, st.Val
	k := at.Buf.Kind
	if k.Float() && k.Size() < 4 {
		fail("a store of %v", k)
	}
	val := s.form(v, min(s.formOf(v), 4))
	if v.Lanes > 1 && (at.Index != nil || at.Stride != 1 || at.Gate != nil && at.Gate.Lanes > 1) {
		return s.storeLanes(at, v, val, b)
	}
	w := &write{val: val, lane: -1}
	if at.Gate != nil {
		w.gate = s.value(at.Gate)
	}
	w.ptr, w.off, w.mem = s.elements(at, 0, int64(v.Lanes), b, w.gate, false)
	if v.Lanes == 1 {
		w.op = storeOps[k]
		return []*write{w}
	}
	h := shapeOf(k, v.Lanes)
	if k == ir.Bool {
		w.val = s.do(pAnd, h, w.val, s.int(h, 1))
	}
	if k.Size() <= 2 {
		op := wb.I16x8NarrowI32x4U
		if k.Signed() {
			op = wb.I16x8NarrowI32x4S
		}
		w.val = s.op(op, wb.V128, w.val, w.val)
	}
	if k.Size() == 1 {
		op := wb.I8x16NarrowI16x8U
		if k.Signed() {
			op = wb.I8x16NarrowI16x8S
		}
		w.val = s.op(op, wb.V128, w.val, w.val)
	}
	w.op = map[int64]wb.Op{2: wb.V128Store16Lane, 4: wb.V128Store32Lane, 8: wb.V128Store64Lane, 16: wb.V128Store}[w.mem.bytes]
	if w.mem.bytes < 16 {
		w.lane = 0
	}
	return []*write{w}
}

// storeLanes stores a vector lane by lane.
func (s *selector) storeLanes(at *ir.Place, v *ir.Value, val *inst, b *ir.Block) []*write {
	k := at.Buf.Kind
	h := shapeOf(k, v.Lanes)
	if k == ir.Bool {
		val = s.do(pAnd, h, val, s.int(h, 1))
	}
	var out []*write
	for i := range v.Lanes {
		w := &write{val: val, lane: -1, gate: s.laneGate(at, v.Lanes, i)}
		w.ptr, w.off, w.mem = s.laneOf(at, i, b, w.gate, false)
		if k.Size() < 4 {
			w.op, w.val = storeOps[k], s.extract(h, val, i)
		} else {
			w.op, w.lane = sized(h, wb.V128Store32Lane, wb.V128Store64Lane), i
		}
		out = append(out, w)
	}
	return out
}
