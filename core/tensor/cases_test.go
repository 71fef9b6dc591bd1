package tensor_test

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

type inputs []T

// variable is a bound variable, as a size.
func variable(x T, name string, lo, hi, val int64) uop.Sint {
	g := x.Graph()
	return uop.S(g.Variable(name, uop.Int(lo), uop.Int(hi), uop.IndexT).BindTo(val))
}

func window(stride, pad int64) tensor.Window {
	w := tensor.Window{}
	if stride != 0 {
		w.Stride = []int64{stride}
	}
	if pad != 0 {
		w.Padding = [][2]int64{{pad, pad}}
	}
	return w
}

func conv(x, w T, groups int64, win tensor.Window) T {
	return must(tensor.Conv(x.UOp, w.UOp, nil, groups, win))
}

func one(t T) []T { return []T{t} }

func layerNorm(x T) T { return must(tensor.LayerNorm(x.UOp, []int{-1}, 1e-5)) }

func softmax(x T) T { return must(tensor.Softmax(x.UOp, -1)) }

// sumGrad is the gradient of sum(f * c).
func sumGrad(f func(inputs) T, wrt ...int) func(inputs) []T {
	return func(in inputs) []T {
		var to []T
		for _, i := range wrt {
			to = append(to, in[i])
		}
		return f(in).sum().grad(to...)
	}
}

func twice(f func(inputs) T) func(inputs) []T {
	return func(in inputs) []T { return f(in).sum().grad(in[0])[0].sum().grad(in[0]) }
}

func attention(in inputs, o tensor.AttentionOptions) T {
	return must(tensor.ScaledDotProductAttention(in[0].UOp, in[1].UOp, in[2].UOp, o))
}

// graphs builds the cases of the reference data with the operations of core/tensor.
var graphs = map[string]func(in inputs) []T{
	// golden
	"broadcast_scalar": func(in inputs) []T { return one(in[0].add(2.0)) },
	"chain":            func(in inputs) []T { return one(in[0].add(in[1]).mul(in[2])) },
	"chain_pad_flip":   func(in inputs) []T { return one(in[0].pad([2]int64{1, 1}).at(tensor.Slice(nil, nil, -1))) },
	"cross_entropy_nonlast_axis": func(in inputs) []T {
		return one(must(tensor.CrossEntropy(in[0].UOp, in[1].UOp, 1, tensor.ReduceMean, 0)))
	},
	"exp2_1d":             func(in inputs) []T { return one(in[0].do(tensor.Exp2)) },
	"expand_alu_reduce":   func(in inputs) []T { return one(in[0].reshape(4, 1).expand(4, 3).add(in[1]).sum(1)) },
	"grad_chain_movement": sumGrad(func(in inputs) T { return in[0].reshape(2, 3).permute(1, 0) }, 0),
	"grad_exp2_sum":       sumGrad(func(in inputs) T { return in[0].do(tensor.Exp2) }, 0),
	"grad_fdiv_sum_x":     sumGrad(func(in inputs) T { return in[0].div(in[1]) }, 0),
	"grad_fdiv_sum_y":     sumGrad(func(in inputs) T { return in[0].div(in[1]) }, 1),
	"grad_log2_sum":       sumGrad(func(in inputs) T { return in[0].do(tensor.Log2) }, 0),
	"grad_mul_sum":        sumGrad(func(in inputs) T { return in[0].mul(in[0]) }, 0),
	"grad_multi_use":      sumGrad(func(in inputs) T { return in[0].mul(in[0]).add(in[0].mul(2)) }, 0),
	"grad_sqrt_sum":       sumGrad(func(in inputs) T { return in[0].do(tensor.Sqrt) }, 0),
	"grad_where_sum":      sumGrad(func(in inputs) T { return in[0].gt(0).where(in[0], 0) }, 0),
	"matmul_broadcast":    func(in inputs) []T { return one(in[0].dot(in[1])) },
	"matmul_small": func(in inputs) []T {
		a := in[0].reshape(2, 1, 3).expand(2, 2, 3)
		b := in[1].reshape(3, 2).permute(1, 0).reshape(1, 2, 3).expand(2, 2, 3)
		return one(a.mul(b).sum(2))
	},
	"mul_1d": func(in inputs) []T { return one(in[0].mul(in[1])) },
	"multi_movement": func(in inputs) []T {
		return one(in[0].permute(1, 0).at(span(0, 2), span(0, 3)).at(tensor.Slice(nil, nil, -1), tensor.Whole()))
	},
	"neg_1d":              func(in inputs) []T { return one(in[0].do(tensor.Neg)) },
	"pad_2d":              func(in inputs) []T { return one(in[0].pad([2]int64{1, 1}, [2]int64{1, 1})) },
	"permute_2d":          func(in inputs) []T { return one(in[0].permute(1, 0)) },
	"reduce_max_1d":       func(in inputs) []T { return one(in[0].max()) },
	"reduce_scalar_chain": func(in inputs) []T { return one(in[0].sum().add(in[1])) },
	"reduce_sum_all":      func(in inputs) []T { return one(in[0].sum()) },
	"reduce_sum_axis1":    func(in inputs) []T { return one(in[0].sum(1)) },
	"reduce_vector_chain": func(in inputs) []T { return one(in[0].sum(1).reshape(4, 1).expand(4, 3).add(in[1])) },
	"reshape_reduce":      func(in inputs) []T { return one(in[0].reshape(4, 3).sum(1)) },
	"shared_scalar_reduce_branches": func(in inputs) []T {
		s := in[0].sum()
		return []T{s.add(in[1]), s.mul(in[2])}
	},
	"shrink_2d": func(in inputs) []T { return one(in[0].at(span(1, 3), span(0, 3))) },
	"sqrt_1d":   func(in inputs) []T { return one(in[0].do(tensor.Sqrt)) },
	"vecadd":    func(in inputs) []T { return one(in[0].add(in[1])) },
	"where_1d":  func(in inputs) []T { return one(in[0].gt(0).where(in[0], 0)) },

	// ranges and assignments
	"ar_arange": func(in inputs) []T {
		return one(in[0].add(must(tensor.Arange(in[0].Graph(), uop.Int(0), uop.Int(10), uop.Int(1), nil)).cast(uop.Float32)))
	},
	"ar_linspace": func(in inputs) []T {
		return one(in[0].mul(must(tensor.Linspace(in[0].Graph(), uop.Int(-1), uop.Int(1), 7, uop.Float32))))
	},
	"as_chain": func(in inputs) []T {
		x := must(tensor.Assign(in[0].UOp, in[0].mul(2).UOp))
		return []T{x.add(1), x}
	},
	"as_kv_cache": func(in inputs) []T {
		v := variable(in[0], "i", 0, 7, 3)
		view := in[0].at(tensor.Whole(), tensor.Range(v, v.Add(uop.N(1))))
		return one(must(tensor.Assign(view.UOp, in[1].UOp)))
	},
	"as_sgd": func(in inputs) []T {
		step := func(w, g T) T { return must(tensor.Assign(w.UOp, w.sub(g.rmul(0.1)).UOp)) }
		return []T{step(in[0], in[1]), step(in[2], in[3])}
	},
	"as_war": func(in inputs) []T {
		y := in[0].mul(2).contiguous()
		return []T{must(tensor.Assign(in[0].UOp, in[1].add(0.5).UOp)), y}
	},
	"at_sdpa_bias": func(in inputs) []T { return one(attention(in, tensor.AttentionOptions{Mask: in[3].UOp})) },
	"at_sdpa_gqa":  func(in inputs) []T { return one(attention(in, tensor.AttentionOptions{Grouped: true})) },

	// element by element
	"bf16_arith":     func(in inputs) []T { return one(in[0].mul(in[1]).add(in[0])) },
	"bi_const_fold":  func(in inputs) []T { x := in[0]; return one(x.add(1).add(2).mul(3).mul(2).sub(x.mul(0)).add(0.0)) },
	"bi_copysign":    func(in inputs) []T { return one(in[0].op(tensor.CopySign, in[1])) },
	"bi_div_chain":   func(in inputs) []T { return one(in[0].div(in[1]).div(in[0])) },
	"bi_fma_like":    func(in inputs) []T { return one(in[0].mul(in[1]).add(in[0])) },
	"bi_lerp":        func(in inputs) []T { return one(must(tensor.Lerp(in[0].UOp, in[1].UOp, num(in[0], 0.25).UOp))) },
	"bi_lt":          func(in inputs) []T { return one(in[0].lt(in[1])) },
	"bi_ne":          func(in inputs) []T { return one(in[0].ne(in[1])) },
	"f64_arith":      func(in inputs) []T { return one(in[0].mul(in[1]).add(0.1)) },
	"int_add":        func(in inputs) []T { return one(in[0].add(in[1])) },
	"int_c_mod7":     func(in inputs) []T { return one(in[0].op(tensor.Mod, 7)) },
	"int_cmp":        func(in inputs) []T { return one(in[0].lt(in[1]).op(tensor.BitAnd, in[0].ne(3))) },
	"int_div_trunc":  func(in inputs) []T { return one(in[0].op(tensor.TruncDiv, in[1])) },
	"int_mul":        func(in inputs) []T { return one(in[0].mul(in[1])) },
	"int_or":         func(in inputs) []T { return one(in[0].op(tensor.BitOr, in[1])) },
	"uint8_arith":    func(in inputs) []T { return one(in[0].mul(3).add(in[1])) },
	"uint_c_mod12":   func(in inputs) []T { return one(in[0].op(tensor.Mod, 12)) },
	"uint_c_shl3":    func(in inputs) []T { return one(must(tensor.ShiftLeftConst(in[0].UOp, 3))) },
	"un_abs":         func(in inputs) []T { return one(in[0].do(tensor.Abs)) },
	"un_clip":        func(in inputs) []T { return one(must(tensor.ClampTo(in[0].UOp, -1.0, 1.5))) },
	"un_cos":         func(in inputs) []T { return one(in[0].do(tensor.Cos)) },
	"un_log":         func(in inputs) []T { return one(in[0].do(tensor.Log)) },
	"un_log2":        func(in inputs) []T { return one(in[0].do(tensor.Log2)) },
	"un_log2_f16":    func(in inputs) []T { return one(in[0].do(tensor.Log2)) },
	"un_log2_f64":    func(in inputs) []T { return one(in[0].do(tensor.Log2)) },
	"un_mish":        func(in inputs) []T { return one(in[0].do(tensor.Mish)) },
	"un_pow3":        func(in inputs) []T { return one(in[0].pow(3)) },
	"un_pow_1p7":     func(in inputs) []T { return one(in[0].pow(1.7)) },
	"un_recip_chain": func(in inputs) []T { return one(in[0].mul(in[0]).rop(tensor.Add, 1.0).rdiv(1.0)) },
	"un_relu6":       func(in inputs) []T { return one(in[0].do(tensor.Relu6)) },
	"un_rsqrt":       func(in inputs) []T { return one(in[0].do(tensor.Rsqrt)) },
	"un_sigmoid":     func(in inputs) []T { return one(in[0].do(tensor.Sigmoid)) },
	"un_sign":        func(in inputs) []T { return one(in[0].do(tensor.Sign)) },
	"un_sin":         func(in inputs) []T { return one(in[0].do(tensor.Sin)) },
	"un_sin_f16":     func(in inputs) []T { return one(in[0].do(tensor.Sin)) },
	"un_softsign":    func(in inputs) []T { return one(in[0].do(tensor.Softsign)) },
	"un_sqrt_f16":    func(in inputs) []T { return one(in[0].do(tensor.Sqrt)) },
	"un_two_pow_x":   func(in inputs) []T { return one(in[0].rpow(2)) },
	"bi_where_scalar_nest": func(in inputs) []T {
		x := in[0]
		return one(x.gt(2).where(1.0, x.gt(1).where(2.0, x.gt(0).where(3.0, 4.0))))
	},
	"cast_float16_float32": func(in inputs) []T { return one(in[0].cast(uop.Float32)) },
	"cast_float32_float16": func(in inputs) []T { return one(in[0].cast(uop.Float16)) },
	"cast_float32_float64": func(in inputs) []T { return one(in[0].cast(uop.Float64)) },
	"cast_float64_float32": func(in inputs) []T { return one(in[0].cast(uop.Float32)) },
	"cast_int32_float32":   func(in inputs) []T { return one(in[0].cast(uop.Float32)) },
	"cast_int32_int64":     func(in inputs) []T { return one(in[0].cast(uop.Int64)) },
	"cast_int64_int32":     func(in inputs) []T { return one(in[0].cast(uop.Int32)) },

	// convolutions and pools
	"cv_1d":        func(in inputs) []T { return one(conv(in[0], in[1], 1, tensor.Window{})) },
	"cv_1x1":       func(in inputs) []T { return one(conv(in[0], in[1], 1, tensor.Window{})) },
	"cv_depthwise": func(in inputs) []T { return one(conv(in[0], in[1], 3, tensor.Window{})) },
	"cv_stride2":   func(in inputs) []T { return one(conv(in[0], in[1], 1, window(2, 0))) },
	"pl_avg2":      func(in inputs) []T { return one(must(tensor.AvgPool(in[0].UOp, []int64{2, 2}, tensor.Window{}, true))) },
	"pl_avg3_p1_noinc": func(in inputs) []T {
		return one(must(tensor.AvgPool(in[0].UOp, []int64{3, 3}, window(1, 1), false)))
	},
	"pl_interp": func(in inputs) []T {
		return one(must(tensor.Interpolate(in[0].UOp, []int64{8}, tensor.Bilinear, false)))
	},
	"pl_max3_s2_p1": func(in inputs) []T { return one(must(tensor.MaxPool(in[0].UOp, []int64{3, 3}, window(2, 1)))) },

	// gradients
	"d2_exp_sq":      twice(func(in inputs) T { return in[0].mul(in[0]).do(tensor.Exp) }),
	"d2_softmax_dot": twice(func(in inputs) T { return softmax(in[0]).mul(in[1]) }),
	"gr_batchnorm": sumGrad(func(in inputs) T {
		m := in[0].drop(tensor.Mean, 0, 2)
		invstd := must(tensor.Var(in[0].UOp, []int{0, 2}, false, 0)).add(1e-5).do(tensor.Rsqrt)
		return must(tensor.BatchNorm(in[0].UOp, in[1].UOp, in[2].UOp, m.UOp, invstd.UOp, nil)).mul(in[3])
	}, 0, 1, 2),
	"gr_cat":  sumGrad(func(in inputs) T { return cat(0, in[0], in[1]).mul(in[2]) }, 0, 1),
	"gr_div":  sumGrad(func(in inputs) T { return in[0].div(in[1]) }, 0, 1),
	"gr_elu":  sumGrad(func(in inputs) T { return must(tensor.Elu(in[0].UOp, 1)).mul(in[1]) }, 0),
	"gr_erf":  sumGrad(func(in inputs) T { return in[0].do(tensor.Erf).mul(in[1]) }, 0),
	"gr_exp":  sumGrad(func(in inputs) T { return in[0].do(tensor.Exp).mul(in[1]) }, 0),
	"gr_log":  sumGrad(func(in inputs) T { return in[0].do(tensor.Log).mul(in[1]) }, 0),
	"gr_tanh": sumGrad(func(in inputs) T { return in[0].do(tensor.Tanh).mul(in[1]) }, 0),
	"gr_var":  sumGrad(func(in inputs) T { return must(tensor.Var(in[0].UOp, []int{1}, false, 1)) }, 0),
	"gr_embedding": sumGrad(func(in inputs) T {
		return in[0].at(tensor.Take(in[1].UOp)).mul(in[2])
	}, 0),
	"gr_layernorm": sumGrad(func(in inputs) T { return layerNorm(in[0]).mul(in[1]).add(in[2]).mul(in[3]) }, 0, 1, 2),
	"gr_matmul_batched": sumGrad(func(in inputs) T {
		return in[0].dot(in[1]).mul(in[2])
	}, 0, 1),
	"gr_max_reduce_ties": sumGrad(func(in inputs) T { return in[0].max() }, 0),
	"gr_maximum":         sumGrad(func(in inputs) T { return in[0].op(tensor.Maximum, in[1]).mul(in[2]) }, 0, 1),
	"gr_pow_tensor":      sumGrad(func(in inputs) T { return in[0].pow(in[1]) }, 0, 1),
	"gr_sparse_ce": func(in inputs) []T {
		return must(tensor.SparseCategoricalCrossEntropy(in[0].UOp, in[1].UOp, -1, tensor.ReduceMean, 0)).grad(in[0])
	},
	"gr_stack": sumGrad(func(in inputs) T {
		return must(tensor.Stack(nodes(in[0], in[1]), 0)).mul(in[2])
	}, 0, 1),

	// indexing, losses, matrices
	"ix_embedding": func(in inputs) []T { return one(in[0].at(tensor.Take(in[1].UOp))) },
	"ix_neg_index": func(in inputs) []T { return one(in[0].at(tensor.Take(in[1].UOp))) },
	"ls_bce": func(in inputs) []T {
		return one(must(tensor.BinaryCrossEntropy(in[0].do(tensor.Sigmoid).UOp, in[1].UOp, tensor.ReduceMean)))
	},
	"ls_bce_logits": func(in inputs) []T {
		return one(must(tensor.BinaryCrossEntropyLogits(in[0].UOp, in[1].UOp, tensor.ReduceMean, nil)))
	},
	"ls_ce_probs": func(in inputs) []T {
		return one(must(tensor.CrossEntropy(in[0].UOp, in[1].UOp, 1, tensor.ReduceMean, 0)))
	},
	"ls_mse": func(in inputs) []T { return one(in[0].sub(in[1]).pow(2).drop(tensor.Mean)) },
	"ls_sparse_ce_smooth_ignore": func(in inputs) []T {
		return one(must(tensor.SparseCategoricalCrossEntropy(in[0].UOp, in[1].UOp, 2, tensor.ReduceMean, 0.1)))
	},
	"ml_rope": func(in inputs) []T {
		x1, x2 := in[0].at(tensor.Ellipsis(), span(0, 2)), in[0].at(tensor.Ellipsis(), span(2, 4))
		c, s := in[1].reshape(1, 4, 1, 2), in[2].reshape(1, 4, 1, 2)
		return one(cat(-1, x1.mul(c).sub(x2.mul(s)), x2.mul(c).add(x1.mul(s))))
	},
	"mm_4x5x6": func(in inputs) []T { return one(in[0].dot(in[1])) },
	"mm_i32":   func(in inputs) []T { return one(in[0].dot(in[1])) },
	"mm_linear_relu": func(in inputs) []T {
		return one(must(tensor.Linear(in[0].UOp, in[1].UOp, in[2].UOp)).do(tensor.Relu))
	},

	// movement
	"mv_cat0":       func(in inputs) []T { return one(cat(0, in...)) },
	"mv_cat1_three": func(in inputs) []T { return one(cat(1, in...)) },
	"mv_neg_stride": func(in inputs) []T { return one(in[0].at(tensor.Slice(nil, nil, -2)).contiguous()) },
	"mv_pad_alu": func(in inputs) []T {
		return one(in[0].pad([2]int64{1, 1}, [2]int64{2, 0}).add(1).do(tensor.Relu))
	},
	"mv_pad_flip": func(in inputs) []T {
		return one(in[0].pad([2]int64{1, 1}).at(tensor.Slice(nil, nil, -1)).contiguous())
	},
	"mv_pad_reflect": func(in inputs) []T {
		ps := []uop.Pair{{}, {Lo: uop.N(2), Hi: uop.N(2)}}
		return one(must(tensor.PadWith(in[0].UOp, ps, tensor.PadReflect)).contiguous())
	},
	"mv_pad_shrink_chain": func(in inputs) []T {
		x := in[0].pad([2]int64{1, 0}, [2]int64{0, 2}).flip(1).permute(1, 0).at(span(1, 6), tensor.Whole())
		return one(x.reshape(20).pad([2]int64{2, 2}).contiguous())
	},
	"mv_permute":    func(in inputs) []T { return one(in[0].permute(1, 0).contiguous()) },
	"mv_shrink":     func(in inputs) []T { return one(in[0].at(span(1, 3), span(0, 3)).contiguous()) },
	"mv_triu_diag1": func(in inputs) []T { return one(must(tensor.Triu(in[0].UOp, 1))) },
	"mv_unfold":     func(in inputs) []T { return one(must(tensor.Unfold(in[0].UOp, 1, 3, 2)).contiguous()) },

	// norms and reductions
	"nn_batchnorm_infer": func(in inputs) []T {
		invstd := in[4].add(1e-5).do(tensor.Rsqrt)
		return one(must(tensor.BatchNorm(in[0].UOp, in[1].UOp, in[2].UOp, in[3].UOp, invstd.UOp, nil)))
	},
	"nn_rmsnorm":      func(in inputs) []T { return one(must(tensor.RMSNorm(in[0].UOp, 1e-6)).mul(in[1])) },
	"rd_argmax":       func(in inputs) []T { return one(must(tensor.ArgMax(in[0].UOp, 2, false))) },
	"rd_cumprod":      func(in inputs) []T { return one(must(tensor.CumProd(in[0].UOp, 0))) },
	"rd_flip_sum":     func(in inputs) []T { return one(in[0].flip(1).sum(2)) },
	"rd_max_axis":     func(in inputs) []T { return one(in[0].max(2)) },
	"rd_mean_all":     func(in inputs) []T { return one(in[0].drop(tensor.Mean)) },
	"rd_norm":         func(in inputs) []T { return one(in[0].do(tensor.Square).sum(2).do(tensor.Sqrt)) },
	"rd_pad_sum":      func(in inputs) []T { return one(in[0].pad([2]int64{}, [2]int64{1, 1}, [2]int64{0, 2}).sum(1)) },
	"rd_prod":         func(in inputs) []T { return one(in[0].mul(0.5).drop(tensor.Prod, 2)) },
	"rd_std":          func(in inputs) []T { return one(must(tensor.Std(in[0].UOp, []int{2}, false, 1))) },
	"rd_sum_axis0":    func(in inputs) []T { return one(in[0].sum(0)) },
	"rd_sum_keepdim":  func(in inputs) []T { return one(in[0].keep(tensor.Sum, 1).add(in[0])) },
	"sh_multi_output": func(in inputs) []T { return []T{in[0].add(in[1]), in[0].mul(in[1])} },
	"sh_const_output": func(in inputs) []T {
		c := must(tensor.Full(in[0].Graph(), uop.ShapeOf(3, 4), uop.Float(2.5), uop.Float32))
		return one(c.contiguous().add(in[0].mul(0)))
	},
	"sh_conv_shared": func(in inputs) []T {
		return one(conv(in[0], in[1], 1, tensor.Window{}).add(conv(in[0], in[2], 1, tensor.Window{})))
	},
	"sh_detach":         func(in inputs) []T { return one(in[0].do(tensor.Detach).mul(in[0])) },
	"sh_double_reshape": func(in inputs) []T { return one(in[0].reshape(6, 4).add(1).reshape(2, 12).mul(in[1]).sum(1)) },
	"sh_normalize":      func(in inputs) []T { return one(in[0].div(in[0].sum())) },
	"sh_reduce_expand_twice": func(in inputs) []T {
		s := in[0].keep(tensor.Sum, 1)
		return one(in[0].mul(s).sum(0).add(s.sum()))
	},

	// sizes with variables
	"sy_elementwise_sum": func(in inputs) []T {
		x := in[0].at(tensor.Range(uop.N(0), variable(in[0], "i", 1, 10, 4)))
		return one(x.mul(2).add(1).contiguous().sum())
	},
	"sy_matmul": func(in inputs) []T {
		v := variable(in[0], "i", 1, 8, 5)
		return one(in[0].at(tensor.Whole(), tensor.Range(uop.N(0), v)).dot(in[1].at(tensor.Range(uop.N(0), v), tensor.Whole())))
	},
	"sy_max_axis": func(in inputs) []T {
		return one(in[0].at(tensor.Whole(), tensor.Range(uop.N(0), variable(in[0], "i", 1, 6, 4))).max(1))
	},
	"sy_offset": func(in inputs) []T {
		v := variable(in[0], "i", 0, 7, 4)
		return one(must(tensor.Shrink(in[0].UOp, []uop.Pair{{Lo: v, Hi: v.Add(uop.N(3))}})).mul(2).contiguous())
	},
}

// counted are the cases whose random numbers come from a counter in a buffer, as only tinygrad has it.
var counted = map[string]bool{"rn_dropout": true, "rn_rand_odd": true, "rn_randint": true}
