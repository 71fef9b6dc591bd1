package symbolic

import (
	"slices"

	"polygrad/core/uop"
)

var (
	zero = uop.Int(0)
	one  = uop.Int(1)
)

// constant is the constant c of the type of u.
func constant(u *uop.UOp, c uop.Const) *uop.UOp { return u.ConstLike(c) }

// addConst is u + c.
func addConst(u *uop.UOp, c uop.Const) *uop.UOp { return u.Add(constant(u, c)) }

// subConst is u - c, written as u + c * -1.
func subConst(u *uop.UOp, c uop.Const) *uop.UOp { return u.Sub(constant(u, c)) }

// scaled is c * u, the constant first.
func scaled(c uop.Const, u *uop.UOp) *uop.UOp { return constant(u, c).Mul(u) }

// sumFromZero is 0 + u0 + u1 + …, folded from the left.
func sumFromZero(like *uop.UOp, us []*uop.UOp) *uop.UOp {
	s := constant(like, zero)
	for _, u := range us {
		s = s.Add(u)
	}
	return s
}

// EachTerm calls f for the terms of an expanded sum, with their constant factors.
func EachTerm(u *uop.UOp, factor int64, f func(t *uop.UOp, factor int64)) {
	switch {
	case u.Op == uop.Add:
		EachTerm(u.Src[0], factor, f)
		EachTerm(u.Src[1], factor, f)
	case u.Op == uop.Mul && u.DType.IsInt() && u.Src[1].Op == uop.ConstOp:
		if k, small := u.Src[1].ConstVal().Int64(); small {
			EachTerm(u.Src[0], factor*k, f)
			return
		}
		fallthrough
	default:
		f(u, factor)
	}
}

// ConstFactor is an integer that certainly divides u; the largest one where nothing is negative.
func ConstFactor(u *uop.UOp) uop.Const {
	switch u.Op {
	case uop.ConstOp:
		return u.ConstVal()
	case uop.VConstOp:
		return gcdOf(u.Arg.(uop.Consts)...)
	case uop.Add:
		return ConstFactor(u.Src[0]).GCD(ConstFactor(u.Src[1]))
	case uop.Mul:
		for _, s := range u.Src {
			if s.Op == uop.ConstOp {
				return s.ConstVal()
			}
		}
	}
	return one
}

// gcdOf is the greatest common divisor of integers, never negative; 0 for none.
func gcdOf(cs ...uop.Const) uop.Const {
	r := zero
	for _, c := range cs {
		r = r.GCD(c)
	}
	return r
}

// IsMultiple reports whether v certainly divides u.
func IsMultiple(u *uop.UOp, v uop.Const) bool {
	if v.EqInt(1) {
		return true
	}
	if v.Sign() == 0 {
		return false
	}
	switch u.Op {
	case uop.ConstOp:
		return u.ConstVal().FloorMod(v).Sign() == 0
	case uop.VConstOp:
		return !slices.ContainsFunc(u.Arg.(uop.Consts), func(c uop.Const) bool { return c.FloorMod(v).Sign() != 0 })
	case uop.Add:
		return IsMultiple(u.Src[0], v) && IsMultiple(u.Src[1], v)
	case uop.Mul:
		return IsMultiple(u.Src[0], v) || IsMultiple(u.Src[1], v)
	}
	return false
}

// Divides is u / v where v certainly divides u, else nil.
func Divides(u *uop.UOp, v uop.Const) *uop.UOp {
	if v.EqInt(1) {
		return u
	}
	if v.Sign() == 0 {
		return nil
	}
	switch u.Op {
	case uop.ConstOp:
		if c := u.ConstVal(); c.FloorMod(v).Sign() == 0 {
			return constant(u, c.FloorDiv(v))
		}
	case uop.VConstOp:
		cs := u.Arg.(uop.Consts)
		qs := make([]uop.Const, len(cs))
		for i, c := range cs {
			if c.FloorMod(v).Sign() != 0 {
				return nil
			}
			qs[i] = c.FloorDiv(v)
		}
		return u.ConstVecLike(qs)
	case uop.Add:
		if a := Divides(u.Src[0], v); a != nil {
			if b := Divides(u.Src[1], v); b != nil {
				return a.Add(b)
			}
		}
	case uop.Mul:
		if a := Divides(u.Src[0], v); a != nil {
			return a.Mul(u.Src[1])
		}
		if b := Divides(u.Src[1], v); b != nil {
			return u.Src[0].Mul(b)
		}
	}
	return nil
}

// factors is a multiset of nodes in the order of their first appearance.
type factors struct {
	list  []*uop.UOp
	count map[*uop.UOp]int
}

func factorsOf(u *uop.UOp) factors {
	f := factors{count: map[*uop.UOp]int{}}
	f.add(u.SplitUOp(uop.Mul), 1)
	return f
}

func (f *factors) add(us []*uop.UOp, n int) {
	for _, u := range us {
		if _, ok := f.count[u]; !ok {
			f.list = append(f.list, u)
		}
		f.count[u] += n
	}
}

// mulInto multiplies p by every element, as often as it occurs.
func (f *factors) mulInto(p *uop.UOp) *uop.UOp {
	for _, u := range f.list {
		for range f.count[u] {
			p = p.Mul(u)
		}
	}
	return p
}

// GCD is a common divisor of the nodes: their common factors times the greatest common
// divisor of their constant factors, not simplified. Nodes that are zero have no say.
func GCD(us ...*uop.UOp) *uop.UOp {
	var common factors
	var first *uop.UOp
	g := zero
	for _, u := range us {
		c := ConstFactor(u)
		term := Divides(u, c)
		if term == nil {
			continue
		}
		g = g.GCD(c)
		if first == nil {
			first, common = term, factorsOf(term)
			continue
		}
		f := factorsOf(term)
		for _, x := range common.list {
			common.count[x] = min(common.count[x], f.count[x])
		}
	}
	if first == nil {
		return constant(us[0], one)
	}
	return common.mulInto(constant(first, one)).Mul(constant(first, g))
}

// multiple is u / v for sums whose terms have one ratio, (4*n + 8) / (n + 2), else nil. Products of sums and constants are
// multiplied out, so the size 4*(n+2) of two axes occurs in this form only.
func multiple(u, v *uop.UOp) *uop.UOp {
	us, vs := u.SplitUOp(uop.Add), slices.Clone(v.SplitUOp(uop.Add))
	if len(us) != len(vs) {
		return nil
	}
	var ratio uop.Const
	for i, t := range us {
		x, f := bare(t)
		j := slices.IndexFunc(vs, func(w *uop.UOp) bool { y, _ := bare(w); return x == y })
		if j < 0 {
			return nil
		}
		_, g := bare(vs[j])
		if g.Sign() == 0 || f.FloorMod(g).Sign() != 0 || i > 0 && !f.FloorDiv(g).Eq(ratio) {
			return nil
		}
		ratio = f.FloorDiv(g)
		vs = slices.Delete(vs, j, j+1)
	}
	return constant(u, ratio)
}

// bare is a term without its constant factor: 1 for a constant.
func bare(t *uop.UOp) (*uop.UOp, uop.Const) {
	if t.Op == uop.ConstOp {
		return constant(t, one), t.ConstVal()
	}
	return t.PopConst(uop.Mul)
}

// DivideExact is u / v where v certainly divides u, else nil.
func DivideExact(u, v *uop.UOp) *uop.UOp {
	switch {
	case u == v:
		return constant(u, one)
	case v.Op == uop.ConstOp:
		return Divides(u, v.ConstVal())
	case u.Op == uop.Add:
		if a := DivideExact(u.Src[0], v); a != nil {
			if b := DivideExact(u.Src[1], v); b != nil {
				return a.Add(b)
			}
		}
		return multiple(u, v)
	case u.Op == uop.Mul:
		fac, c := u.PopConst(uop.Mul)
		if v.Op == uop.Add {
			for i, f := range fac.SplitUOp(uop.Mul) {
				if q := multiple(f, v); q != nil {
					factors := slices.Clone(fac.SplitUOp(uop.Mul))
					factors[i] = q
					return scaled(c, uop.ProdOf(factors...))
				}
			}
		}
		divFac, divC := v.PopConst(uop.Mul)
		if divC.Sign() == 0 || c.FloorMod(divC).Sign() != 0 {
			return nil
		}
		f := factorsOf(fac)
		f.add(divFac.SplitUOp(uop.Mul), -1)
		for _, n := range f.count {
			if n < 0 {
				return nil
			}
		}
		return f.mulInto(constant(u, c.FloorDiv(divC)))
	}
	return nil
}
