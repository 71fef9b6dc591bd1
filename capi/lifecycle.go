package main

import (
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func poly_ctx_new() uintptr {
	c, err := newContext()
	if err != nil {
		fail("poly_ctx_new", err)
		return 0
	}
	return uintptr(c.entry.Token())
}

func poly_ctx_destroy(ctx uintptr) {
	if c, err := enter(ctx); err == nil {
		c.destroy()
		c.mu.Unlock()
		for _, m := range c.freedModels {
			m.released()
		}
	}
}

func poly_ctx_live_nodes(ctx uintptr) (n int64) {
	withContext("poly_ctx_live_nodes", ctx, func(c *context) error {
		values, _, _ := c.vars.Counts()
		n = int64(c.nodes.count + values)
		return nil
	}, func() { n = -1 })
	return n
}

func poly_uop_release(ctx, x uintptr) {
	if c, err := enter(ctx); err == nil {
		c.release(x)
		c.mu.Unlock()
	}
}

func poly_uop_release_n(ctx uintptr, xs *uintptr, n int32) {
	if xs == nil || n <= 0 {
		return
	}
	if c, err := enter(ctx); err == nil {
		for _, x := range unsafe.Slice(xs, n) {
			c.release(x)
		}
		c.mu.Unlock()
	}
}

func poly_uop_retain(ctx, x uintptr) uintptr {
	return buildNode("poly_uop_retain", ctx, func(c *context) (value, error) { return c.arg("x", x) })
}

// shaped is a node that must have a shape.
func (c *context) shaped(arg string, h uintptr) (*uop.UOp, error) {
	v, err := c.arg(arg, h)
	if err != nil {
		return nil, err
	}
	if v.Keep.DType == uop.Void || v.Keep.Shape() == nil {
		return nil, badArg(arg, "a %s has no shape, expected a tensor", v.Keep.Op)
	}
	return v.Keep, nil
}

func poly_ndim(ctx, x uintptr) int32 {
	return describe("poly_ndim", ctx, x, func(*uop.UOp) {})
}

func poly_shape(ctx, x uintptr, dims *int64, cap int32) int32 {
	return describe("poly_shape", ctx, x, func(u *uop.UOp) { writeShape(u.Shape(), dims, cap) })
}

func poly_describe(ctx, x uintptr, dims *int64, cap int32, dtype *int32) int32 {
	return describe("poly_describe", ctx, x, func(u *uop.UOp) {
		if dtype != nil {
			*dtype = dtypeID(u.DType)
		}
		writeSizes(u.Shape(), dims, cap)
	})
}

// describe tells about a tensor, and returns the number of its dimensions.
func describe(fn string, ctx, x uintptr, tell func(u *uop.UOp)) (ndim int32) {
	withContext(fn, ctx, func(c *context) error {
		u := must(c.shaped("x", x))
		ndim = int32(len(u.Shape()))
		tell(u)
		return nil
	}, func() { ndim = -1 })
	return ndim
}

// writeShape writes the first cap sizes of a shape; symbolic ones as the largest they can be.
func writeShape(s uop.Shape, dims *int64, cap int32) {
	if dims == nil {
		return
	}
	n := min(len(s), max(int(cap), 0))
	out := unsafe.Slice(dims, n)
	for i := range out {
		out[i] = s[i].Max()
	}
}

func poly_numel(ctx, x uintptr) (n int64) {
	withContext("poly_numel", ctx, func(c *context) error {
		u, err := c.shaped("x", x)
		if err == nil {
			n = tensor.Elements(u)
		}
		return err
	}, func() { n = -1 })
	return n
}

func poly_dtype(ctx, x uintptr) (id int32) {
	withContext("poly_dtype", ctx, func(c *context) error {
		v, err := c.arg("x", x)
		if err == nil {
			id = dtypeID(v.Keep.DType)
		}
		return err
	}, func() { id = -1 })
	return id
}

func poly_uop_op(ctx, x uintptr) (op int32) {
	withContext("poly_uop_op", ctx, func(c *context) error {
		v, err := c.arg("x", x)
		if err == nil {
			op = int32(v.Keep.Op)
			if v.Keep.Op == uop.CustomGradient { // which the original interface shows as a CALL
				op = int32(uop.Call)
			}
		}
		return err
	}, func() { op = -1 })
	return op
}
