package fuse_test

import (
	"slices"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Each pass has a name of its own and a reason, and needs what the pass before leaves.
func TestPassTable(t *testing.T) {
	seen := map[string]bool{}
	for i, p := range fuse.Passes {
		if p.Name == "" || seen[p.Name] || p.Reason == "" || len(p.Leaves) == 0 {
			t.Errorf("pass %d, %q: no name, reason or invariant, or the name stands twice", i, p.Name)
		}
		seen[p.Name] = true
		for _, need := range p.Needs {
			if i == 0 || !slices.ContainsFunc(fuse.Passes[i-1].Leaves, func(x schedule.Invariant[fuse.State]) bool { return x.Name == need.Name }) {
				t.Errorf("pass %q needs %q, which pass %q does not leave", p.Name, need.Name, fuse.Passes[i-1].Name)
			}
		}
	}
	if names := fuse.PassNames(); !slices.Contains(names, fuse.Dump) || len(names) != len(fuse.Passes)+1 {
		t.Errorf("names %v, expected those of %d passes and %s", names, len(fuse.Passes), fuse.Dump)
	}
}

// Every pass has something to do in one of a few graphs, in which all invariants hold.
func TestEveryPassIsNeeded(t *testing.T) {
	o := options
	o.BlockBytes = 256*256*4 - 1
	o.Cycles = func(kernel *uop.UOp) (all, oneByOne float64, ok bool) { // remainders are slow
		slow := 0
		for _, u := range kernel.Toposort() {
			if u.Op == uop.Mod {
				slow++
			}
		}
		return float64(1 + 1000_000*slow), float64(1000_000 * slow), true
	}
	used := map[string]bool{}
	for _, build := range []func(g graph) []*uop.UOp{
		func(g graph) []*uop.UOp { return []*uop.UOp{softmax(g.in(64, 128), 1)} },
		func(g graph) []*uop.UOp { return []*uop.UOp{softmax(g.in(64, 128).Permute([]int{1, 0}), 1)} },
		func(g graph) []*uop.UOp { return []*uop.UOp{softmax(g.in(1024, 3), 1)} },
		func(g graph) []*uop.UOp {
			h := times(g.in(64, 32), g.in(48, 32)).ContiguousOp()
			return []*uop.UOp{h, h.Exp2()}
		},
		func(g graph) []*uop.UOp {
			e := g.in(64, 64).Exp2()
			return []*uop.UOp{e.Mul(e.Add(e.ConstLike(uop.Float(1))).Recip())}
		},
		func(g graph) []*uop.UOp { return []*uop.UOp{rowsTimesSums(g, 64, 48, 80)} },
		func(g graph) []*uop.UOp { return []*uop.UOp{g.conv(g.in(2, 8, 12, 12), 8, 8)} },
		func(g graph) []*uop.UOp {
			x := g.in(64, 64).Exp2().Sin()
			return []*uop.UOp{x.ReduceAxes(uop.Add, 1), x.ReduceAxes(uop.Max, 0)}
		},
		func(g graph) []*uop.UOp {
			x := g.in(64, 128)
			return []*uop.UOp{x.Exp2(), x.Sin()}
		},
		func(g graph) []*uop.UOp { // rolled rows
			twice := g.in(64, 1, 128).Expand(uop.ShapeOf(64, 2, 128)).Reshape(uop.ShapeOf(64, 256))
			rolled := twice.Shrink([]uop.Pair{{Hi: uop.N(64)}, {Lo: uop.N(3), Hi: uop.N(131)}})
			return []*uop.UOp{softmax(rolled.Sin().Exp2().Sin(), 1)}
		},
		func(g graph) []*uop.UOp {
			return []*uop.UOp{g.in(64, 256).Exp2().Pad([]uop.Pair{{}, {Lo: uop.N(3)}}).ContiguousOp()}
		},
		func(g graph) []*uop.UOp {
			sums := g.in(64, 128, 32).ReduceAxes(uop.Add, 2).Reshape(uop.ShapeOf(64, 128))
			return []*uop.UOp{sums.Shrink([]uop.Pair{{Hi: uop.N(64)}, {Lo: uop.N(1), Hi: uop.N(9)}}).ContiguousOp()}
		},
		func(g graph) []*uop.UOp { return []*uop.UOp{g.in(384, 96).ReduceAxes(uop.Add, 1).Exp2().Sin()} },
		func(g graph) []*uop.UOp { return []*uop.UOp{g.ok(tensor.CumSum(g.in(1<<14), 0))} },
		func(g graph) []*uop.UOp {
			rolled := g.ok(tensor.Roll(g.in(24, 97), []int64{3}, []int{1}))
			return []*uop.UOp{g.ok(tensor.Unfold(rolled, 1, 3, 1)).ReduceAxes(uop.Add, 2)}
		},
		func(g graph) []*uop.UOp { return []*uop.UOp{g.sorted(100)} },
		func(g graph) []*uop.UOp { return []*uop.UOp{reduced(g.bools(64, 96), uop.Max, 0)} },
		choice, butterfly,
		func(g graph) []*uop.UOp {
			seed := g.NewBuffer("CPU", 3, uop.Uint32).Reshape(uop.ShapeOf(3))
			return []*uop.UOp{g.ok(tensor.RandSeeded(uop.ShapeOf(64, 64), uop.Float32, seed))}
		},
		func(g graph) []*uop.UOp {
			x := g.in(32, 48).Permute([]int{1, 0})
			rows := g.NewBuffer("CPU", 48, uop.Int32).Reshape(uop.ShapeOf(48, 1)).Expand(x.Shape())
			return []*uop.UOp{g.in(9, 32).ScatterTo(uop.ScatterArg{Op: uop.Add}, rows, x).ContiguousOp()}
		},
		func(g graph) []*uop.UOp {
			table := g.in(fuse.MinScatterRows, 32)
			taken := g.ok(tensor.Embedding(table, g.NewBuffer("CPU", 40, uop.Int32)))
			y := g.ok(tensor.Sum(g.ok(tensor.Mul(taken, g.in(40, 32))), nil, false))
			grads, err := gradient.Of(y, []*uop.UOp{table}, nil)
			if err != nil {
				g.Fatal(err)
			}
			return grads
		},
		func(g graph) []*uop.UOp {
			return []*uop.UOp{g.ok(tensor.ScaledDotProductAttention(g.in(256, 32), g.in(256, 32), g.in(256, 32), tensor.AttentionOptions{Causal: true}))}
		},
		func(g graph) []*uop.UOp {
			q := g.in(512, 32)
			y := g.ok(tensor.ScaledDotProductAttention(q, g.in(512, 32), g.in(512, 32), tensor.AttentionOptions{Causal: true}))
			grads, err := gradient.Of(g.ok(tensor.Sum(g.ok(tensor.Mul(y, y)), nil, false)), []*uop.UOp{q}, nil)
			if err != nil {
				g.Fatal(err)
			}
			return grads
		},
	} {
		g := newGraph(t)
		root, _, _, err := schedule.Normalize(symbolic.NewGraph(), g.Sink(nil, g.stored(build(g))...))
		if err != nil {
			t.Fatal(err)
		}
		changes, err := fuse.Changes(root, o)
		if err != nil {
			t.Fatal(err)
		}
		for name, changed := range changes {
			used[name] = used[name] || changed
		}
	}
	for _, p := range fuse.Passes {
		if !used[p.Name] {
			t.Errorf("pass %q has nothing to do", p.Name)
		}
	}
}

// The scores of causal attention that only the softmax reads, and the gradients of probabilities, are computed in the kernel that processes their
// rows, a block at a time, except the rows of a partial block, and matrices of which a block does not fit the cache.
func TestBlocksOfRowsInTraining(t *testing.T) {
	for _, c := range []struct{ length, block, blocks, kernels int64 }{
		{512, 64 * 512 * 4, 2, 6}, {512, 64*512*4 - 1, 0, 8}, {520, 64 * 520 * 4, 2, 14},
	} {
		g := newGraph(t)
		o := options
		o.BlockBytes = c.block
		q, k, v := g.in(2, c.length, 32), g.in(2, c.length, 32), g.in(2, c.length, 32)
		y := g.ok(tensor.ScaledDotProductAttention(q, k, v, tensor.AttentionOptions{Causal: true}))
		grads, err := gradient.Of(g.ok(tensor.Sum(g.ok(tensor.Mul(y, y)), nil, false)), []*uop.UOp{q, k, v}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := g.fused(o, grads...)
		g.expect(s, int(c.kernels))
		blocks := int64(0)
		for _, k := range s.Kernels {
			if k.AST.Find(func(u *uop.UOp) bool { return u.Op == uop.Bufferize && len(u.Src) == 4 }) != nil {
				blocks++
			}
		}
		if blocks != c.blocks {
			t.Errorf("%d rows: %d kernels with blocks, expected %d", c.length, blocks, c.blocks)
		}
	}
}

// The limits of passes, tested on both sides.
func TestThresholdsOfPasses(t *testing.T) {
	t.Run("rows of a table", func(t *testing.T) {
		for _, c := range []struct {
			rows int64
			want fuse.Reason
		}{{fuse.MinScatterRows - 1, fuse.FewTableRows}, {fuse.MinScatterRows, fuse.Pays}} {
			g := newGraph(t)
			table := g.in(c.rows, 32)
			taken := g.ok(tensor.Embedding(table, g.NewBuffer("CPU", 40, uop.Int32)))
			grads, err := gradient.Of(g.ok(tensor.Sum(g.ok(tensor.Mul(taken, g.in(40, 32))), nil, false)), []*uop.UOp{table}, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, ds := g.decided(options, grads[0])
			if d := last(ds, "scatter sums"); d == nil || d.Reason != c.want || d.Costs.Rows != c.rows {
				t.Errorf("%d rows: %v, expected %q", c.rows, d, c.want)
			}
		}
	})
	t.Run("values of several users", func(t *testing.T) {
		// Two functions for each of 128 elements take as long as a kernel that stores them in the nearest cache.
		for columns, want := range map[int64]fuse.Reason{3: fuse.CheapRecompute, 4: fuse.RereadPays} {
			g := newGraph(t)
			value := g.in(32, columns).Exp2().Sin()
			_, ds := g.decided(options, value.Mul(value.ReduceAxes(uop.Add, 0).Expand(value.Shape())))
			if !decided(ds, "kernels", want) {
				t.Errorf("%d columns: %v, expected %q", columns, ds, want)
			}
		}
	})
	t.Run("rows of few elements", func(t *testing.T) {
		for _, c := range []struct {
			rows          []int64
			axis, reduces int
		}{ // maxima and sums
			{[]int64{6000, fuse.FewElements}, 1, 0}, {[]int64{6000, fuse.FewElements + 1}, 1, 2},
			{[]int64{fuse.LongestShortRow, 6000}, 0, 0}, {[]int64{20, fuse.LongestShortRow, 100}, 1, 0},
		} {
			g := newGraph(t)
			s := g.fused(options, g.ok(tensor.Softmax(g.in(c.rows...), c.axis)))
			g.expect(s, 1)
			if n := count(s, uop.Reduce); n != c.reduces {
				t.Errorf("%d reductions of %v, expected %d", n, c.rows, c.reduces)
			}
		}
	})
	t.Run("look-up in choices", func(t *testing.T) {
		g := newGraph(t)
		x := g.in(512, 32)
		table := x.Lt(x.ConstLike(uop.Float(0))).Where(x.ConstLike(uop.Float(0)), x)
		s := g.fused(options, g.ok(tensor.Embedding(table, g.NewBuffer("CPU", 40, uop.Int32))))
		g.expect(s, 1)
		if n := count(s, uop.Reduce); n != 0 {
			t.Errorf("%d sums, expected that rows are looked up", n)
		}
	})
	t.Run("look-up of a rounded value", func(t *testing.T) { // the sum of the terms has another type than what is chosen
		g := newGraph(t)
		x, rows := g.in(97, 32), uop.ShapeOf(97, 97, 32)
		value := x.Exp2().Cast(uop.BFloat16).Reshape(uop.ShapeOf(1, 97, 32)).Expand(rows)
		at := g.NewBuffer("CPU", 97, uop.Int32).Reshape(uop.ShapeOf(97, 1, 1)).Expand(rows)
		place := g.ok(tensor.Arange(g.Graph, uop.Int(0), uop.Int(97), uop.Int(1), uop.Int32)).Reshape(uop.ShapeOf(1, 97, 1)).Expand(rows)
		chosen := at.Ne(place).Where(value.ConstLike(uop.Float(0)), value)
		s := g.fused(options, chosen.Cast(uop.Float32).ReduceAxes(uop.Add, 1))
		if n := count(s, uop.Reduce); n != 0 {
			t.Errorf("%d sums, expected that rows are looked up", n)
		}
	})
	t.Run("reuse of a pad", func(t *testing.T) {
		g := newGraph(t)
		for n := int64(fuse.PadReuse - 1); n <= fuse.PadReuse; n++ {
			// Each of 8x10 padded elements is read for n columns.
			padded := g.in(8, 8).Pad([]uop.Pair{{}, {Lo: uop.N(1), Hi: uop.N(1)}})
			root := g.Sink(nil, times(padded, g.in(n, 10)))
			if stored := fuse.StorePads(root) != root; stored != (n == fuse.PadReuse) {
				t.Errorf("a pad that is read %d times is stored: %v", n, stored)
			}
		}
	})
	t.Run("scratch rows with conditions", func(t *testing.T) { // the looked-up row is one, not a row of elements and one of conditions
		g := newGraph(t)
		x := g.in(385, 129)
		of := columns(g, x)
		e := of.Sub(of.ReduceAxes(uop.Max, 1).Expand(of.Shape()))
		s := g.fused(options, e.Sub(e.Exp2().ReduceAxes(uop.Add, 1).Log2().Expand(e.Shape())))
		if rows := count(s, uop.Bufferize); rows != 1 {
			t.Errorf("%d rows in scratch memory, expected 1", rows)
		}
	})
	t.Run("scratch rows", func(t *testing.T) {
		for n := options.MinScratch - 1; n <= options.MinScratch; n++ {
			g := newGraph(t)
			s := g.fused(options, softmax(g.in(64, n), 1))
			if rows := count(s, uop.Bufferize); (rows == 1) != (n == options.MinScratch) {
				t.Errorf("rows of %d: %d in scratch memory", n, rows)
			}
		}
		// The elements of a column lie apart: a few operations are done again.
		for axis, want := range []int{0, 1} {
			g := newGraph(t)
			x := g.in(384, 385)
			masked := x.Mul(x.Alu(uop.CmpNe, g.in(384, 1).Expand(x.Shape())).Cast(x.DType)).Add(x)
			most := masked.ReduceAxes(uop.Max, axis)
			sums := masked.Sub(most.Expand(x.Shape())).Exp2().ReduceAxes(uop.Add, axis)
			if rows := count(g.fused(options, most, sums), uop.Bufferize); rows != want {
				t.Errorf("sums along axis %d: %d rows in scratch memory, expected %d", axis, rows, want)
			}
		}
	})
	t.Run("scratch rows of divisors", func(t *testing.T) { // quotients are rounded once in all kernels
		g := newGraph(t)
		x := g.in(96, 96)
		y := x.Exp2().Recip()
		quotient := x.Mul(y)
		most := quotient.ReduceAxes(uop.Max, 1).Expand(x.Shape())
		s := g.fused(options, quotient.Sub(most).Mul(y).ReduceAxes(uop.Add, 1), quotient.Alu(uop.CmpNe, most).Cast(x.DType).Mul(y))
		rows := 0
		for _, k := range s.Kernels {
			for _, u := range k.AST.Toposort() {
				if u.Op == uop.Bufferize {
					rows++
					if u.Src[0].Op == uop.Reciprocal {
						t.Error("a row of reciprocals is in scratch memory")
					}
				}
			}
		}
		if rows == 0 {
			t.Error("no row is in scratch memory")
		}
	})
	t.Run("functions of rows", func(t *testing.T) {
		// A function of the sum of each row; of the sum of each column, which lies in a lane of its own; with an element of each row.
		row := func(x *uop.UOp) *uop.UOp { return x.ReduceAxes(uop.Add, 1).Exp2().Sin() }
		for _, c := range []struct {
			name  string
			build func(g graph) *uop.UOp
			want  int
		}{
			{"few rows", func(g graph) *uop.UOp { return row(g.in(8, 96)) }, 1},
			{"many rows", func(g graph) *uop.UOp { return row(g.in(384, 96)) }, 2},
			{"columns", func(g graph) *uop.UOp { return row(g.in(96, 384).Permute([]int{1, 0})) }, 1},
			{"one operation", func(g graph) *uop.UOp { x := g.in(384, 96).ReduceAxes(uop.Add, 1); return x.Mul(x) }, 1},
			{"the first of each row", func(g graph) *uop.UOp {
				x := g.in(384, 96)
				return row(x).Mul(x.Shrink([]uop.Pair{{Hi: uop.N(384)}, {Hi: uop.N(1)}}))
			}, 1},
			{"that the row needs, too", func(g graph) *uop.UOp { x := g.in(384, 96); return x.Mul(row(x).Expand(x.Shape())) }, 1},
		} {
			g := newGraph(t)
			if s := g.fused(options, c.build(g)); len(s.Kernels) != c.want {
				t.Errorf("%s: %d kernels, expected %d", c.name, len(s.Kernels), c.want)
			}
		}
	})
	t.Run("contiguous runs", func(t *testing.T) {
		// The maximum over the last but one axis goes through n neighbours before it jumps.
		for n := int64(fuse.MinContiguousRun - 1); n <= fuse.MinContiguousRun; n++ {
			g := newGraph(t)
			x := g.in(32, 64, 16, n)
			peak := x.ReduceAxes(uop.Max, 1, 3).Expand(x.Shape())
			_, ds := g.decided(options, x.Mul(peak))
			want := fuse.ShortRuns
			if n == fuse.MinContiguousRun {
				want = fuse.Pays
			}
			if d := last(ds, "producers"); d == nil || d.Reason != want {
				t.Errorf("runs of %d: %v, expected %q", n, d, want)
			}
		}
	})
}

// Elements that are looked up once are not stored first: nothing is gained, and each step of a bisection would be compiled.
func TestLookups(t *testing.T) {
	compiled := 0
	o := options
	o.Cycles = func(*uop.UOp) (all, oneByOne float64, ok bool) {
		compiled++
		return 1000, 1000, true
	}
	g := newGraph(t)
	s := g.fused(o, g.ok(tensor.SearchSorted(g.in(1<<14), g.in(1<<14), false)))
	if len(s.Kernels) > 2 || compiled > 4 {
		t.Errorf("bisection: %d kernels, %d times compiled, expected at most 2 and 4", len(s.Kernels), compiled)
	}
}
