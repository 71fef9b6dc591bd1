package transform

import (
	"fmt"
	"slices"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// A Batched is a tensor in a batched function: shared by all elements of the batch, or mapped, with the batch as its first axis.
type Batched struct {
	Node   *uop.UOp
	Mapped bool
}

// Batch computes outs for all elements of a batch at once. inputs maps placeholders to the tensors that replace them.
func Batch(outs []*uop.UOp, inputs map[*uop.UOp]Batched, size uop.Sint) ([]Batched, error) {
	return BatchAlong(nil, outs, inputs, size)
}

// BatchAlong is Batch along a named axis; nil is none.
func BatchAlong(axis *Axis, outs []*uop.UOp, inputs map[*uop.UOp]Batched, size uop.Sint) ([]Batched, error) {
	b := batching{axis: axis, size: size, at: inputs, done: map[*uop.UOp]Batched{}}
	for _, u := range order(outs, b.below) {
		v, err := b.node(u)
		if err != nil {
			return nil, err
		}
		b.done[u] = v
	}
	found := make([]Batched, len(outs))
	for i, u := range outs {
		found[i] = b.done[u]
	}
	return found, nil
}

// substitute replaces nodes of a graph, and does not look below the replaced nodes.
func substitute(root *uop.UOp, at map[*uop.UOp]*uop.UOp) (*uop.UOp, error) {
	inputs := make(map[*uop.UOp]Batched, len(at))
	for u, v := range at {
		inputs[u] = Batched{Node: v}
	}
	found, err := Batch([]*uop.UOp{root}, inputs, uop.N(1))
	if err != nil {
		return nil, err
	}
	return found[0].Node, nil
}

// Substitute replaces nodes of graphs, and does not look below the replaced nodes.
func Substitute(roots []*uop.UOp, at map[*uop.UOp]*uop.UOp) ([]*uop.UOp, error) {
	out := make([]*uop.UOp, len(roots))
	var err error
	for i, r := range roots {
		if out[i], err = substitute(r, at); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// batching is the state of a walk from the inputs to the outputs: at are the given inputs, done the nodes that are batched already.
type batching struct {
	axis *Axis
	size uop.Sint
	at   map[*uop.UOp]Batched
	done map[*uop.UOp]Batched
}

func (b batching) below(u *uop.UOp) []*uop.UOp {
	if _, ok := b.at[u]; ok {
		return nil
	}
	if _, is := u.Arg.(*customVMap); is || u.Op == uop.Repeat {
		return u.Src[1:] // the statements read nothing but these; the value is computed from these again
	}
	return u.Src
}

// selfBatched is the arg of a CUSTOM_GRADIENT that has a batching rule of its own.
type selfBatched interface {
	batched(b batching, u *uop.UOp) (Batched, error)
}

func (b batching) node(u *uop.UOp) (Batched, error) {
	if v, ok := b.at[u]; ok {
		return v, nil
	}
	if a, is := u.Arg.(selfBatched); is {
		return a.batched(b, u)
	}
	src, mapped := slices.Clone(u.Src), false
	for i, s := range u.Src {
		if v, ok := b.done[s]; ok {
			src[i], mapped = v.Node, mapped || v.Mapped
		}
	}
	if !mapped {
		return Batched{u.With(src...), false}, nil
	}
	rule := batchRules[u.Op]
	if rule == nil {
		return Batched{}, fmt.Errorf("transform.Batch: %s cannot be batched (%s of shape %s)", u.Op, u.DType, u.Shape())
	}
	v, err := rule(b, u)
	return Batched{v, true}, err
}

// whole is the batched source u with the batch axis.
func (b batching) whole(u *uop.UOp) *uop.UOp {
	v, ok := b.done[u]
	if !ok {
		v = Batched{Node: u}
	}
	return v.Whole(b.size)
}

// Whole is the tensor with the batch as its first axis: a tensor that is not mapped is expanded. A node without a shape stays as it is.
func (v Batched) Whole(size uop.Sint) *uop.UOp {
	s := v.Node.Shape()
	if v.Mapped || s == nil {
		return v.Node
	}
	return v.Node.Reshape(prepend(uop.N(1), s)).Expand(prepend(size, s))
}

func prepend[T any](x T, list []T) []T { return append([]T{x}, list...) }

// A batchRule gives the batched value of a node at least one of whose sources is mapped.
type batchRule func(b batching, u *uop.UOp) (*uop.UOp, error)

var batchRules map[uop.Op]batchRule

func init() {
	batchRules = map[uop.Op]batchRule{
		uop.Reshape: func(b batching, u *uop.UOp) (*uop.UOp, error) {
			return b.whole(u.Src[0]).Reshape(prepend(b.size, u.MovementShape())), nil
		},
		uop.Expand: func(b batching, u *uop.UOp) (*uop.UOp, error) {
			return b.whole(u.Src[0]).Expand(prepend(b.size, u.MovementShape())), nil
		},
		uop.Permute: func(b batching, u *uop.UOp) (*uop.UOp, error) {
			return b.whole(u.Src[0]).Permute(prepend(0, shifted(u.Arg.(uop.Nums)))), nil
		},
		uop.Pad: func(b batching, u *uop.UOp) (*uop.UOp, error) {
			return b.whole(u.Src[0]).Pad(prepend(uop.Pair{Lo: uop.N(0), Hi: uop.N(0)}, u.MovementPairs())), nil
		},
		uop.Shrink: func(b batching, u *uop.UOp) (*uop.UOp, error) {
			return b.whole(u.Src[0]).Shrink(prepend(uop.Pair{Lo: uop.N(0), Hi: b.size}, u.MovementPairs())), nil
		},
		uop.Flip: func(b batching, u *uop.UOp) (*uop.UOp, error) {
			return b.whole(u.Src[0]).Flip(prepend(false, u.Arg.(uop.Flags))), nil
		},
		uop.ReduceAxis: func(b batching, u *uop.UOp) (*uop.UOp, error) {
			a := u.Arg.(uop.AxisReduce)
			return b.whole(u.Src[0]).ReduceAxes(a.Op, shifted(a.Axes)...), nil
		},
		uop.PrefixAxis: func(b batching, u *uop.UOp) (*uop.UOp, error) {
			a := u.Arg.(uop.PrefixArg)
			a.Axis++
			return b.each(u, a), nil
		},
		uop.Scatter: scatterBatch, uop.Fetch: scatterBatch, uop.Loops: loopsBatch,
		uop.Repeat: repeatBatch, uop.Result: resultBatch,
		uop.Store: writeBatch, uop.Assign: writeBatch, uop.Sink: sinkBatch,
		uop.After: afterBatch, uop.CustomGradient: customBatch,
	}
	// The arg of these operations names no axes: on sources with the batch axis it is the same.
	for _, op := range uop.GroupElementwise.Union(uop.Ops(uop.Contiguous, uop.ContiguousBackward, uop.Detach, uop.Copy, uop.Sort)).List() {
		batchRules[op] = eachBatch
	}
}

func shifted(axes []int) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = a + 1
	}
	return out
}

// each is the operation of u on its sources with the batch axis.
func (b batching) each(u *uop.UOp, arg uop.Arg) *uop.UOp {
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = b.whole(s)
	}
	return u.Graph().New(u.Op, u.DType, src, arg, u.Tag)
}

func eachBatch(b batching, u *uop.UOp) (*uop.UOp, error) { return b.each(u, u.Arg), nil }

// scatterBatch: elements of the batch change different elements of the target, so the order of positions matters only within each of them.
func scatterBatch(b batching, u *uop.UOp) (*uop.UOp, error) {
	a := u.Arg.(uop.ScatterArg)
	a.Axis++
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = b.whole(s)
		if s.Op == uop.Loops {
			src[i] = b.loops(s)
		}
	}
	return u.Graph().New(u.Op, u.DType, src, a, nil), nil
}

// loops is a LOOPS on sources with the batch axis.
func (b batching) loops(u *uop.UOp) *uop.UOp {
	axis := u.Arg.(uop.Num)
	if axis >= 0 {
		axis++
	}
	return b.each(u, axis)
}

func loopsBatch(b batching, u *uop.UOp) (*uop.UOp, error) { return b.loops(u), nil }

// sinkBatch: a SINK has no axes of its own.
func sinkBatch(b batching, u *uop.UOp) (*uop.UOp, error) {
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = b.done[s].Node
	}
	return u.With(src...), nil
}

// afterBatch: the nodes to wait for must be the same for all elements of the batch.
func afterBatch(b batching, u *uop.UOp) (*uop.UOp, error) {
	for _, s := range u.Src[1:] {
		if b.done[s].Mapped {
			return nil, fmt.Errorf("transform.Batch: %s waits for a batched %s", u.Op, s.Op)
		}
	}
	return u.With(prepend(b.whole(u.Src[0]), u.Src[1:])...), nil
}

// writeBatch: each element of the batch writes to a part of its own, so the target must be mapped.
func writeBatch(b batching, u *uop.UOp) (*uop.UOp, error) {
	if !b.done[u.Src[0]].Mapped {
		return nil, fmt.Errorf("transform.Batch: elements of the batch would write to the same %s of shape %s", u.Src[0].Op, u.Src[0].Shape())
	}
	target := b.whole(u.Src[0])
	if u.Op == uop.Store {
		target = target.Base() // a STORE fills a whole buffer
	}
	return u.With(prepend(target, []*uop.UOp{b.whole(u.Src[1])})...), nil
}

// repeatBatch runs the statements for all elements of the batch in one loop: a tensor that differs between elements is a buffer with the batch axis
// in front. If the loop's condition differs, the loop goes on until it is false for all elements, and an element for which it is false keeps its
// states.
func repeatBatch(b batching, u *uop.UOp) (*uop.UOp, error) {
	if b.size.Symbolic() {
		return nil, fmt.Errorf("transform.Batch: the batch has the size %s, expected a number for a function that runs statements", b.size)
	}
	g, a := u.Graph(), u.Arg.(uop.RepeatArg)
	src := slices.Clone(u.Src)
	mapped := b.mappedSources(u)
	for i, s := range u.Src[1:] {
		v := b.done[s]
		if src[1+i] = v.Node; mapped[i] {
			src[1+i] = v.Whole(b.size)
		}
	}
	inputs := map[*uop.UOp]Batched{}
	for _, p := range order(u.Src[:1], batching{}.below) {
		if p.Op != uop.Param || !mapped[p.Arg.(uop.Num)] {
			continue
		}
		n := p.Shape().MaxNumel()
		wide := g.New(uop.Param, p.DType, prepend(g.ShapeArg(uop.ShapeOf(b.size.N*n)), p.Src[1:]), p.Arg, p.Tag)
		inputs[p] = Batched{wide.Reshape(prepend(b.size, p.Shape())), true}
	}
	statements, err := BatchAlong(b.axis, u.Src[:1], inputs, b.size)
	if err != nil {
		return nil, err
	}
	src = closedStatements(statements[0].Node, src[1:])
	if a.While > 0 && mapped[a.While-1] {
		return b.unlessEnded(g.New(uop.Repeat, u.DType, src, a, u.Tag)), nil
	}
	return g.New(uop.Repeat, u.DType, src, a, u.Tag), nil
}

// closedStatements are the sources of a REPEAT with these statements. Tensors that they read from outside, as batching rules may, become PARAMs and
// further sources.
func closedStatements(statements *uop.UOp, src []*uop.UOp) []*uop.UOp {
	g, at := statements.Graph(), map[*uop.UOp]*uop.UOp{}
	for _, u := range order([]*uop.UOp{statements}, batching{}.below) {
		if u.Op == uop.Buffer || u.Op == uop.Param && u.Tag != nil {
			p := g.New(uop.Param, u.DType, []*uop.UOp{g.ShapeArg(uop.ShapeOf(u.Size())), g.DeviceOp(u.Device())}, uop.Num(len(src)), nil)
			at[u] = p.Reshape(u.Shape())
			src = append(src[:len(src):len(src)], u)
		}
	}
	if len(at) > 0 {
		statements = mustSubstitute([]*uop.UOp{statements}, at)[0]
	}
	return prepend(statements, src)
}

// mappedSources reports which states and other sources of a REPEAT differ between the elements of the batch. A state does if a value that is written
// to it does, or the condition; this is repeated until nothing changes.
func (b batching) mappedSources(u *uop.UOp) []bool {
	mapped := make([]bool, len(u.Src)-1)
	for i, s := range u.Src[1:] {
		mapped[i] = b.done[s].Mapped
	}
	while := u.Arg.(uop.RepeatArg).While
	for changed := true; changed; {
		changed = false
		for _, statement := range u.Src[0].Src {
			for _, w := range statement.Src {
				state := w.Src[0].Base().Arg.(uop.Num)
				differs := while > 0 && mapped[while-1]
				for _, p := range order(w.Src, batching{}.below) {
					a, is := p.Arg.(along)
					differs = differs || p.Op == uop.Param && mapped[p.Arg.(uop.Num)] || is && a.axis == b.axis
				}
				if differs && !mapped[state] {
					mapped[state], changed = true, true
				}
			}
		}
	}
	return mapped
}

// unlessEnded masks a batched REPEAT whose condition is a vector: states change only where it is true. The new condition is one more state, whether
// the vector is true anywhere; a loop of one iteration has no condition then.
func (b batching) unlessEnded(u *uop.UOp) *uop.UOp {
	g, a := u.Graph(), u.Arg.(uop.RepeatArg)
	flagOf := func(s uop.Shape) *uop.UOp {
		p := g.New(uop.Param, uop.Bool, []*uop.UOp{g.ShapeArg(uop.ShapeOf(b.size.N)), g.DeviceOp(u.Src[1].Device())}, uop.Num(a.While-1), nil)
		ones := slices.Repeat(uop.ShapeOf(1), len(s))
		ones[0] = b.size
		return p.Reshape(ones).Expand(s)
	}
	anywhere := func(flags *uop.UOp) *uop.UOp {
		return flags.Reshape(uop.ShapeOf(b.size.N)).Cast(uop.Int32).ReduceAxes(uop.Max, 0).Ne(g.DeviceConst(uop.Int32, uop.Int(0), u.Src[1].Device(), uop.ShapeOf(1)))
	}
	var statements []*uop.UOp
	for _, statement := range u.Src[0].Src {
		var writes []*uop.UOp
		for _, w := range statement.Src {
			target, v := w.Src[0], w.Src[1]
			if w.Op == uop.Store {
				target = target.Reshape(v.Shape())
			}
			v = flagOf(v.Shape()).Where(v, target)
			if a.Count > 1 && int(target.Base().Arg.(uop.Num)) == a.While-1 {
				goesOn := g.New(uop.Param, uop.Bool, []*uop.UOp{g.ShapeArg(uop.ShapeOf(1)), g.DeviceOp(u.Src[1].Device())}, uop.Num(a.States), uop.Str("any"))
				writes = append(writes, goesOn.AssignTo(anywhere(v)))
			}
			writes = append(writes, target.AssignTo(v))
		}
		statements = append(statements, statement.With(uop.ReadersFirst(writes)...))
	}
	body := u.Src[0].With(statements...)
	if a.Count == 1 {
		a.While = 0
		return g.New(uop.Repeat, u.DType, prepend(body, u.Src[1:]), a, u.Tag)
	}
	// PARAMs of tensors that are only read move up by one, since there is one more state.
	inputs := map[*uop.UOp]Batched{}
	for _, p := range order([]*uop.UOp{body}, batching{}.below) {
		if n, is := p.Arg.(uop.Num); p.Op == uop.Param && is && int(n) >= a.States && p.Tag == nil {
			inputs[p] = Batched{Node: p.WithArg(n + 1)}
		} else if p.Op == uop.Param && p.Tag != nil {
			inputs[p] = Batched{Node: p.WithTag(nil)}
		}
	}
	moved, err := Batch([]*uop.UOp{body}, inputs, uop.N(1))
	if err != nil {
		gradient.Refuse(err)
	}
	first := anywhere(u.Src[a.While])
	a.While, a.States = a.States+1, a.States+1
	src := slices.Concat([]*uop.UOp{moved[0].Node}, u.Src[1:a.States], []*uop.UOp{first}, u.Src[a.States:])
	return g.New(uop.Repeat, u.DType, src, a, u.Tag)
}

func resultBatch(b batching, u *uop.UOp) (*uop.UOp, error) {
	r := u.With(b.done[u.Src[0]].Node)
	if len(r.Shape()) == len(u.Shape()) { // a state that is the same for all elements
		r = r.Reshape(prepend(uop.N(1), u.Shape())).Expand(prepend(b.size, u.Shape()))
	}
	return r, nil
}
