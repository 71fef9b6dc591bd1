package polygrad_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"polygrad"
)

type stepOf = func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error)

// unrolled is Scan without a loop.
func unrolled(step stepOf, init, sequences []*polygrad.Tensor, length int, reverse bool) (last, kept []*polygrad.Tensor, err error) {
	carry := init
	var all [][]*polygrad.Tensor
	for i := range length {
		at := i
		if reverse {
			at = length - 1 - i
		}
		elements := make(tensors, len(sequences))
		for k, s := range sequences {
			elements[k] = s.Index(polygrad.At(at))
		}
		var out []*polygrad.Tensor
		if carry, out, err = step(carry, elements); err != nil {
			return nil, nil, err
		}
		if all = append(all, out); reverse {
			all = append([][]*polygrad.Tensor{out}, all[:i]...)
		}
	}
	for k := range all[0] {
		var list []*polygrad.Tensor
		for _, out := range all {
			list = append(list, out[k])
		}
		kept = append(kept, polygrad.Stack(list))
	}
	return carry, kept, nil
}

type looped = func(step stepOf, init, sequences []*polygrad.Tensor, length int, reverse bool) (last, kept []*polygrad.Tensor, err error)

// same compares a function of loops on a Scan and on an unrolled loop.
func same(t *testing.T, what string, f func(scan looped) (*polygrad.Tensor, error)) {
	t.Helper()
	want, err := f(unrolled)
	if err != nil {
		t.Fatalf("%s, unrolled: %v", what, err)
	}
	expected, err := polygrad.Values[float64](want.Cast(polygrad.Float64))
	if err != nil {
		t.Fatalf("%s, unrolled: %v", what, err)
	}
	got, err := f(polygrad.Scan)
	numbers(t, what, got, err, expected...)
}

// rnn is a loss of a recurrent layer over five steps, as a function of the state, the inputs and the weights.
func rnn(scan looped, reverse bool) polygrad.Function {
	return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		h, xs, w := args[0], args[1], args[2]
		last, kept, err := scan(func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
			h := carry[0].MatMul(w).Add(elements[0]).Tanh()
			return tensors{h, carry[1].Add(1)}, tensors{h.Mul(h), carry[1]}, nil
		}, tensors{h, polygrad.From([]int32{3})}, tensors{xs}, 5, reverse)
		if err != nil {
			return nil, err
		}
		weights := polygrad.Arange(0, 5, 1).Reshape(5, 1).Cast(polygrad.Float64)
		loss := last[0].Sum().Add(kept[0].Mul(weights).Sum()).Add(kept[1].Sum().Mul(last[1].Sum()).Cast(polygrad.Float64))
		return tensors{loss}, nil
	}
}

func inputsOfRNN() tensors {
	values := func(n int, scale float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = scale * float64((i*7)%11-5)
		}
		return out
	}
	return tensors{polygrad.From(values(2, 0.1)), polygrad.From(values(10, 0.07), 5, 2), polygrad.From(values(4, 0.09), 2, 2)}
}

func joinedTo(ts []*polygrad.Tensor, err error) (*polygrad.Tensor, error) {
	if err != nil {
		return nil, err
	}
	flat := make(tensors, len(ts))
	for i, x := range ts {
		flat[i] = x.Reshape(-1)
	}
	return polygrad.Cat(flat), nil
}

func TestScanEqualsUnrolled(t *testing.T) {
	args := inputsOfRNN()
	for _, reverse := range []bool{false, true} {
		name := map[bool]string{false: "", true: " in reverse"}[reverse]
		same(t, "value"+name, func(scan looped) (*polygrad.Tensor, error) { return first(rnn(scan, reverse)(args...)) })
		same(t, "gradient"+name, func(scan looped) (*polygrad.Tensor, error) {
			return joinedTo(polygrad.Grad(rnn(scan, reverse), 0, 1, 2)(args...))
		})
		same(t, "tangent"+name, func(scan looped) (*polygrad.Tensor, error) {
			_, changes, err := polygrad.JVP(rnn(scan, reverse), args, tensors{args[0].Mul(2), args[1].Add(1), args[2]})
			return joinedTo(changes, err)
		})
		same(t, "Hessian by the weights"+name, func(scan looped) (*polygrad.Tensor, error) {
			return joinedTo(polygrad.Hessian(func(w ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
				return rnn(scan, reverse)(args[0], args[1], w[0])
			})(args[2]))
		})
		same(t, "gradient of a gradient"+name, func(scan looped) (*polygrad.Tensor, error) {
			inner := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
				g, err := first(polygrad.Grad(rnn(scan, reverse), 0)(args...))
				return tensors{g.Mul(g).Sum()}, err
			}
			return joinedTo(polygrad.Grad(inner, 0, 1, 2)(args...))
		})
	}
	batch := polygrad.Stack(tensors{args[0], args[0].Mul(3)})
	same(t, "gradients of a batch", func(scan looped) (*polygrad.Tensor, error) {
		f := polygrad.VMap(polygrad.Grad(rnn(scan, false), 0, 2), []int{0, polygrad.Unmapped, polygrad.Unmapped}, nil)
		return joinedTo(f(batch, args[1], args[2]))
	})
	same(t, "Jacobian by forward mode", func(scan looped) (*polygrad.Tensor, error) {
		return joinedTo(polygrad.JacFwd(rnn(scan, false))(args...))
	})
}

// Products of this size are stored for the loop backwards: of the steps, of a loop in a step, and of their derivatives.
func TestScanWithResiduals(t *testing.T) {
	const n = 34
	values := func(scale float64, count int) []float64 {
		out := make([]float64, count)
		for i := range out {
			out[i] = scale * float64((i*i*7+i)%23-11)
		}
		return out
	}
	h, xs, w := polygrad.From(values(0.02, n)), polygrad.From(values(0.03, 4*n), 4, n), polygrad.From(values(0.01, n*n), n, n)
	for _, c := range []struct {
		name, policy string
		inner        int // steps of a loop in each step, 0 for none
	}{{"", "", 0}, {" checkpointed", "nothing_saveable", 0}, {" that stores products", "dots_saveable", 0}, {" of loops", "", 2}, {" of checkpointed loops", "nothing_saveable", 2}} {
		loss := func(scan looped) polygrad.Function {
			return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
				step := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
					once := func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
						z := carry[0].MatMul(args[2]).Add(args[1].MatMul(args[2].Tanh()))
						return tensors{z.Tanh().Mul(carry[0].Cos())}, nil, nil
					}
					if c.inner == 0 {
						next, _, err := once(args[:1], nil)
						return next, err
					}
					last, _, err := scan(once, args[:1], nil, c.inner, false)
					return last, err
				}
				if c.policy != "" {
					step = polygrad.Checkpoint(step, c.policy)
				}
				last, kept, err := scan(func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
					next, err = step(carry[0], elements[0], args[2])
					return next, next, err
				}, tensors{args[0]}, tensors{args[1]}, 4, false)
				if err != nil {
					return nil, err
				}
				return tensors{last[0].Sum().Add(kept[0].Mul(kept[0]).Sum())}, nil
			}
		}
		same(t, "gradient of a scan"+c.name, func(scan looped) (*polygrad.Tensor, error) {
			return joinedTo(polygrad.Grad(loss(scan), 0, 1, 2)(h, xs, w))
		})
		same(t, "product with the Hessian of a scan"+c.name, func(scan looped) (*polygrad.Tensor, error) {
			_, changes, err := polygrad.JVP(polygrad.Grad(loss(scan), 0, 1, 2), tensors{h, xs, w}, tensors{xs.Index(polygrad.At(1)), xs.Mul(2), w.Sin()})
			return joinedTo(changes, err)
		})
		same(t, "gradient of a gradient of a scan"+c.name, func(scan looped) (*polygrad.Tensor, error) {
			inner := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
				g, err := first(polygrad.Grad(loss(scan), 2)(args...))
				return tensors{g.Mul(g).Sum()}, err
			}
			return joinedTo(polygrad.Grad(inner, 0, 1, 2)(h, xs, w))
		})
		same(t, "gradients of a batch of scans"+c.name, func(scan looped) (*polygrad.Tensor, error) {
			f := polygrad.VMap(polygrad.Grad(loss(scan), 0, 2), []int{0, polygrad.Unmapped, polygrad.Unmapped}, nil)
			return joinedTo(f(xs, xs, w))
		})
	}
}

// Loops over few numbers, alone and side by side, are kernels that keep them in registers.
func TestSmallScans(t *testing.T) {
	for _, c := range []struct {
		name string
		step func(x, y, element *polygrad.Tensor) (next, other, kept *polygrad.Tensor)
	}{
		{"elementwise", func(x, y, e *polygrad.Tensor) (next, other, kept *polygrad.Tensor) {
			return x.Mul(0.9).Add(e), x.Mul(y).Sin(), y
		}},
		{"of pairs", func(x, y, e *polygrad.Tensor) (next, other, kept *polygrad.Tensor) {
			d := x.Unsqueeze(0).Sub(x.Unsqueeze(1))
			force := d.Div(d.Mul(d).Add(0.1)).Sum(polygrad.WithAxis(0))
			return x.Add(y.Mul(0.1)), y.Add(force.Mul(0.1)).Sub(e.Mul(0.01)), force.Mul(force).Sum()
		}},
		{"with the numbers exchanged", func(x, y, e *polygrad.Tensor) (next, other, kept *polygrad.Tensor) {
			return y, x.Add(e), x.Gt(y).Where(x, e).Max()
		}},
		{"of a part of the state", func(x, y, e *polygrad.Tensor) (next, other, kept *polygrad.Tensor) {
			return polygrad.Cat(tensors{x.Index(polygrad.Slice(1, 3)), e.Index(polygrad.Slice(0, 1))}), x.Flip(0), x.Index(polygrad.At(0))
		}},
	} {
		for _, batch := range []int{0, 2, 17, 40} {
			for _, reverse := range []bool{false, true} {
				run := func(scan looped) polygrad.Function {
					return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
						last, kept, err := scan(func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
							x, y, k := c.step(carry[0], carry[1], elements[0])
							return tensors{x, y, carry[2].Add(1)}, tensors{k, x}, nil
						}, tensors{args[0], args[1], polygrad.From([]int32{7})}, tensors{args[2]}, 6, reverse)
						if err != nil {
							return nil, err
						}
						out, err := joinedTo(append(tensors{last[0], last[1], last[2].Cast(polygrad.Float64)}, kept...), nil)
						return tensors{out}, err
					}
				}
				values := func(of int, shape ...int) *polygrad.Tensor {
					n := 1
					if batch > 0 {
						shape = append([]int{batch}, shape...)
					}
					for _, d := range shape {
						n *= d
					}
					out := make([]float64, n)
					for i := range out {
						out[i] = float64((i*i*5+i*of)%13-6) / 10
					}
					return polygrad.From(out, shape...)
				}
				same(t, fmt.Sprintf("%s, batch %d, reverse %v", c.name, batch, reverse), func(scan looped) (*polygrad.Tensor, error) {
					f := run(scan)
					if batch > 0 {
						f = polygrad.VMap(f, nil, nil)
					}
					return first(f(values(1, 3), values(3, 3), values(7, 6, 3)))
				})
			}
		}
	}
}

func TestScanInScan(t *testing.T) {
	powers := func(scan looped) polygrad.Function {
		return of1(func(x *polygrad.Tensor) *polygrad.Tensor {
			last, _, err := scan(func(carry, _ []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
				inner, _, err := scan(func(c, _ []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
					return tensors{c[0].Mul(x).Add(carry[0])}, nil, nil
				}, tensors{carry[0]}, nil, 3, false)
				if err != nil {
					return nil, nil, err
				}
				return tensors{inner[0].Sin()}, nil, nil
			}, tensors{x.Mul(0.5)}, nil, 4, false)
			if err != nil {
				t.Fatal(err)
			}
			return last[0].Sum()
		})
	}
	x := polygrad.From([]float64{0.3, -0.2, 0.7})
	same(t, "nested loops", func(scan looped) (*polygrad.Tensor, error) { return first(powers(scan)(x)) })
	same(t, "their gradient", func(scan looped) (*polygrad.Tensor, error) { return first(polygrad.Grad(powers(scan))(x)) })
	same(t, "their Hessian", func(scan looped) (*polygrad.Tensor, error) { return first(polygrad.Hessian(powers(scan))(x)) })
}

func TestScanOfFewSteps(t *testing.T) {
	sum := func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
		s := carry[0].Add(elements[0])
		return tensors{s}, tensors{s}, nil
	}
	for _, n := range []int{0, 1, 2} {
		xs := polygrad.From(make([]float64, n), n).Add(2)
		last, kept, err := polygrad.Scan(sum, tensors{polygrad.Scalar(1.0)}, tensors{xs}, -1, false)
		if err != nil {
			t.Fatal(err)
		}
		numbers(t, "last", last[0], nil, float64(1+2*n))
		numbers(t, "kept", kept[0], nil, []float64{3, 5}[:n]...)
		g, err := first(polygrad.Grad(of1(func(xs *polygrad.Tensor) *polygrad.Tensor {
			last, _, err := polygrad.Scan(sum, tensors{polygrad.Scalar(1.0)}, tensors{xs}, -1, false)
			if err != nil {
				t.Fatal(err)
			}
			return last[0].Mul(last[0])
		}))(xs))
		numbers(t, "gradient", g, err, []float64{float64(2 + 4*n), float64(2 + 4*n)}[:n]...)
	}
}

func TestScanOfMixedTypes(t *testing.T) {
	same(t, "float32 and float64", func(scan looped) (*polygrad.Tensor, error) {
		return first(polygrad.Grad(of1(func(x *polygrad.Tensor) *polygrad.Tensor {
			last, kept, err := scan(func(c, e []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
				a := c[0].Mul(e[0].Cast(polygrad.Float64))
				return tensors{a, c[1].Add(a.Cast(polygrad.Float32))}, tensors{c[0].Cast(polygrad.Float32)}, nil
			}, tensors{x, polygrad.Scalar(float32(1))}, tensors{polygrad.From([]float32{1, 2, 0.5})}, 3, false)
			if err != nil {
				t.Fatal(err)
			}
			return last[0].Mul(last[1].Cast(polygrad.Float64)).Add(kept[0].Sum().Cast(polygrad.Float64))
		}))(polygrad.Scalar(1.5)))
	})
}

func TestErrorsOfScan(t *testing.T) {
	x := polygrad.From([]float64{1, 2, 3})
	keep := func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
		return carry, nil, nil
	}
	for text, f := range map[string]func() error{
		"step: is nil":                   func() error { _, _, err := polygrad.Scan(nil, tensors{x}, nil, 3, false); return err },
		"init: is empty":                 func() error { _, _, err := polygrad.Scan(keep, nil, nil, 3, false); return err },
		"length: -1, expected 0 or more": func() error { _, _, err := polygrad.Scan(keep, tensors{x}, nil, -1, false); return err },
		"sequences[1]: has shape [3], expected 2 steps": func() error {
			_, _, err := polygrad.Scan(keep, nil, tensors{polygrad.Zeros([]int{2, 3}), x}, -1, false)
			return err
		},
		"sequences[0]: is a scalar": func() error {
			_, _, err := polygrad.Scan(keep, nil, tensors{polygrad.Scalar(1.0)}, -1, false)
			return err
		},
		"step: returns a carry of 0 tensors, expected 1": func() error {
			_, _, err := polygrad.Scan(func(_, _ []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) { return nil, nil, nil }, tensors{x}, nil, 3, false)
			return err
		},
		"carry[0] is float64 of shape (3), and float64 of shape () after a step": func() error {
			_, _, err := polygrad.Scan(func(c, _ []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
				return tensors{c[0].Sum()}, nil, nil
			}, tensors{x}, nil, 3, false)
			return err
		},
		"a value is needed while Scan traces": func() error {
			_, _, err := polygrad.Scan(func(c, _ []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
				_, err = c[0].Sum().Item()
				return c, nil, err
			}, tensors{x}, nil, 3, false)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, expected %s", err, text)
		}
	}
}

// largest is the largest magnitude of the elements.
func largest(t *testing.T, x *polygrad.Tensor) (most float64) {
	for _, v := range values(t, x) {
		most = max(most, math.Abs(v))
	}
	return most
}

// The results of a linear recurrence equal those of a loop, of any number of elements, with gradients.
func TestAssociativeScan(t *testing.T) {
	combine := func(a, b []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{b[0].MatMul(a[0]), b[0].MatMul(a[1]).Add(b[1])}, nil
	}
	for _, n := range []int{1, 2, 3, 7, 64, 65, 70, 150} {
		for _, reverse := range []bool{false, true} {
			g, x := polygrad.Arange(0, 4*n, 1).Cast(polygrad.Float64).Mul(0.7).Sin().Mul(0.3).Reshape(n, 2, 2), polygrad.Arange(0, 2*n, 1).Cast(polygrad.Float64).Cos().Reshape(n, 2)
			sum := func(f func(g, x *polygrad.Tensor) (*polygrad.Tensor, error)) polygrad.Function {
				return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
					y, err := f(args[0], args[1])
					if err != nil {
						return nil, err
					}
					return tensors{y.Mul(y).Sum(), y}, nil
				}
			}
			loop := sum(func(g, x *polygrad.Tensor) (*polygrad.Tensor, error) {
				_, kept, err := polygrad.Scan(func(c, e []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
					y := e[0].MatMul(c[0]).Add(e[1])
					return tensors{y}, tensors{y}, nil
				}, tensors{polygrad.Zeros([]int{2}, polygrad.WithDType(polygrad.Float64))}, tensors{g, x}, -1, reverse)
				if err != nil {
					return nil, err
				}
				return kept[0], nil
			})
			tree := sum(func(g, x *polygrad.Tensor) (*polygrad.Tensor, error) {
				out, err := polygrad.AssociativeScan(combine, tensors{g, x}, reverse)
				if err != nil {
					return nil, err
				}
				return out[1], nil
			})
			values, grads, err := polygrad.ValueAndGrad(tree, 0, 1)(g, x)
			if err != nil {
				t.Fatal(err)
			}
			values2, grads2, err := polygrad.ValueAndGrad(loop, 0, 1)(g, x)
			if err != nil {
				t.Fatal(err)
			}
			for i, found := range append(values, grads...) {
				if want := append(values2, grads2...)[i]; largest(t, found.Sub(want)) > 1e-12*max(1, largest(t, want)) {
					t.Errorf("%d elements, reverse %v: result %d differs by %g", n, reverse, i, largest(t, found.Sub(want)))
				}
			}
		}
	}
	x := polygrad.Zeros([]int{3})
	for text, f := range map[string]func() error{
		"AssociativeScan: combine: is nil": func() error { _, err := polygrad.AssociativeScan(nil, tensors{x}, false); return err },
		"sequences: is empty":              func() error { _, err := polygrad.AssociativeScan(combine, nil, false); return err },
		"sequences[1]: has shape [2], expected as many": func() error {
			_, err := polygrad.AssociativeScan(combine, tensors{x, polygrad.Zeros([]int{2})}, false)
			return err
		},
		"combine: returns 1 tensors, expected 2": func() error {
			_, err := polygrad.AssociativeScan(func(a, b []*polygrad.Tensor) ([]*polygrad.Tensor, error) { return a[:1], nil }, tensors{x, x}, false)
			return err
		},
		"result 0 is float32 of shape (2), expected float32 of shape () as element 0": func() error {
			_, err := polygrad.AssociativeScan(func(a, b []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
				return tensors{polygrad.Stack(tensors{a[0], b[0]})}, nil
			}, tensors{x}, false)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, expected %s", err, text)
		}
	}
}

// roots finds the square root of its argument by Newton's method, as far as it changes, and the number of steps.
func roots(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
	a := args[0]
	return polygrad.WhileLoop(func(c []*polygrad.Tensor) (*polygrad.Tensor, error) {
		return c[0].Mul(c[0]).Sub(a).Abs().Gt(1e-13).Mul(c[1].Lt(100)).Cast(polygrad.Bool), nil
	}, func(c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{c[0].Add(a.Div(c[0])).Mul(0.5), c[1].Add(1)}, nil
	}, a.Add(1), polygrad.Scalar(int32(0)))
}

func TestWhileLoop(t *testing.T) {
	out, err := roots(polygrad.Scalar(2.0))
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "root", out[0], nil, math.Sqrt2)
	numbers(t, "steps", out[1], nil, 5)
	out, err = roots(polygrad.Scalar(0.0))
	if err != nil {
		t.Fatal(err)
	}
	if steps := one32(t, out[1]); steps < 15 {
		t.Errorf("%d steps to the root of 0", steps)
	}
	// No step at all.
	out, err = polygrad.WhileLoop(func(c []*polygrad.Tensor) (*polygrad.Tensor, error) { return c[0].Gt(5), nil },
		func(c []*polygrad.Tensor) ([]*polygrad.Tensor, error) { return tensors{c[0].Mul(2)}, nil }, polygrad.Scalar(3.0))
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "no step", out[0], nil, 3)

	a := polygrad.From([]float64{4, 2, 1e4, 0.25})
	all, err := polygrad.VMap(roots, nil, nil)(a)
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "roots of a batch", all[0], nil, 2, math.Sqrt2, 100, 0.5)
	for i, n := range []float64{4, 2, 1e4, 0.25} {
		one, err := roots(polygrad.Scalar(n))
		if err != nil {
			t.Fatal(err)
		}
		steps := one32(t, one[1])
		numbers(t, "steps of a batch", all[1].Index(polygrad.At(i)), nil, float64(steps))
	}
	_, changes, err := polygrad.JVP(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		out, err := roots(args...)
		if err != nil {
			return nil, err
		}
		return out[:1], nil
	}, tensors{polygrad.Scalar(2.0)}, tensors{polygrad.Scalar(1.0)})
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "tangent", changes[0], nil, 0.5/math.Sqrt2)
	g, err := first(polygrad.Grad(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		out, err := roots(args...)
		if err != nil {
			return nil, err
		}
		return out[:1], nil
	})(polygrad.Scalar(2.0)))
	if err == nil || !strings.Contains(err.Error(), "a while loop has no gradient") {
		t.Errorf("%v %v, expected no gradient", g, err)
	}
}

func one32(t *testing.T, x *polygrad.Tensor) int32 {
	t.Helper()
	v, err := polygrad.Values[int32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// piecewise is x² sin(y) below 0 and exp(x) y above.
func piecewise(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
	x, y := args[0], args[1]
	return polygrad.Cond(x.Gt(0), func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{args[0].Exp().Mul(y)}, nil
	}, func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{args[0].Mul(args[0]).Mul(y.Sin())}, nil
	}, x)
}

func TestCond(t *testing.T) {
	value := func(x, y float64) float64 {
		if x > 0 {
			return math.Exp(x) * y
		}
		return x * x * math.Sin(y)
	}
	for _, x := range []float64{-2, 1.5} {
		const y = 0.7
		args := tensors{polygrad.Scalar(x), polygrad.Scalar(y)}
		v, err := first(piecewise(args...))
		numbers(t, "value", v, err, value(x, y))
		dx, dy, dxy := math.Exp(x)*y, math.Exp(x), math.Exp(x)
		if x <= 0 {
			dx, dy, dxy = 2*x*math.Sin(y), x*x*math.Cos(y), 2*x*math.Cos(y)
		}
		g, err := polygrad.Grad(piecewise, 0, 1)(args...)
		if err != nil {
			t.Fatal(err)
		}
		numbers(t, "by x", g[0], nil, dx)
		numbers(t, "by y", g[1], nil, dy)
		second, err := first(polygrad.Grad(polygrad.Grad(piecewise, 0), 1)(args...))
		numbers(t, "by x and y", second, err, dxy)
		_, changes, err := polygrad.JVP(piecewise, args, tensors{polygrad.Scalar(2.0), polygrad.Scalar(3.0)})
		if err != nil {
			t.Fatal(err)
		}
		numbers(t, "tangent", changes[0], nil, 2*dx+3*dy)
	}
	xs := polygrad.From([]float64{-2, 1.5, 0, -0.5})
	g, err := first(polygrad.VMap(polygrad.Grad(piecewise), []int{0, polygrad.Unmapped}, nil)(xs, polygrad.Scalar(0.7)))
	s := math.Sin(0.7)
	numbers(t, "gradients of a batch", g, err, -4*s, math.Exp(1.5)*0.7, 0, -s)
	// One predicate for all elements.
	g, err = first(polygrad.VMap(piecewise, []int{polygrad.Unmapped, 0}, nil)(polygrad.Scalar(-2.0), xs))
	numbers(t, "values of a batch", g, err, 4*math.Sin(-2), 4*math.Sin(1.5), 0, 4*math.Sin(-0.5))
}

func TestOnlyOneBranchIsComputed(t *testing.T) {
	forever := func(c []*polygrad.Tensor) (*polygrad.Tensor, error) { return c[0].Ge(0), nil }
	same := func(c []*polygrad.Tensor) ([]*polygrad.Tensor, error) { return c, nil }
	x := polygrad.Scalar(1.0)
	v, err := first(polygrad.Cond(x.Gt(0), of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Mul(5) }),
		func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return polygrad.WhileLoop(forever, same, args...)
		}, x))
	numbers(t, "the branch that ends", v, err, 5)
}

func TestSwitchForLoopAndMap(t *testing.T) {
	branches := []polygrad.Function{
		of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Mul(2) }),
		of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Mul(x) }),
		of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Neg() }),
	}
	x := polygrad.From([]float64{3, 4})
	for i, want := range map[int32][]float64{-1: {6, 8}, 0: {6, 8}, 1: {9, 16}, 2: {-3, -4}, 7: {-3, -4}} {
		v, err := first(polygrad.Switch(polygrad.Scalar(i), branches, x))
		numbers(t, "branch", v, err, want...)
	}
	byIndex := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return polygrad.Switch(args[0], branches, args[1])
	}
	v, err := first(polygrad.VMap(byIndex, nil, nil)(polygrad.From([]int32{2, 1}), x))
	numbers(t, "branches of a batch", v, err, -3, 16)

	power := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return polygrad.ForLoop(1, 5, func(i *polygrad.Tensor, c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return tensors{c[0].Mul(args[0]).Add(i.Cast(polygrad.Float64))}, nil
		}, args[0])
	}
	v, err = first(power(polygrad.Scalar(2.0)))
	numbers(t, "ForLoop", v, err, 32+8+8+6+4)
	v, err = first(polygrad.Grad(power)(polygrad.Scalar(2.0)))
	numbers(t, "gradient of ForLoop", v, err, 5*16+12+8+3)
	v, err = first(polygrad.ForLoop(5, 1, func(i *polygrad.Tensor, c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{c[0].Add(1)}, nil
	}, x))
	numbers(t, "no iteration", v, err, 3, 4)

	v, err = first(polygrad.Map(of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Mul(x).Sum() }), polygrad.From([]float64{1, 2, 3, 4}, 2, 2)))
	numbers(t, "Map", v, err, 5, 25)
}

func TestErrorsOfControlFlow(t *testing.T) {
	x := polygrad.From([]float64{1, 2, 3})
	id := of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x })
	always := func(c []*polygrad.Tensor) (*polygrad.Tensor, error) { return c[0].Gt(0), nil }
	for text, f := range map[string]func() ([]*polygrad.Tensor, error){
		"polygrad: WhileLoop: condition: is nil": func() ([]*polygrad.Tensor, error) { return polygrad.WhileLoop(nil, nil, x) },
		"polygrad: WhileLoop: the condition is bool of shape (3), expected a bool of shape ()": func() ([]*polygrad.Tensor, error) {
			return polygrad.WhileLoop(always, func(c []*polygrad.Tensor) ([]*polygrad.Tensor, error) { return c, nil }, x)
		},
		"polygrad: Cond: predicate: is float64, expected bool": func() ([]*polygrad.Tensor, error) { return polygrad.Cond(polygrad.Scalar(1.0), id, id, x) },
		"polygrad: Cond: branch 1 returns float64 of shape () as result 0, and branch 0 float64 of shape (3)": func() ([]*polygrad.Tensor, error) {
			return polygrad.Cond(polygrad.Scalar(true), of1(func(x *polygrad.Tensor) *polygrad.Tensor { return x.Sum() }), id, x)
		},
		"polygrad: Cond: branch 0: is nil":                                                 func() ([]*polygrad.Tensor, error) { return polygrad.Cond(polygrad.Scalar(true), id, nil, x) },
		"polygrad: Cond: the index is int32 of shape (3), expected an integer of shape ()": func() ([]*polygrad.Tensor, error) { return polygrad.Cond(x.Gt(0), id, id, x) },
		"polygrad: Switch: branches: none":                                                 func() ([]*polygrad.Tensor, error) { return polygrad.Switch(polygrad.Scalar(int32(1)), nil, x) },
		"polygrad: Map: f: is nil":                                                         func() ([]*polygrad.Tensor, error) { return polygrad.Map(nil, x) },
		"polygrad: ForLoop: step: is nil":                                                  func() ([]*polygrad.Tensor, error) { return polygrad.ForLoop(0, 3, nil, x) },
	} {
		if _, err := f(); err == nil || !strings.HasPrefix(err.Error(), text) {
			t.Errorf("%v, expected %s", err, text)
		}
	}
}

// A sum of the step that another one needs is not there when operands are packed for it.
func TestJacobiansOfNormalizingLoops(t *testing.T) {
	normalized := func(x *polygrad.Tensor) *polygrad.Tensor { return x.Div(x.Square().Sum().Add(1)) }
	loop := func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return polygrad.ForLoop(0, 2, func(i *polygrad.Tensor, c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return tensors{normalized(c[0]).Mul(0.4).Add(args[0].Mul(i))}, nil
		}, args[0])
	}
	unrolled := of1(func(x *polygrad.Tensor) *polygrad.Tensor {
		c := normalized(x).Mul(0.4)
		return normalized(c).Mul(0.4).Add(x)
	})
	for _, n := range []int{2, 4, 7, 8, 9, 16, 33} {
		x := polygrad.Arange(0, 2*n, 1).Cast(polygrad.Float64).Sin().Reshape(2, n)
		want, err := first(polygrad.VMap(polygrad.JacRev(unrolled), nil, nil)(x))
		if err != nil {
			t.Fatal(err)
		}
		expected, err := polygrad.Values[float64](want)
		if err != nil {
			t.Fatal(err)
		}
		for name, jacobian := range map[string]polygrad.Function{"JacRev": polygrad.JacRev(loop), "JacFwd": polygrad.JacFwd(loop)} {
			got, err := first(polygrad.VMap(jacobian, nil, nil)(x))
			numbers(t, name, got, err, expected...)
		}
	}
}

// collatz counts the steps of n to 1: of n/2 if n is even, else of 3n + 1.
func collatz(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
	out, err := polygrad.WhileLoop(func(c []*polygrad.Tensor) (*polygrad.Tensor, error) { return c[0].Ne(int32(1)), nil },
		func(c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			even := c[0].Mod(int32(2)).Eq(int32(0))
			return tensors{even.Where(c[0].FloorDiv(int32(2)), c[0].Mul(int32(3)).Add(int32(1))), c[1].Add(int32(1))}, nil
		}, args[0], polygrad.Scalar(int32(0)))
	if err != nil {
		return nil, err
	}
	return out[1:], nil
}

// While loops of a few numbers run inside a kernel, side by side in a batch: each ends when its own condition says so, also after more
// iterations than one launch does, and the first before any.
func TestWhileLoopsInKernels(t *testing.T) {
	for _, n := range []int{1, 3, 16, 17, 100, 1001} {
		starts, want := make([]int32, n), make([]float64, n)
		for i := range starts {
			starts[i] = int32(i*7 + 1)
			for k := int(starts[i]); k != 1; want[i]++ {
				if k%2 == 0 {
					k /= 2
				} else {
					k = 3*k + 1
				}
			}
		}
		out, err := first(polygrad.VMap(collatz, nil, nil)(polygrad.From(starts)))
		numbers(t, fmt.Sprintf("%d side by side", n), out.Cast(polygrad.Float64), err, want...)
	}
	out, err := first(collatz(polygrad.Scalar(int32(77031)))) // the longest one below 100,000
	numbers(t, "one", out.Cast(polygrad.Float64), err, 350)

	// Of these, each number changes until all have ended.
	x := polygrad.From([]float64{1, 5, 2500, 3})
	all, err := polygrad.WhileLoop(func(c []*polygrad.Tensor) (*polygrad.Tensor, error) { return c[0].Gt(0.0).Any(), nil },
		func(c []*polygrad.Tensor) ([]*polygrad.Tensor, error) { return tensors{c[0].Sub(1.0)}, nil }, x)
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, "one condition", all[0], nil, -2499, -2495, 0, -2497)

	// A state that is too large for registers, in a loop in a loop, and what the loops keep.
	m := polygrad.Eye(30).Mul(0.5).Add(0.01)
	halved := func(v *polygrad.Tensor) (*polygrad.Tensor, error) {
		out, err := polygrad.WhileLoop(func(c []*polygrad.Tensor) (*polygrad.Tensor, error) { return c[0].Square().Sum().Gt(1e-6), nil },
			func(c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
				return tensors{m.MatMul(c[0]), c[1].Add(1.0)}, nil
			}, v, polygrad.Scalar(0.0))
		if err != nil {
			return nil, err
		}
		return out[1], nil
	}
	last, kept, err := polygrad.Scan(func(carry, elements []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
		n, err := halved(polygrad.Full([]int{30}, 1.0, polygrad.WithDType(polygrad.Float64)).Mul(elements[0]))
		return tensors{carry[0].Add(n)}, tensors{n}, err
	}, tensors{polygrad.Scalar(0.0)}, tensors{polygrad.From([]float64{0, 1, 1e3, 1e-5})}, -1, false)
	if err != nil {
		t.Fatal(err)
	}
	steps := func(start float64) (n float64) {
		for v := start; 30*v*v > 1e-6; n++ {
			v *= 0.5 + 0.3
		}
		return n
	}
	want := []float64{steps(0), steps(1), steps(1e3), steps(1e-5)}
	numbers(t, "steps of each", kept[0], nil, want...)
	numbers(t, "all steps", last[0], nil, want[0]+want[1]+want[2]+want[3])
}

// A loop of many small steps is one kernel that is launched several times: each launch goes on where the last one has ended.
func TestLongLoops(t *testing.T) {
	for _, n := range []int{1<<23 + 1, 9_999_999} {
		v, err := first(polygrad.ForLoop(0, n, func(i *polygrad.Tensor, c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return tensors{c[0].Mul(3).Add(i)}, nil
		}, polygrad.Scalar(int32(1))))
		want := int32(1)
		for i := range n {
			want = want*3 + int32(i)
		}
		numbers(t, fmt.Sprintf("%d steps", n), v, err, float64(want))
	}
	const n = 6_000_000
	_, kept, err := polygrad.Scan(func(c, x []*polygrad.Tensor) (next, kept []*polygrad.Tensor, err error) {
		y := c[0].Mul(3).Add(x[0])
		return tensors{y}, tensors{y, c[0]}, nil
	}, tensors{polygrad.Scalar(int32(1))}, tensors{polygrad.Arange(0, n, 1)}, -1, true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := polygrad.Values[int32](kept[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, want := n-1, int32(1); i >= 0; i-- {
		if want = want*3 + int32(i); got[i] != want {
			t.Fatalf("element %d of a reverse scan is %d, expected %d", i, got[i], want)
		}
	}
	// State in memory, as a step turns it.
	const size, steps = 1000, 20_011
	state := make([]int32, size)
	v, err := first(polygrad.ForLoop(0, steps, func(i *polygrad.Tensor, c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{c[0].Flip(0).Mul(3).Add(i).Add(polygrad.Arange(0, size, 1))}, nil
	}, polygrad.From(state)))
	want := make([]float64, size)
	next := make([]int32, size)
	for i := range steps {
		for j := range next {
			next[j] = state[size-1-j]*3 + int32(i+j)
		}
		copy(state, next)
	}
	for j, x := range state {
		want[j] = float64(x)
	}
	numbers(t, "loops over elements", v, err, want...)
}

// A context of Go ends a loop in a kernel, and one of several kernels.
func TestLoopsAreInterrupted(t *testing.T) {
	for _, size := range []int{1, 300} {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		polygrad.SetPoll(func() bool { return ctx.Err() != nil })
		v, err := polygrad.ForLoop(0, math.MaxInt32, func(i *polygrad.Tensor, c []*polygrad.Tensor) ([]*polygrad.Tensor, error) {
			return tensors{c[0].MatMul(c[0]).Sin()}, nil
		}, polygrad.Ones([]int{size, size}))
		if err == nil {
			err = v[0].Realize()
		}
		polygrad.SetPoll(nil)
		cancel()
		if !errors.Is(err, polygrad.ErrInterrupted) {
			t.Errorf("a loop over matrices of %d: %v, expected ErrInterrupted", size, err)
		}
	}
}
