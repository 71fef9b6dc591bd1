// Gen reads the prototypes of include/polygrad.h and writes the code derived from them: the C functions before the Go exports, the
// tables of the bindings. It runs in capi (go generate).
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"polygrad/capi/header"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "capi/gen:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := os.ReadFile("../include/polygrad.h")
	if err != nil {
		return err
	}
	protos, err := header.Parse(string(text))
	if err != nil {
		return err
	}
	if err := os.WriteFile("plain_gen.go", []byte(plainGo()), 0o644); err != nil {
		return err
	}
	inGo, err := goExports(".")
	if err != nil {
		return err
	}
	public := map[string]bool{}
	for _, p := range protos {
		public["go_"+p.Name] = true
	}
	for name := range inGo {
		if !public[name] {
			return fmt.Errorf("%s is exported by Go but %s is not in the header", name, name[len("go_"):])
		}
	}
	constants, err := header.Constants(string(text))
	if err != nil {
		return err
	}
	records, err := ctypesClasses(string(text))
	if err != nil {
		return err
	}
	table, err := ctypesTable(records, protos, constants)
	if err != nil {
		return err
	}
	if err := writeJS(protos, constants); err != nil {
		return err
	}
	if err := writeR(protos); err != nil {
		return err
	}
	if err := os.WriteFile("names_gen.go", []byte(namesGo(protos)), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile("shim_gen.c", []byte(shimC(protos, inGo)), 0o644); err != nil {
		return err
	}
	return os.WriteFile("../bindings/python/polygrad/_prototypes.py", []byte(table), 0o644)
}

var exportLine = regexp.MustCompile(`(?m)^//export (go_poly_\w+)$`)

// goExports finds the names of the exports in a folder's Go files.
func goExports(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		for _, m := range exportLine.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
	}
	return names, nil
}
