package wasm

import (
	"encoding/binary"
	"slices"

	"polygrad/core/uop"
)

// affine is a sum of values times constants, plus a constant. Indices are taken
// apart into this form so that accesses that differ by a constant are seen to
// be neighbours. All address arithmetic is done modulo 2**32, where taking an
// index apart is exact.
type affine struct {
	terms []term // by value id, coefficients not zero
	off   int64
}

// affineOf takes an integer value apart.
func (g *graph) affineOf(v *value) *affine {
	if a := g.affine[v]; a != nil {
		return a
	}
	a := g.takeApart(v)
	g.affine[v] = a
	return a
}

func (g *graph) takeApart(v *value) *affine {
	if v.kind < kI32 && v.op != uop.ConstOp {
		return &affine{terms: []term{{v, 1}}} // narrow numbers wrap around earlier
	}
	switch v.op {
	case uop.ConstOp:
		return &affine{off: constInt(v)}
	case uop.Add:
		return g.affineOf(v.args[0]).plus(g.affineOf(v.args[1]), 1)
	case uop.Sub:
		return g.affineOf(v.args[0]).plus(g.affineOf(v.args[1]), -1)
	case uop.Neg:
		return g.affineOf(v.args[0]).times(-1)
	case uop.Mul:
		for i := range 2 {
			if c := v.args[1-i]; c.op == uop.ConstOp {
				return g.affineOf(v.args[i]).times(constInt(c))
			}
		}
	case uop.Shl:
		if c := v.args[1]; c.op == uop.ConstOp {
			return g.affineOf(v.args[0]).times(1 << (c.bits[0] & 63))
		}
	case uop.Cast:
		if from := v.args[0].kind; v.kind >= kI32 && v.kind <= kU64 && from >= kI32 && from <= kU64 {
			return g.affineOf(v.args[0])
		}
	}
	return &affine{terms: []term{{v, 1}}}
}

// constInt is the value of an integer constant.
func constInt(v *value) int64 {
	if v.kind.Wide() || v.kind == kU32 {
		return int64(v.bits[0])
	}
	return int64(int32(v.bits[0]))
}

func (a *affine) times(c int64) *affine {
	out := &affine{off: a.off * c}
	for _, t := range a.terms {
		if t.coef*c != 0 {
			out.terms = append(out.terms, term{t.v, t.coef * c})
		}
	}
	return out
}

func (a *affine) plus(b *affine, sign int64) *affine {
	out := &affine{off: a.off + sign*b.off}
	out.terms = make([]term, 0, len(a.terms)+len(b.terms))
	i, j := 0, 0
	for i < len(a.terms) || j < len(b.terms) {
		switch {
		case j == len(b.terms) || i < len(a.terms) && a.terms[i].v.id < b.terms[j].v.id:
			out.terms = append(out.terms, a.terms[i])
			i++
		case i == len(a.terms) || b.terms[j].v.id < a.terms[i].v.id:
			out.terms = append(out.terms, term{b.terms[j].v, sign * b.terms[j].coef})
			j++
		default:
			if c := a.terms[i].coef + sign*b.terms[j].coef; c != 0 {
				out.terms = append(out.terms, term{a.terms[i].v, c})
			}
			i++
			j++
		}
	}
	return out
}

// groupOf is the group of accesses to buf with the variable part of an index.
func (g *graph) groupOf(buf *buffer, terms []term) *group {
	key := binary.AppendVarint(nil, int64(buf.id))
	for _, t := range terms {
		key = binary.AppendVarint(key, int64(t.v.id))
		key = binary.AppendVarint(key, t.coef)
	}
	gr := g.groups[string(key)]
	if gr == nil {
		gr = &group{id: int32(len(g.groups) + 1), buf: buf, terms: slices.Clone(terms)}
		g.groups[string(key)] = gr
	}
	return gr
}
