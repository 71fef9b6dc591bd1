// Package ops describes every operation that users call on tensors, once: its name, its parameters with types and defaults, what it
// computes, and the composition of core/tensor behind it. The methods of all languages, their types and their documentation follow
// from the table.
//
// To add an operation: compose it in core/tensor, describe it here, add its cases to tests/table, run go generate.
package ops

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"polygrad/core/uop"
)

// A Form is how an operation is called.
type Form uint8

// The forms.
const (
	Method Form = iota // x.op(…): the first operand is x
	Maker              // op(…): a new tensor, made of numbers
	Joiner             // op(xs, …): a list of tensors
)

// A Kind is the type of a parameter, and of the Go value that Args holds for it.
type Kind uint8

// The kinds.
const (
	Tensor     Kind = iota // *uop.UOp
	Operand                // *uop.UOp or uop.Const: a number takes its type from the tensor that it meets
	Tensors                // []*uop.UOp
	Int                    // int64
	Ints                   // []int64; one number stands for a list of one
	Axes                   // []int64: axes of the operand
	Float                  // float64
	Floats                 // []float64
	Number                 // uop.Const
	Bool                   // bool
	Text                   // string
	DType                  // *uop.DType
	Shape                  // uop.Shape
	NewShape               // uop.Shape, in which Kept stands for the size of the axis of the operand
	Pairs                  // [][]uop.Sint: before and after each axis, a nil pair leaves an axis as it is; or all in a row: uop.Shape
	Items                  // []tensor.Index
	Sizes                  // map[string]int64
	IntsOrText             // []int64, or a string: a name that stands for them
)

var kinds = []string{
	"tensor", "operand", "tensors", "int", "ints", "axes", "float", "floats", "number", "bool", "text", "dtype", "shape", "newshape", "pairs",
	"items", "sizes", "ints|text",
}

func (k Kind) String() string { return kinds[k] }

// A Param is a parameter. An optional one without a default may be left out, which the operation's text explains.
type Param struct {
	Name     string
	Kind     Kind
	Optional bool
	Default  any // of the Kind; nil if there is none
	Limits   *Limits
	// Choices are the values that a text may have; nil allows all.
	Choices []string
}

// Limits are the limits of a number, or of each of several.
type Limits struct {
	Least, Most float64
	// Open: Most itself is beyond.
	Open bool
}

// An Op is the description of an operation.
type Op struct {
	Name string
	Form Form
	// First is the name of the first operand in a module, unless it is that of the module.
	First string
	// Params are the parameters besides x, the operand of a method, or xs, the list of a joiner.
	Params []Param
	// Doc is what the operation returns: a sentence, then what else is to be known.
	Doc string
	// Results is the number of results, 0 if that depends on the arguments.
	Results int
	// Names are the names of several results.
	Names []string
	// Random: the operation takes words of the random stream.
	Random bool
	// View: the result shows elements of x, and writes to it arrive there.
	View bool
	// Moves is the number of buffers of a layer that a call in training mode updates: its last results are the new values of its last
	// tensors. Results between the first and those are what they are computed from.
	Moves int
	// Types are the types of the operands.
	Types Types
	// NoGradient: no gradient flows through the operation.
	NoGradient bool
	Build      func(a *Args) ([]*uop.UOp, error)
}

// Find returns the description of an operation of tensors or of a module.
func Find(name string) (*Op, bool) {
	op := byName()[name]
	if module, _, isFunction := strings.Cut(name, "."); op == nil && isFunction {
		if functions := functionsOf[module]; functions != nil {
			op = functions()[name]
		}
	}
	return op, op != nil
}

// All returns the descriptions of all operations, in the order of the documentation.
func All() []*Op {
	var all []*Op
	for _, t := range Topics {
		for i := range t.Ops {
			all = append(all, &t.Ops[i])
		}
	}
	return all
}

// A Topic is a group of operations of the documentation.
type Topic struct {
	Name string
	Ops  []Op
}

// Topics is the table of operations.
var Topics = []Topic{
	{"Arithmetic and comparison", arithmetic},
	{"Elementwise functions", functions},
	{"Activations", activations},
	{"Types", types},
	{"Reductions", reductions},
	{"Scans and sorting", scans},
	{"Shape", shapes},
	{"Indexing", indexing},
	{"Linear algebra", algebra},
	{"Convolutions and windows", spatial},
	{"Normalisation", norms},
	{"Losses", losses},
	{"New tensors", makers},
	{"Random tensors", random},
}

var byName = sync.OnceValue(func() map[string]*Op {
	all := All()
	m := make(map[string]*Op, len(all))
	for _, op := range all {
		m[op.Name] = op
	}
	return m
})

// describe makes the description of an operation. Parameters are written as "name kind", "name kind?" for an optional one, and "name kind = value"
// for one with a default, separated by commas. Limits come last: [0,1], [0,1) or [0,]; so do the values that a text may have: {a b}.
func describe(form Form, name, params, doc string, build func(a *Args) ([]*uop.UOp, error)) Op {
	op := Op{Name: name, Form: form, Doc: doc, Types: typesOf[name], NoGradient: withoutGradient[name], Build: build}
	for text := range strings.SplitSeq(params, ", ") {
		if text == "" {
			continue
		}
		text, choices, _ := strings.Cut(text, " {")
		text, limits, limited := strings.Cut(text, " [")
		left, value, given := strings.Cut(text, " = ")
		p, kind, _ := strings.Cut(left, " ")
		kind, optional := strings.CutSuffix(kind, "?")
		k := slices.Index(kinds, kind)
		if k < 0 {
			panic(fmt.Sprintf("ops: %s: %s: unknown kind %q", name, p, kind))
		}
		param := Param{Name: p, Kind: Kind(k), Optional: optional || given, Choices: strings.Fields(strings.TrimSuffix(choices, "}"))}
		if limited {
			param.Limits = parseLimits(name, limits)
		}
		if given {
			param.Default = parseDefault(name, param.Kind, value)
		}
		op.Params = append(op.Params, param)
	}
	return op
}

func parseLimits(name, text string) *Limits {
	least, most, _ := strings.Cut(text[:len(text)-1], ",")
	l := &Limits{Most: math.Inf(1), Open: strings.HasSuffix(text, ")")}
	var err error
	if l.Least, err = strconv.ParseFloat(least, 64); err == nil && most != "" {
		l.Most, err = strconv.ParseFloat(most, 64)
	}
	if err != nil {
		panic(fmt.Sprintf("ops: %s: limits %q: %v", name, text, err))
	}
	return l
}

// check is an error if a number is beyond limits.
func (l *Limits) check(arg string, x float64) error {
	switch {
	case x >= l.Least && (x < l.Most || x == l.Most && !l.Open && !math.IsInf(x, 1)):
		return nil
	case math.IsInf(l.Most, 1):
		return bad(arg, "%v, expected %v or more", x, l.Least)
	case l.Open:
		return bad(arg, "%v, expected %v or more and less than %v", x, l.Least, l.Most)
	}
	return bad(arg, "%v, expected %v to %v", x, l.Least, l.Most)
}

func parseDefault(name string, k Kind, text string) any {
	bad := func(err error) {
		if err != nil {
			panic(fmt.Sprintf("ops: %s: default %q: %v", name, text, err))
		}
	}
	switch k {
	case Int:
		n, err := strconv.ParseInt(text, 10, 64)
		bad(err)
		return n
	case Floats:
		var all []float64
		for word := range strings.FieldsSeq(text) {
			f, err := strconv.ParseFloat(word, 64)
			bad(err)
			all = append(all, f)
		}
		return all
	case Ints, Axes:
		var all []int64
		for word := range strings.FieldsSeq(text) {
			n, err := strconv.ParseInt(word, 10, 64)
			bad(err)
			all = append(all, n)
		}
		return all
	case Float:
		f, err := strconv.ParseFloat(text, 64)
		bad(err)
		return f
	case Number, Operand:
		n, err := strconv.ParseInt(text, 10, 64)
		bad(err)
		return uop.Int(n)
	case Bool:
		b, err := strconv.ParseBool(text)
		bad(err)
		return b
	case Text:
		return text
	case IntsOrText:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return []int64{n}
		}
		return text
	case DType:
		dt, err := uop.ParseDType(text)
		bad(err)
		return dt
	}
	bad(fmt.Errorf("a %s has no defaults", k))
	return nil
}

func single(form Form, name, params, doc string, build func(a *Args) (*uop.UOp, error)) Op {
	op := describe(form, name, params, doc, func(a *Args) ([]*uop.UOp, error) {
		u, err := build(a)
		return []*uop.UOp{u}, err
	})
	op.Results = 1
	return op
}

func method(name, params, doc string, build func(a *Args) (*uop.UOp, error)) Op {
	return single(Method, name, params, doc, build)
}

func view(name, params, doc string, build func(a *Args) (*uop.UOp, error)) Op {
	op := method(name, params, doc, build)
	op.View = true
	return op
}

func maker(name, params, doc string, build func(a *Args) (*uop.UOp, error)) Op {
	return single(Maker, name, params, doc, build)
}

func joiner(name, params, doc string, build func(a *Args) (*uop.UOp, error)) Op {
	return single(Joiner, name, params, doc, build)
}

// several is a method of several results, by their names; none if their number depends on the arguments.
func several(results, name, params, doc string, build func(a *Args) ([]*uop.UOp, error)) Op {
	op := describe(Method, name, params, doc, build)
	op.Names = strings.Fields(results)
	op.Results = len(op.Names)
	return op
}

func pair(a, b *uop.UOp, err error) ([]*uop.UOp, error) { return []*uop.UOp{a, b}, err }

// unary is an operation of one tensor and no parameters.
func unary(name, doc string, f func(x *uop.UOp) (*uop.UOp, error)) Op {
	return method(name, "", doc, func(a *Args) (*uop.UOp, error) { return f(a.X) })
}
