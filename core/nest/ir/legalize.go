package ir

import "slices"

// ALU applies an operation lane by lane to values of kind k. It emits only operations of the machine, on I32, U32, I64, U64, F32, F64
// and Bool, folds constants and drops identities.
//
// A value of a narrower kind is represented by its register, always in range: I8 … U16 by an I32, small floats by an F32. The kind is
// not part of the value, so Bitcast, LoadAs and StoreAs take it as an argument.
func (b *Builder) ALU(op Op, k Kind, args ...*Value) *Value {
	var room [3]*Value
	plain := room[:len(args)]
	for i, a := range args {
		plain[i] = b.plain(a)
	}
	switch {
	case op == Cast:
		return b.Cast(k, plain[0])
	case op == Bitcast:
		return b.Bitcast(plain[0].Kind, k, plain[0])
	case op == Narrow:
		return b.narrow(k, plain[0])
	case op == Where:
		return b.Where(Arithmetic(k), plain[0], plain[1], plain[2])
	case compares[op]:
		return b.Compare(op, plain[0], plain[1])
	case k == Bool:
		return b.logic(op, plain)
	}
	v := b.Legal(op, Arithmetic(k), plain...)
	if keepsRange[op] {
		return v
	}
	return b.narrow(k, v)
}

// Arithmetic is the kind in which a kind is computed. All integers below 32 bits fit into I32.
func Arithmetic(k Kind) Kind {
	if narrowInt(k) {
		return I32
	}
	return k.Register()
}

// narrowInt reports whether a kind is an integer narrower than its register.
func narrowInt(k Kind) bool { return k >= I8 && k <= U16 }

// keepsRange are the operations whose results are in the range of a narrow kind if their arguments are.
var keepsRange = [numOps]bool{Max: true, MaxSS: true, MinSS: true, Trunc: true, Floor: true, Round: true, And: true, Or: true, Xor: true,
	AndNot: true, Shr: true, Mod: true}

var compares = [numOps]bool{Less: true, LessEqual: true, Equal: true, NotEqual: true}

// plain retypes a value to its arithmetic kind; the register stays the same.
func (b *Builder) plain(v *Value) *Value {
	switch k := Arithmetic(v.Kind); {
	case k == v.Kind:
		return v
	case v.Op == Const:
		return b.New(Const, k, v.Lanes, v.Bits)
	default:
		return b.New(Cast, k, v.Lanes, 0, v)
	}
}

// Legal emits an operation on plain values, with a plain result.
func (b *Builder) Legal(op Op, k Kind, args ...*Value) *Value {
	if v := b.fold(op, k, args); v != nil {
		return v
	}
	if v := b.simplify(op, k, args); v != nil {
		return v
	}
	if k.Float() {
		switch op {
		case Max:
			return b.maximum(k, args[0], args[1])
		case Exp, Exp2, Log2, Sin, Cos, Tanh:
			return b.function(op, k, args[0])
		}
	}
	if n := len(args); n == 2 && (op == Shl || op == Shr) && args[1].Kind != k {
		args = []*Value{args[0], b.Cast(k, args[1])}
	}
	return b.Do(op, k, args...)
}

// Where is c ? x : y.
func (b *Builder) Where(k Kind, c, x, y *Value) *Value {
	switch {
	case c.Op == Const && c.Bits != 0:
		return x
	case c.Op == Const:
		return y
	case x == y:
		return x
	case k == Bool:
		return b.logic(Or, []*Value{b.logic(And, []*Value{c, x}), b.logic(AndNot, []*Value{y, c})})
	}
	if max(c.Lanes, x.Lanes, y.Lanes) > 1 {
		c, x, y = b.Splat(c), b.Splat(x), b.Splat(y)
	}
	if x == y {
		return x
	}
	if v := b.simplifyWhere(k, c, x, y); v != nil {
		return v
	}
	return b.Do(Where, k, c, x, y)
}

// simplifyWhere recognises maximum, minimum, absolute value and relu (0 < x or x is NaN ? x : 0) in a choice; nil for others.
func (b *Builder) simplifyWhere(k Kind, c, x, y *Value) *Value {
	greater := Max
	if k.Float() {
		greater = MaxSS
	}
	switch {
	case c.Op == Less && c.Args[0] == y && c.Args[1] == x:
		return b.Do(greater, k, y, x)
	case c.Op == Less && c.Args[0] == x && c.Args[1] == y && k.Float():
		return b.Do(MinSS, k, y, x)
	case k.Float() && x.Op == Neg && x.Args[0] == y && c.Op == Less && isZero(c.Args[1]) && c.Args[0].Op == Bitcast && c.Args[0].Kind.Signed():
		return b.flipSign(c.Args[0], y)
	case k.Float() && c.Op == Less && c.Args[1] == x && isZero(c.Args[0]) && isNegativeOrZero(y, x):
		return b.Do(Abs, k, x)
	case c.Op != Or || !k.Float() || y.Op != Const || y.Bits != 0:
		return nil
	}
	for i, d := range c.Args {
		isNaN := c.Args[1-i]
		if d.Op == Less && d.Args[0] == y && d.Args[1] == x && isNaN.Op == NotEqual && isNaN.Args[0] == x && isNaN.Args[1] == x {
			// Adding 0 turns -0 into 0.
			return b.Do(Add, k, b.Do(MaxSS, k, x, y), y)
		}
	}
	return nil
}

// flipSign negates a float where the sign bit of an integer is set; nil if their widths differ.
func (b *Builder) flipSign(bits, y *Value) *Value {
	switch k := bits.Kind; {
	case bits.Args[0] == y:
		return b.Do(Abs, y.Kind, y)
	case k.Width() == y.Kind.Width():
		sign := b.Do(And, k, bits, b.Constant(k, 1<<(8*k.Width()-1)))
		return b.Do(Bitcast, y.Kind, b.Do(Xor, k, b.Do(Bitcast, k, y), sign))
	}
	return nil
}

func isZero(v *Value) bool { return v.Op == Const && v.Bits == 0 }

// isNegativeOrZero reports whether v is -x, with 0 (not -0) where x is 0.
func isNegativeOrZero(v, x *Value) bool {
	if v.Op != Where || v.Args[0].Op != NotEqual || v.Args[0].Args[0] != x || !isZero(v.Args[0].Args[1]) || !isZero(v.Args[2]) {
		return false
	}
	n := v.Args[1]
	swapped := n.Op == Sub && x.Op == Sub && n.Args[0] == x.Args[1] && n.Args[1] == x.Args[0]
	return swapped || n.Op == Neg && n.Args[0] == x
}

// maximum is the maximum of two floats, NaN if either is. MaxSS keeps a NaN in its first argument only.
func (b *Builder) maximum(k Kind, x, y *Value) *Value {
	if x.Op == Const {
		x, y = y, x
	}
	v := b.Do(MaxSS, k, x, y)
	if !b.notNaN(y) {
		v = b.Where(k, b.Compare(NotEqual, y, y), y, v)
	}
	b.maxima[v] = [2]*Value{x, y}
	return v
}

// minimum is the minimum of two floats, NaN if either is.
func (b *Builder) minimum(k Kind, x, y *Value) *Value {
	v := b.Do(MinSS, k, x, y)
	if !b.notNaN(y) {
		v = b.Where(k, b.Compare(NotEqual, y, y), y, v)
	}
	return v
}

// notNaN reports whether a float is a constant and not NaN.
func (b *Builder) notNaN(v *Value) bool {
	if v.Op != Const {
		return false
	}
	f := constFloat(v)
	return f == f
}

// Compare compares plain values.
func (b *Builder) Compare(op Op, x, y *Value) *Value {
	args := []*Value{x, y}
	if x.Kind == Bool {
		return b.logic(op, args)
	}
	if v := b.fold(op, Bool, args); v != nil {
		return v
	}
	if x.Kind.Float() && isZero(x) && y.Op == Neg { // 0 < -y is y < 0
		args = []*Value{y.Args[0], x}
	}
	return b.uniform(b.Do(op, Bool, args...))
}

// rangeCheck turns low < v && v < high, for constants, into one unsigned comparison; bounds checks of pads have this form. Nil for other
// conditions.
func (b *Builder) rangeCheck(x, y *Value) *Value {
	if x.Op != Less || y.Op != Less {
		return nil
	}
	if x.Args[0].Op != Const {
		x, y = y, x
	}
	low, v, high := x.Args[0], x.Args[1], y.Args[1]
	unsigned := map[Kind]Kind{I32: U32, I64: U64}[v.Kind]
	if low.Op != Const || high.Op != Const || y.Args[0] != v || v.Op == Const || unsigned == 0 || unsigned == U64 && v.Lanes > 1 {
		return nil
	}
	first, end := IntOf(v.Kind, low.Bits)+1, IntOf(v.Kind, high.Bits)
	if first >= end {
		return nil
	}
	offset := b.Legal(Sub, unsigned, b.Cast(unsigned, v), b.Int(unsigned, first))
	return b.Compare(Less, offset, b.Int(unsigned, end-first))
}

// logic emits an operation on Bools. Add is or, Mul is and.
func (b *Builder) logic(op Op, a []*Value) *Value {
	switch op {
	case And, Mul, Div:
		op = And
	case Or, Add, Max:
		op = Or
	case Xor, Sub, NotEqual:
		op = Xor
	case Equal:
		return b.not(b.logic(Xor, a))
	case Less:
		return b.logic(AndNot, []*Value{a[1], a[0]})
	case LessEqual:
		return b.logic(Or, []*Value{b.not(a[0]), a[1]})
	case Neg:
		return a[0]
	case AndNot:
	default:
		Fail("operation %s on bools", op)
	}
	if v := b.fold(op, Bool, a); v != nil {
		return v
	}
	x, y := a[0], a[1]
	if x.Op == Const && op != AndNot {
		x, y = y, x
	}
	if y.Op == Const {
		switch one := y.Bits != 0; {
		case op == Xor && one:
			return b.not(x)
		case op == And && !one, op == Or && one:
			return y
		case op == AndNot && one:
			return b.Constant(Bool, 0)
		}
		return x
	}
	if op == And {
		if v := b.rangeCheck(x, y); v != nil {
			return v
		}
	}
	if op == Or && (lessOrEqual(x, y) || lessOrEqual(y, x)) {
		if x.Op == Equal {
			x = y
		}
		return b.Do(LessEqual, Bool, x.Args...)
	}
	switch {
	case x == y && (op == And || op == Or):
		return x
	case x == y:
		return b.Constant(Bool, 0)
	case x.Op == Const && x.Bits == 0: // AndNot
		return x
	case x.Op == Const:
		return b.not(y)
	}
	return b.Do(op, Bool, x, y)
}

// lessOrEqual reports whether two conditions are x < y and x == y for the same numbers x and y.
func lessOrEqual(less, equal *Value) bool {
	if less.Op != Less || equal.Op != Equal {
		return false
	}
	x, y := equal.Args[0], equal.Args[1]
	return slices.Equal(less.Args, equal.Args) || less.Args[0] == y && less.Args[1] == x
}

// opposite are the negated comparisons that are right for NaN, too.
var opposite = map[Op]Op{Equal: NotEqual, NotEqual: Equal}

// not negates a condition.
func (b *Builder) not(x *Value) *Value {
	switch {
	case x.Op == Const:
		return b.New(Const, Bool, x.Lanes, x.Bits^1)
	case opposite[x.Op] != 0:
		return b.Do(opposite[x.Op], Bool, x.Args...)
	case x.Op == Less && !x.Args[0].Kind.Float():
		return b.Do(LessEqual, Bool, x.Args[1], x.Args[0])
	case x.Op == LessEqual && !x.Args[0].Kind.Float():
		return b.Do(Less, Bool, x.Args[1], x.Args[0])
	case x.Op == Xor && x.Args[1].Op == Const:
		return x.Args[0]
	}
	return b.Do(Xor, Bool, x, b.Constant(Bool, 1))
}
