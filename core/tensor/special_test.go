package tensor_test

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// special are the functions of testdata/special.tsv, which mpmath computed: float32 within limit units of the last
// place; float64 within 2e-15 of the value, or, where a difference is near its zero, absolutely: terms is the size
// of what was subtracted there.
var special = map[string]struct {
	f     func(*uop.UOp) (*uop.UOp, error)
	limit float64
	terms func(x float64) float64
}{
	"erf":     {tensor.Erf, 4, nil},
	"erfc":    {tensor.Erfc, 1, nil},
	"erfinv":  {tensor.Erfinv, 3, nil},
	"ndtri":   {tensor.Ndtri, 3, nil},
	"lgamma":  {tensor.Lgamma, 1, func(x float64) float64 { return 1 + math.Abs(lgammaRef(math.Abs(x))) }},
	"digamma": {tensor.Digamma, 1, func(x float64) float64 { return math.Log(2 + math.Abs(x)) }},
}

type point struct{ x, y float64 }

func specialPoints(t *testing.T) map[string][]point {
	t.Helper()
	f, err := os.Open("testdata/special.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	points := map[string][]point{}
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Split(s.Text(), "\t")
		x, errX := strconv.ParseFloat(fields[1], 64)
		y, errY := strconv.ParseFloat(fields[2], 64)
		if errX != nil || errY != nil {
			t.Fatal(s.Text(), errX, errY)
		}
		points[fields[0]] = append(points[fields[0]], point{x, y})
	}
	return points
}

func TestSpecialFunctions(t *testing.T) {
	points := specialPoints(t)
	onDevices(t, func(l *lab) {
		for name, c := range special {
			if len(points[name]) < 100 {
				l.t.Fatalf("%s: %d points", name, len(points[name]))
			}
			for _, dt := range []*uop.DType{uop.Float32, uop.Float64} {
				var xs, want []float64
				for _, p := range points[name] {
					if uop.RoundTo(dt, p.x) == p.x {
						xs, want = append(xs, p.x), append(want, uop.RoundTo(dt, p.y))
					}
				}
				got := l.values(l.tensor(dt, xs, int64(len(xs))).do(c.f))
				for i, x := range xs {
					w := want[i]
					if got[i] == w || got[i] != got[i] && w != w {
						continue
					}
					limit := c.limit * lastPlace(dt, w)
					if dt == uop.Float64 {
						limit = 2e-15 * math.Abs(w)
						if c.terms != nil && x < 0 {
							limit += 2e-15 * c.terms(x)
						}
					}
					if d := math.Abs(got[i] - w); !(d <= limit) || math.IsInf(w, 0) {
						l.t.Errorf("%s %s(%v) = %v, need %v: off by %.3g, %.3g allowed", dt, name, x, got[i], w, d, limit)
					}
				}
			}
		}
	})
}
