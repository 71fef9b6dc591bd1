package interp

import (
	"math"
	"math/rand/v2"
	"polygrad/core/nest/ir"
	"testing"
)

// TestPowers tries powers of F32 all over the range of results, where exp2(y*log2(x)) is off by more than a hundred units.
func TestPowers(t *testing.T) {
	const lanes, n = 1024, 256 << 10
	rng := rand.New(rand.NewPCG(7, 8))
	bases, exponents := newMemory(ir.F32, n), newMemory(ir.F32, n)
	inf := math.Inf(1)
	special := [][2]float64{
		{0, 2}, {0, -2}, {inf, 3}, {inf, -0.5}, {2, inf}, {2, -inf}, {0.5, inf}, {0.5, -inf}, {0x1p-149, 0.5}, {0x1p-149, -0.8}, {0x1p-126, 1},
		{1, 7}, {1, 0}, {5, 0}, {math.MaxFloat32, 1}, {math.MaxFloat32, 2}, {2, -149}, {2, -151}, {2, 127}, {2, 128}, {3, 4}, {10, 10}, {math.NaN(), 2},
		{math.Copysign(0, -1), 0.5}, {math.Copysign(0, -1), -2}, {2, math.NaN()}, {-2, 3}, {1.0000001, 1e9}, {0.99999994, 2e9},
	}
	for i := range n {
		x := math.Exp2(rng.Float64()*252 - 126)
		if i%2 == 0 {
			x = 0.5 + 1.5*rng.Float64()
		}
		y := (rng.Float64()*280 - 150) / math.Log2(x)
		if i < len(special) {
			x, y = special[i][0], special[i][1]
		}
		bases.put(i, ir.OfF32(float32(x)))
		exponents.put(i, ir.OfF32(float32(y)))
	}
	for _, m := range []ir.Machine{ir.AVX512, ir.AVX2} { // others have no fused multiply-add
		t.Run(m.Name, func(t *testing.T) {
			worst, at, power := 0.0, 0.0, 0.0
			for _, first := range []bool{false, true} {
				got := elementwise(t, m, lanes, n, ir.F32, []memory{bases, exponents}, func(b *ir.Builder, a []*ir.Value) *ir.Value {
					log := b.ALU(ir.Log2, ir.F32, a[0])
					if first {
						return b.ALU(ir.Exp2, ir.F32, b.ALU(ir.Mul, ir.F32, log, a[1]))
					}
					return b.ALU(ir.Exp2, ir.F32, b.ALU(ir.Mul, ir.F32, a[1], log))
				})
				for i := range n {
					x, y := ir.WidenF32(bases.get(i)), ir.WidenF32(exponents.get(i))
					want := math.Pow(x, y)
					if x < 0 {
						want = math.NaN()
					}
					if e := ulps(ir.F32, got.get(i), want); e > worst {
						worst, at, power = e, x, y
					}
				}
			}
			t.Logf("%v to the power of %v", at, power)
			report(t, worst, at, [2]float64{2.1, 2.1}, m)
		})
	}
}
