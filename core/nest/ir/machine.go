package ir

// Machine describes the target processor. Nothing else in this package knows sizes of registers or caches.
type Machine struct {
	// Name is printed in dumps.
	Name string
	// Lanes is the number of lanes of vectors of 32-bit elements, WideLanes that of kernels with vectors of 64-bit elements.
	Lanes, WideLanes int
	// Vectors is the number of vector registers.
	Vectors int
	// Pointers is the number of addresses that a loop can advance in registers.
	Pointers int
	// Masks: loads and stores can be masked at no cost, for elements of at least MaskedSize bytes.
	Masks      bool
	MaskedSize int64
	// FMA, F16C, Scale and Rotate are instructions that not every processor has: fused multiply-add, conversions
	// of half precision, multiplication by powers of two, and rotation of the bits of lanes.
	FMA, F16C, Scale, Rotate bool
	// ScalesToZero: Scale is not slower where its result underflows.
	ScalesToZero bool
	// Tables: an instruction takes numbers from a table in registers.
	Tables bool
	// SlowBroadcast: a load that broadcasts an element takes several instructions, so the rows of products are packed
	// broadcast.
	SlowBroadcast bool
	// LoadStore: operations have no memory operands, so tiles leave registers for loaded values.
	LoadStore bool
	// SlowLoops: the overhead of an iteration equals dozens of operations, so reduction loops are unrolled.
	SlowLoops bool
	// DotBF16 and DotI8: there are instructions for dot products of BF16, and of bytes.
	DotBF16, DotI8 bool
	// DotMixed: dot products of bytes multiply unsigned by signed bytes.
	DotMixed bool
	// SplitF32: products of F32 are computed as sums of products of BF16 (bf16x3).
	SplitF32 bool
	// L1, L2 and L3 are the sizes in bytes of the data caches of one core (L3: its share).
	L1, L2, L3 int64
	// Pages is the number of entries of the TLB.
	Pages int64
	// Stream is the size in bytes from which a buffer is written by non-temporal stores, 0 for never.
	Stream int64
	// RowStreams is the number of long rows that are read from memory at once: as many streams of loads as reach its bandwidth. 0: one stream
	// does.
	RowStreams int64
	// Threads is how many threads share a run.
	Threads int
	// Invocations: the machine is a GPU. In a kernel without vectors each iteration of the parallel loops is a work item, run by one
	// invocation; otherwise a work item is run by a workgroup, whose invocations are the lanes of vectors.
	Invocations bool
	// Workgroups is the number of workgroups that keep a GPU busy.
	Workgroups int64
	// Group is the largest number of invocations of a workgroup.
	Group int64
	// Shared is the size in bytes of the memory of a workgroup; 0 if the caches are as fast.
	Shared int64
	// Subgroups: invocations exchange values through registers.
	Subgroups bool
	// Iterations is how many iterations all loops of an invocation may do, 0 for any number.
	Iterations int64
	// Words32: there is no arithmetic on 64 bits. I64 and U64 are only counters and indices, which fit into 32.
	Words32 bool
}

// AVX512, AVX2 and SSE4 are x86-64 processors with the smallest caches of their kind.
var (
	AVX512 = Machine{Name: "avx512", Lanes: 16, WideLanes: 8, Vectors: 32, Pointers: 12, Masks: true, MaskedSize: 1, FMA: true, F16C: true, Scale: true, Rotate: true, Tables: true,
		L1: 32 << 10, L2: 1 << 20, L3: 1 << 20, Pages: 1 << 10, Threads: 1}
	AVX2 = Machine{Name: "avx2", Lanes: 8, WideLanes: 4, Vectors: 16, Pointers: 12, Masks: true, MaskedSize: 4, FMA: true, F16C: true, RowStreams: 8,
		L1: 32 << 10, L2: 256 << 10, L3: 1 << 20, Pages: 1 << 10, Threads: 1}
	SSE4 = Machine{Name: "sse4", Lanes: 4, WideLanes: 2, Vectors: 16, Pointers: 12, L1: 32 << 10, L2: 256 << 10, L3: 1 << 20, Pages: 1 << 10, Threads: 1}
	// Wasm is WebAssembly with vectors of 128 bits, on processors that have 16 registers for them, as wazero compiles it.
	Wasm = Machine{Name: "wasm", Lanes: 4, WideLanes: 2, Vectors: 16, Pointers: 6, SlowBroadcast: true, SlowLoops: true, L1: 32 << 10, L2: 256 << 10, L3: 1 << 20, Pages: 1 << 10, Threads: 1}
	// WasmJS is WebAssembly as the optimising compilers of JavaScript engines compile it.
	WasmJS = Machine{Name: "wasm-js", Lanes: 4, WideLanes: 2, Vectors: 14, Pointers: 6, LoadStore: true, L1: 32 << 10, L2: 256 << 10, L3: 1 << 20, Pages: 1 << 10, Threads: 1}
	// WebGPU is a GPU with the limits that every adapter of WebGPU has.
	WebGPU = Machine{Name: "webgpu", Lanes: 64, WideLanes: 64, Vectors: 36, Masks: true, MaskedSize: 1, Pointers: 12, Invocations: true, Workgroups: 256, Group: 256, Shared: 16 << 10, Words32: true, L1: 32 << 10, L2: 1 << 20, L3: 1 << 20, Pages: 1 << 10, Threads: 1}
	// WasmFused is WasmJS with relaxed SIMD's fused multiply-add, whose products need no register.
	WasmFused = Machine{Name: "wasm-fused", Lanes: 4, WideLanes: 2, Vectors: 16, Pointers: 6, LoadStore: true, FMA: true, L1: 32 << 10, L2: 256 << 10, L3: 1 << 20, Pages: 1 << 10, Threads: 1}
)
