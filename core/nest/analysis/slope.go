package analysis

import "polygrad/core/uop"

// Slope is the derivative of an index along a range: a constant step per iteration, irregular, or none.
type Slope struct {
	Step      int64
	Depends   bool
	Irregular bool
}

// Contiguous reports whether each iteration advances by one.
func (s Slope) Contiguous() bool { return s.Step == 1 && !s.Irregular }

// Slopes caches the slopes of values along one range.
type Slopes struct {
	rng   *uop.UOp
	known map[*uop.UOp]Slope
}

// Slopes are the slopes of values along a range.
func (f *Facts) Slopes(rng *uop.UOp) *Slopes {
	s := f.slopesAlong[rng]
	if s == nil {
		s = &Slopes{rng, map[*uop.UOp]Slope{}}
		f.slopesAlong[rng] = s
	}
	return s
}

func (s *Slopes) Of(u *uop.UOp) Slope {
	if u == s.rng {
		return Slope{1, true, false}
	}
	if len(u.Src) == 0 || u.Op == uop.Range || u.Op == uop.End {
		return Slope{}
	}
	known, ok := s.known[u]
	if !ok {
		s.known[u] = Slope{} // breaks cycles through registers
		known = s.find(u)
		s.known[u] = known
	}
	return known
}

func (s *Slopes) find(u *uop.UOp) Slope {
	switch u.Op {
	case uop.Load:
		m := Slope{}
		for _, src := range u.Src {
			if o := s.Of(src); o.Depends {
				m = Slope{0, true, true}
			}
		}
		return m
	case uop.Index:
		m := s.Of(u.Src[1])
		if len(u.Src) > 2 && s.Of(u.Src[2]).Depends && !m.Depends {
			return Slope{0, true, false}
		}
		return m
	case uop.Cast:
		if u.DType.IsPtr() || u.DType.IsInt() && u.DType.Itemsize() >= 4 {
			return s.Of(u.Src[0])
		}
	case uop.After, uop.Noop:
		return s.Of(u.Src[0])
	case uop.Add, uop.Sub:
		a, b := s.Of(u.Src[0]), s.Of(u.Src[1])
		if u.Op == uop.Sub {
			b.Step = -b.Step
		}
		return Slope{a.Step + b.Step, a.Depends || b.Depends, a.Irregular || b.Irregular}
	case uop.Mul, uop.Shl:
		if k := u.Src[1]; k.Op == uop.ConstOp && k.DType.IsInt() {
			a := s.Of(u.Src[0])
			c, ok := k.ConstVal().Int64()
			switch {
			case !ok:
				return Slope{0, a.Depends, a.Depends}
			case u.Op == uop.Shl:
				c = 1 << (c & 63)
			}
			a.Step *= c
			return a
		}
	}
	for _, src := range u.Src {
		if s.Of(src).Depends {
			return Slope{0, true, true}
		}
	}
	return Slope{}
}
