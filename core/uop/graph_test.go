package uop

import "testing"

func TestSweepKeepsWhatIsBelowRoots(t *testing.T) {
	g := NewGraph(nil)
	x := g.Variable("x", Int(0), Int(9), IndexT)
	gone := x.MulInt(5)
	keep := x.MulInt(3).AddInt(1)
	for i := range 1000 {
		x.AddInt(int64(i))
	}
	g.Sweep(func(mark func(*UOp)) { mark(keep) })
	if n := len(keep.Toposort()); g.Len() != n {
		t.Errorf("%d nodes are left, expected the %d below the root", g.Len(), n)
	}
	if again := x.MulInt(3).AddInt(1); again != keep {
		t.Error("a node that is in use was made a second time")
	}
	for _, u := range keep.Toposort() {
		if u.ID() >= g.Len() {
			t.Errorf("node %s has number %d of %d", u, u.ID(), g.Len())
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a dropped node was taken as a source")
		}
	}()
	g.New(Add, IndexT, []*UOp{keep, gone}, nil, nil)
}

func TestCrowdedGraphIsSweptInTurns(t *testing.T) {
	g := NewGraph(nil)
	x := g.Variable("x", Int(0), Int(9), IndexT)
	sweeps := 0
	for i := range 5 * minCrowded {
		if g.Crowded() {
			g.Sweep(func(mark func(*UOp)) { mark(x) })
			sweeps++
		}
		x.AddInt(int64(i))
	}
	if sweeps < 2 || g.Len() > minCrowded+2 {
		t.Errorf("%d sweeps, %d nodes", sweeps, g.Len())
	}
}
