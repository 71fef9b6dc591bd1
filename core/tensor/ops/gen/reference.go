package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"polygrad/core/tensor/ops"
)

// A spelling is what an operation, or a method that is no operation, is called in each language, where that does not follow from
// its name; "-" where a language does not have it. also is an operator beside the Python method.
type spelling struct{ python, also, javascript, r, golang, c, doc string }

// spellings are the names that do not follow from those of the descriptions and of the Python methods.
var spellings = map[string]spelling{
	"add": {also: "x + y", r: "x + y"}, "sub": {also: "x - y", r: "x - y"}, "mul": {also: "x * y", r: "x * y"},
	"div": {also: "x / y", r: "x / y"}, "floordiv": {python: "x // y", r: "x %/% y"}, "mod": {also: "x % y", r: "x %% y"},
	"pow": {also: "x ** y", r: "x ^ y"}, "bitwise_and": {also: "x & y", r: "x & y"}, "bitwise_or": {also: "x | y", r: "x | y"},
	"bitwise_xor": {also: "x ^ y"}, "bitwise_not": {also: "~x", r: "!x"}, "lshift": {also: "x << y"}, "rshift": {also: "x >> y"},
	"neg": {also: "-x", r: "-x"}, "lt": {python: "x < y", r: "x < y"}, "le": {python: "x <= y", r: "x <= y"},
	"gt": {python: "x > y", r: "x > y"}, "ge": {python: "x >= y", r: "x >= y"}, "eq": {also: "x == y", r: "x == y"},
	"ne": {also: "x != y", r: "x != y"}, "matmul": {also: "x @ y", r: "x %*% y"}, "getitem": {python: "x[items]", r: "x[items]"},
	"where":     {python: "cond.where(x, y)", javascript: "cond.where(x, y)", golang: "cond.Where(x, y)", doc: "x where cond is not 0, y elsewhere."},
	"with_item": {python: "-", javascript: "-", r: "-"}, "T": {javascript: "x.T"},
	"view":      {javascript: "x.reshape(...shape)"},
	"embedding": {python: "nn.Embedding", javascript: "Embedding", r: "Embedding"},
	"max_pool2d_with_indices": {python: "x.max_pool2d(kernel_size, return_indices=True)",
		javascript: "x.maxPool2d(kernelSize, { returnIndices: true })", r: "x$max_pool2d(kernel_size, return_indices = TRUE)"},

	"realize": {c: "poly_array_realize"}, "realize_async": {r: "-", golang: "-", c: "poly_array_realize_async"},
	"is_realized": {c: "poly_array_is_computed"}, "item": {c: "poly_array_read"}, "data": {c: "poly_array_pin"},
	"numpy":  {javascript: "x.toArray()", r: "as.array(x)", golang: "Values[T](x)", c: "poly_array_read"},
	"tolist": {r: "as.array(x)", golang: "Values[T](x)", c: "poly_array_read"},
	"clone":  {c: "poly_array_clone"}, "detach": {c: "poly_array_detach"},
	"gpu_buffer": {c: "poly_array_gpu_buffer", doc: "Compute the tensor; its memory as a buffer of WebGPU, of the device that Device.init was given."},
	"from_gpu_buffer": {c: "poly_array_of_gpu_buffer",
		doc: "A tensor on a buffer of WebGPU, of the device that Device.init was given: both have the same memory."},
	"from_numpy":     {javascript: "new Tensor(typedArray)", r: "Tensor(array)", golang: "From(data, shape...)", c: "poly_array_new"},
	"from_blob":      {golang: "Share(data, shape...)", c: "poly_array_share"},
	"empty":          {r: "Tensor$empty(..., shape = NULL, dtype = NULL)", golang: "Zeros(shape)", c: "poly_array_new"},
	"empty_like":     {r: "x$empty_like(dtype = NULL)"},
	"requires_grad":  {c: "poly_array_requires_grad"},
	"requires_grad_": {javascript: "x.requiresGrad_(requiresGrad?)", golang: "x.SetRequiresGrad(on)", c: "poly_array_require_grad"},
	"grad":           {c: "poly_array_grad"}, "backward": {c: "poly_array_backward"}, "gradient": {c: "poly_array_gradient"},
	"assign": {c: "poly_array_assign"}, "replace": {c: "poly_array_replace"},
	"shape": {c: "poly_array_describe"}, "ndim": {golang: "x.NDim()", c: "poly_array_describe"}, "size": {golang: "x.Shape()", c: "poly_array_describe"},
	"numel": {c: "poly_array_describe"}, "dtype": {c: "poly_array_describe"}, "element_size": {c: "poly_dtype_id_size"}, "device": {c: "poly_array_device"},
	"to": {c: "poly_array_to"}, "to_": {r: "x$to_(device = NULL)", golang: "x.Move(device)", c: "poly_array_move"},
	"manual_seed": {golang: "Default().Seed(seed)", c: "poly_seed"},
	"train": {python: "with Tensor.train(mode=True): …", javascript: "Tensor.train(fn, mode?)", r: "training(expr, mode = TRUE)", golang: "Default().SetTraining(on)", c: "poly_training",
		doc: "Set training mode for a block of code: dropout drops elements, batch normalisation uses the batch."},
	"no_grad": {python: "with Tensor.no_grad(): …", javascript: "Tensor.noGrad(fn)", r: "no_grad(expr)", golang: "Default().NoGrad(f)", c: "poly_no_grad",
		doc: "Compute without gradients in a block of code: results do not require them, whatever their operands do."},
	"training": {python: "Tensor.training", javascript: "Tensor.training", r: "Tensor$training", golang: "Default().Training()", c: "poly_training",
		doc: "Whether training mode is on: dropout drops elements, batch normalisation uses the batch."},
	"sequential": {}, "clip": {}, "pad_to": {}, "shrink_to": {},
}

// beside are the methods that are no operations, by their topics.
var beside = []struct{ topic, names string }{
	{"Values and memory", "realize realize_async is_realized item tolist numpy data clone from_numpy from_dlpack from_blob from_url gpu_buffer from_gpu_buffer"},
	{"Gradients", "requires_grad requires_grad_ backward grad gradient detach"},
	{"Writes", "assign replace"},
	{"Shape, type and device", "shape mT ndim size numel dtype element_size nbytes is_floating_point device to to_ to_device cpu cuda"},
	{"Modes and the random stream", "train training no_grad manual_seed"},
	{"Composition", "sequential"},
}

// order is the order of the sections: what a new user needs first comes first.
var order = []string{
	"New tensors", "Random tensors", "Values and memory", "Shape, type and device", "Types",
	"Arithmetic and comparison", "Elementwise functions", "Activations", "Reductions", "Scans and sorting", "Shape", "Indexing", "Writes",
	"Linear algebra", "Convolutions and windows", "Normalisation", "Losses", "Gradients", "Modes and the random stream", "Composition",
	"Layers", "Optimizers", "Schedules", "Module random", "Module lax", "Module special", "Module linalg", "Module fft", "Module numpy",
}

// A page is the reference while it is written.
type page struct {
	bytes.Buffer
	python, javascript, r, golang, c map[string]string
	pythonDoc                        map[string]string
	// anchors counts the headings of each anchor, as GitHub numbers them.
	anchors map[string]int
	// anchorOf are the anchors of operations and classes.
	anchorOf map[string]string
	err      error
}

// reference writes docs/api.md from the descriptions and from the sources of the languages below the root of the project.
func reference(root string) ([]byte, error) {
	p := &page{anchors: map[string]int{}, anchorOf: map[string]string{}}
	if err := p.read(root); err != nil {
		return nil, err
	}
	type entry struct {
		name, anchor string
		write        func()
	}
	type section struct {
		title   string
		entries []entry
	}
	sections := make([]section, len(order))
	add := func(title string) *section {
		i := slices.Index(order, title)
		if i < 0 {
			p.err = fmt.Errorf("section %q has no place in the order of the reference", title)
			return &section{}
		}
		sections[i].title = title
		return &sections[i]
	}
	seen := map[string]bool{}
	for _, t := range ops.Topics {
		s := add(t.Name)
		for i := range t.Ops {
			op := &t.Ops[i]
			seen[op.Name] = true
			s.entries = append(s.entries, entry{name: op.Name, write: func() { p.operation(op) }})
		}
	}
	for _, group := range beside {
		s := add(group.topic)
		for name := range strings.FieldsSeq(group.names) {
			seen[name] = true
			s.entries = append(s.entries, entry{name: name, write: func() { p.method(name) }})
		}
	}
	for name := range p.python {
		if !seen[name] && !strings.HasPrefix(name, "class ") {
			return nil, fmt.Errorf("no place in the reference for Tensor.%s of Python: see beside", name)
		}
	}
	for _, group := range ops.Classes {
		s := add(group.Name)
		for i := range group.Classes {
			c := &group.Classes[i]
			s.entries = append(s.entries, entry{name: c.Name, write: func() { p.class(group.Name, c) }})
		}
	}
	for i := range ops.Modules() {
		m := &ops.Modules()[i]
		s := add("Module " + m.Name)
		sectionHeads["Module "+m.Name] = "\n" + markdown(m.Doc) + "\n"
		for k := range m.Ops {
			op := &m.Ops[k]
			s.entries = append(s.entries, entry{name: op.Name, write: func() { p.function(m, op) }})
		}
	}
	p.WriteString(referenceHead)
	for i := range sections {
		s := &sections[i]
		var links []string
		title := p.anchor(s.title)
		for k := range s.entries {
			e := &s.entries[k]
			e.anchor = p.anchor(e.name)
			p.anchorOf[e.name] = e.anchor
			links = append(links, fmt.Sprintf("[`%s`](#%s)", e.name, e.anchor))
		}
		fmt.Fprintf(p, "- [%s](#%s): %s\n", s.title, title, strings.Join(links, " "))
	}
	p.WriteString("- [Models, files and tools](#models-files-and-tools), [Operators](#operators), [Compared with tinygrad](#compared-with-tinygrad), " +
		"[NumPy](#compared-with-numpy), [SciPy](#compared-with-scipy), [JAX](#compared-with-jax), " +
		"[the array API](#compared-with-the-array-api), [jax-js](#compared-with-jax-js), [optax](#compared-with-optax)\n")
	for _, s := range sections {
		fmt.Fprintf(p, "\n## %s\n", s.title)
		p.WriteString(sectionHeads[s.title])
		for _, e := range s.entries {
			fmt.Fprintf(p, "\n### %s\n\n", strings.ReplaceAll(e.name, "_", `\_`))
			e.write()
		}
	}
	p.WriteString(referenceTail)
	p.operators()
	if err := p.tinygrad(root); err != nil {
		return nil, err
	}
	if err := p.names(root); err != nil {
		return nil, err
	}
	return p.Bytes(), p.err
}

const referenceHead = `# Reference

Every operation of the Tensor, and every layer, optimizer and schedule, in all languages. This page is generated from the descriptions in
` + "`core/tensor/ops`" + ` and from the sources of the bindings (` + "`go generate`" + `; a test compares).

Each entry says what an operation returns and how each language calls it. ` + "`x`" + ` is the tensor whose method is called. The text calls
the second operand y; as a keyword argument its name is x, w or other, as in tinygrad. "–" means that a language does not have the method.

- **Python, R**: arguments by position or by name. R counts axes, indices and classes from 1.
- **JavaScript**: arguments by position, or by name as an object in the last place: ` + "`x.sum({ axis: 1, keepdim: true })`" + `.
- **Go**: optional arguments are options, listed in brackets: ` + "`x.Sum(polygrad.WithAxis(1))`" + `.
- **C**: an operation is called by its name, on nodes with ` + "`poly_call`" + `, on arrays with ` + "`poly_array_call`" + `. The line lists the arguments in
  order, with their kinds, defaults and limits; ` + "`?`" + ` means that ` + "`POLY_PASS_NONE`" + ` is allowed. The first argument is the tensor (self), or the
  list of tensors to join. If [polygrad.h](../include/polygrad.h) has a function that does the same, the line ends with it.

` + "```c" + `
PolyCallArg args[] = {POLY_PASS_T(x), POLY_PASS_I(-1), POLY_PASS_B(true)};
poly_call(ctx, poly_op("sum"), args, 3, &result, 1); // x.sum(axis=-1, keepdim=True)
` + "```" + `

Arguments of a wrong kind, axes out of range, and shapes and types that do not fit are errors of the call, which name the operation and the
argument: TypeError, RangeError and PolygradError (Python, JavaScript), an R error, ` + "`Err()`" + ` of the result (Go), NULL or -1 and
` + "`poly_last_error()`" + ` (C).

`

const referenceTail = `
## Models, files and tools

| what | Python | JavaScript | R | Go |
|---|---|---|---|---|
| a compiled training step | ` + "`nn.compile_step`" + ` | ` + "`compileStep`" + ` | ` + "`compile_step`" + ` | ` + "`Compile`" + ` |
| a compiled function of tensors | ` + "`TinyJit`" + ` | ` + "`TinyJit`" + ` | ` + "`TinyJit`" + ` | ` + "`Jit`" + ` |
| a symbolic size | ` + "`Variable`" + ` | ` + "`Variable`" + ` | ` + "`Variable`" + ` | ` + "`Variable`" + ` |
| the tensors of a model by name | ` + "`nn.get_state_dict`" + ` | ` + "`getStateDict`" + ` | ` + "`get_state_dict`" + ` | ` + "`State`" + ` |
| the parameters of a model | ` + "`nn.get_parameters`" + ` | ` + "`getParameters`" + ` | ` + "`get_parameters`" + ` | ` + "`Parameters`" + ` |
| copying tensors into a model by name | ` + "`nn.load_state_dict`" + ` | ` + "`loadStateDict`" + ` | ` + "`load_state_dict`" + ` | ` + "`LoadState`" + ` |
| safetensors files | ` + "`nn.state.safe_save`, `nn.state.safe_load`" + ` | ` + "`safeSave`, `safeLoad`" + ` | ` + "`write_safetensors`, `read_safetensors`" + ` | ` + "`Save`, `Load`" + ` |
| GGUF and PyTorch files | ` + "`nn.state.gguf_load`, `nn.state.torch_load`" + ` | ` + "`ggufLoad`, `torchLoad`" + ` | ` + "`read_gguf`, `read_torch`" + ` | – |
| gradient clipping | ` + "`nn.clip_grad_norm_`, `nn.clip_grad_value_`" + ` | ` + "`clipGradNorm`, `clipGradValue`" + ` | ` + "`clip_grad_norm`, `clip_grad_value`" + ` | – |
| language models | ` + "`hf.load_hf`, `hf.generate`" + ` | ` + "`loadHf`, `generate`" + ` | ` + "`load_hf`, `generate`" + ` | – |
| kernels and their times | ` + "`viz.kernels`, `viz.profile`, `viz.graph`" + ` | ` + "`viz.kernels`, `viz.profile`, `viz.graph`" + ` | ` + "`view_kernels`, `view_graph`" + ` | – |

[polygrad.h](../include/polygrad.h) has the functions of C: traces (` + "`poly_trace_begin`" + `), variables (` + "`poly_define_var`" + `), files (` + "`poly_file_open`" + `,
` + "`poly_safetensors_save`" + `), models (` + "`poly_hf_load`" + `) and views (` + "`poly_view_kernels`" + `).
`

var sectionHeads = map[string]string{
	"Layers": "\nA layer holds its weights and is called with a tensor: `layer(x)` in Python and R, `layer.forward(x)` in JavaScript. In C, " +
		"`poly_array_call` of `Linear` creates the weights of a layer, of `Linear.forward` computes it. In Go a model is a struct of tensors " +
		"(see [Tensors in Go](go.md)). Python, JavaScript and R also have `Sequential`, `MultiHeadAttention` and `TransformerBlock`.\n",
	"Optimizers": "\nAn optimizer takes a list of parameters and its settings. `zero_grad()` removes the gradients, `step()` updates the parameters. " +
		"In the formulas p is a parameter, g its gradient, lr the learning rate; b, m and v are the state of the optimizer.\n",
	"Schedules": "\nA schedule sets the learning rate of an optimizer: call its `step()` after that of the optimizer. `LambdaLR` computes the rate by a function; " +
		"`SequentialLR` and `LRSchedulerGroup` combine schedules (Python and R).\n",
}

// anchor is the anchor that GitHub gives a heading.
func (p *page) anchor(heading string) string {
	a := strings.ToLower(regexp.MustCompile(`[^\w -]`).ReplaceAllString(heading, ""))
	a = strings.ReplaceAll(a, " ", "-")
	n := p.anchors[a]
	p.anchors[a]++
	if n > 0 {
		a += "-" + strconv.Itoa(n)
	}
	return a
}

// lines writes how something is called, one line a language.
func (p *page) lines(python, javascript, r, golang, c string) {
	p.WriteString("\n```text\n")
	for _, l := range [][2]string{{"Python", python}, {"JavaScript", javascript}, {"R", r}, {"Go", golang}, {"C", c}} {
		if l[1] == "" || l[1] == "-" {
			l[1] = "–"
		}
		fmt.Fprintf(p, "%-11s %s\n", l[0], l[1])
	}
	p.WriteString("```\n")
}

// function writes a function of a module.
func (p *page) function(m *ops.Module, op *ops.Op) {
	p.WriteString(markdown(op.Doc) + "\n")
	var params, javascript, required, optional []string
	operand := m.OperandOf(op)
	if operand != "" {
		params, javascript, required = []string{operand}, []string{operand}, []string{operand}
	}
	list, _ := javascriptParams(op)
	for _, d := range list {
		if d.optional {
			d.name += "?"
		}
		javascript = append(javascript, d.name)
	}
	for i := range op.Params {
		q := &op.Params[i]
		param, _ := pythonModuleParam(m, op, i)
		name, def, has := strings.Cut(param, " = ")
		name, _, _ = strings.Cut(name, ":")
		if has {
			name += "=" + def
		}
		params = append(params, name)
		if q.Optional {
			optional = append(optional, "With"+ops.GoName(q.Name))
		} else {
			required = append(required, local(q.Name))
		}
	}
	if len(optional) > 0 {
		required = append(required, "["+strings.Join(optional, ", ")+"]")
	}
	kinds := kindsOf(op.Params)
	switch op.Form {
	case ops.Method:
		kinds = strings.TrimSuffix(operand+" tensor, "+kinds, ", ")
	case ops.Joiner:
		kinds = strings.TrimSuffix(operand+" tensors, "+kinds, ", ")
	}
	call := func(name string, params []string) string { return name + "(" + strings.Join(params, ", ") + ")" }
	p.lines(call(op.Name, params), call(camel(op.Name), javascript), call(m.Name+"$"+rQuoted(op.FunctionName()), rModuleParams(m, op)),
		call(ops.GoName(op.Name), required), fmt.Sprintf("poly_op(%q): %s", op.Name, kinds))
}

// or is a, or b if a is "".
func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (p *page) operation(op *ops.Op) {
	p.WriteString(markdown(or(spellings[op.Name].doc, op.Doc)) + "\n")
	if len(op.Names) > 1 {
		fmt.Fprintf(p, "Results: %s.\n", strings.Join(op.Names, ", "))
	}
	if op.View {
		p.WriteString("The result is a view: writes to it change x.\n")
	}
	if op.Types != ops.AnyType {
		fmt.Fprintf(p, "Types: %s.\n", op.Types)
	}
	if op.NoGradient {
		p.WriteString("No gradient flows through it.\n")
	}
	s := spellings[op.Name]
	python := or(s.python, p.python[op.Name])
	if s.also != "" {
		python += "  or  " + s.also
	}
	r := rUsage[op.Name]
	if _, byHand := rByHand[op.Name]; r == "" && !byHand {
		r = fmt.Sprintf("x$%s(%s)", op.Name, strings.Join(rParams(op), ", "))
		if op.Form != ops.Method {
			r = "Tensor" + r[1:]
		}
	}
	if s.r != "" && r != "" {
		r += "  or  " + s.r
	} else {
		r = or(r, s.r)
	}
	golang := or(s.golang, p.golang[ops.GoName(op.Name)])
	var options []string
	for _, param := range op.Params {
		if param.Optional {
			options = append(options, "With"+ops.GoName(param.Name))
		}
	}
	golang = strings.Replace(golang, "opts...", "["+strings.Join(options, ", ")+"]", 1)
	first := map[ops.Form]string{ops.Method: "self", ops.Joiner: "tensors"}[op.Form]
	kinds := kindsOf(op.Params)
	javascript := or(s.javascript, p.javascript[camel(op.Name)])
	if name := secondOperand(op); name != "" {
		for _, call := range []*string{&python, &javascript, &r, &golang} {
			*call = strings.Replace(*call, "("+name, "(y", 1)
		}
		kinds = "y" + strings.TrimPrefix(kinds, name)
	}
	c := fmt.Sprintf("poly_op(%q): %s", op.Name, strings.Join(slices.DeleteFunc([]string{first, kinds}, func(s string) bool { return s == "" }), ", "))
	if direct := p.c["poly_"+op.Name]; direct != "" {
		c += "  or  " + direct
	}
	p.lines(python, javascript, r, golang, c)
}

// secondOperand is the parameter that the text of an operation of two operands calls y; "" if there is none.
func secondOperand(op *ops.Op) string {
	if op.Form != ops.Method || len(op.Params) == 0 || len(op.Params) > 1 && op.Params[1].Name == "y" {
		return ""
	}
	name := op.Params[0].Name
	if name == "x" || (name == "w" || name == "other") && !regexp.MustCompile(`\b`+name+`\b`).MatchString(op.Doc) {
		return name
	}
	return ""
}

// kindsOf are parameters with their kinds, defaults and limits.
func kindsOf(params []ops.Param) string {
	var words []string
	for _, param := range params {
		word := param.Name + " " + param.Kind.String()
		switch {
		case param.Default != nil:
			word += " = " + strings.Trim(fmt.Sprint(param.Default), "[]")
		case param.Optional:
			word += "?"
		}
		if len(param.Choices) > 0 {
			word += " {" + strings.Join(param.Choices, ", ") + "}"
		}
		if l := param.Limits; l != nil {
			word += fmt.Sprintf(" [%v, %v", l.Least, l.Most)
			if l.Open || l.Most > 1e300 {
				word += ")"
			} else {
				word += "]"
			}
		}
		words = append(words, strings.Replace(word, "+Inf", "∞", 1))
	}
	return strings.Join(words, ", ")
}

// method writes a method that is no operation: Python's text says what it does.
func (p *page) method(name string) {
	s := spellings[name]
	p.WriteString(markdown(upper(strings.TrimPrefix(or(s.doc, p.pythonDoc[name]), "Return "))) + "\n")
	golang := or(s.golang, p.golang[ops.GoName(name)])
	golang = strings.Replace(golang, "opts...", "[WithGradient]", 1)
	c := s.c
	if c != "" {
		c = p.c[c]
	}
	p.lines(or(s.python, p.python[name]), or(s.javascript, or(p.javascript[name], p.javascript[camel(name)])), or(s.r, p.r[name]), golang, c)
}

// class writes a layer, an optimizer or a schedule.
func (p *page) class(group string, c *ops.Class) {
	p.WriteString(markdown(upper(c.Doc)) + "\n")
	var weights []string
	for i, w := range c.Weights {
		word := w.Name
		if w.Optional {
			word += "?"
		}
		if i >= len(c.Weights)-c.Buffers {
			word += " (no parameter)"
		}
		weights = append(weights, "`"+word+"`")
	}
	if len(weights) > 0 {
		fmt.Fprintf(p, "Weights: %s.\n", strings.Join(weights, ", "))
	}
	settings := kindsOf(c.Params)
	golang, called := "", fmt.Sprintf("poly_op(%q): %s", c.Name, settings)
	switch group {
	case "Optimizers":
		golang, called = p.golang["New"+c.Name], fmt.Sprintf("poly_optim_new with poly_op(%q): tensors, %s", c.Name, settings)
	case "Schedules":
		golang = p.golang[goRates[c.Name]]
		if c.Rate != nil {
			called = fmt.Sprintf("poly_rate_schedule_new with poly_op(%q): %s", c.Name, settings)
		}
	}
	javascript := strings.Replace(p.javascript["class "+c.Name], ", options?", ", { "+optionsOf(c)+" }?", 1)
	if group == "Optimizers" {
		javascript = fmt.Sprintf("new %s(params, { %s }?)", c.Name, optionsOf(c))
	}
	for language, text := range map[string]string{"Python": p.python["class "+c.Name], "JavaScript": javascript, "R": p.r["class "+c.Name]} {
		if text == "" {
			p.err = fmt.Errorf("%s of %s is not found in the sources", c.Name, language)
		}
	}
	p.lines(p.python["class "+c.Name], javascript, p.r["class "+c.Name], golang, called)
}

// goRates are the functions of Go that stand for schedules.
var goRates = map[string]string{
	"StepLR": "StepRate", "MultiStepLR": "MultiStepRate", "ExponentialLR": "ExponentialRate", "LinearLR": "LinearRate", "PolynomialLR": "PolynomialRate",
	"CosineAnnealingLR": "CosineRate", "CosineAnnealingWarmRestarts": "CosineRestartsRate", "CosineAnnealingLRWithWarmup": "WarmupCosineRate",
}

// optionsOf are the settings of a class that JavaScript takes by name.
func optionsOf(c *ops.Class) string {
	var names []string
	for i := range c.Params {
		if c.Params[i].Optional {
			names = append(names, javascriptName(&c.Params[i])+"?")
		}
	}
	return strings.Join(names, ", ")
}

// upper begins a sentence, unless it begins with a formula.
func upper(s string) string {
	if regexp.MustCompile(`^[a-z]{2,}[ -]`).MatchString(s) {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// markdown is a text in which stars, underscores and angle brackets are no marks.
func markdown(text string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "|", `\|`, "[", `\[`).Replace(text)
}

// operators writes the operators and protocols of Python and R.
func (p *page) operators() {
	p.WriteString(`
## Operators

In Python x + y calls ` + "`__add__`" + `, 1 + x calls ` + "`__radd__`" + `, and x += y calls ` + "`__iadd__`" + `, which writes into x (see
[Writes](concepts.md#writes)). JavaScript has no operators of tensors: call the methods.

| Python | methods | R | operation |
|---|---|---|---|
`)
	for _, row := range [][4]string{
		{"x + y", "add", "x + y", "add"}, {"x - y", "sub", "x - y", "sub"}, {"x * y", "mul", "x * y", "mul"}, {"x / y", "truediv", "x / y", "div"},
		{"x // y", "floordiv", "x %/% y", "floordiv"}, {"x % y", "mod", "x %% y", "mod"}, {"x ** y", "pow", "x ^ y", "pow"},
		{"x @ y", "matmul", "x %*% y", "matmul"}, {"x & y", "and", "x & y", "bitwise_and"}, {"x | y", "or", "x | y", "bitwise_or"},
		{"x ^ y", "xor", "", "bitwise_xor"}, {"x << y", "lshift", "", "lshift"}, {"x >> y", "rshift", "", "rshift"},
	} {
		p.operator(row[0], fmt.Sprintf("`__%s__` `__r%[1]s__` `__i%[1]s__`", row[1]), row[2], row[3])
	}
	for _, row := range [][4]string{
		{"x < y", "`__lt__`", "x < y", "lt"}, {"x <= y", "`__le__`", "x <= y", "le"}, {"x > y", "`__gt__`", "x > y", "gt"},
		{"x >= y", "`__ge__`", "x >= y", "ge"}, {"x == y", "`__eq__`", "x == y", "eq"}, {"x != y", "`__ne__`", "x != y", "ne"},
		{"-x", "`__neg__`", "-x", "neg"}, {"~x", "`__invert__`", "!x", "bitwise_not"}, {"abs(x)", "`__abs__`", "abs(x)", "abs"},
		{"x[items]", "`__getitem__`", "x[items]", "getitem"}, {"x[items] = y", "`__setitem__`", "x[items] <- y", ""},
	} {
		p.operator(row[0], row[1], row[2], row[3])
	}
	p.WriteString("\n`len(x)` and iteration go along the first axis (`__len__`, `__iter__`; R: `length(x)` is the number of elements). `bool(x)`, `int(x)` and\n" +
		"`float(x)` compute a tensor of one element (`__bool__`, `__int__`, `__float__`). `del x[items]` is an error (`__delitem__`). `__del__` releases the tensor.\n")
}

func (p *page) operator(python, methods, r, operation string) {
	cell := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
	}
	fmt.Fprintf(p, "| %s | %s | %s | %s |\n", cell(python), methods, cell(r), cell(operation))
}

// tinygrad writes which names of tinygrad's Tensor are here.
func (p *page) tinygrad(root string) error {
	lists := map[string][][]string{}
	for _, name := range []string{"tensor", "left_out", "differences", "beside"} {
		file, err := os.Open(filepath.Join(root, "tests/api", name+".tsv"))
		if err != nil {
			return err
		}
		defer file.Close()
		rows := csv.NewReader(file)
		rows.Comma, rows.LazyQuotes = '\t', true
		all, err := rows.ReadAll()
		if err != nil {
			return err
		}
		lists[name] = all[1:]
	}
	fmt.Fprintf(p, `
## Compared with tinygrad

Of the %d public names of tinygrad's Tensor, %d are here, with the same arguments, order and defaults; %d are left out. Additional arguments
follow those of tinygrad; where tinygrad takes any keyword, these are `+"`dtype`, `device` and `requires_grad`. `tests/api`"+` has the lists,
and the tests of the Python package compare every signature.

### Signatures that differ

| name | why |
|---|---|
`, len(lists["tensor"]), len(lists["tensor"])-len(lists["left_out"]), len(lists["left_out"]))
	for _, row := range lists["differences"] {
		fmt.Fprintf(p, "| `%s` | %s |\n", row[0], row[1])
	}
	for _, table := range [][2]string{{"Left out", "left_out"}, {"Left out of other modules", "beside"}} {
		fmt.Fprintf(p, "\n### %s\n\n| name | why |\n|---|---|\n", table[0])
		for _, row := range lists[table[1]] {
			fmt.Fprintf(p, "| `%s` | %s |\n", row[0], row[1])
		}
	}
	return nil
}

// read finds how things are called in the sources of all languages.
func (p *page) read(root string) error {
	texts := func(patterns ...string) (string, error) {
		var all strings.Builder
		for _, pattern := range patterns {
			paths, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				return "", err
			}
			for _, path := range paths {
				text, err := os.ReadFile(path)
				if err != nil {
					return "", err
				}
				all.Write(text)
			}
		}
		if all.Len() == 0 {
			return "", fmt.Errorf("%v: no files", patterns)
		}
		return all.String(), nil
	}
	python, err := texts("bindings/python/polygrad/_[bcehimos]*.py", "bindings/python/polygrad/tensor.py", "bindings/python/polygrad/nn/layers.py",
		"bindings/python/polygrad/nn/lr_scheduler.py", "bindings/python/polygrad/nn/optim.py")
	if err != nil {
		return err
	}
	p.readPython(python)
	javascript, err := texts("bindings/js/index.d.ts", "bindings/js/lib/*.d.ts", "bindings/js/lib/nn/*.d.ts")
	if err != nil {
		return err
	}
	p.readJavaScript(javascript)
	r, err := texts("bindings/r/R/*.R")
	if err != nil {
		return err
	}
	p.readR(r)
	c, err := texts("include/polygrad.h")
	if err != nil {
		return err
	}
	p.c = map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)POLY_API [\w ]+?\**(poly_\w+)\(([^;]*?)\);`).FindAllStringSubmatch(c, -1) {
		var names []string
		for _, param := range pieces(m[2]) {
			names = append(names, regexp.MustCompile(`\w+(?:\[[^\]]*\])*$`).FindString(param))
		}
		p.c[m[1]] = fmt.Sprintf("%s(%s)", m[1], regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(strings.Join(names, ", "), ""))
	}
	return p.readGo(root)
}

// pieces splits at the commas that stand in no brackets.
func pieces(text string) []string {
	var found []string
	depth, start := 0, 0
	for i, letter := range text {
		switch {
		case strings.ContainsRune("([{", letter), letter == '<' && !strings.HasPrefix(text[i:], "<="):
			depth++
		case strings.ContainsRune(")]}", letter), letter == '>' && !strings.HasSuffix(text[:i], "="):
			depth--
		case letter == ',' && depth == 0:
			found, start = append(found, strings.TrimSpace(text[start:i])), i+1
		}
	}
	return slices.DeleteFunc(append(found, strings.TrimSpace(text[start:])), func(s string) bool { return s == "" })
}

// typed is a parameter with its type and its default.
var typed = regexp.MustCompile(`^(\*{0,2}\w+)(?:: .*?)?(?: ?= ?(.*))?$`)

// untyped are the parameters of a function of Python without their types.
func untyped(params string) string {
	var names []string
	for _, param := range pieces(params) {
		m := typed.FindStringSubmatch(param)
		switch {
		case param == "self" || param == "cls":
		case m == nil:
			names = append(names, param)
		case m[2] != "":
			names = append(names, m[1]+"="+m[2])
		default:
			names = append(names, m[1])
		}
	}
	return strings.Join(names, ", ")
}

const parenthesised = `\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)`

var (
	pythonClassHead = regexp.MustCompile(`(?m)^class (\w+)`)
	pythonDef       = regexp.MustCompile(`(?m)^((?:    @.*\n)*)    def (\w+)` + parenthesised + `(?: -> [^:]*)?:\n(?:        """(.*?)(?:"""|$))?`)
)

// readPython reads the methods of the classes that Tensor is made of, and how layers, optimizers and schedules are made.
func (p *page) readPython(text string) {
	p.python, p.pythonDoc = map[string]string{}, map[string]string{}
	parts := pythonClassHead.FindAllStringSubmatchIndex(text, -1)
	for i, at := range parts {
		end := len(text)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		class, body := text[at[2]:at[3]], text[at[0]:end]
		_, described := ops.ClassNamed(class)
		for _, m := range pythonDef.FindAllStringSubmatch(body, -1) {
			marks, name, params, doc := m[1], m[2], untyped(m[3]), m[4]
			call := fmt.Sprintf("x.%s(%s)", name, params)
			switch {
			case described && name == "__init__":
				p.python["class "+class] = fmt.Sprintf("nn.%s(%s)", class, params)
			case described, strings.HasPrefix(class, "_"), strings.HasPrefix(name, "_"), strings.Contains(marks, "@overload"), strings.Contains(marks, ".setter"):
				continue
			case strings.Contains(marks, "@property"):
				call = "x." + name
			case strings.Contains(marks, "@staticmethod"), strings.Contains(marks, "@classmethod"):
				call = "Tensor" + call[1:]
			}
			if !described {
				p.python[name], p.pythonDoc[name] = call, doc
			}
		}
	}
	for _, group := range ops.Classes { // a class without a constructor has that of its base
		for _, c := range group.Classes {
			if base := p.python["class "+c.Base]; p.python["class "+c.Name] == "" && base != "" {
				p.python["class "+c.Name] = strings.Replace(base, c.Base, c.Name, 1)
			}
		}
	}
}

var (
	scriptClass  = regexp.MustCompile(`(?m)^export (?:abstract )?class (\w+)(?: extends (\w+))?`)
	scriptMethod = regexp.MustCompile(`(?m)^  (static |readonly |get )?(\w+)(?:<[^(\n]*>)?` + parenthesised + `: |^  (static |readonly )?(\w+): `)
	scriptParam  = regexp.MustCompile(`^((?:\.\.\.)?\w+\??): (.*)$`)
)

// untypedScript are the parameters of a function of TypeScript without their types; options in braces keep their names.
func untypedScript(params string) string {
	var names []string
	for _, param := range pieces(strings.Join(strings.Fields(params), " ")) {
		m := scriptParam.FindStringSubmatch(param)
		if m == nil {
			continue
		}
		name := m[1]
		if i := strings.Index(m[2], "{ "); name == "options" || name == "options?" {
			var inner []string
			if i >= 0 {
				for _, option := range pieces(strings.TrimSuffix(m[2][i+2:], " }")) {
					option, _, _ = strings.Cut(option, ":")
					inner = append(inner, option)
				}
			}
			if strings.Contains(m[2], "CreationOptions") {
				inner = append(inner, "dtype?", "requiresGrad?")
			}
			if len(inner) > 0 {
				name = "{ " + strings.Join(inner, ", ") + " }"
				if m[1] == "options?" {
					name += "?"
				}
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// readJavaScript reads the declarations of Tensor, and how layers, optimizers and schedules are made. The first form of several counts.
func (p *page) readJavaScript(text string) {
	p.javascript = map[string]string{}
	bases := map[string]string{}
	parts := scriptClass.FindAllStringSubmatchIndex(text, -1)
	for i, at := range parts {
		end := len(text)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		class, body := text[at[2]:at[3]], text[at[0]:end]
		if close := strings.Index(body, "\n}"); close >= 0 {
			body = body[:close]
		}
		if at[4] >= 0 {
			bases[class] = text[at[4]:at[5]]
		}
		if m := regexp.MustCompile(`(?m)^  constructor` + parenthesised).FindStringSubmatch(body); m != nil && p.javascript["class "+class] == "" {
			p.javascript["class "+class] = fmt.Sprintf("new %s(%s)", class, untypedScript(m[1]))
		}
		if class != "Tensor" && class != "Methods" {
			continue
		}
		for _, m := range scriptMethod.FindAllStringSubmatch(body, -1) {
			name, of, call := m[2], "x", fmt.Sprintf("%s(%s)", m[2], untypedScript(m[3]))
			if name == "" {
				name, call = m[5], m[5]
			}
			if m[1]+m[4] == "static " {
				of = "Tensor"
			}
			if p.javascript[name] == "" {
				p.javascript[name] = of + "." + call
			}
		}
	}
	for class, base := range bases {
		if p.javascript["class "+class] == "" && p.javascript["class "+base] != "" {
			p.javascript["class "+class] = strings.Replace(p.javascript["class "+base], base, class, 1)
		}
	}
}

// readR reads the methods of Tensor that R writes in its own way, and the functions that make layers, optimizers and schedules.
func (p *page) readR(text string) {
	p.r = map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^tensor_(methods|statics|properties)\\$`?(\\w+)`? <- (?:function"+parenthesised+")?").FindAllStringSubmatch(text, -1) {
		of := "x"
		if m[1] == "statics" {
			of = "Tensor"
		}
		params := strings.TrimPrefix(strings.TrimPrefix(m[3], "self"), ", ")
		p.r[m[2]] = fmt.Sprintf("%s$%s(%s)", of, m[2], params)
		if m[1] == "properties" {
			p.r[m[2]] = "x$" + m[2]
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^([A-Z]\w+) <- function`+parenthesised).FindAllStringSubmatch(text, -1) {
		p.r["class "+m[1]] = fmt.Sprintf("%s(%s)", m[1], strings.Join(strings.Fields(m[2]), " "))
	}
}

// readGo reads the methods of Tensor and the functions of the root package.
func (p *page) readGo(root string) error {
	p.golang = map[string]string{}
	paths, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); !ok || star.X.(*ast.Ident).Name != "Tensor" {
					continue
				}
				name = "x." + name
			}
			var params []string
			for _, field := range f.Type.Params.List {
				_, rest := field.Type.(*ast.Ellipsis)
				for _, n := range field.Names {
					if rest {
						params = append(params, n.Name+"...")
					} else {
						params = append(params, n.Name)
					}
				}
			}
			p.golang[f.Name.Name] = fmt.Sprintf("%s(%s)", name, strings.Join(params, ", "))
		}
	}
	return nil
}
