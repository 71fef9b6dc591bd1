package ops

import (
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// hashes are the rates and suffixes of the functions of FIPS 202.
var hashes = map[string][2]int64{"sha3_224": {144, 6}, "sha3_256": {136, 6}, "sha3_384": {104, 6}, "sha3_512": {72, 6}, "shake_128": {168, 31}, "shake_256": {136, 31}}

const productDoc = "The matrix product x @ y over the last two axes; dtype is the type of the accumulator and the result."

func (a *Args) product(x, y *uop.UOp) (*uop.UOp, error) {
	if dt := a.dtype("dtype"); dt != nil {
		return tensor.MatMulAs(x, y, dt)
	}
	return tensor.MatMul(x, y)
}

var algebra = []Op{
	method("matmul", "x tensor, reverse bool = false, dtype dtype?", productDoc, func(a *Args) (*uop.UOp, error) {
		if a.bool("reverse") {
			return a.product(a.tensor("x"), a.X)
		}
		return a.product(a.X, a.tensor("x"))
	}),
	method("dot", "w tensor, dtype dtype?", productDoc, func(a *Args) (*uop.UOp, error) { return a.product(a.X, a.tensor("w")) }),
	method("linear", "weight tensor, bias tensor?, dtype dtype?", `x @ weight + bias, for weight (in, out) and bias (out).
A weight of one axis multiplies elementwise. A weight of shape (out, in) is transposed if only its transpose fits x. All three are converted to dtype
first, if given.`, func(a *Args) (*uop.UOp, error) {
		us, err := a.converted(a.X, a.tensor("weight"), a.tensor("bias"))
		if err != nil {
			return nil, err
		}
		return tensor.Dense(us[0], us[1], us[2])
	}),
	joiner("einsum", "formula text, dtype dtype?", `The Einstein summation of tensors by a formula such as "ij,jk->ik".
The tensors are converted to dtype first, if given.`, func(a *Args) (*uop.UOp, error) {
		us, err := a.converted(slices.Clone(a.Xs)...)
		if err != nil {
			return nil, err
		}
		return tensor.Einsum(a.text("formula"), us...)
	}),
	method("scaled_dot_product_attention", "key tensor, value tensor, attn_mask tensor?, dropout_p float = 0, is_causal bool = false, enable_gqa bool = false, scale float?",
		`softmax(scale * x @ key.T + attn_mask) @ value over the last two axes (Vaswani et al., arXiv:1706.03762).
scale is 1/sqrt(the size of the last axis) unless given. attn_mask is a bool mask, true for the keys that a query sees, or numbers that are added to
the scores; is_causal hides the keys after the query. With enable_gqa several heads of x (axis -3) share one head of key and value. In training mode
weights are dropped with probability dropout_p. It is unspecified whether a NaN in a hidden key or value reaches the result.`, func(a *Args) (*uop.UOp, error) {
			if a.given("scale") && a.float("scale") == 0 {
				return nil, bad("scale", "0, expected another number")
			}
			o := tensor.AttentionOptions{Mask: a.tensor("attn_mask"), Causal: a.bool("is_causal"), Grouped: a.bool("enable_gqa")}
			return a.attention(o)
		}),
	method("cdist", "x2 tensor, p float = 2", `The distances (…, P, R) between the rows of x (…, P, M) and the rows of x2 (…, R, M).
A distance is (sum |a - b|^p)^(1/p); for p = 0 the number of elements that differ, for infinite p the greatest |a - b|. The gradient of a distance
of 0 is 0.`, func(a *Args) (*uop.UOp, error) {
		return tensor.CDist(a.X, a.tensor("x2"), a.float("p"))
	}),
	method("cholesky", "upper bool = false", "The lower, or upper, Cholesky factor of symmetric or Hermitian positive definite matrices.\nThe shape is that of x (…, n, n). Only the lower triangle of x is read, or the upper one with upper; the gradient is that of a symmetric or Hermitian matrix, as in JAX and PyTorch. Factors of matrices that are not positive definite contain NaN.", func(a *Args) (*uop.UOp, error) {
		return tensor.Cholesky(a.X, a.bool("upper"))
	}),
	method("triangular_solve", "b tensor, upper bool = false, transpose bool = false, unit_diagonal bool = false", "The solution y of x @ y = b for triangular matrices x (…, n, n).\nb and y have the shape (n), (…, n) or (…, n, k). The other triangle of x is not read.",
		func(a *Args) (*uop.UOp, error) {
			return tensor.TriangularSolve(a.X, a.tensor("b"), a.bool("upper"), a.bool("transpose"), a.bool("unit_diagonal"))
		}),
	method("solve", "b tensor", "The solution y of x @ y = b for square matrices x (…, n, n).\nb and y have the shape (n), (…, n) or (…, n, k). y is infinite or NaN where x is singular.", func(a *Args) (*uop.UOp, error) {
		return tensor.Solve(a.X, a.tensor("b"))
	}),
	unary("inv", "The inverse of square matrices (…, n, n); infinite or NaN where they are singular.", tensor.Inv),
	unary("det", "The determinant, of shape (…), of square matrices (…, n, n).", tensor.Det),
	several("sign logabsdet", "slogdet", "", "The sign of the determinant, and the logarithm of its absolute value.\nBoth have the shape (…) for square matrices (…, n, n). The sign of complex numbers is x / |x|.", func(a *Args) ([]*uop.UOp, error) { return pair(tensor.SlogDet(a.X)) }),
	several("q r", "qr", "", "The QR decomposition x = q @ r: q is orthogonal or unitary, r is upper triangular.\nFor matrices (…, m, n), q is (…, m, m) and r (…, m, n).", func(a *Args) ([]*uop.UOp, error) { return pair(tensor.QR(a.X)) }),
	several("u s vt", "svd", "full_matrices bool = true", "The singular value decomposition x = u @ diag(s) @ vt; s is in descending order.\nFor matrices (…, m, n) with k = min(m, n), s is (…, k). u is (…, m, m) and vt (…, n, n), or without full_matrices (…, m, k) and (…, k, n).", func(a *Args) ([]*uop.UOp, error) {
		u, s, vt, err := tensor.SVD(a.X, a.bool("full_matrices"))
		return []*uop.UOp{u, s, vt}, err
	}),
	several("values vectors", "eigh", "upper bool = false", "The eigenvalues (…, n) in ascending order, and the eigenvectors as columns (…, n, n).\nMatrices (…, n, n) are symmetric or Hermitian: only the lower triangle is read, or the upper one with upper.", func(a *Args) ([]*uop.UOp, error) {
		return pair(tensor.Eigh(a.X, a.bool("upper")))
	}),
	several("x residuals rank s", "lstsq", "b tensor, rcond float?", `The least squares solution of x @ y = b, the residuals, the rank and the singular values.
Singular values up to rcond times the greatest one count as 0. Unless rcond is given, the solution and the rank come from QR with column pivoting,
where diagonal elements of r up to max(m, n) times the machine epsilon times the first one count as 0; s is computed only where it is used.`, leastSquares),
	method("newton_schulz", "steps int, params floats, eps float = 1e-07", "Newton-Schulz iteration: an odd polynomial, applied steps times, moves singular values towards 1.",
		func(a *Args) (*uop.UOp, error) {
			return tensor.NewtonSchulz(a.X, int(a.int("steps")), get[[]float64](a, "params"), a.float("eps"))
		}),
	method("keccak", "cfg ints|text = sha3_256 {sha3_224 sha3_256 sha3_384 sha3_512 shake_128 shake_256}", `The hash of the bytes of the last axis by a function of FIPS 202.
cfg is the name of the function, or its rate in bytes and the suffix that it appends to a message. The last axis of the result, uint8, has
(200 - rate) / 2 bytes. The blocks of a message are hashed one after the other; for long messages hash is faster.`, func(a *Args) (*uop.UOp, error) {
		h := hashes[a.text("cfg")]
		if given := a.ints("cfg"); given != nil {
			if len(given) != 2 || given[1] != int64(byte(given[1])) {
				return nil, bad("cfg", "%v, expected a name, or a rate and a number of a byte", given)
			}
			h = [2]int64(given)
		}
		return tensor.Keccak(a.X, h[0], byte(h[1]))
	}),
	unary("hash", `A hash of 16 bytes, uint8, of all bytes of the tensor.
It is a tree of SHAKE128 over blocks of 4096 bytes. The last chunk of 2^20 bytes is padded with zeros, so even a small tensor takes the time of one
chunk.`, tensor.Hash),
}

// converted are tensors as those of the argument dtype, if it is given.
func (a *Args) converted(us ...*uop.UOp) ([]*uop.UOp, error) {
	dt := a.dtype("dtype")
	if dt == nil {
		return us, nil
	}
	for i, u := range us {
		if u == nil {
			continue
		}
		var err error
		if us[i], err = tensor.Cast(u, dt); err != nil {
			return nil, err
		}
	}
	return us, nil
}

// dequantize is the operation for a quantised type of a file.
var dequantize = method("dequantize", "type int, n int", "The n numbers that blocks of bytes of a quantised type of ggml encode; type is the number of that type in ggml.", func(a *Args) (*uop.UOp, error) {
	return tensor.Dequantize(a.X, int(a.int("type")), a.int("n"))
})

func (a *Args) attention(o tensor.AttentionOptions) (*uop.UOp, error) {
	o.Scale = a.float("scale")
	if p := a.float("dropout_p"); p != 0 && a.Training {
		o.Dropout = p
		s, err := scores(a.X.Shape(), a.tensor("key").Shape())
		if err != nil {
			return nil, err
		}
		if o.Seed, err = a.seed(s, 4); err != nil {
			return nil, err
		}
	}
	return tensor.ScaledDotProductAttention(a.X, a.tensor("key"), a.tensor("value"), o)
}

// scores is the shape of the products of queries (…, L, d) and keys (…, S, d): (…, L, S).
func scores(queries, keys uop.Shape) (uop.Shape, error) {
	if len(queries) < 2 || len(keys) < 2 {
		return nil, bad("key", "has shape %s, expected 2 axes or more", keys)
	}
	batch, others := slices.Clone(queries[:len(queries)-2]), keys[:len(keys)-2]
	for len(batch) < len(others) {
		batch = slices.Insert(batch, 0, uop.N(1))
	}
	for i, d := range others {
		if j := len(batch) - len(others) + i; d.Max() > batch[j].Max() {
			batch[j] = d
		}
	}
	return append(batch, queries[len(queries)-2], keys[len(keys)-2]), nil
}

const pool = "kernel_size ints = 2 2, stride ints?, dilation ints = 1, padding ints = 0, ceil_mode bool = false"

const slide = "stride ints = 1, dilation ints = 1, padding ints = 0"

var interpolations = map[string]tensor.Interpolation{"linear": tensor.Bilinear, "nearest": tensor.Nearest, "nearest-exact": tensor.NearestExact, "bilinear": tensor.Bilinear,
	"trilinear": tensor.Bilinear, "bicubic": tensor.Cubic, "area": tensor.Area}

var spatial = []Op{
	method("conv2d", "weight tensor, bias tensor?, groups int = 1, "+slide+", dtype dtype?", `The convolution of (N, in, …) with weight (out, in/groups, …), plus bias (out), over any number of axes.
An axis of size i becomes (i + padding - dilation * (kernel - 1) - 1) // stride + 1 long. x and weight are converted to dtype first, if given.`,
		func(a *Args) (*uop.UOp, error) {
			n, err := a.spatialAxes()
			if err != nil {
				return nil, err
			}
			us, err := a.converted(a.X, a.tensor("weight"))
			if err != nil {
				return nil, err
			}
			return tensor.Conv(us[0], us[1], a.tensor("bias"), a.int("groups"), a.window(n))
		}),
	method("conv_transpose2d", "weight tensor, bias tensor?, groups int = 1, "+slide+", output_padding ints = 0",
		"The transposed convolution, the gradient of conv2d with respect to its input, for weight (in, out/groups, …).", func(a *Args) (*uop.UOp, error) {
			n, err := a.spatialAxes()
			if err != nil {
				return nil, err
			}
			return tensor.ConvTranspose(a.X, a.tensor("weight"), a.tensor("bias"), a.int("groups"), a.window(n), a.perAxis("output_padding", n))
		}),
	method("avg_pool2d", pool+", count_include_pad bool = true",
		"The mean of windows over the last axes, one for each size in kernel_size. stride is kernel_size unless given.", func(a *Args) (*uop.UOp, error) {
			k := a.ints("kernel_size")
			return tensor.AvgPool(a.X, k, a.pooling(len(k)), a.bool("count_include_pad"))
		}),
	method("max_pool2d", pool, "The maximum of windows over the last axes, one for each size in kernel_size. stride is kernel_size unless given.", func(a *Args) (*uop.UOp, error) {
		k := a.ints("kernel_size")
		return tensor.MaxPool(a.X, k, a.pooling(len(k)))
	}),
	several("values indices", "max_pool2d_with_indices", pool, "The result of max_pool2d, and the index of each maximum in the flattened last axes.", func(a *Args) ([]*uop.UOp, error) {
		k := a.ints("kernel_size")
		return pair(tensor.MaxPoolIndices(a.X, k, a.pooling(len(k))))
	}),
	method("max_unpool2d", "indices tensor, kernel_size ints = 2 2, stride ints?, dilation ints = 1, padding ints = 0, output_size ints?",
		`The partial inverse of max_pool2d_with_indices: the elements of x at indices, 0 elsewhere.
output_size is the shape of the result, or of its last axes; unless given, the smallest shape that the pool reduces to that of x.`+doesNothing, func(a *Args) (*uop.UOp, error) {
			k, size := a.ints("kernel_size"), a.ints("output_size")
			size = size[max(0, len(size)-len(k)):]
			u, err := tensor.MaxUnpool(a.X, a.tensor("indices"), k, a.window(len(k)), size)
			if err != nil {
				return nil, err
			}
			s := u.Shape()
			room := s[len(s)-len(k):].MaxNumel()
			if wrong, found := a.Elements.outside(a.tensor("indices"), 0, room-1); found {
				return nil, bad("indices", "%d is out of bounds for %d elements of the last axes", wrong, room)
			}
			return u, nil
		}),
	method("im2col", "kernel_size ints, dilation ints = 1, padding ints = 0, stride ints = 1", `The windows of (N, C, …) as columns (N, C * kernel, L), as torch.nn.functional.unfold.
kernel_size has a number for each axis after C; L is the number of windows, in row-major order.`, func(a *Args) (*uop.UOp, error) {
		k := a.ints("kernel_size")
		return tensor.Im2Col(a.X, k, a.window(len(k)))
	}),
	method("col2im", "output_size ints, kernel_size ints, dilation ints = 1, padding ints = 0, stride ints = 1", `The adjoint of im2col: columns (N, C * kernel, L) are added to (N, C, output_size…), as torch.nn.functional.fold.`,
		func(a *Args) (*uop.UOp, error) {
			k := a.ints("kernel_size")
			return tensor.Col2Im(a.X, a.ints("output_size"), k, a.window(len(k)))
		}),
	method("pixel_shuffle", "upscale_factor int", "Channels rearranged to pixels: (…, C * r * r, H, W) becomes (…, C, H * r, W * r).\nr is upscale_factor (Shi et al., arXiv:1609.05158).", func(a *Args) (*uop.UOp, error) {
		return tensor.PixelShuffle(a.X, a.int("upscale_factor"))
	}),
	method("pixel_unshuffle", "downscale_factor int", "The inverse of pixel_shuffle: (…, C, H * r, W * r) becomes (…, C * r * r, H, W).", func(a *Args) (*uop.UOp, error) {
		return tensor.PixelUnshuffle(a.X, a.int("downscale_factor"))
	}),
	method("interpolate", "size ints, mode text = linear {linear nearest nearest-exact bilinear trilinear bicubic area}, align_corners bool = false", `The last axes resized to the sizes given.
"linear", also called "bilinear" and "trilinear", and "bicubic" (Keys, 1981, a = -3/4) interpolate along every axis; align_corners keeps
the outermost elements in place. "nearest" takes element floor(i * old / new), "nearest-exact" floor((i + 1/2) * old / new), "area" the mean
of the elements that a result covers.`,
		func(a *Args) (*uop.UOp, error) {
			return tensor.Interpolate(a.X, a.ints("size"), interpolations[a.text("mode")], a.bool("align_corners"))
		}),
}

// pooling is window with the rounding of a pool's size.
func (a *Args) pooling(n int) tensor.Window {
	w := a.window(n)
	w.CeilMode = a.bool("ceil_mode")
	return w
}

var reductionsOfLosses = map[string]tensor.Reduction{"mean": tensor.ReduceMean, "sum": tensor.ReduceSum, "none": tensor.ReduceNone}

// loss is an operation whose losses of the samples are reduced by reduction: "mean", "sum" or "none".
func loss(name, params, doc string, f func(a *Args, r tensor.Reduction) (*uop.UOp, error)) Op {
	return method(name, params, doc, func(a *Args) (*uop.UOp, error) {
		return f(a, reductionsOfLosses[a.text("reduction")])
	})
}

var losses = []Op{
	loss("cross_entropy", "Y tensor, reduction text = mean {mean sum none}, label_smoothing float = 0, axis int?",
		`The cross entropy of logits (N, C, …) and class numbers (N, …), or probabilities (N, C, …).
The classes are axis 1 (axis 0 of a vector) unless axis is given. A class out of range is an error if Y is already computed. In a lazy Y its loss
is 0.`, func(a *Args, r tensor.Reduction) (*uop.UOp, error) {
			axis := min(1, len(a.X.Shape())-1)
			if a.given("axis") {
				axis = a.axis("axis")
			}
			if err := a.classes("Y", axis); err != nil {
				return nil, err
			}
			return tensor.CrossEntropy(a.X, a.tensor("Y"), axis, r, a.float("label_smoothing"))
		}),
	loss("sparse_categorical_crossentropy", "Y tensor, ignore_index int = -1, label_smoothing float = 0, reduction text = mean {mean sum none}",
		`The cross entropy of logits along the last axis and class numbers; those equal to ignore_index are excluded.
A class out of range is an error if Y is already computed. In a lazy Y its loss is 0.`, func(a *Args, r tensor.Reduction) (*uop.UOp, error) {
			if err := a.classes("Y", -1, a.int("ignore_index")); err != nil {
				return nil, err
			}
			return tensor.SparseCategoricalCrossEntropy(a.X, a.tensor("Y"), int(a.int("ignore_index")), r, a.float("label_smoothing"))
		}),
	loss("binary_crossentropy", "Y tensor, reduction text = mean {mean sum none}", "-(Y log x + (1 - Y) log(1 - x)).", func(a *Args, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.BinaryCrossEntropy(a.X, a.tensor("Y"), r)
	}),
	loss("binary_crossentropy_logits", "Y tensor, reduction text = mean {mean sum none}, pos_weight tensor?", "binary_crossentropy of sigmoid(x), without overflow.",
		func(a *Args, r tensor.Reduction) (*uop.UOp, error) {
			return tensor.BinaryCrossEntropyLogits(a.X, a.tensor("Y"), r, a.tensor("pos_weight"))
		}),
	loss("nll_loss", "Y tensor, weight tensor?, ignore_index int?, reduction text = mean {mean sum none}", `-x[n, Y[n]] * weight[Y[n]] for log probabilities x (N, C, …).
Classes equal to ignore_index are excluded; the mean is divided by the sum of the weights. A class out of range is an error if Y is already computed.
In a lazy Y its loss is 0.`,
		func(a *Args, r tensor.Reduction) (*uop.UOp, error) {
			var ignore *int
			var skip []int64
			if a.given("ignore_index") {
				n := int(a.int("ignore_index"))
				ignore, skip = &n, []int64{int64(n)}
			}
			if err := a.classes("Y", min(1, len(a.X.Shape())-1), skip...); err != nil {
				return nil, err
			}
			return tensor.NLLLoss(a.X, a.tensor("Y"), a.tensor("weight"), ignore, r)
		}),
	loss("ctc_loss", "targets tensor, input_lengths tensor, target_lengths tensor, blank int = 0, reduction text = mean {mean sum none}, zero_infinity bool = false",
		`The loss of connectionist temporal classification (Graves et al., 2006) of log probabilities x (T, N, C).
It is -log of the total probability of the paths that become targets (N, S) when repetitions and then blanks are removed. input_lengths and
target_lengths (N) are the numbers of steps and classes of each sample; later targets may be -1. The mean is that of the losses divided by
target_lengths. With zero_infinity a sample with too few steps has the loss 0.`, func(a *Args, r tensor.Reduction) (*uop.UOp, error) {
			if err := a.classes("targets", -1, -1); err != nil {
				return nil, err
			}
			return tensor.CTCLoss(a.X, a.tensor("targets"), a.tensor("input_lengths"), a.tensor("target_lengths"), a.int("blank"), r, a.bool("zero_infinity"))
		}),
	loss("mse_loss", "Y tensor, reduction text = mean {mean sum none}", "(x - Y)^2.", func(a *Args, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.MSELoss(a.X, a.tensor("Y"), r)
	}),
	loss("l1_loss", "Y tensor, reduction text = mean {mean sum none}", "|x - Y|.", func(a *Args, r tensor.Reduction) (*uop.UOp, error) {
		return tensor.L1Loss(a.X, a.tensor("Y"), r)
	}),
	loss("huber_loss", "Y tensor, delta float = 1, reduction text = mean {mean sum none}", "(x - Y)^2 / 2 where |x - Y| <= delta, delta * (|x - Y| - delta / 2) elsewhere (Huber, 1964).",
		func(a *Args, r tensor.Reduction) (*uop.UOp, error) {
			return tensor.HuberLoss(a.X, a.tensor("Y"), a.float("delta"), r)
		}),
}

// leastSquares is lstsq of tensors and of linalg.
func leastSquares(a *Args) ([]*uop.UOp, error) {
	cutoff := -1.0
	if a.given("rcond") {
		if cutoff = a.float("rcond"); !(cutoff >= 0 && cutoff < 1) {
			return nil, bad("rcond", "%v, expected 0 or more and less than 1", cutoff)
		}
	}
	x, squares, rank, s, err := tensor.LeastSquares(a.X, a.tensor("b"), cutoff)
	return []*uop.UOp{x, squares, rank, s}, err
}
