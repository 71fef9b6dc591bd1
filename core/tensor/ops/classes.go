package ops

import (
	"unsafe"

	"polygrad/core/uop"
)

// classes checks class numbers that are in memory: one that does not exist would count as predicted perfectly. ignore is a number that
// does not count.
func (a *Args) classes(arg string, axis int, ignore *int64) error {
	y, s := a.tensor(arg), a.X.Shape()
	if axis < 0 {
		axis += len(s)
	}
	if a.Elements == nil || !y.DType.IsInt() || axis < 0 || axis >= len(s) {
		return nil
	}
	n, fixed := s[axis].N, !s[axis].Symbolic()
	b, there := a.Elements(y)
	if !fixed || !there {
		return nil
	}
	var wrong int64
	var ok bool
	switch signed := y.DType.Min().I() < 0; y.DType.Itemsize() {
	case 1:
		wrong, ok = outside[int8, uint8](b, signed, n, ignore)
	case 2:
		wrong, ok = outside[int16, uint16](b, signed, n, ignore)
	case 4:
		wrong, ok = outside[int32, uint32](b, signed, n, ignore)
	default:
		wrong, ok = outside[int64, uint64](b, signed, n, ignore)
	}
	if ok {
		return nil
	}
	return bad(arg, "class %d is out of range, expected 0 to %d", wrong, n-1)
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// outside finds an element that is not from 0 to n-1, nor ignored.
func outside[S, U integer](b []byte, signed bool, n int64, ignore *int64) (int64, bool) {
	if signed {
		return beyond[S](b, n, ignore)
	}
	return beyond[U](b, n, ignore)
}

func beyond[T integer](b []byte, n int64, ignore *int64) (int64, bool) {
	var item T
	size := int(unsafe.Sizeof(item))
	for _, x := range unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size) {
		if v := int64(x); (v < 0 || v >= n) && (ignore == nil || v != *ignore) {
			return v, false
		}
	}
	return 0, true
}

// InMemory is the buffer whose elements, in row-major order, are those of a tensor; nil if it has to be computed.
func InMemory(u *uop.UOp) *uop.UOp {
	for u.Op == uop.Reshape {
		u = u.Src[0]
	}
	if u.Op != uop.Buffer {
		return nil
	}
	return u
}
