package abi

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"polygrad/core/tensor/ops"
)

// programWriter writes programs of tests/programs.json as C.
type programWriter struct {
	t         *testing.T
	functions strings.Builder // bodies of functions of programs
	n         int
}

type statement = map[string]any

// body writes a C function of statements and returns its name.
func (w *programWriter) body(statements []any) string {
	w.n++
	name := fmt.Sprintf("body_%d", w.n)
	var b strings.Builder
	fmt.Fprintf(&b, "static int %s(void) {\n  int rc;\n", name)
	for _, s := range statements {
		fmt.Fprintf(&b, "  if ((rc = %s) != 0) return rc;\n", w.statement(s.(statement)))
	}
	b.WriteString("  return 0;\n}\n\n")
	w.functions.WriteString(b.String())
	return name
}

func text(v any) string {
	if v == nil {
		return "NULL"
	}
	return strconv.Quote(v.(string))
}

func number(v any) string { return strconv.FormatFloat(v.(float64), 'g', -1, 64) }

// list writes a C array and its length.
func list(typ string, v any, item func(any) string) string {
	all, _ := v.([]any)
	if len(all) == 0 {
		return "(" + typ + "[1]){0}, 0"
	}
	items := make([]string, len(all))
	for i, x := range all {
		items[i] = item(x)
	}
	return fmt.Sprintf("(%s[]){%s}, %d", typ, strings.Join(items, ", "), len(all))
}

func doubles(v any) string { return list("double", v, number) }
func shape(v any) string   { return list("int64_t", v, number) }
func names(v any) string   { return list("const char *", v, text) }

func dtype(v any) string {
	if v == nil {
		return "-1"
	}
	return "POLY_DTYPE_" + strings.ToUpper(v.(string))
}

// args writes arguments as PolyCallArgs.
func args(kind ops.Kind, v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"POLY_PASS_NONE"}
	case bool:
		return []string{fmt.Sprintf("POLY_PASS_B(%t)", v)}
	case float64:
		if v == float64(int64(v)) {
			return []string{fmt.Sprintf("POLY_PASS_I(%d)", int64(v))}
		}
		return []string{"POLY_PASS_F(" + number(v) + ")"}
	case string:
		switch {
		case kind == ops.DType:
			return []string{"POLY_PASS_DTYPE(" + dtype(v) + ")"}
		case kind == ops.Items:
			return []string{"ELLIPSIS"}
		}
		return []string{"POLY_PASS_TEXT(" + text(v) + ")"}
	case map[string]any:
		if name, ok := v["var"]; ok {
			return []string{"V(" + text(name) + ")"}
		}
		out := []string{"SLICE"}
		for _, bound := range v["slice"].([]any) {
			out = append(out, args(ops.Int, bound)...)
		}
		return out
	case []any:
		out := []string{fmt.Sprintf("L(%d)", len(v))}
		for _, x := range v {
			out = append(out, args(kind, x)...)
		}
		return out
	}
	panic(fmt.Sprintf("an argument is %T", v))
}

func (w *programWriter) statement(s statement) string {
	str := func(name string) string { return text(s[name]) }
	tolerance := func() string {
		if s["tolerance"] == nil {
			return "0"
		}
		return number(s["tolerance"])
	}
	has := func(name string) bool { _, ok := s[name]; return ok }
	switch {
	case has("along"):
		return fmt.Sprintf("set(%s, poly_expr_along(get(%s), %s, %s), inner)", str("let"), text(s["of"].([]any)[0]), str("along"), str("axis"))
	case has("data"):
		grad := 0
		if s["grad"] == true {
			grad = 1
		}
		return fmt.Sprintf("let(%s, %s, %s, %s, %d)", str("let"), dtype(s["dtype"]), doubles(s["data"]), shape(s["shape"]), grad)
	case has("op"):
		return w.call(s)
	case has("gradients"):
		return fmt.Sprintf("gradients(%s, %s, %s)", str("gradients"), names(s["of"]), names(s["let"]))
	case has("size"):
		return fmt.Sprintf("size(%s, %s, %s)", str("size"), number(s["min"]), number(s["max"]))
	case has("first"):
		return fmt.Sprintf("first(%s, %s, %s, %s)", str("let"), str("first"), number(s["is"]), text(s["of"].([]any)[0]))
	case has("seed"):
		return fmt.Sprintf("poly_seed(ctx, %s)", number(s["seed"]))
	case has("same"):
		return fmt.Sprintf("same(%s, %s, %t)", text(s["same"].([]any)[0]), text(s["same"].([]any)[1]), s["is"])
	case has("read"):
		return fmt.Sprintf("read_values(%s)", str("read"))
	case has("assign"):
		return fmt.Sprintf("poly_array_assign(get(%s), &%s)", str("assign"), args(ops.Operand, s["value"])[0])
	case has("set"):
		var items []string
		for _, x := range s["items"].([]any) {
			items = append(items, args(ops.Items, x)...)
		}
		return fmt.Sprintf("poly_array_set(get(%s), ARGS(%s), &%s)", str("set"), strings.Join(items, ", "), args(ops.Operand, s["value"])[0])
	case has("realize"):
		return "realize(" + names(s["realize"]) + ")"
	case has("drop"):
		return "drop(" + str("drop") + ")"
	case has("backward"):
		incoming := "NULL"
		if has("gradient") {
			incoming = "get(" + str("gradient") + ")"
		}
		return fmt.Sprintf("poly_array_backward(get(%s), %s)", str("backward"), incoming)
	case has("zero_grad"):
		return fmt.Sprintf("poly_array_set_grad(get(%s), NULL)", str("zero_grad"))
	case has("optimizer"):
		settings, _ := s["args"].(statement)
		setting := func(name string) string {
			switch v := settings[name].(type) {
			case float64:
				return number(v)
			case bool:
				return map[bool]string{true: "1", false: "0"}[v]
			}
			return "0"
		}
		return fmt.Sprintf("optimizer(%s, %s, %s, %s, %s, %s, %s)", str("optimizer"), str("kind"), names(s["params"]), number(s["lr"]),
			setting("momentum"), setting("nesterov"), setting("weight_decay"))
	case has("step"):
		return "step(" + str("step") + ")"
	case has("function"):
		body, params, returns := w.body(s["do"].([]any)), w.static(s["params"]), w.static(s["returns"])
		return fmt.Sprintf("function(%s, %s, %s, %s, %s)", str("function"), body, params, returns, w.transforms(s["as"]))
	case has("control"):
		between, reverse := []any{0.0, 0.0}, 0
		if has("between") {
			between = s["between"].([]any)
		}
		if s["reverse"] == true {
			reverse = 1
		}
		return fmt.Sprintf("control(%s, %s, %s, %s, %s, %d, %s, %s, %s, %s)", str("control"), names(s["functions"]), names(s["carry"]), names(s["over"]),
			names(s["with"]), reverse, number(between[0]), number(between[1]), str("on"), names(s["let"]))
	case has("run"):
		return fmt.Sprintf("run(%s, %s, %s)", str("run"), names(s["with"]), names(s["let"]))
	case has("expect"):
		sizes := "NULL, 0"
		if has("shape") {
			sizes = shape(s["shape"])
		}
		return fmt.Sprintf("expect(%s, %s, %s, %s, %s)", str("expect"), dtype(s["dtype"]), sizes, doubles(s["values"]), tolerance())
	case has("expect_grad"):
		values := "NULL, 0"
		if s["values"] != nil {
			values = doubles(s["values"])
		}
		return fmt.Sprintf("expect_grad(%s, %s, %s)", str("expect_grad"), values, tolerance())
	case has("error"):
		return fmt.Sprintf("fails(%s, %s)", str("error"), w.statement(s["do"].(statement)))
	}
	w.t.Fatalf("unknown statement %v", s)
	return ""
}

// transforms writes what a function is transformed by as an array that outlives the statement; a compiled function has none.
func (w *programWriter) transforms(v any) string {
	if v == nil {
		return "NULL, 0"
	}
	ints := func(v any) string {
		all, _ := v.([]any)
		out := make([]string, len(all))
		for i, x := range all {
			if out[i] = "-1"; x != nil {
				out[i] = number(x)
			}
		}
		return strings.Join(out, ", ")
	}
	var items strings.Builder
	all := v.([]any)
	for _, how := range all {
		for kind, given := range how.(statement) {
			switch given := given.(type) {
			case []any:
				if _, named := given[0].(string); named {
					fmt.Fprintf(&items, "{.kind = %q, .text = %s, .second = %s}, ", kind, text(given[0]), text(given[1]))
				} else if kind != "out" {
					out, name := how.(statement)["out"], how.(statement)["name"]
					n, _ := out.([]any)
					fmt.Fprintf(&items, "{.kind = %q, .of = {%s}, .n = %d, .out = {%s}, .n_out = %d, .text = %s}, ", kind, ints(given), len(given), ints(out), len(n), text(name))
				}
			case float64:
				fmt.Fprintf(&items, "{.kind = %q, .n = %s}, ", kind, number(given))
			case string:
				if kind != "name" {
					fmt.Fprintf(&items, "{.kind = %q, .text = %s}, ", kind, text(given))
				}
			}
		}
	}
	w.n++
	fmt.Fprintf(&w.functions, "static const struct transform transforms_%d[] = {%s{0}};\n", w.n, items.String())
	return fmt.Sprintf("transforms_%d, %d", w.n, len(all))
}

// static writes a list of names that outlives the statement.
func (w *programWriter) static(v any) string {
	w.n++
	all, _ := v.([]any)
	fmt.Fprintf(&w.functions, "static const char *names_%d[] = {", w.n)
	for _, name := range all {
		w.functions.WriteString(text(name) + ", ")
	}
	w.functions.WriteString("NULL};\n")
	return fmt.Sprintf("names_%d, %d", w.n, len(all))
}

func (w *programWriter) call(s statement) string {
	name := s["op"].(string)
	op, known := ops.Find(name)
	var out []string
	operands := s["of"].([]any)
	if known && op.Form == ops.Joiner {
		out = append(out, fmt.Sprintf("L(%d)", len(operands)))
	}
	for _, x := range operands {
		out = append(out, "V("+text(x)+")")
	}
	if s["with"] != nil {
		out = append(out, args(ops.Operand, s["with"])...)
	}
	given, _ := s["args"].(statement)
	if len(given) > 0 {
		first := len(operands) - 1
		if op.Form == ops.Joiner {
			first = 0
		}
		left := len(given)
		for _, p := range op.Params[first:] {
			v, ok := given[p.Name]
			switch {
			case ok:
				out = append(out, args(p.Kind, v)...)
				left--
			case left > 0:
				out = append(out, "POLY_PASS_NONE")
			}
		}
		if left > 0 {
			w.t.Fatalf("%s has no such arguments: %v", name, given)
		}
	}
	return fmt.Sprintf("call(%s, %s, ARGS(%s))", text(s["let"]), text(name), strings.Join(out, ", "))
}

// Programs of views, writes, readers, gradients, optimizers, traced functions and mistakes mean in C what they mean elsewhere.
func TestProgramsOfArrays(t *testing.T) {
	source, err := os.ReadFile("../programs.json")
	if err != nil {
		t.Fatal(err)
	}
	var programs []struct {
		Topic, Name string
		Do          []any
	}
	if err := json.Unmarshal(source, &programs); err != nil {
		t.Fatal(err)
	}
	w := &programWriter{t: t}
	var calls strings.Builder
	for _, p := range programs {
		fmt.Fprintf(&calls, "  program(%s, %s);\n", strconv.Quote(p.Topic+": "+p.Name), w.body(p.Do))
	}
	path := filepath.Join(t.TempDir(), "programs.c")
	c := "#include \"programs.h\"\n\n" + w.functions.String() + "int main(void) {\n" + calls.String() + "  printf(\"%d programs, %d failures\\n\", " +
		strconv.Itoa(len(programs)) + ", failures);\n  return failures > 0;\n}\n"
	if err := os.WriteFile(path, []byte(c), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "programs")
	run(t, "gcc", "-std=gnu11", "-g", "-Wall", "-Wextra", "-Wno-unused-function", "-Itestdata", "-I"+include, path, "-o", program, library,
		"-Wl,-rpath,"+filepath.Dir(library), "-lm")
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
