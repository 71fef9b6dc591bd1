package x64

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"polygrad/render/x64/asm"
)

// program writes random code: arithmetic over variables of all classes, variables of loops, code that is jumped over.
type program struct {
	r      *rand.Rand
	insts  []asm.Inst
	count  [5]int
	vars   [5][]asm.Reg // that may be read
	labels asm.Label
	legacy bool
	left   int
}

func (p *program) add(i asm.Inst) { p.insts = append(p.insts, i) }

func (p *program) fresh(c asm.Class) asm.Reg {
	p.count[c]++
	return asm.Virt(c, p.count[c]-1)
}

func (p *program) pick(c asm.Class) asm.Reg {
	v := p.vars[c]
	if len(v) > 8 && p.r.IntN(3) > 0 {
		v = v[len(v)-8:]
	}
	return v[p.r.IntN(len(v))]
}

func (p *program) class() asm.Class {
	if !p.legacy && p.r.IntN(5) == 0 {
		return asm.Mask
	}
	return [3]asm.Class{asm.GP, asm.Vec, asm.Vec}[p.r.IntN(3)]
}

var size = [5]uint8{asm.GP: 8, asm.Vec: 64, asm.Mask: 8}

func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// target is a new variable, or one that exists.
func (p *program) target(c asm.Class) asm.Reg {
	if p.r.IntN(4) == 0 {
		return p.pick(c)
	}
	return p.fresh(c)
}

func (p *program) statement() {
	p.left--
	c := p.class()
	var d asm.Reg
	s := func(rs ...asm.Reg) (a [3]asm.Reg) { copy(a[:], rs); return }
	switch n := p.r.IntN(16); {
	case n == 0:
		d = p.target(c)
		p.add(asm.Inst{Op: asm.MOVE, Size: size[c], Dst: d, Src: s(p.pick(c))})
	case n == 1:
		d = p.constant(c)
	case n == 2:
		m := asm.Mem{Base: asm.Virt(asm.GP, 0), Disp: int32(p.r.IntN(3) * 64)}
		if p.r.IntN(2) == 0 {
			m = asm.Mem{Base: m.Base, Index: p.pick(asm.GP), Scale: 1, Disp: int32(p.r.IntN(1000) * 64)}
		}
		p.add(asm.Inst{Op: moves[c], Size: size[c], Src: s(p.pick(c)), Mem: m})
	case n == 3 && c != asm.Mask:
		d = p.target(c)
		p.add(asm.Inst{Op: moves[c], Size: size[c], Dst: d, Mem: asm.Mem{Base: oneOf(p.r, asm.Virt(asm.GP, 0), p.pick(asm.GP)), Disp: int32(p.r.IntN(3) * 64)}})
	case c == asm.GP && n < 6:
		d = p.pick(c)
		p.add(asm.Inst{Op: asm.ADD, Size: 8, Dst: d, Src: s(p.pick(c))})
	case c == asm.GP && n == 6:
		// A shift by a variable count.
		d = p.target(c)
		x, k := p.pick(c), p.pick(c)
		p.add(asm.Inst{Op: asm.MOVE, Size: 8, Dst: asm.RCX, Src: s(k)})
		p.add(asm.Inst{Op: asm.MOVE, Size: 8, Dst: asm.RAX, Src: s(x)})
		p.add(asm.Inst{Op: asm.SHL, Size: 8, Dst: asm.RAX, Src: s(asm.RCX)})
		p.add(asm.Inst{Op: asm.MOVE, Size: 8, Dst: d, Src: s(asm.RAX)})
	case c == asm.GP && n == 7:
		p.add(asm.Inst{Op: asm.CMP, Size: 8, Src: s(p.pick(c), p.pick(c))})
		d = p.pick(c)
		p.add(asm.Inst{Op: asm.CMOVB, Size: 8, Dst: d, Src: s(p.pick(c))})
	case c == asm.GP:
		d = p.target(c)
		p.add(asm.Inst{Op: asm.ANDN, Size: 8, Dst: d, Src: s(p.pick(c), p.pick(c))})
	case c == asm.Mask && n < 8:
		d = p.target(c)
		p.add(asm.Inst{Op: asm.VCMPPS, Size: 64, Dst: d, Src: s(p.pick(asm.Vec), p.pick(asm.Vec)), Imm: 1})
	case c == asm.Mask:
		d = p.target(c)
		p.add(asm.Inst{Op: asm.KANDNW, Size: 8, Dst: d, Src: s(p.pick(c), p.pick(c))})
	case n < 7 && !p.legacy:
		d = p.pick(c)
		p.add(asm.Inst{Op: oneOf(p.r, asm.VFMADD132PS, asm.VFMADD213PS, asm.VFMADD231PS), Size: 64, Dst: d, Src: s(p.pick(c), p.pick(c))})
	case n == 7 && !p.legacy:
		d = p.pick(c)
		p.add(asm.Inst{Op: asm.VADDPS, Size: 64, Dst: d, Src: s(p.pick(c), p.pick(c)), Mask: p.pick(asm.Mask)})
	case n == 8 && !p.legacy:
		d = p.pick(c)
		k := p.fresh(asm.Mask)
		p.add(asm.Inst{Op: asm.MOVE, Size: 8, Dst: k, Src: s(p.pick(asm.Mask))})
		x := p.pick(c)
		if x == d {
			break
		}
		p.add(asm.Inst{Op: asm.VGATHERDPS, Size: 64, Dst: d, Mask: k, Mem: asm.Mem{Base: asm.Virt(asm.GP, 0), Index: x, Scale: 4}})
	case n < 11:
		d = p.target(c)
		p.add(asm.Inst{Op: asm.VADDPS, Size: 64, Dst: d, Src: s(p.pick(c), p.pick(c))})
	case n < 14:
		d = p.target(c)
		p.add(asm.Inst{Op: asm.VSUBPS, Size: 64, Dst: d, Src: s(p.pick(c), p.pick(c))})
	default:
		d = p.target(c)
		p.add(asm.Inst{Op: asm.VSQRTPS, Size: 64, Dst: d, Src: s(p.pick(c))})
	}
	if d != 0 {
		p.vars[d.Class()] = append(p.vars[d.Class()], d)
	}
}

// constant is a new variable that needs no others.
func (p *program) constant(c asm.Class) asm.Reg {
	d := p.fresh(c)
	pool := asm.Mem{Pool: int32(p.r.IntN(5) + 1)}
	switch n := p.r.IntN(3); {
	case c == asm.GP && n == 0:
		p.add(asm.Inst{Op: asm.XOR, Size: 8, Dst: d, Src: [3]asm.Reg{d}})
	case c == asm.GP:
		p.add(asm.Inst{Op: asm.MOV, Size: 8, Dst: d, Imm: int64(p.r.IntN(1000))})
	case c == asm.Mask:
		p.add(asm.Inst{Op: asm.KXNORW, Size: 8, Dst: d, Src: [3]asm.Reg{d, d}})
	case n == 0:
		p.add(asm.Inst{Op: asm.VXORPS, Size: 64, Dst: d, Src: [3]asm.Reg{d, d}})
	case n == 1 && !p.legacy:
		p.add(asm.Inst{Op: asm.VBROADCASTSS, Size: 64, Dst: d, Mem: pool})
	default:
		p.add(asm.Inst{Op: asm.VMOVAPS, Size: 64, Dst: d, Mem: pool})
	}
	return d
}

// scoped writes code whose new variables are forgotten behind it, as it may not have run.
func (p *program) scoped(f func()) {
	vars := p.vars
	for k := range vars {
		vars[k] = vars[k][:len(vars[k]):len(vars[k])]
	}
	f()
	p.vars = vars
}

func (p *program) block(depth int) {
	for p.left > 0 {
		switch n := p.r.IntN(30); {
		case n == 0 && depth < 4:
			p.loop(depth)
		case n == 1 && depth < 4:
			p.labels++
			l := p.labels
			p.add(asm.Inst{Op: asm.CMP, Size: 8, Src: [3]asm.Reg{p.pick(asm.GP), p.pick(asm.GP)}})
			p.add(asm.Inst{Op: asm.JB, To: l})
			p.scoped(func() {
				for range p.r.IntN(6) {
					p.statement()
				}
				switch p.r.IntN(6) {
				case 0:
					p.loop(depth + 1)
				case 1:
					p.add(asm.Inst{Op: asm.CMP, Size: 8, Src: [3]asm.Reg{p.pick(asm.GP), p.pick(asm.GP)}})
					p.add(asm.Inst{Op: asm.JB, To: l})
					for range p.r.IntN(6) {
						p.statement()
					}
				}
			})
			p.add(asm.Inst{Op: asm.LABEL, To: l})
		case n == 2 && depth > 0:
			return
		default:
			p.statement()
		}
	}
}

// loop is one with a counter, variables that are replaced at its end, and variables that change in place.
func (p *program) loop(depth int) {
	p.labels++
	l := p.labels
	counter := p.fresh(asm.GP)
	p.add(asm.Inst{Op: asm.MOV, Size: 8, Dst: counter, Imm: int64(1 + p.r.IntN(3))})
	type phi struct{ v, next asm.Reg }
	var phis []phi
	for range p.r.IntN(6) {
		c := p.class()
		v := p.fresh(c)
		p.add(asm.Inst{Op: asm.MOVE, Size: size[c], Dst: v, Src: [3]asm.Reg{p.pick(c)}})
		phis = append(phis, phi{v: v})
		p.vars[c] = append(p.vars[c], v)
	}
	p.add(asm.Inst{Op: asm.LOOP, Imm: int64(l)})
	p.add(asm.Inst{Op: asm.LABEL, To: l})
	p.block(depth + 1)
	for k := range phis {
		phis[k].next = p.pick(phis[k].v.Class())
	}
	for _, f := range phis {
		p.add(asm.Inst{Op: asm.MOVE, Size: size[f.v.Class()], Dst: f.v, Src: [3]asm.Reg{f.next}})
	}
	p.add(asm.Inst{Op: asm.SUB, Size: 8, Dst: counter, Imm: 1})
	p.add(asm.Inst{Op: asm.JNE, To: l})
	p.add(asm.Inst{Op: asm.ENDLOOP, Imm: int64(l)})
}

func randomProgram(seed uint64, length int, legacy bool) []asm.Inst {
	p := &program{r: rand.New(rand.NewPCG(seed, 1)), legacy: legacy, left: length}
	base := p.fresh(asm.GP)
	p.add(asm.Inst{Op: asm.MOVE, Size: 8, Dst: base, Src: [3]asm.Reg{asm.RDI}})
	p.vars[asm.GP] = append(p.vars[asm.GP], base)
	for _, c := range []asm.Class{asm.GP, asm.Vec, asm.Mask} {
		for range 2 + p.r.IntN(12) {
			if c == asm.Mask && legacy {
				break
			}
			p.vars[c] = append(p.vars[c], p.constant(c))
		}
	}
	base = 0
	p.block(0)
	for _, c := range []asm.Class{asm.GP, asm.Vec, asm.Mask} {
		for k, v := range p.vars[c] {
			p.add(asm.Inst{Op: moves[c], Size: size[c], Src: [3]asm.Reg{v}, Mem: asm.Mem{Base: asm.Virt(asm.GP, 0), Disp: int32(k*64 + 1<<20*int(c))}})
		}
	}
	for k := range p.insts {
		if legacy && p.insts[k].Size == 64 {
			p.insts[k].Size = 16
		}
	}
	return p.insts
}

func TestAllocRandom(t *testing.T) {
	n := 600
	if testing.Short() {
		n = 100
	}
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := &testCode{Regs: limits(3+r.IntN(9), 3+r.IntN(12), 2+r.IntN(6))}
		if seed%4 == 0 {
			c.Encodings = asm.Legacy
		}
		c.Insts = randomProgram(seed, 10+r.IntN(200), c.Encodings == asm.Legacy)
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { mustAllocate(t, c) }) {
			return
		}
	}
}
