package ir

import "math"

// invPiWords are the bits of 1/pi behind the binary point, 32 at a time, after two words of zeros.
var invPiWords = [...]int64{0, 0,
	0x517CC1B7, 0x27220A94, 0xFE13ABE8, 0xFA9A6EE0, 0x6DB14ACC, 0x9E21C820, 0xFF28B1D5, 0xEF5DE2B0, 0xDB92371D, 0x2126E970,
	0x03249775, 0x04E8C90E, 0x7F0EF58E, 0x5894D39F, 0x74411AFA, 0x975DA242, 0x74CE3813, 0x5A2FBF20, 0x9CC8EB1C, 0xC1A99CFA,
	0x4E422FC5, 0xDEFC941D, 0x8FFC4BFF, 0xEF02CC07, 0xF79788C5, 0xAD05368F, 0xB69B3F67, 0x93E584DB, 0xA7A31FB3, 0x4F2FF516,
	0xBA93DD63, 0xF5F2F8BD, 0x9E839CFB, 0xC5294975, 0x35FDAFD8, 0x8FC6AE84, 0x2B019823,
}

// invPiHalves are the same bits 16 at a time, as many as F32 needs.
func invPiHalves() []int64 {
	halves := []int64{0, 0}
	for _, w := range invPiWords[2:9] {
		halves = append(halves, w>>16, w&0xFFFF)
	}
	return halves
}

// piMemory is scratch memory for the reduction of large arguments: the words of 1/pi, and the lanes of a vector.
type piMemory struct {
	words *Buffer
	lanes map[Kind]*Buffer
}

// piMemory returns that memory, with lanes of a kind.
func (b *Builder) piMemory(k Kind) *piMemory {
	if b.pi == nil {
		words := invPiWords[:]
		if b.Machine.Words32 {
			words = invPiHalves()
		}
		b.pi = &piMemory{words: b.ownScratch(0, U32, int64(len(words))), lanes: map[Kind]*Buffer{}}
		// The words are stored once at the beginning of the kernel: there are few, and constants at every use would be long code.
		outer, rest := b.Cur, b.Root.Items
		b.Cur, b.Root.Items = b.Root, nil
		for i, w := range words {
			b.Store(&Place{Buf: b.pi.words, Off: int64(i)}, b.Int(U32, w))
		}
		b.Cur, b.Root.Items = outer, append(b.Root.Items, rest...)
	}
	if b.pi.lanes[k] == nil {
		b.pi.lanes[k] = b.ownScratch(int32(k), k, int64(b.Lanes))
	}
	return b.pi
}

// ownScratch makes a scratch buffer of the builder; its ID is one that importers do not use.
func (b *Builder) ownScratch(n int32, k Kind, size int64) *Buffer {
	buf := &Buffer{ID: 1<<30 + n, Kind: k, Size: size, Param: -1, Offset: b.Scratch, Read: true, Written: true}
	b.Scratch += (size*k.Size() + 63) &^ 63
	return buf
}

// reducePi is r, the argument a reduced modulo pi (with the sign of an odd multiple). Lanes beyond the limit are reduced with many
// bits of 1/pi instead, behind a branch: a loop that runs zero times if there are none. The body of the loop depends on its phis, so
// that none of it is hoisted.
func (g formula) reducePi(r, a *Value, limit float64, cos bool) *Value {
	b := g.b
	any := g.lessEqual(g.float(limit), a)
	if any.Lanes > 1 {
		any = b.New(AnyLane, Bool, 1, 0, any)
	}
	outer := b.Cur
	b.Cur = r.Block
	var left *PhiVar
	b.Loop("great arguments", b.convert(I64, any), func(l *Loop) {
		left = b.Phi(l, r)
		arg := b.Phi(l, a)
		arg.Next = arg.V
		// The difference is NaN for infinity.
		exact := g.add(g.reduceLanes(arg.V, limit, cos), g.sub(arg.V, arg.V))
		left.Next = g.where(g.lessEqual(g.float(limit), arg.V), exact, left.V)
	})
	r = b.Final(left)
	b.Cur = outer
	return r
}

// reduceLanes reduces numbers at or beyond the limit, lane by lane.
func (g formula) reduceLanes(a *Value, limit float64, cos bool) *Value {
	b := g.b
	mem := b.piMemory(g.f)
	// Lanes that are smaller or NaN become the limit, infinity a finite number.
	a = g.b.Legal(MaxSS, g.f, g.float(limit), a)
	a = g.atMost(a, byWidth(g, math.MaxFloat32, math.MaxFloat64))
	if a.Lanes == 1 {
		return g.payneHanek(a, cos)
	}
	lanes := mem.lanes[g.f]
	b.Store(&Place{Buf: lanes, Stride: 1}, a)
	b.Loop("lanes", b.Int(I64, int64(b.Lanes)), func(l *Loop) {
		at := &Place{Buf: lanes, Terms: []Term{{l.Iter, 1}}}
		b.Store(at, g.payneHanek(b.Load(at, 1, nil), cos))
	})
	return b.Load(&Place{Buf: lanes, Stride: 1}, b.Lanes, nil)
}

// payneHanek is Payne and Hanek's reduction of a scalar: x = m * 2**e with an integer m of 53 bits. Bits of 1/pi worth
// 2 or more after multiplication by 2**e only add whole turns, so the 192 bits from there on, times m, give x/pi
// modulo 2 with more than 128 bits behind the point. For cos, x + pi/2 is reduced. On machines with words of 32 bits all
// sizes are half of that, but for those of m, which has 24 bits.
func (g formula) payneHanek(x *Value, cos bool) *Value {
	b := g.b
	d, unsigned, half := b.formula(F64), U64, int64(32)
	if b.Machine.Words32 {
		d, unsigned, half = b.formula(F32), U32, 16
	}
	num := func(c int64) *Value { return b.Int(unsigned, c) }
	op := func(op Op, x, y *Value) *Value { return b.Legal(op, unsigned, x, y) }
	low := func(v *Value) *Value { return op(And, v, num(1<<half-1)) }
	high := func(v *Value) *Value { return op(Shr, v, num(half)) }
	pair := func(hi, lo *Value) *Value { return op(Or, op(Shl, hi, num(half)), lo) }

	bits := b.Bitcast(d.f, unsigned, b.convert(d.f, x))
	m := op(Or, op(And, bits, num(1<<d.fraction()-1)), num(1<<d.fraction()))
	// Bit 1 of 1/pi is the first behind the point. Bit e comes to be worth 1; with two words of zeros in front it
	// is bit e + 63 from the start.
	bit := op(Sub, op(Shr, bits, num(d.fraction())), num(d.bias()+d.fraction()-(2*half-1)))
	first := b.convert(I64, op(Div, bit, num(half)))
	shift := op(And, bit, num(half-1))
	lowHalf, highHalf := low(m), high(m)
	// The product modulo 2**192, from the lowest of six limbs of 32 bits that start at that bit: each limb times the low
	// half of m, plus the limb before it times the high half. The last four results are kept.
	words := func(iter *Value, off int64) *Value {
		at := &Place{Buf: b.piMemory(g.f).words, Terms: []Term{{first, 1}, {iter, -1}}, Off: off}
		return b.convert(unsigned, b.Load(at, 1, nil))
	}
	var limb, carry *PhiVar
	var out [4]*PhiVar
	b.Loop("limbs", b.Int(I64, 6), func(l *Loop) {
		limb, carry = b.Phi(l, num(0)), b.Phi(l, num(0))
		for i := range out {
			out[i] = b.Phi(l, num(0))
		}
		limb.Next = high(op(Shl, pair(words(l.Iter, 5), words(l.Iter, 6)), shift))
		t, u := op(Mul, limb.Next, lowHalf), op(Mul, limb.V, highHalf)
		sum := op(Add, op(Add, low(t), low(u)), low(carry.V))
		carry.Next = op(Add, op(Add, op(Add, high(t), high(u)), high(carry.V)), high(sum))
		out[0].Next = low(sum)
		for i := 1; i < 4; i++ {
			out[i].Next = out[i-1].V
		}
	})
	// The top bit is the parity of the half turns; what follows is the fraction. Taken as a signed number it is the
	// distance to the nearest integer, and then the parity of that integer is the top bit plus the fraction's.
	t, u := pair(b.Final(out[0]), b.Final(out[1])), pair(b.Final(out[2]), b.Final(out[3]))
	if cos {
		t = op(Add, t, num(1<<(2*half-2)))
	}
	hi := op(Or, op(Shl, t, num(1)), op(Shr, u, num(2*half-1)))
	// The last bit of the lower half is left out, so that it is no negative number.
	lo := op(And, u, num(1<<(2*half-1)-1))
	part := func(v *Value, exp int64) *Value {
		return d.mul(b.convert(d.f, b.Bitcast(unsigned, d.i, v)), d.float(math.Ldexp(1, int(exp))))
	}
	r := d.mul(d.add(part(hi, -2*half), part(lo, 1-4*half)), d.float(math.Pi))
	sign := d.iand(b.Bitcast(unsigned, d.i, op(Xor, t, hi)), d.top())
	return b.convert(g.f, d.floats(d.ixor(d.bits(r), sign)))
}
