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
	// Machine is the target: operations that it lacks are expanded.
	Machine Machine
	// views maps buffers of small floats to the same memory as integers, codes small floats to their bits, maxima the maximum of
	// two floats to its operands.
	views  map[*Buffer]*Buffer
	codes  map[codeKey]*Value
	maxima map[*Value][2]*Value
	// logs maps base-2 logarithms to their arguments; sines caches sines and cosines; pi is the scratch memory of their argument
	// reduction.
	logs  map[*Value]*Value
	sines map[sinKey]*Value
	pi    *piMemory
	// readOnly has, by Buffer.ID, the current read-only intervals of buffers that the kernel writes elsewhere.
	readOnly  map[int32]readOnlyInterval
	intervals uint64
}

// NewBuilder begins an empty kernel with vectors of the given number of lanes.
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

// Unique makes a value that is not interned.
func (b *Builder) Unique(v Value) *Value {
	return b.add(b.table.Unique(v))
}

func (b *Builder) add(v *Value) *Value {
	b.next++
	v.ID = b.next
	if v.Block == nil {
		v.placeInBlock(b.Root)
	}
	return v
}

// placeInBlock sets the placement block of a value: the innermost of the blocks of its operands and outermost.
func (v *Value) placeInBlock(outermost *Block) {
	v.Block = outermost
	for _, a := range v.Args {
		v.deepenBlock(a)
	}
	if v.At == nil {
		return
	}
	for _, t := range v.At.Terms {
		v.deepenBlock(t.V)
	}
	if v.At.Index != nil {
		v.deepenBlock(v.At.Index)
	}
	if v.At.Gate != nil {
		v.deepenBlock(v.At.Gate)
	}
}

func (v *Value) deepenBlock(o *Value) {
	if o.Block.Depth > v.Block.Depth {
		v.Block = o.Block
	}
}

// New returns the interned value of an operation on at most three arguments.
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

// Do applies an operation lane by lane; scalar operands among vectors are broadcast. k is the kind of the result, Bool for comparisons.
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

// Splat broadcasts a scalar to all lanes.
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

// Load loads from a place. Equal loads in a read-only interval of their buffer are the same value; loads of a buffer that may
// change keep their position in the block Cur.
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
		v.placeInBlock(still.since)
	}
	return b.add(v)
}

// readOnlyInterval is an interval in which the emitted loops do not store to a buffer.
type readOnlyInterval struct {
	number uint64 // from 1
	since  *Block // the block in which it began
}

// BeginReadOnly begins an interval in which no loop emitted in the block Cur stores to a buffer, so that equal loads of it are
// the same value. EndReadOnly ends the interval.
func (b *Builder) BeginReadOnly(buf *Buffer) {
	b.intervals++
	b.readOnly[buf.ID] = readOnlyInterval{b.intervals, b.Cur}
}

func (b *Builder) EndReadOnly(buf *Buffer) { delete(b.readOnly, buf.ID) }

// MayChange reports whether the loops being emitted may store to a buffer.
func (b *Builder) MayChange(buf *Buffer) bool {
	_, still := b.readOnly[buf.ID]
	return buf.Written && !still
}

// Store writes a value in the block Cur.
func (b *Builder) Store(at *Place, val *Value) {
	b.Cur.Items = append(b.Cur.Items, Item{Store: &Store{At: at, Val: val, Pos: b.nextPos()}})
}

// Prefetch prefetches the cache line of a place.
func (b *Builder) Prefetch(at *Place) { b.Cur.Items = append(b.Cur.Items, Item{Prefetch: at}) }

// LoadQuad loads a vector of four elements of a shared buffer.
func (b *Builder) LoadQuad(at *Place, lanes int) *Value {
	v := b.Unique(Value{Op: LoadQuad, Kind: at.Buf.Kind, Lanes: lanes, At: at, Block: b.Cur, Pos: b.nextPos()})
	b.Cur.Items = append(b.Cur.Items, Item{Load: v})
	return v
}

// Barrier synchronises the invocations of a workgroup.
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

// Phi makes a variable of a loop. The caller sets its Next.
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

// Transposed is a row of a transposed square of vectors: lane `lane` of each of them.
func (b *Builder) Transposed(rows []*Value, lane int64) *Value {
	if rows[0].Kind == Bool {
		return b.Cast(Bool, b.Transposed(b.numbers(rows), lane))
	}
	return b.across(Transpose, rows, len(rows), lane)
}

// numbers are vectors of Bools, which are masks, as numbers.
func (b *Builder) numbers(vs []*Value) []*Value {
	out := make([]*Value, len(vs))
	for i, v := range vs {
		out[i] = b.Cast(I32, v)
	}
	return out
}

// across is an operation across the lanes of any number of vectors.
func (b *Builder) across(op Op, vs []*Value, lanes int, which int64) *Value {
	var ids []byte
	for _, v := range vs {
		ids = binary.AppendVarint(ids, int64(v.ID))
	}
	key := valueKey{op: op, kind: vs[0].Kind, lanes: int32(lanes), bits: uint64(which), place: b.internID(ids)}
	v, found := b.table.Find(key, Value{Op: op, Kind: vs[0].Kind, Lanes: lanes, Bits: uint64(which)})
	if found {
		return v
	}
	v.Args = b.keep(vs)
	return b.add(v)
}

// Interleaved are as many vectors as are given, with their elements in turn: the first lane of each, the second of each, and so on.
func (b *Builder) Interleaved(vs []*Value) []*Value {
	n := len(vs)
	if n == 1 {
		return vs
	}
	if vs[0].Kind == Bool {
		out := b.Interleaved(b.numbers(vs))
		for i, v := range out {
			out[i] = b.Cast(Bool, v)
		}
		return out
	}
	if lanes := vs[0].Lanes; n%lanes == 0 {
		out := make([]*Value, n)
		for i := range out {
			group := i % (n / lanes) * lanes
			out[i] = b.Transposed(vs[group:group+lanes], int64(i/(n/lanes)))
		}
		return out
	}
	p := 2
	for n%p != 0 {
		p++
	}
	// First each group of p vectors is interleaved, then the t-th vectors of all groups with each other.
	q := n / p
	streams := make([][]*Value, q)
	for k := range streams {
		var of []*Value
		for h := range p {
			of = append(of, vs[k+h*q])
		}
		streams[k] = make([]*Value, p)
		for t := range p {
			streams[k][t] = b.across(Interleave, of, of[0].Lanes, int64(t))
		}
	}
	var out []*Value
	for t := range p {
		of := make([]*Value, q)
		for k := range of {
			of[k] = streams[k][t]
		}
		out = append(out, b.Interleaved(of)...)
	}
	return out
}
