package x64

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// The multiplications give the quotients of division, at the ends of each quotient's range.
func TestMagic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		d := r.Uint64() >> r.UintN(63)
		if d&(d-1) == 0 {
			continue
		}
		for _, q := range []uint64{0, 1, r.Uint64() / d, ^uint64(0) / d} {
			for _, a := range []uint64{q * d, q*d + d - 1, q*d - 1} {
				m := unsignedMagic(d, 64)
				hi, _ := bits.Mul64(a, m.by)
				if got := (hi + (a-hi)/2) >> m.shift; got != a/d {
					t.Fatalf("%d/%d: got %d, expected %d", a, d, got, a/d)
				}
				if d >= 1<<63 {
					continue
				}
				s := int64(a)
				m = signedMagic(d, 64)
				hi, _ = bits.Mul64(a, m.by)
				if s < 0 {
					hi -= m.by
				}
				if int64(m.by) < 0 {
					hi -= a
				}
				got := (int64(hi) + s) >> m.shift
				if s < 0 {
					got++
				}
				if got != s/int64(d) {
					t.Fatalf("%d/%d: got %d, expected %d", s, d, got, s/int64(d))
				}
			}
		}
	}
}
