package lower

import (
	"sort"

	"polygrad/core/rewrite"
	"polygrad/core/uop"
)

// controlFlow says after what each loop has to open: loops that stand side by side are chained, so that the
// linear list never interleaves them.
type controlFlow struct {
	after map[*uop.UOp]*uop.UOp
}

// loopDeps is the set of RANGEs and ENDs that a node depends on, in order of appearance.
type loopDeps struct {
	list []*uop.UOp
	has  map[*uop.UOp]struct{}
}

func (d *loopDeps) contains(u *uop.UOp) bool {
	if d == nil {
		return false
	}
	_, ok := d.has[u]
	return ok
}

// with is the union of d and the given nodes; d is not changed.
func (d *loopDeps) with(us ...*uop.UOp) *loopDeps {
	var out *loopDeps
	for _, u := range us {
		if d.contains(u) || out.contains(u) {
			continue
		}
		if out == nil {
			out = &loopDeps{has: map[*uop.UOp]struct{}{}}
			if d != nil {
				out.list = append(out.list, d.list...)
				for x := range d.has {
					out.has[x] = struct{}{}
				}
			}
		}
		out.list = append(out.list, u)
		out.has[u] = struct{}{}
	}
	if out == nil {
		return d
	}
	return out
}

func newControlFlow(sink *uop.UOp) *controlFlow {
	list := sink.Toposort()
	deps := make([]*loopDeps, highestID(list)+1) // by node ID
	nested := map[*uop.UOp]struct{}{}
	// children lists, for each END and the SINK, the ENDs directly inside it; parents keeps their order.
	children := map[*uop.UOp][]*uop.UOp{}
	var parents []*uop.UOp
	for _, u := range list {
		var d *loopDeps
		for _, s := range u.Src {
			if ds := deps[s.ID()]; ds != nil && ds != d {
				if d == nil {
					d = ds
				} else {
					d = d.with(ds.list...)
				}
			}
		}
		if d != nil && (u.Op == uop.End || u.Op == uop.Sink) {
			for _, x := range d.list {
				if _, done := nested[x]; done || x.Op != uop.End || u.Op == uop.End && !deps[x.ID()].contains(u.Src[1]) {
					continue
				}
				nested[x] = struct{}{}
				if children[u] == nil {
					parents = append(parents, u)
				}
				children[u] = append(children[u], x)
			}
		}
		if u.Op == uop.Range || u.Op == uop.End {
			d = d.with(u)
		}
		deps[u.ID()] = d
	}
	cf := &controlFlow{after: map[*uop.UOp]*uop.UOp{}}
	for _, p := range parents {
		cf.chain(p, children[p], deps)
	}
	return cf
}

// chain orders the loops inside one parent: those that need fewer of their siblings come first.
func (cf *controlFlow) chain(parent *uop.UOp, loops []*uop.UOp, deps []*loopDeps) {
	needs := map[*uop.UOp]int{}
	for _, x := range loops {
		for _, y := range loops {
			if deps[x.ID()].contains(y) {
				needs[x]++
			}
		}
	}
	order := append([]*uop.UOp(nil), loops...)
	sort.SliceStable(order, func(i, j int) bool { return needs[order[i]] < needs[order[j]] })
	if parent.Op == uop.End {
		order = append([]*uop.UOp{parent.Src[1]}, order...)
	}
	for i := 1; i < len(order); i++ {
		x, y := order[i-1], order[i]
		if x.DependsOn(y.Src[1]) {
			fail("loops depend on each other: %s needs %s to be closed first", x, y.Src[1])
		}
		cf.after[y.Src[1]] = x
	}
}

var addControlFlow = rewrite.New("add control flow", &rewrite.Rule{
	Name: "a loop opens after what comes before it", Ops: uop.Ops(uop.Range),
	Fn: func(ctx any, r *uop.UOp) *uop.UOp {
		if x := ctx.(*controlFlow).after[r]; x != nil {
			return r.With(appendTo(r.Src, x)...)
		}
		return nil
	},
})

var splitEnds = rewrite.New("split ends", &rewrite.Rule{
	Name: "close one loop at a time", Ops: uop.Ops(uop.End),
	Fn: func(_ any, e *uop.UOp) *uop.UOp {
		rngs := append([]*uop.UOp(nil), e.Graph().Sink(nil, e.Src[1:]...).Ranges()...)
		sort.SliceStable(rngs, func(i, j int) bool {
			c, _ := uop.ArgCompare(rngs[j].Arg, rngs[i].Arg)
			return c < 0
		})
		out := e.Src[0]
		for _, r := range rngs {
			out = out.EndRanges(r)
		}
		return out
	},
})
