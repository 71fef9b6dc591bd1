package uop

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// AddrSpace says where a pointer points.
type AddrSpace uint8

// Address spaces of pointers.
const (
	Global AddrSpace = iota
	Local
	Reg
)

// String is GLOBAL, LOCAL or REG.
func (a AddrSpace) String() string { return [...]string{"GLOBAL", "LOCAL", "REG"}[a] }

// DType is a data type: a scalar, a vector of scalars, or a pointer. Every DType
// exists once, so types are compared with ==.
type DType struct {
	Priority int    // decides which type wins a promotion
	Bits     int    // size of one value (of the whole vector for vectors); index is so wide that it never overflows
	Name     string // the C name
	Fmt      byte   // the struct code of the format, 0 where there is none
	Count    int    // elements of a vector, 1 for scalars

	scalar *DType // element type of a vector (of a vector of pointers: the pointer)
	base   *DType // pointee of a pointer, nil otherwise
	Space  AddrSpace
	VCnt   int   // pointers in a vector of pointers
	Size   int64 // elements behind a pointer, -1 if unknown

	text string
}

type dtypeKey struct {
	of    *DType
	count int
	ptr   bool
	space AddrSpace
	size  int64
}

var (
	dtypeMu    sync.RWMutex
	dtypeCache = map[dtypeKey]*DType{}
)

func newScalar(priority, bits int, name string, fmt byte, text string) *DType {
	return &DType{Priority: priority, Bits: bits, Name: name, Fmt: fmt, Count: 1, VCnt: 1, Size: -1, text: text}
}

// The scalar types.
var (
	Void    = newScalar(-1, 0, "void", 0, "void")
	IndexT  = newScalar(-1, 800, "index", 0, "index")
	Bool    = newScalar(0, 1, "bool", '?', "bool")
	Int8    = newScalar(1, 8, "signed char", 'b', "char")
	Uint8   = newScalar(2, 8, "unsigned char", 'B', "uchar")
	Int16   = newScalar(3, 16, "short", 'h', "short")
	Uint16  = newScalar(4, 16, "unsigned short", 'H', "ushort")
	Int32   = newScalar(5, 32, "int", 'i', "int")
	Uint32  = newScalar(6, 32, "unsigned int", 'I', "uint")
	Int64   = newScalar(7, 64, "long", 'q', "long")
	Uint64  = newScalar(8, 64, "unsigned long", 'Q', "ulong")
	FP8E4M3 = newScalar(9, 8, "float8_e4m3", 0, "fp8e4m3")
	FP8E5M2 = newScalar(10, 8, "float8_e5m2", 0, "fp8e5m2")
	// BFloat16 ranks above Float16, as in tinygrad.
	Float16  = newScalar(11, 16, "half", 'e', "half")
	BFloat16 = newScalar(12, 16, "__bf16", 0, "bfloat16")
	Float32  = newScalar(13, 32, "float", 'f', "float")
	Float64  = newScalar(14, 64, "double", 'd', "double")
)

// Lists of scalar types, in tinygrad's order.
var (
	Floats = []*DType{FP8E4M3, FP8E5M2, Float16, BFloat16, Float32, Float64}
	Ints   = []*DType{Uint8, Uint16, Uint32, Uint64, Int8, Int16, Int32, Int64}
	// Scalars is every type that a buffer can hold, in order of priority.
	Scalars = []*DType{Bool, Int8, Uint8, Int16, Uint16, Int32, Uint32, Int64, Uint64, FP8E4M3, FP8E5M2, Float16, BFloat16, Float32, Float64}
)

// The types that Go-side literals take when nothing else decides.
var (
	DefaultFloat = Float32
	DefaultInt   = Int32
)

var dtypeByText = func() map[string]*DType {
	m := map[string]*DType{
		"void": Void, "index": IndexT, "bool": Bool, "int8": Int8, "uint8": Uint8, "int16": Int16, "uint16": Uint16,
		"int32": Int32, "uint32": Uint32, "int64": Int64, "uint64": Uint64, "float16": Float16, "bfloat16": BFloat16,
		"float32": Float32, "float64": Float64, "fp8e4m3": FP8E4M3, "fp8e5m2": FP8E5M2, "complex64": Complex64, "complex128": Complex128,
	}
	for _, d := range Scalars {
		m[d.text] = d
	}
	return m
}()

var numpyNames = func() map[*DType]string {
	m := map[*DType]string{}
	for name, d := range dtypeByText {
		if name != d.text {
			m[d] = name
		}
	}
	return m
}()

// NumpyName is numpy's name of a type ("float32"), or its own where numpy has none: users know types by it.
func (d *DType) NumpyName() string {
	if name, ok := numpyNames[d.Scalar()]; ok {
		return name
	}
	return d.String()
}

func intern(k dtypeKey, make func() *DType) *DType {
	dtypeMu.RLock()
	d := dtypeCache[k]
	dtypeMu.RUnlock()
	if d != nil {
		return d
	}
	dtypeMu.Lock()
	defer dtypeMu.Unlock()
	if d := dtypeCache[k]; d != nil {
		return d
	}
	d = make()
	dtypeCache[k] = d
	return d
}

// Vec is the vector of n elements of d; n = 1 is d itself.
func (d *DType) Vec(n int) *DType {
	if n == 1 || d == Void {
		return d
	}
	if d.IsPtr() {
		if d.VCnt != 1 {
			panic(fmt.Sprintf("uop.DType.Vec: %s is a vector already", d))
		}
		return intern(dtypeKey{of: d, count: n}, func() *DType {
			v := *d
			v.scalar, v.VCnt = d, n
			v.text = d.text + ".vec(" + strconv.Itoa(n) + ")"
			return &v
		})
	}
	if d.Count != 1 {
		panic(fmt.Sprintf("uop.DType.Vec: %s is a vector already", d))
	}
	return intern(dtypeKey{of: d, count: n}, func() *DType {
		return &DType{Priority: d.Priority, Bits: d.Bits * n, Name: d.text + strconv.Itoa(n), Count: n, scalar: d,
			VCnt: n, Size: -1, text: d.text + ".vec(" + strconv.Itoa(n) + ")"}
	})
}

// Ptr is the pointer to size elements of d in an address space; size -1 is unlimited.
func (d *DType) Ptr(size int64, space AddrSpace) *DType {
	if d.IsPtr() {
		panic(fmt.Sprintf("uop.DType.Ptr: %s is a pointer already", d))
	}
	return intern(dtypeKey{of: d, ptr: true, space: space, size: size}, func() *DType {
		p := &DType{Priority: d.Priority, Bits: d.Bits, Name: d.Name, Fmt: d.Fmt, Count: d.Count, base: d, Space: space, VCnt: 1, Size: size}
		p.text = d.text + ".ptr(" + strconv.FormatInt(size, 10)
		if space != Global {
			p.text += "," + space.String()
		}
		p.text += ")"
		return p
	})
}

// IsPtr reports whether d is a pointer (or a vector of pointers).
func (d *DType) IsPtr() bool { return d.base != nil }

// Base is the pointee of a pointer and d itself otherwise.
func (d *DType) Base() *DType {
	if d.base != nil {
		return d.base
	}
	return d
}

// Scalar is the element type of a vector and d itself otherwise.
func (d *DType) Scalar() *DType {
	if d.scalar != nil {
		return d.scalar
	}
	return d
}

// VCount is the number of values a node of this type holds: vector elements, or pointers of a pointer vector.
func (d *DType) VCount() int { return d.VCnt }

// Itemsize is the size in bytes of one value.
func (d *DType) Itemsize() int { return (d.Bits + 7) / 8 }

// String is the type as the reference data writes it: float, float.vec(4), float.ptr(16), float.ptr(1,REG).
func (d *DType) String() string { return d.text }

// IsFloat reports whether the element type is a floating point type.
func (d *DType) IsFloat() bool {
	p := d.Scalar().Priority
	return p >= FP8E4M3.Priority && p <= Float64.Priority
}

// IsInt reports whether the element type is an integer, index included.
func (d *DType) IsInt() bool {
	s := d.Scalar()
	return s == IndexT || s.Priority >= Int8.Priority && s.Priority <= Uint64.Priority
}

// Wraps reports whether arithmetic of the type may overflow and then wraps around: for unsigned integers, and for those of less than 32 bits.
// Arithmetic of int32, int64 and index is assumed not to overflow.
func (d *DType) Wraps() bool { return d.IsUnsigned() || d.IsInt() && d.Scalar().Bits < 32 }

// IsUnsigned reports whether the element type is an unsigned integer.
func (d *DType) IsUnsigned() bool {
	p := d.Scalar().Priority
	return p == 2 || p == 4 || p == 6 || p == 8
}

// IsBool reports whether the element type is bool.
func (d *DType) IsBool() bool { return d.Scalar().Priority == 0 }

// IsIndex reports whether the element type is index.
func (d *DType) IsIndex() bool { return d.Scalar() == IndexT }

// Less is tinygrad's order of types: priority, size, name, format, count. It ignores
// what a pointer points to, so distinct pointers can be neither less nor greater.
func (d *DType) Less(o *DType) bool {
	switch {
	case d.Priority != o.Priority:
		return d.Priority < o.Priority
	case d.Bits != o.Bits:
		return d.Bits < o.Bits
	case d.Name != o.Name:
		return d.Name < o.Name
	case d.Fmt != o.Fmt:
		return d.Fmt < o.Fmt
	}
	return d.Count < o.Count
}

// ParseDType reads the text of DType.String; numpy's names (float32, int64 …) are understood too.
func ParseDType(s string) (*DType, error) {
	name, rest, _ := strings.Cut(s, ".")
	d := dtypeByText[name]
	if d == nil {
		return nil, fmt.Errorf("uop.ParseDType: unknown dtype %q", s)
	}
	for rest != "" {
		open, end := strings.IndexByte(rest, '('), strings.IndexByte(rest, ')')
		if open < 0 || end < open {
			return nil, fmt.Errorf("uop.ParseDType: malformed dtype %q", s)
		}
		kind, args := rest[:open], strings.Split(rest[open+1:end], ",")
		rest = strings.TrimPrefix(rest[end+1:], ".")
		n, err := strconv.ParseInt(strings.TrimSpace(args[0]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("uop.ParseDType: malformed dtype %q: %v", s, err)
		}
		switch kind {
		case "vec":
			d = d.Vec(int(n))
		case "ptr":
			space := Global
			if len(args) > 1 {
				switch strings.TrimSpace(args[1]) {
				case "LOCAL":
					space = Local
				case "REG":
					space = Reg
				}
			}
			d = d.Ptr(n, space)
		default:
			return nil, fmt.Errorf("uop.ParseDType: malformed dtype %q", s)
		}
	}
	return d, nil
}
