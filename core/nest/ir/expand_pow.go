package ir

import "math"

// x**y is 2**(y*log2(x)). The error of log2(x) grows with the product, to 100 units in the last place of F32 where the result is
// large. So for F32 the logarithm and the product are double-float sums; a fused multiply-add gives the rounding error of a
// product. The greatest error found is 1.7 units.

// powerOf returns x and y if v is y*log2(x), else nil.
func (b *Builder) powerOf(v *Value) (x, y *Value) {
	if v.Op == Mul {
		for i, l := range v.Args {
			if x := b.logs[l]; x != nil {
				return x, v.Args[1-i]
			}
		}
	}
	return nil, nil
}

// log2(m) = s*powerFirst + s*s*s*powerPoly(s*s) for s = (m-1)/(m+1) and m from sqrt(1/2) to 3/2. powerFirst is 2/ln 2.
var (
	powerFirst32 = []float64{2.885390043258667, 3.851926067000022e-08}
	powerFirst64 = []float64{2.8853900817779268, 4.0710547481862066e-17}
	powerPoly32  = []float64{0.9617967009544373, 0.5770825147628784, 0.4116404950618744, 0.3426017761230469}
	// The first coefficient, in two parts, and the others.
	powerSecond64 = []float64{0.9617966939259756, 5.0577616648125907e-17}
	powerPoly64   = []float64{0.5770780163555854, 0.41219858311111995, 0.3205988979793056, 0.2623081886075302, 0.22195314316257808, 0.19235595405836434,
		0.16984667598168476, 0.14940066167619195, 0.1653736555728543}
)

// pow is x**y: an exponential alone would multiply the rounding error of the logarithm by up to 128, of F64 by 1,000.
func (g formula) pow(x, y *Value) *Value {
	m, e := g.mantissaExponent(x)
	log, logLow := g.logTwice(m, e)
	product := g.mul(y, log)
	low := g.sub(g.mul(y, logLow), g.residual(y, log, product))
	// Infinite results have no low part.
	return g.exp2Of(product, g.where(g.less(g.abs(product), g.float(byWidth(g, 1000.0, 2000))), low, g.float(0)))
}

// residual is z - x*y for a z near x*y, with little rounding error: without FMA the factors are split into halves of their digits (Dekker, 1971).
func (g formula) residual(x, y, z *Value) *Value {
	if g.b.Machine.FMA {
		return g.nfma(x, y, z)
	}
	halves := func(v *Value) (high, low *Value) {
		high = g.floats(g.iand(g.bits(v), -1<<byWidth(g, 12, 27)))
		return high, g.sub(v, high)
	}
	xHigh, xLow := halves(x)
	yHigh, yLow := halves(y)
	return g.sub(g.sub(g.sub(g.sub(z, g.mul(xHigh, yHigh)), g.mul(xHigh, yLow)), g.mul(xLow, yHigh)), g.mul(xLow, yLow))
}

// logTwice is log2(m) + e as an unevaluated sum log + logLow.
func (g formula) logTwice(m, e *Value) (log, logLow *Value) {
	if g.b.Machine.Tables && !g.wide() {
		return g.logByTable(m, e)
	}
	one := g.float(1)
	// s + sLow = (m-1)/(m+1)
	n, d := g.sub(m, one), g.atLeast(g.add(m, one), 0.5) // m of -0 may be -1
	dLow := g.sub(m, g.sub(d, one))
	inverse := g.div(one, d)
	s := g.mul(n, inverse)
	sLow := g.mul(g.nfma(s, dLow, g.residual(s, d, n)), inverse)
	// p + pLow = log2(m)
	parts := byWidth(g, powerFirst32, powerFirst64)
	first := g.float(parts[0])
	z := g.mul(s, s)
	cube := g.mul(s, z)
	// The rounding error of the cube as a correction of s: the series begins with s + s**3/3.
	sLow = g.fma(sLow, z, sLow)
	sLow = g.nfma(g.fma(s, g.residual(s, s, z), g.residual(s, z, cube)), g.float(1.0/3), sLow)
	line := g.mul(s, first)
	rest := g.sub(g.fma(sLow, first, g.mul(s, g.float(parts[1]))), g.residual(s, first, line))
	if g.wide() { // the rounding error of the second term counts
		c := g.float(powerSecond64[0])
		second := g.mul(cube, c)
		rest = g.fma(cube, g.float(powerSecond64[1]), g.sub(rest, g.residual(cube, c, second)))
		rest = g.fma(g.mul(cube, z), g.poly(z, powerPoly64), rest)
		sum := g.add(line, second)
		line, rest = sum, g.add(g.sub(second, g.sub(sum, line)), rest)
	} else {
		rest = g.fma(cube, g.poly(z, powerPoly32), rest)
	}
	p := g.add(line, rest)
	pLow := g.sub(rest, g.sub(p, line))
	log = g.add(e, p)
	return log, g.add(g.sub(p, g.sub(log, e)), pLow)
}

// logByTable is logTwice with a table of reciprocals: m times the entry that is looked up is near 1.
func (g formula) logByTable(m, e *Value) (log, logLow *Value) {
	which := g.bits(g.add(m, g.float(3<<22/nearOneParts)))
	r := g.fma(m, g.b.lookup(nearOneTable, which), g.float(-1)) // exact
	high := g.add(e, g.b.lookup(nearOneTable+1, which))         // exact
	first := g.float(nearOneFirst[0])
	line := g.mul(r, first)
	rest := g.fma(r, g.float(nearOneFirst[1]), g.b.lookup(nearOneTable+2, which))
	rest = g.sub(rest, g.nfma(r, first, line))
	rest = g.fma(g.mul(r, r), g.poly(r, nearOnePoly), rest)
	p := g.add(line, rest)
	pLow := g.sub(rest, g.sub(p, line))
	log = g.add(high, p)
	return log, g.add(g.sub(p, g.sub(log, high)), pLow)
}

// mantissaExponent returns m and e of x = m * 2**e. For 0, infinity, negative numbers and NaN, e is log2(x).
func (g formula) mantissaExponent(x *Value) (m, e *Value) {
	if g.b.Machine.Scale {
		// The instructions handle all special values: the exponent of 0 and of infinity is their logarithm.
		m = g.b.Legal(Fraction, g.f, x)
		return m, g.sub(g.b.Legal(Exponent, g.f, x), g.b.Legal(Exponent, g.f, m))
	}
	zero := g.float(0)
	small := g.less(x, g.float(math.Ldexp(1, int(1-g.bias()))))
	up := g.float(float64(g.fraction()))
	y := g.where(small, g.mul(x, g.float(math.Ldexp(1, int(g.fraction())))), x)
	bits := g.bits(y)
	// The exponent field of x relative to that of the least m.
	exponent := g.iand(g.isub(bits, g.bits(g.float(byWidth(g, math.Sqrt2/2, 0.75)))), -1<<g.fraction())
	m = g.floats(g.isub(bits, exponent))
	e = g.sub(g.exponentToFloat(exponent), g.where(small, up, zero))
	e = g.where(g.equal(x, zero), g.float(math.Inf(-1)), e)
	// log2(Inf) = Inf; negative numbers and NaN give NaN.
	e = g.where(g.less(x, g.float(math.Inf(1))), e, g.float(math.Inf(1)))
	return m, g.where(g.lessEqual(zero, x), e, g.float(math.NaN()))
}
