package ops

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

type reduction = func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error)

func reduce(name, doc string, f reduction) Op {
	return method(name, "axis axes?, keepdim bool = false", doc, func(a *Args) (*uop.UOp, error) {
		return f(a.X, a.axes("axis"), a.bool("keepdim"))
	})
}

// accumulated is a reduction whose accumulator may have another type.
func accumulated(name, doc string, f reduction, as func(x *uop.UOp, dt *uop.DType, axes []int, keepdim bool) (*uop.UOp, error)) Op {
	return method(name, "axis axes?, keepdim bool = false, dtype dtype?", doc, func(a *Args) (*uop.UOp, error) {
		if dt := a.dtype("dtype"); dt != nil {
			return as(a.X, dt, a.axes("axis"), a.bool("keepdim"))
		}
		return f(a.X, a.axes("axis"), a.bool("keepdim"))
	})
}

func spread(name, doc string, f func(x *uop.UOp, axes []int, keepdim bool, correction float64) (*uop.UOp, error)) Op {
	return method(name, "axis axes?, keepdim bool = false, correction float = 1", doc, func(a *Args) (*uop.UOp, error) {
		return f(a.X, a.axes("axis"), a.bool("keepdim"), a.float("correction"))
	})
}

func spreadMean(name, result, doc string, f func(x *uop.UOp, axes []int, keepdim bool, correction float64) (*uop.UOp, error)) Op {
	return several(result+" mean", name, "axis axes?, keepdim bool = false, correction float = 1", doc, func(a *Args) ([]*uop.UOp, error) {
		s, err := f(a.X, a.axes("axis"), a.bool("keepdim"), a.float("correction"))
		if err != nil {
			return nil, err
		}
		m, err := tensor.Mean(a.X, a.axes("axis"), a.bool("keepdim"))
		return []*uop.UOp{s, m}, err
	})
}

// position is where along one axis, or in the flattened tensor, a value is found.
func position(name, doc string, f func(x *uop.UOp, axis int, keepdim bool) (*uop.UOp, error)) Op {
	return method(name, "axis int?, keepdim bool = false", doc, func(a *Args) (*uop.UOp, error) { return a.alongOrFlat(f) })
}

// alongOrFlat applies a function along the axis that is given, or to the flattened tensor.
func (a *Args) alongOrFlat(f func(x *uop.UOp, axis int, keepdim bool) (*uop.UOp, error)) (*uop.UOp, error) {
	return a.alongOrFlatAs("keepdim", f)
}

// alongOrFlatAs is alongOrFlat for another name of the argument that keeps the axes.
func (a *Args) alongOrFlatAs(keepdim string, f func(x *uop.UOp, axis int, keepdim bool) (*uop.UOp, error)) (*uop.UOp, error) {
	if a.given("axis") {
		return f(a.X, a.axis("axis"), a.bool(keepdim))
	}
	flat, err := tensor.Flatten(a.X, 0, -1)
	if err != nil {
		return nil, err
	}
	r, err := f(flat, 0, false)
	if err != nil || !a.bool(keepdim) {
		return r, err
	}
	shape := uop.ShapeOf()
	for range a.X.Shape() {
		shape = append(shape, uop.N(1))
	}
	return tensor.Reshape(r, shape)
}

func along(name, param, missing, doc string, f func(x *uop.UOp, axis int) (*uop.UOp, error)) Op {
	return method(name, param+" int = "+missing, doc, func(a *Args) (*uop.UOp, error) { return f(a.X, a.axis(param)) })
}

func extreme(name, doc string, f func(x *uop.UOp, axis int) (*uop.UOp, *uop.UOp, error)) Op {
	return several("values indices", name, "axis int = 0", doc, func(a *Args) ([]*uop.UOp, error) { return pair(f(a.X, a.axis("axis"))) })
}

var reductions = []Op{
	accumulated("sum", `The sum along axes, all axes unless given.
dtype is the type of the accumulator and of the result. By default integers of 8 and 16 bits and bools are added in 32 bits, float16 in float32.`, tensor.Sum, tensor.SumAs),
	accumulated("prod", "The product along axes, accumulated in dtype if given.", tensor.Prod, tensor.ProdAs),
	reduce("max", "The greatest value along axes; NaN if one is NaN.", tensor.Max),
	reduce("min", "The least value along axes; NaN if one is NaN.", tensor.Min),
	reduce("mean", "The mean along axes; integers give float32.", tensor.Mean),
	reduce("any", "Whether any element along axes is not 0: bool.", tensor.Any),
	reduce("all", "Whether all elements along axes are not 0: bool.", tensor.All),
	reduce("logsumexp", "log(sum(e^x)) along axes, without overflow.", tensor.LogSumExp),
	spread("var", "The variance along axes: the sum of squared deviations divided by count - correction.", tensor.Var),
	spread("std", "The standard deviation along axes, the square root of var.", tensor.Std),
	spreadMean("var_mean", "variance", "var and mean along axes.", tensor.Var),
	spreadMean("std_mean", "std", "std and mean along axes.", tensor.Std),
	method("quantile", "q float [0,1], axis int?, keepdim bool = false", `The quantile q (0 to 1) along an axis, or of the flattened tensor; quantile(0.5) is the median.
Between two elements it is interpolated linearly (Hyndman and Fan, 1996, definition 7). It is NaN if an element is NaN.`,
		func(a *Args) (*uop.UOp, error) {
			return a.alongOrFlat(func(x *uop.UOp, axis int, keepdim bool) (*uop.UOp, error) {
				return tensor.Quantile(x, a.float("q"), axis, keepdim)
			})
		}),
	position("argmax", "The index, int32, of the maximum along an axis, or in the flattened tensor; the first if there are several.", tensor.ArgMax),
	position("argmin", "The index, int32, of the minimum along an axis, or in the flattened tensor; the first if there are several.", tensor.ArgMin),
	method("softmax", "axis int = -1, dtype dtype?", "e^x / sum(e^x) along an axis; x is converted to dtype first, if given.", func(a *Args) (*uop.UOp, error) {
		return a.softmax(tensor.Softmax)
	}),
	method("log_softmax", "axis int = -1, dtype dtype?", "log(softmax(x)) along an axis; x is converted to dtype first, if given.", func(a *Args) (*uop.UOp, error) {
		return a.softmax(tensor.LogSoftmax)
	}),
}

func (a *Args) softmax(f func(x *uop.UOp, axes ...int) (*uop.UOp, error)) (*uop.UOp, error) {
	x := a.X
	if dt := a.dtype("dtype"); dt != nil {
		var err error
		if x, err = tensor.Cast(x, dt); err != nil {
			return nil, err
		}
	}
	return f(x, a.axis("axis"))
}

var scans = []Op{
	along("cumsum", "axis", "0", "The cumulative sum along an axis: element i is the sum of all elements up to i.", tensor.CumSum),
	along("cumprod", "axis", "0", "The cumulative product along an axis: element i is the product of all elements up to i.", tensor.CumProd),
	along("logcumsumexp", "axis", "0", "log(cumsum(e^x)) along an axis, without overflow.", tensor.LogCumSumExp),
	extreme("cummax", "The cumulative maximum along an axis, and the index of its first occurrence.", tensor.CumMax),
	extreme("cummin", "The cumulative minimum along an axis, and the index of its first occurrence.", tensor.CumMin),
	several("values indices", "sort", "dim int = -1, descending bool = false", "The values sorted along an axis, and their indices in x.",
		func(a *Args) ([]*uop.UOp, error) { return pair(tensor.Sort(a.X, a.axis("dim"), a.bool("descending"))) }),
	method("argsort", "dim int = -1, descending bool = false", "The indices, int32, that sort x along an axis.", func(a *Args) (*uop.UOp, error) {
		_, at, err := tensor.Sort(a.X, a.axis("dim"), a.bool("descending"))
		return at, err
	}),
	several("values indices", "topk", "k int, dim int = -1, largest bool = true, sorted_ bool = true",
		"The k largest (or smallest) values along an axis in order, and their indices.",
		func(a *Args) ([]*uop.UOp, error) {
			return pair(tensor.TopK(a.X, a.int("k"), a.axis("dim"), a.bool("largest")))
		}),
	method("searchsorted", "values tensor, right bool = false", `The indices, int32, where inserting values keeps the last axis of x sorted.
An index is that of the first equal element, or with right the one behind the last. x is a vector, or has the shape of values except for the last
axis. NaN counts as the greatest number.`, func(a *Args) (*uop.UOp, error) {
		return tensor.SearchSorted(a.X, a.tensor("values"), a.bool("right"))
	}),
	method("isin", "values tensor", "Whether each element is one of values: bool. NaN is equal to none.", func(a *Args) (*uop.UOp, error) {
		return tensor.IsIn(a.X, a.tensor("values"))
	}),
	several("values inverse counts", "unique", "", `The distinct elements of the flattened tensor in ascending order, the index of each element among them, and their counts.
All NaN count as one element. The tensor is computed at once.`, func(a *Args) ([]*uop.UOp, error) {
		order, err := a.computed(a.order())
		if err != nil {
			return nil, err
		}
		first, err := a.computed(tensor.Distinct(a.X, order))
		if err != nil {
			return nil, err
		}
		n, err := a.count(first)
		if err != nil {
			return nil, err
		}
		values, inverse, counts, err := tensor.Unique(a.X, order, first, n)
		return []*uop.UOp{values, inverse, counts}, err
	}),
	method("bincount", "weights tensor?, minlength int = 0", `The number of elements equal to 0, 1, … up to the greatest element, int32; with weights, the sum of their weights.
The result has at least minlength elements. The tensor is computed at once. A negative element is an error if the tensor was already computed, and is
not counted otherwise.`, func(a *Args) (*uop.UOp, error) {
		n := a.int("minlength")
		if n < 0 {
			return nil, bad("minlength", "%d, expected 0 or more", n)
		}
		if _, err := tensor.BinCount(a.X, a.tensor("weights"), 0); err != nil { // of a wrong type
			return nil, err
		}
		if a.X.Shape().MaxNumel() > 0 {
			classes, negative, err := a.classCount()
			if err != nil {
				return nil, err
			}
			n = max(n, classes)
			if negative {
				if wrong, found := a.Elements.outside(a.X, 0, n-1); found {
					return nil, bad("x", "has an element %d, expected 0 or more", wrong)
				}
			}
		}
		return tensor.BinCount(a.X, a.tensor("weights"), n)
	}),
	several("counts edges", "histogram", "bins int = 10, low float?, high float?", `The number of elements in each of bins intervals of equal width from low to high, int32, and the bins + 1 edges.
low and high are the least and the greatest element unless given. An interval includes its lower edge; the last one includes both edges. NaN is not
counted.`,
		func(a *Args) ([]*uop.UOp, error) {
			bound := func(name string) *float64 {
				if !a.given(name) {
					return nil
				}
				v := a.float(name)
				return &v
			}
			return pair(tensor.Histogram(a.X, a.int("bins"), bound("low"), bound("high")))
		}),
}

func weightAndBias(x, weight, bias *uop.UOp, err error) (*uop.UOp, error) {
	if err == nil && weight != nil {
		x, err = tensor.Mul(x, weight)
	}
	if err == nil && bias != nil {
		x, err = tensor.Add(x, bias)
	}
	return x, err
}

var norms = []Op{
	method("layernorm", "axis axes = -1, eps float = 1e-05, weight tensor?, bias tensor?",
		"(x - mean) / sqrt(variance + eps) along axes, times weight, plus bias (Ba et al., arXiv:1607.06450).", func(a *Args) (*uop.UOp, error) {
			u, err := tensor.LayerNorm(a.X, a.axes("axis"), a.float("eps"))
			return weightAndBias(u, a.tensor("weight"), a.tensor("bias"), err)
		}),
	method("rmsnorm", "eps float = 1e-05, weight tensor?",
		"x / sqrt(mean(x^2) + eps) along the last axis, times weight (Zhang and Sennrich, arXiv:1910.07467).", func(a *Args) (*uop.UOp, error) {
			u, err := tensor.RMSNorm(a.X, a.float("eps"))
			return weightAndBias(u, a.tensor("weight"), nil, err)
		}),
	method("groupnorm", "groups int, eps float = 1e-05, weight tensor?, bias tensor?",
		"Each group of channels of (N, C, …) normalised, times weight (C), plus bias (C) (Wu and He, arXiv:1803.08494).", func(a *Args) (*uop.UOp, error) {
			return tensor.GroupNorm(a.X, a.int("groups"), a.tensor("weight"), a.tensor("bias"), a.float("eps"))
		}),
	method("batchnorm", "weight tensor?, bias tensor?, mean tensor, invstd tensor, axis axes = 1",
		"(x - mean) * invstd * weight + bias, with parameters along axis (Ioffe and Szegedy, arXiv:1502.03167).", func(a *Args) (*uop.UOp, error) {
			return tensor.BatchNorm(a.X, a.tensor("weight"), a.tensor("bias"), a.tensor("mean"), a.tensor("invstd"), a.axes("axis"))
		}),
	several("mean variance", "batchnorm_stats", "", "The mean and the population variance of each channel of (N, C, …).", func(a *Args) ([]*uop.UOp, error) {
		return pair(tensor.BatchStats(a.X))
	}),
}
