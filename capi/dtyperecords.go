package main

import (
	"slices"
	"unsafe"

	"polygrad/core/uop"
)

const (
	maxLanes   = 64 // elements of a vector
	addrSpaces = 3
)

// recordType is the type of a PolyDType record.
func recordType(arg string, p unsafe.Pointer) (*uop.DType, error) {
	r := (*dtypeRecord)(p)
	count := max(int(r.count), 1)
	var d *uop.DType
	for _, t := range dtypes {
		if t.dt.Priority == int(r.priority) && t.dt.Bits*count == int(r.bitsize) {
			d = t.dt
		}
	}
	if d == nil || count > maxLanes || count > 1 && d == uop.Void {
		return nil, badArg(arg, "a record with priority %d, %d bits and %d elements is not a data type", r.priority, r.bitsize, r.count)
	}
	d = d.Vec(count)
	if !r.is_ptr {
		return d, nil
	}
	if r.addrspace < 0 || r.addrspace >= addrSpaces || r.ptr_size < -1 || r.vcount > maxLanes {
		return nil, badArg(arg, "a pointer to %d elements in address space %d, %d of them, expected -1 or more, 0 to %d, at most %d",
			r.ptr_size, r.addrspace, r.vcount, addrSpaces-1, maxLanes)
	}
	return d.Ptr(r.ptr_size, uop.AddrSpace(r.addrspace)).Vec(max(int(r.vcount), 1)), nil
}

// recordScalar is the tensor type of a PolyDType record.
func recordScalar(arg string, p unsafe.Pointer) (*uop.DType, error) {
	d, err := recordType(arg, p)
	if err == nil && !slices.Contains(uop.Scalars, d) {
		err = badArg(arg, "%s is not the type of a tensor", d)
	}
	return d, err
}

// recordName is the name of a type in C.
func recordName(d *uop.DType) *byte {
	if d.Scalar() == uop.Float16 && d.Count == 1 {
		return static("__fp16")
	}
	return static(d.Name)
}

// writeType writes a type to a PolyDType record.
func writeType(d *uop.DType, p unsafe.Pointer) {
	store((*dtypeRecord)(p), dtypeRecord{
		priority: int8(d.Priority), bitsize: uint16(d.Bits), name: recordName(d), fmt: d.Fmt, count: uint16(d.Count),
		is_ptr: d.IsPtr(), addrspace: int32(d.Space), vcount: uint16(d.VCnt), ptr_size: d.Size,
	})
}

// deriveType derives a type; the record at out is unchanged on error.
func deriveType(fn string, in, out unsafe.Pointer, f func(d *uop.DType) (*uop.DType, error)) {
	d, err := recordType("dtype", in)
	if err == nil {
		d, err = f(d)
	}
	if err != nil {
		fail(fn, err)
		return
	}
	writeType(d, out)
}

func poly_dtype_vec(in unsafe.Pointer, n int32, out unsafe.Pointer) {
	deriveType("poly_dtype_vec", in, out, func(d *uop.DType) (*uop.DType, error) {
		switch {
		case n < 1 || n > maxLanes:
			return nil, badArg("n", "%d elements, expected 1 to %d", n, maxLanes)
		case d.Count > 1 || d.VCnt > 1:
			return nil, badArg("dtype", "%s is a vector already", d)
		}
		return d.Vec(int(n)), nil
	})
}

func poly_dtype_scalar(in, out unsafe.Pointer) {
	deriveType("poly_dtype_scalar", in, out, func(d *uop.DType) (*uop.DType, error) { return d.Scalar(), nil })
}

func poly_dtype_ptr(in unsafe.Pointer, size int64, space int32, out unsafe.Pointer) {
	deriveType("poly_dtype_ptr", in, out, func(d *uop.DType) (*uop.DType, error) {
		switch {
		case d.IsPtr():
			return nil, badArg("dtype", "%s is a pointer already", d)
		case size < -1:
			return nil, badArg("size", "%d elements, expected -1 or more", size)
		case space < 0 || space >= addrSpaces:
			return nil, badArg("space", "%d, expected 0 to %d", space, addrSpaces-1)
		}
		return d.Ptr(size, uop.AddrSpace(space)), nil
	})
}

func poly_dtype_name(dtype unsafe.Pointer) *byte {
	d, err := recordType("dtype", dtype)
	if err != nil {
		fail("poly_dtype_name", err)
		return nil
	}
	return recordName(d)
}
