package main

import (
	"fmt"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec/pages"
)

// alignment of the library's memory: a cache line, and the widest vector.
const alignment = 64

// allocate makes memory for free. Go's collector does not see it: it would otherwise let as much garbage accumulate as there are
// weights.
func allocate(nbytes uintptr) (unsafe.Pointer, error) {
	switch {
	case nbytes == 0:
		return nil, nil
	case nbytes >= pages.HugeFrom:
		p, err := pages.Freed.Take(nbytes)
		return pages.Pointer(p), err
	}
	p := cAligned((nbytes + alignment - 1) &^ (alignment - 1))
	if p == nil {
		return nil, fmt.Errorf("no memory: got none for %d bytes", nbytes)
	}
	return p, nil
}

// free frees memory of allocate.
func free(p unsafe.Pointer, nbytes uintptr) {
	if nbytes >= pages.HugeFrom {
		pages.Freed.Give(uintptr(p), nbytes)
	} else {
		cFree(p)
	}
}

func noMemory(nbytes uintptr) error { return fmt.Errorf("no memory: got none for %d bytes", nbytes) }

// cBytes is a copy for the caller, who frees it.
func cBytes(b []byte) unsafe.Pointer {
	p := cMalloc(uintptr(max(len(b), 1)))
	if p == nil {
		check(noMemory(uintptr(len(b))))
	}
	copy(unsafe.Slice((*byte)(p), len(b)), b)
	return p
}

// store writes a record, or an address, to memory of a caller, as bytes. For an assignment of pointers the collector's write barrier would also mark
// what the memory pointed to before; that may be a dangling address, for which the collector ends the process.
func store[T any](to *T, value T) { copy(words(to), words(&value)) }

// words is memory as bytes, which hold no pointers.
func words[T any](p *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p)) }

// cString is a copy for the caller, who frees it, with a 0 behind it.
func cString(s string) *byte { return (*byte)(cBytes([]byte(s + "\x00"))) }

// copyBytes copies memory; NULL is allowed only for n = 0.
func copyBytes(to, from unsafe.Pointer, n uintptr) {
	if n > 0 {
		copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
	}
}

// ownBuffer makes a buffer on the library's own memory, for unbind to free.
func (c *context) ownBuffer(dt *uop.DType, s uop.Shape) (value, error) {
	n, err := tensor.MostElements(s)
	if err != nil {
		return value{}, err
	}
	size := uintptr(n) * uintptr(dt.Itemsize())
	own, err := allocate(size)
	if err != nil {
		return value{}, err
	}
	v, err := c.hostBuffer(dt, s, own, size)
	if err != nil {
		free(own, size)
		return value{}, err
	}
	c.host[v.host] = hostMemory{own, size, true}
	return v, nil
}

func poly_from_host(ctx uintptr, dtype int32, shape *int64, ndim int32, data unsafe.Pointer, nbytes uintptr) uintptr {
	return buildNode("poly_from_host", ctx, func(c *context) (value, error) {
		dt := must(bufferType(dtype))
		s := must(sizes("shape", shape, ndim))
		n := must(tensor.MostElements(s))
		size := uintptr(n) * uintptr(dt.Itemsize())
		if nbytes != size {
			return value{}, badArg("nbytes", "%d bytes, but %s of shape %s has %d", nbytes, dtypeName(dt), s, size)
		}
		if size > 0 && data == nil {
			return value{}, badArg("data", "is NULL, expected %d bytes", size)
		}
		v := must(c.ownBuffer(dt, s))
		copyBytes(c.host[v.host].data, data, size)
		return v, nil
	})
}

func poly_copy_from_host(ctx, buffer uintptr, data unsafe.Pointer, nbytes uintptr) int32 {
	return status("poly_copy_from_host", ctx, func(c *context) error {
		v := must(c.arg("buffer", buffer))
		b := must(baseBuffer("buffer", v.Keep))
		h, ok := c.host[b]
		if !ok {
			return badArg("buffer", "has no memory, expected a node of poly_buffer_host, poly_from_host or a leaf")
		}
		size := uintptr(tensor.Elements(b)) * uintptr(b.DType.Itemsize())
		switch {
		case nbytes != size:
			return badArg("nbytes", "%d bytes, but the buffer has %d", nbytes, size)
		case size > 0 && data == nil:
			return badArg("data", "is NULL, expected %d bytes", size)
		}
		c.waitJobs()
		copyBytes(h.data, data, size)
		return nil
	})
}

func poly_copy_to_host(ctx, x uintptr, data unsafe.Pointer, nbytes uintptr) int32 {
	return status("poly_copy_to_host", ctx, func(c *context) error {
		v := must(c.arg("x", x))
		check(v.tensor("x"))
		size := uintptr(tensor.Elements(v.Keep)) * uintptr(v.Keep.DType.Itemsize())
		switch {
		case nbytes < size:
			return badArg("nbytes", "%d bytes, but %s of shape %s has %d", nbytes, dtypeName(v.Keep.DType), v.Keep.Shape(), size)
		case size == 0:
			return nil
		case data == nil:
			return badArg("data", "is NULL, expected %d bytes", size)
		}
		if b, err := baseBuffer("x", v.Keep); err == nil {
			if h, ok := c.host[b]; ok {
				c.waitJobs()
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
