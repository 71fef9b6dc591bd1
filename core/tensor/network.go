package tensor

import "polygrad/core/uop"

// Networks of comparisons sort many rows of middle length side by side: the rows lie along the lanes of vectors. A step compares the
// elements of a row that are in registers with one another as often as it can; between steps they are in memory.

const (
	// networkRow is the length of rows up to which a network takes less time than passes over digits, twice as long without positions.
	networkRow = 1 << 12
	// networkBytes is how much of the cache a step may read, networkRows how many rows fill vectors, or a line of the cache.
	networkBytes, networkRows = 1 << 16, 16
	// stepBits says how many elements of a row are in registers, as a power of two.
	stepBits = 4
)

// suitsNetwork reports whether a network is the fastest way to sort rows of n elements. Positions take the other half of 64 bits.
func suitsNetwork(rows, n int64, positions bool) bool {
	most := int64(2 * networkRow)
	if positions {
		most = networkRow
	}
	return n <= most && rows >= networkRows
}

// wholeVectors is the least number of rows from some on that fills vectors, which then lie in one line of the cache each.
func wholeVectors(rows int64) int64 { return (rows + networkRows - 1) / networkRows * networkRows }

// networkSort sorts each column of keys, of shape (n, columns). It is a bitonic sort
// (https://en.wikipedia.org/wiki/Bitonic_sorter); with positions, int32, numbers consist of a key and a position, so that no two are
// equal. All comparisons put the lesser number first: the second half of a block is looked at in the opposite direction where two
// blocks become one.
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

// networkMerges sorts the columns of x. Two sorted blocks become one until all are; those at the end, fewer than a block has, are in a
// tensor of their own, and join the last block if it has no other partner. What fills the last step is sorted last.
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

// mergeSteps is how many steps make one sorted block of 2^block elements of two, mergeLow the lowest bit of the step that so many follow.
func mergeSteps(block int) int { return (block + stepBits - 1) / stepBits }

func mergeLow(block, following int) int { return block * following / mergeSteps(block) }

// mergeBlocks makes sorted blocks of 2^block elements of pairs of sorted blocks: of one tensor, or of one block and a part of another.
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

// networkStep compares elements of the first axis whose positions differ in so many bits from the bit low on; mirrored says that
// the elements with the highest of these bits stand in the opposite direction. Two parts are the halves of a block; the second may be shorter.
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

// exchanged puts the lesser of two elements first; one that is not there is the greatest.
func exchanged(x []*uop.UOp, i, j int) {
	if x[j] != nil {
		x[i], x[j] = minimum(x[i], x[j]), maximum(x[i], x[j])
	}
}

// merge sorts elements of two sorted blocks, the second of which is mirrored, or of which the first part is not greater than the second
// after half of the comparisons of a merger.
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
