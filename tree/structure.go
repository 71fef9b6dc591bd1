package tree

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"polygrad"
)

var tensorType = reflect.TypeFor[*polygrad.Tensor]()

// A structure describes a tree without its tensors, so that trees like it can be built.
type structure struct {
	kind     kind
	typ      reflect.Type
	base     reflect.Value // the static value; of a struct with its tensors left out
	keys     []reflect.Value
	fields   []int
	names    []string // of the children
	children []*structure
}

type kind int

const (
	leaf    kind = iota
	static       // and nil tensors
	pointer      // and interfaces, with one child
	fields
	list
	dict
)

// A flattening collects the tensors of a tree in the order of fields and elements; keys of maps are sorted.
type flattening struct {
	tensors []*polygrad.Tensor
	names   []string
	inside  map[uintptr]bool // pointers on the path to the value, to detect cycles
}

func (f *flattening) walk(v reflect.Value, name string) (*structure, error) {
	s := &structure{kind: static, typ: v.Type(), base: v}
	child := func(v reflect.Value, part string) error {
		c, err := f.walk(v, name+part)
		s.names, s.children = append(s.names, part), append(s.children, c)
		return err
	}
	switch {
	case v.Type() == tensorType:
		if v.IsNil() {
			return s, nil
		}
		s.kind, s.base = leaf, reflect.Value{}
		f.tensors, f.names = append(f.tensors, v.Interface().(*polygrad.Tensor)), append(f.names, name)
		return s, nil
	case !holdsTensors(v.Type(), nil):
		return s, nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return s, nil
		}
		s.kind = pointer
		if v.Kind() == reflect.Pointer {
			if f.inside[v.Pointer()] {
				return nil, fmt.Errorf("%s: is a pointer to what it is in, expected a tree", name)
			}
			f.inside[v.Pointer()] = true
			defer delete(f.inside, v.Pointer())
		}
		return s, child(v.Elem(), "")
	case reflect.Struct:
		s.kind, s.base = fields, reflect.New(s.typ).Elem()
		s.base.Set(v)
		for i := range v.NumField() {
			field := s.typ.Field(i)
			embedded := field.Anonymous && field.Type.Kind() == reflect.Struct
			switch {
			case !holdsTensors(field.Type, nil):
				continue
			case !field.IsExported() && !embedded:
				if within(v.Field(i)) {
					return nil, fmt.Errorf("%s.%s: holds tensors and is not exported", name, field.Name)
				}
				continue
			}
			part := "." + field.Name
			if field.Anonymous {
				part = ""
			}
			s.fields = append(s.fields, i)
			if err := child(v.Field(i), part); err != nil {
				return nil, err
			}
			if field.IsExported() {
				s.base.Field(i).SetZero()
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return s, nil
		}
		s.kind = list
		for i := range v.Len() {
			if err := child(v.Index(i), fmt.Sprintf("[%d]", i)); err != nil {
				return nil, err
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return s, nil
		}
		if v.Type().Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%s: is a %s, expected string keys for a map of trees", name, v.Type())
		}
		s.kind, s.keys = dict, v.MapKeys()
		slices.SortFunc(s.keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range s.keys {
			if err := child(v.MapIndex(k), fmt.Sprintf("[%q]", k.String())); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// holdsTensors reports whether values of a type may have tensors in them.
func holdsTensors(t reflect.Type, above []reflect.Type) bool {
	if t == tensorType || t.Kind() == reflect.Interface {
		return true
	}
	if slices.Contains(above, t) {
		return false
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsTensors(t.Elem(), above)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsTensors(t.Field(i).Type, above) {
				return true
			}
		}
	}
	return false
}

// within reports whether there is a tensor in a value that is not exported. It does not follow pointers: what is behind them is the value's own.
func within(v reflect.Value) bool {
	switch {
	case v.Type() == tensorType:
		return !v.IsNil()
	case v.Kind() == reflect.Interface:
		return !v.IsNil() && within(v.Elem())
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		for i := range v.Len() {
			if within(v.Index(i)) {
				return true
			}
		}
	case v.Kind() == reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if within(it.Value()) {
				return true
			}
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if within(v.Field(i)) {
				return true
			}
		}
	}
	return false
}

// size is the number of tensors.
func (s *structure) size() (n int) {
	if s.kind == leaf {
		return 1
	}
	for _, c := range s.children {
		n += c.size()
	}
	return n
}

// build makes a tree with the next tensors.
func (s *structure) build(next func() *polygrad.Tensor) reflect.Value {
	v := reflect.New(s.typ).Elem()
	s.fill(v, next)
	return v
}

func (s *structure) fill(v reflect.Value, next func() *polygrad.Tensor) {
	switch s.kind {
	case leaf:
		v.Set(reflect.ValueOf(next()))
	case static:
		v.Set(s.base)
	case pointer:
		inner := s.children[0].build(next)
		if s.typ.Kind() == reflect.Interface {
			v.Set(inner)
			return
		}
		v.Set(reflect.New(s.typ.Elem()))
		v.Elem().Set(inner)
	case fields:
		v.Set(s.base)
		for k, i := range s.fields {
			s.children[k].fill(v.Field(i), next)
		}
	case list:
		if s.typ.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(s.typ, len(s.children), len(s.children)))
		}
		for i, c := range s.children {
			c.fill(v.Index(i), next)
		}
	case dict:
		v.Set(reflect.MakeMapWithSize(s.typ, len(s.keys)))
		for i, c := range s.children {
			v.SetMapIndex(s.keys[i], c.build(next))
		}
	}
}

// spread appends an axis for each tensor. prefix is an int for all tensors, nil for 0, or a struct, map or slice with prefixes for the parts.
func (s *structure) spread(prefix any, name string, axes []int) ([]int, error) {
	switch p := prefix.(type) {
	case nil:
		return append(axes, slices.Repeat([]int{0}, s.size())...), nil
	case int:
		return append(axes, slices.Repeat([]int{p}, s.size())...), nil
	}
	v := reflect.ValueOf(prefix)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	parts := s
	for parts.kind == pointer {
		parts = parts.children[0]
	}
	var err error
	for i, c := range parts.children {
		if c.size() == 0 {
			continue
		}
		part := v
		switch plain := strings.Trim(parts.names[i], `.["]`); {
		case plain == "": // an embedded struct
		case v.Kind() == reflect.Struct:
			part = v.FieldByName(plain)
		case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
			part = v.MapIndex(reflect.ValueOf(plain).Convert(v.Type().Key()))
		case v.Kind() == reflect.Slice && parts.kind == list && v.Len() == len(parts.children):
			part = v.Index(i)
		default:
			part = reflect.Value{}
		}
		if !part.IsValid() || !part.CanInterface() {
			return nil, fmt.Errorf("%s: %v, expected an axis for %s", name, prefix, name+parts.names[i])
		}
		if axes, err = c.spread(part.Interface(), name+parts.names[i], axes); err != nil {
			return nil, err
		}
	}
	if len(parts.children) == 0 && parts.kind == leaf {
		return nil, fmt.Errorf("%s: %v, expected an int, or Unmapped", name, prefix)
	}
	return axes, nil
}

// staticText writes the static values of a tree, and the places of its tensors.
func staticText(b *strings.Builder, v reflect.Value, name string, inside map[uintptr]bool) error {
	fmt.Fprintf(b, "%s:", v.Type())
	each := func(v reflect.Value, part string) error {
		b.WriteString(part + " ")
		return staticText(b, v, name+part, inside)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return nil
		}
		if v.Type() == tensorType {
			b.WriteString("*")
			return nil
		}
		if v.Kind() == reflect.Pointer {
			if inside[v.Pointer()] {
				return fmt.Errorf("%s: is a pointer to what it is in, expected a tree", name)
			}
			inside[v.Pointer()] = true
			defer delete(inside, v.Pointer())
		}
		return each(v.Elem(), "")
	case reflect.Struct:
		for i := range v.NumField() {
			if err := each(v.Field(i), "."+v.Type().Field(i).Name); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprint(b, v.Len())
		for i := range v.Len() {
			if err := each(v.Index(i), fmt.Sprintf("[%d]", i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, k := range keys {
			if err := each(v.MapIndex(k), fmt.Sprintf("[%q]", fmt.Sprint(k))); err != nil {
				return err
			}
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if !v.IsNil() {
			return fmt.Errorf("%s: is a %s, whose value cannot be compared: let the function read it from outside", name, v.Type())
		}
	default:
		fmt.Fprintf(b, "%#v", v)
	}
	b.WriteString(";")
	return nil
}
