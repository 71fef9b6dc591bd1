package files

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"polygrad/core/uop"
)

// torchTensor is a tensor without its storage.
type torchTensor struct {
	tensor  *Tensor
	storage *torchStorage
	offset  int64
	done    bool
}

// torchReader reads one file of PyTorch.
type torchReader struct {
	f        *File
	data     []byte
	storages map[string]*torchStorage
	order    []*torchStorage
	// copied counts the bytes of non-contiguous tensors: their users copy them.
	copied int64
	// called counts the named tensors, named the bytes of all names.
	called map[string]int
	named  int64
	seen   map[any]Value
}

// magic is the integer 0x1950a86a20f9469cfc6c, pickled: the first bytes of files of PyTorch before 1.6.
const torchMagic = "\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."

const (
	zipMagic   = "PK\x03\x04"
	tarMagic   = "ustar"
	tarMagicAt = 257
)

// isTorch recognizes a file of PyTorch by its first bytes.
func isTorch(data []byte) bool {
	return bytes.HasPrefix(data, []byte(zipMagic)) || isLegacy(data) || isTar(data)
}

func isLegacy(data []byte) bool {
	return len(data) > 2 && data[0] == 0x80 && bytes.HasPrefix(data[2:], []byte(torchMagic))
}

func isTar(data []byte) bool {
	return len(data) > tarMagicAt && bytes.HasPrefix(data[tarMagicAt:], []byte(tarMagic))
}

// parseTorch reads a file of torch.save: since 1.6 a zip archive, before that pickles and storages in sequence, and in the
// beginning a tar archive.
func (f *File) parseTorch(data []byte) error {
	r := &torchReader{f: f, data: data, storages: map[string]*torchStorage{}, called: map[string]int{}, seen: map[any]Value{}}
	var v Value
	var err error
	switch {
	case isLegacy(data):
		v, err = r.legacy()
	case isTar(data):
		v, err = r.tar()
	default:
		v, err = r.zip()
	}
	if err != nil {
		return err
	}
	f.Value, err = r.clean(v, nil)
	return err
}

func (r *torchReader) pickle(data []byte) *pickle {
	return &pickle{data: data, global: torchGlobal, persistent: r.storage}
}

// storage resolves ("storage", type, key, location, elements), for a part followed by (key, offset, elements).
func (r *torchReader) storage(id Value) (Value, error) {
	l, ok := id.(*List)
	if !ok || len(l.Items) < 5 || l.Items[0] != "storage" {
		return nil, fmt.Errorf("%s is named as something outside of the pickle, expected a storage", kindOf(id))
	}
	t, isType := l.Items[1].(*storageType)
	key, isKey := l.Items[2].(string)
	n, isInt := l.Items[4].(int64)
	if !isType || !isKey || !isInt || n < 0 || n > maxElements/8 {
		return nil, fmt.Errorf("a storage is called %v with %v elements, expected a key and a size", l.Items[2], l.Items[4])
	}
	root, err := r.keyed(key, t.dtype, n)
	if err != nil || len(l.Items) < 6 || l.Items[5] == nil {
		return root, err
	}
	view, ok := ints3(l.Items[5])
	if !ok {
		return nil, fmt.Errorf("storage %s: a part is (key, offset, elements)", quote(key))
	}
	size := root.itemsize()
	if view[0] < 0 || view[1] < 0 || view[0] > n || view[1] > n-view[0] {
		return nil, fmt.Errorf("storage %s: elements %d to %d+%d of %d", quote(key), view[0], view[0], view[1], n)
	}
	return &torchStorage{key: key, dtype: t.dtype, size: view[1] * size, root: root, from: view[0] * size}, nil
}

// ints3 are the numbers of (key, offset, elements).
func ints3(v Value) (n [2]int64, ok bool) {
	l, ok := v.(*List)
	if !ok || len(l.Items) != 3 {
		return n, false
	}
	a, okA := l.Items[1].(int64)
	b, okB := l.Items[2].(int64)
	return [2]int64{a, b}, okA && okB
}

func (s *torchStorage) itemsize() int64 {
	if s.dtype == nil {
		return 1
	}
	return int64(s.dtype.Itemsize())
}

// keyed is the storage of a key, made on first use.
func (r *torchReader) keyed(key string, d *uop.DType, n int64) (*torchStorage, error) {
	s := &torchStorage{key: key, dtype: d}
	s.size = n * s.itemsize()
	first := r.storages[key]
	if first == nil {
		r.storages[key] = s
		r.order = append(r.order, s)
		return s, nil
	}
	if first.size != s.size {
		return nil, fmt.Errorf("storage %s has %d bytes, and %d elsewhere", quote(key), s.size, first.size)
	}
	if first.dtype == d {
		return first, nil
	}
	s.root = first // the same bytes as another type
	return s, nil
}

// bytes are the bytes of a storage.
func (s *torchStorage) bytes() ([]byte, error) {
	if s.root != nil {
		b, err := s.root.bytes()
		if err != nil {
			return nil, err
		}
		return b[s.from : s.from+s.size], nil
	}
	if !s.found {
		return nil, fmt.Errorf("storage %s is not in the file", quote(s.key))
	}
	return s.data, nil
}

// place sets the bytes of a storage.
func (s *torchStorage) place(data []byte) error {
	if int64(len(data)) < s.size {
		return fmt.Errorf("storage %s: %d bytes, expected %d", quote(s.key), len(data), s.size)
	}
	s.data, s.found = data[:s.size:s.size], true
	return nil
}

// finish sets the bytes of a tensor.
func (r *torchReader) finish(t *torchTensor) error {
	if t.done {
		return nil
	}
	t.done = true
	x := t.tensor
	data, err := t.storage.bytes()
	if err != nil {
		return err
	}
	size := int64(x.DType.Itemsize())
	n, err := numel(x.Shape)
	if err != nil {
		return err
	}
	have := int64(len(data)) / size
	last := t.offset
	for i, d := range x.Shape {
		s := x.Strides[i]
		if s < 0 || n > 0 && d > 1 && s > maxElements/(d-1)/maxDims {
			return fmt.Errorf("strides %v of shape %v", x.Strides, x.Shape)
		}
		if n > 0 {
			last += (d - 1) * s
		}
	}
	// An empty view may have any offset: torch keeps the offset of the slice.
	if t.offset < 0 || n > 0 && (last < t.offset || last >= have) {
		return fmt.Errorf("shape %v with strides %v from element %d reaches element %d, but storage %s has %d", x.Shape, x.Strides, t.offset, last, quote(t.storage.key), have)
	}
	if n == 0 {
		x.Data, x.Strides = []byte{}, nil
		return nil
	}
	x.Data = data[t.offset*size : (last+1)*size : (last+1)*size]
	if contiguous(x.Shape, x.Strides) {
		x.Strides = nil
		return nil
	}
	// A few bytes of a file can make a tensor that repeats elements of a storage, or one more that permutes all of it.
	const least, times = 16 << 20, 4
	most := least + times*r.f.Size
	if n > (most-r.copied)/size {
		return fmt.Errorf("shape %v with strides %v: it and the tensors before it that do not lie row by row would take more than %d bytes of memory", x.Shape, x.Strides, most)
	}
	r.copied += n * size
	return nil
}

// contiguous reports whether elements are in row-major order.
func contiguous(shape, strides []int64) bool {
	n := int64(1)
	for i, d := range slices.Backward(shape) {
		if d != 1 && strides[i] != n {
			return false
		}
		n *= d
	}
	return true
}

// clean replaces pickle objects by values, and names tensors by their path.
func (r *torchReader) clean(v Value, names []string) (Value, error) {
	if len(names) > maxDepth {
		return nil, fmt.Errorf("values stand more than %d deep in each other", maxDepth)
	}
	switch v := v.(type) {
	case *torchTensor:
		if !v.done {
			var err error
			if v.tensor.Name, err = r.name(names); err != nil {
				return nil, err
			}
			if err := r.finish(v); err != nil {
				return nil, fmt.Errorf("tensor %s: %w", quote(v.tensor.Name), err)
			}
			if err := r.f.add(v.tensor); err != nil {
				return nil, err
			}
		}
		return v.tensor, nil
	case *torchDType:
		return v.name, nil
	case *pending:
		if t, ok := v.value.(*torchTensor); ok {
			return r.clean(t, names)
		}
		return nil, fmt.Errorf("%s is an object of Python, expected numbers, texts, containers and tensors", quote(strings.Join(names, ".")))
	case *global, *storageType, *torchStorage:
		return nil, fmt.Errorf("%s is a class, a function or a storage, expected numbers, texts, containers and tensors", quote(strings.Join(names, ".")))
	case *List:
		if r.seen[v] != nil {
			return v, nil
		}
		r.seen[v] = v
		for i, item := range v.Items {
			c, err := r.clean(item, append(names, strconv.Itoa(i)))
			if err != nil {
				return nil, err
			}
			v.Items[i] = c
		}
	case *Dict:
		if r.seen[v] != nil {
			return v, nil
		}
		r.seen[v] = v
		for k, item := range v.All() {
			c, err := r.clean(item, append(names, fmt.Sprint(k)))
			if err != nil {
				return nil, err
			}
			v.Set(k, c)
		}
	}
	return v, nil
}

// name is a unique name for a tensor, made of the keys on its path.
func (r *torchReader) name(names []string) (string, error) {
	// A long key that many containers share makes many long names.
	const least, times = 1 << 20, 4
	for _, n := range names {
		r.named += int64(len(n)) + 1
	}
	if r.named > least+times*r.f.Size {
		return "", fmt.Errorf("the names of the tensors, made of the keys that lead to them, have more than %d bytes", least+times*r.f.Size)
	}
	name := strings.ReplaceAll(strings.Join(names, "."), "\x00", "\ufffd")
	unique := name
	for r.f.Find(unique) != nil {
		r.called[name]++
		unique = fmt.Sprintf("%s (%d)", name, r.called[name]+1)
	}
	return unique, nil
}

// legacy reads pickles in sequence: a magic number, a version, the machine, the value, the keys of the storages; then each
// storage, its number of elements first.
func (r *torchReader) legacy() (Value, error) {
	p := r.pickle(r.data)
	var parts [5]Value
	for i := range parts {
		v, err := p.load()
		if err != nil {
			return nil, fmt.Errorf("pickle %d of %d: %w", i, len(parts), err)
		}
		parts[i] = v
	}
	if info, ok := parts[2].(*Dict); ok {
		if little, _ := info.Get("little_endian"); little == false {
			return nil, errors.New("the file is of a big-endian machine")
		}
	}
	const version = 1001
	if parts[1] != int64(version) {
		return nil, fmt.Errorf("version %v, expected %d", parts[1], version)
	}
	keys, ok := parts[4].(*List)
	if !ok {
		return nil, fmt.Errorf("the keys of the storages are %s, expected a list", kindOf(parts[4]))
	}
	for _, key := range keys.Items {
		text, _ := key.(string)
		s := r.storages[text]
		if s == nil || s.found {
			return nil, fmt.Errorf("storage %s is not named, or twice", quote(text))
		}
		err := p.read(func() {
			if n := p.uint(8); n != uint64(s.size/s.itemsize()) {
				refuse(fmt.Errorf("%d elements, expected %d", n, s.size/s.itemsize()))
			}
			refuse(s.place(p.bytes(uint64(s.size))))
		})
		if err != nil {
			return nil, fmt.Errorf("storage %s: %w", quote(text), err)
		}
	}
	return parts[3], nil
}

// zip reads an archive with a pickle, data.pkl, and a file for each storage, data/KEY.
func (r *torchReader) zip() (Value, error) {
	a, err := openZip(r.data)
	if err != nil {
		return nil, err
	}
	const value = "data.pkl"
	base, found := "", false
	for name := range a.members {
		if path.Base(name) == value {
			if found {
				return nil, fmt.Errorf("there are several %s", value)
			}
			base, found = strings.TrimSuffix(name, value), true
		}
	}
	if !found {
		return nil, fmt.Errorf("the archive has no %s", value)
	}
	if a.members[base+"constants.pkl"] != nil {
		return nil, errors.New("a TorchScript archive is a program, expected a file of torch.save")
	}
	if order := a.members[base+"byteorder"]; order != nil {
		b, err := r.member(a, order)
		if err != nil {
			return nil, err
		}
		if string(b) != "little" {
			return nil, fmt.Errorf("byte order %s, expected little", quote(b))
		}
	}
	text, err := r.member(a, a.members[base+value])
	if err != nil {
		return nil, err
	}
	v, err := r.pickle(text).load()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", value, err)
	}
	for _, s := range r.order {
		m := a.members[base+"data/"+s.key]
		if m == nil {
			continue // an error if a tensor uses it
		}
		b, err := r.member(a, m)
		if err == nil {
			err = s.place(b)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// archive is a zip archive in memory.
type archive struct {
	data    []byte
	members map[string]*zip.File
}

func openZip(data []byte) (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("the archive: %w", err)
	}
	a := &archive{data, map[string]*zip.File{}}
	for _, m := range z.File {
		if a.members[m.Name] != nil {
			return nil, fmt.Errorf("the archive has %s twice", quote(m.Name))
		}
		a.members[m.Name] = m
	}
	return a, nil
}

// member is the contents of a member: the archive's own bytes unless compressed.
func (r *torchReader) member(a *archive, m *zip.File) ([]byte, error) {
	b, err := r.contents(a, m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote(m.Name), err)
	}
	return b, nil
}

func (r *torchReader) contents(a *archive, m *zip.File) ([]byte, error) {
	at, err := m.DataOffset()
	if err != nil {
		return nil, err
	}
	n, size := m.CompressedSize64, m.UncompressedSize64
	const encrypted = 1
	switch {
	case at < 0 || uint64(at) > uint64(len(a.data)) || n > uint64(len(a.data))-uint64(at):
		return nil, fmt.Errorf("%d bytes from byte %d of %d", n, at, len(a.data))
	case m.Flags&encrypted != 0:
		return nil, errors.New("is encrypted")
	case m.Method == zip.Store && n == size:
		return a.data[at : uint64(at)+n : uint64(at)+n], nil
	case m.Method != zip.Deflate:
		return nil, fmt.Errorf("%d bytes of %d with compression method %d, expected 0 or 8", n, size, m.Method)
	}
	const least, rate = 1 << 20, 64
	if size > least+rate*n || r.copied+int64(size) > least+rate*r.f.Size {
		return nil, fmt.Errorf("%d bytes would become %d, expected at most %d times as many", n, size, rate)
	}
	r.copied += int64(size)
	in, err := m.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	out, err := newMemory(int(size))
	if err != nil {
		return nil, err
	}
	r.f.memory = append(r.f.memory, out)
	if _, err := io.ReadFull(in, out); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(out) != m.CRC32 {
		return nil, zip.ErrChecksum
	}
	return out, nil
}

// tar reads an archive of three files: storages, tensors, and a pickle that refers to them.
func (r *torchReader) tar() (Value, error) {
	members, err := tarMembers(r.data)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"storages", "tensors", "pickle"} {
		if members[name] == nil {
			return nil, fmt.Errorf("the archive has no %s", name)
		}
	}
	storages, inTensors, p := r.pickle(members["storages"]), r.pickle(members["tensors"]), r.pickle(members["pickle"])
	if err := storages.read(func() { r.tarStorages(storages) }); err != nil {
		return nil, fmt.Errorf("storages: %w", err)
	}
	var tensors map[string]*torchTensor
	if err := inTensors.read(func() { tensors = r.tarTensors(inTensors) }); err != nil {
		return nil, fmt.Errorf("tensors: %w", err)
	}
	p.persistent = func(id Value) (Value, error) {
		if l, ok := id.(*List); ok && len(l.Items) > 0 {
			id = l.Items[0] // the source code of a class is ignored
		}
		t := tensors[fmt.Sprint(id)]
		if t == nil {
			return nil, fmt.Errorf("tensor %s is not in the file", quote(fmt.Sprint(id)))
		}
		return t, nil
	}
	v, err := p.load()
	if err != nil {
		return nil, fmt.Errorf("pickle: %w", err)
	}
	return v, nil
}

// tarMembers are the regular files of an archive.
func tarMembers(data []byte) (map[string][]byte, error) {
	in := bytes.NewReader(data)
	t := tar.NewReader(in)
	members := map[string][]byte{}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return members, nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return nil, fmt.Errorf("the archive: %w", err)
		}
		at := len(data) - in.Len()
		if h.Typeflag != tar.TypeReg {
			continue
		}
		switch {
		case members[h.Name] != nil:
			return nil, fmt.Errorf("the archive has %s twice", quote(h.Name))
		case h.Size < 0 || h.Size > int64(len(data)-at) || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "":
			return nil, fmt.Errorf("%s: %d bytes from byte %d of %d", quote(h.Name), h.Size, at, len(data))
		}
		members[h.Name] = data[at : at+int(h.Size) : at+int(h.Size)]
	}
}

// tarStorages reads a number of storages: for each a pickle of its key, place and class, its number of elements, and the
// elements; then a pickle of the storages that are parts of others.
func (r *torchReader) tarStorages(p *pickle) {
	for range p.count() {
		v := must(p.load())
		l, ok := v.(*List)
		if !ok || len(l.Items) != 3 {
			refuse(fmt.Errorf("a storage is described by %s, expected a key, a place and a class", kindOf(v)))
		}
		key := fmt.Sprint(l.Items[0])
		t, ok := l.Items[2].(*storageType)
		if !ok || t.dtype == nil || r.storages[key] != nil {
			refuse(fmt.Errorf("storage %s is of %s, or occurs twice", quote(key), kindOf(l.Items[2])))
		}
		count := p.uint(8)
		if left := uint64(len(p.data) - p.pos); count > left/uint64(t.dtype.Itemsize()) {
			refuse(fmt.Errorf("storage %s: %d elements, but %d bytes follow", quote(key), count, left))
		}
		s := must(r.keyed(key, t.dtype, int64(count)))
		refuse(s.place(p.bytes(uint64(s.size))))
	}
	r.tarParts(p)
}

// tarParts reads the storages that are parts of others: (key, parent key, offset, elements).
func (r *torchReader) tarParts(p *pickle) {
	v := must(p.load())
	l, ok := v.(*List)
	if !ok {
		refuse(fmt.Errorf("the parts of storages are %s, expected a list", kindOf(v)))
	}
	for _, item := range l.Items {
		part, ok := item.(*List)
		if !ok || len(part.Items) != 4 {
			refuse(fmt.Errorf("a part of a storage is %s, expected a key, a key, an offset and a size", kindOf(item)))
		}
		root := r.storages[fmt.Sprint(part.Items[1])]
		from, okFrom := part.Items[2].(int64)
		n, okN := part.Items[3].(int64)
		if root == nil || !okFrom || !okN || from < 0 || n < 0 || from > root.size/root.itemsize() || n > root.size/root.itemsize()-from {
			refuse(fmt.Errorf("a part of storage %s: elements %v to %v", quote(fmt.Sprint(part.Items[1])), part.Items[2], part.Items[3]))
		}
		// Its bytes are resolved at once: a chain of parts of parts can be as long as the file.
		data := must(root.bytes())
		size := root.itemsize()
		key := fmt.Sprint(part.Items[0])
		r.storages[key] = &torchStorage{key: key, dtype: root.dtype, size: n * size, data: data[from*size : (from+n)*size], found: true}
	}
}

// tarTensors reads a number of tensors: for each a pickle of its key, its storage and its class, then the number of axes in 8
// bytes, sizes, strides and offset.
func (r *torchReader) tarTensors(p *pickle) map[string]*torchTensor {
	found := map[string]*torchTensor{}
	for range p.count() {
		v := must(p.load())
		l, ok := v.(*List)
		if !ok || len(l.Items) != 3 {
			refuse(fmt.Errorf("a tensor is described by %s, expected a key, a storage and a class", kindOf(v)))
		}
		key := fmt.Sprint(l.Items[0])
		s := r.storages[fmt.Sprint(l.Items[1])]
		if s == nil || found[key] != nil {
			refuse(fmt.Errorf("tensor %s: storage %s is not in the file, or the tensor occurs twice", quote(key), quote(fmt.Sprint(l.Items[1]))))
		}
		numbers := p.axes()
		d := len(numbers) / 2
		found[key] = &torchTensor{storage: s, offset: numbers[2*d], tensor: &Tensor{
			DType: s.dtype, Type: torchName(s.dtype), Shape: numbers[:d:d], Strides: numbers[d : 2*d : 2*d]}}
	}
	return found
}

// count reads a count from a pickle and checks it against the bytes left.
func (p *pickle) count() int64 {
	v := must(p.load())
	n, ok := v.(int64)
	if !ok || n < 0 || n > int64(len(p.data)-p.pos) {
		refuse(fmt.Errorf("%v parts in %d bytes", v, len(p.data)-p.pos))
	}
	return n
}

// axes reads the number of axes, sizes, strides and an offset.
func (p *pickle) axes() []int64 {
	const pad = 4
	d := p.uint(4)
	p.bytes(pad)
	if d > maxDims {
		refuse(fmt.Errorf("%d dimensions, expected at most %d", d, maxDims))
	}
	out := make([]int64, 2*d+1)
	for i := range out {
		out[i] = int64(p.uint(8))
	}
	return out
}
