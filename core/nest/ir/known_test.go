package ir

import "testing"

// Masks that do not depend on a run are constants if they are the same in all lanes.
func TestMasksOfLanes(t *testing.T) {
	b := NewBuilder("test", 16)
	lane := b.New(Lane, I32, 16, 0)
	from := func(n int64) *Value { return b.Do(Add, I32, lane, b.Int(I32, n)) }
	below := func(v *Value, n int64) *Value { return b.Compare(Less, v, b.Splat(b.Int(v.Kind, n))) }
	unknown := b.Do(Add, I32, b.Splat(b.New(Var, I32, 1, 0)), lane)
	for _, c := range []struct {
		name     string
		mask     *Value
		constant bool
		bits     uint64
	}{
		{"all lanes", below(from(8), 24), true, 1},
		{"all but one", below(from(8), 23), false, 0},
		{"none", below(from(8), 8), true, 0},
		{"wraps around", below(b.Cast(U32, from(-1)), 16), false, 0},
		{"of a variable", below(unknown, 1), false, 0},
	} {
		if got := c.mask.Op == Const; got != c.constant || got && (c.mask.Bits != c.bits || c.mask.Lanes != 16) {
			t.Errorf("%s: %s %d of %d lanes, expected a constant %d: %v", c.name, c.mask.Op, c.mask.Bits, c.mask.Lanes, c.bits, c.constant)
		}
	}
	for _, c := range []struct {
		mask *Value
		want Op
		bits uint64
	}{{below(from(0), 1), Const, 1}, {b.Do(And, Bool, below(from(0), 3), below(b.Int(I32, 2), 0)), Const, 0}, {below(unknown, 3), AnyLane, 0}} {
		if got := b.Any(c.mask); got.Op != c.want || got.Lanes != 1 || got.Op == Const && got.Bits != c.bits {
			t.Errorf("any lane is %s %d, expected %s %d", got.Op, got.Bits, c.want, c.bits)
		}
	}
}
