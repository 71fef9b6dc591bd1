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
