package symbolic

import (
	"testing"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// An index that is split into a quotient and a remainder and joined again has no division, whatever the sizes.
func TestQuotientsAndRemaindersJoinAgain(t *testing.T) {
	for _, c := range []struct{ rows, columns, by int64 }{{127, 1021, 127}, {1021, 127, 1021}, {6, 35, 14}} {
		g := NewGraph()
		r, k := g.Range(uop.N(c.rows), uop.AxisLoop, 0), g.Range(uop.N(c.columns), uop.AxisLoop, 1)
		whole := r.Mul(r.IntLike(c.columns)).Add(k)
		by := r.IntLike(c.by)
		index := Simplify(whole.Idiv(by).Mul(by.Mul(r.IntLike(3))).Add(whole.Mod(by).Mul(r.IntLike(3))).Add(r.IntLike(1)))
		got := Simplify(rewrite.Graph(index, RejoinQuotients, nil))
		if want := Simplify(whole.Mul(r.IntLike(3)).Add(r.IntLike(1))); got != want && got.HasOp(uop.Ops(uop.Idiv, uop.Mod)) {
			t.Errorf("%d x %d by %d: %v, expected %v", c.rows, c.columns, c.by, got, want)
		}
	}
	// Flipped views.
	for _, c := range []struct{ n, last, by int64 }{{499, 499, 25}, {501, 500, 20}, {64, 63, 8}} {
		g := NewGraph()
		r := g.Range(uop.N(c.n), uop.AxisLoop, 0)
		by := r.IntLike(c.by)
		from := Simplify(r.IntLike(c.last).Sub(r))
		index := Simplify(from.Idiv(by).Mul(by)).Add(Simplify(from.Mod(by))).Add(r.Mul(r.IntLike(1000)))
		got := Simplify(rewrite.Graph(index, RejoinQuotients, nil))
		if want := Simplify(from.Add(r.Mul(r.IntLike(1000)))); got != want {
			t.Errorf("%+v: %v became %v, expected %v", c, index, got, want)
		}
	}
	g := NewGraph()
	r, k := g.Range(uop.N(7), uop.AxisLoop, 0), g.Range(uop.N(9), uop.AxisLoop, 1)
	four := r.IntLike(4)
	for _, u := range []*uop.UOp{
		r.Mul(r.IntLike(9)).Add(k).Idiv(four).Mul(four).Add(k.Mod(four)), // another remainder
		r.Idiv(four).Mul(r.IntLike(8)).Add(r.Mod(four)),                  // another factor
		r.Idiv(four).Mul(r.IntLike(-4)).Add(r.Mod(four)),                 // another direction
	} {
		if got := rewrite.Graph(u, RejoinQuotients, nil); got != u {
			t.Errorf("%v became %v", u, got)
		}
	}
}

// Where a sum is a multiple of a constant only if a smaller one is 0, neither a quotient nor a remainder is computed.
func TestQuotientsOfExactMultiples(t *testing.T) {
	for _, c := range []struct {
		rows, columns, stride, by int64
		divides                   bool
	}{{4, 4, 4, 5, false}, {7, 4, 4, 5, true}, {5, 9, 9, 10, false}, {3, 5, 8, 7, false}, {3, 3, 2, 2, true}, {4, 4, 12, 5, true}} {
		g := NewGraph()
		r, k := g.Range(uop.N(c.rows), uop.AxisLoop, 0), g.Range(uop.N(c.columns), uop.AxisLoop, 1)
		x, by := r.Mul(r.IntLike(c.stride)).Add(k), r.IntLike(c.by)
		u := x.Mod(by).LtInt(1).Where(x.Idiv(by).Add(r.IntLike(100)), r.IntLike(-1))
		got := Simplify(rewrite.Graph(u, RejoinQuotients, nil))
		if divides := got.HasOp(uop.Ops(uop.Idiv, uop.Mod)); divides != c.divides {
			t.Errorf("%+v: %v has a division: %v", c, got, divides)
		}
		for i := range c.rows {
			for j := range c.columns {
				at := rewrite.Map{r: r.IntLike(i), k: r.IntLike(j)}
				is, want := Simplify(rewrite.Substitute(got, at)), int64(-1)
				if n := i*c.stride + j; n%c.by == 0 {
					want = n/c.by + 100
				}
				if !is.IsConst(uop.Int(want)) {
					t.Errorf("%+v: %v at %d, %d, expected %d", c, is, i, j, want)
				}
			}
		}
	}
}
