package files

import (
	"archive/zip"
	"bytes"
	"math"
	"strings"
	"testing"
)

// refused checks that files are refused in words that say what is wrong.
func refused(t *testing.T, format Format, cases []struct {
	data []byte
	want string
}) {
	t.Helper()
	for _, c := range cases {
		err := measured(t, c.data, format)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 700 {
			t.Errorf("%s: %v, expected %q", quote(c.data), err, c.want)
		}
	}
}

func TestBadGGUFsAreRefused(t *testing.T) {
	begin := func(version uint32, tensors, pairs uint64, rest ...byte) []byte {
		return append(append(append([]byte(ggufMagic), raw(version)...), raw(tensors, pairs)...), rest...)
	}
	pair := func(kind uint32, value ...byte) []byte { return gguf([]ggufPair{{"k", kind, value}}, nil, 0) }
	one := func(s ggufSample, n int) []byte { return gguf(nil, []ggufSample{s}, n) }
	list := func(kind uint32, n uint64, rest ...byte) []byte { return append(append(raw(kind), raw(n)...), rest...) }
	deep := []byte{}
	for range 100 {
		deep = append(deep, list(9, 1)...)
	}
	refused(t, GGUF, []struct {
		data []byte
		want string
	}{
		{nil, "4 bytes are needed, but 0 follow"},
		{[]byte("GGML1234"), `begins with "GGML"`},
		{begin(1, 0, 0), "version 1, expected 2 or 3"},
		{begin(0x03000000, 0, 0), "big-endian"},
		{begin(3, math.MaxUint64, 0), "18446744073709551615 tensors"},
		{begin(3, 0, 1<<63), "9223372036854775808 values"},
		{begin(3, 1, 0), "1 tensors"},
		{pair(8, raw[uint64](math.MaxUint64)...), "18446744073709551615 bytes are needed"},
		{pair(8, raw[uint64](math.MaxInt64-8)...), "bytes are needed"},
		{pair(13), "type 13"},
		{pair(9, list(4, math.MaxUint64/4)...), "a list of"},
		{pair(9, list(8, 1<<40)...), "a list of 1099511627776 values"},
		{pair(9, list(99, 1)...), "type 99"},
		{pair(9, append(deep, make([]byte, 99)...)...), "more than 8 deep"},
		{gguf([]ggufPair{{"k", 7, []byte{1}}, {"k", 7, []byte{1}}}, nil, 0), `the key "k" occurs twice`},
		{gguf([]ggufPair{{ggufAlign, 4, raw[uint32](0)}}, nil, 0), "power of 2"},
		{gguf([]ggufPair{{ggufAlign, 4, raw[uint32](48)}}, nil, 0), "48, expected a power of 2"},
		{gguf([]ggufPair{{ggufAlign, 8, ggufText("x")}}, nil, 0), "power of 2"},
		{gguf(nil, []ggufSample{{"w", []uint64{1}, 0, 0}, {"w", []uint64{1}, 0, 32}}, 64), `tensor "w": tensor "w" occurs twice`},
		{one(ggufSample{"w", []uint64{2}, 0, 0}, 7), `tensor "w": F32 of shape [2] has 8 bytes from byte 0 of the data, which has 7`},
		{one(ggufSample{"w", []uint64{2}, 0, 4}, 64), "multiple of 32"},
		{one(ggufSample{"w", []uint64{2}, 0, math.MaxUint64 - 31}, 64), "from byte 18446744073709551584"},
		{one(ggufSample{"w", []uint64{1 << 40, 1 << 40}, 0, 0}, 64), "too many elements"},
		{one(ggufSample{"w", []uint64{math.MaxUint64}, 0, 0}, 64), "a size of 18446744073709551615"},
		{one(ggufSample{"w", []uint64{1, 1, 1, 1, 1}, 0, 0}, 64), "5 dimensions"},
		{one(ggufSample{"w", []uint64{1 << 58}, 28, 0}, 64), "bytes from byte 0"},
		{one(ggufSample{"w", []uint64{31}, 2, 0}, 64), "rows of Q4_0 are multiples of 32"},
		{one(ggufSample{"w", nil, 2, 0}, 64), "rows of Q4_0"},
		{one(ggufSample{"w", []uint64{256}, 16, 0}, 640), "type IQ2_XXS cannot be read"},
		{one(ggufSample{"w", []uint64{256}, 1000, 0}, 640), "type 1000 is unknown"},
		{one(ggufSample{"w\x00", []uint64{1}, 0, 0}, 64), "a character 0"},
		{one(ggufSample{"w\xff", []uint64{1}, 0, 0}, 64), "no UTF-8"},
		{one(ggufSample{"w", []uint64{0, 1 << 58, 1 << 5}, 0, 0}, 64), "too many elements"},
		{gguf(nil, []ggufSample{{"w", []uint64{16}, 0, 0}, {"v", []uint64{8}, 0, 32}}, 64), `tensor "w": bytes 0 to 64 of the data overlap tensor "v"`},
	})
}

// archived is a file of PyTorch with a pickle.
func archived(pickle string) []byte {
	return zipped("m/data.pkl", pickle, "m/data/0", string(sixFloats))
}

func TestBadPicklesAreRefused(t *testing.T) {
	storage := stored("FloatStorage", "0", "")
	tensor := func(offset, size, stride string) []byte {
		return archived(pickled(rebuilt(storage, offset, size, stride)))
	}
	long := func(n int64) string { return "\x8a\x08" + string(raw(n)) }
	var bomb strings.Builder // a list of two of a list of two of ...
	bomb.WriteString("]q\x00")
	for range 100 {
		bomb.WriteString("](h\x00h\x00eq\x00")
	}
	refused(t, Torch, []struct {
		data []byte
		want string
	}{
		{archived(pickled("cos\nsystem\n" + pickleText("touch /tmp/polygrad-was-here") + "\x85R")), `byte 2 of the pickle: the global "os.system" is refused`},
		{archived("\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R."), `byte 17 of the pickle: the global "posix.system" is refused`},
		{archived(pickled("cbuiltins\neval\n)R")), `"builtins.eval" is refused`},
		{archived(pickled("ctorch\nload\n)R")), `"torch.load" is refused`},
		{archived(pickled("ctorch._utils\n__builtins__\n)R")), "is refused"},
		{archived(pickled("c__main__\nModel\n)\x81}b")), `"__main__.Model" is refused`},
		{archived(pickled("(ios\nsystem\n")), `operation 'i'`},
		{archived(pickled("(cos\nsystem\no")), `"os.system" is refused`},
		{archived(pickled("\x82\x01")), "operation"},
		{archived(""), "byte 0 of the pickle: 1 bytes are needed, but 0 follow"},
		{archived("."), "the stack is empty"},
		{archived(pickled("K\x01K\x02R")), "is called with"},
		{archived(pickled("ctorch\nFloatStorage\n)R")), "is called with"},
		{archived(pickled("ctorch\nFloatStorage\n")), "is a class"},
		{archived(pickled("ctorch._utils\n_rebuild_tensor_v2\n")), "is a class, a function"},
		{archived(pickled("ctorch._utils\n_rebuild_tensor_v2\n)R")), "torch._utils._rebuild_tensor_v2: called with []"},
		{archived(pickled(storage)), "a storage"},
		{archived(pickled("K\x01Q")), "an integer is named as something outside"},
		{archived(pickled("h\x05")), "nothing was remembered as 5"},
		{archived(pickled("t")), "no mark"},
		{archived(pickled("}K\x01a")), "appended to a map"},
		{archived(pickled("]K\x01K\x02s")), "keys are set in a list"},
		{archived(pickled("}(]K\x01u")), "the key of a map is a list"},
		{archived(pickled("}(G\x7f\xf8\x00\x00\x00\x00\x00\x00Nu")), "the key of a map is NaN"},
		{archived(pickled("}(K\x01u")), "a key without a value"},
		{archived(pickled("B\xff\xff\xff\xff")), "4294967295 bytes are needed"},
		{archived(pickled("\x8d" + string(raw[uint64](math.MaxUint64)))), "18446744073709551615 bytes are needed"},
		{archived(pickled("\x8e" + string(raw[uint64](1<<63)))), "9223372036854775808 bytes are needed"},
		{archived(pickled("\x8b\xff\xff\xff\x7f")), "2147483647 bytes are needed"},
		{archived(pickled("\x8b" + string(raw[uint32](1000)) + strings.Repeat("x", 1000))), "an integer of 1000 bytes"},
		{archived(pickled("I" + strings.Repeat("9", 5000) + "\n")), "a line without an end"},
		{archived(pickled(strings.Repeat("]", 5000) + strings.Repeat("a", 4999))), "deep in each other"},
		{archived(pickled(strings.Repeat("(", 100_000))), "stack is empty"},
		{archived(pickled(bomb.String())), "deep in each other"},
		{archived(pickled("](" + strings.Repeat("K\x01", 4000) + "e\x85q\x00" + strings.Repeat("cbuiltins\nset\nh\x00R", 4000))), "refer to each other so often"},
		{tensor("K\x01", rows, across), `tensor "": shape [2 3] with strides [3 1] from element 1 reaches element 6, but storage "0" has 6`},
		{tensor("J\xff\xff\xff\xff", rows, across), "from element -1"},
		{tensor(long(math.MaxInt64), rows, across), "9223372036854775807"},
		{tensor("K\x00", "J\xff\xff\xff\xffK\x01\x86", across), "negative size"},
		{tensor("K\x00", long(1<<40)+long(1<<40)+"\x86", "K\x00K\x00\x86"), "too many elements"},
		{tensor("K\x00", long(1<<50)+"\x85", "K\x00\x85"), "would take more than"},
		{tensor("K\x00", "K\x02\x85", long(math.MaxInt64)+"\x85"), "strides"},
		{tensor("K\x00", "K\x02\x85", "J\xff\xff\xff\xff\x85"), "strides [-1]"},
		{tensor("K\x00", rows, "K\x01\x85"), "called with"},
		{tensor("K\x00", pickleText("x"), "K\x01\x85"), "called with"},
		{archived(pickled(rebuilt(stored("FloatStorage", "1", ""), "K\x00", rows, across))), `storage "1" is not in the file`},
		{archived(pickled(rebuilt(stored("DoubleStorage", "0", ""), "K\x00", rows, across))), `storage "0": 24 bytes, expected 48`},
		{archived(pickled(rebuilt(stored("ComplexFloatStorage", "0", ""), "K\x00", rows, across))), `"torch.ComplexFloatStorage" is refused`},
		{archived(pickled("(" + rebuilt(storage, "K\x00", rows, across) + rebuilt(stored("DoubleStorage", "0", ""), "K\x00", rows, across) + "t")), "48 bytes"},
	})
}

func TestBadArchivesAreRefused(t *testing.T) {
	good := state("")
	deflated := func(content string) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.Create("m/data.pkl")
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	swapped := zipped("m/data.pkl", good, "m/byteorder", "big", "m/data/0", string(sixFloats))
	legacy := sampleLegacy()
	refused(t, Torch, []struct {
		data []byte
		want string
	}{
		{nil, "the archive: zip: not a valid zip file"},
		{[]byte("PK\x03\x04" + strings.Repeat("x", 100)), "not a valid zip file"},
		{zipped("a", "b"), "no data.pkl"},
		{zipped("a/data.pkl", good, "b/data.pkl", good), "several data.pkl"},
		{zipped("m/data.pkl", good, "m/data.pkl", good), `"m/data.pkl" twice`},
		{zipped("m/data.pkl", good, "m/constants.pkl", good), "TorchScript"},
		{zipped("m/data.pkl", good, "m/data/0", "short"), `storage "0": 5 bytes, expected 24`},
		{zipped("m/data.pkl", good), `tensor "w": storage "0" is not in the file`},
		{swapped, `byte order "big"`},
		{deflated(strings.Repeat("N", 10<<20)), "expected at most 64 times as many"},
		{legacy[:len(legacy)-1], `storage "0": 24 bytes are needed, but 23 follow`},
		{[]byte("\x80\x02" + torchMagic + pickled("K\x07") + pickled("}") + pickled("}") + pickled("]")), "version 7"},
		{[]byte("\x80\x02" + torchMagic + pickled("M\xe9\x03") + pickled("}") + pickled("}") + pickled("K\x01")), "the keys of the storages"},
		{[]byte("\x80\x02" + torchMagic + pickled("M\xe9\x03") + pickled("}"+pickleText("little_endian")+"\x89s") + pickled("}") + pickled("]")), "big-endian"},
		{append([]byte("\x80\x02"+torchMagic+pickled("M\xe9\x03")+pickled("}")+good+pickled("]"+pickleText("0")+"a")), raw[uint64](math.MaxUint64)...), "18446744073709551615 elements"},
	})
	// Compressed members that are no bombs are read.
	if err := measured(t, deflated(pickled("K\x01")), Torch); err != nil {
		t.Error(err)
	}
}

// A state dict in each format of PyTorch, with views, numbers and names.
func TestTorchFiles(t *testing.T) {
	for _, name := range []string{"zip", "legacy"} {
		f, err := Read(samples()[name], Auto, false)
		if err != nil {
			t.Fatal(name, err)
		}
		text, err := f.ValueJSON()
		const want = `{"$dict":[["w",{"$tensor":0}],["t",{"$tensor":1}],["e",{}],["n",{"$tuple":[1,256,-1,1.5,{"$int":"9223372036854775808"},null]}],[7,[true,false,"torch.float16"]],["same",[true,false,"torch.float16"]]]}`
		if err != nil || string(text) != want {
			t.Errorf("%s: %s (%v), expected %s", name, text, err, want)
		}
		check(t, f, "w", []float32{0, 1, 2, 3, 4, 5})
		check(t, f, "t", []float32{0, 2, 4, 1, 3, 5})
		f.Close()
	}
	f, err := Read(sampleTar(), Auto, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	check(t, f, "w", []float32{0, 1, 2, 3, 4, 5})
	if text, err := f.ValueJSON(); err != nil || string(text) != `{"w":{"$tensor":0},"p":{"$tensor":0}}` {
		t.Errorf("%s (%v)", text, err)
	}
}

// A slice of an empty tensor may begin behind the end of its storage.
func TestEmptyViews(t *testing.T) {
	f, err := Read(archived(pickled(rebuilt(stored("FloatStorage", "0", ""), "K\x07", "K\x02K\x00\x86", down))), Torch, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if x := f.Tensors[0]; x.Numel() != 0 || len(x.Data) != 0 {
		t.Errorf("%v", x)
	}
}

func check(t *testing.T, f *File, name string, want []float32) {
	t.Helper()
	x := f.Find(name)
	if x == nil {
		t.Fatalf("no tensor %q", name)
	}
	got := make([]float32, x.Numel())
	if err := x.Floats(got); err != nil || len(got) != len(want) {
		t.Fatalf("%q: %v (%v), expected %v", name, got, err, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%q: %v, expected %v", name, got, want)
		}
	}
}
