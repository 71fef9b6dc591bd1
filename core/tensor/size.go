package tensor

import (
	"fmt"
	"slices"
	"strconv"

	"polygrad/core/symbolic"
	"polygrad/core/uop"
)

// SizeOperation is an operation on sizes.
type SizeOperation uint8

// Operations on sizes. Division and remainder round down, as Python's.
const (
	SizeAdd SizeOperation = iota
	SizeSub
	SizeMul
	SizeDiv
	SizeMod
	SizeMin
	SizeMax
	NumSizeOperations
)

// sizeNodes are the operations allowed in a size.
var sizeNodes = uop.Ops(uop.ConstOp, uop.DefineVar, uop.Bind, uop.Cast, uop.Add, uop.Mul, uop.Idiv, uop.Mod, uop.Max, uop.Neg)

// SizeOf is a size in the form of shapes, from an integer made of variables.
func SizeOf(u *uop.UOp) (s uop.Sint, err error) {
	defer guard("SizeOf", &err)
	if u == nil || !u.DType.IsInt() && !u.DType.IsIndex() || u.DType.Count != 1 || u.Shape() != nil {
		fail("size", "is a tensor, expected an integer made of variables")
	}
	for _, v := range u.Toposort() {
		if !sizeNodes.Has(v.Op) {
			fail("size", "is a %s, expected an integer made of variables", v.Op)
		}
	}
	return uop.S(symbolic.Simplify(u.Cast(uop.IndexT))), nil
}

// SizeOp computes with sizes.
func SizeOp(g *uop.Graph, op SizeOperation, a, b uop.Sint) (r uop.Sint, err error) {
	defer guard("SizeOp", &err)
	if op <= SizeMul {
		needSize(op, a, b)
	}
	switch op {
	case SizeAdd:
		return a.Add(b), nil
	case SizeSub:
		return a.Sub(b), nil
	case SizeMul:
		return a.Mul(b), nil
	case SizeMin:
		x, y := a.UOp(g), b.UOp(g)
		return uop.S(symbolic.Simplify(x.Minimum(y))), nil
	case SizeMax:
		x, y := a.UOp(g), b.UOp(g)
		return uop.S(symbolic.Simplify(x.Maximum(y))), nil
	}
	q, m := sizeDivMod(g, a, b)
	if op == SizeDiv {
		return q, nil
	}
	return m, nil
}

// needSize fails if a sum, difference or product of sizes may be outside of int64.
func needSize(op SizeOperation, a, b uop.Sint) {
	for _, x := range sizeEnds(a) {
		for _, y := range sizeEnds(b) {
			r := [...]func(x, y uop.Const) uop.Const{uop.Const.Add, uop.Const.Sub, uop.Const.Mul}[op](uop.Int(x), uop.Int(y))
			if _, ok := r.Int64(); !ok {
				fail("size", "%s and %s give up to %s, expected an int64", SizeString(a), SizeString(b), r)
			}
		}
	}
}

func sizeEnds(s uop.Sint) [2]int64 {
	lo, hi := sizeBounds(s)
	return [2]int64{lo, hi}
}

// sizeDivMod is the quotient, rounded down, and the remainder. Kernels round towards zero, so a dividend that may be negative is
// shifted up by a multiple of the divisor.
func sizeDivMod(g *uop.Graph, a, b uop.Sint) (q, m uop.Sint) {
	lo, hi := sizeBounds(b)
	if lo <= 0 && hi >= 0 {
		fail("b", "the divisor %s may be 0, expected 1 or more", b)
	}
	if !a.Symbolic() && !b.Symbolic() && b.N != -1 {
		n, r := a.N/b.N, a.N%b.N
		if r != 0 && (r < 0) != (b.N < 0) {
			n, r = n-1, r+b.N
		}
		return uop.N(n), uop.N(r)
	}
	if hi < 0 {
		needSize(SizeSub, uop.N(0), a)
		needSize(SizeSub, uop.N(0), b)
		q, m = sizeDivMod(g, uop.N(0).Sub(a), uop.N(0).Sub(b))
		return q, uop.N(0).Sub(m)
	}
	least, _ := sizeBounds(a)
	moved := uop.N(0)
	if least < 0 {
		if b.Symbolic() {
			fail("a", "%s may be negative, expected 0 or more as the divisor %s is symbolic", a, b)
		}
		needSize(SizeSub, uop.N(0), a)
		moved = uop.N(ceil64(-least, b.N))
		needSize(SizeMul, moved, b)
		needSize(SizeAdd, a, moved.Mul(b))
	}
	a = a.Add(moved.Mul(b))
	q = a.Div(b)
	return q.Sub(moved), uop.S(symbolic.Simplify(a.UOp(g).Mod(b.UOp(g))))
}

// sizeBounds are the least and the greatest value of a size.
func sizeBounds(s uop.Sint) (lo, hi int64) {
	if !s.Symbolic() {
		return s.N, s.N
	}
	l, h := s.U.Bounds()
	lo, _ = l.Int64()
	hi, _ = h.Int64()
	return lo, hi
}

// SizeBounds are the least and the greatest value of a size.
func SizeBounds(s uop.Sint) (lo, hi int64) { return sizeBounds(s) }

// SizeValue is the value of a size with all variables bound; ok is false if one is not.
func SizeValue(s uop.Sint) (n int64, ok bool) {
	if !s.Symbolic() {
		return s.N, true
	}
	values := map[*uop.UOp]uop.Const{}
	for _, u := range s.U.Toposort() {
		var c uop.Const
		switch u.Op {
		case uop.ConstOp:
			c = u.ConstVal()
		case uop.Bind:
			c = u.Src[1].ConstVal()
		case uop.DefineVar:
			continue
		case uop.Cast:
			v, known := values[u.Src[0]]
			if !known {
				return 0, false
			}
			c = v
		default:
			args := make([]uop.Const, len(u.Src))
			for i, src := range u.Src {
				v, known := values[src]
				if !known {
					return 0, false
				}
				args[i] = v
			}
			v, known := uop.ExecALU(u.Op, args...)
			if !known {
				return 0, false
			}
			c = v
		}
		values[u] = c
	}
	c, ok := values[s.U]
	if !ok {
		return 0, false
	}
	return c.Int64()
}

// A Binding is a variable of a size, with its value if it is bound.
type Binding struct {
	Variable *uop.UOp
	Value    int64
	Bound    bool
}

// SizeVariables are the variables of a size, each once, in the order of their names.
func SizeVariables(s uop.Sint) []Binding {
	if !s.Symbolic() {
		return nil
	}
	at := map[*uop.UOp]int{}
	var out []Binding
	for _, u := range s.U.Toposort() {
		switch u.Op {
		case uop.DefineVar:
			at[u] = len(out)
			out = append(out, Binding{Variable: u})
		case uop.Bind:
			v, n := u.Unbind()
			out[at[v]].Value, out[at[v]].Bound = n, true
		}
	}
	slices.SortFunc(out, func(a, b Binding) int {
		x, y := a.Variable.Arg.(uop.VarArg).Name, b.Variable.Arg.(uop.VarArg).Name
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return out
}

// Unbound is a size without the values of its variables: equal for all values.
func Unbound(s uop.Sint) uop.Sint {
	return eachVariable(s, func(v, _ *uop.UOp) *uop.UOp { return v })
}

// SizeWith is a size with the given values of variables; other variables keep theirs.
func SizeWith(s uop.Sint, values map[string]int64) uop.Sint {
	return eachVariable(s, func(v, old *uop.UOp) *uop.UOp {
		if n, ok := values[v.Arg.(uop.VarArg).Name]; ok {
			return v.BindTo(n)
		}
		return old
	})
}

// eachVariable replaces the variables of a size. f gets a variable, and the BIND of its value or the variable again.
func eachVariable(s uop.Sint, f func(v, old *uop.UOp) *uop.UOp) uop.Sint {
	if !s.Symbolic() {
		return s
	}
	made := map[*uop.UOp]*uop.UOp{}
	for _, u := range s.U.Toposort() {
		switch u.Op {
		case uop.DefineVar:
			made[u] = f(u, u)
			continue
		case uop.Bind:
			made[u] = f(u.Src[0], u)
			continue
		}
		src := make([]*uop.UOp, len(u.Src))
		for i, v := range u.Src {
			src[i] = made[v]
		}
		made[u] = u
		if !slices.Equal(src, u.Src) {
			made[u] = u.With(src...)
		}
	}
	return uop.S(symbolic.Simplify(made[s.U]))
}

// FromSize is a size as a scalar tensor of int32.
func FromSize(g *uop.Graph, s uop.Sint) (r *uop.UOp, err error) {
	defer guard("FromSize", &err)
	x := g.DeviceConst(uop.DefaultInt, uop.Int(0), DeviceName, uop.Shape{})
	if !s.Symbolic() {
		return constant(x, uop.DefaultInt, uop.Int(s.N)), nil
	}
	return sizeTensor(x, s.U), nil
}

// sizeText is a size with its values, for messages.
func sizeText(s uop.Sint) string {
	if n, ok := SizeValue(s); ok && s.Symbolic() {
		return fmt.Sprintf("%s = %d", SizeString(s), n)
	}
	return SizeString(s)
}

// SizeString is a size in Python's syntax: n*4+1, with the values of variables as n=3.
func SizeString(s uop.Sint) string {
	if !s.Symbolic() {
		return strconv.FormatInt(s.N, 10)
	}
	return sizeTerm(s.U, 0)
}

// Operator precedence and symbols of sizes.
var sizeSigns = map[uop.Op]struct {
	strength int
	sign     string
}{uop.Add: {1, "+"}, uop.Mul: {2, "*"}, uop.Idiv: {2, "//"}, uop.Mod: {2, "%"}}

// sizeTerm writes a part of a size, in parentheses if its precedence is lower than that of its context.
func sizeTerm(u *uop.UOp, within int) string {
	switch u.Op {
	case uop.ConstOp:
		return u.ConstVal().String()
	case uop.DefineVar:
		return u.Arg.(uop.VarArg).Name
	case uop.Bind:
		v, n := u.Unbind()
		return fmt.Sprintf("(%s=%d)", sizeTerm(v, 0), n)
	case uop.Cast:
		return sizeTerm(u.Src[0], within)
	case uop.Neg:
		return "-" + sizeTerm(u.Src[0], 3)
	case uop.Max:
		return fmt.Sprintf("max(%s, %s)", sizeTerm(u.Src[0], 0), sizeTerm(u.Src[1], 0))
	}
	by := sizeSigns[u.Op]
	text := sizeTerm(u.Src[0], by.strength) + by.sign + sizeTerm(u.Src[1], by.strength+1)
	if by.strength < within {
		return "(" + text + ")"
	}
	return text
}
