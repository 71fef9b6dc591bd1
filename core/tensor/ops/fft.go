package ops

import (
	"strings"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

const fftDoc = `Fourier transforms, as numpy.fft has them.

Complex numbers are two tensors, the real and the imaginary parts; without the second they are real. A transform of n elements is X[k] = sum of x[j] e^(-2 pi i j k/n). Any length is possible: products of prime factors up to 61 take Stockham's
passes, others the transform by chirps of Bluestein. norm says what divides: "backward" the inverse by n, "forward" the transform by n, "ortho"
both by the root of n. Results are float32, or float64 where an operand is. All have derivatives and batches. The relative error is about 2e-7
for a million elements, 2e-16 in float64; by chirps it is 4 times as much.`

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

const (
	normParam = ", norm text = backward {backward ortho forward}"
	oneAxis   = "n int?, axis int = -1" + normParam
	imagPart  = "imag tensor?, "
)

// transformAlong is a transform along one axis with complex results.
func transformAlong(name, params, doc string, build func(a *Args, n int64) (real, imag *uop.UOp, err error)) Op {
	return several("real imag", "fft."+name, params+oneAxis, doc, func(a *Args) ([]*uop.UOp, error) {
		n, err := a.length("n")
		if err != nil {
			return nil, err
		}
		return pair(build(a, n))
	})
}

// toReal is a transform along one axis with real results.
func toReal(name, doc string, build func(a *Args, n int64) (*uop.UOp, error)) Op {
	return method("fft."+name, imagPart+oneAxis, doc, func(a *Args) (*uop.UOp, error) {
		n, err := a.length("n")
		if err != nil {
			return nil, err
		}
		return build(a, n)
	})
}

// over is a transform over axes: the last two of a name that ends in 2, else all by default.
func over(name, params, doc string, build func(a *Args, axes []int) ([]*uop.UOp, error)) Op {
	const axes = "s ints?, axes axes?"
	call := func(a *Args) ([]*uop.UOp, error) {
		switch {
		case a.given("axes"):
			return build(a, a.axes("axes"))
		case strings.HasSuffix(name, "2"):
			return build(a, []int{-2, -1})
		}
		return build(a, nil)
	}
	if strings.HasPrefix(name, "irfft") {
		return method("fft."+name, params+axes+normParam, doc, func(a *Args) (*uop.UOp, error) {
			r, err := call(a)
			if err != nil {
				return nil, err
			}
			return r[0], nil
		})
	}
	return several("real imag", "fft."+name, params+axes+normParam, doc, call)
}

func (a *Args) sizesOfAxes() []int64 {
	if a.given("s") {
		return a.ints("s")
	}
	return nil
}

func complexOver(inverse bool) func(a *Args, axes []int) ([]*uop.UOp, error) {
	return func(a *Args, axes []int) ([]*uop.UOp, error) {
		return pair(tensor.FFTN(a.X, a.tensor("imag"), a.sizesOfAxes(), axes, a.fourierNorm(), inverse))
	}
}

func realOver(a *Args, axes []int) ([]*uop.UOp, error) {
	return pair(tensor.RealFFTN(a.X, a.sizesOfAxes(), axes, a.fourierNorm()))
}

func inverseRealOver(a *Args, axes []int) ([]*uop.UOp, error) {
	x, err := tensor.InverseRealFFTN(a.X, a.tensor("imag"), a.sizesOfAxes(), axes, a.fourierNorm())
	return []*uop.UOp{x}, err
}

// swapped is the norm of the other direction.
func swapped(n tensor.Norm) tensor.Norm {
	switch n {
	case tensor.NormBackward:
		return tensor.NormForward
	case tensor.NormForward:
		return tensor.NormBackward
	}
	return n
}

var fftOps = []Op{
	transformAlong("fft", imagPart, "The transform along an axis.\nIt has n elements: shorter axes are padded with zeros, longer ones cut.", func(a *Args, n int64) (*uop.UOp, *uop.UOp, error) {
		return tensor.FFT(a.X, a.tensor("imag"), n, a.axis("axis"), a.fourierNorm(), false)
	}),
	transformAlong("ifft", imagPart, "The inverse of fft.", func(a *Args, n int64) (*uop.UOp, *uop.UOp, error) {
		return tensor.FFT(a.X, a.tensor("imag"), n, a.axis("axis"), a.fourierNorm(), true)
	}),
	transformAlong("rfft", "", "The first n/2 + 1 elements of the transform of real numbers.\nThe others are their conjugates.", func(a *Args, n int64) (*uop.UOp, *uop.UOp, error) {
		return tensor.RealFFT(a.X, n, a.axis("axis"), a.fourierNorm())
	}),
	toReal("irfft", "The inverse of rfft, n real numbers, by default 2 (elements - 1).", func(a *Args, n int64) (*uop.UOp, error) {
		return tensor.InverseRealFFT(a.X, a.tensor("imag"), n, a.axis("axis"), a.fourierNorm())
	}),
	toReal("hfft", "The transform, n real numbers, of a signal whose other half is conjugate.", func(a *Args, n int64) (*uop.UOp, error) {
		im := a.tensor("imag")
		if im != nil {
			var err error
			if im, err = tensor.Neg(im); err != nil {
				return nil, err
			}
		}
		return tensor.InverseRealFFT(a.X, im, n, a.axis("axis"), swapped(a.fourierNorm()))
	}),
	transformAlong("ihfft", "", "The inverse of hfft: the first n/2 + 1 elements.", func(a *Args, n int64) (*uop.UOp, *uop.UOp, error) {
		re, im, err := tensor.RealFFT(a.X, n, a.axis("axis"), swapped(a.fourierNorm()))
		if err != nil {
			return nil, nil, err
		}
		im, err = tensor.Neg(im)
		return re, im, err
	}),
	over("fft2", imagPart, "fft along two axes, by default the last, of lengths s.", complexOver(false)),
	over("ifft2", imagPart, "The inverse of fft2.", complexOver(true)),
	over("rfft2", "", "rfft along the last of two axes, by default the last of x, and fft along the other.", realOver),
	over("irfft2", imagPart, "The inverse of rfft2, of lengths s.", inverseRealOver),
	over("fftn", imagPart, "fft along axes, all unless given, of lengths s.", complexOver(false)),
	over("ifftn", imagPart, "The inverse of fftn.", complexOver(true)),
	over("rfftn", "", "rfft along the last of the axes, and fft along the others.", realOver),
	over("irfftn", imagPart, "The inverse of rfftn, of lengths s.", inverseRealOver),
	method("fft.fftshift", "axes axes?", "x with the frequency 0 moved from the start of axes, all unless given, to the middle.", func(a *Args) (*uop.UOp, error) {
		return tensor.FFTShift(a.X, a.shiftedAxes(), false)
	}),
	method("fft.ifftshift", "axes axes?", "The inverse of fftshift.", func(a *Args) (*uop.UOp, error) { return tensor.FFTShift(a.X, a.shiftedAxes(), true) }),
	single(Maker, "fft.fftfreq", "n int, d float = 1", "The frequencies of the n elements of fft, in cycles per unit of the spacing d, float32.", func(a *Args) (*uop.UOp, error) {
		return tensor.FFTFrequencies(a.Graph, a.int("n"), a.float("d"), false)
	}),
	single(Maker, "fft.rfftfreq", "n int, d float = 1", "The frequencies of the n/2 + 1 elements of rfft.", func(a *Args) (*uop.UOp, error) {
		return tensor.FFTFrequencies(a.Graph, a.int("n"), a.float("d"), true)
	}),
}

func (a *Args) shiftedAxes() []int {
	if a.given("axes") {
		return a.axes("axes")
	}
	return nil
}
