package symbolic

import (
	"math"
	"testing"

	"polygrad/core/uop"
)

// A constant stays in a sum where the type does not hold what the sum would be compared with without it.
func TestComparedSumsKeepTheirConstants(t *testing.T) {
	g := NewGraph()
	number := func(name string) *uop.UOp {
		return g.Variable(name, uop.Int(math.MinInt32), uop.Int(math.MaxInt32), uop.Int32)
	}
	x := number("x").Add(number("y"))
	for _, c := range []struct {
		add, than int64
		moved     bool
	}{{4, 10, true}, {4, math.MinInt32, false}, {-4, math.MaxInt32, false}, {-4, math.MinInt32, true}} {
		less := x.Add(x.IntLike(c.add)).Lt(x.IntLike(c.than))
		if got := Simplify(less); got.Op != uop.CmpLt || (got.Src[0] == x) != c.moved {
			t.Errorf("x + %d < %d became %s", c.add, c.than, got)
		}
	}
}
