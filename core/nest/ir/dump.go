package ir

import (
	"fmt"
	"io"
	"strings"
)

// Dump prints a kernel: loops by indentation, each value in its placement block, in the order of their numbers. It is written at once, so that
// kernels that are compiled at the same time do not mix.
func (k *Kernel) Dump(w io.Writer) {
	var s strings.Builder
	fmt.Fprintf(&s, "kernel %s: %d lanes, %d items, %d bytes of scratch, choice %s\n", k.Name, k.Lanes, k.Items, k.Scratch, k.Choice)
	d := &dumper{w: &s, homes: map[*Block][]*Value{}, seen: map[*Value]bool{}}
	d.collect(k.Root)
	d.block(k.Root)
	_, _ = io.WriteString(w, s.String())
}

type dumper struct {
	w     io.Writer
	homes map[*Block][]*Value
	seen  map[*Value]bool
}

func (d *dumper) visit(v *Value) {
	if v == nil || d.seen[v] {
		return
	}
	d.seen[v] = true
	for _, a := range v.Args {
		d.visit(a)
	}
	if v.At != nil {
		d.place(v.At)
	}
	if v.Op != Const {
		d.homes[v.Block] = append(d.homes[v.Block], v)
	}
}

func (d *dumper) place(p *Place) {
	for _, t := range p.Terms {
		d.visit(t.V)
	}
	d.visit(p.Index)
	d.visit(p.Gate)
}

func (d *dumper) collect(b *Block) {
	for _, it := range b.Items {
		switch {
		case it.Store != nil:
			d.visit(it.Store.Val)
			d.place(it.Store.At)
		case it.Load != nil:
			d.visit(it.Load)
		case it.Prefetch != nil:
			d.place(it.Prefetch)
		case it.Dot != nil:
			for _, p := range []*Place{it.Dot.A, it.Dot.B, it.Dot.C} {
				d.place(p)
			}
		case it.Loop != nil:
			d.visit(it.Loop.Count)
			for _, p := range it.Loop.Phis {
				d.visit(p.Init)
			}
			d.collect(it.Loop.Body)
			for _, p := range it.Loop.Phis {
				d.visit(p.Next)
			}
		}
	}
}

func (d *dumper) block(b *Block) {
	indent := strings.Repeat("  ", b.Depth+1)
	for _, v := range d.homes[b] {
		if v.Op != Iter && v.Op != Phi && v.Op != Final {
			fmt.Fprintf(d.w, "%s%s\n", indent, v.Describe())
		}
	}
	for _, it := range b.Items {
		switch {
		case it.Store != nil:
			fmt.Fprintf(d.w, "%s%s = %s\n", indent, it.Store.At, it.Store.Val.ref())
		case it.Prefetch != nil:
			fmt.Fprintf(d.w, "%sprefetch %s\n", indent, it.Prefetch)
		case it.Barrier:
			fmt.Fprintf(d.w, "%sbarrier\n", indent)
		case it.Dot != nil:
			t := it.Dot
			sign := "="
			if t.More {
				sign = "+="
			}
			fmt.Fprintf(d.w, "%s%s %s %d x %d blocks of %d steps of %s %s - %d times %s %s\n", indent, t.C, sign, t.Rows, t.Cols, t.Steps, t.Kind, t.A, t.Bias, t.BKind, t.B)
		case it.Loop != nil:
			l := it.Loop
			fmt.Fprintf(d.w, "%sloop %s = 0 … %s (%s)\n", indent, l.Iter.ref(), l.Count.ref(), l.Label)
			for _, p := range l.Phis {
				fmt.Fprintf(d.w, "%s  %s = %s, then %s\n", indent, p.V.ref(), p.Init.ref(), p.Next.ref())
			}
			d.block(l.Body)
		}
	}
}

// ref is the name of a value as an operand.
func (v *Value) ref() string {
	if v == nil {
		return "nil"
	}
	if v.Op == Const {
		return fmt.Sprintf("%s:%#x", v.Kind, v.Bits)
	}
	return fmt.Sprintf("v%d", v.ID)
}

// Describe prints the operation that computes a value.
func (v *Value) Describe() string {
	var s strings.Builder
	fmt.Fprintf(&s, "v%d = %s.%s", v.ID, v.Op, v.Kind)
	if v.Lanes > 1 {
		fmt.Fprintf(&s, "x%d", v.Lanes)
	}
	for _, a := range v.Args {
		s.WriteString(" " + a.ref())
	}
	if v.At != nil {
		s.WriteString(" " + v.At.String())
	}
	if v.Bits != 0 {
		fmt.Fprintf(&s, " #%d", v.Bits)
	}
	return s.String()
}

// String shows the buffer and the index of a place.
func (p *Place) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "b%d[%d", p.Buf.ID, p.Off)
	for _, t := range p.Terms {
		fmt.Fprintf(&s, " + %d*%s", t.Coef, t.V.ref())
	}
	if p.Stride != 0 {
		fmt.Fprintf(&s, " + %d*lane", p.Stride)
	}
	if p.Index != nil {
		s.WriteString(" + " + p.Index.ref())
	}
	s.WriteString("]")
	if p.Gate != nil {
		s.WriteString(" if " + p.Gate.ref())
	}
	return s.String()
}
