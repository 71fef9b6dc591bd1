package fuzz

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Layers are what programs of users are made of: several operations that become few kernels.

// layer adds the result of one, made of an input of its own where none that there is fits.
func (gen *generator) layer() error {
	kinds := []func() error{gen.linear, gen.linear, gen.batched, gen.convolution, gen.norm, gen.norm, gen.statistics, gen.lookup, gen.variable, gen.pool, gen.narrowProduct}
	return kinds[gen.r.IntN(len(kinds))]()
}

// sizes of vectors and tiles, and those beside them.
var layerSizes = []int64{1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 17, 24, 31, 32, 33, 40}

func (gen *generator) size() int64 { return layerSizes[gen.r.IntN(len(layerSizes))] }

func (gen *generator) chance(one int) bool { return gen.r.IntN(one) == 0 }

var productTypes = []*uop.DType{uop.Float32, uop.Float32, uop.Float32, uop.Float64, uop.Int32, uop.Int8}

// matrix is a value with two axes of a type, old or new. A new one may be seen through a view.
func (gen *generator) matrix(dt *uop.DType, rows, columns int64) (item, error) {
	if !gen.chance(3) {
		for range 4 {
			it := gen.pick()
			if s := it.u.Shape(); it.u.DType == dt && len(s) == 2 && s[0].IsNum(rows) && s[1].IsNum(columns) && it.size < 64 {
				return it, nil
			}
		}
	}
	switch gen.r.IntN(4) {
	case 0: // transposed
		it, err := gen.fresh(dt, columns, rows)
		if err != nil {
			return it, err
		}
		it.u, err = tensor.Permute(it.u, 1, 0)
		return it, err
	case 1: // a part of a larger one
		it, err := gen.fresh(dt, rows+2, columns+1)
		if err != nil {
			return it, err
		}
		it.u, err = tensor.Shrink(it.u, []uop.Pair{{Lo: uop.N(1), Hi: uop.N(rows + 1)}, {Lo: uop.N(1), Hi: uop.N(columns + 1)}})
		return it, err
	case 2: // backwards
		it, err := gen.fresh(dt, rows, columns)
		if err != nil {
			return it, err
		}
		it.u, err = tensor.Flip(it.u, gen.r.IntN(2))
		return it, err
	}
	return gen.fresh(dt, rows, columns)
}

// epilogue is what follows a product of n columns: a bias, an activation, a residual.
func (gen *generator) epilogue(v item, err error) error {
	if err != nil {
		return err
	}
	s := v.u.Shape()
	if gen.chance(2) {
		bias, err := gen.fresh(v.u.DType, s[len(s)-1].N)
		if err != nil {
			return err
		}
		if v.u, err = tensor.Add(v.u, bias.u); err != nil {
			return err
		}
		v.size += bias.size
	}
	if gen.chance(2) {
		if v.u, err = tensor.Relu(v.u); err != nil {
			return err
		}
	}
	if gen.chance(3) {
		other := gen.pick()
		if broadcasts(s, other.u.Shape()) && len(other.u.Shape()) <= len(s) && other.u.DType == v.u.DType {
			if v.u, err = tensor.Add(v.u, other.u); err != nil {
				return err
			}
			v.size, v.exact = v.size+other.size, v.exact && other.exact
		}
	}
	gen.add(v.u, v.exact || !v.u.DType.IsFloat(), sizeOf(v.u, v.size))
	if v.u.DType.IsFloat() && v.size < 1e5 && gen.chance(4) { // both are wanted
		u, err := []func(*uop.UOp) (*uop.UOp, error){tensor.Gelu, tensor.Sigmoid, tensor.Silu}[gen.r.IntN(3)](v.u)
		gen.add(u, false, v.size+1)
		return err
	}
	return nil
}

func (gen *generator) linear() error {
	dt := productTypes[gen.r.IntN(len(productTypes))]
	m, k, n := gen.size(), gen.size(), gen.size()
	a, err := gen.matrix(dt, m, k)
	if err != nil {
		return err
	}
	b, err := gen.matrix(dt, k, n)
	if err != nil {
		return err
	}
	u, err := tensor.MatMul(a.u, b.u)
	return gen.epilogue(item{u, a.exact && b.exact, a.size * b.size * 8 * float64(k)}, err)
}

func (gen *generator) batched() error {
	m, k, n, batch := gen.size(), gen.size(), gen.size(), 1+gen.r.Int64N(4)
	if batch*max(m*n, m*k, k*n) > 4096 {
		m, n = min(m, 9), min(n, 17)
	}
	a, err := gen.fresh(uop.Float32, batch, m, k)
	if err != nil {
		return err
	}
	b, err := gen.fresh(uop.Float32, batch, n, k)
	if err != nil {
		return err
	}
	right, err := tensor.Permute(b.u, 0, 2, 1)
	if err != nil {
		return err
	}
	u, err := tensor.MatMul(a.u, right)
	return gen.epilogue(item{u, true, a.size * b.size * 8 * float64(k)}, err)
}

// narrowProduct multiplies matrices of narrow floats, of numbers whose products are exact in their type, in which some
// devices round those; their sums are exact too, and rounded once.
func (gen *generator) narrowProduct() error {
	dt := []*uop.DType{uop.Float16, uop.BFloat16}[gen.r.IntN(2)]
	m, k, n := gen.size(), 2*gen.size(), gen.size()
	factor := func(rows, columns int64) (*uop.UOp, error) {
		dims, turned := []int64{rows, columns}, gen.chance(2)
		if turned {
			dims = []int64{columns, rows}
		}
		u, err := gen.buffer(dt, dims, func() uop.Const { return number(dt, gen.r.IntN(17)-8) })
		if err != nil || !turned {
			return u, err
		}
		return tensor.Permute(u, 1, 0)
	}
	a, err := factor(m, k)
	if err != nil {
		return err
	}
	b, err := factor(k, n)
	if err != nil {
		return err
	}
	u, err := tensor.MatMul(a, b)
	gen.finals = append(gen.finals, item{u, true, float64(k)})
	return err
}

func (gen *generator) convolution() error {
	groups := 1 + gen.r.Int64N(2)
	in, out := groups*(1+gen.r.Int64N(4)), groups*(1+gen.r.Int64N(6))
	h, w, kh, kw := 3+gen.r.Int64N(9), 3+gen.r.Int64N(15), 1+gen.r.Int64N(3), 1+gen.r.Int64N(3)
	x, err := gen.fresh(uop.Float32, 1+gen.r.Int64N(2), in, h, w)
	if err != nil {
		return err
	}
	weight, err := gen.fresh(uop.Float32, out, in/groups, kh, kw)
	if err != nil {
		return err
	}
	win := tensor.Window{Stride: []int64{1 + gen.r.Int64N(2)}, Padding: [][2]int64{{gen.r.Int64N(3), gen.r.Int64N(3)}}}
	u, err := tensor.Conv(x.u, weight.u, nil, groups, win)
	return gen.epilogue(item{u, true, x.size * weight.size * 8 * float64(in*kh*kw)}, err)
}

func (gen *generator) pool() error {
	x, err := gen.fresh(uop.Float32, 1+gen.r.Int64N(3), 4+gen.r.Int64N(9), 4+gen.r.Int64N(14))
	if err != nil {
		return err
	}
	kernel := []int64{1 + gen.r.Int64N(3), 1 + gen.r.Int64N(3)}
	u, err := tensor.MaxPool(x.u, kernel, tensor.Window{Stride: []int64{1 + gen.r.Int64N(3)}})
	gen.add(u, true, x.size)
	return err
}

// rows are values that have an axis, and no numbers so large that functions of them are not comparable.
func (gen *generator) rows() (item, error) {
	for range 4 {
		if it := gen.pick(); it.u.DType.IsFloat() && len(it.u.Shape()) > 0 && it.size < 1e3 {
			return it, nil
		}
	}
	it, err := gen.fresh([]*uop.DType{uop.Float32, uop.Float32, uop.Float64}[gen.r.IntN(3)], gen.size(), gen.size())
	gen.add(it.u, true, it.size)
	return it, err
}

func (gen *generator) norm() error {
	x, err := gen.rows()
	if err != nil {
		return err
	}
	s := x.u.Shape()
	n := s[len(s)-1].N
	var u *uop.UOp
	size := 1.0
	switch gen.r.IntN(4) {
	case 0:
		u, err = tensor.LogSoftmax(x.u, -1)
		size = 2*x.size + 10
	case 1:
		u, err = tensor.LogSumExp(x.u, []int{-1}, gen.chance(2))
		size = x.size + 10
	case 2:
		u, err = tensor.RMSNorm(x.u, 0.5)
		size = float64(n)
	case 3:
		u, err = tensor.LayerNorm(x.u, []int{-1}, 0.5)
		size = float64(n)
	}
	if err != nil {
		return err
	}
	if gen.chance(2) && u.Shape().Equal(s) {
		scale, err := gen.fresh(u.DType, n)
		if err != nil {
			return err
		}
		if u, err = tensor.Mul(u, scale.u); err != nil {
			return err
		}
		size *= scale.size
	}
	gen.add(u, false, size)
	return nil
}

// statistics are several results of one value.
func (gen *generator) statistics() error {
	x, err := gen.rows()
	if err != nil {
		return err
	}
	axes := []int{gen.r.IntN(len(x.u.Shape()))}
	mean, err := tensor.Mean(x.u, axes, false)
	if err != nil {
		return err
	}
	variance, err := tensor.Var(x.u, axes, false, 0)
	if err != nil {
		return err
	}
	gen.add(mean, false, x.size)
	gen.add(variance, false, x.size*x.size)
	if x.exact {
		least, err := tensor.Min(x.u, axes, gen.chance(2))
		if err != nil {
			return err
		}
		gen.add(least, true, x.size)
		place, err := tensor.ArgMax(x.u, axes[0], false)
		gen.add(place, true, 4096)
		return err
	}
	return nil
}

// lookup picks elements by numbers in memory.
func (gen *generator) lookup() error {
	dt := inputTypes[gen.r.IntN(len(inputTypes))]
	n, width, many := gen.size(), gen.size(), gen.size()
	x, err := gen.fresh(dt, n, width)
	if err != nil {
		return err
	}
	at := []*uop.DType{uop.Int32, uop.Int64, uop.Uint8}[gen.r.IntN(3)]
	var u *uop.UOp
	switch gen.r.IntN(3) {
	case 0:
		idx, err := gen.filled(at, n, many)
		if err != nil {
			return err
		}
		u, err = tensor.IndexSelect(x.u, 0, idx)
		if err != nil {
			return err
		}
	case 1:
		if dt == uop.Bool {
			return nil
		}
		idx, err := gen.filled(at, n, many)
		if err != nil {
			return err
		}
		if u, err = tensor.Embedding(x.u, idx); err != nil {
			return err
		}
	case 2:
		if dt == uop.Bool {
			return nil
		}
		rows := min(many, 9)
		idx, err := gen.filled(at, n, rows, min(width, 9))
		if err != nil {
			return err
		}
		if u, err = tensor.Gather(x.u, 0, idx); err != nil {
			return err
		}
	}
	gen.add(u, true, x.size)
	return nil
}

// variable uses a part of a value whose size or place is a variable.
func (gen *generator) variable() error {
	dt := []*uop.DType{uop.Float32, uop.Int32, uop.Uint8}[gen.r.IntN(3)]
	rows, columns := gen.size(), gen.size()
	x, err := gen.fresh(dt, rows, columns)
	if err != nil {
		return err
	}
	gen.vars++
	name := fmt.Sprintf("n%d_%d", gen.p.Seed, gen.vars)
	variable := func(lo, hi int64) uop.Sint {
		return uop.S(gen.g.Variable(name, uop.Int(lo), uop.Int(hi), uop.IndexT).BindTo(lo + gen.r.Int64N(hi-lo+1)))
	}
	whole := func(n int64) uop.Pair { return uop.Pair{Lo: uop.N(0), Hi: uop.N(n)} }
	var u *uop.UOp
	switch gen.r.IntN(3) {
	case 0: // rows from a variable on
		most := 1 + gen.r.Int64N(rows)
		from := variable(0, rows-most)
		u, err = tensor.Shrink(x.u, []uop.Pair{{Lo: from, Hi: from.Add(uop.N(most))}, whole(columns)})
	case 1: // a sum of so many rows
		u, err = tensor.Shrink(x.u, []uop.Pair{{Lo: uop.N(0), Hi: variable(1, rows)}, whole(columns)})
		if err == nil {
			u, err = tensor.Sum(u, []int{0}, false)
		}
	case 2: // a maximum of so many columns
		u, err = tensor.Shrink(x.u, []uop.Pair{whole(rows), {Lo: uop.N(0), Hi: variable(1, columns)}})
		if err == nil {
			u, err = tensor.Max(u, []int{1}, false)
		}
	}
	gen.add(u, true, sizeOf(u, x.size*float64(rows)))
	return err
}
