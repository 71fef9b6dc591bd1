package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".rules" {
			return nil
		}
		found++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, err := generate(path, string(text))
		if err != nil {
			return err
		}
		if got, err := os.ReadFile(outputName(path)); err != nil || string(got) != string(want) {
			t.Errorf("%s does not come from %s: run go generate (%v)", outputName(path), path, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no .rules file found")
	}
}

func TestMistakesAreReportedWithTheirLine(t *testing.T) {
	for rules, want := range map[string]string{
		"x + 0 => x":                         "f.rules:1: rule before the first table",
		"table T\nx + => x":                  "f.rules:2: unexpected",
		"table T\n\nx + 0 => y":              `f.rules:3: unknown name "y"`,
		"table T\nx + 0 =>":                  "f.rules:2: unexpected",
		"table T\nx + 0 => x if":             "f.rules:2: unexpected",
		"table T\nx + 0 => x y":              `f.rules:2: unexpected "y"`,
		"table T\nx => x":                    "f.rules:2: the pattern must be an operation",
		"table T\nx - 1 => x":                "f.rules:2: x - y cannot be matched",
		"table T\nNOSUCHOP(x) => x":          `f.rules:2: unknown operation "NOSUCHOP"`,
		"table T\nx:quark + 0 => x":          `f.rules:2: unknown type "quark"`,
		"table T\nx $ 0 => x":                "f.rules:2: unexpected '$'",
		"table T\nx + 12z => x":              `f.rules:2: bad number "12z"`,
		"table T\nx + c => x if c + ":        "f.rules:2: unexpected",
		"table T\nx + c => [x | c]":          "f.rules:2: ",
		"table T\nx + 0 => STORE(x, x)":      "f.rules:2: STORE cannot be used in a result",
		"table T\n{} => x":                   "f.rules:2: no operation",
		"table T\nx + 0 => 1 + 2":            "f.rules:2: a constant alone has no type here",
		"table T\nx + (y => x":               `f.rules:2: expected ")"`,
		"table T\nCAST(x) => CAST[quark](x)": `f.rules:2: unknown type "quark"`,
	} {
		_, err := generate("f.rules", rules)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, not %q", rules, err, want)
		}
	}
}

func TestMatchersBacktrack(t *testing.T) {
	for rule, parts := range map[string][]string{
		// Both orders of both sums; the choice of the outer operands varies slowest.
		"(x + y) + x => y":         {"for i1 := range 2 {\n", "for i4 := range 2 {\n", "!= x", "continue"},
		"WHERE(_, x, x) => x":      {"x := u.Src[1]", "if v1 != x {\n\t\treturn nil"},
		"Idempotent~(x, c) => x":   {"range 2"},
		"Binary~(x, c) => x":       {"range rewrite.Ways(u)"},
		"Binary(x, c) => x":        {"c := u.Src[1]"},
		"END(x, ...) => x":         {"len(u.Src) < 1"},
		"END(x) => x":              {"len(u.Src) != 1"},
		"VECTORIZE(x...) => x":     {"range u.Src", "if x == nil"},
		"REDUCE[ADD](x, ...) => x": {"u.Arg != uop.Arg(uop.OpArg(uop.Add))"},
		"x + c => x + [c + 1]":     {"x.Add(x.ConstLike(c.ConstVal().Add(uop.Int(1))))"},
		"x * y => 1 - (x + y)":     {"x, y := u.Src[0], u.Src[1]", "t3.ConstLike(uop.Int(1)).Sub(t3)"},
	} {
		out, err := generate("f.rules", "table T\n"+rule)
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		for _, p := range parts {
			if !strings.Contains(string(out), p) {
				t.Errorf("%s: no %q in\n%s", rule, p, out)
			}
		}
	}
}
