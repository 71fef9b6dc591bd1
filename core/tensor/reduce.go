package tensor

import (
	"math"
	"math/bits"
	"slices"

	"polygrad/core/uop"
)

// reduce applies a REDUCE_AXIS; nil axes mean all of them, an empty list none. Reduced axes stay with size 1 if keep is set.
func reduce(op uop.Op, x *uop.UOp, axes []int, keep bool) *uop.UOp {
	s := x.Shape()
	if axes == nil {
		axes = countTo(len(s))
	}
	axes = axesOf("axis", axes, len(s))
	if x.DType.IsComplex() {
		return reduceComplex(op, x, axes, keep)
	}
	r := x.ReduceAxes(op, axes...)
	if keep {
		return r
	}
	gone := make([]bool, len(s))
	for _, a := range axes {
		gone[a] = true
	}
	out := uop.Shape{}
	for i, d := range s {
		if !gone[i] {
			out = append(out, d)
		}
	}
	return reshape(r, out)
}

var smallFloats = map[*uop.DType]bool{uop.Float16: true, uop.BFloat16: true, uop.FP8E4M3: true, uop.FP8E5M2: true}

// sum accumulates in the accumulator type; small floats are converted back.
func sum(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	r := reduce(uop.Add, cast(x, uop.SumAcc(x.DType)), axes, keep)
	if smallFloats[x.DType] {
		return cast(r, x.DType)
	}
	return r
}

// sumAs accumulates in a given type.
func sumAs(x *uop.UOp, dt *uop.DType, axes []int, keep bool) *uop.UOp {
	return reduce(uop.Add, cast(x, dt), axes, keep)
}

func prod(x *uop.UOp, axes []int, keep bool) *uop.UOp { return reduce(uop.Mul, x, axes, keep) }

// accurateProd is prod with a gradient for elements that are 0; products of small floats are rounded once.
func accurateProd(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	if !x.DType.IsFloat() || asTinygrad(x) {
		return prod(x, axes, keep)
	}
	if smallFloats[x.DType] {
		return cast(accurateProd(cast(x, uop.Float32), axes, keep), x.DType)
	}
	r := prod(x, axes, keep)
	return x.Graph().New(uop.CustomGradient, r.DType, []*uop.UOp{r, x}, stated{gradientOfProduct, reducedAxes(x, axes)}, nil)
}

// reducedAxes are the axes of a reduction, counted from the first one; nil: all.
func reducedAxes(x *uop.UOp, axes []int) []int {
	if axes == nil {
		return countTo(len(x.Shape()))
	}
	return axesOf("axis", axes, len(x.Shape()))
}

// axisNumbers are reducedAxes as numbers of a rule.
func axisNumbers(x *uop.UOp, axes []int) (numbers []int64) {
	for _, a := range reducedAxes(x, axes) {
		numbers = append(numbers, int64(a))
	}
	return numbers
}

// shapeKept is the shape of a reduction that keeps its axes.
func shapeKept(x *uop.UOp, axes []int) uop.Shape {
	kept := joinShapes(x.Shape())
	for _, a := range axes {
		kept[a] = uop.N(1)
	}
	return kept
}

// prodRule multiplies the gradient of a product with the product of the other elements. Where the number of elements is a variable, it is the whole
// product divided by the element: with one 0, the product of the rest for this element, and 0 for the others.
func prodRule(g, x *uop.UOp, axes []int) *uop.UOp {
	kept := shapeKept(x, axes)
	if _, fixed := x.Shape().Ints(); fixed && x.Shape().MaxNumel() > 0 {
		return mul(reshape(g, kept), prodOfOthers(x, axes))
	}
	zero := eq(x, 0)
	rest := where(zero, 1, x)
	others := div(prod(rest, axes, true), rest)
	alone := eq(sum(zero, axes, true), cast(zero, uop.Int32))
	return mul(reshape(g, kept), where(alone, others, 0))
}

// prodOfOthers is, for each element, the product of the others along some axes: of those before it and those after it. Its derivatives
// are right where elements are 0. Adjacent axes are joined in place, others are moved to the end.
func prodOfOthers(x *uop.UOp, axes []int) *uop.UOp {
	s := x.Shape()
	axes = slices.Sorted(slices.Values(axes))
	n, at := len(axes), len(s)-len(axes)
	order := countTo(len(s))
	if n > 0 && axes[n-1]-axes[0] == n-1 {
		at = axes[0]
	} else {
		order = append(slices.DeleteFunc(order, func(a int) bool { return slices.Contains(axes, a) }), axes...)
	}
	back := make([]int, len(order))
	for i, o := range order {
		back[o] = i
	}
	moved := permute(x, order)
	to := moved.Shape()
	joined := reshape(moved, joinShapes(to[:at], uop.Shape{numel("x", to[at:at+n])}, to[at+n:]))
	return permute(reshape(prodAlong(joined, at), to), back)
}

// prodAlong is, for each element, the product of the others along an axis. If rows are few and long they are cut into parts: the product of all other
// parts is one number for each part.
func prodAlong(x *uop.UOp, axis int) *uop.UOp {
	s := x.Shape()
	n, rows := s[axis].N, joinShapes(s[:axis], s[axis+1:]).MaxNumel()
	if parts := rowsOf(n); rows < manyRows && n >= leastRows && parts >= manyRows {
		cut := reshape(x, joinShapes(s[:axis], uop.ShapeOf(parts, n/parts), s[axis+1:]))
		others := prodAlong(prod(cut, []int{axis + 1}, false), axis)
		return reshape(mul(prodAlong(cut, axis+1), unsqueeze(others, axis+1)), s)
	}
	along := func(reverse bool) *uop.UOp {
		p := uop.PrefixArg{Op: uop.Mul, Axis: axis, Reverse: reverse}
		return x.NeighbourAlong(p, -1, uop.Int(1)).PrefixAlong(p)
	}
	return mul(along(false), along(true))
}

// manyRows rows are enough to compute their running products side by side; fewer rows of at least leastRows elements are cut.
const manyRows, leastRows = 64, 1 << 12

// rowsOf is the greatest divisor of n that is not above its root.
func rowsOf(n int64) int64 {
	d := int64(math.Sqrt(float64(n)))
	for n%d != 0 {
		d--
	}
	return d
}

func maxOf(x *uop.UOp, axes []int, keep bool) *uop.UOp { return reduce(uop.Max, x, axes, keep) }

func minOf(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	return inverse(maxOf(inverse(x), axes, keep))
}

func anyOf(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	return maxOf(cast(x, uop.Bool), axes, keep)
}

func allOf(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	return logicalNot(anyOf(logicalNot(x), axes, keep))
}

// reducedCount is the number of elements reduced to one result: a number, or a tensor if a size is symbolic.
func reducedCount(x *uop.UOp, axes []int) operand {
	s := x.Shape()
	in := make([]bool, len(s))
	for _, a := range reducedAxes(x, axes) {
		in[a] = true
	}
	n, symbolic := 1, (*uop.UOp)(nil)
	for i, d := range s {
		switch {
		case !in[i]:
		case d.Symbolic() && symbolic == nil:
			symbolic = mul(constant(x, uop.DefaultInt, uop.Int(int64(n))), sizeTensor(x, d.U))
		case d.Symbolic():
			symbolic = mul(symbolic, sizeTensor(x, d.U))
		case symbolic != nil:
			symbolic = mul(symbolic, int(d.N))
		default:
			n *= int(d.N)
		}
	}
	if symbolic != nil {
		return symbolic
	}
	return n
}

// mean is the sum times 1/n, computed in the accumulator type. Integers give float32.
func mean(x *uop.UOp, axes []int, keep bool) *uop.UOp {
	out := x.DType
	if !out.IsDifferentiable() {
		out = uop.Float32
	}
	acc := uop.SumAcc(x.DType)
	whole := x.DType.IsInt() && !asTinygrad(x) // integers have a mean though their sum does not fit
	if whole && acc.Itemsize() == 4 {
		acc = uop.Int64
	}
	total := sum(cast(x, acc), axes, keep)
	if whole && x.DType.Itemsize() == 8 {
		total = sumBeyond(x, total, axes, keep)
	}
	return cast(div(total, reducedCount(x, axes)), out)
}

// sumBeyond is a sum of 64-bit integers in float32, right even where total, the sum in their own type, has overflowed: there the sum of the upper
// halves and of the carries differs from the upper half of total and is used instead.
func sumBeyond(x, total *uop.UOp, axes []int, keep bool) *uop.UOp {
	carries := shiftRight(sum(bitAnd(x, math.MaxUint32), axes, keep), 32)
	upper := add(sum(shiftRight(x, 32), axes, keep), carries)
	return where(eq(upper, shiftRight(total, 32)), cast(total, uop.Float32), mul(cast(upper, uop.Float32), 1<<32))
}

// squaresOfCentered states the gradient of a sum or mean of (x - mean(x))^2: 2 (x - mean(x)). The mean adds nothing to it, since the deviations add up
// to 0; by automatic differentiation, the gradient would need one more reduction.
func squaresOfCentered(x, squares *uop.UOp, axes []int, isMean bool) *uop.UOp {
	return customGradient(gradientOfSquares, squares, []*uop.UOp{x}, []int64{flag(isMean)}, axisNumbers(x, axes))
}

func squaresRule(g, x *uop.UOp, axes []int, isMean bool) *uop.UOp {
	slope := mul(reshape(g, shapeKept(x, axes)), 2)
	if isMean {
		slope = div(slope, reducedCount(x, axes))
	}
	return mul(slope, sub(x, mean(x, axes, true)))
}

// variance is the sum of squared distances from the mean over max(n - correction, 0).
func variance(x *uop.UOp, axes []int, keep bool, correction float64) *uop.UOp {
	squares := sum(absSquare(sub(x, mean(x, axes, true))), axes, keep)
	if !x.DType.IsComplex() {
		squares = squaresOfCentered(x, squares, axes, false)
	}
	n := reducedCount(x, axes)
	count, ok := n.(*uop.UOp)
	if !ok {
		count = countConst(x, n.(int))
	}
	var c operand = correction
	if correction == float64(int(correction)) {
		c = int(correction)
	}
	return div(squares, relu(sub(count, c)))
}

// countConst is a number of elements as a constant: an integer if it fits.
func countConst(x *uop.UOp, n int) *uop.UOp {
	if n > math.MaxInt32 {
		return constant(x, uop.DefaultFloat, uop.Int(int64(n)))
	}
	return constant(x, uop.DefaultInt, uop.Int(int64(n)))
}

// accurateStd is the square root of the variance, with the gradient 0 where all elements are equal.
func accurateStd(x *uop.UOp, axes []int, keep bool, correction float64) *uop.UOp {
	if asTinygrad(x) {
		return std(x, axes, keep, correction)
	}
	return rootOrZero(variance(x, axes, keep, correction))
}

// rootOrZero is the square root, with the gradient 0 at 0.
func rootOrZero(x *uop.UOp) *uop.UOp {
	zero := eq(x, 0)
	return where(zero, 0, sqrt(where(zero, 1, x)))
}

// argMax is the first index of the greatest value along an axis, int32.
func argMax(x *uop.UOp, axis int, keep bool) *uop.UOp {
	return firstIndex(x, axis, keep, func(m *uop.UOp) *uop.UOp { return eq(x, m) })
}

// argMaxNaN is argMax, or the first index of a NaN. argMax alone finds no element equal to a NaN maximum, and its index would be
// out of range.
func argMaxNaN(x *uop.UOp, axis int, keep bool) *uop.UOp {
	if asTinygrad(x) {
		return argMax(x, axis, keep)
	}
	if !x.DType.IsFloat() {
		return argMax(x, axis, keep)
	}
	return firstIndex(x, axis, keep, func(m *uop.UOp) *uop.UOp { return bitOr(eq(x, m), isNaN(x)) })
}

// positionOfGreatest is argMaxNaN by name.
func positionOfGreatest(x *uop.UOp, axis int, keep bool) *uop.UOp {
	return known(positionOfMax, argMaxNaN(x, axis, keep), []*uop.UOp{x}, []int64{int64(axis)})
}

func positionOfLeast(x *uop.UOp, axis int, keep bool) *uop.UOp {
	return known(positionOfMin, argMaxNaN(inverse(x), axis, keep), []*uop.UOp{x}, []int64{int64(axis)})
}

// mostInOneBlock is the greatest size of a row whose maximum is not searched in blocks, leastBlock the least size of a block.
const mostInOneBlock, leastBlock = 255, 64

// inBlocksOf reports whether the position of the greatest element along an axis is looked for in blocks of neighbours.
func inBlocksOf(x *uop.UOp, axis int) bool {
	s := x.Shape()
	return len(s) > 0 && axisOf("axis", axis, len(s)) == len(s)-1 && isNumbers(s) && s[len(s)-1].N > mostInOneBlock
}

// nearRoot is a power of two near the square root of n: with blocks of this size, choosing a block takes as long as searching it.
func nearRoot(n int64) int64 { return 1 << (bits.Len64(uint64(n)) / 2) }

// argMaxOfBlocks is argMaxNaN along the last axis: the first block with the greatest maximum, then the position in it. Only that block is read twice.
func argMaxOfBlocks(x *uop.UOp, keep bool) *uop.UOp {
	s := x.Shape()
	last := len(s) - 1
	n := s[last].N
	if !inBlocksOf(x, last) {
		return argMaxNaN(x, last, keep)
	}
	size := max(leastBlock, nearRoot(n))
	blocks := (n + size - 1) / size
	x = reshape(padAxis(x, last, 0, blocks*size-n, x.DType.Min()), append(joinShapes(s[:last]), uop.N(blocks), uop.N(size)))
	first := argMaxOfBlocks(maxOf(x, []int{-1}, false).ContiguousOp(), true)
	at := joinShapes(x.Shape())
	at[last] = uop.N(1)
	inside := argMaxOfBlocks(gather(x, last, expand(unsqueeze(first, -1), at)), false)
	r := add(mul(cast(first, counts(n)), int(size)), cast(inside, counts(n)))
	if !keep {
		r = squeeze(r, last)
	}
	return r
}

// firstIndex is the first index along an axis where hit is true for the maximum.
func firstIndex(x *uop.UOp, axis int, keep bool, hit func(greatest *uop.UOp) *uop.UOp) *uop.UOp {
	s := x.Shape()
	axis = axisOf("axis", axis, len(s))
	if len(s) == 0 {
		return mul(cast(x, uop.Int32), 0)
	}
	if least, _ := sizeBounds(s[axis]); least < 1 {
		fail("axis", "%d has size %s, expected one element or more", axis, sizeText(s[axis]))
	}
	n := s[axis].Max()
	m := hit(maxOf(x, []int{axis}, true))
	down := front(arange(x.Graph(), uop.Int(n), uop.Int(0), uop.Int(-1), counts(n)), s[axis])
	down = reshape(down, joinShapes(uop.Shape{s[axis]}, onesShape(len(s)-axis-1)))
	idx := where(m, down, 0)
	if asTinygrad(x) {
		idx = mul(m, down)
	}
	return cast(sub(uop.Int(n), maxOf(idx, []int{axis}, keep)), counts(n))
}

// intSize is the size of an axis; a symbolic one is an error.
func intSize(arg string, s uop.Shape, axis int) int64 {
	if s[axis].Symbolic() {
		fail(arg, "axis %d has the symbolic size %s, expected one without variables", axis, s[axis])
	}
	return s[axis].N
}

// intShape is a shape; a symbolic size is an error.
func intShape(arg string, s uop.Shape) []int64 {
	d, ok := s.Ints()
	if !ok {
		fail(arg, "shape %s is symbolic, expected sizes without variables", s)
	}
	return d
}

type reduction func(x *uop.UOp, axes []int, keep bool) *uop.UOp

func runReduce(fn string, f reduction, x *uop.UOp, axes []int, keep bool) (r *uop.UOp, err error) {
	defer guard(fn, &err)
	need("x", x)
	return f(x, axes, keep), nil
}

// Sum adds over axes. Here and in all reductions nil axes mean every axis, an empty list none; negative axes count from the end;
// keepdim keeps reduced axes with size 1. float16 and the like accumulate in float32; bool and small integers give int32 or
// uint32.
func Sum(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
	return runReduce("Sum", sum, x, axes, keepdim)
}

// SumAs is Sum with the accumulator and result in a given type.
func SumAs(x *uop.UOp, dt *uop.DType, axes []int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("SumAs", &err)
	need("x", x)
	needType("dtype", dt)
	return sumAs(x, dt, axes, keepdim), nil
}

// Prod multiplies over axes, in the type of x. It has a gradient for elements that are 0.
func Prod(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
	return runReduce("Prod", accurateProd, x, axes, keepdim)
}

// ProdAs is Prod with the accumulator and result in a given type.
func ProdAs(x *uop.UOp, dt *uop.DType, axes []int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("ProdAs", &err)
	need("x", x)
	needType("dtype", dt)
	return accurateProd(cast(x, dt), axes, keepdim), nil
}

// Max is the greatest value over axes.
func Max(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
	return runReduce("Max", maxOf, x, axes, keepdim)
}

// Min is the least value over axes.
func Min(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
	return runReduce("Min", minOf, x, axes, keepdim)
}

// Any is true where one of the values over axes is not zero.
func Any(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
	return runReduce("Any", anyOf, x, axes, keepdim)
}

// All is true where none of the values over axes is zero.
func All(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
	return runReduce("All", allOf, x, axes, keepdim)
}

// Mean is the mean over axes; integers give float32.
func Mean(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error) {
	return runReduce("Mean", mean, x, axes, keepdim)
}

// Var is the variance over axes: the sum of squared distances from the mean over max(n - correction, 0). Small floats are
// computed in float32.
func Var(x *uop.UOp, axes []int, keepdim bool, correction float64) (*uop.UOp, error) {
	return runSpread("Var", variance, x, axes, keepdim, correction)
}

// Std is the square root of Var, with the gradient 0 where all elements are equal. Small floats are computed in float32: their
// variance may overflow where the deviation does not.
func Std(x *uop.UOp, axes []int, keepdim bool, correction float64) (*uop.UOp, error) {
	return runSpread("Std", accurateStd, x, axes, keepdim, correction)
}

func runSpread(fn string, f func(x *uop.UOp, axes []int, keep bool, correction float64) *uop.UOp, x *uop.UOp, axes []int, keepdim bool, correction float64) (r *uop.UOp, err error) {
	defer guard(fn, &err)
	need("x", x)
	if !smallFloats[x.DType] || asTinygrad(x) {
		return f(x, axes, keepdim, correction), nil
	}
	return cast(f(cast(x, uop.Float32), axes, keepdim, correction), x.DType), nil
}

// ArgMax is the first index of the greatest value along an axis, or of the first NaN, int32.
func ArgMax(x *uop.UOp, axis int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("ArgMax", &err)
	need("x", x)
	return positionOfGreatest(x, axis, keepdim), nil
}

// ArgMin is the first index of the least value along an axis, or of the first NaN, int32.
func ArgMin(x *uop.UOp, axis int, keepdim bool) (r *uop.UOp, err error) {
	defer guard("ArgMin", &err)
	need("x", x)
	return positionOfLeast(x, axis, keepdim), nil
}
