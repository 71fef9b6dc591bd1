//go:build linux && amd64 && cgo

package code

/*
#include "fault.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"polygrad/core/settings"
)

// threads is the number of threads of a run.
var threads = 1

// state is the state of this package in the process.
var state struct {
	once   sync.Once
	err    error
	memory memory
}

// ErrNoMemory: the system permits no executable memory.
var ErrNoMemory = errors.New("no executable memory")

// Open prepares executable memory, the fault handler, and the number of threads: POLY_THREADS, or else that of the processors.
// Its error says why there can be no kernels.
func Open() error {
	state.once.Do(func() { state.err = open() })
	return state.err
}

// Threads is the number of threads of a run, from Open on.
func Threads() int { return threads }

func open() error {
	threads = settings.Threads.Number()
	if threads == 0 {
		threads = min(runtime.GOMAXPROCS(0), maxThreads)
	}
	state.memory.single = perfWanted()
	const ret = 0xc3
	blocks, err := state.memory.load([]text{{"probe", []byte{ret}}})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoMemory, err)
	}
	state.memory.free(blocks[0])
	if C.poly_native_watch() != 0 {
		return errors.New("sigaction failed")
	}
	return nil
}

// maxThreads is the limit of threads.
var maxThreads = settings.Threads.Values.(settings.Between).Max
