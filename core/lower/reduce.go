package lower

import (
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// reduceState allocates accumulators and records the loops of each.
type reduceState struct {
	accumulators int64
	loops        []reduceLoop
	// ends are the ENDs of a kernel with PREFIX nodes, otherwise nil.
	ends []*uop.UOp
}

// reduceLoop are the ENDs of accumulators whose loops run over the same ranges.
type reduceLoop struct {
	ranges []*uop.UOp
	ends   []*uop.UOp
}

func (st *reduceState) add(ranges []*uop.UOp, end *uop.UOp) {
	for i := range st.loops {
		if slices.Equal(st.loops[i].ranges, ranges) {
			st.loops[i].ends = append(st.loops[i].ends, end)
			return
		}
	}
	st.loops = append(st.loops, reduceLoop{ranges, []*uop.UOp{end}})
}

// horizontal splits a vector into the vectors of type dt to combine: [0 1 2 3] into [0 2] and [1 3].
func horizontal(v *uop.UOp, dt *uop.DType) []*uop.UOp {
	if v.DType == dt {
		return []*uop.UOp{v}
	}
	n := v.DType.Count
	step := n / dt.Count
	out := make([]*uop.UOp, step)
	for i := range out {
		is := make([]int, 0, dt.Count)
		for j := i; j < n; j += step {
			is = append(is, j)
		}
		out[i] = v.GepList(is)
		if out[i].DType != dt {
			fail("REDUCE of %s to %s", v.DType, dt)
		}
	}
	return out
}

// accumulate turns a REDUCE into an accumulator, initialized before the loop, updated in it and read after it.
func accumulate(ctx any, red *uop.UOp) *uop.UOp {
	st := ctx.(*reduceState)
	g, in, ranges := red.Graph(), red.Src[0], red.Src[1:]
	op := uop.Op(red.Arg.(uop.OpArg))
	parts := horizontal(in, red.DType)
	if len(ranges) == 0 {
		return combine(op, parts)
	}
	acc := g.New(uop.DefineReg, red.DType.Ptr(1, uop.Reg), nil, uop.Num(st.accumulators), nil)
	st.accumulators++
	first := g.Const(uop.Int32, uop.Int(0))
	identity := g.Const(red.DType, uop.IdentityElement(op, red.DType.Scalar()))
	set := acc.AfterOps(outerRanges(in, ranges)...).IndexBy(first).Store(identity)
	parts = prepend(acc.AfterOps(prepend(set, ranges...)...).IndexBy(first), parts...)
	end := acc.IndexBy(first).Store(combine(op, parts)).EndRanges(ranges...)
	st.add(ranges, end)
	return acc.AfterOps(end).IndexBy(first)
}

// runPrefix turns a PREFIX (a running sum or the like) into an accumulator that is initialized before its loop and updated in it. Its
// value after each update is the result.
func runPrefix(ctx any, u *uop.UOp) *uop.UOp {
	st := ctx.(*reduceState)
	a, last := u.Arg.(uop.PrefixArg), len(u.Src)-1
	operands, loops := u.Src[:a.Operands()], u.Src[last].OwnRanges()
	g := u.Graph()
	acc := g.New(uop.DefineReg, u.DType.Ptr(1, uop.Reg), nil, uop.Num(st.accumulators), nil)
	st.accumulators++
	at := g.Const(uop.Int32, uop.Int(0))
	first := g.Const(u.DType, a.Identity(u.DType.Scalar()))
	if len(operands) < last {
		first = u.Src[last-1]
	}
	for _, r := range loops {
		if first.InRange(r) {
			fail("the initial value of %s varies along its loop", u)
		}
	}
	set := acc.AfterOps(st.around(loops)...).IndexBy(at).Store(first)
	before := acc.AfterOps(prepend(set, loops...)...).IndexBy(at)
	return acc.AfterOps(acc.IndexBy(at).Store(a.Step(before, operands))).IndexBy(at)
}

// around are the loops outside of those of a prefix sum: the others that the same END closes.
func (st *reduceState) around(loops []*uop.UOp) []*uop.UOp {
	for _, e := range st.ends {
		all := e.Graph().Sink(nil, e.EndedRanges()...).OwnRanges()
		if slices.Contains(all, loops[0]) {
			return slices.DeleteFunc(slices.Clone(all), func(r *uop.UOp) bool { return slices.Contains(loops, r) })
		}
	}
	return nil
}

// accessInOrder keeps accesses inside the sequential loops that store to the same memory. An access whose address does not use the
// loop variables would otherwise be moved in front of the loops, so it gets the loops as dependencies. Simplification may remove a loop
// variable from an address; the pass then runs again.
func accessInOrder(sink *uop.UOp) *uop.UOp {
	missing := map[*uop.UOp][]*uop.UOp{} // loops by access, from several ENDs: in the end each END closes one loop
	for _, e := range sink.Toposort() {
		if e.Op != uop.End {
			continue
		}
		var loops []*uop.UOp
		for _, ended := range e.EndedRanges() {
			for _, r := range ended.OwnRanges() {
				if r.RangeID().Type == uop.AxisPrefix {
					loops = append(loops, r)
				}
			}
		}
		if len(loops) == 0 {
			continue
		}
		changed := map[*uop.UOp]bool{}
		inside := e.Src[0].Toposort()
		for _, u := range inside {
			if u.Op == uop.Store {
				if memory, ok := paramOf(u); ok {
					changed[memory] = true
				}
			}
		}
		for _, u := range inside {
			if u.Op != uop.Index || !changed[withoutAfter(u.Src[0])] {
				continue
			}
			for _, r := range loops {
				isLength := r.Src[0].Find(func(v *uop.UOp) bool { return v == u }) != nil
				if !isLength && !u.InRange(r) && !slices.Contains(missing[u], r) {
					missing[u] = append(missing[u], r)
				}
			}
		}
	}
	if len(missing) == 0 {
		return sink
	}
	m := rewrite.Map{}
	for u, loops := range missing {
		m[u] = u.With(prepend(u.Src[0].AfterOps(loops...), u.Src[1:]...)...)
	}
	return rewrite.Substitute(sink, m)
}

// newReduceState is the state for a kernel.
func newReduceState(sink *uop.UOp) *reduceState {
	st := &reduceState{}
	if sink.HasOp(uop.Ops(uop.Prefix)) {
		for _, u := range sink.Toposort() {
			if u.Op == uop.End {
				st.ends = append(st.ends, u)
			}
		}
	}
	return st
}

func combine(op uop.Op, parts []*uop.UOp) *uop.UOp {
	r := parts[0]
	for _, p := range parts[1:] {
		r = r.Alu(op, p)
	}
	return r
}

// outerRanges are the open ranges around a reduction of in over ranges.
func outerRanges(in *uop.UOp, ranges []*uop.UOp) []*uop.UOp {
	topo := in.Toposort()
	ended := slices.Clone(ranges)
	for _, x := range topo {
		if x.Op == uop.End {
			ended = append(ended, x.EndedRanges()...)
		}
	}
	var out []*uop.UOp
	for _, x := range topo {
		if x.Op == uop.Range && !slices.Contains(ended, x) {
			out = append(out, x)
		}
	}
	return out
}

// mergeLoops merges the loops of accumulations over the same ranges.
func mergeLoops(ctx any, sink *uop.UOp) *uop.UOp {
	subs := rewrite.Map{}
	for _, l := range ctx.(*reduceState).loops {
		if len(l.ends) < 2 {
			continue
		}
		stores := make([]*uop.UOp, len(l.ends))
		for i, e := range l.ends {
			stores[i] = e.Src[0]
		}
		for _, e := range l.ends {
			subs[e] = sink.Graph().Group(stores...).EndRanges(l.ranges...)
		}
	}
	if len(subs) == 0 {
		return nil
	}
	return rewrite.Substitute(sink, subs)
}

var reduceRules = &rewrite.Table{Name: "reduce", Rules: []*rewrite.Rule{
	{Name: "REDUCE to accumulator", Ops: uop.Ops(uop.Reduce), Fn: accumulate},
	{Name: "PREFIX to accumulator", Ops: uop.Ops(uop.Prefix), Fn: runPrefix},
	{Name: "one loop for equal ranges", Ops: uop.Ops(uop.Sink), Fn: mergeLoops},
}}

// addLoads makes loads explicit: an INDEX of the value type becomes a LOAD through a pointer.
var addLoads = &rewrite.Table{Name: "add loads", Rules: []*rewrite.Rule{
	{Name: "INDEX of a value is a LOAD", Ops: uop.Ops(uop.Index), Fn: func(_ any, idx *uop.UOp) *uop.UOp {
		if idx.DType.IsPtr() {
			return nil
		}
		return idx.WithDType(idx.Src[0].DType).F(uop.Load, idx.DType, nil)
	}},
	{Name: "STORE takes the pointer", Ops: uop.Ops(uop.Store), Need: uop.Ops(uop.Load),
		Fn: func(_ any, s *uop.UOp) *uop.UOp {
			if len(s.Src) != 2 || s.Src[0].Op != uop.Load {
				return nil
			}
			return s.With(s.Src[0].Src[0], s.Src[1])
		}},
}}
