package fuse

import (
	"fmt"
	"slices"

	"polygrad/core/schedule"
	"polygrad/core/uop"
)

// loopOrder orders the loops of a body so that reductions and stores are outside of the loops that they do not depend on. ok is false if
// there is no such order.
func loopOrder(b *body) (order []*uop.UOp, ok bool) {
	// The fewer ranges the users of a range depend on, the further out it is.
	least := map[*uop.UOp]int{}
	note := func(rs []*uop.UOp) {
		for _, r := range rs {
			if n, ok := least[r]; !ok || len(rs) < n {
				least[r] = len(rs)
			}
		}
	}
	var sets [][]*uop.UOp
	for _, s := range b.stores {
		sets = append(sets, s.loops)
	}
	for _, u := range b.values() {
		if u.Op == uop.Reduce {
			sets = append(sets, b.loopsOf(u))
		}
	}
	reduces := len(sets) > len(b.stores)
	for _, s := range sets {
		note(s)
	}
	order = slices.Clone(b.loops)
	slices.SortStableFunc(order, func(x, y *uop.UOp) int { return least[x] - least[y] })
	outside := map[*uop.UOp][]*uop.UOp{} // the outer loops of each loop
	for _, s := range b.stores {
		path := within(order, s.loops)
		for i, r := range path {
			if o, ok := outside[r]; ok && !slices.Equal(o, path[:i]) {
				return nil, false
			}
			outside[r] = path[:i]
		}
		if !reduces {
			continue
		}
		for _, u := range s.value.Toposort() {
			if u.Op != uop.Reduce {
				continue
			}
			if on := b.loopsOf(u); len(on) > len(path) || !sameSet(on, path[:len(on)]) {
				return nil, false
			}
		}
	}
	return order, true
}

// loopsOf are the loops of the body that a node depends on.
func (b *body) loopsOf(u *uop.UOp) []*uop.UOp { return within(b.loops, u.Ranges()) }

// within returns the members of a list that are in another list, too.
func within(list, others []*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, 0, len(others))
	for _, r := range list {
		if slices.Contains(others, r) {
			out = append(out, r)
		}
	}
	return out
}

func sameSet(a, b []*uop.UOp) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(r *uop.UOp) bool { return !slices.Contains(b, r) })
}

// shareReductionLoops merges the loops of reductions that depend on the same loops and not on each other. Equal reductions become one.
func (f *fuser) shareReductionLoops(b *body) *body {
	to, level := newImages(), map[*uop.UOp]int{}
	groups := map[string][]*uop.UOp{}
	out := &body{loops: b.loops, pieces: b.pieces}
	for _, u := range b.values() {
		v := rebuilt(u, to)
		n := 0
		for _, s := range v.Src {
			n = max(n, level[s])
		}
		if v.Op == uop.Reduce {
			n++
			v = f.joinReduction(v, n, groups)
		}
		to.set(u, v)
		if n > level[v] {
			level[v] = n
		}
	}
	for _, s := range b.stores {
		out.stores = append(out.stores, store{s.slot, s.at, to.get(s.value), s.loops})
	}
	to.reset()
	return out
}

// joinReduction gives a reduction the ranges of its group.
func (f *fuser) joinReduction(u *uop.UOp, level int, groups map[string][]*uop.UOp) *uop.UOp {
	rs := slices.Clone(u.Src[1:])
	slices.SortFunc(rs, byID)
	on := slices.Clone(u.Ranges())
	slices.SortFunc(on, byID)
	key := fmt.Sprint(level)
	for _, r := range on {
		key += fmt.Sprint(" ", r.RangeID().ID[0])
	}
	for _, r := range rs {
		if key += fmt.Sprint(" x", sizeOf(r)); variable(r) {
			key += r.Src[0].Render()
		}
	}
	group := groups[key]
	if group == nil {
		for _, r := range rs {
			group = append(group, f.newRange(r))
		}
		groups[key] = group
	}
	m := map[*uop.UOp]*uop.UOp{}
	for i, r := range rs {
		m[r] = group[i]
	}
	return replace(u, m)
}

func byID(a, b *uop.UOp) int { return a.RangeID().ID[0] - b.RangeID().ID[0] }

// kernelOf is the kernel of a body: the inverse of bodyOf, for several stores.
func (f *fuser) kernelOf(b *body) schedule.Kernel {
	order, ok := loopOrder(b)
	if !ok {
		panic("fuse: a body without an order of its loops")
	}
	g := b.stores[0].at.Graph()
	sink := g.Sink(uop.KernelInfo{Name: "test"}, f.block(b.stores, order, nil)...)
	m := map[*uop.UOp]*uop.UOp{}
	for i, r := range order {
		m[r] = numbered(r.With(replace(r.Src[0], m)), i)
	}
	var k schedule.Kernel
	param := func(u *uop.UOp) {
		if u.Op == uop.Param && m[u] == nil {
			m[u] = u.WithArg(uop.Num(len(k.Bufs)))
			k.Bufs = append(k.Bufs, int(u.Arg.(uop.Num)))
		}
	}
	for _, s := range b.stores {
		param(s.at.Src[0])
	}
	n := len(order)
	for _, u := range sink.Toposort() {
		param(u)
		if u.Op == uop.Reduce || u.Op == uop.Bufferize {
			rs := slices.Clone(u.Src[1:])
			slices.SortFunc(rs, byID)
			for _, r := range rs {
				if m[r] == nil {
					m[r] = numbered(r.With(replace(r.Src[0], m)), n)
					n++
				}
			}
		}
	}
	k.AST = replace(sink, m)
	for _, u := range k.AST.Toposort() {
		if u.Op == uop.DefineVar {
			k.Vars = append(k.Vars, u)
		}
	}
	schedule.SortVars(k.Vars)
	return k
}

func numbered(r *uop.UOp, n int) *uop.UOp {
	return r.WithArg(uop.RangeArg{ID: []int{n}, Type: r.RangeID().Type})
}

// block is the body of a loop: stores, and inner loops with their stores.
func (f *fuser) block(stores []store, order, around []*uop.UOp) []*uop.UOp {
	var out []*uop.UOp
	for len(stores) > 0 {
		s := stores[0]
		path := within(order, s.loops)
		if len(path) == len(around) {
			out = append(out, s.at.Store(s.value))
			stores = stores[1:]
			continue
		}
		// The loops common to all stores in the first loop.
		var in, rest []store
		common := path
		for _, o := range stores {
			if p := within(order, o.loops); len(p) > len(around) && p[len(around)] == path[len(around)] {
				in = append(in, o)
				common = common[:samePrefix(common, p)]
			} else {
				rest = append(rest, o)
			}
		}
		inner := f.block(in, order, common)
		v := inner[0]
		if len(inner) > 1 {
			v = v.Graph().Group(inner...)
		}
		out = append(out, v.EndRanges(common[len(around):]...))
		stores = rest
	}
	return out
}

func samePrefix(a, b []*uop.UOp) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
