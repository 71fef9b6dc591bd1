package uop

// A complex tensor is a pair of real planes. COMPLEX of two planes makes one; COMPLEX of a buffer of twice as many elements is memory in which real
// and imaginary parts alternate, as in C, Fortran and NumPy. The only other nodes that have a complex type or complex sources are movement operations
// and DETACH, so a view of a complex tensor is a chain of movement operations, like that of a real one. Programs contain only planes: Planes and
// Packed give the real tensors that a complex one consists of, and every store goes through Packed.

// The complex types. They are not among Scalars, since buffers have no complex type.
var (
	Complex64  = newScalar(15, 64, "float complex", 0, "complex64")
	Complex128 = newScalar(16, 128, "double complex", 0, "complex128")
	Complexes  = []*DType{Complex64, Complex128}
)

// IsComplex reports whether d is a complex type.
func (d *DType) IsComplex() bool { return d.Priority >= Complex64.Priority }

// IsDifferentiable reports whether gradients flow through tensors of the type: it is floating or complex.
func (d *DType) IsDifferentiable() bool { return d.Scalar().Priority >= FP8E4M3.Priority }

// Plane is the type of the planes of a complex type, and any other type itself.
func (d *DType) Plane() *DType {
	switch d {
	case Complex64:
		return Float32
	case Complex128:
		return Float64
	}
	return d
}

// ComplexOf is the complex type whose planes hold d: complex128 for float64, else complex64.
func ComplexOf(d *DType) *DType {
	switch {
	case d.IsComplex():
		return d
	case d == Float64:
		return Complex128
	}
	return Complex64
}

// A ComplexError is the panic of an operation that is given a complex tensor and is not defined for one.
type ComplexError struct {
	Op    Op
	DType *DType
}

func (e *ComplexError) Error() string { return e.Op.String() + " of " + e.DType.String() }

var complexOps = GroupMovement.Union(Ops(Complex, Detach))

// checkComplex panics if u has a complex type or a complex source and is neither COMPLEX, DETACH nor a movement operation.
func (u *UOp) checkComplex() {
	if complexOps.Has(u.Op) {
		return
	}
	if u.DType.IsComplex() {
		panic(&ComplexError{u.Op, u.DType})
	}
	for _, s := range u.Src {
		if s.DType.IsComplex() {
			panic(&ComplexError{u.Op, s.DType})
		}
	}
}

// ComplexPair is the complex tensor of two planes, which have the same shape and type.
func ComplexPair(re, im *UOp) *UOp {
	dt := Complex64
	if re.DType == Float64 {
		dt = Complex128
	}
	return re.g.New(Complex, dt, []*UOp{re, im}, nil, nil)
}

// NewComplexBuffer is memory for n complex elements: a buffer of 2n real ones.
func (g *Graph) NewComplexBuffer(device string, n int64, dt *DType) *UOp {
	return g.New(Complex, dt, []*UOp{g.NewBuffer(device, 2*n, dt.Plane())}, nil, nil)
}

// Storage is the node whose memory a tensor is a view of: the BUFFER below a complex tensor, otherwise Base.
func (u *UOp) Storage() *UOp {
	b := u.Base()
	for b.Op == Complex {
		b = b.Src[0].Base()
	}
	return b
}

// Planes are the real and the imaginary part of a complex tensor.
func (u *UOp) Planes() (re, im *UOp) {
	switch {
	case u.Op == Complex && len(u.Src) == 2:
		return u.Src[0], u.Src[1]
	case u.Op == Complex:
		return u.plane(0), u.plane(1)
	}
	re, im = u.Src[0].Planes()
	return u.on(re), u.on(im)
}

// plane is every second element of the buffer of a complex tensor, from element i on.
func (u *UOp) plane(i int64) *UOp {
	s := u.Shape()
	pairs := u.Src[0].Reshape(Shape{s[0], N(2)})
	return pairs.Shrink([]Pair{{N(0), s[0]}, {N(i), N(i + 1)}}).Reshape(s)
}

// on applies the operation of u, a movement or DETACH, to x, which has the shape of u's source.
func (u *UOp) on(x *UOp) *UOp {
	return u.g.New(u.Op, x.DType, append([]*UOp{x}, u.Src[1:]...), u.Arg, nil)
}

// Packed is a complex tensor as a real one with a last axis of 2: the layout of its memory. A real tensor is returned as it is.
func (u *UOp) Packed() *UOp {
	switch {
	case !u.DType.IsComplex():
		return u
	case u.Op == Complex && len(u.Src) == 1:
		return u.Src[0].Reshape(Shape{u.Shape()[0], N(2)})
	case u.Op == Complex:
		if p := packedAlready(u.Src[0], u.Src[1]); p != nil {
			return p.Reshape(append(append(Shape(nil), u.Shape()...), N(2)))
		}
		return interleave(u.Src[0], u.Src[1])
	}
	x := u.Src[0].Packed()
	whole := Pair{N(0), N(2)}
	switch u.Op {
	case Detach:
		return x.DetachOp()
	case Reshape:
		return x.Reshape(append(u.MovementShape(), N(2)))
	case Expand:
		return x.Expand(append(u.MovementShape(), N(2)))
	case Permute:
		order := append([]int(nil), u.Arg.(Nums)...)
		return x.Permute(append(order, len(order)))
	case Flip:
		return x.Flip(append(append([]bool(nil), u.Arg.(Flags)...), false))
	case Pad:
		return x.Pad(append(u.MovementPairs(), Pair{N(0), N(0)}))
	case Shrink:
		return x.Shrink(append(u.MovementPairs(), whole))
	}
	panic("uop.Packed: " + u.Op.String())
}

// packedAlready is the packed tensor of which re and im are slices, 0 and 1 of its last axis; nil if there is none.
func packedAlready(re, im *UOp) *UOp {
	for re.Op == Reshape && im.Op == Reshape {
		re, im = re.Src[0], im.Src[0]
	}
	if re.Op != Shrink || im.Op != Shrink || re.Src[0] != im.Src[0] {
		return nil
	}
	p := re.Src[0]
	s, n := p.Shape(), len(p.Shape())-1
	first, second := re.MovementPairs(), im.MovementPairs()
	for i := range n {
		if !first[i].Lo.IsNum(0) || first[i].Hi != s[i] || second[i] != first[i] {
			return nil
		}
	}
	if !s[n].IsNum(2) || !first[n].Lo.IsNum(0) || !first[n].Hi.IsNum(1) || !second[n].Lo.IsNum(1) || !second[n].Hi.IsNum(2) {
		return nil
	}
	return p
}

// interleave makes two tensors of one shape elements 0 and 1 of a new last axis.
func interleave(a, b *UOp) *UOp {
	s := a.Shape()
	column := append(append(Shape(nil), s...), N(1))
	at := func(x *UOp, before int64) *UOp {
		ps := make([]Pair, len(column))
		for i := range ps {
			ps[i] = Pair{N(0), N(0)}
		}
		ps[len(s)] = Pair{N(before), N(1 - before)}
		return x.Reshape(column).Pad(ps)
	}
	return at(a, 0).Alu(Add, at(b, 1)).WithArg(Disjoint)
}

// Unpacked is the complex tensor of a real one with a last axis of 2.
func (u *UOp) Unpacked() *UOp {
	re, im := u.PackedPlanes()
	if im == nil {
		im = u.packedPlane(1)
	}
	return ComplexPair(re, im)
}

// PackedPlanes are the planes of a packed tensor: the tensors that Packed interleaved, otherwise slices. im is nil if the imaginary part is padding,
// which is 0.
func (u *UOp) PackedPlanes() (re, im *UOp) {
	if re = u.paddedPlane(0); re != nil {
		return re, nil
	}
	if u.Op == Add && u.Arg == Disjoint {
		if re, im = u.Src[0].paddedPlane(0), u.Src[1].paddedPlane(1); re != nil && im != nil {
			return re, im
		}
	}
	return u.packedPlane(0), u.packedPlane(1)
}

// packedPlane is a plane of a packed tensor, as a slice.
func (u *UOp) packedPlane(i int64) *UOp {
	s := u.Shape()
	n := len(s) - 1
	ps := make([]Pair, len(s))
	for k, d := range s[:n] {
		ps[k] = Pair{N(0), d}
	}
	ps[n] = Pair{N(i), N(i + 1)}
	return u.Shrink(ps).Reshape(s[:n])
}

// paddedPlane is plane i of u if the other plane is padding, else nil.
func (u *UOp) paddedPlane(i int64) *UOp {
	if u.Op != Pad {
		return nil
	}
	ps := u.MovementPairs()
	n := len(ps) - 1
	for _, p := range ps[:n] {
		if !p.Lo.IsNum(0) || !p.Hi.IsNum(0) {
			return nil
		}
	}
	if !ps[n].Lo.IsNum(i) || !ps[n].Hi.IsNum(1-i) {
		return nil
	}
	return u.Src[0].Reshape(u.Src[0].Shape()[:n])
}

// both applies an operation to both planes of a complex tensor.
func (u *UOp) both(f func(plane *UOp) *UOp) *UOp {
	re, im := u.Planes()
	return ComplexPair(f(re), f(im))
}
