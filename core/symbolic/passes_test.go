package symbolic

import (
	"path/filepath"
	"testing"

	"polygrad/core/rewrite"
	"polygrad/tests/parity/dump"
)

// passTables are the passes of the reference data that apply nothing but tables of this package. In opt the choice
// of optimisations comes before "postopt symbolic" without a dump of its own.
var passTables = map[string]*rewrite.Table{
	"initial symbolic":    Sym, // and flatten ranges, which changes nothing where the ranges are in order already
	"postopt symbolic":    rewrite.Concat("postopt symbolic", Sym, MoveWhereOnLoad),
	"post index symbolic": Symbolic,
}

func TestPassesEqualTinygrads(t *testing.T) {
	root := "../../tests/parity/testdata/passes"
	for _, set := range []string{"golden", "cases", "opt"} {
		names, err := dump.Names(filepath.Join(root, set))
		if err != nil || len(names) == 0 {
			t.Fatalf("no reference data for %s: %v", set, err)
		}
		for _, name := range names {
			stages, err := dump.ReadPasses(filepath.Join(root, set, name+".json.gz"))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range stages {
				for i, p := range s.Passes {
					tab := passTables[p.Name]
					if set == "opt" && p.Name == "postopt symbolic" {
						tab = nil
					}
					if tab != nil && i > 0 && p.Nodes != nil && s.Passes[i-1].Nodes != nil {
						comparePass(t, set+"/"+name+" "+s.Stage, p.Name, tab, s.Passes[i-1].Nodes, p.Nodes)
					}
				}
			}
		}
	}
}

func comparePass(t *testing.T, where, name string, tab *rewrite.Table, before, after []dump.Node) {
	t.Helper()
	root, err := dump.Root(NewGraph(), before)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	got := dump.Graph(rewrite.Graph(root, tab, nil))
	i := dump.Diff(got, after, true)
	if i < 0 {
		return
	}
	at := func(list []dump.Node) string {
		if i < len(list) {
			return list[i].String()
		}
		return "nothing"
	}
	t.Errorf("%s, %s: node %d is\n %s, not\n %s (%d nodes, not %d)", where, name, i, at(got), at(after), len(got), len(after))
}
