package main

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/model/files"
)

func poly_safetensor_dtype_size(d int32) int32 {
	dt, err := safeType("dtype", d)
	if err != nil {
		fail("poly_safetensor_dtype_size", err)
		return -1
	}
	return int32(dt.Itemsize())
}

// safeType finds the data type of a PolySafetensorDType.
func safeType(arg string, d int32) (*uop.DType, error) {
	if d < 0 || int(d) >= len(files.SafeTypes) {
		return nil, badArg(arg, "%d is no type of safetensors files", d)
	}
	return files.SafeTypes[d].DType, nil
}

func poly_safetensors_encode(entries *safetensorEntry, n int32, meta *byte, length *int32) *byte {
	if length != nil {
		*length = 0
	}
	return withoutContext("poly_safetensors_encode", nil, func() (*byte, error) {
		check(records("entries", unsafe.Pointer(entries), n))
		var list []*files.Tensor
		for i := range int(n) {
			e := unsafe.Slice(entries, n)[i]
			arg := indexed("entries", i)
			if e.name == nil {
				return nil, badArg(arg, "has no name")
			}
			s := must(sizes(arg, e.shape, e.ndim))
			shape, _ := s.Ints()
			count, err := tensor.MostElements(s)
			if err != nil {
				return nil, &argError{arg, err}
			}
			data := must(bytesFrom(arg, unsafe.Pointer(e.data), count*4))
			list = append(list, &files.Tensor{Name: goString(e.name), DType: uop.Float32, Shape: shape, Data: data})
		}
		var texts map[string]string
		if meta != nil {
			if err := json.Unmarshal([]byte(goString(meta)), &texts); err != nil {
				return nil, badArg("meta", "is no JSON object of strings: %v", err)
			}
		}
		b := must(files.EncodeSafetensors(list, texts))
		return copyToC(b, length)
	})
}

// decode reads a file for C: the tensors in the order of their data, restricted to one type unless that is nil, and on request the
// metadata as JSON, allocated last so that errors leave nothing to free.
func decode(data *byte, n int64, meta **byte, only *uop.DType) ([]*files.Tensor, error) {
	if meta != nil {
		store(meta, nil)
	}
	b, err := bytesFrom("data", unsafe.Pointer(data), n)
	if err != nil {
		return nil, err
	}
	f, err := files.Read(b, files.Safetensors, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, t := range f.Tensors {
		if only != nil && t.DType != only {
			return nil, badArg("data", "tensor %q has type %s, expected F32 (poly_safetensors_decode_ex takes all)", t.Name, t.Type)
		}
		if len(t.Shape) > maxOutDims {
			return nil, badArg("data", "tensor %q has %d dimensions, expected at most %d", t.Name, len(t.Shape), maxOutDims)
		}
	}
	list := slices.Clone(f.Tensors)
	slices.SortFunc(list, func(x, y *files.Tensor) int {
		return cmp.Or(cmp.Compare(address(x), address(y)), cmp.Compare(len(x.Data), len(y.Data)), cmp.Compare(x.Name, y.Name))
	})
	if meta != nil && f.Value != nil {
		text, err := f.ValueJSON()
		if err != nil {
			return nil, err
		}
		store(meta, cString(string(text)))
	}
	return list, nil
}

// address is the address of the bytes of a tensor.
func address(t *files.Tensor) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(t.Data))) }

// safeNumber is the PolySafetensorDType of a type, -1 if there is none.
func safeNumber(d *uop.DType) int32 {
	for i, t := range files.SafeTypes {
		if t.DType == d {
			return int32(i)
		}
	}
	return -1
}

// newArray is malloc'd zeroed memory for n records, at least one; nil if there is none.
func newArray[T any](n int) (*T, []T) {
	p := (*T)(cCalloc(uintptr(max(n, 1)), unsafe.Sizeof(*new(T))))
	if p == nil {
		return nil, nil
	}
	return p, unsafe.Slice(p, n)
}

func shapeOut(shape []int64, out *[maxOutDims]int64) int32 {
	copy(out[:], shape)
	return int32(len(shape))
}

func poly_safetensors_decode(data *byte, n int32, count *int32, meta **byte) *safetensorView {
	return withoutContext("poly_safetensors_decode", nil, func() (*safetensorView, error) {
		if count == nil {
			return nil, badArg("n_out", "is NULL")
		}
		*count = 0
		list := must(decode(data, int64(n), meta, uop.Float32))
		p, views := newArray[safetensorView](len(list))
		if p == nil {
			return nil, badArg("data", "has %d tensors, for which there is no memory", len(list))
		}
		for i, t := range list {
			v := &views[i]
			v.name, v.data, v.numel = cString(t.Name), (*float32)(unsafe.Pointer(unsafe.SliceData(t.Data))), t.Numel()
			v.ndim = shapeOut(t.Shape, &v.shape)
		}
		*count = int32(len(list))
		return p, nil
	})
}

func poly_safetensors_decode_ex(data *byte, n int64, count *int32, meta **byte) *safetensorViewEx {
	return withoutContext("poly_safetensors_decode_ex", nil, func() (*safetensorViewEx, error) {
		if count == nil {
			return nil, badArg("n_out", "is NULL")
		}
		*count = 0
		list := must(decode(data, n, meta, nil))
		p, views := newArray[safetensorViewEx](len(list))
		if p == nil {
			return nil, badArg("data", "has %d tensors, for which there is no memory", len(list))
		}
		for i, t := range list {
			v := &views[i]
			v.name, v.data, v.numel = cString(t.Name), unsafe.Pointer(unsafe.SliceData(t.Data)), t.Numel()
			v.ndim, v.dtype = shapeOut(t.Shape, &v.shape), safeNumber(t.DType)
		}
		*count = int32(len(list))
		return p, nil
	})
}

func poly_safetensors_to_f32(view *safetensorViewEx) *float32 {
	return withoutContext("poly_safetensors_to_f32", nil, func() (*float32, error) {
		if view == nil {
			return nil, badArg("view", "is NULL")
		}
		d, err := safeType("view", view.dtype)
		if err != nil || view.numel < 0 || view.numel > math.MaxInt64/16 {
			return nil, badArg("view", "has type %d and %d elements", view.dtype, view.numel)
		}
		data := must(bytesFrom("view", view.data, view.numel*int64(d.Itemsize())))
		p, out := newArray[float32](int(view.numel))
		if p == nil {
			return nil, badArg("view", "has %d elements, for which there is no memory", view.numel)
		}
		t := files.Tensor{DType: d, Shape: []int64{view.numel}, Data: data}
		return p, t.Floats(out)
	})
}
