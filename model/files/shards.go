package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// The names of model files in a folder.
const (
	singleName = "model.safetensors"
	indexName  = singleName + ".index.json"
	safeExt    = ".safetensors"
)

// maxIndex bounds the index of shards, a list of names.
const maxIndex = maxSafeHeader

// openShards opens all files of a folder, or those in an index.
func (f *File) openShards(path string, folder bool) error {
	f.Format = Safetensors
	if !folder {
		return f.openIndex(path)
	}
	if index := filepath.Join(path, indexName); exists(index) {
		return f.openIndex(index)
	}
	names := []string{singleName}
	if !exists(filepath.Join(path, singleName)) {
		found, err := filepath.Glob(filepath.Join(globQuoted(path), "*"+safeExt))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("the folder holds no %s file", safeExt)
		}
		for i := range found {
			found[i] = filepath.Base(found[i])
		}
		names = found
	}
	for _, name := range names {
		if err := f.openShard(filepath.Join(path, name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// globQuoted is a path with pattern characters escaped.
func globQuoted(path string) string {
	var out []byte
	for i := range len(path) {
		if c := path[i]; c == '*' || c == '?' || c == '[' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, path[i])
	}
	return string(out)
}

func (f *File) openShard(path string) error {
	data, err := f.load(path)
	if err != nil {
		return err
	}
	before := len(f.Tensors)
	err = f.parseSafetensors(data)
	for _, t := range f.Tensors[before:] {
		t.Shard = filepath.Base(path)
	}
	return err
}

// openIndex opens the files in an index. Each tensor must be in the file of its index entry; other tensors are ignored.
func (f *File) openIndex(path string) error {
	index, err := readIndex(path)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	shards := map[string]*File{}
	for _, name := range index.files() {
		s := &File{}
		err := s.openShard(filepath.Join(folder, name))
		f.memory = append(f.memory, s.memory...)
		f.Size += s.Size
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		shards[name] = s
	}
	f.Value = index.meta
	for _, e := range index.list {
		t := shards[e.file].Find(e.tensor)
		if t == nil {
			return fmt.Errorf("tensor %s: is not in %s, where the index says", quote(e.tensor), e.file)
		}
		if err := f.add(t); err != nil {
			return err
		}
	}
	return nil
}

// shardIndex maps tensors to files.
type shardIndex struct {
	meta Value
	list []struct{ tensor, file string }
}

// files are the files in the order of their first entry.
func (x *shardIndex) files() []string {
	var names []string
	seen := map[string]bool{}
	for _, e := range x.list {
		if !seen[e.file] {
			seen[e.file] = true
			names = append(names, e.file)
		}
	}
	return names
}

func readIndex(path string) (*shardIndex, error) {
	text, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	defer unmap(text)
	if len(text) > maxIndex {
		return nil, fmt.Errorf("the index has %d bytes, expected at most %d", len(text), maxIndex)
	}
	x := &shardIndex{}
	found := false
	s := jsonScanner{text: text}
	err = s.object(func(key string) (err error) {
		switch key {
		case "weight_map":
			found = true
			return s.object(func(tensor string) error {
				file, err := s.string()
				if err == nil && !isPlain(file) {
					err = fmt.Errorf("tensor %s: is in %s, expected the name of a file beside the index", quote(tensor), quote(file))
				}
				x.list = append(x.list, struct{ tensor, file string }{tensor, file})
				return err
			})
		case "metadata":
			x.meta, err = s.value()
		default:
			_, err = s.value()
		}
		return err
	})
	if err == nil {
		err = s.end()
	}
	if err == nil && !found {
		err = fmt.Errorf("there is no weight_map")
	}
	if err != nil {
		return nil, fmt.Errorf("the index: %w", err)
	}
	return x, nil
}

// isPlain reports whether a name is a file name without a path.
func isPlain(name string) bool {
	return name != "" && name != "." && name != ".." && filepath.Base(name) == name && !slices.Contains([]byte(name), 0)
}
