package transform

import (
	"fmt"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// A Func is a function as a graph: outputs that are computed from inputs, which are placeholders.
type Func struct{ Inputs, Outputs []*uop.UOp }

// closed is the function as a step that reads its inputs and, behind them, the tensors that its outputs use from outside: more.
func (f Func) closed() (s Step, more []*uop.UOp, err error) {
	s = Step{Reads: slices.Clone(f.Inputs), Out: slices.Clone(f.Outputs)}
	if more, err = s.closed(); err == nil {
		err = s.check()
	}
	return s, more, err
}

// of are the results of a step without carry and elements, for the given tensors as its Reads.
func (s *Step) of(reads []*uop.UOp) []*uop.UOp {
	at := make(map[*uop.UOp]*uop.UOp, len(reads))
	for i, p := range s.Reads {
		at[p] = reads[i]
	}
	return mustSubstitute(s.Out, at)
}

// seeds are the floats among results, a placeholder for the gradient of each, and the gradients given: slices of g, the gradient of the value of a
// CUSTOM_GRADIENT.
func seeds(results []*uop.UOp, g *uop.UOp) (losses, placeholders, given []*uop.UOp) {
	losses = chosen(results, places(results))
	for _, u := range losses {
		placeholders = append(placeholders, Placeholder(u, u.DType, u.Shape()))
	}
	return losses, placeholders, partsOf(g, losses)
}

// A Policy says which values of a checkpointed function are stored for its derivatives.
type Policy struct {
	Name   string
	stored func(u *uop.UOp) bool
}

// Policies are all of them, with JAX's names. The first one is the default.
var Policies = []Policy{
	{"nothing_saveable", func(*uop.UOp) bool { return false }},
	{"dots_saveable", isDot},
	{"everything_saveable", nil},
}

// isDot reports whether a node is a sum of products of two tensors along axes that they share: a matrix product or a convolution.
func isDot(u *uop.UOp) bool {
	if u.Op != uop.ReduceAxis || u.Arg.(uop.AxisReduce).Op != uop.Add {
		return false
	}
	v := u.Src[0]
	for v.Op == uop.Cast {
		v = v.Src[0]
	}
	return v.Op == uop.Mul && v.Src[0].Base() != v.Src[1].Base() && uop.GroupMovement.Has(v.Src[0].Op) && uop.GroupMovement.Has(v.Src[1].Op)
}

// Checkpoint applies a function to arguments. For its derivatives the arguments and the values that the policy selects are stored; the rest is
// recomputed, in a part of the program that begins when the gradient of the results is known. "" is the default policy.
func Checkpoint(f Func, policy string, args []*uop.UOp) ([]*uop.UOp, error) {
	k := slices.IndexFunc(Policies, func(p Policy) bool { return p.Name == policy || policy == "" })
	if k < 0 {
		names := make([]string, len(Policies))
		for i, p := range Policies {
			names[i] = p.Name
		}
		return nil, fmt.Errorf("policy: %q, expected one of %q", policy, names)
	}
	s, more, err := f.closed()
	if err != nil {
		return nil, err
	}
	c, args := &checkpoint{body: s, policy: Policies[k]}, slices.Concat(args, more)
	if c.policy.stored == nil {
		return c.body.of(args), nil
	}
	return c.run(args), nil
}

// A checkpoint is the arg of the CUSTOM_GRADIENT of a function whose values are recomputed for its derivatives. The sources are the value, the
// arguments and the stored values.
type checkpoint struct {
	body   Step
	policy Policy
	stored []*uop.UOp // nodes of the body
}

func (c *checkpoint) run(args []*uop.UOp) []*uop.UOp {
	depends := map[*uop.UOp]bool{}
	for _, p := range c.body.Reads {
		depends[p] = true
	}
	for _, u := range order(c.body.Out, batching{}.below) {
		depends[u] = depends[u] || slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return depends[s] })
		if depends[u] && c.policy.stored(u) {
			c.stored = append(c.stored, u)
		}
	}
	n := len(c.body.Out)
	both := Step{Reads: c.body.Reads, Out: slices.Concat(c.body.Out, c.stored)}
	values := both.of(args)
	return withRule(c, values[:n:n], args, values[n:]...)
}

func (c *checkpoint) Equal(b uop.Arg) bool { o, ok := b.(*checkpoint); return ok && c == o }

func (c *checkpoint) Hash() uint64 { return uint64(len(c.body.Reads)) }

func (c *checkpoint) String() string { return "checkpoint " + c.policy.Name }

func (c *checkpoint) Nodes(mark func(u *uop.UOp)) {
	c.body.nodes(mark)
	for _, u := range c.stored {
		mark(u)
	}
}

// Gradient is a loop of one step: all operands are computed before it begins, and none of its nodes is identical to one that was computed before.
func (c *checkpoint) Gradient(g, u *uop.UOp) []*uop.UOp {
	losses, into, given := seeds(c.body.Out, g)
	moving := places(c.body.Reads)
	found, err := gradient.OfSeveral(losses, chosen(c.body.Reads, moving), into)
	if err != nil {
		gradient.Refuse(err)
	}
	at, reads := map[*uop.UOp]*uop.UOp{}, slices.Clone(c.body.Reads)
	for _, v := range c.stored {
		at[v] = Placeholder(v, v.DType, v.Shape())
		reads = append(reads, at[v])
	}
	back := Step{Reads: append(reads, into...), Out: mustSubstitute(found, at)}
	_, kept := (&scan{step: back, length: 1}).run(nil, nil, slices.Concat(u.Src[1:], given))
	out := make([]*uop.UOp, len(u.Src))
	for k, i := range moving {
		out[1+i] = kept[k].Reshape(c.body.Reads[i].Shape())
	}
	return out
}

// Tangent is that of the body, checkpointed in the same way.
func (c *checkpoint) Tangent(u *uop.UOp, tangents []*uop.UOp) (t *uop.UOp, known bool, err error) {
	s, reads := &c.body, slices.Clone(u.Src[1:1+len(c.body.Reads)])
	joint, moving := s.joint(nil, nil, &reads, tangents)
	losses := chosen(s.Out, places(s.Out))
	if joint.Out, err = JVP(losses, s.Reads, moving); err != nil {
		return nil, false, err
	}
	for i, v := range losses {
		joint.Out[i] = orZeros(joint.Out[i], v)
	}
	return joined((&checkpoint{body: joint, policy: c.policy}).run(reads)), true, nil
}

// CustomVJP gives the results of a function with a rule for reverse mode: from residuals, values that are stored, and a cotangent for each result,
// backward computes a gradient for each argument of a floating type.
func CustomVJP(results, args, residuals []*uop.UOp, backward Func) ([]*uop.UOp, error) {
	moving := places(args)
	switch {
	case len(backward.Inputs) != len(residuals)+len(results):
		return nil, fmt.Errorf("backward: takes %d tensors, expected %d residuals and %d cotangents", len(backward.Inputs), len(residuals), len(results))
	case len(backward.Outputs) != len(moving):
		return nil, fmt.Errorf("backward: returns %d gradients, expected one for each of %d arguments of floating types", len(backward.Outputs), len(moving))
	}
	if err := alike("backward: gradient", backward.Outputs, chosen(args, moving)); err != nil {
		return nil, err
	}
	s, more, err := backward.closed()
	if err != nil {
		return nil, fmt.Errorf("backward: %w", err)
	}
	rule := &customVJP{backward: s, moving: moving, args: len(args), residuals: len(residuals)}
	return withRule(rule, results, args, slices.Concat(residuals, more)...), nil
}

// alike checks that tensors have the types and shapes of others.
func alike(what string, found, like []*uop.UOp) error {
	for i, u := range found {
		if v := like[i]; u.DType != v.DType || !u.Shape().Equal(v.Shape()) {
			return fmt.Errorf("%s %d is %s of shape %s, expected %s of shape %s", what, i, u.DType.NumpyName(), u.Shape(), v.DType.NumpyName(), v.Shape())
		}
	}
	return nil
}

// A customVJP is the arg of the CUSTOM_GRADIENT of a function with a rule for reverse mode, whose transpose, at cotangents of 0, serves forward mode.
// The sources are the value, the arguments, the residuals, and the other tensors that the rule reads.
type customVJP struct {
	backward        Step
	moving          []int // the arguments that have gradients
	args, residuals int
}

func (c *customVJP) Equal(b uop.Arg) bool { o, ok := b.(*customVJP); return ok && c == o }

func (c *customVJP) Hash() uint64 { return uint64(31*c.args + c.residuals) }

func (c *customVJP) String() string { return "custom_vjp" }

func (c *customVJP) Nodes(mark func(u *uop.UOp)) { c.backward.nodes(mark) }

func (c *customVJP) Gradient(g, u *uop.UOp) []*uop.UOp {
	stored := u.Src[1+c.args:]
	more := stored[c.residuals:]
	cotangents := slices.Clone(c.backward.Reads[c.residuals : len(c.backward.Reads)-len(more)])
	floats := places(cotangents)
	for k, part := range partsOf(g, chosen(cotangents, floats)) {
		cotangents[floats[k]] = part
	}
	for i, p := range cotangents {
		if !isFloat(p) {
			cotangents[i] = p.Graph().DeviceConst(p.DType, uop.Int(0), p.Device(), p.Shape())
		}
	}
	out := make([]*uop.UOp, len(u.Src))
	for k, v := range c.backward.of(slices.Concat(stored[:c.residuals], cotangents, more)) {
		out[1+c.moving[k]] = v
	}
	return out
}

// CustomJVP gives the results of a function with a rule for forward mode: from the arguments and a tangent for each argument of a floating type,
// tangent computes a tangent for each result of a floating type. It is linear in the tangents.
func CustomJVP(results, args []*uop.UOp, tangent Func) ([]*uop.UOp, error) {
	moving, floats := places(args), places(results)
	switch {
	case len(tangent.Inputs) != len(args)+len(moving):
		return nil, fmt.Errorf("tangent: takes %d tensors, expected %d arguments and %d tangents", len(tangent.Inputs), len(args), len(moving))
	case len(tangent.Outputs) != len(floats):
		return nil, fmt.Errorf("tangent: returns %d tangents, expected one for each of %d results of floating types", len(tangent.Outputs), len(floats))
	}
	if err := alike("tangent", tangent.Outputs, chosen(results, floats)); err != nil {
		return nil, err
	}
	s, more, err := tangent.closed()
	if err != nil {
		return nil, fmt.Errorf("tangent: %w", err)
	}
	return withRule(&customJVP{tangent: s, moving: moving, args: len(args)}, results, args, more...), nil
}

// A customJVP is the arg of the CUSTOM_GRADIENT of a function with a rule for forward mode. The sources are the value, the arguments, and the other
// tensors that the rule reads.
type customJVP struct {
	tangent Step
	moving  []int // the arguments that have tangents
	args    int
}

func (c *customJVP) Equal(b uop.Arg) bool { o, ok := b.(*customJVP); return ok && c == o }

func (c *customJVP) Hash() uint64 { return uint64(31 * c.args) }

func (c *customJVP) String() string { return "custom_jvp" }

func (c *customJVP) Nodes(mark func(u *uop.UOp)) { c.tangent.nodes(mark) }

// reads are the tensors that the rule reads: the arguments, their tangents, where nil stands for zeros, and others.
func (c *customJVP) reads(u *uop.UOp, tangents []*uop.UOp) []*uop.UOp {
	args, more := u.Src[1:1+c.args], u.Src[1+c.args:]
	given := make([]*uop.UOp, len(c.moving))
	for k, i := range c.moving {
		given[k] = zeros(args[i])
		if tangents != nil {
			given[k] = orZeros(tangents[i], args[i])
		}
	}
	return slices.Concat(args, given, more)
}

func (c *customJVP) Tangent(u *uop.UOp, tangents []*uop.UOp) (t *uop.UOp, known bool, err error) {
	return joined(c.tangent.of(c.reads(u, tangents))), true, nil
}

// Gradient is the transpose of the rule. The rule is linear, so the tangents at which it is transposed make no difference.
func (c *customJVP) Gradient(g, u *uop.UOp) []*uop.UOp {
	losses, into, given := seeds(c.tangent.Out, g)
	found, err := gradient.OfSeveral(losses, c.tangent.Reads[c.args:c.args+len(c.moving)], into)
	if err != nil {
		gradient.Refuse(err)
	}
	back := Step{Reads: slices.Concat(c.tangent.Reads, into), Out: found}
	out := make([]*uop.UOp, len(u.Src))
	for k, v := range back.of(slices.Concat(c.reads(u, nil), given)) {
		out[1+c.moving[k]] = v
	}
	return out
}
