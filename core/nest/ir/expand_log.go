package ir

import "math"

// base is a base of logarithms: log(2) in two parts, of which the first times an exponent is exact, and log(1+f)/f for
// f from -1/4 to 1/2, and of F32 from -0.29.
type base struct {
	of2    [2]float64
	poly32 []float64
	poly64 []float64
}

var log2Of = &base{
	of2: [2]float64{1, 0},
	poly32: []float64{
		1.4426950216293335, -0.7213473916053772, 0.4809042811393738, -0.360694020986557, 0.2882665693759918, -0.2394919991493225, 0.20955060422420502,
		-0.19642092287540436, 0.1599145531654358, -0.06784874200820923,
	},
	poly64: []float64{
		1.4426950408889634, -0.7213475204444814, 0.48089834696302136, -0.3606737602224785, 0.28853900816894196, -0.24044917342746533, 0.20609929240737046,
		-0.1803368857415958, 0.16029941297099914, -0.14426920190220094, 0.13115464813225633, -0.12023321508415398, 0.11098299745425066, -0.10292734389634292,
		0.09584695908426485, -0.09070036915026694, 0.08863574147447766, -0.08487498993797028, 0.06774062190164182, -0.03609100971588773, 0.00906938709810371,
	},
}

var ln = &base{
	of2: [2]float64{0.693115234375, 3.1946184945309415e-05},
	poly32: []float64{
		1.0, -0.49999985098838806, 0.3333356976509094, -0.25001952052116394, 0.19989332556724548, -0.1659206748008728, 0.1439288854598999,
		-0.1357167661190033, 0.11783596128225327, -0.055580105632543564,
	},
	poly64: []float64{
		1.0, -0.49999999999999906, 0.3333333333333324, -0.25000000000051736, 0.20000000000095647, -0.1666666665843058, 0.14285714263022917,
		-0.12500000576303108, 0.11111113263106778, -0.09999979946696785, 0.09090808368897592, -0.08333658654964844, 0.0769481302068457, -0.07142092295945339,
		0.06634485814473798, -0.062016488009562415, 0.06047664533166449, -0.06144557796848724, 0.0554811924291867, -0.034211929666251265, 0.009914472667886084,
	},
}

// log splits x into m * 2**e with m from 3/4 to 3/2. F32 without Machine.Scale uses sqrt(1/2) to sqrt(2), which loses fewer bits where
// the exponent is -1.
func (g formula) log(x *Value, to *base) *Value {
	m, e := g.mantissaExponent(x)
	return g.logOf(m, e, to)
}

// logOf is the logarithm of m * 2**e.
func (g formula) logOf(m, e *Value, to *base) *Value {
	f := g.sub(m, g.float(1))
	p := g.poly(f, byWidth(g, to.poly32, to.poly64))
	if to.of2[1] == 0 {
		return g.fma(f, p, e)
	}
	return g.fma(e, g.float(to.of2[0]), g.fma(f, p, g.mul(e, g.float(to.of2[1]))))
}

// exponentToFloat converts an exponent, shifted left to the exponent field, to a float.
func (g formula) exponentToFloat(e *Value) *Value {
	if !g.wide() {
		return g.b.convert(F32, g.shr(e, g.fraction()))
	}
	// The exponent, made positive, is added to the fraction of a large number: not all machines convert vectors of I64.
	const magic = 3 << 51
	up := g.ushr(g.ixor(e, g.int(math.MinInt64)), 52)
	sum := g.floats(g.iadd(up, g.bits(g.float(magic))))
	return g.sub(sum, g.float(magic+2048))
}
