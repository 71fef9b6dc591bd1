package gradient

import (
	"slices"

	"polygrad/core/uop"
)

// masked is a gradient with the selections of the WHEREs on the path from the loss, outermost first. Its elements are 0 where a selection does
// not take them, whatever the slopes of functions there: 0 times an infinite slope would be NaN. Graphs that are AsTinygrad have no selections.
type masked struct {
	value      *uop.UOp
	selections []selection
}

// A selection of a WHERE takes the elements where its condition holds, or does not hold if it is negated.
type selection struct {
	cond    *uop.UOp
	negated bool
	applied bool // the value is 0 elsewhere
}

// taken is where a selection takes elements.
func (s selection) taken() *uop.UOp {
	if s.negated {
		return s.cond.Not()
	}
	return s.cond
}

// of is a gradient with the selections of g.
func (g masked) of(value *uop.UOp) masked { return masked{value, g.selections} }

// all is the gradient of all elements.
func (g masked) all() *uop.UOp {
	v := g.value
	for _, s := range g.selections {
		if zero := number(v, 0); !s.applied && s.negated {
			v = s.cond.Where(zero, v)
		} else if !s.applied {
			v = s.cond.Where(v, zero)
		}
	}
	return v
}

// marked is g with all selections marked as applied, or as not applied yet.
func (g masked) marked(applied bool) masked {
	g.selections = slices.Clone(g.selections)
	for i := range g.selections {
		g.selections[i].applied = applied
	}
	return g
}

// within is the gradient of a branch of a WHERE.
func (g masked) within(cond *uop.UOp, negated bool) masked {
	return masked{g.value, append(slices.Clip(g.selections), selection{cond, negated, false})}
}

// moved is g with the conditions that to returns for its selections; a selection for which it is nil is dropped.
func (g masked) moved(to func(s selection) *uop.UOp) masked {
	from := g.selections
	g.selections = nil
	for _, s := range from {
		if s.cond = to(s); s.cond != nil {
			g.selections = append(g.selections, s)
		}
	}
	return g
}

// plus is g + h. An element is taken if either of them takes it.
func (g masked) plus(h masked) masked {
	if slices.Equal(g.selections, h.selections) {
		return g.of(g.value.Add(h.value))
	}
	sum := masked{value: g.all().Add(h.all())}
	if len(g.selections) > 0 && len(h.selections) > 0 {
		sum.selections = []selection{{cond: g.taken().Or(h.taken()), applied: true}}
	}
	return sum
}

// taken is where all selections take elements.
func (g masked) taken() *uop.UOp {
	t := g.selections[0].taken()
	for _, s := range g.selections[1:] {
		t = t.And(s.taken())
	}
	return t
}

// slopes are the operations whose slope may be no finite number.
var slopes = uop.Ops(uop.Reciprocal, uop.Log2, uop.Sqrt, uop.Pow, uop.Exp2, uop.Sin)

// elementwise are the operations on elements that do not need selections applied: an infinite factor of a MUL does no harm, as selections that
// are not applied yet are applied later. Applied ones are not applied again, since matrix products are sums of products without conditions.
var elementwise = uop.Ops(uop.Mul, uop.MulAcc, uop.Add, uop.Cast, uop.Contiguous)

// movement are the operations whose rule moves a condition as it moves the gradient.
var movement = uop.Ops(uop.Reshape, uop.Permute, uop.Flip, uop.Pad)

// through gives the gradients of the sources of u, whose rule is r, from the gradient g of u.
func (g masked) through(u *uop.UOp, r Rule) ([]masked, error) {
	if u.Op == uop.Where && !u.Graph().IsAsTinygrad() {
		return []masked{{}, g.within(u.Src[0], false), g.within(u.Src[0], true)}, nil
	}
	value, into := g.value, g
	back := func(s selection) *uop.UOp { return r(s.cond, u)[0] }
	switch {
	case len(g.selections) == 0 || elementwise.Has(u.Op):
	case slopes.Has(u.Op) || pointwise(u):
		into = g.marked(false)
	case movement.Has(u.Op):
		into = g.moved(back)
	default:
		value, into = g.all(), g.marked(true)
		switch {
		case u.Op == uop.ReduceAxis && u.Arg.(uop.AxisReduce).Op == uop.Add:
			into = into.moved(back)
		case u.Op == uop.Shrink: // what it cuts off is not taken
			into = masked{selections: []selection{{cond: r(g.taken(), u)[0], applied: true}}}
		case u.Op == uop.Expand:
			into = into.moved(func(s selection) *uop.UOp { return unexpanded(s.cond, u.Src[0], map[*uop.UOp]*uop.UOp{}) })
		case u.Op != uop.ContiguousBackward:
			into = masked{}
		}
	}
	values, err := deferred(value, u)
	if values == nil && err == nil {
		values = r(value, u)
	}
	grads := make([]masked, len(values))
	for i, v := range values {
		if v != nil {
			grads[i] = into.of(v)
		}
	}
	return grads, err
}

// unexpanded is a mask of the result of an EXPAND as a mask of its source, like; nil if it differs between the copies of an element.
func unexpanded(mask, like *uop.UOp, found map[*uop.UOp]*uop.UOp) *uop.UOp {
	if u, ok := found[mask]; ok {
		return u
	}
	var u *uop.UOp
	switch v, isNumber := numberOf(mask); {
	case mask.Op == uop.Expand && mask.Src[0].Shape().Equal(like.Shape()):
		u = mask.Src[0]
	case isNumber:
		u = like.ConstLike(uop.Float(v)).Cast(mask.DType)
	case uop.GroupElementwise.Has(mask.Op):
		src := slices.Clone(mask.Src)
		for i, s := range src {
			if src[i] = unexpanded(s, like, found); src[i] == nil {
				break
			}
		}
		if !slices.Contains(src, nil) {
			u = mask.Graph().New(mask.Op, mask.DType, src, mask.Arg, nil)
		}
	}
	found[mask] = u
	return u
}

func pointwise(u *uop.UOp) bool {
	p, is := u.Arg.(Pointwise)
	return is && p.Pointwise()
}
