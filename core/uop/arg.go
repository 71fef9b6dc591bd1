package uop

import (
	"strconv"
	"strings"
)

// Arg is what a node carries beside its sources. Equal args of equal kind make equal nodes.
type Arg interface {
	// Equal reports whether two args are the same.
	Equal(Arg) bool
	// String is the arg as the reference data writes it.
	String() string
	Hash() uint64
}

// Num is an integer arg: PARAM slot, BUFFER size, UNIQUE id, register number.
type Num int64

// Str is a text arg: DEVICE, SPECIAL, CUSTOM.
type Str string

// Nums is a tuple of integers: GEP, PERMUTE; also the tag of the scheduler.
type Nums []int

// Flags is a tuple of booleans: FLIP.
type Flags []bool

// Unlikely is the arg of a WHERE whose condition hardly ever holds: vectors skip its first choice if the condition is false in all lanes.
const Unlikely = Str("unlikely")

// Disjoint is the arg of an ADD of padded tensors that do not overlap: its result is the operand that is not padding, also if that
// is -0.0.
const Disjoint = Str("disjoint")

// Consts is a tuple of constants: VCONST.
type Consts []Const

// OpArg is an operation as arg: REDUCE.
type OpArg Op

// AxisReduce is the arg of REDUCE_AXIS.
type AxisReduce struct {
	Op   Op
	Axes []int
}

// PrefixArg is the arg of PREFIX_AXIS and PREFIX. Element t of the result is
//
//	ADD, MUL, MAX  y[t] = y[t-1] op x[t]         sources x and, if given, the initial value
//	MULACC         y[t] = y[t-1] * a[t] + b[t]   sources a, b and, if given, the initial value
//
// where y[-1] is the initial value, else the identity element of the operation (0 for MULACC). The initial value has the shape of
// x and does not vary along the axis.
type PrefixArg struct {
	Op   Op
	Axis int
	// Reverse runs from the last element to the first.
	Reverse bool
}

// Operands is the number of sources of a step.
func (a PrefixArg) Operands() int {
	if a.Op == MulAcc {
		return 2
	}
	return 1
}

// Step is the next value of a prefix, from the one before and the operands of the step.
func (a PrefixArg) Step(before *UOp, operands []*UOp) *UOp {
	if a.Op == MulAcc {
		return before.Mul(operands[0]).Add(operands[1])
	}
	return before.Alu(a.Op, operands[0])
}

// Identity is the value that a prefix begins with.
func (a PrefixArg) Identity(dt *DType) Const {
	if a.Op == MulAcc {
		return IdentityElement(Add, dt)
	}
	return IdentityElement(a.Op, dt)
}

// ScatterArg is the arg of SCATTER and FETCH. For each position p of an index, in row-major order,
//
//	y[q] = x[p]             if Op is STORE
//	y[q] = y[q] op x[p]     for ADD, MUL and MAX
//
// where q is p with index[p] in place of its coordinate along the axis; positions out of range are skipped. SCATTER(y, LOOPS(index, x)) is y after
// that; FETCH(index, x, LOOPS(y)) is, for each p, the value of y[q] just before p changes it, or 0 if p is skipped. If y has size 1 along another
// axis and the index has not, q is 0 there: then no two positions that change the same element may differ along that axis, since threads share it.
//
// If Whole is set, LOOPS has several pairs of an index and x, whose positions together are all those of y: each element is stored once, in any order,
// and y only gives the shape.
type ScatterArg struct {
	Op   Op
	Axis int
	// Checked says that no index is out of range.
	Checked bool
	// Whole says that all elements are stored, from several values that are computed in the same loops.
	Whole bool
}

// RepeatArg is the arg of REPEAT. Its sources are a SINK of statements, the states, and the tensors that the statements only read. A statement is a
// request, a SINK of STOREs and ASSIGNs, in which PARAM i stands for the i-th of the sources behind the SINK, flattened; it may only write to states.
// The statements run in order, Count times, with Variable counting from 0 to Count-1. If While is set, they run only as long as state While-1, a
// bool, is true.
type RepeatArg struct {
	Variable string
	Count    int64
	States   int
	While    int
}

// VarArg is the arg of DEFINE_VAR: name and inclusive bounds.
type VarArg struct {
	Name     string
	Min, Max Const
}

// AxisSize is one axis of an UNROLL or CONTRACT.
type AxisSize struct {
	Axis, Size int
}

// AxisSizes is the arg of UNROLL and CONTRACT.
type AxisSizes []AxisSize

// BufferizeOpts is the arg of BUFFERIZE.
type BufferizeOpts struct {
	Device    string // "" for buffers inside a kernel
	LocalID   int    // number of the reduce a LOCAL buffer belongs to (where Device is "")
	Space     AddrSpace
	Removable bool
}

// ViewArg is the arg of BUFFER_VIEW: elements and offset in elements.
type ViewArg struct {
	Size, Offset int64
}

// MovementStep is one movement operation of a chain: its arg as sizes, pairs or flags.
type MovementStep struct {
	Op Op
	// Src are the argument sources of the node (sizes or begin/end vectors), Arg its arg.
	Src []*UOp
	Arg Arg
	// Shape is the shape the step starts from.
	Shape Shape
}

// MovementChain is the arg of a bufferized ASSIGN: the movement operations between value and target.
type MovementChain []MovementStep

// AxisType says what a RANGE loops for.
type AxisType uint8

// Axis types in tinygrad's order.
const (
	AxisGlobal AxisType = iota + 1
	AxisWarp
	AxisLocal
	AxisLoop
	AxisGroupReduce
	AxisReduceT
	AxisUpcast
	AxisUnroll
	AxisThread
	AxisOuter
	AxisPlaceholder
	// AxisPrefix is a loop whose iterations run in order, since each goes on from the one before. tinygrad has none.
	AxisPrefix
)

var axisNames = [...]string{"", "GLOBAL", "WARP", "LOCAL", "LOOP", "GROUP_REDUCE", "REDUCE", "UPCAST", "UNROLL", "THREAD", "OUTER", "PLACEHOLDER", "PREFIX"}

// String is the upper-case name of the axis type.
func (a AxisType) String() string { return axisNames[a] }

// RangeArg is the arg of RANGE: its number, the numbers of the splits it came from, and its type.
type RangeArg struct {
	ID   []int
	Type AxisType
}

// Bytes is binary code or text as arg: SOURCE, BINARY.
type Bytes []byte

// Equal compares two args.
func (a Num) Equal(b Arg) bool { o, ok := b.(Num); return ok && a == o }

// Equal compares two args.
func (a Str) Equal(b Arg) bool { o, ok := b.(Str); return ok && a == o }

// Equal compares two args.
func (a OpArg) Equal(b Arg) bool { o, ok := b.(OpArg); return ok && a == o }

// Equal compares two args.
func (a Const) Equal(b Arg) bool { o, ok := b.(Const); return ok && a.Same(o) }

// Equal compares two args.
func (a Nums) Equal(b Arg) bool { o, ok := b.(Nums); return ok && equalSlices(a, o) }

// Equal compares two args.
func (a Flags) Equal(b Arg) bool { o, ok := b.(Flags); return ok && equalSlices(a, o) }

// Equal compares two args.
func (a AxisSizes) Equal(b Arg) bool { o, ok := b.(AxisSizes); return ok && equalSlices(a, o) }

// Equal compares two args.
func (a Bytes) Equal(b Arg) bool { o, ok := b.(Bytes); return ok && string(a) == string(o) }

// Equal compares two args.
func (a ViewArg) Equal(b Arg) bool { o, ok := b.(ViewArg); return ok && a == o }

// Equal compares two args.
func (a BufferizeOpts) Equal(b Arg) bool { o, ok := b.(BufferizeOpts); return ok && a == o }

// Equal compares two args.
func (a Consts) Equal(b Arg) bool {
	o, ok := b.(Consts)
	if !ok || len(a) != len(o) {
		return false
	}
	for i := range a {
		if !a[i].Same(o[i]) {
			return false
		}
	}
	return true
}

// Equal compares two args.
func (a AxisReduce) Equal(b Arg) bool {
	o, ok := b.(AxisReduce)
	return ok && a.Op == o.Op && equalSlices(a.Axes, o.Axes)
}

// Equal compares two args.
func (a PrefixArg) Equal(b Arg) bool { o, ok := b.(PrefixArg); return ok && a == o }

// Equal compares two args.
func (a ScatterArg) Equal(b Arg) bool { o, ok := b.(ScatterArg); return ok && a == o }

// Equal compares two args.
func (a RepeatArg) Equal(b Arg) bool { o, ok := b.(RepeatArg); return ok && a == o }

// Equal compares two args.
func (a VarArg) Equal(b Arg) bool {
	o, ok := b.(VarArg)
	return ok && a.Name == o.Name && a.Min.Same(o.Min) && a.Max.Same(o.Max)
}

// Equal compares two args.
func (a RangeArg) Equal(b Arg) bool {
	o, ok := b.(RangeArg)
	return ok && a.Type == o.Type && equalSlices(a.ID, o.ID)
}

// Equal compares two args.
func (a MovementChain) Equal(b Arg) bool {
	o, ok := b.(MovementChain)
	if !ok || len(a) != len(o) {
		return false
	}
	for i := range a {
		if a[i].Op != o[i].Op || !equalSlices(a[i].Src, o[i].Src) || !ArgEqual(a[i].Arg, o[i].Arg) || !a[i].Shape.Equal(o[i].Shape) {
			return false
		}
	}
	return true
}

func equalSlices[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// ArgEqual compares two args, either of which may be nil.
func ArgEqual(a, b Arg) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Equal(b)
}

// String prints the arg.
func (a Num) String() string { return strconv.FormatInt(int64(a), 10) }

// String prints the arg.
func (a Str) String() string { return string(a) }

// String prints the arg.
func (a OpArg) String() string { return Op(a).String() }

// String prints the arg.
func (a Bytes) String() string { return string(a) }

// String prints the arg.
func (a Nums) String() string { return tuple(a, strconv.Itoa) }

// String prints the arg.
func (a Flags) String() string { return tuple(a, strconv.FormatBool) }

// String prints the arg.
func (a Consts) String() string { return tuple(a, Const.String) }

// String prints the arg.
func (a AxisReduce) String() string { return a.Op.String() + tuple(a.Axes, strconv.Itoa) }

// String prints the arg.
func (a PrefixArg) String() string {
	s := a.Op.String() + "(" + strconv.Itoa(a.Axis) + ")"
	if a.Reverse {
		s += " reverse"
	}
	return s
}

// String prints the arg.
func (a ScatterArg) String() string {
	s := a.Op.String() + "(" + strconv.Itoa(a.Axis) + ")"
	if a.Checked {
		s += " checked"
	}
	if a.Whole {
		s += " whole"
	}
	return s
}

// String prints the arg.
func (a RepeatArg) String() string {
	text := a.Variable + "<" + strconv.FormatInt(a.Count, 10) + " states " + strconv.Itoa(a.States)
	if a.While > 0 {
		text += " while " + strconv.Itoa(a.While-1)
	}
	return text
}

// String prints the arg.
func (a VarArg) String() string { return a.Name + "[" + a.Min.String() + "," + a.Max.String() + "]" }

// String prints the arg.
func (a AxisSizes) String() string {
	return tuple(a, func(s AxisSize) string { return "(" + strconv.Itoa(s.Axis) + "," + strconv.Itoa(s.Size) + ")" })
}

// String prints the arg.
func (a ViewArg) String() string {
	return "(" + strconv.FormatInt(a.Size, 10) + "," + strconv.FormatInt(a.Offset, 10) + ")"
}

// String prints the arg.
func (a BufferizeOpts) String() string {
	dev, rem := a.Device, "keep"
	if dev == "" {
		dev = strconv.Itoa(a.LocalID)
	}
	if a.Removable {
		rem = "removable"
	}
	return "(" + dev + "," + a.Space.String() + "," + rem + ")"
}

// String prints the arg.
func (a RangeArg) String() string { return joinInts(a.ID) + ":" + a.Type.String() }

// String prints the arg.
func (a MovementChain) String() string {
	return tuple(a, func(s MovementStep) string {
		t := s.Op.String()
		if s.Arg != nil {
			t += s.Arg.String()
		}
		return t
	})
}

func joinInts(v []int) string {
	s := make([]string, len(v))
	for i, x := range v {
		s[i] = strconv.Itoa(x)
		if x < 0 {
			s[i] = "m" + strconv.Itoa(-x)
		}
	}
	return strings.Join(s, "_")
}

func tuple[T any](v []T, f func(T) string) string {
	s := make([]string, len(v))
	for i, x := range v {
		s[i] = f(x)
	}
	return "(" + strings.Join(s, ",") + ")"
}

func mix(h, v uint64) uint64 {
	h ^= v
	h *= 0x9E3779B97F4A7C15
	return h ^ h>>29
}

func hashString(s string) uint64 {
	h := uint64(len(s))
	for i := 0; i < len(s); i++ {
		h = h*1099511628211 ^ uint64(s[i])
	}
	return h
}

func hashInts(v []int) uint64 {
	h := uint64(len(v)) + 11
	for _, x := range v {
		h = mix(h, uint64(x))
	}
	return h
}

func (a Num) Hash() uint64   { return uint64(a) + 1 }
func (a Str) Hash() uint64   { return hashString(string(a)) }
func (a OpArg) Hash() uint64 { return uint64(a) + 7 }
func (a Bytes) Hash() uint64 { return hashString(string(a)) }
func (a Nums) Hash() uint64  { return hashInts(a) }
func (a Flags) Hash() uint64 {
	h := uint64(len(a))
	for _, f := range a {
		h *= 3
		if f {
			h++
		}
	}
	return h
}
func (a Consts) Hash() uint64 {
	h := uint64(len(a))
	for _, c := range a {
		h = mix(h, c.Hash())
	}
	return h
}
func (a AxisReduce) Hash() uint64 { return hashInts(a.Axes) + uint64(a.Op) }
func (a PrefixArg) Hash() uint64 {
	h := uint64(a.Op)<<16 | uint64(a.Axis)<<1
	if a.Reverse {
		h++
	}
	return h
}
func (a ScatterArg) Hash() uint64 {
	h := uint64(a.Op)<<16 | uint64(a.Axis)<<2
	if a.Checked {
		h++
	}
	if a.Whole {
		h += 2
	}
	return h
}
func (a RepeatArg) Hash() uint64 {
	return mix(hashString(a.Variable), uint64(a.Count)<<16+uint64(a.While)<<8+uint64(a.States))
}
func (a VarArg) Hash() uint64 { return mix(hashString(a.Name), a.Min.Hash()+3*a.Max.Hash()) }
func (a AxisSizes) Hash() uint64 {
	h := uint64(len(a))
	for _, s := range a {
		h = mix(h, uint64(s.Axis)<<20^uint64(s.Size))
	}
	return h
}
func (a ViewArg) Hash() uint64 { return mix(uint64(a.Size), uint64(a.Offset)) }
func (a BufferizeOpts) Hash() uint64 {
	return hashString(a.Device) + uint64(a.LocalID)*31 + uint64(a.Space)
}
func (a RangeArg) Hash() uint64 { return hashInts(a.ID) + uint64(a.Type) }
func (a MovementChain) Hash() uint64 {
	h := uint64(len(a)) + 5
	for _, s := range a {
		h = mix(h, uint64(s.Op))
		for _, u := range s.Src {
			h = mix(h, u.hash)
		}
	}
	return h
}
