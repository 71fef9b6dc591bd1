package tensor

import (
	"math"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// The derived gradient of pool is slow: the gradient of the repeated axis is a sum over the repeats, almost all of them zeros. So
// windows and convolutions state their own (CUSTOM_GRADIENT); a convolution's consists of two more convolutions. In the same
// way a value can have the gradient of another expression, where its own formula has no good one.

// stated is the arg of a CUSTOM_GRADIENT (gradient.Stated): a rule and its numbers.
type stated struct {
	rule    statedRule
	numbers uop.Nums
}

type statedRule uint8

const (
	gradientOfOther        statedRule = iota // of another expression for the same value
	gradientOfProduct                        // numbers are the axes of the product
	gradientOfSquares                        // of distances from the mean: 1 for their mean, then the axes
	gradientOfStandardized                   // the axes
	gradientOfGroupNorm
	gradientOfDistance
	gradientOfWindows         // kernel, stride and dilation of each axis
	gradientOfConvolution     // stride and dilation of each axis, and the number of groups
	gradientOfGather          // the axis
	gradientOfTake            // the indexed axes
	gradientOfLinear          // the axis, and whether corners are aligned
	gradientOfCholesky        // 1 for the upper triangle
	gradientOfTriangularSolve // 1 for the upper triangle, 1 for a diagonal of ones
	gradientOfSolve
	gradientOfInverse
	gradientOfQR          // 1 for r
	gradientOfEigh        // 1 for the upper triangle, 1 for the vectors
	gradientOfEig         // 1 for the vectors, the plane
	gradientOfSVD         // 1 for full matrices, and which of u, s, vt
	gradientOfDeterminant // 1 for its logarithm
	gradientOfLU
	gradientOfPseudoInverse
	gradientOfHolomorphic // the number of the function in slopeNames, and the plane
	gradientOfColumns     // as of windows
	gradientOfTransposed  // as of a convolution
	gradientOfRecurrence  // the cell, 1 for the reverse
	gradientOfUnrolled    // the same, and which result
	gradientOfAlignment
	gradientOfShares
	gradientOfLeastSquares // the bits of the cutoff
	gradientOfSlice        // the sizes
	gradientOfUpdate
	gradientOfPrecision // the bits of exponent and mantissa
	gradientOfShared    // of the second source, which is taken where the third one is computed anyway
	gradientOfScattered // of products at places: the axis
	gradientOfRoll      // shifts, then axes
	passesOfTransform   // batch, length, elements beside, 1 for the inverse, the bits of the factor
	sortedByDigits      // no gradient: 1 for positions, and 1 if these are the value, the bits of keys
	sortedByNetwork     // the same, but for these the axis that the rows were taken from
	sortedRowsAlone     // no gradient: the axis, 1 for descending order, 1 for a network
	sortedValues        // no gradient: the axis, 1 for descending order
	sortedPositions     // the same
	positionOfMax       // no gradient: the axes
	positionOfMin
	positionsOfMost // no gradient: how many along the last axis, 1 for the greatest
	keysOfRanks     // no gradient
)

var statedNames = [...]string{"other", "product", "squares", "standardized", "groupnorm", "distance", "windows", "convolution", "gather", "take", "linear", "cholesky", "triangular_solve", "solve", "inverse", "qr", "eigh", "eig", "svd", "determinant", "lu", "pseudo_inverse", "holomorphic", "columns", "transposed_convolution", "recurrence", "unrolled", "alignment", "shares", "least_squares", "dynamic_slice", "dynamic_update_slice", "reduce_precision", "shared", "scattered_products", "roll", "transform", "radix_sort", "network_sort", "row_sort", "sort", "argsort", "argmax", "argmin", "top_positions", "ranked_keys"}

// A rule without a name does not compile.
var _ = [1]struct{}{}[len(statedNames)-1-int(keysOfRanks)]

func (s stated) Equal(b uop.Arg) bool {
	o, ok := b.(stated)
	return ok && s.rule == o.rule && s.numbers.Equal(o.numbers)
}

func (s stated) Hash() uint64 { return s.numbers.Hash() + uint64(s.rule) }

func (s stated) String() string { return statedNames[s.rule] + s.numbers.String() }

// TwoExpressions reports whether the value is one of two expressions for it, the first two sources (gradient.Named).
func (s stated) TwoExpressions() bool { return s.rule == gradientOfOther || s.rule == gradientOfShared }

// Name is the name of the function with its numbers (gradient.Named). Normalisations are shown as their expressions.
func (s stated) Name() string {
	switch s.rule {
	case gradientOfOther, gradientOfShared, gradientOfSquares, gradientOfStandardized, gradientOfGroupNorm, gradientOfDistance:
		return ""
	}
	if len(s.numbers) == 0 {
		return statedNames[s.rule]
	}
	return statedNames[s.rule] + "[" + strings.Trim(s.numbers.String(), "()") + "]"
}

// Linear reports whether the value is linear in each source (gradient.Linear).
func (s stated) Linear() bool {
	switch s.rule {
	case gradientOfWindows, gradientOfColumns, gradientOfConvolution, gradientOfTransposed, gradientOfGather, gradientOfTake, gradientOfLinear, gradientOfSlice, gradientOfPrecision, gradientOfRoll, passesOfTransform:
		return true
	}
	return false
}

// Shares reports whether the value is taken from the second source where the third one is computed anyway (schedule.Sharing).
func (s stated) Shares() bool { return s.rule == gradientOfShared }

// IsLate reports whether another expression of the sources replaces the value when the request is scheduled (schedule.Late): a network of
// comparisons, SORT, or a computation in parts. GPUs, which run no iterations in order, sort by networks wherever they can.
func (s stated) IsLate(u *uop.UOp, target uop.Target) bool {
	switch s.rule {
	case sortedByNetwork, passesOfTransform, positionsOfMost, keysOfRanks:
		return true
	case positionOfMax, positionOfMin:
		return inBlocksOf(u.Src[1], s.numbers[0])
	case sortedByDigits:
		return target.Sorts == uop.SortsParallel && (s.numbers[0] == 0 || u.Src[1].DType.Itemsize() <= 4) || s.numbers[0] == 1 && !suitsFewPasses(u.Src[1].Shape()[1].N, int64(s.numbers[2]), target) && suitsRows(u.Src[1], target, 1, true, false)
	case sortedRowsAlone:
		axis, network := s.numbers[0], s.numbers[2] == 1
		return (axis == 1 || !network) && suitsRows(u.Src[1], target, axis, false, network)
	}
	return false
}

// Late is the expression of IsLate. made keeps both results of a sort, keys and positions, so that it is done once.
func (s stated) Late(u *uop.UOp, target uop.Target, made map[*uop.UOp][]*uop.UOp) *uop.UOp {
	switch s.rule {
	case passesOfTransform:
		return passes(u.Src[1], s.numbers, target)
	case positionsOfMost:
		return mostAlong(u.Src[1], s.numbers)
	case keysOfRanks:
		return keysByRank(u.Src[1], u.Src[2], target)
	case positionOfMax:
		return argMaxOfBlocks(u.Src[1], len(u.Shape()) == len(u.Src[1].Shape()))
	case positionOfMin:
		return argMaxOfBlocks(inverse(u.Src[1]), len(u.Shape()) == len(u.Src[1].Shape()))
	case sortedRowsAlone:
		return transpose(sortRows(transpose(u.Src[1], s.numbers[0], 1), s.numbers[1]), 1, s.numbers[0])
	}
	key, positions, which := u.Src[1], s.numbers[0] == 1, s.numbers[1]
	numbers := slices.Clone(s.numbers)
	numbers[1] = 0
	both := u.Graph().New(u.Op, key.DType, []*uop.UOp{key}, stated{s.rule, numbers}, nil)
	if made[both] == nil {
		sorted, at := s.sorted(key, target, positions)
		made[both] = []*uop.UOp{sorted, at}
	}
	return made[both][which]
}

func (s stated) sorted(key *uop.UOp, target uop.Target, positions bool) (sorted, at *uop.UOp) {
	network := s.rule == sortedByNetwork
	inRows := network && s.numbers[2] == 1
	if positions && suitsRows(key, target, 1, true, network) && (inRows || !network) {
		return rowSort(key)
	}
	key = transpose(key, 0, 1)
	if inRows {
		key = key.ContiguousOp() // transposed in registers
	}
	sorted, at = networkSort(key, positions)
	if positions {
		at = transpose(at, 0, 1)
	}
	return transpose(sorted, 0, 1), at
}

// Gradient applies the rule.
func (s stated) Gradient(g, u *uop.UOp) []*uop.UOp {
	switch s.rule {
	case gradientOfProduct:
		return []*uop.UOp{nil, prodRule(g, u.Src[1], s.numbers)}
	case gradientOfSquares:
		return []*uop.UOp{nil, squaresRule(g, u.Src[1], s.numbers[1:], s.numbers[0] == 1)}
	case gradientOfStandardized:
		return standardizedRule(g, u, s.numbers)
	case gradientOfGroupNorm:
		return groupNormRule(g, u)
	case gradientOfDistance:
		return []*uop.UOp{nil, distanceRule(g, u, u.Src[1])}
	case gradientOfWindows:
		return windowsRule(g, u)
	case gradientOfConvolution:
		return convRule(g, u)
	case gradientOfGather:
		return []*uop.UOp{nil, scatterReduce(fullLike(u.Src[1], 0), s.numbers[0], u.Src[2], g, ScatterSum, true)}
	case gradientOfTake:
		return []*uop.UOp{nil, takeRule(g, u, s.numbers)}
	case gradientOfLinear:
		return []*uop.UOp{nil, linearRule(g, u.Src[1], s.numbers[0], s.numbers[1] != 0)}
	case gradientOfCholesky:
		return choleskyRule(g, u, s.numbers[0] == 1)
	case gradientOfTriangularSolve:
		return triangularSolveRule(g, u, s.numbers[0] == 1, s.numbers[1] == 1)
	case gradientOfSolve:
		return solveRule(g, u, s.numbers[0] == 1)
	case gradientOfInverse:
		return inverseRule(g, u)
	case gradientOfLU:
		return []*uop.UOp{nil, luRule(g, u)}
	case gradientOfQR:
		if len(u.Src) == 3 {
			return complexRule(g, u, s.numbers[1], func(a, g *uop.UOp) *uop.UOp { return qrRule(g, a, s.numbers[0] == 1) })
		}
		return []*uop.UOp{nil, qrRule(g, u.Src[1], s.numbers[0] == 1)}
	case gradientOfEigh:
		if len(u.Src) == 3 {
			return complexRule(g, u, s.numbers[2], func(a, g *uop.UOp) *uop.UOp {
				w, v := eighOfComplex(a)
				return hermitianRule(g, w, v, s.numbers[1] == 1)
			})
		}
		return eighRule(g, u, s.numbers[0] == 1, s.numbers[1] == 1)
	case gradientOfEig:
		return complexRule(g, u, s.numbers[1], func(a, g *uop.UOp) *uop.UOp { return eigRule(g, a, s.numbers[0] == 1) })
	case gradientOfSVD:
		if len(u.Src) == 3 {
			return complexRule(g, u, s.numbers[2], func(a, g *uop.UOp) *uop.UOp { return svdRule(g, a, s.numbers[0] == 1, s.numbers[1]) })
		}
		return []*uop.UOp{nil, svdRule(g, u.Src[1], s.numbers[0] == 1, s.numbers[1])}
	case gradientOfDeterminant:
		if len(u.Src) == 3 {
			return complexRule(g, u, s.numbers[1], func(a, g *uop.UOp) *uop.UOp { return complexDeterminantRule(a, g, s.numbers[0]) })
		}
		return determinantRule(g, u, s.numbers[0] == 1)
	case gradientOfHolomorphic:
		return complexRule(g, u, s.numbers[1], func(a, g *uop.UOp) *uop.UOp { return mul(g, conj(slopes[slopeNames()[s.numbers[0]]](a))) })
	case gradientOfPseudoInverse:
		if len(u.Src) == 3 {
			return []*uop.UOp{nil, pseudoInverseRule(u.Src[1], u, g), nil}
		}
		return append(complexRule(g, u, s.numbers[0], func(a, g *uop.UOp) *uop.UOp {
			p, err := PseudoInverse(a, u.Src[3])
			must(err)
			return pseudoInverseRule(a, p, g)
		}), nil)
	case gradientOfColumns:
		numbers := statedNumbers(u, len(s.numbers)/3)
		return []*uop.UOp{nil, windows(g, numbers[0], numbers[1], numbers[2])}
	case gradientOfTransposed:
		return transposedRule(g, u)
	case gradientOfAlignment:
		return alignmentRule(g, u)
	case gradientOfLeastSquares:
		return leastSquaresRule(g, u, math.Float64frombits(uint64(s.numbers[0])))
	case gradientOfRecurrence:
		return recurrenceRule(g, u, s.numbers)
	case gradientOfSlice:
		return sliceRule(g, u)
	case gradientOfUpdate:
		return updateRule(g, u)
	case gradientOfScattered:
		return scatteredProductsRule(g, u, int(s.numbers[0]))
	case gradientOfRoll:
		return []*uop.UOp{nil, rollRule(g, s.numbers)}
	case passesOfTransform:
		return []*uop.UOp{nil, transformRule(g, u)}
	case gradientOfPrecision:
		return []*uop.UOp{nil, reducePrecision(g, s.numbers[0], s.numbers[1])}
	case sortedByDigits, sortedByNetwork, sortedRowsAlone, sortedValues, sortedPositions, positionOfMax, positionOfMin, positionsOfMost, keysOfRanks:
		return make([]*uop.UOp, len(u.Src))
	}
	return []*uop.UOp{nil, g}
}

// Expression is an expression of the sources to differentiate instead of the value of a loop: its unrolled steps (gradient.Deferred).
func (s stated) Expression(of []*uop.UOp) *uop.UOp {
	last := len(of) - 1
	switch s.rule {
	case gradientOfUnrolled:
		return recurrenceOf(s.numbers, of[:last]).backwardUnrolled(of[last])[s.numbers[2]]
	case gradientOfShares:
		return alignmentOf(of).shares(of[last], true)
	}
	return nil
}

// customGradient is a value with the gradient that a rule gives for its inputs.
func customGradient(rule statedRule, value *uop.UOp, of []*uop.UOp, numbers ...[]int64) *uop.UOp {
	if !value.DType.IsFloat() {
		return value
	}
	return known(rule, value, of, numbers...)
}

// known marks a value as the result of a named function of its inputs: a rule with its numbers (gradient.Named).
func known(rule statedRule, value *uop.UOp, of []*uop.UOp, numbers ...[]int64) *uop.UOp {
	if asTinygrad(value) {
		return value
	}
	arg := stated{rule, uop.Nums{}} // not nil, which as axes would be all of them
	for _, v := range slices.Concat(numbers...) {
		arg.numbers = append(arg.numbers, int(v))
	}
	return value.Graph().New(uop.CustomGradient, value.DType, append([]*uop.UOp{value}, of...), arg, nil)
}

// differentiatedAs is a value with the gradient of another expression for it; that expression is not computed.
func differentiatedAs(value, as *uop.UOp) *uop.UOp {
	return customGradient(gradientOfOther, value, []*uop.UOp{as})
}

// valueAlone is a value that takes less time than the expression as of the same value, unless needs, which that expression reads, is computed anyway.
func valueAlone(value, as, needs *uop.UOp) *uop.UOp {
	return value.Graph().New(uop.CustomGradient, value.DType, []*uop.UOp{value, as, needs}, stated{rule: gradientOfShared}, nil)
}

// windows is pool with its own gradient rule.
func windows(x *uop.UOp, kernel, stride, dilation []int64) *uop.UOp {
	return customGradient(gradientOfWindows, pool(x, kernel, stride, dilation), []*uop.UOp{x}, kernel, stride, dilation)
}

// statedNumbers are the numbers of a stated gradient, cut into lists of n.
func statedNumbers(u *uop.UOp, n int) [][]int64 {
	var out [][]int64
	for part := range slices.Chunk(u.Arg.(stated).numbers, n) {
		list := make([]int64, len(part))
		for i, v := range part {
			list[i] = int64(v)
		}
		out = append(out, list)
	}
	return out
}

// phases says which windows contain an element of an axis: element q*stride+r, for r < parts, is tap t*stride+r of window q-t for each t < taps. The
// elements with other r, up to the stride, are in no window.
type phases struct {
	stride, parts, taps int64
	dilation            int64 // of the taps
	spread              int64 // zero-insertion of the windows
}

// phasesOf are the phases of an axis. For windows with both stride and gaps, zeros are inserted between them.
func phasesOf(kernel, stride, dilation int64) phases {
	switch {
	case stride == 1 || dilation > 1 && kernel > 1:
		return phases{stride: 1, parts: 1, taps: kernel, dilation: dilation, spread: stride}
	case kernel <= stride:
		return phases{stride: stride, parts: kernel, taps: 1, dilation: 1, spread: 1}
	}
	return phases{stride: stride, parts: stride, taps: ceil64(kernel, stride), dilation: 1, spread: 1}
}

// reach is the distance of the first and the last tap.
func (p phases) reach() int64 { return (p.taps - 1) * p.dilation }

// spreadAxis inserts n-1 zeros between the elements of an axis.
func spreadAxis(x *uop.UOp, axis int, n int64) *uop.UOp {
	if n == 1 {
		return x
	}
	size := intSize("x", x.Shape(), axis)
	x = padAxis(unflatten(x, axis, uop.ShapeOf(size, 1)), axis+1, 0, n-1, 0)
	return shrinkAxis(flatten(x, axis, axis+1), axis, uop.N(0), uop.N((size-1)*n+1))
}

// fitAxis pads an axis with zeros at its end, or crops it, to a size.
func fitAxis(x *uop.UOp, axis int, size int64) *uop.UOp {
	if have := intSize("x", x.Shape(), axis); have < size {
		return padAxis(x, axis, 0, size-have, 0)
	}
	return shrinkAxis(x, axis, uop.N(0), uop.N(size))
}

// join interleaves the parts, an axis behind axis, and crops to the size.
func (p phases) join(x *uop.UOp, axis int, size int64) *uop.UOp {
	return fitAxis(flatten(fitAxis(x, axis+1, p.stride), axis, axis+1), axis, size)
}

// windowsRule sums for each element the gradients of the windows that contain it.
func windowsRule(g, u *uop.UOp) []*uop.UOp {
	numbers := statedNumbers(u, len(u.Arg.(stated).numbers)/3)
	return []*uop.UOp{nil, backToWindowed(g, u.Src[1].Shape(), numbers[0], numbers[1], numbers[2])}
}

// backToWindowed sums windows where they lie in a tensor of shape xs.
func backToWindowed(g *uop.UOp, xs uop.Shape, kernel, stride, dilation []int64) *uop.UOp {
	n := len(kernel)
	lead := len(xs) - n
	ps := make([]phases, n)
	terms := int64(1)
	for a := range n {
		ps[a] = phasesOf(kernel[a], stride[a], dilation[a])
		terms *= ps[a].taps
	}
	if terms <= fewTaps {
		g = sumOfTaps(g, lead, ps)
	} else {
		g = sumOfDiagonals(g, lead, ps)
	}
	for a, p := range ps {
		g = p.join(g, lead+a, intSize("x", xs, lead+a))
	}
	return g
}

// sumOfDiagonals is the sum of all taps of the elements. Each axis becomes one of elements and one of parts.
func sumOfDiagonals(g *uop.UOp, lead int, ps []phases) *uop.UOp {
	var sums []int
	for a, p := range ps {
		// Earlier axes: windows, parts and taps; this axis and later ones: windows and kernels.
		at, k := lead+3*a, lead+len(ps)+2*a
		g = spreadAxis(g, at, p.spread)
		g = unflatten(fitAxis(g, k, p.taps*p.parts), k, uop.ShapeOf(p.taps, p.parts))
		order := countTo(len(g.Shape()))
		order = slices.Insert(slices.Delete(order, k, k+2), at+1, k+1, k)
		g = permute(g, order)
		if p.taps > 1 {
			g = diagonals(g, at, p)
			sums = append(sums, at+2)
		}
	}
	g = sum(g, sums, true)
	for a := range ps {
		g = reshape(g, dropAxis(g.Shape(), lead+2*a+2))
	}
	return g
}

// Up to fewTaps taps of an element are added one by one, in their order: each is then read by strides, without remainders in its indices.
const fewTaps = 9

// sumOfTaps is the sum of sumOfDiagonals, tap by tap. Each tap is a view of its own: a view that several taps share would be stored, unless it
// repeats elements.
func sumOfTaps(g *uop.UOp, lead int, ps []phases) *uop.UOp {
	n := len(ps)
	if repeats(g) {
		for a, p := range ps {
			g = fitAxis(g, lead+n+a, p.taps*p.parts)
		}
	}
	s := g.Shape()
	bounds := [][]uop.Pair{wholes(s)}
	for a, p := range ps {
		k := lead + n + a
		var next [][]uop.Pair
		for _, b := range bounds {
			for t := range p.taps {
				b = slices.Clone(b)
				b[k] = pairOf(t*p.parts, min((t+1)*p.parts, intSize("x", s, k)))
				next = append(next, b)
			}
		}
		bounds = next
	}
	terms := make([]*uop.UOp, len(bounds))
	for i, b := range bounds {
		tap := shrink(g, b)
		for a, p := range ps {
			at, k := lead+2*a, lead+n+a
			before := b[k].Lo.N / p.parts * p.dilation
			tap = moveAxis(fitAxis(tap, k, p.parts), k, at+1)
			tap = padAxis(spreadAxis(tap, at, p.spread), at, before, p.reach()-before, 0)
		}
		terms[i] = tap
	}
	total := cast(terms[0], uop.SumAcc(g.DType))
	for _, term := range terms[1:] {
		total = add(total, cast(term, uop.SumAcc(g.DType)))
	}
	if smallFloats[g.DType] {
		return cast(total, g.DType)
	}
	return total
}

// repeats reports whether a view has more elements than the tensor that it is a view of.
func repeats(u *uop.UOp) bool {
	seen := u
	for uop.GroupMovement.Has(seen.Op) {
		seen = seen.Src[0]
	}
	return seen.Shape().MaxNumel() < u.Shape().MaxNumel()
}

func dropAxis(s uop.Shape, axis int) uop.Shape { return joinShapes(s[:axis], s[axis+1:]) }

// moveAxis moves an axis to another position.
func moveAxis(x *uop.UOp, from, to int) *uop.UOp {
	order := countTo(len(x.Shape()))
	return permute(x, slices.Insert(slices.Delete(order, from, from+1), to, from))
}

// diagonals shifts tap t, two axes behind axis, by t: element (q, t) becomes (q-t, t).
func diagonals(g *uop.UOp, axis int, p phases) *uop.UOp {
	end := len(g.Shape())
	g = moveAxis(padAxis(g, axis, p.reach(), p.reach(), 0), axis, end-1)
	g = flip(pool(g, []int64{p.taps}, []int64{1}, []int64{p.dilation}), end)
	// The product of taps and shifts; only pairs with equal numbers are kept.
	g = flatten(moveAxis(g, axis+1, end), end-1, end)
	g = unflatten(padAxis(g, end-1, 0, p.taps, 0), end-1, uop.ShapeOf(p.taps, p.taps+1))
	g = shrinkAxis(g, end, uop.N(0), uop.N(1))
	g = reshape(g, dropAxis(g.Shape(), end))
	return moveAxis(moveAxis(g, end-2, axis), end-1, axis+2)
}

// convRule gives the gradients of the input and of the weights.
func convRule(g, u *uop.UOp) []*uop.UOp {
	x, weight := u.Src[1], u.Src[2]
	c := convolutionOf(u)
	return []*uop.UOp{nil, c.backToInput(g, x.Shape(), weight), c.backToWeight(g, x, weight)}
}

// convolutionOf is the convolution that a stated gradient is about.
func convolutionOf(u *uop.UOp) convolution {
	numbers := statedNumbers(u, len(u.Src[1].Shape())-2)
	return convolution{stride: numbers[0], dilation: numbers[1], groups: numbers[2][0]}
}

// convolution is a convolution without padding.
type convolution struct {
	stride, dilation []int64
	groups           int64
}

// of is y, the convolution of x with weight or its first elements along each axis, with the gradient of a convolution.
func (c convolution) of(x, weight, y *uop.UOp) *uop.UOp {
	return customGradient(gradientOfConvolution, y, []*uop.UOp{x, weight}, c.stride, c.dilation, []int64{c.groups})
}

// apply gives the first elements of a convolution.
func (c convolution) apply(x, weight *uop.UOp, out []int64) *uop.UOp {
	kernel := intShape("weight", weight.Shape()[2:])
	return c.of(x, weight, correlate(c.windows(c.stored(x, weight), kernel, out), weight, c.groups))
}

// stored is an input, in memory with its padding if each channel has windows of its own and a stride. Windows are loaded many times, and a vector of
// strided elements takes several times as long to load if a mask has to leave out padding.
func (c convolution) stored(x, weight *uop.UOp) *uop.UOp {
	if x.Op != uop.Pad || !weight.Shape()[1].IsNum(1) || slices.Max(c.stride) == 1 {
		return x
	}
	return x.ContiguousOp()
}

// windows are the first windows along each axis. An axis is repeated once for each element of a window, or for each window,
// whichever are fewer.
func (c convolution) windows(x *uop.UOp, kernel, out []int64) *uop.UOp {
	first, second := uop.ShapeOf(out...), uop.ShapeOf(kernel...)
	few := second.Numel().N > first.Numel().N
	stride, dilation := c.stride, c.dilation
	if few {
		kernel, stride, dilation, first, second = out, dilation, stride, second, first
	}
	y := shrinkTo(pool(x, kernel, stride, dilation), joinShapes(x.Shape()[:2], first, second))
	if !few {
		return y
	}
	order := countTo(2 + 2*len(out))
	n := 2 + len(out)
	return permute(y, slices.Concat(order[:2], order[n:], order[2:n]))
}

// backToInput is the gradient of an input of shape xs: a convolution of the padded gradient with the weights. Their taps are split by phase of the
// stride, as if each phase were a channel.
func (c convolution) backToInput(g *uop.UOp, xs uop.Shape, weight *uop.UOp) *uop.UOp {
	ws := weight.Shape()
	n := len(xs) - 2
	cout := ws[0].Div(uop.N(c.groups))
	back := convolution{stride: ones64(n), groups: c.groups}
	w := unflatten(weight, 0, joinShapes(uop.ShapeOf(c.groups), uop.Shape{cout}))
	order, inner := []int{0, 2}, []int{1}
	var (
		ps               []phases
		parts, taps, out []int64
		pads             [][2]int64
	)
	for a := range n {
		size := intSize("x", xs, 2+a)
		p := phasesOf(intSize("weight", ws, 2+a), c.stride[a], c.dilation[a])
		g = spreadAxis(g, 2+a, p.spread)
		q := ceil64(size, p.stride)
		pads = append(pads, [2]int64{p.reach(), q - intSize("gradient", g.Shape(), 2+a)})
		at := 3 + 2*a
		w = flip(unflatten(fitAxis(w, at, p.taps*p.parts), at, uop.ShapeOf(p.taps, p.parts)), at)
		order, inner = append(order, at+1), append(inner, at)
		back.dilation = append(back.dilation, p.dilation)
		ps, parts, taps, out = append(ps, p), append(parts, p.parts), append(taps, p.taps), append(out, q)
	}
	phased := uop.ShapeOf(parts...).Numel()
	w = reshape(permute(w, append(order, inner...)), joinShapes(uop.Shape{xs[1].Mul(phased), cout}, uop.ShapeOf(taps...)))
	if !phased.IsNum(1) {
		w = w.ContiguousOp() // avoids remainders in its indices
	}
	y := back.apply(padSpatial(g, pads, 0), w, out)
	if slices.ContainsFunc(ps, func(p phases) bool { return p.stride > 1 }) {
		y = y.ContiguousOp()
	}
	y = unflatten(y, 1, joinShapes(xs[1:2], uop.ShapeOf(parts...)))
	for a, p := range ps {
		y = p.join(moveAxis(y, 2+n, 2+a), 2+a, intSize("x", xs, 2+a))
	}
	return y
}

// backToWeight is a convolution of the channels of x with those of the gradient: the batch is summed over, and stride and dilation
// swap roles.
func (c convolution) backToWeight(g, x, weight *uop.UOp) *uop.UOp {
	x = c.stored(x, weight)
	xs, ws, groups := x.Shape(), weight.Shape(), uop.N(c.groups)
	cout, kernel := ws[0].Div(groups), intShape("weight", ws[2:])
	parts := c.partsOfBatch(g)
	// channels reshapes (batch, group in, …) to (in, group batch, …).
	channels := func(t *uop.UOp) *uop.UOp {
		t = reshape(t, joinShapes(xs[:1], uop.Shape{groups, ws[1]}, xs[2:]))
		order := countTo(len(t.Shape()))
		order[0], order[2] = 2, 0
		return flatten(permute(t, order), 1, 2)
	}
	// weights reshapes (batch, group out, …) to (group part out, batch of a part, …).
	weights := func(parts int64) *uop.UOp {
		s := g.Shape()
		batch := s[0].Div(uop.N(parts))
		t := reshape(g, joinShapes(uop.ShapeOf(parts), uop.Shape{batch, groups, cout}, s[2:]))
		order := countTo(len(t.Shape()))
		copy(order, []int{2, 0, 3, 1})
		return flatten(permute(t, order), 0, 2)
	}
	back := convolution{stride: c.dilation, dilation: c.stride, groups: c.groups}
	out := intShape("gradient", g.Shape()[2:])
	y := correlate(back.windows(channels(byChannel(x, ws[1])), out, kernel), weights(parts), c.groups*parts)
	y = reshape(y, joinShapes(ws[1:2], uop.Shape{groups, uop.N(parts), cout}, ws[2:]))
	if parts > 1 || xs[0].Max()*uop.ShapeOf(out...).Numel().N < fewSteps {
		y = moveAxis(moveAxis(y, 2, 0), 1, len(y.Shape())-1).ContiguousOp()
		y = moveAxis(y, len(y.Shape())-1, 1)
		y = moveAxis(y, 0, 2)
	}
	y = reshape(sum(y, []int{2}, true), dropAxis(y.Shape(), 2))
	// (in, group, out, …)
	y = back.of(channels(x), weights(1), flatten(y, 1, 2))
	y = moveAxis(reshape(y, joinShapes(ws[1:2], uop.Shape{groups, cout}, ws[2:])), 0, 2)
	return flatten(y, 0, 1)
}

const (
	// partSteps is the least number of products summed for each weight's gradient in a part of the batch: with fewer, storing the
	// partial sums does not pay.
	partSteps = 512
	// fewSteps: with so few, the sums are stored in the order of computation and transposed afterwards.
	fewSteps = 512
	// vectorChannels are enough channels to fill vectors.
	vectorChannels = 16
)

// partsOfBatch is the number of parts into which the batch is split for the gradient of weights: the operands of a part stay in the caches.
func (c convolution) partsOfBatch(g *uop.UOp) int64 {
	s := g.Shape()
	steps := s[2:].Numel().N
	if s[0].Symbolic() || smallFloats[g.DType] {
		return 1
	}
	for n := int64(1); n < s[0].N; n++ {
		if s[0].N%n == 0 && n*steps >= partSteps {
			return s[0].N / n
		}
	}
	return 1
}

// byChannel stores x with channels innermost, if they are enough to fill vectors.
func byChannel(x *uop.UOp, channels uop.Sint) *uop.UOp {
	if channels.Symbolic() || channels.N < vectorChannels {
		return x
	}
	last := len(x.Shape()) - 1
	return moveAxis(moveAxis(x, 1, last).ContiguousOp(), last, 1)
}
