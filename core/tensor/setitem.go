package tensor

import (
	"polygrad/core/uop"
)

// setItem is x with x[entries…] replaced by v.
func setItem(x, v *uop.UOp, entries []Index) *uop.UOp {
	if x.DType.IsComplex() {
		z, w := complexOf(x), complexOf(cast(v, x.DType))
		return complexPlanes{setItem(z.re, w.re, entries), setItem(z.imag(), w.imag(), entries)}.joined()
	}
	entries = fillEllipsis(entries, len(x.Shape()))
	parsed := parseIndices(x, entries)
	y, axes := sliceAxes(x, parsed)
	v = cast(v, x.DType)
	t := takesOf(axes)
	if len(t.ts) == 0 {
		return setSlices(x, v, y.Shape(), parsed)
	}
	y = t.set(y, v)
	rest := make([]Index, len(entries))
	whole := true
	for i, e := range entries {
		if e.kind == indexTake {
			e = Whole()
		}
		rest[i] = e
		whole = whole && e == Whole()
	}
	if whole {
		return y
	}
	return setItem(x, y, rest)
}

// set replaces the elements that the index tensors select.
func (t takes) set(x, v *uop.UOp) *uop.UOp {
	r, mask, axes, moved := t.masked(x)
	s, ok := broadcastShape(r.Shape(), v.Shape())
	if !ok || !s.Equal(r.Shape()) {
		fail("value", "of shape %s, expected one that broadcasts to %s", v.Shape(), r.Shape())
	}
	v = broadcastTo(v, s)
	if r, ok := t.scatter(x, v, scatterSet); ok {
		return r
	}
	for _, a := range axes {
		v = unsqueeze(v, a)
	}
	first := t.at[0]
	if moved {
		first = 0
	}
	spread := countTo(len(t.shape))
	for i := range spread {
		spread[i] += first
	}
	return maskedSet(x, v, mask, spread)
}

// setSlices puts v, spread over the steps and padded, where a mask over every axis is true. s is the shape of the slices.
func setSlices(x, v *uop.UOp, s uop.Shape, parsed []parsedIndex) *uop.UOp {
	v = broadcastTo(v, s)
	xs := x.Shape()
	sizes := uop.Shape{}
	var used []parsedIndex
	for _, p := range parsed {
		if p.kind == indexNew {
			if p.bounds.Hi.IsNum(0) {
				return x
			}
			continue
		}
		used = append(used, p)
		if p.kind == indexAt {
			sizes = append(sizes, uop.N(1))
		} else {
			sizes = append(sizes, p.size)
		}
	}
	v = reshape(v, sizes)
	mask := constant(x, uop.Bool, uop.BoolConst(true))
	var back []int
	pads := make([]uop.Pair, len(used))
	for d, p := range used {
		n := intSize("x", xs, d)
		if p.bounds.Lo.Symbolic() || p.bounds.Hi.Symbolic() {
			fail("index", "axis %d has symbolic bounds, expected numbers without variables", d)
		}
		lo, hi, step := p.bounds.Lo.N, p.bounds.Hi.N, absInt(p.stride)
		if step != 1 && hi-lo > 1 {
			v = unstride(v, d, step, hi-lo)
		}
		idx := reshape(count0(x.Graph(), n), joinShapes(onesShape(d), uop.ShapeOf(n), onesShape(len(xs)-d-1)))
		at := sub(idx, int(lo))
		if p.stride < 0 {
			back = append(back, d)
			at = sub(int(hi-1), idx)
		}
		hit := bitAnd(bitAnd(ge(idx, int(lo)), lt(idx, int(hi))), eq(mod(at, int(step)), 0))
		if d == 0 {
			mask = hit
		} else {
			mask = bitAnd(mask, hit)
		}
		pads[d] = pairOf(lo, n-hi)
	}
	return where(mask, pad(flip(v, back...), pads, 0), x)
}

// unstride inserts step-1 zeros after every element of an axis and crops it to n.
func unstride(v *uop.UOp, axis int, step, n int64) *uop.UOp {
	v = padAxis(unsqueeze(v, axis+1), axis+1, 0, step-1, 0)
	v = flatten(v, axis, axis+1)
	return shrinkAxis(v, axis, uop.N(0), uop.N(n))
}

// SetItem is x with the part x[entries…] replaced by value, which is converted to the type of x and broadcast.
// Where index tensors repeat an index, the last value wins.
func SetItem(x, value *uop.UOp, entries ...Index) (r *uop.UOp, err error) {
	defer guard("SetItem", &err)
	needSame("operands", x, value)
	return setItem(x, value, entries), nil
}
