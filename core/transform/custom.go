package transform

import (
	"fmt"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// batchedGradient is the arg of a batched CUSTOM_GRADIENT. Its rule is that of the node for one element of the batch, which is batched when a
// derivative is asked for.
type batchedGradient struct {
	of     gradient.Stated
	mapped uop.Flags // which sources are mapped
	axis   *Axis     // of the batch, nil without a name
}

// customBatch applies a pointwise function to sources with the batch axis, as its rule does not depend on the shape; others get a batchedGradient.
func customBatch(b batching, u *uop.UOp) (*uop.UOp, error) {
	of := u.Arg.(gradient.Stated)
	mapped, src := make(uop.Flags, len(u.Src)), make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		v := b.done[s]
		src[i], mapped[i] = v.Node, v.Mapped || i == 0
	}
	src[0] = b.whole(u.Src[0])
	if p, ok := of.(gradient.Pointwise); ok && p.Pointwise() {
		for i, s := range u.Src {
			src[i] = b.whole(s)
		}
		return u.With(src...), nil
	}
	return u.Graph().New(u.Op, u.DType, src, batchedGradient{of, mapped, b.axis}, nil), nil
}

func (a batchedGradient) Equal(b uop.Arg) bool {
	o, ok := b.(batchedGradient)
	return ok && a.of.Equal(o.of) && a.mapped.Equal(o.mapped) && a.axis == o.axis
}

func (a batchedGradient) Hash() uint64 { return 31*a.of.Hash() + a.mapped.Hash() }

func (a batchedGradient) String() string { return fmt.Sprintf("batched %s%s", a.of, a.mapped) }

// Nodes are the nodes of the rule for one element.
func (a batchedGradient) Nodes(f func(u *uop.UOp)) {
	if h, ok := a.of.(interface{ Nodes(f func(*uop.UOp)) }); ok {
		h.Nodes(f)
	}
}

// Tangent batches the tangent for one element.
func (a batchedGradient) Tangent(u *uop.UOp, tangents []*uop.UOp) (t *uop.UOp, known bool, err error) {
	rule, ok := a.of.(stated)
	if !ok {
		return nil, false, nil
	}
	node, inputs := a.element(u)
	moving := make([]*uop.UOp, len(tangents))
	for i, t := range tangents {
		if t != nil {
			moving[i] = one(t, a.mapped[1+i])
			inputs[moving[i]] = Batched{t, a.mapped[1+i]}
		}
	}
	t, known, err = rule.Tangent(node, moving)
	if t == nil || err != nil {
		return t, known, err
	}
	out, err := BatchAlong(a.axis, []*uop.UOp{t}, inputs, u.Shape()[0])
	if err != nil {
		return nil, false, err
	}
	return out[0].Whole(u.Shape()[0]), true, nil
}

// Linear reports whether the value for one element is linear in each source: then that of the batch is, too.
func (a batchedGradient) Linear() bool {
	l, ok := a.of.(gradient.Linear)
	return ok && l.Linear()
}

// one is a placeholder for u in one element of the batch.
func one(u *uop.UOp, mapped bool) *uop.UOp {
	s := u.Shape()
	if mapped {
		s = s[1:]
	}
	return Placeholder(u, u.DType, s)
}

// element is the node for one element of the batch, on placeholders; inputs are the batched tensors that the node and the placeholders stand for.
func (a batchedGradient) element(u *uop.UOp) (node *uop.UOp, inputs map[*uop.UOp]Batched) {
	src, inputs := make([]*uop.UOp, len(u.Src)), map[*uop.UOp]Batched{}
	for i, s := range u.Src {
		src[i] = one(s, a.mapped[i])
		inputs[src[i]] = Batched{s, a.mapped[i]}
	}
	node = u.Graph().New(u.Op, u.DType, src, a.of, nil)
	inputs[node] = Batched{u, true}
	return node, inputs
}

// Shares reports whether the value for one element is source 1 if the request computes source 2 anyway (schedule.Sharing): then so is the value of
// the batch.
func (a batchedGradient) Shares() bool {
	s, ok := a.of.(interface{ Shares() bool })
	return ok && s.Shares() && a.mapped[1] && a.mapped[2]
}

// late is the arg of a CUSTOM_GRADIENT whose value becomes an expression when it is scheduled (schedule.Late).
type late interface {
	IsLate(u *uop.UOp, target uop.Target) bool
	Late(u *uop.UOp, target uop.Target, made map[*uop.UOp][]*uop.UOp) *uop.UOp
}

// IsLate reports whether the batched value becomes such an expression.
func (a batchedGradient) IsLate(u *uop.UOp, target uop.Target) bool {
	l, ok := a.of.(late)
	return ok && l.IsLate(u, target) && a.mapped[1]
}

// Late batches the expression for one element. made has the placeholders by source, so that nodes with the same sources share their expressions.
func (a batchedGradient) Late(u *uop.UOp, target uop.Target, made map[*uop.UOp][]*uop.UOp) *uop.UOp {
	src, inputs := make([]*uop.UOp, len(u.Src)), map[*uop.UOp]Batched{}
	for i, s := range u.Src {
		at := 0
		if a.mapped[i] {
			at = 1
		}
		if made[s] == nil {
			made[s] = make([]*uop.UOp, 2)
		}
		if made[s][at] == nil {
			made[s][at] = one(s, a.mapped[i])
		}
		src[i] = made[s][at]
		inputs[src[i]] = Batched{s, a.mapped[i]}
	}
	node := u.Graph().New(u.Op, u.DType, src, a.of, nil)
	inputs[node] = Batched{u, true}
	return a.batch(a.of.(late).Late(node, target, made), inputs, u.Shape()[0])
}

// Gradient batches the rule for one element. The gradient of a source that all elements share is summed over the batch.
func (a batchedGradient) Gradient(g, u *uop.UOp) []*uop.UOp {
	size := u.Shape()[0]
	node, inputs := a.element(u)
	incoming := one(g, true)
	inputs[incoming] = Batched{g, true}
	found := a.of.Gradient(incoming, node)
	for i, v := range found {
		if v == nil {
			continue
		}
		all := a.batch(v, inputs, size)
		if !a.mapped[i] {
			all = all.ReduceAxes(uop.Add, 0).Reshape(all.Shape()[1:])
		}
		found[i] = all
	}
	return found
}

// batch is v for all elements of the batch. It refuses the gradient if the rule uses an operation that cannot be batched.
func (a batchedGradient) batch(v *uop.UOp, inputs map[*uop.UOp]Batched, size uop.Sint) *uop.UOp {
	out, err := BatchAlong(a.axis, []*uop.UOp{v}, inputs, size)
	if err != nil {
		gradient.Refuse(err)
	}
	return out[0].Whole(size)
}

// Expression batches the expression for one element; it is nil if there is none, and Gradient is the rule.
func (a batchedGradient) Expression(of []*uop.UOp) *uop.UOp {
	d, ok := a.of.(gradient.Deferred)
	if !ok {
		return nil
	}
	leaves, inputs := make([]*uop.UOp, len(of)), map[*uop.UOp]Batched{}
	at := slices.Index(a.mapped[1:], true)
	if at < 0 {
		return nil
	}
	for i, s := range of {
		leaves[i] = one(s, a.mapped[1+i])
		inputs[leaves[i]] = Batched{s, a.mapped[1+i]}
	}
	e := d.Expression(leaves)
	if e == nil {
		return nil
	}
	return a.batch(e, inputs, of[at].Shape()[0])
}
