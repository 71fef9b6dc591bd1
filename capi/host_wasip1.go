package main

import (
	"errors"
	"os"
	"strings"
	"unicode/utf8"
	"unsafe"

	"polygrad/exec/pages"
)

// What native builds have from the C library (host_cgo.go), for a WebAssembly module, which runs on one thread.

func main() {}

// blocks are the sizes of the memory that callers free, by address. It lies outside of Go's heap, which ends the module when it is full.
var blocks = map[unsafe.Pointer]uintptr{}

func cMalloc(n uintptr) unsafe.Pointer { return cAligned(n) }

func cCalloc(n, size uintptr) unsafe.Pointer { return cAligned(n * size) }

// cAligned is zeroed memory, nil if there is none.
func cAligned(n uintptr) unsafe.Pointer {
	at, err := pages.Fresh(n)
	if err != nil {
		return nil
	}
	p := pages.Pointer(at)
	blocks[p] = n
	return p
}

func cFree(p unsafe.Pointer) {
	if n, used := blocks[p]; used {
		delete(blocks, p)
		_ = pages.Release(uintptr(p), n)
	}
}

func permanent(n uintptr) unsafe.Pointer { return cAligned(n) }

func environment(name string) string { return os.Getenv(name) }

//go:wasmexport poly_wasm_alloc
func wasmAlloc(n float64) unsafe.Pointer { return cAligned(uintptr(n)) }

//go:wasmexport poly_wasm_free
func wasmFree(p unsafe.Pointer) { cFree(p) }

// lastError is the text of the last call that failed, with a 0 behind it. failed and before report whether the last call and the one before it
// failed.
var (
	lastError      [1004]byte
	failed, before bool
)

// beginCall begins a call.
func beginCall() { before, failed = failed, false }

const since = "; the last call that failed: "

// setError sets the last error; keep keeps the error that the call before left: it made the operand NULL, most likely.
func setError(text string, keep bool) {
	if keep && before {
		failed = true
		return
	}
	if keep {
		cause := goString(&lastError[0])
		if i := strings.Index(cause, since); i >= 0 {
			cause = cause[i+len(since):]
		}
		if both := text + since + cause; cause != "" && len(both) < len(lastError) {
			text = both
		}
	}
	n := min(len(text), len(lastError)-1)
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	lastError[copy(lastError[:], text[:n])] = 0
	failed = true
}

func poly_last_error() *byte {
	if !failed {
		return static("")
	}
	return &lastError[0]
}

// C functions that a caller gives do not reach a module: only functions that its host does not call take them.
var errNoFunctions = errors.New("functions of C cannot be called from WebAssembly")

func askPoll(poll, data unsafe.Pointer) bool { return true }

func callGate(gate unsafe.Pointer, x uintptr) bool { panic(abort{errNoFunctions}) }

func callCreate(create unsafe.Pointer, ctx, config uintptr) uintptr { panic(abort{errNoFunctions}) }

func callForward(forward unsafe.Pointer, model uintptr, user, inputs unsafe.Pointer, n int32, count *int32) unsafe.Pointer {
	panic(abort{errNoFunctions})
}

func callRelease(release, user unsafe.Pointer) { panic(abort{errNoFunctions}) }
