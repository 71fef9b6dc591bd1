package uop

import (
	"fmt"
	"slices"
	"strconv"
)

// Sint is a size: a number, or a node of type index where it is symbolic.
type Sint struct {
	N int64
	U *UOp
}

// N makes a numeric size.
func N(n int64) Sint { return Sint{N: n} }

// S makes a size from a node; a constant becomes a number.
func S(u *UOp) Sint {
	if u.Op == ConstOp {
		return Sint{N: u.ConstVal().I()}
	}
	return Sint{U: u}
}

// IsNum reports whether the size is the number n.
func (s Sint) IsNum(n int64) bool { return s.U == nil && s.N == n }

// Symbolic reports whether the size is a node.
func (s Sint) Symbolic() bool { return s.U != nil }

// UOp is the size as an index node of graph g.
func (s Sint) UOp(g *Graph) *UOp {
	if s.U != nil {
		return s.U.Cast(IndexT)
	}
	return g.ConstInt(s.N)
}

// Max is the greatest value the size can have.
func (s Sint) Max() int64 {
	if s.U != nil {
		_, hi := s.U.Bounds()
		v, _ := hi.Int64()
		return v
	}
	return s.N
}

// String prints the size.
func (s Sint) String() string {
	if s.U == nil {
		return strconv.FormatInt(s.N, 10)
	}
	u := s.U
	if u.Op == Cast && u.DType == IndexT { // of a variable
		u = u.Src[0]
	}
	return u.Render()
}

func (s Sint) binary(o Sint, num func(a, b int64) int64, sym func(a, b *UOp) *UOp) Sint {
	if s.U == nil && o.U == nil {
		return N(num(s.N, o.N))
	}
	u := s.U
	if u == nil {
		u = o.U
	}
	return S(u.g.simplest(sym(s.UOp(u.g), o.UOp(u.g))))
}

// Add is s + o, simplified.
func (s Sint) Add(o Sint) Sint {
	return s.binary(o, func(a, b int64) int64 { return a + b }, (*UOp).Add)
}

// Sub is s - o, simplified.
func (s Sint) Sub(o Sint) Sint {
	return s.binary(o, func(a, b int64) int64 { return a - b }, (*UOp).Sub)
}

// Mul is s * o, simplified.
func (s Sint) Mul(o Sint) Sint {
	return s.binary(o, func(a, b int64) int64 { return a * b }, (*UOp).Mul)
}

// Div is s // o, simplified; sizes are not negative.
func (s Sint) Div(o Sint) Sint {
	return s.binary(o, func(a, b int64) int64 { return Int(a).FloorDiv(Int(b)).I() }, (*UOp).Idiv)
}

// Shape is the shape of a tensor. A nil Shape means that a node has none; a scalar has an empty one.
type Shape []Sint

// ShapeOf makes a shape of numbers.
func ShapeOf(dims ...int64) Shape {
	s := make(Shape, len(dims))
	for i, d := range dims {
		s[i] = N(d)
	}
	return s
}

func ones(n int) Shape {
	s := make(Shape, n)
	for i := range s {
		s[i] = N(1)
	}
	return s
}

// Equal reports whether two shapes are the same, and both exist or neither does.
func (s Shape) Equal(o Shape) bool {
	return (s == nil) == (o == nil) && equalSlices(s, o)
}

// Numel is the product of the sizes.
func (s Shape) Numel() Sint {
	p := N(1)
	for _, d := range s {
		p = p.Mul(d)
	}
	return p
}

// MaxNumel is the product of the greatest values of the sizes.
func (s Shape) MaxNumel() int64 {
	p := int64(1)
	for _, d := range s {
		p *= d.Max()
	}
	return p
}

// Ints is the shape as numbers; ok is false if a size is symbolic.
func (s Shape) Ints() (dims []int64, ok bool) {
	dims = make([]int64, len(s))
	for i, d := range s {
		if d.U != nil {
			return nil, false
		}
		dims[i] = d.N
	}
	return dims, true
}

// String prints the shape as a tuple.
func (s Shape) String() string { return tuple(s, Sint.String) }

// Pair is the begin and end of one axis: the two paddings of PAD, or the bounds of SHRINK.
type Pair struct {
	Lo, Hi Sint
}

func (g *Graph) sizes(n int, at func(int) Sint) *UOp {
	allNum := true
	for i := range n {
		allNum = allNum && at(i).U == nil
	}
	dt := IndexT.Vec(n)
	if n == 0 {
		return g.New(Vectorize, IndexT.vec0(), nil, nil, nil)
	}
	if allNum {
		cs := make([]Const, n)
		for i := range cs {
			cs[i] = Int(at(i).N)
		}
		return g.ConstVec(dt, cs)
	}
	src := make([]*UOp, n)
	for i := range src {
		src[i] = g.simplest(at(i).UOp(g))
	}
	return g.New(Vectorize, dt, src, nil, nil)
}

// vec0 is the empty vector type, used by the shape argument of a scalar.
func (d *DType) vec0() *DType {
	return intern(dtypeKey{of: d, count: 0}, func() *DType {
		return &DType{Priority: d.Priority, Name: d.text + "0", Count: 0, scalar: d, VCnt: 0, Size: -1, text: d.text + ".vec(0)"}
	})
}

// ShapeArg is the index vector that carries a shape as a source.
func (g *Graph) ShapeArg(s Shape) *UOp {
	at, found := g.recent.shape(s)
	if found {
		return *at
	}
	u := g.sizes(len(s), func(i int) Sint { return s[i] })
	if at != nil && len(s) > 0 {
		*at = u
	}
	return u
}

func (u *UOp) pairs(op Op, ps []Pair) *UOp {
	lo := u.g.sizes(len(ps), func(i int) Sint { return ps[i].Lo })
	hi := u.g.sizes(len(ps), func(i int) Sint { return ps[i].Hi })
	return u.g.NewCopy(op, u.DType, []*UOp{u, lo, hi}, nil, nil)
}

func (u *UOp) unlessSame(v *UOp) *UOp {
	if v.Shape().Equal(u.Shape()) {
		return u
	}
	return v
}

// Reshape gives the elements another shape of the same size; the same shape gives u itself.
func (u *UOp) Reshape(s Shape) *UOp { return u.unlessSame(u.ForcedReshape(s)) }

// ForcedReshape is Reshape that makes a node even if the shape stays the same.
func (u *UOp) ForcedReshape(s Shape) *UOp {
	return u.g.NewCopy(Reshape, u.DType, []*UOp{u, u.g.ShapeArg(s)}, nil, nil)
}

// Expand repeats axes of size 1.
func (u *UOp) Expand(s Shape) *UOp {
	return u.unlessSame(u.g.NewCopy(Expand, u.DType, []*UOp{u, u.g.ShapeArg(s)}, nil, nil))
}

// Permute reorders the axes; the identity gives u itself.
func (u *UOp) Permute(order []int) *UOp {
	same := true
	for i, o := range order {
		same = same && i == o
	}
	if same {
		return u
	}
	return u.g.NewCopy(Permute, u.DType, []*UOp{u}, Nums(order), nil)
}

// Flip reverses the axes with a set flag.
func (u *UOp) Flip(flags []bool) *UOp {
	for _, f := range flags {
		if f {
			return u.g.New(Flip, u.DType, []*UOp{u}, Flags(flags), nil)
		}
	}
	return u
}

// Pad adds zeros before and after each axis.
func (u *UOp) Pad(ps []Pair) *UOp { return u.unlessSame(u.pairs(Pad, ps)) }

// Shrink keeps Lo..Hi-1 of each axis.
func (u *UOp) Shrink(ps []Pair) *UOp { return u.unlessSame(u.pairs(Shrink, ps)) }

// ReduceAxes reduces over axes (kept as size 1). Axes of size 1 are left out; none gives u itself.
func (u *UOp) ReduceAxes(op Op, axes ...int) *UOp {
	s := u.Shape()
	keep := make([]bool, len(s))
	for _, a := range axes {
		keep[a] = !s[a].IsNum(1)
	}
	var out []int
	for a, k := range keep {
		if k {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return u
	}
	return u.g.New(ReduceAxis, u.DType, []*UOp{u}, AxisReduce{op, out}, nil)
}

// PrefixAlong is the running reduction of u, and of further operands, along an axis; PrefixArg says what it computes.
func (u *UOp) PrefixAlong(a PrefixArg, more ...*UOp) *UOp {
	if u.Shape()[a.Axis].IsNum(1) {
		switch src := append([]*UOp{u}, more...); {
		case len(src) > a.Operands():
			return a.Step(src[a.Operands()], src[:a.Operands()])
		default:
			return src[a.Operands()-1] // it begins with the identity element
		}
	}
	return u.g.New(PrefixAxis, u.DType, append([]*UOp{u}, more...), a, nil)
}

// ScatterTo is SCATTER: u with elements changed by x at the positions of an index.
func (u *UOp) ScatterTo(a ScatterArg, index, x *UOp) *UOp {
	return u.g.New(Scatter, u.DType, []*UOp{u, u.g.New(Loops, Void, []*UOp{index, x}, Num(a.Axis), nil)}, a, nil)
}

// StoreWhole is a SCATTER that stores all elements of a tensor of the shape of u: pairs are indices, each followed by its values.
func (u *UOp) StoreWhole(axis int, pairs ...*UOp) *UOp {
	a := ScatterArg{Op: Store, Axis: axis, Checked: true, Whole: true}
	return u.g.New(Scatter, u.DType, []*UOp{u, u.g.New(Loops, Void, pairs, Num(-1), nil)}, a, nil)
}

// FetchFrom is FETCH: for each position of an index, the element of u just before the SCATTER with the same arguments changes it.
func (u *UOp) FetchFrom(a ScatterArg, index, x *UOp) *UOp {
	return u.g.New(Fetch, u.DType, []*UOp{index, x, u.g.New(Loops, Void, []*UOp{u}, Num(-1), nil)}, a, nil)
}

// RepeatOn is REPEAT: the statements update the states and only read the tensors in read. The results are the final states.
func (g *Graph) RepeatOn(a RepeatArg, statements []*UOp, states, read []*UOp) []*UOp {
	src := append([]*UOp{g.Sink(nil, statements...)}, states...)
	u := g.New(Repeat, Void, append(src, read...), a, nil)
	out := make([]*UOp, len(states))
	for i, s := range states {
		out[i] = g.New(Result, s.DType, []*UOp{u}, Num(i), nil)
	}
	return out
}

// ReadersFirst orders the ASSIGNs in the body of a REPEAT, which run one after the other, so that each one reads the values from before all of them.
// ASSIGNs that read each other's targets are left to the scheduler.
func ReadersFirst(writes []*UOp) []*UOp {
	reads := make([]map[*UOp]bool, len(writes))
	for i, w := range writes {
		reads[i] = map[*UOp]bool{}
		seen, stack := map[*UOp]bool{}, []*UOp{w.Src[1]}
		for len(stack) > 0 {
			u := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[u] {
				continue
			}
			seen[u] = true
			if u.Op == Repeat {
				stack = append(stack, u.Src[1:]...) // the statements read only these
			} else {
				stack = append(stack, u.Src...)
			}
			if u.Op == Param {
				reads[i][u] = true
			}
		}
	}
	var out []*UOp
	left := make([]int, len(writes))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		at := slices.IndexFunc(left, func(i int) bool {
			target := writes[i].Src[0].Base()
			return !slices.ContainsFunc(left, func(j int) bool { return j != i && reads[j][target] })
		})
		if at < 0 {
			at = 0
		}
		out, left = append(out, writes[left[at]]), slices.Delete(left, at, at+1)
	}
	return out
}

// NeighbourAlong shifts u along the axis of a prefix: each element becomes its neighbour one step before (-1) or after (1) in the direction of the
// prefix, or value where there is none.
func (u *UOp) NeighbourAlong(p PrefixArg, step int64, value Const) *UOp {
	if p.Reverse {
		step = -step
	}
	s := u.Shape()
	keep, pads := make([]Pair, len(s)), make([]Pair, len(s))
	for i, d := range s {
		keep[i], pads[i] = Pair{N(0), d}, Pair{N(0), N(0)}
	}
	if step < 0 {
		keep[p.Axis].Hi, pads[p.Axis].Lo = s[p.Axis].Sub(N(1)), N(1)
	} else {
		keep[p.Axis].Lo, pads[p.Axis].Hi = N(1), N(1)
	}
	return u.Shrink(keep).PadWith(pads, value)
}

// PadWith adds a value before and after each axis.
func (u *UOp) PadWith(ps []Pair, value Const) *UOp {
	padded := u.Pad(ps)
	if !value.Truth() || padded == u {
		return padded
	}
	inside := u.ConstLike(Int(1)).Cast(Bool).Pad(ps)
	return inside.Where(padded, padded.ConstLike(value))
}

// sizeAt is element i of an index vector.
func (u *UOp) sizeAt(i int) Sint {
	switch u.Op {
	case ConstOp:
		return N(u.ConstVal().I())
	case VConstOp:
		return N(u.Arg.(Consts)[i].I())
	case Vectorize:
		return S(u.Src[i])
	}
	panic("uop: no size in " + u.Op.String())
}

// ShapeVec is the shape in an index vector, a source of RESHAPE, EXPAND and PARAM.
func (u *UOp) ShapeVec() Shape {
	s := make(Shape, u.DType.Count)
	for i := range s {
		s[i] = u.sizeAt(i)
	}
	return s
}

// MovementShape is the target shape of a RESHAPE or EXPAND.
func (u *UOp) MovementShape() Shape { return u.Src[1].ShapeVec() }

// MovementPairs are the pairs of a PAD or SHRINK.
func (u *UOp) MovementPairs() []Pair {
	ps := make([]Pair, u.Src[1].DType.Count)
	for i := range ps {
		ps[i] = Pair{u.Src[1].sizeAt(i), u.Src[2].sizeAt(i)}
	}
	return ps
}

// Shape is the shape of u, nil if it has none. A node whose sources contradict
// each other panics: core/tensor checks its arguments before it builds nodes.
func (u *UOp) Shape() Shape {
	if u.traits&mayHaveShape == 0 {
		return nil
	}
	p := u.tensorProps()
	if p.hasShape {
		return p.shape
	}
	if u.sourcesAre(shapeKnown) { // the usual case: nodes are asked as they are built
		p.shape = u.computeShape()
		p.hasShape = true
		return p.shape
	}
	for _, x := range u.ToposortGated(func(x *UOp) bool { return x.t == nil || !x.t.hasShape }) {
		q := x.tensorProps()
		q.shape = x.computeShape()
		q.hasShape = true
	}
	return p.shape
}

func shapeKnown(u *UOp) bool { return u.traits&mayHaveShape == 0 || u.t != nil && u.t.hasShape }

func deviceKnown(u *UOp) bool { return u.traits&mayHaveDevice == 0 || u.t != nil && u.t.hasDevice }

func (u *UOp) sourcesAre(f func(*UOp) bool) bool {
	for _, s := range u.Src {
		if !f(s) {
			return false
		}
	}
	return true
}

var noShape = Ops(Unique, LUnique, Device, Range, Load, If, Barrier, Custom, CustomI, Vectorize, VConstOp, Gep, Special,
	Unroll, Contract, Cat, PtrCat, Sink, Linear, Program, Source, Binary, Ins, EndIf, Loops, Repeat)

var shapeOfSrc0 = Ops(Reduce, MStack, MSelect, Detach, Contiguous, ContiguousBackward, After, End, Call, CustomGradient, Scatter)

func (u *UOp) computeShape() Shape {
	switch {
	case noShape.Has(u.Op):
		return nil
	case shapeOfSrc0.Has(u.Op):
		return u.Src[0].Shape()
	}
	switch u.Op {
	case Index:
		ps := u.Src[0].Shape()
		if !u.DType.IsPtr() || ps == nil || len(u.Src)-1 >= len(ps) {
			return nil
		}
		return ps[len(u.Src)-1:]
	case ConstOp, DefineVar, Bind:
		if u.Device() != "" {
			return Shape{}
		}
		return nil
	case Buffer:
		return Shape{N(int64(u.Arg.(Num)))}
	case BufferView:
		return Shape{N(u.Arg.(ViewArg).Size)}
	case Bufferize:
		s := make(Shape, len(u.Src)-1)
		for i, r := range u.Src[1:] {
			_, hi := r.Bounds()
			s[i] = N(hi.I() + 1)
		}
		return s
	case DefineLocal, DefineReg:
		return Shape{N(u.DType.Size)}
	case Param:
		if u.DType.IsPtr() {
			return Shape{N(u.DType.Size)}
		}
		if len(u.Src) >= 1 && u.Src[0].Op != Noop {
			return u.Src[0].ShapeVec()
		}
		return nil
	case Bitcast:
		ps := u.Src[0].Shape()
		in, out := int64(u.Src[0].DType.Itemsize()), int64(u.DType.Itemsize())
		if len(ps) == 0 || in == out {
			return ps
		}
		s := append(Shape(nil), ps...)
		s[len(s)-1] = s[len(s)-1].Mul(N(in)).Div(N(out))
		return s
	case Complex:
		s := u.Src[0].Shape()
		if len(u.Src) == 1 {
			return Shape{s[0].Div(N(2))}
		}
		return s
	case Assign:
		return u.Src[1].Shape()
	case Result:
		return u.Src[0].Src[1+int(u.Arg.(Num))].Shape()
	case Store:
		// What is stored in a buffer may have another shape with as many elements; then the node has none.
		if to, from := u.Src[0].Shape(), u.Src[1].Shape(); to != nil && from != nil && !to.Equal(from) {
			return nil
		}
	case Reshape:
		if u.Src[0].Shape() == nil {
			return u.MovementShape()
		}
	}
	if GroupMovement.Has(u.Op) || u.Op == ReduceAxis {
		return u.movementShape(u.Src[0].Shape())
	}
	return u.elementwiseShape()
}

func (u *UOp) elementwiseShape() Shape {
	var out Shape
	for _, s := range u.Src {
		sh := s.Shape()
		if sh == nil {
			continue
		}
		if out == nil {
			out = sh
		} else if !out.Equal(sh) {
			panic(fmt.Sprintf("uop: %s: sources have different shapes %s and %s", u.Op, out, sh))
		}
	}
	return out
}

func (u *UOp) movementShape(ps Shape) Shape {
	if ps == nil {
		panic(fmt.Sprintf("uop: %s: source %s has no shape", u.Op, u.Src[0].Op))
	}
	bad := func() { panic(fmt.Sprintf("uop: %s: bad argument for shape %s: %s", u.Op, ps, u.argText())) }
	switch u.Op {
	case Reshape:
		s := u.MovementShape()
		if ps.Numel() != s.Numel() {
			bad()
		}
		return s
	case Expand:
		s := u.MovementShape()
		if len(s) != len(ps) {
			bad()
		}
		for i := range s {
			if s[i] != ps[i] && !ps[i].IsNum(1) {
				bad()
			}
		}
		return s
	case Permute:
		order := u.Arg.(Nums)
		s := make(Shape, len(ps))
		if len(order) != len(ps) {
			bad()
		}
		for i, o := range order {
			s[i] = ps[o]
		}
		return s
	case Flip:
		if len(u.Arg.(Flags)) != len(ps) {
			bad()
		}
		return ps
	case Pad, Shrink:
		pairs := u.MovementPairs()
		if len(pairs) != len(ps) {
			bad()
		}
		s := make(Shape, len(ps))
		for i, p := range pairs {
			if u.Op == Pad {
				s[i] = ps[i].Add(p.Lo).Add(p.Hi)
			} else {
				s[i] = p.Hi.Sub(p.Lo)
			}
			if s[i].U == nil && s[i].N < 0 {
				bad()
			}
		}
		return s
	}
	s := append(Shape(nil), ps...)
	for _, a := range u.Arg.(AxisReduce).Axes {
		if a < 0 || a >= len(s) {
			bad()
		}
		s[a] = N(1)
	}
	return s
}

func (u *UOp) argText() string {
	if u.Arg != nil {
		return u.Arg.String()
	}
	switch u.Op {
	case Reshape, Expand:
		return u.MovementShape().String()
	case Pad, Shrink:
		return tuple(u.MovementPairs(), func(p Pair) string { return "(" + p.Lo.String() + "," + p.Hi.String() + ")" })
	}
	return ""
}

// Size is the greatest number of elements.
func (u *UOp) Size() int64 { return u.Shape().MaxNumel() }

// Device is the device a node lives on, "" if none.
func (u *UOp) Device() string {
	if u.traits&mayHaveDevice == 0 {
		return ""
	}
	p := u.tensorProps()
	if p.hasDevice {
		return p.device
	}
	if u.sourcesAre(deviceKnown) {
		p.device = u.computeDevice()
		p.hasDevice = true
		return p.device
	}
	for _, x := range u.ToposortGated(func(x *UOp) bool { return x.t == nil || !x.t.hasDevice }) {
		q := x.tensorProps()
		q.device = x.computeDevice()
		q.hasDevice = true
	}
	return p.device
}

func (u *UOp) computeDevice() string {
	switch u.Op {
	case Device:
		return u.Arg.String()
	case Bufferize:
		return u.Arg.(BufferizeOpts).Device
	case After:
		return u.Src[0].Device()
	case Copy, Buffer, AllReduce:
		return u.Src[1].Device()
	}
	for _, s := range u.Src {
		if d := s.Device(); d != "" {
			return d
		}
	}
	return ""
}
