package transform

import (
	"testing"

	"polygrad/core/uop"
)

// Every operation has a rule in both tables, or is listed as one of kernels.
func TestEveryOperationHasRules(t *testing.T) {
	// Operations that hold no tensor that an input could change: leaves, and LINEAR forms of them.
	for _, op := range uop.GroupAll.List() {
		kernel := kernelOps.Has(op)
		if has := jvpRules[op] != nil; has == kernel {
			t.Errorf("%s: in the table of JVP: %v, an operation of kernels: %v", op, has, kernel)
		}
		has := batchRules[op] != nil || constantOps.Has(op)
		if has == kernel {
			t.Errorf("%s: in the table of Batch or a leaf: %v, an operation of kernels: %v", op, has, kernel)
		}
	}
}

func TestErrorsOfJVP(t *testing.T) {
	g := uop.NewGraph(nil)
	x := g.NewBuffer("CPU", 3, uop.Float32)
	n := g.NewBuffer("CPU", 3, uop.Int32)
	for _, c := range []struct {
		name               string
		out, input, change *uop.UOp
		want               string
	}{
		{"another shape", x.Sin(), x, g.NewBuffer("CPU", 2, uop.Float32),
			"transform.JVP: tangents[0]: is float (2), expected float (3) as its node"},
		{"a tangent of integers", n.AddInt(1), n, n,
			"transform.JVP: tangents[0]: is int (3), expected none, as int has no tangents"},
		{"no derivative", x.Alu(uop.Tanh), x, x, "transform.JVP: TANH has no derivative (float of shape (3))"},
	} {
		if _, err := JVP([]*uop.UOp{c.out}, []*uop.UOp{c.input}, []*uop.UOp{c.change}); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, expected %s", c.name, err, c.want)
		}
	}
}

// Elements of a batch cannot write to memory that they share.
func TestBatchedWriteToSharedBuffer(t *testing.T) {
	g := uop.NewGraph(nil)
	x, shared := g.NewBuffer("CPU", 3, uop.Float32), g.NewBuffer("CPU", 3, uop.Float32)
	mapped := g.NewBuffer("CPU", 6, uop.Float32).Reshape(uop.ShapeOf(2, 3))
	_, err := Batch([]*uop.UOp{shared.AssignTo(x)}, map[*uop.UOp]Batched{x: {mapped, true}}, uop.N(2))
	if want := "transform.Batch: elements of the batch would write to the same BUFFER of shape (3)"; err == nil || err.Error() != want {
		t.Errorf("error %v, expected %s", err, want)
	}
}
