package x64

import (
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// loop is the code generation state of a loop.
type loop struct {
	*ir.Loop
	trip int64 // -1 if it is not known
	phis []*phi
	// iter is the register of the iterator, if something needs it.
	iter asm.Reg
	// strides are the offsets that several addresses share; other addresses have a pointer of their own among the
	// inductions.
	strides    []*stride
	inductions []induction
	steps      map[int64]int // how many addresses move by so many bytes
	counter    asm.Reg
	top        asm.Label
}

// phi is the variable of a loop.
type phi struct {
	*ir.PhiVar
	reg asm.Reg
	// initialised says that reg is the register of the initial value.
	initialised bool
	// chain leads from the variable to its next value, one operation after the other.
	chain []*ir.Value
}

// induction is an induction variable: a register that grows by a constant in each iteration.
type induction struct {
	reg   asm.Reg
	first asm.Mem // its first value is this address, Disp if that has no register
	step  int64
}

// count finds what the effects of the kernel need, and how often.
func (g *gen) count() {
	g.walk(g.k.Root)
}

func (g *gen) walk(b *ir.Block) {
	for _, it := range b.Items {
		switch {
		case it.Load != nil:
			g.know(it.Load) // nothing may need it
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

// know makes room for a value.
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

// countPlace counts the uses of a place. Addresses are computed once for several accesses, so that values in them
// have no last use.
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

// block emits the effects of a block in order, and before each what it needs.
func (g *gen) block(b *ir.Block) {
	for _, it := range b.Items {
		switch {
		case it.Store != nil:
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

// loop emits a loop behind what the current section has: first the body, since it may still need values from
// outside, then what comes before it.
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
		return // nothing in it is needed
	}
	g.control(l, count)
	g.cur = outer
	delete(g.sections, l.Body)
	g.close(l, body, count)
	g.recycle(body.out)
}

// initPhi chooses the register of a variable.
func (g *gen) initPhi(p *phi) {
	init := p.Init
	if init.Op != ir.Const {
		g.need(init)
		if g.willDie(init) && init.Op != ir.Iter && g.formOf(init) == g.formOf(p.V) {
			p.reg, p.initialised = g.use(init), true
		}
	}
	if p.reg == 0 {
		p.reg = g.fresh(g.class(p.V))
	}
	g.vals[p.V.ID].reg = p.reg
}

// formOf is the width of the lanes of a vector of bools without mask registers, 0 for all else.
func (g *gen) formOf(v *ir.Value) int {
	if v.Kind == ir.Bool && v.Lanes > 1 && !g.f.AVX512 {
		return g.width(v)
	}
	return 0
}

// findChains finds the values that lead from each variable of a loop to its next value.
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

// dependsOnPhi reports whether v is computed from the variable p in the same iteration, and marks what is.
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

// next computes the next values of the variables of a loop. Those that are reached by several operations go on one
// operation at a time for all of them, so that what an operation needs is soon free.
func (g *gen) next(l *loop) {
	for t := 0; ; t++ {
		more := false
		for _, p := range l.phis {
			if t+1 < len(p.chain) {
				g.need(p.chain[t])
				more = true
			}
		}
		if !more {
			break
		}
	}
	for _, p := range l.phis {
		if p.Next.Op != ir.Const {
			g.need(p.Next)
		}
	}
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

// parallelMove emits moves that happen at once.
func (g *gen) parallelMove(moves []pair) {
	for len(moves) > 0 {
		i := slices.IndexFunc(moves, func(m pair) bool {
			return !slices.ContainsFunc(moves, func(o pair) bool { return o.src == m.dst })
		})
		if i < 0 {
			// A cycle: what is to be overwritten is kept elsewhere.
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
