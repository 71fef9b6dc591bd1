package lower

import (
	"slices"

	"polygrad/core/uop"
)

// Types that a target lacks are emulated: 64-bit integers by two words of 32 bits, small floats by float32. The graph is
// rebuilt from its leaves; a value of a missing type is held as something else until it meets memory, a cast or a comparison.

// emulate rebuilds a kernel without the types that the target lacks.
func emulate(sink *uop.UOp, t *Target) *uop.UOp {
	if slices.Contains(t.Missing, uop.Int64) || slices.Contains(t.Missing, uop.Uint64) {
		sink = splitLongs(sink)
	}
	for _, dt := range t.Missing {
		if !dt.IsFloat() {
			continue
		}
		if f, ok := smallFloats[dt]; ok {
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

// pointerLike is a pointer type like p, or a vector of them, to elements of another type, factor times as many.
func pointerLike(p, elem *uop.DType, factor int64) *uop.DType {
	size := p.Size
	if size > 0 {
		size *= factor
	}
	return elem.Vec(p.Base().Count).Ptr(size, p.Space).Vec(p.VCount())
}
