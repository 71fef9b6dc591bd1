package polygrad_test

import (
	"math/cmplx"
	"strings"
	"testing"

	"polygrad"
)

func TestComplexTensors(t *testing.T) {
	data := []complex128{1 + 2i, 3 - 1i, -2}
	x := polygrad.From(data)
	y := x.Mul(2i).Add(x.Exp()).Sub(x.Conj())
	got, err := polygrad.Values[complex128](y)
	if err != nil {
		t.Fatal(err)
	}
	for i, z := range data {
		if want := z*2i + cmplx.Exp(z) - cmplx.Conj(z); cmplx.Abs(got[i]-want) > 1e-14*cmplx.Abs(want) {
			t.Errorf("element %d is %v, expected %v", i, got[i], want)
		}
	}
	parts, err := polygrad.Values[float64](x.Imag())
	if err != nil || parts[0] != 2 || parts[1] != -1 || parts[2] != 0 {
		t.Errorf("imaginary parts are %v, %v", parts, err)
	}
	narrow := polygrad.From([]complex64{1i, 2})
	if d := narrow.Mul(1.5).DType(); d != polygrad.Complex64 {
		t.Errorf("complex64 times a number is %s", d)
	}
	if err := narrow.Assign(3 - 1i).Err(); err != nil {
		t.Fatal(err)
	}
	if v, err := polygrad.Values[complex64](narrow); err != nil || v[0] != 3-1i || v[1] != 3-1i {
		t.Errorf("assigned %v, %v", v, err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{x.Lt(x).Err(), "complex numbers have no order"},
		{x.Max().Err(), "complex numbers have no order"},
		{x.Cast(polygrad.Float32).Err(), "has no imaginary part"},
		{polygrad.From([]float32{1}).Assign(1i).Err(), "expected a number of the tensor's float32"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, expected %q", c.err, c.want)
		}
	}
	if _, err := x.Sum().Item(); err == nil {
		t.Error("Item of a complex tensor is no error")
	}
}
