package x64

import (
	"math"
	"slices"

	"polygrad/core/nest/ir"
	"polygrad/render/x64/asm"
)

// stride is an induction variable that several addresses of a loop have as their index register: it grows by unit in each iteration, and they scale
// it by 1, 2, 4 or 8. If the trip count is known, it ends at 0, so that it also counts the iterations, and the addresses start back bytes further.
type stride struct {
	unit, back int64
	reg        asm.Reg
	members    []int64
	count      int
}

func (l *loop) stride(step int64) *stride {
	for _, s := range l.strides {
		if slices.Contains(s.members, step) {
			return s
		}
	}
	return nil
}

// planStrides chooses the addresses that share an offset: fewer registers are live than with a pointer for each. A single
// address has an offset only if that replaces the counter.
func (g *gen) planStrides(l *loop) {
	if l.trip == 1 {
		return
	}
	var steps []int64
	for s := range l.steps {
		if s > 0 {
			steps = append(steps, s)
		}
	}
	slices.Sort(steps)
	var all []*stride
	for _, s := range steps {
		i := slices.IndexFunc(all, func(c *stride) bool {
			return s%c.unit == 0 && slices.Contains([]int64{1, 2, 4, 8}, s/c.unit)
		})
		if i < 0 {
			i = len(all)
			all = append(all, &stride{unit: s})
		}
		all[i].members = append(all[i].members, s)
		all[i].count += l.steps[s]
	}
	slices.SortStableFunc(all, func(a, b *stride) int { return b.count - a.count })
	for i, s := range all {
		counts := i == 0 && l.trip > 0 && l.trip <= math.MaxInt32/(16*s.unit)
		if !counts && s.count < 2 {
			continue
		}
		s.reg = g.gp()
		m := induction{reg: s.reg, step: s.unit}
		if counts {
			s.back = l.trip * s.unit
			m.first.Disp = int32(-s.back)
		}
		l.inductions = append(l.inductions, m)
		l.strides = append(l.strides, s)
	}
}

// iterator is the register of a loop's iterator.
func (g *gen) iterator(nl *ir.Loop) asm.Reg {
	l := g.loops[nl]
	if l.iter == 0 {
		l.iter = g.gp()
		l.inductions = append(l.inductions, induction{reg: l.iter, step: 1})
	}
	return l.iter
}

// control emits the end of the body: the updates of induction variables, and the back edge.
func (g *gen) control(l *loop, count asm.Reg) {
	if l.trip == 1 {
		return
	}
	var offset *induction
	for i := range l.inductions {
		m := &l.inductions[i]
		switch {
		case len(l.strides) > 0 && l.strides[0].back != 0 && m.reg == l.strides[0].reg:
			offset = m
		case m.reg != l.iter:
			g.add(m.reg, m.step)
		}
	}
	if l.iter != 0 {
		g.add(l.iter, 1)
	}
	c := asm.NE
	switch {
	case offset != nil:
		g.add(offset.reg, offset.step)
	case l.iter != 0 && l.trip < 0:
		g.ins(asm.CMP, 8, 0, l.iter, count)
		c = asm.L
	case l.iter != 0 && l.trip <= math.MaxInt32:
		g.imm(asm.CMP, 8, 0, l.trip, l.iter)
		c = asm.L
	default:
		l.counter = g.gp()
		g.add(l.counter, -1)
	}
	l.top = g.label()
	g.jump(c, l.top)
}

func (g *gen) add(r asm.Reg, c int64) {
	if c >= math.MinInt32 && c <= math.MaxInt32 {
		g.imm(asm.ADD, 8, r, c)
		return
	}
	t := g.gp()
	g.imm(asm.MOV, 8, t, c)
	g.ins(asm.ADD, 8, r, t)
}

func (g *gen) jump(c asm.Cond, to asm.Label) {
	g.ins(c.J(), 8, 0).To = to
}

// close appends a loop to the code before it.
func (g *gen) close(l *loop, body *section, count asm.Reg) {
	for _, p := range l.phis {
		switch {
		case p.initialised:
		case p.Init.Op == ir.Const:
			g.vals[p.Init.ID].left--
			g.constant(p.Init, p.reg, g.formOf(p.V))
		default:
			g.move(p.reg, g.useForm(p.Init, g.formOf(p.V)))
		}
	}
	var exit asm.Label
	if l.trip < 0 {
		exit = g.label()
		g.ins(asm.TEST, 8, 0, count, count)
		g.jump(asm.LE, exit)
	}
	for _, m := range l.inductions {
		g.initInduction(m)
	}
	if l.counter != 0 {
		if l.trip < 0 {
			g.move(l.counter, count)
		} else {
			g.imm(asm.MOV, 8, l.counter, l.trip)
		}
	}
	if l.trip == 1 {
		g.cur.out = append(g.cur.out, body.out...)
		return
	}
	g.closed++
	number := g.closed
	g.imm(asm.LOOP, 0, 0, number)
	g.ins(asm.LABEL, 0, 0).To = l.top
	g.cur.out = append(g.cur.out, body.out...)
	g.imm(asm.ENDLOOP, 0, 0, number)
	if exit != 0 {
		g.ins(asm.LABEL, 0, 0).To = exit
	}
}

// initInduction sets an induction variable to its initial value.
func (g *gen) initInduction(m induction) {
	switch {
	case m.first.Base == 0:
		g.imm(asm.MOV, 8, m.reg, int64(m.first.Disp))
	case m.first.Index == 0 && m.first.Disp == 0:
		g.move(m.reg, m.first.Base)
	default:
		g.from(asm.LEA, 8, m.reg, m.first)
	}
}
