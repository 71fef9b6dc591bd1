//go:build linux && amd64 && cgo

package code

/*
#include "fault.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

// threads is how many threads share a run.
var threads = 1

// state is what the process has of this package.
var state struct {
	once   sync.Once
	err    error
	memory memory
}

// ErrNoMemory says that the system lets no memory be executed.
var ErrNoMemory = errors.New("no executable memory")

// Open makes ready what kernels need: executable memory, the handler of faults, and the number of threads,
// which the environment variable POLY_THREADS gives. Its error says why there can be no kernels.
func Open() error {
	state.once.Do(func() { state.err = open() })
	return state.err
}

// Threads is how many threads share a run, from Open on.
func Threads() int { return threads }

func open() error {
	n, err := threadsOf(os.Getenv("POLY_THREADS"))
	if err != nil {
		return err
	}
	threads = n
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

// maxThreads is the largest number of threads.
const maxThreads = 256

// threadsOf reads POLY_THREADS. Without it all processors that the process may use share a run.
func threadsOf(text string) (int, error) {
	if text == "" {
		return min(runtime.GOMAXPROCS(0), maxThreads), nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxThreads {
		return 0, fmt.Errorf("POLY_THREADS: got %q, expected 1 to %d", text, maxThreads)
	}
	return n, nil
}
