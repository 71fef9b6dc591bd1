package schedule

import "polygrad/core/uop"

// axisSet is a set of axes, a bit for each.
type axisSet uint64

func (s axisSet) has(axis int) bool { return s>>axis&1 != 0 }

// uniformAxes are the axes along which a value does not vary: those of size 1, of constants, and of expands. of gives
// those of a source.
func uniformAxes(u *uop.UOp, of func(*uop.UOp) axisSet) axisSet {
	shape := u.Shape()
	all := axisSet(1)<<len(shape) - 1
	ones := onesOf(shape)
	switch {
	case u.Op == uop.ConstOp:
		return all
	case uop.GroupElementwise.Has(u.Op):
		out := all
		for _, s := range u.Src {
			if len(s.Shape()) == len(shape) {
				out &= of(s)
			}
		}
		return out | ones
	case u.Op == uop.ReduceAxis:
		return of(u.Src[0]) | ones
	case u.Op == uop.Reshape:
		return reshapedUniform(u.Src[0].Shape(), shape, of(u.Src[0])) | ones
	case u.Op == uop.Permute:
		out, in := axisSet(0), of(u.Src[0])
		for i, from := range u.Arg.(uop.Nums) {
			if in.has(from) {
				out |= 1 << i
			}
		}
		return out
	case u.Op == uop.Pad:
		out := of(u.Src[0])
		for i, p := range u.MovementPairs() {
			if !p.Lo.IsNum(0) || !p.Hi.IsNum(0) {
				out &^= 1 << i
			}
		}
		return out
	case uop.GroupMovement.Has(u.Op): // an axis that EXPAND repeats has size 1
		return of(u.Src[0]) | ones
	}
	return ones
}

// Uniform returns the axes along which a value certainly does not vary, a bit for each. seen has those of values that were asked for
// before.
func Uniform(u *uop.UOp, seen map[*uop.UOp]uint64) uint64 {
	if axes, ok := seen[u]; ok {
		return axes
	}
	axes := uint64(uniformAxes(u, func(s *uop.UOp) axisSet { return axisSet(Uniform(s, seen)) }))
	seen[u] = axes
	return axes
}

// reshapedUniform are the uniform axes of a reshaped value: those of which all axes of the source that are merged or split with
// them are uniform.
func reshapedUniform(in, out uop.Shape, uniform axisSet) axisSet {
	result := axisSet(0)
	eachReshaped(in, out, func(from, to axisSet) {
		if from&^uniform == 0 {
			result |= to
		}
	})
	return result
}

// eachReshaped calls f for each set of axes that a reshape merges and splits with one another.
func eachReshaped(in, out uop.Shape, f func(from, to axisSet)) {
	a, ok := in.Ints()
	b, known := out.Ints()
	if !ok || !known {
		return
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		from, to, n, m := axisSet(0), axisSet(0), int64(1), int64(1)
		for again := true; again; again = n != m {
			switch {
			case n <= m && i < len(a):
				n *= a[i]
				from |= 1 << i
				i++
			case j < len(b):
				m *= b[j]
				to |= 1 << j
				j++
			default:
				return
			}
		}
		f(from, to)
	}
}

// oneHotAxes are the axes along which a condition that compares an index with positions holds for at most one element, or a value is nonzero
// by such a condition. at returns the ranges of a source.
func oneHotAxes(u *uop.UOp, at func(*uop.UOp) *nodeRanges) axisSet {
	zero := func(u *uop.UOp) bool {
		return at(u).uniform == axisSet(1)<<len(u.Shape())-1 && !at(u).reads && u.Base().IsConst(uop.Int(0))
	}
	switch {
	case u.Op == uop.CmpNe || u.Op == uop.CmpEq:
		out := axisSet(0)
		for i, positions := range u.Src {
			p, number := at(positions), at(u.Src[1-i])
			varies := (axisSet(1)<<len(u.Shape()) - 1) &^ p.uniform
			if varies == 0 { // a constant, or a negation
				out |= number.oneHot
			} else if !p.reads && varies&(varies-1) == 0 && positions.DType.IsInt() {
				out |= varies & number.uniform
			}
		}
		return out
	case u.Op == uop.And:
		return at(u.Src[0]).oneHot | at(u.Src[1]).oneHot
	case u.Op == uop.Where && zero(u.Src[2]):
		return at(u.Src[0]).oneHot | at(u.Src[1]).oneHot
	case u.Op == uop.Where && zero(u.Src[1]):
		return at(u.Src[0]).oneHot | at(u.Src[2]).oneHot
	case u.Op == uop.Permute:
		out := axisSet(0)
		for i, from := range u.Arg.(uop.Nums) {
			if at(u.Src[0]).oneHot.has(from) {
				out |= 1 << i
			}
		}
		return out
	case u.Op == uop.Reshape:
		out, in := axisSet(0), at(u.Src[0])
		eachReshaped(u.Src[0].Shape(), u.Shape(), func(from, to axisSet) {
			from, to = from&^onesOf(u.Src[0].Shape()), to&^onesOf(u.Shape())
			if from&(from-1) == 0 && to&(to-1) == 0 && from&in.oneHot != 0 {
				out |= to
			}
		})
		return out
	case u.Op == uop.Cast || uop.GroupMovement.Has(u.Op):
		return at(u.Src[0]).oneHot
	}
	return 0
}

// onesOf are the axes of size 1.
func onesOf(shape uop.Shape) axisSet {
	ones := axisSet(0)
	for i, s := range shape {
		if s.IsNum(1) {
			ones |= 1 << i
		}
	}
	return ones
}
