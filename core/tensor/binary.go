package tensor

import "polygrad/core/uop"

// BinaryOp is an operation of two tensors, or of a tensor and a number. The values equal those of PolyBinaryOp.
type BinaryOp int

// Operations with their own treatment of a number on the right.
const (
	binaryPow BinaryOp = 6
	binaryShl BinaryOp = 18
	binaryShr BinaryOp = 19
)

// binaryOps are the operations, by the names of their methods, with the treatment of a number out of the range of the integer
// operand.
var binaryOps = []struct {
	name   string
	run    func(a, b *uop.UOp) (*uop.UOp, error)
	beyond Beyond
}{
	{"add", Add, BeyondWraps}, {"sub", Sub, BeyondWraps}, {"mul", Mul, BeyondWraps}, {"div", Div, BeyondFloats},
	{"floordiv", FloorDiv, BeyondFails}, {"mod", Mod, BeyondFails}, {"pow", Pow, BeyondFails},
	{"maximum", Maximum, BeyondBelow}, {"minimum", Minimum, BeyondAbove},
	{"lt", Lt, BeyondCompares}, {"le", Le, BeyondCompares}, {"gt", Gt, BeyondCompares}, {"ge", Ge, BeyondCompares},
	{"eq", Eq, BeyondCompares}, {"ne", Ne, BeyondCompares},
	{"bitwise_and", BitAnd, BeyondWraps}, {"bitwise_or", BitOr, BeyondWraps}, {"bitwise_xor", BitXor, BeyondWraps},
	{"lshift", ShiftLeft, BeyondFails}, {"rshift", ShiftRight, BeyondFails}, {"idiv", TruncDiv, BeyondFails},
	{"logaddexp", LogAddExp, BeyondFloats}, {"copysign", CopySign, BeyondFails}, {"fmod", TruncMod, BeyondFails},
	{"atan2", Atan2, BeyondFloats}, {"hypot", Hypot, BeyondFloats},
}

// String is the name of the method that runs the operation, "" if there is no such operation.
func (op BinaryOp) String() string {
	if op < 0 || int(op) >= len(binaryOps) {
		return ""
	}
	return binaryOps[op].name
}

func needBinary(op BinaryOp) {
	if op.String() == "" {
		fail("op", "%d is not a binary operation, expected 0 to %d", op, len(binaryOps)-1)
	}
}

// Binary runs an operation of two tensors.
func Binary(op BinaryOp, a, b *uop.UOp) (r *uop.UOp, err error) {
	defer guard("Binary", &err)
	needBinary(op)
	return binaryOps[op].run(a, b)
}

// BinaryNumber runs an operation of a tensor and a number; reversed puts the number on the left.
func BinaryNumber(op BinaryOp, x *uop.UOp, v uop.Const, reversed bool) (r *uop.UOp, err error) {
	defer guard("BinaryNumber", &err)
	needBinary(op)
	n, whole := v.Int64()
	switch {
	case reversed:
	case op == binaryPow:
		return PowConst(x, v)
	case op == binaryShl && whole:
		return ShiftLeftConst(x, int(n))
	case op == binaryShr && whole:
		return ShiftRightConst(x, int(n))
	}
	x, s, err := Meet(x, v, binaryOps[op].beyond)
	if err != nil {
		return nil, err
	}
	if reversed {
		x, s = s, x
	}
	return binaryOps[op].run(x, s)
}
