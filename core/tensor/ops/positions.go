package ops

import (
	"slices"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Elements are the elements of a buffer that is in memory; ok is false if nobody knows them.
type Elements func(buffer *uop.UOp) (elements []byte, ok bool)

// classes checks class numbers that are in memory: one that does not exist would count as predicted perfectly. ignore is a number that
// does not count.
func (a *Args) classes(arg string, axis int, ignore ...int64) error {
	n, ok := sizeOf(a.X, axis)
	if !ok {
		return nil
	}
	return a.below(arg, a.tensor(arg), n, ignore...)
}

// below checks class numbers from 0 to n-1 that are in memory.
func (a *Args) below(arg string, x *uop.UOp, n int64, ignore ...int64) error {
	if wrong, found := a.Elements.outside(x, 0, n-1, ignore...); found {
		if n < 1 {
			return bad(arg, "class %d is out of range, expected 0 or more", wrong)
		}
		return bad(arg, "class %d is out of range, expected 0 to %d", wrong, n-1)
	}
	return nil
}

// positions checks positions along an axis of x that are in memory: those that do not exist would give 0, or be written nowhere.
func (a *Args) positions(arg string, at *uop.UOp, axis int) error {
	return a.Elements.positions(arg, at, a.X, axis, false)
}

// Items checks the positions of an index expression of x.
func (e Elements) Items(x *uop.UOp, items []tensor.Index) error {
	takes, err := tensor.Takes(x, items...)
	if err != nil {
		return err
	}
	for _, t := range takes {
		if err := e.positions("index", t.Index, x, t.Axis, true); err != nil {
			return err
		}
	}
	return nil
}

// positions checks positions along an axis of x; with fromEnd negative ones count from its end.
func (e Elements) positions(arg string, at, x *uop.UOp, axis int, fromEnd bool) error {
	n, ok := sizeOf(x, axis)
	if !ok {
		return nil
	}
	least := int64(0)
	if fromEnd {
		least = -n
	}
	if wrong, found := e.outside(at, least, n-1); found {
		return bad(arg, "%d is out of bounds for axis %d of size %d", wrong, axis, n)
	}
	return nil
}

// sizeOf is the size of an axis; ok is false if there is no such axis, which the operation tells, or if its size is symbolic.
func sizeOf(x *uop.UOp, axis int) (n int64, ok bool) {
	s := x.Shape()
	if axis < 0 {
		axis += len(s)
	}
	if axis < 0 || axis >= len(s) || s[axis].Symbolic() {
		return 0, false
	}
	return s[axis].N, true
}

// outside finds an element of an integer tensor that is neither from least to most nor ignored, if they are in memory.
func (e Elements) outside(x *uop.UOp, least, most int64, ignore ...int64) (wrong int64, found bool) {
	if x.Graph().IsAsTinygrad() {
		return 0, false // there they give 0, or are written nowhere
	}
	buffer := tensor.ShownBuffer(x)
	if e == nil || buffer == nil || !x.DType.IsInt() {
		return 0, false
	}
	strides, offset, ok, err := tensor.ViewLayout(x, buffer)
	if !ok || err != nil {
		return 0, false
	}
	b, ok := e(buffer)
	if !ok {
		return 0, false
	}
	sizes, _ := x.Shape().Ints()
	v := strided{b, sizes, strides, offset}
	find := func(value int64) bool { return (value < least || value > most) && !slices.Contains(ignore, value) }
	signed := !x.DType.IsUnsigned()
	switch x.DType.Itemsize() {
	case 1:
		return of[int8, uint8](signed)(v, find)
	case 2:
		return of[int16, uint16](signed)(v, find)
	case 4:
		return of[int32, uint32](signed)(v, find)
	}
	return of[int64, uint64](signed)(v, find)
}

// strided are elements of memory with strides.
type strided struct {
	memory         []byte
	sizes, strides []int64
	offset         int64
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func of[S, U integer](signed bool) func(v strided, is func(int64) bool) (int64, bool) {
	if signed {
		return first[S]
	}
	return first[U]
}

// first is the first element that is as asked for.
func first[T integer](v strided, is func(int64) bool) (int64, bool) {
	var item T
	elements := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(v.memory))), len(v.memory)/int(unsafe.Sizeof(item)))
	var walk func(axis int, at int64) (int64, bool)
	walk = func(axis int, at int64) (int64, bool) {
		if axis == len(v.sizes) {
			value := int64(elements[at])
			return value, is(value)
		}
		for range v.sizes[axis] {
			if value, found := walk(axis+1, at); found {
				return value, true
			}
			at += v.strides[axis]
		}
		return 0, false
	}
	return walk(0, v.offset)
}
