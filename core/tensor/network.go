package tensor

import "polygrad/core/uop"

// Sorting networks sort many rows of medium length at once: each vector lane sorts one row. A step loads up to 2^stepBits elements of a row into
// registers, does all stages of the network that compare only these, and stores them.

const (
	// networkRow is the greatest length of rows for which a network is faster than a radix sort; without positions, rows may be twice as long.
	networkRow = 1 << 12
	// networkBytes is the size of a block of rows that stays in the cache while it is sorted. networkRows rows fill vectors, or a cache line.
	networkBytes, networkRows = 1 << 16, 16
	// A step holds 2^stepBits elements of a row in registers.
	stepBits = 4
)

// suitsNetwork reports whether a network is the fastest way to sort rows of n elements. With positions an element has 64 bits: its key and its
// position.
func suitsNetwork(rows, n int64, positions bool) bool {
	most := int64(2 * networkRow)
	if positions {
		most = networkRow
	}
	return n <= most && rows >= networkRows
}

// wholeVectors rounds a number of rows up to a multiple of networkRows: vectors are full, and each lies in one cache line.
func wholeVectors(rows int64) int64 { return (rows + networkRows - 1) / networkRows * networkRows }

// networkSort sorts each column of keys, of shape (n, columns), by a bitonic sort (https://en.wikipedia.org/wiki/Bitonic_sorter). With positions,
// int32, an element is a key and its position in one number, so that no two are equal. Every comparison puts the lesser number first: where two
// blocks are merged, the second one is read in reverse instead of being sorted in descending order.
func networkSort(key *uop.UOp, positions bool) (sorted, at *uop.UOp) {
	n, dt := key.Shape()[0].N, key.DType
	if positions && dt.Itemsize() > 4 {
		return sortHalves(key, 0, func(key *uop.UOp) (sorted, at *uop.UOp) { return networkSort(key, true) })
	}
	x := key
	if dt.Itemsize() < 4 {
		x = cast(key, uop.Uint32)
	}
	if positions {
		from := reshape(cast(count0(key.Graph(), n), uop.Uint64), uop.ShapeOf(n, 1))
		x = bitOr(shiftLeft(cast(key, uop.Uint64), int(32)), expand(from, key.Shape()))
	}
	x = networkMerges(x)
	x = shrinkAxis(x, 0, uop.N(0), uop.N(n))
	if !positions {
		return cast(x, dt), nil
	}
	return cast(shiftRight(x, 32), dt), cast(bitAnd(x, uop.Uint(1<<32-1)), uop.Int32)
}

// networkMerges sorts the columns of x: sorted blocks are merged in pairs until one is left. A block without a partner moves to end, a tensor of its
// own, where it is merged with the shorter block that is there. The padding has the greatest value and is sorted to the end.
func networkMerges(x *uop.UOp) *uop.UOp {
	n, bits := x.Shape()[0].N, stepBits
	for int64(1)<<bits < n {
		bits++
	}
	unit := int64(1) << max(stepBits, mergeLow(bits, mergeSteps(bits)-1))
	x = padAxis(x, 0, 0, (n+unit-1)/unit*unit-n, x.DType.Max())
	x = networkStep([]*uop.UOp{x}, stepBits, 0, false, oddEvenSort)
	var end *uop.UOp
	for block := stepBits + 1; block <= bits; block++ {
		half := int64(1) << (block - 1)
		if size := x.Shape()[0].N; size/half%2 == 1 {
			last := shrinkAxis(x, 0, uop.N(size-half), uop.N(size))
			if end == nil {
				end = last
			} else {
				end = mergeBlocks(block, last, end)
			}
			if size == half {
				x = end
				continue
			}
			x = shrinkAxis(x, 0, uop.N(0), uop.N(size-half))
		}
		x = mergeBlocks(block, x)
	}
	return x
}

// mergeSteps is the number of steps that merge two sorted blocks into one of 2^block elements. Each step compares elements whose positions differ in
// a few neighbouring bits; mergeLow is the lowest of these bits for the step that so many others follow.
func mergeSteps(block int) int { return (block + stepBits - 1) / stepBits }

func mergeLow(block, following int) int { return block * following / mergeSteps(block) }

// mergeBlocks merges pairs of sorted blocks into blocks of 2^block elements: pairs in one tensor, or one block and a part of another.
func mergeBlocks(block int, parts ...*uop.UOp) *uop.UOp {
	high := block
	for i := mergeSteps(block) - 1; i >= 0; i-- {
		low := mergeLow(block, i)
		parts = []*uop.UOp{networkStep(parts, high-low, low, high == block, merge)}
		high = low
	}
	return parts[0]
}

// sortHalves sorts keys of 64 bits, with positions, along an axis by two stable sorts of keys of 32 bits: by the low halves, then by the high ones.
func sortHalves(key *uop.UOp, axis int, sort func(key *uop.UOp) (sorted, at *uop.UOp)) (sorted, at *uop.UOp) {
	_, first := sort(cast(bitAnd(key, uop.Uint(1<<32-1)), uop.Uint32))
	_, second := sort(gather(cast(shiftRight(key, 32), uop.Uint32), axis, first))
	at = gather(first, axis, second)
	return gather(key, axis, at), at
}

// networkStep compares elements of the first axis whose positions differ only in so many bits from the bit low on. If mirrored, the elements whose
// highest such bit is set are read in reverse. Two parts are the halves of one block; the second may be shorter.
func networkStep(parts []*uop.UOp, bits, low int, mirrored bool, compare func(elements []*uop.UOp, mirrored bool)) *uop.UOp {
	width, distance := int64(1)<<bits, int64(1)<<low
	x, s := parts[0], joinShapes(parts[0].Shape())
	size, half := width*distance, width
	if len(parts) > 1 {
		half = width / 2
		size = s[0].N + parts[1].Shape()[0].N
		s[0] = uop.N(size)
	}
	blocks := uop.ShapeOf(s[0].N/size, size, s[1].N)
	wide := uop.ShapeOf(blocks[0].N, distance, s[1].N)
	pairs, elements := make([]*uop.UOp, 2*size/distance), make([]*uop.UOp, width)
	at := reshape(count0(x.Graph(), distance), uop.ShapeOf(1, distance, 1))
	for i := range size / distance {
		from := parts[i/half]
		from = reshape(from, uop.ShapeOf(blocks[0].N, from.Shape()[0].N/blocks[0].N, s[1].N))
		elements[i] = shrinkAxis(from, 1, uop.N(i%half*distance), uop.N((i%half+1)*distance))
		index := add(at, int(i*distance))
		if mirrored && i >= width/2 {
			elements[i] = flip(elements[i], 1)
			index = sub(int((i+1)*distance-1), at)
		}
		pairs[2*i] = expand(index, wide)
	}
	compare(elements, mirrored)
	for i := range size / distance {
		pairs[2*i+1] = elements[i]
	}
	return reshape(full(x.Graph(), blocks, uop.Int(0), x.DType).StoreWhole(1, pairs...), s)
}

// exchanged puts the lesser of the elements i and j first; a missing element (nil) counts as the greatest.
func exchanged(x []*uop.UOp, i, j int) {
	if x[j] != nil {
		x[i], x[j] = minimum(x[i], x[j]), maximum(x[i], x[j])
	}
}

// merge does the stages of a bitonic merge among x. If mirrored, the second half of x is a sorted block in reverse, and the first stage compares
// elements that are mirror images; otherwise earlier steps have done that stage.
func merge(x []*uop.UOp, mirrored bool) {
	distance := len(x) / 2
	if mirrored {
		for i := range distance {
			exchanged(x, i, len(x)-1-i)
		}
		distance /= 2
	}
	for ; distance > 0; distance /= 2 {
		for i := range x {
			if i&distance == 0 {
				exchanged(x, i, i+distance)
			}
		}
	}
}

// oddEvenSort sorts elements in few comparisons (Batcher, Sorting networks and their applications, 1968).
func oddEvenSort(x []*uop.UOp, _ bool) {
	for size := 1; size < len(x); size *= 2 {
		for distance := size; distance > 0; distance /= 2 {
			for first := distance % size; first+distance < len(x); first += 2 * distance {
				for i := first; i < min(first+distance, len(x)-distance); i++ {
					if i/(2*size) == (i+distance)/(2*size) {
						exchanged(x, i, i+distance)
					}
				}
			}
		}
	}
}
