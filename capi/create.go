package main

import (
	"math"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/model"
)

// make1 runs a request that makes a node from numbers.
func make1(fn string, ctx uintptr, f func(g *uop.Graph) (*uop.UOp, error)) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		u, err := f(c.g)
		return single(u), err
	})
}

func constant(fn string, ctx uintptr, dtype int32, v uop.Const) uintptr {
	return make1(fn, ctx, func(g *uop.Graph) (*uop.UOp, error) {
		dt := must(bufferType(dtype))
		return tensor.Const(g, dt, v)
	})
}

// Numbers of data types (PolyDTypeId).
const (
	dtypeInt32   = 6
	dtypeUint64  = 9
	dtypeFloat32 = 12
	dtypeFloat64 = 13
)

func poly_const_float(ctx uintptr, v float64) uintptr {
	return constant("poly_const_float", ctx, dtypeFloat32, uop.Float(float64(v)))
}

func poly_const_double(ctx uintptr, v float64) uintptr {
	return constant("poly_const_double", ctx, dtypeFloat64, uop.Float(float64(v)))
}

func poly_const_int(ctx uintptr, v int64) uintptr {
	return constant("poly_const_int", ctx, dtypeInt32, uop.Int(v))
}

func poly_const_by_id(ctx uintptr, dtype int32, v float64) uintptr {
	return constant("poly_const_by_id", ctx, dtype, uop.Float(float64(v)))
}

func poly_const_int_by_id(ctx uintptr, dtype int32, v int64) uintptr {
	return constant("poly_const_int_by_id", ctx, dtype, integer(dtype, v))
}

// integer is an integer of a type: the 64 bits are unsigned for uint64.
func integer(dtype int32, v int64) uop.Const {
	if dtype == dtypeUint64 {
		return uop.Uint(uint64(v))
	}
	return uop.Int(v)
}

func poly_const_like_float(ctx, x uintptr, v float64) uintptr {
	return constLike("poly_const_like_float", ctx, x, uop.Float(float64(v)))
}

func poly_const_like_int(ctx, x uintptr, v int64) uintptr {
	return constLike("poly_const_like_int", ctx, x, uop.Int(v))
}

func poly_const_like_bool(ctx, x uintptr, v int32) uintptr {
	return constLike("poly_const_like_bool", ctx, x, uop.BoolConst(v != 0))
}

func constLike(fn string, ctx, x uintptr, v uop.Const) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		of := must(c.arg("x", x))
		_, u, err := tensor.Meet(of.Keep, v, tensor.BeyondWraps)
		return single(u), err
	})
}

func buffer(fn string, ctx uintptr, size int64, dtype int32) uintptr {
	return make1(fn, ctx, func(g *uop.Graph) (*uop.UOp, error) {
		dt := must(bufferType(dtype))
		return newBuffer(g, size, dt)
	})
}

func newBuffer(g *uop.Graph, size int64, dt *uop.DType) (*uop.UOp, error) {
	if size < 0 || size > math.MaxInt64/8 {
		return nil, badArg("size", "%d elements, expected 0 to %d", size, math.MaxInt64/8)
	}
	return g.NewBuffer(tensor.DeviceName, size, dt), nil
}

func poly_buffer_f32(ctx uintptr, size int64) uintptr {
	return buffer("poly_buffer_f32", ctx, size, dtypeFloat32)
}

func poly_buffer_f64(ctx uintptr, size int64) uintptr {
	return buffer("poly_buffer_f64", ctx, size, dtypeFloat64)
}

func poly_buffer_by_id(ctx uintptr, size int64, dtype int32) uintptr {
	return buffer("poly_buffer_by_id", ctx, size, dtype)
}

func poly_buffer_host(ctx uintptr, dtype int32, shape *int64, ndim int32, data unsafe.Pointer, nbytes uintptr) uintptr {
	return buildNode("poly_buffer_host", ctx, func(c *context) (value, error) {
		dt := must(bufferType(dtype))
		s := must(c.sizes("shape", shape, ndim))
		v, err := c.hostBuffer(dt, s, data, nbytes)
		return v, err
	})
}

// hostBuffer makes a tensor on the caller's memory.
func (c *context) hostBuffer(dt *uop.DType, s uop.Shape, data unsafe.Pointer, nbytes uintptr) (value, error) {
	n, err := tensor.MostElements(s)
	if err != nil {
		return value{}, err
	}
	size := uintptr(n) * uintptr(dt.Itemsize())
	switch {
	case size > 0 && data == nil:
		return value{}, badArg("data", "is NULL, expected %d bytes", size)
	case nbytes < size:
		return value{}, badArg("nbytes", "%d bytes, but %s of shape %s needs %d", nbytes, dtypeName(dt), s, size)
	case size > 0 && uintptr(data)%uintptr(dt.Itemsize()) != 0:
		return value{}, badArg("data", "is not aligned to %d bytes", dt.Itemsize())
	}
	b := c.g.NewBuffer(tensor.DeviceName, n, dt)
	u, err := tensor.Beginning(b, s)
	if err != nil {
		return value{}, err
	}
	c.host[b] = hostMemory{data: data, nbytes: nbytes}
	return value{Readings: model.Readings{Keep: u}, host: b}, nil
}

func poly_define_var(ctx uintptr, name *byte, lo, hi int64) uintptr {
	return make1("poly_define_var", ctx, func(g *uop.Graph) (*uop.UOp, error) {
		text := goString(name)
		if text == "" {
			return nil, badArg("name", "is empty")
		}
		if lo > hi || lo < math.MinInt32 || hi > math.MaxInt32 {
			return nil, badArg("lo", "%d to %d, expected an interval of int32", lo, hi)
		}
		return g.Variable(text, uop.Int(lo), uop.Int(hi), uop.Int32), nil
	})
}

func poly_bind_var(ctx, x uintptr, v int64) uintptr {
	return buildNode("poly_bind_var", ctx, func(c *context) (value, error) {
		u := must(c.variable("var", x))
		a := u.Arg.(uop.VarArg)
		if k := uop.Int(v); k.Less(a.Min) || a.Max.Less(k) {
			return value{}, badArg("value", "%d is outside of %s", v, a)
		}
		return single(c.g.New(uop.Bind, u.DType, []*uop.UOp{u, c.g.Const(u.DType, uop.Int(v))}, nil, nil)), nil
	})
}

// size is a variable of this context, with its default value bound if it has one.
func (c *context) size(arg string, h uintptr) (v, bound *uop.UOp, err error) {
	x, err := c.arg(arg, h)
	if err != nil {
		return nil, nil, err
	}
	if x.Keep.Op == uop.Bind {
		return x.Keep.Src[0], x.Keep, nil
	}
	v, err = c.variable(arg, h)
	return v, v, err
}

// variable is a DEFINE_VAR of this context.
func (c *context) variable(arg string, h uintptr) (*uop.UOp, error) {
	v, err := c.arg(arg, h)
	if err != nil {
		return nil, err
	}
	u := v.Keep
	if u.Op == uop.Cast { // as a size
		u = u.Src[0]
	}
	if u.Op != uop.DefineVar {
		return nil, badArg(arg, "is a %s, expected a variable (poly_define_var)", v.Keep.Op)
	}
	return u, nil
}

func poly_buffer_var(ctx uintptr, dtype unsafe.Pointer, x uintptr, inner *int64, n int32) uintptr {
	return buildNode("poly_buffer_var", ctx, func(c *context) (value, error) {
		dt := must(recordScalar("dtype", dtype))
		v, bound, err := c.size("var", x)
		if err != nil {
			return value{}, err
		}
		s := must(sizes("inner", inner, n))
		count := must(tensor.MostElements(s))
		most, _ := v.Arg.(uop.VarArg).Max.Int64()
		if most < 0 || v.Arg.(uop.VarArg).Min.Sign() < 0 {
			return value{}, badArg("var", "%s is from %s to %s, expected a size: 0 or more", v.Arg.(uop.VarArg).Name, v.Arg.(uop.VarArg).Min, v.Arg.(uop.VarArg).Max)
		}
		b := c.g.NewBuffer(tensor.DeviceName, most*count, dt)
		u, err := tensor.Beginning(b, append(uop.Shape{uop.S(bound)}, s...))
		return single(u), err
	})
}

// filled runs a request with a type and a shape.
func filled(fn string, ctx uintptr, dtype int32, shape *int64, ndim int32, f func(g *uop.Graph, dt *uop.DType, s uop.Shape) (*uop.UOp, error)) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		dt := must(bufferType(dtype))
		s := must(c.sizes("shape", shape, ndim))
		must(tensor.MostElements(s))
		u, err := f(c.g, dt, s)
		return single(u), err
	})
}

func full(fn string, ctx uintptr, dtype int32, shape *int64, ndim int32, v uop.Const) uintptr {
	return filled(fn, ctx, dtype, shape, ndim, func(g *uop.Graph, dt *uop.DType, s uop.Shape) (*uop.UOp, error) {
		return tensor.Full(g, s, v, dt)
	})
}

func poly_full(ctx uintptr, shape *int64, ndim int32, v float64) uintptr {
	return full("poly_full", ctx, dtypeFloat32, shape, ndim, uop.Float(float64(v)))
}

func poly_full_by_id(ctx uintptr, dtype int32, shape *int64, ndim int32, v float64) uintptr {
	return full("poly_full_by_id", ctx, dtype, shape, ndim, uop.Float(float64(v)))
}

func poly_full_int_by_id(ctx uintptr, dtype int32, shape *int64, ndim int32, v int64) uintptr {
	return full("poly_full_int_by_id", ctx, dtype, shape, ndim, integer(dtype, v))
}

func arange(fn string, ctx uintptr, dtype int32, start, stop, step float64) uintptr {
	return make1(fn, ctx, func(g *uop.Graph) (*uop.UOp, error) {
		dt := must(bufferType(dtype))
		number := func(v float64) uop.Const {
			if f := float64(v); dt.IsInt() && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
				return uop.Int(int64(f))
			}
			return uop.Float(float64(v))
		}
		return tensor.Arange(g, number(start), number(stop), number(step), dt)
	})
}

func poly_arange(ctx uintptr, start, stop, step float64) uintptr {
	return arange("poly_arange", ctx, dtypeFloat32, start, stop, step)
}

func poly_arange_by_id(ctx uintptr, dtype int32, start, stop, step float64) uintptr {
	return arange("poly_arange_by_id", ctx, dtype, start, stop, step)
}

func linspace(fn string, ctx uintptr, dtype int32, start, stop float64, steps int64) uintptr {
	return make1(fn, ctx, func(g *uop.Graph) (*uop.UOp, error) {
		dt := must(bufferType(dtype))
		return tensor.Linspace(g, uop.Float(float64(start)), uop.Float(float64(stop)), steps, dt)
	})
}

func poly_linspace(ctx uintptr, start, stop float64, steps int64) uintptr {
	return linspace("poly_linspace", ctx, dtypeFloat32, start, stop, steps)
}

func poly_linspace_by_id(ctx uintptr, dtype int32, start, stop float64, steps int64) uintptr {
	return linspace("poly_linspace_by_id", ctx, dtype, start, stop, steps)
}

func eye(fn string, ctx uintptr, dtype int32, n, m int64) uintptr {
	return make1(fn, ctx, func(g *uop.Graph) (*uop.UOp, error) {
		dt := must(bufferType(dtype))
		return tensor.Eye(g, n, m, dt)
	})
}

func poly_eye(ctx uintptr, n int64) uintptr {
	return eye("poly_eye", ctx, dtypeFloat32, n, n)
}

func poly_eye_by_id(ctx uintptr, dtype int32, n, m int64) uintptr {
	return eye("poly_eye_by_id", ctx, dtype, n, m)
}
