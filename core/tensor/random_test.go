package tensor_test

import (
	"math"
	"math/bits"
	"testing"

	"polygrad/core/symbolic"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// threefry is THREEFRY2x32 with 20 rounds, as the contract of the generator spells it.
func threefry(i uint32, seed uint64) uint32 {
	key := uint32(seed) ^ bits.RotateLeft32(uint32(seed>>32), 16)
	ks := [3]uint32{0, key ^ 0x1BD11BDA, key}
	rot := [2][4]int{{13, 15, 26, 6}, {17, 29, 16, 24}}
	x0, x1 := i+ks[2], ks[0]
	for r := range 5 {
		for _, n := range rot[r%2] {
			x0 += x1
			x1 = bits.RotateLeft32(x1, n) ^ x0
		}
		x0 += ks[r%3]
		x1 += ks[(r+1)%3] + uint32(r) + 1
	}
	return x0
}

func uniform(i int, seed uint64) float32 {
	return float32(threefry(uint32(i), seed)>>8) * (1.0 / (1 << 24))
}

// logOf is the natural logarithm with the steps that the contract prescribes, each rounded to float32.
func logOf(d float32) float32 {
	tiny := d < 1e-4
	a := d
	if tiny {
		a *= 1 << 64
	}
	e := int(math.Float32bits(float32(a*float32(1/0.75)))>>23&0xFF) - 127
	m := a * math.Float32frombits(uint32(127-e)<<23)
	ef := float32(e)
	if tiny {
		ef -= 64
	}
	x := (m - 1) / (m + 1)
	x2 := x * x
	t := float32(float32(float32(float32(0.4374550283)*x2)+float32(0.5764790177))*x2) + float32(0.9618012905120)
	r := float32(t*float32(x*x2)) + ef
	r += float32(x * 2.8853900432586669922)
	r += float32(x * 3.2734474483568488616e-08)
	return r * float32(math.Ln2)
}

func sinOf(v float32) float32 {
	s, a := float32(1), v
	if v < 0 {
		s, a = -1, -v
	} else if v == 0 {
		s = 0
	}
	n := int32(float32(a*float32(1/math.Pi)) + 0.5)
	q := float32(n)
	d := float32(q*-3.1414794921875) + a
	d = float32(q*-0.00011315941810607910156) + d
	d = float32(q*-1.9841872589410058936e-09) + d
	d = float32(q*-1.2154201256553420762e-10) + d
	z := d * d
	p := float32(2.6083159809786593541503e-06)
	for _, c := range []float32{-0.0001981069071916663322258, 0.00833307858556509017944336, -0.166666597127914428710938, 1} {
		p = float32(p*z) + c
	}
	r := d * p
	if n&1 == 1 {
		r = -r
	}
	return r * s
}

func normal(i int, seed uint64) float32 {
	u1, u2 := uniform(i, seed), uniform(i, seed^0x9E3779B97F4A7C15)
	radius := float32(math.Sqrt(float64(float32(logOf(max(u1, 1e-7)) * -2))))
	return radius * sinOf(float32(math.Pi/2)-float32(u2*float32(2*math.Pi)))
}

func TestThreefryReference(t *testing.T) {
	for i, want := range []uint32{3732534457, 646961260, 2234760234, 1073472746} {
		if got := threefry(uint32(i), 42); got != want {
			t.Errorf("bits %d of seed 42: %d, need %d", i, got, want)
		}
	}
	for i, want := range []float32{0.86904836, 0.15063238, 0.52032065} {
		if got := uniform(i, 42); got != want {
			t.Errorf("value %d of seed 42: %v, need %v", i, got, want)
		}
	}
}

// The random numbers are the same bits on every device.
func TestRandomBits(t *testing.T) {
	const n = 5000
	for _, device := range []string{"wasm"} {
		for _, seed := range []uint64{0, 42, 1 << 40, math.MaxUint64} {
			l := newLab(t, device)
			u := l.values(must(tensor.Rand(l.g, uop.ShapeOf(n/50, 50), seed)))
			z := l.values(must(tensor.Randn(l.g, uop.ShapeOf(n), seed)))
			halves := T{bind(l, uop.Uint32, []uint32{uint32(seed), uint32(seed >> 32)})}
			us := l.values(must(tensor.RandSeeded(uop.ShapeOf(n), uop.Float32, halves.UOp)))
			zs := l.values(must(tensor.RandnSeeded(uop.ShapeOf(n), halves.UOp)))
			for i := range n {
				if us[i] != u[i] || zs[i] != z[i] {
					t.Fatalf("%s: value %d of seed %d is %v, %v with the seed in a tensor, %v, %v without", device, i, seed, us[i], zs[i], u[i], z[i])
				}
				if want := float64(uniform(i, seed)); u[i] != want {
					t.Fatalf("%s: rand %d of seed %d is %v, need %v", device, i, seed, u[i], want)
				}
				if want := float64(normal(i, seed)); z[i] != want {
					t.Fatalf("%s: randn %d of seed %d is %v, need %v", device, i, seed, z[i], want)
				}
			}
		}
	}
}

func TestRandomDistributions(t *testing.T) {
	const n = 20000
	l := newLab(t, "interp")
	for _, c := range []struct {
		name      string
		x         T
		lo, hi    float64
		mean, std float64
	}{
		{"rand", must(tensor.Rand(l.g, uop.ShapeOf(n), 7)), 0, 1, 0.5, math.Sqrt(1.0 / 12)},
		{"randn", must(tensor.Randn(l.g, uop.ShapeOf(n), 7)), -7, 7, 0, 1},
		{"randint", must(tensor.RandInt(l.g, uop.ShapeOf(n), -3, 5, uop.Int32, 7)), -3, 4, 0.5, math.Sqrt(63.0 / 12)},
		{"randint wide", must(tensor.RandInt(l.g, uop.ShapeOf(n), -1<<30, 1<<30, uop.Int64, 7)), -1 << 30, 1 << 30, 0, math.Sqrt(1.0/12) * (1 << 31)},
		{"dropout", must(tensor.Dropout(must(tensor.Full(l.g, uop.ShapeOf(n), uop.Float(1), uop.Float32)).UOp, 0.25, 7)), 0, 4.0 / 3, 1, math.Sqrt(1.0 / 3)},
	} {
		sum, sq := 0.0, 0.0
		for _, v := range l.values(c.x) {
			if v < c.lo || v > c.hi+1e-6 {
				t.Fatalf("%s: %v is outside of %v..%v", c.name, v, c.lo, c.hi)
			}
			sum += v
			sq += (v - c.mean) * (v - c.mean)
		}
		if m := sum / n; math.Abs(m-c.mean) > 5*c.std/math.Sqrt(n) {
			t.Errorf("%s: the mean is %v, need %v", c.name, m, c.mean)
		}
		if s := math.Sqrt(sq / n); math.Abs(s-c.std) > 0.03*c.std {
			t.Errorf("%s: the standard deviation is %v, need %v", c.name, s, c.std)
		}
	}
}

// What uses each random number several times, like matmul, must not make it each time.
func TestRandomTensorsAreComputedOnce(t *testing.T) {
	g := symbolic.NewGraph()
	shape := uop.ShapeOf(4, 4)
	for _, c := range []struct {
		name string
		x    T
	}{
		{"rand", must(tensor.Rand(g, shape, 7))},
		{"randn", must(tensor.Randn(g, shape, 7))},
		{"randint", must(tensor.RandInt(g, shape, 0, 9, uop.Int32, 7))},
	} {
		if c.x.Op != uop.Contiguous {
			t.Errorf("%s: %s, expected a tensor that is computed on its own", c.name, c.x.Op)
		}
	}
}
