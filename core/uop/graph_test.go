package uop

import (
	"math"
	"testing"
)

// TestNumbersStartOver builds nodes in a graph that has made almost as many as there are numbers.
func TestNumbersStartOver(t *testing.T) {
	g := NewGraph()
	x := g.Variable("x", Int(0), Int(9), IndexT)
	g.nextID = math.MaxUint32 - 2
	u := x
	for i := range 8 {
		u = u.AddInt(int64(i))
	}
	if g.nextID < maxMarks {
		t.Errorf("the next number is %d, expected at least %d: smaller ones are places in a slice", g.nextID, maxMarks)
	}
	if n := len(u.Toposort()); n != 17 {
		t.Errorf("%d nodes, expected x, 8 constants and 8 sums", n)
	}
	if !u.DependsOn(x) {
		t.Error("the sum does not depend on x")
	}
}

func TestCollectKeepsWhatIsInUse(t *testing.T) {
	g := NewGraph()
	x := g.Variable("x", Int(0), Int(9), IndexT)
	keep := x.MulInt(3).AddInt(1)
	for i := range 1000 {
		x.AddInt(int64(i))
	}
	before := g.Len()
	g.Collect()
	if g.Len() > 10 || g.Len() >= before {
		t.Errorf("%d nodes are left of %d", g.Len(), before)
	}
	if again := x.MulInt(3).AddInt(1); again != keep {
		t.Error("a node that is in use was made a second time")
	}
}
