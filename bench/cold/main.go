// Command cold times the compiler from Go, without any binding: a request that was
// never seen before, and the same one again. It prints microseconds, medians of the
// given number of repetitions.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"runtime/pprof"
	"slices"
	"time"
	"unsafe"

	"polygrad/core/gradient"
	"polygrad/core/rewrite"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

func main() {
	reps := flag.Int("reps", 15, "repetitions")
	dev := flag.String("device", "wasm", "device")
	only := flag.String("only", "", "run one workload")
	profile := flag.String("cpuprofile", "", "write a CPU profile")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	e, err := exec.Open(*dev)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, w := range []struct {
		name  string
		build func(*graph) []*uop.UOp
	}{{"vecadd", vecadd}, {"softmax 32x128", softmax}, {"matmul 256", matmul}, {"mlp gradients", mlp}} {
		if *only == "" || *only == w.name {
			measure(e, w.name, w.build, *reps)
		}
	}
}

// graph builds requests on buffers with memory.
type graph struct {
	*uop.Graph
	binds []exec.Binding
	keep  []any
}

func must(u *uop.UOp, err error) *uop.UOp {
	if err != nil {
		panic(err)
	}
	return u
}

func (g *graph) buffer(dt *uop.DType, dims ...int64) *uop.UOp {
	s := uop.ShapeOf(dims...)
	n := s.Numel().N
	mem := make([]uint64, n*int64(dt.Itemsize())/8+1)
	b := g.NewBuffer("CPU", n, dt)
	g.keep = append(g.keep, mem)
	g.binds = append(g.binds, exec.Binding{Buffer: b, Ptr: unsafe.Pointer(&mem[0])})
	return must(tensor.Reshape(b, s))
}

func (g *graph) random(dims ...int64) *uop.UOp {
	u := g.buffer(uop.Float32, dims...)
	mem := g.keep[len(g.keep)-1].([]uint64)
	f := unsafe.Slice((*float32)(unsafe.Pointer(&mem[0])), len(mem)*2)
	for i := range f {
		f[i] = float32(math.Sin(float64(i)))
	}
	return u
}

func (g *graph) sink(outs []*uop.UOp) *uop.UOp {
	var stores []*uop.UOp
	for _, o := range outs {
		var dims []int64
		if d, ok := o.Shape().Ints(); ok {
			dims = d
		}
		stores = append(stores, g.buffer(o.DType, dims...).Base().Store(o))
	}
	return g.Sink(nil, stores...)
}

func measure(e *exec.Executor, name string, build func(*graph) []*uop.UOp, reps int) {
	var cold, again, run []float64
	kernels := 0
	since := func(t time.Time) float64 { return float64(time.Since(t).Nanoseconds()) / 1000 }
	visits := rewrite.Visits()
	for range reps {
		e.Flush()
		g := &graph{Graph: uop.NewGraph()}
		t := time.Now()
		sink := g.sink(build(g))
		step, err := e.Compile(sink)
		if err != nil {
			panic(err)
		}
		cold = append(cold, since(t))
		kernels = step.Kernels()
		if err := step.Run(g.binds, nil); err != nil {
			panic(err)
		}
		t = time.Now()
		if step, err = e.Compile(sink); err != nil {
			panic(err)
		}
		again = append(again, since(t))
		t = time.Now()
		if err := step.Run(g.binds, nil); err != nil {
			panic(err)
		}
		run = append(run, since(t))
	}
	visits = (rewrite.Visits() - visits) / int64(reps)
	fmt.Printf("%-16s %3d kernels  cold %9.1f us  again %7.1f us  run %9.1f us  %d visits, %.2f M/s\n", name, kernels,
		median(cold), median(again), median(run), visits, float64(visits)/median(cold))
}

func median(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }

func vecadd(g *graph) []*uop.UOp {
	return []*uop.UOp{must(tensor.Add(g.random(10), g.random(10)))}
}

func softmax(g *graph) []*uop.UOp {
	return []*uop.UOp{must(tensor.Softmax(g.random(32, 128), -1))}
}

func matmul(g *graph) []*uop.UOp {
	return []*uop.UOp{must(tensor.MatMul(g.random(256, 256), g.random(256, 256)))}
}

func mlp(g *graph) []*uop.UOp {
	sizes := []int64{784, 512, 256, 10}
	h, params := g.random(128, sizes[0]), []*uop.UOp{}
	for i := range sizes[1:] {
		w, b := g.random(sizes[i+1], sizes[i]), g.random(sizes[i+1])
		params = append(params, w, b)
		h = must(tensor.Linear(h, w, b))
		if i < len(sizes)-2 {
			h = must(tensor.Relu(h))
		}
	}
	loss := must(tensor.Mean(must(tensor.Square(must(tensor.LogSoftmax(h, -1)))), nil, false))
	grads, err := gradient.Of(loss, params, nil)
	if err != nil {
		panic(err)
	}
	return append([]*uop.UOp{loss}, grads...)
}
