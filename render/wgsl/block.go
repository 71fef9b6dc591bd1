package wgsl

import (
	"fmt"
	"strings"

	"polygrad/core/nest/ir"
)

// block writes the effects of a block in order; the values that they need are written before them, in their placement blocks.
func (w *writer) block(b *ir.Block) {
	for _, it := range b.Items {
		w.needed(it)
		w.place(b)
		switch {
		case it.Store != nil:
			w.store(it.Store)
		case it.Loop != nil:
			w.loop(it.Loop)
		case it.Barrier:
			w.line("workgroupBarrier();")
		case it.Dot != nil:
			ir.Fail("a product of packed operands")
		}
	}
}

// place writes the values that are placed in a block and not written yet.
func (w *writer) place(b *ir.Block) {
	values := w.placed[b]
	w.placed[b] = nil
	for _, v := range values {
		w.define(v)
	}
}

// needed finds the values that an effect needs, with all in it if it is a loop, and adds them to their blocks in the order of
// their computation.
func (w *writer) needed(it ir.Item) {
	switch {
	case it.Store != nil:
		w.visit(it.Store.Val)
		w.visitPlace(it.Store.At)
	case it.Load != nil:
		w.visit(it.Load)
	case it.Loop != nil:
		l := it.Loop
		w.visit(l.Count)
		for _, p := range l.Phis {
			w.visit(p.Init)
		}
		// The values of outer blocks that the loop needs are written before it. The values inside are found again when their block is written, in its
		// order.
		w.outside(l.Body)
	}
}

// visit adds a value and those it is computed from to their blocks.
func (w *writer) visit(v *ir.Value) {
	if v == nil || w.seen[v] || v.Op == ir.Const {
		return
	}
	w.seen[v] = true
	for _, a := range v.Args {
		w.visit(a)
	}
	if v.At != nil {
		w.visitPlace(v.At)
	}
	w.placed[v.Block] = append(w.placed[v.Block], v)
}

func (w *writer) visitPlace(p *ir.Place) {
	for _, v := range p.Values() {
		w.visit(v)
	}
}

// outside visits the values that the body of a loop needs and that are placed less deep.
func (w *writer) outside(b *ir.Block) {
	b.Visit(ir.Visitor{
		Enter: func(v *ir.Value) bool { return v.Block.Depth >= b.Depth },
		Value: func(v *ir.Value) {
			if v.Block.Depth < b.Depth {
				w.visit(v)
			}
		},
	})
}

// loop writes a loop. Its variables are declared in front of it, and have their final values behind it.
func (w *writer) loop(l *ir.Loop) {
	for _, p := range l.Phis {
		w.line("var %s = %s;", name(p.V), w.as(p.Init, p.V.Kind))
	}
	i := name(l.Iter)
	if l.Count.Op == ir.Items && len(l.Phis) == 0 { // the one work item of an invocation
		w.singleTrip[l.Iter] = true
		w.line("// %s", l.Label)
		w.block(l.Body)
		w.place(l.Body)
		return
	}
	if l.Count.Op == ir.Const && l.Count.Bits == 1 {
		w.singleTrip[l.Iter] = true
		w.line("{ // %s", l.Label)
		w.body(l, "")
		return
	}
	tiles, condition := w.tilesOf(l), ""
	if len(tiles) > 0 {
		count, from := int64(l.Count.Bits), i+"_from"
		w.line("for (var %s = 0i; %s < %di; %s += %di) {", from, from, count, from, tileSteps)
		w.indent++
		w.line("workgroupBarrier();")
		for _, t := range tiles {
			w.fill(t, from, count)
		}
		w.line("workgroupBarrier();")
		end := fmt.Sprintf("%s + %di", from, tileSteps)
		if count%tileSteps != 0 {
			end = fmt.Sprintf("min(%s, %di)", end, count)
		}
		condition = fmt.Sprintf("%s < %s", i, end)
		w.line("for (var %s = %s; %s; %s++) { // %s", i, from, condition, i, l.Label)
		defer func() {
			w.indent--
			w.line("}")
		}()
	} else {
		condition = fmt.Sprintf("%s < %s", i, w.ref(l.Count))
		w.line("for (var %s = 0i; %s; %s++) { // %s", i, condition, i, l.Label)
	}
	w.body(l, condition, tiles...)
}

// body writes the body of a loop, up to its end: an iteration, or several where they are counted.
func (w *writer) body(l *ir.Loop, condition string, tiles ...*tile) {
	from := w.out.Len()
	w.indent++
	for _, t := range tiles {
		w.read(t, fmt.Sprintf("(%s - %s_from)", name(l.Iter), name(l.Iter)))
	}
	w.block(l.Body)
	for _, p := range l.Phis {
		w.visit(p.Next)
	}
	w.place(l.Body)
	w.next(l)
	if w.repetitions > 1 && repeated(l, w.k.Vars) {
		before, once := w.out.String()[:from], w.out.String()[from:]
		w.out.Reset()
		w.out.WriteString(before)
		for n := range w.repetitions {
			if n > 0 {
				w.line("%s++;", name(l.Iter))
				w.line("if (!(%s)) { break; }", condition)
			}
			w.line("{")
			w.out.WriteString(once)
			w.line("}")
		}
	}
	w.indent--
	w.line("}")
}

// next gives the variables of a loop their values for the next iteration, all at once.
func (w *writer) next(l *ir.Loop) {
	changed := map[*ir.Value]bool{}
	for _, p := range l.Phis {
		changed[p.V] = p.Next != p.V
	}
	var after []string
	for _, p := range l.Phis {
		if p.Next == p.V {
			continue
		}
		v := w.as(p.Next, p.V.Kind)
		if changed[p.Next] {
			w.line("let next_%s = %s;", name(p.V), v)
			v = "next_" + name(p.V)
		}
		after = append(after, fmt.Sprintf("%s = %s;", name(p.V), v))
	}
	for _, s := range after {
		w.line("%s", s)
	}
}

// define writes the definition of a value. Variables, and values that ref names by others, need none.
func (w *writer) define(v *ir.Value) {
	switch v.Op {
	case ir.Iter, ir.Phi, ir.First, ir.Items, ir.QuadPart:
		return
	case ir.Splat, ir.Cast:
		if typeOf(v.Args[0].Kind) == typeOf(v.Kind) {
			return // ref names its argument
		}
	case ir.Load:
		switch q := w.loads[v]; {
		case q != nil:
			w.loadQuad(v, q)
		case w.staged[v] == "":
			w.load(v)
		}
		return
	}
	w.line("let %s = %s;", name(v), w.compute(v))
}

func name(v *ir.Value) string { return fmt.Sprintf("v%d", v.ID) }

// ref is a value where it is used.
func (w *writer) ref(v *ir.Value) string {
	switch v.Op {
	case ir.Const:
		return w.constant(v.Kind, v.Bits)
	case ir.Load:
		if s := w.staged[v]; s != "" {
			return s
		}
		if q := w.loads[v]; q != nil {
			return w.quadElement(v, q)
		}
	case ir.QuadPart:
		return name(v.Args[0]) + "." + "xyzw"[v.Bits:v.Bits+1]
	case ir.Splat, ir.Cast:
		if x := v.Args[0]; typeOf(x.Kind) == typeOf(v.Kind) {
			return w.ref(x)
		}
	case ir.Iter:
		if w.singleTrip[v] {
			return "0i"
		}
	case ir.First:
		return "first"
	case ir.Items:
		return "1i"
	}
	return name(v)
}

// index is the number of an element.
func (w *writer) index(p *ir.Place) string {
	var s []string
	for _, t := range p.Terms {
		if w.singleTrip[t.V] {
			continue
		}
		v := w.integer(t.V)
		if t.Coef != 1 {
			v += fmt.Sprintf(" * %s", literal(t.Coef))
		}
		s = append(s, v)
	}
	if p.Index != nil {
		s = append(s, w.integer(p.Index))
	}
	switch p.Stride {
	case 0:
	case 1:
		s = append(s, "i32(lane)")
	default:
		s = append(s, "i32(lane) * "+literal(p.Stride))
	}
	switch {
	case len(s) == 0: // a gate may keep an element before the first from being loaded, but tools refuse it
		return literal(max(p.Off, 0))
	case p.Off != 0:
		s = append(s, literal(p.Off))
	}
	return strings.Join(s, " + ")
}

// integer is an integer as an i32.
func (w *writer) integer(v *ir.Value) string {
	s := w.ref(v)
	if typeOf(v.Kind) != "i32" {
		return "i32(" + s + ")"
	}
	return s
}

func literal(v int64) string {
	if v < 0 {
		return fmt.Sprintf("(%di)", v)
	}
	return fmt.Sprintf("%di", v)
}
