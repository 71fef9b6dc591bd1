package main

import (
	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

func poly_uop_print(ctx, x uintptr) (text *byte) {
	withContext("poly_uop_print", ctx, func(c *context) error {
		v, err := c.arg("x", x)
		if err == nil {
			text = cString(v.Keep.Dump())
		}
		return err
	}, func() {})
	return text
}

func poly_uop_substitute(ctx, root uintptr, from, to *uintptr, n int32) uintptr {
	return buildNode("poly_uop_substitute", ctx, func(c *context) (value, error) {
		r, err := c.arg("root", root)
		if err != nil || n <= 0 {
			return r, err
		}
		fs := must(c.args("from", from, n))
		ts := must(c.args("to", to, n))
		m := make(map[*uop.UOp]*uop.UOp, n)
		for i, f := range fs {
			if !f.Keep.Shape().Equal(ts[i].Keep.Shape()) || f.Keep.DType != ts[i].Keep.DType {
				return value{}, badArg(indexed("to", i), "is %s %s, expected %s %s as from has",
					ts[i].Keep.DType, ts[i].Keep.Shape(), f.Keep.DType, f.Keep.Shape())
			}
			if f.Keep != ts[i].Keep {
				m[f.Keep] = ts[i].Keep
			}
		}
		for i, f := range fs {
			if m[f.Keep] != nil && returns(m, f.Keep) {
				return value{}, badArg(indexed("to", i), "leads back to from[%d], which would be replaced without end", i)
			}
		}
		return single(rewrite.Substitute(r.Keep, m)), nil
	})
}

// returns reports whether a replacement of u contains u, also after other replacements.
func returns(m map[*uop.UOp]*uop.UOp, u *uop.UOp) bool {
	seen := map[*uop.UOp]bool{}
	todo := []*uop.UOp{u}
	for len(todo) > 0 {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, n := range m[last].Toposort() {
			if n == u {
				return true
			}
			if m[n] != nil && !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	return false
}
