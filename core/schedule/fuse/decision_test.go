package fuse_test

import (
	"slices"
	"strings"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/schedule/fuse"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Costs at a limit pay, costs beyond it do not.
func TestCostsAreComparedWithLimits(t *testing.T) {
	o := fuse.Options{RowBytes: 100, MinRows: 8, SmallWork: 1000, MaxBuffers: 4}
	most := fuse.Costs{RowBytes: 100, Rows: 7, Iterations: 1000, Buffers: 4, Stores: fuse.MaxEpilogueStores, Epilogue: true}
	if r := o.Judge(most); r != fuse.Pays {
		t.Fatalf("all costs at their limits: %s", r)
	}
	for _, c := range []struct {
		change func(c *fuse.Costs)
		want   fuse.Reason
	}{
		{func(c *fuse.Costs) { c.RowBytes++ }, fuse.RowTooLarge},
		{func(c *fuse.Costs) { c.Iterations++ }, fuse.FewRows},
		{func(c *fuse.Costs) { c.Iterations++; c.Rows++ }, fuse.Pays},
		{func(c *fuse.Costs) { c.RecomputeCycles++ }, fuse.Recompute},
		{func(c *fuse.Costs) { c.RecomputeCycles++; c.SavedCycles++ }, fuse.Pays},
		{func(c *fuse.Costs) { c.StallCycles++; c.RecomputeCycles++; c.SavedCycles++ }, fuse.ShortRows},
		{func(c *fuse.Costs) { c.StallCycles++ }, fuse.ShortRows},
		{func(c *fuse.Costs) { c.StallCycles++; c.SavedCycles++ }, fuse.Pays},
		{func(c *fuse.Costs) { c.Buffers++ }, fuse.TooManyBuffers},
		{func(c *fuse.Costs) { c.Stores++ }, fuse.EpilogueStores},
		{func(c *fuse.Costs) { c.Stores++; c.Epilogue = false }, fuse.Pays},
	} {
		costs := most
		if c.change(&costs); o.Judge(costs) != c.want {
			t.Errorf("%+v: %s, expected %s", costs, o.Judge(costs), c.want)
		}
	}
}

// A block has the most rows that fit twice into the limit and leave a block for each thread, fewer if those divide the rows.
func TestBlocksOfRows(t *testing.T) {
	o := fuse.Options{BlockBytes: 6400, MinBlock: 16, MinRows: 4}
	for _, c := range []struct {
		rows, rowBytes, innermost, want int64
		reason                          fuse.Reason
	}{
		{64, 100, 64, 0, fuse.FitsCache},
		{65, 100, 65, 16, fuse.Pays}, // the last block overlaps
		{256, 100, 256, 32, fuse.Pays},
		{64, 101, 64, 16, fuse.Pays},   // four blocks
		{60, 107, 60, 0, fuse.NoBlock}, // 15 rows
		{256, 200, 256, 16, fuse.Pays},
		{256, 201, 256, 0, fuse.NoBlock}, // 15 rows fit
	} {
		if n, r := o.BlockRows(c.rows, c.rowBytes, c.innermost); n != c.want || r != c.reason {
			t.Errorf("%d rows of %d bytes: blocks of %d, %s, expected %d, %s", c.rows, c.rowBytes, n, r, c.want, c.reason)
		}
	}
}

// last is the last decision of a pass.
func last(ds []fuse.Decision, pass string) *fuse.Decision {
	for _, d := range slices.Backward(ds) {
		if d.Pass == pass {
			return &d
		}
	}
	return nil
}

// decided reports whether a pass has decided something for a reason.
func decided(ds []fuse.Decision, pass string, r fuse.Reason) bool {
	return slices.ContainsFunc(ds, func(d fuse.Decision) bool { return d.Pass == pass && d.Reason == r })
}

// The maximum and the sum of a softmax join what needs them until a limit is one less than the cost.
func TestDecisionsFollowLimits(t *testing.T) {
	g := newGraph(t)
	_, ds := g.decided(options, softmax(g.in(64, 128), 1))
	d := last(ds, "producers")
	if d == nil || !d.Fused() {
		t.Fatalf("%v, expected a last decision to fuse", ds)
	}
	all := slices.Sorted(slices.Values(append(slices.Clone(d.First), d.Second...)))
	if !slices.Equal(all, []int{0, 1, 2}) {
		t.Errorf("the last decision is about %v and %v, expected all of 0, 1, 2", d.First, d.Second)
	}
	// Two kernels less read the input of 64 rows, and two values of each row are neither stored nor read (one by two kernels).
	saved := int64(0)
	for _, d := range ds {
		if d.Fused() {
			saved += d.Costs.BytesSaved
		}
	}
	if want := int64(4 * (2*64*128 + 2*64 + 3*64)); saved != want {
		t.Errorf("%d bytes are saved, expected %d", saved, want)
	}
	c := d.Costs
	if c.Rows != 64 || c.RowBytes != 128*4 || c.Iterations != 64*128 || c.Buffers != 2 || c.Stores != 1 {
		t.Errorf("costs %+v", c)
	}
	for _, x := range []struct {
		name  string
		limit func(o *fuse.Options, less int64)
		want  fuse.Reason
	}{
		{"row", func(o *fuse.Options, less int64) { o.RowBytes = c.RowBytes - less }, fuse.RowTooLarge},
		{"rows", func(o *fuse.Options, less int64) { o.MinRows, o.SmallWork = c.Rows+less, 0 }, fuse.FewRows},
		{"small work", func(o *fuse.Options, less int64) { o.MinRows, o.SmallWork = c.Rows+1, c.Iterations-less }, fuse.FewRows},
		{"buffers", func(o *fuse.Options, less int64) { o.MaxBuffers = 3 - 2*int(less) }, fuse.TooManyBuffers},
	} {
		for less := range int64(2) {
			o := options
			x.limit(&o, less)
			s, ds := g.decided(o, softmax(g.in(64, 128), 1))
			want, kernels := fuse.Pays, 1
			if less > 0 {
				want, kernels = x.want, 3
			}
			if !decided(ds, "producers", want) || len(s.Kernels) != kernels {
				t.Errorf("%s: %d kernels, %v, expected %d because one %s", x.name, len(s.Kernels), ds, kernels, want)
			}
		}
	}
}

// Each reason that does not depend on a number, in the smallest graph that has it.
func TestReasons(t *testing.T) {
	for _, c := range []struct {
		pass  string
		want  fuse.Reason
		build func(g graph) []*uop.UOp
	}{
		{"producers", fuse.Pays, func(g graph) []*uop.UOp { return []*uop.UOp{softmax(g.in(64, 128), 1)} }},
		{"producers", fuse.ShortRuns, func(g graph) []*uop.UOp { return []*uop.UOp{softmax(g.in(64, 128), 0)} }},
		{"producers", fuse.ReductionRepeated, func(g graph) []*uop.UOp {
			sums := g.in(64, 128).ReduceAxes(uop.Add, 1)
			return []*uop.UOp{sums, sums.ReduceAxes(uop.Max, 0)}
		}},
		{"producers", fuse.ShortRows, func(g graph) []*uop.UOp { return []*uop.UOp{softmax(softmax(g.in(256, 24), 1), 1)} }},
		{"producers", fuse.ConsumerContracts, func(g graph) []*uop.UOp {
			return []*uop.UOp{times(softmax(g.in(64, 32), 1), g.in(48, 32))}
		}},
		{"producers", fuse.ConsumerScatters, func(g graph) []*uop.UOp {
			table, turn := g.in(32, 500), []int{1, 0}
			taken := g.ok(tensor.Embedding(table.Permute(turn), g.NewBuffer("CPU", 40, uop.Int32)))
			each := g.in(32, 128).ReduceAxes(uop.Max, 1).Permute(turn).Expand(taken.Shape())
			grads, err := gradient.Of(g.ok(tensor.Sum(g.ok(tensor.Mul(taken, each)), nil, false)), []*uop.UOp{table}, nil)
			if err != nil {
				g.Fatal(err)
			}
			return grads
		}},
		{"epilogues", fuse.Pays, func(g graph) []*uop.UOp {
			h := times(g.in(64, 32), g.in(48, 32))
			return []*uop.UOp{h, h.Exp2()}
		}},
		{"epilogues", fuse.ContractionReduced, func(g graph) []*uop.UOp {
			h := times(g.in(64, 32), g.in(48, 32))
			return []*uop.UOp{h, h.ReduceAxes(uop.Max, 1)}
		}},
		{"epilogues", fuse.EpilogueLoops, func(g graph) []*uop.UOp {
			h := times(g.in(64, 32), g.in(48, 32))
			return []*uop.UOp{h, h.Reshape(uop.ShapeOf(64, 48, 1)).Expand(uop.ShapeOf(64, 48, 8)).Mul(g.in(64, 48, 8))}
		}},
		{"epilogues", fuse.EpilogueStores, func(g graph) []*uop.UOp {
			h := times(g.in(64, 32), g.in(48, 32))
			return []*uop.UOp{h, h.Exp2(), h.Sin()}
		}},
		{"siblings", fuse.Pays, func(g graph) []*uop.UOp {
			x := g.in(64, 128)
			return []*uop.UOp{x.Exp2(), x.Sin()}
		}},
		{"siblings", fuse.Pays, func(g graph) []*uop.UOp { // two sums of a function of all pairs
			all := uop.ShapeOf(64, 128)
			x, y := g.in(64, 1).Expand(all), g.in(1, 128).Expand(all)
			kernel := x.Sub(y).Sin()
			return []*uop.UOp{kernel.ReduceAxes(uop.Add, 1), kernel.Mul(y).ReduceAxes(uop.Add, 1)}
		}},
		{"siblings", fuse.Dependent, func(g graph) []*uop.UOp {
			return []*uop.UOp{softmax(g.in(64, 128), 0)}
		}},
		{"siblings", fuse.NothingShared, func(g graph) []*uop.UOp {
			bias := g.in(128)
			wide := bias.Reshape(uop.ShapeOf(1, 128)).Expand(uop.ShapeOf(64, 128))
			return []*uop.UOp{g.in(64, 128).Add(wide), bias.Exp2()}
		}},
		{"siblings", fuse.SiblingContracts, func(g graph) []*uop.UOp { // two sums of cheap functions of all pairs
			all := uop.ShapeOf(64, 128)
			x, y, z := g.in(64, 1).Expand(all), g.in(1, 128).Expand(all), g.in(1, 128).Expand(all)
			return []*uop.UOp{x.Mul(y).Mul(z).ReduceAxes(uop.Add, 1), x.Add(y).Mul(z).ReduceAxes(uop.Max, 1)}
		}},
	} {
		t.Run(c.pass+"/"+c.want.String(), func(t *testing.T) {
			g := newGraph(t)
			_, ds := g.decided(options, c.build(g)...)
			if !decided(ds, c.pass, c.want) {
				for _, d := range ds {
					t.Log(d.String())
				}
				t.Errorf("no decision of %s says %q", c.pass, c.want)
			}
		})
	}
}

// Random bits are computed in halves of 64 bits: a kernel of 64-bit elements, whose vectors have fewer lanes, reads them; one of 32 computes them.
func TestRandomBitsAreNotComputedInFewLanes(t *testing.T) {
	for to, kernels := range map[*uop.DType]int{uop.Int32: 1, uop.Uint64: 2} {
		g := newGraph(t)
		u, err := tensor.RandSeeded(uop.ShapeOf(1000), uop.Float32, g.NewBuffer("CPU", 2, uop.Uint32).Reshape(uop.ShapeOf(2)))
		if err != nil {
			t.Fatal(err)
		}
		s, ds := g.decided(options, u.F(uop.Contiguous, nil, nil).Cast(to))
		if many := decided(ds, "producers", fuse.Recompute); len(s.Kernels) != kernels || many != (kernels > 1) {
			t.Errorf("%s: %d kernels, too much recomputation %t, expected %d: %v", to, len(s.Kernels), many, kernels, ds)
		}
	}
}

// Nor are they in a kernel of rows, whose vectors are too few for the latency of their rounds.
func TestRandomBitsAreNotComputedInRows(t *testing.T) {
	g := newGraph(t)
	u, err := tensor.RandSeeded(uop.ShapeOf(1000, 1000), uop.Float32, g.NewBuffer("CPU", 3, uop.Uint32).Reshape(uop.ShapeOf(3)))
	if err != nil {
		t.Fatal(err)
	}
	if s := g.fused(options, softmax(g.in(1000, 1000), 1).Mul(u)); len(s.Kernels) != 2 {
		t.Errorf("softmax times random numbers: %d kernels, expected 2", len(s.Kernels))
	}
}

// Both words of a random position are computed in one iteration, beside other loads and in the masked blocks of attention's dropout, where
// halves of the tensor are whole iterations of a loop.
func TestRandomWordsArePaired(t *testing.T) {
	seed := func(g graph) *uop.UOp { return g.NewBuffer("CPU", 3, uop.Uint32).Reshape(uop.ShapeOf(3)) }
	for _, c := range []struct {
		what   string
		build  func(g graph) *uop.UOp
		stores int
	}{
		{"random numbers", func(g graph) *uop.UOp {
			return g.ok(tensor.RandSeeded(uop.ShapeOf(100, 30), uop.Float32, seed(g)))
		}, 2},
		{"in an interval", func(g graph) *uop.UOp {
			return g.ok(tensor.UniformSeeded(uop.ShapeOf(100, 30), -1, 1, uop.Float32, seed(g)))
		}, 2},
		{"as integers", func(g graph) *uop.UOp {
			return g.ok(tensor.RandIntSeeded(uop.ShapeOf(100, 30), 0, 10, uop.Int32, seed(g)))
		}, 2},
		{"added to others", func(g graph) *uop.UOp {
			return g.ok(tensor.DropoutSeeded(g.in(100, 30), 0.5, seed(g)))
		}, 2},
		{"of an odd number of rows", func(g graph) *uop.UOp {
			return g.ok(tensor.RandSeeded(uop.ShapeOf(99, 31), uop.Float32, seed(g)))
		}, 2},
		{"in masked blocks", func(g graph) *uop.UOp {
			q, o := g.in(4, 512, 32), tensor.AttentionOptions{Causal: true, Dropout: 0.5, Seed: seed(g)}
			y := g.ok(tensor.ScaledDotProductAttention(q, g.in(4, 512, 32), g.in(4, 512, 32), o))
			grads, err := gradient.Of(g.ok(tensor.Sum(g.ok(tensor.Mul(y, y)), nil, false)), []*uop.UOp{q}, nil)
			if err != nil {
				g.Fatal(err)
			}
			return grads[0]
		}, 2},
	} {
		g := newGraph(t)
		random := 0
		for _, k := range g.fused(options, c.build(g)).Kernels {
			stores := 0
			for _, u := range k.AST.Toposort() {
				if u.Op == uop.Store {
					stores++
				}
			}
			if k.AST.HasOp(uop.Ops(uop.Threefry)) {
				if random++; stores != c.stores {
					t.Errorf("%s: %d stores in a kernel of random words, expected %d", c.what, stores, c.stores)
				}
			}
		}
		if random != 1 {
			t.Errorf("%s: %d kernels of random words, expected 1", c.what, random)
		}
	}
}

// Rows between two products are kept in blocks if they do not fit the cache.
func TestRowBlockDecisions(t *testing.T) {
	g := newGraph(t)
	for _, c := range []struct {
		less, minBlock int64
		want           fuse.Reason
	}{{0, 16, fuse.FitsCache}, {1, 32, fuse.Pays}, {1, 33, fuse.NoBlock}} {
		o := options
		o.BlockBytes, o.MinBlock = 256*200*4-c.less, c.minBlock
		_, ds := g.decided(o, times(softmax(times(g.in(256, 32), g.in(200, 32)), 1), g.in(32, 200)))
		if d := last(ds, "row blocks"); d == nil || d.Reason != c.want || d.Costs.Rows != 256 || d.Costs.RowBytes != 200*4 {
			t.Errorf("%v, expected %q for 256 rows of 800 bytes", d, c.want)
		}
	}
}

// A decision is a line that has all numbers.
func TestDecisionIsPrinted(t *testing.T) {
	d := fuse.Decision{Pass: "producers", First: []int{0, 2}, Second: []int{5}, Reason: fuse.Recompute, Limits: fuse.Options{MaxBuffers: 9, RowBytes: 77},
		Costs: fuse.Costs{BytesSaved: 4096, WorkBefore: 100, WorkAfter: 180, Rows: 64, RowBytes: 33, Buffers: 3, Stores: 2}}
	for _, part := range []string{"producers: 0+2 -> 5: keep: too much recomputation", "saves 4096 bytes", "work 180 of 100", "64 rows", "row 33 bytes, limit 77", "3 buffers, limit 9", "2 stores"} {
		if !strings.Contains(d.String(), part) {
			t.Errorf("%q, expected it to say %q", d.String(), part)
		}
	}
	d = fuse.Decision{Pass: "scatter sums", First: []int{1}, Costs: fuse.Costs{Rows: 500}}
	if s := d.String(); !strings.HasPrefix(s, "scatter sums: 1: fuse: pays") {
		t.Errorf("%q", s)
	}
}
