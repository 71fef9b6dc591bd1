package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// derivative is an operation with the shapes of its inputs, whose values lie in lo..hi.
type derivative struct {
	name   string
	lo, hi float64
	shapes [][]int64
	f      func(in inputs) T
}

func shapes(s ...[]int64) [][]int64 { return s }

func dim(s ...int64) []int64 { return s }

func elementwise(name string, lo, hi float64, f unaryFn) derivative {
	return derivative{name, lo, hi, shapes(dim(5)), func(in inputs) T { return in[0].do(f) }}
}

func pairwise(name string, lo, hi float64, f fn2) derivative {
	return derivative{name, lo, hi, shapes(dim(2, 3), dim(3)), func(in inputs) T { return in[0].op(f, in[1]) }}
}

func from(name string, f func(x T) T, s ...int64) derivative {
	return derivative{name, -2, 2, shapes(s), func(in inputs) T { return f(in[0]) }}
}

// indices is a constant tensor of integers.
func indices(x T, vals ...int64) T {
	r := many(nil, nil)
	for _, v := range vals {
		c := must(tensor.Const(x.Graph(), uop.Int32, uop.Int(v)))
		r = append(r, c.reshape(1))
	}
	return cat(0, r...)
}

var derivatives = []derivative{
	elementwise("exp", -2, 2, tensor.Exp), elementwise("exp2", -2, 2, tensor.Exp2), elementwise("log", 0.3, 4, tensor.Log),
	elementwise("log2", 0.3, 4, tensor.Log2), elementwise("log10", 0.3, 4, tensor.Log10), elementwise("sqrt", 0.3, 4, tensor.Sqrt),
	elementwise("rsqrt", 0.3, 4, tensor.Rsqrt), elementwise("sin", -3, 3, tensor.Sin), elementwise("cos", -3, 3, tensor.Cos),
	elementwise("tan", -1, 1, tensor.Tan), elementwise("reciprocal", 0.5, 3, tensor.Reciprocal), elementwise("abs", 0.2, 3, tensor.Abs),
	elementwise("abs below 0", -3, -0.2, tensor.Abs), elementwise("square", -3, 3, tensor.Square), elementwise("neg", -3, 3, tensor.Neg),
	elementwise("asin", -0.95, 0.95, tensor.Asin), elementwise("acos", -0.95, 0.95, tensor.Acos), elementwise("atan", -4, 4, tensor.Atan),
	elementwise("sinh", -3, 3, tensor.Sinh), elementwise("cosh", -3, 3, tensor.Cosh), elementwise("tanh", -3, 3, tensor.Tanh),
	elementwise("asinh", -4, 4, tensor.Asinh), elementwise("acosh", 1.2, 5, tensor.Acosh), elementwise("atanh", -0.9, 0.9, tensor.Atanh),
	elementwise("log1p", -0.7, 3, tensor.Log1p), elementwise("expm1", -2, 2, tensor.Expm1), elementwise("erf", 0.2, 2, tensor.Erf),
	elementwise("erfc", -2, 6, tensor.Erfc), elementwise("erfinv", -0.95, 0.95, tensor.Erfinv), elementwise("ndtri", 0.02, 0.98, tensor.Ndtri),
	elementwise("lgamma", 0.1, 12, tensor.Lgamma), elementwise("lgamma below 0", -1.9, -1.1, tensor.Lgamma), elementwise("lgamma far below 0", -9.9, -9.1, tensor.Lgamma),
	elementwise("digamma", 0.3, 12, tensor.Digamma), elementwise("digamma below 0", -1.9, -1.1, tensor.Digamma), elementwise("digamma near 0", 1.4, 1.5, tensor.Digamma),
	elementwise("relu", 0.1, 3, tensor.Relu), elementwise("relu below 0", -3, -0.1, tensor.Relu), elementwise("relu6", 1, 5, tensor.Relu6),
	elementwise("gelu", -3, 3, tensor.Gelu), elementwise("quick_gelu", -3, 3, tensor.QuickGelu), elementwise("silu", -3, 3, tensor.Silu),
	elementwise("mish", -3, 3, tensor.Mish), elementwise("softsign", 0.2, 3, tensor.Softsign), elementwise("sigmoid", -4, 4, tensor.Sigmoid),
	elementwise("logsigmoid", -4, 4, tensor.LogSigmoid), elementwise("hardswish", -2.5, 2.5, tensor.HardSwish),
	elementwise("hardsigmoid", -2.5, 2.5, tensor.HardSigmoid), elementwise("sign", 0.3, 3, tensor.Sign),
	elementwise("floor", 0.1, 0.9, tensor.Floor), elementwise("round", 0.6, 0.9, tensor.Round),
	from("elu", func(x T) T { return must(tensor.Elu(x.UOp, 0.7)) }, 7),
	from("celu", func(x T) T { return must(tensor.Celu(x.UOp, 0.7)) }, 7),
	from("selu", func(x T) T { return must(tensor.Selu(x.UOp, 1.67, 1.05)) }, 7),
	from("full elu", func(x T) T { return must(tensor.Elu(x.UOp, 0.7)) }, 7),
	from("full celu", func(x T) T { return must(tensor.Celu(x.UOp, 0.7)) }, 7),
	from("full softplus", func(x T) T { return must(tensor.Softplus(x.UOp, 2)) }, 7),
	elementwise("full erf", -2, 2, tensor.Erf), elementwise("full mish", -3, 3, tensor.Mish),
	from("softplus", func(x T) T { return must(tensor.Softplus(x.UOp, 2)) }, 7),
	from("leaky_relu", func(x T) T { return must(tensor.LeakyRelu(x.UOp, 0.1)) }, 7),
	from("hardtanh", func(x T) T { return must(tensor.ClampTo(x.UOp, -1, 1)) }, 7),
	from("pow 3", func(x T) T { return x.pow(3) }, 7),

	pairwise("add", -2, 2, tensor.Add), pairwise("sub", -2, 2, tensor.Sub), pairwise("mul", -2, 2, tensor.Mul),
	pairwise("div", 0.5, 2, tensor.Div), pairwise("pow", 0.5, 2, tensor.Pow), pairwise("maximum", -2, 2, tensor.Maximum),
	pairwise("minimum", -2, 2, tensor.Minimum), pairwise("copysign", 0.3, 2, tensor.CopySign), pairwise("logaddexp", -2, 2, tensor.LogAddExp),
	pairwise("atan2", -2, 2, tensor.Atan2), pairwise("hypot", -2, 2, tensor.Hypot),
	{"where", -2, 2, shapes(dim(6), dim(6)), func(in inputs) T { return in[0].gt(in[1]).where(in[0].mul(2), in[1].mul(in[1])) }},
	{"lerp", 0, 1, shapes(dim(4), dim(4), dim(4)), func(in inputs) T { return must(tensor.Lerp(in[0].UOp, in[1].UOp, in[2].UOp)) }},

	from("sum", func(x T) T { return x.sum(1) }, 2, 3, 2), from("mean", func(x T) T { return x.drop(tensor.Mean, 0, 2) }, 2, 3, 2),
	from("max", func(x T) T { return x.max(1) }, 2, 5), from("min", func(x T) T { return x.drop(tensor.Min, 1) }, 2, 5),
	from("prod", func(x T) T { return x.drop(tensor.Prod, 0) }, 4, 2),
	from("prod of the middle axis", func(x T) T { return x.drop(tensor.Prod, 1) }, 2, 3, 2),
	from("prod of two axes", func(x T) T { return x.drop(tensor.Prod, 1, 0) }, 2, 2, 2),
	from("prod of axes apart", func(x T) T { return x.drop(tensor.Prod, 2, 0) }, 2, 2, 2),
	from("var", func(x T) T { return must(tensor.Var(x.UOp, []int{1}, false, 1)) }, 2, 5),
	from("std", func(x T) T { return must(tensor.Std(x.UOp, []int{1}, true, 0)) }, 2, 5),
	from("logsumexp", func(x T) T { return x.drop(tensor.LogSumExp, 1) }, 2, 5),
	from("cumsum", func(x T) T { return must(tensor.CumSum(x.UOp, 1)) }, 2, 4),
	from("cumprod", func(x T) T { return must(tensor.CumProd(x.UOp, 1)) }, 2, 4),
	from("cummax", func(x T) T { v, _ := must2(tensor.CumMax(x.UOp, 1)); return v }, 2, 4),
	from("logcumsumexp", func(x T) T { return must(tensor.LogCumSumExp(x.UOp, 1)) }, 2, 4),
	from("softmax", softmax, 2, 4), from("log_softmax", func(x T) T { return must(tensor.LogSoftmax(x.UOp, 1)) }, 2, 4),
	from("layernorm", layerNorm, 2, 5), from("rmsnorm", func(x T) T { return must(tensor.RMSNorm(x.UOp, 1e-5)) }, 2, 5),
	{"groupnorm", -2, 2, shapes(dim(2, 4, 3), dim(4), dim(4)), func(in inputs) T {
		return must(tensor.GroupNorm(in[0].UOp, 2, in[1].UOp, in[2].UOp, 1e-5))
	}},
	{"batchnorm", 0.5, 2, shapes(dim(2, 3, 2), dim(3), dim(3)), func(in inputs) T {
		m, v, err := tensor.BatchStats(in[0].UOp)
		if err != nil {
			panic(err)
		}
		return must(tensor.BatchNorm(in[0].UOp, in[1].UOp, in[2].UOp, m, T{v}.add(0.1).do(tensor.Rsqrt).UOp, nil))
	}},

	from("reshape", func(x T) T { return x.reshape(3, 4) }, 2, 6), from("expand", func(x T) T { return x.expand(4, 3, 2) }, 3, 1),
	from("permute", func(x T) T { return x.permute(2, 0, 1) }, 2, 3, 2), from("flip", func(x T) T { return x.flip(1) }, 2, 3),
	from("pad", func(x T) T { return x.pad([2]int64{1, 2}, [2]int64{-1, 1}) }, 2, 3),
	from("slice", func(x T) T { return x.at(slice(1, nil, 2), slice(nil, nil, -2)) }, 4, 5),
	from("repeat", func(x T) T { return must(tensor.Repeat(x.UOp, 2, 3)) }, 2, 2),
	from("roll", func(x T) T { return must(tensor.Roll(x.UOp, []int64{2}, []int{1})) }, 2, 3),
	from("roll of two axes", func(x T) T { return must(tensor.Roll(x.UOp, []int64{-1, 5}, []int{0, 1})) }, 3, 4),
	from("unfold", func(x T) T { return must(tensor.Unfold(x.UOp, 0, 3, 2)) }, 7),
	from("pad reflect", func(x T) T { return must(tensor.PadWith(x.UOp, pads([2]int64{2, 1}), tensor.PadReflect)) }, 5),
	from("pad circular", func(x T) T { return must(tensor.PadWith(x.UOp, pads([2]int64{2, 1}), tensor.PadCircular)) }, 5),
	from("triu", func(x T) T { return must(tensor.Triu(x.UOp, 1)) }, 3, 4), from("diagonal", func(x T) T { return must(tensor.Diagonal(x.UOp, 1, 0, 1)) }, 3, 4),
	from("diag", func(x T) T { return x.do(tensor.Diag) }, 4),
	{"cat", -2, 2, shapes(dim(2, 3), dim(1, 3)), func(in inputs) T { return cat(0, in...) }},
	{"stack", -2, 2, shapes(dim(3), dim(3)), func(in inputs) T { return must(tensor.Stack(nodes(in...), 1)) }},
	from("take", func(x T) T { return x.at(take(indices(x, 2, 0, 2, -1))) }, 4, 2),
	from("take two", func(x T) T { return x.at(take(indices(x, 2, 0)), take(indices(x, 1, 1))) }, 4, 2),
	from("gather", func(x T) T {
		return must(tensor.Gather(x.UOp, 1, indices(x, 2, 0, 1, 1).reshape(2, 2).UOp))
	}, 2, 3),
	{"scatter", -2, 2, shapes(dim(4), dim(3)), func(in inputs) T {
		return must(tensor.Scatter(in[0].UOp, 0, indices(in[0], 1, 3, 1).UOp, in[1].UOp))
	}},
	{"scatter prod", -2, 2, shapes(dim(4), dim(6)), func(in inputs) T {
		return must(tensor.ScatterReduce(in[0].UOp, 0, indices(in[0], 1, 3, 1, 9, 1, 3).UOp, in[1].UOp, tensor.ScatterProd, true))
	}},
	{"scatter prod of two zeros", -2, 2, shapes(dim(4), dim(2)), func(in inputs) T { // the products of others are those of others
		src := must(tensor.Cat([]*uop.UOp{in[1].UOp, in[1].sub(in[1]).UOp}, 0))
		return must(tensor.ScatterReduce(in[0].UOp, 0, indices(in[0], 1, 3, 1, 2).UOp, src.UOp, tensor.ScatterProd, false))
	}},
	{"scatter sum", -2, 2, shapes(dim(4), dim(3)), func(in inputs) T {
		return must(tensor.ScatterReduce(in[0].UOp, 0, indices(in[0], 1, 3, 1).UOp, in[1].UOp, tensor.ScatterSum, true))
	}},
	{"embedding", -2, 2, shapes(dim(5, 3)), func(in inputs) T {
		return must(tensor.Embedding(in[0].UOp, indices(in[0], 4, 0, 4).UOp))
	}},
	{"setitem", -2, 2, shapes(dim(4, 3), dim(2, 3)), func(in inputs) T {
		return must(tensor.SetItem(in[0].UOp, in[1].UOp, slice(0, nil, 2)))
	}},
	from("sort", func(x T) T { v, _ := must2(tensor.Sort(x.UOp, 0, false)); return v }, 5),
	from("full sort", func(x T) T { v, _ := must2(tensor.Sort(x.UOp, 0, true)); return v }, 5),
	from("full logcumsumexp", func(x T) T { return must(tensor.LogCumSumExp(x.UOp, 1)) }, 2, 4),
	pairwise("atan2", 0.3, 2, tensor.Atan2), pairwise("hypot", -2, 2, tensor.Hypot),
	{"solve", -2, 2, shapes(dim(2, 3, 3), dim(3, 2)), func(in inputs) T { return must(tensor.Solve(in[0].UOp, in[1].UOp)) }},
	from("inv", func(x T) T { return x.do(tensor.Inv) }, 3, 3), from("det", func(x T) T { return x.do(tensor.Det) }, 2, 3, 3),
	from("slogdet", func(x T) T { _, v := must2(tensor.SlogDet(x.UOp)); return v }, 3, 3),
	from("qr q", func(x T) T { v, _ := must2(tensor.QR(x.UOp)); return v }, 3, 2),
	from("qr r", func(x T) T { _, v := must2(tensor.QR(x.UOp)); return v }, 3, 3),
	from("qr of rows", func(x T) T { _, v := must2(tensor.QR(x.UOp)); return v }, 2, 4),
	from("cholesky", func(x T) T { return must(tensor.Cholesky(positive(x), false)) }, 2, 3, 3),
	from("upper cholesky", func(x T) T { return must(tensor.Cholesky(positive(x), true)) }, 3, 3),
	{"triangular solve", 1, 2, shapes(dim(3, 3), dim(2, 3, 2)), func(in inputs) T {
		return must(tensor.TriangularSolve(in[0].UOp, in[1].UOp, true, true, false))
	}},
	from("eigenvalues", func(x T) T { v, _ := must2(tensor.Eigh(x.UOp, false)); return v }, 3, 3),
	from("eigenvectors", func(x T) T { _, v := must2(tensor.Eigh(x.UOp, true)); return v.do(tensor.Square) }, 3, 3),
	from("singular vectors", func(x T) T {
		u, _, _, err := tensor.SVD(x.UOp, false)
		return must(u, err).do(tensor.Square)
	}, 4, 2),
	from("singular vectors of rows", func(x T) T {
		_, _, vt, err := tensor.SVD(x.UOp, true)
		return must(vt, err).do(tensor.Square)
	}, 2, 3),
	from("least squares", func(x T) T {
		v, _, _, _, err := tensor.LeastSquares(x.UOp, x.do(tensor.Square).UOp, -1)
		return must(v, err)
	}, 4, 2),
	from("singular values", func(x T) T {
		_, v, _, err := tensor.SVD(x.UOp, false)
		return must(v, err)
	}, 3, 2),
	from("masked select", func(x T) T {
		return must(tensor.MaskedSelect(x.UOp, indices(x, 1, 0, 1, 1).cast(uop.Bool).UOp, 3))
	}, 4),
	from("index select", func(x T) T { return must(tensor.IndexSelect(x.UOp, 1, indices(x, 2, 0, 2).UOp)) }, 2, 3),
	{"huber", -2, 2, shapes(dim(5), dim(5)), func(in inputs) T {
		return must(tensor.HuberLoss(in[0].UOp, in[1].UOp, 0.7, tensor.ReduceNone))
	}},
	{"l1", -2, 2, shapes(dim(5), dim(5)), func(in inputs) T { return must(tensor.L1Loss(in[0].UOp, in[1].UOp, tensor.ReduceSum)) }},

	{"matmul", -2, 2, shapes(dim(2, 3), dim(3, 4)), func(in inputs) T { return in[0].dot(in[1]) }},
	{"matmul batched", -2, 2, shapes(dim(2, 1, 2, 3), dim(2, 3, 2)), func(in inputs) T { return in[0].dot(in[1]) }},
	{"linear", -2, 2, shapes(dim(2, 3), dim(4, 3), dim(4)), func(in inputs) T {
		return must(tensor.Linear(in[0].UOp, in[1].UOp, in[2].UOp))
	}},
	{"einsum", -2, 2, shapes(dim(2, 3), dim(3, 2), dim(2)), func(in inputs) T {
		return must(tensor.Einsum("ij,jk,k->ik", nodes(in...)...))
	}},
	from("einsum trace", func(x T) T { return must(tensor.Einsum("iij->j", x.UOp)) }, 3, 3, 2),
	{"attention", -1, 1, shapes(dim(2, 3, 2), dim(2, 4, 2), dim(2, 4, 3)), func(in inputs) T {
		return attention(in, tensor.AttentionOptions{})
	}},
	{"attention causal", -1, 1, shapes(dim(3, 2), dim(3, 2), dim(3, 2)), func(in inputs) T {
		return attention(in, tensor.AttentionOptions{Causal: true})
	}},
	{"conv", -1, 1, shapes(dim(1, 2, 4, 4), dim(2, 2, 2, 3)), func(in inputs) T { return conv(in[0], in[1], 1, window(2, 1)) }},
	{"conv grouped", -1, 1, shapes(dim(1, 4, 5), dim(4, 2, 3)), func(in inputs) T { return conv(in[0], in[1], 2, tensor.Window{}) }},
	{"conv transpose", -1, 1, shapes(dim(1, 2, 3), dim(2, 2, 3)), func(in inputs) T {
		return must(tensor.ConvTranspose(in[0].UOp, in[1].UOp, nil, 1, window(2, 1), []int64{1}))
	}},
	from("avg_pool", func(x T) T { return must(tensor.AvgPool(x.UOp, []int64{2, 2}, window(1, 1), false)) }, 1, 1, 3, 4),
	from("max_pool", func(x T) T { return must(tensor.MaxPool(x.UOp, []int64{2, 2}, window(1, 0))) }, 1, 1, 3, 4),
	from("max_pool strided", func(x T) T { return must(tensor.MaxPool(x.UOp, []int64{3, 3}, window(2, 1))) }, 1, 1, 5, 4),
	from("avg_pool strided", func(x T) T { return must(tensor.AvgPool(x.UOp, []int64{3, 3}, window(2, 0), false)) }, 1, 1, 5, 6),
	from("interpolate nearest", func(x T) T { return must(tensor.Interpolate(x.UOp, []int64{4}, tensor.Nearest, false)) }, 1, 4),
	from("interpolate nearest exact", func(x T) T { return must(tensor.Interpolate(x.UOp, []int64{4}, tensor.NearestExact, false)) }, 1, 4),
	from("interpolate", func(x T) T { return must(tensor.Interpolate(x.UOp, []int64{7}, tensor.Bilinear, false)) }, 1, 4),
	from("interpolate two axes", func(x T) T { return must(tensor.Interpolate(x.UOp, []int64{2, 8}, tensor.Bilinear, false)) }, 5, 4),
	from("interpolate to a third", func(x T) T { return must(tensor.Interpolate(x.UOp, []int64{3}, tensor.Bilinear, false)) }, 2, 9),
	from("interpolate aligned", func(x T) T { return must(tensor.Interpolate(x.UOp, []int64{3, 9}, tensor.Bilinear, true)) }, 5, 4),

	{"cross_entropy", -2, 2, shapes(dim(3, 4)), func(in inputs) T {
		return must(tensor.CrossEntropy(in[0].UOp, indices(in[0], 3, 0, 1).UOp, 1, tensor.ReduceMean, 0.1))
	}},
	{"cross_entropy probabilities", 0.1, 2, shapes(dim(3, 4), dim(3, 4)), func(in inputs) T {
		return must(tensor.CrossEntropy(in[0].UOp, in[1].UOp, 1, tensor.ReduceSum, 0))
	}},
	{"sparse_categorical_crossentropy", -2, 2, shapes(dim(3, 4)), func(in inputs) T {
		return must(tensor.SparseCategoricalCrossEntropy(in[0].UOp, indices(in[0], 3, 0, 1).UOp, 0, tensor.ReduceMean, 0.1))
	}},
	{"binary_crossentropy", 0.1, 0.9, shapes(dim(5), dim(5)), func(in inputs) T {
		return must(tensor.BinaryCrossEntropy(in[0].UOp, in[1].UOp, tensor.ReduceMean))
	}},
	{"binary_crossentropy_logits", -2, 2, shapes(dim(5), dim(5)), func(in inputs) T {
		return must(tensor.BinaryCrossEntropyLogits(in[0].UOp, in[1].UOp, tensor.ReduceNone, nil))
	}},
	{"mse", -2, 2, shapes(dim(5), dim(5)), func(in inputs) T { return must(tensor.MSELoss(in[0].UOp, in[1].UOp, tensor.ReduceMean)) }},
	{"nll", -2, 2, shapes(dim(3, 4)), func(in inputs) T {
		return must(tensor.NLLLoss(in[0].UOp, indices(in[0], 3, 0, 1).UOp, nil, nil, tensor.ReduceMean))
	}},
	{"mlp", -1, 1, shapes(dim(2, 3), dim(4, 3), dim(4), dim(2, 4)), func(in inputs) T {
		h := must(tensor.Linear(in[0].UOp, in[1].UOp, in[2].UOp)).do(tensor.Tanh)
		return must(tensor.Linear(h.UOp, in[3].UOp, nil))
	}},
	{"softmax of layernorm", -1, 1, shapes(dim(2, 4), dim(4)), func(in inputs) T { return softmax(layerNorm(in[0]).mul(in[1])) }},
}

// experiment is a scalar loss of some inputs, ready to run: the sum of an operation's results, weighted.
type experiment struct {
	l    *lab
	in   inputs
	vals [][]float64
	loss T
}

// noise is a number in 0..1 that looks random.
func noise(i int) float64 { return float64(uniform(i, 99)) }

func newExperiment(t *testing.T, d derivative) *experiment {
	e := &experiment{l: newLab(t, "interp")}
	k := 0
	for _, s := range d.shapes {
		v := make([]float64, uop.ShapeOf(s...).MaxNumel())
		for i := range v {
			v[i] = d.lo + (d.hi-d.lo)*noise(k)
			k++
		}
		e.vals = append(e.vals, v)
		e.in = append(e.in, T{bind(e.l, uop.Float64, v)}.reshape(s...))
	}
	out := d.f(e.in)
	e.loss = e.weighted(out)
	return e
}

func (e *experiment) weighted(out T) T {
	w := make([]float64, out.Size())
	for i := range w {
		w[i] = 0.5 + noise(1000+i)
	}
	wt := T{bind(e.l, uop.Float64, w)}
	return out.cast(uop.Float64).reshape(-1).mul(wt).sum()
}

// differences compares gradients with central differences of the loss.
func (e *experiment) differences(loss T, grads []T, tol float64) error {
	out := make([]float64, 1)
	dst := bind(e.l, uop.Float64, out)
	step, err := e.l.e.Compile(e.l.g.Sink(nil, dst.Store(loss.UOp)))
	if err != nil {
		return err
	}
	at := func() float64 {
		if err == nil {
			err = step.Run(e.l.b, nil)
		}
		return out[0]
	}
	for k, g := range grads {
		got := e.l.values(g)
		if len(got) != len(e.vals[k]) {
			return fmt.Errorf("input %d: the gradient has %d elements, need %d", k, len(got), len(e.vals[k]))
		}
		for i, x := range e.vals[k] {
			const h = 1e-5
			e.vals[k][i] = x + h
			hi := at()
			e.vals[k][i] = x - h
			lo := at()
			e.vals[k][i] = x
			if want := (hi - lo) / (2 * h); !same(got[i], want, tol) {
				return fmt.Errorf("input %d, element %d (%v): gradient %v, difference %v", k, i, x, got[i], want)
			}
		}
	}
	return err
}

// Gradients are those of central differences in float64.
func TestGradients(t *testing.T) {
	for _, d := range derivatives {
		t.Run(d.name, func(t *testing.T) {
			e := newExperiment(t, d)
			if err := e.differences(e.loss, e.loss.grad(e.in...), 1e-6); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Gradients can be differentiated again: those of a weighted sum of all gradients are those of its differences.
func TestSecondGradients(t *testing.T) {
	for _, d := range derivatives {
		t.Run(d.name, func(t *testing.T) {
			e := newExperiment(t, d)
			var sum T
			for i, g := range e.loss.grad(e.in...) {
				if w := e.weighted(g.mul(float64(i + 1))); i == 0 {
					sum = w
				} else {
					sum = sum.add(w)
				}
			}
			if err := e.differences(sum, sum.grad(e.in...), 1e-5); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Functions of float32 have formulas of their own: their first and second derivatives are those of float64.
func TestDerivativesOfFloat32(t *testing.T) {
	for _, d := range derivatives {
		if len(d.shapes) > 2 || len(d.shapes[0]) > 2 {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			var got [2][]float64
			for i, dt := range []*uop.DType{uop.Float32, uop.Float64} {
				l := newLab(t, "interp")
				var in inputs
				k := 0
				for _, s := range d.shapes {
					vals := make([]float64, uop.ShapeOf(s...).MaxNumel())
					for j := range vals {
						vals[j] = uop.RoundTo(uop.Float32, d.lo+(d.hi-d.lo)*noise(k))
						k++
					}
					in = append(in, l.tensor(dt, vals, s...))
				}
				loss := d.f(in).cast(uop.Float64).mul(0.7).sum()
				for _, g := range loss.grad(in...) {
					got[i] = append(got[i], l.values(g)...)
					for _, h := range g.cast(uop.Float64).mul(0.7).sum().grad(in...) {
						got[i] = append(got[i], l.values(h)...)
					}
				}
			}
			for i, want := range got[1] {
				if !same(got[0][i], want, 2e-5) {
					t.Errorf("number %d is %v, in float64 %v", i, got[0][i], want)
				}
			}
		})
	}
}

// The gradient of erfc has the digits of e^-x^2 where the rounding error of x^2 would cost hundreds of units in the last place.
func TestGradientOfErfcInTheTail(t *testing.T) {
	l := newLab(t, "interp")
	values := []float64{20.1, -13.3, 26}
	x := l.tensor(uop.Float64, values, 3)
	got := l.values(x.do(tensor.Erfc).sum().grad(x)[0])
	for i, v := range values {
		square := v * v
		want := -2 / math.SqrtPi * math.Exp(-square) * (1 - math.FMA(v, v, -square))
		if !(math.Abs(got[i]-want) <= 1e-15*math.Abs(want)) {
			t.Errorf("erfc'(%v) is %v, expected %v", v, got[i], want)
		}
	}
}

// A function has the same values and derivatives in the composed form that files keep.
func TestComposedFunctions(t *testing.T) {
	for name, f := range map[string]func(*uop.UOp) (*uop.UOp, error){
		"asin": tensor.Asin, "acos": tensor.Acos, "atan": tensor.Atan, "sinh": tensor.Sinh, "cosh": tensor.Cosh, "asinh": tensor.Asinh,
		"atanh": tensor.Atanh, "log1p": tensor.Log1p, "expm1": tensor.Expm1, "erf": tensor.Erf, "erfc": tensor.Erfc, "erfinv": tensor.Erfinv,
	} {
		l := newLab(t, "interp")
		x := l.tensor(uop.Float32, []float64{-0.9, -0.3, 0.2, 0.7}, 4)
		y := x.do(f)
		kept := T{tensor.Composed(y.UOp)}
		for _, u := range kept.Toposort() {
			if u.Op == uop.CustomGradient {
				t.Fatalf("%s: keeps a stated gradient", name)
			}
		}
		for i, pair := range [][2]T{{kept, y}, {kept.sum().grad(x)[0], y.sum().grad(x)[0]}} {
			got, want := l.values(pair[0]), l.values(pair[1])
			for j := range want {
				if !same(got[j], want[j], 1e-5*float64(i)) {
					t.Errorf("%s: derivative %d of element %d is %v, need %v", name, i, j, got[j], want[j])
				}
			}
		}
	}
}

// A gradient has the type of the tensor that it belongs to, also where a function computes in a wider one.
func TestGradientsKeepTypes(t *testing.T) {
	l := newLab(t, "interp")
	x := l.tensor(uop.BFloat16, []float64{1, 2, 3, 4}, 1, 1, 4)
	w := l.tensor(uop.Float32, []float64{1, 2}, 1, 1, 2)
	y := must(tensor.Conv(x.UOp, w.UOp, nil, 1, tensor.Window{}))
	for i, g := range y.sum().grad(x, w) {
		if want := []T{x, w}[i]; g.DType != want.DType {
			t.Errorf("the gradient of source %d is %s, need %s", i, g.DType, want.DType)
		}
	}
}

func TestThirdDerivativeOfCube(t *testing.T) {
	l := newLab(t, "interp")
	x := l.tensor(uop.Float32, []float64{-1, 0.5, 2}, 3)
	g := x.pow(3).sum().grad(x)[0]
	gg := g.sum().grad(x)[0]
	ggg := gg.sum().grad(x)[0]
	for k, want := range [][]float64{{3, 0.75, 12}, {-6, 3, 12}, {6, 6, 6}} {
		for i, v := range l.values([]T{g, gg, ggg}[k]) {
			if math.Abs(v-want[i]) > 1e-4 {
				t.Errorf("derivative %d: element %d is %v, need %v", k+1, i, v, want[i])
			}
		}
	}
}
