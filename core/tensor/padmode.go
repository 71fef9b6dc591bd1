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
		if mode == PadCircular || mode == PadSymmetric || mode == PadReflect && max(p.Lo.N, p.Hi.N) >= s[a] {
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

// padPart is the padding before or after an axis.
func padPart(x *uop.UOp, axis int, n int64, mode PadMode, before bool) *uop.UOp {
	s := x.Shape()
	size := s[axis].N
	if mode == PadReplicate {
		if size == 0 {
			fail("padding", "repeats the edge of axis %d of size 0, expected a size of 1 or more", axis)
		}
		at := size - 1
		if before {
			at = 0
		}
		to := joinShapes(s)
		to[axis] = uop.N(n)
		return expand(shrinkAxis(x, axis, uop.N(at), uop.N(at+1)), to)
	}
	entries := make([]Index, len(s))
	for i := range entries {
		entries[i] = Whole()
	}
	first, last := size-2, size-2-n
	if before {
		first, last = n, 0
	}
	end := &last
	if last < 0 {
		end = nil
	}
	entries[axis] = Slice(&first, end, -1)
	return index(x, entries...)
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
