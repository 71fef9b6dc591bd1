package binary

import (
	"encoding/binary"
	"fmt"
	"math"
)

// ValType is the type of a value, or of a block that leaves one.
type ValType byte

// Value types. Empty is the type of a block without result.
const (
	I32   ValType = 0x7F
	I64   ValType = 0x7E
	F32   ValType = 0x7D
	F64   ValType = 0x7C
	V128  ValType = 0x7B
	Empty ValType = 0x40
)

// Code is the body of one function under construction. Its methods append
// instructions; it does not check types: the engine that compiles the module does.
type Code struct {
	params []ValType
	locals []ValType
	buf    []byte
	depth  int
}

// NewCode starts a body; its first locals are the parameters.
func NewCode(params ...ValType) *Code { return &Code{params: params} }

// Local adds a local variable and returns its index.
func (c *Code) Local(t ValType) uint32 {
	c.locals = append(c.locals, t)
	return uint32(len(c.params) + len(c.locals) - 1)
}

// Op appends an instruction without immediates.
func (c *Code) Op(op Op) {
	prefix, number := op>>8, op&0xFF
	switch {
	case prefix == 0:
		c.buf = append(c.buf, byte(op))
		return
	case prefix > 0xFF:
		prefix, number = op>>16, op&0xFFFF
	}
	c.buf = append(c.buf, byte(prefix))
	c.buf = appendUnsigned(c.buf, uint64(number))
}

func (c *Code) op1(op Op, v uint32) {
	c.Op(op)
	c.buf = appendUnsigned(c.buf, uint64(v))
}

// Get pushes a local.
func (c *Code) Get(local uint32) { c.op1(localGet, local) }

// Set pops into a local.
func (c *Code) Set(local uint32) { c.op1(localSet, local) }

// Tee stores into a local and keeps the value.
func (c *Code) Tee(local uint32) { c.op1(localTee, local) }

// Call calls a function by index.
func (c *Code) Call(fn uint32) { c.op1(call, fn) }

// MemoryCopy pops a target address, a source address and a number of bytes, and copies.
func (c *Code) MemoryCopy() {
	c.Op(memoryCopy)
	c.buf = append(c.buf, 0, 0) // both in memory 0
}

// Mem appends a load or store with a constant offset.
func (c *Code) Mem(op Op, offset uint32) {
	c.Op(op)
	c.buf = append(c.buf, 0) // alignment is a hint; buffers promise none
	c.buf = appendUnsigned(c.buf, uint64(offset))
}

// MemLane appends a load or store of one lane.
func (c *Code) MemLane(op Op, offset uint32, lane byte) {
	c.Mem(op, offset)
	c.buf = append(c.buf, lane)
}

// Lane appends an instruction that names a lane.
func (c *Code) Lane(op Op, lane byte) {
	c.Op(op)
	c.buf = append(c.buf, lane)
}

// Shuffle appends i8x16.shuffle.
func (c *Code) Shuffle(lanes [16]byte) {
	c.Op(i8x16Shuffle)
	c.buf = append(c.buf, lanes[:]...)
}

// I32 pushes a constant.
func (c *Code) I32(v int32) {
	c.Op(i32Const)
	c.buf = appendSigned(c.buf, int64(v))
}

// I64 pushes a constant.
func (c *Code) I64(v int64) {
	c.Op(i64Const)
	c.buf = appendSigned(c.buf, v)
}

// F32 pushes a constant.
func (c *Code) F32(v float32) {
	c.Op(f32Const)
	c.buf = binary.LittleEndian.AppendUint32(c.buf, math.Float32bits(v))
}

// F64 pushes a constant.
func (c *Code) F64(v float64) {
	c.Op(f64Const)
	c.buf = binary.LittleEndian.AppendUint64(c.buf, math.Float64bits(v))
}

// V128 pushes a vector constant, given as its two halves.
func (c *Code) V128(lo, hi uint64) {
	c.Op(v128Const)
	c.buf = binary.LittleEndian.AppendUint64(c.buf, lo)
	c.buf = binary.LittleEndian.AppendUint64(c.buf, hi)
}

// Block opens a block; a branch to it goes to its end.
func (c *Code) Block(t ValType) { c.open(block, t) }

// Loop opens a loop; a branch to it goes to its start.
func (c *Code) Loop(t ValType) { c.open(loop, t) }

// If pops a condition and opens a block for it.
func (c *Code) If(t ValType) { c.open(ifOp, t) }

func (c *Code) open(op Op, t ValType) {
	c.Op(op)
	c.buf = append(c.buf, byte(t))
	c.depth++
}

// Else starts the other branch of an If.
func (c *Code) Else() { c.Op(elseOp) }

// End closes the innermost Block, Loop or If.
func (c *Code) End() {
	c.Op(end)
	c.depth--
}

// Br branches to the enclosing block that is depth levels out.
func (c *Code) Br(depth uint32) { c.op1(br, depth) }

// BrIf pops a condition and branches if it is not zero.
func (c *Code) BrIf(depth uint32) { c.op1(brIf, depth) }

// body is the encoded function: runs of locals, instructions, end.
func (c *Code) body() []byte {
	if c.depth != 0 {
		panic(fmt.Sprintf("binary.Code: %d blocks are still open", c.depth))
	}
	var runs []byte
	n := 0
	for i := 0; i < len(c.locals); {
		j := i
		for j < len(c.locals) && c.locals[j] == c.locals[i] {
			j++
		}
		runs = appendUnsigned(runs, uint64(j-i))
		runs = append(runs, byte(c.locals[i]))
		n++
		i = j
	}
	out := appendUnsigned(nil, uint64(n))
	out = append(out, runs...)
	out = append(out, c.buf...)
	return append(out, byte(end))
}

// appendUnsigned appends v in LEB128.
func appendUnsigned(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// appendSigned appends v in signed LEB128.
func appendSigned(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7F)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}
