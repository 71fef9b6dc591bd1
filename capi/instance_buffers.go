package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"strings"
	"unsafe"

	"polygrad/model"
)

// A bufferList is the parameters of an instance, or all its buffers.
type bufferList func(m *model.Instance) []*model.Buffer

// withBuffer runs a request on a buffer by its index; missing if there is none.
func withBuffer[T any](fn string, h C.uintptr_t, of bufferList, k C.int, missing T, f func(i *instance, b *model.Buffer) (T, error)) T {
	return withInstance(fn, h, missing, func(i *instance) (T, error) {
		bs := of(i.Instance)
		if k < 0 || int(k) >= len(bs) {
			return missing, badArg("i", "%d is out of range, there are %d", k, len(bs))
		}
		return f(i, bs[k])
	})
}

func bufferCount(fn string, h C.uintptr_t, of bufferList) C.int {
	return withInstance(fn, h, 0, func(i *instance) (C.int, error) { return C.int(len(of(i.Instance))), nil })
}

func bufferName(fn string, h C.uintptr_t, of bufferList, k C.int) *C.char {
	return withBuffer(fn, h, of, k, nil, func(i *instance, b *model.Buffer) (*C.char, error) { return i.names[b], nil })
}

// floatsOf hands out memory of an instance; it lies outside Go's heap.
func floatsOf(fn string, h C.uintptr_t, of bufferList, k C.int, n *C.int64_t, data func(b *model.Buffer) []float32) *C.float {
	if n != nil {
		*n = 0
	}
	return withBuffer(fn, h, of, k, nil, func(_ *instance, b *model.Buffer) (*C.float, error) {
		d := data(b)
		if n != nil {
			*n = C.int64_t(len(d))
		}
		return (*C.float)(unsafe.Pointer(unsafe.SliceData(d))), nil
	})
}

func bufferData(b *model.Buffer) []float32 { return b.Data }

func bufferShape(fn string, h C.uintptr_t, of bufferList, k C.int, dims *C.int64_t, room C.int) C.int {
	return withBuffer(fn, h, of, k, 0, func(_ *instance, b *model.Buffer) (C.int, error) {
		for i := range min(len(b.Shape), max(int(room), 0)) {
			if dims != nil {
				unsafe.Slice(dims, room)[i] = C.int64_t(b.Shape[i])
			}
		}
		return C.int(len(b.Shape)), nil
	})
}

// floatsAt are n bytes of C as floats; they are all elements of a buffer or fewer.
func floatsAt(arg string, p unsafe.Pointer, n C.size_t, b *model.Buffer) ([]float32, error) {
	switch {
	case n%4 != 0 || uint64(n) > uint64(len(b.Data))*4:
		return nil, badArg("len", "%d bytes, expected at most the %d of %q, in whole floats", n, len(b.Data)*4, b.Name)
	case n == 0:
		return nil, nil
	case p == nil:
		return nil, badArg(arg, "is NULL, expected %d bytes", n)
	}
	return unsafe.Slice((*float32)(p), n/4), nil
}

func upload(fn string, h C.uintptr_t, of bufferList, k C.int, src unsafe.Pointer, n C.size_t) C.int {
	return withBuffer(fn, h, of, k, -1, func(_ *instance, b *model.Buffer) (C.int, error) {
		from, err := floatsAt("src", src, n, b)
		copy(b.Data, from)
		return 0, err
	})
}

func readback(fn string, h C.uintptr_t, of bufferList, k C.int, dst unsafe.Pointer, n C.size_t) C.int {
	return withBuffer(fn, h, of, k, -1, func(_ *instance, b *model.Buffer) (C.int, error) {
		to, err := floatsAt("dst", dst, n, b)
		copy(to, b.Data)
		return 0, err
	})
}

var (
	params  bufferList = (*model.Instance).Params
	buffers bufferList = (*model.Instance).Buffers
)

//export go_poly_instance_param_count
func go_poly_instance_param_count(h C.uintptr_t) C.int {
	return bufferCount("poly_instance_param_count", h, params)
}

//export go_poly_instance_param_name
func go_poly_instance_param_name(h C.uintptr_t, i C.int) *C.char {
	return bufferName("poly_instance_param_name", h, params, i)
}

//export go_poly_instance_param_data
func go_poly_instance_param_data(h C.uintptr_t, i C.int, n *C.int64_t) *C.float {
	return floatsOf("poly_instance_param_data", h, params, i, n, bufferData)
}

//export go_poly_instance_param_grad
func go_poly_instance_param_grad(h C.uintptr_t, i C.int, n *C.int64_t) *C.float {
	return floatsOf("poly_instance_param_grad", h, params, i, n, func(b *model.Buffer) []float32 { return b.Grad })
}

//export go_poly_instance_param_shape
func go_poly_instance_param_shape(h C.uintptr_t, i C.int, dims *C.int64_t, room C.int) C.int {
	return bufferShape("poly_instance_param_shape", h, params, i, dims, room)
}

//export go_poly_instance_buf_count
func go_poly_instance_buf_count(h C.uintptr_t) C.int {
	return bufferCount("poly_instance_buf_count", h, buffers)
}

//export go_poly_instance_buf_name
func go_poly_instance_buf_name(h C.uintptr_t, i C.int) *C.char {
	return bufferName("poly_instance_buf_name", h, buffers, i)
}

//export go_poly_instance_buf_role
func go_poly_instance_buf_role(h C.uintptr_t, i C.int) C.int {
	return withBuffer("poly_instance_buf_role", h, buffers, i, -1, func(_ *instance, b *model.Buffer) (C.int, error) {
		return C.int(b.Role), nil
	})
}

//export go_poly_instance_buf_data
func go_poly_instance_buf_data(h C.uintptr_t, i C.int, n *C.int64_t) *C.float {
	return floatsOf("poly_instance_buf_data", h, buffers, i, n, bufferData)
}

//export go_poly_instance_buf_shape
func go_poly_instance_buf_shape(h C.uintptr_t, i C.int, dims *C.int64_t, room C.int) C.int {
	return bufferShape("poly_instance_buf_shape", h, buffers, i, dims, room)
}

//export go_poly_instance_upload_param
func go_poly_instance_upload_param(h C.uintptr_t, i C.int, src unsafe.Pointer, n C.size_t) C.int {
	return upload("poly_instance_upload_param", h, params, i, src, n)
}

//export go_poly_instance_upload_buf
func go_poly_instance_upload_buf(h C.uintptr_t, i C.int, src unsafe.Pointer, n C.size_t) C.int {
	return upload("poly_instance_upload_buf", h, buffers, i, src, n)
}

//export go_poly_instance_readback_param
func go_poly_instance_readback_param(h C.uintptr_t, i C.int, dst unsafe.Pointer, n C.size_t) C.int {
	return readback("poly_instance_readback_param", h, params, i, dst, n)
}

//export go_poly_instance_readback_buf
func go_poly_instance_readback_buf(h C.uintptr_t, i C.int, dst unsafe.Pointer, n C.size_t) C.int {
	return readback("poly_instance_readback_buf", h, buffers, i, dst, n)
}

//export go_poly_instance_notes
func go_poly_instance_notes(h C.uintptr_t) *C.char {
	return withInstance("poly_instance_notes", h, nil, func(i *instance) (*C.char, error) {
		i.mu.Lock()
		defer i.mu.Unlock()
		C.free(unsafe.Pointer(i.notes))
		i.notes = C.CString(strings.Join(i.Notes(), "\n"))
		return i.notes, nil
	})
}
