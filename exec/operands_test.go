package exec_test

import (
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec/device"
	"polygrad/exec/interp"
	"polygrad/tests/devices/nested"
	"polygrad/tests/element"
)

// gatherings are requests whose kernels would load elements one by one, with the number of kernels that they have if their operands are stored in
// order first.
var gatherings = []struct {
	name    string
	kernels int
	build   func(m model) []*uop.UOp
}{
	{"sums of windows of rolled rows", 2, func(m model) []*uop.UOp {
		x := m.ok(tensor.Roll(m.in(24, 97), []int64{3}, []int{1}))
		return m.stores(m.ok(tensor.Sum(m.ok(tensor.Unfold(x, 1, 3, 1)), []int{-1}, false)))
	}},
	{"rows of a turned table", 2, func(m model) []*uop.UOp {
		return m.stores(m.ok(tensor.IndexSelect(m.ok(tensor.Transpose(m.in(40, 24), 0, 1)), 0, m.classes(800))))
	}},
	{"gradients of rows of a turned, padded table", 0, func(m model) []*uop.UOp {
		x := m.in(70, 60)
		table := m.ok(tensor.Pad(m.ok(tensor.Transpose(m.scaled(x, 2), 0, 1)), []uop.Pair{{Hi: uop.N(6)}, {Lo: uop.N(1), Hi: uop.N(2)}}, uop.Int(0)))
		y := m.ok(tensor.IndexSelect(table, 0, m.classes(200)))
		return m.stores(m.grads(y, nil, x)[0])
	}},
	{"gradients of windows", 0, func(m model) []*uop.UOp {
		x := m.in(48, 33)
		sums := m.ok(tensor.Sum(m.ok(tensor.Unfold(x, 1, 3, 1)), []int{-1}, false))
		y := m.ok(tensor.Pad(sums, []uop.Pair{{Lo: uop.N(3)}, {Lo: uop.N(3)}}, uop.Int(0)))
		return m.stores(m.grads(m.ok(tensor.Sum(m.ok(tensor.Mul(y, y)), nil, false)), nil, x)[0])
	}},
	{"sums of flipped, joined rows", 0, func(m model) []*uop.UOp {
		x := m.ok(tensor.Flip(m.ok(tensor.Cat([]*uop.UOp{m.in(30, 40), m.in(20, 40)}, 0)), 0))
		return m.stores(m.ok(tensor.Sum(m.ok(tensor.Mul(x, m.in(50, 40))), []int{0}, false)), m.ok(tensor.Max(x, nil, false)))
	}},
	{"maxima of windows of falling columns", 0, func(m model) []*uop.UOp {
		x := m.ok(tensor.Flip(m.ok(tensor.Roll(m.ok(tensor.Transpose(m.in(64, 64), 0, 1)), []int64{5}, []int{1})), 1))
		return m.stores(m.ok(tensor.Max(m.ok(tensor.Unfold(x, 1, 4, 2)), []int{-1}, false)))
	}},
	{"factors of columns that are looked up", 2, func(m model) []*uop.UOp {
		factors := m.ok(tensor.IndexSelect(m.in(1, 40), 1, m.classes(300)))
		return m.stores(m.ok(tensor.Mul(m.in(200, 1), factors)))
	}},
	{"gradients of logarithms of sums that are looked up", 0, func(m model) []*uop.UOp {
		x := m.in(40, 96)
		y := m.ok(tensor.IndexSelect(m.ok(tensor.LogSoftmax(x, 1)), 0, m.classes(64)))
		return m.stores(m.grads(m.ok(tensor.Sum(m.ok(tensor.Mul(y, y)), nil, false)), nil, x)[0])
	}},
}

func TestOperandsAreStoredInOrder(t *testing.T) {
	for _, c := range gatherings {
		t.Run(c.name, func(t *testing.T) {
			want, _ := contents(t, interp.New(), c.build)
			for _, d := range []device.Device{nested.New(ir.AVX512), nested.New(ir.SSE4)} {
				got, kernels := contents(t, d, c.build)
				if c.kernels > 0 && kernels != c.kernels {
					t.Errorf("%s: %d kernels, expected %d", d.Name(), kernels, c.kernels)
				}
				for i := range want {
					for j := range want[i] {
						if !element.Close(want[i][j], got[i][j], 1e-4) {
							t.Fatalf("%s: buffer %d, element %d: %g, expected %g", d.Name(), i, j, got[i][j], want[i][j])
						}
					}
				}
			}
		})
	}
}
