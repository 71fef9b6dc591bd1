package lower

import (
	"path/filepath"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// referenceEstimates reads the estimates of the kernels of a case. Those of kernels with variables are formulas, as text.
func referenceEstimates(t *testing.T, name string) []map[string]any {
	t.Helper()
	var c struct {
		Kernels []struct{ Estimates map[string]any }
	}
	if err := dump.Read(filepath.Join(reference, "opt", name+".json.gz"), &c); err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, k := range c.Kernels {
		out = append(out, k.Estimates)
	}
	return out
}

func TestEstimatesEqualTinygrads(t *testing.T) {
	names, err := dump.Names(filepath.Join(reference, "opt"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, name := range names {
		want := referenceEstimates(t, name)
		c, err := dump.ReadCase(filepath.Join(reference, "opt", name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range c.Kernels {
			ops, ok := want[i]["ops"].(float64)
			if !ok {
				continue
			}
			list, err := dump.Load(symbolic.NewGraph(), k.Linear)
			if err != nil {
				t.Fatal(err)
			}
			expected := Estimates{int64(ops), int64(want[i]["lds"].(float64)), int64(want[i]["mem"].(float64))}
			if got := Estimate(list); got != expected {
				t.Errorf("%s kernel %d: %+v, expected %+v", name, i, got, expected)
			}
			compared++
		}
	}
	if compared < 200 {
		t.Errorf("only %d kernels were compared", compared)
	}
}

func TestEstimateKnowsMinimaWithLengthsInMemory(t *testing.T) {
	g := symbolic.NewGraph()
	length := g.New(uop.Param, uop.Int32.Ptr(1, uop.Global), nil, uop.Num(1), nil).IndexPtr(g.ConstInt(0).Cast(uop.Int32)).Load()
	neg := func(u *uop.UOp) *uop.UOp { return g.New(uop.Neg, u.DType, []*uop.UOp{u}, nil, nil) }
	n := neg(neg(length).Alu(uop.Max, length.IntLike(-10)))
	r := g.New(uop.Range, uop.Int32, []*uop.UOp{n}, uop.RangeArg{ID: []int{0}, Type: uop.AxisLoop}, nil)
	buf := g.New(uop.Param, uop.Float32.Ptr(10, uop.Global), nil, uop.Num(0), nil)
	x := buf.IndexPtr(r).Load()
	sink := g.Sink(uop.KernelInfo{Name: "double"}, buf.IndexPtr(r).Store(x.Add(x)).EndRanges(r))
	if got := Estimate(linearize(sink)); got.Ops < 10 || got.Ops > 20 {
		t.Errorf("Estimate = %+v, expected 10 operations and those of the size", got)
	}
}

func TestEstimateTakesTheGreatestValueOfAVariable(t *testing.T) {
	g := symbolic.NewGraph()
	n := g.Variable("n", uop.Int(1), uop.Int(10), uop.Int32)
	r := g.New(uop.Range, uop.Int32, []*uop.UOp{n}, uop.RangeArg{ID: []int{0}, Type: uop.AxisLoop}, nil)
	buf := g.New(uop.Param, uop.Float32.Ptr(10, uop.Global), nil, uop.Num(0), nil)
	x := buf.IndexPtr(r).Load()
	st := buf.IndexPtr(r).Store(x.Add(x))
	sink := g.Sink(uop.KernelInfo{Name: "double"}, st.EndRanges(r))
	if got, want := Estimate(linearize(sink)), (Estimates{10, 80, 80}); got != want {
		t.Errorf("Estimate = %+v, expected %+v", got, want)
	}
}
