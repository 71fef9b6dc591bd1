package exec

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/exec/wasm"
)

// TestArenasFindRoom takes more arenas near one address than there are hints at its side.
func TestArenasFindRoom(t *testing.T) {
	const reach = 1 << 31
	p := newPool(reaching{interp.New(), reach}, 0)
	first, err := p.take(1<<16, span{})
	if err != nil {
		t.Fatal(err)
	}
	near := span{}.with(first.base, first.size)
	seen := map[device.Buffer]bool{first.base: true}
	var keep []*arena
	for range 200 {
		a, err := p.take(1<<20, near)
		if err != nil {
			t.Fatal(err)
		}
		if d := near.with(a.base, a.size).size(); d > reach {
			t.Fatalf("an arena lies %d bytes away, the reach is %d", d, reach)
		}
		if seen[a.base] {
			t.Fatal("two arenas share memory")
		}
		seen[a.base] = true
		keep = append(keep, a)
	}
	for _, a := range keep {
		p.give(a)
	}
	if len(p.idle) != 1 {
		t.Errorf("%d arenas are idle without a limit to keep them under, expected the last one", len(p.idle))
	}
}

func TestArenaSizesAreFewAndNotMuchLarger(t *testing.T) {
	sizes := map[int64]bool{}
	for n := int64(1); n < 1<<40; n += n/7 + 1 {
		s := arenaSize(n)
		sizes[s] = true
		if s < n || s > max(n+n/4, smallArena) {
			t.Errorf("%d bytes for %d", s, n)
		}
	}
	if len(sizes) > 1+4*20 {
		t.Errorf("%d sizes for 20 doublings", len(sizes))
	}
}

func TestPoolKeepsWhatWasUsedLast(t *testing.T) {
	const mb = 1 << 20
	p := newPool(interp.New(), 8*mb)
	take := func(bytes int64) *arena {
		t.Helper()
		a, err := p.take(bytes, span{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	idle := func(want ...int64) {
		t.Helper()
		total := int64(0)
		var got []int64
		for _, a := range p.idle {
			got, total = append(got, a.size/mb), total+a.size
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || total != p.bytes {
			t.Fatalf("idle are %v MB (%d bytes counted), expected %v", got, p.bytes, want)
		}
	}
	a, b, c := take(2*mb), take(4*mb), take(1*mb)
	p.give(a)
	p.give(b)
	p.give(c)
	idle(2, 4, 1)
	if got := take(2 * mb); got != b {
		t.Errorf("got an arena of %d MB, expected the one used last that is large enough", got.size/mb)
	}
	p.give(b)
	idle(2, 1, 4)
	d := take(5 * mb) // makes room first: only 3 MB may stay beside it
	idle()
	p.give(d)
	large := take(64 * mb)
	idle()
	p.give(large)
	idle(64)
	p.give(take(1 * mb))
	idle(64)
	p.trim(0, 0)
	idle()
}

// resident is the number of bytes of memory that this process uses.
func resident(t *testing.T) int64 {
	t.Helper()
	if runtime.GOOS == "wasip1" {
		t.Skip("the engine frees the code of kernels when its own collector runs")
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("the system does not say how much memory is in use: ", err)
	}
	var size, pages int64
	if _, err := fmt.Fscan(strings.NewReader(string(text)), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestManyRequestsShareTheirTemporaries runs 200 different requests that need 8 MB each for a while.
func TestManyRequestsShareTheirTemporaries(t *testing.T) {
	const n = 2 << 20
	b := &bench{t: t, g: symbolic.NewGraph(), e: New(wasm.New())}
	x, out := make([]float32, n), make([]float32, 1)
	for i := range x {
		x[i] = 1
	}
	bx, bo := b.floats(x...), b.floats(out...)
	request := func(i int) {
		y := b.must(tensor.Contiguous(b.must(tensor.Mul(bx, b.must(tensor.Scalar(bx, uop.Float(float64(i))))))))
		sum := b.must(tensor.Sum(b.must(tensor.Add(y, b.must(tensor.Flip(y, 0)))), nil, false))
		step, err := b.e.Compile(b.g.Sink(nil, bo.Store(sum)))
		if err == nil {
			err = step.Run(b.b, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if step.plan.arena < 8<<20 {
			t.Fatalf("the request has temporaries of %d bytes, expected 8 MB", step.plan.arena)
		}
		b.expect(out, float32(2*n*i))
	}
	request(1)
	start := resident(t)
	for i := 2; i <= 200; i++ {
		request(i)
	}
	if grown := resident(t) - start; grown > 200<<20 {
		t.Errorf("199 requests with 8 MB of temporaries took %d MB", grown>>20)
	}
	if len(b.e.pool.idle) != 1 {
		t.Errorf("%d arenas, expected all requests to share one", len(b.e.pool.idle))
	}
}

// TestRunsShareThePool runs plans with temporaries of different sizes from several goroutines at once.
func TestRunsShareThePool(t *testing.T) {
	e := New(interp.New())
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for round := range 12 {
				n := int64(64 << (round % 3))
				if err := rowSums(e, n, float32(worker+1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(e.pool.idle); n < 1 || n > 4 {
		t.Errorf("%d arenas are idle after four goroutines", n)
	}
}

// rowSums computes the sum of v + v over n elements by way of a temporary.
func rowSums(e *Executor, n int64, v float32) error {
	g := symbolic.NewGraph()
	x, out := make([]float32, n), make([]float32, 1)
	for i := range x {
		x[i] = v
	}
	bx, bo := g.NewBuffer("CPU", n, uop.Float32), g.NewBuffer("CPU", 1, uop.Float32)
	y, err := tensor.Add(bx, bx)
	if err == nil {
		y, err = tensor.Contiguous(y)
	}
	if err == nil {
		y, err = tensor.Sum(y, nil, false)
	}
	if err != nil {
		return err
	}
	if err := e.Realize(g.Sink(nil, bo.Store(y)), []Binding{{bx, unsafe.Pointer(&x[0]), n * 4, nil}, {bo, unsafe.Pointer(&out[0]), 4, nil}}, nil); err != nil {
		return err
	}
	if want := 2 * v * float32(n); out[0] != want {
		return fmt.Errorf("sum over %d elements is %v, expected %v", n, out[0], want)
	}
	return nil
}
