package polygrad

import (
	"math"
	"testing"
)

// Expressions whose operands are the same tensor keep NaN and infinities, as those of different tensors do.
func TestEqualOperandsKeepNaN(t *testing.T) {
	for _, dt := range []DType{"float16", "bfloat16", Float32, Float64} {
		x := From([]float64{2, math.Inf(1), math.Inf(-1), math.NaN()}).Cast(dt)
		y := From([]float64{2, math.Inf(1), math.Inf(-1), math.NaN()}).Cast(dt)
		zero := From([]float64{0, 0, 0, 0}).Cast(dt)
		for _, v := range []*Tensor{x, y, zero} {
			if err := v.Realize(); err != nil {
				t.Fatal(err)
			}
		}
		for name, c := range map[string][2]*Tensor{
			"x-x":         {x.Sub(x), x.Sub(y)},
			"x*0":         {x.Mul(0), x.Mul(zero)},
			"x/x":         {x.Div(x), x.Div(y)},
			"x*x/x":       {x.Mul(x).Div(x), x.Mul(y).Div(y)},
			"2x-x":        {x.Mul(2).Sub(x), y.Mul(2).Sub(x)},
			"(x+1)-x":     {x.Add(1).Sub(x), y.Add(1).Sub(x)},
			"(x+x)+x*-3":  {x.Add(x).Add(x.Mul(-3)), y.Add(x).Add(y.Mul(-3))},
			"x*2+x*-2":    {x.Mul(2).Add(x.Mul(-2)), y.Mul(2).Add(x.Mul(-2))},
			"x*2+x*3":     {x.Mul(2).Add(x.Mul(3)), y.Mul(2).Add(x.Mul(3))},
			"sum of x-x":  {x.Sub(x).Sum(), x.Sub(y).Sum()},
			"relu(x)-max": {x.ReLU().Sub(x.Maximum(0)), x.ReLU().Sub(y.Maximum(0))},
		} {
			got, err := Values[float64](c[0].Cast(Float64))
			if err != nil {
				t.Fatal(err)
			}
			want, err := Values[float64](c[1].Cast(Float64))
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
					t.Errorf("%s of %s: %v, want %v", name, dt, got, want)
					break
				}
			}
		}
	}
}

// The bounds of a float do not say whether it is NaN: a constant that bounds it is not the result.
func TestMaximumOfInfiniteConstantKeepsNaN(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, dt := range []DType{"float16", "bfloat16", Float32, Float64} {
		x := From([]float64{nan, 1, inf, -inf}).Cast(dt)
		for name, c := range map[string]struct {
			got  *Tensor
			want []float64
		}{
			"maximum(inf)":          {x.Maximum(inf), []float64{nan, inf, inf, inf}},
			"maximum(-inf)":         {x.Maximum(-inf), []float64{nan, 1, inf, -inf}},
			"minimum(inf)":          {x.Minimum(inf), []float64{nan, 1, inf, -inf}},
			"minimum(-inf)":         {x.Minimum(-inf), []float64{nan, -inf, -inf, -inf}},
			"minimum(3) maximum(5)": {x.Minimum(3).Maximum(5), []float64{nan, 5, 5, 5}},
		} {
			got, err := Values[float64](c.got.Cast(Float64))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got[i] != want && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
					t.Errorf("%s of %s: %v, want %v", name, dt, got, c.want)
					break
				}
			}
		}
	}
}
