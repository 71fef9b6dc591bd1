package opt

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

// TestReferenceLayouts lays out every kernel of the reference data and compares the graph and the choices.
func TestReferenceLayouts(t *testing.T) {
	data := "../../../tests/parity/testdata"
	names, err := dump.Names(filepath.Join(data, "opt"))
	if err != nil || len(names) == 0 {
		t.Fatal("no reference data", err)
	}
	for _, name := range names {
		c, err := dump.ReadCase(filepath.Join(data, "opt", name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		stages, err := dump.ReadPasses(filepath.Join(data, "passes", "opt", name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		kernel := 0
		for _, s := range stages {
			if !strings.HasPrefix(s.Stage, "kernel") {
				continue
			}
			t.Run(name+"/"+s.Stage, func(t *testing.T) { layout(t, c, c.Kernels[kernel], s) })
			kernel++
		}
	}
}

func layout(t *testing.T, c *dump.Case, k dump.Kernel, s dump.Stage) {
	i := slices.IndexFunc(s.Passes, func(p dump.Pass) bool { return p.Name == "simplify ranges" })
	j := slices.IndexFunc(s.Passes, func(p dump.Pass) bool { return p.Name == "flatten range" })
	if i < 0 || j < 0 {
		t.Fatal("the reference has no layout for the kernel")
	}
	root, err := dump.Root(symbolic.NewGraph(), s.Passes[i].Nodes)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Apply(root, Machine{Threads: c.Settings.CPUCount})
	if err != nil {
		t.Fatal(err)
	}
	info := got.Arg.(uop.KernelInfo)
	var opts []string
	for _, o := range info.AppliedOpts {
		opts = append(opts, o.String())
	}
	if !slices.Equal(opts, k.AppliedOpts) {
		t.Errorf("choices are %v, expected %v", opts, k.AppliedOpts)
	}
	if base, _, _ := strings.Cut(k.Name, "n"); info.Name != base {
		t.Errorf("name is %q, expected %q", info.Name, k.Name)
	}
	want, err := dump.Root(got.Graph(), s.Passes[j].Nodes)
	if err != nil {
		t.Fatal(err)
	}
	if got.WithArg(want.Arg).WithTag(nil) != want.WithTag(nil) {
		t.Errorf("graph is\n%sexpected\n%s", got.Dump(), want.Dump())
	}
}
