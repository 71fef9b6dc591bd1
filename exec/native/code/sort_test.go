//go:build linux && amd64 && cgo

package code

import (
	"cmp"
	"fmt"
	"math"
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
	"teeth":      func(i, _ uint64, _ func() uint64) uint64 { return i % 97 },
	"roof":       func(i, n uint64, _ func() uint64) uint64 { return min(i, n-i) },
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
	for vector, needs := range map[int][]cpuid.FeatureID{32: {cpuid.AVX2, cpuid.BMI2}, 64: {cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.BMI2}} {
		t.Run(fmt.Sprint(vector, " bytes"), func(t *testing.T) {
			if !cpuid.CPU.Supports(needs...) {
				t.Skip("this processor has no such vectors")
			}
			testSort(t, vector)
		})
	}
}

func testSort(t *testing.T, vector int) {
	lengths := []int{1000, 4095, 65536, 70001}
	for n := 1; n < 300; n += 1 + n/40 {
		lengths = append(lengths, n)
	}
	for name, element := range inputs {
		t.Run(name, func(t *testing.T) {
			for _, n := range lengths {
				for _, number := range []int{1, 2, 4} { // fewer rows than threads: these share long ones
					before := threads
					threads = number
					for kind := range 2 * SortDescending {
						if (n+int(kind))%3 == 0 {
							sortRows[uint32](t, 1+number%2, n, kind, vector, element)
							sortRows[uint64](t, 1+number/4, n, kind, vector, element)
						}
					}
					threads = before
				}
			}
		})
	}
}

// sortRows compares rows with sorted ones. What lies behind them, and what is sorted, stays.
func sortRows[V uint32 | uint64](t *testing.T, rows, n int, kind SortKind, vector int, element func(i, n uint64, next func() uint64) uint64) {
	t.Helper()
	const behind = 12345
	var size V
	sorting := Sorting{"sort", int64(rows), int64(n), int(unsafe.Sizeof(size)), kind, vector}
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
		slices.SortStableFunc(want[row*n:(row+1)*n], func(a, b V) int { return ordered(kind, a, b) })
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
	got := to[:rows*n]
	same := func(a, b V) bool {
		return a == b || kind&SortFloats != 0 && math.IsNaN(float(a)) && math.IsNaN(float(b))
	}
	if !slices.EqualFunc(got, want, same) {
		i := 0
		for same(got[i], want[i]) {
			i++
		}
		t.Fatalf("rows of %d: element %d is %d, expected %d", n, i, got[i], want[i])
	}
}

// float is the number that has these bits.
func float[V uint32 | uint64](v V) float64 {
	if unsafe.Sizeof(v) == 4 {
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(uint64(v))
}

// ordered compares numbers by their values; -0 comes before 0.
func ordered[V uint32 | uint64](kind SortKind, a, b V) (order int) {
	top := V(1) << (8*unsafe.Sizeof(a) - 1)
	x, y := float(a), float(b)
	switch {
	case kind&SortFloats == 0 && kind&SortSigned == 0:
		order = cmp.Compare(a, b)
	case kind&SortFloats == 0:
		order = cmp.Compare(a^top, b^top)
	case math.IsNaN(x) && math.IsNaN(y):
	case math.IsNaN(x):
		order = 1
	case math.IsNaN(y):
		order = -1
	case x == y:
		order = cmp.Compare(b&top, a&top)
	default:
		order = cmp.Compare(x, y)
	}
	if kind&SortDescending != 0 {
		return -order
	}
	return order
}

func TestSortOfBytes(t *testing.T) {
	if _, err := (Sorting{"sort", 1, 10, 1, 0, 32}).Specs(); err == nil {
		t.Error("numbers of one byte: no error")
	}
}
