// Gen reads the prototypes of include/polygrad.h and writes the code derived from them: the C functions before the Go exports, the
// tables of the bindings. It runs in capi (go generate).
package main

import (
	"errors"
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
	functions, err := functionsOf(".")
	if err != nil {
		return err
	}
	public, inGo := map[string]bool{}, map[string]bool{}
	for _, p := range protos {
		public[p.Name] = true
	}
	for _, f := range functions {
		if !public[f.name] {
			return fmt.Errorf("%s in %s is not in the header", f.name, f.file)
		}
		inGo[f.name] = f.inCgo
	}
	inC, err := byHand(".")
	if err != nil {
		return err
	}
	for name := range inC {
		delete(inGo, name)
	}
	const js = "../bindings/js"
	called, _, err := usedByJS(js)
	if err != nil {
		return err
	}
	wasm, err := exportsWasm(functions, called)
	if err != nil {
		return err
	}
	version := regexp.MustCompile(`#define POLY_VERSION "(.*)"`).FindStringSubmatch(string(text))
	if version == nil {
		return errors.New("the header does not define POLY_VERSION")
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
	tableJS, err := tableOf(js, protos, constants)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(js, "lib", prototypes), []byte(tableJS), 0o644); err != nil {
		return err
	}
	if err := writeR(protos); err != nil {
		return err
	}
	if err := os.WriteFile("names_gen.go", []byte(namesGo(version[1], protos)), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile("shim_gen.c", []byte(shimC(protos, inGo)), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile("exports_cgo.go", []byte(exportsCgo(functions)), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile("exports_wasip1.go", []byte(wasm), 0o644); err != nil {
		return err
	}
	return os.WriteFile("../bindings/python/polygrad/_prototypes.py", []byte(table), 0o644)
}
