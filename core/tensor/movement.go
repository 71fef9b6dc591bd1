package tensor

import (
	"math"
	"slices"

	"polygrad/core/uop"
)

// maxElements bounds the number of elements of any tensor, views included: byte offsets stay inside an int64.
const maxElements = math.MaxInt64 / 16

// numel is the product of the sizes; overflow is an error.
func numel(arg string, s uop.Shape) uop.Sint {
	total, most := uop.N(1), int64(1)
	for _, d := range s {
		if d.IsNum(0) {
			return uop.N(0)
		}
		if m := d.Max(); m > 0 && most > maxElements/m {
			fail(arg, "shape %s has too many elements, expected fewer than 2^59", s)
		} else {
			most *= m
		}
		total = total.Mul(d)
	}
	return total
}

func needShape(arg string, s uop.Shape) {
	for i, d := range s {
		if !possible(uop.N(0), d) {
			fail(arg, "axis %d has the size %s, expected 0 or more", i, d)
		}
	}
	numel(arg, s)
}

func onesShape(n int) uop.Shape {
	s := make(uop.Shape, n)
	for i := range s {
		s[i] = uop.N(1)
	}
	return s
}

func joinShapes(parts ...uop.Shape) uop.Shape {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := make(uop.Shape, 0, n)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func reshape(x *uop.UOp, s uop.Shape) *uop.UOp {
	have := x.Shape()
	infer := -1
	out := joinShapes(s)
	for i, d := range s {
		if !d.IsNum(-1) {
			continue
		}
		if infer >= 0 {
			fail("shape", "%s has more than one -1, expected at most one", s)
		}
		infer, out[i] = i, uop.N(1)
	}
	needShape("shape", out)
	total, need := numel("x", have), numel("shape", out)
	if infer >= 0 {
		switch {
		case need.IsNum(0):
			fail("shape", "cannot infer the -1 in %s, expected other sizes than 0", s)
		case !need.Symbolic() && !total.Symbolic() && total.N%need.N != 0:
			fail("shape", "cannot reshape %s to %s: %s elements, expected a multiple of %s", have, s, total, need)
		}
		out[infer] = total.Div(need)
		if (total.Symbolic() || need.Symbolic()) && out[infer].Mul(need) != total {
			fail("shape", "cannot reshape %s to %s: %s elements, expected a multiple of %s", have, s, total, need)
		}
	} else if total != need {
		fail("shape", "cannot reshape %s to %s: %s elements, expected %s", have, s, total, need)
	}
	return x.Reshape(out)
}

// dims is reshape to plain numbers.
func dims(x *uop.UOp, s ...int64) *uop.UOp { return reshape(x, uop.ShapeOf(s...)) }

// alignLeft puts sizes of 1 before a shape until it has n dimensions.
func alignLeft(s uop.Shape, n int) uop.Shape {
	out := onesShape(max(n, len(s)))
	copy(out[len(out)-len(s):], s)
	return out
}

func broadcastTo(x *uop.UOp, s uop.Shape) *uop.UOp {
	have := x.Shape()
	if have.Equal(s) {
		return x
	}
	if len(have) > len(s) {
		fail("shape", "cannot broadcast %s to %s, expected %d dimensions or more", have, s, len(have))
	}
	from := alignLeft(have, len(s))
	for i := range s {
		if from[i] != s[i] && !from[i].IsNum(1) {
			fail("shape", "cannot broadcast %s to %s, expected the same sizes where x has not 1", have, s)
		}
	}
	needShape("shape", s)
	return x.Reshape(from).Expand(s)
}

// expand is broadcastTo with -1 for sizes to keep.
func expand(x *uop.UOp, s uop.Shape) *uop.UOp {
	from := alignLeft(x.Shape(), len(s))
	to := alignLeft(s, len(from))
	for i := range to {
		if to[i].IsNum(-1) {
			to[i] = from[i]
		}
	}
	return broadcastTo(x, to)
}

func permute(x *uop.UOp, order []int) *uop.UOp {
	n := len(x.Shape())
	out := axesOf("order", order, n)
	if len(order) != n {
		fail("order", "%v is no permutation, expected each of %d axes once", order, n)
	}
	return x.Permute(out)
}

func flip(x *uop.UOp, axes ...int) *uop.UOp {
	flags := make([]bool, len(x.Shape()))
	for _, a := range axesOf("axes", axes, len(flags)) {
		flags[a] = true
	}
	return x.Flip(flags)
}

func shrink(x *uop.UOp, ps []uop.Pair) *uop.UOp {
	s := x.Shape()
	if len(ps) != len(s) {
		fail("bounds", "has %d pairs, expected one for each of %d dimensions", len(ps), len(s))
	}
	for i, p := range ps {
		if !possible(uop.N(0), p.Lo) || !possible(p.Lo, p.Hi) || !possible(p.Hi, s[i]) {
			fail("bounds", "(%s,%s) is out of range for axis %d, expected 0 to %s in order", sizeText(p.Lo), sizeText(p.Hi), i, sizeText(s[i]))
		}
	}
	x, ps = roomFor(x, ps)
	return x.Shrink(ps)
}

// roomFor pads a tensor with zeros where symbolic bounds exceed it for some values of their variables, so that no index leaves
// its memory, and shifts the bounds accordingly.
func roomFor(x *uop.UOp, ps []uop.Pair) (*uop.UOp, []uop.Pair) {
	s := x.Shape()
	room, moved := make([]uop.Pair, len(s)), slices.Clone(ps)
	short := false
	for i, p := range ps {
		lo, _ := sizeBounds(p.Lo)
		_, hi := sizeBounds(p.Hi)
		if lo < 0 {
			room[i].Lo, short = uop.N(-lo), true
			moved[i] = uop.Pair{Lo: p.Lo.Add(uop.N(-lo)), Hi: p.Hi.Add(uop.N(-lo))}
		}
		if !s[i].Symbolic() && hi > s[i].N {
			room[i].Hi, short = uop.N(hi-s[i].N), true
		}
	}
	if short {
		x = x.Pad(room)
	}
	return x, moved
}

// whole is the pair that keeps an axis in a shrink.
func whole(d uop.Sint) uop.Pair { return uop.Pair{Lo: uop.N(0), Hi: d} }

// wholes are the pairs that keep every axis.
func wholes(s uop.Shape) []uop.Pair {
	ps := make([]uop.Pair, len(s))
	for i, d := range s {
		ps[i] = whole(d)
	}
	return ps
}

// shrinkTo cuts every axis to the given size, from its beginning.
func shrinkTo(x *uop.UOp, s uop.Shape) *uop.UOp { return shrink(x, wholes(s)) }

// shrinkAxis keeps lo..hi-1 of one axis.
func shrinkAxis(x *uop.UOp, axis int, lo, hi uop.Sint) *uop.UOp {
	ps := wholes(x.Shape())
	ps[axis] = uop.Pair{Lo: lo, Hi: hi}
	return shrink(x, ps)
}

func pairOf(lo, hi int64) uop.Pair { return uop.Pair{Lo: uop.N(lo), Hi: uop.N(hi)} }

// padAxis pads one axis.
func padAxis(x *uop.UOp, axis int, before, after int64, value operand) *uop.UOp {
	ps := make([]uop.Pair, len(x.Shape()))
	ps[axis] = pairOf(before, after)
	return pad(x, ps, value)
}

// pad adds elements of a value around x; negative amounts crop.
func pad(x *uop.UOp, ps []uop.Pair, value operand) *uop.UOp {
	s := x.Shape()
	if len(ps) != len(s) {
		fail("padding", "has %d pairs, expected one for each of %d dimensions", len(ps), len(s))
	}
	cut, negative := wholes(s), false
	grow, out := slices.Clone(ps), joinShapes(s)
	for i, p := range ps {
		if !p.Lo.Symbolic() && p.Lo.N < 0 {
			cut[i].Lo, grow[i].Lo, negative = uop.N(-p.Lo.N), uop.N(0), true
		}
		if !p.Hi.Symbolic() && p.Hi.N < 0 {
			cut[i].Hi, grow[i].Hi, negative = s[i].Add(p.Hi), uop.N(0), true
		}
		for _, v := range []uop.Sint{p.Lo, p.Hi} {
			if v.N > maxElements {
				fail("padding", "%d is too large, expected at most %d", v.N, int64(maxElements))
			}
			if v.Symbolic() && !possible(uop.N(0), v) {
				fail("padding", "%s is negative, expected 0 or more", sizeText(v))
			}
		}
		out[i] = cut[i].Hi.Sub(cut[i].Lo).Add(grow[i].Lo).Add(grow[i].Hi)
	}
	needShape("padding", out)
	if negative {
		x = shrink(x, cut)
	}
	padded := x.Pad(grow)
	switch v := constOf(value); {
	case v.EqInt(0) && !math.Signbit(v.F()):
		return padded
	case asTinygrad(x):
		return add(padded, where(fullLike(x, 1).Pad(grow), 0, value))
	}
	inside := x.Graph().DeviceConst(uop.Bool, uop.BoolConst(true), deviceOf(x), x.Shape()).Pad(grow)
	return where(inside, padded, value)
}

func padTo(x *uop.UOp, s uop.Shape) *uop.UOp {
	ps := make([]uop.Pair, len(s))
	for i, d := range x.Shape() {
		ps[i] = uop.Pair{Lo: uop.N(0), Hi: s[i].Sub(d)}
	}
	return pad(x, ps, 0)
}

// transpose swaps two axes; a scalar or vector stays as it is.
func transpose(x *uop.UOp, a, b int) *uop.UOp {
	n := len(x.Shape())
	a, b = axisOf("dim0", a, n), axisOf("dim1", b, n)
	if n == 0 {
		return x
	}
	order := countTo(n)
	order[a], order[b] = order[b], order[a]
	return permute(x, order)
}

// countTo is 0..n-1.
func countTo(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}

func squeezeAll(x *uop.UOp) *uop.UOp {
	out := uop.Shape{}
	for _, d := range x.Shape() {
		if !d.IsNum(1) {
			out = append(out, d)
		}
	}
	return reshape(x, out)
}

func squeeze(x *uop.UOp, axis int) *uop.UOp {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	if len(s) == 0 || !s[axis].IsNum(1) {
		return x
	}
	return reshape(x, joinShapes(s[:axis], s[axis+1:]))
}

func unsqueeze(x *uop.UOp, axis int) *uop.UOp {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s)+1)
	return reshape(x, joinShapes(s[:axis], uop.ShapeOf(1), s[axis:]))
}

func flatten(x *uop.UOp, from, to int) *uop.UOp {
	s := x.Shape()
	from, to = axisOf("start_dim", from, len(s)), axisOf("end_dim", to, len(s))
	if len(s) == 0 {
		return reshape(x, uop.ShapeOf(1))
	}
	if from > to {
		fail("start_dim", "%d is behind end_dim, expected at most %d", from, to)
	}
	return reshape(x, joinShapes(s[:from], uop.Shape{numel("x", s[from:to+1])}, s[to+1:]))
}

func unflatten(x *uop.UOp, axis int, sizes uop.Shape) *uop.UOp {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	needAxes("x", x)
	return reshape(x, joinShapes(s[:axis], sizes, s[axis+1:]))
}

// repeat tiles x; repeats align with the axes at the right.
func repeat(x *uop.UOp, reps []uop.Sint) *uop.UOp {
	base := alignLeft(x.Shape(), len(reps))
	if len(base) != len(reps) {
		fail("repeats", "has %d entries, expected one for each of %d dimensions", len(reps), len(base))
	}
	var one, many, out uop.Shape
	for i, r := range reps {
		if !r.Symbolic() && r.N < 0 {
			fail("repeats", "%d, expected 0 or more", r.N)
		}
		if r.IsNum(1) {
			one, many = append(one, base[i]), append(many, base[i])
		} else {
			one, many = append(one, uop.N(1), base[i]), append(many, r, base[i])
		}
	}
	needShape("repeats", many)
	for i, r := range reps {
		out = append(out, r.Mul(base[i]))
	}
	return reshape(expand(reshape(x, one), many), out)
}

// repeatInterleave repeats every element along an axis.
func repeatInterleave(x *uop.UOp, n int64, axis int) *uop.UOp {
	s := x.Shape()
	axis = axisOf("dim", axis, len(s))
	needAxes("x", x)
	if n < 0 {
		fail("repeats", "%d, expected 0 or more", n)
	}
	x = reshape(x, joinShapes(s[:axis+1], uop.ShapeOf(1), s[axis+1:]))
	wide := joinShapes(s[:axis+1], uop.ShapeOf(n), s[axis+1:])
	needShape("repeats", wide)
	x = expand(x, wide)
	return reshape(x, joinShapes(s[:axis], uop.Shape{s[axis].Mul(uop.N(n))}, s[axis+1:]))
}
