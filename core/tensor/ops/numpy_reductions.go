package ops

import (
	"math"
	"slices"
	"strings"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// The parameters of reductions, in NumPy's order. where is a mask of the elements that count, initial a further element.
const (
	overAxes     = "axis axes?, keepdims bool = false"
	withType     = "axis axes?, dtype dtype?, keepdims bool = false"
	masked       = ", where tensor?"
	fromInitial  = ", initial number?" + masked
	spreadParams = "axis axes?, dtype dtype?, ddof float?, keepdims bool = false" + masked + ", mean tensor?, correction float = 0"
	ofFlattened  = "\nWithout axis the array is flattened. With include_initial the result begins with the neutral element, 0 or 1."
	overMask     = "\nwhere is a mask, of a shape that broadcasts, of the elements to include."
	overInitial  = "\ninitial is a further element; where is a mask, of a shape that broadcasts, of the elements to include."
)

func reducing(name, doc string, f reduction) Op { return inNumpy(name, overAxes, doc, reduced(f)) }

// folding is a reduction by an operation of two elements. Elements that where leaves out become the neutral element of the operation, or initial if
// it has none (nil).
func folding(name, params, doc string, neutral func(x *uop.UOp) *uop.Const, reduce func(a *Args) (*uop.UOp, error), combine two) Op {
	return inNumpy(name, params+fromInitial, doc+overInitial, func(a *Args) (*uop.UOp, error) {
		if err := a.castX(); err != nil {
			return nil, err
		}
		n := neutral(a.X)
		// The greatest and the least element have no neutral element, or NaN if NaN is left out.
		if found := n == nil || n.IsFloat(); found && !a.given("initial") {
			if err := a.needElements(); err != nil {
				return nil, err
			}
		}
		if n == nil && a.given("initial") {
			first := a.number("initial")
			n = &first
		}
		if n == nil && a.given("where") {
			return nil, bad("initial", "is not given, expected a number beside where")
		}
		var err error
		switch {
		case a.given("where"):
			a.X, err = a.counted(*n)
		case n != nil && a.given("initial"):
			a.X, err = a.neverEmpty(*n)
		}
		if err != nil {
			return nil, err
		}
		r, err := reduce(a)
		if err != nil || !a.given("initial") {
			return r, err
		}
		first, err := constant(r, a.number("initial"))
		if err != nil {
			return nil, err
		}
		return combine(r, first)
	})
}

// counted is x with a neutral element in place of the elements that where leaves out.
func (a *Args) counted(neutral uop.Const) (*uop.UOp, error) {
	mask, err := a.mask()
	if err != nil {
		return nil, err
	}
	n, err := constant(a.X, neutral)
	if err != nil {
		return nil, err
	}
	return tensor.Where(mask, a.X, n)
}

// constant is a number in the type of x.
func constant(x *uop.UOp, v uop.Const) (*uop.UOp, error) {
	_, c, err := tensor.Meet(x, held(x, v), tensor.BeyondFails)
	if err != nil {
		return nil, err
	}
	return tensor.Cast(c, x.DType)
}

// held is a number as an element of x: integers lose the part behind the point.
func held(x *uop.UOp, v uop.Const) uop.Const {
	switch {
	case x.DType.IsBool():
		return uop.BoolConst(v.F() != 0)
	case x.DType.IsInt() && v.IsFloat():
		return uop.Int(int64(v.F()))
	}
	return v
}

// mask is where in the shape of x, nil if it is not given.
func (a *Args) mask() (*uop.UOp, error) {
	mask := a.tensor("where")
	if mask == nil {
		return nil, nil
	}
	r, err := tensor.BroadcastTo(mask, a.X.Shape())
	if err != nil {
		return nil, bad("where", "has shape %s, expected one that broadcasts to %s", mask.Shape(), a.X.Shape())
	}
	return r, nil
}

// neverEmpty pads the reduced axes of x that have no elements with one neutral element.
func (a *Args) neverEmpty(neutral uop.Const) (*uop.UOp, error) {
	pairs, empty := a.emptyAxes()
	if !empty {
		return a.X, nil
	}
	return tensor.Pad(a.X, pairs, held(a.X, neutral))
}

// emptyAxes gives the padding by one element of the reduced axes that have no elements, and whether there are such axes.
func (a *Args) emptyAxes() (pairs []uop.Pair, empty bool) {
	s, axes := a.X.Shape(), a.axes("axis")
	pairs = make([]uop.Pair, len(s))
	for i := range s {
		pairs[i] = noPair(i)
		if !a.given("axis") {
			axes = append(axes, i)
		}
	}
	for _, axis := range axes {
		if axis < 0 {
			axis += len(s)
		}
		if axis >= 0 && axis < len(s) && s[axis].IsNum(0) {
			pairs[axis].Hi, empty = uop.N(1), true
		}
	}
	return pairs, empty
}

// needElements is an error if the greatest or the least of no elements is asked for.
func (a *Args) needElements() error {
	pairs, empty := a.emptyAxes()
	for i, p := range pairs {
		if a.X.Shape()[i].IsNum(0) && p.Hi.IsNum(0) {
			return nil // there is no result either
		}
	}
	if empty {
		return bad("x", "of shape %s has no elements along the axes, expected one or more, or initial", a.X.Shape())
	}
	return nil
}

func always(v uop.Const) func(x *uop.UOp) *uop.Const { return func(*uop.UOp) *uop.Const { return &v } }

func noNeutral(*uop.UOp) *uop.Const { return nil }

// neutralNaN is the neutral element of reductions that leave out NaN: NaN for floats, none for integers.
func neutralNaN(x *uop.UOp) *uop.Const {
	if !x.DType.IsFloat() {
		return nil
	}
	v := uop.Float(math.NaN())
	return &v
}

// withoutNaN is the folding of elements that are not NaN.
func withoutNaN(kind, params, doc string, neutral func(x *uop.UOp) *uop.Const, combine two) Op {
	op := folding("nan"+kind, params, doc, neutral, func(a *Args) (*uop.UOp, error) {
		return a.inType(tensor.NaNReduce(kind, a.X, a.axes("axis"), a.bool("keepdims")))
	}, combine)
	build := op.Build
	op.Build = func(a *Args) ([]*uop.UOp, error) {
		if n := neutral(a.X); n != nil && !n.IsFloat() { // before elements take an integer type
			a.X = tensor.NaNAs(a.X, *n)
		}
		return build(a)
	}
	return op
}

// reduced calls a reduction with axis and keepdims.
func reduced(f reduction) func(a *Args) (*uop.UOp, error) {
	return func(a *Args) (*uop.UOp, error) { return f(a.X, a.axes("axis"), a.bool("keepdims")) }
}

// truths is any or all.
func truths(name string, neutral bool, f reduction) Op {
	return inNumpy(name, overAxes+masked, described(name).Doc+overMask, func(a *Args) (x *uop.UOp, err error) {
		if x = a.X; a.given("where") {
			if a.X, err = tensor.Cast(x, uop.Bool); err == nil {
				x, err = a.counted(uop.BoolConst(neutral))
			}
			if err != nil {
				return nil, err
			}
		}
		return f(x, a.axes("axis"), a.bool("keepdims"))
	})
}

// moment is a mean, or a variance or standard deviation about a mean, which may be given. whole computes it where all elements count.
func moment(name, params, doc string, whole func(a *Args) (*uop.UOp, error)) Op {
	return inNumpy(name, params, doc+overMask, func(a *Args) (*uop.UOp, error) {
		if err := a.castX(); err != nil {
			return nil, err
		}
		kind, skipNaN := strings.CutPrefix(name, "nan")
		var mean *uop.UOp
		correction := 0.0
		if kind != "mean" {
			mean, correction = a.tensor("mean"), a.correction()
		}
		inType := a.inType
		if kind != "mean" {
			inType = func(r *uop.UOp, err error) (*uop.UOp, error) { return r, err }
		}
		if !skipNaN && mean == nil && !a.given("where") {
			return inType(whole(a))
		}
		mask, err := a.mask()
		if err != nil {
			return nil, err
		}
		return inType(tensor.Moments(kind, a.X, mask, mean, a.axes("axis"), a.bool("keepdims"), correction, skipNaN))
	})
}

// correction is subtracted from the count; ddof is NumPy's name of it.
func (a *Args) correction() float64 {
	if a.given("ddof") {
		return a.float("ddof")
	}
	return a.float("correction")
}

// castX casts the operand to dtype, if the operation has it and it is given.
func (a *Args) castX() (err error) {
	a.X, err = a.inType(a.X, nil)
	return err
}

// inType is x in dtype, if the operation has it and it is given.
func (a *Args) inType(x *uop.UOp, err error) (*uop.UOp, error) {
	i := slices.IndexFunc(a.op.Params, func(p Param) bool { return p.Name == "dtype" })
	if err != nil || i < 0 || a.values[i] == nil {
		return x, err
	}
	return tensor.Cast(x, a.dtype("dtype"))
}

// quantiles is a function of shares, which are divided by scale.
func quantiles(name, doc string, scale float64, skipNaN bool) Op {
	const methods = "method text = linear {linear lower higher midpoint nearest inverted_cdf averaged_inverted_cdf closest_observation " +
		"interpolated_inverted_cdf hazen weibull median_unbiased normal_unbiased}"
	return inNumpy(name, "q operand, axis axes?, "+methods+", keepdims bool = false, weights tensor?", doc+`
q has values from 0 to `+number(scale)+`; its axes come first in the result. method, one of NumPy's, says how to interpolate between two elements.
weights, of the shape of the array or along its axis, need the method "inverted_cdf": the result is the least element at which the cumulative weight
reaches the share q of the total.`, func(a *Args) (*uop.UOp, error) {
		q := a.tensor("q")
		if q == nil {
			v := a.number("q").F()
			if !(v >= 0 && v <= scale) {
				return nil, bad("q", "%v, expected 0 to %v", v, scale)
			}
			var err error
			if q, err = tensor.Const(a.X.Graph(), uop.Float64, uop.Float(v)); err != nil {
				return nil, err
			}
		}
		if scale != 1 {
			var err error
			if q, err = tensor.Cast(q, uop.Float64); err != nil {
				return nil, err
			}
			by, err := tensor.Const(a.X.Graph(), uop.Float64, uop.Float(scale))
			if err == nil {
				q, err = tensor.Div(q, by)
			}
			if err != nil {
				return nil, err
			}
		}
		if w := a.tensor("weights"); w != nil {
			if a.text("method") != "inverted_cdf" {
				return nil, bad("method", "%q, expected \"inverted_cdf\" beside weights", a.text("method"))
			}
			return tensor.WeightedQuantiles(a.X, q, w, a.axes("axis"), a.bool("keepdims"), skipNaN)
		}
		return tensor.Quantiles(a.X, q, a.axes("axis"), a.bool("keepdims"), a.text("method"), skipNaN)
	})
}

func medians(name, doc string, skipNaN bool) Op {
	return inNumpy(name, overAxes, doc, func(a *Args) (*uop.UOp, error) {
		q, err := tensor.Const(a.X.Graph(), uop.Float64, uop.Float(0.5))
		if err != nil {
			return nil, err
		}
		return tensor.Quantiles(a.X, q, a.axes("axis"), a.bool("keepdims"), "linear", skipNaN)
	})
}

// running is a cumulative operation along an axis, or over the flattened array, in a type, with its first value in front on request.
func running(name, doc string, along func(x *uop.UOp, axis int) (*uop.UOp, error), start int64, skipNaN bool) Op {
	return inNumpy(name, "axis int?, dtype dtype?, include_initial bool = false", doc, func(a *Args) (*uop.UOp, error) {
		x, axis := a.X, a.axis("axis")
		var err error
		if n := len(x.Shape()); n == 0 || n > 1 && !a.given("axis") {
			if x, err = tensor.Flatten(x, 0, -1); err != nil {
				return nil, err
			}
		}
		if skipNaN {
			if x, err = tensor.WithoutNaN(x, float64(start)); err != nil {
				return nil, err
			}
		}
		dt := a.dtype("dtype")
		if dt == nil {
			if dt = x.DType; !dt.IsFloat() {
				dt = uop.SumAcc(dt)
			}
		}
		if x, err = tensor.Cast(x, dt); err != nil {
			return nil, err
		}
		r, err := along(x, axis)
		if err == nil {
			r, err = tensor.Cast(r, dt)
		}
		if err != nil || !a.bool("include_initial") {
			return r, err
		}
		p := make([]uop.Pair, len(r.Shape()))
		for i := range p {
			p[i] = noPair(i)
		}
		if axis < 0 {
			axis += len(p)
		}
		p[axis].Lo = uop.N(1)
		return tensor.Pad(r, p, uop.Int(start))
	})
}

func numpyReductions() []Op {
	return []Op{
		folding("sum", withType, described("sum").Doc, always(uop.Int(0)), func(a *Args) (*uop.UOp, error) {
			if dt := a.dtype("dtype"); dt != nil {
				return tensor.SumAs(a.X, dt, a.axes("axis"), a.bool("keepdims"))
			}
			return tensor.Sum(a.X, a.axes("axis"), a.bool("keepdims"))
		}, tensor.Add),
		folding("prod", withType, "The product along axes, in dtype if given; integers of 8 and 16 bits give 32 bits.", always(uop.Int(1)), func(a *Args) (*uop.UOp, error) {
			dt := a.dtype("dtype")
			if dt == nil {
				if dt = a.X.DType; !dt.IsFloat() {
					dt = uop.SumAcc(dt)
				}
			}
			return tensor.ProdAs(a.X, dt, a.axes("axis"), a.bool("keepdims"))
		}, tensor.Mul),
		folding("max", overAxes, described("max").Doc, noNeutral, reduced(tensor.Max), tensor.Maximum),
		folding("min", overAxes, described("min").Doc, noNeutral, reduced(tensor.Min), tensor.Minimum),
		moment("mean", withType+masked, "The mean along axes, of the elements converted to dtype if given; integers give float32.", reduced(tensor.Mean)),
		truths("any", false, tensor.Any),
		truths("all", true, tensor.All),
		moment("var", spreadParams, "The variance along axes: the sum of squared deviations divided by count - correction.\nddof is another name of correction. mean is the mean, if it is already known, with size 1 along the reduced axes.", func(a *Args) (*uop.UOp, error) {
			return tensor.Var(a.X, a.axes("axis"), a.bool("keepdims"), a.correction())
		}),
		moment("std", spreadParams, "The square root of the variance, with the same arguments.", func(a *Args) (*uop.UOp, error) {
			return tensor.Std(a.X, a.axes("axis"), a.bool("keepdims"), a.correction())
		}),
		documented("The index of the maximum along an axis; the first if there are several.\nWithout axis it is the index in the flattened array.", borrowed("argmax", "argmax", "axis int?, keepdims bool = false", "axis keepdim")),
		documented("The index of the minimum along an axis; the first if there are several.\nWithout axis it is the index in the flattened array.", borrowed("argmin", "argmin", "axis int?, keepdims bool = false", "axis keepdim")),
		inNumpy("ptp", overAxes, "The range of values along axes: the maximum minus the minimum.", func(a *Args) (*uop.UOp, error) {
			x, axes, keep := a.X, a.axes("axis"), a.bool("keepdims")
			if err := a.needElements(); err != nil {
				return nil, err
			}
			if x.DType.IsBool() {
				return nil, bad("x", "is bool, expected numbers")
			}
			most, err := tensor.Max(x, axes, keep)
			if err != nil {
				return nil, err
			}
			least, err := tensor.Min(x, axes, keep)
			if err != nil {
				return nil, err
			}
			return tensor.Sub(most, least)
		}),
		reducing("count_nonzero", "The number of elements along axes that are not 0, int32.", func(x *uop.UOp, axes []int, keep bool) (*uop.UOp, error) {
			x, err := tensor.Cast(x, uop.Bool)
			if err != nil {
				return nil, err
			}
			return tensor.SumAs(x, uop.Int32, axes, keep)
		}),
		quantiles("quantile", "The quantiles along axes.", 1, false), quantiles("percentile", "The percentiles along axes.", 100, false),
		quantiles("nanquantile", "The quantiles along axes of the elements that are not NaN.", 1, true), quantiles("nanpercentile", "The percentiles along axes of the elements that are not NaN.", 100, true),
		medians("median", "The median along axes.", false), medians("nanmedian", "The median along axes of the elements that are not NaN.", true),
		withoutNaN("sum", withType, "The sum along axes of the elements that are not NaN.", always(uop.Int(0)), tensor.Add),
		withoutNaN("prod", withType, "The product along axes of the elements that are not NaN.", always(uop.Int(1)), tensor.Mul),
		withoutNaN("max", overAxes, "The greatest element along axes that is not NaN.", neutralNaN, tensor.FMax),
		withoutNaN("min", overAxes, "The least element along axes that is not NaN.", neutralNaN, tensor.FMin),
		moment("nanmean", withType+masked, "The mean along axes of the elements that are not NaN.", nil),
		moment("nanvar", spreadParams, "The variance along axes of the elements that are not NaN.\nThe arguments are those of var.", nil),
		moment("nanstd", spreadParams, "The standard deviation along axes of the elements that are not NaN.\nThe arguments are those of var.", nil),
		inNumpy("nanargmax", "axis int?, keepdims bool = false", "The index of the maximum along an axis, or in the flattened array, without NaN.", func(a *Args) (*uop.UOp, error) {
			return a.alongOrFlatAs("keepdims", func(x *uop.UOp, axis int, keep bool) (*uop.UOp, error) { return tensor.NaNArg(x, false, axis, keep) })
		}),
		inNumpy("nanargmin", "axis int?, keepdims bool = false", "The index of the minimum along an axis, or in the flattened array, without NaN.", func(a *Args) (*uop.UOp, error) {
			return a.alongOrFlatAs("keepdims", func(x *uop.UOp, axis int, keep bool) (*uop.UOp, error) { return tensor.NaNArg(x, true, axis, keep) })
		}),
		severalInNumpy("average sum_of_weights", "average", "axis axes?, weights tensor?, keepdims bool = false", "The weighted mean along axes, and the sum of the weights.", func(a *Args) ([]*uop.UOp, error) {
			w := a.tensor("weights")
			if w == nil {
				one, err := tensor.Const(a.X.Graph(), uop.LeastUpperFloat(a.X.DType), uop.Int(1))
				if err == nil {
					w, err = tensor.Expand(one, a.X.Shape())
				}
				if err != nil {
					return nil, err
				}
			}
			return pair(tensor.Average(a.X, w, a.axes("axis"), a.bool("keepdims")))
		}),
		running("cumulative_sum", "The cumulative sum along an axis: element i is the sum of all elements up to i."+ofFlattened, tensor.CumSum, 0, false), running("cumulative_prod", "The cumulative product along an axis: element i is the product of all elements up to i."+ofFlattened, tensor.CumProd, 1, false),
		running("nancumsum", "The cumulative sum along an axis, with NaN counted as 0."+ofFlattened, tensor.CumSum, 0, true), running("nancumprod", "The cumulative product along an axis, with NaN counted as 1."+ofFlattened, tensor.CumProd, 1, true),
		inNumpy("cov", "y tensor?, rowvar bool = true, bias bool = false, ddof float?, fweights tensor?, aweights tensor?, dtype dtype?", `The covariance matrix of variables: the rows of m and y, or their columns without rowvar.
The sums are divided by the number of observations - ddof; ddof is 1, or 0 with bias, unless given. fweights are the counts of observations, aweights
their weights.`, func(a *Args) (*uop.UOp, error) {
			if err := a.castX(); err != nil {
				return nil, err
			}
			ddof := 1.0
			switch {
			case a.given("ddof"):
				ddof = a.float("ddof")
			case a.bool("bias"):
				ddof = 0
			}
			return tensor.Covariance(a.X, a.tensor("y"), a.bool("rowvar"), ddof, a.tensor("fweights"), a.tensor("aweights"))
		}),
		inNumpy("corrcoef", "y tensor?, rowvar bool = true, dtype dtype?", "The correlation coefficients of variables: the rows of x and y, or columns without rowvar.", func(a *Args) (*uop.UOp, error) {
			if err := a.castX(); err != nil {
				return nil, err
			}
			c, err := tensor.Covariance(a.X, a.tensor("y"), a.bool("rowvar"), 1, nil, nil)
			if err != nil {
				return nil, err
			}
			return tensor.Correlations(c)
		}),
		inNumpy("diff", "n int = 1 [0,], axis int = -1, prepend tensor?, append tensor?", "The n-th differences along an axis, with prepend joined in front and append behind.", func(a *Args) (*uop.UOp, error) {
			x := a.X
			parts := []*uop.UOp{a.tensor("prepend"), x, a.tensor("append")}
			parts = slices.DeleteFunc(parts, func(u *uop.UOp) bool { return u == nil })
			if len(parts) > 1 {
				edge := slices.Clone(x.Shape())
				if axis := a.axis("axis"); -len(edge) <= axis && axis < len(edge) {
					edge[(axis+len(edge))%len(edge)] = uop.N(1)
				}
				var err error
				for i, u := range parts {
					if len(u.Shape()) > 0 {
						continue
					}
					if parts[i], err = tensor.Expand(u, edge); err != nil {
						return nil, err
					}
				}
				if x, err = tensor.Cat(parts, a.axis("axis")); err != nil {
					return nil, err
				}
			}
			return tensor.Differences(x, a.int("n"), a.axis("axis"))
		}),
		ofNumber(inNumpy("ediff1d", "to_end tensor?, to_begin tensor?", "The differences of neighbours in the flattened array, between to_begin and to_end.", func(a *Args) (*uop.UOp, error) {
			x, err := flat(a.X)
			if err == nil {
				x, err = tensor.Differences(x, 1, 0)
			}
			if err != nil {
				return nil, err
			}
			var parts []*uop.UOp
			for _, u := range []*uop.UOp{a.tensor("to_begin"), x, a.tensor("to_end")} {
				if u == nil {
					continue
				}
				if u, err = flat(u); err != nil {
					return nil, err
				}
				parts = append(parts, u)
			}
			return tensor.Cat(parts, 0)
		})),
		severalInNumpy("", "gradient", "spacing operand = 1, axis axes?, edge_order int = 1 {1 2}", `The derivatives along axes by finite differences, one array for each axis.
spacing is the distance between elements, or their coordinates along the axis.`, func(a *Args) ([]*uop.UOp, error) {
			axes := a.axes("axis")
			if axes == nil {
				for i := range a.X.Shape() {
					axes = append(axes, i)
				}
			}
			at, err := a.spacing("spacing")
			if err != nil {
				return nil, err
			}
			var all []*uop.UOp
			for _, axis := range axes {
				r, err := tensor.FiniteGradient(a.X, at, axis, a.int("edge_order"))
				if err != nil {
					return nil, err
				}
				all = append(all, r)
			}
			return all, nil
		}),
		inNumpy("trapezoid", "x operand = 1, axis int = -1", "The integral along an axis by the trapezoidal rule.\nx is the distance between elements, or their coordinates.", func(a *Args) (*uop.UOp, error) {
			at, err := a.spacing("x")
			if err != nil {
				return nil, err
			}
			return tensor.Trapezoid(a.X, at, a.axis("axis"))
		}),
		inNumpy("unwrap", "discont float?, axis int = -1, period float = 6.283185307179586", "Angles along an axis with multiples of the period added, so that there are no jumps.\nA jump is a difference of neighbours above discont, which is at least half the period.", func(a *Args) (*uop.UOp, error) {
			return tensor.Unwrap(a.X, a.optional("discont"), a.axis("axis"), a.float("period"))
		}),
		inNumpy("interp", "xp tensor, fp tensor, left float?, right float?, period float?", "The piecewise linear interpolation at x of the points (xp, fp), for ascending xp.\nleft and right are the values below and above all points, by default those of the end points. With a period x is periodic, and the points may be in\nany order.", func(a *Args) (*uop.UOp, error) {
			if p := a.optional("period"); p != nil {
				return tensor.InterpPeriodic(a.X, a.tensor("xp"), a.tensor("fp"), *p)
			}
			return tensor.Interp(a.X, a.tensor("xp"), a.tensor("fp"), a.optional("left"), a.optional("right"))
		}),
	}
}
