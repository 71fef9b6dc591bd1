package exec_test

import (
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/lower"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

// TestWorkIsLinear: running reductions, sorts, selections, scattered values and what is made of them, and their gradients, take a number
// of operations and of bytes in proportion to the elements: no kernel compares all elements with all places.
func TestWorkIsLinear(t *testing.T) {
	const n, rows = 2048, 2
	most := map[string]int64{"sort": 1200, "argsort": 1200, "scattered products": 1200} // operations for an element; others below
	for name, build := range map[string]func(m model, x *uop.UOp) *uop.UOp{
		"cumsum":       func(m model, x *uop.UOp) *uop.UOp { return m.ok(tensor.CumSum(x, 1)) },
		"cumprod":      func(m model, x *uop.UOp) *uop.UOp { return m.ok(tensor.CumProd(x, 0)) },
		"logcumsumexp": func(m model, x *uop.UOp) *uop.UOp { return m.ok(tensor.LogCumSumExp(x, 1)) },
		"cummax":       func(m model, x *uop.UOp) *uop.UOp { v, _, err := tensor.CumMax(x, 1); return m.ok(v, err) },
		"cummin at":    func(m model, x *uop.UOp) *uop.UOp { _, at, err := tensor.CumMin(x, 1); return m.ok(at, err) },
		"sort":         func(m model, x *uop.UOp) *uop.UOp { v, _, err := tensor.Sort(x, 1, false); return m.ok(v, err) },
		"argsort":      func(m model, x *uop.UOp) *uop.UOp { _, at, err := tensor.Sort(x, 1, true); return m.ok(at, err) },
		"topk":         func(m model, x *uop.UOp) *uop.UOp { v, _, err := tensor.TopK(x, 5, 1, true); return m.ok(v, err) },
		"scatter": func(m model, x *uop.UOp) *uop.UOp {
			return m.ok(tensor.Scatter(m.in(rows, n), 1, m.index(rows, n), x))
		},
		"scatter_reduce": func(m model, x *uop.UOp) *uop.UOp {
			return m.ok(tensor.ScatterReduce(x, 1, m.index(rows, n), x, tensor.ScatterMax, false))
		},
		"scattered products": func(m model, x *uop.UOp) *uop.UOp {
			return m.ok(tensor.ScatterReduce(m.in(rows, n), 1, m.index(rows, n), x, tensor.ScatterProd, true))
		},
		"setitem": func(m model, x *uop.UOp) *uop.UOp {
			return m.ok(tensor.SetItem(m.in(rows, n), m.ok(tensor.Sum(x, []int{0}, false)), tensor.At(1), tensor.Take(m.index(n))))
		},
		"masked_select": func(m model, x *uop.UOp) *uop.UOp {
			return m.ok(tensor.MaskedSelect(x, m.ok(tensor.Gt(x, m.in(rows, n))), n/2))
		},
		"gather":       func(m model, x *uop.UOp) *uop.UOp { return m.ok(tensor.Gather(x, 1, m.index(rows, n))) },
		"index_select": func(m model, x *uop.UOp) *uop.UOp { return m.ok(tensor.IndexSelect(x, 1, m.index(n))) },
		"searchsorted": func(m model, x *uop.UOp) *uop.UOp { return m.ok(tensor.SearchSorted(m.in(n), x, true)) },
		"isin":         func(m model, x *uop.UOp) *uop.UOp { return m.ok(tensor.IsIn(x, m.in(n))) },
		"bincount": func(m model, x *uop.UOp) *uop.UOp {
			return m.ok(tensor.BinCount(m.index(rows, n), x, n))
		},
		"histogram": func(m model, x *uop.UOp) *uop.UOp {
			counts, _, err := tensor.Histogram(x, n, nil, nil)
			return m.ok(counts, err)
		},
		"unique": func(m model, x *uop.UOp) *uop.UOp {
			order := m.ok(tensor.Order(x))
			v, _, _, err := tensor.Unique(x, order, m.ok(tensor.Distinct(x, order)), n)
			return m.ok(v, err)
		},
		"cross entropy of classes": func(m model, x *uop.UOp) *uop.UOp {
			return m.ok(tensor.NLLLoss(x, m.index(rows), nil, nil, tensor.ReduceMean))
		},
		"nonzero": func(m model, x *uop.UOp) *uop.UOp { return m.ok(tensor.NonZero(x, n/2)) },
	} {
		t.Run(name, func(t *testing.T) {
			m := model{t, symbolic.NewGraph()}
			x := m.in(rows, n)
			y := build(m, x)
			wanted := []*uop.UOp{y}
			if y.DType.IsFloat() {
				grads, err := gradient.Of(m.ok(tensor.Sum(m.ok(tensor.Mul(y, y)), nil, false)), []*uop.UOp{x}, nil)
				if err != nil {
					t.Fatal(err)
				}
				wanted = append(wanted, grads...)
			}
			asts, err := exec.Schedule(m.g.Sink(nil, m.stores(wanted...)...))
			if err != nil {
				t.Fatal(err)
			}
			var all lower.Estimates
			for _, ast := range asts {
				p, err := lower.Lower(ast, lower.Native())
				if err != nil {
					t.Fatal(err)
				}
				e := p.Estimate()
				all.Ops, all.Loads = all.Ops+e.Ops, all.Loads+e.Loads
			}
			ops := max(most[name], 300)
			if have := all.Ops / (rows * n); have > ops {
				t.Errorf("%d operations for an element, expected at most %d", have, ops)
			}
			if have := all.Loads / (rows * n); have > 1200 {
				t.Errorf("%d bytes for an element, expected at most 1200", have)
			}
		})
	}
}

// index is a vector or matrix of positions.
func (m model) index(shape ...int64) *uop.UOp {
	s := uop.ShapeOf(shape...)
	return m.g.NewBuffer(tensor.DeviceName, s.MaxNumel(), uop.Int32).Reshape(s)
}
