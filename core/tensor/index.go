package tensor

import (
	"polygrad/core/uop"
)

type indexKind uint8

const (
	indexAt indexKind = iota
	indexSlice
	indexRange
	indexNew
	indexRest
	indexTake
)

// Index is one entry of an indexing expression; see At, Slice, Range, NewAxis, Ellipsis and Take.
type Index struct {
	kind        indexKind
	lo, hi      uop.Sint
	start, stop *int64
	step        int64
	t           *uop.UOp
}

// At picks one element of an axis, which disappears; negative numbers count from the end.
func At(i int64) Index { return Index{kind: indexAt, lo: uop.N(i)} }

// AtSize picks one element of an axis by a size that may be symbolic.
func AtSize(i uop.Sint) Index { return Index{kind: indexAt, lo: i} }

// Slice is Python's start:stop:step; nil leaves a bound open, a negative step goes backwards.
func Slice(start, stop *int64, step int64) Index {
	return Index{kind: indexSlice, start: start, stop: stop, step: step}
}

// Whole is the slice of a whole axis.
func Whole() Index { return Slice(nil, nil, 1) }

// Range keeps lo..hi-1, where the bounds may be symbolic.
func Range(lo, hi uop.Sint) Index { return Index{kind: indexRange, lo: lo, hi: hi} }

// NewAxis inserts an axis of size 1.
func NewAxis() Index { return Index{kind: indexNew} }

// Ellipsis stands for whole axes, as many as are left over.
func Ellipsis() Index { return Index{kind: indexRest} }

// Take picks elements of an axis by an integer tensor, whose shape takes the place of the axis.
// Negative numbers count from the end; numbers out of range give 0.
func Take(t *uop.UOp) Index { return Index{kind: indexTake, t: t} }

// parsedIndex is an entry after its bounds are known.
type parsedIndex struct {
	kind   indexKind
	size   uop.Sint // of the result axis
	bounds uop.Pair
	stride int64
	t      *uop.UOp
}

// index is x[entries…].
func index(x *uop.UOp, entries ...Index) *uop.UOp {
	parsed := parseIndices(x, entries)
	x, axes := sliceAxes(x, parsed)
	return takeAxes(x, axes)
}

// fillEllipsis replaces the ellipsis, or the missing end, by whole axes.
func fillEllipsis(entries []Index, n int) []Index {
	used, rest := 0, -1
	for i, e := range entries {
		switch e.kind {
		case indexRest:
			if rest >= 0 {
				fail("index", "has more than one ellipsis")
			}
			rest = i
		case indexNew:
		default:
			used++
		}
	}
	if used > n {
		fail("index", "has too many entries, %d for %d dimensions", used, n)
	}
	var out []Index
	if rest < 0 {
		rest = len(entries)
	}
	out = append(out, entries[:rest]...)
	for range n - used {
		out = append(out, Whole())
	}
	if rest < len(entries) {
		out = append(out, entries[rest+1:]...)
	}
	return out
}

func parseIndices(x *uop.UOp, entries []Index) []parsedIndex {
	s := x.Shape()
	var out []parsedIndex
	axis := 0
	for _, e := range fillEllipsis(entries, len(s)) {
		p := parsedIndex{kind: e.kind, size: uop.N(1), stride: 1, t: e.t}
		if e.kind != indexNew {
			p.size = s[axis]
			p.bounds = whole(s[axis])
			p.parse(x, e, axis)
			axis++
		}
		out = append(out, p)
	}
	return out
}

func (p *parsedIndex) parse(x *uop.UOp, e Index, axis int) {
	switch e.kind {
	case indexTake:
		need("index", e.t)
		needInt("index", e.t)
		if e.t.Graph() != x.Graph() {
			fail("index", "an index tensor belongs to a different context")
		}
		if p.size.Symbolic() {
			fail("index", "axis %d has the symbolic size %s, need a number for an index tensor", axis, p.size)
		}
		p.t = where(lt(e.t, 0), add(e.t, int(p.size.N)), e.t)
	case indexAt:
		lo := e.lo
		if !lo.Symbolic() && !p.size.Symbolic() {
			n := p.size.N
			if lo.N >= n || lo.N < -n {
				fail("index", "%d is out of bounds for axis %d of size %d", lo.N, axis, n)
			}
		}
		if !lo.Symbolic() && lo.N < 0 {
			lo = lo.Add(p.size)
		}
		p.bounds = uop.Pair{Lo: lo, Hi: lo.Add(uop.N(1))}
	case indexSlice:
		p.parseSlice(e)
	case indexRange:
		p.bounds = uop.Pair{Lo: e.lo, Hi: e.hi}
		p.size = e.hi.Sub(e.lo)
	}
}

func (p *parsedIndex) parseSlice(e Index) {
	if e.step == 0 {
		fail("index", "a slice has step 0")
	}
	if p.size.Symbolic() && e.start == nil && e.stop == nil && e.step == 1 {
		return
	}
	n := p.size.Max()
	lo, hi := sliceBounds(e, n)
	p.stride = e.step
	switch {
	case (e.step > 0) != (hi > lo):
		lo, hi = 0, 0
	case e.step < 0:
		lo, hi = hi+1, lo+1
	}
	p.bounds = pairOf(lo, hi)
	p.size = uop.N(ceil64(hi-lo, absInt(e.step)))
}

// sliceBounds is Python's slice.indices.
func sliceBounds(e Index, n int64) (lo, hi int64) {
	first, last := int64(0), n
	if e.step < 0 {
		first, last = -1, n-1
	}
	clip := func(v *int64, open int64) int64 {
		if v == nil {
			return open
		}
		i := *v
		if i < 0 {
			return max(i+n, first)
		}
		return min(i, last)
	}
	if e.step > 0 {
		return clip(e.start, first), clip(e.stop, last)
	}
	return clip(e.start, last), clip(e.stop, first)
}

func absInt(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// sliceAxes does what movement operations can do: bounds, steps, picked and new axes. It returns
// the entries of the axes that are left.
func sliceAxes(x *uop.UOp, parsed []parsedIndex) (*uop.UOp, []parsedIndex) {
	var bounds []uop.Pair
	var back []int
	var steps []int64
	stepped := false
	for _, p := range parsed {
		if p.kind == indexNew {
			continue
		}
		if p.stride < 0 {
			back = append(back, len(bounds))
		}
		bounds = append(bounds, p.bounds)
		steps = append(steps, absInt(p.stride))
		stepped = stepped || steps[len(steps)-1] != 1
	}
	if len(bounds) > 0 {
		x = flip(shrink(x, bounds), back...)
		if stepped {
			x = everyNth(x, steps)
		}
	}
	var left []parsedIndex
	var sizes uop.Shape
	for _, p := range parsed {
		if p.kind != indexAt {
			left = append(left, p)
			sizes = append(sizes, p.size)
		}
	}
	return reshape(x, joinShapes(sizes)), left
}

// everyNth keeps every step-th element of each axis: pad to a multiple, split, keep the first.
func everyNth(x *uop.UOp, steps []int64) *uop.UOp {
	s := intShape("x", x.Shape())
	var padded, split, first, out uop.Shape
	for i, st := range steps {
		n := (s[i] + st - 1) / st
		padded = append(padded, uop.N(n*st))
		split = append(split, uop.N(n), uop.N(st))
		first = append(first, uop.N(n), uop.N(1))
		out = append(out, uop.N(n))
	}
	return reshape(shrinkTo(reshape(padTo(x, padded), split), first), out)
}

// oneHot compares x with 0..classes-1 laid along an axis of x.
func oneHot(x *uop.UOp, classes int64, axis int) *uop.UOp {
	needInt("index", x)
	n := len(x.Shape())
	axis = axisOf("dim", axis, n)
	numbers := reshape(count0(x.Graph(), classes), joinShapes(uop.ShapeOf(classes), onesShape(n-axis-1)))
	return eq(x, numbers)
}

// GetItem is x[entries…]: numbers, slices, new axes, an ellipsis and integer tensors, as in numpy.
func GetItem(x *uop.UOp, entries ...Index) (r *uop.UOp, err error) {
	defer guard("GetItem", &err)
	need("x", x)
	return index(x, entries...), nil
}
