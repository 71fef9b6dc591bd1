package wgsl

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"polygrad/core/nest/ir"
)

// binary are the operations that are operators, of floats, integers and conditions.
var binary = map[ir.Op]string{
	ir.Add: "+", ir.Sub: "-", ir.Mul: "*", ir.And: "&", ir.Or: "|", ir.Xor: "^", ir.Less: "<", ir.LessEqual: "<=", ir.Equal: "==",
}

// calls are the operations that are functions.
var calls = map[ir.Op]string{ir.Abs: "abs", ir.Sqrt: "sqrt", ir.Trunc: "trunc", ir.Round: "round", ir.Floor: "floor"}

// compute is how a value is computed.
func (w *writer) compute(v *ir.Value) string {
	a := make([]string, len(v.Args))
	for i, x := range v.Args {
		a[i] = w.ref(x)
	}
	if v.Lanes > 1 && !w.lanes {
		ir.Fail("a vector: %s", v.Describe())
	}
	if f := calls[v.Op]; f != "" {
		return f + "(" + a[0] + ")"
	}
	switch v.Op {
	case ir.Xor:
		if v.Kind == ir.Bool {
			return a[0] + " != " + a[1]
		}
	case ir.NotEqual:
		return w.notEqual(v.Args[0], v.Args[1])
	}
	if v.Kind.Float() {
		w.keepRounding(v, a)
	}
	for i, x := range v.Args {
		if v.Op == ir.Add && w.singleTrip[x] {
			return a[1-i]
		}
	}
	if op := binary[v.Op]; op != "" {
		return a[0] + " " + op + " " + a[1]
	}
	switch v.Op {
	case ir.Final:
		return a[0]
	case ir.LoadQuad:
		array, _ := w.array(v.At.Buf)
		return array + "[" + w.index(v.At) + "]"
	case ir.AnyLane: // what follows is done by each lane for itself
		return a[0]
	case ir.Lane:
		return typeOf(v.Kind) + "(lane)"
	case ir.Sum, ir.Product, ir.MaxLanes, ir.AndAll, ir.OrAll, ir.XorAll:
		return w.combined(v.Op, v.Args[0].Kind, int(v.Bits), a[0])
	case ir.Var:
		return fmt.Sprintf("vars[%d][%d]", v.Bits/4, v.Bits%4)
	case ir.Div:
		return w.quotient(v, a)
	case ir.Mod:
		if v.Args[1].Op == ir.Const {
			return a[0] + " % " + a[1]
		}
		return fmt.Sprintf("select(%s %% %s, %s, %s == %s)", a[0], a[1], zero(v.Kind), a[1], zero(v.Kind))
	case ir.Neg:
		if typeOf(v.Kind) == "u32" {
			return "0u - " + a[0]
		}
		return "-" + a[0]
	case ir.Max: // of integers
		return "max(" + a[0] + ", " + a[1] + ")"
	case ir.MaxSS:
		return w.firstIfNaN(v, a, fmt.Sprintf("select(%s, %s, %s < %s)", a[0], a[1], a[0], a[1]))
	case ir.MinSS:
		return w.firstIfNaN(v, a, fmt.Sprintf("select(%s, %s, %s > %s)", a[0], a[1], a[0], a[1]))
	case ir.AndNot:
		if v.Kind == ir.Bool {
			return a[0] + " & !" + a[1]
		}
		return a[0] + " & ~" + a[1]
	case ir.Shl, ir.Shr:
		by := v.Args[1]
		count := a[1]
		switch {
		case by.Op == ir.Const:
			count = fmt.Sprintf("%du", by.Bits)
		case typeOf(by.Kind) != "u32":
			count = "u32(" + count + ")"
		}
		return fmt.Sprintf("%s %s %s", a[0], map[ir.Op]string{ir.Shl: "<<", ir.Shr: ">>"}[v.Op], count)
	case ir.Where:
		return fmt.Sprintf("select(%s, %s, %s)", a[2], a[1], a[0])
	case ir.Cast:
		return w.cast(v, a[0])
	case ir.Narrow: // to F16
		return w.function("half") + "(" + a[0] + ")"
	case ir.Bitcast:
		return retyped(a[0], v.Args[0].Kind, v.Kind)
	}
	ir.Fail("shaders have no operation %s", v.Describe())
	return ""
}

// keepRounding hides operands from compilers that simplify as if floats were real numbers: a sum in a sum, a product with a constant in another one,
// two equal arguments, and 0.
func (w *writer) keepRounding(v *ir.Value, a []string) {
	hide := func(i int) {
		a[i] = w.function("keep") + "(" + a[i] + ")"
	}
	switch v.Op {
	case ir.Add, ir.Sub:
		for i, x := range v.Args {
			if isSum(x) || isFloatZero(x) || i == 0 && v.Op == ir.Sub && x == v.Args[1] {
				hide(i)
			}
		}
	case ir.Mul:
		for i, x := range v.Args {
			other := v.Args[1-i]
			if isFloatZero(x) || x.Op == ir.Mul && hasConst(x) && other.Op == ir.Const {
				hide(i)
			}
		}
	case ir.Div:
		if v.Args[0] == v.Args[1] || isFloatZero(v.Args[0]) {
			hide(0)
		}
	}
}

// isFloatZero reports whether a float is the constant 0 or -0.
func isFloatZero(v *ir.Value) bool { return v.Op == ir.Const && uint32(v.Bits)<<1 == 0 }

// isSum reports whether a float is a sum or a difference, but not one that accumulates a reduction, whose order does not matter.
func isSum(v *ir.Value) bool {
	if v.Op == ir.Neg {
		v = v.Args[0]
	}
	return (v.Op == ir.Add || v.Op == ir.Sub) && !accumulates(v)
}

func accumulates(v *ir.Value) bool {
	for v.Op == ir.Add {
		if v.Args[1].Op == ir.Phi {
			return true
		}
		v = v.Args[0]
	}
	return v.Op == ir.Phi
}

func hasConst(v *ir.Value) bool { return v.Args[0].Op == ir.Const || v.Args[1].Op == ir.Const }

// notEqual compares floats by their bits: compilers may assume that no float is NaN, and then x != x is false, and so is !(x == y) with a NaN.
func (w *writer) notEqual(x, y *ir.Value) string {
	a, b := w.ref(x), w.ref(y)
	switch {
	case !x.Kind.Float():
		return a + " != " + b
	case x == y:
		return fmt.Sprintf("%s(%s)", w.function("is_nan"), a)
	case isFloatZero(y):
		return fmt.Sprintf("(bitcast<u32>(%s) << 1u) != 0u", a)
	case isFloatZero(x):
		return fmt.Sprintf("(bitcast<u32>(%s) << 1u) != 0u", b)
	}
	return fmt.Sprintf("!%s(%s, %s)", w.function("equal"), a, b)
}

// firstIfNaN is a choice of the greater or lesser of two floats, and the first one if that is NaN: compilers turn the choice into an instruction that
// drops NaN.
func (w *writer) firstIfNaN(v *ir.Value, a []string, choice string) string {
	if !v.Kind.Float() || v.Args[0].Op == ir.Const {
		return choice
	}
	return fmt.Sprintf("select(%s, %s, %s(%s))", choice, a[0], w.function("is_nan"), a[0])
}

// quotient is a division: that of floats is rounded correctly, that of an integer by 0 gives 0.
func (w *writer) quotient(v *ir.Value, a []string) string {
	q := a[0] + " / " + a[1]
	if c := v.Args[1]; v.Kind.Float() && c.Op == ir.Const && c.Bits<<33 == 0 {
		// A compiler of shaders that sees a division by 0 may leave out all that follows (Mesa's).
		return a[0] + " * " + w.float(float32(math.Copysign(math.Inf(1), float64(math.Float32frombits(uint32(c.Bits))))))
	}
	if v.Kind.Float() {
		return fmt.Sprintf("%s(%s, %s)", w.function("quotient"), a[0], a[1])
	}
	if v.Args[1].Op == ir.Const && v.Args[1].Bits != 0 {
		return q
	}
	return fmt.Sprintf("select(%s, %s, %s == %s)", q, zero(v.Kind), a[1], zero(v.Kind))
}

func zero(k ir.Kind) string {
	if typeOf(k) == "u32" {
		return "0u"
	}
	return "0i"
}

// cast is a conversion by value.
func (w *writer) cast(v *ir.Value, a string) string {
	if v.Kind == ir.Bool {
		return fmt.Sprintf("%s != %s", a, zero(v.Args[0].Kind))
	}
	return typeOf(v.Kind) + "(" + a + ")"
}

// constant is a literal.
func (w *writer) constant(k ir.Kind, bits uint64) string {
	switch typeOf(k) {
	case "bool":
		return strconv.FormatBool(bits != 0)
	case "i32":
		switch v := int32(bits); {
		case v == math.MinInt32:
			return "i32(-2147483648)"
		case v < 0:
			return fmt.Sprintf("(%di)", v)
		default:
			return fmt.Sprintf("%di", v)
		}
	case "u32":
		return fmt.Sprintf("%du", uint32(bits))
	}
	return w.float(math.Float32frombits(uint32(bits)))
}

// float is a literal of a float, by its bits where a literal would not be finite, or be taken for 0.
func (w *writer) float(f float32) string {
	bits := math.Float32bits(f)
	switch exponent := bits >> 23 & 0xff; {
	case bits == 1<<31: // in a choice between 0 and -0, NVIDIA's compiler takes -0 for 0 if it knows both
		return fmt.Sprintf("%s(%s(0x%xu))", w.function("keep"), w.function("float_of"), bits)
	case exponent == 0xff || exponent == 0 && f != 0:
		return fmt.Sprintf("%s(0x%xu)", w.function("float_of"), bits)
	}
	digits := 32 // the fewest digits that read back as the same float; near the greatest float they could exceed it
	if f > 1e38 || f < -1e38 {
		digits = 64
	}
	s := strconv.FormatFloat(float64(f), 'g', -1, digits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	s += "f"
	if f < 0 {
		s = "(" + s + ")"
	}
	return s
}
