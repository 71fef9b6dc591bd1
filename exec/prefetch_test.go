package exec_test

import (
	"slices"
	"testing"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/ir"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/exec/device"
)

// nests is a device that keeps kernels as they are laid out.
type nests struct {
	everyChoice
	made []*ir.Kernel
}

func (d *nests) Compile(progs []*lower.Program) ([]device.Kernel, error) {
	for _, p := range progs {
		k, err := nest.Compile(p.Name, p.Linear, d.m)
		if err != nil {
			return nil, err
		}
		d.made = append(d.made, k)
	}
	return make([]device.Kernel, len(progs)), nil
}

func fetches(b *ir.Block) bool {
	return slices.ContainsFunc(b.Items, func(i ir.Item) bool { return i.Prefetch != nil || i.Loop != nil && fetches(i.Loop.Body) })
}

// TestLargeEpilogueOperandsArePrefetched compiles products with an operand of the epilogue: it is prefetched if it is larger than L2.
func TestLargeEpilogueOperandsArePrefetched(t *testing.T) {
	for _, c := range []struct {
		rows int64
		want bool
	}{{512, true}, {64, false}} {
		v := func(in func(...int64) *uop.UOp) *uop.UOp {
			return must(tensor.Add(must(tensor.MatMul(in(c.rows, 80), in(80, 64))), in(c.rows, 64)))
		}
		if got := prefetches(t, 1, v); got != c.want {
			t.Errorf("%d rows: fetching is %v, expected %v", c.rows, got, c.want)
		}
	}
}

// TestRowsOfTheNextTileArePrefetched compiles convolutions, whose tiles read some bytes of the rows of all channels: those of the next tile are
// prefetched if the images are larger than L2, and L2 holds what two tiles read.
func TestRowsOfTheNextTileArePrefetched(t *testing.T) {
	for _, c := range []struct {
		channels, length int64
		want             bool
	}{{32, 2000, true}, {32, 200, false}, {4000, 2000, false}} {
		v := func(in func(...int64) *uop.UOp) *uop.UOp {
			return must(tensor.Conv(in(1, c.channels, c.length), in(24, c.channels, 5), nil, 1, tensor.Window{}))
		}
		if got := prefetches(t, 1, v); got != c.want {
			t.Errorf("%d channels of %d: fetching is %v, expected %v", c.channels, c.length, got, c.want)
		}
	}
}

// TestBucketsArePrefetched compiles radix sorts: an element is stored behind the others of its digit, in a cache line that is prefetched if L2 may
// not hold the row.
func TestBucketsArePrefetched(t *testing.T) {
	for _, c := range []struct {
		length int64
		want   bool
	}{{1 << 17, true}, {1 << 12, false}} {
		v := func(in func(...int64) *uop.UOp) *uop.UOp {
			_, at, err := tensor.Sort(in(c.length), 0, false)
			return must(at, err)
		}
		if got := prefetches(t, 0, v); got != c.want {
			t.Errorf("a row of %d: fetching is %v, expected %v", c.length, got, c.want)
		}
	}
}

// prefetches reports whether a kernel of a value prefetches, with an L2 of 100 KiB. The value has so many kernels, any number if 0.
func prefetches(t *testing.T, kernels int, of func(in func(...int64) *uop.UOp) *uop.UOp) bool {
	t.Helper()
	m := ir.AVX512
	m.L2, m.Stream = 100<<10, 8<<20
	d := &nests{everyChoice: everyChoice{t: t, m: m, target: lower.Native()}}
	g := symbolic.NewGraph()
	v := of(func(dims ...int64) *uop.UOp {
		s := uop.ShapeOf(dims...)
		return g.NewBuffer("CPU", s.Numel().N, uop.Float32).Reshape(s)
	})
	n := v.Shape().Numel().N
	out := g.NewBuffer("CPU", n, v.DType)
	if _, err := exec.New(d).Compile(g.Sink(nil, out.Store(v.Reshape(uop.ShapeOf(n))))); err != nil {
		t.Fatal(err)
	}
	if kernels > 0 && len(d.made) != kernels {
		t.Fatalf("%d kernels, expected %d", len(d.made), kernels)
	}
	return slices.ContainsFunc(d.made, func(k *ir.Kernel) bool { return fetches(k.Root) })
}
