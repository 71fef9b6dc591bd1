package uop

import (
	"math"
	"testing"
)

func TestFoldedFunctionsAreCorrectlyRounded(t *testing.T) {
	for _, c := range []struct {
		op   Op
		x, y float64
		want float64
	}{
		{Exp2, 0.1, 0, 1.0717734625362931}, {Exp2, 1.5, 0, 2.8284271247461903}, {Exp2, -0.5, 0, 0.7071067811865476},
		{Exp2, -1074, 0, 5e-324}, {Exp2, -2000, 0, 0}, {Exp2, 1023.5, 0, 1.2711610061536464e+308}, {Exp2, 1e9, 0, math.Inf(1)},
		{Log2, 3, 0, 1.584962500721156}, {Log2, 10, 0, 3.321928094887362}, {Log2, 0.1, 0, -3.321928094887362},
		{Log2, 1e300, 0, 996.5784284662087}, {Log2, 8, 0, 3}, {Log2, 0, 0, math.Inf(-1)}, {Log2, -1, 0, math.NaN()},
		{Sin, 1, 0, 0.8414709848078965}, {Sin, -4, 0, 0.7568024953079282}, {Sin, 1e22, 0, -0.8522008497671888},
		{Sin, 3.141592653589793, 0, 1.2246467991473532e-16}, {Sin, 0, 0, 0},
		{Pow, 2, 0.5, 1.4142135623730951}, {Pow, 9, 0.5, 3}, {Pow, 10, -3, 0.001}, {Pow, -2, 3, -8}, {Pow, -2, 0.5, math.NaN()},
		{Pow, 1.1, 300, 2617010996188.4634}, {Pow, 0, -1, math.Inf(1)}, {Pow, 7, 0, 1},
	} {
		args := []Const{Float(c.x)}
		if c.op == Pow {
			args = append(args, Float(c.y))
		}
		got, ok := ExecALU(c.op, args...)
		if !ok || !got.Same(Float(c.want)) {
			t.Errorf("%s(%v, %v) = %v, expected %v", c.op, c.x, c.y, got, c.want)
		}
	}
}

func TestComparisonsWithNaNCompute(t *testing.T) {
	nan := Float(math.NaN())
	if r, _ := ExecALU(CmpNe, nan, nan); !r.Truth() {
		t.Error("nan != nan is false")
	}
	if !nan.Eq(nan) || nan.Eq(Float(1)) || nan.Eq(Int(1<<62)) || Int(1<<62).Eq(nan) {
		t.Error("NaN as an arg equals NaN and nothing else")
	}
	if r, _ := ExecALU(CmpLt, nan, Float(1)); r.Truth() {
		t.Error("nan < 1 is true")
	}
	if r, _ := ExecALU(CmpNe, Invalid, Invalid); r.Truth() {
		t.Error("Invalid != Invalid is true")
	}
}
