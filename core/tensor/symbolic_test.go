package tensor

import (
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// The size that -1 stands for follows from a symbolic one where the others divide it, and is an error elsewhere.
func TestReshapeInfersSymbolicSizes(t *testing.T) {
	g := symbolic.NewGraph()
	n := uop.S(g.Variable("n", uop.Int(1), uop.Int(4), uop.Int32))
	x := g.NewBuffer(DeviceName, 16, uop.Float32).Reshape(uop.ShapeOf(4, 4)).Shrink([]uop.Pair{{Lo: uop.N(0), Hi: n}, {Lo: uop.N(0), Hi: uop.N(4)}})
	for _, c := range []struct {
		to   []int64
		want string
	}{{[]int64{-1, 4}, "(n,4)"}, {[]int64{4, -1}, "(4,n)"}, {[]int64{2, -1, 2}, "(2,n,2)"}, {[]int64{-1}, "(((index)(n)*4))"}, {[]int64{4, 2, -1, 4}, "error"}, {[]int64{3, -1}, "error"}} {
		r, err := Reshape(x, uop.ShapeOf(c.to...))
		if (err != nil) != (c.want == "error") {
			t.Errorf("Reshape to %v: %v", c.to, err)
		} else if err == nil && r.Shape().String() != c.want {
			t.Errorf("Reshape to %v has shape %s, want %s", c.to, r.Shape(), c.want)
		}
	}
	whole := g.NewBuffer(DeviceName, 16, uop.Float32)
	if _, err := Reshape(whole, uop.Shape{n, uop.N(-1)}); err == nil || !strings.Contains(err.Error(), "a multiple of") {
		t.Errorf("Reshape of 16 elements to (n, -1): %v, want that a multiple of n is expected", err)
	}
}
