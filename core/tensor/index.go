package tensor

import (
	"fmt"
	"slices"

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
	start, stop *uop.Sint
	step        int64
	t           *uop.UOp
}

// At selects one element and removes the axis; negative numbers count from the end.
func At(i int64) Index { return Index{kind: indexAt, lo: uop.N(i)} }

// AtSize is At with an index that may be symbolic.
func AtSize(i uop.Sint) Index { return Index{kind: indexAt, lo: i} }

// Slice is Python's start:stop:step; nil leaves a bound open, a negative step goes backwards.
func Slice(start, stop *int64, step int64) Index {
	size := func(v *int64) *uop.Sint {
		if v == nil {
			return nil
		}
		s := uop.N(*v)
		return &s
	}
	return SliceSizes(size(start), size(stop), step)
}

// SliceSizes is Slice with bounds that may be symbolic.
func SliceSizes(start, stop *uop.Sint, step int64) Index {
	return Index{kind: indexSlice, start: start, stop: stop, step: step}
}

// Whole is the slice of a whole axis.
func Whole() Index { return Slice(nil, nil, 1) }

// Range keeps lo..hi-1; the bounds may be symbolic.
func Range(lo, hi uop.Sint) Index { return Index{kind: indexRange, lo: lo, hi: hi} }

// NewAxis inserts an axis of size 1.
func NewAxis() Index { return newAxis(1) }

// newAxis inserts an axis of size 1 or 0.
func newAxis(size int64) Index { return Index{kind: indexNew, hi: uop.N(size)} }

// Ellipsis stands for all remaining axes.
func Ellipsis() Index { return Index{kind: indexRest} }

// Take selects elements of an axis by an integer tensor; its shape replaces the axis. Negative numbers count from the end;
// numbers out of range give 0. A tensor of bools is a mask: see WithoutMasks.
func Take(t *uop.UOp) Index { return Index{kind: indexTake, t: t} }

// isMask reports whether an entry is a mask: a tensor of bools that selects elements of one axis or more.
func (e Index) isMask() bool { return e.kind == indexTake && e.t.DType == uop.Bool }

// takes is the number of axes of the tensor that an entry indexes, 0 for an ellipsis.
func (e Index) takes() int {
	switch {
	case e.kind == indexNew || e.kind == indexRest:
		return 0
	case e.isMask():
		return len(e.t.Shape())
	}
	return 1
}

// WithoutMasks replaces the masks of an index expression by the positions where they are true. count tells how many these are. A mask that is a
// scalar becomes a new axis of size 1 or 0.
func WithoutMasks(x *uop.UOp, entries []Index, count func(mask *uop.UOp) (int64, error)) (out []Index, err error) {
	if !slices.ContainsFunc(entries, Index.isMask) {
		return entries, nil
	}
	defer guard("WithoutMasks", &err)
	s := x.Shape()
	for i, e := range entries {
		if !e.isMask() {
			out = append(out, e)
			continue
		}
		axis, rest := 0, false
		for _, before := range entries[:i] {
			axis, rest = axis+before.takes(), rest || before.kind == indexRest
		}
		if rest {
			axis = len(s)
			for _, after := range entries[i:] {
				axis -= after.takes()
			}
		}
		own := e.t.Shape()
		if len(own) == 0 && !slices.ContainsFunc(slices.Delete(slices.Clone(entries), i, i+1), func(e Index) bool { return e.kind == indexTake }) {
			n, err := count(e.t)
			if err != nil {
				return nil, err
			}
			out = append(out, newAxis(n))
			continue
		}
		if n := len(own); n == 0 || axis < 0 || axis+n > len(s) || !selectsAmong(own, s[axis:axis+n]) {
			axes := fmt.Sprintf("axis %d", axis)
			if n > 1 {
				axes = fmt.Sprintf("axes %d to %d", axis, axis+n-1)
			}
			fail("index", "a mask of shape %s, expected that of %s of a tensor of shape %s", own, axes, s)
		}
		n, err := count(e.t)
		if err != nil {
			return nil, err
		}
		places := nonzero(e.t, n)
		for k := range own {
			out = append(out, Take(index(places, Whole(), At(int64(k)))))
		}
	}
	return out, nil
}

// selectsAmong reports whether a mask of shape own may select among axes of sizes s: it has these sizes, or, where it selects
// nothing, 0, as in NumPy.
func selectsAmong(own, s uop.Shape) bool {
	for i, size := range own {
		if size != s[i] && !size.IsNum(0) {
			return false
		}
	}
	return true
}

// WholeMask is the mask that an index expression consists of, if it has the shape of x; else nil.
func WholeMask(x *uop.UOp, entries []Index) *uop.UOp {
	if len(entries) == 1 && entries[0].isMask() && entries[0].t.Shape().Equal(x.Shape()) {
		return entries[0].t
	}
	return nil
}

// parsedIndex is an entry with resolved bounds.
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
	return onTaken(x, axes)
}

// A Taken is an index tensor of an expression, and the axis that it indexes.
type Taken struct {
	Index *uop.UOp
	Axis  int
	Size  uop.Sint
}

// Takes are the index tensors of an expression for x.
func Takes(x *uop.UOp, entries ...Index) (taken []Taken, err error) {
	defer guard("GetItem", &err)
	if !slices.ContainsFunc(entries, func(e Index) bool { return e.kind == indexTake }) {
		return nil, nil
	}
	need("x", x)
	axis := 0
	for _, e := range fillEllipsis(entries, len(x.Shape())) {
		if e.kind == indexTake {
			need("index", e.t)
			taken = append(taken, Taken{e.t, axis, x.Shape()[axis]})
		}
		if e.kind != indexNew {
			axis++
		}
	}
	return taken, nil
}

// fillEllipsis replaces the ellipsis, or the missing end, by whole axes.
func fillEllipsis(entries []Index, n int) []Index {
	used, rest := 0, -1
	for i, e := range entries {
		switch e.kind {
		case indexRest:
			if rest >= 0 {
				fail("index", "has several ellipses, expected at most one")
			}
			rest = i
		case indexNew:
		default:
			used++
		}
	}
	if used > n {
		fail("index", "has too many entries, %d, expected at most %d, one for each dimension", used, n)
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
		if e.kind == indexNew {
			p.bounds = uop.Pair{Lo: uop.N(0), Hi: e.hi}
		} else {
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
			fail("index", "has a tensor of another context, expected one of the context of x")
		}
		var n operand = int(p.size.N)
		if p.size.Symbolic() {
			n = cast(sizeTensor(x, p.size.U), e.t.DType)
		}
		p.t = where(lt(e.t, 0), add(e.t, n), e.t)
	case indexAt:
		p.parseAt(e.lo, axis)
	case indexSlice:
		p.parseSlice(e)
	case indexRange:
		p.bounds = uop.Pair{Lo: e.lo, Hi: e.hi}
		p.size = e.hi.Sub(e.lo)
	}
}

// parseAt resolves an index to an element.
func (p *parsedIndex) parseAt(i uop.Sint, axis int) {
	given := i
	outside := func() {
		fail("index", "%s is out of bounds for axis %d of size %s", sizeText(given), axis, sizeText(p.size))
	}
	i = fromEnd(i, p.size)
	if !i.Symbolic() {
		if !certain(uop.N(0), i) || !certain(i.Add(uop.N(1)), p.size) {
			outside()
		}
	} else if !possible(uop.N(0), i) || !possible(i.Add(uop.N(1)), p.size) {
		outside()
	}
	p.bounds = uop.Pair{Lo: i, Hi: i.Add(uop.N(1))}
}

// fromEnd converts an index that counts from the end of an axis.
func fromEnd(i, n uop.Sint) uop.Sint {
	if _, hi := sizeBounds(i); hi < 0 {
		return i.Add(n)
	}
	return i
}

func (p *parsedIndex) parseSlice(e Index) {
	if e.step == 0 {
		fail("index", "a slice has step 0, expected another step")
	}
	lo, hi := sliceBounds(e, p.size)
	p.stride = e.step
	if e.step < 0 {
		lo, hi = hi.Add(uop.N(1)), lo.Add(uop.N(1))
	}
	p.bounds = uop.Pair{Lo: lo, Hi: hi}
	if !lo.Symbolic() && !hi.Symbolic() && lo.N >= hi.N {
		p.bounds = pairOf(0, 0)
	}
	n := p.bounds.Hi.Sub(p.bounds.Lo)
	if least, _ := sizeBounds(n); least < 0 && !possible(p.bounds.Lo, p.bounds.Hi) {
		fail("index", "the slice %s:%s ends before it begins, expected an end of %s or more", sizeText(lo), sizeText(hi), sizeText(lo))
	}
	p.size = ceilSize(n, absInt(e.step))
}

// sliceBounds is Python's slice.indices. Symbolic bounds must be inside of the axis.
func sliceBounds(e Index, n uop.Sint) (lo, hi uop.Sint) {
	first, last := uop.N(0), n
	if e.step < 0 {
		first, last = uop.N(-1), n.Sub(uop.N(1))
	}
	clip := func(v *uop.Sint, open uop.Sint) uop.Sint {
		if v == nil {
			return open
		}
		i := fromEnd(*v, n)
		switch {
		case v.Symbolic():
			if !possible(uop.N(0), i) || !possible(i, n) {
				fail("index", "%s is out of range for an axis of size %s", sizeText(*v), sizeText(n))
			}
			return i
		case v.N < 0 && !certain(first, i):
			return first
		case !certain(i, last):
			return last
		}
		return i
	}
	if e.step > 0 {
		return clip(e.start, first), clip(e.stop, last)
	}
	return clip(e.start, last), clip(e.stop, first)
}

// certain reports whether a <= b: for all values of their variables, or for the bound values.
func certain(a, b uop.Sint) bool {
	d := b.Sub(a)
	if lo, _ := sizeBounds(d); lo >= 0 {
		return true
	}
	n, ok := SizeValue(d)
	return ok && n >= 0
}

// possible reports whether a <= b for some values of their variables, or for the bound values.
func possible(a, b uop.Sint) bool {
	d := b.Sub(a)
	if n, ok := SizeValue(d); ok {
		return n >= 0
	}
	_, hi := sizeBounds(d)
	return hi >= 0
}

// ceilSize is a size divided by a number, rounded up.
func ceilSize(s uop.Sint, by int64) uop.Sint {
	if by == 1 {
		return s
	}
	return s.Add(uop.N(by - 1)).Div(uop.N(by))
}

func absInt(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}

// sliceAxes does the part of indexing that is movement operations: bounds, steps, single elements and new axes. It returns
// the entries of the remaining axes.
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
	empty := -1 // a new axis of size 0
	for _, p := range parsed {
		if p.kind == indexNew && p.bounds.Hi.IsNum(0) {
			empty = len(sizes)
		}
		if p.kind != indexAt {
			left = append(left, p)
			sizes = append(sizes, p.size)
		}
	}
	x = reshape(x, joinShapes(sizes))
	if empty >= 0 {
		x = shrinkAxis(x, empty, uop.N(0), uop.N(0))
	}
	return x, left
}

// everyNth keeps every step-th element of each axis: pad to a multiple, split, keep the first.
func everyNth(x *uop.UOp, steps []int64) *uop.UOp {
	var padded, split, first, out uop.Shape
	for i, d := range x.Shape() {
		st := steps[i]
		n := ceilSize(d, st)
		padded = append(padded, n.Mul(uop.N(st)))
		split = append(split, n, uop.N(st))
		first = append(first, n, uop.N(1))
		out = append(out, n)
	}
	return reshape(shrinkTo(reshape(padTo(x, padded), split), first), out)
}

// oneHot compares x with 0..classes-1 laid along an axis of x.
func oneHot(x *uop.UOp, classes int64, axis int) *uop.UOp {
	return oneOf(x, uop.N(classes), axis)
}

// oneOf is oneHot with a number of classes that may be symbolic.
func oneOf(x *uop.UOp, classes uop.Sint, axis int) *uop.UOp {
	needInt("index", x)
	n := len(x.Shape())
	axis = axisOf("dim", axis, n)
	numbers := front(count0(x.Graph(), classes.Max()), classes)
	return eq(x, reshape(numbers, joinShapes(uop.Shape{classes}, onesShape(n-axis-1))))
}

// front is the first n elements of a vector.
func front(x *uop.UOp, n uop.Sint) *uop.UOp {
	if !n.Symbolic() {
		return x
	}
	return shrinkAxis(x, 0, uop.N(0), n)
}

// GetItem is x[entries…]: numbers, slices, new axes, an ellipsis and integer tensors, as in numpy.
func GetItem(x *uop.UOp, entries ...Index) (r *uop.UOp, err error) {
	defer guard("GetItem", &err)
	need("x", x)
	return index(x, entries...), nil
}
