package main

import (
	"os"
	"strings"
	"testing"

	"polygrad/capi/header"
)

const sample = `
/* Comments do not count: POLY_API int poly_ghost(void); */
typedef enum {
  POLY_BLUE = 7
} PolyColour;
enum {
  POLY_GREEN = 3,
};
POLY_API int poly_count(void);
POLY_API const char *poly_name(int i); /* trailing */
POLY_API PolyUOp *poly_pad(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2],
                           int ndim);
POLY_API void poly_free(const PolyStep *step, const int64_t **shapes, PolyUOp **xs);
POLY_API PolyUOp *poly_make(PolyCtx *ctx, PolyDType dtype, PolyArg arg);
POLY_API PolyDType poly_type(PolyUOp *x);
POLY_API bool poly_walk(PolyTensor **ts, PolyGateFn gate);
POLY_API float poly_item(PolyTensor *t);
POLY_API void poly_box_set_size(PolyModel *box, int size);
`

func TestShims(t *testing.T) {
	protos, err := header.Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	text := shimC(protos, map[string]bool{"go_poly_count": true, "go_poly_pad": true, "go_poly_free": true,
		"go_poly_make": true, "go_poly_walk": true, "go_poly_item": true, "go_poly_box_set_size": true})
	for _, want := range []string{
		"int poly_count(void) {\n  return poly_enter(\"poly_count\") ? -1 : go_poly_count();\n}\n",
		"PolyUOp *poly_pad(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim) {\n" +
			"  return poly_enter(\"poly_pad\") ? NULL : (PolyUOp *)go_poly_pad((uintptr_t)ctx, (uintptr_t)src, (int64_t *)pairs, ndim);\n}\n",
		"void poly_free(const PolyStep *step, const int64_t **shapes, PolyUOp **xs) {\n" +
			"  if (!poly_forked) go_poly_free((uintptr_t)step, (int64_t **)shapes, (uintptr_t *)xs);\n}\n",
		// Records by value are passed on by address.
		"PolyUOp *poly_make(PolyCtx *ctx, PolyDType dtype, PolyArg arg) {\n" +
			"  return poly_enter(\"poly_make\") ? NULL : (PolyUOp *)go_poly_make((uintptr_t)ctx, (void *)&dtype, (void *)&arg);\n}\n",
		"? false : go_poly_walk((uintptr_t *)ts, (void *)gate);", "? 0 : go_poly_item((uintptr_t)t);",
		// A function that sets something reports its error, one that frees does not.
		"  if (!poly_enter(\"poly_box_set_size\")) go_poly_box_set_size((uintptr_t)box, size);\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no\n%sin\n%s", want, text)
		}
	}
	if strings.Contains(text, "poly_name") {
		t.Error("a function that Go does not export got a shim")
	}
}

func TestCtypesTable(t *testing.T) {
	protos, err := header.Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	text, err := ctypesTable("", protos, []header.Constant{{Name: "POLY_RED"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"    \"poly_count\": (c_int, (), \"\"),\n", "    \"poly_name\": (c_char_p, (c_int,), \"i\"),\n",
		"    \"poly_free\": (None, (c_void_p, c_void_p, c_void_p), \"step shapes xs\"),\n", "\nPOLY_RED = 0\n",
		"    \"poly_item\": (c_float, (c_void_p,), \"t\"),\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, name := range []string{"poly_make", "poly_type", "poly_walk"} {
		if strings.Contains(text, name) {
			t.Errorf("%s, which takes or returns a record or takes a function, is in\n%s", name, text)
		}
	}
	if _, err := ctypesTable("", []header.Proto{{Ret: "struct tm", Name: "poly_now"}}, nil); err == nil {
		t.Error("an unknown type is no error")
	}
}

func TestKoffiTable(t *testing.T) {
	protos, err := header.Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	protos = append(protos, header.Proto{Ret: "PolyUOp *", Name: "poly_by_value", Params: []header.Param{{Type: "PolyDType", Name: "dtype"}}})
	text, err := koffiTable(protos, []header.Constant{{Name: "POLY_RED"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  poly_count: ['int', []],\n", "  poly_name: ['const char *', ['int']],\n",
		"  poly_pad: ['uintptr_t', ['uintptr_t', 'uintptr_t', 'void *', 'int']],\n",
		"  poly_free: ['void', ['uintptr_t', 'void *', 'void *']],\n", "\n  POLY_RED: 0,\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "poly_by_value") {
		t.Error("a function that takes a record by value is in the table")
	}
	if _, err := koffiTable([]header.Proto{{Ret: "struct tm", Name: "poly_now"}}, nil); err == nil {
		t.Error("an unknown type is no error")
	}
}

// What is committed is what the generator writes.
func TestKoffiTableIsFresh(t *testing.T) {
	text, err := os.ReadFile("../../include/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	protos, err := header.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	constants, err := header.Constants(string(text))
	if err != nil {
		t.Fatal(err)
	}
	want, err := koffiTable(protos, constants)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../../bindings/js/lib/prototypes.js"); err != nil || string(got) != want {
		t.Errorf("bindings/js/lib/prototypes.js is not what the header says (%v): run `go generate ./capi`", err)
	}
}
