package main

/*
#include <stdint.h>
*/
import "C"

import (
	"unsafe"

	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// toDifferentiate is the reading of y that a gradient is taken of: the one that is a number, if one is.
func (v value) toDifferentiate() *uop.UOp { return v.withNumel(1) }

//export go_poly_grad
func go_poly_grad(ctx, y, wrt C.uintptr_t) C.uintptr_t {
	return build("poly_grad", ctx, func(c *context) (value, error) {
		v, err := c.arg("y", uintptr(y))
		if err != nil {
			return value{}, err
		}
		w, err := c.arg("wrt", uintptr(wrt))
		if err != nil {
			return value{}, err
		}
		loss := v.toDifferentiate()
		if loss.Shape() != nil && !loss.DType.IsFloat() {
			// A comparison or a count has a derivative too: 0.
			if loss, err = tensor.Cast(loss, uop.Float32); err != nil {
				return value{}, err
			}
		}
		gs, err := gradient.Of(loss, []*uop.UOp{w.u}, nil)
		if err != nil {
			return value{}, err
		}
		return single(gs[0]), nil
	})
}

//export go_poly_grad_many
func go_poly_grad_many(ctx, y, seed C.uintptr_t, wrts *C.uintptr_t, n C.int, out *C.uintptr_t) C.int {
	return status("poly_grad_many", ctx, func(c *context) error {
		v, err := c.arg("y", uintptr(y))
		if err != nil {
			return err
		}
		s, err := c.optional("seed", uintptr(seed))
		if err != nil {
			return err
		}
		switch {
		case n <= 0:
			return wrong("n", "%d nodes, expected 1 or more", n)
		case out == nil:
			return wrong("out", "is NULL, expected room for %d nodes", n)
		}
		ws, err := c.args("wrts", wrts, n)
		if err != nil {
			return err
		}
		targets := make([]*uop.UOp, len(ws))
		for i, w := range ws {
			targets[i] = w.u
		}
		loss := v.toDifferentiate()
		if s.u != nil {
			if s.u, err = tensor.Cast(s.u, loss.DType); err != nil {
				return &argError{"seed", err}
			}
			if !s.u.Shape().Equal(loss.Shape()) {
				if s.u, err = tensor.Expand(s.u, loss.Shape()); err != nil {
					return &argError{"seed", err}
				}
			}
		}
		gs, err := gradient.Of(loss, targets, s.u)
		if err != nil {
			return err
		}
		return c.outAll(singles(gs), unsafe.Slice(out, n))
	})
}

func singles(us []*uop.UOp) []value {
	vs := make([]value, len(us))
	for i, u := range us {
		vs[i] = single(u)
	}
	return vs
}
