package ir

import (
	"math"
	"slices"
)

// ln2Parts is ln 2 as a sum of floats. Without FMA the first has few bits, so that its multiples are exact.
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

// expPoly approximates (e**r - 1 - r)/r**2 for |r| up to (ln 2)/2.
var expPoly32 = []float64{0.4999999403953552, 0.16666516661643982, 0.04166810214519501, 0.00836919341236353, 0.0013838921440765262}

var expPoly64 = []float64{0.5, 0.16666666666666688, 0.041666666666666824, 0.008333333333313897, 0.0013888888888778353, 0.00019841269903350976,
	2.4801587557816733e-05, 2.7557228703982112e-06, 2.75570695371632e-07, 2.5113924489352478e-08, 2.0976981062261385e-09}

// reduceLn2 returns r = x - n*ln 2; n and i are as nearest returns them.
func (g formula) reduceLn2(x *Value, plus int64) (r, n, i *Value) {
	n, i = g.nearest(x, math.Log2E, plus)
	for _, p := range g.ln2Parts() {
		x = g.nfma(n, g.float(p), x)
	}
	return x, n, i
}

// exp is 2**n * e**r for x = n*ln 2 + r.
func (g formula) exp(x *Value) *Value {
	x = g.negativeAbs(x)
	y := g.clampExponent(x, math.Ln2, byWidth(g, 89.0, 710))
	if g.b.Machine.Tables && !g.wide() {
		return g.expByTable(x, y)
	}
	r, n, i := g.reduceLn2(y, 2*g.bias())
	p := g.poly(r, append([]float64{1, 1}, byWidth(g, expPoly32, expPoly64)...))
	return g.scale(g.flushUnderflow(x, byWidth(g, -104.0, -746), p), n, i)
}

// expByTable is exp of an F32 y in the range of clampExponent: multiples of (ln 2)/16 are looked up in a table, a cubic does the rest.
func (g formula) expByTable(x, y *Value) *Value {
	magic := g.float(3 << 22 / powers)
	sum := g.fma(y, g.float(math.Log2E), magic)
	n := g.sub(sum, magic)
	for _, p := range g.ln2Parts() {
		y = g.nfma(n, g.float(p), y)
	}
	power := g.b.lookup(powersTable, g.bits(sum))
	p := g.fma(power, g.poly(y, powersRest), power)
	return g.b.Legal(Scale, g.f, g.flushUnderflow(x, -104, p), n)
}

// exp2Poly approximates 2**r for |r| up to 1/2.
var exp2Poly32 = []float64{1, 0.6931472420692444, 0.24022655189037323, 0.05550272390246391, 0.009617063216865063, 0.0013418220914900303, 0.00015820027329027653}

var exp2Poly64 = []float64{1, 0.6931471805599457, 0.240226506959101, 0.05550410866478787, 0.009618129107605611, 0.0013333558153967864,
	0.0001540353044390775, 1.5252726937777842e-05, 1.321544125415196e-06, 1.0180812348605365e-07, 7.072854029058751e-09, 4.0562073525243956e-10}

func (g formula) exp2(x *Value) *Value { return g.exp2Of(x, nil) }

// exp2Of is 2**(x+low), where low is the rounding error of x, or nil for 0.
func (g formula) exp2Of(x, low *Value) *Value {
	x = g.negativeAbs(x)
	y := g.clampExponent(x, 1, byWidth(g, 129.0, 1025))
	n, i := g.nearest(y, 1, 2*g.bias())
	r := g.sub(y, n)
	if low != nil {
		r = g.add(r, low)
	}
	return g.scale(g.flushUnderflow(x, byWidth(g, -152.0, -1078), g.poly(r, byWidth(g, exp2Poly32, exp2Poly64))), n, i)
}

// clampExponent clamps x to the range outside of which results are 0 or infinity; unit is the logarithm of 2. At the lower limit
// scale returns 0 without a subnormal intermediate, which would take a hundred times as long; masked scores of a softmax always get
// there. Machines with Scale may need no lower limit; see flushUnderflow.
func (g formula) clampExponent(x *Value, unit, hi float64) *Value {
	if !g.isNegativeAbs(x) {
		x = g.atMost(x, hi)
	}
	if g.slowUnderflow() {
		return x
	}
	return g.atLeast(x, float64(-2*g.bias())*unit)
}

// negativeAbs is -|x| if x is a choice between a value and its negation, with the sign bit set (-0 where x is 0, whose exponential is
// the same). Other values are returned unchanged.
func (g formula) negativeAbs(x *Value) *Value {
	if x.Op != Where || x.Args[0].Op != Less || !x.Kind.Float() {
		return x
	}
	c, a, b := x.Args[0], x.Args[1], x.Args[2]
	switch above := isZero(c.Args[0]) && c.Args[1] == b || isZero(c.Args[1]) && c.Args[0] == a; {
	case !above || !areNegations(a, b):
		return x
	case b.Op == Neg:
		b = b.Args[0]
	}
	return g.floats(g.ior(g.bits(b), g.int(g.top())))
}

// areNegations reports whether one value is the negation of the other.
func areNegations(a, b *Value) bool {
	switch {
	case a.Op == Neg && a.Args[0] == b || b.Op == Neg && b.Args[0] == a:
		return true
	case a.Op != Mul || b.Op != Mul || a.Args[0] != b.Args[0] || a.Args[1].Op != Const || b.Args[1].Op != Const:
		return false
	}
	top := uint64(1) << (8*a.Kind.Size() - 1)
	return a.Args[1].Bits == b.Args[1].Bits^top
}

// isNegativeAbs reports whether a value was made by negativeAbs.
func (g formula) isNegativeAbs(x *Value) bool {
	if x.Op != Bitcast || x.Args[0].Op != Or {
		return false
	}
	or := x.Args[0].Args[1]
	return or.Op == Const && IntOf(or.Kind, or.Bits) == g.top()
}

// slowUnderflow reports whether the machine's Scale is slow where the result underflows.
func (g formula) slowUnderflow() bool { return g.b.Machine.Scale && !g.b.Machine.ScalesToZero }

// flushUnderflow is p, or 0 where x is below lo, if scaling p would underflow slowly.
func (g formula) flushUnderflow(x *Value, lo float64, p *Value) *Value {
	if !g.slowUnderflow() {
		return p
	}
	return g.where(g.less(x, g.float(lo)), g.float(0), p)
}

// tanhPoly32 approximates (tanh(x)/x - 1)/z in z = x*x for x up to tanhSmall.
var tanhPoly32 = []float64{-0.3333329870765031, 0.133312139337138, -0.053561907590765574, 0.01874395248411286}

const tanhSmall = 0.4

// tanh is e/(e+1) for e = (exp(2|x|) - 1)/2, with the sign of x, and 1 beyond the limit. For small F32 it is a polynomial, which
// has one large rounding error instead of three.
func (g formula) tanh(x *Value) *Value {
	if g.b.Machine.Tables && !g.wide() {
		return g.tanhByPieces(x)
	}
	abs := g.abs(x)
	a := g.atMost(abs, byWidth(g, 10.0, 20))
	n, i := g.nearest(a, 2*math.Log2E, g.bias())
	ln2 := g.ln2Parts()
	if g.b.Machine.FMA && !g.wide() {
		ln2 = ln2[:1] // n is at most 29: the second part is below the precision
	}
	h := a // half of the reduced argument
	for _, p := range ln2 {
		h = g.nfma(n, g.float(p/2), h)
	}
	// The coefficients of (e**2h - 1)/2 in powers of h.
	poly := slices.Clone(byWidth(g, expPoly32, expPoly64))
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
