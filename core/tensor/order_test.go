package tensor_test

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/tests/part"
)

var nan, inf = math.NaN(), math.Inf(1)

// same compares numbers; NaN equals NaN.
func (l *lab) same(name string, got, want []float64) {
	l.t.Helper()
	if len(got) != len(want) {
		l.t.Fatalf("%s: %v, want %v", name, got, want)
	}
	for i := range got {
		if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			l.t.Fatalf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestOrderOfNaN(t *testing.T) {
	l := newLab(t, "wasm")
	x := l.tensor(uop.Float32, []float64{3, nan, 1, inf, -inf, nan, 2}, 7).UOp
	v, i := must2(tensor.Sort(x, 0, false))
	l.same("sort", l.values(v), []float64{-inf, 1, 2, 3, inf, nan, nan})
	l.same("places", l.values(i), []float64{4, 2, 6, 0, 3, 1, 5})
	v, i = must2(tensor.Sort(x, 0, true))
	l.same("sort down", l.values(v), []float64{nan, nan, inf, 3, 2, 1, -inf})
	l.same("places down", l.values(i), []float64{1, 5, 3, 0, 6, 2, 4})
	v, i = must2(tensor.TopK(x, 2, 0, false))
	l.same("least", l.values(v), []float64{-inf, 1})
	l.same("places of the least", l.values(i), []float64{4, 2})
	v, i = must2(tensor.CumMax(x, 0))
	l.same("cummax", l.values(v), []float64{3, nan, nan, nan, nan, nan, nan})
	l.same("places of cummax", l.values(i), []float64{0, 1, 1, 1, 1, 1, 1})
	v, i = must2(tensor.CumMin(l.tensor(uop.Float32, []float64{3, 1, 2, nan, 0}, 5).UOp, 0))
	l.same("cummin", l.values(v), []float64{3, 1, 1, nan, nan})
	l.same("places of cummin", l.values(i), []float64{0, 1, 1, 3, 3})
	l.same("logcumsumexp", l.values(must(tensor.LogCumSumExp(l.tensor(uop.Float32, []float64{-inf, 0, inf, 0, nan}, 5).UOp, 0))),
		[]float64{-inf, 0, inf, inf, nan})
	v, i = must2(tensor.MaxPoolIndices(l.tensor(uop.Float32, []float64{1, nan, 2, 5}, 4).UOp, []int64{2}, tensor.Window{}))
	l.same("maxpool", l.values(v), []float64{nan, 5})
	l.same("places of maxpool", l.values(i), []float64{1, 3})
}

// TestOrder sorts types and sizes; from 16384 on the sort is another one.
func TestOrder(t *testing.T) {
	l := newLab(t, "wasm")
	sizes := []int64{1, 2, 5, 64, 300}
	if !testing.Short() {
		sizes = append(sizes, 16384)
	}
	for _, dt := range []*uop.DType{uop.Float32, uop.Int32, uop.Bool, uop.Uint8} {
		for _, n := range sizes {
			if n > 1000 && dt != uop.Float32 {
				continue
			}
			for _, down := range []bool{false, true} {
				if n > 1000 && !down {
					continue
				}
				x := random(dt, 0, 50, int(n), n)
				if dt.IsFloat() && n > 2 {
					x.v[n/2], x.v[n/3] = nan, nan
				}
				order := make([]int, n)
				for i := range order {
					order[i] = i
				}
				greater := func(a, b float64) bool { return a > b || math.IsNaN(a) && !math.IsNaN(b) }
				sort.SliceStable(order, func(i, j int) bool {
					a, b := x.v[order[i]], x.v[order[j]]
					if down {
						return greater(a, b)
					}
					return greater(b, a)
				})
				v, at := must2(tensor.Sort(x.tensor(l, dt).UOp, 0, down))
				if v.DType != dt {
					t.Fatalf("sorted %s are %s", dt, v.DType)
				}
				gotV, gotAt := l.values(v), l.values(at)
				for i, o := range order {
					if int(gotAt[i]) != o || gotV[i] != x.v[o] && !math.IsNaN(x.v[o]) {
						t.Fatalf("%s of %d, down %v: element %d is %v from %v, want %v from %d", dt, n, down, i, gotV[i], gotAt[i], x.v[o], o)
					}
				}
			}
		}
	}
}

// TestSortsOfRows sorts rows and columns of matrices by digits, by networks, and by networks in blocks: values alone, positions alone, and
// both at once.
func TestSortsOfRows(t *testing.T) {
	type rowsOf struct {
		shape []int64
		axis  int
		dt    *uop.DType
		down  bool
	}
	for i, device := range []string{"wasm", "native"} {
		l := newLab(t, device)
		for _, c := range part.Of(t, []rowsOf{
			{[]int64{3, 100}, 1, uop.Float32, false}, {[]int64{100, 3}, 0, uop.Float32, true}, {[]int64{20, 41}, 1, uop.Float64, false},
			{[]int64{17, 1000}, 1, uop.Float32, false}, {[]int64{1000, 33}, 0, uop.Int32, true}, {[]int64{19, 1003}, 1, uop.Uint8, false},
			{[]int64{70, 4001}, 1, uop.Float32, false}, {[]int64{1030, 301}, 0, uop.Float32, true}, {[]int64{2, 9000}, 1, uop.Int16, true},
			{[]int64{17, 600}, 1, uop.Float64, true}, {[]int64{257, 40}, 0, uop.Int64, false}, {[]int64{16, 1100}, 1, uop.Uint64, true},
			{[]int64{16, 450}, 1, uop.Float32, false}, {[]int64{16, 49}, 1, uop.Float64, false},
		}, 3, i) {
			rows, n := c.shape[1-c.axis], c.shape[c.axis]
			x := random(c.dt, 0, 50, int(n), c.shape...)
			if c.dt.Itemsize() == 8 { // both halves differ
				for i, v := range x.v {
					x.v[i] = v*(1<<34) + float64(i%3)
				}
			}
			at := func(row, i int64) int64 { return i*[]int64{c.shape[1], 1}[c.axis] + row*[]int64{1, c.shape[1]}[c.axis] }
			if c.dt.IsFloat() {
				for row := range rows {
					x.v[at(row, n/2)], x.v[at(row, n/3)], x.v[at(row, n/5)] = nan, math.Copysign(0, -1), 0
				}
			}
			greater := func(a, b float64) bool { return a > b || math.IsNaN(a) && !math.IsNaN(b) }
			places, sorted := make([]float64, len(x.v)), make([]float64, len(x.v))
			order := make([]int64, n)
			for row := range rows {
				for i := range order {
					order[i] = int64(i)
				}
				sort.SliceStable(order, func(i, j int) bool {
					a, b := x.v[at(row, order[i])], x.v[at(row, order[j])]
					if c.down {
						return greater(a, b)
					}
					return greater(b, a)
				})
				for i, o := range order {
					places[at(row, int64(i))], sorted[at(row, int64(i))] = float64(o), x.v[at(row, o)]
				}
			}
			name := fmt.Sprint(device, c.shape, c.axis, c.dt)
			values, positions := must2(tensor.Sort(x.tensor(l, c.dt).UOp, c.axis, c.down))
			check := func(what string, got, want []float64) {
				for i, v := range got {
					if v != want[i] && !(math.IsNaN(v) && math.IsNaN(want[i])) {
						t.Fatalf("%s of %s: number %d is %v, want %v", what, name, i, v, want[i])
					}
				}
			}
			check("values", l.values(values), sorted)
			check("positions", l.values(positions), places)
			for _, k := range []int{1, 3, 20} { // of 20, groups are sorted
				values, positions = must2(tensor.TopK(x.tensor(l, c.dt).UOp, int64(k), c.axis, c.down))
				var firstValues, firstPlaces []float64
				for i := range sorted {
					if []int{i / int(c.shape[1]), i % int(c.shape[1])}[c.axis] < k {
						firstValues, firstPlaces = append(firstValues, sorted[i]), append(firstPlaces, places[i])
					}
				}
				check(fmt.Sprint("values of topk ", k), l.values(values), firstValues)
				check(fmt.Sprint("positions of topk ", k), l.values(positions), firstPlaces)
			}
			values, positions = must2(tensor.Sort(x.tensor(l, c.dt).UOp, c.axis, c.down))
			wide := must(tensor.Cast(positions.UOp, uop.Float64))
			wide = must(tensor.Mul(wide.UOp, wide.UOp.ConstLike(uop.Float(128))))
			both := l.values(must(tensor.Add(wide.UOp, must(tensor.Cast(values.UOp, uop.Float64)).UOp)))
			for i := range sorted {
				places[i] = places[i]*128 + sorted[i]
			}
			check("both", both, places)
		}
	}
}

func TestSelect(t *testing.T) {
	l := newLab(t, "wasm")
	x := l.tensor(uop.Float32, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	mask := l.tensor(uop.Bool, []float64{1, 0, 1, 0, 1, 0}, 2, 3).UOp
	l.same("masked_select", l.values(must(tensor.MaskedSelect(x.UOp, mask, 3))), []float64{1, 3, 5})
	l.same("too many", l.values(must(tensor.MaskedSelect(x.UOp, mask, 5))), []float64{1, 3, 5, 0, 0})
	l.same("too few", l.values(must(tensor.MaskedSelect(x.UOp, mask, 2))), []float64{1, 3})
	l.same("none", l.values(must(tensor.MaskedSelect(x.UOp, mask, 0))), nil)
	row := l.tensor(uop.Bool, []float64{0, 1, 1}, 3).UOp
	l.same("broadcast", l.values(must(tensor.MaskedSelect(x.UOp, row, 4))), []float64{2, 3, 5, 6})
	z := l.tensor(uop.Float32, []float64{0, nan, 0, -1, 0, 2}, 2, 3).UOp
	l.same("nonzero", l.values(must(tensor.NonZero(z, 3))), []float64{0, 1, 1, 0, 1, 2})
	at := l.tensor(uop.Int32, []float64{2, 0, -1, 7}, 4).UOp
	l.same("index_select", l.values(must(tensor.IndexSelect(x.UOp, 1, at))), []float64{3, 1, 3, 0, 6, 4, 6, 0})
	v, i := must2(tensor.MaxPoolIndices(l.tensor(uop.Float32, []float64{1, 5, 2, 3}, 1, 1, 4).UOp, []int64{2}, tensor.Window{}))
	l.same("unpool", l.values(must(tensor.MaxUnpool(v.UOp, i.UOp, []int64{2}, tensor.Window{}, nil))), []float64{0, 5, 0, 3})
	l.same("unpool to 5", l.values(must(tensor.MaxUnpool(v.UOp, i.UOp, []int64{2}, tensor.Window{}, []int64{5}))), []float64{0, 5, 0, 3, 0})
}

func TestAngles(t *testing.T) {
	l := newLab(t, "wasm")
	for _, dt := range []*uop.DType{uop.Float32, uop.Float64} {
		special := []float64{0, math.Copysign(0, -1), 1, -1, inf, -inf, nan, 3e38, 1e-40, 2.5}
		if dt == uop.Float64 { // sums beyond the range, and subnormal numbers
			special = append(special, 1.7e308, -1.1e308, 8e307, 5e-324, 1e-323, 3e-310)
		}
		var y, x []float64
		for _, a := range special {
			for _, b := range special {
				y, x = append(y, a), append(x, b)
			}
		}
		n := int64(len(y))
		ty, tx := l.tensor(dt, y, n), l.tensor(dt, x, n)
		angles, lengths := l.values(must(tensor.Atan2(ty.UOp, tx.UOp))), l.values(must(tensor.Hypot(ty.UOp, tx.UOp)))
		eps, tiny := math.Ldexp(1, -22), math.Ldexp(1, -148)
		if dt == uop.Float64 {
			eps, tiny = math.Ldexp(1, -50), 0
		}
		for i := range y {
			want := math.Atan2(y[i], x[i])
			if !(math.Abs(angles[i]-want) <= eps*math.Abs(want)+tiny) && !(math.IsNaN(want) && math.IsNaN(angles[i])) || math.Signbit(want) != math.Signbit(angles[i]) && want == 0 {
				t.Errorf("%s: atan2(%v, %v) is %v, want %v", dt, y[i], x[i], angles[i], want)
			}
			want = uop.RoundTo(dt, math.Hypot(uop.RoundTo(dt, y[i]), uop.RoundTo(dt, x[i])))
			if !(math.Abs(lengths[i]-want) <= 2*eps*math.Abs(want)) && lengths[i] != want && !(math.IsNaN(want) && math.IsNaN(lengths[i])) {
				t.Errorf("%s: hypot(%v, %v) is %v, want %v", dt, y[i], x[i], lengths[i], want)
			}
		}
	}
}

func TestDraws(t *testing.T) {
	l := newLab(t, "wasm")
	seed := l.tensor(uop.Uint32, []float64{7, 0}, 2).UOp
	const n = 20000
	w := l.tensor(uop.Float32, []float64{1, 0, 3, 4}, 4).UOp
	counts := make([]float64, 4)
	for _, v := range l.values(must(tensor.MultinomialSeeded(w, n, true, seed))) {
		counts[int(v)]++
	}
	for i, share := range []float64{1.0 / 8, 0, 3.0 / 8, 4.0 / 8} {
		if math.Abs(counts[i]/n-share) > 0.02 || share == 0 && counts[i] > 0 {
			t.Errorf("class %d: %v of %d, want the share %v", i, counts[i], n, share)
		}
	}
	// Without replacement: the first draw has the shares of the weights, and every row holds different classes.
	rows := build(func(i []int64) float64 { return []float64{1, 2, 3, 4}[i[1]] }, 4000, 4)
	drawn := l.values(must(tensor.MultinomialSeeded(rows.tensor(l, uop.Float32).UOp, 3, false, seed)))
	first := make([]float64, 4)
	for r := range 4000 {
		a, b, c := drawn[3*r], drawn[3*r+1], drawn[3*r+2]
		if a == b || b == c || a == c {
			t.Fatalf("row %d draws %v %v %v", r, a, b, c)
		}
		first[int(a)]++
	}
	for i := range first {
		if share := float64(i+1) / 10; math.Abs(first[i]/4000-share) > 0.03 {
			t.Errorf("class %d comes first %v times in 4000, want the share %v", i, first[i], share)
		}
	}
	perm := l.values(must(tensor.RandPermSeeded(100, uop.Int32, seed)))
	seen := map[float64]bool{}
	for _, v := range perm {
		seen[v] = v >= 0 && v < 100
	}
	if len(seen) != 100 {
		t.Errorf("no permutation: %v", perm)
	}
	for scheme, bound := range []float64{1 / math.Sqrt(40*30*5), math.Sqrt(6.0 / (40 + 150)), math.Sqrt(6.0 / (1.25 * 150)), 0} {
		v := l.values(must(tensor.InitSeeded(tensor.InitScheme(scheme), uop.ShapeOf(40, 30, 5), 0.5, uop.Float32, seed)))
		most, squares := 0.0, 0.0
		for _, x := range v {
			most, squares = max(most, math.Abs(x)), squares+x*x
		}
		deviation := math.Sqrt(squares / float64(len(v)))
		want := bound / math.Sqrt(3)
		if bound == 0 {
			want = math.Sqrt(2 / (1.25 * 150))
		} else if most > bound || most < 0.99*bound {
			t.Errorf("scheme %d: up to %v, want %v", scheme, most, bound)
		}
		if math.Abs(deviation/want-1) > 0.03 {
			t.Errorf("scheme %d: deviation %v, want %v", scheme, deviation, want)
		}
	}
}

// TestPositionsInBlocks looks for the greatest and the least elements of rows that are searched in blocks, and in blocks of blocks.
func TestPositionsInBlocks(t *testing.T) {
	l := newLab(t, "native")
	for _, dt := range []*uop.DType{uop.Float32, uop.Float64, uop.Int32, uop.Uint8} {
		for _, n := range []int{255, 256, 1000, 70001} {
			const rows = 3
			x := random(dt, 0, 50, n, rows, int64(n)) // many equal elements
			if dt.IsFloat() {
				x.v[n+n/2], x.v[n+n-1] = nan, nan
				for i := range n {
					x.v[2*n+i] = math.Inf(-1)
				}
			}
			greatest, least := make([]float64, rows), make([]float64, rows)
			for r := range rows {
				row := x.v[r*n : r*n+n]
				for i, v := range row {
					if g := row[int(greatest[r])]; v > g || math.IsNaN(v) && !math.IsNaN(g) {
						greatest[r] = float64(i)
					}
					if g := row[int(least[r])]; v < g || math.IsNaN(v) && !math.IsNaN(g) {
						least[r] = float64(i)
					}
				}
			}
			name := fmt.Sprint(dt, n)
			u := x.tensor(l, dt).UOp
			l.same("argmax of "+name, l.values(must(tensor.ArgMax(u, 1, false))), greatest)
			l.same("argmin of "+name, l.values(must(tensor.ArgMin(u, -1, true))), least)
			at := must(tensor.ArgMax(u, 1, false)).UOp // in an expression, it has its own shape
			l.same("argmax in a sum of "+name, l.values(must(tensor.Add(at, at.ConstLike(uop.Int(1))))), sum1(greatest))
			_, places := must2(tensor.TopK(u, 1, 1, true))
			l.same("topk in a sum of "+name, l.values(must(tensor.Add(places.UOp, places.UOp.ConstLike(uop.Int(1))))), sum1(greatest))
		}
	}
}

func sum1(x []float64) []float64 {
	r := slices.Clone(x)
	for i := range r {
		r[i]++
	}
	return r
}
