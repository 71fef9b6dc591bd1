package main

import "polygrad/core/uop"

// A value is a node as C means it. Frontends of the original interface reduce
// with poly_reduce_axis, which keeps reduced axes with size 1, and may go on as
// if the axes had disappeared; nothing they send tells which. So a reduction
// has two readings, which are carried along: u, in which the axes stay, and
// drop, in which they are gone (nil where both are the same). Whatever names a
// size decides: a store, a reshape, an expansion, a shape argument. Where both
// readings fit, the axes stay.
type value struct {
	readings
	// host is the BUFFER whose memory the caller has bound for as long as the handle of this value lives.
	host *uop.UOp
}

type readings struct{ u, drop *uop.UOp }

func single(u *uop.UOp) value { return value{readings: readings{u: u}} }

// dropped is the reading without reduced axes.
func (v value) dropped() *uop.UOp {
	if v.drop != nil {
		return v.drop
	}
	return v.u
}

// lift applies an operation to both readings of its operands. A reading in which
// the operation is impossible falls away.
func lift(op func(us []*uop.UOp) (*uop.UOp, error), vs ...value) (value, error) {
	us := make([]*uop.UOp, len(vs))
	two := false
	for i, v := range vs {
		us[i] = v.u
		two = two || v.drop != nil
	}
	keep, err := op(us)
	if !two {
		return single(keep), err
	}
	us = make([]*uop.UOp, len(vs))
	for i, v := range vs {
		us[i] = v.dropped()
	}
	drop, dropErr := op(us)
	switch {
	case err != nil && dropErr != nil:
		return value{}, err
	case err != nil:
		return single(drop), nil
	case dropErr != nil || drop == keep:
		return single(keep), nil
	}
	return value{readings: readings{keep, drop}}, nil
}

// tensor is an error for a node that is none: a STORE, a SINK.
func (v value) tensor(arg string) error {
	if v.u != nil && (v.u.DType == uop.Void || v.u.Shape() == nil) {
		return wrong(arg, "a %s is no tensor", v.u.Op)
	}
	return nil
}

// reading picks the reading for which ok holds, the kept axes first; without one, the kept axes.
func (v value) reading(ok func(u *uop.UOp) bool) *uop.UOp {
	if v.drop != nil && !ok(v.u) && ok(v.drop) {
		return v.drop
	}
	return v.u
}

// withNumel is the reading with a given number of elements.
func (v value) withNumel(n int64) *uop.UOp {
	return v.reading(func(u *uop.UOp) bool { return numel(u) == n })
}

// withNdim is the reading with a given number of axes.
func (v value) withNdim(n int) *uop.UOp {
	return v.reading(func(u *uop.UOp) bool { return len(u.Shape()) == n })
}

// numel is the number of elements of a tensor node, -1 without a shape.
func numel(u *uop.UOp) int64 {
	s := u.Shape()
	if s == nil {
		return -1
	}
	return s.MaxNumel()
}
