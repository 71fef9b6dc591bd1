package tensor

import (
	"fmt"
	"math"

	"polygrad/core/uop"
)

// On processors a pass of a Fourier transform is one kernel: an iteration loads as many elements as its radix, transforms them in registers, and
// stores as many. As there are hundreds of operations in it, the passes are made when a request is scheduled for the first time.

const (
	// largestButterfly is the largest radix of such a pass: its elements fill the registers.
	largestButterfly = 16
	// passCost is what loading and storing an element costs, in operations on it, stageCost what interleaving takes for a factor of 2.
	passCost, stageCost = 24, 2
	// vectorElements is the length from which on vectors are full.
	vectorElements = 16
)

// stepCosts are the operations on an element in the transforms of small lengths.
var stepCosts = map[int64]float64{2: 2.5, 3: 5, 5: 8, 7: 11, 11: 17, 13: 20}

// butterflies are the radices of n with the least cost, in the order of the passes; nil if there are none.
func butterflies(n, beside int64) []int64 {
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
			cost := passCost + butterflyCost(r) + float64(r)/largestButterfly // what is compiled counts a little
			along := s.done * beside
			if along == 1 {
				along = s.left / r
				cost += stageCost * math.Log2(float64(r))
			}
			cost *= float64((along+vectorElements-1)/vectorElements*vectorElements) / float64(along)
			if cost += find(state{s.left / r, s.done * r}); cost < c.cost {
				c = choice{cost, r}
			}
		}
		best[s] = c
		return c.cost
	}
	s := state{n, 1}
	if math.IsInf(find(s), 1) {
		return nil
	}
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

// packed are the planes side by side along a new last axis.
func (z complexPlanes) packed() *uop.UOp { return complexPlanes{z.re, z.imag()}.joined().Packed() }

// stored are planes in memory.
func (z complexPlanes) stored() complexPlanes { return planesOf(z.packed().ContiguousOp()) }

// planesOf are the planes of a packed tensor.
func planesOf(packed *uop.UOp) complexPlanes {
	re, im := packed.Unpacked().Planes()
	return complexPlanes{re, im}
}

// transform is the DFT along the middle axis of (batch, n, beside), or the sum with the conjugate roots, times a factor.
func transform(z complexPlanes, batch, n, beside int64, inverse bool, factor float64) complexPlanes {
	if n == 1 || butterflies(n, beside) == nil {
		return byMatrices(z, batch, n, beside, inverse, factor)
	}
	var x *uop.UOp
	if z.im == nil {
		x = padAxis(reshape(z.re, uop.ShapeOf(batch, n, beside, 1)), 3, 0, 1, 0)
	} else {
		x = stack([]*uop.UOp{z.re, z.im}, 3)
	}
	arg := stated{passesOfTransform, uop.Nums{int(batch), int(n), int(beside), 0, int(math.Float64bits(factor))}}
	if inverse {
		arg.numbers[3] = 1
	}
	// The first source says only what shape and type the value has.
	return planesOf(x.Graph().New(uop.CustomGradient, x.DType, []*uop.UOp{x, x}, arg, nil))
}

// byMatrices is transform with the passes of transformed.
func byMatrices(z complexPlanes, batch, n, beside int64, inverse bool, factor float64) complexPlanes {
	if !inverse {
		return transformed(z, batch, n, beside).scaled(factor)
	}
	y := transformed(complexPlanes{z.imag(), z.re}, batch, n, beside).scaled(factor)
	return complexPlanes{y.im, y.re}
}

// passes is the packed value of transform of a packed tensor, for a device.
func passes(x *uop.UOp, numbers uop.Nums, sorts uop.Sorts) *uop.UOp {
	batch, n, beside, inverse, factor := int64(numbers[0]), int64(numbers[1]), int64(numbers[2]), numbers[3] == 1, math.Float64frombits(uint64(numbers[4]))
	plane := func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(batch, n, beside)) }
	z := planesOf(x)
	switch {
	case x.Op == uop.Pad && x.Src[0].Shape()[3].IsNum(1): // of real numbers
		z = complexPlanes{re: plane(x.Src[0])}
	case x.Arg == uop.Disjoint && x.Src[0].Op == uop.Pad && x.Src[1].Op == uop.Pad:
		z = complexPlanes{plane(x.Src[0].Src[0]), plane(x.Src[1].Src[0])}
	}
	if sorts == uop.SortsInOrder || sorts == uop.SortsByRow {
		return byButterflies(z, batch, n, beside, inverse, factor)
	}
	y := byMatrices(z, batch, n, beside, inverse, factor)
	return complexPlanes{y.re, y.imag()}.packed()
}

// transformRule is the transposed transform of g.
func transformRule(g, u *uop.UOp) *uop.UOp {
	numbers := u.Arg.(stated).numbers
	return transform(planesOf(g), int64(numbers[0]), int64(numbers[1]), int64(numbers[2]), numbers[3] == 0, math.Float64frombits(uint64(numbers[4]))).packed()
}

// byButterflies is the packed value of transform.
func byButterflies(z complexPlanes, batch, n, beside int64, inverse bool, factor float64) *uop.UOp {
	if inverse {
		z = complexPlanes{z.imag(), z.re}
	}
	g, dt := z.re.Graph(), z.re.DType
	done, left := int64(1), n
	for _, r := range butterflies(n, beside) {
		m := left / r
		z = z.both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(batch, r, m, done*beside)) })
		xs := make([]complexPlanes, r)
		for j := range xs {
			xs[j] = z.both(func(u *uop.UOp) *uop.UOp { return shrinkAxis(u, 1, uop.N(int64(j)), uop.N(int64(j+1))) })
		}
		ys := butterfly(xs)
		if m > 1 {
			w := transposedTwiddles(g, m, r, left, dt).both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(1, r, m, 1)) })
			for k := 1; k < len(ys); k++ {
				ys[k] = ys[k].turned(w.both(func(u *uop.UOp) *uop.UOp { return shrinkAxis(u, 1, uop.N(int64(k)), uop.N(int64(k+1))) }))
			}
		}
		// The digit of the results stands behind the rest.
		var re, im []*uop.UOp
		digit := func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(batch, m, 1, done*beside)) }
		for _, y := range ys {
			re, im = append(re, digit(y.re)), append(im, digit(y.imag()))
		}
		planes := []*uop.UOp{cat(re, 2), cat(im, 2)}
		done, left = done*r, m
		if left > 1 {
			s := stack(planes, 0).ContiguousOp()
			plane := func(i int64) *uop.UOp { return reshape(shrinkAxis(s, 0, uop.N(i), uop.N(i+1)), s.Shape()[1:]) }
			z = complexPlanes{plane(0), plane(1)}
			continue
		}
		if inverse {
			planes[0], planes[1] = planes[1], planes[0]
		}
		if factor != 1 {
			planes[0], planes[1] = mul(planes[0], factor), mul(planes[1], factor)
		}
		s := stack(planes, 4)
		return reshape(s, uop.ShapeOf(batch, n, beside, 2)).ContiguousOp()
	}
	panic("no passes")
}

// transposedTwiddles are twiddles with the axes exchanged: along p an element follows another in memory.
func transposedTwiddles(g *uop.Graph, m, r, n int64, dt *uop.DType) complexPlanes {
	return table(g, fmt.Sprint("transposed twiddles ", m, r, n, dt), func() complexPlanes {
		block := rootBlock(m)
		k := steps(g, r, 1, r, 1)
		rows := func(count, step int64) complexPlanes {
			return unitRoots(truncMod(mul(k, steps(g, count, step, 1, count)), int(n)), n, dt)
		}
		if block == 1 || block == m || m*r <= fewRoots {
			return rows(m, 1)
		}
		blocks := rows(m/block, block).both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(r, m/block, 1)) })
		places := rows(block, 1).both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(r, 1, block)) })
		return blocks.times(places).both(func(u *uop.UOp) *uop.UOp { return reshape(u, uop.ShapeOf(r, m)) })
	})
}

// butterfly is the DFT of a few elements, of any small factors.
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

// less is the difference, an operation and not the sum with the negative: there are hundreds of them.
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
