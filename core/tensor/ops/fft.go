package ops

import (
	"strings"
	"sync"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

const fftDoc = `Fourier transforms, as numpy.fft has them.

A transform of n elements is X[k] = sum of x[j] e^(-2 pi i j k/n). Spectra are complex tensors: complex64, or complex128 where the operand is
float64 or complex128. Any length is possible: products of prime factors up to 61 take Stockham's passes, others the transform by chirps of
Bluestein. norm says what divides: "backward" the inverse by n, "forward" the transform by n, "ortho" both by the root of n. All have derivatives
and batches. The relative error is about 2e-7 for a million elements, 2e-16 in complex128; by chirps it is 4 times as much.
Lengths are numbers: an axis whose size is a variable is refused, as a plan depends on the factors of the length.`

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
		transformAlong("fft", "The transform along an axis, complex.\nIt has n elements: shorter axes are padded with zeros, longer ones cut.", alongFFT(false)),
		transformAlong("ifft", "The inverse of fft.", alongFFT(true)),
		transformAlong("rfft", "The first n/2 + 1 elements of the transform of real numbers.\nThe others are their conjugates.", tensor.RealFFT),
		transformAlong("irfft", "The inverse of rfft, n real numbers, by default 2 (elements - 1).", tensor.InverseRealFFT),
		transformAlong("hfft", "The transform, n real numbers, of a signal whose other half is conjugate.\nn is by default 2 (elements - 1).", tensor.HermitianFFT),
		transformAlong("ihfft", "The inverse of hfft: the first n/2 + 1 elements.", tensor.InverseHermitianFFT),
		transformOver("fft2", "fft along two axes, by default the last, of lengths s.", overFFT(false)),
		transformOver("ifft2", "The inverse of fft2.", overFFT(true)),
		transformOver("rfft2", "rfft along the last of two axes, by default the last of x, and fft along the other.", tensor.RealFFTN),
		transformOver("irfft2", "The inverse of rfft2, of lengths s.", tensor.InverseRealFFTN),
		transformOver("fftn", "fft along axes, all unless given, of lengths s.", overFFT(false)),
		transformOver("ifftn", "The inverse of fftn.", overFFT(true)),
		transformOver("rfftn", "rfft along the last of the axes, and fft along the others.", tensor.RealFFTN),
		transformOver("irfftn", "The inverse of rfftn, of lengths s.", tensor.InverseRealFFTN),
		method("fft.fftconvolve", "y tensor, mode text = full {full same valid}, axes axes?", `The convolution along axes, all unless given, by transforms, as scipy.signal has it.
With "full" it has n + m - 1 elements along them, with "same" the middle n, with "valid" those that no edge has a part in.
Other axes are equal, or 1.`, func(a *Args) (*uop.UOp, error) {
			return tensor.FFTConvolve(a.X, a.tensor("y"), a.text("mode"), a.someAxes())
		}),
		method("fft.fftshift", "axes axes?", "x with the frequency 0 moved from the start of axes, all unless given, to the middle.", func(a *Args) (*uop.UOp, error) {
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
