package files

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"polygrad/core/uop"
)

// SafeTypes are the data types of safetensors files by name, in the order of the C interface's numbers.
var SafeTypes = []struct {
	Name  string
	DType *uop.DType
}{
	{"F32", uop.Float32}, {"F16", uop.Float16}, {"BF16", uop.BFloat16}, {"F64", uop.Float64}, {"I64", uop.Int64},
	{"I32", uop.Int32}, {"I16", uop.Int16}, {"I8", uop.Int8}, {"U8", uop.Uint8}, {"BOOL", uop.Bool}, {"U16", uop.Uint16},
	{"U32", uop.Uint32}, {"U64", uop.Uint64}, {"F8_E4M3", uop.FP8E4M3}, {"F8_E5M2", uop.FP8E5M2}, {"C64", uop.Complex64},
}

// safeType is the data type of a safetensors name, nil if there is none.
func safeType(name string) *uop.DType {
	for _, t := range SafeTypes {
		if t.Name == name {
			return t.DType
		}
	}
	return nil
}

// safeName is the safetensors name of a data type, "" if there is none.
func safeName(d *uop.DType) string {
	for _, t := range SafeTypes {
		if t.DType == d {
			return t.Name
		}
	}
	return ""
}

const (
	// safeLength is the number of bytes that hold the length of the header.
	safeLength = 8
	// maxSafeHeader bounds the header; 100 MB is the limit of the format's own library.
	maxSafeHeader = 100_000_000
	safeMetadata  = "__metadata__"
)

// placed is a tensor with the offset of its bytes.
type placed struct {
	*Tensor
	from, to int64
}

// parseSafetensors reads a whole file. The tensors must be adjacent and fill it, as the format demands.
func (f *File) parseSafetensors(file []byte) error {
	if len(file) < safeLength {
		return fmt.Errorf("%d bytes, expected at least %d", len(file), safeLength)
	}
	n := le.Uint64(file)
	if n > maxSafeHeader || n > uint64(len(file)-safeLength) {
		return fmt.Errorf("the header should have %d bytes, but %d follow (and at most %d are allowed)", n, len(file)-safeLength, maxSafeHeader)
	}
	header, data := file[safeLength:safeLength+n], file[safeLength+n:]
	if len(header) == 0 || header[0] != '{' {
		return fmt.Errorf("the header: %w", errNoObject)
	}
	s := jsonScanner{text: header}
	var list []placed
	err := s.object(func(key string) error {
		if key == safeMetadata {
			return f.safeMetadata(&s)
		}
		t, err := safeTensor(&s, key, data)
		if err == nil {
			err = f.add(t.Tensor)
		}
		if err != nil {
			return fmt.Errorf("tensor %s: %w", quote(key), err)
		}
		list = append(list, t)
		return nil
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	return filled(list, int64(len(data)))
}

// safeMetadata reads the metadata strings.
func (f *File) safeMetadata(s *jsonScanner) error {
	meta := NewDict()
	f.Value = meta
	err := s.object(func(key string) error {
		text, err := s.string()
		meta.Set(key, text)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", safeMetadata, err)
	}
	return nil
}

// safeTensor reads the description of a tensor.
func safeTensor(s *jsonScanner, name string, data []byte) (placed, error) {
	t := &Tensor{Name: name}
	var offsets []int64
	err := s.object(func(key string) (err error) {
		switch key {
		case "dtype":
			t.Type, err = s.string()
		case "shape":
			t.Shape, err = s.ints()
		case "data_offsets":
			offsets, err = s.ints()
		default:
			err = s.bad("%s, expected dtype, shape and data_offsets", quote(key))
		}
		return err
	})
	if err != nil {
		return placed{}, err
	}
	if strings.ContainsRune(name, 0) {
		return placed{}, fmt.Errorf("the name has a character 0")
	}
	if t.DType = safeType(t.Type); t.DType == nil {
		return placed{}, fmt.Errorf("type %s is unknown, expected one of %s", quote(t.Type), safeNames())
	}
	if t.Shape == nil || len(offsets) != 2 {
		return placed{}, fmt.Errorf("%d data_offsets and shape %v, expected 2 and a list", len(offsets), t.Shape)
	}
	n, err := numel(t.Shape)
	if err != nil {
		return placed{}, err
	}
	lo, hi := offsets[0], offsets[1]
	if lo < 0 || hi < lo || hi > int64(len(data)) || hi-lo != n*int64(t.DType.Itemsize()) {
		return placed{}, fmt.Errorf("bytes %d to %d of %d do not hold %s of shape %v", lo, hi, len(data), t.Type, t.Shape)
	}
	t.Data = data[lo:hi:hi]
	return placed{t, lo, hi}, nil
}

func safeNames() string {
	names := make([]string, len(SafeTypes))
	for i, t := range SafeTypes {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// filled checks that the tensors are adjacent and fill size bytes.
func filled(list []placed, size int64) error {
	slices.SortStableFunc(list, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	end := int64(0)
	for i, t := range list {
		switch {
		case t.from < end:
			return fmt.Errorf("tensor %s: bytes %d to %d overlap tensor %s, which ends at %d", quote(t.Name), t.from, t.to, quote(list[i-1].Name), end)
		case t.from > end:
			return fmt.Errorf("tensor %s: begins at byte %d, but what lies before it ends at %d", quote(t.Name), t.from, end)
		}
		end = t.to
	}
	if end != size {
		return fmt.Errorf("the tensors end at byte %d of %d", end, size)
	}
	return nil
}
