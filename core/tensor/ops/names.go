package ops

import "strings"

// spelled are words of the names of operations that Go writes in its own way.
var spelled = map[string]string{
	"argmax": "ArgMax", "argmin": "ArgMin", "argsort": "ArgSort", "topk": "TopK", "isnan": "IsNaN", "isinf": "IsInf", "isfinite": "IsFinite",
	"isclose": "IsClose", "allclose": "AllClose", "logsumexp": "LogSumExp", "logaddexp": "LogAddExp", "logcumsumexp": "LogCumSumExp",
	"cumsum": "CumSum", "cumprod": "CumProd", "cummax": "CumMax", "cummin": "CumMin", "matmul": "MatMul", "floordiv": "FloorDiv",
	"copysign": "CopySign", "lshift": "ShiftLeft", "rshift": "ShiftRight", "getitem": "Index", "onehot": "OneHot", "layernorm": "LayerNorm",
	"rmsnorm": "RMSNorm", "groupnorm": "GroupNorm", "batchnorm": "BatchNorm", "nonzero": "NonZero", "searchsorted": "SearchSorted", "isin": "IsIn", "bincount": "BinCount", "logsigmoid": "LogSigmoid",
	"gelu": "GELU", "relu": "ReLU", "relu6": "ReLU6", "silu": "SiLU", "elu": "ELU", "celu": "CELU", "selu": "SELU", "mse": "MSE", "nll": "NLL",
	"svd": "SVD", "qr": "QR", "conv2d": "Conv2D", "pool2d": "Pool2D", "unpool2d": "Unpool2D", "transpose2d": "Transpose2D", "keepdim": "KeepDim",
	"dtype": "DType", "randint": "RandInt", "randperm": "RandPerm", "crossentropy": "CrossEntropy", "gqa": "GQA", "bfloat16": "BFloat16",
	"idiv": "TruncDiv", "fmod": "TruncMod", "logdet": "LogDet", "slogdet": "SLogDet", "hardtanh": "HardTanh", "hardswish": "HardSwish",
	"hardsigmoid": "HardSigmoid", "attn": "Attn", "cfg": "Config", "eps": "Eps", "lstsq": "LeastSquares",
}

// GoName is the Go name of a name in snake_case, with its package for a function of a module.
func GoName(name string) string {
	if module, function, is := strings.Cut(name, "."); is {
		return module + "." + GoName(function)
	}
	var b strings.Builder
	for word := range strings.SplitSeq(strings.TrimSuffix(name, "_"), "_") {
		if w, ok := spelled[word]; ok {
			b.WriteString(w)
		} else if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// firstOperands are NumPy's names of first operands that are not x, each with its functions.
var firstOperands = map[string]string{
	"a": `all any argmax argmin argpartition argsort argwhere average clip convolve correlate count_nonzero cross cumulative_sum cumulative_prod diagonal
		diff expand_dims fill_diagonal flatnonzero histogram histogram_bin_edges isclose kron max mean median min moveaxis nanargmax nanargmin nancumprod
		nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar nonzero outer packbits partition percentile
		permute_dims prod ptp put quantile ravel repeat resize roll rollaxis round searchsorted sort squeeze std sum swapaxes take tensordot trace
		unpackbits var`,
	"A": "tile", "a1": "array_equal polyadd polymul polysub", "ar1": "intersect1d setdiff1d setxor1d union1d",
	"arr": "delete insert put_along_axis take_along_axis tril_indices_from triu_indices_from", "array": "broadcast_to", "arrays": "concat stack", "ary": "ediff1d",
	"condition": "extract", "element": "isin", "f": "gradient", "indices": "unravel_index", "keys": "lexsort", "m": "cov flip rot90 tril triu",
	"p": "polyder polyint polyval roots unwrap", "multi_index": "ravel_multi_index", "seq_of_zeros": "poly", "u": "polydiv", "v": "diag diagflat",
	"val": "imag real", "y": "trapezoid", "z": "angle",
}

// inNumPysNames gives functions NumPy's names of their first operands.
func inNumPysNames(list []Op) []Op {
	names := map[string]string{}
	for first, functions := range firstOperands {
		for name := range strings.FieldsSeq(functions) {
			names["numpy."+name] = first
		}
	}
	for i := range list {
		if first := names[list[i].Name]; first != "" {
			list[i].First = first
			delete(names, list[i].Name)
		}
	}
	for name := range names {
		panic("ops: no function " + name)
	}
	return list
}
