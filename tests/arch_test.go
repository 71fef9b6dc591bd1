// Package tests holds what crosses packages: here, that every package imports only what stands below it.
package tests

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "polygrad/"

// below lists, for each room of the house, the rooms it may import. A room is a folder with all packages
// under it, unless a deeper folder is a room of its own; packages of one room may import each other.
var below = map[string][]string{
	"core/uop":      nil,
	"core/intern":   nil,
	"core/settings": nil,
	"core/kinds":    {"core/uop"},
	"core/draw":     {"core/uop"},
	"core/rewrite":  {"core/uop"},
	"core/symbolic": {"core/rewrite", "core/uop"},
	"core/ranges":   {"core/symbolic", "core/rewrite", "core/uop"},
	"core/gradient": {"core/symbolic", "core/rewrite", "core/uop"},
	"core/tensor":   {"core/gradient", "core/symbolic", "core/rewrite", "core/uop"},
	"core/lower":    {"core/settings", "core/ranges", "core/symbolic", "core/rewrite", "core/uop"},
	"core/schedule": {"core/settings", "core/ranges", "core/symbolic", "core/rewrite", "core/uop"},
	"core/nest/ir":  {"core/kinds", "core/intern", "core/uop"},
	"core/nest":     {"core/settings", "core/nest/ir", "core/kinds", "core/uop"},
	"render":        {"core/settings", "core/nest/ir", "core/kinds", "core/intern", "core/uop"},
	"exec":          {"core/settings", "render", "core/draw", "core/nest", "core/nest/ir", "core/schedule", "core/lower", "core/symbolic", "core/rewrite", "core/uop"},
	"model":         {"exec", "core/tensor", "core/gradient", "core/uop"},
	"capi":          {"core/settings", "model", "exec", "core/draw", "core/schedule", "core/tensor", "core/gradient", "core/rewrite", "core/uop"},
}

// outside lists the modules from elsewhere that a room may use besides the standard library.
var outside = map[string][]string{
	"exec": {"core/settings", "github.com/tetratelabs/wazero", "github.com/klauspost/cpuid/v2", "golang.org/x/sys"},
}

// above are the rooms that only use the library: no package of the library imports them, they may import all.
var above = []string{"tests", "bench", "examples", "scripts"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Name       string
}

func TestPackagesImportOnlyWhatStandsBelow(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 2 {
		t.Fatalf("go list found %d packages: the test looks at nothing", len(packages))
	}
	for _, p := range packages {
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
		"render":        "polygrad/exec/wasm",
		"core/symbolic": "golang.org/x/sys/unix",
		"exec":          "polygrad/bench",
	}
	for room, imported := range wrong {
		if checkImport(room, imported) == "" {
			t.Errorf("%s may import %s, which the house forbids", room, imported)
		}
	}
	right := map[string]string{
		"core/rewrite": "polygrad/core/uop",
		"core/lower":   "polygrad/core/lower/opt",
		"exec":         "github.com/tetratelabs/wazero/experimental",
		"capi":         "strings",
	}
	for room, imported := range right {
		if problem := checkImport(room, imported); problem != "" {
			t.Errorf("%s may not import %s: %s", room, imported, problem)
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
	out, err := exec.Command("go", "list", "-pgo=off", "-e", "-json=ImportPath,Imports,Standard,Name", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("reading the output of go list: %v", err)
		}
		packages = append(packages, p)
	}
}
