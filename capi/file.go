package main

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
	names []*byte
	value *byte
}

// newFile runs a request that opens a file.
func newFile(fn string, f func() (*files.File, error)) uintptr {
	return withoutContext(fn, 0, func() (uintptr, error) {
		opened, err := f()
		check(err)
		made := &file{File: opened, names: make([]*byte, len(opened.Tensors))}
		if made.entry, err = handles.New(handle.File, nil, made); err != nil {
			opened.Close()
			return 0, err
		}
		return uintptr(made.entry.Token()), nil
	})
}

// withFile runs a request on a file, which cannot be freed meanwhile; missing if it fails.
func withFile[T any](fn string, h uintptr, missing T, f func(f *file) (T, error)) T {
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
func withFileTensor[T any](fn string, h uintptr, i int32, missing T, f func(f *file, t *files.Tensor) (T, error)) T {
	return withFile(fn, h, missing, func(x *file) (T, error) {
		if i < 0 || int(i) >= len(x.Tensors) {
			return missing, badArg("i", "%d is out of range, the file has %d tensors", i, len(x.Tensors))
		}
		return f(x, x.Tensors[i])
	})
}

func formatFrom(n int32) (files.Format, error) {
	if n < 0 || n > 255 || !files.Format(n).Known() {
		return 0, badArg("format", "%d is no PolyFileFormat", n)
	}
	return files.Format(n), nil
}

func poly_file_open(path *byte, format int32) uintptr {
	return newFile("poly_file_open", func() (*files.File, error) {
		f := must(formatFrom(format))
		if path == nil {
			return nil, badArg("path", "is NULL")
		}
		return files.Open(goString(path), f)
	})
}

func poly_file_read(data unsafe.Pointer, n int64, format int32) uintptr {
	return newFile("poly_file_read", func() (*files.File, error) {
		f := must(formatFrom(format))
		b := must(bytesFrom("data", data, n))
		return files.Read(b, f, true)
	})
}

func poly_file_free(h uintptr) {
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
		cFree(unsafe.Pointer(p))
	}
	cFree(unsafe.Pointer(x.value))
}

func poly_file_format(h uintptr) int32 {
	return withFile("poly_file_format", h, -1, func(f *file) (int32, error) { return int32(f.Format), nil })
}

func poly_file_count(h uintptr) int32 {
	return withFile("poly_file_count", h, -1, func(f *file) (int32, error) { return int32(len(f.Tensors)), nil })
}

func poly_file_name(h uintptr, i int32) *byte {
	return withFileTensor("poly_file_name", h, i, nil, func(f *file, t *files.Tensor) (*byte, error) {
		if f.names[i] == nil {
			f.names[i] = cString(t.Name)
		}
		return f.names[i], nil
	})
}

func poly_file_type(h uintptr, i int32) *byte {
	return withFileTensor("poly_file_type", h, i, nil, func(_ *file, t *files.Tensor) (*byte, error) { return static(t.Type), nil })
}

func poly_file_describe(h uintptr, i int32, dims *int64, cap int32, dtype *int32) int32 {
	return withFileTensor("poly_file_describe", h, i, -1, func(_ *file, t *files.Tensor) (int32, error) {
		writeShape(uop.ShapeOf(t.Shape...), dims, cap)
		if dtype != nil {
			*dtype = dtypeID(t.DType)
		}
		return int32(len(t.Shape)), nil
	})
}

func poly_file_quant(h uintptr, i int32) int32 {
	return withFileTensor("poly_file_quant", h, i, -1, func(_ *file, t *files.Tensor) (int32, error) {
		if t.Quant == nil {
			return 0, nil
		}
		return int32(t.Quant.ID), nil
	})
}

func poly_file_data(h uintptr, i int32, length *int64) unsafe.Pointer {
	return withFileTensor("poly_file_data", h, i, nil, func(f *file, _ *files.Tensor) (unsafe.Pointer, error) {
		mem := must(f.Memory(int(i)))
		if length != nil {
			*length = int64(len(mem))
		}
		if len(mem) == 0 {
			return nil, nil
		}
		return unsafe.Pointer(&mem[0]), nil
	})
}

func poly_file_value(h uintptr) *byte {
	return withFile("poly_file_value", h, nil, func(f *file) (*byte, error) {
		if f.value == nil {
			text, err := f.ValueJSON()
			if err != nil {
				return nil, &argError{"file", err}
			}
			f.value = cString(string(text))
		}
		return f.value, nil
	})
}

func poly_dequantize(ctx, x uintptr, kind int32, n int64) uintptr {
	return buildNode("poly_dequantize", ctx, func(c *context) (value, error) {
		v := must(c.arg("x", x))
		check(v.tensor("x"))
		u, err := tensor.Dequantize(v.Keep, int(kind), n)
		return single(u), err
	})
}

// entriesFrom reads the tensors to write.
func entriesFrom(list *fileTensor, n int32) ([]*files.Tensor, error) {
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
		dt, err := dtypeOf(e.dtype)
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
		data, err := bytesFrom(arg, e.data, count*int64(dt.Itemsize()))
		if err != nil {
			return nil, err
		}
		out = append(out, &files.Tensor{Name: goString(e.name), DType: dt, Shape: shape, Data: data})
	}
	return out, nil
}

func poly_safetensors_save(path *byte, list *fileTensor, n int32, meta *byte, limit int64) int32 {
	return withoutContext("poly_safetensors_save", -1, func() (int32, error) {
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
		paths, err := files.SaveSafetensors(goString(path), tensors, texts, limit)
		return int32(len(paths)), err
	})
}
