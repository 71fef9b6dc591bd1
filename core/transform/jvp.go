package transform

import (
	"fmt"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// JVP gives the tangents of outs: how they change, to first order, if each input changes by its tangent (forward mode). A tangent has
// the shape and type of its node; nil is zero, both in what is given and in the result. Integers and bools have none. At a step and a
// DETACH the derivative is 0; where two numbers are equal a maximum takes half of each tangent, as in reverse mode.
func JVP(outs, inputs, tangents []*uop.UOp) ([]*uop.UOp, error) {
	f := forward{inputs: map[*uop.UOp]bool{}, tangents: map[*uop.UOp]*uop.UOp{}}
	for i, u := range inputs {
		t := tangents[i]
		if t != nil && (!u.DType.IsFloat() || t.DType != u.DType || !t.Shape().Equal(u.Shape())) {
			return nil, fmt.Errorf("transform.JVP: tangents[%d]: is %s %s, expected %s", i, t.DType, t.Shape(), tangentType(u))
		}
		f.inputs[u], f.tangents[u] = true, t
	}
	for _, u := range order(outs, f.below) {
		if f.inputs[u] || !slices.ContainsFunc(f.below(u), f.moves) || !u.DType.IsFloat() {
			continue
		}
		rule := jvpRules[u.Op]
		if rule == nil {
			return nil, fmt.Errorf("transform.JVP: %s has no derivative (%s of shape %s)", u.Op, u.DType, u.Shape())
		}
		t, err := rule(f, u)
		if err != nil {
			return nil, err
		}
		f.tangents[u] = t
	}
	found := make([]*uop.UOp, len(outs))
	for i, u := range outs {
		found[i] = f.tangents[u]
	}
	return found, nil
}

func tangentType(u *uop.UOp) string {
	if !u.DType.IsFloat() {
		return "none, as " + u.DType.String() + " has no tangents"
	}
	return fmt.Sprintf("%s %s as its node", u.DType, u.Shape())
}

// forward is a walk from the inputs to the outputs.
type forward struct {
	inputs   map[*uop.UOp]bool
	tangents map[*uop.UOp]*uop.UOp
}

// below are the sources that the tangent of a node depends on.
func (f forward) below(u *uop.UOp) []*uop.UOp {
	switch {
	case f.inputs[u] || constantOps.Has(u.Op) || kernelOps.Has(u.Op):
		return nil
	case u.Op == uop.Detach || u.Op == uop.Assign:
		return nil
	case u.Op == uop.CustomGradient:
		return u.Src[1:]
	case u.Op == uop.Repeat:
		return u.Src[1:]
	}
	return u.Src
}

func (f forward) isInput(u *uop.UOp) bool { return f.inputs[u] }

// moves reports whether a node has a tangent, or is a part of another one with tangents below it.
func (f forward) moves(u *uop.UOp) bool {
	if u.Op == uop.Repeat || u.Op == uop.Loops {
		return slices.ContainsFunc(f.below(u), f.moves)
	}
	return f.tangents[u] != nil
}

// tangent is that of a source, zeros if it has none.
func (f forward) tangent(u *uop.UOp) *uop.UOp {
	if t := f.tangents[u]; t != nil {
		return t
	}
	return zeros(u)
}

// A jvpRule gives the tangent of a node at least one of whose sources has one.
type jvpRule func(f forward, u *uop.UOp) (*uop.UOp, error)

var jvpRules map[uop.Op]jvpRule

func init() {
	jvpRules = map[uop.Op]jvpRule{
		// functions of elements: the rule of reverse mode is a product with the slope
		uop.Reciprocal: pointwise, uop.Sin: pointwise, uop.Log2: pointwise, uop.Exp2: pointwise, uop.Sqrt: pointwise,
		uop.Mul: pointwise, uop.MulAcc: pointwise, uop.Pow: pointwise, uop.Max: pointwise,
		uop.Add: sumOfTangents, uop.Where: whereTangent, uop.Cast: castTangent,
		// steps
		uop.Trunc: noTangent, uop.Floor: noTangent, uop.Ceil: noTangent, uop.Round: noTangent,
		uop.Bitcast: noTangent, uop.Detach: noTangent, uop.Assign: noTangent,
		// the same values in another place
		uop.Reshape: linear, uop.Expand: linear, uop.Pad: linear, uop.Shrink: linear, uop.Permute: linear, uop.Flip: linear,
		uop.Contiguous: linear, uop.ContiguousBackward: linear, uop.Copy: linear, uop.After: linear,
		// along axes
		uop.ReduceAxis: reductionTangent, uop.PrefixAxis: prefixTangent,
		uop.CustomGradient: customTangent,
	}
	// Results that are integers or bools.
	for _, op := range uop.Ops(uop.CmpLt, uop.CmpNe, uop.CmpEq, uop.Idiv, uop.Mod, uop.Shl, uop.Shr, uop.Xor, uop.Or, uop.And, uop.Threefry).List() {
		jvpRules[op] = noTangent
	}
	// Operations that core/tensor does not write, but readers of files and callers of the C interface may.
	for _, op := range uop.Ops(uop.Neg, uop.Sub, uop.Fdiv, uop.Exp, uop.Cos, uop.Tanh).List() {
		jvpRules[op] = pointwise
	}
	// What is stored element by element, or computed by statements, is the value of a CUSTOM_GRADIENT, or of integers.
	for _, op := range uop.Ops(uop.Scatter, uop.Fetch, uop.Loops, uop.Repeat, uop.Result, uop.Sort).List() {
		jvpRules[op] = onlyAsValue
	}
	// Statements have no value.
	for _, op := range uop.Ops(uop.Sink, uop.Store).List() {
		jvpRules[op] = noTangent
	}
	for _, op := range constantOps.List() {
		jvpRules[op] = noTangent
	}
}

func noTangent(forward, *uop.UOp) (*uop.UOp, error) { return nil, nil }

func onlyAsValue(_ forward, u *uop.UOp) (*uop.UOp, error) {
	return nil, fmt.Errorf("transform.JVP: %s has no derivative (%s of shape %s)", u.Op, u.DType, u.Shape())
}

// plus is a + b, where nil is zero.
func plus(a, b *uop.UOp) *uop.UOp {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return a.Add(b)
}

// linear applies the operation to the tangent of the first source.
func linear(f forward, u *uop.UOp) (*uop.UOp, error) {
	t := f.tangents[u.Src[0]]
	if t == nil {
		return nil, nil
	}
	return u.With(append([]*uop.UOp{t}, u.Src[1:]...)...), nil
}

// pointwise: what reverse mode sends back to a source from an incoming gradient is the product with the slope.
func pointwise(f forward, u *uop.UOp) (*uop.UOp, error) {
	rule := gradient.RuleOf(u.Op)
	if rule == nil {
		return onlyAsValue(f, u)
	}
	if s, ok := gradient.SigmoidOf(u); ok && f.tangents[s.Z] != nil && f.tangents[s.One] == nil && !slices.ContainsFunc(s.Parts, f.isInput) {
		return s.Gradient(f.tangents[s.Z].Cast(u.DType)), nil
	}
	if s, ok := gradient.SoftmaxOf(u); ok && f.tangents[s.Z] != nil && !slices.ContainsFunc(s.Parts, f.isInput) {
		return s.Gradient(f.tangents[s.Z]).Cast(u.DType), nil
	}
	var sum *uop.UOp
	for i, s := range u.Src {
		if t := f.tangents[s]; t != nil {
			sum = plus(sum, rule(t, u)[i])
		}
	}
	return sum, nil
}

func sumOfTangents(f forward, u *uop.UOp) (*uop.UOp, error) {
	return plus(f.tangents[u.Src[0]], f.tangents[u.Src[1]]), nil
}

func whereTangent(f forward, u *uop.UOp) (*uop.UOp, error) {
	if f.tangents[u.Src[1]] == nil && f.tangents[u.Src[2]] == nil {
		return nil, nil
	}
	return u.With(u.Src[0], f.tangent(u.Src[1]), f.tangent(u.Src[2])), nil
}

func castTangent(f forward, u *uop.UOp) (*uop.UOp, error) {
	return f.tangents[u.Src[0]].Cast(u.DType), nil
}

// reductionTangent: the tangent of a maximum is the mean of those of the greatest elements, that of a product the sum of each tangent
// times the other elements.
func reductionTangent(f forward, u *uop.UOp) (*uop.UOp, error) {
	x, t, arg := u.Src[0], f.tangents[u.Src[0]], u.Arg.(uop.AxisReduce)
	back := func(v *uop.UOp) *uop.UOp { return v.Expand(x.Shape()) }
	switch arg.Op {
	case uop.Add:
		if contracted(x) && t.Op == uop.Add { // two contractions, each of which can be tiled
			return t.Src[0].ReduceAxes(uop.Add, arg.Axes...).Add(t.Src[1].ReduceAxes(uop.Add, arg.Axes...)), nil
		}
		return t.ReduceAxes(uop.Add, arg.Axes...), nil
	case uop.Max:
		mask := x.Eq(back(u)).Cast(t.DType)
		count := mask.ReduceAxes(uop.Add, arg.Axes...)
		return mask.Mul(t).ReduceAxes(uop.Add, arg.Axes...).Mul(count.Recip()), nil
	}
	return u.Mul(t.Mul(x.Recip()).ReduceAxes(uop.Add, arg.Axes...)), nil
}

// contracted reports whether the sum of an expression is a contraction: of products of tensors that are both repeated.
func contracted(x *uop.UOp) bool {
	if x.Op == uop.Cast {
		x = x.Src[0]
	}
	repeated := func(u *uop.UOp) bool {
		for uop.GroupMovement.Has(u.Op) {
			if u.Op == uop.Expand {
				return true
			}
			u = u.Src[0]
		}
		return false
	}
	return x.Op == uop.Mul && repeated(x.Src[0]) && repeated(x.Src[1])
}

// prefixTangent, with s the tangent of an element x and t that of y:
//
//	ADD     t[i] = t[i-1] + s[i]
//	MUL     t[i] = t[i-1] x[i] + y[i-1] s[i]
//	MULACC  t[i] = t[i-1] a[i] + (y[i-1] da[i] + db[i])
//	MAX     t[i] = new[i] ? s[i] : t[i-1]
//
// where new says that x[i] is greater than all elements before it.
func prefixTangent(f forward, u *uop.UOp) (*uop.UOp, error) {
	p := u.Arg.(uop.PrefixArg)
	if len(u.Src) > p.Operands() {
		return onlyAsValue(f, u) // an initial value is made by the scheduler only
	}
	sum := p
	sum.Op = uop.MulAcc
	before := func() *uop.UOp { return u.NeighbourAlong(p, -1, p.Identity(u.DType)) }
	x := u.Src[0]
	switch t := f.tangents[x]; p.Op {
	case uop.Add:
		return t.PrefixAlong(p), nil
	case uop.Max:
		first := zeros(x).Cast(uop.Bool).NeighbourAlong(p, -1, uop.BoolConst(true))
		isNew := first.Or(x.Gt(u.NeighbourAlong(p, -1, uop.Int(0))))
		one, zero := x.ConstLike(uop.Int(1)), zeros(x)
		return isNew.Where(zero, one).PrefixAlong(sum, isNew.Where(t, zero)), nil
	case uop.Mul:
		return x.PrefixAlong(sum, before().Mul(t)), nil
	default:
		added := f.tangents[u.Src[1]]
		if t != nil {
			added = plus(before().Mul(t), added)
		}
		return x.PrefixAlong(sum, added), nil
	}
}

// stated is a CUSTOM_GRADIENT's arg that may know a rule for forward mode, too. tangents are those of the sources behind the value, nil for
// zeros.
type stated interface {
	Tangent(u *uop.UOp, tangents []*uop.UOp) (t *uop.UOp, known bool, err error)
}

// customTangent: a value that is linear in each source is computed from the tangent of each one in turn. For any other the rule of
// reverse mode is a linear function of the gradient that comes in; its transpose, which reverse mode finds, takes tangents of the sources
// to that of the value.
func customTangent(f forward, u *uop.UOp) (*uop.UOp, error) {
	if d, ok := u.Arg.(gradient.Deferred); ok {
		if t, done, err := deferredTangent(f, u, d); done || err != nil {
			return t, err
		}
	}
	if s, ok := u.Arg.(stated); ok {
		tangents := make([]*uop.UOp, len(u.Src)-1)
		for i, v := range u.Src[1:] {
			tangents[i] = f.tangents[v]
		}
		if t, known, err := s.Tangent(u, tangents); known || err != nil {
			return t, err
		}
	}
	if l, ok := u.Arg.(gradient.Linear); ok && l.Linear() && computedFrom(u.Src[0], u.Src[1:]) {
		return linearTangent(f, u)
	}
	incoming := Placeholder(u, u.DType, u.Shape())
	var sum *uop.UOp
	for i, back := range u.Arg.(gradient.Stated).Gradient(incoming, u) {
		if back == nil || f.tangents[u.Src[i]] == nil {
			continue
		}
		found, err := gradient.Of(back, []*uop.UOp{incoming}, f.tangents[u.Src[i]].Cast(back.DType))
		if err != nil {
			return nil, err
		}
		sum = plus(sum, found[0])
	}
	if sum == nil {
		return nil, nil
	}
	// A linear function has the same transpose everywhere.
	return substitute(sum, map[*uop.UOp]*uop.UOp{incoming: zeros(u)})
}

// computedFrom reports whether a value is computed from some nodes, each given once, and from nothing else but numbers.
func computedFrom(value *uop.UOp, of []*uop.UOp) bool {
	inputs := map[*uop.UOp]Batched{}
	for _, u := range of {
		if _, twice := inputs[u]; twice {
			return false
		}
		inputs[u] = Batched{Node: u}
	}
	found := 0
	for _, u := range order([]*uop.UOp{value}, batching{at: inputs}.below) {
		if _, is := inputs[u]; is {
			found++
		} else if u.Op == uop.Buffer || u.Op == uop.Param {
			return false
		}
	}
	return found == len(of)
}

func linearTangent(f forward, u *uop.UOp) (*uop.UOp, error) {
	var sum *uop.UOp
	for i, s := range u.Src[1:] {
		t := f.tangents[s]
		if t == nil {
			continue
		}
		at := map[*uop.UOp]*uop.UOp{}
		for _, other := range u.Src[1:] {
			at[other] = other
		}
		at[s] = t
		value, err := substitute(u.Src[0], at)
		if err != nil {
			return nil, err
		}
		src := slices.Clone(u.Src)
		src[0], src[1+i] = value, t
		sum = plus(sum, u.With(src...))
	}
	return sum, nil
}

// deferredTangent is the tangent of another expression for the value, if there is one.
func deferredTangent(f forward, u *uop.UOp, d gradient.Deferred) (t *uop.UOp, done bool, err error) {
	leaves, tangents := make([]*uop.UOp, len(u.Src)-1), make([]*uop.UOp, len(u.Src)-1)
	at := map[*uop.UOp]*uop.UOp{}
	for i, s := range u.Src[1:] {
		leaves[i] = Placeholder(s, s.DType, s.Shape())
		at[leaves[i]], tangents[i] = s, f.tangents[s]
	}
	e := d.Expression(leaves)
	if e == nil {
		return nil, false, nil
	}
	found, err := JVP([]*uop.UOp{e}, leaves, tangents)
	if err != nil || found[0] == nil {
		return nil, true, err
	}
	t, err = substitute(found[0], at)
	return t, true, err
}
