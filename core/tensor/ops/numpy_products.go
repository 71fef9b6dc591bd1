package ops

import (
	"slices"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// numpyProducts are NumPy's products, polynomials and window functions.
func numpyProducts() []Op {
	return slices.Concat(
		[]Op{
			ofOneType(inNumpy("matmul", "y tensor", "The matrix product of the last two axes.\nVectors are rows on the left and columns on the right.", func(a *Args) (*uop.UOp, error) { return tensor.Product(a.X, a.tensor("y")) })),
			ofOneType(inNumpy("tensordot", "y tensor, axes ints = 2, y_axes ints?", "The products of two arrays, summed over pairs of axes.\naxes are axes of the first array, y_axes those of y that they are paired with; without y_axes, axes is a number n: the last n axes of the first array\nand the first n of y.", func(a *Args) (*uop.UOp, error) { return a.tensorDot() })),
			ofOneType(inNumpy("vecdot", "y tensor, axis int = -1", "The dot product along an axis, with the complex conjugate of x.", func(a *Args) (*uop.UOp, error) { return tensor.VecDot(a.X, a.tensor("y"), a.axis("axis")) })),
			inNumpy("matvec", "y tensor", "The products of matrices x (…, m, n) and vectors y (…, n).", func(a *Args) (*uop.UOp, error) { return tensor.MatVec(a.X, a.tensor("y")) }),
			inNumpy("vecmat", "y tensor", "The products of the complex conjugates of vectors x (…, m) and matrices y (…, m, n).", func(a *Args) (*uop.UOp, error) { return tensor.VecMat(a.X, a.tensor("y")) }),
			ofOneType(inNumpy("outer", "b tensor", "The outer product of two vectors: out[i, j] = a[i] * b[j].", func(a *Args) (*uop.UOp, error) {
				x, err := flat(a.X)
				if err != nil {
					return nil, err
				}
				y, err := flat(a.tensor("b"))
				if err != nil {
					return nil, err
				}
				return tensor.TensorDot(x, y, nil, nil)
			})),
			ofOneType(inNumpy("kron", "b tensor", "The Kronecker product.", func(a *Args) (*uop.UOp, error) { return tensor.Kron(a.X, a.tensor("b")) })),
			ofOneType(ofNumber(inNumpy("cross", "b tensor, axisa int = -1, axisb int = -1, axisc int = -1, axis int?", `The cross product of vectors of 2 or 3 elements.
They lie along axisa and axisb, the result along axisc; axis stands for all three. Two vectors of 2 elements give one number, the third component.`, func(a *Args) (*uop.UOp, error) {
				axes := [3]int{a.axis("axisa"), a.axis("axisb"), a.axis("axisc")}
				if a.given("axis") {
					axes = [3]int{a.axis("axis"), a.axis("axis"), a.axis("axis")}
				}
				return tensor.CrossAlong(a.X, a.tensor("b"), axes)
			}))),
			inNumpy("convolve", "v tensor, mode text = full {full same valid}", "The convolution of two vectors.\nmode \"full\" gives all of it, \"same\" as many elements as the longer vector has, \"valid\" only those where the vectors overlap completely.", func(a *Args) (*uop.UOp, error) {
				return tensor.ConvolveVectors(a.X, a.tensor("v"), a.text("mode"))
			}),
			inNumpy("correlate", "v tensor, mode text = valid {full same valid}", "The correlation of two vectors: convolve with v reversed and conjugated.", func(a *Args) (*uop.UOp, error) {
				return tensor.CorrelateVectors(a.X, a.tensor("v"), a.text("mode"))
			}),
			inNumpy("polyval", "x operand", "The value at x of the polynomial with coefficients p, the highest power first.", func(a *Args) (*uop.UOp, error) {
				x, err := a.operand("x", a.X)
				if err != nil {
					return nil, err
				}
				return tensor.PolyVal(a.X, x)
			}),
			inNumpy("roots", "strip_zeros bool = true", `The complex roots, in any order, of a polynomial with coefficients p, highest power first.
Leading and trailing coefficients of 0 are removed, for which p is computed; each trailing one is a root 0. Without strip_zeros the first coefficient
must not be 0.`, func(a *Args) (*uop.UOp, error) {
				return a.polyRoots()
			}),
			severalInNumpy("quotient remainder", "polydiv", "v tensor", "The coefficients of the quotient and the remainder of two polynomials.\nThe remainder has as many coefficients as u. The first coefficient of v must not be 0.", func(a *Args) ([]*uop.UOp, error) {
				return pair(tensor.PolyDiv(a.X, a.tensor("v")))
			}),
			inNumpy("poly", "", "The coefficients, highest power first, of the polynomial with the given roots.\nOf a square matrix it is the characteristic polynomial.", func(a *Args) (*uop.UOp, error) { return tensor.PolyFromRoots(a.X) }),
			inNumpy("polyfit", "y tensor, deg int [0,], w tensor?", "The coefficients of the polynomial of degree deg that fits y at x by least squares.\nThe highest power is first: the shape is (deg + 1), or (deg + 1, k) for y (n, k). w (n) are the weights of the points.", func(a *Args) (*uop.UOp, error) {
				return tensor.PolyFit(a.X, a.tensor("y"), a.tensor("w"), a.int("deg"))
			}),
			inNumpy("polyadd", "a2 tensor", "The coefficients of the sum of two polynomials.", func(a *Args) (*uop.UOp, error) { return tensor.PolyAdd(a.X, a.tensor("a2"), false) }),
			inNumpy("polysub", "a2 tensor", "The coefficients of the difference of two polynomials.", func(a *Args) (*uop.UOp, error) { return tensor.PolyAdd(a.X, a.tensor("a2"), true) }),
			inNumpy("polymul", "a2 tensor", "The coefficients of the product of two polynomials.", func(a *Args) (*uop.UOp, error) { return tensor.ConvolveVectors(a.X, a.tensor("a2"), "full") }),
			inNumpy("polyder", "m int = 1 [0,]", "The coefficients of the derivative of order m of a polynomial.", func(a *Args) (*uop.UOp, error) { return tensor.PolyDer(a.X, a.int("m")) }),
			inNumpy("polyint", "m int = 1 [0,], k floats?", "The coefficients of the integral of order m of a polynomial, with integration constants k.", func(a *Args) (*uop.UOp, error) { return tensor.PolyInt(a.X, a.int("m"), get[[]float64](a, "k")) }),
			inNumpy("vander", "n int? [0,], increasing bool = false", "The Vandermonde matrix: the powers of the elements of a vector, in n columns.", func(a *Args) (*uop.UOp, error) {
				n, _ := sizeOf(a.X, 0)
				if a.given("n") {
					n = a.int("n")
				}
				return tensor.Vander(a.X, n, a.bool("increasing"))
			}),
		},
		// New arrays
		[]Op{
			window("bartlett", "", "The triangular window of M points, float32."), window("blackman", "", "The Blackman window of M points, float32."),
			window("hamming", "", "The Hamming window of M points, float32."), window("hanning", "", "The Hann window of M points, float32."),
			window("kaiser", ", beta float", "The Kaiser window of M points with the parameter beta, float32."),
		},
	)
}

// polyRoots are the roots of a polynomial. With strip_zeros, coefficients of 0 in front and at the end are cut off; each one at the end is a root of
// 0.
func (a *Args) polyRoots() (*uop.UOp, error) {
	if !a.bool("strip_zeros") || len(a.X.Shape()) != 1 {
		return tensor.PolyRoots(a.X)
	}
	n, _ := sizeOf(a.X, 0)
	p := a.X
	last := int64(0)
	for range 2 { // the zeros in front, and those of the reversed coefficients
		some, err := tensor.Cast(p, uop.Bool)
		if err == nil {
			some, err = tensor.Cast(some, uop.Int32)
		}
		if err == nil {
			some, _, err = tensor.CumMax(some, 0)
		}
		if err != nil {
			return nil, err
		}
		kept, err := a.count(some)
		if err != nil {
			return nil, err
		}
		last, n = n-kept, kept
		if p, err = tensor.Shrink(p, []uop.Pair{{Lo: uop.N(last), Hi: p.Shape()[0]}}); err == nil {
			p, err = tensor.Flip(p, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := tensor.PolyRoots(p)
	if err != nil || n == 0 {
		return r, err
	}
	return tensor.Pad(r, []uop.Pair{{Lo: uop.N(0), Hi: uop.N(last)}}, uop.Int(0))
}

// tensorDot is a sum of products over the axes of the arguments axes and y_axes.
func (a *Args) tensorDot() (*uop.UOp, error) {
	left, right := a.axes("axes"), a.axes("y_axes")
	if !a.given("y_axes") {
		n := 0
		if len(left) == 1 {
			n = left[0]
		}
		if len(left) != 1 || n < 0 || n > len(a.X.Shape()) {
			return nil, bad("axes", "%v, expected a number of axes from 0 to %d, or y_axes too", left, len(a.X.Shape()))
		}
		left = nil
		for i := range n {
			left, right = append(left, len(a.X.Shape())-n+i), append(right, i)
		}
	}
	return tensor.TensorDot(a.X, a.tensor("y"), left, right)
}

func window(name, params, doc string) Op {
	return single(Maker, "numpy."+name, "M int"+params, doc, func(a *Args) (*uop.UOp, error) {
		beta := 0.0
		if params != "" {
			beta = a.float("beta")
		}
		return tensor.WindowFunction(a.Graph, name, a.int("M"), beta, uop.Float32)
	})
}
