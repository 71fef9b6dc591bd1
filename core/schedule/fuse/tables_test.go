package fuse_test

import (
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Rows of a table are looked up where they are, whatever its type.
func TestNarrowTablesAreNotCopied(t *testing.T) {
	for _, dt := range []*uop.DType{uop.Float32, uop.BFloat16, uop.Float16, uop.Int8, uop.Uint16, uop.Bool} {
		t.Run(dt.Name, func(t *testing.T) {
			g := newGraph(t)
			table := g.NewBuffer("CPU", 5000*64, dt).Reshape(uop.ShapeOf(5000, 64))
			index := g.NewBuffer("CPU", 8, uop.Int32)
			rows := g.ok(tensor.GetItem(table, tensor.Take(index)))
			g.expect(g.fused(options, rows), 1)
		})
	}
}
