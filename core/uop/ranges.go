package uop

// rangeStart is the index of the first source that is an ended range.
func rangeStart(op Op) int {
	switch op {
	case Bufferize, Reduce, End:
		return 1
	case Store:
		return 2
	case Wmma:
		return 3
	}
	return -1
}

// RangeStart is the index of the first range among the sources of an operation that ends ranges, else -1.
func RangeStart(op Op) int { return rangeStart(op) }

// EndedRanges are the sources whose ranges end at u.
func (u *UOp) EndedRanges() []*UOp {
	if k := rangeStart(u.Op); k >= 0 {
		return u.Src[min(k, len(u.Src)):]
	}
	switch u.Op {
	case After:
		p := u.props()
		if !p.hasEnded {
			for _, s := range u.Src[1:] {
				p.ended = append(p.ended, s.EndedRanges()...)
			}
			p.hasEnded = true
		}
		return p.ended
	case Copy, BufferView:
		return u.Src[0].Ranges()
	case Loops:
		return u.LoopRanges()
	}
	return nil
}

// LoopRanges are the RANGEs of a LOOPS, SCATTER or FETCH in a kernel: its last sources.
func (u *UOp) LoopRanges() []*UOp {
	n := len(u.Src)
	for n > 0 && u.Src[n-1].DType.IsIndex() {
		n--
	}
	return u.Src[n:]
}

// Ranges are the RANGEs that u is inside of, in order of first appearance; a RANGE is inside itself.
// The slice must not be changed.
func (u *UOp) Ranges() []*UOp {
	if u.rangesKnown() {
		return u.knownRanges()
	}
	for _, x := range u.ToposortGated(func(x *UOp) bool { return !x.rangesKnown() }) {
		x.computeRanges()
	}
	return u.p.ranges
}

// rangesKnown reports whether the ranges of u have been computed, or there are certainly none.
func (u *UOp) rangesKnown() bool { return !u.allOps.Has(Range) || u.p != nil && u.p.hasRanges }

func (u *UOp) knownRanges() []*UOp {
	if u.p == nil {
		return nil
	}
	return u.p.ranges
}

func (u *UOp) computeRanges() {
	p := u.props()
	var out []*UOp
	owned := false
	for _, s := range u.Src {
		r := s.knownRanges()
		if len(r) == 0 {
			continue
		}
		if out == nil {
			out = r
			continue
		}
		for _, x := range r {
			if !contains(out, x) {
				if !owned {
					out, owned = append(make([]*UOp, 0, len(out)+4), out...), true
				}
				out = append(out, x)
			}
		}
	}
	if len(out) > 0 {
		for _, er := range u.EndedRanges() {
			if er.Op == Range {
				out = without(out, er, &owned)
				continue
			}
			for _, r := range er.Ranges() {
				out = without(out, r, &owned)
			}
		}
	}
	if u.Op == Range {
		out = append([]*UOp{u}, out...)
	}
	p.ranges, p.hasRanges = out, true
}

func without(rs []*UOp, r *UOp, owned *bool) []*UOp {
	for i, x := range rs {
		if x == r {
			if !*owned {
				rs, *owned = append([]*UOp(nil), rs...), true
			}
			return append(rs[:i], rs[i+1:]...)
		}
	}
	return rs
}

// OwnRanges are the Ranges that u depends on directly, not only through the size of another RANGE. The slice must not be changed.
func (u *UOp) OwnRanges() []*UOp {
	all := u.Ranges()
	symbolic := false
	for _, r := range all {
		symbolic = symbolic || len(r.Src) > 0 && r.Src[0].Op != ConstOp
	}
	if !symbolic {
		return all
	}
	own, seen := map[*UOp]bool{}, map[*UOp]bool{}
	var walk func(x *UOp)
	walk = func(x *UOp) {
		if seen[x] {
			return
		}
		seen[x] = true
		if x.Op == Range {
			own[x] = true
			return
		}
		for _, s := range x.Src {
			walk(s)
		}
	}
	walk(u)
	var out []*UOp
	for _, r := range all {
		if own[r] {
			out = append(out, r)
		}
	}
	return out
}

// InRange reports whether u is inside range r.
func (u *UOp) InRange(r *UOp) bool { return contains(u.Ranges(), r) }
