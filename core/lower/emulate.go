package lower

import (
	"slices"

	"polygrad/core/uop"
)

// Missing types are emulated: small floats by float32, 64-bit integers by two words of 32 bits. The graph is rebuilt from its
// leaves. A value of a missing type stays in its emulated form and is converted only at loads, stores, casts and comparisons.

func (t *Target) lacksLongs() bool { return !t.Supports(uop.Int64) || !t.Supports(uop.Uint64) }

func (t *Target) lacksFloats() bool {
	return slices.ContainsFunc(t.Missing, func(dt *uop.DType) bool { return smallFloats[dt] != nil })
}

// emulateFloats rebuilds a kernel without the small floats that the target lacks.
func emulateFloats(sink *uop.UOp, t *Target) *uop.UOp {
	for _, dt := range t.Missing {
		if f := smallFloats[dt]; f != nil {
			sink = f.emulate(sink)
		}
	}
	return sink
}

// rebuild is u with other sources and another type.
func rebuild(u *uop.UOp, dt *uop.DType, src []*uop.UOp) *uop.UOp {
	if dt == u.DType {
		return u.With(src...)
	}
	return u.Graph().New(u.Op, dt, src, u.Arg, u.Tag)
}

// pointerLike is a pointer type like p, or a vector of them, to factor times as many elements of another type.
func pointerLike(p, elem *uop.DType, factor int64) *uop.DType {
	size := p.Size
	if size > 0 {
		size *= factor
	}
	return elem.Vec(p.Base().Count).Ptr(size, p.Space).Vec(p.VCount())
}
