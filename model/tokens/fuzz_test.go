package tokens

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

const someText = "Hello, <s> world 12 \u00e9\u6771\u4eac\xff don't\n"

// use reads a file; what is one encodes and decodes without a panic.
func use(data []byte, name string) (err error) {
	t, err := New(data, name)
	if err != nil {
		return err
	}
	ids, err := t.Encode(Options{Wrap: true, Special: Special{All: true}}, someText)
	if err == nil {
		_, _ = t.Decode(ids, false)
		_, _ = t.DecodeBytes(ids, true)
	}
	_, _ = t.Decode([]int32{0, -1, 1 << 30}, true)
	for id := range int32(min(20, len(t.texts))) {
		if t.Has(id) {
			if _, err := t.Decode([]int32{id, id}, true); err != nil {
				panic(err)
			}
		}
	}
	return nil
}

// samples are small files of all kinds, with the names that they are read by.
func samples(t testing.TB) [][2]string {
	var all others
	var cases []hfCase
	read(t, "testdata/others.json.gz", &all)
	read(t, "testdata/huggingface.json.gz", &cases)
	out := [][2]string{
		{"\"version\"\nh e\nl l\nll o</w>\n", "clip"}, {all.Encodings[0].Ranks, "r50k_base"},
		{all.Encodings[0].Ranks, `{"pattern": "\\\\w+|(?!x)[^a-c]{1,3}?", "special": {"<s>": 500}}`},
		{`{"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": ["a", "b", "ab"], "tokenizer.ggml.merges": ["a b"]}`, ""},
	}
	for _, m := range all.Models[1:] {
		out = append(out, [2]string{string(m.Model), ""})
	}
	for _, c := range cases {
		out = append(out, [2]string{string(c.File), ""})
	}
	return out
}

// FuzzNew changes bytes of files.
func FuzzNew(f *testing.F) {
	for _, s := range samples(f) {
		f.Add([]byte(s[0]), s[1])
	}
	f.Fuzz(func(_ *testing.T, data []byte, name string) { _ = use(data, name) })
}

// TestBroken cuts and changes files, and parts of tokenizer.json: each is read, or refused without taking much memory.
func TestBroken(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	times := 60
	if testing.Short() {
		times = 10
	}
	for _, s := range samples(t) {
		for range times {
			data := bytes.Clone([]byte(s[0]))
			if r.IntN(2) == 0 {
				data = data[:r.IntN(len(data))]
			} else {
				for range 1 + r.IntN(3) {
					data[r.IntN(len(data))] ^= 1 << r.IntN(8)
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_ = use(data, s[1])
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
				t.Fatalf("%d bytes were allocated for a file of %d", n, len(data))
			}
		}
		var file any
		if json.Unmarshal([]byte(s[0]), &file) != nil {
			continue
		}
		for range times {
			data, err := json.Marshal(changed(r, file))
			if err != nil {
				t.Fatal(err)
			}
			if err := use(data, s[1]); err != nil && strings.Contains(err.Error(), "nil pointer") {
				t.Fatal(err)
			}
		}
	}
}

// changed is a value with another one somewhere in it.
func changed(r *rand.Rand, v any) any {
	if r.IntN(12) == 0 {
		return []any{nil, -1.0, "x", []any{}, map[string]any{}, 1e300, true, []any{1.0}}[r.IntN(8)]
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		at, i := r.IntN(len(v)+1), 0
		for k, own := range v {
			if i == at {
				own = changed(r, own)
			}
			out[k] = own
			i++
		}
		return out
	case []any:
		out := append([]any{}, v...)
		if len(v) > 0 {
			at := r.IntN(len(v))
			out[at] = changed(r, v[at])
		}
		return out
	case string:
		return v + "("
	case float64:
		return v * 1e6
	}
	return nil
}

// TestRefused gives files that are none.
func TestRefused(t *testing.T) {
	for _, c := range [][3]string{
		{"", "", "empty"}, {"{", "", "JSON"}, {"{}", "", "no model"}, {"x", "foo", "expected one of"}, {"x y z", "r50k_base", "line 1"},
		{"YQ== 0\nYg== 50256\n", "r50k_base", "the rank of the token"}, {"YQ== 0\n", `{"pattern": ".", "special": {"<s>": 0}}`, "name: special"},
		{"", "cl100k_base", "no tokens"}, {"YQ== 0\nYg== 0\n", "r50k_base", "line 2"}, {"\x0a\xff", "", "SentencePiece"},
		{"YQ== 0", `{"pattern": "("}`, "expected"}, {"v\na b c", "clip", "line 2"}, {"v\naa b", "clip", "line 2"},
		{`{"model": {"type": "BPE"}}`, "", "vocab"}, {`{"model": {"type": "Other"}}`, "", "expected one of BPE"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}`, "", "merges[0]"},
		{`{"model": {"type": "BPE", "vocab": {"a": -1}}}`, "", "-1"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}}, "decoder": {"type": "Other"}}`, "", "expected one of"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}}, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Removed"}}`, "", "expected"},
		{`{"model": {"type": "Unigram", "vocab": [["a", 1]], "unk_id": 3}}`, "", "unk_id"},
		{`{"model": {"type": "WordPiece", "vocab": {"a": 0}}}`, "", "[UNK]"},
		{`{"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "x", "tokenizer.ggml.tokens": ["a"]}`, "", "pre-tokenizer"},
		{`{"tokenizer.ggml.model": "x", "tokenizer.ggml.tokens": ["a"]}`, "", "expected one of gpt2"},
	} {
		if _, err := New([]byte(c[0]), c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%q, %q: %v, expected %q", c[0], c[1], err, c[2])
		}
	}
}
