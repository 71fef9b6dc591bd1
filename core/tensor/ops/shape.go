package ops

import (
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// noPair keeps an axis as it is when elements are added.
func noPair(int) uop.Pair { return uop.Pair{Lo: uop.N(0), Hi: uop.N(0)} }

var padModes = map[string]tensor.PadMode{"reflect": tensor.PadReflect, "replicate": tensor.PadReplicate, "circular": tensor.PadCircular, "symmetric": tensor.PadSymmetric}

// upTo are pairs for the sizes of shape, none for axes that are kept.
func (a *Args) upTo(pair func(old, size uop.Sint) uop.Pair) ([]uop.Pair, error) {
	old := a.X.Shape()
	s, err := a.resized("shape", func(axis int) uop.Sint { return old[axis] })
	if err != nil {
		return nil, err
	}
	if len(s) != len(old) {
		return nil, bad("shape", "%d sizes, expected one for each of %d axes", len(s), len(old))
	}
	p := make([]uop.Pair, len(s))
	for i := range s {
		p[i] = pair(old[i], s[i])
	}
	return p, nil
}

func (a *Args) reshaped() (*uop.UOp, error) {
	s, err := a.resized("shape", func(axis int) uop.Sint { return a.X.Shape()[axis] })
	if err != nil {
		return nil, err
	}
	return tensor.Reshape(a.X, s)
}

var shapes = []Op{
	view("reshape", "shape newshape", "The same elements in row-major order in another shape; a size of -1 is inferred.\nNone (null, NULL) keeps the size of an axis.", (*Args).reshaped),
	view("view", "shape newshape", "The same as reshape(shape).", (*Args).reshaped),
	view("flatten", "start_dim int = 0, end_dim int = -1", "The axes start_dim to end_dim (both included) joined into one.", func(a *Args) (*uop.UOp, error) {
		return tensor.Flatten(a.X, a.axis("start_dim"), a.axis("end_dim"))
	}),
	view("unflatten", "dim int, sizes shape", "An axis split into axes of the given sizes; one size may be -1.", func(a *Args) (*uop.UOp, error) {
		return tensor.Unflatten(a.X, a.axis("dim"), a.shape("sizes"))
	}),
	view("squeeze", "dim int?", "The tensor without an axis of size 1, or without all axes of size 1. Other axes stay.", func(a *Args) (*uop.UOp, error) {
		if !a.given("dim") {
			return tensor.SqueezeAll(a.X)
		}
		return tensor.Squeeze(a.X, a.axis("dim"))
	}),
	view("unsqueeze", "dim int", "The tensor with an axis of size 1 inserted.", func(a *Args) (*uop.UOp, error) { return tensor.Unsqueeze(a.X, a.axis("dim")) }),
	method("expand", "shape newshape", "The tensor with axes of size 1 repeated up to a shape; -1 (or None, null, NULL) keeps a size.", func(a *Args) (*uop.UOp, error) {
		s := slices.Clone(a.shape("shape"))
		for i := range s {
			if s[i].U == nil && s[i].N == Kept {
				s[i] = uop.N(-1)
			}
		}
		return tensor.Expand(a.X, s)
	}),
	method("repeat", "repeats shape", "The tensor repeated along each axis.", func(a *Args) (*uop.UOp, error) {
		return tensor.RepeatSizes(a.X, a.shape("repeats"))
	}),
	method("repeat_interleave", "repeats int, dim int?", "Each element repeated along an axis, or of the flattened tensor.", func(a *Args) (*uop.UOp, error) {
		x, dim := a.X, 0
		if a.given("dim") {
			dim = a.axis("dim")
		} else {
			flat, err := tensor.Flatten(x, 0, -1)
			if err != nil {
				return nil, err
			}
			x = flat
		}
		return tensor.RepeatInterleave(x, a.int("repeats"), dim)
	}),
	view("permute", "order axes", "The axes in another order: axis i of the result is axis order[i].", func(a *Args) (*uop.UOp, error) {
		return tensor.Permute(a.X, a.axes("order")...)
	}),
	view("transpose", "dim0 int = 1, dim1 int = 0", "The tensor with two axes swapped.", func(a *Args) (*uop.UOp, error) {
		return tensor.Transpose(a.X, a.axis("dim0"), a.axis("dim1"))
	}),
	view("T", "", "The tensor with its last two axes swapped.", func(a *Args) (*uop.UOp, error) {
		if n := len(a.X.Shape()); n < 2 {
			return nil, bad("x", "has %d dimensions, expected 2 or more", n)
		}
		return tensor.Transpose(a.X, -2, -1)
	}),
	view("flip", "axis axes", "The tensor with the order of elements along axes reversed.", func(a *Args) (*uop.UOp, error) {
		return tensor.Flip(a.X, a.axes("axis")...)
	}),
	view("shrink", "arg pairs", "Elements start (included) to end (excluded) of each axis.", func(a *Args) (*uop.UOp, error) {
		s := a.X.Shape()
		p, err := a.pairs("arg", func(i int) uop.Pair { return uop.Pair{Lo: uop.N(0), Hi: s[i]} })
		if err != nil {
			return nil, err
		}
		return tensor.Shrink(a.X, p)
	}),
	method("pad", "padding pairs, mode text = constant {constant reflect replicate circular symmetric}, value number = 0", `The tensor with elements added before and after each axis; negative numbers remove elements.
padding is a list of pairs (before, after), one for each axis; or a flat list of numbers that begins with the last axis, as in PyTorch. The new elements
are value, or with mode elements of the tensor: "reflect" (mirrored at the edge), "symmetric" (with the edge twice), "replicate" (the edge),
"circular" (from the other end).`,
		func(a *Args) (*uop.UOp, error) {
			p, err := a.margins("padding")
			if err != nil {
				return nil, err
			}
			if a.text("mode") == "constant" {
				return tensor.Pad(a.X, p, a.number("value"))
			}
			return tensor.PadWith(a.X, p, padModes[a.text("mode")])
		}),
	method("roll", "shifts ints, dims axes?", "Elements shifted along axes, cyclically.", func(a *Args) (*uop.UOp, error) {
		return tensor.Roll(a.X, a.ints("shifts"), a.axes("dims"))
	}),
	method("unfold", "dim int, size int, step int", "Windows of size elements along an axis, one every step elements; a new last axis holds them.",
		func(a *Args) (*uop.UOp, error) {
			return tensor.Unfold(a.X, a.axis("dim"), a.int("size"), a.int("step"))
		}),
	view("shrink_to", "shape newshape", "The first elements of each axis, as many as shape says.\nNone (null, NULL) keeps the size of an axis.", func(a *Args) (*uop.UOp, error) {
		p, err := a.upTo(func(old, s uop.Sint) uop.Pair { return uop.Pair{Lo: uop.N(0), Hi: s} })
		if err != nil {
			return nil, err
		}
		return tensor.Shrink(a.X, p)
	}),
	method("pad_to", "shape newshape", "The tensor with zeros added at the end of each axis up to shape.\nNone (null, NULL) keeps the size of an axis.", func(a *Args) (*uop.UOp, error) {
		p, err := a.upTo(func(old, s uop.Sint) uop.Pair { return uop.Pair{Lo: uop.N(0), Hi: s.Sub(old)} })
		if err != nil {
			return nil, err
		}
		return tensor.Pad(a.X, p, uop.Int(0))
	}),
	view("diagonal", "offset int = 0, dim1 int = 0, dim2 int = 1", "The diagonal of two axes, as a new last axis.", func(a *Args) (*uop.UOp, error) {
		return tensor.Diagonal(a.X, a.int("offset"), a.axis("dim1"), a.axis("dim2"))
	}),
	unary("diag", "A matrix (n, n) with the vector (n) as its diagonal.", tensor.Diag),
	method("tril", "diagonal int = 0", "The lower triangle of the last two axes, 0 elsewhere.", func(a *Args) (*uop.UOp, error) {
		return tensor.Tril(a.X, a.int("diagonal"))
	}),
	method("triu", "diagonal int = 0", "The upper triangle of the last two axes, 0 elsewhere.", func(a *Args) (*uop.UOp, error) {
		return tensor.Triu(a.X, a.int("diagonal"))
	}),
	method("rearrange", "formula text, sizes sizes?", `Axes rearranged by a formula such as "b (h w) -> b h w" (Rogozhnikov, einops, ICLR 2022).`, func(a *Args) (*uop.UOp, error) {
		return tensor.Rearrange(a.X, a.text("formula"), get[map[string]int64](a, "sizes"))
	}),
	joiner("cat", "dim int = 0", "Tensors joined along an axis; their other sizes are equal.", func(a *Args) (*uop.UOp, error) { return tensor.Cat(a.Xs, a.axis("dim")) }),
	joiner("stack", "dim int = 0", "Tensors of one shape joined along a new axis.", func(a *Args) (*uop.UOp, error) { return tensor.Stack(a.Xs, a.axis("dim")) }),
	describe(Joiner, "meshgrid", "indexing text = ij {ij xy}", `The coordinates of a grid with the given vectors as axes, one tensor for each axis; indexing "xy" swaps the first two axes.`,
		func(a *Args) ([]*uop.UOp, error) {
			return tensor.Meshgrid(a.Xs, a.text("indexing") == "xy")
		}),
	viewOfSeveral("split", "sizes ints, dim int = 0", "Parts along an axis: of the given sizes, or all of one size, of which the last may be smaller.", func(a *Args) ([]*uop.UOp, error) {
		sizes := a.ints("sizes")
		if len(sizes) == 1 {
			return tensor.SplitEvery(a.X, sizes[0], a.axis("dim"))
		}
		return tensor.Split(a.X, sizes, a.axis("dim"))
	}),
	viewOfSeveral("chunk", "chunks int, dim int = 0", "At most chunks parts of equal size along an axis; the last may be smaller.", func(a *Args) ([]*uop.UOp, error) {
		return tensor.Chunk(a.X, a.int("chunks"), a.axis("dim"))
	}),
}

func viewOfSeveral(name, params, doc string, build func(a *Args) ([]*uop.UOp, error)) Op {
	op := several("", name, params, doc, build)
	op.View = true
	return op
}

var scatterModes = map[string]tensor.ScatterMode{
	"sum": tensor.ScatterSum, "prod": tensor.ScatterProd, "mean": tensor.ScatterMean, "amax": tensor.ScatterMax, "amin": tensor.ScatterMin,
}

// source is the source of scatter: a tensor, or a number for each index.
func (a *Args) source() (*uop.UOp, error) {
	if u := a.tensor("src"); u != nil {
		return u, nil
	}
	v, err := tensor.Const(a.X.Graph(), a.X.DType, a.number("src"))
	if err != nil {
		return nil, err
	}
	return tensor.Expand(v, a.tensor("index").Shape())
}

// What becomes of positions that do not exist.
const (
	gives0      = "\nAn index out of bounds is an error if index is already computed. In a lazy index it gives 0."
	doesNothing = "\nAn index out of bounds is an error if it is already computed. In a lazy tensor it writes nothing."
)

var indexing = []Op{
	view("getitem", "items items", `The elements that an index expression selects: integers, slices, new axes, an ellipsis, tensors of integers, masks.
A mask is a tensor of bools with the shape of the axes that it indexes, which become one axis; it is computed at once. Negative indices count from
the end.`+gives0, func(a *Args) (*uop.UOp, error) {
		items, err := a.items("items")
		if err != nil {
			return nil, err
		}
		if err := a.Elements.Items(a.X, items); err != nil {
			return nil, err
		}
		return tensor.GetItem(a.X, items...)
	}),
	method("with_item", "items items, value operand", "The tensor with the elements that an index expression selects replaced by value."+doesNothing, func(a *Args) (*uop.UOp, error) {
		v, err := a.operand("value", a.X)
		if err != nil {
			return nil, err
		}
		items, err := a.items("items")
		if err != nil {
			return nil, err
		}
		if err := a.Elements.Items(a.X, items); err != nil {
			return nil, err
		}
		return tensor.SetItem(a.X, v, items...)
	}),
	method("gather", "dim int, index tensor", "The elements at the indices along an axis: for axis 1, out[i, j] = x[i, index[i, j]]."+gives0, func(a *Args) (*uop.UOp, error) {
		if err := a.positions("index", a.tensor("index"), a.axis("dim")); err != nil {
			return nil, err
		}
		return tensor.Gather(a.X, a.axis("dim"), a.tensor("index"))
	}),
	method("index_select", "dim int, index tensor", "The elements at a vector of indices along an axis; negative indices count from the end."+gives0, func(a *Args) (*uop.UOp, error) {
		if err := a.Elements.positions("index", a.tensor("index"), a.X, a.axis("dim"), true); err != nil {
			return nil, err
		}
		return tensor.IndexSelect(a.X, a.axis("dim"), a.tensor("index"))
	}),
	method("scatter", "dim int, index tensor, src operand, reduce text? {add multiply}", `The tensor with src written at the indices along an axis: for axis 1, out[i, index[i, j]] = src[i, j].
Of several values for one element the last is written; with reduce "add" or "multiply" all are combined with the old element.`+doesNothing, func(a *Args) (*uop.UOp, error) {
		if err := a.positions("index", a.tensor("index"), a.axis("dim")); err != nil {
			return nil, err
		}
		src, err := a.source()
		if err != nil {
			return nil, err
		}
		if !a.given("reduce") {
			return tensor.Scatter(a.X, a.axis("dim"), a.tensor("index"), src)
		}
		mode := tensor.ScatterSum
		if a.text("reduce") == "multiply" {
			mode = tensor.ScatterProd
		}
		return tensor.ScatterReduce(a.X, a.axis("dim"), a.tensor("index"), src, mode, true)
	}),
	method("scatter_reduce", "dim int, index tensor, src operand, reduce text {sum prod mean amax amin}, include_self bool = true",
		`scatter with all values for one element combined by reduce.
With include_self they are combined with the element of x, too.`+doesNothing, func(a *Args) (*uop.UOp, error) {
			if err := a.positions("index", a.tensor("index"), a.axis("dim")); err != nil {
				return nil, err
			}
			src, err := a.source()
			if err != nil {
				return nil, err
			}
			return tensor.ScatterReduce(a.X, a.axis("dim"), a.tensor("index"), src, scatterModes[a.text("reduce")], a.bool("include_self"))
		}),
	method("masked_select", "mask tensor", "The elements where mask is true, as a vector. The mask is computed at once.", func(a *Args) (*uop.UOp, error) {
		wide, err := tensor.Expand(a.tensor("mask"), a.X.Shape())
		if err != nil {
			return nil, err
		}
		n, err := a.count(wide)
		if err != nil {
			return nil, err
		}
		return tensor.MaskedSelect(a.X, a.tensor("mask"), n)
	}),
	method("nonzero", "", "The indices of the elements that are not 0, one row for each element. The tensor is computed at once.", func(a *Args) (*uop.UOp, error) {
		n, err := a.count(a.X)
		if err != nil {
			return nil, err
		}
		return tensor.NonZero(a.X, n)
	}),
	method("one_hot", "num_classes int = -1", `Class numbers as rows of num_classes elements: 1 at the index of the class, 0 elsewhere.
num_classes -1 computes the tensor and selects its greatest element + 1. A class out of range is an error if the tensor is already computed. In a lazy
tensor it gives a row of zeros.`, func(a *Args) (*uop.UOp, error) {
		n := a.int("num_classes")
		if n == -1 {
			if _, err := tensor.OneHot(a.X, 0); err != nil { // of a wrong type
				return nil, err
			}
			var err error
			if n, _, err = a.classCount(); err != nil {
				return nil, err
			}
		}
		if err := a.below("x", a.X, n); err != nil {
			return nil, err
		}
		return tensor.OneHot(a.X, n)
	}),
	method("embedding", "index tensor", "The rows of a matrix at indices; the result has the shape of index, then the length of a row."+gives0, func(a *Args) (*uop.UOp, error) {
		if err := a.positions("index", a.tensor("index"), 0); err != nil {
			return nil, err
		}
		return tensor.Embedding(a.X, a.tensor("index"))
	}),
}
