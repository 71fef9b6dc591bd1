package ir

// Constant folding of vectors that depend only on the lane number, such as masks at the edges of pads and joins.

// laneFoldable are the operations that are folded lane by lane.
var laneFoldable = [numOps]bool{Add: true, Sub: true, Mul: true, Shl: true, Shr: true, And: true, Or: true, Xor: true, AndNot: true, Cast: true,
	Less: true, LessEqual: true, Equal: true, NotEqual: true}

// laneFoldDepth limits the depth of folded expressions.
const laneFoldDepth = 10

// constLanes returns the lanes of a constant integer or Bool vector, nil for other values.
func (b *Builder) constLanes(v *Value, depth int) []uint64 {
	switch {
	case v.Kind.Float() || depth == 0:
		return nil
	case v.Op == Splat:
		return b.constLanes(v.Args[0], depth)
	case v.Op != Const && v.Op != Lane && !laneFoldable[v.Op]:
		return nil
	}
	out := make([]uint64, b.Lanes)
	if v.Op == Const || v.Op == Lane {
		for i := range out {
			if out[i] = v.Bits; v.Op == Lane {
				out[i] = uint64(i)
			}
		}
		return out
	}
	args := [3][]uint64{out, out, out}
	for i, a := range v.Args {
		if args[i] = b.constLanes(a, depth-1); args[i] == nil {
			return nil
		}
	}
	f := LaneOp(v.Op, v.Args[0].Kind, v.Kind)
	for i := range out {
		out[i] = f(args[0][i], args[1][i], args[2][i])
	}
	return out
}

// ConstLanes returns the lanes of a constant integer or Bool vector, nil for other values.
func (b *Builder) ConstLanes(v *Value) []uint64 { return b.constLanes(v, laneFoldDepth) }

// uniform folds a vector whose lanes are the same constant; it returns other vectors unchanged.
func (b *Builder) uniform(v *Value) *Value {
	if v.Lanes == 1 || v.Op == Const {
		return v
	}
	lanes := b.ConstLanes(v)
	if lanes == nil {
		return v
	}
	for _, x := range lanes {
		if x != lanes[0] {
			return v
		}
	}
	return b.New(Const, v.Kind, v.Lanes, lanes[0])
}

// Any reports whether any lane of a Bool vector is true, as a scalar.
func (b *Builder) Any(mask *Value) *Value {
	lanes := b.ConstLanes(mask)
	if lanes == nil {
		return b.New(AnyLane, Bool, 1, 0, mask)
	}
	any := uint64(0)
	for _, x := range lanes {
		any |= x
	}
	return b.Constant(Bool, any)
}
