//go:build linux && amd64 && cgo

package native_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
)

// executable is the number of bytes of executable memory that the kernels of the process take; no memory may be writable too.
func executable(t *testing.T) (bytes uint64) {
	t.Helper()
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var from, to uint64
		var access string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &access); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(access, "w") && strings.Contains(access, "x") {
			t.Errorf("writable and executable: %s", lines.Text())
		}
		if strings.Contains(access, "x") && strings.Contains(lines.Text(), "polygrad") {
			bytes += to - from
		}
	}
	return bytes
}

// TestDistinctKernelsLeaveNothing makes kernels that are never seen again: the bits of a counter choose between a sum and a
// product at each place of a chain, because programs that differ in numbers only share a kernel.
func TestDistinctKernelsLeaveNothing(t *testing.T) {
	made, rounds := 0, 5
	each := 2000
	if testing.Short() {
		each = 200
	}
	g := newGraph(t)
	var first, last uint64
	for round := range rounds {
		for range each {
			h := &graph{t: t, g: symbolic.NewGraph(), e: g.e}
			x, out := []float32{1, 2, 3}, make([]float32, 3)
			in := h.floats(x)
			y, want := in, x[2]
			for bit := 1; bit < rounds*each; bit *= 2 {
				if made&bit == 0 {
					y, want = h.must(tensor.Add(y, in)), want+x[2]
				} else {
					y, want = h.must(tensor.Mul(y, in)), want*x[2]
				}
			}
			h.run(h.floats(out).Store(y))
			if out[2] != want {
				t.Fatalf("kernel %d computes %g, want %g", made, out[2], want)
			}
			made++
		}
		if _, kernels := g.e.CacheSize(); kernels < each/2 {
			t.Fatalf("%d kernels are kept of %d: the test looks at nothing", kernels, each)
		}
		last = executable(t)
		if round == 0 {
			first = last
		}
		g.e.Flush()
		for range 3 {
			runtime.GC() // kernels are freed when they are garbage
		}
	}
	if first == 0 {
		t.Skip("code is not where the test looks")
	}
	if last > first+first/2 {
		t.Errorf("%d bytes of executable memory after %d kernels, %d after %d", last, made, first, each)
	}
}
