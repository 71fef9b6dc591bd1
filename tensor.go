package polygrad

import (
	"errors"
	"fmt"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/variable"
)

// A Tensor is an n-dimensional array of elements of one type that is computed lazily: operations return new tensors at once, and
// Realize, Values, Item and Backward compute them. See the package documentation for errors, views and writes.
type Tensor struct {
	c   *Context
	v   *variable.Variable
	err error
}

// A DType is the type of a tensor's elements, by its name.
type DType string

// The element types. Go has no types for the elements of BFloat16, Float16, FP8E4M3 and FP8E5M2: Cast such tensors before Values.
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

	Complex64  DType = "complex64"
	Complex128 DType = "complex128"
)

func (d DType) uop() (*uop.DType, error) {
	dt, err := uop.ParseDType(string(d))
	if err != nil {
		return nil, fmt.Errorf("dtype: %q is not a type of elements", d)
	}
	return dt, nil
}

// An Element is a Go type that tensors are made from and read into; bool is Bool, float32 is Float32, and so on.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | complex64 | complex128
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
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	}
	return Float64
}

// From returns a tensor of the type T and the given shape with a copy of data, in row-major order. Without a shape it is a vector. It is
// an error if the shape has another number of elements than data.
func From[T Element](data []T, shape ...int) *Tensor { return FromIn(Default(), data, shape...) }

// FromIn is From in the context c.
func FromIn[T Element](c *Context, data []T, shape ...int) *Tensor {
	shape, err := checkedShape(data, shape)
	if err != nil {
		return failedTensor("From", err)
	}
	return c.fill("From", typeOf[T](), shape, func(b []byte) { copy(b, bytesOf(data)) })
}

// Share is From without a copy: writes to the tensor change data. The program must not write to data while the tensor, or an unrealized
// tensor that was computed from it, is in use. A device with memory of its own, such as a GPU, gets a copy.
func Share[T Element](data []T, shape ...int) *Tensor {
	shape, err := checkedShape(data, shape)
	if err != nil {
		return failedTensor("Share", err)
	}
	c := Default()
	c.lock()
	defer c.unlock()
	dt, err := typeOf[T]().uop()
	if err != nil {
		return failedTensor("Share", err)
	}
	v, err := c.vars.Share(dt, shapeOf(shape), unsafe.Pointer(unsafe.SliceData(data)), data)
	if err != nil {
		return failedTensor("Share", err)
	}
	return c.tensor(v)
}

// checkedShape is a shape for elements, that of a vector if none is given.
func checkedShape[T Element](data []T, shape []int) ([]int, error) {
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

// Scalar returns a tensor of shape () with one element of the type T.
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
		return failedTensor(fn, err)
	}
	v, err := c.vars.Fill(dt, shapeOf(shape), func(b []byte) error { write(b); return nil })
	if err != nil {
		return failedTensor(fn, err)
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

// A callError is an error of a function of this package.
type callError struct {
	fn  string
	err error
}

func (e *callError) Error() string {
	return "polygrad: " + e.fn + ": " + tensor.WithoutOrigins(e.err.Error())
}

func (e *callError) Unwrap() error { return e.err }

// failedTensor is a tensor with an error of a function.
func failedTensor(fn string, err error) *Tensor { return &Tensor{err: wrapError(fn, err)} }

// Err returns the error of the tensor: the first one in the chain of operations that made it, or nil.
func (t *Tensor) Err() error {
	switch {
	case t == nil:
		return errors.New("polygrad: the tensor is nil")
	case t.err == nil && t.v == nil:
		return errors.New("polygrad: the tensor is empty: see From")
	}
	return t.err
}

// withLock locks the context of a tensor for f; without a tensor it does nothing.
func (t *Tensor) withLock(f func()) {
	if t.Err() != nil {
		return
	}
	t.c.lock()
	defer t.c.unlock()
	f()
}

// Shape returns the size of each axis, the greatest possible one of a symbolic size (see Sizes); nil if the tensor has an error.
func (t *Tensor) Shape() (shape []int) {
	t.withLock(func() {
		shape = []int{}
		for _, d := range t.v.Node().Shape() {
			shape = append(shape, int(d.Max()))
		}
	})
	return shape
}

// NDim returns the number of axes, 0 if the tensor has an error.
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

// DType returns the type of the elements, "" if the tensor has an error.
func (t *Tensor) DType() (d DType) {
	t.withLock(func() { d = DType(t.v.Node().DType.NumpyName()) })
	return d
}

// String returns the shape and type of the tensor, or its error. It does not compute the elements.
func (t *Tensor) String() string {
	if err := t.Err(); err != nil {
		return "Tensor(" + err.Error() + ")"
	}
	return fmt.Sprintf("Tensor(shape=%v, dtype=%s)", t.Shape(), t.DType())
}

// IsRealized reports whether the elements of the tensor, or of the tensor it is a view of, have been computed.
func (t *Tensor) IsRealized() (is bool) {
	t.withLock(func() { is = t.v.IsComputed() })
	return is
}

// Realize computes tensors of one context in one program. It returns the first error of a tensor, or that of the computation.
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
	return wrapError("Realize", c.vars.Realize(vs...))
}

// wrapError is an error with the function it comes from: that of an operand stays as it is.
func wrapError(fn string, err error) error {
	if err == nil {
		return nil
	}
	if known := (*callError)(nil); errors.As(err, &known) {
		return known
	}
	return &callError{fn, err}
}

// Realize computes the tensor and returns its error, or that of the computation.
func (t *Tensor) Realize() error { return Realize(t) }

// Values computes a tensor and returns a copy of its elements in row-major order. T must be the type of the tensor: see Cast.
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
	return out, wrapError("Values", err)
}

// Item computes a tensor of one element and returns that as a float64. A tensor of several elements is an error.
func (t *Tensor) Item() (float64, error) {
	if err := t.Err(); err != nil {
		return 0, err
	}
	t.c.lock()
	defer t.c.unlock()
	c, err := t.v.Item()
	return c.F(), wrapError("Item", err)
}
