package polygrad

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/variable"
)

// A Tensor is an array of elements of one type, whose values are computed when they are needed. Operations return new tensors at once;
// Realize, Values, Item and Backward compute.
//
// A method that cannot do what it is asked returns a tensor with an error, and so do all operations on that: check Err, or the error of
// Realize, Values or Item, once at the end.
type Tensor struct {
	c   *Context
	v   *variable.Variable
	err error
}

// A DType is the type of elements.
type DType string

// The types of elements. Go has no numbers of BFloat16, Float16 and the float8 types: cast them to read them.
const (
	Bool     DType = "bool"
	Int8     DType = "int8"
	Int16    DType = "int16"
	Int32    DType = "int32"
	Int64    DType = "int64"
	Uint8    DType = "uint8"
	Uint16   DType = "uint16"
	Uint32   DType = "uint32"
	Uint64   DType = "uint64"
	Float16  DType = "float16"
	BFloat16 DType = "bfloat16"
	Float32  DType = "float32"
	Float64  DType = "float64"
	FP8E4M3  DType = "fp8e4m3"
	FP8E5M2  DType = "fp8e5m2"
)

func (d DType) uop() (*uop.DType, error) {
	dt, err := uop.ParseDType(string(d))
	if err != nil {
		return nil, fmt.Errorf("dtype: %q is not a type of elements", d)
	}
	return dt, nil
}

// An Element is a Go type of elements.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func typeOf[T Element]() DType {
	switch any(*new(T)).(type) {
	case bool:
		return Bool
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case float32:
		return Float32
	}
	return Float64
}

// From returns a tensor with a copy of elements, in row-major order. Without a shape it is a vector.
func From[T Element](data []T, shape ...int) *Tensor { return FromIn(Default(), data, shape...) }

// FromIn is From in a context.
func FromIn[T Element](c *Context, data []T, shape ...int) *Tensor {
	shape, err := fitting(data, shape)
	if err != nil {
		return failed("From", err)
	}
	return c.fill("From", typeOf[T](), shape, func(b []byte) { copy(b, bytesOf(data)) })
}

// Share returns a tensor on the memory of elements, in row-major order, without a copy: what is written to the tensor arrives in data.
// Nobody may write to data while the tensor, or one that was made of it and is not computed, is in use.
func Share[T Element](data []T, shape ...int) *Tensor {
	shape, err := fitting(data, shape)
	if err != nil {
		return failed("Share", err)
	}
	c := Default()
	c.lock()
	defer c.unlock()
	dt, err := typeOf[T]().uop()
	if err != nil {
		return failed("Share", err)
	}
	v, err := c.vars.Share(dt, shapeOf(shape), unsafe.Pointer(unsafe.SliceData(data)), data)
	if err != nil {
		return failed("Share", err)
	}
	return c.tensor(v)
}

// fitting is a shape for elements, that of a vector if none is given.
func fitting[T Element](data []T, shape []int) ([]int, error) {
	if shape == nil {
		return []int{len(data)}, nil
	}
	for _, d := range shape {
		if d < 0 {
			return nil, fmt.Errorf("shape: %v, expected sizes of 0 or more", shape)
		}
	}
	n, err := tensor.MostElements(shapeOf(shape))
	if err != nil {
		return nil, err
	}
	if n != int64(len(data)) {
		return nil, fmt.Errorf("shape: %v has %d elements, expected the %d of data", shape, n, len(data))
	}
	return shape, nil
}

// Scalar returns a tensor of one element and no axes.
func Scalar[T Element](x T) *Tensor { return FromIn(Default(), []T{x}, []int{}...) }

// bytesOf are the bytes of elements.
func bytesOf[T Element](data []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(*new(T))))
}

// fill makes a tensor and its memory.
func (c *Context) fill(fn string, d DType, shape []int, write func(b []byte)) *Tensor {
	c.lock()
	defer c.unlock()
	dt, err := d.uop()
	if err != nil {
		return failed(fn, err)
	}
	v, err := c.vars.Fill(dt, shapeOf(shape), func(b []byte) error { write(b); return nil })
	if err != nil {
		return failed(fn, err)
	}
	return c.tensor(v)
}

func shapeOf(sizes []int) uop.Shape {
	s := make(uop.Shape, len(sizes))
	for i, n := range sizes {
		s[i] = uop.N(int64(n))
	}
	return s
}

// failed is a tensor with an error of a function.
func failed(fn string, err error) *Tensor {
	text := err.Error()
	if i := strings.Index(text, ": "); i > 0 && strings.HasPrefix(text, "tensor.") {
		text = text[i+2:]
	}
	return &Tensor{err: fmt.Errorf("polygrad: %s: %s", fn, text)}
}

// Err returns the first error on the way to the tensor, or nil.
func (t *Tensor) Err() error {
	switch {
	case t == nil:
		return errors.New("polygrad: the tensor is nil")
	case t.err == nil && t.v == nil:
		return errors.New("polygrad: the tensor is empty: see From")
	}
	return t.err
}

// ask locks the context of a tensor for f; without a tensor it does nothing.
func (t *Tensor) ask(f func()) {
	if t.Err() != nil {
		return
	}
	t.c.lock()
	defer t.c.unlock()
	f()
}

// Shape returns the size of each axis, the greatest possible one where it is variable (see Sizes); nil if the tensor has an error.
func (t *Tensor) Shape() (shape []int) {
	t.ask(func() {
		shape = []int{}
		for _, d := range t.v.Node().Shape() {
			shape = append(shape, int(d.Max()))
		}
	})
	return shape
}

// NDim returns the number of axes.
func (t *Tensor) NDim() int { return len(t.Shape()) }

// Numel returns the number of elements, 0 if the tensor has an error.
func (t *Tensor) Numel() int {
	if t.Err() != nil {
		return 0
	}
	n := 1
	for _, d := range t.Shape() {
		n *= d
	}
	return n
}

// DType returns the type of the elements.
func (t *Tensor) DType() (d DType) {
	t.ask(func() { d = DType(t.v.Node().DType.NumpyName()) })
	return d
}

// String describes the tensor; it shows no values.
func (t *Tensor) String() string {
	if err := t.Err(); err != nil {
		return "Tensor(" + err.Error() + ")"
	}
	return fmt.Sprintf("Tensor(shape=%v, dtype=%s)", t.Shape(), t.DType())
}

// IsRealized reports whether the values, or those that the tensor is a view of, are computed.
func (t *Tensor) IsRealized() (is bool) {
	t.ask(func() { is = t.v.IsComputed() })
	return is
}

// Realize computes tensors, in one program.
func Realize(ts ...*Tensor) error {
	for i, t := range ts {
		if err := t.Err(); err != nil {
			return err
		}
		if t.c != ts[0].c {
			return fmt.Errorf("polygrad: Realize: tensor %d belongs to another context", i)
		}
	}
	if len(ts) == 0 {
		return nil
	}
	c := ts[0].c
	c.lock()
	defer c.unlock()
	vs := make([]*variable.Variable, len(ts))
	for i, t := range ts {
		vs[i] = t.v
	}
	return told("Realize", c.vars.Realize(vs...))
}

// told is an error with the function it comes from.
func told(fn string, err error) error {
	if err == nil {
		return nil
	}
	return failed(fn, err).err
}

// Realize computes the tensor.
func (t *Tensor) Realize() error { return Realize(t) }

// Values computes a tensor and returns a copy of its elements, in row-major order. T is the tensor's type.
func Values[T Element](t *Tensor) ([]T, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if d := t.DType(); d != typeOf[T]() {
		return nil, fmt.Errorf("polygrad: Values: the tensor is %s, expected %s: see Cast", d, typeOf[T]())
	}
	t.c.lock()
	defer t.c.unlock()
	var out []T
	err := t.v.Read(func(b []byte) {
		out = make([]T, len(b)/int(unsafe.Sizeof(*new(T))))
		copy(bytesOf(out), b)
	})
	return out, told("Values", err)
}

// Item computes a tensor of one element and returns that.
func (t *Tensor) Item() (float64, error) {
	if err := t.Err(); err != nil {
		return 0, err
	}
	t.c.lock()
	defer t.c.unlock()
	c, err := t.v.Item()
	return c.F(), told("Item", err)
}
