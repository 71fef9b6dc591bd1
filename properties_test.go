package polygrad

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// matrix are the elements of a matrix, in row-major order.
type matrix struct {
	rows, columns int
	elements      []float64
}

// along gives the places of the elements along an axis, for each place on the other one.
func (m matrix) along(axis int) [][]int {
	lines := make([][]int, []int{m.columns, m.rows}[axis])
	for i := range m.rows {
		for j := range m.columns {
			k := []int{j, i}[axis]
			lines[k] = append(lines[k], i*m.columns+j)
		}
	}
	return lines
}

// Sorts, scattered values and running reductions, with equal elements, NaN, infinities and axes of 0 and 1, equal loops on each device.
func TestOrderAndPlacesOnEachDevice(t *testing.T) {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}
	for _, device := range devices(t) {
		r := rand.New(rand.NewPCG(7, 15))
		for range 12 {
			sizes := []int{0, 1, 1, 2, 5, 40}
			m := matrix{rows: sizes[r.IntN(len(sizes))], columns: sizes[r.IntN(len(sizes))]}
			for range m.rows * m.columns {
				v := float64(r.IntN(9)-4) / 2
				if r.IntN(8) == 0 {
					v = odd[r.IntN(len(odd))]
				}
				m.elements = append(m.elements, v)
			}
			axis, down := r.IntN(2), r.IntN(2) == 0
			what := fmt.Sprintf("%s, %d by %d, axis %d, down %v", device.name, m.rows, m.columns, axis, down)
			x := FromIn(device.c, m.elements, m.rows, m.columns)

			// The order is that of a stable sort; NaN is the greatest.
			sorted, order := slices.Clone(m.elements), make([]int32, len(m.elements))
			sums, most := slices.Clone(m.elements), slices.Clone(m.elements)
			for _, line := range m.along(axis) {
				by := make([]int, len(line))
				for i := range by {
					by[i] = i
				}
				slices.SortStableFunc(by, func(i, j int) int {
					a, b := m.elements[line[i]], m.elements[line[j]]
					up := cmp.Compare(a, b)
					if a != a || b != b { // in package cmp NaN is the least
						up = -up
					}
					if down {
						return -up
					}
					return up
				})
				for i, j := range by {
					sorted[line[i]], order[line[i]] = m.elements[line[j]], int32(j)
					if i > 0 {
						sums[line[i]] += sums[line[i-1]]
						most[line[i]] = max(most[line[i]], most[line[i-1]])
					}
				}
			}
			values, at := x.Sort(WithDim(axis), WithDescending(down))
			equal(t, what+": sort", values, sorted)
			equal(t, what+": places", at, order)
			equal(t, what+": cumsum", x.CumSum(WithAxis(axis)), sums)
			greatest, _ := x.CumMax(WithAxis(axis))
			equal(t, what+": cummax", greatest, most)

			// Several values for one place; none where there are no positions.
			length := []int{m.rows, m.columns}[axis]
			if length == 0 {
				continue
			}
			places := make([]int32, len(m.elements))
			for i := range places {
				places[i] = int32(r.IntN(min(length, 3)))
			}
			last, added, greater := make([]float64, len(places)), make([]float64, len(places)), make([]float64, len(places))
			for _, line := range m.along(axis) {
				for _, from := range line {
					to := line[places[from]]
					last[to] = m.elements[from]
					added[to] += m.elements[from]
					greater[to] = max(greater[to], m.elements[from])
				}
			}
			zeros, index := FromIn(device.c, make([]float64, len(places)), m.rows, m.columns), FromIn(device.c, places, m.rows, m.columns)
			equal(t, what+": scatter", zeros.Scatter(axis, index, x), last)
			equal(t, what+": scattered sums", zeros.ScatterReduce(axis, index, x, "sum"), added)
			equal(t, what+": scattered maxima", zeros.ScatterReduce(axis, index, x, "amax"), greater)
		}
	}
}

// Factors of matrices give the matrix again, on each device, up to 10 units in the last place for each row.
func TestFactorsOnEachDevice(t *testing.T) {
	for _, device := range devices(t) {
		r := rand.New(rand.NewPCG(7, 16))
		for _, n := range []int{1, 2, 5, 12} {
			elements := make([]float64, n*n)
			for i := range elements {
				elements[i] = r.NormFloat64()
			}
			for _, dt := range []DType{Float32, Float64} {
				a := FromIn(device.c, elements, n, n).Cast(dt)
				eps := map[DType]float64{Float32: 0x1p-23, Float64: 0x1p-52}[dt]
				near := func(name string, got, want *Tensor) {
					t.Helper()
					off, scale := got.Sub(want).Abs().Max(), want.Square().Sum().Sqrt()
					far, err := Values[float64](off.Div(scale).Cast(Float64))
					if err != nil {
						t.Fatal(err)
					}
					if !(far[0] <= 10*eps*float64(n)) {
						t.Errorf("%s, %s, %d rows: %s differ by %g of the norm", device.name, dt, n, name, far[0])
					}
				}
				positive := a.MatMul(a.Transpose()).Add(device.c.Eye(n, WithDType(dt)))
				l := positive.Cholesky()
				near("a and LLᵀ", l.MatMul(l.Transpose()), positive)
				q, upper := a.QR()
				near("a and QR", q.MatMul(upper), a)
				near("QᵀQ and I", q.Transpose().MatMul(q), device.c.Eye(n, WithDType(dt)))
				u, s, v := a.SVD()
				near("a and USVᵀ", u.Mul(s).MatMul(v), a)
			}
		}
	}
}

type namedContext struct {
	name string
	c    *Context
}

// devices are contexts of the devices that compute here.
func devices(t *testing.T) []namedContext {
	var all []namedContext
	for _, name := range []string{"", "wasm", "interp"} {
		c, err := NewContext(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "" {
			name = "default"
		}
		all = append(all, namedContext{name, c})
	}
	return all
}

// equal compares elements; NaN equals NaN.
func equal[T Element](t *testing.T, what string, x *Tensor, want []T) {
	t.Helper()
	got, err := Values[T](x)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !slices.EqualFunc(got, want, func(a, b T) bool { return a == b || a != a && b != b }) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
