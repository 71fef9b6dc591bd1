//go:build !wasip1

package wasm

import (
	"sync"
	"testing"
	"unsafe"

	"polygrad/exec/pages"
)

// shared makes a kernel that adds one to elements in many pieces on 4 threads.
func shared(t testing.TB, n int64) *Kernel {
	k := addOne(t, n)
	if k.Items < 8 {
		t.Fatalf("%d work items for %d elements", k.Items, n)
	}
	k.Threads, k.pieces = 4, 3
	return k
}

func TestThreads(t *testing.T) {
	const n = 1 << 16
	k := shared(t, n)
	in := make([]float32, n)
	for i := range in {
		in[i] = float32(i)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				out := make([]float32, n)
				if err := k.Run([]unsafe.Pointer{ptr(out), ptr(in)}, nil); err != nil {
					t.Error(err)
				}
				for i, v := range out {
					if v != float32(i)+1 {
						t.Errorf("element %d is %g", i, v)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestFarBuffers runs on buffers that no window covers: on Go's heap, near the
// bottom of the address space and in mapped memory.
func TestFarBuffers(t *testing.T) {
	const n = 1 << 14
	low := mapAt(t, 0x100000000, 1<<16)
	high := mapAt(t, 0x7000_0000_0000, 1<<16)
	for _, k := range []*Kernel{addOne(t, n), shared(t, n)} {
		out := unsafe.Slice((*float32)(high), n)
		in := unsafe.Slice((*float32)(low), n)
		for i := range in {
			in[i], out[i] = float32(i), 0
		}
		mustRun(t, k, high, low)
		for i, v := range out {
			if v != float32(i)+1 {
				t.Fatalf("%s: element %d is %g", k.Name, i, v)
			}
		}
		goBuf := make([]float32, n)
		mustRun(t, k, ptr(goBuf), low)
		if goBuf[n-1] != n {
			t.Errorf("%s into Go's heap: last element %g", k.Name, goBuf[n-1])
		}
	}
	if inUse, _ := Default.Stats(); inUse != 0 {
		t.Errorf("copies of %d bytes were not freed", inUse)
	}
}

func mapAt(t *testing.T, addr, n uintptr) unsafe.Pointer {
	t.Helper()
	p, err := pages.Reserve(addr, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pages.Release(p, n) })
	if p != addr {
		t.Skipf("the system mapped %#x instead of %#x", p, addr)
	}
	return pages.Pointer(p)
}

// TestInstances: the instance of a module over a window goes with the last of its kernels that ran there.
func TestInstances(t *testing.T) {
	k, out := addOne(t, 4), make([]float32, 8)
	mustRun(t, k, ptr(out), ptr(out[4:]))
	if n := len(k.state.of.at); n != 1 {
		t.Errorf("%d instances after a run, expected 1", n)
	}
	k.Close()
	if n := len(k.state.of.at); n != 0 {
		t.Errorf("%d instances after the kernel was closed, expected none", n)
	}
}
