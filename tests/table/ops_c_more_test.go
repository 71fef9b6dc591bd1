package table

import (
	"fmt"
	"slices"
	"strings"
)

// slide is stride, dilation and padding of windows over n axes, and n.
func (c *cCase) slide(n int) (stride, dilation, padding string) {
	var flat []int64
	for _, p := range c.padding(n) {
		flat = append(flat, p[0], p[1])
	}
	return cInts(c.perAxis("stride", n)), cInts(c.perAxis("dilation", n)), cInts(flat)
}

func (c *cCase) poolWindow() (window string, n int) {
	kernel := c.Ints("kernel_size")
	stride, dilation, padding := c.slide(len(kernel))
	return fmt.Sprintf("%s, %s, %s, %s, %d", cInts(kernel), stride, dilation, padding, len(kernel)), len(kernel)
}

var cSpatial = map[string]cOp{
	"conv2d": func(c *cCase) []cCall {
		n := c.dims(1) - 2
		stride, dilation, padding := c.slide(n)
		return []cCall{call("poly_conv(ctx, %s, %s, %s, %s, %s, %s, %s, %d)", c.x[0], c.x[1], c.node("bias"), c.integer("groups", 1), stride, dilation, padding, n)}
	},
	"conv_transpose2d": func(c *cCase) []cCall {
		n := c.dims(1) - 2
		stride, dilation, padding := c.slide(n)
		return []cCall{call("poly_conv_transpose(ctx, %s, %s, %s, %s, %s, %s, %s, %s, %d)", c.x[0], c.x[1], c.node("bias"), c.integer("groups", 1),
			stride, dilation, padding, cInts(c.perAxis("output_padding", n)), n)}
	},
	"avg_pool2d": func(c *cCase) []cCall {
		window, _ := c.poolWindow()
		return []cCall{call("poly_avg_pool(ctx, %s, %s, %s, %s)", c.x[0], window, c.flag("ceil_mode"), flag(c.Bool("count_include_pad", true)))}
	},
	"max_pool2d": func(c *cCase) []cCall {
		window, _ := c.poolWindow()
		if c.Bool("return_indices", false) {
			return many("poly_max_pool_indices(ctx, %s, %s, %s, out)", c.x[0], window, c.flag("ceil_mode"))
		}
		return []cCall{call("poly_max_pool(ctx, %s, %s, %s)", c.x[0], window, c.flag("ceil_mode"))}
	},
	"max_unpool2d": func(c *cCase) []cCall {
		window, _ := c.poolWindow()
		return []cCall{call("poly_max_unpool(ctx, %s, %s, %s, %s)", c.x[0], c.node("indices"), window, cInts(c.Ints("output_size")))}
	},
	"interpolate": func(c *cCase) []cCall {
		mode := strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(c.Text("mode", "linear"), "bi"), "-", "_"))
		return []cCall{call("poly_interpolate(ctx, %s, %s, POLY_INTERPOLATE_%s, %s)", c.x[0], cShape(c.Ints("size")), mode, c.flag("align_corners"))}
	},
}

var cLinear = map[string]cOp{
	"matmul": matmulC, "dot": matmulC,
	"linear": func(c *cCase) []cCall {
		out := []cCall{call("poly_dense(ctx, %s, %s, %s)", c.x[0], c.x[1], c.node("bias"))}
		if turned := slices.Clone(c.shapeOf(c.Operands()[1])); len(turned) == 2 {
			slices.Reverse(turned)
			weight, bias, shape := fmt.Sprintf("poly_transpose(ctx, %s, 0, 1)", c.x[1]), c.node("bias"), "NULL, 0"
			if i := c.Input("bias"); i >= 0 {
				shape = cShape(c.shapeOf(i))
			}
			out = append(out,
				call("poly_affine(ctx, %s, %s, %s)", c.x[0], weight, bias),
				shaped(false, "poly_linear(ctx, %s, %s, %s, %s, %s, %s, told, &n_told)", c.x[0], c.given(0), weight, cShape(turned), bias, shape))
		}
		return out
	},
	"einsum": func(c *cCase) []cCall {
		var shapes, ndims []string
		for i := range c.x {
			shapes = append(shapes, cInts(c.shapeOf(c.Operands()[i])))
			ndims = append(ndims, fmt.Sprint(c.dims(i)))
		}
		start := fmt.Sprintf("poly_einsum(ctx, %q, %s", c.Text("formula", ""), cNodes(c.x))
		return []cCall{
			shaped(false, "%s, NULL, NULL, %d, told, &n_told)", start, len(c.x)),
			shaped(false, "%s, (const int64_t *[]){%s}, (int[]){%s}, %d, told, &n_told)", start, strings.Join(shapes, ", "), strings.Join(ndims, ", "), len(c.x)),
		}
	},
	"cholesky": func(c *cCase) []cCall {
		upper := c.flag("upper")
		return []cCall{call("poly_cholesky(ctx, %s, NULL, 0, %s)", c.x[0], upper), call("poly_cholesky(ctx, %s, %s, %s)", c.x[0], c.given(0), upper)}
	},
	"triangular_solve": func(c *cCase) []cCall {
		flags := fmt.Sprintf("%s, %s, %s, told, &n_told", c.flag("upper"), c.flag("transpose"), c.flag("unit_diagonal"))
		return []cCall{
			shaped(false, "poly_triangular_solve(ctx, %s, NULL, 0, %s, NULL, 0, %s)", c.x[0], c.x[1], flags),
			shaped(false, "poly_triangular_solve(ctx, %s, %s, %s, %s, %s)", c.x[0], c.given(0), c.x[1], c.given(1), flags),
		}
	},
	"solve":   func(c *cCase) []cCall { return []cCall{call("poly_solve(ctx, %s, %s)", c.x[0], c.x[1])} },
	"slogdet": func(c *cCase) []cCall { return many("poly_slogdet(ctx, %s, out)", c.x[0]) },
	"qr":      func(c *cCase) []cCall { return many("poly_qr(ctx, %s, out)", c.x[0]) },
	"svd": func(c *cCase) []cCall {
		return many("poly_svd(ctx, %s, %s, out)", c.x[0], flag(c.Bool("full_matrices", true)))
	},
	"eigh": func(c *cCase) []cCall { return many("poly_eigh(ctx, %s, %s, out)", c.x[0], c.flag("upper")) },
	"lstsq": func(c *cCase) []cCall {
		return many("poly_lstsq(ctx, %s, %s, %s, out)", c.x[0], c.x[1], c.number("rcond", "-1"))
	},
	"keccak": func(c *cCase) []cCall {
		s := sponges[c.Text("cfg", "sha3_256")]
		return []cCall{call("poly_keccak(ctx, %s, %d, %d)", c.x[0], s[0], s[1])}
	},
	"hardsigmoid": func(c *cCase) []cCall {
		out := []cCall{call("poly_hardsigmoid_by(ctx, %s, %s, %s)", c.x[0], c.number("alpha", "1.0/6"), c.number("beta", "0.5"))}
		if !c.Has("alpha") && !c.Has("beta") {
			out = append(out, call("poly_hardsigmoid(ctx, %s)", c.x[0]))
		}
		return out
	},
	"newton_schulz": func(c *cCase) []cCall {
		params := c.Floats("params")
		return []cCall{call("poly_newton_schulz(ctx, %s, %s, (double[])%s, %d, %s)", c.x[0], c.integer("steps", 1), cFloats(params), len(params), c.number("eps", "1e-7"))}
	},
	"scaled_dot_product_attention": func(c *cCase) []cCall {
		return []cCall{call("poly_attention(ctx, %s, %s, %s, %s, %s, %s, 0, 0, NULL)", c.x[0], c.x[1], c.x[2], c.node("attn_mask"), c.flag("is_causal"), c.flag("enable_gqa"))}
	},
}

func matmulC(c *cCase) []cCall {
	if c.Has("dtype") {
		return []cCall{call("poly_matmul_as(ctx, %s, %s, %s)", c.x[0], c.x[1], c.typed(""))}
	}
	return []cCall{
		call("poly_matmul(ctx, %s, %s)", c.x[0], c.x[1]),
		shaped(true, "poly_dot(ctx, %s, %s, %s, %s, told, &n_told)", c.x[0], c.given(0), c.x[1], c.given(1)),
	}
}

// reduction is the PolyLossReduction of a loss.
func (c *cCase) reduction() string {
	return "POLY_LOSS_" + strings.ToUpper(c.Text("reduction", "mean"))
}

// lossC is a loss of two tensors.
func lossC(name string) cOp {
	return func(c *cCase) []cCall {
		return []cCall{call("%s(ctx, %s, %s, %s)", name, c.x[0], c.x[1], c.reduction())}
	}
}

var cLosses = map[string]cOp{
	"cross_entropy": func(c *cCase) []cCall {
		axis, smoothing := c.dim("axis", int64(min(1, c.dims(0)-1))), c.number("label_smoothing", "0")
		out := []cCall{call("poly_cross_entropy_loss(ctx, %s, %s, %s, %s, %s)", c.x[0], c.x[1], axis, smoothing, c.reduction())}
		if smoothing == "0" && c.reduction() == "POLY_LOSS_MEAN" {
			out = append(out,
				shaped(false, "poly_cross_entropy(ctx, %s, NULL, 0, %s, NULL, 0, %s, told, &n_told)", c.x[0], c.x[1], axis),
				shaped(false, "poly_cross_entropy(ctx, %s, %s, %s, %s, %s, told, &n_told)", c.x[0], c.given(0), c.x[1], c.given(1), axis))
		}
		return out
	},
	"sparse_categorical_crossentropy": func(c *cCase) []cCall {
		return []cCall{call("poly_sparse_cross_entropy_loss(ctx, %s, %s, %s, %s, %s)", c.x[0], c.x[1], c.integer("ignore_index", -1), c.number("label_smoothing", "0"), c.reduction())}
	},
	"nll_loss": func(c *cCase) []cCall {
		return []cCall{call("poly_nll_loss(ctx, %s, %s, %s, %s, %s, %s)", c.x[0], c.x[1], c.node("weight"), flag(c.Has("ignore_index")), c.integer("ignore_index", 0), c.reduction())}
	},
	"mse_loss": lossC("poly_mse_loss"),
	"l1_loss":  lossC("poly_l1_loss"),
	"huber_loss": func(c *cCase) []cCall {
		return []cCall{call("poly_huber_loss(ctx, %s, %s, %s, %s)", c.x[0], c.x[1], c.number("delta", "1"), c.reduction())}
	},
	"binary_crossentropy": lossC("poly_binary_cross_entropy"),
	"binary_crossentropy_logits": func(c *cCase) []cCall {
		return []cCall{call("poly_binary_cross_entropy_logits(ctx, %s, %s, %s, %s)", c.x[0], c.x[1], c.node("pos_weight"), c.reduction())}
	},
}

// fill is a tensor of a value, which the constants and poly_full may give too.
func (c *cCase) fill(value string, whole bool, dtype string, shape []int64) []cCall {
	if whole {
		out := []cCall{call("poly_full_int_by_id(ctx, %s, %s, %s)", cDType(dtype), cShape(shape), value)}
		if len(shape) == 0 && c.Error == "" {
			out = append(out, call("poly_const_int_by_id(ctx, %s, %s)", cDType(dtype), value))
		}
		return out
	}
	out := []cCall{call("poly_full_by_id(ctx, %s, %s, %s)", cDType(dtype), cShape(shape), value)}
	if dtype == "float32" {
		out = append(out, call("poly_full(ctx, %s, %s)", cShape(shape), value))
	}
	if len(shape) == 0 && c.Error == "" {
		out = append(out, call("poly_const_by_id(ctx, %s, %s)", cDType(dtype), value))
		switch dtype {
		case "float32":
			out = append(out, call("poly_const_float(ctx, %s)", value))
		case "float64":
			out = append(out, call("poly_const_double(ctx, %s)", value))
		}
	}
	return out
}

// filledC is a tensor of one value.
func filledC(value string) cOp {
	return func(c *cCase) []cCall { return c.fill(value, false, c.Text("dtype", "float32"), c.Ints("shape")) }
}

// likeC is a tensor of one value with the shape and type of another.
func likeC(value func(c *cCase) string) cOp {
	return func(c *cCase) []cCall { return c.fill(value(c), true, c.Inputs[0].Tensor.DType, c.shapeOf(0)) }
}

// randomC is a function of a type, a shape and a seed, with a variant that takes the seed as a number.
func randomC(name, plain string) cOp {
	return func(c *cCase) []cCall {
		shape, dtype := c.Ints("shape"), c.Text("dtype", "float32")
		if len(c.x) > 0 {
			shape = c.shapeOf(0)
		}
		out := []cCall{call("%s(ctx, %s, %s, seed)", name, cDType(dtype), cShape(shape))}
		if dtype == "float32" {
			out = append(out, call("%s(ctx, %s, %dull)", plain, cShape(shape), c.SeedNumber()))
		}
		return out
	}
}

// initC is a scheme of initial weights.
func initC(scheme string) cOp {
	return func(c *cCase) []cCall {
		return []cCall{call("poly_init_seeded(ctx, %s, %s, %s, %s, seed)", scheme, c.typed("float32"), cShape(c.Ints("shape")), c.number("a", "0.01"))}
	}
}

// between is a random tensor with two parameters.
func between(name, a, missingA, b, missingB, dtype string) cOp {
	return func(c *cCase) []cCall {
		return []cCall{call("%s(ctx, %s, %s, %s, %s, seed)", name, c.typed(dtype), cShape(c.Ints("shape")), c.number(a, missingA), c.number(b, missingB))}
	}
}

var cCreation = map[string]cOp{
	"zeros":      filledC("0"),
	"ones":       filledC("1"),
	"zeros_like": likeC(func(*cCase) string { return "0" }),
	"ones_like":  likeC(func(*cCase) string { return "1" }),
	"full_like":  likeC(func(c *cCase) string { return c.integer("fill_value", 0) }),
	"full": func(c *cCase) []cCall {
		dtype := c.Text("dtype", "float32")
		if strings.Contains(dtype, "int") {
			return c.fill(c.integer("fill_value", 0), true, dtype, c.Ints("shape"))
		}
		if dtype == "bool" {
			return c.fill(flag(c.Bool("fill_value", false)), true, dtype, c.Ints("shape"))
		}
		return c.fill(c.number("fill_value", ""), false, dtype, c.Ints("shape"))
	},
	"arange": func(c *cCase) []cCall {
		bounds := fmt.Sprintf("%s, %s, %s", c.number("start", "0"), c.number("stop", ""), c.number("step", "1"))
		out := []cCall{call("poly_arange_by_id(ctx, %s, %s)", c.typed(""), bounds)}
		if c.Text("dtype", "") == "float32" {
			out = append(out, call("poly_arange(ctx, %s)", bounds))
		}
		return out
	},
	"linspace": func(c *cCase) []cCall {
		bounds := fmt.Sprintf("%s, %s, %s", c.number("start", ""), c.number("stop", ""), c.integer("steps", 0))
		out := []cCall{call("poly_linspace_by_id(ctx, %s, %s)", c.typed("float32"), bounds)}
		if !c.Has("dtype") {
			out = append(out, call("poly_linspace(ctx, %s)", bounds))
		}
		return out
	},
	"eye": func(c *cCase) []cCall {
		n := c.Int("n", 0)
		out := []cCall{call("poly_eye_by_id(ctx, %s, %d, %d)", c.typed("float32"), n, c.Int("m", n))}
		if !c.Has("m") && !c.Has("dtype") {
			out = append(out, call("poly_eye(ctx, %d)", n))
		}
		return out
	},
	"rand":            randomC("poly_rand_seeded", "poly_rand"),
	"randn":           randomC("poly_randn_seeded", "poly_randn"),
	"rand_like":       randomC("poly_rand_seeded", "poly_rand"),
	"randn_like":      randomC("poly_randn_seeded", "poly_randn"),
	"randint":         between("poly_randint_seeded", "low", "0", "high", "10", "int32"),
	"uniform":         between("poly_uniform_seeded", "low", "0", "high", "1", "float32"),
	"normal":          between("poly_normal_seeded", "mean", "0", "std", "1", "float32"),
	"scaled_uniform":  initC("POLY_INIT_SCALED_UNIFORM"),
	"glorot_uniform":  initC("POLY_INIT_GLOROT_UNIFORM"),
	"kaiming_uniform": initC("POLY_INIT_KAIMING_UNIFORM"),
	"kaiming_normal":  initC("POLY_INIT_KAIMING_NORMAL"),
	"randperm": func(c *cCase) []cCall {
		return []cCall{call("poly_randperm_seeded(ctx, %s, %s, seed)", c.typed("int32"), c.integer("n", 0))}
	},
	"multinomial": func(c *cCase) []cCall {
		return []cCall{call("poly_multinomial(ctx, %s, %s, %s, seed)", c.x[0], c.integer("num_samples", 1), c.flag("replacement"))}
	},
	"dropout": func(c *cCase) []cCall {
		p := c.number("p", "0.5")
		if !c.Training && c.Error == "" {
			p = "0"
		}
		return []cCall{call("poly_dropout(ctx, %s, %s, seed)", c.x[0], p)}
	},
}

// sponges are the rates and suffixes of the hashes that the table names.
var sponges = map[string][2]int{"sha3_224": {144, 6}, "sha3_256": {136, 6}, "shake_128": {168, 31}, "shake_256": {136, 31}}
