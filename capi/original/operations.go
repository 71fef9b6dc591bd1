// Package original is what only the original interface has: functions with rules of their own.
package original

import (
	"fmt"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/model"
)

// Operations by code, the original interface's ALU: the primitive operations, but with promotion and broadcasting.

type (
	unary  = func(*uop.UOp) (*uop.UOp, error)
	binary = func(a, b *uop.UOp) (*uop.UOp, error)
	reduce = func(x *uop.UOp, axes []int, keepdim bool) (*uop.UOp, error)
)

var alu1 = map[uop.Op]unary{
	uop.Exp2: tensor.Exp2, uop.Log2: tensor.Log2, uop.Sin: tensor.Sin, uop.Sqrt: tensor.Sqrt,
	uop.Reciprocal: tensor.Reciprocal, uop.Neg: tensor.Neg, uop.Trunc: tensor.Trunc,
}

var alu2 = map[uop.Op]binary{
	uop.Add: tensor.Add, uop.Mul: tensor.Mul, uop.Sub: tensor.Sub, uop.Fdiv: tensor.Div, uop.Pow: pow,
	uop.Idiv: tensor.TruncDiv, uop.Mod: tensor.TruncMod, uop.Max: tensor.Maximum, uop.CmpLt: tensor.Lt,
	uop.CmpNe: tensor.Ne, uop.CmpEq: tensor.Eq, uop.Xor: tensor.BitXor, uop.Or: tensor.BitOr, uop.And: tensor.BitAnd,
	uop.Shl: tensor.ShiftLeft, uop.Shr: tensor.ShiftRight,
}

// pow of floats is the primitive, which becomes products for a constant exponent.
func pow(a, b *uop.UOp) (*uop.UOp, error) {
	if a.DType.IsFloat() || b.DType.IsFloat() {
		return tensor.Alu(uop.Pow, a, b)
	}
	return tensor.Pow(a, b)
}

// ALU runs the operation of a code.
func ALU(op int, us ...*uop.UOp) (*uop.UOp, error) {
	if op < 0 || op >= int(uop.NumOps) {
		return nil, fmt.Errorf("original.ALU: op: %d is not an operation, expected 1 to %d", op, uop.NumOps-1)
	}
	code := uop.Op(op)
	switch f1, f2 := alu1[code], alu2[code]; {
	case len(us) == 1 && f1 != nil:
		return f1(us[0])
	case len(us) == 2 && f2 != nil:
		return f2(us[0], us[1])
	case len(us) == 3 && code == uop.Where:
		return tensor.Where(us[0], us[1], us[2])
	case len(us) == 3 && code == uop.MulAcc:
		p, err := tensor.Mul(us[0], us[1])
		if err != nil {
			return nil, err
		}
		return tensor.Add(p, us[2])
	}
	return nil, fmt.Errorf("original.ALU: op: %s is not an operation of %d operands", code, len(us))
}

var reductions = map[uop.Op]reduce{uop.Add: tensor.Sum, uop.Mul: tensor.Prod, uop.Max: tensor.Max}

// ReduceAxis reduces axes by the operation of a code, in both readings: the axes stay with size 1, or they are gone.
func ReduceAxis(op int, r model.Readings, axes []int) (model.Readings, error) {
	if op < 0 || op >= int(uop.NumOps) || reductions[uop.Op(op)] == nil {
		return model.Readings{}, fmt.Errorf("original.ReduceAxis: op: %d, expected ADD, MUL or MAX", op)
	}
	f := reductions[uop.Op(op)]
	keep, keepErr := f(r.Keep, axes, true)
	drop, dropErr := f(r.Dropped(), axes, false)
	return model.Feasible(keep, drop, keepErr, dropErr)
}

// Loss is the reading with one element, of which a gradient is taken. The derivative of a comparison or a count is 0.
func Loss(r model.Readings) (*uop.UOp, error) {
	u := r.WithElements(1)
	if u.Shape() == nil || u.DType.IsFloat() {
		return u, nil
	}
	return tensor.Cast(u, uop.Float32)
}

// Compared turns a comparison into 1 and 0 in the type of a, or float32 if that is not floating.
func Compared(compare binary) binary {
	return func(a, b *uop.UOp) (*uop.UOp, error) {
		r, err := compare(a, b)
		if err != nil {
			return nil, err
		}
		dt := a.DType
		if !dt.IsFloat() {
			dt = uop.DefaultFloat
		}
		return tensor.Cast(r, dt)
	}
}

// AtLeastOneAxis reshapes a scalar to one axis.
func AtLeastOneAxis(u *uop.UOp, err error) (*uop.UOp, error) {
	if err == nil && len(u.Shape()) == 0 {
		u = u.Reshape(uop.ShapeOf(1))
	}
	return u, err
}

// Var is the variance along an axis. A divisor that is not positive counts as 1.
func Var(x *uop.UOp, axis int, keepdim bool, correction float64) (*uop.UOp, error) {
	s, a := x.Shape(), axis
	if a < 0 {
		a += len(s)
	}
	if a >= 0 && a < len(s) {
		correction = min(correction, float64(s[a].Max())-1)
	}
	return tensor.Var(x, []int{axis}, keepdim, correction)
}

// Embedding looks up rows of a table. Frontends that only know floats send float indices.
func Embedding(table, index *uop.UOp) (*uop.UOp, error) {
	if index.DType.IsFloat() {
		var err error
		if index, err = tensor.Cast(index, uop.Int32); err != nil {
			return nil, err
		}
	}
	return tensor.Embedding(table, index)
}

// CausalMask is 0 for visible positions and -1e9 after them.
func CausalMask(g *uop.Graph, n int64) (*uop.UOp, error) {
	u, err := tensor.Full(g, uop.ShapeOf(n, n), uop.Float(-1e9), uop.Float32)
	if err != nil {
		return nil, err
	}
	return tensor.Triu(u, 1)
}

// Descend is the assignment of param - rate*grad to each parameter.
func Descend(params, grads []*uop.UOp, rate *uop.UOp) ([]*uop.UOp, error) {
	assigns := make([]*uop.UOp, len(params))
	for i, p := range params {
		step, err := tensor.Mul(grads[i], rate)
		if err != nil {
			return nil, err
		}
		if step, err = tensor.Sub(p, step); err != nil {
			return nil, err
		}
		if assigns[i], err = tensor.AssignTo(p, step); err != nil {
			return nil, err
		}
	}
	return assigns, nil
}
