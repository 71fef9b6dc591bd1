package ir

import (
	"math"
	"math/bits"

	"polygrad/core/uop"
)

// LaneFunc is an operation on the registers of one lane.
type LaneFunc func(a, b, c uint64) uint64

// LaneOp returns the function that computes one lane of an operation. For a narrow kind it computes in the register and narrows.
func LaneOp(op Op, from, to Kind) LaneFunc {
	reg := from.Register()
	var f LaneFunc
	switch op {
	case Where:
		return func(a, b, c uint64) uint64 {
			if a != 0 {
				return b
			}
			return c
		}
	case Cast:
		return CastLane(from, to)
	case Bitcast:
		if from.Size() != to.Size() {
			Fail("bitcast from %s to %s", from, to)
		}
		return func(a, _, _ uint64) uint64 { return Decode(to, encodeInt(from, a)) }
	case Rotate:
		return func(a, b, _ uint64) uint64 {
			v := encodeInt(from, a)
			if from.Size() == 4 {
				return Decode(to, uint64(bits.RotateLeft32(uint32(v), int(b))))
			}
			return Decode(to, bits.RotateLeft64(v, int(b)))
		}
	case Narrow:
		return narrowLane(to, func(a, _, _ uint64) uint64 { return a })
	case Less, LessEqual, Equal, NotEqual:
		return compareLane(op, reg)
	case And, Or, Xor, AndNot:
		f = bitwise[op]
	default:
		switch {
		case reg == F32:
			f = singleLane(op)
		case reg == F64:
			f = doubleLane(op)
		default:
			f = intLane(op, reg)
		}
	}
	if f == nil {
		Fail("no operation %s from %s to %s", op, from, to)
	}
	return narrowLane(to, f)
}

// narrowLane wraps or rounds the results of a function to a kind.
func narrowLane(k Kind, f LaneFunc) LaneFunc {
	if k == k.Register() {
		return f
	}
	if k.Float() {
		return func(a, b, c uint64) uint64 { return Decode(k, Encode(k, f(a, b, c))) }
	}
	return func(a, b, c uint64) uint64 { return k.Wrap(int64(f(a, b, c))) }
}

var bitwise = map[Op]LaneFunc{
	And:    func(a, b, _ uint64) uint64 { return a & b },
	Or:     func(a, b, _ uint64) uint64 { return a | b },
	Xor:    func(a, b, _ uint64) uint64 { return a ^ b },
	AndNot: func(a, b, _ uint64) uint64 { return a &^ b },
}

// intLane is an operation of an integer kind as wide as its register.
func intLane(op Op, k Kind) LaneFunc {
	if k == U64 {
		switch op {
		case Div:
			return func(a, b, _ uint64) uint64 { return a / max(b, 1) * Truth(b != 0) }
		case Mod:
			return func(a, b, _ uint64) uint64 { return a % max(b, 1) }
		case Max:
			return func(a, b, _ uint64) uint64 { return max(a, b) }
		case MinSS:
			return func(a, b, _ uint64) uint64 { return min(a, b) }
		case Shr:
			return func(a, b, _ uint64) uint64 { return a >> b }
		}
	}
	f := intOps[op]
	if f == nil {
		return nil
	}
	return func(a, b, _ uint64) uint64 { return k.Wrap(f(IntOf(k, a), IntOf(k, b))) }
}

var intOps = map[Op]func(a, b int64) int64{
	Add: func(a, b int64) int64 { return a + b },
	Sub: func(a, b int64) int64 { return a - b },
	Mul: func(a, b int64) int64 { return a * b },
	Div: func(a, b int64) int64 {
		switch b {
		case 0:
			return 0
		case -1:
			return -a
		}
		return a / b
	},
	Mod: func(a, b int64) int64 {
		if b == 0 || b == -1 {
			return 0
		}
		return a % b
	},
	Neg:   func(a, _ int64) int64 { return -a },
	Max:   func(a, b int64) int64 { return max(a, b) },
	MinSS: func(a, b int64) int64 { return min(a, b) },
	Abs:   func(a, _ int64) int64 { return max(a, -a) },
	Trunc: func(a, _ int64) int64 { return a },
	Shl:   func(a, b int64) int64 { return a << b },
	Shr:   func(a, b int64) int64 { return a >> b },
}

func F32Of(r uint64) float32    { return math.Float32frombits(uint32(r)) }
func OfF32(f float32) uint64    { return uint64(math.Float32bits(f)) }
func F64Of(r uint64) float64    { return math.Float64frombits(r) }
func OfF64(f float64) uint64    { return math.Float64bits(f) }
func of32(f float64) uint64     { return OfF32(float32(f)) }
func WidenF32(r uint64) float64 { return float64(F32Of(r)) }

func singleLane(op Op) LaneFunc {
	switch op {
	case Add:
		return func(a, b, _ uint64) uint64 { return OfF32(F32Of(a) + F32Of(b)) }
	case Sub:
		return func(a, b, _ uint64) uint64 { return OfF32(F32Of(a) - F32Of(b)) }
	case Mul:
		return func(a, b, _ uint64) uint64 { return OfF32(F32Of(a) * F32Of(b)) }
	case Div:
		return func(a, b, _ uint64) uint64 { return OfF32(F32Of(a) / F32Of(b)) }
	case Neg:
		return func(a, _, _ uint64) uint64 { return a ^ 1<<31 }
	case Abs:
		return func(a, _, _ uint64) uint64 { return a &^ (1 << 31) }
	case FMA:
		return func(a, b, c uint64) uint64 { return OfF32(FMA32(F32Of(a), F32Of(b), F32Of(c))) }
	case NFMA:
		return func(a, b, c uint64) uint64 { return OfF32(FMA32(-F32Of(a), F32Of(b), F32Of(c))) }
	case Scale:
		return func(a, b, _ uint64) uint64 { return of32(scale(WidenF32(a), WidenF32(b))) }
	}
	if g := FloatUnary[op]; g != nil {
		return func(a, _, _ uint64) uint64 { return of32(g(WidenF32(a))) }
	}
	if g := floatChoice[op]; g != nil {
		return func(a, b, _ uint64) uint64 {
			if g(WidenF32(a), WidenF32(b)) {
				return b
			}
			return a
		}
	}
	return nil
}

func doubleLane(op Op) LaneFunc {
	switch op {
	case Add:
		return func(a, b, _ uint64) uint64 { return OfF64(F64Of(a) + F64Of(b)) }
	case Sub:
		return func(a, b, _ uint64) uint64 { return OfF64(F64Of(a) - F64Of(b)) }
	case Mul:
		return func(a, b, _ uint64) uint64 { return OfF64(F64Of(a) * F64Of(b)) }
	case Div:
		return func(a, b, _ uint64) uint64 { return OfF64(F64Of(a) / F64Of(b)) }
	case Neg:
		return func(a, _, _ uint64) uint64 { return a ^ 1<<63 }
	case Abs:
		return func(a, _, _ uint64) uint64 { return a &^ (1 << 63) }
	case FMA:
		return func(a, b, c uint64) uint64 { return OfF64(math.FMA(F64Of(a), F64Of(b), F64Of(c))) }
	case NFMA:
		return func(a, b, c uint64) uint64 { return OfF64(math.FMA(-F64Of(a), F64Of(b), F64Of(c))) }
	case Scale:
		return func(a, b, _ uint64) uint64 { return OfF64(scale(F64Of(a), F64Of(b))) }
	}
	if g := FloatUnary[op]; g != nil {
		return func(a, _, _ uint64) uint64 { return OfF64(g(F64Of(a))) }
	}
	if g := floatChoice[op]; g != nil {
		return func(a, b, _ uint64) uint64 {
			if g(F64Of(a), F64Of(b)) {
				return b
			}
			return a
		}
	}
	return nil
}

// FMA32 is a*b+c, rounded once. In float64 the product is exact; the sum is rounded to odd, which makes the second rounding, to float32,
// right.
func FMA32(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	s := p + q
	if s-s != 0 {
		return float32(s)
	}
	t := s - p
	lost := (p - (s - t)) + (q - t)
	if bits := math.Float64bits(s); lost != 0 && bits&1 == 0 {
		if (lost > 0) == (s > 0) {
			s = math.Float64frombits(bits + 1)
		} else {
			s = math.Float64frombits(bits - 1)
		}
	}
	return float32(s)
}

// scale is x * 2**n.
func scale(x, n float64) float64 {
	if n != n {
		return n
	}
	return math.Ldexp(x, int(math.Floor(max(min(n, 5000), -5000))))
}

// exponent is floor(log2(|x|)).
func exponent(x float64) float64 {
	if x == 0 || x-x != 0 {
		return math.Logb(x) // infinities and NaN
	}
	_, e := math.Frexp(x)
	return float64(e - 1)
}

// fraction is x * 2**-n in [0.75, 1.5).
func fraction(x float64) float64 {
	switch {
	case x == 0:
		return math.Copysign(1, x)
	case x < 0:
		return math.NaN()
	case math.IsInf(x, 1):
		return 1
	}
	m, _ := math.Frexp(x)
	if m < 0.75 {
		m *= 2
	}
	return m
}

// FloatUnary are the unary float operations, computed in float64: exact, or more accurate than any renderer.
var FloatUnary = map[Op]func(float64) float64{
	Sqrt: math.Sqrt, Trunc: math.Trunc, Floor: math.Floor, Round: math.RoundToEven,
	Exponent: exponent, Fraction: fraction,
	Exp2: math.Exp2, Tanh: math.Tanh,
	Exp: uop.Functions[uop.Exp], Log2: uop.Functions[uop.Log2], Sin: uop.Functions[uop.Sin], Cos: uop.Functions[uop.Cos],
}

// floatChoice are the operations whose value is the second argument if the condition holds, else the first.
var floatChoice = map[Op]func(a, b float64) bool{
	Max:   func(a, b float64) bool { return a < b || b != b },
	MaxSS: func(a, b float64) bool { return a < b },
	MinSS: func(a, b float64) bool { return a > b },
}

func compareLane(op Op, k Kind) LaneFunc {
	switch {
	case k.Float():
		f := floatCompare[op]
		if k == F32 {
			return func(a, b, _ uint64) uint64 { return Truth(f(WidenF32(a), WidenF32(b))) }
		}
		return func(a, b, _ uint64) uint64 { return Truth(f(F64Of(a), F64Of(b))) }
	case op == Equal:
		return func(a, b, _ uint64) uint64 { return Truth(a == b) }
	case op == NotEqual:
		return func(a, b, _ uint64) uint64 { return Truth(a != b) }
	}
	// Unsigned numbers are ordered as signed ones are with the top bit flipped.
	var top uint64
	if k == U64 {
		top = 1 << 63
	}
	if op == Less {
		return func(a, b, _ uint64) uint64 { return Truth(IntOf(k, a^top) < IntOf(k, b^top)) }
	}
	return func(a, b, _ uint64) uint64 { return Truth(IntOf(k, a^top) <= IntOf(k, b^top)) }
}

var floatCompare = map[Op]func(a, b float64) bool{
	Less:      func(a, b float64) bool { return a < b },
	LessEqual: func(a, b float64) bool { return a <= b },
	Equal:     func(a, b float64) bool { return a == b },
	NotEqual:  func(a, b float64) bool { return a != b },
}

// encodeInt is Encode for integer kinds; higher bits are cleared.
func encodeInt(k Kind, reg uint64) uint64 {
	if bits := 8 * k.Size(); bits < 64 {
		return Encode(k, reg) & (1<<bits - 1)
	}
	return reg
}

func CastLane(from, to Kind) LaneFunc {
	float := F64Of
	if from.Register() == F32 {
		float = WidenF32
	}
	switch {
	case to == Bool && from.Float():
		return func(a, _, _ uint64) uint64 { return Truth(float(a) != 0) }
	case to == Bool:
		return func(a, _, _ uint64) uint64 { return Truth(a != 0) }
	case from.Float() && to == F64:
		return func(a, _, _ uint64) uint64 { return OfF64(float(a)) }
	case from.Float() && to.Float():
		return narrowLane(to, func(a, _, _ uint64) uint64 { return of32(float(a)) })
	case from.Float():
		return func(a, _, _ uint64) uint64 { return to.Wrap(floatToInt(float(a), to)) }
	case to == F64 && from == U64:
		return func(a, _, _ uint64) uint64 { return OfF64(float64(a)) }
	case to == F64:
		return func(a, _, _ uint64) uint64 { return OfF64(float64(IntOf(from, a))) }
	case to.Float() && from == U64:
		return narrowLane(to, func(a, _, _ uint64) uint64 { return OfF32(float32(a)) })
	case to.Float():
		return narrowLane(to, func(a, _, _ uint64) uint64 { return OfF32(float32(IntOf(from, a))) })
	}
	return func(a, _, _ uint64) uint64 { return to.Wrap(IntOf(from, a)) }
}

// floatToInt truncates. Out of range the result is unspecified; here it saturates at 64 bits and wraps.
func floatToInt(f float64, to Kind) int64 {
	switch {
	case f != f:
		return 0
	case to == U64 && f >= 1<<64:
		return -1
	case to == U64 && f >= 1<<63:
		return int64(uint64(f))
	case f >= 1<<63:
		return math.MaxInt64
	case f < -1<<63:
		return math.MinInt64
	}
	return int64(f)
}

// IntOf is the integer in a register; U64 above the range of int64 wraps.
func IntOf(k Kind, bits uint64) int64 {
	if k.Register() == I32 {
		return int64(int32(bits))
	}
	return int64(bits)
}

// Decode is the register content of an element that has the given bits in memory.
func Decode(k Kind, bits uint64) uint64 {
	single := func(f float64) uint64 { return uint64(math.Float32bits(float32(f))) }
	switch k {
	case Bool:
		return Truth(bits != 0)
	case E4M3:
		return single(uop.FP8ToFloat(uop.FP8E4M3, uint8(bits)))
	case E5M2:
		return single(uop.FP8ToFloat(uop.FP8E5M2, uint8(bits)))
	case F16:
		return single(float64(uop.HalfToFloat(uint16(bits))))
	case BF16:
		return bits << 16
	case F32, F64:
		return bits
	}
	return k.Wrap(int64(bits))
}

// Encode is the inverse of Decode: the bits in memory of a register, in the low bits of the result.
func Encode(k Kind, reg uint64) uint64 {
	f := float64(math.Float32frombits(uint32(reg)))
	switch k {
	case E4M3:
		return uint64(uop.FloatToFP8(uop.FP8E4M3, f))
	case E5M2:
		return uint64(uop.FloatToFP8(uop.FP8E5M2, f))
	case F16:
		return uint64(uop.FloatToHalf(f))
	case BF16:
		return uint64(uop.FloatToBF16(f))
	}
	return reg
}

func Truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Evaluate computes a scalar that depends on variables only.
func (v *Value) Evaluate(vars []int64) uint64 {
	switch v.Op {
	case Const:
		return v.Bits
	case Var:
		return v.Kind.Bits(uop.Int(vars[v.Bits]))
	}
	var x [3]uint64
	for i, a := range v.Args {
		x[i] = a.Evaluate(vars)
	}
	return LaneOp(v.Op, v.Args[0].Kind, v.Kind)(x[0], x[1], x[2])
}
