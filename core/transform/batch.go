package transform

import (
	"fmt"
	"slices"

	"polygrad/core/uop"
)

// A Batched is a tensor in a batched function: one for all elements of the batch, or mapped, with the batch as its first axis.
type Batched struct {
	Node   *uop.UOp
	Mapped bool
}

// Batch gives outs for all elements of a batch of a size at once, where the inputs stand for the given tensors.
func Batch(outs []*uop.UOp, inputs map[*uop.UOp]Batched, size uop.Sint) ([]Batched, error) {
	b := batching{size: size, at: inputs, done: map[*uop.UOp]Batched{}}
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

// substitute replaces nodes of a graph, and leaves those below them as they are.
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

// Substitute replaces nodes of graphs, and leaves those below them as they are.
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

// batching is a walk from the inputs to the outputs.
type batching struct {
	size uop.Sint
	at   map[*uop.UOp]Batched
	done map[*uop.UOp]Batched
}

func (b batching) below(u *uop.UOp) []*uop.UOp {
	if _, ok := b.at[u]; ok {
		return nil
	}
	if u.Op == uop.Repeat {
		return u.Src[1:] // the statements read nothing but these
	}
	return u.Src
}

func (b batching) node(u *uop.UOp) (Batched, error) {
	if v, ok := b.at[u]; ok {
		return v, nil
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

// whole is a source with the axis of the batch; a node without a shape stays as it is.
func (b batching) whole(u *uop.UOp) *uop.UOp {
	v, ok := b.done[u]
	if !ok {
		v = Batched{Node: u}
	}
	return v.Whole(b.size)
}

// Whole is the tensor with the axis of a batch, along which it is repeated if it is not mapped.
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
	// The elements of operands with the axis of the batch belong together as those without it.
	for _, op := range uop.GroupElementwise.Union(uop.Ops(uop.Contiguous, uop.ContiguousBackward, uop.Detach, uop.Copy)).List() {
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

// each is the same operation on the sources with the axis of the batch.
func (b batching) each(u *uop.UOp, arg uop.Arg) *uop.UOp {
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = b.whole(s)
	}
	return u.Graph().New(u.Op, u.DType, src, arg, u.Tag)
}

func eachBatch(b batching, u *uop.UOp) (*uop.UOp, error) { return b.each(u, u.Arg), nil }

// scatterBatch: elements of the batch change different elements, so positions stay in order.
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

// loops is a LOOPS of sources with the axis of the batch.
func (b batching) loops(u *uop.UOp) *uop.UOp {
	axis := u.Arg.(uop.Num)
	if axis >= 0 {
		axis++
	}
	return b.each(u, axis)
}

func loopsBatch(b batching, u *uop.UOp) (*uop.UOp, error) { return b.loops(u), nil }

// sinkBatch: statements have no axes of their own.
func sinkBatch(b batching, u *uop.UOp) (*uop.UOp, error) {
	src := make([]*uop.UOp, len(u.Src))
	for i, s := range u.Src {
		src[i] = b.done[s].Node
	}
	return u.With(src...), nil
}

// afterBatch: what has to be done before is the same for all elements of the batch.
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

// repeatBatch runs the statements for all elements of the batch side by side: each state, and each mapped tensor that they read, is a
// buffer with the axis of the batch in front.
func repeatBatch(b batching, u *uop.UOp) (*uop.UOp, error) {
	if b.size.Symbolic() {
		return nil, fmt.Errorf("transform.Batch: the batch has the size %s, expected a number for a function that runs statements", b.size)
	}
	g, a := u.Graph(), u.Arg.(uop.RepeatArg)
	src := slices.Clone(u.Src)
	mapped := make([]bool, len(u.Src)-1)
	for i, s := range u.Src[1:] {
		v := b.done[s]
		mapped[i] = v.Mapped || i < a.States
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
	statements, err := Batch(u.Src[:1], inputs, b.size)
	if err != nil {
		return nil, err
	}
	src[0] = statements[0].Node
	return g.New(uop.Repeat, u.DType, src, u.Arg, u.Tag), nil
}

func resultBatch(b batching, u *uop.UOp) (*uop.UOp, error) { return u.With(b.done[u.Src[0]].Node), nil }
