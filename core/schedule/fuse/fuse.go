// Package fuse is the optimised pipeline from requests to kernels: it merges producers with consumers, contractions with
// their epilogues, siblings that read the same data, and contractions by blocks of rows. The table Passes has all steps.
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
	// RowBytes is the most memory of a row that several loops of a kernel stream through: part of a cache.
	RowBytes int64
	// BlockBytes is the most scratch memory of a block of rows between two contractions, MinBlock the least number of its rows:
	// contractions of few rows are slow.
	BlockBytes, MinBlock int64
	// MinRows is how many rows there must be, for threads to share them; kernels of up to SmallWork elements need none.
	MinRows, SmallWork int64
	// MaxWork is the factor by which recomputation may increase the arithmetic.
	MaxWork float64
	// MaxBuffers is the most buffers that a merged kernel may have.
	MaxBuffers int
	// KernelBuffers is the most buffers that a kernel may have before any is merged, 0 for any number.
	KernelBuffers int
	// StoreWork is what it costs to store an element of a value and to load it again, LaunchWork what another kernel costs, in
	// operations on an element.
	StoreWork, LaunchWork float64
	// MinScratch is the length of the shortest row whose function values are cached in scratch memory.
	MinScratch int64
}

const (
	// storeCycles is how long an element that is stored and loaded again passes through the caches, launchCycles how long a kernel
	// takes to begin.
	storeCycles, launchCycles = 0.375, 128
	// issued is how many operations on vectors begin in a cycle.
	issued = 2
)

// For returns options for a processor with a second-level cache of some size, vectors of some lanes, and a number of threads.
func For(cacheBytes int64, lanes, threads int) Options {
	operations := float64(issued * lanes) // in a cycle
	return Options{StoreWork: storeCycles * operations, LaunchWork: launchCycles * operations,
		RowBytes: cacheBytes / 4, BlockBytes: cacheBytes / 2, MinBlock: 16, MinRows: 4 * int64(threads), SmallWork: 1 << 14, MaxWork: 1.6, MaxBuffers: 24, MinScratch: 16}
}
