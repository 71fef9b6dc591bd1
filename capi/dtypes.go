package main

import (
	"slices"
	"sync"
	"unsafe"

	"polygrad/core/uop"
)

// dtypes lists the data types by their numbers in C, with their names.
var dtypes = []struct {
	name string
	dt   *uop.DType
}{
	{"void", uop.Void}, {"bool", uop.Bool}, {"int8", uop.Int8}, {"uint8", uop.Uint8}, {"int16", uop.Int16},
	{"uint16", uop.Uint16}, {"int32", uop.Int32}, {"uint32", uop.Uint32}, {"int64", uop.Int64}, {"uint64", uop.Uint64},
	{"float16", uop.Float16}, {"bfloat16", uop.BFloat16}, {"float32", uop.Float32}, {"float64", uop.Float64},
	{"index", uop.IndexT}, {"fp8e4m3", uop.FP8E4M3}, {"fp8e5m2", uop.FP8E5M2}, {"complex64", uop.Complex64}, {"complex128", uop.Complex128},
}

// dtypeOf finds the tensor type of a number from C.
func dtypeOf(id int32) (*uop.DType, error) {
	if id < 0 || int(id) >= len(dtypes) {
		return nil, badArg("dtype", "%d is not a data type, expected 1 to 13, or 15 to 18", id)
	}
	d := dtypes[id]
	if !slices.Contains(uop.Scalars, d.dt) && !d.dt.IsComplex() {
		return nil, badArg("dtype", "%s is not the type of a tensor", d.name)
	}
	return d.dt, nil
}

// bufferType is dtypeOf for memory of nodes, which is never complex: see core/uop.
func bufferType(id int32) (*uop.DType, error) {
	d, err := dtypeOf(id)
	if err == nil && d.IsComplex() {
		err = badArg("dtype", "%s is a type of arrays, expected a real type", d.NumpyName())
	}
	return d, err
}

// dtypeID is the number of a type, -1 if it has none.
func dtypeID(d *uop.DType) int32 {
	for i, t := range dtypes {
		if t.dt == d.Scalar() {
			return int32(i)
		}
	}
	return -1
}

// dtypeName is the name of a tensor type in C.
func dtypeName(d *uop.DType) string {
	if i := dtypeID(d); i >= 0 {
		return dtypes[i].name
	}
	return d.NumpyName()
}

// cStrings caches permanent C copies of strings.
var cStrings sync.Map

func static(s string) *byte {
	if p, ok := cStrings.Load(s); ok {
		return p.(*byte)
	}
	made := (*byte)(permanent(uintptr(len(s) + 1)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(made)), len(s)+1), s+"\x00")
	p, _ := cStrings.LoadOrStore(s, made)
	return p.(*byte)
}

func poly_op_count() int32 { return int32(uop.NumOps) }

// nodeOp reports whether op is the code of an operation that nodes of C programs have: one of tinygrad's, or a rounding.
func nodeOp(op int32) bool {
	return op >= 0 && op < int32(uop.NumOps) || op >= int32(uop.Floor) && op <= int32(uop.Round)
}

func poly_op_name(op int32) *byte {
	if !nodeOp(op) {
		return static("UNKNOWN")
	}
	return static(uop.Op(op).String())
}

func poly_dtype_id_name(id int32) *byte {
	if id < 0 || int(id) >= len(dtypes) {
		fail("poly_dtype_id_name", badArg("dtype", "%d is not a data type, expected 0 to %d", id, len(dtypes)-1))
		return nil
	}
	return static(dtypes[id].name)
}

func poly_dtype_id_size(id int32) int32 {
	d, err := dtypeOf(id)
	if err != nil {
		fail("poly_dtype_id_size", err)
		return -1
	}
	return int32(d.Itemsize())
}

func poly_dtype_id_parse(name *byte) int32 {
	if name == nil {
		fail("poly_dtype_id_parse", badArg("name", "is NULL"))
		return -1
	}
	text := goString(name)
	d, err := uop.ParseDType(text)
	if err != nil || dtypeID(d) < 0 {
		fail("poly_dtype_id_parse", badArg("name", "%q is not a data type", text))
		return -1
	}
	return dtypeID(d)
}

func poly_dtype_id_promote(a, b int32) int32 {
	da, err := dtypeOf(a)
	if err == nil {
		var db *uop.DType
		if db, err = dtypeOf(b); err == nil {
			return dtypeID(uop.LeastUpper(da, db))
		}
	}
	fail("poly_dtype_id_promote", err)
	return -1
}

// goString copies a C string; NULL is empty.
func goString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(p)), n))
}
