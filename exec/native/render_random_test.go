//go:build linux && amd64 && cgo

package native_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"polygrad/core/nest/ir"
	"polygrad/render/x64"
)

// maker makes random kernels. It keeps the values that may be used in the block that is open, by kind and lanes.
type maker struct {
	*ir.Builder
	r     *rand.Rand
	f     x64.Features
	kinds []ir.Kind
	pool  map[poolKey][]*ir.Value
	ins   []*ir.Buffer
	iters []*ir.Value
	outs  []outBuffer
	// scratch is written and read in any order.
	scratch *ir.Buffer
	depth   int // of expressions
}

type poolKey struct {
	k     ir.Kind
	lanes int
}

// outBuffer is memory for results: each store has a place of its own.
type outBuffer struct {
	buf  *ir.Buffer
	used int64
}

const inSize = 600

func newMaker(seed uint64, f x64.Features) *maker {
	r := rand.New(rand.NewPCG(seed, 7))
	wide := r.IntN(2) == 0
	m := &maker{Builder: ir.NewBuilder(fmt.Sprintf("random%d", seed), f.Lanes(wide)), r: r, f: f, pool: map[poolKey][]*ir.Value{}, depth: int(1 + seed%5)}
	m.kinds = []ir.Kind{ir.I32, ir.U32, ir.F32, ir.Bool}
	if wide {
		m.kinds = append(m.kinds, ir.I64, ir.U64, ir.F64)
	}
	mem := append([]ir.Kind{ir.I8, ir.U8, ir.I16, ir.U16}, m.kinds...)
	if f.AVX2 {
		mem = append(mem, ir.F16)
	}
	for _, k := range mem {
		m.ins = append(m.ins, param(m.Builder, k, inSize, false))
	}
	for _, k := range mem {
		m.outs = append(m.outs, outBuffer{buf: param(m.Builder, k, 4096, true)})
	}
	k := pickOne(r, mem)
	m.scratch = &ir.Buffer{ID: 99, Kind: k, Size: inSize, Param: -1, Offset: 64, Read: true, Written: true}
	m.Scratch = 64 + inSize*8
	m.Loop("clear", m.Int(ir.I64, inSize/4), func(l *ir.Loop) {
		for i := range int64(4) {
			m.Store(&ir.Place{Buf: m.scratch, Terms: []ir.Term{{V: l.Iter, Coef: 4}}, Off: i}, m.constant(k.Register()))
		}
	})
	m.Vars = []ir.VarParam{{Name: "n", Kind: ir.I64, Max: 5}}
	return m
}

func pickOne[T any](r *rand.Rand, s []T) T { return s[r.IntN(len(s))] }

func (m *maker) lanes() int {
	if m.r.IntN(3) == 0 {
		return 1
	}
	return m.Lanes
}

func (m *maker) add(v *ir.Value) *ir.Value {
	k := poolKey{v.Kind.Register(), v.Lanes}
	m.pool[k] = append(m.pool[k], v)
	return v
}

func (m *maker) constant(k ir.Kind) *ir.Value {
	switch {
	case k == ir.Bool:
		return m.Constant(k, m.r.Uint64N(2))
	case k.Float():
		return m.Float(k, pickOne(m.r, []float64{0, 1, -1, 2.5, -7, 0.125, 100}))
	}
	c := pickOne(m.r, []int64{0, 1, -1, 2, 3, 7, 10, 100, -5, 1 << 20, math.MinInt32, math.MaxInt32})
	if k.Width() == 8 && m.r.IntN(4) == 0 {
		c = pickOne(m.r, []int64{1 << 40, math.MinInt64, math.MaxInt64, -1 << 35})
	}
	return m.Int(k, c)
}

// value is a value of a kind, old or new.
func (m *maker) value(k ir.Kind, lanes, depth int) *ir.Value {
	old := m.pool[poolKey{k, lanes}]
	if len(old) > 0 && (depth <= 0 || m.r.IntN(2) == 0) {
		return pickOne(m.r, old)
	}
	if depth <= 0 || m.r.IntN(8) == 0 {
		c := m.constant(k)
		if lanes > 1 {
			return m.Splat(c)
		}
		return c
	}
	return m.add(m.fresh(k, lanes, depth-1))
}

func (m *maker) fresh(k ir.Kind, lanes, depth int) *ir.Value {
	if m.r.IntN(3) == 0 {
		if v := m.load(k, lanes, depth); v != nil {
			if lanes == 1 && m.r.IntN(2) == 0 {
				m.add(m.Splat(v))
			}
			return v
		}
	}
	arg := func() *ir.Value { return m.value(k, lanes, depth) }
	do := func(op ir.Op, args ...*ir.Value) *ir.Value { return m.New(op, k, lanes, 0, args...) }
	if m.r.IntN(6) == 0 {
		return m.between(k, lanes, depth)
	}
	if m.r.IntN(6) == 0 {
		if v := m.converted(k, lanes, depth); v != nil {
			return v
		}
	}
	if m.r.IntN(8) == 0 {
		return do(ir.Where, m.value(ir.Bool, lanes, depth), arg(), arg())
	}
	switch {
	case k == ir.Bool:
		if m.r.IntN(2) == 0 {
			return do(pickOne(m.r, []ir.Op{ir.And, ir.Or, ir.Xor, ir.AndNot}), arg(), arg())
		}
		of := pickOne(m.r, m.kinds)
		op := pickOne(m.r, []ir.Op{ir.Less, ir.LessEqual, ir.Equal, ir.NotEqual})
		return do(op, m.value(of, lanes, depth), m.value(of, lanes, depth))
	case k == ir.F32 && m.f.AVX2 && m.r.IntN(12) == 0:
		return m.New(ir.Cast, k, lanes, 0, m.New(ir.Narrow, ir.F16, lanes, 0, arg()))
	case k.Float():
		ops := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Max, ir.MaxSS, ir.MinSS, ir.Neg, ir.Abs, ir.Sqrt, ir.Trunc, ir.Round, ir.Floor}
		if m.f.AVX2 {
			ops = append(ops, ir.FMA, ir.NFMA, ir.FMA)
		}
		switch op := pickOne(m.r, ops); op {
		case ir.FMA, ir.NFMA:
			return do(op, arg(), arg(), arg())
		case ir.Neg, ir.Abs, ir.Sqrt, ir.Trunc, ir.Round, ir.Floor:
			return do(op, arg())
		default:
			return do(op, arg(), arg())
		}
	}
	ops := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Mod, ir.Max, ir.Neg, ir.Abs, ir.And, ir.Or, ir.Xor, ir.AndNot, ir.Shl, ir.Shr}
	switch op := pickOne(m.r, ops); op {
	case ir.Neg, ir.Abs:
		if !k.Signed() {
			op = ir.Neg
		}
		return do(op, arg())
	case ir.Shl, ir.Shr:
		by := lanes
		if m.r.IntN(2) == 0 {
			by = 1
		}
		count := m.value(k, by, depth)
		if m.r.IntN(3) == 0 {
			count = m.constant(k)
		}
		limit := m.Int(k, 8*k.Width()-1)
		if count.Lanes > 1 {
			limit = m.Splat(limit)
		}
		if count.Op == ir.Const {
			count = m.Constant(k, count.Bits&uint64(8*k.Width()-1))
			if by > 1 {
				count = m.Splat(count)
			}
		} else {
			count = m.New(ir.And, k, count.Lanes, 0, count, limit)
		}
		return do(op, arg(), count)
	default:
		return do(op, arg(), arg())
	}
}

// between is a value that is made of values of other lanes.
func (m *maker) between(k ir.Kind, lanes, depth int) *ir.Value {
	if lanes > 1 {
		switch m.r.IntN(7) {
		case 0:
			return m.New(ir.Insert, k, lanes, m.r.Uint64N(uint64(lanes)), m.value(k, lanes, depth), m.value(k, 1, depth))
		case 1:
			if k == ir.I32 || k == ir.I64 {
				return m.New(ir.Lane, k, lanes, 0)
			}
		case 2:
			if k != ir.Bool && depth > 0 {
				rows := make([]*ir.Value, lanes)
				for i := range rows {
					rows[i] = m.value(k, lanes, 0)
				}
				if m.r.IntN(2) == 0 {
					m.square(k, rows)
				}
				return m.Transposed(rows, m.r.Int64N(int64(lanes)))
			}
		case 3:
			if k != ir.Bool && depth > 0 {
				pattern := uint64(0)
				for i := range lanes {
					pattern |= m.r.Uint64N(uint64(lanes)) << (4 * i)
				}
				return m.New(ir.Spread, k, lanes, pattern, m.value(k, lanes, depth))
			}
		case 4:
			if n := 16 / max(k.Width(), 1); k != ir.Bool && depth > 0 && int64(lanes) >= n {
				by := 1 + m.r.Int64N(n)
				if by == n && int64(lanes) != 2*n {
					by = 1
				}
				if m.r.IntN(2) == 0 {
					by = -by
				}
				return m.New(ir.ShiftLanes, k, lanes, uint64(by), m.value(k, lanes, depth))
			}
		case 5:
			if k != ir.Bool && depth > 0 {
				vs := make([]*ir.Value, 2+m.r.IntN(6))
				for i := range vs {
					vs[i] = m.value(k, lanes, 0)
				}
				return m.Interleaved(vs)[m.r.IntN(len(vs))]
			}
		}
		if v := m.value(k, 1, depth); v.Op != ir.Const {
			return m.Splat(v)
		}
		return m.value(k, lanes, 0)
	}
	vec := m.value(k, m.Lanes, depth)
	ops := []ir.Op{ir.Sum, ir.Product, ir.MaxLanes}
	switch {
	case k == ir.Bool:
		ops = []ir.Op{ir.AnyLane, ir.AndAll, ir.OrAll, ir.XorAll}
	case !k.Float():
		ops = append(ops, ir.AndAll, ir.OrAll, ir.XorAll)
	}
	if m.r.IntN(3) == 0 {
		return m.New(ir.Extract, k, 1, m.r.Uint64N(uint64(m.Lanes)), vec)
	}
	return m.New(pickOne(m.r, ops), k, 1, 0, vec)
}

// square makes rows neighbouring rows of a matrix in memory.
func (m *maker) square(k ir.Kind, rows []*ir.Value) {
	for _, b := range m.ins {
		if b.Kind == k {
			for i := range rows {
				rows[i] = m.Load(&ir.Place{Buf: b, Off: int64(i*(m.Lanes+2) + 3), Stride: 1}, m.Lanes, nil)
			}
		}
	}
}

// converted is a value of a kind made of another kind.
func (m *maker) converted(k ir.Kind, lanes, depth int) *ir.Value {
	from := pickOne(m.r, m.kinds)
	v := m.value(from, lanes, depth)
	if from.Float() && !k.Float() && k != ir.Bool {
		// Numbers out of range have any value.
		zero, limit := m.Float(from, 0), m.Float(from, 2e9)
		size := m.New(ir.Abs, from, lanes, 0, v)
		if lanes > 1 {
			zero, limit = m.Splat(zero), m.Splat(limit)
		}
		v = m.New(ir.Where, from, lanes, 0, m.New(ir.Less, ir.Bool, lanes, 0, size, limit), size, zero)
	}
	if m.r.IntN(4) == 0 && from != ir.Bool && k != ir.Bool && from.Width() == k.Width() && from != k && !from.Float() {
		return m.New(ir.Bitcast, k, lanes, 0, v)
	}
	if from == k {
		return nil
	}
	return m.New(ir.Cast, k, lanes, 0, v)
}

// place is a place in a buffer of inSize elements.
func (m *maker) place(buf *ir.Buffer, lanes, depth int) *ir.Place {
	p := &ir.Place{Buf: buf}
	reach := int64(0)
	for _, it := range m.iters {
		if m.r.IntN(2) == 0 && !hasTerm(p, it) {
			c := pickOne(m.r, []int64{1, 2, 3, 5, 8, int64(lanes)})
			p.Terms = append(p.Terms, ir.Term{V: it, Coef: c})
			reach += 5 * c
		}
	}
	if m.r.IntN(6) == 0 && depth > 0 {
		k := pickOne(m.r, m.kinds)
		if k != ir.Bool && !k.Float() {
			v := m.New(ir.And, k, 1, 0, m.value(k, 1, depth-1), m.Int(k, 15))
			if !hasTerm(p, v) {
				c := pickOne(m.r, []int64{1, 2, 3})
				p.Terms = append(p.Terms, ir.Term{V: v, Coef: c})
				reach += 15 * c
			}
		}
	}
	if lanes > 1 {
		switch m.r.IntN(6) {
		case 0:
			p.Stride = pickOne(m.r, []int64{0, 2, 3, -1, -1, -2, 2})
		case 1:
			if k := pickOne(m.r, m.kinds); k == ir.I32 || k == ir.I64 {
				limit := m.Splat(m.Int(k, 63))
				p.Index = m.New(ir.And, k, lanes, 0, m.value(k, lanes, depth), limit)
				reach += 63
				break
			}
			p.Stride = 1
		default:
			p.Stride = 1
		}
	}
	span := max(p.Stride, -p.Stride) * int64(lanes-1)
	if p.Stride < 0 {
		p.Off = span
	}
	p.Off += m.r.Int64N(max(1, inSize-span-reach))
	return p
}

func hasTerm(p *ir.Place, v *ir.Value) bool {
	for _, t := range p.Terms {
		if t.V.ID >= v.ID {
			return true
		}
	}
	return false
}

func (m *maker) gate(p *ir.Place, lanes, depth int) {
	if m.r.IntN(3) == 0 {
		if m.r.IntN(3) == 0 {
			lanes = 1
		}
		p.Gate = m.value(ir.Bool, lanes, depth)
		if p.Gate.Op == ir.Const {
			p.Gate = nil
		}
	}
}

func (m *maker) load(k ir.Kind, lanes, depth int) *ir.Value {
	var bufs []*ir.Buffer
	for _, b := range append(m.ins[:len(m.ins):len(m.ins)], m.scratch) {
		if b.Kind.Register() == k {
			bufs = append(bufs, b)
		}
	}
	if len(bufs) == 0 {
		return nil
	}
	buf := pickOne(m.r, bufs)
	p := m.place(buf, lanes, depth)
	m.gate(p, lanes, depth)
	var alt *ir.Value
	if p.Gate != nil {
		alt = m.constant(k)
		if buf.Kind.Register() != buf.Kind {
			alt = m.Int(buf.Kind, 3)
			if k.Float() {
				alt = m.Float(buf.Kind, 3)
			}
		} else if m.r.IntN(2) == 0 {
			alt = m.value(k, lanes, depth)
		}
		if lanes > 1 {
			alt = m.Splat(alt)
		}
	}
	v := m.Load(p, lanes, alt)
	if v.Kind != k {
		return m.New(ir.Cast, k, lanes, 0, v)
	}
	return v
}

// overwrite writes a value to memory that is read again.
func (m *maker) overwrite(depth int) {
	lanes := m.lanes()
	v := m.value(m.scratch.Kind.Register(), lanes, m.depth)
	p := m.place(m.scratch, lanes, depth)
	m.gate(p, lanes, depth)
	m.Store(p, v)
}

// store writes a value to memory that nothing else writes.
func (m *maker) store(v *ir.Value, depth int) {
	n := m.r.IntN(len(m.outs))
	for m.outs[n].buf.Kind.Register() != v.Kind {
		n = m.r.IntN(len(m.outs))
	}
	o := &m.outs[n]
	p := &ir.Place{Buf: o.buf, Off: o.used}
	span := int64(v.Lanes)
	if v.Lanes > 1 {
		p.Stride = 1
		switch m.r.IntN(6) {
		case 0:
			p.Stride = pickOne(m.r, []int64{2, 3, -1, 0})
		case 1:
			for _, k := range []ir.Kind{ir.I32, ir.I64} {
				if m.r.IntN(2) == 0 && (k == ir.I32 || m.kinds[len(m.kinds)-1] == ir.F64) {
					p.Index = m.New(ir.And, k, v.Lanes, 0, m.value(k, v.Lanes, depth), m.Splat(m.Int(k, 15)))
					p.Stride = 0
					span = 16
				}
			}
		}
		if p.Index == nil {
			span = max(p.Stride, -p.Stride)*int64(v.Lanes-1) + 1
			if p.Stride < 0 {
				p.Off += span - 1
			}
		}
	}
	for _, it := range m.iters {
		c := span + m.r.Int64N(3)
		p.Terms = append(p.Terms, ir.Term{V: it, Coef: c})
		span += c * 5
	}
	if o.used+span > o.buf.Size {
		return
	}
	o.used += span
	m.gate(p, v.Lanes, depth)
	m.Store(p, v)
}

// block fills the block that is open.
func (m *maker) block(level int) {
	for range 1 + m.r.IntN(3) {
		if level < 3 && m.r.IntN(3) == 0 {
			m.loop(level)
			continue
		}
		if m.r.IntN(3) == 0 {
			m.overwrite(2)
		}
		m.store(m.value(pickOne(m.r, m.kinds), m.lanes(), m.depth), 2)
	}
}

func (m *maker) loop(level int) {
	count := m.Int(ir.I64, m.r.Int64N(5)+1)
	if m.r.IntN(2) == 0 {
		count = m.New(ir.Var, ir.I64, 1, 0)
	}
	outside := m.pool
	var finals []*ir.PhiVar
	inits := make([]*ir.Value, m.r.IntN(5))
	for i := range inits {
		inits[i] = m.value(pickOne(m.r, m.kinds), m.lanes(), 2)
	}
	m.Loop("l", count, func(l *ir.Loop) {
		m.pool = map[poolKey][]*ir.Value{}
		for k, vs := range outside {
			m.pool[k] = append([]*ir.Value(nil), vs...)
		}
		m.iters = append(m.iters, l.Iter)
		m.add(l.Iter)
		for _, v := range inits {
			p := m.Phi(l, v)
			m.add(p.V)
			finals = append(finals, p)
		}
		m.block(level + 1)
		for _, p := range finals {
			p.Next = m.value(p.V.Kind, p.V.Lanes, 3)
			if m.r.IntN(2) == 0 && p.V.Kind != ir.Bool {
				p.Next = m.New(ir.Add, p.V.Kind, p.V.Lanes, 0, p.V, p.Next)
			}
		}
		m.iters = m.iters[:len(m.iters)-1]
	})
	m.pool = outside
	for _, p := range finals {
		m.add(m.Final(p))
	}
}

// inputs are random numbers for the buffers.
func (m *maker) inputs() [][]byte {
	var out [][]byte
	for i, p := range m.Params {
		b := make([]byte, p.Bytes())
		if i < len(m.ins) {
			k := m.ins[i].Kind
			for e := 0; e < len(b); e += int(k.Size()) {
				m.fill(k, b[e:])
			}
		}
		out = append(out, b)
	}
	return out
}

func (m *maker) fill(k ir.Kind, b []byte) {
	small := float64(m.r.IntN(41)-20) / 4
	switch k {
	case ir.Bool:
		b[0] = byte(m.r.IntN(2))
	case ir.F16:
		binary.LittleEndian.PutUint16(b, uint16(0x3C00+m.r.IntN(0x800)|m.r.IntN(2)<<15))
	case ir.F32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(small)))
	case ir.F64:
		binary.LittleEndian.PutUint64(b, math.Float64bits(small))
	default:
		v := m.r.Uint64()
		if m.r.IntN(2) == 0 {
			v = uint64(m.r.IntN(20) - 10)
		}
		for i := range k.Size() {
			b[i] = byte(v >> (8 * i))
		}
	}
}

func TestRandom(t *testing.T) {
	n, first := 150, uint64(0)
	if s := os.Getenv("POLY_SEEDS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("POLY_SEED"); s != "" {
		first, _ = strconv.ParseUint(s, 10, 64)
	}
	for _, f := range levels() {
		t.Run(f.Level(), func(t *testing.T) {
			for seed := first; seed < first+uint64(n); seed++ {
				m := newMaker(seed, f)
				m.block(0)
				m.block(0)
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					compare(t, m.Kernel, f, []int64{int64(seed % 6)}, m.inputs())
				})
			}
		})
	}
}
