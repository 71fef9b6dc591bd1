package ranges

import (
	"testing"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// A remainder vanishes if the condition of the index bounds its dividend; where the condition holds, the new index is the same.
func TestRemaindersUnderConditions(t *testing.T) {
	g := symbolic.NewGraph()
	x, y, z := g.Range(uop.N(3), uop.AxisReduceT, 0), g.Range(uop.N(5), uop.AxisLoop, 1), g.Range(uop.N(9), uop.AxisLoop, 2)
	invalid := g.InvalidIndex(1)
	inside := func(u *uop.UOp, n int64) *uop.UOp { return u.Lt(u.IntLike(0)).Not().And(u.Lt(u.IntLike(n))) }
	fall := z.Add(x.MulInt(-1))
	for name, c := range map[string]struct {
		sum, valid *uop.UOp
		n          int64
		goes       bool
	}{
		"falls":             {x.MulInt(49).Add(y.MulInt(10)).Add(z), inside(fall, 7), 50, true},
		"is shifted":        {x.MulInt(49).Add(y.MulInt(10)).Add(z).AddInt(53), inside(fall, 7), 50, true},
		"rows fall":         {y.MulInt(36).Add(z).AddInt(18), inside(y.MulInt(-1).AddInt(2), 5), 45, true},
		"is too long":       {x.MulInt(49).Add(y.MulInt(12)).Add(z), inside(fall, 7), 50, false},
		"is not bounded":    {x.MulInt(49).Add(y.MulInt(10)).Add(z), inside(z.AddInt(-1), 7), 50, false},
		"begins in between": {x.MulInt(49).Add(y.MulInt(10)).Add(z).AddInt(25), inside(fall, 7), 50, false},
	} {
		t.Run(name, func(t *testing.T) {
			index := c.valid.Where(c.sum.ModInt(c.n), invalid)
			got := rewrite.Graph(index, Selections, nil)
			if got.HasOp(uop.Ops(uop.Mod)) == c.goes {
				t.Fatalf("%s became %s", index.Render(), got.Render())
			}
			for i := range int64(3) {
				for j := range int64(5) {
					for k := range int64(9) {
						e := env{x: i, y: j, z: k}
						if eval(t, c.valid, e).Truth() {
							if want, have := eval(t, index.Src[1], e), eval(t, got.GetIdx(), e); !want.Eq(have) {
								t.Fatalf("x=%d y=%d z=%d: %s is %s, expected %s", i, j, k, got.Render(), have, want)
							}
						}
					}
				}
			}
		})
	}
}
