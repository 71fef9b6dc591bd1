package model

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// SafeDType is a data type of a safetensors file.
type SafeDType uint8

// The types, as the C interface numbers them.
const (
	SafeF32 SafeDType = iota
	SafeF16
	SafeBF16
	SafeF64
	SafeI64
	SafeI32
	SafeI16
	SafeI8
	SafeU8
	SafeBool
)

var safeDTypes = [...]struct {
	name string
	size int64
}{
	{"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"I64", 8}, {"I32", 4}, {"I16", 2}, {"I8", 1}, {"U8", 1}, {"BOOL", 1},
}

// String is the name of the type in files.
func (d SafeDType) String() string { return safeDTypes[d].name }

// Size is the number of bytes of an element.
func (d SafeDType) Size() int64 { return safeDTypes[d].size }

// Known reports whether d is one of the types.
func (d SafeDType) Known() bool { return int(d) < len(safeDTypes) }

// SafeTensor is one tensor of a safetensors file. Data points into the file.
type SafeTensor struct {
	Name  string
	DType SafeDType
	Shape []int64
	Data  []byte
}

// Numel is the number of elements.
func (t *SafeTensor) Numel() int64 { return int64(len(t.Data)) / t.DType.Size() }

// maxHeader bounds the header of a file; 100 MB is what the format's own library allows.
const maxHeader = 100_000_000

// DecodeSafetensors lists the tensors of a safetensors file in the order of their data, and its metadata.
// Tensors of types that the package does not know are an error.
func DecodeSafetensors(file []byte) ([]SafeTensor, map[string]string, error) {
	list, meta, err := decodeSafetensors(file)
	if err != nil {
		return nil, nil, fmt.Errorf("model.DecodeSafetensors: file: %w", err)
	}
	return list, meta, nil
}

func decodeSafetensors(file []byte) ([]SafeTensor, map[string]string, error) {
	header, data, err := splitSafetensors(file)
	if err != nil {
		return nil, nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return nil, nil, fmt.Errorf("the header is no JSON object of tensors: %w", err)
	}
	if raw == nil {
		return nil, nil, errors.New("the header is null, expected a JSON object")
	}
	var meta map[string]string
	type placed struct {
		SafeTensor
		at int64
	}
	list := make([]placed, 0, len(raw))
	for name, text := range raw {
		if name == "__metadata__" {
			if err := json.Unmarshal(text, &meta); err != nil {
				return nil, nil, fmt.Errorf("__metadata__: %w", err)
			}
			continue
		}
		t, at, err := safeTensor(name, text, data)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		list = append(list, placed{t, at})
	}
	slices.SortFunc(list, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.Name, b.Name))
	})
	out := make([]SafeTensor, len(list))
	for i, t := range list {
		out[i] = t.SafeTensor
	}
	return out, meta, nil
}

func splitSafetensors(file []byte) (header, data []byte, err error) {
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("%d bytes, expected at least 8", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader || n > uint64(len(file)-8) {
		return nil, nil, fmt.Errorf("the header should have %d bytes, but %d follow", n, len(file)-8)
	}
	return file[8 : 8+n], file[8+n:], nil
}

func safeTensor(name string, text, data []byte) (t SafeTensor, at int64, err error) {
	var h struct {
		DType   string  `json:"dtype"`
		Shape   []int64 `json:"shape"`
		Offsets []int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return t, 0, err
	}
	k := slices.IndexFunc(safeDTypes[:], func(d struct {
		name string
		size int64
	}) bool {
		return d.name == h.DType
	})
	if k < 0 {
		return t, 0, fmt.Errorf("type %q is unknown, expected F32, F16, BF16, F64, I64, I32, I16, I8, U8 or BOOL", h.DType)
	}
	n := int64(1)
	for _, d := range h.Shape {
		if d < 0 || d > 0 && n > maxElements/d {
			return t, 0, fmt.Errorf("shape %v is impossible", h.Shape)
		}
		n *= d
	}
	if len(h.Offsets) != 2 {
		return t, 0, fmt.Errorf("%d data_offsets, expected 2", len(h.Offsets))
	}
	lo, hi := h.Offsets[0], h.Offsets[1]
	d := SafeDType(k)
	if lo < 0 || hi < lo || hi > int64(len(data)) || hi-lo != n*d.Size() {
		return t, 0, fmt.Errorf("bytes %d to %d of %d do not hold %s of shape %v", lo, hi, len(data), d, h.Shape)
	}
	return SafeTensor{name, d, h.Shape, data[lo:hi]}, lo, nil
}

// EncodeSafetensors writes a safetensors file: tensors sorted by name, a compact header that is padded
// with blanks to a multiple of 4. meta may be nil.
func EncodeSafetensors(tensors []SafeTensor, meta map[string]string) ([]byte, error) {
	sorted := slices.Clone(tensors)
	slices.SortFunc(sorted, func(a, b SafeTensor) int { return strings.Compare(a.Name, b.Name) })
	var header bytes.Buffer
	header.WriteByte('{')
	total := 0
	if meta != nil {
		header.WriteString(`"__metadata__":`)
		header.Write(compactJSON(meta))
	}
	for i, t := range sorted {
		if i > 0 && sorted[i-1].Name == t.Name {
			return nil, fmt.Errorf("model.EncodeSafetensors: tensors: the name %q occurs twice", t.Name)
		}
		if n, err := elements(t.Shape); err != nil || !t.DType.Known() || n*t.DType.Size() != int64(len(t.Data)) {
			return nil, fmt.Errorf("model.EncodeSafetensors: tensors: %q: %d bytes do not hold shape %v", t.Name, len(t.Data), t.Shape)
		}
		if header.Len() > 1 {
			header.WriteByte(',')
		}
		shape := t.Shape
		if shape == nil {
			shape = []int64{}
		}
		fmt.Fprintf(&header, `%s:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`,
			compactJSON(t.Name), t.DType, compactJSON(shape), total, total+len(t.Data))
		total += len(t.Data)
	}
	header.WriteByte('}')
	for header.Len()%4 != 0 {
		header.WriteByte(' ')
	}
	out := make([]byte, 8, 8+header.Len()+total)
	binary.LittleEndian.PutUint64(out, uint64(header.Len()))
	out = append(out, header.Bytes()...)
	for _, t := range sorted {
		out = append(out, t.Data...)
	}
	return out, nil
}

// compactJSON writes a string, list or map of strings without blanks and without escapes for HTML.
func compactJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("model.compactJSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// floatsToBytes is the little-endian form of floats.
func floatsToBytes(x []float32) []byte {
	out := make([]byte, 4*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
	}
	return out
}

// Floats converts the first len(out) elements to float32.
func (t *SafeTensor) Floats(out []float32) error {
	if int64(len(out)) > t.Numel() {
		return fmt.Errorf("model.SafeTensor.Floats: %q has %d elements, expected at least %d", t.Name, t.Numel(), len(out))
	}
	b, le := t.Data, binary.LittleEndian
	for i := range out {
		switch t.DType {
		case SafeF32:
			out[i] = math.Float32frombits(le.Uint32(b[4*i:]))
		case SafeF16:
			out[i] = uop.HalfToFloat(le.Uint16(b[2*i:]))
		case SafeBF16:
			out[i] = uop.BF16ToFloat(le.Uint16(b[2*i:]))
		case SafeF64:
			out[i] = float32(math.Float64frombits(le.Uint64(b[8*i:])))
		case SafeI64:
			out[i] = float32(int64(le.Uint64(b[8*i:])))
		case SafeI32:
			out[i] = float32(int32(le.Uint32(b[4*i:])))
		case SafeI16:
			out[i] = float32(int16(le.Uint16(b[2*i:])))
		case SafeI8:
			out[i] = float32(int8(b[i]))
		case SafeU8:
			out[i] = float32(b[i])
		case SafeBool:
			if b[i] != 0 {
				out[i] = 1
			} else {
				out[i] = 0
			}
		}
	}
	return nil
}
