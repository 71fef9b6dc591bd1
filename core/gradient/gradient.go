// Package gradient differentiates tensor graphs.
//
// A gradient is a graph of the same kind as the one it comes from: nothing is
// computed here, and a gradient can be differentiated again. Each operation has
// one rule (rules.go) that gives, from the gradient of its result, the gradients
// of its sources. Rules and the order in which contributions are added are
// tinygrad's, so the graphs equal tinygrad's node for node.
package gradient

import (
	"fmt"

	"polygrad/core/uop"
)

// Of differentiates loss with respect to each tensor of wrt, in order. seed is the gradient of
// loss itself and has its shape; nil means ones. A tensor that loss does not depend on, or only
// through DETACH or ASSIGN, gets zeros. An operation without a derivative on the way is an error.
func Of(loss *uop.UOp, wrt []*uop.UOp, seed *uop.UOp) ([]*uop.UOp, error) {
	if err := check("loss", loss, nil); err != nil {
		return nil, err
	}
	targets := make(map[*uop.UOp]bool, len(wrt))
	for i, t := range wrt {
		if err := check(fmt.Sprintf("wrt[%d]", i), t, loss); err != nil {
			return nil, err
		}
		targets[t] = true
	}
	if seed == nil {
		seed = loss.ConstLike(uop.Float(1))
	} else if err := check("seed", seed, loss); err != nil {
		return nil, err
	} else if !seed.Shape().Equal(loss.Shape()) || seed.DType != loss.DType {
		return nil, fmt.Errorf("gradient.Of: seed: is %s %s, need %s %s as the loss", seed.DType, seed.Shape(), loss.DType, loss.Shape())
	}
	grads, err := backward(loss, seed, targets)
	if err != nil {
		return nil, err
	}
	out := make([]*uop.UOp, len(wrt))
	for i, t := range wrt {
		if out[i] = grads[t]; out[i] == nil {
			out[i] = t.ConstLike(uop.Float(0))
		}
	}
	return out, nil
}

func check(arg string, u, with *uop.UOp) error {
	switch {
	case u == nil:
		return fmt.Errorf("gradient.Of: %s: is nil, need a tensor", arg)
	case u.Shape() == nil:
		return fmt.Errorf("gradient.Of: %s: is a %s node without a shape, need a tensor", arg, u.Op)
	case !u.DType.IsFloat():
		return fmt.Errorf("gradient.Of: %s: is %s, need a floating point type", arg, u.DType)
	case with != nil && u.Graph() != with.Graph():
		return fmt.Errorf("gradient.Of: %s: belongs to a different context than the loss", arg)
	}
	return nil
}

// backward gives the gradient of every node between root and the targets.
func backward(root, seed *uop.UOp, targets map[*uop.UOp]bool) (map[*uop.UOp]*uop.UOp, error) {
	grads := map[*uop.UOp]*uop.UOp{root: seed}
	path := pathTo(root, targets)
	for i := len(path) - 1; i >= 0; i-- {
		u := path[i]
		g := grads[u]
		if g == nil {
			continue
		}
		r := rules[u.Op]
		if r == nil {
			return nil, fmt.Errorf("gradient.Of: loss: %s has no derivative (%s of shape %s)", u.Op, u.DType, u.Shape())
		}
		for j, v := range r(g, u) {
			if v == nil {
				continue
			}
			if old := grads[u.Src[j]]; old != nil {
				v = old.Add(v)
			}
			grads[u.Src[j]] = v
		}
	}
	for u, v := range grads {
		if open := v.Ranges(); len(open) > 0 {
			grads[u] = v.ReduceOver(uop.Add, open...)
		}
	}
	return grads, nil
}

// pathTo lists the nodes that lead from a target to root, sources first. Gradients do not flow
// through DETACH and ASSIGN.
func pathTo(root *uop.UOp, targets map[*uop.UOp]bool) []*uop.UOp {
	leads := map[*uop.UOp]bool{}
	for _, u := range root.Toposort() {
		for _, s := range u.Src {
			if targets[s] || leads[s] {
				leads[u] = true
				break
			}
		}
	}
	return root.ToposortGated(func(u *uop.UOp) bool {
		return u.Op != uop.Detach && u.Op != uop.Assign && leads[u]
	})
}
