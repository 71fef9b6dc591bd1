package abi

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"polygrad/capi/header"
)

// The programs that call every function are written in C over a table of the functions, which is made here from
// the header: a function that is added there is called without anybody's doing. A good argument follows from
// the type and the name of a parameter; where that does not do, goodArguments (calls_good_test.go) says what.

// firstKinds are the opaque types that calls.h knows by name; the others of the header follow in its order.
var firstKinds = map[string]string{"PolyCtx": "CTX", "PolyUOp": "NODE", "PolyStep": "STEP", "PolyInstance": "INSTANCE", "PolyWasmStepPlan": "PLAN"}

var (
	comments   = regexp.MustCompile(`(?s)/\*.*?\*/`)
	opaqueType = regexp.MustCompile(`typedef struct (\w+) (\w+);`)
	enumType   = regexp.MustCompile(`typedef enum (\w+)`)
	callback   = regexp.MustCompile(`typedef [^;]*\(\*(\w+)\)\(`)
	destroys   = regexp.MustCompile(`^poly_\w+_(destroy|free|release)(_n)?$`)
	countName  = regexp.MustCompile(`^(n|ndim|len|cap|nbytes|n_\w+|\w+_ndim|\w+_len|size)$`)
	outputName = regexp.MustCompile(`_out$|^out$|^leaves$|^dst$`)
)

// callTable is the text of calls_gen.h.
func callTable(t *testing.T) string {
	text, err := os.ReadFile(include + "/polygrad.h")
	if err != nil {
		t.Fatal(err)
	}
	protos, err := header.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	plain := comments.ReplaceAllString(string(text), "")
	kinds := map[string]string{}
	handle := func(typ string) {
		if kinds[typ] == "" {
			kinds[typ] = cmp.Or(firstKinds[typ], fmt.Sprintf("OTHER + %d", len(kinds)))
		}
	}
	for _, m := range opaqueType.FindAllStringSubmatch(plain, -1) {
		handle(m[2])
	}
	for _, p := range protos {
		if typ := destroyed(p); typ != "" { // a record that the library makes and ends is a handle, too
			handle(typ)
		}
	}
	for _, m := range enumType.FindAllStringSubmatch(plain, -1) {
		kinds[m[1]] = "NUMBER"
	}
	for _, m := range callback.FindAllStringSubmatch(plain, -1) {
		kinds[m[1]] = "CALLBACK"
	}
	known := map[string]bool{}
	var b, table, ends strings.Builder
	b.WriteString("#include \"calls.h\"\n#include \"fixture.h\"\n")
	for _, p := range protos {
		if typ := destroyed(p); typ != "" {
			fmt.Fprintf(&ends, "    [%s] = (void (*)(void *))%s,\n", kinds[typ], p.Name)
		}
		known[p.Name] = true
		writeFunction(&b, p, kinds)
		fmt.Fprintf(&table, "    {\"%s\", %s, %s, %d, params_%s, good_%s, call_%s},\n",
			p.Name, returnKind(p.Ret, kinds), flagsOf(p), len(p.Params), p.Name, p.Name, p.Name)
	}
	for _, names := range []map[string]bool{keysOf(goodArguments), keysOf(functionFlags), keysOf(optional), keysOf(cleanups)} {
		for name := range names {
			if !known[name] {
				t.Errorf("%s is in the tables of the tests, but not in the header", name)
			}
		}
	}
	fmt.Fprintf(&b, "\nstatic const struct function functions[] = {\n%s};\nenum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };\n", table.String())
	fmt.Fprintf(&b, "\nstatic void (*const destroy[NUMBER])(void *) = {\n%s};\n", ends.String())
	return b.String()
}

// destroyed is the type whose objects a function ends, "" if it does something else.
func destroyed(p header.Proto) string {
	if !destroys.MatchString(p.Name) || p.Ret != "void" || len(p.Params) != 1 {
		return ""
	}
	typ, _ := pointee(p.Params[0].Type)
	if strings.HasSuffix(typ, "Spec") { // a record of the caller, whose contents are freed
		return ""
	}
	return typ
}

func keysOf[V any](m map[string]V) map[string]bool {
	keys := map[string]bool{}
	for k := range m {
		keys[k] = true
	}
	return keys
}

func flagsOf(p header.Proto) string {
	flags := slices.Clone(functionFlags[p.Name])
	if p.Ret == "bool" {
		flags = append(flags, "ZERO")
	}
	if destroys.MatchString(p.Name) {
		flags = append(flags, "FINALIZER")
	}
	if runs.MatchString(p.Name) {
		flags = append(flags, "RUNS")
	}
	// Memory that is not const is the caller's, but for the memory of instances.
	if regexp.MustCompile(`^(char|uint8_t|float|PolySafetensorView\w*) \*$`).MatchString(p.Ret) && !strings.Contains(p.Name, "_param") && !strings.Contains(p.Name, "_buf_") {
		flags = append(flags, "MALLOCED")
	}
	return cmp.Or(strings.Join(flags, " | "), "0")
}

func pointee(typ string) (string, bool) {
	base, ok := strings.CutSuffix(strings.TrimPrefix(typ, "const "), " *")
	return base, ok
}

func isNumber(typ string) bool {
	switch typ {
	case "int", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t", "bool", "PolyOps":
		return true
	}
	return false
}

func returnKind(typ string, kinds map[string]string) string {
	switch {
	case typ == "void":
		return "NOTHING"
	default:
		return kindOf(typ, kinds)
	}
}

func kindOf(typ string, kinds map[string]string) string {
	base, pointer := pointee(typ)
	switch {
	case isNumber(typ):
		return "NUMBER"
	case typ == "double" || typ == "float":
		return "REAL"
	case typ == "const char *":
		return "STRING"
	case typ == "PolyUOp **":
		return "NODES"
	case strings.HasSuffix(typ, "**"):
		return "POINTERS"
	case pointer && kinds[base] != "" && kinds[base] != "CALLBACK" && kinds[base] != "NUMBER":
		return kinds[base]
	case kinds[typ] == "CALLBACK" || kinds[typ] == "NUMBER":
		return kinds[typ]
	case pointer && isNumber(base) && base != "uint8_t" || strings.Contains(typ, "(*)"):
		return "INTS"
	case pointer && (strings.HasPrefix(base, "Poly") || base == "GPT2Config"):
		return "RECORDS"
	case strings.HasSuffix(typ, "*"):
		return "MEMORY"
	}
	return "RECORD"
}

func writeFunction(b *strings.Builder, p header.Proto, kinds map[string]string) {
	var args []string
	fmt.Fprintf(b, "\nstatic const struct param params_%s[] = {\n", p.Name)
	for i, a := range p.Params {
		kind := kindOf(a.Type, kinds)
		var flags []string
		size := "0"
		switch kind {
		case "RECORD", "NUMBER":
			size = "sizeof(" + a.Type + ")"
		case "INTS", "RECORDS", "MEMORY":
			if base, ok := pointee(a.Type); ok && base != "void" {
				size = "sizeof(" + base + ")"
			} else if strings.Contains(a.Type, "(*)") {
				size = "2 * sizeof(int64_t)"
			} else {
				size = "1"
			}
		}
		if isOptional(p.Name, a.Name) {
			flags = append(flags, "OPTIONAL")
		}
		if kind == "NUMBER" && countName.MatchString(a.Name) {
			flags = append(flags, "COUNT")
		}
		if !strings.HasPrefix(a.Type, "const") && outputName.MatchString(a.Name) {
			flags = append(flags, "OUTPUT")
		}
		fmt.Fprintf(b, "    {\"%s\", %s, %s, %s},\n", a.Name, kind, cmp.Or(strings.Join(flags, " | "), "0"), size)
		args = append(args, argument(a, kind, i))
	}
	if len(p.Params) == 0 {
		b.WriteString("    {NULL, NOTHING, 0, 0},\n")
	}
	fmt.Fprintf(b, "};\nstatic void good_%s(const struct fixture *f, union arg *a) {\n  (void)f, (void)a;\n", p.Name)
	for i, a := range p.Params {
		kind := kindOf(a.Type, kinds)
		field := map[string]string{"NUMBER": "i", "REAL": "d"}[kind]
		expr := goodArgument(p.Name, a, kind)
		if field == "" {
			field, expr = "p", "(void *)"+expr
		}
		fmt.Fprintf(b, "  a[%d].%s = %s; /* %s */\n", i, field, expr, a.Name)
	}
	fmt.Fprintf(b, "}\nstatic void call_%s(const union arg *a, union arg *r) {\n  (void)a, (void)r;\n  ", p.Name)
	call := fmt.Sprintf("%s(%s)", p.Name, strings.Join(args, ", "))
	cleanup := cleanups[p.Name]
	if cleanup != "" {
		cleanup = "  " + cleanup + ";\n"
	}
	switch returnKind(p.Ret, kinds) {
	case "NOTHING":
		fmt.Fprintf(b, "%s;\n}\n", call)
	case "NUMBER":
		fmt.Fprintf(b, "r->i = (int64_t)%s;\n%s}\n", call, cleanup)
	case "REAL":
		fmt.Fprintf(b, "r->d = %s;\n}\n", call)
	case "RECORD":
		// A record has no room for an error; what is in it is for the hand-written tests.
		after := "(void)result"
		if p.Ret == "PolyShape" {
			after = "free(result.dims)"
		}
		fmt.Fprintf(b, "%s result = %s;\n  %s;\n}\n", p.Ret, call, after)
	default:
		fmt.Fprintf(b, "r->p = (void *)%s;\n%s}\n", call, cleanup)
	}
}

func argument(a header.Param, kind string, i int) string {
	switch kind {
	case "NUMBER":
		return fmt.Sprintf("(%s)a[%d].i", a.Type, i)
	case "REAL":
		return fmt.Sprintf("(%s)a[%d].d", a.Type, i)
	case "RECORD":
		return fmt.Sprintf("*(%s *)a[%d].p", a.Type, i)
	}
	return fmt.Sprintf("(%s)a[%d].p", a.Type, i)
}

// goodArgument is a C expression over a fixture f.
func goodArgument(function string, a header.Param, kind string) string {
	if e := goodArguments[function][a.Name]; e != "" {
		return e
	}
	if e := cmp.Or(goodByType[a.Type+" "+a.Name], goodByType[a.Type]); e != "" {
		return e
	}
	output := !strings.HasPrefix(a.Type, "const") && outputName.MatchString(a.Name)
	if e := goodByName[kind][a.Name]; e != "" && !output {
		return e
	}
	switch kind {
	case "CALLBACK":
		return "NULL"
	case "CTX":
		return "f->ctx"
	case "NODE":
		return "f->x"
	case "STEP":
		return "f->step"
	case "INSTANCE":
		return "f->instance"
	case "PLAN":
		return "f->plan"
	case "NUMBER":
		if strings.HasSuffix(a.Name, "ndim") {
			return "2"
		}
		return "1"
	case "REAL":
		return "1"
	case "STRING":
		return `"name"`
	case "NODES":
		return "f->nodes"
	case "POINTERS":
		return "f->pointers"
	case "INTS", "RECORDS", "MEMORY":
		switch base, _ := pointee(a.Type); {
		case output:
			return "f->output"
		case strings.Contains(a.Type, "(*)"):
			return "f->pairs"
		case strings.HasSuffix(a.Name, "shape"):
			return "f->shape"
		case base == "int64_t":
			return "f->shape"
		case base == "void" || base == "float" || base == "uint8_t":
			return "f->memory"
		}
		return "f->zeros"
	}
	return "f->zeros"
}

// writeTable writes calls_gen.h into a new folder, whose name it returns.
func writeTable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "calls_gen.h"), []byte(callTable(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
