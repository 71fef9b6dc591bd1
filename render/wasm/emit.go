package wasm

import (
	"encoding/binary"
	"math"

	"polygrad/core/nest/ir"
	wb "polygrad/render/wasm/binary"
)

// emitter writes scheduled code.
type emitter struct {
	*wb.Code
	s *selector
	// touched are the pointers whose farthest access the current block has checked.
	touched map[touch]bool
	locals  map[*inst]uint32
	tmp     int64
}

type touch struct {
	b   *ir.Block
	ptr *inst
}

func (e *emitter) local(n *inst) uint32 {
	l, ok := e.locals[n]
	if !ok {
		l = e.Local(n.typ)
		e.locals[n] = l
	}
	return l
}

func (e *emitter) code(c *code) {
	for i := 0; i < len(c.steps); i++ {
		st := c.steps[i]
		switch {
		case st.inst != nil:
			e.compute(st.inst)
			e.Set(e.local(st.inst))
		case st.loop != nil:
			e.loop(st.loop)
		case st.write.gate == nil:
			e.write(st.write)
		default:
			gate := st.write.gate
			e.push(gate)
			e.If(wb.Empty)
			e.write(st.write)
			for i+1 < len(c.steps) && c.steps[i+1].write != nil && c.steps[i+1].write.gate == gate {
				i++
				e.write(c.steps[i].write)
			}
			e.End()
		}
	}
}

func (e *emitter) loop(l *loopCode) {
	for _, v := range l.vars {
		e.push(v.init)
		e.Set(e.local(v.v))
	}
	if !l.sure {
		e.push(l.count)
		e.zeroOf(l.count.typ)
		e.Op(map[wb.ValType]wb.Op{wb.I32: wb.I32GtS, wb.I64: wb.I64GtS}[l.count.typ])
		e.If(wb.Empty)
	}
	// The exit is the conditional branch: wazero compiles that better than a
	// conditional branch back to a loop that has variables.
	e.Block(wb.Empty)
	e.Loop(wb.Empty)
	e.code(l.body)
	for _, v := range l.vars {
		e.push(v.next)
	}
	for i := len(l.vars) - 1; i >= 0; i-- {
		e.Set(e.local(l.vars[i].v))
	}
	e.Get(e.local(l.counter))
	e.push(l.count)
	e.Op(map[wb.ValType]wb.Op{wb.I32: wb.I32GeS, wb.I64: wb.I64GeS}[l.count.typ])
	e.BrIf(1)
	e.Br(0)
	e.End()
	e.End()
	if !l.sure {
		e.End()
	}
}

func (e *emitter) zeroOf(t wb.ValType) {
	if t == wb.I64 {
		e.I64(0)
	} else {
		e.I32(0)
	}
}

// push leaves the value of an inst on the stack.
func (e *emitter) push(n *inst) {
	switch {
	case n.what == isFinal:
		e.Get(e.local(n.args[0]))
	case n.what == isPhi || n.state == scheduled:
		e.Get(e.local(n))
	default:
		e.compute(n)
	}
}

func (e *emitter) compute(n *inst) {
	switch n.what {
	case isConst:
		e.constant(n)
	case isParam:
		e.Get(uint32(n.imm[0]))
	case isLoad:
		e.touch(n.args[0], n.mem)
		e.push(n.args[0])
		e.checked(n.mem, int64(n.imm[0]))
		if len(n.args) == 1 {
			e.Mem(n.op, uint32(n.imm[0]))
			return
		}
		e.push(n.args[1])
		e.MemLane(n.op, uint32(n.imm[0]), byte(n.imm[1]))
	case isLane:
		e.operands(n)
		e.Lane(n.op, byte(n.imm[0]))
	case isShuffl:
		e.operands(n)
		var lanes [16]byte
		binary.LittleEndian.PutUint64(lanes[:8], n.imm[0])
		binary.LittleEndian.PutUint64(lanes[8:], n.imm[1])
		e.Shuffle(lanes)
	default:
		if (n.op == wb.F32x4Mul || n.op == wb.F64x2Mul) && n.args[1].uses < n.args[0].uses {
			// The product takes the register of the first factor, unless that is used again.
			e.push(n.args[1])
			e.push(n.args[0])
		} else {
			e.operands(n)
		}
		e.Op(n.op)
	}
}

// operands pushes the arguments. On many processors the result overwrites the register of the first one: a commutative operation starts with an
// argument that has no other use.
func (e *emitter) operands(n *inst) {
	if commutes[n.op] && n.args[0].uses > 1 && n.args[0].what != isPhi && n.args[1].uses == 1 {
		e.push(n.args[1])
		e.push(n.args[0])
		return
	}
	for _, a := range n.args {
		e.push(a)
	}
}

func (e *emitter) constant(n *inst) {
	switch n.typ {
	case wb.I32:
		e.I32(int32(n.imm[0]))
	case wb.I64:
		e.I64(int64(n.imm[0]))
	case wb.F32:
		e.F32(math.Float32frombits(uint32(n.imm[0])))
	case wb.F64:
		e.F64(math.Float64frombits(n.imm[0]))
	default:
		e.V128(n.imm[0], n.imm[1])
	}
}

func (e *emitter) write(w *write) {
	e.touch(w.ptr, w.mem)
	e.push(w.ptr)
	e.checked(w.mem, w.off)
	e.push(w.val)
	if w.lane >= 0 {
		e.MemLane(w.op, uint32(w.off), byte(w.lane))
	} else {
		e.Mem(w.op, uint32(w.off))
	}
}

// touch reads the farthest byte that a block needs behind a pointer before its
// first access there. wazero checks each access against the memory's size but
// leaves out checks that an earlier one implies; the value itself is not used
// and costs nothing.
func (e *emitter) touch(ptr *inst, m *access) {
	key := touch{m.home, ptr}
	if m.guarded || e.touched[key] {
		return
	}
	end := m.end
	for _, o := range ptr.through {
		if o.home == m.home {
			end = max(end, o.end)
		}
	}
	if e.touched == nil {
		e.touched = map[touch]bool{}
	}
	e.touched[key] = true
	if end > m.end {
		e.push(ptr)
		e.Mem(wb.I32Load8U, uint32(end-1))
		e.Op(wb.Drop)
	}
}

// checked compares the address on the stack with the bounds of its buffer and
// traps outside of them, if that was asked for.
func (e *emitter) checked(m *access, off int64) {
	if !e.s.check || m.buf.Size < 0 {
		return
	}
	if e.tmp < 0 {
		e.tmp = int64(e.Local(wb.I32))
	}
	last := m.buf.Size*m.buf.Kind.Size() - m.bytes
	e.Tee(uint32(e.tmp))
	e.I32(int32(off)) // before the comparison: the pointer alone may lie outside of the buffer
	e.Op(wb.I32Add)
	// The beginning of a buffer in scratch memory may be a value of a block that has not run: add its offset here.
	if m.buf.Param >= 0 {
		e.push(e.s.param(m.buf.Param, wb.I32))
	} else {
		e.push(e.s.param(e.s.k.scratchParam(), wb.I32))
		e.I32(int32(m.buf.Offset))
		e.Op(wb.I32Add)
	}
	e.Op(wb.I32Sub)
	e.I32(int32(max(last, 0)))
	e.Op(wb.I32GtU)
	if last < 0 {
		e.Op(wb.Drop)
		e.I32(1)
	}
	if m.spare != nil {
		e.Get(uint32(e.tmp))
		e.push(m.spare)
		e.Op(wb.I32Ne)
		e.Op(wb.I32And)
	}
	e.If(wb.Empty)
	e.Op(wb.Unreachable)
	e.End()
	e.Get(uint32(e.tmp))
}
