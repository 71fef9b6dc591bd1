package lower

import (
	"fmt"

	"polygrad/core/uop"
)

// failure is a panic of this package: the kernel cannot be lowered. Lower turns it into an error.
type failure struct{ msg string }

func fail(format string, args ...any) { panic(failure{fmt.Sprintf(format, args...)}) }

// uncast is the source of a CAST and u itself otherwise.
func uncast(u *uop.UOp) *uop.UOp {
	if u.Op == uop.Cast {
		return u.Src[0]
	}
	return u
}

// unafter is the source of an AFTER and u itself otherwise.
func unafter(u *uop.UOp) *uop.UOp {
	if u.Op == uop.After {
		return u.Src[0]
	}
	return u
}

// appendTo is append that never writes into the array of a.
func appendTo(a []*uop.UOp, more ...*uop.UOp) []*uop.UOp {
	return append(a[:len(a):len(a)], more...)
}

// prepend is the list of first and rest.
func prepend(first *uop.UOp, rest ...*uop.UOp) []*uop.UOp {
	return append(append(make([]*uop.UOp, 0, len(rest)+1), first), rest...)
}

// partition splits a list by a predicate, keeping the order.
func partition(us []*uop.UOp, f func(*uop.UOp) bool) (yes, no []*uop.UOp) {
	for _, u := range us {
		if f(u) {
			yes = append(yes, u)
		} else {
			no = append(no, u)
		}
	}
	return yes, no
}

// sameSources is the one source of a node whose sources are all the same, else nil.
func sameSources(u *uop.UOp) *uop.UOp {
	if len(u.Src) == 0 {
		return nil
	}
	for _, s := range u.Src[1:] {
		if s != u.Src[0] {
			return nil
		}
	}
	return u.Src[0]
}

// eitherOrder tries a rule on the two operands of a commutative node in both orders.
func eitherOrder(u *uop.UOp, f func(a, b *uop.UOp) *uop.UOp) *uop.UOp {
	a, b := u.Src[0], u.Src[1]
	if r := f(a, b); r != nil || a == b {
		return r
	}
	return f(b, a)
}

// negated is x if u is x != true, else nil.
func negated(u *uop.UOp) *uop.UOp {
	if u.Op != uop.CmpNe {
		return nil
	}
	return eitherOrder(u, func(x, t *uop.UOp) *uop.UOp {
		if t.IsConst(uop.BoolConst(true)) {
			return x
		}
		return nil
	})
}

// intConst is the value of a CONST that is an integer in int64.
func intConst(u *uop.UOp) (int64, bool) {
	if u.Op != uop.ConstOp {
		return 0, false
	}
	c := u.ConstVal()
	if !c.IsInt() {
		return 0, false
	}
	return c.Int64()
}

// isInt reports whether a node has an integer type, index left out.
func isInt(u *uop.UOp) bool { return u.DType.IsInt() && !u.DType.IsIndex() && !u.DType.IsPtr() }

// isSigned reports whether a node has a signed integer type, index left out.
func isSigned(u *uop.UOp) bool { return isInt(u) && !u.DType.IsUnsigned() }

// isFloat reports whether a node has a floating point type; pointers have none.
func isFloat(u *uop.UOp) bool { return u.DType.IsFloat() && !u.DType.IsPtr() }

func seq(from, to int) []int {
	out := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}
