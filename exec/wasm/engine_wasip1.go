package wasm

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"polygrad/core/nest/ir"
	"polygrad/core/settings"
	"polygrad/exec/pages"
	render "polygrad/render/wasm"
)

// Here the library is itself a module of WebAssembly: the engine that runs it compiles kernels, too, and they work on its memory.

// hostCompile compiles a module of so many bytes. It returns its number, or 0.
//
//go:noescape
//go:wasmimport polygrad compile
func hostCompile(code unsafe.Pointer, bytes uint32) (module int32)

// hostBind returns the number of the function of a kernel.
//
//go:noescape
//go:wasmimport polygrad bind
func hostBind(module, kernel int32) (function int32)

// hostDrop frees a module.
//
//go:noescape
//go:wasmimport polygrad drop
func hostDrop(module int32)

// hostRun calls a function with the address of its arguments. It returns 0, or 1 after a trap.
//
//go:noescape
//go:wasmimport polygrad run
func hostRun(function int32, args unsafe.Pointer) (trapped int32)

// hostThreads is the number of threads that share runs, if so many are wanted; 0 leaves it to the host.
//
//go:noescape
//go:wasmimport polygrad threads
func hostThreads(wanted int32) int32

// hostShare calls a function from threads, each of which does so many pieces of its part of the items. The arguments of each thread are
// size words; the one at first and the next are the first item and the number of items. It returns 0, or 1 after a trap.
//
//go:noescape
//go:wasmimport polygrad share
func hostShare(function int32, args unsafe.Pointer, size, first, threads, pieces int32, items float64) (trapped int32)

// hostError writes the text of what failed last, as much as there is room for, and returns how long it is.
//
//go:noescape
//go:wasmimport polygrad error
func hostError(text unsafe.Pointer, room uint32) (bytes uint32)

// hostShared is 1 if the memory is shared by threads.
//
//go:noescape
//go:wasmimport polygrad shared
func hostShared() int32

// hostFused is 1 if the relaxed multiply-adds of vectors are there and round once.
//
//go:noescape
//go:wasmimport polygrad fused
func hostFused() int32

// hostFailure is the host's text of what failed last.
func hostFailure() error {
	text := make([]byte, 1<<10)
	n := hostError(unsafe.Pointer(unsafe.SliceData(text)), uint32(len(text)))
	return errors.New(string(text[:min(int(n), len(text))]))
}

// code is the host's number of a module, and its bytes, which other threads compile in place.
type code struct {
	number int32
	bytes  []byte
}

// compile compiles kernels as one module.
func compile(kernels []*render.Kernel) (code, error) {
	bytes := encode(kernels...)
	c := code{hostCompile(unsafe.Pointer(unsafe.SliceData(bytes)), uint32(len(bytes))), bytes}
	if c.number == 0 {
		return c, hostFailure()
	}
	return c, nil
}

func (c *code) free() { hostDrop(c.number) }

// encode makes a module of kernels.
func encode(kernels ...*render.Kernel) []byte {
	return render.HostModule(hostShared() != 0, kernels...)
}

// bindings are none: what runs a kernel is a number.
type bindings struct{}

func (*bindings) close() {}

// function is the host's number of a kernel's function.
type function struct {
	number int32
	// threads is how many threads share the work items, pieces in how many pieces each does its part.
	threads, pieces int
	// firstPieces is in how many calls each thread does its part of the first run: see firstRun.
	firstPieces int
}

const (
	// longRun is the number of operations from which on a first run is divided.
	longRun = 1 << 22
	// firstSetup is the share of the first run that the setup of all its pieces may take.
	firstSetup = 1. / 4
)

// firstRun is the number of pieces in which a kernel runs for the first time. An engine begins with baseline code, ten times as slow, and compiles
// long-running functions to better code meanwhile, which the next call uses.
func firstRun(k *render.Kernel) int {
	n := int(min(k.Items, maxPieces))
	if k.Setup > 0 {
		n = min(n, int(firstSetup/k.Setup))
	}
	if k.Flops < longRun {
		return 1
	}
	return max(n, 1)
}

func (m *module) function(number int, k *render.Kernel, threads int) function {
	f := function{number: hostBind(m.number, int32(number))}
	f.threads, f.pieces = share(k.Items, threads, k.Flops, k.Bytes, k.Setup)
	f.firstPieces = firstRun(k)
	return f
}

// threads is the number of threads that share a kernel.
func threads() int { return int(hostThreads(int32(settings.Threads.Number()))) }

// compiler is the machine for which kernels are planned, and their renderer.
func compiler() (ir.Machine, render.Options) {
	m := ir.WasmJS
	if hostFused() != 0 {
		m = ir.WasmFused
	}
	return m, render.Options{SplatLoads: true}
}

// Goroutines are not preempted here: the cleanups of garbage run when a goroutine yields, as run does once in so many runs of kernels.
const runsPerYield = 64

var runs uint

// run runs the kernel.
func (k *Kernel) run(ptrs []unsafe.Pointer, vars []int64) error {
	if runs++; runs%runsPerYield == 0 {
		runtime.Gosched()
	}
	var memory uintptr
	if k.scratch > 0 {
		var err error
		if memory, err = scratchOf(k.scratch * uintptr(k.threads)); err != nil {
			return fmt.Errorf("wasm kernel %s: scratch memory: %w", k.Name, err)
		}
	}
	// From here on nothing yields: a buffer may be a variable on the stack, which a collection moves.
	var few [64]uint64
	args := few[:0]
	for _, p := range ptrs {
		args = append(args, uint64(uintptr(p)))
	}
	for _, v := range vars {
		args = append(args, uint64(v))
	}
	first := len(args)
	args = append(args, 0, uint64(k.Items))
	if k.scratch > 0 {
		args = append(args, uint64(memory))
	}
	calls := k.firstPieces
	k.firstPieces = 1
	if k.threads > 1 {
		size := len(args)
		for thread := 1; thread < k.threads; thread++ {
			args = append(args, args[:size]...)
			if k.scratch > 0 {
				args[len(args)-1] += uint64(k.scratch) * uint64(thread)
			}
		}
		if hostShare(k.number, unsafe.Pointer(unsafe.SliceData(args)), int32(size), int32(first), int32(k.threads), int32(max(k.pieces, calls)), float64(k.Items)) != 0 {
			return fmt.Errorf("wasm kernel %s: %w", k.Name, hostFailure())
		}
		runtime.KeepAlive(k)
		return nil
	}
	for i := range int64(calls) {
		from := k.Items * i / int64(calls)
		args[first], args[first+1] = uint64(from), uint64(k.Items*(i+1)/int64(calls)-from)
		if hostRun(k.number, unsafe.Pointer(unsafe.SliceData(args))) != 0 {
			return fmt.Errorf("wasm kernel %s: %w", k.Name, hostFailure())
		}
	}
	runtime.KeepAlive(k)
	return nil
}

// scratch is the memory of the one kernel that runs at a time, for all threads.
var scratch struct{ at, size uintptr }

// scratchOf returns scratch memory of at least so many bytes.
func scratchOf(size uintptr) (uintptr, error) {
	if size > scratch.size {
		if scratch.size > 0 {
			_ = pages.Release(scratch.at, scratch.size)
			scratch.size = 0
		}
		at, err := pages.Reserve(0, size)
		if err != nil {
			return 0, err
		}
		scratch.at, scratch.size = at, size
	}
	return scratch.at, nil
}
