package wasm

import (
	"cmp"
	"slices"

	"polygrad/core/nest/ir"
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
	body *code
	vars []*variable
	// counter is compared with count at the end of an iteration.
	counter, count *inst
	// sure: the count is a constant above 0.
	sure bool
}

const (
	fresh = iota
	inlined
	scheduled
)

// scheduler orders the insts: each is computed in its home block just before its
// first use. An inst with a single use is computed on the operand stack at that use,
// without a local.
type scheduler struct {
	*selector
	writes map[*ir.Store][]*write
	counts map[*ir.Loop]*inst
	open   map[*ir.Block]*code
	hoist  map[*inst]bool
	// apart: each inst with a float or a vector is a step of its own.
	apart bool
	// reached are the insts that are used.
	reached []*inst
}

// all schedules the kernel.
func (s *selector) all() *code {
	sc := &scheduler{
		selector: s, writes: map[*ir.Store][]*write{}, counts: map[*ir.Loop]*inst{}, open: map[*ir.Block]*code{}, hoist: map[*inst]bool{},
	}
	sc.selectIn(s.root)
	sc.countIn(s.root)
	sc.constantsIn(s.root)
	return sc.block(s.root)
}

// selectIn selects the insts for the effects of a block.
func (sc *scheduler) selectIn(b *ir.Block) {
	for _, it := range b.Items {
		switch {
		case it.Store != nil:
			sc.writes[it.Store] = sc.store(it.Store, sc.home(b))
		case it.Dot != nil:
			fail("a product of packed operands")
		case it.Loop != nil:
			n := sc.counter(it.Loop)
			count := sc.value(it.Loop.Count)
			if n.typ == binary.I32 {
				count = sc.low(count, 0)
			}
			sc.counts[it.Loop] = count
			sc.selectIn(it.Loop.Body)
		}
	}
}

// use counts a use of an inst, and with the first one those of its arguments.
func (sc *scheduler) use(n *inst) {
	if n == nil {
		return
	}
	n.uses++
	if n.uses > 1 {
		return
	}
	sc.reached = append(sc.reached, n)
	for _, a := range n.args {
		sc.use(a)
	}
}

// countIn counts the uses by the effects of a block.
func (sc *scheduler) countIn(b *ir.Block) {
	for _, it := range b.Items {
		for _, w := range sc.writes[it.Store] {
			sc.use(w.ptr)
			sc.use(w.val)
			sc.use(w.gate)
		}
		if it.Loop != nil {
			sc.use(sc.counts[it.Loop])
			sc.countIn(it.Loop.Body)
		}
	}
	for _, v := range sc.vars[b] {
		sc.use(v.init)
		sc.use(v.next)
	}
}

// constantsIn chooses constants for the innermost loops of a block.
func (sc *scheduler) constantsIn(b *ir.Block) {
	inner := b.Loop != nil && trip(b.Loop) != 1
	for _, it := range b.Items {
		if it.Loop != nil {
			inner = inner && trip(it.Loop) == 1
			sc.constantsIn(it.Loop.Body)
		}
	}
	if inner {
		sc.chooseConstants(b)
	}
}

// several reports whether computations of a block may be interleaved, with their own constants.
func (sc *scheduler) several(b *ir.Block) bool {
	n := 0
	for _, it := range b.Items {
		n += len(sc.writes[it.Store])
	}
	for _, v := range sc.vars[b] {
		if isFloat(v.v) && len(v.chain) <= 1 {
			n++
		}
	}
	return n > 1
}

// registers is how many vector registers an innermost loop may fill with
// variables, invariants and constants; the others are for intermediate values.
const registers = 11

// fewConstants is the number of constants that may stay in registers beside interleaved computations.
const fewConstants = 3

// chooseConstants picks the float and vector constants that an innermost loop
// keeps in registers; others are loaded at each use.
func (sc *scheduler) chooseConstants(b *ir.Block) {
	uses := map[*inst]int{}
	busy := 0
	for _, v := range sc.vars[b] {
		if isFloat(v.v) {
			busy++
		}
	}
	for _, n := range sc.reached {
		if n.home != b {
			continue
		}
		for _, a := range n.args {
			switch {
			case !isFloat(a):
			case a.what == isConst:
				uses[a]++
			case a.home != b && a.home.Depth < b.Depth:
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
	if len(cs) > fewConstants && sc.several(b) {
		return
	}
	slices.SortFunc(cs, func(x, y *inst) int { return cmp.Or(cmp.Compare(uses[y], uses[x]), cmp.Compare(x.id, y.id)) })
	for i, n := range cs {
		if i < registers-busy {
			sc.hoist[n] = true
		}
	}
}

// isFloat reports whether an inst lies in a vector register.
func isFloat(n *inst) bool {
	return n.typ == binary.V128 || n.typ == binary.F32 || n.typ == binary.F64
}

// block schedules a block. Inner blocks may hoist insts into its code while it is open.
func (sc *scheduler) block(b *ir.Block) *code {
	c := &code{}
	sc.open[b] = c
	sc.effects(b, c)
	return c
}

// effects schedules the effects of a block. Those of loops that run once are its own.
func (sc *scheduler) effects(b *ir.Block, c *code) {
	begun := false
	for i := 0; i < len(b.Items); i++ {
		it := b.Items[i]
		switch {
		case it.Store != nil:
			var ws []*write
			for ; i < len(b.Items) && b.Items[i].Store != nil; i++ {
				ws = append(ws, sc.writes[b.Items[i].Store]...)
			}
			i--
			sc.sideBySide(c, len(ws), func(i int) {
				w := ws[i]
				for _, n := range []*inst{w.ptr, w.val, w.gate} {
					sc.operand(n, sc.home(b))
				}
				c.steps = append(c.steps, step{write: w})
			})
		case it.Load != nil:
			// An ordered load keeps its position.
			if n := sc.of(it.Load).inst; n != nil && n.uses > 0 {
				sc.schedule(n)
			}
		case it.Loop != nil && trip(it.Loop) == 1:
			sc.effects(it.Loop.Body, c)
		case it.Loop != nil:
			if !begun {
				sc.begins(b, c, b.Items[i:])
				begun = true
			}
			if l := sc.loop(it.Loop); l != nil {
				c.steps = append(c.steps, step{loop: l})
			}
		}
	}
}

// begins schedules the initial values of the loops among items, as far as no item computes or changes what they need, before the first of these
// loops, so that they are interleaved: the loops for large arguments of sines have long computations before them.
func (sc *scheduler) begins(b *ir.Block, c *code, items []ir.Item) {
	var loops []*ir.Loop
	later := map[*inst]bool{} // whether an inst depends on the result of an item
	var mark func(items []ir.Item)
	mark = func(items []ir.Item) {
		for _, it := range items {
			if it.Loop == nil {
				continue
			}
			for _, v := range sc.vars[it.Loop.Body] {
				later[v.v] = true
			}
			if trip(it.Loop) == 1 { // its loops are those of the block
				mark(it.Loop.Body.Items)
			}
		}
	}
	mark(items)
	for _, it := range items {
		if it.Loop != nil {
			loops = append(loops, it.Loop)
		}
	}
	var depends func(n *inst) bool
	depends = func(n *inst) bool {
		is, known := later[n]
		if !known {
			read := n.what == isLoad && n.mem.buf.Written // perhaps behind a store among the items
			is = n.state != scheduled && (read || slices.ContainsFunc(n.args, depends))
			later[n] = is
		}
		return is
	}
	loops = slices.DeleteFunc(loops, func(l *ir.Loop) bool {
		floats := func(v *variable) bool { return isFloat(v.v) }
		return trip(l) > 0 || !slices.ContainsFunc(sc.vars[l.Body], floats) || depends(sc.counts[l]) ||
			slices.ContainsFunc(sc.vars[l.Body], func(v *variable) bool { return depends(v.init) })
	})
	if len(loops) < 2 {
		return
	}
	sc.sideBySide(c, len(loops), func(i int) {
		for _, v := range sc.vars[loops[i].Body] {
			sc.operand(v.init, sc.home(b))
		}
		sc.operand(sc.counts[loops[i]], sc.home(b))
	})
}

// loop schedules a loop, nil if nothing in it is needed.
func (sc *scheduler) loop(l *ir.Loop) *loopCode {
	outer := sc.home(l.Body.Parent)
	out := &loopCode{vars: sc.vars[l.Body], counter: sc.counters[l], count: sc.counts[l], sure: trip(l) > 0}
	out.body = sc.block(l.Body)
	sc.chains(l.Body, out.vars)
	sums := slices.DeleteFunc(slices.Clone(out.vars), func(v *variable) bool { return !isFloat(v.v) })
	sc.sideBySide(out.body, len(sums), func(i int) {
		if sums[i].chain != nil {
			// The operands of a term are used at once, before those of the next variable are loaded.
			sc.schedule(sums[i].next)
		}
		sc.operand(sums[i].next, l.Body)
	})
	for _, v := range out.vars {
		sc.operand(v.next, l.Body)
	}
	if len(out.body.steps) == 0 && !slices.ContainsFunc(l.Phis, func(p *ir.PhiVar) bool { return sc.of(p.V).inst != nil }) {
		return nil
	}
	for _, v := range out.vars {
		sc.operand(v.init, outer)
	}
	sc.operand(out.count, outer)
	return out
}

// chains computes accumulators of many terms in lockstep, one term of each at a time, so that the operands of a term are loaded once and have short
// live ranges. The terms of two accumulators are computed before either is added: this makes additions a tenth faster than directly after their
// operands.
func (sc *scheduler) chains(b *ir.Block, vars []*variable) {
	for t := 0; ; t++ {
		var steps []*inst
		for _, v := range vars {
			if t+1 < len(v.chain) && v.chain[t].home == b {
				steps = append(steps, v.chain[t])
			}
		}
		if len(steps) == 0 {
			return
		}
		for pair := range slices.Chunk(steps, 2) {
			for _, n := range pair {
				for _, a := range n.args {
					if a.home == b {
						sc.schedule(a)
					}
				}
			}
			for _, n := range pair {
				sc.schedule(n)
			}
		}
	}
}

// abreast is the number of interleaved computations: processors execute independent instructions out of order, but do not look ahead
// beyond a long chain of operations.
const abreast = 4

// long is the least number of steps of a computation that is interleaved. Shorter ones only use up registers.
const long = 8

// sideBySide schedules n computations into c, each by a call of one, interleaving a few at a time step by step.
func (sc *scheduler) sideBySide(c *code, n int, one func(i int)) {
	defer func(old bool) { sc.apart = old }(sc.apart)
	sc.apart = n > 1
	for first := 0; first < n; first += abreast {
		begin := len(c.steps)
		var parts [][]step
		later := map[*inst]bool{}
		for i := first; i < min(first+abreast, n); i++ {
			at := len(c.steps)
			one(i)
			parts = append(parts, slices.Clone(c.steps[at:]))
			for _, st := range c.steps[at:] {
				later[st.inst] = st.inst != nil
			}
		}
		if len(parts) == 1 || slices.ContainsFunc(parts, func(p []step) bool { return len(p) < long }) {
			continue
		}
		c.steps = c.steps[:begin]
		near := nearConstants{}
		for slices.ContainsFunc(parts, func(p []step) bool { return len(p) > 0 }) {
			for i, p := range parts {
				if len(p) > 0 && !p[0].waits(later) {
					near.keep(c, p[0].inst)
					c.steps = append(c.steps, p[0])
					delete(later, p[0].inst)
					parts[i] = p[1:]
				}
			}
		}
	}
}

// waits reports whether a step needs an inst that is computed later.
func (st step) waits(later map[*inst]bool) bool {
	if w := st.write; w != nil {
		return needs(w.ptr, later) || needs(w.val, later) || needs(w.gate, later)
	}
	return st.inst != nil && slices.ContainsFunc(st.inst.args, func(a *inst) bool { return needs(a, later) })
}

func needs(n *inst, later map[*inst]bool) bool {
	return n != nil && (later[n] || n.state == inlined && slices.ContainsFunc(n.args, func(a *inst) bool { return needs(a, later) }))
}

// nearConstants are the constants that interleaved computations share, each in a local that is set shortly before its use: kept in
// registers for the whole loop they would leave none for the computations, and without a local wazero loads a constant at each use.
type nearConstants map[*inst]*nearConstant

type nearConstant struct {
	local *inst
	used  int // the step that used it last
}

// keptSteps is the number of steps without a use after which a constant leaves its local.
const keptSteps = 12

// keep gives locals to the constants that an inst uses.
func (k nearConstants) keep(c *code, n *inst) {
	if n == nil {
		return
	}
	for i, a := range n.args {
		switch {
		case a.state == inlined:
			k.keep(c, a)
		case a.what == isConst && isFloat(a) && a.state == fresh:
			l := k[a]
			if l == nil || len(c.steps)-l.used > keptSteps {
				local := *a
				local.state = scheduled
				l = &nearConstant{local: &local}
				k[a] = l
				c.steps = append(c.steps, step{inst: l.local})
			}
			l.used = len(c.steps)
			n.args[i] = l.local
		}
	}
}

// operand makes sure that n can be pushed in block b.
func (sc *scheduler) operand(n *inst, b *ir.Block) {
	if n == nil || n.state != fresh {
		return
	}
	switch n.what {
	case isConst:
		if sc.hoist[n] {
			n.state = scheduled
			root := sc.open[sc.root]
			root.steps = append(root.steps, step{inst: n})
		}
		return
	case isParam, isPhi, isFinal:
		return
	}
	if n.uses == 1 && n.home == b && !(sc.apart && isFloat(n)) {
		n.state = inlined
		for _, a := range n.args {
			sc.operand(a, b)
		}
		return
	}
	sc.schedule(n)
}

// schedule computes n into a local even if it is used only once.
func (sc *scheduler) schedule(n *inst) {
	if n.state != fresh {
		return
	}
	switch n.what {
	case isConst, isParam, isPhi, isFinal:
		return
	}
	n.state = scheduled
	for _, a := range n.args {
		sc.operand(a, n.home)
	}
	c := sc.open[n.home]
	if c == nil {
		fail("an inst of a block that is not open")
	}
	c.steps = append(c.steps, step{inst: n})
}
