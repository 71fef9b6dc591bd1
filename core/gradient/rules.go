package gradient

import (
	"math"

	"polygrad/core/uop"
)

// Rule gives the gradients of the sources of u from the gradient g of u: nil where
// there is none; missing ones at the end are nil too.
type Rule func(g, u *uop.UOp) []*uop.UOp

// rules are the derivatives. Operations that are not here are not differentiable.
var rules = map[uop.Op]Rule{
	uop.Cast:       castRule,
	uop.Reciprocal: reciprocalRule,
	uop.Sin:        sinRule,
	uop.Log2:       log2Rule,
	uop.Exp2:       exp2Rule,
	uop.Sqrt:       sqrtRule,
	uop.Add:        addRule,
	uop.Mul:        mulRule,
	uop.MulAcc:     mulAccRule,
	uop.Pow:        powRule,
	uop.Max:        maxRule,
	uop.Where:      whereRule,
	uop.ReduceAxis: reduceAxisRule,
	uop.Reduce:     reduceRule,
	uop.PrefixAxis: prefixRule,
	// steps: the derivative is 0 wherever it exists
	uop.CmpLt:   noGradient,
	uop.CmpNe:   noGradient,
	uop.Trunc:   noGradient,
	uop.Floor:   noGradient,
	uop.Ceil:    noGradient,
	uop.Round:   noGradient,
	uop.Bitcast: noGradient,
	// movement: the way back
	uop.Reshape: reshapeRule,
	uop.Expand:  expandRule,
	uop.Pad:     padRule,
	uop.Shrink:  shrinkRule,
	uop.Permute: permuteRule,
	uop.Flip:    flipRule,
	// the same values in another place
	uop.Contiguous:         contiguousRule,
	uop.ContiguousBackward: contiguousBackwardRule,
	uop.Copy:               copyRule,
	uop.After:              addRule,
	uop.CustomGradient:     customRule,
}

// Stated is the arg of CUSTOM_GRADIENT: it holds the rule.
type Stated interface {
	uop.Arg
	// Gradient is a Rule; there is nothing for the first source, which is the value.
	Gradient(g, u *uop.UOp) []*uop.UOp
}

// Deferred is a Stated whose gradient is that of another expression for the value, which is only made if it is differentiated.
type Deferred interface {
	Stated
	// Expression is the value as an expression of the sources that follow it; nil if Gradient has the rule.
	Expression(of []*uop.UOp) *uop.UOp
}

// Linear is a Stated whose value may be linear in each of its sources of a floating type while the others stay as they are.
type Linear interface {
	Stated
	Linear() bool
}

// Pointwise is a Stated whose value may be elementwise: each element is a function of the elements of the sources at the same position.
type Pointwise interface {
	Stated
	Pointwise() bool
}

// Named is a Stated that is a known function of its sources.
type Named interface {
	Stated
	// Name is what a reader calls the function, with its numbers; "" if its expression is shown.
	Name() string
	// TwoExpressions reports whether the first two sources are expressions for the same value.
	TwoExpressions() bool
}

// RuleOf is the rule of an operation, nil if it has no derivative.
func RuleOf(op uop.Op) Rule { return rules[op] }

func customRule(g, u *uop.UOp) []*uop.UOp {
	gradients := u.Arg.(Stated).Gradient(g, u)
	for i, v := range gradients {
		if v != nil {
			gradients[i] = v.Cast(u.Src[i].DType) // a rule may compute in the type of another source
		}
	}
	return gradients
}

func number(like *uop.UOp, v float64) *uop.UOp { return like.ConstLike(uop.Float(v)) }

// numberOf is the value of a constant, broadcast or not, that is no variable.
func numberOf(u *uop.UOp) (v float64, ok bool) {
	for u.Op == uop.Reshape || u.Op == uop.Expand || u.Op == uop.Cast {
		u = u.Src[0]
	}
	if u.Op != uop.ConstOp || len(u.Src) > 1 {
		return 0, false
	}
	return u.ConstVal().F(), true
}

// scaled is g*k for a k of ln 2 or 1/ln 2, perhaps negative. These two cancel, so that the derivative of e^x = 2^(x/ln 2) is not rounded
// three times. Other factors are not joined: the next derivative may be with respect to them.
func scaled(g *uop.UOp, k float64) *uop.UOp {
	if u := unscaled(g, k); u != nil {
		return u
	}
	return g.Mul(number(g, k))
}

// unscaled is g*k without the factor of g that k cancels, nil if it has none.
func unscaled(g *uop.UOp, k float64) *uop.UOp {
	if g.Op != uop.Mul || g.Graph().IsAsTinygrad() || !isLn2(k) && !isLn2(1/k) {
		return nil
	}
	c, ok := numberOf(g.Src[1])
	switch p := c * k; {
	case !ok || math.Abs(math.Abs(p)-1) > 1e-6:
		return nil
	case p < 0:
		return g.Src[0].Neg()
	}
	return g.Src[0]
}

func isLn2(k float64) bool { return math.Abs(math.Abs(k)-math.Ln2) < 1e-6 }

func div(a, b *uop.UOp) *uop.UOp { return a.Mul(b.Recip()) }

func noGradient(_, _ *uop.UOp) []*uop.UOp { return nil }

func castRule(g, u *uop.UOp) []*uop.UOp { return []*uop.UOp{g.Cast(u.Src[0].DType)} }

// d(1/x) = -1/x^2
func reciprocalRule(g, u *uop.UOp) []*uop.UOp { return []*uop.UOp{g.Neg().Mul(u).Mul(u)} }

// A Sigmoid is a value 1/(1+2^z). By the rules of its parts, its gradient would be 0 times infinity where 2^z is infinite. tinygrad mends
// that by algebra, see core/symbolic.
type Sigmoid struct {
	Z     *uop.UOp
	One   *uop.UOp
	Parts []*uop.UOp // between the value and z
	value *uop.UOp
}

// SigmoidOf tells whether a value is a sigmoid.
func SigmoidOf(u *uop.UOp) (s Sigmoid, ok bool) {
	if u.Op != uop.Reciprocal || u.Graph().IsAsTinygrad() {
		return s, false
	}
	s.value = u
	part := func(p *uop.UOp) *uop.UOp {
		s.Parts = append(s.Parts, p)
		for p.Op == uop.Cast && p.Src[0].DType.IsFloat() { // halves are computed in float32
			p = p.Src[0]
			s.Parts = append(s.Parts, p)
		}
		return p
	}
	sum := part(u.Src[0])
	if sum.Op != uop.Add {
		return s, false
	}
	e := sum.Src[1]
	s.One = sum.Src[0]
	if _, ok := numberOf(e); ok {
		s.One, e = e, s.One
	}
	e = part(e)
	if v, ok := numberOf(s.One); !ok || v != 1 || e.Op != uop.Exp2 {
		return s, false
	}
	s.Z = e.Src[0]
	return s, true
}

// Gradient is the gradient of z from a gradient g of the value, or the tangent of the value from a tangent g of z.
func (s Sigmoid) Gradient(g *uop.UOp) *uop.UOp {
	u := s.value
	return scaled(g.Mul(u).Mul(number(u, 1).Sub(u)), -math.Ln2)
}

// A Softmax is a value 2^z / sum(2^z). By the rules of its parts, its gradient would need the exponentials and their sum in addition to the
// value.
type Softmax struct {
	Z     *uop.UOp
	Parts []*uop.UOp // between the value and z
	value *uop.UOp
	axes  []int
}

// SoftmaxOf tells whether a value is a softmax.
func SoftmaxOf(u *uop.UOp) (Softmax, bool) {
	if u.Op != uop.Mul || u.Graph().IsAsTinygrad() {
		return Softmax{}, false
	}
	for i, e := range u.Src {
		s := Softmax{value: u}
		part := func(p *uop.UOp) *uop.UOp {
			s.Parts = append(s.Parts, p)
			for p.Op == uop.Expand || p.Op == uop.Cast && p.Src[0].DType.IsFloat() { // halves are computed in float32
				p = p.Src[0]
				s.Parts = append(s.Parts, p)
			}
			return p
		}
		if e = part(e); e.Op != uop.Exp2 {
			continue
		}
		over := part(u.Src[1-i])
		if over.Op != uop.Reciprocal {
			continue
		}
		total := part(over.Src[0])
		if a, ok := total.Arg.(uop.AxisReduce); ok && total.Op == uop.ReduceAxis && a.Op == uop.Add && e.Shape().Equal(u.Shape()) && part(total.Src[0]) == e {
			s.Z, s.axes = e.Src[0], a.Axes
			return s, true
		}
	}
	return Softmax{}, false
}

// Gradient is the gradient of z from a gradient g of the value, or the tangent of the value from a tangent g of z.
func (s Softmax) Gradient(g *uop.UOp) *uop.UOp {
	y, g := s.value.Cast(s.Z.DType), g.Cast(s.Z.DType)
	mean := y.Mul(g).ReduceAxes(uop.Add, s.axes...).Expand(y.Shape())
	return scaled(y.Mul(g.Sub(mean)), math.Ln2)
}

// d sin(x) = cos(x), written sin(pi/2 - x). Where x is pi/2 - y, the sine of a cosine, that is sin(y).
func sinRule(g, u *uop.UOp) []*uop.UOp {
	x, quarter := u.Src[0], number(u, math.Pi/2)
	if x.Op == uop.Add && x.Src[0] == quarter && !x.Graph().IsAsTinygrad() {
		if y := x.Src[1]; y.Op == uop.Mul && y.Src[1] == number(y, -1) {
			return []*uop.UOp{y.Src[0].Sin().Mul(g)}
		}
	}
	return []*uop.UOp{quarter.Add(x.Neg()).Sin().Mul(g)}
}

// d log2(x) = 1/(x ln 2)
func log2Rule(g, u *uop.UOp) []*uop.UOp {
	x := u.Src[0]
	if !x.Graph().IsAsTinygrad() {
		return []*uop.UOp{div(scaled(g, 1/math.Ln2), x)}
	}
	return []*uop.UOp{div(g, x.Mul(number(x, math.Ln2)))}
}

// d 2^x = 2^x ln 2
func exp2Rule(g, u *uop.UOp) []*uop.UOp { return []*uop.UOp{scaled(u.Mul(g), math.Ln2)} }

// d sqrt(x) = 1/(2 sqrt(x))
func sqrtRule(g, u *uop.UOp) []*uop.UOp { return []*uop.UOp{div(g, u.Mul(number(u, 2)))} }

func addRule(g, _ *uop.UOp) []*uop.UOp { return []*uop.UOp{g, g} }

func mulRule(g, u *uop.UOp) []*uop.UOp {
	return []*uop.UOp{times(u.Src[1], g), times(u.Src[0], g)}
}

func times(x, g *uop.UOp) *uop.UOp {
	if k, ok := numberOf(x); ok {
		if u := unscaled(g, k); u != nil {
			return u
		}
	}
	return x.Mul(g)
}

func mulAccRule(g, u *uop.UOp) []*uop.UOp { return append(mulRule(g, u), g) }

// d b^e = e b^(e-1) for the base, which is e at 0^0; b^e ln b for the exponent, which is 0 for
// b = 0, or -inf if the exponent is negative.
func powRule(g, u *uop.UOp) []*uop.UOp {
	b, e := u.Src[0], u.Src[1]
	b0, e0 := b.Eq(number(b, 0)), e.Eq(number(e, 0))
	base := g.Mul(b0.And(e0).Where(e, e.Mul(b.Alu(uop.Pow, e.SubInt(1)))))
	atZero := e.Lt(number(e, 0)).Where(number(u, math.Inf(-1)), number(u, 0))
	return []*uop.UOp{base, g.Mul(b0.Where(atZero, u.Mul(b.Log2()).Mul(number(u, math.Ln2))))}
}

// The greater operand takes the gradient; equal ones take half each.
func maxRule(g, u *uop.UOp) []*uop.UOp {
	x, y := u.Src[0], u.Src[1]
	half := x.Eq(y).Where(g.Mul(number(g, 0.5)), number(g, 0))
	return []*uop.UOp{x.Gt(y).Where(g, half), x.Lt(y).Where(g, half)}
}

func whereRule(g, u *uop.UOp) []*uop.UOp {
	zero := number(g, 0)
	return []*uop.UOp{nil, u.Src[0].Where(g, zero), u.Src[0].Where(zero, g)}
}

func reduceAxisRule(g, u *uop.UOp) []*uop.UOp {
	arg := u.Arg.(uop.AxisReduce)
	return reduction(g, u, arg.Op, arg.Axes)
}

func reduceRule(g, u *uop.UOp) []*uop.UOp { return reduction(g, u, uop.Op(u.Arg.(uop.OpArg)), nil) }

// reduction: a sum passes its gradient on; a maximum gives it to the greatest elements in equal
// parts; a product multiplies it with the product of the other elements.
func reduction(g, u *uop.UOp, op uop.Op, axes []int) []*uop.UOp {
	x := u.Src[0]
	back := func(v *uop.UOp) *uop.UOp {
		s := append(uop.Shape{}, v.Shape()...)
		for len(s) < len(x.Shape()) {
			s = append(s, uop.N(1))
		}
		return v.Reshape(s).Expand(x.Shape())
	}
	switch op {
	case uop.Add:
		return []*uop.UOp{back(g)}
	case uop.Max:
		mask := x.Eq(back(u)).Cast(g.DType)
		count := mask.ReduceAxes(uop.Add, axes...)
		if x.Graph().IsAsTinygrad() {
			return []*uop.UOp{div(mask, back(count)).Mul(back(g))}
		}
		return []*uop.UOp{mask.Mul(back(div(g, count)))}
	}
	return []*uop.UOp{div(back(g.Mul(u)), x)}
}

// prefixRule: let l[t] be the gradient of y[t] with all that later elements take from it. It is a prefix in the other direction:
//
//	ADD     l[t] = g[t] + l[t+1]                    dx = l
//	MUL     l[t] = g[t] + x[t+1] l[t+1]             dx = l[t] y[t-1]
//	MULACC  l[t] = g[t] + a[t+1] l[t+1]             da = l[t] y[t-1], db = l
//	MAX     l[t] = g[t] + (new[t+1] ? 0 : l[t+1])   dx = new ? l : 0
//
// where new says that x[t] is greater than all elements before it. Of equal maxima the first one takes the gradient.
func prefixRule(g, u *uop.UOp) []*uop.UOp {
	// Along the last axis, factors are stored first: a loop that runs in order is fast where it loads without conditions.
	inOrder := func(p uop.PrefixArg, factor *uop.UOp) *uop.UOp {
		if p.Axis == len(factor.Shape())-1 {
			return factor.ContiguousOp()
		}
		return factor
	}
	p := u.Arg.(uop.PrefixArg)
	if len(u.Src) > p.Operands() {
		panic("gradient: a PREFIX_AXIS with an initial value is made by the scheduler only")
	}
	back := uop.PrefixArg{Op: p.Op, Axis: p.Axis, Reverse: !p.Reverse}
	switch p.Op {
	case uop.Add:
		return []*uop.UOp{g.PrefixAlong(back)}
	case uop.Max:
		x := u.Src[0]
		no := x.ConstLike(uop.Int(0)).Cast(uop.Bool)
		isNew := no.NeighbourAlong(p, -1, uop.BoolConst(true)).Or(x.Gt(u.NeighbourAlong(p, -1, uop.Int(0))))
		back.Op = uop.MulAcc
		l := inOrder(p, isNew.NeighbourAlong(p, 1, uop.BoolConst(true)).Where(number(g, 0), number(g, 1))).PrefixAlong(back, g)
		return []*uop.UOp{isNew.Where(l, number(l, 0))}
	}
	back.Op = uop.MulAcc
	l := inOrder(p, u.Src[0].NeighbourAlong(p, 1, uop.Int(0))).PrefixAlong(back, g)
	before := l.Mul(u.NeighbourAlong(p, -1, p.Identity(u.DType)))
	if p.Op == uop.Mul {
		return []*uop.UOp{before}
	}
	return []*uop.UOp{before, l}
}

func reshapeRule(g, u *uop.UOp) []*uop.UOp { return []*uop.UOp{g.Reshape(u.Src[0].Shape())} }

func expandRule(g, u *uop.UOp) []*uop.UOp {
	var axes []int
	to := u.Shape()
	for i, d := range u.Src[0].Shape() {
		if d != to[i] {
			axes = append(axes, i)
		}
	}
	wide := g.DType
	if !g.Graph().IsAsTinygrad() { // sums of narrow types would lose digits or overflow
		wide = uop.SumAcc(wide)
	}
	return []*uop.UOp{g.Cast(wide).ReduceAxes(uop.Add, axes...).Cast(g.DType)}
}

func padRule(g, u *uop.UOp) []*uop.UOp {
	ps := u.MovementPairs()
	for i, d := range u.Src[0].Shape() {
		ps[i].Hi = d.Add(ps[i].Lo)
	}
	return []*uop.UOp{g.Shrink(ps)}
}

func shrinkRule(g, u *uop.UOp) []*uop.UOp {
	ps := u.MovementPairs()
	for i, d := range u.Src[0].Shape() {
		ps[i].Hi = d.Sub(ps[i].Hi)
	}
	return []*uop.UOp{g.Pad(ps)}
}

func permuteRule(g, u *uop.UOp) []*uop.UOp {
	order := u.Arg.(uop.Nums)
	inverse := make([]int, len(order))
	for i, o := range order {
		inverse[o] = i
	}
	return []*uop.UOp{g.Permute(inverse)}
}

func flipRule(g, u *uop.UOp) []*uop.UOp { return []*uop.UOp{g.Flip(u.Arg.(uop.Flags))} }

func contiguousRule(g, _ *uop.UOp) []*uop.UOp { return []*uop.UOp{g} }

func contiguousBackwardRule(g, _ *uop.UOp) []*uop.UOp { return []*uop.UOp{g.ContiguousOp()} }

func copyRule(g, u *uop.UOp) []*uop.UOp {
	return []*uop.UOp{g.Graph().New(uop.Copy, g.DType, []*uop.UOp{g, g.Graph().DeviceOp(u.Src[0].Device())}, nil, nil)}
}
