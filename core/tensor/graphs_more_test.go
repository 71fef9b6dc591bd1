package tensor_test

import (
	"fmt"
	"strings"
	"testing"

	"polygrad/core/gradient"
	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/tests/parity/dump"
)

type unaryFn = func(*uop.UOp) (*uop.UOp, error)

// unaries are the operations of one tensor, by their names in testdata/graphs.py.
var unaries = map[string]unaryFn{
	"exp": tensor.Exp, "exp2": tensor.Exp2, "log": tensor.Log, "log2": tensor.Log2, "log10": tensor.Log10, "sqrt": tensor.Sqrt,
	"rsqrt": tensor.Rsqrt, "sin": tensor.Sin, "cos": tensor.Cos, "tan": tensor.Tan, "reciprocal": tensor.Reciprocal,
	"sigmoid": tensor.Sigmoid, "tanh": tensor.Tanh, "erf": tensor.Erf, "abs": tensor.Abs, "sign": tensor.Sign, "square": tensor.Square,
	"neg": tensor.Neg, "relu": tensor.Relu, "relu6": tensor.Relu6, "gelu": tensor.Gelu, "quick_gelu": tensor.QuickGelu,
	"silu": tensor.Silu, "mish": tensor.Mish, "softsign": tensor.Softsign, "logsigmoid": tensor.LogSigmoid,
	"hardswish": tensor.HardSwish, "hardsigmoid": tensor.HardSigmoid, "trunc": tensor.Trunc, "floor": tensor.Floor, "ceil": tensor.Ceil,
	"round": tensor.Round, "isnan": tensor.IsNaN, "isinf": tensor.IsInf, "isfinite": tensor.IsFinite, "logical_not": tensor.LogicalNot,
}

var binaries = map[string]fn2{
	"add": tensor.Add, "sub": tensor.Sub, "mul": tensor.Mul, "div": tensor.Div, "lt": tensor.Lt, "gt": tensor.Gt, "ge": tensor.Ge,
	"le": tensor.Le, "eq": tensor.Eq, "ne": tensor.Ne, "max": tensor.Maximum, "min": tensor.Minimum, "floordiv": tensor.FloorDiv,
	"mod": tensor.Mod,
}

var reductions = map[string]func(*uop.UOp, []int, bool) (*uop.UOp, error){
	"sum": tensor.Sum, "max": tensor.Max, "min": tensor.Min, "mean": tensor.Mean, "prod": tensor.Prod,
}

// group builds the cases that only differ in the operation.
func group(name string) func(in inputs) []T {
	first, rest, _ := strings.Cut(name, "_")
	switch first {
	case "un", "half":
		if f := unaries[rest]; f != nil {
			return func(in inputs) []T { return one(in[0].do(f)) }
		}
	case "grad":
		return sumGrad(func(in inputs) T { return in[0].do(unaries[rest]) }, 0)
	case "bin":
		for _, p := range []string{"int_", "mixed_", "half_"} {
			rest = strings.TrimPrefix(rest, p)
		}
		if f := binaries[rest]; f != nil {
			return func(in inputs) []T { return one(in[0].op(f, in[1])) }
		}
	case "bit":
		f := map[string]fn2{"and": tensor.BitAnd, "or": tensor.BitOr, "xor": tensor.BitXor}[strings.TrimPrefix(rest, "bool_")]
		return func(in inputs) []T { return one(in[0].op(f, in[1])) }
	case "red":
		return reduceGroup(rest)
	case "es":
		return func(in inputs) []T { return one(must(tensor.Einsum(formulas[rest], nodes(in...)...))) }
	}
	for prefix, f := range map[string]func(in inputs, dt *uop.DType) T{
		"cast_to_":   func(in inputs, dt *uop.DType) T { return in[0].cast(dt) },
		"cast_from_": func(in inputs, _ *uop.DType) T { return in[0].cast(uop.Float32).add(1) },
		"sum_of_":    func(in inputs, _ *uop.DType) T { return in[0].sum(0) },
		"add_1_to_":  func(in inputs, _ *uop.DType) T { return in[0].add(1) },
	} {
		if text, ok := strings.CutPrefix(name, prefix); ok {
			dt, err := uop.ParseDType(text)
			if err != nil {
				panic(err)
			}
			return func(in inputs) []T { return one(f(in, dt)) }
		}
	}
	return nil
}

func reduceGroup(rest string) func(in inputs) []T {
	op, how, _ := strings.Cut(rest, "_")
	if reductions[how] != nil {
		op, how = how, op
	}
	f := reductions[op]
	if f == nil {
		return nil
	}
	switch how {
	case "0", "1", "2", "3":
		axes := [][]int{nil, {0}, {0, 2}, {-1}}[how[0]-'0']
		return func(in inputs) []T { return one(must(f(in[0].UOp, axes, false))) }
	case "keep":
		return func(in inputs) []T { return one(in[0].keep(f, 1)) }
	case "grad":
		return sumGrad(func(in inputs) T { return in[0].drop(f, 1).mul(in[1]) }, 0)
	}
	return func(in inputs) []T { return one(in[0].drop(f, 1)) }
}

var formulas = map[string]string{
	"dot": "i,i->", "matmul": "ij,jk->ik", "implicit": "ij,jk", "transpose": "ij->ji", "three": "ij,jk,kl->il", "outer": "i,j->ij",
	"trace": "ii->i", "dots": "...ij,...jk->...ik", "dots_implicit": "...ij,jk", "sum": "ij->",
	"batch": "bhqd,bhkd->bhqk",
}

func both(a, b T) []T { return []T{a, b} }

func take(x T) tensor.Index { return tensor.Take(x.UOp) }

func slice(lo, hi any, step int64) tensor.Index {
	opt := func(v any) *int64 {
		if v == nil {
			return nil
		}
		n := int64(v.(int))
		return &n
	}
	return tensor.Slice(opt(lo), opt(hi), step)
}

func pads(ps ...[2]int64) []uop.Pair {
	var out []uop.Pair
	for _, p := range ps {
		out = append(out, uop.Pair{Lo: uop.N(p[0]), Hi: uop.N(p[1])})
	}
	return out
}

func upTo(x T, lo, hi, val int64) tensor.Index {
	return tensor.Range(uop.N(0), variable(x, "i", lo, hi, val))
}

func scatterMode(name string) tensor.ScatterMode {
	return map[string]tensor.ScatterMode{"sum": tensor.ScatterSum, "prod": tensor.ScatterProd, "mean": tensor.ScatterMean,
		"amax": tensor.ScatterMax, "amin": tensor.ScatterMin}[name]
}

func full(g *uop.Graph, v uop.Const, dt *uop.DType, shape ...int64) []T {
	return one(must(tensor.Full(g, uop.ShapeOf(shape...), v, dt)))
}

// made are the cases without inputs.
var made = map[string]func(g *uop.Graph) []T{
	"mk_full":   func(g *uop.Graph) []T { return full(g, uop.Int(4), uop.Int32, 2, 3) },
	"mk_zeros":  func(g *uop.Graph) []T { return one(must(tensor.Full(g, uop.ShapeOf(2, 3), uop.Float(0), uop.Float32))) },
	"mk_scalar": func(g *uop.Graph) []T { return full(g, uop.Float(4), uop.Float32) },
	"mk_arange_step": func(g *uop.Graph) []T {
		return one(must(tensor.Arange(g, uop.Int(3), uop.Int(20), uop.Int(4), nil)))
	},
	"mk_arange_float": func(g *uop.Graph) []T {
		return one(must(tensor.Arange(g, uop.Float(0.5), uop.Int(3), uop.Float(0.25), nil)))
	},
	"mk_arange_down": func(g *uop.Graph) []T {
		return one(must(tensor.Arange(g, uop.Int(5), uop.Int(0), uop.Int(-1), nil)))
	},
	"mk_eye": func(g *uop.Graph) []T { return one(must(tensor.Eye(g, 3, 4, uop.Float32))) },
	"mk_linspace": func(g *uop.Graph) []T {
		return one(must(tensor.Linspace(g, uop.Int(1), uop.Float(2.5), 4, uop.Float32)))
	},
	"mk_empty": func(g *uop.Graph) []T { return one(must(tensor.Empty(g, uop.ShapeOf(2, 3), uop.Float32)).add(1)) },
}

func ceilWindow() tensor.Window {
	return tensor.Window{Stride: []int64{2}, Padding: [][2]int64{{1, 1}}, CeilMode: true}
}

func crossEntropy(in inputs, r tensor.Reduction, smoothing float64) T {
	axis := 1
	if len(in[0].Shape()) == 1 {
		axis = 0
	}
	return must(tensor.CrossEntropy(in[0].UOp, in[1].UOp, axis, r, smoothing))
}

func nll(in inputs, weight *uop.UOp, ignore *int, r tensor.Reduction) []T {
	return one(must(tensor.NLLLoss(in[0].UOp, in[1].UOp, weight, ignore, r)))
}

func sparse(in inputs, ignore int, r tensor.Reduction, smoothing float64) []T {
	return one(must(tensor.SparseCategoricalCrossEntropy(in[0].UOp, in[1].UOp, ignore, r, smoothing)))
}

func setItem(in inputs, v T, e ...tensor.Index) []T {
	return one(must(tensor.SetItem(in[0].add(0).UOp, v.UOp, e...)))
}

func softmaxSum(in inputs) T { return softmax(in[0]).mul(in[1]) }

// more are the other cases of testdata/graphs.py.
var more = map[string]func(in inputs) []T{
	"un_elu":      func(in inputs) []T { return one(must(tensor.Elu(in[0].UOp, 0.5))) },
	"un_celu":     func(in inputs) []T { return one(must(tensor.Celu(in[0].UOp, 0.5))) },
	"un_selu":     func(in inputs) []T { return one(must(tensor.Selu(in[0].UOp, 1.67326, 1.0507))) },
	"un_leaky":    func(in inputs) []T { return one(must(tensor.LeakyRelu(in[0].UOp, 0.1))) },
	"un_softplus": func(in inputs) []T { return one(must(tensor.Softplus(in[0].UOp, 2))) },
	"un_hardtanh": func(in inputs) []T { return one(must(tensor.ClampTo(in[0].UOp, -2, 3))) },
	"un_clamp_lo": func(in inputs) []T { return one(must(tensor.Clamp(in[0].UOp, num(in[0], -1.0).UOp, nil))) },
	"un_clamp_hi": func(in inputs) []T { return one(must(tensor.Clamp(in[0].UOp, nil, num(in[0], 1.0).UOp))) },
	"int_exp":     func(in inputs) []T { return one(in[0].do(tensor.Exp)) },
	"int_cos":     func(in inputs) []T { return one(in[0].do(tensor.Cos)) },
	"int_sqrt":    func(in inputs) []T { return one(in[0].do(tensor.Sqrt)) },
	"int_neg":     func(in inputs) []T { return one(in[0].do(tensor.Neg)) },
	"int_abs":     func(in inputs) []T { return one(in[0].do(tensor.Abs)) },
	"bool_neg":    func(in inputs) []T { return one(in[0].do(tensor.Neg)) },
	"bool_not":    func(in inputs) []T { return one(in[0].do(tensor.BitNot)) },
	"int_not":     func(in inputs) []T { return one(in[0].do(tensor.BitNot)) },

	"bin_pow":       func(in inputs) []T { return one(in[0].pow(in[1])) },
	"bin_copysign":  func(in inputs) []T { return one(in[0].op(tensor.CopySign, in[1])) },
	"bin_logaddexp": func(in inputs) []T { return one(in[0].op(tensor.LogAddExp, in[1])) },
	"bin_lerp":      func(in inputs) []T { return one(must(tensor.Lerp(in[0].UOp, in[1].UOp, in[2].UOp))) },
	"bin_lerp_u8":   func(in inputs) []T { return one(must(tensor.Lerp(in[0].UOp, in[1].UOp, in[2].UOp))) },
	"bin_isclose": func(in inputs) []T {
		return one(must(tensor.IsClose(in[0].UOp, in[1].UOp, 1e-5, 1e-8, false)))
	},
	"trunc_div_float":    func(in inputs) []T { return one(in[0].op(tensor.TruncDiv, in[1])) },
	"floor_div_const":    func(in inputs) []T { return one(in[0].op(tensor.FloorDiv, 3.0)) },
	"int_div_const":      func(in inputs) []T { return one(in[0].op(tensor.FloorDiv, 5)) },
	"int_plus_float":     func(in inputs) []T { return one(in[0].add(1.5)) },
	"int_true_div":       func(in inputs) []T { return one(in[0].div(4)) },
	"bool_plus_int":      func(in inputs) []T { return one(in[0].add(2)) },
	"bool_times_float":   func(in inputs) []T { return one(in[0].mul(2.5)) },
	"rsub":               func(in inputs) []T { return one(in[0].rsub(1)) },
	"rdiv":               func(in inputs) []T { return one(in[0].rdiv(3.0)) },
	"rpow":               func(in inputs) []T { return one(in[0].rpow(2.5)) },
	"pow_int":            func(in inputs) []T { return one(must(tensor.PowConst(in[0].UOp, uop.Int(3)))) },
	"pow_half":           func(in inputs) []T { return one(in[0].pow(0.5)) },
	"shl":                func(in inputs) []T { return one(must(tensor.ShiftLeftConst(in[0].UOp, 4))) },
	"shr":                func(in inputs) []T { return one(must(tensor.ShiftRightConst(in[0].UOp, 4))) },
	"where_tensors":      func(in inputs) []T { return one(in[0].where(in[1], in[2])) },
	"where_scalar":       func(in inputs) []T { return one(in[0].where(in[1], 1.5)) },
	"where_scalar_first": func(in inputs) []T { return one(in[0].where(2, in[1])) },
	"where_scalars":      func(in inputs) []T { return one(in[0].where(1, 0)) },
	"masked_fill":        func(in inputs) []T { return one(must(tensor.MaskedFill(in[0].UOp, in[1].UOp, uop.Float(-1)))) },

	"red_any":            func(in inputs) []T { return one(in[0].drop(tensor.Any, 1)) },
	"red_all":            func(in inputs) []T { return one(in[0].drop(tensor.All, 1)) },
	"red_var":            func(in inputs) []T { return one(must(tensor.Var(in[0].UOp, []int{0, 2}, false, 0))) },
	"red_std":            func(in inputs) []T { return one(must(tensor.Std(in[0].UOp, nil, true, 1))) },
	"red_one":            func(in inputs) []T { return one(in[0].sum(1).add(in[0].max(1)).add(in[0].drop(tensor.Mean, 1))) },
	"red_argmax":         func(in inputs) []T { return one(must(tensor.ArgMax(in[0].UOp, 1, true))) },
	"red_argmax_all":     func(in inputs) []T { return one(must(tensor.Reduce(8, in[0].UOp, nil, false, 0))) },
	"red_argmin":         func(in inputs) []T { return one(must(tensor.ArgMin(in[0].UOp, -1, false))) },
	"red_logsumexp":      func(in inputs) []T { return one(in[0].drop(tensor.LogSumExp, 1)) },
	"red_logsumexp_keep": func(in inputs) []T { return one(in[0].keep(tensor.LogSumExp, 1)) },
	"red_logsumexp_all":  func(in inputs) []T { return one(in[0].drop(tensor.LogSumExp)) },
	"softmax":            func(in inputs) []T { return one(must(tensor.Softmax(in[0].UOp, 1))) },
	"softmax_all":        func(in inputs) []T { return one(must(tensor.Softmax(in[0].UOp))) },
	"softmax_grad":       sumGrad(softmaxSum, 0),
	"log_softmax":        func(in inputs) []T { return one(must(tensor.LogSoftmax(in[0].UOp, -1))) },
	"log_softmax_half":   func(in inputs) []T { return one(must(tensor.LogSoftmax(in[0].UOp, -1))) },
	"layernorm":          func(in inputs) []T { return one(must(tensor.LayerNorm(in[0].UOp, []int{1, 2}, 1e-5))) },
	"layernorm_half":     func(in inputs) []T { return one(layerNorm(in[0])) },
	"rmsnorm_half":       func(in inputs) []T { return one(must(tensor.RMSNorm(in[0].UOp, 1e-6))) },
	"cumsum":             func(in inputs) []T { return one(must(tensor.CumSum(in[0].UOp, 1))) },
	"cumsum_int":         func(in inputs) []T { return one(must(tensor.CumSum(in[0].UOp, 0))) },
	"cumsum_long":        func(in inputs) []T { return one(must(tensor.CumSum(in[0].UOp, 1))) },
	"cumprod_long":       func(in inputs) []T { return one(must(tensor.CumProd(in[0].UOp, 0))) },
	"cummax":             func(in inputs) []T { return both(must2(tensor.CumMax(in[0].UOp, 1))) },
	"cummin":             func(in inputs) []T { return both(must2(tensor.CumMin(in[0].UOp, 0))) },
	"logcumsumexp":       func(in inputs) []T { return one(must(tensor.LogCumSumExp(in[0].UOp, 1))) },

	"mv_reshape_infer":     func(in inputs) []T { return one(in[0].reshape(-1, 6)) },
	"mv_expand":            func(in inputs) []T { return one(in[0].expand(5, -1, 4)) },
	"mv_transpose":         func(in inputs) []T { return one(must(tensor.Transpose(in[0].UOp, 0, 2))) },
	"mv_squeeze":           func(in inputs) []T { return one(in[0].do(tensor.SqueezeAll)) },
	"mv_squeeze1":          func(in inputs) []T { return one(must(tensor.Squeeze(in[0].UOp, -2))) },
	"mv_unsqueeze":         func(in inputs) []T { return one(must(tensor.Unsqueeze(in[0].UOp, -1))) },
	"mv_flatten":           func(in inputs) []T { return one(must(tensor.Flatten(in[0].UOp, 1, -1))) },
	"mv_unflatten":         func(in inputs) []T { return one(must(tensor.Unflatten(in[0].UOp, -1, uop.ShapeOf(2, -1)))) },
	"mv_repeat":            func(in inputs) []T { return one(must(tensor.Repeat(in[0].UOp, 2, 1, 3))) },
	"mv_repeat_interleave": func(in inputs) []T { return one(must(tensor.RepeatInterleave(in[0].UOp, 2, 1))) },
	"mv_roll":              func(in inputs) []T { return one(must(tensor.Roll(in[0].UOp, []int64{1, -2}, []int{0, 1}))) },
	"mv_roll_flat":         func(in inputs) []T { return one(must(tensor.Roll(in[0].UOp, []int64{3}, nil))) },
	"mv_pad_value": func(in inputs) []T {
		return one(must(tensor.Pad(in[0].UOp, pads([2]int64{1, 2}, [2]int64{0, 1}), uop.Float(2.5))))
	},
	"mv_pad_negative": func(in inputs) []T { return one(in[0].pad([2]int64{-1, 2}, [2]int64{1, -2})) },
	"mv_pad_replicate": func(in inputs) []T {
		return one(must(tensor.PadWith(in[0].UOp, pads([2]int64{3, 0}, [2]int64{1, 2}), tensor.PadReplicate)))
	},
	"mv_pad_circular": func(in inputs) []T {
		return one(must(tensor.PadWith(in[0].UOp, pads([2]int64{3, 0}, [2]int64{1, 2}), tensor.PadCircular)))
	},
	"mv_pad_reflect": func(in inputs) []T {
		return one(must(tensor.PadWith(in[0].UOp, pads([2]int64{0, 2}, [2]int64{1, 2}), tensor.PadReflect)))
	},
	"mv_unfold":         func(in inputs) []T { return one(must(tensor.Unfold(in[0].UOp, 0, 2, 1))) },
	"mv_cat_types":      func(in inputs) []T { return one(cat(-1, in...)) },
	"mv_stack":          func(in inputs) []T { return one(must(tensor.Stack(nodes(in...), 1))) },
	"mv_split":          func(in inputs) []T { return many(tensor.Split(in[0].UOp, []int64{1, 3}, 1)) },
	"mv_split_every":    func(in inputs) []T { return many(tensor.SplitEvery(in[0].UOp, 2, 0)) },
	"mv_chunk":          func(in inputs) []T { return many(tensor.Chunk(in[0].UOp, 3, 0)) },
	"mv_meshgrid":       func(in inputs) []T { return many(tensor.Meshgrid(nodes(in...), false)) },
	"mv_meshgrid_xy":    func(in inputs) []T { return many(tensor.Meshgrid(nodes(in...), true)) },
	"mv_diag":           func(in inputs) []T { return one(in[0].do(tensor.Diag)) },
	"mv_diagonal":       func(in inputs) []T { return one(must(tensor.Diagonal(in[0].UOp, 1, 0, 1))) },
	"mv_diagonal_below": func(in inputs) []T { return one(must(tensor.Diagonal(in[0].UOp, -1, 0, 2))) },
	"mv_tril":           func(in inputs) []T { return one(must(tensor.Tril(in[0].UOp, -1))) },
	"mv_triu_int":       func(in inputs) []T { return one(must(tensor.Triu(in[0].UOp, 0))) },
	"mv_interleave": func(in inputs) []T {
		return one(must(tensor.Rearrange(in[0].UOp, "b (h d) c -> h b (c d)", map[string]int64{"h": 2})))
	},
	"mv_rearrange_dots": func(in inputs) []T { return one(must(tensor.Rearrange(in[0].UOp, "a ... b -> b ... 1 a", nil))) },
	"mv_grad": sumGrad(func(in inputs) T {
		x := in[0].permute(1, 0).at(slice(1, nil, 1), slice(nil, nil, -1)).pad([2]int64{0, 1}, [2]int64{1, 0})
		return x.expand(2, 4, 4).reshape(8, 4).mul(in[1])
	}, 0),

	"ix_int":         func(in inputs) []T { return one(in[0].at(tensor.At(1))) },
	"ix_negative":    func(in inputs) []T { return one(in[0].at(tensor.At(-1), tensor.Ellipsis(), tensor.At(-2))) },
	"ix_slice":       func(in inputs) []T { return one(in[0].at(tensor.Whole(), slice(1, nil, 1), slice(nil, nil, 2))) },
	"ix_slice_back":  func(in inputs) []T { return one(in[0].at(slice(nil, nil, -1), slice(2, 0, -1))) },
	"ix_slice_empty": func(in inputs) []T { return one(in[0].at(tensor.Whole(), slice(2, 1, 1))) },
	"ix_none": func(in inputs) []T {
		return one(in[0].at(tensor.Whole(), tensor.NewAxis(), slice(1, 3, 1), tensor.NewAxis()))
	},
	"ix_tensor":          func(in inputs) []T { return one(in[0].at(take(in[1]))) },
	"ix_tensor_axis1":    func(in inputs) []T { return one(in[0].at(tensor.Whole(), take(in[1]))) },
	"ix_tensor_u8":       func(in inputs) []T { return one(in[0].at(take(in[1]))) },
	"ix_two":             func(in inputs) []T { return one(in[0].at(take(in[1]), take(in[2]))) },
	"ix_two_broadcast":   func(in inputs) []T { return one(in[0].at(tensor.Whole(), take(in[1]), take(in[2]))) },
	"ix_two_apart":       func(in inputs) []T { return one(in[0].at(take(in[1]), tensor.Whole(), take(in[2]))) },
	"ix_two_apart_inner": func(in inputs) []T { return one(in[0].at(tensor.Whole(), take(in[1]), tensor.Whole(), take(in[2]))) },
	"ix_mixed": func(in inputs) []T {
		return one(in[0].at(slice(1, nil, 1), tensor.NewAxis(), take(in[1]), tensor.At(2)))
	},
	"ix_grad":           sumGrad(func(in inputs) T { return in[0].at(take(in[1])).mul(in[2]) }, 0),
	"ix_gather":         func(in inputs) []T { return one(must(tensor.Gather(in[0].UOp, 1, in[1].UOp))) },
	"ix_gather_grad":    sumGrad(func(in inputs) T { return must(tensor.Gather(in[0].UOp, 0, in[1].UOp)) }, 0),
	"ix_scatter":        func(in inputs) []T { return one(must(tensor.Scatter(in[0].UOp, 1, in[1].UOp, in[2].UOp))) },
	"ix_one_hot":        func(in inputs) []T { return one(must(tensor.OneHot(in[0].UOp, 5))) },
	"ix_embedding":      func(in inputs) []T { return one(must(tensor.Embedding(in[0].UOp, in[1].UOp))) },
	"ix_embedding_half": func(in inputs) []T { return one(must(tensor.Embedding(in[0].UOp, in[1].UOp))) },
	"ix_set_slice":      func(in inputs) []T { return setItem(in, in[1], tensor.Whole(), slice(1, 3, 1)) },
	"ix_set_step":       func(in inputs) []T { return setItem(in, in[1], slice(nil, nil, -2), tensor.At(1)) },
	"ix_set_tensor":     func(in inputs) []T { return setItem(in, in[2], tensor.Whole(), take(in[1])) },
	"ix_set_tensor_apart": func(in inputs) []T {
		return setItem(in, in[2], take(in[1]), tensor.Whole(), take(in[1]))
	},

	"so_sort":       func(in inputs) []T { return both(must2(tensor.Sort(in[0].UOp, -1, false))) },
	"so_sort_down":  func(in inputs) []T { return both(must2(tensor.Sort(in[0].UOp, 0, true))) },
	"so_sort_int":   func(in inputs) []T { return both(must2(tensor.Sort(in[0].UOp, -1, false))) },
	"so_topk":       func(in inputs) []T { return both(must2(tensor.TopK(in[0].UOp, 2, -1, true))) },
	"so_topk_least": func(in inputs) []T { return both(must2(tensor.TopK(in[0].UOp, 2, 0, false))) },

	"mm_vec":     func(in inputs) []T { return one(in[0].dot(in[1])) },
	"mm_mat_vec": func(in inputs) []T { return one(in[0].dot(in[1])) },
	"mm_vec_mat": func(in inputs) []T { return one(in[0].dot(in[1])) },
	"mm_batched": func(in inputs) []T { return one(in[0].dot(in[1])) },
	"mm_half":    func(in inputs) []T { return one(in[0].dot(in[1])) },
	"mm_mixed":   func(in inputs) []T { return one(in[0].dot(in[1])) },
	"mm_uchar":   func(in inputs) []T { return one(in[0].dot(in[1])) },
	"mm_dtype":   func(in inputs) []T { return one(must(tensor.MatMulAs(in[0].UOp, in[1].UOp, uop.Float32))) },
	"mm_linear":  func(in inputs) []T { return one(must(tensor.Linear(in[0].UOp, in[1].UOp, in[2].UOp))) },
	"mm_grad":    sumGrad(func(in inputs) T { return in[0].dot(in[1]).do(tensor.Square) }, 0, 1),

	"cv_plain": func(in inputs) []T { return one(conv(in[0], in[1], 1, tensor.Window{})) },
	"cv_bias": func(in inputs) []T {
		return one(must(tensor.Conv(in[0].UOp, in[1].UOp, in[2].UOp, 1, window(0, 1))))
	},
	"cv_groups": func(in inputs) []T { return one(conv(in[0], in[1], 2, window(2, 0))) },
	"cv_dilation": func(in inputs) []T {
		return one(conv(in[0], in[1], 1, tensor.Window{Dilation: []int64{2}, Padding: [][2]int64{{1, 1}, {2, 2}}}))
	},
	"cv_uneven": func(in inputs) []T {
		return one(conv(in[0], in[1], 1, tensor.Window{Stride: []int64{1, 2}, Padding: [][2]int64{{2, 1}, {1, 0}}}))
	},
	"cv_3d":   func(in inputs) []T { return one(conv(in[0], in[1], 1, tensor.Window{})) },
	"cv_half": func(in inputs) []T { return one(conv(in[0], in[1], 1, tensor.Window{})) },
	"cv_grad": sumGrad(func(in inputs) T { return conv(in[0], in[1], 1, window(0, 1)).do(tensor.Square) }, 0, 1),
	"cv_transpose": func(in inputs) []T {
		return one(must(tensor.ConvTranspose(in[0].UOp, in[1].UOp, nil, 1, tensor.Window{}, nil)))
	},
	"cv_transpose_full": func(in inputs) []T {
		return one(must(tensor.ConvTranspose(in[0].UOp, in[1].UOp, in[2].UOp, 2, window(2, 1), []int64{1})))
	},
	"pl_avg_stride": func(in inputs) []T {
		return one(must(tensor.AvgPool(in[0].UOp, []int64{3, 2}, tensor.Window{Stride: []int64{2, 1}}, true)))
	},
	"pl_avg_pad":        func(in inputs) []T { return one(must(tensor.AvgPool(in[0].UOp, []int64{3, 3}, window(0, 1), true))) },
	"pl_avg_ceil":       func(in inputs) []T { return one(must(tensor.AvgPool(in[0].UOp, []int64{3, 3}, ceilWindow(), true))) },
	"pl_avg_ceil_noinc": func(in inputs) []T { return one(must(tensor.AvgPool(in[0].UOp, []int64{3, 3}, ceilWindow(), false))) },
	"pl_avg_1d":         func(in inputs) []T { return one(must(tensor.AvgPool(in[0].UOp, []int64{3}, tensor.Window{}, true))) },
	"pl_max":            func(in inputs) []T { return one(must(tensor.MaxPool(in[0].UOp, []int64{2, 2}, tensor.Window{}))) },
	"pl_max_ceil":       func(in inputs) []T { return one(must(tensor.MaxPool(in[0].UOp, []int64{3, 3}, ceilWindow()))) },
	"pl_max_dilation": func(in inputs) []T {
		return one(must(tensor.MaxPool(in[0].UOp, []int64{2, 2}, tensor.Window{Stride: []int64{1}, Dilation: []int64{2}})))
	},
	"pl_max_indices": func(in inputs) []T {
		return both(must2(tensor.MaxPoolIndices(in[0].UOp, []int64{2, 2}, tensor.Window{})))
	},
	"pl_max_int": func(in inputs) []T { return one(must(tensor.MaxPool(in[0].UOp, []int64{2, 2}, window(0, 1)))) },
	"pl_max_grad": sumGrad(func(in inputs) T {
		return must(tensor.MaxPool(in[0].UOp, []int64{2, 2}, tensor.Window{}))
	}, 0),
	"pl_linear": func(in inputs) []T {
		return one(must(tensor.Interpolate(in[0].UOp, []int64{3, 8}, tensor.Bilinear, false)))
	},
	"pl_linear_corners": func(in inputs) []T {
		return one(must(tensor.Interpolate(in[0].UOp, []int64{3, 8}, tensor.Bilinear, true)))
	},
	"pl_nearest": func(in inputs) []T {
		return one(must(tensor.Interpolate(in[0].UOp, []int64{7}, tensor.Nearest, false)))
	},
	"pl_nearest_exact": func(in inputs) []T {
		return one(must(tensor.Interpolate(in[0].UOp, []int64{7}, tensor.NearestExact, false)))
	},

	"nn_groupnorm": func(in inputs) []T {
		return one(must(tensor.GroupNorm(in[0].UOp, 2, in[1].UOp, in[2].UOp, 1e-5)))
	},
	"nn_batchnorm": func(in inputs) []T {
		return one(must(tensor.BatchNorm(in[0].UOp, in[1].UOp, in[2].UOp, in[3].UOp, in[4].UOp, nil)))
	},
	"nn_batchnorm_plain": func(in inputs) []T {
		return one(must(tensor.BatchNorm(in[0].UOp, nil, nil, in[1].UOp, in[2].UOp, nil)))
	},
	"ls_ce_index":    func(in inputs) []T { return one(crossEntropy(in, tensor.ReduceMean, 0)) },
	"ls_ce_smooth":   func(in inputs) []T { return one(crossEntropy(in, tensor.ReduceSum, 0.1)) },
	"ls_ce_none":     func(in inputs) []T { return one(crossEntropy(in, tensor.ReduceNone, 0)) },
	"ls_ce_grad":     func(in inputs) []T { return crossEntropy(in, tensor.ReduceMean, 0).grad(in[0]) },
	"ls_ce_1d":       func(in inputs) []T { return one(crossEntropy(in, tensor.ReduceMean, 0)) },
	"ls_sparse":      func(in inputs) []T { return sparse(in, -1, tensor.ReduceMean, 0) },
	"ls_sparse_sum":  func(in inputs) []T { return sparse(in, -1, tensor.ReduceSum, 0.2) },
	"ls_sparse_none": func(in inputs) []T { return sparse(in, 1, tensor.ReduceNone, 0) },
	"ls_bce_sum": func(in inputs) []T {
		return one(must(tensor.BinaryCrossEntropy(in[0].UOp, in[1].UOp, tensor.ReduceSum)))
	},
	"ls_bce_weight": func(in inputs) []T {
		return one(must(tensor.BinaryCrossEntropyLogits(in[0].UOp, in[1].UOp, tensor.ReduceMean, in[2].UOp)))
	},
	"ls_nll":        func(in inputs) []T { return nll(in, nil, nil, tensor.ReduceMean) },
	"ls_nll_weight": func(in inputs) []T { two := 2; return nll(in, in[2].UOp, &two, tensor.ReduceMean) },
	"ls_nll_none":   func(in inputs) []T { return nll(in, nil, nil, tensor.ReduceNone) },
	"at_plain":      func(in inputs) []T { return one(attention(in, tensor.AttentionOptions{})) },
	"at_causal":     func(in inputs) []T { return one(attention(in, tensor.AttentionOptions{Causal: true})) },
	"at_bool_mask":  func(in inputs) []T { return one(attention(in, tensor.AttentionOptions{Mask: in[3].UOp})) },
	"at_half":       func(in inputs) []T { return one(attention(in, tensor.AttentionOptions{})) },
	"at_grad":       sumGrad(func(in inputs) T { return attention(in, tensor.AttentionOptions{}) }, 0, 1, 2),

	"bitcast_same":   func(in inputs) []T { return one(must(tensor.Bitcast(in[0].UOp, uop.Int32))) },
	"bitcast_narrow": func(in inputs) []T { return one(must(tensor.Bitcast(in[0].UOp, uop.Uint16))) },
	"bitcast_wide":   func(in inputs) []T { return one(must(tensor.Bitcast(in[0].UOp, uop.Uint64))) },

	"sy_mean": func(in inputs) []T { return one(in[0].at(tensor.Whole(), upTo(in[0], 1, 6, 4)).drop(tensor.Mean, 1)) },
	"sy_var": func(in inputs) []T {
		return one(must(tensor.Var(in[0].at(tensor.Whole(), upTo(in[0], 1, 6, 4)).UOp, []int{1}, false, 1)))
	},
	"sy_softmax": func(in inputs) []T { return one(softmax(in[0].at(tensor.Whole(), upTo(in[0], 1, 6, 4)))) },
	"sy_reshape": func(in inputs) []T { return one(in[0].at(upTo(in[0], 1, 6, 4)).reshape(-1, 2, 2).add(1)) },
	"sy_cat":     func(in inputs) []T { return one(cat(0, in[0].at(upTo(in[0], 1, 6, 4)), in[1])) },
	"sy_attention": func(in inputs) []T {
		k, v := in[1].at(tensor.Whole(), upTo(in[0], 1, 5, 3)), in[2].at(tensor.Whole(), upTo(in[0], 1, 5, 3))
		return one(attention(inputs{in[0], k, v}, tensor.AttentionOptions{}))
	},

	"gr_twice":           againSquared(func(in inputs) T { return in[0].do(tensor.Tanh).mul(in[0]) }),
	"gr_layernorm_twice": againSquared(func(in inputs) T { return layerNorm(in[0]).mul(in[1]) }),
	"gr_seed": func(in inputs) []T {
		return many(gradient.Of(in[0].mul(in[0]).UOp, nodes(in[0]), in[1].UOp))
	},
	"gr_detach": sumGrad(func(in inputs) T { return in[0].do(tensor.Detach).mul(in[0]) }, 0),
	"gr_contiguous": sumGrad(func(in inputs) T {
		return in[0].mul(2).contiguous().mul(in[0]).do(tensor.ContiguousBackward)
	}, 0),
	"gr_where":  sumGrad(func(in inputs) T { return in[0].gt(in[1]).where(in[0].mul(2), in[1].mul(in[1])) }, 0, 1),
	"gr_cast":   sumGrad(func(in inputs) T { return in[0].cast(uop.Float16).do(tensor.Square).cast(uop.Float32) }, 0),
	"gr_shared": sumGrad(func(in inputs) T { e := in[0].do(tensor.Exp); return e.add(e.sum().mul(in[0])) }, 0),
}

// againSquared is the gradient of the sum of the squared gradient.
func againSquared(f func(inputs) T) func(inputs) []T {
	return func(in inputs) []T {
		return f(in).sum().grad(in[0])[0].do(tensor.Square).sum().grad(in[0])
	}
}

func builder(name string) func(in inputs) []T {
	if f := more[name]; f != nil {
		return f
	}
	if rest, ok := strings.CutPrefix(name, "ix_scatter_"); ok {
		mode, only := strings.CutPrefix(rest, "only_")
		return func(in inputs) []T {
			return one(must(tensor.ScatterReduce(in[0].UOp, 0, in[1].UOp, in[2].UOp, scatterMode(mode), !only)))
		}
	}
	return group(name)
}

type graphCase struct {
	Inputs []struct {
		Shape []int64
		DType string
	}
	Graph []dump.Node
}

func readGraphs(t *testing.T) map[string]graphCase {
	t.Helper()
	var cases map[string]graphCase
	if err := dump.Read("testdata/graphs.json.gz", &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c graphCase) build(name string) (list []dump.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	g := symbolic.NewGraph()
	g.AsTinygrad()
	var in inputs
	for _, v := range c.Inputs {
		dt, err := uop.ParseDType(v.DType)
		if err != nil {
			return nil, err
		}
		s := uop.ShapeOf(v.Shape...)
		in = append(in, T{g.NewBuffer("CPU", s.MaxNumel(), dt).Reshape(s)})
	}
	var out []T
	if f := made[name]; f != nil {
		out = f(g)
	} else if f := builder(name); f != nil {
		out = f(in)
	} else {
		return nil, fmt.Errorf("no operation builds this case")
	}
	return dump.Graph(g.Sink(nil, nodes(out...)...)), nil
}

// The graphs of all operations equal those that tinygrad builds, node for node (testdata/graphs.py).
func TestGraphsEqualTinygrads(t *testing.T) {
	cases := readGraphs(t)
	if len(cases) < 400 {
		t.Fatalf("only %d cases", len(cases))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			list, err := c.build(name)
			if err != nil {
				t.Fatal(err)
			}
			if i := dump.Diff(c.Graph, list, false); i >= 0 {
				t.Fatalf("node %d of %d differs:\nwant %s\ngot  %s", i, len(c.Graph), at(c.Graph, i), at(list, i))
			}
		})
	}
}
