package uop

// lattice is the promotion lattice: each type and the types directly above it.
// See https://docs.jax.dev/en/latest/jep/9407-type-promotion.html
var lattice = map[*DType][]*DType{
	Bool: {Int8, Uint8}, Int8: {Int16}, Int16: {Int32}, Int32: {Int64}, Int64: {Uint64},
	Uint8: {Int16, Uint16}, Uint16: {Int32, Uint32}, Uint32: {Int64, Uint64}, Uint64: {FP8E4M3, FP8E5M2},
	FP8E5M2: {Float16, BFloat16}, FP8E4M3: {Float16, BFloat16}, Float16: {Float32}, BFloat16: {Float32}, Float32: {Float64, Complex64},
	Float64: {Complex128}, Complex64: {Complex128},
}

// promoted are the types of the lattice, in order of priority.
var promoted = append(append([]*DType(nil), Scalars...), Complexes...)

// above[p] is the set of types that the type of priority p promotes to, itself included: bit q is the type of priority q.
var above = func() [17]uint32 {
	var up [17]uint32
	var walk func(d *DType) uint32
	walk = func(d *DType) uint32 {
		m := uint32(1) << d.Priority
		for _, p := range lattice[d] {
			m |= walk(p)
		}
		return m
	}
	for _, d := range promoted {
		up[d.Priority] = walk(d)
	}
	return up
}()

// LeastUpper is the smallest type that every given type promotes to.
func LeastUpper(ds ...*DType) *DType {
	m := ^uint32(0)
	for _, d := range ds {
		m &= above[d.Scalar().Priority]
	}
	if len(ds) > 0 && m == above[ds[0].Scalar().Priority] { // the first is the least upper bound
		return ds[0].Scalar()
	}
	for _, d := range promoted { // ascending by priority, which is the first key of Less
		if m&(1<<d.Priority) != 0 {
			return d
		}
	}
	return Float64
}

// LeastUpperFloat is d itself if it is a float or complex, else the float it promotes to.
func LeastUpperFloat(d *DType) *DType {
	if d.IsDifferentiable() {
		return d
	}
	return LeastUpper(d, DefaultFloat)
}

// SumAcc is the type in which a sum over values of type d accumulates.
func SumAcc(d *DType) *DType {
	switch {
	case d == Float32 || d == Float64 || d.IsComplex(): // by far the most frequent
		return d
	case d == Bool || d == Int32:
		return Int32
	case d.IsUnsigned():
		return LeastUpper(d, Uint32)
	case d.IsInt():
		return LeastUpper(d, Int32)
	}
	return LeastUpper(d, Float32)
}

var lossless = map[*DType][]*DType{
	Float64: {Float32, Float16, BFloat16, FP8E4M3, FP8E5M2, Uint32, Uint16, Uint8, Int32, Int16, Int8},
	Float32: {Float16, BFloat16, FP8E4M3, FP8E5M2, Uint16, Uint8, Int16, Int8},
	Float16: {FP8E4M3, FP8E5M2, Uint8, Int8},
	Uint64:  {Uint32, Uint16, Uint8},
	Uint32:  {Uint16, Uint8},
	Uint16:  {Uint8},
	Int64:   {Uint32, Uint16, Uint8, Int32, Int16, Int8},
	Int32:   {Uint16, Uint8, Int16, Int8},
	Int16:   {Uint8, Int8},
}

// CanLosslessCast reports whether every value of from has the same value in to.
func CanLosslessCast(from, to *DType) bool {
	if from == to || from == Bool {
		return true
	}
	if to == IndexT {
		return from.IsInt() && from != IndexT && from.Count == 1 && !from.IsPtr()
	}
	for _, d := range lossless[to] {
		if d == from {
			return true
		}
	}
	return false
}

// Min is the least value of the type: the least integer, minus infinity, or false.
func (d *DType) Min() Const {
	s := d.Scalar()
	switch {
	case s.IsInt():
		if s.IsUnsigned() {
			return Int(0)
		}
		return Int(1).Shl(Int(int64(s.Bits - 1))).Neg()
	case s.IsFloat():
		return negInf
	}
	return BoolConst(false)
}

// Max is the greatest value of the type: the greatest integer, infinity, or true.
func (d *DType) Max() Const {
	s := d.Scalar()
	switch {
	case s.IsInt():
		n := s.Bits
		if !s.IsUnsigned() {
			n--
		}
		return Int(1).Shl(Int(int64(n))).Sub(Int(1))
	case s.IsFloat():
		return posInf
	}
	return BoolConst(true)
}

// FloatInfo gives the exponent and mantissa bits of a floating point type.
func (d *DType) FloatInfo() (exponent, mantissa int) {
	switch d.Scalar() {
	case Float16:
		return 5, 10
	case BFloat16:
		return 8, 7
	case Float32:
		return 8, 23
	case Float64:
		return 11, 52
	case FP8E5M2:
		return 5, 2
	case FP8E4M3:
		return 4, 3
	}
	panic("uop.DType.FloatInfo: " + d.String() + " is not a floating point type")
}
