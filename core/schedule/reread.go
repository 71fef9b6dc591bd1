package schedule

import (
	"slices"

	"polygrad/core/uop"
)

// Reread describes a value without a buffer: it is computed at each read.
type Reread struct {
	Value *uop.UOp
	// Elements is the number of distinct elements of the value, Evaluations the number of evaluations of elements, over all users.
	Elements, Evaluations int64
	// Iterations is the trip count of the loops in (or before) which it is computed.
	Iterations int64
	// Row is the length of the rows that a reduction goes through, in which it is computed; 0 if there is none.
	Row int64
	// Reduced: it is computed inside the loops of a reduction. Factor: it is a factor of several terms of a sum.
	Reduced, Factor bool
	// Selects: it is a sum with at most one nonzero term. Scatters: it is a sum each of whose terms is added to one element only.
	Selects, Scatters bool
	// OneByOne: it is a term that is scattered along a row, so it is computed in scalar code. Steps: or it is a step of a running reduction
	// along a row, which are lanes of vectors.
	OneByOne, Steps bool
	// Lookups are the gathered values that an element is computed from, each loaded element by element.
	Lookups []*uop.UOp
	// Copies is an upper bound of the number of copies of the value's code in kernels.
	Copies int
	// Choices is the number of expressions in a stack, if the value is part of one of them, else 1. Evaluations assumes that each expression is
	// computed only where it is selected.
	Choices int64
	// Reduces: it is computed from the result of a reduction in the same loops.
	Reduces bool
	// Users are the nodes that use a node.
	Users func(*uop.UOp) []*uop.UOp
}

// MostChoices is the limit of expressions in a stack that fusion computes side by side.
const MostChoices = 32

// choicesAt is the number of expressions in a stack of which the sources of a node are one, 1 without a stack.
func (x *indexing) choicesAt(u *uop.UOp, n *nodeRanges) (choices int64) {
	choices = 1
	if !n.realize {
		choices = x.choicesOfUsers(n)
	}
	if u.Op == uop.Pad && !slices.ContainsFunc(x.usersOf(n), func(c *uop.UOp) bool { return c.Op != uop.Add || c.Arg != uop.Disjoint }) {
		for i, s := range u.Shape() {
			if u.Src[0].Shape()[i].IsNum(1) && s.Max() <= MostChoices {
				choices *= max(s.Max(), 1)
			}
		}
	}
	return choices
}

// choicesOfUsers is the least choices of the users of a value.
func (x *indexing) choicesOfUsers(n *nodeRanges) (least int64) {
	for _, c := range x.usersOf(n) {
		if m := x.at(c); m.known && (least == 0 || m.choices < least) {
			least = m.choices
		}
	}
	return max(least, 1)
}

// storeReread calls store for a value that would be recomputed at each read.
func (x *indexing) storeReread(u *uop.UOp, n *nodeRanges) {
	if n.realize && (alwaysContiguous.Has(u.Op) || u.Op == uop.ReduceAxis) {
		n.copies = 1
	}
	if !uop.GroupElementwise.Has(u.Op) && u.Op != uop.ReduceAxis || n.realize && alwaysContiguous.Has(u.Op) {
		return
	}
	size := u.Shape().MaxNumel() // costs are those of the upper bounds of variable lengths
	if size == 0 || !n.reads && n.copies <= MaxCopies {
		return
	}
	r := Reread{Value: u, Elements: size, Evaluations: n.evaluations, Copies: n.copies, Choices: x.choicesOfUsers(n), Reduces: n.reduces}
	r.Users = func(u *uop.UOp) []*uop.UOp { return x.usersOf(x.at(u)) }
	for i, s := range u.Shape() {
		if s := s.Max(); n.uniform.has(i) && s > 1 {
			r.Elements /= s
		}
	}
	for _, c := range x.usersOf(n) {
		loops := x.at(c).loops
		r.Iterations = max(r.Iterations, x.volume(loops))
		r.Reduced = r.Reduced || reducedOver(loops)
		r.Row = max(r.Row, x.rowOf(u, loops))
		r.Factor = r.Factor || n.factor && !n.realize && x.volume(loops) > r.Elements
	}
	r.OneByOne, r.Steps, r.Lookups = n.oneByOne, n.steps, x.lookups(u, n)
	r.Selects, r.Scatters = x.selects(u) != 0, x.scatters(u) != 0
	if x.store(r) {
		n.keep, n.copies = true, 1
		if !n.realize {
			x.realizeAll(u, n)
		}
	}
}

// rowOf is the length of a value's last axis if exactly one of several loops is that of a reduction, of this length; else 0. Several reduced
// axes may be one long row.
func (x *indexing) rowOf(u *uop.UOp, loops []*uop.UOp) int64 {
	last := lastAxis(u.Shape())
	if len(loops) < 2 || last >= len(u.Shape()) || u.Shape()[last].Symbolic() {
		return 0
	}
	n, reduced := u.Shape()[last].N, 0
	for _, r := range loops {
		if r.RangeID().Type == uop.AxisReduceT {
			if reduced++; reduced > 1 || !uop.S(r.Src[0]).IsNum(n) {
				return 0
			}
		}
	}
	return n * int64(reduced)
}

// lookups lists the values from which an element is loaded if a user gathers along its last axis.
func (x *indexing) lookups(u *uop.UOp, n *nodeRanges) []*uop.UOp {
	if len(x.selecting) == 0 {
		return nil
	}
	last := lastAxis(u.Shape())
	looked := func(in []*uop.UOp) bool {
		return last < len(in) && slices.ContainsFunc(in[last].Ranges(), func(r *uop.UOp) bool { return slices.Contains(x.selecting, r) })
	}
	if !slices.ContainsFunc(x.usersOf(n), func(c *uop.UOp) bool { return looked(x.at(c).in) }) {
		return nil
	}
	const most = 32
	var leaves []*uop.UOp
	seen := []*uop.UOp{u}
	for i := 0; i < len(seen) && i < most; i++ {
		for _, s := range seen[i].Src {
			switch m := x.at(s); {
			case !m.reads || m.uniform.has(lastAxis(s.Shape())): // no load, or one load for many elements
			case leafOf(s):
				leaves = union(leaves, []*uop.UOp{s})
			default:
				seen = union(seen, []*uop.UOp{s})
			}
		}
	}
	return leaves
}

// leafOf reports whether a value is a view of a stored value.
func leafOf(u *uop.UOp) bool {
	for uop.GroupMovement.Has(u.Op) {
		u = u.Src[0]
	}
	return !uop.GroupElementwise.Has(u.Op)
}

// lastAxis is the last axis with several elements, 0 if there is none.
func lastAxis(shape uop.Shape) int {
	last := 0
	for i, s := range shape {
		if !s.IsNum(1) {
			last = i
		}
	}
	return last
}

// countEvaluations counts the evaluations of elements, over all users. Users that iterate over the same rows can share the computation and
// count once.
func (x *indexing) countEvaluations(u *uop.UOp, n *nodeRanges) {
	var loops []*uop.UOp
	var most, kernels int64 = 0, 1
	var inLoops []usersInLoops
	for _, c := range x.usersOf(n) {
		m := x.at(c)
		if !m.known {
			continue
		}
		n.across = n.across || x.readsAcross(u, c, m)
		kernels = max(kernels, m.kernels)
		if !n.realize {
			loops = union(loops, m.loops)
			continue
		}
		// Users with different indices are in separate loops, or read several elements in the same loops.
		times := iterationsWithin(u, m.in, max(m.kernels, 1)*max(x.evaluationsAt(m.loops, varying(m.in, n.uniform))/max(m.choices, 1), 1))
		n.evaluations += times
		root := m.root
		if m.realize {
			root = c
		}
		inLoops = addUser(inLoops, m, usersInLoops{m.loops, nil, times, root, x.readsInOrder(c, m)})
	}
	alone, longest := int64(0), usersInLoops{}
	for _, l := range inLoops {
		if l.inOrder {
			alone += l.times
		} else if l.times > most {
			most, longest = l.times, l
		}
	}
	for _, l := range inLoops {
		if !l.inOrder && (x.readsShifted(l.root, longest.root) || x.readsShifted(longest.root, l.root)) {
			alone += l.times
		}
	}
	switch {
	case !n.realize:
		n.evaluations = iterationsWithin(u, n.out, kernels*max(x.evaluationsAt(loops, varying(n.out, n.uniform))/x.choicesOfUsers(n), 1))
	case !n.across && !transposed(u):
		n.evaluations = most + alone
	}
	n.kernels = kernels
}

// MaxCopies limits the duplication of the code of a value: chains of concatenations would double it with each, although each element is
// computed once. Counting saturates at maxCountedCopies.
const MaxCopies, maxCountedCopies = 32, 1 << 10

// countCopies is the number of copies of a value's code if it is not stored: one for each distinct list of indices at which it is read, in
// each copy of its users.
func (x *indexing) countCopies(n *nodeRanges) int {
	var read [][]*uop.UOp
	var copies []int
	total := 0
	for _, c := range x.usersOf(n) {
		m := x.at(c)
		if !m.known || total > maxCountedCopies {
			continue
		}
		i := slices.IndexFunc(read, func(in []*uop.UOp) bool { return sameIndices([][]*uop.UOp{in, m.in}) })
		if i < 0 {
			i = len(read)
			read, copies = append(read, m.in), append(copies, 0)
		}
		if more := max(m.copies, 1) - copies[i]; more > 0 {
			copies[i], total = copies[i]+more, total+more
		}
	}
	return max(total, 1)
}

// usersInLoops are users of a value in the same loops, and the number of its evaluations there.
type usersInLoops struct {
	loops []*uop.UOp
	in    [][]*uop.UOp // the distinct lists of indices
	times int64
	root  *uop.UOp // the result of the kernel
	// inOrder: the loops are sequential, so that no other kernel is fused with them.
	inOrder bool
}

// addUser adds a user to those in the same loops; users that read the same elements count once.
func addUser(all []usersInLoops, m *nodeRanges, user usersInLoops) []usersInLoops {
	for i := range all {
		l := &all[i]
		if len(m.loops) != len(l.loops) || !slices.Equal(m.loops, l.loops) {
			continue
		}
		if slices.ContainsFunc(l.in, func(in []*uop.UOp) bool { return sameIndices([][]*uop.UOp{in, m.in}) }) {
			l.times = max(l.times, user.times)
		} else {
			l.in, l.times = append(l.in, m.in), l.times+user.times
		}
		return all
	}
	user.in = [][]*uop.UOp{m.in}
	return append(all, user)
}
