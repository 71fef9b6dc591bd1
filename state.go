package polygrad

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"polygrad/core/uop"
	"polygrad/model/files"
	"polygrad/variable"
)

// State returns the tensors of an object by name. It looks in exported fields of structs and of embedded structs, in slices, arrays and
// maps with string keys, and behind pointers. The name of a field is its tag polygrad:"…", or its name in snake_case; parts are joined by
// dots, so a model has the same names in all languages: layers.0.weight.
func State(object any) map[string]*Tensor {
	found := map[string]*Tensor{}
	collect(reflect.ValueOf(object), "", func(name string, t *Tensor) { found[name] = t }, map[uintptr]bool{})
	return found
}

// collect calls found with the tensors of an object in the order of fields and elements; keys of maps are sorted.
func collect(v reflect.Value, name string, found func(name string, t *Tensor), visiting map[uintptr]bool) {
	below := func(part string) string {
		if name == "" {
			return part
		}
		return name + "." + part
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.CanInterface() {
			if t, ok := v.Interface().(*Tensor); ok {
				found(name, t)
				return
			}
		}
		if v.Kind() == reflect.Pointer {
			if visiting[v.Pointer()] {
				return
			}
			visiting[v.Pointer()] = true
			defer delete(visiting, v.Pointer())
		}
		collect(v.Elem(), name, found, visiting)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				if f.Anonymous && isStruct(f.Type) { // its exported fields are the object's
					collect(v.Field(i), name, found, visiting)
				}
				continue
			}
			part := f.Tag.Get("polygrad")
			if part == "" {
				part = snake(f.Name)
			}
			if f.Anonymous {
				collect(v.Field(i), name, found, visiting)
			} else {
				collect(v.Field(i), below(part), found, visiting)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			collect(v.Index(i), below(strconv.Itoa(i)), found, visiting)
		}
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			keys := v.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
			for _, k := range keys {
				collect(v.MapIndex(k), below(k.String()), found, visiting)
			}
		}
	}
}

// isStruct reports whether a type is a struct or a pointer to one.
func isStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// snake is a Go name in snake_case: HiddenSize is hidden_size, LR is lr.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if unicode.IsUpper(r) {
			begins := i > 0 && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
			if begins {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Parameters returns the tensors of floating types in the State of an object, each once, in the order of the fields and elements that hold
// them; keys of maps are sorted. It includes tensors with errors, so that what uses them, such as an optimizer, returns the error.
func Parameters(object any) []*Tensor {
	var out []*Tensor
	collect(reflect.ValueOf(object), "", func(_ string, t *Tensor) {
		dt, err := t.DType().uop()
		if (t.Err() != nil || err == nil && dt.IsFloat()) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}, map[uintptr]bool{})
	return out
}

// LoadState writes tensors into those of the same names in an object, converted to their types. Every tensor of the object must be in
// state, with its shape and of its context; all is checked before the first is written.
func LoadState(object any, state map[string]*Tensor) error {
	own := State(object)
	names := slices.Sorted(maps.Keys(own))
	casts := make([]*Tensor, len(names))
	for i, name := range names {
		from, ok := state[name]
		if !ok {
			return fmt.Errorf("polygrad: LoadState: state has no %s", name)
		}
		to := own[name]
		for _, t := range []*Tensor{from, to} {
			if err := t.Err(); err != nil {
				return fmt.Errorf("polygrad: LoadState: %s: %w", name, err)
			}
		}
		if from.c != to.c {
			return fmt.Errorf("polygrad: LoadState: %s %w", name, variable.ErrOtherContext)
		}
		if have, want := from.Shape(), to.Shape(); !slices.Equal(have, want) {
			return fmt.Errorf("polygrad: LoadState: %s has shape %v, expected %v", name, have, want)
		}
		if casts[i] = from.Cast(to.DType()); casts[i].Err() != nil {
			return fmt.Errorf("polygrad: LoadState: %s: %w", name, casts[i].Err())
		}
	}
	for i, name := range names {
		if err := own[name].Assign(casts[i]).Err(); err != nil {
			return err
		}
	}
	return nil
}

// Save computes tensors and writes them, with metadata (which may be nil), to a safetensors file. An existing file is replaced as a whole.
func Save(path string, tensors map[string]*Tensor, meta map[string]string) error {
	var list []*files.Tensor
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		if err := t.Err(); err != nil {
			return err
		}
		f := &files.Tensor{Name: name}
		t.c.lock()
		node := t.v.Node()
		f.DType = node.DType
		count, err := variable.BoundShape(node.Shape())
		for _, n := range count {
			f.Shape = append(f.Shape, int64(n))
		}
		if err == nil {
			err = t.v.Read(func(b []byte) { f.Data = slices.Clone(b) })
		}
		t.c.unlock()
		if err != nil {
			return wrapError("Save", fmt.Errorf("%s: %w", name, err))
		}
		for _, known := range files.SafeTypes {
			if known.DType == f.DType {
				f.Type = known.Name
			}
		}
		list = append(list, f)
	}
	_, err := files.SaveSafetensors(path, list, meta, 0)
	return wrapError("Save", err)
}

// Load reads the tensors of a file by name: safetensors (a file, or a folder of shards), GGUF, or PyTorch's .pth. Quantised tensors become
// Float32. A damaged file is an error.
func Load(path string) (map[string]*Tensor, error) { return Default().Load(path) }

// Load is the function Load in the context.
func (c *Context) Load(path string) (map[string]*Tensor, error) {
	f, err := files.Open(path, files.Auto)
	if err != nil {
		return nil, wrapError("Load", err)
	}
	defer f.Close()
	out := make(map[string]*Tensor, len(f.Tensors))
	for _, t := range f.Tensors {
		x, err := c.load(t)
		if err != nil {
			return nil, wrapError("Load", fmt.Errorf("%s: %w", t.Name, err))
		}
		out[t.Name] = x
	}
	return out, nil
}

// load copies a tensor of a file.
func (c *Context) load(t *files.Tensor) (*Tensor, error) {
	c.lock()
	defer c.unlock()
	v, err := c.vars.Fill(t.DType, uop.ShapeOf(t.Shape...), func(b []byte) error {
		if t.Quant == nil {
			copy(b, t.Contiguous())
			return nil
		}
		floats := make([]float32, len(b)/4)
		err := t.Floats(floats)
		copy(b, bytesOf(floats))
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.tensor(v), nil
}
