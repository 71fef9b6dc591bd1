package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

//export go_poly_ctx_new
func go_poly_ctx_new() C.uintptr_t {
	c, err := newContext()
	if err != nil {
		fail("poly_ctx_new", err)
		return 0
	}
	return C.uintptr_t(c.entry.Token())
}

//export go_poly_ctx_destroy
func go_poly_ctx_destroy(ctx C.uintptr_t) {
	if c, err := enter(uintptr(ctx)); err == nil {
		c.destroy()
		c.mu.Unlock()
		for _, m := range c.freedModels {
			m.released()
		}
	}
}

//export go_poly_ctx_live_nodes
func go_poly_ctx_live_nodes(ctx C.uintptr_t) (n C.int64_t) {
	withContext("poly_ctx_live_nodes", ctx, func(c *context) error {
		values, _, _ := c.vars.Counts()
		n = C.int64_t(c.nodes.count + values)
		return nil
	}, func() { n = -1 })
	return n
}

//export go_poly_uop_release
func go_poly_uop_release(ctx, x C.uintptr_t) {
	if c, err := enter(uintptr(ctx)); err == nil {
		c.release(uintptr(x))
		c.mu.Unlock()
	}
}

//export go_poly_uop_release_n
func go_poly_uop_release_n(ctx C.uintptr_t, xs *C.uintptr_t, n C.int) {
	if xs == nil || n <= 0 {
		return
	}
	if c, err := enter(uintptr(ctx)); err == nil {
		for _, x := range unsafe.Slice(xs, n) {
			c.release(uintptr(x))
		}
		c.mu.Unlock()
	}
}

//export go_poly_uop_retain
func go_poly_uop_retain(ctx, x C.uintptr_t) C.uintptr_t {
	return buildNode("poly_uop_retain", ctx, func(c *context) (value, error) { return c.arg("x", uintptr(x)) })
}

// shaped is a node that must have a shape.
func (c *context) shaped(arg string, h C.uintptr_t) (*uop.UOp, error) {
	v, err := c.arg(arg, uintptr(h))
	if err != nil {
		return nil, err
	}
	if v.Keep.DType == uop.Void || v.Keep.Shape() == nil {
		return nil, badArg(arg, "a %s has no shape, expected a tensor", v.Keep.Op)
	}
	return v.Keep, nil
}

//export go_poly_ndim
func go_poly_ndim(ctx, x C.uintptr_t) C.int {
	return describe("poly_ndim", ctx, x, func(*uop.UOp) {})
}

//export go_poly_shape
func go_poly_shape(ctx, x C.uintptr_t, dims *C.int64_t, cap C.int) C.int {
	return describe("poly_shape", ctx, x, func(u *uop.UOp) { writeShape(u.Shape(), dims, cap) })
}

//export go_poly_describe
func go_poly_describe(ctx, x C.uintptr_t, dims *C.int64_t, cap C.int, dtype *C.int) C.int {
	return describe("poly_describe", ctx, x, func(u *uop.UOp) {
		if dtype != nil {
			*dtype = dtypeID(u.DType)
		}
		writeSizes(u.Shape(), dims, cap)
	})
}

// describe tells about a tensor, and returns the number of its dimensions.
func describe(fn string, ctx, x C.uintptr_t, tell func(u *uop.UOp)) (ndim C.int) {
	withContext(fn, ctx, func(c *context) error {
		u := must(c.shaped("x", x))
		ndim = C.int(len(u.Shape()))
		tell(u)
		return nil
	}, func() { ndim = -1 })
	return ndim
}

// writeShape writes the first cap sizes of a shape; symbolic ones as the largest they can be.
func writeShape(s uop.Shape, dims *C.int64_t, cap C.int) {
	if dims == nil {
		return
	}
	n := min(len(s), max(int(cap), 0))
	out := unsafe.Slice(dims, n)
	for i := range out {
		out[i] = C.int64_t(s[i].Max())
	}
}

//export go_poly_numel
func go_poly_numel(ctx, x C.uintptr_t) (n C.int64_t) {
	withContext("poly_numel", ctx, func(c *context) error {
		u, err := c.shaped("x", x)
		if err == nil {
			n = C.int64_t(tensor.Elements(u))
		}
		return err
	}, func() { n = -1 })
	return n
}

//export go_poly_dtype
func go_poly_dtype(ctx, x C.uintptr_t) (id C.int) {
	withContext("poly_dtype", ctx, func(c *context) error {
		v, err := c.arg("x", uintptr(x))
		if err == nil {
			id = dtypeID(v.Keep.DType)
		}
		return err
	}, func() { id = -1 })
	return id
}

//export go_poly_uop_op
func go_poly_uop_op(ctx, x C.uintptr_t) (op C.int) {
	withContext("poly_uop_op", ctx, func(c *context) error {
		v, err := c.arg("x", uintptr(x))
		if err == nil {
			op = C.int(v.Keep.Op)
			if v.Keep.Op == uop.CustomGradient { // which the original interface shows as a CALL
				op = C.int(uop.Call)
			}
		}
		return err
	}, func() { op = -1 })
	return op
}
