package ops

import (
	"strings"
	"sync"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

const fftDoc = `Fourier transforms, as numpy.fft has them.

The transform of n elements is X[k] = sum of x[j] e^(-2 pi i j k/n). Spectra are complex tensors: complex64, or complex128 where the operand is
float64 or complex128. Any length is possible: lengths whose prime factors are at most 61 use the Stockham algorithm, others Bluestein's chirp
algorithm. norm says which direction is scaled: "backward" divides the inverse by n, "forward" the transform by n, "ortho" both by sqrt(n). All
functions have derivatives and batching rules. The relative error is about 2e-7 for a million elements, 2e-16 in complex128; with Bluestein's algorithm
it is 4 times as large. Lengths are numbers: an axis whose size is a variable is an error, because the plan depends on the factors of the length.`

var fourierNorms = map[string]tensor.Norm{"backward": tensor.NormBackward, "ortho": tensor.NormOrtho, "forward": tensor.NormForward}

func (a *Args) fourierNorm() tensor.Norm { return fourierNorms[a.text("norm")] }

// length is an optional length of a transform, 0 if it is not given.
func (a *Args) length(name string) (int64, error) {
	if !a.given(name) {
		return 0, nil
	}
	if n := a.int(name); n > 0 {
		return n, nil
	}
	return 0, bad(name, "%d, expected 1 or more", a.int(name))
}

const normParam = ", norm text = backward {backward ortho forward}"

// transformAlong is a transform along one axis.
func transformAlong(name, doc string, build func(x *uop.UOp, n int64, axis int, norm tensor.Norm) (*uop.UOp, error)) Op {
	return called("a", method("fft."+name, "n int?, axis int = -1"+normParam, doc, func(a *Args) (*uop.UOp, error) {
		n, err := a.length("n")
		if err != nil {
			return nil, err
		}
		return build(a.X, n, a.axis("axis"), a.fourierNorm())
	}))
}

// transformOver is a transform over axes: the last two of a name that ends in 2, else all by default.
func transformOver(name, doc string, build func(x *uop.UOp, sizes []int64, axes []int, norm tensor.Norm) (*uop.UOp, error)) Op {
	return called("a", method("fft."+name, "s ints?, axes axes?"+normParam, doc, func(a *Args) (*uop.UOp, error) {
		axes := a.someAxes()
		if axes == nil && strings.HasSuffix(name, "2") {
			axes = []int{-2, -1}
		}
		var sizes []int64
		if a.given("s") {
			sizes = a.ints("s")
		}
		return build(a.X, sizes, axes, a.fourierNorm())
	}))
}

// frequencies is a maker of frequencies.
func frequencies(name, doc string, real bool) Op {
	return single(Maker, "fft."+name, "n int, d float = 1, dtype dtype = float32", doc, func(a *Args) (*uop.UOp, error) {
		return tensor.FFTFrequencies(a.Graph, a.int("n"), a.float("d"), real, a.dtype("dtype"))
	})
}

func alongFFT(inverse bool) func(x *uop.UOp, n int64, axis int, norm tensor.Norm) (*uop.UOp, error) {
	return func(x *uop.UOp, n int64, axis int, norm tensor.Norm) (*uop.UOp, error) {
		return tensor.FFT(x, n, axis, norm, inverse)
	}
}

func overFFT(inverse bool) func(x *uop.UOp, sizes []int64, axes []int, norm tensor.Norm) (*uop.UOp, error) {
	return func(x *uop.UOp, sizes []int64, axes []int, norm tensor.Norm) (*uop.UOp, error) {
		return tensor.FFTN(x, sizes, axes, norm, inverse)
	}
}

var fftOps = sync.OnceValue(func() []Op {
	return []Op{
		transformAlong("fft", "The Fourier transform along an axis, complex.\nn is its length, by default that of the axis: a shorter axis is padded with zeros, a longer one is truncated.", alongFFT(false)),
		transformAlong("ifft", "The inverse of fft.", alongFFT(true)),
		transformAlong("rfft", "The first n/2 + 1 elements of the Fourier transform of real numbers.\nThe others are complex conjugates of these.", tensor.RealFFT),
		transformAlong("irfft", "The inverse of rfft: n real numbers; n is by default 2 (m - 1) for an axis of m elements.", tensor.InverseRealFFT),
		transformAlong("hfft", "The Fourier transform, n real numbers, of a Hermitian signal given by its first half.\nn is by default 2 (m - 1) for an axis of m elements.", tensor.HermitianFFT),
		transformAlong("ihfft", "The inverse of hfft: the first n/2 + 1 elements of the signal.", tensor.InverseHermitianFFT),
		transformOver("fft2", "The fft along two axes, by default the last two; s are the lengths.", overFFT(false)),
		transformOver("ifft2", "The inverse of fft2.", overFFT(true)),
		transformOver("rfft2", "The rfft along the second of two axes, by default the last two, and fft along the first.", tensor.RealFFTN),
		transformOver("irfft2", "The inverse of rfft2; s are the lengths of the result.", tensor.InverseRealFFTN),
		transformOver("fftn", "The fft along axes, all unless given; s are the lengths.", overFFT(false)),
		transformOver("ifftn", "The inverse of fftn.", overFFT(true)),
		transformOver("rfftn", "The rfft along the last of the axes, and the fft along the others.", tensor.RealFFTN),
		transformOver("irfftn", "The inverse of rfftn; s are the lengths of the result.", tensor.InverseRealFFTN),
		method("fft.fftconvolve", "y tensor, mode text = full {full same valid}, axes axes?", `The convolution along axes, all unless given, by Fourier transforms, as in scipy.signal.
mode "full" gives all n + m - 1 elements along each axis, "same" the middle n, "valid" those that do not depend on padding at the edges.
Sizes along other axes are equal, or 1.`, func(a *Args) (*uop.UOp, error) {
			return tensor.FFTConvolve(a.X, a.tensor("y"), a.text("mode"), a.someAxes())
		}),
		method("fft.fftshift", "axes axes?", "x with the frequency 0 moved from the start to the middle of axes, all unless given.", func(a *Args) (*uop.UOp, error) {
			return tensor.FFTShift(a.X, a.someAxes(), false)
		}),
		method("fft.ifftshift", "axes axes?", "The inverse of fftshift.", func(a *Args) (*uop.UOp, error) { return tensor.FFTShift(a.X, a.someAxes(), true) }),
		frequencies("fftfreq", "The frequencies of the n elements of fft, in cycles per unit of the spacing d.", false),
		frequencies("rfftfreq", "The frequencies of the n/2 + 1 elements of rfft.", true),
	}
})

// someAxes are the axes that are given, or nil.
func (a *Args) someAxes() []int {
	if a.given("axes") {
		return a.axes("axes")
	}
	return nil
}
