package nest

import (
	"math"

	"polygrad/core/uop"
)

// laneFunc is an operation on the registers of one lane.
type laneFunc func(a, b, c uint64) uint64

// laneOp is the operation from arguments of one kind to a value of another. A narrow kind's is that of its register,
// narrowed.
func laneOp(op Op, from, to Kind) laneFunc {
	reg := from.Register()
	var f laneFunc
	switch op {
	case Where:
		return func(a, b, c uint64) uint64 {
			if a != 0 {
				return b
			}
			return c
		}
	case Cast:
		return castLane(from, to)
	case Bitcast:
		if from.Size() != to.Size() {
			Fail("bitcast from %s to %s", from, to)
		}
		return func(a, _, _ uint64) uint64 { return decode(to, encodeInt(from, a)) }
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

// narrowLane brings results into the range of a kind.
func narrowLane(k Kind, f laneFunc) laneFunc {
	if k == k.Register() {
		return f
	}
	if k.Float() {
		return func(a, b, c uint64) uint64 { return decode(k, encode(k, f(a, b, c))) }
	}
	return func(a, b, c uint64) uint64 { return k.Wrap(int64(f(a, b, c))) }
}

var bitwise = map[Op]laneFunc{
	And:    func(a, b, _ uint64) uint64 { return a & b },
	Or:     func(a, b, _ uint64) uint64 { return a | b },
	Xor:    func(a, b, _ uint64) uint64 { return a ^ b },
	AndNot: func(a, b, _ uint64) uint64 { return a &^ b },
}

// intLane is an operation of an integer kind as wide as its register.
func intLane(op Op, k Kind) laneFunc {
	if k == U64 {
		switch op {
		case Div:
			return func(a, b, _ uint64) uint64 { return a / max(b, 1) * truth(b != 0) }
		case Mod:
			return func(a, b, _ uint64) uint64 { return a % max(b, 1) }
		case Max:
			return func(a, b, _ uint64) uint64 { return max(a, b) }
		case Shr:
			return func(a, b, _ uint64) uint64 { return a >> b }
		}
	}
	f := intOps[op]
	if f == nil {
		return nil
	}
	return func(a, b, _ uint64) uint64 { return k.Wrap(f(intOf(k, a), intOf(k, b))) }
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
	Abs:   func(a, _ int64) int64 { return max(a, -a) },
	Trunc: func(a, _ int64) int64 { return a },
	Shl:   func(a, b int64) int64 { return a << b },
	Shr:   func(a, b int64) int64 { return a >> b },
}

func f32Of(r uint64) float32 { return math.Float32frombits(uint32(r)) }
func ofF32(f float32) uint64 { return uint64(math.Float32bits(f)) }
func f64Of(r uint64) float64 { return math.Float64frombits(r) }
func ofF64(f float64) uint64 { return math.Float64bits(f) }
func of32(f float64) uint64  { return ofF32(float32(f)) }
func wide(r uint64) float64  { return float64(f32Of(r)) }

func singleLane(op Op) laneFunc {
	switch op {
	case Add:
		return func(a, b, _ uint64) uint64 { return ofF32(f32Of(a) + f32Of(b)) }
	case Sub:
		return func(a, b, _ uint64) uint64 { return ofF32(f32Of(a) - f32Of(b)) }
	case Mul:
		return func(a, b, _ uint64) uint64 { return ofF32(f32Of(a) * f32Of(b)) }
	case Div:
		return func(a, b, _ uint64) uint64 { return ofF32(f32Of(a) / f32Of(b)) }
	case Neg:
		return func(a, _, _ uint64) uint64 { return a ^ 1<<31 }
	case Abs:
		return func(a, _, _ uint64) uint64 { return a &^ (1 << 31) }
	case FMA:
		return func(a, b, c uint64) uint64 { return ofF32(fma32(f32Of(a), f32Of(b), f32Of(c))) }
	case NFMA:
		return func(a, b, c uint64) uint64 { return ofF32(fma32(-f32Of(a), f32Of(b), f32Of(c))) }
	case Scale:
		return func(a, b, _ uint64) uint64 { return of32(scale(wide(a), wide(b))) }
	}
	if g := floatUnary[op]; g != nil {
		return func(a, _, _ uint64) uint64 { return of32(g(wide(a))) }
	}
	if g := floatChoice[op]; g != nil {
		return func(a, b, _ uint64) uint64 {
			if g(wide(a), wide(b)) {
				return b
			}
			return a
		}
	}
	return nil
}

func doubleLane(op Op) laneFunc {
	switch op {
	case Add:
		return func(a, b, _ uint64) uint64 { return ofF64(f64Of(a) + f64Of(b)) }
	case Sub:
		return func(a, b, _ uint64) uint64 { return ofF64(f64Of(a) - f64Of(b)) }
	case Mul:
		return func(a, b, _ uint64) uint64 { return ofF64(f64Of(a) * f64Of(b)) }
	case Div:
		return func(a, b, _ uint64) uint64 { return ofF64(f64Of(a) / f64Of(b)) }
	case Neg:
		return func(a, _, _ uint64) uint64 { return a ^ 1<<63 }
	case Abs:
		return func(a, _, _ uint64) uint64 { return a &^ (1 << 63) }
	case FMA:
		return func(a, b, c uint64) uint64 { return ofF64(math.FMA(f64Of(a), f64Of(b), f64Of(c))) }
	case NFMA:
		return func(a, b, c uint64) uint64 { return ofF64(math.FMA(-f64Of(a), f64Of(b), f64Of(c))) }
	case Scale:
		return func(a, b, _ uint64) uint64 { return ofF64(scale(f64Of(a), f64Of(b))) }
	}
	if g := floatUnary[op]; g != nil {
		return func(a, _, _ uint64) uint64 { return ofF64(g(f64Of(a))) }
	}
	if g := floatChoice[op]; g != nil {
		return func(a, b, _ uint64) uint64 {
			if g(f64Of(a), f64Of(b)) {
				return b
			}
			return a
		}
	}
	return nil
}

// fma32 is a*b+c rounded once. In float64 the product is exact and the sum is rounded; if that is not exact, a sum
// whose last bit is even goes to its odd neighbour on the side of what was lost, so that rounding to float32 is right.
func fma32(a, b, c float32) float32 {
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
	return math.Ldexp(x, int(max(min(n, 5000), -5000)))
}

// exponent is the number of factors 2 that |x| has over 1.
func exponent(x float64) float64 {
	if x == 0 || x-x != 0 {
		return math.Logb(x) // infinities and NaN
	}
	_, e := math.Frexp(x)
	return float64(e - 1)
}

// fraction is x without its factors 2.
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

// floatUnary are exact in float64, or functions whose float64 is better than any renderer's.
var floatUnary = map[Op]func(float64) float64{
	Sqrt: math.Sqrt, Trunc: math.Trunc, Floor: math.Floor, Round: math.RoundToEven,
	Exponent: exponent, Fraction: fraction,
	Exp2: math.Exp2, Tanh: math.Tanh,
	Exp: uop.Functions[uop.Exp], Log2: uop.Functions[uop.Log2], Sin: uop.Functions[uop.Sin], Cos: uop.Functions[uop.Cos],
}

// floatChoice are the operations whose value is the second argument if the condition holds, else the first.
var floatChoice = map[Op]func(a, b float64) bool{
	Max:   func(a, b float64) bool { return a < b || b != b },
	Pick:  func(a, b float64) bool { return a < b },
	Least: func(a, b float64) bool { return a > b },
}

func compareLane(op Op, k Kind) laneFunc {
	switch {
	case k.Float():
		f := floatCompare[op]
		if k == F32 {
			return func(a, b, _ uint64) uint64 { return truth(f(wide(a), wide(b))) }
		}
		return func(a, b, _ uint64) uint64 { return truth(f(f64Of(a), f64Of(b))) }
	case op == Equal:
		return func(a, b, _ uint64) uint64 { return truth(a == b) }
	case op == NotEqual:
		return func(a, b, _ uint64) uint64 { return truth(a != b) }
	}
	// Unsigned numbers are ordered as signed ones are with the top bit flipped.
	var top uint64
	if k == U64 {
		top = 1 << 63
	}
	if op == Less {
		return func(a, b, _ uint64) uint64 { return truth(intOf(k, a^top) < intOf(k, b^top)) }
	}
	return func(a, b, _ uint64) uint64 { return truth(intOf(k, a^top) <= intOf(k, b^top)) }
}

var floatCompare = map[Op]func(a, b float64) bool{
	Less:      func(a, b float64) bool { return a < b },
	LessEqual: func(a, b float64) bool { return a <= b },
	Equal:     func(a, b float64) bool { return a == b },
	NotEqual:  func(a, b float64) bool { return a != b },
}

// encodeInt is encode, of integers with nothing above the bits that they have in memory.
func encodeInt(k Kind, reg uint64) uint64 {
	if bits := 8 * k.Size(); bits < 64 {
		return encode(k, reg) & (1<<bits - 1)
	}
	return reg
}

func castLane(from, to Kind) laneFunc {
	float := f64Of
	if from.Register() == F32 {
		float = wide
	}
	switch {
	case to == Bool && from.Float():
		return func(a, _, _ uint64) uint64 { return truth(float(a) != 0) }
	case to == Bool:
		return func(a, _, _ uint64) uint64 { return truth(a != 0) }
	case from.Float() && to == F64:
		return func(a, _, _ uint64) uint64 { return ofF64(float(a)) }
	case from.Float() && to.Float():
		return narrowLane(to, func(a, _, _ uint64) uint64 { return of32(float(a)) })
	case from.Float():
		return func(a, _, _ uint64) uint64 { return to.Wrap(floatToInt(float(a), to)) }
	case to == F64 && from == U64:
		return func(a, _, _ uint64) uint64 { return ofF64(float64(a)) }
	case to == F64:
		return func(a, _, _ uint64) uint64 { return ofF64(float64(intOf(from, a))) }
	case to.Float() && from == U64:
		return narrowLane(to, func(a, _, _ uint64) uint64 { return ofF32(float32(a)) })
	case to.Float():
		return narrowLane(to, func(a, _, _ uint64) uint64 { return ofF32(float32(intOf(from, a))) })
	}
	return func(a, _, _ uint64) uint64 { return to.Wrap(intOf(from, a)) }
}

// floatToInt truncates. What no integer of the kind equals may give anything; here it saturates at 64 bits and wraps.
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

// intOf is the value of a register of an integer kind; those above the range of int64 wrap.
func intOf(k Kind, bits uint64) int64 {
	if k.Register() == I32 {
		return int64(int32(bits))
	}
	return int64(bits)
}

// decode is the register that holds what lies in memory as bits.
func decode(k Kind, bits uint64) uint64 {
	single := func(f float64) uint64 { return uint64(math.Float32bits(float32(f))) }
	switch k {
	case Bool:
		return truth(bits != 0)
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

// encode is what lies in memory of the value of a register, in the low bits.
func encode(k Kind, reg uint64) uint64 {
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

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
