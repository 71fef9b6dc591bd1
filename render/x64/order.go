package x64

import (
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// loop is the code generation state of a loop.
type loop struct {
	*ir.Loop
	trip int64 // -1 if unknown
	phis []*phi
	// iter is the register of the iterator, if it is used.
	iter asm.Reg
	// strides are the offsets shared by several addresses; other addresses have a pointer of their own among the inductions.
	strides    []*stride
	inductions []induction
	steps      map[int64]int // numbers of addresses by stride in bytes
	counter    asm.Reg
	top        asm.Label
}

// phi is the state of a loop variable.
type phi struct {
	*ir.PhiVar
	reg asm.Reg
	// initialised: reg is the register of the initial value.
	initialised bool
	// chain is the sequence of operations from the variable to its next value.
	chain []*ir.Value
}

// induction is an induction variable: a register that grows by a constant in each iteration.
type induction struct {
	reg   asm.Reg
	first asm.Mem // its first value is this address, Disp if that has no register
	step  int64
}

// count marks and counts the uses of values by the effects of the kernel.
func (g *gen) count() {
	g.walk(g.k.Root)
}

func (g *gen) walk(b *ir.Block) {
	for _, it := range b.Items {
		switch {
		case it.Load != nil:
			g.know(it.Load) // it may have no uses
		case it.Store != nil:
			g.countUse(stored(it.Store), b)
			g.countPlace(it.Store.At, b)
		case it.Dot != nil:
			for _, at := range []*ir.Place{it.Dot.A, it.Dot.B, it.Dot.C} {
				g.countPlace(at, b)
			}
		case it.Prefetch != nil:
			g.countPlace(it.Prefetch, b)
		case it.Loop != nil:
			l := g.loopOf(it.Loop)
			if l.trip < 0 {
				g.countUse(it.Loop.Count, b)
				g.vals[it.Loop.Count.ID].shared = true
			}
			g.walk(it.Loop.Body)
		}
	}
}

func (g *gen) loopOf(l *ir.Loop) *loop {
	out := g.loops[l]
	if out == nil {
		out = &loop{Loop: l, trip: -1, steps: map[int64]int{}}
		if l.Count.Op == ir.Const && int64(l.Count.Bits) > 0 {
			out.trip = int64(l.Count.Bits)
		}
		g.loops[l] = out
	}
	return out
}

// know makes room for a value's state.
func (g *gen) know(v *ir.Value) {
	for int(v.ID) >= len(g.vals) {
		g.vals = append(g.vals, make([]state, len(g.vals))...)
	}
}

// countUse counts a use of v in block b.
func (g *gen) countUse(v *ir.Value, b *ir.Block) {
	g.know(v)
	s := &g.vals[v.ID]
	s.left++
	s.shared = s.shared || b != v.Block
	if s.left > 1 {
		return
	}
	switch v.Op {
	case ir.Final:
		p := v.Args[0]
		g.countUse(p, p.Block)
		g.vals[p.ID].left--
		return
	case ir.Phi:
		g.countPhi(v)
		return
	}
	if v.At != nil {
		g.countPlace(v.At, v.Block)
	}
	for _, a := range v.Args {
		g.countUse(a, v.Block)
	}
}

func (g *gen) countPhi(v *ir.Value) {
	if g.phis[v] != nil {
		return
	}
	i := slices.IndexFunc(v.Loop.Phis, func(p *ir.PhiVar) bool { return p.V == v })
	if i < 0 {
		fail("a phi that its loop does not have")
	}
	p := &phi{PhiVar: v.Loop.Phis[i]}
	g.phis[v] = p
	g.countUse(p.Init, v.Block.Parent)
	g.countUse(p.Next, v.Block)
}

// countPlace counts the uses of a place. Addresses are computed once for several accesses, so values in them have no last use.
func (g *gen) countPlace(at *ir.Place, b *ir.Block) {
	g.places.plan(g, at)
	for _, t := range at.Terms {
		g.know(t.V)
		if t.V.Op != ir.Iter {
			g.countUse(t.V, b)
			g.vals[t.V.ID].shared = true
		}
	}
	if at.Index != nil {
		g.countUse(at.Index, b)
	}
	if at.Gate != nil {
		g.countUse(at.Gate, b)
	}
}

// block emits the effects of a block in order, and before each its operands.
func (g *gen) block(b *ir.Block) {
	g.findUpdates(b)
	for i, it := range b.Items {
		switch {
		case it.Store != nil:
			if i == 0 || b.Items[i-1].Store == nil {
				g.interleaveStores(b.Items[i:])
			}
			g.store(it.Store)
		case it.Dot != nil:
			g.dot(it.Dot)
		case it.Prefetch != nil:
			g.readyPlace(it.Prefetch)
			g.to(asm.PREFETCHT0, 0, g.address(it.Prefetch, 0))
		case it.Load != nil:
			if g.vals[it.Load.ID].left > 0 {
				g.need(it.Load)
			}
		case it.Loop != nil:
			g.loop(it.Loop)
		}
	}
}

// loop emits a loop after the current section: first the body, since it may still add values to the outside, then the code before it.
func (g *gen) loop(nl *ir.Loop) {
	l := g.loops[nl]
	outer := g.cur
	var count asm.Reg
	if l.trip < 0 {
		count = g.use(l.Count)
	}
	for _, pv := range l.Phis {
		if p := g.phis[pv.V]; p != nil {
			l.phis = append(l.phis, p)
			g.initPhi(p)
		}
	}
	g.planStrides(l)
	body := g.newSection(l.Body)
	g.cur = body
	g.findChains(l)
	g.block(l.Body)
	g.next(l)
	if len(body.out) == 0 && len(l.phis) == 0 {
		g.cur = outer
		delete(g.sections, l.Body)
		return // it has no effect
	}
	g.control(l, count)
	g.cur = outer
	delete(g.sections, l.Body)
	g.close(l, body, count)
	g.recycle(body.out)
}

// initPhi chooses the register of a loop variable.
func (g *gen) initPhi(p *phi) {
	init := p.Init
	if init.Op != ir.Const {
		g.need(init)
		if g.isLastUse(init) && init.Op != ir.Iter && g.formOf(init) == g.formOf(p.V) {
			p.reg, p.initialised = g.use(init), true
		}
	}
	if p.reg == 0 {
		p.reg = g.fresh(g.class(p.V))
	}
	g.vals[p.V.ID].reg = p.reg
}

// formOf is the lane width of a vector of bools without mask registers, else 0.
func (g *gen) formOf(v *ir.Value) int {
	if v.Kind == ir.Bool && v.Lanes > 1 && !g.f.AVX512 {
		return g.width(v)
	}
	return 0
}

// findChains finds the values between each loop variable and its next value.
func (g *gen) findChains(l *loop) {
	for _, p := range l.phis {
		g.stamp++
		if !g.dependsOnPhi(p.Next, p, g.stamp) {
			continue
		}
		for v := p.Next; v != p.V; {
			p.chain = append(p.chain, v)
			var on *ir.Value
			for _, a := range v.Args {
				if a == p.V || a.Block == p.V.Block && g.vals[a.ID].mark == g.stamp && g.vals[a.ID].led {
					if on != nil && on != a {
						on = nil
						break
					}
					on = a
				}
			}
			if on == nil {
				p.chain = nil
				break
			}
			v = on
		}
		slices.Reverse(p.chain)
	}
}

// dependsOnPhi reports whether v depends on the variable p in the same iteration, and marks the values on the way.
func (g *gen) dependsOnPhi(v *ir.Value, p *phi, stamp int32) bool {
	if v == p.V {
		return true
	}
	if v.Block != p.V.Block || v.Op == ir.Final || v.Op == ir.Phi {
		return false
	}
	s := &g.vals[v.ID]
	if s.mark == stamp {
		return s.led
	}
	s.mark, s.led = stamp, false
	led := false
	for _, a := range v.Args {
		led = g.dependsOnPhi(a, p, stamp) || led
	}
	s = &g.vals[v.ID]
	s.led = led
	if led {
		s.chain = p
	}
	return led
}

// next computes the next values of a loop's variables. Chains of several operations are interleaved, one operation of each at a time,
// so the operands die early.
func (g *gen) next(l *loop) {
	var now []*ir.Value
	for t := 0; ; t++ {
		now = now[:0]
		for _, p := range l.phis {
			if t+1 < len(p.chain) {
				now = append(now, p.chain[t])
			}
		}
		if len(now) == 0 {
			break
		}
		g.needAll(now)
	}
	for _, p := range l.phis {
		if p.Next.Op != ir.Const {
			now = append(now, p.Next)
		}
	}
	g.needAll(now)
	var moves []pair
	var consts []*phi
	for _, p := range l.phis {
		if p.Next.Op == ir.Const {
			g.vals[p.Next.ID].left--
			consts = append(consts, p)
			continue
		}
		r := g.useForm(p.Next, g.formOf(p.V))
		if r != p.reg {
			moves = append(moves, pair{p.reg, r})
		}
	}
	g.parallelMove(moves)
	for _, p := range consts {
		g.constant(p.Next, p.reg, g.formOf(p.V))
	}
}

type pair struct{ dst, src asm.Reg }

// parallelMove emits simultaneous moves.
func (g *gen) parallelMove(moves []pair) {
	for len(moves) > 0 {
		i := slices.IndexFunc(moves, func(m pair) bool {
			return !slices.ContainsFunc(moves, func(o pair) bool { return o.src == m.dst })
		})
		if i < 0 {
			// A cycle: the overwritten value is saved in a temporary.
			keep := g.fresh(moves[0].dst.Class())
			g.move(keep, moves[0].dst)
			for j := range moves {
				if moves[j].src == moves[0].dst {
					moves[j].src = keep
				}
			}
			i = 0
		}
		g.move(moves[i].dst, moves[i].src)
		moves = slices.Delete(moves, i, i+1)
	}
}
