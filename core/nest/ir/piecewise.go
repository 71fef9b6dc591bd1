package ir

import (
	"math"
	"sync"
)

const (
	// lookupSize is the number of entries of a Lookup table.
	lookupSize = 32
	// pieceDegree is the degree of the polynomials of tanhPieces.
	pieceDegree = 5
	// From tanhFirst on a piece is a quarter of an octave; below it there is one piece. From tanhOne on tanh rounds to 1.
	tanhFirst, tanhOne = 0.0625, 9.25
	// pieceShift leaves two bits of the fraction of an F32, and its exponent.
	pieceShift = 21
)

// The tables of tanhPieces come first, then powersOf2.
const (
	powersTable = pieceDegree + 2
	powers      = 16
	// powersShift is a small number, found by search, for which all 2**(k/16) * e**powersShift are within 0.29 * 2**-24 of an F32, so that
	// a table without low parts is accurate enough.
	powersShift = 0.0008797182687917569
)

// Table returns a Lookup table.
func Table(number uint64) *[lookupSize]float32 {
	switch {
	case number == powersTable:
		return powersOf2()
	case number >= nearOneTable:
		return &nearOne()[number-nearOneTable]
	}
	return &tanhPieces()[number]
}

// Numbers v that bring m of [3/4, 3/2) near 1, by the multiple of 1/32 that is nearest to m: nearOneTable has v, the others -log2(v) in two
// parts, of which the first is a multiple of 2**-16, so that its sum with an exponent is exact. All v are multiples of 1/32 for m below
// 1, else of 1/64, so that m*v - 1, which is within 1/32, is an F32.
const (
	nearOneTable = powersTable + 1
	nearOneParts = lookupSize
)

var nearOne = sync.OnceValue(func() *[3][lookupSize]float32 {
	t := &[3][lookupSize]float32{}
	for i := nearOneParts * 3 / 4; i <= nearOneParts*3/2; i++ {
		unit := 2.0 * nearOneParts
		if i < nearOneParts {
			unit = nearOneParts
		}
		v := math.Round(unit*nearOneParts/float64(i)) / unit
		high := math.RoundToEven(-math.Log2(v)*0x1p16) / 0x1p16
		at := i % lookupSize
		t[0][at], t[1][at], t[2][at] = float32(v), float32(high), float32(-math.Log2(v)-high)
	}
	return t
})

// log2(1+r) = r*nearOneFirst + r*r*nearOnePoly(r). nearOneFirst is 1/ln 2.
var (
	nearOneFirst = []float64{1.4426950216293335, 1.925963033500011e-08}
	nearOnePoly  = []float64{-0.721347451210022, 0.48089852929115295, -0.3609299063682556, 0.288301020860672}
)

// powersOf2 are 2**(k/16) * e**powersShift, twice: half the table is one vector.
var powersOf2 = sync.OnceValue(func() *[lookupSize]float32 {
	t := &[lookupSize]float32{}
	for k := range t {
		t[k] = float32(math.Exp2(float64(k%powers)/powers) * math.Exp(powersShift))
	}
	return t
})

// powersRest is a cubic for e**(r-powersShift) - 1 and |r| up to (ln 2)/32, economised: the quadratic term absorbs the quartic.
var powersRest = func() []float64 {
	const reach, s = math.Ln2 / (2 * powers), powersShift
	const second = 0.5 + 2*(math.Sqrt2-1)*reach*reach/24
	return []float64{-s + s*s*second - s*s*s/6, 1 - 2*s*second + s*s/2, second - s/2, 1.0 / 6}
}()

// tanhPieces are polynomials for tanh in pieces of a quarter of an octave: the coefficients of each, from the constant term upwards, and last
// the number that is subtracted from the argument.
var tanhPieces = sync.OnceValue(func() *[pieceDegree + 2][lookupSize]float32 {
	t := &[pieceDegree + 2][lookupSize]float32{}
	for i := math.Float32bits(tanhFirst) >> pieceShift; i <= math.Float32bits(tanhOne)>>pieceShift; i++ {
		from, to := float64(math.Float32frombits(i<<pieceShift)), float64(math.Float32frombits((i+1)<<pieceShift))
		at := i % lookupSize
		if from == tanhFirst {
			from = 0
		}
		middle := exactPoint(math.Tanh, from, to)
		cs := interpolate(math.Tanh, middle, from, to)
		for k, c := range cs {
			t[k][at] = float32(c)
		}
		t[pieceDegree+1][at] = float32(middle)
	}
	return t
})

// exactPoint is a number near the middle of a piece at which f is nearly an F32; 0 for the piece that begins at 0.
func exactPoint(f func(float64) float64, from, to float64) float64 {
	if from == 0 {
		return 0
	}
	best, least := 0.0, math.Inf(1)
	for k := range 256 {
		x := float64(float32((from+to)/2 + (to-from)*float64(k)/4096))
		y := f(x)
		if e := math.Abs(float64(float32(y)) - y); e < least {
			best, least = x, e
		}
	}
	return best
}

// interpolate is a near-minimax polynomial in x-middle that is exact at middle: (f(x)-f(middle))/(x-middle) is interpolated at Chebyshev
// nodes with divided differences.
func interpolate(f func(float64) float64, middle, from, to float64) [pieceDegree + 1]float64 {
	var d, v [pieceDegree]float64
	for k := range d {
		d[k] = (from+to)/2 - middle + (to-from)/2*math.Cos((float64(k)+0.5)*math.Pi/pieceDegree)
		v[k] = (f(middle+d[k]) - f(middle)) / d[k]
	}
	for j := 1; j < pieceDegree; j++ {
		for k := pieceDegree - 1; k >= j; k-- {
			v[k] = (v[k] - v[k-1]) / (d[k] - d[k-j])
		}
	}
	cs := [pieceDegree + 1]float64{1: v[pieceDegree-1]}
	for k := pieceDegree - 2; k >= 0; k-- { // times x-d[k], plus v[k]
		for j := pieceDegree; j > 1; j-- {
			cs[j] = cs[j-1] - d[k]*cs[j]
		}
		cs[1] = v[k] - d[k]*cs[1]
	}
	cs[0] = f(middle)
	return cs
}

// tanhByPieces is tanh of an F32: its exponent and the next two bits select a polynomial.
func (g formula) tanhByPieces(x *Value) *Value {
	a := g.atMost(g.abs(x), tanhOne)
	which := g.shr(g.b.Legal(Max, g.i, g.bits(a), g.int(int64(math.Float32bits(tanhFirst)))), pieceShift)
	entry := func(k int) *Value { return g.b.lookup(uint64(k), which) }
	a = g.sub(a, entry(pieceDegree+1))
	t := entry(pieceDegree)
	for k := pieceDegree - 1; k >= 0; k-- {
		t = g.fma(t, a, entry(k))
	}
	return g.floats(g.ior(g.bits(t), g.iand(g.bits(x), g.top())))
}

// lookup emits a Lookup.
func (b *Builder) lookup(table uint64, which *Value) *Value {
	if which.Op == Const {
		return b.Float(F32, float64(Table(table)[which.Bits%lookupSize]))
	}
	return b.New(Lookup, F32, which.Lanes, table, which)
}
