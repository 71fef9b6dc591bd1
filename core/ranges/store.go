package ranges

import (
	"cmp"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Counter numbers new buffers. It is the context of the tables that make them.
type Counter struct{ Next int }

func (c *Counter) next() int {
	n := c.Next
	c.Next++
	return n
}

// FlattenBufferize gives every BUFFERIZE one index; the shape and the tag move to a RESHAPE.
var FlattenBufferize = &rewrite.Table{Name: "flatten bufferize", Rules: []*rewrite.Rule{
	{Name: "flatten bufferize", Ops: uop.Ops(uop.Bufferize), Fn: flattenBufferize}}}

// BufferizeToStore turns BUFFERIZE in global memory into a store to a new BUFFER. Context: *Counter.
var BufferizeToStore = &rewrite.Table{Name: "bufferize to store", Rules: []*rewrite.Rule{
	{Name: "bufferize to store", Ops: uop.Ops(uop.Bufferize), Fn: func(ctx any, u *uop.UOp) *uop.UOp {
		return bufferizeToStore(ctx.(*Counter), u, false)
	}}}}

// AddBuffersLocal turns every BUFFERIZE into a store, local ones to DEFINE_LOCAL. Context: *Counter.
var AddBuffersLocal = &rewrite.Table{Name: "add local buffers", Parts: []*rewrite.Table{MovementOps, FlattenBufferize, {Rules: []*rewrite.Rule{
	{Name: "bufferize to store", Ops: uop.Ops(uop.Bufferize), Fn: func(ctx any, u *uop.UOp) *uop.UOp {
		return bufferizeToStore(ctx.(*Counter), u, true)
	}}}}}}

func flattenBufferize(_ any, u *uop.UOp) *uop.UOp {
	if u.Tag == nil && len(u.Src) == 2 {
		return nil
	}
	g, shape, rngs := u.Graph(), u.Shape(), u.Src[1:]
	flat := ReshapeRanges(g, uop.Shape{shape.Numel()}, shape, rngs)
	v := g.New(uop.Bufferize, u.DType, []*uop.UOp{u.Src[0], flat[0]}, u.Arg, nil).ForcedReshape(shape)
	if slices.ContainsFunc(rngs, symbolicRange) {
		bounds := make([]uop.Pair, len(rngs))
		for i, r := range rngs {
			bounds[i] = uop.Pair{Lo: uop.N(0), Hi: uop.N(1)}
			if r.Op != uop.ConstOp {
				bounds[i].Hi = uop.S(r.Src[0])
			}
		}
		v = v.Shrink(bounds)
	}
	return v.WithTag(u.Tag)
}

func symbolicRange(r *uop.UOp) bool { return r.Op == uop.Range && r.Src[0].Op != uop.ConstOp }

func bufferizeToStore(c *Counter, u *uop.UOp, locals bool) *uop.UOp {
	if len(u.Src) != 2 {
		return nil
	}
	g, v, idx, opts := u.Graph(), u.Src[0], u.Src[1], u.Arg.(uop.BufferizeOpts)
	size := u.Shape()[0].N
	rngs := slices.Clone(idx.OwnRanges())
	slices.SortStableFunc(rngs, func(a, b *uop.UOp) int { return compareIDs(a.RangeID(), b.RangeID()) })
	ptr := u.DType.Ptr(size, opts.Space)
	switch {
	case v.Op == uop.Assign:
		return assignToStore(u, v, ptr, rngs)
	case v.Op == uop.Scatter || v.Op == uop.Fetch:
		return scatterToStores(c, u)
	case opts.Space == uop.Global:
		id := g.New(uop.LUnique, uop.Void, nil, uop.Num(c.next()), nil)
		buf := g.New(uop.Buffer, u.DType, []*uop.UOp{id, g.DeviceOp(opts.Device)}, uop.Num(size), nil)
		return buf.AfterOps(buf.IndexAs(ptr, idx).Store(v).WithTag(u.Tag).EndRanges(rngs...))
	case locals:
		buf := g.New(uop.DefineLocal, ptr, nil, uop.Num(c.next()), nil)
		store := buf.Broadcast(idx.DType.Count).IndexAs(ptr, idx).Store(v).EndRanges(rngs...)
		return buf.AfterOps(g.New(uop.Barrier, uop.Void, []*uop.UOp{store}, nil, nil))
	}
	return nil
}

// scatterToStores makes two kernels of a SCATTER or FETCH: one copies the value to a new buffer, the other changes elements
// there, and for FETCH stores their old values. If all elements are overwritten (Whole) there is no first kernel.
func scatterToStores(c *Counter, u *uop.UOp) *uop.UOp {
	g, v, arg := u.Graph(), u.Src[0], u.Src[0].Arg.(uop.ScatterArg)
	newBuffer := func(size int64) *uop.UOp {
		id := g.New(uop.LUnique, uop.Void, nil, uop.Num(c.next()), nil)
		return g.New(uop.Buffer, u.DType, []*uop.UOp{id, g.DeviceOp(u.Arg.(uop.BufferizeOpts).Device)}, uop.Num(size), nil)
	}
	changed, changes := v, v.Src[1]
	if v.Op == uop.Fetch {
		changed, changes = v.Src[2], v
	}
	// The ranges of all axes, 0 for those of size 1.
	own, at := changed.LoopRanges(), changes.LoopRanges()
	pairs := changes.Src[:2]
	if arg.Whole {
		pairs = changes.Src[:len(changes.Src)-len(at)]
	}
	element, size := g.ConstInt(0), int64(1)
	places := make([]*uop.UOp, len(pairs)/2)
	for i := range places {
		places[i] = element
	}
	var loops []*uop.UOp
	for i := len(own) - 1; i >= 0; i-- {
		q, n := g.ConstInt(0), int64(1)
		if own[i].Op == uop.Range {
			q, n = at[i], own[i].Src[0].ConstVal().I()
			loops = append(loops, own[i])
		}
		stride := g.ConstInt(size)
		for k := range places {
			if i == arg.Axis {
				q = pairs[2*k].Cast(uop.IndexT)
				if !arg.Checked {
					q = q.Valid(q.GeInt(0).And(q.LtInt(n)))
				}
			}
			places[k] = q.Mul(stride).Add(places[k])
		}
		element, size = own[i].Mul(stride).Add(element), size*n
	}
	slices.Reverse(loops)
	to := newBuffer(size)
	ptr := u.DType.Ptr(size, uop.Global)
	if !arg.Whole {
		to = to.AfterOps(to.IndexAs(ptr, symbolic.Simplify(element)).Store(changed.Src[0]).EndRanges(loops...))
	}
	var before *uop.UOp
	stores := make([]*uop.UOp, len(places))
	for k, place := range places {
		place = symbolic.Simplify(place)
		x := pairs[2*k+1]
		before = to.IndexBy(place)
		if arg.Op != uop.Store {
			x = before.Alu(arg.Op, x)
		}
		stores[k] = to.IndexAs(ptr, place).Store(x)
	}
	at = slices.DeleteFunc(slices.Clone(at), func(r *uop.UOp) bool { return r.Op != uop.Range })
	if v.Op == uop.Scatter {
		stores[0] = stores[0].WithTag(u.Tag)
		if len(stores) == 1 {
			return to.AfterOps(stores[0].EndRanges(at...))
		}
		return to.AfterOps(g.Group(stores...).EndRanges(at...))
	}
	n := u.Shape()[0].N
	out := newBuffer(n)
	fetched := out.IndexAs(out.DType.Ptr(n, uop.Global), u.Src[1]).Store(before)
	return out.AfterOps(g.Group(fetched.WithTag(u.Tag), stores[0]).EndRanges(at...))
}

// assignToStore stores an ASSIGN through its target, which is an INDEX by now, and applies the movement
// operations between target and value that the ASSIGN carries.
func assignToStore(u, assign *uop.UOp, ptr *uop.DType, rngs []*uop.UOp) *uop.UOp {
	target, v := assign.Src[0], assign.Src[1]
	if target.Op != uop.Index {
		panic("ranges: ASSIGN to " + target.Op.String() + ", which is no INDEX")
	}
	for v.Op == uop.Noop {
		v = v.Src[0]
	}
	res := target.Src[0]
	if v != target {
		res = res.AfterOps(target.WithDType(ptr).Store(v).WithTag(u.Tag).EndRanges(rngs...))
	}
	if chain, ok := assign.Arg.(uop.MovementChain); ok {
		for i := len(chain) - 1; i >= 0; i-- {
			res = u.Graph().New(chain[i].Op, res.DType, join([]*uop.UOp{res}, chain[i].Src), chain[i].Arg, nil)
		}
	}
	return res
}

func compareIDs(a, b uop.RangeArg) int {
	if c := slices.Compare(a.ID, b.ID); c != 0 {
		return c
	}
	return cmp.Compare(a.Type, b.Type)
}

// KernelCleanup removes what a kernel's graph must not contain after its buffers are in place: CONTIGUOUS, NOOP,
// and vectors of local buffers whose type became wrong when the AFTER was inserted.
var KernelCleanup = &rewrite.Table{Name: "rangeify codegen", Rules: []*rewrite.Rule{
	{Name: "drop contiguous", Ops: uop.Ops(uop.Contiguous), Fn: source},
	{Name: "drop noop", Ops: uop.Ops(uop.Noop), Fn: source},
	{Name: "broadcast of after", Ops: uop.Ops(uop.Vectorize), Need: uop.Ops(uop.After), Fn: broadcastAfter},
	{Name: "index of broadcast local", Ops: uop.Ops(uop.Index), Need: uop.Ops(uop.Vectorize), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		dg := u.Src[0]
		if dg.Op != uop.Vectorize || u.DType.IsPtr() || len(dg.Src) == 0 {
			return nil
		}
		for _, s := range dg.Src {
			if !localAfter(s) {
				return nil
			}
		}
		return loadVector(u, dg)
	}},
	{Name: "gep of after", Ops: uop.Ops(uop.Gep), Need: uop.Ops(uop.After), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		return u.Src[0].GepList(u.Arg.(uop.Nums))
	}},
	{Name: "index of local gep", Ops: uop.Ops(uop.Index), Need: uop.Ops(uop.Gep), Fn: func(_ any, u *uop.UOp) *uop.UOp {
		dg := u.Src[0]
		if dg.Op != uop.Gep || u.DType.IsPtr() || !localAfter(dg.Src[0]) {
			return nil
		}
		return loadVector(u, dg)
	}},
}}

func source(_ any, u *uop.UOp) *uop.UOp { return u.Src[0] }

func localAfter(u *uop.UOp) bool { return u.Op == uop.After && u.Src[0].Op == uop.DefineLocal }

func broadcastAfter(_ any, u *uop.UOp) *uop.UOp {
	for _, s := range u.Src {
		if s.Op != uop.After || s != u.Src[0] {
			return nil
		}
	}
	return u.Src[0].Broadcast(len(u.Src))
}

func loadVector(u, dg *uop.UOp) *uop.UOp {
	idx := u.Graph().New(uop.Index, dg.DType, u.Src, nil, u.Tag)
	return u.Graph().New(uop.Load, dg.DType.Base().Scalar().Vec(dg.DType.VCount()), []*uop.UOp{idx}, nil, nil)
}
