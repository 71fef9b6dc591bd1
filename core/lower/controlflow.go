package lower

import (
	"slices"
	"sort"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// controlFlow orders loops: sibling loops are chained, so the linear list never interleaves them.
type controlFlow struct {
	after map[*uop.UOp]*uop.UOp
}

// Unordered: rules only read it.
func (*controlFlow) Unordered() {}

// loopDeps is the set of RANGEs and ENDs that a node depends on, in order of appearance. Sets are shared and never changed.
type loopDeps struct {
	list []*uop.UOp
	has  []uint64 // a bit set, indexed by the number among all RANGEs and ENDs
}

func (d *loopDeps) contains(loop int32) bool { return d != nil && d.has[loop>>6]>>(loop&63)&1 != 0 }

// union is d followed by the elements of o that d lacks.
func (d *loopDeps) union(o *loopDeps, number []int32) *loopDeps {
	if d == nil || d == o {
		return o
	}
	var out *loopDeps
	for _, u := range o.list {
		if n := number[u.ID()]; !d.contains(n) {
			if out == nil {
				out = &loopDeps{slices.Clone(d.list), slices.Clone(d.has)}
			}
			out.add(u, n)
		}
	}
	if out == nil {
		return d
	}
	return out
}

func (d *loopDeps) add(u *uop.UOp, n int32) {
	d.list = append(d.list, u)
	d.has[n>>6] |= 1 << (n & 63)
}

func newControlFlow(sink *uop.UOp) *controlFlow {
	list := sink.Toposort()
	top := highestID(list)
	number := make([]int32, top+1) // of RANGEs and ENDs, by node ID
	loops := int32(0)
	for _, u := range list {
		if u.Op == uop.Range || u.Op == uop.End {
			number[u.ID()] = loops
			loops++
		}
	}
	deps := make([]*loopDeps, top+1) // by node ID
	nested := make([]bool, loops)
	cf := &controlFlow{after: map[*uop.UOp]*uop.UOp{}}
	for _, u := range list {
		var d *loopDeps
		for _, s := range u.Src {
			if ds := deps[s.ID()]; ds != nil {
				d = d.union(ds, number)
			}
		}
		if d != nil && (u.Op == uop.End || u.Op == uop.Sink) {
			// The ENDs of the loops nested directly in this one.
			var inside []*uop.UOp
			for _, x := range d.list {
				n := number[x.ID()]
				if nested[n] || x.Op != uop.End || u.Op == uop.End && !deps[x.ID()].contains(number[u.Src[1].ID()]) {
					continue
				}
				nested[n] = true
				inside = append(inside, x)
			}
			cf.chain(u, inside, deps, number)
		}
		if u.Op == uop.Range || u.Op == uop.End {
			n := number[u.ID()]
			own := &loopDeps{has: make([]uint64, (loops+63)/64)}
			own.add(u, n)
			d = d.union(own, number)
		}
		deps[u.ID()] = d
	}
	return cf
}

// chain orders the loops inside one parent: those that depend on fewer siblings come first.
func (cf *controlFlow) chain(parent *uop.UOp, loops []*uop.UOp, deps []*loopDeps, number []int32) {
	if len(loops) == 0 {
		return
	}
	needs := func(x *uop.UOp) (n int) {
		for _, y := range loops {
			if deps[x.ID()].contains(number[y.ID()]) {
				n++
			}
		}
		return n
	}
	order := slices.Clone(loops)
	slices.SortStableFunc(order, func(x, y *uop.UOp) int { return needs(x) - needs(y) })
	if parent.Op == uop.End {
		order = slices.Insert(order, 0, parent.Src[1])
	}
	for i := 1; i < len(order); i++ {
		x, y := order[i-1], order[i]
		if x.DependsOn(y.Src[1]) {
			fail("loops depend on each other: %s needs %s to be closed first", x, y.Src[1])
		}
		cf.after[y.Src[1]] = x
	}
}

var addControlFlow = &rewrite.Table{Name: "add control flow", Rules: []*rewrite.Rule{{
	Name: "a loop opens after what comes before it", Ops: uop.Ops(uop.Range),
	Fn: func(ctx any, r *uop.UOp) *uop.UOp {
		if x := ctx.(*controlFlow).after[r]; x != nil {
			return r.With(appendTo(r.Src, x)...)
		}
		return nil
	},
}}}

var splitEnds = &rewrite.Table{Name: "split ends", Rules: []*rewrite.Rule{{
	Name: "close one loop at a time", Ops: uop.Ops(uop.End),
	Fn: func(_ any, e *uop.UOp) *uop.UOp {
		rngs := append([]*uop.UOp(nil), e.Graph().Sink(nil, e.Src[1:]...).OwnRanges()...)
		sort.SliceStable(rngs, func(i, j int) bool {
			// The loops of a prefix sum are closed first: its accumulator holds one element, so all other loops are around them.
			if p, q := rngs[i].RangeID().Type == uop.AxisPrefix, rngs[j].RangeID().Type == uop.AxisPrefix; p != q {
				return p
			}
			c, _ := uop.ArgCompare(rngs[j].Arg, rngs[i].Arg)
			return c < 0
		})
		out := e.Src[0]
		for _, r := range rngs {
			out = out.EndRanges(r)
		}
		return out
	},
}}}
