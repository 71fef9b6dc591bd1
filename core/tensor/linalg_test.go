package tensor_test

import (
	"math"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/tests/part"
)

// product multiplies stacks of matrices.
func (a array) product(b array) array {
	n := len(a.shape)
	m, k, p := a.shape[n-2], a.shape[n-1], b.shape[n-1]
	shape := append(append([]int64(nil), a.shape[:n-1]...), p)
	return build(func(idx []int64) float64 {
		i, j := append([]int64(nil), idx...), append([]int64(nil), idx...)
		sum := 0.0
		for l := range k {
			i[n-1], j[n-2] = l, l
			sum += a.at(i...) * b.at(j...)
		}
		return sum
	}, append(shape[:n-2:n-2], m, p)...)
}

// transposed swaps the last two axes.
func (a array) transposed() array {
	n := len(a.shape)
	shape := append([]int64(nil), a.shape...)
	shape[n-2], shape[n-1] = shape[n-1], shape[n-2]
	return build(func(idx []int64) float64 {
		i := append([]int64(nil), idx...)
		i[n-2], i[n-1] = i[n-1], i[n-2]
		return a.at(i...)
	}, shape...)
}

func identity(shape ...int64) array {
	n := len(shape)
	return build(func(idx []int64) float64 {
		if idx[n-2] == idx[n-1] {
			return 1
		}
		return 0
	}, shape...)
}

// matrices are square ones that need their rows exchanged: the diagonal is 0.
func matrices(seed int, shape ...int64) array {
	n := len(shape)
	a := random(uop.Float64, -1, 1, seed, shape...)
	a.each(func(idx []int64) {
		if idx[n-2] == idx[n-1] {
			a.v[a.offset(idx)] = 0
		}
	})
	return a
}

func TestSolve(t *testing.T) {
	l := newLab(t, "wasm")
	for _, n := range []int64{1, 2, 5, 9} {
		a := matrices(int(n), 3, n, n)
		if n == 1 {
			a = random(uop.Float64, 1, 2, 1, 3, 1, 1)
		}
		b := random(uop.Float64, -1, 1, 7, 3, n, 2)
		x := array{b.shape, l.values(must(tensor.Solve(a.tensor(l, uop.Float64).UOp, b.tensor(l, uop.Float64).UOp)))}
		l.close("a x", a.product(x), b, 1e-9)
		inv := array{a.shape, l.values(must(tensor.Inv(a.tensor(l, uop.Float64).UOp)))}
		l.close("a inv", a.product(inv), identity(3, n, n), 1e-9)
	}
	// A stack of vectors, and one right side for all matrices.
	a := matrices(11, 2, 4, 4)
	v := random(uop.Float64, -1, 1, 12, 2, 4)
	x := must(tensor.Solve(a.tensor(l, uop.Float64).UOp, v.tensor(l, uop.Float64).UOp))
	l.close("vectors", a.product(array{[]int64{2, 4, 1}, l.values(x)}), array{[]int64{2, 4, 1}, v.v}, 1e-9)
	b := random(uop.Float64, -1, 1, 13, 4, 3)
	x = must(tensor.Solve(a.tensor(l, uop.Float64).UOp, b.tensor(l, uop.Float64).UOp))
	l.close("shared", a.product(array{[]int64{2, 4, 3}, l.values(x)}), build(func(i []int64) float64 { return b.at(i[1:]...) }, 2, 4, 3), 1e-9)
}

func (l *lab) close(name string, got, want array, tol float64) {
	l.t.Helper()
	if !uop.ShapeOf(got.shape...).Equal(uop.ShapeOf(want.shape...)) {
		l.t.Fatalf("%s: shape %v, want %v", name, got.shape, want.shape)
	}
	for i, v := range got.v {
		if !(math.Abs(v-want.v[i]) <= tol) {
			l.t.Fatalf("%s: element %d is %v, want %v", name, i, v, want.v[i])
		}
	}
}

// determinant expands by the first row.
func determinant(a [][]float64) float64 {
	if len(a) == 0 {
		return 1
	}
	d, sign := 0.0, 1.0
	for j := range a {
		var minor [][]float64
		for _, row := range a[1:] {
			minor = append(minor, append(append([]float64(nil), row[:j]...), row[j+1:]...))
		}
		d += sign * a[0][j] * determinant(minor)
		sign = -sign
	}
	return d
}

func TestDet(t *testing.T) {
	l := newLab(t, "wasm")
	for _, n := range []int64{1, 2, 3, 6} {
		a := random(uop.Float64, -2, 2, 20+int(n), 4, n, n)
		for j := range n { // the last matrix is singular
			a.v[a.offset([]int64{3, n - 1, j})] = 0
			if n > 1 {
				a.v[a.offset([]int64{3, n - 1, j})] = 2 * a.at(3, 0, j)
			}
		}
		want := build(func(i []int64) float64 {
			rows := make([][]float64, n)
			for r := range rows {
				rows[r] = a.v[a.offset([]int64{i[0], int64(r), 0}):][:n]
			}
			return determinant(rows)
		}, 4)
		x := a.tensor(l, uop.Float64).UOp
		l.close("det", array{[]int64{4}, l.values(must(tensor.Det(x)))}, want, 1e-12*math.Pow(4, float64(n)))
		sign, logs := must2(tensor.SlogDet(x))
		s, g := l.values(sign), l.values(logs)
		for i := range 3 {
			if v := s[i] * math.Exp(g[i]); math.Abs(v-want.v[i]) > 1e-11*math.Pow(4, float64(n)) {
				t.Fatalf("slogdet %d: %v exp(%v), want %v", n, s[i], g[i], want.v[i])
			}
		}
		if n == 1 && !(s[3] == 0 && math.IsInf(g[3], -1)) {
			t.Errorf("slogdet of 0: %v, %v", s[3], g[3])
		}
	}
}

func TestQR(t *testing.T) {
	l := newLab(t, "wasm")
	for _, s := range [][]int64{{4, 4}, {2, 5, 3}, {3, 5}, {1, 1}, {1, 3}, {3, 1}} {
		a := random(uop.Float64, -1, 1, 30+len(s), s...)
		q, r := must2(tensor.QR(a.tensor(l, uop.Float64).UOp))
		n := len(s)
		qs := append(append([]int64(nil), s[:n-1]...), s[n-2])
		qa, ra := array{qs, l.values(q)}, array{s, l.values(r)}
		l.close("q r", qa.product(ra), a, 1e-12)
		l.close("qᵀ q", qa.transposed().product(qa), identity(qs...), 1e-12)
		ra.each(func(i []int64) {
			if i[n-2] > i[n-1] && ra.at(i...) != 0 {
				t.Errorf("r is not triangular at %v", i)
			}
		})
	}
	// QR leaves the identity exactly as it is, and columns of 0 do no harm.
	q, r := must2(tensor.QR(identity(3, 3).tensor(l, uop.Float64).UOp))
	l.close("q of I", array{[]int64{3, 3}, l.values(q)}, identity(3, 3), 0)
	l.close("r of I", array{[]int64{3, 3}, l.values(r)}, identity(3, 3), 0)
}

func TestSVD(t *testing.T) {
	l := newLab(t, "wasm")
	for _, s := range [][]int64{{1, 1}, {2, 2}, {4, 4}, {2, 5, 3}, {3, 7}} {
		for _, full := range []bool{false, true} {
			a := random(uop.Float64, -1, 1, 40+len(s), s...)
			n := len(s)
			k := min(s[n-2], s[n-1])
			u, sv, vt, err := tensor.SVD(a.tensor(l, uop.Float64).UOp, full)
			if err != nil {
				t.Fatal(err)
			}
			ints := func(x *uop.UOp) []int64 { d, _ := x.Shape().Ints(); return d }
			ua, sa, va := array{ints(u), l.values(T{u})}, array{ints(sv), l.values(T{sv})}, array{ints(vt), l.values(T{vt})}
			scaled := build(func(i []int64) float64 {
				return ua.at(i...) * sa.at(append(append([]int64(nil), i[:n-2]...), i[n-1])...)
			}, append(append([]int64(nil), s[:n-1]...), k)...)
			rows := build(func(i []int64) float64 { return va.at(i...) }, append(append([]int64(nil), s[:n-2]...), k, s[n-1])...)
			l.close("u s vt", scaled.product(rows), a, 1e-10)
			uu := ua.transposed().product(ua)
			l.close("uᵀ u", uu, identity(uu.shape...), 1e-10)
			vv := va.product(va.transposed())
			l.close("v vᵀ", vv, identity(vv.shape...), 1e-10)
			sa.each(func(i []int64) {
				if j := i[len(i)-1]; sa.at(i...) < 0 || j > 0 && sa.at(append(append([]int64(nil), i[:len(i)-1]...), j-1)...) < sa.at(i...) {
					t.Errorf("singular values %v are not in order", sa.v)
				}
			})
		}
	}
}

func TestNewtonSchulz(t *testing.T) {
	l := newLab(t, "wasm")
	a := random(uop.Float64, -1, 1, 50, 4, 3)
	r := must(tensor.NewtonSchulz(a.tensor(l, uop.Float64).UOp, 30, []float64{1.5, -0.5}, 1e-12))
	ra := array{a.shape, l.values(r)}
	l.close("orthogonal", ra.transposed().product(ra), identity(3, 3), 1e-9)
}

// positive are symmetric positive definite matrices made of square ones.
func positive(x T) *uop.UOp {
	n := x.Shape()[len(x.Shape())-1].N
	t := must(tensor.Transpose(x.UOp, -1, -2))
	return must(tensor.Add(must(tensor.MatMul(x.UOp, t.UOp)).UOp, must(tensor.Eye(x.Graph(), n, n, x.DType)).UOp)).UOp
}

// residuals are the greatest errors of the decompositions of matrices, relative to their greatest element.
func (l *lab) residuals(a array, dt *uop.DType) map[string]float64 {
	n := len(a.shape)
	x := a.tensor(l, dt).UOp
	of := func(t T) array {
		shape, _ := t.Shape().Ints()
		return array{shape, l.values(t)}
	}
	largest := 0.0
	for _, v := range a.v {
		largest = max(largest, math.Abs(v))
	}
	out := map[string]float64{}
	note := func(name string, got, want array) {
		l.t.Helper()
		if len(got.v) != len(want.v) {
			l.t.Fatalf("%s of %v: %v", name, a.shape, got.shape)
		}
		worst := 0.0
		for i, v := range got.v {
			if d := math.Abs(v - want.v[i]); !(d <= worst) {
				worst = d
			}
		}
		out[name] = worst / largest
	}
	unit := func(name string, q array) {
		p := q.transposed().product(q)
		for i := range p.v {
			p.v[i] *= largest
		}
		note(name, p, build(func(i []int64) float64 { return largest * identity(p.shape...).at(i...) }, p.shape...))
	}
	q, r := must2(tensor.QR(x))
	note("q r", of(q).product(of(r)), a)
	unit("q", of(q))
	if a.shape[n-1] == a.shape[n-2] {
		p := of(T{positive(T{x})})
		c := of(must(tensor.Cholesky(p.tensor(l, dt).UOp, false)))
		keep := largest
		largest = 0
		for _, v := range p.v {
			largest = max(largest, math.Abs(v))
		}
		note("l lᵀ", c.product(c.transposed()), p)
		largest = keep
	}
	return out
}

// Sizes below, at and beyond the size of a block and of a matrix of one panel.
func TestBlocks(t *testing.T) {
	shapes := [][]int64{{7, 7}, {32, 32}, {33, 33}, {40, 70}, {70, 40}, {2, 65, 65}, {17, 3, 3}, {17, 5, 2}, {3, 48, 48}, {18, 49, 49}, {130, 130}}
	for i, device := range []string{"wasm", ""} {
		l := newLab(t, device)
		for _, dt := range []*uop.DType{uop.Float32, uop.Float64} {
			_, digits := dt.FloatInfo()
			for _, s := range part.Of(t, shapes, 3, i) {
				n := float64(max(s[len(s)-1], s[len(s)-2]))
				for name, e := range l.residuals(random(dt, -1, 1, len(s), s...), dt) {
					if limit := 10 * n * math.Ldexp(1, -digits); !(e <= limit) {
						t.Errorf("%s, %s of %s %v: error %g, expected at most %g", device, name, dt, s, e, limit)
					}
				}
			}
		}
	}
}

// Systems of more than one block and panel, with triangles that must not be read.
func TestTriangles(t *testing.T) {
	l := newLab(t, "")
	for _, n := range []int64{3, 40, 300} {
		for i := range 8 {
			upper, transposed, unit := i&1 > 0, i&2 > 0, i&4 > 0
			a := random(uop.Float64, -1, 1, 60+i, n, n)
			used := build(func(at []int64) float64 {
				switch {
				case at[0] == at[1] && unit:
					return 1
				case at[0] == at[1]:
					return 2 + a.at(at...)
				case (at[0] < at[1]) != upper:
					return 0
				}
				return a.at(at...) / float64(n)
			}, n, n)
			given := build(func(at []int64) float64 {
				if used.at(at...) == 0 || at[0] == at[1] && unit {
					return math.NaN()
				}
				return used.at(at...)
			}, n, n)
			b := random(uop.Float64, -1, 1, 70, 2, n, 3)
			x := must(tensor.TriangularSolve(given.tensor(l, uop.Float64).UOp, b.tensor(l, uop.Float64).UOp, upper, transposed, unit))
			if transposed {
				used = used.transposed()
			}
			both := build(func(at []int64) float64 { return used.at(at[1:]...) }, 2, n, n)
			l.close("triangle", both.product(array{b.shape, l.values(x)}), b, 1e-13*float64(n))
		}
	}
}

// The same system, badly scaled, singular and many times over.
func TestSystems(t *testing.T) {
	l := newLab(t, "")
	for _, n := range []int64{2, 40, 130} {
		hilbert := build(func(i []int64) float64 { return 1 / float64(i[0]+i[1]+1) }, n, n)
		b := random(uop.Float64, -1, 1, 80, n, 1)
		x := array{b.shape, l.values(must(tensor.Solve(hilbert.tensor(l, uop.Float64).UOp, b.tensor(l, uop.Float64).UOp)))}
		largest := 0.0
		for _, v := range x.v {
			largest = max(largest, math.Abs(v))
		}
		l.close("a x", hilbert.product(x), b, 10*float64(n)*math.Ldexp(largest+1, -53))
	}
	singular := build(func(i []int64) float64 { return float64(i[0] * i[1]) }, 50, 50)
	if d := l.values(must(tensor.Det(singular.tensor(l, uop.Float64).UOp))); d[0] != 0 {
		t.Errorf("the determinant of a singular matrix is %v", d)
	}
	a := matrices(81, 20, 4, 4)
	one := must(tensor.Solve(a.tensor(l, uop.Float64).UOp, identity(4, 4).tensor(l, uop.Float64).UOp))
	l.close("many", a.product(array{a.shape, l.values(one)}), identity(20, 4, 4), 1e-9)
	for _, empty := range [][]int64{{0, 3, 3}, {2, 0, 0}} {
		x := tensorOf(l, empty)
		if s := must(tensor.Inv(x)).Shape(); !s.Equal(uop.ShapeOf(empty...)) {
			t.Errorf("inverse of %v has shape %s", empty, s)
		}
		if s := must(tensor.Cholesky(x, false)).Shape(); !s.Equal(uop.ShapeOf(empty...)) {
			t.Errorf("factor of %v has shape %s", empty, s)
		}
		for i, d := range l.values(must(tensor.Det(x))) {
			if d != 1 {
				t.Errorf("determinant %d of %v is %v", i, empty, d)
			}
		}
	}
}

func TestFactorsOfRectangles(t *testing.T) {
	l := newLab(t, "")
	for _, shape := range [][]int64{{1, 5, 3}, {1, 3, 5}, {2, 40, 7}, {1, 7, 40}, {1, 70, 33}, {20, 6, 4}, {1, 4, 1}, {1, 3, 0}, {1, 0, 4}} {
		for _, of := range []string{"random numbers", "equal columns", "zeros"} {
			x := random(uop.Float64, -1, 1, 90, shape...)
			a := build(func(i []int64) float64 {
				switch of {
				case "equal columns":
					i = []int64{i[0], i[1], 0}
				case "zeros":
					return 0
				}
				return x.at(i...)
			}, shape...)
			lower, upper, order := factors(t, a.tensor(l, uop.Float64).UOp)
			m, n := shape[1], shape[2]
			k := min(m, n)
			rows := array{[]int64{shape[0], m}, l.values(order)}
			below := array{[]int64{shape[0], m, k}, l.values(lower)}
			above := array{[]int64{shape[0], k, n}, l.values(upper)}
			ordered := build(func(i []int64) float64 { return a.at(i[0], int64(rows.at(i[0], i[1])), i[2]) }, shape...)
			if k > 0 {
				l.close(of, below.product(above), ordered, 1e-12)
			}
			for s := range shape[0] {
				seen := map[float64]bool{}
				for i := range m {
					seen[rows.at(s, i)] = true
					for j := range k {
						if v := below.at(s, i, j); i < j && v != 0 || i == j && v != 1 || math.Abs(v) > 1 {
							t.Errorf("%s %v: lower[%d, %d] is %v", of, shape, i, j, v)
						}
					}
				}
				if int64(len(seen)) != m {
					t.Errorf("%s %v: the order %v is no permutation", of, shape, rows.v)
				}
			}
		}
	}
}

func factors(t *testing.T, a *uop.UOp) (lower, upper, order T) {
	t.Helper()
	l, u, p, err := tensor.LUFactors(a)
	if err != nil {
		t.Fatal(err)
	}
	return T{l}, T{u}, T{p}
}

func tensorOf(l *lab, shape []int64) *uop.UOp {
	return must(tensor.Full(l.g, uop.ShapeOf(shape...), uop.Int(0), uop.Float64)).UOp
}

func TestEigh(t *testing.T) {
	l := newLab(t, "")
	for _, s := range [][]int64{{1, 1}, {2, 2}, {3, 5, 5}, {20, 4, 4}, {40, 40}} {
		n := len(s)
		a := random(uop.Float64, -1, 1, 90, s...)
		sym := build(func(i []int64) float64 {
			j := append([]int64(nil), i...)
			if j[n-2] < j[n-1] {
				j[n-2], j[n-1] = j[n-1], j[n-2]
			}
			return a.at(j...)
		}, s...)
		w, v := must2(tensor.Eigh(a.tensor(l, uop.Float64).UOp, false))
		wa, va := array{s[:n-1], l.values(w)}, array{s, l.values(v)}
		l.close("vᵀ v", va.transposed().product(va), identity(s...), 1e-12)
		scaled := build(func(i []int64) float64 {
			return va.at(i...) * wa.at(append(append([]int64(nil), i[:n-2]...), i[n-1])...)
		}, s...)
		l.close("a v", sym.product(va), scaled, 1e-11)
	}
}

// spectra are symmetric matrices whose eigenvalues are equal, zero, nearly equal or of very different sizes.
var spectra = map[string]func(i, j int64) float64{
	"identity": func(i, j int64) float64 { return float64(max(0, 1-(i-j)*(i-j))) },
	"zeros":    func(i, j int64) float64 { return 0 },
	"rank one": func(i, j int64) float64 { return float64((i%5-2)*(j%5-2)) / 8 },
	"graded":   func(i, j int64) float64 { return math.Ldexp(float64((i*j)%7)-2.5, -int(i+j)) },
	"Wilkinson's, glued": func(i, j int64) float64 {
		switch {
		case i == j:
			return math.Abs(float64(i%21 - 10))
		case max(i, j)-min(i, j) > 1:
			return 0
		case max(i, j)%21 == 0:
			return 0x1p-23
		}
		return 1
	},
	"of one size in each row": func(i, j int64) float64 {
		return math.Ldexp(math.Remainder(float64(max(i, j)*max(i, j)*31+min(i, j)*17+7)*0.6180339887, 1), -int(min(i, j)))
	},
	"diagonal":        func(i, j int64) float64 { return float64(max(0, 1-(i-j)*(i-j))) * float64(i%7) },
	"beside diagonal": func(i, j int64) float64 { return float64(max(0, 2-max(i-j, j-i))) },
	"random": func(i, j int64) float64 {
		return math.Remainder(float64(max(i, j)*max(i, j)*31+min(i, j)*17+7)*0.6180339887, 1)
	},
}

// unit fails unless the columns of q are orthonormal to a multiple of rounding errors.
func (l *lab) unit(name string, q array, limit float64) {
	l.t.Helper()
	p := q.transposed().product(q)
	l.close(name, p, identity(p.shape...), limit)
}

// Larger matrices are divided and conquered.
func TestDividedEigenvalues(t *testing.T) {
	for i, dt := range []*uop.DType{uop.Float32, uop.Float64} {
		l := newLab(t, "")
		_, digits := dt.FloatInfo()
		for name, element := range spectra {
			for _, n := range part.Of(t, []int64{33, 101}, 2, i) {
				limit := 4 * float64(n) * math.Ldexp(1, -digits)
				a := build(func(i []int64) float64 { return float64(float32(element(i[0], i[1]))) }, n, n)
				largest := 1e-30
				for _, v := range a.v {
					largest = max(largest, math.Abs(v))
				}
				name := name + " " + dt.String()
				w, v := must2(tensor.Eigh(a.tensor(l, dt).UOp, false))
				wa, va := array{[]int64{n}, l.values(w)}, array{[]int64{n, n}, l.values(v)}
				l.unit("v of "+name, va, limit)
				l.close("a v of "+name, a.product(va), build(func(i []int64) float64 { return va.at(i...) * wa.at(i[1]) }, n, n), limit*largest)
				for i := range n - 1 {
					if wa.at(i) > wa.at(i+1) {
						t.Errorf("%s: eigenvalues %v are not in order", name, wa.v)
					}
				}
				u, s, vt, err := tensor.SVD(a.tensor(l, dt).UOp, false)
				if err != nil {
					t.Fatal(err)
				}
				ua, sa, vta := array{a.shape, l.values(T{u})}, array{[]int64{n}, l.values(T{s})}, array{a.shape, l.values(T{vt})}
				l.unit("u of "+name, ua, limit)
				l.unit("v of "+name, vta.transposed(), limit)
				l.close("u s vt of "+name, build(func(i []int64) float64 { return ua.at(i...) * sa.at(i[1]) }, n, n).product(vta), a, limit*largest)
				for i := range n {
					if sa.at(i) < 0 || i > 0 && sa.at(i) > sa.at(i-1) {
						t.Errorf("%s: singular values %v are not in order", name, sa.v)
					}
				}
			}
		}
	}
}

// Matrices with an element that is not finite have no decomposition; those near them in a batch do, also if they are huge or tiny.
func TestDecompositionsOfExtremes(t *testing.T) {
	for _, device := range []string{"wasm", ""} {
		l := newLab(t, device)
		for _, n := range []int64{3, 34} {
			for _, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				a := build(func(i []int64) float64 {
					if i[0] == 1 && i[1] == 1 && i[2] == 0 {
						return special
					}
					v := 1 / float64(i[1]+i[2]+1)
					return v * [3]float64{1e30, 1, 1e-30}[i[0]]
				}, 3, n, n)
				x := a.tensor(l, uop.Float32).UOp
				w, q := must2(tensor.Eigh(x, false))
				u, s, vt, err := tensor.SVD(x, false)
				if err != nil {
					t.Fatal(err)
				}
				wa, sa := l.values(w), l.values(T{s})
				for i, p := range [][]float64{wa, sa, l.values(q), l.values(T{u}), l.values(T{vt})} {
					for k, v := range p {
						if math.IsNaN(v) != (k/(len(p)/3) == 1) {
							t.Fatalf("%s, %d rows, %v, result %d: element %d is %v", device, n, special, i, k, v)
						}
					}
				}
				// A Hilbert matrix is positive definite.
				large, small := sa[0]/1e30, sa[2*n]*1e30
				for _, ratio := range []float64{large / small, wa[n-1] / sa[0], wa[3*n-1] / sa[2*n]} {
					if !(math.Abs(ratio-1) < 1e-5) || !(large > 1.2) {
						t.Errorf("%s, %d rows: singular values %v, eigenvalues %v", device, n, sa, wa)
					}
				}
			}
		}
	}
}

// Least squares of matrices of all shapes and ranks: the residual is orthogonal to the columns of a, and x is one of its rows' combinations.
func TestLeastSquares(t *testing.T) {
	for _, device := range []string{"wasm", ""} {
		l := newLab(t, device)
		for _, s := range [][]int64{{1, 1, 1}, {1, 5, 2}, {20, 2, 5}, {2, 33, 40}, {1, 40, 33}} {
			m, n := s[1], s[2]
			for _, rank := range []int64{min(m, n), (min(m, n) + 1) / 2} {
				left := random(uop.Float64, -1, 1, 200, s[0], m, rank)
				a := left.product(random(uop.Float64, -1, 1, 201, s[0], rank, n))
				b := random(uop.Float64, -1, 1, 202, s[0], m, 2)
				x, _, ranks, _, err := tensor.LeastSquares(a.tensor(l, uop.Float64).UOp, b.tensor(l, uop.Float64).UOp, -1)
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range l.values(T{ranks}) {
					if r != float64(rank) {
						t.Errorf("%s %v: rank %d is %v, want %d", device, s, i, r, rank)
					}
				}
				xa := array{[]int64{s[0], n, 2}, l.values(T{x})}
				ax := a.product(xa)
				rest := build(func(i []int64) float64 { return b.at(i...) - ax.at(i...) }, b.shape...)
				l.close("aᵀ (b - a x)", a.transposed().product(rest), array{xa.shape, make([]float64, len(xa.v))}, 1e-9)
				// What x has in the null space of a is x - a⁺ a x.
				again, _, _, _, err := tensor.LeastSquares(a.tensor(l, uop.Float64).UOp, ax.tensor(l, uop.Float64).UOp, -1)
				if err != nil {
					t.Fatal(err)
				}
				l.close("a⁺ a x", array{xa.shape, l.values(T{again})}, xa, 1e-9)
			}
		}
	}
}
