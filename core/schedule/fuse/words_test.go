package fuse_test

import (
	"testing"

	"polygrad/core/uop"
)

// Whether any, or all, of stored bools are true is reduced by words where rows begin and end with a word, and by bools elsewhere.
func TestBoolsAreReducedByWords(t *testing.T) {
	column := func(x *uop.UOp) *uop.UOp { return x.Shrink([]uop.Pair{{Hi: uop.N(64)}, {Lo: uop.N(1), Hi: uop.N(33)}}) }
	for name, test := range map[string]struct {
		of    func(g graph) *uop.UOp
		words bool
	}{
		"any of columns":      {func(g graph) *uop.UOp { return reduced(g.bools(64, 96), uop.Max, 0) }, true},
		"all of columns":      {func(g graph) *uop.UOp { return reduced(g.bools(64, 96).Not(), uop.Max, 0).Not() }, true},
		"any of rows":         {func(g graph) *uop.UOp { return reduced(g.bools(64, 96), uop.Max, 1) }, true},
		"all of rows":         {func(g graph) *uop.UOp { return reduced(g.bools(64, 96).Not(), uop.Max, 1).Not() }, true},
		"odd rows":            {func(g graph) *uop.UOp { return reduced(g.bools(64, 97), uop.Max, 0) }, false},
		"from the second one": {func(g graph) *uop.UOp { return reduced(column(g.bools(64, 96)), uop.Max, 0) }, false},
		"of comparisons":      {func(g graph) *uop.UOp { return reduced(g.in(64, 96).Ne(g.in(64, 96)), uop.Max, 0) }, false},
		"of two":              {func(g graph) *uop.UOp { return reduced(g.bools(64, 96).And(g.bools(64, 96)), uop.Max, 0) }, false},
	} {
		g := newGraph(t)
		words := false
		for _, k := range g.fused(options, test.of(g)).Kernels {
			for _, u := range k.AST.Toposort() {
				words = words || u.Op == uop.Reduce && u.DType == uop.Uint32
			}
		}
		if words != test.words {
			t.Errorf("%s: reduced by words: %v, expected %v", name, words, test.words)
		}
	}
}
