package ir

import "math"

// fold evaluates an operation on constants; nil if an argument is not constant.
func (b *Builder) fold(op Op, k Kind, args []*Value) *Value {
	var x [3]uint64
	lanes := 1
	for i, a := range args {
		if a.Op != Const {
			return nil
		}
		x[i] = a.Bits
		lanes = max(lanes, a.Lanes)
	}
	return b.New(Const, k, lanes, LaneOp(op, args[0].Kind, k)(x[0], x[1], x[2]))
}

// constFloat is the value of a constant of a floating point kind.
func constFloat(v *Value) float64 {
	if v.Kind == F64 {
		return F64Of(v.Bits)
	}
	return WidenF32(v.Bits)
}

// simplify returns a cheaper form of an operation, nil if there is none.
func (b *Builder) simplify(op Op, k Kind, args []*Value) *Value {
	x := args[0]
	if len(args) == 1 {
		return b.simplifyUnary(op, k, x)
	}
	if len(args) != 2 {
		return nil
	}
	y := args[1]
	if x.Op == Const && commutes[op] {
		x, y = y, x
	}
	if y.Op == Const {
		if k.Float() {
			return b.simplifyFloat(op, k, x, constFloat(y))
		}
		return b.simplifyInt(op, k, x, y)
	}
	if v := b.rotation(op, k, x, y); v != nil {
		return v
	}
	switch {
	case op == Add && y.Op == Neg:
		return b.Legal(Sub, k, x, y.Args[0])
	case op == Add && x.Op == Neg:
		return b.Legal(Sub, k, y, x.Args[0])
	case op == Sub && y.Op == Neg:
		return b.Legal(Add, k, x, y.Args[0])
	case op == Sub && x.Op == Const && x.Bits == 0 && !k.Float():
		return b.Legal(Neg, k, y)
	case x != y:
		return nil
	}
	switch op {
	case And, Or, Max, MaxSS, MinSS:
		return x
	case Sub, Xor, AndNot:
		if !k.Float() {
			return b.Constant(k, 0)
		}
	}
	return nil
}

// rotation recognises (x << n) | (x >> (bits-n)) and returns it as a Rotate, nil for other values.
func (b *Builder) rotation(op Op, k Kind, x, y *Value) *Value {
	if op != Add && op != Or && op != Xor || k != U32 && k != U64 || !b.Machine.Rotate {
		return nil
	}
	if x.Op == Shr {
		x, y = y, x
	}
	if x.Op != Shl || y.Op != Shr || x.Args[0] != y.Args[0] || x.Lanes == 1 || x.Kind != k || y.Kind != k {
		return nil
	}
	left, right := x.Args[1], y.Args[1]
	if left.Op != Const || right.Op != Const || left.Bits+right.Bits != uint64(8*k.Size()) {
		return nil
	}
	return b.Do(Rotate, k, x.Args[0], b.Int(k, int64(left.Bits)))
}

var commutes = [numOps]bool{Add: true, Mul: true, And: true, Or: true, Xor: true}

func (b *Builder) simplifyUnary(op Op, k Kind, x *Value) *Value {
	switch {
	case op == Neg && x.Op == Neg:
		return x.Args[0]
	case op == Trunc && !k.Float():
		return x
	case op == Neg && k.Float():
		if m, ok := b.maxima[x]; ok && m[0].Op == Neg {
			switch y := m[1]; {
			case y.Op == Neg:
				return b.minimum(k, m[0].Args[0], y.Args[0])
			case y.Op == Const:
				return b.minimum(k, m[0].Args[0], b.Legal(Neg, k, y))
			}
		}
	}
	return nil
}

// simplifyInt simplifies an operation on integers whose right operand may be a constant.
func (b *Builder) simplifyInt(op Op, k Kind, x, y *Value) *Value {
	c := IntOf(k, y.Bits)
	switch {
	case c == 0 && (op == Mul || op == And || op == Div || op == Mod):
		return b.Constant(k, 0)
	case c == 0 && (op == Add || op == Sub || op == Or || op == Xor || op == AndNot || op == Shl || op == Shr):
		return x
	case c == 1 && (op == Mul || op == Div):
		return x
	case c == -1 && op == And:
		return x
	case op == Xor && c == -1 && x.Op == Max && isNot(x.Args[0]) && isNot(x.Args[1]):
		return b.Legal(MinSS, k, b.Legal(Xor, k, x.Args[0], y), b.Legal(Xor, k, x.Args[1], y))
	case op == Xor && x.Op == Xor && x.Args[1].Op == Const:
		return b.Legal(Xor, k, x.Args[0], b.Constant(k, y.Bits^x.Args[1].Bits))
	case c == -1 && op == Mul:
		return b.Legal(Neg, k, x)
	case op == Mul && c > 1 && c&(c-1) == 0:
		return b.Do(Shl, k, x, b.Int(k, int64(math.Log2(float64(c)))))
	}
	return nil
}

// isNot reports whether an integer is the complement of another one.
func isNot(x *Value) bool {
	return x.Op == Const || x.Op == Xor && x.Args[1].Op == Const && IntOf(x.Kind, x.Args[1].Bits) == -1
}

// simplifyFloat simplifies an operation on a float and a constant.
func (b *Builder) simplifyFloat(op Op, k Kind, x *Value, c float64) *Value {
	switch {
	case c == 1 && (op == Mul || op == Div):
		return x
	case c == -1 && (op == Mul || op == Div):
		return b.Legal(Neg, k, x)
	case op == Mul && b.logs[x] != nil && c == constFloat(b.Float(k, math.Ln2)):
		return b.formula(k).log(b.logs[x], ln)
	case c == 0 && (op == Add && math.Signbit(c) || op == Sub && !math.Signbit(c)):
		return x
	case op == Div:
		// Division by a power of two is exact multiplication by its reciprocal.
		if m, _ := math.Frexp(c); math.Abs(m) == 0.5 && math.Abs(c) > 0x1p-120 && math.Abs(c) < 0x1p120 {
			return b.Legal(Mul, k, x, b.Float(k, 1/c))
		}
	}
	return nil
}
