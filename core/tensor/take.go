package tensor

import (
	"slices"

	"polygrad/core/uop"
)

// takes are the index tensors of an expression, the axes they index, and their common shape.
type takes struct {
	at    []int
	ts    []*uop.UOp
	shape uop.Shape
}

func takesOf(axes []parsedIndex) (t takes) {
	var shapes []uop.Shape
	for i, p := range axes {
		if p.kind == indexTake {
			t.at, t.ts, shapes = append(t.at, i), append(t.ts, p.t), append(shapes, p.t.Shape())
		}
	}
	var ok bool
	if t.shape, ok = broadcastShape(shapes...); !ok {
		fail("index", "has tensors of shapes %v, expected shapes that broadcast", shapes)
	}
	return t
}

func (t takes) consecutive() bool {
	for i, a := range t.at {
		if a != t.at[0]+i {
			return false
		}
	}
	return true
}

// symbolic tells whether an indexed axis of x has a symbolic size.
func (t takes) symbolic(x *uop.UOp) bool {
	return slices.ContainsFunc(t.at, func(a int) bool { return x.Shape()[a].Symbolic() })
}

// takeAxes indexes with tensors.
func takeAxes(x *uop.UOp, axes []parsedIndex) *uop.UOp {
	t := takesOf(axes)
	switch {
	case len(t.ts) == 0:
		return x
	case len(t.ts) > 1 && t.consecutive() && !t.symbolic(x):
		return t.differentiated(t.linear(x), x)
	}
	r, _, _, _ := t.masked(x)
	return t.differentiated(r, x)
}

// differentiated is r, taken from x, with a gradient that is added up at the elements of x that it was taken from.
func (t takes) differentiated(r, x *uop.UOp) *uop.UOp {
	if _, numbers := x.Shape().Ints(); !numbers || !isNumbers(r.Shape()) {
		return r
	}
	at := make([]int64, len(t.at))
	for i, a := range t.at {
		at[i] = int64(a)
	}
	return customGradient(gradientOfTake, r, append([]*uop.UOp{x}, t.ts...), at)
}

// takeRule is the gradient of x from g, that of the elements that index tensors took from x.
func takeRule(g, u *uop.UOp, at []int) *uop.UOp {
	x, t := u.Src[1], takes{at: at, ts: u.Src[2:]}
	shapes := make([]uop.Shape, len(t.ts))
	for i, idx := range t.ts {
		shapes[i] = idx.Shape()
	}
	t.shape, _ = broadcastShape(shapes...)
	r, _ := t.scatter(fullLike(x, 0), g, func(flat *uop.UOp, axis int, idx, v *uop.UOp) *uop.UOp {
		return scatterReduce(flat, axis, idx, v, ScatterSum, true)
	})
	return r
}

// linear fuses neighbouring index tensors into one index of the flattened axes.
func (t takes) linear(x *uop.UOp) *uop.UOp {
	s, at, big := x.Shape(), t.at, t.shape
	first, last := at[0], at[len(at)-1]
	pre, post := s[:first], s[last+1:]
	linear, valid := t.places(s)
	x = reshape(x, joinShapes(pre, uop.Shape{numel("x", s[first:last+1])}, post))
	entries := make([]Index, 0, len(pre)+1)
	for range pre {
		entries = append(entries, Whole())
	}
	x = index(x, append(entries, Take(where(valid, linear, 0)))...)
	return where(reshape(valid, joinShapes(onesShape(len(pre)), big, onesShape(len(post)))), x, likeConst(x, 0))
}

// places are the positions of the indexed elements among those of all indexed axes, of the shape of the index tensors, and which
// of them are in range.
func (t takes) places(s uop.Shape) (linear, valid *uop.UOp) {
	for i, idx := range t.ts {
		stride := int64(1)
		for _, a := range t.at[i+1:] {
			stride *= s[a].N
		}
		part := mul(broadcastTo(idx, t.shape), int(stride))
		inside := bitAnd(ge(idx, 0), lt(idx, int(s[t.at[i]].N)))
		if i == 0 {
			linear, valid = part, inside
		} else {
			linear, valid = add(linear, part), bitAnd(valid, inside)
		}
	}
	return linear, valid
}

// scatter writes v, which has the shape of the indexing result, to the elements of x that the index tensors select: the indexed axes become one,
// along which change writes. ok is false for symbolic sizes, for empty tensors, and in the form of tinygrad.
func (t takes) scatter(x, v *uop.UOp, change func(x *uop.UOp, axis int, idx, v *uop.UOp) *uop.UOp) (r *uop.UOp, ok bool) {
	s := x.Shape()
	_, numbers := s.Ints()
	if _, known := v.Shape().Ints(); !numbers || !known || asTinygrad(x) || v.Shape().MaxNumel() == 0 || s.MaxNumel() == 0 {
		return nil, false
	}
	first := t.at[0]
	var order []int
	if !t.consecutive() {
		// The indexed axes come first, as their elements do.
		order = append(order, t.at...)
		for i := range s {
			if !slices.Contains(t.at, i) {
				order = append(order, i)
			}
		}
		first, x = 0, permute(x, order)
	}
	moved := x.Shape()
	pre, post := moved[:first], moved[first+len(t.at):]
	linear, valid := t.places(s)
	count := numel("index", t.shape)
	at := reshape(broadcastTo(where(valid, linear, -1), t.shape), joinShapes(onesShape(len(pre)), uop.Shape{count}, onesShape(len(post))))
	wide := joinShapes(pre, uop.Shape{count}, post)
	flat := reshape(x, joinShapes(pre, uop.Shape{numel("x", moved[first:first+len(t.at)])}, post))
	r = reshape(change(flat, first, expand(at, wide), reshape(v, wide)), moved)
	if order != nil {
		back := make([]int, len(order))
		for i, o := range order {
			back[o] = i
		}
		r = permute(r, back)
	}
	return r, true
}

// masked gives the elements selected by the index tensors, the one-hot mask, the summed axes, and whether the shape of the index
// tensors was moved to the front.
func (t takes) masked(x *uop.UOp) (r, mask *uop.UOp, axes []int, moved bool) {
	s := x.Shape()
	first, at, ts, big := t.at[0], t.at, t.ts, t.shape
	wide := joinShapes(s[:first], big, s[first:])
	for i, a := range at {
		idx := expand(reshape(ts[i], joinShapes(ts[i].Shape(), onesShape(len(s)-first))), wide)
		m := oneOf(idx, s[a], a-len(s))
		if mask == nil {
			mask = m
		} else {
			mask = mul(mask, m)
		}
		axes = append(axes, a+len(big))
	}
	// each element is a sum over the one-hot mask along an axis
	picked := where(mask, reshape(x, joinShapes(s[:first], onesShape(len(big)), s[first:])), 0)
	r = sumAs(picked, x.DType, axes, false)
	moved = first != 0 && len(at) > 1 && !t.consecutive()
	if moved {
		mask, r = toFront(mask, first, len(big)), toFront(r, first, len(big))
	}
	return r, mask, axes, moved
}

// toFront moves n axes to the front: separated index tensors put their shape there.
func toFront(x *uop.UOp, from, n int) *uop.UOp {
	order := countTo(len(x.Shape()))
	front := append([]int(nil), order[from:from+n]...)
	return permute(x, append(append(front, order[:from]...), order[from+n:]...))
}
