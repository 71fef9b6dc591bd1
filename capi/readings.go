package main

import (
	"polygrad/core/uop"
	"polygrad/model"
)

// A value is a node as seen from C, in both readings of the original interface.
type value struct {
	model.Readings
	// host is the BUFFER on memory of the caller, bound for the lifetime of this value's handle.
	host *uop.UOp
}

func single(u *uop.UOp) value { return value{Readings: model.Readings{Keep: u}} }

// lift applies an operation to both readings of its operands.
func lift(op func(us []*uop.UOp) (*uop.UOp, error), vs ...value) (value, error) {
	rs := make([]model.Readings, len(vs))
	for i, v := range vs {
		rs[i] = v.Readings
	}
	r, err := model.Lift(op, rs...)
	return value{Readings: r}, err
}

// tensor is an error for other nodes: STORE, SINK.
func (v value) tensor(arg string) error {
	if v.Keep != nil && (v.Keep.DType == uop.Void || v.Keep.Shape() == nil) {
		return badArg(arg, "a %s is no tensor", v.Keep.Op)
	}
	return nil
}
