package ir

// Cast converts a plain value to a kind.
func (b *Builder) Cast(k Kind, x *Value) *Value {
	if k == Bool {
		if x.Kind == Bool {
			return x
		}
		return b.Compare(NotEqual, x, b.Constant(x.Kind, 0))
	}
	v := b.convert(Arithmetic(k), x)
	if x.Kind == Bool {
		return v
	}
	return b.narrow(k, v)
}

// convert is a conversion between plain kinds.
func (b *Builder) convert(k Kind, x *Value) *Value {
	if x.Kind == k {
		return x
	}
	if v := b.fold(Cast, k, []*Value{x}); v != nil {
		return v
	}
	if x.Op == Cast {
		if from := x.Args[0]; from.Kind == Arithmetic(from.Kind) && representsAll(x.Kind, from.Kind) {
			return b.convert(k, from)
		}
	}
	return b.Do(Cast, k, x)
}

// representsAll reports whether a plain kind represents all values of another exactly.
func representsAll(k, from Kind) bool {
	switch {
	case from == Bool:
		return true
	case from.Float():
		return k == F64
	case k.Float():
		return k == F64 && from.Size() == 4
	}
	return k.Size() > from.Size() && (k.Signed() || !from.Signed())
}

// narrow brings a plain value into the range of a kind: integers wrap, floats are rounded.
func (b *Builder) narrow(k Kind, v *Value) *Value {
	switch {
	case k == Arithmetic(k):
		return v
	case k.Float():
		return b.round(k, v)
	case fitsKind(k, v, 4):
		return v
	}
	switch k {
	case U8:
		return b.Legal(And, I32, v, b.Int(I32, 0xFF))
	case U16:
		return b.Legal(And, I32, v, b.Int(I32, 0xFFFF))
	}
	by := b.Int(I32, 32-8*k.Size())
	return b.Legal(Shr, I32, b.Legal(Shl, I32, v, by), by)
}

// fitsKind reports whether an I32 is known to be in the range of a narrow kind; depth limits how many operations it looks through.
func fitsKind(k Kind, v *Value, depth int) bool {
	if depth == 0 {
		return false
	}
	bits := uint(8 * k.Size())
	lo, hi := int64(0), int64(1)<<bits-1
	if k.Signed() {
		lo, hi = -1<<(bits-1), 1<<(bits-1)-1
	}
	in := func(x int64) bool { return lo <= x && x <= hi }
	switch v.Op {
	case Const:
		return in(IntOf(v.Kind, v.Bits))
	case Cast:
		from := v.Args[0].Kind
		return from == Bool || narrowInt(from) && (from == k || representsAll(k, from))
	case And:
		x, y := fitsKind(k, v.Args[0], depth-1), fitsKind(k, v.Args[1], depth-1)
		mask := v.Args[1]
		return x && y || !k.Signed() && (x || y) || mask.Op == Const && int32(mask.Bits) >= 0 && in(int64(mask.Bits))
	case Or, Xor, Max:
		return fitsKind(k, v.Args[0], depth-1) && fitsKind(k, v.Args[1], depth-1)
	case Where:
		return fitsKind(k, v.Args[1], depth-1) && fitsKind(k, v.Args[2], depth-1)
	case Shr:
		if by := v.Args[1]; by.Op == Const {
			// The bits that remain of 32, with a sign.
			left := 31 - min(by.Bits, 31)
			return v.Kind == I32 && in(-1<<left) && in(1<<left-1) || fitsKind(k, v.Args[0], depth-1)
		}
	}
	return false
}

// Bitcast reinterprets the bits that a value has in memory as another kind.
func (b *Builder) Bitcast(from, to Kind, v *Value) *Value {
	v = b.plain(v)
	switch {
	case from == to:
		return v
	case from.Size() != to.Size():
		Fail("a bitcast from %s to %s, which are not equally large", from, to)
	case from == Bool:
		return b.Bitcast(U8, to, b.Cast(U8, v))
	case to == Bool:
		return b.Cast(Bool, b.Bitcast(from, U8, v))
	case from.Size() >= 4:
		if w := b.fold(Bitcast, to, []*Value{v}); w != nil {
			return w
		}
		if v.Op == Bitcast {
			return b.Bitcast(v.Args[0].Kind, to, v.Args[0])
		}
		return b.Do(Bitcast, to, v)
	}
	if from.Float() {
		v = b.encode(from, v)
	}
	if !to.Float() {
		return b.narrow(to, v)
	}
	if from.Signed() {
		v = b.Legal(And, I32, v, b.Int(I32, 1<<(8*from.Size())-1))
	}
	return b.decode(to, v)
}

// bitsView is a buffer of small floats, or of Bools, as a buffer of unsigned integers.
func (b *Builder) bitsView(buf *Buffer) *Buffer {
	v := b.views[buf]
	if v == nil {
		v = new(Buffer)
		*v = *buf
		v.Kind = U8
		if buf.Kind.Size() == 2 {
			v.Kind = U16
		}
		b.views[buf] = v
	}
	return v
}

// native reports whether loads and stores convert a kind.
func (b *Builder) native(k Kind) bool {
	return k == Arithmetic(k) || !k.Float() || k == F16 && b.Machine.F16C
}

// LoadAs loads a value of kind k; U8 gives Bools as numbers. Lanes whose gate is false get alt.
func (b *Builder) LoadAs(k Kind, at *Place, lanes int, alt *Value) *Value {
	p := *at
	if !b.native(k) || k == U8 && at.Buf.Kind == Bool {
		p.Buf = b.bitsView(at.Buf)
	}
	if b.native(k) {
		return b.plain(b.Load(&p, lanes, alt))
	}
	if alt != nil {
		alt = b.encode(k, b.plain(alt))
	}
	return b.decode(k, b.plain(b.Load(&p, lanes, alt)))
}

// StoreAs writes a value of the kind of the buffer.
func (b *Builder) StoreAs(at *Place, v *Value) {
	k := at.Buf.Kind
	v = b.plain(v)
	if !b.native(k) {
		p := *at
		p.Buf = b.bitsView(at.Buf)
		b.Store(&p, b.encode(k, v))
		return
	}
	if k == F16 && v.Op == Cast && v.Args[0].Op == Narrow && v.Args[0].Kind == F16 {
		v = v.Args[0].Args[0] // the store rounds
	}
	b.Store(at, v)
}
