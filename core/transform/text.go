package transform

import (
	"fmt"
	"strings"

	"polygrad/core/gradient"
	"polygrad/core/uop"
)

// Text is a function as it is read: its inputs, one equation a line with the type of its value, and its outputs. What it reads beside its
// inputs is listed before these. The statements of loops are indented.
func Text(f Func) string {
	w := &writer{names: map[*uop.UOp]string{}, reads: map[*uop.UOp]*uop.UOp{}}
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
	next  int
	text  strings.Builder
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

// number is the literal of a constant, broadcast or not; "" for any other node.
func number(u *uop.UOp) string {
	for u.Op == uop.Reshape || u.Op == uop.Expand {
		u = u.Src[0]
	}
	if u.Op != uop.ConstOp {
		return ""
	}
	return fmt.Sprint(u.Arg)
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
		if as := u.Src[1]; as.Shape().Equal(v.Shape()) && length(as) < length(v) {
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
	switch {
	case w.names[u] != "" || constantOps.Has(u.Op):
		return nil
	case u.Op == uop.Repeat || name != "":
		return w.readAll(u.Src[1:])
	case uop.GroupMovement.Has(u.Op):
		return w.readAll(u.Src[:1])
	}
	return w.readAll(u.Src)
}

func (w *writer) operand(u *uop.UOp) string {
	u = w.read(u)
	if s := number(u); s != "" {
		return s
	}
	if s := w.names[u]; s != "" {
		return s
	}
	return strings.ToLower(u.Op.String())
}

func (w *writer) equations(list []*uop.UOp, indent string) {
	for _, u := range list {
		if w.names[u] != "" || number(u) != "" || kernelOps.Has(u.Op) || constantOps.Has(u.Op) && u.Op != uop.DefineVar {
			continue
		}
		w.equation(u, indent)
	}
}

func (w *writer) equation(u *uop.UOp, indent string) {
	name, _ := nameOf(u)
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
	inside := &writer{names: map[*uop.UOp]string{}, reads: w.reads, next: w.next}
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
