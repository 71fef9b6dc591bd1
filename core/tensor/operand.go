package tensor

import (
	"math"

	"polygrad/core/uop"
)

// operand is an operand of a composition: a tensor (*uop.UOp), or a number (int, float64, bool, uop.Const), whose type follows from the other
// operand.
type operand = any

// DeviceName is the default device of tensors.
const DeviceName = "CPU"

func constOf(o operand) uop.Const {
	switch v := o.(type) {
	case int:
		return uop.Int(int64(v))
	case float64:
		return uop.Float(v)
	case bool:
		return uop.BoolConst(v)
	case uop.Const:
		return v
	}
	panic("tensor: operand of unknown kind")
}

// scalarFor is a number as a constant in an operation with x: it takes the type of x (of its planes) if x is a float or complex, or if x is an
// integer and the number is not a float; otherwise the number's own type.
func scalarFor(x *uop.UOp, c uop.Const) *uop.UOp {
	dt := c.DefaultDType()
	if x.DType.IsDifferentiable() || x.DType.IsInt() && !c.IsFloat() {
		dt = x.DType.Plane()
	}
	return constant(x, dt, c)
}

// constant is a scalar tensor on the device of x.
func constant(x *uop.UOp, dt *uop.DType, c uop.Const) *uop.UOp {
	return x.Graph().DeviceConst(dt, c, deviceOf(x), nil)
}

// likeConst is a scalar tensor with the type of x.
func likeConst(x *uop.UOp, o operand) *uop.UOp { return constant(x, x.DType, constOf(o)) }

func deviceOf(x *uop.UOp) string {
	if d := x.Device(); d != "" {
		return d
	}
	return DeviceName
}

func asTensor(o, other operand) *uop.UOp {
	if u, ok := o.(*uop.UOp); ok {
		return u
	}
	return scalarFor(other.(*uop.UOp), constOf(o))
}

// matched promotes and broadcasts two operands.
func matched(a, b operand) (x, y *uop.UOp) {
	x, y = asTensor(a, b), asTensor(b, a)
	if x.DType != y.DType {
		up := uop.LeastUpper(x.DType, y.DType)
		x, y = cast(x, up), cast(y, up)
	}
	return spread(x, y)
}

// spread broadcasts two tensors.
func spread(x, y *uop.UOp) (*uop.UOp, *uop.UOp) {
	sx, sy := x.Shape(), y.Shape()
	s, ok := sx, sx.Equal(sy)
	switch {
	case !ok:
		s, ok = broadcastShape(sx, sy)
	case !asTinygrad(x):
		return x, y
	}
	if !ok {
		fail("operands", "shapes %s and %s do not broadcast", sx, sy)
	}
	return spreadTo(x, s), spreadTo(y, s)
}

// spreadTo is broadcastTo. tinygrad broadcasts in the type of sums, as the gradient of a broadcast is a sum; ours adds in that type by itself.
func spreadTo(x *uop.UOp, s uop.Shape) *uop.UOp {
	if asTinygrad(x) {
		return cast(broadcastTo(cast(x, uop.SumAcc(x.DType)), s), x.DType)
	}
	return broadcastTo(x, s)
}

// broadcastShape is the shape that all shapes expand to: aligned at the right, axes of size 1 stretch.
func broadcastShape(shapes ...uop.Shape) (out uop.Shape, ok bool) {
	n := 0
	for _, s := range shapes {
		n = max(n, len(s))
	}
	out = make(uop.Shape, n)
	for i := range out {
		d := uop.N(1)
		for _, s := range shapes {
			j := i - (n - len(s))
			if j < 0 || s[j] == d || s[j].IsNum(1) {
				continue
			}
			if !d.IsNum(1) {
				return nil, false
			}
			d = s[j]
		}
		out[i] = d
	}
	return out, true
}

// Scalar is a number as a constant in an operation with x: of the type of x if x is a float, or if x is an integer and v is no
// float; else of v's own type (bool, int32, float32).
func Scalar(x *uop.UOp, v uop.Const) (r *uop.UOp, err error) {
	defer guard("Scalar", &err)
	need("x", x)
	return scalarFor(x, v), nil
}

// bound is a number as a bound of x. For integers it is the nearest number of their type: no uint8 is below 0, so 0 bounds them
// as -1 does.
func bound(x *uop.UOp, v float64) *uop.UOp {
	if !x.DType.IsInt() || v != math.Trunc(v) || math.IsInf(v, 0) {
		return scalarFor(x, uop.Float(v))
	}
	least, most := x.DType.Min(), x.DType.Max()
	switch {
	case v <= least.F():
		return scalarFor(x, least)
	case v >= most.F():
		return scalarFor(x, most)
	case v >= 1<<63:
		return scalarFor(x, uop.Int(int64(v/2)).Mul(uop.Int(2)))
	}
	return scalarFor(x, uop.Int(int64(v)))
}

// Const is a scalar tensor of a given type. Equal constants are one node.
func Const(g *uop.Graph, dt *uop.DType, v uop.Const) (r *uop.UOp, err error) {
	defer guard("Const", &err)
	needType("dtype", dt)
	return g.DeviceConst(dt, v, DeviceName, nil), nil
}

func needType(arg string, dt *uop.DType) {
	if dt == nil || dt.Count != 1 || dt.IsPtr() || dt == uop.Void || dt == uop.IndexT {
		fail(arg, "is %v, expected a type that a buffer can hold", dt)
	}
}
