package ir

// formula writes arithmetic on floats of a kind and on their bits, which are signed integers of the same width.
type formula struct {
	b    *Builder
	f, i Kind
}

func (b *Builder) formula(k Kind) formula {
	if k == F64 {
		return formula{b, F64, I64}
	}
	return formula{b, F32, I32}
}

// wide reports whether the floats have 64 bits.
func (g formula) wide() bool { return g.f == F64 }

// byWidth chooses by the width of the floats.
func byWidth[T any](g formula, single, double T) T {
	if g.wide() {
		return double
	}
	return single
}

func (g formula) float(x float64) *Value { return g.b.Float(g.f, x) }
func (g formula) int(x int64) *Value     { return g.b.Int(g.i, x) }

func (g formula) add(x, y *Value) *Value { return g.b.Legal(Add, g.f, x, y) }
func (g formula) sub(x, y *Value) *Value { return g.b.Legal(Sub, g.f, x, y) }
func (g formula) mul(x, y *Value) *Value { return g.b.Legal(Mul, g.f, x, y) }
func (g formula) div(x, y *Value) *Value { return g.b.Legal(Div, g.f, x, y) }
func (g formula) abs(x *Value) *Value    { return g.b.Legal(Abs, g.f, x) }

// atMost and atLeast clamp x. NaN is kept.
func (g formula) atMost(x *Value, c float64) *Value  { return g.b.Legal(MinSS, g.f, x, g.float(c)) }
func (g formula) atLeast(x *Value, c float64) *Value { return g.b.Legal(MaxSS, g.f, x, g.float(c)) }

// fma is x*y + z, rounded once if the machine can do that.
func (g formula) fma(x, y, z *Value) *Value {
	if g.b.Machine.FMA {
		return g.b.Legal(FMA, g.f, x, y, z)
	}
	return g.add(g.mul(x, y), z)
}

// nfma is z - x*y.
func (g formula) nfma(x, y, z *Value) *Value {
	if g.b.Machine.FMA {
		return g.b.Legal(NFMA, g.f, x, y, z)
	}
	return g.sub(z, g.mul(x, y))
}

func (g formula) bits(x *Value) *Value   { return g.b.Bitcast(g.f, g.i, x) }
func (g formula) floats(x *Value) *Value { return g.b.Bitcast(g.i, g.f, x) }

func (g formula) iadd(x, y *Value) *Value       { return g.b.Legal(Add, g.i, x, y) }
func (g formula) isub(x, y *Value) *Value       { return g.b.Legal(Sub, g.i, x, y) }
func (g formula) ior(x, y *Value) *Value        { return g.b.Legal(Or, g.i, x, y) }
func (g formula) ixor(x, y *Value) *Value       { return g.b.Legal(Xor, g.i, x, y) }
func (g formula) iand(x *Value, c int64) *Value { return g.b.Legal(And, g.i, x, g.int(c)) }
func (g formula) shl(x *Value, n int64) *Value  { return g.b.Legal(Shl, g.i, x, g.int(n)) }
func (g formula) shr(x *Value, n int64) *Value  { return g.b.Legal(Shr, g.i, x, g.int(n)) }

// ushr shifts zeros in from above.
func (g formula) ushr(x *Value, n int64) *Value {
	u := byWidth(g, U32, U64)
	return g.b.Bitcast(u, g.i, g.b.Legal(Shr, u, g.b.Bitcast(g.i, u, x), g.b.Int(u, n)))
}

// Comparisons of floats or integers.
func (g formula) less(x, y *Value) *Value      { return g.b.Compare(Less, x, y) }
func (g formula) lessEqual(x, y *Value) *Value { return g.b.Compare(LessEqual, x, y) }
func (g formula) equal(x, y *Value) *Value     { return g.b.Compare(Equal, x, y) }

func (g formula) where(c, x, y *Value) *Value  { return g.b.Where(g.f, c, x, y) }
func (g formula) iwhere(c, x, y *Value) *Value { return g.b.Where(g.i, c, x, y) }
