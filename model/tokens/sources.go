package tokens

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The addresses of vocabulary files.
const (
	ranksFolder = "https://cdn.jsdelivr.net/npm/gpt-tokenizer@3.0.1/data/"
	clipFile    = "https://cdn.jsdelivr.net/gh/mlfoundations/open_clip@v3.2.0/src/open_clip/bpe_simple_vocab_16e6.txt.gz"
	hub         = "https://huggingface.co/"
)

// mostUnpacked bounds the size of an unpacked file.
const mostUnpacked = 1 << 28

// Source is the address of a vocabulary's file: of tiktoken and CLIP by the names that New takes, or of a model on the Hugging Face Hub, as
// "owner/name" (its tokenizer.json) or "owner/name/file", such as a SentencePiece model. An address stands for itself.
func Source(name string) (string, error) {
	if strings.Contains(name, "://") || strings.HasPrefix(name, "data:") {
		return name, nil
	}
	parts := strings.Split(name, "/")
	wrong := func(part string) bool {
		return strings.Trim(part, ".") == "" || strings.ContainsAny(part, "\\?#%: \t\r\n\x00")
	}
	switch {
	case name == "clip":
		return clipFile, nil
	case vocabularies()[name].read != nil:
		return ranksFolder + vocabularies()[name].file + ".tiktoken", nil
	case len(parts) < 2 || slices.ContainsFunc(parts, wrong):
		return "", fmt.Errorf("%q, expected one of %s, a model of the Hugging Face Hub such as owner/name, or an address", short(name), known())
	case len(parts) == 2:
		parts = append(parts, "tokenizer.json")
	}
	return hub + strings.Join(parts[:2], "/") + "/resolve/main/" + strings.Join(parts[2:], "/"), nil
}

// known are the names of vocabularies.
func known() string {
	return strings.Join(append(slices.Sorted(maps.Keys(vocabularies())), "clip"), ", ")
}

// unpacked is the content of a file, which may be packed by gzip.
func unpacked(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(io.LimitReader(r, mostUnpacked+1))
	if err == nil && len(data) > mostUnpacked {
		err = errors.New("unpacked it has more than 256 MiB")
	}
	return data, err
}
