package files

import (
	"bytes"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// small is a tensor of 6 floats that a pickle remembers how to make; again makes it once more, in 5 bytes.
var small, again5 = remembered(rows, across)

func remembered(size, stride string) (first, again string) {
	s := stored("FloatStorage", "0", "")
	return "ctorch._utils\n_rebuild_tensor_v2\nq\x0b0(" + s + "K\x00" + size + stride + "\x89}tq\x0a0", "h\x0bh\x0aR"
}

// What a few bytes can ask for again and again is refused before it takes memory or time.
func TestFewBytesCannotAskForMuch(t *testing.T) {
	wide, _ := remembered("KdKd\x86", "K\x00K\x00\x86") // 100 * 100 times the same element
	longKey := pickleText(strings.Repeat("k", 100_000)) + "q\x050"
	refused(t, Torch, []struct {
		data []byte
		want string
	}{
		{archived(pickled(wide, "](", strings.Repeat(again5, 1000), "e")), "do not lie row by row would take more than"},
		{archived(pickled(small, longKey, strings.Repeat("}h\x05", 50), "](", strings.Repeat(again5, 100), "e", strings.Repeat("s", 50))), "the names of the tensors"},
		{archived(pickled(strings.Repeat("N0", maxValues/2+1), "N")), "operations"},
	})
	refused(t, GGUF, []struct {
		data []byte
		want string
	}{
		{gguf([]ggufPair{{"k", 9, slices.Concat(raw[uint32](0), raw[uint64](maxValues+1), make([]byte, maxValues+1))}}, nil, 0), "8388609 values, expected at most 8388608"},
	})
	if _, err := (&jsonScanner{text: []byte("[1,2]"), values: maxValues - 2}).value(); err == nil || !strings.Contains(err.Error(), "more than 8388608 values") {
		t.Errorf("one value more than allowed: %v", err)
	}
}

// Tensors in different places can lead to the same name: each gets one of its own, without a search among all before it.
func TestTensorsOfOneName(t *testing.T) {
	f, err := Read(archived(pickled("}(", pickleText("a"), "}", pickleText("b"), small, again5, "s", pickleText("a.b"), again5, "u")), Torch, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Tensors) != 2 || f.Find("a.b") != f.Tensors[0] || f.Find("a.b (2)") != f.Tensors[1] {
		t.Errorf("%d tensors, the last is %q", len(f.Tensors), f.Tensors[len(f.Tensors)-1].Name)
	}
	r := &torchReader{f: &File{}, called: map[string]int{}}
	const n = 100_000
	for range n {
		name, err := r.name([]string{"a"})
		if err == nil {
			err = r.f.add(&Tensor{Name: name})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if last := r.f.Tensors[n-1].Name; last != "a (100000)" {
		t.Errorf("the last of %d is %q", n, last)
	}
}

// Copies of small tensors share pages.
func TestSmallCopies(t *testing.T) {
	turned, again := remembered(rows, down)
	f, err := Read(archived(pickled(turned, "](", strings.Repeat(again, 1000), "e")), Torch, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range f.Tensors {
		if mem, err := f.Memory(i); err != nil || !bytes.Equal(mem, raw[float32](0, 2, 4, 1, 3, 5)) {
			t.Fatalf("tensor %d: % x (%v)", i, mem, err)
		}
	}
	if len(f.memory) != 1 {
		t.Errorf("%d mappings for 1000 copies of 24 bytes, expected 1", len(f.memory))
	}
}

// A chain of storages, each a part of the one before, is no deeper than one.
func TestPartsOfParts(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	f, err := Read(tarred("]((K\x06K\x05K\x00K\x06t(K\x06K\x06K\x00K\x06tq\x01"+strings.Repeat("h\x01", 100_000)+"e"), Torch, false)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
