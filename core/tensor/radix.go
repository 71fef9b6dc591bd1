package tensor

import (
	"math"

	"polygrad/core/uop"
)

// A stable radix sort, least significant digit first: a pass counts the digits (SCATTER), the running sum of the counts says where each digit begins,
// FETCH gives each element its place, and SCATTER moves it there. Every place is written, so that the target needs no initial values. A row is split
// into parts with counts of their own, so that several threads, and overlapping loads, can work on a single row.

const (
	// leastDigit and mostDigit are the widths of digits in bits.
	leastDigit, mostDigit = 4, 8
	// radixParts is the number of parts that all rows together should have, radixPart the least length of a part.
	radixParts, radixPart = 16, 1 << 12
	// shortRow is the size up to which a network of comparisons is faster.
	shortRow = 32
	// Parts whose length is a multiple of pageOfRows, which is half a page of int32, map to the same cache sets: those that are worked on at once
	// evict each other. Such parts are made longer by lineOfRows.
	pageOfRows, lineOfRows = 1 << 9, 1 << 4
)

// sortKey is an unsigned integer for each element, in the order of the elements; equal elements have equal keys. NaN is the greatest.
func sortKey(x *uop.UOp, descending bool) *uop.UOp {
	return valueKey(oneZero(x), descending)
}

// oneZero is x with 0 for -0.
func oneZero(x *uop.UOp) *uop.UOp {
	if !x.DType.IsFloat() {
		return x
	}
	return where(eq(x, 0), 0, x)
}

// valueKey is a sortKey from which keyValue makes the element again: -0 has another key than 0, before it.
func valueKey(x *uop.UOp, descending bool) *uop.UOp {
	key := signedKey(x, descending)
	return bitXor(bitcast(key, UintOfSize[key.DType.Itemsize()]), uop.Uint(topBit(key.DType)))
}

// signedKey is a valueKey that is a signed integer.
func signedKey(x *uop.UOp, descending bool) *uop.UOp {
	dt := intOfSize[x.DType.Itemsize()]
	all := uop.Int(0)
	if descending {
		all = uop.Int(-1)
	}
	if x.DType.IsFloat() {
		bits := bitcast(where(isNaN(x), math.NaN(), x), dt) // one NaN
		return bitXor(bits, where(lt(bits, 0), likeConst(bits, uop.Int(all.I()^dt.Max().I())), all))
	}
	key := bitcast(x, dt)
	if x.DType.IsUnsigned() {
		all = uop.Int(all.I() ^ dt.Min().I())
	}
	return bitXor(key, all)
}

// topBit is the sign of a signed integer.
func topBit(dt *uop.DType) uint64 { return 1 << (8*dt.Itemsize() - 1) }

// keyValue is the element of a key: sortKey made it if it is neither 0 nor NaN, valueKey any.
func keyValue(key *uop.UOp, dt *uop.DType, descending bool) *uop.UOp {
	top := topBit(dt)
	if descending {
		key = bitXor(key, uop.Uint(2*top-1))
	}
	switch {
	case dt.IsFloat():
		positive := ne(bitAnd(key, uop.Uint(top)), 0)
		return bitcast(where(positive, bitXor(key, uop.Uint(top)), bitXor(key, uop.Uint(2*top-1))), dt)
	case dt.IsUnsigned():
		return key
	}
	return bitcast(bitXor(key, uop.Uint(top)), dt)
}

// digitWidth is the width of digits, up to most, that takes the fewest steps for keys of so many bits: each pass goes over n elements, and over the
// counts of digits in so many histograms.
func digitWidth(bits, n, lists, most int64) int64 {
	steps := func(width int64) int64 { return (bits + width - 1) / width * (n + lists<<width) }
	best := int64(leastDigit)
	for width := best + 1; width <= min(most, bits); width++ {
		if steps(width) < steps(best) {
			best = width
		}
	}
	return best
}

// radixOrder gives the positions, int32, that sort each row of the last axis of the keys, of shape (rows, n), which have so many bits.
func radixOrder(key *uop.UOp, keyBits int64) *uop.UOp {
	_, at := radixSort(sortedByDigits, key, keyBits, true, int(keyBits))
	return at
}

// radixSort sorts each row of the last axis of keys, of shape (rows, n), which have so many bits. The positions that the keys had are int32, nil if
// they are not asked for. By the rule and its numbers, another method may replace this one when the request is scheduled (stated.Late).
func radixSort(rule statedRule, key *uop.UOp, keyBits int64, positions bool, numbers ...int) (sorted, at *uop.UOp) {
	sorted, at = sortDigits(key, keyBits, positions)
	as := func(v *uop.UOp, both, which int) *uop.UOp {
		return v.Graph().New(uop.CustomGradient, v.DType, []*uop.UOp{v, key}, stated{rule, append(uop.Nums{both, which}, numbers...)}, nil)
	}
	if !positions {
		return as(sorted, 0, 0), nil
	}
	return as(sorted, 1, 0), as(at, 1, 1)
}

// suitsRows reports whether SORT, which sorts row by row, is faster than a radix sort or, if network is set, than a sorting network: its rows fit in
// registers, or keys are sorted without positions.
func suitsRows(x *uop.UOp, target uop.Target, axis int, positions, network bool) bool {
	s, size := x.Shape(), int64(x.DType.Itemsize())
	if target.Sorts != uop.SortsByRow || !isNumbers(s) || size < 4 {
		return false
	}
	n := s[axis].N
	if positions && target.Lanes < 16 {
		return !network && n <= longForFew
	}
	if !network {
		return true
	}
	if positions {
		size *= 2
	}
	return n > fewForRegisters && (n*size <= sortedInRegisters || !positions)
}

// fewBits is the number of bits up to which a radix sort of keys with positions is faster than SORT, as it needs few passes.
const fewBits = 16

// SORT sorts sortedInRegisters bytes in registers; fewForRegisters elements leave most of these registers empty.
const sortedInRegisters, fewForRegisters = 1 << 10, 48

// longForFew is the length of rows from which SORT with vectors of 4 numbers of 64 bits, each a key and its position, is slower than a radix sort;
// longFor24Bits is that of keys of 24 bits, which take three passes.
const longForFew, longFor24Bits = 1 << 16, 1 << 12

// suitsFewPasses reports whether a radix sort of keys of so many bits with positions is faster than SORT.
func suitsFewPasses(n, bits int64, target uop.Target) bool {
	return bits <= fewBits || bits <= 3*mostDigit && n > longFor24Bits && target.Lanes < 16
}

// rowSort is radixSort with positions by SORT: an element is a key and its position in one number.
func rowSort(key *uop.UOp) (sorted, at *uop.UOp) {
	if key.DType.Itemsize() == 8 {
		return sortHalves(key, 1, rowSort)
	}
	x := sortRows(bitOr(shiftLeft(cast(key, uop.Uint64), int(32)), placesAlong(key, uop.Uint64)), 0)
	return cast(shiftRight(x, 32), key.DType), cast(bitAnd(x, uop.Uint(1<<32-1)), uop.Int32)
}

// sortRows is SORT of each row of a matrix, with 1 in descending order.
func sortRows(x *uop.UOp, descending int) *uop.UOp {
	numbers := uop.Nums{int(x.Shape()[1].N), descending}
	return x.Graph().New(uop.Sort, x.DType, []*uop.UOp{x.ContiguousOp()}, numbers, nil)
}

// partsOfRows is the number of parts that rows of n elements are split into, each with counts of its own, and their length, by which they lie in
// different cache sets.
func partsOfRows(rows, n int64) (parts, length int64) {
	parts = 1
	for rows*parts < radixParts && n >= 2*parts*radixPart {
		parts *= 2
	}
	length = (n + parts - 1) / parts
	if rows*parts > 1 && length%pageOfRows == 0 {
		length += lineOfRows
	}
	return parts, length
}

// sortDigits is radixSort for devices that run iterations in order.
func sortDigits(key *uop.UOp, keyBits int64, positions bool) (sorted, at *uop.UOp) {
	rows, n := key.Shape()[0].N, key.Shape()[1].N
	g, dt := key.Graph(), key.DType
	parts, length := partsOfRows(rows, n)
	padded := parts * length
	// The padding of the last part sorts last: it has the greatest key and stands behind its equals.
	key = reshape(padAxis(key, 1, 0, padded-n, dt.Max()), uop.ShapeOf(rows, parts, length))
	// Keys up to 32 bits and positions are moved as one number.
	packed, shift := positions && dt.Itemsize() <= 4, int64(0)
	if positions {
		at = cast(expand(reshape(count0(g, padded), uop.ShapeOf(1, parts, length)), uop.ShapeOf(rows, parts, length)), uop.Int32)
	}
	if packed {
		key = bitOr(shiftLeft(cast(key, uop.Uint64), int(32)), cast(at, uop.Uint64))
		shift = 32
	}
	key = key.ContiguousOp()
	bits := digitWidth(keyBits, length, 1, mostDigit)
	for done := int64(0); done < keyBits; done += bits {
		width := min(bits, keyBits-done)
		bins := int64(1) << width
		digit := cast(bitAnd(shiftRight(key, int(shift+done)), uop.Uint(uint64(bins-1))), uop.Int32)
		add1 := uop.ScatterArg{Op: uop.Add, Axis: 2, Checked: true}
		ones := full(g, digit.Shape(), uop.Int(1), uop.Int32)
		counts := full(g, uop.ShapeOf(rows, parts, bins), uop.Int(0), uop.Int32).ScatterTo(add1, digit, ones)
		flat := reshape(permute(counts, []int{0, 2, 1}), uop.ShapeOf(rows, bins*parts))
		start := sub(prefix(flat, 1, uop.Add), flat)
		start = permute(reshape(start, uop.ShapeOf(rows, bins, parts)), []int{0, 2, 1})
		place := start.FetchFrom(add1, digit, ones)
		move := func(v *uop.UOp) *uop.UOp {
			to := full(g, uop.ShapeOf(rows, 1, padded), uop.Int(0), v.DType)
			return reshape(to.StoreWhole(2, place, v), uop.ShapeOf(rows, parts, length))
		}
		key = move(key)
		if positions && !packed {
			at = move(at)
		}
	}
	if packed {
		at = cast(bitAnd(key, uop.Uint(1<<32-1)), uop.Int32)
		key = cast(shiftRight(key, 32), dt)
	}
	whole := func(v *uop.UOp) *uop.UOp {
		return shrinkTo(reshape(v, uop.ShapeOf(rows, padded)), uop.ShapeOf(rows, n))
	}
	if positions {
		at = whole(at)
	}
	return whole(key), at
}

func isNumbers(s uop.Shape) bool { _, ok := s.Ints(); return ok && !s.Numel().IsNum(0) }
