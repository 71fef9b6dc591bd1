package symbolic

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// quotientOfSum is sum//c3 for sum = x//c1 + c2 as one quotient, nil if an intermediate value may overflow the type.
func quotientOfSum(sum, x, c1, c2, c3 *uop.UOp) *uop.UOp {
	n := x.Add(c2.Mul(c1))
	if !sum.Exact() || !productFits(c1, c3) || !productFits(c2, c1) || !n.Exact() {
		return nil
	}
	return n.Idiv(c1.Mul(c3))
}

// foldDivmod simplifies an integer division or remainder of index expressions. Its rules are tried
// in order; each is a method of divmod. Division in the graph rounds towards zero, the arithmetic on
// constants in here rounds towards minus infinity where it is Python's in tinygrad.
// The result depends on the node alone, so it is cached there.
func foldDivmod(d *uop.UOp) *uop.UOp {
	if v, ok := d.Memo(uop.MemoDivMod); ok {
		return v
	}
	v := computeDivmod(d)
	d.SetMemo(uop.MemoDivMod, v)
	return v
}

func computeDivmod(d *uop.UOp) *uop.UOp {
	x, y := d.Src[0], d.Src[1]
	ylo, yhi := y.Bounds()
	if ylo.Sign() == 0 && yhi.Sign() == 0 {
		return nil
	}
	if r := cancelDivmod(d); r != nil {
		return r
	}
	peeled, c := x.PopConst(uop.Add)
	m := &divmod{op: d.Op, x: x, y: y, peeled: peeled, k: c, terms: peeled.SplitUOp(uop.Add)}
	if y.Op == uop.ConstOp && y.ConstVal().Sign() > 0 {
		m.c = y.ConstVal()
		for _, rule := range []func(*divmod) *uop.UOp{(*divmod).removeNestedMod, (*divmod).foldBinaryNumerator,
			(*divmod).foldCongruence, (*divmod).gcdWithRemainder, (*divmod).nestBySmallestFactor} {
			if r := rule(m); r != nil {
				return r
			}
		}
	}
	return m.variableDenominator()
}

// cancelDivmod folds where the whole range of the numerator lies in one interval of the denominator.
func cancelDivmod(d *uop.UOp) *uop.UOp {
	x, y := d.Src[0], d.Src[1]
	xlo, xhi := x.Bounds()
	ylo, yhi := y.Bounds()
	if ylo.Sign()*yhi.Sign() <= 0 {
		return nil
	}
	q := xlo.CDiv(ylo)
	if !q.Eq(xlo.CDiv(yhi)) || !q.Eq(xhi.CDiv(ylo)) || !q.Eq(xhi.CDiv(yhi)) {
		return nil
	}
	if d.Op == uop.Mod {
		return x.Sub(scaled(q, y))
	}
	return constant(d, q)
}

// divmod is (sum of terms + k) op y, where op is IDIV or MOD; c is the value of y where y is a positive constant.
type divmod struct {
	op      uop.Op
	x, y    *uop.UOp
	peeled  *uop.UOp // x without k
	k, c    uop.Const
	terms   []*uop.UOp
	bare    []*uop.UOp // terms divided by their constant factors
	factors []uop.Const
}

func (m *divmod) mod() bool { return m.op == uop.Mod }

// decompose fills bare and factors; it reports false if a term is zero, which simplification removes first.
func (m *divmod) decompose() bool {
	if m.bare != nil {
		return true
	}
	for _, u := range m.terms {
		f := ConstFactor(u)
		v := Divides(u, f)
		if v == nil {
			m.bare, m.factors = nil, nil
			return false
		}
		m.bare, m.factors = append(m.bare, v), append(m.factors, f)
	}
	return true
}

// removeNestedMod drops an inner remainder by a multiple of the outer one: (a%4 + b)%2 -> (a+b)%2.
func (m *divmod) removeNestedMod() *uop.UOp {
	if !m.mod() || m.x.Vmin().Sign() < 0 {
		return nil
	}
	changed := false
	terms := make([]*uop.UOp, len(m.terms))
	for i, u := range m.terms {
		if u.Op == uop.Mod && IsMultiple(u.Src[1], m.c) {
			u, changed = u.Src[0], true
		}
		terms[i] = u
	}
	if !changed {
		return nil
	}
	if s := addConst(uop.SumOf(terms...), m.k); s.Vmin().Sign() >= 0 {
		return s.Mod(m.y)
	}
	return nil
}

// foldBinaryNumerator interpolates where the only term takes on two values.
func (m *divmod) foldBinaryNumerator() *uop.UOp {
	if !m.decompose() || len(m.bare) != 1 {
		return nil
	}
	v, f := m.bare[0], m.factors[0]
	lo, hi := v.Bounds()
	if !hi.Sub(lo).EqInt(1) {
		return nil
	}
	at := func(p uop.Const) uop.Const {
		n := f.Mul(p).Add(m.k)
		if m.mod() {
			return n.CMod(m.c)
		}
		return n.CDiv(m.c)
	}
	y1, y2 := at(lo), at(hi)
	return addConst(scaled(y2.Sub(y1), subConst(v, lo)), y1)
}

// foldCongruence replaces every factor by its smallest congruent one; it folds if what remains lies in one interval of c.
func (m *divmod) foldCongruence() *uop.UOp {
	if !m.decompose() {
		return nil
	}
	c := m.c
	rems := make([]uop.Const, len(m.factors))
	parts := make([]*uop.UOp, len(m.factors))
	for i, f := range m.factors {
		r := f.FloorMod(c)
		if s := r.Sub(c); s.Neg().Less(r) {
			r = s
		}
		rems[i], parts[i] = r, scaled(r, m.bare[i])
	}
	rem := addConst(sumFromZero(m.x, parts), m.k.FloorMod(c))
	lo, hi := rem.Bounds()
	q := lo.FloorDiv(c)
	if !q.Eq(hi.FloorDiv(c)) {
		return nil
	}
	if m.mod() {
		return subConst(rem, q.Mul(c))
	}
	for i, f := range m.factors {
		parts[i] = scaled(f.Sub(rems[i]).FloorDiv(c), m.bare[i])
	}
	return addConst(sumFromZero(m.x, parts), m.k.Sub(m.k.FloorMod(c)).Add(q.Mul(c)).FloorDiv(c))
}

// gcdWithRemainder takes the common divisor of the terms and c out of the numerator; k may leave a remainder.
func (m *divmod) gcdWithRemainder() *uop.UOp {
	if m.x.Vmin().Sign() < 0 {
		return nil
	}
	g := Simplify(GCD(append(append([]*uop.UOp{}, m.terms...), m.y)...))
	if g.Op != uop.ConstOp || g.ConstVal().Cmp(one) <= 0 {
		return nil
	}
	gc := g.ConstVal()
	q := DivideExact(m.peeled, g)
	if q == nil {
		return nil
	}
	n := addConst(Simplify(q), m.k.FloorMod(m.c).FloorDiv(gc))
	if n.Vmin().Sign() < 0 {
		return nil
	}
	r := n.Alu(m.op, constant(m.x, m.c.FloorDiv(gc)))
	if m.mod() {
		return addConst(r.Mul(g), m.k.FloorMod(gc))
	}
	return addConst(r, m.k.FloorDiv(m.c))
}

// nestBySmallestFactor divides in two steps if the first one simplifies the numerator.
func (m *divmod) nestBySmallestFactor() *uop.UOp {
	if m.mod() || m.x.Vmin().Sign() < 0 || !m.decompose() {
		return nil
	}
	div := m.c
	for i, f := range m.factors {
		if op := m.terms[i].Op; op == uop.ConstOp || op == uop.VConstOp || f.Sign() == 0 {
			continue
		}
		a := f
		if a.Sign() < 0 {
			a = a.Neg()
		}
		if a.Cmp(one) > 0 && m.c.FloorMod(f).Sign() == 0 && a.Less(div) {
			div = a
		}
	}
	if !div.Less(m.c) {
		return nil
	}
	inner := foldDivmod(m.x.Idiv(constant(m.x, div)))
	if inner == nil || inner.Vmin().Sign() < 0 {
		return nil
	}
	return inner.Idiv(constant(inner, m.c.FloorDiv(div)))
}

// variableDenominator divides numerator and denominator by their common divisor, else takes
// the multiples of the denominator out of the numerator: (d*x+y)//d -> x + y//d.
func (m *divmod) variableDenominator() *uop.UOp {
	all := append([]*uop.UOp{}, m.terms...)
	if m.k.Sign() != 0 {
		all = append(all, constant(m.x, m.k))
	}
	g := Simplify(GCD(append(append([]*uop.UOp{}, all...), m.y)...))
	if !g.IsConst(one) {
		a, b := DivideExact(m.x, g), DivideExact(m.y, g)
		if a == nil || b == nil {
			return nil
		}
		if r := a.Alu(m.op, b); !m.mod() {
			return r
		} else {
			return r.Mul(g)
		}
	}
	if m.y.Vmin().Sign() < 0 || m.x.Vmin().Sign() < 0 {
		return nil
	}
	return m.factorRemainder(all)
}

func (m *divmod) factorRemainder(all []*uop.UOp) *uop.UOp {
	var quo, rem []*uop.UOp
	for _, u := range all {
		if q := DivideExact(u, m.y); q != nil {
			quo = append(quo, q)
			continue
		}
		if m.mod() && m.y.Op == uop.ConstOp {
			f := ConstFactor(u)
			if r := f.FloorMod(m.y.ConstVal()); !r.Eq(f) {
				d := Divides(u, f)
				rem = append(rem, d.Mul(constant(d, r)))
				quo = append(quo, constant(u, zero))
				continue
			}
		}
		rem = append(rem, u)
	}
	if quo == nil {
		return nil
	}
	n := constant(m.x, zero)
	if rem == nil {
		n = addConst(n, zero)
	} else {
		n = addConst(sumFromZero(m.x, rem), zero)
	}
	if n.Vmin().Sign() < 0 {
		return nil
	}
	if m.mod() {
		return n.Mod(m.y)
	}
	return n.Idiv(m.y).Add(sumFromZero(m.x, quo))
}

// RejoinQuotients joins a quotient and a remainder whose dividends differ by a multiple of the divisor:
// (x//c)*c + y%c is x if x-y is a multiple of c, and y%c - (x//c)*c is c-1-x if x+y+1 is one, as in flipped views. tinygrad
// does not join them.
var RejoinQuotients = &rewrite.Table{Name: "rejoin quotients", Rules: []*rewrite.Rule{{
	Name: "(x//c)*c*k + y%c*k", Ops: uop.Ops(uop.Add), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if !u.DType.IsIndex() || !u.HasOp(uop.Ops(uop.Idiv)) || !u.HasOp(uop.Ops(uop.Mod)) {
			return nil
		}
		terms := u.SplitUOp(uop.Add)
		for i, a := range terms {
			quotient, ck := factored(a)
			if quotient.Op != uop.Idiv || quotient.Src[1].Op != uop.ConstOp {
				continue
			}
			x, c := quotient.Src[0], quotient.Src[1].ConstVal()
			for j, b := range terms {
				rest, k := factored(b)
				if rest.Op != uop.Mod || rest.Src[1] != quotient.Src[1] || c.Sign() <= 0 {
					continue
				}
				y, others := rest.Src[0], slices.Clone(terms)
				if x.Vmin().Sign() < 0 || y.Vmin().Sign() < 0 {
					continue
				}
				switch kc := k.Mul(c); {
				case kc.Eq(ck) && congruent(x, y, one.Neg(), zero, c):
					others[i] = scaled(k, x)
					others = slices.Delete(others, j, j+1)
				case kc.Eq(ck.Neg()) && congruent(x, y, one, one, c):
					others[i], others[j] = scaled(k.Neg(), x), constant(x, kc.Sub(k))
				default:
					continue
				}
				return uop.SumOf(others...)
			}
		}
		return nil
	}}, {
	Name: "x%c < 1 ? f(x//c) : y", Ops: uop.Ops(uop.Where), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		if !u.Src[0].HasOp(uop.Ops(uop.Mod)) {
			return nil
		}
		conditions := u.Src[0].SplitUOp(uop.And)
		for i, c := range conditions {
			rest, quotient := exactMultiple(c)
			if rest == nil {
				continue
			}
			others := slices.Clone(conditions)
			others[i] = rest.Ne(rest.IntLike(0)).Not()
			mod := c.Src[0]
			idiv := mod.Src[0].Idiv(mod.Src[1])
			if low, high := quotient.Bounds(); low.Cmp(idiv.Vmin()) < 0 || high.Cmp(idiv.Vmax()) > 0 {
				quotient = idiv // a load may run although its value is not used, so its index must stay in bounds
			}
			return uop.ProdOf(others...).Where(rewrite.Substitute(u.Src[1], rewrite.Map{idiv: quotient}), u.Src[2])
		}
		return nil
	}}}}

// exactMultiple splits a condition x%c < 1 where x is a multiple of c only if a smaller sum, the rest, is 0, and x//c is then a sum, the
// quotient: i*2000+j is a multiple of 2001 only if j-i is 0, and then it is i times 2001. rest is nil for other conditions.
func exactMultiple(condition *uop.UOp) (rest, quotient *uop.UOp) {
	if condition.Op != uop.CmpLt || condition.Src[0].Op != uop.Mod || !condition.Src[1].IsConst(uop.Int(1)) || !condition.Src[0].DType.IsIndex() {
		return nil, nil
	}
	x, divisor := condition.Src[0].Src[0], condition.Src[0].Src[1]
	if divisor.Op != uop.ConstOp || divisor.ConstVal().Sign() <= 0 || x.Vmin().Sign() < 0 {
		return nil, nil
	}
	c := divisor.ConstVal()
	rest, quotient = x.IntLike(0), x.IntLike(0)
	for _, t := range x.SplitUOp(uop.Add) {
		bare, factor := factored(t)
		if bare.Op == uop.ConstOp {
			bare, factor = bare.IntLike(1), factor.Mul(bare.ConstVal())
		}
		small := factor.FloorMod(c)
		if c.Less(small.Add(small)) {
			small = small.Sub(c)
		}
		rest = rest.Add(scaled(small, bare))
		quotient = quotient.Add(scaled(factor.Sub(small).FloorDiv(c), bare))
	}
	rest, quotient = Simplify(rest), Simplify(quotient)
	if low, high := rest.Bounds(); rest == x || low.Cmp(c.Neg()) <= 0 || high.Cmp(c) >= 0 {
		return nil, nil
	}
	return rest, quotient
}

// congruent reports whether x + sign*y + more is certainly a multiple of c.
func congruent(x, y *uop.UOp, sign, more, c uop.Const) bool {
	factors := map[*uop.UOp]uop.Const{nil: more}
	add := func(sum *uop.UOp, sign uop.Const) {
		for _, t := range sum.SplitUOp(uop.Add) {
			bare, f := factored(t)
			if bare.Op == uop.ConstOp {
				f, bare = f.Mul(bare.ConstVal()), nil
			}
			f = f.Mul(sign)
			if before, ok := factors[bare]; ok {
				f = f.Add(before)
			}
			factors[bare] = f
		}
	}
	add(x, one)
	add(y, sign)
	for _, f := range factors {
		if f.FloorMod(c).Sign() != 0 {
			return false
		}
	}
	return true
}

// factored takes a constant factor off.
func factored(u *uop.UOp) (bare *uop.UOp, factor uop.Const) {
	if u.Op == uop.Mul && u.Src[1].Op == uop.ConstOp {
		return u.Src[0], u.Src[1].ConstVal()
	}
	return u, one
}
