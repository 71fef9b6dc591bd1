package tensor

import (
	"fmt"
	"math"

	"polygrad/core/uop"
)

// A STORE fills a whole buffer. A tensor of variable size is the beginning of a buffer for the largest size; storing it is an
// ASSIGN, which keeps the rest.

// MostElements is the greatest number of elements of a shape; an error if it exceeds memory.
func MostElements(s uop.Shape) (n int64, err error) {
	defer guard("MostElements", &err)
	empty := false
	for i, d := range s {
		if d.Max() < 0 {
			fail(fmt.Sprintf("shape[%d]", i), "%s, expected 0 or more", d)
		}
		empty = empty || d.Max() == 0
	}
	if empty {
		return 0, nil
	}
	n = 1
	for _, d := range s {
		if n > math.MaxInt64/8/d.Max() {
			fail("shape", "%s, expected at most %d elements", s, int64(maxElements))
		}
		n *= d.Max()
	}
	return n, nil
}

// Elements is the greatest number of elements of a tensor, -1 for a node without a shape.
func Elements(u *uop.UOp) int64 {
	s := u.Shape()
	if s == nil {
		return -1
	}
	return s.MaxNumel()
}

// Beginning is the part of a buffer for a shape with variables; the buffer has the size of the largest such shape.
func Beginning(buffer *uop.UOp, s uop.Shape) (r *uop.UOp, err error) {
	defer guard("Beginning", &err)
	return beginning(buffer, s), nil
}

func beginning(buffer *uop.UOp, s uop.Shape) *uop.UOp {
	if _, fixed := s.Ints(); fixed {
		if len(s) == 1 { // of all elements, as always
			return buffer
		}
		return buffer.Reshape(s)
	}
	most := make(uop.Shape, len(s))
	bounds := make([]uop.Pair, len(s))
	for i, d := range s {
		most[i] = uop.N(d.Max())
		bounds[i] = uop.Pair{Lo: uop.N(0), Hi: d}
	}
	return shrink(buffer.Reshape(most), bounds)
}

// variableSize reports whether a node is the beginning of a buffer with a variable length.
func variableSize(u *uop.UOp) bool {
	if u.Op != uop.Shrink {
		return false
	}
	_, fixed := u.Shape().Ints()
	for _, p := range u.MovementPairs() {
		if !p.Lo.IsNum(0) {
			return false
		}
	}
	return !fixed
}

// BaseBuffer is the BUFFER under a node that is one, perhaps reshaped or of a variable size; else nil.
func BaseBuffer(u *uop.UOp) *uop.UOp {
	for u.Op == uop.Reshape || variableSize(u) {
		u = u.Src[0]
	}
	if u.Op != uop.Buffer {
		return nil
	}
	return u
}

// Store is the STORE of a value into a buffer, in the order of the elements, or of one element into all. A value of variable size
// is assigned to the beginning.
func Store(target, value *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Store", &err)
	if target.DType.IsComplex() {
		return Store(target.Packed(), cast(value, target.DType).Packed())
	}
	if variableSize(target) {
		return assign(target, value), nil
	}
	buffer := BaseBuffer(target)
	if buffer == nil {
		fail("buf", "is a %s, expected a buffer or a reshaped one", target.Op)
	}
	n, have := Elements(buffer), Elements(value)
	if s := value.Shape(); s != nil && have == n {
		if _, fixed := s.Ints(); !fixed {
			return assign(beginning(buffer, s), value), nil
		}
	}
	if have != n && have != 1 {
		fail("value", "has shape %s, expected %d elements as the buffer has, or one", value.Shape(), n)
	}
	return buffer.Store(value), nil
}

// AssignTo is the ASSIGN of a value to a buffer, to a reshaped one (in the order of the elements), or to a view of one.
func AssignTo(target, value *uop.UOp) (r *uop.UOp, err error) {
	defer guard("AssignTo", &err)
	if target.DType.IsComplex() {
		value = cast(value, target.DType)
		if Elements(value) == Elements(target) {
			value = reshape(value, target.Shape())
		}
		return AssignTo(target.Packed(), broadcastTo(value, target.Shape()).Packed())
	}
	if BaseBuffer(target) == nil {
		return AssignView(target, value)
	}
	return assign(target, value), nil
}

func assign(target, value *uop.UOp) *uop.UOp {
	if value.Shape() == nil {
		fail("value", "a %s has no shape, expected a tensor", value.Op)
	}
	value = cast(value, target.DType)
	if Elements(value) == Elements(target) {
		return target.AssignTo(reshape(value, target.Shape()))
	}
	return target.AssignTo(broadcastTo(value, target.Shape()))
}
