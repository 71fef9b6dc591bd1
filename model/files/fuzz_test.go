package files

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// use reads a file and everything in it.
func use(data []byte, format Format) error {
	f, err := Read(data, format, false)
	if err != nil {
		return err
	}
	defer f.Close()
	for i, t := range f.Tensors {
		mem, err := f.Memory(i)
		if err != nil {
			return err
		}
		if n := t.Numel(); t.Quant == nil && int64(len(mem)) != n*int64(t.DType.Itemsize()) {
			panic("a tensor has other bytes than its shape says")
		}
		out := make([]float32, min(t.Numel(), 1000))
		if err := t.Floats(out); err != nil {
			panic(err)
		}
	}
	_, err = f.ValueJSON()
	return err
}

// A file cannot make a reader allocate more than this, whatever its bytes say.
func allowed(n int) uint64 { return 1<<20 + 600*uint64(n) }

// measured is use, which must not allocate more than allowed.
func measured(t *testing.T, data []byte, format Format) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := use(data, format)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > allowed(len(data)) {
		t.Fatalf("%d bytes were allocated for a file of %d: %q (%v)", n, len(data), data[:min(len(data), 2000)], err)
	}
	return err
}

func fuzz(f *testing.F, format Format, seeds ...string) {
	all := samples()
	for _, s := range seeds {
		f.Add(all[s])
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = measured(t, data, format) })
}

func FuzzSafetensors(f *testing.F) { fuzz(f, Safetensors, "safetensors") }
func FuzzGGUF(f *testing.F)        { fuzz(f, GGUF, "gguf") }
func FuzzTorch(f *testing.F)       { fuzz(f, Torch, "zip", "legacy", "tar") }
func FuzzPickle(f *testing.F) {
	f.Add([]byte(state("")))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		_ = measured(t, zipped("m/data.pkl", string(pickle), "m/data/0", string(sixFloats)), Torch)
	})
}

func FuzzJSON(f *testing.F) {
	for _, text := range jsonSamples {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { _ = again(t, text) })
}

// again reads a text that was written from what a text says: it must be the same.
func again(t *testing.T, text []byte) error {
	v, err := ParseJSON(text)
	if err != nil {
		return err
	}
	limit := 1 << 20
	written, err := EncodeJSON(v, nil, limit+64*len(text))
	if err != nil {
		return err
	}
	w, err := ParseJSON(written)
	if err != nil {
		t.Fatalf("%q became %q: %v", text, written, err)
	}
	twice, err := EncodeJSON(w, nil, limit+64*len(text))
	if err != nil || len(twice) < len(written) {
		t.Fatalf("%q became %q and %q: %v", text, written, twice, err)
	}
	return nil
}

// mutate damages a file in a way that r chooses.
func mutate(r *rand.Rand, data []byte) []byte {
	out := slices.Clone(data)
	for range 1 + r.IntN(3) {
		if len(out) == 0 {
			return out
		}
		at := r.IntN(len(out))
		switch r.IntN(8) {
		case 0:
			out[at] ^= 1 << r.IntN(8)
		case 1:
			out[at] = byte(r.Uint32())
		case 2:
			out = out[:at]
		case 3: // a number of 8 bytes
			extreme := []uint64{0, 1, 1 << 31, 1<<32 - 1, 1<<63 - 1, 1 << 63, ^uint64(0), ^uint64(0) - 7, uint64(len(out))}
			copy(out[at:], raw(extreme[r.IntN(len(extreme))]))
		case 4: // a part once more
			end := min(len(out), at+1+r.IntN(40))
			out = slices.Insert(out, end, out[at:end]...)
		case 5: // a part is gone
			out = slices.Delete(out, at, min(len(out), at+1+r.IntN(40)))
		case 6: // a part of it is copied to another place
			end := min(len(out), at+1+r.IntN(40))
			copy(out[r.IntN(len(out)):], slices.Clone(out[at:end]))
		case 7: // another digit, or an operation of pickles
			const bytes = "0123456789-eE[]{}\",:.()RbQctq\x81\x85\x86\x93\x94"
			out[at] = bytes[r.IntN(len(bytes))]
		}
	}
	return out
}

// Thousands of damaged files of each format: none crashes a reader, allocates much or is taken for something it is not.
func TestDamagedFiles(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for name, data := range samples() {
		if err := use(data, Auto); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		format := formatOf(data)
		r := rand.New(rand.NewPCG(1, uint64(len(name))))
		refused := 0
		for range rounds {
			if measured(t, mutate(r, data), format) != nil {
				refused++
			}
		}
		if refused < rounds/20 || refused == rounds {
			t.Errorf("%s: %d of %d damaged files are refused", name, refused, rounds)
		}
		for n := range len(data) {
			const padding = 1024 + 512
			if n < len(data)-padding || name != "tar" { // a tar archive ends with zeros that need not be there
				err := measured(t, data[:n], format)
				if err == nil && name != "gguf" {
					t.Errorf("%s: %d of %d bytes are accepted", name, n, len(data))
				}
			}
		}
	}
}

func TestDamagedPickles(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	refused := 0
	const rounds = 5000
	for range rounds {
		p := mutate(r, []byte(state("")))
		if measured(t, zipped("m/data.pkl", string(p), "m/data/0", string(sixFloats)), Torch) != nil {
			refused++
		}
	}
	if refused < rounds/4 || refused == rounds {
		t.Errorf("%d of %d damaged pickles are refused", refused, rounds)
	}
}

func TestDamagedJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	refused := 0
	for _, seed := range slices.Sorted(maps.Values(jsonSamples)) {
		for range 1000 {
			if again(t, mutate(r, []byte(seed))) != nil {
				refused++
			}
		}
	}
	if refused < 1000 {
		t.Errorf("%d damaged texts are refused", refused)
	}
}
