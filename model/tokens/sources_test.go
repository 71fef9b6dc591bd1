package tokens

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

func TestSource(t *testing.T) {
	for name, want := range map[string]string{
		"p50k_edit":               ranksFolder + "p50k_base.tiktoken",
		"o200k_harmony":           ranksFolder + "o200k_base.tiktoken",
		"clip":                    clipFile,
		"owner/name":              "https://huggingface.co/owner/name/resolve/main/tokenizer.json",
		"a/b/folder/spiece.model": "https://huggingface.co/a/b/resolve/main/folder/spiece.model",
		"http://x/y?z":            "http://x/y?z",
	} {
		if got, err := Source(name); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "gpt5", "/a", "a/", "a/../b", "a/b?c", "a b/c", "a\x00/b"} {
		if got, err := Source(name); err == nil || !strings.Contains(err.Error(), "cl100k_base") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestPacked(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte("\"version\"\nh e\n"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if k, err := New(b.Bytes(), "clip"); err != nil || k.ID("he") != 512 {
		t.Errorf("%v", err)
	}
	for n := range b.Len() {
		if _, err := New(b.Bytes()[:n], "clip"); n > 1 && err == nil {
			t.Errorf("%d bytes of a packed file are read", n)
		}
	}
}
