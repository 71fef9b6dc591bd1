package lower

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

const reference = "../../tests/parity/testdata"

// eachCase calls f with every case of a set of the reference data and its target. PARITY_CASE=name picks some.
func eachCase(t *testing.T, set string, f func(name string, c *dump.Case, target *Target)) {
	t.Helper()
	names, err := dump.Names(filepath.Join(reference, set))
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases in %s: %v", set, err)
	}
	for _, name := range names {
		if !strings.Contains(name, os.Getenv("PARITY_CASE")) {
			continue
		}
		c, err := dump.ReadCase(filepath.Join(reference, set, name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		target := Clang()
		target.Optimize, target.Devectorize, target.Threads = c.Settings.Optimize, c.Settings.Devectorize, c.Settings.CPUCount
		f(set+"/"+name, c, target)
	}
}

// passesOf reads tinygrad's graphs after every pass of every kernel of a case, by the name of the stage.
func passesOf(t *testing.T, name string) map[string]dump.Stage {
	t.Helper()
	list, err := dump.ReadPasses(filepath.Join(reference, "passes", name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	stages := map[string]dump.Stage{}
	for _, s := range list {
		stages[s.Stage] = s
	}
	return stages
}

func stageName(i int) string { return "kernel" + itoa(i) }

var sets = []string{"golden", "cases", "opt"}

// TestEachPassEqualsTinygrads gives each pass tinygrad's graph before it and compares the graph after it.
func TestEachPassEqualsTinygrads(t *testing.T) {
	if testing.Short() {
		t.Skip("reads every dump")
	}
	equal, bad := map[string]int{}, map[string]int{}
	for _, set := range sets {
		eachCase(t, set, func(name string, c *dump.Case, target *Target) {
			stages := passesOf(t, name)
			for i := range c.Kernels {
				before := c.Kernels[i].AST
				for _, p := range stages[stageName(i)].Passes {
					in := before
					before = p.Nodes
					if p.Name == "flatten range" {
						continue // a part of apply_opts
					}
					if p.Name == "postopt symbolic" {
						in = append([]dump.Node(nil), in...)
						in[len(in)-1].Arg, in[len(in)-1].Tag = p.Nodes[len(p.Nodes)-1].Arg, p.Nodes[len(p.Nodes)-1].Tag
					}
					g := symbolic.NewGraph()
					sink, err := dump.Root(g, in)
					if err != nil {
						t.Fatal(err)
					}
					got, msg := runPass(p.Name, sink, target)
					if msg == "" {
						if d := dump.Diff(p.Nodes, dump.Graph(got), true); d >= 0 {
							msg = firstDifference(p.Nodes, dump.Graph(got), d)
						}
					}
					if msg == "" {
						equal[p.Name]++
						continue
					}
					if bad[p.Name]++; bad[p.Name] <= 3 {
						t.Errorf("%s kernel %d, pass %q: %s", name, i, p.Name, msg)
					}
				}
			}
		})
	}
	for _, p := range Passes {
		t.Logf("%-22s %4d equal, %d not", p.Name, equal[p.Name], bad[p.Name])
	}
}

func firstDifference(want, got []dump.Node, at int) string {
	show := func(l []dump.Node) string {
		if at < len(l) {
			return l[at].String()
		}
		return "nothing"
	}
	return "node " + itoa(at) + " is " + show(got) + ", expected " + show(want)
}

// numbered is the number that tinygrad appends to a kernel's name when it has used the name before.
var numbered = regexp.MustCompile(`(name=[A-Za-z]_[0-9_]+)n[0-9]+`)

// uncounted drops that number from the SINK, the last node: it depends on what was compiled before.
func uncounted(list []dump.Node) []dump.Node {
	last := list[len(list)-1]
	if last.Arg == nil {
		return list
	}
	arg := numbered.ReplaceAllString(*last.Arg, "$1")
	last.Arg = &arg
	return append(list[:len(list)-1:len(list)-1], last)
}

func itoa(i int) string { return uop.Num(i).String() }

func runPass(name string, sink *uop.UOp, target *Target) (out *uop.UOp, msg string) {
	defer func() {
		if r := recover(); r != nil {
			msg = lowerError("", name, r).Error()
			if os.Getenv("PARITY_PANIC") != "" {
				panic(r)
			}
		}
	}()
	for _, p := range Passes {
		if p.Name == name {
			out = p.Run(sink, target)
			if p.Check != nil {
				if err := p.Check(out, target); err != nil {
					return out, "check: " + err.Error()
				}
			}
			return out, ""
		}
	}
	return nil, "no such pass"
}

// TestKernelsEqualTinygrads lowers each kernel from its AST to the linear list.
func TestKernelsEqualTinygrads(t *testing.T) {
	kernels := 0
	for _, set := range sets {
		if testing.Short() && set != "golden" {
			continue
		}
		eachCase(t, set, func(name string, c *dump.Case, target *Target) {
			for i, k := range c.Kernels {
				ast, err := dump.Root(symbolic.NewGraph(), k.AST)
				if err != nil {
					t.Fatal(err)
				}
				kernels++
				p, err := Lower(ast, target)
				if err != nil {
					t.Errorf("%s kernel %d: %v", name, i, err)
					continue
				}
				if want, got := uncounted(k.Linear), dump.List(p.Linear); dump.Diff(want, got, false) >= 0 {
					t.Errorf("%s kernel %d: %s", name, i, firstDifference(want, got, dump.Diff(want, got, false)))
					explain(t, ast, target, passesOf(t, name)[stageName(i)])
				}
			}
		})
	}
	if kernels < 400 && os.Getenv("PARITY_CASE") == "" && !testing.Short() {
		t.Errorf("only %d kernels were compared", kernels)
	}
}

// explain names the first pass whose graph differs from tinygrad's.
func explain(t *testing.T, ast *uop.UOp, target *Target, stage dump.Stage) {
	t.Helper()
	want := map[string][]dump.Node{}
	for _, p := range stage.Passes {
		want[p.Name] = uncounted(p.Nodes)
	}
	found := false
	if _, err := Lower(ast, target, func(pass string, sink *uop.UOp) {
		w, got := want[pass], dump.Graph(sink)
		if d := dump.Diff(w, got, false); !found && w != nil && d >= 0 {
			found = true
			t.Logf("the first pass that differs is %q: %s", pass, firstDifference(w, got, d))
		}
	}); err != nil {
		t.Log(err)
	}
}
