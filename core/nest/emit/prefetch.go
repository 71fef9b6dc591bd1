package emit

import (
	"polygrad/core/nest/ir"
	"polygrad/core/nest/plan"
)

// prefetch prefetches the operands of the epilogue at the beginning of a tile, one cache line at a time.
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
				break // the remainder is scalar
			}
			if at := (place{t.buf, l.off * t.buf.Kind.Size() / plan.Line}); !asked[at] {
				asked[at] = true
				im.Prefetch(&ir.Place{Buf: t.buf, Terms: l.terms, Off: l.off})
			}
		}
	}
}
