package uop

// recent is a direct-mapped cache of shapes and constants, indexed by their hash: most operations use the same ones as the operations before them.
type recent [128]*UOp

// shape looks up the index vector that ShapeArg made of a shape of numbers. at is its slot, nil for a symbolic shape.
func (r *recent) shape(s Shape) (at **UOp, found bool) {
	h := uint64(len(s))
	for _, d := range s {
		if d.U != nil {
			return nil, false
		}
		h = mix(h, uint64(d.N))
	}
	at = &r[h%uint64(len(r))]
	u := *at
	if u == nil || u.DType.Count != len(s) || u.DType.Scalar() != IndexT || len(u.Src) != 0 {
		return at, false
	}
	switch arg := u.Arg.(type) {
	case Const: // all sizes are the same
		for _, d := range s {
			if arg != Int(d.N) {
				return at, false
			}
		}
		return at, true
	case Consts:
		for i, d := range s {
			if arg[i] != Int(d.N) {
				return at, false
			}
		}
		return at, true
	}
	return at, false
}

// constant looks up a scalar constant of a device.
func (r *recent) constant(dt *DType, v Const, device string) (at **UOp, found bool) {
	at = &r[mix(v.bits, uint64(dt.Priority))%uint64(len(r))]
	u := *at
	if u == nil || u.Op != ConstOp || u.DType != dt || v.big != nil || len(u.Src) != 1 || u.Src[0].Arg != Arg(Str(device)) {
		return at, false
	}
	c, is := u.Arg.(Const)
	return at, is && c == v
}
