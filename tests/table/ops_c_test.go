package table

import (
	"fmt"
	"math"
	"strings"
)

type cOp = func(c *cCase) []cCall

// seeded are the operations that need a seed.
var seeded = map[string]bool{
	"rand": true, "randn": true, "randint": true, "rand_like": true, "randn_like": true, "uniform": true, "normal": true,
	"scaled_uniform": true, "glorot_uniform": true, "kaiming_uniform": true, "kaiming_normal": true, "randperm": true,
	"multinomial": true, "dropout": true,
}

// cOps say how the operations are computed by the C interface, the most usual way first.
var cOps = map[string]cOp{}

func init() {
	for _, names := range []map[string]cOp{cMovement, cIndexing, cReductions, cSpatial, cLinear, cLosses, cCreation} {
		for name, f := range names {
			cOps[name] = f
		}
	}
	for op, code := range cBinary {
		cOps[op] = func(c *cCase) []cCall { return c.binary(op, code) }
	}
	for op, p := range map[string]struct{ name, arg, missing string }{
		"leaky_relu": {"poly_leaky_relu", "neg_slope", "0.01"}, "elu": {"poly_elu", "alpha", "1"},
		"celu": {"poly_celu", "alpha", "1"}, "softplus": {"poly_softplus", "beta", "1"},
	} {
		cOps[op] = func(c *cCase) []cCall {
			return []cCall{call("%s(ctx, %s, %s)", p.name, c.x[0], c.number(p.arg, p.missing))}
		}
	}
	for op, dtype := range map[string]string{
		"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32", "long": "int64", "bool": "bool",
	} {
		cOps[op] = func(c *cCase) []cCall { return []cCall{call("poly_cast_by_id(ctx, %s, %s)", c.x[0], cDType(dtype))} }
	}
	for op, f := range cElementwise {
		cOps[op] = f
	}
}

// number is an argument that is a number.
func (c *cCase) number(name, missing string) string {
	if !c.Has(name) {
		return missing
	}
	return cFloat(c.Float(name, 0))
}

// integer is an argument that is a whole number.
func (c *cCase) integer(name string, missing int64) string { return fmt.Sprint(c.Int(name, missing)) }

func (c *cCase) flag(name string) string { return flag(c.Bool(name, false)) }

var cUnary = map[string]string{
	"round": "poly_round_f", "tanh": "poly_tanh_act", "swish": "poly_silu", "clone": "poly_contiguous",
}

func init() {
	for _, name := range strings.Fields(`exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square neg abs sign sin cos tan asin
		acos atan sinh cosh asinh acosh atanh ceil floor trunc erf erfc erfinv ndtri lgamma digamma relu relu6 sigmoid logsigmoid gelu
		quick_gelu silu mish softsign hardswish isnan isinf isfinite logical_not bitwise_not contiguous contiguous_backward
		detach diag inv det`) {
		cUnary[name] = "poly_" + name
	}
	for op, name := range cUnary {
		cOps[op] = func(c *cCase) []cCall { return c.unary(op, name) }
	}
}

// cMachine1 are the unary operations of the machine.
var cMachine1 = map[string]string{
	"exp2": "POLY_OP_EXP2", "log2": "POLY_OP_LOG2", "sin": "POLY_OP_SIN", "sqrt": "POLY_OP_SQRT", "reciprocal": "POLY_OP_RECIPROCAL",
	"neg": "POLY_OP_NEG", "trunc": "POLY_OP_TRUNC",
}

// unary is a function of one tensor, which the machine may have too.
func (c *cCase) unary(op, name string) []cCall {
	out := []cCall{call("%s(ctx, %s)", name, c.x[0])}
	if code := cMachine1[op]; code != "" && c.Error == "" && strings.HasPrefix(c.Inputs[0].Tensor.DType, "float") {
		out = append(out, call("poly_alu1(ctx, %s, %s)", code, c.x[0]))
	}
	return out
}

var cBinary = map[string]string{
	"add": "POLY_ADD", "sub": "POLY_SUB", "mul": "POLY_MUL", "div": "POLY_DIV", "floordiv": "POLY_FLOORDIV", "mod": "POLY_MOD",
	"pow": "POLY_POW", "maximum": "POLY_MAXIMUM", "minimum": "POLY_MINIMUM", "lt": "POLY_LT", "le": "POLY_LE", "gt": "POLY_GT",
	"ge": "POLY_GE", "eq": "POLY_EQ", "ne": "POLY_NE", "bitwise_and": "POLY_AND", "bitwise_or": "POLY_OR", "bitwise_xor": "POLY_XOR",
	"lshift": "POLY_SHL", "rshift": "POLY_SHR", "idiv": "POLY_TRUNCDIV", "logaddexp": "POLY_LOGADDEXP", "copysign": "POLY_COPYSIGN",
	"fmod": "POLY_TRUNCMOD", "atan2": "POLY_ATAN2", "hypot": "POLY_HYPOT",
}

// cMachine2 are the binary operations of the machine, for operands of one type.
var cMachine2 = map[string]string{
	"add": "POLY_OP_ADD", "sub": "POLY_OP_SUB", "mul": "POLY_OP_MUL", "pow": "POLY_OP_POW", "lt": "POLY_OP_CMPLT", "ne": "POLY_OP_CMPNE",
	"eq": "POLY_OP_CMPEQ", "bitwise_and": "POLY_OP_AND", "bitwise_or": "POLY_OP_OR", "bitwise_xor": "POLY_OP_XOR",
	"lshift": "POLY_OP_SHL", "rshift": "POLY_OP_SHR", "idiv": "POLY_OP_IDIV",
}

// cNamed are the binary operations that have a function of their own. Those of the original interface
// whose results are numbers become bools again.
var cNamed = map[string]string{
	"maximum": "poly_maximum(ctx, %s, %s)",
	"minimum": "poly_minimum(ctx, %s, %s)",
	"ne":      "poly_ne(ctx, %s, %s)",
	"gt":      "poly_gt(ctx, %s, %s)",
	"eq":      "poly_eq(ctx, %s, %s)",
	"ge":      "poly_ge(ctx, %s, %s)",
	"le":      "poly_le(ctx, %s, %s)",
}

func (c *cCase) binary(op, code string) []cCall {
	reverse := c.Bool("reverse", false)
	switch c.Text("rounding_mode", "") {
	case "trunc":
		code = "POLY_TRUNCDIV"
	case "floor":
		code = "POLY_FLOORDIV"
	}
	a, b := c.x[0], c.x[1]
	if b == "" {
		n := c.Inputs[c.Operands()[1]].Number
		switch {
		case n.IsFloat():
			return []cCall{call("poly_binary_float(ctx, %s, %s, %s, %s)", code, a, cFloat(n.F()), flag(reverse))}
		case n.IsInt():
			return []cCall{call("poly_binary_int(ctx, %s, %s, %s, %s)", code, a, n, flag(reverse))}
		}
		return []cCall{call("poly_binary_bool(ctx, %s, %s, %s, %s)", code, a, flag(n.Truth()), flag(reverse))}
	}
	out := []cCall{call("poly_binary(ctx, %s, %s, %s)", code, a, b)}
	if c.Error != "" {
		return out
	}
	if named := cNamed[op]; named != "" {
		way := call(named, a, b)
		if op == "eq" || op == "ge" || op == "le" {
			way = call("poly_cast_by_id(ctx, %s, POLY_DTYPE_BOOL)", way.expr)
		}
		out = append(out, way)
	}
	dtype := c.Inputs[0].Tensor.DType
	machine, alike := cMachine2[op], dtype == c.Inputs[1].Tensor.DType && dtype != "bool"
	switch {
	case op == "fmod" && strings.Contains(dtype, "int"):
		machine = "POLY_OP_MOD"
	case op == "div" && strings.Contains(dtype, "float") && c.Args == nil:
		machine = "POLY_OP_FDIV"
	case op == "maximum" && !strings.Contains(c.Name, "NaN"):
		machine = "POLY_OP_MAX"
	case op == "pow" && (strings.Contains(c.Name, "infinities") || strings.Contains(c.Name, "large")):
		machine = "" // it is tinygrad's, for finite numbers
	}
	if machine != "" && alike {
		out = append(out, call("poly_alu2(ctx, %s, %s, %s)", machine, a, b))
	}
	return out
}

// bound is a bound of clamp as a number.
func (c *cCase) bound(name string, missing float64) string { return cFloat(c.Float(name, missing)) }

var cElementwise = map[string]cOp{
	"clamp": clampC, "clip": clampC,
	"hardtanh": func(c *cCase) []cCall {
		return []cCall{call("poly_hardtanh(ctx, %s, %s, %s)", c.x[0], c.number("min_val", "-1"), c.number("max_val", "1"))}
	},
	"selu": func(c *cCase) []cCall {
		return []cCall{call("poly_selu(ctx, %s, %s, %s)", c.x[0], c.number("alpha", "1.67326"), c.number("gamma", "1.0507"))}
	},
	"cast":    func(c *cCase) []cCall { return []cCall{call("poly_cast_by_id(ctx, %s, %s)", c.x[0], c.typed(""))} },
	"bitcast": func(c *cCase) []cCall { return []cCall{call("poly_bitcast_by_id(ctx, %s, %s)", c.x[0], c.typed(""))} },
	"where": func(c *cCase) []cCall {
		near := c.x[1]
		if near == "" {
			near = c.x[2]
		}
		a, b := c.operand(1, near), c.operand(2, near)
		out := []cCall{call("poly_where_op(ctx, %s, %s, %s)", c.x[0], a, b)}
		if c.Inputs[0].Tensor.DType == "bool" && c.x[1] != "" && c.x[2] != "" && c.Inputs[1].Tensor.DType == c.Inputs[2].Tensor.DType {
			out = append(out, call("poly_alu3(ctx, POLY_OP_WHERE, %s, %s, %s)", c.x[0], a, b))
		}
		return out
	},
	"masked_fill": func(c *cCase) []cCall {
		return []cCall{call("poly_where_op(ctx, %s, %s, %s)", c.x[1], c.operand(2, c.x[0]), c.x[0])}
	},
	"lerp": func(c *cCase) []cCall {
		return []cCall{call("poly_lerp(ctx, %s, %s, %s)", c.x[0], c.x[1], c.operand(2, c.x[0]))}
	},
	"isclose":  closeC("poly_isclose"),
	"allclose": closeC("poly_allclose"),
}

func closeC(name string) cOp {
	return func(c *cCase) []cCall {
		return []cCall{call("%s(ctx, %s, %s, %s, %s, %s)", name, c.x[0], c.x[1], c.number("rtol", "1e-5"), c.number("atol", "1e-8"), c.flag("equal_nan"))}
	}
}

func clampC(c *cCase) []cCall {
	if c.Input("min_") >= 0 || c.Input("max_") >= 0 {
		return []cCall{call("poly_clip(ctx, %s, %s, %s)", c.x[0], c.node("min_"), c.node("max_"))}
	}
	return []cCall{call("poly_clamp(ctx, %s, %s, %s)", c.x[0], c.bound("min_", math.Inf(-1)), c.bound("max_", math.Inf(1)))}
}
