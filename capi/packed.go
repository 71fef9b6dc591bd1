package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/tensor/ops"
	"polygrad/core/uop"
)

// callArg is PolyCallArg.
type callArg struct {
	kind, n int32
	word    uint64
}

// The kinds of a callArg: POLY_CALL_*.
const (
	callNone int32 = iota
	callBool
	callInt
	callUint
	callFloat
	callTensor
	callSize
	callDType
	callText
	callChars
	callList
	callInts
	callFloats
	callTensors
	callSlice
	callEllipsis
	callOther
	callComplex
)

// maxCallDepth is the limit of nested lists of arguments.
const maxCallDepth = 4

// A reader reads the arguments of a call of an operation from an array.
type reader struct {
	c    *context
	rest []callArg
	// tensor finds the node of a handle.
	tensor func(arg string, h uintptr) (*uop.UOp, error)
}

// complex is the number whose parts are stored in an element behind that of its kind.
func (a callArg) complex() complex128 { return *(*complex128)(unsafe.Pointer(&a)) }

// ellipsis is the argument "...".
type ellipsis struct{}

func (ellipsis) String() string { return "an ellipsis" }

// other is the name of a type of the caller's language that no parameter takes.
type other string

func (o other) String() string {
	if strings.ContainsRune("AEIOUaeiou", rune(o[0])) {
		return "an " + string(o)
	}
	return "a " + string(o)
}

// slice is the argument start:stop:step where it cannot be.
type slice struct{}

func (slice) String() string { return "a slice" }

func (r *reader) next(arg string) (callArg, error) {
	if len(r.rest) == 0 {
		return callArg{}, badArg(arg, "the array of arguments ends within it")
	}
	a := r.rest[0]
	r.rest = r.rest[1:]
	return a, nil
}

// read reads one argument, as the Go value that operations accept.
func (r *reader) read(arg string, depth int) (any, error) {
	a, err := r.next(arg)
	if err != nil {
		return nil, err
	}
	pointer := *(*unsafe.Pointer)(unsafe.Pointer(&a.word))
	switch a.kind {
	case callInts, callFloats, callTensors:
		if a.n < 0 || a.n > 0 && pointer == nil {
			return nil, badArg(arg, "%d elements at %p, expected 0 or more and their address", a.n, pointer)
		}
	}
	switch a.kind {
	case callNone:
		return nil, nil
	case callBool:
		return a.word != 0, nil
	case callInt:
		return int64(a.word), nil
	case callUint:
		return uop.Uint(a.word), nil
	case callFloat:
		return math.Float64frombits(a.word), nil
	case callTensor:
		return r.tensor(arg, uintptr(a.word))
	case callSize:
		return r.c.sizeOf(arg, -int64(a.word))
	case callDType:
		return dtypeOf(int32(int64(a.word)))
	case callText:
		if pointer == nil {
			return nil, badArg(arg, "is NULL, expected a text")
		}
		return goString((*byte)(pointer)), nil
	case callChars, callOther:
		words := (int(a.n) + 15) / 16
		if a.n < 0 || words > len(r.rest) {
			return nil, badArg(arg, "a text of %d bytes, %d follow", a.n, 16*len(r.rest))
		}
		text := unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(r.rest))), a.n)
		r.rest = r.rest[words:]
		if strings.Contains(text, "\x00") {
			return nil, badArg(arg, "%q, expected no NUL", text)
		}
		text = strings.Clone(text)
		if a.kind == callOther && text != "" {
			return other(text), nil
		}
		return text, nil
	case callInts:
		return append([]int64{}, unsafe.Slice((*int64)(pointer), a.n)...), nil
	case callFloats:
		return append([]float64{}, unsafe.Slice((*float64)(pointer), a.n)...), nil
	case callTensors:
		us := make([]*uop.UOp, a.n)
		for i, h := range unsafe.Slice((*uintptr)(pointer), a.n) {
			if us[i], err = r.tensor(arg, h); err != nil {
				return nil, insideElement(arg, i, err)
			}
		}
		return us, nil
	case callList:
		return r.list(arg, int(a.n), depth)
	case callSlice:
		if _, err := r.slice(arg); err != nil {
			return nil, err
		}
		return slice{}, nil
	case callEllipsis:
		return ellipsis{}, nil
	case callComplex:
		parts, err := r.next(arg)
		return parts.complex(), err
	}
	return nil, badArg(arg, "kind %d, expected 0 to %d", a.kind, callComplex)
}

// list reads a list: []int64, []float64, []*uop.UOp or []any.
func (r *reader) list(arg string, n, depth int) (any, error) {
	if n < 0 || n > len(r.rest) || depth >= maxCallDepth {
		return nil, badArg(arg, "a list of %d at depth %d, %d arguments follow", n, depth, len(r.rest))
	}
	all := make([]any, n)
	for i := range all {
		v, err := r.read(arg, depth+1)
		if err != nil {
			return nil, insideElement(arg, i, err)
		}
		all[i] = v
	}
	return all, nil
}

// argument reads the argument of a parameter. Lists of integers, the most frequent ones, are read without boxing each element.
func (r *reader) argument(p *ops.Param) (any, error) {
	n, list := -1, r.rest // the number of items of a list, -1 for no list, and the items
	if len(list) > 0 && list[0].kind == callList && list[0].n >= 0 && int(list[0].n) < len(list) {
		n, list = int(list[0].n), list[1:]
	}
	switch {
	case p.Kind == ops.Items && n < 0:
		return r.items(p.Name, 1)
	case p.Kind == ops.Items:
		r.rest = list
		return r.items(p.Name, n)
	case n < 0:
	case p.Kind == ops.Pairs:
		if out, rest, ok := pairsOf(list, n); ok {
			r.rest = rest
			return out, nil
		}
	case !areInts(list[:n]):
	case p.Kind == ops.Shape || p.Kind == ops.NewShape:
		r.rest = list[n:]
		return shapeOfInts(list[:n]), nil
	case p.Kind == ops.Ints || p.Kind == ops.Axes || p.Kind == ops.IntsOrText:
		r.rest = list[n:]
		out := make([]int64, n)
		for i := range out {
			out[i] = int64(list[i].word)
		}
		return out, nil
	}
	v, err := r.read(p.Name, 0)
	if err != nil {
		return nil, err
	}
	return r.adapt(p, v)
}

func areInts(list []callArg) bool {
	return !slices.ContainsFunc(list, func(a callArg) bool { return a.kind != callInt })
}

func shapeOfInts(list []callArg) uop.Shape {
	s := make(uop.Shape, len(list))
	for i := range s {
		s[i] = uop.N(int64(list[i].word))
	}
	return s
}

// pairsOf reads n lists of integers, any of which may be None; rest are the remaining arguments.
func pairsOf(list []callArg, n int) (out [][]uop.Sint, rest []callArg, ok bool) {
	out = make([][]uop.Sint, n)
	for i := range out {
		if len(list) == 0 {
			return nil, nil, false
		}
		a := list[0]
		list = list[1:]
		switch {
		case a.kind == callNone:
		case a.kind == callList && a.n >= 0 && int(a.n) <= len(list) && areInts(list[:a.n]):
			out[i] = shapeOfInts(list[:a.n])
			list = list[a.n:]
		default:
			return nil, nil, false
		}
	}
	return out, list, true
}

// items reads an index expression of n items.
func (r *reader) items(arg string, n int) ([]tensor.Index, error) {
	out := make([]tensor.Index, n)
	for i := range out {
		x, err := r.index(arg)
		if err != nil {
			return nil, insideElement(arg, i, err)
		}
		out[i] = x
	}
	return out, nil
}

func (r *reader) index(arg string) (x tensor.Index, err error) {
	if len(r.rest) > 0 {
		a := r.rest[0]
		switch a.kind {
		case callInt:
			r.rest = r.rest[1:]
			return tensor.At(int64(a.word)), nil
		case callNone:
			r.rest = r.rest[1:]
			return tensor.NewAxis(), nil
		case callEllipsis:
			r.rest = r.rest[1:]
			return tensor.Ellipsis(), nil
		case callSlice:
			r.rest = r.rest[1:]
			return r.slice(arg)
		}
	}
	v, err := r.read(arg, 1)
	if err != nil {
		return x, err
	}
	switch v := v.(type) {
	case uop.Sint:
		return tensor.AtSize(v), nil
	case *uop.UOp:
		return tensor.Take(v), nil
	}
	return x, badArg(arg, "is %s, expected an integer, a slice, a tensor, nothing or an ellipsis", ops.Describe(v))
}

// slice reads start, stop and step.
func (r *reader) slice(arg string) (x tensor.Index, err error) {
	var bounds [2]*uop.Sint
	for i, name := range [...]string{"start", "stop"} {
		v, err := r.read(arg, 1)
		if err != nil {
			return x, badArg(arg, "%s: %w", name, err)
		}
		switch v := integral(v).(type) {
		case nil:
		case int64:
			n := uop.N(v)
			bounds[i] = &n
		case uop.Sint:
			bounds[i] = &v
		default:
			return x, badArg(arg, "is %s, expected an integer", ops.Describe(v))
		}
	}
	step := int64(1)
	switch v, err := r.read(arg, 1); v := v.(type) {
	case nil:
		if err != nil {
			return x, err
		}
	case int64:
		step = v
	default:
		return x, badArg(arg, "has the step %s, expected an integer", ops.Describe(v))
	}
	return tensor.SliceSizes(bounds[0], bounds[1], step), nil
}

// adapt is an argument in the form that a parameter takes.
func (r *reader) adapt(p *ops.Param, v any) (any, error) {
	if s, is := v.(uop.Sint); is {
		switch p.Kind {
		case ops.Shape, ops.NewShape:
			return uop.Shape{s}, nil
		}
		return tensor.FromSize(r.c.g, s)
	}
	list, isList := v.([]any)
	switch p.Kind {
	case ops.Int:
		return integral(v), nil
	case ops.Float, ops.Operand, ops.Number, ops.Bool, ops.Text, ops.DType, ops.Tensor:
		return v, nil
	}
	if !isList {
		return integral(v), nil
	}
	switch p.Kind {
	case ops.Tensors:
		return elementsAs[*uop.UOp](p, list)
	case ops.Ints, ops.Axes, ops.IntsOrText:
		for i, x := range list {
			list[i] = integral(x)
		}
		return elementsAs[int64](p, list)
	case ops.Floats:
		for i, x := range list {
			if n, is := x.(int64); is {
				list[i] = float64(n)
			}
		}
		return elementsAs[float64](p, list)
	case ops.NewShape:
		for i, x := range list {
			if x == nil {
				list[i] = int64(ops.Kept)
			}
		}
		return sizesOf(p.Name, list)
	case ops.Shape:
		return sizesOf(p.Name, list)
	case ops.Pairs:
		if len(list) > 0 && !slices.ContainsFunc(list, isPair) {
			return sizesOf(p.Name, list)
		}
		out := make([][]uop.Sint, len(list))
		for i, x := range list {
			switch x := x.(type) {
			case nil:
			case []any:
				s, err := sizesOf(indexed(p.Name, i), x)
				if err != nil {
					return nil, err
				}
				out[i] = s
			case []int64:
				out[i] = uop.ShapeOf(x...)
			default:
				return nil, badArg(indexed(p.Name, i), "is %s, expected two integers", ops.Describe(x))
			}
		}
		return out, nil
	case ops.Sizes:
		out := map[string]int64{}
		for i := 0; i+1 < len(list); i += 2 {
			name, isText := list[i].(string)
			n, isInt := integral(list[i+1]).(int64)
			if !isText || !isInt {
				return nil, badArg(p.Name, "is not a list of names and integers")
			}
			out[name] = n
		}
		return out, nil
	}
	return v, nil
}

// isPair reports whether an argument is that of an axis, and no number.
func isPair(v any) bool {
	switch v.(type) {
	case int64, float64, uop.Sint:
		return false
	}
	return true
}

// integral converts a float without a fraction to an integer, and leaves other values alone.
func integral(v any) any {
	if f, is := v.(float64); is && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return v
}

func sizesOf(arg string, list []any) (uop.Shape, error) {
	s := make(uop.Shape, len(list))
	for i, x := range list {
		switch x := integral(x).(type) {
		case int64:
			s[i] = uop.N(x)
		case uop.Sint:
			s[i] = x
		default:
			return nil, badElement(indexed(arg, i), x, "an integer")
		}
	}
	return s, nil
}

// badElement is the error of an element of a wrong type in a list.
func badElement(arg string, x any, expected string) error {
	if f, is := x.(float64); is && f == math.Trunc(f) && expected == "an integer" {
		return badArg(arg, "%s is out of range, expected less than 2^53", ops.Describe(f))
	}
	return badArg(arg, "is %s, expected %s", ops.Describe(x), expected)
}

// elementsAs converts a list to elements of one type.
func elementsAs[T any](p *ops.Param, list []any) ([]T, error) {
	out := make([]T, len(list))
	for i, x := range list {
		v, is := x.(T)
		if !is {
			return nil, badElement(indexed(p.Name, i), x, elementKind[p.Kind])
		}
		out[i] = v
	}
	return out, nil
}

var elementKind = map[ops.Kind]string{ops.Tensors: "a tensor", ops.Ints: "an integer", ops.Axes: "an integer", ops.IntsOrText: "an integer", ops.Floats: "a number"}

// arguments reads the arguments of an operation into a.
func (r *reader) arguments(op *ops.Op, a *ops.Args) error {
	switch op.Form {
	case ops.Method:
		v, err := r.read("x", 0)
		if err != nil {
			return err
		}
		u, is := v.(*uop.UOp)
		if !is {
			return badArg("x", "is %s, expected a tensor", ops.Describe(v))
		}
		a.X = u
	case ops.Joiner:
		v, err := r.read("tensors", 0)
		if err != nil {
			return err
		}
		us, is := v.([]*uop.UOp)
		if list, isList := v.([]any); isList {
			if us, err = elementsAs[*uop.UOp](&ops.Param{Name: "tensors", Kind: ops.Tensors}, list); err != nil {
				return err
			}
			is = true
		}
		if !is || len(us) == 0 {
			return badArg("tensors", "is %s, expected one tensor or more", ops.Describe(v))
		}
		a.Xs = append(a.Xs, us...)
	}
	for i := 0; len(r.rest) > 0; i++ {
		if i >= len(op.Params) {
			return fmt.Errorf("args: more arguments than the %d of the operation", len(op.Params))
		}
		p := &op.Params[i]
		v, err := r.argument(p)
		if err == nil {
			err = a.SetAt(i, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
