package polygrad_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"polygrad"
)

// told checks that an error says something.
func expectError(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: error %v, expected one about %q", what, err, text)
	}
}

// floats are the elements of a tensor of float32.
func floats(t *testing.T, x *polygrad.Tensor) []float32 {
	t.Helper()
	v, err := polygrad.Values[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A write to a part has the gradients of the whole, whether the tensor was computed before or not, through views and index tensors.
func TestSetGradients(t *testing.T) {
	for _, computed := range []bool{false, true} {
		for _, quiet := range []bool{false, true} {
			for name, at := range map[string]polygrad.Index{"view": polygrad.At(1), "take": polygrad.Take(polygrad.From([]int32{1})), "mask": polygrad.Take(polygrad.From([]bool{false, true, false}))} {
				t.Run(fmt.Sprintf("computed=%t,quiet=%t,%s", computed, quiet, name), func(t *testing.T) {
					x := polygrad.From([]float32{1, 2, 3}).SetRequiresGrad(true)
					w := polygrad.From([]float32{5}, []int{}...).SetRequiresGrad(true)
					y, v := x.Mul(2), w.Mul(7)
					if computed {
						if err := polygrad.Realize(y, v); err != nil {
							t.Fatal(err)
						}
					}
					set := func() error { return y.Set(v, at).Err() }
					if quiet {
						if err := polygrad.Default().NoGrad(set); err != nil {
							t.Fatal(err)
						}
					} else if err := set(); err != nil {
						t.Fatal(err)
					}
					if err := y.Mul(polygrad.From([]float32{10, 20, 30})).Sum().Backward().Err(); err != nil {
						t.Fatal(err)
					}
					if got := floats(t, y); !slices.Equal(got, []float32{2, 35, 6}) {
						t.Errorf("values %v", got)
					}
					if got := floats(t, x.Grad()); !slices.Equal(got, []float32{20, 0, 60}) {
						t.Errorf("gradient of the tensor's %v", got)
					}
					switch g := w.Grad(); {
					case quiet && g != nil:
						t.Errorf("a gradient %v in NoGrad", floats(t, g))
					case !quiet && !slices.Equal(floats(t, g), []float32{140}):
						t.Errorf("gradient of the value's %v", floats(t, g))
					}
				})
			}
		}
		t.Run(fmt.Sprintf("buffer,computed=%t", computed), func(t *testing.T) {
			w := polygrad.Scalar[float32](5).SetRequiresGrad(true)
			out := polygrad.From([]float32{1, 2})
			if !computed {
				out = out.Add(1)
			}
			if err := out.Set(w.Mul(3), polygrad.At(0)).Sum().Backward().Err(); err != nil {
				t.Fatal(err)
			}
			if got := floats(t, w.Grad()); got[0] != 3 {
				t.Errorf("gradient %v", got)
			}
		})
		t.Run(fmt.Sprintf("assign to a view,computed=%t", computed), func(t *testing.T) {
			x := polygrad.From([]float32{1, 2, 3}).SetRequiresGrad(true)
			y := x.Mul(2)
			if computed {
				_ = y.Realize()
			}
			if err := y.Index(polygrad.SliceFrom(1)).Assign(9).Err(); err != nil {
				t.Fatal(err)
			}
			if err := y.Sum().Backward().Err(); err != nil {
				t.Fatal(err)
			}
			if got := floats(t, x.Grad()); !slices.Equal(got, []float32{2, 0, 0}) {
				t.Errorf("gradient %v", got)
			}
		})
	}
	w := polygrad.From([]float32{1, 2}).SetRequiresGrad(true)
	expectError(t, "a parameter", w.Set(w.Sum(), polygrad.At(0)).Err(), "Detach")
	if err := w.Set(7, polygrad.At(0)).Err(); err != nil || !slices.Equal(floats(t, w), []float32{7, 2}) {
		t.Errorf("a number: %v %v", err, floats(t, w))
	}
}

// Views and clones that are made in NoGrad have no gradients.
func TestNoGradViews(t *testing.T) {
	x := polygrad.From([]float32{1, 2, 3, 4}, 2, 2).SetRequiresGrad(true)
	for name, f := range map[string]func() *polygrad.Tensor{
		"view":            func() *polygrad.Tensor { return x.Index(polygrad.At(0)) },
		"view of a view":  func() *polygrad.Tensor { return x.T().Index(polygrad.At(0)) },
		"clone":           func() *polygrad.Tensor { return x.Clone() },
		"clone of a view": func() *polygrad.Tensor { return x.T().Clone() },
		"clone of lazy":   func() *polygrad.Tensor { return x.Mul(2).Clone() },
	} {
		var y *polygrad.Tensor
		_ = polygrad.Default().NoGrad(func() error { y = f(); return y.Err() })
		if y.RequiresGrad() {
			t.Errorf("%s requires a gradient", name)
		}
		x.ZeroGrad()
		if err := x.Sum().Add(y.Sum().Mul(10)).Backward().Err(); err != nil {
			t.Fatal(err)
		}
		if got := floats(t, x.Grad()); !slices.Equal(got, []float32{1, 1, 1, 1}) {
			t.Errorf("%s: gradient %v", name, got)
		}
	}
	var v *polygrad.Tensor
	_ = polygrad.Default().NoGrad(func() error { v = x.Index(polygrad.At(1)); return v.Assign(9).Err() })
	if got := floats(t, x); !slices.Equal(got, []float32{1, 2, 9, 9}) || !slices.Equal(floats(t, v), []float32{9, 9}) {
		t.Errorf("a write through a view of NoGrad: %v", got)
	}
}

// Compile leaves the random stream where it was: the runs draw.
func TestCompileDrawsNothing(t *testing.T) {
	c := polygrad.Default()
	c.Seed(7)
	var want [3][]float32
	for i := range want {
		want[i] = floats(t, polygrad.Rand([]int{4}))
	}
	c.Seed(7)
	if got := floats(t, polygrad.Rand([]int{4})); !slices.Equal(got, want[0]) {
		t.Errorf("%v, expected %v", got, want[0])
	}
	step, err := polygrad.Compile(func(...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return []*polygrad.Tensor{polygrad.Rand([]int{4})}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := step.Run()
	if err != nil {
		t.Fatal(err)
	}
	if got := floats(t, out[0]); !slices.Equal(got, want[1]) {
		t.Errorf("the step draws %v, expected %v", got, want[1])
	}
	if got := floats(t, polygrad.Rand([]int{4})); !slices.Equal(got, want[2]) {
		t.Errorf("after it %v, expected %v", got, want[2])
	}
}

// Sizes that could be greater than int64 are errors.
func TestSizeOverflow(t *testing.T) {
	n, m := polygrad.Variable("over_n", 1, math.MaxInt32), polygrad.Variable("over_m", 1, math.MaxInt32)
	k := n.Mul(m)
	if _, most := k.Bounds(); k.Err() != nil || most != math.MaxInt32*math.MaxInt32 {
		t.Errorf("%v: at most %d", k, most)
	}
	expectError(t, "product", k.Mul(n).Err(), "int64")
	expectError(t, "product with a number", n.Mul(1<<40).Err(), "int64")
	expectError(t, "sum", k.Add(math.MaxInt64).Err(), "int64")
	expectError(t, "difference", polygrad.Variable("over_k", -5, -1).Sub(math.MaxInt64).Err(), "int64")
}

// What is nil or empty is told, not dereferenced.
func TestNil(t *testing.T) {
	for name, z := range map[string]*polygrad.Size{"nil": nil, "empty": {}} {
		for what, r := range map[string]*polygrad.Size{"Bind": z.Bind(1), "Add": z.Add(1), "Mod": z.Mod(2)} {
			expectError(t, what, r.Err(), name)
		}
		_, err := z.Value()
		expectError(t, "Value", err, name)
		expectError(t, "Err", z.Err(), name)
		least, most := z.Bounds()
		if s := z.String(); least != 0 || most != 0 || !strings.Contains(s, name) {
			t.Errorf("%s: %d to %d", s, least, most)
		}
		expectError(t, "operand", polygrad.Variable("nil_n", 1, 5).Add(z).Err(), name)
	}
	for _, o := range []*polygrad.Optimizer{nil, {}} {
		o.ZeroGrad()
		expectError(t, "Optimizer.Step", o.Step(), "nil or empty")
	}
	for _, s := range []*polygrad.Step{nil, {}} {
		_, err := s.Run()
		expectError(t, "Step.Run", err, "nil or empty")
		if s.Kernels() != 0 {
			t.Error("kernels of no step")
		}
	}
	_, err := polygrad.Compile(nil)
	expectError(t, "Compile", err, "expected a function")
	expectError(t, "empty tensor", new(polygrad.Tensor).Add(1).Err(), "empty")
	x := polygrad.From([]float32{1, 2})
	expectError(t, "Index", x.Index(polygrad.Take(nil)).Err(), "nil")
	expectError(t, "Set", x.Set(1, polygrad.Take(nil)).Err(), "nil")
	if n := polygrad.From([]float32{1}, 7).Numel(); n != 0 {
		t.Errorf("a tensor with an error has %d elements", n)
	}
}

// Values of another type are errors however they are written.
func TestAssignTypes(t *testing.T) {
	x := polygrad.From([]int32{1, 2, 3})
	for _, v := range []any{1.5, math.Inf(1), math.NaN(), 1 << 40, polygrad.From([]float32{1.5})} {
		if err := x.Assign(v).Err(); err == nil {
			t.Errorf("%v is assigned", v)
		}
		for _, at := range []polygrad.Index{polygrad.At(0), polygrad.SliceFrom(1), polygrad.Take(polygrad.From([]int32{2}))} {
			if err := x.Set(v, at).Err(); err == nil {
				t.Errorf("%v is set", v)
			}
		}
	}
	if err := x.Assign(2.0).Err(); err != nil {
		t.Error(err)
	}
	if v, err := polygrad.Values[int32](x); err != nil || !slices.Equal(v, []int32{2, 2, 2}) {
		t.Errorf("%v %v", v, err)
	}
}

type layer struct{ Weight *polygrad.Tensor }

type bias struct{ Bias *polygrad.Tensor }

// Promoted fields of embedded structs are the object's, failed tensors are parameters that tell their error, and LoadState writes all or
// nothing.
func TestStateEdges(t *testing.T) {
	type model struct {
		layer
		*bias
		A      *polygrad.Tensor
		hidden *polygrad.Tensor
	}
	one := func() *polygrad.Tensor { return polygrad.From([]float32{1, 2}) }
	m := &model{layer{one()}, &bias{one()}, one(), one()}
	state := polygrad.State(m)
	if len(state) != 3 || state["weight"] != m.Weight || state["bias"] != m.Bias || state["a"] != m.A || m.hidden == nil {
		t.Errorf("%v", state)
	}
	other, err := polygrad.NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]*polygrad.Tensor{
		"a": polygrad.From([]float32{5, 6}), "bias": one(), "weight": polygrad.FromIn(other, []float32{5, 6}),
	}
	expectError(t, "LoadState", polygrad.LoadState(m, given), "another context")
	if got := floats(t, m.A); got[0] != 1 {
		t.Errorf("%v was written", got)
	}
	m.Weight = one().Add(polygrad.From([]float32{1, 2, 3}))
	given["weight"] = one()
	expectError(t, "LoadState", polygrad.LoadState(m, given), "weight")
	if got := floats(t, m.A); got[0] != 1 {
		t.Errorf("%v was written", got)
	}
	_, err = polygrad.NewSGD(polygrad.Parameters(m), 0.1, polygrad.SGDOptions{})
	expectError(t, "NewSGD", err, "broadcast")
}

// A compiled function leaves the gradients that the function would leave: it adds them up, begins again after ZeroGrad, and passes them
// to an optimizer outside, or to one that is compiled by itself.
func TestGradientsOfSteps(t *testing.T) {
	type fn = func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error)
	for name, zero := range map[string]bool{"adds": false, "begins again": true} {
		for _, before := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,before=%t", name, before), func(t *testing.T) {
				w := polygrad.From([]float32{1, 2}).SetRequiresGrad(true)
				f := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
					if zero {
						w.ZeroGrad()
					}
					loss := w.Mul(args[0]).Sum()
					return []*polygrad.Tensor{loss}, loss.Backward().Err()
				}
				if before {
					if _, err := f(polygrad.From([]float32{100, 100})); err != nil {
						t.Fatal(err)
					}
				}
				grad := func() []float32 {
					if w.Grad() == nil {
						return []float32{0, 0}
					}
					return floats(t, w.Grad())
				}
				want := grad()
				step, err := polygrad.Compile(f, polygrad.From([]float32{0, 0}))
				if err != nil {
					t.Fatal(err)
				}
				if got := grad(); !slices.Equal(got, want) {
					t.Errorf("Compile leaves %v, expected %v", got, want)
				}
				run := func(x ...float32) {
					t.Helper()
					kept := w.Grad()
					was := grad()
					out, err := step.Run(polygrad.From(x))
					if err != nil || len(out) != 1 {
						t.Fatal(err, out)
					}
					for i := range want {
						if want[i] += x[i]; zero {
							want[i] = x[i]
						}
					}
					if got := grad(); !slices.Equal(got, want) {
						t.Errorf("gradient %v, expected %v", got, want)
					}
					if !zero {
						was = want
					}
					if kept != nil && !slices.Equal(floats(t, kept), was) {
						t.Errorf("the gradient of before is %v, expected %v", floats(t, kept), was)
					}
				}
				run(1, 2)
				run(10, 20)
				w.ZeroGrad()
				want = []float32{0, 0}
				run(3, 4)
			})
		}
	}
	// The parts of a step of training, together and apart, compiled or not.
	var want []float32
	for _, parts := range []string{"eager", "backward", "both", "whole", "zero at the end"} {
		w := polygrad.From([]float32{1, 2}).SetRequiresGrad(true)
		o, err := polygrad.NewSGD([]*polygrad.Tensor{w}, 0.1, polygrad.SGDOptions{Momentum: 0.9})
		if err != nil {
			t.Fatal(err)
		}
		backward := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			loss := w.Mul(w).Mul(args[0]).Sum()
			return []*polygrad.Tensor{loss}, loss.Backward().Err()
		}
		update := func(...*polygrad.Tensor) ([]*polygrad.Tensor, error) { return nil, o.Step() }
		zero := func(...*polygrad.Tensor) ([]*polygrad.Tensor, error) { o.ZeroGrad(); return nil, nil }
		join := func(fs ...fn) fn {
			return func(args ...*polygrad.Tensor) (out []*polygrad.Tensor, err error) {
				for _, f := range fs {
					r, err := f(args...)
					if err != nil {
						return nil, err
					}
					out = append(out, r...)
				}
				return out, nil
			}
		}
		var f fn
		switch parts {
		case "eager":
			f = join(zero, backward, update)
		case "backward":
			f = join(zero, polygrad.Jit(backward), update)
		case "both":
			f = join(zero, polygrad.Jit(backward), polygrad.Jit(update))
		case "whole":
			f = polygrad.Jit(join(zero, backward, update))
		default:
			f = polygrad.Jit(join(backward, update, zero))
		}
		for i := range 5 {
			if _, err := f(polygrad.From([]float32{float32(i), 1})); err != nil {
				t.Fatalf("%s: %v", parts, err)
			}
		}
		got := floats(t, w)
		if want == nil {
			want = got
		}
		for i := range got {
			if math.Abs(float64(got[i]-want[i])) > 1e-5 {
				t.Errorf("%s: %v, expected %v", parts, got, want)
			}
		}
	}
}

// Arguments get gradients, too, and a gradient may be a result.
func TestGradientsOfArguments(t *testing.T) {
	f := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		err := args[0].Mul(args[1]).Sum().Backward().Err()
		return []*polygrad.Tensor{args[0].Grad()}, err
	}
	make := func() *polygrad.Tensor { return polygrad.From([]float32{1, 2}).SetRequiresGrad(true) }
	first := make()
	step, err := polygrad.Compile(f, first, polygrad.From([]float32{3, 4}))
	if err != nil {
		t.Fatal(err)
	}
	x, y := make(), polygrad.From([]float32{3, 4})
	for i := range 2 {
		n := float32(i + 1)
		out, err := step.Run(x, y)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range []*polygrad.Tensor{x.Grad(), out[0]} {
			if got := floats(t, g); !slices.Equal(got, []float32{3 * n, 4 * n}) {
				t.Errorf("run %d: %v", i, got)
			}
		}
	}
	if first.Grad() != nil {
		t.Error("tracing left a gradient")
	}
	z := make()
	if out, err := step.Run(z, y); err != nil || floats(t, out[0])[0] != 3 || floats(t, x.Grad())[0] != 6 {
		t.Errorf("another argument: %v %v", out, err)
	}
	_, err = polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		_, _ = f(args...)
		return nil, fmt.Errorf("on purpose")
	}, z, y)
	expectError(t, "a function that fails", err, "on purpose")
	if got := floats(t, z.Grad()); got[0] != 3 {
		t.Errorf("it left %v", got)
	}
}

// A scatter whose index becomes a constant, when the loops are split already, adds in all its loops.
func TestCountsOfConstants(t *testing.T) {
	x := polygrad.From(make([]uint8, 24), 4, 3, 2)
	v := x.Mul(x).Pad([][2]int{{0, 1}, {0, 1}, {0, 0}}, polygrad.WithValue(4))
	counts, err := polygrad.Values[int32](v.Sub(v).Le(1).Cast(polygrad.Int32).BinCount(polygrad.WithMinlength(4)))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(counts, []int32{0, 40, 0, 0}) {
		t.Errorf("got %v, want 40 at 1", counts)
	}
}
