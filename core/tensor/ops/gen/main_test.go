package main

import (
	"bytes"
	"go/format"
	"os"
	"slices"
	"testing"

	"polygrad/core/tensor/ops"
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

func TestPythonMethodsAreGenerated(t *testing.T) {
	have, err := os.ReadFile("../../../../bindings/python/polygrad/_methods.py")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, pythonMethods()) {
		t.Error("_methods.py is not what the descriptions of operations give: run go generate")
	}
	for name, want := range pythonClasses() {
		if have, err := os.ReadFile("../../../../bindings/python/polygrad/nn/" + name); err != nil || !bytes.Equal(have, want) {
			t.Errorf("nn/%s is not what the descriptions of classes give (%v): run go generate", name, err)
		}
	}
}

func TestJavaScriptMethodsAreGenerated(t *testing.T) {
	files := map[string][]byte{"methods.js": javascriptMethods(), "types.js": javascriptDTypes(), "methods.d.ts": javascriptDeclarations()}
	for name, text := range javascriptClasses() {
		files["nn/"+name] = text
	}
	for name, want := range files {
		if have, err := os.ReadFile("../../../../bindings/js/lib/" + name); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what the descriptions of operations give (%v): run go generate", name, err)
		}
	}
}

func TestRMethodsAreGenerated(t *testing.T) {
	files := map[string][]byte{"R/methods.R": rMethods(), "R/nn.R": rClasses(), "R/generics.R": rGenerics(), "src/methods.h": rTable(), "src/elements.h": rElements()}
	for name, text := range rManual() {
		files["man/"+name] = text
	}
	for name, want := range files {
		if have, err := os.ReadFile("../../../../bindings/r/" + name); err != nil || !bytes.Equal(have, want) {
			t.Errorf("bindings/r/%s is not what the descriptions of operations give (%v): run go generate", name, err)
		}
	}
}

func TestReferenceIsGenerated(t *testing.T) {
	have, err := os.ReadFile("../../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := reference("../../../..")
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("docs/api.md is not what the descriptions and the bindings give (%v): run go generate", err)
	}
}

func TestEveryPythonExampleHasAnOperation(t *testing.T) {
	for name := range examplesOf(pythonExamples) {
		_, class := ops.ClassNamed(name)
		module := slices.ContainsFunc(ops.Modules(), func(m ops.Module) bool { return m.Name == name })
		if _, found := ops.Find(name); !found && !class && !module {
			t.Errorf("python_examples.txt: %s is not the name of an operation", name)
		}
	}
	for name := range javascriptByHand {
		if _, found := ops.Find(name); !found {
			t.Errorf("javascriptByHand: %s is not the name of an operation", name)
		}
	}
	for _, names := range []map[string]string{rByHand, rUsage, rDocs} {
		for name := range names {
			if _, found := ops.Find(name); !found {
				t.Errorf("r.go: %s is not the name of an operation", name)
			}
		}
	}
	for name := range pythonByHand {
		if _, found := ops.Find(name); !found {
			t.Errorf("pythonByHand: %s is not the name of an operation", name)
		}
	}
}
