package main

/*
#include <stdlib.h>
#include "../include/polygrad.h"
*/
import "C"

import (
	"encoding/json"
	"sync"
	"unsafe"

	"polygrad/capi/handle"
	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/model/files"
)

// A file is the object of a PolyFile, with strings that C may keep until it is freed.
type file struct {
	*files.File
	entry *handle.Entry

	mu    sync.Mutex // guards the fields below
	ended bool
	names []*C.char
	value *C.char
}

// newFile runs a request that opens a file.
func newFile(fn string, f func() (*files.File, error)) C.uintptr_t {
	return withoutContext(fn, 0, func() (C.uintptr_t, error) {
		opened, err := f()
		check(err)
		made := &file{File: opened, names: make([]*C.char, len(opened.Tensors))}
		if made.entry, err = handles.New(handle.File, nil, made); err != nil {
			opened.Close()
			return 0, err
		}
		return C.uintptr_t(made.entry.Token()), nil
	})
}

// withFile runs a request on a file, which cannot be freed meanwhile; missing if it fails.
func withFile[T any](fn string, h C.uintptr_t, missing T, f func(f *file) (T, error)) T {
	return withoutContext(fn, missing, func() (T, error) {
		x := must(objectOf[*file]("file", h, handle.File))
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.ended {
			return missing, &argError{"file", handle.ErrStale}
		}
		return f(x)
	})
}

// withFileTensor is withFile for tensor i.
func withFileTensor[T any](fn string, h C.uintptr_t, i C.int, missing T, f func(f *file, t *files.Tensor) (T, error)) T {
	return withFile(fn, h, missing, func(x *file) (T, error) {
		if i < 0 || int(i) >= len(x.Tensors) {
			return missing, badArg("i", "%d is out of range, the file has %d tensors", i, len(x.Tensors))
		}
		return f(x, x.Tensors[i])
	})
}

func formatFrom(n C.int) (files.Format, error) {
	if n < 0 || n > 255 || !files.Format(n).Known() {
		return 0, badArg("format", "%d is no PolyFileFormat", n)
	}
	return files.Format(n), nil
}

//export go_poly_file_open
func go_poly_file_open(path *C.char, format C.int) C.uintptr_t {
	return newFile("poly_file_open", func() (*files.File, error) {
		f := must(formatFrom(format))
		if path == nil {
			return nil, badArg("path", "is NULL")
		}
		return files.Open(goString(path), f)
	})
}

//export go_poly_file_read
func go_poly_file_read(data unsafe.Pointer, n C.int64_t, format C.int) C.uintptr_t {
	return newFile("poly_file_read", func() (*files.File, error) {
		f := must(formatFrom(format))
		b := must(bytesFrom("data", data, n))
		return files.Read(b, f, true)
	})
}

//export go_poly_file_free
func go_poly_file_free(h C.uintptr_t) {
	e, err := handles.Get(handle.Token(h), handle.File)
	if err != nil {
		return
	}
	x := e.Value.(*file)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	x.ended = true
	handles.Drop(e)
	x.Close()
	for _, p := range x.names {
		C.free(unsafe.Pointer(p))
	}
	C.free(unsafe.Pointer(x.value))
}

//export go_poly_file_format
func go_poly_file_format(h C.uintptr_t) C.int {
	return withFile("poly_file_format", h, -1, func(f *file) (C.int, error) { return C.int(f.Format), nil })
}

//export go_poly_file_count
func go_poly_file_count(h C.uintptr_t) C.int {
	return withFile("poly_file_count", h, -1, func(f *file) (C.int, error) { return C.int(len(f.Tensors)), nil })
}

//export go_poly_file_name
func go_poly_file_name(h C.uintptr_t, i C.int) *C.char {
	return withFileTensor("poly_file_name", h, i, nil, func(f *file, t *files.Tensor) (*C.char, error) {
		if f.names[i] == nil {
			f.names[i] = C.CString(t.Name)
		}
		return f.names[i], nil
	})
}

//export go_poly_file_type
func go_poly_file_type(h C.uintptr_t, i C.int) *C.char {
	return withFileTensor("poly_file_type", h, i, nil, func(_ *file, t *files.Tensor) (*C.char, error) { return static(t.Type), nil })
}

//export go_poly_file_describe
func go_poly_file_describe(h C.uintptr_t, i C.int, dims *C.int64_t, cap C.int, dtype *C.int) C.int {
	return withFileTensor("poly_file_describe", h, i, -1, func(_ *file, t *files.Tensor) (C.int, error) {
		writeShape(uop.ShapeOf(t.Shape...), dims, cap)
		if dtype != nil {
			*dtype = dtypeID(t.DType)
		}
		return C.int(len(t.Shape)), nil
	})
}

//export go_poly_file_quant
func go_poly_file_quant(h C.uintptr_t, i C.int) C.int {
	return withFileTensor("poly_file_quant", h, i, -1, func(_ *file, t *files.Tensor) (C.int, error) {
		if t.Quant == nil {
			return 0, nil
		}
		return C.int(t.Quant.ID), nil
	})
}

//export go_poly_file_data
func go_poly_file_data(h C.uintptr_t, i C.int, length *C.int64_t) unsafe.Pointer {
	return withFileTensor("poly_file_data", h, i, nil, func(f *file, _ *files.Tensor) (unsafe.Pointer, error) {
		mem := must(f.Memory(int(i)))
		if length != nil {
			*length = C.int64_t(len(mem))
		}
		if len(mem) == 0 {
			return nil, nil
		}
		return unsafe.Pointer(&mem[0]), nil
	})
}

//export go_poly_file_value
func go_poly_file_value(h C.uintptr_t) *C.char {
	return withFile("poly_file_value", h, nil, func(f *file) (*C.char, error) {
		if f.value == nil {
			text, err := f.ValueJSON()
			if err != nil {
				return nil, &argError{"file", err}
			}
			f.value = C.CString(string(text))
		}
		return f.value, nil
	})
}

//export go_poly_dequantize
func go_poly_dequantize(ctx, x C.uintptr_t, kind C.int, n C.int64_t) C.uintptr_t {
	return buildNode("poly_dequantize", ctx, func(c *context) (value, error) {
		v := must(c.arg("x", uintptr(x)))
		check(v.tensor("x"))
		u, err := tensor.Dequantize(v.Keep, int(kind), int64(n))
		return single(u), err
	})
}

// entriesFrom reads the tensors to write.
func entriesFrom(list *C.PolyFileTensor, n C.int) ([]*files.Tensor, error) {
	if err := records("tensors", unsafe.Pointer(list), n); err != nil {
		return nil, err
	}
	var out []*files.Tensor
	for i := range int(n) {
		e := unsafe.Slice(list, n)[i]
		arg := indexed("tensors", i)
		if e.name == nil {
			return nil, badArg(arg, "has no name")
		}
		dt, err := dtypeOf(C.int(e.dtype))
		if err != nil {
			return nil, &argError{arg, err}
		}
		s, err := sizes(arg, e.shape, e.ndim)
		if err != nil {
			return nil, err
		}
		shape, _ := s.Ints()
		count, err := tensor.MostElements(s)
		if err != nil {
			return nil, &argError{arg, err}
		}
		data, err := bytesFrom(arg, e.data, C.int64_t(count*int64(dt.Itemsize())))
		if err != nil {
			return nil, err
		}
		out = append(out, &files.Tensor{Name: goString(e.name), DType: dt, Shape: shape, Data: data})
	}
	return out, nil
}

//export go_poly_safetensors_save
func go_poly_safetensors_save(path *C.char, list *C.PolyFileTensor, n C.int, meta *C.char, limit C.int64_t) C.int {
	return withoutContext("poly_safetensors_save", -1, func() (C.int, error) {
		if path == nil {
			return -1, badArg("path", "is NULL")
		}
		if limit < 0 {
			return -1, badArg("max_shard_bytes", "%d, expected 0 or more", limit)
		}
		tensors := must(entriesFrom(list, n))
		var texts map[string]string
		if meta != nil {
			if err := json.Unmarshal([]byte(goString(meta)), &texts); err != nil {
				return -1, badArg("meta", "is no JSON object of strings: %v", err)
			}
		}
		paths, err := files.SaveSafetensors(goString(path), tensors, texts, int64(limit))
		return C.int(len(paths)), err
	})
}
