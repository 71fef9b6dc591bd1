package polygrad

import (
	"math"
	"os"
	process "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"polygrad/exec"
	"polygrad/tests/devices/shaders"
	"polygrad/tests/part"
	"polygrad/variable"
)

// onGPU is a context on a GPU, or on a processor that stands for one, with its counts.
func onGPU(t *testing.T) (c *Context, since func() exec.Counts) {
	t.Helper()
	c, err := NewContext("webgpu")
	if err != nil {
		t.Skip(err)
	}
	e, err := executorOf("webgpu")
	if err != nil {
		t.Fatal(err)
	}
	return c, counter(t, e)
}

// counter returns what a device has done since it was last called.
func counter(t *testing.T, e *exec.Executor) (since func() exec.Counts) {
	t.Helper()
	last, _ := e.Counts()
	return func() exec.Counts {
		now, ok := e.Counts()
		if !ok {
			t.Fatal("the device does not count")
		}
		n := now.Minus(last)
		last = now
		return n
	}
}

// mlp makes a training step of a network of two layers, of its weights and a batch, and those.
func mlp(t *testing.T, c *Context, optimizer func(params []*Tensor) (*Optimizer, error)) (step Function, x, y *Tensor, params []*Tensor) {
	t.Helper()
	for _, shape := range [][]int{{64, 32}, {32}, {32, 10}, {10}} {
		n := 1
		for _, s := range shape {
			n *= s
		}
		w := make([]float32, n)
		for i := range w {
			w[i] = float32(i%7-3) / 30
		}
		params = append(params, FromIn(c, w, shape...).SetRequiresGrad(true))
	}
	o, err := optimizer(params)
	if err != nil {
		t.Fatal(err)
	}
	xs, ys := make([]float32, 16*64), make([]int32, 16)
	for i := range xs {
		xs[i] = float32(i%11) / 11
	}
	for i := range ys {
		ys[i] = int32(i % 10)
	}
	step = func(args ...*Tensor) ([]*Tensor, error) {
		o.ZeroGrad()
		h := args[0].MatMul(params[0]).Add(params[1]).ReLU()
		loss := h.MatMul(params[2]).Add(params[3]).CrossEntropy(args[1]).Backward()
		return []*Tensor{loss}, o.Step()
	}
	return step, FromIn(c, xs, 16, 64), FromIn(c, ys, 16), params
}

func TestWebGPUStepIsOneSubmit(t *testing.T) {
	for name, optimizer := range map[string]func(params []*Tensor) (*Optimizer, error){
		"sgd":  func(params []*Tensor) (*Optimizer, error) { return NewSGD(params, 0.1, SGDOptions{Momentum: 0.9}) },
		"adam": func(params []*Tensor) (*Optimizer, error) { return NewAdam(params, 0.01, DefaultAdam) },
	} {
		t.Run(name, func(t *testing.T) {
			c, since := onGPU(t)
			step, x, y, _ := mlp(t, c, optimizer)
			run := Jit(step)
			var losses []*Tensor
			for i := range 8 {
				out, err := run(x, y)
				if err != nil {
					t.Fatal(err)
				}
				losses = append(losses, out[0])
				n := since()
				if i >= 4 && (n.Submits != 1 || n.Waits != 0 || n.In > 64 || n.Out != 0 || n.Buffers != 0 || n.Pipelines != 0 || n.Launches > 12) {
					t.Errorf("step %d: %+v, expected one submit of a few launches, no waits, and no copies from or to the host", i, n)
				}
			}
			first, err := Values[float32](losses[0])
			if err != nil {
				t.Fatal(err)
			}
			last, err := Values[float32](losses[7])
			if err != nil || !(last[0] < first[0]) {
				t.Errorf("the loss went from %v to %v (%v)", first, last, err)
			}
		})
	}
}

func realized(t *testing.T, x *Tensor) *Tensor {
	t.Helper()
	if err := x.Realize(); err != nil {
		t.Fatal(err)
	}
	return x
}

// What is read, written by the host, and written in part has the elements that it has elsewhere, wherever they were before.
func TestWebGPUMemoryFollowsItsUses(t *testing.T) {
	c, since := onGPU(t)
	n := 1 << 10
	xs := make([]float32, n)
	for i := range xs {
		xs[i] = float32(i)
	}
	x := FromIn(c, xs, n)
	y := realized(t, x.Mul(2))
	since()
	z := realized(t, y.Add(x)) // both are there
	if n := since(); n.In != 0 || n.Out != 0 || n.Submits != 1 {
		t.Errorf("of computed tensors: %+v", n)
	}
	clone := y.Clone()
	y.Reshape(2, n/2).Set(7, At(1))
	y.Reshape(4, n/4).Set(z.Reshape(4, n/4).Index(At(0)), At(3))
	for name, of := range map[string]struct {
		t    *Tensor
		want func(i int) float32
	}{
		"x": {x, func(i int) float32 { return float32(i) }},
		"y": {y, func(i int) float32 {
			switch {
			case i >= 3*n/4:
				return 3 * float32(i-3*n/4)
			case i >= n/2:
				return 7
			}
			return 2 * float32(i)
		}},
		"z": {z, func(i int) float32 { return 3 * float32(i) }}, "clone": {clone, func(i int) float32 { return 2 * float32(i) }},
	} {
		got, err := Values[float32](of.t)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if v != of.want(i) {
				t.Fatalf("%s: element %d is %v, expected %v", name, i, v, of.want(i))
			}
		}
	}
	since()
	if _, err := Values[float32](z); err != nil {
		t.Fatal(err)
	}
	if n := since(); n.Out != 0 || n.Waits != 0 {
		t.Errorf("what the host has is copied again: %+v", n)
	}
}

func TestWebGPUGoesOnAfterALoss(t *testing.T) {
	c, _ := onGPU(t)
	e, err := executorOf("webgpu")
	if err != nil {
		t.Fatal(err)
	}
	x := FromIn(c, []float32{1, 2, 3}, 3)
	f := Jit(func(args ...*Tensor) ([]*Tensor, error) { return []*Tensor{args[0].Mul(2).Sum()}, nil })
	for range 3 {
		if _, err := f(x); err != nil {
			t.Fatal(err)
		}
	}
	only := realized(t, x.Add(1))
	e.Device().(interface{ Lose() }).Lose()
	if v, err := Values[float32](only); err == nil || !strings.Contains(err.Error(), "the device was lost") {
		t.Errorf("a tensor of the lost device: got %v, %v, expected an error", v, err)
	}
	if v, err := Values[float32](only.Mul(2)); err == nil {
		t.Errorf("computed from a tensor of the lost device: got %v, expected an error", v)
	}
	for range 2 {
		out, err := f(x) // the host has x
		if err != nil {
			t.Fatal(err)
		}
		if v, err := Values[float32](out[0]); err != nil || v[0] != 12 {
			t.Errorf("on another device: got %v, %v, expected 12", v, err)
		}
	}
}

// onDiscreteGPU is a context whose kernels are laid out as for a GPU with memory of its own, whatever the adapter is, with its counts.
func onDiscreteGPU(t *testing.T) (c *Context, since func() exec.Counts) {
	t.Helper()
	e, err := exec.Open("webgpu")
	if err != nil {
		t.Skip(err)
	}
	gpu := e.Device().(interface {
		For(kind string)
		Adapter() (name, kind string)
	})
	_, kind := gpu.Adapter()
	gpu.For("discrete")
	t.Cleanup(func() { gpu.For(kind) })
	return &Context{vars: variable.NewContext(exec.NewGraph(), func(string) (*exec.Executor, error) { return e, nil })}, counter(t, e)
}

// Products of any sizes, as they are laid out for a GPU with workgroup memory.
func TestWebGPUProducts(t *testing.T) {
	c, _ := onDiscreteGPU(t)
	for _, size := range [][4]int{
		{1, 64, 64, 64}, {1, 100, 70, 130}, {1, 33, 45, 17}, {1, 128, 77, 192}, {1, 7, 300, 64}, {1, 1, 300, 200}, {1, 200, 16, 1}, {3, 65, 64, 200},
		{1, 260, 33, 261}, {1, 20, 40, 900}, {2, 1100, 16, 700}, // other rectangles of invocations
	} {
		batch, m, k, n := size[0], size[1], size[2], size[3]
		numbers := func(count, by int) []float32 {
			out := make([]float32, count)
			for i := range out {
				out[i] = float32(i*by%13-6) / 4
			}
			return out
		}
		a, b := numbers(batch*m*k, 5), numbers(batch*k*n, 7)
		for form := range 4 {
			x, y := FromIn(c, a, batch, m, k), FromIn(c, b, batch, k, n)
			if form&1 > 0 {
				x = x.Permute(0, 2, 1).Contiguous().Permute(0, 2, 1)
			}
			if form&2 > 0 {
				y = y.Permute(0, 2, 1).Contiguous().Permute(0, 2, 1)
			}
			if err := Realize(x, y); err != nil {
				t.Fatal(err)
			}
			got, err := Values[float32](x.MatMul(y))
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				row, column := i/n, i%n
				want := float32(0)
				for j := range k {
					want += a[row*k+j] * b[(row/m*k+j)*n+column]
				}
				if v != want { // all sums are multiples of 1/16 that are exact
					t.Fatalf("%v, form %d: element %d is %v, expected %v", size, form, i, v, want)
				}
			}
		}
	}
}

// Tensors that are written where they are read, element by element, behind sums of any form: kernels are laid out as those that write others.
func TestWebGPUUpdatesInPlace(t *testing.T) {
	host, err := NewContext("native")
	if err != nil {
		t.Fatal(err)
	}
	numbers := func(count, by int) []float32 {
		out := make([]float32, count)
		for i := range out {
			out[i] = float32(i*by%13-6) / 4
		}
		return out
	}
	for kind, of := range map[string]func(*testing.T) (*Context, func() exec.Counts){"the adapter": onGPU, "discrete": onDiscreteGPU} {
		gpu, _ := of(t)
		for _, size := range [][3]int{{64, 64, 64}, {70, 33, 45}, {200, 130, 17}, {3, 500, 300}, {1, 16, 4099}} {
			rows, columns, steps := size[0], size[1], size[2]
			var got [2][][]float32
			for i, c := range []*Context{gpu, host} {
				w, mean := FromIn(c, numbers(rows*columns, 3), rows, columns), FromIn(c, numbers(rows*columns, 11), rows, columns)
				bias, long := FromIn(c, numbers(columns, 5), columns), FromIn(c, numbers(rows, 5), rows)
				x, g := FromIn(c, numbers(steps*rows, 5), steps, rows), FromIn(c, numbers(steps*columns, 7), steps, columns)
				if err := Realize(w, mean, bias, long, x, g); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					grad := x.Permute(1, 0).MatMul(g.ReLU())
					mean.Assign(mean.Mul(0.5).Add(grad.Mul(0.25)))
					w.Assign(w.Sub(mean.Mul(0.125)))
					bias.Assign(bias.Mul(0.5).Add(g.Sum(WithAxis(0))))
					long.Assign(long.Sub(x.Sum(WithAxis(0)).Mul(0.25)))
					if err := Realize(w, mean, bias, long); err != nil {
						t.Fatal(err)
					}
				}
				for _, v := range []*Tensor{w, mean, bias, long} {
					x, err := Values[float32](v)
					if err != nil {
						t.Fatal(err)
					}
					got[i] = append(got[i], x)
				}
			}
			for k, of := range got[0] {
				if !slices.Equal(of, got[1][k]) { // all sums are multiples of 1/256 that are exact
					t.Errorf("%s, %v: tensor %d differs from that of the host", kind, size, k)
				}
			}
		}
	}
}

// A product that updates what it is subtracted from is laid out as others are: with operands in workgroup memory.
func TestUpdateShaders(t *testing.T) {
	d := shaders.New()
	e := exec.New(d)
	c := &Context{vars: variable.NewContext(exec.NewGraph(), func(string) (*exec.Executor, error) { return e, nil })}
	n := 128
	w, x, g := FromIn(c, make([]float32, n*n), n, n), FromIn(c, make([]float32, n*n), n, n), FromIn(c, make([]float32, n*n), n, n)
	w.Assign(w.Sub(x.Permute(1, 0).MatMul(g)))
	if err := w.Realize(); err != nil {
		t.Fatal(err)
	}
	staged := 0
	for _, s := range d.Shaders() {
		if len(s.Params) == 3 && strings.Contains(s.Source, "var<workgroup>") {
			staged++
		}
	}
	if staged == 0 {
		t.Error("no shader of three buffers has workgroup memory")
	}
	d.Validate(t)
}

// Elements before the first one of a padded tensor are not loaded; tools refuse shaders that name them.
func TestPaddedShaders(t *testing.T) {
	d := shaders.New()
	e := exec.New(d)
	c := &Context{vars: variable.NewContext(exec.NewGraph(), func(string) (*exec.Executor, error) { return e, nil })}
	values, _, _ := FromIn(c, []int16{4, -9}, 2).Pad([][2]int{{2, 1}}, WithValue(-2)).Unique()
	if got, err := Values[int16](values); err != nil || !slices.Equal(got, []int16{-9, -2, 4}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, s := range d.Shaders() {
		if strings.Contains(s.Source, "[((-") {
			t.Errorf("a constant element before the first one:\n%s", s.Source)
		}
	}
	d.Validate(t)
}

// Tensors have buffers of WebGPU in common with a program, here with one another.
func TestWebGPUBuffersAreShared(t *testing.T) {
	c, since := onGPU(t)
	for _, n := range []int{3, 40_000} { // a part of a larger buffer at first, and one of its own
		xs := make([]float32, n)
		for i := range xs {
			xs[i] = float32(i % 5)
		}
		x := realized(t, FromIn(c, xs, n).Mul(2))
		buffer, err := x.v.LendBuffer()
		if err != nil || buffer == 0 {
			t.Fatal(buffer, err)
		}
		if again, err := x.v.LendBuffer(); again != buffer || err != nil {
			t.Errorf("buffer %d, then %d, %v", buffer, again, err)
		}
		v, err := c.vars.AdoptBuffer(x.v.Node().DType, x.v.Node().Shape(), "webgpu", buffer, 0, int64(4*n+3)&^3)
		if err != nil {
			t.Fatal(err)
		}
		same := c.tensor(v)
		since()
		y := realized(t, same.Add(1))
		if n := since(); n.In > 64 || n.Out != 0 || n.Waits != 0 {
			t.Errorf("computed from a buffer: %+v", n)
		}
		if got := values(t, y)[:3]; !slices.Equal(got, []float32{1, 3, 5}) {
			t.Errorf("got %v", got)
		}
		same.Assign(same.Add(10))
		if got := values(t, same)[:3]; !slices.Equal(got, []float32{10, 12, 14}) {
			t.Errorf("after a write: %v", got)
		}
		if got := values(t, x)[:3]; !slices.Equal(got, []float32{10, 12, 14}) {
			t.Errorf("the owner of the buffer: %v", got)
		}
		if _, err := c.vars.AdoptBuffer(x.v.Node().DType, x.v.Node().Shape(), "webgpu", buffer, 0, 8); err == nil || !strings.Contains(err.Error(), "has 8 bytes") {
			t.Errorf("a buffer that is too small: %v", err)
		}
	}
	// Clones have memory of their own: those made before, of a lazy tensor and a computed one, and those made later.
	x := FromIn(c, []float32{1, 2, 3}, 3).Mul(2)
	clones := []*Tensor{x.Clone()}
	realized(t, x)
	clones = append(clones, x.Clone())
	buffer, err := x.v.LendBuffer()
	if err != nil {
		t.Fatal(err)
	}
	clones = append(clones, x.Clone())
	if again, err := x.v.LendBuffer(); again != buffer || err != nil {
		t.Errorf("buffer %d, then %d, %v", buffer, again, err)
	}
	v, err := c.vars.AdoptBuffer(x.v.Node().DType, x.v.Node().Shape(), "webgpu", buffer, 0, 12)
	if err != nil {
		t.Fatal(err)
	}
	same := c.tensor(v)
	same.Assign(same.Add(10))
	if got := values(t, same); !slices.Equal(got, []float32{12, 14, 16}) {
		t.Errorf("after a write: %v", got)
	}
	if got := values(t, x); !slices.Equal(got, []float32{12, 14, 16}) {
		t.Errorf("the owner of the buffer: %v", got)
	}
	for i, clone := range clones {
		if got := values(t, clone); !slices.Equal(got, []float32{2, 4, 6}) {
			t.Errorf("clone %d: %v", i, got)
		}
	}
	if _, err := FromIn(c, []float32{1}, 1).Move("interp").v.LendBuffer(); err == nil || !strings.Contains(err.Error(), "has no buffers of WebGPU") {
		t.Errorf("on another device: %v", err)
	}
}

// Kernels of many elements, as they are laid out for a GPU: four neighbours an invocation, rectangles for transposed matrices.
func TestWebGPUElements(t *testing.T) {
	c, _ := onDiscreteGPU(t)
	for _, size := range [][2]int{{256, 320}, {257, 300}, {300, 701}, {1000, 68}} {
		rows, columns := size[0], size[1]
		a, b, line := make([]float32, rows*columns), make([]int32, rows*columns), make([]float32, columns)
		for i := range a {
			a[i], b[i], line[i%columns] = float32(i%1013), int32(i%509), float32(i%columns%7)
		}
		x, y, z := FromIn(c, a, rows, columns), FromIn(c, b, columns, rows), FromIn(c, line, columns)
		for name, f := range map[string]struct {
			of   *Tensor
			want func(row, column int) float32
		}{
			"neighbours": {x.Mul(2).Add(z), func(r, k int) float32 { return 2*a[r*columns+k] + line[k] }},
			"transposed": {y.Permute(1, 0).Add(x), func(r, k int) float32 { return float32(b[k*rows+r]) + a[r*columns+k] }},
			"flipped":    {x.Flip(1).Add(1), func(r, k int) float32 { return a[r*columns+columns-1-k] + 1 }},
			"padded":     {x.Shrink([2]int{0, rows}, [2]int{1, columns}).Pad([][2]int{{0, 0}, {1, 0}}), func(r, k int) float32 { return a[r*columns+k] * float32(min(k, 1)) }},
		} {
			got, err := Values[float32](f.of)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if want := f.want(i/columns, i%columns); v != want {
					t.Fatalf("%v, %s: element %d is %v, expected %v", size, name, i, v, want)
				}
			}
		}
	}
}

// Convolutions of any sizes, as they are laid out for a GPU: columns along two axes, stages of channels or of all steps in order.
func TestWebGPUConvolutions(t *testing.T) {
	c, _ := onDiscreteGPU(t)
	host, err := NewContext("native")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][4]int{{4, 16, 32, 64}, {3, 5, 13, 20}, {2, 48, 20, 33}, {2, 32, 9, 16}, {1, 16, 70, 16}} {
		images, channels, side, out := size[0], size[1], size[2], size[3]
		x, w := make([]float32, images*channels*side*side), make([]float32, out*channels*9)
		for i := range x {
			x[i] = float32(i*5%13-6) / 4
		}
		for i := range w {
			w[i] = float32(i*7%11-5) / 4
		}
		var got [2][]float32
		for i, c := range []*Context{c, host} {
			y := FromIn(c, x, images, channels, side, side).Conv2D(FromIn(c, w, out, channels, 3, 3), WithPadding(1))
			if got[i], err = Values[float32](y); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got[0], got[1]) { // all sums are multiples of 1/16 that are exact
			t.Errorf("%v: the GPU and the host differ", size)
		}
	}
}

// tunedChild tells the test below that it is the process that it has started.
const tunedChild = "TUNED_CHILD"

// With POLY_BEAM the kernels of a GPU are timed in several layouts, which all compute the same; another process finds what was found.
func TestWebGPULayoutsAreTuned(t *testing.T) {
	if os.Getenv(tunedChild) != "" {
		TestWebGPUProducts(t)
		TestWebGPUConvolutions(t)
		TestWebGPUElements(t)
		TestWebGPURows(t)
		return
	}
	onGPU(t)
	dir := t.TempDir()
	child := func() string {
		t.Helper()
		c := process.Command(os.Args[0], "-test.run=^TestWebGPULayoutsAreTuned$", "-test.count=1")
		c.Env = append(os.Environ(), tunedChild+"=1", "POLY_BEAM=1", "POLY_DUMP=beam", "POLY_CACHE_DIR="+dir)
		out, err := c.CombinedOutput()
		if err != nil || strings.Contains(string(out), "computes something else") {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	first := child()
	tuned := strings.Count(first, " us by the heuristics")
	if files, err := filepath.Glob(filepath.Join(dir, "beam-*.txt")); err != nil || len(files) == 0 || tuned < 8 {
		t.Errorf("%d kernels were timed, the cache has the files %v, %v, expected several kernels and a file\n%s", tuned, files, err, first)
	}
	if second := child(); strings.Contains(second, "by the heuristics") {
		t.Errorf("the second process has searched again:\n%s", second)
	}
}

// Attention is one kernel, as it is laid out for a GPU.
func TestWebGPUAttention(t *testing.T) {
	c, since := onDiscreteGPU(t)
	attention(t, c, func() int64 { return since().Launches })
}

// Its shaders are right, and have no memory for scores.
func TestAttentionShaders(t *testing.T) {
	part.Day(t, 3, 0) // its comparisons take a third of the tests of this package
	d := shaders.New()
	e := exec.New(d)
	known, skipping := 0, map[string]bool{}
	attention(t, &Context{vars: variable.NewContext(exec.NewGraph(), func(string) (*exec.Executor, error) { return e, nil })}, func() (n int64) {
		for _, s := range d.Shaders()[known:] {
			if strings.Contains(s.Name, "(") { // the number of columns depends on the block of rows
				skipping[s.Name] = true
			}
			if n++; strings.Contains(s.Source, "var<private> scratch") {
				t.Errorf("memory of each invocation:\n%s", s.Source)
			}
		}
		known += int(n)
		return min(n, 1) // those of several machines
	})
	if len(skipping) != 4 {
		t.Errorf("%d kernels skip masked columns, expected 4", len(skipping))
	}
	d.Validate(t)
}

// attention compares attention with that of the host: any numbers of rows and columns, masks, and several heads of queries for one of keys.
func attention(t *testing.T, c *Context, launches func() int64) {
	t.Helper()
	host, err := NewContext("native")
	if err != nil {
		t.Fatal(err)
	}
	numbers := func(count, by int) []float32 {
		out := make([]float32, count)
		for i := range out {
			out[i] = float32(i*by%1013)/400 - 1.25
		}
		return out
	}
	plain := func(*Context, int, int) []Option { return nil }
	causal := func(*Context, int, int) []Option { return []Option{WithIsCausal(true)} }
	mask := func(at func(row, column int) bool) func(*Context, int, int) []Option {
		return func(c *Context, rows, columns int) []Option {
			in := make([]bool, rows*columns)
			for i := range in {
				in[i] = at(i/columns, i%columns)
			}
			return []Option{WithAttnMask(FromIn(c, in, rows, columns))}
		}
	}
	for _, s := range []struct {
		heads, keys, rows, columns, depth, width int
		options                                  func(c *Context, rows, columns int) []Option
	}{
		{2, 2, 256, 256, 64, 64, plain},
		{2, 2, 256, 256, 64, 64, causal},
		{3, 3, 70, 90, 20, 33, plain},                                     // blocks of rows overlap, as do those of columns
		{2, 2, 201, 201, 24, 16, causal}, {2, 2, 64, 200, 24, 16, causal}, // also with a mask by ranges
		{4, 2, 130, 130, 32, 80, causal}, // two heads of queries for one of keys
		{2, 2, 40, 300, 16, 130, plain},  // fewer rows than a workgroup has
		{2, 2, 33, 257, 17, 8, mask(func(row, column int) bool { return (row*7+column*3)%5 > 1 })},
		{2, 2, 100, 100, 16, 24, mask(func(row, column int) bool { return row%9 > 0 && column < 70 })}, // rows without any column
		{2, 2, 300, 300, 16, 24, func(c *Context, rows, columns int) []Option { // a window, by ranges
			behind := c.Arange(0, rows, 1).Reshape(rows, 1).Sub(c.Arange(0, columns, 1).Reshape(1, columns))
			return []Option{WithAttnMask(behind.Lt(80).BitwiseAnd(behind.Ge(0)))}
		}},
	} {
		q, k, v := numbers(s.heads*s.rows*s.depth, 7), numbers(s.keys*s.columns*s.depth, 11), numbers(s.keys*s.columns*s.width, 13)
		var got [2][]float32
		for i, c := range []*Context{c, host} {
			x, y, z := FromIn(c, q, 1, s.heads, s.rows, s.depth), FromIn(c, k, 1, s.keys, s.columns, s.depth), FromIn(c, v, 1, s.keys, s.columns, s.width)
			options := s.options(c, s.rows, s.columns)
			if s.keys < s.heads {
				options = append(options, WithEnableGQA(true))
			}
			if err := Realize(x, y, z); err != nil {
				t.Fatal(err)
			}
			launches()
			if got[i], err = Values[float32](x.ScaledDotProductAttention(y, z, options...)); err != nil {
				t.Fatal(err)
			}
			if n := launches(); i == 0 && n != 1 {
				t.Errorf("%v: %d launches, expected 1", s, n)
			}
		}
		for i, x := range got[0] {
			if y := got[1][i]; math.Abs(float64(x-y)) > 1e-5 || (x != x) != (y != y) {
				t.Errorf("%v: element %d is %v, expected %v", s, i, x, y)
				break
			}
		}
	}
}

// Rows that several loops go through are loaded once, into registers.
func TestWebGPURows(t *testing.T) {
	c, _ := onDiscreteGPU(t)
	rows(t, c, []int{64, 65, 200, 513, 1000, 1024, 2048, 2049})
}

// The shader of a softmax loads each element of a row once.
func TestRowShaders(t *testing.T) {
	d := shaders.New()
	e := exec.New(d)
	rows(t, &Context{vars: variable.NewContext(exec.NewGraph(), func(string) (*exec.Executor, error) { return e, nil })}, []int{256})
	held := false
	for _, s := range d.Shaders() {
		held = held || strings.Count(s.Source, "b1[") == 256/64
	}
	if !held {
		t.Error("no shader loads each element of a row once")
	}
	d.Validate(t)
}

// rows compares operations on rows of some lengths with those of the host.
func rows(t *testing.T, c *Context, lengths []int) {
	t.Helper()
	host, err := NewContext("native")
	if err != nil {
		t.Fatal(err)
	}
	const high = 70
	for _, n := range lengths {
		x := make([]float32, high*n)
		for i := range x {
			x[i] = float32(i*7919%1013)/300 - 1.5
		}
		x[3*n+5], x[4*n+7], x[5*n] = float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))
		for name, f := range map[string]func(x *Tensor) *Tensor{
			"softmax":     func(x *Tensor) *Tensor { return x.Softmax() },
			"log softmax": func(x *Tensor) *Tensor { return x.LogSoftmax() },
			"norm":        func(x *Tensor) *Tensor { return x.LayerNorm() },
			"sums":        func(x *Tensor) *Tensor { return x.Exp().Div(x.Exp().Sum(WithAxis(1), WithKeepDim(true))) },
		} {
			var got [2][]float32
			for i, c := range []*Context{c, host} {
				if got[i], err = Values[float32](f(FromIn(c, x, high, n))); err != nil {
					t.Fatal(err)
				}
			}
			for i, v := range got[0] {
				if w := got[1][i]; (v != v) != (w != w) || v != w && math.Abs(float64(v-w)) > 2e-6*max(1, math.Abs(float64(w))) {
					t.Errorf("%s of %d: element %d is %v, expected %v", name, n, i, v, w)
					break
				}
			}
		}
	}
}
