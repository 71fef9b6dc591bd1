package parity

import (
	"path/filepath"
	"testing"

	"polygrad/tests/parity/dump"
)

// Every reference case must give tinygrad's kernels, node for node and in the same order, and its values.
func TestReferenceCases(t *testing.T) {
	r := &Runner{Data: "testdata", Stage: Whole, Passes: true}
	sets := map[string]int{"golden": 33, "cases": 130, "opt": 176}
	for set, count := range sets {
		names, err := dump.Names(filepath.Join(r.Data, set))
		if err != nil || len(names) != count {
			t.Fatalf("%s: %d cases, expected %d: %v", set, len(names), count, err)
		}
		if testing.Short() && set != "golden" {
			continue
		}
		for _, name := range names {
			t.Run(set+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := r.Case(set, name)
				if o.Err != nil {
					t.Error(o.Err)
				}
				for _, l := range Whole.Levels() {
					if !o.Levels[l] {
						t.Errorf("level %s differs", l)
					}
				}
				if o.First != nil {
					t.Errorf("first difference: %s", o.First)
				}
			})
		}
	}
}

// Each pass of the lowering must turn tinygrad's graph before it into tinygrad's graph after it.
func TestEachPassAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every pass of every kernel")
	}
	for _, set := range []string{"golden", "cases", "opt"} {
		names, err := dump.Names(filepath.Join("testdata", "passes", set))
		if err != nil || len(names) == 0 {
			t.Fatalf("no dumps of passes in %s: %v", set, err)
		}
		for _, name := range names {
			t.Run(set+"/"+name, func(t *testing.T) {
				t.Parallel()
				o := (&Runner{Data: "testdata", Stage: Lower, Passes: true, Force: true}).Case(set, name)
				if o.Err != nil {
					t.Error(o.Err)
				}
				for _, d := range o.Forced {
					t.Error(d)
				}
			})
		}
	}
}
