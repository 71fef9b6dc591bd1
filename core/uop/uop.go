package uop

// UOp is a node of the graph: an operation on sources, with a type and an arg.
// It is immutable and interned: within one Graph, equal nodes are one pointer.
type UOp struct {
	Op    Op
	DType *DType
	Src   []*UOp
	Arg   Arg
	// Tag marks a node for one pass; nodes that differ only in it are different nodes.
	Tag Arg

	g      *Graph
	hash   uint64
	id     uint32
	traits traits
	srcOps OpSet
	allOps OpSet
	p      *props
	t      *tensorProps
}

// props are the derived properties of a node that the compiler asks for, computed when first needed.
type props struct {
	min, max  Const
	hasBounds bool
	hasRanges bool
	hasEnded  bool
	ranges    []*UOp
	ended     []*UOp
	memo      *memo
}

// tensorProps are the properties that building tensors asks for.
type tensorProps struct {
	shape     Shape
	device    string
	hasShape  bool
	hasDevice bool
}

func (u *UOp) props() *props {
	if u.p == nil {
		u.p = u.g.newProps()
	}
	return u.p
}

func (u *UOp) tensorProps() *tensorProps {
	if u.t == nil {
		u.t = &tensorProps{}
	}
	return u.t
}

// Graph is the graph the node belongs to.
func (u *UOp) Graph() *Graph { return u.g }

// ID is the number of the node in its graph, in order of creation. Scratch graphs number
// their nodes densely, so it can index a slice; a long-lived graph starts over after 2^32 nodes.
func (u *UOp) ID() int { return int(u.id) }

// Hash is a structural hash: equal for equal graphs, the same in every process.
func (u *UOp) Hash() uint64 { return u.hash }

// SrcOps is the set of operations among the direct sources.
func (u *UOp) SrcOps() OpSet { return u.srcOps }

// HasOp reports whether u or a node below it has one of the operations.
func (u *UOp) HasOp(ops OpSet) bool { return u.allOps.Intersects(ops) }

// With returns the node with other sources.
func (u *UOp) With(src ...*UOp) *UOp {
	if equalSlices(u.Src, src) {
		return u
	}
	return u.g.New(u.Op, u.DType, src, u.Arg, u.Tag)
}

// WithArg returns the node with another arg.
func (u *UOp) WithArg(arg Arg) *UOp { return u.g.New(u.Op, u.DType, u.Src, arg, u.Tag) }

// WithDType returns the node with another type.
func (u *UOp) WithDType(dt *DType) *UOp { return u.g.New(u.Op, dt, u.Src, u.Arg, u.Tag) }

// WithTag returns the node with another tag.
func (u *UOp) WithTag(tag Arg) *UOp {
	if ArgEqual(u.Tag, tag) {
		return u
	}
	return u.g.New(u.Op, u.DType, u.Src, u.Arg, tag)
}

// F makes a node of another operation on u alone, of the same type unless dt is given.
func (u *UOp) F(op Op, dt *DType, arg Arg) *UOp {
	if dt == nil {
		dt = u.DType
	}
	return u.g.New(op, dt, []*UOp{u}, arg, nil)
}

// Const makes a constant of type dt (a CONST; the value is converted, not truncated).
func (g *Graph) Const(dt *DType, v Const) *UOp {
	return g.New(ConstOp, dt, nil, constArg(v.As(dt)), nil)
}

// ConstInt makes an index constant.
func (g *Graph) ConstInt(v int64) *UOp { return g.New(ConstOp, IndexT, nil, constArg(Int(v)), nil) }

// ConstBool makes a bool constant.
func (g *Graph) ConstBool(v bool) *UOp { return g.New(ConstOp, Bool, nil, BoolConst(v), nil) }

// ConstVec makes a constant vector: a CONST if all values are the same, else a VCONST.
func (g *Graph) ConstVec(dt *DType, vs []Const) *UOp {
	same := true
	out := make(Consts, len(vs))
	for i, v := range vs {
		out[i] = v.As(dt)
		same = same && v.Eq(vs[0])
	}
	if same {
		return g.New(ConstOp, dt, nil, out[0], nil)
	}
	return g.New(VConstOp, dt, nil, out, nil)
}

// InvalidIndex is the index constant that must not be used, as a vector of n.
func (g *Graph) InvalidIndex(n int) *UOp { return g.New(ConstOp, IndexT.Vec(n), nil, Invalid, nil) }

// DeviceOp makes a DEVICE node.
func (g *Graph) DeviceOp(name string) *UOp { return g.New(Device, Void, nil, Str(name), nil) }

// DeviceConst is a constant that lives on a device, with the given shape (nil: no shape, just the CONST).
func (g *Graph) DeviceConst(dt *DType, v Const, device string, shape Shape) *UOp {
	if dt.IsComplex() {
		return ComplexPair(g.DeviceConst(dt.Plane(), v, device, shape), g.DeviceConst(dt.Plane(), Int(0), device, shape))
	}
	v = v.As(dt)
	at, found := g.recent.constant(dt, v, device)
	if !found {
		var src []*UOp
		if device != "" {
			src = []*UOp{g.DeviceOp(device)}
		}
		*at = g.New(ConstOp, dt, src, constArg(v), nil)
	}
	c := *at
	if shape == nil {
		return c
	}
	return c.Reshape(ones(len(shape))).Expand(shape)
}

// NewUnique makes a UNIQUE that no other call returns.
func (g *Graph) NewUnique() *UOp {
	g.unique++
	return g.New(Unique, Void, nil, Num(g.unique-1), nil)
}

// UniqueOf is the UNIQUE of a number that the caller chose; NewUnique does not return it afterwards.
func (g *Graph) UniqueOf(n int64) *UOp {
	g.unique = max(g.unique, n+1)
	return g.New(Unique, Void, nil, Num(n), nil)
}

// NewBuffer makes a fresh BUFFER of n elements.
func (g *Graph) NewBuffer(device string, n int64, dt *DType) *UOp {
	return g.BufferOf(g.NewUnique(), device, n, dt)
}

// BufferOf is the BUFFER of n elements that a UNIQUE identifies.
func (g *Graph) BufferOf(unique *UOp, device string, n int64, dt *DType) *UOp {
	return g.New(Buffer, dt, []*UOp{unique, g.DeviceOp(device)}, Num(n), nil)
}

// Variable makes a DEFINE_VAR with inclusive bounds.
func (g *Graph) Variable(name string, lo, hi Const, dt *DType) *UOp {
	return g.New(DefineVar, dt, nil, VarArg{name, lo, hi}, nil)
}

// Range makes a RANGE over 0..size-1.
func (g *Graph) Range(size Sint, t AxisType, id ...int) *UOp {
	return g.New(Range, IndexT, []*UOp{size.UOp(g)}, RangeArg{id, t}, nil)
}

// Sink makes a SINK of the given nodes.
func (g *Graph) Sink(arg Arg, src ...*UOp) *UOp { return g.New(Sink, Void, src, arg, nil) }

// Group makes a GROUP; a group of one is that node.
func (g *Graph) Group(src ...*UOp) *UOp {
	if len(src) == 1 {
		return src[0]
	}
	return g.New(Group, Void, src, nil, nil)
}

// ConstLike is a constant of the type, device and shape of u.
func (u *UOp) ConstLike(v Const) *UOp {
	return u.g.DeviceConst(u.DType, v, u.Device(), u.Shape())
}

// ConstVecLike is ConstLike for a vector of values.
func (u *UOp) ConstVecLike(vs []Const) *UOp { return u.g.ConstVec(u.DType, vs) }

// IntLike is ConstLike of an integer.
func (u *UOp) IntLike(v int64) *UOp { return u.ConstLike(Int(v)) }

// Alu makes an operation on u and more sources. It has the type of the last source; bool for comparisons.
func (u *UOp) Alu(op Op, src ...*UOp) *UOp {
	var room [3]*UOp
	all := append(append(room[:0], u), src...)
	dt := all[len(all)-1].DType
	if GroupComparison.Has(op) {
		dt = Bool.Vec(dt.Count)
	}
	return u.g.NewCopy(op, dt, all, nil, nil)
}

// Add is u + v.
func (u *UOp) Add(v *UOp) *UOp { return u.Alu(Add, v) }

// Sub is u + v * -1.
func (u *UOp) Sub(v *UOp) *UOp { return u.Alu(Add, v.Neg()) }

// Mul is u * v.
func (u *UOp) Mul(v *UOp) *UOp { return u.Alu(Mul, v) }

// Idiv is u // v, rounded towards zero.
func (u *UOp) Idiv(v *UOp) *UOp { return u.Alu(Idiv, v) }

// Mod is u % v with the sign of u.
func (u *UOp) Mod(v *UOp) *UOp { return u.Alu(Mod, v) }

// AddInt is u + v.
func (u *UOp) AddInt(v int64) *UOp { return u.Alu(Add, u.IntLike(v)) }

// SubInt is u + -v, written u + v * -1 as Sub is.
func (u *UOp) SubInt(v int64) *UOp { return u.Sub(u.IntLike(v)) }

// MulInt is u * v.
func (u *UOp) MulInt(v int64) *UOp { return u.Alu(Mul, u.IntLike(v)) }

// IdivInt is u // v.
func (u *UOp) IdivInt(v int64) *UOp { return u.Alu(Idiv, u.IntLike(v)) }

// ModInt is u % v.
func (u *UOp) ModInt(v int64) *UOp { return u.Alu(Mod, u.IntLike(v)) }

// Neg is u * -1; for bool it is not u.
func (u *UOp) Neg() *UOp {
	if u.DType.IsBool() {
		return u.Not()
	}
	return u.MulInt(-1)
}

// Not is u != true.
func (u *UOp) Not() *UOp { return u.Alu(CmpNe, u.ConstLike(BoolConst(true))) }

// Lt is u < v.
func (u *UOp) Lt(v *UOp) *UOp { return u.Alu(CmpLt, v) }

// LtInt is u < v.
func (u *UOp) LtInt(v int64) *UOp { return u.Alu(CmpLt, u.IntLike(v)) }

// Gt is u > v, written v < u.
func (u *UOp) Gt(v *UOp) *UOp { return v.Alu(CmpLt, u) }

// Ge is u >= v, written not u < v.
func (u *UOp) Ge(v *UOp) *UOp { return u.Lt(v).Not() }

// GeInt is u >= v.
func (u *UOp) GeInt(v int64) *UOp { return u.LtInt(v).Not() }

// Le is u <= v, written not v < u.
func (u *UOp) Le(v *UOp) *UOp { return u.Gt(v).Not() }

// Ne is u != v.
func (u *UOp) Ne(v *UOp) *UOp { return u.Alu(CmpNe, v) }

// Eq is u == v, written not u != v.
func (u *UOp) Eq(v *UOp) *UOp { return u.Ne(v).Not() }

// And is u & v.
func (u *UOp) And(v *UOp) *UOp { return u.Alu(And, v) }

// Or is u | v.
func (u *UOp) Or(v *UOp) *UOp { return u.Alu(Or, v) }

// Xor is u ^ v.
func (u *UOp) Xor(v *UOp) *UOp { return u.Alu(Xor, v) }

// Shl is u << v.
func (u *UOp) Shl(v *UOp) *UOp { return u.Alu(Shl, v) }

// Shr is u >> v.
func (u *UOp) Shr(v *UOp) *UOp { return u.Alu(Shr, v) }

// Maximum is max(u, v).
func (u *UOp) Maximum(v *UOp) *UOp { return u.Alu(Max, v) }

// Minimum is -max(-u, -v).
func (u *UOp) Minimum(v *UOp) *UOp { return u.Neg().Maximum(v.Neg()).Neg() }

// Where is a where u, else b.
func (u *UOp) Where(a, b *UOp) *UOp { return u.Alu(Where, a, b) }

// Recip is 1/u.
func (u *UOp) Recip() *UOp { return u.Alu(Reciprocal) }

// Exp2 is 2**u.
func (u *UOp) Exp2() *UOp { return u.Alu(Exp2) }

// Log2 is log2(u).
func (u *UOp) Log2() *UOp { return u.Alu(Log2) }

// Sin is sin(u).
func (u *UOp) Sin() *UOp { return u.Alu(Sin) }

// Sqrt is the square root of u.
func (u *UOp) Sqrt() *UOp { return u.Alu(Sqrt) }

// TruncF rounds towards zero.
func (u *UOp) TruncF() *UOp { return u.Alu(Trunc) }

// Cast converts to another type; the number of vector elements is kept.
func (u *UOp) Cast(dt *DType) *UOp {
	if dt.Count == 1 && u.DType.Count != 1 {
		dt = dt.Vec(u.DType.Count)
	}
	if u.DType == dt {
		return u
	}
	room := [1]*UOp{u}
	return u.g.NewCopy(Cast, dt, room[:], nil, nil)
}

// BitcastTo reinterprets the bits as another type.
func (u *UOp) BitcastTo(dt *DType) *UOp { return u.g.New(Bitcast, dt, []*UOp{u}, nil, nil) }

// GepN selects one element of a vector.
func (u *UOp) GepN(i int) *UOp {
	switch u.Op {
	case Vectorize:
		return u.Src[i]
	case VConstOp:
		return u.g.Const(u.DType.Scalar(), u.Arg.(Consts)[i])
	case ConstOp:
		return u.g.Const(u.DType.Scalar(), u.Arg.(Const))
	}
	room := [1]*UOp{u}
	return u.g.NewCopy(Gep, u.DType.Scalar(), room[:], oneNum(i), nil)
}

// GepList selects elements of a vector; one index gives a scalar.
func (u *UOp) GepList(is []int) *UOp {
	if len(is) == 1 {
		return u.GepN(is[0])
	}
	return u.g.New(Gep, u.DType.Scalar().Vec(len(is)), []*UOp{u}, Nums(is), nil)
}

// Vec makes a VECTORIZE of the given nodes.
func (g *Graph) Vec(src ...*UOp) *UOp {
	return g.New(Vectorize, src[0].DType.Vec(len(src)), src, nil, nil)
}

// Broadcast repeats a value n times as a vector.
func (u *UOp) Broadcast(n int) *UOp {
	if n == 1 {
		return u
	}
	src := make([]*UOp, n)
	for i := range src {
		src[i] = u
	}
	return u.g.New(Vectorize, u.DType.Vec(n), src, nil, nil)
}

// IndexBy reads the element at idx: an INDEX of the pointee's type. Nil sources are left out.
func (u *UOp) IndexBy(idx ...*UOp) *UOp { return u.index(u.DType.Base(), idx) }

// IndexPtr is the INDEX that gives the pointer itself.
func (u *UOp) IndexPtr(idx ...*UOp) *UOp { return u.index(u.DType, idx) }

// IndexAs is the INDEX with a given type.
func (u *UOp) IndexAs(dt *DType, idx ...*UOp) *UOp { return u.index(dt, idx) }

func (u *UOp) index(dt *DType, idx []*UOp) *UOp {
	var room [3]*UOp
	src := append(room[:0], u)
	for _, i := range idx {
		if i != nil {
			src = append(src, i)
		}
	}
	return u.g.NewCopy(Index, dt, src, nil, nil)
}

func (u *UOp) prepend(op Op, dt *DType, more []*UOp, arg Arg) *UOp {
	src := make([]*UOp, 0, len(more)+1)
	return u.g.New(op, dt, append(append(src, u), more...), arg, nil)
}

// Load makes a LOAD through pointer u.
func (u *UOp) Load(more ...*UOp) *UOp { return u.prepend(Load, u.DType.Base(), more, nil) }

// Store makes a STORE of v through pointer u.
func (u *UOp) Store(v *UOp, more ...*UOp) *UOp {
	return u.prepend(Store, Void, append([]*UOp{v}, more...), nil)
}

// EndRanges makes an END of the given ranges; none leaves u as it is.
func (u *UOp) EndRanges(rngs ...*UOp) *UOp {
	if len(rngs) == 0 {
		return u
	}
	return u.prepend(End, Void, rngs, nil)
}

// AfterOps makes an AFTER: u, once the given nodes are done.
func (u *UOp) AfterOps(deps ...*UOp) *UOp {
	if len(deps) == 0 {
		return u
	}
	return u.prepend(After, u.DType, deps, nil)
}

// AssignTo makes an ASSIGN of v to u.
func (u *UOp) AssignTo(v *UOp) *UOp { return u.g.New(Assign, u.DType, []*UOp{u, v}, nil, nil) }

// ReduceOver makes a REDUCE over ranges.
func (u *UOp) ReduceOver(op Op, rngs ...*UOp) *UOp {
	return u.prepend(Reduce, u.DType, rngs, OpArg(op))
}

// DetachOp stops gradients.
func (u *UOp) DetachOp() *UOp { return u.F(Detach, nil, nil) }

// ContiguousOp asks for a buffer of its own; a buffer or CONTIGUOUS stays as it is.
func (u *UOp) ContiguousOp() *UOp {
	switch {
	case u.Op == Contiguous || u.isBuffer():
		return u
	case u.DType.IsComplex():
		return u.both((*UOp).ContiguousOp)
	}
	return u.F(Contiguous, nil, nil)
}

// BindTo gives a DEFINE_VAR a value.
func (u *UOp) BindTo(v int64) *UOp { return u.g.New(Bind, u.DType, []*UOp{u, u.IntLike(v)}, nil, nil) }

// Unbind splits a BIND into its variable and value.
func (u *UOp) Unbind() (v *UOp, val int64) { return u.Src[0], u.Src[1].ConstVal().I() }

// ConstVal is the value of a CONST.
func (u *UOp) ConstVal() Const { return u.Arg.(Const) }

// IsConst reports whether u is a CONST equal (in Python's sense) to v.
func (u *UOp) IsConst(v Const) bool { return u.Op == ConstOp && u.Arg.(Const).Eq(v) }

// IsInvalid reports whether u is the Invalid constant.
func (u *UOp) IsInvalid() bool { return u.Op == ConstOp && u.Arg.(Const).IsInvalid() }

// RangeID is the arg of a RANGE.
func (u *UOp) RangeID() RangeArg { return u.Arg.(RangeArg) }

// LaunchIndex says what a SPECIAL counts: the work items of a workgroup (lidx0 …) or the workgroups (gidx0 …), in which
// dimension.
func (u *UOp) LaunchIndex() (item bool, dim int) {
	name := u.Arg.(Str)
	return name[0] == 'l', int(name[len(name)-1] - '0')
}

// Valid makes an index that is Invalid where cond is false.
func (u *UOp) Valid(cond *UOp) *UOp { return cond.Where(u, u.g.InvalidIndex(u.DType.Count)) }

// GetIdx is the index without its validity.
func (u *UOp) GetIdx() *UOp {
	if u.Op == Where && u.Src[2].IsInvalid() {
		return u.Src[1]
	}
	return u
}

// GetValid is the condition under which an index may be used.
func (u *UOp) GetValid() *UOp {
	if u.Op == Where && u.Src[2].IsInvalid() {
		return u.Src[0]
	}
	return u.g.ConstBool(!u.IsInvalid())
}

// Base is the node below movement operations, MULTI and DETACH.
func (u *UOp) Base() *UOp {
	for GroupMovement.Has(u.Op) || u.Op == Multi || u.Op == Detach {
		u = u.Src[0]
	}
	return u
}

// isBuffer reports whether u is a buffer, perhaps reshaped.
func (u *UOp) isBuffer() bool {
	for u.Op == Reshape || u.Op == Multi {
		u = u.Src[0]
	}
	return u.Op == Buffer || u.Op == Param || u.Op == Complex && len(u.Src) == 1
}

// BufUOp is the buffer that u reads from or writes to.
func (u *UOp) BufUOp() *UOp {
	switch {
	case u.Op == Buffer || u.Op == Param:
		return u
	case u.Op == MSelect:
		return u.g.New(MSelect, u.DType, []*UOp{u.Src[0].BufUOp()}, u.Arg, nil)
	case u.Base().Op == After:
		return u.Base().Src[0].BufUOp().Base()
	}
	s := u
	for len(s.Src) > 0 && s.Op != Buffer && s.Op != Param && s.Op != Bufferize && s.Op != MStack {
		s = s.Src[0]
	}
	return s
}

// IdentityElement is the value that leaves op unchanged: 0 for ADD and OR, 1 for MUL, the least value for MAX.
func IdentityElement(op Op, dt *DType) Const {
	switch op {
	case Add, Or:
		return Int(0).As(dt)
	case Mul:
		return Int(1).As(dt)
	case Max:
		return dt.Min().As(dt)
	}
	panic("uop.IdentityElement: " + op.String() + " has none")
}

// PopConst splits op(x, c) into x and c; any other node gives itself and the identity element.
func (u *UOp) PopConst(op Op) (*UOp, Const) {
	if u.Op == op && u.Src[1].Op == ConstOp {
		return u.Src[0], u.Src[1].ConstVal()
	}
	return u, IdentityElement(op, u.DType)
}

// mostOperands is where SplitUOp ends: a node that is used twice is listed twice, so 30 squarings would be 2^30 factors.
const mostOperands = 1024

// SplitUOp lists the operands of a tree of sep operations from left to right. Behind the first thousand, operations are
// listed as they are.
func (u *UOp) SplitUOp(sep Op) []*UOp { return u.appendSplit(sep, nil) }

func (u *UOp) appendSplit(sep Op, out []*UOp) []*UOp {
	if u.Op != sep || len(out) >= mostOperands {
		return append(out, u)
	}
	for _, s := range u.Src {
		out = s.appendSplit(sep, out)
	}
	return out
}

// SumOf folds the nodes with + from the left (| for bool).
func SumOf(us ...*UOp) *UOp { return fold(us, Add, Or) }

// ProdOf folds the nodes with * from the left (& for bool).
func ProdOf(us ...*UOp) *UOp { return fold(us, Mul, And) }

func fold(us []*UOp, op, boolOp Op) *UOp {
	if us[0].DType == Bool {
		op = boolOp
	}
	r := us[0]
	for _, u := range us[1:] {
		r = r.Alu(op, u)
	}
	return r
}
