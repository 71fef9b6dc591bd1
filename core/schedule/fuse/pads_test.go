package fuse_test

import (
	"testing"

	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func (g graph) ok(u *uop.UOp, err error) *uop.UOp {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
	return u
}

// conv is a convolution of images, padded by one, with windows of 3x3.
func (g graph) conv(x *uop.UOp, out, in int64) *uop.UOp {
	g.Helper()
	one := [][2]int64{{1, 1}, {1, 1}}
	return g.ok(tensor.Conv(x, g.in(out, in, 3, 3), nil, 1, tensor.Window{Padding: one}))
}

// TestNestedPads: values that are stored need others that are stored too; each product stays one, and one kernel.
func TestNestedPads(t *testing.T) {
	g := newGraph(t)
	first := g.ok(tensor.Relu(g.conv(g.in(2, 8, 12, 12), 8, 8)))
	second := g.ok(tensor.Relu(g.conv(first, 8, 8)))
	wide := second.Pad([]uop.Pair{{}, {}, {Lo: uop.N(2), Hi: uop.N(2)}, {Lo: uop.N(2), Hi: uop.N(2)}})
	root, _, _, err := schedule.Normalize(symbolic.NewGraph(), g.Sink(nil, second.F(uop.Contiguous, nil, nil), wide.F(uop.Contiguous, nil, nil)))
	if err != nil {
		t.Fatal(err)
	}
	products, pads := 0, 0
	for _, u := range fuse.StorePads(root).Toposort() {
		switch {
		case u.Op == uop.ReduceAxis:
			products++
		case u.Op == uop.Contiguous && u.Src[0].Op == uop.Pad && fuse.Ordered(u.Src[0].Src[0]).Op == uop.Contiguous:
			pads++
		}
	}
	if products != 2 || pads != 2 {
		t.Errorf("%d products and %d stored pads of stored values, expected 2 and 2", products, pads)
	}
}

// TestPadOfIntegers: products of integers are stored before they are padded, as those of floats are.
func TestPadOfIntegers(t *testing.T) {
	for _, dt := range []*uop.DType{uop.Float32, uop.Int32} {
		g := newGraph(t)
		a, b := g.ok(tensor.Cast(g.in(64, 65), dt)), g.ok(tensor.Cast(g.in(65, 64), dt))
		pad := g.ok(tensor.MatMul(a, b)).Pad([]uop.Pair{{Hi: uop.N(2)}, {Hi: uop.N(2)}})
		root, _, _, err := schedule.Normalize(symbolic.NewGraph(), g.Sink(nil, pad.F(uop.Contiguous, nil, nil)))
		if err != nil {
			t.Fatal(err)
		}
		stored := 0
		for _, u := range fuse.StorePads(root).Toposort() {
			if u.Op == uop.Pad && fuse.Ordered(u.Src[0]).Op == uop.Contiguous {
				stored++
			}
		}
		if stored != 1 {
			t.Errorf("%s: %d padded products are stored, expected 1", dt, stored)
		}
	}
}
