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

// Memory is a buffer with its contents.
type Memory struct {
	Buffer *uop.UOp
	Data   unsafe.Pointer
}

// Bind gives the buffer its memory.
func (m *Memory) Bind() exec.Binding {
	return exec.Binding{Buffer: m.Buffer, Ptr: m.Data}
}

func newMemory(g *uop.Graph, n int64, dt *uop.DType) Memory {
	return Memory{g.NewBuffer("CPU", n, dt), element.Memory(dt, n)}
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
	items []item
}

// exactLimit is the magnitude up to which multiples of 1/8 are exact in float32, with room for one more operation.
const exactLimit = 1 << 16

// Generate makes the program of a seed in graph g. Equal seeds make equal programs.
func Generate(g *uop.Graph, seed uint64) (*Program, error) {
	gen := &generator{r: rand.New(rand.NewPCG(seed, 0x706f6c79)), g: g}
	p := &Program{Seed: seed}
	for range 1 + gen.r.IntN(3) {
		if err := gen.input(p); err != nil {
			return nil, err
		}
	}
	for steps := 3 + gen.r.IntN(14); steps > 0; steps-- {
		if err := gen.step(); err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	gen.outputs(p)
	return p, nil
}

var inputTypes = []*uop.DType{uop.Float32, uop.Float32, uop.Float32, uop.Int32, uop.Int32, uop.Float64, uop.Int64, uop.Uint8, uop.Int8, uop.Uint32, uop.Bool}

func (gen *generator) shape() uop.Shape {
	s := make(uop.Shape, gen.r.IntN(4))
	for i := range s {
		s[i] = uop.N([]int64{1, 2, 3, 4, 5, 7, 8, 12}[gen.r.IntN(8)])
	}
	return s
}

func (gen *generator) input(p *Program) error {
	dt, s := inputTypes[gen.r.IntN(len(inputTypes))], gen.shape()
	n := s.Numel().N
	m := newMemory(gen.g, n, dt)
	for i := range n {
		element.Put(m.Data, i, dt, number(dt, gen.r.IntN(65)-32))
	}
	p.Inputs = append(p.Inputs, m)
	u, err := tensor.Reshape(m.Buffer, s)
	gen.add(u, true, 32)
	return err
}

func (gen *generator) add(u *uop.UOp, exact bool, size float64) {
	if u != nil && u.Shape().Numel().N <= 4096 {
		gen.items = append(gen.items, item{u, exact && size <= exactLimit, size})
	}
}

func (gen *generator) pick() item { return gen.items[gen.r.IntN(len(gen.items))] }

// outputs stores the last value and a few others.
func (gen *generator) outputs(p *Program) {
	n := len(gen.items)
	for i := n - 1; i >= max(0, n-3); i-- {
		it := gen.items[i]
		m := newMemory(gen.g, it.u.Shape().Numel().N, it.u.DType)
		p.Outputs = append(p.Outputs, m)
		p.Loose = append(p.Loose, !it.exact)
		p.Stores = append(p.Stores, m.Buffer.Store(it.u))
	}
}

// number is what an element gets: multiples of 1/8 for floats. Negative numbers wrap in unsigned types.
func number(d *uop.DType, v int) uop.Const {
	switch {
	case d.IsFloat():
		return uop.Float(float64(v) / 8)
	case d.IsBool():
		return uop.BoolConst(v > 0)
	}
	return uop.Int(int64(v))
}
