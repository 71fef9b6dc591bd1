package ir

import "encoding/binary"

// Builder makes the values of a kernel. Values are made in the block Cur; pure ones float to their placement blocks.
type Builder struct {
	*Kernel
	Cur   *Block
	table InternTable[valueKey, Value]
	args  []*Value
	next  int32
	pos   int
	// places numbers buffers and terms, so that loads can be interned.
	places map[string]int32
	key    []byte
	// Machine is what the code is for: operations that it lacks are written out.
	Machine Machine
	// views are the buffers of small floats as integers, codes the bits of values that are numbers of a small kind,
	// and maxima the values that are the greater of two floats.
	views  map[*Buffer]*Buffer
	codes  map[codeKey]*Value
	maxima map[*Value][2]*Value
	// logs are the arguments of base-2 logarithms, sines the values of sinKey, turns the memory that argument reduction of sines uses.
	logs  map[*Value]*Value
	sines map[sinKey]*Value
	pi    *piMemory
	// readOnly is the memory, by Buffer.ID, that the kernel writes, but not in the loops at work; times counts such times.
	readOnly  map[int32]readOnlyInterval
	intervals uint64
}

// NewBuilder begins an empty kernel for vectors of so many lanes.
func NewBuilder(name string, lanes int) *Builder {
	k := &Kernel{Name: name, Root: &Block{}, Lanes: lanes, Items: 1}
	return &Builder{
		Kernel: k, Cur: k.Root, table: NewInternTable[valueKey, Value](512), places: map[string]int32{},
		views: map[*Buffer]*Buffer{}, codes: map[codeKey]*Value{}, maxima: map[*Value][2]*Value{}, logs: map[*Value]*Value{}, sines: map[sinKey]*Value{},
		readOnly: map[int32]readOnlyInterval{},
	}
}

type valueKey struct {
	op    Op
	kind  Kind
	lanes int32
	args  [3]int32
	bits  uint64
	place int32
	off   int64
}

func (k valueKey) Hash() uint64 {
	h := MixHash(uint64(k.op)<<16|uint64(k.kind)<<8|uint64(k.lanes)<<32, uint64(k.args[0])<<32|uint64(k.args[1]))
	h = MixHash(h, uint64(k.args[2])<<32|uint64(uint32(k.place)))
	return MixHash(MixHash(h, k.bits), uint64(k.off))
}

// Unique makes a value that no other is equal to.
func (b *Builder) Unique(v Value) *Value {
	return b.add(b.table.Unique(v))
}

func (b *Builder) add(v *Value) *Value {
	b.next++
	v.ID = b.next
	if v.Block == nil {
		v.settle(b.Root)
	}
	return v
}

// settle places a value in the innermost block of its arguments, or in one that it must be in.
func (v *Value) settle(outermost *Block) {
	v.Block = outermost
	for _, a := range v.Args {
		v.deepen(a)
	}
	if v.At == nil {
		return
	}
	for _, t := range v.At.Terms {
		v.deepen(t.V)
	}
	if v.At.Index != nil {
		v.deepen(v.At.Index)
	}
	if v.At.Gate != nil {
		v.deepen(v.At.Gate)
	}
}

func (v *Value) deepen(o *Value) {
	if o.Block.Depth > v.Block.Depth {
		v.Block = o.Block
	}
}

// New returns the value of an operation on at most three arguments, the one that is there already if there is one.
func (b *Builder) New(op Op, k Kind, lanes int, bits uint64, args ...*Value) *Value {
	key := valueKey{op: op, kind: k, lanes: int32(lanes), bits: bits}
	for i, a := range args {
		key.args[i] = a.ID
	}
	v, found := b.table.Find(key, Value{Op: op, Kind: k, Lanes: lanes, Bits: bits})
	if found {
		return v
	}
	v.Args = b.keep(args)
	return b.add(v)
}

func (b *Builder) keep(args []*Value) []*Value {
	n := len(args)
	if n == 0 {
		return nil
	}
	if len(b.args) < n {
		b.args = make([]*Value, max(128, n))
	}
	kept := b.args[:n:n]
	b.args = b.args[n:]
	copy(kept, args)
	return kept
}

// Do applies an operation lane by lane; scalars among vectors stand for all lanes. Comparisons have their own kind.
func (b *Builder) Do(op Op, k Kind, args ...*Value) *Value {
	lanes := 1
	for _, a := range args {
		lanes = max(lanes, a.Lanes)
	}
	if lanes > 1 {
		var own [3]*Value
		args = own[:copy(own[:], args)]
		for i, a := range args {
			if a.Lanes == 1 && !(i == 1 && (op == Shl || op == Shr)) {
				args[i] = b.Splat(a)
			}
		}
	}
	return b.New(op, k, lanes, 0, args...)
}

// Splat is a scalar in every lane.
func (b *Builder) Splat(v *Value) *Value {
	switch {
	case v.Lanes > 1 || b.Lanes == 1:
		return v
	case v.Op == Const:
		return b.New(Const, v.Kind, b.Lanes, v.Bits)
	}
	return b.New(Splat, v.Kind, b.Lanes, 0, v)
}

// Constant is a scalar constant, given by the bits of its register.
func (b *Builder) Constant(k Kind, bits uint64) *Value { return b.New(Const, k, 1, bits) }

// Int is a scalar integer constant.
func (b *Builder) Int(k Kind, v int64) *Value { return b.Constant(k, k.Wrap(v)) }

// Float is a scalar F32 or F64 constant.
func (b *Builder) Float(k Kind, f float64) *Value { return b.Constant(k, k.FloatBits(f)) }

// Load is the load from a place. Loads of equal places are one in a read-only interval of their memory; others keep their place in
// the block Cur.
func (b *Builder) Load(at *Place, lanes int, alt *Value) *Value {
	var args []*Value
	if at.Gate != nil {
		args = []*Value{alt}
	}
	still, ok := b.readOnly[at.Buf.ID]
	if at.Buf.Written && !ok {
		v := b.Unique(Value{Op: Load, Kind: at.Buf.Kind, Lanes: lanes, At: at, Args: b.keep(args), Block: b.Cur, Pos: b.nextPos()})
		b.Cur.Items = append(b.Cur.Items, Item{Load: v})
		return v
	}
	key := valueKey{op: Load, kind: at.Buf.Kind, lanes: int32(lanes), bits: still.number, place: b.placeID(at), off: at.Off}
	for i, a := range args {
		key.args[i] = a.ID
	}
	v, found := b.table.Find(key, Value{Op: Load, Kind: at.Buf.Kind, Lanes: lanes, At: at})
	if found {
		return v
	}
	v.Args = b.keep(args)
	if ok {
		v.settle(still.since)
	}
	return b.add(v)
}

// readOnlyInterval is a read-only interval of a buffer: no store to it happens in the loops that are made in the block since.
type readOnlyInterval struct {
	number uint64 // from 1
	since  *Block
}

// BeginReadOnly notes that no loop which is made from here in the block Cur writes to a buffer, until EndReadOnly: loads
// from it that are equal are one meanwhile.
func (b *Builder) BeginReadOnly(buf *Buffer) {
	b.intervals++
	b.readOnly[buf.ID] = readOnlyInterval{b.intervals, b.Cur}
}

// EndReadOnly ends what BeginReadOnly began.
func (b *Builder) EndReadOnly(buf *Buffer) { delete(b.readOnly, buf.ID) }

// Changes reports whether stores of the loops at work may write to a buffer.
func (b *Builder) Changes(buf *Buffer) bool {
	_, still := b.readOnly[buf.ID]
	return buf.Written && !still
}

// Store writes a value in the block Cur.
func (b *Builder) Store(at *Place, val *Value) {
	b.Cur.Items = append(b.Cur.Items, Item{Store: &Store{At: at, Val: val, Pos: b.nextPos()}})
}

// Prefetch says in the block Cur that a place is needed soon.
func (b *Builder) Prefetch(at *Place) { b.Cur.Items = append(b.Cur.Items, Item{Prefetch: at}) }

// LoadQuad is the load of a vector of four elements of a shared buffer, in the block Cur.
func (b *Builder) LoadQuad(at *Place, lanes int) *Value {
	v := b.Unique(Value{Op: LoadQuad, Kind: at.Buf.Kind, Lanes: lanes, At: at, Block: b.Cur, Pos: b.nextPos()})
	b.Cur.Items = append(b.Cur.Items, Item{Load: v})
	return v
}

// Barrier has the invocations of a workgroup wait for one another.
func (b *Builder) Barrier() { b.Cur.Items = append(b.Cur.Items, Item{Barrier: true}) }

// Loop makes a loop in the block Cur and calls body, which emits its contents.
func (b *Builder) Loop(label string, count *Value, body func(l *Loop)) *Loop {
	l := &Loop{Count: count, Label: label}
	l.Body = &Block{Parent: b.Cur, Loop: l, Depth: b.Cur.Depth + 1}
	l.Iter = b.Unique(Value{Op: Iter, Kind: I64, Lanes: 1, Loop: l, Block: l.Body})
	outer := b.Cur
	b.Cur = l.Body
	body(l)
	b.Cur = outer
	b.Cur.Items = append(b.Cur.Items, Item{Loop: l})
	return l
}

// Phi makes a variable of a loop; its Next is to be set.
func (b *Builder) Phi(l *Loop, init *Value) *PhiVar {
	p := &PhiVar{Init: init}
	p.V = b.Unique(Value{Op: Phi, Kind: init.Kind, Lanes: init.Lanes, Loop: l, Block: l.Body})
	l.Phis = append(l.Phis, p)
	return p
}

// Final is the value of a variable after its loop.
func (b *Builder) Final(p *PhiVar) *Value {
	v := b.New(Final, p.V.Kind, p.V.Lanes, 0, p.V)
	v.Block = p.V.Block.Parent
	return v
}

// Transposed is the vector of the lanes of one number of as many vectors as there are lanes.
func (b *Builder) Transposed(rows []*Value, lane int64) *Value {
	r0, n := rows[0], len(rows)
	var ids []byte
	for _, r := range rows {
		ids = binary.AppendVarint(ids, int64(r.ID))
	}
	key := valueKey{op: Transpose, kind: r0.Kind, lanes: int32(n), bits: uint64(lane), place: b.numbered(ids)}
	v, found := b.table.Find(key, Value{Op: Transpose, Kind: r0.Kind, Lanes: n, Bits: uint64(lane)})
	if found {
		return v
	}
	v.Args = b.keep(rows)
	return b.add(v)
}
