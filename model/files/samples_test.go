package files

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"strings"

	"polygrad/core/uop"
)

// Small files of each format, from which the tests make damaged ones.

func sampleSafetensors() []byte {
	b, err := EncodeSafetensors([]*Tensor{
		{Name: "a", DType: uop.Uint8, Shape: []int64{3}, Data: []byte{1, 2, 3}},
		{Name: "b", DType: uop.Float32, Shape: []int64{2, 2}, Data: raw[float32](1, 2, 3, 4)},
		{Name: "c", DType: uop.FP8E4M3, Shape: []int64{0}, Data: []byte{}},
	}, map[string]string{"format": "pt", "x": "\"ä\n"})
	if err != nil {
		panic(err)
	}
	return b
}

func ggufText(s string) []byte { return append(raw(uint64(len(s))), s...) }

type ggufPair struct {
	key  string
	kind uint32
	raw  []byte
}

type ggufSample struct {
	name  string
	shape []uint64 // as the file has it
	kind  uint32
	from  uint64
}

// gguf is a file of descriptions and n bytes of data.
func gguf(pairs []ggufPair, tensors []ggufSample, n int) []byte {
	out := append([]byte(ggufMagic), raw[uint32](3)...)
	out = append(out, raw(uint64(len(tensors)), uint64(len(pairs)))...)
	for _, p := range pairs {
		out = append(append(append(out, ggufText(p.key)...), raw(p.kind)...), p.raw...)
	}
	for _, t := range tensors {
		out = append(append(out, ggufText(t.name)...), raw(uint32(len(t.shape)))...)
		out = append(append(append(out, raw(t.shape...)...), raw(t.kind)...), raw(t.from)...)
	}
	for len(out)%ggufAlignment != 0 {
		out = append(out, 0)
	}
	return append(out, bytes.Repeat([]byte{0x3c}, n)...)
}

func sampleGGUF() []byte {
	list := append(raw[uint32](8), raw[uint64](2)...)
	list = append(append(list, ggufText("a")...), ggufText("bc")...)
	nested := append(raw[uint32](9), raw[uint64](1)...)
	nested = append(append(append(nested, raw[uint32](6)...), raw[uint64](1)...), raw[float32](1.5)...)
	var tensors []ggufSample
	at := uint64(0)
	for _, q := range Quants {
		tensors = append(tensors, ggufSample{q.Name, []uint64{uint64(q.Block)}, uint32(q.ID), at})
		at += (uint64(q.Bytes) + ggufAlignment - 1) / ggufAlignment * ggufAlignment
	}
	tensors = append(tensors, ggufSample{"f", []uint64{3, 2}, 0, at})
	return gguf([]ggufPair{{"s", 8, ggufText("text")}, {"l", 9, list}, {"n", 9, nested}, {"u", 10, raw[uint64](1 << 63)}, {"b", 7, []byte{1}}},
		tensors, int(at)+24)
}

// The parts of pickles.
func pickled(parts ...string) string { return "\x80\x02" + strings.Join(parts, "") + "." }

func pickleText(s string) string { return "X" + string(raw(uint32(len(s)))) + s }

// stored is a storage of 6 floats as a pickle names it; more follows its number of elements.
func stored(class, key, more string) string {
	return "(" + pickleText("storage") + "ctorch\n" + class + "\n" + pickleText(key) + pickleText("cpu") + "K\x06" + more + "tQ"
}

// rebuilt is a tensor: offset, size and strides are parts of a pickle.
func rebuilt(storage, offset, size, stride string) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + size + stride + "\x89ccollections\nOrderedDict\n)RtR"
}

const rows, across, down = "K\x02K\x03\x86", "K\x03K\x01\x86", "K\x01K\x02\x86"

// state is a map of a few tensors and numbers.
func state(more string) string {
	s := stored("FloatStorage", "0", more)
	return pickled("}q\x00(", pickleText("w"), rebuilt(s, "K\x00", rows, across), pickleText("t"), rebuilt(s, "K\x00", rows, down),
		pickleText("e"), "ccollections\nOrderedDict\n)R}", pickleText("_metadata"), "Nsb",
		pickleText("n"), "(K\x01M\x00\x01J\xff\xff\xff\xffG\x3f\xf8\x00\x00\x00\x00\x00\x00\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00Nt",
		"K\x07", "]q\x01(\x88\x89ctorch\nfloat16\ne", pickleText("same"), "h\x01", "u")
}

var sixFloats = raw[float32](0, 1, 2, 3, 4, 5)

// zipped is an archive of members, stored.
func zipped(members ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i], Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(members[i+1]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func sampleZip() []byte {
	return zipped("m/data.pkl", state(""), "m/byteorder", "little", "m/data/0", string(sixFloats))
}

func sampleLegacy() []byte {
	out := "\x80\x02" + torchMagic + pickled("M\xe9\x03") + pickled("}", pickleText("little_endian"), "\x88s") +
		state("N") + pickled("]", pickleText("0"), "a")
	return append(append([]byte(out), raw[uint64](6)...), sixFloats...)
}

func sampleTar() []byte { return tarred("](K\x06K\x05K\x01K\x02ta") }

// tarred is a file whose storages have parts.
func tarred(parts string) []byte {
	one := pickled("K\x01")
	storages := one + pickled("(K\x05", pickleText("cpu"), "ctorch\nFloatStorage\nt") + string(raw[uint64](6)) + string(sixFloats) +
		pickled(parts)
	tensors := one + pickled("(K\x09K\x05ctorch\nFloatTensor\nt") + string(raw[uint32](2, 0)) + string(raw[int64](2, 3, 3, 1, 0))
	value := pickled("}(", pickleText("w"), "K\x09Q", pickleText("p"), "ctorch.nn.parameter\nParameter\n)\x81(K\x09Q\x88tbu")
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, m := range [][2]string{{"sys_info", one}, {"pickle", value}, {"tensors", tensors}, {"storages", storages}} {
		err := t.WriteHeader(&tar.Header{Name: m[0], Size: int64(len(m[1])), Mode: 0o600, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR})
		if err == nil {
			_, err = t.Write([]byte(m[1]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := t.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// samples are whole files by their kinds.
func samples() map[string][]byte {
	return map[string][]byte{
		"safetensors": sampleSafetensors(), "gguf": sampleGGUF(), "zip": sampleZip(), "legacy": sampleLegacy(), "tar": sampleTar(),
	}
}

// raw is numbers as a file has them.
func raw[T any](v ...T) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}
