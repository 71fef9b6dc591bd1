package parity

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// kernelsWith schedules a case with other settings and counts its kernels and the buffers of the one with the most.
func kernelsWith(t *testing.T, c *dump.Case, settings dump.Settings) (kernels, buffers int) {
	t.Helper()
	c.Settings = settings
	s, _, err := scheduled(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range s.Kernels {
		if k.AST.Op == uop.Sink {
			kernels++
			buffers = max(buffers, len(k.Bufs))
		}
	}
	return kernels, buffers
}

// The settings of a case that concern the scheduler are read from it.
func TestScheduleHasTheSettingsOfTheCase(t *testing.T) {
	g := symbolic.NewGraph()
	sum := g.NewBuffer("CPU", 1<<16, uop.Float32).ReduceAxes(uop.Add, 0)
	long := &dump.Case{TensorGraph: dump.Graph(g.Sink(nil, sum))}
	off := 0
	for _, c := range []struct {
		split *int
		want  int
	}{{nil, 2}, {&off, 1}} {
		if n, _ := kernelsWith(t, long, dump.Settings{SplitReduce: c.split}); n != c.want {
			t.Errorf("SPLIT_REDUCEOP %v: %d kernels, expected %d", c.split, n, c.want)
		}
	}
	norm, err := dump.ReadCase(filepath.Join("testdata", "cases", "nn_batchnorm_infer.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if n, b := kernelsWith(t, norm, dump.Settings{}); n != 1 || b != 6 {
		t.Errorf("%d kernels of up to %d buffers, expected 1 of 6", n, b)
	}
	if n, b := kernelsWith(t, norm, dump.Settings{MaxBuffers: 3}); n < 2 || b > 3 {
		t.Errorf("MAX_KERNEL_BUFFERS=3: %d kernels of up to %d buffers", n, b)
	}
}

// Both settings are read from the data by tinygrad's names.
func TestSettingsAreRead(t *testing.T) {
	var s dump.Settings
	if err := json.Unmarshal([]byte(`{"SPLIT_REDUCEOP": 0, "MAX_KERNEL_BUFFERS": 8, "optimize": true}`), &s); err != nil {
		t.Fatal(err)
	}
	if s.SplitReduce == nil || *s.SplitReduce != 0 || s.MaxBuffers != 8 || !s.Optimize {
		t.Errorf("got %+v", s)
	}
}
