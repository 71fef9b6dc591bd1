package ir

import (
	"math"
	"slices"
)

// ln2Parts are parts of ln 2: with FMA two floats, without it the first of few bits.
func (g formula) ln2Parts() []float64 {
	switch {
	case g.wide() && g.b.Machine.FMA:
		return []float64{0.6931471805599453, 2.3190468138462996e-17}
	case g.wide():
		return []float64{0.6931471803691238, 1.9082149292705877e-10}
	case g.b.Machine.FMA:
		return []float64{0.6931471824645996, -1.904654323148236e-09}
	}
	return []float64{0.693359375, -0.00021219444005469057}
}

// expPoly are (e**r - 1 - r)/r**2 for |r| up to (ln 2)/2.
var expPoly32 = []float64{0.4999999403953552, 0.16666516661643982, 0.04166810214519501, 0.00836919341236353, 0.0013838921440765262}

var expPoly64 = []float64{0.5, 0.16666666666666688, 0.041666666666666824, 0.008333333333313897, 0.0013888888888778353, 0.00019841269903350976,
	2.4801587557816733e-05, 2.7557228703982112e-06, 2.75570695371632e-07, 2.5113924489352478e-08, 2.0976981062261385e-09}

// withoutLn2 takes multiples of ln 2 off; n and i are as nearest gives them.
func (g formula) withoutLn2(x *Value, plus int64) (r, n, i *Value) {
	n, i = g.nearest(x, math.Log2E, plus)
	for _, p := range g.ln2Parts() {
		x = g.nfma(n, g.float(p), x)
	}
	return x, n, i
}

// exp takes multiples of ln 2 off.
func (g formula) exp(x *Value) *Value {
	x = g.belowZero(x)
	y := g.scalable(x, math.Ln2, pick(g, 89.0, 710))
	if g.b.Machine.Tables && !g.wide() {
		return g.expByTable(x, y)
	}
	r, n, i := g.withoutLn2(y, 2*g.bias())
	p := g.poly(r, append([]float64{1, 1}, pick(g, expPoly32, expPoly64)...))
	return g.scale(g.orZero(x, pick(g, -104.0, -746), p), n, i)
}

// expByTable is exp of an F32 within the limits, y: multiples of (ln 2)/16 are taken off, whose powers stand in a table. A cubic is
// enough for the rest.
func (g formula) expByTable(x, y *Value) *Value {
	magic := g.float(3 << 22 / powers)
	sum := g.fma(y, g.float(math.Log2E), magic)
	n := g.sub(sum, magic)
	for _, p := range g.ln2Parts() {
		y = g.nfma(n, g.float(p), y)
	}
	power := g.b.lookup(powersTable, g.bits(sum))
	p := g.fma(power, g.poly(y, powersRest), power)
	return g.b.Legal(Scale, g.f, g.orZero(x, -104, p), n)
}

// exp2Poly are 2**r for |r| up to 1/2.
var exp2Poly32 = []float64{1, 0.6931472420692444, 0.24022655189037323, 0.05550272390246391, 0.009617063216865063, 0.0013418220914900303, 0.00015820027329027653}

var exp2Poly64 = []float64{1, 0.6931471805599457, 0.240226506959101, 0.05550410866478787, 0.009618129107605611, 0.0013333558153967864,
	0.0001540353044390775, 1.5252726937777842e-05, 1.321544125415196e-06, 1.0180812348605365e-07, 7.072854029058751e-09, 4.0562073525243956e-10}

func (g formula) exp2(x *Value) *Value { return g.exp2Of(x, nil) }

// exp2Of is 2**(x+low) for a low part that is no fraction to speak of, or nil.
func (g formula) exp2Of(x, low *Value) *Value {
	x = g.belowZero(x)
	y := g.scalable(x, 1, pick(g, 129.0, 1025))
	n, i := g.nearest(y, 1, 2*g.bias())
	r := g.sub(y, n)
	if low != nil {
		r = g.add(r, low)
	}
	return g.scale(g.orZero(x, pick(g, -152.0, -1078), g.poly(r, pick(g, exp2Poly32, exp2Poly64))), n, i)
}

// scalable is x within limits between which lie all results but 0 and infinity; unit is the logarithm of 2. What scale
// makes of the lower limit is 0, without a number that is too small on the way: to make one takes processors a hundred
// times as long, and what a mask took out of a softmax is always scaled so. An instruction that scales may
// need no lower limit; see orZero.
func (g formula) scalable(x *Value, unit, hi float64) *Value {
	if !g.isBelowZero(x) {
		x = g.atMost(x, hi)
	}
	if g.zeroes() {
		return x
	}
	return g.atLeast(x, float64(-2*g.bias())*unit)
}

// belowZero is -|x| for a choice between a value and its negative, as a bit that is set; it may be -0 where x is 0, which is the same
// power. Other values stay.
func (g formula) belowZero(x *Value) *Value {
	if x.Op != Where || x.Args[0].Op != Less || !x.Kind.Float() {
		return x
	}
	c, a, b := x.Args[0], x.Args[1], x.Args[2]
	switch above := isZero(c.Args[0]) && c.Args[1] == b || isZero(c.Args[1]) && c.Args[0] == a; {
	case !above || !negatives(a, b):
		return x
	case b.Op == Neg:
		b = b.Args[0]
	}
	return g.floats(g.ior(g.bits(b), g.int(g.top())))
}

// negatives reports whether two values differ in the sign only.
func negatives(a, b *Value) bool {
	switch {
	case a.Op == Neg && a.Args[0] == b || b.Op == Neg && b.Args[0] == a:
		return true
	case a.Op != Mul || b.Op != Mul || a.Args[0] != b.Args[0] || a.Args[1].Op != Const || b.Args[1].Op != Const:
		return false
	}
	top := uint64(1) << (8*a.Kind.Size() - 1)
	return a.Args[1].Bits == b.Args[1].Bits^top
}

// isBelowZero reports whether a value is one that belowZero made.
func (g formula) isBelowZero(x *Value) bool {
	if x.Op != Bitcast || x.Args[0].Op != Or {
		return false
	}
	or := x.Args[0].Args[1]
	return or.Op == Const && IntOf(or.Kind, or.Bits) == g.top()
}

// zeroes reports whether an instruction scales that may take long to come to 0.
func (g formula) zeroes() bool { return g.b.Machine.Scale && !g.b.Machine.ScalesToZero }

// orZero is p, but 0 where x is below the limit and such an instruction is to scale p.
func (g formula) orZero(x *Value, lo float64, p *Value) *Value {
	if !g.zeroes() {
		return p
	}
	return g.where(g.less(x, g.float(lo)), g.float(0), p)
}

// tanhPoly32 is (tanh(x)/x - 1)/z in z = x*x for x up to tanhSmall.
var tanhPoly32 = []float64{-0.3333329870765031, 0.133312139337138, -0.053561907590765574, 0.01874395248411286}

const tanhSmall = 0.4

// tanh is e/(e+1) for e = (exp(2|x|) - 1)/2, with the sign of x. Beyond the limit it is 1. Of small F32 it is a
// polynomial, which has one great rounding error and not three.
func (g formula) tanh(x *Value) *Value {
	if g.b.Machine.Tables && !g.wide() {
		return g.tanhByPieces(x)
	}
	abs := g.abs(x)
	a := g.atMost(abs, pick(g, 10.0, 20))
	n, i := g.nearest(a, 2*math.Log2E, g.bias())
	ln2 := g.ln2Parts()
	if g.b.Machine.FMA && !g.wide() {
		ln2 = ln2[:1] // with n up to 29 nothing is seen of the second
	}
	h := a // half of what is left without multiples of ln 2
	for _, p := range ln2 {
		h = g.nfma(n, g.float(p/2), h)
	}
	// Of (e**2h - 1)/2, so many times 2 as there are powers of 2h.
	poly := slices.Clone(pick(g, expPoly32, expPoly64))
	for k := range poly {
		poly[k] = math.Ldexp(poly[k], k+1)
	}
	em1 := g.fma(g.mul(h, h), g.poly(h, poly), h)
	power := g.power(i)
	e := g.fma(em1, power, g.fma(power, g.float(0.5), g.float(-0.5)))
	t := g.div(e, g.add(e, g.float(1)))
	if !g.wide() {
		z := g.mul(abs, abs)
		t = g.where(g.less(abs, g.float(tanhSmall)), g.fma(g.mul(abs, z), g.poly(z, tanhPoly32), abs), t)
	}
	return g.floats(g.ior(g.bits(t), g.iand(g.bits(x), g.top())))
}
