package transform

import (
	"errors"
	"fmt"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// BatchRules are the batching rules of a function, one for each batch size and choice of batched arguments. A rule is made when a batch needs it:
// while it is missing, the operations of the function are batched, and the rule is reported as missing.
type BatchRules struct {
	// Host is the caller's function that computes a rule.
	Host any

	inputs, outputs []*uop.UOp
	missing         func(m *MissingRule)
	known           map[string]*batchRuleAt
}

// A MissingRule is the rule for a batch of a size in which the arguments In are batched.
type MissingRule struct {
	Rules *BatchRules
	Size  int64
	In    []bool
}

func (m *MissingRule) key() string { return fmt.Sprint(m.Size, m.In) }

// Known reports whether the rule has been stated.
func (m *MissingRule) Known() bool { return m.Rules.known[m.key()] != nil }

// Inputs are placeholders for the arguments of the rule; those that are batched have the batch as their first axis.
func (m *MissingRule) Inputs() []*uop.UOp {
	out := make([]*uop.UOp, len(m.In))
	for i, u := range m.Rules.inputs {
		out[i] = Placeholder(u, u.DType, m.shape(u, m.In[i]))
	}
	return out
}

func (m *MissingRule) shape(u *uop.UOp, batched bool) uop.Shape {
	if !batched {
		return u.Shape()
	}
	return prepend(uop.N(m.Size), u.Shape())
}

// Add states the rule: a function of arguments like Inputs that gives the results of the function. Results with out set have the batch as their first
// axis; the others are the same for all elements.
func (m *MissingRule) Add(rule Func, out []bool) error {
	r := m.Rules
	if len(rule.Inputs) != len(r.inputs) {
		return fmt.Errorf("rule: takes %d tensors, expected %d as the function", len(rule.Inputs), len(r.inputs))
	}
	if len(rule.Outputs) != len(r.outputs) || len(out) != len(r.outputs) {
		return fmt.Errorf("rule: returns %d tensors, and says of %d whether they are batched, expected the %d results of the function", len(rule.Outputs), len(out), len(r.outputs))
	}
	for i, u := range rule.Outputs {
		v, how := r.outputs[i], "not batched"
		if out[i] {
			how = "batched"
		}
		if want := m.shape(v, out[i]); u.DType != v.DType || !u.Shape().Equal(want) {
			return fmt.Errorf("rule: result %d is %s of shape %s, expected %s of shape %s, as it is %s", i, u.DType.NumpyName(), u.Shape(), v.DType.NumpyName(), want, how)
		}
	}
	r.known[m.key()] = &batchRuleAt{Step{Reads: rule.Inputs, Out: rule.Outputs}, m.In, out}
	return nil
}

// A batchRuleAt is a rule for a batch: a step that reads the arguments, and which of these and of the results are batched.
type batchRuleAt struct {
	step    Step
	in, out []bool
}

// CustomVMap applies a function to arguments. Batches of it are computed by rules, which the host states when missing reports them.
func CustomVMap(f Func, host any, args []*uop.UOp, missing func(m *MissingRule)) ([]*uop.UOp, error) {
	s, more, err := f.closed()
	if err != nil {
		return nil, err
	}
	r := &BatchRules{Host: host, inputs: f.Inputs, outputs: f.Outputs, missing: missing, known: map[string]*batchRuleAt{}}
	results := make([]*uop.UOp, len(f.Outputs))
	for i, u := range s.Out {
		c := &customVMap{rules: r, body: Step{Reads: s.Reads, Out: []*uop.UOp{u}}, args: len(args)}
		c.rule = func(size int64, in []bool) (*batchRuleAt, error) { return r.at(size, in, i), nil }
		results[i] = c.node(slices.Concat(args, more))
	}
	return results, nil
}

// at is the rule for one output, nil if it is missing.
func (r *BatchRules) at(size int64, in []bool, output int) *batchRuleAt {
	m := &MissingRule{r, size, in}
	found := r.known[m.key()]
	if found == nil {
		r.missing(m)
		return nil
	}
	return &batchRuleAt{Step{Reads: found.step.Reads, Out: found.step.Out[output : output+1]}, in, found.out[output : output+1]}
}

// A customVMap is the arg of the CUSTOM_GRADIENT of one result of a function with batching rules. The sources are the value, the arguments, and the
// other tensors that the body reads. Its gradient is that of the body.
type customVMap struct {
	rules *BatchRules
	body  Step // with one output
	args  int
	// rule finds the rule for a batch; if it is nil, the body is batched. The rule may have more batched arguments than in.
	rule func(size int64, in []bool) (*batchRuleAt, error)
}

func (c *customVMap) node(sources []*uop.UOp) *uop.UOp {
	value := c.body.of(sources)[0]
	return value.Graph().New(uop.CustomGradient, value.DType, prepend(value, sources), c, nil)
}

func (c *customVMap) Equal(b uop.Arg) bool { o, ok := b.(*customVMap); return ok && c == o }

func (c *customVMap) Hash() uint64 { return uint64(31*c.args + len(c.body.Reads)) }

func (c *customVMap) String() string { return "custom_vmap" }

func (c *customVMap) Nodes(mark func(u *uop.UOp)) {
	c.body.nodes(mark)
	for _, list := range [][]*uop.UOp{c.rules.inputs, c.rules.outputs} {
		for _, u := range list {
			mark(u)
		}
	}
	for _, r := range c.rules.known {
		r.step.nodes(mark)
	}
}

func (c *customVMap) batched(b batching, u *uop.UOp) (Batched, error) {
	sources, nodes, in := make([]Batched, len(u.Src)-1), make([]*uop.UOp, len(u.Src)-1), make([]bool, c.args)
	for i, s := range u.Src[1:] {
		sources[i] = b.done[s]
		nodes[i] = sources[i].Node
		if i < c.args {
			in[i] = sources[i].Mapped
		} else if sources[i].Mapped {
			return Batched{}, errors.New("custom_vmap: the function reads a tensor from outside that differs among the elements of the batch: pass it as an argument")
		}
	}
	if !slices.Contains(in, true) {
		return Batched{Node: c.node(nodes)}, nil
	}
	var rule *batchRuleAt
	if !b.size.Symbolic() {
		var err error
		if rule, err = c.rule(b.size.N, in); err != nil {
			return Batched{}, err
		}
	}
	if rule == nil {
		inputs := map[*uop.UOp]Batched{}
		for i, p := range c.body.Reads {
			inputs[p] = sources[i]
		}
		found, err := BatchAlong(b.axis, c.body.Out, inputs, b.size)
		if err != nil {
			return Batched{}, err
		}
		return found[0], nil
	}
	for i, batched := range rule.in {
		if batched {
			nodes[i] = sources[i].Whole(b.size)
		}
	}
	return Batched{rule.step.of(nodes[:c.args])[0], rule.out[0]}, nil
}

// Gradient is that of the body: batching rules do not define gradients.
func (c *customVMap) Gradient(g, u *uop.UOp) []*uop.UOp {
	seed := Placeholder(g, g.DType, g.Shape())
	moving := places(c.body.Reads)
	found, err := gradient.OfSeveral(c.body.Out, chosen(c.body.Reads, moving), []*uop.UOp{seed})
	if err != nil {
		gradient.Refuse(err)
	}
	back := Step{Reads: append(slices.Clone(c.body.Reads), seed), Out: found}
	out := make([]*uop.UOp, len(u.Src))
	for k, v := range back.of(append(slices.Clone(u.Src[1:]), g)) {
		out[1+moving[k]] = v
	}
	return out
}

// Tangent is that of the body; in a batch it is that of the rule.
func (c *customVMap) Tangent(u *uop.UOp, tangents []*uop.UOp) (t *uop.UOp, known bool, err error) {
	sources := u.Src[1:]
	moving, outside := make([]*uop.UOp, len(c.body.Reads)), false
	var given, stand []*uop.UOp
	var of []int // the arguments with tangents
	for i, p := range c.body.Reads {
		if tangents[i] == nil || !isFloat(p) {
			continue
		}
		moving[i] = Placeholder(p, p.DType, p.Shape())
		given, stand, of = append(given, tangents[i]), append(stand, moving[i]), append(of, i)
		outside = outside || i >= c.args
	}
	found, err := JVP(c.body.Out, c.body.Reads, moving)
	if err != nil || found[0] == nil {
		return nil, true, err
	}
	n := c.args
	change := Step{Reads: slices.Concat(c.body.Reads[:n], stand, c.body.Reads[n:]), Out: found}
	sources = slices.Concat(sources[:n], given, sources[n:])
	if outside { // rules know no tensors from outside
		return change.of(sources)[0], true, nil
	}
	return (&customVMap{rules: c.rules, body: change, args: n + len(of), rule: c.tangentRule(of)}).node(sources), true, nil
}

// tangentRule gives rules for tangents with respect to the arguments of, by JVP of the rules of c. A tangent is batched if its argument is. If only
// tangents are batched, like the columns of a Jacobian, they share one value, and there is no rule: the body is batched.
func (c *customVMap) tangentRule(of []int) func(size int64, in []bool) (*batchRuleAt, error) {
	return func(size int64, in []bool) (*batchRuleAt, error) {
		values, batched := in[:c.args], slices.Clone(in)
		if !slices.Contains(values, true) {
			return nil, nil
		}
		for k, i := range of {
			batched[i] = in[i] || in[c.args+k]
		}
		rule, err := c.rule(size, batched[:c.args])
		if rule == nil || err != nil {
			return nil, err
		}
		moving, step := make([]*uop.UOp, c.args), Step{Reads: slices.Clone(rule.step.Reads)}
		for k, i := range of {
			p := rule.step.Reads[i]
			moving[i] = Placeholder(p, p.DType, p.Shape())
			step.Reads = append(step.Reads, moving[i])
			batched[c.args+k] = rule.in[i]
		}
		copy(batched, rule.in)
		if step.Out, err = JVP(rule.step.Out, rule.step.Reads, moving); err != nil {
			return nil, err
		}
		step.Out[0] = orZeros(step.Out[0], rule.step.Out[0])
		return &batchRuleAt{step, batched, rule.out}, nil
	}
}
