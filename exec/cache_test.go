package exec

import (
	"runtime"
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec/interp"
)

// scaling is 16 numbers times a constant, which makes each constant a request of its own.
type scaling struct {
	by    float64
	step  *Step
	binds []Binding
	x, y  []float32
}

func newScaling(t *testing.T, e *Executor, by float64) *scaling {
	t.Helper()
	g := symbolic.NewGraph()
	s := &scaling{by: by, x: make([]float32, 16), y: make([]float32, 16)}
	s.x[15] = 2
	from, to := g.NewBuffer("CPU", 16, uop.Float32), g.NewBuffer("CPU", 16, uop.Float32)
	factor, err := tensor.Scalar(from, uop.Float(by))
	if err != nil {
		t.Fatal(err)
	}
	v, err := tensor.Mul(from, factor)
	if err != nil {
		t.Fatal(err)
	}
	s.binds = []Binding{{from, unsafe.Pointer(&s.x[0]), 64, nil}, {to, unsafe.Pointer(&s.y[0]), 64, nil}}
	if s.step, err = e.Compile(g.Sink(nil, to.Store(v))); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *scaling) run(t *testing.T) {
	t.Helper()
	s.y[15] = 0
	if err := s.step.Run(s.binds, nil); err != nil {
		t.Fatal(err)
	}
	if s.y[15] != float32(2*s.by) {
		t.Fatalf("2 times %g is %g", s.by, s.y[15])
	}
}

func scaled(t *testing.T, e *Executor, by float64) {
	t.Helper()
	newScaling(t, e, by).run(t)
}

// TestCachesAreBounded makes distinct requests without end.
func TestCachesAreBounded(t *testing.T) {
	const many = 300
	for name, c := range map[string]struct {
		limits   limits
		from, to int // the most plans that are kept at a time
	}{
		"bytes":            {limits{bytes: 500_000, few: 8}, 20, 100},
		"few, but large":   {limits{bytes: 1, few: 8}, 8, 8},
		"nothing is large": {limits{bytes: 1 << 30}, many, many},
	} {
		t.Run(name, func(t *testing.T) {
			e := New(interp.New())
			e.limits = c.limits
			most, bytes, again := 0, int64(0), 0
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
			if most > c.limits.few && bytes > c.limits.bytes {
				t.Errorf("%d bytes were kept, expected at most %d", bytes, c.limits.bytes)
			}
		})
	}
}

// TestThousandsOfProgramsFitTheBound makes different programs on the usual device. One is used all the time, one is held and used once more
// at the end.
func TestThousandsOfProgramsFitTheBound(t *testing.T) {
	t.Setenv("POLY_CACHE_MB", "4")
	e, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	const limit = 1 << 20
	if e.limits.bytes != limit || e.pool.limit != 2*limit {
		t.Fatalf("of 4 MiB programs have %d bytes, temporaries %d", e.limits.bytes, e.pool.limit)
	}
	held, often := newScaling(t, e, -1), newScaling(t, e, -2)
	scaled(t, e, -2)
	plan := often.step.plan
	var start int64
	for i := range 4000 {
		scaled(t, e, float64(i))
		if i%10 == 0 && newScaling(t, e, -2).step.plan != plan {
			t.Fatalf("a program that is used all the time was compiled again after %d others", i)
		}
		if e.bytes() > limit {
			t.Fatalf("%d bytes are kept after %d programs, expected at most %d", e.bytes(), i, limit)
		}
		if i == 500 {
			runtime.GC()
			start = resident(t)
		}
	}
	runtime.GC()
	runtime.GC() // frees the code of kernels that the first found
	if grown := resident(t) - start; grown > 64<<20 {
		t.Errorf("3500 programs took %d bytes", grown)
	}
	held.run(t)
	often.run(t)
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
