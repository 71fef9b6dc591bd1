package model

import (
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// Files have the value of a convolution, not the CUSTOM_GRADIENT that says how to differentiate it.
func TestFilesHaveNoCustomGradients(t *testing.T) {
	g := exec.NewGraph()
	leaf := func(dims ...int64) *uop.UOp {
		s := uop.ShapeOf(dims...)
		return g.NewBuffer(tensor.DeviceName, s.MaxNumel(), uop.Float32).Reshape(s)
	}
	y := must(tensor.Conv(leaf(1, 2, 5, 5), leaf(3, 2, 3, 3), nil, 1, tensor.Window{}))
	stated := func(u *uop.UOp) bool { return u.Op == uop.CustomGradient }
	if y.Find(stated) == nil {
		t.Fatal("the convolution states no gradient: the test looks at nothing")
	}
	out := g.NewBuffer(tensor.DeviceName, 27, uop.Float32)
	store := g.New(uop.Store, uop.Void, []*uop.UOp{out, y.Reshape(uop.ShapeOf(27))}, nil, nil)
	data, err := WriteIR(&Definition{Graph: g, Entries: []Entry{{EntryForward, g.Sink(nil, store)}}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := ReadIR(data)
	if err != nil {
		t.Fatal(err)
	}
	if s := d.Entries[0].Sink; s.Find(stated) != nil || s.Find(func(u *uop.UOp) bool { return u.Op == uop.ReduceAxis }) == nil {
		t.Errorf("read back: %s", s.Dump())
	}
}
