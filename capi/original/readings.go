// Package original is what only the original interface has: its frontends mean things that nothing they send says, and
// some of its functions have rules of their own.
package original

import (
	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Readings are a node as frontends of the original interface may mean it. They reduce with poly_reduce_axis, which keeps
// reduced axes with size 1, and may go on as if the axes had disappeared; nothing they send tells which. So a reduction
// has two readings, which are carried along: Keep, in which the axes stay, and Drop, in which they are gone (nil where
// both are the same). Whatever names a size decides: a store, a reshape, an expansion, a shape argument. Where both
// readings fit, the axes stay.
type Readings struct{ Keep, Drop *uop.UOp }

// dropped is the reading without reduced axes.
func (r Readings) dropped() *uop.UOp {
	if r.Drop != nil {
		return r.Drop
	}
	return r.Keep
}

// either is what two readings of an operation come to. One in which the operation is impossible falls away.
func either(keep, drop *uop.UOp, keepErr, dropErr error) (Readings, error) {
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
		us[i] = r.dropped()
	}
	drop, dropErr := op(us)
	return either(keep, drop, err, dropErr)
}

// That picks the reading for which ok holds, the kept axes first; without one, the kept axes.
func (r Readings) That(ok func(u *uop.UOp) bool) *uop.UOp {
	if r.Drop != nil && !ok(r.Keep) && ok(r.Drop) {
		return r.Drop
	}
	return r.Keep
}

// WithElements is the reading with a given number of elements.
func (r Readings) WithElements(n int64) *uop.UOp {
	return r.That(func(u *uop.UOp) bool { return tensor.Elements(u) == n })
}

// WithAxes is the reading with a given number of axes.
func (r Readings) WithAxes(n int) *uop.UOp {
	return r.That(func(u *uop.UOp) bool { return len(u.Shape()) == n })
}

// WithShape is the reading with a shape, or else with as many elements.
func (r Readings) WithShape(s uop.Shape) *uop.UOp {
	if u := r.That(func(u *uop.UOp) bool { return u.Shape().Equal(s) }); u.Shape().Equal(s) {
		return u
	}
	return r.WithElements(s.MaxNumel())
}

// For is the reading that is stored in a target: a buffer takes as many elements as it has, a view of one its shape.
func (r Readings) For(target *uop.UOp) *uop.UOp {
	if r.Drop == nil || tensor.BaseBuffer(target) != nil {
		return r.WithElements(tensor.Elements(target))
	}
	return r.That(func(u *uop.UOp) bool { return u.Shape().Equal(target.Shape()) })
}
