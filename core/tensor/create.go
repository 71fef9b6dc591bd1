package tensor

import (
	"math"

	"polygrad/core/uop"
)

// full is a tensor of one value. Its CONST has a UNIQUE source, so it is never shared with another tensor.
func full(g *uop.Graph, s uop.Shape, v uop.Const, dt *uop.DType) *uop.UOp {
	needShape("shape", s)
	if dt.IsComplex() {
		return uop.ComplexPair(full(g, s, v, dt.Plane()), full(g, s, uop.Int(0), dt.Plane()))
	}
	src := []*uop.UOp{g.NewUnique(), g.DeviceOp(DeviceName)}
	c := g.New(uop.ConstOp, dt, src, v.As(dt), nil)
	return c.Reshape(onesShape(len(s))).Expand(s)
}

func fullLike(x *uop.UOp, v operand) *uop.UOp {
	return full(x.Graph(), x.Shape(), constOf(v), x.DType)
}

// ceilDiv is the quotient of two numbers rounded up.
func ceilDiv(a, b uop.Const) uop.Const {
	if a.IsFloat() || b.IsFloat() {
		return uop.Float(math.Ceil(a.F() / b.F()))
	}
	return a.Neg().FloorDiv(b).Neg()
}

// arange is start, start+step … before stop: the running sum of a constant.
func arange(g *uop.Graph, start, stop, step uop.Const, dt *uop.DType) *uop.UOp {
	if !step.Truth() || step.F() != step.F() {
		fail("step", "is %s, expected a number that is not 0", step)
	}
	last := stop.Sub(step)
	if start.Less(dt.Min()) || dt.Max().Less(last) {
		fail("dtype", "%s does not hold the values %s..%s, expected a wider type", dt, start, stop)
	}
	count := ceilDiv(stop.Sub(start), step)
	n := count.F()
	if n != n || n > maxElements {
		fail("stop", "%s gives too many elements from %s by %s, expected fewer than 2^59", stop, start, step)
	}
	if n <= 0 {
		return nothing(g, dt)
	}
	if last.Less(dt.Min()) || dt.Max().Less(start) { // descending
		fail("dtype", "%s does not hold the values %s..%s, expected a wider type", dt, start, stop)
	}
	if n > mostScanned {
		return cast(add(mul(cast(countInRows(g, int64(n)), dt), step), start), dt)
	}
	ones := full(g, uop.ShapeOf(int64(n)), step, dt)
	return cast(add(cumulate(ones, 0, uop.Add, false), start.Sub(step)), dt)
}

// mostScanned is the longest arange that is a running sum: the windows of one have more elements than the square of its length.
const mostScanned = 1 << 28

// countInRows is 0..n-1, made as a matrix, row after row.
func countInRows(g *uop.Graph, n int64) *uop.UOp {
	const columns = 1 << 16
	rows := (n + columns - 1) / columns
	first := arange(g, uop.Int(0), uop.Int(rows*columns), uop.Int(columns), uop.Int64)
	inRow := arange(g, uop.Int(0), uop.Int(columns), uop.Int(1), uop.Int64)
	return shrinkTo(flatten(add(unsqueeze(first, -1), inRow), 0, -1), uop.ShapeOf(n))
}

// count0 is 0..n-1 as int32, or int64 if the numbers need it.
func count0(g *uop.Graph, n int64) *uop.UOp {
	return arange(g, uop.Int(0), uop.Int(n), uop.Int(1), counts(n))
}

// counts is int32, or int64 where n or the numbers below it need it.
func counts(n int64) *uop.DType {
	if n > math.MaxInt32 {
		return uop.Int64
	}
	return uop.Int32
}

// nothing is an empty tensor: a constant, which needs no memory, or in graphs as tinygrad builds them a buffer.
func nothing(g *uop.Graph, dt *uop.DType) *uop.UOp {
	none := full(g, uop.ShapeOf(0), uop.Int(0), dt)
	if asTinygrad(none) {
		return emptyBuffer(g, uop.ShapeOf(0), dt)
	}
	return none
}

func emptyBuffer(g *uop.Graph, s uop.Shape, dt *uop.DType) *uop.UOp {
	needShape("shape", s)
	n := int64(1)
	for _, d := range s {
		n *= d.Max()
	}
	b := g.NewBuffer(DeviceName, n, dt)
	return reshape(shrink(b, []uop.Pair{whole(numel("shape", s))}), s)
}

// tri is true where column >= row + diagonal.
func tri(g *uop.Graph, rows, cols, diagonal int64) *uop.UOp {
	r := add(unsqueeze(count0(g, rows), -1), int(diagonal))
	return le(r, count0(g, cols))
}

func triu(x *uop.UOp, diagonal int64) *uop.UOp {
	return where(triFor(x, diagonal), x, fullLike(x, 0))
}

func tril(x *uop.UOp, diagonal int64) *uop.UOp {
	return where(triFor(x, diagonal+1), fullLike(x, 0), x)
}

func triFor(x *uop.UOp, diagonal int64) *uop.UOp {
	s := x.Shape()
	if len(s) < 2 {
		fail("x", "has %d dimensions, expected 2 or more", len(s))
	}
	rows, cols := s[len(s)-2], s[len(s)-1]
	return shrinkTo(tri(x.Graph(), rows.Max(), cols.Max(), diagonal), uop.Shape{rows, cols})
}

// Full is a tensor of one value. It is never shared with another tensor, so it may be assigned to.
func Full(g *uop.Graph, shape uop.Shape, v uop.Const, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("Full", &err)
	needType("dtype", dt)
	needHeld("fill_value", dt, v)
	return full(g, shape, v, dt), nil
}

// Filled is Full with the only element of the tensor x. A nil type means the type of x, or complex64 if x is a complex constant.
func Filled(shape uop.Shape, x *uop.UOp, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("Full", &err)
	need("fill_value", x)
	if n := numel("fill_value", x.Shape()); !n.IsNum(1) {
		fail("fill_value", "has shape %s, expected one element", x.Shape())
	}
	x = reshape(x, uop.Shape{})
	if dt == nil {
		if dt = x.DType; x.DType.IsComplex() && isNumber(complexOf(x)) {
			dt = uop.Complex64
		}
	}
	if !dt.IsComplex() || !isNumber(complexOf(x)) {
		return expand(cast(x, dt).ContiguousOp(), shape).ContiguousOp(), nil
	}
	re, im := x.Planes()
	part := func(u *uop.UOp) *uop.UOp { return full(x.Graph(), shape, u.Base().ConstVal(), dt.Plane()) }
	return uop.ComplexPair(part(re), part(im)), nil
}

// isNumber reports whether planes are constants.
func isNumber(z complexPlanes) bool {
	return z.re.Base().Op == uop.ConstOp && (z.im == nil || z.im.Base().Op == uop.ConstOp)
}

// FullLike is a tensor of one value with the shape and type of x.
func FullLike(x *uop.UOp, v uop.Const) (r *uop.UOp, err error) {
	defer guard("FullLike", &err)
	need("x", x)
	needHeld("fill_value", x.DType, v)
	return fullLike(x, v), nil
}

// Empty is a view of a fresh buffer whose contents are undefined.
func Empty(g *uop.Graph, shape uop.Shape, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("Empty", &err)
	needType("dtype", dt)
	return emptyBuffer(g, shape, dt), nil
}

// Arange is start, start+step … while before stop: ceil((stop-start)/step) values, none if that is not positive. A nil type
// means int32 if all three are integers, else float32.
func Arange(g *uop.Graph, start, stop, step uop.Const, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("Arange", &err)
	if dt == nil {
		dt = uop.DefaultInt
		if start.IsFloat() || stop.IsFloat() || step.IsFloat() {
			dt = uop.DefaultFloat
		}
	}
	needType("dtype", dt)
	return arange(g, start, stop, step, dt), nil
}

// ArangeSizes is Arange of integers that may be symbolic; step is positive.
func ArangeSizes(g *uop.Graph, start, stop, step uop.Sint, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("ArangeSizes", &err)
	needType("dtype", dt)
	if lo, _ := sizeBounds(step); lo < 1 {
		fail("step", "%s may be less than 1, expected 1 or more", step)
	}
	if !possible(start, stop) {
		fail("stop", "%s is less than the start, expected %s or more", sizeText(stop), sizeText(start))
	}
	n, _ := sizeDivMod(g, stop.Sub(start).Add(step.Sub(uop.N(1))), step)
	x := shrinkTo(count0(g, n.Max()), uop.Shape{n})
	tensorOf := func(s uop.Sint) operand {
		if s.Symbolic() {
			return sizeTensor(x, s.U)
		}
		return int(s.N)
	}
	return cast(add(mul(x, tensorOf(step)), tensorOf(start)), dt), nil
}

// Linspace is steps values from start to stop, both included: start + arange(steps) * ((stop-start)/(steps-1)).
func Linspace(g *uop.Graph, start, stop uop.Const, steps int64, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("Linspace", &err)
	needType("dtype", dt)
	switch {
	case dt.IsBool():
		fail("dtype", "is bool, expected a number type")
	case steps < 0:
		fail("steps", "%d, expected 0 or more", steps)
	case steps == 0:
		return nothing(g, dt), nil
	case steps == 1:
		return full(g, uop.ShapeOf(1), start, dt), nil
	}
	by := (stop.F() - start.F()) / float64(steps-1)
	i := count0(g, steps)
	if dt == uop.Float64 {
		i = cast(i, dt)
	}
	return cast(add(start, mul(i, by)), dt), nil
}

// Eye is the n x m matrix with ones on its diagonal.
func Eye(g *uop.Graph, n, m int64, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("Eye", &err)
	needType("dtype", dt)
	if n < 0 {
		fail("n", "%d, expected 0 or more", n)
	}
	if m < 0 {
		fail("m", "%d, expected 0 or more", m)
	}
	return eye(g, n, m, dt), nil
}

func eye(g *uop.Graph, n, m int64, dt *uop.DType) *uop.UOp {
	return cast(eq(unsqueeze(count0(g, n), -1), count0(g, m)), dt)
}

// Triu keeps the upper triangle of the last two axes (column >= row + diagonal); the rest is 0.
func Triu(x *uop.UOp, diagonal int64) (r *uop.UOp, err error) {
	defer guard("Triu", &err)
	need("x", x)
	return triu(x, diagonal), nil
}

// Tril keeps the lower triangle of the last two axes (column <= row + diagonal); the rest is 0.
func Tril(x *uop.UOp, diagonal int64) (r *uop.UOp, err error) {
	defer guard("Tril", &err)
	need("x", x)
	return tril(x, diagonal), nil
}
