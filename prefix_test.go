package polygrad

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Running reductions of any length and axis equal loops in float64, and so do their gradients: rows that are cut into parts,
// in parts of equal and of different length, and rows side by side.
func TestPrefixes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][]int{{1}, {5}, {3, 7}, {7, 3}, {2, 3, 4}, {150, 1}, {4096}, {4099}, {3, 5000}, {5000, 3}, {65, 70}, {2, 4999, 2}} {
		for axis := range shape {
			n := 1
			for _, d := range shape {
				n *= d
			}
			x, g := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i], g[i] = 1+0.01*r.NormFloat64(), r.NormFloat64()
			}
			for name, f := range map[string]struct {
				op   func(*Tensor) *Tensor
				step func(before, x float64, first bool) float64
				// back is the gradient of a step: what it passes on to x, and to the value before.
				back func(y, before, x, g float64, first bool) (toX, toBefore float64)
			}{
				"CumSum": {func(v *Tensor) *Tensor { return v.CumSum(WithAxis(axis)) },
					func(b, x float64, first bool) float64 { return b + x },
					func(y, b, x, g float64, first bool) (float64, float64) { return g, g }},
				"CumProd": {func(v *Tensor) *Tensor { return v.CumProd(WithAxis(axis)) },
					func(b, x float64, first bool) float64 {
						if first {
							return x
						}
						return b * x
					},
					func(y, b, x, g float64, first bool) (float64, float64) {
						if first {
							return g, 0
						}
						return g * b, g * x
					}},
				"LogCumSumExp": {func(v *Tensor) *Tensor { return v.LogCumSumExp(WithAxis(axis)) },
					func(b, x float64, first bool) float64 {
						if first {
							return x
						}
						return math.Log(math.Exp(b) + math.Exp(x))
					},
					func(y, b, x, g float64, first bool) (float64, float64) {
						if first {
							return g, 0
						}
						return g * math.Exp(x-y), g * math.Exp(b-y)
					}},
			} {
				v := From(x, shape...).SetRequiresGrad(true)
				y := f.op(v)
				y.Mul(From(g, shape...)).Sum().Backward()
				got, err := Values[float64](y)
				if err != nil {
					t.Fatal(name, shape, axis, err)
				}
				grad, err := Values[float64](v.Grad())
				if err != nil {
					t.Fatal(name, shape, axis, err)
				}
				want, wantGrad := make([]float64, n), make([]float64, n)
				inner := 1
				for _, d := range shape[axis+1:] {
					inner *= d
				}
				long := shape[axis]
				for row := range n / long {
					at := func(k int) int { return row/inner*inner*long + row%inner + k*inner }
					before := 0.0
					for k := range long {
						before = f.step(before, x[at(k)], k == 0)
						want[at(k)] = before
					}
					carried := 0.0
					for k := long - 1; k >= 0; k-- {
						b := 0.0
						if k > 0 {
							b = want[at(k-1)]
						}
						wantGrad[at(k)], carried = f.back(want[at(k)], b, x[at(k)], g[at(k)]+carried, k == 0)
					}
				}
				for i := range want {
					if d := math.Abs(got[i] - want[i]); !(d <= 1e-9*(1+math.Abs(want[i]))) {
						t.Fatalf("%s of %v along %d: element %d is %v, want %v", name, shape, axis, i, got[i], want[i])
					}
					if d := math.Abs(grad[i] - wantGrad[i]); !(d <= 1e-8*(1+math.Abs(wantGrad[i]))) {
						t.Fatalf("gradient of %s of %v along %d: element %d is %v, want %v", name, shape, axis, i, grad[i], wantGrad[i])
					}
				}
			}
		}
	}
}

// Running sums and maxima of numbers from 0 to 2 are exact in every type, forwards and backwards.
func TestPrefixesOfTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, dt := range []DType{Bool, Int8, Uint8, Int16, Uint16, Int32, Uint32, Int64, Uint64, Float16, BFloat16, Float32, Float64} {
		most := 3
		if dt == Bool {
			most = 2
		}
		for _, shape := range [][]int{{3, 7}, {2, 64}, {5, 101}, {1, 40}, {70, 33}} {
			rows, n := shape[0], shape[1]
			x := make([]float64, rows*n)
			for i := range x {
				x[i] = float64(r.IntN(most))
			}
			for _, backwards := range []bool{false, true} {
				v := From(x, rows, n).Cast(dt)
				if backwards {
					v = v.Flip(1)
				}
				sums := v.CumSum(WithAxis(1))
				maxima, _ := v.CumMax(WithAxis(1))
				if backwards {
					sums, maxima = sums.Flip(1), maxima.Flip(1)
				}
				gotSums, err := Values[float64](sums.Cast(Float64))
				if err != nil {
					t.Fatal(dt, shape, err)
				}
				gotMaxima, err := Values[float64](maxima.Cast(Float64))
				if err != nil {
					t.Fatal(dt, shape, err)
				}
				for row := range rows {
					sum, most := 0.0, 0.0
					for k := range n {
						i := row*n + k
						if backwards {
							i = row*n + n - 1 - k
						}
						sum, most = sum+x[i], max(most, x[i])
						if gotSums[i] != sum || gotMaxima[i] != most {
							t.Fatalf("%s %v, backwards %v: element %d is %v and %v, want %v and %v", dt, shape, backwards, i, gotSums[i], gotMaxima[i], sum, most)
						}
					}
				}
			}
		}
	}
}

// The mean of integers does not wrap, though their sum in 32 bits would.
func TestMeanOfManyIntegers(t *testing.T) {
	x := make([]int32, 100_000)
	for i := range x {
		x[i] = 1 << 20
	}
	if m, err := From(x).Mean().Item(); err != nil || m != 1<<20 {
		t.Errorf("mean of 2^20 is %v, %v", m, err)
	}
}
