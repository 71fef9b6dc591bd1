package ops

import (
	"math"
	"slices"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Elements returns the elements of a buffer if they are in memory; otherwise ok is false.
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
		return 0, false // in this form they give 0, or are written nowhere
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
	within := span{least, uint64(most - least), ignore}
	if most < least {
		within = span{math.MaxInt64, 0, ignore} // no element is in an empty span
	}
	signed := !x.DType.IsUnsigned()
	switch x.DType.Itemsize() {
	case 1:
		return of[int8, uint8](signed)(v, within)
	case 2:
		return of[int16, uint16](signed)(v, within)
	case 4:
		return of[int32, uint32](signed)(v, within)
	}
	return of[int64, uint64](signed)(v, within)
}

// strided are elements of memory with strides.
type strided struct {
	memory         []byte
	sizes, strides []int64
	offset         int64
}

// span is a set of integers: those from least to least + size, and others.
type span struct {
	least  int64
	size   uint64
	others []int64
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func of[S, U integer](signed bool) func(strided, span) (int64, bool) {
	if signed {
		return firstOutside[S]
	}
	return firstOutside[U]
}

// firstOutside is the first element that is not in the span. Large tensors of positions are checked at each use, so the loop over the
// last axis has one comparison for an element.
func firstOutside[T integer](v strided, s span) (int64, bool) {
	var item T
	elements := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(v.memory))), len(v.memory)/int(unsafe.Sizeof(item)))
	// Axes that are contiguous in memory become one.
	sizes, strides := []int64{1}, []int64{1}
	for i, n := range v.sizes {
		last := len(sizes) - 1
		switch {
		case n == 1:
		case sizes[last] == 1 || strides[last] == n*v.strides[i]:
			sizes[last], strides[last] = sizes[last]*n, v.strides[i]
		default:
			sizes, strides = append(sizes, n), append(strides, v.strides[i])
		}
	}
	last := len(sizes) - 1
	var walk func(axis int, at int64) (int64, bool)
	walk = func(axis int, at int64) (int64, bool) {
		stride := strides[axis]
		if axis < last {
			for range sizes[axis] {
				if value, found := walk(axis+1, at); found {
					return value, true
				}
				at += stride
			}
			return 0, false
		}
		if stride == 0 {
			return outsideOf(elements[at:at+min(sizes[axis], 1)], s)
		}
		if stride == 1 {
			return outsideOf(elements[at:at+sizes[axis]], s)
		}
		for range sizes[axis] {
			if value, found := outsideOf(elements[at:at+1], s); found {
				return value, true
			}
			at += stride
		}
		return 0, false
	}
	return walk(0, v.offset)
}

func outsideOf[T integer](elements []T, s span) (int64, bool) {
	least, size := s.least, s.size
	for _, element := range elements {
		if value := int64(element); uint64(value-least) > size && !slices.Contains(s.others, value) {
			return value, true
		}
	}
	return 0, false
}
