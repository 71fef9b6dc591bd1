package fetch

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"polygrad/model/tokens"
)

func TestTokenizer(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/a" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"model": {"type": "WordLevel", "vocab": {"a": 7}}}`))
	}))
	defer server.Close()
	var told []int64
	for range 2 {
		k, err := Tokenizer(server.URL+"/a", func(loaded, total int64) { told = append(told, loaded, total) })
		if err != nil {
			t.Fatal(err)
		}
		ids, err := k.Encode(tokens.Options{}, "a")
		if err != nil || !slices.Equal(ids, []int32{7}) {
			t.Fatalf("%v, %v", ids, err)
		}
	}
	if asked != 1 || len(told) < 2 || told[len(told)-2] != 51 || told[len(told)-1] != 51 {
		t.Errorf("asked %d times, told %v", asked, told)
	}
	for name, want := range map[string]string{server.URL + "/b": "404", "cl100k": "cl100k_base", "http://127.0.0.1:1/x": "127.0.0.1:1"} {
		if _, err := Tokenizer(name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCacheThatCannotBeWritten: a download does not fail because the cache does.
func TestCacheThatCannotBeWritten(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte("content"))
	}))
	defer server.Close()
	for _, folder := range []string{file, "not absolute"} {
		t.Setenv("XDG_CACHE_HOME", folder)
		data, err := File(server.URL, func(_, _ int64) {})
		if err != nil || string(data) != "content" {
			t.Errorf("%s: %q, %v", folder, data, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, expected 2", asked)
	}
}
