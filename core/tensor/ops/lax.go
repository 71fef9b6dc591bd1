package ops

import (
	"sync"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

const laxDoc = `Operations of XLA, as jax.lax has them.

Slices, gathers and scatters at computed indices, reductions, sliding windows, general convolutions and dot products, sorting by several keys.
Operands are not broadcast, and their types are not promoted. Start indices of slices are clamped so that the slice is in bounds; windows of gathers and
scatters that are out of bounds are dropped.`

// The parameters of windows, and of gathers and scatters.
const (
	windowParams = "window_dimensions ints [0,], window_strides ints? [1,], padding ints|text = VALID, base_dilation ints? [1,], window_dilation ints? [1,]"
	convParams   = "padding ints|text = VALID, lhs_dilation ints? [1,], rhs_dilation ints? [1,], lhs_spec text?, rhs_spec text?, out_spec text?, " +
		"feature_group_count int = 1 [1,], batch_group_count int = 1 [1,], preferred_element_type dtype?"
	scatterParams = "scatter_indices tensor, updates tensor, update_window_dims axes, inserted_window_dims axes, scatter_dims_to_operand_dims axes, " +
		"operand_batching_dims axes?, scatter_indices_batching_dims axes?, mode text = fill {fill drop clip promise_in_bounds}"
	scatterDoc = "\nThe last axis of scatter_indices holds the start of a window: an index for each axis of x in scatter_dims_to_operand_dims. update_window_dims are the\n" +
		"axes of updates that run over a window: those of x except inserted_window_dims, of size 1, and operand_batching_dims, which pair up with\n" +
		"scatter_indices_batching_dims. Windows out of bounds are dropped, or with mode \"clip\" moved inside."
	convDoc = "\npadding has two numbers for each spatial axis, or is \"SAME\" or \"VALID\". lhs_spec, rhs_spec and out_spec name the axes of x, rhs and the result by one letter\n" +
		"each: N the batch, C the features, O and I the output and input features of rhs, others the spatial axes, as in \"NHWC\"; by default NC…, OI… and NC…."
)

// inLax is a function of lax.
func inLax(name, params, doc string, build func(a *Args) (*uop.UOp, error)) Op {
	return method("lax."+name, params, doc, build)
}

// xlaWindow are the arguments of windows by their names.
func (a *Args) xlaWindow(size, strides, base, dilation string) tensor.XLAWindow {
	w := tensor.XLAWindow{Strides: a.ints(strides), Dilation: a.ints(dilation)}
	if size != "" {
		w.Size = a.ints(size)
	}
	if base != "" {
		w.BaseDilation = a.ints(base)
	}
	if w.PaddingName = a.text("padding"); w.PaddingName == "" {
		w.Padding = a.ints("padding")
	}
	return w
}

func (a *Args) slidingWindow() tensor.XLAWindow {
	return a.xlaWindow("window_dimensions", "window_strides", "base_dilation", "window_dilation")
}

// gathered are the arguments of gathers and scatters by their names.
func (a *Args) gathered(offset, collapsed, starts, indexBatching string) (tensor.GatherNumbers, tensor.GatherMode) {
	mode := tensor.GatherFill
	if text := a.text("mode"); text == "clip" || text == "promise_in_bounds" {
		mode = tensor.GatherClip
	}
	return tensor.GatherNumbers{
		Offset: a.axes(offset), Collapsed: a.axes(collapsed), StartIndexMap: a.axes(starts),
		Batching: a.axes("operand_batching_dims"), IndexBatching: a.axes(indexBatching),
	}, mode
}

func scatterBy(name, combine, doc string) Op {
	return inLax(name, scatterParams, doc+scatterDoc, func(a *Args) (*uop.UOp, error) {
		n, mode := a.gathered("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "scatter_indices_batching_dims")
		return tensor.ScatterWindows(a.X, a.tensor("scatter_indices"), a.tensor("updates"), n, mode, combine)
	})
}

func cumulate(name, computation, doc string) Op {
	return inLax(name, "axis int = 0, reverse bool = false", doc+" along an axis; with reverse, from its end.", func(a *Args) (*uop.UOp, error) {
		return tensor.Cumulate(a.X, computation, a.axis("axis"), a.bool("reverse"))
	})
}

func reduceBy(name, computation, doc string) Op {
	return inLax(name, "axes axes", doc, func(a *Args) (*uop.UOp, error) { return tensor.ReduceBy(a.X, nil, computation, a.axes("axes")) })
}

func (a *Args) convolution(strides, base string) tensor.XLAConvolution {
	return tensor.XLAConvolution{
		Window: a.xlaWindow("", strides, base, "rhs_dilation"), Left: a.text("lhs_spec"), Right: a.text("rhs_spec"), Out: a.text("out_spec"),
		DType: a.dtype("preferred_element_type"),
	}
}

func extremePlace(name, doc string, find func(x *uop.UOp, axis int, keep bool) (*uop.UOp, error)) Op {
	return inLax(name, "axis int, index_dtype dtype = int32", doc, func(a *Args) (*uop.UOp, error) {
		r, err := find(a.X, a.axis("axis"), false)
		if err != nil {
			return nil, err
		}
		return tensor.Cast(r, a.dtype("index_dtype"))
	})
}

const computations = "computation text {add and max min mul or xor}"

var laxOps = sync.OnceValue(func() []Op {
	return []Op{
		inLax("dynamic_slice", "start_indices tensor, slice_sizes ints [0,]", `The slice of x of slice_sizes elements that begins at start_indices.
start_indices is a tensor of one integer for each axis; they are clamped so that the slice is in bounds.`, func(a *Args) (*uop.UOp, error) {
			return tensor.DynamicSlice(a.X, a.tensor("start_indices"), a.ints("slice_sizes"))
		}),
		inLax("dynamic_slice_in_dim", "start_index operand, slice_size int [0,], axis int = 0", "The slice of slice_size elements along an axis that begins at start_index.\nstart_index is clamped so that the slice is in bounds.",
			func(a *Args) (*uop.UOp, error) {
				return tensor.DynamicSliceAlong(a.X, a.at("start_index"), a.int("slice_size"), a.axis("axis"))
			}),
		inLax("dynamic_index_in_dim", "index operand, axis int = 0, keepdims bool = true", "The slice of x at an index along an axis, which is removed without keepdims.", func(a *Args) (*uop.UOp, error) {
			r, err := tensor.DynamicSliceAlong(a.X, a.at("index"), 1, a.axis("axis"))
			if err != nil || a.bool("keepdims") {
				return r, err
			}
			return tensor.Squeeze(r, a.axis("axis"))
		}),
		inLax("dynamic_update_slice", "update tensor, start_indices tensor", "x with the slice that begins at start_indices replaced by update.\nstart_indices are clamped so that update is in bounds.",
			func(a *Args) (*uop.UOp, error) {
				return tensor.DynamicUpdate(a.X, a.tensor("update"), a.tensor("start_indices"))
			}),
		inLax("dynamic_update_slice_in_dim", "update tensor, start_index operand, axis int", "x with the slice along an axis that begins at start_index replaced by update.\nAlong the other axes update has the sizes of x.",
			func(a *Args) (*uop.UOp, error) {
				return tensor.DynamicUpdateAlong(a.X, a.tensor("update"), a.at("start_index"), a.axis("axis"))
			}),
		inLax("dynamic_update_index_in_dim", "update tensor, index operand, axis int", "x with the slice at an index along an axis replaced by update.\nupdate may lack that axis.",
			func(a *Args) (*uop.UOp, error) {
				u := a.tensor("update")
				if len(u.Shape()) == len(a.X.Shape())-1 {
					axis := a.axis("axis")
					if axis < 0 {
						axis += len(a.X.Shape())
					}
					var err error
					if u, err = tensor.Unsqueeze(u, axis); err != nil {
						return nil, err
					}
				}
				return tensor.DynamicUpdateAlong(a.X, u, a.at("index"), a.axis("axis"))
			}),
		inLax("gather", "start_indices tensor, offset_dims axes, collapsed_slice_dims axes, start_index_map axes, slice_sizes ints [0,], operand_batching_dims axes?, "+
			"start_indices_batching_dims axes?, mode text = fill {fill drop clip promise_in_bounds}, fill_value number?", `Windows of x, slice_sizes large, that begin at start_indices.
The last axis of start_indices holds the start of a window: an index for each axis of x in start_index_map. offset_dims are the axes of the result that
run over a window: those of x except collapsed_slice_dims, of size 1, and operand_batching_dims, which pair up with start_indices_batching_dims.
Windows out of bounds are filled with fill_value, by default NaN, the least integer of a signed and the greatest of an unsigned type, or with mode
"clip" moved inside.`, func(a *Args) (*uop.UOp, error) {
			n, mode := a.gathered("offset_dims", "collapsed_slice_dims", "start_index_map", "start_indices_batching_dims")
			n.SliceSizes = a.ints("slice_sizes")
			var fill any
			if a.given("fill_value") {
				fill = a.number("fill_value")
			}
			return tensor.GatherWindows(a.X, a.tensor("start_indices"), n, mode, fill)
		}),
		scatterBy("scatter", "set", "x with the windows at scatter_indices replaced by those of updates.\nOf several values for one element the last is written."),
		scatterBy("scatter_add", "add", "x with the windows of updates added at scatter_indices."),
		scatterBy("scatter_mul", "mul", "x multiplied by the windows of updates at scatter_indices."),
		scatterBy("scatter_min", "min", "The minimum of x and the windows of updates at scatter_indices."),
		scatterBy("scatter_max", "max", "The maximum of x and the windows of updates at scatter_indices."),
		inLax("pad", "padding_value operand, low ints, high ints?, interior ints? [0,]", `x with padding_value added before, after and between the elements of each axis.
low, high and interior are the numbers of added elements; negative low and high remove elements.`, func(a *Args) (*uop.UOp, error) {
			return tensor.PadInterior(a.X, a.at("padding_value"), a.ints("low"), a.ints("high"), a.ints("interior"))
		}),
		inLax("rev", "dimensions axes", "x with some axes reversed.", func(a *Args) (*uop.UOp, error) { return tensor.Flip(a.X, a.axes("dimensions")...) }),
		joiner("lax.select_n", "", `Elements chosen from several tensors, the cases, by the first tensor.
The first tensor holds for each element the number of a case, counted from 0, or a bool for two cases. Its shape is that of the cases, or ().`, func(a *Args) (*uop.UOp, error) { return tensor.SelectN(a.Xs[0], a.Xs[1:]) }),
		inLax("clamp", "min operand, max operand", "x limited to [min, max].\nmin and max are numbers, or tensors of shape () or of that of x.", func(a *Args) (*uop.UOp, error) {
			return tensor.ClampBetween(a.X, a.at("min"), a.at("max"))
		}),
		inLax("reduce", "init operand, "+computations+", dimensions axes?", "The reduction of x along axes by an operation, beginning with init.\nThe operations and, or and xor are bitwise.", func(a *Args) (*uop.UOp, error) {
			return tensor.ReduceBy(a.X, a.at("init"), a.text("computation"), a.axes("dimensions"))
		}),
		reduceBy("reduce_sum", "add", "The sum along axes, in the type of x."),
		reduceBy("reduce_prod", "mul", "The product along axes, in the type of x."),
		reduceBy("reduce_max", "max", "The maximum along axes; without elements, the least value of the type."),
		reduceBy("reduce_min", "min", "The minimum along axes; without elements, the greatest value of the type."),
		reduceBy("reduce_and", "and", "The bitwise and of the elements along axes; for bools, whether all are true."),
		reduceBy("reduce_or", "or", "The bitwise or of the elements along axes; for bools, whether any is true."),
		reduceBy("reduce_xor", "xor", "The bitwise exclusive or of the elements along axes."),
		extremePlace("argmax", "The index of the maximum along an axis; the first if there are several.", tensor.ArgMax),
		extremePlace("argmin", "The index of the minimum along an axis; the first if there are several.", tensor.ArgMin),
		inLax("reduce_window", "init operand, "+computations+", "+windowParams, `The reduction of each window over all axes by an operation, beginning with init.
padding is two numbers for each axis, "SAME" or "VALID"; base_dilation - 1 elements of padding are put between the elements of x. Padding does not count.
The elements of a window are window_dilation apart. If several elements of a window are the greatest, they share the gradient.`, func(a *Args) (*uop.UOp, error) {
			return tensor.ReduceWindow(a.X, a.at("init"), a.text("computation"), a.slidingWindow())
		}),
		inLax("sliding_windows", "padding_value operand, "+windowParams, "All windows of x: first the axes of window positions, then those of the elements of a window.\nThe windows are those of reduce_window.", func(a *Args) (*uop.UOp, error) {
			return tensor.SlidingWindows(a.X, a.at("padding_value"), a.slidingWindow())
		}),
		inLax("select_and_scatter_add", "source tensor, select text {ge le}, window_dimensions ints [1,], window_strides ints? [1,], padding ints|text = VALID", `Zeros of the shape of x, with each element of source added at one element of its window.
select "ge" selects the greatest element of the window of x, "le" the least; the first if there are several.`, func(a *Args) (*uop.UOp, error) {
			return tensor.SelectAndScatterAdd(a.tensor("source"), a.X, a.text("select") == "le", tensor.XLAWindow{
				Size: a.ints("window_dimensions"), Strides: a.ints("window_strides"), PaddingName: a.text("padding"), Padding: a.ints("padding")})
		}),
		inLax("conv_general_dilated", "rhs tensor, window_strides ints [1,], "+convParams, "The convolution of x and rhs over any number of axes.\nlhs_dilation - 1 zeros are put between the elements of x; the elements of rhs are rhs_dilation apart. Features, or the batch, may be divided into groups."+convDoc, func(a *Args) (*uop.UOp, error) {
			c := a.convolution("window_strides", "lhs_dilation")
			c.FeatureGroups, c.BatchGroups = a.int("feature_group_count"), a.int("batch_group_count")
			return tensor.ConvGeneral(a.X, a.tensor("rhs"), c)
		}),
		inLax("conv_transpose", "rhs tensor, strides ints [1,], padding ints|text = VALID, rhs_dilation ints? [1,], lhs_spec text?, rhs_spec text?, out_spec text?, transpose_kernel bool = false, "+
			"preferred_element_type dtype?", "The transposed convolution of x, with strides - 1 zeros between its elements, and rhs.\nThe result has the size of the input of a convolution with these strides that gives x. With transpose_kernel rhs is the kernel of that convolution."+convDoc, func(a *Args) (*uop.UOp, error) {
			return tensor.ConvTransposed(a.X, a.tensor("rhs"), a.convolution("strides", ""), a.bool("transpose_kernel"))
		}),
		inLax("dot_general", "rhs tensor, lhs_contracting_dims axes, rhs_contracting_dims axes, lhs_batch_dims axes?, rhs_batch_dims axes?, preferred_element_type dtype?",
			"The products of x and rhs summed over contracting axes, for each element of the batch axes.\nThe result has the batch axes, then the remaining axes of x, then those of rhs.", func(a *Args) (*uop.UOp, error) {
				return tensor.DotGeneral(a.X, a.tensor("rhs"), a.axes("lhs_contracting_dims"), a.axes("rhs_contracting_dims"), a.axes("lhs_batch_dims"), a.axes("rhs_batch_dims"), a.dtype("preferred_element_type"))
			}),
		describe(Joiner, "lax.sort", "dimension int = -1, num_keys int = 1 [1,]", `Tensors of one shape sorted together along an axis; the first num_keys of them are the keys.
Where keys are equal, the next key decides. Equal elements keep their order; NaN is the greatest number.`, func(a *Args) ([]*uop.UOp, error) {
			return tensor.SortBy(a.Xs, a.axis("dimension"), int(a.int("num_keys")))
		}),
		several("values indices", "lax.top_k", "k int [0,], axis int = -1", "The k greatest elements along an axis, and their indices.", func(a *Args) ([]*uop.UOp, error) {
			values, at, err := tensor.TopK(a.X, a.int("k"), a.axis("axis"), true)
			if err != nil {
				return nil, err
			}
			return pair(values, at, nil)
		}),
		cumulate("cumsum", "add", "The cumulative sum"),
		cumulate("cumprod", "mul", "The cumulative product"),
		cumulate("cummax", "max", "The cumulative maximum"),
		cumulate("cummin", "min", "The cumulative minimum"),
		cumulate("cumlogsumexp", "logsumexp", "log(cumsum(exp(x))), without overflow,"),
		inLax("reduce_precision", "exponent_bits int [1,], mantissa_bits int [0,]", "x rounded to a floating format of exponent_bits and mantissa_bits, ties to even.\nNumbers too large for the format become infinite, numbers too small 0.", func(a *Args) (*uop.UOp, error) {
			return tensor.ReducePrecision(a.X, int(a.int("exponent_bits")), int(a.int("mantissa_bits")))
		}),
		inLax("bitcast_convert_type", "new_dtype dtype", `The bits of x read as another type.
For a smaller type, a new last axis holds the parts of each element, the lowest bits first; for a larger type, the last axis holds the parts of one
element and disappears.`, func(a *Args) (*uop.UOp, error) {
			return tensor.BitcastConvert(a.X, a.dtype("new_dtype"))
		}),
		single(Maker, "lax.broadcasted_iota", "element_type dtype, shape shape, dimension int", "The numbers 0, 1, 2, … along one axis of a shape, repeated along the others.", func(a *Args) (*uop.UOp, error) {
			return tensor.Iota(a.Graph, a.dtype("element_type"), a.shape("shape"), a.axis("dimension"))
		}),
	}
})
