package polygrad_test

import (
	"fmt"
	"testing"

	"polygrad"
)

func TestCustomVMap(t *testing.T) {
	asked := []string{}
	f := polygrad.CustomVMap(func(a ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		return tensors{a[0].Mul(a[1]).Sum()}, nil
	}, func(size int, in []bool, a []*polygrad.Tensor) ([]*polygrad.Tensor, []bool, error) {
		asked = append(asked, fmt.Sprint(size, in))
		x, y := a[0], a[1]
		if in[0] != in[1] && in[1] {
			x, y = y, x
		}
		return tensors{x.Mul(y).Sum(polygrad.WithAxis(1)).Mul(10)}, []bool{true}, nil // 10 times, to see that it is used
	})
	x, y := polygrad.From([]float64{1, 2, 3, 4, 5, 6}, 3, 2), polygrad.From([]float64{1, 10})
	one := polygrad.From([]float64{1, 2})
	g, err := first(f(one, y))
	numbers(t, "no batch", g, err, 21)
	g, err = first(polygrad.VMap(f, []int{0, polygrad.Unmapped}, nil)(x, y))
	numbers(t, "a batch", g, err, 210, 430, 650)
	g, err = first(polygrad.VMap(f, []int{polygrad.Unmapped, 0}, nil)(y, x))
	numbers(t, "another one", g, err, 210, 430, 650)
	g, err = first(polygrad.VMap(polygrad.Grad(f), []int{0, polygrad.Unmapped}, nil)(x, y))
	numbers(t, "gradients in the batch", g, err, 1, 10, 1, 10, 1, 10)
	g, err = first(polygrad.Grad(func(a ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		out, err := polygrad.VMap(f, []int{0, polygrad.Unmapped}, nil)(a...)
		if err != nil {
			return nil, err
		}
		return tensors{out[0].Sum()}, nil
	})(x, y))
	numbers(t, "gradients of the batch", g, err, 10, 100, 10, 100, 10, 100)
	g, err = first(polygrad.VMap(func(a ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		_, changes, err := polygrad.JVP(f, a, tensors{a[0], a[1].Mul(0)})
		return changes, err
	}, []int{0, polygrad.Unmapped}, nil)(x, y))
	numbers(t, "tangents in the batch", g, err, 210, 430, 650)
	want := "[3 [true false] 3 [false true] 3 [true false] 3 [true false]]"
	if fmt.Sprint(asked) != want {
		t.Errorf("rules for %v, expected %s", asked, want)
	}
}
