package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// PixelShuffle moves channels to the pixels of images (…, C r², H, W): (…, C, H r, W r) (Shi et al., 2016).
func PixelShuffle(x *uop.UOp, r int64) (y *uop.UOp, err error) {
	defer guard("PixelShuffle", &err)
	s := needImages(x, "upscale_factor", r)
	n := len(s)
	c := intSize("x", s, n-3)
	if c%(r*r) != 0 {
		fail("x", "has %d channels, expected a multiple of %d", c, r*r)
	}
	y = reshape(x, joinShapes(s[:n-3], uop.ShapeOf(c/(r*r), r, r), s[n-2:]))
	order := countTo(n + 2)
	copy(order[n-2:], []int{n, n - 2, n + 1, n - 1})
	return reshape(permute(y, order), joinShapes(s[:n-3], uop.ShapeOf(c/(r*r)), uop.Shape{s[n-2].Mul(uop.N(r)), s[n-1].Mul(uop.N(r))})), nil
}

// PixelUnshuffle is the inverse of PixelShuffle.
func PixelUnshuffle(x *uop.UOp, r int64) (y *uop.UOp, err error) {
	defer guard("PixelUnshuffle", &err)
	s := needImages(x, "downscale_factor", r)
	n := len(s)
	c, h, w := intSize("x", s, n-3), intSize("x", s, n-2), intSize("x", s, n-1)
	if h%r != 0 || w%r != 0 {
		fail("x", "has shape %s, expected a height and a width that %d divides", s, r)
	}
	y = reshape(x, joinShapes(s[:n-2], uop.ShapeOf(h/r, r, w/r, r)))
	order := countTo(n + 2)
	copy(order[n-2:], []int{n - 1, n + 1, n - 2, n})
	return reshape(permute(y, order), joinShapes(s[:n-3], uop.ShapeOf(c*r*r, h/r, w/r))), nil
}

func needImages(x *uop.UOp, arg string, r int64) uop.Shape {
	need("x", x)
	if len(x.Shape()) < 3 {
		fail("x", "has shape %s, expected (…, channels, height, width)", x.Shape())
	}
	if r < 1 || r > maxElements {
		fail(arg, "is %d, expected a positive number", r)
	}
	return x.Shape()
}

// Im2Col gives the windows of x (N, C, …) as columns: (N, C k, L) for L windows of k elements.
func Im2Col(x *uop.UOp, kernel []int64, w Window) (y *uop.UOp, err error) {
	defer guard("Im2Col", &err)
	need("x", x)
	n := len(kernel)
	if len(x.Shape()) != n+2 {
		fail("kernel_size", "has %d numbers, expected one for each axis behind (N, C) of x %s", n, x.Shape())
	}
	if n == 0 {
		fail("x", "has shape %s, expected (N, C) and %d axes more", x.Shape(), n)
	}
	stride, dilation, p := w.resolve(n, ones64(n))
	all := windows(padSpatial(x, p, 0), kernel, stride, dilation)
	s := all.Shape()
	return reshape(permute(all, windowsSwapped(n)), uop.Shape{s[0], s[1].Mul(numel("x", s[2+n:])), numel("x", s[2:2+n])}), nil
}

// windowsSwapped is the permutation of the axes (N, C, windows…, kernel…) that swaps those of the windows and of the kernel; it is its own inverse.
func windowsSwapped(n int) []int {
	order := countTo(2)
	for i := range 2 * n {
		order = append(order, 2+(i+n)%(2*n))
	}
	return order
}

// Col2Im adds up columns (N, C k, L) where Im2Col takes them from: (N, C, size…).
func Col2Im(x *uop.UOp, size, kernel []int64, w Window) (y *uop.UOp, err error) {
	defer guard("Col2Im", &err)
	need("x", x)
	n := len(kernel)
	s := x.Shape()
	size = perAxis("output_size", size, n, nil)
	if len(size) != n {
		fail("output_size", "has %d numbers, expected one for each of %d axes", len(size), n)
	}
	if len(s) != 3 {
		fail("x", "has shape %s, expected (N, C k, L)", s)
	}
	stride, dilation, p := w.resolve(n, ones64(n))
	each, padded, out, cut := int64(1), make([]int64, n), make([]int64, n), make([][2]int64, n)
	for a, k := range kernel {
		padded[a], cut[a] = size[a]+p[a][0]+p[a][1], [2]int64{-p[a][0], -p[a][1]}
		count := windowsOf(uop.N(padded[a]), k, stride[a], dilation[a]).count
		out[a] = count.N
		each *= k
	}
	channels := intSize("x", s, 1)
	if l := uop.ShapeOf(out...).Numel().N; channels%each != 0 || intSize("x", s, 2) != l {
		fail("x", "has shape %s, expected a multiple of %d rows, and %d columns", s, each, l)
	}
	t := reshape(x, joinShapes(s[:1], uop.ShapeOf(channels/each), uop.ShapeOf(kernel...), uop.ShapeOf(out...)))
	t = permute(t, windowsSwapped(n))
	y = backToWindowed(t, joinShapes(s[:1], uop.ShapeOf(channels/each), uop.ShapeOf(padded...)), kernel, stride, dilation)
	y = customGradient(gradientOfColumns, y, []*uop.UOp{t}, kernel, stride, dilation)
	return padSpatial(y, cut, 0), nil
}

// CDist gives the distances of each vector of x (…, P, M) to each of y (…, R, M), (…, P, R), by the norm of an exponent p from 0 to
// infinity. They have the gradient 0 at 0, where a root has none.
func CDist(x, y *uop.UOp, p float64) (d *uop.UOp, err error) {
	defer guard("CDist", &err)
	needSame("operands", x, y)
	needFloat("x", x)
	xs, ys := x.Shape(), y.Shape()
	if len(xs) < 2 || len(ys) < 2 || xs[len(xs)-1] != ys[len(ys)-1] {
		fail("x2", "has shape %s, expected (…, R, M) for x of shape %s, (…, P, M)", ys, xs)
	}
	if !(p >= 0) {
		fail("p", "is %v, expected 0 or more", p)
	}
	e := sub(unsqueeze(x, -2), unsqueeze(y, -3))
	last := []int{-1}
	switch {
	case p == 0:
		return sum(cast(ne(e, 0), x.DType), last, false), nil
	case p == 1:
		return sum(abs(e), last, false), nil
	case p == 2:
		return customGradient(gradientOfDistance, rootOr0(sum(square(e), last, false), sqrt), []*uop.UOp{e}), nil
	case math.IsInf(p, 1):
		return maxOf(abs(e), last, false), nil
	}
	size := abs(e)
	powers := where(gt(size, 0), pow(where(gt(size, 0), size, 1), p), 0)
	return rootOr0(sum(powers, last, false), func(x *uop.UOp) *uop.UOp { return pow(x, 1/p) }), nil
}

// rootOr0 is a root, with the gradient 0 at 0, where it has none.
func rootOr0(x *uop.UOp, root func(x *uop.UOp) *uop.UOp) *uop.UOp {
	some := ne(x, 0)
	return where(some, root(where(some, x, 1)), 0)
}

// distanceRule is the gradient of the differences e whose squares have a sum with the root d: e g/d, 0 at d = 0, where there is none. It needs no sum, so
// that none is stored.
func distanceRule(g, d, e *uop.UOp) *uop.UOp {
	some := ne(d, 0)
	return mul(e, unsqueeze(where(some, div(g, where(some, d, 1)), 0), -1))
}

// cubicSlope is the parameter a of the cubic convolution of Keys (1981), the slope at distance 1.
const cubicSlope = -0.75

// cubicWeight is the cubic convolution for a distance from 0 to 2.
func cubicWeight(d *uop.UOp) *uop.UOp {
	const a = cubicSlope
	near := add(mul(mul(sub(mul(a+2, d), a+3), d), d), 1)
	far := mul(a, sub(mul(add(mul(sub(d, 5), d), 8), d), 4))
	return where(le(d, 1), near, where(lt(d, 2), far, 0))
}

// tapWeight is the weight of an element at a distance, of linear or cubic interpolation.
func tapWeight(d float64, mode Interpolation) float64 {
	const a = cubicSlope
	switch {
	case mode == Bilinear:
		return max(1-d, 0)
	case d <= 1:
		return ((a+2)*d-(a+3))*d*d + 1
	}
	return a * (((d-5)*d+8)*d - 4)
}

// tapsOf gives, for each of want results of resizing an axis, the positions of the elements that it is a weighted sum of, and their weights, both
// (want, taps); bits as for weighted.
func tapsOf(x *uop.UOp, have, want int64, mode Interpolation, alignCorners bool, position *uop.DType, bits int) (at, weights *uop.UOp) {
	g := x.Graph()
	column := func(n int64) *uop.UOp { return reshape(count0(g, n), uop.ShapeOf(n, 1)) }
	row := func(n int64) *uop.UOp { return reshape(count0(g, n), uop.ShapeOf(1, n)) }
	if mode == Cubic {
		middle := scaledAt(cast(column(want), position), have, want, alignCorners)
		from := floor(middle)
		tap := add(from, sub(cast(row(4), position), 1))
		at, weights = clamp(tap, 0, int(have-1)), cubicWeight(abs(sub(middle, tap)))
		if bits > 0 {
			// What lies beyond an end adds its weight to that of the last element, before weights are rounded.
			weights = sum(where(eq(unsqueeze(at, -1), unsqueeze(at, -2)), unsqueeze(weights, -2), 0), []int{-1}, false)
			return cast(at, uop.Int32).ContiguousOp(), fixedPoint(where(eq(tap, at), weights, 0), bits)
		}
		return cast(at, uop.Int32), weights
	}
	i := cast(column(want), uop.Int64)
	first := truncDiv(mul(i, int(have)), int(want))
	end := truncDiv(add(mul(add(i, 1), int(have)), int(want-1)), int(want))
	most := ceil64(have, want)
	if have%want != 0 {
		most++
	}
	at = add(first, row(most))
	weights = where(lt(at, end), reciprocal(cast(sub(end, first), position)), 0)
	return cast(minimum(at, int(have-1)), uop.Int32), weights
}

// weighted resizes an axis by weighted sums of its elements. Weights of bytes are fixed-point numbers with bits fraction bits; for other types bits
// is 0.
func weighted(x *uop.UOp, axis int, at, weights *uop.UOp, bits int) *uop.UOp {
	entries := make([]Index, len(x.Shape()))
	for j := range entries {
		entries[j] = Whole()
	}
	entries[axis] = Take(at)
	taps := index(x, entries...)
	wide := onesShape(len(taps.Shape()))
	copy(wide[axis:], weights.Shape())
	if bits > 0 {
		return byteOf(sum(mul(cast(taps, uop.Int32), reshape(weights, wide)), []int{axis + 1}, false), bits)
	}
	return sum(mul(taps, reshape(cast(weights, uop.LeastUpper(x.DType, uop.Float32)), wide)), []int{axis + 1}, false)
}

// weightBits is the number of bits of the weights by which bytes are interpolated along an axis, as PyTorch has it: the greatest weight of
// a result is below 2^15, so these are 14 if one weight is 1 or more, else 15.
func weightBits(have, want int64, mode Interpolation, alignCorners bool) int {
	num, den, first := float64(have), float64(want), 0.5
	if alignCorners {
		num, den, first = num-1, max(den-1, 1), 0
	}
	for i := range want {
		middle := (float64(i)+first)*num/den - first
		if mode == Bilinear {
			middle = min(max(middle, 0), float64(have-1))
		}
		var weights [4]float64 // of elements: a tap beyond an end adds to the weight of the last element
		from := int64(math.Floor(middle)) - 1
		element := func(tap int64) int64 { return min(max(tap, 0), have-1) }
		for tap := from; tap < from+4; tap++ {
			weights[element(tap)-element(from)] += tapWeight(math.Abs(middle-float64(tap)), mode)
		}
		if slices.Max(weights[:]) >= 1-0x1p-16 {
			return 14
		}
	}
	return 15
}

// fixedPoint converts weights to fixed-point numbers with so many fraction bits, rounded half away from 0.
func fixedPoint(weights *uop.UOp, bits int) *uop.UOp {
	return cast(add(mul(weights, float64(int(1)<<bits)), where(lt(weights, 0), -0.5, likeConst(weights, 0.5))), uop.Int32).ContiguousOp()
}

// byteOf rounds a sum of bytes times fixed-point weights to a byte.
func byteOf(total *uop.UOp, bits int) *uop.UOp {
	return cast(clamp(shiftRight(add(total, int(1)<<(bits-1)), bits), 0, 255), uop.Uint8)
}
