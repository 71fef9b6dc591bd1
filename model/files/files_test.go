package files

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"polygrad/core/uop"
)

// header is a safetensors file of a header and n bytes of data.
func safeFile(header string, n int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, n)...)
}

// Numbers of every type that files have become the float32 nearest to them.
func TestEveryTypeBecomesFloat32(t *testing.T) {
	inf := float32(math.Inf(1))
	seen := map[*uop.DType]bool{}
	for _, c := range []struct {
		dtype *uop.DType
		data  []byte
		want  []float32
	}{
		{uop.Float32, raw(float32(-1.5), math.SmallestNonzeroFloat32), []float32{-1.5, math.SmallestNonzeroFloat32}},
		{uop.Float16, raw[uint16](0xC200, 0x0001, 0x7BFF), []float32{-3, 0x1p-24, 65504}},
		{uop.BFloat16, raw[uint16](0xC040, 0x3F80), []float32{-3, 1}},
		{uop.Float64, raw(-0.1, 1e300), []float32{-0.1, inf}},
		{uop.Int64, raw[int64](-1<<40, 1<<24+1), []float32{-1 << 40, 1 << 24}},
		{uop.Int32, raw[int32](-2, 7), []float32{-2, 7}},
		{uop.Int16, raw[int16](-32768, 7), []float32{-32768, 7}},
		{uop.Int8, raw[int8](-128, 7), []float32{-128, 7}},
		{uop.Uint64, raw[uint64](1<<63, 7), []float32{1 << 63, 7}},
		{uop.Uint32, raw[uint32](1<<31, 7), []float32{1 << 31, 7}},
		{uop.Uint16, raw[uint16](65535, 7), []float32{65535, 7}},
		{uop.Uint8, []byte{0x80, 7}, []float32{128, 7}},
		{uop.FP8E4M3, []byte{0x38, 0xC0}, []float32{1, -2}},
		{uop.FP8E5M2, []byte{0x3C, 0xC0}, []float32{1, -2}},
		{uop.Bool, []byte{0, 1}, []float32{0, 1}},
	} {
		seen[c.dtype] = true
		file, err := EncodeSafetensors([]*Tensor{{Name: "t", DType: c.dtype, Shape: []int64{int64(len(c.want))}, Data: c.data}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(file, Auto, false)
		if err != nil || len(f.Tensors) != 1 {
			t.Fatal(c.dtype, err)
		}
		got := make([]float32, len(c.want))
		if err := f.Find("t").Floats(got); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v (%v), expected %v", c.dtype, got, err, c.want)
		}
		if err := f.Find("t").Floats(make([]float32, 9)); err == nil {
			t.Errorf("%s: 9 elements of %d are there", c.dtype, len(c.want))
		}
		f.Close()
	}
	for _, d := range uop.Scalars {
		if !seen[d] {
			t.Errorf("%s is not tested", d)
		}
	}
}

// What is wrong with a file is refused in words that say what and where.
func TestBadSafetensorsAreRefused(t *testing.T) {
	one := func(text string) string { return `{"w":` + text + `}` }
	whole := `{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "0 bytes"},
		{make([]byte, 7), "7 bytes"},
		{raw[uint64](1), "should have 1 bytes, but 0 follow"},
		{append(raw[uint64](math.MaxUint64), '{'), "18446744073709551615"},
		{append(raw[uint64](1<<63), '{'), "9223372036854775808"},
		{safeFile("", 0), "no JSON object"},
		{safeFile("[]", 0), "no JSON object"},
		{safeFile(" {}", 0), "no JSON object"},
		{safeFile("{", 0), "the end, expected a string"},
		{safeFile("{} x", 0), "more text"},
		{safeFile(one(whole), 7), `tensor "w": bytes 0 to 8 of 7 do not hold F32 of shape [2]`},
		{safeFile(one(whole), 9), "end at byte 8 of 9"},
		{safeFile(one(strings.Replace(whole, "[0,8]", "[1,9]", 1)), 9), `tensor "w": begins at byte 1`},
		{safeFile(one(strings.Replace(whole, "[0,8]", "[8,0]", 1)), 8), "bytes 8 to 0"},
		{safeFile(one(strings.Replace(whole, "[0,8]", "[-8,0]", 1)), 8), "bytes -8 to 0"},
		{safeFile(one(strings.Replace(whole, "[0,8]", "[0]", 1)), 8), "1 data_offsets"},
		{safeFile(one(strings.Replace(whole, "[0,8]", "[0,9223372036854775807]", 1)), 8), "9223372036854775807"},
		{safeFile(one(strings.Replace(whole, "[0,8]", "[0,9223372036854775808]", 1)), 8), "integer of 64 bits"},
		{safeFile(one(strings.Replace(whole, "[0,8]", "[0,8.0]", 1)), 8), "a number, expected an integer"},
		{safeFile(one(strings.Replace(whole, "[2]", "[3]", 1)), 8), "shape [3]"},
		{safeFile(one(strings.Replace(whole, "[2]", "[-2]", 1)), 8), "negative"},
		{safeFile(one(strings.Replace(whole, "[2]", "[4611686018427387904,4]", 1)), 8), "too many elements"},
		{safeFile(one(strings.Replace(whole, "[2]", "[4294967296,4294967296,2]", 1)), 8), "too many elements"},
		{safeFile(one(strings.Replace(whole, "[2]", "["+strings.Repeat("1,", 16)+"2]", 1)), 8), "17 dimensions"},
		{safeFile(one(strings.Replace(whole, "[2]", "2", 1)), 8), "expected a list"},
		{safeFile(one(strings.Replace(whole, "F32", "C32", 1)), 8), `type "C32" is unknown, expected one of F32`},
		{safeFile(one(strings.Replace(whole, "dtype", "Dtype", 1)), 8), `"Dtype", expected dtype`},
		{safeFile(one(`{"dtype":"F32","data_offsets":[0,8]}`), 8), "shape []"},
		{safeFile(one(`{}`), 8), `type "" is unknown`},
		{safeFile(one(`1`), 8), "expected an object"},
		{safeFile(`{"w":`+whole+`,"w":`+whole+`}`, 8), `the key "w" occurs twice`},
		{safeFile(`{"w":`+whole+`,"v":`+whole+`}`, 8), `tensor "v": bytes 0 to 8 overlap tensor "w"`},
		{safeFile(`{"a\u0000b":`+whole+`}`, 8), "a character 0"},
		{safeFile("{\"\xff\":"+whole+`}`, 8), "no UTF-8"},
		{safeFile(`{"__metadata__":{"a":1}}`, 0), "__metadata__"},
		{safeFile(`{"__metadata__":[]}`, 0), "__metadata__"},
		{safeFile(strings.Repeat(`{"a":`, 100_000), 0), "expected"},
		{safeFile(`{"__metadata__":{"`+strings.Repeat("x", 1000)+`":1}}`, 0), "expected a string"},
	} {
		f, err := Read(c.file, Safetensors, false)
		if err == nil {
			f.Close()
			t.Errorf("%s is accepted, expected an error about %q", quote(c.file), c.want)
		} else if !strings.Contains(err.Error(), c.want) || len(err.Error()) > 600 {
			t.Errorf("%s: %v, expected %q", quote(c.file), err, c.want)
		}
	}
}

func TestSavedFilesAreReadAgain(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "model.safetensors")
	list := []*Tensor{
		{Name: "odd", DType: uop.Uint8, Shape: []int64{3}, Data: []byte{1, 2, 3}},
		{Name: `"quoted" ä`, DType: uop.Float32, Shape: []int64{2, 1}, Data: raw[float32](1, 2)},
		{Name: "scalar", DType: uop.Float64, Data: raw(3.5)},
		{Name: "empty", DType: uop.Float16, Shape: []int64{0, 4}, Data: []byte{}},
	}
	meta := map[string]string{"format": "pt", "a": "<&>\n"}
	for _, limit := range []int64{0, 1 << 40, 8, 1} {
		paths, err := SaveSafetensors(path, list, meta, limit)
		if err != nil {
			t.Fatal(err)
		}
		shards := map[int64]int{0: 1, 1 << 40: 1, 8: 3 + 1, 1: 4 + 1}[limit]
		if limit == 8 {
			shards = len(paths) // the cut is checked below
		}
		if len(paths) != shards {
			t.Errorf("limit %d: %q, expected %d files", limit, paths, shards)
		}
		f, err := Open(paths[len(paths)-1], Auto)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Texts(); len(paths) == 1 && fmt.Sprint(got) != fmt.Sprint(meta) {
			t.Errorf("limit %d: metadata %q, expected %q", limit, got, meta)
		}
		if len(f.Tensors) != len(list) {
			t.Fatalf("limit %d: %d tensors, expected %d", limit, len(f.Tensors), len(list))
		}
		for i, w := range list {
			g := f.Tensors[i]
			if g.Name != w.Name || g.DType != w.DType || !slices.Equal(g.Shape, w.Shape) || !slices.Equal(g.Data, w.Data) {
				t.Errorf("limit %d: %q %s %v %v, expected %q %s %v %v", limit, g.Name, g.DType, g.Shape, g.Data, w.Name, w.DType, w.Shape, w.Data)
			}
		}
		f.Close()
	}
	left, _ := filepath.Glob(filepath.Join(folder, ".*"))
	if len(left) > 0 {
		t.Errorf("%q are left over", left)
	}
}

func TestBadSavesWriteNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "model.safetensors")
	good := &Tensor{Name: "w", DType: uop.Float32, Shape: []int64{1}, Data: make([]byte, 4)}
	for _, c := range []struct {
		path  string
		list  []*Tensor
		limit int64
		want  string
	}{
		{path, []*Tensor{good, good}, 0, "occurs twice"},
		{path, []*Tensor{good, good}, 4, "occurs twice"},
		{path, []*Tensor{{Name: "w", DType: uop.Float32, Shape: []int64{2}, Data: make([]byte, 4)}}, 0, "do not hold"},
		{path, []*Tensor{{Name: "w", Shape: []int64{2}, Data: make([]byte, 4)}}, 0, "no type"},
		{path, []*Tensor{{Name: "__metadata__", DType: uop.Float32, Data: make([]byte, 4)}}, 0, "cannot have this name"},
		{path, []*Tensor{good}, -1, "shards of -1 bytes"},
		{filepath.Join(folder, "none", "x"), []*Tensor{good}, 0, "no such file"},
		{filepath.Join(folder, "x"), []*Tensor{good, {Name: "v", DType: uop.Float32, Data: make([]byte, 4)}}, 4, "ends with .safetensors"},
	} {
		if _, err := SaveSafetensors(c.path, c.list, nil, c.limit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, expected %q", err, c.want)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("%v was written", left)
	}
}

func TestBadIndexes(t *testing.T) {
	folder := t.TempDir()
	index := filepath.Join(folder, "model.safetensors.index.json")
	shard := safeFile(`{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1)
	if err := os.WriteFile(filepath.Join(folder, "a.safetensors"), shard, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{`{"weight_map":{"w":"../a.safetensors"}}`, "beside the index"},
		{`{"weight_map":{"w":"/etc/passwd"}}`, "beside the index"},
		{`{"weight_map":{"w":".."}}`, "beside the index"},
		{`{"weight_map":{"w":"a.safetensors\u0000"}}`, "beside the index"},
		{`{"weight_map":{"w":"b.safetensors"}}`, "no such file"},
		{`{"weight_map":{"v":"a.safetensors"}}`, `tensor "v": is not in a.safetensors`},
		{`{"weight_map":{"w":"a.safetensors","w":"a.safetensors"}}`, "occurs twice"},
		{`{"weight_map":{"w":"model.safetensors.index.json"}}`, "model.safetensors.index.json"},
		{`{"weight_map":[]}`, "expected an object"},
		{`{"metadata":{}}`, "no weight_map"},
		{`{"weight_map":{}} 1`, "more text"},
		{``, "expected an object"},
	} {
		if err := os.WriteFile(index, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{index, folder} {
			if f, err := Open(path, Auto); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v %v, expected %q", c.text, f, err, c.want)
			}
		}
	}
}

func TestOpenWantsAFile(t *testing.T) {
	empty := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(empty, "none"): "no such file", empty: "no .safetensors file", "/dev/zero": "no regular file", os.Args[0]: "are no safetensors",
	} {
		if f, err := Open(path, Auto); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v, expected %q", path, f, err, want)
		}
	}
	if _, err := Open(empty, numFormats); err == nil {
		t.Error("a format that does not exist is accepted")
	}
}

// What is written into the memory of a file stays in memory; the file may go away, and be closed by everyone who retained it.
func TestMemoryOfFilesIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	list := []*Tensor{{Name: "w", DType: uop.Uint8, Shape: []int64{3}, Data: []byte{1, 2, 3}}}
	if _, err := SaveSafetensors(path, list, nil, 0); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	f, err := Open(path, Auto)
	if err != nil {
		t.Fatal(err)
	}
	f.Find("w").Data[0] = 9
	if after, _ := os.ReadFile(path); !slices.Equal(before, after) {
		t.Error("the file was changed")
	}
	list[0].Data = []byte{7, 7, 7}
	if _, err := SaveSafetensors(path, list, nil, 0); err != nil {
		t.Fatal(err)
	}
	f.Retain()
	f.Close()
	if got := f.Find("w").Data; !slices.Equal(got, []byte{9, 2, 3}) {
		t.Errorf("%v, expected what was read and written", got)
	}
	f.Close()
	if f.memory != nil {
		t.Error("the memory is kept")
	}
}
