package wasm

// Floats narrower than 32 bits are computed as float32 and rounded after every
// operation, which gives the correctly rounded result for + - * / and sqrt.

// format is the layout of a small float.
type format struct {
	exp, man int64
	// finite formats have no infinity: E4M3 has only NaN above its numbers.
	finite bool
	// saturates: finite numbers too large become the greatest, not infinity.
	saturates bool
	max       float64
}

var formats = map[kind]format{
	kF16:  {exp: 5, man: 10, max: 65504},
	kBF16: {exp: 8, man: 7},
	kE4M3: {exp: 4, man: 3, finite: true, saturates: true, max: 448},
	kE5M2: {exp: 5, man: 2, saturates: true, max: 57344},
}

// shift is how many bits of a float32's fraction the format lacks.
func (f format) shift() int64 { return 23 - f.man }

func (f format) bias() int64 { return 1<<(f.exp-1) - 1 }

// round rounds a float32 to a kind; it leaves other kinds as they are.
func (s *selector) round(k kind, lanes uint8, v *inst) *inst {
	if k == kF32 || k == kF64 {
		return v
	}
	return s.decode(k, lanes, s.encode(k, lanes, v))
}

// encode turns a value into the bits it has in memory, as an integer.
func (s *selector) encode(k kind, lanes uint8, v *inst) *inst {
	f, ok := formats[k]
	h := shapeFor(k, lanes)
	i := h.ints()
	bits := s.toInts(h, v)
	if !ok {
		return bits
	}
	sign := s.do(pAnd, i, s.shift(pShrU, h, bits, 31-f.exp-f.man), s.int(h, 1<<(f.exp+f.man)))
	mag := s.do(pAnd, i, bits, s.int(h, 0x7FFFFFFF))
	isNaN := s.do(pNe, h, v, v)
	// Ties go to even: add half a unit less one, plus the last bit that stays.
	odd := s.do(pAnd, i, s.shift(pShrU, h, mag, f.shift()), s.int(h, 1))
	up := s.do(pAdd, i, s.do(pAdd, i, mag, s.int(h, 1<<(f.shift()-1)-1)), odd)
	if k == kBF16 {
		nan := s.do(pOr, i, s.shift(pShrU, h, mag, 16), s.int(h, 0x40))
		return s.do(pOr, i, s.choose(i, isNaN, nan, s.shift(pShrU, h, up, 16)), sign)
	}
	normal := s.do(pSub, i, s.shift(pShrU, h, up, f.shift()), s.int(h, (127-f.bias())<<f.man))
	// Below the normal range, adding the float whose last bit is the smallest
	// step of the format leaves the count of steps in its fraction.
	abs := s.do(pAbs, h, v)
	magic := s.float(h, pow2(int(24-f.bias()-f.man)))
	steps := s.do(pSub, i, s.toInts(h, s.do(pAdd, h, abs, magic)), s.toInts(h, magic))
	out := s.choose(i, s.do(pLt, h, abs, s.float(h, pow2(int(1-f.bias())))), steps, normal)
	inf := int64(1<<f.exp-1) << f.man
	all := int64(1)<<(f.exp+f.man) - 1
	switch {
	case f.finite:
		out = s.choose(i, s.do(pLe, h, s.float(h, f.max), abs), s.int(h, all-1), out)
		odd := s.do(pEq, h, abs, s.toFloats(h, s.int(h, 0x7F800000)))
		out = s.choose(i, s.do(pOr, shapeFor(kBool, lanes), odd, isNaN), s.int(h, all), out)
		return s.do(pOr, i, out, sign)
	case f.saturates:
		out = s.choose(i, s.do(pLe, h, s.float(h, f.max), abs), s.int(h, inf-1), out)
		out = s.choose(i, s.do(pEq, h, abs, s.toFloats(h, s.int(h, 0x7F800000))), s.int(h, inf), out)
	default:
		out = s.choose(i, s.do(pLe, h, s.float(h, 2*pow2(int(f.bias()))), abs), s.int(h, inf), out)
	}
	nan := s.int(h, inf|1<<(f.man-1))
	return s.do(pOr, i, s.choose(i, isNaN, nan, out), sign)
}

// decode turns the bits that a value has in memory, zero-extended, into the value.
func (s *selector) decode(k kind, lanes uint8, bits *inst) *inst {
	f, ok := formats[k]
	h := shapeFor(k, lanes)
	i := h.ints()
	switch {
	case !ok:
		return s.toFloats(h, bits)
	case k == kBF16:
		return s.toFloats(h, s.shift(pShl, h, bits, 16))
	}
	top := f.exp + f.man
	mag := s.do(pAnd, i, bits, s.int(h, 1<<top-1))
	sign := s.shift(pShl, h, s.do(pAnd, i, bits, s.int(h, 1<<top)), 31-top)
	// Placed into a float32, exponents are too small by a constant; scaling mends that, for subnormals too.
	num := s.toFloats(h, s.shift(pShl, h, mag, f.shift()))
	num = s.toInts(h, s.do(pMul, h, num, s.float(h, pow2(int(127-f.bias())))))
	special := s.int(h, int64(1<<f.exp-1)<<f.man-1)
	if f.finite {
		special = s.int(h, 1<<top-2)
	}
	extreme := s.do(pOr, i, num, s.int(h, 0x7F800000))
	if f.finite {
		extreme = s.int(h, 0x7FC00000)
	}
	num = s.choose(i, s.do(pLt, i, special, mag), extreme, num)
	return s.toFloats(h, s.do(pOr, i, num, sign))
}

// pow2 is 2**n.
func pow2(n int) float64 {
	p := 1.0
	for ; n > 0; n-- {
		p *= 2
	}
	for ; n < 0; n++ {
		p /= 2
	}
	return p
}
