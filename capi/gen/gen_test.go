package main

import (
	"os"
	"path/filepath"
	"regexp"
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
	text := shimC(protos, map[string]bool{"poly_count": true, "poly_pad": true, "poly_free": true,
		"poly_make": true, "poly_walk": true, "poly_item": true, "poly_box_set_size": true})
	for _, want := range []string{
		"int poly_count(void) {\n  return poly_enter(\"poly_count\") ? -1 : POLY_GO(go_poly_count());\n}\n",
		"PolyUOp *poly_pad(PolyCtx *ctx, PolyUOp *src, int64_t (*pairs)[2], int ndim) {\n" +
			"  return poly_enter(\"poly_pad\") ? NULL : (PolyUOp *)POLY_GO(go_poly_pad((uintptr_t)ctx, (uintptr_t)src, (void *)pairs, ndim));\n}\n",
		"void poly_free(const PolyStep *step, const int64_t **shapes, PolyUOp **xs) {\n" +
			"  if (!poly_forked) POLY_GO(go_poly_free((uintptr_t)step, (void *)shapes, (void *)xs));\n}\n",
		// Records by value are passed on by address.
		"PolyUOp *poly_make(PolyCtx *ctx, PolyDType dtype, PolyArg arg) {\n" +
			"  return poly_enter(\"poly_make\") ? NULL : (PolyUOp *)POLY_GO(go_poly_make((uintptr_t)ctx, (void *)&dtype, (void *)&arg));\n}\n",
		"? false : POLY_GO(go_poly_walk((void *)ts, (void *)gate));", "? 0 : POLY_GO(go_poly_item((uintptr_t)t));",
		// A function that sets something reports its error, one that frees does not.
		"  if (!poly_enter(\"poly_box_set_size\")) POLY_GO(go_poly_box_set_size((uintptr_t)box, size));\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no\n%sin\n%s", want, text)
		}
	}
	if strings.Contains(text, "poly_name") {
		t.Error("a function that Go does not export got a shim")
	}
}

// Go is only called in the usual floating-point modes.
func TestCallsOfGo(t *testing.T) {
	files, err := filepath.Glob("../*.c")
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`.{0,8}\bgo_poly_\w+\(`)
	n := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range calls.FindAllString(string(text), -1) {
			if n++; !strings.HasPrefix(call, "POLY_GO(") {
				t.Errorf("%s: %s…, expected it in POLY_GO", f, strings.TrimSpace(call))
			}
		}
	}
	if n == 0 {
		t.Error("no calls of Go in C")
	}
}

func TestBindings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go": `package main
func poly_pad(ctx, x uintptr, pairs *int64, n int32) uintptr { return 0 }
func poly_free(x uintptr) {}
func poly_last_error() *byte { return nil }
func poly_seed(ctx uintptr, seed uint64, by float64, f unsafe.Pointer) unsafe.Pointer { return nil }
func (c *context) poly_method() {}
func helper() {}
`,
		"c.go":        "package main\nimport \"C\"\nfunc poly_cgo() int32 { return 0 }\n",
		"w_wasip1.go": "package main\nfunc poly_wasm() {}\n",
		"a_test.go":   "package main\nfunc poly_test() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := functionsOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := exportsCgo(all)
	wasm, err := exportsWasm(all, map[string]bool{"poly_pad": true, "poly_free": true, "poly_last_error": true, "poly_seed": true, "poly_wasm": true})
	if err != nil {
		t.Fatal(err)
	}
	for want, in := range map[string]string{
		"//export go_poly_pad\nfunc go_poly_pad(ctx uintptr, x uintptr, pairs unsafe.Pointer, n int32) uintptr {\n" +
			"\treturn poly_pad(ctx, x, (*int64)(pairs), n)\n}\n": c,
		"//export go_poly_cgo\n": c,
		"//go:wasmexport poly_pad\nfunc wasm_poly_pad(ctx float64, x float64, pairs unsafe.Pointer, n int32) float64 {\n" +
			"\tbeginCall()\n\treturn float64(poly_pad(uintptr(ctx), uintptr(x), (*int64)(pairs), n))\n}\n": wasm,
		"func wasm_poly_free(x float64) {\n\tpoly_free(uintptr(x))\n}\n":                                wasm,
		"func wasm_poly_last_error() unsafe.Pointer {\n\treturn unsafe.Pointer(poly_last_error())\n}\n": wasm,
		"return poly_seed(uintptr(ctx), seed, by, f)\n":                                                 wasm,
	} {
		if !strings.Contains(in, want) {
			t.Errorf("no\n%sin\n%s", want, in)
		}
	}
	for unwanted, in := range map[string]string{"poly_wasm": c, "poly_test": c, "poly_method": c, "helper": c, "poly_cgo": wasm} {
		if strings.Contains(in, unwanted) {
			t.Errorf("%s in\n%s", unwanted, in)
		}
	}
	for _, name := range []string{"poly_cgo", "poly_absent"} {
		if _, err := exportsWasm(all, map[string]bool{name: true}); err == nil {
			t.Errorf("%s can be called in a module, expected an error", name)
		}
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
		"  poly_free: ['void', ['uintptr_t', 'const void *', 'void *']],\n", "\n  POLY_RED: 0,\n",
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
	want, err := tableOf("../../bindings/js", protos, constants)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../../bindings/js/lib/prototypes.js"); err != nil || string(got) != want {
		t.Errorf("bindings/js/lib/prototypes.js is not what the header says (%v): run `go generate ./capi`", err)
	}
}
