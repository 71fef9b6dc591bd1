package tests

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"polygrad/core/lower"
	"polygrad/core/nest"
	"polygrad/core/nest/analysis"
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
	"polygrad/core/schedule"
	"polygrad/core/schedule/fuse"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/render/wgsl"
	"polygrad/render/x64"
	"polygrad/render/x64/pipeline"
)

var update = flag.Bool("update", false, "write the listings of docs/architecture.md anew")

// page is the document whose listings are what the library prints.
const page = "../docs/architecture.md"

// listing is a listing of the page: a comment that names its stage, then what is printed.
var listing = regexp.MustCompile("(?s)<!-- dump: (\\w+) -->\n(?:```text\n(.*?)```\n)?")

// The page follows one kernel through all stages. Its listings are made by the code that it describes.
func TestArchitectureShowsWhatIsPrinted(t *testing.T) {
	stages := stagesOfExample(t)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if found := len(listing.FindAll(text, -1)); found != len(stages) {
		t.Errorf("%s has %d listings, expected %d", page, found, len(stages))
	}
	written := listing.ReplaceAllStringFunc(string(text), func(old string) string {
		m := listing.FindStringSubmatch(old)
		printed, ok := stages[m[1]]
		if !ok {
			t.Errorf("%s: there is no stage %q", page, m[1])
			return old
		}
		if m[2] != printed && !*update {
			t.Errorf("%s: the listing of stage %q differs from what is printed (go test ./tests -run Architecture -update writes it):\n%s", page, m[1], printed)
		}
		return fmt.Sprintf("<!-- dump: %s -->\n```text\n%s```\n", m[1], printed)
	})
	if *update {
		if err := os.WriteFile(page, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The page has a sentence for each package of the library, and none for others.
func TestArchitectureListsAllPackages(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Packages\n")
	table, _, _ = strings.Cut(table, "\n## ")
	listed := map[string]bool{}
	for _, row := range strings.Split(table, "\n") {
		row, ok := strings.CutPrefix(row, "| ")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(row, " | ")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			listed[m[1]] = true
		}
	}
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if !isAbove(path) && !listed[path] {
			t.Errorf("%s: no sentence for package %s", page, path)
		}
		delete(listed, path)
	}
	for path := range listed {
		t.Errorf("%s: there is no package %s", page, path)
	}
}

// stagesOfExample prints 2*sum(exp(x), axis=1) for x of shape (4, 8) at each stage, for a processor with AVX2.
func stagesOfExample(t *testing.T) map[string]string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	g := symbolic.NewGraph()
	x := g.NewBuffer("CPU", 32, uop.Float32).Reshape(uop.ShapeOf(4, 8))
	e, err := tensor.Exp(x)
	must(err)
	sums, err := tensor.Sum(e, []int{1}, false)
	must(err)
	y := sums.MulInt(2)
	stages := map[string]string{"graph": y.Dump()}
	root, _, _, err := schedule.Normalize(symbolic.NewGraph(), g.Sink(nil, g.NewBuffer("CPU", 4, uop.Float32).Store(y)))
	must(err)
	s, err := fuse.New(root, fuse.For(fuse.Machine{Lanes: 16, Threads: 1, L1: 32 << 10, L2: 1 << 20, L3: 4 << 20}))
	must(err)
	if len(s.Kernels) != 1 {
		t.Fatalf("the example has %d kernels, expected 1", len(s.Kernels))
	}
	stages["schedule"] = s.Kernels[0].AST.Dump()
	stages["fuse"] = decisionsOfMeanOfProduct(t)
	p, err := lower.Lower(s.Kernels[0].AST, lower.Native())
	must(err)
	stages["lower"] = uop.DumpList(p.Linear)
	f, err := analysis.New(p.Linear)
	must(err)
	pl, err := plan.Make(f, ir.AVX2, nil, false)
	must(err)
	stages["plan"] = pl.String()
	k, err := nest.Compile(p.Name, p.Linear, ir.AVX2)
	must(err)
	var b strings.Builder
	k.Dump(&b)
	stages["nest"] = b.String()
	c, err := x64.Render(k, x64.Features{AVX2: true})
	must(err)
	b.Reset()
	pipeline.Dump(&b, p.Name, c.Insts)
	stages["x64"] = b.String()
	p, err = lower.Lower(s.Kernels[0].AST, lower.WebGPU())
	must(err)
	f, err = analysis.New(p.Linear)
	must(err)
	pl, err = plan.Make(f, ir.WebGPU, nil, false)
	must(err)
	stages["gpuplan"] = pl.String()
	k, err = nest.Compile(p.Name, p.Linear, ir.WebGPU)
	must(err)
	shader, err := wgsl.Render(k, ir.WebGPU)
	must(err)
	stages["wgsl"] = shader.Source
	return stages
}

// decisionsOfMeanOfProduct prints what fusion decides about (a @ a).mean(), a line each, but for values that are read seldom.
func decisionsOfMeanOfProduct(t *testing.T) string {
	t.Helper()
	g := symbolic.NewGraph()
	a := g.NewBuffer("CPU", 512*512, uop.Float32).Reshape(uop.ShapeOf(512, 512))
	product, err := tensor.MatMul(a, a)
	if err != nil {
		t.Fatal(err)
	}
	mean, err := tensor.Mean(product, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	root, _, _, err := schedule.Normalize(symbolic.NewGraph(), g.Sink(nil, g.NewBuffer("CPU", 1, uop.Float32).Store(mean)))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	if _, err := fuse.New(root, fuse.For(fuse.Machine{Lanes: 16, Threads: 1, L1: 32 << 10, L2: 1 << 20, L3: 4 << 20}), func(d fuse.Decision) {
		if d.Reason != fuse.ComputedOnce {
			text += d.String() + "\n"
		}
	}); err != nil {
		t.Fatal(err)
	}
	return text
}
