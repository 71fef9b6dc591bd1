package transform

import (
	"fmt"

	"polygrad/core/uop"
)

// An Axis is a named axis of a batch. Operations along it (Sum, Gather, …) get their values when the function is batched along the axis.
type Axis struct {
	Name string
	Size int64
}

// The operations along an axis, with x the tensor of one element of the batch.
const (
	alongSum    = "psum"       // the sum of all x
	alongGather = "all_gather" // all x, stacked along a new first axis
	alongOwn    = "own"        // x[i] of element i
	alongIndex  = "axis_index" // i
)

// An along is the arg of a CUSTOM_GRADIENT that stands for an operation along an axis. Its value is 0 until the function is batched along the axis.
type along struct {
	axis *Axis
	op   string
}

func (a along) Equal(b uop.Arg) bool { o, ok := b.(along); return ok && a == o }

func (a along) Hash() uint64 { return uint64(len(a.op)) + 31*uint64(a.axis.Size) }

func (a along) String() string { return a.op + " " + a.axis.Name }

// node makes the operation on a tensor.
func (a along) node(x *uop.UOp) *uop.UOp {
	s, dt, src := x.Shape(), x.DType, []*uop.UOp{nil, x}
	switch a.op {
	case alongGather:
		s = prepend(uop.N(a.axis.Size), s)
	case alongOwn:
		s = s[1:]
	case alongIndex:
		s, dt, src = nil, uop.Int32, src[:1]
	}
	src[0] = x.Graph().DeviceConst(dt, uop.Int(0), x.Device(), s)
	return x.Graph().New(uop.CustomGradient, dt, src, a, nil)
}

// Sum is the sum of a tensor over all elements of a batch.
func (a *Axis) Sum(x *uop.UOp) *uop.UOp { return along{a, alongSum}.node(x) }

// Gather are the tensors of all elements of a batch, stacked along a new first axis.
func (a *Axis) Gather(x *uop.UOp) *uop.UOp { return along{a, alongGather}.node(x) }

// Own is x[i] for element i of the batch, where x is a tensor such as Gather returns.
func (a *Axis) Own(x *uop.UOp) *uop.UOp { return along{a, alongOwn}.node(x) }

// Index is the number of an element in the batch; like is any tensor of its graph and device.
func (a *Axis) Index(like *uop.UOp) *uop.UOp { return along{a, alongIndex}.node(like) }

// batched gives the value of the operation for a batch along its axis. For a batch along another axis it gives the operation on all elements.
func (a along) batched(b batching, u *uop.UOp) (Batched, error) {
	if b.axis != a.axis {
		if len(u.Src) == 1 || !b.done[u.Src[1]].Mapped {
			return Batched{Node: a.node(b.likeOf(u))}, nil
		}
		x := b.done[u.Src[1]].Node
		switch a.op {
		case alongGather:
			return Batched{moved(a.node(x), 0, 1), true}, nil
		case alongOwn:
			return Batched{a.node(moved(x, 1, 0)), true}, nil
		}
		return Batched{a.node(x), true}, nil
	}
	if a.op == alongIndex {
		g := u.Graph()
		ones := g.DeviceConst(uop.Int32, uop.Int(1), u.Device(), uop.Shape{b.size})
		return Batched{ones.PrefixAlong(uop.PrefixArg{Op: uop.Add, Axis: 0}).SubInt(1), true}, nil
	}
	v := b.done[u.Src[1]]
	switch {
	case a.op == alongSum && !v.Mapped:
		return Batched{Node: v.Node.Mul(v.Node.ConstLike(uop.Int(a.axis.Size)))}, nil
	case a.op == alongSum:
		return Batched{Node: v.Node.ReduceAxes(uop.Add, 0).Reshape(u.Shape())}, nil
	case a.op == alongGather:
		return Batched{Node: v.Whole(b.size)}, nil
	case !v.Mapped:
		return Batched{v.Node, true}, nil
	}
	// The diagonal x[i, i]: with one more row, the elements as rows of length n+1 have it in their first column.
	n, x := a.axis.Size, v.Node
	rest := x.Shape()[2:]
	flat := x.Reshape(append(uop.ShapeOf(n*n), rest...))
	around := make([]uop.Pair, 1+len(rest))
	for i := range around {
		around[i] = uop.Pair{Lo: uop.N(0), Hi: uop.N(0)}
	}
	around[0].Hi = uop.N(n)
	rows := flat.Pad(around).Reshape(append(uop.ShapeOf(n, n+1), rest...))
	first := make([]uop.Pair, 2+len(rest))
	for i, s := range rows.Shape() {
		first[i] = uop.Pair{Lo: uop.N(0), Hi: s}
	}
	first[1].Hi = uop.N(1)
	return Batched{rows.Shrink(first).Reshape(append(uop.ShapeOf(n), rest...)), true}, nil
}

func (b batching) likeOf(u *uop.UOp) *uop.UOp {
	if len(u.Src) == 1 {
		return u.Src[0]
	}
	return b.done[u.Src[1]].Node
}

// moved moves axis from to position to.
func moved(u *uop.UOp, from, to int) *uop.UOp {
	order := make([]int, 0, len(u.Shape()))
	for i := range u.Shape() {
		if i != from {
			order = append(order, i)
		}
	}
	order = append(order[:to], append([]int{from}, order[to:]...)...)
	return u.Permute(order)
}

// Tangent: all operations but the index are linear.
func (a along) Tangent(_ *uop.UOp, tangents []*uop.UOp) (t *uop.UOp, known bool, err error) {
	if len(tangents) == 0 || tangents[0] == nil {
		return nil, true, nil
	}
	return a.node(tangents[0]), true, nil
}

// Gradient is the transpose: a sum is its own.
func (a along) Gradient(g, u *uop.UOp) []*uop.UOp {
	switch a.op {
	case alongSum:
		return []*uop.UOp{nil, a.node(g)}
	case alongGather:
		return []*uop.UOp{nil, a.axis.Own(a.axis.Sum(g))}
	case alongOwn:
		n := a.axis.Size
		at := g.Graph().DeviceConst(uop.Int32, uop.Int(1), g.Device(), uop.ShapeOf(n)).PrefixAlong(uop.PrefixArg{Op: uop.Add, Axis: 0}).SubInt(1)
		s := u.Src[1].Shape()
		ones := make(uop.Shape, len(s))
		for i := range ones {
			ones[i] = uop.N(1)
		}
		here := at.Eq(a.axis.Index(g).Reshape(uop.ShapeOf(1)).Expand(uop.ShapeOf(n)))
		ones[0] = uop.N(n)
		all := g.Reshape(prepend(uop.N(1), g.Shape())).Expand(s)
		return []*uop.UOp{nil, here.Reshape(ones).Expand(s).Where(all, zeros(all))}
	}
	return make([]*uop.UOp, len(u.Src))
}

// Unbound is the error of a value that is used without batching the function along the axis.
func (a along) Unbound() error {
	return fmt.Errorf("%s: no function is batched along the axis %q", a.op, a.axis.Name)
}
