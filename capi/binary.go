package main

import (
	"polygrad/capi/original"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

type binaryOp func(a, b *uop.UOp) (*uop.UOp, error)

// binary runs an operation of two tensors.
func binary(fn string, ctx, a, b uintptr, op binaryOp) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		x := must(c.arg("a", a))
		y := must(c.arg("b", b))
		if x.Drop == nil && y.Drop == nil {
			u, err := op(x.Keep, y.Keep)
			return single(u), err
		}
		return lift(func(us []*uop.UOp) (*uop.UOp, error) { return op(us[0], us[1]) }, x, y)
	})
}

func poly_binary(ctx uintptr, op int32, a, b uintptr) uintptr {
	return binary("poly_binary", ctx, a, b, func(x, y *uop.UOp) (*uop.UOp, error) {
		return tensor.Binary(tensor.BinaryOp(op), x, y)
	})
}

func poly_binary_float(ctx uintptr, op int32, x uintptr, v float64, reversed int32) uintptr {
	return binaryNumber("poly_binary_float", ctx, op, x, uop.Float(float64(v)), reversed)
}

func poly_binary_int(ctx uintptr, op int32, x uintptr, v int64, reversed int32) uintptr {
	return binaryNumber("poly_binary_int", ctx, op, x, uop.Int(v), reversed)
}

func poly_binary_bool(ctx uintptr, op int32, x uintptr, v int32, reversed int32) uintptr {
	return binaryNumber("poly_binary_bool", ctx, op, x, uop.BoolConst(v != 0), reversed)
}

func binaryNumber(fn string, ctx uintptr, op int32, x uintptr, v uop.Const, reversed int32) uintptr {
	return unary(fn, ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		return tensor.BinaryNumber(tensor.BinaryOp(op), u, v, reversed != 0)
	})
}

func poly_eq(ctx, a, b uintptr) uintptr {
	return binary("poly_eq", ctx, a, b, original.Compared(tensor.Eq))
}

func poly_ge(ctx, a, b uintptr) uintptr {
	return binary("poly_ge", ctx, a, b, original.Compared(tensor.Ge))
}

func poly_le(ctx, a, b uintptr) uintptr {
	return binary("poly_le", ctx, a, b, original.Compared(tensor.Le))
}

func poly_where_op(ctx, cond, x, y uintptr) uintptr {
	return ternary("poly_where_op", ctx, [3]string{"cond", "x", "y"}, cond, x, y, tensor.Where)
}

func poly_lerp(ctx, start, end, weight uintptr) uintptr {
	return ternary("poly_lerp", ctx, [3]string{"start", "end", "weight"}, start, end, weight, tensor.Lerp)
}

func ternary(fn string, ctx uintptr, names [3]string, x, y, z uintptr, op func(x, y, z *uop.UOp) (*uop.UOp, error)) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		var vs [3]value
		for i, h := range [3]uintptr{x, y, z} {
			v := must(c.arg(names[i], h))
			vs[i] = v
		}
		return lift(func(us []*uop.UOp) (*uop.UOp, error) { return op(us[0], us[1], us[2]) }, vs[:]...)
	})
}

func poly_clip(ctx, x, lo, hi uintptr) uintptr {
	return compose("poly_clip", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.Clamp(us[0], us[1], us[2])
	}, operandOf("x", x), optional("lo", lo), optional("hi", hi))
}

func poly_isclose(ctx, a, b uintptr, rtol, atol float64, equalNaN int32) uintptr {
	return binary("poly_isclose", ctx, a, b, func(x, y *uop.UOp) (*uop.UOp, error) {
		return tensor.IsClose(x, y, float64(rtol), float64(atol), equalNaN != 0)
	})
}

func poly_allclose(ctx, a, b uintptr, rtol, atol float64, equalNaN int32) uintptr {
	return compose("poly_allclose", ctx, resultShape{}, func(us []*uop.UOp) (*uop.UOp, error) {
		return tensor.AllClose(us[0], us[1], float64(rtol), float64(atol), equalNaN != 0)
	}, operandOf("a", a), operandOf("b", b))
}
