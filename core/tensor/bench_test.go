package tensor_test

import (
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// BenchmarkTrainingGraph builds forward and backward of a three-layer network, as every step of an uncompiled loop does.
func BenchmarkTrainingGraph(b *testing.B) {
	g := symbolic.NewGraph()
	leaf := func(s ...int64) T {
		sh := uop.ShapeOf(s...)
		return T{g.NewBuffer("CPU", sh.MaxNumel(), uop.Float32).Reshape(sh)}
	}
	x, y := leaf(32, 784), leaf(32)
	var params []T
	for _, s := range [][]int64{{128, 784}, {128}, {64, 128}, {64}, {10, 64}, {10}} {
		params = append(params, leaf(s...))
	}
	for b.Loop() {
		h := x
		for i := 0; i < len(params); i += 2 {
			if i > 0 {
				h = h.do(tensor.Relu)
			}
			h = must(tensor.Linear(h.UOp, params[i].UOp, params[i+1].UOp))
		}
		loss := must(tensor.CrossEntropy(h.UOp, y.UOp, 1, tensor.ReduceMean, 0))
		if _, err := gradient.Of(loss.UOp, nodes(params...), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAdd builds one node on two tensors.
func BenchmarkAdd(b *testing.B) {
	g := symbolic.NewGraph()
	x := g.NewBuffer("CPU", 1000, uop.Float32)
	y := g.NewBuffer("CPU", 1000, uop.Float32)
	for b.Loop() {
		x, _ = tensor.Add(x, y)
	}
}
