package tests

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// thin are the bindings with the most lines that may be written by hand: what grows beyond them belongs into the library, or into the
// descriptions of operations. Tests, generated files, declarations of types and copies of the header do not count; nor does what runs the
// library elsewhere, as WebAssembly and in a worker.
var thin = []struct {
	folder, endings string
	without         []string
	most            int
}{
	{"bindings/python/polygrad", ".py", []string{"conftest.py", "func", "lax", "numpy", "optim"}, 6050},
	{"bindings/python/polygrad/func", ".py", nil, 1850},
	{"bindings/python/polygrad/lax", ".py", nil, 1000},   // with the forms of JAX's arguments
	{"bindings/python/polygrad/numpy", ".py", nil, 2050}, // what NumPy and the array API have beside functions of tensors, and their arguments
	{"bindings/python/polygrad/optim", ".py", nil, 4200}, // optax: its names and arguments
	{"bindings/js/lib", ".js .mjs .cjs", []string{"wasm", "engine", "host", "remote", "func", "jax", "optax", "loaders"}, 5050},
	{"bindings/js/lib/func", ".js", nil, 1660}, // with the control flow of lax
	{"bindings/js/lib/jax", ".js", nil, 3000},  // names, arguments and ownership of jax-js, and its printed form of functions
	{"bindings/js/lib/optax", ".js", nil, 300},
	{"bindings/js/lib/loaders", ".js", nil, 780}, // with files of NumPy, whose archives are checked whole
	{"bindings/r", ".R .c .h", []string{"tests", "src/polygrad.h", "R/func.R", "R/loops.R", "src/expr.c"}, 6050},
}

func TestBindingsAreThin(t *testing.T) {
	for _, b := range thin {
		lines := 0
		root := filepath.Join("..", b.folder)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rest, _ := filepath.Rel(root, path)
			switch {
			case slices.Contains(b.without, filepath.ToSlash(rest)):
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			case d.IsDir() || !slices.Contains(strings.Fields(b.endings), filepath.Ext(path)):
				return nil
			}
			text, err := os.ReadFile(path)
			if err == nil && !bytes.Contains(text[:min(len(text), 600)], []byte("DO NOT EDIT")) {
				lines += bytes.Count(text, []byte("\n"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if lines < b.most/2 || lines > b.most {
			t.Errorf("%s: %d lines by hand, expected at most %d", b.folder, lines, b.most)
		}
		t.Logf("%s: %d of %d lines", b.folder, lines, b.most)
	}
}
