package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"polygrad/capi/header"
)

func TestRWrappers(t *testing.T) {
	protos, err := header.Parse(`
POLY_API PolyUOp *poly_reduce(PolyCtx *ctx, int op, PolyUOp *x, const int64_t *axes, int n_axes, int keepdim);
POLY_API PolyUOp *poly_softmax(PolyCtx *ctx, PolyUOp *x, const int64_t *shape, int ndim, int axis);
POLY_API PolyUOp *poly_roll(PolyCtx *ctx, PolyUOp *src, const int64_t *shifts, const int64_t *axes, int n);
POLY_API int poly_sort(PolyCtx *ctx, PolyUOp *x, int axis, int descending, PolyUOp **out);
POLY_API int poly_ndim(PolyCtx *ctx, PolyUOp *x);
POLY_API PolyUOp *poly_odd(PolyCtx *ctx, PolyDType dtype);
`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		call string
		args int
	}{
		{"made(&call, P.poly_reduce(context(), op_, x_, axes_, n_axes, keepdim_))", 4}, // an array brings its count
		{"made(&call, P.poly_softmax(context(), x_, NULL, 0, axis_))", 2},              // the operand knows its shape
		{"made(&call, P.poly_roll(context(), src_, shifts_, axes_, n_))", 4},           // two arrays share one
		{"made_list(&call, P.poly_sort(context(), x_, axis_, descending_, out), out, n_out)", 4},
	} {
		text, n, err := rWrapper(protos[i])
		if err != nil || n != want.args || !strings.Contains(text, "return "+want.call+";") {
			t.Errorf("%s: %d arguments (%v), want %d and %s, got\n%s", protos[i].Name, n, err, want.args, want.call, text)
		}
	}
	if text, _, _ := rWrapper(protos[1]); !strings.Contains(text, "int axis_ = arg_position(") {
		t.Errorf("an axis is not counted from 1:\n%s", text)
	}
	for _, p := range protos[4:] {
		if _, _, err := rWrapper(p); err == nil {
			t.Errorf("%s: no error, though R has nothing for it", p.Name)
		}
	}
}

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
