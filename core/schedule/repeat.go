package schedule

import (
	"fmt"
	"slices"

	"polygrad/core/rewrite"
	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// Loop repeats the kernels from First to Last-1, with the variable from 0 to Count-1.
type Loop struct {
	First, Last int
	Variable    uop.VarArg
	Count       int64
	// While is the slot of a bool that must be true before each iteration, -1 for none.
	While int
}

// Repeated schedules a normalised request that may contain REPEATs. It is split at REPEATs: their operands are materialised, the statements
// of their bodies are scheduled once, each as a request of its own, and their states are buffers. cut schedules a request without
// REPEATs. With merge, loops over few elements become kernels of one work item.
func Repeated(root *uop.UOp, cut func(root *uop.UOp) (*Schedule, error), merge bool) (*Schedule, error) {
	if !root.HasOp(ops(uop.Repeat)) {
		return cut(root)
	}
	r := &repeatScheduler{s: &Schedule{}, cut: cut, merge: merge, slots: map[int]int{}}
	for _, u := range outerNodes(root) {
		if u.Op == uop.Param {
			r.next = max(r.next, int(u.Arg.(uop.Num))+1)
		}
	}
	r.inputs = r.next
	if err := r.request(root); err != nil {
		return nil, err
	}
	for i, o := range r.s.Outputs {
		if s := &r.s.Slots[o.Slot]; s.Input < 0 && s.Output < 0 {
			s.Output = i
		}
	}
	r.s.PlanMemory()
	return r.s, nil
}

// repeatScheduler is a schedule in the making.
type repeatScheduler struct {
	s   *Schedule
	cut func(root *uop.UOp) (*Schedule, error)
	// merge: a loop over few elements becomes one kernel with a sequential loop.
	merge bool
	// PARAMs below inputs are inputs of the request, those from inputs to next-1 buffers of REPEATs.
	inputs, next int
	slots        map[int]int // of PARAMs
	depth        int         // nesting depth of REPEATs
}

// outerNodes lists the nodes of a graph outside of the bodies of REPEATs, sources first.
func outerNodes(root *uop.UOp) []*uop.UOp {
	var list []*uop.UOp
	seen := map[*uop.UOp]bool{}
	var visit func(u *uop.UOp)
	visit = func(u *uop.UOp) {
		if seen[u] {
			return
		}
		seen[u] = true
		src := u.Src
		if u.Op == uop.Repeat {
			src = src[1:]
		}
		for _, s := range src {
			visit(s)
		}
		list = append(list, u)
	}
	visit(root)
	return list
}

// rebuilt rewrites the nodes outside of REPEATs, sources first; f returns the replacement of a node, given the node with rewritten sources.
func rebuilt(root *uop.UOp, f func(u, with *uop.UOp) *uop.UOp) *uop.UOp {
	made := map[*uop.UOp]*uop.UOp{}
	for _, u := range outerNodes(root) {
		src, same := slices.Clone(u.Src), true
		for i, s := range u.Src {
			if u.Op == uop.Repeat && i == 0 {
				continue
			}
			src[i] = made[s]
			same = same && src[i] == s
		}
		with := u
		if !same {
			with = u.With(src...)
		}
		made[u] = f(u, with)
	}
	return made[root]
}

// replaced replaces nodes outside of REPEATs; replacements are not rewritten.
func replaced(root *uop.UOp, m map[*uop.UOp]*uop.UOp) *uop.UOp {
	if len(m) == 0 {
		return root
	}
	return rebuilt(root, func(u, with *uop.UOp) *uop.UOp {
		if v, ok := m[u]; ok {
			return v
		}
		return with
	})
}

// heavy are the operations whose values are stored if they are used both before and after a REPEAT.
var heavy = inOrder.Union(ops(uop.ReduceAxis, uop.Contiguous))

// request appends a request to the schedule.
func (r *repeatScheduler) request(root *uop.UOp) error {
	root = withoutDead(forwardParts(root))
	for {
		loops := firstRepeats(root)
		if len(loops) == 0 {
			return r.plainRequest(root)
		}
		g := root.Graph()
		before := map[*uop.UOp]bool{}
		for _, u := range loops {
			for _, s := range u.Src[1:] {
				for _, v := range outerNodes(s) {
					before[v] = true
				}
			}
		}
		results, read := map[*uop.UOp]*uop.UOp{}, map[*uop.UOp]bool{}
		states := make([][]*uop.UOp, len(loops))
		for i, u := range loops {
			for _, s := range u.Src[1 : 1+u.Arg.(uop.RepeatArg).States] {
				states[i] = append(states[i], r.buffer(s))
			}
		}
		for _, u := range outerNodes(root) {
			if u.Op == uop.Result {
				if i := slices.Index(loops, u.Src[0]); i >= 0 {
					state := states[i][int(u.Arg.(uop.Num))]
					results[u], read[state] = state.Reshape(u.Shape()), true
				}
			}
		}
		rest := replaced(root, results)
		// Values that are used both before and after a REPEAT are stored.
		var stores []*uop.UOp
		stored := map[*uop.UOp]*uop.UOp{}
		store := func(v *uop.UOp) *uop.UOp {
			b := stored[v]
			if b == nil {
				b = r.buffer(v)
				stored[v] = b.Reshape(v.Shape())
				stores = append(stores, b.Store(v))
			}
			return b
		}
		seen := map[*uop.UOp]bool{}
		var visit func(u *uop.UOp)
		visit = func(u *uop.UOp) {
			if seen[u] {
				return
			}
			seen[u] = true
			src := u.Src
			switch {
			case u.Op == uop.Repeat:
				src = src[1:]
			case before[u] && heavy.Has(u.Op):
				store(u)
				return
			}
			for _, s := range src {
				visit(s)
			}
		}
		visit(rest)
		bodies := make([][]*uop.UOp, len(loops))
		for i, u := range loops {
			n, touched := len(states[i]), paramsOf(u.Src[0])
			for k, s := range u.Src[1 : 1+n] {
				if !isOverwritten(u, k) && (read[states[i][k]] || touched[k] || u.Arg.(uop.RepeatArg).While == k+1) {
					stores = append(stores, states[i][k].Store(s))
				}
			}
			bodies[i] = slices.Clone(states[i])
			for k, s := range u.Src[1+n:] {
				for s.Op == uop.Detach || s.Op == uop.Reshape {
					s = s.Src[0]
				}
				if s.Op == uop.Param {
					bodies[i] = append(bodies[i], s)
				} else if !touched[n+k] {
					bodies[i] = append(bodies[i], r.buffer(s))
				} else if v := stored[s]; v != nil {
					bodies[i] = append(bodies[i], unshaped(v))
				} else if isCount(s) && takesElements(u, n+k) {
					bodies[i] = append(bodies[i], s)
				} else {
					bodies[i] = append(bodies[i], unshaped(store(s)))
				}
			}
		}
		if err := r.plainRequest(g.Sink(nil, stores...)); err != nil {
			return err
		}
		for i, u := range loops {
			if err := r.loop(u, bodies[i]); err != nil {
				return err
			}
		}
		root = replaced(rest, stored)
	}
}

// isCount reports whether a sequence is a function of the positions of its elements, such as arange (if it is long, of their rows and
// columns), so that an iteration computes its own element.
func isCount(sequence *uop.UOp) bool {
	sums := 0
	for _, u := range outerNodes(sequence) {
		switch u.Op {
		case uop.ReduceAxis:
			if sums++; sums > 2 || u.Src[0].Base().Op != uop.ConstOp {
				return false
			}
		case uop.ConstOp, uop.VConstOp, uop.Vectorize, uop.Device, uop.LUnique, uop.Unique, uop.Add, uop.Mul, uop.Cast:
		default:
			if !uop.GroupMovement.Has(u.Op) {
				return false
			}
		}
	}
	return sums > 0 && len(sequence.Shape()) == 1
}

// takesElements reports whether each iteration of a loop reads only one element of a source.
func takesElements(loop *uop.UOp, source int) bool {
	for _, u := range outerNodes(loop.Src[0]) {
		for _, s := range u.Src {
			if s.Op == uop.Param && s.Arg == uop.Num(source) && !isElement(u, loop.Arg.(uop.RepeatArg)) {
				return false
			}
		}
	}
	return true
}

// forwardParts replaces a slice of a concatenation by a slice of its operand. The derivatives of a loop take its results as one vector (with a
// batch: along the last axis), and unused parts need not be computed.
func forwardParts(root *uop.UOp) *uop.UOp {
	return rebuilt(root, func(_, with *uop.UOp) *uop.UOp {
		if with.Op == uop.Shrink {
			return partOf(with)
		}
		return with
	})
}

// partOf is a slice along the last axis of the concatenation WHERE(PAD(true), PAD(x), y), as a slice of x or of y if it lies in one of them.
func partOf(part *uop.UOp) *uop.UOp {
	from, to, ok := lastAxisShrink(part)
	for u := part.Src[0]; ok; {
		switch {
		case u.Op == uop.Where:
			here, is := lastAxisMask(u.Src[0])
			if !is {
				return part
			}
			a, b, fixed := lastAxisShrink(here)
			switch {
			case fixed && a <= from && to <= b:
				u = u.Src[1]
			case fixed && (to <= a || b <= from):
				u = u.Src[2]
			default:
				return part
			}
		case u.Op == uop.Pad:
			a, b, fixed := lastAxisShrink(u)
			if !fixed || from < a || to > b {
				return part
			}
			pairs := part.MovementPairs()
			pairs[len(pairs)-1] = uop.Pair{Lo: uop.N(from - a), Hi: uop.N(to - a)}
			return u.Src[0].Shrink(pairs)
		default:
			return part
		}
	}
	return part
}

// lastAxisShrink is the interval of a SHRINK in its source, or of the source in a PAD, if only the last axis changes.
func lastAxisShrink(u *uop.UOp) (from, to int64, ok bool) {
	pairs := u.MovementPairs()
	last := len(pairs) - 1
	for i, p := range pairs {
		whole := p.Lo.IsNum(0) && p.Hi.IsNum(0)
		if u.Op == uop.Shrink {
			whole = p.Lo.IsNum(0) && p.Hi == u.Src[0].Shape()[i]
		}
		if p.Lo.U != nil || p.Hi.U != nil || i < last && !whole {
			return 0, 0, false
		}
	}
	if last < 0 || u.Shape()[last].U != nil {
		return 0, 0, false
	}
	p := pairs[last]
	if u.Op == uop.Shrink {
		return p.Lo.N, p.Hi.N, true
	}
	return p.Lo.N, u.Shape()[last].N - p.Hi.N, true
}

// lastAxisMask is the PAD of a vector of trues that a condition broadcasts over a batch.
func lastAxisMask(condition *uop.UOp) (pad *uop.UOp, ok bool) {
	last := func(u *uop.UOp) uop.Sint { return u.Shape()[len(u.Shape())-1] }
	n := last(condition)
	for condition.Op == uop.Expand || condition.Op == uop.Reshape {
		if condition = condition.Src[0]; len(condition.Shape()) == 0 || last(condition) != n {
			return nil, false
		}
	}
	return condition, condition.Op == uop.Pad && len(condition.Shape()) == 1 && condition.Src[0].Base().IsConst(uop.BoolConst(true))
}

// withoutDead eliminates dead states of loops: those used neither after the loop nor by a live state. Their operands may become dead, too, so
// that earlier loops have fewer states.
func withoutDead(root *uop.UOp) *uop.UOp {
	list := outerNodes(root)
	if !slices.ContainsFunc(list, func(u *uop.UOp) bool { return u.Op == uop.Repeat }) {
		return root
	}
	used := map[*uop.UOp]bool{root: true}
	live := map[*uop.UOp]map[int]bool{} // live states of each loop
	bodies := map[*uop.UOp]*uop.UOp{}
	for _, u := range slices.Backward(list) {
		if !used[u] {
			continue
		}
		if u.Op == uop.Result && u.Src[0].Op == uop.Repeat {
			if live[u.Src[0]] == nil {
				live[u.Src[0]] = map[int]bool{}
			}
			live[u.Src[0]][int(u.Arg.(uop.Num))] = true
		}
		src := u.Src
		if u.Op == uop.Repeat && live[u] != nil {
			bodies[u] = liveBody(u, live[u])
			read := paramsOf(bodies[u])
			src = nil
			for i, s := range u.Src[1:] {
				if live[u][i] || read[i] {
					src = append(src, s)
				}
			}
		}
		for _, s := range src {
			used[s] = true
		}
	}
	return rebuilt(root, func(u, with *uop.UOp) *uop.UOp {
		body := bodies[u]
		if body == nil {
			return with
		}
		src, read := slices.Clone(with.Src), paramsOf(body)
		src[0] = body
		for i, s := range u.Src[1:] {
			if !live[u][i] && !read[i] && !used[s] {
				src[1+i] = s.Graph().DeviceConst(s.DType, uop.Int(0), s.Device(), s.Shape())
			}
		}
		return with.With(src...)
	})
}

// liveBody is the body of a loop without writes to dead states. It first marks the states that live ones depend on as live.
func liveBody(u *uop.UOp, live map[int]bool) *uop.UOp {
	states := u.Arg.(uop.RepeatArg).States
	if while := u.Arg.(uop.RepeatArg).While; while > 0 {
		live[while-1] = true
	}
	if len(live) == states {
		return u.Src[0]
	}
	type write struct {
		state int
		reads map[int]bool
	}
	writes := map[*uop.UOp]write{}
	for _, statement := range u.Src[0].Src {
		for _, w := range statement.Src {
			writes[w] = write{stateOf(w), paramsOf(w.Src[1])}
		}
	}
	for n := -1; n != len(live); {
		n = len(live)
		for _, w := range writes {
			if live[w.state] {
				for k := range w.reads {
					if k < states {
						live[k] = true
					}
				}
			}
		}
	}
	var statements []*uop.UOp
	for _, statement := range u.Src[0].Src {
		kept := slices.DeleteFunc(slices.Clone(statement.Src), func(w *uop.UOp) bool { return !live[writes[w].state] })
		if len(kept) > 0 {
			statements = append(statements, statement.With(kept...))
		}
	}
	if len(statements) == 0 {
		return u.Src[0]
	}
	return u.Src[0].With(statements...)
}

// paramsOf are the numbers of the PARAMs of a body, or of a part of it.
func paramsOf(body *uop.UOp) map[int]bool {
	found := map[int]bool{}
	for _, p := range outerNodes(body) {
		if p.Op == uop.Param {
			found[int(p.Arg.(uop.Num))] = true
		}
	}
	return found
}

// stateOf is the state that a write of a statement goes to.
func stateOf(w *uop.UOp) int {
	target := w.Src[0]
	for uop.GroupMovement.Has(target.Op) {
		target = target.Src[0]
	}
	return int(target.Arg.(uop.Num))
}

// isOverwritten reports whether the body of a REPEAT stores all of a state before reading it: as a whole in its first statement, or an element
// or block in each iteration.
func isOverwritten(u *uop.UOp, state int) bool {
	arg := u.Arg.(uop.RepeatArg)
	if arg.While > 0 {
		return false // it may run zero iterations
	}
	reads := func(statement *uop.UOp) bool {
		return slices.ContainsFunc(statement.Src, func(w *uop.UOp) bool {
			return slices.ContainsFunc(outerNodes(w.Src[1]), func(p *uop.UOp) bool { return p.Op == uop.Param && p.Arg == uop.Num(state) })
		})
	}
	statements := u.Src[0].Src
	for i, statement := range statements {
		for _, w := range statement.Src {
			switch target := w.Src[0]; {
			case stateOf(w) != state:
			case target.Op == uop.Param && w.Op == uop.Store:
				return i == 0 && !reads(statement)
			case isElement(target, arg) || isBlock(target, arg):
				return !slices.ContainsFunc(statements, reads)
			}
		}
	}
	return false
}

// isElement reports whether a view of a state is one element along an axis, such that the iterations go through all elements.
func isElement(target *uop.UOp, arg uop.RepeatArg) bool {
	if target.Op != uop.Shrink || unshaped(target.Src[0]).Op != uop.Param {
		return false
	}
	elements := 0
	whole := target.Src[0].Shape()
	for i, p := range target.MovementPairs() {
		switch from := p.Lo.U; {
		case p.Lo.IsNum(0) && p.Hi == whole[i]:
		case from != nil && whole[i].IsNum(arg.Count) && p.Hi == p.Lo.Add(uop.N(1)) && isCounter(from, arg):
			elements++
		default:
			return false
		}
	}
	return elements == 1
}

// mostBlocks is the limit of blocks whose places are compared.
const mostBlocks = 256

// isBlock reports whether a view of a state is a block of an axis, such that the blocks of all iterations cover the axis. They may overlap.
func isBlock(target *uop.UOp, arg uop.RepeatArg) bool {
	if arg.Count > mostBlocks || target.Op != uop.Shrink || unshaped(target.Src[0]).Op != uop.Param {
		return false
	}
	blocks := 0
	whole := target.Src[0].Shape()
	for i, p := range target.MovementPairs() {
		if p.Lo.IsNum(0) && p.Hi == whole[i] {
			continue
		}
		size := p.Hi.Sub(p.Lo)
		if blocks++; whole[i].Symbolic() || size.Symbolic() || !p.Lo.Symbolic() {
			return false
		}
		v := p.Lo.U.Find(func(x *uop.UOp) bool { return x.Op == uop.DefineVar && x.Arg.(uop.VarArg).Name == arg.Variable })
		if v == nil {
			return false
		}
		done := int64(0)
		for n := range arg.Count {
			first := symbolic.Simplify(rewrite.Substitute(p.Lo.U, rewrite.Map{v: v.Graph().Const(v.DType, uop.Int(n))}))
			if first.Op != uop.ConstOp || first.ConstVal().I() > done {
				return false
			}
			done = max(done, first.ConstVal().I()+size.N)
		}
		if done < whole[i].N {
			return false
		}
	}
	return blocks == 1
}

// isCounter reports whether an index is the counter of a loop, forwards or backwards.
func isCounter(index *uop.UOp, arg uop.RepeatArg) bool {
	for _, v := range index.Toposort() {
		switch v.Op {
		case uop.DefineVar:
			if v.Arg.(uop.VarArg).Name != arg.Variable {
				return false
			}
		case uop.Mul:
			if v.Src[0].Op != uop.ConstOp && v.Src[1].Op != uop.ConstOp {
				return false
			}
		case uop.ConstOp, uop.Add, uop.Sub, uop.Cast:
		default:
			return false
		}
	}
	lo, hi := index.Bounds()
	return index.Op != uop.ConstOp && lo == uop.Int(0) && hi == uop.Int(arg.Count-1)
}

// firstRepeats returns the REPEATs that depend on no other REPEAT.
func firstRepeats(root *uop.UOp) (first []*uop.UOp) {
	needs := map[*uop.UOp]bool{}
	for _, u := range outerNodes(root) {
		for _, s := range u.Src {
			needs[u] = needs[u] || needs[s] || s.Op == uop.Repeat
		}
		if u.Op == uop.Repeat {
			after := false
			for _, s := range u.Src[1:] {
				after = after || needs[s]
			}
			if !after {
				first = append(first, u)
			}
		}
	}
	return first
}

// buffer is a new buffer for a value.
func (r *repeatScheduler) buffer(v *uop.UOp) *uop.UOp {
	g := v.Graph()
	r.next++
	return g.New(uop.Param, v.DType, []*uop.UOp{g.ShapeArg(uop.ShapeOf(v.Size())), g.DeviceOp(v.Device())}, uop.Num(r.next-1), nil)
}

// loop appends the kernels of the body of a REPEAT, with the buffers of its sources.
func (r *repeatScheduler) loop(u *uop.UOp, buffers []*uop.UOp) error {
	arg := u.Arg.(uop.RepeatArg)
	first, outer := len(r.s.Kernels), r.next
	at := len(r.s.Loops)
	v := uop.VarArg{Name: arg.Variable, Min: uop.Int(0), Max: uop.Int(arg.Count - 1)}
	isLoop := arg.Count > 1 || arg.While > 0
	if isLoop {
		l := Loop{First: first, Variable: v, Count: arg.Count, While: -1}
		if arg.While > 0 {
			p := buffers[arg.While-1]
			l.While = r.slot(int(p.Arg.(uop.Num)), p.DType, p.Size())
		}
		r.s.Loops = append(r.s.Loops, l)
	}
	for _, statement := range u.Src[0].Src {
		m := map[*uop.UOp]*uop.UOp{}
		for _, p := range outerNodes(statement) {
			if p.Op != uop.Param {
				continue
			}
			i := int(p.Arg.(uop.Num))
			if i >= len(buffers) || !p.Shape().Equal(buffers[i].Shape()) {
				return fmt.Errorf("schedule.Repeated: %s in the body of %s, which is no source of it", p, u)
			}
			m[p] = buffers[i]
		}
		r.depth++
		for _, part := range r.orderWrites(replaced(statement, m)) {
			if err := r.request(part); err != nil {
				return err
			}
		}
		r.depth--
	}
	if !isLoop {
		return nil
	}
	if len(r.s.Kernels) == first && arg.While == 0 { // an empty body
		r.s.Loops = r.s.Loops[:at]
		return nil
	}
	r.s.Loops[at].Last = len(r.s.Kernels)
	defer r.shortened(at)
	switch l := r.s.Loops[at]; {
	case arg.Count == 1:
		r.s.dumpDecision(l, "several kernels", "a branch, which runs once or not at all")
	case at < len(r.s.Loops)-1:
		r.s.dumpDecision(l, "several kernels", "a loop in it is of several kernels")
	case !r.merge:
		r.s.dumpDecision(l, "several kernels", "kernels of this device have no such loops")
		r.s.hoistInvariants(&r.s.Loops[at], r.temporary(outer))
	default:
		made := r.asOneKernel(&r.s.Loops[at], outer)
		if made == nil {
			r.s.hoistInvariants(&r.s.Loops[at], r.temporary(outer))
			break
		}
		r.s.Kernels = append(r.s.Kernels[:first], made...)
		if l := &r.s.Loops[at]; l.While >= 0 || l.Count > 1 {
			l.Last = len(r.s.Kernels) // a launch does some iterations
		} else {
			r.s.Loops = r.s.Loops[:at]
		}
	}
	return nil
}

// shortened drops iterations without effect (withoutUnchanged) from the kernels of a loop, if it has not become a single kernel.
func (r *repeatScheduler) shortened(at int) {
	if !r.merge || at >= len(r.s.Loops) {
		return
	}
	l := r.s.Loops[at]
	for k := l.First; k < l.Last; k++ {
		r.s.Kernels[k].AST = withoutUnchanged(r.s.Kernels[k].AST, l.Variable.Name, nil)
	}
}

// temporary returns which slots are not live outside of a loop: those of no PARAM below outer.
func (r *repeatScheduler) temporary(outer int) func(slot int) bool {
	shared := map[int]bool{}
	for param, slot := range r.slots {
		shared[slot] = shared[slot] || param < outer
	}
	return func(slot int) bool { return !shared[slot] }
}

// asOneKernel compiles a loop to a single kernel (and perhaps one for its condition); none if that does not pay. PARAMs below outer are live
// outside of the loop.
func (r *repeatScheduler) asOneKernel(l *Loop, outer int) []Kernel {
	whole := *l
	made, inRegisters := r.s.inRegisters(l, r.temporary(outer))
	if made != nil {
		r.s.dumpDecision(whole, "one kernel, state in registers", inRegisters)
		return made
	}
	k, why := r.s.fuseLoopKernels(l)
	if k == nil {
		r.s.dumpDecision(whole, "several kernels", why+"; not in registers: "+inRegisters)
		return nil
	}
	r.s.dumpDecision(whole, "one kernel, state in memory", "not in registers: "+inRegisters)
	return []Kernel{*k}
}

// orderWrites splits the writes of a statement, which take effect simultaneously, into requests: writes are ordered so that operands are read
// before they are overwritten; if that has a cycle, the values are stored first.
func (r *repeatScheduler) orderWrites(statement *uop.UOp) []*uop.UOp {
	type write struct {
		target *uop.UOp
		reads  map[*uop.UOp]bool
	}
	writes := make([]write, len(statement.Src))
	circle := map[int]bool{}
	for i, u := range statement.Src {
		target := u.Src[0]
		for uop.GroupMovement.Has(target.Op) {
			target = target.Src[0]
		}
		writes[i] = write{target, map[*uop.UOp]bool{}}
		circle[i] = u.Op == uop.Assign
		for _, v := range outerNodes(u.Src[1]) {
			writes[i].reads[v] = v.Op == uop.Param
		}
	}
	// A write that reads no other's target, or whose target no other reads, is not in a cycle.
	for before := 0; before != len(circle); {
		before = len(circle)
		for i := range writes {
			reads, isRead := false, false
			for j := range writes {
				if circle[i] && circle[j] && i != j {
					reads, isRead = reads || writes[i].reads[writes[j].target], isRead || writes[j].reads[writes[i].target]
				}
			}
			if !reads || !isRead {
				delete(circle, i)
			}
		}
	}
	if len(circle) == 0 {
		return []*uop.UOp{statement}
	}
	// Writes whose targets no other reads are in the request of the values, with which they may share operands.
	var first, second []*uop.UOp
	for i, u := range statement.Src {
		isRead := false
		for j, w := range writes {
			isRead = isRead || j != i && w.reads[writes[i].target]
		}
		switch {
		case circle[i]:
			b := r.buffer(u.Src[1])
			first = append(first, b.Store(u.Src[1]))
			second = append(second, u.With(u.Src[0], b.Reshape(u.Src[1].Shape())))
		case isRead:
			second = append(second, u)
		default:
			first = append(first, u)
		}
	}
	return []*uop.UOp{statement.Graph().Sink(nil, first...), statement.With(second...)}
}

// plainRequest appends the kernels of a request without REPEATs.
func (r *repeatScheduler) plainRequest(root *uop.UOp) error {
	if len(root.Src) == 0 {
		return nil
	}
	s, err := r.cut(root)
	if err != nil {
		return err
	}
	// A value is computed into its destination, unless something reads the old contents.
	place := make([]int, len(s.Slots))
	taken := map[int]bool{}
	for i, x := range s.Slots {
		place[i] = -1
		if x.Input >= 0 {
			place[i] = r.slot(x.Input, x.DType, x.Size)
			taken[x.Input] = true
			if x.Output >= 0 && x.Input < r.inputs {
				r.s.Slots[place[i]].Output = 0 // written by an ASSIGN
			}
		}
	}
	from := map[int]bool{} // sources of copies
	for _, c := range s.Copies {
		taken[c.From], from[c.From] = true, true
	}
	g := root.Graph()
	var copies, late []*uop.UOp // copies after the kernels
	params := map[int]*uop.UOp{}
	for _, u := range outerNodes(root) {
		if u.Op == uop.Param {
			params[int(u.Arg.(uop.Num))] = u
		}
	}
	copyTo := func(to, from int) {
		late = append(late, g.Sink(nil, params[to].AssignTo(params[from])))
	}
	var outputs []Output
	for _, o := range s.Outputs {
		switch {
		case o.Target < 0:
		case o.Target < r.inputs && r.depth == 0:
			outputs = append(outputs, o)
		case place[o.Slot] < 0 && !taken[o.Target]:
			place[o.Slot] = r.slot(o.Target, s.Slots[o.Slot].DType, s.Slots[o.Slot].Size)
			taken[o.Target] = true
		default:
			if s.Slots[o.Slot].Input < 0 {
				if place[o.Slot] < 0 {
					p := r.buffer(params[o.Target])
					params[int(p.Arg.(uop.Num))] = p
					place[o.Slot] = r.slot(int(p.Arg.(uop.Num)), p.DType, p.Size())
				}
				for n, slot := range r.slots {
					if slot == place[o.Slot] {
						copyTo(o.Target, n)
						break
					}
				}
				continue
			}
			copyTo(o.Target, s.Slots[o.Slot].Input)
		}
	}
	for i, x := range s.Slots {
		if place[i] < 0 {
			place[i] = len(r.s.Slots)
			r.s.Slots = append(r.s.Slots, Slot{DType: x.DType, Size: x.Size, Input: -1, Output: -1})
		}
	}
	for _, o := range outputs {
		r.s.Outputs = append(r.s.Outputs, Output{Slot: place[o.Slot], Target: o.Target, Value: o.Value})
	}
	for _, c := range s.Copies {
		switch {
		case (c.To >= r.inputs || r.depth > 0) && from[c.To]:
			p := r.buffer(params[c.From])
			params[int(p.Arg.(uop.Num))] = p
			copies = append(copies, g.Sink(nil, p.AssignTo(params[c.From])))
			copyTo(c.To, int(p.Arg.(uop.Num)))
		case c.To >= r.inputs || r.depth > 0:
			copies = append(copies, g.Sink(nil, params[c.To].AssignTo(params[c.From])))
		case c.From >= r.inputs:
			r.s.Outputs = append(r.s.Outputs, Output{Slot: r.slots[c.From], Target: c.To})
		default:
			r.s.Copies = append(r.s.Copies, c)
		}
	}
	for _, k := range s.Kernels {
		bufs := make([]int, len(k.Bufs))
		for i, b := range k.Bufs {
			bufs[i] = place[b]
		}
		r.s.Kernels = append(r.s.Kernels, Kernel{AST: k.AST, Bufs: bufs, Vars: k.Vars})
	}
	for _, c := range append(copies, late...) {
		if err := r.plainRequest(c); err != nil {
			return err
		}
	}
	return nil
}

// slot is the slot of a buffer.
func (r *repeatScheduler) slot(param int, dt *uop.DType, size int64) int {
	n, ok := r.slots[param]
	if !ok {
		n = len(r.s.Slots)
		r.slots[param] = n
		x := Slot{DType: dt, Size: size, Input: -1, Output: -1}
		if param < r.inputs {
			x.Input = param
		}
		r.s.Slots = append(r.s.Slots, x)
	}
	return n
}
