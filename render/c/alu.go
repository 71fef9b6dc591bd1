package c

import (
	"fmt"

	"polygrad/core/uop"
)

var infix = map[uop.Op]string{
	uop.Add: "+", uop.Sub: "-", uop.Mul: "*", uop.Fdiv: "/", uop.And: "&", uop.Or: "|", uop.Xor: "^",
	uop.CmpLt: "<", uop.CmpNe: "!=", uop.CmpEq: "==",
}

// wide is the unsigned type in which signed arithmetic is done, since overflow of signed types is undefined in C.
var wide = map[*uop.DType]string{
	uop.Int8: "uint32_t", uop.Int16: "uint32_t", uop.Int32: "uint32_t", uop.Int64: "uint64_t",
	uop.Uint8: "uint32_t", uop.Uint16: "uint32_t", uop.Uint32: "uint32_t", uop.Uint64: "uint64_t",
}

func (w *writer) alu(u *uop.UOp) error {
	in := u.Src[len(u.Src)-1].DType.Scalar()
	out := u.DType.Scalar()
	f := expression(u.Op, in, out)
	if f == nil {
		return fmt.Errorf("cannot write %s on %s as C", u.Op, in)
	}
	w.define(u, func(i int) string {
		args := make([]string, len(u.Src))
		for k, s := range u.Src {
			args[k] = w.arg(s, i)
		}
		e := f(args)
		if t := ctypes[out]; t.narrow != "" && u.Op != uop.Where {
			e = round(t, e)
		}
		return e
	})
	return nil
}

// expression gives the C expression of an operation on operands of type in.
func expression(op uop.Op, in, out *uop.DType) func(a []string) string {
	reg := ctypes[in].reg
	switch op {
	case uop.Where:
		return func(a []string) string { return a[0] + " ? " + a[1] + " : " + a[2] }
	case uop.Max:
		if in.IsFloat() { // a NaN in either operand is kept
			return func(a []string) string {
				return a[0] + " < " + a[1] + " || " + a[1] + " != " + a[1] + " ? " + a[1] + " : " + a[0]
			}
		}
		return func(a []string) string { return a[0] + " < " + a[1] + " ? " + a[1] + " : " + a[0] }
	case uop.CmpLt, uop.CmpNe, uop.CmpEq:
		return func(a []string) string { return a[0] + " " + infix[op] + " " + a[1] }
	}
	if in.IsFloat() {
		return floatExpression(op, in)
	}
	switch op {
	case uop.Idiv, uop.Fdiv: // gradients of bools divide bools
		return func(a []string) string { return "pg_div_" + reg + "(" + a[0] + ", " + a[1] + ")" }
	case uop.Mod:
		return func(a []string) string { return "pg_mod_" + reg + "(" + a[0] + ", " + a[1] + ")" }
	case uop.Trunc, uop.Floor, uop.Ceil, uop.Round:
		return func(a []string) string { return a[0] }
	case uop.Neg:
		return func(a []string) string { return "(" + reg + ")(0 - (" + wide[in] + ")" + a[0] + ")" }
	case uop.Shl:
		return func(a []string) string {
			return fmt.Sprintf("(%s)((%s)%s << (%s & %d))", reg, wide[in], a[0], a[1], in.Itemsize()*8-1)
		}
	case uop.Shr:
		return func(a []string) string {
			return fmt.Sprintf("(%s)(%s >> (%s & %d))", reg, a[0], a[1], in.Itemsize()*8-1)
		}
	case uop.Add, uop.Sub, uop.Mul:
		if in == uop.Bool {
			return func(a []string) string { return "(" + a[0] + " " + infix[op] + " " + a[1] + ") != 0" }
		}
		return func(a []string) string {
			return fmt.Sprintf("(%s)((%s)%s %s (%s)%s)", reg, wide[in], a[0], infix[op], wide[in], a[1])
		}
	case uop.And, uop.Or, uop.Xor:
		return func(a []string) string {
			return "(" + ctypes[out].reg + ")(" + a[0] + " " + infix[op] + " " + a[1] + ")"
		}
	}
	return nil
}

func floatExpression(op uop.Op, in *uop.DType) func(a []string) string {
	double := in == uop.Float64
	builtin := func(name string) func(a []string) string {
		if !double {
			name += "f"
		}
		return func(a []string) string { return "__builtin_" + name + "(" + a[0] + ")" }
	}
	switch op {
	case uop.Exp:
		return builtin("exp")
	case uop.Exp2:
		return builtin("exp2")
	case uop.Log2:
		return builtin("log2")
	case uop.Sin:
		return builtin("sin")
	case uop.Cos:
		return builtin("cos")
	case uop.Tanh:
		return builtin("tanh")
	case uop.Sqrt:
		return builtin("sqrt")
	case uop.Trunc:
		return builtin("trunc")
	case uop.Floor:
		return builtin("floor")
	case uop.Ceil:
		return builtin("ceil")
	case uop.Round:
		return builtin("rint")
	case uop.Neg:
		return func(a []string) string { return "-" + a[0] }
	case uop.Reciprocal:
		return func(a []string) string { return "1 / " + a[0] }
	case uop.Add, uop.Sub, uop.Mul, uop.Fdiv:
		return func(a []string) string { return a[0] + " " + infix[op] + " " + a[1] }
	}
	return nil
}
