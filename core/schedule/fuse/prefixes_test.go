package fuse_test

import (
	"testing"

	"polygrad/core/schedule/fuse"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Long rows are computed in parts, by a single thread too where parts change how numbers are rounded: the sums of parts are a running reduction of
// their own.
func TestPartsOfRunningReductions(t *testing.T) {
	single := fuse.For(fuse.Machine{Lanes: 16, Threads: 1, L1: 32 << 10, L2: 1 << 20, L3: 4 << 20})
	for _, c := range []struct {
		name    string
		dtype   *uop.DType
		running func(x *uop.UOp, axis int) (*uop.UOp, error)
		options fuse.Options
		loops   int
	}{
		{"sums of floats", uop.Float32, tensor.CumSum, options, 2},
		{"sums of integers", uop.Int32, tensor.CumSum, options, 2},
		{"sums of floats by one thread", uop.Float32, tensor.CumSum, single, 2},
		{"sums of integers by one thread", uop.Int32, tensor.CumSum, single, 1},
		{"products of integers by one thread", uop.Int32, tensor.CumProd, single, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGraph(t)
			s := g.fused(c.options, g.ok(c.running(g.in(1<<20).Cast(c.dtype), 0)))
			if n := count(s, uop.Prefix); n != c.loops {
				t.Errorf("%d loops of running reductions, expected %d\n%s", n, c.loops, s.Dump())
			}
		})
	}
}
