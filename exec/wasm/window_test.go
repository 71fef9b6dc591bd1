//go:build !wasip1

package wasm

import (
	"runtime"
	"testing"
	"unsafe"

	"polygrad/core/uop"
	"polygrad/exec/pages"
)

// TestWindows opens windows for buffers in many places.
func TestWindows(t *testing.T) {
	heap := uintptr(unsafe.Pointer(new([64]byte)))
	mapped, err := pages.Reserve(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pages.Release(mapped, 1<<20) }()
	for _, c := range []struct{ lo, size uintptr }{
		{heap, 64}, {mapped, 1 << 20}, {1 << 20, 4096}, {0x5555_0000_0000, 3 << 30}, {0x5555_0000_0000, windowSize - 2*slack}, {0x20000, 1},
	} {
		base, ok := windowFor(c.lo, c.lo+c.size)
		if !ok || base+slack > c.lo || c.lo+c.size > base+windowSize {
			t.Errorf("window of %#x + %#x: %#x, %v", c.lo, c.size, base, ok)
		}
		if again, _ := windowFor(c.lo, c.lo+c.size); again != base {
			t.Errorf("the second window of %#x is %#x, the first was %#x", c.lo, again, base)
		}
	}
	for _, c := range []struct{ lo, hi uintptr }{{0x10000, 0x20000}, {1 << 40, 1<<40 + windowSize}, {1 << 40, 1 << 50}} {
		if base, ok := windowFor(c.lo, c.hi); ok {
			t.Errorf("window of [%#x, %#x) at %#x, expected none", c.lo, c.hi, base)
		}
	}
}

// TestCollectorAcceptsWindows runs kernels on Go's heap while mapped memory
// makes that continue in one place after the other, with free memory below the
// buffers: the collector must not find a window that begins there.
func TestCollectorAcceptsWindows(t *testing.T) {
	const n, arena = 1 << 18, 64 << 20
	var blocked []uintptr
	defer func() {
		for _, p := range blocked {
			_ = pages.Release(p, pageSize)
		}
	}()
	var kept [][]float32
	for round := range 14 {
		// Half an arena that is freed below, the buffers above it.
		below, buf := make([]float32, arena/2/4), make([]float32, (arena/2-4<<20)/4)
		kept = append(kept, buf)
		below[0] = 1
		runtime.GC()
		mustRun(t, addOne(t, n), ptr(buf), ptr(buf[n:]))
		if buf[0] != 1 {
			t.Fatalf("round %d gives %g", round, buf[0])
		}
		runtime.GC()
		// What is mapped behind the heap's last arena makes Go continue elsewhere.
		next := (uintptr(ptr(buf)) + arena) &^ (arena - 1)
		if p, err := pages.Reserve(next, pageSize); err == nil {
			blocked = append(blocked, p)
		}
	}
	runtime.KeepAlive(kept)
}

// TestClaimDoesNotReplace: a page that is in use is not taken.
func TestClaimDoesNotReplace(t *testing.T) {
	p, err := pages.Reserve(0, pageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pages.Release(p, pageSize) }()
	*(*byte)(pages.Pointer(p)) = 7
	if pages.Claim(p, pageSize) || *(*byte)(pages.Pointer(p)) != 7 {
		t.Error("a page in use was taken")
	}
	m := newMaker()
	o := m.param(0, uop.Float32, 1)
	m.store(m.index(o, m.int(0)), m.float(uop.Float32, 2))
	mustRun(t, m.compile(t, "store"), pages.Pointer(p))
	if *(*float32)(pages.Pointer(p)) != 2 {
		t.Error("a kernel does not see the page")
	}
}
