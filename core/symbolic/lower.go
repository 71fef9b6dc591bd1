package symbolic

import "polygrad/core/uop"

// concrete is the integer type that holds every value of u: int32, or int64 if it has to be.
func concrete(u *uop.UOp) *uop.DType {
	if u.Overflows(uop.Int32) {
		return uop.Int64.Vec(u.DType.Count)
	}
	return uop.Int32.Vec(u.DType.Count)
}

// lowerBinary computes an index operation in a type that holds the operands and the result.
func lowerBinary(u, x, y *uop.UOp) *uop.UOp {
	dt := signedIndex(uop.LeastUpper(concrete(u), x.DType, y.DType))
	return x.Cast(dt).Alu(u.Op, y.Cast(dt)).Cast(u.DType)
}

// signedIndex is int64 for uint64, in which -1, the index of no element, is a large number.
func signedIndex(dt *uop.DType) *uop.DType {
	if dt.Scalar() == uop.Uint64 {
		return uop.Int64.Vec(dt.Count)
	}
	return dt
}

func lowerConst(u *uop.UOp) *uop.UOp {
	if u.IsInvalid() {
		return nil
	}
	return u.WithDType(concrete(u)).Cast(u.DType)
}

func lowerWhere(cond, x, y *uop.UOp) *uop.UOp {
	dt := signedIndex(uop.LeastUpper(x.DType, y.DType))
	return cond.Where(x.Cast(dt), y.Cast(dt)).Cast(uop.IndexT)
}

func lowerRange(u, end *uop.UOp) *uop.UOp {
	return u.Graph().New(u.Op, end.DType, []*uop.UOp{end}, u.Arg, u.Tag).Cast(uop.IndexT)
}

func lowerVector(u *uop.UOp) *uop.UOp {
	dt := concrete(u)
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = s.Src[0].Cast(dt.Scalar())
	}
	return u.Graph().New(u.Op, dt, src, u.Arg, u.Tag).Cast(uop.IndexT)
}

// lowerSpecial gives a launch index int32, the only type it can have.
func lowerSpecial(u, size *uop.UOp) *uop.UOp {
	return u.Graph().New(u.Op, uop.Int32, []*uop.UOp{size}, u.Arg, u.Tag).Cast(uop.IndexT)
}

func lowerVariable(u *uop.UOp) *uop.UOp { return u.WithDType(uop.Int32).Cast(uop.IndexT) }

func lowerBind(v, value *uop.UOp) *uop.UOp {
	return v.Graph().New(uop.Bind, v.DType, []*uop.UOp{v, value}, nil, nil).Cast(uop.IndexT)
}

// indexPointer is the address of an element, where cond holds.
func indexPointer(buf *uop.UOp, idx ...*uop.UOp) *uop.UOp { return buf.IndexPtr(idx...) }

// dropIndexCasts takes the casts to index off the sources.
func dropIndexCasts(u *uop.UOp) *uop.UOp {
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		if s.Op == uop.Cast && s.DType == uop.IndexT {
			s = s.Src[0]
		}
		src[i] = s
	}
	return u.With(src...)
}
