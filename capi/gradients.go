package main

import (
	"unsafe"

	"polygrad/capi/original"
	"polygrad/core/gradient"
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

func poly_grad(ctx, y, wrt uintptr) uintptr {
	return buildNode("poly_grad", ctx, func(c *context) (value, error) {
		v := must(c.arg("y", y))
		w := must(c.arg("wrt", wrt))
		loss := must(original.Loss(v.Readings))
		gs := must(gradient.Of(loss, []*uop.UOp{w.Keep}, nil))
		return single(gs[0]), nil
	})
}

func poly_grad_many(ctx, y, seed uintptr, wrts *uintptr, n int32, out *uintptr) int32 {
	return status("poly_grad_many", ctx, func(c *context) error {
		v := must(c.arg("y", y))
		s := must(c.optional("seed", seed))
		switch {
		case n <= 0:
			return badArg("n", "%d nodes, expected 1 or more", n)
		case out == nil:
			return badArg("out", "is NULL, expected room for %d nodes", n)
		}
		ws := must(c.args("wrts", wrts, n))
		targets := make([]*uop.UOp, len(ws))
		for i, w := range ws {
			targets[i] = w.Keep
		}
		loss := v.WithElements(1)
		if s.Keep != nil {
			var err error
			if s.Keep, err = tensor.CastLike(s.Keep, loss); err != nil {
				return &argError{"seed", err}
			}
		}
		gs := must(gradient.Of(loss, targets, s.Keep))
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
