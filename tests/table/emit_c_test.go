package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

// A cCall is one way to compute a case by the C interface.
type cCall struct {
	expr string // a PolyUOp *, or, with several results, an int whose function has written them to out
	many bool
	told bool // the function tells the shape of its result to told and n_told
	row  bool // a result without dimensions has the shape (1)
}

// name is the function that a call is about.
func (c cCall) name() string { return c.expr[:strings.IndexByte(c.expr, '(')] }

// call is a way with one result.
func call(format string, a ...any) cCall { return cCall{expr: fmt.Sprintf(format, a...)} }

// A cCase writes the C function of a case.
type cCase struct {
	*Case
	x   []string // the operands: variables of C; "" for a number
	all []string // the inputs likewise
	b   strings.Builder
}

func cDType(name string) string { return "POLY_DTYPE_" + strings.ToUpper(name) }

// cInts is an array of int64_t, NULL if it has no elements.
func cInts(list []int64) string {
	if len(list) == 0 {
		return "NULL"
	}
	return "(int64_t[]){" + strings.Join(texts(list), ", ") + "}"
}

func cInt32s(list []int64) string {
	if len(list) == 0 {
		return "NULL"
	}
	return "(int32_t[]){" + strings.Join(texts(list), ", ") + "}"
}

func texts(list []int64) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = strconv.FormatInt(n, 10)
		if n == math.MinInt64 {
			out[i] = "POLY_INDEX_NONE"
		}
	}
	return out
}

// cShape is the two arguments of a shape.
func cShape(shape []int64) string { return fmt.Sprintf("%s, %d", cInts(shape), len(shape)) }

func cPairs(pairs [][2]int64) string {
	if len(pairs) == 0 {
		return "NULL, 0"
	}
	var out []string
	for _, p := range pairs {
		out = append(out, fmt.Sprintf("{%d, %d}", p[0], p[1]))
	}
	return fmt.Sprintf("(int64_t[][2]){%s}, %d", strings.Join(out, ", "), len(pairs))
}

// cNodes is an array of nodes.
func cNodes(names []string) string {
	return "(PolyUOp *[]){" + strings.Join(names, ", ") + "}"
}

func cFloat(v float64) string {
	switch {
	case v != v:
		return "NAN"
	case math.IsInf(v, 0):
		return map[bool]string{true: "INFINITY", false: "-INFINITY"}[v > 0]
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func cFloats(list []float64) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = cFloat(v)
	}
	if len(out) == 0 {
		out = []string{"0"}
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func flag(b bool) string { return map[bool]string{true: "1", false: "0"}[b] }

// elements is the initializer of an array that holds elements of a type.
func elements(dt *uop.DType, values []uop.Const) string {
	kind := map[int]string{1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}[dt.Itemsize()]
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprintf("%#x", v.Bits(dt)))
	}
	if len(out) == 0 {
		out = []string{"0"}
	}
	return fmt.Sprintf("%s %%s[] = {%s}", kind, strings.Join(out, ", "))
}

// array declares the elements of a tensor.
func (c *cCase) array(name string, t *Tensor) error {
	dt, err := t.Type()
	if err != nil {
		return err
	}
	values, err := t.Elements()
	if err != nil {
		return err
	}
	fmt.Fprintf(&c.b, "  static "+elements(dt, values)+";\n", name)
	return nil
}

// input makes input i.
func (c *cCase) input(i int) error {
	t := c.Inputs[i].Tensor
	if t == nil {
		c.all = append(c.all, "")
		return nil
	}
	name := fmt.Sprintf("x%d", i)
	c.all = append(c.all, name)
	if err := c.array(fmt.Sprintf("in%d", i), t); err != nil {
		return err
	}
	expr := fmt.Sprintf("leaf%d", i)
	fmt.Fprintf(&c.b, "  PolyUOp *%s = leaf(%s, %s, in%d, sizeof in%d);\n", expr, cDType(t.DType), cShape(t.Shape), i, i)
	steps, err := t.Movements()
	if err != nil {
		return err
	}
	for _, m := range steps {
		if m.Op == "shrink" {
			expr = fmt.Sprintf("poly_shrink(ctx, %s, %s)", expr, cPairs(m.Pairs))
		} else {
			expr = fmt.Sprintf("poly_%s(ctx, %s, %s)", m.Op, expr, cShape(m.Dims))
		}
	}
	fmt.Fprintf(&c.b, "  PolyUOp *%s = %s;\n", name, expr)
	return nil
}

// shapeOf is the shape of input i, seen through its view.
func (c *cCase) shapeOf(i int) []int64 {
	t := c.Inputs[i].Tensor
	shape := append([]int64(nil), t.Shape...)
	steps, err := t.Movements()
	if err != nil {
		panic(err)
	}
	for _, m := range steps {
		switch m.Op {
		case "permute":
			old := shape
			shape = make([]int64, len(old))
			for k, axis := range m.Dims {
				shape[k] = old[axis]
			}
		case "shrink":
			for k, p := range m.Pairs {
				shape[k] = p[1] - p[0]
			}
		case "reshape", "expand":
			shape = m.Dims
		}
	}
	return shape
}

// given is the two arguments of the shape of operand i, for functions of the original interface.
func (c *cCase) given(i int) string { return cShape(c.shapeOf(c.Operands()[i])) }

// dims is the number of dimensions of operand i.
func (c *cCase) dims(i int) int { return len(c.shapeOf(c.Operands()[i])) }

// node is the tensor that an argument names, or NULL.
func (c *cCase) node(name string) string {
	if i := c.Input(name); i >= 0 {
		return c.all[i]
	}
	return "NULL"
}

// operand is operand i as a node: a number takes its type from the tensor it meets.
func (c *cCase) operand(i int, like string) string {
	k := c.Operands()[i]
	if c.all[k] != "" {
		return c.all[k]
	}
	n := c.Inputs[k].Number
	switch {
	case n.IsFloat():
		return fmt.Sprintf("poly_const_like_float(ctx, %s, %s)", like, cFloat(n.F()))
	case n.IsInt():
		return fmt.Sprintf("poly_const_like_int(ctx, %s, %s)", like, n)
	}
	return fmt.Sprintf("poly_const_like_bool(ctx, %s, %s)", like, flag(n.Truth()))
}

// axes is the three or two arguments of a list of axes, -1 for all.
func (c *cCase) axes(name string) string {
	list := c.Ints(name)
	if list == nil {
		return "NULL, -1"
	}
	return cShape(list)
}

// oneAxis reports whether an argument is one axis rather than a list.
func (c *cCase) oneAxis(name string) bool {
	_, list := c.Args[name].([]any)
	return c.Has(name) && !list
}

// typed is the data type that the argument dtype names.
func (c *cCase) typed(missing string) string { return cDType(c.Text("dtype", missing)) }

// emit writes the function of a case.
func (c *cCase) emit(n int) (string, error) {
	fmt.Fprintf(&c.b, "static void case%d(void) {\n  begin(%q);\n", n, c.Name)
	for i := range c.Inputs {
		if err := c.input(i); err != nil {
			return "", err
		}
	}
	for _, i := range c.Operands() {
		c.x = append(c.x, c.all[i])
	}
	if c.Seed == nil {
		c.Seed = "0"
	}
	if seeded[c.Op] {
		s := c.SeedNumber()
		fmt.Fprintf(&c.b, "  static uint32_t words[2] = {%d, %d};\n", s&math.MaxUint32, s>>32)
		c.b.WriteString("  PolyUOp *seed = leaf(POLY_DTYPE_UINT32, (int64_t[]){2}, 1, words, sizeof words);\n")
	}
	ways := cOps[c.Op]
	if ways == nil {
		ways = byName
	}
	for i, t := range c.Outputs {
		if t != nil {
			if err := c.array(fmt.Sprintf("want%d", i), t); err != nil {
				return "", err
			}
		}
	}
	for i, way := range ways(c) {
		c.b.WriteString("  {\n")
		c.way(way, i == 0)
		c.b.WriteString("  }\n")
	}
	c.b.WriteString("  end();\n}\n\n")
	return c.b.String(), nil
}

// byName calls an operation that has no function of its own by its description.
func byName(c *cCase) []cCall {
	op, found := ops.Find(c.Op)
	if !found {
		panic(fmt.Sprintf("%s: no C call for operation %q", c.Name, c.Op))
	}
	given := []string{"POLY_PASS_T(" + c.x[0] + ")"}
	operands := c.x[1:]
	for _, p := range op.Params {
		value := "POLY_PASS_NONE"
		switch {
		case c.Input(p.Name) >= 0:
			value = "POLY_PASS_T(" + c.node(p.Name) + ")"
		case p.Kind == ops.Tensor && len(operands) > 0:
			value, operands = "POLY_PASS_T("+operands[0]+")", operands[1:]
		case !c.Has(p.Name):
		case p.Kind == ops.Ints:
			value = fmt.Sprintf("POLY_PASS_INTS((%s), %d)", cInts(c.Ints(p.Name)), len(c.Ints(p.Name)))
		case p.Kind == ops.Int:
			value = fmt.Sprintf("POLY_PASS_I(%d)", c.Int(p.Name, 0))
		case p.Kind == ops.Float:
			value = "POLY_PASS_F(" + cFloat(c.Float(p.Name, 0)) + ")"
		case p.Kind == ops.Bool:
			value = "POLY_PASS_B(" + c.flag(p.Name) + ")"
		case p.Kind == ops.Text:
			value = fmt.Sprintf("POLY_PASS_TEXT(%q)", c.Text(p.Name, ""))
		}
		given = append(given, value)
	}
	return []cCall{call("called(%q, (PolyCallArg[]){%s}, %d)", c.Op, strings.Join(given, ", "), len(given))}
}

// way writes one call and its comparisons.
func (c *cCase) way(way cCall, first bool) {
	name := way.name()
	outs := []string{"u"}
	if way.many {
		fmt.Fprintf(&c.b, "    PolyUOp *out[9] = {0};\n    PolyUOp *u = %s == 0 ? out[0] : NULL;\n", way.expr)
		for i := 1; i < len(c.Outputs); i++ {
			outs = append(outs, fmt.Sprintf("out[%d]", i))
		}
	} else {
		fmt.Fprintf(&c.b, "    PolyUOp *u = %s;\n", way.expr)
	}
	if c.Error != "" {
		fmt.Fprintf(&c.b, "    fails(%q, u, %q);\n", name, c.Error)
		return
	}
	for i, t := range c.Outputs {
		if t == nil {
			continue
		}
		shape := t.Shape
		if way.row && len(shape) == 0 {
			shape = []int64{1}
		}
		fmt.Fprintf(&c.b, "    result(%q, %s, %s, %s, want%d, %s, %s);\n", name, outs[i], cDType(t.DType), cShape(shape), i, cFloat(c.RTol), cFloat(c.ATol))
		if way.told {
			fmt.Fprintf(&c.b, "    told_shape(%q, %s);\n", name, cShape(shape))
		}
	}
	if c.Grads != nil && first {
		c.gradients(name, outs)
	}
}

// gradients writes the comparison of gradients.
func (c *cCase) gradients(name string, outs []string) {
	c.b.WriteString("    PolyUOp *loss = NULL;\n")
	for i, w := range c.Weights {
		if w != nil {
			fmt.Fprintf(&c.b, "    static double weights%d[] = %s;\n", i, cFloats(w))
			fmt.Fprintf(&c.b, "    loss = weighted(loss, %s, %s, weights%d, sizeof weights%d);\n", outs[i], cShape(c.Outputs[i].Shape), i, i)
		}
	}
	var wrt, want []string
	for i, g := range c.Grads {
		if g != nil {
			fmt.Fprintf(&c.b, "    static double grad%d[] = %s;\n", i, cFloats(g))
			wrt, want = append(wrt, fmt.Sprintf("leaf%d", i)), append(want, fmt.Sprintf("grad%d", i))
		}
	}
	fmt.Fprintf(&c.b, "    tolerance = %s;\n", cFloat(c.GradTol))
	fmt.Fprintf(&c.b, "    gradients(%q, loss, %s, (double *[]){%s}, %d);\n", name, cNodes(wrt), strings.Join(want, ", "), len(wrt))
}
