package lower

import (
	"fmt"
	"slices"

	"polygrad/core/lower/opt"
	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// ThreadVar is the name of the variable that holds the number of a thread.
const ThreadVar = "core_id"

// addLaunch replaces parallel ranges by thread numbers or work item indices. Each thread or item runs the whole kernel with its own
// value.
var addLaunch = &rewrite.Table{Name: "launch", Rules: []*rewrite.Rule{{
	Name: "ranges that run side by side", Ops: uop.Ops(uop.Sink),
	Fn: func(ctx any, s *uop.UOp) *uop.UOp {
		if s.Arg == nil {
			return nil
		}
		var global, local []*uop.UOp
		for _, x := range s.Toposort() {
			if x.Op != uop.Range {
				continue
			}
			switch x.RangeID().Type {
			case uop.AxisGlobal, uop.AxisThread:
				global = append(global, x)
			case uop.AxisWarp, uop.AxisLocal, uop.AxisGroupReduce:
				local = append(local, x)
			}
		}
		groups := ctx.(*Target).Groups
		switch {
		case len(global)+len(local) == 0:
			return nil
		case groups != nil:
			return addWorkItems(s, global, local, groups)
		case len(local) > 0:
			fail("%s: the target has threads, but no groups of threads", local[0])
		}
		return addThreads(s, global)
	},
}}}

// addThreads replaces the range that is spread over threads by the variable core_id.
func addThreads(s *uop.UOp, threads []*uop.UOp) *uop.UOp {
	if slices.ContainsFunc(threads, func(r *uop.UOp) bool { return !slices.Equal(r.RangeID().ID, threads[0].RangeID().ID) }) {
		fail("%d ranges are to be spread over threads, expected one", len(threads))
	}
	size := symbolic.Simplify(threads[0].Src[0])
	n, ok := intConst(size)
	if !ok {
		fail("the number of threads is %s, expected a constant", size.Render())
	}
	core := s.Graph().Variable(ThreadVar, uop.Int(0), uop.Int(n-1), uop.Int32).Cast(uop.IndexT)
	subs := rewrite.Map{}
	for _, r := range threads {
		subs[r] = core
	}
	return rewrite.Substitute(s, subs)
}

// addWorkItems replaces global ranges by indices of workgroups and local ones by indices of work items. If a store
// does not depend on a range, only the first item of the range stores.
func addWorkItems(s *uop.UOp, global, local []*uop.UOp, groups *opt.Groups) *uop.UOp {
	g := s.Graph()
	subs := rewrite.Map{}
	inside := both(distribute(subs, g, "lidx", local, groups.Sizes), distribute(subs, g, "gidx", global, groups.Counts))
	gated := rewrite.Map{}
	for _, u := range s.Toposort() {
		switch {
		case u.Op == uop.Barrier:
			for _, r := range u.Ranges() {
				if !slices.Contains(global, r) && !slices.Contains(local, r) {
					fail("a barrier stands in the loop %s", r)
				}
			}
		case u.Op == uop.Store && u.Src[0].Op == uop.Index && u.Src[0].Src[0].DType.Space == uop.Global:
			idx := u.Src[0]
			gate := inside
			for _, r := range slices.Concat(global, local) {
				if !idx.InRange(r) {
					gate = both(gate, r.Eq(r.IntLike(0)))
				}
			}
			if gate != nil {
				gated[idx] = idx.With(idx.Src[0], idx.Src[1].Valid(gate.Broadcast(idx.Src[1].DType.Count)))
			}
		}
	}
	return rewrite.Substitute(rewrite.Substitute(s, gated), subs)
}

// both is the condition a and b; nil is always true.
func both(a, b *uop.UOp) *uop.UOp {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return a.And(b)
}

// distribute maps ranges to at most three launch dimensions. The first dimension gets the last range, which is contiguous in memory.
// If there are more ranges than dimensions, or a dimension is over its limit, adjacent ranges share a dimension; if that is not
// enough, the product of all ranges is split into dimensions anew. The dimensions may then hold more items than the product: the
// indices of surplus items are clamped to the last one, and the condition inside excludes them. It is nil if there are none.
func distribute(subs rewrite.Map, g *uop.Graph, prefix string, ranges []*uop.UOp, limit [3]int64) (inside *uop.UOp) {
	var sizes []uop.Sint // sizes of the axes, last first
	var axes [][]*uop.UOp
	slices.SortStableFunc(ranges, func(a, b *uop.UOp) int { return slices.Compare(b.RangeID().ID, a.RangeID().ID) })
	for _, r := range ranges {
		if n := len(axes); n > 0 && slices.Equal(axes[n-1][0].RangeID().ID, r.RangeID().ID) {
			axes[n-1] = append(axes[n-1], r)
			continue
		}
		axes = append(axes, []*uop.UOp{r})
		sizes = append(sizes, uop.S(symbolic.Simplify(r.Src[0])))
	}
	// runs are the numbers of adjacent axes that share each dimension.
	dims, runs := slices.Clone(sizes), slices.Repeat([]int{1}, len(sizes))
	fits := func() bool { return fitsIn(dims, limit) }
	for d := 0; !fits() && d < len(dims)-1; {
		if d > 2 || !atMost(dims[d], limit[d]/max(1, dims[d+1].Max())) {
			d++
			continue
		}
		dims[d], runs[d] = dims[d].Mul(dims[d+1]), runs[d]+runs[d+1]
		dims, runs = slices.Delete(dims, d+1, d+2), slices.Delete(runs, d+1, d+2)
		d = 0
	}
	special := func(dim int, size uop.Sint) *uop.UOp {
		return g.New(uop.Special, uop.IndexT, []*uop.UOp{size.UOp(g)}, uop.Str(fmt.Sprint(prefix, dim)), nil)
	}
	var flat *uop.UOp
	if !fits() {
		total := uop.N(1)
		for _, s := range sizes {
			total = total.Mul(s)
		}
		var covered uop.Sint
		if dims, covered = cut(total, limit); !fits() {
			fail("%s work items do not fit in dimensions of %v", total, limit)
		}
		stride := uop.N(1)
		flat = g.ConstInt(0)
		for d, size := range dims {
			flat = flat.Add(special(d, size).Mul(stride.UOp(g)))
			stride = stride.Mul(size)
		}
		if covered.Symbolic() || covered != total {
			inside = flat.Lt(total.UOp(g))
			flat = inside.Where(flat, total.UOp(g).AddInt(-1))
		}
		runs, dims = []int{len(axes)}, dims[:1]
	}
	axis := 0
	for d := range dims {
		index := flat
		if index == nil {
			index = special(d, dims[d])
		}
		for k := range runs[d] {
			v := index
			if k < runs[d]-1 {
				v = v.Mod(sizes[axis].UOp(g))
				index = index.Idiv(sizes[axis].UOp(g))
			}
			for _, r := range axes[axis] {
				subs[r] = symbolic.Simplify(v)
			}
			axis++
		}
	}
	return inside
}

func atMost(s uop.Sint, n int64) bool { return n > 0 && s.Max() <= n }

func fitsIn(dims []uop.Sint, limit [3]int64) bool {
	if len(dims) > len(limit) {
		return false
	}
	for d, s := range dims {
		if !atMost(s, limit[d]) {
			return false
		}
	}
	return true
}

// cut makes up to three dimensions of a number of items: exactly if its divisors allow, else with surplus.
func cut(total uop.Sint, limit [3]int64) (dims []uop.Sint, covered uop.Sint) {
	covered = uop.N(1)
	for rest, d := total, 0; d < 3 && !rest.IsNum(1); d++ {
		size := rest
		if !atMost(rest, limit[d]) && d < 2 {
			n := limit[d]
			if !rest.Symbolic() {
				n = divisor(rest.N, limit[d])
			}
			size = uop.N(n)
		}
		dims = append(dims, size)
		covered = covered.Mul(size)
		rest = rest.Add(size).Sub(uop.N(1)).Div(size)
	}
	return dims, covered
}

// divisor is the greatest divisor of n that is at most the limit; n exceeds the limit. If that divisor is less than half the limit,
// the result is the size that leaves the fewest surplus items instead.
func divisor(n, limit int64) int64 {
	for d := limit; d > max(limit/2, limit-1<<16); d-- {
		if n%d == 0 {
			return d
		}
	}
	times := (n + limit - 1) / limit
	return (n + times - 1) / times
}
