package fuse_test

import (
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// The terms of the gradient of a large table are added to their rows, after the rest of the update is stored. Each of the few rows of a small
// table is a sum over all terms.
func TestSumsAreScattered(t *testing.T) {
	for _, c := range []struct {
		name          string
		rows          int64
		tied          bool
		kernels, sums int
	}{
		{"gradient of a table", 500, false, 2, 0},
		{"gradient and product", 500, true, 2, 1},
		{"small table", 20, false, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			must := func(u *uop.UOp, err error) *uop.UOp {
				if err != nil {
					t.Fatal(err)
				}
				return u
			}
			table, seed := g.in(c.rows, 32), g.in(40, 32)
			numbers := g.NewBuffer("CPU", 40, uop.Int32)
			y := must(tensor.Sum(must(tensor.Mul(must(tensor.Embedding(table, numbers)), seed)), nil, false))
			if c.tied {
				y = y.Add(must(tensor.Sum(must(tensor.Mul(must(tensor.MatMul(g.in(7, 32), table.Permute([]int{1, 0}))), g.in(7, c.rows))), nil, false)))
			}
			grads, err := gradient.Of(y, []*uop.UOp{table}, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := g.fused(options, table.Sub(grads[0].Mul(g.in(1).Reshape(uop.ShapeOf(1, 1)).Expand(table.Shape()))).F(uop.Contiguous, nil, nil))
			g.expect(s, c.kernels)
			if n := count(s, uop.Reduce); n != c.sums {
				t.Errorf("%d sums, expected %d", n, c.sums)
			}
		})
	}
}

// Rows of a padded table that are looked up where their terms are scattered are loads there, too.
func TestGatheredTermsAreLoads(t *testing.T) {
	g := newGraph(t)
	must := func(u *uop.UOp, err error) *uop.UOp {
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	table, numbers := g.in(500, 32), g.NewBuffer("CPU", 40, uop.Int32)
	padded := table.Pad([]uop.Pair{{Hi: uop.N(2)}, {Hi: uop.N(2)}})
	rows := must(tensor.GetItem(padded, tensor.Take(numbers)))
	grads, err := gradient.Of(must(tensor.Sum(rows.Mul(rows), nil, false)), []*uop.UOp{table}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(g.fused(options, grads[0].ContiguousOp()), uop.Reduce); n != 0 {
		t.Errorf("%d sums, expected loads", n)
	}
}
