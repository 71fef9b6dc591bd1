package main

/*
#include <stdint.h>
*/
import "C"

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
func (c *context) sizeList(arg string, p *C.int64_t, n C.int) (uop.Shape, error) {
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
func (c *context) sizes(arg string, p *C.int64_t, n C.int) (uop.Shape, error) {
	if n > maxDims {
		return nil, badArg(arg, "%d dimensions, expected at most %d", n, maxDims)
	}
	return c.sizeList(arg, p, n)
}

// pairs reads two sizes for each of n axes.
func (c *context) pairs(arg string, p *C.int64_t, n C.int) ([]uop.Pair, error) {
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
func writeSizes(s uop.Shape, dims *C.int64_t, n C.int) {
	if dims == nil {
		return
	}
	out := unsafe.Slice(dims, min(len(s), max(int(n), 0)))
	for i := range out {
		if out[i] = C.int64_t(s[i].N); s[i].Symbolic() {
			out[i] = symbolicSize
		}
	}
}

//export go_poly_size_of
func go_poly_size_of(ctx, x C.uintptr_t, axis C.int) C.uintptr_t {
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

//export go_poly_size_op
func go_poly_size_op(ctx C.uintptr_t, op C.int, a, b C.int64_t) C.uintptr_t {
	return buildNode("poly_size_op", ctx, func(c *context) (value, error) {
		if op < 0 || op >= C.int(tensor.NumSizeOperations) {
			return value{}, badArg("op", "%d, expected 0 to %d", op, tensor.NumSizeOperations-1)
		}
		x := must(c.sizeOf("a", int64(a)))
		y := must(c.sizeOf("b", int64(b)))
		r := must(tensor.SizeOp(c.g, tensor.SizeOperation(op), x, y))
		return c.sizeNode(r), nil
	})
}

//export go_poly_size_unbind
func go_poly_size_unbind(ctx, x C.uintptr_t) C.uintptr_t {
	return buildNode("poly_size_unbind", ctx, func(c *context) (value, error) {
		s, err := c.sizeArg(x)
		return c.sizeNode(tensor.Unbound(s)), err
	})
}

//export go_poly_size_bind
func go_poly_size_bind(ctx, x C.uintptr_t, vars unsafe.Pointer, n C.int) C.uintptr_t {
	return buildNode("poly_size_bind", ctx, func(c *context) (value, error) {
		s := must(c.sizeArg(x))
		values, err := c.variables(vars, n)
		return c.sizeNode(tensor.SizeWith(s, values)), err
	})
}

// sizeArg is the size given by a node.
func (c *context) sizeArg(x C.uintptr_t) (uop.Sint, error) {
	v, err := c.arg("x", uintptr(x))
	if err != nil {
		return uop.Sint{}, err
	}
	s, err := tensor.SizeOf(v.Keep)
	if err != nil {
		return uop.Sint{}, &argError{"x", err}
	}
	return s, nil
}

//export go_poly_size_info
func go_poly_size_info(ctx, x C.uintptr_t, lo, hi, val *C.int64_t) (known C.int) {
	withContext("poly_size_info", ctx, func(c *context) error {
		s := must(c.sizeArg(x))
		least, greatest := tensor.SizeBounds(s)
		n, ok := tensor.SizeValue(s)
		for _, w := range []struct {
			to *C.int64_t
			n  int64
		}{{lo, least}, {hi, greatest}, {val, n}} {
			if w.to != nil {
				*w.to = C.int64_t(w.n)
			}
		}
		if ok {
			known = 1
		}
		return nil
	}, func() { known = -1 })
	return known
}

//export go_poly_size_n_variables
func go_poly_size_n_variables(ctx, x C.uintptr_t) (n C.int) {
	withContext("poly_size_n_variables", ctx, func(c *context) error {
		s, err := c.sizeArg(x)
		n = C.int(len(tensor.SizeVariables(s)))
		return err
	}, func() { n = -1 })
	return n
}

//export go_poly_size_variable
func go_poly_size_variable(ctx, x C.uintptr_t, i C.int, val *C.int64_t) C.uintptr_t {
	return buildNode("poly_size_variable", ctx, func(c *context) (value, error) {
		s := must(c.sizeArg(x))
		list := tensor.SizeVariables(s)
		if i < 0 || int(i) >= len(list) {
			return value{}, badArg("i", "%d is out of range for %d variables", i, len(list))
		}
		v := list[i]
		if val != nil {
			if *val = C.int64_t(v.Value); !v.Bound {
				*val = -1 << 63
			}
		}
		return c.sizeNode(uop.S(v.Variable)), nil
	})
}

//export go_poly_size_text
func go_poly_size_text(ctx, x C.uintptr_t, out *C.char, capacity C.int) (n C.int) {
	withContext("poly_size_text", ctx, func(c *context) error {
		s := must(c.sizeArg(x))
		text := tensor.SizeString(s)
		n = C.int(len(text))
		if out != nil && capacity > 0 {
			room := unsafe.Slice((*byte)(unsafe.Pointer(out)), capacity)
			room[copy(room[:capacity-1], text)] = 0
		}
		return nil
	}, func() { n = -1 })
	return n
}

//export go_poly_size_tensor
func go_poly_size_tensor(ctx C.uintptr_t, size C.int64_t) C.uintptr_t {
	return buildNode("poly_size_tensor", ctx, func(c *context) (value, error) {
		s := must(c.sizeOf("size", int64(size)))
		u, err := tensor.FromSize(c.g, s)
		return single(u), err
	})
}

//export go_poly_arange_size
func go_poly_arange_size(ctx C.uintptr_t, dtype C.int, start, stop, step C.int64_t) C.uintptr_t {
	return buildNode("poly_arange_size", ctx, func(c *context) (value, error) {
		dt := must(dtypeOf(dtype))
		var s [3]uop.Sint
		for i, n := range []C.int64_t{start, stop, step} {
			s[i] = must(c.sizeOf([]string{"start", "stop", "step"}[i], int64(n)))
		}
		u, err := tensor.ArangeSizes(c.g, s[0], s[1], s[2], dt)
		return single(u), err
	})
}
