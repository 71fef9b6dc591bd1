package exec

import (
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec/interp"
)

// scaled computes 16 numbers times a constant, which makes each constant a request of its own.
func scaled(t *testing.T, e *Executor, by float64) {
	t.Helper()
	g := symbolic.NewGraph()
	x, y := make([]float32, 16), make([]float32, 16)
	x[15] = 2
	from, to := g.NewBuffer("CPU", 16, uop.Float32), g.NewBuffer("CPU", 16, uop.Float32)
	factor, err := tensor.Scalar(from, uop.Float(by))
	if err != nil {
		t.Fatal(err)
	}
	v, err := tensor.Mul(from, factor)
	if err != nil {
		t.Fatal(err)
	}
	binds := []Binding{{from, unsafe.Pointer(&x[0]), 64}, {to, unsafe.Pointer(&y[0]), 64}}
	s, err := e.Compile(g.Sink(nil, to.Store(v)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(binds, nil); err != nil {
		t.Fatal(err)
	}
	if y[15] != float32(2*by) {
		t.Fatalf("2 times %g is %g", by, y[15])
	}
}

// TestCachesAreBounded makes distinct requests without end, under each limit.
func TestCachesAreBounded(t *testing.T) {
	const many = 300
	for name, c := range map[string]struct {
		limits   limits
		from, to int // the most plans that are kept at a time
	}{
		"plans":            {limits{plans: 40, kernels: many, bytes: 1 << 30}, 40, 40},
		"kernels":          {limits{plans: many, kernels: 30, bytes: 1 << 30}, 29, 30},
		"bytes":            {limits{plans: many, kernels: many, bytes: 500_000, few: 8}, 20, 100},
		"few, but large":   {limits{plans: many, kernels: many, bytes: 1, few: 8}, 8, 8},
		"nothing is large": {limits{plans: many + 1, kernels: many + 1, bytes: 1 << 30}, many, many},
	} {
		t.Run(name, func(t *testing.T) {
			e := New(interp.New())
			e.limits = c.limits
			most, bytes, again := 0, 0, 0
			for i := range many {
				scaled(t, e, float64(i))
				plans, _ := e.CacheSize()
				if plans < most {
					again++
				}
				most, bytes = max(most, plans), max(bytes, e.bytes())
			}
			if most < c.from || most > c.to {
				t.Errorf("%d plans were kept at a time, expected %d to %d", most, c.from, c.to)
			}
			if (again > 0) != (c.to < many) {
				t.Errorf("the caches were smaller than before %d times", again)
			}
			if e.limits.few > 0 && most > e.limits.few && bytes > e.limits.bytes+kernelBytes+100*nodeBytes {
				t.Errorf("%d bytes were kept, expected at most %d", bytes, e.limits.bytes)
			}
		})
	}
}

// TestCountOfLaunches follows the launches that are kept.
func TestCountOfLaunches(t *testing.T) {
	e := New(interp.New())
	for i := range 5 {
		scaled(t, e, float64(i%3))
	}
	if e.launches != 3 {
		t.Errorf("%d launches of 3 plans", e.launches)
	}
	e.Flush()
	if e.launches != 0 || len(e.plans) != 0 {
		t.Errorf("%d launches, %d plans after Flush", e.launches, len(e.plans))
	}
}
