package analysis

import (
	"slices"

	"polygrad/core/uop"
)

// place is the set of elements that a store writes: first + constant terms + sum of step*i, 0 <= i < count, over loops sorted by step. It is
// unknown if the index is not affine.
type place struct {
	known bool
	first int64
	along []stride
	terms []stride // loop-invariant terms
}

// stride is a loop, or another term of an index, with its factor and trip count.
type stride struct {
	of          *uop.UOp
	step, count int64
}

// placeOf analyses an index. Loops with a negative step are reversed.
func placeOf(index *uop.UOp) place {
	p := place{known: true}
	p.add(index, 1)
	slices.SortStableFunc(p.along, func(a, b stride) int { return int(min(max(b.step-a.step, -1), 1)) })
	return p
}

// add adds a multiple of an index.
func (p *place) add(u *uop.UOp, times int64) {
	constant := func(u *uop.UOp) (int64, bool) {
		if u.Op != uop.ConstOp || !u.DType.IsInt() {
			return 0, false
		}
		return u.ConstVal().Int64()
	}
	switch u.Op {
	case uop.ConstOp:
		c, ok := constant(u)
		p.first, p.known = p.first+times*c, p.known && ok
		return
	case uop.Add:
		p.add(u.Src[0], times)
		p.add(u.Src[1], times)
		return
	case uop.Sub:
		p.add(u.Src[0], times)
		p.add(u.Src[1], -times)
		return
	case uop.Mul:
		if c, ok := constant(u.Src[1]); ok {
			p.add(u.Src[0], times*c)
			return
		}
	case uop.Shl:
		if c, ok := constant(u.Src[1]); ok && c < 32 {
			p.add(u.Src[0], times<<c)
			return
		}
	case uop.Cast:
		if u.DType.IsInt() && u.DType.Itemsize() >= 4 {
			p.add(u.Src[0], times)
			return
		}
	case uop.Range:
		// A variable trip count is replaced by its upper bound: the set then has no fewer elements.
		if n, ok := u.Src[0].Vmax().Int64(); ok && n > 0 && (times > 0 || u.Src[0].Op == uop.ConstOp) {
			if times < 0 {
				p.first, times = p.first+times*(n-1), -times
			}
			p.along = append(p.along, stride{u, times, n})
			return
		}
	}
	changes := func(x *uop.UOp) bool {
		return x.Op == uop.Range || x.Op == uop.Load || len(x.Src) == 0 && x.Op != uop.ConstOp && x.Op != uop.DefineVar
	}
	if u.Find(changes) == nil {
		p.terms = append(p.terms, stride{u, times, 1})
		return
	}
	p.known = false
}

// mayAlias reports whether two stores may write the same element in any two iterations.
func (p place) mayAlias(q place) bool {
	return !p.known || !q.known || !slices.Equal(p.along, q.along) || !slices.Equal(p.terms, q.terms) || reaches(p.along, p.first-q.first)
}

// reaches reports whether the indices of two iterations may differ by a distance.
func reaches(along []stride, distance int64) bool {
	if len(along) == 0 {
		return distance == 0
	}
	s, inner := along[0], int64(0)
	for _, t := range along[1:] {
		inner += t.step * (t.count - 1)
	}
	if s.step == 0 || inner >= s.step {
		return true // unknown: the ranges of the steps overlap
	}
	n := distance / s.step
	for i := n - 1; i <= n+1; i++ {
		if i > -s.count && i < s.count && reaches(along[1:], distance-i*s.step) {
			return true
		}
	}
	return false
}
