package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// Window describes a sliding window over the last axes. A list of one number applies to all axes.
type Window struct {
	// Stride is the distance of neighbouring windows; empty means 1 for convolutions and the window size for pools.
	Stride []int64
	// Dilation is the distance of the elements in a window; empty means 1.
	Dilation []int64
	// Padding is added before and after each axis; empty means none.
	Padding [][2]int64
	// CeilMode allows a last window that reaches beyond the end.
	CeilMode bool
}

func perAxis(arg string, v []int64, n int, missing []int64) []int64 {
	switch len(v) {
	case 0:
		return missing
	case n:
		return v
	case 1:
		out := make([]int64, n)
		for i := range out {
			out[i] = v[0]
		}
		return out
	}
	fail(arg, "has %d numbers, expected one for each of %d axes", len(v), n)
	return nil
}

func ones64(n int) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// resolve gives stride, dilation and padding of every axis.
func (w Window) resolve(n int, stride []int64) (s, d []int64, p [][2]int64) {
	s, d, p = perAxis("stride", w.Stride, n, stride), perAxis("dilation", w.Dilation, n, ones64(n)), make([][2]int64, n)
	switch len(w.Padding) {
	case 0:
	case n:
		copy(p, w.Padding)
	case 1:
		for i := range p {
			p[i] = w.Padding[0]
		}
	default:
		fail("padding", "has %d pairs, expected one for each of %d axes", len(w.Padding), n)
	}
	for i := range n {
		if s[i] < 1 || d[i] < 1 {
			fail("stride", "%v and dilation %v, expected positive numbers", s, d)
		}
	}
	return s, d, p
}

// padSpatial pads the last axes.
func padSpatial(x *uop.UOp, p [][2]int64, value operand) *uop.UOp {
	n := len(x.Shape())
	ps := make([]uop.Pair, n)
	for i, q := range p {
		ps[n-len(p)+i] = pairOf(q[0], q[1])
	}
	return pad(x, ps, value)
}

// ceilPads grows the padding so that every window that begins inside counts (https://arxiv.org/pdf/1603.07285, relationship 15).
func ceilPads(x *uop.UOp, kernel, stride, dilation []int64, p [][2]int64) [][2]int64 {
	n := len(kernel)
	s := x.Shape()
	out := append([][2]int64(nil), p...)
	for a, k := range kernel {
		i, st, d := intSize("x", s, len(s)-n+a), stride[a], dilation[a]
		o := ceil64(i+p[a][0]+p[a][1]-(d*(k-1)+1), st) + 1
		out[a][1] += st*(o-1) + (d*(k-1) + 1) - (i + p[a][0] + p[a][1]) - max(st*(o-1)-(p[a][0]+i-1), 0)
	}
	return out
}

func lastAxes(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i - n
	}
	return v
}

func avgPool(x *uop.UOp, kernel []int64, w Window, countPad bool) *uop.UOp {
	n := len(kernel)
	stride, dilation, p := w.resolve(n, kernel)
	axes := lastAxes(n)
	slide := func(y *uop.UOp, p [][2]int64) *uop.UOp {
		return windows(padSpatial(y, p, 0), kernel, stride, dilation)
	}
	grown := p
	if w.CeilMode {
		grown = ceilPads(x, kernel, stride, dilation, p)
	}
	if !countPad {
		return div(sum(slide(x, grown), axes, false), sum(slide(fullLike(x, 1), grown), axes, false))
	}
	if !w.CeilMode {
		return mean(slide(x, p), axes, false)
	}
	extra := make([][2]int64, n)
	for i := range extra {
		extra[i] = [2]int64{grown[i][0] - p[i][0], grown[i][1] - p[i][1]}
	}
	return div(sum(slide(x, grown), axes, false), sum(slide(fullLike(padSpatial(x, p, 0), 1), extra), axes, false))
}

// maxPool gives the maxima and their positions (of equal ones the first).
func maxPool(x *uop.UOp, kernel []int64, w Window, same func(x, m *uop.UOp) *uop.UOp) (values, indices *uop.UOp) {
	n := len(kernel)
	stride, dilation, p := w.resolve(n, kernel)
	if w.CeilMode {
		p = ceilPads(x, kernel, stride, dilation, p)
	}
	axes := lastAxes(n)
	all := windows(padSpatial(x, p, x.DType.Min()), kernel, stride, dilation)
	values = maxOf(all, axes, false)
	s := x.Shape()
	spatial := s[len(s)-n:]
	size := numel("x", spatial)
	var total operand = int(size.N)
	var down *uop.UOp
	if size.Symbolic() {
		of := sizeTensor(x, size.U)
		total, down = of, sub(of, shrinkTo(count0(x.Graph(), size.Max()), uop.Shape{size}))
	} else {
		down = arange(x.Graph(), uop.Int(size.N), uop.Int(0), uop.Int(-1), uop.DefaultInt)
	}
	down = reshape(down, spatial)
	m := same(all, maxOf(all, axes, true))
	at := mul(m, pool(padSpatial(down, p, down.DType.Min()), kernel, stride, dilation))
	return values, sub(total, maxOf(at, axes, false))
}

// conv pads, takes the windows, multiplies them by the weights and sums.
func conv(x, weight, bias *uop.UOp, groups int64, w Window) *uop.UOp {
	xs, ws := x.Shape(), weight.Shape()
	n := len(ws) - 2
	if n < 0 || len(xs) != len(ws) {
		fail("weight", "has shape %s, expected (out, in/groups, …) with %d dimensions as x %s", ws, len(xs), xs)
	}
	k := intShape("weight", ws)
	cout, cin, kernel := k[0], k[1], k[2:]
	if groups < 1 || cout%groups != 0 || intSize("x", xs, 1) != groups*cin {
		fail("weight", "has shape %s, expected (out, in/groups, …) for x %s and %d groups", ws, xs, groups)
	}
	stride, dilation, p := w.resolve(n, ones64(n))
	x = padSpatial(x, p, 0)
	c := convolution{stride: stride, dilation: dilation, groups: groups}
	y := c.of(x, weight, correlate(pool(x, kernel, stride, dilation), weight, groups))
	return withBias(y, bias)
}

// correlate multiplies windows by weights and sums: (bs, g, rc, oy, ox, cin, ky, kx).
func correlate(windows, weight *uop.UOp, groups int64) *uop.UOp {
	s, ws := windows.Shape(), weight.Shape()
	n := len(ws) - 2
	bs, rc, ci, out, hw := s[:1], uop.Shape{ws[0].Div(uop.N(groups))}, ws[1:2], s[2:2+n], ws[2:]
	g := uop.ShapeOf(groups)
	y := reshape(windows, joinShapes(bs, g, ci, uop.ShapeOf(1), out, hw))
	y = expand(y, joinShapes(bs, g, ci, rc, out, hw))
	order := []int{0, 1, 3}
	for i := range n {
		order = append(order, 4+i)
	}
	order = append(order, 2)
	for i := range n {
		order = append(order, 4+n+i)
	}
	y = permute(y, order)
	y = mul(y, reshape(weight, joinShapes(uop.ShapeOf(1), g, rc, onesShape(n), ci, hw)))
	var axes []int
	for i := range n + 1 {
		axes = append(axes, -1-i)
	}
	return reshape(sum(y, axes, true), joinShapes(bs, ws[:1], out))
}

// convTranspose is the transpose of a convolution: the gradient of its input as a function of the gradient of its result.
func convTranspose(x, weight, bias *uop.UOp, groups int64, w Window, outPadding []int64) *uop.UOp {
	xs, ws := x.Shape(), weight.Shape()
	n := len(ws) - 2
	if n < 0 || len(xs) != len(ws) {
		fail("weight", "has shape %s, expected (in, out/groups, …) with %d dimensions as x %s", ws, len(xs), xs)
	}
	k := intShape("weight", ws)
	if groups < 1 || k[0]%groups != 0 || intSize("x", xs, 1) != k[0] {
		fail("weight", "has shape %s, expected (in, out/groups, …) for x %s and %d groups", ws, xs, groups)
	}
	stride, dilation, p := w.resolve(n, ones64(n))
	extra := perAxis("output_padding", outPadding, n, make([]int64, n))
	if asTinygrad(x) || !slices.ContainsFunc(stride, func(s int64) bool { return s > 1 }) {
		return convSpread(x, weight, bias, groups, stride, dilation, extra, p)
	}
	// size is the input of the convolution with its padding, longer if output_padding reaches beyond it; cut crops the padding.
	size, cut := joinShapes(xs[:1], uop.ShapeOf(k[1]*groups)), make([][2]int64, n)
	for i := range n {
		full := (intSize("x", xs, 2+i)-1)*stride[i] + dilation[i]*(k[2+i]-1) + 1
		end := full - p[i][1] + extra[i]
		if end <= p[i][0] {
			fail("padding", "%v leaves nothing of %d elements", p[i], full)
		}
		size = append(size, uop.N(max(full, end)))
		cut[i] = [2]int64{-p[i][0], end - max(full, end)}
	}
	c := convolution{stride: stride, dilation: dilation, groups: groups}
	y := customGradient(gradientOfTransposed, c.backToInput(x, size, weight), []*uop.UOp{x, weight}, stride, dilation, []int64{groups})
	return withBias(padSpatial(y, cut, 0), bias)
}

// withBias adds a number to each channel.
func withBias(y, bias *uop.UOp) *uop.UOp {
	if bias == nil {
		return y
	}
	return add(y, reshape(bias, joinShapes(uop.ShapeOf(1, -1), onesShape(len(y.Shape())-2))))
}

// transposedRule gives the gradients of the input and of the weights of a transposed convolution.
func transposedRule(g, u *uop.UOp) []*uop.UOp {
	x, weight := u.Src[1], u.Src[2]
	c := convolutionOf(u)
	return []*uop.UOp{nil, c.apply(g, weight, intShape("x", x.Shape()[2:])), c.backToWeight(x, g, weight)}
}

// convSpread spreads x by the stride and convolves it with the flipped weights.
func convSpread(x, weight, bias *uop.UOp, groups int64, stride, dilation, extra []int64, p [][2]int64) *uop.UOp {
	n := len(stride)
	k := intShape("weight", weight.Shape())
	flips := make([]int, n)
	for i := range flips {
		flips[i] = 3 + i
	}
	wt := flip(transpose(unflatten(weight, 0, uop.ShapeOf(groups, -1)), 1, 2), flips...)
	for _, st := range stride {
		if st > 1 {
			x = spreadBy(x, stride)
			break
		}
	}
	back := make([][2]int64, n)
	for i := range back {
		reach := (k[2+i] - 1) * dilation[i]
		back[i] = [2]int64{reach - p[i][0], reach - p[i][1] + extra[i]}
	}
	return conv(x, flatten(wt, 0, 1), bias, groups, Window{Dilation: dilation, Padding: back})
}

// spreadBy puts stride-1 zeros between the elements of the last axes.
func spreadBy(x *uop.UOp, stride []int64) *uop.UOp {
	s := x.Shape()
	head := s[:2]
	var split, wide, cut uop.Shape
	ps := make([]uop.Pair, 2, 2+2*len(stride))
	for i, st := range stride {
		d := s[2+i]
		split = append(split, d, uop.N(1))
		wide = append(wide, d.Mul(uop.N(st)))
		cut = append(cut, d.Mul(uop.N(st)).Sub(uop.N(st-1)))
		ps = append(ps, uop.Pair{}, pairOf(0, st-1))
	}
	x = reshape(pad(reshape(x, joinShapes(head, split)), ps, 0), joinShapes(head, wide))
	return shrinkTo(x, joinShapes(head, cut))
}

// Interpolation is the method of Interpolate.
type Interpolation uint8

// Methods of interpolation.
const (
	Bilinear Interpolation = iota // linear along every axis
	Nearest
	NearestExact
	Cubic // along every axis
	Area  // the mean of the elements that a result covers
)

func interpolate(x *uop.UOp, size []int64, mode Interpolation, alignCorners bool) *uop.UOp {
	s := intShape("x", x.Shape())
	n := len(s)
	wide := uop.ShapeOf(s...)
	y, position := x, uop.Float32
	tinygrad := asTinygrad(x)
	bytes := x.DType == uop.Uint8 && !tinygrad
	if x.DType == uop.Float64 || bytes {
		position = uop.Float64
	}
	if x.DType.IsInt() && !bytes && !tinygrad && mode != Nearest && mode != NearestExact {
		if x.DType.Bits > 16 {
			position = uop.Float64 // float32 represents neither all integers of the type nor its limits
		}
		y = cast(x, position) // differences of integers may wrap
	}
	for i := 1; i <= len(size); i++ {
		axis, have, want := n-i, s[n-i], size[len(size)-i]
		narrow := onesShape(n)
		narrow[axis], wide[axis] = uop.N(want), uop.N(want)
		lay := func(t *uop.UOp) *uop.UOp { return expand(reshape(t, narrow), wide) }
		bits := 0
		if bytes && (mode == Cubic || mode == Bilinear) {
			bits = weightBits(have, want, mode, alignCorners)
		}
		if mode == Cubic || mode == Area {
			at, weights := tapsOf(x, have, want, mode, alignCorners, position, bits)
			y = weighted(y, axis, at, weights, bits)
			continue
		}
		if r := nearestSteps(y, axis, want); mode != Bilinear && r != nil {
			y = r
			continue
		}
		at := arange(x.Graph(), uop.Int(0), uop.Int(want), uop.Int(1), position)
		if mode != Bilinear {
			if mode == NearestExact {
				at = add(at, 0.5)
			}
			y = gather(y, axis, lay(cast(mul(float64(have)/float64(want), at), uop.Int32)))
			continue
		}
		r := linearSteps(y, axis, want, alignCorners, position, bits)
		looked := r == nil && !tinygrad
		if r == nil {
			at = linearAt(at, have, want, alignCorners)
			low, high := cast(floor(at), uop.Int32), cast(ceil(at), uop.Int32)
			if bits > 0 {
				low, high = low.ContiguousOp(), high.ContiguousOp() // stored: computing a position takes eight bytes and divisions, for a result of one byte
			}
			r = interpolated(gather(y, axis, lay(low)), gather(y, axis, lay(high)), sub(at, floor(at)), bits, lay)
		}
		if have > 1 && want > 1 {
			aligned := int64(0)
			if alignCorners {
				aligned = 1
			}
			r = customGradient(gradientOfLinear, r, []*uop.UOp{y}, []int64{int64(axis), aligned})
		}
		if y = r; looked && i < len(size) {
			y = y.ContiguousOp() // else the next axis reads the gathered elements, which are stored as two tensors
		}
	}
	if y.DType != x.DType && x.DType.IsInt() && !tinygrad {
		top := x.DType.Max().F()
		if x.DType.Bits == 64 {
			top = math.Nextafter(top, 0) // the limit rounds up to a float that a cast would wrap
		}
		y = clamp(floor(add(y, 0.5)), uop.Float(x.DType.Min().F()), uop.Float(top))
	}
	return cast(y, x.DType)
}

// nearestSteps repeats each element, if the size is a multiple of their number; else it is nil.
func nearestSteps(x *uop.UOp, axis int, want int64) *uop.UOp {
	if have := x.Shape()[axis].N; have > 0 && want > 0 && want%have == 0 && !asTinygrad(x) {
		return repeatInterleave(x, want/have, axis)
	}
	return nil
}

// linearSteps interpolates linearly without gathers, in equal steps from each element to the next one. It is nil if want is not a multiple of the
// number of elements, or with aligned corners want-1 of the number of intervals between them.
func linearSteps(x *uop.UOp, axis int, want int64, alignCorners bool, position *uop.DType, bits int) *uop.UOp {
	s := x.Shape()
	have := s[axis].N
	if have < 2 || want < have || asTinygrad(x) {
		return nil
	}
	parts, all := have, want
	if alignCorners {
		parts, all = have-1, want-1
	}
	if all%parts != 0 {
		return nil
	}
	steps := all / parts
	before, half := steps/2, 0.0 // the number of results before the first element
	switch {
	case alignCorners:
		before = 0
	case steps%2 == 0:
		half = 0.5
	}
	each, wide := slices.Insert(slices.Clone(s), axis+1, uop.N(1)), onesShape(len(s)+1)
	each[axis], each[axis+1], wide[axis+1] = uop.N(have-1), uop.N(steps), uop.N(steps)
	repeated := func(from int64) *uop.UOp {
		return expand(unsqueeze(shrinkAxis(x, axis, uop.N(from), uop.N(from+have-1)), axis+1), each)
	}
	share := div(add(arange(x.Graph(), uop.Int(0), uop.Int(steps), uop.Int(1), position), half), int(steps))
	lay := func(t *uop.UOp) *uop.UOp { return expand(reshape(t, wide), each) }
	inner := flatten(interpolated(repeated(0), repeated(1), share, bits, lay), axis, axis+1)
	end := func(at, n int64) *uop.UOp {
		size := joinShapes(s)
		size[axis] = uop.N(n)
		return cast(expand(shrinkAxis(x, axis, uop.N(at), uop.N(at+1)), size), inner.DType)
	}
	joined := []*uop.UOp{inner}
	if before > 0 {
		joined = []*uop.UOp{end(0, before), inner}
	}
	if after := want - before - (have-1)*steps; after > 0 {
		joined = append(joined, end(have-1, after))
	}
	return sideBySide(joined, axis)
}

// interpolated is lerp along an axis with a vector of weights, which lay broadcasts to the result; bits as for weighted.
func interpolated(a, b, weights *uop.UOp, bits int, lay func(t *uop.UOp) *uop.UOp) *uop.UOp {
	if bits == 0 {
		return lerp(a, b, lay(weights))
	}
	from := cast(a, uop.Int32)
	d := mul(sub(cast(b, uop.Int32), from), lay(fixedPoint(weights, bits)))
	return cast(add(from, shiftRight(add(d, int(1)<<(bits-1)), bits)), uop.Uint8)
}

// linearAt maps positions on an axis of size want to positions on one of size have, clamped to its ends.
func linearAt(at *uop.UOp, have, want int64, alignCorners bool) *uop.UOp {
	return clamp(scaledAt(at, have, want, alignCorners), 0, int(have-1))
}

// scaledAt is linearAt without the clamp.
func scaledAt(at *uop.UOp, have, want int64, alignCorners bool) *uop.UOp {
	num, den := float64(have), float64(want)
	if alignCorners {
		num, den = num-1, den-1
	}
	scale := 0.0
	if den != 0 {
		scale = num / den
	}
	if alignCorners {
		return mul(scale, at)
	}
	return sub(mul(scale, add(at, 0.5)), 0.5)
}

// linearRule is the gradient of linear interpolation along an axis: element i sums the weighted gradients of the few results that lie between i-1 and
// i+1.
func linearRule(g, x *uop.UOp, axis int, alignCorners bool) *uop.UOp {
	have, want := x.Shape()[axis].N, g.Shape()[axis].N
	// The first result after i-1 is floor((a*i + b) / d) + 1.
	a, b, d := 2*want, -want-have, 2*have
	if alignCorners {
		a, b, d = want-1, 1-want, have-1
	}
	common := gcd(gcd(a, -b), d)
	a, b, d = a/common, b/common, d/common
	ahead := ceil64(-b, d) // keeps the quotient positive
	count := ceil64(2*a, d)
	dt := uop.Int32
	if a*have+d*ahead > math.MaxInt32 {
		dt = uop.Int64
	}
	graph := x.Graph()
	i := reshape(cast(count0(graph, have), dt), uop.ShapeOf(have, 1))
	first := sub(truncDiv(add(mul(i, int(a)), int(b+d*ahead)), int(d)), int(ahead-1))
	from := add(first, reshape(cast(count0(graph, count), dt), uop.ShapeOf(1, count)))
	position := uop.LeastUpper(x.DType, uop.Float32)
	distance := sub(linearAt(cast(from, position), have, want, alignCorners), cast(i, position))
	weight := maximum(sub(1, abs(distance)), 0)
	n := len(x.Shape())
	entries := make([]Index, n)
	for j := range entries {
		entries[j] = Whole()
	}
	entries[axis] = Take(where(lt(from, 0), int(want), from)) // what is out of range is 0
	few := joinShapes(uop.ShapeOf(have, count), onesShape(n-1-axis))
	return sumAs(mul(index(g, entries...), reshape(weight, few)), x.DType, []int{axis + 1}, false)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func needKernel(x *uop.UOp, kernel []int64) {
	if len(kernel) == 0 || len(kernel) > len(x.Shape()) {
		fail("kernel_size", "has %d numbers, expected one for each window axis of x %s", len(kernel), x.Shape())
	}
	for _, k := range kernel {
		if k < 1 || k > math.MaxInt32 {
			fail("kernel_size", "%v, expected positive numbers", kernel)
		}
	}
}

// AvgPool is the mean over sliding windows of the last axes. countPad counts padding as zeros.
func AvgPool(x *uop.UOp, kernel []int64, w Window, countPad bool) (r *uop.UOp, err error) {
	defer guard("AvgPool", &err)
	need("x", x)
	needKernel(x, kernel)
	return avgPool(x, kernel, w, countPad), nil
}

// MaxPool is the maximum over sliding windows of the last axes.
func MaxPool(x *uop.UOp, kernel []int64, w Window) (r *uop.UOp, err error) {
	defer guard("MaxPool", &err)
	need("x", x)
	needKernel(x, kernel)
	values, _ := maxPool(x, kernel, w, equal)
	return values, nil
}

// Conv convolves x (batch, in, …) with weight (out, in/groups, …) and adds bias (out), which may be nil.
func Conv(x, weight, bias *uop.UOp, groups int64, w Window) (r *uop.UOp, err error) {
	defer guard("Conv", &err)
	needSame("operands", x, weight)
	needBias(bias, weight, 0, 1)
	return conv(x, weight, bias, groups, w), nil
}

// ConvTranspose is the transpose of Conv with weight (in, out/groups, …); outPadding extends the end of the result.
func ConvTranspose(x, weight, bias *uop.UOp, groups int64, w Window, outPadding []int64) (r *uop.UOp, err error) {
	defer guard("ConvTranspose", &err)
	needSame("operands", x, weight)
	needBias(bias, weight, 1, groups)
	return convTranspose(x, weight, bias, groups, w, outPadding), nil
}

func needBias(bias, weight *uop.UOp, axis int, times int64) {
	if bias == nil {
		return
	}
	needSame("bias", weight, bias)
	if ws := weight.Shape(); len(ws) > axis && !(len(bias.Shape()) == 1 && bias.Shape()[0] == ws[axis].Mul(uop.N(times))) {
		fail("bias", "has shape %s, expected (%s)", bias.Shape(), ws[axis].Mul(uop.N(times)))
	}
}

// Interpolate resizes the last axes to the given sizes. alignCorners, for linear interpolation, keeps the outermost elements in place.
func Interpolate(x *uop.UOp, size []int64, mode Interpolation, alignCorners bool) (r *uop.UOp, err error) {
	defer guard("Interpolate", &err)
	need("x", x)
	if len(size) == 0 || len(size) > len(x.Shape()) {
		fail("size", "has %d numbers, expected 1 to %d, as x has the shape %s", len(size), len(x.Shape()), x.Shape())
	}
	for _, v := range size {
		if v < 1 {
			fail("size", "%v, expected positive numbers", size)
		}
	}
	for _, have := range x.Shape()[len(x.Shape())-len(size):] {
		if have.IsNum(0) {
			fail("x", "shape %s has no elements to interpolate", x.Shape())
		}
	}
	if alignCorners && mode != Bilinear && mode != Cubic {
		fail("align_corners", "is given for another mode, expected it for linear and cubic interpolation only")
	}
	return interpolate(x, size, mode, alignCorners), nil
}
