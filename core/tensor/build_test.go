// Tests of the operations: their graphs against the reference data, their values
// against float64 references, their gradients against finite differences.
package tensor_test

import (
	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// T is a tensor with its operations as methods, so that the cases read as formulas. A bad argument panics.
type T struct{ *uop.UOp }

func must(u *uop.UOp, err error) T {
	if err != nil {
		panic(err)
	}
	return T{u}
}

func must2(a, b *uop.UOp, err error) (T, T) {
	if err != nil {
		panic(err)
	}
	return T{a}, T{b}
}

func many(us []*uop.UOp, err error) []T {
	if err != nil {
		panic(err)
	}
	out := make([]T, len(us))
	for i, u := range us {
		out[i] = T{u}
	}
	return out
}

func nodes(ts ...T) []*uop.UOp {
	out := make([]*uop.UOp, len(ts))
	for i, t := range ts {
		out[i] = t.UOp
	}
	return out
}

// num is the constant a number becomes beside x.
func num(x T, v any) T {
	switch n := v.(type) {
	case T:
		return n
	case int:
		return must(tensor.Scalar(x.UOp, uop.Int(int64(n))))
	case bool:
		return must(tensor.Scalar(x.UOp, uop.BoolConst(n)))
	}
	return must(tensor.Scalar(x.UOp, uop.Float(v.(float64))))
}

type fn2 = func(a, b *uop.UOp) (*uop.UOp, error)

func (t T) op(f fn2, v any) T  { return must(f(t.UOp, num(t, v).UOp)) }
func (t T) rop(f fn2, v any) T { return must(f(num(t, v).UOp, t.UOp)) }

func (t T) add(v any) T  { return t.op(tensor.Add, v) }
func (t T) sub(v any) T  { return t.op(tensor.Sub, v) }
func (t T) rsub(v any) T { return t.rop(tensor.Sub, v) }
func (t T) mul(v any) T  { return t.op(tensor.Mul, v) }
func (t T) rmul(v any) T { return t.rop(tensor.Mul, v) }
func (t T) div(v any) T  { return t.op(tensor.Div, v) }
func (t T) rdiv(v any) T { return t.rop(tensor.Div, v) }
func (t T) lt(v any) T   { return t.op(tensor.Lt, v) }
func (t T) gt(v any) T   { return t.op(tensor.Gt, v) }
func (t T) ne(v any) T   { return t.op(tensor.Ne, v) }
func (t T) pow(v any) T  { return t.op(tensor.Pow, v) }
func (t T) rpow(v any) T { return t.rop(tensor.Pow, v) }

// do applies an operation of one tensor.
func (t T) do(f func(*uop.UOp) (*uop.UOp, error)) T { return must(f(t.UOp)) }

// where is a where t, else b; numbers take their type from the other branch, or from t.
func (t T) where(a, b any) T {
	at, aok := a.(T)
	bt, bok := b.(T)
	switch {
	case aok && !bok:
		bt = num(at, b)
	case bok && !aok:
		at = num(bt, a)
	case !aok:
		at, bt = num(t, a), num(t, b)
	}
	return must(tensor.Where(t.UOp, at.UOp, bt.UOp))
}

func (t T) sum(axes ...int) T { return must(tensor.Sum(t.UOp, all(axes), false)) }
func (t T) max(axes ...int) T { return must(tensor.Max(t.UOp, all(axes), false)) }

// all turns a missing list of axes into nil: every axis.
func all(axes []int) []int {
	if len(axes) == 0 {
		return nil
	}
	return axes
}

func (t T) keep(f func(*uop.UOp, []int, bool) (*uop.UOp, error), axes ...int) T {
	return must(f(t.UOp, all(axes), true))
}
func (t T) drop(f func(*uop.UOp, []int, bool) (*uop.UOp, error), axes ...int) T {
	return must(f(t.UOp, all(axes), false))
}

func (t T) reshape(s ...int64) T   { return must(tensor.Reshape(t.UOp, uop.ShapeOf(s...))) }
func (t T) expand(s ...int64) T    { return must(tensor.Expand(t.UOp, uop.ShapeOf(s...))) }
func (t T) permute(o ...int) T     { return must(tensor.Permute(t.UOp, o...)) }
func (t T) flip(a ...int) T        { return must(tensor.Flip(t.UOp, a...)) }
func (t T) cast(d *uop.DType) T    { return must(tensor.Cast(t.UOp, d)) }
func (t T) dot(w T) T              { return must(tensor.MatMul(t.UOp, w.UOp)) }
func (t T) contiguous() T          { return t.do(tensor.Contiguous) }
func (t T) at(e ...tensor.Index) T { return must(tensor.GetItem(t.UOp, e...)) }

// pad pads every axis with zeros.
func (t T) pad(ps ...[2]int64) T {
	var v []uop.Pair
	for _, p := range ps {
		v = append(v, uop.Pair{Lo: uop.N(p[0]), Hi: uop.N(p[1])})
	}
	return must(tensor.Pad(t.UOp, v, uop.Float(0)))
}

// span is the slice lo:hi.
func span(lo, hi int64) tensor.Index { return tensor.Slice(&lo, &hi, 1) }

// grad differentiates a scalar.
func (t T) grad(wrt ...T) []T { return many(gradient.Of(t.UOp, nodes(wrt...), nil)) }

func cat(axis int, ts ...T) T { return must(tensor.Cat(nodes(ts...), axis)) }
