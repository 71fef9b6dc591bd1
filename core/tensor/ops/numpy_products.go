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
			ofOneType(inNumpy("tensordot", "y tensor, axes ints = 2, y_axes ints?", "The sum of products over axes of both.\naxes are those of x beside y_axes of y; alone, a number of the last axes of x and the first of y.", func(a *Args) (*uop.UOp, error) { return a.tensorDot() })),
			ofOneType(inNumpy("vecdot", "y tensor, axis int = -1", "The sum of products along an axis, with the conjugate of x.", func(a *Args) (*uop.UOp, error) { return tensor.VecDot(a.X, a.tensor("y"), a.axis("axis")) })),
			inNumpy("matvec", "y tensor", "The products of matrices x and vectors, the last axis of y.", func(a *Args) (*uop.UOp, error) { return tensor.MatVec(a.X, a.tensor("y")) }),
			inNumpy("vecmat", "y tensor", "The products of vectors, the last axis of x, and matrices y.", func(a *Args) (*uop.UOp, error) { return tensor.VecMat(a.X, a.tensor("y")) }),
			ofOneType(inNumpy("outer", "b tensor", "The products of all elements of two vectors.", func(a *Args) (*uop.UOp, error) {
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
			ofOneType(inNumpy("kron", "b tensor", "The product of Kronecker.", func(a *Args) (*uop.UOp, error) { return tensor.Kron(a.X, a.tensor("b")) })),
			ofOneType(ofNumber(inNumpy("cross", "b tensor, axisa int = -1, axisb int = -1, axisc int = -1, axis int?", `The cross product of vectors of 2 or 3.
They lie along axisa and axisb, the result along axisc; or all along axis. Two vectors of 2 have one number, the third of their product.`, func(a *Args) (*uop.UOp, error) {
				axes := [3]int{a.axis("axisa"), a.axis("axisb"), a.axis("axisc")}
				if a.given("axis") {
					axes = [3]int{a.axis("axis"), a.axis("axis"), a.axis("axis")}
				}
				return tensor.CrossAlong(a.X, a.tensor("b"), axes)
			}))),
			inNumpy("convolve", "v tensor, mode text = full {full same valid}", "The convolution of two vectors: all of it, as long as the longer one, or without edges.", func(a *Args) (*uop.UOp, error) {
				return tensor.ConvolveVectors(a.X, a.tensor("v"), a.text("mode"))
			}),
			inNumpy("correlate", "v tensor, mode text = valid {full same valid}", "The correlation of two vectors: convolve with v reversed and conjugate.", func(a *Args) (*uop.UOp, error) {
				return tensor.CorrelateVectors(a.X, a.tensor("v"), a.text("mode"))
			}),
			inNumpy("polyval", "x operand", "The polynomial with coefficients p, the highest first, at x.", func(a *Args) (*uop.UOp, error) {
				x, err := a.operand("x", a.X)
				if err != nil {
					return nil, err
				}
				return tensor.PolyVal(a.X, x)
			}),
			inNumpy("roots", "strip_zeros bool = true", `The complex roots, in any order, of the polynomial with coefficients p, the highest first.
Coefficients of 0 at both ends are cut off, for which p is computed; the last ones are roots of 0. Without strip_zeros the first one must not be 0.`, func(a *Args) (*uop.UOp, error) {
				return a.polyRoots()
			}),
			severalInNumpy("quotient remainder", "polydiv", "v tensor", "The quotient and the remainder of polynomials, by their coefficients.\nThe remainder has as many as u. The first coefficient of v must not be 0.", func(a *Args) ([]*uop.UOp, error) {
				return pair(tensor.PolyDiv(a.X, a.tensor("v")))
			}),
			inNumpy("poly", "", "The coefficients, the highest first, of the polynomial with these roots.\nOf a square matrix it is the characteristic polynomial.", func(a *Args) (*uop.UOp, error) { return tensor.PolyFromRoots(a.X) }),
			inNumpy("polyfit", "y tensor, deg int [0,], w tensor?", "The coefficients of the polynomial of degree deg that is nearest to y at x.\nThe highest is first: they have the shape (deg + 1), or (deg + 1, k) for y (n, k). The fit is by least squares, with weights w (n).", func(a *Args) (*uop.UOp, error) {
				return tensor.PolyFit(a.X, a.tensor("y"), a.tensor("w"), a.int("deg"))
			}),
			inNumpy("polyadd", "a2 tensor", "The sum of polynomials, by their coefficients.", func(a *Args) (*uop.UOp, error) { return tensor.PolyAdd(a.X, a.tensor("a2"), false) }),
			inNumpy("polysub", "a2 tensor", "The difference of polynomials, by their coefficients.", func(a *Args) (*uop.UOp, error) { return tensor.PolyAdd(a.X, a.tensor("a2"), true) }),
			inNumpy("polymul", "a2 tensor", "The product of polynomials, by their coefficients.", func(a *Args) (*uop.UOp, error) { return tensor.ConvolveVectors(a.X, a.tensor("a2"), "full") }),
			inNumpy("polyder", "m int = 1 [0,]", "The derivative of order m of a polynomial.", func(a *Args) (*uop.UOp, error) { return tensor.PolyDer(a.X, a.int("m")) }),
			inNumpy("polyint", "m int = 1 [0,], k floats?", "The integral of order m of a polynomial, with constants k.", func(a *Args) (*uop.UOp, error) { return tensor.PolyInt(a.X, a.int("m"), get[[]float64](a, "k")) }),
			inNumpy("vander", "n int? [0,], increasing bool = false", "The matrix of powers of a vector, with n columns.", func(a *Args) (*uop.UOp, error) {
				n, _ := sizeOf(a.X, 0)
				if a.given("n") {
					n = a.int("n")
				}
				return tensor.Vander(a.X, n, a.bool("increasing"))
			}),
		},
		// New arrays
		[]Op{
			window("bartlett", "", "The triangular window of M points, float32."), window("blackman", "", "The window of Blackman of M points, float32."),
			window("hamming", "", "The window of Hamming of M points, float32."), window("hanning", "", "The window of von Hann of M points, float32."),
			window("kaiser", ", beta float", "The window of Kaiser of M points with the parameter beta, float32."),
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
