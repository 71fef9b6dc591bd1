package ir

import (
	"math"
	"testing"
)

// TestTanhPieces: tanh by pieces errs by less than a unit in the last place, at the ends of pieces too, and never gives more than 1.
func TestTanhPieces(t *testing.T) {
	piece := func(a float32) float32 {
		a = min(a, tanhOne)
		at := math.Float32bits(max(a, tanhFirst)) >> pieceShift % lookupSize
		d := a - Table(pieceDegree + 1)[at]
		y := Table(pieceDegree)[at]
		for k := pieceDegree - 1; k >= 0; k-- {
			y = FMA32(y, d, Table(uint64(k))[at])
		}
		return y
	}
	worst, where := 0.0, float32(0)
	check := func(bits uint32) {
		a := math.Float32frombits(bits)
		y, exact := piece(a), math.Tanh(float64(a))
		unit := float64(math.Nextafter32(float32(exact), 2)) - float64(float32(exact))
		if e := math.Abs(float64(y)-exact) / unit; e > worst {
			worst, where = e, a
		}
		if y > 1 {
			t.Errorf("tanh(%v) is %v", a, y)
		}
	}
	for bits := uint32(0); bits < math.Float32bits(10); bits += 5003 {
		check(bits)
	}
	for i := range uint32(lookupSize) {
		for d := range uint32(8) {
			check(math.Float32bits(tanhFirst) + i<<pieceShift + d - 4)
		}
	}
	if worst >= 1 {
		t.Errorf("tanh(%v) errs by %.2f units in the last place", where, worst)
	}
	for _, a := range []float32{0, 1e-45, 1e-38} {
		if y := piece(a); y != a {
			t.Errorf("tanh(%v) is %v", a, y)
		}
	}
}

// The powers of the table for exp are nearly F32s, so that rounding them costs a quarter of what it could.
func TestPowersOf2(t *testing.T) {
	for k, x := range Table(powersTable) {
		exact := math.Exp2(float64(k%powers)/powers) * math.Exp(powersShift)
		if e := math.Abs(float64(x)/exact - 1); e > 0.29*0x1p-24 {
			t.Errorf("power %d errs by %g * 2**-24", k, e*0x1p24)
		}
	}
}

// Numbers times those of the table are within 1/32 of 1, and exactly so as F32; the logarithms in the table add up.
func TestNumbersNearOne(t *testing.T) {
	for bits := math.Float32bits(0.75); bits < math.Float32bits(1.5); bits += 61 {
		m := math.Float32frombits(bits)
		at := math.Float32bits(m+3<<22/nearOneParts) % lookupSize
		v, high, low := float64(Table(nearOneTable)[at]), float64(Table(nearOneTable + 1)[at]), float64(Table(nearOneTable + 2)[at])
		if r := float64(m)*v - 1; math.Abs(r) > 1.0/32 || float64(float32(r)) != r {
			t.Fatalf("%v * %v is not near 1, or no F32", m, v)
		}
		if high*0x1p16 != math.Trunc(high*0x1p16) || math.Abs(high+low+math.Log2(v)) > 0x1p-40 {
			t.Fatalf("the logarithm of %v is not %v + %v", v, high, low)
		}
	}
}
