package ir

import "math"

// Functions are written once for scalars and vectors of F32 and F64. Their polynomials are minimax approximations of
// the relative error. Special values are as in IEEE 754, subnormal numbers included.
//
// The greatest errors, in units in the last place (F32: of at least every 211th number, exp of all from 2**-7 on, sin and cos of all from 0.7 to
// pi/2):
//
//	     F32, FMA  without  F64, FMA  without
//
//	exp      0.90     1.00      0.85     1.01
//	exp2     0.83     0.99      0.88     1.17
//	log2     1.86     1.22      1.78     2.66
//	log      1.66     1.33      1.60     1.77
//	sin      1.75     1.93      1.92     1.99
//	cos      1.83     1.94      1.95     2.03
//	tanh     1.50     1.41      2.55     2.49
//	x**y     0.88     1.08      0.89     1.10
//
// With Machine.Tables that of tanh is 0.99 for F32.
func (b *Builder) function(op Op, k Kind, x *Value) *Value {
	g := b.formula(k)
	switch op {
	case Exp:
		return g.exp(x)
	case Exp2:
		if a, y := b.powerOf(x); a != nil {
			return g.pow(a, y)
		}
		return g.exp2(x)
	case Tanh:
		return g.tanh(x)
	case Log2:
		v := g.log(x, log2Of)
		b.logs[v] = x
		return v
	}
	return g.sin(x, op == Cos)
}

// poly is a polynomial in x, given from the constant term upwards.
func (g formula) poly(x *Value, cs []float64) *Value {
	if len(cs) > 3 && !g.b.Machine.FMA {
		line := g.mul(x, g.float(cs[1]))
		return g.add(g.add(g.mul(g.mul(x, x), g.estrin(x, cs[2:])), line), g.float(cs[0]))
	}
	v := g.float(cs[len(cs)-1])
	for i := len(cs) - 2; i >= 0; i-- {
		v = g.fma(v, x, g.float(cs[i]))
	}
	return v
}

// estrin evaluates a polynomial with shorter dependency chains than Horner's method: short polynomials in pairs of terms (Estrin),
// long ones as even and odd powers.
func (g formula) estrin(x *Value, cs []float64) *Value {
	if len(cs) <= 3 {
		return g.poly(x, cs)
	}
	z := g.mul(x, x)
	if len(cs) <= 6 {
		v := g.poly(x, cs[(len(cs)-1)/2*2:])
		for i := (len(cs)-1)/2*2 - 2; i >= 0; i -= 2 {
			v = g.add(g.mul(v, z), g.poly(x, cs[i:i+2]))
		}
		return v
	}
	var parts [2][]float64
	for i, c := range cs {
		parts[i%2] = append(parts[i%2], c)
	}
	return g.add(g.mul(x, g.estrin(z, parts[1])), g.estrin(z, parts[0]))
}

// fraction is the number of fraction bits, bias the exponent of 1, top the sign bit.
func (g formula) fraction() int64 { return byWidth[int64](g, 23, 52) }
func (g formula) bias() int64     { return byWidth[int64](g, 127, 1023) }
func (g formula) top() int64      { return byWidth[int64](g, math.MinInt32, math.MinInt64) }

// nearest is the integer nearest to x*c, as a float n, and in the low bits of an integer i, to which plus is added; the caller shifts
// the high bits of i out. Adding 1.5 * 2**fraction leaves the integer in the fraction of the sum.
func (g formula) nearest(x *Value, c float64, plus int64) (n, i *Value) {
	magic := g.float(byWidth[float64](g, 3<<22, 3<<51) + float64(plus))
	var sum *Value
	if c == 1 {
		sum = g.add(x, magic)
	} else {
		sum = g.fma(x, g.float(c), magic)
	}
	return g.sub(sum, magic), g.bits(sum)
}

// scale is p * 2**n, where i is n plus twice the bias of exponents. Without an instruction for it p is multiplied by two powers with
// half of the exponent each, so that subnormal and very large results are right; both are 0 where i is 0.
func (g formula) scale(p, n, i *Value) *Value {
	if g.b.Machine.Scale {
		return g.b.Legal(Scale, g.f, p, n)
	}
	twice := g.shl(i, g.fraction()-1) // the exponent field has i/2, the bit below it the remainder
	half := g.iand(twice, -1<<g.fraction())
	return g.mul(g.mul(p, g.floats(half)), g.floats(g.isub(g.iadd(twice, twice), half)))
}

// power is 2**n, where i is n plus the bias of exponents.
func (g formula) power(i *Value) *Value { return g.floats(g.shl(i, g.fraction())) }
