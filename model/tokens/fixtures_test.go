package tokens

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"polygrad/model/tokens/pattern"
)

// read reads a file of JSON, packed by gzip.
func read(t testing.TB, file string, into any) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(unpacked).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// values reads the values of a row.
func values(t testing.TB, row []json.RawMessage, into ...any) {
	t.Helper()
	for i, v := range into {
		if err := json.Unmarshal(row[i], v); err != nil {
			t.Fatal(err)
		}
	}
}

func made(t testing.TB, data []byte, name string) *Tokenizer {
	t.Helper()
	k, err := New(data, name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func encoded(t *testing.T, k *Tokenizer, text string, wrap bool, special string, want []int32) {
	t.Helper()
	o, err := k.Options(special)
	if err != nil {
		t.Fatal(err)
	}
	o.Wrap = wrap
	ids, err := k.Encode(o, text)
	if err != nil || !slices.Equal(ids, want) {
		t.Errorf("%q: %v, %v, expected %v", text, ids, err, want)
	}
}

func decoded(t *testing.T, k *Tokenizer, ids []int32, keep bool, want string) {
	t.Helper()
	if text, err := k.Decode(ids, keep); err != nil || text != want {
		t.Errorf("%v: %q, %v, expected %q", ids, text, err, want)
	}
}

// hfCase is what Hugging Face's package makes of texts.
type hfCase struct {
	Name   string
	File   json.RawMessage
	Texts  [][]json.RawMessage // text, tokens, those without the ones around them, text without special tokens and with them
	Shaped [][]json.RawMessage // options, texts, tokens; null if they are refused
}

func TestHuggingFace(t *testing.T) {
	var cases []hfCase
	read(t, "testdata/huggingface.json.gz", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			k := made(t, c.File, "")
			for _, row := range c.Texts {
				var text, plain, whole string
				var ids, own []int32
				values(t, row, &text, &ids, &own, &plain, &whole)
				encoded(t, k, text, true, "all", ids)
				encoded(t, k, text, false, "all", own)
				decoded(t, k, ids, false, plain)
				decoded(t, k, ids, true, whole)
			}
		})
	}
}

// TestShaped compares pairs, truncation and padding with what tokenizers makes of them.
func TestShaped(t *testing.T) {
	var cases []hfCase
	read(t, "testdata/huggingface.json.gz", &cases)
	compared := 0
	for _, c := range cases {
		k := made(t, c.File, "")
		for _, row := range c.Shaped {
			var texts [][]string
			var want [][]int32
			values(t, row[1:], &texts, &want)
			o, err := k.Options(string(row[0]))
			if err != nil {
				t.Fatal(err)
			}
			o.Wrap = true
			got, err := k.EncodeBatch(o, texts)
			if (err != nil) != (want == nil) || err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: %v, %v, expected %v", c.Name, row[0], got, err, want)
			}
			compared += len(want)
		}
	}
	if compared < 1500 {
		t.Errorf("%d texts were compared", compared)
	}
}

// TestOptions reads options that are wrong.
func TestOptions(t *testing.T) {
	k := made(t, []byte(`{"model": {"type": "WordLevel", "vocab": {"a": 0}}, "padding": {"strategy": "BatchLongest", "new": 1}}`), "")
	for text, want := range map[string]string{
		`some`: "expected", `{"allow": 1}`: `options: unknown field "allow", expected truncation or padding`, `{"truncation": 3}`: "truncation: 3, expected true or an object",
		`{"truncation": {"max_length": "x"}}`: "truncation: max_length: a string, expected int", `{"allowed": "some"}`: "allowed", `{"truncation": true}`: "the file says nothing",
		`{"truncation": {}}`: "max_length", `{"truncation": {"max_length": 3, "strategy": "Shortest"}}`: "strategy",
		`{"truncation": {"max_length": -1}}`: "max_length", `{"padding": {"strategy": {"Fixed": -1}}}`: "strategy", `{"padding": {"direction": "up"}}`: "direction",
		`{"padding": {"pad_id": -1}}`: "pad_id", `{"padding": {"pad_to_multiple_of": -8}}`: "pad_to_multiple_of", `{`: "unexpected",
	} {
		if _, err := k.Options(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	o, err := k.Options(`{"allowed": ["a"], "padding": true}`)
	if err != nil || o.Padding == nil || o.Truncation != nil || len(o.Special.Allowed) != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

// others is what tiktoken and sentencepiece make of texts.
type others struct {
	Encodings []struct {
		Name, Ranks string
		Texts       [][]json.RawMessage // text, tokens, those if special ones are allowed
	}
	Models []struct {
		Options json.RawMessage
		Model   []byte
		Texts   [][]json.RawMessage // text, tokens, text of these
	}
}

func TestTiktoken(t *testing.T) {
	var all others
	read(t, "testdata/others.json.gz", &all)
	for _, e := range all.Encodings {
		options, err := json.Marshal(ranks{vocabularies()[e.Name].read().Words, map[string]int32{"<|end|>": 400}})
		if err != nil {
			t.Fatal(err)
		}
		k := made(t, []byte(e.Ranks), string(options))
		var texts [][]string
		var tokens [][]int32
		for _, row := range e.Texts {
			var text string
			var plain, special []int32
			values(t, row, &text, &plain, &special)
			encoded(t, k, text, true, "none", plain)
			encoded(t, k, text, true, "all", special)
			encoded(t, k, text, true, `["<|end|>"]`, special)
			decoded(t, k, special, true, text)
			texts, tokens = append(texts, []string{text}), append(tokens, plain)
		}
		batch, err := k.EncodeBatch(Options{}, texts)
		if err != nil || !reflect.DeepEqual(batch, tokens) {
			t.Errorf("%s: a batch differs: %v", e.Name, err)
		}
		if _, err := k.Encode(Options{Special: Special{Refuse: true}}, "a<|end|>"); err == nil || !strings.Contains(err.Error(), "<|end|>") {
			t.Errorf("%s: a special token that is not allowed: %v", e.Name, err)
		}
	}
}

func TestSentencePiece(t *testing.T) {
	var all others
	read(t, "testdata/others.json.gz", &all)
	for _, m := range all.Models {
		t.Run(string(m.Options), func(t *testing.T) {
			k := made(t, m.Model, "")
			for _, row := range m.Texts {
				var text, plain string
				var ids []int32
				values(t, row, &text, &ids, &plain)
				encoded(t, k, text, true, "all", ids)
				decoded(t, k, ids, false, plain)
			}
		})
	}
}

// TestStream adds tokens one by one: what comes is complete, and all of it is the text.
func TestStream(t *testing.T) {
	var cases []hfCase
	read(t, "testdata/huggingface.json.gz", &cases)
	for _, c := range cases {
		k := made(t, c.File, "")
		for _, row := range c.Texts {
			var ids []int32
			values(t, row[1:], &ids)
			if c.Name != "gpt2" && c.Name != "llama" && c.Name != "bert cased" && c.Name != "t5" {
				continue // decoders that look at the end of a text
			}
			s, err := k.NewStream(ids[:len(ids)/2], false)
			if err != nil {
				t.Fatal(err)
			}
			text, err := k.Decode(ids[:len(ids)/2], false)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := k.Decode(ids, false)
			if err != nil {
				t.Fatal(err)
			}
			broken := strings.HasSuffix(text, "\ufffd") // the first half ends within a character
			for _, id := range ids[len(ids)/2:] {
				piece, err := s.Push(id)
				if err != nil || strings.Contains(piece, "\ufffd") && !strings.Contains(whole, "\ufffd") && !broken {
					t.Errorf("%s: %q, %v", c.Name, piece, err)
				}
				text += piece
			}
			rest, err := s.Push()
			text += rest
			if err != nil || text != whole && !broken {
				t.Errorf("%s: %q, %v, expected %q", c.Name, text, err, whole)
			}
		}
	}
}

// TestClip encodes by a small file of merges.
func TestClip(t *testing.T) {
	k := made(t, []byte("\"version\"\nh e\nl l\nll o</w>\nhe llo</w>\n"), "clip")
	ids, err := k.Encode(Options{Wrap: true, Special: Special{All: true}}, "Hello  a")
	if err != nil || len(ids) != 77 || !slices.Equal(ids[:5], []int32{516, 515, 320, 517, 0}) {
		t.Errorf("%v, %v", ids, err)
	}
	decoded(t, k, ids, true, "<|startoftext|>hello a <|endoftext|>")
	decoded(t, k, ids, false, "hello a ")
	if ids, _ := k.Encode(Options{Wrap: true, Special: Special{All: true}}, strings.Repeat("a ", 100)); len(ids) != 77 || ids[76] != 517 {
		t.Errorf("%v", ids)
	}
}

// TestVocabularies checks the special tokens of tiktoken's vocabularies.
func TestVocabularies(t *testing.T) {
	var lines strings.Builder
	for b := range 256 {
		fmt.Fprintf(&lines, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(b)}), b)
	}
	for name, special := range map[string]map[string]int32{
		"gpt2": {"<|endoftext|>": 50256}, "r50k_base": {"<|endoftext|>": 50256}, "p50k_base": {"<|endoftext|>": 50256},
		"p50k_edit": {"<|fim_suffix|>": 50283}, "cl100k_base": {"<|endofprompt|>": 100276}, "o200k_base": {"<|endoftext|>": 199999},
		"o200k_harmony": {"<|call|>": 200012, "<|reserved_200018|>": 200018, "<|reserved_201087|>": 201087},
	} {
		k := made(t, []byte(lines.String()), name)
		for text, id := range special {
			encoded(t, k, "a!"+text, true, "all", []int32{97, 33, id})
			if k.ID(text) != id || k.Special()[text] != id {
				t.Errorf("%s: %s", name, text)
			}
		}
		if b, err := k.DecodeBytes([]int32{0xe2, 0x82}, false); err != nil || string(b) != "\xe2\x82" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		decoded(t, k, []int32{0xe2, 0x82, 97}, false, "\ufffda")
	}
}

// TestGGUF reads metadata of both models.
func TestGGUF(t *testing.T) {
	byBytes := `{"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": ["a", "b", "ab", "Ġ", "<s>"], "tokenizer.ggml.merges": ["a b"],
		"tokenizer.ggml.token_type": [1, 1, 1, 1, 3], "tokenizer.ggml.bos_token_id": 4, "tokenizer.ggml.add_bos_token": true}`
	k := made(t, []byte(byBytes), "")
	encoded(t, k, "ab a<s>", true, "all", []int32{4, 2, 3, 0, 4})
	decoded(t, k, []int32{4, 2, 3, 0}, false, "ab a")
	ofPieces := `{"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": ["<unk>", "<s>", "▁", "a", "▁a", "b"],
		"tokenizer.ggml.scores": [0, 0, -3, -2, -1, -4], "tokenizer.ggml.token_type": [2, 3, 1, 1, 1, 1], "tokenizer.ggml.bos_token_id": 1}`
	k = made(t, []byte(ofPieces), "")
	encoded(t, k, "a bac", true, "all", []int32{1, 4, 2, 5, 3, 0})
	decoded(t, k, []int32{1, 4, 2, 5, 3}, false, "a ba")
}

// TestSplitsAtEmptyMatches has what the package tokenizers makes of expressions that match nothing at a place.
func TestSplitsAtEmptyMatches(t *testing.T) {
	for _, c := range []struct {
		expr, behavior string
		inverted       bool
		text, want     string
	}{
		{`(?<=[a-z])(?=[A-Z])`, "Isolated", false, "camelCaseWord", "camel|Case|Word"},
		{`(?<=[a-z])(?=[A-Z])`, "Contiguous", false, "camelCaseWord", "camel|Case|Word"},
		{`x*`, "Isolated", false, "xxaxb", "xx|a|x|b"},
		{`x*`, "Removed", true, "xxaxb", "xx|x"},
		{`x*`, "MergedWithPrevious", false, "xxaxb", "xx|ax|b"},
		{`x*`, "MergedWithNext", false, "xxaxb", "xxa|xb"},
		{`b|(?=c)`, "Isolated", false, "abcabc", "a|b|ca|b|c"},
		{`b|(?=c)`, "Removed", false, "abcabc", "a|ca|c"},
		{`b|(?=c)`, "MergedWithPrevious", false, "abcabc", "ab|cab|c"},
		{`b|(?=c)`, "MergedWithNext", false, "abcabc", "a|bca|bc"},
	} {
		p, err := pattern.CompileOniguruma(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		split, err := splitting(p, c.behavior, c.inverted)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		split(c.text, true, func(word string, _ bool) { got = append(got, word) })
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s of %q at %s: %q, expected %s", c.behavior, c.text, c.expr, got, c.want)
		}
	}
}

// TestAddedTokensAreNoPieces has what the package tokenizers finds: a model knows its own vocabulary only.
func TestAddedTokensAreNoPieces(t *testing.T) {
	const file = `{"added_tokens": [{"id": 2, "content": "foo", "single_word": true}], "pre_tokenizer": {"type": "WhitespaceSplit"},
		"model": {"type": %q, "unk_token": "[UNK]", "max_input_chars_per_word": 1000000000, "vocab": {"[UNK]": 0, "##bar": 1, "bar": 3}}}`
	for _, kind := range []string{"WordPiece", "WordLevel"} {
		k := made(t, []byte(fmt.Sprintf(file, kind)), "")
		for text, want := range map[string][]int32{"foobar foo bar": {0, 2, 3}, "bar" + strings.Repeat("bar", 20_000) + "!": {0}} {
			if got, err := k.Encode(Options{Wrap: true, Special: Special{All: true}}, text); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q: %v and %v, expected %v", kind, short(text), got, err, want)
			}
		}
	}
}

// TestStreamWithoutSpecialTokens: they are no context, and a stream does not keep them.
func TestStreamWithoutSpecialTokens(t *testing.T) {
	k := made(t, []byte(`{"added_tokens": [{"id": 1, "content": "<s>", "special": true}], "decoder": {"type": "Metaspace"},
		"model": {"type": "WordLevel", "vocab": {"▁a": 0}}}`), "")
	s, err := k.NewStream(append([]int32{0}, slices.Repeat([]int32{1}, 20)...), false)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if text, err := s.Push(1); text != "" || err != nil {
			t.Fatalf("%q and %v", text, err)
		}
	}
	if text, err := s.Push(0); text != " a" || err != nil || len(s.ids) > streamContext {
		t.Errorf("%q and %v with %d tokens, expected a space and a", text, err, len(s.ids))
	}
}
