package uop

import (
	"math"
	"math/big"
	"sync"
)

// Folded constants become part of a kernel's identity, so they must not depend on the last bit of a fast library
// function. The functions below are correctly rounded, which is also what the C libraries give in all but rare cases;
// Go's own differ from them in one of four results.

// workPrec is the precision in bits of intermediate results: twice a double's, and room for cancellation.
const workPrec = 192

func bf(f float64) *big.Float { return new(big.Float).SetPrec(workPrec).SetFloat64(f) }

func newBig(prec uint) *big.Float { return new(big.Float).SetPrec(prec) }

// atanhSeries is z + z³/3 + z⁵/5 + … for |z| well below 1.
func atanhSeries(z *big.Float) *big.Float {
	prec := z.Prec()
	zz := newBig(prec).Mul(z, z)
	sum, pow := newBig(prec).Set(z), newBig(prec).Set(z)
	for k := int64(3); ; k += 2 {
		pow.Mul(pow, zz)
		t := newBig(prec).Quo(pow, newBig(prec).SetInt64(k))
		if t.Sign() == 0 || t.MantExp(nil) < sum.MantExp(nil)-int(prec) {
			return sum
		}
		sum.Add(sum, t)
	}
}

var bigLn2 = sync.OnceValue(func() *big.Float {
	s := atanhSeries(newBig(workPrec).Quo(bf(1), bf(3)))
	return s.Add(s, s)
})

// bigLog2 is log2 of a positive finite number.
func bigLog2(x float64) *big.Float {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = m*2, e-1
	}
	z := newBig(workPrec).Quo(newBig(workPrec).Sub(bf(m), bf(1)), newBig(workPrec).Add(bf(m), bf(1)))
	r := newBig(workPrec)
	if z.Sign() != 0 {
		s := atanhSeries(z)
		r.Quo(s.Add(s, s), bigLn2())
	}
	return r.Add(r, bf(float64(e)))
}

// bigExp2 rounds 2**x, where |x| is below 5000.
func bigExp2(x *big.Float) float64 {
	f, _ := x.Float64()
	n := math.Round(f)
	t := newBig(workPrec).Mul(newBig(workPrec).Sub(x, bf(n)), bigLn2())
	sum, term := bf(1), bf(1)
	for k := int64(1); k < 100; k++ {
		term.Mul(term, t)
		term.Quo(term, newBig(workPrec).SetInt64(k))
		if term.Sign() == 0 || term.MantExp(nil) < -workPrec {
			break
		}
		sum.Add(sum, term)
	}
	r, _ := sum.SetMantExp(sum, int(n)).Float64()
	return r
}

func exactLog2(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log2(x)
	}
	r, _ := bigLog2(x).Float64()
	return r
}

func exactExp2(x float64) float64 {
	if !(math.Abs(x) < 5000) {
		return math.Exp2(x)
	}
	return bigExp2(bf(x))
}

// exactPow is x**y; small whole powers are computed exactly, so that ties round to even.
func exactPow(x, y float64) float64 {
	ax := math.Abs(x)
	if x == 0 || ax == 1 || math.IsInf(x, 0) || math.IsInf(y, 0) || x != x || y != y || y == 0 || x < 0 && y != math.Trunc(y) {
		return math.Pow(x, y)
	}
	var r float64
	if n := math.Abs(y); n == math.Trunc(n) && n <= 64 {
		p := newBig(53 * 65).SetInt64(1)
		for range int(n) {
			p.Mul(p, newBig(53).SetFloat64(ax))
		}
		if y < 0 {
			p = newBig(53*65).Quo(newBig(53).SetInt64(1), p)
		}
		r, _ = p.Float64()
	} else {
		e := newBig(workPrec).Mul(bigLog2(ax), bf(y))
		if f, _ := e.Float64(); math.Abs(f) >= 5000 {
			r = math.Pow(ax, y)
		} else {
			r = bigExp2(e)
		}
	}
	if x < 0 && math.Mod(y, 2) != 0 {
		r = -r
	}
	return r
}

// longPi is π to more bits than reducing any float64 takes.
var longPi = sync.OnceValue(func() *big.Float { return bigPi(1100 + 64 + workPrec) })

// bigPi is π to prec bits, by Machin's formula.
func bigPi(prec uint) *big.Float {
	atan := func(q int64) *big.Float {
		z := newBig(prec+32).Quo(newBig(prec+32).SetInt64(1), newBig(prec+32).SetInt64(q))
		zz := newBig(prec+32).Mul(z, z)
		sum, pow := newBig(prec+32).Set(z), z
		for k := int64(3); ; k += 2 {
			pow.Mul(pow, zz).Neg(pow)
			t := newBig(prec+32).Quo(pow, newBig(prec+32).SetInt64(k))
			if t.MantExp(nil) < -int(prec)-32 {
				return sum
			}
			sum.Add(sum, t)
		}
	}
	a, b := atan(5), atan(239)
	a.Mul(a, newBig(64).SetInt64(16))
	return a.Sub(a, b.Mul(b, newBig(64).SetInt64(4)))
}

func exactExp(x float64) float64 {
	if !(math.Abs(x) < 3000) {
		return math.Exp(x)
	}
	return bigExp2(newBig(workPrec).Quo(bf(x), bigLn2()))
}

func exactSin(x float64) float64 {
	if x == 0 || x != x || math.IsInf(x, 0) {
		return math.Sin(x)
	}
	return sinPlus(x, 0)
}

func exactCos(x float64) float64 {
	if x == 0 || x != x || math.IsInf(x, 0) {
		return math.Cos(x)
	}
	return sinPlus(x, 0.5)
}

// sinPlus is sin(x + turns π) for a finite x.
func sinPlus(x, turns float64) float64 {
	_, e := math.Frexp(x)
	prec := uint(workPrec + max(e, 0) + 64)
	pi := newBig(prec).Set(longPi())
	// With y = x + turns π, sin(y) = (-1)^n sin(y - n π).
	y := newBig(prec).Mul(newBig(prec).SetFloat64(turns), pi)
	y.Add(y, newBig(prec).SetFloat64(x))
	q := newBig(prec).Quo(y, pi)
	n, _ := q.Add(q, newBig(prec).SetFloat64(math.Copysign(0.5, x))).Int(nil)
	r := newBig(prec).Sub(y, newBig(prec).Mul(newBig(prec).SetInt(n), pi))
	rr := newBig(prec).Mul(r, r)
	sum, term := newBig(prec).Set(r), newBig(prec).Set(r)
	for k := int64(2); term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-workPrec; k += 2 {
		term.Mul(term, rr).Quo(term, newBig(prec).SetInt64(k*(k+1))).Neg(term)
		sum.Add(sum, term)
	}
	if n.Bit(0) == 1 {
		sum.Neg(sum)
	}
	v, _ := sum.Float64()
	return v
}
