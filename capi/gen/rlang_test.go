package main

import (
	"os"
	"path/filepath"
	"testing"

	"polygrad/capi/header"
)

// What is committed is what the generator writes.
func TestRFilesAreFresh(t *testing.T) {
	text, err := os.ReadFile("../../include/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	protos, err := header.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	folder := "../../bindings/r"
	files, err := rFiles(folder, protos)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if got, err := os.ReadFile(filepath.Join(folder, "src", f.name)); err != nil || string(got) != f.text {
			t.Errorf("bindings/r/src/%s is not what the header and the R code say (%v): run `go generate ./capi`", f.name, err)
		}
	}
}
