package ranges

import (
	"maps"
	"math"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// withinBounds drops remainders from a gated index, where the gate says that they change nothing: of a flipped or padded view
//
//	(x*1733 + y*34 + z + 105) % 1734 if z - x < 31 and not z - x < 0
//
// is y*34 + z - x + 105, as 1733 is congruent to -1 modulo 1734.
func withinBounds(_ any, u *uop.UOp) *uop.UOp {
	if !u.DType.IsIndex() || !u.Src[2].IsInvalid() || !u.Src[1].HasOp(uop.Ops(uop.Mod)) {
		return nil
	}
	to := rewrite.Map{}
	for _, m := range u.Src[1].Toposort() {
		if m.Op != uop.Mod || m.Src[1].Op != uop.ConstOp || !m.DType.IsIndex() {
			continue
		}
		if x := withoutRemainder(m, u.Src[0]); x != nil {
			to[m] = x
		}
	}
	if len(to) == 0 {
		return nil
	}
	return u.With(u.Src[0], rewrite.Substitute(u.Src[1], to), u.Src[2])
}

// sum is a sum of terms with constant factors.
type sum struct {
	terms    map[*uop.UOp]int64
	order    []*uop.UOp
	constant int64
}

// sumOf splits an expression into the terms of a sum; ok is false if a constant is too large.
func sumOf(u *uop.UOp) (s sum, ok bool) {
	s, ok = sum{terms: map[*uop.UOp]int64{}}, true
	var add func(u *uop.UOp, factor int64)
	add = func(u *uop.UOp, factor int64) {
		switch {
		case u.Op == uop.Add:
			add(u.Src[0], factor)
			add(u.Src[1], factor)
			return
		case u.Op == uop.ConstOp:
			c, small := u.ConstVal().Int64()
			s.constant, ok = s.constant+c*factor, ok && small && c < 1<<31 && -c < 1<<31
			return
		case u.Op == uop.Mul && u.Src[1].Op == uop.ConstOp:
			if k, small := u.Src[1].ConstVal().Int64(); small && k < 1<<31 && -k < 1<<31 {
				add(u.Src[0], factor*k)
				return
			}
		}
		if _, known := s.terms[u]; !known {
			s.order = append(s.order, u)
		}
		s.terms[u] += factor
	}
	add(u, 1)
	return s, ok
}

// bounds are the least and the greatest value of a sum; ok is false if they are not known.
func (s *sum) bounds() (lo, hi int64, ok bool) {
	lo, hi = s.constant, s.constant
	for t, k := range s.terms {
		a, small := t.Vmin().Int64()
		b, known := t.Vmax().Int64()
		if k != 0 && (!small || !known || max(abs(a), abs(b)) >= 1<<31) {
			return 0, 0, false
		}
		lo += min(a*k, b*k)
		hi += max(a*k, b*k)
	}
	return lo, hi, true
}

// less is s - k*o.
func (s *sum) less(o *sum, k int64) sum {
	out := sum{terms: maps.Clone(s.terms), constant: s.constant - k*o.constant}
	for t, n := range o.terms {
		out.terms[t] -= k * n
	}
	return out
}

// width is the distance between the bounds.
func (s *sum) width() int64 {
	lo, hi, ok := s.bounds()
	if !ok {
		return math.MaxInt64
	}
	return hi - lo
}

// withoutRemainder is the dividend of a remainder minus a multiple of the divisor, nil if this may differ from the remainder where valid holds.
func withoutRemainder(m, valid *uop.UOp) *uop.UOp {
	c, small := m.Src[1].ConstVal().Int64()
	s, ok := sumOf(m.Src[0])
	if !small || !ok || c <= 0 || c >= 1<<31 {
		return nil
	}
	for t, k := range s.terms {
		if k = floorMod(k, c); k > c/2 {
			k -= c
		}
		s.terms[t] = k
	}
	// The gate may bound a part of the sum more tightly than the bounds of its terms do.
	rest := s
	lo, hi := int64(0), int64(0)
	for _, b := range symbolic.Intervals(valid) {
		from, bounded := uop.MaxConst(b.Lo, b.X.Vmin()).Int64()
		to, limited := uop.MinConst(b.Hi, b.X.Vmax()).Int64()
		part, fine := sumOf(b.X)
		if !bounded || !limited || !fine || from > to || len(part.order) == 0 {
			continue
		}
		k, unit := rest.terms[part.order[0]], part.terms[part.order[0]]
		if k == 0 || unit == 0 || k%unit != 0 {
			continue
		}
		if less := rest.less(&part, k/unit); less.width()+abs(k/unit)*(to-from) < rest.width() {
			rest = less
			lo, hi = lo+min(k/unit*from, k/unit*to), hi+max(k/unit*from, k/unit*to)
		}
	}
	from, to, known := rest.bounds()
	if !known {
		return nil
	}
	from, to = from+lo, to+hi
	shift := floorMod(from, c) - from
	if to+shift >= c {
		return nil
	}
	out := m.IntLike(s.constant + shift)
	for _, t := range s.order {
		if k := s.terms[t]; k != 0 {
			out = out.Add(t.MulInt(k))
		}
	}
	return symbolic.Simplify(out)
}

func abs(a int64) int64 { return max(a, -a) }

func floorMod(a, c int64) int64 { return (a%c + c) % c }
