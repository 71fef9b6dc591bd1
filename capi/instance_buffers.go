package main

import (
	"strings"
	"unsafe"

	"polygrad/model"
)

// A bufferList is the parameters of an instance, or all its buffers.
type bufferList func(m *model.Instance) []*model.Buffer

// withBuffer runs a request on a buffer by its index; missing if there is none.
func withBuffer[T any](fn string, h uintptr, of bufferList, k int32, missing T, f func(i *instance, b *model.Buffer) (T, error)) T {
	return withInstance(fn, h, missing, func(i *instance) (T, error) {
		bs := of(i.Instance)
		if k < 0 || int(k) >= len(bs) {
			return missing, badArg("i", "%d is out of range, there are %d", k, len(bs))
		}
		return f(i, bs[k])
	})
}

func bufferCount(fn string, h uintptr, of bufferList) int32 {
	return withInstance(fn, h, 0, func(i *instance) (int32, error) { return int32(len(of(i.Instance))), nil })
}

func bufferName(fn string, h uintptr, of bufferList, k int32) *byte {
	return withBuffer(fn, h, of, k, nil, func(i *instance, b *model.Buffer) (*byte, error) { return i.names[b], nil })
}

// floatsOf hands out memory of an instance; it lies outside Go's heap.
func floatsOf(fn string, h uintptr, of bufferList, k int32, n *int64, share func(i *model.Instance, b *model.Buffer) ([]float32, error)) *float32 {
	if n != nil {
		*n = 0
	}
	return withBuffer(fn, h, of, k, nil, func(i *instance, b *model.Buffer) (*float32, error) {
		d, err := share(i.Instance, b)
		if n != nil {
			*n = int64(len(d))
		}
		return (*float32)(unsafe.Pointer(unsafe.SliceData(d))), err
	})
}

func bufferData(i *model.Instance, b *model.Buffer) ([]float32, error) { return b.Data, i.Share(b) }

func bufferGrad(i *model.Instance, b *model.Buffer) ([]float32, error) { return b.Grad, i.ShareGrad(b) }

func bufferShape(fn string, h uintptr, of bufferList, k int32, dims *int64, room int32) int32 {
	return withBuffer(fn, h, of, k, 0, func(_ *instance, b *model.Buffer) (int32, error) {
		for i := range min(len(b.Shape), max(int(room), 0)) {
			if dims != nil {
				unsafe.Slice(dims, room)[i] = b.Shape[i]
			}
		}
		return int32(len(b.Shape)), nil
	})
}

// floatsAt are n bytes of C as floats; they are all elements of a buffer or fewer.
func floatsAt(arg string, p unsafe.Pointer, n uintptr, b *model.Buffer) ([]float32, error) {
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

func upload(fn string, h uintptr, of bufferList, k int32, src unsafe.Pointer, n uintptr) int32 {
	return withBuffer(fn, h, of, k, -1, func(i *instance, b *model.Buffer) (int32, error) {
		from, err := floatsAt("src", src, n, b)
		if err == nil {
			err = i.Write(b, from)
		}
		return 0, err
	})
}

func readback(fn string, h uintptr, of bufferList, k int32, dst unsafe.Pointer, n uintptr) int32 {
	return withBuffer(fn, h, of, k, -1, func(i *instance, b *model.Buffer) (int32, error) {
		to, err := floatsAt("dst", dst, n, b)
		if err == nil {
			err = i.Read(b)
		}
		if err != nil {
			return -1, err
		}
		copy(to, b.Data)
		return 0, nil
	})
}

var (
	params  bufferList = (*model.Instance).Params
	buffers bufferList = (*model.Instance).Buffers
)

func poly_instance_param_count(h uintptr) int32 {
	return bufferCount("poly_instance_param_count", h, params)
}

func poly_instance_param_name(h uintptr, i int32) *byte {
	return bufferName("poly_instance_param_name", h, params, i)
}

func poly_instance_param_data(h uintptr, i int32, n *int64) *float32 {
	return floatsOf("poly_instance_param_data", h, params, i, n, bufferData)
}

func poly_instance_param_grad(h uintptr, i int32, n *int64) *float32 {
	return floatsOf("poly_instance_param_grad", h, params, i, n, bufferGrad)
}

func poly_instance_param_shape(h uintptr, i int32, dims *int64, room int32) int32 {
	return bufferShape("poly_instance_param_shape", h, params, i, dims, room)
}

func poly_instance_buf_count(h uintptr) int32 {
	return bufferCount("poly_instance_buf_count", h, buffers)
}

func poly_instance_buf_name(h uintptr, i int32) *byte {
	return bufferName("poly_instance_buf_name", h, buffers, i)
}

func poly_instance_buf_role(h uintptr, i int32) int32 {
	return withBuffer("poly_instance_buf_role", h, buffers, i, -1, func(_ *instance, b *model.Buffer) (int32, error) {
		return int32(b.Role), nil
	})
}

func poly_instance_buf_data(h uintptr, i int32, n *int64) *float32 {
	return floatsOf("poly_instance_buf_data", h, buffers, i, n, bufferData)
}

func poly_instance_buf_shape(h uintptr, i int32, dims *int64, room int32) int32 {
	return bufferShape("poly_instance_buf_shape", h, buffers, i, dims, room)
}

func poly_instance_upload_param(h uintptr, i int32, src unsafe.Pointer, n uintptr) int32 {
	return upload("poly_instance_upload_param", h, params, i, src, n)
}

func poly_instance_upload_buf(h uintptr, i int32, src unsafe.Pointer, n uintptr) int32 {
	return upload("poly_instance_upload_buf", h, buffers, i, src, n)
}

func poly_instance_readback_param(h uintptr, i int32, dst unsafe.Pointer, n uintptr) int32 {
	return readback("poly_instance_readback_param", h, params, i, dst, n)
}

func poly_instance_readback_buf(h uintptr, i int32, dst unsafe.Pointer, n uintptr) int32 {
	return readback("poly_instance_readback_buf", h, buffers, i, dst, n)
}

func poly_instance_notes(h uintptr) *byte {
	return withInstance("poly_instance_notes", h, nil, func(i *instance) (*byte, error) {
		i.mu.Lock()
		defer i.mu.Unlock()
		cFree(unsafe.Pointer(i.notes))
		i.notes = cString(strings.Join(i.Notes(), "\n"))
		return i.notes, nil
	})
}
