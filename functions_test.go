package polygrad_test

import (
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"polygrad"
)

type tensors = []*polygrad.Tensor

// of1 makes a Function of one tensor.
func of1(f func(x *polygrad.Tensor) *polygrad.Tensor) polygrad.Function {
	return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) { return tensors{f(args[0])}, nil }
}

func numbers(t *testing.T, what string, x *polygrad.Tensor, err error, want ...float64) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got, err := polygrad.Values[float64](x.Cast(polygrad.Float64))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %v, expected %v", what, got, want)
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= 1e-9*(1+math.Abs(w))) {
			t.Fatalf("%s: %v, expected %v", what, got, want)
		}
	}
}

func first(ts []*polygrad.Tensor, err error) (*polygrad.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return ts[0], nil
}

func TestFunctionsOfFunctions(t *testing.T) {
	x := polygrad.From([]float64{1, 2, 3})
	cubes := of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Mul(x).Mul(x) })
	sum := of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Mul(x).Mul(x).Sum() })

	g, err := first(polygrad.Grad(sum)(x))
	numbers(t, "Grad", g, err, 3, 12, 27)
	one := polygrad.Scalar(2.0)
	g, err = first(polygrad.Grad(polygrad.Grad(polygrad.Grad(sum)))(one))
	numbers(t, "third derivative", g, err, 6)
	g, err = first(polygrad.VMap(polygrad.Grad(polygrad.Grad(sum)), nil, nil)(x))
	numbers(t, "VMap of second derivatives", g, err, 6, 12, 18)
	g, err = first(polygrad.JacFwd(cubes)(x))
	numbers(t, "JacFwd", g, err, 3, 0, 0, 0, 12, 0, 0, 0, 27)
	g, err = first(polygrad.JacRev(cubes)(x))
	numbers(t, "JacRev", g, err, 3, 0, 0, 0, 12, 0, 0, 0, 27)
	g, err = first(polygrad.Hessian(sum)(x))
	numbers(t, "Hessian", g, err, 6, 0, 0, 0, 12, 0, 0, 0, 18)
	g, err = first(polygrad.JacFwd(polygrad.JacRev(sum))(x))
	numbers(t, "JacFwd of JacRev", g, err, 6, 0, 0, 0, 12, 0, 0, 0, 18)
	v := polygrad.From([]float64{1, 0, -1})
	g, err = first(polygrad.HVP(sum, tensors{x}, tensors{v}))
	numbers(t, "HVP", g, err, 6, 0, -18)

	values, changes, err := polygrad.JVP(cubes, tensors{x}, tensors{v})
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "values of JVP", values[0], nil, 1, 8, 27)
	numbers(t, "tangents of JVP", changes[0], nil, 3, 0, -27)
	values, pullback, err := polygrad.VJP(cubes, x)
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "values of VJP", values[0], nil, 1, 8, 27)
	g, err = first(pullback(v))
	numbers(t, "pullback", g, err, 3, 0, -27)

	m := polygrad.From([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	outer := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{args[0].Mul(args[1]).Sum(), args[1]}, nil
	}
	out, err := polygrad.VMap(outer, []int{1, polygrad.Unmapped}, []int{0, polygrad.Unmapped})(m, polygrad.From([]float64{1, 10}))
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "VMap along axis 1", out[0], nil, 41, 52, 63)
	numbers(t, "its result that is not mapped", out[1], nil, 1, 10)

	// A tensor from outside is a constant, also if it is the argument.
	g, err = first(polygrad.Grad(of1(func(y *polygrad.Tensor) *polygrad.Tensor { return y.Mul(x).Sum() }))(x))
	numbers(t, "a constant from outside", g, err, 1, 2, 3)
	// Gradients flow through what transformations return.
	w := polygrad.From([]float64{1, 2, 3}).SetRequiresGrad(true)
	made, err := first(polygrad.Grad(of1(func(y *polygrad.Tensor) *polygrad.Tensor { return y.Mul(y).Mul(w).Sum() }))(x))
	if err != nil {
		t.Fatal(err)
	}
	made.Sum().Backward()
	numbers(t, "Backward through Grad", w.Grad(), w.Grad().Err(), 2, 4, 6)
	// Writes to tensors of the function are values.
	g, err = first(polygrad.Grad(of1(func(y *polygrad.Tensor) *polygrad.Tensor {
		z := y.Mul(1)
		z.Set(y.Index(polygrad.At(0)).Mul(5), polygrad.At(2))
		return z.Mul(z).Sum()
	}))(x))
	numbers(t, "Set in a function", g, err, 52, 4, 0)
}

func TestErrorsOfFunctions(t *testing.T) {
	x, w := polygrad.From([]float64{1, 2, 3}), polygrad.From([]float64{1, 2, 3})
	n := polygrad.From([]int32{1, 2, 3})
	same := of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x })
	var leaked *polygrad.Tensor
	for _, c := range []struct {
		name string
		run  func() ([]*polygrad.Tensor, error)
		want string
	}{
		{"a loss of three", func() ([]*polygrad.Tensor, error) { return polygrad.Grad(same)(x) },
			"polygrad: Grad: the function returns float64 of shape (3), expected a loss: a scalar of a floating type (see sum and mean)"},
		{"integers", func() ([]*polygrad.Tensor, error) { return polygrad.Grad(same)(n) },
			"polygrad: Grad: argument 0 is int32, expected a floating type: Grad differentiates by it"},
		{"a number", func() ([]*polygrad.Tensor, error) { return polygrad.Grad(same, 1)(x) }, "polygrad: Grad: input 1, expected 0 to 0"},
		{"no function", func() ([]*polygrad.Tensor, error) { return polygrad.Grad(nil)(x) }, "polygrad: Grad: f: is nil, expected a function"},
		{"a value", func() ([]*polygrad.Tensor, error) {
			return polygrad.Grad(func(a ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
				_, err := a[0].Sum().Item()
				return a, err
			})(x)
		}, "a value is needed while Grad traces the function"},
		{"a write", func() ([]*polygrad.Tensor, error) {
			return polygrad.Grad(func(a ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
				return tensors{a[0].Sum()}, w.Assign(a[0]).Err()
			})(x)
		}, "a tensor from outside is written while Grad traces the function: return the new value instead"},
		{"Backward", func() ([]*polygrad.Tensor, error) {
			return polygrad.Grad(func(a ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
				return a, a[0].Sum().Backward().Err()
			})(x)
		}, "Backward: called while Grad traces the function: use the gradient of a function"},
		{"a leak", func() ([]*polygrad.Tensor, error) {
			_, err := polygrad.Grad(of1(func(x *polygrad.Tensor) *polygrad.Tensor {
				leaked = x.Mul(2)
				return x.Sum()
			}))(x)
			if err != nil {
				return nil, err
			}
			return nil, leaked.Realize()
		}, "polygrad: Realize: a value is needed after Grad traces the function: a tensor has left it otherwise than as a result"},
		{"axes", func() ([]*polygrad.Tensor, error) { return polygrad.VMap(same, []int{1}, nil)(x) },
			"polygrad: VMap: argument 0 has shape (3), which has no axis 1 for the batch"},
		{"sizes", func() ([]*polygrad.Tensor, error) {
			return polygrad.VMap(same, nil, nil)(x, polygrad.From([]float64{1, 2}))
		},
			"polygrad: VMap: argument 1 has size 2 along axis 0, expected 3 as argument 0 along axis 0"},
		{"nothing mapped", func() ([]*polygrad.Tensor, error) { return polygrad.VMap(same, []int{polygrad.Unmapped}, nil)(x) },
			"polygrad: VMap: no argument is mapped, expected an axis for one or more"},
		{"a mapped result", func() ([]*polygrad.Tensor, error) {
			return polygrad.VMap(same, nil, []int{polygrad.Unmapped})(x)
		}, "polygrad: VMap: out_axes: none for result 0, which differs among the elements of the batch"},
		{"a tangent", func() ([]*polygrad.Tensor, error) {
			_, _, err := polygrad.JVP(same, tensors{x}, tensors{polygrad.From([]float64{1})})
			return nil, err
		}, "polygrad: JVP: argument 1 is float64 of shape (1), expected float64 of shape (3)"},
	} {
		_, err := c.run()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, expected %s", c.name, err, c.want)
		}
	}
	v, err := first(polygrad.VMap(same, nil, nil)(polygrad.Zeros([]int{0, 2})))
	if err != nil || !slices.Equal(v.Shape(), []int{0, 2}) {
		t.Errorf("a batch without elements: %v, error %v, expected shape (0, 2)", v, err)
	}
	// What has left a trace is no tensor of another one.
	if _, err := polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		leaked = args[0].Mul(2)
		return args, nil
	}, x); err != nil {
		t.Fatal(err)
	}
	if err := leaked.Realize(); err == nil || !strings.Contains(err.Error(), "a value is needed after Compile traces the function") {
		t.Errorf("a tensor that has left Compile: error %v", err)
	}
	_, err = polygrad.Compile(of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Add(leaked) }), x)
	if want := "polygrad: Compile: a tensor that it reads has left another traced function otherwise than as a result"; err == nil || err.Error() != want {
		t.Errorf("error %v, expected %s", err, want)
	}
	// The context is as before.
	numbers(t, "w", w, nil, 1, 2, 3)
	g, err := first(polygrad.Grad(of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Sum() }))(x))
	numbers(t, "Grad after errors", g, err, 1, 1, 1)
	runtime.KeepAlive(leaked)
}

// Function transformations leave nothing behind.
func TestFunctionsFreeTheirMemory(t *testing.T) {
	c, err := polygrad.NewContext("")
	if err != nil {
		t.Fatal(err)
	}
	loss := of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Mul(x).Sum() })
	x := polygrad.FromIn(c, []float64{1, 2, 3})
	run := func() {
		out, err := polygrad.Grad(loss)(x)
		if err != nil {
			t.Fatal(err)
		}
		numbers(t, "Grad", out[0], nil, 2, 4, 6)
	}
	run()
	before := c.Values()
	for range 20 {
		run()
	}
	// What began in a function that is given up ends, too.
	for range 20 {
		if err := polygrad.AbandonWithInner(x); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if after := c.Values(); after > before {
		t.Errorf("%d values, before %d", after, before)
	}
}

func TestEvalShape(t *testing.T) {
	f := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return []*polygrad.Tensor{args[0].MatMul(args[1]), args[0].ArgMax().Cast(polygrad.Int16)}, nil
	}
	specs, err := polygrad.EvalShape(f, polygrad.Zeros([]int{2, 3}), polygrad.Zeros([]int{3, 5}))
	want := []polygrad.Spec{{Shape: []int{2, 5}, DType: polygrad.Float32}, {Shape: []int{}, DType: polygrad.Int16}}
	if err != nil || !reflect.DeepEqual(specs, want) {
		t.Errorf("%v, %v, expected %v", specs, err, want)
	}
	if _, err = polygrad.EvalShape(nil); err == nil || !strings.Contains(err.Error(), "EvalShape: f: is nil") {
		t.Error(err)
	}
	if _, err = polygrad.EvalShape(f, polygrad.Zeros([]int{2, 3}), polygrad.Zeros([]int{2})); err == nil || !strings.Contains(err.Error(), "do not multiply") {
		t.Error(err)
	}
}

func TestLinearTranspose(t *testing.T) {
	m := polygrad.From([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	back, err := polygrad.LinearTranspose(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{m.MatMul(args[0])}, nil
	}, polygrad.From([]float64{0, 0, 0}))
	if err != nil {
		t.Fatal(err)
	}
	out, err := first(back(polygrad.From([]float64{1, 10})))
	numbers(t, "transpose", out, err, 41, 52, 63)
	_, err = polygrad.LinearTranspose(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{args[0].Mul(args[0])}, nil
	}, m)
	const expected = "polygrad: LinearTranspose: the function is not linear in argument 0: its gradients depend on it; use vjp"
	if err == nil || err.Error() != expected {
		t.Errorf("%v, expected %s", err, expected)
	}
}
