package polygrad_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"polygrad"
)

// want compares the elements of a float32 tensor.
func want(t *testing.T, x *polygrad.Tensor, values ...float32) {
	t.Helper()
	got, err := polygrad.Values[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, values) {
		t.Errorf("got %v, expected %v", got, values)
	}
}

func vector(x ...float32) *polygrad.Tensor { return polygrad.From(x) }

func TestOperations(t *testing.T) {
	x := polygrad.From([]float32{1, 2, 3, 4}, 2, 2)
	want(t, x.Add(1), 2, 3, 4, 5)
	want(t, x.Mul(x), 1, 4, 9, 16)
	want(t, x.Sub(1, polygrad.WithReverse(true)), 0, -1, -2, -3)
	want(t, x.MatMul(x.T()), 5, 11, 11, 25)
	want(t, x.Sum(polygrad.WithAxis(1)), 3, 7)
	want(t, x.Sum(), 10)
	want(t, x.Sum(polygrad.WithAxis(0, 1), polygrad.WithKeepDim(true)), 10)
	want(t, x.Reshape(4), 1, 2, 3, 4)
	want(t, x.Index(polygrad.At(1)), 3, 4)
	want(t, x.Index(polygrad.All(), polygrad.Slice(1, 2)), 2, 4)
	want(t, x.Index(polygrad.Take(polygrad.From([]bool{false, true}))), 3, 4)
	want(t, x.Index(polygrad.Take(x.Gt(1))), 2, 3, 4)
	want(t, x.Index(polygrad.Ellipsis(), polygrad.Take(polygrad.From([]bool{false, true}))), 2, 4)
	want(t, x.Clone().Set(polygrad.From([]float32{7, 8}), polygrad.Take(x.Gt(2))), 1, 2, 7, 8)
	want(t, x.Pad([][2]int{{0, 0}, {1, 0}}, polygrad.WithValue(9)), 9, 1, 2, 9, 3, 4)
	want(t, polygrad.Cat([]*polygrad.Tensor{x, x}), 1, 2, 3, 4, 1, 2, 3, 4)
	want(t, polygrad.Arange(0, 3, 1, polygrad.WithDType(polygrad.Float32)), 0, 1, 2)
	want(t, polygrad.Full([]int{2}, 1.5), 1.5, 1.5)
	values, at := x.Reshape(4).TopK(2)
	want(t, values, 4, 3)
	if got, err := polygrad.Values[int32](at); err != nil || !slices.Equal(got, []int32{3, 2}) {
		t.Errorf("positions %v, %v", got, err)
	}
	if got, err := polygrad.Scalar(2.5).Add(1).Item(); err != nil || got != 3.5 {
		t.Errorf("%v, %v", got, err)
	}
	if x.DType() != polygrad.Float32 || !slices.Equal(x.Shape(), []int{2, 2}) || x.Numel() != 4 {
		t.Errorf("%s", x)
	}
}

// A mistake is told once, at the end of the chain, with function, argument, what was given and what was expected.
func TestErrors(t *testing.T) {
	x := polygrad.From([]float32{1, 2, 3, 4}, 2, 2)
	if err := x.Index(polygrad.Take(polygrad.From([]bool{true}))).Err(); err == nil || !strings.Contains(err.Error(), "a mask of shape (1), expected that of axis 0") {
		t.Errorf("a mask that does not fit: %v", err)
	}
	other, err := polygrad.NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	for text, y := range map[string]*polygrad.Tensor{
		"Sum: axis":                               x.Sum(polygrad.WithAxis(2)),
		"3 is out of range":                       x.Sum(polygrad.WithAxis(3)).Exp().Mul(2),
		"dim: is no argument":                     x.Sum(polygrad.WithDim(1)),
		"Reshape: shape":                          x.Reshape(3),
		"MatMul":                                  x.MatMul(vector(1, 2, 3)),
		"Add: x: belongs to another":              x.Add(polygrad.FromIn(other, []float32{1})),
		"has 3 elements":                          polygrad.From([]float32{1}, 3),
		"expected sizes of 0":                     polygrad.From([]float32{1}, -1),
		"is \"mean\", expected axes":              x.Sum(polygrad.WithReduction("mean")),
		"reduction: \"middle\"":                   x.MSELoss(x, polygrad.WithReduction("middle")),
		"dtype: \"float12\"":                      x.Cast("float12"),
		"Assign: x: is int32":                     x.Assign(polygrad.From([]int32{1, 2})),
		"that broadcasts to":                      x.Assign(vector(1, 2, 3)),
		"Add: x: is struct {}, expected a tensor": x.Add(struct{}{}),
		"expected a floating type":                polygrad.From([]int32{1}).SetRequiresGrad(true),
		"expected one element or a":               x.SetRequiresGrad(true).Mul(2).Backward(),
		"requires a gradient":                     vector(1).Sum().Backward(),
		"no tensors":                              polygrad.Cat(nil),
		"polygrad: MatMul: ":                      x.Add(x.MatMul(vector(1, 2, 3))), // the error of the operand
	} {
		if text == "is \"mean\", expected axes" {
			text = "reduction: is no argument"
		}
		if err := y.Realize(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: error %v", text, err)
		} else if !strings.HasPrefix(err.Error(), "polygrad: ") {
			t.Errorf("%v does not begin with the package", err)
		}
	}
	if _, err := polygrad.Values[float64](x); err == nil {
		t.Error("float32 is read as float64")
	}
	missing := filepath.Join(t.TempDir(), "missing", "x.safetensors")
	_, loadErr := polygrad.Load(missing)
	_, deviceErr := polygrad.NewContext("none")
	for err, text := range map[error]string{
		loadErr: "polygrad: Load: path: " + missing + ": no such file or directory",
		polygrad.Save(missing, map[string]*polygrad.Tensor{"x": x}, nil): "polygrad: Save: path: " + missing + ": no such file or directory",
		deviceErr: `polygrad: NewContext: device: unknown device "none", expected one of`,
	} {
		if !strings.HasPrefix(fmt.Sprint(err), text) {
			t.Errorf("%v, expected %s", err, text)
		}
	}
	if !errors.Is(loadErr, fs.ErrNotExist) {
		t.Errorf("%v is no fs.ErrNotExist", loadErr)
	}
	if _, err := x.Item(); err == nil {
		t.Error("4 elements are an item")
	}
	if _, err := polygrad.NewContext("abacus"); err == nil {
		t.Error("a context on an unknown device")
	}
	var none *polygrad.Tensor
	if none.Err() == nil || none.Add(1).Err() == nil || x.MatMul(nil).Err() == nil {
		t.Error("nil is a tensor")
	}
}

// A write changes a tensor and its views, and nothing that was computed from it before.
func TestWrites(t *testing.T) {
	for _, realized := range []bool{true, false} {
		x := vector(1, 2, 3, 4)
		if !realized {
			x = x.Add(0)
		}
		rows, sum, copied := x.Reshape(2, 2), x.Add(10), x.Clone()
		last := rows.Index(polygrad.At(1))
		x.Set(7, polygrad.At(0))
		last.Assign(vector(8, 9))
		want(t, x, 7, 2, 8, 9)
		want(t, rows, 7, 2, 8, 9)
		want(t, last, 8, 9)
		want(t, sum, 11, 12, 13, 14)
		want(t, copied, 1, 2, 3, 4)
		copied.Assign(0)
		want(t, x, 7, 2, 8, 9)
		x.Assign(x.Flip(0))
		want(t, rows, 9, 8, 2, 7)
		x.Set(vector(5, 6), polygrad.Take(polygrad.From([]int32{3, 0})))
		want(t, rows, 6, 8, 2, 5)
		if err := x.Set(1, polygrad.At(4)).Err(); err == nil {
			t.Error("written out of range")
		}
	}
}

// Shared memory is written where it is, and who has read it before gets a copy.
func TestShare(t *testing.T) {
	data := []float32{1, 2, 3, 4}
	x := polygrad.Share(data, 2, 2)
	before, view := x.Mul(2), x.T()
	view.Set(9, polygrad.At(0))
	if !slices.Equal(data, []float32{9, 2, 9, 4}) {
		t.Errorf("the memory is %v", data)
	}
	want(t, before, 2, 4, 6, 8)
	want(t, x, 9, 2, 9, 4)
	x.Assign(x.Add(1))
	if !slices.Equal(data, []float32{10, 3, 10, 5}) {
		t.Errorf("the memory is %v", data)
	}
	data[0] = 0
	want(t, x.Add(0), 0, 3, 10, 5)
	if polygrad.Share([]float32{}, 1<<32, 1<<32).Err() == nil {
		t.Error("no elements of a shape that overflows")
	}
	if polygrad.Share(data, 3).Err() == nil {
		t.Error("4 elements of shape 3")
	}
}

func TestBackward(t *testing.T) {
	w := vector(1, 2, 3).SetRequiresGrad(true)
	y := w.Mul(w)
	if err := y.Realize(); err != nil { // the gradient goes on through what is computed
		t.Fatal(err)
	}
	loss := y.Mul(w).Sum().Backward()
	want(t, loss, 36)
	want(t, w.Grad(), 3, 12, 27)
	w.Mul(2).Sum().Backward()
	want(t, w.Grad(), 5, 14, 29)
	w.ZeroGrad()
	if w.Grad() != nil {
		t.Error("the gradient is still there")
	}
	g := w.Pow(3).Sum().Gradient([]*polygrad.Tensor{w})[0]
	want(t, g, 3, 12, 27)
	want(t, g.Sum().Gradient([]*polygrad.Tensor{w})[0], 6, 12, 18)
	want(t, w.Detach().Mul(w).Sum().Gradient([]*polygrad.Tensor{w})[0], 1, 2, 3)
	err := polygrad.Default().NoGrad(func() error {
		if w.Mul(2).RequiresGrad() {
			t.Error("a gradient flows without gradients")
		}
		return nil
	})
	if err != nil || !w.Mul(2).RequiresGrad() || w.Detach().Mul(2).RequiresGrad() {
		t.Errorf("%v, or gradients flow where they should not", err)
	}
	u := vector(2).SetRequiresGrad(true)
	v := u.Pow(3)
	if err := v.Realize(); err != nil {
		t.Fatal(err)
	}
	u.Assign(0)
	if err := v.Sum().Backward().Err(); err == nil || !strings.Contains(err.Error(), "overwritten") {
		t.Errorf("the gradient needs what was overwritten: error %v", err)
	}
}

func TestOptimizers(t *testing.T) {
	for name, make := range map[string]func(p []*polygrad.Tensor) (*polygrad.Optimizer, error){
		"SGD": func(p []*polygrad.Tensor) (*polygrad.Optimizer, error) {
			return polygrad.NewSGD(p, 0.1, polygrad.SGDOptions{})
		},
		"momentum": func(p []*polygrad.Tensor) (*polygrad.Optimizer, error) {
			return polygrad.NewSGD(p, 0.02, polygrad.SGDOptions{Momentum: 0.9, Nesterov: true})
		},
		"Adam": func(p []*polygrad.Tensor) (*polygrad.Optimizer, error) {
			return polygrad.NewAdam(p, 0.1, polygrad.DefaultAdam)
		},
	} {
		p := vector(1, -2).SetRequiresGrad(true)
		o, err := make([]*polygrad.Tensor{p})
		if err != nil {
			t.Fatal(err)
		}
		loss := func() *polygrad.Tensor { return p.Sub(vector(3, 4)).Square().Sum() }
		for range 200 {
			o.ZeroGrad()
			if err := loss().Backward().Err(); err != nil {
				t.Fatal(err)
			}
			if err := o.Step(); err != nil {
				t.Fatal(err)
			}
		}
		if l, err := loss().Item(); err != nil || l > 1e-3 {
			t.Errorf("%s: loss %v, %v", name, l, err)
		}
	}
	if _, err := polygrad.NewSGD(nil, 0.1, polygrad.SGDOptions{}); err == nil {
		t.Error("an optimizer of nothing")
	}
	if _, err := polygrad.NewAdam([]*polygrad.Tensor{vector(1)}, -1, polygrad.DefaultAdam); err == nil {
		t.Error("a rate below 0")
	}
}

func TestCompile(t *testing.T) {
	w := vector(1, -2).SetRequiresGrad(true)
	o, err := polygrad.NewSGD([]*polygrad.Tensor{w}, 0.1, polygrad.SGDOptions{Momentum: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	step, err := polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		o.ZeroGrad()
		loss := w.Sub(args[0]).Square().Sum().Backward()
		return []*polygrad.Tensor{loss}, o.Step()
	}, vector(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	want(t, w, 1, -2)
	target := vector(3, 4)
	var last *polygrad.Tensor
	for range 60 {
		out, err := step.Run(target)
		if err != nil {
			t.Fatal(err)
		}
		last = out[0]
	}
	if l, err := last.Item(); err != nil || l > 1e-3 {
		t.Errorf("loss %v, %v", l, err)
	}
	before := w.Mul(1)
	w.Assign(vector(0, 0)) // the program reads and writes the tensor, wherever it is
	if _, err := step.Run(target); err != nil {
		t.Fatal(err)
	}
	now, _ := polygrad.Values[float32](w)
	if now[0] <= 0.1 || now[0] > 1.5 {
		t.Errorf("the step has not gone on from 0: %v", now)
	}
	if v, _ := polygrad.Values[float32](before); v[0] < 2.9 {
		t.Errorf("what was computed before has changed: %v", v)
	}
	if _, err := step.Run(vector(1)); err == nil {
		t.Error("an argument of another shape")
	}
	if _, err := polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		_, err := args[0].Sum().Item()
		return args, err
	}, target); err == nil || !strings.Contains(err.Error(), "value is needed") {
		t.Errorf("a value is looked at: %v", err)
	}
}

func TestRandom(t *testing.T) {
	draw := func() []float32 {
		polygrad.Default().Seed(42)
		v, err := polygrad.Values[float32](polygrad.Rand([]int{3}))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if a, b := draw(), draw(); !slices.Equal(a, b) || a[0] == a[1] {
		t.Errorf("%v, %v", a, b)
	}
	step, err := polygrad.Compile(func(...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return []*polygrad.Tensor{polygrad.Rand([]int{2})}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		out, err := step.Run()
		if err != nil {
			t.Fatal(err)
		}
		v, _ := polygrad.Values[float32](out[0])
		seen[fmt.Sprint(v)] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d different results of 3 runs", len(seen))
	}
}

func TestVariableSizes(t *testing.T) {
	n := polygrad.Variable("n", 1, 4)
	x := polygrad.From([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4)
	front := func(k int) *polygrad.Tensor {
		return x.Index(polygrad.All(), polygrad.SliceSizes(nil, n.Bind(k)))
	}
	want(t, front(2), 1, 2, 5, 6)
	want(t, front(3).Mul(2), 2, 4, 6, 10, 12, 14)
	want(t, front(3).Sum(polygrad.WithAxis(1)), 6, 18)
	sizes := front(3).Sizes()
	if v, err := sizes[1].Value(); err != nil || v != 3 {
		t.Errorf("size %v, %v", v, err)
	}
	if v, err := n.Bind(3).Mul(2).Add(1).Value(); err != nil || v != 7 {
		t.Errorf("3*2+1 is %v, %v", v, err)
	}
	if lo, hi := n.Add(1).Bounds(); lo != 2 || hi != 5 {
		t.Errorf("n+1 is between %d and %d", lo, hi)
	}
	step, err := polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return []*polygrad.Tensor{args[0].Add(1), args[0].Sum()}, nil
	}, front(2).Contiguous())
	if err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= 4; k++ {
		out, err := step.Run(front(k).Contiguous())
		if err != nil {
			t.Fatal(err)
		}
		var values []float32
		var sum float32
		for row := range 2 {
			for i := range k {
				values = append(values, float32(4*row+i+2))
				sum += float32(4*row + i + 1)
			}
		}
		want(t, out[0], values...)
		want(t, out[1], sum)
	}
	if _, err := n.Value(); err == nil {
		t.Error("a variable without a value has one")
	}
	if n.Bind(5).Err() == nil || polygrad.Variable("", 0, 1).Err() == nil || polygrad.Variable("n", 2, 1).Err() == nil {
		t.Error("a value out of bounds, or a wrong variable")
	}
	if err := x.Index(polygrad.All(), polygrad.SliceSizes(nil, n.Bind(9))).Err(); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("an index of a size with an error: %v", err)
	}
}

func TestSchedules(t *testing.T) {
	w := vector(1)
	o, err := polygrad.NewSGD([]*polygrad.Tensor{w}, 1, polygrad.SGDOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := polygrad.NewSchedule(o, polygrad.StepRate(2, 0.5))
	if err != nil {
		t.Fatal(err)
	}
	var rates []float64
	for range 5 {
		r, err := o.LR.Item()
		if err != nil {
			t.Fatal(err)
		}
		rates = append(rates, r)
		if err := s.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(rates, []float64{1, 1, 0.5, 0.5, 0.25}) {
		t.Errorf("rates %v", rates)
	}
	if _, err := polygrad.NewSchedule(o, polygrad.CosineRate(0, 0)); err == nil {
		t.Error("a schedule of no steps")
	}
}

func TestState(t *testing.T) {
	type linear struct{ Weight, Bias *polygrad.Tensor }
	type network struct {
		Layers []*linear
		Head   linear `polygrad:"lm_head"`
		Steps  int
	}
	layer := func(x float32) *linear { return &linear{vector(x, x), polygrad.From([]int32{int32(x)})} }
	make := func(x float32) *network {
		return &network{Layers: []*linear{layer(x), layer(x + 1)}, Head: *layer(x + 2)}
	}
	a, b := make(1), make(7)
	if n := len(polygrad.Parameters(a)); n != 3 {
		t.Errorf("%d parameters, expected 3: those of floating types", n)
	}
	path := t.TempDir() + "/model.safetensors"
	if err := polygrad.Save(path, polygrad.State(a), map[string]string{"made": "here"}); err != nil {
		t.Fatal(err)
	}
	state, err := polygrad.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(state) != 6 || state["layers.1.weight"] == nil || state["lm_head.bias"] == nil {
		t.Errorf("names %v", state)
	}
	if err := polygrad.LoadState(b, state); err != nil {
		t.Fatal(err)
	}
	want(t, b.Layers[1].Weight, 2, 2)
	want(t, b.Head.Weight, 3, 3)
	delete(state, "layers.0.bias")
	if err := polygrad.LoadState(b, state); err == nil || !strings.Contains(err.Error(), "layers.0.bias") {
		t.Errorf("a missing tensor: %v", err)
	}
	state["layers.0.bias"] = polygrad.From([]int32{1, 2})
	if err := polygrad.LoadState(b, state); err == nil || !strings.Contains(err.Error(), "expected [1]") {
		t.Errorf("a tensor of another shape: %v", err)
	}
	if _, err := polygrad.Load(t.TempDir() + "/nothing"); err == nil {
		t.Error("a file that does not exist is read")
	}
}

func TestJit(t *testing.T) {
	calls := 0
	f := polygrad.Jit(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		calls++
		return []*polygrad.Tensor{args[0].Mul(2)}, nil
	})
	for i := range 5 {
		out, err := f(vector(float32(i)))
		if err != nil {
			t.Fatal(err)
		}
		want(t, out[0], float32(2*i))
	}
	if calls != 2 {
		t.Errorf("the function was called %d times, expected twice", calls)
	}
	if _, err := f(vector(1, 2)); err == nil {
		t.Error("an argument of another shape")
	}
}

// A parameter counts once, and what no memory can hold is an error.
func TestLimits(t *testing.T) {
	w := vector(1).SetRequiresGrad(true)
	o, err := polygrad.NewSGD([]*polygrad.Tensor{w, w}, 0.5, polygrad.SGDOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Sum().Backward()
	if err := o.Step(); err != nil {
		t.Fatal(err)
	}
	want(t, w, 0.5)
	for _, shape := range [][]int{{1 << 50}, {1 << 40, 1 << 40}, {-1}} {
		if err := polygrad.Zeros(shape).Realize(); err == nil {
			t.Errorf("zeros of shape %v", shape)
		}
	}
	empty := polygrad.From([]float32{}, 0, 3)
	want(t, empty.Add(1))
	want(t, empty.Sum(polygrad.WithAxis(0)), 0, 0, 0)
	want(t, empty.Assign(1))
}
