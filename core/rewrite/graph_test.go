package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"polygrad/core/uop"
)

func variable(g *uop.Graph, name string) *uop.UOp {
	return g.Variable(name, uop.Int(0), uop.Int(9), uop.IndexT)
}

// numbering replaces every variable by a SPECIAL with the number of its visit, and writes down all visits.
func numbering(seen *[]string) *Table {
	n := 0
	return New("numbering", &Rule{Name: "number", Ops: uop.GroupAll, Fn: func(_ any, u *uop.UOp) *uop.UOp {
		*seen = append(*seen, u.Render())
		if u.Op != uop.DefineVar {
			return nil
		}
		n++
		return u.Graph().New(uop.Special, uop.IndexT, []*uop.UOp{u.Graph().ConstInt(10)}, uop.Str(fmt.Sprint("n", n)), nil)
	}})
}

func TestVisitsFollowTinygrads(t *testing.T) {
	g := uop.NewGraph(nil)
	a, b, c := variable(g, "a"), variable(g, "b"), variable(g, "c")
	root := g.New(uop.Where, uop.IndexT, []*uop.UOp{b.Lt(a), b.Add(c), a.Mul(b.Add(c))}, nil, nil)

	// What tinygrad's graph_rewrite visits with the same rule: each node once, and each replaced or rebuilt node again.
	var up, down []string
	if got := Graph(root, numbering(&up), nil).Render(); got != "((n1+n3) if (n1<n2) else (n2*(n1+n3)))" {
		t.Error(got)
	}
	if want := "b 10 n1 a n2 (n1<n2) c n3 (n1+n3) (n2*(n1+n3)) ((n1+n3) if (n1<n2) else (n2*(n1+n3)))"; strings.Join(up, " ") != want {
		t.Errorf("children first:\n %s, not\n %s", strings.Join(up, " "), want)
	}
	if got := GraphTopDown(root, numbering(&down), nil).Render(); got != "((n1+n3) if (n1<n2) else (n2*(n1+n3)))" {
		t.Error(got)
	}
	if !strings.HasPrefix(strings.Join(down, " "), root.Render()+" (b<a) b n1 10 a n2 (n1<n2) (b+c) c n3 (n1+n3)") {
		t.Errorf("parents first: %s", strings.Join(down, " "))
	}
}

func TestReplacementsAreRewrittenInTurn(t *testing.T) {
	g := uop.NewGraph(nil)
	x := variable(g, "x")
	// x*n becomes x*(n-1) + x, down to x*1, which stays.
	unroll := New("unroll", &Rule{Name: "unroll", Ops: uop.Ops(uop.Mul), Need: uop.Ops(uop.ConstOp), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if n := u.Src[1].ConstVal().I(); n > 1 {
			return u.Src[0].MulInt(n - 1).Add(u.Src[0])
		}
		return nil
	}})
	for _, got := range []*uop.UOp{Graph(x.MulInt(4), unroll, nil), GraphTopDown(x.MulInt(4), unroll, nil)} {
		if got.Render() != "((((x*1)+x)+x)+x)" {
			t.Error(got.Render())
		}
	}
}

func TestGateKeepsWhatIsBelow(t *testing.T) {
	g := uop.NewGraph(nil)
	x, y := variable(g, "x"), variable(g, "y")
	tab := New("gated",
		&Rule{Name: "gate", Ops: uop.Ops(uop.Sink), Fn: func(_ any, u *uop.UOp) *uop.UOp {
			if u.Arg != nil {
				return Gate
			}
			return nil
		}},
		&Rule{Name: "x -> y", Ops: uop.Ops(uop.DefineVar), Fn: func(_ any, u *uop.UOp) *uop.UOp {
			if u == x {
				return y
			}
			return nil
		}})
	inner := g.Sink(uop.Str("kernel"), x)
	got := GraphTopDown(g.Sink(nil, inner, x), tab, nil)
	if got.Src[0] != inner || got.Src[1] != y {
		t.Errorf("got\n%s", got.Dump())
	}
}

func TestFirstRuleThatAnswersWins(t *testing.T) {
	g := uop.NewGraph(nil)
	x := variable(g, "x")
	answer := func(v *uop.UOp) func(any, *uop.UOp) *uop.UOp { return func(any, *uop.UOp) *uop.UOp { return v } }
	u := x.AddInt(3)
	one := &Rule{Name: "needs MUL", Ops: uop.Ops(uop.Add), Need: uop.Ops(uop.Mul), Fn: answer(g.ConstInt(1))}
	two := &Rule{Name: "nil", Ops: uop.GroupAll, Fn: answer(nil)}
	three := &Rule{Name: "itself", Ops: uop.GroupBinary, Fn: answer(u)}
	four := &Rule{Name: "4", Ops: uop.Ops(uop.Add), Need: uop.Ops(uop.ConstOp, uop.DefineVar), Fn: answer(g.ConstInt(4))}
	five := &Rule{Name: "5", Ops: uop.Ops(uop.Add), Fn: answer(g.ConstInt(5))}
	if got := Concat("all", New("a", one, two), New("b", three, four, five)).Rewrite(nil, u); got != g.ConstInt(4) {
		t.Error(got)
	}
	if got := New("b", two, three).Rewrite(nil, u); got != nil {
		t.Error(got)
	}
}

func TestRulesMayRewriteThemselves(t *testing.T) {
	g := uop.NewGraph(nil)
	x, y := variable(g, "x"), variable(g, "y")
	nested := New("nested", &Rule{Name: "substitute", Ops: uop.Ops(uop.Max), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		return Substitute(u.Src[0], Map{x: y}).Add(u.Src[1])
	}})
	var u = x
	for i := range 100 {
		u = u.AddInt(int64(i + 1)).Maximum(x)
	}
	got := Graph(u, nested, nil)
	if got.HasOp(uop.Ops(uop.Max)) || got.Find(func(v *uop.UOp) bool { return v == x }) == nil {
		t.Error(got.Render())
	}
}

func TestSubstitute(t *testing.T) {
	g := uop.NewGraph(nil)
	x, y, z := variable(g, "x"), variable(g, "y"), variable(g, "z")
	u := x.Add(y).Mul(x)
	if got := Substitute(u, Map{x: y.AddInt(1), y: z}).Render(); got != "(((z+1)+z)*(z+1))" {
		t.Errorf("what a replacement brings in is looked up again: %s", got)
	}
	if got := Substitute(u, Map{x: x}); got != u {
		t.Error(got)
	}
	if got := Substitute(u, Map{x.Add(y): z}).Render(); got != "(z*x)" {
		t.Error(got)
	}
}

func panicText(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

func TestCirclesEnd(t *testing.T) {
	g := uop.NewGraph(nil)
	x := variable(g, "x")
	swap := New("swap", &Rule{Name: "swap", Ops: uop.Ops(uop.Add), Fn: func(_ any, u *uop.UOp) *uop.UOp { return u.Src[1].Add(u.Src[0]) }})
	if got := panicText(func() { GraphTopDown(x.AddInt(1), swap, nil) }); !strings.Contains(got, "circle") {
		t.Error(got)
	}
	nest := New("nest", &Rule{Name: "nest", Ops: uop.Ops(uop.Add), Fn: func(_ any, u *uop.UOp) *uop.UOp { return u.Src[0].Add(u.Src[1].AddInt(1)) }})
	if got := panicText(func() { Graph(x.AddInt(1), nest, nil) }); !strings.Contains(got, "circle") {
		t.Error(got)
	}
	grow := New("grow", &Rule{Name: "grow", Ops: uop.Ops(uop.Add), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		return u.Src[0].AddInt(u.Src[1].ConstVal().I() + 1)
	}})
	if got := panicText(func() { Graph(x.AddInt(1), grow, nil) }); !strings.Contains(got, "do not settle") {
		t.Error(got)
	}
	// The tables still work afterwards.
	if got := Substitute(x.AddInt(1), Map{x: g.ConstInt(1)}).Render(); got != "(1+1)" {
		t.Error(got)
	}
}

func TestDeepGraphs(t *testing.T) {
	g := uop.NewGraph(nil)
	x, y := variable(g, "x"), variable(g, "y")
	u := x
	for i := range 100_000 {
		u = u.AddInt(int64(i))
	}
	if got := Substitute(u, Map{x: y}); !got.DependsOn(y) || got.DependsOn(x) {
		t.Error("a chain of 100000 nodes is not rewritten")
	}
}

// count is a context that is written to, with which every node is visited.
type count struct{}

func TestWhatNoRuleLooksAtIsLeftOut(t *testing.T) {
	g := uop.NewGraph(nil)
	a, b := variable(g, "a"), variable(g, "b")
	dull := b.Mul(b).Add(b.Mod(b))
	root := a.Lt(b).Where(dull, a)
	less := New("less", &Rule{Name: "less", Ops: uop.Ops(uop.CmpLt), Fn: func(any, *uop.UOp) *uop.UOp { return nil }})
	for _, rewrite := range []func(*uop.UOp, *Table, any) *uop.UOp{Graph, GraphTopDown} {
		before := Visits()
		rewrite(root, less, nil)
		few := Visits() - before
		before = Visits()
		rewrite(root, less, &count{})
		if all := Visits() - before; few != 2 || all != 7 {
			t.Errorf("%d visits for a comparison, %d of all nodes; want 2 and 7", few, all)
		}
	}
	if got := Substitute(root, Map{a: b}); got.Render() != "(((b*b)+(b%b)) if (b<b) else b)" {
		t.Error(got.Render())
	}
}
