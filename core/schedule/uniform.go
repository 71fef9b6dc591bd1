package schedule

import "polygrad/core/uop"

// axisSet is a set of axes, a bit for each.
type axisSet uint64

func (s axisSet) has(axis int) bool { return s>>axis&1 != 0 }

// uniformAxes are the axes along which a value does not vary: those of size 1, of constants, and of what was expanded. It asks for
// those of the sources by a function.
func uniformAxes(u *uop.UOp, of func(*uop.UOp) axisSet) axisSet {
	shape := u.Shape()
	all := axisSet(1)<<len(shape) - 1
	ones := axisSet(0)
	for i, s := range shape {
		if s.IsNum(1) {
			ones |= 1 << i
		}
	}
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

// reshapedUniform are the uniform axes of a reshaped value: those of which all axes of the source that are merged or split with
// them are uniform.
func reshapedUniform(in, out uop.Shape, uniform axisSet) axisSet {
	from, ok := in.Ints()
	to, known := out.Ints()
	if !ok || !known {
		return 0
	}
	result := axisSet(0)
	for i, j := 0, 0; i < len(from) || j < len(to); {
		same, first, n, m := true, j, int64(1), int64(1)
		for again := true; again; again = n != m {
			switch {
			case n <= m && i < len(from):
				same = same && uniform.has(i)
				n *= from[i]
				i++
			case j < len(to):
				m *= to[j]
				j++
			default:
				return result
			}
		}
		for ; same && first < j; first++ {
			result |= 1 << first
		}
	}
	return result
}
