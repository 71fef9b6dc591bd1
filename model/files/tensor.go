package files

import (
	"fmt"
	"math"

	"polygrad/core/uop"
)

// Tensor is a tensor of a file.
type Tensor struct {
	Name string
	// Shard is the name of the tensor's file in a folder.
	Shard string
	// Type is the file's name of the type: "F32", "Q4_K", "bfloat16".
	Type string
	// DType is the type of the elements; of quantised ones the decoded type, float32.
	DType *uop.DType
	// Quant is the quantisation, nil if there is none.
	Quant *Quant
	Shape []int64
	// Strides are in elements, nil for row-major order.
	Strides []int64
	// Data are the bytes from the first element to the last, little-endian, or the blocks of quantised ones, in the memory of the
	// file. They may be unaligned.
	Data []byte
}

// maxElements bounds the sizes of tensors; all products of sizes and bytes stay below it times 8.
const maxElements = math.MaxInt64 / 16

// maxDims is the number of axes that a tensor can have.
const maxDims = 16

// numel is the number of elements of a shape.
func numel(shape []int64) (int64, error) {
	if len(shape) > maxDims {
		return 0, fmt.Errorf("%d dimensions, expected at most %d", len(shape), maxDims)
	}
	// An axis of size 0 does not make room for others of any size: the products in the strides would overflow.
	n, zero := int64(1), false
	for _, d := range shape {
		switch {
		case d < 0:
			return 0, fmt.Errorf("shape %v has a negative size", shape)
		case d == 0:
			zero = true
		case n > maxElements/d:
			return 0, fmt.Errorf("shape %v has too many elements", shape)
		default:
			n *= d
		}
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// Numel is the number of elements.
func (t *Tensor) Numel() int64 {
	n, _ := numel(t.Shape)
	return n
}

// Contiguous are the bytes of the elements in row-major order: Data itself where it is contiguous.
func (t *Tensor) Contiguous() []byte {
	if t.Strides == nil {
		return t.Data
	}
	return t.gather(make([]byte, 0, t.Numel()*int64(t.DType.Itemsize())))
}

// gather appends the elements in row-major order.
func (t *Tensor) gather(out []byte) []byte {
	if t.Strides == nil {
		return append(out, t.Data...)
	}
	if t.Numel() == 0 {
		return out
	}
	size := int64(t.DType.Itemsize())
	index := make([]int64, len(t.Shape))
	at := int64(0)
	for {
		out = append(out, t.Data[at*size:(at+1)*size]...)
		axis := len(index) - 1
		for ; axis >= 0; axis-- {
			at += t.Strides[axis]
			if index[axis]++; index[axis] < t.Shape[axis] {
				break
			}
			at -= t.Strides[axis] * t.Shape[axis]
			index[axis] = 0
		}
		if axis < 0 {
			return out
		}
	}
}

// Floats converts the first len(out) elements in row-major order to float32.
func (t *Tensor) Floats(out []float32) error {
	if n := t.Numel(); int64(len(out)) > n {
		return fmt.Errorf("files.Tensor.Floats: out: tensor %s has %d elements, expected at least %d", quote(t.Name), n, len(out))
	}
	if t.Quant != nil {
		t.Quant.floats(t.Data, out)
	} else {
		floats[t.DType](t.Contiguous(), out)
	}
	return nil
}
