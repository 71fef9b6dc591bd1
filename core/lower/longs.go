package lower

import (
	"polygrad/core/uop"
)

// words are the low and the high half of a 64-bit integer, both of type uint32.
type words struct{ lo, hi *uop.UOp }

// longs rebuilds a graph without 64-bit integers.
type longs struct {
	g *uop.Graph
	// plain are the rebuilt nodes of other types, split the words of long values, ptrs the pointers to the words behind a pointer.
	plain       map[*uop.UOp]*uop.UOp
	split, ptrs map[*uop.UOp]words
}

func isLong(dt *uop.DType) bool {
	return !dt.IsPtr() && (dt.Scalar() == uop.Int64 || dt.Scalar() == uop.Uint64)
}

func isLongPtr(dt *uop.DType) bool { return dt.IsPtr() && isLong(dt.Base()) }

// splitLongs rewrites 64-bit integers as pairs of 32-bit words.
func splitLongs(sink *uop.UOp) *uop.UOp {
	topo := sink.Toposort()
	found := false
	for _, u := range topo {
		found = found || isLong(u.DType) || isLongPtr(u.DType)
		if isLong(u.DType) && u.DType.Count > 1 {
			fail("%s: a target without 64-bit integers must not keep vectors", u)
		}
	}
	if !found {
		return sink
	}
	l := &longs{g: sink.Graph(), plain: map[*uop.UOp]*uop.UOp{}, split: map[*uop.UOp]words{}, ptrs: map[*uop.UOp]words{}}
	for _, u := range topo {
		switch {
		case isLong(u.DType):
			l.split[u] = l.value(u)
		case isLongPtr(u.DType) && u.Op == uop.Index:
			l.ptrs[u] = l.pointers(u)
		default:
			l.plain[u] = l.other(u)
		}
	}
	return l.plain[sink]
}

func (l *longs) num(v int64) *uop.UOp { return l.g.Const(uop.Uint32, uop.Int(v)) }

func (l *longs) bit(c *uop.UOp) *uop.UOp { return c.Cast(uop.Uint32) }

// sources are the rebuilt sources us; a long becomes its two words.
func (l *longs) sources(us []*uop.UOp) []*uop.UOp {
	var out []*uop.UOp
	for _, s := range us {
		if w, ok := l.split[s]; ok {
			out = append(out, w.lo, w.hi)
		} else {
			out = append(out, l.plain[s])
		}
	}
	return out
}

func (l *longs) pointers(u *uop.UOp) words {
	buf, idx, gate := l.plain[u.Src[0]], u.Src[1], l.sources(u.Src[2:])
	if w, ok := l.split[idx]; ok {
		return l.pointersAt(buf, w.lo.Cast(uop.Int32), gate)
	}
	return l.pointersAt(buf, l.plain[idx], gate)
}

func (l *longs) pointersAt(buf, idx *uop.UOp, gate []*uop.UOp) words {
	at := idx.MulInt(2)
	return words{pointerTo(buf, prepend(at, gate...)...), pointerTo(buf, prepend(at.AddInt(1), gate...)...)}
}

// value gives the words of a long.
func (l *longs) value(u *uop.UOp) words {
	var a, b words
	if len(u.Src) > 0 {
		a = l.split[u.Src[0]]
	}
	if len(u.Src) > 1 {
		b = l.split[u.Src[1]]
	}
	signed := !u.DType.IsUnsigned()
	switch u.Op {
	case uop.ConstOp:
		c := u.ConstVal().Truncate(uop.Uint64)
		return words{l.g.Const(uop.Uint32, c.And(uop.Uint(1<<32-1))), l.g.Const(uop.Uint32, c.Shr(uop.Int(32)))}
	case uop.Load:
		return l.load(u)
	case uop.Cast:
		return l.widen(u)
	case uop.Bitcast:
		if isLong(u.Src[0].DType) {
			return a
		}
	case uop.Where:
		c, x, y := l.plain[u.Src[0]], l.split[u.Src[1]], l.split[u.Src[2]]
		return l.choose(c, x, y)
	case uop.Neg:
		return l.sub(words{l.num(0), l.num(0)}, a)
	case uop.Add:
		return l.add(a, b)
	case uop.Sub:
		return l.sub(a, b)
	case uop.Mul:
		return l.mul(a, b)
	case uop.Idiv, uop.Mod:
		return l.div(u.Op, signed, a, b)
	case uop.Shl:
		return l.shl(a, b.lo)
	case uop.Shr:
		return l.shr(a, b.lo, signed)
	case uop.And, uop.Or, uop.Xor:
		return words{a.lo.Alu(u.Op, b.lo), a.hi.Alu(u.Op, b.hi)}
	case uop.Max:
		return l.choose(l.less(signed, a, b), b, a)
	case uop.After:
		return words{a.lo.AfterOps(l.sources(u.Src[1:])...), a.hi.AfterOps(l.sources(u.Src[1:])...)}
	}
	fail("%s: there is no emulation of this operation on 64-bit integers", u)
	return words{}
}

func (l *longs) load(u *uop.UOp) words {
	p := l.ptrs[u.Src[0]]
	if len(u.Src) == 1 {
		return words{p.lo.Load(), p.hi.Load()}
	}
	alt := l.split[u.Src[1]]
	rest := l.sources(u.Src[2:])
	return words{p.lo.Load(prepend(alt.lo, rest...)...), p.hi.Load(prepend(alt.hi, rest...)...)}
}

// widen casts to a long.
func (l *longs) widen(u *uop.UOp) words {
	s := u.Src[0]
	if isLong(s.DType) {
		return l.split[s]
	}
	v := l.plain[s]
	switch {
	case isFloat(s):
		if v.DType != uop.Float64 {
			v = v.Cast(uop.Float32) // smaller floats have no such powers of two
		}
		// The magnitude is split, so both parts are in the range of an unsigned word.
		negative := v.LtInt(0)
		mag := negative.Where(v.Neg(), v).TruncF()
		hi := mag.Mul(num(mag, 1.0/(1<<32))).TruncF()
		lo := mag.Sub(hi.Mul(num(hi, 1<<32)))
		w := words{lo.Cast(uop.Uint32), hi.Cast(uop.Uint32)}
		return l.choose(negative, l.sub(words{l.num(0), l.num(0)}, w), w)
	case s.DType.IsBool() || s.DType.IsUnsigned():
		return words{v.Cast(uop.Uint32), l.num(0)}
	}
	return words{v.Cast(uop.Uint32), v.LtInt(0).Where(l.num(-1), l.num(0))}
}

// narrow casts a long to another type.
func (l *longs) narrow(w words, signed bool, dt *uop.DType) *uop.UOp {
	switch {
	case dt.IsBool():
		return w.lo.Or(w.hi).Ne(l.num(0))
	case dt.IsInt():
		return w.lo.Cast(dt)
	}
	unsigned := func(w words) *uop.UOp {
		f := dt
		if f != uop.Float64 {
			f = uop.Float32
		}
		hi := w.hi.Cast(f)
		return hi.Mul(num(hi, 1<<32)).Add(w.lo.Cast(f)).Cast(dt)
	}
	if !signed {
		return unsigned(w)
	}
	mag := unsigned(l.choose(l.negative(w), l.sub(words{l.num(0), l.num(0)}, w), w))
	return l.negative(w).Where(mag.Neg(), mag)
}

func (l *longs) negative(w words) *uop.UOp { return w.hi.Shr(l.num(31)).Ne(l.num(0)) }

func (l *longs) choose(c *uop.UOp, a, b words) words {
	return words{c.Where(a.lo, b.lo), c.Where(a.hi, b.hi)}
}

func (l *longs) add(a, b words) words {
	lo := a.lo.Add(b.lo)
	return words{lo, a.hi.Add(b.hi).Add(l.bit(lo.Lt(a.lo)))}
}

func (l *longs) sub(a, b words) words {
	return words{a.lo.Sub(b.lo), a.hi.Sub(b.hi).Sub(l.bit(a.lo.Lt(b.lo)))}
}

// mulWords is the 64-bit product of two words, by halves of 16 bits.
func (l *longs) mulWords(a, b *uop.UOp) words {
	mask, n := l.num(0xffff), l.num(16)
	a0, a1, b0, b1 := a.And(mask), a.Shr(n), b.And(mask), b.Shr(n)
	low := words{a0.Mul(b0), a1.Mul(b1)}
	for _, mid := range []*uop.UOp{a0.Mul(b1), a1.Mul(b0)} {
		low = l.add(low, words{mid.Shl(n), mid.Shr(n)})
	}
	return low
}

func (l *longs) mul(a, b words) words {
	w := l.mulWords(a.lo, b.lo)
	return words{w.lo, w.hi.Add(a.lo.Mul(b.hi)).Add(a.hi.Mul(b.lo))}
}

// shl shifts to the left; a shift by 32 or more moves the low word up.
func (l *longs) shl(a words, n *uop.UOp) words {
	k := n.And(l.num(31))
	lo := a.lo.Shl(k)
	hi := a.hi.Shl(k).Or(a.lo.Shr(l.num(1)).Shr(l.num(31).Xor(k)))
	return l.choose(n.Lt(l.num(32)), words{lo, hi}, words{l.num(0), lo})
}

func (l *longs) shr(a words, n *uop.UOp, signed bool) words {
	k := n.And(l.num(31))
	lo := a.lo.Shr(k).Or(a.hi.Shl(l.num(1)).Shl(l.num(31).Xor(k)))
	hi, fill := a.hi.Shr(k), l.num(0)
	if signed {
		s := a.hi.BitcastTo(uop.Int32)
		hi = s.Shr(k.BitcastTo(uop.Int32)).BitcastTo(uop.Uint32)
		fill = s.Shr(s.IntLike(31)).BitcastTo(uop.Uint32)
	}
	return l.choose(n.Lt(l.num(32)), words{lo, hi}, words{hi, fill})
}

func (l *longs) less(signed bool, a, b words) *uop.UOp {
	ah, bh := a.hi, b.hi
	if signed {
		ah, bh = ah.BitcastTo(uop.Int32), bh.BitcastTo(uop.Int32)
	}
	return ah.Lt(bh).Or(a.hi.Eq(b.hi).And(a.lo.Lt(b.lo)))
}

// div is long division, bit by bit.
func (l *longs) div(op uop.Op, signed bool, a, b words) words {
	zero := words{l.num(0), l.num(0)}
	var aNeg, bNeg *uop.UOp
	if signed {
		aNeg, bNeg = l.negative(a), l.negative(b)
		a, b = l.choose(aNeg, l.sub(zero, a), a), l.choose(bNeg, l.sub(zero, b), b)
	}
	q, r := zero, zero
	for i := int64(63); i >= 0; i-- {
		word, at := a.lo, i
		if i >= 32 {
			word, at = a.hi, i-32
		}
		r = words{r.lo.Shl(l.num(1)).Or(word.Shr(l.num(at)).And(l.num(1))), r.hi.Shl(l.num(1)).Or(r.lo.Shr(l.num(31)))}
		fits := l.less(false, r, b).Not()
		r = l.choose(fits, l.sub(r, b), r)
		digit := l.bit(fits).Shl(l.num(at))
		if i >= 32 {
			q.hi = q.hi.Or(digit)
		} else {
			q.lo = q.lo.Or(digit)
		}
	}
	switch {
	case op == uop.Mod && signed:
		return l.choose(aNeg, l.sub(zero, r), r)
	case op == uop.Mod:
		return r
	case signed:
		return l.choose(aNeg.Ne(bNeg), l.sub(zero, q), q)
	}
	return q
}

// other rebuilds a node of another type.
func (l *longs) other(u *uop.UOp) *uop.UOp {
	switch {
	case isLongPtr(u.DType):
		return rebuild(u, pointerLike(u.DType, uop.Uint32, 2), l.sources(u.Src))
	case len(u.Src) == 0:
		return u
	case u.Op == uop.Index:
		src := l.sources(u.Src[:1])
		if w, ok := l.split[u.Src[1]]; ok {
			src = append(src, w.lo.Cast(uop.Int32))
		} else {
			src = append(src, l.plain[u.Src[1]])
		}
		return rebuild(u, u.DType, append(src, l.sources(u.Src[2:])...))
	}
	first := u.Src[0]
	if u.Op == uop.Store && isLongPtr(first.DType) {
		p, v := l.ptrs[first], l.split[u.Src[1]]
		rest := l.sources(u.Src[2:])
		return l.g.Group(p.lo.Store(v.lo, rest...), p.hi.Store(v.hi, rest...))
	}
	if !isLong(first.DType) {
		return rebuild(u, u.DType, l.sources(u.Src))
	}
	a, signed := l.split[first], !first.DType.IsUnsigned()
	switch u.Op {
	case uop.Cast:
		return l.narrow(a, signed, u.DType)
	case uop.CmpLt:
		return l.less(signed, a, l.split[u.Src[1]])
	case uop.CmpNe, uop.CmpEq:
		b := l.split[u.Src[1]]
		same := a.lo.Xor(b.lo).Or(a.hi.Xor(b.hi))
		return same.Alu(u.Op, l.num(0))
	}
	fail("%s: there is no emulation of this operation on 64-bit integers", u)
	return nil
}
