package polygrad_test

import (
	"slices"
	"testing"

	"polygrad"
)

// x.Detach().SetRequiresGrad(true) is a new leaf, as a parameter of its own.
func TestADetachedTensorMayRequireAGradient(t *testing.T) {
	x := polygrad.From([]float32{1, 2}, 2).SetRequiresGrad(true)
	for _, y := range []*polygrad.Tensor{x.Mul(3.0), x, polygrad.From([]int32{3, 6}, 2).Cast(polygrad.Float32)} {
		d := y.Detach().SetRequiresGrad(true)
		if err := d.Mul(d).Sum().Backward().Err(); err != nil {
			t.Fatal(err)
		}
		have, err := polygrad.Values[float32](y)
		if err != nil {
			t.Fatal(err)
		}
		got, err := polygrad.Values[float32](d.Grad())
		if want := []float32{2 * have[0], 2 * have[1]}; err != nil || !slices.Equal(got, want) {
			t.Errorf("gradient %v (%v), expected %v", got, err, want)
		}
	}
	if x.Grad() != nil {
		t.Error("a gradient flowed through Detach")
	}
}
