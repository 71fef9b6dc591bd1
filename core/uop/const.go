package uop

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
)

// ConstKind is the kind of a constant.
type ConstKind uint8

// Kinds of constants.
const (
	KindInvalid ConstKind = iota // the index that must not be used (outside a PAD)
	KindBool
	KindInt
	KindFloat
)

// Const is a number in constant folding: a bool, an integer without bounds, a float64, or Invalid. Integers are an int64, or a big.Int beyond it, so
// folding is exact; they are truncated to a dtype when code is rendered.
type Const struct {
	kind ConstKind
	bits uint64   // bool, int64 or float64 bits
	big  *big.Int // set only for integers outside int64
}

var (
	posInf = Float(math.Inf(1))
	negInf = Float(math.Inf(-1))
)

// Invalid is the constant that marks an index outside its buffer.
var Invalid = Const{}

// Int is an integer constant.
func Int(v int64) Const { return Const{kind: KindInt, bits: uint64(v)} }

// Uint is an integer constant from an unsigned value.
func Uint(v uint64) Const {
	if v <= math.MaxInt64 {
		return Int(int64(v))
	}
	return Const{kind: KindInt, big: new(big.Int).SetUint64(v)}
}

// BigInt is an integer constant of any size.
func BigInt(b *big.Int) Const {
	if b.IsInt64() {
		return Int(b.Int64())
	}
	return Const{kind: KindInt, big: b}
}

// Float is a floating point constant; all NaNs become one.
func Float(f float64) Const {
	if f != f {
		f = math.NaN()
	}
	return Const{kind: KindFloat, bits: math.Float64bits(f)}
}

// BoolConst is a boolean constant.
func BoolConst(b bool) Const {
	if b {
		return Const{kind: KindBool, bits: 1}
	}
	return Const{kind: KindBool}
}

// Kind is the kind of the constant.
func (c Const) Kind() ConstKind { return c.kind }

// IsInvalid reports whether c is Invalid.
func (c Const) IsInvalid() bool { return c.kind == KindInvalid }

// IsFloat reports whether c is a float.
func (c Const) IsFloat() bool { return c.kind == KindFloat }

// IsInt reports whether c is an integer (not a bool).
func (c Const) IsInt() bool { return c.kind == KindInt }

// Int64 is the value of an integer or bool; ok is false if it is a float, Invalid or too large.
func (c Const) Int64() (v int64, ok bool) {
	return int64(c.bits), (c.kind == KindInt || c.kind == KindBool) && c.big == nil
}

// I is the value of an integer or bool that is known to fit; it panics otherwise.
func (c Const) I() int64 {
	v, ok := c.Int64()
	if !ok {
		panic("uop.Const.I: " + c.String() + " is not an int64")
	}
	return v
}

// F is the value as a float64.
func (c Const) F() float64 {
	switch {
	case c.kind == KindFloat:
		return math.Float64frombits(c.bits)
	case c.big != nil:
		f, _ := new(big.Float).SetInt(c.big).Float64()
		return f
	case c.kind == KindInvalid:
		return math.NaN()
	}
	return float64(int64(c.bits))
}

// long reports whether c is an integer of more than 1024 bits.
func (c Const) long() bool { return c.big != nil && c.big.BitLen() > 1024 }

// Truth is Python's truth of the value: everything but zero.
func (c Const) Truth() bool {
	if c.kind == KindFloat {
		return c.F() != 0
	}
	return c.big != nil || c.bits != 0
}

// Big is the value of an integer or bool.
func (c Const) Big() *big.Int {
	if c.big != nil {
		return c.big
	}
	return big.NewInt(int64(c.bits))
}

// Sign is -1, 0 or 1.
func (c Const) Sign() int { return c.Cmp(Int(0)) }

// Same reports whether two constants are the same arg: kind and value, -0.0 apart from 0.0, NaN equal to NaN.
func (c Const) Same(o Const) bool {
	if c.kind != o.kind || c.bits != o.bits {
		return false
	}
	if c.big == nil || o.big == nil {
		return c.big == o.big
	}
	return c.big.Cmp(o.big) == 0
}

// Eq is Python's ==: 0, 0.0, -0.0 and false are equal. NaN equals NaN, as in tinygrad's constants.
func (c Const) Eq(o Const) bool {
	if c.kind == o.kind && c.kind != KindFloat && c.big == nil && o.big == nil {
		return c.bits == o.bits
	}
	if c.kind == KindInvalid || o.kind == KindInvalid {
		return c.kind == o.kind
	}
	if c.kind == KindFloat || o.kind == KindFloat {
		a, b := c.F(), o.F()
		if a != a || b != b {
			return a != a && b != b
		}
		if c.kind == KindFloat && o.kind == KindFloat || c.big == nil && o.big == nil && exactF(c) && exactF(o) {
			return a == b
		}
		return c.Cmp(o) == 0
	}
	return c.Cmp(o) == 0
}

func exactF(c Const) bool {
	return c.kind == KindFloat || int64(c.bits) < 1<<53 && int64(c.bits) > -1<<53
}

// EqInt is Eq with an integer.
func (c Const) EqInt(v int64) bool { return c.Eq(Int(v)) }

// DefaultDType is the type of a literal whose type nothing else determines.
func (c Const) DefaultDType() *DType {
	switch c.kind {
	case KindFloat:
		return DefaultFloat
	case KindBool:
		return Bool
	}
	return DefaultInt
}

// Cmp orders two numbers: -1, 0, 1. A comparison with NaN or Invalid gives 0.
func (c Const) Cmp(o Const) int {
	if c.kind == KindFloat || o.kind == KindFloat {
		a, b := c.F(), o.F()
		if exactF(c) && exactF(o) && c.big == nil && o.big == nil || math.IsInf(a, 0) || math.IsInf(b, 0) || a != a || b != b {
			switch {
			case a < b:
				return -1
			case a > b:
				return 1
			}
			return 0
		}
		return bigFloat(c).Cmp(bigFloat(o))
	}
	if c.big == nil && o.big == nil {
		return cmp.Compare(int64(c.bits), int64(o.bits))
	}
	return c.Big().Cmp(o.Big())
}

func bigFloat(c Const) *big.Float {
	if c.kind == KindFloat {
		return new(big.Float).SetPrec(2048).SetFloat64(c.F())
	}
	return new(big.Float).SetPrec(2048).SetInt(c.Big())
}

// Less is Python's <. Invalid is less than, and greater than, anything else.
func (c Const) Less(o Const) bool {
	if c.kind == KindInvalid || o.kind == KindInvalid {
		return c.kind != o.kind
	}
	return c.Cmp(o) < 0
}

// MinConst is the smaller of two constants (the first if equal).
func MinConst(a, b Const) Const {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}

// MaxConst is the greater of two constants (the first if equal).
func MaxConst(a, b Const) Const {
	if b.Cmp(a) > 0 {
		return b
	}
	return a
}

func (c Const) smallInts(o Const) (a, b int64, ok bool) {
	return int64(c.bits), int64(o.bits), c.kind != KindFloat && o.kind != KindFloat && c.big == nil && o.big == nil
}

func (c Const) arith(o Const, f func(a, b float64) float64, g func(z, a, b *big.Int) *big.Int) Const {
	if c.kind == KindFloat || o.kind == KindFloat {
		return Float(f(c.F(), o.F()))
	}
	return BigInt(g(new(big.Int), c.Big(), o.Big()))
}

// Add is c + o.
func (c Const) Add(o Const) Const {
	if a, b, ok := c.smallInts(o); ok {
		if s := a + b; (s > a) == (b > 0) {
			return Int(s)
		}
	}
	return c.arith(o, func(a, b float64) float64 { return a + b }, (*big.Int).Add)
}

// Sub is c - o.
func (c Const) Sub(o Const) Const {
	if a, b, ok := c.smallInts(o); ok {
		if s := a - b; (s < a) == (b > 0) {
			return Int(s)
		}
	}
	return c.arith(o, func(a, b float64) float64 { return a - b }, (*big.Int).Sub)
}

// Mul is c * o.
func (c Const) Mul(o Const) Const {
	if a, b, ok := c.smallInts(o); ok {
		const lim = 1 << 31
		if a > -lim && a < lim && b > -lim && b < lim {
			return Int(a * b)
		}
	}
	return c.arith(o, func(a, b float64) float64 { return a * b }, (*big.Int).Mul)
}

// Neg is -c.
func (c Const) Neg() Const {
	if c.kind == KindFloat {
		return Float(-c.F())
	}
	return Int(0).Sub(c)
}

// FloorDiv is Python's //: rounded towards minus infinity.
func (c Const) FloorDiv(o Const) Const {
	if a, b, ok := c.smallInts(o); ok && b != 0 && a != math.MinInt64 {
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return Int(q)
	}
	return c.arith(o, func(a, b float64) float64 { return math.Floor(a / b) }, func(z, a, b *big.Int) *big.Int {
		m := new(big.Int)
		z.QuoRem(a, b, m)
		if m.Sign() != 0 && m.Sign() != b.Sign() {
			z.Sub(z, big.NewInt(1))
		}
		return z
	})
}

// FloorMod is Python's %: the sign of the divisor.
func (c Const) FloorMod(o Const) Const { return c.Sub(c.FloorDiv(o).Mul(o)) }

// CDiv is C's integer division: rounded towards zero; 0 for a zero divisor.
func (c Const) CDiv(o Const) Const {
	if a, b, ok := c.smallInts(o); ok && a != math.MinInt64 {
		if b == 0 {
			return Int(0)
		}
		return Int(a / b)
	}
	if !o.Truth() {
		return Int(0)
	}
	return c.arith(o, func(a, b float64) float64 { return math.Trunc(a / b) }, (*big.Int).Quo)
}

// CMod is C's remainder: the sign of the dividend.
func (c Const) CMod(o Const) Const { return c.Sub(c.CDiv(o).Mul(o)) }

// Shl is c << o; a shift that is negative or absurdly large gives 0.
func (c Const) Shl(o Const) Const {
	n, ok := o.Int64()
	if !ok || n < 0 || n > 4096 {
		return Int(0)
	}
	return BigInt(new(big.Int).Lsh(c.Big(), uint(n)))
}

// Shr is c >> o, rounding towards minus infinity; a negative count gives 0.
func (c Const) Shr(o Const) Const {
	n, ok := o.Int64()
	switch {
	case o.Sign() < 0:
		return Int(0)
	case !ok:
		n = math.MaxInt64
	}
	if c.big == nil {
		return Int(int64(c.bits) >> min(n, 63))
	}
	return BigInt(new(big.Int).Rsh(c.big, uint(n)))
}

func (c Const) bitwise(o Const, small func(a, b int64) int64, g func(z, a, b *big.Int) *big.Int) Const {
	if c.kind == KindBool && o.kind == KindBool {
		return BoolConst(small(int64(c.bits), int64(o.bits)) != 0)
	}
	if a, b, ok := c.smallInts(o); ok {
		return Int(small(a, b))
	}
	return BigInt(g(new(big.Int), c.Big(), o.Big()))
}

// And is c & o.
func (c Const) And(o Const) Const {
	return c.bitwise(o, func(a, b int64) int64 { return a & b }, (*big.Int).And)
}

// Or is c | o.
func (c Const) Or(o Const) Const {
	return c.bitwise(o, func(a, b int64) int64 { return a | b }, (*big.Int).Or)
}

// Xor is c ^ o.
func (c Const) Xor(o Const) Const {
	return c.bitwise(o, func(a, b int64) int64 { return a ^ b }, (*big.Int).Xor)
}

// GCD is the greatest common divisor of two integers, never negative.
func (c Const) GCD(o Const) Const {
	return BigInt(new(big.Int).GCD(nil, nil, new(big.Int).Abs(c.Big()), new(big.Int).Abs(o.Big())))
}

// String prints the value as Python's repr does: 1, 2.0, 1e-05, true, nan, inf, Invalid.
func (c Const) String() string {
	switch {
	case c.kind == KindInvalid:
		return "Invalid"
	case c.kind == KindBool:
		return strconv.FormatBool(c.bits != 0)
	case c.kind == KindFloat:
		return floatRepr(c.F())
	case c.big != nil:
		return c.big.String()
	}
	return strconv.FormatInt(int64(c.bits), 10)
}

// floatRepr is Python's repr of a float: shortest digits, exponent form outside 1e-4..1e16.
func floatRepr(f float64) string {
	switch {
	case f != f:
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		return s
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	for i := range s {
		if s[i] == '.' {
			return s
		}
	}
	return s + ".0"
}

// As converts a constant to the kind that a dtype holds, without truncating it: float, bool or int.
func (c Const) As(d *DType) Const {
	switch {
	case c.kind == KindInvalid:
		return c
	case d.IsFloat():
		return Float(c.F())
	case d.IsBool():
		return BoolConst(c.Truth())
	case c.kind == KindFloat:
		f := math.Trunc(c.F())
		if f != f || math.IsInf(f, 0) {
			return Int(0)
		}
		b, _ := big.NewFloat(f).Int(nil)
		return BigInt(b)
	case c.kind == KindBool:
		return Int(int64(c.bits))
	}
	return c
}

func (c Const) Hash() uint64 {
	h := c.bits*0x9E3779B97F4A7C15 + uint64(c.kind)
	if c.big != nil {
		for _, w := range c.big.Bits() {
			h = mix(h, uint64(w))
		}
		h += uint64(c.big.Sign())
	}
	return h
}
