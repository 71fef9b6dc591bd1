// Package x64 renders kernels as machine code of x86-64 processors: it selects instructions for the values of a loop nest and orders
// them (this package), assigns registers (regalloc) and encodes them (asm).
package x64

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"polygrad/core/nest/ir"
	"polygrad/core/settings"
	"polygrad/render/regalloc"
	"polygrad/render/x64/asm"
	"polygrad/render/x64/pipeline"
)

// Code is a kernel as machine code. The entry is its first byte, with RDI pointing to 64-bit words (the addresses of the buffers, the
// values of the variables, the first work item, the number of work items, the address of scratch memory) and RSI to a frame
// aligned to 64 bytes.
type Code struct {
	Name string
	// Text is the code with its constants; any multiple of 64 is a valid address.
	Text []byte
	// Buffers and Vars are the numbers of addresses and values among its arguments.
	Buffers, Vars int
	// Items is the number of work items of a run.
	Items int64
	// Frame and Scratch are its memory in bytes.
	Frame, Scratch int64
	// Setup is the share of the work of a run that each call does, for however many items.
	Setup float64
	// Flops and Bytes estimate the work of a run.
	Flops, Bytes float64
	// Insts are the instructions, for tests and dumps.
	Insts []asm.Inst
	// Spills counts the instructions added by the register allocator, weighted with 10 to the power of their depth.
	Spills float64
}

// dumping: POLY_DUMP=x64 prints the rendered kernels.
var dumping = sync.OnceValue(func() bool { return settings.Dump.Get() == "x64" })

// Render makes machine code of a legal kernel for processors with features f.
func Render(k *ir.Kernel, f Features) (code *Code, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("x64.Render of %s: %w", k.Name, r.error)
		default:
			panic(r)
		}
	}()
	coder := &asm.Coder{SSE: !f.AVX2 && !f.AVX512, VEX: f.AVX2 && !f.AVX512}
	f.AVX2 = f.AVX2 || f.AVX512
	g := newGen(k, f, coder)
	defer g.free()
	insts := g.function()
	r, err := allocate(&regalloc.Code[asm.Inst]{
		Insts: insts, Machine: machine{f.encodings(), coder}, Classes: f.classes(), Reserved: g.reserved, Interleaved: g.interleaved, Check: settings.Check.On(),
	})
	if err != nil {
		return nil, fmt.Errorf("x64.Render of %s: %w", k.Name, err)
	}
	insts = alignLoops(r.Insts)
	for i := range insts {
		if err := coder.Emit(&insts[i]); err != nil {
			return nil, fmt.Errorf("x64.Render of %s: %w", k.Name, err)
		}
	}
	text, err := coder.Finish()
	if err != nil {
		return nil, fmt.Errorf("x64.Render of %s: %w", k.Name, err)
	}
	if dumping() {
		pipeline.Dump(os.Stderr, k.Name, insts)
	}
	return &Code{
		Name: k.Name, Text: text, Buffers: len(k.Params), Vars: len(k.Vars), Items: k.Items,
		Frame: int64(max(r.Frame, g.reserved)), Scratch: k.Scratch, Setup: k.Setup, Flops: k.Flops, Bytes: k.Bytes, Insts: insts, Spills: r.Spills,
	}, nil
}

func (f Features) encodings() asm.Encodings {
	switch {
	case f.AVX512:
		return asm.Legacy | asm.VEX | asm.EVEX
	case f.AVX2:
		return asm.Legacy | asm.VEX
	}
	return asm.Legacy
}

// vectors is the number of vector registers.
func (f Features) vectors() int {
	if f.AVX512 {
		return 32
	}
	return 16
}

// room is memory that is reused from kernel to kernel.
type room struct {
	vals   []state
	outs   [][]asm.Inst // of sections that are closed
	places placeTable
	phis   map[*ir.Value]*phi
	steps  [lockstepWidth][]*ir.Value
}

func newRoom() *room {
	return &room{vals: make([]state, 1024), places: newPlaceTable(), phis: map[*ir.Value]*phi{}}
}

var rooms = sync.Pool{New: func() any { return newRoom() }}

// maxPlaces bounds the tables that are kept.
const maxPlaces = 1 << 13

// free returns the memory. Slices of the last section must not be in use any more.
func (g *gen) free() {
	if len(g.places.planned) > maxPlaces {
		return
	}
	clear(g.vals)
	g.room.vals = g.vals
	g.places.clear()
	g.room.places = g.places
	clear(g.phis)
	if g.cur != nil {
		g.recycle(g.cur.out)
	}
	rooms.Put(g.room)
}

// recycle keeps memory for the next section.
func (g *gen) recycle(out []asm.Inst) { g.room.outs = append(g.room.outs, out[:0]) }

// newSection begins the code of a block.
func (g *gen) newSection(b *ir.Block) *section {
	s := &section{block: b}
	if n := len(g.room.outs) - 1; n >= 0 {
		s.out, g.room.outs = g.room.outs[n], g.room.outs[:n]
	}
	g.sections[b] = s
	return s
}

func newGen(k *ir.Kernel, f Features, coder *asm.Coder) *gen {
	r := rooms.Get().(*room)
	return &gen{
		k: k, f: f, pool: pool{coder}, room: r,
		vals:     r.vals,
		sections: map[*ir.Block]*section{}, loops: map[*ir.Loop]*loop{}, phis: r.phis,
		places:     r.places,
		transposed: map[*ir.Value][]transposed{}, updates: map[*ir.Value]*ir.Place{}, gated: map[*ir.Place]asm.Reg{},
		splats: map[splatKey]asm.Reg{}, vectors: map[int32]asm.Reg{},
	}
}

// function selects the instructions of the whole kernel.
func (g *gen) function() []asm.Inst {
	g.count()
	g.cur = g.newSection(g.k.Root)
	g.ins(asm.MOV, 8, asm.RBP, asm.RSI)
	g.args = g.gp()
	g.move(g.args, asm.RDI)
	begin := len(g.cur.out)
	g.block(g.k.Root)
	if g.masksSpare {
		g.cur.out = slices.Insert(g.cur.out, begin, asm.Inst{Op: asm.MOV, Size: 8, Mem: asm.Mem{Base: asm.RBP}, Src: [3]asm.Reg{asm.RBP}})
	}
	if g.tiles {
		config := asm.Inst{Op: asm.LDTILECFG, Mem: g.pool.mem(tileConfig())}
		g.cur.out = slices.Insert(g.cur.out, begin, config)
		g.ins(asm.TILERELEASE, 0, 0)
	}
	if g.streams {
		g.ins(asm.SFENCE, 0, 0)
	}
	if g.f.AVX2 {
		g.ins(asm.VZEROUPPER, 0, 0)
	}
	g.ins(asm.RET, 0, 0)
	return g.cur.out
}

// alignLoops aligns innermost loops for the decoder. A loop is innermost if no other back edge lies between its top and its end.
func alignLoops(insts []asm.Inst) []asm.Inst {
	const boundary = 32
	var tops []int32 // of each label, 1 + where it is
	var inner []int  // tops of innermost loops, in order
	back := -1       // the last back edge
	for i := range insts {
		to := int(insts[i].To)
		switch {
		case insts[i].Op == asm.LABEL:
			if to >= len(tops) {
				tops = append(tops, make([]int32, to+1-len(tops))...)
			}
			tops[to] = int32(i + 1)
		case insts[i].Op.Branch() && to < len(tops) && tops[to] > 0:
			if top := int(tops[to]) - 1; top > back {
				inner = append(inner, top)
			}
			back = i
		}
	}
	n := len(insts)
	out := append(insts, make([]asm.Inst, len(inner))...)
	for k := len(inner) - 1; k >= 0; k-- {
		copy(out[inner[k]+k+1:], insts[inner[k]:n])
		out[inner[k]+k] = asm.Inst{Op: asm.ALIGN, Imm: boundary}
		n = inner[k]
	}
	return out
}
