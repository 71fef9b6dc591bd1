package transform

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// While runs a step as long as a condition, a bool that is computed from the carry, is true. The step has no Elements and no Out.
func While(step Step, condition *uop.UOp, carry []*uop.UOp) ([]*uop.UOp, error) {
	if condition.DType != uop.Bool || condition.Size() != 1 || len(condition.Shape()) > 0 {
		return nil, fmt.Errorf("the condition is %s of shape %s, expected a bool of shape ()", condition.DType.NumpyName(), condition.Shape())
	}
	step.Out = []*uop.UOp{condition}
	reads, err := step.closed()
	if err == nil {
		err = step.check()
	}
	if err != nil {
		return nil, err
	}
	return (&while{step}).run(carry, reads), nil
}

// while is a loop with a condition, the only Out of its step. As the arg of a CUSTOM_GRADIENT it defines the derivatives: the sources are the value,
// a vector of all floats of the final carry, then the initial carry, and the tensors that are read.
type while struct{ step Step }

func (l *while) run(carry, reads []*uop.UOp) []*uop.UOp {
	results := l.loop(carry, reads)
	return withRule(l, results, slices.Concat(carry, reads))
}

// withRule makes results differentiable by a rule: their floats become slices of the value of one CUSTOM_GRADIENT of the inputs.
func withRule(rule gradient.Stated, results, inputs []*uop.UOp, more ...*uop.UOp) []*uop.UOp {
	floats := places(results)
	if len(floats) == 0 || !slices.ContainsFunc(inputs, isFloat) {
		return results
	}
	parts := chosen(results, floats)
	value := joined(parts)
	value = value.Graph().New(uop.CustomGradient, value.DType, slices.Concat([]*uop.UOp{value}, inputs, more), rule, nil)
	results = slices.Clone(results)
	for k, part := range partsOf(value, parts) {
		results[floats[k]] = part
	}
	return results
}

func (l *while) loop(carry, reads []*uop.UOp) []*uop.UOp {
	g, s := l.step.graph(), &l.step
	at := map[*uop.UOp]*uop.UOp{}
	for i, p := range slices.Concat(s.Carry, s.Reads) {
		at[p] = slices.Concat(carry, reads)[i]
	}
	first := mustSubstitute(s.Out, at)[0]
	states := append(slices.Clone(carry), first)
	inside := params(g, states, reads)
	for i, p := range slices.Concat(s.Carry, s.Reads) {
		if i >= len(carry) {
			i++
		}
		at[p] = inside[i]
	}
	next := mustSubstitute(s.Next, at)
	after := map[*uop.UOp]*uop.UOp{}
	for i, p := range s.Carry {
		after[p] = next[i]
	}
	for i, p := range s.Reads {
		after[p] = inside[len(states)+i]
	}
	var writes []*uop.UOp
	for i, v := range append(next, mustSubstitute(s.Out, after)[0]) {
		if v != inside[i] {
			writes = append(writes, inside[i].AssignTo(v))
		}
	}
	arg := uop.RepeatArg{Variable: loopVariable(s), Count: math.MaxInt32, States: len(states), While: len(states)}
	return g.RepeatOn(arg, []*uop.UOp{g.Sink(nil, uop.ReadersFirst(writes)...)}, states, reads)[:len(carry)]
}

// params are the PARAMs for the states and reads in the statements of a REPEAT, in their shapes.
func params(g *uop.Graph, states, reads []*uop.UOp) []*uop.UOp {
	all := slices.Concat(states, reads)
	inside := make([]*uop.UOp, len(all))
	for k, s := range all {
		p := g.New(uop.Param, s.DType, []*uop.UOp{g.ShapeArg(uop.ShapeOf(s.Size())), g.DeviceOp(s.Device())}, uop.Num(k), nil)
		inside[k] = p.Reshape(s.Shape())
	}
	return inside
}

func mustSubstitute(roots []*uop.UOp, at map[*uop.UOp]*uop.UOp) []*uop.UOp {
	out, err := Substitute(roots, at)
	if err != nil {
		panic(err) // only batching fails, and nothing is mapped
	}
	return out
}

func (l *while) Equal(b uop.Arg) bool { o, ok := b.(*while); return ok && l == o }

func (l *while) Hash() uint64 { return uint64(len(l.step.Carry)) }

func (l *while) String() string { return "while" }

func (l *while) Nodes(mark func(u *uop.UOp)) { l.step.nodes(mark) }

// Gradient is refused: how many steps there are is only known when they have run.
func (l *while) Gradient(_, _ *uop.UOp) []*uop.UOp {
	gradient.Refuse(errors.New("a while loop has no gradient, since the number of its steps is not known: differentiate in forward mode (JVP), or use a loop of so many steps (Scan, ForLoop)"))
	return nil
}

// Tangent runs the step and its tangent in one loop, with the same condition.
func (l *while) Tangent(u *uop.UOp, tangents []*uop.UOp) (t *uop.UOp, known bool, err error) {
	s := &l.step
	n := len(s.Carry)
	carry, reads := slices.Clone(u.Src[1:1+n]), slices.Clone(u.Src[1+n:])
	joint, moving := s.joint(&carry, nil, &reads, tangents)
	found, err := JVP(s.Next, s.inputs(), moving)
	if err != nil {
		return nil, false, err
	}
	joint.Next, joint.Out = slices.Clone(s.Next), s.Out
	for i, v := range s.Next {
		if isFloat(v) {
			joint.Next = append(joint.Next, orZeros(found[i], v))
		}
	}
	return joined((&while{joint}).run(carry, reads)[n:]), true, nil
}

func orZeros(t, like *uop.UOp) *uop.UOp {
	if t == nil {
		return zeros(like)
	}
	return t
}

// Switch gives the results of the branch with the number index, clamped to the branches there are. The other branches are not computed. A branch is a
// list of results computed from inputs, placeholders for the operands; those of all branches have the same types and shapes.
func Switch(index *uop.UOp, branches [][]*uop.UOp, inputs, operands []*uop.UOp) ([]*uop.UOp, error) {
	if !index.DType.IsInt() || len(index.Shape()) > 0 {
		return nil, fmt.Errorf("the index is %s of shape %s, expected an integer of shape ()", index.DType.NumpyName(), index.Shape())
	}
	all := Step{Reads: slices.Clone(inputs)}
	for k, outs := range branches {
		if len(outs) != len(branches[0]) {
			return nil, fmt.Errorf("branch %d returns %d tensors, and branch 0 %d", k, len(outs), len(branches[0]))
		}
		for i, u := range outs {
			if v := branches[0][i]; u.DType != v.DType || !u.Shape().Equal(v.Shape()) {
				return nil, fmt.Errorf("branch %d returns %s of shape %s as result %d, and branch 0 %s of shape %s", k, u.DType.NumpyName(), u.Shape(), i, v.DType.NumpyName(), v.Shape())
			}
		}
		all.Out = append(all.Out, outs...)
	}
	reads, err := all.closed()
	if err == nil {
		err = all.check()
	}
	if err != nil {
		return nil, err
	}
	c := &choice{inputs: all.Reads, results: len(branches[0])}
	for k := range branches {
		c.branches = append(c.branches, all.Out[k*c.results:(k+1)*c.results])
	}
	return c.run(index, slices.Concat(operands, reads)), nil
}

// choice is a Switch. As the arg of a CUSTOM_GRADIENT it defines the derivatives: the sources are the value, a vector of all results that are floats,
// then the operands, and the index.
type choice struct {
	inputs   []*uop.UOp
	branches [][]*uop.UOp
	results  int
}

func (c *choice) run(index *uop.UOp, operands []*uop.UOp) []*uop.UOp {
	return withRule(c, c.loops(index, operands), operands, index)
}

// loops makes each branch a loop of at most one iteration, which runs if the index selects the branch.
func (c *choice) loops(index *uop.UOp, operands []*uop.UOp) []*uop.UOp {
	g, n := index.Graph(), int64(len(c.branches))
	results := make([]*uop.UOp, c.results)
	for i, u := range c.branches[0] {
		results[i] = g.DeviceConst(u.DType, uop.Int(0), u.Device(), u.Shape())
	}
	for k, outs := range c.branches {
		number := index.IntLike(int64(k))
		chosen := index.Eq(number)
		switch int64(k) {
		case 0:
			chosen = index.Lt(index.IntLike(1))
		case n - 1:
			chosen = index.Lt(number).Not()
		}
		if n == 1 {
			chosen = index.Eq(index)
		}
		states := append(slices.Clone(results), chosen)
		inside := params(g, states, operands)
		at := map[*uop.UOp]*uop.UOp{}
		for i, p := range c.inputs {
			at[p] = inside[len(states)+i]
		}
		var writes []*uop.UOp
		for i, v := range mustSubstitute(outs, at) {
			writes = append(writes, inside[i].AssignTo(v))
		}
		step := Step{Reads: c.inputs, Out: outs}
		arg := uop.RepeatArg{Variable: loopVariable(&step), Count: 1, States: len(states), While: len(states)}
		results = g.RepeatOn(arg, []*uop.UOp{g.Sink(nil, writes...)}, states, operands)[:c.results]
	}
	return results
}

func (c *choice) Equal(b uop.Arg) bool { o, ok := b.(*choice); return ok && c == o }

func (c *choice) Hash() uint64 { return uint64(31*len(c.branches) + len(c.inputs)) }

func (c *choice) String() string { return fmt.Sprintf("one of %d branches", len(c.branches)) }

func (c *choice) Nodes(mark func(u *uop.UOp)) {
	for _, u := range slices.Concat(append(c.branches[:len(c.branches):len(c.branches)], c.inputs)...) {
		mark(u)
	}
}

// Gradient is a choice of the gradients of the branches.
func (c *choice) Gradient(g, u *uop.UOp) []*uop.UOp {
	operands, index := u.Src[1:len(u.Src)-1], u.Src[len(u.Src)-1]
	floats := places(c.branches[0])
	back := &choice{inputs: slices.Clone(c.inputs)}
	given := slices.Clone(operands)
	seeds := make([]*uop.UOp, len(floats))
	for k, part := range partsOf(g, chosen(c.branches[0], floats)) {
		seeds[k] = Placeholder(part, part.DType, part.Shape())
		back.inputs, given = append(back.inputs, seeds[k]), append(given, part)
	}
	moving := places(c.inputs)
	for _, outs := range c.branches {
		found, err := gradient.OfSeveral(chosen(outs, floats), chosen(c.inputs, moving), seeds)
		if err != nil {
			gradient.Refuse(err)
		}
		back.branches = append(back.branches, found)
	}
	back.results = len(moving)
	out := make([]*uop.UOp, len(u.Src))
	for k, v := range back.run(index, given) {
		out[1+moving[k]] = v
	}
	return out
}

// Tangent is a choice of the tangents of the branches.
func (c *choice) Tangent(u *uop.UOp, tangents []*uop.UOp) (t *uop.UOp, known bool, err error) {
	operands, index := u.Src[1:len(u.Src)-1], u.Src[len(u.Src)-1]
	forward := &choice{inputs: slices.Clone(c.inputs)}
	given := slices.Clone(operands)
	moving := make([]*uop.UOp, len(c.inputs))
	for i, p := range c.inputs {
		if t := tangents[i]; t != nil && isFloat(p) {
			moving[i] = Placeholder(p, p.DType, p.Shape())
			forward.inputs, given = append(forward.inputs, moving[i]), append(given, t)
		}
	}
	for _, outs := range c.branches {
		found, err := JVP(outs, c.inputs, moving)
		if err != nil {
			return nil, false, err
		}
		var list []*uop.UOp
		for i, v := range outs {
			if isFloat(v) {
				list = append(list, orZeros(found[i], v))
			}
		}
		forward.branches, forward.results = append(forward.branches, list), len(list)
	}
	return joined(forward.run(index, given)), true, nil
}
