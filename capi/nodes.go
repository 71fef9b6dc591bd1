package main

import (
	"math"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/model"
)

// argRecord is PolyArg: the kind, and the words of its union.
type argRecord struct {
	kind int32
	word [4]uint64
}

// Members of the union of PolyArg.
type (
	argInts struct {
		vals *int64
		n    int32
	}
	argReduce struct {
		op   int32
		axes argInts
	}
	argRange struct {
		id    int64
		axis  int32
		extra argInts
	}
	argVar struct {
		name     *byte
		min, max int64
	}
)

// member is the union of an argument as one of its members.
func member[T any](r *argRecord) *T { return (*T)(unsafe.Pointer(&r.word)) }

// argFrom reads a PolyArg.
func argFrom(p unsafe.Pointer) (a model.NodeArg, err error) {
	r := (*argRecord)(p)
	list := func(l argInts, each int32) {
		if l.n > math.MaxInt32/2 {
			err = badArg("arg", "%d numbers are too many", l.n)
			return
		}
		var v []int64
		if v, err = ints("arg", l.vals, l.n*each); err == nil {
			a.Nums = v
		}
	}
	switch a.Kind = model.ArgKind(r.kind); a.Kind {
	case model.ArgNone:
	case model.ArgInt:
		a.Num = *member[int64](r)
	case model.ArgFloat:
		a.Float = *member[float64](r)
	case model.ArgBool:
		a.Num = int64(*member[uint8](r) & 1)
	case model.ArgInts:
		list(*member[argInts](r), 1)
	case model.ArgPairs:
		list(*member[argInts](r), 2)
	case model.ArgString:
		a.Text = goString(*member[*byte](r))
	case model.ArgOp:
		a.Num = int64(*member[int32](r))
	case model.ArgReduce:
		v := member[argReduce](r)
		a.Num = int64(v.op)
		list(v.axes, 1)
	case model.ArgRange:
		v := member[argRange](r)
		a.Num, a.Axis = v.id, uop.AxisType(v.axis)
		list(v.extra, 1)
	case model.ArgVar:
		v := member[argVar](r)
		a.Text, a.Lo, a.Hi = goString(v.name), v.min, v.max
	default:
		err = badArg("arg", "kind %d, expected 0 to %d", r.kind, model.ArgVar)
	}
	return a, err
}

// writeArg writes a PolyArg; memory allocates the arrays and strings it points to.
func writeArg(a model.NodeArg, p unsafe.Pointer, memory func(unsafe.Pointer)) {
	r := (*argRecord)(p)
	*r = argRecord{kind: int32(a.Kind)}
	list := func(each int) argInts {
		if len(a.Nums) == 0 {
			return argInts{}
		}
		q := cMalloc(uintptr(8 * len(a.Nums)))
		memory(q)
		copy(unsafe.Slice((*int64)(q), len(a.Nums)), a.Nums)
		return argInts{(*int64)(q), int32(len(a.Nums) / each)}
	}
	text := func() *byte {
		q := cString(a.Text)
		memory(unsafe.Pointer(q))
		return q
	}
	switch a.Kind {
	case model.ArgInt:
		*member[int64](r) = a.Num
	case model.ArgFloat:
		*member[float64](r) = a.Float
	case model.ArgBool:
		*member[uint8](r) = uint8(a.Num)
	case model.ArgInts:
		*member[argInts](r) = list(1)
	case model.ArgPairs:
		*member[argInts](r) = list(2)
	case model.ArgString:
		*member[*byte](r) = text()
	case model.ArgOp:
		*member[int32](r) = int32(a.Num)
	case model.ArgReduce:
		*member[argReduce](r) = argReduce{int32(a.Num), list(1)}
	case model.ArgRange:
		*member[argRange](r) = argRange{a.Num, int32(a.Axis), list(1)}
	case model.ArgVar:
		*member[argVar](r) = argVar{text(), a.Lo, a.Hi}
	}
}

func makeNode(fn string, ctx uintptr, op int32, dtype unsafe.Pointer, src []uintptr, names []string, arg unsafe.Pointer) uintptr {
	return buildNode(fn, ctx, func(c *context) (value, error) {
		if op < 1 || !nodeOp(op) {
			return value{}, badArg("op", "%d is not an operation, expected 1 to %d", op, uop.NumOps-1)
		}
		dt := must(recordType("dtype", dtype))
		var from []model.Readings // grows with each valid source: a count that is too large ends at the first invalid one
		for i, h := range src {
			name := indexed("src", i)
			if names != nil {
				name = names[i]
			}
			v := must(c.arg(name, h))
			from = append(from, v.Readings)
		}
		a := must(argFrom(arg))
		r, err := model.MakeNode(c.g, uop.Op(op), dt, from, a)
		return value{Readings: r}, err
	})
}

func poly_uop(ctx uintptr, op int32, dtype unsafe.Pointer, src *uintptr, n int32, arg unsafe.Pointer) uintptr {
	if n < 0 || n > 0 && src == nil {
		fail("poly_uop", badArg("src", "%d nodes at NULL", n))
		return 0
	}
	return makeNode("poly_uop", ctx, op, dtype, unsafe.Slice(src, n), nil, arg)
}

func poly_uop0(ctx uintptr, op int32, dtype, arg unsafe.Pointer) uintptr {
	return makeNode("poly_uop0", ctx, op, dtype, nil, nil, arg)
}

func poly_uop1(ctx uintptr, op int32, dtype unsafe.Pointer, s0 uintptr, arg unsafe.Pointer) uintptr {
	return makeNode("poly_uop1", ctx, op, dtype, []uintptr{s0}, []string{"s0"}, arg)
}

func poly_uop2(ctx uintptr, op int32, dtype unsafe.Pointer, s0, s1 uintptr, arg unsafe.Pointer) uintptr {
	return makeNode("poly_uop2", ctx, op, dtype, []uintptr{s0, s1}, []string{"s0", "s1"}, arg)
}

func poly_uop3(ctx uintptr, op int32, dtype unsafe.Pointer, s0, s1, s2 uintptr, arg unsafe.Pointer) uintptr {
	return makeNode("poly_uop3", ctx, op, dtype, []uintptr{s0, s1, s2}, []string{"s0", "s1", "s2"}, arg)
}

func poly_cast(ctx, x uintptr, dtype unsafe.Pointer) uintptr {
	return unary("poly_cast", ctx, x, func(u *uop.UOp) (*uop.UOp, error) {
		dt, err := recordScalar("dtype", dtype)
		if err != nil {
			return nil, err
		}
		return tensor.Cast(u, dt)
	})
}

func poly_const_typed(ctx uintptr, dtype unsafe.Pointer, v float64) uintptr {
	return make1("poly_const_typed", ctx, func(g *uop.Graph) (*uop.UOp, error) {
		dt := must(recordScalar("dtype", dtype))
		return tensor.Const(g, dt, uop.Float(float64(v)))
	})
}

func poly_buffer(ctx uintptr, dtype unsafe.Pointer, size int64) uintptr {
	return make1("poly_buffer", ctx, func(g *uop.Graph) (*uop.UOp, error) {
		dt := must(recordScalar("dtype", dtype))
		return newBuffer(g, size, dt)
	})
}

func poly_uop_dtype(ctx, x uintptr, out unsafe.Pointer) {
	withContext("poly_uop_dtype", ctx, func(c *context) error {
		v, err := c.arg("x", x)
		if err == nil {
			writeType(v.Keep.DType, out)
		}
		return err
	}, func() {})
}

func poly_uop_n_src(ctx, x uintptr) (n int32) {
	withContext("poly_uop_n_src", ctx, func(c *context) error {
		v, err := c.arg("x", x)
		if err == nil {
			src, _ := model.NodeParts(v.Keep)
			n = int32(len(src))
		}
		return err
	}, func() { n = -1 })
	return n
}

func poly_uop_src(ctx, x uintptr, i int32) uintptr {
	return buildNode("poly_uop_src", ctx, func(c *context) (value, error) {
		v := must(c.arg("x", x))
		src, _ := model.NodeParts(v.Keep)
		if i < 0 || int(i) >= len(src) {
			return value{}, badArg("i", "%d is out of range, a %s has %d sources here", i, v.Keep.Op, len(src))
		}
		return single(src[i]), nil
	})
}

func poly_uop_arg(ctx, x uintptr, out unsafe.Pointer) {
	withContext("poly_uop_arg", ctx, func(c *context) error {
		v := must(c.arg("x", x))
		a := c.dataOf(v)
		if a.arg == nil {
			a.arg = a.block(int(unsafe.Sizeof(argRecord{})))
			_, parts := model.NodeParts(v.Keep)
			writeArg(parts, a.arg, a.keep)
		}
		*(*argRecord)(out) = *(*argRecord)(a.arg)
		return nil
	}, func() {})
}

func poly_uop_shape(ctx, x uintptr, dims **int64, ndim *int32) {
	withContext("poly_uop_shape", ctx, func(c *context) error {
		u := must(c.shaped("x", x))
		s := u.Shape()
		if len(s) > 0 {
			p := (*int64)(cMalloc(uintptr(8 * len(s))))
			writeShape(s, p, int32(len(s)))
			store(dims, p)
		}
		*ndim = int32(len(s))
		return nil
	}, func() {})
}
