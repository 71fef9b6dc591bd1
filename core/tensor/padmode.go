package tensor

import (
	"polygrad/core/uop"
)

// padWith pads with elements of x; negative amounts crop.
func padWith(x *uop.UOp, padding []uop.Pair, mode PadMode) *uop.UOp {
	s := intShape("x", x.Shape())
	if len(padding) != len(s) {
		fail("padding", "has %d pairs, expected one for each of %d dimensions", len(padding), len(s))
	}
	for i, p := range padding {
		if p.Lo.Symbolic() || p.Hi.Symbolic() {
			fail("padding", "of axis %d is symbolic, expected numbers without variables", i)
		}
	}
	bounds, reps := wholes(x.Shape()), make([]uop.Sint, len(s))
	for a, p := range padding {
		reps[a] = uop.N(1)
		if most := int64(1 << 40); p.Lo.N > most || p.Hi.N > most {
			fail("padding", "(%s,%s) of axis %d is too large", p.Lo, p.Hi, a)
		}
		if p.Lo.N < -s[a] || p.Hi.N < -s[a] || s[a]+p.Lo.N+p.Hi.N < 0 {
			fail("padding", "(%s,%s) of axis %d, expected no more cut off than its size %d", p.Lo, p.Hi, a, s[a])
		}
		if p.Lo.N == 0 && p.Hi.N == 0 {
			continue
		}
		if periodic(x, max(p.Lo.N, p.Hi.N), s[a], mode) {
			x = periodOf(x, a, mode)
			n := x.Shape()[a].N
			from := ((-p.Lo.N)%n + n) % n
			to := from + p.Lo.N + s[a] + p.Hi.N
			reps[a], bounds[a] = uop.N((to+n-1)/n), pairOf(from, to)
			continue
		}
		before, after := max(p.Lo.N, 0), max(p.Hi.N, 0)
		parts := []*uop.UOp{x}
		if before > 0 {
			parts = append([]*uop.UOp{padPart(x, a, before, mode, true)}, x)
		}
		if after > 0 {
			parts = append(parts, padPart(x, a, after, mode, false))
		}
		x = cat(parts, a)
		bounds[a] = pairOf(-min(p.Lo.N, 0), min(p.Hi.N, 0)+x.Shape()[a].N)
	}
	return shrink(repeat(x, reps), bounds)
}

// periodic reports whether padding is cut out of repeated periods: of more elements than one copy has, and as tinygrad does it. The gradient of parts
// that are joined reads each element once, that of repeated ones all copies.
func periodic(x *uop.UOp, most, size int64, mode PadMode) bool {
	switch mode {
	case PadReflect:
		return most >= size
	case PadCircular, PadSymmetric:
		return most > size || asTinygrad(x)
	}
	return false
}

// padPart is the padding of n elements before or after an axis, cut out of x.
func padPart(x *uop.UOp, axis int, n int64, mode PadMode, before bool) *uop.UOp {
	size := x.Shape()[axis].N
	// edge is the first n elements behind so many, or the last n before so many.
	edge := func(first bool, skipped int64) *uop.UOp {
		from := size - n - skipped
		if first {
			from = skipped
		}
		return shrinkAxis(x, axis, uop.N(from), uop.N(from+n))
	}
	switch mode {
	case PadCircular:
		return edge(!before, 0)
	case PadSymmetric:
		return flip(edge(before, 0), axis)
	case PadReflect:
		return flip(edge(before, 1), axis)
	}
	if size == 0 {
		fail("padding", "repeats the edge of axis %d of size 0, expected a size of 1 or more", axis)
	}
	at := size - 1
	if before {
		at = 0
	}
	to := joinShapes(x.Shape())
	to[axis] = uop.N(n)
	return expand(shrinkAxis(x, axis, uop.N(at), uop.N(at+1)), to)
}

// periodOf is a period of the periodic continuation of x: x itself, or x and its mirror image, with the edges once or twice.
func periodOf(x *uop.UOp, axis int, mode PadMode) *uop.UOp {
	size := x.Shape()[axis].N
	switch {
	case size == 0:
		fail("padding", "continues axis %d of size 0, expected a size of 1 or more", axis)
	case mode == PadSymmetric:
		return cat([]*uop.UOp{x, flip(x, axis)}, axis)
	case mode == PadReflect && size > 2:
		return cat([]*uop.UOp{x, shrinkAxis(flip(x, axis), axis, uop.N(1), uop.N(size-1))}, axis)
	}
	return x
}
