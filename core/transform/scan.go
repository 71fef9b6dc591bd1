package transform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// A Step is the body of a loop as a graph. Its results are computed from placeholders: for the carry, for one element of each sequence, and for the
// tensors that all iterations read.
type Step struct {
	Carry, Elements, Reads []*uop.UOp
	// Next is the carry after the step, of the same types and shapes; Out are the values of each iteration that the loop stacks.
	Next, Out []*uop.UOp
}

// inputs are all placeholders.
func (s *Step) inputs() []*uop.UOp { return slices.Concat(s.Carry, s.Elements, s.Reads) }

// nodes calls f for the roots and leaves of the graph.
func (s *Step) nodes(f func(u *uop.UOp)) {
	for _, u := range slices.Concat(s.inputs(), s.Next, s.Out) {
		f(u)
	}
}

// check reports a carry that changes its type or shape, and shapes that are not numbers.
func (s *Step) check() error {
	if len(s.Carry) != len(s.Next) {
		return fmt.Errorf("the carry has %d tensors, and %d after a step", len(s.Carry), len(s.Next))
	}
	for i, c := range s.Carry {
		if n := s.Next[i]; n.DType != c.DType || !n.Shape().Equal(c.Shape()) {
			return fmt.Errorf("carry[%d] is %s of shape %s, and %s of shape %s after a step", i, c.DType.NumpyName(), c.Shape(), n.DType.NumpyName(), n.Shape())
		}
	}
	for _, list := range [][]*uop.UOp{s.inputs(), s.Out} {
		for _, u := range list {
			if _, fixed := u.Shape().Ints(); !fixed {
				return fmt.Errorf("a tensor of the loop has the shape %s, expected numbers", u.Shape())
			}
		}
	}
	return nil
}

// closed adds to Reads a placeholder for each tensor that the step uses from outside, and returns these tensors.
func (s *Step) closed() (reads []*uop.UOp, err error) {
	depends, stored, inputs := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}, map[*uop.UOp]Batched{}
	for _, p := range s.inputs() {
		depends[p], inputs[p] = true, Batched{}
	}
	below := batching{at: inputs}.below
	outs := slices.Concat(s.Next, s.Out)
	at := map[*uop.UOp]*uop.UOp{}
	var read func(u *uop.UOp)
	read = func(u *uop.UOp) {
		switch {
		case depends[u] || !stored[u] || at[u] != nil:
		case uop.GroupMovement.Has(u.Op) && u.Src[0].Op != uop.Buffer && u.Src[0].Op != uop.Param:
			read(u.Src[0]) // read what a view is made from, which is smaller or of the same size; a reshaped buffer may be an argument
		default:
			p := Placeholder(u, u.DType, u.Shape())
			at[u] = p
			s.Reads, reads = append(s.Reads, p), append(reads, u)
		}
	}
	for _, u := range order(outs, below) {
		for _, v := range below(u) {
			depends[u], stored[u] = depends[u] || depends[v], stored[u] || stored[v]
		}
		stored[u] = stored[u] || u.Op == uop.Buffer || u.Op == uop.Param || u.Op == uop.Bind
		if depends[u] {
			for _, v := range below(u) {
				read(v)
			}
		}
	}
	for _, u := range outs {
		read(u)
	}
	outs, err = Substitute(outs, at)
	if err != nil {
		return nil, err
	}
	n := len(s.Next)
	s.Next, s.Out = outs[:n], outs[n:]
	return reads, nil
}

// Scan runs a step for each element of sequences along their first axis, which has the given length; with reverse from the last element to the first.
// carry are the initial values. The results are the carry after all steps, and the Out of all steps, stacked in the order of the sequences.
func Scan(step Step, length int64, reverse bool, carry, sequences []*uop.UOp) (last, kept []*uop.UOp, err error) {
	reads, err := step.closed()
	if err == nil {
		err = step.check()
	}
	if err != nil {
		return nil, nil, err
	}
	last, kept = (&scan{step: step, length: length, reverse: reverse}).run(carry, sequences, reads)
	return last, kept, nil
}

// A scan is a loop over the elements of sequences. As the arg of a CUSTOM_GRADIENT it defines the derivatives. The sources are the value, a vector of
// all results that are floats, then the initial carry, the sequences, the tensors that are read, and the saved values that are no floats.
type scan struct {
	step    Step
	length  int64
	reverse bool
	// own is the number of results that the caller gets. The step has more Out for its derivatives: the carry that it begins with, and its residuals,
	// which are nodes of the step. saved are their indices in Out.
	own       int
	residuals []*uop.UOp
	saved     []int
}

func isFloat(u *uop.UOp) bool { return u.DType.IsFloat() }

// run gives the results, which are differentiable.
func (l *scan) run(carry, sequences, reads []*uop.UOp) (last, kept []*uop.UOp) {
	n := len(carry)
	l.own = n + len(l.step.Out)
	l.residuals = residuals(&l.step)
	l.step.Out = slices.Clone(l.step.Out)
	for _, u := range slices.Concat(l.step.Carry, l.residuals) {
		k := slices.Index(l.step.Out, u)
		if k < 0 {
			k = len(l.step.Out)
			l.step.Out = append(l.step.Out, u)
		}
		l.saved = append(l.saved, k)
	}
	results := l.loop(carry, sequences, reads)
	var whole []*uop.UOp // saved values that are no floats, and so not in the value
	for _, k := range l.saved {
		if u := results[n+k]; !isFloat(u) {
			whole = append(whole, u)
		}
	}
	results = withRule(l, results, slices.Concat(carry, sequences, reads), whole...)
	return results[:n], results[n:l.own]
}

// places are the indices of the floats.
func places(list []*uop.UOp) (at []int) {
	for i, u := range list {
		if isFloat(u) {
			at = append(at, i)
		}
	}
	return at
}

func chosen(list []*uop.UOp, at []int) []*uop.UOp {
	out := make([]*uop.UOp, len(at))
	for k, i := range at {
		out[k] = list[i]
	}
	return out
}

// joined concatenates tensors, flattened, in the least type that holds them all.
func joined(parts []*uop.UOp) *uop.UOp {
	total, dt := int64(0), parts[0].DType
	for _, p := range parts {
		total, dt = total+p.Size(), uop.LeastUpper(dt, p.DType)
	}
	var out *uop.UOp
	before := int64(0)
	for _, p := range parts {
		n := p.Size()
		if n == 0 {
			continue
		}
		around := []uop.Pair{{Lo: uop.N(before), Hi: uop.N(total - before - n)}}
		flat := p.Reshape(uop.ShapeOf(n)).Cast(dt)
		if out == nil {
			out = flat.Pad(around)
		} else {
			here := p.Graph().DeviceConst(uop.Bool, uop.BoolConst(true), p.Device(), uop.ShapeOf(n)).Pad(around)
			out = here.Where(flat.Pad(around), out)
		}
		before += n
	}
	if out == nil {
		return parts[0].Reshape(uop.ShapeOf(0)).Cast(dt)
	}
	return out
}

// partsOf splits a vector that joined made into tensors of the shapes and types of like.
func partsOf(vector *uop.UOp, like []*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(like))
	before := int64(0)
	for i, p := range like {
		n := p.Size()
		out[i] = narrowed(vector, before, before+n).Reshape(p.Shape()).Cast(p.DType)
		before += n
	}
	return out
}

// narrowed is g[from:to]. If g is a sum, it is sliced from the only term that is not 0 there, so that a constant is seen as such.
func narrowed(g *uop.UOp, from, to int64) *uop.UOp {
	switch {
	case g.Op == uop.Add && isZero(g.Src[0], from, to):
		return narrowed(g.Src[1], from, to)
	case g.Op == uop.Add && isZero(g.Src[1], from, to):
		return narrowed(g.Src[0], from, to)
	case g.Op == uop.Pad:
		p, n := g.MovementPairs()[0], g.Src[0].Shape()[0]
		if p.Lo.U == nil && n.U == nil && from >= p.Lo.N && to <= p.Lo.N+n.N {
			return narrowed(g.Src[0], from-p.Lo.N, to-p.Lo.N)
		}
	}
	return g.Shrink([]uop.Pair{{Lo: uop.N(from), Hi: uop.N(to)}})
}

// same is the common value of all elements of a sequence, in the shape of one element, if the sequence expands one element or one number.
func same(sequence *uop.UOp) (element *uop.UOp, is bool) {
	shape := sequence.Shape()[1:]
	if u := sequence; u.Op == uop.Expand && u.Src[0].Shape()[0].IsNum(1) {
		u = u.Src[0]
		return u.Reshape(u.Shape()[1:]).Expand(shape), true
	}
	u := sequence
	for u.Op == uop.Reshape || u.Op == uop.Expand || u.Op == uop.Shrink {
		u = u.Src[0]
	}
	if u == sequence || u.Size() != 1 {
		return nil, false
	}
	return u.Reshape(slices.Repeat(uop.ShapeOf(1), len(shape))).Expand(shape), true
}

// loop is the loop as a REPEAT, without derivatives.
func (l *scan) loop(carry, sequences, reads []*uop.UOp) []*uop.UOp {
	states := slices.Concat(carry, l.blank())
	if l.length == 0 {
		return states
	}
	g := l.step.graph()
	index := uop.N(0)
	variable := loopVariable(&l.step)
	if l.length > 1 {
		index = uop.S(g.Variable(variable, uop.Int(0), uop.Int(l.length-1), uop.IndexT))
	}
	if l.reverse {
		index = uop.N(l.length - 1).Sub(index)
	}
	inside := params(g, states, slices.Concat(sequences, reads))
	at := map[*uop.UOp]*uop.UOp{}
	for i, p := range l.step.Carry {
		at[p] = inside[i]
	}
	for i, p := range l.step.Elements {
		at[p] = element(inside[len(states)+i], index)
	}
	for i, p := range l.step.Reads {
		at[p] = inside[len(states)+len(sequences)+i]
	}
	values := mustSubstitute(slices.Concat(l.step.Next, l.step.Out), at)
	var kept, changed []*uop.UOp
	for i, v := range values {
		switch target := inside[i]; {
		case i >= len(carry):
			kept = append(kept, slot(target, index).AssignTo(v.Reshape(append(uop.ShapeOf(1), v.Shape()...))))
		case v != target:
			changed = append(changed, target.AssignTo(v))
		}
	}
	writes := append(kept, uop.ReadersFirst(changed)...)
	if len(writes) == 0 {
		return states
	}
	arg := uop.RepeatArg{Variable: variable, Count: l.length, States: len(states)}
	results := g.RepeatOn(arg, []*uop.UOp{g.Sink(nil, writes...)}, states, slices.Concat(sequences, reads))
	for i := range carry {
		if values[i] == inside[i] {
			results[i] = carry[i] // does not change
		}
	}
	return results
}

func (s *Step) graph() *uop.Graph { return slices.Concat(s.inputs(), s.Next, s.Out)[0].Graph() }

// blank are the stacked Out before the first step: zeros.
func (l *scan) blank() []*uop.UOp {
	out := make([]*uop.UOp, len(l.step.Out))
	for i, u := range l.step.Out {
		out[i] = u.Graph().DeviceConst(u.DType, uop.Int(0), u.Device(), append(uop.ShapeOf(l.length), u.Shape()...))
	}
	return out
}

// slot is the slice of a sequence at an index, of size 1 along the first axis.
func slot(sequence *uop.UOp, index uop.Sint) *uop.UOp {
	s := sequence.Shape()
	ps := make([]uop.Pair, len(s))
	for i, n := range s {
		ps[i] = uop.Pair{Lo: uop.N(0), Hi: n}
	}
	ps[0] = uop.Pair{Lo: index, Hi: index.Add(uop.N(1))}
	return sequence.Shrink(ps)
}

func element(sequence *uop.UOp, index uop.Sint) *uop.UOp {
	return slot(sequence, index).Reshape(sequence.Shape()[1:])
}

// loopVariable is the name of the counter of a loop; nested loops have different names.
func loopVariable(s *Step) string {
	const name = "step"
	deepest := 0
	for _, u := range order(slices.Concat(s.Next, s.Out), func(u *uop.UOp) []*uop.UOp { return u.Src }) {
		if u.Op != uop.Repeat {
			continue
		}
		if digits, is := strings.CutPrefix(u.Arg.(uop.RepeatArg).Variable, name); is {
			n, _ := strconv.Atoi(digits)
			deepest = max(deepest, n)
		}
	}
	return name + strconv.Itoa(deepest+1)
}

// Equal, Hash and String make a scan an arg. Nodes keeps its step in the graph.
func (l *scan) Equal(b uop.Arg) bool { o, ok := b.(*scan); return ok && l == o }

func (l *scan) Hash() uint64 { return uint64(31*l.length) + uint64(l.own) }

func (l *scan) String() string {
	direction := ""
	if l.reverse {
		direction = " in reverse"
	}
	return fmt.Sprintf("scan of %d steps%s", l.length, direction)
}

func (l *scan) Nodes(mark func(u *uop.UOp)) { l.step.nodes(mark) }

// operands are the sources of a CUSTOM_GRADIENT behind its value.
func (l *scan) operands(u *uop.UOp) (carry, sequences, reads []*uop.UOp) {
	s, rest := &l.step, u.Src[1:]
	n, m := len(s.Carry), len(s.Carry)+len(s.Elements)
	return rest[:n], rest[n:m], rest[m : m+len(s.Reads)]
}

// like are tensors of the types and shapes of the results.
func (l *scan) like() []*uop.UOp { return slices.Concat(l.step.Carry, l.blank()) }

// history are the saved values of all steps: the carry before each step, and the residuals. Floats are slices of the value, so that they have
// derivatives; the others are the last sources.
func (l *scan) history(u *uop.UOp) []*uop.UOp {
	like := l.like()
	floats := places(like)
	parts := partsOf(u, chosen(like, floats))
	whole := u.Src[1+len(l.step.inputs()):]
	out := make([]*uop.UOp, len(l.saved))
	for i, at := range l.saved {
		if k := slices.Index(floats, len(l.step.Carry)+at); k >= 0 {
			out[i] = parts[k]
		} else {
			out[i], whole = whole[0], whole[1:]
		}
	}
	return out
}

// Gradient is a loop in the opposite direction. Its carry are the gradients of the carry, and the sums of the gradients of the tensors that are read.
// Its step recomputes values of the forward step from the carry and the residuals.
func (l *scan) Gradient(g, u *uop.UOp) []*uop.UOp {
	carry, sequences, reads := l.operands(u)
	s := &l.step
	like := l.like()
	floats := places(like)
	incoming := make([]*uop.UOp, len(like))
	from := int64(0)
	for k, part := range partsOf(g, chosen(like, floats)) {
		if to := from + part.Size(); floats[k] < len(carry) || !isZero(g, from, to) {
			incoming[floats[k]] = part
		}
		from += part.Size()
	}
	back := Step{Elements: slices.Concat(s.Elements, s.Carry), Reads: slices.Clone(s.Reads)}
	reads = slices.Clone(reads)
	at := map[*uop.UOp]*uop.UOp{}
	for _, v := range l.residuals {
		at[v] = Placeholder(v, v.DType, v.Shape())
		back.Elements = append(back.Elements, at[v])
	}
	given := slices.Concat(sequences, l.history(u))
	var before, losses, seeds []*uop.UOp // before are the gradients of the carry after the last step
	for i, v := range slices.Concat(s.Next, s.Out) {
		if !isFloat(v) || incoming[i] == nil {
			continue
		}
		p := Placeholder(v, v.DType, v.Shape())
		losses, seeds = append(losses, v), append(seeds, p)
		one, all := (*uop.UOp)(nil), false
		if i >= len(s.Next) {
			one, all = same(incoming[i])
		}
		switch {
		case i < len(s.Next):
			back.Carry, before = append(back.Carry, p), append(before, incoming[i])
		case all && one.Base().Op == uop.ConstOp: // e.g. the gradient of a sum over all steps
			seeds[len(seeds)-1] = one
		case all:
			back.Reads, reads = append(back.Reads, p), append(reads, one)
		default:
			back.Elements, given = append(back.Elements, p), append(given, incoming[i])
		}
	}
	inputs := s.inputs()
	moving := places(inputs)
	found, err := gradient.OfSeveral(losses, chosen(inputs, moving), seeds)
	if err != nil {
		gradient.Refuse(err)
	}
	found = mustSubstitute(found, at)
	into := make([]*uop.UOp, len(inputs)) // gradients of the inputs of a step
	for k, i := range moving {
		into[i] = found[k]
	}
	n, m := len(carry), len(carry)+len(sequences)
	for i, v := range into {
		switch {
		case v == nil:
		case i < n:
			back.Next = append(back.Next, v)
		case i < m:
			back.Out = append(back.Out, v)
		}
	}
	for i, v := range into[m:] {
		if v != nil {
			sum := Placeholder(v, v.DType, v.Shape())
			back.Carry, back.Next = append(back.Carry, sum), append(back.Next, sum.Add(v))
			before = append(before, zeros(reads[i]))
		}
	}
	last, kept := (&scan{step: back, length: l.length, reverse: !l.reverse}).run(before, given, reads)
	out := make([]*uop.UOp, len(u.Src))
	for i, v := range into {
		switch {
		case v == nil:
		case i >= n && i < m:
			out[1+i], kept = kept[0], kept[1:]
		default:
			out[1+i], last = last[0], last[1:]
		}
	}
	return out
}

// isZero reports whether g[from:to] is 0 because g is a sum of padded terms of which none covers it, like the gradient of results that nothing uses.
func isZero(g *uop.UOp, from, to int64) bool {
	switch {
	case g.Op == uop.Add:
		return isZero(g.Src[0], from, to) && isZero(g.Src[1], from, to)
	case g.Op == uop.Pad:
		p, n := g.MovementPairs()[0], g.Shape()[0]
		if p.Lo.U != nil || p.Hi.U != nil || n.U != nil {
			return false
		}
		return to <= p.Lo.N || from >= n.N-p.Hi.N
	}
	return false
}

// Tangent runs the step and its tangent in one loop. tangents are those of the sources behind the value, nil for zeros.
func (l *scan) Tangent(u *uop.UOp, tangents []*uop.UOp) (t *uop.UOp, known bool, err error) {
	carry, sequences, reads := l.operands(u)
	s := &l.step
	n := len(carry)
	carry, sequences, reads = slices.Clone(carry), slices.Clone(sequences), slices.Clone(reads)
	joint, moving := s.joint(&carry, &sequences, &reads, tangents)
	found, err := JVP(slices.Concat(s.Next, s.Out), s.inputs(), moving)
	if err != nil {
		return nil, false, err
	}
	joint.Next = slices.Clone(s.Next)
	for i, t := range found {
		v := slices.Concat(s.Next, s.Out)[i]
		if !isFloat(v) {
			continue
		}
		if t = orZeros(t, v); i < n {
			joint.Next = append(joint.Next, t)
		} else {
			joint.Out = append(joint.Out, t)
		}
	}
	last, kept := (&scan{step: joint, length: l.length, reverse: l.reverse}).run(carry, sequences, reads)
	return joined(slices.Concat(last[n:], kept)), true, nil
}

// joint is a step with the inputs of s and their tangents; it appends the tangents to carry, sequences and reads: one for each float of the carry,
// and for each other float whose tangent is not nil. moving[i] is the placeholder for the tangent of input i.
func (s *Step) joint(carry, sequences, reads *[]*uop.UOp, tangents []*uop.UOp) (joint Step, moving []*uop.UOp) {
	joint = Step{Carry: slices.Clone(s.Carry), Elements: slices.Clone(s.Elements), Reads: slices.Clone(s.Reads)}
	n, m := len(s.Carry), len(s.Carry)+len(s.Elements)
	inputs := s.inputs()
	moving = make([]*uop.UOp, len(inputs))
	for i, p := range inputs {
		t := tangents[i]
		if !isFloat(p) || t == nil && i >= n {
			continue
		}
		moving[i] = Placeholder(p, p.DType, p.Shape())
		switch {
		case i < n:
			joint.Carry, *carry = append(joint.Carry, moving[i]), append(*carry, orZeros(t, (*carry)[i]))
		case i < m:
			joint.Elements, *sequences = append(joint.Elements, moving[i]), append(*sequences, t)
		default:
			joint.Reads, *reads = append(joint.Reads, moving[i]), append(*reads, t)
		}
	}
	return joint, moving
}
