package ops

import (
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// numpyShapes are NumPy's functions of shapes.
func numpyShapes() []Op {
	return []Op{
		inNumpy("permute_dims", "axes axes?", "The array with permuted axes: axis i of the result is axis axes[i]; reversed unless given.", func(a *Args) (*uop.UOp, error) {
			axes := a.axes("axes")
			if axes == nil {
				for i := len(a.X.Shape()) - 1; i >= 0; i-- {
					axes = append(axes, i)
				}
			}
			return tensor.Permute(a.X, axes...)
		}),
		inNumpy("moveaxis", "source axes, destination axes", "The array with axes moved from source to destination; the others keep their order.", func(a *Args) (*uop.UOp, error) {
			return tensor.MoveAxes(a.X, a.axes("source"), a.axes("destination"))
		}),
		inNumpy("rollaxis", "axis int, start int = 0", "The array with an axis moved in front of the axis start.", func(a *Args) (*uop.UOp, error) {
			n := len(a.X.Shape())
			axis, start := a.axis("axis"), a.axis("start")
			if axis < -n || axis >= n {
				return nil, bad("axis", "%d is out of range for %d dimensions", axis, n)
			}
			if start < -n || start > n {
				return nil, bad("start", "%d is out of range for %d dimensions", start, n)
			}
			if axis < 0 {
				axis += n
			}
			if start < 0 {
				start += n
			}
			if axis < start {
				start--
			}
			return tensor.MoveAxes(a.X, []int{axis}, []int{start})
		}),
		inNumpy("resize", "new_shape shape", "The elements in row-major order in another shape, repeated or cut off as needed.", func(a *Args) (*uop.UOp, error) {
			return tensor.Resized(a.X, a.shape("new_shape"))
		}),
		inNumpy("swapaxes", "axis1 int, axis2 int", "The array with two axes swapped.", func(a *Args) (*uop.UOp, error) { return tensor.Transpose(a.X, a.axis("axis1"), a.axis("axis2")) }),
		numpy1("matrix_transpose", "The array with its last two axes swapped.", func(x *uop.UOp) (*uop.UOp, error) {
			if n := len(x.Shape()); n < 2 {
				return nil, bad("x", "has %d dimensions, expected 2 or more", n)
			}
			return tensor.Transpose(x, -2, -1)
		}),
		inNumpy("flip", "axis axes?", "The array with the order of elements along axes reversed, along all axes unless given.", func(a *Args) (*uop.UOp, error) {
			axes := a.axes("axis")
			if axes == nil {
				for i := range a.X.Shape() {
					axes = append(axes, i)
				}
			}
			return tensor.Flip(a.X, axes...)
		}),
		inNumpy("rot90", "k int = 1, axes axes = 0 1", "The array rotated by k times 90 degrees from the first to the second of two axes.", func(a *Args) (*uop.UOp, error) {
			return tensor.Rotated(a.X, a.int("k"), a.axes("axes"))
		}),
		inNumpy("roll", "shift ints, axis axes?", "Elements shifted along axes, cyclically; in the flattened array unless axes are given.", func(a *Args) (*uop.UOp, error) {
			shifts, axes := a.ints("shift"), a.axes("axis")
			switch {
			case len(shifts) == 0:
				return a.X, nil
			case len(shifts) == 1 && len(axes) > 1:
				shifts = slices.Repeat(shifts, len(axes))
			case len(shifts) > 1 && len(axes) == 1:
				axes = slices.Repeat(axes, len(shifts))
			case !a.given("axis") && len(shifts) > 1: // of the flattened array
				total := int64(0)
				for _, n := range shifts {
					total += n
				}
				shifts = []int64{total}
			}
			return tensor.Roll(a.X, shifts, axes)
		}),
		inNumpy("squeeze", "axis axes?", "The array without axes of size 1.", func(a *Args) (*uop.UOp, error) {
			if !a.given("axis") {
				return tensor.SqueezeAll(a.X)
			}
			return tensor.SqueezeAxes(a.X, a.axes("axis"))
		}),
		inNumpy("expand_dims", "axis axes = 0", "The array with axes of size 1 inserted.", func(a *Args) (*uop.UOp, error) { return tensor.ExpandDims(a.X, a.axes("axis")) }),
		inNumpy("broadcast_to", "shape shape", "The array with axes of size 1 repeated up to a shape.", func(a *Args) (*uop.UOp, error) { return tensor.BroadcastTo(a.X, a.shape("shape")) }),
		numpy1("ravel", "The elements as a vector, in row-major order.", flat),
		inNumpy("tile", "reps ints", "The array repeated along each axis.", func(a *Args) (*uop.UOp, error) {
			x, r := a.X, a.ints("reps")
			for len(r) < len(x.Shape()) {
				r = append([]int64{1}, r...)
			}
			return tensor.Repeat(x, r...)
		}),
		inNumpy("repeat", "repeats ints, axis int?", "Each element repeated along an axis, or of the flattened array.\nrepeats is one number, or one for each element.", func(a *Args) (*uop.UOp, error) {
			x, axis, err := a.flatUnless("axis")
			if err != nil {
				return nil, err
			}
			if len(x.Shape()) == 0 {
				x = x.Reshape(uop.ShapeOf(1))
			}
			if n := a.ints("repeats"); len(n) != 1 {
				return tensor.RepeatEach(x, n, axis)
			}
			return tensor.RepeatInterleave(x, a.ints("repeats")[0], axis)
		}),
		ofOneType(joiner("numpy.concat", "axis int = 0", "Arrays joined along an axis; flattened and joined without one.", func(a *Args) (*uop.UOp, error) { return tensor.Cat(a.Xs, a.axis("axis")) })),
		ofOneType(joiner("numpy.stack", "axis int = 0", "Arrays of one shape joined along a new axis.", func(a *Args) (*uop.UOp, error) { return tensor.Stack(a.Xs, a.axis("axis")) })),
		severalInNumpy("", "unstack", "axis int = 0", "The slices of an array along an axis, each without that axis.", func(a *Args) ([]*uop.UOp, error) { return tensor.Unstack(a.X, a.axis("axis")) }),
		inNumpy("tril", "k int = 0", "The lower triangle of the last two axes, 0 elsewhere.", func(a *Args) (*uop.UOp, error) { return tensor.Tril(a.X, a.int("k")) }),
		inNumpy("triu", "k int = 0", "The upper triangle of the last two axes, 0 elsewhere.", func(a *Args) (*uop.UOp, error) { return tensor.Triu(a.X, a.int("k")) }),
		inNumpy("diagonal", "offset int = 0, axis1 int = 0, axis2 int = 1", "The diagonal of two axes, as a new last axis.", func(a *Args) (*uop.UOp, error) {
			return tensor.Diagonal(a.X, a.int("offset"), a.axis("axis1"), a.axis("axis2"))
		}),
		inNumpy("trace", "offset int = 0, axis1 int = 0, axis2 int = 1, dtype dtype?", "The sum of the diagonal of two axes.", func(a *Args) (*uop.UOp, error) {
			d, err := tensor.Diagonal(a.X, a.int("offset"), a.axis("axis1"), a.axis("axis2"))
			if err != nil {
				return nil, err
			}
			if dt := a.dtype("dtype"); dt != nil {
				return tensor.SumAs(d, dt, []int{-1}, false)
			}
			return tensor.Sum(d, []int{-1}, false)
		}),
		inNumpy("diag", "k int = 0", "The matrix with a vector on its diagonal k, or the diagonal k of a matrix.", func(a *Args) (*uop.UOp, error) { return tensor.DiagAt(a.X, a.int("k")) }),
		inNumpy("diagflat", "k int = 0", "The matrix with the elements of the flattened array on its diagonal k.", func(a *Args) (*uop.UOp, error) {
			x, err := flat(a.X)
			if err != nil {
				return nil, err
			}
			return tensor.DiagAt(x, a.int("k"))
		}),
		inNumpy("packbits", "axis int?, bitorder text = big {big little}", "The elements along an axis packed as bits, 1 where they are not 0, eight to a byte, uint8.", func(a *Args) (*uop.UOp, error) {
			x, axis, err := a.flatUnless("axis")
			if err != nil {
				return nil, err
			}
			return tensor.PackBits(x, axis, a.text("bitorder") == "little")
		}),
		inNumpy("unpackbits", "axis int?, count int?, bitorder text = big {big little}", "The bits of the bytes along an axis, uint8: all, or the first count.\nA negative count leaves out that many at the end.", func(a *Args) (*uop.UOp, error) {
			x, axis, err := a.flatUnless("axis")
			if err != nil {
				return nil, err
			}
			bits := int64(0)
			if s := x.Shape(); axis >= -len(s) && axis < len(s) {
				bits = 8 * s[(axis+len(s))%len(s)].N
			}
			count := bits
			if a.given("count") {
				if count = a.int("count"); count < 0 {
					count += bits
				}
				if count < 0 {
					return nil, bad("count", "%d, expected %d or more, the number of bits below 0", a.int("count"), -bits)
				}
			}
			return tensor.UnpackBits(x, axis, count, a.text("bitorder") == "little")
		}),
	}
}
