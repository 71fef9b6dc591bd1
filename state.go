package polygrad

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/model/files"
)

// State returns the tensors that an object holds, by name: in exported fields of structs, in slices, arrays, maps with string keys and
// behind pointers. The name of a field is that of its tag polygrad:"…", or the field's in snake_case; parts are joined by dots, so
// that the names are those of the same model in other languages: layers.0.weight.
func State(object any) map[string]*Tensor {
	found := map[string]*Tensor{}
	collect(reflect.ValueOf(object), "", found, map[uintptr]bool{})
	return found
}

func collect(v reflect.Value, name string, found map[string]*Tensor, onWay map[uintptr]bool) {
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
		if t, ok := v.Interface().(*Tensor); ok {
			found[name] = t
			return
		}
		if v.Kind() == reflect.Pointer {
			if onWay[v.Pointer()] {
				return
			}
			onWay[v.Pointer()] = true
			defer delete(onWay, v.Pointer())
		}
		collect(v.Elem(), name, found, onWay)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			part := f.Tag.Get("polygrad")
			if part == "" {
				part = snake(f.Name)
			}
			if f.Anonymous {
				collect(v.Field(i), name, found, onWay)
			} else {
				collect(v.Field(i), below(part), found, onWay)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			collect(v.Index(i), below(strconv.Itoa(i)), found, onWay)
		}
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			for k, item := range v.Seq2() {
				collect(item, below(k.String()), found, onWay)
			}
		}
	}
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

// Parameters returns the tensors of floating types that an object holds, in the order of their names, each once.
func Parameters(object any) []*Tensor {
	state := State(object)
	var out []*Tensor
	for _, name := range slices.Sorted(maps.Keys(state)) {
		t := state[name]
		if dt, err := t.DType().uop(); err == nil && dt.IsFloat() && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// LoadState writes tensors into those of the same names in an object, converted to their types. Every tensor of the object must be in
// state, with its shape; all is checked before the first is written.
func LoadState(object any, state map[string]*Tensor) error {
	own := State(object)
	names := slices.Sorted(maps.Keys(own))
	for _, name := range names {
		from, ok := state[name]
		if !ok {
			return fmt.Errorf("polygrad: LoadState: state has no %s", name)
		}
		if err := from.Err(); err != nil {
			return err
		}
		if have, want := from.Shape(), own[name].Shape(); !slices.Equal(have, want) {
			return fmt.Errorf("polygrad: LoadState: %s has shape %v, expected %v", name, have, want)
		}
	}
	for _, name := range names {
		if err := own[name].Assign(state[name].Cast(own[name].DType())).Err(); err != nil {
			return err
		}
	}
	return nil
}

// Save writes tensors to a file in the format safetensors, which is replaced as a whole. meta may be nil.
func Save(path string, tensors map[string]*Tensor, meta map[string]string) error {
	var list []*files.Tensor
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t := tensors[name]
		if err := t.Err(); err != nil {
			return err
		}
		f := &files.Tensor{Name: name}
		t.v.ctx.lock()
		node := t.v.node()
		f.DType = node.DType
		count, err := shapeNow(node.Shape())
		for _, n := range count {
			f.Shape = append(f.Shape, int64(n))
		}
		if err == nil {
			err = t.v.read(func(b []byte) { f.Data = slices.Clone(b) })
		}
		t.v.ctx.unlock()
		if err != nil {
			return fmt.Errorf("polygrad: Save: %s: %w", name, err)
		}
		for _, known := range files.SafeTypes {
			if known.DType == f.DType {
				f.Type = known.Name
			}
		}
		list = append(list, f)
	}
	if _, err := files.SaveSafetensors(path, list, meta, 0); err != nil {
		return fmt.Errorf("polygrad: Save: %w", err)
	}
	return nil
}

// Load reads the tensors of a file: safetensors (a file, or a folder of shards), GGUF, or PyTorch's .pth. Quantised tensors are decoded
// to float32.
func Load(path string) (map[string]*Tensor, error) { return Default().Load(path) }

// Load is Load in a context.
func (c *Context) Load(path string) (map[string]*Tensor, error) {
	f, err := files.Open(path, files.Auto)
	if err != nil {
		return nil, fmt.Errorf("polygrad: Load: %w", err)
	}
	defer f.Close()
	out := make(map[string]*Tensor, len(f.Tensors))
	for _, t := range f.Tensors {
		x, err := c.load(t)
		if err != nil {
			return nil, fmt.Errorf("polygrad: Load: %s: %w", t.Name, err)
		}
		out[t.Name] = x
	}
	return out, nil
}

// load copies a tensor of a file.
func (c *Context) load(t *files.Tensor) (*Tensor, error) {
	c.lock()
	defer c.unlock()
	s := uop.ShapeOf(t.Shape...)
	n, err := tensor.MostElements(s)
	if err != nil {
		return nil, err
	}
	m, err := allocate(sizeOf(n, t.DType))
	if err != nil {
		return nil, err
	}
	if t.Quant != nil {
		floats := make([]float32, n)
		if err = t.Floats(floats); err == nil {
			copy(m.bytes(), bytesOf(floats))
		}
	} else {
		copy(m.bytes(), t.Contiguous())
	}
	var v *value
	if err == nil {
		v, err = c.newLeaf(t.DType, s, m)
	}
	if err != nil {
		m.free()
		return nil, err
	}
	return c.hand(c.newVariable(v)), nil
}
