// Package element reads and writes elements of buffers, for tests that make their contents and compare them.
package element

import (
	"math"
	"unsafe"

	"polygrad/core/uop"
)

// Memory is zeroed memory for n elements, aligned for every type, a little larger than that.
func Memory(d *uop.DType, n int64) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]uint64, (n*int64(d.Itemsize())+7)/8+2)))
}

// Get is element i.
func Get(p unsafe.Pointer, i int64, d *uop.DType) uop.Const {
	at := unsafe.Add(p, i*int64(d.Itemsize()))
	switch d.Itemsize() {
	case 1:
		return uop.FromBits(d, uint64(*(*uint8)(at)))
	case 2:
		return uop.FromBits(d, uint64(*(*uint16)(at)))
	case 4:
		return uop.FromBits(d, uint64(*(*uint32)(at)))
	}
	return uop.FromBits(d, *(*uint64)(at))
}

// Put makes a number element i. Integers wrap.
func Put(p unsafe.Pointer, i int64, d *uop.DType, c uop.Const) {
	at, bits := unsafe.Add(p, i*int64(d.Itemsize())), c.Bits(d)
	switch d.Itemsize() {
	case 1:
		*(*uint8)(at) = uint8(bits)
	case 2:
		*(*uint16)(at) = uint16(bits)
	case 4:
		*(*uint32)(at) = uint32(bits)
	default:
		*(*uint64)(at) = bits
	}
}

// Close reports whether a and b differ by at most tol, relatively if they are large, or are the same, NaN included.
func Close(a, b, tol float64) bool {
	return a == b || a != a && b != b || math.Abs(a-b) <= tol*max(1, math.Abs(a), math.Abs(b))
}
