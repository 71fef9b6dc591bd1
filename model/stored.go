package model

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"polygrad/core/uop"
	"polygrad/model/files"
)

// stored is an array outside the float32 buffers of an instance: a matrix in another data type, or its scale factors.
type stored struct {
	name  string
	dtype *uop.DType
	shape []int64
	data  []byte
	node  *uop.UOp
	// perColumn: the scale factors of an int8 matrix belong to columns, else to rows.
	perColumn bool
}

// allocateStored gives the stored arrays memory.
func (m *Instance) allocateStored(vs []Variable) error {
	sizes := make([]int64, len(vs))
	for i, v := range vs {
		n, err := elements(v.Shape)
		if err != nil {
			return fmt.Errorf("buffer %q: %w", v.Name, err)
		}
		sizes[i] = (n*int64(v.Stored.Itemsize()) + 3) / 4
	}
	var err error
	if m.storedMemory, err = newBlock(sizes...); err != nil {
		return err
	}
	for i, v := range vs {
		n, _ := elements(v.Shape)
		data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(m.storedMemory.arrays[i]))), n*int64(v.Stored.Itemsize()))
		m.stored = append(m.stored, &stored{v.Name, v.Stored, slices.Clone(v.Shape), data, v.Node, v.PerColumn})
	}
	return nil
}

func (m *Instance) storedArray(name string) *stored {
	for _, s := range m.stored {
		if s.name == name {
			return s
		}
	}
	return nil
}

// needFloats is an error if matrices are stored in a data type other than float32: the named function needs parameters.
func (m *Instance) needFloats(what string) error {
	for _, s := range m.stored {
		return fmt.Errorf("the weights are %s, %s needs them as float32", s.dtype, what)
	}
	return nil
}

// load converts a tensor of a file. Of a longer table the first rows count.
func (s *stored) load(t *files.Tensor, scale *stored) error {
	if len(t.Shape) != 2 || t.Shape[1] != s.shape[1] || t.Shape[0] < s.shape[0] {
		return fmt.Errorf("shape %v, expected %v", t.Shape, s.shape)
	}
	rows, n := s.shape[0], s.shape[1]
	size := n * int64(t.DType.Itemsize())
	data := t.Contiguous()
	row := make([]float32, n)
	read := func(i int64) error {
		part := files.Tensor{Name: t.Name, DType: t.DType, Shape: []int64{n}, Data: data[i*size : (i+1)*size]}
		return part.Floats(row)
	}
	if s.dtype == uop.Int8 {
		return s.quantize(read, row, scale)
	}
	for i := range rows {
		if err := read(i); err != nil {
			return err
		}
		at := s.data[2*i*n:]
		for j, v := range row {
			bits := uop.FloatToBF16
			if s.dtype == uop.Float16 {
				bits = uop.FloatToHalf
			}
			binary.LittleEndian.PutUint16(at[2*j:], bits(float64(v)))
		}
	}
	return nil
}

// quantize rounds a matrix to int8 with a scale factor for each row or column.
func (s *stored) quantize(read func(i int64) error, row []float32, scale *stored) error {
	factors := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(scale.data))), scale.shape[0])
	factor := func(i int64, j int) *float32 {
		if s.perColumn {
			return &factors[j]
		}
		return &factors[i]
	}
	clear(factors)
	for i := range s.shape[0] {
		if err := read(i); err != nil {
			return err
		}
		for j, v := range row {
			if f := factor(i, j); !(float32(math.Abs(float64(v))) <= *f) { // NaN too
				*f = float32(math.Abs(float64(v)))
			}
		}
	}
	for j := range factors {
		factors[j] /= math.MaxInt8
	}
	for i := range s.shape[0] {
		if err := read(i); err != nil {
			return err
		}
		at := s.data[i*int64(len(row)):]
		for j, v := range row {
			if f := *factor(i, j); f > 0 {
				at[j] = byte(int8(math.RoundToEven(float64(v / f))))
			} else {
				at[j] = 0
			}
		}
	}
	return nil
}
