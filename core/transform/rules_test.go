package transform

import (
	"slices"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// withoutTranspose are operations that tensors are composed of and that have no rule in the table of gradients.
var withoutTranspose = constantOps.Union(
	// of integers and bools, where nothing flows back; DETACH stops gradients
	uop.Ops(uop.Neg, uop.Sub, uop.Idiv, uop.Mod, uop.CmpEq, uop.Xor, uop.Or, uop.And, uop.Shl, uop.Shr, uop.Threefry, uop.Detach),
	// of machines: tensors have other operations in their places
	uop.Ops(uop.Fdiv, uop.Exp, uop.Cos, uop.Tanh),
	// statements, loops and sorts: a CUSTOM_GRADIENT with the rule stands before them
	uop.Ops(uop.Sink, uop.Store, uop.Assign, uop.Scatter, uop.Fetch, uop.Loops, uop.Repeat, uop.Result, uop.Sort),
)

// ruleTables are the tables of rules, and the operations that have no rule in them.
var ruleTables = []struct {
	name    string
	has     func(op uop.Op) bool
	without uop.OpSet
}{
	{"JVP", func(op uop.Op) bool { return jvpRules[op] != nil }, kernelOps},
	{"transpose", func(op uop.Op) bool { return gradient.RuleOf(op) != nil }, kernelOps.Union(withoutTranspose)},
	{"Batch", func(op uop.Op) bool { return batchRules[op] != nil }, kernelOps.Union(constantOps)},
}

// unruled are operations without a rule that are not listed so.
func unruled(has func(op uop.Op) bool, without uop.OpSet) (ops []uop.Op) {
	for _, op := range uop.GroupAll.List() {
		if !has(op) && !without.Has(op) {
			ops = append(ops, op)
		}
	}
	return ops
}

// Every operation has a rule in all tables, or is listed with the reason.
func TestEveryOperationHasRules(t *testing.T) {
	for _, table := range ruleTables {
		if ops := unruled(table.has, table.without); len(ops) > 0 {
			t.Errorf("no rule in the table of %s, and not listed: %v", table.name, ops)
		}
		for _, op := range uop.GroupAll.List() {
			// A leaf may have a rule, which is not asked for where the leaf is no input.
			if table.has(op) && table.without.Has(op) && !constantOps.Has(op) && op != uop.Reduce {
				t.Errorf("%s has a rule in the table of %s, and is listed as without", op, table.name)
			}
			// The check sees each rule that is taken out.
			if has := table.has(op); has && !table.without.Has(op) {
				lost := unruled(func(o uop.Op) bool { return o != op && table.has(o) }, table.without)
				if !slices.Equal(lost, []uop.Op{op}) {
					t.Errorf("without the rule of %s in the table of %s: %v are missing", op, table.name, lost)
				}
			}
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
