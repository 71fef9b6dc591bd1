package ops_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

var (
	argument = regexp.MustCompile(`^([A-Za-z_0-9]+)(\[\d+\])*: .`)
	// internals are words that users do not know: names of Go and of the types of C.
	// expectation is what an error says of the arguments that would be right.
	expectation = regexp.MustCompile(`, expected .|do not (broadcast|multiply)|is out of bounds for axis`)
	internals   = regexp.MustCompile(`uop\.|tensor\.|%!|<nil>|0x[0-9a-f]{6}|\b(uchar|ushort|half|ulong|char|double)\b|\bis (float|int|uint|long)\b`)
)

// Errors of operations name one of the operation's own parameters, say what is expected, and nothing of how the operation is composed.
func TestErrorsNameParameters(t *testing.T) {
	g := symbolic.NewGraph()
	r := rand.New(rand.NewPCG(1, 2))
	in := func(dt *uop.DType, sizes ...int64) *uop.UOp {
		shape := uop.ShapeOf(sizes...)
		n, _ := tensor.MostElements(shape)
		return g.NewBuffer("CPU", n, dt).Reshape(shape)
	}
	tensors := []*uop.UOp{
		in(uop.Float32, 2, 3), in(uop.Float32, 3, 3), in(uop.Int32, 4), in(uop.Bool, 2, 3), in(uop.Float32), in(uop.Float32, 0),
		in(uop.Uint8, 1, 2, 2, 2), in(uop.Float16, 1, 1, 4, 4), in(uop.Int64, 2, 3),
	}
	pair := func(lo, hi int64) []uop.Sint { return []uop.Sint{uop.N(lo), uop.N(hi)} }
	values := []any{
		nil, true, int64(0), int64(-1), int64(1), int64(2), int64(-9), int64(1 << 40), int64(math.MinInt64), math.NaN(), math.Inf(1), 1.5,
		"", "ij->i", "a b -> b a", "mean", "x", []int64{}, []int64{1, 0}, []int64{2, 2}, []int64{-1, 5, 7}, []int64{1, 1, 1, 1},
		[]float64{}, []float64{1, 2}, uop.Float32, uop.Int32, uop.Int(5), uop.Float(2), uop.ShapeOf(2, 3), uop.ShapeOf(), uop.ShapeOf(-1, -1),
		uop.ShapeOf(5), [][]uop.Sint{{}, {}}, [][]uop.Sint{pair(1, 2), pair(-5, 9)}, []tensor.Index{}, map[string]int64{"b": 2},
	}
	drawn := func(k ops.Kind) any {
		switch k {
		case ops.Tensor, ops.Operand:
			return tensors[r.IntN(len(tensors))]
		case ops.Tensors:
			return tensors[:r.IntN(3)]
		}
		return values[r.IntN(len(values))]
	}
	failures := 0
	for _, op := range ops.All() {
		names := []string{"x", "tensors", "operands"}
		for _, p := range op.Params {
			names = append(names, p.Name)
		}
		seen := map[string]bool{}
		for range 5 + 5*len(op.Params) {
			a := op.Call(g)
			a.Seed = func(uint64) (*uop.UOp, error) { return in(uop.Uint32, 3), nil }
			a.Value = func(*uop.UOp) (uop.Const, error) { return uop.Int(1), nil }
			switch op.Form {
			case ops.Method:
				a.X = tensors[r.IntN(len(tensors))]
			case ops.Joiner:
				for range r.IntN(4) {
					a.Xs = append(a.Xs, tensors[r.IntN(len(tensors))])
				}
			}
			var err error
			for _, p := range op.Params {
				if p.Optional && r.IntN(3) == 0 {
					continue
				}
				for range 50 { // most values are of another kind
					if err = a.Set(p.Name, drawn(p.Kind)); err == nil {
						break
					}
				}
			}
			if err == nil {
				_, err = a.Results()
			}
			if err == nil || seen[err.Error()] {
				continue
			}
			failures++
			seen[err.Error()] = true
			if m := argument.FindStringSubmatch(err.Error()); m == nil || !slices.Contains(names, m[1]) || !expectation.MatchString(err.Error()) || internals.MatchString(err.Error()) {
				t.Errorf("%s: %s", op.Name, err)
			}
		}
	}
	if failures < 300 {
		t.Errorf("only %d errors", failures)
	}
}
