package schedule

import (
	"math"
	"slices"

	"polygrad/core/ranges"
	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// indexing holds the ranges of each node.
type indexing struct {
	g     *uop.Graph
	list  []*uop.UOp // the graph, sources first
	place []int32    // by number of the node: 1 + its index in nodes
	nodes []nodeRanges
	users []*uop.UOp // of all nodes, concatenated
	next  int        // number of the next range
	// selecting are the ranges of sums with at most one nonzero term. Such a sum becomes a load, so these ranges are not loops.
	selecting []*uop.UOp
	// store decides which values get a buffer that tinygrad would recompute at each read; nil stores none of them.
	store func(Reread) bool
}

// nodeRanges are the ranges of one node.
type nodeRanges struct {
	// realize: the node gets a buffer. keep: that buffer must not be removed.
	realize, keep bool
	// ended: a range ends at an EXPAND between the node and the next buffer.
	ended bool
	// known: the node has ranges. in are the indices at which it reads its sources, out the indices at which its users read it.
	known   bool
	in, out []*uop.UOp
	// choices is the number of expressions in a stack of which the sources are one: fusion computes all in one iteration. Set only for store.
	choices int64
	// loops are the ranges of the kernel that reads the sources; set only for the callback store.
	loops []*uop.UOp
	// root is the node computed by the kernel (or one of the kernels) that reads the sources; set only for store.
	root *uop.UOp
	// rows are the ranges of rows to which terms are scattered; the sources are not computed in loops over them.
	rows []*uop.UOp
	// reads: computing the node loads from memory.
	reads bool
	// reduces: the node is a reduction, or computed from one by functions and movement operations; set only for store.
	reduces bool
	// uniform are the axes along which the value is constant, picked the axes along which at most one element is nonzero.
	uniform, oneHot axisSet
	// evaluations is the number of evaluations of elements, over all users.
	evaluations int64
	// kernels is the number of loop nests that compute the value; users that share loops count once.
	kernels int64
	// copies is an upper bound of the number of copies of the value's code in kernels, saturating.
	copies int
	// across: a user reads it in another order than row-major.
	across bool
	// term: the node is a term of a sum. factor: it is a factor of a term.
	term, factor bool
	// oneByOne: the node is a term that is scattered along a row. steps: it is a step of a running reduction that has vectors.
	// inOrder: it is computed in sequential loops.
	oneByOne, steps, inOrder bool
	// users[lastUser-nUsers:lastUser] use the node, in the order of the graph.
	nUsers, lastUser int32
}

func newIndexing(g *uop.Graph, list []*uop.UOp, store func(Reread) bool) *indexing {
	x := &indexing{g: g, list: list, store: store, nodes: make([]nodeRanges, len(list), len(list)+len(list)/4)}
	most := 0
	for _, u := range list {
		most = max(most, u.ID())
	}
	x.place = make([]int32, most+1)
	n := int32(0)
	for i, u := range list {
		x.place[u.ID()] = int32(i + 1)
		n += int32(len(u.Src))
	}
	for _, u := range list {
		n := x.at(u)
		n.reads = u.Op == uop.Param || u.Op == uop.Buffer
		for _, s := range u.Src {
			m := x.at(s)
			m.nUsers++
			n.reads = n.reads || m.reads
		}
		if store != nil {
			n.uniform = uniformAxes(u, func(s *uop.UOp) axisSet { return x.at(s).uniform })
			n.oneHot = oneHotAxes(u, x.at)
			n.reduces = u.Op == uop.ReduceAxis || (uop.GroupElementwise.Has(u.Op) || uop.GroupMovement.Has(u.Op)) &&
				slices.ContainsFunc(u.Src, func(s *uop.UOp) bool { return x.at(s).reduces })
		}
	}
	// At most one user for each source.
	x.users = make([]*uop.UOp, n)
	n = 0
	for i := range x.nodes {
		m := &x.nodes[i]
		m.lastUser = n
		n += m.nUsers
		m.nUsers = 0
	}
	for _, u := range list {
		for _, s := range u.Src {
			if m := x.at(s); m.nUsers == 0 || x.users[m.lastUser-1] != u {
				x.users[m.lastUser] = u
				m.nUsers++
				m.lastUser++
			}
		}
	}
	return x
}

// noRanges is the shared entry of nodes without ranges. It is never written.
var noRanges nodeRanges

// at is the entry of a node. It is valid until the next replaceBy.
func (x *indexing) at(u *uop.UOp) *nodeRanges {
	if id := u.ID(); id < len(x.place) && x.place[id] != 0 {
		return &x.nodes[x.place[id]-1]
	}
	return &noRanges
}

// replaceBy gives v the ranges that u has.
func (x *indexing) replaceBy(u, v *uop.UOp) *uop.UOp {
	if v == u {
		return v
	}
	n := *x.at(u)
	if x.at(v) == &noRanges {
		if more := v.ID() + 1 - len(x.place); more > 0 {
			x.place = append(x.place, make([]int32, more)...)
		}
		x.nodes = append(x.nodes, nodeRanges{})
		x.place[v.ID()] = int32(len(x.nodes))
	}
	m := x.at(v)
	m.known, m.in, m.out = true, n.in, n.out
	return v
}

// usersOf are the nodes that use a node.
func (x *indexing) usersOf(n *nodeRanges) []*uop.UOp {
	return x.users[n.lastUser-n.nUsers : n.lastUser]
}

// newRange makes a range over an axis; an axis of size 1 has only the index 0.
func (x *indexing) newRange(s uop.Sint, t uop.AxisType) *uop.UOp {
	if s.IsNum(1) || s.Symbolic() && isCertainlyOne(s.U) {
		return x.g.ConstInt(0)
	}
	x.next++
	return x.g.Range(s, t, x.next-1)
}

func isCertainlyOne(u *uop.UOp) bool {
	lo, hi := symbolic.Simplify(u.Ne(u.IntLike(1))).Bounds()
	return lo.Eq(hi) && !lo.Truth()
}

// assignRanges walks the graph from the outputs to the inputs and gives each node the indices at which it is computed.
func (x *indexing) assignRanges() {
	for i := len(x.list) - 1; i >= 0; i-- {
		u := x.list[i]
		if u.Op != uop.Device && !u.DType.IsIndex() {
			x.assign(u)
		}
	}
}

func (x *indexing) assign(u *uop.UOp) {
	n := x.at(u)
	if u.Op == uop.Loops {
		x.realizeAll(u, n)
		n.realize, n.known, n.in, n.kernels = false, true, n.out, 1
		for _, r := range n.out {
			n.loops = union(n.loops, r.Ranges())
		}
		return
	}
	for _, c := range x.usersOf(n) {
		n.ended = n.ended || x.at(c).ended
	}
	if !x.outputRanges(u, n) {
		return
	}
	if x.store != nil {
		x.countEvaluations(u, n)
		n.copies = x.countCopies(n)
		x.findFactors(n)
		x.storeReread(u, n)
	}
	// A value that is used past an EXPAND would be recomputed for each repetition; it gets a buffer instead.
	if n.ended && (uop.GroupElementwise.Has(u.Op) || u.Op == uop.ReduceAxis) {
		n.ended = false
		if len(n.out) > 0 {
			x.realizeAll(u, n)
		}
	}
	n.in = n.out
	switch {
	case uop.GroupMovement.Has(u.Op):
		n.in = ranges.ApplyMovement(u, n.out)
		if u.Op == uop.Expand && !n.ended {
			n.ended = endsRange(n.in, n.out)
		}
	case u.Op == uop.ReduceAxis:
		n.in = append([]*uop.UOp(nil), n.out...)
		shape := u.Src[0].Shape()
		for _, a := range u.Arg.(uop.AxisReduce).Axes {
			n.in[a] = x.newRange(shape[a], uop.AxisReduceT)
			if x.store != nil && x.selects(u).has(a) {
				x.selecting = append(x.selecting, n.in[a])
			}
		}
	}
	n.known = true
	if x.store != nil {
		n.choices = x.choicesAt(u, n)
		x.setLoops(u, n)
	}
}

// readsShifted reports whether the kernel of a node reads elements of another kernel at other indices than its own, so that they cannot be
// merged.
func (x *indexing) readsShifted(by, root *uop.UOp) bool {
	if by == nil || root == nil || by == root {
		return false
	}
	shifts := func(u *uop.UOp) bool {
		return u.Op == uop.Add && (len(u.Src[0].Ranges()) == 0 || len(u.Src[1].Ranges()) == 0)
	}
	for _, c := range x.usersOf(x.at(root)) {
		m := x.at(c)
		if m.known && !m.realize && m.root == by && slices.ContainsFunc(m.in, func(i *uop.UOp) bool { return i.GetIdx().Find(shifts) != nil }) {
			return true
		}
	}
	return false
}

// readsInOrder reports whether a user, or transitively its user, computes its operands in sequential loops.
func (x *indexing) readsInOrder(c *uop.UOp, m *nodeRanges) bool {
	return axisInOrder(c) >= 0 || x.scatters(c) != 0 || m.inOrder && !m.realize
}

// readsAcross reports whether a user reads a value in another order than row-major.
func (x *indexing) readsAcross(u, c *uop.UOp, m *nodeRanges) bool {
	if movesLastAxis(c) {
		return true
	}
	if c.Op != uop.ReduceAxis {
		return !m.realize && m.across && (uop.GroupElementwise.Has(c.Op) || uop.GroupMovement.Has(c.Op))
	}
	last, all := lastAxis(u.Shape()), true
	for i, s := range u.Shape() {
		if !s.IsNum(1) {
			all = all && slices.Contains(c.Arg.(uop.AxisReduce).Axes, i)
		}
	}
	return all || !slices.Contains(c.Arg.(uop.AxisReduce).Axes, last)
}

// transposed reports whether adjacent elements of a row of a value are not adjacent in memory.
func transposed(u *uop.UOp) bool {
	const most = 32
	seen := []*uop.UOp{u}
	for i := 0; i < len(seen) && i < most; i++ {
		v := seen[i]
		if movesLastAxis(v) {
			return true
		}
		for _, s := range v.Src {
			if (uop.GroupElementwise.Has(s.Op) || uop.GroupMovement.Has(s.Op)) && !slices.Contains(seen, s) {
				seen = append(seen, s)
			}
		}
	}
	return false
}

// selects returns the axes along which a sum has at most one nonzero term.
func (x *indexing) selects(u *uop.UOp) axisSet {
	if summed := summedAxes(u); summed != 0 {
		return summed & x.at(u.Src[0]).oneHot
	}
	return 0
}

// MinScatterRows is the least number of rows for which a sum is computed by scattering its terms.
const MinScatterRows = 64

// scatters returns the axes of a sum along which each term contributes to at most one element of the result.
func (x *indexing) scatters(u *uop.UOp) axisSet {
	out := axisSet(0)
	if summedAxes(u) == 0 || x.selects(u) != 0 {
		return out
	}
	for i, s := range u.Shape() {
		if x.at(u.Src[0]).oneHot.has(i) && !s.Symbolic() && s.N >= MinScatterRows {
			out |= 1 << i
		}
	}
	return out
}

// scattersAlong reports whether the terms of a sum are scattered along its last axis.
func (x *indexing) scattersAlong(u *uop.UOp) bool {
	if u.Op != uop.ReduceAxis {
		return false
	}
	return x.scatters(u).has(lastAxis(u.Shape()))
}

// runsAlong reports whether the loops run sequentially along the last axis, so that their operands are computed in scalar code.
func runsAlong(u *uop.UOp) bool {
	axis := axisInOrder(u)
	if axis < 0 {
		return false
	}
	return axis == lastAxis(u.Src[0].Shape())
}

// stepsAreLanes reports whether several steps of sequential loops along the last axis are combined in a vector: running reductions, but for
// linear recurrences.
func stepsAreLanes(u *uop.UOp) bool {
	p, ok := u.Arg.(uop.PrefixArg)
	return ok && p.Op != uop.MulAcc && !u.DType.IsBool()
}

// summedAxes are the axes of a sum that are reduced.
func summedAxes(u *uop.UOp) axisSet {
	out := axisSet(0)
	if a, ok := u.Arg.(uop.AxisReduce); ok && a.Op == uop.Add {
		for _, i := range a.Axes {
			out |= 1 << i
		}
	}
	return out
}

// movesLastAxis reports whether a value is a permuted view whose last axis is not the last axis of its base.
func movesLastAxis(u *uop.UOp) bool {
	order, ok := u.Arg.(uop.Nums)
	return ok && u.Op == uop.Permute && len(order) > 0 && order[len(order)-1] != len(order)-1
}

// findFactors determines whether a node is a term of a sum or a factor of a term, perhaps through views and casts.
func (x *indexing) findFactors(n *nodeRanges) {
	for _, c := range x.usersOf(n) {
		m := x.at(c)
		same := c.Op == uop.Cast || uop.GroupMovement.Has(c.Op)
		n.term = n.term || same && m.term || c.Op == uop.ReduceAxis && c.Arg.(uop.AxisReduce).Op == uop.Add
		n.inOrder = n.inOrder || x.readsInOrder(c, m)
		inside := !m.realize && (same || c.Op == uop.Where)
		n.oneByOne = n.oneByOne || m.oneByOne && inside || x.scattersAlong(c) || runsAlong(c)
		n.steps = n.steps || m.steps && inside || runsAlong(c) && stepsAreLanes(c)
		n.factor = n.factor || m.factor && !m.realize && (same || uop.GroupElementwise.Has(c.Op)) || c.Op == uop.Mul && m.term
	}
}

// evaluationsAt returns the number of iterations that compute a value at some indices: the product of the trip counts down to the
// innermost loop that the indices depend on. If the indices depend only on a quotient of a loop, only that part of its trip count is used.
func (x *indexing) evaluationsAt(loops, indices []*uop.UOp) int64 {
	innermost, part := -1, int64(1)
	for _, i := range indices {
		for _, r := range i.Ranges() {
			switch n := r.RangeID().ID[0]; {
			case n > innermost:
				innermost, part = n, divisor(i, r)
			case n == innermost:
				part = min(part, divisor(i, r))
			}
		}
	}
	around := slices.DeleteFunc(slices.Clone(loops), func(r *uop.UOp) bool { return r.RangeID().ID[0] > innermost })
	return max(x.volume(around)/part, 1)
}

// iterationsWithin returns the number of iterations in which a padded value is inside its bounds; loops are split at the bounds if that pays.
func iterationsWithin(u *uop.UOp, indices []*uop.UOp, times int64) int64 {
	for i, s := range u.Shape() {
		if i >= len(indices) || s.Symbolic() || plain(indices[i]) {
			continue
		}
		padded := indices[i].Find(func(v *uop.UOp) bool { return v.Op == uop.Where && v.Src[2].IsInvalid() })
		if padded == nil {
			continue
		}
		if inside, all := insideBounds(padded.Src[0]); inside < all {
			times = times/all*inside + times%all*inside/all // without overflow
		}
	}
	return max(times, 1)
}

// insideBounds is the fraction of positions that satisfy a condition made of bounds; 1 of 1 for other conditions.
func insideBounds(valid *uop.UOp) (inside, all int64) {
	var at *uop.UOp
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	for _, c := range valid.SplitUOp(uop.And) {
		below := c.Op != uop.CmpNe || !c.Src[1].IsConst(uop.BoolConst(true))
		if !below {
			c = c.Src[0]
		}
		if c.Op != uop.CmpLt || c.Src[1].Op != uop.ConstOp || at != nil && at != c.Src[0] {
			return 1, 1
		}
		at = c.Src[0]
		if bound := c.Src[1].ConstVal().I(); below {
			high = min(high, bound)
		} else {
			low = max(low, bound)
		}
	}
	if len(at.Ranges()) != 1 {
		return 1, 1 // loops cannot be split at these bounds
	}
	first, last := at.Bounds()
	from, ok := first.Int64()
	to, known := last.Int64()
	if !ok || !known || to-from >= math.MaxInt32 {
		return 1, 1
	}
	return max(min(high, to+1)-max(low, from), 0), to - from + 1
}

// minLoop is the least trip count of a piece of a split loop.
const minLoop = 8

// divisor is the constant by which an index divides a range.
func divisor(index, r *uop.UOp) int64 {
	for index.Op == uop.Mod && index.Src[1].Op == uop.ConstOp {
		index = index.Src[0]
	}
	if index.Op == uop.Idiv && index.Src[0] == r && index.Src[1].Op == uop.ConstOp && index.Src[1].ConstVal().I() >= minLoop {
		return index.Src[1].ConstVal().I()
	}
	return 1
}

// varying are the indices of axes along which a value varies.
func varying(indices []*uop.UOp, uniform axisSet) []*uop.UOp {
	if uniform == 0 {
		return indices
	}
	var out []*uop.UOp
	for i, u := range indices {
		if !uniform.has(i) {
			out = append(out, u)
		}
	}
	return out
}

// setLoops records the ranges of the kernel that reads the sources of a node, and the number of kernels it is computed in.
func (x *indexing) setLoops(u *uop.UOp, n *nodeRanges) {
	if n.realize {
		n.kernels, n.root = 1, u
	} else if users := x.usersOf(n); len(users) > 0 {
		n.root = x.at(users[0]).root
	}
	if n.realize && !n.keep && u.Op != uop.ReduceAxis && !alwaysContiguous.Has(u.Op) { // it may be inlined
		var own []*uop.UOp
		for _, i := range varying(n.out, n.uniform) {
			own = union(own, i.Ranges())
		}
		n.kernels = max(1, n.evaluations/x.volume(own))
	}
	if users := x.usersOf(n); !n.realize && len(users) > 0 {
		n.rows = slices.Clone(x.at(users[0]).rows)
		for _, c := range users {
			n.loops = union(n.loops, x.at(c).loops)
			n.rows = slices.DeleteFunc(n.rows, func(r *uop.UOp) bool { return !slices.Contains(x.at(c).rows, r) })
		}
	}
	for i, index := range n.in {
		// Uniform axes are not stored.
		if !n.realize || !n.uniform.has(i) || i >= len(n.out) || index != n.out[i] {
			n.loops = union(n.loops, index.Ranges())
		}
	}
	if rows := x.scatters(u); rows != 0 {
		for i, index := range n.out {
			if rows.has(i) {
				n.rows = union(n.rows, index.Ranges())
			}
		}
	}
	if len(n.rows) > 0 {
		n.loops = slices.DeleteFunc(slices.Clone(n.loops), func(r *uop.UOp) bool { return slices.Contains(n.rows, r) })
	}
}

// union are the nodes of two lists, which may share the memory of the result.
func union(list, more []*uop.UOp) []*uop.UOp {
	if len(list) == 0 {
		return slices.Clip(more)
	}
	list = slices.Clip(list)
	for _, u := range more {
		if !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	return list
}

// volume is the product of the trip counts of loops that are not selecting, limited to 2^40.
func (x *indexing) volume(loops []*uop.UOp) int64 {
	n := int64(1)
	for _, r := range loops {
		if !slices.Contains(x.selecting, r) {
			n = min(n*max(uop.S(r.Src[0]).Max(), 1), 1<<40)
		}
	}
	return n
}

// outputRanges sets the ranges at which u is read: new ones if it has a buffer or its users differ, else theirs. It reports whether u has
// ranges at all.
func (x *indexing) outputRanges(u *uop.UOp, n *nodeRanges) bool {
	var few [4][]*uop.UOp
	users := few[:0]
	for _, c := range x.usersOf(n) {
		if m := x.at(c); m.known {
			users = append(users, m.in)
		}
	}
	switch {
	case n.realize:
		n.ended = false
		x.realizeAll(u, n)
	case len(users) == 0:
		return false
	case len(users) == 1:
		n.out = users[0]
	case sameIndices(users):
		n.out = mergeValids(x.g, users)
	default:
		x.realizeAll(u, n)
	}
	return true
}

// realizeAll gives u a buffer and new ranges.
func (x *indexing) realizeAll(u *uop.UOp, n *nodeRanges) {
	shape := u.Shape()
	if u.Op == uop.Loops {
		shape = u.Src[0].Shape()
	}
	n.realize = true
	n.out = make([]*uop.UOp, len(shape))
	along := axisInOrder(u)
	n.keep = n.keep || inOrder.Has(u.Op)
	for i, s := range shape {
		if i != along {
			n.out[i] = x.newRange(s, uop.AxisLoop)
			continue
		}
		r := x.newRange(s, uop.AxisPrefix)
		if n.out[i] = r; reversed(u) {
			n.out[i] = s.Sub(uop.N(1)).Sub(uop.S(r)).UOp(x.g)
		}
	}
}

// inOrder are the operations with sequential loops; they always have a buffer.
var inOrder = ops(uop.PrefixAxis, uop.Scatter, uop.Fetch)

// axisInOrder is the axis of the sequential loop of an operation, -1 for none.
func axisInOrder(u *uop.UOp) int {
	switch a := u.Arg.(type) {
	case uop.PrefixArg:
		return a.Axis
	case uop.ScatterArg:
		if u.Op == uop.Fetch {
			return a.Axis
		}
	case uop.Num:
		if u.Op == uop.Loops {
			return int(a)
		}
	}
	return -1
}

func reversed(u *uop.UOp) bool {
	a, ok := u.Arg.(uop.PrefixArg)
	return ok && a.Reverse
}

// sameIndices reports whether all users read at the same indices, whatever the conditions.
func sameIndices(users [][]*uop.UOp) bool {
	for i, r := range users[0] {
		r = r.GetIdx()
		for _, o := range users[1:] {
			if i < len(o) && o[i].GetIdx() != r {
				return false
			}
		}
	}
	return true
}

// mergeValids joins the conditions under which the users read: the value is needed where any of them does.
func mergeValids(g *uop.Graph, users [][]*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(users[0]))
	for i, r := range users[0] {
		if plain(r) && allSame(users, i) {
			out[i] = r
			continue
		}
		valid := g.ConstBool(false)
		for _, o := range users {
			valid = valid.Or(o[i].GetValid())
		}
		out[i] = rewrite.Graph(valid.Where(r.GetIdx(), g.InvalidIndex(1)), symbolic.Symbolic, nil)
	}
	return out
}

// plain reports whether an index needs no simplification; it may miss some.
func plain(r *uop.UOp) bool {
	return r.Op == uop.Range && r.Src[0].Op == uop.ConstOp || r.Op == uop.ConstOp && !r.IsInvalid()
}

func allSame(users [][]*uop.UOp, i int) bool {
	for _, o := range users[1:] {
		if o[i] != users[0][i] {
			return false
		}
	}
	return true
}

// reducedOver reports whether loops are those of a reduction, or of a running one.
func reducedOver(loops []*uop.UOp) bool {
	return slices.ContainsFunc(loops, func(r *uop.UOp) bool {
		return r.RangeID().Type == uop.AxisReduceT || r.RangeID().Type == uop.AxisPrefix
	})
}

// endsRange reports whether an index that an EXPAND does not pass on depends on a range.
func endsRange(in, out []*uop.UOp) bool {
	for i, r := range out {
		if i < len(in) && in[i] != r && len(r.Ranges()) > 0 {
			return true
		}
	}
	return false
}
