package tests

import (
	"testing"
	"time"

	"polygrad"
)

// Chains of steps that read their operand in two places, and their gradients, take time in proportion to their length: the code of a value must
// not be repeated for each path to it, nor merged kernels grow with the chain.
func TestChainsCompileInLinearTime(t *testing.T) {
	const n, length = 24, 60
	rows := func(x *polygrad.Tensor, from, to int) *polygrad.Tensor {
		return x.Shrink([2]int{from, to}, [2]int{0, n})
	}
	for name, step := range map[string]func(x *polygrad.Tensor) *polygrad.Tensor{
		"transposed": func(x *polygrad.Tensor) *polygrad.Tensor { return x.T().Add(x.Mul(0.5)) },
		"halves": func(x *polygrad.Tensor) *polygrad.Tensor {
			return polygrad.Cat([]*polygrad.Tensor{rows(x, 0, 12), rows(x, 12, n).Mul(1.1)})
		},
		"rotated": func(x *polygrad.Tensor) *polygrad.Tensor {
			return polygrad.Cat([]*polygrad.Tensor{rows(x, 7, n), rows(x, 0, 7)}).Mul(1.01)
		},
		"centred": func(x *polygrad.Tensor) *polygrad.Tensor { return x.Sub(x.Mean()) },
		"rotated sum": func(x *polygrad.Tensor) *polygrad.Tensor {
			return x.Add(polygrad.Cat([]*polygrad.Tensor{rows(x, 7, n), rows(x, 0, 7)})).Mul(0.5)
		},
	} {
		x := polygrad.Ones([]int{n, n}).Contiguous()
		if err := polygrad.Realize(x); err != nil {
			t.Fatal(err)
		}
		y := x.Add(0.5)
		for range length {
			y = step(y)
		}
		start := time.Now()
		gradient := y.Mul(polygrad.Arange(0, n, 1)).Sum().Gradient([]*polygrad.Tensor{x})
		if err := polygrad.Realize(y); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := polygrad.Realize(gradient...); err != nil {
			t.Errorf("gradient of %s: %v", name, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %d steps took %v to compile", name, length, took)
		}
	}
}
