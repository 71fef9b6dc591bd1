package exec

import (
	"strings"
	"testing"

	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/transform"
	"polygrad/core/uop"
)

// TestKernelsOfGPUsRunFewIterationsInOrder: an invocation is slow, so long sorts and running sums are many short ones.
func TestKernelsOfGPUsRunFewIterationsInOrder(t *testing.T) {
	const most = 64
	g := symbolic.NewGraph()
	long := g.NewBuffer("CPU", 1_000_003, uop.Float32)
	rows := g.NewBuffer("CPU", 3*5000, uop.Float32).Reshape(uop.ShapeOf(3, 5000))
	sorted := func(x *uop.UOp, dim int) (out []*uop.UOp) {
		values, at, err := tensor.Sort(x, dim, true)
		if err != nil {
			t.Fatal(err)
		}
		return []*uop.UOp{values, at}
	}
	sum := func(x *uop.UOp, dim int) []*uop.UOp {
		y, err := tensor.CumSum(x, dim)
		if err != nil {
			t.Fatal(err)
		}
		return []*uop.UOp{y}
	}
	batch := func(rows *uop.UOp, f func(row *uop.UOp) []*uop.UOp) (out []*uop.UOp) {
		row := transform.Placeholder(rows, rows.DType, rows.Shape()[1:])
		found, err := transform.Batch(f(row), map[*uop.UOp]transform.Batched{row: {Node: rows, Mapped: true}}, rows.Shape()[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			out = append(out, v.Node)
		}
		return out
	}
	for name, outs := range map[string][]*uop.UOp{
		"sorts of a batch": batch(rows, func(row *uop.UOp) []*uop.UOp { return sorted(row, 0) }),
		"sort":             sorted(long, 0), "sort of rows": sorted(rows, 1), "sort of columns": sorted(rows.Permute([]int{1, 0}), 0),
		"running sum": sum(long, 0), "running sums of rows": sum(rows, 1),
	} {
		var stores []*uop.UOp
		for _, u := range outs {
			stores = append(stores, g.NewBuffer("CPU", u.Shape().MaxNumel(), u.DType).Store(u))
		}
		o := fuse.ForInvocations(fuse.Machine{Lanes: 1, Threads: 1, L1: 1 << 15, L2: 1 << 20, L3: 1 << 20})
		sink := g.Sink(nil, stores...)
		if root, _, _, err := schedule.NormalizeFor(g.Scratch(), sink, uop.Target{Sorts: uop.SortsParallel}); err != nil || len(root.Toposort()) > 4*most {
			t.Errorf("%s: the request has %d nodes (%v), expected at most %d: those of networks come later", name, len(root.Toposort()), err, 4*most)
		}
		s, _, err := portable("test", sink, &o)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range s.Kernels {
			for _, u := range k.AST.Toposort() {
				switch u.Op {
				case uop.Scatter, uop.Fetch:
					t.Errorf("%s: a kernel has a %s, whose iterations run in order", name, u.Op)
				case uop.Prefix:
					if strings.HasPrefix(name, "sort") {
						t.Errorf("%s: passes over digits, expected a network", name)
					}
					if n := u.Src[len(u.Src)-1].Src[0].Arg.(uop.Const).I(); n > most {
						t.Errorf("%s: a running reduction has %d steps, expected at most %d", name, n, most)
					}
				}
			}
		}
	}
}
