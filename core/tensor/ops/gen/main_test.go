package main

import (
	"bytes"
	"go/format"
	"os"
	"testing"
)

func TestMethodsAreGenerated(t *testing.T) {
	have, err := os.ReadFile("../../../../methods_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := format.Source(methods()); err != nil || !bytes.Equal(have, want) {
		t.Errorf("methods_gen.go is not what the descriptions of operations give (%v): run go generate", err)
	}
}
