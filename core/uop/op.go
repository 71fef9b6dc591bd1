// Package uop holds the one node type of the compiler, the UOp: operations,
// data types, constants and the interned graph they live in, together with the
// properties that are derived from a node (shape, ranges, bounds, order).
package uop

import "math/bits"

// Op is the operation of a node. The numeric order is tinygrad's and is part of
// the meaning: it decides how commutative operands and linear lists are sorted.
type Op uint8

// The operations, in tinygrad's order (values 1..88).
const (
	OpInvalid Op = iota
	DefineVar
	Bind
	Special
	DefineLocal
	DefineReg
	Noop
	RewriteError
	Param
	Call
	Program
	Linear
	Source
	Binary
	Sink
	After
	Group
	Gep
	Vectorize
	Index
	Load
	Store
	Wmma
	Cast
	Bitcast
	Exp2
	Log2
	Sin
	Sqrt
	Reciprocal
	Neg
	Trunc
	Add
	Mul
	Shl
	Shr
	Idiv
	Max
	Mod
	CmpLt
	CmpNe
	CmpEq
	Xor
	Or
	And
	Threefry
	Sub
	Fdiv
	Pow
	Where
	MulAcc
	Barrier
	Range
	If
	End
	EndIf
	VConstOp
	ConstOp
	Custom
	CustomI
	Ins
	Unique
	Device
	Assign
	LUnique
	Contiguous
	ContiguousBackward
	Detach
	Bufferize
	Copy
	Buffer
	BufferView
	MSelect
	MStack
	EncDec
	Reshape
	Permute
	Expand
	Pad
	Shrink
	Flip
	Multi
	ReduceAxis
	Reduce
	AllReduce
	Unroll
	Contract
	Cat
	PtrCat
	NumOps
)

// Operations that tinygrad does not have. Lowering finds the formulas of EXP, COS and TANH for targets that compute them
// as such; only kernels have them. Files have the numbers of operations, so new ones stand at the end.
const (
	Exp Op = NumOps + iota // e**x
	Cos
	Tanh
	// CustomGradient is its first source. Its arg (gradient.Stated) says what the gradients of the other sources are.
	CustomGradient
	// PrefixAxis is a running reduction along an axis (PrefixArg), Prefix the same in a kernel: its last source is the RANGE
	// of the axis, whose iterations run in order.
	PrefixAxis
	Prefix
	// Scatter is a copy of its first source in which elements are changed, one after the other (ScatterArg); Fetch is what those
	// elements were before. Loops are values that have loops of their own; its arg is the axis along which those run in order.
	Scatter
	Fetch
	Loops
	// Repeat runs statements, its first source, again and again on states, the sources that follow (RepeatArg); Result is what one of
	// the states is after that.
	Repeat
	Result
	// Complex is a complex tensor: of two planes, or of a buffer of pairs. It is in no program: see complex.go.
	Complex
	// Sort is its source, unsigned integers, with each row of so many (Num) in ascending order. Schedules have it, for devices that sort rows.
	Sort
	// Floor and Ceil round down and up, Round to the nearest integer, halves to the even one.
	Floor
	Ceil
	Round
	// NumAllOps is one more than the last operation.
	NumAllOps
)

var opNames = [NumAllOps]string{
	"INVALID", "DEFINE_VAR", "BIND", "SPECIAL", "DEFINE_LOCAL", "DEFINE_REG", "NOOP", "REWRITE_ERROR", "PARAM", "CALL",
	"PROGRAM", "LINEAR", "SOURCE", "BINARY", "SINK", "AFTER", "GROUP", "GEP", "VECTORIZE", "INDEX", "LOAD",
	"STORE", "WMMA", "CAST", "BITCAST", "EXP2", "LOG2", "SIN", "SQRT", "RECIPROCAL", "NEG", "TRUNC", "ADD", "MUL",
	"SHL", "SHR", "IDIV", "MAX", "MOD", "CMPLT", "CMPNE", "CMPEQ", "XOR", "OR", "AND", "THREEFRY", "SUB", "FDIV",
	"POW", "WHERE", "MULACC", "BARRIER", "RANGE", "IF", "END", "ENDIF", "VCONST", "CONST", "CUSTOM", "CUSTOMI",
	"INS", "UNIQUE", "DEVICE", "ASSIGN", "LUNIQUE", "CONTIGUOUS", "CONTIGUOUS_BACKWARD", "DETACH", "BUFFERIZE",
	"COPY", "BUFFER", "BUFFER_VIEW", "MSELECT", "MSTACK", "ENCDEC", "RESHAPE", "PERMUTE", "EXPAND", "PAD",
	"SHRINK", "FLIP", "MULTI", "REDUCE_AXIS", "REDUCE", "ALLREDUCE", "UNROLL", "CONTRACT", "CAT", "PTRCAT",
	NumOps: "EXP", "COS", "TANH", "CUSTOM_GRADIENT", "PREFIX_AXIS", "PREFIX", "SCATTER", "FETCH", "LOOPS", "REPEAT", "RESULT",
	"COMPLEX", "SORT", "FLOOR", "CEIL", "ROUND",
}

var opByName = func() map[string]Op {
	m := make(map[string]Op, NumAllOps)
	for i, n := range opNames {
		m[n] = Op(i)
	}
	return m
}()

// String is the upper-case name of the operation, as tinygrad prints it.
func (o Op) String() string {
	if o < NumAllOps {
		return opNames[o]
	}
	return "UNKNOWN"
}

// Sorts is what a device sorts by.
type Sorts int

const (
	SortsInOrder  Sorts = iota // loops whose iterations run in order
	SortsParallel              // loops whose iterations are independent
	SortsByRow                 // SORT
	SortsUnfused               // loops whose iterations run in order; kernels are not fused
)

// Target is the device that a request is scheduled for, as far as its graph depends on it.
type Target struct {
	Sorts Sorts
	// Vectors is the number of vector registers, Lanes that of elements of 4 bytes in one; 0 if they are not known.
	Vectors, Lanes int
	// Cache is the size of the caches of all threads that share a run, without those shared by processors, in bytes.
	Cache int64
}

// OpByName finds an operation by its upper-case name.
func OpByName(name string) (Op, bool) { o, ok := opByName[name]; return o, ok }

// OpSet is a set of operations.
type OpSet [2]uint64

// Ops builds a set. It stays a call: tables of rules would make a loop of each.
//
//go:noinline
func Ops(ops ...Op) OpSet {
	var s OpSet
	for _, o := range ops {
		s[o>>6] |= 1 << (o & 63)
	}
	return s
}

// Has reports whether o is in the set.
func (s OpSet) Has(o Op) bool { return s[o>>6]&(1<<(o&63)) != 0 }

// Union is the set of operations in any of the sets.
func (s OpSet) Union(more ...OpSet) OpSet {
	for _, m := range more {
		s[0] |= m[0]
		s[1] |= m[1]
	}
	return s
}

// Minus is s without the given operations.
func (s OpSet) Minus(ops ...Op) OpSet {
	m := Ops(ops...)
	return OpSet{s[0] &^ m[0], s[1] &^ m[1]}
}

// SubsetOf reports whether every operation of s is in t.
func (s OpSet) SubsetOf(t OpSet) bool { return s[0]&^t[0] == 0 && s[1]&^t[1] == 0 }

// Intersects reports whether an operation is in both sets.
func (s OpSet) Intersects(t OpSet) bool { return s[0]&t[0]|s[1]&t[1] != 0 }

// List is the members in numeric order.
func (s OpSet) List() []Op {
	out := make([]Op, 0, bits.OnesCount64(s[0])+bits.OnesCount64(s[1]))
	for k, word := range s {
		for ; word != 0; word &= word - 1 {
			out = append(out, Op(64*k+bits.TrailingZeros64(word)))
		}
	}
	return out
}

// Groups of operations, as tinygrad's GroupOp.
var (
	GroupUnary       = Ops(Exp2, Log2, Sin, Sqrt, Reciprocal, Neg, Trunc, Floor, Ceil, Round, Exp, Cos, Tanh)
	GroupBinary      = Ops(Add, Mul, Idiv, Max, Mod, CmpLt, CmpNe, CmpEq, Xor, Shl, Shr, Or, And, Threefry, Sub, Fdiv, Pow)
	GroupTernary     = Ops(Where, MulAcc)
	GroupALU         = GroupUnary.Union(GroupBinary, GroupTernary)
	GroupElementwise = GroupALU.Union(Ops(Cast, Bitcast))
	GroupDefines     = Ops(Param, DefineLocal, DefineReg)
	GroupIrreducible = Ops(ConstOp, DefineVar, Special, Range)
	GroupMovement    = Ops(Reshape, Expand, Permute, Pad, Shrink, Flip)
	GroupCommutative = Ops(Add, Mul, Max, CmpNe, CmpEq, Xor, And, Or)
	GroupAssociative = Ops(Add, Mul, And, Or, Max)
	GroupIdempotent  = Ops(Or, And, Max)
	GroupComparison  = Ops(CmpLt, CmpNe, CmpEq)
	// GroupUnsafePad are the operations that do not keep f(0) = 0.
	GroupUnsafePad = Ops(Reciprocal, Log2, Exp2, Idiv, Pow, Exp, Cos)
	GroupAll       = func() (s OpSet) {
		for o := Op(1); o < NumAllOps; o++ {
			s = s.Union(Ops(o))
		}
		return s
	}()
)
