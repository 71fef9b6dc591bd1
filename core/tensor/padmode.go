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
	if mode == PadCircular {
		return padCircular(x, s, padding)
	}
	for a, p := range padding {
		before, after := max(p.Lo.N, 0), max(p.Hi.N, 0)
		parts := []*uop.UOp{x}
		if before > 0 {
			parts = append([]*uop.UOp{padPart(x, a, before, mode, true)}, x)
		}
		if after > 0 {
			parts = append(parts, padPart(x, a, after, mode, false))
		}
		x = cat(parts, a)
	}
	bounds := wholes(x.Shape())
	for a, p := range padding {
		bounds[a] = pairOf(-min(p.Lo.N, 0), min(p.Hi.N, 0)+bounds[a].Hi.N)
	}
	return shrink(x, bounds)
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
	if n >= size {
		fail("padding", "%d of axis %d, expected less than its size %d", n, axis, size)
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

func padCircular(x *uop.UOp, s []int64, padding []uop.Pair) *uop.UOp {
	reps := make([]uop.Sint, len(s))
	for a, p := range padding {
		if p.Lo.N > s[a] || p.Hi.N > s[a] || s[a]+p.Lo.N+p.Hi.N < 0 {
			fail("padding", "(%s,%s) of axis %d, expected at most its size %d, and no more cut off than that", p.Lo, p.Hi, a, s[a])
		}
		reps[a] = uop.N(1)
		for _, v := range []int64{p.Lo.N, p.Hi.N} {
			if v > 0 {
				reps[a].N++
			}
		}
	}
	x = repeat(x, reps)
	bounds := wholes(x.Shape())
	for a, p := range padding {
		// The copies before and after, cropped to the padding, and x itself for amounts of 0 or less.
		lo, hi := -p.Lo.N, bounds[a].Hi.N+p.Hi.N
		if p.Lo.N > 0 {
			lo += s[a]
		}
		if p.Hi.N > 0 {
			hi -= s[a]
		}
		bounds[a] = pairOf(lo, hi)
	}
	return shrink(x, bounds)
}
