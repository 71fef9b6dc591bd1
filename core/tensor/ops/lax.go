package ops

import (
	"sync"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

const laxDoc = `Operations of XLA, as jax.lax has them.

Slices, gathers and scatters at places that are tensors, reductions, windows, convolutions and products in full generality, sorting by several keys.
Types and shapes are not converted. Slices that do not fit are moved inside, windows of gathers and scatters that reach outside are dropped.`

// The parameters of windows, and of gathers and scatters.
const (
	windowParams = "window_dimensions ints [0,], window_strides ints? [1,], padding ints|text = VALID, base_dilation ints? [1,], window_dilation ints? [1,]"
	convParams   = "padding ints|text = VALID, lhs_dilation ints? [1,], rhs_dilation ints? [1,], lhs_spec text?, rhs_spec text?, out_spec text?, " +
		"feature_group_count int = 1 [1,], batch_group_count int = 1 [1,], preferred_element_type dtype?"
	scatterParams = "scatter_indices tensor, updates tensor, update_window_dims axes, inserted_window_dims axes, scatter_dims_to_operand_dims axes, " +
		"operand_batching_dims axes?, scatter_indices_batching_dims axes?, mode text = fill {fill drop clip promise_in_bounds}"
	scatterDoc = "\nThe last axis of scatter_indices has a number for each axis in scatter_dims_to_operand_dims. update_window_dims are the axes of updates that are axes\n" +
		"of windows: all of x but inserted_window_dims and operand_batching_dims. Windows that reach outside are dropped, or with clip moved inside."
	convDoc = "\npadding has two numbers for each spatial axis, or is \"SAME\" or \"VALID\". A spec has a letter for each axis: N the batch, C the features, O and I\n" +
		"those of rhs, and others for spatial axes, as in \"NHWC\"; NC…, OI… and NC… unless given."
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
	return inLax(name, "axis int = 0, reverse bool = false", doc+" along an axis, from its end with reverse.", func(a *Args) (*uop.UOp, error) {
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
		inLax("dynamic_slice", "start_indices tensor, slice_sizes ints [0,]", `The part of x of some sizes from start_indices on.
These are a tensor of one integer for each axis. Starts are moved to where the part fits.`, func(a *Args) (*uop.UOp, error) {
			return tensor.DynamicSlice(a.X, a.tensor("start_indices"), a.ints("slice_sizes"))
		}),
		inLax("dynamic_slice_in_dim", "start_index operand, slice_size int [0,], axis int = 0", "The part of x of a size along an axis from start_index on.\nIt is moved to where the part fits.",
			func(a *Args) (*uop.UOp, error) {
				return tensor.DynamicSliceAlong(a.X, a.at("start_index"), a.int("slice_size"), a.axis("axis"))
			}),
		inLax("dynamic_index_in_dim", "index operand, axis int = 0, keepdims bool = true", "The part of x at an index along an axis, which is left out without keepdims.", func(a *Args) (*uop.UOp, error) {
			r, err := tensor.DynamicSliceAlong(a.X, a.at("index"), 1, a.axis("axis"))
			if err != nil || a.bool("keepdims") {
				return r, err
			}
			return tensor.Squeeze(r, a.axis("axis"))
		}),
		inLax("dynamic_update_slice", "update tensor, start_indices tensor", "x with the part from start_indices on replaced by update.\nStarts are moved to where it fits.",
			func(a *Args) (*uop.UOp, error) {
				return tensor.DynamicUpdate(a.X, a.tensor("update"), a.tensor("start_indices"))
			}),
		inLax("dynamic_update_slice_in_dim", "update tensor, start_index operand, axis int", "x with the part from start_index on along an axis replaced by update.\nupdate has all of the other axes.",
			func(a *Args) (*uop.UOp, error) {
				return tensor.DynamicUpdateAlong(a.X, a.tensor("update"), a.at("start_index"), a.axis("axis"))
			}),
		inLax("dynamic_update_index_in_dim", "update tensor, index operand, axis int", "x with the part at an index along an axis replaced by update.\nupdate may lack that axis.",
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
			"start_indices_batching_dims axes?, mode text = fill {fill drop clip promise_in_bounds}, fill_value number?", `Windows of x with slice_sizes at start_indices.
The last axis of start_indices has a number for each axis in start_index_map. offset_dims are the axes of the result that are axes of windows: all of
x but collapsed_slice_dims, of size 1, and operand_batching_dims, which go along with start_indices_batching_dims. Windows that reach outside
are fill_value, by default NaN, the least signed or the greatest unsigned integer, or with clip moved inside.`, func(a *Args) (*uop.UOp, error) {
			n, mode := a.gathered("offset_dims", "collapsed_slice_dims", "start_index_map", "start_indices_batching_dims")
			n.SliceSizes = a.ints("slice_sizes")
			var fill any
			if a.given("fill_value") {
				fill = a.number("fill_value")
			}
			return tensor.GatherWindows(a.X, a.tensor("start_indices"), n, mode, fill)
		}),
		scatterBy("scatter", "set", "x with windows replaced by those of updates.\nOf several values for one element the last stays."),
		scatterBy("scatter_add", "add", "x with windows of updates added."),
		scatterBy("scatter_mul", "mul", "x multiplied by windows of updates."),
		scatterBy("scatter_min", "min", "The least of the elements of x and those of windows of updates."),
		scatterBy("scatter_max", "max", "The greatest of the elements of x and those of windows of updates."),
		inLax("pad", "padding_value operand, low ints, high ints?, interior ints? [0,]", `x with a value before, behind and between the elements of each axis.
Negative numbers before and behind take elements away.`, func(a *Args) (*uop.UOp, error) {
			return tensor.PadInterior(a.X, a.at("padding_value"), a.ints("low"), a.ints("high"), a.ints("interior"))
		}),
		inLax("rev", "dimensions axes", "x with some axes reversed.", func(a *Args) (*uop.UOp, error) { return tensor.Flip(a.X, a.axes("dimensions")...) }),
		joiner("lax.select_n", "", `The elements of one of several tensors, as a first one says.
It is of the tensor behind it whose number the first has: a bool, or an integer. The first has the shape of the others, or ().`, func(a *Args) (*uop.UOp, error) { return tensor.SelectN(a.Xs[0], a.Xs[1:]) }),
		inLax("clamp", "min operand, max operand", "x, not less than min and not greater than max.\nThese are numbers, or tensors of its shape or ().", func(a *Args) (*uop.UOp, error) {
			return tensor.ClampBetween(a.X, a.at("min"), a.at("max"))
		}),
		inLax("reduce", "init operand, "+computations+", dimensions axes?", "The elements along axes, and init, combined by an operation.\nThe operations and, or and xor are of bits.", func(a *Args) (*uop.UOp, error) {
			return tensor.ReduceBy(a.X, a.at("init"), a.text("computation"), a.axes("dimensions"))
		}),
		reduceBy("reduce_sum", "add", "The sum along axes, in the type of x."),
		reduceBy("reduce_prod", "mul", "The product along axes, in the type of x."),
		reduceBy("reduce_max", "max", "The greatest elements along axes; of no elements the least of the type."),
		reduceBy("reduce_min", "min", "The least elements along axes; of no elements the greatest of the type."),
		reduceBy("reduce_and", "and", "The bits that all elements along axes have, or whether all are true."),
		reduceBy("reduce_or", "or", "The bits that any element along axes has, or whether any is true."),
		reduceBy("reduce_xor", "xor", "The bits that an odd number of elements along axes has."),
		extremePlace("argmax", "The position of the greatest element along an axis; the first of several.", tensor.ArgMax),
		extremePlace("argmin", "The position of the least element along an axis; the first of several.", tensor.ArgMin),
		inLax("reduce_window", "init operand, "+computations+", "+windowParams, `The elements of each window over all axes, and init, combined by an operation.
There is padding around x, two numbers for each axis, "SAME" or "VALID", and by base_dilation between elements, which does not count. The elements of a
window are window_dilation apart. Of several greatest elements of a window all share the gradient.`, func(a *Args) (*uop.UOp, error) {
			return tensor.ReduceWindow(a.X, a.at("init"), a.text("computation"), a.slidingWindow())
		}),
		inLax("sliding_windows", "padding_value operand, "+windowParams, "All windows of x: the axes of their places, then those of their elements.\nWindows are those of reduce_window.", func(a *Args) (*uop.UOp, error) {
			return tensor.SlidingWindows(a.X, a.at("padding_value"), a.slidingWindow())
		}),
		inLax("select_and_scatter_add", "source tensor, select text {ge le}, window_dimensions ints [1,], window_strides ints? [1,], padding ints|text = VALID", `Zeros in the shape of x, with each element of source added to one of its window.
That is the greatest element of the window of x (ge), or the least (le); the first of several.`, func(a *Args) (*uop.UOp, error) {
			return tensor.SelectAndScatterAdd(a.tensor("source"), a.X, a.text("select") == "le", tensor.XLAWindow{
				Size: a.ints("window_dimensions"), Strides: a.ints("window_strides"), PaddingName: a.text("padding"), Padding: a.ints("padding")})
		}),
		inLax("conv_general_dilated", "rhs tensor, window_strides ints [1,], "+convParams, "The convolution of x and rhs.\nBetween elements of x are lhs_dilation - 1 zeros, elements of rhs are rhs_dilation apart. There are groups of features or of the batch."+convDoc, func(a *Args) (*uop.UOp, error) {
			c := a.convolution("window_strides", "lhs_dilation")
			c.FeatureGroups, c.BatchGroups = a.int("feature_group_count"), a.int("batch_group_count")
			return tensor.ConvGeneral(a.X, a.tensor("rhs"), c)
		}),
		inLax("conv_transpose", "rhs tensor, strides ints [1,], padding ints|text = VALID, rhs_dilation ints? [1,], lhs_spec text?, rhs_spec text?, out_spec text?, transpose_kernel bool = false, "+
			"preferred_element_type dtype?", "The convolution with rhs of x dilated by strides.\nIt has the size of what a convolution of these strides came from. With transpose_kernel it is that convolution's transpose."+convDoc, func(a *Args) (*uop.UOp, error) {
			return tensor.ConvTransposed(a.X, a.tensor("rhs"), a.convolution("strides", ""), a.bool("transpose_kernel"))
		}),
		inLax("dot_general", "rhs tensor, lhs_contracting_dims axes, rhs_contracting_dims axes, lhs_batch_dims axes?, rhs_batch_dims axes?, preferred_element_type dtype?",
			"The sums of products of x and rhs over contracting axes, for each pair of batch axes.\nThe result has the batch axes, then the others of x, then those of rhs.", func(a *Args) (*uop.UOp, error) {
				return tensor.DotGeneral(a.X, a.tensor("rhs"), a.axes("lhs_contracting_dims"), a.axes("rhs_contracting_dims"), a.axes("lhs_batch_dims"), a.axes("rhs_batch_dims"), a.dtype("preferred_element_type"))
			}),
		describe(Joiner, "lax.sort", "dimension int = -1, num_keys int = 1 [1,]", `Tensors of one shape sorted along an axis by the first of them, or by the first num_keys.
By each of these where the earlier ones are equal. Equal elements keep their order; NaN is the greatest number.`, func(a *Args) ([]*uop.UOp, error) {
			return tensor.SortBy(a.Xs, a.axis("dimension"), int(a.int("num_keys")))
		}),
		several("values indices", "lax.top_k", "k int [0,], axis int = -1", "The k greatest elements along an axis, and their positions.", func(a *Args) ([]*uop.UOp, error) {
			values, at, err := tensor.TopK(a.X, a.int("k"), a.axis("axis"), true)
			if err != nil {
				return nil, err
			}
			return pair(values, at, nil)
		}),
		cumulate("cumsum", "add", "The sums of all elements up to each one"),
		cumulate("cumprod", "mul", "The products of all elements up to each one"),
		cumulate("cummax", "max", "The greatest of all elements up to each one"),
		cumulate("cummin", "min", "The least of all elements up to each one"),
		cumulate("cumlogsumexp", "logsumexp", "log(sum(exp(x))) of all elements up to each one"),
		inLax("reduce_precision", "exponent_bits int [1,], mantissa_bits int [0,]", "x rounded to numbers with so many bits of exponent and mantissa, half to even.\nBeyond them it is infinite or 0.", func(a *Args) (*uop.UOp, error) {
			return tensor.ReducePrecision(a.X, int(a.int("exponent_bits")), int(a.int("mantissa_bits")))
		}),
		inLax("bitcast_convert_type", "new_dtype dtype", `The bits of x as another type.
To a smaller type there is a new last axis of parts, the lowest bits first; to a greater one the last axis, of parts, becomes one element.`, func(a *Args) (*uop.UOp, error) {
			return tensor.BitcastConvert(a.X, a.dtype("new_dtype"))
		}),
		single(Maker, "lax.broadcasted_iota", "element_type dtype, shape shape, dimension int", "The numbers from 0 on along an axis of a shape, the same along the others.", func(a *Args) (*uop.UOp, error) {
			return tensor.Iota(a.Graph, a.dtype("element_type"), a.shape("shape"), a.axis("dimension"))
		}),
	}
})
