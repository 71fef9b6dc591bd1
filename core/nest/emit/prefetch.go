package emit

import (
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// prefetch emits prefetches, at the beginning of a tile, of what its epilogue reads: one for each cache line.
func (im *emitter) prefetch(p *openBand, copies []*env) {
	type place struct {
		buf  *ir.Buffer
		line int64
	}
	asked := map[place]bool{}
	for _, u := range p.Band.Prefetch {
		for _, e := range copies {
			im.env = e
			t := im.target(u.Src[0])
			l := im.linearOf(t.index)
			if l.lane != 1 {
				break // the lanes that are left are done one by one
			}
			if at := (place{t.buf, l.off * t.buf.Kind.Size() / plan.Line}); !asked[at] {
				asked[at] = true
				im.Prefetch(&ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off})
			}
		}
	}
}
