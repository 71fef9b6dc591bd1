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

import (
	"math"

	"polygrad/core/uop"
)

// Options bound what may be merged.
type Options struct {
	// RowBytes is the largest row in bytes that several loops of a kernel stream through: part of a cache.
	RowBytes int64
	// BlockBytes is the most scratch memory of a block of rows between two contractions, MinBlock the least number of its rows:
	// contractions of few rows are slow.
	BlockBytes, MinBlock int64
	// Rows is the number of results that occupy the device: a reduction to fewer of them is split.
	Rows int64
	// MinRows is how many rows there must be, for threads to share them; kernels of up to SmallWork elements need none.
	MinRows, SmallWork int64
	// MaxBuffers is the most buffers that a merged kernel may have.
	MaxBuffers int
	// KernelBuffers is the most buffers that a kernel may have before any is merged, 0 for any number.
	KernelBuffers int
	// Machine has the costs of storing a value and loading it again.
	Machine Machine
	// HostTypes are the types that the device lacks: kernels that use them run on the host. nil for none.
	HostTypes func(dt *uop.DType) bool
	// Invocations: the iterations of a kernel run in parallel and cannot depend on each other.
	Invocations bool
	// SortsRows: the device has SORT.
	SortsRows bool
	// Cycles estimates how many cycles a run of a kernel takes one thread, as the kernel is laid out, and how many of them are for elements
	// that are loaded, stored or moved one by one; nil for devices that cannot tell. ok is false if that depends on its arguments.
	Cycles func(kernel *uop.UOp) (all, oneByOne float64, ok bool)
	// MinScratch is the length of the shortest row whose function values are cached in scratch memory.
	MinScratch int64
	// Online reports whether a kernel with blocks of OnlineRows rows between two contractions is compiled as online softmax, without memory
	// for the rows; nil for devices that have memory for a block.
	Online     func(kernel *uop.UOp) bool
	OnlineRows int64
}

// Target is the device, for what graphs depend on.
func (o *Options) Target() uop.Target {
	if o == nil {
		return uop.Target{Sorts: uop.SortsUnfused}
	}
	m := &o.Machine
	to := uop.Target{Sorts: uop.SortsInOrder, Vectors: m.Vectors, Lanes: m.Lanes, Cache: m.L2 * int64(m.Threads)}
	switch {
	case o.Invocations:
		to.Sorts = uop.SortsParallel
	case o.SortsRows:
		to.Sorts = uop.SortsByRow
	}
	return to
}

// Machine has the parameters of the cost model.
type Machine struct {
	// Lanes is the number of elements of a vector, Vectors the number of vector registers, Threads the number of threads that share a run.
	Lanes, Vectors, Threads int
	// L1, L2 and L3 are the sizes of the caches in bytes.
	L1, L2, L3 int64
	// Launch is the launch overhead of a kernel in cycles, 0 for that of a call.
	Launch float64
}

const (
	// callCycles is the overhead of calling a kernel.
	callCycles = 128
	// issued is the number of vector operations per cycle.
	issued = 2
)

// transferCycles is the number of cycles to load or store some memory, at the bandwidth of the cache level that it fits.
func (m *Machine) transferCycles(bytes int64) float64 {
	width := 10.0
	switch {
	case bytes <= m.L1:
		width = 64
	case bytes <= m.L2:
		width = 24
	case bytes <= m.L3:
		width = 20
	}
	return float64(bytes) / min(width, issued*4*float64(m.Lanes))
}

// vectorCycles is the number of cycles of operations on elements, in full vectors.
func (m *Machine) vectorCycles(operations float64) float64 {
	return operations / float64(issued*m.Lanes)
}

// launchCycles is the launch overhead of a kernel.
func (m *Machine) launchCycles() float64 {
	if m.Launch > 0 {
		return m.Launch
	}
	return callCycles
}

// ForInvocations returns options for a GPU: kernels have no sequential loops and no scratch memory, and kernels of a few rows leave most of
// it idle.
func ForInvocations(m Machine) Options {
	o := For(m)
	o.MinRows, o.SmallWork, o.BlockBytes, o.MinScratch, o.Invocations = 64, 1<<12, 0, math.MaxInt64, true
	return o
}

// For returns options for a machine.
func For(m Machine) Options {
	return Options{Machine: m, Rows: 64, RowBytes: m.L2 / 4, BlockBytes: m.L2 / 2, MinBlock: 16, MinRows: 4 * int64(m.Threads), SmallWork: 1 << 14, MaxBuffers: 24, MinScratch: 16}
}
