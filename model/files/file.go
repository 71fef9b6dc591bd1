package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"polygrad/core/uop"
)

// Format is the format of a file.
type Format uint8

// The formats. Auto detects the format from the contents.
const (
	Auto Format = iota
	Safetensors
	GGUF
	Torch
	// Raw is any file, as one tensor of bytes without a name.
	Raw
	numFormats
)

var formatNames = [numFormats]string{"auto", "safetensors", "gguf", "torch", "raw"}

func (f Format) String() string {
	if f < numFormats {
		return formatNames[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// Known reports whether f is one of the formats.
func (f Format) Known() bool { return f < numFormats }

// File is the contents of a file or a folder of shards. It may be used by several goroutines.
type File struct {
	// Path is the path that was opened, "" if the file is in memory.
	Path   string
	Format Format
	// Tensors are the tensors in the order of the file. Their memory is the file's.
	Tensors []*Tensor
	// Value is the rest of the file: of safetensors its metadata, a *Dict of strings, or nil; of GGUF its metadata, a *Dict; of
	// PyTorch the saved object, with a *Tensor for each tensor.
	Value Value
	// Size is the number of bytes of the file, of all shards together.
	Size int64

	named  map[string]*Tensor
	refs   atomic.Int64
	mu     sync.Mutex
	memory [][]byte           // to release
	copies map[*Tensor][]byte // of tensors that are not contiguous or not aligned
	spare  []byte             // memory for further copies
}

// maxReferences bounds the ratio of the JSON text of Value to the file's size.
const maxReferences = 16

// ValueJSON is Value as JSON (see EncodeJSON).
func (f *File) ValueJSON() ([]byte, error) {
	place := make(map[*Tensor]int, len(f.Tensors))
	for i, t := range f.Tensors {
		place[t] = i
	}
	const least = 1 << 20
	return EncodeJSON(f.Value, func(t *Tensor) int { return place[t] }, least+maxReferences*int(min(f.Size, 1<<26)))
}

// Texts are the strings in Value, by key; nil if Value is no map.
func (f *File) Texts() map[string]string {
	d, ok := f.Value.(*Dict)
	if !ok {
		return nil
	}
	texts := map[string]string{}
	for k, v := range d.All() {
		key, isKey := k.(string)
		if text, isText := v.(string); isKey && isText {
			texts[key] = text
		}
	}
	return texts
}

// Find is the tensor of a name, nil if there is none.
func (f *File) Find(name string) *Tensor { return f.named[name] }

// Retain adds a reference: one more Close is needed before the memory of the file is released.
func (f *File) Retain() { f.refs.Add(1) }

// Close releases the memory of the file unless references remain; its tensors must not be used afterwards.
func (f *File) Close() {
	if f.refs.Add(-1) != 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.memory {
		unmap(m)
	}
	f.memory, f.copies, f.spare = nil, nil, nil
}

// add appends a tensor.
func (f *File) add(t *Tensor) error {
	if f.named == nil {
		f.named = map[string]*Tensor{}
	}
	if f.named[t.Name] != nil {
		return fmt.Errorf("tensor %s occurs twice", quote(t.Name))
	}
	f.named[t.Name] = t
	f.Tensors = append(f.Tensors, t)
	return nil
}

// Open maps a file. A folder, or the index of shards (model.safetensors.index.json), gives the tensors of all shards.
func Open(path string, format Format) (*File, error) {
	f := &File{Path: path, Format: format}
	f.Retain()
	if err := f.open(path); err != nil {
		f.Close()
		if p := (*fs.PathError)(nil); errors.As(err, &p) && p.Path == path {
			err = p.Err
		}
		return nil, fmt.Errorf("files.Open: path: %s: %w", path, err)
	}
	return f, nil
}

func (f *File) open(path string) error {
	if !f.Format.Known() {
		return fmt.Errorf("format %d, expected one of %v", f.Format, formatNames)
	}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if f.Format <= Safetensors && (info.IsDir() || isIndex(path)) {
		return f.openShards(path, info.IsDir())
	}
	data, err := f.load(path)
	if err != nil {
		return err
	}
	return f.parse(data)
}

// isIndex reports whether a file name is that of an index of shards.
func isIndex(path string) bool { return filepath.Ext(path) == ".json" }

// load maps one file until f is closed.
func (f *File) load(path string) ([]byte, error) {
	data, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	f.memory = append(f.memory, data)
	f.Size += int64(len(data))
	return data, nil
}

// Read reads a file in memory, which must not change until Close; with owned, it is copied. The cause that errors.Unwrap gives
// does not name this function.
func Read(data []byte, format Format, owned bool) (*File, error) {
	f := &File{Format: format, Size: int64(len(data))}
	f.Retain()
	err := f.read(data, owned)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("files.Read: data: %w", err)
	}
	return f, nil
}

func (f *File) read(data []byte, owned bool) error {
	if !f.Format.Known() {
		return fmt.Errorf("format %d, expected one of %v", f.Format, formatNames)
	}
	if owned {
		mem, err := newMemory(len(data))
		if err != nil {
			return err
		}
		copy(mem, data)
		f.memory = append(f.memory, mem)
		data = mem
	}
	return f.parse(data)
}

func (f *File) parse(data []byte) error {
	if f.Format == Auto {
		if f.Format = formatOf(data); f.Format == Auto {
			return fmt.Errorf("%d bytes that begin with %s are no safetensors, GGUF or PyTorch file", len(data), quote(data[:min(len(data), 8)]))
		}
	}
	switch f.Format {
	case GGUF:
		return f.parseGGUF(data)
	case Torch:
		return f.parseTorch(data)
	case Raw:
		return f.add(&Tensor{Type: "U8", DType: uop.Uint8, Shape: []int64{int64(len(data))}, Data: data})
	}
	return f.parseSafetensors(data)
}

// formatOf detects the format by the first bytes; Auto if unknown.
func formatOf(data []byte) Format {
	switch {
	case bytes.HasPrefix(data, []byte(ggufMagic)):
		return GGUF
	case isTorch(data):
		return Torch
	case len(data) > safeLength && data[safeLength] == '{':
		return Safetensors
	}
	return Auto
}
