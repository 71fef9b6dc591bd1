package ir

import "math"

// Floats narrower than 32 bits are computed as F32 and rounded after every operation, which gives the correctly
// rounded result of + - * / and of square roots.

// format is the layout of a small float.
type format struct {
	exp, man int64
	// finite formats have no infinity: E4M3 has only NaN above its numbers.
	finite bool
	// saturates: finite numbers too large become the greatest, not infinity.
	saturates bool
	max       float64
}

var formats = map[Kind]format{
	F16:  {exp: 5, man: 10, max: 65504},
	E4M3: {exp: 4, man: 3, finite: true, saturates: true, max: 448},
	E5M2: {exp: 5, man: 2, saturates: true, max: 57344},
}

// shift is the number of fraction bits of an F32 that the format lacks.
func (f format) shift() int64 { return 23 - f.man }

func (f format) bias() int64 { return 1<<(f.exp-1) - 1 }

// codeKey is an F32 value that represents a small float of a kind.
type codeKey struct {
	v *Value
	k Kind
}

// round rounds an F32 to a small kind.
func (b *Builder) round(k Kind, v *Value) *Value {
	if v.Op == Const {
		return b.New(Const, F32, v.Lanes, Decode(k, Encode(k, v.Bits)))
	}
	if b.codes[codeKey{v, k}] != nil || v.Op == Cast && v.Args[0].Kind == k || k == BF16 && isByte(v) {
		return v
	}
	if b.native(k) {
		return b.plain(b.New(Narrow, k, v.Lanes, 0, v))
	}
	return b.decode(k, b.encode(k, v))
}

// encode is the encoding of an F32 as a small float, as an I32.
func (b *Builder) encode(k Kind, v *Value) *Value {
	if c := b.codes[codeKey{v, k}]; c != nil {
		return c
	}
	if v.Op == Const {
		return b.New(Const, I32, v.Lanes, Encode(k, v.Bits))
	}
	if k == BF16 {
		return b.Bitcast(U32, I32, b.Legal(Shr, U32, b.upperHalf(v), b.Int(U32, 16)))
	}
	g := b.formula(F32)
	f := formats[k]
	all := f.exp + f.man
	bits := g.bits(v)
	sign := g.iand(g.ushr(bits, 31-all), 1<<all)
	mag := g.iand(bits, math.MaxInt32)
	abs := g.floats(mag)
	isNaN := g.less(g.int(0x7F800000), mag)
	// Ties go to even: add half a unit less one, plus the last bit that stays.
	odd := g.iand(g.shr(mag, f.shift()), 1)
	up := g.iadd(g.iadd(mag, g.int(1<<(f.shift()-1)-1)), odd)
	out := g.isub(g.shr(up, f.shift()), g.int((127-f.bias())<<f.man))
	// Below the normal range, adding the float whose last bit is the smallest step of the format leaves the count of
	// steps in its fraction.
	magic := g.float(math.Ldexp(1, int(24-f.bias()-f.man)))
	steps := g.isub(g.bits(g.add(abs, magic)), g.bits(magic))
	out = g.iwhere(g.less(abs, g.float(math.Ldexp(1, int(1-f.bias())))), steps, out)
	inf := int64(1<<f.exp-1) << f.man
	isInf := g.equal(mag, g.int(0x7F800000))
	switch {
	case f.finite:
		out = g.iwhere(g.lessEqual(g.float(f.max), abs), g.int(1<<all-2), out)
		out = g.iwhere(g.lessEqual(g.int(0x7F800000), mag), g.int(1<<all-1), out)
		return g.ior(out, sign)
	case f.saturates:
		out = g.iwhere(g.lessEqual(g.float(f.max), abs), g.int(inf-1), out)
		out = g.iwhere(isInf, g.int(inf), out)
	default:
		out = g.iwhere(g.lessEqual(g.float(math.Ldexp(2, int(f.bias()))), abs), g.int(inf), out)
	}
	payload := g.iand(g.shr(mag, f.shift()), 1<<f.man-1)
	return g.ior(g.iwhere(isNaN, g.ior(payload, g.int(inf|1<<(f.man-1))), out), sign)
}

// isByte reports whether an F32 is known to be an integer of 8 bits, which a BF16 represents.
func isByte(v *Value) bool {
	return v.Op == Cast && v.Args[0].Kind == I32 && (fitsKind(I8, v.Args[0], 4) || fitsKind(U8, v.Args[0], 4))
}

// upperHalf rounds an F32 so that its upper 16 bits are the nearest BF16.
func (b *Builder) upperHalf(v *Value) *Value {
	bits := b.Bitcast(F32, U32, v)
	if isByte(v) {
		return bits
	}
	odd := b.Legal(And, U32, b.Legal(Shr, U32, bits, b.Int(U32, 16)), b.Int(U32, 1))
	up := b.Legal(Add, U32, b.Legal(Add, U32, bits, b.Int(U32, 0x7FFF)), odd)
	quiet := b.Legal(Or, U32, bits, b.Int(U32, 0x400000))
	return b.Where(U32, b.Compare(NotEqual, v, v), quiet, up)
}

// decode is the F32 that the encoding of a small float means, given as a zero-extended I32.
func (b *Builder) decode(k Kind, bits *Value) *Value {
	v := b.decoded(k, bits)
	b.codes[codeKey{v, k}] = bits
	return v
}

func (b *Builder) decoded(k Kind, bits *Value) *Value {
	g := b.formula(F32)
	f := formats[k]
	switch {
	case bits.Op == Const:
		return b.New(Const, F32, bits.Lanes, Decode(k, bits.Bits))
	case k == BF16:
		return g.floats(g.shl(bits, 16))
	}
	all := f.exp + f.man
	mag := g.iand(bits, 1<<all-1)
	sign := g.shl(g.isub(bits, mag), 31-all)
	// Placed into an F32, exponents are too small by a constant; scaling mends that, for subnormals too.
	num := g.shl(mag, f.shift())
	if b.Machine.Invocations {
		// GPUs may flush subnormal F32 to 0: there the constant is added, and subnormals get the least normal exponent, whose implicit 1
		// is subtracted.
		add := (127 - f.bias()) << 23
		least := g.int(add + 1<<23)
		low := g.bits(g.sub(g.floats(g.iadd(num, least)), g.floats(least)))
		num = g.iwhere(g.less(mag, g.int(1<<f.man)), low, g.iadd(num, g.int(add)))
	} else {
		num = g.bits(g.mul(g.floats(num), g.float(math.Ldexp(1, int(127-f.bias())))))
	}
	special, extreme := int64(1<<f.exp-1)<<f.man-1, g.ior(num, g.int(0x7F800000))
	if f.finite {
		special, extreme = 1<<all-2, g.int(0x7FC00000)
	}
	num = g.iwhere(g.less(g.int(special), mag), extreme, num)
	return g.floats(g.ior(num, sign))
}

// CodeOf is the encoding of an F32 that represents a BF16.
func (b *Builder) CodeOf(v *Value) *Value {
	v = b.plain(v)
	if c := b.codes[codeKey{v, BF16}]; c != nil {
		return c
	}
	return b.Bitcast(U32, I32, b.Legal(Shr, U32, b.Bitcast(F32, U32, v), b.Int(U32, 16)))
}
