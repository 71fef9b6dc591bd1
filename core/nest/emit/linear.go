package emit

import (
	"math"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// linear is an affine integer: a sum of terms times constants, a constant, and a stride per lane. In this form accesses that differ by a
// constant are recognised.
type linear struct {
	terms []ir.Term // by the ID of their values, coefficients not zero
	off   int64
	lane  int64
	slow  int64 // the step after every split lanes, counted from `from` lanes before the first
	split int64
	from  int64
	index *ir.Value // an arbitrary vector that is added, nil for none
	// low and high bound the exact value of index, which may be computed in 32 bits.
	low, high float64
}

// addressOf is the linear form of the index of an access. An index that fits into 32 bits may have parts that do not: if the vector part
// overflows, everything is computed modulo 2^32.
func (im *emitter) addressOf(u *uop.UOp) linear {
	l := im.linearOf(u)
	if l.index != nil && ir.KindOf[u.DType.Scalar()] == ir.I32 && (l.low < math.MinInt32 || l.high > math.MaxInt32) {
		low, high := u.Bounds()
		return linear{index: im.valueOf(l, ir.I32), low: max(low.F(), math.MinInt32), high: min(high.F(), math.MaxInt32)}
	}
	return l
}

func (im *emitter) timesLinear(a linear, c int64) linear {
	if c == 1 {
		return a
	}
	out := linear{off: a.off * c, lane: a.lane * c, slow: a.slow * c, split: a.split, from: a.from}
	if c == 0 {
		return out
	}
	out.terms = make([]ir.Term, len(a.terms))
	for i, t := range a.terms {
		out.terms[i] = ir.Term{V: t.V, Coef: t.Coef * c}
	}
	if a.index != nil {
		out.index = im.Do(ir.Mul, a.index.Kind, a.index, im.Int(a.index.Kind, c))
		out.low, out.high = min(a.low*float64(c), a.high*float64(c)), max(a.low*float64(c), a.high*float64(c))
	}
	return out
}

func (im *emitter) addLinear(x, y linear, sign int64) linear {
	if x.slow != 0 && y.slow != 0 && (x.split != y.split || x.from != y.from) {
		k := ir.I32
		if y.index != nil {
			k = y.index.Kind
		}
		groups := float64(y.slow) * float64(im.Lanes)
		y.index, y.slow = im.valueOf(linear{slow: y.slow, split: y.split, from: y.from, index: y.index}, k), 0
		y.low, y.high = y.low+min(groups, 0), y.high+max(groups, 0)
	}
	out := linear{off: x.off + sign*y.off, lane: x.lane + sign*y.lane, slow: x.slow + sign*y.slow, split: x.split, from: x.from}
	if x.slow == 0 {
		out.split, out.from = y.split, y.from
	}
	i, j := 0, 0
	switch {
	case len(y.terms) == 0:
		out.terms, i = x.terms, len(x.terms)
	case len(x.terms) == 0 && sign > 0:
		out.terms, j = y.terms, len(y.terms)
	default:
		out.terms = make([]ir.Term, 0, len(x.terms)+len(y.terms))
	}
	for i < len(x.terms) || j < len(y.terms) {
		switch {
		case j == len(y.terms) || i < len(x.terms) && x.terms[i].V.ID < y.terms[j].V.ID:
			out.terms = append(out.terms, x.terms[i])
			i++
		case i == len(x.terms) || y.terms[j].V.ID < x.terms[i].V.ID:
			out.terms = append(out.terms, ir.Term{V: y.terms[j].V, Coef: sign * y.terms[j].Coef})
			j++
		default:
			if c := x.terms[i].Coef + sign*y.terms[j].Coef; c != 0 {
				out.terms = append(out.terms, ir.Term{V: x.terms[i].V, Coef: c})
			}
			i++
			j++
		}
	}
	if y.index != nil && sign < 0 {
		y.index, y.low, y.high = im.Do(ir.Neg, y.index.Kind, y.index), -y.high, -y.low
	}
	out.low, out.high = x.low+y.low, x.high+y.high
	switch {
	case x.index == nil:
		out.index = y.index
	case y.index == nil:
		out.index = x.index
	default:
		k := max(x.index.Kind, y.index.Kind)
		out.index = im.Do(ir.Add, k, im.intCast(k, x.index), im.intCast(k, y.index))
	}
	return out
}

func (im *emitter) timesInt(v *ir.Value, c int64) *ir.Value {
	if c == 1 {
		return v
	}
	return im.Do(ir.Mul, v.Kind, v, im.Int(v.Kind, c))
}

func (im *emitter) intCast(k ir.Kind, v *ir.Value) *ir.Value {
	if v.Kind == k {
		return v
	}
	return im.Do(ir.Cast, k, v)
}

// valueOf emits a linear form as a value of a kind.
func (im *emitter) valueOf(l linear, k ir.Kind) *ir.Value {
	terms := slices.Clone(l.terms)
	slices.SortStableFunc(terms, func(x, y ir.Term) int { return x.V.Block.Depth - y.V.Block.Depth })
	var sum *ir.Value
	add := func(v *ir.Value) {
		if sum == nil {
			sum = v
		} else {
			sum = im.Do(ir.Add, ir.I64, sum, v)
		}
	}
	for _, t := range terms {
		v := im.intCast(ir.I64, t.V)
		if t.Coef != 1 {
			v = im.Do(ir.Mul, ir.I64, v, im.Int(ir.I64, t.Coef))
		}
		add(v)
	}
	// The constant of a vector is added last, so that copies that differ by it share the rest.
	later := l.lane != 0 && sum != nil
	if !later && l.off != 0 || sum == nil {
		add(im.Int(ir.I64, l.off))
	}
	out := sum
	if k != ir.I64 {
		if sum.Op == ir.Const {
			out = im.Int(k, int64(sum.Bits))
		} else {
			out = im.Do(ir.Cast, k, sum)
		}
	}
	lanes := im.New(ir.Lane, k, im.Lanes, 0)
	if l.lane != 0 {
		out = im.Do(ir.Add, k, im.Splat(out), im.timesInt(lanes, l.lane))
	}
	if later && l.off != 0 {
		out = im.Do(ir.Add, k, out, im.Int(k, l.off))
	}
	if l.slow != 0 {
		// For numbers below 16 this is the quotient.
		if l.from != 0 {
			lanes = im.Do(ir.Add, k, lanes, im.Int(k, l.from))
		}
		group := im.Do(ir.Shr, k, im.timesInt(lanes, (256+l.split-1)/l.split), im.Int(k, 8))
		out = im.Do(ir.Add, k, im.Splat(out), im.timesInt(group, l.slow))
	}
	if l.index != nil {
		out = im.Do(ir.Add, k, im.Splat(out), im.intCast(k, l.index))
	}
	return out
}

// linearOf is the linear form of an index.
func (im *emitter) linearOf(u *uop.UOp) linear {
	if l, ok := im.env.linear(u); ok {
		return l
	}
	l := im.findLinear(u)
	im.env.linears.set(u, l)
	return l
}

// operandOf is the linear form of an operand that is multiplied by a factor. Its index has 64 bits if the product may overflow 32: a part
// of a sum may, although the sum does not.
func (im *emitter) operandOf(u *uop.UOp, i int, factor int64) linear {
	l := im.linearOf(u.Src[i])
	if l.index == nil || l.index.Kind != ir.I32 || ir.KindOf[u.DType.Scalar()] != ir.I64 {
		return l
	}
	low, high := u.Bounds()
	most := 2 * math.Abs(float64(factor)) * max(-l.low, l.high) // of a sum of two
	if low.Less(uop.Int32.Min()) || uop.Int32.Max().Less(high) || most > math.MaxInt32 {
		l.index = im.Do(ir.Cast, ir.I64, l.index)
	}
	return l
}

func (im *emitter) findLinear(u *uop.UOp) linear {
	k := ir.KindOf[u.DType.Scalar()]
	if k == ir.I32 || k == ir.I64 {
		switch u.Op {
		case uop.Range:
			ir.Fail("the range %s is used outside of its loop", u.Arg)
		case uop.ConstOp:
			return linear{off: u.ConstVal().I()}
		case uop.Add:
			return im.addLinear(im.operandOf(u, 0, 1), im.operandOf(u, 1, 1), 1)
		case uop.Sub:
			return im.addLinear(im.operandOf(u, 0, 1), im.operandOf(u, 1, 1), -1)
		case uop.Neg:
			return im.timesLinear(im.operandOf(u, 0, 1), -1)
		case uop.Mul:
			for i := range 2 {
				if c := u.Src[1-i]; c.Op == uop.ConstOp {
					return im.timesLinear(im.operandOf(u, i, c.ConstVal().I()), c.ConstVal().I())
				}
			}
		case uop.Shl:
			if c := u.Src[1]; c.Op == uop.ConstOp {
				factor := int64(1) << (c.ConstVal().I() & 63)
				return im.timesLinear(im.operandOf(u, 0, factor), factor)
			}
		case uop.Idiv, uop.Mod, uop.Shr, uop.And:
			if l, ok := im.partOf(u); ok {
				return l
			}
		case uop.Cast:
			switch from := ir.KindOf[u.Src[0].DType.Scalar()]; {
			case from == ir.I32 && k == ir.I64:
				return im.addressOf(u.Src[0])
			case from == ir.I32 || from == ir.I64:
				return im.linearOf(u.Src[0])
			}
		}
	}
	v := im.eval(u)
	switch {
	case v.Op == ir.Const && v.Lanes == 1:
		return linear{off: ir.ConstInt(v)}
	case v.Lanes > 1:
		low, high := u.Bounds()
		return linear{index: im.Do(ir.Cast, widestIndex(v.Kind), v), low: low.F(), high: high.F()}
	}
	return linear{terms: []ir.Term{{V: v, Coef: 1}}}
}

// parts are the operations that a quotient or a remainder may be written as.
var parts = uop.Ops(uop.Idiv, uop.Mod, uop.Shr, uop.And)

// partOf returns the quotient or the remainder of a number with consecutive lanes, if groups of lanes have the same quotient.
func (im *emitter) partOf(u *uop.UOp) (linear, bool) {
	c := u.Src[1]
	if c.Op != uop.ConstOp || !u.DType.IsInt() || im.Machine.Invocations {
		return linear{}, false
	}
	d, small := c.ConstVal().Int64() // divisor
	switch u.Op {
	case uop.Shr:
		d = 1 << (d & 63)
	case uop.And:
		d++ // of a power of two
	}
	if lo, _ := u.Src[0].Bounds(); !small || d < 2 || d > int64(im.Lanes) || d&(d-1) != 0 || lo.Sign() < 0 {
		return linear{}, false
	}
	l := im.linearOf(u.Src[0])
	if l.lane != 1 || l.slow != 0 || l.index != nil || slices.ContainsFunc(l.terms, func(t ir.Term) bool { return t.Coef%d != 0 }) {
		return linear{}, false
	}
	from := l.off & (d - 1)
	if u.Op == uop.Mod || u.Op == uop.And {
		return linear{off: from, lane: 1, slow: -d, split: d, from: from}, true
	}
	out := linear{off: (l.off - from) / d, slow: 1, split: d, from: from}
	for _, t := range l.terms {
		out.terms = append(out.terms, ir.Term{V: t.V, Coef: t.Coef / d})
	}
	return out, true
}

// widestIndex is the kind in which indices of a kind are added.
func widestIndex(k ir.Kind) ir.Kind {
	if k == ir.U32 || k.Width() == 8 {
		return ir.I64
	}
	return ir.I32
}
