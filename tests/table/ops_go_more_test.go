package table

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// number1 is an operation of a tensor and a number that has a default.
func number1(f func(*uop.UOp, float64) (*uop.UOp, error), name string, missing float64) goOp {
	return func(c *goCall) ([]*uop.UOp, error) { return one(f(c.x[0], c.Float(name, missing))) }
}

// along is an operation along one axis.
func along(f func(*uop.UOp, int) (*uop.UOp, error), name string, missing int64) goOp {
	return func(c *goCall) ([]*uop.UOp, error) { return one(f(c.x[0], int(c.Int(name, missing)))) }
}

// filled is a tensor of one value.
func filled(value uop.Const) goOp {
	return func(c *goCall) ([]*uop.UOp, error) {
		s, err := c.sizes()
		if err != nil {
			return nil, err
		}
		return one(tensor.Full(c.g, s, value, c.dtype(uop.Float32)))
	}
}

// like is a tensor of one value with the shape and type of another.
func like(value func(c *goCall) uop.Const) goOp {
	return func(c *goCall) ([]*uop.UOp, error) { return one(tensor.FullLike(c.x[0], value(c))) }
}

// drawn is a random tensor.
func drawn(f func(c *goCall, s uop.Shape) (*uop.UOp, error)) goOp {
	return func(c *goCall) ([]*uop.UOp, error) {
		s, err := c.sizes()
		if err != nil {
			return nil, err
		}
		if len(c.x) > 0 {
			s = c.x[0].Shape()
		}
		u, err := f(c, s)
		if err != nil {
			return nil, err
		}
		return one(tensor.Cast(u, c.dtype(u.DType)))
	}
}

func (c *goCall) argument(name string) (uop.Const, error) { return number(c.Args[name]) }

var goOthers = map[string]goOp{
	// elementwise
	"leaky_relu": number1(tensor.LeakyRelu, "neg_slope", 0.01),
	"elu":        number1(tensor.Elu, "alpha", 1),
	"celu":       number1(tensor.Celu, "alpha", 1),
	"softplus":   number1(tensor.Softplus, "beta", 1),
	"selu": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Selu(c.x[0], c.Float("alpha", 1.67326), c.Float("gamma", 1.0507)))
	},
	"hardtanh": func(c *goCall) ([]*uop.UOp, error) {
		if !c.Has("min_val") {
			c.Args = map[string]any{"min_val": "-1", "max_val": "1"}
		}
		return c.clamp("min_val", "max_val")
	},
	"clamp": func(c *goCall) ([]*uop.UOp, error) { return c.clamp("min_", "max_") },
	"clip":  func(c *goCall) ([]*uop.UOp, error) { return c.clamp("min_", "max_") },
	"cast":  func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Cast(c.x[0], c.dtype(nil))) },
	"bitcast": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Bitcast(c.x[0], c.dtype(nil)))
	},
	"where": func(c *goCall) ([]*uop.UOp, error) {
		near := c.x[1]
		if near == nil {
			near = c.x[2]
		}
		x, err := c.operand(1, near)
		if err != nil {
			return nil, err
		}
		y, err := c.operand(2, near)
		if err != nil {
			return nil, err
		}
		return one(tensor.Where(c.x[0], x, y))
	},
	"masked_fill": func(c *goCall) ([]*uop.UOp, error) {
		v, err := c.operand(2, c.x[0])
		if err != nil {
			return nil, err
		}
		return one(tensor.Where(c.x[1], v, c.x[0]))
	},
	"lerp": func(c *goCall) ([]*uop.UOp, error) {
		w, err := c.operand(2, c.x[0])
		if err != nil {
			return nil, err
		}
		return one(tensor.Lerp(c.x[0], c.x[1], w))
	},

	// reductions
	"sum": func(c *goCall) ([]*uop.UOp, error) {
		axes, keep := toInts(c.Ints("axis")), c.Bool("keepdim", false)
		if c.Has("dtype") {
			return one(tensor.SumAs(c.x[0], c.dtype(nil), axes, keep))
		}
		return one(tensor.Sum(c.x[0], axes, keep))
	},
	"prod": func(c *goCall) ([]*uop.UOp, error) {
		axes, keep := toInts(c.Ints("axis")), c.Bool("keepdim", false)
		if c.Has("dtype") {
			return one(tensor.ProdAs(c.x[0], c.dtype(nil), axes, keep))
		}
		return one(tensor.Prod(c.x[0], axes, keep))
	},
	"var": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Var(c.x[0], toInts(c.Ints("axis")), c.Bool("keepdim", false), c.Float("correction", 1)))
	},
	"std": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Std(c.x[0], toInts(c.Ints("axis")), c.Bool("keepdim", false), c.Float("correction", 1)))
	},
	"cumsum":  along(tensor.CumSum, "axis", 0),
	"softmax": along(func(x *uop.UOp, axis int) (*uop.UOp, error) { return tensor.Softmax(x, axis) }, "axis", -1),
	"log_softmax": along(func(x *uop.UOp, axis int) (*uop.UOp, error) {
		return tensor.LogSoftmax(x, axis)
	}, "axis", -1),

	// movement
	"reshape": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Reshape(c.x[0], uop.ShapeOf(c.Ints("shape")...)))
	},
	"view": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Reshape(c.x[0], uop.ShapeOf(c.Ints("shape")...)))
	},
	"expand": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Expand(c.x[0], uop.ShapeOf(c.Ints("shape")...)))
	},
	"permute": func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Permute(c.x[0], toInts(c.Ints("order"))...)) },
	"transpose": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Transpose(c.x[0], int(c.Int("dim0", 1)), int(c.Int("dim1", 0))))
	},
	"flip": func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Flip(c.x[0], toInts(c.Ints("axis"))...)) },
	"squeeze": func(c *goCall) ([]*uop.UOp, error) {
		if !c.Has("dim") {
			return one(tensor.SqueezeAll(c.x[0]))
		}
		return one(tensor.Squeeze(c.x[0], int(c.Int("dim", 0))))
	},
	"unsqueeze": along(tensor.Unsqueeze, "dim", 0),
	"flatten": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Flatten(c.x[0], int(c.Int("start_dim", 0)), int(c.Int("end_dim", -1))))
	},
	"unflatten": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Unflatten(c.x[0], int(c.Int("dim", 0)), uop.ShapeOf(c.Ints("sizes")...)))
	},
	"repeat": func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Repeat(c.x[0], c.Ints("repeats")...)) },
	"shrink": func(c *goCall) ([]*uop.UOp, error) {
		s, _ := c.x[0].Shape().Ints()
		return one(tensor.Shrink(c.x[0], c.pairs("arg", len(s), func(i int) [2]int64 { return [2]int64{0, s[i]} })))
	},
	"pad": func(c *goCall) ([]*uop.UOp, error) {
		p := c.pairs("padding", len(c.x[0].Shape()), func(int) [2]int64 { return [2]int64{} })
		if mode := c.Text("mode", "constant"); mode != "constant" {
			modes := map[string]tensor.PadMode{"reflect": tensor.PadReflect, "replicate": tensor.PadReplicate, "circular": tensor.PadCircular}
			return one(tensor.PadWith(c.x[0], p, modes[mode]))
		}
		v := uop.Int(0)
		if c.Has("value") {
			v, _ = c.argument("value")
		}
		return one(tensor.Pad(c.x[0], p, v))
	},
	"rearrange": func(c *goCall) ([]*uop.UOp, error) {
		_, sizes := c.Lengths()
		return one(tensor.Rearrange(c.x[0], c.Text("formula", ""), sizes))
	},
	"tril":  func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Tril(c.x[0], c.Int("diagonal", 0))) },
	"triu":  func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Triu(c.x[0], c.Int("diagonal", 0))) },
	"cat":   func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Cat(c.x, int(c.Int("dim", 0)))) },
	"stack": func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Stack(c.x, int(c.Int("dim", 0)))) },
	"split": func(c *goCall) ([]*uop.UOp, error) {
		if _, list := c.Args["sizes"].([]any); list {
			return tensor.Split(c.x[0], c.Ints("sizes"), int(c.Int("dim", 0)))
		}
		return tensor.SplitEvery(c.x[0], c.Int("sizes", 0), int(c.Int("dim", 0)))
	},
	"chunk": func(c *goCall) ([]*uop.UOp, error) {
		return tensor.Chunk(c.x[0], c.Int("chunks", 0), int(c.Int("dim", 0)))
	},

	// indexing
	"getitem": func(c *goCall) ([]*uop.UOp, error) { return one(tensor.GetItem(c.in[0], c.items()...)) },
	"setitem": func(c *goCall) ([]*uop.UOp, error) {
		v, err := c.operand(1, c.in[0])
		if err != nil {
			return nil, err
		}
		return one(tensor.SetItem(c.in[0], v, c.items()...))
	},
	"gather": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Gather(c.x[0], int(c.Int("dim", 0)), c.optional("index")))
	},
	"one_hot": func(c *goCall) ([]*uop.UOp, error) { return one(tensor.OneHot(c.x[0], c.Int("num_classes", 0))) },

	// linear algebra
	"linear": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.Dense(c.x[0], c.x[1], c.optional("bias")))
	},
	"einsum":   func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Einsum(c.Text("formula", ""), c.x...)) },
	"cholesky": func(c *goCall) ([]*uop.UOp, error) { return one(tensor.Cholesky(c.x[0], c.Bool("upper", false))) },
	"triangular_solve": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.TriangularSolve(c.x[0], c.x[1], c.Bool("upper", false), c.Bool("transpose", false), c.Bool("unit_diagonal", false)))
	},
	"scaled_dot_product_attention": func(c *goCall) ([]*uop.UOp, error) {
		return one(tensor.ScaledDotProductAttention(c.x[0], c.x[1], c.x[2], tensor.AttentionOptions{
			Mask: c.optional("attn_mask"), Causal: c.Bool("is_causal", false), Grouped: c.Bool("enable_gqa", false),
		}))
	},

	// losses
	"cross_entropy": func(c *goCall) ([]*uop.UOp, error) {
		r, err := c.reduction()
		if err != nil {
			return nil, err
		}
		return one(tensor.CrossEntropy(c.x[0], c.x[1], int(c.Int("axis", int64(min(1, len(c.x[0].Shape())-1)))), r, c.Float("label_smoothing", 0)))
	},
	"sparse_categorical_crossentropy": func(c *goCall) ([]*uop.UOp, error) {
		r, err := c.reduction()
		if err != nil {
			return nil, err
		}
		return one(tensor.SparseCategoricalCrossEntropy(c.x[0], c.x[1], int(c.Int("ignore_index", -1)), r, c.Float("label_smoothing", 0)))
	},
	"binary_crossentropy": func(c *goCall) ([]*uop.UOp, error) {
		r, err := c.reduction()
		if err != nil {
			return nil, err
		}
		return one(tensor.BinaryCrossEntropy(c.x[0], c.x[1], r))
	},
	"binary_crossentropy_logits": func(c *goCall) ([]*uop.UOp, error) {
		r, err := c.reduction()
		if err != nil {
			return nil, err
		}
		return one(tensor.BinaryCrossEntropyLogits(c.x[0], c.x[1], r, c.optional("pos_weight")))
	},

	// creation
	"zeros":      filled(uop.Int(0)),
	"ones":       filled(uop.Int(1)),
	"zeros_like": like(func(*goCall) uop.Const { return uop.Int(0) }),
	"ones_like":  like(func(*goCall) uop.Const { return uop.Int(1) }),
	"full_like": like(func(c *goCall) uop.Const {
		v, _ := c.argument("fill_value")
		return v
	}),
	"full": func(c *goCall) ([]*uop.UOp, error) {
		v, err := c.argument("fill_value")
		if err != nil {
			return nil, err
		}
		return filled(v)(c)
	},
	"arange": func(c *goCall) ([]*uop.UOp, error) {
		var bounds [3]uop.Const
		for i, name := range []string{"start", "stop", "step"} {
			bounds[i] = uop.Int(int64(i / 2))
			if c.Has(name) {
				bounds[i], _ = c.argument(name)
			}
		}
		return one(tensor.Arange(c.g, bounds[0], bounds[1], bounds[2], c.dtype(nil)))
	},
	"linspace": func(c *goCall) ([]*uop.UOp, error) {
		start, stop := uop.Float(c.Float("start", 0)), uop.Float(c.Float("stop", 0))
		return one(tensor.Linspace(c.g, start, stop, c.Int("steps", 0), c.dtype(uop.Float32)))
	},
	"eye": func(c *goCall) ([]*uop.UOp, error) {
		n := c.Int("n", 0)
		return one(tensor.Eye(c.g, n, c.Int("m", n), c.dtype(uop.Float32)))
	},
	"randn": drawn(func(c *goCall, s uop.Shape) (*uop.UOp, error) { return tensor.RandnSeeded(s, c.seed(0)) }),
	"rand_like": drawn(func(c *goCall, s uop.Shape) (*uop.UOp, error) {
		return tensor.RandSeeded(s, uop.Float32, c.seed(0))
	}),
	"randn_like": drawn(func(c *goCall, s uop.Shape) (*uop.UOp, error) {
		return tensor.RandnSeeded(s, c.seed(0))
	}),
	"randint": drawn(func(c *goCall, s uop.Shape) (*uop.UOp, error) {
		return tensor.RandIntSeeded(s, c.Int("low", 0), c.Int("high", 10), c.dtype(uop.Int32), c.seed(0))
	}),
	"dropout": func(c *goCall) ([]*uop.UOp, error) {
		if !c.Training && c.Error == "" {
			return c.x, nil
		}
		return one(tensor.DropoutSeeded(c.x[0], c.Float("p", 0.5), c.seed(0)))
	},
}

// reduction is what a loss makes of the losses of the single samples.
func (c *goCall) reduction() (tensor.Reduction, error) {
	switch name := c.Text("reduction", "mean"); name {
	case "mean":
		return tensor.ReduceMean, nil
	case "sum":
		return tensor.ReduceSum, nil
	case "none":
		return tensor.ReduceNone, nil
	default:
		return 0, fmt.Errorf("reduction: unknown name %q", name)
	}
}
