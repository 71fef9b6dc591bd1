package ranges

import (
	"math/rand"
	"slices"
	"testing"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// env gives RANGEs and DEFINE_VARs values.
type env map[*uop.UOp]int64

// eval computes an index expression; a REDUCE is summed over all values of its ranges.
func eval(t *testing.T, u *uop.UOp, e env) uop.Const {
	t.Helper()
	switch u.Op {
	case uop.ConstOp:
		return u.ConstVal()
	case uop.Range, uop.DefineVar:
		v, ok := e[u]
		if !ok {
			t.Fatalf("%s has no value", u)
		}
		return uop.Int(v)
	case uop.Cast:
		return eval(t, u.Src[0], e).As(u.DType)
	case uop.Reduce:
		return evalSum(t, u, u.Src[1:], e)
	case uop.Where:
		if eval(t, u.Src[0], e).Truth() {
			return eval(t, u.Src[1], e)
		}
		return eval(t, u.Src[2], e)
	}
	args := make([]uop.Const, len(u.Src))
	for i, s := range u.Src {
		args[i] = eval(t, s, e)
	}
	v, ok := uop.ExecALU(u.Op, args...)
	if !ok {
		t.Fatalf("cannot compute %s", u)
	}
	return v
}

func evalSum(t *testing.T, u *uop.UOp, rngs []*uop.UOp, e env) uop.Const {
	if len(rngs) == 0 {
		return eval(t, u.Src[0], e)
	}
	sum := uop.Int(0)
	for i := range eval(t, rngs[0].Src[0], e).I() {
		e[rngs[0]] = i
		sum = sum.Add(evalSum(t, u, rngs[1:], e))
	}
	return sum
}

func loops(g *uop.Graph, dims []int64) []*uop.UOp {
	out := make([]*uop.UOp, len(dims))
	for i, d := range dims {
		out[i] = g.ConstInt(0)
		if d != 1 {
			out[i] = g.Range(uop.N(d), uop.AxisLoop, i)
		}
	}
	return out
}

// each calls f for all values of the ranges among rngs.
func each(rngs []*uop.UOp, e env, f func(at []int64)) {
	at := make([]int64, len(rngs))
	var walk func(i int)
	walk = func(i int) {
		if i == len(rngs) {
			f(at)
			return
		}
		n := int64(1)
		if rngs[i].Op == uop.Range {
			n = rngs[i].Src[0].ConstVal().I()
		}
		for at[i] = 0; at[i] < n; at[i]++ {
			e[rngs[i]] = at[i]
			walk(i + 1)
		}
	}
	walk(0)
}

func TestMovementReadsTheRightElement(t *testing.T) {
	g := symbolic.NewGraph()
	base := g.NewBuffer("CPU", 24, uop.Float32).Reshape(uop.ShapeOf(4, 1, 6))
	pair := func(lo, hi int64) uop.Pair { return uop.Pair{Lo: uop.N(lo), Hi: uop.N(hi)} }
	cases := map[string]struct {
		u *uop.UOp
		// source is the index into the source, nil outside of it.
		source func(at []int64) []int64
	}{
		"permute": {base.Permute([]int{2, 0, 1}), func(at []int64) []int64 { return []int64{at[1], at[2], at[0]} }},
		"expand":  {base.Expand(uop.ShapeOf(4, 5, 6)), func(at []int64) []int64 { return []int64{at[0], 0, at[2]} }},
		"flip":    {base.Flip([]bool{true, false, true}), func(at []int64) []int64 { return []int64{3 - at[0], at[1], 5 - at[2]} }},
		"shrink":  {base.Shrink([]uop.Pair{pair(1, 4), pair(0, 1), pair(2, 5)}), func(at []int64) []int64 { return []int64{at[0] + 1, at[1], at[2] + 2} }},
		"pad": {base.Pad([]uop.Pair{pair(2, 1), pair(0, 0), pair(0, 3)}), func(at []int64) []int64 {
			if at[0] < 2 || at[0] >= 6 || at[2] >= 6 {
				return nil
			}
			return []int64{at[0] - 2, at[1], at[2]}
		}},
		"reshape": {base.Reshape(uop.ShapeOf(3, 8)), func(at []int64) []int64 {
			flat := at[0]*8 + at[1]
			return []int64{flat / 6, 0, flat % 6}
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dims, _ := c.u.Shape().Ints()
			rngs := loops(g, dims)
			got := ApplyMovement(c.u, rngs)
			e := env{}
			each(rngs, e, func(at []int64) {
				want := c.source(at)
				inside := true
				idx := make([]int64, len(got))
				for i, r := range got {
					v := eval(t, r, e)
					if v.IsInvalid() {
						inside = false
						continue
					}
					idx[i] = v.I()
				}
				if inside != (want != nil) || inside && !slices.Equal(idx, want) {
					t.Fatalf("at %v reads %v (inside %v), expected %v", at, idx, inside, want)
				}
			})
		})
	}
}

// The fast path for reshapes that only move axes of size 1 gives the same indices as the general one.
func TestRenamedAxesEqualPlaceholders(t *testing.T) {
	g := symbolic.NewGraph()
	r := rand.New(rand.NewSource(1))
	short := 0
	for range 200 {
		var dims []int64
		for range r.Intn(4) {
			dims = append(dims, []int64{1, 2, 3, 16}[r.Intn(4)])
		}
		withOnes := func() []int64 {
			out := []int64{}
			for _, d := range dims {
				for r.Intn(3) == 0 {
					out = append(out, 1)
				}
				out = append(out, d)
			}
			return out
		}
		in, out := withOnes(), withOnes()
		rngs := loops(g, out)
		fast := renamedAxes(g, uop.ShapeOf(in...), uop.ShapeOf(out...), rngs)
		if fast == nil {
			t.Fatalf("reshape %v -> %v went the long way", in, out)
		}
		slow := reshapeByPlaceholders(g, uop.ShapeOf(in...), uop.ShapeOf(out...), rngs).Src
		if !slices.Equal(fast, slow) {
			t.Fatalf("reshape %v -> %v: %v, expected %v", in, out, fast, slow)
		}
		short += len(in)
	}
	if short == 0 {
		t.Error("no shape had an axis")
	}
	if renamedAxes(g, uop.ShapeOf(2, 3), uop.ShapeOf(3, 2), loops(g, []int64{3, 2})) != nil {
		t.Error("a reshape that mixes axes was taken for a renaming")
	}
}

// So does the fast path for reshapes of several axes to one.
func TestFlatIndexEqualsPlaceholders(t *testing.T) {
	g := symbolic.NewGraph()
	r := rand.New(rand.NewSource(1))
	for range 200 {
		dims, size := make([]int64, 2+r.Intn(5)), int64(1)
		for i := range dims {
			dims[i] = []int64{1, 2, 3, 16, 100}[r.Intn(5)]
			size *= dims[i]
		}
		in, out, rngs := uop.ShapeOf(size), uop.ShapeOf(dims...), loops(g, dims)
		r.Shuffle(len(rngs), func(i, j int) {
			if dims[i] == dims[j] {
				rngs[i], rngs[j] = rngs[j], rngs[i]
			}
		})
		for i, d := range dims { // slices of some axes, the first places of others
			switch {
			case d > 1 && r.Intn(3) == 0:
				rngs[i] = g.ConstInt(0)
			case d > 2 && r.Intn(3) == 0:
				rngs[i] = g.Range(uop.N(d-1), uop.AxisLoop, rngs[i].RangeID().ID[0])
			}
		}
		fast := flatIndex(in, out, rngs)
		if slow := reshapeByPlaceholders(g, in, out, rngs).Src[0]; fast != slow {
			t.Fatalf("reshape %v -> %v: %v, expected %v", size, dims, fast, slow)
		}
	}
	a := g.Range(uop.N(3), uop.AxisLoop, 0)
	for _, rngs := range [][]*uop.UOp{{a, a}, {a, a.AddInt(0).Mul(a)}, {g.Range(uop.N(4), uop.AxisLoop, 1), a}} {
		if v := flatIndex(uop.ShapeOf(9), uop.ShapeOf(3, 3), rngs); v != nil {
			t.Errorf("%v was taken for the index of ranges: %s", rngs, v.Render())
		}
	}
}

func TestSumsOverComparisonsFold(t *testing.T) {
	g := symbolic.NewGraph()
	n := int64(6)
	r := g.Range(uop.N(n), uop.AxisReduceT, 0)
	v := g.Variable("v", uop.Int(-3), uop.Int(9), uop.IndexT)
	w := g.Variable("w", uop.Int(-2), uop.Int(8), uop.IndexT)
	five, none := g.ConstInt(5), g.ConstInt(0)
	sums := map[string]*uop.UOp{
		"above":       r.Lt(v).Where(five, none),
		"below":       r.Lt(v).Where(none, five),
		"between":     r.Lt(w).Not().And(r.Lt(v)).Where(five, none),
		"moved":       r.Add(w).Lt(v).Where(five, none),
		"scaled":      r.MulInt(2).Lt(v).Where(none, five),
		"independent": v.Mul(w),
	}
	for name, s := range sums {
		t.Run(name, func(t *testing.T) {
			sum := s.ReduceOver(uop.Add, r)
			got := rewrite.Graph(sum, ReduceSimplify, nil)
			if !noRange(got) {
				t.Fatalf("%s still has the range", got.Render())
			}
			for i := int64(-3); i <= 9; i++ {
				for j := int64(-2); j <= 8; j++ {
					want, have := eval(t, sum, env{v: i, w: j}), eval(t, got, env{v: i, w: j})
					if !want.Eq(have) {
						t.Fatalf("v=%d w=%d: %s is %s, expected %s", i, j, got.Render(), have, want)
					}
				}
			}
		})
	}
}

func TestSumsThatNeedTheRangeStay(t *testing.T) {
	g := symbolic.NewGraph()
	r := g.Range(uop.N(6), uop.AxisReduceT, 0)
	buf := g.New(uop.Param, uop.IndexT.Ptr(6, uop.Global), nil, uop.Num(0), nil)
	for name, s := range map[string]*uop.UOp{
		"square":     r.Mul(r),
		"load":       buf.IndexBy(r),
		"gated load": r.Lt(g.Variable("v", uop.Int(0), uop.Int(6), uop.IndexT)).Where(buf.IndexBy(r), g.ConstInt(0)),
	} {
		sum := s.ReduceOver(uop.Add, r)
		if got := rewrite.Graph(sum, ReduceSimplify, nil); got != sum {
			t.Errorf("%s became %s", name, got.Render())
		}
	}
}

// A sum of loads that selects one element becomes a load of that element.
func TestSelectedLoadNeedsNoSum(t *testing.T) {
	g := symbolic.NewGraph()
	r := g.Range(uop.N(6), uop.AxisReduceT, 0)
	i := g.Variable("i", uop.Int(-2), uop.Int(9), uop.IndexT)
	buf := g.New(uop.Param, uop.Float32.Ptr(6, uop.Global), nil, uop.Num(0), nil)
	load := buf.IndexBy(r)
	got := rewrite.Graph(i.Ne(r).Where(load.IntLike(0), load).ReduceOver(uop.Add, r), LoadCollapse, nil)
	if !noRange(got) || !got.HasOp(indexOp) {
		t.Fatalf("expected one load and no range:\n%s", got.Dump())
	}
	at := got.Find(func(u *uop.UOp) bool { return u.Op == uop.Index }).Src[1]
	for v := int64(-2); v <= 9; v++ {
		idx := eval(t, at, env{i: v})
		if inside := v >= 0 && v < 6; idx.IsInvalid() == inside || inside && idx.I() != v {
			t.Errorf("i=%d reads element %s", v, idx)
		}
	}
}

// Two sums share three loops, and those of one of them are merged.
func TestReductionsThatShareSomeRangesGetTheirOwn(t *testing.T) {
	g := symbolic.NewGraph()
	buf := g.New(uop.Param, uop.IndexT.Ptr(343, uop.Global), nil, uop.Num(0), nil)
	r := make([]*uop.UOp, 3)
	for i := range r {
		r[i] = g.Range(uop.N(7), uop.AxisReduceT, i)
	}
	sum := func(u *uop.UOp, rs ...*uop.UOp) *uop.UOp {
		return g.New(uop.Reduce, u.DType, append([]*uop.UOp{u}, rs...), uop.OpArg(uop.Add), nil)
	}
	flat := r[0].MulInt(49).Add(r[1].MulInt(7)).Add(r[2])
	alike := g.Sink(nil, sum(flat, r...), sum(flat.MulInt(2), r...))
	if got := SeparateReduces(alike); got != alike {
		t.Errorf("sums of the same ranges were changed:\n%s", got.Dump())
	}
	out := g.New(uop.Param, uop.IndexT.Ptr(2, uop.Global), nil, uop.Num(1), nil)
	store := func(i int64, u *uop.UOp) *uop.UOp { return out.IndexPtr(g.ConstInt(i)).Store(u) }
	one := g.Range(uop.N(49), uop.AxisReduceT, 0)
	before := g.Sink(nil, store(0, sum(flat, r...)), store(1, sum(one.MulInt(7).Add(r[2]), one, r[2])), store(1, sum(buf.IndexPtr(r[2]), r[2])))
	ended := map[*uop.UOp]int{}
	total := 0
	for _, u := range SeparateReduces(before).Toposort() {
		if u.Op == uop.Reduce {
			for _, x := range u.EndedRanges() {
				ended[x]++
				total++
			}
			if len(u.Ranges()) > 0 {
				t.Errorf("a sum still depends on ranges:\n%s", u.Dump())
			}
		}
	}
	if total != 6 || len(ended) != 6 {
		t.Errorf("%d loops of sums, %d of them different, expected 6", total, len(ended))
	}
}

// Sums over the same range, one of them inside of another sum's loop, and one that has a sum over the range of others inside.
func TestReductionsInsideOfOtherLoopsGetTheirOwn(t *testing.T) {
	g := symbolic.NewGraph()
	out := g.New(uop.Param, uop.IndexT.Ptr(8, uop.Global), nil, uop.Num(1), nil)
	i, j := g.Range(uop.N(4), uop.AxisLoop, 0), g.Range(uop.N(5), uop.AxisReduceT, 1)
	r, q := g.Range(uop.N(6), uop.AxisReduceT, 2), g.Range(uop.N(3), uop.AxisReduceT, 3)
	inner := r.Add(i).ReduceOver(uop.Add, r)
	nested := r.Mul(j).ReduceOver(uop.Add, r).ReduceOver(uop.Add, j)
	deep := q.Mul(r).ReduceOver(uop.Add, q)
	alone := deep.Mul(r).ReduceOver(uop.Add, r)
	beside := deep.Mul(j).ReduceOver(uop.Add, r).ReduceOver(uop.Add, j)
	sums := []*uop.UOp{inner, nested, alone, beside}
	var stores []*uop.UOp
	for _, s := range sums {
		stores = append(stores, out.IndexPtr(i).Store(s))
	}
	got := SeparateReduces(g.Sink(nil, g.Group(stores...).EndRanges(i)))
	loops := map[*uop.UOp]string{}
	for _, u := range got.Toposort() {
		if u.Op != uop.Reduce {
			continue
		}
		for _, x := range u.EndedRanges() {
			if key := loopsKey(u); loops[x] != "" && loops[x] != key {
				t.Errorf("%s is the loop of sums inside of different loops:\n%s", x, got.Dump())
			} else {
				loops[x] = key
			}
		}
	}
	for k, s := range got.Src[0].Src[0].Src {
		for v := range int64(4) {
			if a, b := eval(t, sums[k], env{i: v}), eval(t, s.Src[1], env{i: v}); !a.Eq(b) {
				t.Errorf("sum %d is %s for i=%d, expected %s:\n%s", k, b, v, a, s.Dump())
			}
		}
	}
}

func TestMergedAndSplitRangesVisitTheSame(t *testing.T) {
	g := symbolic.NewGraph()
	buf := g.New(uop.Param, uop.IndexT.Ptr(24, uop.Global), nil, uop.Num(0), nil)
	a, b := g.Range(uop.N(4), uop.AxisLoop, 0), g.Range(uop.N(6), uop.AxisLoop, 1)
	flat := a.MulInt(6).Add(b)
	merged := rewrite.Graph(buf.IndexPtr(flat).Store(flat.MulInt(3)).EndRanges(a, b), SimplifyRanges, nil)
	if len(merged.Src) != 2 || merged.Src[1].Src[0].ConstVal().I() != 24 {
		t.Errorf("two ranges over one index were not merged:\n%s", merged.Dump())
	}
	c := g.Range(uop.N(24), uop.AxisLoop, 0)
	sink := g.Sink(nil, buf.IndexPtr(c).Store(c.ModInt(6).Add(c.IdivInt(6))).EndRanges(c))
	split := rewrite.Graph(sink, rewrite.Concat("", SplitRanges, FlattenRange), Splits{})
	end := split.Src[0]
	if len(end.Src) != 3 {
		t.Fatalf("the range was not split:\n%s", split.Dump())
	}
	seen := map[int64]bool{}
	e := env{}
	each(end.Src[1:], e, func([]int64) {
		i := eval(t, end.Src[0].Src[0].Src[1], e).I()
		if v := eval(t, end.Src[0].Src[1], e).I(); v != i%6+i/6 {
			t.Errorf("element %d gets %d, expected %d", i, v, i%6+i/6)
		}
		seen[i] = true
	})
	if len(seen) != 24 {
		t.Errorf("%d elements were written, expected 24", len(seen))
	}
}

func TestRangesWithATermOfTheirOwnAreNotMerged(t *testing.T) {
	g := symbolic.NewGraph()
	a, b := g.Range(uop.N(4), uop.AxisLoop, 0), g.Range(uop.N(6), uop.AxisLoop, 1)
	at := func(slot, size int64, idx *uop.UOp) *uop.UOp {
		return g.New(uop.Param, uop.Float32.Ptr(size, uop.Global), nil, uop.Num(slot), nil).IndexPtr(idx)
	}
	flat := a.MulInt(6).Add(b)
	for name, c := range map[string]struct {
		read *uop.UOp
		one  bool
	}{
		"same":    {at(1, 24, flat), true},
		"row":     {at(1, 4, a), false},
		"column":  {at(1, 36, b.MulInt(6)), false},
		"compare": {at(1, 24, a.LtInt(2).Where(flat, g.InvalidIndex(1))), true},
	} {
		end := at(0, 24, flat).Store(c.read.Load()).EndRanges(a, b)
		merged := rewrite.Graph(end, SimplifyRanges, nil)
		if one := len(merged.Src) == 2; one != c.one || !c.one && merged != end {
			t.Errorf("%s: merged is %v, expected %v:\n%s", name, one, c.one, merged.Dump())
		}
	}
}

func TestBufferizeBecomesAStore(t *testing.T) {
	g := symbolic.NewGraph()
	a, b := g.Range(uop.N(4), uop.AxisLoop, 1), g.Range(uop.N(6), uop.AxisLoop, 0)
	v := a.MulInt(10).Add(b)
	for _, space := range []uop.AddrSpace{uop.Global, uop.Local} {
		u := g.New(uop.Bufferize, uop.IndexT, []*uop.UOp{v, a, b}, uop.BufferizeOpts{Device: "CPU", Space: space}, nil)
		got := rewrite.GraphTopDown(u, AddBuffersLocal, &Counter{Next: 3})
		if got.Op != uop.Reshape || !got.Shape().Equal(uop.ShapeOf(4, 6)) || got.Src[0].Op != uop.After {
			t.Fatalf("expected a RESHAPE of an AFTER:\n%s", got.Dump())
		}
		buf, end := got.Src[0].Src[0], got.Src[0].Src[1]
		want := uop.Buffer
		if space == uop.Local {
			want, end = uop.DefineLocal, end.Src[0]
		}
		if buf.Op != want || end.Op != uop.End || end.Src[1] != b || end.Src[2] != a {
			t.Fatalf("expected a %s and an END of both ranges by number:\n%s", want, got.Dump())
		}
		e := env{}
		each([]*uop.UOp{a, b}, e, func(at []int64) {
			if i := eval(t, end.Src[0].Src[0].Src[1], e).I(); i != at[0]*6+at[1] {
				t.Errorf("value of %v goes to element %d", at, i)
			}
		})
	}
}
