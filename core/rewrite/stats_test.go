package rewrite

import (
	"testing"

	"polygrad/core/uop"
)

func TestStatsCountTriesAndHits(t *testing.T) {
	never := &Rule{Name: "never", Ops: uop.Ops(uop.Add), Fn: func(any, *uop.UOp) *uop.UOp { return nil }}
	first := &Rule{Name: "x + y is x", Ops: uop.Ops(uop.Add), Fn: func(_ any, u *uop.UOp) *uop.UOp { return u.Src[0] }}
	g := uop.NewGraph(nil)
	a, b := g.ConstInt(3), g.ConstInt(4)
	sum := a.Add(b).Add(g.ConstInt(5))
	table := New("stats", never, first)
	Graph(sum, table, nil) // not counted
	CollectStats(true)
	defer CollectStats(false)
	if got := Graph(sum, table, nil); got != a {
		t.Fatalf("got %s, expected %s", got, a)
	}
	got := map[string]RuleStats{}
	for _, s := range Stats() {
		got[s.Rule.Name] = s
	}
	if s := got["never"]; s.Tries != 2 || s.Hits != 0 {
		t.Errorf("never: %d tries, %d hits, expected 2 and 0", s.Tries, s.Hits)
	}
	if s := got["x + y is x"]; s.Tries != 2 || s.Hits != 2 {
		t.Errorf("x + y is x: %d tries, %d hits, expected 2 and 2", s.Tries, s.Hits)
	}
	CollectStats(true)
	if n := len(Stats()); n != 0 {
		t.Errorf("%d rules are counted after a new start", n)
	}
}
