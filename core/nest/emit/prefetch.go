package emit

import (
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// prefetch asks at the beginning of a tile for what its sums will be combined with, a line of the caches once.
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
