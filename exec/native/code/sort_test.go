//go:build linux && amd64 && cgo

package code

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// inputs are rows in orders that are hard for sorts; next is random.
var inputs = map[string]func(i, n uint64, next func() uint64) uint64{
	"random":     func(_, _ uint64, next func() uint64) uint64 { return next() },
	"few":        func(_, _ uint64, next func() uint64) uint64 { return next() % 3 },
	"equal":      func(_, _ uint64, _ func() uint64) uint64 { return 7 },
	"greatest":   func(_, _ uint64, _ func() uint64) uint64 { return ^uint64(0) },
	"ascending":  func(i, _ uint64, _ func() uint64) uint64 { return i },
	"descending": func(i, n uint64, _ func() uint64) uint64 { return n - i },
	"hills":      func(i, n uint64, _ func() uint64) uint64 { return i * i % n },
	"outliers": func(i, _ uint64, next func() uint64) uint64 {
		if i%100 == 0 {
			return ^uint64(0) - i
		}
		return next() % 50
	},
	// Chunks that pivots are taken from hold the least elements.
	"low chunks": func(i, n uint64, next func() uint64) uint64 {
		if i < 64 || i > n-64 || i > n/2-64 && i < n/2+64 {
			return i
		}
		return 1<<20 + next()
	},
}

func TestSort(t *testing.T) {
	if !cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.BMI2) {
		t.Skip("this processor has no AVX-512")
	}
	lengths := []int{1000, 4095, 70001}
	for n := 1; n < 300; n += 1 + n/40 {
		lengths = append(lengths, n)
	}
	for name, element := range inputs {
		t.Run(name, func(t *testing.T) {
			for _, n := range lengths {
				for _, number := range []int{1, 2, 4} { // fewer rows than threads: these share long ones
					before := threads
					threads = number
					sortRows[uint32](t, 1+number%2, n, element)
					sortRows[uint64](t, 1+number/4, n, element)
					threads = before
				}
			}
		})
	}
}

// sortRows compares rows with sorted ones. What lies behind them, and what is sorted, stays.
func sortRows[V uint32 | uint64](t *testing.T, rows, n int, element func(i, n uint64, next func() uint64) uint64) {
	t.Helper()
	const behind = 12345
	var size V
	sorting := Sorting{"sort", int64(rows), int64(n), int(unsafe.Sizeof(size))}
	specs, err := sorting.Specs()
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := Load(specs)
	if err != nil {
		t.Fatal(err)
	}
	run := kernels[0].Run
	if len(kernels) > 1 {
		run = sorting.NewShared(kernels).Run
	}
	defer func() {
		for _, k := range kernels {
			k.Close()
		}
	}()
	random := rand.New(rand.NewPCG(1, uint64(n)))
	from, to := make([]V, rows*n), make([]V, rows*n+1)
	for i := range from {
		from[i] = V(element(uint64(i%n), uint64(n), random.Uint64))
	}
	to[rows*n] = behind
	want := slices.Clone(from)
	for row := range rows {
		slices.Sort(want[row*n : (row+1)*n])
	}
	before := slices.Clone(from)
	if err := run([]unsafe.Pointer{unsafe.Pointer(&to[0]), unsafe.Pointer(&from[0])}, nil); err != nil {
		t.Fatal(err)
	}
	if to[rows*n] != behind {
		t.Errorf("rows of %d: wrote behind them", n)
	}
	if !slices.Equal(from, before) {
		t.Errorf("rows of %d: the source changed", n)
	}
	if got := to[:rows*n]; !slices.Equal(got, want) {
		i := 0
		for got[i] == want[i] {
			i++
		}
		t.Fatalf("rows of %d: element %d is %d, expected %d", n, i, got[i], want[i])
	}
}

func TestSortOfBytes(t *testing.T) {
	if _, err := (Sorting{"sort", 1, 10, 1}).Specs(); err == nil {
		t.Error("numbers of one byte: no error")
	}
}
