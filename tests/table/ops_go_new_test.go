package table

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func init() {
	for name, f := range goSpatial {
		goOps[name] = f
	}
	for name, f := range goArrays {
		goOps[name] = f
	}
	for name, f := range goSamples {
		goOps[name] = f
	}
}

// perAxis is a list of n numbers, given as such or as one for all; nil if it is not given.
func (c *Case) perAxis(name string, n int) []int64 {
	list := c.Ints(name)
	for len(list) == 1 && len(list) < n {
		for len(list) < n {
			list = append(list, list[0])
		}
	}
	return list
}

// padding is before and after each of n axes; two numbers for each axis begin with the last one.
func (c *Case) padding(n int) [][2]int64 {
	if list := c.Ints("padding"); len(list) == 2*n && n > 0 {
		out := make([][2]int64, n)
		for i := range out {
			out[n-1-i] = [2]int64{list[2*i], list[2*i+1]}
		}
		return out
	}
	var out [][2]int64
	for _, p := range c.perAxis("padding", n) {
		out = append(out, [2]int64{p, p})
	}
	return out
}

// window is how windows slide over n axes.
func (c *Case) window(n int) tensor.Window {
	return tensor.Window{
		Stride: c.perAxis("stride", n), Dilation: c.perAxis("dilation", n), Padding: c.padding(n), CeilMode: c.Bool("ceil_mode", false),
	}
}

// spatial is the number of axes that windows of a weight have.
func (c *goCall) spatial() int { return len(c.x[1].Shape()) - 2 }

var goSpatial = map[string]goOp{
	"conv2d": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Conv(c.x[0], c.x[1], c.optional("bias"), c.Int("groups", 1), c.window(c.spatial())))
	},
	"conv_transpose2d": func(c *goCall) ([]*uop.UOp, error) {
		n := c.spatial()
		return one(tensor.ConvTranspose(c.x[0], c.x[1], c.optional("bias"), c.Int("groups", 1), c.window(n), c.perAxis("output_padding", n)))
	},
	"avg_pool2d": func(c *goCall) ([]*uop.UOp, error) {
		k := c.Ints("kernel_size")
		return one(tensor.AvgPool(c.x[0], k, c.window(len(k)), c.Bool("count_include_pad", true)))
	},
	"max_pool2d": func(c *goCall) ([]*uop.UOp, error) {
		k := c.Ints("kernel_size")
		if c.Bool("return_indices", false) {
			return pair(tensor.MaxPoolIndices(c.x[0], k, c.window(len(k))))
		}
		return one(tensor.MaxPool(c.x[0], k, c.window(len(k))))
	},
	"max_unpool2d": func(c *goCall) ([]*uop.UOp, error) {
		k := c.Ints("kernel_size")
		return one(tensor.MaxUnpool(c.x[0], c.optional("indices"), k, c.window(len(k)), c.Ints("output_size")))
	},
	"interpolate": func(c *goCall) ([]*uop.UOp, error) {
		modes := map[string]tensor.Interpolation{"linear": tensor.Bilinear, "nearest": tensor.Nearest, "nearest-exact": tensor.NearestExact}
		return one(tensor.Interpolate(c.x[0], c.Ints("size"), modes[c.Text("mode", "linear")], c.Bool("align_corners", false)))
	},
	"rmsnorm": func(c *goCall) ([]*uop.UOp, error) {
		u, err := tensor.RMSNorm(c.x[0], c.Float("eps", 1e-6))
		return one(scaled(u, c.optional("weight"), nil, err))
	},
	"layernorm": func(c *goCall) ([]*uop.UOp, error) {
		axes := toInts(c.Ints("axis"))
		if axes == nil {
			axes = []int{-1}
		}
		u, err := tensor.LayerNorm(c.x[0], axes, c.Float("eps", 1e-5))
		return one(scaled(u, c.optional("weight"), c.optional("bias"), err))
	},
	"groupnorm": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.GroupNorm(c.x[0], c.Int("groups", 1), c.optional("weight"), c.optional("bias"), c.Float("eps", 1e-5)))
	},
	"batchnorm_stats": func(c *goCall) ([]*uop.UOp, error) { return pair(tensor.BatchStats(c.x[0])) },
	"batchnorm": func(c *goCall) ([]*uop.UOp, error) {
		axes := toInts(c.Ints("axis"))
		if axes == nil {
			axes = []int{1}
		}
		return one(tensor.BatchNorm(c.x[0], c.optional("weight"), c.optional("bias"), c.optional("mean"), c.optional("invstd"), axes))
	},
}

// scaled is x * weight + bias, where these are given.
func scaled(x, weight, bias *uop.UOp, err error) (*uop.UOp, error) {
	if err == nil && weight != nil {
		x, err = tensor.Mul(x, weight)
	}
	if err == nil && bias != nil {
		x, err = tensor.Add(x, bias)
	}
	return x, err
}

// count computes how many elements of a tensor are not 0.
func (c *goCall) count(u *uop.UOp) (int64, error) {
	b, err := tensor.Cast(u, uop.Bool)
	if err == nil {
		b, err = tensor.Sum(b, nil, false)
	}
	if err != nil {
		return 0, err
	}
	values, err := c.values(b)
	if err != nil {
		return 0, err
	}
	return values[0].I(), nil
}

func closeness(f func(a, b *uop.UOp, rtol, atol float64, equalNaN bool) (*uop.UOp, error)) goOp {
	return func(c *goCall) ([]*uop.UOp, error) {
		return one(f(c.x[0], c.x[1], c.Float("rtol", 1e-5), c.Float("atol", 1e-8), c.Bool("equal_nan", false)))
	}
}

func extreme(f func(*uop.UOp, int) (*uop.UOp, *uop.UOp, error)) goOp {
	return func(c *goCall) ([]*uop.UOp, error) { return pair(f(c.x[0], int(c.Int("axis", 0)))) }
}

var goArrays = map[string]goOp{
	"isclose":      closeness(tensor.IsClose),
	"allclose":     closeness(tensor.AllClose),
	"cumprod":      along(tensor.CumProd, "axis", 0),
	"logcumsumexp": along(tensor.LogCumSumExp, "axis", 0),
	"cummax":       extreme(tensor.CumMax),
	"cummin":       extreme(tensor.CumMin),
	"sort": func(c *goCall) ([]*uop.UOp, error) {
		return pair(tensor.Sort(c.x[0], int(c.Int("dim", -1)), c.Bool("descending", false)))
	},
	"argsort": func(c *goCall) ([]*uop.UOp, error) {
		_, at, err := tensor.Sort(c.x[0], int(c.Int("dim", -1)), c.Bool("descending", false))
		return one(at, err)
	},
	"topk": func(c *goCall) ([]*uop.UOp, error) {
		return pair(tensor.TopK(c.x[0], c.Int("k", 0), int(c.Int("dim", -1)), c.Bool("largest", true)))
	},
	"repeat_interleave": func(c *goCall) ([]*uop.UOp, error) {
		x := c.x[0]
		if !c.Has("dim") {
			flat, err := tensor.Flatten(x, 0, -1)
			if err != nil {
				return nil, err
			}
			x = flat
		}
		return one(tensor.RepeatInterleave(x, c.Int("repeats", 1), int(c.Int("dim", 0))))
	},
	"unfold": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Unfold(c.x[0], int(c.Int("dim", 0)), c.Int("size", 1), c.Int("step", 1)))
	},
	"roll": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Roll(c.x[0], c.Ints("shifts"), toInts(c.Ints("dims"))))
	},
	"diagonal": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Diagonal(c.x[0], c.Int("offset", 0), int(c.Int("dim1", 0)), int(c.Int("dim2", 1))))
	},
	"meshgrid": func(c *goCall) ([]*uop.UOp, error) { return tensor.Meshgrid(c.x, c.Text("indexing", "ij") == "xy") },
	"index_select": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.IndexSelect(c.x[0], int(c.Int("dim", 0)), c.optional("index")))
	},
	"scatter": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Scatter(c.x[0], int(c.Int("dim", 0)), c.optional("index"), c.src()))
	},
	"scatter_reduce": func(c *goCall) ([]*uop.UOp, error) {
		modes := map[string]tensor.ScatterMode{
			"sum": tensor.ScatterSum, "prod": tensor.ScatterProd, "mean": tensor.ScatterMean, "amax": tensor.ScatterMax, "amin": tensor.ScatterMin,
		}
		mode, ok := modes[c.Text("reduce", "")]
		if !ok {
			return nil, fmt.Errorf("reduce: unknown name %q", c.Text("reduce", ""))
		}
		return one(tensor.ScatterReduce(c.x[0], int(c.Int("dim", 0)), c.optional("index"), c.optional("src"), mode, c.Bool("include_self", true)))
	},
	"masked_select": func(c *goCall) ([]*uop.UOp, error) {
		mask := c.optional("mask")
		wide, err := tensor.Expand(mask, c.x[0].Shape())
		if err != nil {
			return nil, err
		}
		n, err := c.count(wide)
		if err != nil {
			return nil, err
		}
		return one(tensor.MaskedSelect(c.x[0], mask, n))
	},
	"nonzero": func(c *goCall) ([]*uop.UOp, error) {
		n, err := c.count(c.x[0])
		if err != nil {
			return nil, err
		}
		return one(tensor.NonZero(c.x[0], n))
	},
	"matmul": func(c *goCall) ([]*uop.UOp, error) {
		if c.Has("dtype") {
			return one(tensor.MatMulAs(c.x[0], c.x[1], c.dtype(nil)))
		}
		return one(tensor.MatMul(c.x[0], c.x[1]))
	},
	"slogdet": func(c *goCall) ([]*uop.UOp, error) { return pair(tensor.SlogDet(c.x[0])) },
	"eigh":    func(c *goCall) ([]*uop.UOp, error) { return pair(tensor.Eigh(c.x[0], c.Bool("upper", false))) },
	"lstsq": func(c *goCall) ([]*uop.UOp, error) {
		x, squares, rank, s, err := tensor.LeastSquares(c.x[0], c.x[1], c.Float("rcond", -1))
		return []*uop.UOp{x, squares, rank, s}, err
	},
	"keccak": func(c *goCall) ([]*uop.UOp, error) {
		s := sponges[c.Text("cfg", "sha3_256")]
		return one(tensor.Keccak(c.x[0], int64(s[0]), byte(s[1])))
	},
	"hardsigmoid": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.HardSigmoidBy(c.x[0], c.Float("alpha", 1.0/6), c.Float("beta", 0.5)))
	},
	"qr": func(c *goCall) ([]*uop.UOp, error) { return pair(tensor.QR(c.x[0])) },
	"svd": func(c *goCall) ([]*uop.UOp, error) {
		u, s, vt, err := tensor.SVD(c.x[0], c.Bool("full_matrices", true))
		return []*uop.UOp{u, s, vt}, err
	},
	"newton_schulz": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.NewtonSchulz(c.x[0], int(c.Int("steps", 1)), c.Floats("params"), c.Float("eps", 1e-7)))
	},
	"nll_loss": func(c *goCall) ([]*uop.UOp, error) {
		r, err := c.reduction()
		if err != nil {
			return nil, err
		}
		var ignore *int
		if c.Has("ignore_index") {
			n := int(c.Int("ignore_index", 0))
			ignore = &n
		}
		return one(tensor.NLLLoss(c.x[0], c.x[1], c.optional("weight"), ignore, r))
	},
	"mse_loss": distance(func(c *goCall, r tensor.Reduction) (*uop.UOp, error) { return tensor.MSELoss(c.x[0], c.x[1], r) }),
	"l1_loss":  distance(func(c *goCall, r tensor.Reduction) (*uop.UOp, error) { return tensor.L1Loss(c.x[0], c.x[1], r) }),
	"huber_loss": distance(func(c *goCall, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.HuberLoss(c.x[0], c.x[1], c.Float("delta", 1), r)
	}),
}

// src is what scatter writes: a tensor or a number.
func (c *goCall) src() *uop.UOp {
	if u := c.optional("src"); u != nil {
		return u
	}
	n, err := c.argument("src")
	if err != nil {
		panic(err)
	}
	u, err := tensor.FullLike(c.optional("index"), n)
	if err != nil {
		panic(err)
	}
	return u
}

func distance(f func(*goCall, tensor.Reduction) (*uop.UOp, error)) goOp {
	return func(c *goCall) ([]*uop.UOp, error) {
		r, err := c.reduction()
		if err != nil {
			return nil, err
		}
		return one(f(c, r))
	}
}

func initial(scheme tensor.InitScheme) goOp {
	return drawn(func(c *goCall, s uop.Shape) (*uop.UOp, error) {
		return tensor.InitSeeded(scheme, s, c.Float("a", 0.01), c.dtype(uop.Float32), c.seed(0))
	})
}

var goSamples = map[string]goOp{
	"uniform": drawn(func(c *goCall, s uop.Shape) (*uop.UOp, error) {
		return tensor.UniformSeeded(s, c.Float("low", 0), c.Float("high", 1), c.dtype(uop.Float32), c.seed(0))
	}),
	"normal": drawn(func(c *goCall, s uop.Shape) (*uop.UOp, error) {
		return tensor.NormalSeeded(s, c.Float("mean", 0), c.Float("std", 1), c.dtype(uop.Float32), c.seed(0))
	}),
	"scaled_uniform":  initial(tensor.InitScaledUniform),
	"glorot_uniform":  initial(tensor.InitGlorotUniform),
	"kaiming_uniform": initial(tensor.InitKaimingUniform),
	"kaiming_normal":  initial(tensor.InitKaimingNormal),
	"randperm": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.RandPermSeeded(c.Int("n", 0), c.dtype(uop.Int32), c.seed(0)))
	},
	"multinomial": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.MultinomialSeeded(c.x[0], c.Int("num_samples", 1), c.Bool("replacement", false), c.seed(0)))
	},
	"rand": drawn(func(c *goCall, s uop.Shape) (*uop.UOp, error) {
		if !c.dtype(uop.Float32).IsFloat() {
			return nil, fmt.Errorf("dtype: %s, expected a floating type", c.dtype(uop.Float32))
		}
		return tensor.RandSeeded(s, uop.Float32, c.seed(0))
	}),
}

// sponges are the rates and suffixes of the hashes that the table names.
var sponges = map[string][2]int{"sha3_224": {144, 6}, "sha3_256": {136, 6}, "shake_128": {168, 31}, "shake_256": {136, 31}}
