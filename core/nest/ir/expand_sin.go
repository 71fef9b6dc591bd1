package ir

import "math"

// sinPoly are (sin(r)/r - 1)/z in z = r*r for |r| up to a little more than pi/2. The coefficients for F32 were found by a search that includes the
// rounding errors of their evaluation, with FMA and without: near pi/2 these are up to half of the error.
var (
	sinPoly32    = []float64{-0.166666657, 0.00833311584, -0.000198098351, 2.60246202e-06}
	sinPoly32Mul = []float64{-0.166666627, 0.00833308697, -0.000198094291, 2.6037435e-06}
)

var sinPoly64 = []float64{-0.16666666666666666, 0.008333333333333207, -0.00019841269841212476, 2.7557319211568394e-06, -2.5052106904256547e-08,
	1.60589409901948e-10, -7.643018949175952e-13, 2.721395e-15}

// piParts are parts of pi, and the limit up to which multiples of them are exact enough. With FMA each part has all the bits of a float; all are
// positive, so that zeros keep their sign.
func (g formula) piParts() (parts []float64, limit float64) {
	switch {
	case g.wide() && g.b.Machine.FMA:
		return []float64{3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33}, 1 << 30
	case g.wide():
		return []float64{3.1415926534682512, 1.2154201012607932e-10, 4.044532497591901e-21}, 1 << 17
	case g.b.Machine.FMA:
		return []float64{3.1415925025939941, 1.5099578831723193e-07, 1.0780605716316238e-14}, 1 << 16
	}
	return []float64{3.140625, 0.0009675025939941406, 1.5099067240953445e-07, 5.126688136514179e-12}, 8192
}

// sinKey identifies a sine or cosine that is emitted only once.
type sinKey struct {
	x   *Value
	cos bool
}

// sin is the sine of x, or the cosine: sin(|x| + pi/2). The nearest multiple n*pi is subtracted; an odd n flips the sign. For the cosine, pi/2 is
// added by subtracting 1/2 from n, which stays exact.
func (g formula) sin(x *Value, cos bool) *Value {
	key := sinKey{x, cos}
	if v := g.b.sines[key]; v != nil {
		return v
	}
	parts, limit := g.piParts()
	a := g.abs(x)
	var n, i *Value
	if cos {
		n, i = g.nearest(g.fma(a, g.float(1/math.Pi), g.float(0.5)), 1, 0)
		n = g.sub(n, g.float(0.5))
	} else {
		n, i = g.nearest(a, 1/math.Pi, 0)
	}
	r := g.subtractPi(a, n, parts, cos)
	r = g.floats(g.ixor(g.bits(r), g.shl(i, byWidth[int64](g, 31, 63))))
	r = g.reducePi(r, a, limit, cos)
	z := g.mul(r, r)
	// The term r is added last: near pi/2 a product with r would be rounded to more than 1.
	poly := byWidth(g, sinPoly32, sinPoly64)
	if !g.wide() && !g.b.Machine.FMA {
		poly = sinPoly32Mul
	}
	v := g.fma(g.mul(r, z), g.poly(z, poly), r)
	if !cos {
		v = g.floats(g.ixor(g.bits(v), g.iand(g.bits(x), g.top())))
	}
	g.b.sines[key] = v
	return v
}

// subtractPi is a - n*pi, part by part of pi.
func (g formula) subtractPi(a, n *Value, parts []float64, cos bool) *Value {
	times := func(part int) *Value { return g.mul(n, g.float(parts[part])) }
	if g.wide() || g.b.Machine.FMA {
		for _, p := range parts {
			a = g.nfma(n, g.float(p), a)
		}
		return a
	}
	// The rounding errors of the differences are added to the last one, so that only its own rounding counts. For an integer n the first two
	// differences are exact, for a half-integer the second.
	first := times(0)
	r := g.sub(a, first)
	var lost *Value
	if cos {
		lost = g.sub(a, g.add(r, first))
	}
	r = g.sub(r, times(1))
	d := g.sub(r, times(2))
	rest := g.sub(g.sub(r, d), times(2))
	if cos {
		rest = g.add(rest, lost)
	}
	return g.add(d, g.sub(rest, times(3)))
}
