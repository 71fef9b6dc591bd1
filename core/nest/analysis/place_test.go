package analysis

import (
	"testing"

	"polygrad/core/uop"
)

// TestPlaces tells whether stores at two places of a buffer may go to the same element.
func TestPlaces(t *testing.T) {
	g := uop.NewGraph(nil)
	rows, columns := g.Range(uop.N(4), uop.AxisLoop, 0), g.Range(uop.N(10), uop.AxisLoop, 1)
	at := func(first, row, column int64) *uop.UOp {
		return rows.Mul(g.ConstInt(row)).Add(columns.Mul(g.ConstInt(column))).Add(g.ConstInt(first))
	}
	v, w := g.Variable("v", uop.Int(0), uop.Int(9), uop.IndexT), g.Variable("w", uop.Int(0), uop.Int(9), uop.IndexT)
	few := g.Range(uop.S(v), uop.AxisLoop, 2) // 0 to 9 of them
	moved := func(u, by *uop.UOp) *uop.UOp { return u.Add(by.Mul(g.ConstInt(300)).Idiv(g.ConstInt(7))) }
	for _, c := range []struct {
		a, b     *uop.UOp
		mayAlias bool
	}{
		{moved(at(0, 20, 1), v), moved(at(10, 20, 1), v), false},
		{moved(at(0, 20, 1), v), moved(at(9, 20, 1), v), true},
		{moved(at(0, 20, 1), v), moved(at(10, 20, 1), w), true},
		{at(0, 20, 1), at(10, 20, 1), false},
		{at(0, 20, 1), at(9, 20, 1), true},
		{at(0, 20, 1), at(20, 20, 1), true},
		{at(0, 20, 1), at(80, 20, 1), false},
		{at(0, 20, 1), at(-10, 20, 1), false},
		{at(0, 20, 1), at(70, -20, 1), false}, // from the last row to the first
		{at(0, 20, 1), at(65, -20, 1), true},
		{at(0, 2, 8), at(1, 2, 8), false},
		{at(0, 2, 8), at(2, 2, 8), true},
		{at(0, 1, 8), at(4, 1, 8), false},
		{at(0, 20, 1), at(100, 10, 1), true}, // other steps: unknown
		{at(0, 20, 1), rows.Alu(uop.Mod, g.ConstInt(3)).Add(g.ConstInt(100)), true},
		{few.Add(g.ConstInt(10)), few, false},
		{few.Add(g.ConstInt(8)), few, true},
		{few.Mul(g.ConstInt(-1)).Add(g.ConstInt(50)), few, true}, // its first element is not known
	} {
		if p, q := placeOf(c.a), placeOf(c.b); p.mayAlias(q) != c.mayAlias || q.mayAlias(p) != c.mayAlias {
			t.Errorf("%v and %v: mayAlias %v, want %v", p, q, p.mayAlias(q), c.mayAlias)
		}
	}
}
