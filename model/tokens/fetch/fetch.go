// Package fetch downloads the tokenizers of vocabularies by their names, and caches their files. Programs that do not import it contain no HTTP
// client.
package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"polygrad/model/tokens"
)

// Tokenizer is the tokenizer of a vocabulary of tiktoken or CLIP, of a model on the Hugging Face Hub, or of a file at an address: see tokens.Source.
// progress, which may be nil, is called with the bytes loaded so far and their total number, -1 if that is not known.
func Tokenizer(name string, progress func(loaded, total int64)) (*tokens.Tokenizer, error) {
	url, err := tokens.Source(name)
	if err != nil {
		return nil, fmt.Errorf("fetch.Tokenizer: name: %w", err)
	}
	data, err := File(url, progress)
	if err != nil {
		return nil, fmt.Errorf("fetch.Tokenizer: name: %q: %w", name, err)
	}
	if strings.ContainsAny(name, "/:") {
		name = ""
	}
	return tokens.New(data, name)
}

// client times out if a server does not begin to answer.
var client = func() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = 30 * time.Second
	return &http.Client{Transport: transport}
}()

// File is the content of an HTTP address. It is downloaded once and cached in polygrad/downloads of the user's cache folder. Without such a folder,
// or where it cannot be written, as in some containers, each call downloads the file.
func File(url string, progress func(loaded, total int64)) ([]byte, error) {
	caches, noCache := os.UserCacheDir()
	sum := sha256.Sum256([]byte(url))
	path := filepath.Join(caches, "polygrad", "downloads", hex.EncodeToString(sum[:]))
	if noCache == nil {
		if data, err := os.ReadFile(path); err == nil {
			return data, nil
		}
	}
	answer, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the server answered %s", url, answer.Status)
	}
	data, err := io.ReadAll(&counted{answer.Body, 0, answer.ContentLength, progress})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	if noCache == nil {
		_ = keep(path, data)
	}
	return data, nil
}

// keep writes a file atomically, since another process may read it at the same time.
func keep(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), "part")
	if err != nil {
		return err
	}
	_, err = part.Write(data)
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		_ = os.Remove(part.Name())
	}
	return err
}

// counted is a body that reports how much of it has been read.
type counted struct {
	io.Reader
	loaded, total int64
	progress      func(loaded, total int64)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.loaded += int64(n)
	if n > 0 && c.progress != nil {
		c.progress(c.loaded, c.total)
	}
	return n, err
}
