package wgsl

import (
	"fmt"

	"polygrad/core/nest/ir"
)

// array is the name of the array for a buffer, and the kind of its elements.
func (w *writer) array(b *ir.Buffer) (array string, k ir.Kind) {
	if b.Param >= 0 {
		return fmt.Sprintf("b%d", b.Param), w.words[b.Param]
	}
	k = b.Kind.Register()
	n := w.scratch[b.ID]
	if n == "" {
		n = fmt.Sprintf("scratch%d", len(w.scratch))
		w.scratch[b.ID] = n
		if b.Shared {
			w.arrays = append(w.arrays, fmt.Sprintf("var<workgroup> %s: array<vec4<%s>, %d>;\n", n, typeOf(k), b.Size/4))
			return n, k
		}
		w.arrays = append(w.arrays, fmt.Sprintf("var<private> %s: array<%s, %d>;\n", n, typeOf(k), max(b.Size, 1)))
	}
	return n, k
}

// load writes a load; where its gate is shut nothing is read.
func (w *writer) load(v *ir.Value) {
	gate := v.At.Gate
	if gate == nil {
		w.line("let %s = %s;", name(v), w.element(v))
		return
	}
	w.line("var %s = %s;", name(v), w.as(v.Args[0], v.Kind))
	w.line("if (%s) { %s = %s; }", w.ref(gate), name(v), w.element(v))
}

// element is the element of a place as the value of a load.
func (w *writer) element(v *ir.Value) string {
	p := v.At
	a, k := w.array(p.Buf)
	if w.halves(p.Buf) {
		return fmt.Sprintf("f32(%s[%s])", a, w.index(p))
	}
	if p.Buf.Param < 0 || p.Buf.Kind.Size() >= 4 {
		e := fmt.Sprintf("%s[%s]", a, w.index(p))
		return retyped(e, k, v.Kind)
	}
	i := fmt.Sprintf("(%s)", w.index(p))
	word := fmt.Sprintf("%s[%s >> %du]", a, i, wordShift(p.Buf.Kind))
	if w.atomic(p.Buf.Param) {
		word = "atomicLoad(&" + word + ")"
	}
	if p.Buf.Kind.Signed() {
		word = "bitcast<i32>(" + word + ")"
	}
	e := fmt.Sprintf("extractBits(%s, %s, %du)", word, bitOf(i, p.Buf.Kind), 8*p.Buf.Kind.Size())
	if p.Buf.Kind == ir.Bool {
		return e + " != 0u"
	}
	return e
}

// halves reports whether a buffer is an array of f16.
func (w *writer) halves(b *ir.Buffer) bool { return b.Param >= 0 && b.Kind == ir.F16 && w.m.F16C }

// wordShift is the shift from the number of an element of a narrow kind to that of its word.
func wordShift(k ir.Kind) int {
	if k.Size() == 1 {
		return 2
	}
	return 1
}

// bitOf is the first bit of an element in its word.
func bitOf(i string, k ir.Kind) string {
	return fmt.Sprintf("(u32(%s) & %du) * %du", i, 4/k.Size()-1, 8*k.Size())
}

// retyped is an element of one kind of 32 bits as another.
func retyped(e string, from, to ir.Kind) string {
	if typeOf(from) == typeOf(to) {
		return e
	}
	return fmt.Sprintf("bitcast<%s>(%s)", typeOf(to), e)
}

// as is a value in a register of a kind: integers narrower than 32 bits are in registers of either sign.
func (w *writer) as(v *ir.Value, k ir.Kind) string { return retyped(w.ref(v), v.Kind, k) }

// store writes a store.
func (w *writer) store(s *ir.Store) {
	if q := w.stores[s]; q != nil {
		w.storeQuad(s, q)
		return
	}
	p := s.At
	gate := ""
	if p.Gate != nil {
		gate = w.ref(p.Gate)
	}
	if w.lanes && s.Val.Lanes == 1 && p.Stride == 0 && p.Index == nil && (p.Gate == nil || p.Gate.Lanes == 1) {
		// All invocations have the same value, which one of them stores.
		if gate != "" {
			gate += " & "
		}
		gate += "(lane == 0u)"
	}
	if gate != "" {
		w.line("if (%s) {", gate)
		w.indent++
		defer func() {
			w.indent--
			w.line("}")
		}()
	}
	a, k := w.array(p.Buf)
	if p.Buf.Shared {
		w.line("{ let i = u32(%s); %s[i >> 2u][i & 3u] = %s; }", w.index(p), a, w.as(s.Val, k))
		return
	}
	if w.halves(p.Buf) {
		w.line("%s[%s] = f16(%s(%s));", a, w.index(p), w.function("half"), w.ref(s.Val))
		return
	}
	if p.Buf.Param < 0 || p.Buf.Kind.Size() >= 4 {
		v := w.as(s.Val, k)
		if p.Buf.Kind == ir.F16 && w.m.F16C {
			v = w.function("half") + "(" + v + ")"
		}
		w.line("%s[%s] = %s;", a, w.index(p), v)
		return
	}
	v := w.ref(s.Val)
	switch typeOf(s.Val.Kind) {
	case "bool":
		v = "u32(" + v + ")"
	case "i32":
		v = "bitcast<u32>(" + v + ")"
	}
	mask := uint32(1)<<(8*p.Buf.Kind.Size()) - 1
	w.line("{")
	w.indent++
	w.line("let i = %s;", w.index(p))
	w.line("let bit = %s;", bitOf("i", p.Buf.Kind))
	word := fmt.Sprintf("%s[i >> %du]", a, wordShift(p.Buf.Kind))
	w.line("atomicAnd(&%s, ~(%du << bit));", word, mask)
	w.line("atomicOr(&%s, (%s & %du) << bit);", word, v, mask)
	w.indent--
	w.line("}")
}
