package lower

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// The expander turns ranges of types UNROLL and UPCAST into vectors. UNROLL(vector, axes) is a vector with a lane for each combination of positions
// along the axes, the last axis innermost; it propagates from the ranges to their users, which become vector operations. CONTRACT moves axes into the
// element type.

// swizzle maps each lane of a vector over the axes to to a lane of a vector over from. Elements are repeated along axes missing
// in from.
func swizzle(to, from uop.AxisSizes) []int {
	stride := make([]int, len(to))
	for i, a := range to {
		mul := 1
		for j := len(from) - 1; j >= 0; j-- {
			if from[j].Axis == a.Axis {
				stride[i] = mul
			}
			mul *= from[j].Size
		}
	}
	out := make([]int, 1, sizeOf(to))
	for i, a := range to {
		n := len(out)
		next := make([]int, 0, n*a.Size)
		for _, base := range out {
			for k := range a.Size {
				next = append(next, base+k*stride[i])
			}
		}
		out = next
	}
	return out
}

func axesOf(u *uop.UOp) uop.AxisSizes { return u.Arg.(uop.AxisSizes) }

func sizeOf(axes uop.AxisSizes) int {
	n := 1
	for _, a := range axes {
		n *= a.Size
	}
	return n
}

// commonAxes are the axes of all given UNROLLs: those of the first if all agree, else their sorted union.
func commonAxes(unrolls []*uop.UOp) uop.AxisSizes {
	first := axesOf(unrolls[0])
	same := true
	var all uop.AxisSizes
	for _, x := range unrolls {
		same = same && slices.Equal(axesOf(x), first)
		for _, a := range axesOf(x) {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	if same {
		return first
	}
	slices.SortFunc(all, func(a, b uop.AxisSize) int {
		if a.Axis != b.Axis {
			return a.Axis - b.Axis
		}
		return a.Size - b.Size
	})
	return all
}

func isUnroll(u *uop.UOp) bool { return u.Op == uop.Unroll }

// expand vectorizes an operation on unrolled sources.
func expand(_ any, root *uop.UOp) *uop.UOp {
	unrolls, _ := partition(root.Src, isUnroll)
	if len(unrolls) == 0 {
		return nil
	}
	g := root.Graph()
	axes := commonAxes(unrolls)
	size := sizeOf(axes)
	firstRange := uop.RangeStart(root.Op)
	src := make([]*uop.UOp, len(root.Src))
	for i, s := range root.Src {
		switch {
		case isUnroll(s):
			src[i] = expandSource(s, axes)
		case firstRange >= 0 && i >= firstRange, root.Op == uop.Index && i >= 1 && !root.DType.IsPtr():
			src[i] = s
		case s.DType.Count > 1:
			src[i] = g.New(uop.Cat, s.DType.Scalar().Vec(size*s.DType.Count), slices.Repeat([]*uop.UOp{s}, size), nil, nil)
		default:
			src[i] = s.Broadcast(size)
		}
	}
	arg := root.Arg
	if root.Op == uop.Gep {
		n := src[0].DType.Count
		var is uop.Nums
		for i := root.Arg.(uop.Nums)[0]; i < n; i += n / size {
			is = append(is, i)
		}
		arg = is
	}
	v := g.New(root.Op, root.DType.Scalar().Vec(root.DType.Count*size), src, arg, nil)
	return g.New(uop.Unroll, root.DType, []*uop.UOp{v}, axes, nil)
}

// expandSource permutes the vector of an UNROLL into the order of axes.
func expandSource(s *uop.UOp, axes uop.AxisSizes) *uop.UOp {
	if slices.Equal(axesOf(s), axes) {
		return s.Src[0]
	}
	is := swizzle(axes, axesOf(s))
	if n := s.DType.Count; n > 1 {
		// The elements of a vector type stay together, innermost.
		all := make([]int, 0, len(is)*n)
		for _, i := range is {
			for j := range n {
				all = append(all, i*n+j)
			}
		}
		is = all
	}
	return s.Src[0].GepList(is)
}

// contract moves axes of an UNROLL into the vector type.
func contract(_ any, con *uop.UOp) *uop.UOp {
	g, x := con.Graph(), con.Src[0]
	if !isUnroll(x) {
		return g.New(uop.Vectorize, con.DType, slices.Repeat(con.Src, con.DType.Count), nil, nil)
	}
	taken := axesOf(con)
	if con.DType != uop.Void && con.DType.Count != sizeOf(taken) {
		fail("CONTRACT of %d elements has type %s", sizeOf(taken), con.DType)
	}
	left := uop.AxisSizes{}
	for _, a := range axesOf(x) {
		if !slices.Contains(taken, a) {
			left = append(left, a)
		}
	}
	is := swizzle(slices.Concat(left, taken), axesOf(x))
	return g.New(uop.Unroll, con.DType, []*uop.UOp{x.Src[0].GepList(is)}, left, nil)
}

// endUnrolls replaces the unrolled axes among the ranges of an END by a CONTRACT of what it ends.
func endUnrolls(_ any, u *uop.UOp) *uop.UOp {
	unrolls, rest := partition(u.Src[1:], isUnroll)
	if len(unrolls) == 0 {
		return nil
	}
	return u.With(prepend(u.Graph().New(uop.Contract, uop.Void, u.Src[:1:1], joinAxes(unrolls), nil), rest...)...)
}

func joinAxes(unrolls []*uop.UOp) uop.AxisSizes {
	axes := uop.AxisSizes{}
	for _, x := range unrolls {
		axes = append(axes, axesOf(x)...)
	}
	return axes
}

// broadcastLast moves a broadcast behind an AFTER or END.
func broadcastLast(_ any, a *uop.UOp) *uop.UOp {
	b := a.Src[0]
	x := sameSources(b)
	switch {
	case b.Op != uop.Vectorize || x == nil:
		return nil
	case a.Op == uop.After:
		return x.AfterOps(a.Src[1:]...).Broadcast(len(b.Src))
	}
	return x.EndRanges(a.Src[1:]...).Broadcast(len(b.Src))
}

var expander = &rewrite.Table{Name: "expander", Rules: []*rewrite.Rule{
	{Name: "broadcast last", Ops: uop.Ops(uop.After, uop.End), Need: uop.Ops(uop.Vectorize), Fn: broadcastLast},
	{Name: "END closes unrolled axes", Ops: uop.Ops(uop.End), Fn: endUnrolls},
	{Name: "BUFFERIZE holds unrolled axes", Ops: uop.Ops(uop.Bufferize), Need: uop.Ops(uop.Unroll),
		Fn: func(_ any, x *uop.UOp) *uop.UOp {
			if len(x.Src) != 2 || !isUnroll(x.Src[0]) || !isUnroll(x.Src[1]) {
				return nil
			}
			idx := x.Src[1]
			src := make([]*uop.UOp, 2)
			for i, s := range x.Src {
				src[i] = s.F(uop.Contract, s.DType.Vec(idx.Src[0].DType.Count), axesOf(idx))
			}
			return x.With(src...)
		}},
	{Name: "UNROLL of UNROLL", Ops: uop.Ops(uop.Unroll), Need: uop.Ops(uop.Unroll),
		Fn: func(_ any, outer *uop.UOp) *uop.UOp {
			inner := outer.Src[0]
			return inner.Src[0].F(uop.Unroll, outer.DType, slices.Concat(axesOf(inner), axesOf(outer)))
		}},
	{Name: "operations on unrolled sources", Need: uop.Ops(uop.Unroll), Fn: expand,
		Ops: uop.GroupElementwise.Union(uop.Ops(uop.Gep, uop.Load, uop.Store, uop.Index, uop.Bufferize, uop.Vectorize,
			uop.Reduce, uop.End, uop.After))},
	{Name: "CONTRACT", Ops: uop.Ops(uop.Contract), Fn: contract},
	{Name: "UNROLL over no axis", Ops: uop.Ops(uop.Unroll),
		Fn: func(_ any, u *uop.UOp) *uop.UOp {
			if len(axesOf(u)) == 0 {
				return u.Src[0]
			}
			return nil
		}},
}}

// unrollRange replaces a range to unroll or vectorize by the vector of its values.
func unrollRange(_ any, r *uop.UOp) *uop.UOp {
	id := r.RangeID()
	if len(id.ID) != 1 || id.Type != uop.AxisUnroll && id.Type != uop.AxisUpcast {
		return nil
	}
	n := int(r.Vmax().I()) + 1
	vs := make([]uop.Const, n)
	for i := range vs {
		vs[i] = uop.Int(int64(i))
	}
	g := r.Graph()
	return g.New(uop.Unroll, r.DType, []*uop.UOp{g.ConstVec(r.DType.Vec(n), vs)}, uop.AxisSizes{{Axis: id.ID[0], Size: n}}, nil)
}

// contractTag marks CONTRACTs made before expansion.
const contractTag = uop.Num(1)

// unrollReduce gives a REDUCE the elements of its unrolled axes as a vector for a horizontal reduction.
func unrollReduce(_ any, x *uop.UOp) *uop.UOp {
	ranges, other := partition(x.Src[1:], func(s *uop.UOp) bool { return s.Op == uop.Range })
	if len(other) == 0 {
		return nil
	}
	unrolls, _ := partition(other, func(s *uop.UOp) bool { return s.Op != uop.ConstOp })
	for _, s := range unrolls {
		if !isUnroll(s) {
			fail("REDUCE over %s, given neither a range nor an unrolled axis", s)
		}
	}
	v := x.Src[0]
	if axes := joinAxes(unrolls); len(axes) > 0 {
		v = x.Graph().New(uop.Contract, x.DType.Vec(sizeOf(axes)), []*uop.UOp{v}, axes, contractTag)
	}
	return x.With(prepend(v, ranges...)...)
}

// unrollStore stores all elements of the unrolled axes.
func unrollStore(_ any, x *uop.UOp) *uop.UOp {
	unrolls, ranges := partition(x.Src[2:], isUnroll)
	if len(unrolls) == 0 {
		return nil
	}
	return x.Graph().New(uop.Contract, uop.Void, []*uop.UOp{x.With(appendTo(x.Src[:2], ranges...)...)}, joinAxes(unrolls), contractTag)
}

var preExpander = &rewrite.Table{Name: "pre expander", Rules: []*rewrite.Rule{
	{Name: "a range becomes a vector", Ops: uop.Ops(uop.Range), Fn: unrollRange},
	{Name: "REDUCE over unrolled axes", Ops: uop.Ops(uop.Reduce), Fn: unrollReduce},
	{Name: "STORE over unrolled axes", Ops: uop.Ops(uop.Store), Fn: unrollStore},
}}

// groupForReduce splits a REDUCE over a grouped axis in two: each work item of the group reduces its part into local memory,
// then the partial results are reduced.
var groupForReduce = &rewrite.Table{Name: "group for reduce", Rules: []*rewrite.Rule{{
	Name: "REDUCE over a grouped axis", Ops: uop.Ops(uop.Reduce),
	Fn: func(_ any, x *uop.UOp) *uop.UOp {
		grouped, ranges := partition(x.Src[1:], func(r *uop.UOp) bool { return isRangeOf(r, uop.AxisGroupReduce) })
		if len(grouped) == 0 {
			return nil
		}
		locals, _ := partition(x.Toposort(), func(r *uop.UOp) bool { return isRangeOf(r, uop.AxisLocal) })
		part := x.With(prepend(x.Src[0], ranges...)...)
		loops := make([]*uop.UOp, len(grouped))
		for i, r := range grouped {
			loops[i] = r.WithArg(uop.RangeArg{ID: []int{r.RangeID().ID[0] + 100}, Type: uop.AxisReduceT})
		}
		opts := uop.BufferizeOpts{LocalID: grouped[0].RangeID().ID[0], Space: uop.Local, Removable: true}
		buf := x.Graph().New(uop.Bufferize, part.DType, prepend(part, slices.Concat(locals, grouped)...), opts, nil)
		return buf.IndexBy(slices.Concat(locals, loops)...).ReduceOver(uop.Op(x.Arg.(uop.OpArg)), loops...)
	},
}}}

// isRangeOf reports whether u is a RANGE, not split, of an axis type.
func isRangeOf(u *uop.UOp, t uop.AxisType) bool {
	return u.Op == uop.Range && len(u.RangeID().ID) == 1 && u.RangeID().Type == t
}
