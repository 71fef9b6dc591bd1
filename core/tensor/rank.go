package tensor

import "polygrad/core/uop"

// Elements of given ranks in the order along an axis are found by radix selection, digit by digit of their keys, the most significant one first,
// unless SORT takes less time. A pass counts the next digit of the elements that agree with all digits found so far; the running sum of the counts
// says which digit has the rank.

const (
	// Counting is faster than sorting from leastRanked elements on, in rows of at least leastRow elements, and where there is SORT in rows of at
	// least leastCounted.
	leastRanked, leastRow, leastCounted = 1 << 18, 1 << 10, 1 << 15
	// mostRanked is the greatest number of ranks that are found by counting.
	mostRanked = 8
	// mostRankDigit is the greatest width of digits in bits: the counts for some ranks still fit in L1.
	mostRankDigit = 11
)

// worthSelecting reports whether elements of so many ranks are found by counting.
func worthSelecting(x *uop.UOp, axis int, ranks int64) bool {
	s := x.Shape()
	return ranks <= mostRanked && isNumbers(s) && !x.DType.IsBool() && x.DType.Itemsize() <= 8 && s[axis].N >= leastRow && s.Numel().N >= leastRanked
}

// ranked gives, for each rank along the last axis of rank, the element of x with so many elements before it in the order along the last axis, and the
// next element in that order. Of equal elements, the first one gets the gradient of the former and the last one that of the latter, so that each has
// its own.
func ranked(x, rank *uop.UOp) (elements, next *uop.UOp) {
	last := len(x.Shape()) - 1
	n, k := x.Shape()[last].N, rank.Shape()[last].N
	x = x.ContiguousOp()
	key := valueKey(detach(x), false)
	rank = cast(rank, counts(n))
	both := cat([]*uop.UOp{rank, minimum(add(rank, 1), int(n-1))}, last)
	zeros := full(x.Graph(), both.Shape(), uop.Uint(0), key.DType) // a placeholder for the value's shape and type
	found := known(keysOfRanks, zeros, []*uop.UOp{key, both}, nil)
	places := reshape(count0(x.Graph(), n), append(onesShape(last), uop.N(n), uop.N(1)))
	of := func(from int64, first bool) *uop.UOp {
		k := shrinkAxis(found, last, uop.N(from), uop.N(from+k))
		order := places
		if first {
			order = sub(int(n-1), places)
		}
		at := maxOf(where(eq(unsqueeze(key, -1), unsqueeze(k, -2)), order, 0), []int{last}, false)
		if first {
			at = sub(int(n-1), at)
		}
		return differentiatedAs(detach(keyValue(k, x.DType, false)), gather(x, last, cast(at, uop.Int32)))
	}
	return of(0, true), of(k, false)
}

// keysByRank gives, for each rank, the unsigned key with so many keys before it in the order along the last axis.
func keysByRank(key, rank *uop.UOp, target uop.Target) *uop.UOp {
	s, last := key.Shape(), len(key.Shape())-1
	if target.Sorts == uop.SortsParallel {
		return keysByBits(key, rank)
	}
	rows := numel("x", s[:last])
	key, ranks := reshape(key, uop.Shape{rows, s[last]}), reshape(rank, uop.Shape{rows, rank.Shape()[last]})
	if s[last].N < leastCounted && suitsRows(key, target, 1, false, false) {
		return reshape(gather(sortRows(key, 0), 1, cast(ranks, uop.Int32)), rank.Shape())
	}
	return reshape(keysByDigits(key, ranks), rank.Shape())
}

// keysByBits finds two bits of the keys at a time, the highest first, by counting the keys below each of the three candidates whose two bits are not
// 0.
func keysByBits(key, rank *uop.UOp) *uop.UOp {
	last := len(key.Shape()) - 1
	key = unsqueeze(key, -1)
	found := full(key.Graph(), rank.Shape(), uop.Uint(0), key.DType)
	for shift := 8*key.DType.Itemsize() - 2; shift >= 0; shift -= 2 {
		var digit *uop.UOp
		for bits := uint64(1); bits < 4; bits++ {
			below := lt(key, unsqueeze(add(found, uop.Uint(bits<<shift)), -2))
			above := cast(le(sum(cast(below, rank.DType), []int{last}, false), rank), key.DType)
			if digit == nil {
				digit = above
			} else {
				digit = add(digit, above)
			}
		}
		found = add(found, shiftLeft(digit, shift)).ContiguousOp()
	}
	return found
}

// keysByDigits finds keys digit by digit, from histograms of the digits. Ranks that agree in all digits found so far share the histogram of the first
// of them.
func keysByDigits(key, rank *uop.UOp) *uop.UOp {
	g, rows, n, ranks := key.Graph(), key.Shape()[0].N, key.Shape()[1].N, rank.Shape()[1].N
	parts, length := partsOfRows(rows, n)
	key = reshape(padAxis(key, 1, 0, parts*length-n, key.DType.Max()), uop.ShapeOf(rows, parts, length)).ContiguousOp()
	ones := full(g, key.Shape(), uop.Int(1), uop.Int32)
	numbers := reshape(count0(g, ranks), uop.ShapeOf(1, ranks))
	bits := int64(8 * key.DType.Itemsize())
	width := digitWidth(bits, 2*length, ranks, mostRankDigit) // a pass writes places, then counts them
	found := full(g, rank.Shape(), uop.Uint(0), key.DType)
	for left := bits; left > 0; {
		width = min(width, left)
		left -= width
		bins := int64(1) << width
		place := bitAnd(cast(shiftRight(key, int(left)), uop.Int32), int(bins-1)) // signed: -1 marks elements that are not counted
		lists, list := int64(1), (*uop.UOp)(nil)
		if left+width < bits {
			lists = ranks
			high := shiftRight(key, int(left+width))
			of := likeConst(place, -1)
			for i := ranks - 1; i >= 0; i-- {
				of = where(eq(high, unsqueeze(shrinkAxis(found, 1, uop.N(i), uop.N(i+1)), -1)), add(place, int(i*bins)), of)
			}
			place = of
			same := eq(unsqueeze(found, 2), unsqueeze(found, 1))
			list = minOf(where(same, unsqueeze(numbers, 1), int(ranks)), []int{2}, false)
		}
		add1 := uop.ScatterArg{Op: uop.Add, Axis: 2, Checked: lists == 1}
		counted := sum(full(g, uop.ShapeOf(rows, parts, lists*bins), uop.Int(0), uop.Int32).ScatterTo(add1, place, ones), []int{1}, false)
		upTo := prefix(reshape(counted, uop.ShapeOf(rows, lists, bins)), 2, uop.Add)
		if list != nil {
			upTo = gather(upTo, 1, expand(unsqueeze(list, 2), uop.ShapeOf(rows, ranks, bins)))
		}
		before := le(upTo, unsqueeze(rank, 2))
		digit := sum(cast(before, uop.Int32), []int{2}, false)
		rank = sub(rank, maxOf(where(before, upTo, 0), []int{2}, false)).ContiguousOp()
		found = bitOr(shiftLeft(found, int(width)), cast(digit, key.DType)).ContiguousOp()
	}
	return found
}
