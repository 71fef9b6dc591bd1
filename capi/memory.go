package main

/*
#include <stdint.h>
#include <stddef.h>
*/
import "C"

import (
	"unsafe"
)

// alignment of memory of the library: a cache line, and the widest vector.
const alignment = 64

// allocate makes memory of the library. It lives as long as something points into it.
func allocate(nbytes uintptr) unsafe.Pointer {
	if nbytes == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(make([]uint64, (nbytes+alignment)/8)))
	return unsafe.Add(p, -uintptr(p)&(alignment-1))
}

// copyBytes copies memory; nothing may be NULL unless n is 0.
func copyBytes(to, from unsafe.Pointer, n uintptr) {
	if n > 0 {
		copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
	}
}

//export go_poly_from_host
func go_poly_from_host(ctx C.uintptr_t, dtype C.int, shape *C.int64_t, ndim C.int, data unsafe.Pointer, nbytes C.size_t) C.uintptr_t {
	return build("poly_from_host", ctx, func(c *context) (value, error) {
		dt, err := dtypeOf(dtype)
		if err != nil {
			return value{}, err
		}
		s, err := sizes("shape", shape, ndim)
		if err != nil {
			return value{}, err
		}
		n, err := elements(s)
		if err != nil {
			return value{}, err
		}
		size := uintptr(n) * uintptr(dt.Itemsize())
		if uintptr(nbytes) != size {
			return value{}, wrong("nbytes", "%d bytes, but %s of shape %s has %d", nbytes, dtypeName(dt), s, size)
		}
		if size > 0 && data == nil {
			return value{}, wrong("data", "is NULL, expected %d bytes", size)
		}
		own := allocate(size)
		copyBytes(own, data, size)
		return c.hostBuffer(dt, s, own, size)
	})
}

//export go_poly_copy_from_host
func go_poly_copy_from_host(ctx, buffer C.uintptr_t, data unsafe.Pointer, nbytes C.size_t) C.int {
	return status("poly_copy_from_host", ctx, func(c *context) error {
		v, err := c.arg("buffer", uintptr(buffer))
		if err != nil {
			return err
		}
		b, err := baseBuffer("buffer", v.u)
		if err != nil {
			return err
		}
		h, ok := c.host[b]
		if !ok {
			return wrong("buffer", "has no memory, expected a node of poly_buffer_host, poly_from_host or a leaf")
		}
		size := uintptr(numel(b)) * uintptr(b.DType.Itemsize())
		switch {
		case uintptr(nbytes) != size:
			return wrong("nbytes", "%d bytes, but the buffer has %d", nbytes, size)
		case size > 0 && data == nil:
			return wrong("data", "is NULL, expected %d bytes", size)
		}
		c.idle()
		copyBytes(h.data, data, size)
		return nil
	})
}

//export go_poly_copy_to_host
func go_poly_copy_to_host(ctx, x C.uintptr_t, data unsafe.Pointer, nbytes C.size_t) C.int {
	return status("poly_copy_to_host", ctx, func(c *context) error {
		v, err := c.arg("x", uintptr(x))
		if err != nil {
			return err
		}
		if err := v.tensor("x"); err != nil {
			return err
		}
		size := uintptr(numel(v.u)) * uintptr(v.u.DType.Itemsize())
		switch {
		case uintptr(nbytes) < size:
			return wrong("nbytes", "%d bytes, but %s of shape %s has %d", nbytes, dtypeName(v.u.DType), v.u.Shape(), size)
		case size == 0:
			return nil
		case data == nil:
			return wrong("data", "is NULL, expected %d bytes", size)
		}
		if b, err := baseBuffer("x", v.u); err == nil {
			if h, ok := c.host[b]; ok {
				c.idle()
				copyBytes(data, h.data, size)
				return nil
			}
		}
		return c.compute(v, data)
	})
}

// compute writes the value of a tensor to memory.
func (c *context) compute(v value, data unsafe.Pointer) error {
	up, err := c.updateOf([]value{v}, []unsafe.Pointer{data}, nil)
	if err != nil {
		return err
	}
	defer c.forget(up.leaves)
	return c.run(up.sink, nil, nil)
}
