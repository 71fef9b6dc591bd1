package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"polygrad/core/uop"
)

// complexPlanes are the real and the imaginary parts of complex numbers; im is nil where it is 0.
type complexPlanes struct{ re, im *uop.UOp }

func (z complexPlanes) both(f func(*uop.UOp) *uop.UOp) complexPlanes {
	if z.im == nil {
		return complexPlanes{f(z.re), nil}
	}
	return complexPlanes{f(z.re), f(z.im)}
}

// times is the complex product with w.
func (z complexPlanes) times(w complexPlanes) complexPlanes {
	switch {
	case w.im == nil:
		return z.both(func(u *uop.UOp) *uop.UOp { return mul(u, w.re) })
	case z.im == nil:
		return complexPlanes{mul(z.re, w.re), mul(z.re, w.im)}
	}
	return complexPlanes{sub(mul(z.re, w.re), mul(z.im, w.im)), add(mul(z.re, w.im), mul(z.im, w.re))}
}

func (z complexPlanes) imag() *uop.UOp {
	if z.im == nil {
		return mul(z.re, 0)
	}
	return z.im
}

func (z complexPlanes) conjugate() complexPlanes {
	if z.im == nil {
		return z
	}
	return complexPlanes{z.re, neg(z.im)}
}

const (
	// largestRadix is the largest DFT that is one product with a matrix. Lengths with a larger prime factor are transformed by chirps.
	largestRadix = 64
	// passWork is what storing and reading the elements of a pass costs, in pairs of terms of a sum.
	passWork = 20
)

// radices are the factors of n with the least work, in the order of the passes; nil if a prime factor is too large. In a pass of radix r each element
// is a sum over the pairs of r terms.
func radices(n int64) []int64 {
	least := map[int64]int64{1: 0}
	first := map[int64]int64{}
	var work func(n int64) int64
	work = func(n int64) int64 {
		if w, known := least[n]; known {
			return w
		}
		best := int64(math.MaxInt64)
		for r := int64(min(n, largestRadix)); r > 1; r-- {
			if n%r != 0 {
				continue
			}
			if rest := work(n / r); rest < math.MaxInt64 && rest+pairs(r)+passWork < best {
				best, first[n] = rest+pairs(r)+passWork, r
			}
		}
		least[n] = best
		return best
	}
	if work(n) == math.MaxInt64 {
		return nil
	}
	var out []int64
	for ; n > 1; n /= first[n] {
		out = append(out, first[n])
	}
	return out
}

// pairs is the number of pairs of j and r-j for j from 1 to below r.
func pairs(r int64) int64 { return (r - 1) / 2 }

// table is a pair of constant planes that is made once in a graph.
func table(g *uop.Graph, name string, make func() complexPlanes) complexPlanes {
	var z complexPlanes
	z.re = g.Made(name+" re", func() *uop.UOp { z = make(); return z.re })
	z.im = g.Made(name+" im", func() *uop.UOp {
		if z.im == nil {
			z = make()
		}
		return z.im
	})
	return z
}

// steps are 0, step, …, (n-1)*step in a shape. Unlike arange they have no UNIQUE source, so that equal tables are one node.
func steps(g *uop.Graph, n, step int64, dims ...int64) *uop.UOp {
	if n > mostScanned {
		return reshape(arange(g, uop.Int(0), uop.Int(n*step), uop.Int(step), uop.Int64), uop.ShapeOf(dims...))
	}
	x := g.DeviceConst(uop.Int64, uop.Int(step), DeviceName, uop.ShapeOf(n))
	return reshape(sub(cumulate(x, 0, uop.Add, false), int(step)), uop.ShapeOf(dims...))
}

// unitRoots are e^(-2πi t/n) for integers t from 0 to below n, of type dt. They are rounded once, and exact at quarters of the circle: the
// sine or the cosine is of the angle from the nearest one. As -sin x is cos(x+π/2), one kernel stores both planes.
func unitRoots(t *uop.UOp, n int64, dt *uop.DType) complexPlanes {
	planes := rootPlanes(t, n, dt)
	plane := func(i int64) *uop.UOp { return reshape(shrinkAxis(planes, 0, uop.N(i), uop.N(i+1)), t.Shape()) }
	return complexPlanes{plane(0), plane(1)}
}

// rootPlanes are the planes of unitRoots, each a row.
func rootPlanes(t *uop.UOp, n int64, dt *uop.DType) *uop.UOp {
	dims := t.Shape()
	flat := reshape(t, uop.Shape{uop.N(1), dims.Numel()})
	nearest := truncDiv(add(mul(flat, 8), int(n)), int(2*n))
	angle := mul(cast(sub(mul(flat, 4), mul(nearest, int(n))), uop.Float64), math.Pi/2/float64(n))
	quarter := add(nearest, steps(t.Graph(), 2, 1, 2, 1))
	odd, minus := ne(bitAnd(quarter, 1), 0), ne(bitAnd(add(quarter, 1), 2), 0)
	v := sin(where(odd, angle, add(angle, math.Pi/2)))
	v = where(bitOr(odd, ne(angle, 0)), v, 1)
	return cast(where(minus, neg(v), v), dt).ContiguousOp()
}

// fewRoots is the size up to which each element of a table is a sine: a table depends on no input, so it is computed once.
const fewRoots = 1 << 14

// twiddles are e^(-2πi p k/n) for p < m (axis 0) and k < r (axis 1). If there are many, they are products of a row for each block of p and a row for
// each place in a block, since sines of all of them would take longer than the passes.
func twiddles(g *uop.Graph, m, r, n int64, dt *uop.DType) complexPlanes {
	return table(g, fmt.Sprint("twiddles ", m, r, n, dt), func() complexPlanes { return newTwiddles(g, m, r, n, dt) })
}

func newTwiddles(g *uop.Graph, m, r, n int64, dt *uop.DType) complexPlanes {
	block := rootBlock(m)
	k := steps(g, r, 1, 1, r)
	rows := func(count, step int64) complexPlanes {
		p := steps(g, count, step, count, 1)
		return unitRoots(truncMod(mul(p, k), int(n)), n, dt)
	}
	if block == 1 || block == m || m*r <= fewRoots {
		return rows(m, 1)
	}
	blocks := rows(m/block, block).both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(m/block, 1, r)) })
	places := rows(block, 1).both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(1, block, r)) })
	return blocks.times(places).both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(m, r)) })
}

// rootBlock is a divisor of m near its square root.
func rootBlock(m int64) int64 {
	block := int64(1) << (bits.Len64(uint64(m)) / 2)
	for m%block != 0 {
		block--
	}
	return block
}

// transformed is the DFT of length n along the middle axis of (batch, n, beside), by Stockham's passes: each transforms along the most significant
// digit of the input index and inserts the digit of its results in front of those of the passes before it, so that no pass permutes. (C. Van Loan,
// Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7.)
func transformed(z complexPlanes, batch, n, beside int64) complexPlanes {
	rs := radices(n)
	if n > 1 && rs == nil {
		return byChirps(z, batch, n, beside)
	}
	g, dt := z.re.Graph(), z.re.DType
	done, left := int64(1), n
	for _, r := range rs {
		m := left / r
		x := z.both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(batch, r, 1, m, done*beside)) })
		y := x.digits(r).both(func(u *uop.UOp) *uop.UOp {
			return permute(reshape(u, uop.ShapeOf(batch, r, m, done*beside)), []int{0, 2, 1, 3})
		})
		if m > 1 {
			y = y.times(twiddles(g, m, r, left, dt).both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(1, m, r, 1)) }))
		}
		z = y.both((*uop.UOp).ContiguousOp)
		done, left = done*r, m
	}
	return z.both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(batch, n, beside)) })
}

// digits is the DFT of length r along axis 1 of five; the results lie along axis 2. As the roots of j and r-j are conjugates, cosines multiply sums
// of two elements and sines their differences, which halves the terms.
func (z complexPlanes) digits(r int64) complexPlanes {
	g, dt, n := z.re.Graph(), z.re.DType, pairs(r)
	part := func(from, to int64) complexPlanes {
		return z.both(func(u *uop.UOp) *uop.UOp { return shrinkAxis(u, 1, uop.N(from), uop.N(to)) })
	}
	y := part(0, 1)
	if r%2 == 0 { // the middle is its own partner
		signs := g.Made(fmt.Sprint("signs ", r, dt), func() *uop.UOp {
			odd := truncMod(steps(g, r, 1, 1, 1, r, 1, 1), 2)
			return cast(sub(1, mul(odd, 2)), dt).ContiguousOp()
		})
		middle := part(n+1, n+2).times(complexPlanes{re: signs})
		y.re = add(y.re, middle.re)
		if y.im != nil {
			y.im = add(y.im, middle.im)
		}
	}
	if n == 0 {
		return y
	}
	w, front, back := rootsOf(g, r, dt), part(1, n+1), part(r-n, r).both(func(u *uop.UOp) *uop.UOp { return flip(u, 1) })
	re, im := mul(add(front.re, back.re), w.re), mul(sub(front.re, back.re), w.im)
	if z.im != nil {
		re = sub(re, mul(sub(front.im, back.im), w.im))
		im = add(mul(add(front.im, back.im), w.re), im)
	}
	re, im = sum(re, []int{1}, true), sum(im, []int{1}, true)
	if y.im != nil {
		im = add(im, y.im)
	}
	return complexPlanes{add(re, y.re), im}
}

// rootsOf are e^(-2πi j k/r) with j = 1..pairs(r) along axis 1 and k = 0..r-1 along axis 2 of five.
func rootsOf(g *uop.Graph, r int64, dt *uop.DType) complexPlanes {
	return table(g, fmt.Sprint("roots ", r, dt), func() complexPlanes {
		n := pairs(r)
		j, k := add(steps(g, n, 1, n, 1), 1), steps(g, r, 1, 1, r)
		return unitRoots(truncMod(mul(j, k), int(r)), r, dt).both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(1, n, r, 1, 1)) })
	})
}

// byChirps is the DFT of any length as a convolution: j k = (j² + k² - (k-j)²)/2 (L. Bluestein, 1970).
func byChirps(z complexPlanes, batch, n, beside int64) complexPlanes {
	g, dt := z.re.Graph(), z.re.DType
	size := int64(1) << bits.Len64(uint64(2*n-2))
	chirp := table(g, fmt.Sprint("chirp ", n, dt), func() complexPlanes {
		t := steps(g, n, 1, 1, n, 1)
		return unitRoots(truncMod(mul(t, t), int(2*n)), 2*n, dt)
	})
	kernel := table(g, fmt.Sprint("transformed chirp ", n, dt), func() complexPlanes {
		// The conjugate chirp at positive and negative distances; the convolution is circular, so the negative ones stand at its end.
		return transform(chirp.conjugate().both(func(u *uop.UOp) *uop.UOp {
			back := flip(shrinkAxis(u, 1, uop.N(1), uop.N(n)), 1)
			return cat([]*uop.UOp{padAxis(u, 1, 0, size-2*n+1, 0), back}, 1)
		}), 1, size, 1, false, 1/float64(size))
	})
	x := z.times(chirp).both(func(u *uop.UOp) *uop.UOp { return padAxis(u, 1, 0, size-n, 0) })
	y := transform(x, batch, size, beside, false, 1).times(kernel)
	// The inverse with the planes exchanged shares its kernels with the transform.
	y = transform(complexPlanes{y.im, y.re}, batch, size, beside, false, 1).both(func(u *uop.UOp) *uop.UOp { return shrinkAxis(u, 1, uop.N(0), uop.N(n)) })
	return complexPlanes{y.im, y.re}.times(chirp).both((*uop.UOp).ContiguousOp)
}

// Norm scales a Fourier transform.
type Norm uint8

// The norms: the inverse is divided by the length, both by its root, or the forward transform is divided.
const (
	NormBackward Norm = iota
	NormOrtho
	NormForward
)

// swapped is the norm of the other direction.
func (o Norm) swapped() Norm {
	switch o {
	case NormBackward:
		return NormForward
	case NormForward:
		return NormBackward
	}
	return o
}

// factor is the factor of the sums.
func (o Norm) factor(n int64, inverse bool) float64 {
	switch {
	case o == NormOrtho:
		return 1 / math.Sqrt(float64(n))
	case inverse == (o == NormBackward):
		return 1 / float64(n)
	}
	return 1
}

// fourierOperand checks and prepares the operand of a transform along an axis: n elements, with zeros behind shorter ones, in the type of
// the computation, shaped (batch, n, beside).
func fourierOperand(z complexPlanes, n int64, axis int) (padded complexPlanes, shape uop.Shape, at int, batch, size, beside int64) {
	dims := intShape("x", z.re.Shape())
	needAxes("x", z.re)
	at = axisOf("axis", axis, len(dims))
	if n == 0 {
		n = dims[at]
	}
	if n < 1 {
		fail("n", "%d, expected 1 or more elements along the axis", n)
	}
	batch, beside = 1, 1
	for i, d := range dims {
		if i < at {
			batch *= d
		} else if i > at {
			beside *= d
		}
	}
	shape = joinShapes(z.re.Shape())
	shape[at] = uop.N(n)
	return z.both(func(u *uop.UOp) *uop.UOp {
		if u = cast(u, fourierType(u)); n != dims[at] {
			u = padAxis(u, at, 0, n-dims[at], 0)
		}
		return reshape(u, uop.ShapeOf(batch, n, beside))
	}), shape, at, batch, n, beside
}

// fourierType is the type that a transform computes in: float64 for that, else float32.
func fourierType(x *uop.UOp) *uop.DType {
	if x.DType == uop.Float64 {
		return uop.Float64
	}
	return uop.Float32
}

// realOperand refuses complex operands of transforms of real numbers.
func realOperand(x *uop.UOp) *uop.UOp {
	need("x", x)
	if x.DType.IsComplex() {
		fail("x", "is %s, expected real numbers: fft is the transform of complex ones", x.DType)
	}
	return x
}

// FFT is the discrete Fourier transform along an axis, or its inverse, a complex tensor. n is the length, 0 for that of x: shorter axes
// are padded with zeros, longer ones cut.
func FFT(x *uop.UOp, n int64, axis int, norm Norm, inverse bool) (r *uop.UOp, err error) {
	defer guard("FFT", &err)
	need("x", x)
	return fft(complexOf(x), n, axis, norm, inverse).joined(), nil
}

func fft(z complexPlanes, n int64, axis int, norm Norm, inverse bool) complexPlanes {
	z, shape, _, batch, size, beside := fourierOperand(z, n, axis)
	if batch*beside > 0 {
		z = transform(z, batch, size, beside, inverse, norm.factor(size, inverse))
	}
	return complexPlanes{z.re, z.imag()}.both(func(u *uop.UOp) *uop.UOp { return reshape(u, shape) })
}

// RealFFT is FFT of real numbers: the first n/2 + 1 elements; the others are their conjugates.
func RealFFT(x *uop.UOp, n int64, axis int, norm Norm) (r *uop.UOp, err error) {
	defer guard("RealFFT", &err)
	return realFFT(realOperand(x), n, axis, norm).joined(), nil
}

// realFFT of an even length n is a complex transform of half the length, of the even elements and i times the odd ones.
func realFFT(x *uop.UOp, n int64, axis int, norm Norm) complexPlanes {
	z, shape, at, batch, n, beside := fourierOperand(complexPlanes{x, nil}, n, axis)
	half := n/2 + 1
	shape[at] = uop.N(half)
	shaped := func(u *uop.UOp) *uop.UOp { return reshape(u, shape) }
	if batch*beside == 0 {
		return complexPlanes{full(x.Graph(), shape, uop.Float(0), z.re.DType), full(x.Graph(), shape, uop.Float(0), z.re.DType)}
	}
	if n%2 != 0 {
		y := transform(z, batch, n, beside, false, norm.factor(n, false))
		y = complexPlanes{y.re, y.imag()}.both(func(u *uop.UOp) *uop.UOp { return shrinkAxis(u, 1, uop.N(0), uop.N(half)) })
		return y.both(shaped)
	}
	m := n / 2
	parities := planesOf(permute(reshape(z.re, uop.ShapeOf(batch, m, 2, beside)), []int{0, 1, 3, 2}))
	y := transform(parities, batch, m, beside, false, 1)
	// X[k] = (y[k] + conj y[m-k])/2 - i w^k (y[k] - conj y[m-k])/2 for k from 0 to m, y[m] being y[0].
	around := y.both(func(u *uop.UOp) *uop.UOp { return cat([]*uop.UOp{u, shrinkAxis(u, 1, uop.N(0), uop.N(1))}, 1) })
	mirror := around.both(func(u *uop.UOp) *uop.UOp { return flip(u, 1) }).conjugate()
	even := complexPlanes{add(around.re, mirror.re), add(around.im, mirror.im)}
	odd := complexPlanes{sub(around.im, mirror.im), sub(mirror.re, around.re)} // -i times the difference
	odd = odd.times(halfRoots(z.re.Graph(), half, n, z.re.DType))
	y = complexPlanes{mul(add(even.re, odd.re), 0.5), mul(add(even.im, odd.im), 0.5)}
	return y.scaled(norm.factor(n, false)).both(shaped)
}

// halfRoots are e^(-2πi k/n) for k from 0 to below count, along the middle axis of three.
func halfRoots(g *uop.Graph, count, n int64, dt *uop.DType) complexPlanes {
	return table(g, fmt.Sprint("half ", count, n, dt), func() complexPlanes {
		return unitRoots(steps(g, count, 1, 1, count, 1), n, dt)
	})
}

// InverseRealFFT is the real inverse of RealFFT, of length n, by default 2 (elements - 1). The imaginary parts of the first element, and of
// the last of an even length, are not read.
func InverseRealFFT(x *uop.UOp, n int64, axis int, norm Norm) (r *uop.UOp, err error) {
	defer guard("InverseRealFFT", &err)
	need("x", x)
	return inverseRealFFT(complexOf(x), n, axis, norm), nil
}

// HermitianFFT is the transform of a signal whose other half is conjugate, n real numbers.
func HermitianFFT(x *uop.UOp, n int64, axis int, norm Norm) (r *uop.UOp, err error) {
	defer guard("HermitianFFT", &err)
	need("x", x)
	return inverseRealFFT(complexOf(x).conjugate(), n, axis, norm.swapped()), nil
}

// InverseHermitianFFT is the inverse of HermitianFFT: the first n/2 + 1 elements.
func InverseHermitianFFT(x *uop.UOp, n int64, axis int, norm Norm) (r *uop.UOp, err error) {
	defer guard("InverseHermitianFFT", &err)
	return realFFT(realOperand(x), n, axis, norm.swapped()).conjugate().joined(), nil
}

func inverseRealFFT(z complexPlanes, n int64, axis int, norm Norm) *uop.UOp {
	needAxes("x", z.re)
	if n == 0 {
		n = 2 * (intShape("x", z.re.Shape())[axisOf("axis", axis, len(z.re.Shape()))] - 1)
	}
	if n < 1 {
		fail("n", "%d, expected 1 or more", n)
	}
	z, shape, at, batch, half, beside := fourierOperand(z, n/2+1, axis)
	g, dt := z.re.Graph(), z.re.DType
	shape[at] = uop.N(n)
	if batch*beside == 0 {
		return full(g, shape, uop.Float(0), dt)
	}
	// The first element and the last of an even length are real.
	if z.im != nil {
		k := steps(g, half, 1, 1, half, 1)
		z.im = where(bitOr(eq(k, 0), eq(mul(k, 2), int(n))), 0, z.im)
	} else {
		z.im = mul(z.re, 0)
	}
	mirrored := func(from, to int64) complexPlanes { // elements in descending order, conjugate
		return z.both(func(u *uop.UOp) *uop.UOp { return flip(shrinkAxis(u, 1, uop.N(from), uop.N(to)), 1) }).conjugate()
	}
	var x *uop.UOp
	if n%2 != 0 {
		rest := mirrored(1, half)
		all := complexPlanes{cat([]*uop.UOp{z.re, rest.re}, 1), cat([]*uop.UOp{z.im, rest.im}, 1)}.stored()
		x = transform(all, batch, n, beside, true, norm.factor(n, true)).re
	} else {
		// The packed transform of realFFT, backwards: y[k] = (X[k] + conj X[m-k]) + i w^-k (X[k] - conj X[m-k]).
		m := n / 2
		front := z.both(func(u *uop.UOp) *uop.UOp { return shrinkAxis(u, 1, uop.N(0), uop.N(m)) })
		mirror := mirrored(1, half)
		even := complexPlanes{add(front.re, mirror.re), add(front.im, mirror.im)}
		odd := complexPlanes{sub(front.re, mirror.re), sub(front.im, mirror.im)}.times(halfRoots(g, m, n, dt).conjugate())
		y := transform(complexPlanes{sub(even.re, odd.im), add(even.im, odd.re)}.stored(), batch, m, beside, true, norm.factor(n, true))
		x = permute(y.packed(), []int{0, 1, 3, 2})
	}
	return reshape(x, shape)
}

// FFTN is FFT over several axes, all of them if none are given. sizes are the lengths along them, nil for those of x.
func FFTN(x *uop.UOp, sizes []int64, axes []int, norm Norm, inverse bool) (r *uop.UOp, err error) {
	defer guard("FFTN", &err)
	need("x", x)
	axes, sizes = fourierAxes(x, sizes, axes)
	return overAxes(complexOf(x), sizes, axes, norm, inverse).joined(), nil
}

// overAxes is fft along one axis after the other.
func overAxes(z complexPlanes, sizes []int64, axes []int, norm Norm, inverse bool) complexPlanes {
	for i, axis := range axes {
		z = fft(z, sizes[i], axis, norm, inverse)
	}
	return z
}

// RealFFTN is RealFFT along the last of several axes, and FFT along the others.
func RealFFTN(x *uop.UOp, sizes []int64, axes []int, norm Norm) (r *uop.UOp, err error) {
	defer guard("RealFFTN", &err)
	axes, sizes = fourierAxes(realOperand(x), sizes, axes)
	last := len(axes) - 1
	return overAxes(realFFT(x, sizes[last], axes[last], norm), sizes, axes[:last], norm, false).joined(), nil
}

// InverseRealFFTN is the real inverse of RealFFTN.
func InverseRealFFTN(x *uop.UOp, sizes []int64, axes []int, norm Norm) (r *uop.UOp, err error) {
	defer guard("InverseRealFFTN", &err)
	need("x", x)
	axes, sizes = fourierAxes(x, sizes, axes)
	last := len(axes) - 1
	return inverseRealFFT(overAxes(complexOf(x), sizes, axes[:last], norm, true), sizes[last], axes[last], norm), nil
}

// fourierAxes are the axes of a transform and the lengths along them, 0 for those of x.
func fourierAxes(x *uop.UOp, sizes []int64, axes []int) ([]int, []int64) {
	n := len(x.Shape())
	if axes == nil {
		count := n
		if sizes != nil {
			count = len(sizes)
		}
		if count > n {
			fail("s", "has %d sizes, expected at most one for each of %d dimensions", count, n)
		}
		for i := n - count; i < n; i++ {
			axes = append(axes, i)
		}
	}
	if axes = axesOf("axes", axes, n); len(axes) == 0 {
		fail("axes", "is empty, expected 1 axis or more")
	}
	if sizes == nil {
		return axes, make([]int64, len(axes))
	}
	if len(sizes) != len(axes) {
		fail("s", "has %d sizes, expected one for each of %d axes", len(sizes), len(axes))
	}
	for _, v := range sizes {
		if v < 1 {
			fail("s", "has the size %d, expected 1 or more", v)
		}
	}
	return axes, sizes
}

// FFTShift moves the frequency 0 from the start of axes, all if none are given, to their middle, or back.
func FFTShift(x *uop.UOp, axes []int, inverse bool) (r *uop.UOp, err error) {
	defer guard("FFTShift", &err)
	need("x", x)
	n := len(x.Shape())
	if axes == nil {
		for i := range n {
			axes = append(axes, i)
		}
	}
	axes = axesOf("axes", axes, n)
	shifts := make([]int64, len(axes))
	dims := intShape("x", x.Shape())
	for i, a := range axes {
		if shifts[i] = dims[a] / 2; inverse {
			shifts[i] = (dims[a] + 1) / 2
		}
	}
	return Roll(x, shifts, axes)
}

// FFTFrequencies are the frequencies of the elements of FFT in cycles per unit of the spacing d; of RealFFT if real.
func FFTFrequencies(g *uop.Graph, n int64, d float64, real bool, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("FFTFrequencies", &err)
	if n < 1 {
		fail("n", "%d, expected 1 or more", n)
	}
	if d == 0 || math.IsNaN(d) {
		fail("d", "%v, expected a spacing other than 0", d)
	}
	if !dt.IsFloat() {
		fail("dtype", "%s, expected a floating type", dt)
	}
	count := n
	if real {
		count = n/2 + 1
	}
	t := arange(g, uop.Int(0), uop.Int(count), uop.Int(1), uop.Int64)
	if !real {
		t = sub(t, where(lt(t, int((n+1)/2)), 0, int(n)))
	}
	wide := uop.Float32
	if dt == uop.Float64 {
		wide = dt
	}
	return cast(div(cast(t, wide), float64(n)*d), dt), nil
}

// FFTConvolve is the convolution of x and y along axes, all of them if none are given, by transforms. The sizes of other axes are equal, or 1.
// The mode "full" gives all of it, "same" the middle, of the shape of x, and "valid" the elements that no zeros beyond an edge contribute to:
// then one operand is at least as large as the other along all axes.
func FFTConvolve(x, y *uop.UOp, mode string, axes []int) (r *uop.UOp, err error) {
	defer guard("FFTConvolve", &err)
	needSame("operands", x, y)
	x, y = matchTypes(asFloat(x), asFloat(y))
	dt := x.DType
	if !dt.IsComplex() && dt.Itemsize() < 4 {
		x, y = cast(x, uop.Float32), cast(y, uop.Float32)
	}
	s, t := x.Shape(), y.Shape()
	intShape("x", s)
	intShape("y", t)
	if len(s) != len(t) {
		fail("y", "has shape %s beside x of shape %s, expected as many dimensions", t, s)
	}
	if len(s) == 0 {
		return cast(mul(x, y), dt), nil
	}
	axes, _ = fourierAxes(x, nil, axes)
	sizes := make([]int64, len(axes))
	result := make(uop.Shape, len(s))
	for i := range s {
		n, m := s[i].N, t[i].N
		at := slices.Index(axes, i)
		switch {
		case at >= 0 && (n == 0 || m == 0):
			fail("operands", "have shapes %s and %s, expected one element or more along axis %d", s, t, i)
		case at >= 0:
			sizes[at], result[i] = n+m-1, uop.N(n+m-1)
		case n != m && n != 1 && m != 1:
			fail("operands", "have shapes %s and %s, expected equal sizes along axis %d", s, t, i)
		case n == 1:
			result[i] = t[i]
		default:
			result[i] = s[i]
		}
	}
	// The part of each axis that the mode keeps.
	part := make([]uop.Pair, len(s))
	above, below := true, true
	for i, size := range result {
		part[i] = uop.Pair{Lo: uop.N(0), Hi: size}
		if slices.Index(axes, i) < 0 {
			continue
		}
		n, m := s[i].N, t[i].N
		above, below = above && n >= m, below && n <= m
		switch mode {
		case "full":
		case "same":
			part[i].Lo = uop.N((m - 1) / 2)
			part[i].Hi = uop.N((m-1)/2 + n)
		case "valid":
			part[i].Lo = uop.N(min(n, m) - 1)
			part[i].Hi = uop.N(max(n, m))
		default:
			fail("mode", "is %q, expected full, same or valid", mode)
		}
	}
	if mode == "valid" && !above && !below {
		fail("operands", "have shapes %s and %s, expected one at least as large as the other along all axes", s, t)
	}
	if result.MaxNumel() == 0 {
		return shrink(full(x.Graph(), result, uop.Int(0), dt), part), nil
	}
	for i, n := range sizes {
		for radices(n) == nil || slices.Max(append(radices(n), 1)) > mostConvolved {
			n++
		}
		sizes[i] = n
	}
	if dt.IsComplex() {
		over := func(u *uop.UOp, inverse bool) *uop.UOp {
			return overAxes(complexOf(u), sizes, axes, NormBackward, inverse).joined()
		}
		r = over(mul(over(x, false), over(y, false)), true)
	} else {
		spectrum := func(u *uop.UOp) *uop.UOp {
			f, err := RealFFTN(u, sizes, axes, NormBackward)
			must(err)
			return f
		}
		r, err = InverseRealFFTN(mul(spectrum(x), spectrum(y)), sizes, axes, NormBackward)
		must(err)
	}
	return cast(shrink(r, part), dt), nil
}

// mostConvolved is the largest prime factor of the lengths of transforms that convolve.
const mostConvolved = 16
