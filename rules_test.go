package polygrad_test

import (
	"testing"

	"polygrad"
)

// network is sum(tanh(tanh(x w) w) v), with n layers of tanh(x w).
func network(n int) polygrad.Function {
	return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		x, w := args[0], args[1]
		for range n {
			x = x.MatMul(w).Tanh()
		}
		return tensors{x}, nil
	}
}

func summed(f polygrad.Function) polygrad.Function {
	return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		out, err := f(args...)
		if err != nil {
			return nil, err
		}
		return tensors{out[0].Square().Sum()}, nil
	}
}

func equal(t *testing.T, what string, got, want []*polygrad.Tensor, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for i, x := range want {
		numbers(t, what, got[i], nil, values(t, x)...)
	}
}

func values(t *testing.T, x *polygrad.Tensor) []float64 {
	t.Helper()
	out, err := polygrad.Values[float64](x.Cast(polygrad.Float64))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A checkpointed function has the same results and derivatives of any order and in any nesting.
func TestCheckpoint(t *testing.T) {
	x := polygrad.From([]float64{0.1, -0.4, 0.3, 0.9, -0.2, 0.5}).Reshape(2, 3)
	w := polygrad.From([]float64{0.3, -0.1, 0.2, 0.5, 0.4, -0.6, 0.7, 0.1, 0.2}).Reshape(3, 3)
	for _, policy := range []string{"", "nothing_saveable", "dots_saveable", "everything_saveable"} {
		f, plain := polygrad.Checkpoint(network(2), policy), network(2)
		for _, c := range []struct {
			name string
			of   func(f polygrad.Function) polygrad.Function
		}{
			{"itself", func(f polygrad.Function) polygrad.Function { return f }},
			{"Grad", func(f polygrad.Function) polygrad.Function { return polygrad.Grad(summed(f), 0, 1) }},
			{"JacFwd", func(f polygrad.Function) polygrad.Function { return polygrad.JacFwd(f, 1) }},
			{"JacRev", func(f polygrad.Function) polygrad.Function { return polygrad.JacRev(f, 0, 1) }},
			{"Hessian", func(f polygrad.Function) polygrad.Function { return polygrad.Hessian(summed(f), 0) }},
			{"JacRev of JacFwd", func(f polygrad.Function) polygrad.Function { return polygrad.JacRev(polygrad.JacFwd(summed(f), 1), 1) }},
			{"VMap of Grad", func(f polygrad.Function) polygrad.Function {
				return polygrad.VMap(polygrad.Grad(summed(f), 0, 1), []int{0, polygrad.Unmapped}, nil)
			}},
			{"Grad of VMap", func(f polygrad.Function) polygrad.Function {
				return polygrad.Grad(summed(polygrad.VMap(f, []int{0, polygrad.Unmapped}, nil)), 0, 1)
			}},
			{"Checkpoint of Checkpoint", func(f polygrad.Function) polygrad.Function {
				return polygrad.Grad(summed(polygrad.Checkpoint(f, "")), 0, 1)
			}},
		} {
			want, err := c.of(plain)(x, w)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.of(f)(x, w)
			equal(t, policy+": "+c.name, got, want, err)
		}
	}
	_, err := polygrad.Checkpoint(network(1), "all")(x, w)
	if want := `polygrad: Checkpoint: policy: "all", expected one of ["nothing_saveable" "dots_saveable" "everything_saveable"]`; err == nil || err.Error() != want {
		t.Errorf("error %v, expected %s", err, want)
	}
}

// What a checkpointed function computes is not stored for the way back, but computed again, also in a compiled step. A block of 4 layers has 4
// results, of which its input alone is stored.
func TestCheckpointSavesMemory(t *testing.T) {
	const n, blocks = 64, 8
	random := func(shape ...int) *polygrad.Tensor { return polygrad.Rand(shape).Sub(0.5).Cast(polygrad.Float32) }
	x, w := random(n*4, n), random(n, n).Div(8)
	one := int64(n * 4 * n * 4)
	memory := func(policy string) (int64, []float64) {
		block := polygrad.Checkpoint(network(4), policy)
		loss := summed(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			x, w := args[0], args[1]
			for range blocks {
				out, err := block(x, w)
				if err != nil {
					return nil, err
				}
				x = out[0]
			}
			return tensors{x}, nil
		})
		step, err := polygrad.Compile(polygrad.Grad(loss, 1), x, w)
		if err != nil {
			t.Fatal(err)
		}
		g, err := first(step.Run(x, w))
		if err != nil {
			t.Fatal(err)
		}
		return step.Memory(), values(t, g)
	}
	all, want := memory("everything_saveable")
	few, got := memory("nothing_saveable")
	dots, _ := memory("dots_saveable")
	t.Logf("%d, %d and %d bytes; a layer has %d", all, few, dots, one)
	for i, v := range want {
		if d := got[i] - v; d > 1e-4 || d < -1e-4 {
			t.Fatalf("gradient %d: %v, expected %v", i, got[i], v)
		}
	}
	if all < 4*blocks*one || few > (blocks+12)*one || dots <= few {
		t.Errorf("%d bytes, %d checkpointed and %d with dots, expected at least %d, at most %d, and more than those", all, few, dots, 4*blocks*one, (blocks+12)*one)
	}
}

func TestCustomDerivatives(t *testing.T) {
	x, y := polygrad.From([]float64{1, 2, 3}), polygrad.From([]float64{3, 2, 1})
	product := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{args[0].Mul(args[1]), args[0].Add(args[1])}, nil
	}
	outside := polygrad.Scalar(10.0)
	// Ten times the right tangents.
	f := polygrad.CustomJVP(product, func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		x, y, dx, dy := args[0], args[1], args[2], args[3]
		return tensors{dx.Mul(y).Add(x.Mul(dy)).Mul(outside), dx.Add(dy).Mul(outside)}, nil
	})
	total := func(f polygrad.Function) polygrad.Function {
		return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			out, err := f(args...)
			if err != nil {
				return nil, err
			}
			return tensors{out[0].Sum().Add(out[1].Square().Sum())}, nil
		}
	}
	g, err := polygrad.Grad(total(f), 0, 1)(x, y)
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "custom JVP: gradient by x", g[0], nil, 110, 100, 90)
	numbers(t, "custom JVP: gradient by y", g[1], nil, 90, 100, 110)
	j, err := first(polygrad.JacFwd(f)(x, y))
	numbers(t, "custom JVP: JacFwd", j, err, 30, 0, 0, 0, 20, 0, 0, 0, 10)
	j, err = first(polygrad.VMap(polygrad.Grad(total(f)), nil, nil)(x, y))
	numbers(t, "custom JVP: VMap of Grad", j, err, 110, 100, 90)
	j, err = first(polygrad.Grad(total(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return polygrad.VMap(f, nil, nil)(args...)
	}))(x, y))
	numbers(t, "custom JVP: Grad of VMap", j, err, 110, 100, 90)

	// A gradient that is no more than 1, which is not linear.
	clipped := polygrad.CustomVJP(product, func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{args[0].Mul(args[1]), args[0].Add(args[1]), args[0], args[1]}, nil
	}, func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		x, y, g, h := args[0], args[1], args[2], args[3]
		one := outside.Div(10)
		return tensors{g.Mul(y).Add(h).Minimum(one), g.Mul(x).Add(h).Minimum(one).Mul(2)}, nil
	})
	g, err = polygrad.Grad(total(clipped), 0, 1)(x, y)
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "custom VJP: gradient by x", g[0], nil, 1, 1, 1)
	numbers(t, "custom VJP: gradient by y", g[1], nil, 2, 2, 2)
	j, err = first(polygrad.VMap(polygrad.Grad(total(clipped)), nil, nil)(x, y))
	numbers(t, "custom VJP: VMap of Grad", j, err, 1, 1, 1)
	j, err = first(polygrad.JacFwd(clipped, 1)(x, y))
	numbers(t, "custom VJP: JacFwd", j, err, 2, 0, 0, 0, 4, 0, 0, 0, 6)

	wrong := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) { return args[:1], nil }
	for _, c := range []struct {
		f    polygrad.Function
		want string
	}{
		{polygrad.CustomJVP(product, wrong), "polygrad: CustomJVP: tangent: returns 1 tangents, expected one for each of 2 results of floating types"},
		{polygrad.CustomVJP(product, wrong, wrong), "polygrad: CustomVJP: forward: returns 1 tensors, expected the 2 results, and residuals"},
		{polygrad.CustomVJP(product, product, wrong), "polygrad: CustomVJP: backward: returns 1 gradients, expected one for each of 2 arguments of floating types"},
		{polygrad.CustomVJP(product, product, func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return tensors{args[0].Sum(), args[1]}, nil
		}), "polygrad: CustomVJP: backward: gradient 0 is float64 of shape (), expected float64 of shape (3)"},
	} {
		if _, err := c.f(x, y); err == nil || err.Error() != c.want {
			t.Errorf("error %v, expected %s", err, c.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	x, w := polygrad.From([]float32{1, 2, 3}), polygrad.From([]float32{4, 5, 6})
	text, err := polygrad.Describe(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		last, _, err := polygrad.Scan(func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
			return tensors{carry[0].Mul(elements[0]).Add(1)}, nil, nil
		}, tensors{args[0].Sum()}, tensors{w}, -1, false)
		return last, err
	}, x)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(text)
}

func TestNamedAxes(t *testing.T) {
	x := polygrad.From([]float64{1, 2, 3})
	share := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{args[0].Div(polygrad.Along("psum", "i", args[0]))}, nil
	}
	y, err := first(polygrad.VMapAlong("i", share, nil, nil)(x))
	numbers(t, "psum", y, err, 1.0/6, 2.0/6, 3.0/6)
	y, err = first(polygrad.Grad(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		out, err := polygrad.VMapAlong("i", share, nil, nil)(args...)
		if err != nil {
			return nil, err
		}
		return tensors{out[0].Square().Sum()}, nil
	})(x))
	numbers(t, "Grad of psum", y, err, 2.0/36-28.0/216, 4.0/36-28.0/216, 6.0/36-28.0/216)
	y, err = first(polygrad.VMapAlong("i", of1(func(x *polygrad.Tensor) *polygrad.Tensor {
		return polygrad.Along("own", "i", polygrad.Along("all_gather", "i", x).Flip(0)).Mul(polygrad.Along("axis_index", "i", x))
	}), nil, nil)(x))
	numbers(t, "own and axis_index", y, err, 0, 2, 2)
	want := `polygrad: Along: axis: no function is batched along the axis "i": see the name of the axis of vmap`
	if err := polygrad.Along("psum", "i", x).Err(); err == nil || err.Error() != want {
		t.Errorf("error %v, expected %s", err, want)
	}
}
