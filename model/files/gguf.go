package files

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"polygrad/core/uop"
)

const ggufMagic = "GGUF"

// ggufPlain are the unquantised types of GGUF files, by number.
var ggufPlain = map[uint32]struct {
	name  string
	dtype *uop.DType
}{
	0: {"F32", uop.Float32}, 1: {"F16", uop.Float16}, 24: {"I8", uop.Int8}, 25: {"I16", uop.Int16}, 26: {"I32", uop.Int32},
	27: {"I64", uop.Int64}, 28: {"F64", uop.Float64}, 30: {"BF16", uop.BFloat16},
}

// ggufUnread are known types without a reader, by number.
var ggufUnread = map[uint32]string{
	4: "Q4_2", 5: "Q4_3", 9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
	22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0",
}

const (
	ggufDims      = 4 // the most axes that ggml has
	ggufAlign     = "general.alignment"
	ggufAlignment = 32 // default
	ggufNesting   = 8  // lists in lists
)

// ggufReader reads a file in order. After the first error everything reads as 0.
type ggufReader struct {
	data   []byte
	pos    int
	values int // elements of lists so far
	err    error
}

func (r *ggufReader) bad(format string, a ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: "+format, append([]any{r.pos}, a...)...)
	}
}

func (r *ggufReader) left() uint64 { return uint64(len(r.data) - r.pos) }

// bytes takes n bytes.
func (r *ggufReader) bytes(n uint64) []byte {
	if r.err == nil && n > r.left() {
		r.bad("%d bytes are needed, but %d follow", n, r.left())
	}
	if r.err != nil {
		return nil
	}
	b := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// uint takes an unsigned number of n bytes.
func (r *ggufReader) uint(n int) uint64 {
	var room [8]byte
	copy(room[:], r.bytes(uint64(n)))
	return le.Uint64(room[:])
}

func (r *ggufReader) string() string { return string(r.bytes(r.uint(8))) }

// ggufScalar reads a number of the metadata.
type ggufScalar struct {
	size int
	read func(bits uint64) Value
}

// ggufScalars are the types of values by number; 8 is a string and 9 a list.
var ggufScalars = map[uint32]ggufScalar{
	0:  {1, func(b uint64) Value { return int64(b) }},
	1:  {1, func(b uint64) Value { return int64(int8(b)) }},
	2:  {2, func(b uint64) Value { return int64(b) }},
	3:  {2, func(b uint64) Value { return int64(int16(b)) }},
	4:  {4, func(b uint64) Value { return int64(b) }},
	5:  {4, func(b uint64) Value { return int64(int32(b)) }},
	6:  {4, func(b uint64) Value { return float64(math.Float32frombits(uint32(b))) }},
	7:  {1, func(b uint64) Value { return b != 0 }},
	10: {8, unsigned},
	11: {8, func(b uint64) Value { return int64(b) }},
	12: {8, func(b uint64) Value { return math.Float64frombits(b) }},
}

func unsigned(b uint64) Value {
	if b > math.MaxInt64 {
		return new(big.Int).SetUint64(b)
	}
	return int64(b)
}

const (
	ggufString = 8
	ggufList   = 9
)

// value reads a value of a type.
func (r *ggufReader) value(kind uint32, depth int) Value {
	if s, ok := ggufScalars[kind]; ok {
		return s.read(r.uint(s.size))
	}
	switch kind {
	case ggufString:
		return r.string()
	case ggufList:
		return r.list(depth + 1)
	}
	r.bad("a value of type %d, expected 0 to 12", kind)
	return nil
}

func (r *ggufReader) list(depth int) Value {
	l := &List{}
	kind, n := uint32(r.uint(4)), r.uint(8)
	least := uint64(8) // the length of a string
	switch s, ok := ggufScalars[kind]; {
	case ok:
		least = uint64(s.size)
	case kind == ggufList:
		least = 12
	}
	if n > r.left()/least {
		r.bad("a list of %d values of type %d, but %d bytes follow", n, kind, r.left())
	}
	if depth > ggufNesting {
		r.bad("lists stand more than %d deep in each other", ggufNesting)
	}
	if n > uint64(maxValues-r.values) {
		r.bad("a list of %d values, expected at most %d in all lists", n, maxValues)
	} else {
		r.values += int(n)
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		l.Items = append(l.Items, r.value(kind, depth))
	}
	return l
}

// ggufInfo is the description of a tensor; from is the offset of its bytes in the data behind the descriptions.
type ggufInfo struct {
	*Tensor
	from, size uint64
}

// parseGGUF reads a GGUF file of version 2 or 3.
func (f *File) parseGGUF(data []byte) error {
	r := &ggufReader{data: data}
	if magic := r.bytes(4); r.err == nil && string(magic) != ggufMagic {
		return fmt.Errorf("begins with %s, expected %s", quote(magic), ggufMagic)
	}
	version := uint32(r.uint(4))
	switch {
	case r.err != nil:
	case version > 0xffff && bits.ReverseBytes32(version) < 0x100:
		return fmt.Errorf("version %d with its bytes swapped: the file is of a big-endian machine", bits.ReverseBytes32(version))
	case version != 2 && version != 3:
		return fmt.Errorf("version %d, expected 2 or 3", version)
	}
	tensors, pairs := r.uint(8), r.uint(8)
	const leastTensor, leastPair = 8 + 4 + 4 + 8, 8 + 4 + 1
	if tensors > r.left()/leastTensor || pairs > r.left()/leastPair {
		r.bad("%d tensors and %d values, but %d bytes follow", tensors, pairs, r.left())
	}
	meta := NewDict()
	f.Value = meta
	for i := uint64(0); i < pairs && r.err == nil; i++ {
		key := r.string()
		v := r.value(uint32(r.uint(4)), 0)
		if _, twice := meta.Get(key); twice {
			r.bad("the key %s occurs twice", quote(key))
		}
		meta.Set(key, v)
	}
	var list []ggufInfo
	for i := uint64(0); i < tensors && r.err == nil; i++ {
		t, err := r.tensor()
		if err == nil {
			err = f.add(t.Tensor)
		}
		if err != nil {
			return fmt.Errorf("tensor %s: %w", quote(t.Name), err)
		}
		list = append(list, t)
	}
	if r.err != nil {
		return r.err
	}
	return ggufPlace(list, data, r.pos, meta)
}

// tensor reads the description of a tensor.
func (r *ggufReader) tensor() (ggufInfo, error) {
	t := ggufInfo{Tensor: &Tensor{Name: r.string(), Shape: []int64{}}}
	n := uint32(r.uint(4))
	if n > ggufDims {
		r.bad("%d dimensions, expected at most %d", n, ggufDims)
	}
	for i := uint32(0); i < n && r.err == nil; i++ {
		d := r.uint(8)
		if d > maxElements {
			r.bad("a size of %d", d)
		}
		t.Shape = append(t.Shape, int64(d))
	}
	kind := uint32(r.uint(4))
	if t.from = r.uint(8); r.err != nil {
		return t, r.err
	}
	if strings.ContainsRune(t.Name, 0) || !utf8.ValidString(t.Name) {
		return t, fmt.Errorf("the name has a character 0, or is no UTF-8")
	}
	slices.Reverse(t.Shape) // ggml lists the contiguous axis first
	count, err := numel(t.Shape)
	if err != nil {
		return t, err
	}
	if plain, ok := ggufPlain[kind]; ok {
		t.Type, t.DType = plain.name, plain.dtype
		t.size = uint64(count) * uint64(plain.dtype.Itemsize())
		return t, nil
	}
	q := QuantByID(int(kind))
	if q == nil {
		if name, ok := ggufUnread[kind]; ok {
			return t, fmt.Errorf("type %s cannot be read, expected F32, F16, BF16, F64, I8 to I64 or one of %s", name, quantNames())
		}
		return t, fmt.Errorf("type %d is unknown", kind)
	}
	if len(t.Shape) == 0 || t.Shape[len(t.Shape)-1]%q.Block != 0 {
		return t, fmt.Errorf("shape %v: rows of %s are multiples of %d", t.Shape, q.Name, q.Block)
	}
	t.Type, t.DType, t.Quant, t.size = q.Name, uop.Float32, q, uint64(count/q.Block)*uint64(q.Bytes)
	return t, nil
}

func quantNames() string {
	names := make([]string, len(Quants))
	for i, q := range Quants {
		names[i] = q.Name
	}
	return strings.Join(names, ", ")
}

// ggufPlace finds the bytes of tensors. They begin at multiples of the alignment and must not overlap.
func ggufPlace(list []ggufInfo, data []byte, end int, meta *Dict) error {
	align := uint64(ggufAlignment)
	if v, ok := meta.Get(ggufAlign); ok {
		n, ok := v.(int64)
		const most = 1 << 20
		if !ok || n <= 0 || n > most || n&(n-1) != 0 {
			return fmt.Errorf("%s: %v, expected a power of 2 up to %d", ggufAlign, v, most)
		}
		align = uint64(n)
	}
	start := (uint64(end) + align - 1) &^ (align - 1)
	if start > uint64(len(data)) {
		start = uint64(len(data)) // a file without data may end before the alignment
	}
	data = data[start:]
	for _, t := range list {
		switch size := uint64(len(data)); {
		case t.from%align != 0:
			return fmt.Errorf("tensor %s: begins at byte %d of the data, expected a multiple of %d", quote(t.Name), t.from, align)
		case t.from > size || t.size > size-t.from:
			return fmt.Errorf("tensor %s: %s of shape %v has %d bytes from byte %d of the data, which has %d", quote(t.Name), t.Type, t.Shape, t.size, t.from, size)
		}
		t.Data = data[t.from : t.from+t.size : t.from+t.size]
	}
	slices.SortStableFunc(list, func(a, b ggufInfo) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.size, b.size))
	})
	for i := 1; i < len(list); i++ {
		if last := list[i-1]; last.from+last.size > list[i].from {
			return fmt.Errorf("tensor %s: bytes %d to %d of the data overlap tensor %s, which begins at %d", quote(last.Name), last.from, last.from+last.size, quote(list[i].Name), list[i].from)
		}
	}
	return nil
}
