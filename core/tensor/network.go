package tensor

import "polygrad/core/uop"

// Networks of comparisons sort many rows of middle length side by side: the rows lie along the lanes of vectors. A step compares the
// elements of a row that are in registers with one another as often as it can; between steps they are in memory.

const (
	// networkRow is the length of rows up to which a network takes less time than passes over digits, twice as long without positions.
	networkRow = 1 << 12
	// networkBytes is how much of the cache a step may read, networkRows how many rows fill vectors, or a line of the cache.
	networkBytes, networkRows = 1 << 18, 16
	// stepBits says how many elements of a row are in registers, as a power of two.
	stepBits = 4
)

// suitsNetwork reports whether a network is the fastest way to sort rows of n elements. Positions take the other half of 64 bits.
func suitsNetwork(rows, n int64, dt *uop.DType, positions bool) bool {
	if positions {
		return n <= networkRow && rows >= networkRows && dt.Itemsize() <= 4
	}
	return n <= 2*networkRow && rows >= networkRows && dt.Itemsize() <= 8
}

// wholeVectors is the least number of rows from some on that fills vectors, which then lie in one line of the cache each.
func wholeVectors(rows int64) int64 { return (rows + networkRows - 1) / networkRows * networkRows }

// networkSort sorts each column of keys, of shape (n, columns). It is a bitonic sort
// (https://en.wikipedia.org/wiki/Bitonic_sorter); with positions, int32, numbers consist of a key and a position, so that no two are
// equal. All comparisons put the lesser number first: the second half of a block is looked at in the opposite direction where two
// blocks become one.
func networkSort(key *uop.UOp, positions bool) (sorted, at *uop.UOp) {
	n, dt := key.Shape()[0].N, key.DType
	x := key
	if dt.Itemsize() < 4 {
		x = cast(key, uop.Uint32)
	}
	if positions {
		from := reshape(cast(count0(key.Graph(), n), uop.Uint64), uop.ShapeOf(n, 1))
		x = bitOr(shiftLeft(cast(key, uop.Uint64), int(32)), expand(from, key.Shape()))
	}
	bits := stepBits
	for int64(1)<<bits < n {
		bits++
	}
	x = networkStep(padAxis(x, 0, 0, int64(1)<<bits-n, x.DType.Max()), stepBits, 0, false, oddEvenSort)
	for block := stepBits + 1; block <= bits; block++ {
		steps := (block + stepBits - 1) / stepBits
		for i, high := steps-1, block; i >= 0; i-- {
			low := block * i / steps
			x = networkStep(x, high-low, low, high == block, merge)
			high = low
		}
	}
	x = shrinkAxis(x, 0, uop.N(0), uop.N(n))
	if !positions {
		return cast(x, dt), nil
	}
	return cast(shiftRight(x, 32), dt), cast(bitAnd(x, uop.Uint(1<<32-1)), uop.Int32)
}

// networkStep compares elements of the first axis of x whose positions differ in so many bits from the bit low on; mirrored says that
// the elements with the highest of these bits stand in the opposite direction.
func networkStep(x *uop.UOp, bits, low int, mirrored bool, compare func(elements []*uop.UOp, mirrored bool)) *uop.UOp {
	s := x.Shape()
	width, distance := int64(1)<<bits, int64(1)<<low
	blocks := uop.ShapeOf(s[0].N/(width*distance), width*distance, s[1].N)
	wide := uop.ShapeOf(blocks[0].N, distance, s[1].N)
	x = reshape(x, blocks)
	pairs, elements := make([]*uop.UOp, 2*width), make([]*uop.UOp, width)
	at := reshape(count0(x.Graph(), distance), uop.ShapeOf(1, distance, 1))
	for i := range width {
		elements[i] = shrinkAxis(x, 1, uop.N(i*distance), uop.N((i+1)*distance))
		index := add(at, int(i*distance))
		if mirrored && i >= width/2 {
			elements[i] = flip(elements[i], 1)
			index = sub(int((i+1)*distance-1), at)
		}
		pairs[2*i] = expand(index, wide)
	}
	compare(elements, mirrored)
	for i, e := range elements {
		pairs[2*i+1] = e
	}
	return reshape(full(x.Graph(), blocks, uop.Int(0), x.DType).StoreWhole(1, pairs...), s)
}

// exchanged puts the lesser of two elements first.
func exchanged(x []*uop.UOp, i, j int) { x[i], x[j] = minimum(x[i], x[j]), maximum(x[i], x[j]) }

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
