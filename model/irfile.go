package model

import (
	"encoding/binary"
	"fmt"
	"math"

	"polygrad/core/uop"
)

// The IR file (poly.ir.uops@1), little-endian throughout:
//
//	"PGIR", u32: version, flags, nodes, strings, interface, entries, 0
//	strings: u16 length, bytes
//	nodes, sources first: u16 op, u8 type, i32 tag, u16 sources, u8 kind of arg, u8 0, u32 per source, arg
//	interface: u32 name, u8 role, 3 zero bytes, u32 node, u16 ndim, u16 0, i64 per size
//	entries: u32 name, u32 node
//
// A loop is a REPEAT (name of its variable; count, number of states, condition, as in uop.RepeatArg) of a SINK of statements, which are SINKs of
// ASSIGNs, then the states, and the tensors that are only read. In statements, PARAMs (index, elements) stand for these operands. A bound of a SHRINK
// that depends on the variable is inLoop in the list of bounds, and a source behind the tensor.
const (
	irMagic   = "PGIR"
	irVersion = 1

	irHasLoss      = 1 << 0
	irHasTrainStep = 1 << 1

	noNode = math.MaxUint32
	inLoop = math.MinInt64
)

// Kinds of args.
const (
	argNone = iota
	argInt
	argFloat
	argBool
	argInts
	argPairs
	argString
	argOp
	argReduce
	argRange
	argVar
	argInvalid
	argLoop // not in files of other writers
)

// irArg is the arg of a node; kind selects the fields that count.
type irArg struct {
	kind   uint8
	num    int64   // int, bool, op, reduce (the operation), range (the id), loop (the count)
	float  float64 // float
	nums   []int64 // ints, pairs (flat), reduce (the axes), range (extra)
	name   uint32  // string, variable, loop
	lo, hi int64   // variable, loop (states, while)
	axis   uint8   // range
}

type irNode struct {
	op    uop.Op
	dtype *uop.DType
	tag   int32
	src   []int
	arg   irArg
}

type irVariable struct {
	name  uint32
	role  Role
	node  uint32
	shape []int64
}

type irEntry struct{ name, node uint32 }

type irFile struct {
	flags     uint32
	strings   []string
	nodes     []irNode
	variables []irVariable
	entries   []irEntry
}

// irDTypes are the data types by their number in files.
var irDTypes = [...]*uop.DType{
	uop.Void, uop.Bool, uop.Int8, uop.Uint8, uop.Int16, uop.Uint16, uop.Int32, uop.Uint32, uop.Int64, uop.Uint64,
	uop.Float16, uop.BFloat16, uop.Float32, uop.Float64, uop.IndexT,
}

func irDTypeID(d *uop.DType) (uint8, bool) {
	for i, t := range irDTypes {
		if t == d {
			return uint8(i), true
		}
	}
	return 0, false
}

// encode writes the file.
func (f *irFile) encode() ([]byte, error) {
	le := binary.LittleEndian
	b := []byte(irMagic)
	for _, v := range []int{irVersion, int(f.flags), len(f.nodes), len(f.strings), len(f.variables), len(f.entries), 0} {
		b = le.AppendUint32(b, uint32(v))
	}
	for _, s := range f.strings {
		if len(s) > math.MaxUint16 {
			return nil, fmt.Errorf("a name has %d bytes, expected at most %d", len(s), math.MaxUint16)
		}
		b = le.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	for i, n := range f.nodes {
		id, ok := irDTypeID(n.dtype)
		if !ok {
			return nil, fmt.Errorf("node %d: type %s has no number in files", i, n.dtype)
		}
		if len(n.src) > math.MaxUint16 || len(n.arg.nums) > math.MaxUint16 {
			return nil, fmt.Errorf("node %d: %s has too many sources or sizes", i, n.op)
		}
		b = le.AppendUint16(b, uint16(n.op))
		b = append(b, id)
		b = le.AppendUint32(b, uint32(n.tag))
		b = le.AppendUint16(b, uint16(len(n.src)))
		b = append(b, n.arg.kind, 0)
		for _, s := range n.src {
			b = le.AppendUint32(b, uint32(s))
		}
		b = n.arg.append(b)
	}
	for _, v := range f.variables {
		b = le.AppendUint32(b, v.name)
		b = append(b, byte(v.role), 0, 0, 0)
		b = le.AppendUint32(b, v.node)
		b = le.AppendUint16(b, uint16(len(v.shape)))
		b = le.AppendUint16(b, 0)
		b = appendInts(b, v.shape)
	}
	for _, e := range f.entries {
		b = le.AppendUint32(b, e.name)
		b = le.AppendUint32(b, e.node)
	}
	return b, nil
}

func appendInts(b []byte, v []int64) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

func (a *irArg) append(b []byte) []byte {
	le := binary.LittleEndian
	switch a.kind {
	case argInt:
		return le.AppendUint64(b, uint64(a.num))
	case argFloat:
		return le.AppendUint64(b, math.Float64bits(a.float))
	case argBool:
		return append(b, byte(a.num))
	case argInts:
		return appendInts(le.AppendUint16(b, uint16(len(a.nums))), a.nums)
	case argPairs:
		return appendInts(le.AppendUint16(b, uint16(len(a.nums)/2)), a.nums)
	case argString:
		return le.AppendUint32(b, a.name)
	case argOp:
		return le.AppendUint16(b, uint16(a.num))
	case argReduce:
		b = le.AppendUint16(b, uint16(a.num))
		return appendInts(le.AppendUint16(b, uint16(len(a.nums))), a.nums)
	case argRange:
		b = append(le.AppendUint64(b, uint64(a.num)), a.axis)
		return appendInts(le.AppendUint16(b, uint16(len(a.nums))), a.nums)
	case argVar:
		return appendInts(le.AppendUint32(b, a.name), []int64{a.lo, a.hi})
	case argLoop:
		return appendInts(le.AppendUint32(b, a.name), []int64{a.num, a.lo, a.hi})
	}
	return b
}

// decodeIR reads a file and checks the range of every number in it.
func decodeIR(data []byte) (*irFile, error) {
	r := &irReader{b: data}
	if len(data) < 32 || string(data[:4]) != irMagic {
		return nil, fmt.Errorf("%d bytes that do not begin with %s and a header", len(data), irMagic)
	}
	r.at = 4
	if v := r.u32(); v != irVersion {
		return nil, fmt.Errorf("version %d, expected %d", v, irVersion)
	}
	f := &irFile{flags: r.u32()}
	nodes, texts, variables, entries := r.u32(), r.u32(), r.u32(), r.u32()
	r.u32()
	for range texts {
		f.strings = append(f.strings, string(r.take(int(r.u16()))))
		if r.failed {
			return nil, r.short()
		}
	}
	for i := range nodes {
		n, err := r.node(int(i), len(f.strings))
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
		f.nodes = append(f.nodes, n)
	}
	for i := range variables {
		v, err := r.variable(f)
		if err != nil {
			return nil, fmt.Errorf("buffer %d: %w", i, err)
		}
		f.variables = append(f.variables, v)
	}
	for i := range entries {
		e := irEntry{r.u32(), r.u32()}
		if r.failed {
			return nil, r.short()
		}
		if int(e.name) >= len(f.strings) || int(e.node) >= len(f.nodes) {
			return nil, fmt.Errorf("entry %d: name %d of %d, node %d of %d", i, e.name, len(f.strings), e.node, len(f.nodes))
		}
		f.entries = append(f.entries, e)
	}
	if r.at != len(data) {
		return nil, fmt.Errorf("%d bytes are left over at the end", len(data)-r.at)
	}
	return f, nil
}

// irReader reads numbers; beyond the end it gives zeros and sets an error.
type irReader struct {
	b      []byte
	at     int
	failed bool
}

var zeros [8]byte

func (r *irReader) take(n int) []byte {
	if n > len(r.b)-r.at {
		r.failed = true
		if n <= len(zeros) {
			return zeros[:n]
		}
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *irReader) u8() uint8   { return r.take(1)[0] }
func (r *irReader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *irReader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *irReader) i64() int64  { return int64(binary.LittleEndian.Uint64(r.take(8))) }

func (r *irReader) ints(n int) []int64 {
	if n*8 > len(r.b)-r.at {
		r.failed = true
		return nil
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = r.i64()
	}
	return out
}

func (r *irReader) short() error { return fmt.Errorf("the file ends too early, at byte %d", len(r.b)) }

func (r *irReader) node(i, texts int) (n irNode, err error) {
	op, dtype := r.u16(), r.u8()
	n.tag = int32(r.u32())
	count := int(r.u16())
	n.arg.kind = r.u8()
	r.u8()
	if count*4 > len(r.b)-r.at || r.failed {
		return n, r.short()
	}
	for range count {
		s := r.u32()
		if int64(s) >= int64(i) {
			return n, fmt.Errorf("source %d does not stand before it", s)
		}
		n.src = append(n.src, int(s))
	}
	r.arg(&n.arg)
	switch {
	case r.failed:
		return n, r.short()
	case op == 0 || op >= uint16(uop.NumAllOps):
		return n, fmt.Errorf("there is no operation %d", op)
	case int(dtype) >= len(irDTypes):
		return n, fmt.Errorf("there is no type %d", dtype)
	case n.arg.kind > argLoop:
		return n, fmt.Errorf("there is no kind of argument %d", n.arg.kind)
	case int(n.arg.name) >= texts && (n.arg.kind == argString || n.arg.kind == argVar || n.arg.kind == argLoop):
		return n, fmt.Errorf("there is no string %d", n.arg.name)
	}
	n.op, n.dtype = uop.Op(op), irDTypes[dtype]
	return n, nil
}

func (r *irReader) arg(a *irArg) {
	switch a.kind {
	case argInt:
		a.num = r.i64()
	case argFloat:
		a.float = math.Float64frombits(uint64(r.i64()))
	case argBool:
		a.num = int64(r.u8())
	case argInts:
		a.nums = r.ints(int(r.u16()))
	case argPairs:
		a.nums = r.ints(2 * int(r.u16()))
	case argString:
		a.name = r.u32()
	case argOp:
		a.num = int64(r.u16())
	case argReduce:
		a.num = int64(r.u16())
		a.nums = r.ints(int(r.u16()))
	case argRange:
		a.num, a.axis = r.i64(), r.u8()
		a.nums = r.ints(int(r.u16()))
	case argVar:
		a.name, a.lo, a.hi = r.u32(), r.i64(), r.i64()
	case argLoop:
		a.name, a.num, a.lo, a.hi = r.u32(), r.i64(), r.i64(), r.i64()
	}
}

func (r *irReader) variable(f *irFile) (v irVariable, err error) {
	v.name, v.role = r.u32(), Role(r.u8())
	r.take(3)
	v.node = r.u32()
	ndim := int(r.u16())
	r.u16()
	if ndim > maxDims {
		return v, fmt.Errorf("%d dimensions, expected at most %d", ndim, maxDims)
	}
	v.shape = r.ints(ndim)
	switch {
	case r.failed:
		return v, r.short()
	case int(v.name) >= len(f.strings):
		return v, fmt.Errorf("there is no string %d", v.name)
	case v.role > Aux:
		return v, fmt.Errorf("there is no role %d", v.role)
	case v.node != noNode && int64(v.node) >= int64(len(f.nodes)):
		return v, fmt.Errorf("there is no node %d", v.node)
	}
	_, err = elements(v.shape)
	return v, err
}
