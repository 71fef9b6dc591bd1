package lower

import (
	"slices"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

func TestSwizzle(t *testing.T) {
	a, b := uop.AxisSize{Axis: 0, Size: 2}, uop.AxisSize{Axis: 1, Size: 3}
	for _, c := range []struct {
		to, from uop.AxisSizes
		want     []int
	}{
		{uop.AxisSizes{a, b}, uop.AxisSizes{a, b}, []int{0, 1, 2, 3, 4, 5}},
		{uop.AxisSizes{b, a}, uop.AxisSizes{a, b}, []int{0, 3, 1, 4, 2, 5}},
		{uop.AxisSizes{a, b}, uop.AxisSizes{b}, []int{0, 1, 2, 0, 1, 2}},
		{uop.AxisSizes{a, b}, uop.AxisSizes{a}, []int{0, 0, 0, 1, 1, 1}},
		{nil, nil, []int{0}},
	} {
		if got := swizzle(c.to, c.from); !slices.Equal(got, c.want) {
			t.Errorf("swizzle(%v, %v) = %v, expected %v", c.to, c.from, got, c.want)
		}
	}
}

func TestSiblingLoopsAreChained(t *testing.T) {
	g := symbolic.NewGraph()
	loop := func(id int, deps ...*uop.UOp) *uop.UOp {
		r := g.Range(uop.N(4), uop.AxisLoop, id)
		buf := g.New(uop.Param, uop.Float32.Ptr(4, uop.Global), nil, uop.Num(id), nil)
		return buf.AfterOps(deps...).IndexPtr(r).Store(g.Const(uop.Float32, uop.Int(int64(id)))).EndRanges(r)
	}
	first := loop(0)
	second := loop(1, first)
	third := loop(2)
	cf := newControlFlow(g.Sink(nil, second, third))
	// The loop that needs another comes last; the rest keeps its order.
	if cf.after[third.Src[1]] != first || cf.after[second.Src[1]] != third || cf.after[first.Src[1]] != nil {
		t.Errorf("the loops are not chained 0, 2, 1: %v", cf.after)
	}
}

func TestMagicDividesEveryNumber(t *testing.T) {
	for _, d := range []uint64{2, 3, 5, 7, 10, 12, 641, 1000, 65535} {
		for _, top := range []uint64{d, 100 * d, 1<<16 - 1, 1<<31 - 1} {
			if top < d {
				continue
			}
			m, s := magicSmall(top, d)
			for _, x := range []uint64{0, 1, d - 1, d, d + 1, 2*d - 1, 2 * d, top / 2, top - 1, top} {
				if x <= top && x*m>>s != x/d && m < 1<<32 {
					t.Errorf("%d / %d is %d by magic (%d, %d)", x, d, x*m>>s, m, s)
				}
			}
			bm, bs := magic(uop.Uint(top).Big(), uop.Uint(d).Big())
			if !bm.IsUint64() || bm.Uint64() != m || bs != s {
				t.Errorf("magic(%d, %d) = %s, %d, expected %d, %d", top, d, bm, bs, m, s)
			}
		}
	}
}

func TestNegativeDivisors(t *testing.T) {
	g := symbolic.NewGraph()
	x := g.Variable("x", uop.Int(-100), uop.Int(100), uop.Int32)
	u := divByConstant(Clang(), x.IdivInt(-7))
	if u == nil || u.Op != uop.Mul || u.Src[0].Op != uop.Idiv || !u.Src[0].Src[1].IsConst(uop.Int(7)) {
		t.Errorf("x / -7 is %v, expected -(x / 7)", u)
	}
	if divByConstant(Clang(), x.IdivInt(0)) != nil {
		t.Error("x / 0 was rewritten")
	}
}

func TestChecksFindFaults(t *testing.T) {
	g := symbolic.NewGraph()
	r := g.Range(uop.N(4), uop.AxisUpcast, 0)
	buf := g.New(uop.Param, uop.Float32.Ptr(4, uop.Global), nil, uop.Num(0), nil)
	value := buf.IndexBy(r)
	open := g.Sink(uop.KernelInfo{Name: "open"}, buf.IndexPtr(r).Store(value))
	target := Clang()
	if checkExpanded(open, target) == nil {
		t.Error("checkExpanded: a range that was not expanded was not found")
	}
	if checkReduced(open, target) == nil {
		t.Error("checkReduced: an open range was not found")
	}
	if checkLoads(open, target) == nil {
		t.Error("checkLoads: an INDEX of a value was not found")
	}
	if checkIndexTypes(open, target) == nil {
		t.Error("checkIndexTypes: an index type was not found")
	}
	if checkFinal(g.Sink(nil, value.Sin()), target) == nil {
		t.Error("checkFinal: an operation that the target lacks was not found")
	}
	target.Missing = []*uop.DType{uop.Float32}
	if checkTypes(open, target) == nil {
		t.Error("checkTypes: a missing type was not found")
	}
}
