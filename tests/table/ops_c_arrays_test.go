package table

import (
	"fmt"
	"math"
	"strings"
)

// shaped is a function of the original interface, which takes the shape of x and tells that of the result.
func shaped(row bool, format string, a ...any) cCall {
	return cCall{expr: fmt.Sprintf(format, a...), told: true, row: row}
}

// many is a function that writes its results to out.
func many(format string, a ...any) []cCall {
	return []cCall{{expr: fmt.Sprintf(format, a...), many: true}}
}

// dim is an argument that is an axis.
func (c *cCase) dim(name string, missing int64) string { return c.integer(name, missing) }

// single is a call of one tensor and one axis.
func single(name, arg string, missing int64) cOp {
	return func(c *cCase) []cCall { return []cCall{call("%s(ctx, %s, %s)", name, c.x[0], c.dim(arg, missing))} }
}

// listed is a call of one tensor and a list of numbers.
func listed(name, arg string) cOp {
	return func(c *cCase) []cCall { return []cCall{call("%s(ctx, %s, %s)", name, c.x[0], cShape(c.Ints(arg)))} }
}

// padding2 are the pairs of pad and shrink; a flat list begins with the last axis.
func (c *cCase) pairsOf(name string, missing func(int) [2]int64) [][2]int64 {
	list := c.Args[name].([]any)
	if len(list) > 0 && list[0] != nil {
		if _, nested := list[0].([]any); !nested {
			flat, out := c.Ints(name), make([][2]int64, c.dims(0))
			for i := 0; i < len(flat); i += 2 {
				out[len(out)-1-i/2] = [2]int64{flat[i], flat[i+1]}
			}
			return out
		}
	}
	return c.Pairs(name, missing)
}

var cMovement = map[string]cOp{
	"reshape": listed("poly_reshape", "shape"),
	"view":    listed("poly_reshape", "shape"),
	"expand":  listed("poly_expand", "shape"),
	"permute": listed("poly_permute", "order"),
	"flip":    listed("poly_flip", "axis"),
	"repeat":  listed("poly_repeat", "repeats"),
	"transpose": func(c *cCase) []cCall {
		return []cCall{call("poly_transpose(ctx, %s, %s, %s)", c.x[0], c.dim("dim0", 1), c.dim("dim1", 0))}
	},
	"T": func(c *cCase) []cCall { return []cCall{call("poly_transpose(ctx, %s, -2, -1)", c.x[0])} },
	"squeeze": func(c *cCase) []cCall {
		if !c.Has("dim") {
			return []cCall{call("poly_squeeze_all(ctx, %s)", c.x[0])}
		}
		return []cCall{call("poly_squeeze(ctx, %s, %s)", c.x[0], c.dim("dim", 0))}
	},
	"unsqueeze": single("poly_unsqueeze", "dim", 0),
	"flatten": func(c *cCase) []cCall {
		return []cCall{call("poly_flatten(ctx, %s, %s, %s)", c.x[0], c.dim("start_dim", 0), c.dim("end_dim", -1))}
	},
	"unflatten": func(c *cCase) []cCall {
		return []cCall{call("poly_unflatten(ctx, %s, %s, %s)", c.x[0], c.dim("dim", 0), cShape(c.Ints("sizes")))}
	},
	"shrink": func(c *cCase) []cCall {
		whole := func(i int) [2]int64 { return [2]int64{0, c.shapeOf(0)[i]} }
		return []cCall{call("poly_shrink(ctx, %s, %s)", c.x[0], cPairs(c.pairsOf("arg", whole)))}
	},
	"pad": func(c *cCase) []cCall {
		pairs := cPairs(c.pairsOf("padding", func(int) [2]int64 { return [2]int64{} }))
		if mode := c.Text("mode", "constant"); mode != "constant" {
			return []cCall{call("poly_pad_mode(ctx, %s, %s, POLY_PAD_%s)", c.x[0], pairs, strings.ToUpper(mode))}
		}
		if c.Has("value") {
			return []cCall{call("poly_pad_value(ctx, %s, %s, %s)", c.x[0], pairs, c.number("value", ""))}
		}
		return []cCall{call("poly_pad(ctx, %s, %s)", c.x[0], pairs), call("poly_pad_value(ctx, %s, %s, 0)", c.x[0], pairs)}
	},
	"repeat_interleave": func(c *cCase) []cCall {
		axis := "POLY_AXIS_FLAT"
		if c.Has("dim") {
			axis = c.dim("dim", 0)
		}
		return []cCall{call("poly_repeat_interleave(ctx, %s, %s, %s)", c.x[0], c.integer("repeats", 1), axis)}
	},
	"unfold": func(c *cCase) []cCall {
		return []cCall{call("poly_unfold(ctx, %s, %s, %s, %s)", c.x[0], c.dim("dim", 0), c.integer("size", 1), c.integer("step", 1))}
	},
	"roll": func(c *cCase) []cCall {
		n := len(c.Ints("shifts"))
		return []cCall{call("poly_roll(ctx, %s, %s, %s, %d)", c.x[0], cInts(c.Ints("shifts")), cInts(c.Ints("dims")), n)}
	},
	"diagonal": func(c *cCase) []cCall {
		return []cCall{call("poly_diagonal(ctx, %s, %s, %s, %s)", c.x[0], c.integer("offset", 0), c.dim("dim1", 0), c.dim("dim2", 1))}
	},
	"rearrange": func(c *cCase) []cCall {
		names, sizes := c.Lengths()
		var values []int64
		for _, name := range names {
			values = append(values, sizes[name])
		}
		last := fmt.Sprintf("%q, %s, %d, told, &n_told", strings.Join(names, " "), cInts(values), len(names))
		formula := c.Text("formula", "")
		return []cCall{
			shaped(false, "poly_rearrange(ctx, %q, %s, NULL, 0, %s)", formula, c.x[0], last),
			shaped(false, "poly_rearrange(ctx, %q, %s, %s, %s)", formula, c.x[0], c.given(0), last),
		}
	},
	"tril": triangle("poly_tril"),
	"triu": triangle("poly_triu"),
	"cat": func(c *cCase) []cCall {
		return []cCall{call("poly_cat(ctx, %s, %d, %s)", cNodes(c.x), len(c.x), c.dim("dim", 0))}
	},
	"stack": func(c *cCase) []cCall {
		return []cCall{call("poly_stack(ctx, %s, %d, %s)", cNodes(c.x), len(c.x), c.dim("dim", 0))}
	},
	"meshgrid": func(c *cCase) []cCall {
		return many("poly_meshgrid(ctx, %s, %d, %s, out)", cNodes(c.x), len(c.x), flag(c.Text("indexing", "ij") == "xy"))
	},
	"split": func(c *cCase) []cCall {
		if _, list := c.Args["sizes"].([]any); list {
			return c.split(c.Ints("sizes"))
		}
		return c.split(c.parts(c.Int("sizes", 1)))
	},
	"chunk": func(c *cCase) []cCall {
		n := c.Int("chunks", 1)
		return c.split(c.parts((c.length() + n - 1) / n))
	},
}

func triangle(name string) cOp {
	return func(c *cCase) []cCall {
		diagonal := c.integer("diagonal", 0)
		return []cCall{
			call("%s(ctx, %s, NULL, 0, %s)", name, c.x[0], diagonal),
			call("%s(ctx, %s, %s, %s)", name, c.x[0], c.given(0), diagonal),
		}
	}
}

// length is the size of the axis that is cut.
func (c *cCase) length() int64 {
	shape, axis := c.shapeOf(0), c.Int("dim", 0)
	if axis < 0 {
		axis += int64(len(shape))
	}
	return shape[axis]
}

// parts are the sizes of pieces of one size; the last may be smaller.
func (c *cCase) parts(size int64) []int64 {
	var out []int64
	for left := c.length(); left > 0; left -= size {
		out = append(out, min(size, left))
	}
	return out
}

func (c *cCase) split(sizes []int64) []cCall {
	return many("poly_split(ctx, %s, %s, %s, out)", c.x[0], cShape(sizes), c.dim("dim", 0))
}

// index is kinds, numbers and tensors of an index expression, and how many items it has.
func (c *cCase) index() string {
	var kinds, numbers []int64
	var tensors []string
	for _, item := range c.Items() {
		kinds = append(kinds, int64(item.Kind))
		three, node := [3]int64{item.At}, "NULL"
		switch item.Kind {
		case ItemSlice:
			for k, bound := range item.Slice {
				three[k] = math.MinInt64
				if bound != nil {
					three[k] = *bound
				}
			}
		case ItemTensor:
			node = c.all[item.Input]
		}
		numbers, tensors = append(numbers, three[:]...), append(tensors, node)
	}
	return fmt.Sprintf("%s, %s, %s, %d", cInt32s(kinds), cInts(numbers), cNodes(tensors), len(kinds))
}

var cIndexing = map[string]cOp{
	"getitem": func(c *cCase) []cCall {
		out := []cCall{call("poly_index(ctx, %s, %s)", c.all[0], c.index())}
		items := c.Items()
		if len(items) == 1 && items[0].Kind == ItemTensor && len(c.shapeOf(0)) == 2 && c.Error == "" {
			i := items[0].Input
			if strings.Contains(fmt.Sprint(c.Inputs[i].Tensor.Data), "-") {
				return out // poly_gather does not count from the end
			}
			out = append(out, shaped(false, "poly_gather(ctx, %s, %s, %s, %s, told, &n_told)", c.all[0], cShape(c.shapeOf(0)), c.all[i], cShape(c.shapeOf(i))))
		}
		return out
	},
	"setitem": func(c *cCase) []cCall {
		return []cCall{call("poly_setitem(ctx, %s, %s, %s)", c.all[0], c.index(), c.operand(1, c.all[0]))}
	},
	"gather":       axisAndIndex("poly_gather_axis(ctx, %s, %s, %s)"),
	"index_select": axisAndIndex("poly_index_select(ctx, %s, %s, %s)"),
	"one_hot":      single("poly_one_hot", "num_classes", 0),
	"scatter": func(c *cCase) []cCall {
		return []cCall{call("poly_scatter(ctx, %s, %s, %s, %s)", c.x[0], c.dim("dim", 0), c.node("index"), c.node("src"))}
	},
	"scatter_reduce": func(c *cCase) []cCall {
		how := strings.ToUpper(strings.TrimPrefix(c.Text("reduce", ""), "a"))
		return []cCall{call("poly_scatter_reduce(ctx, %s, %s, %s, %s, POLY_REDUCE_%s, %s)", c.x[0], c.dim("dim", 0), c.node("index"), c.node("src"), how, flag(c.Bool("include_self", true)))}
	},
	"masked_select": func(c *cCase) []cCall {
		return []cCall{call("poly_masked_select(ctx, %s, %s, %d)", c.x[0], c.node("mask"), c.Outputs[0].Shape[0])}
	},
	"nonzero": func(c *cCase) []cCall {
		return []cCall{call("poly_nonzero(ctx, %s, %d)", c.x[0], c.Outputs[0].Shape[0])}
	},
}

func axisAndIndex(format string) cOp {
	return func(c *cCase) []cCall { return []cCall{call(format, c.x[0], c.dim("dim", 0), c.node("index"))} }
}

// reduceC is a reduction over axes; the original interface and the machine may have it for one axis.
func reduceC(code, old, machine string, correction int64) cOp {
	return func(c *cCase) []cCall {
		keep, corr := c.flag("keepdim"), c.integer("correction", correction)
		if c.Has("dtype") {
			return []cCall{call("poly_reduce_as(ctx, %s, %s, %s, %s, %s)", code, c.x[0], c.axes("axis"), keep, c.typed(""))}
		}
		out := []cCall{call("poly_reduce(ctx, %s, %s, %s, %s, %s)", code, c.x[0], c.axes("axis"), keep, corr)}
		if !c.oneAxis("axis") {
			return out
		}
		axis := c.dim("axis", 0)
		if old != "" {
			last := fmt.Sprintf("%s, %s, told, &n_told", axis, keep)
			if code == "POLY_REDUCE_VAR" {
				last = fmt.Sprintf("%s, %s, %s, told, &n_told", axis, keep, corr)
			}
			row := code != "POLY_REDUCE_LOGSUMEXP"
			out = append(out, shaped(row, "%s(ctx, %s, NULL, 0, %s)", old, c.x[0], last), shaped(row, "%s(ctx, %s, %s, %s)", old, c.x[0], c.given(0), last))
		}
		if machine != "" && keep == "1" && c.Int("axis", 0) >= 0 {
			out = append(out, call("poly_reduce_axis(ctx, %s, %s, %s)", machine, c.x[0], cShape([]int64{c.Int("axis", 0)})))
		}
		return out
	}
}

// pairC is a function with two results along an axis.
func pairC(name, arg string, missing int64) cOp {
	return func(c *cCase) []cCall { return many("%s(ctx, %s, %s, out)", name, c.x[0], c.dim(arg, missing)) }
}

// alongC is a function of the original interface along an axis.
func alongC(name string) cOp {
	return func(c *cCase) []cCall {
		axis := c.dim("axis", -1)
		return []cCall{call("%s(ctx, %s, NULL, 0, %s)", name, c.x[0], axis), call("%s(ctx, %s, %s, %s)", name, c.x[0], c.given(0), axis)}
	}
}

var cReductions = map[string]cOp{
	"sum":          reduceC("POLY_REDUCE_SUM", "poly_sum_reduce", "POLY_OP_ADD", 0),
	"prod":         reduceC("POLY_REDUCE_PROD", "", "POLY_OP_MUL", 0),
	"max":          reduceC("POLY_REDUCE_MAX", "poly_max_reduce", "POLY_OP_MAX", 0),
	"min":          reduceC("POLY_REDUCE_MIN", "", "", 0),
	"mean":         reduceC("POLY_REDUCE_MEAN", "poly_mean_reduce", "", 0),
	"any":          reduceC("POLY_REDUCE_ANY", "", "", 0),
	"all":          reduceC("POLY_REDUCE_ALL", "", "", 0),
	"logsumexp":    reduceC("POLY_REDUCE_LOGSUMEXP", "poly_logsumexp", "", 0),
	"argmax":       reduceC("POLY_REDUCE_ARGMAX", "", "", 0),
	"argmin":       reduceC("POLY_REDUCE_ARGMIN", "", "", 0),
	"var":          reduceC("POLY_REDUCE_VAR", "poly_var_reduce", "", 1),
	"std":          reduceC("POLY_REDUCE_STD", "", "", 1),
	"cumsum":       single("poly_cumsum", "axis", 0),
	"cumprod":      single("poly_cumprod", "axis", 0),
	"logcumsumexp": single("poly_logcumsumexp", "axis", 0),
	"cummax":       pairC("poly_cummax", "axis", 0),
	"cummin":       pairC("poly_cummin", "axis", 0),
	"softmax":      alongC("poly_softmax"),
	"log_softmax":  alongC("poly_log_softmax"),
	"sort": func(c *cCase) []cCall {
		return many("poly_sort(ctx, %s, %s, %s, out)", c.x[0], c.dim("dim", -1), c.flag("descending"))
	},
	"argsort": func(c *cCase) []cCall {
		return []cCall{call("poly_argsort(ctx, %s, %s, %s)", c.x[0], c.dim("dim", -1), c.flag("descending"))}
	},
	"topk": func(c *cCase) []cCall {
		return many("poly_topk(ctx, %s, %s, %s, %s, out)", c.x[0], c.integer("k", 0), c.dim("dim", -1), flag(c.Bool("largest", true)))
	},
	"layernorm": func(c *cCase) []cCall {
		axes, eps := c.Ints("axis"), c.number("eps", "1e-5")
		if axes == nil {
			axes = []int64{-1}
		}
		out := []cCall{call("poly_layernorm_axes(ctx, %s, %s, %s, %s, %s)", c.x[0], cShape(axes), eps, c.node("weight"), c.node("bias"))}
		if len(axes) == 1 && !c.Has("weight") {
			out = append(out, shaped(false, "poly_layernorm(ctx, %s, %s, %d, %s, told, &n_told)", c.x[0], c.given(0), axes[0], eps))
		}
		return out
	},
	"rmsnorm": func(c *cCase) []cCall {
		return []cCall{call("poly_rmsnorm(ctx, %s, %s, %s)", c.x[0], c.number("eps", "1e-6"), c.node("weight"))}
	},
	"groupnorm": func(c *cCase) []cCall {
		return []cCall{call("poly_groupnorm(ctx, %s, %s, %s, %s, %s)", c.x[0], c.integer("groups", 1), c.number("eps", "1e-5"), c.node("weight"), c.node("bias"))}
	},
	"batchnorm_stats": func(c *cCase) []cCall { return many("poly_batchnorm_stats(ctx, %s, out)", c.x[0]) },
	"batchnorm": func(c *cCase) []cCall {
		return []cCall{call("poly_batchnorm(ctx, %s, %s, %s, %s, %s, %s)", c.x[0], c.node("weight"), c.node("bias"), c.node("mean"), c.node("invstd"), cShape(c.Ints("axis")))}
	},
}
