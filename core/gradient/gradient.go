// Package gradient differentiates tensor graphs.
//
// A gradient is a graph of the same kind as the one it comes from: nothing is
// computed here, and a gradient can be differentiated again. Each operation has
// one rule (rules.go) that gives, from the gradient of its result, the gradients
// of its sources. Rules and the order in which contributions are added are
// tinygrad's; in graphs that are AsTinygrad the gradients equal tinygrad's node for
// node, in others constants are joined and a sigmoid has a derivative of its own.
package gradient

import (
	"fmt"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// Of differentiates loss with respect to each tensor of wrt, in order. seed is the gradient of
// loss itself and has its shape; nil means ones. A tensor that loss does not depend on, or only
// through DETACH, ASSIGN or an operation that only integers and bools have, gets zeros. An operation on floats without a
// derivative on the way is an error.
func Of(loss *uop.UOp, wrt []*uop.UOp, seed *uop.UOp) ([]*uop.UOp, error) {
	return OfSeveral([]*uop.UOp{loss}, wrt, []*uop.UOp{seed})
}

// OfSeveral differentiates the sum of several losses times their seeds, one or more, in one pass.
func OfSeveral(losses, wrt, seeds []*uop.UOp) ([]*uop.UOp, error) {
	seeds = slices.Clone(seeds)
	for i, loss := range losses {
		if err := check("loss", loss, losses[0]); err != nil {
			return nil, err
		}
		if seeds[i] == nil {
			seeds[i] = loss.ConstLike(uop.Float(1))
		} else if err := check("seed", seeds[i], loss); err != nil {
			return nil, err
		} else if s := seeds[i]; !s.Shape().Equal(loss.Shape()) || s.DType != loss.DType {
			return nil, fmt.Errorf("gradient.Of: seed: is %s %s, expected %s %s as the loss", s.DType, s.Shape(), loss.DType, loss.Shape())
		}
	}
	for i, t := range wrt {
		if err := check(fmt.Sprintf("wrt[%d]", i), t, losses[0]); err != nil {
			return nil, err
		}
	}
	root := losses[0]
	if len(losses) > 1 {
		root = root.Graph().Sink(nil, losses...)
	}
	p := newPass(root, wrt)
	for i, loss := range losses {
		p.add(loss, masked{value: seeds[i]})
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	out := make([]*uop.UOp, len(wrt))
	for i, t := range wrt {
		out[i] = p.gradient(t)
	}
	return out, nil
}

func check(arg string, u, with *uop.UOp) error {
	switch {
	case u == nil:
		return fmt.Errorf("gradient.Of: %s: is nil, expected a tensor", arg)
	case u.Shape() == nil:
		return fmt.Errorf("gradient.Of: %s: is a %s node without a shape, expected a tensor", arg, u.Op)
	case !u.DType.IsFloat():
		return fmt.Errorf("gradient.Of: %s: is %s, expected a floating point type", arg, u.DType)
	case with != nil && u.Graph() != with.Graph():
		return fmt.Errorf("gradient.Of: %s: belongs to a different context than the loss", arg)
	}
	return nil
}

// pass is one walk from the loss back to the targets. Its slices are indexed by the position of a node in the toposort of the loss.
type pass struct {
	root   *uop.UOp
	place  map[*uop.UOp]int
	target []bool
	leads  []bool   // to a target
	grads  []masked // of the loss with respect to the node
}

func newPass(root *uop.UOp, targets []*uop.UOp) *pass {
	list := root.Toposort()
	p := &pass{root: root, place: make(map[*uop.UOp]int, len(list)), target: make([]bool, len(list)), leads: make([]bool, len(list)), grads: make([]masked, len(list))}
	for i, u := range list {
		p.place[u] = i
	}
	for _, t := range targets {
		if i, ok := p.place[t]; ok {
			p.target[i] = true
		}
	}
	for i, u := range list {
		for _, s := range u.Src {
			if j := p.place[s]; p.target[j] || p.leads[j] {
				p.leads[i] = true
				break
			}
		}
	}
	return p
}

// add adds to the gradient of a node.
func (p *pass) add(u *uop.UOp, v masked) {
	k := p.place[u]
	if old := p.grads[k]; old.value != nil {
		v = old.plus(v)
	}
	p.grads[k] = v
}

// run gives every node between the loss and the targets its gradient, users before sources.
func (p *pass) run() (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case Refusal:
			err = r.error
		default:
			panic(r)
		}
	}()
	path := p.root.ToposortGated(p.flows)
	for i := len(path) - 1; i >= 0; i-- {
		u := path[i]
		g := p.grads[p.place[u]]
		if g.value == nil {
			continue
		}
		if s, ok := SigmoidOf(u); ok && !p.leadsToTarget(s.One) && !slices.ContainsFunc(s.Parts, p.isTarget) {
			p.add(s.Z, g.of(s.Gradient(g.value).Cast(s.Z.DType)))
			continue
		}
		if s, ok := SoftmaxOf(u); ok && !slices.ContainsFunc(s.Parts, p.isTarget) {
			p.add(s.Z, masked{value: s.Gradient(g.all())})
			continue
		}
		r := rules[u.Op]
		if r == nil && !u.DType.IsFloat() {
			continue // a step, whose derivative is 0 wherever it exists
		}
		if r == nil {
			return fmt.Errorf("gradient.Of: loss: %s has no derivative (%s of shape %s)", u.Op, u.DType, u.Shape())
		}
		grads, err := g.through(u, r)
		if err != nil {
			return err
		}
		for j, v := range grads {
			if v.value != nil {
				p.add(u.Src[j], v)
			}
		}
	}
	return nil
}

// A Refusal is the panic value of a Stated's Gradient that has no answer; Of returns its error.
type Refusal struct{ error }

// Refuse is a panic with a Refusal.
func Refuse(err error) { panic(Refusal{err}) }

// deferred are the gradients of the sources of a node whose arg is Deferred, nil for any other. The sources may depend on each other, so
// they are leaves while the expression is differentiated.
func deferred(g, u *uop.UOp) ([]*uop.UOp, error) {
	d, ok := u.Arg.(Deferred)
	if !ok {
		return nil, nil
	}
	leaves, sources := slices.Clone(u.Src[1:]), rewrite.Map{}
	var wrt []*uop.UOp
	for i, s := range leaves {
		if s.DType.IsFloat() {
			leaves[i] = s.DetachOp().WithTag(uop.Str("leaf"))
			sources[leaves[i]] = s
			wrt = append(wrt, leaves[i])
		}
	}
	e := d.Expression(leaves)
	if e == nil {
		return nil, nil
	}
	found, err := Of(e, wrt, g)
	grads := make([]*uop.UOp, len(u.Src))
	for i, s := range leaves {
		if err == nil && s.DType.IsFloat() {
			grads[1+i], found = rewrite.Substitute(found[0], sources), found[1:]
		}
	}
	return grads, err
}

func (p *pass) isTarget(u *uop.UOp) bool { return p.target[p.place[u]] }

func (p *pass) leadsToTarget(u *uop.UOp) bool { return p.isTarget(u) || p.leads[p.place[u]] }

// flows reports whether gradients pass through u: it leads to a target and is no DETACH or ASSIGN.
func (p *pass) flows(u *uop.UOp) bool {
	return u.Op != uop.Detach && u.Op != uop.Assign && p.leads[p.place[u]]
}

// gradient is the gradient of a target, zeros if no gradient reached it. Ranges that are open in it are summed over.
func (p *pass) gradient(t *uop.UOp) *uop.UOp {
	i, ok := p.place[t]
	if !ok || p.grads[i].value == nil {
		return t.ConstLike(uop.Float(0))
	}
	g := p.grads[i].all()
	if open := g.Ranges(); len(open) > 0 {
		g = g.ReduceOver(uop.Add, open...)
	}
	return g
}
