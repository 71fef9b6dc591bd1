package ops

import (
	"math"
	"slices"
	"strings"
	"sync"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

const numpyDoc = `Functions of arrays, as numpy and the array API standard have them.

Types are promoted as the standard says; numbers take the type of the array they are combined with. Integers give float32 where the result is not an
integer, and sums of integers of 8 and 16 bits have 32 bits. Indices are int32. Functions whose result has a size that depends on values compute at
once, unless size gives the number of elements: then missing elements are filled with fill_value. Results are new arrays: as in JAX, there is no
argument out.`

// inNumpy is a function of numpy of an array x.
func inNumpy(name, params, doc string, build func(a *Args) (*uop.UOp, error)) Op {
	return method("numpy."+name, params, doc, build)
}

// called is a function whose first operand has another name.
func called(first string, op Op) Op {
	op.First = first
	return op
}

func severalInNumpy(results, name, params, doc string, build func(a *Args) ([]*uop.UOp, error)) Op {
	return several(results, "numpy."+name, params, doc, build)
}

// described finds an operation of tensors. It does not look into the modules, which are made of it.
func described(name string) *Op {
	for _, op := range All() {
		if op.Name == name {
			return op
		}
	}
	panic("ops: no operation " + name)
}

// borrowed is an operation of tensors as a function of numpy. Its parameters stand for those of the operation in names, in their order; ""
// means that they have the same names.
func borrowed(name, of, params, names string) Op {
	from := described(of)
	op := describe(from.Form, "numpy."+name, params, from.Doc, nil)
	op.Results, op.Names, op.Types, op.NoGradient, op.View = from.Results, from.Names, from.Types, from.NoGradient, from.View
	list := strings.Fields(names)
	if names == "" {
		for _, p := range op.Params {
			list = append(list, p.Name)
		}
	}
	to := make([]int, len(list))
	for i, n := range list {
		if to[i] = slices.IndexFunc(from.Params, func(p Param) bool { return p.Name == n }); to[i] < 0 {
			panic("ops: " + of + " has no parameter " + n)
		}
	}
	op.Build = func(a *Args) ([]*uop.UOp, error) {
		inner := *a
		inner.op, inner.values = from, make([]any, len(from.Params))
		for i, p := range from.Params {
			inner.values[i] = p.Default
		}
		for i, k := range to {
			inner.values[k] = a.values[i]
		}
		r, err := from.Build(&inner)
		if e, is := from.named(err).(*Error); is {
			for i, k := range to {
				if from.Params[k].Name == e.Arg {
					return nil, &Error{a.op.Params[i].Name, e.Text}
				}
			}
		}
		return r, err
	}
	return op
}

// documented is an operation with another text.
func documented(doc string, op Op) Op {
	op.Doc = doc
	return op
}

// same are operations of one tensor, by the names of numpy and of the Tensor.
func same(pairs string) []Op {
	var all []Op
	for p := range strings.FieldsSeq(pairs) {
		name, of, renamed := strings.Cut(p, "=")
		if !renamed {
			of = name
		}
		all = append(all, borrowed(name, of, "", ""))
	}
	return all
}

// twoOf are operations of two operands, by the names of numpy and of the Tensor.
func twoOf(pairs string) []Op {
	var all []Op
	for p := range strings.FieldsSeq(pairs) {
		name, of, renamed := strings.Cut(p, "=")
		if !renamed {
			of = name
		}
		all = append(all, borrowed(name, of, "y operand", described(of).Params[0].Name))
	}
	return all
}

// ofNumber is an operation that NumPy refuses for bools.
func ofNumber(op Op) Op {
	build := op.Build
	op.Build = func(a *Args) ([]*uop.UOp, error) {
		bools := a.X.DType.IsBool()
		if bools && len(op.Params) > 0 && op.Params[0].Name == "y" {
			x, y, err := a.met(tensor.BeyondFails)
			bools = err == nil && x.DType.IsBool() && y.DType.IsBool()
		}
		if bools {
			return nil, bad("x", "is bool, expected numbers")
		}
		return build(a)
	}
	return op
}

func ofNumbers(list []Op) []Op {
	for i := range list {
		list[i] = ofNumber(list[i])
	}
	return list
}

func numpy1(name, doc string, f func(x *uop.UOp) (*uop.UOp, error)) Op {
	return inNumpy(name, "", doc, func(a *Args) (*uop.UOp, error) { return f(a.X) })
}

func numpy2(name, doc string, f two) Op { return ofOneType(besideY(name, doc, f)) }

// besideY is a function of two operands whose types have nothing to do with each other.
func besideY(name, doc string, f two) Op {
	return inNumpy(name, "y operand", doc, func(a *Args) (*uop.UOp, error) {
		x, y, err := a.met(tensor.BeyondFails)
		if err != nil {
			return nil, err
		}
		return f(x, y)
	})
}

// whole is an operation on floats that leaves integers and bools as they are.
func whole(name, of string) Op {
	op := borrowed(name, of, "", "")
	build := op.Build
	op.Build = func(a *Args) ([]*uop.UOp, error) {
		if !a.X.DType.IsDifferentiable() {
			return []*uop.UOp{a.X}, nil
		}
		return build(a)
	}
	return op
}

// logical is a function of truth values.
func logical(name, doc string, f two) Op {
	return inNumpy(name, "y operand", doc, func(a *Args) (*uop.UOp, error) {
		x, err := tensor.Cast(a.X, uop.Bool)
		if err != nil {
			return nil, err
		}
		y := a.tensor("y")
		if y == nil {
			_, y, err = tensor.Meet(x, uop.BoolConst(a.number("y").Truth()), tensor.BeyondFails)
		} else {
			y, err = tensor.Cast(y, uop.Bool)
		}
		if err != nil {
			return nil, err
		}
		return f(x, y)
	})
}

// sized is the number of elements of a result: size if it is given, otherwise how many elements of mask are true.
func (a *Args) sized(mask *uop.UOp) (int64, error) {
	if a.given("size") {
		return a.int("size"), nil
	}
	return a.count(mask)
}

// fill is fill_value, nil if it is not given.
func (a *Args) fill() any {
	if a.given("fill_value") {
		return a.number("fill_value")
	}
	return nil
}

const (
	bySize   = "size int? [0,], fill_value number?"
	ofSets   = "ar2 tensor, assume_unique bool = false, " + bySize // only setdiff1d depends on assume_unique
	joinsNaN = ", equal_nan bool = false"
)

// uniques are the values, their first positions, the positions of elements in them and their counts.
func (a *Args) uniques(x *uop.UOp, equalNaN bool) ([]*uop.UOp, error) {
	outer := a.X
	a.X = x
	defer func() { a.X = outer }()
	find := a.order
	if a.given("size") { // the number of results is known without values
		find = func() (*uop.UOp, error) { return tensor.Order(x) }
	}
	order, err := find()
	if err == nil && !a.given("size") {
		order, err = a.computed(order, nil)
	}
	if err != nil {
		return nil, err
	}
	first, err := distinctMarks(equalNaN)(x, order)
	if err == nil && !a.given("size") {
		first, err = a.computed(first, nil)
	}
	if err != nil {
		return nil, err
	}
	n, err := a.sized(first)
	if err != nil {
		return nil, err
	}
	values, firsts, inverse, counts, err := tensor.UniqueWithin(x, order, first, n, a.fill())
	return []*uop.UOp{values, firsts, inverse, counts}, err
}

// uniqueSlices are uniques, of the slices along axis if it is given.
func (a *Args) uniqueSlices() ([]*uop.UOp, error) {
	if !a.given("axis") {
		return a.uniques(a.X, a.bool("equal_nan"))
	}
	ranks, err := tensor.SliceRanks(a.X, a.axis("axis"))
	if err != nil {
		return nil, err
	}
	r, err := a.uniques(ranks, true)
	if err != nil {
		return nil, err
	}
	r[0], err = tensor.TakeAxes(a.X, r[1], a.axis("axis"))
	return r, err
}

// joinedWith is x and another array, both flattened, as one.
func (a *Args) joinedWith(name string) (*uop.UOp, error) {
	x, err := tensor.Flatten(a.X, 0, -1)
	if err != nil {
		return nil, err
	}
	y, err := tensor.Flatten(a.tensor(name), 0, -1)
	if err != nil {
		return nil, err
	}
	return tensor.Cat([]*uop.UOp{x, y}, 0)
}

// chosenFrom are the elements of x for which a mask is true.
func (a *Args) chosenFrom(x, mask *uop.UOp) (*uop.UOp, error) {
	if !a.given("size") {
		var err error
		if mask, err = a.computed(mask, nil); err != nil {
			return nil, err
		}
	}
	n, err := a.sized(mask)
	if err != nil {
		return nil, err
	}
	return tensor.Chosen(x, mask, n, a.fill())
}

// chosenValues are the different elements of x, in ascending order, for which a mask is true.
func (a *Args) chosenValues(x *uop.UOp, mask func(values *uop.UOp) (*uop.UOp, error)) (*uop.UOp, error) {
	order, err := tensor.Order(x)
	if err == nil && !a.given("size") {
		order, err = a.computed(order, nil)
	}
	if err != nil {
		return nil, err
	}
	first, err := tensor.Distinct(x, order)
	if err != nil {
		return nil, err
	}
	values, err := flat(x)
	if err == nil {
		values, err = tensor.TakeAxes(values, order, 0)
	}
	if err != nil {
		return nil, err
	}
	m, err := mask(values)
	if err == nil {
		m, err = tensor.BitAnd(m, first)
	}
	if err != nil {
		return nil, err
	}
	return a.chosenFrom(values, m)
}

func set(name, doc string, member bool) Op {
	return inNumpy(name, ofSets, doc, func(a *Args) (*uop.UOp, error) {
		if a.bool("assume_unique") && !member { // in their order
			x, err := flat(a.X)
			if err != nil {
				return nil, err
			}
			mask, err := a.member(x, a.tensor("ar2"), true)
			if err != nil {
				return nil, err
			}
			return a.chosenFrom(x, mask)
		}
		return a.chosenValues(a.X, func(values *uop.UOp) (*uop.UOp, error) { return a.member(values, a.tensor("ar2"), !member) })
	})
}

func (a *Args) member(x, of *uop.UOp, invert bool) (*uop.UOp, error) {
	r, err := tensor.IsIn(x, of)
	if err != nil || !invert {
		return r, err
	}
	return tensor.LogicalNot(r)
}

// trues are the positions of true elements of an array.
func (a *Args) trues(x *uop.UOp) ([]*uop.UOp, error) {
	n, err := a.sized(x)
	if err != nil {
		return nil, err
	}
	fill := int64(0)
	if a.given("fill_value") {
		var ok bool
		if fill, ok = a.number("fill_value").Int64(); !ok {
			return nil, bad("fill_value", "%s, expected an integer", a.number("fill_value"))
		}
	}
	return tensor.TruePositions(x, n, fill)
}

// notInPlace is JAX's argument inplace, which may only be false.
const notInPlace = ", inplace bool = false"

func (a *Args) notInPlace() error {
	if a.bool("inplace") {
		return bad("inplace", "is true, expected false: the result is a new array")
	}
	return nil
}

const (
	modes  = "mode text = raise {raise clip wrap}"
	byMode = "\nmode \"clip\" clamps indices out of bounds, \"wrap\" takes them modulo the size."
)

// within are positions along an axis by mode: those out of range are errors where they are in memory.
func (a *Args) within(name string, x *uop.UOp, axis int) (*uop.UOp, error) {
	at := a.tensor(name)
	if a.text("mode") == "raise" {
		return at, a.Elements.positions(name, at, x, axis, true)
	}
	return tensor.IndicesWithin(at, x, axis, a.text("mode") == "wrap")
}

// kth checks positions along the axis of partition.
func (a *Args) kth() error {
	n, known := sizeOf(a.X, a.axis("axis"))
	for _, k := range a.ints("kth") {
		if known && (k < -n || k >= n) {
			return bad("kth", "%d is out of bounds for axis %d of size %d", k, a.axis("axis"), n)
		}
	}
	return nil
}

// triangle are the positions of a triangle of the shape of a matrix.
func (a *Args) triangle(of func(x *uop.UOp, k int64) (*uop.UOp, error)) ([]*uop.UOp, error) {
	s := a.X.Shape()
	if len(s) != 2 {
		return nil, bad("x", "has %d dimensions, expected 2", len(s))
	}
	ones, err := tensor.Full(a.X.Graph(), s, uop.BoolConst(true), uop.Bool)
	if err == nil {
		ones, err = of(ones, a.int("k"))
	}
	if err != nil {
		return nil, err
	}
	n, err := a.count(ones)
	if err != nil {
		return nil, err
	}
	return tensor.TruePositions(ones, n, 0)
}

func hasImaginary(x *uop.UOp) (*uop.UOp, error) {
	x, err := tensor.Imag(x)
	if err != nil {
		return nil, err
	}
	return tensor.Cast(x, uop.Bool)
}

// flat is an array as a vector.
func flat(x *uop.UOp) (*uop.UOp, error) { return tensor.Flatten(x, 0, -1) }

// optional is an argument as a number, nil if it is not given.
func (a *Args) optional(name string) *float64 {
	if !a.given(name) {
		return nil
	}
	v := a.float(name)
	return &v
}

// spacing is an argument that is a tensor or a number, 1 unless given.
func (a *Args) spacing(name string) (*uop.UOp, error) {
	if u := a.tensor(name); u != nil {
		return u, nil
	}
	v := uop.Int(1)
	if a.given(name) {
		v = a.number(name)
	}
	return tensor.Const(a.X.Graph(), uop.LeastUpperFloat(a.X.DType), v)
}

// flatUnless is an axis of x, or of x flattened if it is not given.
func (a *Args) flatUnless(name string) (*uop.UOp, int, error) {
	if a.given(name) {
		return a.X, a.axis(name), nil
	}
	x, err := flat(a.X)
	return x, 0, err
}

var numpyOps = sync.OnceValue(func() []Op {
	return inNumPysNames(slices.Concat(
		// Elementwise
		same("real imag conj acos acosh asin asinh atan atanh cos cosh exp exp2 expm1 isfinite isinf isnan log log1p log2 log10 logical_not sign sin sinh square sqrt tan tanh reciprocal bitwise_invert=bitwise_not"),
		ofNumbers(same("negative=neg")), ofOneTypes(ofNumbers(twoOf("subtract=sub"))),
		ofOneTypes(twoOf(`add multiply=mul divide=div pow maximum minimum bitwise_and bitwise_or bitwise_xor bitwise_left_shift=lshift
		bitwise_right_shift=rshift`)), twoOf("less=lt less_equal=le greater=gt greater_equal=ge equal=eq not_equal=ne"),
		ofOneTypes(twoOf("logaddexp atan2 hypot floor_divide=floordiv remainder=mod fmod")),
		[]Op{
			inNumpy("angle", "deg bool = false", described("angle").Doc+"\nWith deg it is in degrees.", func(a *Args) (*uop.UOp, error) {
				r, err := tensor.Angle(a.X)
				if err == nil && a.bool("deg") {
					r, err = scaled(r, 180/math.Pi)
				}
				return r, err
			}),
			whole("ceil", "ceil"), whole("floor", "floor"), whole("trunc", "trunc"),
			inNumpy("round", "decimals int = 0", "x rounded to the given number of decimals, ties to even.\nNegative decimals round to tens, hundreds and so on.", func(a *Args) (*uop.UOp, error) {
				return tensor.RoundTo(a.X, a.int("decimals"))
			}),
			numpy1("rint", "x rounded to the nearest integer, ties to even, as floating point numbers.", func(x *uop.UOp) (*uop.UOp, error) {
				x, err := tensor.Cast(x, uop.LeastUpperFloat(x.DType))
				if err != nil {
					return nil, err
				}
				return tensor.RoundTo(x, 0)
			}),
			numpy1("abs", "|x|.", func(x *uop.UOp) (*uop.UOp, error) {
				if x.DType.IsBool() {
					return x, nil
				}
				return tensor.Abs(x)
			}),
			numpy1("fabs", "|x| as floating point numbers.", func(x *uop.UOp) (*uop.UOp, error) {
				x, err := tensor.Cast(x, uop.LeastUpperFloat(x.DType))
				if err != nil {
					return nil, err
				}
				return tensor.Abs(x)
			}),
			numpy2("copysign", "|x| with the sign of y, as floating point numbers.", func(x, y *uop.UOp) (*uop.UOp, error) {
				x, err := tensor.Cast(x, uop.LeastUpperFloat(x.DType))
				if err != nil {
					return nil, err
				}
				return tensor.CopySign(x, y)
			}),
			ofNumber(numpy1("positive", "The array itself.", func(x *uop.UOp) (*uop.UOp, error) { return x, nil })),
			numpy1("signbit", "Whether the sign bit is set: true for negative numbers and -0.", tensor.SignBit),
			numpy1("cbrt", "The cube root, of negative numbers too.", tensor.CubeRoot),
			numpy1("deg2rad", "Degrees as radians.", func(x *uop.UOp) (*uop.UOp, error) { return scaled(x, math.Pi/180) }),
			numpy1("rad2deg", "Radians as degrees.", func(x *uop.UOp) (*uop.UOp, error) { return scaled(x, 180/math.Pi) }),
			numpy1("sinc", "sin(pi x) / (pi x).", tensor.Sinc),
			numpy1("i0", "The modified Bessel function of the first kind and order 0.", tensor.I0),
			numpy1("isposinf", "Whether elements are infinity: bool.", func(x *uop.UOp) (*uop.UOp, error) { return equals(x, math.Inf(1)) }),
			numpy1("isneginf", "Whether elements are -infinity: bool.", func(x *uop.UOp) (*uop.UOp, error) { return equals(x, math.Inf(-1)) }),
			numpy1("bitwise_count", "The number of 1 bits of |x|, uint8.", tensor.BitCount),
			inNumpy("nan_to_num", "copy bool = true, nan float = 0, posinf float?, neginf float?", "The array with NaN replaced by nan, infinity by posinf and -infinity by neginf.\nposinf and neginf are the greatest and the least finite number of the type unless given. The result is a new array, whatever copy is.", func(a *Args) (*uop.UOp, error) {
				return tensor.NaNToNum(a.X, a.float("nan"), a.optional("posinf"), a.optional("neginf"))
			}),
			severalInNumpy("fraction whole", "modf", "", "The fractional and the whole part, both with the sign of x.", func(a *Args) ([]*uop.UOp, error) { return pair(tensor.SplitWhole(a.X)) }),
			severalInNumpy("mantissa exponent", "frexp", "", "The mantissa m, 1/2 <= |m| < 1, and the integer exponent e with x = m 2^e.", func(a *Args) ([]*uop.UOp, error) { return pair(tensor.FRexp(a.X)) }),
			besideY("ldexp", "x 2^y for integers y.", tensor.LdExp),
			logical("logical_and", "Whether both x and y are not 0: bool.", tensor.BitAnd),
			logical("logical_or", "Whether x or y is not 0: bool.", tensor.BitOr),
			logical("logical_xor", "Whether exactly one of x and y is not 0: bool.", tensor.BitXor),
			numpy2("nextafter", "The next representable number after x towards y.", tensor.NextAfter),
			numpy1("spacing", "The distance to the next representable number, away from 0.", tensor.Spacing),
			numpy1("iscomplex", "Whether the imaginary part is not 0: bool.", hasImaginary),
			numpy1("isreal", "Whether the imaginary part is 0: bool.", func(x *uop.UOp) (*uop.UOp, error) {
				x, err := hasImaginary(x)
				if err != nil {
					return nil, err
				}
				return tensor.LogicalNot(x)
			}),
			numpy2("gcd", "The greatest common divisor of integers.", tensor.GCD),
			numpy2("lcm", "The least common multiple of integers.", tensor.LCM),
			numpy2("fmax", "The greater of x and y.\nWhere one is NaN, the result is the other.", tensor.FMax),
			numpy2("fmin", "The lesser of x and y.\nWhere one is NaN, the result is the other.", tensor.FMin),
			numpy2("heaviside", "0 where x is negative, 1 where it is positive, and y where it is 0.", tensor.Heaviside),
			numpy2("logaddexp2", "log2(2^x + 2^y), without overflow.", tensor.LogAddExp2),
			numpy2("float_power", "x to the power of y, in a floating type.", func(x, y *uop.UOp) (*uop.UOp, error) {
				x, err := tensor.Cast(x, uop.LeastUpperFloat(x.DType))
				if err != nil {
					return nil, err
				}
				return tensor.Pow(x, y)
			}),
			ofOneType(severalInNumpy("quotient remainder", "divmod", "y operand", "floor_divide and remainder.", func(a *Args) ([]*uop.UOp, error) {
				x, y, err := a.met(tensor.BeyondFails)
				if err != nil {
					return nil, err
				}
				q, err := tensor.FloorDiv(x, y)
				if err != nil {
					return nil, err
				}
				r, err := tensor.Mod(x, y)
				return []*uop.UOp{q, r}, err
			})),
			documented("Whether |a - b| <= atol + rtol * |b|: bool; with equal_nan NaN is close to NaN.", borrowed("isclose", "isclose", "b operand, rtol float = 1e-05, atol float = 1e-08, equal_nan bool = false", "other rtol atol equal_nan")),
			inNumpy("array_equal", "a2 tensor, equal_nan bool = false", "Whether shapes and elements are equal: bool.", func(a *Args) (*uop.UOp, error) {
				return tensor.AllEqual(a.X, a.tensor("a2"), a.bool("equal_nan"))
			}),
			ofOneType(inNumpy("clip", "min operand?, max operand?", "Elements limited to min and max, which may be left out.", func(a *Args) (*uop.UOp, error) {
				if !a.given("min") && !a.given("max") {
					return a.X, nil
				}
				var bounds [2]*uop.UOp
				x := a.X
				for i, name := range []string{"min", "max"} {
					if bounds[i] = a.tensor(name); bounds[i] == nil && a.given(name) {
						beyond := []tensor.Beyond{tensor.BeyondBelow, tensor.BeyondAbove}[i]
						var err error
						if _, bounds[i], err = tensor.Meet(x, a.number(name), beyond); err != nil {
							return nil, err
						}
					}
				}
				return tensor.Clamp(x, bounds[0], bounds[1])
			})),
		},
		numpyReductions(),
		// Sorting, searching, sets
		[]Op{
			inNumpy("sort", "axis int = -1, kind text?, descending bool = false, stable bool = true", "The elements sorted along an axis. NaN is the greatest number.\nComplex numbers are sorted by their real, then by their imaginary parts. All kinds are stable.", func(a *Args) (*uop.UOp, error) {
				values, _, err := tensor.Sort(a.X, a.axis("axis"), a.bool("descending"))
				return values, err
			}),
			inNumpy("argsort", "axis int = -1, kind text?, descending bool = false, stable bool = true", "The indices, int32, that sort the array along an axis.\nEqual elements keep their order, whatever kind is.", func(a *Args) (*uop.UOp, error) {
				_, at, err := tensor.Sort(a.X, a.axis("axis"), a.bool("descending"))
				return at, err
			}),
			joiner("numpy.lexsort", "axis int = -1", "The indices that sort by several keys: by the last one, ties by the one before, and so on.", func(a *Args) (*uop.UOp, error) { return tensor.LexOrder(a.Xs, a.axis("axis")) }),
			inNumpy("partition", "kth axes, axis int = -1, kind text?", "The elements partitioned at the indices kth along an axis; here they are fully sorted.", func(a *Args) (*uop.UOp, error) {
				if err := a.kth(); err != nil {
					return nil, err
				}
				values, _, err := tensor.Sort(a.X, a.axis("axis"), false)
				return values, err
			}),
			inNumpy("argpartition", "kth axes, axis int = -1, kind text?", "The indices of the elements of partition.", func(a *Args) (*uop.UOp, error) {
				if err := a.kth(); err != nil {
					return nil, err
				}
				_, at, err := tensor.Sort(a.X, a.axis("axis"), false)
				return at, err
			}),
			inNumpy("searchsorted", "v tensor, side text = left {left right}, sorter tensor?", "The indices, int32, where v would be inserted into the vector a to keep it sorted.\nAn index is that of the first equal element, or with side \"right\" the one behind the last. sorter are the indices that sort a.", func(a *Args) (*uop.UOp, error) {
				x := a.X
				if s := a.tensor("sorter"); s != nil {
					var err error
					if x, err = tensor.IndexSelect(x, 0, s); err != nil {
						return nil, err
					}
				}
				return tensor.SearchSorted(x, a.tensor("v"), a.text("side") == "right")
			}),
			inNumpy("digitize", "bins tensor, right bool = false", "The number of the bin of each element; bins are the edges, ascending or descending.\nA bin includes its lower edge, or with right its upper edge.", func(a *Args) (*uop.UOp, error) {
				return tensor.Digitize(a.X, a.tensor("bins"), a.bool("right"))
			}),
			inNumpy("bincount", "weights tensor?, minlength int = 0 [0,], length int? [0,]", "The number of elements equal to 0, 1, …, or the sum of their weights.\nlength is the length of the result, by default the greatest element + 1, at least minlength.", func(a *Args) (*uop.UOp, error) {
				if s := a.X.Shape(); len(s) != 1 {
					return nil, bad("x", "has shape %s, expected a vector", s)
				}
				if a.given("length") {
					return tensor.BinCount(a.X, a.tensor("weights"), a.int("length"))
				}
				inner := *a
				inner.op = described("bincount")
				inner.values = []any{a.at("weights"), a.at("minlength")}
				r, err := inner.op.Build(&inner)
				if err != nil {
					return nil, err
				}
				return r[0], nil
			}),
			severalInNumpy("counts edges", "histogram", "bins operand = 10, range floats?, density bool = false, weights tensor?", `The number of elements in each bin, and the edges of the bins.
bins is the number of bins of equal width over range, by default from the least to the greatest element, or a tensor of edges. With density the
counts are divided by their sum and the width of the bin.`, func(a *Args) ([]*uop.UOp, error) { return a.histogram() }),
			inNumpy("histogram_bin_edges", "bins operand = 10, range floats?, weights tensor?", "The edges of the bins of histogram.", func(a *Args) (*uop.UOp, error) {
				_, edges, err := a.bins()
				return edges, err
			}),
			severalInNumpy("values indices inverse_indices counts", "unique_all", bySize+joinsNaN+", axis int?", "The distinct elements, or slices along an axis, in ascending order, with indices and counts.\nindices are those of first occurrences in the flattened array or along the axis, inverse_indices are the index of each element, or slice, of the array\namong the distinct ones, counts the numbers of occurrences. Each NaN is distinct unless equal_nan.", func(a *Args) ([]*uop.UOp, error) { return a.uniqueSlices() }),
			inNumpy("unique_values", bySize+joinsNaN, "The distinct elements in ascending order. Each NaN is distinct unless equal_nan.", func(a *Args) (*uop.UOp, error) {
				return a.distinct(a.X, a.bool("equal_nan"))
			}),
			inNumpy("union1d", "ar2 tensor, "+bySize, "The distinct elements of both arrays in ascending order.", func(a *Args) (*uop.UOp, error) {
				x, err := a.joinedWith("ar2")
				if err != nil {
					return nil, err
				}
				return a.distinct(x, true)
			}),
			set("intersect1d", "The distinct elements that are in both arrays, in ascending order.", true),
			set("setdiff1d", "The distinct elements that are not in ar2, in ascending order.\nWith assume_unique all elements that are not in ar2, in their order.", false),
			inNumpy("setxor1d", ofSets, "The distinct elements that are in exactly one of the arrays, in ascending order.", func(a *Args) (*uop.UOp, error) {
				all, err := a.joinedWith("ar2")
				if err != nil {
					return nil, err
				}
				return a.chosenValues(all, func(values *uop.UOp) (*uop.UOp, error) {
					p, err := tensor.IsIn(values, a.X)
					if err != nil {
						return nil, err
					}
					q, err := tensor.IsIn(values, a.tensor("ar2"))
					if err != nil {
						return nil, err
					}
					both, err := tensor.BitAnd(p, q)
					if err != nil {
						return nil, err
					}
					return tensor.LogicalNot(both) // NaN is in none
				})
			}),
			inNumpy("isin", "test_elements tensor, assume_unique bool = false, invert bool = false", "Whether each element is one of test_elements: bool; with invert, whether it is not.", func(a *Args) (*uop.UOp, error) { return a.member(a.X, a.tensor("test_elements"), a.bool("invert")) }),
			severalInNumpy("", "nonzero", bySize, "The indices of the elements that are not 0, one vector for each axis, int32.", func(a *Args) ([]*uop.UOp, error) { return a.trues(a.X) }),
			inNumpy("argwhere", bySize, "The indices of the elements that are not 0, one row for each element, int32.", func(a *Args) (*uop.UOp, error) {
				if len(a.X.Shape()) == 0 {
					n, err := a.sized(a.X)
					if err != nil {
						return nil, err
					}
					return tensor.NonZero(a.X, n)
				}
				r, err := a.trues(a.X)
				if err != nil {
					return nil, err
				}
				return tensor.Stack(r, -1)
			}),
			inNumpy("flatnonzero", bySize, "The indices of the elements of the flattened array that are not 0, int32.", func(a *Args) (*uop.UOp, error) {
				x, err := flat(a.X)
				if err != nil {
					return nil, err
				}
				r, err := a.trues(x)
				if err != nil {
					return nil, err
				}
				return r[0], nil
			}),
			inNumpy("extract", "arr tensor, "+bySize, "The elements of arr where condition is true, as a vector.", func(a *Args) (*uop.UOp, error) {
				mask, err := tensor.Cast(a.X, uop.Bool)
				if err != nil {
					return nil, err
				}
				return a.chosenFrom(a.tensor("arr"), mask)
			}),
		},
		// Indexing
		[]Op{
			inNumpy("take", "indices tensor, axis int?, mode text = raise {raise clip wrap fill}, fill_value number?", "The elements at indices along an axis, or of the flattened array.\nNegative indices count from the end. The axes of indices take the place of the axis."+gives0+byMode+" With \"fill\" they give fill_value,\nby default NaN, the least integer of a signed type, the greatest of an unsigned type, or true.", func(a *Args) (*uop.UOp, error) {
				x, axis, err := a.flatUnless("axis")
				if err != nil {
					return nil, err
				}
				if a.text("mode") == "fill" {
					return tensor.TakeOrFill(x, a.tensor("indices"), axis, a.fill())
				}
				at, err := a.within("indices", x, axis)
				if err != nil {
					return nil, err
				}
				return tensor.TakeAxes(x, at, axis)
			}),
			inNumpy("take_along_axis", "indices tensor, axis int = -1", "For each element of indices, the element of the array at that index along an axis.\nNegative indices count from the end; other axes broadcast."+gives0, func(a *Args) (*uop.UOp, error) {
				if err := a.Elements.positions("indices", a.tensor("indices"), a.X, a.axis("axis"), true); err != nil {
					return nil, err
				}
				return tensor.TakeAlong(a.X, a.tensor("indices"), a.axis("axis"))
			}),
			inNumpy("put_along_axis", "indices tensor, values operand, axis int"+notInPlace, "The array with values written to the elements that take_along_axis reads."+doesNothing, func(a *Args) (*uop.UOp, error) {
				if err := a.notInPlace(); err != nil {
					return nil, err
				}
				if err := a.Elements.positions("indices", a.tensor("indices"), a.X, a.axis("axis"), true); err != nil {
					return nil, err
				}
				v, err := a.operand("values", a.X)
				if err != nil {
					return nil, err
				}
				return tensor.PutAlong(a.X, a.tensor("indices"), v, a.axis("axis"))
			}),
			inNumpy("put", "ind tensor, v operand, "+modes+notInPlace, "The array with v, repeated as needed, written at the indices ind of the flattened array."+doesNothing+byMode, func(a *Args) (*uop.UOp, error) {
				if err := a.notInPlace(); err != nil {
					return nil, err
				}
				x, err := flat(a.X)
				if err != nil {
					return nil, err
				}
				at, err := a.within("ind", x, 0)
				if err != nil {
					return nil, err
				}
				v, err := a.operand("v", a.X)
				if err != nil {
					return nil, err
				}
				return tensor.Put(a.X, at, v)
			}),
			severalInNumpy("", "unravel_index", "shape shape", "The indices along each axis of a shape, one tensor for each, of row-major flat indices.\nNegative flat indices count from the end.", func(a *Args) ([]*uop.UOp, error) {
				n := a.shape("shape").MaxNumel()
				if wrong, found := a.Elements.outside(a.X, -n, n-1); found {
					return nil, bad("indices", "%d is out of bounds for a shape of %d elements", wrong, n)
				}
				return tensor.AlongAxes(a.X, a.shape("shape"))
			}),
			joiner("numpy.ravel_multi_index", "dims ints [0,], mode text = raise {raise clip wrap}", `The row-major flat indices, in an array of shape dims, of indices along each axis.
Indices out of bounds are an error if they are already computed; mode "clip" clamps them, "wrap" takes them modulo the size.`, func(a *Args) (*uop.UOp, error) {
				for i, x := range a.Xs {
					if n := a.ints("dims"); a.text("mode") == "raise" && i < len(n) {
						if wrong, found := a.Elements.outside(x, 0, n[i]-1); found {
							return nil, bad("multi_index", "%d is out of bounds for axis %d of size %d", wrong, i, n[i])
						}
					}
				}
				return tensor.InRowMajorOrder(a.Xs, a.ints("dims"), a.text("mode"))
			}),
			severalInNumpy("rows columns", "tril_indices_from", "k int = 0", "The row and column indices of the lower triangle of a matrix, up to diagonal k, int32.", func(a *Args) ([]*uop.UOp, error) { return a.triangle(tensor.Tril) }),
			severalInNumpy("rows columns", "triu_indices_from", "k int = 0", "The row and column indices of the upper triangle of a matrix, from diagonal k on, int32.", func(a *Args) ([]*uop.UOp, error) { return a.triangle(tensor.Triu) }),
			inNumpy("fill_diagonal", "val operand, wrap bool = false"+notInPlace, "The array with val on its main diagonal: the elements whose indices along all axes are equal.\nWith wrap, the diagonal of a tall matrix starts again below its end.", func(a *Args) (*uop.UOp, error) {
				if err := a.notInPlace(); err != nil {
					return nil, err
				}
				return tensor.FillDiagonal(a.X, a.at("val"), a.bool("wrap"))
			}),
			inNumpy("delete", "obj axes, axis int?", "The array without the elements at the indices obj along an axis.\nWithout axis the array is flattened.", func(a *Args) (*uop.UOp, error) {
				x, axis, err := a.flatUnless("axis")
				if err != nil {
					return nil, err
				}
				return tensor.Deleted(x, a.ints("obj"), axis)
			}),
			inNumpy("insert", "obj axes, values operand, axis int?", "The array with values inserted in front of the indices obj along an axis.\nWithout axis the array is flattened.", func(a *Args) (*uop.UOp, error) {
				x, axis, err := a.flatUnless("axis")
				if err != nil {
					return nil, err
				}
				v, err := a.operand("values", x)
				if err != nil {
					return nil, err
				}
				return tensor.Inserted(x, a.ints("obj"), v, axis)
			}),
		},
		numpyShapes(), numpyProducts(),
	))
})

func scaled(x *uop.UOp, by float64) (*uop.UOp, error) {
	dt := uop.LeastUpperFloat(x.DType)
	x, err := tensor.Cast(x, dt)
	if err != nil {
		return nil, err
	}
	c, err := tensor.Const(x.Graph(), dt, uop.Float(by))
	if err != nil {
		return nil, err
	}
	return tensor.Mul(x, c)
}

func equals(x *uop.UOp, v float64) (*uop.UOp, error) {
	x, err := tensor.Cast(x, uop.LeastUpperFloat(x.DType))
	if err != nil {
		return nil, err
	}
	c, err := tensor.Const(x.Graph(), x.DType, uop.Float(v))
	if err != nil {
		return nil, err
	}
	return tensor.Eq(x, c)
}

// bins are the edges of the bins of histogram, and where these have one width, the number of elements in each.
func (a *Args) bins() (counts, edges *uop.UOp, err error) {
	if edges = a.tensor("bins"); edges != nil {
		return nil, edges, nil
	}
	n, ok := a.number("bins").Int64()
	if !ok || n < 1 {
		return nil, nil, bad("bins", "%s, expected a tensor of edges, or 1 or more", a.number("bins"))
	}
	var low, high *float64
	if r := get[[]float64](a, "range"); r != nil {
		if len(r) != 2 {
			return nil, nil, bad("range", "%d numbers, expected 2", len(r))
		}
		low, high = &r[0], &r[1]
	}
	return tensor.Histogram(a.X, n, low, high)
}

// histogram are counts and edges by the arguments of numpy.
func (a *Args) histogram() ([]*uop.UOp, error) {
	counts, edges, err := a.bins()
	if err != nil || counts != nil && !a.given("weights") && !a.bool("density") {
		return []*uop.UOp{counts, edges}, err
	}
	counts, err = tensor.HistogramWithin(a.X, edges, a.tensor("weights"))
	if err != nil || !a.bool("density") {
		return []*uop.UOp{counts, edges}, err
	}
	total, err := tensor.Sum(counts, nil, false)
	if err != nil {
		return nil, err
	}
	widths, err := tensor.Differences(edges, 1, 0)
	if err == nil {
		counts, err = tensor.Cast(counts, uop.LeastUpper(counts.DType, edges.DType))
	}
	if err == nil {
		counts, err = tensor.Div(counts, total)
	}
	if err == nil {
		counts, err = tensor.Div(counts, widths)
	}
	return []*uop.UOp{counts, edges}, err
}
