// Package fuzz makes random programs and runs them on several devices, which must agree.
package fuzz

import (
	"fmt"
	"math/rand/v2"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
	"polygrad/exec"
	"polygrad/tests/element"
	"polygrad/tests/guard"
)

// Program is a random request: inputs with their contents, and one STORE per output.
type Program struct {
	Seed    uint64
	Stores  []*uop.UOp
	Inputs  []Memory
	Outputs []Memory
	// Loose says per output that its values were rounded on the way (sums of arbitrary floats, transcendental functions).
	Loose []bool
}

// Check tells whether something beside the memory of a program was written.
func (p *Program) Check() error {
	for _, list := range [][]Memory{p.Inputs, p.Outputs} {
		for i, m := range list {
			if err := m.block.Check(); err != nil {
				return fmt.Errorf("beside buffer %d of %d (%s): %w", i, len(list), m.Buffer.DType, err)
			}
		}
	}
	return nil
}

// Free unmaps the memory of a program.
func (p *Program) Free() {
	for _, list := range [][]Memory{p.Inputs, p.Outputs} {
		for _, m := range list {
			m.block.Free()
		}
	}
}

// Memory is a buffer with its contents, beside which nothing can be touched.
type Memory struct {
	Buffer *uop.UOp
	block  *guard.Block
}

// Data is where the contents begin.
func (m Memory) Data() unsafe.Pointer { return m.block.Pointer() }

// Bind gives the buffer its memory.
func (m Memory) Bind() exec.Binding {
	return exec.Binding{Buffer: m.Buffer, Ptr: m.Data()}
}

// memory makes a buffer that lies up to three elements away from a page that nothing can touch.
func (gen *generator) memory(n int64, dt *uop.DType) (Memory, error) {
	side, shift := guard.Side(gen.r.IntN(2)), max(gen.r.IntN(6)-2, 0)*dt.Itemsize()
	b, err := guard.New(int(n)*dt.Itemsize(), side, shift)
	return Memory{gen.g.NewBuffer("CPU", n, dt), b}, err
}

// item is a value that the generator can use. Exact values are small multiples of 1/8, which
// every device computes without rounding, so that comparisons and roundings of them agree.
type item struct {
	u     *uop.UOp
	exact bool
	size  float64 // bound of the absolute value, if exact
}

type generator struct {
	r     *rand.Rand
	g     *uop.Graph
	p     *Program
	items []item
	// finals are values that nothing else is made of: rounded ones of narrow types, since devices may round once for several
	// operations.
	finals []item
	vars   int
}

// narrow says how large multiples of 1/8 may be in the narrow types of floats.
var narrow = map[*uop.DType]float64{uop.Float16: 1 << 8, uop.BFloat16: 1 << 5}

// exactLimit is the magnitude up to which multiples of 1/8 are exact in float32, with room for one more operation.
const exactLimit = 1 << 16

// Generate makes the program of a seed in graph g. Equal seeds make equal programs.
func Generate(g *uop.Graph, seed uint64) (*Program, error) {
	p := &Program{Seed: seed}
	gen := &generator{r: rand.New(rand.NewPCG(seed, 0x706f6c79)), g: g, p: p}
	for range 1 + gen.r.IntN(3) {
		if err := gen.input(); err != nil {
			return nil, err
		}
	}
	for steps := 3 + gen.r.IntN(14); steps > 0; steps-- {
		if err := gen.step(); err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return p, gen.outputs(p)
}

var inputTypes = []*uop.DType{uop.Float32, uop.Float32, uop.Float32, uop.Int32, uop.Int32, uop.Float64, uop.Int64, uop.Uint8, uop.Int8, uop.Int16, uop.Uint16, uop.Uint32, uop.Uint64, uop.Bool, uop.Float16, uop.BFloat16}

var shapeSizes = []int64{1, 2, 3, 4, 5, 7, 8, 12, 16}

func (gen *generator) shape() uop.Shape {
	s := make(uop.Shape, gen.r.IntN(4))
	for i := range s {
		s[i] = uop.N(shapeSizes[gen.r.IntN(len(shapeSizes))])
	}
	return s
}

func (gen *generator) input() error {
	var dims []int64
	for _, d := range gen.shape() {
		dims = append(dims, d.N)
	}
	it, err := gen.fresh(inputTypes[gen.r.IntN(len(inputTypes))], dims...)
	gen.add(it.u, it.exact, it.size)
	return err
}

// buffer makes an input with the given elements.
func (gen *generator) buffer(dt *uop.DType, dims []int64, value func() uop.Const) (*uop.UOp, error) {
	s := uop.ShapeOf(dims...)
	m, err := gen.memory(s.Numel().N, dt)
	if err != nil {
		return nil, err
	}
	for i := range s.Numel().N {
		element.Put(m.Data(), i, dt, value())
	}
	gen.p.Inputs = append(gen.p.Inputs, m)
	return tensor.Reshape(m.Buffer, s)
}

// fresh makes an input of random numbers.
func (gen *generator) fresh(dt *uop.DType, dims ...int64) (item, error) {
	u, err := gen.buffer(dt, dims, func() uop.Const { return number(dt, gen.r.IntN(65)-32) })
	if dt.IsFloat() {
		return item{u, true, 4}, err
	}
	return item{u, true, 32}, err
}

// filled makes an input of random numbers from 0 to limit-1.
func (gen *generator) filled(dt *uop.DType, limit int64, dims ...int64) (*uop.UOp, error) {
	return gen.buffer(dt, dims, func() uop.Const { return uop.Int(gen.r.Int64N(limit)) })
}

func (gen *generator) add(u *uop.UOp, exact bool, size float64) {
	if u != nil && u.Shape().Numel().N <= 4096 {
		if limit := narrow[u.DType]; limit > 0 && (!exact || size > limit) {
			return
		}
		gen.items = append(gen.items, item{u, exact && size <= exactLimit, size})
	}
}

func (gen *generator) pick() item { return gen.items[gen.r.IntN(len(gen.items))] }

// outputs stores the last values, some of them as a narrow type.
func (gen *generator) outputs(p *Program) error {
	n := len(gen.items)
	for i := n - 1; i >= max(0, n-2-gen.r.IntN(3)); i-- {
		it := gen.items[i]
		if it.u.DType == uop.Float32 && it.size < 1e4 && gen.chance(5) {
			u, err := tensor.Cast(it.u, []*uop.DType{uop.Float16, uop.BFloat16}[gen.r.IntN(2)])
			if err != nil {
				return err
			}
			it.u = u
		}
		gen.finals = append(gen.finals, it)
	}
	if err := gen.views(); err != nil {
		return err
	}
	for _, it := range gen.finals {
		m, err := gen.memory(it.u.Shape().Numel().N, it.u.DType)
		if err != nil {
			return err
		}
		p.Outputs = append(p.Outputs, m)
		p.Loose = append(p.Loose, !it.exact)
		p.Stores = append(p.Stores, m.Buffer.Store(it.u))
	}
	return nil
}

// views asks for some outputs in other shapes and orders, too: results that may share memory.
func (gen *generator) views() error {
	for _, it := range gen.finals {
		if !gen.chance(4) {
			continue
		}
		var err error
		u := it.u
		if gen.chance(2) {
			if u, err = tensor.Contiguous(u); err != nil {
				return err
			}
		}
		for range 1 + gen.r.IntN(2) {
			s := u.Shape()
			switch gen.r.IntN(5) {
			case 0:
				u, err = tensor.Flatten(u, 0, -1)
			case 1:
				u, err = tensor.Permute(u, gen.r.Perm(len(s))...)
			case 2:
				if len(s) > 0 {
					u, err = tensor.Flip(u, gen.r.IntN(len(s)))
				}
			case 3:
				if len(s) > 0 {
					lo := gen.r.Int64N(s[0].N)
					cut := make([]uop.Pair, len(s))
					for i := range cut {
						cut[i] = uop.Pair{Lo: uop.N(0), Hi: s[i]}
					}
					cut[0].Lo = uop.N(lo)
					u, err = tensor.Shrink(u, cut)
				}
			case 4:
				u, err = tensor.Unsqueeze(u, 0)
			}
			if err != nil {
				return err
			}
			it.u = u
			gen.finals = append(gen.finals, it)
		}
	}
	return nil
}

// number is what an element gets: multiples of 1/8 for floats.
func number(d *uop.DType, v int) uop.Const {
	switch {
	case d.IsFloat():
		return uop.Float(float64(v) / 8)
	case d.IsBool():
		return uop.BoolConst(v > 0)
	case d.IsUnsigned():
		return uop.Int(int64(max(v, -v)))
	}
	return uop.Int(int64(v))
}
