//go:build linux && cgo

// Command kernels measures compiled kernels against the loops that gcc makes of C, in one process,
// turn by turn, on the same arrays.
//
// It prints one JSON object: {"kernels": {name: {"ours_us", "gcc_us", "ours_net_us", "gcc_net_us",
// "bytes"}}, "call_ours_us", "call_gcc_us", "matmul_512_gflops"}. A call is measured on 4 elements;
// the net times are without it. On one processor what counts is the processor time of
// the thread, which other programs do not disturb. gcc may reorder sums (-ffast-math): it would
// not vectorise them otherwise; exp is then glibc's vector function.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/wasm"
)

const rounds = 31

// places are the numbers of elements that fit a place.
var places = []struct {
	name string
	n    int64
}{{"L1", 2048}, {"L2", 1 << 16}, {"memory", 1 << 22}}

// works are the kernels, with the number of arrays that one reads and writes in full.
var works = []struct {
	name    string
	streams int64
	build   func(a, b *uop.UOp) *uop.UOp
}{
	{"add", 3, func(a, b *uop.UOp) *uop.UOp { return must(tensor.Add(a, b)) }},
	{"chain5", 3, chain5},
	{"relu_scale", 3, func(a, b *uop.UOp) *uop.UOp { return must(tensor.Mul(must(tensor.Relu(a)), b)) }},
	{"exp", 2, func(a, _ *uop.UOp) *uop.UOp { return must(tensor.Exp(a)) }},
	{"sum", 1, func(a, _ *uop.UOp) *uop.UOp { return must(tensor.Sum(a, nil, false)) }},
	{"max", 1, func(a, _ *uop.UOp) *uop.UOp { return must(tensor.Max(a, nil, false)) }},
	{"dot", 2, func(a, b *uop.UOp) *uop.UOp { return must(tensor.Sum(must(tensor.Mul(a, b)), nil, false)) }},
	{"row_sum", 1, rowSum},
}

// chain5 is ((a + b) * a - b) * 0.5 + 1.
func chain5(a, b *uop.UOp) *uop.UOp {
	c := must(tensor.Sub(must(tensor.Mul(must(tensor.Add(a, b)), a)), b))
	c = must(tensor.Mul(c, must(tensor.Scalar(c, uop.Float(0.5)))))
	return must(tensor.Add(c, must(tensor.Scalar(c, uop.Float(1)))))
}

func rowSum(a, _ *uop.UOp) *uop.UOp {
	n := a.Shape().Numel().N
	return must(tensor.Sum(must(tensor.Reshape(a, uop.ShapeOf(n/rowLength, rowLength))), []int{1}, false))
}

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return v
}

// timing is what one kernel takes.
type timing struct {
	Ours    float64 `json:"ours_us"`
	GCC     float64 `json:"gcc_us"`
	OursNet float64 `json:"ours_net_us"`
	GCCNet  float64 `json:"gcc_net_us"`
	Bytes   int64   `json:"bytes"`
}

type report struct {
	Kernels  map[string]timing `json:"kernels,omitempty"`
	CallOurs float64           `json:"call_ours_us,omitempty"`
	CallGCC  float64           `json:"call_gcc_us,omitempty"`
	MatMul   float64           `json:"matmul_512_gflops"`
}

func main() {
	product := flag.Bool("matmul", false, "measure the matrix product alone")
	flag.Parse()
	runtime.LockOSThread()
	e := must(exec.Open("wasm"))
	r := report{MatMul: gflops(e, 512)}
	if !*product {
		r.Kernels = map[string]timing{}
		call := newPair(e, "add", works[0].build, 4)
		var ours, gcc []float64
		for range rounds {
			ours, gcc = append(ours, perCall(call.ours)), append(gcc, perCall(call.gcc))
		}
		r.CallOurs, r.CallGCC = median(ours)*1e6, median(gcc)*1e6
		for _, w := range works {
			for _, p := range places {
				k := newPair(e, w.name, w.build, p.n)
				t := compare(call, k)
				k.free()
				t.Bytes = w.streams * p.n * 4
				r.Kernels[w.name+", "+p.name] = t
			}
		}
	}
	must(0, json.NewEncoder(os.Stdout).Encode(r))
}

// array is a buffer with memory, filled with small numbers.
func array(g *uop.Graph, dims ...int64) (*uop.UOp, exec.Binding) {
	s := uop.ShapeOf(dims...)
	n := s.Numel().N
	b := g.NewBuffer("CPU", n, uop.Float32)
	mem := must(wasm.Default.Alloc(int(n * 4)))
	for i, v := 0, unsafe.Slice((*float32)(mem), n); i < len(v); i++ {
		v[i] = float32(math.Sin(float64(i)))
	}
	return must(tensor.Reshape(b, s)), exec.Binding{Buffer: b, Ptr: mem}
}

// step compiles the computation of u into a new buffer.
func step(e *exec.Executor, u *uop.UOp) (*exec.Step, exec.Binding) {
	g := u.Graph()
	out, binding := array(g, u.Shape().Numel().N)
	return must(e.Compile(g.Sink(nil, out.Base().Store(u)))), binding
}

// pair is a kernel and the loop in C that does the same on the same memory.
type pair struct {
	ours, gcc, free func()
}

func newPair(e *exec.Executor, name string, build func(a, b *uop.UOp) *uop.UOp, n int64) pair {
	g := symbolic.NewGraph()
	a, aMem := array(g, n)
	b, bMem := array(g, n)
	s, out := step(e, build(a, b))
	binds := []exec.Binding{out, aMem, bMem}
	loop := loops[name]
	return pair{
		ours: func() { must(0, s.Run(binds, nil)) },
		gcc:  func() { loop(out.Ptr, aMem.Ptr, bMem.Ptr, n) },
		free: func() { free(binds) },
	}
}

// compare measures both, and calls that do next to nothing between them.
func compare(call, k pair) timing {
	var ours, gcc, oursNet, gccNet []float64
	for range rounds {
		o, c := perCall(k.ours), perCall(k.gcc)
		ours, gcc = append(ours, o), append(gcc, c)
		oursNet, gccNet = append(oursNet, o-perCall(call.ours)), append(gccNet, c-perCall(call.gcc))
	}
	return timing{Ours: median(ours) * 1e6, GCC: median(gcc) * 1e6, OursNet: median(oursNet) * 1e6, GCCNet: median(gccNet) * 1e6}
}

// gflops is the speed of a product of two square matrices.
func gflops(e *exec.Executor, n int64) float64 {
	g := symbolic.NewGraph()
	a, aMem := array(g, n, n)
	b, bMem := array(g, n, n)
	s, out := step(e, must(tensor.MatMul(a, b)))
	binds := []exec.Binding{out, aMem, bMem}
	defer free(binds)
	var seconds []float64
	for range rounds {
		seconds = append(seconds, perCall(func() { must(0, s.Run(binds, nil)) }))
	}
	return 2 * float64(n*n*n) / median(seconds) / 1e9
}

func free(binds []exec.Binding) {
	for _, b := range binds {
		must(0, wasm.Default.Free(b.Ptr))
	}
}

// perCall is the time of one call in seconds, over enough calls to fill some milliseconds.
func perCall(work func()) float64 {
	for calls := 1; ; calls *= 4 {
		start := now()
		for range calls {
			work()
		}
		if spent := now() - start; spent >= time.Millisecond {
			return spent.Seconds() / float64(calls)
		}
	}
}

// now is the processor time of the thread if there is one processor, else the time of day.
func now() time.Duration {
	clock := int32(unix.CLOCK_MONOTONIC)
	if runtime.GOMAXPROCS(0) == 1 {
		clock = unix.CLOCK_THREAD_CPUTIME_ID
	}
	var t unix.Timespec
	must(0, unix.ClockGettime(clock, &t))
	return time.Duration(t.Nano())
}

func median(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
