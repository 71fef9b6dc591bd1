package dump

import (
	"path/filepath"
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

const data = "../testdata"

// roundTrip loads a list and writes it again: as a list, and as a toposort if ordered is set.
func roundTrip(t *testing.T, where string, list []Node, ordered bool) bool {
	t.Helper()
	us, err := Load(symbolic.NewGraph(), list)
	if err != nil {
		if strings.Contains(err.Error(), "not numbers") {
			return false
		}
		t.Fatalf("%s: %v", where, err)
	}
	back := List(us)
	if ordered {
		back = Graph(us[len(us)-1])
	}
	if i := Diff(list, back, true); i >= 0 {
		t.Fatalf("%s: node %d: read %v, wrote %v", where, i, list[i], back[i])
	}
	return true
}

func TestEveryListSurvivesARoundTrip(t *testing.T) {
	lists := 0
	for _, set := range []string{"golden", "cases", "opt"} {
		names, err := Names(filepath.Join(data, set))
		if err != nil || len(names) == 0 {
			t.Fatalf("no cases in %s: %v", set, err)
		}
		for _, name := range names {
			c, err := ReadCase(filepath.Join(data, set, name+".json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			where := set + "/" + name
			roundTrip(t, where+" tensor graph", c.TensorGraph, true)
			for _, k := range c.Kernels {
				roundTrip(t, where+" ast", k.AST, true)
				roundTrip(t, where+" rewritten", k.Rewritten, true)
				roundTrip(t, where+" linear", k.Linear, false)
				lists += 3
			}
		}
	}
	if lists < 1000 {
		t.Fatalf("only %d lists were read", lists)
	}
}

func TestPassesSurviveARoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("reads every dump")
	}
	read, unreadable := 0, 0
	for _, set := range []string{"golden", "cases"} {
		names, err := Names(filepath.Join(data, "passes", set))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			stages, err := ReadPasses(filepath.Join(data, "passes", set, name+".json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range stages {
				for _, p := range s.Passes {
					if p.Nodes == nil {
						continue
					}
					where := set + "/" + name + " " + s.Stage + " " + p.Name
					if roundTrip(t, where, p.Nodes, true) {
						read++
					} else {
						unreadable++
					}
					if d := Digest(p.Nodes); d != p.Digest {
						t.Fatalf("%s: digest %s, the data says %s", where, d, p.Digest)
					}
				}
			}
		}
	}
	if read < 3000 || unreadable > 10 {
		t.Fatalf("read %d graphs, could not read %d", read, unreadable)
	}
}

func TestLoadNamesTheBadNode(t *testing.T) {
	bad := "7"
	for _, n := range []Node{
		{Op: "NOPE", DType: "void"},
		{Op: "ADD", DType: "flaot"},
		{Op: "ADD", DType: "float", Src: []int{1, 2}},
		{Op: "RANGE", DType: "index", Arg: &bad},
		{Op: "FLIP", DType: "float", Arg: &bad},
	} {
		if _, err := Load(symbolic.NewGraph(), []Node{n}); err == nil || !strings.Contains(err.Error(), n.Op) {
			t.Errorf("Load(%v) = %v, expected an error that names the node", n, err)
		}
	}
}

func TestGeneratedInputsAreTheRecordedOnes(t *testing.T) {
	checked := 0
	for _, set := range []string{"golden", "cases"} {
		names, _ := Names(filepath.Join(data, set))
		for _, name := range names {
			c, err := ReadCase(filepath.Join(data, set, name+".json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range c.Case.Inputs {
				dt, err := uop.ParseDType(in.DType)
				if err != nil {
					t.Fatal(err)
				}
				v, err := in.Numbers()
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range in.Values {
					if got := uop.Float(v[i]).Truncate(dt); !got.Eq(w.Const().Truncate(dt)) {
						t.Fatalf("%s/%s: %s[%d] is %v, recorded %v", set, name, in.Name, i, got, w)
					}
					checked++
				}
			}
		}
	}
	if checked < 1000 {
		t.Fatalf("only %d values were checked", checked)
	}
}
