package tree

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"polygrad"
)

// trees are several trees, flattened to one list of tensors.
type trees struct {
	structures []*structure
	sizes      []int
	tensors    []*polygrad.Tensor
	names      []string // of the tensors
}

// A named is a tree with the name of an argument.
type named struct {
	name string
	v    reflect.Value
}

// of is a tree with its name. A nil interface is a tree, too.
func of[T any](name string, tree *T) named { return named{name, reflect.ValueOf(tree).Elem()} }

func flatten(parts ...named) (*trees, error) {
	f := flattening{inside: map[uintptr]bool{}}
	t := &trees{}
	for _, p := range parts {
		before := len(f.tensors)
		s, err := f.walk(p.v, p.name)
		if err != nil {
			return nil, err
		}
		t.structures, t.sizes = append(t.structures, s), append(t.sizes, len(f.tensors)-before)
	}
	t.tensors, t.names = f.tensors, f.names
	for i, x := range t.tensors {
		if err := x.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", t.names[i], err)
		}
	}
	return t, nil
}

// build makes the trees with other tensors.
func (t *trees) build(tensors []*polygrad.Tensor) []reflect.Value {
	next := func() *polygrad.Tensor {
		x := tensors[0]
		tensors = tensors[1:]
		return x
	}
	out := make([]reflect.Value, len(t.structures))
	for i, s := range t.structures {
		out[i] = s.build(next)
	}
	return out
}

// as converts a reflected value to a tree.
func as[T any](v reflect.Value) (tree T) {
	reflect.ValueOf(&tree).Elem().Set(v)
	return tree
}

// like is tree i with other tensors, some of which may be nil.
func (t *trees) like(i int, tensors []*polygrad.Tensor) reflect.Value {
	one := &trees{structures: t.structures[i : i+1]}
	return one.build(tensors)[0]
}

// numbers are the numbers of the tensors of the first tree, which must be of floating types.
func (t *trees) numbers() ([]int, error) {
	if t.sizes[0] == 0 {
		return nil, errors.New("params: has no tensor, expected one or more to differentiate by")
	}
	of := make([]int, t.sizes[0])
	for i := range of {
		if of[i] = i; !isFloat(t.tensors[i]) {
			return nil, fmt.Errorf("%s is %s, expected a floating type to differentiate by: pass it in data", t.names[i], t.tensors[i].DType())
		}
	}
	return of, nil
}

func isFloat(x *polygrad.Tensor) bool { return strings.Contains(string(x.DType()), "float") }

// function is a function of tensors that calls f on trees like these. When it is called, it stores the flattened results in results.
func (t *trees) function(f func(in []reflect.Value) ([]named, error), results **trees) polygrad.Function {
	return func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		made, err := f(t.build(args))
		if err != nil {
			return nil, err
		}
		if *results, err = flatten(made...); err != nil {
			return nil, err
		}
		return (*results).tensors, nil
	}
}

// sameAs is an error unless the trees have their tensors in the same places as other.
func (t *trees) sameAs(other *trees, found, like string) error {
	if !slices.Equal(t.names, other.names) {
		return fmt.Errorf("%s has the tensors %v, expected %v as %s", found, t.names, other.names, like)
	}
	return nil
}

// sameStatic is an error if the static values of two trees differ.
func sameStatic[T any](name string, a, b *T, found, like string) error {
	texts := [2]strings.Builder{}
	for i, tree := range []*T{a, b} {
		if err := staticText(&texts[i], reflect.ValueOf(tree).Elem(), name, map[uintptr]bool{}); err != nil {
			return err
		}
	}
	if texts[0].String() != texts[1].String() {
		return fmt.Errorf("%s is not as %s where it is no tensor: what changes must be a tensor", found, like)
	}
	return nil
}

// An Error is an error of a function of this package.
type Error struct {
	Function string // its name
	Err      error
	text     string
}

func (e *Error) Error() string { return "polygrad: tree." + e.Function + ": " + e.text }

// Unwrap gives the error of what the function called.
func (e *Error) Unwrap() error { return e.Err }

// called are the functions of package polygrad that functions of this package call, if their names differ.
var called = map[string]string{
	"ValueAndGrad": "Grad", "ValueAndGradAux": "Grad", "Linearize": "JVP", "HVP": "JVP", "VMap": "VMapWith", "Jit": "Compile|Step.Run",
}

var places = regexp.MustCompile(`\b(argument|input|result|tensor|carry\[|init\[|sequences\[) ?(\d+)\]?`)

// fail makes an error of a function, with names in place of the numbers of tensors. An Error that the given function returned stays.
func fail(who string, err error, args, results *trees) error {
	if err == nil {
		return nil
	}
	if inner := (*Error)(nil); errors.As(err, &inner) {
		return inner
	}
	name := called[who]
	if name == "" {
		name = who
	}
	text := regexp.MustCompile(`^polygrad: (?:`+name+`): `).ReplaceAllString(err.Error(), "")
	if own := text != err.Error() || !strings.HasPrefix(text, "polygrad: "); own {
		text = places.ReplaceAllStringFunc(text, func(place string) string {
			m := places.FindStringSubmatch(place)
			list, from := args, 0
			switch m[1] {
			case "result":
				list = results
			case "sequences[":
				from = args.sizes[0]
			}
			if i, _ := strconv.Atoi(m[2]); list != nil && from+i < len(list.names) {
				return list.names[from+i]
			}
			return place
		})
	}
	return &Error{who, err, text}
}
