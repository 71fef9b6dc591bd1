package main

import (
	"unsafe"

	"polygrad/core/uop"
)

// An operand is a tensor argument from C.
type operand struct {
	name string
	h    uintptr
	// NULL is allowed and gives nil.
	optional bool
	// The shape stated by the caller, as in functions of the original interface; NULL states nothing.
	shapeName string
	shape     *int64
	ndim      int32
}

func operandOf(name string, h uintptr) operand { return operand{name: name, h: h} }

func optional(name string, h uintptr) operand { return operand{name: name, h: h, optional: true} }

func shaped(name string, h uintptr, shapeName string, shape *int64, ndim int32) operand {
	return operand{name: name, h: h, shapeName: shapeName, shape: shape, ndim: ndim}
}

// resolve finds the nodes of operands, in their stated shapes.
func (c *context) resolve(ins []operand) ([]*uop.UOp, error) {
	us := make([]*uop.UOp, len(ins))
	for i, in := range ins {
		find := c.arg
		if in.optional {
			find = c.optional
		}
		v, err := find(in.name, in.h)
		if err != nil {
			return nil, err
		}
		if v.Keep == nil {
			continue
		}
		if err := v.tensor(in.name); err != nil {
			return nil, err
		}
		if us[i], err = v.withStatedShape(in.shapeName, in.shape, in.ndim); err != nil {
			return nil, err
		}
	}
	return us, nil
}

// resultShape receives the shape of a result in functions of the original interface; the zero value is for none.
type resultShape struct {
	dims *int64
	ndim *int32
}

// build runs a request that makes a node and writes its shape, or its failure.
func (t resultShape) build(fn string, ctx uintptr, f func(c *context) (*uop.UOp, error)) uintptr {
	h := buildNode(fn, ctx, func(c *context) (value, error) {
		u := must(f(c))
		s := u.Shape()
		writeShape(s, t.dims, maxOutDims)
		if t.ndim != nil {
			*t.ndim = int32(len(s))
		}
		return single(u), nil
	})
	if h == 0 && t.ndim != nil {
		*t.ndim = 0
	}
	return h
}

// compose runs an operation of several tensors with one result.
func compose(fn string, ctx uintptr, t resultShape, f func(us []*uop.UOp) (*uop.UOp, error), ins ...operand) uintptr {
	return t.build(fn, ctx, func(c *context) (*uop.UOp, error) {
		us := must(c.resolve(ins))
		return f(us)
	})
}

// composeAll runs an operation of several tensors with n results, written to out.
func composeAll(fn string, ctx uintptr, out *uintptr, f func(us []*uop.UOp) ([]*uop.UOp, error), ins ...operand) int32 {
	return status(fn, ctx, func(c *context) error {
		if out == nil {
			return badArg("out", "is NULL, expected an array for the results")
		}
		us := must(c.resolve(ins))
		made := must(f(us))
		return c.outAll(singles(made), unsafe.Slice(out, len(made)))
	})
}

// twoResults collects two results.
func twoResults(a, b *uop.UOp, err error) ([]*uop.UOp, error) {
	if err != nil {
		return nil, err
	}
	return []*uop.UOp{a, b}, nil
}
