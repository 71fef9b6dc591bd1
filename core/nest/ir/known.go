package ir

// Masks at the edges of padding and joins often depend on nothing but the number of the lane. They are known before the
// kernel runs.

// known are the operations that are evaluated by lane.
var known = [numOps]bool{Add: true, Sub: true, Mul: true, Shl: true, Shr: true, And: true, Or: true, Xor: true, AndNot: true, Cast: true,
	Less: true, LessEqual: true, Equal: true, NotEqual: true}

// knownDepth limits how many operations deep such values are looked into.
const knownDepth = 10

// byLane are the lanes of a vector if they are the same in each run; nil if not, and for floats.
func (b *Builder) byLane(v *Value, depth int) []uint64 {
	switch {
	case v.Kind.Float() || depth == 0:
		return nil
	case v.Op == Splat:
		return b.byLane(v.Args[0], depth)
	case v.Op != Const && v.Op != Lane && !known[v.Op]:
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
		if args[i] = b.byLane(a, depth-1); args[i] == nil {
			return nil
		}
	}
	f := LaneOp(v.Op, v.Args[0].Kind, v.Kind)
	for i := range out {
		out[i] = f(args[0][i], args[1][i], args[2][i])
	}
	return out
}

// ByLane are the lanes of a vector if they are the same in each run, nil if not.
func (b *Builder) ByLane(v *Value) []uint64 { return b.byLane(v, knownDepth) }

// uniform is a vector as a constant if it is the same number in all lanes and in each run, else the vector.
func (b *Builder) uniform(v *Value) *Value {
	if v.Lanes == 1 || v.Op == Const {
		return v
	}
	lanes := b.ByLane(v)
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

// Any is whether a vector of bools is true in any lane.
func (b *Builder) Any(mask *Value) *Value {
	lanes := b.ByLane(mask)
	if lanes == nil {
		return b.New(AnyLane, Bool, 1, 0, mask)
	}
	any := uint64(0)
	for _, x := range lanes {
		any |= x
	}
	return b.Constant(Bool, any)
}
