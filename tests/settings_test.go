package tests

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

	"polygrad/core/settings"
)

// rows returns the table of environment variables in docs/guide/settings.md: what each row says by the variable it is about.
func rows(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/guide/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| variable | what it does |\n|---|---|\n")
	if !found {
		t.Fatal("settings.md has no table of environment variables")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	said := map[string]string{}
	for line := range strings.Lines(table) {
		names, what, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, name := range regexp.MustCompile("[A-Z0-9_]+").FindAllString(names, -1) {
			said[name] = what
		}
	}
	return said
}

// TestThePageHasTheSettings compares the page's table with that of core/settings: names, values and defaults.
func TestThePageHasTheSettings(t *testing.T) {
	said := rows(t)
	for _, v := range settings.Table {
		what, found := said[v.Name]
		if !found {
			t.Errorf("settings.md has no row for %s", v.Name)
			continue
		}
		var words []string
		if values, ok := v.Values.(settings.OneOf); ok && len(values) > 2 {
			words = values
		}
		for _, word := range append(words, v.Default) {
			// What is off unless it is set needs no words for its default.
			if word != "" && !(word == "0" || word == "1") && !strings.Contains(what, "`"+word+"`") {
				t.Errorf("the row of settings.md for %s does not name `%s`", v.Name, word)
			}
		}
	}
}

// TestOnlySettingsReadTheEnvironment looks for every way in which Go reads an environment variable.
func TestOnlySettingsReadTheEnvironment(t *testing.T) {
	files := 0
	for _, path := range sources(t, ".go") {
		room, _, _ := strings.Cut(path, "/")
		// What settings has in native builds from the C library it has here from Go.
		host := path == "capi/host_wasip1.go"
		if isAbove(room) || strings.HasSuffix(path, "_test.go") || path == "core/settings/settings.go" || host {
			continue
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), "../"+path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"os", "syscall", "unix"}, of.Name) &&
				slices.Contains([]string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}, s.Sel.Name) {
				t.Errorf("%s uses %s.%s: environment variables stand in the table of core/settings", path, of.Name, s.Sel.Name)
			}
			return true
		})
	}
	if files < 100 {
		t.Fatalf("%d files were read: the test looks at nothing", files)
	}
}

// reads are the ways in which C and the languages of the bindings read environment variables.
var reads = map[string]*regexp.Regexp{
	".c":  regexp.MustCompile(`getenv\("(\w+)"`),
	".h":  regexp.MustCompile(`getenv\("(\w+)"`),
	".py": regexp.MustCompile(`(?:environ\.get|environ|getenv)[(\[]["'](\w+)["']`),
	".js": regexp.MustCompile(`\b(?:process\.env|environment)\.(\w+)|\{([\w, ]+)\} = (?:process\.env|environment)`),
	".R":  regexp.MustCompile(`Sys\.getenv\(["'](\w+)["']`),
}

// TestThePageHasWhatBindingsRead finds the environment variables of C and of the bindings in the page's table.
func TestThePageHasWhatBindingsRead(t *testing.T) {
	said := rows(t)
	found := map[string]int{}
	for extension, pattern := range reads {
		for _, path := range sources(t, extension) {
			if !isLibrary(path) {
				continue
			}
			text, err := os.ReadFile("../" + path)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range pattern.FindAllStringSubmatch(string(text), -1) {
				for name := range strings.FieldsFuncSeq(strings.Join(match[1:], ","), func(r rune) bool { return r == ',' || r == ' ' }) {
					found[extension]++
					if said[name] == "" {
						t.Errorf("%s reads %s, for which settings.md has no row", path, name)
					}
				}
			}
		}
	}
	for _, extension := range []string{".py", ".js", ".R"} {
		if found[extension] < 3 {
			t.Errorf("%d variables were found in files %s: the pattern looks at nothing", found[extension], extension)
		}
	}
}

// isLibrary reports whether a file is part of what a user installs.
func isLibrary(path string) bool {
	parts := strings.Split(path, "/")
	return slices.Contains([]string{"capi", "exec", "render", "include", "bindings"}, parts[0]) &&
		!slices.ContainsFunc([]string{"test", "tests", "testdata", "scripts", "build", "node_modules"}, func(s string) bool { return slices.Contains(parts, s) }) &&
		parts[len(parts)-1] != "setup.py"
}

// sources lists the files of the project with an extension, without what was built.
func sources(t *testing.T, extension string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".venv", ".git", "build", "node_modules"}, d.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == extension {
			found = append(found, strings.TrimPrefix(path, "../"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
