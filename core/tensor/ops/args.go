package ops

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// Args are the arguments of a call.
type Args struct {
	op *Op
	// Graph is where a maker makes its tensor.
	Graph *uop.Graph
	X     *uop.UOp
	Xs    []*uop.UOp
	// values are the arguments in the order of the parameters; nil is one that is not given.
	values []any
	// Seed takes words of the random stream: a tensor of three uint32.
	Seed func(words uint64) (*uop.UOp, error)
	// Value computes a tensor of one element, for operations whose result's shape depends on values.
	Value func(x *uop.UOp) (uop.Const, error)
	// Computed computes a tensor now, and keeps it in memory for the results; nil where results have to be expressions of the given tensors.
	Computed func(x *uop.UOp) (*uop.UOp, error)
	// Elements gives what is in memory, for checks of positions and class numbers; nil if that is not known.
	Elements Elements
	// Training: dropout drops.
	Training bool
}

// An Error is a bad argument.
type Error struct{ Arg, Text string }

func (e *Error) Error() string { return e.Arg + ": " + e.Text }

// bad makes an Error. Data types and numbers are written as users of all languages know them.
func bad(arg, format string, a ...any) error {
	for i, v := range a {
		switch v := v.(type) {
		case *uop.DType:
			a[i] = v.NumpyName()
		case float64:
			a[i] = number(v)
		}
	}
	return &Error{arg, fmt.Sprintf(format, a...)}
}

// number is a number as a text.
func number(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "infinity"
	case math.IsInf(x, -1):
		return "-infinity"
	}
	return fmt.Sprint(x)
}

// Set gives a parameter a value, which must be of its kind; nil stands for one that is left out.
func (a *Args) Set(name string, value any) error {
	i := slices.IndexFunc(a.op.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		var names []string
		for _, p := range a.op.Params {
			names = append(names, p.Name)
		}
		if len(names) == 0 {
			return bad(name, "is no argument, expected none")
		}
		return bad(name, "is no argument, expected %s", strings.Join(names, ", "))
	}
	return a.SetAt(i, value)
}

// SetAt is Set for a parameter by its position.
func (a *Args) SetAt(i int, value any) error {
	p := &a.op.Params[i]
	if z, is := value.(complex128); is && p.Kind == Operand {
		number, err := tensor.ComplexNumber(a.Graph, z, a.beside()...)
		if err != nil {
			return err
		}
		value = number
	}
	value, err := p.accept(value)
	if err != nil {
		return err
	}
	a.values[i] = value
	return nil
}

// beside are the tensors that are given so far.
func (a *Args) beside() []*uop.UOp {
	given := slices.Clone(a.Xs)
	if a.X != nil {
		given = append(given, a.X)
	}
	for _, v := range a.values {
		if u, is := v.(*uop.UOp); is {
			given = append(given, u)
		}
	}
	return given
}

// accept returns a value as one of the kind of a parameter.
func (p *Param) accept(value any) (any, error) {
	ok := value == nil && p.Optional
	var err error
	switch v := value.(type) {
	case *uop.UOp:
		ok = p.Kind == Tensor || p.Kind == Operand
	case []*uop.UOp:
		ok = p.Kind == Tensors
	case int64:
		switch p.Kind {
		case Ints, Axes, IntsOrText:
			return []int64{v}, p.within(float64(v))
		case Float:
			return float64(v), p.within(float64(v))
		case Floats:
			return []float64{float64(v)}, nil
		case Operand, Number:
			return uop.Int(v), nil
		case Shape, NewShape:
			return uop.ShapeOf(v), nil
		}
		ok, err = p.Kind == Int, p.within(float64(v))
	case []int64:
		switch {
		case p.Kind == Shape || p.Kind == NewShape || p.Kind == Pairs:
			return uop.ShapeOf(v...), nil
		case p.Kind == Int && len(v) == 1:
			return v[0], p.within(float64(v[0]))
		case p.Kind == Floats:
			list := make([]float64, len(v))
			for i, n := range v {
				list[i] = float64(n)
			}
			return list, nil
		}
		ok = p.Kind == Ints || p.Kind == Axes || p.Kind == IntsOrText
		for _, n := range v {
			if err == nil {
				err = p.within(float64(n))
			}
		}
	case float64:
		switch p.Kind {
		case Operand, Number:
			return uop.Float(v), nil
		case Floats:
			return []float64{v}, nil
		case IntsOrText:
			if math.IsInf(v, 0) && len(p.Choices) == 0 { // an order of a norm
				return strings.Replace(fmt.Sprint(v), "+Inf", "inf", 1), nil
			}
		}
		ok, err = p.Kind == Float, p.within(v)
	case uop.Const:
		ok = p.Kind == Operand || p.Kind == Number
	case bool:
		if p.Kind == Operand || p.Kind == Number {
			return uop.BoolConst(v), nil
		}
		ok = p.Kind == Bool
	case []float64:
		ok = p.Kind == Floats
	case string:
		ok, err = p.Kind == Text || p.Kind == IntsOrText, p.chosen(v)
	case *uop.DType:
		ok = p.Kind == DType
	case uop.Shape:
		ok = p.Kind == Shape || p.Kind == NewShape || p.Kind == Pairs
	case [][]uop.Sint:
		ok = p.Kind == Pairs
	case []tensor.Index:
		ok = p.Kind == Items
	case map[string]int64:
		ok = p.Kind == Sizes
	}
	if !ok {
		return nil, bad(p.Name, "is %s, expected %s", Describe(value), p.expected())
	}
	return value, err
}

// within is an error if a number is beyond the limits of a parameter.
func (p *Param) within(x float64) error {
	if p.Limits == nil {
		return nil
	}
	return p.Limits.check(p.Name, x)
}

// chosen is an error if a text is none of those that a parameter may have.
func (p *Param) chosen(text string) error {
	if len(p.Choices) == 0 || slices.Contains(p.Choices, text) {
		return nil
	}
	return bad(p.Name, "%q, expected one of \"%s\"", text, strings.Join(slices.Sorted(slices.Values(p.Choices)), `", "`))
}

// expected are the kinds in errors.
var expected = map[Kind]string{
	Tensor: "a tensor", Operand: "a tensor or a number", Tensors: "a list of tensors", Int: "an integer", Ints: "integers", Axes: "axes",
	Float: "a number", Floats: "numbers", Number: "a number", Bool: "a bool", Text: "a text", DType: "a data type", Shape: "sizes",
	NewShape: "sizes", Pairs: "two integers for each axis", Items: "an index", Sizes: "sizes by name", IntsOrText: "integers or a text",
}

// expected is the kind of a parameter in errors. obj has the kind Axes, as its numbers may count from the end, but they are no axes.
func (p *Param) expected() string {
	if p.Kind == Axes && p.Name == "obj" {
		return expected[Ints]
	}
	return expected[p.Kind]
}

// Describe names a value that is no argument for a parameter.
func Describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "not given"
	case string:
		return strconv.Quote(v)
	case float64:
		return number(v)
	case *uop.UOp:
		return "a tensor"
	case *uop.DType:
		return "the data type " + v.NumpyName()
	case []*uop.UOp:
		return "a list of tensors"
	case []int64:
		return fmt.Sprintf("a list of %d integers", len(v))
	case []float64:
		return fmt.Sprintf("a list of %d numbers", len(v))
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	}
	return fmt.Sprint(value)
}

// Call begins a call of an operation.
func (op *Op) Call(g *uop.Graph) *Args {
	a := &Args{}
	op.Begin(a, g)
	return a
}

// Begin is Call that reuses the memory of a.
func (op *Op) Begin(a *Args, g *uop.Graph) {
	n := len(op.Params)
	values := slices.Grow(a.values[:0], n)[:n]
	clear(values)
	clear(a.Xs)
	*a = Args{op: op, Graph: g, values: values, Xs: a.Xs[:0]}
}

// Results computes the nodes of the results.
func (a *Args) Results() ([]*uop.UOp, error) {
	for i := range a.values {
		p := &a.op.Params[i]
		switch {
		case a.values[i] != nil:
		case p.Default != nil:
			a.values[i] = p.Default
		case !p.Optional:
			return nil, bad(p.Name, "is missing, expected %s", p.expected())
		}
	}
	results, err := a.op.Build(a)
	return results, a.op.named(err)
}

// argumentNames maps the names of arguments in core/tensor to the names that they may have in descriptions of operations.
var argumentNames = map[string][]string{
	"a":           {"x"},
	"axes":        {"axis"},
	"bounds":      {"padding", "arg", "shape"},
	"classes":     {"num_classes"},
	"dim":         {"axis"},
	"dim0":        {"axis1", "x"},
	"dim1":        {"axis2"},
	"kernel_size": {"weight"},
	"mask":        {"attn_mask"},
	"n":           {"num_samples"},
	"order":       {"axes"},
	"padding":     {"shape"},
	"q":           {"x"},
	"rate":        {"cfg"},
	"repeats":     {"kernel_size"},
	"shape":       {"sizes", "mask", "value", "num_samples", "n"},
	"shift":       {"x"},
	"size":        {"sizes"},
	"suffix":      {"cfg"},
	"target":      {"Y"},
	"v":           {"fill_value"},
	"weight":      {"x"},
	"xs":          {"tensors"},
}

// named translates an error of core/tensor to the names of an operation's parameters. An error of the operands of a composition concerns all operands
// of the operation.
func (op *Op) named(err error) error {
	e, ok := err.(*tensor.Error)
	if own, here := err.(*Error); here {
		e = &tensor.Error{Arg: own.Arg, Text: own.Text}
	} else if !ok {
		return err
	}
	has := func(name string) bool {
		return name == "x" && op.Form == Method && op.First == "" || name == op.First || name == "tensors" && op.Form == Joiner && op.First == "" ||
			slices.ContainsFunc(op.Params, func(p Param) bool { return p.Name == name })
	}
	arg, element, indexed := strings.Cut(e.Arg, "[")
	switch {
	case has(arg):
	case arg == "x" && op.First != "" || arg == "tensors" && op.Form == Joiner:
		arg = op.First
	case arg == "tensors":
		arg = "operands"
	case !ok:
	case arg == "dtype": // of a cast inside
		return &Error{cmp.Or(op.First, "x"), "expected a real type: " + e.Text}
	default:
		if i := slices.IndexFunc(argumentNames[arg], has); i >= 0 {
			arg = argumentNames[arg][i]
		}
	}
	if indexed {
		arg += "[" + element
	}
	return &Error{arg, e.Text}
}

func (a *Args) at(name string) any {
	for i := range a.op.Params {
		if a.op.Params[i].Name == name {
			return a.values[i]
		}
	}
	panic("ops: " + a.op.Name + " has no parameter " + name)
}

func get[T any](a *Args, name string) T {
	v, _ := a.at(name).(T)
	return v
}

func (a *Args) given(name string) bool       { return a.at(name) != nil }
func (a *Args) tensor(name string) *uop.UOp  { return get[*uop.UOp](a, name) }
func (a *Args) int(name string) int64        { return get[int64](a, name) }
func (a *Args) axis(name string) int         { return int(get[int64](a, name)) }
func (a *Args) ints(name string) []int64     { return get[[]int64](a, name) }
func (a *Args) float(name string) float64    { return get[float64](a, name) }
func (a *Args) number(name string) uop.Const { return get[uop.Const](a, name) }
func (a *Args) bool(name string) bool        { return get[bool](a, name) }
func (a *Args) text(name string) string      { return get[string](a, name) }
func (a *Args) dtype(name string) *uop.DType { return get[*uop.DType](a, name) }
func (a *Args) shape(name string) uop.Shape  { return get[uop.Shape](a, name) }

// Moves reports whether the call updates buffers, which its last tensors are: see Op.Moves.
func (a *Args) Moves() bool {
	left := a.op.Moves
	for i := len(a.values) - 1; i >= 0 && left > 0; i-- {
		if a.op.Params[i].Kind != Tensor {
			continue
		}
		if a.values[i] == nil {
			return false
		}
		left--
	}
	return a.op.Moves > 0 && a.Training
}

// axes are the axes of an argument; nil if it is not given: all.
func (a *Args) axes(name string) []int {
	list := a.ints(name)
	if list == nil {
		return nil
	}
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

// items are the items of an index of x, with positions instead of masks, which are computed.
func (a *Args) items(name string) ([]tensor.Index, error) {
	return tensor.WithoutMasks(a.X, get[[]tensor.Index](a, name), a.count)
}

// operand is an argument as a tensor beside x: a number takes its type from x.
func (a *Args) operand(name string, x *uop.UOp) (*uop.UOp, error) {
	if u := a.tensor(name); u != nil {
		return u, nil
	}
	_, u, err := tensor.Meet(x, a.number(name), tensor.BeyondWraps)
	return u, err
}

// Kept stands for the size that an axis has, in a NewShape.
const Kept = math.MinInt64

// resized is a new shape, with the size that keep gives for an axis whose size is kept.
func (a *Args) resized(name string, keep func(axis int) uop.Sint) (uop.Shape, error) {
	s := slices.Clone(a.shape(name))
	for i := range s {
		if s[i].U != nil || s[i].N != Kept {
			continue
		}
		if i >= len(a.X.Shape()) {
			return nil, bad(name, "keeps the size of axis %d, expected at most the %d axes of x", i, len(a.X.Shape()))
		}
		s[i] = keep(i)
	}
	return s, nil
}

// pairs are two numbers for each axis of x; an axis without them has those of missing.
func (a *Args) pairs(name string, missing func(axis int) uop.Pair) ([]uop.Pair, error) {
	given := get[[][]uop.Sint](a, name)
	n := len(a.X.Shape())
	if a.shape(name) != nil {
		return nil, bad(name, "is a list of numbers, expected two for each axis")
	}
	if len(given) != n {
		return nil, bad(name, "%d pairs, expected %d: one for each axis", len(given), n)
	}
	out := make([]uop.Pair, n)
	for i, p := range given {
		switch len(p) {
		case 0:
			out[i] = missing(i)
		case 2:
			out[i] = uop.Pair{Lo: p[0], Hi: p[1]}
		default:
			return nil, bad(name, "%d numbers for axis %d, expected 2", len(p), i)
		}
	}
	return out, nil
}

// margins are pairs, which may also be numbers in a row: those of the last axis first.
func (a *Args) margins(name string) ([]uop.Pair, error) {
	row, n := a.shape(name), len(a.X.Shape())
	if row == nil {
		return a.pairs(name, noPair)
	}
	if len(row)%2 != 0 || len(row) > 2*n {
		return nil, bad(name, "%d numbers, expected two for each of up to %d axes", len(row), n)
	}
	out := slices.Repeat([]uop.Pair{noPair(0)}, n)
	for i := 0; i < len(row); i += 2 {
		out[n-1-i/2] = uop.Pair{Lo: row[i], Hi: row[i+1]}
	}
	return out, nil
}

// perAxis are numbers for n axes, given as such or as one for all.
func (a *Args) perAxis(name string, n int) []int64 {
	list := a.ints(name)
	for len(list) == 1 && len(list) < n {
		list = slices.Repeat(list, n)
	}
	return list
}

// window is how windows slide over n axes, by the arguments stride, dilation, padding and ceil_mode.
func (a *Args) window(n int) tensor.Window {
	w := tensor.Window{Stride: a.perAxis("stride", n), Dilation: a.perAxis("dilation", n)}
	list := a.ints("padding")
	switch {
	case len(list) == 2*n && n > 0: // before and after each axis, the last axis first
		w.Padding = make([][2]int64, n)
		for i := range n {
			w.Padding[n-1-i] = [2]int64{list[2*i], list[2*i+1]}
		}
	default:
		for _, p := range a.perAxis("padding", n) {
			w.Padding = append(w.Padding, [2]int64{p, p})
		}
	}
	return w
}

// spatialAxes is the number of axes that a convolution slides over: those of its weight but two.
func (a *Args) spatialAxes() (int, error) {
	n := len(a.tensor("weight").Shape()) - 2
	if n < 1 {
		return 0, bad("weight", "has %d dimensions, expected 3 or more", n+2)
	}
	return n, nil
}

// classCount computes the number of classes of class numbers: the greatest one + 1; and whether some are negative.
func (a *Args) classCount() (n int64, negative bool, err error) {
	x := a.X
	signed := x.DType.IsInt() && !x.DType.IsUnsigned() && !x.Graph().IsAsTinygrad()
	if signed { // negative numbers are the greatest unsigned ones
		if x, err = tensor.Bitcast(x, tensor.UintOfSize[x.DType.Itemsize()]); err != nil {
			return 0, false, err
		}
	}
	c, err := a.greatest(x)
	if err == nil && signed && c.Big().BitLen() == 8*x.DType.Itemsize() {
		negative = true
		c, err = a.greatest(a.X)
	}
	if err != nil {
		return 0, false, err
	}
	n, ok := c.Int64()
	if !ok || n == math.MaxInt64 {
		return 0, false, bad("x", "has an element %s, expected numbers of classes that fit into memory", c)
	}
	return n + 1, negative, nil
}

// greatest computes the greatest element of a tensor.
func (a *Args) greatest(x *uop.UOp) (uop.Const, error) {
	most, err := tensor.Max(x, nil, false)
	if err != nil {
		return uop.Const{}, err
	}
	return a.Value(most)
}

// leastRanged is the number of integers from which finding their range takes less time than sorting them by all digits of their type.
const leastRanged = 1 << 12

// order are the positions that sort the elements of X: integers by as many digits as their range has.
func (a *Args) order() (*uop.UOp, error) {
	x := a.X
	if n := x.Shape().Numel(); !x.DType.IsInt() || x.DType.Itemsize() < 4 || !n.IsNum(n.N) || n.N < leastRanged {
		return tensor.Order(x)
	}
	low, err := a.computed(tensor.Min(x, nil, false))
	if err != nil {
		return nil, err
	}
	least, err := a.Value(low)
	if err != nil {
		return nil, err
	}
	most, err := a.greatest(x)
	if err != nil {
		return nil, err
	}
	const step = 8 // so that there are few different programs
	width := new(big.Int).Sub(most.Big(), least.Big()).BitLen()
	return tensor.OrderWithin(x, low, int64(max(width+step-1, step)/step*step))
}

// distinctMarks is the function that marks one of each of the different elements.
func distinctMarks(equalNaN bool) func(x, order *uop.UOp) (*uop.UOp, error) {
	if equalNaN {
		return tensor.Distinct
	}
	return tensor.DistinctNaN
}

// distinct are the values of uniques. Sorting values takes a fraction of the time of sorting positions.
func (a *Args) distinct(x *uop.UOp, equalNaN bool) (*uop.UOp, error) {
	if a.given("size") || a.Computed == nil || x.DType.IsComplex() || x.DType.IsBool() || x.Shape().MaxNumel() == 0 {
		r, err := a.uniques(x, equalNaN)
		if err != nil {
			return nil, err
		}
		return r[0], nil
	}
	sorted, err := flat(x)
	if err == nil {
		sorted, _, err = tensor.Sort(sorted, 0, false)
	}
	if sorted, err = a.computed(sorted, err); err != nil {
		return nil, err
	}
	mark := distinctMarks(equalNaN)
	first, err := a.computed(mark(sorted, nil))
	if err != nil {
		return nil, err
	}
	n, err := a.count(first)
	if err != nil {
		return nil, err
	}
	return tensor.DistinctValues(x, sorted, first, n, mark)
}

// count computes how many elements of a tensor are not 0.
func (a *Args) count(x *uop.UOp) (int64, error) { return Count(x, a.Value) }

// computed computes a tensor, if possible, that both a value and the results need, so that it is computed once.
func (a *Args) computed(x *uop.UOp, err error) (*uop.UOp, error) {
	if err != nil || a.Computed == nil || x.Shape().MaxNumel() == 0 {
		return x, err
	}
	return a.Computed(x)
}

// Count is the number of elements of a tensor that are not 0; value computes a tensor of one element.
func Count(x *uop.UOp, value func(x *uop.UOp) (uop.Const, error)) (int64, error) {
	b, err := tensor.Cast(x, uop.Bool)
	if err == nil {
		b, err = tensor.Sum(b, nil, false)
	}
	if err != nil {
		return 0, err
	}
	n, err := value(b)
	if err != nil {
		return 0, err
	}
	return n.I(), nil
}

// words is the number of words of the random stream for the elements of a shape, of a number of bytes each. An axis of variable size
// takes those of its greatest size.
func words(s uop.Shape, each int64) (uint64, error) {
	n, err := tensor.MostElements(s)
	const most = 1 << 32
	if err != nil || n > most {
		return most, err
	}
	return uint64(min((n*each+3)/4, most)), nil
}

// seed takes the words of a shape.
func (a *Args) seed(s uop.Shape, each int64) (*uop.UOp, error) {
	n, err := words(s, each)
	if err != nil {
		return nil, err
	}
	return a.Seed(n)
}
