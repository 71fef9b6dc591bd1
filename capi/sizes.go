package main

import (
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A size from C is a number, or POLY_SIZE of a node: the negative of its handle. No valid number collides with it: sizes, paddings
// and indices are far smaller.

// isNode reports whether a number stands for a node.
func isNode(n int64) bool { return n < 0 && handle.Looks(handle.Token(-n)) }

// sizeOf reads one size.
func (c *context) sizeOf(arg string, n int64) (uop.Sint, error) {
	if !isNode(n) {
		return uop.N(n), nil
	}
	v, err := c.arg(arg, uintptr(-n))
	if err != nil {
		return uop.Sint{}, err
	}
	s, err := tensor.SizeOf(v.Keep)
	if err != nil {
		return uop.Sint{}, &argError{arg, err}
	}
	return s, nil
}

// sizeList reads an array of sizes.
func (c *context) sizeList(arg string, p *int64, n int32) (uop.Shape, error) {
	d, err := ints(arg, p, n)
	if err != nil {
		return nil, err
	}
	s := make(uop.Shape, len(d))
	for i, v := range d {
		if s[i], err = c.sizeOf(indexed(arg, i), v); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// sizes reads a shape.
func (c *context) sizes(arg string, p *int64, n int32) (uop.Shape, error) {
	if n > maxDims {
		return nil, badArg(arg, "%d dimensions, expected at most %d", n, maxDims)
	}
	return c.sizeList(arg, p, n)
}

// pairs reads two sizes for each of n axes.
func (c *context) pairs(arg string, p *int64, n int32) ([]uop.Pair, error) {
	if n < 0 || n > maxDims {
		return nil, badArg(arg, "%d pairs, expected 0 to %d", n, maxDims)
	}
	s, err := c.sizeList(arg, p, 2*n)
	if err != nil {
		return nil, err
	}
	out := make([]uop.Pair, n)
	for i := range out {
		out[i] = uop.Pair{Lo: s[2*i], Hi: s[2*i+1]}
	}
	return out, nil
}

// symbolicSize stands for a symbolic size in a shape written for C.
const symbolicSize = -1

// writeSizes writes the first n sizes of a shape, symbolicSize for symbolic ones.
func writeSizes(s uop.Shape, dims *int64, n int32) {
	if dims == nil {
		return
	}
	out := unsafe.Slice(dims, min(len(s), max(int(n), 0)))
	for i := range out {
		if out[i] = s[i].N; s[i].Symbolic() {
			out[i] = symbolicSize
		}
	}
}

func poly_size_of(ctx, x uintptr, axis int32) uintptr {
	return buildNode("poly_size_of", ctx, func(c *context) (value, error) {
		u := must(c.shaped("x", x))
		s := u.Shape()
		if axis < 0 || int(axis) >= len(s) {
			return value{}, badArg("axis", "%d is out of range for %d dimensions", axis, len(s))
		}
		return c.sizeNode(s[axis]), nil
	})
}

// sizeNode is a size as a node.
func (c *context) sizeNode(s uop.Sint) value { return single(s.UOp(c.g)) }

func poly_size_op(ctx uintptr, op int32, a, b int64) uintptr {
	return buildNode("poly_size_op", ctx, func(c *context) (value, error) {
		if op < 0 || op >= int32(tensor.NumSizeOperations) {
			return value{}, badArg("op", "%d, expected 0 to %d", op, tensor.NumSizeOperations-1)
		}
		x := must(c.sizeOf("a", a))
		y := must(c.sizeOf("b", b))
		r := must(tensor.SizeOp(c.g, tensor.SizeOperation(op), x, y))
		return c.sizeNode(r), nil
	})
}

func poly_size_unbind(ctx, x uintptr) uintptr {
	return buildNode("poly_size_unbind", ctx, func(c *context) (value, error) {
		s, err := c.sizeArg(x)
		return c.sizeNode(tensor.Unbound(s)), err
	})
}

func poly_size_bind(ctx, x uintptr, vars unsafe.Pointer, n int32) uintptr {
	return buildNode("poly_size_bind", ctx, func(c *context) (value, error) {
		s := must(c.sizeArg(x))
		values, err := c.variables(vars, n)
		return c.sizeNode(tensor.SizeWith(s, values)), err
	})
}

// sizeArg is the size given by a node.
func (c *context) sizeArg(x uintptr) (uop.Sint, error) {
	v, err := c.arg("x", x)
	if err != nil {
		return uop.Sint{}, err
	}
	s, err := tensor.SizeOf(v.Keep)
	if err != nil {
		return uop.Sint{}, &argError{"x", err}
	}
	return s, nil
}

func poly_size_info(ctx, x uintptr, lo, hi, val *int64) (known int32) {
	withContext("poly_size_info", ctx, func(c *context) error {
		s := must(c.sizeArg(x))
		least, greatest := tensor.SizeBounds(s)
		n, ok := tensor.SizeValue(s)
		for _, w := range []struct {
			to *int64
			n  int64
		}{{lo, least}, {hi, greatest}, {val, n}} {
			if w.to != nil {
				*w.to = w.n
			}
		}
		if ok {
			known = 1
		}
		return nil
	}, func() { known = -1 })
	return known
}

func poly_size_n_variables(ctx, x uintptr) (n int32) {
	withContext("poly_size_n_variables", ctx, func(c *context) error {
		s, err := c.sizeArg(x)
		n = int32(len(tensor.SizeVariables(s)))
		return err
	}, func() { n = -1 })
	return n
}

func poly_size_variable(ctx, x uintptr, i int32, val *int64) uintptr {
	return buildNode("poly_size_variable", ctx, func(c *context) (value, error) {
		s := must(c.sizeArg(x))
		list := tensor.SizeVariables(s)
		if i < 0 || int(i) >= len(list) {
			return value{}, badArg("i", "%d is out of range for %d variables", i, len(list))
		}
		v := list[i]
		if val != nil {
			if *val = v.Value; !v.Bound {
				*val = -1 << 63
			}
		}
		return c.sizeNode(uop.S(v.Variable)), nil
	})
}

func poly_size_text(ctx, x uintptr, out *byte, capacity int32) (n int32) {
	withContext("poly_size_text", ctx, func(c *context) error {
		s := must(c.sizeArg(x))
		text := tensor.SizeString(s)
		n = int32(len(text))
		if out != nil && capacity > 0 {
			room := unsafe.Slice((*byte)(unsafe.Pointer(out)), capacity)
			room[copy(room[:capacity-1], text)] = 0
		}
		return nil
	}, func() { n = -1 })
	return n
}

func poly_size_tensor(ctx uintptr, size int64) uintptr {
	return buildNode("poly_size_tensor", ctx, func(c *context) (value, error) {
		s := must(c.sizeOf("size", size))
		u, err := tensor.FromSize(c.g, s)
		return single(u), err
	})
}

func poly_arange_size(ctx uintptr, dtype int32, start, stop, step int64) uintptr {
	return buildNode("poly_arange_size", ctx, func(c *context) (value, error) {
		dt := must(dtypeOf(dtype))
		var s [3]uop.Sint
		for i, n := range []int64{start, stop, step} {
			s[i] = must(c.sizeOf([]string{"start", "stop", "step"}[i], n))
		}
		u, err := tensor.ArangeSizes(c.g, s[0], s[1], s[2], dt)
		return single(u), err
	})
}
