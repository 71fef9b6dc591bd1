package tensor_test

import (
	"math"
	"testing"

	"polygrad/core/tensor"
	"polygrad/core/uop"
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
	// Nothing is done where nothing is to be done, and columns of 0 do no harm.
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
