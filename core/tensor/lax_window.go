package tensor

import (
	"slices"
	"strings"

	"polygrad/core/uop"
)

// Reductions by a named operation, windows, convolutions and dot products with all options of XLA's operations.

// monoids are the operations of reductions, with their neutral elements.
var monoids = map[string]struct {
	neutral func(dt *uop.DType) uop.Const
	combine func(a, b operand) *uop.UOp
	reduce  func(x *uop.UOp, axes []int) *uop.UOp
}{
	"add": {func(*uop.DType) uop.Const { return uop.Int(0) }, add, func(x *uop.UOp, axes []int) *uop.UOp { return sumAs(x, x.DType, axes, false) }},
	"mul": {func(*uop.DType) uop.Const { return uop.Int(1) }, mul, func(x *uop.UOp, axes []int) *uop.UOp { return cast(prodOf(x, axes), x.DType) }},
	"max": {(*uop.DType).Min, maximum, func(x *uop.UOp, axes []int) *uop.UOp { return maxOf(x, axes, false) }},
	"min": {(*uop.DType).Max, minimum, func(x *uop.UOp, axes []int) *uop.UOp { return minOf(x, axes, false) }},
	"and": {allBits, bitAnd, func(x *uop.UOp, axes []int) *uop.UOp { return folded(x, axes, bitAnd, allBits(x.DType)) }},
	"or":  {func(*uop.DType) uop.Const { return uop.Int(0) }, bitOr, func(x *uop.UOp, axes []int) *uop.UOp { return folded(x, axes, bitOr, uop.Int(0)) }},
	"xor": {func(*uop.DType) uop.Const { return uop.Int(0) }, bitXor, func(x *uop.UOp, axes []int) *uop.UOp { return folded(x, axes, bitXor, uop.Int(0)) }},
}

func prodOf(x *uop.UOp, axes []int) *uop.UOp { return accurateProd(x, axes, false) }

func allBits(dt *uop.DType) uop.Const {
	switch {
	case dt.IsBool():
		return uop.BoolConst(true)
	case dt.IsUnsigned():
		return dt.Max()
	}
	return uop.Int(-1)
}

// folded combines neighbours along axes until one is left.
func folded(x *uop.UOp, axes []int, combine func(a, b operand) *uop.UOp, neutral uop.Const) *uop.UOp {
	x, s := lastOf(x, axes)
	lead := len(s) - 1
	n := s[lead].N
	if n == 0 {
		return full(x.Graph(), s[:lead], neutral, x.DType)
	}
	for ; n > 1; n = (n + 1) / 2 {
		if n%2 == 1 {
			x = padAxis(x, lead, 0, 1, neutral)
		}
		x = reshape(x, joinShapes(s[:lead], uop.ShapeOf((n+1)/2, 2)))
		x = combine(squeeze(shrinkAxis(x, lead+1, uop.N(0), uop.N(1)), -1), squeeze(shrinkAxis(x, lead+1, uop.N(1), uop.N(2)), -1))
	}
	return squeeze(x, -1)
}

// lastOf flattens some axes into one behind the others.
func lastOf(x *uop.UOp, axes []int) (r *uop.UOp, s uop.Shape) {
	xs := x.Shape()
	var order []int
	size := int64(1)
	for i, d := range xs {
		if !slices.Contains(axes, i) {
			order, s = append(order, i), append(s, d)
		}
	}
	for _, a := range axes {
		size *= intSize("x", xs, a)
	}
	s = append(s, uop.N(size))
	return reshape(permute(x, append(order, axes...)), s), s
}

// needMonoid checks a type for an operation.
func needMonoid(x *uop.UOp, computation string) {
	if x.DType.IsFloat() && slices.Contains([]string{"and", "or", "xor"}, computation) {
		fail("computation", "%q of %s, expected integers or bools for it", computation, x.DType)
	}
}

// initial is the value that a reduction begins with, in the type of x; nil is the neutral element, which changes nothing.
func initial(x *uop.UOp, init operand, neutral uop.Const) (v *uop.UOp, changes bool) {
	switch u := init.(type) {
	case nil:
		return constant(x, x.DType, neutral), false
	case *uop.UOp:
		if u.Size() != 1 {
			fail("init", "has shape %s, expected ()", u.Shape())
		}
		return reshape(cast(u, x.DType), nil), true
	}
	return likeConst(x, init), true
}

// ReduceBy combines the elements along axes, all if nil, and an initial value by an operation: add, mul, max, min, and those of bits: and, or, xor.
func ReduceBy(x *uop.UOp, init any, computation string, axes []int) (r *uop.UOp, err error) {
	defer guard("ReduceBy", &err)
	need("x", x)
	needMonoid(x, computation)
	m := monoids[computation]
	if axes == nil {
		axes = countTo(len(x.Shape()))
	}
	axes = axesOf("dimensions", axes, len(x.Shape()))
	first, changes := initial(x, init, m.neutral(x.DType))
	if r = x; len(axes) > 0 {
		r = m.reduce(x, axes)
	}
	if changes {
		r = m.combine(first, r)
	}
	return cast(r, x.DType), nil
}

// PadInterior puts a value, a number or a tensor of shape (), before, behind and between the elements of each axis. Negative numbers before and
// behind take elements away.
func PadInterior(x *uop.UOp, value any, low, high, interior []int64) (r *uop.UOp, err error) {
	defer guard("PadInterior", &err)
	need("x", x)
	n := len(x.Shape())
	low, high, interior = perAxis("low", low, n, make([]int64, n)), perAxis("high", high, n, make([]int64, n)), perAxis("interior", interior, n, make([]int64, n))
	v := value
	if u, is := value.(*uop.UOp); is {
		if u.Size() != 1 {
			fail("padding_value", "has shape %s, expected ()", u.Shape())
		}
		v = reshape(u, nil)
	}
	return padInterior(x, v, low, high, interior), nil
}

func padInterior(x *uop.UOp, value operand, low, high, interior []int64) *uop.UOp {
	if u, is := value.(*uop.UOp); is {
		own := padInterior(full(x.Graph(), x.Shape(), uop.BoolConst(true), uop.Bool), uop.BoolConst(false), low, high, interior)
		return where(own, padInterior(x, uop.Int(0), low, high, interior), cast(u, x.DType))
	}
	for axis, n := range intShape("x", x.Shape()) {
		if interior[axis] < 0 {
			fail("interior", "%d for axis %d, expected 0 or more", interior[axis], axis)
		}
		if interior[axis] > 0 && n > 1 {
			x = padAxis(unsqueeze(x, axis+1), axis+1, 0, interior[axis], value)
			x = flatten(x, axis, axis+1)
			n *= interior[axis] + 1
			x = shrinkAxis(x, axis, uop.N(0), uop.N(n-interior[axis]))
			n -= interior[axis]
		}
		if n+low[axis]+high[axis] < 0 {
			fail("low", "%d and high %d for axis %d of %d elements, expected at most all of them to be taken away", low[axis], high[axis], axis, n)
		}
		x = padAxis(x, axis, max(low[axis], 0), max(high[axis], 0), value)
		n += max(low[axis], 0) + max(high[axis], 0)
		x = shrinkAxis(x, axis, uop.N(min(max(-low[axis], 0), n)), uop.N(n-max(-high[axis], 0)))
	}
	return x
}

// XLAWindow is a window that slides over all axes, or those of a convolution.
type XLAWindow struct {
	// Size of the window, the distance of windows, of elements of the operand, and of those of a window. Nil is 1 everywhere.
	Size, Strides, BaseDilation, Dilation []int64
	// Padding has two numbers for each axis, which may be negative; or PaddingName is VALID for none, SAME or SAME_LOWER.
	Padding     []int64
	PaddingName string
}

// resolved has all numbers for n axes of some sizes.
func (w XLAWindow) resolved(sizes []int64) (r XLAWindow, low, high []int64) {
	n := len(sizes)
	r.Size = perAxis("window_dimensions", w.Size, n, ones64(n))
	r.Strides = perAxis("window_strides", w.Strides, n, ones64(n))
	r.BaseDilation = perAxis("base_dilation", w.BaseDilation, n, ones64(n))
	r.Dilation = perAxis("window_dilation", w.Dilation, n, ones64(n))
	for i := range n {
		if r.Size[i] < 0 || r.Strides[i] < 1 || r.BaseDilation[i] < 1 || r.Dilation[i] < 1 {
			fail("window_strides", "%v with windows of %v and dilations %v and %v, expected positive numbers", r.Strides, r.Size, r.BaseDilation, r.Dilation)
		}
	}
	low, high = make([]int64, n), make([]int64, n)
	switch name := strings.ToUpper(w.PaddingName); {
	case name == "SAME" || name == "SAME_LOWER":
		for i, size := range sizes {
			all := max((ceil64(size, r.Strides[i])-1)*r.Strides[i]+reach(r.Size[i], r.Dilation[i])-size, 0)
			if low[i] = all / 2; name == "SAME_LOWER" {
				low[i] = all - all/2
			}
			high[i] = all - low[i]
		}
	case name != "" && name != "VALID":
		fail("padding", "%q, expected \"VALID\", \"SAME\" or \"SAME_LOWER\", or two numbers for each axis", w.PaddingName)
	case name == "VALID" || w.Padding == nil:
	case len(w.Padding) != 2*n:
		fail("padding", "%d numbers, expected two for each of %d axes", len(w.Padding), n)
	default:
		for i := range n {
			low[i], high[i] = w.Padding[2*i], w.Padding[2*i+1]
		}
	}
	return r, low, high
}

// reach is the number of elements from the first to the last one of a window.
func reach(size, dilation int64) int64 { return max(0, (size-1)*dilation+1) }

// gaps are the numbers of elements that dilations put between others.
func gaps(dilation []int64) []int64 {
	out := make([]int64, len(dilation))
	for i, d := range dilation {
		out[i] = d - 1
	}
	return out
}

// slidingWindows are the windows over all axes of x, padded with a value: the axes of their places, then those of their elements. padded is the shape
// of x with its padding.
func slidingWindows(x *uop.UOp, value operand, w XLAWindow) (r *uop.UOp, resolved XLAWindow, padded uop.Shape) {
	sizes := intShape("x", x.Shape())
	resolved, low, high := w.resolved(sizes)
	x = padInterior(x, value, low, high, gaps(resolved.BaseDilation))
	padded = x.Shape()
	n := len(sizes)
	fits := true
	counts := make([]int64, n)
	for i, size := range intShape("x", padded) {
		if need := reach(resolved.Size[i], resolved.Dilation[i]); need <= size {
			counts[i] = (size-need)/resolved.Strides[i] + 1
		}
		fits = fits && counts[i] > 0 && resolved.Size[i] > 0
	}
	if !fits {
		return full(x.Graph(), uop.ShapeOf(append(counts, resolved.Size...)...), uop.Int(0), x.DType), resolved, padded
	}
	if n == 0 {
		return x, resolved, padded
	}
	return windows(x, resolved.Size, resolved.Strides, resolved.Dilation), resolved, padded
}

// SlidingWindows are all windows of x: the axes of their places, and then those of their elements.
func SlidingWindows(x *uop.UOp, value any, w XLAWindow) (r *uop.UOp, err error) {
	defer guard("SlidingWindows", &err)
	need("x", x)
	if u, is := value.(*uop.UOp); is {
		value, _ = initial(x, u, uop.Int(0))
	}
	r, _, _ = slidingWindows(x, value, w)
	return r, nil
}

// ReduceWindow is ReduceBy for each window. Padding does not count.
func ReduceWindow(x *uop.UOp, init any, computation string, w XLAWindow) (r *uop.UOp, err error) {
	defer guard("ReduceWindow", &err)
	need("x", x)
	needMonoid(x, computation)
	m := monoids[computation]
	neutral := m.neutral(x.DType)
	first, changes := initial(x, init, neutral)
	all, _, _ := slidingWindows(x, neutral, w)
	n := len(x.Shape())
	axes := make([]int, n)
	for i := range axes {
		axes[i] = n + i
	}
	if r = all; n > 0 {
		r = m.reduce(all, axes)
	}
	if changes {
		r = m.combine(first, r)
	}
	return cast(r, x.DType), nil
}

// SelectAndScatterAdd adds, in a zero tensor like operand, each element of source at the place where its window of operand has the maximum, or the
// minimum: the first of equal ones.
func SelectAndScatterAdd(source, operand *uop.UOp, least bool, w XLAWindow) (r *uop.UOp, err error) {
	defer guard("SelectAndScatterAdd", &err)
	needSame("operands", source, operand)
	if source.DType != operand.DType {
		fail("x", "is %s, expected %s as source", operand.DType, source.DType)
	}
	worst := operand.DType.Min()
	if least {
		worst = operand.DType.Max()
	}
	all, win, padded := slidingWindows(operand, worst, w)
	n := len(padded)
	lead := all.Shape()[:n]
	if !lead.Equal(source.Shape()) {
		fail("source", "has shape %s, expected %s: one element for each window", source.Shape(), lead)
	}
	zero := full(source.Graph(), operand.Shape(), uop.Int(0), source.DType)
	if all.Shape().MaxNumel() == 0 || n == 0 {
		if n == 0 {
			return source, nil
		}
		return zero, nil
	}
	flat := reshape(all, joinShapes(lead, uop.ShapeOf(all.Size()/lead.Numel().N)))
	if least {
		flat = inverse(flat)
	}
	hot := eq(unsqueeze(argMaxNaN(detach(flat), n, false), n), count0(source.Graph(), flat.Shape()[n].N))
	parts := reshape(where(hot, unsqueeze(source, n), 0), all.Shape())
	r = backToWindowed(parts, padded, win.Size, win.Strides, win.Dilation)
	_, low, high := w.resolved(intShape("x", operand.Shape()))
	for i := range low {
		low[i], high[i] = -low[i], -high[i]
	}
	return padInterior(r, uop.Int(0), low, high, make([]int64, n)), nil
}

// XLAConvolution has the parameters of XLA's convolution.
type XLAConvolution struct {
	Window XLAWindow // of the spatial axes: BaseDilation is that of the left operand, Dilation that of the right one
	// Layouts of the operands and the result, one letter for each axis: N is the batch, C the features, O and I are those of the weights, other
	// letters the spatial axes; empty for NC…, OI… and NC….
	Left, Right, Out           string
	FeatureGroups, BatchGroups int64
	DType                      *uop.DType
}

// axesOfLayout is the order of axes that brings a tensor to a standard order: two letters, then the spatial axes in the order of spatial.
func axesOfLayout(arg, text string, n int, first string, spatial string) (order []int, rest string) {
	if text == "" {
		return countTo(n), spatial
	}
	if len(text) != n {
		fail(arg, "%q, expected a letter for each of %d axes", text, n)
	}
	for i, c := range text {
		if strings.ContainsRune(text[:i], c) {
			fail(arg, "%q, expected each letter once", text)
		}
		if !strings.ContainsRune(first, c) {
			rest += string(c)
		}
	}
	for _, c := range first {
		k := strings.IndexRune(text, c)
		if k < 0 {
			fail(arg, "%q, expected the letters %s and those of the spatial axes", text, first)
		}
		order = append(order, k)
	}
	if spatial == "" {
		spatial = rest
	}
	for _, c := range spatial {
		k := strings.IndexRune(text, c)
		if k < 0 {
			fail(arg, "%q has no spatial axis %c, expected those of the other layouts", text, c)
		}
		order = append(order, k)
	}
	return order, spatial
}

// ConvGeneral is XLA's convolution: a correlation, of dilated operands, with groups of features or of the batch.
func ConvGeneral(lhs, rhs *uop.UOp, c XLAConvolution) (r *uop.UOp, err error) {
	defer guard("ConvGeneral", &err)
	needSame("operands", lhs, rhs)
	n := len(lhs.Shape())
	if n < 2 || len(rhs.Shape()) != n {
		fail("rhs", "has shape %s, expected %d dimensions as lhs %s, 2 or more", rhs.Shape(), n, lhs.Shape())
	}
	if lhs.DType != rhs.DType {
		fail("rhs", "is %s, expected %s as lhs", rhs.DType, lhs.DType)
	}
	if c.DType == nil {
		c.DType = lhs.DType
	}
	left, spatial := axesOfLayout("lhs_spec", c.Left, n, "NC", "")
	right, spatial := axesOfLayout("rhs_spec", c.Right, n, "OI", spatial)
	out, _ := axesOfLayout("out_spec", c.Out, n, "NC", spatial)
	x, k := cast(permute(lhs, left), c.DType), cast(permute(rhs, right), c.DType)
	if n == 2 { // without spatial axes
		c.Left, c.Right, c.Out, c.Window = "", "", "", XLAWindow{}
		if r, err = ConvGeneral(unsqueeze(x, 2), unsqueeze(k, 2), c); err != nil {
			return nil, err
		}
		return permute(squeeze(r, 2), argSort(out)), nil
	}
	xs, ks := intShape("lhs", x.Shape()), intShape("rhs", k.Shape())
	feature, batch := max(c.FeatureGroups, 1), max(c.BatchGroups, 1)
	switch {
	case feature > 1 && batch > 1:
		fail("batch_group_count", "%d with feature_group_count %d, expected at most one of them above 1", batch, feature)
	case xs[0]%batch != 0 || ks[0]%batch != 0:
		fail("batch_group_count", "%d, expected a divisor of the batch %d and the features %d of the result", batch, xs[0], ks[0])
	case ks[0]%feature != 0 || xs[1] != ks[1]*feature:
		fail("rhs", "has %d features for %d of lhs in %d groups, with %d of the result, expected them to agree", ks[1], xs[1], feature, ks[0])
	}
	w := c.Window
	w.Size = ks[2:]
	win, low, high := w.resolved(xs[2:])
	zeros2 := []int64{0, 0}
	x = padInterior(x, uop.Int(0), append(zeros2[:2:2], low...), append(zeros2[:2:2], high...), append(zeros2[:2:2], gaps(win.BaseDilation)...))
	if batch > 1 { // groups of the batch are groups of features
		s := x.Shape()
		x = reshape(x, joinShapes(uop.ShapeOf(batch, xs[0]/batch), s[1:]))
		x = reshape(permute(x, append([]int{1, 0}, countTo(n + 1)[2:]...)), joinShapes(uop.ShapeOf(xs[0]/batch, batch*xs[1]), s[2:]))
		feature = batch
	}
	counts := uop.ShapeOf(x.Shape()[0].N, ks[0])
	empty := false
	for i, size := range intShape("lhs", x.Shape())[2:] {
		need := reach(win.Size[i], win.Dilation[i])
		count := int64(0)
		if need <= size {
			count = (size-need)/win.Strides[i] + 1
		}
		counts = append(counts, uop.N(count))
		empty = empty || win.Size[i] == 0
	}
	if empty || counts.MaxNumel() == 0 || k.Size() == 0 {
		r = full(x.Graph(), counts, uop.Int(0), c.DType)
	} else {
		r = cast(conv(x, k, nil, feature, Window{Stride: win.Strides, Dilation: win.Dilation}), c.DType)
	}
	return permute(r, argSort(out)), nil
}

// ConvTransposed convolves lhs, dilated by the strides, with a padding that gives the result the size of the input of a convolution with these
// strides and this padding. With transposeKernel rhs is the kernel of that convolution: its spatial axes are reversed, and its axes of features
// exchanged.
func ConvTransposed(lhs, rhs *uop.UOp, c XLAConvolution, transposeKernel bool) (r *uop.UOp, err error) {
	defer guard("ConvTransposed", &err)
	needSame("operands", lhs, rhs)
	n := len(rhs.Shape())
	if n < 2 || len(lhs.Shape()) != n {
		fail("rhs", "has shape %s, expected %d dimensions as lhs %s, 2 or more", rhs.Shape(), len(lhs.Shape()), lhs.Shape())
	}
	right, _ := axesOfLayout("rhs_spec", c.Right, n, "OI", "")
	ks := intShape("rhs", rhs.Shape())
	w := &c.Window
	strides := perAxis("strides", w.Strides, n-2, ones64(n-2))
	dilation := perAxis("rhs_dilation", w.Dilation, n-2, ones64(n-2))
	if w.Padding == nil {
		for i := range n - 2 {
			k, s := reach(ks[right[2+i]], dilation[i]), strides[i]
			all, before := k+s-2, k-1
			switch strings.ToUpper(w.PaddingName) {
			case "SAME":
				if s <= k-1 {
					before = ceil64(all, 2)
				}
			case "VALID", "":
				all += max(k-s, 0)
			default:
				fail("padding", "%q, expected \"VALID\" or \"SAME\", or two numbers for each axis", w.PaddingName)
			}
			w.Padding = append(w.Padding, before, all-before)
		}
		w.PaddingName = ""
	}
	w.Strides, w.BaseDilation = nil, strides
	if transposeKernel {
		rhs = flip(rhs, right[2:]...)
		order := countTo(n)
		order[right[0]], order[right[1]] = right[1], right[0]
		rhs = permute(rhs, order)
	}
	return ConvGeneral(lhs, rhs, c)
}

// DotGeneral sums products over contracting axes, for each pair of batch axes. The result has the batch axes, then the others of lhs and of rhs.
func DotGeneral(lhs, rhs *uop.UOp, leftContract, rightContract, leftBatch, rightBatch []int, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("DotGeneral", &err)
	needSame("operands", lhs, rhs)
	if dt == nil {
		dt = uop.LeastUpper(lhs.DType, rhs.DType)
	}
	pairs := func(name string, left, right []int) (l, r []int) {
		if len(left) != len(right) {
			fail("rhs_"+name, "%v, expected as many axes as lhs_%s %v", right, name, left)
		}
		for i := range left {
			l, r = append(l, axisOf("lhs_"+name, left[i], len(lhs.Shape()))), append(r, axisOf("rhs_"+name, right[i], len(rhs.Shape())))
			if a, b := lhs.Shape()[l[i]], rhs.Shape()[r[i]]; a != b {
				fail("rhs_"+name, "axis %d of rhs %s, expected the size of axis %d of lhs %s", r[i], rhs.Shape(), l[i], lhs.Shape())
			}
		}
		return l, r
	}
	lc, rc := pairs("contracting_dims", leftContract, rightContract)
	lb, rb := pairs("batch_dims", leftBatch, rightBatch)
	ordered := func(name string, x *uop.UOp, batch, contract []int) (y *uop.UOp, free uop.Shape) {
		order := slices.Clone(batch)
		seen := slices.Concat(batch, contract)
		for i, a := range seen {
			if slices.Contains(seen[:i], a) {
				fail(name, "axis %d is given twice, expected it once", a)
			}
		}
		for i, d := range x.Shape() {
			if !slices.Contains(seen, i) {
				order, free = append(order, i), append(free, d)
			}
		}
		y = permute(cast(x, dt), append(order, contract...))
		b := len(batch)
		k := intSize(name, uop.Shape{numel(name, y.Shape()[b+len(free):])}, 0)
		return reshape(y, joinShapes(y.Shape()[:b], uop.Shape{numel(name, free), uop.N(k)})), free
	}
	x, xf := ordered("lhs_contracting_dims", lhs, lb, lc)
	y, yf := ordered("rhs_contracting_dims", rhs, rb, rc)
	b := len(lb)
	lead := joinShapes(x.Shape()[:b])
	r = cast(dot(x, transpose(y, b, b+1), dt), dt)
	return reshape(r, joinShapes(lead, xf, yf)), nil
}

// SortBy sorts several tensors along an axis by the first keys of them: by a later one where the earlier ones are equal.
func SortBy(xs []*uop.UOp, axis, keys int) (r []*uop.UOp, err error) {
	defer guard("SortBy", &err)
	needSame("operands", xs...)
	if len(xs) == 0 {
		fail("xs", "is empty, expected a tensor or more")
	}
	s := xs[0].Shape()
	if keys < 1 || keys > len(xs) {
		fail("num_keys", "%d, expected 1 to the %d operands", keys, len(xs))
	}
	for i, x := range xs {
		if !x.Shape().Equal(s) {
			fail(numbered("xs", i), "has shape %s, expected %s as the first", x.Shape(), s)
		}
	}
	if len(s) == 0 {
		fail(numbered("xs", 0), "is a scalar, expected at least 1 dimension")
	}
	axis = axisOf("dimension", axis, len(s))
	var order *uop.UOp
	for k := keys - 1; k >= 0; k-- {
		p := ordered(sortable(xs[k], order, axis), axis, false)
		if order == nil {
			order = p.at
		} else {
			order = gather(order, axis, p.at)
		}
	}
	for _, x := range xs {
		r = append(r, sortable(x, order, axis))
	}
	return r, nil
}

// sortable is x permuted by order along an axis, or x itself if order is nil.
func sortable(x, order *uop.UOp, axis int) *uop.UOp {
	switch {
	case order == nil:
		return x
	case x.DType.IsBool():
		return cast(gather(cast(x, uop.Uint8), axis, order), uop.Bool)
	}
	return gather(x, axis, order)
}

// Cumulate is the running reduction along an axis, from its end with reverse, in the type of x.
func Cumulate(x *uop.UOp, computation string, axis int, reverse bool) (r *uop.UOp, err error) {
	defer guard("Cumulate", &err)
	need("x", x)
	axis = axisOf("axis", axis, len(x.Shape()))
	if len(x.Shape()) == 0 {
		fail("x", "is a scalar, expected at least 1 dimension")
	}
	if reverse {
		x = flip(x, axis)
	}
	switch computation {
	case "add":
		r, err = CumSum(x, axis)
	case "mul":
		r, err = CumProd(x, axis)
	case "max":
		r, _, err = CumMax(x, axis)
	case "min":
		r, _, err = CumMin(x, axis)
	default:
		r, err = LogCumSumExp(x, axis)
	}
	if err != nil {
		return nil, err
	}
	if r = cast(r, x.DType); reverse {
		r = flip(r, axis)
	}
	return r, nil
}

// ReducePrecision rounds to numbers with so many bits of exponent and mantissa, half to even; those beyond are infinite, those below 0.
func ReducePrecision(x *uop.UOp, exponent, mantissa int) (r *uop.UOp, err error) {
	defer guard("ReducePrecision", &err)
	need("x", x)
	if !x.DType.IsFloat() || x.DType.Itemsize() < 2 {
		fail("x", "is %s, expected a floating type of 16 bits or more", x.DType)
	}
	if exponent < 1 || mantissa < 0 {
		fail("exponent_bits", "%d with mantissa_bits %d, expected 1 and 0 or more", exponent, mantissa)
	}
	return reducePrecision(x, exponent, mantissa), nil
}

func reducePrecision(x *uop.UOp, exponent, mantissa int) *uop.UOp {
	hasExponent, hasMantissa := x.DType.FloatInfo()
	if exponent >= hasExponent && mantissa >= hasMantissa {
		return x
	}
	size := x.DType.Itemsize()
	b := bitcast(x, UintOfSize[size])
	word := func(v uint64) operand { return uop.Uint(v) }
	if cut := hasMantissa - mantissa; cut > 0 {
		odd := bitAnd(shiftRight(b, cut), word(1))
		b = add(b, add(odd, word(1<<(cut-1)-1)))
		b = bitAnd(b, word(^uint64(0)>>(64-8*size)&^(1<<cut-1)))
	}
	if exponent < hasExponent {
		sign, field := uint64(1)<<(8*size-1), (uint64(1)<<hasExponent-1)<<hasMantissa
		bias, less := uint64(1)<<(hasExponent-1)-1, uint64(1)<<(exponent-1)-1
		of := bitAnd(b, word(field))
		signed := bitAnd(b, word(sign))
		b = where(gt(of, word((bias+less)<<hasMantissa)), bitOr(signed, word(field)), where(le(of, word((bias-less)<<hasMantissa)), signed, b))
	}
	r := where(isNaN(x), x, bitcast(b, x.DType))
	return customGradient(gradientOfPrecision, r, []*uop.UOp{x}, []int64{int64(exponent), int64(mantissa)})
}

// BitcastConvert reinterprets bits as another type: of another size, elements become a new last axis of parts, or the last axis becomes elements.
func BitcastConvert(x *uop.UOp, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("BitcastConvert", &err)
	need("x", x)
	needType("dtype", dt)
	if x.DType.IsBool() != dt.IsBool() {
		fail("dtype", "%s of %s, expected types with the same bits: not bool", dt, x.DType)
	}
	from, to := x.DType.Itemsize(), dt.Itemsize()
	s := x.Shape()
	switch {
	case from > to:
		x = unsqueeze(x, -1)
	case from < to && (len(s) == 0 || !s[len(s)-1].IsNum(int64(to/from))):
		fail("x", "has shape %s, expected a last axis of %d %s for one %s", s, to/from, x.DType, dt)
	}
	if r = bitcast(x, dt); from < to {
		r = squeeze(r, -1)
	}
	return r, nil
}

// SelectN takes each element from cases[which], where which is an integer, or a bool for two cases, of the shape of the cases or ().
func SelectN(which *uop.UOp, cases []*uop.UOp) (r *uop.UOp, err error) {
	defer guard("SelectN", &err)
	needSame("cases", append([]*uop.UOp{which}, cases...)...)
	if len(cases) == 0 || which.DType.IsBool() && len(cases) > 2 {
		fail("cases", "%d, expected 1 or more, at most 2 for a bool", len(cases))
	}
	if !which.DType.IsBool() && !which.DType.IsInt() {
		fail("which", "is %s, expected an integer or a bool", which.DType)
	}
	s := cases[0].Shape()
	for i, c := range cases {
		if !c.Shape().Equal(s) || c.DType != cases[0].DType {
			fail(numbered("cases", i), "is %s of shape %s, expected %s of shape %s as the first", c.DType, c.Shape(), cases[0].DType, s)
		}
	}
	if len(which.Shape()) > 0 && !which.Shape().Equal(s) {
		fail("which", "has shape %s, expected () or %s", which.Shape(), s)
	}
	if which.DType.IsBool() {
		which = cast(which, uop.Int32)
	}
	r = cases[0]
	for i, c := range cases[1:] {
		r = where(gt(which, i), c, r)
	}
	return r, nil
}

// Iota counts along one axis of a shape.
func Iota(g *uop.Graph, dt *uop.DType, shape uop.Shape, axis int) (r *uop.UOp, err error) {
	defer guard("Iota", &err)
	needType("dtype", dt)
	s := intShape("shape", shape)
	if len(s) == 0 {
		fail("shape", "is (), expected at least 1 axis")
	}
	axis = axisOf("dimension", axis, len(s))
	column := onesShape(len(s))
	column[axis] = shape[axis]
	return broadcastTo(reshape(cast(count0(g, s[axis]), dt), column), shape), nil
}

// ClampBetween is x between bounds, numbers or tensors of its shape or ().
func ClampBetween(x *uop.UOp, low, high any) (r *uop.UOp, err error) {
	defer guard("ClampBetween", &err)
	need("x", x)
	for i, v := range []any{low, high} {
		if u, is := v.(*uop.UOp); is && (u.DType != x.DType || len(u.Shape()) > 0 && !u.Shape().Equal(x.Shape())) {
			fail([]string{"min", "max"}[i], "is %s of shape %s, expected %s of shape () or %s", u.DType, u.Shape(), x.DType, x.Shape())
		}
	}
	beside := func(v any) operand {
		if _, is := v.(*uop.UOp); is {
			return v
		}
		return likeConst(x, v)
	}
	return minimum(maximum(x, beside(low)), beside(high)), nil
}
