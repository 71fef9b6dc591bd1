package transform

import (
	"fmt"
	"math"
	"strings"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// Text is a function as it is read: its inputs, one equation a line with the type of its value, and its outputs. What it reads beside its
// inputs is listed before these. The statements of loops are indented.
func Text(f Func) string {
	w := &writer{names: map[*uop.UOp]string{}, reads: map[*uop.UOp]*uop.UOp{}, literals: map[*uop.UOp]*uop.Const{}}
	for _, u := range f.Inputs {
		w.name(u)
	}
	inputs := w.declared(f.Inputs)
	list := order(w.readAll(f.Outputs), w.sources)
	var constants []*uop.UOp
	for _, u := range list {
		if w.names[u] == "" && (u.Op == uop.Buffer || u.Op == uop.Param || u.Op == uop.Bind) {
			w.name(u)
			constants = append(constants, u)
		}
	}
	head := w.declared(constants)
	if head != "" {
		head += " "
	}
	w.equations(list, "    ")
	outputs := make([]string, len(f.Outputs))
	for i, u := range f.Outputs {
		outputs[i] = w.operand(u)
	}
	return fmt.Sprintf("{ lambda %s; %s. let\n%s  in (%s) }", head, inputs, w.text.String(), strings.Join(outputs, ", "))
}

// A writer gives nodes names, in the order in which they are declared.
type writer struct {
	names map[*uop.UOp]string
	reads map[*uop.UOp]*uop.UOp // see read
	// literals are the numbers that nodes are, nil of others.
	literals map[*uop.UOp]*uop.Const
	next     int
	text     strings.Builder
}

func (w *writer) name(u *uop.UOp) string {
	var s string
	for n := w.next; n >= 0; n = n/26 - 1 {
		s = string(rune('a'+n%26)) + s
	}
	w.next++
	w.names[u] = s
	return s
}

func typed(u *uop.UOp) string {
	return u.DType.NumpyName() + "[" + strings.Trim(u.Shape().String(), "()") + "]"
}

func (w *writer) declared(list []*uop.UOp) string {
	words := make([]string, len(list))
	for i, u := range list {
		words[i] = w.names[u] + ":" + typed(u)
	}
	return strings.Join(words, " ")
}

// literal is the number that a node is, broadcast or not, or computed of numbers; nil for any other node.
func (w *writer) literal(u *uop.UOp) *uop.Const {
	u = w.read(u)
	for u.Op == uop.Reshape || u.Op == uop.Expand {
		u = w.read(u.Src[0])
	}
	v, known := w.literals[u]
	if !known {
		v = w.computed(u)
		w.literals[u] = v
	}
	return v
}

func (w *writer) computed(u *uop.UOp) *uop.Const {
	if u.Op == uop.ConstOp {
		v := u.ConstVal()
		return &v
	}
	if !uop.GroupALU.Has(u.Op) && u.Op != uop.Cast || u.DType.IsComplex() {
		return nil
	}
	of := make([]uop.Const, len(u.Src))
	for i, s := range u.Src {
		v := w.literal(s)
		if v == nil {
			return nil
		}
		of[i] = v.Truncate(s.DType)
	}
	v, is := of[0], true
	if u.Op != uop.Cast {
		v, is = uop.ExecALU(u.Op, of...)
	}
	if !is {
		return nil
	}
	v = v.Truncate(u.DType)
	return &v
}

// isNumber reports whether a node is a number, as rounded to its type.
func (w *writer) isNumber(u *uop.UOp, v uop.Const) bool {
	c := w.literal(u)
	return c != nil && c.Truncate(u.DType).Eq(v.Truncate(u.DType))
}

// number is the text of a literal, "" for any other node.
func (w *writer) number(u *uop.UOp) string {
	if v := w.literal(u); v != nil {
		return fmt.Sprint(v.Truncate(u.DType))
	}
	return ""
}

// usual is the usual name of what core/tensor composes of primitives, with its operands; "" for any other node.
func (w *writer) usual(u *uop.UOp) (name string, of []*uop.UOp) {
	src := w.readAll(u.Src)
	switch u.Op {
	case uop.Mul, uop.Xor:
		x := w.inverted(u)
		if x != nil && x.Op == uop.Max {
			if a, b := w.inverted(x.Src[0]), w.inverted(x.Src[1]); a != nil && b != nil {
				return "min", []*uop.UOp{a, b}
			}
		}
		switch {
		case x != nil && u.Op == uop.Mul:
			return "neg", []*uop.UOp{x}
		case x != nil:
			return "not", []*uop.UOp{x}
		case src[0].Op == uop.Log2 && w.isNumber(src[1], uop.Float(math.Ln2)):
			return "log", src[0].Src
		}
	case uop.Reciprocal:
		if x := w.negatedExponent(src[0]); x != nil {
			return "logistic", []*uop.UOp{x}
		}
	case uop.Add: // 2*logistic(2x) - 1
		if m := src[0]; m.Op == uop.Mul && w.isNumber(m.Src[0], uop.Int(2)) && w.isNumber(src[1], uop.Int(-1)) {
			if r := w.read(m.Src[1]); r.Op == uop.Reciprocal {
				if x := w.negatedExponent(w.read(r.Src[0])); x != nil && x.Op == uop.Mul && w.isNumber(x.Src[0], uop.Int(2)) {
					return "tanh", x.Src[1:]
				}
			}
		}
	case uop.Exp2:
		if m := src[0]; m.Op == uop.Mul && w.isNumber(m.Src[1], uop.Float(1/math.Ln2)) {
			return "exp", m.Src[:1]
		}
	case uop.CmpNe:
		if w.isNumber(src[1], uop.BoolConst(true)) && src[1].DType.IsBool() {
			if src[0].Op == uop.CmpNe {
				return "cmpeq", src[0].Src
			}
			return "not", src[:1]
		}
	case uop.Where:
		// x where it is greater or NaN, y where it is less: the bounds of clip, and relu.
		less := src[0]
		switch {
		case less.Op == uop.Or && w.isNaNOf(less.Src[1], src[1]):
			if less = w.read(less.Src[0]); less.Op == uop.CmpLt && w.same(less.Src[0], src[2]) && w.same(less.Src[1], src[1]) {
				return "max", src[1:]
			}
		case less.Op == uop.CmpLt && w.same(less.Src[0], src[2]) && w.same(less.Src[1], src[1]) && w.literal(src[1]) != nil:
			return "max", []*uop.UOp{src[2], src[1]}
		case less.Op == uop.CmpLt && w.same(less.Src[1], src[2]) && w.same(less.Src[0], src[1]) && w.literal(src[1]) != nil:
			return "min", []*uop.UOp{src[2], src[1]}
		}
	}
	return "", nil
}

// negatedExponent is x of 1 + e^-x, nil of any other node.
func (w *writer) negatedExponent(u *uop.UOp) *uop.UOp {
	if u.Op != uop.Add || !w.isNumber(u.Src[0], uop.Int(1)) {
		return nil
	}
	e := w.read(u.Src[1])
	if e.Op != uop.Exp2 {
		return nil
	}
	if m := w.read(e.Src[0]); m.Op == uop.Mul && w.isNumber(m.Src[1], uop.Float(-1/math.Ln2)) {
		return w.read(m.Src[0])
	}
	return nil
}

// inverted is x of -x, and of the complement of integers; nil of any other node.
func (w *writer) inverted(u *uop.UOp) *uop.UOp {
	u = w.read(u)
	v := w.literal(u)
	switch {
	case v != nil && u.DType.IsFloat():
		return u.ConstLike(v.Neg())
	case v != nil && u.DType.IsInt():
		return u.ConstLike(uop.Int(-1).Sub(*v).Truncate(u.DType))
	case u.Op == uop.Mul && u.DType.IsFloat() && w.isNumber(u.Src[1], uop.Int(-1)), u.Op == uop.Xor && w.isNumber(u.Src[1], uop.Int(-1)):
		return w.read(u.Src[0])
	}
	return nil
}

// isNaNOf reports whether u is the comparison of x with itself.
func (w *writer) isNaNOf(u, x *uop.UOp) bool {
	u = w.read(u)
	return u.Op == uop.CmpNe && w.same(u.Src[0], x) && w.same(u.Src[1], x)
}

// same reports whether two nodes read alike.
func (w *writer) same(a, b *uop.UOp) bool {
	a, b = w.read(a), w.read(b)
	v := w.literal(a)
	return a == b || v != nil && w.isNumber(b, *v)
}

// read is what stands for a node: of two expressions for a value the shorter one, and what is cast to a larger type and back.
func (w *writer) read(u *uop.UOp) *uop.UOp {
	if v := w.reads[u]; v != nil {
		return v
	}
	v := u
	if name, is := nameOf(u); is && name == "" {
		v = u.Src[0]
		length := func(u *uop.UOp) int { return len(order([]*uop.UOp{w.read(u)}, w.sources)) }
		if as := u.Src[1]; hasTwoExpressions(u) && as.Shape().Equal(v.Shape()) && length(as) < length(v) {
			v = as
		}
	} else if u.Op == uop.Cast && u.Src[0].Op == uop.Cast && u.Src[0].Src[0].DType == u.DType && uop.CanLosslessCast(u.DType, u.Src[0].DType) {
		v = u.Src[0].Src[0]
	}
	if v != u {
		v = w.read(v)
	}
	w.reads[u] = v
	return v
}

func (w *writer) readAll(list []*uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(list))
	for i, u := range list {
		out[i] = w.read(u)
	}
	return out
}

// hasTwoExpressions reports whether the first two sources of a node are expressions for its value.
func hasTwoExpressions(u *uop.UOp) bool {
	arg := u.Arg
	for b, is := arg.(batchedGradient); is; b, is = arg.(batchedGradient) {
		arg = b.of
	}
	n, is := arg.(gradient.Named)
	return is && n.TwoExpressions()
}

// nameOf is the name of a function with a gradient of its own (gradient.Named).
func nameOf(u *uop.UOp) (name string, is bool) {
	arg := u.Arg
	of := "%s"
	for b, is := arg.(batchedGradient); is; b, is = arg.(batchedGradient) {
		arg, of = b.of, fmt.Sprintf(of, "vmap(%s)")
	}
	n, is := arg.(gradient.Named)
	if is && n.Name() != "" {
		name = fmt.Sprintf(of, n.Name())
	}
	return name, is && u.Op == uop.CustomGradient
}

// sources are those of an equation: tensors, without numbers, shapes and devices.
func (w *writer) sources(u *uop.UOp) []*uop.UOp {
	name, _ := nameOf(u)
	usual, of := w.usual(u)
	switch {
	case w.names[u] != "" || constantOps.Has(u.Op) || w.literal(u) != nil:
		return nil
	case usual != "":
		return w.readAll(of)
	case u.Op == uop.Repeat || name != "":
		return w.readAll(u.Src[1:])
	case uop.GroupMovement.Has(u.Op):
		return w.readAll(u.Src[:1])
	}
	return w.readAll(u.Src)
}

func (w *writer) operand(u *uop.UOp) string {
	u = w.read(u)
	if s := w.number(u); s != "" {
		return s
	}
	if s := w.names[u]; s != "" {
		return s
	}
	return strings.ToLower(u.Op.String())
}

func (w *writer) equations(list []*uop.UOp, indent string) {
	for _, u := range list {
		if w.names[u] != "" || w.number(u) != "" || kernelOps.Has(u.Op) || constantOps.Has(u.Op) && u.Op != uop.DefineVar {
			continue
		}
		w.equation(u, indent)
	}
}

func (w *writer) equation(u *uop.UOp, indent string) {
	name, _ := nameOf(u)
	if name == "" {
		name, _ = w.usual(u)
	}
	if name == "" {
		name = strings.ToLower(u.Op.String()) + w.settings(u)
	}
	words := []string{name}
	for _, s := range w.sources(u) {
		words = append(words, w.operand(s))
	}
	right := strings.Join(words, " ")
	switch u.Op {
	case uop.Sink: // the statements of an iteration come before it
		return
	case uop.Store, uop.Assign:
		fmt.Fprintf(&w.text, "%s%s <- %s\n", indent, w.operand(u.Src[0]), w.operand(u.Src[1]))
		w.names[u] = w.operand(u.Src[0])
		return
	case uop.Repeat:
		fmt.Fprintf(&w.text, "%s%s = %s {\n", indent, w.name(u), right)
		w.body(u, indent+"  ")
		fmt.Fprintf(&w.text, "%s}\n", indent)
		return
	}
	if u.Shape() == nil {
		fmt.Fprintf(&w.text, "%s%s = %s\n", indent, w.name(u), right)
		return
	}
	fmt.Fprintf(&w.text, "%s%s:%s = %s\n", indent, w.name(u), typed(u), right)
}

// settings are what an operation has beside its sources.
func (w *writer) settings(u *uop.UOp) string {
	switch {
	case u.Op == uop.Reshape || u.Op == uop.Expand:
		return "[" + strings.Trim(u.MovementShape().String(), "()") + "]"
	case u.Op == uop.Pad || u.Op == uop.Shrink:
		words := make([]string, 0, len(u.Shape()))
		for _, p := range u.MovementPairs() {
			words = append(words, fmt.Sprintf("%s:%s", p.Lo, p.Hi))
		}
		return "[" + strings.Join(words, ", ") + "]"
	case u.Op == uop.Cast || u.Op == uop.Bitcast:
		return "[" + u.DType.NumpyName() + "]"
	case u.Op == uop.Repeat:
		a := u.Arg.(uop.RepeatArg)
		if a.While > 0 {
			return fmt.Sprintf("[while state %d, states=%d]", a.While-1, a.States)
		}
		return fmt.Sprintf("[%s < %d, states=%d]", a.Variable, a.Count, a.States)
	case u.Arg == nil:
		return ""
	}
	text := strings.ToLower(fmt.Sprint(u.Arg))
	if strings.HasPrefix(text, "(") {
		text = strings.Trim(text, "()")
	}
	return "[" + text + "]"
}

// body are the statements of a loop. Its states and operands have names of their own, in the order of the sources.
func (w *writer) body(u *uop.UOp, indent string) {
	inside := &writer{names: map[*uop.UOp]string{}, reads: w.reads, literals: w.literals, next: w.next}
	list := order(u.Src[:1], inside.sources)
	var params []*uop.UOp
	for k := range u.Src[1:] {
		for _, p := range list {
			if n, is := p.Arg.(uop.Num); is && p.Op == uop.Param && int(n) == k {
				inside.name(p)
				params = append(params, p)
			}
		}
	}
	for _, v := range list {
		if v.Op == uop.DefineVar {
			inside.names[v] = v.Arg.(uop.VarArg).Name
		}
	}
	fmt.Fprintf(&w.text, "%slambda %s. let\n", indent, inside.declared(params))
	inside.equations(list, indent+"  ")
	w.text.WriteString(inside.text.String())
	w.next = inside.next
}
