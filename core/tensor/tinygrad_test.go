package tensor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/decisions.md names each function that composes otherwise than tinygrad, and no other.
func TestDecisionsNameWhatIsComposedOtherwise(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "asTinygrad" {
						found = append(found, f.Name.Name)
					}
				}
				return true
			})
		}
	}
	text, err := os.ReadFile("../../docs/decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| function | what tinygrad's form loses |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var named []string
	for line := range strings.Lines(table) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cell, -1) {
			named = append(named, m[1])
		}
	}
	slices.Sort(found)
	slices.Sort(named)
	if len(found) < 30 || !slices.Equal(found, named) {
		t.Errorf("composed otherwise:\n%v\nnamed in docs/decisions.md:\n%v", found, named)
	}
}
