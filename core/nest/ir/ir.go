// Package ir represents kernels as nests of loops over values in SSA form, between the linear list of lower and the code of a
// renderer. Its builder makes only operations that the target machine has, and vectors of the machine's width: a renderer selects
// instructions and allocates registers.
package ir

import "polygrad/core/uop"

// Value is a scalar of the kernel, or a vector of Kernel.Lanes scalars. Pure values are interned and float: each is computed in its
// placement block, the innermost block of its operands, before its first use.
type Value struct {
	Op    Op
	Kind  Kind
	Lanes int
	Args  []*Value
	// Bits is the register content of a Const; other operations document their own use.
	Bits  uint64
	At    *Place // of a load
	Loop  *Loop  // of Iter and Phi
	Block *Block
	// ID numbers the values of a kernel from 1.
	ID int32
	// Pos is the position among the effects of the kernel, from 1, of a load from memory that the kernel writes; 0 for other values.
	Pos int
}

// Op is what a value is or how it is computed from its arguments, lane by lane unless said otherwise.
type Op uint8

const (
	// Leaves.
	Const    Op = iota + 1 // Bits; a vector has it in every lane
	Var                    // the variable number Bits of the kernel
	Iter                   // the iterator of Loop: 0, 1, … (I64)
	First                  // the number of the first work item of this call (I64)
	Items                  // how many work items this call does (I64)
	Lane                   // the vector 0, 1, 2, … (I32 or I64)
	Phi                    // a variable of Loop
	Final                  // Args[0] is a Phi: its value after the loop
	Load                   // At; if that has a gate, Args[0] is the value of lanes whose gate is false
	LoadQuad               // a vector of four elements, in which At counts; QuadPart extracts element Bits
	QuadPart

	// Between scalars and vectors.
	Splat   // a scalar in every lane
	Extract // lane Bits of a vector
	Insert  // Args[0] with the scalar Args[1] in lane Bits
	// Sum is the sum of all lanes, a scalar, added as a tree: lane i and lane i+n/2 in each round; the reductions below likewise. With
	// Bits set it stops at that number of lanes, and each lane of the vector has the sum of the lanes congruent to it modulo Bits.
	Sum
	Product  // the product of all lanes
	MaxLanes // the maximum of all lanes, with the rule of Max
	AndAll   // all lanes combined with And, Or, Xor
	OrAll
	XorAll
	AnyLane // whether any lane of a Bool vector is true, a scalar Bool
	// Transpose: Args are as many vectors as there are lanes; the value is the vector of lane Bits of each.
	Transpose
	// Spread: lane i is lane Bits>>(4*i)&15 of Args[0].
	Spread
	// ShiftLanes: lane i is lane i-n of Args[0] for the integer n in Bits, zero where there is none: within each 16 bytes if n lanes are less,
	// else n lanes are 16 bytes of a vector of 32. Vectors have 16 bytes at least.
	ShiftLanes
	// Interleave: lane i of vector Bits of the lanes of Args in turn, which are as many vectors as Args.
	Interleave
	// Lookup: the entry of Table(Bits) that the low bits of the integer Args[0] select, an F32; for machines with Machine.Tables.
	Lookup

	// Arithmetic on F32, F64 and the integer kinds.
	Add
	Sub
	Mul
	Div // floats: IEEE; integers: truncates, 0 where the divisor is 0, wraps for the least integer by -1
	Mod // integers: the rest of Div with the sign of the dividend; 0 where the divisor is 0
	Neg
	Max // the greater; floats: NaN if either is
	// MaxSS and MinSS are the machine's maximum and minimum: Args[1] where Args[0] < Args[1] (Args[0] > Args[1]), else Args[0].
	MaxSS
	MinSS
	Abs
	Sqrt
	Trunc // towards zero
	Round // to the nearest integer, ties to even
	Floor
	FMA  // Args[0]*Args[1] + Args[2], rounded once
	NFMA // Args[2] - Args[0]*Args[1], rounded once
	// Parts of floats, for machines with Machine.Scale, and what expand.go writes functions with.
	Scale    // Args[0] * 2**floor(Args[1]), rounded once
	Exponent // the n of |x| = m * 2**n with m in [1, 2), as a float, also of subnormal numbers; -Inf for 0, Inf for infinities
	Fraction // x * 2**-n in [0.75, 1.5) for an integer n; NaN below 0, 1 for infinity, 1 and -1 for 0 and -0
	// Functions of floats that expand.go turns into the operations above.
	Exp
	Exp2
	Log2
	Sin
	Cos
	Tanh

	// Bits and integers. Shift counts are below the width of the kind; a scalar count moves all lanes.
	And
	Or
	Xor
	AndNot // Args[0] and not Args[1]
	Shl
	Shr // arithmetic for signed kinds
	// Rotate rotates the bits of U32 or U64 lanes to the left by a constant; for machines with Machine.Rotate.
	Rotate

	// Comparisons give Bool. Floats: all but NotEqual are false with NaN.
	Less
	LessEqual
	Equal
	NotEqual
	Where // Args[0] (Bool) ? Args[1] : Args[2]

	// Conversions.
	Cast    // to Kind by value: floats to integers truncate (out of range: any value); to Bool is NotEqual 0
	Bitcast // the same bits as another Kind of the same size in memory
	// Narrow wraps or rounds a value in its register to Kind. Arithmetic on I8 … U16 and on F16, BF16, E4M3, E5M2 is that of I32, U32
	// or F32 followed by Narrow: legalize writes that out, so that renderers see I32, U32, I64, U64, F32 and F64 only.
	Narrow

	numOps
)

// Block is a sequence of effects: the body of the kernel or of a loop.
type Block struct {
	Parent *Block
	Loop   *Loop // whose body it is, nil for the kernel's
	Depth  int   // 0 for the kernel's
	Items  []Item
}

// Item is one effect: a store, a loop, an ordered load (Value.Pos), a product of packed operands, a prefetch or a barrier. Exactly one
// field is set.
type Item struct {
	Store *Store
	Loop  *Loop
	Load  *Value
	Dot   *Dot
	// Prefetch is a place whose cache line is prefetched.
	Prefetch *Place
	// Barrier synchronises the invocations of a workgroup and their shared memory.
	Barrier bool
}

// Loop runs its body Count times with an iterator from 0. Count is a scalar I64; a count below 1 is none.
type Loop struct {
	Body  *Block
	Iter  *Value
	Count *Value
	Phis  []*PhiVar
	// Label says in dumps which loop of the kernel this is.
	Label string
}

// PhiVar is a loop-carried variable: its initial value, and its value for the next iteration.
type PhiVar struct {
	V          *Value
	Init, Next *Value
}

// Buffer is memory that a kernel reads or writes.
type Buffer struct {
	ID   int32
	Kind Kind
	Size int64 // elements, -1 if it is not known
	// Param is the number of the argument; -1 for scratch memory, which is at Offset bytes (a multiple of 64) in the scratch memory of
	// the thread.
	Param         int
	Offset        int64
	Read, Written bool
	// Shared: memory of the workgroup, as vectors of four elements.
	Shared bool
}

// Term is one variable of an index: Coef times an integer scalar.
type Term struct {
	V    *Value
	Coef int64
}

// Place is the address of a load or store: lane i accesses element sum(Terms) + Off + Stride*i (+ lane i of Index) of Buf.
// Places with the same Buf and Terms differ by a constant.
type Place struct {
	Buf   *Buffer
	Terms []Term // ordered by the ID of V
	Off   int64
	// Stride is 1 for neighbours, 0 for one element for all lanes; scalars have 0.
	Stride int64
	// Index is a vector of integers (I32, I64), nil for none; Stride is 0 then.
	Index *Value
	// Gate is a Bool with the lanes of the access: lanes where it is false access no memory, and their addresses may be invalid. A
	// scalar gate applies to all lanes; nil is true.
	Gate *Value
	// Stream: a non-temporal store, since the output is much larger than the caches.
	Stream bool
}

// Store writes a value.
type Store struct {
	At  *Place
	Val *Value
	Pos int // its position among the effects of the kernel, from 1
}

// Param is a buffer argument of a kernel.
type Param struct {
	DType *uop.DType
	Slot  int
	// Size is the number of elements, -1 if it is not known.
	Size          int64
	Read, Written bool
	// Aligned: the address must be a multiple of 64, for non-temporal stores.
	Aligned bool
}

// Bytes is the size of the buffer, -1 if it is not known.
func (p Param) Bytes() int64 {
	if p.Size < 0 {
		return -1
	}
	return p.Size * int64(p.DType.Itemsize())
}

// VarParam is an integer argument of a kernel.
type VarParam struct {
	Name     string
	Kind     Kind
	Min, Max int64
}

// Kernel is a kernel as a nest of loops.
type Kernel struct {
	Name   string
	Params []Param
	Vars   []VarParam
	Root   *Block
	// Lanes is the number of lanes of all vectors of the kernel.
	Lanes int
	// Group is the number of invocations of a workgroup of a GPU, if Lanes is 1; Subgroups says that they exchange values without memory.
	Group     int
	Subgroups bool
	// Items is the number of independent work items of a run. A call of the code does a range of them, from First on; calls for
	// different ranges may run in parallel, each with its own scratch memory.
	Items int64
	// Launch is the number of work items as a function of the variables; nil if it is Items, the greatest number, for all of them.
	Launch *Value
	// Setup is the share of the work of a run that every call repeats, whatever its number of items.
	Setup float64
	// Scratch is the number of bytes of scratch memory that a call needs, Shared that of memory of a workgroup.
	Scratch, Shared int64
	// Flops and Bytes estimate the work of a whole run: arithmetic operations, and bytes moved from and to memory.
	Flops, Bytes float64
	// Choice is the chosen layout, for dumps.
	Choice string
}
