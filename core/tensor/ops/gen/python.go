package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	_ "embed"

	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

// pythonByHand are operations that Python writes in its own way, with the reason.
var pythonByHand = map[string]string{
	"getitem": "is x[…]", "with_item": "is x[…] = value", "bitcast": "is no step of a gradient",
	"max_pool2d_with_indices": "is max_pool2d", "embedding": "is nn.Embedding",
	"full": "has types of its own", "randint": "has its shape last, too", "arange": "takes its end first", "where": "has numbers of the type of the other operand",
}

// pythonQuick are the operations of two operands that have a function of their own, by the name of their PolyBinaryOp.
var pythonQuick = map[string]string{"add": "ADD", "sub": "SUB", "mul": "MUL"}

// pythonOperators are the operators: Python's names of their methods, the names of their PolyBinaryOp, and how they are written.
var pythonOperators = [][3]string{
	{"add", "ADD", "+"}, {"sub", "SUB", "-"}, {"mul", "MUL", "*"}, {"truediv", "DIV", "/"}, {"floordiv", "FLOORDIV", "//"},
	{"mod", "MOD", "%"}, {"pow", "POW", "**"}, {"and", "AND", "&"}, {"or", "OR", "|"}, {"xor", "XOR", "^"}, {"lshift", "SHL", "<<"},
	{"rshift", "SHR", ">>"}, {"matmul", "", "@"},
}

// pythonOnlyOperators are operations that have an operator and no method.
var pythonOnlyOperators = []string{"floordiv", "lt", "le", "gt", "ge"}

// pythonVariadic are operations that take the elements of their first parameter one by one, too.
var pythonVariadic = []string{"reshape", "view", "expand", "permute", "flip", "repeat", "shrink_to", "pad_to"}

// pythonNames are parameters with another name in Python.
var pythonNames = map[string]string{"BatchNorm.num_features": "sz"}

// pythonDefaults are defaults that tinygrad writes in another way; an empty one is missing there.
var pythonDefaults = map[string]string{
	"hardtanh.min_val": "-1", "pad.value": "0.0", "hardtanh.max_val": "1", "cumprod.axis": "",
	"var.correction": "1", "std.correction": "1", "var_mean.correction": "1", "std_mean.correction": "1",
}

// pythonTypes are the types of arguments in Python.
var pythonTypes = map[ops.Kind]string{
	ops.Tensor: "Operand", ops.Operand: "Operand", ops.Int: "_int", ops.Ints: "Sizes", ops.Axes: "Sizes", ops.Float: "_float",
	ops.Floats: "Sequence[_float]", ops.Number: "_float", ops.Bool: "_bool", ops.Text: "str", ops.DType: "DTypeLike",
	ops.Shape: "Sizes", ops.Pairs: "Sequence[Any]", ops.IntsOrText: "Sizes | str", ops.NewShape: "Sizes", ops.Tensors: "Sequence[Tensor]",
}

//go:embed python_examples.txt
var pythonExamples string

// examplesOf are the examples of each operation: the lines under "# name".
func examplesOf(text string) map[string][]string {
	all := map[string][]string{}
	name := ""
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if s, is := strings.CutPrefix(line, "# "); is {
			name = s
			continue
		}
		all[name] = append(all[name], line)
	}
	return all
}

// pythonMethods writes the methods of Python's Tensor.
func pythonMethods() []byte {
	var b, names bytes.Buffer
	examples := examplesOf(pythonExamples)
	for _, t := range ops.Topics {
		fmt.Fprintf(&b, "\n    # %s\n", t.Name)
		for i := range t.Ops {
			op := &t.Ops[i]
			fmt.Fprintf(&names, "%s = operation(%q)\n", pythonConstant(op), op.Name)
			if pythonByHand[op.Name] == "" && !slices.Contains(pythonOnlyOperators, op.Name) {
				writePython(&b, op, examples[op.Name])
			}
		}
	}
	return slices.Concat([]byte(mark+`"""The methods of Tensor that are generated from the descriptions of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad._base import (
    Base,
    combine,
    finish,
    float_type,
    given,
    join,
    make,
    operand,
    operation,
    pair,
    sizes,
    source,
)
from polygrad._prototypes import (
    `+pythonOperatorConstants()+`,
)
from polygrad.dtype import dtypes, known_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from polygrad._base import Operand, Sizes
    from polygrad.dtype import DTypeLike

# Methods of the class below are called float, int and bool.
_float = float
_int = int
_bool = bool

`), names.Bytes(), []byte("\n\nclass Methods(Base):\n    \"\"\"Operations on tensors.\"\"\"\n\n    __slots__ = ()\n"), pythonDunders(), b.Bytes())
}

// pythonOperatorConstants are the numbers of the operators, sorted.
func pythonOperatorConstants() string {
	names := []string{"POLY_LT", "POLY_LE", "POLY_GT", "POLY_GE", "POLY_EQ", "POLY_NE"}
	for _, o := range pythonOperators {
		if o[1] != "" {
			names = append(names, "POLY_"+o[1])
		}
	}
	slices.Sort(names)
	return strings.Join(names, ",\n    ")
}

// pythonDunders writes the methods behind the operators.
func pythonDunders() []byte {
	var b bytes.Buffer
	b.WriteString("\n    # Operators\n")
	one := func(name, params, body string) {
		fmt.Fprintf(&b, "\n    def __%s__(self%s) -> Self:\n        return %s\n", name, params, body)
	}
	for _, o := range pythonOperators[:len(pythonOperators)-1] {
		one(o[0], ", x: Operand", "self._binary(POLY_"+o[1]+", x)")
		one("r"+o[0], ", x: Operand", "self._binary(POLY_"+o[1]+", x, True)")
	}
	for _, name := range []string{"lt", "le", "gt", "ge"} {
		one(name, ", x: Operand", "self._binary(POLY_"+strings.ToUpper(name)+", x)")
	}
	for _, name := range []string{"eq", "ne"} {
		fmt.Fprintf(&b, "\n    def __%s__(self, x: object) -> Self:  # type: ignore[override]\n        return self._binary(POLY_%s, x)\n", name, strings.ToUpper(name))
	}
	b.WriteString("\n    __hash__ = object.__hash__\n")
	one("matmul", ", x: Operand", "self.matmul(x)")
	one("rmatmul", ", x: Operand", "self.matmul(x, reverse=True)")
	one("neg", "", "self._call1(NEG)")
	one("pos", "", "self")
	one("abs", "", "self._call1(ABS)")
	one("invert", "", "self._call1(BITWISE_NOT)")
	b.WriteString(pythonArrayAPI)
	for _, o := range pythonOperators {
		fmt.Fprintf(&b, "\n    def __i%s__(self, x: Operand) -> Self:\n        return self._in_place(self %s x)\n", o[0], o[2])
	}
	return b.Bytes()
}

// pythonArrayAPI is the code of the array API standard's members other than operators.
const pythonArrayAPI = `
    def __float__(self) -> _float:
        return _float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __int__(self) -> _int:
        return _int(self._number())

    def _number(self) -> Any:
        try:
            return self.item()
        except ValueError as error:
            raise TypeError(str(error)) from None

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the namespace of the array API standard: polygrad.numpy."""
        from polygrad import numpy

        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"__array_namespace__: api_version: {api_version!r}, expected \"2024.12\"")
        return numpy

    @property
    def mT(self) -> Self:
        """The matrices in the last two axes transposed."""
        return self._call1(T)

    def to_device(self, device: str, /, *, stream: Any = None) -> Self:
        """Return to(device): the tensor on a device; there are no streams."""
        if stream is not None:
            raise ValueError(f"to_device: stream: {stream!r}, expected None")
        if not isinstance(device, str):
            raise TypeError(f"to_device: device: {device!r}, expected a device")
        return self.to(device)

    def cpu(self) -> Self:
        """Return to("cpu")."""
        return self.to("cpu")

    def cuda(self) -> Self:
        """Return to("cuda")."""
        return self.to("cuda")
`

func pythonConstant(op *ops.Op) string { return strings.ToUpper(op.Name) }

// pythonParam is a parameter in the head of a function, and its value in the call of the operation.
func pythonParam(op *ops.Op, i int) (param, value string) {
	p := &op.Params[i]
	name := p.Name
	if other := pythonNames[op.Name+"."+p.Name]; other != "" {
		name = other
	}
	param = name + ": " + pythonTypes[p.Kind]
	def, other := pythonDefaults[op.Name+"."+p.Name]
	needed := slices.ContainsFunc(op.Params[i:], func(q ops.Param) bool { return !q.Optional })
	dt, typed := p.Default.(*uop.DType)
	switch {
	case typed && dt == uop.Float32: // the program may choose another default
		return param + " | None = None", "float_type(" + name + ")"
	case typed:
		param += " = dtypes." + strings.Replace(dt.Name, "unsigned int", "uint32", 1)
	case p.Optional && p.Default == nil:
		param += " | None"
		if !needed {
			param += " = None"
		}
	case other && def == "":
	case other:
		param += " = " + def
	case p.Default != nil:
		param += " = " + pythonValue(p.Default)
	}
	switch {
	case p.Name == "kernel_size": // a number stands for two axes, and a list of one for one
		return param, "pair(" + name + ")"
	case p.Name == "src":
		return param, "source(" + name + ", self)"
	}
	switch p.Kind {
	case ops.Tensor, ops.Operand:
		name = "operand(" + name + ", self)"
	case ops.DType:
		name = "known_dtype(" + name + ")"
	}
	return param, name
}

// pythonProperties are the operations without parameters that Python has as properties.
var pythonProperties = []string{"T", "real", "imag"}

// pythonCreated are the parameters of what makes tensors.
var pythonCreated = []string{"device: str | None = None", "requires_grad: _bool | None = None"}

func writePython(b *bytes.Buffer, op *ops.Op, examples []string) {
	params, args := []string{"self"}, []string{pythonConstant(op)}
	for i := range op.Params {
		param, value := pythonParam(op, i)
		params, args = append(params, param), append(args, value)
	}
	result, decorator, doc := "Self", "", op.Doc
	if op.Results != 1 {
		result = "tuple[Self, ...]"
	}
	body := pythonCall("return self._call1", args)
	switch quick := pythonQuick[op.Name]; {
	case quick != "":
		body = pythonCall("return combine", []string{"self", "POLY_" + quick, "x", "reverse"})
	case op.Name == "einsum": // takes the formula first
		decorator = "    @classmethod\n"
		params = []string{"cls", params[1], "*operands: Any", params[2]}
		body = pythonCall("return make", append([]string{"cls", args[0], "sizes(operands)"}, args[1:]...))
	case op.Name == "max_pool2d":
		params, result = append(params, "return_indices: _bool = False"), "Any"
		body = "        window = (" + strings.Join(args[1:], ", ") + ")\n        if return_indices:\n" +
			"            return self._call(MAX_POOL2D_WITH_INDICES, *window)\n        return self._call1(MAX_POOL2D, *window)"
		doc += " With return_indices, also the index of each maximum in the flattened axes."
	case op.Form == ops.Joiner:
		params = append([]string{"self", "*args: Self"}, params[1:]...)
		body = pythonCall("return join", append([]string{"given(self, args)"}, args...))
		if op.Results == 1 {
			body += "[0]"
		}
	case op.Form == ops.Maker:
		decorator = "    @classmethod\n"
		params[0] = "cls"
		if op.Params[0].Kind == ops.Shape {
			params[1], args[1] = "*shape: Any", "sizes(shape)"
		}
		if op.Name == "rand" {
			params = append(params, "contiguous: _bool = True")
		}
		params = append(params, pythonCreated...)
		if op.Name == "randperm" { // in the order of tinygrad
			params[2], params[3] = params[3], params[2]
		}
		body = pythonCall("return finish", []string{"make(cls, " + strings.Join(args, ", ") + ")", "device", "requires_grad"})
	case isLike(op):
		params = append(params, pythonCreated...)
		body = pythonCall("return finish", []string{"self._call1(" + strings.Join(args, ", ") + ")", "device", "requires_grad"})
	case slices.Contains(pythonVariadic, op.Name):
		name, _, _ := strings.Cut(params[1], ":")
		params[1] = name + ": Any = ()" // no arguments are the shape of a scalar
		params = append(params, "*args: Any")
		list := "(" + name + ", *args)"
		if name != "shape" {
			list += fmt.Sprintf(", %q", name)
		}
		body = pythonCall("return self._call1", []string{args[0], "sizes(" + list + ")"})
	case op.Name == "rearrange":
		params[2] = "**sizes: _int"
	case op.Name == "allclose":
		result = "_bool"
		body = pythonCall("return _bool", []string{"self._call1(" + strings.Join(args, ", ") + ").item()"})
	case op.Name == "chunk":
		result = "list[Self]"
		body = pythonCall("return list", []string{"self._call(" + strings.Join(args, ", ") + ")"})
	case slices.Contains(pythonProperties, op.Name):
		decorator = "    @property\n"
	case op.Results != 1:
		body = pythonCall("return self._call", args)
	}
	b.WriteString("\n" + decorator + pythonHead(op.Name, params, result) + "\n")
	pythonDoc(b, "        ", doc, examples)
	b.WriteString(body + "\n")
}

// pythonHead is the head of a method.
func pythonHead(name string, params []string, result string) string {
	head := fmt.Sprintf("    def %s(%s) -> %s:", name, strings.Join(params, ", "), result)
	if len(head) > 100 {
		head = fmt.Sprintf("    def %s(\n        %s,\n    ) -> %s:", name, strings.Join(params, ",\n        "), result)
	}
	return head
}

// pythonDoc writes a docstring.
func pythonDoc(b *bytes.Buffer, indent, text string, examples []string) {
	first, rest, _ := strings.Cut(text, "\n")
	doc := []string{"\"\"\"" + first}
	if rest != "" {
		doc = append(append(doc, ""), wrap(rest, 100-len(indent))...)
	}
	if len(examples) > 0 {
		doc = append(append(doc, ""), examples...)
	}
	if len(doc) == 1 {
		doc[0] += "\"\"\""
	} else {
		doc = append(doc, "\"\"\"")
	}
	for _, line := range doc {
		if line != "" {
			line = indent + line
		}
		b.WriteString(line + "\n")
	}
}

// wrap breaks a text into lines.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// numbers are the elements of a list between brackets.
func numbers(left string, list any, right string) string {
	return left + strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ") + right
}

// pythonValue is a default as Python writes it.
func pythonValue(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return strconv.Quote(v)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if v == math.Trunc(v) && !strings.Contains(s, "e") {
			s += ".0"
		}
		return s
	case []int64:
		if len(v) == 1 {
			return fmt.Sprint(v[0])
		}
		return numbers("(", v, ")")
	case []float64:
		return numbers("(", v, ")")
	}
	return fmt.Sprint(v)
}
