package nest_test

import (
	"strings"
	"testing"

	"polygrad/core/lower"
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
)

type inputs func(dt *uop.DType, dims ...int64) *uop.UOp

func must(u *uop.UOp, err error) *uop.UOp {
	if err != nil {
		panic(err)
	}
	return u
}

// planOf plans the last kernel of a graph: nothing is emitted or run.
func planOf(t *testing.T, m ir.Machine, c plan.Choice, build func(in inputs) *uop.UOp) *plan.Kernel {
	t.Helper()
	return planAt(t, m, c, build, 1)
}

// planAt plans a kernel of a graph, counted from the last.
func planAt(t *testing.T, m ir.Machine, c plan.Choice, build func(in inputs) *uop.UOp, fromLast int) *plan.Kernel {
	t.Helper()
	return planAs(t, m, c, build, fromLast, false)
}

// planAs is planAt for a kernel that is plain or not.
func planAs(t *testing.T, m ir.Machine, c plan.Choice, build func(in inputs) *uop.UOp, fromLast int, plain bool) *plan.Kernel {
	t.Helper()
	g := symbolic.NewGraph()
	v := build(func(dt *uop.DType, dims ...int64) *uop.UOp {
		s := uop.ShapeOf(dims...)
		return g.NewBuffer("CPU", s.Numel().N, dt).Reshape(s)
	})
	n := v.Shape().Numel().N
	asts, err := exec.Schedule(g.Sink(nil, g.NewBuffer("CPU", n, v.DType).Store(v.Reshape(uop.ShapeOf(n)))))
	if err != nil {
		t.Fatal(err)
	}
	p, err := lower.Lower(asts[len(asts)-fromLast], lower.Native())
	if err != nil {
		t.Fatal(err)
	}
	f, err := analysis.New(p.Linear)
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := c.Knobs()
	if err != nil {
		t.Fatal(err)
	}
	k, err := plan.Make(f, m, wanted, plain)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Check(); err != nil {
		t.Fatalf("%v\n%s", err, k)
	}
	return k
}

func matmul(dt *uop.DType, m, k, n int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp { return must(tensor.MatMul(in(dt, m, k), in(dt, k, n))) }
}

func turned(u *uop.UOp) *uop.UOp { return u.Permute([]int{1, 0}) }

func sumRows(rows, columns int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp { return must(tensor.Sum(in(uop.Float32, rows, columns), []int{0}, false)) }
}

func sumColumns(rows, columns int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp { return must(tensor.Sum(in(uop.Float32, rows, columns), []int{1}, false)) }
}

// columnsAt are the sums of n columns that are looked up.
func columnsAt(rows, columns, n int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		return must(tensor.Sum(must(tensor.TakeAxes(in(uop.Float32, rows, columns), in(uop.Int32, n), 1)), []int{1}, false))
	}
}

func transposed(rows, columns int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp { v := turned(in(uop.Float32, rows, columns)); return v.Add(v) }
}

func flipped(rows, columns int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		return in(uop.Float32, rows, columns).Flip([]bool{true, false}).ContiguousOp()
	}
}

func pooled(channels int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		return must(tensor.MaxPool(in(uop.Float32, 1, channels, 56, 56), []int64{3, 3}, tensor.Window{Stride: []int64{2, 2}}))
	}
}

// places stores a number to a data-dependent row of the same column for each element of a matrix.
func places(rows, columns int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		one := in(uop.Float32, 1, 1).Expand(uop.ShapeOf(rows, columns))
		return in(uop.Float32, rows, columns).ScatterTo(uop.ScatterArg{Axis: 0, Checked: true}, in(uop.Int32, rows, columns), one)
	}
}

// scatteredRows adds each row to a data-dependent row of another matrix.
func scatteredRows(columns int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		place := in(uop.Int32, 64, 1).Expand(uop.ShapeOf(64, columns))
		return in(uop.Float32, 64, columns).ScatterTo(uop.ScatterArg{Op: uop.Add, Axis: 0, Checked: true}, place, in(uop.Float32, 64, columns))
	}
}

func elements(n int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp { v := in(uop.Float32, n); return v.Add(v) }
}

// narrow are elements that not every processor can mask.
func narrow(n int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp { v := in(uop.BFloat16, n); return v.Add(v) }
}

// sigmoids applies the sigmoid n times.
func sigmoids(n int) func(inputs) *uop.UOp { return sigmoidsOf(n, 1024) }

func sigmoidsOf(n int, elements int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		v := in(uop.Float32, elements)
		for range n {
			v = must(tensor.Sigmoid(v))
		}
		return v
	}
}

// tiles are the sums of rows whose length is n times a variable.
func tiles(n int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		v := in(uop.Float32, 64, 16*n)
		count := v.Graph().Variable("count", uop.Int(1), uop.Int(16), uop.IndexT).BindTo(3)
		part := v.Shrink([]uop.Pair{{Hi: uop.N(64)}, {Hi: uop.S(count.Mul(v.Graph().ConstInt(n)))}})
		return must(tensor.Sum(part, []int{1}, false))
	}
}

// rowsUpTo is the greatest element of each column of a product with a variable number of rows, up to the given one.
func rowsUpTo(rows, k, n int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		v := in(uop.Float32, rows, k)
		count := v.Graph().Variable("count", uop.Int(1), uop.Int(rows), uop.IndexT).BindTo(3)
		part := v.Shrink([]uop.Pair{{Hi: uop.S(count)}, {Hi: uop.N(k)}})
		product := must(tensor.MatMul(part, in(uop.Float32, k, n)))
		return must(tensor.Max(product.F(uop.Contiguous, nil, nil), []int{0}, false))
	}
}

// squareUpTo is a product with up to n rows and columns, summed by rows.
func squareUpTo(n, k int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		a, b := in(uop.Float32, n, k), in(uop.Float32, k, n)
		g := a.Graph()
		count := g.Variable("count", uop.Int(1), uop.Int(n), uop.IndexT).BindTo(3)
		product := must(tensor.MatMul(a.Shrink([]uop.Pair{{Hi: uop.S(count)}, {Hi: uop.N(k)}}), b.Shrink([]uop.Pair{{Hi: uop.N(k)}, {Hi: uop.S(count)}})))
		return must(tensor.Sum(must(tensor.Sum(product.F(uop.Contiguous, nil, nil), []int{1}, false)), []int{0}, false))
	}
}

// batchedLast are products of n x 32 and 32 x n matrices, one for each element of the last axis.
func batchedLast(n, batches int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		return must(tensor.Einsum("ikb,kjb->ijb", in(uop.Float32, n, 32, batches), in(uop.Float32, 32, n, batches)))
	}
}

// rowSums is the product of a matrix and a vector.
func rowSums(m, k int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp { return must(tensor.MatMul(in(uop.Float32, m, k), in(uop.Float32, k))) }
}

// joinedRows is the product of joined matrices and one of n columns.
func joinedRows(n int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		rows := must(tensor.Cat([]*uop.UOp{in(uop.Float32, 64, 48), in(uop.Float32, 64, 48)}, 1))
		return must(tensor.MatMul(rows, in(uop.Float32, 96, n)))
	}
}

// biased is a product to which a matrix is added.
func biased(m, k, n int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp { return matmul(uop.Float32, m, k, n)(in).Add(in(uop.Float32, m, n)) }
}

// products is the sum of several products of matrices in one loop.
func products(count int, m, k, n int64) func(inputs) *uop.UOp {
	return func(in inputs) *uop.UOp {
		all := uop.ShapeOf(m, k, n)
		var sum *uop.UOp
		for range count {
			v := in(uop.Float32, m, k, 1).Expand(all).Mul(in(uop.Float32, 1, k, n).Expand(all))
			if sum == nil {
				sum = v
			} else {
				sum = sum.Add(v)
			}
		}
		return must(tensor.Sum(sum, []int{1}, false))
	}
}

// TestDecisions plans kernels on each side of the thresholds of decisions. Want is text that the plan has, or lacks
// after an exclamation mark.
func TestDecisions(t *testing.T) {
	big := ir.AVX512
	big.L1, big.L2, big.L3, big.Stream = 48<<10, 2<<20, 4<<20, 32<<20
	dot := big
	dot.DotBF16, dot.DotI8 = true, true
	split := dot
	split.SplitF32 = true
	streams := ir.AVX2
	streams.Stream = big.Stream
	threads := big
	threads.Threads = 8
	wasm2 := ir.Wasm
	wasm2.L2, wasm2.L3, wasm2.Threads = 1<<20, 4<<20, 2
	f32 := uop.Float32
	broadcast := func(in inputs) *uop.UOp {
		return in(f32, 4, 8, 1024).Add(in(f32, 4, 1, 1024).Expand(uop.ShapeOf(4, 8, 1024)))
	}
	conv := func(channels int64) func(inputs) *uop.UOp {
		return func(in inputs) *uop.UOp {
			return must(tensor.Conv(in(f32, 1, 64, 58, 58), in(f32, channels, 64, 3, 3), nil, 1, tensor.Window{}))
		}
	}
	for _, c := range []struct {
		name   string
		m      ir.Machine
		choice plan.Choice
		build  func(inputs) *uop.UOp
		want   string
	}{
		{"tiles of four vectors", big, "", elements(64), "tiles of 4 x 16"},
		{"fewer elements than those", big, "", elements(63), "tiles of 2 x 16"},
		{"one iteration has no vectors", big, "", elements(1), "!vectors"},
		{"vectors of a tile as asked", big, "w2", elements(64), "tiles of 2 x 16"},
		{"long computations fill a processor by themselves", ir.SSE4, "", sigmoids(4), "tiles of 2 x 4"},
		{"but not of many elements", ir.SSE4, "", sigmoidsOf(4, 1<<19), "tiles of 4 x 4"},
		{"that are not many enough", ir.SSE4, "", sigmoidsOf(4, 1<<19-64), "tiles of 2 x 4"},
		{"on slow loops they stand side by side", ir.Wasm, "", sigmoids(4), "tiles of 4 x 4"},
		{"a vector that cannot be masked overlaps", ir.AVX2, "", narrow(93), "vectors, the last one overlaps"},
		{"if there is one before it", ir.AVX2, "", narrow(7), "!overlaps"},
		{"not if it can be masked", ir.AVX2, "", elements(93), "!overlaps"},
		{"nor if nothing is left", ir.Wasm, "", elements(92), "!overlaps"},
		{"or one alone", ir.Wasm, "", elements(93), "!overlaps"},
		{"but in code of limited size", ir.Wasm, "", sigmoids(16), "tiles of 2 x 4"},
		{"stores around the caches", big, "", elements(8 << 20), "1 around the caches"},
		{"stores into the caches", big, "", elements(8<<20 - 64), " 0 around the caches"},
		{"rows in reverse order are prefetched", big, "", flipped(7<<10, 1<<10), "prefetch of next rows"},
		{"and stored around the caches", big, "", flipped(7<<10, 1<<10), "1 around the caches"},
		{"not if they fit into them", big, "", flipped(7<<10-1, 1<<10), "!next rows"},
		{"nor for threads, which have more", threads, "", flipped(7<<10, 1<<10), "!next rows"},
		{"rows that L1 does not hold", big, "", flipped(800, 10<<10), "!next rows"},
		{"every other row", big, "", func(in inputs) *uop.UOp {
			return in(f32, 1<<12, 2, 1<<10).Shrink([]uop.Pair{{Hi: uop.N(1 << 12)}, {Hi: uop.N(1)}, {Hi: uop.N(1 << 10)}}).ContiguousOp()
		}, "next rows"},
		{"parts of rows in their order", big, "", func(in inputs) *uop.UOp {
			return in(f32, 1<<13, 1<<10).Shrink([]uop.Pair{{Hi: uop.N(1 << 13)}, {Hi: uop.N(1000)}}).ContiguousOp()
		}, "!next rows"},
		{"windows across lines are prefetched", big, "", pooled(2048), "prefetch of windows, 448 bytes"},
		{"not those that the caches hold", big, "", pooled(2000), "!window"},
		{"nor streams of whole vectors", big, "", func(in inputs) *uop.UOp {
			return must(tensor.Max(in(f32, 1<<15, 4, 64), []int{1}, false))
		}, "!window"},

		{"transposed squares", big, "", transposed(16, 16), "of 16, tiles of 16 x 1, transposed"},
		{"transposed squares not wanted", big, "t-1", transposed(64, 64), "!, transposed"},
		{"too few rows for a square", big, "", transposed(15, 64), "!, transposed"},
		{"transposed tiles around the caches", big, "", transposed(2048, 512), "1 around the caches"},
		{"which need no prefetch", big, "", transposed(2048, 512), "!prefetch"},
		{"transposed tiles prefetch the next ones", big, "", transposed(1023, 511), "prefetch of rows of squares"},
		{"not in the caches", big, "", transposed(301, 303), "!prefetch"},
		{"nor rows that share a few sets", big, "", transposed(1024, 512), "!prefetch"},
		{"nor short ones, one behind the other", big, "", transposed(255, 4001), "!prefetch"},

		{"data-dependent rows are written as a whole", big, "", scatteredRows(1024), "loop over iterations of axis 2\n  loop over tiles of axis 1"},
		{"by threads in parts", threads, "", scatteredRows(1024), "tiles of 32 x 8"},
		{"of which each walks all rows", big, "", scatteredRows(1024), "each call repeats 12.5 % of the work"},
		{"short ones are one tile", big, "", scatteredRows(32), "band 2"},
		{"data-dependent elements stay in narrow columns", big, "", func(in inputs) *uop.UOp {
			x := in(f32, 64, 1024)
			return x.ScatterTo(uop.ScatterArg{Op: uop.Add, Axis: 0, Checked: true}, in(uop.Int32, 64, 1024), in(f32, 64, 1024))
		}, "band 2"},
		{"and those that displace each other, which one writes, in wide ones", big, "", places(64, 1024), "tiles of 32 x 8"},
		{"not if they do not", big, "", places(64, 1000), "!x 8"},
		{"places that rows share are no reason for vectors of rows", big, "", func(in inputs) *uop.UOp {
			place := in(uop.Int32, 1, 2048).Expand(uop.ShapeOf(64, 2048))
			return in(f32, 64, 2048).ScatterTo(uop.ScatterArg{Op: uop.Add, Axis: 1, Checked: true}, place, in(f32, 64, 2048))
		}, "tiles of 8 x 1"},

		{"sum of rows in passes", big, "", sumRows(32, 512), "in passes over rows"},
		{"too few rows for passes", big, "", sumRows(31, 512), "!passes"},
		{"passes over all columns whose sums fit in L2", big, "", sumRows(64, 65536), "blocks of axis 1 of 2048 tiles"},
		{"rows too near for passes", big, "", sumRows(64, 511), "!passes"},
		{"too few columns for passes", big, "p1", sumRows(64, 127), "!passes"},
		{"passes wanted", big, "p1", sumRows(16, 128), "in passes over rows"},
		{"passes not wanted", big, "p-1", sumRows(32, 512), "!passes"},
		{"passes without masks", ir.SSE4, "", sumRows(64, 1024), "in passes over rows"},
		{"passes without masks, a rest", ir.SSE4, "", sumRows(64, 1023), "!passes"},
		{"sums of reversed rows", big, "", func(in inputs) *uop.UOp {
			return must(tensor.Sum(in(f32, 256, 100).Flip([]bool{false, true}), []int{0}, false))
		}, "!along vectors"},
		{"sums of every other column", big, "", func(in inputs) *uop.UOp {
			return must(tensor.Sum(in(f32, 256, 100, 2).Shrink([]uop.Pair{{Hi: uop.N(256)}, {Hi: uop.N(100)}, {Hi: uop.N(1)}}), []int{0}, false))
		}, "!along vectors"},

		{"sums along vectors", big, "", func(in inputs) *uop.UOp { return must(tensor.Sum(in(f32, 64, 1024), []int{1}, false)) }, "along vectors"},
		{"short rows are added up together", big, "", sumColumns(64, 256), "tiles of 4 x 1"},
		{"longer ones fill a processor", big, "", sumColumns(64, 257), "!tiles of 4"},
		{"as many as asked", big, "r1h2", sumColumns(64, 256), "tiles of 2 x 1"},
		{"rows from memory are one stream", big, "", rowSums(4096, 1024), "!tiles of 4"},
		{"rows in the second cache share loads", big, "", rowSums(512, 1024), "tiles of 4 x 1"},
		{"very short rows are one stream anyway", big, "", rowSums(65536, 64), "tiles of 4 x 1"},
		{"short ones are not", big, "", rowSums(65536, 65), "!tiles of 4"},
		{"long rows share what leaves L1", big, "", rowSums(1024, 3073), "tiles of 8 x 1"},
		{"sums of parts of rows: vectors to the end of the last", big, "", func(in inputs) *uop.UOp {
			part := in(f32, 8, 64, 128).Shrink([]uop.Pair{{Hi: uop.N(8)}, {Hi: uop.N(64)}, {Hi: uop.N(100)}})
			return must(tensor.Sum(part, []int{1, 2}, false))
		}, "around vectors"},
		{"columns are looked up along rows that L1 does not hold together", big, "", columnsAt(192, 384, 192), "along vectors"},
		{"for several rows at once if it does", big, "", columnsAt(128, 64, 192), "!along vectors"},
		{"or if few are looked up, each in a line of its own", big, "", columnsAt(192, 3840, 48), "!along vectors"},
		{"vectors of a count that a shift makes", ir.Wasm, "", tiles(4), "along vectors, count unknown"},
		{"those are not full: what is left is done one by one", ir.Wasm, "", tiles(2), "along vectors, count unknown"},
		{"columns stay in the second cache", big, "", matmul(f32, 256, 256, 256), "!pack"},
		{"columns do not", big, "", matmul(f32, 1024, 1024, 1024), "pack LOAD for columns, 1024 steps"},
		{"columns packed as asked", big, "c1", matmul(f32, 256, 256, 256), "for columns"},
		{"columns not packed as asked", big, "c-1", matmul(f32, 1024, 1024, 1024), "!for columns"},
		{"rows packed as asked", big, "d1", matmul(f32, 256, 256, 256), "for rows"},
		{"rows are chosen among two, for few columns", big, "", joinedRows(32), "for rows, 96 steps, by transposed vectors of steps"},
		{"rows are one, for few columns", big, "", matmul(f32, 64, 96, 32), "!for rows"},
		{"rows lie apart", big, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(turned(in(f32, 1024, 1024)), in(f32, 1024, 1024)))
		}, "for rows, 1024 steps, by vectors of rows"},
		{"rows do not", big, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(turned(in(f32, 256, 256)), in(f32, 256, 256)))
		}, "!for rows"},
		{"columns are transposed into packs", big, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(in(f32, 1024, 256), turned(in(f32, 1024, 256))))
		}, "for columns"},
		{"rows in all lanes", ir.Wasm, "", matmul(f32, 64, 64, 32), "for rows, 64 steps, in all lanes"},
		{"too few columns for that", ir.Wasm, "", matmul(f32, 64, 64, 24), "!for rows"},
		{"steps of a slow loop", ir.Wasm, "", matmul(f32, 64, 64, 32), "unrolled, 9 steps an iteration"},
		{"as many as leave few iterations", ir.Wasm, "", matmul(f32, 64, 67, 32), "unrolled, 13 steps an iteration"},
		{"a short sum is no loop", ir.Wasm, "", matmul(f32, 64, 6, 32), "unrolled, 6 steps an iteration"},
		{"loops of processors are fast", ir.SSE4, "", matmul(f32, 64, 64, 32), "!steps an iteration"},
		{"tiles that leave registers for loads", ir.WasmJS, "", matmul(f32, 64, 1024, 64), "tiles of 5 x 1, rows"},
		{"fewer where products need none", ir.WasmFused, "", matmul(f32, 64, 1024, 64), "tiles of 6 x 1, rows"},
		{"computed rows are packed", ir.WasmJS, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(must(tensor.Cast(in(uop.Float16, 64, 64), f32)), in(f32, 64, 64)))
		}, "for rows, 64 steps, by transposed vectors of steps"},
		{"sums whose lines fill a share of the second cache are made in parts", ir.Wasm, "", matmul(f32, 8, 512, 512), "parts of 256 steps"},
		{"shorter ones are not", ir.Wasm, "", matmul(f32, 8, 508, 512), "!parts of"},
		{"columns of many products share addresses in packs", ir.Wasm, "", products(7, 64, 32, 64), "for columns"},
		{"those of few have registers for theirs", ir.Wasm, "", products(6, 64, 32, 64), "!for columns"},
		{"rows of one product fill half of the second cache", ir.Wasm, "", products(1, 512, 32, 128), "blocks of axis 1 of 29 tiles"},
		{"so do those of several", ir.Wasm, "", products(4, 512, 32, 128), "blocks of axis 1 of 10 tiles"},
		{"rows in all lanes not wanted", ir.Wasm, "d-1", matmul(f32, 64, 64, 32), "!for rows"},
		{"few rows: along vectors", big, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(in(f32, 4, 1024), turned(in(f32, 1024, 1024))))
		}, "along vectors"},
		{"so many that they leave L1: register tiles", big, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(in(f32, 11, 1024), turned(in(f32, 1024, 1024))))
		}, "!along vectors"},
		{"as many in L1: along vectors", big, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(in(f32, 11, 512), turned(in(f32, 1024, 512))))
		}, "along vectors"},
		{"split-K as asked", big, "k128", matmul(f32, 64, 1024, 64), "parts of 128 steps"},
		{"long sums of every row are split", big, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(in(f32, 8, 64, 4096), in(f32, 8, 4096, 64)))
		}, "split the sum"},
		{"short sums are not", big, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(in(f32, 8, 64, 1024), in(f32, 8, 1024, 64)))
		}, "!split the sum"},
		{"split-K not wanted", big, "k-1", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(in(f32, 8, 64, 4096), in(f32, 8, 4096, 64)))
		}, "!split the sum"},

		{"prefetch", big, "", biased(1024, 64, 1024), "prefetch of operands of the epilogue"},
		{"sums too short for prefetch", big, "", biased(1024, 63, 1024), "!prefetch"},
		{"matrix in the caches", big, "", biased(256, 64, 1024), "!prefetch"},

		{"sums of rows from memory", big, "", sumColumns(3072, 2048), "prefetch of streams"},
		{"of rows in the caches", big, "", sumColumns(3071, 2048), "!streams"},
		{"several rows from memory at once", streams, "", sumColumns(3072, 2048), "tiles of 8 x 1"},
		{"which need no prefetch", streams, "", sumColumns(3072, 2048), "!prefetch"},
		{"not from the caches", streams, "", sumColumns(3071, 2048), "!tiles of 8"},
		{"nor rows of less than two pages", streams, "", sumColumns(6144, 2047), "!tiles of 8"},
		{"fewer of longer rows, for two sums of each lane", streams, "", sumColumns(512, 1<<14), "tiles of 4 x 1"},

		{"bf16 product", dot, "", matmul(uop.BFloat16, 64, 64, 64), "dot of bf16 and bf16"},
		{"bf16 product of too few rows", dot, "", matmul(uop.BFloat16, 7, 64, 64), "!dot of"},
		{"bf16 product without the instruction", big, "", matmul(uop.BFloat16, 64, 64, 64), "!dot of"},
		{"bf16 product in passes", dot, "", matmul(uop.BFloat16, 256, 8192, 256), "dot of"},
		{"split product", split, "", matmul(f32, 64, 64, 64), "3 terms"},
		{"split product too small", split, "", matmul(f32, 64, 63, 32), "!terms"},

		{"one item for each thread", threads, "", elements(1 << 20), "loop over tiles of axis 1, shared"},
		{"an axis with an iteration for each thread", threads, "", broadcast, "iterations of axis 2, shared"},
		{"two axes are shared where either will do", big, "", broadcast, "iterations of axis 1, shared by threads with axis 2"},
		{"level as asked", threads, "n2", matmul(f32, 512, 512, 512), "shared"},
		{"tall matrices share rows", threads, "", matmul(f32, 8192, 512, 512), "shared"},
		{"columns are shared though each thread packs all rows", wasm2, "", matmul(f32, 512, 512, 512), "blocks of axis 2 of 32 tiles, shared"},
		{"rows are shared and all columns packed by each thread, which costs less", wasm2, "", matmul(f32, 512, 128, 32), "of axis 1 of 22 tiles, shared"},
		{"rows are shared though each thread packs the columns, which are too few", wasm2, "", matmul(f32, 512, 64, 40), "of axis 1 of 43 tiles, shared"},
		{"lines of a convolution divide better than rows", wasm2, "", conv(64), "iterations of axis 2, shared"},
		{"rows divide as well, and each thread packs its own", wasm2, "", conv(72), "blocks of axis 1 of 6 tiles, shared"},
		{"taps of a convolution are no loops", ir.Wasm, "", conv(64), "of 3: as it stands, without a loop\n  sum over 2:REDUCE of 3: unrolled, 3 steps an iteration"},
		{"its weights are packed once for all rows of results", ir.Wasm, "", conv(64), "for rows, 576 steps, in all lanes\n  loop over iterations of axis 2\n"},
		{"convolution", threads, "", func(in inputs) *uop.UOp {
			return must(tensor.Conv(in(f32, 8, 64, 20, 20), in(f32, 32, 64, 3, 3), nil, 1, tensor.Window{}))
		}, "shared by threads with axis 3"},
		{"lines of small images", threads, "", func(in inputs) *uop.UOp {
			return must(tensor.Conv(in(f32, 8, 16, 8, 8), in(f32, 8, 16, 3, 3), nil, 1, tensor.Window{}))
		}, "more rows"},
		{"every other element between rows is padding", big, "", func(in inputs) *uop.UOp {
			apart := func(rows int64) *uop.UOp {
				x := in(f32, rows, 193).Reshape(uop.ShapeOf(rows, 193, 1)).Pad([]uop.Pair{{}, {}, {Hi: uop.N(1)}}).Reshape(uop.ShapeOf(rows, 386))
				return x.Shrink([]uop.Pair{{Hi: uop.N(rows)}, {Hi: uop.N(385)}}).Expand(uop.ShapeOf(384, 385))
			}
			return apart(384).Mul(apart(1)).Add(apart(1))
		}, "axis 2: 0_1:LOOP of 385, tiles of 4 x 16, vectors"},
		{"batches that are the lanes", big, "", batchedLast(40, 16), "of 40, tiles of 5 x 1, more rows"},
		{"their operands are packed", big, "", batchedLast(40, 16), "for batches of axis 2, 32 steps\n  loop over tiles of axis 1\n  pack LOAD for batches of axis 1"},
		{"operands that few tiles use are not", big, "", batchedLast(20, 16), "!pack"},
		{"rows that L2 does not hold are packed in blocks", big, "", batchedLast(2000, 16), "tiles of axis 3, shared by threads\n  loop over blocks of axis 2"},
		{"few batches are not", big, "", batchedLast(40, 4), "!more rows"},
		{"a tile of those on a smaller processor", ir.AVX2, "", batchedLast(40, 16), "of 40, tiles of 4 x 1, more rows"},
		{"batches before the matrices", big, "", func(in inputs) *uop.UOp {
			return must(tensor.MatMul(in(f32, 16, 40, 32), in(f32, 16, 32, 40)))
		}, "!more rows"},
		{"light bodies fill an iteration of a slow loop", ir.Wasm, "", elements(1 << 20), "tiles of 16 x 4"},
		{"heavy bodies do alone", ir.Wasm, "", sigmoids(1), "tiles of 4 x 4"},
		{"reductions of steps that run in order are along vectors", big, "", func(in inputs) *uop.UOp {
			return must(tensor.CumSum(must(tensor.Sum(in(f32, 100, 64), []int{1}, false)), 0))
		}, "of 64: along vectors"},
		{"rows of recurrences are lanes", big, "", func(in inputs) *uop.UOp {
			return in(f32, 100, 64).PrefixAlong(uop.PrefixArg{Op: uop.MulAcc, Axis: 1}, in(f32, 100, 64))
		}, "tiles of 1 x 16, vectors, rows of squares"},
		{"rows of recurrences in transposed memory", big, "", func(in inputs) *uop.UOp {
			return in(f32, 64, 100).Permute([]int{1, 0}).PrefixAlong(uop.PrefixArg{Op: uop.MulAcc, Axis: 1}, in(f32, 100, 64))
		}, "!squares"},
		{"scatters of single elements", big, "", func(in inputs) *uop.UOp {
			return in(f32, 100).ScatterTo(uop.ScatterArg{Op: uop.Add, Axis: 0, Checked: true}, in(uop.Int32, 1000), in(f32, 1000))
		}, "of 1000, unrolled by 4, in order"},
		{"scatters of interleaved rows", big, "", func(in inputs) *uop.UOp {
			return in(f32, 64, 100).ScatterTo(uop.ScatterArg{Op: uop.Add, Axis: 1, Checked: true}, in(uop.Int32, 64, 1000), in(f32, 64, 1000))
		}, "!unrolled"},
		{"softmax", ir.AVX2, "", func(in inputs) *uop.UOp { return must(tensor.Softmax(in(f32, 64, 100), 1)) }, "vectors"},
		{"vectors of doubles", ir.SSE4, "", matmul(uop.Float64, 33, 65, 31), "2 lanes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := planOf(t, c.m, c.choice, c.build)
			text, has := strings.CutPrefix(c.want, "!")
			if got := k.String(); strings.Contains(got, text) == has {
				t.Errorf("the plan is\n%s\nexpected %q", got, c.want)
			}
			if again := planOf(t, c.m, k.Layout.Chosen(), c.build).Layout.Chosen(); again != k.Layout.Chosen() {
				t.Errorf("laid out as %s, and as %s if that is asked for", k.Layout.Chosen(), again)
			}
			for _, near := range k.Layout.Neighbours(c.m) {
				planOf(t, c.m, near, c.build)
			}
		})
	}
}

// TestCheck breaks plans and asks for what is wrong.
func TestCheck(t *testing.T) {
	m := ir.AVX512
	m.L1, m.L2, m.L3, m.DotBF16 = 48<<10, 2<<20, 4<<20, true
	rowsApart := func(in inputs) *uop.UOp {
		return must(tensor.MatMul(turned(in(uop.Float32, 1024, 1024)), in(uop.Float32, 1024, 1024)))
	}
	for _, c := range []struct {
		name, want string
		build      func(inputs) *uop.UOp
		spoil      func(k *plan.Kernel, p *plan.Band)
	}{
		{"an axis that no loop covers", "walked 0 times", elements(64), func(_ *plan.Kernel, p *plan.Band) { p.Levels = nil }},
		{"an axis that two loops cover", "its tiles 2 times", elements(64), func(_ *plan.Kernel, p *plan.Band) { p.Levels = append(p.Levels, p.Levels[0]) }},
		{"tiles that are walked", "is walked, but", elements(64), func(_ *plan.Kernel, p *plan.Band) { p.Levels[0].Kind = plan.Walk }},
		{"empty blocks", "blocks of 0 tiles", transposed(64, 64), func(_ *plan.Kernel, p *plan.Band) { p.Transpose.Group = 0 }},
		{"empty tiles", "expected one at least", elements(64), func(_ *plan.Kernel, p *plan.Band) { p.Axes[0].Units = 0 }},
		{"vectors that are too long", "expected at most 16", elements(64), func(_ *plan.Kernel, p *plan.Band) { p.Axes[0].Unit = 32 }},
		{"too many registers", "a tile has 1 results", matmul(uop.Float32, 256, 256, 256), func(_ *plan.Kernel, p *plan.Band) { p.Rows.Units = 64 }},
		{"a shared level that is not there", "is shared", elements(64), func(_ *plan.Kernel, p *plan.Band) { p.Items = 9 }},
		{"a pack of columns that is too small", "a pack of columns does not hold", matmul(uop.Float32, 1024, 1024, 1024), func(_ *plan.Kernel, p *plan.Band) { p.Packs[0].Buf.Size = 1 }},
		{"a pack of rows that is too small", "a pack of rows does not hold", rowsApart, func(_ *plan.Kernel, p *plan.Band) { p.RowPacks[0].Buf.Size = 1 }},
		{"scratch memory that is too small", "ends behind the 64 bytes", rowsApart, func(k *plan.Kernel, _ *plan.Band) { k.Memory.Bytes = 64 }},
		{"passes behind all loops", "the sums of passes before level", sumRows(64, 512), func(_ *plan.Kernel, p *plan.Band) { p.MultiPass.At = 9 }},
		{"an operand without memory", "an operand does not hold", matmul(uop.BFloat16, 64, 64, 64), func(_ *plan.Kernel, p *plan.Band) { p.Product.Rows.Buf = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := planOf(t, m, "", c.build)
			for _, p := range k.BandOf {
				c.spoil(k, p)
			}
			if err := k.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, expected one with %q", err, c.want)
			}
		})
	}
}

// TestDynamicRows: rows whose number is a variable are tiled, packed and blocked as the greatest number of them would be; tiles of few rows are low,
// since the remainder is computed row by row.
func TestDynamicRows(t *testing.T) {
	big := ir.AVX512
	big.L1, big.L2, big.L3, big.Threads = 48<<10, 2<<20, 4<<20, 2
	for _, c := range []struct {
		name     string
		m        ir.Machine
		rows     int64
		fromLast int
		want     string
	}{
		{"many rows", big, 1024, 2, "of at most 1024, tiles of 6 x 1, rows"},
		{"columns are packed for many", big, 1024, 2, "pack LOAD for columns"},
		{"threads share what has a known count", big, 1024, 2, "blocks of axis 2 of 2 tiles, shared"},
		{"fewer rows", big, 48, 2, "of at most 48, tiles of 6 x 1, rows"},
		{"few rows", big, 7, 2, "of at most 7, tiles of 4 x 1, rows"},
		{"few rows do not pay for packing", big, 7, 2, "!pack"},
		{"very few rows", big, 3, 2, "of at most 3, tiles of 3 x 1, rows"},
		{"without masks", ir.SSE4, 1024, 2, "of at most 1024, tiles of 4 x 1, rows"},
		{"sums over rows in passes", big, 1024, 1, "in passes over rows"},
		{"too few of them", big, 31, 1, "!passes"},
		{"columns of variable number are packed tile by tile", big, -1024, 2, "loop over tiles of axis 2, shared by threads\n  pack LOAD for columns, 1024 steps\n"},
		{"few of them are not packed", big, -48, 2, "!pack"},
		{"GPUs share rows and columns of variable number", ir.WebGPU, -256, 2, "loop over iterations of axis 1, shared by threads with axis 2\n"},
		{"but no more of them than keep one busy", ir.WebGPU, -1 << 15, 2, "loop over iterations of axis 1, shared by threads\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			build := rowsUpTo(c.rows, 1024, 1024)
			if c.rows < 0 {
				build = squareUpTo(-c.rows, 1024)
			}
			if p := planAs(t, c.m, "", build, c.fromLast, c.m.Invocations).String(); strings.Contains(p, strings.TrimPrefix(c.want, "!")) == strings.HasPrefix(c.want, "!") {
				t.Errorf("expected %q in\n%s", c.want, p)
			}
		})
	}
}

// GPUs with workgroup memory: rectangles of lanes for products, lanes that share the steps of sums.
func TestWorkgroups(t *testing.T) {
	small := ir.WebGPU
	small.Shared = 0 // a processor that stands for one
	large := ir.WebGPU
	large.Shared = 32 << 10
	tight := ir.WebGPU
	tight.Shared = 5 << 10
	vector := func(k, n int64) func(inputs) *uop.UOp { return matmul(uop.Float32, 1, k, n) }
	for name, c := range map[string]struct {
		m     ir.Machine
		build func(inputs) *uop.UOp
		lanes int
		has   []string
	}{
		"large product": {large, matmul(uop.Float32, 4096, 4096, 4096), 256, []string{"tiles of 8 x 16 lanes, vectors", "in stages of 16 steps"}},
		"little memory": {ir.WebGPU, matmul(uop.Float32, 4096, 4096, 4096), 256, []string{"tiles of 8 x 16 lanes, vectors", "in stages of 8 steps"}},
		"product":       {ir.WebGPU, matmul(uop.Float32, 1024, 1024, 1024), 256, []string{"tiles of 4 x 32 lanes", "in stages of 16 steps"}},
		"small product": {ir.WebGPU, matmul(uop.Float32, 64, 64, 64), 64, []string{"tiles of 4 x 8 lanes"}},
		"images": {ir.WebGPU, func(in inputs) *uop.UOp {
			return must(tensor.Conv(in(uop.Float32, 32, 64, 32, 32), in(uop.Float32, 64, 64, 3, 3), nil, 1, tensor.Window{}))
		}, 64, []string{"tiles of 2 x 1 lanes", "tiles of 4 x 8 lanes", "in stages of 16 steps"}},
		"two kinds without room": {tight, func(in inputs) *uop.UOp {
			ints := must(tensor.MatMul(in(uop.Int32, 512, 512), in(uop.Int32, 512, 512)))
			return must(tensor.Add(must(tensor.MatMul(in(uop.Float32, 512, 512), in(uop.Float32, 512, 512))), ints.Cast(uop.Float32)))
		}, 256, nil},
		"few rows":        {ir.WebGPU, matmul(uop.Float32, 5, 300, 4000), 256, []string{"16 lanes of sums", "across lanes"}},
		"vector x matrix": {ir.WebGPU, vector(4096, 4096), 256, []string{"16 lanes of sums"}},
		"wide matrix":     {ir.WebGPU, vector(512, 1<<16), 256, []string{"4 lanes of sums"}},
		"transposed":      {ir.WebGPU, func(in inputs) *uop.UOp { return turned(in(uop.Float32, 1000, 701)) }, 256, []string{"tiles of 4 x 8 lanes", "tiles of 1 x 32 lanes"}},
		"few steps":       {ir.WebGPU, vector(12, 1<<10), 64, []string{"unrolled"}},
		"sum over rows":   {ir.WebGPU, sumRows(4096, 1024), 256, []string{"32 lanes of sums"}},
		"long rows":       {ir.WebGPU, sumColumns(10, 4096), 256, []string{"along vectors"}},
		"short rows":      {ir.WebGPU, sumColumns(4096, 128), 64, []string{"along vectors"}},
		"for a processor": {small, matmul(uop.Float32, 1024, 1024, 1024), 64, []string{"tiles of 2 x 64, vectors"}},
		"elements for a processor": {small, func(in inputs) *uop.UOp {
			return must(tensor.Add(in(uop.Float32, 1000, 1000), in(uop.Float32, 1000, 1000)))
		}, 64, []string{"tiles of 4 x 64, vectors"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := planOf(t, c.m, "", c.build)
			text := k.String()
			for _, has := range c.has {
				if k.Lanes != c.lanes || !strings.Contains(text, has) {
					t.Errorf("expected %d lanes and %q, got\n%s", c.lanes, has, text)
				}
			}
			if k.Memory.Shared > c.m.Shared {
				t.Errorf("%d bytes of workgroup memory, expected at most %d", k.Memory.Shared, c.m.Shared)
			}
		})
	}
}

// A number of 64 bits that all iterations read leaves vectors of 32-bit elements whole; elements of 64 bits do not.
func TestLanesBesideWideNumbers(t *testing.T) {
	for _, c := range []struct {
		n     int64
		lanes int
	}{{1, 16}, {4096, 8}} {
		k := planOf(t, ir.AVX512, plan.Choice(""), func(in inputs) *uop.UOp {
			return in(uop.Float32, 4096).Add(in(uop.Int64, c.n).Expand(uop.ShapeOf(4096)).Cast(uop.Float32))
		})
		if k.Lanes != c.lanes {
			t.Errorf("%d numbers: %d lanes, expected %d", c.n, k.Lanes, c.lanes)
		}
	}
}
