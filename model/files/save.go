package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// EncodeSafetensors is a safetensors file in memory: tensors sorted by name, a compact header padded with blanks to a multiple
// of 4. meta may be nil.
func EncodeSafetensors(tensors []*Tensor, meta map[string]string) ([]byte, error) {
	sorted := slices.Clone(tensors)
	slices.SortFunc(sorted, func(a, b *Tensor) int { return strings.Compare(a.Name, b.Name) })
	const pad = 4
	header, err := safeHeader(sorted, sorted, meta, pad)
	if err != nil {
		return nil, fmt.Errorf("files.EncodeSafetensors: tensors: %w", err)
	}
	size := len(header)
	for _, t := range sorted {
		size += len(t.Data)
	}
	out := append(make([]byte, 0, size), header...)
	for _, t := range sorted {
		out = append(out, t.Data...)
	}
	return out, nil
}

// safeHeader is everything before the data. The order of the list may differ from the order of the data.
func safeHeader(listed, lie []*Tensor, meta map[string]string, pad int) ([]byte, error) {
	end := map[string]int64{}
	total := int64(0)
	for _, t := range lie {
		n, err := numel(t.Shape)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", quote(t.Name), err)
		case safeName(t.DType) == "" || t.Quant != nil || t.Strides != nil || n*int64(t.DType.Itemsize()) != int64(len(t.Data)):
			return nil, fmt.Errorf("%s: %d bytes do not hold %s of shape %v", quote(t.Name), len(t.Data), t.DType, t.Shape)
		case t.Name == safeMetadata || strings.ContainsRune(t.Name, 0):
			return nil, fmt.Errorf("%s: a tensor cannot have this name", quote(t.Name))
		}
		if _, twice := end[t.Name]; twice {
			return nil, fmt.Errorf("the name %s occurs twice", quote(t.Name))
		}
		total += int64(len(t.Data))
		end[t.Name] = total
	}
	w := jsonWriter{out: make([]byte, safeLength), limit: maxSafeHeader}
	w.text("{")
	if meta != nil {
		d := NewDict()
		for _, k := range slices.Sorted(maps.Keys(meta)) {
			d.Set(k, meta[k])
		}
		w.text(`"` + safeMetadata + `":{`)
		if err := w.texts(d); err != nil {
			return nil, err
		}
		w.text("}")
	}
	for i, t := range listed {
		if i > 0 || meta != nil {
			w.text(",")
		}
		if err := w.string(t.Name); err != nil {
			return nil, err
		}
		shape := strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ",")
		w.text(fmt.Sprintf(`:{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`,
			safeName(t.DType), shape, end[t.Name]-int64(len(t.Data)), end[t.Name]))
	}
	w.text("}")
	for (len(w.out)-safeLength)%pad != 0 {
		w.text(" ")
	}
	if n := len(w.out) - safeLength; n > maxSafeHeader {
		return nil, fmt.Errorf("the header has %d bytes, expected at most %d", n, maxSafeHeader)
	}
	le.PutUint64(w.out, uint64(len(w.out)-safeLength))
	return w.out, nil
}

// texts writes the members of an object of strings.
func (w *jsonWriter) texts(d *Dict) error {
	comma := ""
	for k, v := range d.All() {
		w.text(comma)
		comma = ","
		for i, text := range []Value{k, v} {
			if i > 0 {
				w.text(":")
			}
			if err := w.string(text.(string)); err != nil {
				return err
			}
		}
	}
	return nil
}

// SaveSafetensors writes tensors to a file; meta may be nil. The header lists them in the given order; the data begins with the
// widest types, so all are aligned. Tensors of more than maxBytes together (0: no limit) are written to shards,
// model-00001-of-00003.safetensors for model.safetensors, with an index, model.safetensors.index.json. Each file is replaced
// atomically, and open files of that name keep their contents. It returns the paths.
func SaveSafetensors(path string, tensors []*Tensor, meta map[string]string, maxBytes int64) ([]string, error) {
	paths, err := saveSafetensors(path, tensors, meta, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("files.SaveSafetensors: path: %s: %w", path, err)
	}
	return paths, nil
}

func saveSafetensors(path string, tensors []*Tensor, meta map[string]string, maxBytes int64) ([]string, error) {
	if maxBytes < 0 {
		return nil, fmt.Errorf("shards of %d bytes, expected 0 or more", maxBytes)
	}
	shards := split(tensors, maxBytes)
	if len(shards) <= 1 {
		return []string{path}, saveOne(path, tensors, meta)
	}
	if _, err := safeHeader(tensors, tensors, nil, 1); err != nil { // duplicate names, in any shards
		return nil, err
	}
	const most = 99999
	stem := strings.TrimSuffix(path, safeExt)
	if len(shards) > most || stem == path {
		return nil, fmt.Errorf("%d shards, expected at most %d and a name that ends with %s", len(shards), most, safeExt)
	}
	var paths []string
	total := int64(0)
	places := NewDict()
	for i, shard := range shards {
		name := fmt.Sprintf("%s-%05d-of-%05d%s", stem, i+1, len(shards), safeExt)
		if err := saveOne(name, shard, meta); err != nil {
			return nil, err
		}
		paths = append(paths, name)
		for _, t := range shard {
			places.Set(t.Name, filepath.Base(name))
			total += int64(len(t.Data))
		}
	}
	w := jsonWriter{limit: maxIndex}
	w.text(fmt.Sprintf(`{"metadata":{"total_size":%d},"weight_map":{`, total))
	if err := w.texts(places); err != nil {
		return nil, err
	}
	w.text("}}\n")
	index := path + ".index.json"
	return append(paths, index), writeFile(index, func(out io.Writer) error {
		_, err := out.Write(w.out)
		return err
	})
}

// split cuts a list into parts of at most limit bytes, or of one tensor.
func split(tensors []*Tensor, limit int64) (parts [][]*Tensor) {
	if limit == 0 {
		return [][]*Tensor{tensors}
	}
	size := int64(0)
	for i, t := range tensors {
		n := int64(len(t.Data))
		if i == 0 || size+n > limit {
			parts = append(parts, nil)
			size = 0
		}
		size += n
		parts[len(parts)-1] = append(parts[len(parts)-1], t)
	}
	return parts
}

func saveOne(path string, tensors []*Tensor, meta map[string]string) error {
	lie := slices.Clone(tensors)
	for _, t := range lie {
		if t.DType == nil {
			return fmt.Errorf("%s: the tensor has no type", quote(t.Name))
		}
	}
	slices.SortStableFunc(lie, func(a, b *Tensor) int { return b.DType.Itemsize() - a.DType.Itemsize() })
	const pad = 8
	header, err := safeHeader(tensors, lie, meta, pad)
	if err != nil {
		return err
	}
	return writeFile(path, func(out io.Writer) error {
		if _, err := out.Write(header); err != nil {
			return err
		}
		for _, t := range lie {
			if _, err := out.Write(t.Data); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeFile writes to a temporary name and renames the file.
func writeFile(path string, write func(out io.Writer) error) (err error) {
	const mode = 0o666
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		if p := (*fs.PathError)(nil); errors.As(err, &p) {
			err = p.Err // without the temporary name
		}
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	const room = 1 << 16
	b := bufio.NewWriterSize(temp, room)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = temp.Chmod(mode &^ umask())
	}
	if e := temp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// umask is the file mode mask of the process. Reading it by setting it would race with other threads.
func umask() os.FileMode {
	text, err := os.ReadFile("/proc/self/status")
	if err == nil {
		var mode uint32
		if _, rest, ok := bytes.Cut(text, []byte("\nUmask:")); ok {
			if n, _ := fmt.Sscanf(string(rest), "%o", &mode); n == 1 {
				return os.FileMode(mode)
			}
		}
	}
	const usual = 0o022
	return usual
}
