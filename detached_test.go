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

// A detached comparison, its contiguous copy and what is made of the copy are computed together.
func TestADetachedViewIsRealizedWithItsReaders(t *testing.T) {
	x := polygrad.From([]float32{6, 5, 3}, 3, 1)
	below := x.Le(x.Reshape(3, 1, 1))
	copied := below.Detach().Contiguous()
	_, at := x.Reshape(3, 1, 1).CumMin(polygrad.WithAxis(2))
	read := at.Ne(3).Maximum(copied)
	if err := polygrad.Realize(copied, read, below); err != nil {
		t.Fatal(err)
	}
	want := []bool{true, true, true, false, true, true, false, false, true}
	for what, y := range map[string]*polygrad.Tensor{"the view": below, "its copy": copied} {
		if got, err := polygrad.Values[bool](y); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v (%v), expected %v", what, got, err, want)
		}
	}
	if got, err := polygrad.Values[bool](read); err != nil || slices.Contains(got, false) {
		t.Errorf("the maximum is %v (%v), expected true everywhere", got, err)
	}
}
