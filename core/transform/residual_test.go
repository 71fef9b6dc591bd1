package transform

import (
	"slices"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// product is x (n) times w (n, n).
func product(x, w *uop.UOp) *uop.UOp {
	n := w.Shape()[0]
	return x.Reshape(append(uop.ShapeOf(1), n)).Expand(w.Shape()).Mul(w.Permute([]int{1, 0})).ReduceAxes(uop.Add, 1).Reshape(append(uop.ShapeOf(), n))
}

// What is cheap for its size is computed again, and so is the inside of a checkpoint; the rest is stored, as a sum if it is only used in one.
func TestResiduals(t *testing.T) {
	g := symbolic.NewGraph()
	buffer := func(n ...int64) *uop.UOp {
		return g.NewBuffer("CPU", uop.ShapeOf(n...).MaxNumel(), uop.Float32).Reshape(uop.ShapeOf(n...))
	}
	for _, c := range []struct {
		name   string
		n      int64
		policy string // of a checkpoint, none if empty
		stored int
		sums   int // of the loop backwards: those of the gradients of carry and weights, and what is computed again
	}{
		{"products of small matrices", 16, "", 0, 3},
		{"products", 64, "", 1, 1},
		{"products in a checkpoint", 64, "nothing_saveable", 1, 3},
		{"products in a checkpoint that stores them", 64, "dots_saveable", 3, 1},
	} {
		h, x, w := buffer(c.n), buffer(5, c.n), buffer(c.n, c.n)
		carry, element, weights := Placeholder(h, h.DType, h.Shape()), Placeholder(h, h.DType, h.Shape()), Placeholder(w, w.DType, w.Shape())
		body := func(carry, element, weights *uop.UOp) *uop.UOp {
			return product(carry, weights).Add(product(element, weights)).Sin()
		}
		step := Step{Carry: []*uop.UOp{carry}, Elements: []*uop.UOp{element}, Reads: []*uop.UOp{weights}, Next: []*uop.UOp{body(carry, element, weights)}}
		if c.policy != "" {
			inputs := []*uop.UOp{Placeholder(h, h.DType, h.Shape()), Placeholder(h, h.DType, h.Shape()), Placeholder(w, w.DType, w.Shape())}
			next, err := Checkpoint(Func{inputs, []*uop.UOp{body(inputs[0], inputs[1], inputs[2])}}, c.policy, step.inputs())
			if err != nil {
				t.Fatal(err)
			}
			step.Next = next
		}
		if stored := residuals(&step); len(stored) != c.stored {
			t.Errorf("%s: %d residuals, expected %d: %v", c.name, len(stored), c.stored, stored)
		}
		last := (&scan{step: step, length: 5}).run
		results, _ := last([]*uop.UOp{h}, []*uop.UOp{x}, []*uop.UOp{w})
		grads, err := gradient.Of(results[0], []*uop.UOp{h, w}, results[0])
		if err != nil {
			t.Fatal(err)
		}
		forward := results[0].Toposort()
		sums := 0
		for _, u := range g.Sink(nil, grads...).Toposort() {
			if u.Op == uop.ReduceAxis && u.Src[0].Size() >= c.n*c.n && !slices.Contains(forward, u) {
				sums++
			}
		}
		if sums != c.sums {
			t.Errorf("%s: the loop backwards has %d sums, expected %d", c.name, sums, c.sums)
		}
	}
}
