// Package interp runs kernels as nests of loops without making code of them: tests compare code generators with it.
package interp

import (
	"fmt"
	"polygrad/core/nest/ir"
	"unsafe"
)

// Run runs a kernel, or those of its work items from first on, without making code of it. It is the reference for
// renderers, so it is written for plainness, and finds what they need not look for: memory accessed outside of its
// buffer, values used where they cannot be computed, and loads used before their place.
//
// Bufs are the addresses of the buffers in the order of Kernel.Params, vars the variables in that of Kernel.Vars.
// Scratch memory is made for the call and full of garbage.
func Run(k *ir.Kernel, bufs []unsafe.Pointer, vars []int64, first, items int64) (err error) {
	if len(bufs) != len(k.Params) || len(vars) != len(k.Vars) {
		return fmt.Errorf("interp.Run of %s: given %d buffers and %d variables, expected %d and %d", k.Name, len(bufs), len(vars), len(k.Params), len(k.Vars))
	}
	m := &interpreter{k: k, bufs: bufs, vars: vars, first: first, items: items, blocks: map[*ir.Block]*blockState{}, stores: map[int32]int64{}}
	scratch := make([]uint64, k.Scratch/8+9)
	for i := range scratch {
		scratch[i] = 0xFFF7_A5A5_7FA5_A5A5 // NaN in every float
	}
	base := unsafe.Pointer(unsafe.SliceData(scratch))
	m.scratch = unsafe.Add(base, -uintptr(base)&63)
	defer func() {
		if err != nil {
			err = fmt.Errorf("interp.Run of %s: %w", k.Name, err)
		}
	}()
	defer ir.Recover(&err)
	root := m.block(k.Root)
	m.clock++
	root.turn = m.clock
	m.run(k.Root)
	return nil
}

// interpreter is the state of one run.
type interpreter struct {
	k            *ir.Kernel
	bufs         []unsafe.Pointer
	vars         []int64
	first, items int64
	scratch      unsafe.Pointer
	blocks       map[*ir.Block]*blockState
	cells        []*cell // by Value.ID
	clock        int64   // counts the iterations of all loops
	// stores counts the stores to each buffer, by Buffer.ID.
	stores map[int32]int64
}

// blockState says in which iteration a block is: no two have the same turn. It is 0 while the block does not run.
type blockState struct{ turn int64 }

// cell holds what a value was in the turn of its block in which it was computed last.
type cell struct {
	home *blockState
	turn int64
	bits []uint64    // a register for each lane
	f    ir.LaneFunc // of values computed lane by lane
	// final is, of a phi, its value after its loop, as of the turn finalTurn of the block around that.
	final     []uint64
	finalTurn int64
	// stores is, of a load without a place, how many stores to its buffer there were before it.
	stores int64
}

func (m *interpreter) block(b *ir.Block) *blockState {
	s := m.blocks[b]
	if s == nil {
		s = &blockState{}
		m.blocks[b] = s
	}
	return s
}

func (m *interpreter) cell(v *ir.Value) *cell {
	for int(v.ID) >= len(m.cells) {
		m.cells = append(m.cells, make([]*cell, len(m.cells)+64)...)
	}
	c := m.cells[v.ID]
	if c == nil {
		if v.Lanes != 1 && v.Lanes != m.k.Lanes {
			ir.Fail("value %d (%s) has %d lanes, expected 1 or %d", v.ID, v.Op, v.Lanes, m.k.Lanes)
		}
		c = &cell{home: m.block(v.Block), bits: make([]uint64, v.Lanes)}
		m.cells[v.ID] = c
	}
	return c
}

// run does the effects of a block in their order.
func (m *interpreter) run(b *ir.Block) {
	for _, it := range b.Items {
		switch {
		case it.Store != nil:
			m.store(it.Store)
		case it.Dot != nil:
			m.dot(it.Dot)
		case it.Prefetch != nil: // changes nothing
		case it.Load != nil:
			c := m.cell(it.Load)
			m.load(it.Load, c.bits)
			c.turn = c.home.turn
		default:
			m.loop(it.Loop)
		}
	}
}

func (m *interpreter) loop(l *ir.Loop) {
	count := m.integer(l.Count)
	phis := make([][]uint64, len(l.Phis))
	for i, p := range l.Phis {
		phis[i] = append(phis[i], m.value(p.Init)...)
	}
	body := m.block(l.Body)
	set := func(v *ir.Value, bits []uint64) {
		c := m.cell(v)
		copy(c.bits, bits)
		c.turn = body.turn
	}
	for n := range count {
		m.clock++
		body.turn = m.clock
		set(l.Iter, []uint64{l.Iter.Kind.Wrap(n)})
		for i, p := range l.Phis {
			set(p.V, phis[i])
		}
		m.run(l.Body)
		for i, p := range l.Phis {
			if p.Next == nil || p.Next.Lanes != p.V.Lanes {
				ir.Fail("variable %d of loop %q has no next value of its %d lanes", p.V.ID, l.Label, p.V.Lanes)
			}
			copy(phis[i], m.value(p.Next))
		}
	}
	body.turn = 0
	around := m.block(l.Body.Parent)
	for i, p := range l.Phis {
		c := m.cell(p.V)
		c.final, c.finalTurn = phis[i], around.turn
	}
}

// value computes a value if it has not been since its block came to this iteration.
func (m *interpreter) value(v *ir.Value) []uint64 {
	c := m.cell(v)
	switch {
	case c.home.turn == 0:
		ir.Fail("value %d (%s) is used outside of its block", v.ID, v.Op)
	case c.turn == c.home.turn:
		if v.Op == ir.Load && v.Pos == 0 && c.stores != m.stores[v.At.Buf.ID] {
			ir.Fail("load %d, which has no place, is used after a store to buffer %d", v.ID, v.At.Buf.ID)
		}
		return c.bits
	case v.Op == ir.Iter || v.Op == ir.Phi || v.Pos > 0:
		ir.Fail("value %d (%s) is used before its place", v.ID, v.Op)
	}
	m.compute(v, c.bits)
	c.turn = c.home.turn
	return c.bits
}

// compute writes the lanes of a pure value.
func (m *interpreter) compute(v *ir.Value, out []uint64) {
	fill := func(bits uint64) {
		for i := range out {
			out[i] = bits
		}
	}
	switch v.Op {
	case ir.Const:
		fill(v.Bits)
	case ir.Var:
		fill(v.Kind.Wrap(m.vars[v.Bits]))
	case ir.First:
		fill(uint64(m.first))
	case ir.Items:
		fill(uint64(m.items))
	case ir.Lane:
		for i := range out {
			out[i] = uint64(i)
		}
	case ir.Final:
		p := m.cell(v.Args[0])
		if p.final == nil || p.finalTurn != m.block(v.Block).turn {
			ir.Fail("value %d (%s) is used before its loop", v.ID, v.Op)
		}
		copy(out, p.final)
	case ir.Load:
		m.cells[v.ID].stores = m.stores[v.At.Buf.ID]
		m.load(v, out)
	case ir.Splat:
		fill(m.value(v.Args[0])[0])
	case ir.Extract:
		out[0] = m.value(v.Args[0])[v.Bits]
	case ir.Insert:
		copy(out, m.value(v.Args[0]))
		out[v.Bits] = m.value(v.Args[1])[0]
	case ir.Transpose:
		for i, a := range v.Args {
			out[i] = m.value(a)[v.Bits]
		}
	case ir.Spread:
		from := m.value(v.Args[0])
		for i := range out {
			out[i] = from[v.Bits>>(4*i)&15]
		}
	case ir.ShiftLanes:
		by, group := int(int64(v.Bits)), 16/int(v.Kind.Width())
		if by == group || by == -group {
			group = len(out)
		}
		fill(0)
		for i, x := range m.value(v.Args[0]) {
			if to := i + by; to >= 0 && to/group == i/group {
				out[to] = x
			}
		}
	case ir.Interleave:
		for i := range out {
			at := int(v.Bits)*len(out) + i
			out[i] = m.value(v.Args[at%len(v.Args)])[at/len(v.Args)]
		}
	case ir.Lookup:
		table := ir.Table(v.Bits)
		for i, k := range m.value(v.Args[0]) {
			out[i] = ir.OfF32(table[k%uint64(len(table))])
		}
	case ir.AnyLane:
		out[0] = 0
		for _, b := range m.value(v.Args[0]) {
			out[0] |= b
		}
	default:
		if op, ok := acrossLanes[v.Op]; ok {
			out[0] = across(ir.LaneOp(op, v.Kind, v.Kind), m.value(v.Args[0]))
			return
		}
		m.lanewise(v, out)
	}
}

// acrossLanes is how each reduction of a vector combines two lanes.
var acrossLanes = map[ir.Op]ir.Op{ir.Sum: ir.Add, ir.Product: ir.Mul, ir.MaxLanes: ir.Max, ir.AndAll: ir.And, ir.OrAll: ir.Or, ir.XorAll: ir.Xor}

// across combines the halves of a vector until one lane is left.
func across(f ir.LaneFunc, v []uint64) uint64 {
	v = append([]uint64(nil), v...)
	for n := len(v) / 2; n > 0; n /= 2 {
		for i := range n {
			v[i] = f(v[i], v[i+n], 0)
		}
	}
	return v[0]
}

// lanewise computes a value lane by lane.
func (m *interpreter) lanewise(v *ir.Value, out []uint64) {
	var args [3][]uint64
	for i, a := range v.Args {
		args[i] = m.value(a)
		if a.Lanes != v.Lanes && a.Lanes != 1 {
			ir.Fail("value %d (%s) of %d lanes has an argument of %d", v.ID, v.Op, v.Lanes, a.Lanes)
		}
	}
	c := m.cell(v)
	if c.f == nil {
		c.f = ir.LaneOp(v.Op, v.Args[0].Kind, v.Kind)
	}
	f := c.f
	var x [3]uint64
	for i := range out {
		for j, a := range args[:len(v.Args)] {
			if len(a) == 1 {
				x[j] = a[0]
			} else {
				x[j] = a[i]
			}
		}
		out[i] = f(x[0], x[1], x[2])
	}
}

// integer is the value of an integer scalar.
func (m *interpreter) integer(v *ir.Value) int64 { return ir.IntOf(v.Kind, m.value(v)[0]) }
