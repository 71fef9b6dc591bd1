package dump

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"polygrad/core/uop"
)

// Value is a number of an input or output; whole numbers of any size are exact.
type Value uop.Const

// UnmarshalJSON reads a number, a boolean, or "nan", "inf", "-inf".
func (v *Value) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	c, err := parseValue(text)
	*v = Value(c)
	return err
}

func parseValue(s string) (uop.Const, error) {
	switch s {
	case "nan":
		return uop.Float(math.NaN()), nil
	case "true":
		return uop.Int(1), nil
	case "false":
		return uop.Int(0), nil
	}
	if n, ok := new(big.Int).SetString(s, 10); ok {
		return uop.BigInt(n), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return uop.Const{}, fmt.Errorf("dump.Value: %q is no number", s)
	}
	return uop.Float(f), nil
}

// Const is the value as a constant.
func (v Value) Const() uop.Const { return uop.Const(v) }

// String prints the value.
func (v Value) String() string { return uop.Const(v).String() }

// Close reports whether a value equals a reference value within what the type of the output allows:
// relative to the greater of 1 and the values, since compilers may contract a*b+c.
func (v Value) Close(ref Value, dtype string) bool {
	a, b := uop.Const(v), uop.Const(ref)
	x, y := a.F(), b.F()
	if x != x || y != y {
		return x != x && y != y
	}
	if a.Eq(b) {
		return true
	}
	tol := map[string]float64{"half": 2e-3, "float16": 2e-3, "bfloat16": 1.6e-2, "float": 1e-5, "double": 1e-10}[dtype]
	return math.Abs(x-y) <= tol*max(1, math.Abs(x), math.Abs(y))
}
