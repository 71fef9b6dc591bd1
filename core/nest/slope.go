package nest

import "polygrad/core/uop"

// slope is by how much an index grows with a range: by step each iteration, unless it is odd (it depends on the range
// in another way) or the range does not matter.
type slope struct {
	step    int64
	matters bool
	odd     bool
}

// slopes knows how values depend on one range.
type slopes struct {
	rng   *uop.UOp
	known map[*uop.UOp]slope
}

// slopes are those along a range.
func (im *importer) slopes(rng *uop.UOp) *slopes {
	s := im.grows[rng]
	if s == nil {
		s = &slopes{rng, map[*uop.UOp]slope{}}
		im.grows[rng] = s
	}
	return s
}

func (s *slopes) of(u *uop.UOp) slope {
	if u == s.rng {
		return slope{1, true, false}
	}
	if len(u.Src) == 0 || u.Op == uop.Range || u.Op == uop.End {
		return slope{}
	}
	known, ok := s.known[u]
	if !ok {
		s.known[u] = slope{} // what comes back to itself, by way of a register, is found elsewhere
		known = s.find(u)
		s.known[u] = known
	}
	return known
}

func (s *slopes) find(u *uop.UOp) slope {
	switch u.Op {
	case uop.Load:
		m := slope{}
		for _, src := range u.Src {
			if o := s.of(src); o.matters {
				m = slope{0, true, true}
			}
		}
		return m
	case uop.Index:
		m := s.of(u.Src[1])
		if len(u.Src) > 2 && s.of(u.Src[2]).matters && !m.matters {
			return slope{0, true, false}
		}
		return m
	case uop.Cast:
		if u.DType.IsPtr() || u.DType.IsInt() && u.DType.Itemsize() >= 4 {
			return s.of(u.Src[0])
		}
	case uop.After, uop.Noop:
		return s.of(u.Src[0])
	case uop.Add, uop.Sub:
		a, b := s.of(u.Src[0]), s.of(u.Src[1])
		if u.Op == uop.Sub {
			b.step = -b.step
		}
		return slope{a.step + b.step, a.matters || b.matters, a.odd || b.odd}
	case uop.Mul, uop.Shl:
		if k := u.Src[1]; k.Op == uop.ConstOp && k.DType.IsInt() {
			a := s.of(u.Src[0])
			c, ok := k.ConstVal().Int64()
			switch {
			case !ok:
				return slope{0, a.matters, a.matters}
			case u.Op == uop.Shl:
				c = 1 << (c & 63)
			}
			a.step *= c
			return a
		}
	}
	for _, src := range u.Src {
		if s.of(src).matters {
			return slope{0, true, true}
		}
	}
	return slope{}
}
