package tensor

import (
	"polygrad/core/uop"
)

// Cast converts the values to another type.
func Cast(x *uop.UOp, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("Cast", &err)
	need("x", x)
	needType("dtype", dt)
	return cast(x, dt), nil
}

// Bitcast reinterprets the bits as another type. Where the sizes differ, the last axis grows or
// shrinks; elements are joined with the first one in the low bits.
func Bitcast(x *uop.UOp, dt *uop.DType) (r *uop.UOp, err error) {
	defer guard("Bitcast", &err)
	need("x", x)
	needType("dtype", dt)
	return bitcast(x, dt), nil
}

// UintOfSize is the unsigned type of so many bytes.
var UintOfSize = map[int]*uop.DType{1: uop.Uint8, 2: uop.Uint16, 4: uop.Uint32, 8: uop.Uint64}

// intOfSize is the signed type of so many bytes.
var intOfSize = map[int]*uop.DType{1: uop.Int8, 2: uop.Int16, 4: uop.Int32, 8: uop.Int64}

func bitcast(x *uop.UOp, dt *uop.DType) *uop.UOp {
	if x.DType == dt {
		return x
	}
	to, from := dt.Itemsize(), x.DType.Itemsize()
	if to == from {
		return x.BitcastTo(dt)
	}
	s := x.Shape()
	if len(s) == 0 {
		fail("dtype", "%s has another size than %s, expected x of 1 dimension or more", dt, x.DType)
	}
	last := intSize("x", s, len(s)-1)
	if last*int64(from)%int64(to) != 0 {
		fail("dtype", "%s, expected a type whose size divides the bytes of %d values of %s", dt, last, x.DType)
	}
	raw := bitcast(x, UintOfSize[from])
	if to < from {
		parts := make([]*uop.UOp, from/to)
		for i := range parts {
			parts[i] = shiftRight(raw, 8*i*to)
		}
		return bitcast(cast(flatten(stack(parts, -1), -2, -1), UintOfSize[to]), dt)
	}
	rate := int64(to / from)
	raw = reshape(raw, joinShapes(s[:len(s)-1], uop.ShapeOf(last/rate, rate)))
	var r *uop.UOp
	for i := range rate {
		part := shiftLeft(cast(shrinkAxis(raw, len(s), uop.N(i), uop.N(i+1)), UintOfSize[to]), 8*int(i)*from)
		if r == nil {
			r = part
		} else {
			r = add(r, part)
		}
	}
	return bitcast(squeeze(r, -1), dt)
}

// Contiguous requests a buffer of its own for x. A buffer, reshaped or not, stays as it is.
func Contiguous(x *uop.UOp) (*uop.UOp, error) {
	return run1("Contiguous", (*uop.UOp).ContiguousOp, x)
}

// ContiguousBackward is x with a gradient in a buffer of its own.
func ContiguousBackward(x *uop.UOp) (*uop.UOp, error) {
	return run1("ContiguousBackward", func(x *uop.UOp) *uop.UOp { return x.Alu(uop.ContiguousBackward) }, x)
}

// CastLike is x in the type of another tensor, broadcast to its shape.
func CastLike(x, like *uop.UOp) (r *uop.UOp, err error) {
	defer guard("CastLike", &err)
	need("x", x)
	return broadcastTo(cast(x, like.DType), like.Shape()), nil
}

// Detach is x without its gradient.
func Detach(x *uop.UOp) (*uop.UOp, error) { return run1("Detach", detach, x) }

// Assign writes value into target, a buffer or a view of one, when it is realized. The node is the new contents. value is
// broadcast to the shape of target and must have its type.
func Assign(target, value *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Assign", &err)
	need("target", target)
	need("value", value)
	needSame("operands", target, value)
	if target == value {
		return target, nil
	}
	if target.DType != value.DType {
		fail("value", "is %s, expected %s as the target", value.DType, target.DType)
	}
	return target.AssignTo(broadcastTo(value, target.Shape())), nil
}

// Alu is a primitive operation by its code, with promotion and broadcasting. Composed operations (SUB, FDIV, NEG, CMPEQ) work, too.
func Alu(op uop.Op, src ...*uop.UOp) (r *uop.UOp, err error) {
	defer guard("Alu", &err)
	if len(src) == 0 {
		fail("src", "has no tensors, expected one or more")
	}
	needSame("src", src...)
	want := 0
	switch {
	case uop.GroupUnary.Has(op):
		want = 1
	case uop.GroupBinary.Has(op):
		want = 2
	case uop.GroupTernary.Has(op):
		want = 3
	default:
		fail("op", "%s, expected an arithmetic operation", op)
	}
	if len(src) != want {
		fail("src", "%s has %d sources, expected %d", op, len(src), want)
	}
	if f := unaries[op]; f != nil {
		return f(src[0]), nil
	}
	if f := binaries[op]; f != nil {
		return f(src[0], src[1]), nil
	}
	if op == uop.Where {
		return where(src[0], src[1], src[2]), nil
	}
	return add(mul(src[0], src[1]), src[2]), nil
}

var unaries = map[uop.Op]func(*uop.UOp) *uop.UOp{
	uop.Exp2: exp2, uop.Log2: log2, uop.Sin: sin, uop.Sqrt: sqrt, uop.Reciprocal: reciprocal, uop.Neg: neg, uop.Trunc: trunc,
	uop.Floor: floor, uop.Ceil: ceil, uop.Round: round,
	uop.Exp: exp, uop.Cos: cos, uop.Tanh: tanh,
}

var binaries = map[uop.Op]func(a, b operand) *uop.UOp{
	uop.Add: add, uop.Mul: mul, uop.Idiv: truncDiv, uop.Max: maximum, uop.Mod: truncMod, uop.CmpLt: lt, uop.CmpNe: ne, uop.CmpEq: eq,
	uop.Xor: bitXor, uop.Shl: shiftLeft, uop.Shr: shiftRight, uop.Or: bitOr, uop.And: bitAnd, uop.Threefry: threefry,
	uop.Sub: sub, uop.Fdiv: div, uop.Pow: pow,
}

func threefry(a, b operand) *uop.UOp {
	x, y := matched(a, b)
	if x.DType != uop.Uint64 {
		fail("src", "of THREEFRY are %s, expected %s", x.DType, uop.Uint64)
	}
	return x.Alu(uop.Threefry, y)
}
