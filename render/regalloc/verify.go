package regalloc

import (
	"fmt"
	"slices"
)

// state maps values to locations. A value is that of a virtual register, or of a physical one outside of the allocation. Locations
// are the registers by class and number, then the frame in units of 8 bytes. An unwritten virtual register may be anywhere.
type state struct {
	in    [][]Reg
	known map[Reg]bool
}

func newState(frame int32) *state {
	s := &state{in: make([][]Reg, classes*nreg+int(frame+63)/8), known: map[Reg]bool{}}
	for c := range Class(classes) {
		for n := range nreg {
			s.in[place(Phys(c, n))] = []Reg{Phys(c, n)}
		}
	}
	return s
}

func (s *state) clone() *state {
	t := &state{in: slices.Clone(s.in), known: map[Reg]bool{}}
	for r := range s.known {
		t.known[r] = true
	}
	return t
}

func (s *state) has(place int, v Reg) bool { return s.undefined(v) || slices.Contains(s.in[place], v) }

func (s *state) undefined(v Reg) bool { return v.Virtual() && !s.known[v] }

// write makes this v's only location; it holds no other value.
func (s *state) write(place int, v Reg) {
	s.forget(v)
	if v.Virtual() {
		s.known[v] = true
	}
	s.in[place] = []Reg{v}
}

func (s *state) forget(v Reg) {
	for p, held := range s.in {
		if slices.Contains(held, v) {
			s.in[p] = slices.DeleteFunc(slices.Clone(held), func(r Reg) bool { return r == v })
		}
	}
}

// alias adds the locations of x to d.
func (s *state) alias(d, x Reg) {
	if d == x {
		return
	}
	s.forget(d)
	if s.undefined(x) {
		delete(s.known, d)
		return
	}
	s.known[d] = true
	for p, held := range s.in {
		if slices.Contains(held, x) {
			s.in[p] = append(slices.Clone(held), d)
		}
	}
}

// meet is the intersection of s with t; it reports whether s has shrunk.
func (s *state) meet(t *state) bool {
	less := false
	for r := range t.known {
		if !s.known[r] {
			// s has it everywhere: now it is where t has it.
			for p := range s.in {
				if slices.Contains(t.in[p], r) {
					s.in[p] = append(slices.Clone(s.in[p]), r)
				}
			}
			s.known[r], less = true, true
		}
	}
	for p, held := range s.in {
		kept := slices.DeleteFunc(slices.Clone(held), func(r Reg) bool { return !t.has(p, r) })
		if len(kept) < len(held) {
			s.in[p], less = kept, true
		}
	}
	return less
}

type verifier[I comparable] struct {
	c       *Code[I]
	r       *Result[I]
	folded  map[int32][]folded
	at      map[int32]*state // the states of branches at their labels
	defs    map[Reg]int32    // the instruction that writes a virtual register, -1 for several
	changed bool
	report  bool
}

// verify follows the code of r and checks that each instruction reads the values that c's does, across loops, branches, copies and
// the frame.
func verify[I comparable](c *Code[I], r *Result[I]) error {
	v := verifier[I]{c: c, r: r, folded: map[int32][]folded{}, at: map[int32]*state{}, defs: map[Reg]int32{}}
	for i := range c.Insts {
		for _, o := range c.Machine.Operands(&c.Insts[i], nil) {
			if _, ok := v.defs[o.Reg]; ok && o.Writes {
				v.defs[o.Reg] = -1
			} else if o.Writes {
				v.defs[o.Reg] = int32(i)
			}
		}
	}
	for _, f := range r.folded {
		v.folded[f.inst] = append(v.folded[f.inst], f)
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

func place(r Reg) int { return int(r.Class())*nreg + r.Num() }

// slot is the location of a spill slot.
func (v *verifier[I]) slot(offset int32) (int, error) {
	if offset < v.c.Reserved || offset >= v.r.Frame || offset%8 != 0 {
		return 0, fmt.Errorf("offset %d is no spill slot", offset)
	}
	return classes*nreg + int(offset/8), nil
}

// run follows the code once.
func (v *verifier[I]) run() error {
	s := newState(v.r.Frame)
	next := int32(0)
	for k := range v.r.Insts {
		inst, o := &v.r.Insts[k], v.r.origin[k]
		var err error
		if o < 0 {
			err = v.addition(s, inst, v.r.added[-1-o])
		} else {
			for ; next < o && err == nil; next++ {
				err = v.left(s, &v.c.Insts[next])
			}
			if next = o + 1; err == nil {
				err = v.step(s, inst, o)
			}
		}
		if err != nil {
			return fmt.Errorf("regalloc: verify: instruction %d, %v: %w", k, inst, err)
		}
	}
	return nil
}

// left checks an instruction missing in the result: a Copy replaced by added instructions.
func (v *verifier[I]) left(s *state, inst *I) error {
	switch e := v.c.Machine.Effects(inst); {
	case e&Copy != 0:
		ops := v.c.Machine.Operands(inst, nil)
		x, d := ops[0].Reg, ops[1].Reg
		if d.Virtual() {
			s.alias(d, x)
			return nil
		}
		if v.report && !s.has(place(d), x) {
			return fmt.Errorf("the copy before it, %v, is missing", inst)
		}
		s.write(place(d), d)
	case e&(LoopBegin|LoopEnd) == 0:
		return fmt.Errorf("the instruction before it, %v, is missing", inst)
	}
	return nil
}

// addition checks an added instruction and follows it.
func (v *verifier[I]) addition(s *state, inst *I, d added) error {
	m := v.c.Machine
	if d.remat != none {
		def := &v.c.Insts[d.remat]
		ops := m.Operands(def, nil)
		if want, ok := m.Remat(def, d.to); !ok || want != *inst || v.defs[ops[len(ops)-1].Reg] != d.remat {
			return fmt.Errorf("it does not make again what %v does", def)
		}
		s.in[place(d.to)] = []Reg{ops[len(ops)-1].Reg}
		return nil
	}
	want := m.Move(d.to, d.from, d.size)
	from, to := place(d.from), place(d.to)
	var err error
	if d.from == 0 {
		from, err = v.slot(d.offset)
	} else if d.to == 0 {
		to, err = v.slot(d.offset)
	}
	if d.from == 0 || d.to == 0 {
		m.Displace(&want, d.offset)
	}
	if err != nil {
		return err
	}
	if want != *inst {
		return fmt.Errorf("it is not the copy %v", &want)
	}
	s.in[to] = s.in[from]
	if d.to == 0 {
		for p := to + 1; p < to+int(d.size+7)/8; p++ {
			s.in[p] = nil
		}
	}
	return nil
}

// step checks that inst corresponds to instruction o of the code, and follows it.
func (v *verifier[I]) step(s *state, inst *I, o int32) error {
	m := v.c.Machine
	want := v.c.Insts[o]
	for _, f := range v.folded[o] {
		var def *I
		if f.remat != none {
			def = &v.c.Insts[f.remat]
		}
		for _, o := range m.Operands(&want, nil) {
			if o.At != f.at || !v.report {
				continue
			}
			if p, err := v.slot(f.offset); def == nil && (err != nil || !s.has(p, o.Reg)) {
				return fmt.Errorf("the frame does not hold %v", o.Reg)
			}
			if def != nil && v.defs[o.Reg] != f.remat {
				return fmt.Errorf("%v is not the constant of %v", o.Reg, def)
			}
		}
		if !m.Fold(&want, f.at, def) {
			return fmt.Errorf("it cannot read operand %d of %v from memory", f.at, &want)
		}
		if def == nil {
			m.Displace(&want, f.offset)
		}
	}
	virtual, physical := m.Operands(&want, nil), m.Operands(inst, nil)
	if len(virtual) != len(physical) {
		return fmt.Errorf("it has %d operands, %v has %d", len(physical), &want, len(virtual))
	}
	for k, w := range virtual {
		switch r := physical[k].Reg; {
		case r.Virtual() || r.Class() != w.Reg.Class() || !w.Reg.Virtual() && r != w.Reg:
			return fmt.Errorf("%v cannot stand for %v", r, w.Reg)
		case v.report && w.Reads && w.Reg.Virtual() && !s.has(place(r), w.Reg):
			return fmt.Errorf("%v does not hold %v but %v", r, w.Reg, s.in[place(r)])
		default:
			m.Assign(&want, w.At, r)
		}
	}
	if want != *inst {
		return fmt.Errorf("it is not %v", &want)
	}
	for k, w := range virtual {
		if w.Writes {
			s.write(place(physical[k].Reg), w.Reg)
		}
	}
	switch e := m.Effects(inst); {
	case e&Branch != 0:
		v.flow(s, m.Label(inst))
	case e&Label != 0:
		if t := v.at[m.Label(inst)]; t != nil {
			s.meet(t)
		}
	}
	return nil
}

// flow merges the state of a branch into its label's.
func (v *verifier[I]) flow(s *state, to int32) {
	if t := v.at[to]; t == nil {
		v.at[to] = s.clone()
		v.changed = true
	} else if t.meet(s) {
		v.changed = true
	}
}
