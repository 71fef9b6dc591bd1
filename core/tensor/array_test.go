package tensor_test

import (
	"sort"

	"polygrad/core/uop"
)

// array is a reference tensor: numbers in row-major order.
type array struct {
	shape []int64
	v     []float64
}

func newArray(shape ...int64) array {
	return array{shape, make([]float64, uop.ShapeOf(shape...).MaxNumel())}
}

// random fills an array with numbers in lo..hi, rounded to a type.
func random(dt *uop.DType, lo, hi float64, seed int, shape ...int64) array {
	a := newArray(shape...)
	for i := range a.v {
		x := lo + (hi-lo)*noise(seed*1000+i)
		if dt.IsFloat() {
			a.v[i] = uop.RoundTo(dt, x)
		} else {
			a.v[i] = uop.Float(x).As(dt).F()
		}
	}
	return a
}

func (a array) tensor(l *lab, dt *uop.DType) T { return l.tensor(dt, a.v, a.shape...) }

// at is the element with the given index.
func (a array) at(idx ...int64) float64 { return a.v[a.offset(idx)] }

func (a array) offset(idx []int64) int64 {
	o := int64(0)
	for i, n := range a.shape {
		o = o*n + idx[i]
	}
	return o
}

// each calls f with every index.
func (a array) each(f func(idx []int64)) {
	idx := make([]int64, len(a.shape))
	for range a.v {
		f(idx)
		for d := len(idx) - 1; d >= 0; d-- {
			if idx[d]++; idx[d] < a.shape[d] {
				break
			}
			idx[d] = 0
		}
	}
}

// build makes an array from a function of the index.
func build(f func(idx []int64) float64, shape ...int64) array {
	a := newArray(shape...)
	i := 0
	a.each(func(idx []int64) { a.v[i] = f(idx); i++ })
	return a
}

// over reduces axes: f gets all elements that meet in one place, in order.
func (a array) over(axes []int, keep bool, f func(v []float64) float64) array {
	gone := map[int]bool{}
	for _, x := range axes {
		gone[x] = true
	}
	var kept []int64
	for d, n := range a.shape {
		if gone[d] {
			n = 1
		}
		if !gone[d] || keep {
			kept = append(kept, n)
		}
	}
	out := newArray(kept...)
	groups := make([][]float64, len(out.v))
	a.each(func(idx []int64) {
		var to []int64
		for d, i := range idx {
			if !gone[d] {
				to = append(to, i)
			} else if keep {
				to = append(to, 0)
			}
		}
		o := out.offset(to)
		groups[o] = append(groups[o], a.at(idx...))
	})
	for i, g := range groups {
		out.v[i] = f(g)
	}
	return out
}

// lines replaces every line along an axis by what f makes of it.
func (a array) lines(axis int, f func(v []float64) []float64) array {
	out := newArray(a.shape...)
	a.each(func(idx []int64) {
		if idx[axis] != 0 {
			return
		}
		at := append([]int64(nil), idx...)
		var line []float64
		for i := range a.shape[axis] {
			at[axis] = i
			line = append(line, a.at(at...))
		}
		for i, v := range f(line) {
			at[axis] = int64(i)
			out.v[out.offset(at)] = v
		}
	})
	return out
}

// sorted is the order that sorts v, equal values in their order.
func sorted(v []float64, descending bool) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		if descending {
			return v[order[i]] > v[order[j]]
		}
		return v[order[i]] < v[order[j]]
	})
	return order
}
