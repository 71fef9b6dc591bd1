package tensor

import (
	"fmt"
	"math"
	"slices"

	"polygrad/core/uop"
)

// On CPUs each pass of a fast Fourier transform is one kernel: an iteration loads as many elements as its radix, transforms them in registers (a
// butterfly) and stores as many. A butterfly has hundreds of operations, so the nodes of the passes are built only when a request is scheduled for
// the first time.

const (
	// largestButterfly is the largest radix of a pass: its elements fill the registers.
	largestButterfly = 16
	// passCost is the cost of loading and storing an element, in operations per element; stageCost that of interleaving vectors, per factor of 2 of
	// the radix.
	passCost, stageCost = 24, 2
)

// stepCosts are the operations per element of transforms of prime lengths.
var stepCosts = map[int64]float64{2: 2.5, 3: 5, 5: 8, 7: 11, 11: 17, 13: 20}

// butterflies are the radices, in the order of the passes, of the cheapest factorisation of n, a product of small primes, for this number of vector
// registers and of lanes. beside is the number of elements of the axes behind the transformed one.
func butterflies(n, beside, vectors, lanes int64) []int64 {
	type state struct{ left, done int64 }
	type choice struct {
		cost  float64
		radix int64
	}
	best := map[state]choice{}
	var find func(s state) float64
	find = func(s state) float64 {
		if s.left == 1 {
			return 0
		}
		if c, known := best[s]; known {
			return c.cost
		}
		c := choice{cost: math.Inf(1)}
		for r := min(s.left, largestButterfly); r > 1; r-- {
			if s.left%r != 0 {
				continue
			}
			cost := passCost + butterflyCost(r) + float64(max(0, 2*r-vectors)) + float64(r)/largestButterfly // the size of the compiled code counts a little
			along := s.done * beside
			if along == 1 {
				along = s.left / r
				cost += stageCost * math.Log2(float64(r))
			}
			cost *= float64((along+lanes-1)/lanes*lanes) / float64(along)
			if cost += find(state{s.left / r, s.done * r}); cost < c.cost {
				c = choice{cost, r}
			}
		}
		best[s] = c
		return c.cost
	}
	s := state{n, 1}
	find(s)
	var out []int64
	for s.left > 1 {
		r := best[s].radix
		out, s = append(out, r), state{s.left / r, s.done * r}
	}
	return out
}

// butterflyCost is the number of operations on an element in a transform of length n, infinite if that has a large factor.
func butterflyCost(n int64) (cost float64) {
	for p := int64(2); n > 1; p++ {
		for ; n%p == 0; n /= p {
			c, known := stepCosts[p]
			if !known {
				return math.Inf(1)
			}
			cost += c
		}
	}
	return cost
}

// packed interleaves the planes: a new last axis holds the real and the imaginary part.
func (z complexPlanes) packed() *uop.UOp { return complexPlanes{z.re, z.imag()}.joined().Packed() }

// stored computes the planes into memory, packed.
func (z complexPlanes) stored() complexPlanes { return planesOf(z.packed().ContiguousOp()) }

// planesOf are the planes of a packed tensor.
func planesOf(packed *uop.UOp) complexPlanes {
	re, im := packed.PackedPlanes()
	return complexPlanes{re, im}
}

// transform is the DFT along the middle axis of (batch, n, beside), with inverse the sum with the conjugate roots of unity, times a factor.
func transform(z complexPlanes, batch, n, beside int64, inverse bool, factor float64) complexPlanes {
	if n == 1 || math.IsInf(butterflyCost(n), 1) {
		return byMatrices(z, batch, n, beside, inverse, factor)
	}
	// Gradients are those of the planes, so they are stacked here: memory that holds them packed already is not read directly.
	x := padAxis(reshape(z.re, uop.ShapeOf(batch, n, beside, 1)), 3, 0, 1, 0)
	if z.im != nil {
		x = stack([]*uop.UOp{z.re, z.im}, 3)
	}
	arg := stated{passesOfTransform, uop.Nums{int(batch), int(n), int(beside), 0, int(math.Float64bits(factor))}}
	if inverse {
		arg.numbers[3] = 1
	}
	// The first source only gives the shape and the type of the value.
	return planesOf(x.Graph().New(uop.CustomGradient, x.DType, []*uop.UOp{x, x}, arg, nil))
}

// besideBytes is the least contiguous extent of a block in bytes, lineBytes the size of a cache line.
const besideBytes, lineBytes = 512, 64

// inBlocks is a packed transform along the middle axis of (batch, n, beside). If the tensor does not fit the cache and z is in memory, it loops over
// blocks of the batch axis or of the last axis: a block fills half of the cache and stays there from one pass to the next. If z is not in memory, the
// first pass runs over the whole tensor and computes z on the way. Blocks have one size, so they may overlap.
func inBlocks(z complexPlanes, shape [3]int64, target uop.Target, transform func(z complexPlanes, shape [3]int64) *uop.UOp) *uop.UOp {
	dt, whole := z.re.DType, append(uop.ShapeOf(shape[:]...), uop.N(2))
	size := 2 * int64(dt.Itemsize())
	bytes := shape[0] * shape[1] * shape[2] * size
	axis, least, unit, cache := 0, int64(1), int64(1), target.Cache
	if beside := besideBytes / size; shape[0] < 2 || shape[2] >= 2*beside && bytes/shape[0] > cache {
		axis, least, unit = 2, beside, max(lineBytes/size, int64(target.Lanes*4/dt.Itemsize()))
	}
	count := min((2*bytes+cache-1)/max(1, cache), shape[axis]/least)
	stored := z.re
	if z.im != nil {
		stored = z.packed()
	}
	input := stored
	for input.Op == uop.Reshape || input.Op == uop.Detach {
		input = input.Src[0]
	}
	if bytes <= cache || count < 2 || input.Op != uop.Param && input.Op != uop.Result {
		return reshape(transform(z, shape), whole).ContiguousOp()
	}
	of := shape
	of[axis] = ((shape[axis]+count-1)/count + unit - 1) / unit * unit
	count = (shape[axis] + of[axis] - 1) / of[axis]
	last := shape[axis] - of[axis]
	unit = gcd(last, unit) // the alignment of the starts of blocks: stores that bypass the caches write whole lines
	zero := constant(z.re, dt, uop.Int(0)).Reshape(onesShape(4)).Expand(whole)
	return loop{variable: "part", count: count}.run([]*uop.UOp{zero}, []*uop.UOp{stored}, func(b *loopBody, i uop.Sint, s, read []*uop.UOp) {
		first := i.Mul(uop.N(last / unit)).Div(uop.N(count - 1)).Mul(uop.N(unit))
		part := func(u *uop.UOp) *uop.UOp { return block(u, axis, first, of[axis]) }
		x := complexPlanes{re: part(read[0])}
		if z.im != nil {
			x = planesOf(x.re)
		}
		b.do(part(s[0]).AssignTo(reshape(transform(x, of), append(uop.ShapeOf(of[:]...), uop.N(2)))))
	})[0]
}

// byMatrices is transform with the passes of transformed, which multiply by matrices of roots.
func byMatrices(z complexPlanes, batch, n, beside int64, inverse bool, factor float64) complexPlanes {
	if !inverse {
		return transformed(z, batch, n, beside).scaled(factor)
	}
	y := transformed(complexPlanes{z.imag(), z.re}, batch, n, beside).scaled(factor)
	return complexPlanes{y.im, y.re}
}

// passes computes transform of a packed tensor, packed, with the kind of passes that suits a device.
func passes(x *uop.UOp, numbers uop.Nums, target uop.Target) *uop.UOp {
	batch, n, beside, inverse, factor := int64(numbers[0]), int64(numbers[1]), int64(numbers[2]), numbers[3] == 1, math.Float64frombits(uint64(numbers[4]))
	z := planesOf(x)
	if target.Sorts == uop.SortsInOrder || target.Sorts == uop.SortsByRow {
		return inBlocks(z, [3]int64{batch, n, beside}, target, func(z complexPlanes, of [3]int64) *uop.UOp {
			return byButterflies(z, of[0], of[1], of[2], inverse, factor, target)
		})
	}
	y := byMatrices(z, batch, n, beside, inverse, factor)
	return complexPlanes{y.re, y.imag()}.packed()
}

// transformRule is the gradient of transform: the transform of g with the conjugate roots.
func transformRule(g, u *uop.UOp) *uop.UOp {
	numbers := u.Arg.(stated).numbers
	return transform(planesOf(g), int64(numbers[0]), int64(numbers[1]), int64(numbers[2]), numbers[3] == 0, math.Float64frombits(uint64(numbers[4]))).packed()
}

// byButterflies is the packed value of transform. A pass stores its results with the axes in which the next pass reads them, so that the operands of
// a butterfly are slices: planes, batch, the remaining index as blocks and places in a block, and the digits of the passes so far. If vectors divide
// the last axis, real and imaginary plane alternate vector by vector: the strides between digits are multiples of pages, so a cache line should be in
// use only once.
func byButterflies(z complexPlanes, batch, n, beside int64, inverse bool, factor float64, target uop.Target) *uop.UOp {
	if inverse {
		z = complexPlanes{z.imag(), z.re}
	}
	g, dt, digits, planeAxis := z.re.Graph(), z.re.DType, []int64{beside}, 0
	lanes := int64(max(1, target.Lanes*4/dt.Itemsize()))
	if beside%lanes == 0 && lanes > 1 {
		digits, planeAxis = []int64{beside / lanes, 1, lanes}, 6
	}
	radices := butterflies(n, beside, int64(target.Vectors), lanes)
	rest := blocksOf(radices, n)
	z = z.both(func(u *uop.UOp) *uop.UOp {
		return reshape(u, uop.ShapeOf(append([]int64{1, batch, rest[0], rest[1]}, digits...)...))
	})
	slice := func(axis int, from, to int64) complexPlanes {
		return z.both(func(u *uop.UOp) *uop.UOp { return shrinkAxis(u, axis, uop.N(from), uop.N(to)) })
	}
	for _, r := range radices {
		axis := 0
		if rest[0] == 1 {
			axis = 1
		}
		m := rest[axis] / r
		rest[axis] = m
		xs := make([]complexPlanes, r)
		for j := range r {
			xs[j] = slice(2+axis, j*m, (j+1)*m)
		}
		ys := butterfly(xs)
		if rest == [2]int64{1, 1} {
			return lastPass(ys, batch, digits, inverse, factor)
		}
		w := twiddlesOf(g, rest, r, dt, ys[0].re.Shape())
		for k := 1; k < len(ys); k++ {
			ys[k] = ys[k].turned(w(int64(k)))
		}
		// The digit of the results becomes an axis behind the remaining index.
		planes := stackOf(ys, slices.Concat([]int64{1, batch, rest[0], rest[1], 1}, digits), 4)
		s, in := cat(planes, planeAxis).ContiguousOp(), planeAxis
		slice = func(axis int, from, to int64) complexPlanes {
			at := wholes(s.Shape())
			at[axis] = uop.Pair{Lo: uop.N(from), Hi: uop.N(to)}
			plane := func(i int64) *uop.UOp {
				at[in] = uop.Pair{Lo: uop.N(i), Hi: uop.N(i + 1)}
				return s.Shrink(at)
			}
			return complexPlanes{plane(0), plane(1)}
		}
		digits = append([]int64{r}, digits...)
		if planeAxis > 0 {
			planeAxis++
		}
	}
	panic("no passes")
}

// blocksOf splits an index of n elements: the number of blocks is a product of the first radices, the number of places in a block that of the last
// ones. Up to fewRoots elements there is one block; beyond, where twiddle factors are products of two roots (twiddlesOf), both numbers are about
// equal.
func blocksOf(radices []int64, n int64) [2]int64 {
	if n <= fewRoots {
		return [2]int64{1, n}
	}
	best := [2]int64{1, n}
	for blocks, i := radices[0], 1; i < len(radices); i++ {
		if b := [2]int64{blocks * radices[i], n / blocks / radices[i]}; max(b[0]/radices[0], b[1]) < max(best[0], best[1]) {
			best = b
		}
		blocks *= radices[i]
	}
	return best
}

// stackOf are the planes of elements in a shape, joined along one of its axes.
func stackOf(zs []complexPlanes, shape []int64, axis int) []*uop.UOp {
	var re, im []*uop.UOp
	for _, z := range zs {
		re, im = append(re, reshape(z.re, uop.ShapeOf(shape...))), append(im, reshape(z.imag(), uop.ShapeOf(shape...)))
	}
	return []*uop.UOp{cat(re, axis), cat(im, axis)}
}

// lastPass are the results of the last pass, packed.
func lastPass(ys []complexPlanes, batch int64, digits []int64, inverse bool, factor float64) *uop.UOp {
	planes := stackOf(ys, slices.Concat([]int64{batch, 1}, digits), 1)
	if inverse {
		planes[0], planes[1] = planes[1], planes[0]
	}
	if factor != 1 {
		planes[0], planes[1] = mul(planes[0], factor), mul(planes[1], factor)
	}
	return stack(planes, len(digits)+2)
}

// twiddlesOf gives the twiddle factors e^(-2πi p k/n) of any k < r for the places p < n/r, in a shape whose axes 2 and 3 are blocks and places in a
// block. If there are many, they are products of one root for each block and one for each place in a block.
func twiddlesOf(g *uop.Graph, rest [2]int64, r int64, dt *uop.DType, shape uop.Shape) func(k int64) complexPlanes {
	n := rest[0] * rest[1] * r
	rows := func(blocks, places, step int64) func(k int64) complexPlanes {
		count, along := blocks*places, onesShape(len(shape))
		along[2], along[3] = uop.N(blocks), uop.N(places)
		planes := g.Made(fmt.Sprint("transposed twiddles ", count, " ", step, " ", r, " ", n, dt), func() *uop.UOp {
			return rootPlanes(truncMod(mul(steps(g, r, 1, r, 1), steps(g, count, step, 1, count)), int(n)), n, dt)
		})
		return func(k int64) complexPlanes {
			plane := func(i int64) *uop.UOp {
				row := planes.Shrink([]uop.Pair{{Lo: uop.N(i), Hi: uop.N(i + 1)}, {Lo: uop.N(k * count), Hi: uop.N((k + 1) * count)}})
				return broadcastTo(reshape(row, along), shape)
			}
			return complexPlanes{plane(0), plane(1)}
		}
	}
	if rest[0] == 1 || n <= fewRoots {
		return rows(rest[0], rest[1], 1)
	}
	blocks, places := rows(rest[0], 1, rest[1]), rows(1, rest[1], 1)
	return func(k int64) complexPlanes { return blocks(k).times(places(k)) }
}

// butterfly is the DFT of a few elements, whose number has only small prime factors.
func butterfly(x []complexPlanes) []complexPlanes {
	n := len(x)
	if n == 1 {
		return x
	}
	p := n
	for _, d := range []int{4, 2, 3, 5, 7, 11, 13} {
		if n%d == 0 {
			p = d
			break
		}
	}
	if p == n {
		return smallDFT(x)
	}
	q := n / p
	columns := make([][]complexPlanes, p)
	for i := range columns {
		var of []complexPlanes
		for j := range q {
			of = append(of, x[i+j*p])
		}
		columns[i] = butterfly(of)
	}
	out := make([]complexPlanes, n)
	for k := range q {
		of := make([]complexPlanes, p)
		for i := range of {
			of[i] = columns[i][k].rotated(i*k, n)
		}
		for j, y := range smallDFT(of) {
			out[k+j*q] = y
		}
	}
	return out
}

// smallDFT is the DFT of 2, 4 or an odd number of elements. As the roots of j and n-j are conjugates, cosines multiply sums of two elements
// and sines their differences.
func smallDFT(x []complexPlanes) []complexPlanes {
	n := len(x)
	switch n {
	case 2:
		return []complexPlanes{x[0].plus(x[1]), x[0].less(x[1])}
	case 4:
		a, b, c, d := x[0].plus(x[2]), x[0].less(x[2]), x[1].plus(x[3]), x[1].less(x[3])
		return []complexPlanes{a.plus(c), b.plusOverI(d), a.less(c), b.plusTimesI(d)}
	}
	h := n / 2
	sums, differences := make([]complexPlanes, h+1), make([]complexPlanes, h+1)
	out := make([]complexPlanes, n)
	out[0] = x[0]
	for j := 1; j <= h; j++ {
		sums[j], differences[j] = x[j].plus(x[n-j]), x[j].less(x[n-j])
		out[0] = out[0].plus(sums[j])
	}
	for k := 1; k <= h; k++ {
		even, odd := x[0], complexPlanes{}
		for j := 1; j <= h; j++ {
			sine, cosine := math.Sincos(2 * math.Pi * float64(j*k%n) / float64(n))
			even = even.plusTimes(sums[j], cosine)
			if j == 1 {
				odd = differences[j].both(func(u *uop.UOp) *uop.UOp { return mul(u, sine) })
			} else {
				odd = odd.plusTimes(differences[j], sine)
			}
		}
		out[k], out[n-k] = even.plusOverI(odd), even.plusTimesI(odd)
	}
	return out
}

// less is the difference as one SUB instead of the sum with the negative: a butterfly has hundreds of them.
func (z complexPlanes) less(w complexPlanes) complexPlanes {
	if z.im == nil || w.im == nil {
		return z.minus(w)
	}
	return complexPlanes{z.re.Alu(uop.Sub, w.re), z.im.Alu(uop.Sub, w.im)}
}

// plusOverI is z - i w, plusTimesI is z + i w.
func (z complexPlanes) plusOverI(w complexPlanes) complexPlanes {
	if z.im == nil || w.im == nil {
		return z.plus(w.overI())
	}
	return complexPlanes{add(z.re, w.im), z.im.Alu(uop.Sub, w.re)}
}

func (z complexPlanes) plusTimesI(w complexPlanes) complexPlanes {
	if z.im == nil || w.im == nil {
		return z.plus(w.timesI())
	}
	return complexPlanes{z.re.Alu(uop.Sub, w.im), add(z.im, w.re)}
}

// plusTimes is z + factor w.
func (z complexPlanes) plusTimes(w complexPlanes, factor float64) complexPlanes {
	s := complexPlanes{re: mulAdd(w.re, factor, z.re)}
	switch {
	case w.im == nil:
		s.im = z.im
	case z.im == nil:
		s.im = mul(w.im, factor)
	default:
		s.im = mulAdd(w.im, factor, z.im)
	}
	return s
}

// rotated is e^(-2πi t/n) z.
func (z complexPlanes) rotated(t, n int) complexPlanes {
	t %= n
	switch {
	case t == 0:
		return z
	case 2*t == n:
		return z.both(neg)
	case 4*t == n:
		return z.overI()
	case 4*t == 3*n:
		return z.timesI()
	}
	sine, cosine := math.Sincos(2 * math.Pi * float64(t) / float64(n))
	if z.im == nil {
		return complexPlanes{mul(z.re, cosine), mul(z.re, -sine)}
	}
	return complexPlanes{mulAdd(z.re, cosine, mul(z.im, sine)), mulAdd(z.im, cosine, mul(z.re, -sine))}
}

// turned is the product with roots of unity from a table.
func (z complexPlanes) turned(w complexPlanes) complexPlanes {
	if z.im == nil {
		return z.times(w)
	}
	return complexPlanes{mulAdd(neg(z.im), w.im, mul(z.re, w.re)), mulAdd(z.im, w.re, mul(z.re, w.im))}
}
