package exec

import (
	"strings"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func TestSchedule(t *testing.T) {
	b := newBench(t)
	x, y, z := b.floats(1, 2), b.floats(0, 0), b.floats(0, 0)
	sum := b.must(tensor.Sum(b.must(tensor.Exp(x)), nil, true))
	kernels, err := Schedule(b.g.Sink(nil, y.Store(b.must(tensor.Div(b.must(tensor.Exp(x)), sum))), z.Store(x)))
	if err != nil || len(kernels) != 2 {
		t.Fatalf("%d kernels, %v, expected the sum and the quotients", len(kernels), err)
	}
	for _, k := range kernels {
		if k.Op != uop.Sink || k.Graph() == b.g || !k.HasOp(uop.Ops(uop.Param)) || k.HasOp(uop.Ops(uop.Buffer)) {
			t.Errorf("kernel\n%s", k.Dump())
		}
	}
	if kernels, err := Schedule(b.g.Sink(nil, z.Store(x))); err != nil || len(kernels) != 0 {
		t.Errorf("a copy has %d kernels, %v", len(kernels), err)
	}
	if _, err := Schedule(x); err == nil || !strings.Contains(err.Error(), "exec.Schedule: sink:") {
		t.Errorf("no SINK: %v", err)
	}
}
