package regalloc

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// toySimulator runs code of the toy, with virtual or physical registers.
type toySimulator struct {
	regs [1 << 12]int64 // by the number in Reg
	mem  []byte
	less bool
}

func (s *toySimulator) at(r Reg) *int64 { return &s.regs[r&(1<<24-1)] }

func newToySimulator(args, frame int64, mem []byte) *toySimulator {
	s := &toySimulator{mem: mem}
	*s.at(toyArgs), *s.at(toyFrame) = args, frame
	return s
}

func (s *toySimulator) run(insts []toyInst) {
	for k := 0; k < len(insts); k++ {
		i := &insts[k]
		a, b := *s.at(i.a), *s.at(i.b)
		switch i.op {
		case toyMove:
			*s.at(i.d) = a
		case toySet:
			*s.at(i.d) = i.imm
		case toyAdd:
			if i.b == 0 {
				b = int64(binary.LittleEndian.Uint64(s.mem[*s.at(toyFrame)+i.imm:]))
			}
			*s.at(i.d) = a + b
		case toyMul:
			*s.at(i.d) = a * b
		case toyAddF:
			*s.at(i.d) = int64(math.Float32bits(math.Float32frombits(uint32(a)) + math.Float32frombits(uint32(b))))
		case toyLoad:
			var word [8]byte
			copy(word[:], s.mem[a+i.imm:][:i.size])
			*s.at(i.d) = int64(binary.LittleEndian.Uint64(word[:]))
		case toyStore:
			copy(s.mem[a+i.imm:], binary.LittleEndian.AppendUint64(nil, uint64(b))[:i.size])
		case toyCompare:
			s.less = a < b
		case toyBranch:
			if s.less {
				k = slices.IndexFunc(insts, func(x toyInst) bool { return x.op == toyLabel && x.to == i.to })
			}
		}
	}
}

// twoAddressToy is a toy whose results are best in the register of the first source, and whose products are written
// before the second source is read.
type twoAddressToy struct{ toy }

func (m twoAddressToy) Operands(i *toyInst, ops []Operand) []Operand {
	ops = m.toy.Operands(i, ops)
	if i.op == toyMul {
		ops[len(ops)-1].Early = true
	}
	return ops
}

func (twoAddressToy) TwoAddress(i *toyInst) (first, second Reg, commutes bool) {
	if i.op != toyAdd && i.op != toyAddF {
		return 0, 0, false
	}
	return i.a, i.b, i.op == toyAdd
}

// toyProgram is random code: arithmetic, loops with variables, branches over code, and stores of all it computes.
type toyProgram struct {
	r      *rand.Rand
	s      toySelector
	vars   []Reg
	left   int
	stores int64
}

// pick is a register with a value, not the first one, which has an address.
func (p *toyProgram) pick() Reg { return p.vars[1+p.r.IntN(len(p.vars)-1)] }

// target is a new register or one that exists.
func (p *toyProgram) target() Reg {
	if p.r.IntN(3) == 0 {
		return p.pick()
	}
	return 0
}

func (p *toyProgram) block(depth int) {
	for p.left > 0 {
		p.left--
		switch n := p.r.IntN(20); {
		case n == 0 && depth < 3:
			p.loop(depth)
		case n == 1 && depth < 3:
			p.s.labels++
			to := p.s.labels
			p.s.ins(toyInst{op: toyCompare, a: p.pick(), b: p.pick()})
			p.s.ins(toyInst{op: toyBranch, to: to})
			known := slices.Clone(p.vars) // what is new behind the branch may not have been computed
			for range p.r.IntN(5) {
				p.vars = append(p.vars, p.s.ins(toyInst{op: toyAdd, d: p.target(), a: p.pick(), b: p.pick()}))
			}
			p.vars = known
			p.s.out = append(p.s.out, toyInst{op: toyLabel, to: to})
		case n == 2 && depth > 0:
			return
		case n < 5:
			p.vars = append(p.vars, p.s.set(int64(p.r.IntN(100))))
		case n < 7:
			p.vars = append(p.vars, p.s.ins(toyInst{op: toyMove, d: p.target(), a: p.pick()}))
		case n < 9:
			p.s.ins(toyInst{op: toyStore, a: p.vars[0], b: p.pick(), imm: 8 * p.stores, size: 8})
			p.stores++
		case n < 11:
			p.vars = append(p.vars, p.s.ins(toyInst{op: toyLoad, a: p.vars[0], imm: 8 * p.r.Int64N(p.stores+1), size: 8}))
		default:
			op := []toyOp{toyAdd, toyAdd, toyMul, toyAddF}[p.r.IntN(4)]
			d := p.target()
			if op == toyMul { // it may be written early
				d = 0
			}
			p.vars = append(p.vars, p.s.ins(toyInst{op: op, d: d, a: p.pick(), b: p.pick()}))
		}
	}
}

// loop turns three times; its variables get the values of others at its end.
func (p *toyProgram) loop(depth int) {
	p.s.labels++
	top := p.s.labels
	i, n, one := p.s.set(0), p.s.set(3), p.s.set(1)
	p.s.out = append(p.s.out, toyInst{op: toyLoop}, toyInst{op: toyLabel, to: top})
	p.block(depth + 1)
	for range p.r.IntN(4) {
		p.s.ins(toyInst{op: toyMove, d: p.pick(), a: p.pick()})
	}
	p.s.ins(toyInst{op: toyAdd, d: i, a: i, b: one})
	p.s.ins(toyInst{op: toyCompare, a: i, b: n})
	p.s.ins(toyInst{op: toyBranch, to: top})
	p.s.out = append(p.s.out, toyInst{op: toyEnd})
}

func randomToyProgram(seed uint64, length int) *toyProgram {
	p := &toyProgram{r: rand.New(rand.NewPCG(seed, 1)), left: length}
	p.vars = append(p.vars, p.s.ins(toyInst{op: toyMove, a: toyArgs}))
	for range 3 {
		p.vars = append(p.vars, p.s.set(int64(p.r.IntN(100))))
	}
	p.block(0)
	for _, v := range p.vars {
		p.s.ins(toyInst{op: toyStore, a: p.vars[0], b: v, imm: 8 * p.stores, size: 8})
		p.stores++
	}
	return p
}

// Code computes the same before and after allocation, with few registers and many.
func TestAllocationsKeepMeaning(t *testing.T) {
	folded := 0
	for seed := range uint64(120) {
		p := randomToyProgram(seed, 10+int(seed%150))
		for _, m := range []Machine[toyInst]{toy{}, twoAddressToy{}} {
			c := &Code[toyInst]{Insts: slices.Clone(p.s.out), Machine: m, Reserved: 8, Check: true}
			for n := range 3 + int(seed%4) {
				c.Classes[toyGP].Regs = append(c.Classes[toyGP].Regs, Phys(toyGP, n))
			}
			r, err := new(Allocator[toyInst]).Alloc(c)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			folded += len(r.folded)
			for _, i := range r.Insts {
				if m == (twoAddressToy{}) && i.op == toyMul && (i.d == i.a || i.d == i.b) {
					t.Errorf("seed %d: %+v overwrites what it has yet to read", seed, i)
				}
			}
			size := 8 * p.stores
			want, got := newToySimulator(0, size, make([]byte, size)), newToySimulator(0, size, make([]byte, size+int64(r.Frame)))
			want.run(p.s.out)
			got.run(r.Insts)
			if string(want.mem) != string(got.mem[:size]) {
				t.Fatalf("seed %d: memory differs after\n%s", seed, toyListing(r.Insts))
			}
			if string(got.mem[size:][:min(8, r.Frame)]) != strings.Repeat("\x00", int(min(8, r.Frame))) {
				t.Errorf("seed %d: the reserved part of the frame was written", seed)
			}
		}
	}
	if folded == 0 {
		t.Error("no operand was read from its spill slot by the instruction itself")
	}
}

func toyListing(insts []toyInst) string {
	var b strings.Builder
	for k, i := range insts {
		fmt.Fprintf(&b, "%4d %+v\n", k, i)
	}
	return b.String()
}

// The verifier finds a register that is another, and an instruction that is missing.
func TestVerifierFindsMistakes(t *testing.T) {
	c := &Code[toyInst]{Insts: randomToyProgram(7, 150).s.out, Machine: toy{}, Check: true}
	for n := range 4 {
		c.Classes[toyGP].Regs = append(c.Classes[toyGP].Regs, Phys(toyGP, n))
	}
	good, err := new(Allocator[toyInst]).Alloc(c)
	if err != nil {
		t.Fatal(err)
	}
	found, tried := 0, 0
	try := func(insts []toyInst, origin []int32) {
		r := good
		r.Insts, r.origin = insts, origin
		tried++
		if verify(c, &r) != nil {
			found++
		}
	}
	for k, i := range good.Insts {
		for _, o := range (toy{}).Operands(&i, nil) {
			if o.Reg == toyFrame || !o.Reads {
				continue
			}
			insts := slices.Clone(good.Insts)
			toy{}.Assign(&insts[k], o.At, Phys(toyGP, (o.Reg.Num()+1)%4))
			try(insts, good.origin)
		}
		if good.origin[k] < 0 {
			try(slices.Delete(slices.Clone(good.Insts), k, k+1), slices.Delete(slices.Clone(good.origin), k, k+1))
		}
	}
	if tried < 100 || found < tried*9/10 {
		t.Errorf("%d of %d mistakes found", found, tried)
	}
}
