// Package tests holds what crosses packages: here, that every package imports only what stands below it.
package tests

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "polygrad/"

// below lists, for each room of the house, the rooms it imports. A room is a folder with all packages
// under it, unless a deeper folder is a room of its own; packages of one room may import each other. An arrow that
// no package uses is not listed.
var below = map[string][]string{
	"core/uop":           nil,
	"core/settings":      nil,
	"core/draw":          {"core/uop"},
	"core/rewrite":       {"core/uop"},
	"core/symbolic":      {"core/rewrite", "core/uop"},
	"core/ranges":        {"core/symbolic", "core/rewrite", "core/uop"},
	"core/gradient":      {"core/rewrite", "core/uop"},
	"core/tensor":        {"core/symbolic", "core/uop"},
	"core/transform":     {"core/gradient", "core/uop"},
	"core/lower":         {"core/settings", "core/ranges", "core/symbolic", "core/rewrite", "core/uop"},
	"core/schedule":      {"core/settings", "core/ranges", "core/symbolic", "core/rewrite", "core/uop"},
	"core/nest":          {"core/settings", "core/nest/emit", "core/nest/plan", "core/nest/analysis", "core/nest/ir", "core/uop"},
	"core/nest/emit":     {"core/nest/plan", "core/nest/analysis", "core/nest/ir", "core/uop"},
	"core/nest/plan":     {"core/nest/analysis", "core/nest/ir", "core/uop"},
	"core/nest/analysis": {"core/nest/ir", "core/uop"},
	"core/nest/ir":       {"core/uop"},
	"render/c":           {"core/uop"},
	"render/regalloc":    nil,
	"render/wasm":        {"core/nest/ir", "core/uop"},
	"render/wgsl":        {"core/nest/ir"},
	"render/x64":         {"render/regalloc", "core/settings", "core/nest/ir", "core/uop"},
	"exec/pages":         {"core/settings"},
	"exec/report":        {"core/draw"},
	"exec/device":        {"exec/pages", "core/nest", "core/nest/ir", "core/schedule", "core/lower", "core/uop"},
	"exec/beam":          {"core/settings", "core/uop", "exec/device", "core/nest/ir", "core/nest/plan", "core/lower"},
	"exec/interp":        {"exec/device", "core/lower", "core/uop"},
	"exec/clang":         {"exec/device", "render/c", "core/lower", "core/uop"},
	"exec/wasm":          {"core/settings", "exec/device", "exec/pages", "render/wasm", "core/nest", "core/nest/ir", "core/schedule", "core/lower"},
	"exec/webgpu":        {"core/settings", "core/uop", "exec/beam", "exec/device", "render/wgsl", "core/nest", "core/nest/ir", "core/nest/plan", "core/lower", "core/schedule"},
	"exec/native":        {"core/settings", "exec/beam", "exec/device", "exec/pages", "render/x64", "core/nest", "core/nest/ir", "core/nest/plan", "core/schedule", "core/lower"},
	"exec": {
		"exec/native", "exec/wasm", "exec/webgpu", "exec/clang", "exec/interp", "exec/device", "exec/report", "render/wasm",
		"core/draw", "core/nest", "core/nest/ir", "core/schedule", "core/lower", "core/symbolic", "core/settings", "core/uop",
	},
	"variable":      {"exec", "exec/pages", "core/schedule", "core/tensor", "core/transform", "core/gradient", "core/rewrite", "core/uop"},
	"polygrad":      {"variable", "model", "exec", "core/tensor", "core/uop"},
	"random":        {"polygrad"},
	"lax":           {"polygrad"},
	"special":       {"polygrad"},
	"tree":          {"polygrad"},
	"linalg":        {"polygrad"},
	"fft":           {"polygrad"},
	"numpy":         {"polygrad"},
	"model":         {"exec", "exec/pages", "core/tensor", "core/gradient", "core/uop"},
	"capi/original": {"model", "core/tensor", "core/uop"},
	"capi": {
		"capi/original",
		"variable", "model", "exec", "exec/native", "exec/pages", "exec/report", "core/draw", "core/tensor", "core/gradient",
		"core/schedule", "core/rewrite", "core/settings", "core/uop",
	},
}

// beside lists what the tests of a room import besides the rooms below it and the helpers under tests/, which every test
// may use: what makes the graphs and kernels that they look at, and what runs them for comparison.
var beside = map[string][]string{
	"numpy":           {"linalg", "special"},
	"core/tensor":     {"core/gradient", "exec"},
	"core/gradient":   {"core/symbolic"},
	"core/transform":  {"core/symbolic"},
	"core/schedule":   {"core/tensor", "core/gradient"},
	"core/lower":      {"exec/interp"},
	"render/regalloc": {"core/nest/ir", "core/uop"},
	"render/wasm":     {"core/symbolic", "core/lower", "core/nest"},
	"core/nest":       {"core/lower", "core/symbolic", "core/tensor", "exec"},
	"exec/beam":       {"core/symbolic"},
	"exec/native":     {"core/tensor", "core/symbolic", "core/uop", "exec", "exec/interp", "exec/wasm"},
	"exec/wasm":       {"core/symbolic", "core/uop"},
	"random":          {"core/tensor"},
	"lax":             {"core/tensor"},
	"exec":            {"core/tensor", "core/gradient", "core/nest", "core/nest/ir", "core/nest/plan", "core/transform"},
}

// outside lists the modules from elsewhere that a room may use besides the standard library.
var outside = map[string][]string{
	"exec/wasm":   {"github.com/tetratelabs/wazero"},
	"exec/device": {"github.com/klauspost/cpuid/v2"},
	"exec/native": {"github.com/klauspost/cpuid/v2", "golang.org/x/sys"},
	"exec/pages":  {"golang.org/x/sys"},
}

// outsideInTests lists the modules from elsewhere that the tests of a room use besides.
var outsideInTests = map[string][]string{
	"render/wasm": {"github.com/tetratelabs/wazero"},
}

// above are the rooms that only use the library: no package of the library imports them, they may import all.
var above = []string{"tests", "bench", "examples", "scripts"}

type goPackage struct {
	ImportPath, Dir   string
	GoFiles, CgoFiles []string
	Imports           []string
	TestImports       []string
	XTestImports      []string
}

func TestPackagesImportOnlyWhatStandsBelow(t *testing.T) {
	used, usedByTests := map[string][]string{}, map[string][]string{}
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if isAbove(path) {
			continue
		}
		room := roomOf(path)
		if room == "" {
			t.Errorf("%s stands in no room: give it a place in the table of this test", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if problem := checkImport(room, imported); problem != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, problem)
			}
			used[room] = append(used[room], roomOf(strings.TrimPrefix(imported, module)))
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			if problem := checkTestImport(room, imported); problem != "" {
				t.Errorf("the tests of %s import %s: %s", p.ImportPath, imported, problem)
			}
			usedByTests[room] = append(usedByTests[room], roomOf(strings.TrimPrefix(imported, module)))
		}
	}
	for _, table := range []struct {
		name         string
		listed, used map[string][]string
	}{{"below", below, used}, {"beside", beside, usedByTests}} {
		for room, others := range table.listed {
			for _, other := range others {
				if !slices.Contains(table.used[room], other) {
					t.Errorf("%s lists %s for %s, which imports nothing of it: take it off the list", table.name, other, room)
				}
			}
		}
	}
}

func TestCheckImportSeesWrongArrows(t *testing.T) {
	wrong := map[string]string{
		"core/uop":      "polygrad/core/rewrite",
		"core/tensor":   "polygrad/core/schedule",
		"core/gradient": "polygrad/exec",
		"core/schedule": "polygrad/core/tensor",
		"core/lower":    "polygrad/core/tensor",
		"render/x64":    "polygrad/render/wasm",
		"exec/wasm":     "polygrad/exec/native",
		"core/symbolic": "golang.org/x/sys/unix",
		"exec":          "polygrad/bench",
		"model":         "polygrad/tests/element",
	}
	for room, imported := range wrong {
		if checkImport(room, imported) == "" {
			t.Errorf("%s may import %s, which the house forbids", room, imported)
		}
	}
	right := map[string]string{
		"core/rewrite": "polygrad/core/uop",
		"core/lower":   "polygrad/core/lower/opt",
		"exec/wasm":    "github.com/tetratelabs/wazero/experimental",
		"capi":         "strings",
	}
	for room, imported := range right {
		if problem := checkImport(room, imported); problem != "" {
			t.Errorf("%s may not import %s: %s", room, imported, problem)
		}
	}
	if checkTestImport("core/uop", "polygrad/exec") == "" || checkTestImport("core/schedule", "polygrad/model") == "" {
		t.Error("tests may import what stands above them")
	}
	for room, imported := range map[string]string{"core/uop": "polygrad/tests/element", "core/schedule": "polygrad/core/tensor"} {
		if problem := checkTestImport(room, imported); problem != "" {
			t.Errorf("the tests of %s may not import %s: %s", room, imported, problem)
		}
	}
}

// checkImport says why a package of the room must not import the path, or nothing.
func checkImport(room, imported string) string {
	path, ours := strings.CutPrefix(imported, module)
	if !ours {
		first, _, _ := strings.Cut(imported, "/")
		if !strings.Contains(first, ".") || contains(outside[room], imported) {
			return ""
		}
		return "this room uses only the standard library"
	}
	if isAbove(path) {
		return "it uses the library, the library does not use it"
	}
	other := roomOf(path)
	if other == room || slices.Contains(below[room], other) {
		return ""
	}
	return "the arrows go down only (see below in tests/arch_test.go)"
}

// checkTestImport says why a test of the room must not import the path, or nothing.
func checkTestImport(room, imported string) string {
	path, ours := strings.CutPrefix(imported, module)
	if contains([]string{"tests"}, path) && ours || slices.Contains(beside[room], roomOf(path)) || contains(outsideInTests[room], imported) {
		return ""
	}
	return checkImport(room, imported)
}

// An arrow is not hidden in a hook: a package does not give functions to another one when the program starts.
func TestPackagesSetNoHooks(t *testing.T) {
	inits := 0
	for _, p := range listPackages(t) {
		if isAbove(strings.TrimPrefix(p.ImportPath, module)) {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, hook := range hooks(file) {
				t.Errorf("%s/%s: %s reaches into another package when the program starts", p.ImportPath, name, hook)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && isInit(f) {
					inits++
				}
			}
		}
	}
	if inits == 0 {
		t.Error("no package has an init function: the test looks at nothing")
	}
}

func TestHooksAreSeen(t *testing.T) {
	const code = `package p
import "polygrad/core/uop"
import other "polygrad/core/rewrite"
import _ "polygrad/exec"
var mine = uop.Ops(uop.Add)
var _ = uop.Register(f)
func f() { uop.SetSimplifier(f) }
func init() { mine = uop.Ops(); uop.SetSimplifier(f); other.Hook = f; println("x"); mine.Add(f) }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", code, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`import _ "polygrad/exec"`, "var _ = uop.Register", "uop.SetSimplifier in init", "other.Hook in init"}
	if got := hooks(file); !slices.Equal(got, want) {
		t.Errorf("hooks %q, expected %q", got, want)
	}
}

func isInit(f *ast.FuncDecl) bool { return f.Recv == nil && f.Name.Name == "init" }

// hooks lists what a file does to other packages of the module when the program starts: calls for their effect, and
// assignments to their variables.
func hooks(file *ast.File) []string {
	var found []string
	packages := map[string]bool{}
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if !strings.HasPrefix(path, module) {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		if name == "_" {
			found = append(found, "import _ "+i.Path.Value)
		}
		packages[name] = true
	}
	// foreign is the function or variable of another package that an expression is, or "".
	foreign := func(e ast.Expr) string {
		if call, ok := e.(*ast.CallExpr); ok {
			e = call.Fun
		}
		if s, ok := e.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && packages[x.Name] {
				return x.Name + "." + s.Sel.Name
			}
		}
		return ""
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && len(v.Values) == 1 && v.Names[0].Name == "_" {
					if _, call := v.Values[0].(*ast.CallExpr); call && foreign(v.Values[0]) != "" {
						found = append(found, "var _ = "+foreign(v.Values[0]))
					}
				}
			}
		case *ast.FuncDecl:
			if !isInit(d) {
				continue
			}
			ast.Inspect(d.Body, func(n ast.Node) bool {
				var changed []ast.Expr
				switch n := n.(type) {
				case *ast.ExprStmt:
					changed = []ast.Expr{n.X}
				case *ast.AssignStmt:
					changed = n.Lhs
				}
				for _, e := range changed {
					if f := foreign(e); f != "" {
						found = append(found, f+" in init")
					}
				}
				return true
			})
		}
	}
	return found
}

// roomOf returns the deepest room whose folder holds the package, or "".
func roomOf(path string) string {
	best := ""
	for room := range below {
		if (path == room || strings.HasPrefix(path, room+"/")) && len(room) > len(best) {
			best = room
		}
	}
	return best
}

func isAbove(path string) bool { return contains(above, path) }

func contains(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return path == f || strings.HasPrefix(path, f+"/")
	})
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-pgo=off", "-e", "-json=ImportPath,Dir,GoFiles,CgoFiles,Imports,TestImports,XTestImports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			if len(packages) < 2 {
				t.Fatalf("go list found %d packages: the test looks at nothing", len(packages))
			}
			return packages
		}
		if err != nil {
			t.Fatalf("reading the output of go list: %v", err)
		}
		packages = append(packages, p)
	}
}

// TestWebAssemblyHasNoOtherEngine: the library as a module of WebAssembly has neither an engine for kernels of its own, nor native
// code, nor a package that is large and not needed.
func TestWebAssemblyHasNoOtherEngine(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./capi")
	list.Dir = ".."
	list.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, module+"exec/wasm") {
		t.Errorf("capi does not need exec/wasm: %v", packages)
	}
	for _, p := range packages {
		for _, other := range []string{
			"github.com/", "golang.org/", "net", "regexp", "text/template", "html/template", "go/", "crypto", "log", "testing", "os/exec",
			module + "render/x64", module + "render/c", module + "exec/native", module + "exec/clang", module + "core/tensor/ops/gen",
		} {
			if strings.HasPrefix(p, other) {
				t.Errorf("capi needs %s", p)
			}
		}
	}
}
