package polygrad

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"
	"unsafe"

	"polygrad/variable"
)

// count is the number of values of a context after the collector has run.
func (c *Context) count() (n int) {
	for range 3 { // cleanups run after the collector
		runtime.GC()
		runtime.Gosched()
	}
	for range 100 {
		c.lock()
		n, _, _ = c.vars.Counts()
		c.unlock()
		if n < 20 {
			return n
		}
		runtime.GC()
	}
	return n
}

// Training in a loop leaves nothing behind: neither values nor nodes.
func TestMemoryIsFlat(t *testing.T) {
	c, err := NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	w := FromIn(c, []float32{1, 2}).SetRequiresGrad(true)
	o, err := NewAdam([]*Tensor{w}, 0.01, DefaultAdam)
	if err != nil {
		t.Fatal(err)
	}
	loop := func(n int) {
		for range n {
			o.ZeroGrad()
			if err := w.Square().Sum().Backward().Err(); err != nil {
				t.Fatal(err)
			}
			if err := o.Step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	loop(2000)
	if n := c.count(); n > 20 {
		t.Errorf("%d values after 2,000 steps", n)
	}
	if n := c.vars.Graph.Len(); n > 20000 {
		t.Errorf("%d nodes after 2,000 steps", n)
	}
	runtime.KeepAlive(o)
	o, w = nil, nil
	if n := c.count(); n > 0 {
		t.Errorf("%d values after everything was dropped", n)
	}
	if _, buffers, computed := c.vars.Counts(); buffers > 0 || computed > 0 {
		t.Errorf("%d buffers and %d computed nodes after everything was dropped", buffers, computed)
	}
}

// A write to a tensor that nobody reads is in place; readers keep their elements, and cost nothing but the memory.
func TestWritesInPlace(t *testing.T) {
	c, err := NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	x := FromIn(c, []float32{1, 2, 3})
	at := func() unsafe.Pointer {
		l, pin, err := x.v.Pin()
		if err != nil {
			t.Fatal(err)
		}
		pin.Free()
		return l.Data
	}
	first := at()
	if err := x.Assign(5).Err(); err != nil || at() != first {
		t.Errorf("a tensor without readers was written elsewhere, %v", err)
	}
	y := x.Mul(2)
	if err := x.Set(1, At(0)).Err(); err != nil || at() == first {
		t.Errorf("a tensor with a reader was written in place, %v", err)
	}
	if y.IsRealized() {
		t.Error("a write has computed a reader")
	}
	runtime.KeepAlive(y)
}

// Any goroutine may use a context, while the collector looks for tensors all the time.
func TestGoroutines(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	c, err := NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	x := FromIn(c, []float32{1, 2, 3})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 300 {
				if v, err := x.Mul(i).Sum().Item(); err != nil || v != float64(6*i) {
					t.Errorf("%v, %v", v, err)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkOperation(b *testing.B) {
	x := From([]float32{1, 2, 3})
	for b.Loop() {
		_ = x.Add(x)
	}
}

func BenchmarkRealize(b *testing.B) {
	x := From(make([]float32, 10))
	for b.Loop() {
		if err := x.Add(x).Realize(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTrainingStep(b *testing.B) {
	w := From([]float32{1, 2}).SetRequiresGrad(true)
	o, err := NewAdam([]*Tensor{w}, 0.01, DefaultAdam)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o.ZeroGrad()
		w.Square().Sum().Backward()
		if err := o.Step(); err != nil {
			b.Fatal(err)
		}
	}
}

// Large tensors that nobody has are collected though the collector of Go does not see their memory.
func TestLargeGarbage(t *testing.T) {
	c, err := NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	const n = 16 << 20 // 64 MiB
	most := int64(0)
	for range 60 {
		x := c.Zeros([]int{n})
		if err := x.Realize(); err != nil {
			t.Fatal(err)
		}
		most = max(most, variable.InUse())
	}
	if most > 1<<30 {
		t.Errorf("%d MiB were in use, of tensors of 64", most>>20)
	}
}

// Tensors of a context that nobody calls any more give their memory back.
func TestAbandonedContext(t *testing.T) {
	before := variable.InUse()
	func() {
		c, err := NewContext("")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Zeros([]int{8 << 20}).Realize(); err != nil {
			t.Fatal(err)
		}
	}()
	for range 100 {
		runtime.GC()
		if variable.InUse() <= before {
			return
		}
		time.Sleep(maxDropDelay)
	}
	t.Errorf("%d bytes are in use, %d were before", variable.InUse(), before)
}
