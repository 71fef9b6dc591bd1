// Package fuse merges the kernels of a schedule: what is reduced over a row with what is done to the same row next, what
// is done to the elements of a matrix product with the product, and kernels that read the same data.
//
// tinygrad's rules make a kernel of each reduction whose result is used more than once; this package works on their
// result and is for devices that run the loops of a kernel as they stand, where
//
//	for row { max; sum of exp; store }
//
// reads the row from memory once.
package fuse

// Options bound what may be merged.
type Options struct {
	// RowBytes is how much memory one row may take that is gone through several times: part of a cache.
	RowBytes int64
	// BlockBytes is how much memory a block of rows may take that goes through several kernels in one, MinBlock the least
	// number of its rows: products of few rows are slow.
	BlockBytes, MinBlock int64
	// MinRows is how many rows there must be, for threads to share them; kernels of up to SmallWork elements need none.
	MinRows, SmallWork int64
	// MaxWork is by how much the arithmetic may grow because values are computed again instead of being stored.
	MaxWork float64
	// MaxBuffers is the most buffers that a merged kernel may have.
	MaxBuffers int
	// MinScratch is the length of the shortest row for which scratch memory pays: there a kernel keeps values of functions
	// that several of its loops need.
	MinScratch int64
}

// For returns options for a processor with a second-level cache of some size, and a number of threads.
func For(cacheBytes int64, threads int) Options {
	return Options{RowBytes: cacheBytes / 4, BlockBytes: cacheBytes / 2, MinBlock: 16, MinRows: 4 * int64(threads), SmallWork: 1 << 14, MaxWork: 1.6, MaxBuffers: 24, MinScratch: 16}
}
