package regalloc

import (
	"fmt"
	"slices"

	"polygrad/core/settings"
	"polygrad/render/x64/asm"
)

// check has every allocation verified.
var check = settings.Check.On()

// state says which virtual registers' values are in which places. Places are the registers by class and number, and
// behind them the frame in units of 8 bytes. A virtual register that nothing has written may be anywhere.
type state struct {
	in    [][]asm.Reg
	known map[asm.Reg]bool
}

func (s *state) clone() *state {
	t := &state{in: slices.Clone(s.in), known: map[asm.Reg]bool{}}
	for r := range s.known {
		t.known[r] = true
	}
	return t
}

func (s *state) has(place int, v asm.Reg) bool { return !s.known[v] || slices.Contains(s.in[place], v) }

// write makes v's only place this one, which holds nothing else.
func (s *state) write(place int, v asm.Reg) {
	s.forget(v)
	s.known[v] = true
	s.in[place] = []asm.Reg{v}
}

func (s *state) forget(v asm.Reg) {
	for p, held := range s.in {
		if slices.Contains(held, v) {
			s.in[p] = slices.DeleteFunc(slices.Clone(held), func(r asm.Reg) bool { return r == v })
		}
	}
}

// meet keeps what s and t agree on, and reports whether that is less than s had.
func (s *state) meet(t *state) bool {
	less := false
	for r := range t.known {
		if !s.known[r] {
			// s has it everywhere: from here it is where t has it.
			for p := range s.in {
				if slices.Contains(t.in[p], r) {
					s.in[p] = append(slices.Clone(s.in[p]), r)
				}
			}
			s.known[r], less = true, true
		}
	}
	for p, held := range s.in {
		kept := slices.DeleteFunc(slices.Clone(held), func(r asm.Reg) bool { return !t.has(p, r) })
		if len(kept) < len(held) {
			s.in[p], less = kept, true
		}
	}
	return less
}

type verifier struct {
	c       *Code
	r       *Result
	at      map[asm.Label]*state // what jumps bring to labels
	defs    map[asm.Reg]int      // the instruction that writes a virtual register, -1 for several
	changed bool
	report  bool
}

// Verify follows the code of r and checks that each instruction reads what that of c says, over loops, jumps, copies and
// the frame.
func Verify(c *Code, r *Result) error {
	v := verifier{c: c, r: r, at: map[asm.Label]*state{}, defs: map[asm.Reg]int{}}
	for i := range c.Insts {
		operands(&c.Insts[i], func(r asm.Reg, _, writes bool) {
			if _, ok := v.defs[r]; ok && writes {
				v.defs[r] = -1
			} else if writes {
				v.defs[r] = i
			}
		})
	}
	for v.changed = true; v.changed; {
		v.changed = false
		if err := v.run(); err != nil {
			return err
		}
	}
	v.report = true
	return v.run()
}

func place(r asm.Reg) int { return int(r.Class())*nreg + r.Num() }

func (v *verifier) slot(m *asm.Mem) (int, bool) {
	if m.Base != asm.RBP || m.Index != 0 || m.Disp < v.c.Reserved || m.Disp >= v.r.Frame || m.Disp%8 != 0 {
		return 0, false
	}
	return classes*nreg + int(m.Disp/8), true
}

// run follows the code once.
func (v *verifier) run() error {
	s := &state{in: make([][]asm.Reg, classes*nreg+int(v.r.Frame+63)/8), known: map[asm.Reg]bool{}}
	next := 0
	for k := range v.r.Insts {
		inst, o := &v.r.Insts[k], v.r.Origin[k]
		fail := func(format string, args ...any) error {
			text := ""
			if o >= 0 {
				text = " (from " + v.c.Insts[o].String() + ")"
			}
			return fmt.Errorf("regalloc: verify: instruction %d, %s%s: %s", k, inst.String(), text, fmt.Sprintf(format, args...))
		}
		if o < 0 {
			if err := v.added(s, inst, o, fail); err != nil {
				return err
			}
			continue
		}
		for ; next < int(o); next++ {
			switch in := &v.c.Insts[next]; in.Op {
			case asm.MOVE:
				if !in.Dst.Virtual() {
					return fail("the copy before it, %s, is missing", in)
				}
				if in.Src[0].Virtual() {
					v.alias(s, in.Dst, in.Src[0])
				} else {
					s.write(place(in.Src[0]), in.Dst)
				}
			case asm.LOOP, asm.ENDLOOP:
			default:
				return fail("the instruction before it, %s, is missing", in)
			}
		}
		next = int(o) + 1
		want := &v.c.Insts[o]
		if want.Op == asm.MOVE {
			if err := v.move(s, inst, want, fail); err != nil {
				return err
			}
			continue
		}
		if v.report {
			if err := v.compare(s, inst, want, fail); err != nil {
				if other, ok := exchanged(want); !ok || v.compare(s, inst, &other, fail) != nil {
					return err
				}
			}
		}
		v.step(s, inst, want)
	}
	return nil
}

// alias lets d be where x is.
func (v *verifier) alias(s *state, d, x asm.Reg) {
	if d == x {
		return
	}
	s.forget(d)
	s.known[d] = s.known[x]
	if !s.known[x] {
		delete(s.known, d)
		return
	}
	for p, held := range s.in {
		if slices.Contains(held, x) {
			s.in[p] = append(slices.Clone(held), d)
		}
	}
}

// copied is the place that a copy, load or store of the allocator reads, and the one that it writes.
func (v *verifier) copied(inst *asm.Inst) (from, to int, ok bool) {
	if inst.Op != moves[asm.GP] && inst.Op != moves[asm.Vec] && inst.Op != moves[asm.Mask] {
		return 0, 0, false
	}
	if inst.Mem.None() {
		if inst.Src[0] == 0 {
			return 0, 0, false
		}
		return place(inst.Src[0]), place(inst.Dst), true
	}
	p, ok := v.slot(&inst.Mem)
	if inst.Dst != 0 {
		return p, place(inst.Dst), ok
	}
	return place(inst.Src[0]), p, ok
}

func (v *verifier) added(s *state, inst *asm.Inst, o int32, fail func(string, ...any) error) error {
	if o <= Remade {
		def := &v.c.Insts[Remade-o]
		if v.defs[def.Dst] != int(Remade-o) || !fromNothing(def) || *inst != remade(def, inst.Dst) {
			return fail("it does not make %s again", def.Dst)
		}
		s.in[place(inst.Dst)] = []asm.Reg{def.Dst}
		return nil
	}
	from, to, ok := v.copied(inst)
	if !ok {
		return fail("it is no copy between registers and the frame")
	}
	s.in[to] = s.in[from]
	if to >= classes*nreg {
		for p := to + 1; p < to+int(inst.Size+7)/8; p++ {
			s.in[p] = nil
		}
	}
	return nil
}

// compare checks that instruction inst does what want does.
func (v *verifier) compare(s *state, inst, want *asm.Inst, fail func(string, ...any) error) error {
	if inst.Op != want.Op || inst.Size != want.Size || inst.Imm != want.Imm || inst.To != want.To || inst.Zero != want.Zero {
		return fail("it is another instruction")
	}
	var err error
	same := func(what string, r, w asm.Reg) {
		if err != nil {
			return
		}
		switch {
		case r.Virtual():
			err = fail("%s is virtual", what)
		case !w.Virtual():
			if r != w {
				err = fail("%s is %s, not %s", what, r, w)
			}
		case r.Class() != w.Class():
			err = fail("%s is %s, which can not hold %s", what, r, w)
		case !s.has(place(r), w):
			err = fail("%s, %s, does not hold %s but %v", what, r, w, s.in[place(r)])
		}
	}
	id := idiom(want)
	folded := false
	for k, w := range want.Src {
		if id {
			if inst.Src[k] != 0 && inst.Src[k] != inst.Dst {
				return fail("it has sources")
			}
			continue
		}
		if w == 0 || inst.Src[k] != 0 {
			same(fmt.Sprintf("source %d", k), inst.Src[k], w)
			continue
		}
		if folded || !want.Mem.None() {
			return fail("source %d, %s, is missing", k, w)
		}
		folded = true
		if p, ok := v.slot(&inst.Mem); ok {
			if !s.has(p, w) {
				err = fail("the frame does not hold %s there but %v", w, s.in[p])
			}
			continue
		}
		d := v.defs[w]
		if d < 0 {
			return fail("%s is no constant", w)
		}
		elem, ok := want.TakesMem(k, v.c.Encodings)
		mem, bcast, is := constant(&v.c.Insts[d], want.Size, elem)
		if !ok || !is || mem != inst.Mem || bcast != inst.Bcast {
			return fail("the constant is not %s", w)
		}
	}
	if !folded {
		same("the base", inst.Mem.Base, want.Mem.Base)
		same("the index", inst.Mem.Index, want.Mem.Index)
		if inst.Mem.Disp != want.Mem.Disp || inst.Mem.Pool != want.Mem.Pool || inst.Mem.Scale != want.Mem.Scale || inst.Bcast != want.Bcast {
			return fail("its memory operand is another")
		}
	}
	same("the mask", inst.Mask, want.Mask)
	if want.ReadsDst() && !id {
		same("the destination", inst.Dst, want.Dst)
	}
	return err
}

// step notes what instruction inst, which comes from want, writes, and where it jumps.
func (v *verifier) step(s *state, inst, want *asm.Inst) {
	operands(want, func(r asm.Reg, _, writes bool) {
		if !writes {
			return
		}
		p := inst.Dst
		if r == want.Mask && r != want.Dst {
			p = inst.Mask
		} else if r == want.Src[0] && r != want.Dst {
			p = inst.Src[0]
		}
		if r.Virtual() {
			s.write(place(p), r)
		} else {
			s.in[place(p)] = nil
		}
	})
	switch {
	case want.Op.Branch():
		v.flow(s, inst.To)
	case want.Op == asm.LABEL:
		if t := v.at[inst.To]; t != nil {
			s.meet(t)
		}
	}
}

// flow notes what a jump brings to its label.
func (v *verifier) flow(s *state, to asm.Label) {
	if t := v.at[to]; t == nil {
		v.at[to] = s.clone()
		v.changed = true
	} else if t.meet(s) {
		v.changed = true
	}
}

// move checks a MOVE that became an instruction.
func (v *verifier) move(s *state, inst, want *asm.Inst, fail func(string, ...any) error) error {
	d, x := want.Dst, want.Src[0]
	from, to, ok := v.copied(inst)
	if ok && v.report && x.Virtual() && !s.has(from, x) {
		return fail("its source does not hold %s but %v", x, s.in[from])
	}
	if ok && !x.Virtual() && from != place(x) {
		return fail("its source is not %s", x)
	}
	if !ok {
		def := v.defs[x]
		if def < 0 || !fromNothing(&v.c.Insts[def]) || *inst != remade(&v.c.Insts[def], inst.Dst) {
			return fail("it does not make %s", x)
		}
		to = place(inst.Dst)
	}
	if inst.Dst == 0 || inst.Dst.Virtual() || !d.Virtual() && inst.Dst != d {
		return fail("its destination is not %s", d)
	}
	if !d.Virtual() {
		s.in[to] = nil
		return nil
	}
	if !x.Virtual() {
		s.write(to, d)
		return nil
	}
	v.alias(s, d, x)
	held := []asm.Reg{d, x}
	if from, _, ok := v.copied(inst); ok {
		held = append(slices.Clone(s.in[from]), d)
	}
	s.in[to] = held
	return nil
}
