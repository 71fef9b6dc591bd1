package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	_ "embed"

	"polygrad/core/tensor/ops"
)

// rByHand are operations that R writes in its own way, with the reason. Those without a method are "".
var rByHand = map[string]string{
	"getitem": "takes items one by one", "with_item": "", "T": "is a property", "embedding": "", "max_pool2d_with_indices": "",
	"allclose": "gives TRUE or FALSE", "reshape": "takes sizes one by one", "view": "takes sizes one by one",
	"expand": "takes sizes one by one", "permute": "takes axes one by one", "repeat": "takes counts one by one",
	"rearrange": "takes sizes by name", "pad": "takes pairs in two forms", "shrink": "counts from 1", "cat": "takes tensors one by one",
	"stack": "takes tensors one by one", "meshgrid": "takes tensors one by one", "einsum": "takes tensors one by one",
	"max_pool2d": "takes return_indices",
	"dropout":    "asks Tensor$training", "scaled_dot_product_attention": "asks Tensor$training", "clip": "is clamp", "empty": "takes sizes one by one", "empty_like": "is zeros_like", "const_like": "is full_like",
	"shrink_to": "takes sizes one by one", "pad_to": "takes sizes one by one",
	"full": "takes the type of R's number", "arange": "takes Variables", "randint": "has its shape last", "one_hot": "counts from 1",
	"where":  "has numbers of the type of the other operand",
	"argmax": "counts column by column", "argmin": "counts column by column", "masked_select": "goes column by column",
	"nonzero": "goes column by column", "repeat_interleave": "goes column by column",
}

// rUsage are the calls of operations that R writes in its own way.
var rUsage = map[string]string{
	"getitem": "x$getitem(...)", "allclose": "x$allclose(other, rtol = 1e-05, atol = 1e-08, equal_nan = FALSE)",
	"T":       "x$T",
	"reshape": "x$reshape(..., shape = NULL)", "view": "x$view(..., shape = NULL)", "expand": "x$expand(..., shape = NULL)",
	"permute": "x$permute(..., order = NULL)", "repeat": "x$`repeat`(..., repeats = NULL)",
	"rearrange": "x$rearrange(formula, ..., sizes = NULL)", "pad": `x$pad(padding, mode = "constant", value = 0)`, "shrink": "x$shrink(arg)",
	"cat": "Tensor$cat(..., dim = 1)", "stack": "Tensor$stack(..., dim = 1)", "meshgrid": `Tensor$meshgrid(..., indexing = "ij")`,
	"einsum":     "Tensor$einsum(formula, ..., dtype = NULL)",
	"max_pool2d": "x$max_pool2d(kernel_size = 2, stride = NULL, dilation = 1, padding = 0, ceil_mode = FALSE, return_indices = FALSE)",
	"dropout":    "x$dropout(p = 0.5)", "where": "cond$where(x, y)",
	"scaled_dot_product_attention": "x$scaled_dot_product_attention(key, value, attn_mask = NULL, dropout_p = 0, is_causal = FALSE, enable_gqa = FALSE, scale = NULL)",
	"full":                         "Tensor$full(shape, fill_value, dtype = NULL, requires_grad = NULL)",
	"arange":                       "Tensor$arange(start = 0, stop = NULL, step = 1, dtype = NULL, requires_grad = NULL)",
	"argmax":                       "x$argmax(axis = NULL, keepdim = FALSE)", "argmin": "x$argmin(axis = NULL, keepdim = FALSE)",
	"masked_select": "x$masked_select(mask)", "nonzero": "x$nonzero()", "repeat_interleave": "x$repeat_interleave(repeats, dim = NULL)",
	"shrink_to": "x$shrink_to(..., shape = NULL)", "pad_to": "x$pad_to(..., shape = NULL)", "const_like": "x$const_like(b)",
	"clip":    "x$clip(min_ = NULL, max_ = NULL)",
	"randint": `Tensor$randint(low = 0L, high = 10L, shape = 1L, dtype = "int32")`, "one_hot": "x$one_hot(num_classes = NULL)",
}

// rDocs are the texts of operations in which numbers are counted from 1, or that take something else in R.
var rDocs = map[string]string{
	"argmax":             "The index of the maximum along an axis, or in column-major order in the whole tensor; the first if there are several: x[x$argmax()] is max(x). Indices count from 1.",
	"argmin":             "The index of the minimum along an axis, or in column-major order in the whole tensor; the first if there are several. Indices count from 1.",
	"masked_select":      "The elements where mask is true, in column-major order as a vector: x[mask]. The mask is computed at once.",
	"nonzero":            "The indices of the elements that are not 0, one row for each element, in column-major order: which(x != 0, arr.ind = TRUE). The tensor is computed at once.",
	"repeat_interleave":  "Each element repeated along an axis, or of all elements in column-major order.",
	"flatten":            "The axes start_dim to end_dim joined into one, row-major as in the other languages: the same memory. c(x) is column-major.",
	"gather":             "The elements at the indices along an axis: for axis 2, out[i, j] = x[i, index[i, j]].",
	"scatter":            "The tensor with src written at the indices along an axis: for axis 2, out[i, index[i, j]] = src[i, j].\nOf several values for one element the last is written; with reduce \"add\" or \"multiply\" all are combined with the old element.",
	"randperm":           "The numbers 1 to n in random order.",
	"multinomial":        "num_samples random class numbers from 1, drawn with the weights in the last axis.",
	"cross_entropy":      "The cross entropy of logits (N, C, …) and class numbers (N, …), from 1, or probabilities (N, C, …).\nThe classes are axis 2 (axis 1 of a vector) unless axis is given. A factor is its class numbers. A class out of range is an error if target is already computed. In a lazy target its loss is 0.",
	"ctc_loss":           "The loss of connectionist temporal classification (Graves et al., 2006) of log probabilities x (T, N, C).\nIt is -log of the total probability of the paths that become targets (N, S), classes from 1, when repetitions and then blanks are removed. blank is the first class unless given. input_lengths and target_lengths (N) are the numbers of steps and classes of each sample; later targets may be 0. The mean is that of the losses divided by target_lengths. With zero_infinity a sample with too few steps has the loss 0.",
	"shrink":             "The elements from start to end of each axis, both included; NULL keeps an axis.",
	"one_hot":            "Class numbers from 1 as rows: 1 at the index of the class, 0 elsewhere. num_classes NULL computes the tensor and selects its greatest element.",
	"getitem":            "The elements that the items select: NULL (all of an axis), an index, c(first, last, step), slc(), a Tensor of indices, \"newaxis\", \"...\".",
	"max_pool2d":         "The maximum of windows over the last axes, one for each size in kernel_size, or all but two.\nstride is kernel_size unless given. With return_indices also the index of each maximum in the flattened last axes, from 1.",
	"linear":             "x %*% weight + bias, for weight (in, out) and bias (out); all three are converted to dtype first, if given.",
	"meshgrid":           "A list: the coordinates of a grid with the given vectors as axes, one tensor for each axis; indexing \"xy\" swaps the first two axes.",
	"permute":            "The axes in another order: axis i of the result is axis order[i], from 1.",
	"pad":                "The tensor with elements added before and after each axis; negative numbers remove elements.\npadding is a list of pairs, one for each axis, NULL for none; or a flat vector of numbers that begins with the last axis. The new elements are value, or with mode elements of the tensor: \"reflect\" (mirrored at the edge), \"replicate\" (the edge), \"circular\" (from the other end).",
	"random.permutation": "The slices of x along an axis in random order; for a number n, 1 to n in random order.\nWith independent the elements of each vector along the axis are permuted independently.",
	"random.choice":      "Random elements of a along an axis, or from 1 to a for a number. The axis becomes the axes of shape.\np are the probabilities of the elements, by default equal. Without replace no element is drawn twice.",
	"random.categorical": "Random indices along an axis, from 1, with the probabilities softmax(logits).\nshape ends with the shape of logits without the axis, its default. Without replace the samples of one vector differ.",
	"keccak":             "The hash of the bytes of the last axis: cfg is the name of a function of FIPS 202, or its rate in bytes and its suffix.",
}

// rNames are parameters with another name in R.
var rNames = map[string]string{"Y": "target"}

// rAxes are parameters that are axes.
var rAxes = []string{"axis", "dim", "dim0", "dim1", "dim2", "start_dim", "end_dim", "dims", "order", "dimension"}

// rPlaces are operands of functions that are positions.
var rPlaces = []string{"start_indices", "scatter_indices", "start_index", "index"}

// rFirst is the name of the first operand in errors.
func rFirst(op *ops.Op) string {
	module, _, _ := strings.Cut(op.Name, ".")
	for i := range ops.Modules() {
		if m := &ops.Modules()[i]; m.Name == module {
			return m.OperandOf(op)
		}
	}
	return "x"
}

// rPositions are the results that are positions, as bits.
var rPositions = map[string]int{
	"argmax": 1, "argmin": 1, "argsort": 1, "randperm": 1, "multinomial": 1, "nonzero": 1, "cummax": 2, "cummin": 2, "sort": 2, "topk": 2,
	"max_pool2d_with_indices": 2, "unique": 2, "random.categorical": 1, "lax.argmax": 1, "lax.argmin": 1, "lax.top_k": 2,
	"numpy.argmax": 1, "numpy.argmin": 1, "numpy.nanargmax": 1, "numpy.nanargmin": 1, "numpy.argsort": 1, "numpy.lexsort": 1, "numpy.argpartition": 1,
	"numpy.nonzero": 1<<30 - 1, "numpy.argwhere": 1, "numpy.flatnonzero": 1, "numpy.unique_all": 2 | 4,
}

// rLonger are operations that count the axes of a tensor with one more.
var rLonger = []string{"unsqueeze", "stack", "numpy.stack", "numpy.expand_dims"}

// rKind is the kind of a parameter for the C code of the package: see bindings/r/src/call.c.
func rKind(op *ops.Op, p *ops.Param) (kind byte, optional bool) {
	optional = p.Optional && p.Default == nil
	switch {
	case p.Name == "ignore_index" || p.Name == "blank":
		return 'C', true
	case ofClass(op) && (p.Name == "kernel_size" || p.Name == "dim"):
	case p.Name == "kernel_size":
		return 'K', false
	case p.Kind == ops.Tensor && (p.Name == "index" || p.Name == "indices"):
		return 'p', false
	case (p.Kind == ops.Tensor || p.Kind == ops.Operand) && slices.Contains(rPlaces, p.Name):
		return 'p', false
	case op.Name == "ctc_loss" && p.Name == "targets" || p.Name == "Y" && (op.Name == "cross_entropy" || op.Name == "nll_loss" || op.Name == "sparse_categorical_crossentropy"):
		return 'c', false
	case slices.Contains(rAxes, p.Name) && p.Kind == ops.Int:
		return 'x', optional
	}
	return map[ops.Kind]byte{
		ops.Tensor: 't', ops.Operand: 'o', ops.Tensors: 'T', ops.Int: 'i', ops.Ints: 'I', ops.Axes: 'X', ops.Float: 'f', ops.Floats: 'F',
		ops.Number: 'n', ops.Bool: 'b', ops.Text: 's', ops.DType: 'd', ops.Shape: 'I', ops.Pairs: 'P', ops.Items: 'm', ops.Sizes: 'N', ops.NewShape: 'I', ops.IntsOrText: 'G',
	}[p.Kind], optional
}

func rName(p *ops.Param) string {
	if other := rNames[p.Name]; other != "" {
		return other
	}
	return p.Name
}

// ofClass reports whether an operation makes or calls objects of a class.
func ofClass(op *ops.Op) bool {
	class, _, _ := strings.Cut(op.Name, ".")
	_, is := ops.ClassNamed(class)
	return is
}

// rConstant is the constant for the place of an operation in the table.
func rConstant(op *ops.Op) string {
	prefix := "OP_"
	if ofClass(op) {
		prefix = "NN_"
	}
	return prefix + strings.ToUpper(strings.ReplaceAll(op.Name, ".", "_"))
}

// rTable writes the table of operations for the C code of the package.
func rTable() []byte {
	var params, table bytes.Buffer
	for i, op := range rTableOps() {
		list := "NULL"
		if len(op.Params) > 0 {
			list = fmt.Sprintf("p%d", i)
			var all []string
			for k := range op.Params {
				p := &op.Params[k]
				kind, optional := rKind(op, p)
				on := 0
				if optional {
					on = 1
				}
				all = append(all, fmt.Sprintf("{%q, '%c', %d}", rName(p), kind, on))
			}
			fmt.Fprintf(&params, "static const Param %s[] = {%s};\n", list, strings.Join(all, ", "))
		}
		form := map[ops.Form]string{ops.Method: "'m'", ops.Joiner: "'j'", ops.Maker: "0"}[op.Form]
		longer := 0
		if slices.Contains(rLonger, op.Name) {
			longer = 1
		}
		fmt.Fprintf(&table, "    {%q, %q, %s, %d, %s, %d, %d, %d},\n", op.Name, rFirst(op), list, len(op.Params), form, op.Results, rPositions[op.Name], longer)
	}
	return slices.Concat([]byte("/* Code generated by core/tensor/ops/gen; DO NOT EDIT. */\n\n"), params.Bytes(),
		[]byte("\nstatic const Method methods[] = {\n"), table.Bytes(), []byte("};\n"))
}

// rMethods writes the methods of R's Tensor.
func rMethods() []byte {
	var b, names bytes.Buffer
	n := 0
	for _, t := range ops.Topics {
		fmt.Fprintf(&b, "\n# %s\n\n", t.Name)
		for i := range t.Ops {
			op := &t.Ops[i]
			fmt.Fprintf(&names, "%s <- %dL\n", rConstant(op), n)
			n++
			if _, byHand := rByHand[op.Name]; !byHand {
				writeR(&b, op)
			}
		}
	}
	return slices.Concat([]byte("# Code generated by core/tensor/ops/gen; DO NOT EDIT.\n# The methods of Tensor that are generated from the descriptions of operations.\n\n"),
		names.Bytes(), b.Bytes())
}

// rParams are the parameters of a function, as it declares them.
func rParams(op *ops.Op) []string {
	var all []string
	for i := range op.Params {
		p := &op.Params[i]
		if p.Kind == ops.Shape && op.Form == ops.Maker {
			all = append(all, "...", "shape = NULL")
			continue
		}
		name := rName(p)
		switch _, optional := rKind(op, p); {
		case optional:
			name += " = NULL"
		case p.Default != nil:
			name += " = " + rValue(p)
		}
		all = append(all, name)
	}
	if op.Form == ops.Maker && op.Name != "randperm" {
		all = append(all, "requires_grad = NULL")
	}
	return all
}

func writeR(b *bytes.Buffer, op *ops.Op) {
	args := []string{"C_op", rConstant(op)}
	group := "tensor_statics"
	params := rParams(op)
	if op.Form == ops.Method {
		group, params, args = "tensor_methods", append([]string{"self"}, params...), append(args, "self")
	}
	for i := range op.Params {
		if p := &op.Params[i]; p.Kind == ops.Shape && op.Form == ops.Maker {
			args = append(args, "sizes(..., shape = shape)")
		} else {
			args = append(args, rName(p))
		}
	}
	call := ".External(" + strings.Join(args, ", ") + ")"
	if strings.Contains(strings.Join(params, " "), "requires_grad") {
		call = "wanting(" + call + ", requires_grad)"
	}
	head := fmt.Sprintf("%s$%s <- function(%s)", group, op.Name, strings.Join(params, ", "))
	switch {
	case op.Random:
		fmt.Fprintf(b, "%s {\n  .Call(C_draw)\n  %s\n}\n", head, call)
	case len(head)+1+len(call) <= 120:
		fmt.Fprintf(b, "%s %s\n", head, call)
	default:
		fmt.Fprintf(b, "%s {\n  %s\n}\n", head, call)
	}
}

// rValue is a default as R writes it, counted from 1 where it is an axis.
func rValue(p *ops.Param) string {
	from1 := func(n int64) int64 {
		if n >= 0 && slices.Contains(rAxes, p.Name) {
			return n + 1
		}
		return n
	}
	switch v := p.Default.(type) {
	case bool:
		return strings.ToUpper(strconv.FormatBool(v))
	case string:
		return strconv.Quote(v)
	case int64:
		return fmt.Sprint(from1(v))
	case float64:
		if v == 1.0/3 {
			return "1 / 3"
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []int64: // equal numbers are one for all axes
		return fmt.Sprint(from1(v[0]))
	case []float64:
		return numbers("c(", v, ")")
	}
	if p.Kind == ops.DType {
		return strconv.Quote(dtypeName(p.Default))
	}
	return fmt.Sprint(p.Default)
}

// dtypeName is a type by the name that tells its size.
func dtypeName(dt any) string {
	name := fmt.Sprint(dt)
	if sized, ok := map[string]string{"float": "float32", "double": "float64", "int": "int32", "uint": "uint32", "long": "int64"}[name]; ok {
		return sized
	}
	return name
}

//go:embed r_pages.txt
var rPagesText string

// An rPage is a page of the manual: what stands before the operations of its topics and behind them.
type rPage struct {
	title, head, tail string
	topics, classes   []string
}

// rPages reads the pages: "= name: title", "topics: …" or "classes: …", what comes first, "sections", and what comes last.
func rPages() (names []string, pages map[string]*rPage) {
	pages = map[string]*rPage{}
	var page *rPage
	var to *string
	for line := range strings.SplitSeq(strings.TrimSpace(rPagesText), "\n") {
		if head, is := strings.CutPrefix(line, "= "); is {
			name, title, _ := strings.Cut(head, ": ")
			page = &rPage{title: title}
			names, pages[name], to = append(names, name), page, &page.head
			continue
		}
		if list, is := strings.CutPrefix(line, "topics: "); is {
			page.topics = strings.Split(list, ", ")
			continue
		}
		if list, is := strings.CutPrefix(line, "classes: "); is {
			page.classes = strings.Split(list, ", ")
			continue
		}
		if line == "sections" {
			to = &page.tail
			continue
		}
		*to += line + "\n"
	}
	return names, pages
}

var rdText = strings.NewReplacer(`\`, `\\`, "%", `\%`, "{", `\{`, "}", `\}`, "…", "...", "±", "+-")

// rManual writes the pages of the manual about operations, by file name.
func rManual() map[string][]byte {
	files := map[string][]byte{}
	names, pages := rPages()
	for _, name := range names {
		page := pages[name]
		var b bytes.Buffer
		fmt.Fprintf(&b, "%% Code generated by core/tensor/ops/gen; DO NOT EDIT.\n\\name{%s}\n\\alias{%s}\n", name, name)
		for _, op := range rOperations(page) {
			if op.Form != ops.Method {
				fmt.Fprintf(&b, "\\alias{Tensor$%s}\n", op.Name)
			}
		}
		for _, class := range page.classes {
			fmt.Fprintf(&b, "\\alias{%s}\n", class)
		}
		usage := "\\usage{\n"
		fmt.Fprintf(&b, "\\title{%s}\n%s", page.title, strings.Replace(page.head, usage, usage+rClassUsages(page.classes), 1))
		if page.classes != nil {
			rClassItems(&b, page.classes)
		}
		for _, t := range ops.Topics {
			if !slices.Contains(page.topics, t.Name) {
				continue
			}
			fmt.Fprintf(&b, "\\section{%s}{\n\\describe{\n", t.Name)
			for i := range t.Ops {
				op := &t.Ops[i]
				if reason, byHand := rByHand[op.Name]; !byHand || reason != "" {
					rdItem(&b, op)
				}
			}
			b.WriteString("}\n}\n")
		}
		b.WriteString(page.tail)
		files[name+".Rd"] = b.Bytes()
	}
	return files
}

// rOperations are the operations of a page.
func rOperations(page *rPage) []*ops.Op {
	var all []*ops.Op
	for _, t := range ops.Topics {
		for i := range t.Ops {
			if slices.Contains(page.topics, t.Name) {
				all = append(all, &t.Ops[i])
			}
		}
	}
	return all
}

func rdItem(b *bytes.Buffer, op *ops.Op) {
	usage := rUsage[op.Name]
	if usage == "" {
		usage = fmt.Sprintf("x$%s(%s)", op.Name, strings.Join(rParams(op), ", "))
		if op.Form != ops.Method {
			usage = "Tensor" + usage[1:]
		}
	}
	doc := op.Doc
	if own := rDocs[op.Name]; own != "" {
		doc = own
	}
	for from, to := range rNames {
		doc = strings.ReplaceAll(doc, from+" ", to+" ")
	}
	if op.Results != 1 {
		doc = "A list: " + lower(doc)
	}
	if rPositions[op.Name] != 0 && rDocs[op.Name] == "" {
		doc += " Indices count from 1."
	}
	fmt.Fprintf(b, "\\item{\\code{%s}}{%s}\n", strings.ReplaceAll(usage, "%", `\%`), strings.Join(wrap(rdText.Replace(doc), 100), "\n"))
}
