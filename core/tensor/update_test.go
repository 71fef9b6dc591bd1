package tensor_test

import (
	"math"
	"slices"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Adam as a transformation of gradients and as an optimizer that holds parameters make the same step: both follow one rule.
func TestUpdateRuleIsTheOptimizers(t *testing.T) {
	l := newLab(t, "interp")
	i := slices.IndexFunc(tensor.UpdateRules, func(r tensor.UpdateRule) bool { return r.Name == "scale_by_adam" })
	vector := func(values ...float64) *uop.UOp { return l.tensor(uop.Float64, values, int64(len(values))).UOp }
	param, grad, m, v := vector(1, -2, 0.5), vector(0.5, 0.25, -3), vector(0.1, 0.2, -0.3), vector(0.01, 0.02, 0.5)
	const b1, b2, steps, rate = 0.9, 0.99, 3.0, 0.1
	one := func(x float64) *uop.UOp { return l.tensor(uop.Float64, []float64{x}, 1).UOp }
	next, _, _, err := tensor.LAMB(param, grad, one(rate), m, v, one(math.Pow(b1, steps)), one(math.Pow(b2, steps)), tensor.LAMBOptions{Beta1: b1, Beta2: b2, Eps: 1e-8, Adam: true})
	if err != nil {
		t.Fatal(err)
	}
	count := l.tensor(uop.Int32, []float64{steps}, 1).UOp
	settings := map[string]any{"b1": uop.Float(b1), "b2": uop.Float(b2), "eps": uop.Float(1e-8), "eps_root": uop.Float(0), "nesterov": false}
	out, err := tensor.UpdateRules[i].Update(grad, nil, count, []*uop.UOp{m, v}, settings)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != 3 || out[1].DType != uop.Float64 {
		t.Fatalf("%d results, expected a step and two moments", len(out))
	}
	p, held, step := l.values(T{param}), l.values(T{next}), l.values(T{out[0]})
	for i := range held {
		if math.Abs(held[i]-(p[i]-rate*step[i])) > 1e-12 {
			t.Errorf("element %d: the optimizer gives %v, the rule %v", i, held[i], p[i]-rate*step[i])
		}
	}
}
