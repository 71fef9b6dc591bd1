package main

import (
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
`

func TestShims(t *testing.T) {
	protos, err := header.Parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	text := shimC(protos, map[string]bool{"go_poly_count": true, "go_poly_pad": true, "go_poly_free": true})
	for _, want := range []string{
		"int poly_count(void) {\n  return poly_enter(\"poly_count\") ? -1 : go_poly_count();\n}\n",
		"PolyUOp *poly_pad(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim) {\n" +
			"  return poly_enter(\"poly_pad\") ? NULL : (PolyUOp *)go_poly_pad((uintptr_t)ctx, (uintptr_t)src, (int64_t *)pairs, ndim);\n}\n",
		"void poly_free(const PolyStep *step, const int64_t **shapes, PolyUOp **xs) {\n" +
			"  if (!poly_forked) go_poly_free((uintptr_t)step, (int64_t **)shapes, (uintptr_t *)xs);\n}\n",
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
	text, err := ctypesTable(protos, []header.Constant{{Name: "POLY_RED"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"    \"poly_count\": (c_int, ()),\n", "    \"poly_name\": (c_char_p, (c_int,)),\n",
		"    \"poly_free\": (None, (c_void_p, c_void_p, c_void_p)),\n", "\nPOLY_RED = 0\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, err := ctypesTable([]header.Proto{{Ret: "struct tm", Name: "poly_now"}}, nil); err == nil {
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
