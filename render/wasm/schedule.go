package wasm

import (
	"cmp"
	"slices"

	"polygrad/render/wasm/binary"
)

// step is one line of a block's code: compute an inst into its local, write to
// memory, or run a loop.
type step struct {
	inst  *inst
	write *write
	loop  *loopCode
}

// code is a block in its final order.
type code struct {
	steps []step
}

// loopCode is a loop ready to be emitted.
type loopCode struct {
	body  *code
	vars  []*variable
	iter  *variable
	count *inst
	// sure: the count is a constant above 0.
	sure bool
}

const (
	fresh = iota
	inlined
	scheduled
)

// scheduler orders the insts: each is computed in its home block, just before
// it is first needed, and one that is used once where it is needed is not given
// a local at all.
type scheduler struct {
	*selector
	writes map[*store]*write
	counts map[*loop]*inst
	open   map[*block]*code
	pinned map[*block][]*inst
	hoist  map[*inst]bool
}

// all schedules the kernel.
func (s *selector) all() *code {
	sc := &scheduler{
		selector: s, writes: map[*store]*write{}, counts: map[*loop]*inst{}, open: map[*block]*code{},
		pinned: map[*block][]*inst{}, hoist: map[*inst]bool{},
	}
	blocks := s.g.blocks()
	for _, b := range blocks {
		for _, it := range b.items {
			switch {
			case it.store != nil:
				sc.writes[it.store] = s.store(it.store, b)
			case it.loop != nil:
				sc.counts[it.loop] = s.value(it.loop.count)
				s.iter(it.loop)
			}
		}
	}
	sc.countUses(blocks)
	return sc.block(s.g.root)
}

func (sc *scheduler) countUses(blocks []*block) {
	var reached []*inst
	var use func(n *inst)
	use = func(n *inst) {
		if n == nil {
			return
		}
		n.uses++
		if n.uses > 1 {
			return
		}
		reached = append(reached, n)
		if n.mem != nil && n.mem.pos > 0 {
			sc.pinned[n.home] = append(sc.pinned[n.home], n)
		}
		for _, a := range n.args {
			use(a)
		}
	}
	for _, b := range blocks {
		for _, it := range b.items {
			if w := sc.writes[it.store]; w != nil {
				use(w.ptr)
				use(w.val)
				use(w.gate)
			}
			if it.loop != nil {
				use(sc.counts[it.loop])
			}
		}
		for _, v := range sc.vars[b] {
			use(v.init)
			use(v.next)
		}
	}
	for _, b := range blocks {
		if b.loop != nil && !slices.ContainsFunc(b.items, func(it item) bool { return it.loop != nil }) {
			sc.chooseConstants(b, reached)
		}
	}
}

// registers is how many vector registers an innermost loop may fill with
// variables, invariants and constants; the others are for what it computes.
const registers = 11

// chooseConstants picks the float and vector constants that an innermost loop
// keeps in registers; others are loaded at each use.
func (sc *scheduler) chooseConstants(b *block, reachable []*inst) {
	uses := map[*inst]int{}
	busy := 0
	isFloat := func(n *inst) bool { return n.typ == binary.V128 || n.typ == binary.F32 || n.typ == binary.F64 }
	for _, v := range sc.vars[b] {
		if isFloat(v.v) {
			busy++
		}
	}
	for _, n := range reachable {
		if n.home != b {
			continue
		}
		for _, a := range n.args {
			switch {
			case !isFloat(a):
			case a.what == isConst:
				uses[a]++
			case a.home != b && a.home.depth < b.depth:
				if uses[a] == 0 {
					busy++
				}
				uses[a] = -1 << 20
			}
		}
	}
	var cs []*inst
	for n, c := range uses {
		if c > 0 {
			cs = append(cs, n)
		}
	}
	slices.SortFunc(cs, func(x, y *inst) int { return cmp.Or(cmp.Compare(uses[y], uses[x]), cmp.Compare(x.id, y.id)) })
	for i, n := range cs {
		if i < registers-busy {
			sc.hoist[n] = true
		}
	}
}

// block schedules a block. Its code is open for what inner blocks move out.
func (sc *scheduler) block(b *block) *code {
	c := &code{}
	sc.open[b] = c
	for _, it := range b.items {
		switch {
		case it.store != nil:
			w := sc.writes[it.store]
			sc.forced(b, w.mem)
			for _, n := range []*inst{w.ptr, w.val, w.gate} {
				sc.operand(n, b)
			}
			c.steps = append(c.steps, step{write: w})
		case it.loop != nil:
			sc.beforeLoop(b, it.loop)
			c.steps = append(c.steps, step{loop: sc.loop(it.loop)})
		}
	}
	return c
}

// forced computes the pinned loads that must come before a store.
func (sc *scheduler) forced(b *block, m *access) {
	for _, n := range sc.pinned[b] {
		if n.mem.pos < m.pos && n.state == fresh && n.mem.place.meets(n.mem.lanes, m.place, m.lanes) {
			sc.compute(n)
		}
	}
}

// beforeLoop computes pinned loads of buffers that the loop stores to. The
// order of positions tells which loads come before it.
func (sc *scheduler) beforeLoop(b *block, l *loop) {
	var stores []*access
	var collect func(b *block)
	collect = func(b *block) {
		for _, it := range b.items {
			if it.store != nil {
				stores = append(stores, sc.writes[it.store].mem)
			}
			if it.loop != nil {
				collect(it.loop.body)
			}
		}
	}
	collect(l.body)
	for ; b != nil; b = b.parent {
		for _, n := range sc.pinned[b] {
			if n.state == fresh && slices.ContainsFunc(stores, func(m *access) bool { return m.buf == n.mem.buf && n.mem.pos < m.pos }) {
				sc.compute(n)
			}
		}
	}
}

func (sc *scheduler) loop(l *loop) *loopCode {
	out := &loopCode{vars: sc.vars[l.body], count: sc.counts[l]}
	out.body = sc.block(l.body)
	sc.chains(l.body, out.vars)
	for _, v := range out.vars {
		sc.operand(v.next, l.body)
		if v.v == sc.iters[l] {
			out.iter = v
		}
	}
	outer := l.body.parent
	for _, v := range out.vars {
		sc.operand(v.init, outer)
	}
	sc.operand(out.count, outer)
	out.sure = out.count.what == isConst && out.count.imm[0] > 0
	return out
}

// chains computes variables that collect many terms term by term for all of
// them, so that what a term needs is loaded once and soon free.
func (sc *scheduler) chains(b *block, vars []*variable) {
	for t := 0; ; t++ {
		more := false
		for _, v := range vars {
			if t+1 < len(v.chain) && v.chain[t].home == b {
				sc.schedule(v.chain[t])
				more = true
			}
		}
		if !more {
			return
		}
	}
}

// operand makes sure that n can be pushed in block b.
func (sc *scheduler) operand(n *inst, b *block) {
	if n == nil || n.state != fresh {
		return
	}
	switch n.what {
	case isConst:
		if sc.hoist[n] {
			n.state = scheduled
			root := sc.open[sc.g.root]
			root.steps = append(root.steps, step{inst: n})
		}
		return
	case isParam, isPhi, isFinal:
		return
	}
	pinned := n.mem != nil && n.mem.pos > 0
	if n.uses == 1 && n.home == b && !pinned {
		n.state = inlined
		sc.operands(n)
		return
	}
	sc.compute(n)
}

func (sc *scheduler) operands(n *inst) {
	if n.what == isGuard {
		// Both branches of a guard use its arguments.
		for _, a := range n.args[1:] {
			if a.what == isOp || a.what == isLoad {
				sc.schedule(a)
			}
		}
	}
	for _, a := range n.args {
		sc.operand(a, n.home)
	}
}

// schedule computes n into a local even if it is used only once.
func (sc *scheduler) schedule(n *inst) {
	if n.state == fresh {
		sc.compute(n)
	}
}

func (sc *scheduler) compute(n *inst) {
	n.state = scheduled
	sc.operands(n)
	c := sc.open[n.home]
	c.steps = append(c.steps, step{inst: n})
}
