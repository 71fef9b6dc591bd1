package tensor_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Quotients of sizes at the ends of int64 are rounded down, as Python's, or refused.
func TestSizeDivisionAtTheEnds(t *testing.T) {
	g := uop.NewGraph(symbolic.Simplify)
	numbers := []int64{math.MinInt64, math.MinInt64 + 1, -7, -2, -1, 0, 1, 2, 7, math.MaxInt64 - 1, math.MaxInt64}
	for _, a := range numbers {
		for _, b := range numbers {
			q, err := tensor.SizeOp(g, tensor.SizeDiv, uop.N(a), uop.N(b))
			m, errOfMod := tensor.SizeOp(g, tensor.SizeMod, uop.N(a), uop.N(b))
			if b == 0 || b == -1 && a == math.MinInt64 {
				if err == nil || b == 0 && errOfMod == nil {
					t.Errorf("%d // %d = %s, %d %% %d = %s, expected errors", a, b, q, a, b, m)
				}
				continue
			}
			want, rest := new(big.Int).DivMod(big.NewInt(a), big.NewInt(b), new(big.Int))
			if b < 0 && rest.Sign() != 0 { // big.Int has remainders of 0 and more
				want.Sub(want, big.NewInt(1))
				rest.Add(rest, big.NewInt(b))
			}
			if err != nil || errOfMod != nil || want.Int64() != q.N || rest.Int64() != m.N {
				t.Errorf("%d divided by %d: %s rest %s, %v, %v, expected %s rest %s", a, b, q, m, err, errOfMod, want, rest)
			}
		}
	}
	n := uop.S(g.Variable("n", uop.Int(1), uop.Int(4), uop.IndexT))
	for _, op := range []tensor.SizeOperation{tensor.SizeDiv, tensor.SizeMod} {
		if _, err := tensor.SizeOp(g, op, n, uop.N(math.MinInt64)); err == nil || !strings.Contains(err.Error(), "expected an int64") {
			t.Errorf("n divided by -2^63: %v, expected an error that names int64", err)
		}
	}
}
