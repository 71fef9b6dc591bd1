package tensor

import (
	"math/bits"

	"polygrad/core/uop"
)

// sortAxis gives the sorted values along an axis and their original indices.
func sortAxis(x *uop.UOp, axis int, descending bool) (values, indices *uop.UOp) {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	if len(s) == 0 || intSize("dim", s, axis) <= 1 {
		return x, full(x.Graph(), s, uop.Int(0), uop.DefaultInt)
	}
	values = bitonicSort(x, axis, descending)
	return values, positionsOf(x, values, axis, equal)
}

// bitonicSort is a bitonic sort (https://en.wikipedia.org/wiki/Bitonic_sorter) over an axis of two elements or more, which
// is padded to a power of two and split into axes of 2. Every stage gets a buffer of its own.
func bitonicSort(x *uop.UOp, axis int, descending bool) *uop.UOp {
	s := x.Shape()
	n, size := len(s), intSize("dim", s, axis)
	stages := bits.Len64(uint64(size - 1))
	worst := x.DType.Max()
	if descending {
		worst = x.DType.Min()
	}
	twos := make(uop.Shape, stages)
	for i := range twos {
		twos[i] = uop.N(2)
	}
	y := unflatten(padAxis(x, axis, 0, 1<<stages-size, worst), axis, twos)
	for stage := 1; stage <= stages; stage++ {
		crossover := axis + stages - stage - 1
		var back []int
		for i := 1; i < stage+1+(n-axis); i++ {
			back = append(back, -i)
		}
		uncross := func() {
			half := splitEvery(y, 1, crossover)
			y = cat([]*uop.UOp{half[0], flip(half[1], back...)}, crossover)
		}
		if stage != stages {
			uncross()
			y = y.ContiguousOp()
		}
		for sub := stage - 1; sub >= 0; sub-- {
			partner := axis + stages - sub - 1
			half := splitEvery(y, 1, partner)
			large, small := maximum(half[0], half[1]), minimum(half[0], half[1])
			if descending {
				y = cat([]*uop.UOp{large, small}, partner)
			} else {
				y = cat([]*uop.UOp{small, large}, partner)
			}
			y = y.ContiguousOp()
		}
		if stage != stages {
			uncross()
		}
	}
	return shrinkTo(flatten(y, axis, axis+stages-1), s)
}

// positionsOf finds the original index of each sorted value: among equal values, the k-th in x is the k-th in sorted.
func positionsOf(x, sorted *uop.UOp, axis int, same func(a, b *uop.UOp) *uop.UOp) *uop.UOp {
	s := x.Shape()
	size := s[axis].N
	mask := tril(full(x.Graph(), uop.ShapeOf(size, size), uop.BoolConst(true), uop.Bool), 0)
	mask = reshape(mask, joinShapes(uop.ShapeOf(size, size), onesShape(len(s)-axis-1)))
	rank := func(t *uop.UOp) *uop.UOp {
		return sum(bitAnd(mask, same(unsqueeze(t, axis), unsqueeze(t, axis+1))), []int{axis + 1}, false)
	}
	before, after := rank(x), rank(sorted)
	match := bitAnd(same(unsqueeze(x, axis+1), unsqueeze(sorted, axis)), eq(unsqueeze(before, axis+1), unsqueeze(after, axis)))
	numbers := onesShape(len(s))
	numbers[axis] = uop.N(size)
	idx := reshape(count0(x.Graph(), size), numbers)
	return sum(mul(match, unsqueeze(idx, axis+1)), []int{axis}, false)
}

// needTopK checks the arguments of TopK and gives the axis.
func needTopK(x *uop.UOp, k int64, dim int) int {
	s := x.Shape()
	dim = axisOf("dim", dim, len(s))
	if len(s) == 0 {
		fail("x", "is a scalar, expected at least 1 dimension")
	}
	if n, _ := sizeBounds(s[dim]); k < 0 || k > n {
		fail("k", "%d is out of range for axis %d, expected 0 to %d", k, dim, n)
	}
	return dim
}
