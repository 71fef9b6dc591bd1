package schedule_test

import (
	"path/filepath"
	"testing"

	"polygrad/core/schedule"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity"
	"polygrad/tests/parity/dump"
)

const reference = "../../tests/parity/testdata"

// eachCase calls f with every case of the reference data.
func eachCase(t testing.TB, f func(t testing.TB, set, name string, c *dump.Case)) {
	for _, set := range []string{"golden", "cases", "opt"} {
		names, err := dump.Names(filepath.Join(reference, set))
		if err != nil || len(names) == 0 {
			t.Fatalf("no reference data for %s: %v", set, err)
		}
		for _, name := range names {
			c, err := dump.ReadCase(filepath.Join(reference, set, name+".json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			if tt, ok := t.(*testing.T); ok {
				tt.Run(set+"/"+name, func(t *testing.T) { f(t, set, name, c) })
			} else {
				f(t, set, name, c)
			}
		}
	}
}

func normalized(t testing.TB, c *dump.Case) (root *uop.UOp, vars map[string]int64) {
	sink, err := dump.Root(symbolic.NewGraph(), c.TensorGraph)
	if err != nil {
		t.Fatal(err)
	}
	root, _, vars, err = schedule.Normalize(sink.Graph().Scratch(), sink)
	if err != nil {
		t.Fatal(err)
	}
	return root, vars
}

// The graph after every pass is tinygrad's, node for node, with range numbers, slots and tags.
func TestEveryPassEqualsTinygrad(t *testing.T) {
	eachCase(t, func(t testing.TB, set, name string, c *dump.Case) {
		root, _ := normalized(t, c)
		var trace parity.Trace
		s, err := schedule.New(root, schedule.WithTrace(trace.Record))
		if err != nil {
			t.Fatal(err)
		}
		stages, err := dump.ReadPasses(filepath.Join(reference, "passes", set, name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if d := parity.FirstDifference(stages[0], trace, nil); d != nil {
			t.Fatalf("%s\n%s", d, d.Detail())
		}
		checkKernels(t, c, s)
	})
}

// checkKernels compares order, kernels and the pattern of buffers with the reference.
func checkKernels(t testing.TB, c *dump.Case, s *schedule.Schedule) {
	if len(s.Kernels) != len(c.Schedule) {
		t.Fatalf("%d kernels, expected %d", len(s.Kernels), len(c.Schedule))
	}
	slotOf := map[string]int{}
	for i, item := range c.Schedule {
		k := s.Kernels[i]
		if item.Kernel != nil {
			if d := dump.Diff(c.Kernels[*item.Kernel].AST, dump.Graph(k.AST), false); d >= 0 {
				t.Fatalf("kernel %d differs at node %d\n%s", i, d, k.AST.Dump())
			}
		} else if k.AST.Op != uop.Copy {
			t.Fatalf("item %d is %s, expected a COPY", i, k.AST)
		}
		if len(k.Bufs) != len(item.Bufs) {
			t.Fatalf("item %d has buffers %v, expected %v", i, k.Bufs, item.Bufs)
		}
		for j, id := range item.Bufs {
			if old, ok := slotOf[id]; ok && old != k.Bufs[j] {
				t.Fatalf("item %d: buffer %s is slot %d, was %d", i, id, k.Bufs[j], old)
			}
			slotOf[id] = k.Bufs[j]
		}
	}
	if len(slotOf) != len(s.Slots) {
		t.Errorf("%d slots, expected %d", len(s.Slots), len(slotOf))
	}
}
