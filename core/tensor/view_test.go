package tensor

import (
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

func TestIsView(t *testing.T) {
	g := symbolic.NewGraph()
	base := g.NewBuffer(DeviceName, 30, uop.Float32).Reshape(uop.ShapeOf(5, 6))
	first := func(axis int) *uop.UOp { return shrinkAxis(base, axis, uop.N(0), uop.N(1)) }
	for name, c := range map[string]struct {
		x    *uop.UOp
		want bool
	}{
		"itself":             {base, true},
		"permuted":           {permute(base, []int{1, 0}), true},
		"reshaped":           {dims(permute(base, []int{1, 0}), 10, 3), true},
		"flipped":            {flip(base, 0), true},
		"part":               {first(1), true},
		"detached":           {detach(first(0)), true},
		"bits":               {bitcast(base, uop.Int32), true},
		"smaller bits":       {bitcast(base, uop.Uint8), false},
		"every second":       {everyNth(base, []int64{2, 4}), true},
		"diagonal":           {diagonal(base, 1, 0, 1), true},
		"lower diagonal":     {diagonal(base, -2, 1, 0), true},
		"padded":             {padAxis(base, 0, 1, 1, 0), false},
		"padded and split":   {dims(padAxis(base, 1, 0, 2, 0), 5, 2, 4), false},
		"padded, most cut":   {shrinkAxis(dims(padAxis(base, 1, 0, 2, 0), 5, 2, 4), 2, uop.N(0), uop.N(3)), false},
		"expanded":           {expand(first(0), uop.ShapeOf(5, 6)), false},
		"computed":           {add(base, 1), false},
		"contiguous part":    {first(1).ContiguousOp(), false},
		"of something other": {g.NewBuffer(DeviceName, 30, uop.Float32).Reshape(uop.ShapeOf(5, 6)), false},
	} {
		if got, err := IsView(c.x, base); got != c.want || err != nil {
			t.Errorf("%s: IsView = %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func TestSetViewErrors(t *testing.T) {
	g := symbolic.NewGraph()
	base := g.NewBuffer(DeviceName, 6, uop.Float32).Reshape(uop.ShapeOf(2, 3))
	row := shrinkAxis(base, 0, uop.N(0), uop.N(1))
	if _, err := SetView(add(base, 1), base, base); err == nil {
		t.Error("SetView took what is no view")
	}
	if _, err := SetView(row, base, base); err == nil {
		t.Error("SetView took a value of shape (2,3) for a view of shape (1,3)")
	}
	if _, err := AssignView(add(row, 1), row); err == nil {
		t.Error("AssignView took what is no view of a buffer")
	}
	if r, err := SetView(row, base, row); err != nil || !r.Shape().Equal(base.Shape()) {
		t.Errorf("SetView = %v, %v, want a tensor of the shape of base", r, err)
	}
}
