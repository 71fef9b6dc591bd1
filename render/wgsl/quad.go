package wgsl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"polygrad/core/nest/ir"
)

// A buffer is an array of vectors of four elements if a kernel loads and stores nothing else of it: an invocation that does four neighbours
// loads and stores them at once.

// quad is four neighbours of a buffer that are loaded or stored.
type quad struct {
	name    string // of a quad that is loaded, once the load is written
	first   *ir.Place
	values  []string // of a quad that is stored, as far as they are written
	element [4]bool
}

// access is a load or a store.
type access struct {
	at      *ir.Place
	load    *ir.Value
	store   *ir.Store
	ordered bool // it must keep its place among the accesses of its buffer
}

// findQuads finds the buffers that are arrays of vectors, and the quads of their accesses.
func (w *writer) findQuads(root *ir.Block) {
	all := map[*ir.Buffer][]access{}
	root.Visit(ir.Visitor{
		Value: func(v *ir.Value) {
			if v.At != nil {
				all[v.At.Buf] = append(all[v.At.Buf], access{at: v.At, load: v, ordered: v.Pos > 0})
			}
		},
		Store: func(s *ir.Store) {
			all[s.At.Buf] = append(all[s.At.Buf], access{at: s.At, store: s, ordered: true})
		},
	})
	params, buffers := map[int]bool{}, map[int]int{}
	for b := range all {
		buffers[b.Param]++
	}
	for b, of := range all {
		if found := quadsOf(b, of); b.Param >= 0 && buffers[b.Param] == 1 && w.k.Params[b.Param].Size%4 == 0 && found != nil {
			for a, q := range found {
				if a.load != nil {
					w.loads[a.load] = q
				} else {
					w.stores[a.store] = q
				}
			}
			params[b.Param] = true
		}
	}
	w.quads = params
}

// quadsOf are the quads of all accesses of a buffer, nil if there are others.
func quadsOf(b *ir.Buffer, all []access) map[access]*quad {
	if b.Kind.Size() != 4 {
		return nil
	}
	out := map[access]*quad{}
	any := map[string]*quad{}
	var open *quad // of accesses in order
	for _, a := range all {
		p := a.at
		if p.Gate != nil || p.Index != nil || p.Stride != 0 || a.load != nil && a.load.Op != ir.Load || slices.ContainsFunc(p.Terms, func(t ir.Term) bool { return t.Coef%4 != 0 }) {
			return nil
		}
		i := p.Off & 3
		if a.ordered {
			// Those of a quad follow one another.
			switch {
			case open == nil && i == 0:
				open = &quad{first: p}
			case open == nil || !open.has(p, i) || (a.load == nil) != (open.values != nil):
				return nil
			}
			if open.element[i] = true; a.store != nil {
				open.values = append(open.values, "")
			}
			if out[a] = open; i == 3 {
				open = nil
			}
			continue
		}
		key := fmt.Sprint(p.Off >> 2)
		for _, t := range p.Terms {
			key += fmt.Sprintf(" %d*%d", t.V.ID, t.Coef)
		}
		q := any[key]
		if q == nil {
			first := *p
			first.Off -= i
			q = &quad{first: &first}
			any[key] = q
		}
		q.element[i] = true
		out[a] = q
	}
	for q := range maps.Values(any) {
		if q.element != [4]bool{true, true, true, true} {
			return nil
		}
	}
	if open != nil {
		return nil
	}
	for q := range maps.Values(out) {
		q.values = nil
	}
	return out
}

// has reports whether a place is element i of a quad, and the one after those that the quad has.
func (q *quad) has(p *ir.Place, i int64) bool {
	return i > 0 && q.element[i-1] && !q.element[i] && p.Off == q.first.Off+i && slices.Equal(p.Terms, q.first.Terms)
}

// quadAt is the element of an array of vectors that a quad is.
func (w *writer) quadAt(q *quad) string {
	p := ir.Place{Buf: q.first.Buf, Off: q.first.Off / 4}
	for _, t := range q.first.Terms {
		p.Terms = append(p.Terms, ir.Term{V: t.V, Coef: t.Coef / 4})
	}
	a, _ := w.array(p.Buf)
	return fmt.Sprintf("%s[%s]", a, w.index(&p))
}

// loadQuad writes the load of a quad, when the first of its elements is needed.
func (w *writer) loadQuad(v *ir.Value, q *quad) {
	if q.name == "" {
		q.name = "q" + name(v)[1:]
		w.line("let %s = %s;", q.name, w.quadAt(q))
	}
}

// quadElement is an element of a quad that is loaded.
func (w *writer) quadElement(v *ir.Value, q *quad) string {
	_, k := w.array(v.At.Buf)
	return retyped(q.name+"."+"xyzw"[v.At.Off&3:v.At.Off&3+1], k, v.Kind)
}

// storeQuad writes the store of a quad, at the store of its last element.
func (w *writer) storeQuad(s *ir.Store, q *quad) {
	_, k := w.array(s.At.Buf)
	if q.values = append(q.values, w.as(s.Val, k)); len(q.values) == 4 {
		w.line("%s = vec4<%s>(%s);", w.quadAt(q), typeOf(k), strings.Join(q.values, ", "))
	}
}
