package model

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Readings are the two meanings of a node from the original interface or one of its files. Its frontends reduce with a node that
// keeps reduced axes with size 1, and then may go on as if the axes were gone; nothing in the graph says which. So a
// reduction carries both: Keep, with the axes, and Drop, without them (nil where both are the same). The first consumer
// that names a size decides: a store, a reshape, an expansion, a shape argument. Where both fit, the axes stay.
type Readings struct{ Keep, Drop *uop.UOp }

// Dropped is the reading without reduced axes.
func (r Readings) Dropped() *uop.UOp {
	if r.Drop != nil {
		return r.Drop
	}
	return r.Keep
}

// Feasible is the readings in which an operation is possible; its error where neither is.
func Feasible(keep, drop *uop.UOp, keepErr, dropErr error) (Readings, error) {
	switch {
	case keepErr != nil && dropErr != nil:
		return Readings{}, keepErr
	case keepErr != nil:
		return Readings{Keep: drop}, nil
	case dropErr != nil || drop == keep:
		return Readings{Keep: keep}, nil
	}
	return Readings{keep, drop}, nil
}

// Lift applies an operation to both readings of its operands.
func Lift(op func(us []*uop.UOp) (*uop.UOp, error), rs ...Readings) (Readings, error) {
	us := make([]*uop.UOp, len(rs))
	two := false
	for i, r := range rs {
		us[i] = r.Keep
		two = two || r.Drop != nil
	}
	keep, err := op(us)
	if !two {
		return Readings{Keep: keep}, err
	}
	us = make([]*uop.UOp, len(rs))
	for i, r := range rs {
		us[i] = r.Dropped()
	}
	drop, dropErr := op(us)
	return Feasible(keep, drop, err, dropErr)
}

// Where is the first reading for which ok holds, Keep if there is none.
func (r Readings) Where(ok func(u *uop.UOp) bool) *uop.UOp {
	if r.Drop != nil && !ok(r.Keep) && ok(r.Drop) {
		return r.Drop
	}
	return r.Keep
}

// WithElements is the reading with n elements.
func (r Readings) WithElements(n int64) *uop.UOp {
	return r.Where(func(u *uop.UOp) bool { return tensor.Elements(u) == n })
}

// WithAxes is the reading with n axes.
func (r Readings) WithAxes(n int) *uop.UOp {
	return r.Where(func(u *uop.UOp) bool { return len(u.Shape()) == n })
}

// WithShape is the reading with the shape s, or else with as many elements.
func (r Readings) WithShape(s uop.Shape) *uop.UOp {
	if u := r.Where(func(u *uop.UOp) bool { return u.Shape().Equal(s) }); u.Shape().Equal(s) {
		return u
	}
	return r.WithElements(s.MaxNumel())
}

// For is the reading to store in a target: for a buffer the number of elements decides, for a view of one the shape.
func (r Readings) For(target *uop.UOp) *uop.UOp {
	if r.Drop == nil || tensor.BaseBuffer(target) != nil {
		return r.WithElements(tensor.Elements(target))
	}
	return r.Where(func(u *uop.UOp) bool { return u.Shape().Equal(target.Shape()) })
}
