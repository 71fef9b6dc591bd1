package regalloc

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
)

// A code generator for an invented processor, whole but small: what a new CPU needs besides an encoder. Its parts are
// instructions as data, a Machine that describes them to the register allocator, and a selector that turns the values
// of a nest into instructions. toySimulator stands in for the processor.

type toyOp uint8

const (
	toyLoop    toyOp = iota // begins a loop
	toyEnd                  // ends it
	toyLabel                // marks the place to
	toyMove                 // d = a
	toySet                  // d = imm
	toyAdd                  // d = a + b; without b, a + word at [fp+imm]
	toyMul                  // d = a * b
	toyAddF                 // d = a + b as float32
	toyLoad                 // d = size bytes at [a+imm]
	toyStore                // size bytes at [a+imm] = b
	toyCompare              // sets the flag to a < b
	toyBranch               // continues at to if the flag is set
)

type toyInst struct {
	op      toyOp
	d, a, b Reg
	imm     int64
	size    int64
	to      int32
}

// One class of eight registers: r0 holds the address of the arguments at entry, r7 that of the frame.
const toyGP Class = 1

var (
	toyArgs  = Phys(toyGP, 0)
	toyFrame = Phys(toyGP, 7)
)

type toy struct{}

func (toy) Operands(i *toyInst, ops []Operand) []Operand {
	for at, r := range [...]Reg{i.a, i.b, i.d} {
		if r != 0 {
			ops = append(ops, Operand{Reg: r, At: uint8(at), Size: 8, Reads: at < 2, Writes: at == 2})
		}
	}
	return ops
}

func (toy) Assign(i *toyInst, at uint8, r Reg) { *[...]*Reg{&i.a, &i.b, &i.d}[at] = r }

func (toy) Effects(i *toyInst) Effects {
	return [...]Effects{toyLoop: LoopBegin, toyEnd: LoopEnd, toyLabel: Label, toyMove: Copy, toyLoad: Loads, toyStore: Stores, toyCompare: SetsFlags, toyBranch: Branch | ReadsFlags}[i.op]
}

func (toy) Label(i *toyInst) int32 { return i.to }
func (toy) Move(to, from Reg, size uint8) toyInst {
	switch {
	case to == 0:
		return toyInst{op: toyStore, a: toyFrame, b: from, size: int64(size)}
	case from == 0:
		return toyInst{op: toyLoad, d: to, a: toyFrame, size: int64(size)}
	}
	return toyInst{op: toyMove, d: to, a: from}
}

func (toy) Displace(i *toyInst, offset int32) { i.imm = int64(offset) }

func (toy) Remat(def *toyInst, r Reg) (toyInst, bool) {
	i := *def
	i.d = r
	return i, def.op == toySet
}

func (toy) Fold(i *toyInst, at uint8, def *toyInst) bool {
	if i.op != toyAdd || at != 1 || def != nil {
		return false
	}
	i.b = 0
	return true
}

func (toy) TwoAddress(*toyInst) (first, second Reg, commutes bool) { return 0, 0, false }

// toySelector selects instructions for the values of a nest, each where it is first needed.
type toySelector struct {
	out    []toyInst
	regs   map[*ir.Value]Reg
	n      int // of registers
	labels int32
}

func (s *toySelector) ins(i toyInst) Reg {
	if i.d == 0 && i.op < toyStore {
		i.d = Virt(toyGP, s.n)
		s.n++
	}
	s.out = append(s.out, i)
	return i.d
}
func (s *toySelector) set(n int64) Reg { return s.ins(toyInst{op: toySet, imm: n}) }

func (s *toySelector) value(v *ir.Value) Reg {
	if r, ok := s.regs[v]; ok {
		return r
	}
	switch {
	case v.Op == ir.Const:
		s.regs[v] = s.set(int64(v.Bits))
	case v.Op == ir.Load:
		s.regs[v] = s.ins(toyInst{op: toyLoad, a: s.address(v.At), size: v.Kind.Size()})
	case v.Op == ir.Add && v.Kind == ir.F32:
		s.regs[v] = s.ins(toyInst{op: toyAddF, a: s.value(v.Args[0]), b: s.value(v.Args[1])})
	default:
		panic(fmt.Sprintf("the toy has no instruction for %v", v.Op))
	}
	return s.regs[v]
}

// address is that of a place: the buffer's, an argument, and what the terms add to it.
func (s *toySelector) address(p *ir.Place) Reg {
	r := s.ins(toyInst{op: toyLoad, a: s.regs[nil], imm: int64(8 * p.Buf.Param), size: 8})
	for _, t := range p.Terms {
		by := s.ins(toyInst{op: toyMul, a: s.value(t.V), b: s.set(t.Coef * p.Buf.Kind.Size())})
		r = s.ins(toyInst{op: toyAdd, a: r, b: by})
	}
	return s.ins(toyInst{op: toyAdd, a: r, b: s.set(p.Off * p.Buf.Kind.Size())})
}

func (s *toySelector) block(b *ir.Block) {
	for _, item := range b.Items {
		switch {
		case item.Store != nil:
			s.ins(toyInst{op: toyStore, a: s.address(item.Store.At), b: s.value(item.Store.Val), size: item.Store.Val.Kind.Size()})
		case item.Loop != nil:
			s.labels++
			top, count := s.labels, s.value(item.Loop.Count)
			iter := s.set(0)
			s.regs[item.Loop.Iter] = iter
			s.out = append(s.out, toyInst{op: toyLoop}, toyInst{op: toyLabel, to: top})
			s.block(item.Loop.Body)
			s.ins(toyInst{op: toyAdd, d: iter, a: iter, b: s.set(1)})
			s.ins(toyInst{op: toyCompare, a: iter, b: count})
			s.out = append(s.out, toyInst{op: toyBranch, to: top}, toyInst{op: toyEnd})
		}
	}
}

func TestSkeletonAddsVectors(t *testing.T) {
	const n = 10
	b := ir.NewBuilder("add", 1)
	var bufs [3]*ir.Buffer
	mem := make([]byte, 4*4*n)
	for k := range bufs {
		bufs[k] = &ir.Buffer{ID: int32(k + 1), Kind: ir.F32, Size: n, Param: k}
		b.Params = append(b.Params, ir.Param{DType: uop.Float32, Slot: k, Size: n, Written: k == 0})
		binary.LittleEndian.PutUint64(mem[8*k:], uint64(4*n*(k+1))) // the arguments are at 0
		for i := range n {
			binary.LittleEndian.PutUint32(mem[4*n*(k+1)+4*i:], math.Float32bits(float32(k*(i+1))))
		}
	}
	b.Loop("i", b.Int(ir.I64, n), func(l *ir.Loop) {
		at := func(k int) *ir.Place { return &ir.Place{Buf: bufs[k], Terms: []ir.Term{{V: l.Iter, Coef: 1}}} }
		b.Store(at(0), b.Do(ir.Add, ir.F32, b.Load(at(1), 1, nil), b.Load(at(2), 1, nil)))
	})
	s := &toySelector{regs: map[*ir.Value]Reg{}}
	s.regs[nil] = s.ins(toyInst{op: toyMove, a: toyArgs})
	s.block(b.Root)
	c := &Code[toyInst]{Insts: s.out, Machine: toy{}, Check: true}
	c.Classes[toyGP].Regs = []Reg{Phys(toyGP, 0), Phys(toyGP, 1), Phys(toyGP, 2), Phys(toyGP, 3)}
	r, err := new(Allocator[toyInst]).Alloc(c)
	if err != nil {
		t.Fatal(err)
	}
	sim := newToySimulator(0, int64(len(mem)), append(mem, make([]byte, r.Frame)...))
	sim.run(r.Insts)
	for i := range n {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(sim.mem[4*n+4*i:])); got != float32(3*(i+1)) {
			t.Errorf("element %d is %v, not %v", i, got, 3*(i+1))
		}
	}
}
